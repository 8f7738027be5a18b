//! Layouts whose values are coordinates: what predication and TMA count in.

use core::fmt;

use crate::error::within;
use crate::{Coord, Int, IntTuple, Layout, LayoutError, ModePath, Tiler, tri};

/// A layout from coordinates to coordinates of a shape, CuTe's layout of scaled basis strides: `(_4,_8):(_1@0,_1@1)` takes
/// (m,n) to (m,n), and after a divide says of each element of each tile where it lies in the whole. Comparing that with the
/// extents is how a kernel knows which elements of a ragged tile exist.
///
/// ```
/// use warpwright_layout::{Coord, CoordinateLayout, Tiler, int_tuple};
/// let whole = CoordinateLayout::identity(int_tuple!((100, 70)))?;
/// assert_eq!(whole.to_string(), "(_100,_70):(_1@0,_1@1)");
/// // Of the last tile of 32 by 32, column 5 lies within the 70 columns and column 6 does not.
/// let tiler = [Tiler::of(32), Tiler::of(32)];
/// let tile = whole.local_tile(&Tiler::ByMode(&tiler), &Coord::ByMode(&[Coord::At(3), Coord::At(2)]))?;
/// assert_eq!(tile.to_string(), "ArithTuple(96,64) o (_32,_32):(_1@0,_1@1)");
/// assert_eq!(tile.eval_at(&[3, 5]).to_string(), "(99,69)");
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CoordinateLayout {
    /// What the coordinates are of; its values are those of coordinate 0.
    origin: IntTuple,
    /// The layout with `n@i` as stride `n * WEIGHTS[i]`.
    weighted: Layout,
}

/// Strides of different coordinates never continue each other: these are primes, and neither extents nor multiples of a
/// basis are as large.
const WEIGHTS: [i64; CoordinateLayout::MAX_COORDINATES] = {
    let (mut out, mut n, mut candidate) = ([0; CoordinateLayout::MAX_COORDINATES], 0, CoordinateLayout::LIMIT + 1);
    while n < out.len() {
        let (mut divisor, mut prime) = (3, true);
        while divisor * divisor <= candidate {
            if candidate % divisor == 0 {
                prime = false;
                break;
            }
            divisor += 2;
        }
        if prime {
            out[n] = candidate;
            n += 1;
        }
        candidate += 2;
    }
    out
};

impl CoordinateLayout {
    /// Most integers that a coordinate has.
    pub const MAX_COORDINATES: usize = 8;
    /// Extents, and distances between neighbours, are below this.
    pub const LIMIT: i64 = 1 << 28;

    /// The layout that takes each coordinate of `shape` to itself: CuTe's `make_identity_layout`.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] above [`MAX_COORDINATES`](Self::MAX_COORDINATES) integers, [`LayoutError::Overflow`] for
    /// extents of [`LIMIT`](Self::LIMIT) and more, [`LayoutError::Extent`].
    pub const fn identity(shape: IntTuple) -> Result<Self, LayoutError> {
        if shape.leaves() > Self::MAX_COORDINATES {
            return Err(LayoutError::TooLarge);
        }
        let (mut strides, mut i) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0);
        while i < shape.leaves() {
            tri!(near("an extent of a layout of coordinates", shape.get(i)));
            strides[i] = Int::Static(WEIGHTS[i]);
            i += 1;
        }
        let weighted = tri!(Layout::new(shape, shape.with_leaves(&strides)));
        Ok(Self { origin: shape.with_leaves(&[Int::ZERO; IntTuple::MAX_LEAVES]), weighted })
    }

    /// The extents of the domain.
    pub const fn shape(&self) -> IntTuple {
        self.weighted.shape
    }

    /// The number of coordinates in the domain.
    pub const fn size(&self) -> Int {
        self.weighted.size()
    }

    /// The coordinate of coordinate 0.
    pub const fn origin(&self) -> IntTuple {
        self.origin
    }

    /// Stride `leaf` as the integer of the coordinate that it moves, and how far it moves it; `None` for stride 0.
    const fn basis(&self, leaf: usize) -> Option<(usize, Int)> {
        let stride = self.weighted.stride.get(leaf);
        let mut i = 0;
        while i < Self::MAX_COORDINATES {
            if stride.value() != 0 && stride.value() % WEIGHTS[i] == 0 {
                let n = stride.value() / WEIGHTS[i];
                return Some((i, if stride.is_static() { Int::Static(n) } else { Int::Dynamic(n) }));
            }
            i += 1;
        }
        None
    }

    /// The layout of integer `i` of the coordinates alone, without its origin.
    pub const fn component(&self, i: usize) -> Layout {
        let (mut strides, mut leaf) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0);
        while leaf < self.weighted.shape.leaves() {
            if let Some((of, n)) = self.basis(leaf)
                && of == i
            {
                strides[leaf] = n;
            }
            leaf += 1;
        }
        Layout::of_parts(self.weighted.shape, self.weighted.shape.with_leaves(&strides))
    }

    const fn moved(&self, by: [i64; Self::MAX_COORDINATES]) -> IntTuple {
        let (mut out, mut i) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0);
        while i < self.origin.leaves() {
            out[i] = Int::Dynamic(self.origin.get(i).value().wrapping_add(by[i]));
            i += 1;
        }
        self.origin.with_leaves(&out)
    }

    /// [`moved`](Self::moved) as far as layouts go.
    const fn try_moved(&self, by: [i64; Self::MAX_COORDINATES]) -> Result<IntTuple, LayoutError> {
        let mut i = 0;
        while i < self.origin.leaves() {
            let sum = self.origin.get(i).value() as i128 + by[i] as i128;
            tri!(within("an integer of the coordinate", sum, Layout::LIMIT));
            i += 1;
        }
        Ok(self.moved(by))
    }

    /// The coordinate of the linear coordinate `index`. Beyond the layout as [`Layout::eval`].
    pub const fn eval(&self, index: i64) -> IntTuple {
        let (mut by, mut i) = ([0; Self::MAX_COORDINATES], 0);
        while i < self.origin.leaves() {
            by[i] = self.component(i).eval(index);
            i += 1;
        }
        self.moved(by)
    }

    /// The coordinate of the linear coordinate `index`, wherever it is.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] for a coordinate with an integer beyond [`Layout::LIMIT`].
    pub const fn try_eval(&self, index: i64) -> Result<IntTuple, LayoutError> {
        let (mut by, mut i) = ([0; Self::MAX_COORDINATES], 0);
        while i < self.origin.leaves() {
            by[i] = tri!(self.component(i).try_eval(index));
            i += 1;
        }
        self.try_moved(by)
    }

    /// The coordinate of the coordinate `coord`, one integer a mode. Missing coordinates are 0. Beyond the layout as
    /// [`Layout::eval`].
    pub const fn eval_at(&self, coord: &[i64]) -> IntTuple {
        let (mut by, mut i) = ([0; Self::MAX_COORDINATES], 0);
        while i < self.origin.leaves() {
            by[i] = self.component(i).eval_at(coord);
            i += 1;
        }
        self.moved(by)
    }

    /// The coordinate of the coordinate `coord`, one integer a mode, wherever it is.
    ///
    /// # Errors
    /// As [`try_eval`](Self::try_eval).
    pub const fn try_eval_at(&self, coord: &[i64]) -> Result<IntTuple, LayoutError> {
        let (mut by, mut i) = ([0; Self::MAX_COORDINATES], 0);
        while i < self.origin.leaves() {
            by[i] = tri!(self.component(i).try_eval_at(coord));
            i += 1;
        }
        self.try_moved(by)
    }

    /// What an operation of the algebra makes of the layout: `|l| l.zipped_divide(&tiler)` for tiles, `|l| l.compose(&tv)`
    /// for what threads hold.
    ///
    /// # Errors
    /// Those of the operation, [`LayoutError::Overflow`] where a result goes beyond [`LIMIT`](Self::LIMIT), and
    /// [`LayoutError::NoCoordinate`] after one that does more than rearrange the domain, as an inverse.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>) -> Result<Self, LayoutError> {
        let mapped = Self { origin: self.origin, weighted: f(&self.weighted)? };
        for leaf in 0..mapped.weighted.shape.leaves() {
            let (stride, basis) = (mapped.weighted.stride.get(leaf), mapped.basis(leaf));
            if basis.is_none() && stride.value() != 0 {
                return Err(LayoutError::NoCoordinate { stride });
            }
            let n = basis.map_or(stride, |(_, n)| n);
            near("a distance of a layout of coordinates", n)?;
            near("an extent of a layout of coordinates", mapped.weighted.shape.get(leaf))?;
        }
        Ok(mapped)
    }

    /// The modes that `coord` keeps, from the coordinate on that it fixes.
    ///
    /// # Errors
    /// As [`Layout::slice`] and [`try_eval`](Self::try_eval).
    pub const fn slice(&self, coord: &Coord<'_>) -> Result<Self, LayoutError> {
        let (mut by, mut i) = ([0; Self::MAX_COORDINATES], 0);
        while i < self.origin.leaves() {
            by[i] = tri!(self.component(i).slice(coord)).1;
            i += 1;
        }
        let weighted = tri!(self.weighted.kept(coord));
        Ok(Self { origin: tri!(self.try_moved(by)), weighted })
    }

    /// The tile at a tile coordinate, as [`Layout::local_tile`].
    ///
    /// # Errors
    /// As [`Layout::local_tile`] and [`map`](Self::map).
    pub fn local_tile(&self, tiler: &Tiler<'_>, coord: &Coord<'_>) -> Result<Self, LayoutError> {
        let tiled = self.map(|l| l.zipped_divide(tiler))?;
        tiled.weighted.shape.mode(1).has_tile(coord)?;
        let tile = tiled.slice(&Coord::ByMode(&[Coord::All, *coord]))?;
        Ok(Self { origin: tile.origin, weighted: tile.weighted.unpack_first()? })
    }
}

/// Extents and distances are below the limit of layouts of coordinates.
const fn near(what: &'static str, v: Int) -> Result<(), LayoutError> {
    tri!(within(what, v.value() as i128, CoordinateLayout::LIMIT - 1));
    Ok(())
}

/// `_3@0@1` for three times the first integer of mode 1.
struct Scaled(Int, ModePath);

impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.1.indices().iter().rev().try_for_each(|i| write!(f, "@{i}"))
    }
}

impl fmt::Display for CoordinateLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (0..self.origin.leaves()).any(|i| self.origin.get(i).value() != 0) {
            write!(f, "ArithTuple{} o ", self.origin)?;
        }
        write!(f, "{}:", self.weighted.shape)?;
        self.weighted.stride.write_with(f, |f, leaf| match self.basis(leaf) {
            Some((i, n)) => fmt::Display::fmt(&Scaled(n, self.origin.path(i)), f),
            None => fmt::Display::fmt(&self.weighted.stride.get(leaf), f),
        })
    }
}

impl fmt::Debug for CoordinateLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{int_tuple, layout};

    type Operation<'a> = &'a dyn Fn(&Layout) -> Result<Layout, LayoutError>;

    #[test]
    fn as_cute_prints_them() {
        let id = CoordinateLayout::identity(int_tuple!((4, 8))).unwrap();
        let tiles = id.map(|l| l.zipped_divide(&Tiler::ByMode(&[Tiler::of(2), Tiler::of(4)]))).unwrap();
        assert_eq!(tiles.to_string(), "((_2,_4),(_2,_2)):((_1@0,_1@1),(_2@0,_4@1))");
        let nested = CoordinateLayout::identity("(_4,(_8,3))".parse().unwrap()).unwrap();
        assert_eq!(nested.to_string(), "(_4,(_8,3)):(_1@0,(_1@0@1,_1@1@1))");
        assert_eq!(id.map(Layout::coalesce).unwrap(), id);
        let composed = id.map(|l| l.compose(&layout!((2, 2):(4, 1)))).unwrap();
        assert_eq!(composed.to_string(), "(_2,_2):(_1@1,_1@0)");
        assert_eq!(CoordinateLayout::identity(int_tuple!(5)).unwrap().to_string(), "_5:_1");
    }

    /// Whatever is done to it, it says where the same operation on a matrix's own layout ends up.
    #[test]
    fn it_follows_every_operation() {
        let matrix = layout!((12, (4, 6)):(24, (1, 4)));
        let id = CoordinateLayout::identity(matrix.shape()).unwrap();
        let by_mode = [Tiler::of(4), Tiler::ByMode(&[Tiler::of(2), Tiler::of(3)])];
        let by_layout = layout!((6, 4):(4, 1));
        let operations: [Operation<'_>; 5] = [
            &|l| l.zipped_divide(&Tiler::ByMode(&by_mode)),
            &|l| l.tiled_divide(&Tiler::ByMode(&by_mode[..1])),
            &|l| l.logical_divide(&Tiler::Layout(&by_layout)),
            &|l| l.compose(&by_layout),
            &|l| Ok(l.flatten()),
        ];
        for (n, operation) in operations.iter().enumerate() {
            let (one, other) = (operation(&matrix).unwrap(), id.map(operation).unwrap());
            assert_eq!(one.size(), other.size());
            for i in 0..one.size().value() {
                assert_eq!(matrix.crd2idx(&other.eval(i)), Ok(one.eval(i)), "operation {n} at {i}: {other}");
            }
        }
        let coord = [Coord::At(2), Coord::ByMode(&[Coord::At(1), Coord::All])];
        let (tile, offset) = matrix.local_tile(&Tiler::ByMode(&by_mode), &Coord::ByMode(&coord)).unwrap();
        let other = id.local_tile(&Tiler::ByMode(&by_mode), &Coord::ByMode(&coord)).unwrap();
        for i in 0..tile.size().value() {
            assert_eq!(matrix.crd2idx(&other.eval(i)), Ok(offset + tile.eval(i)), "{other} at {i}");
        }
    }

    #[test]
    fn what_does_not_fit() {
        assert_eq!(
            CoordinateLayout::identity(int_tuple!((1 << 28))),
            Err(LayoutError::Overflow {
                what: "an extent of a layout of coordinates",
                value: crate::Wide::of(1 << 28),
                limit: (1 << 28) - 1,
            })
        );
        assert_eq!(CoordinateLayout::identity(int_tuple!((1, 1, 1, 1, 1, 1, 1, 1, 1))), Err(LayoutError::TooLarge));
        let id = CoordinateLayout::identity(int_tuple!(((1 << 27), 4))).unwrap();
        let far = id.map(|l| l.compose(&layout!(2: (1i64 << 57))));
        assert!(matches!(far, Err(LayoutError::Overflow { .. })), "{far:?}");
        let like = id.map(Layout::make_like);
        assert_eq!(like, Err(LayoutError::NoCoordinate { stride: Int::ONE }));
        for other in [Layout::left_inverse, Layout::make_like, Layout::complement_self] {
            let refused = CoordinateLayout::identity(int_tuple!((4, 8))).unwrap().map(other);
            assert!(refused.is_err(), "{refused:?}");
        }
    }
}
