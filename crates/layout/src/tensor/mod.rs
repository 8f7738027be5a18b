//! Tensors: an engine that holds elements, and a layout that says which is where. Nothing is copied by making one.
//!
//! ```
//! use warpwright_layout::tensor::{Tensor, gmem};
//! use warpwright_layout::{Coord, Tiler, layout};
//!
//! let data: Vec<f32> = (0..32).map(|i| i as f32).collect();
//! // A row-major 4 by 8 matrix, its tile (1, 1) of 2 by 4, and row 1 of that.
//! let matrix = Tensor::new(gmem(&data[..]), layout!((4, 8):(8, 1)))?;
//! let tile = matrix.local_tile(&Tiler::ByMode(&[Tiler::of(2), Tiler::of(4)]), &Coord::ByMode(&[Coord::At(1); 2]))?;
//! assert_eq!(tile.to_string(), "gmem_ptr[32b](+20) o (_2,_4):(_8,_1)");
//! assert_eq!(tile.get(&[1, 2]), Some(30.0));
//! let row = tile.slice(&Coord::ByMode(&[Coord::At(1), Coord::All]))?;
//! assert_eq!(row.iter().collect::<Vec<_>>(), [28.0, 29.0, 30.0, 31.0]);
//! # Ok::<(), warpwright_layout::tensor::TensorError>(())
//! ```

mod algorithm;
mod engine;
mod tiled;

use core::fmt;

use generic_array::ArrayLength;

pub use algorithm::{axpby, clear, copy, copy_if, fill, gemm};
pub use engine::{Engine, MemorySpace, Pointer, Read, Tagged, Write, gmem, rmem, smem, tmem};

use crate::{ComposedLayout, Coord, Fragment, Int, Layout, LayoutError, Tiler};

/// Elements and the layout by which they are addressed: CuTe's `Tensor`.
///
/// Operations take the tensor by value; [`as_ref`](Self::as_ref) and [`as_mut`](Self::as_mut) lend one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tensor<E> {
    engine: E,
    layout: ComposedLayout,
}

/// A tensor that is not, or tensors that do not go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TensorError {
    /// The algebra refuses.
    Layout(LayoutError),
    /// An offset beyond the elements.
    Bounds {
        /// The offset.
        offset: i64,
        /// The number of elements.
        len: usize,
    },
    /// Tensors of different sizes.
    Sizes {
        /// The operation.
        operation: &'static str,
        /// Elements of the one.
        left: i64,
        /// Elements of the other.
        right: i64,
    },
    /// A tensor of a shape that the operation has no use for.
    ShapeMismatch {
        /// The operation.
        operation: &'static str,
        /// What it needs.
        needed: &'static str,
    },
    /// Fewer fragments than threads.
    Threads {
        /// The thread without a fragment.
        thread: i64,
        /// Fragments given.
        given: usize,
    },
}

impl From<LayoutError> for TensorError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(error) => error.fmt(f),
            Self::Bounds { offset, len } => {
                write!(
                    f,
                    "the tensor reaches offset {offset}, but has {len} elements: give more, or predicate the access"
                )
            }
            Self::Sizes { operation, left, right } => {
                write!(f, "{operation}: tensors of {left} and {right} elements: they must have equally many")
            }
            Self::ShapeMismatch { operation, needed } => write!(f, "{operation} needs {needed}"),
            Self::Threads { thread, given } => {
                write!(f, "thread {thread} takes part, but {given} fragments are given: give one for each thread")
            }
        }
    }
}

impl core::error::Error for TensorError {}

/// Elements up to which an offset's range is found by looking at each.
const EXHAUSTIVE: i64 = 1 << 20;

/// The least and the largest offset.
fn reach(c: &ComposedLayout) -> (i64, i64) {
    let (mut least, mut most) = (c.offset.value(), c.offset.value());
    for (s, d) in c.layout.shape().iter().zip(c.layout.stride().iter()) {
        let step = (s.value() - 1).saturating_mul(d.value());
        if step < 0 {
            least = least.saturating_add(step);
        } else {
            most = most.saturating_add(step);
        }
    }
    if c.swizzle.is_identity() {
        return (least, most);
    }
    let size = c.size().value();
    if size <= EXHAUSTIVE {
        let offsets = || (0..size).map(|i| c.eval(i));
        return (offsets().min().unwrap_or(0), offsets().max().unwrap_or(0));
    }
    // A swizzle stays within its block.
    let block = 1i64 << (c.swizzle.bits + c.swizzle.base + c.swizzle.shift.abs());
    (least & -block, most | (block - 1))
}

impl<E: Engine> Tensor<E> {
    /// The tensor of `engine`'s elements as `layout` addresses them.
    ///
    /// # Errors
    /// [`TensorError::Bounds`] when the layout reaches beyond the elements; [`LayoutError::Overflow`] for an offset in front of
    /// it beyond [`Layout::LIMIT`].
    pub fn new(engine: E, layout: impl Into<ComposedLayout>) -> Result<Self, TensorError> {
        let layout = layout.into();
        layout.check()?;
        let (least, most) = reach(&layout);
        let len = engine.len();
        for offset in [least, most] {
            if usize::try_from(offset).map_or(true, |at| at >= len) {
                return Err(TensorError::Bounds { offset, len });
            }
        }
        Ok(Self { engine, layout })
    }

    /// The layout.
    pub const fn layout(&self) -> &ComposedLayout {
        &self.layout
    }

    /// The elements.
    pub const fn engine(&self) -> &E {
        &self.engine
    }

    /// The elements, without the layout.
    pub fn into_engine(self) -> E {
        self.engine
    }

    /// The number of coordinates.
    pub const fn size(&self) -> i64 {
        self.layout.size().value()
    }

    /// The number of modes.
    pub const fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The memory space.
    pub fn space(&self) -> MemorySpace {
        self.engine.space()
    }

    /// The same elements, lent.
    pub const fn as_ref(&self) -> Tensor<&E> {
        Tensor { engine: &self.engine, layout: self.layout }
    }

    /// The same elements, lent to be written.
    pub const fn as_mut(&mut self) -> Tensor<&mut E> {
        Tensor { engine: &mut self.engine, layout: self.layout }
    }

    /// The tensor with another layout over the same elements: what an operation of the algebra makes of this one's. A
    /// divide by what does not divide may give coordinates without an element; reading those is refused.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn map(
        self,
        f: impl FnOnce(&ComposedLayout) -> Result<ComposedLayout, LayoutError>,
    ) -> Result<Self, TensorError> {
        Ok(Self { layout: f(&self.layout)?, engine: self.engine })
    }

    /// The part of the tensor that an operation cuts out of its layout at an offset, as
    /// [`TiledCopy::partition`](crate::TiledCopy::partition) and [`TiledMma::partition`](crate::TiledMma::partition) do.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn part(self, f: impl FnOnce(&Layout) -> Result<(Layout, i64), LayoutError>) -> Result<Self, TensorError> {
        let (layout, offset) = f(&self.layout.layout)?;
        let offset = self.layout.offset_moved(Int::Static(offset))?;
        Ok(Self { layout: ComposedLayout { swizzle: self.layout.swizzle, offset, layout }, engine: self.engine })
    }

    /// As [`part`](Self::part) by an operation that knows the swizzle, as
    /// [`TiledCopy::partition_swizzled`](crate::TiledCopy::partition_swizzled) and
    /// [`TiledMma::partition_swizzled`](crate::TiledMma::partition_swizzled) do: the part has none where the swizzle has nothing
    /// left to do.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn part_swizzled(
        self,
        f: impl FnOnce(&ComposedLayout) -> Result<(ComposedLayout, i64), LayoutError>,
    ) -> Result<Self, TensorError> {
        self.map(|layout| {
            let (part, offset) = f(layout)?;
            part.joined(offset)
        })
    }

    /// The modes that `coord` keeps.
    ///
    /// # Errors
    /// As [`Layout::slice`].
    pub fn slice(self, coord: &Coord<'_>) -> Result<Self, TensorError> {
        self.map(|layout| layout.slice(coord))
    }

    /// The tile at a tile coordinate.
    ///
    /// # Errors
    /// As [`ComposedLayout::local_tile`].
    pub fn local_tile(self, tiler: &Tiler<'_>, coord: &Coord<'_>) -> Result<Self, TensorError> {
        self.part_swizzled(|layout| layout.local_tile(tiler, coord))
    }

    /// What `thread` owns when `threads` take elements in turn.
    ///
    /// # Errors
    /// As [`ComposedLayout::local_partition`].
    pub fn local_partition(self, threads: &Layout, thread: i64) -> Result<Self, TensorError> {
        self.part_swizzled(|layout| layout.local_partition(threads, thread))
    }

    /// `((tile modes),rest modes…)`.
    ///
    /// # Errors
    /// As [`Layout::tiled_divide`].
    pub fn tiled_divide(self, tiler: &Tiler<'_>) -> Result<Self, TensorError> {
        self.map(|layout| layout.tiled_divide(tiler))
    }

    /// `((tile modes),(rest modes))`.
    ///
    /// # Errors
    /// As [`Layout::zipped_divide`].
    pub fn zipped_divide(self, tiler: &Tiler<'_>) -> Result<Self, TensorError> {
        self.map(|layout| layout.zipped_divide(tiler))
    }

    fn at(&self, offset: i64) -> Result<usize, TensorError> {
        let len = self.engine.len();
        usize::try_from(offset).ok().filter(|at| *at < len).ok_or(TensorError::Bounds { offset, len })
    }
}

impl<T: Copy + Default, N: ArrayLength> Tensor<Fragment<T, N>> {
    /// Registers for a part with layout `part`, zeroed: CuTe's `make_fragment_like`.
    ///
    /// # Errors
    /// [`TensorError::Sizes`] when the part does not have `N` elements, and those of [`Layout::fragment_like`].
    pub fn fragment_like(part: &Layout) -> Result<Self, TensorError> {
        let layout = part.fragment_like()?;
        let left = layout.cosize().value();
        if left != N::I64 {
            return Err(TensorError::Sizes { operation: "a part and its fragment", left, right: N::I64 });
        }
        Self::new(Fragment::generate(|_| T::default()), layout)
    }
}

impl<E: Read> Tensor<E> {
    /// The element at a coordinate, one integer a mode; `None` where there is none.
    pub fn get(&self, coord: &[i64]) -> Option<E::Element> {
        self.engine.read(usize::try_from(self.layout.try_eval_at(coord).ok()?).ok()?)
    }

    /// The element at a linear coordinate.
    ///
    /// # Errors
    /// [`TensorError::Bounds`] where there is none, [`LayoutError::Overflow`] far beyond the layout.
    pub fn read(&self, index: i64) -> Result<E::Element, TensorError> {
        let (offset, len) = (self.layout.try_eval(index)?, self.engine.len());
        self.engine.read(self.at(offset)?).ok_or(TensorError::Bounds { offset, len })
    }

    /// The elements, first mode fastest; it ends where an element is missing.
    pub fn iter(&self) -> impl Iterator<Item = E::Element> + '_ {
        (0..self.size()).map_while(|i| self.read(i).ok())
    }
}

impl<E: Write> Tensor<E> {
    /// Writes the element at a coordinate, one integer a mode; `None` where there is none.
    #[must_use]
    pub fn set(&mut self, coord: &[i64], value: E::Element) -> Option<()> {
        self.engine.write(usize::try_from(self.layout.try_eval_at(coord).ok()?).ok()?, value)
    }

    /// Writes the element at a linear coordinate.
    ///
    /// # Errors
    /// [`TensorError::Bounds`] where there is none, [`LayoutError::Overflow`] far beyond the layout.
    pub fn write(&mut self, index: i64, value: E::Element) -> Result<(), TensorError> {
        let (offset, len) = (self.layout.try_eval(index)?, self.engine.len());
        let at = self.at(offset)?;
        self.engine.write(at, value).ok_or(TensorError::Bounds { offset, len })
    }
}

impl<E: Engine> fmt::Display for Tensor<E> {
    /// `gmem_ptr[32b](+260) o (_4,_1,_8):(_1,_0,_1024)`; the offset of a swizzled layout stands behind the swizzle.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (space, bits, c) = (self.engine.space(), 8 * size_of::<E::Element>(), &self.layout);
        if c.swizzle.is_identity() {
            write!(f, "{space}[{bits}b]({:+}) o {}", c.offset.value(), c.layout)
        } else {
            write!(f, "{space}[{bits}b](+0) o {c}")
        }
    }
}
