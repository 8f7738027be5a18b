//! Operations whose values depend on their neighbours: outputs with block scale factors, and the softmax of the largest values.

use super::{
    LinCombEltAct, LinCombPerColBias, LinCombPerColBiasEltAct, LinCombPerRowBias, LinCombPerRowBiasEltAct,
    LinearCombination, lin_comb_elt_act, lin_comb_per_col_bias, lin_comb_per_col_bias_elt_act, lin_comb_per_row_bias,
    lin_comb_per_row_bias_elt_act, linear_combination,
};
use crate::{
    AlongColumns, AlongRows, Arg, BlockDirection, BlockFormat, EpilogueFunction, Expr, Fusion, IntoExpr, Quantized,
    Times, TopKSoftmax, top_k_softmax,
};
use core::marker::PhantomData;
use warpwright_numeric::Element;
use warpwright_runtime::{AsView, AsViewMut};

/// Where the scale factors of an output's blocks go, and the norm constant, which values are multiplied by first.
#[derive(Debug)]
pub struct BlockFactors<'v, F, X, Z>(Arg<'v>, Z, PhantomData<(F, X)>);

impl<'v, F: BlockFormat, Z> BlockFactors<'v, F, AlongRows, Z> {
    /// Of blocks of a row, as [`quantize_rows`](crate::quantize_rows) says. CUTLASS: a row-major layout of scale factors.
    pub fn of_rows(scales: &'v mut (impl AsViewMut<F::Scale> + ?Sized), norm_constant: Z) -> Self {
        BlockFactors(Arg::of_mut(scales), norm_constant, PhantomData)
    }
}
impl<'v, F: BlockFormat, Z> BlockFactors<'v, F, AlongColumns, Z> {
    /// Of blocks of a column, as [`quantize_columns`](crate::quantize_columns) says. CUTLASS: a column-major layout of scale factors.
    pub fn of_columns(scales: &'v mut (impl AsViewMut<F::Scale> + ?Sized), norm_constant: Z) -> Self {
        BlockFactors(Arg::of_mut(scales), norm_constant, PhantomData)
    }
}

/// `quantize(norm_constant * e)`, along rows or along columns
pub type BlockScaleFactor<'v, F, X, Z, E> = Quantized<'v, F, X, Times<Z, E>>;
/// `quantize(norm_constant * (alpha * acc + beta * C))`
pub type LinCombBlockScaleFactor<'v, F, X, Z, S, T, C> = BlockScaleFactor<'v, F, X, Z, LinearCombination<'v, S, T, C>>;
/// `quantize(norm_constant * f(alpha * acc + beta * C))`
pub type LinCombEltActBlockScaleFactor<'v, F, X, Z, A, S, T, C> =
    BlockScaleFactor<'v, F, X, Z, LinCombEltAct<'v, A, S, T, C>>;
/// `quantize(norm_constant * (alpha * acc + beta * C + column(bias)))`
pub type LinCombPerRowBiasBlockScaleFactor<'v, F, X, Z, S, T, C, B> =
    BlockScaleFactor<'v, F, X, Z, LinCombPerRowBias<'v, S, T, C, B>>;
/// `quantize(norm_constant * (alpha * acc + beta * C + row(bias)))`
pub type LinCombPerColBiasBlockScaleFactor<'v, F, X, Z, S, T, C, B> =
    BlockScaleFactor<'v, F, X, Z, LinCombPerColBias<'v, S, T, C, B>>;
/// `quantize(norm_constant * f(alpha * acc + beta * C + column(bias)))`
pub type LinCombPerRowBiasEltActBlockScaleFactor<'v, F, X, Z, A, S, T, C, B> =
    BlockScaleFactor<'v, F, X, Z, LinCombPerRowBiasEltAct<'v, A, S, T, C, B>>;
/// `quantize(norm_constant * f(alpha * acc + beta * C + row(bias)))`
pub type LinCombPerColBiasEltActBlockScaleFactor<'v, F, X, Z, A, S, T, C, B> =
    BlockScaleFactor<'v, F, X, Z, LinCombPerColBiasEltAct<'v, A, S, T, C, B>>;
/// `top_k_softmax<K>(alpha * acc + beta * C)`
pub type LinCombTopKSoftmaxCol<'v, const K: u8, S, T, C> = TopKSoftmax<K, LinearCombination<'v, S, T, C>>;

/// `quantize(norm_constant * e)`: what each of CUTLASS's operations with block scale factors ends in.
pub fn block_scale_factor<'v, F: BlockFormat, X: BlockDirection, Z: IntoExpr, E: Fusion>(
    factors: BlockFactors<'v, F, X, Z>,
    e: impl IntoExpr<Node = E>,
) -> Expr<BlockScaleFactor<'v, F, X, Z::Node, E>> {
    let scaled = Expr(factors.1.into_node()) * Expr(e.into_node());
    Expr(Quantized::of(factors.0, scaled.0))
}

/// `quantize(norm_constant * (alpha * acc() + beta * source(c)))`
pub fn lin_comb_block_scale_factor<'v, F, X, Z, S: Fusion, T: Fusion, C: Element>(
    factors: BlockFactors<'v, F, X, Z>,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinCombBlockScaleFactor<'v, F, X, Z::Node, S, T, C>>
where
    F: BlockFormat,
    X: BlockDirection,
    Z: IntoExpr,
{
    block_scale_factor(factors, linear_combination(alpha, beta, c))
}

/// `quantize(norm_constant * f(alpha * acc() + beta * source(c)))`
pub fn lin_comb_elt_act_block_scale_factor<'v, F, X, Z, A: EpilogueFunction, S: Fusion, T: Fusion, C: Element>(
    factors: BlockFactors<'v, F, X, Z>,
    f: A,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinCombEltActBlockScaleFactor<'v, F, X, Z::Node, A, S, T, C>>
where
    F: BlockFormat,
    X: BlockDirection,
    Z: IntoExpr,
{
    block_scale_factor(factors, lin_comb_elt_act(f, alpha, beta, c))
}

macro_rules! with_bias {
    ($($bias:literal $of:ident $plain:ident $Plain:ident $act_of:ident $act:ident $Act:ident;)+) => { $(
        #[doc = concat!("`quantize(norm_constant * (alpha * acc() + beta * source(c) + ", $bias, "(bias)))`")]
        pub fn $plain<'v, F, X, Z, S: Fusion, T: Fusion, C: Element, B: Element>(
            factors: BlockFactors<'v, F, X, Z>,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
        ) -> Expr<$Plain<'v, F, X, Z::Node, S, T, C, B>>
        where
            F: BlockFormat,
            X: BlockDirection,
            Z: IntoExpr,
        {
            block_scale_factor(factors, $of(alpha, beta, c, bias))
        }

        #[doc = concat!("`quantize(norm_constant * f(alpha * acc() + beta * source(c) + ", $bias, "(bias)))`")]
        pub fn $act<'v, F, X, Z, A: EpilogueFunction, S: Fusion, T: Fusion, C: Element, B: Element>(
            factors: BlockFactors<'v, F, X, Z>,
            f: A,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
        ) -> Expr<$Act<'v, F, X, Z::Node, A, S, T, C, B>>
        where
            F: BlockFormat,
            X: BlockDirection,
            Z: IntoExpr,
        {
            block_scale_factor(factors, $act_of(f, alpha, beta, c, bias))
        }
    )+ };
}
with_bias! {
    "column" lin_comb_per_row_bias lin_comb_per_row_bias_block_scale_factor LinCombPerRowBiasBlockScaleFactor
        lin_comb_per_row_bias_elt_act lin_comb_per_row_bias_elt_act_block_scale_factor LinCombPerRowBiasEltActBlockScaleFactor;
    "row" lin_comb_per_col_bias lin_comb_per_col_bias_block_scale_factor LinCombPerColBiasBlockScaleFactor
        lin_comb_per_col_bias_elt_act lin_comb_per_col_bias_elt_act_block_scale_factor LinCombPerColBiasEltActBlockScaleFactor;
}

/// `top_k_softmax::<K, _>(alpha * acc() + beta * source(c))`: of each row of D, whose N is at most a tile's.
pub fn lin_comb_top_k_softmax_col<'v, const K: u8, S: Fusion, T: Fusion, C: Element>(
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinCombTopKSoftmaxCol<'v, K, S, T, C>> {
    top_k_softmax(linear_combination(alpha, beta, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InAtoms, Mx, Nvfp4, Relu};
    use warpwright_numeric::{bf16, e4m3, e8m0};
    use warpwright_runtime::Tensor;

    fn shown<E: Fusion>(_: Expr<E>) -> String {
        E::NODE.to_string()
    }

    #[test]
    fn fusions_are_what_operators_say() {
        let c = Tensor::<bf16>::zeros(4, 32).unwrap();
        let (m, n) = ([0f32; 4], [0f32; 32]);
        let mut fours = Tensor::<e4m3>::zeros(4, 2).unwrap();
        let mut mx = Tensor::<e8m0>::zeros(1, 32).unwrap();
        let lin = "scalar * acc + scalar * source<bf16>";
        let rows = |e: &str| format!("quantize_rows<e2m1, e4m3, 16>(scalar * {e})");
        let columns = |e: &str| format!("quantize_columns<e4m3, e8m0, 32, atoms>(scalar * {e})");
        macro_rules! rows {
            () => {
                BlockFactors::<Nvfp4, _, _>::of_rows(&mut fours, 2)
            };
        }
        macro_rules! columns {
            () => {
                BlockFactors::<InAtoms<Mx<e4m3>>, _, _>::of_columns(&mut mx, 1)
            };
        }
        assert_eq!(shown(lin_comb_block_scale_factor(rows!(), 2, 0, &c)), rows(&format!("({lin})")));
        let e = lin_comb_elt_act_block_scale_factor(columns!(), Relu, 2, 0, &c);
        assert_eq!(shown(e), columns(&format!("relu({lin})")));
        let e = lin_comb_per_row_bias_block_scale_factor(rows!(), 2, 0, &c, &m);
        assert_eq!(shown(e), rows(&format!("({lin} + column<f32>)")));
        let e = lin_comb_per_col_bias_block_scale_factor(columns!(), 2, 0, &c, &n);
        assert_eq!(shown(e), columns(&format!("({lin} + row<f32>)")));
        let e = lin_comb_per_row_bias_elt_act_block_scale_factor(rows!(), Relu, 2, 0, &c, &m);
        assert_eq!(shown(e), rows(&format!("relu({lin} + column<f32>)")));
        let e = lin_comb_per_col_bias_elt_act_block_scale_factor(rows!(), Relu, 2, 0, &c, &n);
        assert_eq!(shown(e), rows(&format!("relu({lin} + row<f32>)")));
        assert_eq!(shown(lin_comb_top_k_softmax_col::<4, _, _, _>(2, 0, &c)), format!("top_k_softmax<4>({lin})"));
    }
}
