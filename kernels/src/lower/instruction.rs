//! The instruction that a kernel multiplies with, as a functor.

use super::config::number;
use std::fmt::Write;
use warpwright_arch::ArchId;
use warpwright_numeric::Dtype;
use warpwright_spec::Spec;

/// `mma.sync.m{m}n8k{k}`.
struct Shape {
    m: usize,
    k: usize,
}

impl Shape {
    /// The largest shape that a tag has for operands of this width, within a step of 16 x 8 x 32 bytes.
    fn of(arch: ArchId, bits: usize) -> Shape {
        match (arch, bits) {
            (ArchId::SM75, 16) => Shape { m: 16, k: 8 },
            (ArchId::SM75, _) => Shape { m: 8, k: 16 },
            // Hopper's m16n8k4 does the work of two m8n8k4.
            (ArchId::SM90 | ArchId::SM100, 64) => Shape { m: 16, k: 4 },
            (_, 64) => Shape { m: 8, k: 4 },
            _ => Shape { m: 16, k: 256 / bits },
        }
    }
}

/// PTX's name of an element.
pub(crate) fn name(element: Dtype) -> &'static str {
    match element {
        Dtype::I8 => "s8",
        Dtype::U8 => "u8",
        Dtype::I32 => "s32",
        other => other.name(),
    }
}

/// How inline PTX holds an accumulator.
pub(crate) fn constraint(acc: Dtype) -> char {
    match acc {
        Dtype::F64 => 'd',
        Dtype::I32 => 'r',
        _ => 'f',
    }
}

/// Writes `struct Instruction`: M, N, K in elements, 32-bit registers of the operands, and the instruction itself.
pub(crate) fn write(text: &mut String, spec: &Spec) {
    let bits = spec.a.bits();
    let Shape { m, k } = Shape::of(spec.arch, bits);
    let (a_words, b_words, values) = (m * k * bits / 1024, 8 * k * bits / 1024, m / 4);
    let (ty, constraint) = (number(spec.acc), constraint(spec.acc));
    // Operands of 64 bits are pairs of words.
    let (per, kind) = if bits == 64 { (2, 'd') } else { (1, 'r') };
    let list =
        |first: usize, count: usize| (first..first + count).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
    let inputs = |operand: char, words: usize| {
        let input = |i: usize| match per {
            2 => format!("\"{kind}\"(__hiloint2double({operand}[{}], {operand}[{}]))", 2 * i + 1, 2 * i),
            _ => format!("\"{kind}\"({operand}[{i}])"),
        };
        (0..words / per).map(input).collect::<Vec<_>>().join(", ")
    };
    let accumulators = list(0, values);
    let outputs = (0..values).map(|i| format!("\"+{constraint}\"(d[{i}])")).collect::<Vec<_>>().join(", ");
    let _ = write!(
        text,
        "struct Instruction {{\n    \
         static constexpr unsigned m = {m}, n = 8, k = {k}, a_words = {a_words}, b_words = {b_words};\n    \
         static __device__ __forceinline__ void mma({ty}* d, const unsigned* a, const unsigned* b) {{\n"
    );
    let eight = spec.a.is_fp8();
    if eight {
        // Between Ada and consumer Blackwell the instruction is emulated with twice the arithmetic of this.
        let (a, b) = (name(spec.a), name(spec.b));
        let _ = write!(
            text,
            "#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200\n        \
             mma_as_f16<{a}, {b}>(d, a, b);\n#else\n"
        );
    }
    let _ = write!(
        text,
        "        asm(\"mma.sync.aligned.m{m}n8k{k}.row.col.{acc}.{a}.{b}.{acc} {{{accumulators}}}, {{{}}}, {{{}}}, {{{accumulators}}};\"\n            \
         : {outputs}\n            : {}, {});\n{}    }}\n}};\n",
        list(values, a_words / per),
        list(values + a_words / per, b_words / per),
        inputs('a', a_words),
        inputs('b', b_words),
        if eight { "#endif\n" } else { "" },
        acc = name(spec.acc),
        a = name(spec.a),
        b = name(spec.b),
    );
}
