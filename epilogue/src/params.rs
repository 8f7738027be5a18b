//! The epilogue's part of a kernel's parameters: described once, here; the C++ struct and the packed bytes follow it.

use warpwright_numeric::Dtype;
use warpwright_spec::{BlockScales, MAX_ARGUMENTS, Node, Reduction, Sink, Violation};

/// What a field of the parameters is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    /// A scalar: `{ pointer, batch stride, value }`. A null pointer means the value.
    Scalar,
    /// A vector along N of this element: `{ pointer, stride, batch stride }`.
    Row(Dtype),
    /// A vector along M: as [`FieldKind::Row`].
    Column(Dtype),
    /// An M x N matrix: `{ pointer, stride along M, stride along N, batch stride }`.
    Matrix(Dtype),
    /// An M x N matrix that is stored: as [`FieldKind::Matrix`].
    Store(Dtype),
    /// Bits that are stored: as [`FieldKind::Matrix`], of bytes.
    Mask,
    /// What a reduction stores: `{ pointer, stride, batch stride, partial results, values that remain, blocks, batch entries }`.
    Reduction(Reduction),
    /// An M x N matrix of bits: as [`FieldKind::Matrix`], its strides in bits.
    Bits,
    /// The scale factors of blocks: as [`FieldKind::Matrix`], of which the strides are those between scale factors; of atoms between
    /// rows of them.
    ScaleFactors(BlockScales),
}

/// The letter that a field's name begins with, and the struct that it is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stem {
    /// `s0`, a `ScalarArg`.
    Scalar,
    /// `v0`, a `VectorArg`.
    Vector,
    /// `t0`, a `TensorArg`.
    Tensor,
    /// `r0`, a `ReductionArg`.
    Reduction,
}

impl Stem {
    /// The first letter of the names.
    pub const fn letter(self) -> char {
        match self {
            Stem::Scalar => 's',
            Stem::Vector => 'v',
            Stem::Tensor => 't',
            Stem::Reduction => 'r',
        }
    }
    /// The C++ struct.
    pub const fn structure(self) -> &'static str {
        match self {
            Stem::Scalar => "ScalarArg",
            Stem::Vector => "VectorArg",
            Stem::Tensor => "TensorArg",
            Stem::Reduction => "ReductionArg",
        }
    }
    /// Bytes of the struct; all align to 8.
    pub const fn bytes(self) -> usize {
        match self {
            Stem::Scalar | Stem::Vector => 24,
            Stem::Tensor => 32,
            Stem::Reduction => 48,
        }
    }
}

impl FieldKind {
    /// How the field is called.
    pub const fn stem(self) -> Stem {
        match self {
            FieldKind::Scalar => Stem::Scalar,
            FieldKind::Row(_) | FieldKind::Column(_) => Stem::Vector,
            FieldKind::Matrix(_)
            | FieldKind::Store(_)
            | FieldKind::Mask
            | FieldKind::Bits
            | FieldKind::ScaleFactors(_) => Stem::Tensor,
            FieldKind::Reduction(_) => Stem::Reduction,
        }
    }
}

/// One field, for one argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// What it is for.
    pub kind: FieldKind,
    /// Which one of its stem, from 0: with the stem's letter, its name.
    pub ordinal: usize,
    /// Bytes from the start of the block.
    pub offset: usize,
}

impl core::fmt::Display for Field {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}{}", self.kind.stem().letter(), self.ordinal)
    }
}

/// The fields of an epilogue's parameters, in the order of its arguments. Offsets do not depend on the compute type, and
/// the alignment is always 8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ParamBlock {
    fields: [Field; MAX_ARGUMENTS],
    len: usize,
    size: usize,
    ordinals: [usize; 4],
}

impl ParamBlock {
    /// Bytes of the largest block.
    pub const MAX_BYTES: usize = MAX_ARGUMENTS * Stem::Reduction.bytes();
    /// What every block's address is a multiple of.
    pub const ALIGNMENT: usize = 8;

    /// The block of a tree.
    ///
    /// # Errors
    /// [`Violation::Arguments`] if the tree has more than [`MAX_ARGUMENTS`].
    pub const fn of(node: &Node) -> Result<ParamBlock, Violation> {
        let given = node.arguments();
        if given > MAX_ARGUMENTS {
            return Err(Violation::Arguments { given, at_most: MAX_ARGUMENTS });
        }
        let none = Field { kind: FieldKind::Scalar, ordinal: 0, offset: 0 };
        Ok(ParamBlock { fields: [none; MAX_ARGUMENTS], len: 0, size: 0, ordinals: [0; 4] }.with(node))
    }

    const fn with(mut self, node: &Node) -> ParamBlock {
        let kind = match *node {
            Node::LoadScalar(_) => Some(FieldKind::Scalar),
            Node::LoadRow(t) => Some(FieldKind::Row(t)),
            Node::LoadColumn(t) => Some(FieldKind::Column(t)),
            Node::LoadSource(t) | Node::LoadTile(t) => Some(FieldKind::Matrix(t)),
            Node::LoadMask => Some(FieldKind::Bits),
            Node::Sink(Sink::Matrix(t), _) => Some(FieldKind::Store(t)),
            Node::Sink(Sink::Mask, _) => Some(FieldKind::Mask),
            Node::Sink(Sink::Quantize(scales), _) => Some(FieldKind::ScaleFactors(scales)),
            Node::Sink(Sink::Reduce(reduction), _) => Some(FieldKind::Reduction(reduction)),
            _ => None,
        };
        if let Some(kind) = kind {
            let stem = kind.stem();
            self.fields[self.len] = Field { kind, ordinal: self.ordinals[stem as usize], offset: self.size };
            self.ordinals[stem as usize] += 1;
            self.len += 1;
            self.size += stem.bytes();
        }
        let children = node.children();
        let mut i = 0;
        while i < children.len() {
            if let Some(child) = children[i] {
                self = self.with(child);
            }
            i += 1;
        }
        self
    }

    /// The fields in the order of the arguments.
    pub const fn fields(&self) -> &[Field] {
        self.fields.split_at(self.len).0
    }

    /// Bytes of the block. Without arguments it is empty; C++ gives the empty struct one byte, which nobody writes.
    pub const fn size(&self) -> usize {
        self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fusion, IntoExpr, acc, relu, row, source, tile};

    fn node<E: IntoExpr>(_: E) -> &'static Node {
        E::Node::NODE
    }

    #[test]
    fn fields_follow_the_leaves() {
        let (v, c) = ([0f32; 4], [0f32; 4]);
        let block = ParamBlock::of(node(relu(2.0 * acc() + row(&v) + 0.5 * source(&c)) - tile(&c))).unwrap();
        let shown: Vec<_> = block.fields().iter().map(|f| (f.to_string(), f.offset)).collect();
        let want = [("s0", 0), ("v0", 24), ("s1", 48), ("t0", 72), ("t1", 104)].map(|(n, o)| (n.to_owned(), o));
        assert_eq!(shown, want);
        assert_eq!(block.size(), 136);
        assert_eq!(ParamBlock::of(&Node::LoadAcc).unwrap().size(), 0);
    }

    #[test]
    fn a_block_is_a_constant() {
        const SIZE: usize = match ParamBlock::of(&Node::LoadRow(Dtype::F16)) {
            Ok(block) => block.size(),
            Err(_) => 0,
        };
        assert_eq!(SIZE, 24);
    }

    #[test]
    fn too_many_arguments_are_refused() {
        let mut tree: &'static Node = &Node::LoadAcc;
        for i in 0..=MAX_ARGUMENTS {
            assert_eq!(ParamBlock::of(tree).is_ok(), i <= MAX_ARGUMENTS);
            tree = warpwright_spec::intern(Node::Combine(
                warpwright_spec::Operator::Plus,
                tree,
                warpwright_spec::intern(Node::LoadRow(Dtype::F32)),
            ));
        }
        assert!(matches!(ParamBlock::of(tree), Err(Violation::Arguments { given: 25, at_most: 24 })));
    }
}
