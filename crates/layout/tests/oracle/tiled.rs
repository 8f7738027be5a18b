//! The families of atoms, shared-memory layouts and tiled operations.

use serde_json::Value;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{ComposedLayout, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma, Tiler};

use super::algebra::order;
use super::json::{
    Failure, Outcome, equal, int, layout, same_layout, same_table, swizzle, tiler, to_json, tuple, wrong,
};

fn smem(v: &Value) -> Result<(ComposedLayout, SmemSwizzle), Failure> {
    let major = if v["major"] == "K" { Major::K } else { Major::Mn };
    let swizzle = match v["swizzle"].as_str().unwrap_or_default() {
        "INTER" => SmemSwizzle::None,
        "SW32" => SmemSwizzle::B32,
        "SW64" => SmemSwizzle::B64,
        "SW128" => SmemSwizzle::B128,
        "SW128_32B" => SmemSwizzle::B128Atom32,
        other => return wrong(format!("unknown swizzle {other}")),
    };
    Ok((atom(major, swizzle, int(&v["bits"]) as u32)?, swizzle))
}

pub fn smem_atom(v: &Value, out: &Value) -> Outcome {
    let (a, sw) = smem(v)?;
    equal("byte swizzle", sw.on_bytes(), swizzle(&out["swizzle"])?)?;
    let element = swizzle(&out["element_swizzle"])?;
    if element.is_identity() {
        equal("identity", a.swizzle.is_identity(), true)?;
    } else {
        equal("element swizzle", a.swizzle, element)?;
    }
    equal("inner", a.layout, layout(&out["inner"])?)?;
    same_table(out, |i| a.eval(i))
}

pub fn smem_tile_to_shape(v: &Value, out: &Value) -> Outcome {
    let (a, sw) = smem(v)?;
    let tile = a.tile_to_shape(&tuple(&v["shape"]), order(&v["order"]).as_ref())?;
    equal("byte swizzle", sw.on_bytes(), swizzle(&out["swizzle"])?)?;
    equal("inner", tile.layout, layout(&out["inner"])?)
}

fn name(v: &Value) -> &str {
    v["atom"].as_str().unwrap_or_default()
}

fn same_mma(out: &Value, atom: &MmaAtom) -> Outcome {
    equal("shape", Value::from(atom.shape_mnk.to_vec()), out["shape_mnk"].clone())?;
    equal("bits", Value::from(atom.bits.to_vec()), out["bits"].clone())?;
    same_layout(&out["thr_id"], &atom.thr_id)?;
    same_layout(&out["a"], &atom.a)?;
    same_layout(&out["b"], &atom.b)?;
    same_layout(&out["c"], &atom.c)
}

pub fn mma_atom(v: &Value, out: &Value) -> Outcome {
    same_mma(out, &MmaAtom::named(name(v))?)
}

fn same_copy(out: &Value, atom: &CopyAtom) -> Outcome {
    same_layout(&out["thr_id"], &atom.thr_id)?;
    same_layout(&out["src_bits"], &atom.src)?;
    same_layout(&out["dst_bits"], &atom.dst)?;
    same_layout(&out["ref_bits"], &atom.reference)
}

pub fn copy_atom(v: &Value, out: &Value) -> Outcome {
    same_copy(out, &CopyAtom::named(name(v), 8)?)
}

/// A thread's part: form, offset and the offsets of its elements.
fn same_part(out: &Value, (part, offset): (Layout, i64)) -> Outcome {
    equal("part", part, layout(out)?)?;
    equal("offset", offset, int(&out["offset"]))?;
    same_table(out, |i| offset + part.eval(i))
}

fn mma(v: &Value) -> Result<TiledMma, LayoutError> {
    let mut mma = TiledMma::new(MmaAtom::named(name(v))?, &layout(&v["atom_layout_mnk"])?)?;
    for (axis, p) in v["permutations"].as_array().into_iter().flatten().enumerate() {
        mma = match tiler(p)? {
            Tiler::Layout(l) => mma.with_permutation(axis, l)?,
            Tiler::Size(n) => mma.with_permutation(axis, &Layout::column_major(n.into())?)?,
            _ => mma,
        };
    }
    Ok(mma)
}

pub fn tiled_mma(v: &Value, out: &Value) -> Outcome {
    let mma = mma(v)?;
    equal("threads", mma.threads(), int(&out["size"]))?;
    equal("tile", Value::from(mma.tile_mnk().to_vec()), out["tile_mnk"].clone())?;
    same_layout(&out["thr_layout_vmnk"], mma.thr_layout_vmnk())?;
    for (operand, letter) in [(Operand::A, "a"), (Operand::B, "b"), (Operand::C, "c")] {
        same_layout(&out[format!("tv_{letter}")], &mma.tv(operand)?)?;
        let matrix = layout(&v[letter])?;
        same_layout(&out[format!("thrfrg_{letter}")], &mma.thrfrg(operand, &matrix)?)?;
        for t in out["threads"].as_array().into_iter().flatten() {
            same_part(&t[letter], mma.partition(operand, &matrix, int(&t["thr"]))?)?;
        }
    }
    Ok(())
}

fn same_tiled_copy(v: &Value, out: &Value, copy: &TiledCopy) -> Outcome {
    equal("threads", copy.threads(), int(&out["size"]))?;
    equal("tiler", to_json(&copy.tiler()), out["tiler_mn"].clone())?;
    same_layout(&out["tv_s"], &copy.tv(Side::Source)?)?;
    same_layout(&out["tv_d"], &copy.tv(Side::Destination)?)?;
    let data = layout(&v["data"])?;
    for t in out["threads"].as_array().into_iter().flatten() {
        let thread = int(&t["thr"]);
        same_part(&t["s"], copy.partition(Side::Source, &data, thread)?)?;
        same_part(&t["d"], copy.partition(Side::Destination, &data, thread)?)?;
    }
    Ok(())
}

fn copy_of(v: &Value) -> Result<(CopyAtom, u32), LayoutError> {
    let bits = int(&v["bits"]) as u32;
    Ok((CopyAtom::named(v["copy"].as_str().unwrap_or_default(), bits)?, bits))
}

pub fn tiled_copy(v: &Value, out: &Value) -> Outcome {
    let (atom, bits) = copy_of(v)?;
    same_tiled_copy(v, out, &TiledCopy::new(atom, bits, &layout(&v["thr"])?, &layout(&v["val"])?)?)
}

pub fn tiled_copy_mma(v: &Value, out: &Value) -> Outcome {
    let (atom, bits) = copy_of(v)?;
    let operand = match v["operand"].as_str() {
        Some("A") => Operand::A,
        Some("B") => Operand::B,
        _ => Operand::C,
    };
    same_tiled_copy(v, out, &TiledCopy::for_mma(atom, bits, &mma(v)?, operand)?)
}
