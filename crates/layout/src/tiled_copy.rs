//! `TiledCopy`: a copy atom repeated over threads and values.

use crate::atom::CopyAtom;
use crate::{ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Operand, Swizzle, TiledMma, Tiler, tri};

/// A copy atom and the (thread, value) layout of the tile that it covers: CuTe's `TiledCopy`.
///
/// ```
/// use warpwright_layout::atom::CopyAtom;
/// use warpwright_layout::{TiledCopy, layout};
/// // 128 threads copy a 16×64 tile of 16-bit elements in 16-byte chunks, eight threads a row.
/// let copy = TiledCopy::new(CopyAtom::cp_async(16)?, 16, &layout!((16, 8):(8, 1)), &layout!((1, 8)))?;
/// assert_eq!(copy.tiler().to_string(), "(_16,_64)");
/// let [m, k] = copy.src_coordinates()?;
/// assert_eq!((m.eval_at(&[9, 0]), k.eval_at(&[9, 0])), (1, 8));
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TiledCopy {
    src: Layout,
    dst: Layout,
    reference: Layout,
    tv: Layout,
    /// Mode `i` is the tile of the data's mode `i`.
    tiler: Layout,
}

/// The two sides of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Where elements are read.
    Source,
    /// Where elements are written.
    Destination,
}

/// (thread, bit) → bit of an atom as (thread, element) → element.
const fn in_elements(bits: &Layout, element_bits: u32) -> Result<Layout, LayoutError> {
    // Bits that a thread moves side by side; other threads' may lie between these and the next.
    let beside = tri!(bits.mode(1).coalesce()).shape.get(0);
    if element_bits == 0 || beside.value() % element_bits as i64 != 0 {
        return Err(LayoutError::ElementsOfAtom { element_bits, bits: beside });
    }
    bits.recast(1, element_bits as i64)
}

impl TiledCopy {
    /// The tile that results when `threads` ((m, n) → thread) each hold `values` ((m, n) → value): CuTe's
    /// `make_tiled_copy`.
    ///
    /// # Errors
    /// [`LayoutError::NotNumbering`] when `threads` or `values` leave a number out or give one twice, [`LayoutError::TooFew`] when
    /// they are no multiple of the atom's, and those of [`Layout::raked_product`].
    pub const fn new(
        atom: CopyAtom,
        element_bits: u32,
        threads: &Layout,
        values: &Layout,
    ) -> Result<Self, LayoutError> {
        tri!(threads.numbers("the copy's threads"));
        tri!(values.numbers("the copy's values"));
        let mn = tri!(threads.raked_product(values));
        let domain = tri!(IntTuple::flat(&[threads.size(), values.size()]));
        let tv = tri!(tri!(mn.right_inverse()).with_shape(domain));
        Self::from_tv(atom, element_bits, tv, mn.shape.product_each())
    }

    /// From a layout (thread, value) → column-major index in the tile with extents `tiler`: CuTe's
    /// `make_tiled_copy_impl`.
    ///
    /// # Errors
    /// [`LayoutError::TooFew`] when threads or values are no multiple of the atom's; [`LayoutError::Rank`] when `tv` is not
    /// of rank 2; [`LayoutError::Outside`] when it reaches beyond the tile; [`LayoutError::ElementsOfAtom`] when what a thread moves
    /// side by side is no number of whole elements.
    pub const fn from_tv(atom: CopyAtom, element_bits: u32, tv: Layout, tiler: IntTuple) -> Result<Self, LayoutError> {
        let tiler = tiler.product_each();
        let (mut strides, mut i) = ([Int::ZERO; IntTuple::MAX_LEAVES], 0);
        while i < tiler.leaves() {
            strides[i] = if tiler.get(i).is(1) { Int::ZERO } else { Int::ONE };
            i += 1;
        }
        Self::from_tv_tiled(atom, element_bits, tv, tri!(Layout::new(tiler, tiler.with_leaves(&strides))))
    }

    /// From a layout (thread, value) → column-major index in a tile whose mode `i` takes the elements of the data's mode
    /// `i` that `tiler`'s mode `i` names.
    ///
    /// # Errors
    /// As [`from_tv`](Self::from_tv).
    pub const fn from_tv_tiled(
        atom: CopyAtom,
        element_bits: u32,
        tv: Layout,
        tiler: Layout,
    ) -> Result<Self, LayoutError> {
        let src = tri!(in_elements(&atom.src, element_bits));
        let dst = tri!(in_elements(&atom.dst, element_bits));
        let reference = tri!(in_elements(&atom.reference, element_bits));
        if tv.rank() != 2 {
            return Err(LayoutError::Rank { operation: "TiledCopy", found: tv.rank(), needed: 2 });
        }
        let [first, last] = tv.bounds();
        if first < 0 || last >= tiler.size().value() {
            return Err(LayoutError::Outside { offset: if first < 0 { first } else { last } });
        }
        let mut i = 0;
        while i < 2 {
            let (have, atom) = (tv.mode(i).size(), reference.mode(i).size());
            if have.value() % atom.value() != 0 {
                return Err(LayoutError::TooFew { what: if i == 0 { "threads" } else { "values" }, have, atom });
            }
            i += 1;
        }
        Ok(Self { src, dst, reference, tv, tiler })
    }

    /// The copy whose threads hold what they hold of `operand` in `mma`: CuTe's `make_tiled_copy_A/B/C`.
    ///
    /// # Errors
    /// As [`from_tv`](Self::from_tv) and [`TiledMma::tv`].
    pub const fn for_mma(
        atom: CopyAtom,
        element_bits: u32,
        mma: &TiledMma,
        operand: Operand,
    ) -> Result<Self, LayoutError> {
        let tile = mma.tile_mnk();
        let (x, y) = match operand {
            Operand::A => (tile[0], tile[2]),
            Operand::B => (tile[1], tile[2]),
            Operand::C => (tile[0], tile[1]),
        };
        let tiler = tri!(IntTuple::flat(&[Int::Static(x), Int::Static(y)]));
        Self::from_tv(atom, element_bits, tri!(mma.tv(operand)), tiler)
    }

    /// The copy in which threads move what `atom_tv`, (thread, value) → address, says, of data that lies at the addresses
    /// of `data`: CuTe's `make_cotiled_copy`.
    ///
    /// # Errors
    /// [`LayoutError::Outside`] when `atom_tv` reaches an address that is none of the data's, and those of
    /// [`Layout::left_inverse`] and [`from_tv`](Self::from_tv).
    pub const fn cotiled(
        atom: CopyAtom,
        element_bits: u32,
        atom_tv: &Layout,
        data: &Layout,
    ) -> Result<Self, LayoutError> {
        // Addresses beyond the data come back to coordinate 0, where the check finds them.
        let inverse = tri!(Layout::concat(&[tri!(data.left_inverse()), Layout::UNIT]));
        let tv = tri!(inverse.compose(atom_tv));
        let (mut i, size) = (0, tv.size().value());
        while i < size {
            if data.eval(tv.eval(i)) != atom_tv.eval(i) {
                return Err(LayoutError::Outside { offset: atom_tv.eval(i) });
            }
            i += 1;
        }
        Self::of_active(atom, element_bits, &tv, data.shape.product_each())
    }

    /// The copy of one atom's worth of values of each accumulator: the first values that a thread of `mma` holds of C, and
    /// of the tile the rows and columns that these are in. CuTe's `make_tiled_copy_C_atom`.
    ///
    /// # Errors
    /// [`LayoutError::TooFew`] when a thread holds fewer values than the atom moves, and those of
    /// [`from_tv`](Self::from_tv).
    pub const fn for_mma_c_atom(atom: CopyAtom, element_bits: u32, mma: &TiledMma) -> Result<Self, LayoutError> {
        let tv = tri!(mma.tv(Operand::C));
        let values = tri!(atom.src.recast(1, element_bits as i64)).mode(1).size();
        let (have, threads) = (tv.mode(1).size(), tv.mode(0).size());
        if values.value() > have.value() {
            return Err(LayoutError::TooFew { what: "values", have, atom: values });
        }
        let tv = tri!(tv.with_shape(tri!(IntTuple::flat(&[threads, values]))));
        let [m, n, _] = mma.tile_mnk();
        Self::of_active(atom, element_bits, &tv, tri!(IntTuple::flat(&[Int::Static(m), Int::Static(n)])))
    }

    /// From (thread, value) → column-major index in `shape`, of which the tile keeps what is reached.
    const fn of_active(atom: CopyAtom, element_bits: u32, tv: &Layout, shape: IntTuple) -> Result<Self, LayoutError> {
        let rank = shape.leaves();
        let mut tiles = [Layout::UNIT; IntTuple::MAX_LEAVES];
        let mut i = 0;
        while i < rank {
            tiles[i] = tri!(tri!(tv.coordinate(&shape, i)).filter());
            i += 1;
        }
        let mut by_mode = [Tiler::Keep; IntTuple::MAX_LEAVES];
        i = 0;
        while i < rank {
            by_mode[i] = Tiler::Layout(&tiles[i]);
            i += 1;
        }
        // Tile coordinate → index in `shape`, whose inverse takes what is reached back into the tile.
        let whole = tri!(Layout::column_major(shape));
        let reached = tri!(whole.compose_by(&Tiler::ByMode(by_mode.split_at(rank).0)));
        let tv = tri!(tri!(reached.left_inverse()).compose(tv));
        Self::from_tv_tiled(atom, element_bits, tv, tri!(Layout::concat(tiles.split_at(rank).0)))
    }

    /// The extents of the tile.
    pub const fn tiler(&self) -> IntTuple {
        self.tiler.shape.product_each()
    }

    /// The tile of each mode of the data, as a layout into that mode: `n:1` for `n` neighbours.
    pub const fn tiler_by_mode(&self) -> Layout {
        self.tiler
    }

    /// The number of threads.
    pub const fn threads(&self) -> i64 {
        self.tv.mode(0).size().value()
    }

    const fn side(&self, side: Side) -> &Layout {
        match side {
            Side::Source => &self.src,
            Side::Destination => &self.dst,
        }
    }

    /// (thread, value, rest) of tiles that lie in mode 0 of `tiles`.
    const fn tile_to_thrfrg(&self, tiles: &Layout, side: Side) -> Result<Layout, LayoutError> {
        let to_side = tri!(tri!(self.reference.right_inverse()).compose(self.side(side)));
        let atom = [Tiler::Size(self.reference.mode(0).size()), Tiler::Size(self.reference.mode(1).size())];
        // ((atom thread, atom value), (rest thread, rest value)), on this side of the copy.
        let by_atom = tri!(self.tv.zipped_divide(&Tiler::ByMode(&atom)));
        let by_atom = tri!(by_atom.compose_by(&Tiler::ByMode(&[Tiler::Layout(&to_side), Tiler::Keep])));
        let (atom, rest) = (by_atom.mode(0), by_atom.mode(1));
        let thrval = tri!(Layout::concat(&[
            tri!(Layout::concat(&[atom.mode(0), rest.mode(0)])),
            tri!(Layout::concat(&[atom.mode(1), rest.mode(1)])),
        ]));
        const PROFILE: IntTuple = crate::int_tuple!((1, (1, 1)));
        let thrval = tri!(thrval.coalesce_by(&PROFILE));
        let tv = tri!(tiles.compose_by(&Tiler::ByMode(&[Tiler::Layout(&thrval), Tiler::Keep])));
        let both = [Coord::All, Coord::All];
        Ok(tri!(tv.slice(&Coord::ByMode(&[Coord::ByMode(&both), Coord::All]))).0)
    }

    /// (thread, value) → column-major index in the tile, on one side of the copy.
    ///
    /// # Errors
    /// Those of the divides when the atom does not fit the tile.
    pub const fn tv(&self, side: Side) -> Result<Layout, LayoutError> {
        let shape = tri!(IntTuple::tuple(&[self.tiler(), IntTuple::int(1)]));
        let tv = tri!(self.tile_to_thrfrg(&tri!(Layout::column_major(shape)), side));
        Ok(tri!(tv.slice(&Coord::ByMode(&[Coord::All, Coord::All, Coord::At(0)]))).0)
    }

    /// (thread, value) → coordinate in the tile on the source side, one layout for each of its two axes.
    ///
    /// # Errors
    /// As [`tv`](Self::tv) and [`Layout::coordinate`].
    pub const fn src_coordinates(&self) -> Result<[Layout; 2], LayoutError> {
        let tv = tri!(self.tv(Side::Source));
        Ok([tri!(tv.coordinate(&self.tiler(), 0)), tri!(tv.coordinate(&self.tiler(), 1))])
    }

    /// (thread, value) → coordinate in the tile on the destination side, one layout for each of its two axes.
    ///
    /// # Errors
    /// As [`tv`](Self::tv) and [`Layout::coordinate`].
    pub const fn dst_coordinates(&self) -> Result<[Layout; 2], LayoutError> {
        let tv = tri!(self.tv(Side::Destination));
        Ok([tri!(tv.coordinate(&self.tiler(), 0)), tri!(tv.coordinate(&self.tiler(), 1))])
    }

    /// (thread, value, (rest…)) of `data` on one side of the copy: CuTe's `tidfrg_S` and `tidfrg_D`.
    ///
    /// # Errors
    /// [`LayoutError::TooManyModes`] when `data` has fewer modes than the tiler, and those of the divides.
    pub const fn thrfrg(&self, side: Side, data: &Layout) -> Result<Layout, LayoutError> {
        let mut tiles = [Layout::UNIT; IntTuple::MAX_LEAVES];
        let (mut i, rank) = (0, self.tiler.rank());
        while i < rank {
            tiles[i] = self.tiler.mode(i);
            i += 1;
        }
        let mut modes = [Tiler::Keep; IntTuple::MAX_LEAVES];
        i = 0;
        while i < rank {
            modes[i] = Tiler::Layout(&tiles[i]);
            i += 1;
        }
        let tiles = tri!(data.zipped_divide(&Tiler::ByMode(modes.split_at(rank).0)));
        self.tile_to_thrfrg(&tiles, side)
    }

    /// As [`thrfrg`](Self::thrfrg) of data behind a swizzle, which stays in front.
    ///
    /// # Errors
    /// As [`thrfrg`](Self::thrfrg).
    pub const fn thrfrg_swizzled(&self, side: Side, data: &ComposedLayout) -> Result<ComposedLayout, LayoutError> {
        Ok(data.with(tri!(self.thrfrg(side, &data.layout))))
    }

    /// The part of `data` that thread `thread` copies on one side, (value, rest…), and its offset: CuTe's `partition_S`
    /// and `partition_D`.
    ///
    /// # Errors
    /// [`LayoutError::NoSuchThread`], and those of [`thrfrg`](Self::thrfrg).
    pub const fn partition(&self, side: Side, data: &Layout, thread: i64) -> Result<(Layout, i64), LayoutError> {
        // Without a swizzle the whole offset stands behind the layout.
        let data = ComposedLayout::new(Swizzle::IDENTITY, *data);
        let (part, offset) = tri!(self.partition_swizzled(side, &data, thread));
        Ok((part.layout, offset))
    }

    /// As [`partition`](Self::partition) of data behind a swizzle, and an offset to be added behind the swizzle: where what the
    /// thread has does not meet the swizzle, its part is a plain layout (see
    /// [`slice_and_offset`](ComposedLayout::slice_and_offset)).
    ///
    /// ```
    /// use warpwright_layout::atom::CopyAtom;
    /// use warpwright_layout::smem::{Major, SmemSwizzle, atom};
    /// use warpwright_layout::{Side, TiledCopy, int_tuple, layout};
    /// // Eight threads a row, each with a 16-byte chunk: rows 1 and 17 are swizzled alike.
    /// let copy = TiledCopy::new(CopyAtom::cp_async(16)?, 16, &layout!((16, 8):(8, 1)), &layout!((1, 8)))?;
    /// let tile = atom(Major::K, SmemSwizzle::B128, 16)?.tile_to_shape(&int_tuple!((32, 64)), None)?;
    /// let (part, offset) = copy.partition_swizzled(Side::Destination, &tile, 8 + 2)?;
    /// // Row 1, chunk 2 lies where chunk 3 would.
    /// assert_eq!((part.to_string().as_str(), offset), ("((_8,_1),_2,_1):((_1,_0),_1024,_0)", 64 + 8 * 3));
    /// # Ok::<(), warpwright_layout::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    pub const fn partition_swizzled(
        &self,
        side: Side,
        data: &ComposedLayout,
        thread: i64,
    ) -> Result<(ComposedLayout, i64), LayoutError> {
        if thread < 0 || thread >= self.threads() {
            let threads = self.tv.mode(0).size();
            return Err(LayoutError::NoSuchThread { thread, threads, last: threads.sub(Int::ONE) });
        }
        let tv = tri!(self.thrfrg_swizzled(side, data));
        let all = [Coord::All; IntTuple::MAX_LEAVES];
        let rest = if data.rank() > 1 { Coord::ByMode(all.split_at(data.rank()).0) } else { Coord::All };
        tv.slice_and_offset(&Coord::ByMode(&[Coord::At(thread), Coord::All, rest]))
    }

    /// A fragment of one thread, (value, rest…), seen as this copy moves it: (atom values, rest…). CuTe's `retile_S` and
    /// `retile_D`: registers that a [`TiledMma`] holds become the source or destination of a copy made
    /// [`for_mma`](Self::for_mma).
    ///
    /// # Errors
    /// Those of the divides when the fragment is not one of this copy's tile.
    pub const fn retile(&self, fragment: &Layout) -> Result<Layout, LayoutError> {
        let values = fragment.mode(0).size();
        // (m, n) → which vector of `values` elements of the thread it is.
        let owner = tri!(tri!(self.tv.right_inverse()).with_shape(self.tiler()));
        let vectors = tri!(owner.upcast(self.threads().saturating_mul(values.value())));
        let vector = tri!(Layout::contiguous(values));
        let order = tri!(vector.logical_product(&Tiler::Layout(&tri!(vectors.right_inverse()))));
        let atom = tri!(Layout::contiguous(self.reference.mode(1).size()));
        let order = tri!(order.zipped_divide(&Tiler::Layout(&atom)));
        let mut tiler = [Tiler::Keep; IntTuple::MAX_LEAVES];
        let mut keep = [Coord::All; IntTuple::MAX_LEAVES];
        tiler[0] = Tiler::Size(values);
        keep[0] = Coord::At(0);
        let (tile, mut i) = (vectors.shape.product_each(), 0);
        while i < tile.leaves() && i + 1 < IntTuple::MAX_LEAVES {
            tiler[i + 1] = Tiler::Size(tile.get(i));
            i += 1;
        }
        let tiles = tri!(fragment.zipped_divide(&Tiler::ByMode(tiler.split_at(i + 1).0)));
        let tiles = tri!(tiles.compose_by(&Tiler::ByMode(&[Tiler::Layout(&order), Tiler::Keep])));
        let rest = Coord::ByMode(keep.split_at(fragment.rank()).0);
        Ok(tri!(tiles.slice(&Coord::ByMode(&[Coord::All, rest]))).0)
    }
}
