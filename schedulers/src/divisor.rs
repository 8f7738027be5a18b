//! Division by a number that a launch fixes.

/// A divisor as device code has it: the quotient is a product's high half, a sum and a shift, where a GPU's division is some forty
/// instructions that wait for one another: three of them took 500 cycles of an H200 before a kernel's first load. Exact for all
/// 32-bit numbers (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", 1994, figure 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divisor {
    /// 1 + floor(2^32 (2^shift - d) / d).
    pub multiplier: u32,
    /// The least power of two that is not below the divisor.
    pub shift: u32,
}

impl Divisor {
    /// Division by `d`; by 0 it is by 1.
    pub const fn new(d: u32) -> Divisor {
        let d = if d == 0 { 1 } else { d };
        let shift = 32 - (d - 1).leading_zeros();
        let multiplier = (((1u64 << shift) - d as u64) << 32) / d as u64 + 1;
        Divisor { multiplier: multiplier as u32, shift }
    }

    /// `x` divided by it, rounded down: what `quotient` of `work.cuh` computes.
    pub const fn quotient(self, x: u32) -> u32 {
        let product = x as u64 * self.multiplier as u64;
        (((product >> 32) + x as u64) >> self.shift) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_those_of_division() {
        let powers = (0..32).map(|i| 1u32 << i);
        let edges: Vec<u32> = powers.flat_map(|p| [p - 1, p, p + 1]).chain([u32::MAX - 1, u32::MAX]).collect();
        let mut state = 0x9e37_79b9u32;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state >> (state % 31)
        };
        let divisors: Vec<u32> = edges.iter().copied().chain((0..2000).map(|_| random())).filter(|&d| d > 0).collect();
        let numbers: Vec<u32> = edges.iter().copied().chain((0..500).map(|_| random())).collect();
        for &d in &divisors {
            let divisor = Divisor::new(d);
            let near = (1..4u32).flat_map(|i| [i.wrapping_mul(d), i.wrapping_mul(d).wrapping_sub(1)]);
            let last = u32::MAX / d * d;
            for x in numbers.iter().copied().chain(near).chain([last, last.wrapping_sub(1)]) {
                assert_eq!(divisor.quotient(x), x / d, "{x} / {d}");
            }
        }
        assert_eq!(Divisor::new(0), Divisor::new(1));
    }
}
