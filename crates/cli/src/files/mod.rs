//! Matrices in files.

mod npy;
mod safe;
mod write;

pub use npy::to_bytes as npy_bytes;
pub use write::{check_target, place, write_atomically};

use crate::error::InputError;
use std::path::Path;
use warpwright::builder::auto::Placed;
use warpwright::{Dtype, Order, Strided};

/// What a file says of its elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// A type of ours, elements packed.
    Typed(Dtype),
    /// Bits of this many bytes that do not say their type, or unsigned integers that often stand for such.
    Raw {
        /// Bytes of an element.
        bytes: usize,
        /// In the file's words.
        found: String,
        /// What they are if nobody says otherwise.
        default: Option<Dtype>,
    },
}

/// An array as it lies in a file: dense, with the file's own dimensions.
#[derive(Debug)]
pub struct Array {
    /// What it is called in messages: the path, with the tensor.
    pub path: String,
    /// Its elements.
    pub stored: Stored,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Whether the first dimension is contiguous, rather than the last one.
    pub fortran: bool,
    /// The elements.
    pub bytes: Vec<u8>,
}

/// Reads `FILE.npy`, `FILE.safetensors` or `FILE.safetensors:TENSOR`.
pub fn read(spec: &str) -> Result<Array, InputError> {
    const SAFE: &str = ".safetensors";
    if let Some(at) = spec.rfind(".safetensors:") {
        return safe::read(&spec[..at + SAFE.len()], Some(&spec[at + SAFE.len() + 1..]));
    }
    match Path::new(spec).extension().and_then(|e| e.to_str()) {
        Some("npy") => npy::read(spec),
        Some("safetensors") => safe::read(spec, None),
        _ => Err(InputError::UnknownKind { path: spec.to_owned() }),
    }
}

fn bytes_of(path: &str) -> Result<Vec<u8>, InputError> {
    std::fs::read(path).map_err(|e| InputError::Unreadable { path: path.to_owned(), why: e.to_string() })
}

/// Bytes of a shape's elements, packed; `None` beyond what memory can hold.
fn packed_bytes(shape: &[usize], bits: usize) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    Some(elements.checked_mul(bits)?.div_ceil(8))
}

impl Array {
    /// The same elements with a type: what the file says, or what `wanted` makes of it. `flag` is the option that says so.
    pub fn typed(self, wanted: Option<Dtype>, flag: &str) -> Result<TypedArray, InputError> {
        let Array { path, stored, shape, fortran, bytes } = self;
        let (dtype, bytes) = match (stored, wanted) {
            (Stored::Typed(own), None) => (own, bytes),
            (Stored::Typed(own), Some(wanted)) if own == wanted => (own, bytes),
            (Stored::Typed(own), Some(wanted)) if own.is_float() && wanted.is_float() => {
                (wanted, rounded(own, wanted, &bytes, &shape))
            }
            (Stored::Typed(own), Some(wanted)) => {
                return Err(InputError::Retype { path, found: own.to_string(), wanted });
            }
            (Stored::Raw { default: Some(dtype), .. }, None) => (dtype, bytes),
            (Stored::Raw { bytes: size, found, default: None }, None) => {
                let example = if size == 2 { "bf16" } else { "e4m3" };
                return Err(InputError::RawType { path, found, bytes: size, flag: flag.to_owned(), example });
            }
            (Stored::Raw { bytes: 1, .. }, Some(wanted)) if wanted.bits() < 8 => (wanted, narrowed(wanted, &bytes)),
            (Stored::Raw { bytes: size, .. }, Some(wanted)) if wanted.bits() == 8 * size => (wanted, bytes),
            (Stored::Raw { found, .. }, Some(wanted)) => return Err(InputError::Retype { path, found, wanted }),
        };
        Ok(TypedArray { path, dtype, shape, fortran, bytes })
    }
}

/// Every element rounded to another type, to nearest.
fn rounded(from: Dtype, to: Dtype, bytes: &[u8], shape: &[usize]) -> Vec<u8> {
    let elements = shape.iter().product();
    let mut out = vec![0; to.packed_bytes(elements)];
    for i in 0..elements {
        to.encode(&mut out, i, from.decode(bytes, i));
    }
    out
}

/// Elements below a byte that lie one in a byte, in its low bits, as NumPy keeps them: packed.
fn narrowed(dtype: Dtype, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; dtype.packed_bytes(bytes.len())];
    for (i, &byte) in bytes.iter().enumerate() {
        dtype.encode(&mut out, i, dtype.decode_bits(u64::from(byte) & ((1 << dtype.bits()) - 1)));
    }
    out
}

/// An array whose elements have a type; packed.
#[derive(Clone, Debug)]
pub struct TypedArray {
    /// What it is called in messages.
    pub path: String,
    /// Its elements' type.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// Whether the first dimension is contiguous.
    pub fortran: bool,
    /// The elements.
    pub bytes: Vec<u8>,
}

/// A batch of matrices, each dense in the same order, one behind the other.
#[derive(Debug)]
pub struct Matrices {
    /// Their elements' type.
    pub dtype: Dtype,
    /// Batch entries, rows, columns.
    pub extents: [usize; 3],
    /// How each lies in memory.
    pub order: Order,
    /// The elements, packed.
    pub bytes: Vec<u8>,
}

impl TypedArray {
    /// Two dimensions are a matrix, three a batch of them. In Fortran order a matrix is column-major; a batch in Fortran
    /// order interleaves its matrices, which no kernel reads, so it is copied.
    pub fn matrices(self, what: &str) -> Result<Matrices, InputError> {
        let (extents, fortran) = match *self.shape.as_slice() {
            [m, n] => ([1, m, n], self.fortran),
            [b, m, n] => ([b, m, n], self.fortran),
            _ => {
                let expected = "2 dimensions, or 3 for a batch of matrices";
                return Err(InputError::Dimensions {
                    path: self.path,
                    shape: self.shape,
                    what: what.to_owned(),
                    expected,
                });
            }
        };
        let order = if fortran { Order::ColumnMajor } else { Order::RowMajor };
        let bytes =
            if fortran && extents[0] > 1 { deinterleaved(self.dtype, extents, &self.bytes) } else { self.bytes };
        Ok(Matrices { dtype: self.dtype, extents, order, bytes })
    }

    /// One dimension, or two of which one is 1: a vector that lies along N (a row) or along M (a column).
    pub fn vector(self, what: &str, along_n: bool) -> Result<Matrices, InputError> {
        let long = self.shape.iter().filter(|&&extent| extent != 1).count();
        if !(1..=2).contains(&self.shape.len()) || long > 1 {
            let expected = "1 dimension, or 3 for a batch of vectors";
            return Err(InputError::Dimensions { path: self.path, shape: self.shape, what: what.to_owned(), expected });
        }
        let len = self.shape.iter().product();
        let (extents, order) = if along_n { ([1, 1, len], Order::RowMajor) } else { ([1, len, 1], Order::ColumnMajor) };
        Ok(Matrices { dtype: self.dtype, extents, order, bytes: self.bytes })
    }
}

impl Matrices {
    /// How they lie.
    pub fn layout(&self) -> Strided {
        let [batch, rows, cols] = self.extents;
        Strided::dense_batch(batch, rows, cols, self.order)
    }

    /// Where they are to a plan, once they are in memory.
    pub fn placed(&self) -> Placed {
        Placed { address: 0, dtype: self.dtype, layout: self.layout() }
    }

    /// The same elements, each matrix in this order.
    pub fn in_order(&self, order: Order) -> Matrices {
        let Matrices { dtype, extents: [batch, rows, cols], order: own, ref bytes } = *self;
        let mut out = bytes.clone();
        let at = |order, m: usize, n: usize| if order == Order::RowMajor { m * cols + n } else { n * rows + m };
        for entry in (0..batch).map(|b| b * rows * cols) {
            for (m, n) in (0..rows).flat_map(|m| (0..cols).map(move |n| (m, n))) {
                dtype.encode(&mut out, entry + at(order, m, n), dtype.decode(bytes, entry + at(own, m, n)));
            }
        }
        Matrices { dtype, extents: self.extents, order, bytes: out }
    }
}

/// From batch fastest to one column-major matrix behind the other.
fn deinterleaved(dtype: Dtype, [batch, rows, cols]: [usize; 3], bytes: &[u8]) -> Vec<u8> {
    let each = rows * cols;
    let mut out = vec![0; dtype.packed_bytes(batch * each)];
    for b in 0..batch {
        for i in 0..each {
            dtype.encode(&mut out, b * each + i, dtype.decode(bytes, i * batch + b));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(stored: Stored, shape: &[usize], fortran: bool, bytes: Vec<u8>) -> Array {
        Array { path: "x.npy".into(), stored, shape: shape.to_vec(), fortran, bytes }
    }
    fn raw(bytes: usize, default: Option<Dtype>) -> Stored {
        Stored::Raw { bytes, found: format!("'V{bytes}'"), default }
    }

    #[test]
    fn raw_bits_need_a_type_of_their_size() {
        let two = || array(raw(2, None), &[1, 1], false, vec![0x80, 0x3f]);
        let typed = two().typed(Some(Dtype::Bf16), "--type-a").unwrap();
        assert_eq!(typed.dtype.decode(&typed.bytes, 0), 1.0);
        let text = two().typed(None, "--type-a").unwrap_err().to_string();
        assert_eq!(
            text,
            "x.npy holds raw 2-byte elements ('V2'), which do not say their type: give --type-a (as in bf16)"
        );
        assert!(two().typed(Some(Dtype::F32), "--type-a").is_err());
    }

    #[test]
    fn floats_are_rounded_and_integers_are_not_guessed() {
        let one = |x: f32| array(Stored::Typed(Dtype::F32), &[1, 1], false, x.to_le_bytes().to_vec());
        let typed = one(1.0 + 2f32.powi(-12)).typed(Some(Dtype::F16), "--type-a").unwrap();
        assert_eq!(Dtype::F16.decode(&typed.bytes, 0), 1.0);
        assert!(one(1.0).typed(Some(Dtype::I8), "--type-a").is_err());
    }

    #[test]
    fn a_fortran_batch_is_taken_apart() {
        // Element (b, m, n) is 100 b + 10 m + n, stored with b fastest.
        let (batch, rows, cols) = (2, 2, 3);
        let mut bytes = Vec::new();
        for n in 0..cols {
            for m in 0..rows {
                for b in 0..batch {
                    bytes.push((100 * b + 10 * m + n) as u8);
                }
            }
        }
        let matrices = array(Stored::Typed(Dtype::U8), &[batch, rows, cols], true, bytes)
            .typed(None, "")
            .unwrap()
            .matrices("A")
            .unwrap();
        assert_eq!(matrices.order, Order::ColumnMajor);
        assert_eq!(matrices.bytes, [0, 10, 1, 11, 2, 12, 100, 110, 101, 111, 102, 112]);
    }

    #[test]
    fn nibbles_are_packed() {
        let typed = array(raw(1, None), &[1, 3], false, vec![0x0f, 0x03, 0xf8]).typed(Some(Dtype::I4), "").unwrap();
        assert_eq!((0..3).map(|i| Dtype::I4.decode(&typed.bytes, i)).collect::<Vec<_>>(), [-1.0, 3.0, -8.0]);
    }
}
