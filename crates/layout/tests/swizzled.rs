//! What threads copy and hold of swizzled layouts, and other operations on these, each against the function itself.

use generic_array::typenum::U4;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::tensor::{Tensor, smem};
use warpwright_layout::{
    ComposedLayout, Coord, Fragment, Int, Layout, LayoutError, Operand, Side, Swizzle, TiledCopy, TiledMma, Tiler,
    int_tuple, layout,
};

fn parsed(text: &str) -> ComposedLayout {
    text.parse::<ComposedLayout>().unwrap().to_static()
}

/// Layouts of 64 by 32 elements, behind swizzles of both directions, with offsets and without.
fn data() -> Vec<ComposedLayout> {
    [
        "Sw<3,2,-3> o 0 o (64,32):(32,1)",
        "Sw<3,2,3> o 0 o (64,32):(32,1)",
        "Sw<3,2,3> o 0 o (64,32):(1,64)",
        "Sw<2,3,4> o 1000 o (64,32):(32,1)",
        "Sw<1,0,-2> o 5 o ((8,8),(4,8)):((4,256),(1,32))",
        "Sw<2,1,3> o 4096 o (64,32):(-32,3)",
        "Sw<3,0,5> o 7 o (64,32):(33,1)",
        "Sw<2,0,2> o 0 o (64,32):(0,1)",
    ]
    .map(parsed)
    .to_vec()
}

/// Linear coordinates of a layout of this shape.
fn places(c: &ComposedLayout) -> Layout {
    Layout::column_major(c.layout.shape()).unwrap()
}

/// The part is, element by element, what `whole` has at the coordinates `at`.
fn same(whole: &ComposedLayout, (part, by): (ComposedLayout, i64), (at, first): (Layout, i64), what: &str) {
    assert_eq!((part.size(), part.rank()), (at.size(), at.rank()), "{what}: {part} of {at}");
    for mode in 0..at.rank() {
        assert_eq!(part.layout.mode(mode).size(), at.mode(mode).size(), "{what}: {part} of {at}");
    }
    let joined = part.joined(by).unwrap();
    for i in 0..at.size().value() {
        let expected = whole.eval(first + at.eval(i));
        assert_eq!((by + part.eval(i), joined.eval(i)), (expected, expected), "{what} at {i}: {part} +{by} of {whole}");
    }
}

#[test]
fn threads_copy_their_elements_of_a_swizzled_tile() {
    let copy = |atom: Result<CopyAtom, LayoutError>, bits, threads: Layout, values: Layout| {
        TiledCopy::new(atom.unwrap(), bits, &threads, &values).unwrap()
    };
    let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1))).unwrap();
    let copies = [
        copy(CopyAtom::universal(32), 32, layout!((8, 4)), layout!((1, 1))),
        copy(CopyAtom::universal(128), 32, layout!((16, 8):(8, 1)), layout!((1, 4))),
        copy(CopyAtom::cp_async(16), 16, layout!((16, 4):(4, 1)), layout!((1, 8))),
        copy(CopyAtom::universal(64), 32, layout!((8, 4)), layout!((2, 2))),
        TiledCopy::for_mma(CopyAtom::ldmatrix(4, false).unwrap(), 16, &mma, Operand::A).unwrap(),
        TiledCopy::for_mma(CopyAtom::stmatrix(2, true).unwrap(), 16, &mma, Operand::C).unwrap(),
    ];
    let (mut plain, mut swizzled) = (0, 0);
    for whole in data() {
        for copy in &copies {
            for side in [Side::Source, Side::Destination] {
                let all = copy.thrfrg_swizzled(side, &whole).unwrap();
                assert_eq!(all, ComposedLayout { layout: copy.thrfrg(side, &whole.layout).unwrap(), ..whole });
                for thread in 0..copy.threads() {
                    let part = copy.partition_swizzled(side, &whole, thread).unwrap();
                    if part.0.swizzle.is_identity() {
                        plain += 1
                    } else {
                        swizzled += 1
                    }
                    same(&whole, part, copy.partition(side, &places(&whole), thread).unwrap(), "copy");
                }
            }
        }
    }
    assert!(plain > 1000 && swizzled > 1000, "{plain} and {swizzled}");
    let refused = copies[0].partition_swizzled(Side::Source, &data()[0], 32);
    assert_eq!(refused, Err(LayoutError::NoSuchThread { thread: 32, threads: Int::Static(32), last: Int::Static(31) }));
}

/// Thread 3 of 8 by 4 starts at row 3, column 0, and steps by 8 rows and 4 columns.
#[test]
fn one_thread_by_hand() {
    let copy = TiledCopy::new(CopyAtom::universal(32).unwrap(), 32, &layout!((8, 4)), &layout!((1, 1))).unwrap();
    let whole = parsed("Sw<3,2,-3> o 0 o (64,32):(32,1)");
    let (part, by) = copy.partition_swizzled(Side::Source, &whole, 3).unwrap();
    let table: Vec<i64> = (0..64).map(|i| by + part.eval(i)).collect();
    // Column 4 n changes the row's low bits by n: 3 · 32 ^ n · 32 + 4 n.
    let expected: Vec<i64> = (0..64).map(|i| i % 8 * 256 + ((3 ^ (i / 8)) * 32) + i / 8 * 4).collect();
    assert_eq!(table, expected);
    assert_eq!((by, &table[8..11]), (96, &[68, 324, 580][..]));
}

#[test]
fn threads_hold_their_elements_of_a_swizzled_matrix() {
    let mmas = [
        TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1))).unwrap(),
        TiledMma::new(MmaAtom::mma_sync(16, 8, [32, 16, 16, 32]).unwrap(), &layout!((1, 2, 2)))
            .unwrap()
            .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))
            .unwrap(),
        TiledMma::new(MmaAtom::sm70(32, true, false).unwrap(), &layout!((2, 2, 1):(4, 8, 0))).unwrap(),
    ];
    let (mut plain, mut swizzled) = (0, 0);
    for whole in data() {
        for mma in &mmas {
            for operand in [Operand::A, Operand::B, Operand::C] {
                let all = mma.thrfrg_swizzled(operand, &whole).unwrap();
                assert_eq!(all, ComposedLayout { layout: mma.thrfrg(operand, &whole.layout).unwrap(), ..whole });
                for thread in 0..mma.thr_layout_vmnk().cosize().value() {
                    let part = mma.partition_swizzled(operand, &whole, thread).unwrap();
                    if part.0.swizzle.is_identity() {
                        plain += 1
                    } else {
                        swizzled += 1
                    }
                    same(&whole, part, mma.partition(operand, &places(&whole), thread).unwrap(), "mma");
                }
            }
        }
    }
    assert!(plain > 500 && swizzled > 500, "{plain} and {swizzled}");
    assert!(matches!(mmas[0].partition_swizzled(Operand::A, &data()[0], -1), Err(LayoutError::NoSuchThread { .. })));
}

/// From a row-major tile into swizzled shared memory by parts, out of it into registers, and back.
#[test]
fn tensors_are_copied_through_a_swizzled_tile() {
    let tile = atom(Major::K, SmemSwizzle::B64, 32).unwrap().tile_to_shape(&int_tuple!((16, 32)), None).unwrap();
    let source: Vec<u32> = (0..512).collect();
    let global = Tensor::new(&source[..], layout!((16, 32):(32, 1))).unwrap();
    let copy =
        TiledCopy::new(CopyAtom::universal(128).unwrap(), 32, &layout!((16, 8):(8, 1)), &layout!((1, 4))).unwrap();
    let mut shared = vec![u32::MAX; 512];
    for thread in 0..copy.threads() {
        let from = global.part(|l| copy.partition(Side::Source, l, thread)).unwrap();
        let mut to = Tensor::new(smem(&mut shared[..]), tile)
            .unwrap()
            .part_swizzled(|l| copy.partition_swizzled(Side::Destination, l, thread))
            .unwrap();
        assert!(to.layout().swizzle.is_identity(), "a chunk meets no swizzle: {}", to.layout());
        warpwright_layout::tensor::copy(&from, &mut to).unwrap();
    }
    for row in 0..16 {
        for column in 0..32 {
            assert_eq!(shared[tile.eval_at(&[row, column]) as usize] as i64, 32 * row + column);
        }
    }
    // All threads at once, and with a part that does not know the swizzle, it is the same.
    let mut again = vec![0; 512];
    copy.copy(&global, &mut Tensor::new(&mut again[..], tile).unwrap()).unwrap();
    assert_eq!(again, shared);
    let whole = Tensor::new(&shared[..], tile).unwrap();
    let mut back = vec![0; 512];
    for thread in 0..copy.threads() {
        let part = whole.part(|l| copy.partition(Side::Source, l, thread)).unwrap();
        let decayed = whole.part_swizzled(|l| copy.partition_swizzled(Side::Source, l, thread)).unwrap();
        assert_eq!(part.iter().collect::<Vec<_>>(), decayed.iter().collect::<Vec<_>>());
        let mut held = Tensor::<Fragment<u32, U4>>::fragment_like(&decayed.layout().fragment_like().unwrap()).unwrap();
        copy.load(thread, &whole, &mut held).unwrap();
        assert_eq!(held.iter().collect::<Vec<_>>(), decayed.iter().collect::<Vec<_>>());
        copy.store(thread, &held, &mut Tensor::new(&mut back[..], layout!((16, 32):(32, 1))).unwrap()).unwrap();
    }
    assert_eq!(back, source);
    // Tiles of a tensor decay as those of its layout do.
    let row = whole
        .local_tile(&Tiler::ByMode(&[Tiler::of(1), Tiler::of(32)]), &Coord::ByMode(&[Coord::At(3), Coord::At(0)]))
        .unwrap();
    assert!(row.layout().swizzle.is_identity() && row.iter().eq(96..128), "{}", row.layout());
}

#[test]
fn what_a_coordinate_fixes_behind_a_swizzle() {
    let c = parsed("Sw<2,1,3> o 6 o (4,(2,3),5):(1,(4,40),8)");
    let coord = [Coord::At(1), Coord::ByMode(&[Coord::All, Coord::At(2)]), Coord::All];
    let fixed = c.dice(&Coord::ByMode(&coord)).unwrap();
    assert_eq!(fixed.to_string(), "Sw<2,1,3> o _6 o (_4,_3):(_1,_40)");
    for i in 0..12 {
        assert_eq!(fixed.eval(i), c.eval_at(&[i % 4, i / 4 * 2, 0]), "{i}");
    }
    assert!(matches!(c.dice(&Coord::ByMode(&[Coord::All])), Err(LayoutError::Rank { .. })));
}

#[test]
fn registers_like_a_swizzled_layout() {
    let c = parsed("Sw<2,1,3> o 6 o ((2,2),4,(3,2)):((64,1),0,(8,2))");
    assert_eq!(c.fragment_like(), c.layout.fragment_like());
    assert_eq!(c.make_like().unwrap().to_string(), "((_2,_2),_4,(_3,_2)):((_12,_1),_0,(_4,_2))");
}

#[test]
fn a_swizzle_takes_only_0_to_0() {
    for whole in ["Sw<1,0,1> o 0 o (2,4):(0,1)", "Sw<2,0,-2> o 0 o (4,(2,3),8):(1,(0,0),4)", "Sw<1,1,1> o 0 o 8:1"] {
        let c = parsed(whole);
        let null = c.nullspace().unwrap();
        let found: Vec<i64> = (0..null.size().value()).map(|i| null.eval(i)).collect();
        let expected: Vec<i64> = (0..c.size().value()).filter(|i| c.eval(*i) == 0).collect();
        assert_eq!(found, expected, "{c}: {null}");
    }
    let at_three = parsed("Sw<1,0,1> o 3 o (2,4):(0,1)");
    assert_eq!(at_three.nullspace(), Err(LayoutError::Offset { offset: Int::Static(3) }));
}

/// Behind an offset or not: a right inverse is one on the whole range that is reached without gaps, or it is refused.
#[test]
fn right_inverses_of_swizzled_layouts_are_some() {
    let layouts = ["4:1", "(4,4):(4,1)", "(8,3):(1,8)", "(3,5):(5,1)", "(2,8):(8,1)", "6:2", "(4,1):(1,1)", "64:1"];
    let (mut given, mut left, mut through) = (0, 0, 0);
    for layout in layouts.map(|text| text.parse::<Layout>().unwrap().to_static()) {
        let extent = layout.right_inverse().unwrap().size().value();
        for (bits, base, shift) in (0..27).map(|n| (n % 3 + 1, n / 3 % 3, n / 9 + 1)) {
            for shift in [shift, -shift] {
                let Ok(swizzle) = Swizzle::new(bits, base, shift) else { continue };
                for offset in -20..60 {
                    let c = ComposedLayout::new(swizzle, layout).with_offset(Int::Static(offset)).unwrap();
                    let range = offset..offset + extent;
                    let keeps = range.clone().all(|x| range.contains(&swizzle.apply(x)));
                    match c.right_inverse() {
                        Ok(inverse) => {
                            assert!(keeps, "{inverse} of {c}");
                            range.for_each(|x| assert_eq!(c.eval(inverse.eval(x)), x, "{inverse} of {c} at {x}"));
                            given += 1;
                        }
                        Err(LayoutError::SwizzleLeaves { swizzle: s, first, extent: e }) => {
                            assert_eq!((s, first.value(), e.value()), (swizzle, offset, extent));
                            assert!(!keeps, "{c}");
                            left += 1;
                        }
                        Err(error) => {
                            assert!(error == LayoutError::SwizzleTransfer && offset == 0 && keeps, "{c}: {error}");
                            through += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(given > 1000 && left > 1000 && through > 5, "{given}, {left} and {through}");
    // Ranges that are too long to look at.
    let far = |text| parsed(text).right_inverse();
    assert!(far("Sw<3,4,3> o 1024 o 4611686018427386880:1").is_ok());
    assert!(matches!(far("Sw<3,4,3> o 1025 o 4611686018427386000:1"), Err(LayoutError::SwizzleLeaves { .. })));
    assert!(matches!(far("Sw<3,4,-3> o 0 o 4611686018427387903:1"), Err(LayoutError::SwizzleLeaves { .. })));
}

#[test]
fn atoms_that_do_not_fit_between_the_threads_are_named() {
    let quads = MmaAtom::sm70(32, true, false).unwrap();
    let warp = MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap();
    let fits = |atom, text: &str| {
        let mma = TiledMma::new(atom, &text.parse::<Layout>().unwrap().to_static())?;
        mma.tv(Operand::C).map(|_| ())
    };
    for good in ["(4,1,1)", "(2,2,1)", "(4,4,1)", "(2,2,2):(1,2,4)"] {
        assert_eq!(fits(quads, good), Ok(()), "{good}");
    }
    for (bad, value) in [("(4,3,1):(3,1,12)", 16), ("(2,2,1):(1,3,0)", 16), ("(6,1,1)", 6)] {
        let refused = LayoutError::AtomArrangement { value: Int::Static(value), room: Int::Static(4) };
        assert_eq!(fits(quads, bad), Err(refused), "{bad}");
    }
    // The atoms are apart, but not so that threads can be numbered back.
    let refused = LayoutError::AtomArrangement { value: Int::Static(320), room: Int::ONE };
    assert_eq!(fits(warp, "(4,2,1):(3,10,0)"), Err(refused));
    assert_eq!(
        refused.to_string(),
        "the layout of the MMA's atoms does not fit: the extent or thread stride _320 lies within what smaller strides span: let \
         each stride be a multiple of all that is before it"
    );
    assert_eq!(fits(warp, "(4,3,1):(3,1,12)"), Ok(()));
}
