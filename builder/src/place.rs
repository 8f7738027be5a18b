//! Where a one-line run happens, and how its operands get there.

use crate::auto::PlanError;
use crate::error::BuildError;
use warpwright_arch::ArchId;
use warpwright_epilogue::{Arg, Args};
use warpwright_numeric::{Dtype, Element, bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};
use warpwright_runtime::{Device, DeviceError, RawView, Stream, Tensor, TensorError, TensorView};

/// The first GPU that kernels of `tag` run on; with no NVIDIA device at all, the CPU.
///
/// # Errors
/// A GPU that is there and that the tag does not fit, or that cannot be used: it is not passed over silently.
pub(crate) fn choose_device(tag: ArchId) -> Result<Device, BuildError> {
    let mut refusal: Option<BuildError> = None;
    for device in Device::all() {
        match device {
            Ok(device) if device.is_host() => continue,
            Ok(device) => match device.info().check_tag(tag) {
                Ok(()) => return Ok(device),
                Err(mismatch) => refusal = refusal.or(Some(PlanError::ArchMismatch(mismatch).into())),
            },
            Err(DeviceError::NoDriver { .. } | DeviceError::NoDevice) => {}
            Err(other) => refusal = refusal.or(Some(other.into())),
        }
    }
    match refusal {
        Some(error) => Err(error),
        None => Ok(Device::host()),
    }
}

/// An epilogue's arguments in a device's memory.
pub(crate) struct Moved {
    memory: Vec<Box<dyn OnDevice>>,
    places: Vec<Option<usize>>,
}

trait OnDevice {
    fn raw(&self) -> RawView<'_>;
}
impl<T: Element> OnDevice for Tensor<T> {
    fn raw(&self) -> RawView<'_> {
        self.view().raw()
    }
}

impl Moved {
    /// Copies what the arguments read to the stream's device.
    pub(crate) fn to_device(args: &Args<'_>, stream: &Stream) -> Result<Moved, TensorError> {
        let mut moved = Moved { memory: Vec::new(), places: Vec::new() };
        for arg in args.iter() {
            moved.places.push(match arg {
                Arg::Read(view) => {
                    moved.memory.push(copy(view, stream)?);
                    Some(moved.memory.len() - 1)
                }
                _ => None,
            });
        }
        Ok(moved)
    }

    /// The arguments, reading the copies.
    pub(crate) fn args<'s>(&'s self, args: &Args<'s>) -> Args<'s> {
        args.iter()
            .zip(&self.places)
            .map(|(arg, place)| place.map_or(arg, |i| Arg::Read(self.memory[i].raw())))
            .collect()
    }
}

fn copy(view: RawView<'_>, stream: &Stream) -> Result<Box<dyn OnDevice>, TensorError> {
    fn typed<T: Element>(view: RawView<'_>, stream: &Stream) -> Result<Box<dyn OnDevice>, TensorError> {
        Ok(Box::new(TensorView::<T>::from_raw(view)?.to_device(stream)?))
    }
    match view.dtype() {
        Dtype::F64 => typed::<f64>(view, stream),
        Dtype::F32 => typed::<f32>(view, stream),
        Dtype::Tf32 => typed::<tf32>(view, stream),
        Dtype::F16 => typed::<f16>(view, stream),
        Dtype::Bf16 => typed::<bf16>(view, stream),
        Dtype::E4m3 => typed::<e4m3>(view, stream),
        Dtype::E5m2 => typed::<e5m2>(view, stream),
        Dtype::I32 => typed::<i32>(view, stream),
        Dtype::I8 => typed::<i8>(view, stream),
        Dtype::U8 => typed::<u8>(view, stream),
        Dtype::I4 => typed::<i4>(view, stream),
        Dtype::U4 => typed::<u4>(view, stream),
        Dtype::E2m1 => typed::<e2m1>(view, stream),
        Dtype::E3m2 => typed::<e3m2>(view, stream),
        Dtype::E2m3 => typed::<e2m3>(view, stream),
        Dtype::E8m0 => typed::<e8m0>(view, stream),
    }
}
