//! The parameter block: described once, here; the C++ structs and the packed bytes follow it.

use super::TensorMaps;
use std::fmt::Write;
use warpwright_epilogue::{Bound, ParamBlock, ReductionParams};
use warpwright_schedulers::Divisor;
use warpwright_spec::KernelPlan;

/// A member of a parameter struct: its C++ type, name and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    ty: &'static str,
    name: &'static str,
    bytes: usize,
}

pub(super) const fn member(ty: &'static str, name: &'static str, bytes: usize) -> Member {
    Member { ty, name, bytes }
}

/// A, B: `leading` is the stride across the contiguous direction. Strides are in elements; a batch stride of 0 repeats.
const OPERAND: [Member; 3] =
    [member("const void*", "pointer", 8), member("long long", "leading", 8), member("long long", "stride_batch", 8)];

/// A [`Divisor`].
const DIVISOR: [Member; 2] = [member("unsigned", "multiplier", 4), member("unsigned", "shift", 4)];

/// Extents in tiles, in the kernel's terms, the order in which they are walked, how they are cut along K, divisors, how many K tiles
/// a piece has at least, and workspace. Divisors are of a plane's tiles, a band's, those side by side in a band and in the last one
/// if it is narrower, and of all tiles. What finds a tile is 64 bytes, behind maps one line of the constant cache.
const SCHEDULER: [Member; 17] = [
    member("unsigned", "tiles", 4),
    member("unsigned", "tiles_m", 4),
    member("unsigned", "tiles_n", 4),
    member("unsigned", "k_tiles", 4),
    member("unsigned", "band", 4),
    member("unsigned", "along_m", 4),
    member("unsigned", "split_tiles", 4),
    member("unsigned", "pieces", 4),
    member("Divisor", "by_plane", 8),
    member("Divisor", "by_line", 8),
    member("Divisor", "by_band", 8),
    member("Divisor", "by_rest", 8),
    member("Divisor", "by_tiles", 8),
    member("unsigned", "part", 4),
    member("unsigned", "reserved", 4),
    member("unsigned*", "flags", 8),
    member("void*", "partials", 8),
];

/// A and B as plain loads and cp.async read them.
const OPERANDS: [Member; 2] = [member("OperandArg", "a", 24), member("OperandArg", "b", 24)];

/// A tensor map. The backend writes maps; they come first, because of their alignment.
const fn map(name: &'static str) -> Member {
    member("ptx::TensorMap", name, MAP_BYTES)
}

/// Bytes of a tensor map.
const MAP_BYTES: usize = 128;

/// The kernel's parameters between its operands and the epilogue's. Extents are in the kernel's terms, D's strides in the
/// user's.
const KERNEL: [Member; 6] = [
    member("SchedulerArg", "scheduler", 96),
    member("TensorArg", "d", 32),
    member("unsigned", "rows", 4),
    member("unsigned", "columns", 4),
    member("unsigned", "depth", 4),
    member("unsigned", "reserved", 4),
];

/// How a kernel takes A and B.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OperandKind {
    /// By address and strides.
    #[default]
    Strided,
    /// By tensor maps.
    TensorMaps,
}

impl OperandKind {
    /// How a plan's kernel takes them.
    pub const fn of(plan: &KernelPlan) -> OperandKind {
        if plan.spec.loader.is_tma() { OperandKind::TensorMaps } else { OperandKind::Strided }
    }
}

/// What a parameter block holds beside what all hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Form {
    operands: OperandKind,
    /// Whether TMA stores D.
    output: bool,
    /// Whether TMA loads an argument of the epilogue.
    source: bool,
    /// Whether it stores one.
    aux: bool,
}

impl Form {
    pub(crate) fn of(plan: &KernelPlan, maps: &TensorMaps) -> Form {
        Form {
            operands: OperandKind::of(plan),
            output: maps.output.is_some(),
            source: maps.source.is_some(),
            aux: maps.aux.is_some(),
        }
    }

    const fn maps(self) -> usize {
        let operands = if matches!(self.operands, OperandKind::TensorMaps) { 2 } else { 0 };
        operands + self.output as usize + self.source as usize + self.aux as usize
    }

    /// Bytes before the epilogue's parameters.
    const fn epilogue(self) -> usize {
        let operands = if matches!(self.operands, OperandKind::Strided) { total(&OPERANDS) } else { 0 };
        MAP_BYTES * self.maps() + operands + total(&KERNEL)
    }

    /// Bytes of the block with an epilogue's parameters of this size. An empty C++ struct still has a byte.
    pub(crate) const fn size(self, epilogue: usize) -> usize {
        let bytes = self.epilogue() + if epilogue == 0 { ParamBlock::ALIGNMENT } else { epilogue };
        if self.maps() > 0 { bytes.next_multiple_of(MAP_ALIGNMENT) } else { bytes }
    }

    fn members(self) -> Vec<Member> {
        let mut members = Vec::new();
        let operands = match self.operands {
            OperandKind::Strided => &OPERANDS[..],
            OperandKind::TensorMaps => {
                members.extend([map("map_a"), map("map_b")]);
                &[]
            }
        };
        members.extend(self.output.then(|| map("map_d")));
        members.extend(self.source.then(|| map("map_c")));
        members.extend(self.aux.then(|| map("map_aux")));
        members.extend(operands);
        members.extend(KERNEL);
        members
    }
}

/// What the address of a tensor map must be a multiple of.
const MAP_ALIGNMENT: usize = 64;

/// Bytes of the largest block.
pub const MAX_BYTES: usize =
    Form { operands: OperandKind::TensorMaps, output: true, source: true, aux: true }.size(ParamBlock::MAX_BYTES);

pub(super) const fn total(members: &[Member]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < members.len() {
        sum += members[i].bytes;
        i += 1;
    }
    sum
}

/// Writes the structs, with their offsets asserted.
pub(crate) fn write(text: &mut String, form: Form, epilogue: usize) {
    if form.operands == OperandKind::Strided {
        structure(text, "OperandArg", &OPERAND);
    }
    structure(text, "Divisor", &DIVISOR);
    structure(text, "SchedulerArg", &SCHEDULER);
    let mut members = form.members();
    members.push(member("EpilogueParams", "epilogue", epilogue));
    structure(text, "Params", &members);
    let _ = writeln!(text, "static_assert(sizeof(Params) == {}, \"size of Params\");", form.size(epilogue));
}

pub(super) fn structure(text: &mut String, name: &str, members: &[Member]) {
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
    pub operands: [OperandArg; 2],
    pub d: u64,
    /// Along M, along N, between batch entries.
    pub d_strides: [i64; 3],
    /// Rows, columns, depth.
    pub extents: [u32; 3],
    /// Tiles, tiles along M, along N, K tiles, band, whether along M, split tiles, pieces.
    pub scheduler: [u32; 8],
    /// By a plane's tiles, a band's, those side by side in a band and in the last one, by all tiles.
    pub divisors: [Divisor; 5],
    /// Fewest K tiles of a piece.
    pub part: u32,
    /// Addresses of flags and of partial accumulators.
    pub workspace: [u64; 2],
}

impl Packed {
    /// Of nothing yet.
    pub(crate) const EMPTY: Packed = Packed { bytes: [0; MAX_BYTES], len: 0 };

    /// Packs in the order of the structs, whose members leave no gaps. What is packed into is empty.
    pub(crate) fn fill(
        &mut self,
        form: Form,
        values: &Values,
        epilogue: &Bound<'_>,
        reductions: impl Fn(usize) -> ReductionParams,
    ) {
        self.len = form.size(epilogue.packed_bytes());
        let mut at = MAP_BYTES * form.maps();
        let mut put = |x: &[u8]| {
            self.bytes[at..at + x.len()].copy_from_slice(x);
            at += x.len();
        };
        let operands = if form.operands == OperandKind::Strided { &values.operands[..] } else { &[] };
        for operand in operands {
            put(&operand.pointer.to_le_bytes());
            put(&operand.leading.to_le_bytes());
            put(&operand.stride_batch.to_le_bytes());
        }
        values.scheduler.iter().for_each(|s| put(&s.to_le_bytes()));
        for Divisor { multiplier, shift } in values.divisors {
            put(&multiplier.to_le_bytes());
            put(&shift.to_le_bytes());
        }
        put(&values.part.to_le_bytes());
        put(&[0; 4]);
        values.workspace.iter().for_each(|s| put(&s.to_le_bytes()));
        put(&values.d.to_le_bytes());
        values.d_strides.iter().for_each(|s| put(&s.to_le_bytes()));
        values.extents.iter().for_each(|e| put(&e.to_le_bytes()));
        put(&[0; 4]);
        epilogue.pack(&mut self.bytes[form.epilogue()..], reductions);
    }

    /// Makes `to`, which is empty, the same with other addresses, of the operands and of D, and with these arguments of an epilogue
    /// that stores nothing beside D; the maps are left as they are. `None`: it takes no arguments.
    pub(crate) fn readdress(
        &self,
        to: &mut Packed,
        form: Form,
        operands: [u64; 2],
        d: u64,
        epilogue: Option<&Bound<'_>>,
    ) {
        // The block is mostly room for arguments that there are not.
        to.len = self.len;
        to.bytes[..self.len].copy_from_slice(&self.bytes[..self.len]);
        let mut put = |at: usize, address: u64| to.bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
        let mut at = MAP_BYTES * form.maps();
        if form.operands == OperandKind::Strided {
            put(at, operands[0]);
            put(at + OPERANDS[0].bytes, operands[1]);
            at += total(&OPERANDS);
        }
        put(at + KERNEL[0].bytes, d);
        if let Some(epilogue) = epilogue {
            epilogue.pack(&mut to.bytes[form.epilogue()..], |_| ReductionParams::default());
        }
    }

    /// An encoded map, the `i`-th of the block.
    pub(crate) fn map_mut(&mut self, i: usize) -> Option<&mut [u8; MAP_BYTES]> {
        self.bytes[MAP_BYTES * i..].first_chunk_mut()
    }

    /// Writes an encoded map, the `i`-th of the block.
    pub(crate) fn set_map(&mut self, i: usize, map: [u8; MAP_BYTES]) {
        self.bytes[MAP_BYTES * i..MAP_BYTES * (i + 1)].copy_from_slice(&map);
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
    use warpwright_epilogue::{Arg, OutputShape, Program};
    use warpwright_numeric::Dtype;
    use warpwright_runtime::Space;
    use warpwright_spec::{Node, ScalarKind};

    #[test]
    fn nested_sizes_are_those_of_their_structs() {
        assert_eq!(total(&OPERAND), OPERANDS[0].bytes);
        assert_eq!(total(&SCHEDULER), KERNEL[0].bytes);
        assert!(SCHEDULER.iter().all(|member| member.ty != "Divisor" || member.bytes == total(&DIVISOR)));
        assert_eq!(warpwright_epilogue::Stem::Tensor.bytes(), KERNEL[1].bytes);
    }

    #[test]
    fn values_are_where_the_struct_has_them() {
        let operand = |x| OperandArg { pointer: x, leading: x as i64 + 1, stride_batch: x as i64 + 2 };
        let values = Values {
            operands: [operand(1), operand(4)],
            scheduler: [7, 8, 9, 10, 11, 12, 13, 14],
            divisors: [15, 17, 19, 21, 23].map(|x| Divisor { multiplier: x, shift: x + 1 }),
            part: 25,
            workspace: [26, 27],
            d: 28,
            d_strides: [29, 30, 31],
            extents: [32, 33, 34],
        };
        let form = Form { operands: OperandKind::Strided, output: false, source: false, aux: false };
        let node = Node::LoadScalar(ScalarKind::Host);
        let program = Program::of(&node, Dtype::F32, Dtype::F32).unwrap();
        let args = [Arg::Number(1.5)].into_iter().collect();
        let bound = program.bind(&args, OutputShape { batch: 1, m: 1, n: 1 }, Space::Host).unwrap();
        let mut packed = Packed::EMPTY;
        packed.fill(form, &values, &bound, |_| ReductionParams::default());
        assert_eq!(packed.len(), form.size(24));
        let words: Vec<u64> = packed[..48].chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(words, (1..=6).collect::<Vec<_>>());
        let end = form.epilogue();
        let halves: Vec<u32> = packed[48..end].chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        let wide = (26..32).flat_map(|x| [x, 0]);
        assert_eq!(halves, (7..26).chain([0]).chain(wide).chain(32..35).chain([0]).collect::<Vec<_>>());
        let mut arguments = vec![0; bound.packed_bytes()];
        bound.pack(&mut arguments, |_| ReductionParams::default());
        assert_eq!(packed[end..], arguments);
        assert_eq!(packed[end + 16..end + 20], 1.5f32.to_le_bytes());
        for (output, source, aux) in
            [(false, false, false), (true, false, false), (true, true, false), (true, true, true)]
        {
            let form = Form { operands: OperandKind::TensorMaps, output, source, aux };
            let mut maps = Packed::EMPTY;
            maps.fill(form, &values, &bound, |_| ReductionParams::default());
            let begin = 256 + 128 * (usize::from(output) + usize::from(source) + usize::from(aux));
            assert_eq!(maps[begin..form.epilogue() + 24], packed[48..]);
            assert_eq!(maps.len() % MAP_ALIGNMENT, 0);
        }
    }

    #[test]
    fn members_are_as_many_bytes_as_the_form_says() {
        for operands in [OperandKind::Strided, OperandKind::TensorMaps] {
            let form = Form { operands, output: true, source: true, aux: true };
            assert_eq!(total(&form.members()), form.epilogue());
        }
    }
}
