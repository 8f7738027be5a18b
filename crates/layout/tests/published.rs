//! Values that CuTe's documentation and tutorials print.

use warpwright_layout::atom::CopyAtom;
use warpwright_layout::{Coord, Layout, Side, TiledCopy, Tiler, int_tuple, layout};

#[test]
fn the_twelve_indices_of_a_composition() {
    let r = layout!((6, 2):(8, 2)).compose(&layout!((4, 3):(3, 1))).unwrap();
    assert_eq!(r.to_string(), "((_2,_2),_3):((_24,_2),_8)");
    let indices: Vec<i64> = (0..12).map(|i| r.eval(i)).collect();
    assert_eq!(indices, [0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]);
}

#[test]
fn tiles_of_a_row_major_matrix() {
    let a = layout!((256, 128):(128, 1));
    let tiled = a.zipped_divide(&Tiler::ByMode(&[Tiler::of(16), Tiler::of(16)])).unwrap();
    assert_eq!(tiled.to_string(), "((_16,_16),(_16,_8)):((_128,_1),(_2048,_16))");
    let mut checked = 0;
    for tile in 0..128 {
        for element in 0..256 {
            let (i, j) = (16 * (tile % 16) + element % 16, 16 * (tile / 16) + element / 16);
            assert_eq!(tiled.eval_at(&[element, tile]), 128 * i + j);
            checked += 1;
        }
    }
    assert_eq!(checked, 32_768);
    // The tile at (3, 2) as a layout of its own.
    let coord = Coord::ByMode(&[Coord::At(3), Coord::At(2)]);
    let (tile, offset) = a.local_tile(&Tiler::ByMode(&[Tiler::of(16), Tiler::of(16)]), &coord).unwrap();
    assert_eq!((tile.to_string().as_str(), offset), ("(_16,_16):(_128,_1)", 3 * 2048 + 32));
}

#[test]
fn thread_65_of_the_tiled_copy_tutorial() {
    let copy = TiledCopy::new(CopyAtom::universal(128).unwrap(), 32, &layout!((32, 8)), &layout!((4, 1))).unwrap();
    let (part, offset) = copy.partition(Side::Source, &layout!((128, 64)), 65).unwrap();
    assert_eq!(offset, 260);
    assert_eq!(part.coalesce_by(&int_tuple!((1, 1, 1))).unwrap().to_string(), "(_4,_1,_8):(_1,_0,_1024)");
}

#[test]
fn a_thread_layout_partitions_a_tile() {
    // The sgemm tutorial: 32 by 8 threads over a 128 by 8 tile.
    let threads = layout!((32, 8));
    let (part, offset) = layout!((128, 8)).local_partition(&threads, 65).unwrap();
    assert_eq!((part.coalesce().unwrap().to_string().as_str(), offset), ("_4:_32", 1 + 2 * 128));
    // 16 by 16 threads over the 128 by 128 accumulator tile.
    let (part, offset) = layout!((128, 128)).local_partition(&layout!((16, 16)), 17).unwrap();
    assert_eq!((part, offset), ("(_8,_8):(_16,_2048)".parse().unwrap(), 1 + 128));
}

#[test]
fn fragments_are_compact() {
    let part: Layout = "((_2,_2,_2),_2,_4):((_1,_512,_8),_1024,_16)".parse().unwrap();
    assert_eq!(part.fragment_like().unwrap().to_string(), "((_2,_2,_2),_2,_4):((_1,_2,_4),_32,_8)");
    let broadcast: Layout = "((_2,_2),_3):((_0,_1),_8)".parse().unwrap();
    assert_eq!(broadcast.fragment_like().unwrap().to_string(), "((_2,_2),(_3)):((_0,_1),(_2))");
}

/// The whole chain is a constant.
#[test]
fn layouts_are_constants() {
    const A: Layout = layout!((8, (4, 2)):(8, (1, 64)));
    const R: Layout = match A.compose(&layout!((4, 4):(2, 8))) {
        Ok(r) => r,
        Err(_) => panic!("composes"),
    };
    const SIZE: i64 = R.size().value();
    let table: [i64; SIZE as usize] = const {
        let (mut t, mut i) = ([0; SIZE as usize], 0);
        while i < SIZE {
            t[i as usize] = R.eval(i);
            i += 1;
        }
        t
    };
    assert!((0..16).all(|i| table[i as usize] == A.eval(2 * (i % 4) + 8 * (i / 4))));
}
