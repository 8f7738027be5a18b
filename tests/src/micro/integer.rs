//! Integer arithmetic, logic, shifts, bit fields, byte permutation, comparisons, selections.

use super::Micro;
use super::data::{Noise, integer};
use super::scalar::{Instruction, exact, kernels, operands};

/// The registers of a type: destination and operands.
fn registers(ty: &str) -> [&'static str; 4] {
    match &ty[1..] {
        "16" => ["%ho", "%ha", "%hb", "%hc"],
        "32" => ["%o", "%a", "%b", "%c"],
        _ => ["%oo", "%x", "%y", "%z"],
    }
}

const TYPES: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("integer");
    let operands = operands(|| integer(&mut noise));
    let families = [("arithmetic", arithmetic()), ("bits", bits()), ("comparison", comparisons()), ("carry", carry())];
    families.into_iter().flat_map(|(name, list)| kernels(&format!("integer {name}"), &list, &operands)).collect()
}

fn arithmetic() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for ty in TYPES {
        let [d, a, b, c] = registers(ty);
        for op in ["add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"] {
            add(format!("{op}.{ty} {d}, {a}, {b};"));
        }
        add(format!("mad.lo.{ty} {d}, {a}, {b}, {c};"));
        add(format!("mad.hi.{ty} {d}, {a}, {b}, {c};"));
        add(format!("sad.{ty} {d}, {a}, {b}, {c};"));
        if ty.starts_with('s') {
            add(format!("abs.{ty} {d}, {a};"));
            add(format!("neg.{ty} {d}, {a};"));
        }
    }
    for sign in ["u", "s"] {
        add(format!("mul.wide.{sign}16 %o, %ha, %hb;"));
        add(format!("mul.wide.{sign}32 %oo, %a, %b;"));
        add(format!("mad.wide.{sign}16 %o, %ha, %hb, %c;"));
        add(format!("mad.wide.{sign}32 %oo, %a, %b, %z;"));
        for half in ["lo", "hi"] {
            add(format!("mul24.{half}.{sign}32 %o, %a, %b;"));
            add(format!("mad24.{half}.{sign}32 %o, %a, %b, %c;"));
        }
        for other in ["u", "s"] {
            add(format!("dp4a.{sign}32.{other}32 %o, %a, %b, %c;"));
            for half in ["lo", "hi"] {
                add(format!("dp2a.{half}.{sign}32.{other}32 %o, %a, %b, %c;"));
            }
        }
    }
    add("add.sat.s32 %o, %a, %b;".into());
    add("sub.sat.s32 %o, %a, %b;".into());
    add("mad.hi.sat.s32 %o, %a, %b, %c;".into());
    add("mad24.hi.sat.s32 %o, %a, %b, %c;".into());
    list
}

fn carry() -> Vec<Instruction> {
    let mut list = Vec::new();
    for bits in [32, 64] {
        let [d, a, b, c] = registers(&format!("u{bits}"));
        let scratch = if bits == 32 { "%u" } else { "%at" };
        for (first, second) in [("add", "addc"), ("sub", "subc")] {
            for ty in ["u", "s"] {
                list.push(exact(format!(
                    "{first}.cc.{ty}{bits} {scratch}, {a}, {b}; {second}.{ty}{bits} {d}, {c}, {a};"
                )));
                list.push(exact(format!(
                    "{first}.cc.{ty}{bits} {scratch}, {b}, {a}; {second}.cc.{ty}{bits} {scratch}, {a}, {c}; {second}.{ty}{bits} {d}, {b}, {c};"
                )));
            }
        }
        for half in ["lo", "hi"] {
            for ty in ["u", "s"] {
                list.push(exact(format!(
                    "mad.{half}.cc.{ty}{bits} {scratch}, {a}, {b}, {c}; madc.{half}.{ty}{bits} {d}, {b}, {c}, {a};"
                )));
                list.push(exact(format!(
                    "mad.{half}.cc.{ty}{bits} {scratch}, {a}, {c}, {b}; addc.{ty}{bits} {d}, {scratch}, {c};"
                )));
            }
        }
    }
    list
}

fn bits() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for bits in [16, 32, 64] {
        let [d, a, b, _] = registers(&format!("b{bits}"));
        for op in ["and", "or", "xor"] {
            add(format!("{op}.b{bits} {d}, {a}, {b};"));
        }
        add(format!("not.b{bits} {d}, {a};"));
        add(format!("cnot.b{bits} {d}, {a};"));
        add(format!("shl.b{bits} {d}, {a}, %b;"));
        for ty in ["b", "u", "s"] {
            add(format!("shr.{ty}{bits} {d}, {a}, %b;"));
        }
    }
    for op in ["and", "or", "xor"] {
        add(format!("{op}.pred %po, %pa, %pb;"));
    }
    add("not.pred %po, %pa;".into());
    for side in ["l", "r"] {
        for mode in ["wrap", "clamp"] {
            add(format!("shf.{side}.{mode}.b32 %o, %a, %b, %c;"));
        }
    }
    for table in [0x00, 0x01, 0x1E, 0x6A, 0x80, 0x96, 0xCA, 0xE8, 0xEA, 0xFE, 0xFF] {
        add(format!("lop3.b32 %o, %a, %b, %c, {table:#x};"));
    }
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        add(format!("prmt.b32{mode} %o, %a, %b, %c;"));
    }
    for selector in [0x5410, 0x7632, 0x7BF0, 0x8888, 0x3210, 0x6240, 0x7351] {
        add(format!("prmt.b32 %o, %a, %b, {selector:#x};"));
    }
    for bits in [32, 64] {
        for sign in ["u", "s"] {
            let [d, a, _, _] = registers(&format!("u{bits}"));
            add(format!("bfe.{sign}{bits} {d}, {a}, %b, %c;"));
            // Fields that fit: the operands' low bits.
            add(format!("and.b32 %u, %b, 31; and.b32 %o, %c, 31; bfe.{sign}{bits} %{}, {a}, %u, %o;", &d[1..]));
            add(format!("bfind.{sign}{bits} %o, {a};"));
            add(format!("bfind.shiftamt.{sign}{bits} %o, {a};"));
        }
        let [d, a, b, _] = registers(&format!("b{bits}"));
        add(format!("and.b32 %u, %c, 63; bfi.b{bits} {d}, {a}, {b}, %u, %c;"));
        add(format!("bfi.b{bits} {d}, {a}, {b}, 5, 11;"));
        add(format!("bfi.b{bits} {d}, {a}, {b}, %b, %c;"));
        add(format!("brev.b{bits} {d}, {a};"));
        add(format!("clz.b{bits} %o, {a};"));
        add(format!("popc.b{bits} %o, {a};"));
    }
    for mode in ["clamp", "wrap"] {
        add(format!("bmsk.{mode}.b32 %o, %a, %b;"));
    }
    // Moves that take registers apart and put them together.
    add("{ .reg .b32 %lo, %hi; mov.b64 {%lo, %hi}, %x; mov.b64 %oo, {%hi, %lo}; }".into());
    add("{ .reg .b16 %lo, %hi; mov.b32 {%lo, %hi}, %a; mov.b32 %o, {%hi, %lo}; }".into());
    add("{ .reg .b16 %s<4>; mov.b64 {%s0, %s1, %s2, %s3}, %x; mov.b64 %oo, {%s2, %s0, %s3, %s1}; }".into());
    list
}

fn comparisons() -> Vec<Instruction> {
    let mut list = Vec::new();
    let mut add = |text: String| list.push(exact(text));
    for ty in ["b16", "b32", "b64"] {
        let [d, a, b, _] = registers(ty);
        for test in ["eq", "ne"] {
            add(format!("setp.{test}.{ty} %po, {a}, {b};"));
        }
        add(format!("selp.{ty} {d}, {a}, {b}, %pa;"));
        add(format!("selp.{ty} {d}, {a}, {b}, %pb;"));
        add(format!("slct.{ty}.s32 {d}, {a}, {b}, %c;"));
    }
    for ty in TYPES {
        let [_, a, b, _] = registers(ty);
        let tests: &[&str] = if ty.starts_with('u') {
            &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"]
        } else {
            &["eq", "ne", "lt", "le", "gt", "ge"]
        };
        for test in tests {
            add(format!("setp.{test}.{ty} %po, {a}, {b};"));
        }
        for result in ["u32", "s32", "f32"] {
            let d = if result == "f32" { "%fo" } else { "%o" };
            add(format!("set.gt.{result}.{ty} {d}, {a}, {b};"));
        }
    }
    for combine in ["and", "or", "xor"] {
        add(format!("setp.lt.{combine}.s32 %po, %a, %b, %pb;"));
        add(format!("setp.ge.{combine}.u32 %pi|%po, %a, %b, %pb;"));
        add(format!("setp.ne.{combine}.u32 %pi|%po, %a, %c, !%pa;"));
        add(format!("set.lt.{combine}.u32.s32 %o, %a, %b, !%pb;"));
    }
    list
}
