//! Tensor maps: what a TMA instruction knows of a tensor.

use crate::ir::TensorMapField;
use smallvec::{SmallVec, smallvec};

/// The element type of a tensor map, as the driver's encoder numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TensorElement {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    S32 = 3,
    U64 = 4,
    S64 = 5,
    F16 = 6,
    F32 = 7,
    F64 = 8,
    Bf16 = 9,
    F32Ftz = 10,
    Tf32 = 11,
    Tf32Ftz = 12,
}

impl TensorElement {
    const ALL: [TensorElement; 13] = [
        TensorElement::U8,
        TensorElement::U16,
        TensorElement::U32,
        TensorElement::S32,
        TensorElement::U64,
        TensorElement::S64,
        TensorElement::F16,
        TensorElement::F32,
        TensorElement::F64,
        TensorElement::Bf16,
        TensorElement::F32Ftz,
        TensorElement::Tf32,
        TensorElement::Tf32Ftz,
    ];

    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            TensorElement::U8 => 1,
            TensorElement::U16 | TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::U64 | TensorElement::S64 | TensorElement::F64 => 8,
            _ => 4,
        }
    }

    const fn is_float(self) -> bool {
        !matches!(
            self,
            TensorElement::U8
                | TensorElement::U16
                | TensorElement::U32
                | TensorElement::S32
                | TensorElement::U64
                | TensorElement::S64
        )
    }
}

/// How a box is permuted in shared memory: bits of the line number are XORed into those of the 16-byte chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum TensorSwizzle {
    /// Not at all.
    #[default]
    None = 0,
    /// Within 32 bytes.
    B32 = 1,
    /// Within 64 bytes.
    B64 = 2,
    /// Within 128 bytes.
    B128 = 3,
}

impl TensorSwizzle {
    const ALL: [TensorSwizzle; 4] = [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];

    /// Bytes within which chunks are permuted; 0 for no swizzle.
    pub const fn span(self) -> u32 {
        match self {
            TensorSwizzle::None => 0,
            TensorSwizzle::B32 => 32,
            TensorSwizzle::B64 => 64,
            TensorSwizzle::B128 => 128,
        }
    }

    /// Where the byte at `address` of the shared window really lies. Absolute addresses count, not those in a tile.
    pub const fn apply(self, address: u32) -> u32 {
        self.apply_from(address, 0)
    }

    /// The same with lines of 128 bytes counted from line `base` on, as a matrix descriptor's base offset has it.
    pub(crate) const fn apply_from(self, address: u32, base: u32) -> u32 {
        let lines = match self {
            TensorSwizzle::None => return address,
            TensorSwizzle::B32 => 1,
            TensorSwizzle::B64 => 3,
            TensorSwizzle::B128 => 7,
        };
        address ^ ((address >> 7).wrapping_sub(base) & lines) << 4
    }
}

/// What a load writes for elements outside the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum TensorFill {
    /// Zeros.
    #[default]
    Zero = 0,
    /// A NaN that multiplies as zero; floats only.
    Nan = 1,
}

/// One number a dimension. A legal map has at most five, which take no memory of the heap: maps are made at every launch.
pub type PerDimension<T> = SmallVec<[T; 5]>;

/// The fields of a tensor map without interleave, innermost dimension first. CUDA's driver encodes them into 128 opaque
/// bytes; so does [`TensorMapSpec::encode`] for this emulator, in a form of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMapSpec {
    /// Element type.
    pub element: TensorElement,
    /// First byte of the tensor in global memory.
    pub address: u64,
    /// Extents in elements, one per dimension: 1 to 5 of them.
    pub dims: PerDimension<u64>,
    /// Bytes between neighbours along dimension 1 and up: one less than `dims`.
    pub strides: PerDimension<u64>,
    /// Extents of a box in elements.
    pub box_dims: PerDimension<u32>,
    /// Steps between the elements that a box takes; the innermost one is ignored.
    pub element_strides: PerDimension<u32>,
    /// Permutation in shared memory.
    pub swizzle: TensorSwizzle,
    /// What stands for elements outside.
    pub fill: TensorFill,
}

/// Why the encoder refuses a tensor map, as CUDA's driver does with `CUDA_ERROR_INVALID_VALUE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TensorMapError {
    #[error("rank {rank}: 1 to 5 dimensions are possible, with one stride less and a box and element stride for each")]
    Rank { rank: usize },
    #[error("address {address:#x} is not a multiple of 16")]
    Address { address: u64 },
    #[error("extent {extent} of dimension {dim}: 1 to 2^32 are possible")]
    Extent { dim: usize, extent: u64 },
    #[error("stride of {stride} bytes along dimension {dim}: a multiple of 16 below 2^40 is wanted")]
    Stride { dim: usize, stride: u64 },
    #[error("box extent {extent} of dimension {dim}: 1 to 256 are possible")]
    Box { dim: usize, extent: u32 },
    #[error("rows of {bytes} bytes in a box: a multiple of 16 is wanted")]
    BoxRow { bytes: u32 },
    #[error("rows of {bytes} bytes in a box with a swizzle of {span} bytes, which they must not exceed")]
    SwizzleSpan { bytes: u32, span: u32 },
    #[error("element stride {stride} of dimension {dim}: 1 to 8 are possible")]
    ElementStride { dim: usize, stride: u32 },
    #[error("a box of {bytes} bytes: less than 256 KiB are possible")]
    BoxBytes { bytes: u64 },
    #[error("NaN fill of integers")]
    Fill,
}

/// Marks the encoding.
const MAGIC: [u8; 8] = *b"WW-TMAP1";

/// Element types in the order that `tensormap.replace` numbers them.
const REPLACED: [TensorElement; 13] = [
    TensorElement::U8,
    TensorElement::U16,
    TensorElement::U32,
    TensorElement::S32,
    TensorElement::U64,
    TensorElement::S64,
    TensorElement::F16,
    TensorElement::F32,
    TensorElement::F32Ftz,
    TensorElement::F64,
    TensorElement::Bf16,
    TensorElement::Tf32,
    TensorElement::Tf32Ftz,
];

/// Whether a field takes a value, in whatever map.
pub(crate) fn can_replace(field: TensorMapField, value: u64) -> bool {
    let mut any = [0; 128];
    any[..8].copy_from_slice(&MAGIC);
    replace(&mut any, field, value).is_some()
}

/// Changes one field of an encoded map; `None` if it is not one or the value is none of the field's.
pub(crate) fn replace(bytes: &mut [u8; 128], field: TensorMapField, value: u64) -> Option<()> {
    if bytes[..8] != MAGIC {
        return None;
    }
    let mut wide = |at: usize| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    match field {
        TensorMapField::Address => wide(8),
        TensorMapField::Dim(i) => wide(24 + 8 * i),
        TensorMapField::Stride(i) => wide(64 + 8 * i),
        TensorMapField::BoxDim(i) => {
            bytes[96 + 2 * i..98 + 2 * i].copy_from_slice(&u16::try_from(value).ok()?.to_le_bytes());
        }
        TensorMapField::ElementStride(i) => bytes[106 + i] = u8::try_from(value).ok()?,
        TensorMapField::Rank => bytes[16] = u8::try_from(value.checked_add(1)?).ok()?,
        // Only maps without interleave are modelled.
        TensorMapField::Interleave => return (value == 0).then_some(()),
        TensorMapField::Element => bytes[17] = *REPLACED.get(value as usize)? as u8,
        TensorMapField::Swizzle => bytes[18] = *TensorSwizzle::ALL.get(value as usize)? as u8,
        TensorMapField::Fill => bytes[19] = u8::try_from(value).ok().filter(|v| *v < 2)?,
    }
    Some(())
}

impl TensorMapSpec {
    /// A map without swizzle, with unit element strides and zero fill.
    pub fn new(element: TensorElement, address: u64, dims: &[u64], strides: &[u64], box_dims: &[u32]) -> TensorMapSpec {
        TensorMapSpec {
            element,
            address,
            dims: dims.into(),
            strides: strides.into(),
            box_dims: box_dims.into(),
            element_strides: smallvec![1; dims.len()],
            swizzle: TensorSwizzle::None,
            fill: TensorFill::Zero,
        }
    }

    /// Whether the driver's encoder takes it.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.dims.len();
        let lengths = [self.strides.len() + 1, self.box_dims.len(), self.element_strides.len()];
        if !(1..=5).contains(&rank) || lengths != [rank; 3] {
            return Err(TensorMapError::Rank { rank });
        }
        if !self.address.is_multiple_of(16) {
            return Err(TensorMapError::Address { address: self.address });
        }
        for (dim, extent) in self.dims.iter().copied().enumerate() {
            if extent == 0 || extent > 1 << 32 {
                return Err(TensorMapError::Extent { dim, extent });
            }
        }
        for (i, stride) in self.strides.iter().copied().enumerate() {
            if stride % 16 != 0 || stride >= 1 << 40 {
                return Err(TensorMapError::Stride { dim: i + 1, stride });
            }
        }
        for (dim, extent) in self.box_dims.iter().copied().enumerate() {
            if extent == 0 || extent > 256 {
                return Err(TensorMapError::Box { dim, extent });
            }
        }
        for (dim, stride) in self.element_strides.iter().copied().enumerate() {
            if stride == 0 || stride > 8 {
                return Err(TensorMapError::ElementStride { dim, stride });
            }
        }
        let (bytes, span) = (self.row_bytes(), self.swizzle.span());
        if bytes % 16 != 0 {
            return Err(TensorMapError::BoxRow { bytes });
        }
        if span != 0 && bytes > span {
            return Err(TensorMapError::SwizzleSpan { bytes, span });
        }
        if self.fill == TensorFill::Nan && !self.element.is_float() {
            return Err(TensorMapError::Fill);
        }
        let all = self.box_dims.iter().map(|n| u64::from(*n)).product::<u64>() * u64::from(self.element.bytes());
        if all >= 256 << 10 { Err(TensorMapError::BoxBytes { bytes: all }) } else { Ok(()) }
    }

    /// Bytes of a box along the innermost dimension.
    pub fn row_bytes(&self) -> u32 {
        self.box_dims.first().map_or(0, |n| n * self.element.bytes())
    }

    /// Elements that a box takes along a dimension.
    pub(crate) fn taken(&self, dim: usize) -> u32 {
        if dim == 0 { self.box_dims[0] } else { self.box_dims[dim].div_ceil(self.element_strides[dim]) }
    }

    /// Bytes that a load of one box counts on its mbarrier, whatever of it lies outside the tensor.
    pub fn box_bytes(&self) -> u32 {
        (0..self.dims.len()).map(|d| self.taken(d)).product::<u32>() * self.element.bytes()
    }

    /// The 128 bytes that a kernel takes for a tensor map, to be aligned to 64.
    pub fn encode(&self) -> Result<[u8; 128], TensorMapError> {
        self.check()?;
        let mut out = [0; 128];
        out[..8].copy_from_slice(&MAGIC);
        out[8..16].copy_from_slice(&self.address.to_le_bytes());
        out[16..20].copy_from_slice(&[self.dims.len() as u8, self.element as u8, self.swizzle as u8, self.fill as u8]);
        for (i, x) in self.dims.iter().enumerate() {
            out[24 + 8 * i..32 + 8 * i].copy_from_slice(&x.to_le_bytes());
        }
        for (i, x) in self.strides.iter().enumerate() {
            out[64 + 8 * i..72 + 8 * i].copy_from_slice(&x.to_le_bytes());
        }
        for (i, x) in self.box_dims.iter().enumerate() {
            out[96 + 2 * i..98 + 2 * i].copy_from_slice(&(*x as u16).to_le_bytes());
            out[106 + i] = self.element_strides[i] as u8;
        }
        Ok(out)
    }

    /// Writes another address into what [`TensorMapSpec::encode`] wrote.
    pub fn relocate(map: &mut [u8; 128], address: u64) {
        map[8..16].copy_from_slice(&address.to_le_bytes());
    }

    /// Reads what [`TensorMapSpec::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8; 128]) -> Option<TensorMapSpec> {
        let wide = |at: usize| crate::exec::number(&bytes[at..at + 8]);
        let rank = bytes[16] as usize;
        if bytes[..8] != MAGIC || !(1..=5).contains(&rank) {
            return None;
        }
        Some(TensorMapSpec {
            element: *TensorElement::ALL.get(bytes[17] as usize)?,
            address: wide(8),
            dims: (0..rank).map(|i| wide(24 + 8 * i)).collect(),
            strides: (0..rank - 1).map(|i| wide(64 + 8 * i)).collect(),
            box_dims: (0..rank).map(|i| u32::from(bytes[96 + 2 * i]) | u32::from(bytes[97 + 2 * i]) << 8).collect(),
            element_strides: (0..rank).map(|i| u32::from(bytes[106 + i])).collect(),
            swizzle: *TensorSwizzle::ALL.get(bytes[18] as usize)?,
            fill: if bytes[19] == 0 { TensorFill::Zero } else { TensorFill::Nan },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> TensorMapSpec {
        TensorMapSpec::new(TensorElement::Bf16, 0x1000, &[77, 40], &[160], &[64, 8])
    }

    #[test]
    fn the_encoders_verdicts() {
        // As the driver of an H200 gave them.
        let with = |f: &dyn Fn(&mut TensorMapSpec)| {
            let mut spec = spec();
            f(&mut spec);
            spec.check()
        };
        assert_eq!(with(&|_| {}), Ok(()));
        assert_eq!(with(&|s| s.address = 0), Ok(()));
        assert_eq!(with(&|s| s.strides[0] = 0), Ok(()));
        assert_eq!(with(&|s| s.strides[0] = (1 << 40) - 16), Ok(()));
        assert_eq!(with(&|s| s.dims[1] = 1 << 32), Ok(()));
        assert_eq!(with(&|s| s.box_dims = smallvec![256, 256]), Ok(()));
        assert_eq!(with(&|s| s.element_strides[0] = 3), Ok(()));
        assert_eq!(with(&|s| s.fill = TensorFill::Nan), Ok(()));
        // Boxes larger than the tensor, rows narrower than the swizzle, strides below a row or below a lower dimension's.
        assert_eq!(with(&|s| s.dims = smallvec![8, 2]), Ok(()));
        assert_eq!(with(&|s| (s.swizzle, s.box_dims[0]) = (TensorSwizzle::B128, 8)), Ok(()));
        assert_eq!(with(&|s| s.strides[0] = 16), Ok(()));
        assert_eq!(with(&|s| (s.strides[0], s.dims[1]) = (0, 1)), Ok(()));
        assert!(with(&|s| (s.strides[0], s.dims[1]) = (8, 1)).is_err());
        assert!(with(&|s| (s.swizzle, s.box_dims[0]) = (TensorSwizzle::B64, 40)).is_err());
        assert!(with(&|s| s.dims.clear()).is_err());
        assert!(with(&|s| s.address = 8).is_err());
        assert!(with(&|s| s.strides[0] = 520).is_err());
        assert!(with(&|s| s.strides[0] = 1 << 40).is_err());
        assert!(with(&|s| s.dims[1] = 0).is_err());
        assert!(with(&|s| s.dims[1] = (1 << 32) + 1).is_err());
        assert!(with(&|s| s.box_dims[1] = 0).is_err());
        assert!(with(&|s| s.box_dims[1] = 257).is_err());
        assert!(with(&|s| s.box_dims[0] = 60).is_err());
        assert!(with(&|s| s.element_strides[0] = 0).is_err());
        assert!(with(&|s| s.element_strides[1] = 9).is_err());
        assert!(with(&|s| (s.swizzle, s.box_dims[0]) = (TensorSwizzle::B128, 72)).is_err());
        assert!(with(&|s| (s.swizzle, s.box_dims[0]) = (TensorSwizzle::B32, 24)).is_err());
        assert!(with(&|s| (s.element, s.fill) = (TensorElement::U16, TensorFill::Nan)).is_err());
        assert!(with(&|s| (s.element, s.box_dims) = (TensorElement::F32, smallvec![256, 256])).is_err());
    }

    #[test]
    fn encoding_is_reversible() {
        let mut spec = spec();
        (spec.swizzle, spec.element_strides[1]) = (TensorSwizzle::B64, 3);
        spec.box_dims[0] = 32;
        assert_eq!(TensorMapSpec::decode(&spec.encode().unwrap()), Some(spec.clone()));
        assert_eq!(spec.box_bytes(), 32 * 3 * 2);
        assert_eq!(TensorMapSpec::decode(&[0; 128]), None);
    }

    #[test]
    fn swizzles_permute_chunks_by_line() {
        assert_eq!(TensorSwizzle::B128.apply(0x400 + 128 * 3 + 16), 0x400 + 128 * 3 + 32);
        assert_eq!(TensorSwizzle::B32.apply(128), 128 + 16);
        assert_eq!(TensorSwizzle::B64.apply(256 + 48), 256 + 16);
    }
}
