//! Values that depend on their neighbours in a line of D: blocks that share a scale factor, and a row's largest values.

use crate::{Arg, Args, Expr, Fusion, IntoExpr, NodeOn};
use core::marker::PhantomData;
use warpwright_arch::Arch;
use warpwright_numeric::{Element, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0};
use warpwright_runtime::AsViewMut;
use warpwright_spec::{BlockRun, BlockScales, Node, ScaleOrder, Sink};

/// What blocks that share a scale factor are made of: [`Mx`], [`Nvfp4`], other [`Blocks`], and [`InAtoms`] of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a format of blocks that share a scale factor",
    label = "not a block format",
    note = "formats are `Mx<e4m3>` and so on, `Nvfp4`, `Blocks<e4m3, f32, 128>`, and `InAtoms<..>` of these"
)]
pub trait BlockFormat: 'static {
    /// What values are stored as.
    type Element: BlockElement;
    /// What scale factors are stored as.
    type Scale: Element;
    /// Values of a block: 16, 32, 64 or 128.
    const BLOCK: u16;
    /// How scale factors lie.
    const ORDER: ScaleOrder = ScaleOrder::Strided;
}

/// An element that is narrow enough to need scale factors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of blocks that share a scale factor",
    label = "its range needs no scale factor",
    note = "elements of blocks are `e4m3`, `e5m2`, `e3m2`, `e2m3` and `e2m1`"
)]
pub trait BlockElement: Element {}
macro_rules! block_elements {
    ($($t:ident)+) => { $(impl BlockElement for $t {})+ };
}
block_elements! { e4m3 e5m2 e3m2 e2m3 e2m1 }

/// Blocks of `BLOCK` values of `T` with scale factors of `S`, `f32`, `e8m0` or `e4m3`.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<T, S, const BLOCK: u16>(PhantomData<(T, S)>);
impl<T: BlockElement, S: Element, const BLOCK: u16> BlockFormat for Blocks<T, S, BLOCK> {
    type Element = T;
    type Scale = S;
    const BLOCK: u16 = BLOCK;
}
/// An MX format of OCP: 32 values of `T` and a power of two.
pub type Mx<T> = Blocks<T, e8m0, 32>;
/// NVIDIA's fp4: 16 values of `e2m1` and an `e4m3`.
pub type Nvfp4 = Blocks<e2m1, e4m3, 16>;

/// A format whose scale factors lie in the atoms that tensor cores read: 128 lines by 4 blocks, 512 bytes.
///
/// The scale factors of an M x N output's rows are ceil(M / 128) x 512 ceil(ceil(N / block) / 4), in rows of atoms, each of which is
/// contiguous. Those that no line or block has, at the ends, are left as they are: let them be zero where a tensor core reads them.
#[derive(Clone, Copy, Debug)]
pub struct InAtoms<F>(PhantomData<F>);
impl<F: BlockFormat> BlockFormat for InAtoms<F> {
    type Element = F::Element;
    type Scale = F::Scale;
    const BLOCK: u16 = F::BLOCK;
    const ORDER: ScaleOrder = ScaleOrder::InAtoms;
}

/// How blocks lie: [`AlongRows`] or [`AlongColumns`].
pub trait BlockDirection: 'static {
    /// As a value.
    const RUN: BlockRun;
}
/// A block is of one row of D.
#[derive(Clone, Copy, Debug)]
pub struct AlongRows;
impl BlockDirection for AlongRows {
    const RUN: BlockRun = BlockRun::AlongRows;
}
/// A block is of one column of D.
#[derive(Clone, Copy, Debug)]
pub struct AlongColumns;
impl BlockDirection for AlongColumns {
    const RUN: BlockRun = BlockRun::AlongColumns;
}

/// A value divided by the scale factor of its block.
// Not `Copy` or `Clone`: it holds what a `&mut` lent.
#[derive(Debug)]
pub struct Quantized<'v, F, X, E>(E, Arg<'v>, PhantomData<(F, X)>);
impl<F: BlockFormat, X: BlockDirection, E: Fusion> Fusion for Quantized<'_, F, X, E> {
    const NODE: &'static Node = &Node::Sink(
        Sink::Quantize(BlockScales {
            element: F::Element::DTYPE,
            scale: F::Scale::DTYPE,
            block: F::BLOCK,
            run: X::RUN,
            order: F::ORDER,
        }),
        E::NODE,
    );
    type Shape = Quantized<'static, F, X, E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        args.push(self.1);
        self.0.bind(args);
    }
}
impl<Ar: Arch, F: BlockFormat, X: BlockDirection, E: NodeOn<Ar>> NodeOn<Ar> for Quantized<'_, F, X, E> {}

impl<'v, F, X, E> Quantized<'v, F, X, E> {
    pub(crate) fn of(scales: Arg<'v>, e: E) -> Self {
        Quantized(e, scales, PhantomData)
    }
}

/// Divides values by scale factors that blocks of a row share, and stores those in `scales`: what D, or a matrix beside it, then
/// rounds to the format's element.
///
/// `scales` is M x ceil(N / block), or a batch of as many as D has, of any strides; [`InAtoms`] it is larger. The last block of a row
/// may have fewer values. The scale factor is the block's largest magnitude over the element's largest finite value, rounded as
/// [`block_scale`](warpwright_numeric::block_scale) says, and values are multiplied by
/// [`block_factor`](warpwright_numeric::block_factor) of it, in f32. CUTLASS's norm constant is a factor of the value:
/// `quantize_rows::<Nvfp4, _>(&mut sf, norm * acc())`.
///
/// A tile's N is a multiple of the block, which is what `Auto` chooses.
///
/// ```
/// use warpwright_epilogue::{Mx, acc, quantize_rows, relu};
/// use warpwright_numeric::{e4m3, e8m0};
/// use warpwright_runtime::Tensor;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut scales = Tensor::<e8m0>::zeros(64, 256 / 32)?;
/// let _ = quantize_rows::<Mx<e4m3>, _>(&mut scales, relu(acc()));
/// # Ok(())
/// # }
/// ```
pub fn quantize_rows<'v, F: BlockFormat, E>(
    scales: &'v mut (impl AsViewMut<F::Scale> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Quantized<'v, F, AlongRows, E>> {
    Expr(Quantized::of(Arg::of_mut(scales), e.into_node()))
}

/// As [`quantize_rows`], of blocks of a column: `scales` is ceil(M / block) x N, and a tile's M a multiple of the block.
pub fn quantize_columns<'v, F: BlockFormat, E>(
    scales: &'v mut (impl AsViewMut<F::Scale> + ?Sized),
    e: impl IntoExpr<Node = E>,
) -> Expr<Quantized<'v, F, AlongColumns, E>> {
    Expr(Quantized::of(Arg::of_mut(scales), e.into_node()))
}

/// The softmax of a row's `K` largest values.
#[derive(Clone, Copy, Debug)]
pub struct TopKSoftmax<const K: u8, E>(E);
impl<const K: u8, E: Fusion> Fusion for TopKSoftmax<K, E> {
    const NODE: &'static Node = &Node::TopKSoftmax(K, E::NODE);
    type Shape = TopKSoftmax<K, E::Shape>;
    fn bind<'a>(self, args: &mut Args<'a>)
    where
        Self: 'a,
    {
        self.0.bind(args);
    }
}
impl<Ar: Arch, const K: u8, E: NodeOn<Ar>> NodeOn<Ar> for TopKSoftmax<K, E> {}

/// The softmax over the `K` largest values of each row of D, 2 or 4, and 0 for the others: `exp(x - max) / sum`, the sum being of these
/// `K`. Values that equal the least of them count as it does. A row with a NaN is NaN.
///
/// N is at most a tile's, 256. To 1e-6 of the result on a device.
///
/// ```
/// use warpwright_epilogue::{acc, top_k_softmax};
///
/// let _ = top_k_softmax::<2, _>(0.125 * acc());
/// ```
pub fn top_k_softmax<const K: u8, E>(e: impl IntoExpr<Node = E>) -> Expr<TopKSoftmax<K, E>> {
    Expr(TopKSoftmax(e.into_node()))
}
