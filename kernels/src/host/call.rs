//! A call as a mainloop's host semantics see it: in the kernel's terms, group by group.

use super::operand::Lines;
use crate::contract::{Arguments, GroupTable, SCALES_A, SCALES_B, Which, ZERO_POINTS};
use warpwright_runtime::RawView;
use warpwright_schedulers::TileSpace;
use warpwright_spec::{KernelPlan, Mnk, Problem};

/// One call. In a transposed plan the kernel's first operand is the user's B; everything here is in the kernel's terms unless it
/// says otherwise.
#[derive(Debug)]
pub struct HostCall<'a> {
    plan: &'a KernelPlan,
    problem: &'a Problem,
    arguments: Arguments<'a>,
    groups: GroupTable<'a>,
    space: TileSpace,
}

/// Values that several elements of a line share: scale factors or zero points of one operand.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// The matrix, with lines of blocks and blocks along K.
    pub lines: Lines,
    /// Lines of the operand that share one; 0: all do.
    pub per_line: usize,
    /// Steps of K that share one; 0: all do.
    pub per_k: usize,
}

/// Which of the kernel's operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first: its lines are the tile's rows.
    First,
    /// The second: its lines are the tile's columns.
    Second,
}

impl<'a> HostCall<'a> {
    pub(crate) fn new(
        plan: &'a KernelPlan,
        problem: &'a Problem,
        arguments: Arguments<'a>,
        wave: usize,
    ) -> HostCall<'a> {
        let groups = GroupTable::new(plan, problem, arguments);
        HostCall { plan, problem, arguments, groups, space: TileSpace::new(plan, problem, wave) }
    }

    /// The plan.
    pub fn plan(&self) -> &'a KernelPlan {
        self.plan
    }
    /// The problem, in the user's terms.
    pub fn problem(&self) -> &'a Problem {
        self.problem
    }
    /// The tiles of the launch.
    pub fn space(&self) -> &TileSpace {
        &self.space
    }
    /// An extra operand, in the user's terms.
    pub fn extra(&self, name: &str) -> Option<RawView<'a>> {
        self.arguments.extra(name)
    }
    pub(crate) fn groups(&self) -> &GroupTable<'a> {
        &self.groups
    }
    /// A group's extents.
    pub fn extents(&self, group: usize) -> Mnk {
        let mnk = self.groups.extents(group);
        if self.plan.transposed { mnk.swapped() } else { mnk }
    }

    fn is_a(&self, side: Side) -> bool {
        (side == Side::First) != self.plan.transposed
    }

    /// A group's operand.
    pub fn operand(&self, side: Side, group: usize) -> Lines {
        let is_a = self.is_a(side);
        let (which, dtype) = if is_a { (Which::A, self.plan.spec.a) } else { (Which::B, self.plan.spec.b) };
        let (address, [by_row, by_column], first) = self.groups.place(which, group);
        let (line_stride, k_stride) = if is_a { (by_row, by_column) } else { (by_column, by_row) };
        Lines { base: core::ptr::with_exposed_provenance(address as usize), dtype, first, line_stride, k_stride }
    }

    /// The scale factors of a group's operand, if it has any.
    pub fn scales(&self, side: Side, group: usize) -> Option<Shares> {
        let is_a = self.is_a(side);
        let scales = self.plan.spec.scales;
        let (name, per_line) = if is_a { (SCALES_A, scales.m) } else { (SCALES_B, scales.n) };
        if !scales.any() || per_line == 0 { None } else { self.shares(name, is_a, per_line, group) }
    }

    /// The zero points of a group's operand, if it has any.
    pub fn zero_points(&self, side: Side, group: usize) -> Option<Shares> {
        let scales = self.plan.spec.scales;
        if !scales.zero_points || self.is_a(side) { None } else { self.shares(ZERO_POINTS, false, scales.n, group) }
    }

    fn shares(&self, name: &str, is_a: bool, per_line: usize, group: usize) -> Option<Shares> {
        let view = self.arguments.extra(name)?;
        let [batch, ..] = view.extents();
        let [by_batch, by_row, by_column] = view.strides().map(|s| s as usize);
        let (line_stride, k_stride) = if is_a { (by_row, by_column) } else { (by_column, by_row) };
        let per_k = self.plan.spec.scales.k;
        let (m, k) = self.groups.start(group);
        let block = |at: usize, per: usize| at.checked_div(per).unwrap_or(0);
        let line = if is_a { block(m, per_line) } else { 0 };
        // Operands that all groups share have one entry.
        let entry = if batch > 1 { group * by_batch } else { 0 };
        let first = entry + line * line_stride + block(k, per_k) * k_stride;
        let base = core::ptr::with_exposed_provenance(view.address() as usize);
        Some(Shares { lines: Lines { base, dtype: view.dtype(), first, line_stride, k_stride }, per_line, per_k })
    }
}
