//! The parameter block: described once, here; the C++ structs and the packed bytes follow it.

use std::fmt::Write;
use warpwright_epilogue::ParamBlock;

/// A member of a parameter struct: its C++ type, name and bytes.
#[derive(Clone, Copy, Debug)]
struct Member {
    ty: &'static str,
    name: &'static str,
    bytes: usize,
}

const fn member(ty: &'static str, name: &'static str, bytes: usize) -> Member {
    Member { ty, name, bytes }
}

/// A, B: `leading` is the stride across the contiguous direction. Strides are in elements; a batch stride of 0 repeats.
const OPERAND: [Member; 3] =
    [member("const void*", "pointer", 8), member("long long", "leading", 8), member("long long", "stride_batch", 8)];

/// Extents in tiles, in the kernel's terms, the order in which they are walked, how they are cut along K, and workspace.
const SCHEDULER: [Member; 10] = [
    member("unsigned", "tiles", 4),
    member("unsigned", "tiles_m", 4),
    member("unsigned", "tiles_n", 4),
    member("unsigned", "k_tiles", 4),
    member("unsigned", "band", 4),
    member("unsigned", "along_m", 4),
    member("unsigned", "split_tiles", 4),
    member("unsigned", "pieces", 4),
    member("unsigned*", "flags", 8),
    member("void*", "partials", 8),
];

/// The kernel's parameters but for the epilogue's, which come last. Extents are in the kernel's terms, D's strides in the
/// user's.
const KERNEL: [Member; 8] = [
    member("OperandArg", "a", 24),
    member("OperandArg", "b", 24),
    member("TensorArg", "d", 32),
    member("unsigned", "rows", 4),
    member("unsigned", "columns", 4),
    member("unsigned", "depth", 4),
    member("unsigned", "reserved", 4),
    member("SchedulerArg", "scheduler", 48),
];

/// Bytes before the epilogue's parameters.
pub const EPILOGUE: usize = total(&KERNEL);

/// Bytes of the largest block.
pub const MAX_BYTES: usize = size(ParamBlock::MAX_BYTES);

/// Bytes of the block with an epilogue's parameters of this size. An empty C++ struct still has a byte.
pub const fn size(epilogue: usize) -> usize {
    EPILOGUE + if epilogue == 0 { ParamBlock::ALIGNMENT } else { epilogue }
}

const fn total(members: &[Member]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < members.len() {
        sum += members[i].bytes;
        i += 1;
    }
    sum
}

/// Writes the structs, with their offsets asserted.
pub(crate) fn write(text: &mut String, epilogue: usize) {
    structure(text, "OperandArg", &OPERAND);
    structure(text, "SchedulerArg", &SCHEDULER);
    let mut members = KERNEL.to_vec();
    members.push(member("EpilogueParams", "epilogue", epilogue));
    structure(text, "Params", &members);
    let _ = writeln!(text, "static_assert(sizeof(Params) == {}, \"size of Params\");", size(epilogue));
}

fn structure(text: &mut String, name: &str, members: &[Member]) {
    let _ = writeln!(text, "struct {name} {{");
    for Member { ty, name, .. } in members {
        let _ = writeln!(text, "    {ty} {name};");
    }
    *text += "};\n";
    let mut offset = 0;
    for member in members {
        // NVRTC up to 13.0 has no `__builtin_offsetof`; the front end's own intrinsic is in all of them.
        let what = format_args!("__INTADDR__(&(({name}*)0)->{})", member.name);
        let _ = writeln!(text, "static_assert({what} == {offset}, \"offset of {}\");", member.name);
        offset += member.bytes;
    }
}

/// Packed parameters. Made without allocating.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

/// The address and strides of A or B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OperandArg {
    pub pointer: u64,
    pub leading: i64,
    pub stride_batch: i64,
}

/// What [`Packed`] is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Values {
    pub a: OperandArg,
    pub b: OperandArg,
    pub d: u64,
    /// Along M, along N, between batch entries.
    pub d_strides: [i64; 3],
    /// Rows, columns, depth.
    pub extents: [u32; 3],
    /// Tiles, tiles along M, along N, K tiles, band, whether along M, split tiles, pieces.
    pub scheduler: [u32; 8],
    /// Addresses of flags and of partial accumulators.
    pub workspace: [u64; 2],
}

impl Packed {
    /// Packs in the order of the structs, whose members leave no gaps.
    pub(crate) fn new(values: &Values, epilogue: &[u8]) -> Packed {
        let mut packed = Packed { bytes: [0; MAX_BYTES], len: size(epilogue.len()) };
        let mut at = 0;
        let mut put = |x: &[u8]| {
            packed.bytes[at..at + x.len()].copy_from_slice(x);
            at += x.len();
        };
        for operand in [values.a, values.b] {
            put(&operand.pointer.to_le_bytes());
            put(&operand.leading.to_le_bytes());
            put(&operand.stride_batch.to_le_bytes());
        }
        put(&values.d.to_le_bytes());
        values.d_strides.iter().for_each(|s| put(&s.to_le_bytes()));
        values.extents.iter().for_each(|e| put(&e.to_le_bytes()));
        put(&[0; 4]);
        values.scheduler.iter().for_each(|s| put(&s.to_le_bytes()));
        values.workspace.iter().for_each(|s| put(&s.to_le_bytes()));
        put(epilogue);
        packed
    }
}

impl core::ops::Deref for Packed {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_sizes_are_those_of_their_structs() {
        assert_eq!(total(&OPERAND), KERNEL[0].bytes);
        assert_eq!(total(&SCHEDULER), KERNEL[7].bytes);
        assert_eq!(warpwright_epilogue::Stem::Tensor.bytes(), KERNEL[2].bytes);
    }

    #[test]
    fn values_are_where_the_struct_has_them() {
        let operand = |x| OperandArg { pointer: x, leading: x as i64 + 1, stride_batch: x as i64 + 2 };
        let values = Values {
            a: operand(1),
            b: operand(4),
            d: 7,
            d_strides: [8, 9, 10],
            extents: [11, 12, 13],
            scheduler: [14, 15, 16, 17, 18, 19, 20, 21],
            workspace: [22, 23],
        };
        let packed = Packed::new(&values, &[24; 24]);
        assert_eq!(packed.len(), size(24));
        let words: Vec<u64> = packed[..80].chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(words, (1..=10).collect::<Vec<_>>());
        let halves: Vec<u32> =
            packed[80..EPILOGUE].chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(halves, [11, 12, 13, 0, 14, 15, 16, 17, 18, 19, 20, 21, 22, 0, 23, 0]);
        assert_eq!(packed[EPILOGUE..], [24; 24]);
    }
}
