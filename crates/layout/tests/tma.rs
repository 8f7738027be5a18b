//! Tensor maps copy what the layouts say: each box, walked in TMA's order, lands where the shared layout puts its elements.

use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::tma::TensorMap;
use warpwright_layout::{ComposedLayout, Int, IntTuple, Layout, LayoutError, int_tuple, layout};

/// Plays every box; the number of elements.
fn play(global: &Layout, tile: &ComposedLayout, map: &TensorMap) -> i64 {
    let mut seen = 0;
    for n in 0..map.boxes() {
        let (origin, start) = (map.coordinates(n).unwrap(), map.shared_offset(n).unwrap());
        for i in 0..map.box_elements() {
            // Dimension 0 fastest.
            let (mut rest, mut coordinate) = (i, vec![0; global.rank()]);
            for (d, &extent) in map.box_extents().iter().enumerate() {
                coordinate[map.modes()[d]] = origin[d] + rest % i64::from(extent);
                rest /= i64::from(extent);
            }
            let place = tile.swizzle.apply(start + i);
            assert_eq!(tile.eval_at(&coordinate), place, "{tile}: box {n}, element {i} at {coordinate:?}");
            // The strides are those of the global layout.
            let bytes: u64 =
                (1..coordinate.len()).map(|d| coordinate[map.modes()[d]] as u64 * map.byte_strides()[d - 1]).sum();
            let contiguous = coordinate[map.modes()[0]];
            assert_eq!(bytes / 2 + contiguous as u64, global.eval_at(&coordinate) as u64);
            seen += 1;
        }
    }
    for n in [-1, map.boxes(), i64::MIN, i64::MAX] {
        assert_eq!((map.coordinates(n), map.shared_offset(n)), (None, None));
    }
    seen
}

#[test]
fn tiles_of_matrices() {
    let row = layout!((4096, 1024):(1024, 1));
    let column = layout!((4096, 1024):(1, 4096));
    for swizzle in [SmemSwizzle::None, SmemSwizzle::B32, SmemSwizzle::B64, SmemSwizzle::B128] {
        for (mn, k) in [(64, 64), (128, 64), (256, 128), (512, 64)] {
            let shape = IntTuple::flat(&[Int::Static(mn), Int::Static(k)]).unwrap();
            for order in [None, Some(int_tuple!((2, 1)))] {
                for (major, global) in [(Major::K, row), (Major::Mn, column)] {
                    let tile = atom(major, swizzle, 16).unwrap().tile_to_shape(&shape, order.as_ref()).unwrap();
                    let map = TensorMap::of(&global, &tile, 16).unwrap();
                    assert_eq!(map.swizzle(), swizzle);
                    assert_eq!(u32::from(map.box_extents()[0] as u16) * 2, swizzle.row_bytes().max(16));
                    assert_eq!(play(&global, &tile, &map), mn * k);
                }
            }
        }
    }
}

#[test]
fn whole_tiles_and_stages() {
    // Without a swizzle a row-major tile is one box.
    let global = layout!((4096, 1024):(1024, 1));
    let tile: ComposedLayout = layout!((32, 64):(64, 1)).into();
    let map = TensorMap::of(&global, &tile, 16).unwrap();
    assert_eq!((map.box_extents(), map.boxes()), (&[64, 32][..], 1));
    assert_eq!(play(&global, &tile, &map), 32 * 64);
    // A box has at most 256 coordinates in a dimension.
    let tile: ComposedLayout = layout!((768, 8):(8, 1)).into();
    let map = TensorMap::of(&global, &tile, 16).unwrap();
    assert_eq!((map.box_extents(), map.boxes()), (&[8, 256][..], 3));
    assert_eq!(play(&global, &tile, &map), 768 * 8);
    // A third mode, as the batch of a tensor, is one box each.
    let global = layout!((256, 512, 6):(512, 1, 131072));
    let tile = atom(Major::K, SmemSwizzle::B64, 16).unwrap().tile_to_shape(&int_tuple!((64, 32, 2)), None).unwrap();
    let map = TensorMap::of(&global, &tile, 16).unwrap();
    assert_eq!((map.box_extents(), map.boxes()), (&[32, 64, 2][..], 1));
    assert_eq!(play(&global, &tile, &map), 64 * 32 * 2);
}

#[test]
fn what_tma_cannot_do() {
    let refused = |global: &Layout, tile: &ComposedLayout| match TensorMap::of(global, tile, 16) {
        Err(LayoutError::Tma { what, value }) => (what, value),
        other => panic!("{other:?}"),
    };
    let tile = atom(Major::K, SmemSwizzle::B128, 16).unwrap();
    assert_eq!(refused(&layout!((64, 64):(1, 64)), &tile).1, 64);
    assert_eq!(
        refused(&layout!((64, 64):(65, 1)), &tile),
        ("strides must be multiples of 16 bytes, above 0 and below 2^40", 130)
    );
    assert_eq!(refused(&layout!((64, 4):(64, 1)), &layout!((8, 4):(4, 1)).into()).1, 8);
    assert_eq!(refused(&layout!((64, 64):(64, 1)), &layout!((8, 8):(16, 1)).into()).1, 8);
    let nothing = Layout::new(IntTuple::tuple(&[]).unwrap(), IntTuple::tuple(&[]).unwrap()).unwrap();
    assert_eq!(refused(&nothing, &nothing.into()), ("a tensor has 1 to 5 modes, each one integer", 0));
    let of_other_widths = [("Sw<1,0,1>", 16), ("Sw<3,3,3>", 8), ("Sw<3,3,3>", 32), ("Sw<3,6,-3>", 16)];
    for (swizzle, element_bits) in of_other_widths {
        let odd: ComposedLayout = format!("{swizzle} o _0 o (_8,_64):(_64,_1)").parse().unwrap();
        let error = LayoutError::TmaSwizzle { swizzle: odd.swizzle, element_bits };
        assert_eq!(TensorMap::of(&layout!((64, 64):(64, 1)), &odd, element_bits), Err(error));
    }
    let wide = "Sw<3,3,3> o _0 o (_8,_128):(_128,_1)".parse().unwrap();
    assert!(refused(&layout!((64, 256):(256, 1)), &wide).0.contains("within the swizzle's span"));
    assert!(matches!(TensorMap::of(&layout!(64), &tile, 16), Err(LayoutError::Rank { .. })));
    // Rows of a swizzled box are the span apart; a single row has none behind it.
    let short = "Sw<3,3,3> o _0 o (_8,_32):(_32,_1)".parse().unwrap();
    assert_eq!(
        refused(&layout!((64, 64):(64, 1)), &short),
        ("the rows of a swizzled box must be as long as the swizzle's span", 64)
    );
    let row: ComposedLayout = "Sw<3,3,3> o _0 o (_1,_32):(_0,_1)".parse().unwrap();
    assert_eq!(TensorMap::of(&layout!((64, 64):(64, 1)), &row, 16).unwrap().box_extents(), [32, 1]);
    // Boxes of 32 bytes would begin between the multiples of 128.
    let blocks = layout!((2, (8, 4)):(8, (1, 16)));
    assert_eq!(
        refused(&layout!((64, 64):(64, 1)), &blocks.into()),
        ("boxes must begin at multiples of 128 bytes in shared memory, so their size must be one", 32)
    );
    let large = layout!((256, 256, 4):(256, 1, 65536));
    assert_eq!(
        refused(&layout!((256, 256, 4):(256, 1, 65536)), &large.into()),
        ("a box must fit shared memory, 232448 bytes", 524288)
    );
    for bits in [0, 1, 3, 6, 128, 129] {
        let Err(LayoutError::Tma { what, value }) = TensorMap::of(&layout!((64, 64):(64, 1)), &tile, bits) else {
            panic!("{bits}")
        };
        assert_eq!((what, value), ("elements must have 4, 8, 16, 32 or 64 bits", bits.into()));
    }
    let odd = TensorMap::of(&layout!(63), &layout!(32).into(), 4);
    let what = "the contiguous extent of 4-bit elements must be even";
    assert_eq!(odd, Err(LayoutError::Tma { what, value: 63 }));
}

/// The driver checks the stride of a dimension of extent 1, along which nothing steps.
#[test]
fn a_dimension_of_one_has_a_stride_that_the_driver_takes() {
    let tile: ComposedLayout = layout!((1, 64):(0, 1)).into();
    for global in [layout!((1, 64):(65, 1)), layout!((1, 64):(0, 1)), "(1,64):(-3,1)".parse().unwrap()] {
        let map = TensorMap::of(&global, &tile, 16).unwrap();
        assert_eq!((map.extents(), map.byte_strides(), map.box_extents()), (&[64, 1][..], &[16][..], &[64, 1][..]));
    }
}

/// A tile is what it is whether or not its integers are known when it is written.
#[test]
fn dynamic_tiles_have_the_maps_of_static_ones() {
    let global = layout!((192, 256):(256, 1));
    let tile = atom(Major::K, SmemSwizzle::B128, 16).unwrap().tile_to_shape(&int_tuple!((64, 128)), None).unwrap();
    let known = TensorMap::of(&global, &tile, 16).unwrap();
    let mixed: ComposedLayout = "Sw<3,3,3> o _0 o ((_8,8),(_64,2)):((_64,512),(_1,4096))".parse().unwrap();
    for tile in [mixed, ComposedLayout { layout: tile.layout.to_dynamic(), ..tile }] {
        assert_eq!(TensorMap::of(&global.to_dynamic(), &tile, 16).unwrap(), known, "{tile}");
    }
}
