//! Copy atoms.

use crate::layout::Builder;
use crate::{Int, IntTuple, Layout, LayoutError, layout, tri};

/// One copy instruction: which bits each thread reads and writes.
///
/// The three layouts take (thread, bit) to a bit of one common block of data; `reference` is the one by which the atom is
/// tiled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CopyAtom {
    /// Logical thread to thread index within the atom's threads.
    pub thr_id: Layout,
    /// (thread, bit) → bit, on the source side.
    pub src: Layout,
    /// (thread, bit) → bit, on the destination side.
    pub dst: Layout,
    /// (thread, bit) → bit, of the side that tiles.
    pub reference: Layout,
}

impl CopyAtom {
    /// One thread copies `bits` bits: a register move, a vector load or store, or `cp.async`.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for no bits.
    pub const fn universal(bits: u32) -> Result<Self, LayoutError> {
        if bits == 0 {
            return Err(LayoutError::Count { what: "the copied bits", value: 0 });
        }
        let shape = tri!(IntTuple::flat(&[Int::ONE, Int::Static(bits as i64)]));
        let l = tri!(Layout::column_major(shape));
        Ok(Self { thr_id: layout!(1:0), src: l, dst: l, reference: l })
    }

    /// `cp.async` of `bytes` bytes: 4, 8 or 16.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for any other width.
    pub const fn cp_async(bytes: u32) -> Result<Self, LayoutError> {
        match bytes {
            4 | 8 | 16 => Self::universal(8 * bytes),
            _ => Err(LayoutError::Count { what: "bytes of cp.async, 4, 8 or 16,", value: bytes as i64 }),
        }
    }

    /// `ldmatrix.m8n8.x{matrices}{.trans}.b16`: the source is shared memory, one 16-byte row a lane.
    ///
    /// # Errors
    /// [`LayoutError::Count`] unless there are 1, 2 or 4 matrices.
    pub const fn ldmatrix(matrices: u32, transposed: bool) -> Result<Self, LayoutError> {
        let rows = tri!(matrix_rows(matrices));
        let fragment = tri!(matrix_fragment(matrices as i64, transposed));
        Ok(Self { thr_id: layout!(32:1), src: rows, dst: fragment, reference: fragment })
    }

    /// `stmatrix.m8n8.x{matrices}{.trans}.b16`: the destination is shared memory, one 16-byte row a lane.
    ///
    /// # Errors
    /// [`LayoutError::Count`] unless there are 1, 2 or 4 matrices.
    pub const fn stmatrix(matrices: u32, transposed: bool) -> Result<Self, LayoutError> {
        let load = tri!(Self::ldmatrix(matrices, transposed));
        Ok(Self { src: load.dst, dst: load.src, ..load })
    }
}

/// The 16-byte row of each lane; lanes beyond the rows repeat them.
const fn matrix_rows(matrices: u32) -> Result<Layout, LayoutError> {
    match matrices {
        1 => Ok(layout!(((8, 4), 128):((128, 0), 1))),
        2 => Ok(layout!(((16, 2), 128):((128, 0), 1))),
        4 => Ok(layout!((32, 128):(128, 1))),
        _ => Err(LayoutError::Count { what: "matrices of ldmatrix, 1, 2 or 4,", value: matrices as i64 }),
    }
}

const fn matrix_fragment(matrices: i64, transposed: bool) -> Result<Layout, LayoutError> {
    let mut b = Builder::new();
    b.open();
    if transposed {
        b.open();
        b.leaf(Int::Static(4), Int::Static(256));
        b.leaf(Int::Static(8), Int::Static(16));
        b.close();
        b.open();
        b.leaf(Int::Static(16), Int::ONE);
        b.leaf(Int::Static(2), Int::Static(128));
    } else {
        b.leaf(Int::Static(32), Int::Static(32));
        if matrices > 1 {
            b.open();
        }
        b.leaf(Int::Static(32), Int::ONE);
    }
    if matrices > 1 {
        b.leaf(Int::Static(matrices), Int::Static(1024));
    }
    if transposed || matrices > 1 {
        b.close();
    }
    b.close();
    b.finish()
}
