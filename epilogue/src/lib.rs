//! Epilogues: what becomes of a tile's accumulators on their way to D.
//!
//! An [`Expr`] is built with ordinary operators. Its type is the fusion, from which a kernel is compiled; its value holds
//! the arguments, which may change from call to call:
//!
//! ```
//! use warpwright_epilogue::{Fusion, acc, relu, row, source};
//!
//! let (bias, c) = (vec![1.0f32; 64], vec![0.5f32; 64]);
//! let e = relu(2.0 * acc() + row(&bias) + 0.5 * source(&c));
//! fn node<N: Fusion>(_: &warpwright_epilogue::Expr<N>) -> String {
//!     N::NODE.to_string()
//! }
//! assert_eq!(node(&e), "relu(scalar * acc + row<f32> + scalar * source<f32>)");
//! ```
//!
//! Everything below the types works on the [`Node`](warpwright_spec::Node) that they reify to, so a tree that was
//! [parsed](parse) from text takes the same path:
//!
//! | | |
//! | --- | --- |
//! | [`Program`] | the tree in single-assignment form: the one lowering that both twins execute |
//! | [`ParamBlock`] | the fields of the kernel's parameters, in the tree's pre-order |
//! | [`Bound`] | a program with checked arguments: packs parameters, knows what zero scalars drop |
//! | [`cuda`] | the device's text |
//! | [`host`] | the same arithmetic on the CPU, bit for bit |
//! | [`CollectiveEpilogue`] | the seam of a kernel, with its [`EpilogueContract`] |
//!
//! # The zero rule
//!
//! A scalar leaf of exactly zero, of either sign, that directly multiplies `acc()`, `source(..)` or `previous()` drops that
//! term: the product is +0, and what only dropped terms use is not read, so that its NaN does not leak and C may be absent.
//! `2.0 * (0.0 * acc())` drops it, `0.0 * (2.0 * acc())` does not.

mod args;
mod bound;
mod check;
mod choice;
mod collective;
mod convert;
pub mod cuda;
mod expr;
mod function;
pub mod functions;
pub mod fusions;
pub mod host;
mod leaf;
mod line;
mod operator;
mod params;
pub mod parse;
mod program;
mod reductions;
mod share;
mod sink;
mod tree;

pub use args::{Arg, Args};
pub use bound::{BindError, Bound, OutputShape};
pub use check::{FunctionError, check_function, check_functions, check_tree};
pub use choice::{Otherwise, Selected, column_or, identity, row_or, select, tile_or};
pub use collective::{CollectiveEpilogue, Epilogue, EpilogueContract};
pub use convert::{Convert, convert};
pub use expr::{Expr, Fusion, IntoExpr, NodeOn};
pub use function::{Apply, Apply2, Apply3, EpilogueFunction, NEG, RELU, Relu, apply, apply2, apply3, relu};
pub use functions::*;
pub use leaf::{
    Acc, Column, ColumnIndex, Constant, Mask, PerBatch, Previous, Row, RowIndex, Scalar, ScalarElement, ScalarPointer,
    Source, TileOf, acc, column, column_index, constant_of, mask, per_batch, previous, row, row_index, scalar, source,
    tile,
};
pub use line::{
    AlongColumns, AlongRows, BlockDirection, BlockElement, BlockFormat, Blocks, InAtoms, Mx, Nvfp4, Quantized,
    TopKSoftmax, quantize_columns, quantize_rows, top_k_softmax,
};
pub use operator::{
    IsEqual, IsGreater, IsGreaterOrEqual, IsLess, IsLessOrEqual, IsNotEqual, Maximum, Minimum, Minus, Negate, Over,
    Plus, Times, eq, ge, gt, le, lt, max, min, ne,
};
pub use params::{Field, FieldKind, ParamBlock, Stem};
pub use program::{Leaf, LeafKind, LineValues, Number, Op, Place, Program, SideStore, Step, Uses, Value};
pub use reductions::{PartialResults, ReductionParams, SubtileGrid};
pub use share::{Let, Var, share, share_as};
pub use sink::{
    AllColumns, AllElements, AllRows, Amax, Atomic, AuxStore, MaskStore, Max, Min, Reduce, ReduceAxes, ReduceOperator,
    Sum, SumOfSquares, amax, aux_mask, aux_store, reduce_all, reduce_columns, reduce_rows,
};
pub use tree::{ascii, svg};

// What `epilogue_fn!` expands to names these.
#[doc(hidden)]
pub use warpwright_spec::{Accuracy, Function, HostFn};
