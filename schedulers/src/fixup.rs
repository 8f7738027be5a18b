//! Putting the parts of a tile together.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use warpwright_spec::Work;

/// A run of accumulators.
#[derive(Debug)]
pub enum Fragment<'a> {
    /// Of floating-point products.
    F32(&'a mut [f32]),
    /// Of f64 products.
    F64(&'a mut [f64]),
    /// Of integer products.
    I32(&'a mut [i32]),
}

impl Fragment<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Fragment::F32(x) => x.len(),
            Fragment::F64(x) => x.len(),
            Fragment::I32(x) => x.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        match self {
            Fragment::F32(x) => size_of_val(*x),
            Fragment::F64(x) => size_of_val(*x),
            Fragment::I32(x) => size_of_val(*x),
        }
    }

    fn store(&self, to: &mut [u8]) {
        match self {
            Fragment::F32(x) => {
                to.chunks_exact_mut(4).zip(x.iter()).for_each(|(t, x)| t.copy_from_slice(&x.to_ne_bytes()))
            }
            Fragment::F64(x) => {
                to.chunks_exact_mut(8).zip(x.iter()).for_each(|(t, x)| t.copy_from_slice(&x.to_ne_bytes()))
            }
            Fragment::I32(x) => {
                to.chunks_exact_mut(4).zip(x.iter()).for_each(|(t, x)| t.copy_from_slice(&x.to_ne_bytes()))
            }
        }
    }

    /// Adds what is stored, which comes earlier in K, to each accumulator.
    fn add(&mut self, from: &[u8]) {
        fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
            bytes.as_chunks::<N>().0.iter().copied()
        }
        match self {
            Fragment::F32(x) => x.iter_mut().zip(words(from)).for_each(|(x, w)| *x += f32::from_ne_bytes(w)),
            Fragment::F64(x) => x.iter_mut().zip(words(from)).for_each(|(x, w)| *x += f64::from_ne_bytes(w)),
            Fragment::I32(x) => {
                x.iter_mut().zip(words(from)).for_each(|(x, w)| *x = x.wrapping_add(i32::from_ne_bytes(w)))
            }
        }
    }
}

/// A tile's accumulators as fix-up sees them: subtiles, which it may visit in order and more than once.
pub trait Accumulators {
    /// How many subtiles there are.
    fn subtiles(&self) -> usize;
    /// The accumulators of one, in an order that is the same for every split of a tile.
    fn subtile(&mut self, index: usize) -> Fragment<'_>;
}

/// A slot's memory.
pub trait Partials: Sync {
    /// Calls `f` with the bytes, which nobody else uses meanwhile.
    fn with(&self, f: &mut dyn FnMut(&mut [u8]));
}

impl Partials for Mutex<&mut [u8]> {
    fn with(&self, f: &mut dyn FnMut(&mut [u8])) {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One slot of the workspace.
#[derive(Clone, Copy)]
pub struct Fixup<'a> {
    /// How many splits of the tile are in `partials`; zero before the first.
    pub flag: &'a AtomicU32,
    /// The tile's accumulators so far.
    pub partials: &'a dyn Partials,
    /// Set when the launch fails: nothing will be stored any more, so nobody may wait.
    pub abandoned: &'a AtomicBool,
}

impl Fixup<'_> {
    /// Waits until the flag reaches a value; false if the launch was abandoned.
    fn wait(&self, value: u32) -> bool {
        while self.flag.load(Ordering::Acquire) != value {
            if self.abandoned.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

/// Fix-up in the order of K: the first split stores its accumulators, each later one waits for its predecessor and adds; the
/// last keeps the sum for its epilogue and leaves the flag cleared.
///
/// A sum is (…(p0 + p1) + p2) + …, in the accumulator's type.
pub fn turnstile(work: &Work, accumulators: &mut dyn Accumulators, fixup: &Fixup<'_>) {
    let split = work.split as u32;
    if !fixup.wait(split) {
        return;
    }
    fixup.partials.with(&mut |partials| {
        let mut at = 0;
        for i in 0..accumulators.subtiles() {
            let mut fragment = accumulators.subtile(i);
            let slot = &mut partials[at..at + fragment.bytes()];
            at += slot.len();
            if split > 0 {
                fragment.add(slot);
            }
            if !work.last {
                fragment.store(slot);
            }
        }
    });
    fixup.flag.store(if work.last { 0 } else { split + 1 }, Ordering::Release);
}
