//! `wgmma`'s matrix descriptors: which bytes of shared memory are an operand.

use crate::tensor_map::TensorSwizzle;
use core::fmt;

/// A decoded 64-bit descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    /// Line of 128 bytes at which the swizzle's pattern starts.
    base: u32,
    swizzle: TensorSwizzle,
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Descriptor { start, leading, stride, base, swizzle } = self;
        write!(
            f,
            "a matrix descriptor of start {start:#x}, leading {leading}, stride {stride} bytes, base offset {base} and swizzle {swizzle:?}"
        )
    }
}

impl Descriptor {
    /// Whether it permutes as a tensor load with this swizzle does.
    pub fn matches(&self, swizzle: TensorSwizzle) -> bool {
        self.swizzle == swizzle && (self.base == 0 || swizzle == TensorSwizzle::None)
    }

    /// Decodes; says what is wrong with an illegal one.
    pub fn decode(bits: u64) -> Result<Descriptor, String> {
        let field = |at: u32| ((bits >> at & 0x3FFF) as u32) << 4;
        let used = 0x3FFF | 0x3FFF << 16 | 0x3FFF << 32 | 7 << 49 | 3 << 62;
        if bits & !used != 0 {
            return Err(format!("matrix descriptor {bits:#018x} has reserved bits set"));
        }
        let swizzle =
            [TensorSwizzle::None, TensorSwizzle::B128, TensorSwizzle::B64, TensorSwizzle::B32][(bits >> 62) as usize];
        let base = (bits >> 49 & 7) as u32;
        Ok(Descriptor { start: field(0), leading: field(16), stride: field(32), base, swizzle })
    }

    /// Where the 16 bytes from element (mn, k) on lie, K being contiguous; `k_byte` is a multiple of 16.
    pub fn k_major(&self, mn: u32, k_byte: u32) -> u32 {
        let row = self.start + mn / 8 * self.stride;
        match self.swizzle {
            TensorSwizzle::None => row + mn % 8 * 16 + k_byte / 16 * self.leading,
            swizzle => swizzle.apply_from(row + mn % 8 * swizzle.span() + k_byte, self.base),
        }
    }

    /// The same, M or N being contiguous; `mn_byte` is a multiple of 16.
    pub fn mn_major(&self, mn_byte: u32, k: u32) -> u32 {
        match self.swizzle {
            // Without a swizzle the two distances change places.
            TensorSwizzle::None => self.start + mn_byte / 16 * self.stride + k % 8 * 16 + k / 8 * self.leading,
            swizzle => {
                let span = swizzle.span();
                let chunk = self.start + mn_byte / span * self.leading + mn_byte % span;
                swizzle.apply_from(chunk + k % 8 * span + k / 8 * self.stride, self.base)
            }
        }
    }
}

/// One operand in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Tile {
    pub descriptor: Descriptor,
    /// First of `count` rows (of A) or columns (of B).
    pub first: u32,
    pub count: u32,
    pub k: u32,
    /// M or N is contiguous.
    pub transposed: bool,
    pub bytes: u32,
}

impl Tile {
    /// Offsets of its 16-byte chunks, each with the row and k of its first element.
    pub fn chunks(self) -> Vec<(u32, u32, u32)> {
        let per = 16 / self.bytes;
        let mut out = Vec::new();
        if self.transposed {
            for k in 0..self.k {
                for mn in (0..self.count).step_by(per as usize) {
                    out.push((self.descriptor.mn_major((self.first + mn) * self.bytes, k), mn, k));
                }
            }
        } else {
            for mn in 0..self.count {
                for k in (0..self.k).step_by(per as usize) {
                    out.push((self.descriptor.k_major(self.first + mn, k * self.bytes), mn, k));
                }
            }
        }
        out
    }

    /// The same tile at another start: what its shape and distances alone decide does not change.
    pub fn at_zero(self) -> Tile {
        Tile { descriptor: Descriptor { start: 0, ..self.descriptor }, ..self }
    }

    /// The first elements, as (row or column, k), of two chunks that lie in one place.
    pub fn shared_elements(self) -> Option<((u32, u32), (u32, u32))> {
        let mut chunks = self.chunks();
        chunks.sort_unstable();
        chunks.windows(2).find(|pair| pair[1].0 < pair[0].0 + 16).map(|p| ((p[0].1, p[0].2), (p[1].1, p[1].2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_layouts() {
        let encode = |start: u64, leading: u64, stride: u64, mode: u64| {
            start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62
        };
        let none = Descriptor::decode(encode(0x800, 1024, 128, 0)).unwrap();
        assert_eq!(none.k_major(9, 16), 0x800 + 128 + 16 + 1024);
        assert_eq!(none.mn_major(32, 9), 0x800 + 2 * 128 + 16 + 1024);
        let swizzled = Descriptor::decode(encode(0x800, 8192, 1024, 1)).unwrap();
        assert_eq!(swizzled.k_major(9, 32), 0x800 + 1024 + 128 + (32 ^ 16));
        assert_eq!(swizzled.mn_major(128 + 32, 10), (0x800 + 8192 + 1024 + 256));
        assert!(Descriptor::decode(1 << 14).is_err());
        let based = Descriptor::decode(encode(0x880, 0, 1024, 1) | 1 << 49).unwrap();
        assert_eq!(based.k_major(1, 16), 0x900, "line 0x12 less the base counts as 1");
    }
}
