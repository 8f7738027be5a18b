//! `TiledMma`: an MMA atom repeated over threads and values.

use crate::atom::MmaAtom;
use crate::{ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler, tri};

/// Which matrix of the multiplication.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// M×K.
    A,
    /// N×K.
    B,
    /// M×N: accumulator and result.
    C,
}

impl Operand {
    /// The matrix's two axes as positions in (M, N, K).
    const fn axes(self) -> (usize, usize) {
        match self {
            Self::A => (0, 2),
            Self::B => (1, 2),
            Self::C => (0, 1),
        }
    }
}

/// An MMA atom, the layout of atoms over (M, N, K), and a permutation of each axis: CuTe's `TiledMMA`.
///
/// ```
/// use warpwright_layout::atom::MmaAtom;
/// use warpwright_layout::{Operand, TiledMma, layout};
/// // Four warps, two by two, each with a 16×16 piece of a 32×32 tile.
/// let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &layout!((2, 2, 1)))?
///     .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))?;
/// assert_eq!((mma.threads(), mma.tile_mnk()), (128, [32, 32, 16]));
/// let c = mma.tv(Operand::C)?;
/// assert_eq!(c.eval_at(&[33, 0]), 16 + 32 * 2);
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TiledMma {
    atom: MmaAtom,
    thr_layout_vmnk: Layout,
    permutations: [Option<Layout>; 3],
}

/// How many atoms' threads fit into the gaps between one atom's.
const fn room(atom: &MmaAtom) -> Result<Int, LayoutError> {
    Ok(tri!(atom.thr_id.complement_self()).size())
}

impl TiledMma {
    /// `atom` repeated by `atom_layout_mnk`, whose modes are M, N and K (missing ones are 1).
    ///
    /// # Errors
    /// [`LayoutError::TooManyModes`] above rank 3, [`LayoutError::NotApart`] when atoms would have one number,
    /// [`LayoutError::AtomArrangement`] when they do not fit between the threads of one atom, and those of
    /// [`Layout::tiled_product`].
    pub const fn new(atom: MmaAtom, atom_layout_mnk: &Layout) -> Result<Self, LayoutError> {
        let rank = atom_layout_mnk.rank();
        if rank > 3 {
            return Err(LayoutError::TooManyModes { operation: "TiledMma", given: rank, rank: 3 });
        }
        tri!(atom_layout_mnk.tells_apart("the MMA's atoms"));
        let atoms = tri!(atom_layout_mnk.append(3));
        let thr_layout_vmnk = match atom.thr_id.tiled_product(&Tiler::Layout(&atoms)) {
            Ok(threads) => threads,
            Err(
                LayoutError::ShapeDivisibility { extent: value, .. }
                | LayoutError::StrideDivisibility { stride: value, .. },
            ) => return Err(LayoutError::AtomArrangement { value, room: tri!(room(&atom)) }),
            Err(error) => return Err(error),
        };
        if let Err(LayoutError::NotApart { stride, .. }) = thr_layout_vmnk.tells_apart("the MMA's threads") {
            return Err(LayoutError::AtomArrangement { value: stride, room: tri!(room(&atom)) });
        }
        Ok(Self { atom, thr_layout_vmnk, permutations: [None; 3] })
    }

    /// The same with the coordinates of axis `axis` (0 M, 1 N, 2 K) permuted, or its tile enlarged, by `permutation`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when there is no such axis, [`LayoutError::NotNumbering`] when it is no permutation of its elements,
    /// and [`LayoutError::PermutedExtent`] when these are no multiple of what the atoms have along the axis.
    pub const fn with_permutation(mut self, axis: usize, permutation: &Layout) -> Result<Self, LayoutError> {
        if axis > 2 {
            return Err(LayoutError::Rank {
                operation: "TiledMma permutation",
                found: axis.saturating_add(1),
                needed: 3,
            });
        }
        tri!(permutation.numbers("the MMA's permuted elements"));
        let (extent, atoms) = (permutation.size(), self.atoms(axis));
        if extent.value() % atoms.value() != 0 {
            return Err(LayoutError::PermutedExtent { axis: ['M', 'N', 'K'][axis], extent, atoms });
        }
        self.permutations[axis] = Some(*permutation);
        Ok(self)
    }

    /// The atom.
    pub const fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// (thread in atom, atom in M, in N, in K) → thread index.
    pub const fn thr_layout_vmnk(&self) -> &Layout {
        &self.thr_layout_vmnk
    }

    /// The number of threads.
    pub const fn threads(&self) -> i64 {
        self.thr_layout_vmnk.size().value()
    }

    /// The extents of the tile in M, N and K.
    pub const fn tile_mnk(&self) -> [i64; 3] {
        [self.tile(0).value(), self.tile(1).value(), self.tile(2).value()]
    }

    const fn tile(&self, axis: usize) -> Int {
        match &self.permutations[axis] {
            Some(p) => p.size(),
            None => self.atoms(axis),
        }
    }

    /// What all atoms have along the axis.
    const fn atoms(&self, axis: usize) -> Int {
        Int::Static(self.atom.shape_mnk[axis]).mul(self.thr_layout_vmnk.mode(axis + 1).size())
    }

    const fn permutation(&self, axis: usize) -> Tiler<'_> {
        match &self.permutations[axis] {
            Some(p) => Tiler::Layout(p),
            None => Tiler::Size(self.tile(axis)),
        }
    }

    const fn atom_tv(&self, operand: Operand) -> &Layout {
        match operand {
            Operand::A => &self.atom.a,
            Operand::B => &self.atom.b,
            Operand::C => &self.atom.c,
        }
    }

    /// `((thread in atom,(atom,atom)),(value,(rest…)))` of a matrix with layout `matrix`: CuTe's `thrfrg_A/B/C`.
    ///
    /// # Errors
    /// Those of the divides when the tile does not fit the matrix.
    pub const fn thrfrg(&self, operand: Operand, matrix: &Layout) -> Result<Layout, LayoutError> {
        let (x, y) = operand.axes();
        let permuted = tri!(matrix.logical_divide(&Tiler::ByMode(&[self.permutation(x), self.permutation(y)])));
        let atom = [Tiler::of(self.atom.shape_mnk[x]), Tiler::of(self.atom.shape_mnk[y])];
        let tiles = tri!(permuted.zipped_divide(&Tiler::ByMode(&atom)));
        let tv = tri!(tiles.compose_by(&Tiler::ByMode(&[Tiler::Layout(self.atom_tv(operand)), Tiler::Keep])));
        let atoms = [
            Tiler::Size(self.thr_layout_vmnk.mode(x + 1).size()),
            Tiler::Size(self.thr_layout_vmnk.mode(y + 1).size()),
        ];
        tv.zipped_divide(&Tiler::ByMode(&[Tiler::Keep, Tiler::ByMode(&atoms)]))
    }

    /// As [`thrfrg`](Self::thrfrg) of a matrix behind a swizzle, which stays in front.
    ///
    /// # Errors
    /// As [`thrfrg`](Self::thrfrg).
    pub const fn thrfrg_swizzled(
        &self,
        operand: Operand,
        matrix: &ComposedLayout,
    ) -> Result<ComposedLayout, LayoutError> {
        Ok(matrix.with(tri!(self.thrfrg(operand, &matrix.layout))))
    }

    /// (thread, value) → column-major index in the tile of `operand`. Threads that repeat others' values repeat their
    /// indices.
    ///
    /// # Errors
    /// Those of the divides when atom, threads and permutation do not fit each other, [`LayoutError::AtomArrangement`] when
    /// threads cannot be numbered back.
    pub const fn tv(&self, operand: Operand) -> Result<Layout, LayoutError> {
        let (x, y) = operand.axes();
        let shape = tri!(IntTuple::flat(&[self.tile(x), self.tile(y)]));
        let mut frg = tri!(self.thrfrg(operand, &tri!(Layout::column_major(shape))));
        if !matches!(operand, Operand::C) {
            // Threads along the axis that the operand lacks repeat the same values.
            let (m, n) = (self.thr_layout_vmnk.mode(1).size(), self.thr_layout_vmnk.mode(2).size());
            let stride = if matches!(operand, Operand::A) { [Int::ONE, Int::ZERO] } else { [Int::ZERO, Int::ONE] };
            let repeat = tri!(Layout::new(tri!(IntTuple::flat(&[m, n])), tri!(IntTuple::flat(&stride))));
            let atoms = [Tiler::Layout(&repeat), Tiler::Keep];
            let threads = [Tiler::Keep, Tiler::ByMode(&atoms)];
            frg = tri!(frg.compose_by(&Tiler::ByMode(&[Tiler::ByMode(&threads), Tiler::Keep])));
        }
        let rest = match self.thr_layout_vmnk.complement_self() {
            Err(LayoutError::NotInjective { stride }) => {
                return Err(LayoutError::AtomArrangement { value: stride, room: tri!(room(&self.atom)) });
            }
            rest => tri!(rest),
        };
        let inverse = tri!(tri!(Layout::concat(&[self.thr_layout_vmnk, rest])).right_inverse());
        let threads = self.thr_layout_vmnk.size();
        let domain =
            tri!(Layout::new(tri!(IntTuple::flat(&[threads, Int::ONE])), tri!(IntTuple::flat(&[Int::ONE, Int::ZERO]))));
        let thread_to_id = tri!(domain.compose(&inverse));
        frg.compose_by(&Tiler::ByMode(&[Tiler::Layout(&thread_to_id), Tiler::Keep]))
    }

    /// (thread, value) → coordinate in the tile of `operand`, one layout for each of its two axes.
    ///
    /// # Errors
    /// As [`tv`](Self::tv) and [`Layout::coordinate`].
    pub const fn tv_coordinates(&self, operand: Operand) -> Result<[Layout; 2], LayoutError> {
        let (x, y) = operand.axes();
        let tv = tri!(self.tv(operand));
        let tile = tri!(IntTuple::flat(&[self.tile(x), self.tile(y)]));
        Ok([tri!(tv.coordinate(&tile, 0)), tri!(tv.coordinate(&tile, 1))])
    }

    /// The part of `matrix` that thread `thread` holds, (value, rest…), and its offset: CuTe's `partition_A/B/C`.
    ///
    /// # Errors
    /// [`LayoutError::NoSuchThread`] and those of [`thrfrg`](Self::thrfrg).
    pub const fn partition(
        &self,
        operand: Operand,
        matrix: &Layout,
        thread: i64,
    ) -> Result<(Layout, i64), LayoutError> {
        // Without a swizzle the whole offset stands behind the layout.
        let matrix = ComposedLayout::new(Swizzle::IDENTITY, *matrix);
        let (part, offset) = tri!(self.partition_swizzled(operand, &matrix, thread));
        Ok((part.layout, offset))
    }

    /// As [`partition`](Self::partition) of a matrix behind a swizzle, and an offset to be added behind the swizzle: where what
    /// the thread has does not meet the swizzle, its part is a plain layout (see
    /// [`slice_and_offset`](ComposedLayout::slice_and_offset)).
    ///
    /// # Errors
    /// As [`partition`](Self::partition).
    pub const fn partition_swizzled(
        &self,
        operand: Operand,
        matrix: &ComposedLayout,
        thread: i64,
    ) -> Result<(ComposedLayout, i64), LayoutError> {
        let (threads, behind) = (self.thr_layout_vmnk.size(), self.thr_layout_vmnk.cosize());
        // Ids may have gaps, as a quad pair's: a thread in one shares another's part, as in CuTe.
        if thread < 0 || thread >= behind.value() && thread >= threads.value() {
            return Err(LayoutError::NoSuchThread { thread, threads, last: behind.sub(Int::ONE) });
        }
        let (x, y) = operand.axes();
        let frg = tri!(self.thrfrg_swizzled(operand, matrix));
        let coord = self.thr_layout_vmnk.coord_of(thread);
        let flat = [
            tri!(crate::crd2idx(&coord.mode(0), &self.thr_layout_vmnk.shape.mode(0))),
            tri!(crate::crd2idx(&coord.mode(x + 1), &self.thr_layout_vmnk.shape.mode(x + 1))),
            tri!(crate::crd2idx(&coord.mode(y + 1), &self.thr_layout_vmnk.shape.mode(y + 1))),
        ];
        let atoms = [Coord::At(flat[1]), Coord::At(flat[2])];
        let threads = [Coord::At(flat[0]), Coord::ByMode(&atoms)];
        let all = [Coord::All; IntTuple::MAX_LEAVES];
        let rest = frg.layout.mode(1).mode(1);
        let values =
            [Coord::All, if rest.rank() > 1 { Coord::ByMode(all.split_at(rest.rank()).0) } else { Coord::All }];
        frg.slice_and_offset(&Coord::ByMode(&[Coord::ByMode(&threads), Coord::ByMode(&values)]))
    }
}
