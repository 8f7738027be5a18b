//! The operations, each an [`Answer`] to what was typed.

use super::args::{Common, DivideKind, Hardware, One, Operation, ProductKind, Scaled, Two};
use super::hardware::{Descriptor, Map};
use super::text::{Notation, TextError};
use super::tiled;
use super::tree::Tree;
use warpwright::layout::lower::{Width, index_function_of};
use warpwright::layout::smem::{self, Major, SmemSwizzle};
use warpwright::layout::{
    ComposedInverse, ComposedLayout, CoordinateLayout, Int, IntTuple, Layout, LayoutError, Tiler,
};

/// What an operation gives.
pub enum Answer {
    /// A layout.
    Layout(ComposedLayout),
    /// Part of a layout, at an offset.
    Part((Layout, i64)),
    /// What undoes a layout.
    Inverse(ComposedInverse),
    /// A layout of coordinates.
    Coordinates(CoordinateLayout),
    /// How TMA moves a tile.
    Map(Map),
    /// What a tensor core is told of a tile.
    Descriptor(Descriptor),
    /// A number.
    Int(i64),
    /// Numbers, one for each thing that was asked.
    Ints(Vec<i64>),
    /// Coordinates.
    Tuples(Vec<IntTuple>),
    /// A layout to be described.
    Info(ComposedLayout),
    /// Text as it is.
    Text(String),
}

impl From<Layout> for Answer {
    fn from(layout: Layout) -> Answer {
        Answer::Layout(layout.into())
    }
}

type Of<T> = Result<T, LayoutError>;

/// The answer to an operation other than a picture, and how to show it.
pub fn answer(operation: &Operation) -> anyhow::Result<(Answer, &Common)> {
    Ok(match operation {
        Operation::Eval { layout, coordinates, common } => (eval(layout, coordinates, common)?, common),
        Operation::Coordinate { layout, indices, common } => {
            let l = Notation::of([layout], common.dynamic).layout("coordinate", layout)?;
            (Answer::Tuples(indices.iter().map(|i| l.idx2crd(*i)).collect()), common)
        }
        Operation::Info(One { layout, common }) => {
            (Answer::Info(Notation::of([layout], common.dynamic).composed(layout)?), common)
        }
        Operation::Slice(two) => (slice(two)?, &two.common),
        Operation::Dice(Two { a, b, common }) => {
            let (n, l) = composed(a, common)?;
            (Answer::Layout(n.tree("a coordinate", b)?.coord(|coord| l.dice(coord))?), common)
        }
        Operation::Coalesce { layout, profile, common } => {
            let (n, l) = composed(layout, common)?;
            let l = match profile {
                Some(profile) => l.coalesce_by(&n.tuple(profile)?)?,
                None => l.coalesce()?,
            };
            (Answer::Layout(l), common)
        }
        Operation::Filter { layout, profile, common } => {
            let (n, l) = composed(layout, common)?;
            let l = match profile {
                Some(profile) => l.filter_by(&n.tuple(profile)?)?,
                None => l.filter()?,
            };
            (Answer::Layout(l), common)
        }
        Operation::Flatten(one) => of(one, |l| Ok(l.flatten()))?,
        Operation::Unflatten { layout, profile, common } => {
            let n = Notation::of([layout, profile], common.dynamic);
            (Answer::Layout(n.composed(layout)?.unflatten(&n.tuple(profile)?)?), common)
        }
        Operation::Group { layout, from, to, common } => {
            let mode = |n: i64| {
                let (what, choices) = ("the number of a mode", "0 up to the layout's rank");
                usize::try_from(n).map_err(|_| TextError::Word { given: n.to_string(), what, choices })
            };
            (Answer::Layout(composed(layout, common)?.1.group(mode(*from)?, mode(*to)?)?), common)
        }
        Operation::Compose(two) => (compose(two)?, &two.common),
        Operation::Complement { layout, cotarget, common } => (complement(layout, cotarget.as_ref(), common)?, common),
        Operation::RightInverse(one) => inverse(one, Layout::right_inverse, ComposedLayout::right_inverse)?,
        Operation::LeftInverse(one) => inverse(one, Layout::left_inverse, ComposedLayout::left_inverse)?,
        Operation::Divide { kind, layout, tiler, common } => {
            let f = match kind {
                DivideKind::Logical => ComposedLayout::logical_divide,
                DivideKind::Zipped => ComposedLayout::zipped_divide,
                DivideKind::Tiled => ComposedLayout::tiled_divide,
                DivideKind::Flat => ComposedLayout::flat_divide,
            };
            (by_tiler(layout, tiler, common, f)?, common)
        }
        Operation::Product { kind, block, tiler, common } => {
            let f = match kind {
                ProductKind::Logical => ComposedLayout::logical_product,
                ProductKind::Zipped => ComposedLayout::zipped_product,
                ProductKind::Tiled => ComposedLayout::tiled_product,
                ProductKind::Flat => ComposedLayout::flat_product,
                ProductKind::Blocked => {
                    return Ok((by_layout(block, tiler, common, ComposedLayout::blocked_product)?, common));
                }
                ProductKind::Raked => {
                    return Ok((by_layout(block, tiler, common, ComposedLayout::raked_product)?, common));
                }
            };
            (by_tiler(block, tiler, common, f)?, common)
        }
        Operation::BlockedProduct(Two { a, b, common }) => {
            (by_layout(a, b, common, ComposedLayout::blocked_product)?, common)
        }
        Operation::RakedProduct(Two { a, b, common }) => {
            (by_layout(a, b, common, ComposedLayout::raked_product)?, common)
        }
        Operation::TileToShape { block, shape, order, common } => {
            let n = Notation::of([block, shape].into_iter().chain(order), common.dynamic);
            let order = order.as_deref().map(|order| n.tuple(order)).transpose()?;
            (Answer::Layout(n.composed(block)?.tile_to_shape(&n.tuple(shape)?, order.as_ref())?), common)
        }
        Operation::Ordered { shape, order, common } => {
            let n = Notation::of([shape].into_iter().chain(order), common.dynamic);
            let shape = n.tuple(shape)?;
            let l = match order {
                Some(order) => Layout::ordered(&shape, &n.tuple(order)?)?,
                None => Layout::column_major(shape)?,
            };
            (l.into(), common)
        }
        Operation::Like(one) => of(one, |l| Ok(l.make_like()?.into()))?,
        Operation::FragmentLike(one) => of(one, |l| Ok(l.fragment_like()?.into()))?,
        Operation::Upcast(Scaled { layout, n, common }) => {
            (Answer::Layout(composed(layout, common)?.1.upcast(*n)?), common)
        }
        Operation::Downcast(Scaled { layout, n, common }) => {
            (Answer::Layout(composed(layout, common)?.1.downcast(*n)?), common)
        }
        Operation::Recast { layout, old, new, common } => {
            (Answer::Layout(composed(layout, common)?.1.recast(*old, *new)?), common)
        }
        Operation::MaxCommon { two: Two { a, b, common }, vector } => {
            let n = Notation::of([a, b], common.dynamic);
            let left = n.composed(a)?;
            let right = n.composed(b)?;
            let answer = if *vector {
                Answer::Int(left.max_common_vector(&right)?)
            } else if left.is_plain() && !right.is_plain() {
                right.max_common_layout(&left.layout)?.into()
            } else {
                left.max_common_layout(&n.layout("max-common of two layouts", b)?)?.into()
            };
            (answer, common)
        }
        Operation::MaxAlignment(One { layout, common }) => {
            (Answer::Int(composed(layout, common)?.1.max_alignment()?), common)
        }
        Operation::Nullspace(one) => of(one, |l| Ok(l.nullspace()?.into()))?,
        Operation::LocalTile { layout, tiler, coordinate, common } => {
            let n = Notation::of([layout, tiler], common.dynamic);
            let l = n.composed(layout)?;
            let (tiler, coord) = (n.tree("a tiler", tiler)?, n.tree("a coordinate", coordinate)?);
            (part(tiler.tiler(|tiler| coord.coord(|coord| l.local_tile(tiler, coord)))?), common)
        }
        Operation::LocalPartition { layout, threads, thread, common } => {
            let n = Notation::of([layout, threads], common.dynamic);
            let (l, threads) = (n.composed(layout)?, n.layout("the threads of local-partition", threads)?);
            (part(l.local_partition(&threads, *thread)?), common)
        }
        Operation::Identity { shape, tiler, coordinate, common } => {
            let n = Notation::of([shape].into_iter().chain(tiler), common.dynamic);
            let whole = CoordinateLayout::identity(n.tuple(shape)?)?;
            let tree =
                |text: &Option<String>| text.as_ref().map(|text| n.tree("a tiler or a coordinate", text)).transpose();
            let l = match (tree(tiler)?, tree(coordinate)?) {
                (None, _) => whole,
                (Some(tiler), None) => tiler.tiler(|tiler| whole.map(|l| l.zipped_divide(tiler)))?,
                (Some(tiler), Some(at)) => tiler.tiler(|tiler| at.coord(|coord| whole.local_tile(tiler, coord)))?,
            };
            (Answer::Coordinates(l), common)
        }
        Operation::SmemAtom { hardware: Hardware { major, swizzle, bits }, common } => {
            (Answer::Layout(smem::atom(major_of(major)?, swizzle_of(swizzle)?, *bits)?), common)
        }
        Operation::Descriptor { tile, hardware, common } => {
            (Answer::Descriptor(Descriptor::of(tile, hardware, common)?), common)
        }
        Operation::Tma { global, shared, bits, common } => {
            (Answer::Map(Map::of(global, shared, *bits, common)?), common)
        }
        Operation::Conflicts { layout, access, bits, bytes, common } => {
            let n = Notation::of([layout, access], common.dynamic);
            let (l, access) = (n.composed(layout)?, n.layout("the access of conflicts", access)?);
            (Answer::Int(l.wavefronts(*bits, &access, *bytes)?.into()), common)
        }
        Operation::Lower { layout, name, arguments, wide, common } => {
            (lower(&composed(layout, common)?.1, name, arguments, *wide)?, common)
        }
        Operation::Tv { tiled, common } => (tiled::tv(tiled, common)?.into(), common),
        Operation::Partition { matrix, thread, tiled, nested, common } => {
            (part(tiled::partition(matrix, *thread, tiled, *nested, common)?), common)
        }
        Operation::Print { common, .. } => (Answer::Text(String::new()), common),
    })
}

fn composed(text: &String, common: &Common) -> Result<(Notation, ComposedLayout), TextError> {
    let notation = Notation::of([text], common.dynamic);
    Ok((notation, notation.composed(text)?))
}

/// An operation on a layout, behind a swizzle or not.
fn of(
    One { layout, common }: &One,
    f: impl Fn(&ComposedLayout) -> Of<ComposedLayout>,
) -> anyhow::Result<(Answer, &Common)> {
    Ok((Answer::Layout(f(&composed(layout, common)?.1)?), common))
}

fn inverse(
    One { layout, common }: &One,
    plain: fn(&Layout) -> Of<Layout>,
    swizzled: fn(&ComposedLayout) -> Of<ComposedInverse>,
) -> anyhow::Result<(Answer, &Common)> {
    let l = composed(layout, common)?.1;
    Ok((if l.is_plain() { plain(&l.layout)?.into() } else { Answer::Inverse(swizzled(&l)?) }, common))
}

fn by_tiler(
    layout: &String,
    tiler: &String,
    common: &Common,
    f: fn(&ComposedLayout, &Tiler<'_>) -> Of<ComposedLayout>,
) -> anyhow::Result<Answer> {
    let n = Notation::of([layout, tiler], common.dynamic);
    let l = n.composed(layout)?;
    Ok(Answer::Layout(n.tree("a tiler", tiler)?.tiler(|tiler| f(&l, tiler))?))
}

fn by_layout(
    a: &String,
    b: &String,
    common: &Common,
    f: fn(&ComposedLayout, &Layout) -> Of<ComposedLayout>,
) -> anyhow::Result<Answer> {
    let n = Notation::of([a, b], common.dynamic);
    Ok(Answer::Layout(f(&n.composed(a)?, &n.layout("a product", b)?)?))
}

fn eval(layout: &String, coordinates: &[String], common: &Common) -> anyhow::Result<Answer> {
    let l = composed(layout, common)?.1;
    let offsets = coordinates.iter().map(|text| {
        let coordinate: IntTuple = Notation::of([], true).tuple(text)?;
        Ok::<_, anyhow::Error>(l.crd2idx(&coordinate)?)
    });
    let offsets = offsets.collect::<Result<Vec<_>, _>>()?;
    Ok(if let [offset] = offsets[..] { Answer::Int(offset) } else { Answer::Ints(offsets) })
}

fn slice(Two { a, b, common }: &Two) -> anyhow::Result<Answer> {
    let (n, l) = composed(a, common)?;
    let coord = n.tree("a coordinate", b)?;
    Ok(part(coord.coord(|coord| l.slice_and_offset(coord))?))
}

/// Part of a layout; where a swizzle is left, with the offset in front of it.
fn part((part, offset): (ComposedLayout, i64)) -> Answer {
    if part.is_plain() {
        return Answer::Part((part.layout, offset));
    }
    // The sum is an offset into the layout that the part is of, which has been checked.
    Answer::Layout(ComposedLayout { offset: part.offset.add(Int::Static(offset)), ..part })
}

fn compose(Two { a, b, common }: &Two) -> anyhow::Result<Answer> {
    let n = Notation::of([a, b], common.dynamic);
    // A swizzle alone is a left-hand side.
    let left = match a.parse() {
        Ok(swizzle) => return Ok(Answer::Layout(ComposedLayout::new(swizzle, n.layout("the swizzled side", b)?))),
        Err(_) => n.composed(a)?,
    };
    Ok(Answer::Layout(match n.tree("a layout or a tiler", b)? {
        Tree::Layout(b) => left.compose(&b)?,
        tree => tree.tiler(|tiler| left.compose_by(tiler))?,
    }))
}

fn complement(layout: &String, cotarget: Option<&String>, common: &Common) -> anyhow::Result<Answer> {
    let n = Notation::of([layout].into_iter().chain(cotarget), common.dynamic);
    let l = n.composed(layout)?;
    Ok(match cotarget {
        Some(cotarget) => l.complement(&n.tuple(cotarget)?)?.into(),
        None => l.complement_self()?.into(),
    })
}

/// C++17's keywords and alternative tokens.
const KEYWORDS: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class \
compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern false \
float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected \
public register reinterpret_cast return short signed sizeof static static_assert static_cast struct switch template this \
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// Whether the function's own text may hold the name: the swizzled offset, and dynamic extents, strides and offset.
fn generated(text: &str) -> bool {
    let number = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    text == "x" || text == "offset" || text.strip_prefix(['s', 'd']).is_some_and(number)
}

fn lower(layout: &ComposedLayout, name: &str, arguments: &[String], wide: bool) -> anyhow::Result<Answer> {
    let default: Vec<String> = (0..layout.rank()).map(|i| format!("c{i}")).collect();
    let arguments = if arguments.is_empty() { &default } else { arguments };
    let identifier = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !KEYWORDS.split(' ').any(|word| word == text)
            && !generated(text)
    };
    let names = || arguments.iter().map(String::as_str).chain([name]);
    if let Some(given) = names().enumerate().find(|(i, text)| !identifier(text) || names().take(*i).any(|n| n == *text))
    {
        let given = given.1;
        let (given, what, choices) = (
            given.to_owned(),
            "a C++ identifier of its own",
            "letters, digits and _, no keyword, and neither x nor s0, d0, ...",
        );
        return Err(TextError::Word { given, what, choices }.into());
    }
    let names: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let width = if wide { Width::U64 } else { Width::U32 };
    Ok(Answer::Text(index_function_of(name, layout, &names, width)?.to_string()))
}

pub fn major_of(text: &str) -> Result<Major, TextError> {
    match text.to_ascii_uppercase().as_str() {
        "K" => Ok(Major::K),
        "MN" => Ok(Major::Mn),
        _ => Err(TextError::Word { given: text.to_owned(), what: "a major", choices: "K, MN" }),
    }
}

pub fn swizzle_of(text: &str) -> Result<SmemSwizzle, TextError> {
    Ok(match text.to_ascii_uppercase().as_str() {
        "INTER" => SmemSwizzle::None,
        "SW32" => SmemSwizzle::B32,
        "SW64" => SmemSwizzle::B64,
        "SW128" => SmemSwizzle::B128,
        "SW128_32B" => SmemSwizzle::B128Atom32,
        _ => {
            let choices = "INTER, SW32, SW64, SW128, SW128_32B";
            return Err(TextError::Word { given: text.to_owned(), what: "a shared-memory swizzle", choices });
        }
    })
}
