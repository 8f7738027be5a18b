//! Copies and multiplications by tiled atoms, as all their threads together do them.

use core::ops::{Add, Mul};

use super::{Read, Tensor, TensorError, Write};
use crate::{IntTuple, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma};

/// Linear coordinates in a tensor of `shape`.
fn coordinates(shape: IntTuple) -> Result<Layout, LayoutError> {
    // Extents of 1 get stride 0, which is right: their coordinate is always 0.
    Layout::column_major(shape)
}

impl TiledCopy {
    /// Copies a tensor as the threads together do: each its part, element by element.
    ///
    /// # Errors
    /// [`TensorError::Sizes`] for tensors of different sizes, [`TensorError::Bounds`], and those of
    /// [`partition`](Self::partition).
    pub fn copy<S, D>(&self, source: &Tensor<S>, destination: &mut Tensor<D>) -> Result<(), TensorError>
    where
        S: Read,
        D: Write<Element = S::Element>,
    {
        let (left, right) = (source.size(), destination.size());
        if left != right {
            return Err(TensorError::Sizes { operation: "tiled copy", left, right });
        }
        let places = coordinates(destination.layout().layout.shape())?;
        for thread in 0..self.threads() {
            let (part, offset) = self.partition(Side::Destination, &places, thread)?;
            for i in 0..part.size().value() {
                let at = offset + part.eval(i);
                destination.write(at, source.read(at)?)?;
            }
        }
        Ok(())
    }

    /// Loads a thread's registers: element `i` of the fragment is element `i` of the thread's part on the destination
    /// side, wherever the copy reads it. Of `ldmatrix`, this is what lands in the thread.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn load<S, D>(&self, thread: i64, source: &Tensor<S>, fragment: &mut Tensor<D>) -> Result<(), TensorError>
    where
        S: Read,
        D: Write<Element = S::Element>,
    {
        let places = coordinates(source.layout().layout.shape())?;
        let (part, offset) = self.partition(Side::Destination, &places, thread)?;
        fits(&part, fragment.size())?;
        (0..fragment.size()).try_for_each(|i| fragment.write(i, source.read(offset + part.eval(i))?))
    }

    /// Stores a thread's registers: element `i` of the fragment is element `i` of the thread's part on the source side.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn store<S, D>(&self, thread: i64, fragment: &Tensor<S>, destination: &mut Tensor<D>) -> Result<(), TensorError>
    where
        S: Read,
        D: Write<Element = S::Element>,
    {
        let places = coordinates(destination.layout().layout.shape())?;
        let (part, offset) = self.partition(Side::Source, &places, thread)?;
        fits(&part, fragment.size())?;
        (0..fragment.size()).try_for_each(|i| destination.write(offset + part.eval(i), fragment.read(i)?))
    }
}

fn fits(part: &Layout, fragment: i64) -> Result<(), TensorError> {
    let left = part.size().value();
    if left == fragment {
        return Ok(());
    }
    Err(TensorError::Sizes { operation: "a thread's part and its fragment", left, right: fragment })
}

/// The repetitions of a fragment's modes 1 and 2.
fn rests<E: super::Engine>(fragment: &Tensor<E>) -> Result<[i64; 3], TensorError> {
    let layout = &fragment.layout().layout;
    if layout.rank() != 3 {
        let needed = "fragments of (values, rest, rest), as partitioning a matrix gives them";
        return Err(TensorError::ShapeMismatch { operation: "tiled MMA", needed });
    }
    Ok([0, 1, 2].map(|mode| layout.mode(mode).size().value()))
}

impl TiledMma {
    /// `c += a · bᵀ` on the fragments of all threads, by the atom's own multiplications: `a[t]`, `b[t]` and `c[t]` are what
    /// thread `t` holds, (values, rest, rest) as [`partition`](Self::partition) gives them. Threads of atoms along k sum
    /// into accumulators of their own.
    ///
    /// # Errors
    /// [`TensorError::Threads`], [`TensorError::ShapeMismatch`], [`TensorError::Sizes`] and [`TensorError::Bounds`].
    pub fn gemm<A, B, C>(&self, a: &[Tensor<A>], b: &[Tensor<B>], c: &mut [Tensor<C>]) -> Result<(), TensorError>
    where
        A: Read<Element: Into<C::Element>>,
        B: Read<Element: Into<C::Element>>,
        C: Write,
        C::Element: Mul<Output = C::Element> + Add<Output = C::Element>,
    {
        let vmnk = self.thr_layout_vmnk();
        let atoms = [1, 2, 3].map(|mode| vmnk.mode(mode).size().value());
        for index in 0..atoms.iter().product() {
            let (am, an, ak) = (index % atoms[0], index / atoms[0] % atoms[1], index / (atoms[0] * atoms[1]));
            let threads: Vec<i64> = (0..vmnk.mode(0).size().value()).map(|v| vmnk.eval_at(&[v, am, an, ak])).collect();
            let given = a.len().min(b.len()).min(c.len());
            if let Some(&thread) = threads.iter().find(|&&thread| usize::try_from(thread).map_or(true, |t| t >= given))
            {
                return Err(TensorError::Threads { thread, given });
            }
            self.atom_gemm(&threads, a, b, c)?;
        }
        Ok(())
    }

    /// The multiplications of the threads of one atom.
    fn atom_gemm<A, B, C>(
        &self,
        threads: &[i64],
        a: &[Tensor<A>],
        b: &[Tensor<B>],
        c: &mut [Tensor<C>],
    ) -> Result<(), TensorError>
    where
        A: Read<Element: Into<C::Element>>,
        B: Read<Element: Into<C::Element>>,
        C: Write,
        C::Element: Mul<Output = C::Element> + Add<Output = C::Element>,
    {
        let first = threads.first().map_or(0, |t| *t as usize);
        let ([_, rm, rk], [_, rn, k]) = (rests(&a[first])?, rests(&b[first])?);
        if k != rk || rests(&c[first])?[1..] != [rm, rn] {
            let needed = "fragments a (values,m,k), b (values,n,k) and c (values,m,n) with the same m, n and k";
            return Err(TensorError::ShapeMismatch { operation: "tiled MMA", needed });
        }
        let [m, n, k] = self.atom().shape_mnk;
        for index in 0..rm * rn * rk {
            let (i, j, l) = (index % rm, index / rm % rn, index / (rm * rn));
            let at: Vec<C::Element> = self.gathered(Operand::A, threads, a, [i, l])?;
            let bt: Vec<C::Element> = self.gathered(Operand::B, threads, b, [j, l])?;
            let mut ct: Vec<C::Element> = self.gathered(Operand::C, threads, c, [i, j])?;
            for (place, sum) in ct.iter_mut().enumerate() {
                let (row, column) = (place as i64 % m, place as i64 / m);
                *sum = (0..k)
                    .fold(*sum, |sum, depth| sum + at[(row + m * depth) as usize] * bt[(column + n * depth) as usize]);
            }
            for (v, &thread) in threads.iter().enumerate() {
                let fragment = &mut c[thread as usize];
                let values = fragment.layout().layout.mode(0).size().value();
                for value in 0..values {
                    let place = self.atom().c.eval_at(&[v as i64, value]);
                    fragment.write(value + values * (i + rm * j), ct[place as usize])?;
                }
            }
        }
        Ok(())
    }

    /// One atom's matrix, column-major, put together from what its threads hold at the repetition `rest`.
    fn gathered<E, T>(
        &self,
        operand: Operand,
        threads: &[i64],
        fragments: &[Tensor<E>],
        rest: [i64; 2],
    ) -> Result<Vec<T>, TensorError>
    where
        E: Read<Element: Into<T>>,
        T: Copy,
    {
        let ([m, n, k], atom) = (self.atom().shape_mnk, self.atom());
        let (tv, size) = match operand {
            Operand::A => (&atom.a, m * k),
            Operand::B => (&atom.b, n * k),
            Operand::C => (&atom.c, m * n),
        };
        let mut matrix: Vec<Option<T>> = vec![None; size as usize];
        for (v, &thread) in threads.iter().enumerate() {
            let fragment = &fragments[thread as usize];
            let [values, first, _] = rests(fragment)?;
            let of_atom = tv.mode(1).size().value();
            if values != of_atom {
                return Err(TensorError::Sizes { operation: "an atom's values", left: of_atom, right: values });
            }
            for value in 0..values {
                let place = tv.eval_at(&[v as i64, value]) as usize;
                if matrix[place].is_none() {
                    matrix[place] = Some(fragment.read(value + values * (rest[0] + first * rest[1]))?.into());
                }
            }
        }
        let needed = "an atom whose threads hold every element";
        matrix
            .into_iter()
            .collect::<Option<Vec<T>>>()
            .ok_or(TensorError::ShapeMismatch { operation: "tiled MMA", needed })
    }
}
