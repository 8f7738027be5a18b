//! Matrix descriptors say where each element is, or are refused.

use warpwright_layout::descriptor::SmemDescriptor;
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{Int, IntTuple, Layout, LayoutError};

const SWIZZLES: [SmemSwizzle; 5] =
    [SmemSwizzle::None, SmemSwizzle::B32, SmemSwizzle::B64, SmemSwizzle::B128, SmemSwizzle::B128Atom32];

/// `((mn modes),(k modes))`, each mode an extent and a stride.
fn tile(mn: &[[i64; 2]], k: &[[i64; 2]]) -> Layout {
    let side = |modes: &[[i64; 2]], i: usize| {
        IntTuple::flat(&modes.iter().map(|mode| Int::Static(mode[i])).collect::<Vec<_>>()).unwrap()
    };
    let both = |i| IntTuple::tuple(&[side(mn, i), side(k, i)]).unwrap();
    Layout::new(both(0), both(1)).unwrap()
}

/// The canonical tile of the hardware's documents with these byte offsets.
fn canonical(major: Major, swizzle: SmemSwizzle, bits: i64, mn: i64, leading: i64, stride: i64) -> Option<Layout> {
    let (k, span, word) = (256 / bits, i64::from(swizzle.row_bytes()) * 8 / bits, 128 / bits);
    let (leading, stride) = (leading * 8 / bits, stride * 8 / bits);
    let rows = if swizzle == SmemSwizzle::B128Atom32 { 4 } else { 8 };
    Some(match (major, swizzle) {
        (Major::K, SmemSwizzle::B128Atom32) => return None,
        (Major::K, SmemSwizzle::None) => tile(&[[8, word], [mn / 8, stride]], &[[word, 1], [k / word, leading]]),
        (Major::K, _) => tile(&[[8, span], [mn / 8, stride]], &[[k, 1]]),
        _ if k % rows != 0 || mn % span != 0 && mn > span => return None,
        // What fits one chunk of the swizzle has no other beside it.
        (Major::Mn, _) if mn < span => tile(&[[mn, 1]], &[[rows, span], [k / rows, stride]]),
        (Major::Mn, SmemSwizzle::None) => tile(&[[word, 1], [mn / word, stride]], &[[8, word], [k / 8, leading]]),
        (Major::Mn, _) => tile(&[[span, 1], [mn / span, leading]], &[[rows, span], [k / rows, stride]]),
    })
}

#[test]
fn canonical_tiles_have_their_offsets_in_the_descriptor() {
    let mut seen = 0;
    for major in [Major::K, Major::Mn] {
        for swizzle in SWIZZLES {
            for bits in [4, 8, 16, 32, 64] {
                for mn in [16, 32, 64, 128, 256] {
                    for (leading, stride) in [(2048, 1024), (512, 4096), (4096 + 16, 8192 + 48)] {
                        let Some(tile) = canonical(major, swizzle, bits, mn, leading, stride) else { continue };
                        let made = SmemDescriptor::of(&tile, major, swizzle, bits as u32).unwrap();
                        let (k, rows) = (256 / bits, if swizzle == SmemSwizzle::B128Atom32 { 4 } else { 8 });
                        let chunks = mn * bits / 8 > i64::from(swizzle.row_bytes());
                        // Where there is one of a kind alone, its distance is whatever it is.
                        let [leads, strides] = match (major, swizzle) {
                            (Major::K, SmemSwizzle::None) => [true, mn > 8],
                            (Major::K, _) => [false, mn > 8],
                            (Major::Mn, SmemSwizzle::None) => [k > 8 && chunks, chunks],
                            (Major::Mn, _) => [chunks, k > rows],
                        };
                        assert!(!leads || i64::from(made.leading) * 16 == leading, "{made:?} of {tile}");
                        assert!(!strides || i64::from(made.stride) * 16 == stride, "{made:?} of {tile}");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 400, "{seen}");
}

/// Where the hardware finds an element, in bytes before the swizzle: the closed forms of the documents, for 16-bit elements.
fn place(d: &SmemDescriptor, major: Major, mn: i64, k: i64) -> i64 {
    let (leading, stride) = (i64::from(d.leading) * 16, i64::from(d.stride) * 16);
    let span = i64::from(d.swizzle.row_bytes());
    match (major, d.swizzle) {
        (Major::K, SmemSwizzle::None) => mn / 8 * stride + mn % 8 * 16 + 2 * k / 16 * leading + 2 * k % 16,
        (Major::K, _) => mn / 8 * stride + mn % 8 * span + 2 * k,
        (Major::Mn, SmemSwizzle::None) => 2 * mn / 16 * stride + 2 * mn % 16 + k % 8 * 16 + k / 8 * leading,
        (Major::Mn, SmemSwizzle::B128Atom32) => 2 * mn / 128 * leading + 2 * mn % 128 + k % 4 * 128 + k / 4 * stride,
        (Major::Mn, _) => 2 * mn / span * leading + 2 * mn % span + k % 8 * span + k / 8 * stride,
    }
}

/// Tiles one stride or extent away from a canonical one: what is given describes each element.
#[test]
fn a_descriptor_that_is_given_describes_every_element() {
    let (mut given, mut refused) = (0, 0);
    for major in [Major::K, Major::Mn] {
        for made_for in SWIZZLES {
            let Some(tile) = canonical(major, made_for, 16, 64, 2048, 1024) else { continue };
            let flat = tile.flatten();
            let modes: Vec<[i64; 2]> =
                (0..flat.rank()).map(|i| [flat.shape().get(i).value(), flat.stride().get(i).value()]).collect();
            let in_mn = tile.mode(0).rank();
            for (n, part) in (0..2 * modes.len()).map(|i| (i / 2, i % 2)) {
                for value in [1, 2, 4, 8, 16, 32, 64, 72, 128, 256, 512, 1000, 1 << 18] {
                    let mut modes = modes.clone();
                    modes[n][part] = value;
                    if modes.iter().map(|mode| mode[0]).product::<i64>() > 1 << 16 {
                        continue;
                    }
                    let tile = self::tile(&modes[..in_mn], &modes[in_mn..]);
                    for swizzle in SWIZZLES {
                        let Ok(made) = SmemDescriptor::of(&tile, major, swizzle, 16) else {
                            refused += 1;
                            continue;
                        };
                        let (mn, k) = (tile.mode(0).size().value(), tile.mode(1).size().value());
                        assert!(mn % 8 == 0 && k == 16, "{tile}");
                        for (m, k) in (0..mn * k).map(|i| (i % mn, i / mn)) {
                            let at = 2 * tile.eval_at(&[m, k]);
                            assert_eq!(at, place(&made, major, m, k), "{made:?} of {tile} at ({m},{k})");
                        }
                        given += 1;
                    }
                }
            }
        }
    }
    assert!(given > 100 && refused > 1000, "{given} and {refused}");
}

#[test]
fn what_no_descriptor_describes() {
    let of = |text: &str, major, swizzle| {
        let tile: Layout = text.parse().unwrap();
        SmemDescriptor::of(&tile.to_static(), major, swizzle, 16)
    };
    let refused = |what| Err(LayoutError::NotCanonical { what });
    // Every other element along k: the words are where they should be, what is in them is not.
    assert_eq!(of("((8,8),16):((64,512),2)", Major::K, SmemSwizzle::B128), refused("the place of an element"));
    for k in ["8", "32", "64"] {
        let what = "a k that is not 32 bytes";
        assert_eq!(of(&format!("((8,8),{k}):((64,512),1)"), Major::K, SmemSwizzle::B128), refused(what));
    }
    for (mn, stride) in [("4", "64"), ("12", "64"), ("(8,64)", "(64,512)")] {
        let what = "an mn that is no multiple of 8 up to 256";
        assert_eq!(of(&format!("({mn},16):({stride},1)"), Major::K, SmemSwizzle::B128), refused(what), "{mn}");
    }
    assert_eq!(
        of("((8,8),16):((64,512),1)", Major::K, SmemSwizzle::B128Atom32),
        refused("a K-major 128-byte swizzle of 32-byte atoms")
    );
    // A mode of extent 1 steps nowhere.
    assert_eq!(of("((8,1),16):((64,77),1)", Major::K, SmemSwizzle::B128).map(|d| d.leading), Ok(1));
}

#[test]
fn a_tile_without_an_instruction_is_refused() {
    let block = atom(Major::Mn, SmemSwizzle::B32, 16).unwrap();
    for shape in ["()", "64", "(64,16)", "((64,16),1)", "((64,16,1),1,1)", "(64,1,1)", "((),1,1)"] {
        let error = block.tile_to_mma_shape(&shape.parse().unwrap(), None);
        assert!(matches!(error, Err(LayoutError::Rank { operation: "tile_to_mma_shape", .. })), "{shape}: {error:?}");
    }
}
