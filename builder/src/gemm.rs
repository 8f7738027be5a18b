//! What is built: [`Gemm`] with its arguments, [`Kernel`] without, [`DynGemm`] without its type.

use crate::auto::PlanError;
use crate::core::Core;
use crate::error::{BuildError, RunError};
use crate::tune::Tuning;
use core::marker::PhantomData;
use std::sync::Arc;
use warpwright_epilogue::{Args, Expr, Fusion};
use warpwright_kernels::{Arguments, GemmKernel};
use warpwright_numeric::Element;
use warpwright_runtime::{AsView, AsViewMut, Device, RawView, Stream, TensorError, WorkspacePtr};
use warpwright_spec::{Bounded, Problem, Spec};

/// Most operands of a mainloop beside A and B: two scales, zero points, a statistic.
const MAX_OPERANDS: usize = 4;

type Extra<'a> = Bounded<(&'static str, RawView<'a>), MAX_OPERANDS>;

/// A GEMM for a device, with its epilogue's arguments. `'a` is what they borrow.
///
/// Borrows of operands end when a run returns, which is when the work is submitted, not when it is done. Device tensors
/// free their memory in stream order and reads to the host wait for the stream, so that what was submitted stays valid; a
/// captured graph holds addresses, so the tensors that it uses must outlive its replays.
// Never give this type a `Drop` or a boxed trait object: either would make every borrow in it last to the end of the scope.
#[must_use = "a gemm does nothing until it is run"]
pub struct Gemm<'a, K> {
    kernel: Kernel<K>,
    args: Args<'a>,
    extra: Extra<'a>,
}

/// A GEMM for a device without arguments: `'static`, shareable between threads (each with its own stream), for struct fields.
#[must_use = "a kernel does nothing until it is run"]
pub struct Kernel<K> {
    core: Core,
    kind: PhantomData<fn() -> K>,
}

/// A GEMM of which only the operands' elements are known: for struct fields, lists and tuners.
#[must_use = "a kernel does nothing until it is run"]
pub struct DynGemm<A, B, D> {
    core: Core,
    kind: PhantomData<(A, B, D)>,
}

impl<'a, K: GemmKernel> Gemm<'a, K> {
    pub(crate) fn new(kernel: Kernel<K>, args: Args<'a>) -> Self {
        Gemm { kernel, args, extra: Extra::new() }
    }

    /// Hands the mainloop an operand beside A and B: scales, zero points. It replaces the one of the same name.
    ///
    /// # Errors
    /// [`TensorError`] if the operand is no view.
    ///
    /// # Panics
    /// Beyond four of them; no mainloop has more.
    pub fn operand<T: Element>(
        mut self,
        name: &'static str,
        operand: &'a (impl AsView<T> + ?Sized),
    ) -> Result<Self, TensorError> {
        let view = operand.as_view()?.raw();
        let known = self.extra.iter().position(|(known, _)| known == name);
        self.extra = match known {
            Some(i) => self.extra.replaced(i, (name, view)),
            None => self.extra.with((name, view)),
        };
        Ok(self)
    }

    /// What the types reified to.
    pub fn spec(&self) -> &Spec {
        self.kernel.spec()
    }

    /// The device that it was built for.
    pub fn device(&self) -> &Device {
        self.kernel.device()
    }

    /// D = epilogue(A · B) with the arguments that the builder received, submitted to the stream: A is (batch, M, K), B
    /// (batch, K, N), D (batch, M, N). A batch of 1 in A or B is used for every entry of D. `&mut`, since arguments may be
    /// outputs.
    ///
    /// # Errors
    /// [`RunError`]; D is then as it was.
    pub fn run(
        &mut self,
        stream: &Stream,
        a: &(impl AsView<K::A> + ?Sized),
        b: &(impl AsView<K::B> + ?Sized),
        d: &mut (impl AsViewMut<K::D> + ?Sized),
    ) -> Result<(), RunError> {
        self.run_in(stream, a, b, d, None)
    }

    /// As [`run`](Self::run), in workspace of the caller's: [`prepare`](Self::prepare) says how much.
    ///
    /// # Errors
    /// [`RunError`]; D is then as it was.
    pub fn run_in(
        &mut self,
        stream: &Stream,
        a: &(impl AsView<K::A> + ?Sized),
        b: &(impl AsView<K::B> + ?Sized),
        d: &mut (impl AsViewMut<K::D> + ?Sized),
        workspace: Option<WorkspacePtr>,
    ) -> Result<(), RunError> {
        let (a, b, mut d) = (a.as_view()?.raw(), b.as_view()?.raw(), d.as_view_mut()?);
        let mut extra = [("", a); MAX_OPERANDS];
        let extra = inline(&self.extra, &mut extra);
        self.kernel.core.run(stream, &Arguments { a, b, d: d.raw(), epilogue: &self.args, extra }, workspace)
    }

    /// Why the kernel does a problem the way it does: plan, tile, stages, shared memory, waves, predicted time.
    ///
    /// # Errors
    /// [`PlanError`] if there is no plan.
    pub fn explain(&self, problem: &Problem) -> Result<String, PlanError> {
        self.kernel.explain(problem)
    }

    /// As [`Kernel::prepare`].
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn prepare(&self, problem: &Problem) -> Result<usize, BuildError> {
        self.kernel.prepare(problem)
    }

    /// As [`Kernel::prepare_on`].
    ///
    /// # Errors
    /// [`RunError`].
    pub fn prepare_on(&self, stream: &Stream, problem: &Problem) -> Result<usize, RunError> {
        self.kernel.prepare_on(stream, problem)
    }

    /// As [`Kernel::splits`].
    pub fn splits(self, parts: usize) -> Self {
        Gemm { kernel: self.kernel.splits(parts), ..self }
    }

    /// As [`Kernel::repacks`].
    pub fn repacks(self, repacks: bool) -> Self {
        Gemm { kernel: self.kernel.repacks(repacks), ..self }
    }

    /// As [`Kernel::tuned_by`].
    pub fn tuned_by(self, tuning: Option<Arc<Tuning>>) -> Self {
        Gemm { kernel: self.kernel.tuned_by(tuning), ..self }
    }

    /// As [`Kernel::programmatic_launch`].
    pub fn programmatic_launch(self) -> Self {
        Gemm { kernel: self.kernel.programmatic_launch(), ..self }
    }

    /// Keeps the kernel, gives the arguments back.
    pub fn detach(self) -> Kernel<K> {
        self.kernel
    }
}

fn inline<'s, 'a>(
    list: &Extra<'a>,
    slots: &'s mut [(&'static str, RawView<'a>); MAX_OPERANDS],
) -> &'s [(&'static str, RawView<'a>)] {
    for (slot, item) in slots.iter_mut().zip(list.iter()) {
        *slot = item;
    }
    &slots[..list.len()]
}

/// An epilogue expression of the fusion that a kernel was compiled for.
#[diagnostic::on_unimplemented(
    message = "this epilogue is not the one that the kernel was compiled for",
    label = "this is `{Self}`",
    note = "the kernel computes `{F}`: pass the same expression with other arguments, or build another kernel"
)]
pub trait ArgumentsOf<F>: Fusion {}
impl<N: Fusion> ArgumentsOf<N::Shape> for N {}

impl<K: GemmKernel> Kernel<K> {
    pub(crate) fn new(core: Core) -> Self {
        Kernel { core, kind: PhantomData }
    }

    /// Makes a kernel that is named rather than built.
    ///
    /// # Errors
    /// [`BuildError`], as [`GemmBuilder::build`](crate::GemmBuilder::build).
    pub fn compile(device: &Device) -> Result<Self, BuildError> {
        const { K::LEGAL };
        Ok(Kernel::new(Core::new(&K::SPEC, device)?))
    }

    /// What the types reified to.
    pub fn spec(&self) -> &Spec {
        self.core.spec()
    }

    /// The device that it was made for.
    pub fn device(&self) -> &Device {
        self.core.device()
    }

    /// D = epilogue(A · B) with the arguments of this expression, which has to be of the fusion that the kernel was compiled
    /// for. Threads may share the kernel, each with its own stream.
    ///
    /// # Errors
    /// [`RunError`]; D is then as it was.
    pub fn run_with<E>(
        &self,
        stream: &Stream,
        a: &(impl AsView<K::A> + ?Sized),
        b: &(impl AsView<K::B> + ?Sized),
        d: &mut (impl AsViewMut<K::D> + ?Sized),
        epilogue: Expr<E>,
    ) -> Result<(), RunError>
    where
        E: ArgumentsOf<K::Fusion>,
    {
        run_bound(&self.core, stream, a, b, d, epilogue)
    }

    /// Why the kernel does a problem the way it does: plan, tile, stages, shared memory, waves, predicted time. What is
    /// `Auto` among the layouts is taken as K-major inputs and a row-major D, whose lines follow one another unless the problem
    /// declares another alignment ([`Problem::aligned`]).
    ///
    /// # Errors
    /// [`PlanError`] if there is no plan.
    pub fn explain(&self, problem: &Problem) -> Result<String, PlanError> {
        self.core.explain(problem)
    }

    /// Plans a problem and compiles what the plan needs, so that running it later compiles nothing; answers how many bytes of
    /// workspace a run needs, which is allocated at the first run on a stream or by [`prepare_on`](Self::prepare_on). Layouts that are `Auto` are taken as K-major inputs and a row-major D,
    /// whose lines follow one another unless the problem declares another alignment: operands that lie otherwise are prepared by running once.
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn prepare(&self, problem: &Problem) -> Result<usize, BuildError> {
        self.core.prepare(problem)
    }

    /// As [`prepare`](Self::prepare), and reserves the workspace that runs on this stream take, so that they can be captured
    /// although none was run there. Only kernels that split K, whose epilogue reduces, or that copy operands which TMA cannot address, take any.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn prepare_on(&self, stream: &Stream, problem: &Problem) -> Result<usize, RunError> {
        self.core.prepare_on(stream, problem)
    }

    /// The same kernel with K cut into `parts` parts by different blocks, or as many as K has tiles: of a `SplitK` or
    /// `SplitKSerial` kernel, or one whose scheduler is `Auto`, which 1 keeps from splitting; of any
    /// other kernel more than one part is refused when it is planned. Without this the plan decides.
    ///
    /// Parts are summed in the order of K, so results are reproducible; they differ in rounding from those of another number
    /// of parts.
    pub fn splits(self, parts: usize) -> Self {
        Kernel { core: self.core.splits(parts), ..self }
    }

    /// The same kernel, which copies operands that TMA cannot address, because an address or stride is no multiple of 16 bytes, into
    /// workspace and multiplies the copies; `false`: which reads them where they lie. Without this the plan decides, and
    /// [`explain`](Self::explain) says how. Operands that TMA can address are read where they lie all the same.
    pub fn repacks(self, repacks: bool) -> Self {
        Kernel { core: self.core.repacks(repacks), ..self }
    }

    /// The same kernel, which asks these winners of races what to take for a problem; `None`: the model alone decides. A kernel
    /// asks [`Tuning::global`] unless it is told otherwise, but on an emulated device; one with a slot that is named asks nobody.
    pub fn tuned_by(self, tuning: Option<Arc<Tuning>>) -> Self {
        Kernel { core: self.core.tuned_by(tuning), ..self }
    }

    /// The same kernel with *programmatic dependent launch*: its blocks may start, and set themselves up, while the kernel
    /// before it in the stream still ends; none of its operands is touched before that one is over. It pays for chains of
    /// short kernels. Devices before compute capability 9.0 launch it as ever.
    pub fn programmatic_launch(self) -> Self {
        Kernel { core: self.core.programmatic(), ..self }
    }

    /// Forgets the kernel's type. Nothing else is lost: what runs is in the spec.
    pub fn erase(self) -> DynGemm<K::A, K::B, K::D> {
        DynGemm { core: self.core, kind: PhantomData }
    }
}

impl<A: Element, B: Element, D: Element> DynGemm<A, B, D> {
    /// What the kernel is.
    pub fn spec(&self) -> &Spec {
        self.core.spec()
    }

    /// The device that it was made for.
    pub fn device(&self) -> &Device {
        self.core.device()
    }

    /// As [`Kernel::run_with`]; that the expression is of the kernel's fusion is found at run time.
    ///
    /// # Errors
    /// [`RunError`], [`RunError::Fusion`] among them; D is then as it was.
    pub fn run_with<E: Fusion>(
        &self,
        stream: &Stream,
        a: &(impl AsView<A> + ?Sized),
        b: &(impl AsView<B> + ?Sized),
        d: &mut (impl AsViewMut<D> + ?Sized),
        epilogue: Expr<E>,
    ) -> Result<(), RunError> {
        if *E::NODE != *self.core.spec().epilogue {
            let (given, compiled) = (E::NODE.to_string(), self.core.spec().epilogue.to_string());
            return Err(RunError::Fusion { given, compiled });
        }
        run_bound(&self.core, stream, a, b, d, epilogue)
    }

    /// As [`Kernel::explain`].
    ///
    /// # Errors
    /// [`PlanError`] if there is no plan.
    pub fn explain(&self, problem: &Problem) -> Result<String, PlanError> {
        self.core.explain(problem)
    }

    /// As [`Kernel::prepare_on`].
    ///
    /// # Errors
    /// [`RunError`].
    pub fn prepare_on(&self, stream: &Stream, problem: &Problem) -> Result<usize, RunError> {
        self.core.prepare_on(stream, problem)
    }

    /// As [`Kernel::prepare`].
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn prepare(&self, problem: &Problem) -> Result<usize, BuildError> {
        self.core.prepare(problem)
    }
}

fn run_bound<A: Element, B: Element, D: Element, E: Fusion>(
    core: &Core,
    stream: &Stream,
    a: &(impl AsView<A> + ?Sized),
    b: &(impl AsView<B> + ?Sized),
    d: &mut (impl AsViewMut<D> + ?Sized),
    expr: Expr<E>,
) -> Result<(), RunError> {
    let (a, b, mut d) = (a.as_view()?.raw(), b.as_view()?.raw(), d.as_view_mut()?);
    let mut epilogue = Args::new();
    expr.0.bind(&mut epilogue);
    core.run(stream, &Arguments { a, b, d: d.raw(), epilogue: &epilogue, extra: &[] }, None)
}
