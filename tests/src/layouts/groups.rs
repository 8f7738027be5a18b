//! Layouts of every kind that kernels index with.

use warpwright::layout::atom::{CopyAtom, MmaAtom};
use warpwright::layout::lower::{Width, coordinate_functions, index_function_of};
use warpwright::layout::smem::{Major, SmemSwizzle, atom};
use warpwright::layout::{
    ComposedLayout, Int, IntTuple, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma, int_tuple, layout,
};

use super::{Checked, Group};
use crate::random::{draw, integer};

/// The arguments of a lowered function.
#[derive(Clone, Copy)]
enum Arguments {
    /// A linear coordinate.
    Linear,
    /// One a mode.
    ByMode,
    /// One an integer of the shape.
    ByLeaf,
}

const EVERY: [Arguments; 3] = [Arguments::Linear, Arguments::ByMode, Arguments::ByLeaf];

impl Arguments {
    fn extents(self, layout: &Layout) -> Vec<u64> {
        let shape = layout.shape();
        match self {
            Arguments::Linear => vec![layout.size().value() as u64],
            Arguments::ByMode => (0..shape.rank()).map(|i| shape.mode(i).product().value() as u64).collect(),
            Arguments::ByLeaf => shape.iter().map(|s| s.value() as u64).collect(),
        }
    }
}

/// All coordinates, the first argument fastest, argument by argument.
fn coordinates(extents: &[u64]) -> Vec<u64> {
    let total: u64 = extents.iter().product();
    let mut before = 1;
    let mut all = Vec::new();
    for extent in extents {
        all.extend((0..total).map(|i| i / before % extent));
        before *= extent;
    }
    all
}

/// The functions under way, each with a name of its own.
struct Functions(Vec<Checked>);

impl Functions {
    fn new() -> Functions {
        Functions(Vec::new())
    }

    fn group(self, name: &'static str) -> Group {
        Group { name, functions: self.0 }
    }

    /// `layout`, lowered with these arguments. Coordinates in the order of the linear one make `layout(i)` the value of
    /// coordinate number `i`, whatever the arguments.
    fn add(&mut self, layout: &ComposedLayout, arguments: Arguments, width: Width) -> Result<(), LayoutError> {
        let name = format!("f{}", self.0.len());
        let checked = checked(&name, layout, arguments, width)?;
        self.0.push(checked);
        Ok(())
    }

    /// As [`add`](Self::add) for layouts that differ in dynamic integers alone: they share one function.
    fn add_family(&mut self, layouts: &[Layout], arguments: Arguments, width: Width) -> Result<(), LayoutError> {
        let name = format!("f{}", self.0.len());
        for layout in layouts {
            let checked = checked(&name, &(*layout).into(), arguments, width)?;
            self.0.push(checked);
        }
        Ok(())
    }

    /// The coordinates in `tile` to which `tv` takes (thread, value).
    fn add_coordinates(&mut self, tv: &Layout, tile: &IntTuple) -> Result<(), LayoutError> {
        let names = [format!("f{}", self.0.len()), format!("f{}", self.0.len() + 1)];
        let both = coordinate_functions(&[&names[0], &names[1]], tv, tile, &["thread", "value"])?;
        let rows = tile.get(0).value();
        for (axis, function) in both.into_iter().enumerate() {
            let place = |i| if axis == 0 { tv.eval(i) % rows } else { tv.eval(i) / rows };
            self.0.push(Checked {
                what: format!("coordinate {axis} in {tile} of {tv}"),
                function,
                coordinates: coordinates(&Arguments::ByMode.extents(tv)),
                parameters: Vec::new(),
                expected: (0..tv.size().value()).map(|i| place(i) as u64).collect(),
            });
        }
        Ok(())
    }
}

fn checked(name: &str, layout: &ComposedLayout, arguments: Arguments, width: Width) -> Result<Checked, LayoutError> {
    let extents = arguments.extents(&layout.layout);
    let names: Vec<String> = (0..extents.len()).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let function = index_function_of(name, layout, &names, width)?;
    let wrap = if width == Width::U32 { u64::from(u32::MAX) } else { u64::MAX };
    Ok(Checked {
        what: layout.to_string(),
        parameters: function.parameters().iter().map(|p| p.value() as u64).collect(),
        function,
        coordinates: coordinates(&extents),
        expected: (0..layout.size().value()).map(|i| layout.eval(i) as u64 & wrap).collect(),
    })
}

/// Every group.
///
/// # Errors
/// None, unless a layout is not lowered at all.
pub fn all() -> Result<Vec<Group>, LayoutError> {
    Ok(vec![fixed()?, swizzled()?, dynamic()?, tiled()?, wide()?, random()?])
}

/// Static shapes, nested, with strides of any kind.
fn fixed() -> Result<Group, LayoutError> {
    let mut functions = Functions::new();
    for text in [
        "_4096:_1",
        "(_256,_128):(_128,_1)",
        "(_17,_13,_11):(_143,_1,_13)",
        "((_3,_5),(_7,_2)):((_10,_2),(_30,_1))",
        "((_2,(_3,_4)),(_5,_2),_9):((_1,(_2,_6)),(_24,_120),_240)",
        "((_16,_16),(_16,_8)):((_128,_1),(_2048,_16))",
        "(((_4,_8),(_2,_2)),_3):(((_32,_1),(_16,_8)),_128)",
        "(_4,_8,_3):(_0,_1,_0)",
        "((_6,_10),_15):((_0,_3),_31)",
        "(_1,(_1,_7),_1,_12):(_5,(_9,_4),_0,_29)",
        "(_1000,_3):(_7,_11)",
    ] {
        let layout: Layout = text.parse()?;
        for arguments in EVERY {
            functions.add(&layout.into(), arguments, Width::U32)?;
            functions.add(&layout.into(), arguments, Width::U64)?;
        }
    }
    // Strides below 0, from an offset that keeps every value above.
    let back: ComposedLayout = "Sw<0,4,3> o _700 o ((_4,_3),_5):((_1,_-8),_-120)".parse()?;
    for arguments in EVERY {
        functions.add(&back, arguments, Width::U32)?;
    }
    Ok(functions.group("static"))
}

/// Shared-memory tiles, and swizzles in both directions behind layouts that are none.
fn swizzled() -> Result<Group, LayoutError> {
    let mut functions = Functions::new();
    for bits in [4, 8, 16, 32] {
        for major in [Major::K, Major::Mn] {
            for swizzle in [SmemSwizzle::None, SmemSwizzle::B32, SmemSwizzle::B64, SmemSwizzle::B128] {
                let atom = atom(major, swizzle, bits)?;
                let (mn, k) = (atom.layout.mode(0).size(), atom.layout.mode(1).size());
                let shape = IntTuple::flat(&[mn.mul(Int::Static(2)), k.mul(Int::Static(2)), Int::Static(3)])?;
                let tile = atom.tile_to_shape(&shape, Some(&int_tuple!((2, 1, 3))))?;
                functions.add(&tile, Arguments::ByMode, Width::U32)?;
            }
        }
    }
    for text in [
        "Sw<3,4,-3> o _0 o (_64,_48):(_48,_1)",
        "Sw<2,0,5> o _13 o (_33,_65):(_65,_1)",
        "Sw<1,2,-1> o _5 o ((_3,_4),_7):((_4,_1),_12)",
        "Sw<5,0,7> o 96 o (_64,_64):(_64,_1)",
    ] {
        let layout: ComposedLayout = text.parse()?;
        for arguments in EVERY {
            functions.add(&layout, arguments, Width::U32)?;
        }
    }
    Ok(functions.group("swizzled"))
}

/// Extents and strides that come as parameters, each function with several values of them.
fn dynamic() -> Result<Group, LayoutError> {
    let mut functions = Functions::new();
    for family in [
        ["(_64,32):(_1,64)", "(_64,33):(_1,71)", "(_64,1):(_1,0)"],
        ["(64,32):(32,_1)", "(7,5):(129,_1)", "(1,90):(1000,_1)"],
        ["((_8,4),3):((_1,40),7)", "((_8,5),9):((_1,8),40)", "((_8,1),1):((_1,3),3)"],
        [
            "((12,_8),(10,_6)):((_1,48),(_400,9))",
            "((13,_8),(1,_6)):((_1,13),(_400,0))",
            "((16,_8),(4,_6)):((_1,16),(_400,128))",
        ],
        ["(12,10,6):(1,12,120)", "(3,3,3):(9,3,1)", "(31,2,8):(0,31,5)"],
    ] {
        let layouts = family.iter().map(|text| text.parse()).collect::<Result<Vec<Layout>, _>>()?;
        for arguments in EVERY {
            functions.add_family(&layouts, arguments, Width::U32)?;
            functions.add_family(&layouts, arguments, Width::U64)?;
        }
    }
    Ok(functions.group("dynamic"))
}

/// What threads copy and hold: (thread, value) to each coordinate of the tile.
fn tiled() -> Result<Group, LayoutError> {
    let mut functions = Functions::new();
    let copies = [
        TiledCopy::new(CopyAtom::cp_async(16)?, 16, &layout!((16, 8):(8, 1)), &layout!((1, 8)))?,
        TiledCopy::new(CopyAtom::universal(128)?, 32, &layout!((32, 8)), &layout!((4, 1)))?,
        TiledCopy::new(CopyAtom::universal(16)?, 16, &layout!((6, 5):(5, 1)), &layout!((3, 2)))?,
    ];
    for copy in copies {
        functions.add_coordinates(&copy.tv(Side::Destination)?, &copy.tiler())?;
    }
    let mmas = [
        TiledMma::new(MmaAtom::mma_sync(16, 16, [32, 16, 16, 32])?, &layout!((2, 2, 1)))?
            .with_permutation(1, &layout!((8, 2, 2):(1, 16, 8)))?,
        TiledMma::new(MmaAtom::wgmma(96, 16, [32, 16, 16, 32], true)?, &layout!((2, 1, 1)))?,
    ];
    for mma in &mmas {
        let [m, n, k] = mma.tile_mnk();
        for (operand, rows, columns) in [(Operand::A, m, k), (Operand::C, m, n)] {
            let tile = IntTuple::flat(&[Int::Static(rows), Int::Static(columns)])?;
            functions.add_coordinates(&mma.tv(operand)?, &tile)?;
        }
    }
    let load = TiledCopy::for_mma(CopyAtom::ldmatrix(4, false)?, 16, &mmas[0], Operand::A)?;
    functions.add_coordinates(&load.tv(Side::Source)?, &load.tiler())?;
    Ok(functions.group("tiled"))
}

/// Offsets beyond 32 bits.
fn wide() -> Result<Group, LayoutError> {
    let mut functions = Functions::new();
    for text in [
        "(_96,_80):(_8589934592,_1)",
        "((_3,_4),(_5,_6)):((_12884901888,_7),(_1,_4294967297))",
        "(_1024,_7):(_1099511627776,_4294967295)",
        "(64,32):(68719476736,_1)",
        "(30,(_7,11)):(_1,(_30,4294967296123))",
    ] {
        let layout: Layout = text.parse()?;
        for arguments in EVERY {
            functions.add(&layout.into(), arguments, Width::U64)?;
        }
    }
    Ok(functions.group("wide"))
}

/// Layouts drawn at random: one to four modes, some of them pairs, static and dynamic, every third behind a swizzle.
fn random() -> Result<Group, LayoutError> {
    const COUNT: u64 = 48;
    let key = crate::random::key("layouts", "random");
    let mut at = 0;
    let mut next = |low, high| {
        at += 1;
        integer(draw(key, at), low, high)
    };
    let mut functions = Functions::new();
    for index in 0..COUNT {
        let (mut shapes, mut strides) = (Vec::new(), Vec::new());
        for _ in 0..next(1, 4) {
            let leaves = next(1, 2) as usize;
            let mut draws = |low, high| {
                let values: Vec<Int> = (0..leaves)
                    .map(|_| {
                        let value = next(low, high);
                        if next(0, 3) == 0 { Int::Dynamic(value) } else { Int::Static(value) }
                    })
                    .collect();
                if leaves == 1 { Ok(IntTuple::leaf(values[0])) } else { IntTuple::flat(&values) }
            };
            shapes.push(draws(1, 9)?);
            strides.push(draws(0, 300)?);
        }
        let layout = Layout::new(IntTuple::tuple(&shapes)?, IntTuple::tuple(&strides)?)?;
        if layout.size().value() > 20_000
            || layout.stride().iter().chain(layout.shape().iter()).filter(|i| !i.is_static()).count()
                > super::PARAMETERS - 1
        {
            continue;
        }
        let swizzle = if index % 3 == 0 { "Sw<2,1,3>" } else { "Sw<0,4,3>" };
        let composed: ComposedLayout = format!("{swizzle} o _{} o {layout}", next(0, 50)).parse()?;
        functions.add(&composed, EVERY[index as usize % 3], Width::U32)?;
    }
    Ok(functions.group("random"))
}
