//! Element types as values.

use crate::Format;
use crate::minifloat::exp2;

/// An element type as a value: what [`Element::DTYPE`](crate::Element::DTYPE) says of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "each variant is the type of the same name")]
pub enum Dtype {
    F64,
    F32,
    Tf32,
    F16,
    Bf16,
    E4m3,
    E5m2,
    I32,
    I8,
    U8,
    I4,
    U4,
    E2m1,
    E3m2,
    E2m3,
    E8m0,
}

impl Dtype {
    /// Every element type.
    pub const ALL: &[Dtype] = &[
        Dtype::F64,
        Dtype::F32,
        Dtype::Tf32,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::E4m3,
        Dtype::E5m2,
        Dtype::I32,
        Dtype::I8,
        Dtype::U8,
        Dtype::I4,
        Dtype::U4,
        Dtype::E2m1,
        Dtype::E3m2,
        Dtype::E2m3,
        Dtype::E8m0,
    ];

    /// How many bits an element takes in a device's memory; 32 for `tf32`.
    pub const fn bits(self) -> usize {
        match self {
            Dtype::F64 => 64,
            Dtype::F32 | Dtype::Tf32 | Dtype::I32 => 32,
            Dtype::F16 | Dtype::Bf16 => 16,
            Dtype::E4m3 | Dtype::E5m2 | Dtype::E8m0 | Dtype::I8 | Dtype::U8 => 8,
            Dtype::E3m2 | Dtype::E2m3 => 6,
            Dtype::E2m1 | Dtype::I4 | Dtype::U4 => 4,
        }
    }

    /// The type's name in Rust and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::Tf32 => "tf32",
            Dtype::F16 => "f16",
            Dtype::Bf16 => "bf16",
            Dtype::E4m3 => "e4m3",
            Dtype::E5m2 => "e5m2",
            Dtype::I32 => "i32",
            Dtype::I8 => "i8",
            Dtype::U8 => "u8",
            Dtype::I4 => "i4",
            Dtype::U4 => "u4",
            Dtype::E2m1 => "e2m1",
            Dtype::E3m2 => "e3m2",
            Dtype::E2m3 => "e2m3",
            Dtype::E8m0 => "e8m0",
        }
    }

    /// The type of this [`name`](Dtype::name).
    pub const fn from_name(name: &str) -> Option<Dtype> {
        let mut i = 0;
        while i < Dtype::ALL.len() {
            if equal(Dtype::ALL[i].name().as_bytes(), name.as_bytes()) {
                return Some(Dtype::ALL[i]);
            }
            i += 1;
        }
        None
    }

    /// Whether this is an integer type.
    pub const fn is_integer(self) -> bool {
        matches!(self, Dtype::I32 | Dtype::I8 | Dtype::U8 | Dtype::I4 | Dtype::U4)
    }

    /// Whether this is one of the 8-bit floats that are multiplied, `e4m3` and `e5m2`.
    pub const fn is_fp8(self) -> bool {
        matches!(self, Dtype::E4m3 | Dtype::E5m2)
    }

    /// Whether this is a floating-point type; `e8m0` is one.
    pub const fn is_float(self) -> bool {
        !self.is_integer()
    }

    /// Whether the type has negative values.
    pub const fn is_signed(self) -> bool {
        !matches!(self, Dtype::U8 | Dtype::U4 | Dtype::E8m0)
    }

    /// Whether the type has a NaN.
    pub const fn has_nan(self) -> bool {
        self.is_float() && !matches!(self, Dtype::E2m1 | Dtype::E3m2 | Dtype::E2m3)
    }

    /// Whether the type has infinities. Conversions to `e5m2` saturate all the same.
    pub const fn has_infinity(self) -> bool {
        matches!(self, Dtype::F64 | Dtype::F32 | Dtype::Tf32 | Dtype::F16 | Dtype::Bf16 | Dtype::E5m2)
    }

    /// What a GEMM with operands of this type stores when nobody says otherwise: [`Element::Output`](crate::Element::Output).
    pub const fn output(self) -> Dtype {
        match self {
            Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 => self,
            Dtype::Tf32 | Dtype::E8m0 => Dtype::F32,
            Dtype::E4m3 | Dtype::E5m2 | Dtype::E2m1 | Dtype::E3m2 | Dtype::E2m3 => Dtype::Bf16,
            Dtype::I32 | Dtype::I8 | Dtype::U8 | Dtype::I4 | Dtype::U4 => Dtype::I32,
        }
    }

    /// The format of a signed float of at most 32 bits. That of `tf32` has 19 bits, which are the high ones of the 32 stored.
    pub const fn format(self) -> Option<Format> {
        Some(match self {
            Dtype::F32 => Format::F32,
            Dtype::Tf32 => Format::TF32,
            Dtype::F16 => Format::F16,
            Dtype::Bf16 => Format::BF16,
            Dtype::E4m3 => Format::E4M3,
            Dtype::E5m2 => Format::E5M2,
            Dtype::E2m1 => Format::E2M1,
            Dtype::E3m2 => Format::E3M2,
            Dtype::E2m3 => Format::E2M3,
            Dtype::F64 | Dtype::I32 | Dtype::I8 | Dtype::U8 | Dtype::I4 | Dtype::U4 | Dtype::E8m0 => return None,
        })
    }

    /// The largest finite value.
    pub const fn max_finite(self) -> f64 {
        match self {
            Dtype::F64 => f64::MAX,
            Dtype::E8m0 => exp2(127),
            Dtype::I32 => i32::MAX as f64,
            Dtype::I8 => 127.0,
            Dtype::U8 => 255.0,
            Dtype::I4 => 7.0,
            Dtype::U4 => 15.0,
            _ => match self.format() {
                Some(format) => format.decode(format.max_code()),
                None => unreachable!(),
            },
        }
    }

    /// The lowest finite value: the most negative one, 0 in unsigned integers, 2⁻¹²⁷ in `e8m0`.
    pub const fn min_finite(self) -> f64 {
        match self {
            Dtype::E8m0 => exp2(-127),
            Dtype::U8 | Dtype::U4 => 0.0,
            Dtype::I32 | Dtype::I8 | Dtype::I4 => -self.max_finite() - 1.0,
            _ => -self.max_finite(),
        }
    }

    /// The distance from 1 to the next value above it: twice the largest relative error of rounding. 0 for integers.
    pub const fn epsilon(self) -> f64 {
        match self {
            Dtype::F64 => f64::EPSILON,
            Dtype::E8m0 => 1.0,
            _ => match self.format() {
                Some(format) => format.epsilon(),
                None => 0.0,
            },
        }
    }

    /// The smallest positive normal value; 1 for integers.
    pub const fn smallest_normal(self) -> f64 {
        match self {
            Dtype::F64 => f64::MIN_POSITIVE,
            Dtype::E8m0 => exp2(-127),
            _ => match self.format() {
                Some(format) => format.decode(format.min_normal_code()),
                None => 1.0,
            },
        }
    }

    /// The smallest positive value, which is also the distance between values near zero; 1 for integers.
    pub const fn smallest_subnormal(self) -> f64 {
        match self {
            Dtype::F64 => f64::from_bits(1),
            Dtype::E8m0 => exp2(-127),
            _ => match self.format() {
                Some(format) => format.decode(1),
                None => 1.0,
            },
        }
    }

    /// How many bytes `n` packed elements take, the last one filled up. Saturates where no memory could hold them.
    pub const fn packed_bytes(self, n: usize) -> usize {
        let (whole, rest) = (n / 8, n % 8);
        whole.saturating_mul(self.bits()).saturating_add((rest * self.bits()).div_ceil(8))
    }
}

impl core::fmt::Display for Dtype {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.name())
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    #[test]
    fn names_are_unique_and_found() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::from_name(dtype.name()), Some(*dtype));
            assert_eq!(format!("{dtype:>5}"), format!("{:>5}", dtype.name()));
        }
        assert_eq!([Dtype::from_name("f8"), Dtype::from_name(""), Dtype::from_name("f160")], [None; 3]);
    }

    #[test]
    fn types_agree_with_their_values() {
        fn check<T: Element>(name: &str) -> Dtype {
            let dtype = T::DTYPE;
            assert_eq!(dtype.name(), name);
            assert_eq!(dtype.output(), T::Output::DTYPE, "{dtype}");
            assert_eq!(size_of::<T>(), dtype.bits().div_ceil(8), "{dtype}");
            for extreme in [dtype.max_finite(), dtype.min_finite(), dtype.smallest_normal(), dtype.smallest_subnormal()]
            {
                assert_eq!(T::from_f64(extreme).to_f64(), extreme, "{dtype}");
            }
            assert_eq!(T::from_f64(f64::NAN).to_f64().is_nan(), dtype.has_nan(), "{dtype}");
            assert_eq!(T::from_f64(-1.0).to_f64() == -1.0, dtype.is_signed(), "{dtype}");
            assert_eq!(T::from_f64(0.5).to_f64() == 0.5, dtype.is_float(), "{dtype}");
            assert_eq!(T::from_f64(1.0 + dtype.epsilon()).to_f64(), 1.0 + dtype.epsilon(), "{dtype}");
            // A quarter of the distance rounds down, three quarters of it up.
            if dtype.is_float() && dtype != Dtype::F64 {
                assert_eq!(T::from_f64(1.0 + 0.25 * dtype.epsilon()).to_f64(), 1.0, "{dtype}");
                assert_eq!(T::from_f64(1.0 + 0.75 * dtype.epsilon()).to_f64(), 1.0 + dtype.epsilon(), "{dtype}");
            }
            dtype
        }
        let checked = [
            check::<f64>("f64"),
            check::<f32>("f32"),
            check::<tf32>("tf32"),
            check::<f16>("f16"),
            check::<bf16>("bf16"),
            check::<e4m3>("e4m3"),
            check::<e5m2>("e5m2"),
            check::<i32>("i32"),
            check::<i8>("i8"),
            check::<u8>("u8"),
            check::<i4>("i4"),
            check::<u4>("u4"),
            check::<e2m1>("e2m1"),
            check::<e3m2>("e3m2"),
            check::<e2m3>("e2m3"),
            check::<e8m0>("e8m0"),
        ];
        assert_eq!(checked, Dtype::ALL);
    }

    #[test]
    fn limits() {
        let of = |d: Dtype| (d.max_finite(), d.min_finite(), d.epsilon(), d.smallest_normal(), d.smallest_subnormal());
        let p = |e| 2f64.powi(e);
        assert_eq!(of(Dtype::F16), (65504.0, -65504.0, p(-10), p(-14), p(-24)));
        assert_eq!(of(Dtype::F32), (f32::MAX.into(), f32::MIN.into(), p(-23), p(-126), p(-149)));
        assert_eq!(of(Dtype::Bf16), ((2.0 - p(-7)) * p(127), -(2.0 - p(-7)) * p(127), p(-7), p(-126), p(-133)));
        assert_eq!(of(Dtype::Tf32), ((2.0 - p(-10)) * p(127), -(2.0 - p(-10)) * p(127), p(-10), p(-126), p(-136)));
        assert_eq!(of(Dtype::E4m3), (448.0, -448.0, p(-3), p(-6), p(-9)));
        assert_eq!(of(Dtype::E5m2), (57344.0, -57344.0, p(-2), p(-14), p(-16)));
        assert_eq!(of(Dtype::E3m2), (28.0, -28.0, p(-2), p(-2), p(-4)));
        assert_eq!(of(Dtype::E2m3), (7.5, -7.5, p(-3), 1.0, p(-3)));
        assert_eq!(of(Dtype::E2m1), (6.0, -6.0, p(-1), 1.0, p(-1)));
        assert_eq!(of(Dtype::E8m0), (p(127), p(-127), 1.0, p(-127), p(-127)));
        assert_eq!(of(Dtype::I4), (7.0, -8.0, 0.0, 1.0, 1.0));
        assert_eq!(of(Dtype::U8), (255.0, 0.0, 0.0, 1.0, 1.0));
        assert_eq!(of(Dtype::I32), (2147483647.0, -2147483648.0, 0.0, 1.0, 1.0));
    }

    #[test]
    fn infinities() {
        for dtype in Dtype::ALL {
            let any = (0..1u64 << dtype.bits().min(16))
                .map(|bits| if dtype.bits() > 16 { bits << (dtype.bits() - 16) } else { bits })
                .any(|bits| dtype.decode_bits(bits).is_infinite());
            assert_eq!(any, dtype.has_infinity(), "{dtype}");
        }
    }

    #[test]
    fn packed_sizes() {
        let sizes = |d: Dtype| [0, 1, 2, 3, 4, 5, 8, 9].map(|n| d.packed_bytes(n));
        assert_eq!(sizes(Dtype::I4), [0, 1, 1, 2, 2, 3, 4, 5]);
        assert_eq!(sizes(Dtype::E3m2), [0, 1, 2, 3, 3, 4, 6, 7]);
        assert_eq!(sizes(Dtype::Tf32), [0, 4, 8, 12, 16, 20, 32, 36]);
        assert_eq!(Dtype::F64.packed_bytes(usize::MAX), usize::MAX);
        assert_eq!(Dtype::I4.packed_bytes(usize::MAX), usize::MAX / 2 + 1);
    }
}
