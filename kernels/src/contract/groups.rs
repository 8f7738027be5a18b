//! The extents and places of a problem's groups, read when they are needed.

use super::arguments::{self, Arguments};
use warpwright_runtime::RawView;
use warpwright_schedulers::{GroupTiles, Tiles};
use warpwright_spec::{Bounded, Extents, Groups, KernelPlan, Mnk, Problem};

/// The groups of one run. Made when the run begins, as a device's prefix-sum launch is; what lies only in the device's memory
/// is read through it when work is fetched, and is held to the declared bounds, since nothing could check it before.
#[derive(Debug)]
pub(crate) struct GroupTable<'a> {
    problem: &'a Problem,
    arguments: Arguments<'a>,
    tile: Mnk,
    transposed: bool,
    /// Where each group begins along the mode that groups share (rows or depth), and the end of the last one.
    starts: Vec<usize>,
}

impl<'a> GroupTable<'a> {
    pub(crate) fn new(plan: &KernelPlan, problem: &'a Problem, arguments: Arguments<'a>) -> GroupTable<'a> {
        let mut table =
            GroupTable { problem, arguments, tile: plan.tile, transposed: plan.transposed, starts: Vec::new() };
        let (total, along): (usize, fn(Mnk) -> usize) = match problem.extents {
            Extents::Ragged { .. } => (arguments.a.extents()[1].min(arguments.d.extents()[1]), |x| x.m),
            Extents::KGrouped { .. } => (arguments.a.extents()[2].min(arguments.b.extents()[1]), |x| x.k),
            _ => return table,
        };
        let mut start = 0;
        let mut starts = vec![0];
        for g in 0..problem.groups() {
            start = total.min(start + along(table.declared(g)));
            starts.push(start);
        }
        table.starts = starts;
        table
    }

    /// A group's extents in the user's terms, before they are held to the operands' own.
    fn declared(&self, group: usize) -> Mnk {
        if let Some(known) = self.problem.group(group) {
            return known;
        }
        let bound = self.problem.bound();
        let read = |name: &str, word: usize, at_most: usize| {
            let view = self.arguments.extra(name);
            let x = view.map_or(0.0, |v| v.decode_at(0, group, word));
            (x.max(0.0) as usize).min(at_most)
        };
        match self.problem.extents {
            Extents::Grouped(_) => Mnk {
                m: read(arguments::EXTENTS, 0, bound.m),
                n: read(arguments::EXTENTS, 1, bound.n),
                k: read(arguments::EXTENTS, 2, bound.k),
            },
            Extents::Ragged { .. } | Extents::Masked { .. } => Mnk { m: read(arguments::ROWS, 0, bound.m), ..bound },
            Extents::KGrouped { .. } => Mnk { k: read(arguments::DEPTHS, 0, bound.k), ..bound },
            _ => bound,
        }
    }

    /// A group's extents in the user's terms.
    pub(crate) fn extents(&self, group: usize) -> Mnk {
        let mut mnk = self.declared(group);
        let span = |g: usize| self.starts[g + 1] - self.starts[g];
        match self.problem.extents {
            Extents::Ragged { .. } => mnk.m = mnk.m.min(span(group)),
            Extents::KGrouped { .. } => mnk.k = mnk.k.min(span(group)),
            Extents::Masked { capacity, .. } => mnk.m = mnk.m.min(capacity),
            _ => {}
        }
        mnk
    }

    /// Where a group begins along M and K of the operands that all groups share.
    pub(crate) fn start(&self, group: usize) -> (usize, usize) {
        match self.problem.extents {
            Extents::Ragged { .. } => (self.starts[group], 0),
            Extents::KGrouped { .. } => (0, self.starts[group]),
            _ => (0, 0),
        }
    }

    /// Where a group's operand is: an address, its strides along rows and columns in elements, and the elements from the address
    /// to its first.
    pub(crate) fn place(&self, which: Which, group: usize) -> (u64, [usize; 2], usize) {
        let (address, [by_batch, by_row, by_column], bases, strides) = match which {
            Which::A => {
                (self.arguments.a.address(), self.arguments.a.strides(), arguments::BASES_A, arguments::STRIDES_A)
            }
            Which::B => {
                (self.arguments.b.address(), self.arguments.b.strides(), arguments::BASES_B, arguments::STRIDES_B)
            }
            Which::D => {
                (self.arguments.d.address(), self.arguments.d.strides(), arguments::BASES_D, arguments::STRIDES_D)
            }
        };
        let strides = match self.arguments.extra(strides) {
            Some(view) => [0, 1].map(|i| view.decode_at(0, group, i).max(0.0) as usize),
            None => [by_row as usize, by_column as usize],
        };
        if let Some(view) = self.arguments.extra(bases) {
            return (address_at(&view, group), strides, 0);
        }
        let (m, k) = self.start(group);
        let shared = match (&self.problem.extents, which) {
            (Extents::Ragged { .. }, Which::A | Which::D) => m * strides[0],
            (Extents::KGrouped { .. }, Which::A) => k * strides[1],
            (Extents::KGrouped { .. }, Which::B) => k * strides[0],
            _ => group * by_batch as usize,
        };
        (address, strides, shared)
    }
}

/// An operand that is addressed by group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    A,
    B,
    D,
}

/// The address in row `group` of an array of addresses.
fn address_at(view: &RawView<'_>, group: usize) -> u64 {
    let word = |i| view.decode_at(0, group, i) as i32 as u32;
    u64::from(word(0)) | u64::from(word(1)) << 32
}

impl GroupTiles for GroupTable<'_> {
    fn tiles(&self, group: usize) -> Tiles {
        let mnk = self.extents(group);
        Tiles::covering(if self.transposed { mnk.swapped() } else { mnk }, self.tile)
    }
}

/// The extra operands that a problem needs, and those of its optional ones that it `has`, with their rows and columns.
pub(crate) fn needed(problem: &Problem, has: impl Fn(&str) -> bool) -> Bounded<(&'static str, usize, usize), 8> {
    let groups = problem.groups();
    let by_address = matches!(problem.extents, Extents::PointerArray { .. });
    let mut list = match &problem.extents {
        Extents::Grouped(Groups::Device { .. }) => Bounded::new().with((arguments::EXTENTS, groups, 3)),
        Extents::Ragged { rows: Groups::Device { .. }, .. } | Extents::Masked { rows: Groups::Device { .. }, .. } => {
            Bounded::new().with((arguments::ROWS, groups, 1))
        }
        Extents::KGrouped { depths: Groups::Device { .. }, .. } => Bounded::new().with((arguments::DEPTHS, groups, 1)),
        _ => Bounded::new(),
    };
    for name in [arguments::BASES_A, arguments::BASES_B, arguments::BASES_D] {
        if by_address || has(name) {
            list = list.with((name, groups, 2));
        }
    }
    for name in [arguments::STRIDES_A, arguments::STRIDES_B, arguments::STRIDES_D] {
        if has(name) {
            list = list.with((name, groups, 2));
        }
    }
    list
}
