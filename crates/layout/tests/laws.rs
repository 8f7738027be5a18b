//! The algebra's laws on random layouts: ten thousand for each law, a million nightly (`WARPWRIGHT_NIGHTLY`).

use std::collections::HashSet;

use proptest::prelude::*;
use warpwright_layout::lower::index_function;
use warpwright_layout::{ComposedInverse, ComposedLayout, Coord, Int, IntTuple, Layout, Swizzle, Tiler};

fn config() -> ProptestConfig {
    let cases = if std::env::var_os("WARPWRIGHT_NIGHTLY").is_some() { 1_000_000 } else { 10_000 };
    ProptestConfig { cases, failure_persistence: None, max_global_rejects: u32::MAX, ..ProptestConfig::default() }
}

/// A tuple of up to `leaves` integers, nested at most twice.
fn nested(leaves: Vec<Int>, groups: Vec<bool>) -> IntTuple {
    let mut modes = Vec::new();
    let mut open: Vec<IntTuple> = Vec::new();
    for (v, group) in leaves.into_iter().zip(groups) {
        open.push(IntTuple::leaf(v));
        if !group {
            modes.push(if open.len() == 1 { open[0] } else { IntTuple::tuple(&open).unwrap() });
            open.clear();
        }
    }
    if !open.is_empty() {
        modes.push(IntTuple::tuple(&open).unwrap());
    }
    if modes.len() == 1 { modes[0] } else { IntTuple::tuple(&modes).unwrap() }
}

/// Any layout of at most four integers and 4096 elements.
fn any_layout() -> impl Strategy<Value = Layout> {
    let extent = prop_oneof![Just(1i64), Just(2), Just(3), Just(4), Just(6), Just(8)];
    let stride = prop_oneof![Just(0i64), Just(1), Just(2), Just(3), Just(4), Just(8), Just(12), Just(16), Just(64)];
    prop::collection::vec((extent, stride, any::<bool>()), 1..=4).prop_map(|modes| {
        let groups: Vec<bool> = modes.iter().map(|m| m.2).collect();
        let shape = nested(modes.iter().map(|m| Int::Static(m.0)).collect(), groups.clone());
        let stride = nested(modes.iter().map(|m| Int::Static(m.1)).collect(), groups);
        Layout::new(shape, stride).unwrap()
    })
}

/// As [`any_layout`], with strides that go down among them.
fn signed_layout() -> impl Strategy<Value = Layout> {
    (any_layout(), any::<u8>()).prop_map(|(l, signs)| {
        let turned: Vec<Int> = l
            .stride()
            .iter()
            .enumerate()
            .map(|(i, d)| if signs >> i & 1 == 1 { Int::Static(-d.value()) } else { d })
            .collect();
        let flat = if l.shape().is_tuple() { IntTuple::flat(&turned).unwrap() } else { IntTuple::leaf(turned[0]) };
        Layout::new(l.shape(), flat.unflatten(&l.shape()).unwrap()).unwrap()
    })
}

/// A bijective layout: a compact one with its modes in a random order.
fn compact_layout() -> impl Strategy<Value = Layout> {
    let extents = prop::collection::vec(prop_oneof![Just(2i64), Just(3), Just(4), Just(8)], 1..=4);
    (extents, any::<u64>()).prop_map(|(extents, seed)| {
        let shape = IntTuple::flat(&extents.iter().map(|&e| Int::Static(e)).collect::<Vec<_>>()).unwrap();
        let order: Vec<Int> =
            (0..extents.len()).map(|i| Int::Static((seed >> (8 * i) & 0xFF) as i64 * 4 + i as i64)).collect();
        Layout::ordered(&shape, &IntTuple::flat(&order).unwrap()).unwrap()
    })
}

fn swizzle() -> impl Strategy<Value = Swizzle> {
    (0i32..4, 0i32..5, 0i32..3, any::<bool>()).prop_map(|(bits, base, more, left)| {
        Swizzle::new(bits, base, if left { -(bits + more) } else { bits + more }).unwrap()
    })
}

fn table(l: &Layout) -> Vec<i64> {
    (0..l.size().value()).map(|i| l.eval(i)).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn composition_is_function_composition(a in signed_layout(), b in prop_oneof![any_layout(), signed_layout()]) {
        if let Ok(r) = a.compose(&b) {
            prop_assert_eq!(r.size(), b.size());
            for i in 0..b.size().value() {
                prop_assert_eq!(r.eval(i), a.eval(b.eval(i)), "{} o {} = {} at {}", a, b, r, i);
            }
        }
    }

    #[test]
    fn composition_is_associative(a in compact_layout(), b in any_layout(), c in any_layout()) {
        // Beyond b's domain b itself is not defined, so c must stay within it.
        if c.cosize().value() <= b.size().value()
            && let (Ok(ab), Ok(bc)) = (a.compose(&b), b.compose(&c))
            && let (Ok(left), Ok(right)) = (ab.compose(&c), a.compose(&bc))
        {
            prop_assert_eq!(table(&left), table(&right), "({} o {}) o {}", a, b, c);
        }
    }

    #[test]
    fn coalesce_keeps_the_function(a in signed_layout()) {
        let c = a.coalesce().unwrap();
        prop_assert!(c.depth() <= 1);
        prop_assert_eq!(table(&a), table(&c));
    }

    #[test]
    fn complement_is_disjoint_ordered_and_fills(a in any_layout(), target in 1i64..300) {
        if let Ok(c) = a.complement(&IntTuple::int(target)) {
            let filtered = a.filter().unwrap();
            let (ours, rest) = (table(&filtered), table(&c));
            prop_assert!(rest.windows(2).all(|w| w[0] < w[1]), "{} is not ordered", c);
            let both: HashSet<i64> = ours.iter().copied().collect();
            prop_assert!(rest[1..].iter().all(|x| !both.contains(x)), "{} meets {}", c, a);
            // Modes whose strides do not nest leave holes that no layout fills.
            let mut modes: Vec<(i64, i64)> =
                filtered.stride().iter().zip(filtered.shape().iter()).map(|(d, s)| (d.value(), s.value())).collect();
            modes.sort_unstable();
            if modes.windows(2).all(|w| w[1].0 % (w[0].0 * w[0].1).max(1) == 0) {
                let product = filtered.size().value() * c.size().value();
                prop_assert!(product >= target.min(a.cosize().value()), "{} and {} do not fill {}", a, c, target);
                let reached: HashSet<i64> = table(&Layout::concat(&[filtered, c]).unwrap()).into_iter().collect();
                prop_assert_eq!(reached.len() as i64, product);
            }
        }
    }

    #[test]
    fn a_coordinate_is_one_integer_or_one_a_mode(a in any_layout(), empty in 0usize..6) {
        // A mode of no integers takes a coordinate, too.
        let l = if empty <= a.rank() && a.shape().is_tuple() { a.group(empty, empty).unwrap() } else { a };
        let extents: Vec<i64> = (0..l.rank()).map(|m| l.mode(m).size().value()).collect();
        for i in 0..l.size().value() {
            let mut rest = i;
            let coord: Vec<i64> = extents.iter().map(|e| { let c = rest % e; rest /= e; c }).collect();
            prop_assert_eq!(l.eval_at(&coord), a.eval(i), "{} at {:?}", l, coord);
            prop_assert_eq!(l.try_eval_at(&coord), Ok(a.eval(i)), "{} at {:?}", l, coord);
        }
        prop_assert_eq!(l.eval_at(&[]), 0);
        prop_assert_eq!(l.eval_at(&vec![1; l.rank() + 3]), l.eval_at(&vec![1; l.rank()]));
    }

    #[test]
    fn inverses_invert(a in signed_layout()) {
        let r = a.right_inverse().unwrap();
        for i in 0..r.size().value() {
            prop_assert_eq!(a.eval(r.eval(i)), i);
        }
    }

    #[test]
    fn inverses_behind_a_swizzle_invert(a in prop_oneof![any_layout(), signed_layout()], s in swizzle(), offset in prop_oneof![Just(0i64), -40i64..300]) {
        let c = ComposedLayout { swizzle: s, offset: Int::Static(offset), layout: a };
        match c.right_inverse() {
            Ok(ComposedInverse::Swizzled(r)) => {
                for x in 0..r.size().value() {
                    let at = r.eval(x);
                    prop_assert!((0..c.size().value()).contains(&at), "{} takes {} to {}, which {} has not", r, x, at, c);
                    prop_assert_eq!(c.eval(at), x, "{} of {}", r, c);
                }
            }
            Ok(r) => {
                // What is reached from the part without gaps.
                for i in 0..r.layout().size().value() {
                    let x = s.apply(offset + i);
                    let at = r.eval(x);
                    prop_assert!((0..c.size().value()).contains(&at), "{} takes {} to {}, which {} has not", r, x, at, c);
                    prop_assert_eq!(c.eval(at), x, "{} of {}", r, c);
                }
            }
            Err(_) => prop_assert!(s.bits > 0),
        }
        if let Ok(l) = c.left_inverse() {
            let once = table(&a).into_iter().collect::<HashSet<i64>>().len() as i64 == a.size().value();
            for i in 0..c.size().value() {
                let at = l.eval(c.eval(i));
                prop_assert!(at == i || !once, "{} of {} takes {} to {}", l, c, c.eval(i), at);
                prop_assert_eq!(c.eval(at), c.eval(i), "{} of {}", l, c);
            }
        }
    }

    #[test]
    fn a_bijection_has_both_inverses(a in compact_layout()) {
        let (r, l) = (a.right_inverse().unwrap(), a.left_inverse().unwrap());
        for i in 0..a.size().value() {
            prop_assert_eq!(a.eval(r.eval(i)), i);
            prop_assert_eq!(l.eval(a.eval(i)), i);
        }
    }

    #[test]
    fn divide_permutes(a in compact_layout(), tile in compact_layout()) {
        // A tile that does not divide the layout leaves no permutation: then the tile and its rest do not compose.
        let rest = tile.complement(&a.shape()).unwrap();
        if a.compose(&Layout::concat(&[tile, rest]).unwrap()).is_ok_and(|d| d.size() == a.size()) {
            let d = a.logical_divide(&Tiler::Layout(&tile)).unwrap();
            let (mut before, mut after) = (table(&a), table(&d));
            before.sort_unstable();
            after.sort_unstable();
            prop_assert_eq!(before, after, "{} / {} = {}", a, tile, d);
        }
    }

    #[test]
    fn product_repeats_the_block(block in compact_layout(), tile in compact_layout()) {
        if let Ok(p) = block.logical_product(&Tiler::Layout(&tile)) {
            let size = block.size().value();
            prop_assert_eq!(p.size().value(), size * tile.size().value());
            // Up to sixteen million elements: marked, not sorted.
            let mut reached = vec![0u64; (p.cosize().value() as usize).div_ceil(64)];
            for i in 0..p.size().value() {
                let at = p.eval(i);
                prop_assert!(i >= size || at == block.eval(i), "{} at {} is not {}", p, i, block);
                let (word, bit) = (at as usize / 64, 1 << (at % 64));
                prop_assert!(reached[word] & bit == 0, "{} reaches {} twice", p, at);
                reached[word] |= bit;
            }
        }
    }

    #[test]
    fn swizzles_are_involutions(s in swizzle(), x in 0i64..65536) {
        prop_assert_eq!(s.apply(s.apply(x)), x);
        if s.shift != 0 {
            let domain: HashSet<i64> = (0..1024).map(|i| s.apply(i)).collect();
            prop_assert_eq!(domain.len(), 1024);
        }
    }

    #[test]
    fn lowered_is_evaluated(l in any_layout(), s in swizzle(), offset in 0i64..64, dynamic in any::<bool>()) {
        let layout = if dynamic { l.to_dynamic() } else { l };
        let c = ComposedLayout { swizzle: s, offset: Int::Static(offset), layout };
        let names = ["a", "b", "c", "d"];
        let by_mode = index_function("f", &c, &names[..l.rank()]).unwrap();
        let linear = index_function("g", &c, &["i"]).unwrap();
        for i in 0..l.size().value() {
            prop_assert_eq!(linear.eval(&[i as u64]), Some(c.eval(i) as u64), "{} at {}\n{}", c, i, linear);
            let mut rest = i;
            let coord: Vec<u64> = (0..l.rank()).map(|m| {
                let e = l.mode(m).size().value();
                let v = rest % e;
                rest /= e;
                v as u64
            }).collect();
            prop_assert_eq!(by_mode.eval(&coord), Some(c.eval(i) as u64), "{} at {:?}\n{}", c, coord, by_mode);
        }
    }

    #[test]
    fn a_slice_is_the_function_at_a_fixed_coordinate(l in signed_layout(), i in 0i64..8, s in swizzle()) {
        if l.shape().is_tuple() {
            let mut coord = vec![Coord::All; l.rank()];
            coord[0] = Coord::At(i % l.mode(0).size().value());
            let c = ComposedLayout::new(s, l);
            let slice = c.slice(&Coord::ByMode(&coord)).unwrap();
            let step = l.mode(0).size().value();
            for j in 0..slice.size().value() {
                prop_assert_eq!(slice.eval(j), c.eval(i % step + j * step));
            }
        }
    }

    #[test]
    fn text_round_trips(l in any_layout(), dynamic in any::<bool>(), s in swizzle()) {
        let l = if dynamic { l.to_dynamic() } else { l };
        prop_assert_eq!(l.to_string().parse::<Layout>(), Ok(l));
        if s.bits > 0 {
            let c = ComposedLayout::new(s, l);
            prop_assert_eq!(c.to_string().parse::<ComposedLayout>(), Ok(c));
        }
    }

    #[test]
    fn no_text_panics(text in "[_0-9(),: oSw<>-]{0,40}") {
        let _ = text.parse::<ComposedLayout>();
        let _ = text.parse::<IntTuple>();
    }
}

/// Every layout of three small modes, with strides that meet, are 0, or belong to an extent of 1: an inverse that is given is one.
#[test]
fn left_inverses_are_inverses_or_refused() {
    let (mut unique, mut repeated, mut refused) = (0, 0, 0);
    let modes: Vec<[i64; 2]> = (1..=4).flat_map(|s| (-1..=9).map(move |d| [s, d])).collect();
    let n = modes.len();
    for [a, b, c] in (0..n * n * n).map(|i| [i % n, i / n % n, i / n / n].map(|mode| modes[mode])) {
        let tuple = |i: usize| IntTuple::flat(&[a[i], b[i], c[i]].map(Int::Static)).unwrap();
        let l = Layout::new(tuple(0), tuple(1)).unwrap();
        let Ok(inverse) = l.left_inverse() else {
            refused += 1;
            continue;
        };
        let once = table(&l).into_iter().collect::<HashSet<i64>>().len() as i64 == l.size().value();
        for i in 0..l.size().value() {
            let at = inverse.eval(l.eval(i));
            assert!(at == i || !once, "{inverse} of {l} takes {} to {at} instead of {i}", l.eval(i));
            assert_eq!(l.eval(at), l.eval(i), "{inverse} of {l}");
        }
        (unique, repeated) = (unique + u32::from(once), repeated + u32::from(!once));
    }
    assert!(unique > 1000 && repeated > 1000 && refused > 1000, "{unique}, {repeated} and {refused}");
}
