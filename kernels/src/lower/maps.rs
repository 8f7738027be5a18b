//! The tensor maps of a plan: what it fixes of them, and what a call adds.

use super::operand::Side;
use super::output::BulkOutput;
use super::params::{OperandArg, OperandKind};
use super::wgmma::TmaOperand;
use warpwright_epilogue::{Place, Program};
use warpwright_layout::LayoutError;
use warpwright_layout::smem::SmemSwizzle;
use warpwright_numeric::Dtype;
use warpwright_runtime::{TensorElement, TensorMapSpec, TensorSwizzle};
use warpwright_spec::KernelPlan;

/// What a plan fixes of its tensor maps: boxes and swizzles. Addresses and extents are a call's.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TensorMaps {
    /// Of A and B, in the kernel's terms.
    pub(super) operands: Option<[BoxShape; 2]>,
    /// Of D.
    pub(super) output: Option<BoxShape>,
    /// Of the epilogue's argument that is read by TMA; of the previous D, D's own.
    pub(super) source: Option<(usize, BoxShape)>,
    /// Of the epilogue's argument that is stored by TMA beside D.
    pub(super) aux: Option<(usize, BoxShape)>,
}

impl TensorMaps {
    /// Those of a plan whose epilogue is `program`.
    ///
    /// # Errors
    /// A tile that has no shared-memory layout.
    pub fn of(plan: &KernelPlan, program: &Program) -> Result<TensorMaps, LayoutError> {
        let shape = |side| Ok::<_, LayoutError>(TmaOperand::new(plan, side)?.box_shape());
        let operands = match OperandKind::of(plan) {
            OperandKind::TensorMaps => Some([shape(Side::First)?, shape(Side::Second)?]),
            OperandKind::Strided => None,
        };
        let output = BulkOutput::of(plan, program)?;
        let source = output.as_ref().and_then(|output| match output.source() {
            Some(Place::Argument(argument)) => Some((argument, output.box_shape())),
            _ => None,
        });
        let aux = output.as_ref().and_then(BulkOutput::aux_box_shape);
        Ok(TensorMaps { operands, output: output.map(|output| output.box_shape()), source, aux })
    }
}

/// A box of one tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BoxShape {
    element: TensorElement,
    swizzle: TensorSwizzle,
    /// Contiguous first.
    extents: [u32; 2],
    mn_contiguous: bool,
}

impl BoxShape {
    pub(super) fn new(
        element: TensorElement,
        swizzle: SmemSwizzle,
        extents: [u32; 2],
        mn_contiguous: bool,
    ) -> BoxShape {
        let swizzle = match swizzle {
            SmemSwizzle::None => TensorSwizzle::None,
            SmemSwizzle::B32 => TensorSwizzle::B32,
            SmemSwizzle::B64 => TensorSwizzle::B64,
            SmemSwizzle::B128 | SmemSwizzle::B128Atom32 => TensorSwizzle::B128,
        };
        BoxShape { element, swizzle, extents, mn_contiguous }
    }

    /// What moves an element as it is.
    pub(super) fn element(dtype: Dtype) -> TensorElement {
        match dtype {
            Dtype::F16 => TensorElement::F16,
            Dtype::Bf16 => TensorElement::Bf16,
            other if other.bits() == 32 => TensorElement::U32,
            _ => TensorElement::U8,
        }
    }
}

/// The map of a tensor in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CallMap {
    shape: BoxShape,
    /// Strides in elements, `leading` across the contiguous direction.
    arg: OperandArg,
    /// Of mn, k and the batch.
    extents: [usize; 3],
    memory: u64,
}

impl CallMap {
    /// That of a tensor of mn by k elements, batch times, with a batch stride of 0 if all are one. Of a tensor without
    /// elements nothing is read, but TMA wants an address of memory all the same: `memory` is one.
    pub(super) fn new(shape: &BoxShape, arg: &OperandArg, extents: [usize; 3], memory: u64) -> CallMap {
        CallMap { shape: *shape, arg: *arg, extents, memory }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Where it begins.
    pub(super) fn address(&self) -> u64 {
        if self.is_empty() { self.memory & !15 } else { self.arg.pointer }
    }

    /// What besides the address differs from call to call of one problem.
    pub(super) fn strides(&self) -> [i64; 2] {
        [self.arg.leading, self.arg.stride_batch]
    }

    pub(super) fn spec(&self) -> TensorMapSpec {
        let [mn, k, batch] = self.extents;
        let BoxShape { element, swizzle, extents, mn_contiguous } = self.shape;
        let [first, second] = if mn_contiguous { [mn, k] } else { [k, mn] }.map(|x| x.max(1) as u64);
        let bytes = u64::from(element.bytes());
        // One row, or one entry, has no neighbour to be a legal distance away, and what is never read has none either.
        let stride =
            |extent: u64, elements: i64| if extent == 1 || self.is_empty() { 16 } else { elements as u64 * bytes };
        let batch = batch.max(1) as u64;
        let strides = [stride(second, self.arg.leading), stride(batch, self.arg.stride_batch)];
        let boxes = [extents[0], extents[1], 1];
        let spec = TensorMapSpec::new(element, self.address(), &[first, second, batch], &strides, &boxes);
        TensorMapSpec { swizzle, ..spec }
    }
}
