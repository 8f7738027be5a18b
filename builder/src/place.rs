//! Where a one-line run happens, and how its operands get there.

use crate::auto::PlanError;
use crate::error::BuildError;
use warpwright_arch::ArchId;
use warpwright_epilogue::{Arg, Args};
use warpwright_numeric::{Dtype, Element, bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};
use warpwright_runtime::{
    Device, DeviceError, RawView, RawViewMut, Stream, Tensor, TensorError, TensorView, TensorViewMut,
};

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
    fn raw_mut(&mut self) -> Result<RawViewMut<'_>, TensorError>;
    /// Its bytes, from the first element to the last.
    fn bytes(&self, stream: &Stream) -> Result<Vec<u8>, TensorError>;
}
impl<T: Element> OnDevice for Tensor<T> {
    fn raw(&self) -> RawView<'_> {
        self.view().raw()
    }
    fn raw_mut(&mut self) -> Result<RawViewMut<'_>, TensorError> {
        self.view_mut().map(TensorViewMut::into_raw)
    }
    fn bytes(&self, stream: &Stream) -> Result<Vec<u8>, TensorError> {
        let host = self.to_host(stream)?;
        Ok(host.view().raw().host_bytes().unwrap_or_default().to_vec())
    }
}

impl Moved {
    /// Copies what the arguments read, and what outputs hold, to the stream's device.
    pub(crate) fn to_device(args: &Args<'_>, stream: &Stream) -> Result<Moved, TensorError> {
        let mut moved = Moved { memory: Vec::new(), places: Vec::new() };
        for arg in args.iter() {
            let view = match arg {
                Arg::Read(view) => Some(view),
                // SAFETY: nobody writes it here.
                Arg::Write(view) => Some(unsafe { view.as_raw_view() }),
                _ => None,
            };
            moved.places.push(match view {
                Some(view) => {
                    moved.memory.push(copy(view, stream)?);
                    Some(moved.memory.len() - 1)
                }
                None => None,
            });
        }
        Ok(moved)
    }

    /// The arguments, reading and writing the copies.
    pub(crate) fn args<'s>(&'s mut self, args: &Args<'s>) -> Result<Args<'s>, TensorError> {
        let mut memory = self.memory.iter_mut();
        let moved = args.iter().zip(&self.places).map(|(arg, place)| match (arg, place.and_then(|_| memory.next())) {
            (Arg::Write(_), Some(memory)) => Ok(Arg::Write(memory.raw_mut()?)),
            (_, Some(memory)) => Ok(Arg::Read(memory.raw())),
            (arg, None) => Ok(arg),
        });
        moved.collect()
    }

    /// Copies outputs back to where the arguments have them.
    pub(crate) fn back(&self, args: &Args<'_>, stream: &Stream) -> Result<(), TensorError> {
        for (arg, place) in args.iter().zip(&self.places) {
            if let (Arg::Write(view), Some(i)) = (arg, place)
                && let Some(to) = view.host_ptr()
            {
                let bytes = self.memory[*i].bytes(stream)?;
                let count = bytes.len().min(view.bytes());
                // SAFETY: the bytes are the view's, which the arguments borrow exclusively.
                unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, count) };
            }
        }
        Ok(())
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
