//! Operations on swizzled layouts and on swizzles alone, as functions on every coordinate.

use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{
    ComposedInverse, ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, Wide, int_tuple, layout,
};

fn swizzles() -> Vec<Swizzle> {
    let mut all = Vec::new();
    for bits in 0..4 {
        for base in 0..5 {
            for shift in -4..5 {
                all.extend(Swizzle::new(bits, base, shift));
            }
        }
    }
    all
}

#[test]
fn merged_swizzles_are_applied_one_after_the_other() {
    let (mut merged, mut refused) = (0, 0);
    for a in swizzles() {
        for b in swizzles() {
            match a.compose(&b) {
                Ok(both) => {
                    assert!((0..2048).all(|x| both.apply(x) == a.apply(b.apply(x))), "{a} after {b} is not {both}");
                    merged += 1;
                }
                Err(e) => {
                    assert_eq!(e, LayoutError::SwizzleTransfer);
                    refused += 1;
                }
            }
        }
    }
    assert!(merged > 1000 && refused > 1000, "{merged} and {refused}");
}

#[test]
fn modes_are_taken_and_regrouped_behind_the_swizzle() {
    let c: ComposedLayout = "Sw<2,1,3> o _6 o (_4,(_2,_3),_5,_2):(_1,(_4,_0),_8,_64)".parse().unwrap();
    let same = |other: &ComposedLayout| (0..c.size().value()).all(|i| other.eval(i) == c.eval(i));
    assert!(same(&c.flatten()) && same(&c.group(1, 3).unwrap()) && same(&c.coalesce().unwrap()));
    assert_eq!(c.flatten().rank(), 5);
    assert_eq!(c.mode(2).to_string(), "Sw<2,1,3> o _6 o _5:_8");
    assert!((0..5).all(|i| c.mode(2).eval(i) == c.eval_at(&[0, 0, i])));
    let taken = c.take(1, 3).unwrap();
    assert_eq!(taken.layout.to_string(), "((_2,_3),_5):((_4,_0),_8)");
    assert!((0..30).all(|i| taken.eval(i) == c.eval(4 * i)));
    let turned = c.select(&[3, 0]).unwrap();
    assert!((0..8).all(|i| turned.eval(i) == c.eval_at(&[i / 2, 0, 0, i % 2])));
    assert_eq!(c.take(2, 3).unwrap(), c.mode(2));
    assert_eq!(c.filter().unwrap().layout.to_string(), "(_40,_2):(_1,_64)");
    assert_eq!(c.take(3, 5), Err(LayoutError::ModeRange { operation: "take", begin: 3, end: 5, rank: 4 }));
    assert!(matches!(c.select(&[4]), Err(LayoutError::Rank { .. })));
}

#[test]
fn a_swizzled_tiler_moves_whole_blocks() {
    let block = layout!((3, 2):(2, 1));
    for (swizzle, tiler) in [
        (Swizzle::new(2, 0, 2), layout!((4, 4))),
        (Swizzle::new(2, 0, 2), layout!((4, 4):(4, 1))),
        (Swizzle::new(2, 1, 3), layout!((8, 8))),
        (Swizzle::new(1, 0, -1), layout!((2, 4))),
    ] {
        let (swizzle, tiler): (Swizzle, Layout) = (swizzle.unwrap(), tiler);
        let swizzled = ComposedLayout::new(swizzle, tiler);
        // A block of a power of two keeps bit fields; one of six elements does not.
        assert_eq!(block.logical_product_swizzled(&swizzled), Err(LayoutError::SwizzleTransfer));
        let product = layout!((2, 4):(4, 1)).logical_product_swizzled(&swizzled).unwrap();
        for j in 0..tiler.size().value() {
            // The coordinate that the tiler alone takes to where the swizzled one takes j.
            let other = (0..tiler.size().value()).find(|k| tiler.eval(*k) == swizzled.eval(j)).unwrap();
            for e in 0..8 {
                assert_eq!(product.eval_at(&[e, j]), product.layout.eval_at(&[e, other]), "{product} at {e}, {j}");
            }
        }
    }
    let offset: ComposedLayout = "Sw<2,0,2> o _1 o (_4,_4):(_1,_4)".parse().unwrap();
    assert!(matches!(layout!(2).logical_product_swizzled(&offset), Err(LayoutError::Offset { .. })));
}

#[test]
fn what_a_swizzle_leaves_adjacent() {
    let tile = atom(Major::K, SmemSwizzle::B128, 16).unwrap();
    let rows: ComposedLayout = layout!((8, 64):(64, 1)).into();
    // Against the same swizzle everything corresponds, against none only a chunk.
    assert_eq!((tile.max_common_vector(&tile), tile.max_common_vector(&rows)), (Ok(512), Ok(8)));
    assert_eq!(rows.max_common_vector(&tile), Ok(8));
    assert_eq!((tile.max_alignment(), rows.max_alignment()), (Ok(8), Ok(512)));
    // Steps count although their number is dynamic.
    let steps: Layout = "(16,_8):(_3,_1)".parse().unwrap();
    assert_eq!((steps.max_alignment(), steps.to_static().max_alignment()), (Ok(1), Ok(1)));
    assert_eq!("(16,_8):(_32,_1)".parse::<Layout>().unwrap().max_alignment(), Ok(8));
    assert_eq!("(_16,_8):(24,_1)".parse::<Layout>().unwrap().max_alignment(), Ok(8));
    let at_four = ComposedLayout { offset: Int::Static(4), ..tile };
    assert_eq!(at_four.max_alignment(), Ok(4));
    // Offsets far beyond a layout wrap instead of ending the program.
    assert_eq!(layout!((8, 64):(64, 1)).eval_at(&[i64::MAX, i64::MAX]), i64::MAX.wrapping_mul(65));
}

/// What CuTe's `slice_and_offset` gives for static coordinates.
#[test]
fn slices_decay_as_in_cute() {
    use Coord::{All, At, ByMode};
    let atom = atom(Major::K, SmemSwizzle::B128, 16).unwrap();
    let tile = atom.tile_to_shape(&int_tuple!((16, 128)), None).unwrap();
    assert_eq!(tile.to_string(), "Sw<3,3,3> o _0 o ((_8,_2),(_64,_2)):((_64,_512),(_1,_1024))");
    let slice = |c: &ComposedLayout, coord: &[Coord<'_>]| {
        let (slice, offset) = c.slice_and_offset(&ByMode(coord)).unwrap();
        format!("{slice} +{offset}")
    };
    assert_eq!(slice(&atom, &[At(3), All]), "((_8,_4,_2)):((_1,_-8,_32)) +216");
    assert_eq!(slice(&atom, &[All, At(8)]), "((_2,_4)):((_56,_144)) +8");
    assert_eq!(slice(&atom, &[All, All]), "Sw<3,3,3> o _0 o (_8,_64):(_64,_1) +0");
    assert_eq!(slice(&tile, &[At(3), All]), "(((_8,_4,_2),_2)):(((_1,_-8,_32),_1024)) +216");
    assert_eq!(
        slice(&tile, &[ByMode(&[At(3), At(1)]), ByMode(&[All, All])]),
        "((_8,_4,_2),_2):((_1,_-8,_32),_1024) +728"
    );
    let columns = [ByMode(&[All, At(1)]), ByMode(&[All, At(1)])];
    assert_eq!(slice(&tile, &columns), "Sw<3,3,3> o _0 o (_8,_64):(_64,_1) +1536");
    assert_eq!(slice(&tile, &[ByMode(&[At(3), All]), ByMode(&[At(1), All])]), "(_2,_2):(_512,_1024) +217");
    // Sums that carry decay where they stay below what the swizzle reads, and nowhere else.
    let at = |text: &str| -> ComposedLayout { text.parse().unwrap() };
    assert_eq!(slice(&at("Sw<3,2,3> o _4 o (_1,_16):(_16,_1)"), &[At(0), All]), "(_16):(_1) +4");
    assert_eq!(slice(&at("Sw<3,3,4> o _8 o (_8,_16):(_16,_1)"), &[At(7), All]), "Sw<3,3,4> o _120 o (_16):(_1) +0");
    // A dynamic offset makes strides dynamic that depend on it; a layout without a swizzle needs no decay.
    let dynamic = ComposedLayout { offset: Int::Dynamic(64), ..atom };
    assert_eq!(slice(&dynamic, &[At(2), All]), "((_8,_2,_2,_2)):((_1,-8,-16,32)) +216");
    let plain = ComposedLayout { offset: Int::Static(5), ..layout!((4, 4)).into() };
    assert_eq!(slice(&plain, &[At(2), All]), "(_4):(_4) +7");
}

/// Every slice is the function at the fixed coordinate, however it comes out.
#[test]
fn slices_are_the_function() {
    let layouts = [
        layout!((8, 64):(64, 1)),
        layout!((64, 8):(1, 64)),
        layout!(((2, 4), (4, 2)):((1, 16), (2, 8))),
        layout!((4, 4, 4):(16, 1, 4)),
        // Offsets that carry from field to field, overlap, or go down.
        layout!((3, 5):(7, 2)),
        layout!((6, 6):(12, 2)),
        layout!((4, 8):(1, 1)),
        layout!((5, 4):(0, 3)),
        Layout::new(int_tuple!((4, 4)), IntTuple::flat(&[Int::Static(-4), Int::ONE]).unwrap()).unwrap(),
    ];
    let (mut plain, mut kept) = (0, 0);
    for swizzle in swizzles() {
        for layout in layouts {
            for offset in [0, 1, 8, 37] {
                let c = ComposedLayout { swizzle, offset: Int::Static(offset + 16), layout };
                let step = layout.mode(0).size().value();
                let rest = layout.size().value() / step;
                for fixed in 0..step.max(rest) {
                    let mut coord = vec![Coord::All; layout.rank()];
                    for (mode, at) in
                        [(0, fixed % step), (layout.rank() - 1, fixed % layout.mode(layout.rank() - 1).size().value())]
                    {
                        coord.fill(Coord::All);
                        coord[mode] = Coord::At(at);
                        let whole = c.slice(&Coord::ByMode(&coord)).unwrap();
                        let (part, by) = c.slice_and_offset(&Coord::ByMode(&coord)).unwrap();
                        let first = if mode == 0 { step } else { 1 };
                        for i in 0..part.size().value() {
                            let index = if mode == 0 {
                                at + i * first
                            } else {
                                i + at * (layout.size().value() / layout.mode(mode).size().value())
                            };
                            assert_eq!(by + part.eval(i), c.eval(index), "{c} at {coord:?}: {part} +{by}");
                            assert_eq!(whole.eval(i), c.eval(index), "{c} at {coord:?}: {whole}");
                        }
                        if part.is_plain() { plain += 1 } else { kept += 1 }
                    }
                }
            }
        }
    }
    assert!(plain > 10_000 && kept > 10_000, "{plain} and {kept}");
}

#[test]
fn inverses_behind_an_offset() {
    for (text, keeps) in [
        ("Sw<2,0,2> o _3 o (_4,_4):(_4,_1)", true),
        ("Sw<3,3,3> o _1024 o (_8,_64):(_64,_1)", true),
        ("Sw<3,3,3> o _1000 o (_8,_64):(_64,_1)", false),
        ("Sw<1,0,-2> o 8 o (_2,_8):(_8,_1)", true),
        ("Sw<1,0,-2> o 5 o (_2,_8):(_8,_1)", false),
    ] {
        let c: ComposedLayout = text.parse().unwrap();
        let l = c.left_inverse().unwrap();
        assert!(matches!(l, ComposedInverse::Undone { .. }), "{l}");
        assert!((0..c.size().value()).all(|i| l.eval(c.eval(i)) == i), "{text}");
        match c.right_inverse() {
            Ok(r) => {
                assert!(matches!(r, ComposedInverse::Undone { .. }) && keeps, "{r}");
                assert!((0..c.size().value()).all(|i| c.eval(r.eval(c.eval(i))) == c.eval(i)), "{text}");
            }
            Err(error) => assert!(matches!(error, LayoutError::SwizzleLeaves { .. }) && !keeps, "{text}: {error}"),
        }
    }
    let c: ComposedLayout = "Sw<2,0,2> o _3 o (_4,_4):(_4,_1)".parse().unwrap();
    assert_eq!(c.left_inverse().unwrap().to_string(), "(_4,_4):(_4,_1) o _-3 o Sw<2,0,2>");
    // Without one the swizzle passes through, or the layout is refused.
    let plain = ComposedLayout { offset: Int::ZERO, ..c };
    assert_eq!(plain.right_inverse().unwrap().to_string(), "Sw<2,0,-2> o _0 o (_4,_4):(_4,_1)");
    let odd: ComposedLayout = "Sw<2,0,2> o _0 o (_3,_8):(_8,_1)".parse().unwrap();
    assert_eq!(odd.right_inverse(), Err(LayoutError::SwizzleTransfer));
    // A layout that is not injective has no left inverse that nests.
    let twice: ComposedLayout = "Sw<2,0,2> o _1 o (_3,_2):(_2,_3)".parse().unwrap();
    assert!(matches!(twice.left_inverse(), Err(LayoutError::LeftInverseDivisibility { .. })));
}

#[test]
fn offsets_are_recast_too() {
    let c: ComposedLayout = "Sw<2,2,2> o _8 o (_4,_16):(_16,_1)".parse().unwrap();
    let wider = c.upcast(4).unwrap();
    assert_eq!(wider.to_string(), "Sw<2,0,2> o _2 o (_4,_4):(_4,_1)");
    assert!((0..16).all(|i| 4 * wider.eval(i) == c.eval_at(&[i % 4, i / 4 * 4])));
    assert_eq!(wider.downcast(4).unwrap(), c);
    let between = ComposedLayout { offset: Int::Static(6), ..c };
    assert_eq!(between.upcast(4), Err(LayoutError::OffsetDivisibility { offset: Int::Static(6), factor: 4 }));
    let far = ComposedLayout { offset: Int::Static(i64::MAX / 2), ..c };
    let (what, value) = ("the offset in front of the layout", 4 * i128::from(i64::MAX / 2));
    assert_eq!(far.downcast(4), Err(LayoutError::Overflow { what, value: Wide::of(value), limit: Layout::LIMIT }));
    // A layout without a swizzle is recast by any factor.
    let plain: ComposedLayout = layout!((6, 4)).into();
    assert_eq!(plain.upcast(3).unwrap().to_string(), "(_2,_4):(_1,_2)");
    assert_eq!(plain.upcast(0), Err(LayoutError::Count { what: "the recast factor, 1 or more,", value: 0 }));
}

#[test]
fn tiles_and_partitions_of_a_swizzled_tile() {
    let tile = atom(Major::K, SmemSwizzle::B64, 16).unwrap().tile_to_shape(&int_tuple!((32, 64)), None).unwrap();
    let tiler = [Tiler::of(8), Tiler::of(16)];
    for n in 0..16 {
        let (i, j) = (n % 4, n / 4);
        let coord = [Coord::At(i), Coord::At(j)];
        let (part, by) = tile.local_tile(&Tiler::ByMode(&tiler), &Coord::ByMode(&coord)).unwrap();
        for e in 0..128 {
            assert_eq!(by + part.eval(e), tile.eval_at(&[8 * i + e % 8, 16 * j + e / 8]), "tile {i},{j}: {part}");
        }
    }
    let threads = layout!((8, 4):(4, 1));
    for thread in 0..32 {
        let (part, by) = tile.local_partition(&threads, thread).unwrap();
        for e in 0..64 {
            let at = [thread / 4 + 8 * (e % 4), thread % 4 + 4 * (e / 4)];
            assert_eq!(by + part.eval(e), tile.eval_at(&at), "thread {thread}: {part}");
        }
    }
    for thread in [-1, 32, i64::MAX, i64::MIN] {
        let refused = LayoutError::NoSuchThread { thread, threads: Int::Static(32), last: Int::Static(31) };
        assert_eq!(tile.local_partition(&threads, thread), Err(refused));
        assert_eq!(layout!((32, 64)).local_partition(&threads, thread), Err(refused));
    }
    // Every other index is a thread.
    let sparse = layout!((4, 4):(2, 8));
    assert!(layout!((8, 8)).local_partition(&sparse, 30).is_ok());
    assert!(matches!(layout!((8, 8)).local_partition(&sparse, 3), Err(LayoutError::NoSuchThread { .. })));
}

#[test]
fn a_layout_after_a_swizzled_one() {
    let inner: ComposedLayout = "Sw<2,0,2> o _0 o (_4,_4):(_4,_1)".parse().unwrap();
    let outer = layout!((4, 4):(4, 64));
    let both = outer.compose_swizzled(&inner).unwrap();
    assert_eq!(both.to_string(), "Sw<2,2,4> o _0 o (_4,_4):(_64,_4)");
    assert!((0..16).all(|i| both.eval(i) == outer.eval(inner.eval(i))));
    assert_eq!(layout!((4, 4):(3, 64)).compose_swizzled(&inner), Err(LayoutError::SwizzleTransfer));
    let moved = inner.domain_offset(&int_tuple!((1, 2))).unwrap();
    assert_eq!((moved.offset, moved.eval(0)), (Int::Dynamic(6), inner.eval_at(&[1, 2])));
}

/// A swizzle that passes through a layout is the same function on its other side, or it is refused: also where fields come out
/// as fields but their bits have changed places, or lie behind the layout's end.
#[test]
fn swizzles_pass_through_layouts_or_not_at_all() {
    let layouts: Vec<Layout> = [
        "(_8,_64):(_64,_1)",
        "(_64,_8):(_1,_64)",
        "(_4,_4,_2):(_8,_2,_1)",
        "(_2,_8):(_8,_1)",
        "(_5,_2,_4):(_1,_20,_5)",
        "(_8,_5,_3):(_1,_24,_8)",
        "(_2,_2,_2):(_2,_1,_4)",
        "(_16,_3,_4):(_4,_64,_1)",
        "(_4,_8):(_24,_1)",
        "(_3,_16):(_16,_1)",
        "_256:_1",
    ]
    .iter()
    .map(|text| text.parse().unwrap())
    .collect();
    let (mut passed, mut refused) = (0, 0);
    for layout in layouts {
        for swizzle in swizzles().into_iter().filter(|s| !s.is_identity()) {
            let size = layout.size().value();
            if let Ok(moved) = swizzle.through(&layout) {
                for x in 0..size {
                    let expected = layout.eval(swizzle.apply(x));
                    assert_eq!(moved.apply(layout.eval(x)), expected, "{layout} after {swizzle} at {x}: {moved}");
                }
                passed += 1;
            }
            let c = ComposedLayout::new(swizzle, layout);
            for (right, inverse) in [(true, c.right_inverse()), (false, c.left_inverse())] {
                let Ok(inverse) = inverse else {
                    refused += 1;
                    continue;
                };
                let mut all: Vec<i64> = (0..size).map(|i| layout.eval(i)).collect();
                all.sort_unstable();
                all.dedup();
                // A right inverse is one of the contiguous part, which here is all or not looked at.
                if all.len() as i64 == size && (!right || all[size as usize - 1] == size - 1) {
                    for i in 0..size {
                        assert_eq!(inverse.eval(c.eval(i)), i, "{inverse} of {c}");
                    }
                }
            }
        }
    }
    assert!(passed > 300 && refused > 300, "{passed} and {refused}");
}

/// Whole blocks go where the swizzled tiler puts its elements, or the product is refused.
#[test]
fn swizzled_products_move_whole_blocks_or_are_refused() {
    let tilers = [
        "(_4,_4):(_1,_4)",
        "(_4,_4):(_4,_1)",
        "(_2,_2,_4):(_2,_8,_1)",
        "(_4,_2,_2):(_1,_8,_4)",
        "(_3,_8):(_8,_1)",
        "_16:_1",
        "(_4,_4):(_1,_8)",
    ];
    let blocks = ["(_2,_2):(_1,_2)", "_4:_1", "(_2,_4):(_4,_1)", "_3:_1", "(_2,_2):(_1,_4)", "_4:_4", "_2:_2"];
    let (mut moved, mut refused) = (0, 0);
    for tiler in tilers.map(|text| text.parse::<Layout>().unwrap()) {
        for block in blocks.map(|text| text.parse::<Layout>().unwrap()) {
            for swizzle in swizzles() {
                let swizzled = ComposedLayout::new(swizzle, tiler);
                let Ok(product) = block.logical_product_swizzled(&swizzled) else {
                    refused += 1;
                    continue;
                };
                let (size, elements) = (tiler.size().value(), block.size().value());
                for j in 0..size {
                    let Some(other) = (0..size).find(|k| tiler.eval(*k) == swizzled.eval(j)) else { continue };
                    for e in 0..elements {
                        let expected = product.layout.eval_at(&[e, other]);
                        assert_eq!(product.eval_at(&[e, j]), expected, "{block} x {swizzled} = {product} at {e},{j}");
                    }
                }
                moved += 1;
            }
        }
    }
    assert!(moved > 1000 && refused > 1000, "{moved} and {refused}");
}

/// The coordinates of `narrow` for each of `wide`, which counts `factor` neighbours as one in the modes that step through them.
fn groups(narrow: &Layout, wide: &Layout, factor: i64) -> Vec<Vec<i64>> {
    let mut groups = vec![Vec::new(); wide.size().value() as usize];
    for i in 0..narrow.size().value() {
        let (mut rest, mut at, mut before) = (i, 0, 1);
        for leaf in 0..narrow.shape().leaves() {
            let (extent, step) = (narrow.shape().get(leaf).value(), narrow.stride().get(leaf).value().abs());
            let neighbours = if step == 0 { 1 } else { (factor / step).max(1) };
            at += rest % extent / neighbours * before;
            (rest, before) = (rest / extent, before * wide.shape().get(leaf).value());
        }
        groups[at as usize].push(i);
    }
    groups
}

/// Swizzles of either direction over layouts of any order, with steps within the wider element and across it: an upcast takes
/// each group of elements to the one that they are in, and is refused where they are in several; a downcast takes them back.
#[test]
fn recasts_keep_neighbours_together_or_are_refused() {
    let layouts = [
        "_16:_1",
        "_8:_2",
        "_8:_4",
        "_8:_-1",
        "(_4,_4):(_1,_4)",
        "(_4,_4):(_4,_1)",
        "(_2,_8):(_8,_1)",
        "(_8,_2):(_2,_1)",
        "(_2,_2,_4):(_4,_1,_16)",
        "(_6,_4):(_1,_8)",
        "(_3,_2):(_1,_2)",
        "(_4,_2):(_1,_2)",
        "(_4,_4):(_1,_1)",
        "(_2,_4):(_0,_1)",
        "(_1,_8):(_3,_1)",
        "(_4,_8):(_2,_16)",
        "(_8,_64):(_64,_1)",
    ];
    let (mut up, mut down, mut refused) = (0, 0, [0; 2]);
    for layout in layouts.map(|text| text.parse::<Layout>().unwrap()) {
        for swizzle in swizzles().into_iter().filter(|s| !s.is_identity()) {
            for (factor, offset) in [(2, 0), (4, 0), (4, 8), (8, 24)] {
                let c = ComposedLayout::new(swizzle, layout).with_offset(Int::Static(offset)).unwrap();
                // What the algebra says of the layout alone is not asked here.
                let Ok(alone) = layout.upcast(factor) else { continue };
                let together = groups(&layout, &alone, factor).into_iter().map(|group| {
                    let mut elements = group.iter().map(|i| c.eval(*i).div_euclid(factor));
                    let first = elements.next().unwrap();
                    elements.all(|element| element == first).then_some(first)
                });
                let together: Option<Vec<i64>> = together.collect();
                match c.upcast(factor) {
                    Ok(wide) => {
                        let table = (0..wide.size().value()).map(|i| wide.eval(i)).collect();
                        assert_eq!(Some(table), together, "{c} by {factor} is not {wide}");
                        up += 1;
                    }
                    Err(error) => {
                        let known =
                            matches!(error, LayoutError::UpcastSwizzle { .. } | LayoutError::NotNeighbours { .. });
                        // Backwards, and where modes meet, the swizzle may happen to mend what the layout breaks.
                        let plain = (0..layout.shape().leaves()).all(|i| layout.stride().get(i).value() >= 0);
                        assert!(known && (together.is_none() || !plain), "{c} by {factor}: {error}");
                        refused[0] += 1;
                    }
                }
            }
            for factor in [2, 4] {
                let c = ComposedLayout::new(swizzle, layout).with_offset(Int::Static(3)).unwrap();
                let ones = layout.stride().iter().filter(|d| d.is(1) || d.is(-1)).count();
                match c.downcast(factor) {
                    Ok(narrow) => {
                        for (i, group) in groups(&narrow.layout, &layout, factor).into_iter().enumerate() {
                            let expected: Vec<i64> = (0..factor).map(|k| c.eval(i as i64) * factor + k).collect();
                            let got: Vec<i64> = group.into_iter().map(|j| narrow.eval(j)).collect();
                            assert_eq!(got, expected, "{c} by {factor}: {narrow}");
                        }
                        down += 1;
                    }
                    Err(LayoutError::NotNeighbours { operation: "downcast", .. }) => {
                        assert!(ones > 1, "{c}");
                        refused[1] += 1;
                    }
                    Err(error) => assert!(error == LayoutError::DowncastStride, "{c}: {error}"),
                }
            }
        }
    }
    assert!(up > 500 && down > 500 && refused[0] > 300 && refused[1] > 20, "{up}, {down}, {refused:?}");
    // The swizzle alone: without a layout all offsets count.
    let backwards = Swizzle::new(3, 1, -3).unwrap();
    assert_eq!(backwards.upcast(4), Err(LayoutError::UpcastSwizzle { swizzle: backwards, factor: 4 }));
    assert_eq!(backwards.upcast(2), Swizzle::new(3, 0, -3));
    assert_eq!(backwards.upcast(128), Swizzle::new(0, 0, -3));
}
