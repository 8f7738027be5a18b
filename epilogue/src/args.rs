//! The values that an expression holds, flattened.

use warpwright_numeric::{Dtype, Element};
use warpwright_runtime::{AsView, AsViewMut, RawView, RawViewMut, TensorError};
use warpwright_spec::MAX_ARGUMENTS;

/// One argument of an epilogue.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    /// A number of the host, held in f64 and narrowed to the compute type.
    Number(f64),
    /// Memory that the kernel reads: a matrix, a vector, or scalars.
    Read(RawView<'a>),
    /// Memory that the kernel writes: what a sink stores.
    Write(RawViewMut<'a>),
    /// Nothing, where an operand may be absent.
    Absent,
    /// An operand that is no view: a slice of elements below a byte, which are not packed. Binding it is an error.
    Unreadable(Dtype),
    /// An output whose elements share memory. Binding it is an error.
    Overlapping,
}

impl<'a> Arg<'a> {
    /// What `v` holds.
    pub fn of<T: Element, V: AsView<T> + ?Sized>(v: &'a V) -> Arg<'a> {
        v.as_view().map_or(Arg::Unreadable(T::DTYPE), |view| Arg::Read(view.raw()))
    }

    /// What `v` is, to be written.
    pub fn of_mut<T: Element, V: AsViewMut<T> + ?Sized>(v: &'a mut V) -> Arg<'a> {
        match v.as_view_mut() {
            Ok(view) => Arg::Write(view.into_raw()),
            Err(TensorError::NotPacked { .. }) => Arg::Unreadable(T::DTYPE),
            Err(_) => Arg::Overlapping,
        }
    }

    /// What `v` holds, if there is one.
    pub fn of_option<T: Element, V: AsView<T> + ?Sized>(v: Option<&'a V>) -> Arg<'a> {
        v.map_or(Arg::Absent, Arg::of)
    }
}

/// The arguments of an epilogue in the tree's pre-order, children left to right: at most [`MAX_ARGUMENTS`], inline.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    items: [Option<Arg<'a>>; MAX_ARGUMENTS],
    pushed: usize,
}

impl<'a> Args<'a> {
    /// No arguments.
    pub const fn new() -> Args<'a> {
        Args { items: [None; MAX_ARGUMENTS], pushed: 0 }
    }

    /// Appends one. What exceeds the capacity is counted but not kept, and binding such a list is an error.
    pub fn push(&mut self, arg: Arg<'a>) {
        if let Some(slot) = self.items.get_mut(self.pushed) {
            *slot = Some(arg);
        }
        self.pushed += 1;
    }

    /// How many were pushed.
    pub const fn len(&self) -> usize {
        self.pushed
    }

    /// Whether none was pushed.
    pub const fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// The argument at a position.
    pub fn get(&self, i: usize) -> Option<Arg<'a>> {
        self.items.get(i).copied().flatten()
    }

    /// The arguments in order.
    pub fn iter(&self) -> impl Iterator<Item = Arg<'a>> + '_ {
        self.items.iter().flatten().copied()
    }
}

impl Default for Args<'_> {
    fn default() -> Self {
        Args::new()
    }
}

impl<'a> Extend<Arg<'a>> for Args<'a> {
    fn extend<I: IntoIterator<Item = Arg<'a>>>(&mut self, args: I) {
        args.into_iter().for_each(|a| self.push(a));
    }
}

impl<'a> FromIterator<Arg<'a>> for Args<'a> {
    fn from_iter<I: IntoIterator<Item = Arg<'a>>>(args: I) -> Self {
        let mut list = Args::new();
        list.extend(args);
        list
    }
}
