//! What may be typed behind `warpwright layout`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A number of bits or bytes.
fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("give a whole number from 0 to {}", u32::MAX))
}

/// Negative numbers reach what reads an operand, whose errors say what is wanted.
fn with_negative_numbers(operation: clap::Command) -> clap::Command {
    operation.mut_args(|arg| if arg.is_positional() { arg.allow_negative_numbers(true) } else { arg })
}

/// Of `layout`.
#[derive(Args)]
#[command(
    mut_subcommands = with_negative_numbers,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    after_help = "Layouts are written as CuTe prints them: (8,4):(4,1), (8,(4,2)), Sw<3,3,3> o 0 o (8,64):(64,1).\n\
                  Integers with a _ are static, others dynamic; when a call has no _ at all, all are static."
)]
pub struct LayoutArgs {
    /// Answer requests from standard input, one JSON object a line: {"family": "cute_composition", "in": {...}}
    #[arg(long)]
    pub batch: bool,
    #[command(subcommand)]
    pub operation: Option<Operation>,
}

/// Layouts, and how they are taken and shown.
#[derive(Args)]
pub struct Common {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Integers without _ are dynamic even when no integer of the call has one
    #[arg(long)]
    pub dynamic: bool,
}

/// How the parts of a divide are arranged.
#[derive(Clone, Copy, ValueEnum)]
pub enum DivideKind {
    /// ((tile),(rest)) in each mode
    Logical,
    /// ((tiles),(rests))
    Zipped,
    /// ((tiles),rest,...)
    Tiled,
    /// (tile,...,rest,...)
    Flat,
}

/// How the parts of a product are arranged.
#[derive(Clone, Copy, ValueEnum)]
pub enum ProductKind {
    /// (block,(repetitions)) in each mode
    Logical,
    /// ((blocks),(repetitions))
    Zipped,
    /// ((blocks),repetition,...)
    Tiled,
    /// (block,...,repetition,...)
    Flat,
    /// The block repeated as a block
    Blocked,
    /// The block interleaved
    Raked,
}

/// One layout.
#[derive(Args)]
pub struct One {
    #[arg(allow_hyphen_values = true)]
    pub layout: String,
    #[command(flatten)]
    pub common: Common,
}

/// Two layouts.
#[derive(Args)]
pub struct Two {
    #[arg(allow_hyphen_values = true)]
    pub a: String,
    #[arg(allow_hyphen_values = true)]
    pub b: String,
    #[command(flatten)]
    pub common: Common,
}

/// A layout and an integer.
#[derive(Args)]
pub struct Scaled {
    pub layout: String,
    /// A positive integer
    #[arg(allow_hyphen_values = true)]
    pub n: i64,
    #[command(flatten)]
    pub common: Common,
}

/// How a tile lies in shared memory.
#[derive(Args)]
pub struct Hardware {
    /// Which index is contiguous: K or MN
    #[arg(long, default_value = "K")]
    pub major: String,
    /// INTER, SW32, SW64, SW128 or SW128_32B
    #[arg(long, default_value = "SW128")]
    pub swizzle: String,
    /// Bits of an element
    #[arg(long, default_value_t = 16, allow_negative_numbers = true, value_parser = count)]
    pub bits: u32,
}

/// A tiled copy or a tiled MMA.
#[derive(Args, Default)]
pub struct Tiled {
    /// A copy atom by its CUTLASS name, as in UniversalCopy<uint128_t> or SM75_U32x4_LDSM_N
    #[arg(long, value_name = "ATOM")]
    pub copy: Option<String>,
    /// An MMA atom by its CUTLASS name, as in SM80_16x8x16_F32F16F16F32_TN
    #[arg(long, value_name = "ATOM")]
    pub mma: Option<String>,
    /// Bits of an element that is copied
    #[arg(long, value_name = "N", default_value_t = 32, allow_negative_numbers = true, value_parser = count)]
    pub bits: u32,
    /// Threads of the copy over (m,n)
    #[arg(long, value_name = "LAYOUT")]
    pub threads: Option<String>,
    /// Values of each thread over (m,n)
    #[arg(long, value_name = "LAYOUT")]
    pub values: Option<String>,
    /// Atoms of the MMA over (m,n,k)
    #[arg(long, value_name = "LAYOUT")]
    pub atoms: Option<String>,
    /// Permutations of the MMA's m, n and k, as in (32,_,16)
    #[arg(long, value_name = "TILER")]
    pub permute: Option<String>,
    /// Which matrix of the MMA: a, b or c
    #[arg(long, value_name = "A|B|C")]
    pub operand: Option<String>,
    /// Which side of the copy: source or destination
    #[arg(long, value_name = "SIDE", default_value = "source")]
    pub side: String,
}

/// An operation.
#[derive(Subcommand)]
pub enum Operation {
    /// Offsets of coordinates: integers, or tuples nested as the shape is
    Eval {
        layout: String,
        #[arg(required = true, allow_hyphen_values = true)]
        coordinates: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Coordinates of linear indices
    Coordinate {
        layout: String,
        #[arg(required = true, allow_hyphen_values = true)]
        indices: Vec<i64>,
        #[command(flatten)]
        common: Common,
    },
    /// Size, cosize, rank and depth
    Info(One),
    /// What a coordinate with _ keeps, and its offset
    Slice(Two),
    /// What a coordinate with _ fixes
    Dice(Two),
    /// Fewer modes, the same function
    Coalesce {
        layout: String,
        /// Coalesce at each integer of this tuple
        #[arg(long, value_name = "TUPLE")]
        profile: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Coalesced, without modes of stride 0
    Filter {
        layout: String,
        /// Filter at each integer of this tuple
        #[arg(long, value_name = "TUPLE")]
        profile: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// All modes at depth 1
    Flatten(One),
    /// Regrouped as a tuple is nested, whose values do not matter
    Unflatten {
        layout: String,
        profile: String,
        #[command(flatten)]
        common: Common,
    },
    /// Modes FROM..TO gathered into one
    Group {
        layout: String,
        from: i64,
        to: i64,
        #[command(flatten)]
        common: Common,
    },
    /// A after B; B may be a tiler, as in (16,_), to compose by mode
    Compose(Two),
    /// What a layout leaves out
    Complement {
        layout: String,
        /// How much is to be filled: an integer or a shape. Default: the layout's cosize
        cotarget: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// The layout R with A(R(x)) = x for the offsets that A reaches from 0 on without gaps
    ///
    /// That is each x below the size of R; behind an offset N (R o -N o Sw) it is as many from N on. A swizzle that takes such
    /// offsets out of their range is refused: it leaves no such R.
    RightInverse(One),
    /// The layout L with L(A(i)) = i, for a layout that reaches no offset twice
    ///
    /// Otherwise A(L(A(i))) = A(i), or a refusal. Beyond the size of L its last mode goes on, and beyond that of A, A's.
    LeftInverse(One),
    /// Split into tiles and the rest
    Divide {
        #[arg(long, value_enum, default_value = "logical")]
        kind: DivideKind,
        layout: String,
        /// A layout, or a tiler for each mode, as in (16,_)
        tiler: String,
        #[command(flatten)]
        common: Common,
    },
    /// Repeat a block over a tiler
    Product {
        #[arg(long, value_enum, default_value = "logical")]
        kind: ProductKind,
        block: String,
        tiler: String,
        #[command(flatten)]
        common: Common,
    },
    /// Repeat a block as a block
    BlockedProduct(Two),
    /// Repeat a block interleaved
    RakedProduct(Two),
    /// Repeat a block until it has a shape
    TileToShape {
        block: String,
        shape: String,
        /// Which mode is repeated first, smaller first. Default: from the left
        #[arg(long, value_name = "TUPLE")]
        order: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// The compact layout of a shape, smaller orders contiguous first
    Ordered {
        shape: String,
        /// Default: from the left
        order: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// A compact layout with the same order of strides, without swizzle
    Like(One),
    /// A compact layout for registers, without swizzle
    FragmentLike(One),
    /// In elements N times wider
    Upcast(Scaled),
    /// In elements N times narrower
    Downcast(Scaled),
    /// From elements of OLD bits to elements of NEW bits
    Recast {
        layout: String,
        old: i64,
        new: i64,
        #[command(flatten)]
        common: Common,
    },
    /// The contiguous elements that correspond in both
    MaxCommon {
        #[command(flatten)]
        two: Two,
        /// Their number alone
        #[arg(long)]
        vector: bool,
    },
    /// The largest factor by which it can be upcast
    MaxAlignment(One),
    /// The coordinates that go to 0; behind an offset there are none to tell
    Nullspace(One),
    /// The tile at a tile coordinate, and its offset
    LocalTile {
        layout: String,
        tiler: String,
        coordinate: String,
        #[command(flatten)]
        common: Common,
    },
    /// What one thread takes when threads take elements in turn
    LocalPartition {
        layout: String,
        threads: String,
        thread: i64,
        #[command(flatten)]
        common: Common,
    },
    /// The layout that takes each coordinate of a shape to itself, tiled or not: which elements a tile has
    Identity {
        shape: String,
        /// Divided by these tiles
        tiler: Option<String>,
        /// The tile at this tile coordinate
        coordinate: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// The atom of shared-memory tiles: (mn,k) to offset
    SmemAtom {
        #[command(flatten)]
        hardware: Hardware,
        #[command(flatten)]
        common: Common,
    },
    /// The matrix descriptor of what one wgmma or tcgen05.mma reads: (mn,k) to offset before the swizzle
    Descriptor {
        tile: String,
        #[command(flatten)]
        hardware: Hardware,
        #[command(flatten)]
        common: Common,
    },
    /// The tensor map by which TMA moves a tile between global and shared memory
    Tma {
        /// The global tensor
        global: String,
        /// The tile in shared memory, with the same modes
        shared: String,
        /// Bits of an element
        #[arg(long, default_value_t = 16, allow_negative_numbers = true, value_parser = count)]
        bits: u32,
        #[command(flatten)]
        common: Common,
    },
    /// Wavefronts of a warp's access to shared memory
    Conflicts {
        layout: String,
        /// Lane to linear coordinate of its first element
        access: String,
        /// Bits of an element
        #[arg(long, default_value_t = 16, allow_negative_numbers = true, value_parser = count)]
        bits: u32,
        /// Bytes of a lane
        #[arg(long, default_value_t = 16, allow_negative_numbers = true, value_parser = count)]
        bytes: u32,
        #[command(flatten)]
        common: Common,
    },
    /// The CUDA C++ index function of a layout
    Lower {
        layout: String,
        /// Its name
        #[arg(long, default_value = "index")]
        name: String,
        /// Names of its coordinates: one, one a mode, or one an integer. Default: c0,c1,... one a mode
        #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
        arguments: Vec<String>,
        /// 64-bit arithmetic
        #[arg(long)]
        wide: bool,
        #[command(flatten)]
        common: Common,
    },
    /// (thread,value) to column-major index in the tile of a tiled copy or MMA
    Tv {
        #[command(flatten)]
        tiled: Tiled,
        #[command(flatten)]
        common: Common,
    },
    /// The part of a matrix that one thread copies or holds, and its offset
    Partition {
        matrix: String,
        thread: i64,
        #[command(flatten)]
        tiled: Tiled,
        /// Keep the values of one atom in a mode of their own, as CuTe does
        #[arg(long)]
        nested: bool,
        #[command(flatten)]
        common: Common,
    },
    /// A picture of a layout, a swizzle, a tiled copy or an MMA
    Print {
        /// A layout or a swizzle; leave it out with --copy or --mma
        what: Option<String>,
        /// The layout takes (thread,value) into a tile of this shape
        #[arg(long, value_name = "SHAPE")]
        tile: Option<String>,
        #[command(flatten)]
        tiled: Tiled,
        /// As a LaTeX document
        #[arg(long, conflicts_with = "svg")]
        latex: bool,
        /// As an SVG file
        #[arg(long)]
        svg: bool,
        /// Write it here instead of to standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        common: Common,
    },
}
