//! The families of atoms, shared-memory layouts and tiled operations.

use serde_json::Value;
use warpwright_layout::atom::{CopyAtom, MmaAtom};
use warpwright_layout::descriptor::{
    SmemDescriptor, UmmaAccumulator, UmmaFormat, UmmaScale, umma_instruction, umma_instruction_block_scaled,
};
use warpwright_layout::smem::{Major, SmemSwizzle, atom};
use warpwright_layout::{ComposedLayout, Layout, LayoutError, Operand, Side, TiledCopy, TiledMma, Tiler};

use super::algebra::order;
use super::json::{
    Failure, Outcome, equal, int, layout, same_layout, same_table, swizzle, tiler, to_json, tuple, wrong,
};

fn major(v: &Value) -> Major {
    if v == "K" { Major::K } else { Major::Mn }
}

fn smem(v: &Value) -> Result<(ComposedLayout, SmemSwizzle), Failure> {
    let swizzle = match v["swizzle"].as_str().unwrap_or_default() {
        "INTER" => SmemSwizzle::None,
        "SW32" => SmemSwizzle::B32,
        "SW64" => SmemSwizzle::B64,
        "SW128" => SmemSwizzle::B128,
        "SW128_32B" => SmemSwizzle::B128Atom32,
        other => return wrong(format!("unknown swizzle {other}")),
    };
    Ok((atom(major(&v["major"]), swizzle, int(&v["bits"]) as u32)?, swizzle))
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

pub fn umma_atom(v: &Value, out: &Value) -> Outcome {
    let bits = |operand: &str| -> u32 {
        match v[operand].as_str().unwrap_or_default() {
            "f16" | "bf16" => 16,
            "tf32" | "f32" | "s32" => 32,
            "e2m3" | "e3m2" => 6,
            "e2m1" => 4,
            _ => 8,
        }
    };
    let k = match name(v) {
        n if n.contains("TF32") => 8,
        n if n.contains("F16BF16") => 16,
        n if n.contains("MXF4") => 64,
        _ => 32,
    };
    let d = bits("c");
    let pair = name(v).contains("2x1SM");
    same_mma(out, &MmaAtom::umma(int(&v["m"]), int(&v["n"]), k, [d, bits("a"), bits("b"), d], pair)?)
}

fn format(v: &Value, packed: bool) -> Result<UmmaFormat, Failure> {
    Ok(match v.as_str().unwrap_or_default() {
        "f16" => UmmaFormat::F16,
        "bf16" => UmmaFormat::Bf16,
        "tf32" => UmmaFormat::Tf32,
        "u8" => UmmaFormat::U8,
        "s8" => UmmaFormat::S8,
        "e4m3" => UmmaFormat::E4m3,
        "e5m2" => UmmaFormat::E5m2,
        "e2m3" => UmmaFormat::E2m3,
        "e3m2" => UmmaFormat::E3m2,
        "e2m1" if packed => UmmaFormat::PackedE2m1,
        "e2m1" => UmmaFormat::E2m1,
        other => return wrong(format!("unknown format {other}")),
    })
}

pub fn umma_instr_desc(v: &Value, out: &Value) -> Outcome {
    let accumulator = match v["c"].as_str() {
        Some("f16") => UmmaAccumulator::F16,
        Some("f32") => UmmaAccumulator::F32,
        _ => UmmaAccumulator::S32,
    };
    let formats = [format(&v["a"], false)?, format(&v["b"], false)?];
    let majors = [major(&v["a_major"]), major(&v["b_major"])];
    let desc = umma_instruction(int(&v["m"]) as u32, int(&v["n"]) as u32, formats, accumulator, majors)?;
    equal("descriptor", i64::from(desc), int(&out["desc"]))
}

pub fn umma_instr_desc_block_scaled(v: &Value, out: &Value) -> Outcome {
    let packed = v["kind"] != "mxf8f6f4";
    let formats = [format(&v["a"], packed)?, format(&v["b"], packed)?];
    let scale = if v["sf"] == "ue8m0" { UmmaScale::Ue8m0 } else { UmmaScale::Ue4m3 };
    let (m, n) = (int(&v["m"]) as u32, int(&v["n"]) as u32);
    let desc = umma_instruction_block_scaled(m, n, formats, scale, [Major::K, Major::K])?;
    equal("descriptor", i64::from(desc), int(&out["desc"]))
}

pub fn umma_tile_to_mma_shape(v: &Value, out: &Value) -> Outcome {
    let (a, sw) = smem(v)?;
    let tile = a.tile_to_mma_shape(&tuple(&v["mma_tile_shape"]), order(&v["order"]).as_ref())?;
    equal("byte swizzle", sw.on_bytes(), swizzle(&out["swizzle"])?)?;
    equal("inner", tile.layout, layout(&out["inner"])?)
}

pub fn umma_smem_desc(v: &Value, out: &Value) -> Outcome {
    let (a, sw) = smem(v)?;
    let tile = a.tile_to_shape(&tuple(&v["smem_tile"]), None)?;
    let first = tile.layout.zipped_divide(&tiler(&v["mma_tile"])?)?.mode(0);
    let desc = SmemDescriptor::of(&first, major(&v["major"]), sw, int(&v["bits"]) as u32)?;
    let bits = desc.sm100(int(&v["start_address"]) as u32);
    let field = |from: u32, width: u32| (bits >> from & ((1 << width) - 1)) as i64;
    for (name, from, width) in [
        ("start", 0, 14),
        ("lbo", 16, 14),
        ("sbo", 32, 14),
        ("version", 46, 2),
        ("base_offset", 49, 3),
        ("lbo_mode", 52, 1),
        ("layout_type", 61, 3),
    ] {
        equal(name, field(from, width), int(&out[name]))?;
    }
    Ok(())
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
