//! What one thread holds of a tile.

use generic_array::sequence::GenericSequence;
use generic_array::{ArrayLength, GenericArray};

use crate::Layout;

/// The `N` values that one thread of a (thread, value) layout holds: CuTe's register tensor, on the host.
///
/// ```
/// use generic_array::typenum::U4;
/// use warpwright_layout::atom::MmaAtom;
/// use warpwright_layout::{Fragment, Operand, TiledMma, layout};
///
/// // The accumulators of m16n8k16: four a thread, in a column-major 16 x 8 tile.
/// let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &layout!((1, 1, 1)))?;
/// let tv = mma.tv(Operand::C)?;
/// let tile: Vec<i32> = (0..128).collect();
/// let held = Fragment::<i32, U4>::gather(&tv, 5, &tile).unwrap();
/// // Thread 5: rows 1 and 9, columns 2 and 3.
/// assert_eq!(held.values(), [1 + 16 * 2, 1 + 16 * 3, 9 + 16 * 2, 9 + 16 * 3]);
/// # Ok::<(), warpwright_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment<T, N: ArrayLength> {
    values: GenericArray<T, N>,
}

/// A fragment that does not fit its layout, or a layout that does not fit its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FragmentError {
    /// The layout has another number of values a thread, or more modes than thread and value.
    Values {
        /// Values that the layout gives a thread; 0 if it has not two modes.
        layout: i64,
        /// Values that the fragment holds.
        fragment: usize,
    },
    /// No such thread.
    Thread {
        /// The thread.
        thread: i64,
        /// Threads of the layout.
        threads: i64,
    },
    /// An offset beyond the data.
    Offset {
        /// The offset.
        offset: i64,
        /// Elements of the data.
        len: usize,
    },
}

impl core::fmt::Display for FragmentError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            FragmentError::Values { layout, fragment } => write!(
                f,
                "the layout gives a thread {layout} values and the fragment holds {fragment}: they must be equal, in a layout of (thread, value)"
            ),
            FragmentError::Thread { thread, threads } => {
                write!(f, "thread {thread} is not one of the layout's {threads}")
            }
            FragmentError::Offset { offset, len } => {
                write!(f, "the layout reaches offset {offset}, but the data has {len} elements")
            }
        }
    }
}

impl core::error::Error for FragmentError {}

impl<T, N: ArrayLength> Fragment<T, N> {
    /// Value by value.
    pub fn generate(f: impl FnMut(usize) -> T) -> Self {
        Fragment { values: GenericArray::generate(f) }
    }

    /// What `thread` of a (thread, value) layout holds of `data`.
    ///
    /// # Errors
    /// [`FragmentError`].
    pub fn gather(tv: &Layout, thread: i64, data: &[T]) -> Result<Self, FragmentError>
    where
        T: Copy,
    {
        let places = Self::places(tv, thread, data.len())?;
        Ok(Fragment { values: GenericArray::generate(|v| data[places[v]]) })
    }

    /// Writes the values to where `thread` of a (thread, value) layout holds them.
    ///
    /// # Errors
    /// [`FragmentError`]; `data` is then as it was.
    pub fn scatter(self, tv: &Layout, thread: i64, data: &mut [T]) -> Result<(), FragmentError> {
        let places = Self::places(tv, thread, data.len())?;
        for (at, value) in places.into_iter().zip(self.values) {
            data[at] = value;
        }
        Ok(())
    }

    /// The values in the layout's order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The values in the layout's order, to be written.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    fn places(tv: &Layout, thread: i64, len: usize) -> Result<GenericArray<usize, N>, FragmentError> {
        let given = if tv.rank() == 2 { tv.mode(1).size().value() } else { 0 };
        if given != N::I64 {
            return Err(FragmentError::Values { layout: given, fragment: N::USIZE });
        }
        let threads = tv.mode(0).size().value();
        if !(0..threads).contains(&thread) {
            return Err(FragmentError::Thread { thread, threads });
        }
        let offsets = GenericArray::<i64, N>::generate(|v| tv.eval_at(&[thread, v as i64]));
        match offsets.iter().find(|at| usize::try_from(**at).map_or(true, |at| at >= len)) {
            Some(&offset) => Err(FragmentError::Offset { offset, len }),
            None => Ok(GenericArray::generate(|v| offsets[v] as usize)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atom::MmaAtom;
    use crate::{Operand, TiledMma, layout};
    use generic_array::typenum::{U4, U8};

    /// A warp multiplies from fragments alone and its accumulators land where the layout says.
    #[test]
    fn a_warp_multiplies_from_its_fragments() {
        let mma = TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32]).unwrap(), &layout!((1, 1, 1))).unwrap();
        let [a_tv, b_tv, c_tv] = [Operand::A, Operand::B, Operand::C].map(|o| mma.tv(o).unwrap());
        let a: Vec<i32> = (0..256).map(|i| i % 7 - 3).collect();
        let b: Vec<i32> = (0..128).map(|i| i % 5 - 2).collect();
        // Fragments put back together are the tiles.
        let (mut a_again, mut b_again) = (vec![0; 256], vec![0; 128]);
        for thread in 0..32 {
            Fragment::<i32, U8>::gather(&a_tv, thread, &a).unwrap().scatter(&a_tv, thread, &mut a_again).unwrap();
            Fragment::<i32, U4>::gather(&b_tv, thread, &b).unwrap().scatter(&b_tv, thread, &mut b_again).unwrap();
        }
        assert_eq!((&a_again, &b_again), (&a, &b));
        let mut c = vec![0; 128];
        let [rows, columns] = mma.tv_coordinates(Operand::C).unwrap();
        for thread in 0..32 {
            let held = Fragment::<i32, U4>::generate(|v| {
                let (m, n) =
                    (rows.eval_at(&[thread, v as i64]) as usize, columns.eval_at(&[thread, v as i64]) as usize);
                (0..16).map(|k| a[m + 16 * k] * b[n + 8 * k]).sum()
            });
            held.scatter(&c_tv, thread, &mut c).unwrap();
        }
        for m in 0..16 {
            for n in 0..8 {
                assert_eq!(c[m + 16 * n], (0..16).map(|k| a[m + 16 * k] * b[n + 8 * k]).sum::<i32>(), "({m}, {n})");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let tv = layout!((4, 2):(2, 1));
        let of = |thread, data: &[u8]| Fragment::<u8, U4>::gather(&tv, thread, data).unwrap_err().to_string();
        assert_eq!(
            of(0, &[0; 8]),
            "the layout gives a thread 2 values and the fragment holds 4: they must be equal, in a layout of (thread, value)"
        );
        let two = |thread, data: &[u8]| {
            Fragment::<u8, generic_array::typenum::U2>::gather(&tv, thread, data)
                .map(|f| f.values().to_vec())
                .map_err(|e| e.to_string())
        };
        assert_eq!(two(4, &[0; 8]), Err("thread 4 is not one of the layout's 4".into()));
        assert_eq!(two(3, &[0; 7]), Err("the layout reaches offset 7, but the data has 7 elements".into()));
        assert_eq!(two(1, &[0, 1, 2, 3, 4, 5, 6, 7]), Ok(vec![2, 3]));
    }
}
