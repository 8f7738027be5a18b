//! The rows that an evaluation computes.

/// What a step computed: one value for all elements, or its row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lane<T> {
    Splat(T),
    Row,
}

/// Values to read.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'x, T> {
    Splat(T),
    Row(&'x [T]),
}

impl<T: Copy> Lanes<'_, T> {
    pub(super) fn at(self, i: usize) -> T {
        match self {
            Lanes::Splat(x) => x,
            Lanes::Row(xs) => xs[i],
        }
    }
}

/// Rows of values, and what each holds.
#[derive(Default, Debug)]
pub(super) struct Arena<T> {
    values: Vec<T>,
    lanes: Vec<Lane<T>>,
}

impl<T: Copy + Default> Arena<T> {
    /// Room for `rows` rows, all of them rows.
    pub(super) fn prepare(&mut self, rows: usize, width: usize) {
        if self.values.len() < rows * width {
            self.values.resize(rows * width, T::default());
        }
        self.lanes.clear();
        self.lanes.resize(rows, Lane::Row);
    }

    pub(super) fn row(&self, i: usize, width: usize) -> Lanes<'_, T> {
        Rows { values: &self.values, lanes: &self.lanes, width }.get(i)
    }

    pub(super) fn row_mut(&mut self, i: usize, width: usize) -> &mut [T] {
        &mut self.values[i * width..(i + 1) * width]
    }

    /// The rows before row `i`, and that row with its lane, to be written.
    pub(super) fn split(&mut self, i: usize, width: usize) -> (Rows<'_, T>, &mut [T], &mut Lane<T>) {
        let (values, rest) = self.values.split_at_mut(i * width);
        let (lanes, lane) = self.lanes.split_at_mut(i);
        (Rows { values, lanes, width }, &mut rest[..width], &mut lane[0])
    }

    /// A row as a slice: one value for all is written out.
    pub(super) fn materialize(&mut self, i: usize, width: usize) -> &[T] {
        let lane = self.lanes[i];
        let row = self.row_mut(i, width);
        if let Lane::Splat(x) = lane {
            row.fill(x);
        }
        row
    }
}

/// Finished rows.
#[derive(Clone, Copy)]
pub(super) struct Rows<'x, T> {
    values: &'x [T],
    lanes: &'x [Lane<T>],
    width: usize,
}

impl<'x, T: Copy> Rows<'x, T> {
    pub(super) fn get(self, i: usize) -> Lanes<'x, T> {
        match self.lanes[i] {
            Lane::Splat(x) => Lanes::Splat(x),
            Lane::Row => Lanes::Row(&self.values[i * self.width..(i + 1) * self.width]),
        }
    }
}
