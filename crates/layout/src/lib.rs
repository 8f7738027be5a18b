//! CuTe's layout algebra: the source of every index.
//!
//! A [`Layout`] is a nested shape and a congruent stride, the function from coordinates to offsets; a [`ComposedLayout`]
//! puts a [`Swizzle`] behind it. The algebra (composition, complement, divides, products, inverses) follows CuTe's
//! semantics and refuses what CuTe's static assertions refuse, as a [`LayoutError`] that names the mode. Values are inline
//! and `Copy`, and the operations are `const fn`s: a layout can be computed at compile time.
//!
//! ```
//! use warpwright_layout::{Layout, Tiler, int_tuple, layout};
//! const A: Layout = layout!((256, 128):(128, 1));
//! const TILED: Layout = match A.zipped_divide(&Tiler::ByMode(&[Tiler::of(16), Tiler::of(16)])) {
//!     Ok(tiled) => tiled,
//!     Err(_) => panic!("16 divides both extents"),
//! };
//! assert_eq!(TILED.to_string(), "((_16,_16),(_16,_8)):((_128,_1),(_2048,_16))");
//! ```
//!
//! # What the kernels call
//!
//! **A shared-memory tile** is an atom of [`smem`] tiled to (MN, K) or (MN, K, stages). [`lower::index_function`] turns it
//! into a device function; its arguments are the tile's modes. A bf16 tile of 128 by 64, K-major, 128-byte swizzle:
//!
//! ```
//! use warpwright_layout::lower::index_function;
//! use warpwright_layout::smem::{Major, SmemSwizzle, atom};
//! use warpwright_layout::int_tuple;
//!
//! let tile = atom(Major::K, SmemSwizzle::B128, 16)?.tile_to_shape(&int_tuple!((128, 64)), None)?;
//! let smem_a = index_function("smem_a", &tile, &["mn", "k"])?;
//! assert_eq!(
//!     smem_a.to_string(),
//!     "static __device__ __forceinline__ unsigned smem_a(unsigned mn, unsigned k) {\n    \
//!      const unsigned x = ((mn << 6) + k);\n    \
//!      return (x ^ ((x & 448u) >> 3));\n}\n"
//! );
//! // The printed expression is the one that `eval` evaluates.
//! assert_eq!(smem_a.eval(&[9, 8]), Some(tile.eval_at(&[9, 8]) as u64));
//! # Ok::<(), warpwright_layout::LayoutError>(())
//! ```
//!
//! **Who copies which chunk**: a [`TiledCopy`] gives (thread, value) → (m, k), one layout an axis.
//! [`lower::coordinate_functions`] lowers both; value 0 of a thread is the first element of its 16-byte chunk, and a
//! thread's further chunks are the tile repeated ([`TiledCopy::partition`]).
//!
//! ```
//! use warpwright_layout::atom::CopyAtom;
//! use warpwright_layout::lower::coordinate_functions;
//! use warpwright_layout::{Side, TiledCopy, layout};
//!
//! // 128 threads, eight a row, each one 16-byte chunk of eight 16-bit elements: a 16 by 64 tile a pass.
//! let copy = TiledCopy::new(CopyAtom::cp_async(16)?, 16, &layout!((16, 8):(8, 1)), &layout!((1, 8)))?;
//! let tv = copy.tv(Side::Destination)?;
//! let both = coordinate_functions(&["copy_mn", "copy_k"], &tv, &copy.tiler(), &["thread", "value"])?;
//! assert_eq!((both[0].eval(&[9, 0]), both[1].eval(&[9, 0])), (Some(1), Some(8)));
//! # Ok::<(), warpwright_layout::LayoutError>(())
//! ```
//!
//! **ldmatrix and accumulators**: a [`TiledMma`] gives (thread, value) → (m, n) of the accumulators, and
//! [`TiledCopy::for_mma`] with [`atom::CopyAtom::ldmatrix`] gives the row that each lane addresses.
//!
//! ```
//! use warpwright_layout::atom::{CopyAtom, MmaAtom};
//! use warpwright_layout::{Operand, TiledCopy, TiledMma, layout};
//!
//! // 2 by 2 warps of m16n8k16 bf16, each with two atoms along n: a 32 by 32 tile.
//! let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &layout!((2, 2, 1)))?
//!     .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))?;
//! let [m, n] = mma.tv_coordinates(Operand::C)?;
//! assert_eq!((m.eval_at(&[5, 2]), n.eval_at(&[5, 2])), (9, 2));
//! // Lane 17 of warp 0 addresses row 1, columns 8..16 of A.
//! let a = TiledCopy::for_mma(CopyAtom::ldmatrix(4, false)?, 16, &mma, Operand::A)?;
//! let [row, col] = a.src_coordinates()?;
//! assert_eq!((row.eval_at(&[17, 0]), col.eval_at(&[17, 0])), (1, 8));
//! # Ok::<(), warpwright_layout::LayoutError>(())
//! ```

pub mod atom;
pub mod bank;
mod coalesce;
mod common;
mod complement;
mod compose;
mod composed;
mod composed_inverse;
mod composed_recast;
mod coord;
mod coordinate_layout;
mod decay;
pub mod descriptor;
mod divide;
mod error;
mod fragment;
mod int;
mod inverse;
mod layout;
pub mod lower;
mod parse;
mod partition;
pub mod picture;
mod product;
mod recast;
pub mod scale_factors;
mod slice;
pub mod smem;
mod swizzle;
pub mod tensor;
mod tile;
mod tiled_copy;
mod tiled_mma;
mod tiler;
pub mod tma;
mod tuple;

pub use composed::ComposedLayout;
pub use composed_inverse::ComposedInverse;
pub use coord::{crd2idx, digits, idx2crd, index_of};
pub use coordinate_layout::CoordinateLayout;
pub use error::{LayoutError, ModePath, Wide};
pub use fragment::{Fragment, FragmentError};
pub use int::Int;
pub use layout::Layout;
pub use slice::Coord;
pub use swizzle::Swizzle;
pub use tiled_copy::{Side, TiledCopy};
pub use tiled_mma::{Operand, TiledMma};
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
