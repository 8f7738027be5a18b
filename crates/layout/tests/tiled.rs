//! Tiled copies and MMAs of what fits together, and refusals of what does not.

use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::{Int, IntTuple, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma, layout};

fn text(error: LayoutError) -> String {
    error.to_string()
}

fn fixed(text: &str) -> Result<Layout, LayoutError> {
    Ok(text.parse::<Layout>()?.to_static())
}

#[test]
fn layouts_of_threads_and_values_number_them() {
    let copy =
        |threads: &str, values: &str| TiledCopy::new(CopyAtom::universal(32)?, 32, &fixed(threads)?, &fixed(values)?);
    for good in ["(32,8):(8,1)", "(32,8):(1,32)", "((4,2),8):((1,32),4)", "(1,64):(7,1)"] {
        assert!(copy(good, "(4,1)").is_ok(), "{good}");
    }
    for (bad, numbered) in [("(32,8):(0,0)", 1), ("(32,8):(1,16)", 32), ("(32,8):(2,64)", 1), ("(4,4):(1,1)", 4)] {
        for (threads, values, what) in [(bad, "(4,1)", "the copy's threads"), ("(8,4)", bad, "the copy's values")] {
            let Err(LayoutError::NotNumbering { what: named, numbered: n, .. }) = copy(threads, values) else {
                panic!("{threads} and {values}")
            };
            assert_eq!((named, n.value()), (what, numbered), "{threads} and {values}");
        }
    }
    assert_eq!(
        text(copy("(32,8):(0,0)", "(4,1)").unwrap_err()),
        "the layout of the copy's threads must give the numbers 0 to 255 once each, but from 0 on only 1 are given so: use strides \
         that make it compact"
    );
}

#[test]
fn a_copy_stays_in_its_tile() {
    let copy = |tv: Layout| {
        TiledCopy::from_tv(CopyAtom::universal(32)?, 32, tv, IntTuple::flat(&[Int::Static(8), Int::Static(4)])?)
    };
    assert!(copy(layout!((8, 4):(1, 8))).is_ok());
    assert_eq!(copy(layout!((8, 4):(1, 9))), Err(LayoutError::Outside { offset: 34 }));
    assert_eq!(copy("(8,4):(1,-8)".parse().unwrap()), Err(LayoutError::Outside { offset: -24 }));
}

#[test]
fn what_a_thread_moves_is_whole_elements() {
    let copy = |bits| TiledCopy::new(CopyAtom::universal(128)?, bits, &layout!((32, 8)), &layout!((128, 1)));
    for bits in [1, 4, 8, 16, 32, 64, 128] {
        assert!(copy(bits).is_ok(), "{bits}");
    }
    for bits in [0, 3, 6, 12, 48, 256] {
        assert_eq!(copy(bits), Err(LayoutError::ElementsOfAtom { element_bits: bits, bits: Int::Static(128) }));
    }
}

/// A lane of a transposed `ldmatrix` gets 16 bits from here and 16 from there: no element is wider.
#[test]
fn transposed_matrices_have_narrow_elements() {
    let copy = |bits: u32| {
        let (threads, values) = (
            layout!((8, 4)),
            Layout::column_major(IntTuple::flat(&[Int::Static(128 / i64::from(bits)), Int::Static(1)])?)?,
        );
        TiledCopy::new(CopyAtom::ldmatrix(4, true)?, bits, &threads, &values)
    };
    for bits in [8, 16] {
        assert!(copy(bits).is_ok(), "{bits}");
    }
    for bits in [32, 64] {
        assert_eq!(copy(bits), Err(LayoutError::ElementsOfAtom { element_bits: bits, bits: Int::Static(16) }));
    }
}

#[test]
fn atoms_share_no_thread() {
    let mma = |atoms: &str| TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &fixed(atoms)?);
    for good in ["(2,2,1)", "(2,2,1):(2,1,0)", "(1,1,1):(0,0,0)", "(2,2):(4,1)", "4"] {
        assert!(mma(good).is_ok(), "{good}");
    }
    for bad in ["(2,2,1):(0,0,0)", "(2,2,1):(1,1,0)", "(4,2):(1,2)", "(2,2):(-1,2)"] {
        assert!(matches!(mma(bad), Err(LayoutError::NotApart { .. })), "{bad}");
    }
}

/// Every permutation of a multiple of the atoms holds each element of the tile, whoever holds it.
#[test]
fn a_permutation_is_one_and_fits_the_atoms() {
    let mma = || TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((2, 2, 1))).unwrap();
    let permuted = |axis, p: &str| mma().with_permutation(axis, &fixed(p)?);
    for (axis, good) in
        [(0, "32"), (0, "64"), (0, "(16,2):(2,1)"), (1, "(8,2,2):(1,16,8)"), (1, "16"), (2, "32"), (2, "(8,2):(2,1)")]
    {
        let mma = permuted(axis, good).unwrap();
        for operand in [Operand::A, Operand::B, Operand::C] {
            let tv = mma.tv(operand).unwrap();
            let mut held: Vec<i64> = (0..tv.size().value()).map(|i| tv.eval(i)).collect();
            held.sort_unstable();
            held.dedup();
            let [m, n, k] = mma.tile_mnk();
            let size = match operand {
                Operand::A => m * k,
                Operand::B => n * k,
                Operand::C => m * n,
            };
            assert_eq!(held, (0..size).collect::<Vec<_>>(), "{good} of axis {axis}, {operand:?}");
        }
    }
    for (axis, extent, atoms, name) in [(0, 24, 32, 'M'), (0, 16, 32, 'M'), (1, 24, 16, 'N'), (2, 24, 16, 'K')] {
        let (extent, atoms) = (Int::Static(extent), Int::Static(atoms));
        let error = LayoutError::PermutedExtent { axis: name, extent, atoms };
        assert_eq!(permuted(axis, &extent.value().to_string()), Err(error));
    }
    for bad in ["32:2", "(32,2):(1,0)", "(8,4):(1,4)", "32:0"] {
        assert!(matches!(permuted(0, bad), Err(LayoutError::NotNumbering { .. })), "{bad}");
    }
    assert_eq!(
        text(permuted(0, "24").unwrap_err()),
        "the permutation of M has 24 elements, but the atoms have 32 along it: give a multiple of these"
    );
    let copy = TiledCopy::for_mma(CopyAtom::ldmatrix(4, false).unwrap(), 16, &mma(), Operand::A).unwrap();
    assert!(copy.tv(Side::Source).is_ok());
}
