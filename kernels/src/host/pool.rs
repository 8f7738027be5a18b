//! Memory for packed operands, kept between calls: fresh pages cost a sixth of a 1024 x 1024 x 1024 product in page faults.

use std::sync::{Mutex, PoisonError};

/// Most bytes that a pool keeps.
const MOST_KEPT: usize = 64 << 20;

/// Vectors that are not in use.
pub(crate) struct Pool<V>(Mutex<Vec<Vec<V>>>);

impl<V: Copy + Default> Pool<V> {
    pub(crate) const fn new() -> Pool<V> {
        Pool(Mutex::new(Vec::new()))
    }

    /// A vector of `len` numbers, of any values.
    pub(crate) fn take(&self, len: usize) -> Vec<V> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = kept.iter().position(|v| v.capacity() >= len && v.capacity() / 2 <= len);
        let mut v = fitting.map(|i| kept.swap_remove(i)).unwrap_or_default();
        drop(kept);
        v.resize(len, V::default());
        v
    }

    /// Keeps a vector for later, unless there are enough.
    pub(crate) fn give(&self, v: Vec<V>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |v: &Vec<V>| v.capacity() * size_of::<V>();
        if kept.iter().map(bytes).sum::<usize>() + bytes(&v) <= MOST_KEPT {
            kept.push(v);
        }
    }
}
