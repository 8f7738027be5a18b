//! A short list by value, for const context.

/// At most `N` values of a plain type; usable in const fns, comparable, no heap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bounded<T: Copy, const N: usize> {
    items: [Option<T>; N],
    len: usize,
}

impl<T: Copy, const N: usize> Bounded<T, N> {
    /// No values.
    pub const fn new() -> Self {
        Bounded { items: [None; N], len: 0 }
    }
    /// One more value. Past the capacity, evaluation fails: in const context a compile error.
    pub const fn with(mut self, item: T) -> Self {
        assert!(self.len < N, "a bounded list is full");
        self.items[self.len] = Some(item);
        self.len += 1;
        self
    }
    /// How many values there are.
    pub const fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The value at a position.
    pub const fn get(&self, i: usize) -> Option<T> {
        if i < self.len { self.items[i] } else { None }
    }
    /// The same list with the value at `i` replaced.
    pub const fn replaced(mut self, i: usize, item: T) -> Self {
        assert!(i < self.len, "no such value in a bounded list");
        self.items[i] = Some(item);
        self
    }
    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.items[..self.len].iter().flatten().copied()
    }
}

impl<T: Copy, const N: usize> Default for Bounded<T, N> {
    fn default() -> Self {
        Self::new()
    }
}
