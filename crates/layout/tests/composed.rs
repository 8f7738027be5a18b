//! Operations on swizzled layouts and on swizzles alone, as functions on every coordinate.

use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{ComposedLayout, Layout, LayoutError, Swizzle, layout};

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
    assert!(matches!(c.take(3, 5), Err(LayoutError::Rank { .. })));
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
    let at_four = ComposedLayout { offset: warpwright_layout::Int::Static(4), ..tile };
    assert_eq!(at_four.max_alignment(), Ok(4));
    // Offsets far beyond a layout wrap instead of ending the program.
    assert_eq!(layout!((8, 64):(64, 1)).eval_at(&[i64::MAX, i64::MAX]), i64::MAX.wrapping_mul(65));
}
