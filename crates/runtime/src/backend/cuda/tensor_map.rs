//! TMA tensor maps, encoded by the driver.

use std::ffi::c_void;

use cudarc::driver::sys::{
    self, CUtensorMap, CUtensorMapDataType as Element, CUtensorMapFloatOOBfill as Fill, CUtensorMapInterleave,
    CUtensorMapL2promotion as Promotion, CUtensorMapSwizzle as Swizzle,
};

use super::fault::fault;
use crate::{DeviceError, DriverFault};

/// The fields of a tensor map without interleave, innermost dimension first, enumerations by the driver's numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMapFields {
    /// `CUtensorMapDataType`, 0 to 12.
    pub element: u8,
    /// Address of the tensor in global memory: a multiple of 16.
    pub address: u64,
    /// Extents in elements: 1 to 5 of them.
    pub dims: Vec<u64>,
    /// Bytes between neighbours along dimension 1 and up: one less than `dims`.
    pub strides: Vec<u64>,
    /// Extents of a box in elements.
    pub box_dims: Vec<u32>,
    /// Steps between the elements that a box takes.
    pub element_strides: Vec<u32>,
    /// `CUtensorMapSwizzle`, 0 to 3.
    pub swizzle: u8,
    /// `CUtensorMapFloatOOBfill`.
    pub fill: u8,
}

/// A tensor map that cannot be encoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapFault {
    /// Lists of the wrong lengths.
    #[error(
        "{rank} dimensions with lists of {lengths:?} strides, box extents and element strides: 1 to 5, and one stride less"
    )]
    Rank {
        /// Extents given.
        rank: usize,
        /// Strides, box extents and element strides given.
        lengths: [usize; 3],
    },
    /// A number that names nothing.
    #[error("{what} {value} is none of the driver's")]
    Number {
        /// Which field.
        what: &'static str,
        /// Its value.
        value: u8,
    },
    /// There is no driver.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverFault),
}

const ELEMENTS: [Element; 13] = [
    Element::CU_TENSOR_MAP_DATA_TYPE_UINT8,
    Element::CU_TENSOR_MAP_DATA_TYPE_UINT16,
    Element::CU_TENSOR_MAP_DATA_TYPE_UINT32,
    Element::CU_TENSOR_MAP_DATA_TYPE_INT32,
    Element::CU_TENSOR_MAP_DATA_TYPE_UINT64,
    Element::CU_TENSOR_MAP_DATA_TYPE_INT64,
    Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
    Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    Element::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    Element::CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
    Element::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
    Element::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
];

const SWIZZLES: [Swizzle; 4] = [
    Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
    Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
    Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
    Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
];

const FILLS: [Fill; 2] =
    [Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, Fill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA];

impl TensorMapFields {
    /// The 128 bytes that a kernel takes for a tensor map, to be aligned to 64.
    ///
    /// # Errors
    /// [`TensorMapFault`].
    pub fn encode(&self) -> Result<[u8; 128], TensorMapFault> {
        let rank = self.dims.len();
        let lengths = [self.strides.len(), self.box_dims.len(), self.element_strides.len()];
        if !(1..=5).contains(&rank) || lengths != [rank - 1, rank, rank] {
            return Err(TensorMapFault::Rank { rank, lengths });
        }
        let number = |what, value| TensorMapFault::Number { what, value };
        let pick = |value: u8| usize::from(value);
        let element = *ELEMENTS.get(pick(self.element)).ok_or(number("element type", self.element))?;
        let swizzle = *SWIZZLES.get(pick(self.swizzle)).ok_or(number("swizzle", self.swizzle))?;
        let fill = *FILLS.get(pick(self.fill)).ok_or(number("fill", self.fill))?;
        super::check_driver()?;
        // The driver wants the map itself at a multiple of 64.
        #[repr(align(128))]
        struct Aligned(CUtensorMap);
        let mut map = Aligned(CUtensorMap { opaque: [0; 16] });
        // SAFETY: the lists have `rank` entries (one less for strides), the map is written to. The address is not read.
        unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map.0,
                element,
                rank as u32,
                self.address as *mut c_void,
                self.dims.as_ptr(),
                self.strides.as_ptr(),
                self.box_dims.as_ptr(),
                self.element_strides.as_ptr(),
                CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                fill,
            )
        }
        .result()
        .map_err(|error| fault("cuTensorMapEncodeTiled", error))?;
        let mut bytes = [0; 128];
        for (to, word) in bytes.chunks_exact_mut(8).zip(map.0.opaque) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Ok(bytes)
    }
}
