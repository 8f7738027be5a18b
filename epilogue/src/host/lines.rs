//! Steps whose values depend on their neighbours in a line of D: all of a tile is seen before they are known.

use super::arena::{Lane, Lanes};
use super::lanes::Real;
use super::{Accumulators, Along, Evaluator, Scratch, Segment};
use crate::bound::Slot;
use crate::{LineValues, Program};
use warpwright_layout::Layout;
use warpwright_layout::scale_factors::atom;
use warpwright_numeric::{block_factor, block_scale};
use warpwright_spec::{BlockRun, BlockScales, LineStep, ScaleOrder};

/// A rectangle of D, in the user's coordinates: a tile, or what of it exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Region {
    /// Batch entry or group.
    pub batch: usize,
    /// First row.
    pub m: usize,
    /// First column.
    pub n: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
}

/// What is known of a tile's lines.
#[derive(Default, Debug)]
pub(super) struct TileLines {
    region: Region,
    /// Of each step.
    known: Vec<Known>,
}

/// Of each block, or row: lines one after the other.
#[derive(Default, Debug)]
struct Known {
    /// Blocks of a line.
    spans: usize,
    /// What was seen so far.
    joined: Vec<f32>,
    /// What values are computed from.
    settled: Vec<f32>,
}

/// Values that are joined to one: a block's, or a row's.
fn span(step: LineStep, region: Region) -> usize {
    match step {
        LineStep::Quantize(scales) => usize::from(scales.block),
        LineStep::TopKSoftmax(_) => region.columns.max(1),
    }
}

impl TileLines {
    fn begin(&mut self, program: &Program, region: Region) {
        self.region = region;
        self.known.resize_with(program.lines().len(), Known::default);
        for (known, line) in self.known.iter_mut().zip(program.lines()) {
            let [lines, length] = match line.step.run() {
                BlockRun::AlongRows => [region.rows, region.columns],
                BlockRun::AlongColumns => [region.columns, region.rows],
            };
            known.spans = length.div_ceil(span(line.step, region));
            let (identity, numbers) = match line.step {
                LineStep::Quantize(_) => (0.0, 1),
                LineStep::TopKSoftmax(k) => (f32::NEG_INFINITY, usize::from(k)),
            };
            known.joined.clear();
            known.joined.resize(lines * known.spans * numbers, identity);
            known.settled.clear();
            known.settled.resize(lines * known.spans * line.step.settled(), 0.0);
        }
    }

    /// The block of an element: which line of the region, and which span of it.
    fn place(&self, step: LineStep, at: Segment, i: usize) -> [usize; 2] {
        let (m, n) = match at.along {
            Along::N => (at.m, at.n + i),
            Along::M => (at.m + i, at.n),
        };
        let (m, n) = (m - self.region.m, n - self.region.n);
        match step.run() {
            BlockRun::AlongRows => [m, n / span(step, self.region)],
            BlockRun::AlongColumns => [n, m / span(step, self.region)],
        }
    }

    fn join(&mut self, number: usize, step: LineStep, at: Segment, i: usize, x: f32) {
        let [line, span] = self.place(step, at, i);
        let known = &mut self.known[number];
        let numbers = step.joined();
        let first = (line * known.spans + span) * numbers;
        let joined = &mut known.joined[first..first + numbers];
        match step {
            LineStep::Quantize(_) => joined[0] = larger(joined[0], x.abs()),
            LineStep::TopKSoftmax(_) => insert(joined, x),
        }
    }

    fn settle(&mut self, number: usize, step: LineStep) {
        let known = &mut self.known[number];
        let joined = known.joined.chunks_exact(step.joined());
        for (joined, settled) in joined.zip(known.settled.chunks_exact_mut(step.settled())) {
            match step {
                LineStep::Quantize(scales) => {
                    settled[0] = block_factor(block_scale(joined[0], scales.element, scales.scale));
                }
                LineStep::TopKSoftmax(_) => {
                    let largest = joined[0];
                    let least = if largest.is_nan() { largest } else { joined[joined.len() - 1] };
                    settled.copy_from_slice(&[least, largest, joined.iter().map(|&x| exp(x - largest)).sum()]);
                }
            }
        }
    }

    /// The values of a step.
    pub(super) fn values<R: Real>(
        &self,
        number: usize,
        line: &LineValues,
        at: Segment,
        x: Lanes<'_, R>,
        row: &mut [R],
    ) -> Lane<R> {
        let known = &self.known[number];
        for (i, y) in row.iter_mut().enumerate() {
            let [of, span] = self.place(line.step, at, i);
            let numbers = line.step.settled();
            let settled = &known.settled[(of * known.spans + span) * numbers..][..numbers];
            let x = x.at(i);
            *y = match line.step {
                LineStep::Quantize(_) => x * R::narrow(settled[0].into()),
                LineStep::TopKSoftmax(_) => {
                    let x = x.to_f32();
                    let kept = if x < settled[0] { 0.0 } else { exp(x - settled[1]) / settled[2] };
                    R::narrow(kept.into())
                }
            };
        }
        Lane::Row
    }
}

/// NaN if either is.
#[allow(clippy::eq_op, reason = "a value that differs from itself is NaN")]
fn larger(a: f32, b: f32) -> f32 {
    if a > b || a != a { a } else { b }
}

/// Puts a number where it belongs among others, the largest first, and drops the last. NaN is larger than all.
fn insert(sorted: &mut [f32], mut x: f32) {
    for place in sorted {
        if larger(*place, x).to_bits() != place.to_bits() {
            core::mem::swap(place, &mut x);
        }
    }
}

/// The true value, rounded once.
fn exp(x: f32) -> f32 {
    f64::from(x).exp() as f32
}

impl Evaluator<'_> {
    /// How often all segments of a tile go through [`measure`](Self::measure) before they can be
    /// [evaluated](Self::evaluate).
    pub fn passes(&self) -> usize {
        self.program.passes()
    }

    /// Begins a tile: what of it exists. Blocks that share a scale factor are within it, and so are rows whose largest values count.
    pub fn begin(&self, region: Region, scratch: &mut Scratch) {
        scratch.lines.begin(self.program, region);
    }

    /// Looks at a segment for what its values and their neighbours become together, in one pass of [`passes`](Self::passes).
    ///
    /// # Panics
    /// If the segment is not within the region that was begun.
    pub fn measure(&self, pass: usize, at: Segment, acc: Accumulators<'_>, scratch: &mut Scratch) {
        let _ = self.evaluate(at, acc, scratch);
        for (number, line) in self.program.lines().iter().enumerate().filter(|(_, line)| line.pass == pass) {
            // Their scratch is needed for the values.
            let mut lines = core::mem::take(&mut scratch.lines);
            let values = self.stored(line.value, at.batch, acc, scratch);
            for i in 0..values.len() {
                lines.join(number, line.step, at, i, values.get(i).unwrap_or_default() as f32);
            }
            scratch.lines = lines;
        }
    }

    /// Ends a pass over the region's segments, and stores its scale factors.
    ///
    /// # Safety
    /// Nobody else uses the scale factors of the region's blocks.
    pub unsafe fn settle(&self, pass: usize, scratch: &mut Scratch) {
        let lines = &mut scratch.lines;
        for (number, line) in self.program.lines().iter().enumerate().filter(|(_, line)| line.pass == pass) {
            lines.settle(number, line.step);
            let (LineStep::Quantize(scales), Some(argument)) = (line.step, line.argument) else { continue };
            let Slot::Output { view, .. } = &self.slots[argument] else { continue };
            let Region { batch, m, n, .. } = lines.region;
            let block = usize::from(scales.block);
            let (line, span) = match scales.run {
                BlockRun::AlongRows => (m, n / block),
                BlockRun::AlongColumns => (n, m / block),
            };
            let known = &lines.known[number];
            for (i, &amax) in known.joined.iter().enumerate() {
                let at = scale_place(scales, line + i / known.spans, span + i % known.spans);
                let scale = block_scale(amax, scales.element, scales.scale);
                // SAFETY: as the caller vouches.
                unsafe { view.encode_at(batch, at[0], at[1], scale.into()) };
            }
        }
    }
}

/// Row and column of the scale factor of a line's block.
fn scale_place(scales: BlockScales, line: usize, block: usize) -> [usize; 2] {
    match (scales.order, scales.run) {
        (ScaleOrder::Strided, BlockRun::AlongRows) => [line, block],
        (ScaleOrder::Strided, BlockRun::AlongColumns) => [block, line],
        (ScaleOrder::InAtoms, _) => {
            const ATOM: Layout = atom();
            let (lines, blocks) = (BlockScales::ATOM_LINES, BlockScales::ATOM_BLOCKS);
            let within = ATOM.eval_at(&[(line % lines) as i64, (block % blocks) as i64]);
            [line / lines, block / blocks * BlockScales::ATOM + within as usize]
        }
    }
}
