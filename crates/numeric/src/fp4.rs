//! The 4-bit float, one to a byte until it is packed.

use crate::newtype::minifloat;

minifloat! {
    /// fp4 with 2 exponent bits and 1 mantissa bit: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. OCP's E2M1.
    ///
    /// One value to a byte, in its low four bits; [`pack`](crate::pack()) makes pairs. NaN converts to 6.
    e2m1 = E2M1, E2m1
}
