//! What values of one line of D become together: blocks with scale factors, and a row's largest values.

use crate::Node;
use warpwright_numeric::Dtype;

/// Values that are divided by a scale factor that their block shares, and how the scale factors are stored.
///
/// Of a block with the largest magnitude `a` the scale factor is `a / max`, `max` being the largest finite value of `element`, rounded
/// to `scale`: to nearest in floats, saturating in `e4m3`; up, so that no value exceeds `max`, in `e8m0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockScales {
    /// What the values are stored as.
    pub element: Dtype,
    /// What scale factors are stored as.
    pub scale: Dtype,
    /// Values of a block; the last block of a line may have fewer.
    pub block: u16,
    /// How blocks lie.
    pub run: BlockRun,
    /// How scale factors lie in memory.
    pub order: ScaleOrder,
}

/// The direction of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockRun {
    /// A block is of one row of D.
    AlongRows,
    /// A block is of one column of D.
    AlongColumns,
}

/// How scale factors lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScaleOrder {
    /// As a matrix of any strides: of blocks along rows M x ceil(N / block), of those along columns ceil(M / block) x N.
    Strided,
    /// In the atoms of 128 lines by 4 blocks that tensor cores read, 512 bytes each, those of 128 lines one behind another.
    InAtoms,
}

impl BlockScales {
    /// Lines of an atom.
    pub const ATOM_LINES: usize = 128;
    /// Blocks of each of them.
    pub const ATOM_BLOCKS: usize = 4;
    /// Scale factors of an atom.
    pub const ATOM: usize = Self::ATOM_LINES * Self::ATOM_BLOCKS;

    /// Rows and columns of the matrix of an M x N output's scale factors; of those in atoms, rows of atoms, and all that such a row has.
    pub const fn extents(&self, m: usize, n: usize) -> [usize; 2] {
        let block = if self.block == 0 { 1 } else { self.block as usize };
        let (lines, blocks) = match self.run {
            BlockRun::AlongRows => (m, n.div_ceil(block)),
            BlockRun::AlongColumns => (n, m.div_ceil(block)),
        };
        match (self.order, self.run) {
            (ScaleOrder::Strided, BlockRun::AlongRows) => [lines, blocks],
            (ScaleOrder::Strided, BlockRun::AlongColumns) => [blocks, lines],
            (ScaleOrder::InAtoms, _) => {
                [lines.div_ceil(Self::ATOM_LINES), blocks.div_ceil(Self::ATOM_BLOCKS) * Self::ATOM]
            }
        }
    }

    /// Whether elements, scale factors and blocks are of the kinds that exist.
    pub const fn is_legal(&self) -> bool {
        let element = matches!(self.element, Dtype::E4m3 | Dtype::E5m2 | Dtype::E3m2 | Dtype::E2m3 | Dtype::E2m1);
        let scale = match self.order {
            ScaleOrder::Strided => matches!(self.scale, Dtype::F32 | Dtype::E8m0 | Dtype::E4m3),
            ScaleOrder::InAtoms => matches!(self.scale, Dtype::E8m0 | Dtype::E4m3),
        };
        element && scale && matches!(self.block, 16 | 32 | 64 | 128)
    }
}

/// A step of an epilogue whose values depend on their neighbours in a line of D.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineStep {
    /// Division by the scale factor of a block.
    Quantize(BlockScales),
    /// The softmax of so many of a row's largest values; 0 for the others.
    TopKSoftmax(u8),
}

impl LineStep {
    /// Neighbours whose values are joined first, before those of a whole block or row.
    pub const UNIT: usize = 16;

    /// The direction of lines.
    pub const fn run(self) -> BlockRun {
        match self {
            LineStep::Quantize(scales) => scales.run,
            LineStep::TopKSoftmax(_) => BlockRun::AlongRows,
        }
    }

    /// Numbers that a unit is joined to.
    pub const fn joined(self) -> usize {
        match self {
            LineStep::Quantize(_) => 1,
            LineStep::TopKSoftmax(k) => k as usize,
        }
    }

    /// Numbers that a value is computed from, beside itself.
    pub const fn settled(self) -> usize {
        match self {
            LineStep::Quantize(_) => 1,
            LineStep::TopKSoftmax(_) => 3,
        }
    }

    /// Numbers that a tile keeps: those of its units, then those of its blocks or rows. `of_line` of its elements lie along a line, in
    /// so many `lines`.
    pub const fn numbers(self, of_line: usize, lines: usize) -> [usize; 2] {
        let unit = Self::unit(of_line);
        let span = match self {
            LineStep::Quantize(scales) if scales.block > 0 => scales.block as usize,
            _ => of_line,
        };
        [of_line / unit * lines * self.joined(), of_line.div_ceil(span) * lines * self.settled()]
    }

    /// Values of a unit in a tile.
    pub const fn unit(of_line: usize) -> usize {
        if of_line.is_multiple_of(Self::UNIT) { Self::UNIT } else { 8 }
    }
}

impl Node {
    /// What of this node's values depends on their neighbours in a line, if anything does.
    pub const fn line_step(&self) -> Option<LineStep> {
        match *self {
            Node::Sink(crate::Sink::Quantize(scales), _) => Some(LineStep::Quantize(scales)),
            Node::TopKSoftmax(k, _) => Some(LineStep::TopKSoftmax(k)),
            _ => None,
        }
    }

    /// How many steps of the tree are of lines.
    pub const fn line_steps(&self) -> usize {
        let mut n = self.line_step().is_some() as usize;
        let children = self.children();
        let mut i = 0;
        while i < children.len() {
            if let Some(child) = children[i] {
                n += child.line_steps();
            }
            i += 1;
        }
        n
    }

    /// Whether a tile has to hold whole rows of D.
    pub const fn keeps_rows(&self) -> bool {
        if let Some(LineStep::TopKSoftmax(_)) = self.line_step() {
            return true;
        }
        let children = self.children();
        let mut i = 0;
        while i < children.len() {
            if let Some(child) = children[i]
                && child.keeps_rows()
            {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Numbers that a tile of these extents, which are the user's, keeps for its lines.
    pub const fn line_numbers(&self, tile_m: usize, tile_n: usize) -> usize {
        let mut n = 0;
        if let Some(step) = self.line_step() {
            let [units, spans] = match step.run() {
                BlockRun::AlongRows => step.numbers(tile_n, tile_m),
                BlockRun::AlongColumns => step.numbers(tile_m, tile_n),
            };
            n += units + spans;
        }
        let children = self.children();
        let mut i = 0;
        while i < children.len() {
            if let Some(child) = children[i] {
                n += child.line_numbers(tile_m, tile_n);
            }
            i += 1;
        }
        n
    }
}

/// As users write it, up to the parenthesis.
impl core::fmt::Display for BlockScales {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = match self.run {
            BlockRun::AlongRows => "quantize_rows",
            BlockRun::AlongColumns => "quantize_columns",
        };
        let atoms = if matches!(self.order, ScaleOrder::InAtoms) { ", atoms" } else { "" };
        write!(f, "{name}<{}, {}, {}{atoms}>", self.element.name(), self.scale.name(), self.block)
    }
}
