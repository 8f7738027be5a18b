//! CUTLASS's operations are the trees that `cases/fusions.json` has values of, whose rows the tests of sinks run.

use std::collections::BTreeMap;
use warpwright::epilogue::parse::{NameKind, expression};
use warpwright::fusions::*;
use warpwright::prelude::*;
use warpwright::{DRelu, Fusion, Node};
use warpwright_tests::sinks::{NAMES, rows};

fn node<E: Fusion>(_: Expr<E>) -> &'static Node {
    E::NODE
}

#[test]
fn operations_are_the_trees_of_their_rows() {
    let src = Tensor::<bf16>::zeros(4, 8).unwrap();
    let t = Tensor::<f32>::zeros(4, 8).unwrap();
    let mut z = Tensor::<bf16>::zeros(4, 8).unwrap();
    let mut f32s = Tensor::<f32>::zeros(4, 1).unwrap();
    let mut e8m0s = Tensor::<e8m0>::zeros(1, 512).unwrap();
    let (col, bias, per) = ([0f32; 4], [0f32; 8], [1f32]);
    let (mut s, mut q, mut c) = ([0f32; 1], [0f32; 1], [0f32; 4]);
    let scales = OperandScales { a: 2, b: 2, c: 2 };
    macro_rules! side {
        () => {
            SideOutputs { aux: &mut z, scale_aux: 2, amax_aux: &mut s, amax_d: &mut q, scale_d: 4 }
        };
    }
    macro_rules! in_rows {
        () => {
            BlockFactors::<Blocks<e4m3, f32, 128>, _, _>::of_rows(&mut f32s, 2)
        };
    }
    macro_rules! in_columns {
        () => {
            BlockFactors::<InAtoms<Mx<e5m2>>, _, _>::of_columns(&mut e8m0s, 2)
        };
    }
    let typed = [
        ("ScaledAcc", node(scaled_acc(2))),
        ("LinearCombination", node(linear_combination(2, 0.5, &src))),
        ("LinCombEltAct", node(lin_comb_elt_act(Relu, 2, 0.5, &src))),
        ("LinCombTopKSoftmaxCol<2>", node(lin_comb_top_k_softmax_col::<2, _, _, _>(2, 0.5, &src))),
        ("LinCombTopKSoftmaxCol<4>", node(lin_comb_top_k_softmax_col::<4, _, _, _>(2, 0.5, &src))),
        ("LinearCombinationGroupedWgrad", node(linear_combination_grouped_wgrad(&per, &per, &src))),
        ("LinCombPerRowBias", node(lin_comb_per_row_bias(2, 0.5, &src, &col))),
        ("LinCombPerColBias", node(lin_comb_per_col_bias(2, 0.5, &src, &bias))),
        ("LinCombPerRowBiasEltAct", node(lin_comb_per_row_bias_elt_act(Relu, 2, 0.5, &src, &col))),
        ("LinCombPerColBiasEltAct", node(lin_comb_per_col_bias_elt_act(Relu, 2, 0.5, &src, &bias))),
        ("LinCombPerRowBiasEltActAux", node(lin_comb_per_row_bias_elt_act_aux(Relu, 2, 0.5, &src, &col, &mut z))),
        ("LinCombPerColBiasEltActAux", node(lin_comb_per_col_bias_elt_act_aux(Relu, 2, 0.5, &src, &bias, &mut z))),
        ("PerRowLinCombPerRowBiasEltAct", node(per_row_lin_comb_per_row_bias_elt_act(Relu, &col, &col, &src, &col))),
        ("PerColLinCombPerColBiasEltAct", node(per_col_lin_comb_per_col_bias_elt_act(Relu, &bias, &bias, &src, &bias))),
        ("PerColResAddPerColBiasEltAct", node(per_col_res_add_per_col_bias_elt_act(Relu, &bias, &bias, &src, &bias))),
        ("ScaledLinCombPerRowBiasEltAct", node(scaled_lin_comb_per_row_bias_elt_act(Relu, scales, 2, 2, &src, &col))),
        ("ScaledLinCombPerColBiasEltAct", node(scaled_lin_comb_per_col_bias_elt_act(Relu, scales, 2, 2, &src, &bias))),
        (
            "ScaledLinCombPerRowBiasEltActAmaxAux",
            node(scaled_lin_comb_per_row_bias_elt_act_amax_aux(Relu, scales, 2, 2, &src, &col, side!())),
        ),
        (
            "ScaledLinCombPerColBiasEltActAmaxAux",
            node(scaled_lin_comb_per_col_bias_elt_act_amax_aux(Relu, scales, 2, 2, &src, &bias, side!())),
        ),
        ("LinCombDeEltAct", node(lin_comb_de_elt_act(DRelu, 2, 0.5, &src, &t))),
        ("LinCombDeEltActDePerRowBias", node(lin_comb_de_elt_act_de_per_row_bias(DRelu, 2, 0.5, &src, &t, &mut c))),
        ("LinCombBlockScaleFactor", node(lin_comb_block_scale_factor(in_rows!(), 2, 0.5, &src))),
        ("LinCombEltActBlockScaleFactor", node(lin_comb_elt_act_block_scale_factor(in_columns!(), Relu, 2, 0.5, &src))),
        (
            "LinCombPerRowBiasBlockScaleFactor",
            node(lin_comb_per_row_bias_block_scale_factor(in_columns!(), 2, 0.5, &src, &col)),
        ),
        (
            "LinCombPerColBiasBlockScaleFactor",
            node(lin_comb_per_col_bias_block_scale_factor(in_rows!(), 2, 0.5, &src, &bias)),
        ),
        (
            "LinCombPerRowBiasEltActBlockScaleFactor",
            node(lin_comb_per_row_bias_elt_act_block_scale_factor(in_rows!(), Relu, 2, 0.5, &src, &col)),
        ),
        (
            "LinCombPerColBiasEltActBlockScaleFactor",
            node(lin_comb_per_col_bias_elt_act_block_scale_factor(in_columns!(), Relu, 2, 0.5, &src, &bias)),
        ),
    ];
    let mut names: BTreeMap<String, NameKind> = NAMES.map(|(name, kind)| (name.to_owned(), kind)).into();
    names.extend(["s", "q", "c"].map(|name| (name.to_owned(), NameKind::Output(Dtype::F32))));
    names.extend([("z".to_owned(), NameKind::Output(Dtype::Bf16)), ("f".to_owned(), NameKind::Output(Dtype::F32))]);
    let listed = rows().unwrap();
    for (name, node) in typed {
        let of_name = |arch| listed.iter().find(|row| row.name == format!("{name}_{arch}"));
        for arch in ["sm80", "sm90"] {
            let row = of_name(arch).unwrap_or_else(|| panic!("{name} has no row of {arch}"));
            assert_eq!(expression(&row.epilogue, &names).unwrap().node, node, "{name}: {node}");
        }
    }
}
