//! Where races are run: the operands in a device's memory, a buffer to flush its cache with, and a stream that times.

use super::sample::{Judged, Sample};
use super::{Lane, LibraryEntrant, RaceError, RaceProblem, RaceRefusalReason, RaceRules, data};
use crate::any::{AnyGemm, CallArgs};
use crate::auto::{self, PlanError};
use warpwright_numeric::Dtype;
use warpwright_runtime::{Device, Order as Memory, RawView, RawViewMut, Stream, Strided, Tensor, TensorError};
use warpwright_spec::{KernelPlan, Mnk, Order, Problem};

/// One product's operands on a device, ready to be timed again and again.
#[derive(Debug)]
pub struct RaceTrack {
    device: Device,
    stream: Stream,
    problem: RaceProblem,
    a: Operand,
    b: Operand,
    d: Operand,
    flush: Tensor<u8>,
    flushes: u8,
    sample: Box<Sample>,
}

/// Memory with an element type that is known at run time alone.
#[derive(Debug)]
struct Operand {
    memory: Tensor<u8>,
    dtype: Dtype,
    layout: Strided,
}

impl Operand {
    fn view(&self) -> RawView<'_> {
        let raw = self.memory.view().raw();
        // SAFETY: the tensor's own bytes, borrowed with it; it was made with as many as the layout spans.
        unsafe { RawView::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) }
    }

    fn view_mut(&mut self) -> Result<RawViewMut<'_>, TensorError> {
        let raw = self.memory.view_mut()?.into_raw();
        // SAFETY: as in `view`; the borrow is exclusive, and dense layouts do not overlap.
        Ok(unsafe { RawViewMut::new(raw.address(), raw.bytes(), raw.space(), self.dtype, self.layout) })
    }
}

/// The least that is filled to flush a GPU's cache: what makes fills of different GPUs comparable.
const FLUSH: usize = 256 << 20;

impl RaceTrack {
    /// Draws operands and brings them to the device.
    ///
    /// # Errors
    /// [`RaceError`]: no elements, no memory, or a device that does not time.
    pub fn new(device: &Device, problem: &RaceProblem, rules: &RaceRules<'_>) -> Result<RaceTrack, RaceError> {
        let Mnk { m, n, k } = problem.mnk;
        if [m, n, k, problem.batch].contains(&0) {
            return Err(RaceError::Empty { mnk: problem.mnk, batch: problem.batch });
        }
        let stream = device.new_stream()?;
        stream.mark().map_err(|source| RaceError::Untimed { device: device.name().to_owned(), source })?;
        RaceTrack::laid(stream, problem, rules)
    }

    /// A track of a problem that has elements, whether or not the device times.
    fn laid(stream: Stream, problem: &RaceProblem, rules: &RaceRules<'_>) -> Result<RaceTrack, RaceError> {
        let device = stream.device().clone();
        let layouts = problem.layouts();
        let spans = [(problem.a, layouts[0]), (problem.b, layouts[1]), (problem.d, layouts[2])]
            .map(|(dtype, layout)| layout.span(dtype));
        let [span_a, span_b, span_d] = spans;
        let (span_a, span_b) = (span_a?, span_b?);
        let zeros = |bytes: usize| Tensor::<u8>::zeros_on(&stream, Strided::dense(1, bytes, Memory::RowMajor));
        // The result first: nobody waits for operands of one that has no room.
        let d = zeros(problem.d.packed_bytes(span_d?))?;
        let host_a = data::normal(problem.a, span_a, data::draw(rules.seed, 0)).map_err(TensorError::from)?;
        let host_b = data::normal(problem.b, span_b, data::draw(rules.seed, 1)).map_err(TensorError::from)?;
        let sample = Sample::new(problem, &layouts, &host_a, &host_b, rules.seed);
        let on_device = |bytes: Vec<u8>| Tensor::from_vec(1, bytes.len(), bytes)?.to_device(&stream);
        let (a, b) = (on_device(host_a)?, on_device(host_b)?);
        let info = device.info();
        let cached = usize::try_from(info.l2_bytes).unwrap_or(FLUSH).saturating_mul(4);
        let usual = if info.is_host() { cached } else { cached.max(FLUSH) };
        let flush = zeros(rules.flush_bytes.unwrap_or(usual).max(1))?;
        let operand = |memory, dtype, layout| Operand { memory, dtype, layout };
        Ok(RaceTrack {
            device,
            problem: *problem,
            a: operand(a, problem.a, layouts[0]),
            b: operand(b, problem.b, layouts[1]),
            d: operand(d, problem.d, layouts[2]),
            stream,
            flush,
            flushes: 0,
            sample: Box::new(sample),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What is multiplied.
    pub fn problem(&self) -> &RaceProblem {
        &self.problem
    }

    /// Size of the buffer that is filled before every timed run.
    pub fn flush_bytes(&self) -> usize {
        self.flush.bytes()
    }

    /// Seconds of one run of a kernel for the problem's operands, behind a flushed cache. The first run compiles.
    ///
    /// # Errors
    /// [`RaceError`].
    pub fn time(&mut self, gemm: &AnyGemm) -> Result<f64, RaceError> {
        self.timed_by(|a, b, d, stream| Ok(gemm.run_raw(stream, a, b, d, CallArgs::default())?))
            .map_err(|reason| RaceError::failed(&format!("a kernel of {}", gemm.spec().arch), reason))
    }

    /// cuBLASLt's fastest algorithm for the problem: all that its heuristics name are timed, as often as the rules say.
    ///
    /// # Errors
    /// [`RaceError::Library`] where there is no cuBLASLt, or none for this problem.
    pub fn enter_library(&mut self, rules: &RaceRules<'_>) -> Result<LibraryEntrant, RaceError> {
        LibraryEntrant::qualify(self, rules).map_err(|reason| RaceError::Library(Box::new(reason)))
    }

    /// As [`RaceTrack::time`], of cuBLASLt.
    ///
    /// # Errors
    /// [`RaceError`].
    pub fn time_library(&mut self, library: &LibraryEntrant) -> Result<f64, RaceError> {
        self.timed_by(|a, b, d, _| Ok(library.run(a, b, d)?)).map_err(|reason| RaceError::Library(Box::new(reason)))
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn views(&mut self) -> Result<(RawView<'_>, RawView<'_>, RawViewMut<'_>), TensorError> {
        let d = self.d.view_mut()?;
        Ok((self.a.view(), self.b.view(), d))
    }

    /// The problem as plans see it.
    pub(super) fn problem_of_plans(&self) -> Problem {
        self.problem.problem()
    }

    /// The plan that a run of the kernel uses.
    pub(super) fn plan(&self, gemm: &AnyGemm) -> Result<KernelPlan, PlanError> {
        gemm.plan(&self.problem.problem())
    }

    /// What the model says, which knows GPUs alone.
    pub(super) fn predicted(&self, plan: &KernelPlan) -> Option<f64> {
        let info = self.device.info();
        (!info.is_host()).then(|| auto::predict(plan, info, &self.problem.problem()).seconds)
    }

    /// Seconds of one run of a lane, behind a flushed cache.
    pub(super) fn timed(&mut self, lane: &Lane) -> Result<f64, RaceRefusalReason> {
        self.timed_by(|a, b, d, stream| match lane {
            Lane::Kernel(gemm) => Ok(gemm.run_raw(stream, a, b, d, CallArgs::default())?),
            Lane::Library(contestant) => Ok(contestant.run(a, b, d)?),
        })
    }

    pub(super) fn timed_by(
        &mut self,
        run: impl FnOnce(RawView<'_>, RawView<'_>, RawViewMut<'_>, &Stream) -> Result<(), RaceRefusalReason>,
    ) -> Result<f64, RaceRefusalReason> {
        self.flushes = self.flushes.wrapping_add(1);
        let filler = self.flushes;
        self.flush.fill_bytes(&self.stream, filler)?;
        let before = self.stream.mark()?;
        run(self.a.view(), self.b.view(), self.d.view_mut()?, &self.stream)?;
        let after = self.stream.mark()?;
        Ok(after.seconds_since(&before)?)
    }

    /// Runs something into a poisoned D and looks at the result.
    pub(super) fn checked_by(
        &mut self,
        judged: Judged,
        run: impl FnOnce(RawView<'_>, RawView<'_>, RawViewMut<'_>, &Stream) -> Result<(), RaceRefusalReason>,
    ) -> Result<(), RaceRefusalReason> {
        // All ones is NaN in floats, and no likely sum in integers.
        self.d.memory.fill_bytes(&self.stream, 0xFF)?;
        run(self.a.view(), self.b.view(), self.d.view_mut()?, &self.stream)?;
        let by_rows = matches!(self.problem.order_d, Order::Row);
        let (lines, length) = match by_rows {
            true => (&self.sample.rows, self.problem.mnk.n),
            false => (&self.sample.columns, self.problem.mnk.m),
        };
        let d = self.problem.d;
        let mut read = Vec::new();
        for &line in lines {
            let (row, column) = if by_rows { (line, 0) } else { (0, line) };
            let first = self.d.layout.offset(self.sample.batch, row, column);
            // Eight elements of every type are whole bytes.
            let before = first % 8;
            let bytes = d.packed_bytes(first - before)..d.packed_bytes(first + length);
            let bytes = self.d.memory.view().sub_cols(bytes)?;
            read.push((line, before, bytes.to_host(&self.stream)?.to_vec()?));
        }
        Ok(self.sample.judge(d, judged, |row, column| {
            let (line, index) = if by_rows { (row, column) } else { (column, row) };
            let bytes = read.iter().find(|(read, ..)| *read == line);
            bytes.map_or(f64::NAN, |(_, before, bytes)| d.decode(bytes, before + index))
        })?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::RaceEntrant;
    use warpwright_arch::{ArchId, Sm80};
    use warpwright_runtime::DeviceError;
    use warpwright_spec::{GemmDesc, default_accumulator};

    fn track(device: &Device, problem: &RaceProblem) -> RaceTrack {
        let rules = RaceRules { flush_bytes: Some(64), ..RaceRules::default() };
        RaceTrack::laid(device.new_stream().unwrap(), problem, &rules).unwrap()
    }

    /// A GPU's plans, launches and memory, without its time.
    #[test]
    fn kernels_of_a_gpu_are_prepared_for_the_very_run_and_checked() {
        let device = match Device::emulator::<Sm80>() {
            Ok(device) => device,
            Err(DeviceError::NoNvrtc(missing)) => {
                assert!(std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "{missing}");
                return;
            }
            Err(other) => panic!("{other}"),
        };
        for (a, mnk, order_d) in [
            (Dtype::Bf16, Mnk { m: 40, n: 48, k: 64 }, Order::Row),
            (Dtype::F16, Mnk { m: 33, n: 20, k: 41 }, Order::Column),
            (Dtype::I8, Mnk { m: 32, n: 32, k: 64 }, Order::Row),
        ] {
            let problem = RaceProblem { order_d, ..RaceProblem::new(mnk, a) };
            let mut track = track(&device, &problem);
            let mut desc = GemmDesc::new(ArchId::SM80, a, default_accumulator(a));
            desc.tile = Some(Mnk { m: 32, n: 32, k: if a == Dtype::I8 { 64 } else { 32 } });
            let gemm = RaceEntrant::from_desc("", &desc).unwrap().build(&device, &problem).unwrap();
            gemm.prepare(&track.problem_of_plans()).unwrap();
            let plan = track.plan(&gemm).unwrap();
            track
                .checked_by(Judged::Kernel, |a, b, d, stream| Ok(gemm.run_raw(stream, a, b, d, CallArgs::default())?))
                .unwrap();
            assert_eq!(gemm.compiled().len(), 1, "what was prepared is what ran: {}", plan.name());
            assert_eq!(gemm.compiled()[0].0.widths, plan.widths);
            assert!(track.predicted(&plan).is_some_and(|seconds| seconds > 0.0));
        }
    }

    #[test]
    fn a_shifted_or_unwritten_product_is_seen() {
        let device = Device::host();
        for order_d in [Order::Row, Order::Column] {
            let problem =
                RaceProblem { order_d, batch: 2, ..RaceProblem::new(Mnk { m: 24, n: 40, k: 32 }, Dtype::F32) };
            let mut track = track(&device, &problem);
            let desc = GemmDesc::new(ArchId::SM80, Dtype::F32, Dtype::F32);
            let gemm = RaceEntrant::from_desc("", &desc).unwrap().build(&device, &problem).unwrap();
            let mut run = |shift: usize| {
                track.checked_by(Judged::Kernel, |a, b, d, stream| {
                    gemm.run_raw(stream, a, b, d, CallArgs::default())?;
                    let [batch, rows, columns] = d.extents();
                    // SAFETY: D is read and written by this thread alone.
                    let read = unsafe { d.as_raw_view() };
                    for b in 0..batch {
                        for m in (0..rows).rev() {
                            for n in 0..columns {
                                let x = read.decode_at(b, m.saturating_sub(shift), n);
                                // SAFETY: as above.
                                unsafe { d.encode_at(b, m, n, x) };
                            }
                        }
                    }
                    Ok(())
                })
            };
            run(0).unwrap();
            assert!(matches!(run(1), Err(RaceRefusalReason::Wrong(_))));
            let idle = track.checked_by(Judged::Library, |_, _, _, _| Ok(()));
            assert!(matches!(idle, Err(RaceRefusalReason::Wrong(wrong)) if wrong.got.is_nan()));
        }
    }
}
