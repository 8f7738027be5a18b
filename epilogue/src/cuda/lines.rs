//! The text of steps whose values depend on their neighbours in a line of D.

use super::{INLINE, Writer, line};
use crate::{LineValues, Program};
use warpwright_layout::LayoutError;
use warpwright_layout::lower::index_function;
use warpwright_layout::scale_factors::atom;
use warpwright_spec::{BlockRun, BlockScales, LineStep, ScaleOrder};

/// Where a kernel keeps what a tile's lines become together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LineMemory {
    /// Rows and columns of a tile, in the kernel's terms.
    pub tile: [usize; 2],
    /// Whether the kernel's rows are the user's columns.
    pub transposed: bool,
    /// Bytes from the start of shared memory.
    pub offset: usize,
    /// Bytes of a tile.
    pub bytes: usize,
    /// Whether warp groups have tiles of their own, each with memory of its own.
    pub alternates: bool,
    /// Whether wgmma's fragments are visited, which have lines in their registers.
    pub fragments: bool,
}

impl LineMemory {
    /// Whether lines of D run along the kernel's rows.
    fn along_rows(self, run: BlockRun) -> bool {
        (run == BlockRun::AlongColumns) != self.transposed
    }
}

/// What an epilogue's text needs in front of it: how often all of a tile is seen, and what looks at lines then. It stands behind [`sinks`](super::sinks).
///
/// # Errors
/// An atom of scale factors that cannot be computed.
pub fn lines(program: &Program, memory: LineMemory) -> Result<String, LayoutError> {
    let mut text = format!("namespace cfg {{\nconstexpr int line_passes = {};\n}}\n", program.passes());
    if program.lines().is_empty() {
        return Ok(text);
    }
    let LineMemory { offset, bytes, alternates, .. } = memory;
    // Barriers 1 and 2 say whose turn it is.
    let (begin, barrier, rank) = if alternates {
        (
            format!("{offset} + threadIdx.x / 128 * {bytes}"),
            "ptx::barrier_sync(3 + threadIdx.x / 128, 128)",
            ["threadIdx.x % 128", "128"],
        )
    } else {
        (offset.to_string(), "Team::synchronize()", ["threadIdx.x", "Team::threads"])
    };
    line(&mut text, 0, format_args!("{INLINE} unsigned lines_begin() {{ return {begin}; }}"));
    line(&mut text, 0, format_args!("template <class Team>\nstruct LineTeam {{"));
    line(&mut text, 1, format_args!("static {INLINE} unsigned rank() {{ return {}; }}", rank[0]));
    line(&mut text, 1, format_args!("static {INLINE} unsigned threads() {{ return {}; }}", rank[1]));
    line(&mut text, 1, format_args!("static {INLINE} void synchronize() {{ {barrier}; }}\n}};"));
    line(&mut text, 0, format_args!("namespace idx {{"));
    text += &index_function("scale_atom", &atom().into(), &["line", "block"])?.to_string();
    line(&mut text, 0, format_args!("}}"));
    text += include_str!("../lines.cuh");
    if memory.fragments {
        text += include_str!("../lines_fragments.cuh");
    }
    let step_of = if memory.fragments { "FragmentLineStep" } else { "LineStep" };
    let slabs = program.stores().iter().filter(|store| super::sinks::keeps_lines(store.sink)).count();
    let mut from = 0;
    for (number, &LineValues { step, .. }) in program.lines().iter().enumerate() {
        let along_rows = memory.along_rows(step.run());
        let [m, n] = memory.tile;
        let (length, lines) = if along_rows { (m, n) } else { (n, m) };
        let (op, block) = match step {
            LineStep::Quantize(BlockScales { element, scale, block, .. }) => {
                let reciprocal = (1.0 / element.max_finite() as f32).to_bits();
                (format!("QuantizeOp<{}, {reciprocal:#x}>", scale.name()), block)
            }
            LineStep::TopKSoftmax(k) => (format!("TopKSoftmaxOp<{k}>"), 0),
        };
        let slab = slabs + number;
        let store = match step {
            LineStep::Quantize(scales) => store(scales),
            LineStep::TopKSoftmax(_) => "NoScales",
        };
        line(
            &mut text,
            0,
            format_args!("using Line{number} = {step_of}<{op}, {store}, {along_rows}, {block}, {slab}, {from}>;"),
        );
        let [units, spans] = step.numbers(length, lines);
        from += 4 * (units + spans);
    }
    Ok(text)
}

/// How a step's scale factors are stored.
fn store(scales: BlockScales) -> &'static str {
    match (scales.order, scales.run) {
        (ScaleOrder::Strided, BlockRun::AlongRows) => "StridedScales<false>",
        (ScaleOrder::Strided, BlockRun::AlongColumns) => "StridedScales<true>",
        (ScaleOrder::InAtoms, _) => "ScalesInAtoms",
    }
}

impl Writer<'_> {
    /// What is known of lines before a pass.
    pub(super) fn known_lines(&self, text: &mut String, pass: usize) {
        for (i, _) in self.program.lines().iter().enumerate().filter(|(_, line)| line.pass < pass) {
            let known =
                if self.accesses.fragments { "line.known(pair)".to_owned() } else { format!("Line{i}::known<V>(c)") };
            line(text, 2, format_args!("const auto line{i} = {known};"));
        }
    }

    /// The one step that fragments have: what it keeps, and how a pair's values get there.
    fn fragment_lines(&self, text: &mut String) {
        let Some(&LineValues { value, argument: Some(argument), .. }) = self.program.lines().first() else { return };
        line(text, 1, format_args!("using Line = Line0;"));
        line(text, 1, format_args!("mutable Line line;"));
        line(text, 1, format_args!("mutable unsigned pair;"));
        line(text, 1, format_args!("template <int V>"));
        let values = "const Accumulator (&acc)[V], const Loads<V>& l";
        line(
            text,
            1,
            format_args!("{INLINE} void measure({values}, const EpilogueParams& p, const Coordinates& c) const {{"),
        );
        line(text, 2, format_args!("float y[V];"));
        line(text, 0, format_args!("#pragma unroll"));
        line(text, 2, format_args!("for (int v = 0; v < V; ++v) {{"));
        self.steps(text, |i| self.program.pass_of(i) == 0);
        line(text, 3, format_args!("y[v] = {};", self.value(value)));
        line(text, 2, format_args!("}}"));
        line(text, 2, format_args!("line.template measure<V>(pair, c, y);"));
        line(text, 1, format_args!("}}"));
        line(
            text,
            1,
            format_args!(
                "{INLINE} void settle(const Params& params, const Work& w, unsigned row, unsigned column) const {{"
            ),
        );
        line(text, 2, format_args!("line.settle(params.epilogue.{}, params, w, row, column);", self.field(argument)));
        line(text, 1, format_args!("}}"));
    }

    /// The passes over a tile that come before the one that stores it.
    pub(super) fn line_passes(&self, text: &mut String) {
        let passes = self.program.passes();
        if passes == 0 {
            return;
        }
        if self.accesses.fragments {
            return self.fragment_lines(text);
        }
        line(text, 1, format_args!("template <int pass, int V>"));
        let values = "const Accumulator (&acc)[V], const Loads<V>& l";
        line(
            text,
            1,
            format_args!("{INLINE} void measure({values}, const EpilogueParams& p, const Coordinates& c) const {{"),
        );
        line(text, 2, format_args!("const bool ends = subtile.template count<V>(c);"));
        for pass in 0..passes {
            let here = || self.program.lines().iter().enumerate().filter(move |(_, line)| line.pass == pass);
            line(text, 2, format_args!("if constexpr (pass == {pass}) {{"));
            self.known_lines(text, pass);
            for (i, _) in here() {
                line(text, 2, format_args!("float y{i}[V];"));
            }
            line(text, 0, format_args!("#pragma unroll"));
            line(text, 2, format_args!("for (int v = 0; v < V; ++v) {{"));
            self.steps(text, |i| self.program.pass_of(i) <= pass);
            for (i, LineValues { value, .. }) in here() {
                line(text, 3, format_args!("y{i}[v] = {};", self.value(*value)));
            }
            line(text, 2, format_args!("}}"));
            for (i, _) in here() {
                line(text, 2, format_args!("Line{i}::measure<V>(c, y{i}, ends, subtile);"));
            }
            line(text, 2, format_args!("}}"));
        }
        line(text, 1, format_args!("}}"));
        line(text, 1, format_args!("template <int pass, class Team>"));
        line(text, 1, format_args!("{INLINE} void settle(const Params& params, const Work& w) const {{"));
        line(text, 2, format_args!("using Lines = LineTeam<Team>;"));
        line(text, 2, format_args!("Lines::synchronize();"));
        for (i, LineValues { pass, argument, .. }) in self.program.lines().iter().enumerate() {
            let scales = argument.map_or("nullptr".to_owned(), |a| format!("&params.epilogue.{}", self.field(a)));
            line(
                text,
                2,
                format_args!(
                    "if constexpr (pass == {pass}) Line{i}::settle({scales}, params, w, Lines::rank(), Lines::threads());"
                ),
            );
        }
        line(text, 2, format_args!("Lines::synchronize();"));
        line(text, 1, format_args!("}}"));
    }
}
