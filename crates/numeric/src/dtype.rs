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
