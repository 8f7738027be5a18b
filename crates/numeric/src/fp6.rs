//! The 6-bit floats, one to a byte until they are packed.

use crate::newtype::minifloat;

minifloat! {
    /// fp6 with 3 exponent and 2 mantissa bits: ±28, every code a finite value. OCP's E3M2.
    ///
    /// One value to a byte, in its low six bits; [`pack`](crate::pack()) makes the dense form. NaN converts to 28.
    e3m2 = E3M2, E3m2
}

minifloat! {
    /// fp6 with 2 exponent and 3 mantissa bits: ±7.5, every code a finite value. OCP's E2M3.
    ///
    /// One value to a byte, in its low six bits; [`pack`](crate::pack()) makes the dense form. NaN converts to 7.5.
    e2m3 = E2M3, E2m3
}
