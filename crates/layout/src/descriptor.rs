//! Matrix descriptors of wgmma and tcgen05, derived from layouts.

use crate::smem::{Major, SmemSwizzle};
use crate::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Tiler, int_tuple, tri};

/// The fields of a shared-memory matrix descriptor that a layout decides; offsets in units of 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SmemDescriptor {
    /// Leading-dimension byte offset / 16.
    pub leading: u32,
    /// Stride byte offset / 16.
    pub stride: u32,
    /// The swizzle.
    pub swizzle: SmemSwizzle,
}

/// Bits along k that one instruction reads.
const K_BITS: i64 = 256;

/// Bits 4 to 17 of a shared-memory address, as the descriptors hold them.
const fn encode_address(address: u32) -> u64 {
    (address as u64 & 0x3_FFFF) >> 4
}

impl SmemDescriptor {
    /// The descriptor of one MMA operand: `tile` is the layout (mn, k) → element offset of exactly the elements that the
    /// instruction reads, as it lies in memory before the swizzle.
    ///
    /// # Errors
    /// [`LayoutError::NotCanonical`] when the layout is not one that the hardware can describe, [`LayoutError::ElementBits`]
    /// for elements whose width is no power of two up to 128, and those of [`Layout::upcast`] and the divides.
    pub const fn of(tile: &Layout, major: Major, swizzle: SmemSwizzle, element_bits: u32) -> Result<Self, LayoutError> {
        if tile.rank() != 2 {
            return Err(LayoutError::Rank { operation: "matrix descriptor", found: tile.rank(), needed: 2 });
        }
        if element_bits == 0 || element_bits > 128 || element_bits.count_ones() != 1 {
            return Err(LayoutError::ElementBits { bits: element_bits });
        }
        let (mn, k) = (tile.mode(0).size().value(), tile.mode(1).size().value());
        if mn % 8 != 0 || mn > 256 {
            return Err(LayoutError::NotCanonical { what: "an mn that is no multiple of 8 up to 256" });
        }
        if k != K_BITS / element_bits as i64 {
            return Err(LayoutError::NotCanonical { what: "a k that is not 32 bytes" });
        }
        // Without modes of extent 1, whose strides say nothing.
        let tile = &tri!(tile.coalesce_by(&int_tuple!((1, 1))));
        let words = tri!(tile.recast(element_bits as i64, 128));
        let atom = (swizzle.row_bytes() / 16) as i64;
        let tiler = match major {
            Major::K if matches!(swizzle, SmemSwizzle::B128Atom32) => {
                return Err(LayoutError::NotCanonical { what: "a K-major 128-byte swizzle of 32-byte atoms" });
            }
            Major::K => [Tiler::of(8), Tiler::of(2)],
            Major::Mn => [Tiler::of(atom), Tiler::of(if matches!(swizzle, SmemSwizzle::B128Atom32) { 4 } else { 8 })],
        };
        let canonical = tri!(words.logical_divide(&Tiler::ByMode(&tiler)));
        if !canonical.shape.congruent(&int_tuple!(((1, 1), (1, 1)))) {
            return Err(LayoutError::NotCanonical { what: "the nesting of the 16-byte words" });
        }
        let stride = &canonical.stride;
        let (s00, s01, s10, s11) =
            (stride.get(0).value(), stride.get(1).value(), stride.get(2).value(), stride.get(3).value());
        let plain = matches!(swizzle, SmemSwizzle::None);
        let (leading, stride) = match major {
            Major::K => {
                if s00 != atom {
                    return Err(LayoutError::NotCanonical { what: "the distance of rows" });
                }
                if !plain && s10 != 1 {
                    return Err(LayoutError::NotCanonical { what: "the distance of 16-byte words along k" });
                }
                (s10, s01)
            }
            Major::Mn => {
                if !plain && s00 != 1 {
                    return Err(LayoutError::NotCanonical { what: "the distance of 16-byte words along mn" });
                }
                if s10 != atom {
                    return Err(LayoutError::NotCanonical { what: "the distance of rows of k" });
                }
                if plain { (s11, s01) } else { (s01, s11) }
            }
        };
        if leading < 0 || leading >= 1 << 14 || stride < 0 || stride >= 1 << 14 {
            return Err(LayoutError::NotCanonical { what: "an offset beyond 14 bits" });
        }
        let made = Self { leading: leading as u32, stride: stride as u32, swizzle };
        // A recast looks at the words' places, not at what is in them.
        let mut i = 0;
        while i < mn * k {
            let at = made.bit_of(major, element_bits, i % mn, i / mn);
            if at % element_bits as i64 != 0 || tile.eval(i) != at / element_bits as i64 {
                return Err(LayoutError::NotCanonical { what: "the place of an element" });
            }
            i += 1;
        }
        Ok(made)
    }

    /// Where the hardware looks for an element, in bits from the start address and before the swizzle.
    const fn bit_of(&self, major: Major, element_bits: u32, mn: i64, k: i64) -> i64 {
        let (leading, stride) = (self.leading as i64 * 128, self.stride as i64 * 128);
        let span = self.swizzle.row_bytes() as i64 * 8;
        let plain = matches!(self.swizzle, SmemSwizzle::None);
        match major {
            Major::K => {
                let along = k * element_bits as i64;
                // Within the span of a swizzle words are neighbours; otherwise each is `leading` apart.
                let along = if plain { along / 128 * leading + along % 128 } else { along };
                mn / 8 * stride + mn % 8 * span + along
            }
            Major::Mn => {
                let rows = if matches!(self.swizzle, SmemSwizzle::B128Atom32) { 4 } else { 8 };
                let (chunks, groups) = if plain { (stride, leading) } else { (leading, stride) };
                let along = mn * element_bits as i64;
                along / span * chunks + along % span + k % rows * span + k / rows * groups
            }
        }
    }

    /// The 64-bit descriptor of wgmma for an operand at shared address `address`, a multiple of 16 below 2^18.
    pub const fn sm90(&self, address: u32) -> u64 {
        let kind = match self.swizzle {
            SmemSwizzle::None => 0,
            SmemSwizzle::B128 | SmemSwizzle::B128Atom32 => 1,
            SmemSwizzle::B64 => 2,
            SmemSwizzle::B32 => 3,
        };
        encode_address(address) | (self.leading as u64) << 16 | (self.stride as u64) << 32 | kind << 62
    }

    /// The swizzle code of tcgen05, bits 61 to 63.
    pub const fn sm100_layout_type(&self) -> u32 {
        match self.swizzle {
            SmemSwizzle::None => 0,
            SmemSwizzle::B128Atom32 => 1,
            SmemSwizzle::B128 => 2,
            SmemSwizzle::B64 => 4,
            SmemSwizzle::B32 => 6,
        }
    }

    /// The 64-bit descriptor of tcgen05 for an operand at shared address `address`, a multiple of 16 below 2^18.
    pub const fn sm100(&self, address: u32) -> u64 {
        const VERSION: u64 = 1 << 46;
        encode_address(address)
            | (self.leading as u64) << 16
            | (self.stride as u64) << 32
            | VERSION
            | (self.sm100_layout_type() as u64) << 61
    }
}

impl ComposedLayout {
    /// The atom tiled to `((MMA_MN,MMA_K),MN blocks,K blocks,…)`, the form in which tcgen05 operands are kept: mode 0 is
    /// what one instruction reads.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when `shape` has no such form, and those of [`Layout::tile_to_shape`].
    pub const fn tile_to_mma_shape(&self, shape: &IntTuple, order: Option<&IntTuple>) -> Result<Self, LayoutError> {
        let rank = shape.rank();
        if rank < 3 || shape.mode(0).rank() != 2 {
            return Err(LayoutError::Rank { operation: "tile_to_mma_shape", found: rank, needed: 3 });
        }
        let tile = shape.mode(0).product_each();
        let blocks = shape.product_each();
        let mut target = [Int::ONE; IntTuple::MAX_LEAVES];
        let mut i = 1;
        while i < rank {
            target[i - 1] = if i < 3 { tile.get(i - 1).mul(blocks.get(i)) } else { blocks.get(i) };
            i += 1;
        }
        let target = tri!(IntTuple::flat(target.split_at(rank - 1).0));
        let tiled = tri!(self.tile_to_shape(&target, order));
        tiled.tiled_divide(&Tiler::ByMode(&[Tiler::Size(tile.get(0)), Tiler::Size(tile.get(1))]))
    }
}

/// Operand formats of tcgen05.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UmmaFormat {
    /// f16
    F16,
    /// bf16
    Bf16,
    /// tf32
    Tf32,
    /// u8
    U8,
    /// s8
    S8,
    /// e4m3
    E4m3,
    /// e5m2
    E5m2,
    /// e2m3
    E2m3,
    /// e3m2
    E3m2,
    /// e2m1 in a byte each (f8f6f4 kinds)
    E2m1,
    /// e2m1 two a byte (mxf4 and mxf4nvf4 kinds)
    PackedE2m1,
}

impl UmmaFormat {
    const fn code(self) -> u32 {
        match self {
            Self::F16 | Self::U8 | Self::E4m3 => 0,
            Self::Bf16 | Self::S8 | Self::E5m2 | Self::PackedE2m1 => 1,
            Self::Tf32 => 2,
            Self::E2m3 => 3,
            Self::E3m2 => 4,
            Self::E2m1 => 5,
        }
    }
}

/// Accumulator formats of tcgen05.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UmmaAccumulator {
    /// f16
    F16,
    /// f32
    F32,
    /// s32
    S32,
}

/// Scale formats of block-scaled tcgen05.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UmmaScale {
    /// ue4m3
    Ue4m3,
    /// ue8m0
    Ue8m0,
}

const fn shape_and_operands(m: u32, n: u32, formats: [UmmaFormat; 2], majors: [Major; 2]) -> Result<u32, LayoutError> {
    if m == 0 || m > 256 || !m.is_multiple_of(16) {
        return Err(LayoutError::Count { what: "M of tcgen05.mma, a multiple of 16 up to 256,", value: m as i64 });
    }
    if n == 0 || n > 256 || !n.is_multiple_of(8) {
        return Err(LayoutError::Count { what: "N of tcgen05.mma, a multiple of 8 up to 256,", value: n as i64 });
    }
    Ok(formats[0].code() << 7
        | formats[1].code() << 10
        | (matches!(majors[0], Major::Mn) as u32) << 15
        | (matches!(majors[1], Major::Mn) as u32) << 16
        | (n >> 3) << 17
        | (m >> 4) << 24)
}

/// The 32-bit instruction descriptor of a dense tcgen05.mma on operands A and B; `m` and `n` are those of the whole pair
/// for `cta_group::2`.
///
/// # Errors
/// [`LayoutError::Count`] for an m or n that the fields do not hold.
pub const fn umma_instruction(
    m: u32,
    n: u32,
    formats: [UmmaFormat; 2],
    accumulator: UmmaAccumulator,
    majors: [Major; 2],
) -> Result<u32, LayoutError> {
    Ok(tri!(shape_and_operands(m, n, formats, majors)) | (accumulator as u32) << 4)
}

/// The 32-bit instruction descriptor of a dense block-scaled tcgen05.mma, scale factor ids 0.
///
/// # Errors
/// As [`umma_instruction`].
pub const fn umma_instruction_block_scaled(
    m: u32,
    n: u32,
    formats: [UmmaFormat; 2],
    scale: UmmaScale,
    majors: [Major; 2],
) -> Result<u32, LayoutError> {
    Ok(tri!(shape_and_operands(m, n, formats, majors)) | (matches!(scale, UmmaScale::Ue8m0) as u32) << 23)
}
