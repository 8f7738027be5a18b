//! The families of atoms, shared-memory layouts and tiled operations.

use super::super::json::Json;
use super::super::tree::Tree;
use super::read::{BatchError, Input};
use warpwright::layout::atom::{CopyAtom, MmaAtom};
use warpwright::layout::descriptor::{
    SmemDescriptor, UmmaAccumulator, UmmaFormat, UmmaScale, umma_instruction, umma_instruction_block_scaled,
};
use warpwright::layout::smem::{Major, SmemSwizzle, atom};
use warpwright::layout::{ComposedLayout, IntTuple, Layout, LayoutError, Operand, Side, Swizzle, TiledCopy, TiledMma};

type Done = Result<(), BatchError>;
type Answer = fn(Input<'_>, &mut Json) -> Done;

const MAJORS: &[(&str, Major)] = &[("K", Major::K), ("MN", Major::Mn)];
const SWIZZLES: &[(&str, SmemSwizzle)] = &[
    ("INTER", SmemSwizzle::None),
    ("SW32", SmemSwizzle::B32),
    ("SW64", SmemSwizzle::B64),
    ("SW128", SmemSwizzle::B128),
    ("SW128_32B", SmemSwizzle::B128Atom32),
];

/// The family's answer.
pub fn of(family: &str) -> Option<Answer> {
    Some(match family {
        "mma_atom" => |v, json| mma(json, &MmaAtom::named(v.word("atom")?)?),
        "umma_atom" => umma_atom,
        "copy_atom" => copy_atom,
        "smem_atom" => smem_atom,
        "smem_tile_to_shape" => |v, json| {
            tiled(v, json, |atom| Ok(atom.tile_to_shape(&v.tuple("shape")?, v.maybe_tuple("order")?.as_ref())?))
        },
        "umma_tile_to_mma_shape" => |v, json| {
            let order = v.maybe_tuple("order")?;
            tiled(v, json, |atom| Ok(atom.tile_to_mma_shape(&v.tuple("mma_tile_shape")?, order.as_ref())?))
        },
        "umma_instr_desc" => umma_instr_desc,
        "umma_instr_desc_block_scaled" => umma_instr_desc_block_scaled,
        "umma_smem_desc" => umma_smem_desc,
        "tiled_mma" => tiled_mma,
        "tiled_copy" => |v, json| {
            let (atom, bits) = copy_of(v)?;
            partitions(v, json, &TiledCopy::new(atom, bits, &v.layout("thr")?, &v.layout("val")?)?)
        },
        "tiled_copy_mma" => |v, json| {
            let (atom, bits) = copy_of(v)?;
            let operands = [("A", Operand::A), ("B", Operand::B), ("C", Operand::C)];
            let operand = v.choice("operand", &operands, "A, B or C")?;
            partitions(v, json, &TiledCopy::for_mma(atom, bits, &mma_of(v)?, operand)?)
        },
        _ => return None,
    })
}

fn mma(json: &mut Json, atom: &MmaAtom) -> Done {
    json.raw("{\"shape_mnk\":").ints(atom.shape_mnk).raw(",\"bits\":").ints(atom.bits.map(i64::from));
    json.raw(",\"thr_id\":").layout(&atom.thr_id);
    json.raw(",\"a\":").layout(&atom.a).raw(",\"b\":").layout(&atom.b).raw(",\"c\":").layout(&atom.c).raw("}");
    Ok(())
}

/// Bits of an element in a tcgen05 operand.
fn umma_bits(v: Input<'_>, field: &str) -> Result<u32, BatchError> {
    const BITS: &[(&str, u32)] = &[
        ("f16", 16),
        ("bf16", 16),
        ("tf32", 32),
        ("f32", 32),
        ("s32", 32),
        ("e2m3", 6),
        ("e3m2", 6),
        ("e2m1", 4),
        ("e4m3", 8),
        ("e5m2", 8),
        ("s8", 8),
        ("u8", 8),
    ];
    v.choice(field, BITS, "an element type, as in f16 or e4m3")
}

fn umma_atom(v: Input<'_>, json: &mut Json) -> Done {
    let c = umma_bits(v, "c")?;
    let bits = [c, umma_bits(v, "a")?, umma_bits(v, "b")?, c];
    mma(json, &MmaAtom::umma_named(v.word("atom")?, v.int("m")?, v.int("n")?, bits)?)
}

fn copy_atom(v: Input<'_>, json: &mut Json) -> Done {
    let atom = CopyAtom::named(v.word("atom")?, 8)?;
    json.raw("{\"thr_id\":").layout(&atom.thr_id).raw(",\"src_bits\":").short(&atom.src);
    json.raw(",\"dst_bits\":").short(&atom.dst).raw(",\"ref_bits\":").short(&atom.reference).raw("}");
    Ok(())
}

fn smem(v: Input<'_>) -> Result<(ComposedLayout, SmemSwizzle), BatchError> {
    let major = v.choice("major", MAJORS, "K or MN")?;
    let swizzle = v.choice("swizzle", SWIZZLES, "INTER, SW32, SW64, SW128 or SW128_32B")?;
    Ok((atom(major, swizzle, v.count("bits")?)?, swizzle))
}

fn smem_atom(v: Input<'_>, json: &mut Json) -> Done {
    let (atom, swizzle) = smem(v)?;
    let element = if atom.swizzle.is_identity() { Swizzle { bits: 0, base: 0, shift: 0 } } else { atom.swizzle };
    let size = atom.size().value();
    json.raw("{\"swizzle\":").swizzle(&swizzle.on_bytes()).raw(",\"inner\":").short(&atom.layout);
    json.raw(",\"element_swizzle\":").swizzle(&element).raw(",\"size\":").int(size);
    json.raw(",\"table\":").table(size, |i| atom.eval(i)).raw("}");
    Ok(())
}

fn tiled(v: Input<'_>, json: &mut Json, f: impl FnOnce(&ComposedLayout) -> Result<ComposedLayout, BatchError>) -> Done {
    let (atom, swizzle) = smem(v)?;
    let tile = f(&atom)?;
    json.raw("{\"swizzle\":").swizzle(&swizzle.on_bytes()).raw(",\"inner\":").short(&tile.layout).raw("}");
    Ok(())
}

const FORMATS: &[(&str, UmmaFormat)] = &[
    ("f16", UmmaFormat::F16),
    ("bf16", UmmaFormat::Bf16),
    ("tf32", UmmaFormat::Tf32),
    ("u8", UmmaFormat::U8),
    ("s8", UmmaFormat::S8),
    ("e4m3", UmmaFormat::E4m3),
    ("e5m2", UmmaFormat::E5m2),
    ("e2m3", UmmaFormat::E2m3),
    ("e3m2", UmmaFormat::E3m2),
    ("e2m1", UmmaFormat::E2m1),
];

/// The formats of A and B; e2m1 is packed where the kind says so.
fn formats(v: Input<'_>, packed: bool) -> Result<[UmmaFormat; 2], BatchError> {
    let format = |field| {
        let format = v.choice(field, FORMATS, "an operand format, as in f16 or e4m3")?;
        Ok::<_, BatchError>(if packed && format == UmmaFormat::E2m1 { UmmaFormat::PackedE2m1 } else { format })
    };
    Ok([format("a")?, format("b")?])
}

fn umma_instr_desc(v: Input<'_>, json: &mut Json) -> Done {
    let accumulators = [("f16", UmmaAccumulator::F16), ("f32", UmmaAccumulator::F32), ("s32", UmmaAccumulator::S32)];
    let accumulator = v.choice("c", &accumulators, "f16, f32 or s32")?;
    let majors = [v.choice("a_major", MAJORS, "K or MN")?, v.choice("b_major", MAJORS, "K or MN")?];
    let desc = umma_instruction(v.count("m")?, v.count("n")?, formats(v, false)?, accumulator, majors)?;
    json.raw("{\"desc\":").int(desc.into()).raw("}");
    Ok(())
}

fn umma_instr_desc_block_scaled(v: Input<'_>, json: &mut Json) -> Done {
    let scale = v.choice("sf", &[("ue8m0", UmmaScale::Ue8m0), ("ue4m3", UmmaScale::Ue4m3)], "ue8m0 or ue4m3")?;
    let formats = formats(v, v.word("kind")? != "mxf8f6f4")?;
    let desc = umma_instruction_block_scaled(v.count("m")?, v.count("n")?, formats, scale, [Major::K; 2])?;
    json.raw("{\"desc\":").int(desc.into()).raw("}");
    Ok(())
}

fn umma_smem_desc(v: Input<'_>, json: &mut Json) -> Done {
    let (atom, swizzle) = smem(v)?;
    let tile = atom.tile_to_shape(&v.tuple("smem_tile")?, None)?;
    let first = v.tree("mma_tile")?.tiler(|tiler| tile.layout.zipped_divide(tiler))?.mode(0);
    let major = v.choice("major", MAJORS, "K or MN")?;
    let bits = SmemDescriptor::of(&first, major, swizzle, v.count("bits")?)?.sm100(v.shared_address("start_address")?);
    for (name, from, width) in [
        ("{\"start\":", 0, 14),
        (",\"lbo\":", 16, 14),
        (",\"sbo\":", 32, 14),
        (",\"version\":", 46, 2),
        (",\"base_offset\":", 49, 3),
        (",\"lbo_mode\":", 52, 1),
        (",\"layout_type\":", 61, 3),
    ] {
        json.raw(name).int((bits >> from & ((1 << width) - 1)) as i64);
    }
    json.raw("}");
    Ok(())
}

fn mma_of(v: Input<'_>) -> Result<TiledMma, BatchError> {
    let atom = MmaAtom::named(v.word("atom")?)?;
    let permutations = if v.has("permutations") { v.tree("permutations")? } else { Tree::All };
    Ok(permuted(TiledMma::new(atom, &v.layout("atom_layout_mnk")?)?, &permutations)?)
}

/// The tiled MMA with the permutations of M, N and K.
pub fn permuted(mut mma: TiledMma, permutations: &Tree) -> Result<TiledMma, LayoutError> {
    let expected = "`_`, an integer or a layout for each of M, N and K";
    let modes = match permutations {
        Tree::All => return Ok(mma),
        Tree::List(modes) => modes,
        Tree::Int(_) | Tree::Layout(_) => return Err(LayoutError::Parse { at: 0, expected }),
    };
    if modes.len() > 3 {
        return Err(LayoutError::TooManyModes { operation: "TiledMma permutations", given: modes.len(), rank: 3 });
    }
    for (axis, mode) in modes.iter().enumerate() {
        mma = match mode {
            Tree::Layout(layout) => mma.with_permutation(axis, layout)?,
            Tree::Int(n) => mma.with_permutation(axis, &Layout::column_major(IntTuple::leaf(*n))?)?,
            Tree::All => mma,
            Tree::List(_) => return Err(LayoutError::Parse { at: 0, expected }),
        };
    }
    Ok(mma)
}

fn copy_of(v: Input<'_>) -> Result<(CopyAtom, u32), BatchError> {
    let bits = v.count("bits")?;
    Ok((CopyAtom::named(v.word("copy")?, bits)?, bits))
}

/// A part at an offset: of what still has a swizzle, in front of it.
fn part_of((part, offset): (ComposedLayout, i64)) -> Result<(ComposedLayout, i64), LayoutError> {
    if part.is_plain() { Ok((part, offset)) } else { Ok((part.joined(offset)?, 0)) }
}

/// The threads that the input asks for, or all that a block can have.
fn threads(v: Input<'_>, all: i64) -> Result<Vec<i64>, BatchError> {
    const BLOCK: i64 = 1024;
    Ok(v.ints("threads")?.unwrap_or_else(|| (0..all.min(BLOCK)).collect()))
}

fn tiled_mma(v: Input<'_>, json: &mut Json) -> Done {
    let mma = mma_of(v)?;
    let operands = [("c", Operand::C), ("a", Operand::A), ("b", Operand::B)];
    let matrices = [v.maybe_swizzled("c")?, v.maybe_swizzled("a")?, v.maybe_swizzled("b")?];
    json.raw("{\"size\":").int(mma.threads()).raw(",\"tile_mnk\":").ints(mma.tile_mnk());
    json.raw(",\"thr_layout_vmnk\":").layout(mma.thr_layout_vmnk());
    for ((letter, operand), matrix) in operands.iter().zip(&matrices) {
        let (tv, frg) = (mma.tv(*operand)?, mma.thrfrg_swizzled(*operand, matrix)?);
        json.raw(",\"tv_").raw(letter).raw("\":").layout(&tv);
        json.raw(",\"thrfrg_").raw(letter).raw("\":");
        if frg.is_plain() {
            json.short(&frg.layout)
        } else {
            json.swizzled(&frg)
        };
    }
    // Ids may have gaps, as a quad pair's: all up to the last one.
    let ids = mma.thr_layout_vmnk();
    let parts = threads(v, ids.size().value().max(ids.cosize().value()))?
        .into_iter()
        .map(|thread| {
            let part = |i: usize| part_of(mma.partition_swizzled(operands[i].1, &matrices[i], thread)?);
            Ok((thread, [part(0)?, part(1)?, part(2)?]))
        })
        .collect::<Result<Vec<_>, LayoutError>>()?;
    json.raw(",\"threads\":").each(parts, |json, (thread, parts)| {
        json.raw("{\"thr\":").int(thread);
        for ((letter, _), part) in operands.iter().zip(&parts) {
            json.raw(",\"").raw(letter).raw("\":").part(part);
        }
        json.raw("}");
    });
    json.raw("}");
    Ok(())
}

fn partitions(v: Input<'_>, json: &mut Json, copy: &TiledCopy) -> Done {
    let data = v.maybe_swizzled("data")?;
    json.raw("{\"size\":").int(copy.threads()).raw(",\"tiler_mn\":").tuple(&copy.tiler());
    json.raw(",\"tv_s\":").layout(&copy.tv(Side::Source)?).raw(",\"tv_d\":").layout(&copy.tv(Side::Destination)?);
    let parts = threads(v, copy.threads())?
        .into_iter()
        .map(|thread| {
            let part = |side| part_of(copy.partition_swizzled(side, &data, thread)?);
            Ok((thread, part(Side::Source)?, part(Side::Destination)?))
        })
        .collect::<Result<Vec<_>, LayoutError>>()?;
    json.raw(",\"threads\":").each(parts, |json, (thread, source, destination)| {
        json.raw("{\"thr\":").int(thread).raw(",\"s\":").part(&source);
        json.raw(",\"d\":").part(&destination).raw("}");
    });
    json.raw("}");
    Ok(())
}
