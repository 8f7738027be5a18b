//! Shared-memory layout atoms.

use crate::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Swizzle, tri};

/// Which index of a (mn, k) operand tile is contiguous in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Major {
    /// k is contiguous.
    K,
    /// m or n is contiguous.
    Mn,
}

/// How a shared-memory atom is swizzled. The names are those of the TMA and wgmma swizzle modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SmemSwizzle {
    /// No swizzle: 8 rows of 16 bytes (CuTe's INTER).
    None,
    /// 32-byte swizzle.
    B32,
    /// 64-byte swizzle.
    B64,
    /// 128-byte swizzle.
    B128,
    /// 128-byte swizzle in units of 32 bytes: MN-major operands of tcgen05 only.
    B128Atom32,
}

impl SmemSwizzle {
    /// Bytes of one contiguous row of the atom.
    pub const fn row_bytes(self) -> u32 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 | Self::B128Atom32 => 128,
        }
    }

    /// The swizzle on byte addresses.
    pub const fn on_bytes(self) -> Swizzle {
        let (bits, base, shift) = match self {
            Self::None => (0, 4, 3),
            Self::B32 => (1, 4, 3),
            Self::B64 => (2, 4, 3),
            Self::B128 => (3, 4, 3),
            Self::B128Atom32 => (2, 5, 2),
        };
        Swizzle { bits, base, shift }
    }
}

/// The atom of (mn, k) for elements of `element_bits`, with offsets in elements: for f16, K-major, 128-byte swizzle
/// `Sw<3,3,3> o _0 o (_8,_64):(_64,_1)`.
///
/// ```
/// use warpwright_layout::smem::{Major, SmemSwizzle, atom};
/// assert_eq!(atom(Major::K, SmemSwizzle::B128, 16)?.to_string(), "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)");
/// assert_eq!(atom(Major::Mn, SmemSwizzle::B128, 16)?.to_string(), "Sw<3,3,3> o _0 o (_64,_8):(_1,_64)");
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
///
/// # Errors
/// [`LayoutError::ElementBits`] when the width is no power of two up to 128, and for a K-major
/// [`SmemSwizzle::B128Atom32`].
pub const fn atom(major: Major, swizzle: SmemSwizzle, element_bits: u32) -> Result<ComposedLayout, LayoutError> {
    let k_major = matches!(major, Major::K);
    if element_bits == 0
        || element_bits > 128
        || element_bits.count_ones() != 1
        || (k_major && matches!(swizzle, SmemSwizzle::B128Atom32))
    {
        return Err(LayoutError::ElementBits { bits: element_bits });
    }
    let row = Int::Static((swizzle.row_bytes() * 8 / element_bits) as i64);
    let rows = Int::Static(if matches!(swizzle, SmemSwizzle::B128Atom32) { 4 } else { 8 });
    let (shape, stride) = if k_major { ([rows, row], [row, Int::ONE]) } else { ([row, rows], [Int::ONE, row]) };
    let layout = tri!(Layout::new(tri!(IntTuple::flat(&shape)), tri!(IntTuple::flat(&stride))));
    // From byte addresses to bit addresses to elements.
    let bits = tri!(swizzle.on_bytes().downcast(8));
    Ok(ComposedLayout::new(tri!(bits.upcast(element_bits as i64)), layout))
}

/// The widest swizzle whose row divides a contiguous extent of `row_elements` elements.
pub const fn widest_swizzle(row_elements: u32, element_bits: u32) -> SmemSwizzle {
    let bytes = row_elements as u64 * element_bits as u64 / 8;
    if bytes.is_multiple_of(128) {
        SmemSwizzle::B128
    } else if bytes.is_multiple_of(64) {
        SmemSwizzle::B64
    } else if bytes.is_multiple_of(32) {
        SmemSwizzle::B32
    } else {
        SmemSwizzle::None
    }
}
