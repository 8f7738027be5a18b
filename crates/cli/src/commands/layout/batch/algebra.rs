//! The families of the algebra.

use super::super::json::{Json, Nesting, TABLE};
use super::super::tree::Tree;
use super::read::{BatchError, Input, shortened};
use warpwright::layout::{ComposedInverse, ComposedLayout, Layout, LayoutError, Swizzle, Tiler, digits, index_of};

type Done = Result<(), BatchError>;
type Answer = fn(Input<'_>, &mut Json) -> Done;

/// Points that are shown of a layout too large for a table, when the input names none.
const POINTS: i64 = 64;

/// The family's answer.
pub fn of(family: &str) -> Option<Answer> {
    Some(match family {
        "eval" => eval,
        "idx2crd_stride" => idx2crd_stride,
        "crd2idx_mixed" => crd2idx_mixed,
        "slice_and_offset" => slice_and_offset,
        "coalesce" => |v, json| one(v, json, Layout::coalesce),
        "coalesce_by_mode" => |v, json| {
            let profile = v.tuple("profile")?;
            one(v, json, |l| l.coalesce_by(&profile))
        },
        "filter" => |v, json| one(v, json, Layout::filter),
        "nullspace" => |v, json| one(v, json, Layout::nullspace),
        "make_layout_like" => |v, json| one(v, json, Layout::make_like),
        "right_inverse" => |v, json| one(v, json, Layout::right_inverse),
        "left_inverse" => |v, json| one(v, json, Layout::left_inverse),
        "complement" | "complement_shape" => complement,
        "max_alignment" => |v, json| int(json, v.layout("layout")?.max_alignment()?),
        "upcast" => |v, json| {
            let n = v.int("n")?;
            one(v, json, |l| l.upcast(n))
        },
        "downcast" => |v, json| {
            let n = v.int("n")?;
            one(v, json, |l| l.downcast(n))
        },
        "recast_layout" => |v, json| {
            let (old, new) = (v.int("old_bits")?, v.int("new_bits")?);
            one(v, json, |l| l.recast(old, new))
        },
        "composition" => |v, json| two(v, json, Layout::compose),
        "blocked_product" => |v, json| two(v, json, Layout::blocked_product),
        "raked_product" => |v, json| two(v, json, Layout::raked_product),
        "max_common_layout" => |v, json| two(v, json, Layout::max_common_layout),
        "max_common_vector" => |v, json| int(json, v.layout("a")?.max_common_vector(&v.layout("b")?)?),
        "composition_by_mode" => |v, json| tiled(v, json, Layout::compose_by),
        "logical_divide" => |v, json| tiled(v, json, Layout::logical_divide),
        "zipped_divide" => |v, json| tiled(v, json, Layout::zipped_divide),
        "tiled_divide" => |v, json| tiled(v, json, Layout::tiled_divide),
        "flat_divide" => |v, json| tiled(v, json, Layout::flat_divide),
        "logical_product" => |v, json| tiled(v, json, Layout::logical_product),
        "zipped_product" => |v, json| tiled(v, json, Layout::zipped_product),
        "tiled_product" => |v, json| tiled(v, json, Layout::tiled_product),
        "flat_product" => |v, json| tiled(v, json, Layout::flat_product),
        "tile_to_shape" => tile_to_shape,
        "make_ordered_layout" => make_ordered_layout,
        "swizzle" => swizzle,
        "composed_eval" => |v, json| {
            json.composed(&v.composed()?);
            Ok(())
        },
        "composed_ops" => composed_ops,
        _ => return None,
    })
}

fn int(json: &mut Json, v: i64) -> Done {
    json.raw("{\"int\":").int(v).raw("}");
    Ok(())
}

fn one(v: Input<'_>, json: &mut Json, f: impl Fn(&Layout) -> Result<Layout, LayoutError>) -> Done {
    json.layout(&f(&v.layout("layout")?)?);
    Ok(())
}

fn two(v: Input<'_>, json: &mut Json, f: fn(&Layout, &Layout) -> Result<Layout, LayoutError>) -> Done {
    json.layout(&f(&v.layout("a")?, &v.layout("b")?)?);
    Ok(())
}

fn tiled(v: Input<'_>, json: &mut Json, f: fn(&Layout, &Tiler<'_>) -> Result<Layout, LayoutError>) -> Done {
    let a = v.layout("a")?;
    json.layout(&v.tree("tiler")?.tiler(|tiler| f(&a, tiler))?);
    Ok(())
}

/// All indices of a domain that has a table, and some of a larger one, its last among them: whatever points a reader has
/// chosen of a table are here.
fn some_of(size: i64) -> Vec<i64> {
    if size <= TABLE {
        return (0..size).collect();
    }
    (0..POINTS).map(|n| (n as i128 * (size - 1) as i128 / (POINTS - 1) as i128) as i64).collect()
}

fn eval(v: Input<'_>, json: &mut Json) -> Done {
    let l = v.layout("layout")?;
    let size = l.size().value();
    let beyond: Vec<[i64; 2]> = match v.ints("beyond")? {
        Some(named) => named.into_iter().map(|i| Ok([i, l.try_eval(i)?])).collect::<Result<_, LayoutError>>()?,
        None => (0..8).map(|n| size + 3 * n).filter_map(|i| Some([i, l.try_eval(i).ok()?])).collect(),
    };
    let points = match v.ints("points")? {
        // Where the whole offset fits, its parts do, however the coordinate is written.
        Some(named) => named.into_iter().map(|i| l.try_eval(i).map(|_| i)).collect::<Result<_, _>>()?,
        None => some_of(size),
    };
    json.raw("{\"size\":").int(size).raw(",\"cosize\":").int(l.cosize().value());
    json.raw(",\"rank\":").int(l.rank() as i64).raw(",\"depth\":").int(l.depth() as i64);
    json.raw(",\"mode_sizes\":").ints((0..l.rank()).map(|i| l.mode(i).size().value()));
    json.raw(",\"table\":").table(size, |i| l.eval(i));
    json.raw(",\"beyond\":").each(beyond, |json, point| {
        json.ints(point);
    });
    let shape = l.shape();
    let (leaves, rank) = (shape.leaves(), l.rank());
    let (each, hier) = (shape.product_each(), Nesting::of(&shape));
    // One integer a leaf is as good a coordinate as the nested one, and needs no tuple a point.
    let (flat, back) = (l.flatten(), index_of(&shape)?);
    json.raw(",\"points\":").each(points, |json, i| {
        let natural = digits(i, &shape);
        json.raw("{\"i\":").int(i).raw(",\"hier\":").nested(&hier, &natural[..leaves]);
        if shape.is_tuple() {
            let by_mode = digits(i, &each);
            json.raw(",\"rank_coord\":").ints(by_mode[..rank].iter().copied());
            json.raw(",\"off_rank_coord\":").int(l.eval_at(&by_mode[..rank]));
        }
        json.raw(",\"off_hier\":").int(flat.eval_at(&natural[..leaves])).raw(",\"off_1d\":").int(l.eval(i));
        json.raw(",\"back\":").int(back.eval_at(&natural[..leaves])).raw("}");
    });
    json.raw("}");
    Ok(())
}

fn idx2crd_stride(v: Input<'_>, json: &mut Json) -> Done {
    let l = v.itself()?;
    let size = l.size().value();
    let points = v.ints("points")?.unwrap_or_else(|| {
        let mut points = some_of(size);
        points.extend([size, size.saturating_add(1)]);
        points
    });
    let (nesting, leaves) = (Nesting::of(&l.shape()), l.shape().leaves());
    json.raw("{\"points\":").each(points, |json, i| {
        let coordinate = l.digits_of(i);
        json.raw("{\"idx\":").int(i).raw(",\"crd\":").nested(&nesting, &coordinate[..leaves]).raw("}");
    });
    json.raw("}");
    Ok(())
}

fn crd2idx_mixed(v: Input<'_>, json: &mut Json) -> Done {
    let l = v.layout("layout")?;
    let indices = v.trees("coords")?.iter().map(|c| l.crd2idx(&c.tuple()?)).collect::<Result<Vec<_>, LayoutError>>()?;
    json.raw("{\"idx\":").ints(indices).raw("}");
    Ok(())
}

fn slice_and_offset(v: Input<'_>, json: &mut Json) -> Done {
    let l = v.layout("layout")?;
    json.slice(&v.tree("coord")?.coord(|coord| l.slice(coord))?);
    Ok(())
}

fn complement(v: Input<'_>, json: &mut Json) -> Done {
    let l = v.layout("layout")?;
    json.layout(&match v.maybe_tuple("cotarget")? {
        Some(target) => l.complement(&target)?,
        None => l.complement_self()?,
    });
    Ok(())
}

fn tile_to_shape(v: Input<'_>, json: &mut Json) -> Done {
    let block = v.layout("block")?;
    json.layout(&block.tile_to_shape(&v.tuple("shape")?, v.maybe_tuple("order")?.as_ref())?);
    Ok(())
}

fn make_ordered_layout(v: Input<'_>, json: &mut Json) -> Done {
    let shape = v.tuple("shape")?;
    json.layout(&match v.maybe_tuple("order")? {
        Some(order) => Layout::ordered(&shape, &order)?,
        None => Layout::column_major(shape)?,
    });
    Ok(())
}

fn swizzle(v: Input<'_>, json: &mut Json) -> Done {
    let s = Swizzle::new(v.small("bits")?, v.small("base")?, v.small("shift")?)?;
    let bits = (s.bits + s.base + s.shift.abs()).min(10);
    // A swizzle is linear over bits: its powers of two say everything.
    let points = v.ints("points")?.unwrap_or_else(|| (0..31).map(|n| 1 << n).collect());
    json.raw("{\"table\":").table(1 << bits, |i| s.apply(i));
    json.raw(",\"points\":").each(points, |json, x| {
        json.ints([x, s.apply(x)]);
    });
    json.raw("}");
    Ok(())
}

fn composed_ops(v: Input<'_>, json: &mut Json) -> Done {
    let c = v.composed()?;
    let tiled = |f: fn(&ComposedLayout, &Tiler<'_>) -> Result<ComposedLayout, LayoutError>| {
        // The products take their tiler as `b`.
        let tree = if v.has("b") { Tree::Layout(Box::new(v.layout("b")?)) } else { v.tree("tiler")? };
        Ok::<_, BatchError>(tree.tiler(|tiler| f(&c, tiler))?)
    };
    let inverse = match v.word("op")? {
        "right_inverse" => Some(c.right_inverse()?),
        "left_inverse" => Some(c.left_inverse()?),
        _ => None,
    };
    match inverse {
        Some(undone @ ComposedInverse::Undone { .. }) => {
            json.inverse(&undone);
            return Ok(());
        }
        Some(ComposedInverse::Swizzled(inverse)) => return written(&c, &inverse, json),
        None => {}
    }
    let plain = match v.word("op")? {
        "make_layout_like" => Some(c.make_like()?),
        "make_fragment_like" => Some(c.fragment_like()?),
        "nullspace" => Some(c.nullspace()?),
        _ => None,
    };
    if let Some(plain) = plain {
        json.layout(&plain);
        return Ok(());
    }
    let result = match v.word("op")? {
        "composition" => c.compose(&v.layout("b")?)?,
        "composition_by_mode" => tiled(ComposedLayout::compose_by)?,
        "tile_to_shape" => c.tile_to_shape(&v.tuple("shape")?, v.maybe_tuple("order")?.as_ref())?,
        "coalesce" => match v.maybe_tuple("profile")? {
            Some(profile) => c.coalesce_by(&profile)?,
            None => c.coalesce()?,
        },
        "upcast" => c.upcast(v.int("n")?)?,
        "downcast" => c.downcast(v.int("n")?)?,
        "recast" => c.recast(v.int("old_bits")?, v.int("new_bits")?)?,
        "logical_divide" => tiled(ComposedLayout::logical_divide)?,
        "zipped_divide" => tiled(ComposedLayout::zipped_divide)?,
        "tiled_divide" => tiled(ComposedLayout::tiled_divide)?,
        "flat_divide" => tiled(ComposedLayout::flat_divide)?,
        "logical_product" => tiled(ComposedLayout::logical_product)?,
        "zipped_product" => tiled(ComposedLayout::zipped_product)?,
        "tiled_product" => tiled(ComposedLayout::tiled_product)?,
        "flat_product" => tiled(ComposedLayout::flat_product)?,
        "blocked_product" => c.blocked_product(&v.layout("b")?)?,
        "raked_product" => c.raked_product(&v.layout("b")?)?,
        "slice" => v.tree("coord")?.coord(|coord| c.slice(coord))?,
        "dice" => v.tree("coord")?.coord(|coord| c.dice(coord))?,
        op => {
            return Err(BatchError::Field {
                field: "op".into(),
                expected: "an operation of composed layouts, as in composition or zipped_divide",
                found: shortened(op),
            });
        }
    };
    written(&c, &result, json)
}

fn written(c: &ComposedLayout, result: &ComposedLayout, json: &mut Json) -> Done {
    // A swizzle that an operation reduces to nothing is still written; one that was nothing is not.
    if c.is_plain() {
        json.composed(result)
    } else {
        json.swizzled(result)
    };
    Ok(())
}
