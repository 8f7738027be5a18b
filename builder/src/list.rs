//! Lists of kernels, for tuners.

use warpwright_kernels::GemmKernel;
use warpwright_spec::Spec;

/// A list of kernel types as a list of values: a tuple of up to eight.
///
/// Lists of values are data; see [`candidates`](warpwright_spec::candidates).
pub trait Kernels {
    /// What the types reify to, in order. An illegal one is a compile error.
    fn specs() -> Vec<Spec>;
}

macro_rules! tuples {
    ($($($k:ident)+;)+) => { $(
        impl<$($k: GemmKernel),+> Kernels for ($($k,)+) {
            fn specs() -> Vec<Spec> {
                vec![$({ const { $k::LEGAL }; $k::SPEC }),+]
            }
        }
    )+ };
}
tuples! {
    K0;
    K0 K1;
    K0 K1 K2;
    K0 K1 K2 K3;
    K0 K1 K2 K3 K4;
    K0 K1 K2 K3 K4 K5;
    K0 K1 K2 K3 K4 K5 K6;
    K0 K1 K2 K3 K4 K5 K6 K7;
}
