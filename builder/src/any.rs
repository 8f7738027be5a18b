//! Kernels of which no type is known: what a command line, or a tuner, makes from a [`GemmDesc`].

use crate::auto::PlanError;
use crate::core::Core;
use crate::error::{BuildError, RunError};
use crate::tune::{PlanChoice, Tuning};
use std::sync::Arc;
use warpwright_epilogue::Args;
use warpwright_kernels::Arguments;
use warpwright_runtime::{Device, Executable, RawView, RawViewMut, Stream, WorkspacePtr};
use warpwright_spec::{GemmDesc, KernelPlan, Problem, RasterOrder, Spec};

/// A GEMM of which nothing is known by type: the same rules, plans and kernels, found at run time.
#[derive(Clone, Debug)]
#[must_use = "a kernel does nothing until it is run"]
pub struct AnyGemm {
    core: Core,
}

/// A call of an [`AnyGemm`] beyond its matrices.
#[derive(Clone, Copy, Default, Debug)]
pub struct CallArgs<'a> {
    /// The epilogue's arguments in the order of reading.
    pub epilogue: Args<'a>,
    /// Operands of the mainloop beside A and B: scales, zero points.
    pub extra: &'a [(&'static str, RawView<'a>)],
    /// Workspace of the caller's; `None`: the kernel's own, one for each stream.
    pub workspace: Option<WorkspacePtr>,
}

impl AnyGemm {
    /// Makes a kernel for a device, as [`GemmBuilder::build`](crate::GemmBuilder::build) does.
    ///
    /// # Errors
    /// [`BuildError`], a broken rule in the words that rustc would use among them.
    pub fn new(desc: &GemmDesc, device: &Device) -> Result<AnyGemm, BuildError> {
        AnyGemm::from_spec(&desc.spec()?, device)
    }

    /// Makes a kernel of a spec, however it came to be.
    ///
    /// # Errors
    /// As [`AnyGemm::new`].
    pub fn from_spec(spec: &Spec, device: &Device) -> Result<AnyGemm, BuildError> {
        Ok(AnyGemm { core: Core::new(spec, device)? })
    }

    /// What the kernel is.
    pub fn spec(&self) -> &Spec {
        self.core.spec()
    }

    /// The device that it was made for.
    pub fn device(&self) -> &Device {
        self.core.device()
    }

    /// D = epilogue(A · B), submitted to the stream: A is (batch, M, K), B (batch, K, N), D (batch, M, N).
    ///
    /// # Errors
    /// [`RunError`]; D is then as it was.
    pub fn run_raw(
        &self,
        stream: &Stream,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
        args: CallArgs<'_>,
    ) -> Result<(), RunError> {
        let arguments = Arguments { a, b, d, epilogue: &args.epilogue, extra: args.extra };
        self.core.run(stream, &arguments, args.workspace)
    }

    /// The same kernel with its tiles walked in this order, for racing one walk against another: `swizzle` tiles side by side,
    /// rounded up to a power of two.
    pub fn rasterized(self, raster: RasterOrder, swizzle: usize) -> AnyGemm {
        AnyGemm { core: self.core.rasterized(raster, swizzle) }
    }

    /// The same kernel by the plan that decides this, whatever the model, or a record, says.
    pub fn chosen(self, choice: PlanChoice) -> AnyGemm {
        AnyGemm { core: self.core.chosen(choice) }
    }

    /// As [`Kernel::tuned_by`](crate::Kernel::tuned_by).
    pub fn tuned_by(self, tuning: Option<Arc<Tuning>>) -> AnyGemm {
        AnyGemm { core: self.core.tuned_by(tuning) }
    }

    /// As [`Kernel::programmatic_launch`](crate::Kernel::programmatic_launch).
    pub fn programmatic_launch(self) -> AnyGemm {
        AnyGemm { core: self.core.programmatic() }
    }

    /// As [`Kernel::splits`](crate::Kernel::splits).
    pub fn splits(self, parts: usize) -> AnyGemm {
        AnyGemm { core: self.core.splits(parts) }
    }

    /// As [`Kernel::repacks`](crate::Kernel::repacks).
    pub fn repacks(self, repacks: bool) -> AnyGemm {
        AnyGemm { core: self.core.repacks(repacks) }
    }

    /// What was compiled so far: a plan of each translation unit, and the loaded program with its kernels' names.
    pub fn compiled(&self) -> Vec<(KernelPlan, Executable)> {
        self.core.compiled()
    }

    /// The plan of a problem, layouts that are `Auto` taken as K-major inputs and a row-major D.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn plan(&self, problem: &Problem) -> Result<KernelPlan, PlanError> {
        self.core.plan(problem)
    }

    /// The plan of the call that [`run_raw`](Self::run_raw) makes of the same arguments. Nothing is compiled, launched or written.
    ///
    /// # Errors
    /// [`RunError`], as there.
    pub fn plan_of_call(
        &self,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
        args: CallArgs<'_>,
    ) -> Result<KernelPlan, RunError> {
        self.core.plan_of_call(&Arguments { a, b, d, epilogue: &args.epilogue, extra: args.extra })
    }

    /// As [`Kernel::explain`](crate::Kernel::explain).
    ///
    /// # Errors
    /// [`PlanError`] if there is no plan.
    pub fn explain(&self, problem: &Problem) -> Result<String, PlanError> {
        self.core.explain(problem)
    }

    /// As [`Kernel::prepare_on`](crate::Kernel::prepare_on).
    ///
    /// # Errors
    /// [`RunError`].
    pub fn prepare_on(&self, stream: &Stream, problem: &Problem) -> Result<usize, RunError> {
        self.core.prepare_on(stream, problem)
    }

    /// As [`Kernel::prepare`](crate::Kernel::prepare).
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn prepare(&self, problem: &Problem) -> Result<usize, BuildError> {
        self.core.prepare(problem)
    }
}
