//! [`GemmBuilder`]: fix what you like by type; what you leave is [`Auto`](warpwright_spec::Auto).
#![allow(clippy::type_complexity)]

use crate::bundles::{Operands, Plan};
use crate::composed::Composed;
use crate::core::Core;
use crate::error::{BuildError, RunError};
use crate::gemm::{Gemm, Kernel};
use crate::place::{Moved, choose_device};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_epilogue::{Acc as AccNode, Args, Fusion, IntoExpr, NodeOn, acc};
use warpwright_kernels::{Arguments, GemmKernel};
use warpwright_numeric::Element;
use warpwright_runtime::{AsView, Device, Order, Strided, Tensor};
use warpwright_spec::*;

/// Composes a GEMM, D = epilogue(A · B), out of types.
///
/// `Ar` says which instructions may be used, `A` is A's element, `Acc` the accumulator's. `Io` and `P` hold what was fixed
/// beyond that, `N` is the epilogue. All of them default to "nothing was fixed".
///
/// A bad combination of types is an error of `cargo check`; a bad number (a tile of 96 rows) is one of `cargo build`, or of
/// `cargo check` for kernels that are named: `const _: () = K::LEGAL;`.
#[must_use = "a builder does nothing until `.build(&device)` or `.run(&a, &b)`"]
pub struct GemmBuilder<Ar, A, Acc, Io = Operands, P = Plan, N = AccNode> {
    epilogue: N,
    kind: PhantomData<fn() -> (Ar, A, Acc, Io, P)>,
}

impl<Ar, A, Acc> GemmBuilder<Ar, A, Acc> {
    /// Everything decided for you: B of A's element, D of its default output, no scales, D = A · B.
    pub fn auto() -> Self
    where
        Ar: Arch,
        A: Element,
        Acc: Element,
    {
        GemmBuilder { epilogue: acc().into_node(), kind: PhantomData }
    }
}

impl<Ar, A, Acc, Io, P, N> GemmBuilder<Ar, A, Acc, Io, P, N> {
    fn with<Io2, P2>(self) -> GemmBuilder<Ar, A, Acc, Io2, P2, N> {
        GemmBuilder { epilogue: self.epilogue, kind: PhantomData }
    }

    /// Replaces the epilogue. The expression's type selects the kernel, its value holds the arguments: operands are
    /// borrowed until the gemm that is built has run.
    pub fn epilogue<E>(self, expr: impl IntoExpr<Node = E>) -> GemmBuilder<Ar, A, Acc, Io, P, E>
    where
        E: NodeOn<Ar>,
        Ar: Arch,
    {
        GemmBuilder { epilogue: expr.into_node(), kind: PhantomData }
    }
}

impl<Ar, A, Acc, Io, T, C, S, G, W, Q, F, E, N> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, G, W, Q, F, E>, N> {
    /// What one block (under `TwoSm` one pair of blocks) computes at a time: M, N and K in elements.
    pub fn tile<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<X, C, S, G, W, Q, F, E>, N>
    where
        X: ShapeChoice,
    {
        self.with()
    }

    /// Blocks that share loads: extents along M and N; K is 1.
    pub fn cluster<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, X, S, G, W, Q, F, E>, N>
    where
        X: ShapeChoice,
    {
        self.with()
    }

    /// How loading, multiplying and storing overlap.
    pub fn schedule<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, X, G, W, Q, F, E>, N>
    where
        X: Schedule,
    {
        self.with()
    }

    /// Depth of the pipeline through shared memory.
    pub fn stages<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, X, W, Q, F, E>, N>
    where
        X: StagesChoice,
    {
        self.with()
    }

    /// How tiles are handed to blocks.
    pub fn scheduler<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, G, X, Q, F, E>, N>
    where
        X: TileScheduler,
    {
        self.with()
    }

    /// How sums are kept where the instruction keeps fewer bits of them than the accumulator: fp8 by wgmma.
    pub fn accumulation<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, G, W, X, F, E>, N>
    where
        X: Accumulation,
    {
        self.with()
    }

    /// Where the instruction reads its first operand, that of the tile's rows: A, or B in a transposed plan.
    pub fn first_operand<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, G, W, Q, X, E>, N>
    where
        X: OperandSource,
    {
        self.with()
    }

    /// Where the epilogue is staged: beside the mainloop's stages, or in their bytes, which leaves room for more of them but
    /// holds the next tile's loads back.
    pub fn staging<X>(self) -> GemmBuilder<Ar, A, Acc, Io, Plan<T, C, S, G, W, Q, F, X>, N>
    where
        X: EpilogueStaging,
    {
        self.with()
    }
}

impl<Ar, A, Acc, B, D, LA, LB, LD, S, P, N> GemmBuilder<Ar, A, Acc, Operands<B, D, LA, LB, LD, S>, P, N> {
    /// B's element; A's unless it is fixed.
    pub fn b<X>(self) -> GemmBuilder<Ar, A, Acc, Operands<X, D, LA, LB, LD, S>, P, N>
    where
        A: Element,
        X: ElementChoice<A>,
    {
        self.with()
    }

    /// D's element; unless it is fixed that of the inputs for f16, bf16, f32 and f64, bf16 for fp8, fp6 and fp4, i32 for integers.
    pub fn output<X>(self) -> GemmBuilder<Ar, A, Acc, Operands<B, X, LA, LB, LD, S>, P, N>
    where
        A: Element,
        X: ElementChoice<A::Output>,
    {
        self.with()
    }

    /// How A, B and D lie in memory; what is `Auto` is seen from the tensors' strides, at each call.
    pub fn layouts<X, Y, Z>(self) -> GemmBuilder<Ar, A, Acc, Operands<B, D, X, Y, Z, S>, P, N>
    where
        X: LayoutChoice,
        Y: LayoutChoice,
        Z: LayoutChoice,
    {
        self.with()
    }

    /// How scale factors enter the mainloop.
    pub fn scales<X>(self) -> GemmBuilder<Ar, A, Acc, Operands<B, D, LA, LB, LD, X>, P, N>
    where
        X: Scales,
    {
        self.with()
    }
}

impl<Ar, A, Acc, Io, P, N> GemmBuilder<Ar, A, Acc, Io, P, N> {
    /// Makes the kernel for a device: checks it, and compiles it if every slot is fixed; what is `Auto` is decided, and
    /// compiled, at the first run of its class or by [`Gemm::prepare`].
    ///
    /// # Errors
    /// [`BuildError`]: a tag that does not fit the device, a schedule whose device code is not written, a compiler's words.
    // The one bound stands for all of `Composed`'s: the message of the one that fails is what users see.
    pub fn build<'a, F>(self, device: &Device) -> Result<Gemm<'a, Composed<Ar, A, Acc, Io, P, F>>, BuildError>
    where
        N: Fusion<Shape = F> + 'a,
        Composed<Ar, A, Acc, Io, P, F>: GemmKernel,
    {
        const { enforce(&<Composed<Ar, A, Acc, Io, P, F> as GemmKernel>::SPEC) };
        let core = Core::new(&<Composed<Ar, A, Acc, Io, P, F> as GemmKernel>::SPEC, device)?;
        let mut args = Args::new();
        self.epilogue.bind(&mut args);
        Ok(Gemm::new(Kernel::new(core), args))
    }

    /// Builds, runs once, and returns D: host memory in, host memory out.
    ///
    /// The device is chosen: the first GPU that the tag fits, or, with no NVIDIA device at all, the CPU. A GPU that the tag
    /// does not fit is an error that names both, never a silent slow path.
    ///
    /// A is (batch, M, K), B (batch, K, N); a batch of 1 is used for every entry of the other.
    ///
    /// # Errors
    /// [`RunError`], as [`build`](Self::build) and [`Gemm::run`].
    // `D` is a parameter and no projection, which in a signature would turn every failing bound into "method exists but
    // its trait bounds were not satisfied".
    pub fn run<B, D, F>(
        self,
        a: &(impl AsView<A> + ?Sized),
        b: &(impl AsView<B> + ?Sized),
    ) -> Result<Tensor<D>, RunError>
    where
        N: Fusion<Shape = F>,
        A: Element,
        B: Element,
        D: Element,
        Composed<Ar, A, Acc, Io, P, F>: GemmKernel<A = A, B = B, D = D>,
    {
        const { enforce(&<Composed<Ar, A, Acc, Io, P, F> as GemmKernel>::SPEC) };
        let spec = <Composed<Ar, A, Acc, Io, P, F> as GemmKernel>::SPEC;
        let device = choose_device(spec.arch)?;
        let core = Core::new(&spec, &device)?;
        let mut args = Args::new();
        self.epilogue.bind(&mut args);
        let (a, b) = (a.as_view()?, b.as_view()?);
        let order = if matches!(spec.order_d, Some(warpwright_spec::Order::Column)) {
            Order::ColumnMajor
        } else {
            Order::RowMajor
        };
        let batch = if a.batch() == 1 { b.batch() } else { a.batch() };
        let layout = Strided::dense_batch(batch, a.rows(), b.cols(), order);
        let stream = device.default_stream()?;
        if device.is_host() {
            let mut d = Tensor::zeros_in(layout)?;
            let arguments =
                Arguments { a: a.raw(), b: b.raw(), d: d.view_mut()?.into_raw(), epilogue: &args, extra: &[] };
            core.run(&stream, &arguments, None)?;
            return Ok(d);
        }
        let (a, b, mut moved) = (a.to_device(&stream)?, b.to_device(&stream)?, Moved::to_device(&args, &stream)?);
        let mut d = Tensor::zeros_on(&stream, layout)?;
        let (a, b, epilogue) = (a.view().raw(), b.view().raw(), moved.args(&args)?);
        core.run(&stream, &Arguments { a, b, d: d.view_mut()?.into_raw(), epilogue: &epilogue, extra: &[] }, None)?;
        moved.back(&args, &stream)?;
        Ok(d.to_host(&stream)?)
    }
}
