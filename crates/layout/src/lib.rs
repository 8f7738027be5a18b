//! CuTe's layout algebra.

mod coalesce;
mod complement;
mod compose;
mod divide;
mod error;
mod int;
mod inverse;
mod layout;
mod parse;
mod product;
mod tile;
mod tiler;
mod tuple;

pub use error::{LayoutError, ModePath};
pub use int::Int;
pub use layout::Layout;
pub use tiler::Tiler;
pub(crate) use tuple::Cursor;
pub use tuple::IntTuple;

/// `?` for `const fn`.
macro_rules! tri {
    ($e:expr) => {
        match $e {
            Ok(v) => v,
            Err(e) => return Err(e),
        }
    };
}
pub(crate) use tri;
