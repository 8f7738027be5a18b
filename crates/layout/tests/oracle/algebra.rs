//! The families of the algebra.

use serde_json::Value;
use warpwright_layout::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Swizzle, crd2idx};

use super::json::{
    Failure, Outcome, coord, equal, int, layout, same_composed, same_layout, same_table, swizzle, tiler, to_json,
    tuple, wrong,
};

fn a(v: &Value) -> Result<Layout, LayoutError> {
    layout(v.get("layout").unwrap_or(&v["a"]))
}

pub fn eval(v: &Value, out: &Value) -> Outcome {
    let l = a(v)?;
    equal("size", l.size().value(), int(&out["size"]))?;
    equal("cosize", l.cosize().value(), int(&out["cosize"]))?;
    equal("rank", l.rank() as i64, int(&out["rank"]))?;
    equal("depth", l.depth() as i64, int(&out["depth"]))?;
    let sizes: Vec<i64> = (0..l.rank()).map(|i| l.mode(i).size().value()).collect();
    equal("mode sizes", Value::from(sizes), out["mode_sizes"].clone())?;
    same_table(out, |i| l.eval(i))?;
    for pair in out["beyond"].as_array().into_iter().flatten() {
        equal("beyond", l.eval(int(&pair[0])), int(&pair[1]))?;
    }
    for p in out["points"].as_array().into_iter().flatten() {
        let i = int(&p["i"]);
        let natural = l.idx2crd(i);
        equal("hier", to_json(&natural), p["hier"].clone())?;
        equal("off_hier", l.crd2idx(&natural)?, int(&p["off_hier"]))?;
        equal("off_1d", l.eval(i), int(&p["off_1d"]))?;
        equal("back", crd2idx(&natural, &l.shape())?, int(&p["back"]))?;
        if p["rank_coord"].is_null() {
            continue;
        }
        equal("off_rank_coord", l.crd2idx(&tuple(&p["rank_coord"]))?, int(&p["off_rank_coord"]))?;
        let by_mode: Vec<i64> =
            (0..l.rank()).map(|i| crd2idx(&natural.mode(i), &l.shape().mode(i))).collect::<Result<_, _>>()?;
        equal("off_rank_coord", l.eval_at(&by_mode), int(&p["off_rank_coord"]))?;
    }
    Ok(())
}

pub fn idx2crd_stride(v: &Value, out: &Value) -> Outcome {
    let l = layout(v)?;
    for p in out["points"].as_array().into_iter().flatten() {
        equal("crd", to_json(&l.coord_of(int(&p["idx"]))), p["crd"].clone())?;
    }
    Ok(())
}

pub fn crd2idx_mixed(v: &Value, out: &Value) -> Outcome {
    let l = a(v)?;
    for (c, idx) in v["coords"].as_array().into_iter().flatten().zip(out["idx"].as_array().into_iter().flatten()) {
        equal("idx", l.crd2idx(&tuple(c))?, int(idx))?;
        equal("idx of slice", l.slice(&coord(c))?.1, int(idx))?;
    }
    Ok(())
}

pub fn slice_and_offset(v: &Value, out: &Value) -> Outcome {
    let (kept, offset) = a(v)?.slice(&coord(&v["coord"]))?;
    equal("offset", offset, int(&out["offset"]))?;
    same_layout(out, &kept)
}

pub fn coalesce(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.coalesce()?)
}

pub fn coalesce_by_mode(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.coalesce_by(&tuple(&v["profile"]))?)
}

pub fn filter(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.filter()?)
}

pub fn nullspace(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.nullspace()?)
}

pub fn max_alignment(v: &Value, out: &Value) -> Outcome {
    equal("alignment", a(v)?.max_alignment()?, int(&out["int"]))
}

pub fn make_layout_like(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.make_like()?)
}

pub fn complement(v: &Value, out: &Value) -> Outcome {
    let l = a(v)?;
    let result = match &v["cotarget"] {
        Value::Null => l.complement_self()?,
        target => l.complement(&tuple(target))?,
    };
    same_layout(out, &result)
}

pub fn right_inverse(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.right_inverse()?)
}

pub fn left_inverse(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.left_inverse()?)
}

pub fn composition(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.compose(&layout(&v["b"])?)?)
}

pub fn composition_by_mode(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.compose_by(&tiler(&v["tiler"])?)?)
}

pub fn max_common_layout(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.max_common_layout(&layout(&v["b"])?)?)
}

pub fn max_common_vector(v: &Value, out: &Value) -> Outcome {
    equal("vector", a(v)?.max_common_vector(&layout(&v["b"])?)?, int(&out["int"]))
}

pub fn logical_divide(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.logical_divide(&tiler(&v["tiler"])?)?)
}

pub fn zipped_divide(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.zipped_divide(&tiler(&v["tiler"])?)?)
}

pub fn tiled_divide(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.tiled_divide(&tiler(&v["tiler"])?)?)
}

pub fn flat_divide(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.flat_divide(&tiler(&v["tiler"])?)?)
}

pub fn logical_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.logical_product(&tiler(&v["tiler"])?)?)
}

pub fn zipped_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.zipped_product(&tiler(&v["tiler"])?)?)
}

pub fn tiled_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.tiled_product(&tiler(&v["tiler"])?)?)
}

pub fn flat_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.flat_product(&tiler(&v["tiler"])?)?)
}

pub fn blocked_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.blocked_product(&layout(&v["b"])?)?)
}

pub fn raked_product(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.raked_product(&layout(&v["b"])?)?)
}

pub fn order(v: &Value) -> Option<IntTuple> {
    (!v.is_null()).then(|| tuple(v))
}

pub fn tile_to_shape(v: &Value, out: &Value) -> Outcome {
    let block = layout(&v["block"])?;
    same_layout(out, &block.tile_to_shape(&tuple(&v["shape"]), order(&v["order"]).as_ref())?)
}

pub fn make_ordered_layout(v: &Value, out: &Value) -> Outcome {
    let shape = tuple(&v["shape"]);
    let l = match order(&v["order"]) {
        Some(order) => Layout::ordered(&shape, &order)?,
        None => Layout::column_major(shape)?,
    };
    same_layout(out, &l)
}

pub fn upcast(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.upcast(int(&v["n"]))?)
}

pub fn downcast(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.downcast(int(&v["n"]))?)
}

pub fn recast_layout(v: &Value, out: &Value) -> Outcome {
    same_layout(out, &a(v)?.recast(int(&v["old_bits"]), int(&v["new_bits"]))?)
}

pub fn swizzles(v: &Value, out: &Value) -> Outcome {
    let field = |name: &str| int(&v[name]) as i32;
    let s = Swizzle::new(field("bits"), field("base"), field("shift"))?;
    same_table(out, |i| s.apply(i))?;
    for p in out["points"].as_array().into_iter().flatten() {
        equal("point", s.apply(int(&p[0])), int(&p[1]))?;
    }
    Ok(())
}

fn composed(v: &Value) -> Result<ComposedLayout, Failure> {
    let offset = Int::Static(v.get("offset").map_or(0, int));
    Ok(ComposedLayout { swizzle: swizzle(&v["swizzle"])?, offset, layout: a(v)? })
}

pub fn composed_eval(v: &Value, out: &Value) -> Outcome {
    same_composed(out, &composed(v)?)
}

pub fn composed_ops(v: &Value, out: &Value) -> Outcome {
    let c = composed(v)?;
    let b = || layout(&v["b"]);
    let tile = || tiler(&v["tiler"]);
    let result = match v["op"].as_str().unwrap_or_default() {
        "composition" => c.compose(&b()?)?,
        "tile_to_shape" => c.tile_to_shape(&tuple(&v["shape"]), order(&v["order"]).as_ref())?,
        "coalesce" => c.coalesce()?,
        "upcast" => c.upcast(int(&v["n"]))?,
        "downcast" => c.downcast(int(&v["n"]))?,
        "logical_divide" => c.logical_divide(&tile()?)?,
        "zipped_divide" => c.zipped_divide(&tile()?)?,
        "tiled_divide" => c.tiled_divide(&tile()?)?,
        "flat_divide" => c.flat_divide(&tile()?)?,
        "logical_product" => c.logical_product(&warpwright_layout::Tiler::Layout(&b()?))?,
        "blocked_product" => c.blocked_product(&b()?)?,
        "raked_product" => c.raked_product(&b()?)?,
        op => return wrong(format!("unknown operation {op}")),
    };
    same_composed(out, &result)
}
