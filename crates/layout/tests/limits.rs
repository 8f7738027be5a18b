//! Values near the limits: every public operation gives what integers of 128 bits give, or refuses by type. Nothing wraps,
//! nothing panics; in release builds too, where a wrap would be silent.

use warpwright_layout::lower::{Width, index_function_of};
use warpwright_layout::tensor::{Pointer, Tensor, TensorError};
use warpwright_layout::tma::TensorMap;
use warpwright_layout::{
    ComposedInverse, ComposedLayout, Coord, CoordinateLayout, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler,
    crd2idx, layout,
};

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// An integer near 0, near a power of two, near an end of 64 bits, or anywhere.
    fn int(&mut self) -> i64 {
        let near = self.below(7) as i64 - 3;
        let v = match self.below(8) {
            0..3 => near.abs() + self.below(9) as i64,
            3 | 4 => (1i64 << self.below(63)).wrapping_add(near),
            5 => i64::MAX.wrapping_add(near.min(0)),
            6 => i64::MIN.wrapping_add(near.max(0)),
            _ => self.next() as i64 >> self.below(64),
        };
        if self.below(4) == 0 { v.wrapping_neg() } else { v }
    }

    fn leaf(&mut self, v: i64) -> Int {
        if self.below(3) == 0 { Int::Dynamic(v) } else { Int::Static(v) }
    }

    /// A tuple of the nesting `profile`, whose integers `f` gives.
    fn tuple(&mut self, profile: u64, f: &mut impl FnMut(&mut Self) -> i64) -> IntTuple {
        let mut leaf = |random: &mut Self| {
            let v = f(random);
            IntTuple::leaf(random.leaf(v))
        };
        let flat: Vec<IntTuple> = (0..4).map(|_| leaf(self)).collect();
        match profile {
            0 => flat[0],
            1 => IntTuple::tuple(&flat[..2]).unwrap(),
            2 => IntTuple::tuple(&flat[..3]).unwrap(),
            3 => IntTuple::tuple(&[flat[0], IntTuple::tuple(&flat[1..3]).unwrap()]).unwrap(),
            4 => {
                IntTuple::tuple(&[IntTuple::tuple(&flat[..2]).unwrap(), IntTuple::tuple(&flat[2..]).unwrap()]).unwrap()
            }
            _ => {
                IntTuple::tuple(&[IntTuple::tuple(&[flat[0], IntTuple::tuple(&flat[1..3]).unwrap()]).unwrap()]).unwrap()
            }
        }
    }

    /// A layout, of which some are at the limit.
    fn layout(&mut self) -> Layout {
        loop {
            let profile = self.below(6);
            let shape =
                self.tuple(profile, &mut |r| if r.below(3) > 0 { 1 + r.below(9) as i64 } else { r.int().max(1) });
            let stride = self.tuple(profile, &mut |r| if r.below(3) > 0 { r.below(70) as i64 - 5 } else { r.int() });
            if let Ok(layout) = Layout::new(shape, stride) {
                return layout;
            }
        }
    }

    fn swizzle(&mut self) -> Swizzle {
        loop {
            let (bits, base) = (self.below(5) as i32, self.below(20) as i32);
            let shift = self.below(24) as i32 - 12;
            if let Ok(swizzle) = Swizzle::new(bits, base, shift) {
                return swizzle;
            }
        }
    }
}

/// The offset in 128 bits; `None` where these do not do either.
fn exact(l: &Layout, index: i64) -> Option<i128> {
    let n = l.shape().leaves();
    let (mut rest, mut sum) = (i128::from(index), 0i128);
    for (i, (s, d)) in l.shape().iter().zip(l.stride().iter()).enumerate() {
        let digit = if i + 1 < n { rest % i128::from(s.value()) } else { rest };
        sum = sum.checked_add(digit.checked_mul(i128::from(d.value()))?)?;
        rest /= i128::from(s.value());
    }
    Some(sum)
}

/// Of a coordinate, one integer a mode.
fn exact_at(l: &Layout, coord: &[i64]) -> Option<i128> {
    coord.iter().enumerate().try_fold(0i128, |sum, (i, c)| sum.checked_add(exact(&l.mode(i), *c)?))
}

fn swizzled(s: &Swizzle, v: i128) -> i128 {
    let (bits, base, shift) = (s.bits, s.base, s.shift);
    let source = ((1i128 << bits) - 1) << (base + shift.max(0));
    let field = v & source;
    v ^ if shift >= 0 { field >> shift } else { field << -shift }
}

/// Right, or refused; refused only where it does not fit `limit`.
fn judge(what: &dyn std::fmt::Display, got: Result<i64, LayoutError>, right: Option<i128>, limit: i64) -> bool {
    let fits = right.is_some_and(|v| v.unsigned_abs() <= limit.unsigned_abs().into());
    match got {
        Ok(v) => assert_eq!(Some(i128::from(v)), right, "{what}"),
        Err(LayoutError::Overflow { value, limit: named, .. }) => {
            assert!(!fits, "{what} is {right:?}, which fits {limit}, but was refused");
            assert!(
                value.get().is_none_or(|v| v.unsigned_abs() > named.unsigned_abs().into()),
                "{what}: {value} and {named}"
            );
        }
        Err(other) => panic!("{what}: {other}"),
    }
    got.is_ok()
}

fn rounds() -> u32 {
    if std::env::var_os("WARPWRIGHT_NIGHTLY").is_some() { 1_000_000 } else { 30_000 }
}

#[test]
fn evaluations_are_exact_or_refused() {
    let (mut random, mut right, mut refused) = (Random(1), 0, 0);
    for _ in 0..rounds() {
        let l = random.layout();
        let c = ComposedLayout::new(random.swizzle(), l);
        let offset = random.int();
        let at: Vec<i64> = (0..l.rank()).map(|_| random.int()).collect();
        let tuple = IntTuple::flat(&at.iter().map(|v| Int::Dynamic(*v)).collect::<Vec<_>>()).unwrap();
        let tuple = if l.shape().is_tuple() { tuple } else { IntTuple::int(at[0]) };
        let index = random.int();
        let mut count = |right_one: bool| if right_one { right += 1 } else { refused += 1 };
        count(judge(&format!("{l} at {index}"), l.try_eval(index), exact(&l, index), i64::MAX));
        count(judge(&format!("{l} at {at:?}"), l.try_eval_at(&at), exact_at(&l, &at), i64::MAX));
        count(judge(&format!("{l} at {tuple}"), l.crd2idx(&tuple), exact_at(&l, &at), i64::MAX));
        // Within the layout the evaluation that cannot refuse is exact, and the offset before the swizzle is too.
        let inside = (index as i128).rem_euclid(l.size().value().into()) as i64;
        assert_eq!(Some(i128::from(l.eval(inside))), exact(&l, inside), "{l} at {inside}");
        let Ok(c) = c.with_offset(Int::Static(offset)) else {
            assert!(offset.unsigned_abs() > Layout::LIMIT.unsigned_abs());
            let text = format!("{} o {offset} o {l}", c.swizzle);
            assert!(text.parse::<ComposedLayout>().is_err(), "{text}");
            continue;
        };
        assert!(offset.unsigned_abs() <= Layout::LIMIT.unsigned_abs());
        let of = |inner: Option<i128>| {
            let sum = inner?.checked_add(offset.into())?;
            (i64::try_from(sum).is_ok() || sum.unsigned_abs() > 1 << 63).then(|| swizzled(&c.swizzle, sum))
        };
        assert_eq!(Some(i128::from(c.eval(inside))), of(exact(&l, inside)), "{c} at {inside}");
        count(judge(&format!("{c} at {index}"), c.try_eval(index), of(exact(&l, index)), i64::MAX));
        count(judge(&format!("{c} at {at:?}"), c.try_eval_at(&at), of(exact_at(&l, &at)), i64::MAX));
        count(judge(&format!("{c} at {tuple}"), c.crd2idx(&tuple), of(exact_at(&l, &at)), i64::MAX));
        // A part lies where its offset says.
        let mut coord: Vec<Coord<'_>> = at.iter().map(|v| Coord::At(*v)).collect();
        let kept = random.below(l.rank() as u64) as usize;
        coord[kept] = Coord::All;
        let coord = if l.shape().is_tuple() { Coord::ByMode(&coord) } else { Coord::At(at[0]) };
        let mut fixed = at.clone();
        if l.shape().is_tuple() {
            fixed[kept] = 0;
        }
        let slice = l.slice(&coord);
        count(judge(&format!("{l} sliced at {coord:?}"), slice.map(|(_, by)| by), exact_at(&l, &fixed), Layout::LIMIT));
        if let Ok((part, by)) = slice {
            let last = part.eval(part.size().value() - 1);
            assert!(by.checked_add(last).is_some(), "{part} at {by}");
        }
        if let Ok(slice) = c.slice(&coord) {
            let last = slice.size().value() - 1;
            if l.shape().is_tuple() {
                fixed[kept] = l.mode(kept).size().value() - 1;
            }
            assert_eq!(
                Some(i128::from(slice.eval(last))),
                of(exact_at(&l, &fixed)),
                "{c} sliced at {coord:?} is {slice}"
            );
        }
        let moved = c.domain_offset(&tuple);
        let by = exact_at(&l, &at).and_then(|by| by.checked_add(offset.into()));
        count(judge(&format!("{c} from {tuple}"), moved.map(|m| m.offset.value()), by, Layout::LIMIT));
    }
    assert!(right > rounds() && refused > rounds() / 10, "{right} and {refused}");
}

/// The integers of a coordinate of a compact layout, and of a coordinate in a shape.
#[test]
fn coordinates_are_exact() {
    let mut random = Random(2);
    for _ in 0..rounds() {
        let (l, index) = (random.layout(), random.int());
        let crd = l.idx2crd(index);
        // Back again, which 64 bits hold.
        match crd2idx(&crd, &l.shape()) {
            Ok(back) => assert_eq!(back, index, "{crd} in {}", l.shape()),
            Err(error) => assert!(matches!(error, LayoutError::Overflow { .. }), "{error}"),
        }
        let place = l.coord_of(index);
        for ((got, s), d) in place.iter().zip(l.shape().iter()).zip(l.stride().iter()) {
            let (s, d) = (i128::from(s.value()), i128::from(d.value()));
            let expected = if d == 0 { 0 } else { i128::from(index) / d % s };
            assert_eq!(i128::from(got.value()), expected, "{l} of {index}");
        }
    }
}

/// What the algebra makes of layouts at the limit: a layout within it, or a refusal by type.
#[test]
fn the_algebra_stays_within_the_limit() {
    let (mut random, mut made, mut refused) = (Random(3), 0, 0);
    for _ in 0..rounds() / 3 {
        let (a, b) = (random.layout(), random.layout());
        let profile = random.below(6);
        let wild = random.tuple(profile, &mut Random::int);
        let factor = random.int();
        let (swizzle, offset) = (random.swizzle(), random.int());
        let (one, other) = (random.leaf(random.0 as i64 >> 40), Int::Static(random.int()));
        let by_mode = [Tiler::Size(one), Tiler::Size(other)];
        let tilers = [Tiler::Layout(&b), Tiler::Size(other), Tiler::ByMode(&by_mode), Tiler::Keep];
        let tiler = &tilers[random.below(4) as usize];
        let c = ComposedLayout { swizzle, offset: Int::Static(offset), layout: a };
        let plain = [
            a.compose(&b),
            a.compose_by(tiler),
            a.complement(&wild),
            a.complement_self(),
            a.right_inverse(),
            a.left_inverse(),
            a.logical_divide(tiler),
            a.zipped_divide(tiler),
            a.tiled_divide(tiler),
            a.flat_divide(tiler),
            a.logical_product(tiler),
            a.zipped_product(tiler),
            a.tiled_product(tiler),
            a.flat_product(tiler),
            a.blocked_product(&b),
            a.raked_product(&b),
            a.tile_to_shape(&wild, Some(&b.stride())),
            a.tile_to_shape(&wild, None),
            Layout::ordered(&wild, &wild),
            Layout::ordered(&a.shape(), &b.shape()),
            Layout::column_major(wild),
            Layout::row_major(wild),
            a.with_shape(wild),
            a.make_like(),
            a.fragment_like(),
            a.upcast(factor),
            a.downcast(factor),
            a.recast(factor, random.int()),
            a.max_common_layout(&b),
            a.nullspace(),
            a.coordinate(&wild, random.below(3) as usize),
            a.local_partition(&b, factor).map(|(part, _)| part),
        ];
        let composed = [
            c.compose(&b),
            c.upcast(factor),
            c.downcast(factor),
            c.recast(factor, random.int()),
            c.zipped_divide(tiler),
            c.blocked_product(&b),
            c.tile_to_mma_shape(&wild, None),
            a.compose_swizzled(&ComposedLayout { layout: b, ..c }),
            a.logical_product_swizzled(&ComposedLayout { layout: b, ..c }),
            c.local_partition(&b, factor).map(|(part, _)| part),
            c.max_common_layout(&b).map(Into::into),
        ];
        for result in plain.into_iter().map(|r| r.map(ComposedLayout::from)).chain(composed) {
            let Ok(result) = result else {
                refused += 1;
                continue;
            };
            made += 1;
            let l = result.layout;
            // What was made is a layout, and its last coordinate is exact.
            assert_eq!(Layout::new(l.shape(), l.stride()), Ok(l));
            let last = l.size().value() - 1;
            assert_eq!(Some(i128::from(l.eval(last))), exact(&l, last), "{l}");
        }
        let _ = (c.max_alignment(), c.max_common_vector(&ComposedLayout { layout: b, ..c }), a.max_alignment());
        for inverse in [c.right_inverse(), c.left_inverse()].into_iter().flatten() {
            let at = random.int();
            let inner = match inverse {
                ComposedInverse::Swizzled(s) => exact(&s.layout, at).map(|v| swizzled(&s.swizzle, v)),
                ComposedInverse::Undone { layout, offset, swizzle } => {
                    let before = swizzled(&swizzle, at.into()) + i128::from(offset.value());
                    i64::try_from(before).ok().and_then(|before| exact(&layout, before))
                }
            };
            if let Ok(got) = inverse.try_eval(at) {
                assert_eq!(Some(i128::from(got)), inner, "{inverse} at {at}");
            }
        }
        let _ = c.wavefronts(random.int() as u32, &b, 1 << random.below(6));
        let _ = TensorMap::of(&a, &ComposedLayout { layout: b, ..c }, random.int() as u32);
        for width in [Width::U32, Width::U64] {
            let _ = index_function_of("f", &c, &["i"], width);
        }
    }
    assert!(made > refused / 10 && refused > made / 10, "{made} and {refused}");
}

#[test]
fn tiles_of_coordinates_are_exact_or_refused() {
    let (mut random, mut right, mut refused) = (Random(4), 0, 0);
    for _ in 0..rounds() / 3 {
        // More than one tile: a single one has nothing behind it, `_1:_0`.
        let extents = [41 + random.below(1 << 20) as i64, 10 + random.below(99) as i64];
        let shape = IntTuple::flat(&extents.map(Int::Static)).unwrap();
        let id = CoordinateLayout::identity(shape).unwrap();
        let tile = [1 + random.below(40) as i64, 1 + random.below(9) as i64];
        let tilers = tile.map(Tiler::of);
        let grid = [0, 1].map(|i| (extents[i] + tile[i] - 1) / tile[i]);
        let at = grid.map(|tiles| if random.below(3) > 0 { random.below(tiles as u64) as i64 } else { random.int() });
        match id.local_tile(&Tiler::ByMode(&tilers), &Coord::ByMode(&at.map(Coord::At))) {
            Ok(part) => {
                let origin = part.origin();
                for i in 0..2 {
                    assert_eq!(
                        i128::from(origin.get(i).value()),
                        i128::from(at[i]) * i128::from(tile[i]),
                        "{part} at {at:?}"
                    );
                }
                let (far, n) = (part.size().value() - 1, random.int());
                assert_eq!(part.eval(far), part.try_eval(far).unwrap());
                if let Ok(crd) = part.try_eval(n) {
                    let row = i128::from(origin.get(0).value()) + i128::from(n % tile[0]);
                    assert_eq!(i128::from(crd.get(0).value()), row, "{part} at {n}");
                }
                assert!((0..2).all(|i| (0..grid[i]).contains(&at[i])), "{part} at {at:?}");
                right += 1;
            }
            Err(error) => {
                let LayoutError::NoSuchTile { coordinate, tiles, .. } = error else { panic!("{error}") };
                assert!(coordinate < 0 || coordinate >= tiles.value(), "{error}");
                assert!(at.contains(&coordinate) && grid.contains(&tiles.value()), "{error}");
                refused += 1;
            }
        }
    }
    assert!(right > 1000 && refused > 1000, "{right} and {refused}");
    for extent in [1 << 28, 1 << 40, i64::MAX] {
        assert!(matches!(CoordinateLayout::identity(IntTuple::int(extent)), Err(LayoutError::Overflow { .. })));
    }
}

#[test]
fn tensors_never_come_back_to_an_element() {
    let data: Vec<i64> = (0..16).collect();
    let tensor = Tensor::new(&data[..], layout!((4, 4):(1, 4))).unwrap();
    // 2^62 columns of 4 elements further on is where 64 bits begin again.
    assert_eq!((tensor.get(&[1, 1 << 62]), tensor.get(&[1, 1])), (None, Some(5)));
    assert!(matches!(tensor.read(i64::MAX), Err(TensorError::Bounds { .. } | TensorError::Layout(_))));
    let mut own = Tensor::new(data.clone(), layout!((4, 4):(1, 4))).unwrap();
    assert_eq!(own.set(&[0, 1 << 62], 1), None);
    assert!(own.write(i64::MIN, 1).is_err() && own.into_engine() == data);
    let far = ComposedLayout { offset: Int::Static(i64::MAX), ..layout!(4).into() };
    let all = Pointer::<u8>::new(0, usize::MAX);
    assert!(matches!(Tensor::new(all, far), Err(TensorError::Layout(LayoutError::Overflow { .. }))));
    assert_eq!((Pointer::<u64>::new(u64::MAX - 8, 4).address_of(3), all.address_of(usize::MAX)), (None, None));
}

#[test]
fn refusals_name_the_value_and_the_limit() {
    let said = |error: LayoutError| error.to_string();
    let l = layout!((4, 4):(1, 4));
    assert_eq!(
        said(l.try_eval(i64::MAX).and(l.try_eval_at(&[0, i64::MAX])).unwrap_err()),
        "the offset of the coordinate is 36893488147419103228, beyond the limit of 9223372036854775807: use smaller extents, \
         strides, coordinates or offsets"
    );
    assert_eq!(
        said(layout!(4).slice(&Coord::At(1 << 62)).unwrap_err()),
        "the offset of the fixed coordinates is 4611686018427387904, beyond the limit of 4611686018427387903: use smaller \
         extents, strides, coordinates or offsets"
    );
    assert_eq!(
        said("2:4611686018427387904".parse::<Layout>().unwrap_err()),
        "the sum of extents times strides is 9223372036854775808, beyond the limit of 4611686018427387903: use smaller \
         extents, strides, coordinates or offsets"
    );
    assert_eq!(
        said("9223372036854775807:1".parse::<Layout>().unwrap_err()),
        "the number of coordinates is more than 64 bits, beyond the limit of 4611686018427387903: use smaller extents, strides, \
         coordinates or offsets"
    );
    assert_eq!(
        said("Sw<3,3,3> o 9223372036854775807 o 4:1".parse::<ComposedLayout>().unwrap_err()),
        "the offset in front of the layout is 9223372036854775807, beyond the limit of 4611686018427387903: use smaller \
         extents, strides, coordinates or offsets"
    );
    let negative: Layout = "4:-1".parse().unwrap();
    assert_eq!(
        said(index_function_of("f", &negative.to_static().into(), &["i"], Width::U32).unwrap_err()),
        "the layout reaches offset -3, but 32-bit index functions are unsigned: put an offset in front that keeps all offsets \
         at 0 or above, or take 64 bits"
    );
}
