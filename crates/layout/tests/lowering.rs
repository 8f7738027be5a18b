//! A lowered function equals the evaluated layout on every coordinate.

use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::lower::{Width, coordinate_functions, index_function, index_function_of};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{
    ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Operand, Side, Swizzle, TiledCopy, TiledMma, Wide,
    int_tuple, layout,
};

/// Every coordinate of the modes of `l` against the lowered function; the number of coordinates.
fn exhaust(l: &ComposedLayout) -> u64 {
    let names = ["c0", "c1", "c2", "c3", "c4"];
    let f = index_function("f", l, &names[..l.rank()]).unwrap();
    let extents: Vec<i64> = (0..l.rank()).map(|i| l.layout.mode(i).size().value()).collect();
    let total: i64 = extents.iter().product();
    for i in 0..total {
        let mut rest = i;
        let coord: Vec<i64> = extents
            .iter()
            .map(|&e| {
                let c = rest % e;
                rest /= e;
                c
            })
            .collect();
        let args: Vec<u64> = coord.iter().map(|&c| c as u64).collect();
        let expected = l.eval_at(&coord) as u64 & u64::from(u32::MAX);
        assert_eq!(f.eval(&args), Some(expected), "{l} at {coord:?}\n{f}");
        assert_eq!(l.eval(i), l.eval_at(&coord));
    }
    total as u64
}

#[test]
fn every_shared_memory_tile() {
    let mut checked = 0;
    for bits in [4, 8, 16, 32, 64] {
        for major in [Major::K, Major::Mn] {
            for swizzle in [SmemSwizzle::None, SmemSwizzle::B32, SmemSwizzle::B64, SmemSwizzle::B128] {
                let a = atom(major, swizzle, bits).unwrap();
                let (mn, k) = (a.layout.mode(0).size().value(), a.layout.mode(1).size().value());
                let shape = IntTuple::flat(&[Int::Static(4 * mn), Int::Static(2 * k), Int::Static(3)]).unwrap();
                for order in [None, Some(int_tuple!((2, 1, 3)))] {
                    let tile = a.tile_to_shape(&shape, order.as_ref()).unwrap();
                    checked += exhaust(&tile);
                    let f = index_function("f", &tile, &["mn", "k", "stage"]).unwrap();
                    assert_eq!((f.divides(), f.parameters().len()), (false, 0), "{f}");
                }
            }
        }
    }
    // Each atom is 8 rows of 16, 32, 64 or 128 bytes, 24 atoms a tile.
    let elements: u64 = [4, 8, 16, 32, 64].map(|bits| 8 * (16 + 32 + 64 + 128) * 8 / bits).iter().sum();
    assert_eq!(checked, elements * 24 * 2 * 2);
}

#[test]
fn odd_extents_divide_and_agree() {
    let l: ComposedLayout = layout!(((3, 5), (7, 2)):((10, 2), (30, 1))).into();
    assert_eq!(exhaust(&l), 210);
    assert!(index_function("f", &l, &["i", "j"]).unwrap().divides());
    let negative = ComposedLayout {
        swizzle: Swizzle::IDENTITY,
        offset: Int::Static(64),
        layout: "((_4,_2),_4):((_1,_-8),_16)".parse().unwrap(),
    };
    assert_eq!(exhaust(&negative), 32);
}

#[test]
fn dynamic_integers_are_parameters() {
    let l: Layout = "((_8,4),3):((_1,40),d)".replace('d', "7").parse().unwrap();
    let f = index_function("g", &l.into(), &["i", "j"]).unwrap();
    assert_eq!(f.parameter_names(), ["d1", "d2"]);
    assert_eq!(f.parameters(), [Int::Dynamic(40), Int::Dynamic(7)]);
    assert_eq!(
        f.to_string(),
        "static __device__ __forceinline__ unsigned g(unsigned i, unsigned j, unsigned d1, unsigned d2) {\n    \
         return (((i & 7u) + ((i >> 3) * d1)) + (j * d2));\n}\n"
    );
    assert_eq!(exhaust(&l.into()), 96);
    // Of the extents only those that split a coordinate are needed.
    let linear = index_function("h", &l.into(), &["i"]).unwrap();
    assert_eq!(linear.parameter_names(), ["s1", "d1", "d2"]);
    assert!((0..96).all(|i| linear.eval(&[i]) == Some(l.eval(i as i64) as u64)));
}

#[test]
fn one_argument_a_leaf() {
    let l: Layout = layout!(((4, 2), 3):((1, 12), 4));
    let f = index_function("f", &l.into(), &["a", "b", "c"]).unwrap();
    assert_eq!(f.eval(&[3, 1, 2]), Some(3 + 12 + 8));
    let wrong = index_function("f", &layout!((4, (2, 2), 3)).into(), &["a", "b"]);
    assert!(matches!(wrong, Err(LayoutError::Rank { .. })));
}

#[test]
fn wide_offsets_need_64_bits() {
    let l: ComposedLayout = layout!((65536, 131072):(131072, 1)).into();
    let (what, value) = ("the largest offset of a 32-bit index function", 65536 * 131072 - 1);
    let refused = LayoutError::Overflow { what, value: Wide::of(value), limit: u32::MAX.into() };
    assert_eq!(index_function("f", &l, &["i", "j"]), Err(refused));
    let f = index_function_of("f", &l, &["i", "j"], Width::U64).unwrap();
    assert_eq!(f.eval(&[65535, 131071]), Some(65536 * 131072 - 1));
}

/// Every ldmatrix of a K-major swizzled tile, and every 16-byte store of a row-wise copy, is free of bank conflicts.
#[test]
fn swizzled_tiles_have_no_bank_conflicts() {
    for (swizzle, k) in [(SmemSwizzle::B128, 64), (SmemSwizzle::B64, 32), (SmemSwizzle::B32, 16)] {
        let shape = IntTuple::flat(&[Int::Static(128), Int::Static(k)]).unwrap();
        let tile = atom(Major::K, swizzle, 16).unwrap().tile_to_shape(&shape, None).unwrap();
        for column in (0..k).step_by(8) {
            // 32 rows at one column, as ldmatrix.x4 addresses them.
            let at = tile.slice(&Coord::ByMode(&[Coord::All, Coord::At(column)])).unwrap();
            assert_eq!(at.wavefronts(16, &layout!(32:1), 16), Ok(4), "{tile} at column {column}");
        }
        // Consecutive lanes take consecutive 16-byte chunks of a row.
        let chunks = Layout::new(
            IntTuple::flat(&[Int::Static(k / 8), Int::Static(256 / k)]).unwrap(),
            IntTuple::flat(&[Int::Static(128 * 8), Int::ONE]).unwrap(),
        );
        assert_eq!(tile.wavefronts(16, &chunks.unwrap(), 16), Ok(4), "{tile}");
    }
}

/// The register fragments of PTX: g = lane / 4, t = lane % 4.
#[test]
fn fragments_are_ptxs() {
    let atom = MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap();
    let mma = TiledMma::new(atom, &layout!((1, 1, 1))).unwrap();
    let [am, ak] = mma.tv_coordinates(Operand::A).unwrap();
    let [bn, bk] = mma.tv_coordinates(Operand::B).unwrap();
    let tv = mma.tv(Operand::C).unwrap();
    let c = coordinate_functions(&["m", "n"], &tv, &int_tuple!((16, 8)), &["lane", "value"]).unwrap();
    for lane in 0..32 {
        let (g, t) = (lane / 4, lane % 4);
        for v in 0..8 {
            let (m, k) = (g + 8 * (v / 2 % 2), 2 * t + v % 2 + 8 * (v / 4));
            assert_eq!((am.eval_at(&[lane, v]), ak.eval_at(&[lane, v])), (m, k));
        }
        for v in 0..4 {
            let (n, k) = (g, 2 * t + v % 2 + 8 * (v / 2));
            assert_eq!((bn.eval_at(&[lane, v]), bk.eval_at(&[lane, v])), (n, k));
            let args = [lane as u64, v as u64];
            let expected = (g + 8 * (v / 2), 2 * t + v % 2);
            assert_eq!((c[0].eval(&args), c[1].eval(&args)), (Some(expected.0 as u64), Some(expected.1 as u64)));
        }
    }
}

/// ldmatrix.x4 on A: matrices (rows 0-7, k 0-7), (rows 8-15, k 0-7), (rows 0-7, k 8-15), (rows 8-15, k 8-15).
#[test]
fn ldmatrix_rows_are_ptxs() {
    let atom = MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap();
    let mma = TiledMma::new(atom, &layout!((2, 1, 1))).unwrap();
    let copy = TiledCopy::for_mma(CopyAtom::ldmatrix(4, false).unwrap(), 16, &mma, Operand::A).unwrap();
    let [m, k] = copy.src_coordinates().unwrap();
    for thread in 0..64 {
        let (warp, lane) = (thread / 32, thread % 32);
        let (row, col) = (16 * warp + lane % 8 + 8 * (lane / 8 % 2), 8 * (lane / 16));
        for v in 0..8 {
            assert_eq!((m.eval_at(&[thread, v]), k.eval_at(&[thread, v])), (row, col + v));
        }
    }
    // What arrives in registers is the A fragment.
    assert_eq!(copy.tv(Side::Destination).unwrap().coalesce(), mma.tv(Operand::A).unwrap().coalesce());
}

/// The copy's view of the registers agrees with the multiplication's: one register holds one element of the matrix.
#[test]
fn retiled_fragments_hold_the_same_elements() {
    let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1)))
        .unwrap()
        .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))
        .unwrap();
    let (a, b, c) = (layout!((64, 64):(64, 1)), layout!((96, 64):(64, 1)), layout!((64, 96):(96, 1)));
    let load = CopyAtom::ldmatrix(4, false).unwrap();
    for (operand, matrix, atom, bits) in [
        (Operand::A, a, load, 16),
        (Operand::B, b, load, 16),
        (Operand::B, b, CopyAtom::ldmatrix(2, false).unwrap(), 16),
        (Operand::C, c, CopyAtom::universal(64).unwrap(), 32),
    ] {
        let copy = TiledCopy::for_mma(atom, bits, &mma, operand).unwrap();
        for thread in [0, 5, 37, 127] {
            let (held, at) = mma.partition(operand, &matrix, thread).unwrap();
            let fragment = held.fragment_like().unwrap();
            let mut element = vec![None; fragment.size().value() as usize];
            for i in 0..held.size().value() {
                element[fragment.eval(i) as usize] = Some(at + held.eval(i));
            }
            let (moved, at) = copy.partition(Side::Destination, &matrix, thread).unwrap();
            let view = copy.retile(&fragment).unwrap();
            assert_eq!(view.size(), moved.size());
            for i in 0..moved.size().value() {
                assert_eq!(element[view.eval(i) as usize], Some(at + moved.eval(i)), "{operand:?} of {thread} at {i}");
            }
        }
    }
}
