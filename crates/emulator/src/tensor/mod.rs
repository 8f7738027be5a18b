//! Tensor cores: numerics, and where fragments keep which element.

pub(crate) mod descriptor;
pub(crate) mod double;
pub(crate) mod fragment;
mod integer;
mod model;
mod operand;
pub(crate) mod tile;
mod vectors;
