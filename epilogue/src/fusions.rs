//! CUTLASS's fusion operations, under its names: types, and functions that return expressions of them.
//!
//! They run on every architecture and in batches, and are nothing but short for what operators say: each function shows its
//! expression. A *per-row* vector has a value for each row of D and is a [`column()`]; a *per-column* one is a
//! [`row`]. `alpha` and `beta` are numbers, [`scalar`](crate::scalar)s, [`per_batch`] scalars or any
//! other expression; an activation is a function's type, such as [`Relu`](crate::Relu) or [`Silu`](crate::Silu).
//!
//! ```
//! use warpwright_epilogue::{Gelu, fusions};
//!
//! let (bias, c) = (vec![0.5f32; 64], vec![1.0f32; 32 * 64]);
//! let _ = fusions::lin_comb_per_col_bias_elt_act(Gelu, 2.0, 0.5, &c[..], &bias);
//! ```

#[allow(clippy::type_complexity, reason = "a type is its expression")]
mod lines;

pub use lines::*;

use crate::{
    Acc, AllColumns, AllElements, Amax, Apply, Apply2, AuxStore, Column, EpilogueFunction, Expr, Fusion, IntoExpr, Let,
    PerBatch, Plus, Reduce, Row, ScalarElement, Source, Sum, TileOf, Times, Var, acc, amax, apply, apply2, aux_store,
    column, per_batch, reduce_columns, row, share, share_as, source, tile,
};
use warpwright_numeric::Element;
use warpwright_runtime::{AsView, AsViewMut};

/// `alpha * acc`
pub type ScaledAcc<S> = Times<S, Acc>;
/// `alpha * acc + beta * C`
pub type LinearCombination<'v, S, T, C> = Plus<ScaledAcc<S>, Times<T, Source<'v, C>>>;
/// `per_batch(alpha) * acc + per_batch(beta) * C`: coefficients of each group's own, where groups are a batch's entries
pub type LinearCombinationGroupedWgrad<'v, S, T, C> = LinearCombination<'v, PerBatch<'v, S>, PerBatch<'v, T>, C>;
/// `f(alpha * acc + beta * C)`
pub type LinCombEltAct<'v, F, S, T, C> = Apply<F, LinearCombination<'v, S, T, C>>;
/// `alpha * acc + beta * C + column(bias)`
pub type LinCombPerRowBias<'v, S, T, C, B> = Plus<LinearCombination<'v, S, T, C>, Column<'v, B>>;
/// `alpha * acc + beta * C + row(bias)`
pub type LinCombPerColBias<'v, S, T, C, B> = Plus<LinearCombination<'v, S, T, C>, Row<'v, B>>;
/// `f(alpha * acc + beta * C + column(bias))`
pub type LinCombPerRowBiasEltAct<'v, F, S, T, C, B> = Apply<F, LinCombPerRowBias<'v, S, T, C, B>>;
/// `f(alpha * acc + beta * C + row(bias))`
pub type LinCombPerColBiasEltAct<'v, F, S, T, C, B> = Apply<F, LinCombPerColBias<'v, S, T, C, B>>;
/// `z = alpha * acc + beta * C + column(bias)`, stored; `f(z)`
pub type LinCombPerRowBiasEltActAux<'v, F, S, T, C, B, X> =
    Apply<F, AuxStore<'v, X, LinCombPerRowBias<'v, S, T, C, B>>>;
/// `z = alpha * acc + beta * C + row(bias)`, stored; `f(z)`
pub type LinCombPerColBiasEltActAux<'v, F, S, T, C, B, X> =
    Apply<F, AuxStore<'v, X, LinCombPerColBias<'v, S, T, C, B>>>;
/// `f(column(alpha) * acc + column(beta) * C + column(bias))`
pub type PerRowLinCombPerRowBiasEltAct<'v, F, S, T, C, B> =
    LinCombPerRowBiasEltAct<'v, F, Column<'v, S>, Column<'v, T>, C, B>;
/// `f(row(alpha) * acc + row(beta) * C + row(bias))`
pub type PerColLinCombPerColBiasEltAct<'v, F, S, T, C, B> =
    LinCombPerColBiasEltAct<'v, F, Row<'v, S>, Row<'v, T>, C, B>;
/// `f(row(alpha) * acc + row(bias)) + row(beta) * C`: a residual block's end
pub type PerColResAddPerColBiasEltAct<'v, F, S, T, C, B> =
    Plus<Apply<F, Plus<ScaledAcc<Row<'v, S>>, Row<'v, B>>>, Times<Row<'v, T>, Source<'v, C>>>;
/// `f(sa * (sb * (alpha * acc)) + sc * (beta * C) + column(bias))`
pub type ScaledLinCombPerRowBiasEltAct<'v, F, Z, S, T, C, B> =
    Apply<F, Plus<ScaledLinComb<'v, Z, S, T, C>, Column<'v, B>>>;
/// `f(sa * (sb * (alpha * acc)) + sc * (beta * C) + row(bias))`
pub type ScaledLinCombPerColBiasEltAct<'v, F, Z, S, T, C, B> =
    Apply<F, Plus<ScaledLinComb<'v, Z, S, T, C>, Row<'v, B>>>;
/// `sa * (sb * (alpha * acc)) + sc * (beta * C)`
pub type ScaledLinComb<'v, Z, S, T, C> = Plus<Times<Z, Times<Z, ScaledAcc<S>>>, Times<Z, Times<T, Source<'v, C>>>>;
/// `f(alpha * acc + beta * C, tile(aux))`: a backward pass, whose `f` is the derivative of an activation
pub type LinCombDeEltAct<'v, F, S, T, C, X> = Apply2<F, LinearCombination<'v, S, T, C>, TileOf<'v, X>>;
/// [`LinCombDeEltAct`], and its sums over each row: the gradient of a per-row bias
pub type LinCombDeEltActDePerRowBias<'v, F, S, T, C, X, R> =
    Reduce<'v, Sum, AllColumns, R, LinCombDeEltAct<'v, F, S, T, C, X>>;
/// With `z` one of the scaled combinations with a bias: `amax(z)`, `scale_aux * z` stored, `amax(f(z))`, and `scale_d * f(z)`
pub type EltActAmaxAux<'v, F, Z, E, X, R> = Let<
    0,
    Reduce<'v, Amax, AllElements, R, E>,
    Let<1, AuxStore<'v, X, Times<Z, Var<0>>>, Times<Z, Reduce<'v, Amax, AllElements, R, Apply<F, Var<0>>>>>,
>;
/// [`EltActAmaxAux`] of a combination with a per-row bias
pub type ScaledLinCombPerRowBiasEltActAmaxAux<'v, F, Z, S, T, C, B, X, R> =
    EltActAmaxAux<'v, F, Z, Plus<ScaledLinComb<'v, Z, S, T, C>, Column<'v, B>>, X, R>;
/// [`EltActAmaxAux`] of a combination with a per-column bias
pub type ScaledLinCombPerColBiasEltActAmaxAux<'v, F, Z, S, T, C, B, X, R> =
    EltActAmaxAux<'v, F, Z, Plus<ScaledLinComb<'v, Z, S, T, C>, Row<'v, B>>, X, R>;

/// The factors of narrow operands: what one of their elements is worth.
#[derive(Clone, Copy, Debug)]
pub struct OperandScales<Z> {
    /// Of A.
    pub a: Z,
    /// Of B.
    pub b: Z,
    /// Of C.
    pub c: Z,
}

/// `alpha * acc()`
pub fn scaled_acc<S: Fusion>(alpha: impl IntoExpr<Node = S>) -> Expr<ScaledAcc<S>> {
    Expr(alpha.into_node()) * acc()
}

/// `alpha * acc() + beta * source(c)`
pub fn linear_combination<'v, S: Fusion, T: Fusion, C: Element>(
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinearCombination<'v, S, T, C>> {
    scaled_acc(alpha) + Expr(beta.into_node()) * source(c)
}

/// `per_batch(alpha) * acc() + per_batch(beta) * source(c)`, `alpha` and `beta` having a value for each entry of the batch. What CUTLASS's
/// operation does beside this, several groups in one tile, is a convolution's.
pub fn linear_combination_grouped_wgrad<'v, S: ScalarElement, T: ScalarElement, C: Element>(
    alpha: &'v (impl AsView<S> + ?Sized),
    beta: &'v (impl AsView<T> + ?Sized),
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinearCombinationGroupedWgrad<'v, S, T, C>> {
    linear_combination(per_batch(alpha), per_batch(beta), c)
}

/// `f(alpha * acc() + beta * source(c))`
pub fn lin_comb_elt_act<'v, F: EpilogueFunction, S: Fusion, T: Fusion, C: Element>(
    f: F,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<LinCombEltAct<'v, F, S, T, C>> {
    apply(f, linear_combination(alpha, beta, c))
}

macro_rules! with_bias {
    ($($bias:literal $leaf:ident $plain:ident $Plain:ident $act:ident $Act:ident $aux:ident $Aux:ident $scaled:ident $Scaled:ident $amax:ident $AmaxAux:ident;)+) => { $(
        #[doc = concat!("`alpha * acc() + beta * source(c) + ", $bias, "(bias)`")]
        pub fn $plain<'v, S: Fusion, T: Fusion, C: Element, B: Element>(
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
        ) -> Expr<$Plain<'v, S, T, C, B>> {
            linear_combination(alpha, beta, c) + $leaf(bias)
        }

        #[doc = concat!("`f(alpha * acc() + beta * source(c) + ", $bias, "(bias))`")]
        pub fn $act<'v, F: EpilogueFunction, S: Fusion, T: Fusion, C: Element, B: Element>(
            f: F,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
        ) -> Expr<$Act<'v, F, S, T, C, B>> {
            apply(f, $plain(alpha, beta, c, bias))
        }

        #[doc = concat!("`f(aux_store(aux, alpha * acc() + beta * source(c) + ", $bias, "(bias)))`")]
        pub fn $aux<'v, F: EpilogueFunction, S: Fusion, T: Fusion, C: Element, B: Element, X: Element>(
            f: F,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
            aux: &'v mut (impl AsViewMut<X> + ?Sized),
        ) -> Expr<$Aux<'v, F, S, T, C, B, X>> {
            apply(f, aux_store(aux, $plain(alpha, beta, c, bias)))
        }

        #[doc = concat!("`f(sa * (sb * (alpha * acc())) + sc * (beta * source(c)) + ", $bias, "(bias))`. Where D is fp8, multiply by its scale.")]
        pub fn $scaled<'v, F: EpilogueFunction, Z: IntoExpr, S: Fusion, T: Fusion, C: Element, B: Element>(
            f: F,
            scales: OperandScales<Z>,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
        ) -> Expr<$Scaled<'v, F, Z::Node, S, T, C, B>> {
            apply(f, scaled_lin_comb(scales, alpha, beta, c) + $leaf(bias))
        }

        #[doc = concat!("Of `z = sa * (sb * (alpha * acc())) + sc * (beta * source(c)) + ", $bias, "(bias)`: its largest magnitude, `scale_aux * z` in `aux`, the largest magnitude of `f(z)`, and `scale_d * f(z)`.")]
        #[allow(clippy::too_many_arguments, reason = "they are CUTLASS's")]
        pub fn $amax<'v, F, Z, S, T, C, B, X, R>(
            f: F,
            scales: OperandScales<Z>,
            alpha: impl IntoExpr<Node = S>,
            beta: impl IntoExpr<Node = T>,
            c: &'v (impl AsView<C> + ?Sized),
            bias: &'v (impl AsView<B> + ?Sized),
            side: SideOutputs<'v, Z, impl AsViewMut<X> + ?Sized, impl AsViewMut<R> + ?Sized>,
        ) -> Expr<$AmaxAux<'v, F, Z::Node, S, T, C, B, X, R>>
        where
            F: EpilogueFunction,
            Z: IntoExpr,
            S: Fusion,
            T: Fusion,
            C: Element,
            B: Element,
            X: Element,
            R: ScalarElement,
        {
            let SideOutputs { aux, scale_aux, amax_aux, amax_d, scale_d } = side;
            let z = scaled_lin_comb(scales, alpha, beta, c) + $leaf(bias);
            share(amax(amax_aux, z), |z| {
                let stored = aux_store(aux, Expr(scale_aux.into_node()) * z);
                share_as::<1, _, _>(stored, |_| Expr(scale_d.into_node()) * amax(amax_d, apply(f, z)))
            })
        }
    )+ };
}
with_bias! {
    "column" column lin_comb_per_row_bias LinCombPerRowBias
        lin_comb_per_row_bias_elt_act LinCombPerRowBiasEltAct
        lin_comb_per_row_bias_elt_act_aux LinCombPerRowBiasEltActAux
        scaled_lin_comb_per_row_bias_elt_act ScaledLinCombPerRowBiasEltAct
        scaled_lin_comb_per_row_bias_elt_act_amax_aux ScaledLinCombPerRowBiasEltActAmaxAux;
    "row" row lin_comb_per_col_bias LinCombPerColBias
        lin_comb_per_col_bias_elt_act LinCombPerColBiasEltAct
        lin_comb_per_col_bias_elt_act_aux LinCombPerColBiasEltActAux
        scaled_lin_comb_per_col_bias_elt_act ScaledLinCombPerColBiasEltAct
        scaled_lin_comb_per_col_bias_elt_act_amax_aux ScaledLinCombPerColBiasEltActAmaxAux;
}

/// What a fusion with amax and aux writes beside D, and the scales of what it stores.
#[derive(Debug)]
pub struct SideOutputs<'v, Z, A: ?Sized, M: ?Sized> {
    /// Where `scale_aux * z` goes, M x N.
    pub aux: &'v mut A,
    /// What `z` is multiplied by before it is stored.
    pub scale_aux: Z,
    /// Where the largest magnitude of `z` goes.
    pub amax_aux: &'v mut M,
    /// Where the largest magnitude of the activation's values goes.
    pub amax_d: &'v mut M,
    /// What those are multiplied by before they are stored in D.
    pub scale_d: Z,
}

/// `sa * (sb * (alpha * acc())) + sc * (beta * source(c))`
pub fn scaled_lin_comb<'v, Z: IntoExpr, S: Fusion, T: Fusion, C: Element>(
    scales: OperandScales<Z>,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
) -> Expr<ScaledLinComb<'v, Z::Node, S, T, C>> {
    let [sa, sb, sc] = [scales.a, scales.b, scales.c].map(|z| Expr(z.into_node()));
    sa * (sb * scaled_acc(alpha)) + sc * (Expr(beta.into_node()) * source(c))
}

/// `f(column(alpha) * acc() + column(beta) * source(c) + column(bias))`
pub fn per_row_lin_comb_per_row_bias_elt_act<
    'v,
    F: EpilogueFunction,
    S: Element,
    T: Element,
    C: Element,
    B: Element,
>(
    f: F,
    alpha: &'v (impl AsView<S> + ?Sized),
    beta: &'v (impl AsView<T> + ?Sized),
    c: &'v (impl AsView<C> + ?Sized),
    bias: &'v (impl AsView<B> + ?Sized),
) -> Expr<PerRowLinCombPerRowBiasEltAct<'v, F, S, T, C, B>> {
    lin_comb_per_row_bias_elt_act(f, column(alpha), column(beta), c, bias)
}

/// `f(row(alpha) * acc() + row(beta) * source(c) + row(bias))`
pub fn per_col_lin_comb_per_col_bias_elt_act<
    'v,
    F: EpilogueFunction,
    S: Element,
    T: Element,
    C: Element,
    B: Element,
>(
    f: F,
    alpha: &'v (impl AsView<S> + ?Sized),
    beta: &'v (impl AsView<T> + ?Sized),
    c: &'v (impl AsView<C> + ?Sized),
    bias: &'v (impl AsView<B> + ?Sized),
) -> Expr<PerColLinCombPerColBiasEltAct<'v, F, S, T, C, B>> {
    lin_comb_per_col_bias_elt_act(f, row(alpha), row(beta), c, bias)
}

/// `f(row(alpha) * acc() + row(bias)) + row(beta) * source(c)`: the end of a residual block.
pub fn per_col_res_add_per_col_bias_elt_act<'v, F: EpilogueFunction, S: Element, T: Element, C: Element, B: Element>(
    f: F,
    alpha: &'v (impl AsView<S> + ?Sized),
    beta: &'v (impl AsView<T> + ?Sized),
    c: &'v (impl AsView<C> + ?Sized),
    bias: &'v (impl AsView<B> + ?Sized),
) -> Expr<PerColResAddPerColBiasEltAct<'v, F, S, T, C, B>> {
    apply(f, scaled_acc(row(alpha)) + row(bias)) + row(beta) * source(c)
}

/// `f(alpha * acc() + beta * source(c), tile(aux))`: `f` is an activation's derivative, such as [`DGelu`](crate::DGelu), and `aux` what the
/// forward pass applied it to. With bits instead, write `select(mask(&bits), linear_combination(..), constant!(0.0))`.
pub fn lin_comb_de_elt_act<'v, F: EpilogueFunction, S: Fusion, T: Fusion, C: Element, X: Element>(
    f: F,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
    aux: &'v (impl AsView<X> + ?Sized),
) -> Expr<LinCombDeEltAct<'v, F, S, T, C, X>> {
    apply2(f, linear_combination(alpha, beta, c), tile(aux))
}

/// [`lin_comb_de_elt_act`], whose sums along N go to `d_bias`, one for each row of D.
pub fn lin_comb_de_elt_act_de_per_row_bias<'v, F, S, T, C, X, R>(
    f: F,
    alpha: impl IntoExpr<Node = S>,
    beta: impl IntoExpr<Node = T>,
    c: &'v (impl AsView<C> + ?Sized),
    aux: &'v (impl AsView<X> + ?Sized),
    d_bias: &'v mut (impl AsViewMut<R> + ?Sized),
) -> Expr<LinCombDeEltActDePerRowBias<'v, F, S, T, C, X, R>>
where
    F: EpilogueFunction,
    S: Fusion,
    T: Fusion,
    C: Element,
    X: Element,
    R: ScalarElement,
{
    reduce_columns::<Sum, R, _>(d_bias, lin_comb_de_elt_act(f, alpha, beta, c, aux))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DSilu, Relu, Silu};
    use warpwright_numeric::bf16;
    use warpwright_runtime::Tensor;

    fn shown<E: Fusion>(_: Expr<E>) -> String {
        E::NODE.to_string().replace("shared0", "z")
    }

    // A tree that displays alike is the same kernel.
    #[test]
    fn fusions_are_what_operators_say() {
        let c = Tensor::<bf16>::zeros(4, 8).unwrap();
        let (m, n) = ([0f32; 4], [bf16::ZERO; 8]);
        let mut aux = Tensor::<bf16>::zeros(4, 8).unwrap();
        let (mut amax_aux, mut amax_d, mut d_bias) = ([0f32; 1], [0f32; 1], [0f32; 4]);
        let lin = "scalar * acc + scalar * source<bf16>";
        assert_eq!(shown(scaled_acc(2)), "scalar * acc");
        assert_eq!(shown(linear_combination(2, 0.5, &c)), lin);
        let grouped = linear_combination_grouped_wgrad(&m, &m, &c);
        assert_eq!(shown(grouped), "scalar<per batch> * acc + scalar<per batch> * source<bf16>");
        assert_eq!(shown(lin_comb_elt_act(Relu, 2, 0.5, &c)), format!("relu({lin})"));
        assert_eq!(shown(lin_comb_per_row_bias(2, 0.5, &c, &m)), format!("{lin} + column<f32>"));
        assert_eq!(shown(lin_comb_per_col_bias(2, 0.5, &c, &n)), format!("{lin} + row<bf16>"));
        assert_eq!(shown(lin_comb_per_row_bias_elt_act(Silu, 2, 0.5, &c, &m)), format!("silu({lin} + column<f32>)"));
        assert_eq!(shown(lin_comb_per_col_bias_elt_act(Silu, 2, 0.5, &c, &n)), format!("silu({lin} + row<bf16>)"));
        let e = lin_comb_per_row_bias_elt_act_aux(Relu, 2, 0.5, &c, &m, &mut aux);
        assert_eq!(shown(e), format!("relu(aux_store<bf16>({lin} + column<f32>))"));
        let e = lin_comb_per_col_bias_elt_act_aux(Relu, 2, 0.5, &c, &n, &mut aux);
        assert_eq!(shown(e), format!("relu(aux_store<bf16>({lin} + row<bf16>))"));
        let e = per_row_lin_comb_per_row_bias_elt_act(Relu, &m, &m, &c, &m);
        assert_eq!(shown(e), "relu(column<f32> * acc + column<f32> * source<bf16> + column<f32>)");
        let e = per_col_lin_comb_per_col_bias_elt_act(Relu, &n, &n, &c, &n);
        assert_eq!(shown(e), "relu(row<bf16> * acc + row<bf16> * source<bf16> + row<bf16>)");
        let e = per_col_res_add_per_col_bias_elt_act(Relu, &n, &n, &c, &n);
        assert_eq!(shown(e), "relu(row<bf16> * acc + row<bf16>) + row<bf16> * source<bf16>");
        let scales = OperandScales { a: 1, b: 2, c: 3 };
        let scaled = "scalar * (scalar * (scalar * acc)) + scalar * (scalar * source<bf16>)";
        assert_eq!(shown(scaled_lin_comb(scales, 2, 0.5, &c)), scaled);
        let e = scaled_lin_comb_per_row_bias_elt_act(Relu, scales, 2, 0.5, &c, &m);
        assert_eq!(shown(e), format!("relu({scaled} + column<f32>)"));
        let e = scaled_lin_comb_per_col_bias_elt_act(Relu, scales, 2, 0.5, &c, &n);
        assert_eq!(shown(e), format!("relu({scaled} + row<bf16>)"));
        let side =
            SideOutputs { aux: &mut aux, scale_aux: 2, amax_aux: &mut amax_aux, amax_d: &mut amax_d, scale_d: 4 };
        let e = scaled_lin_comb_per_row_bias_elt_act_amax_aux(Relu, scales, 2, 0.5, &c, &m, side);
        let amaxes = |bias| {
            format!(
                "let z = amax({scaled} + {bias}); let shared1 = aux_store<bf16>(scalar * z); scalar * amax(relu(z))"
            )
        };
        assert_eq!(shown(e), amaxes("column<f32>"));
        let side =
            SideOutputs { aux: &mut aux, scale_aux: 2, amax_aux: &mut amax_aux, amax_d: &mut amax_d, scale_d: 4 };
        let e = scaled_lin_comb_per_col_bias_elt_act_amax_aux(Relu, scales, 2, 0.5, &c, &n, side);
        assert_eq!(shown(e), amaxes("row<bf16>"));
        assert_eq!(shown(lin_comb_de_elt_act(DSilu, 2, 0.5, &c, &c)), format!("d_silu({lin}, tile<bf16>)"));
        let e = lin_comb_de_elt_act_de_per_row_bias(DSilu, 2, 0.5, &c, &c, &mut d_bias);
        assert_eq!(shown(e), format!("reduce_columns<sum>(d_silu({lin}, tile<bf16>))"));
    }
}
