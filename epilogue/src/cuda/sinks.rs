//! The text of what is stored beside D.

use super::{INLINE, Writer, line, width};
use crate::{Field, FieldKind, Number, Program, SideStore, Value};
use warpwright_spec::{Axes, Reducer, Reduction, Sink};

/// What the text of stores is made of; it stands behind [`ACCESS`](super::ACCESS).
const SINKS: &str = include_str!("../sinks.cuh");

/// Threads of a block of the launch that ends reductions.
pub const FINISH_THREADS: u32 = 256;

/// Values of a reduction that one of its blocks ends at a time.
pub const fn finished_at_once(all: bool, atomic: bool) -> usize {
    match (atomic, all) {
        (true, _) => FINISH_THREADS as usize,
        (false, true) => 1,
        // Eight threads share the parts of each.
        (false, false) => FINISH_THREADS as usize / 8,
    }
}

/// What an epilogue's text needs in front of it, if it stores anything beside D or looks at lines: so many warps run it, and so many
/// of them on one tile.
pub fn sinks(program: &Program, [warps, tile_warps]: [usize; 2]) -> String {
    if program.stores().is_empty() && program.lines().is_empty() {
        return String::new();
    }
    let mut text =
        format!("namespace cfg {{\nconstexpr unsigned epilogue_warps = {warps}, tile_warps = {tile_warps};\n}}\n");
    if !program.block().reduces() {
        // Templates name it.
        text += super::REDUCTION_ARG;
    }
    text + SINKS
}

/// `finish_reductions`, which ends the reductions: each has blocks of its own in y. Behind [`epilogue`](super::epilogue).
pub fn finish(program: &Program) -> String {
    let mut text = format!("{INLINE} void finish_reductions(const EpilogueParams& p) {{\n");
    for (number, (field, reduction)) in reductions(program).enumerate() {
        let Reduction { operator, axes, atomic } = reduction;
        let (operator, all) = (structure(operator), axes == Axes::All);
        line(
            &mut text,
            1,
            format_args!("if (blockIdx.y == {number}) finish_reduction<{operator}, {atomic}, {all}>(p.{field});"),
        );
    }
    text + "}\n"
}

fn reductions(program: &Program) -> impl Iterator<Item = (Field, Reduction)> + '_ {
    program.block().fields().iter().filter_map(|field| match field.kind {
        FieldKind::Reduction(reduction) => Some((*field, reduction)),
        _ => None,
    })
}

/// Whether a sink takes a slab of its own.
pub(super) fn keeps_lines(sink: Sink) -> bool {
    matches!(sink, Sink::Reduce(Reduction { axes: Axes::Rows | Axes::Columns, .. }))
}

fn structure(operator: Reducer) -> &'static str {
    match operator {
        Reducer::Sum => "ReduceSum",
        Reducer::Max => "ReduceMax",
        Reducer::Min => "ReduceMin",
        Reducer::Amax => "ReduceAmax",
        Reducer::SumOfSquares => "ReduceSumOfSquares",
    }
}

impl Writer<'_> {
    /// The members that keep reductions between visits.
    pub(super) fn store_members(&self, text: &mut String) {
        if let Some(FieldKind::Store(t)) = self.accesses.aux.map(|argument| self.field(argument).kind) {
            line(text, 1, format_args!("mutable Vector<{}, 2> aux;", t.name()));
        }
        if self.reduces_lines() || !self.program.lines().is_empty() {
            line(text, 1, format_args!("mutable SubtileVisits subtile;"));
        }
        let mut lines = 0;
        for (field, Reduction { operator, axes, atomic }) in reductions(self.program) {
            let operator = structure(operator);
            match axes {
                Axes::All => line(text, 1, format_args!("mutable ReduceAll<{operator}, {atomic}> whole_{field};")),
                axes => {
                    // Rows are the kernel's.
                    let rows = if axes == Axes::Rows { "!cfg::transposed" } else { "cfg::transposed" };
                    line(
                        text,
                        1,
                        format_args!("mutable ReduceLines<{operator}, {atomic}, {rows}, {lines}> whole_{field};"),
                    );
                    lines += 1;
                }
            }
        }
    }

    /// The arrays of values to be stored, in front of the loop over elements.
    pub(super) fn stored_values(&self, text: &mut String) {
        for (number, SideStore { value, .. }) in self.program.stores().iter().enumerate() {
            let ty = match value {
                Value::Accumulator => "Accumulator",
                Value::Scalar(_) | Value::Constant(_) => self.real,
                Value::Step(_) => match self.program.number(*value) {
                    Number::Real => self.real,
                    Number::Exact => "long long",
                },
            };
            line(text, 2, format_args!("{ty} y{number}[V];"));
        }
    }

    /// Their assignments, in the loop.
    pub(super) fn store_values(&self, text: &mut String) {
        for (number, SideStore { value, .. }) in self.program.stores().iter().enumerate() {
            line(text, 3, format_args!("y{number}[v] = {};", self.value(*value)));
        }
    }

    /// The stores, behind the loop.
    pub(super) fn store(&self, text: &mut String) {
        if self.reduces_lines() {
            line(text, 2, format_args!("const bool ends = subtile.template count<V>(c);"));
        }
        for (number, &SideStore { argument, sink, .. }) in self.program.stores().iter().enumerate() {
            let field = self.field(argument);
            match sink {
                Sink::Matrix(t) => {
                    let (name, access) = (t.name(), width(self.accesses.matrix, t));
                    let value = format!("Vector<{name}, V>::encode(y{number})");
                    if self.accesses.aux == Some(argument) {
                        line(text, 2, format_args!("aux = {value};"));
                    } else {
                        line(text, 2, format_args!("store_tile<{name}, {access}, V>(p.{field}, c, {value});"));
                    }
                }
                // No store, but a step.
                Sink::Quantize(_) => {}
                Sink::Mask => line(text, 2, format_args!("store_mask<V>(p.{field}, c, y{number});")),
                Sink::Reduce(Reduction { axes: Axes::All, .. }) => {
                    line(text, 2, format_args!("whole_{field}.template visit<V>(c, y{number});"));
                }
                Sink::Reduce(_) => {
                    line(
                        text,
                        2,
                        format_args!("whole_{field}.template visit<V>(p.{field}, c, y{number}, ends, subtile);"),
                    );
                }
            }
        }
    }

    /// What is stored once a tile, and whether visits care how many elements there are.
    pub(super) fn end(&self, text: &mut String) {
        let wholes: Vec<_> = reductions(self.program).filter(|(_, r)| r.axes == Axes::All).collect();
        line(text, 1, format_args!("static constexpr bool counts = {};", !wholes.is_empty()));
        line(text, 1, format_args!("{INLINE} void end(const EpilogueParams& p, const Work& w) const {{"));
        for (field, _) in wholes {
            line(text, 2, format_args!("whole_{field}.end(p.{field}, w);"));
        }
        line(text, 1, format_args!("}}"));
    }

    fn reduces_lines(&self) -> bool {
        reductions(self.program).any(|(_, r)| r.axes != Axes::All)
    }
}
