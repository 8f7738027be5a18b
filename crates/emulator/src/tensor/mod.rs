//! Tensor cores: numerics, and where fragments keep which element.

pub(crate) mod descriptor;
pub(crate) mod fragment;
pub(crate) mod model;
pub(crate) mod operand;
mod vectors;

use vectors::vectors;
