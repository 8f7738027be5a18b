//! What the algebra refuses, and where.

use core::fmt;

use crate::{Int, Swizzle};

/// The path of a mode inside a nested tuple: `(1,0)` is mode 0 of mode 1. The empty path is the whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ModePath {
    index: [u8; 7],
    depth: u8,
}

impl ModePath {
    /// The whole layout.
    pub const ROOT: Self = Self { index: [0; 7], depth: 0 };

    /// Mode `i` of this mode. Below depth 7 the path stays where it is.
    pub const fn child(mut self, i: usize) -> Self {
        if (self.depth as usize) < self.index.len() {
            self.index[self.depth as usize] = if i > 255 { 255 } else { i as u8 };
            self.depth += 1;
        }
        self
    }
}

impl ModePath {
    pub(crate) fn indices(&self) -> &[u8] {
        &self.index[..self.depth as usize]
    }
}

impl fmt::Display for ModePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.depth == 0 {
            return f.write_str("the whole");
        }
        f.write_str("mode ")?;
        for (i, m) in self.indices().iter().enumerate() {
            write!(f, "{}{m}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for ModePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A value beyond 64 bits, as an error holds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wide([u64; 2]);

impl Wide {
    /// Of a value parts of which are beyond 64 bits already.
    pub(crate) const UNKNOWN: Self = Self::of(i128::MAX);

    /// The value. In two halves it needs no alignment that would make every error larger.
    pub const fn of(value: i128) -> Self {
        Self([value as u64, (value >> 64) as u64])
    }

    /// The value; `None` where it is not known, but beyond 64 bits.
    pub const fn get(self) -> Option<i128> {
        let value = (self.0[1] as i128) << 64 | self.0[0] as i128;
        if value == i128::MAX { None } else { Some(value) }
    }
}

impl fmt::Display for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => value.fmt(f),
            None => f.write_str("more than 64 bits"),
        }
    }
}

impl fmt::Debug for Wide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a layout operation was refused: CuTe's static assertions as values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LayoutError {
    /// Shape and stride (or coordinate and shape) do not have the same nesting.
    NotCongruent {
        /// Number of modes of the first tuple.
        left: usize,
        /// Number of modes of the second tuple.
        right: usize,
    },
    /// An extent is below 1.
    Extent {
        /// The mode that has it.
        mode: ModePath,
        /// The extent.
        extent: Int,
    },
    /// A size, an offset or a sum of extents times strides beyond what is counted with.
    Overflow {
        /// What is too large.
        what: &'static str,
        /// How large it is.
        value: Wide,
        /// The most that it may be; with the sign turned the least.
        limit: i64,
    },
    /// The result has more than [`IntTuple::MAX_LEAVES`](crate::IntTuple::MAX_LEAVES) integers or is nested too deep.
    TooLarge,
    /// Composition: the right-hand stride neither divides by nor is below the left-hand extent it must step over.
    StrideDivisibility {
        /// Mode of the right-hand layout.
        mode: ModePath,
        /// What is left of its stride.
        stride: Int,
        /// Mode of the coalesced left-hand layout.
        left_mode: usize,
        /// Its extent.
        extent: Int,
    },
    /// Composition: the right-hand extent does not divide by the part that one left-hand mode supplies.
    ShapeDivisibility {
        /// Mode of the right-hand layout.
        mode: ModePath,
        /// What is left of its extent.
        extent: Int,
        /// Mode of the coalesced left-hand layout.
        left_mode: usize,
        /// The number of elements that this mode supplies.
        part: Int,
    },
    /// Composition: the right-hand modes together run past one left-hand mode, so the composition is not a layout.
    Carry {
        /// The right-hand mode that runs over.
        mode: ModePath,
        /// Mode of the coalesced left-hand layout.
        left_mode: usize,
        /// Its extent.
        extent: Int,
    },
    /// Composition: right-hand modes step up and down in different left-hand modes, so that the composition is not a layout.
    MixedSigns {
        /// The right-hand mode that steps against the ones before.
        mode: ModePath,
    },
    /// Complement: the layout visits an offset twice, so nothing is disjoint from it.
    NotInjective {
        /// The stride that overlaps a smaller mode.
        stride: Int,
    },
    /// The operation sorts strides and therefore needs them static.
    DynamicStride {
        /// The operation.
        operation: &'static str,
        /// The stride.
        stride: Int,
    },
    /// Left inverse: a stride does not divide by the extent of the smaller strides.
    LeftInverseDivisibility {
        /// The stride.
        stride: Int,
        /// What it must divide by.
        extent: Int,
    },
    /// Left inverse: smaller strides reach as far as this one, and what they reach together is more than its mode has.
    LeftInverseOverlap {
        /// The stride.
        stride: Int,
    },
    /// The tiler, profile or order has more modes than what it is applied to.
    TooManyModes {
        /// The operation.
        operation: &'static str,
        /// Modes of the tiler, profile or order.
        given: usize,
        /// Modes of the layout.
        rank: usize,
    },
    /// The operation needs tuples of equal rank here.
    Rank {
        /// The operation.
        operation: &'static str,
        /// The rank that it found.
        found: usize,
        /// The rank that it needs.
        needed: usize,
    },
    /// A coordinate is given as a tuple where the shape has one integer.
    CoordinateTooDeep {
        /// The mode of the shape.
        mode: ModePath,
    },
    /// tile_to_shape: the block does not divide the target in this mode.
    BlockDivisibility {
        /// The mode.
        mode: usize,
        /// Extent of the target.
        target: Int,
        /// Extent of the block.
        block: Int,
    },
    /// Upcast: the stride neither divides nor is divided by the factor.
    UpcastDivisibility {
        /// The stride.
        stride: Int,
        /// The factor.
        factor: i64,
    },
    /// Upcast: the swizzle takes elements that become one to different places.
    UpcastSwizzle {
        /// The swizzle.
        swizzle: Swizzle,
        /// The factor.
        factor: i64,
    },
    /// A recast behind a swizzle or an offset: what is one wide element is not `factor` neighbours, in order.
    NotNeighbours {
        /// `"upcast"` or `"downcast"`.
        operation: &'static str,
        /// The stride of the mode that steps backwards, or over what other modes reach.
        stride: Int,
        /// The factor.
        factor: i64,
    },
    /// Downcast: no mode has stride 1, so there are no adjacent elements to split.
    DowncastStride,
    /// A count (of elements, bits, threads) that must be positive, or a power of two where the text says so.
    Count {
        /// What was counted.
        what: &'static str,
        /// The value.
        value: i64,
    },
    /// A swizzle with fewer shift bits than mask bits, or outside 32 bits.
    Swizzle {
        /// Mask bits.
        bits: i32,
        /// Constant low bits.
        base: i32,
        /// Shift distance.
        shift: i32,
    },
    /// The swizzle cannot be carried through the layout: it does not map its two bit fields onto bit fields.
    SwizzleTransfer,
    /// Right inverse: the swizzle moves offsets out of the range that the layout reaches without gaps.
    SwizzleLeaves {
        /// The swizzle.
        swizzle: Swizzle,
        /// The first of the range.
        first: Int,
        /// How many offsets it has.
        extent: Int,
    },
    /// A 32-bit index function of a layout with negative offsets.
    NegativeOffset {
        /// The least offset.
        offset: i64,
    },
    /// Modes that are no range of the layout's.
    ModeRange {
        /// The operation.
        operation: &'static str,
        /// The first.
        begin: usize,
        /// The one behind the last.
        end: usize,
        /// The number of modes that there are.
        rank: usize,
    },
    /// A thread that a layout of threads, a tiled copy or a tiled MMA has not.
    NoSuchThread {
        /// The thread.
        thread: i64,
        /// How many there are.
        threads: Int,
        /// The largest index of one.
        last: Int,
    },
    /// A tile coordinate beyond the tiles that there are.
    NoSuchTile {
        /// The mode of the grid of tiles.
        mode: ModePath,
        /// The coordinate.
        coordinate: i64,
        /// How many tiles that mode has.
        tiles: Int,
    },
    /// A layout that must number things, but leaves numbers out or gives one twice.
    NotNumbering {
        /// What is numbered.
        what: &'static str,
        /// How many there are.
        count: Int,
        /// How many numbers from 0 on are given, each once.
        numbered: Int,
    },
    /// A layout that must tell things apart, but may give two of them one number.
    NotApart {
        /// What is numbered.
        what: &'static str,
        /// The stride that is not beyond what smaller ones reach.
        stride: Int,
    },
    /// Atoms of a tiled MMA that do not fit between the threads of one, or whose strides do not nest.
    AtomArrangement {
        /// The extent or the stride that does not fit.
        value: Int,
        /// How many atoms there is room for before one atom's threads go on; 1 where they have no gap.
        room: Int,
    },
    /// A tiled MMA's permutation that the atoms do not divide.
    PermutedExtent {
        /// M, N or K.
        axis: char,
        /// Elements of the permutation.
        extent: Int,
        /// What all atoms have together along the axis.
        atoms: Int,
    },
    /// A lane's access to shared memory that the hardware has not.
    Access {
        /// What must hold.
        rule: &'static str,
        /// The value.
        value: i64,
    },
    /// Upcast: the offset lies between elements of that width.
    OffsetDivisibility {
        /// The offset.
        offset: Int,
        /// The factor.
        factor: i64,
    },
    /// A stride of a layout of coordinates that moves none of them.
    NoCoordinate {
        /// The stride.
        stride: Int,
    },
    /// The operation needs a composed layout without offset.
    Offset {
        /// The offset.
        offset: Int,
    },
    /// An element width has no such shared-memory atom.
    ElementBits {
        /// The width in bits.
        bits: u32,
    },
    /// A matrix descriptor cannot describe the layout.
    NotCanonical {
        /// What does not fit.
        what: &'static str,
    },
    /// The tiled copy has too few threads or values for its atom.
    TooFew {
        /// `"threads"` or `"values"`.
        what: &'static str,
        /// What the tiled copy has.
        have: Int,
        /// What the atom needs a multiple of.
        atom: Int,
    },
    /// What one thread moves side by side with a copy atom is no number of whole elements.
    ElementsOfAtom {
        /// Bits of an element.
        element_bits: u32,
        /// Bits that a thread moves side by side.
        bits: Int,
    },
    /// An address that is none of the data's.
    Outside {
        /// The address.
        offset: i64,
    },
    /// A global layout, shared layout and box that TMA cannot copy.
    Tma {
        /// What does not fit.
        what: &'static str,
        /// The value.
        value: i64,
    },
    /// A swizzle that TMA has not.
    TmaSwizzle {
        /// The swizzle on elements.
        swizzle: Swizzle,
        /// Bits of an element.
        element_bits: u32,
    },
    /// A picture of more cells than anyone looks at.
    TooManyCells {
        /// Rows.
        rows: i64,
        /// Columns.
        columns: i64,
        /// The most that a picture has.
        most: i64,
    },
    /// Text that is not a layout, tuple or integer.
    Parse {
        /// Byte position in the text.
        at: usize,
        /// What was expected there.
        expected: &'static str,
    },
}

/// `value` if it is within `limit` on both sides of 0, and the error that says that `what` is not.
pub(crate) const fn within(what: &'static str, value: i128, limit: i64) -> Result<i64, LayoutError> {
    if value.unsigned_abs() <= limit.unsigned_abs() as u128 {
        return Ok(value as i64);
    }
    Err(LayoutError::Overflow { what, value: Wide::of(value), limit })
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotCongruent { left, right } => write!(
                f,
                "shape and stride are not congruent ({left} modes against {right}): give both the same nesting"
            ),
            Self::Extent { mode, extent } => write!(f, "{mode} has extent {extent}: extents must be at least 1"),
            Self::Overflow { what, value, limit } => write!(
                f,
                "{what} is {value}, beyond the limit of {limit}: use smaller extents, strides, coordinates or offsets"
            ),
            Self::NegativeOffset { offset } => write!(
                f,
                "the layout reaches offset {offset}, but 32-bit index functions are unsigned: put an offset in front that \
                 keeps all offsets at 0 or above, or take 64 bits"
            ),
            Self::SwizzleLeaves { swizzle, first, extent } => write!(
                f,
                "the layout reaches {} offsets from {} on without gaps, but {swizzle} takes some of them elsewhere: a swizzled \
                 layout has a right inverse only if its swizzle keeps that range to itself",
                extent.value(),
                first.value()
            ),
            Self::TooLarge => write!(
                f,
                "the layout has more than {} integers or {} tuple marks: coalesce it first",
                crate::IntTuple::MAX_LEAVES,
                crate::IntTuple::MAX_TOKENS
            ),
            Self::StrideDivisibility { mode, stride, left_mode, extent } => write!(
                f,
                "composition: stride divisibility: {mode} of the right-hand layout steps by {stride} over extent {extent} \
                 of left-hand mode {left_mode}; the stride must be a multiple of the extent or below it"
            ),
            Self::ShapeDivisibility { mode, extent, left_mode, part } => write!(
                f,
                "composition: shape divisibility: {mode} of the right-hand layout takes {extent} elements where left-hand \
                 mode {left_mode} supplies {part}; the extent must be a multiple"
            ),
            Self::Carry { mode, left_mode, extent } => write!(
                f,
                "composition: with {mode} the right-hand modes together run past extent {extent} of left-hand mode \
                 {left_mode}: no layout is this composition"
            ),
            Self::MixedSigns { mode } => write!(
                f,
                "composition: {mode} of the right-hand layout steps against the modes before it, and not all of them stay in \
                 one mode of the left-hand layout: no layout is this composition"
            ),
            Self::NotInjective { stride } => {
                write!(f, "complement: stride {stride} overlaps a smaller mode: the layout must be injective")
            }
            Self::DynamicStride { operation, stride } => {
                write!(f, "{operation} sorts the strides, but stride {stride} is dynamic: make it static")
            }
            Self::LeftInverseDivisibility { stride, extent } => {
                write!(
                    f,
                    "left inverse: stride {stride} is not a positive multiple of {extent}, the extent of the smaller strides"
                )
            }
            Self::LeftInverseOverlap { stride } => write!(
                f,
                "left inverse: the smaller strides reach {stride} too, the stride of another mode: offsets are reached more \
                 than once, and no layout takes them back"
            ),
            Self::TooManyModes { operation, given, rank } => {
                write!(f, "{operation}: {given} modes were given for a layout of rank {rank}")
            }
            Self::Rank { operation, found, needed } => {
                write!(f, "{operation}: rank {found} where rank {needed} is needed")
            }
            Self::CoordinateTooDeep { mode } => {
                write!(f, "the coordinate has a tuple where {mode} of the shape is one integer")
            }
            Self::BlockDivisibility { mode, target, block } => write!(
                f,
                "tile_to_shape: in mode {mode} the block's extent {block} does not divide the target's extent {target}"
            ),
            Self::UpcastDivisibility { stride, factor } => {
                write!(f, "upcast: stride {stride} neither divides {factor} nor is a multiple of it")
            }
            Self::UpcastSwizzle { swizzle, factor } => write!(
                f,
                "upcast: {swizzle} takes elements apart of which {factor} would be one: bits that it reads within such a group \
                 must not change bits above it"
            ),
            Self::NotNeighbours { operation, stride, factor } => write!(
                f,
                "{operation}: with the mode of stride {stride} the parts of an element are not {factor} neighbours in order, as \
                 behind a swizzle or an offset they must be: let one mode step through them, forwards"
            ),
            Self::DowncastStride => f.write_str("downcast: no mode has static stride 1, so no elements are adjacent"),
            Self::Count { what, value } => write!(f, "{what} cannot be {value}"),
            Self::Swizzle { bits, base, shift } => write!(
                f,
                "Swizzle<{bits},{base},{shift}>: bits and base must not be negative, |shift| must be at least bits, and \
                 the fields must fit 31 bits"
            ),
            Self::SwizzleTransfer => f.write_str(
                "the layout does not map the swizzle's bit fields onto contiguous bit fields of equal width",
            ),
            Self::ModeRange { operation, begin, end, rank } => write!(
                f,
                "{operation}: {begin} to {end} is no range of modes of a layout of rank {rank}: the first must not be above \
                 the end, nor the end above {rank}"
            ),
            Self::NoSuchThread { thread, threads, last } => write!(
                f,
                "thread {thread} is none of the {} threads, whose indices end at {}: give the index of one of them",
                threads.value(),
                last.value()
            ),
            Self::NoSuchTile { mode, coordinate, tiles } => write!(
                f,
                "tile {coordinate} is none of the {} tiles of {mode} of the grid: give 0 to {}",
                tiles.value(),
                tiles.value() - 1
            ),
            Self::NotNumbering { what, count, numbered } => write!(
                f,
                "the layout of {what} must give the numbers 0 to {} once each, but from 0 on only {} are given so: use strides \
                 that make it compact",
                count.value() - 1,
                numbered.value()
            ),
            Self::NotApart { what, stride } => write!(
                f,
                "the layout of {what} must give no number twice, but stride {stride} is not beyond what smaller strides reach"
            ),
            Self::AtomArrangement { value, room } if room.value() > 1 => write!(
                f,
                "the layout of the MMA's atoms does not fit: between the threads of one atom there is room for {room}, into which \
                 the extent or thread stride {value} does not go: lay out {room} atoms without gaps, or a divisor of them, before \
                 the others"
            ),
            Self::AtomArrangement { value, .. } => write!(
                f,
                "the layout of the MMA's atoms does not fit: the extent or thread stride {value} lies within what smaller strides \
                 span: let each stride be a multiple of all that is before it"
            ),
            Self::PermutedExtent { axis, extent, atoms } => write!(
                f,
                "the permutation of {axis} has {} elements, but the atoms have {} along it: give a multiple of these",
                extent.value(),
                atoms.value()
            ),
            Self::Access { rule, value } => write!(f, "a warp's access to shared memory: {rule}, not {value}"),
            Self::OffsetDivisibility { offset, factor } => write!(
                f,
                "upcast: the offset {offset} does not divide by {factor}: it lies between elements of that width"
            ),
            Self::NoCoordinate { stride } => write!(
                f,
                "stride {stride} moves no coordinate: what is done to a layout of coordinates must rearrange its domain, as \
                 composition and the divides do"
            ),
            Self::Offset { offset } => write!(f, "the composed layout has offset {offset}: the offset must be 0 here"),
            Self::ElementBits { bits } => {
                write!(f, "no shared-memory atom for elements of {bits} bits: the width must divide 128")
            }
            Self::NotCanonical { what } => write!(
                f,
                "{what} does not fit a matrix descriptor: tile a shared-memory atom with the operand's major and swizzle"
            ),
            Self::TooFew { what, have, atom } => {
                write!(f, "the tiled copy has {have} {what}: its atom needs a multiple of {atom}")
            }
            Self::ElementsOfAtom { element_bits, bits } => write!(
                f,
                "a thread moves {} bits side by side with this atom, which is no number of elements of {element_bits} bits: the width must \
                 divide them",
                bits.value()
            ),
            Self::Outside { offset } => {
                write!(
                    f,
                    "the threads reach address {offset}, where the data has no element: cover the data and no more"
                )
            }
            Self::Tma { what, value } => write!(f, "TMA: {what}, but it is {value}"),
            Self::TmaSwizzle { swizzle, element_bits } => write!(
                f,
                "TMA: {swizzle} on elements of {element_bits} bits is none of its swizzles of 32, 64 or 128 bytes: take that of a \
                 shared-memory atom for these elements"
            ),
            Self::TooManyCells { rows, columns, most } => write!(
                f,
                "a picture of {rows} by {columns} cells is too large: slice or divide the layout until at most {most} are left"
            ),
            Self::Parse { at, expected } => write!(f, "at byte {at}: expected {expected}"),
        }
    }
}

impl core::error::Error for LayoutError {}
