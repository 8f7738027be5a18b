//! Instructions that work on registers alone: many in one kernel, each on the operands of 256 threads.

use super::kernel::{frame, micro};
use super::{Accuracy, Micro, Part};

/// Threads of a kernel, each with three operands.
pub(super) const THREADS: usize = 256;

/// Bytes of a thread's operands.
pub(super) const OPERANDS: usize = 24;

/// Instructions in one kernel.
const MOST: usize = 48;

/// An instruction whose result is in one of the registers `%o` (32 bits), `%oo` (64), `%fo` (f32), `%do` (f64), `%ho` (16) and
/// `%po` (predicate), and whose operands are in `%x %y %z`, their low 32 bits in `%a %b %c` and `%fa %fb %fc`, their low 16 in
/// `%ha %hb %hc`, all 64 in `%da %db %dc`, and the predicates `%pa %pb`, the lowest bits of `%y` and `%z`.
#[derive(Clone)]
pub(super) struct Instruction {
    pub text: String,
    pub accuracy: Accuracy,
}

pub(super) fn exact(text: impl Into<String>) -> Instruction {
    Instruction { text: text.into(), accuracy: Accuracy::Bits }
}

/// Every result in the register that is named.
fn result(text: &str) -> (&'static str, usize) {
    let names = [("%oo", 8), ("%do", 8), ("%fo", 4), ("%ho", 2), ("%po", 1), ("%o", 4)];
    names.into_iter().find(|(name, _)| text.contains(name)).unwrap_or(("%o", 4))
}

/// Kernels that run `instructions` on `operands`.
pub(super) fn kernels(name: &str, instructions: &[Instruction], operands: &[[u64; 3]]) -> Vec<Micro> {
    let input: Vec<u8> = operands.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    let chunks = instructions.chunks(MOST).enumerate();
    chunks.map(|(i, chunk)| one(&format!("{name} {i}"), chunk, operands.len(), &input)).collect()
}

fn one(name: &str, instructions: &[Instruction], threads: usize, input: &[u8]) -> Micro {
    let mut body = String::from(
        "    .reg .pred %pa, %pb, %po, %pi; .reg .b16 %ha, %hb, %hc, %ho; .reg .b32 %a, %b, %c, %o, %u; .reg .f32 %fa, %fb, %fc, %fo;
    .reg .b64 %x, %y, %z, %oo, %at; .reg .f64 %da, %db, %dc, %do;
    mad.wide.u32 %in, %t, 24, %in;
    ld.global.b64 %x, [%in]; ld.global.b64 %y, [%in+8]; ld.global.b64 %z, [%in+16];
    cvt.u32.u64 %a, %x; cvt.u32.u64 %b, %y; cvt.u32.u64 %c, %z;
    mov.b32 %fa, %a; mov.b32 %fb, %b; mov.b32 %fc, %c;
    cvt.u16.u32 %ha, %a; cvt.u16.u32 %hb, %b; cvt.u16.u32 %hc, %c;
    mov.b64 %da, %x; mov.b64 %db, %y; mov.b64 %dc, %z;
    and.b32 %u, %b, 1; setp.ne.u32 %pa, %u, 0;
    and.b32 %u, %c, 1; setp.ne.u32 %pb, %u, 0;
"
    );
    for width in [1, 2, 4, 8] {
        body += &format!("    .reg .b64 %at{width}; mad.wide.u32 %at{width}, %t, {width}, %out;\n");
    }
    let (mut offset, mut parts) = (0, Vec::new());
    for Instruction { text, accuracy } in instructions {
        let (register, width) = result(text);
        let store = match register {
            "%po" => format!("selp.u32 %o, 1, 0, %po; st.global.u8 [%at1+{offset}], %o;"),
            _ => {
                let ty = ["b16", "b32", "b64"][width.ilog2() as usize - 1];
                // Typed registers are stored as what they are.
                let ty = if register.len() == 3 && register.as_bytes()[1] == b'f' { "f32" } else { ty };
                let ty = if register == "%do" { "f64" } else { ty };
                format!("st.global.{ty} [%at{width}+{offset}], {register};")
            }
        };
        body += &format!("    {text} {store}\n");
        parts.push(Part { name: text.clone(), offset, len: width * threads, accuracy: *accuracy });
        offset += width * threads;
    }
    let mut micro = micro(name, frame(&body), threads as u32, 0, input.to_vec(), offset);
    micro.parts = parts;
    micro
}

/// Operands for 256 threads.
pub(super) fn operands(mut draw: impl FnMut() -> u64) -> Vec<[u64; 3]> {
    (0..THREADS).map(|_| [draw(), draw(), draw()]).collect()
}
