//! `ld`, `st`, `atom` and `red` in every width, space and type.

use super::Micro;
use super::data::{BF16, F16, F32, F64, Layout, Noise, integer};
use super::kernel::{dump, fill, frame, micro};

const THREADS: u32 = 64;

pub(super) fn all() -> Vec<Micro> {
    let mut noise = Noise::of("atomic");
    let mut out = Vec::new();
    for space in ["global", "shared", "generic"] {
        out.push(alone(space, "integers", &integers(), &mut |n| integer(n), &mut noise));
        let kinds: [(&str, Layout, &[&str]); 4] = [
            ("f32", F32, &["add.f32"]),
            ("f64", F64, &["add.f64"]),
            ("f16", F16, &["add.noftz.f16", "add.noftz.f16x2"]),
            ("bf16", BF16, &["add.noftz.bf16", "add.noftz.bf16x2"]),
        ];
        for (name, layout, operations) in kinds {
            let operations: Vec<String> = operations.iter().map(|s| (*s).to_owned()).collect();
            let mut draw = |n: &mut Noise| match layout.exponent + layout.fraction {
                15 => layout.any(n) | layout.any(n) << 16,
                _ => layout.any(n),
            };
            out.push(alone(space, name, &operations, &mut draw, &mut noise));
        }
    }
    out.push(contended(&mut noise));
    out.push(vectors(&mut noise));
    out.push(widths(&mut noise));
    out.push(spaces(&mut noise));
    out
}

fn integers() -> Vec<String> {
    let mut list = Vec::new();
    for op in ["min", "max"] {
        list.extend(["u32", "s32", "u64", "s64"].map(|ty| format!("{op}.{ty}")));
    }
    list.extend(["u32", "s32", "u64"].map(|ty| format!("add.{ty}")));
    list.extend(["inc.u32", "dec.u32"].map(str::to_owned));
    for op in ["and", "or", "xor", "exch"] {
        list.extend(["b32", "b64"].map(|ty| format!("{op}.{ty}")));
    }
    list.extend(["cas.b16", "cas.b32", "cas.b64"].map(str::to_owned));
    list
}

/// Every operation with an address to each thread: the old value that `atom` returns, the new ones that `atom` and `red` leave.
fn alone(
    space: &str,
    name: &str,
    operations: &[String],
    draw: &mut dyn FnMut(&mut Noise) -> u64,
    noise: &mut Noise,
) -> Micro {
    let place = |at: &str| if space == "generic" { String::new() } else { format!(".{at}") };
    let mut body = String::from(
        "    mad.wide.u32 %x1, %t, 32, %in; mad.wide.u32 %x2, %t, 24, %out; mad.wide.u32 %x5, %t, 8, %in;
    shl.b32 %r1, %t, 3; add.u32 %r1, %r1, %tile; cvt.u64.u32 %x3, %r1; cvta.shared.u64 %x3, %x3;
    cvta.global.u64 %x4, %x2;
",
    );
    let mut offset = 0;
    for operation in operations {
        let ty = operation.rsplit_once('.').map_or("", |(_, ty)| ty);
        let (r, b) = match ty {
            "f32" => ("%f", "f32"),
            "f64" => ("%d", "f64"),
            "f16" | "bf16" | "b16" => ("%h", "b16"),
            _ if ty.ends_with("64") => ("%x1", "b64"),
            _ => ("%r1", "b32"),
        };
        // old value, operand, second operand
        let load = |i: u32, at: u32| format!("ld.global.{b} {r}{i}, [%x1+{at}];");
        body += &format!("    {} {} {}\n", load(0, 0), load(1, 8), load(2, 16));
        if operation.starts_with("cas") {
            // One thread in two compares with what is there.
            body += &format!("    and.b32 %r2, %t, 1; setp.ne.u32 %p1, %r2, 0; selp.{b} {r}1, {r}0, {r}1, %p1;\n");
        }
        let swap = if operation.starts_with("cas") { format!(", {r}2") } else { String::new() };
        // Where: two words of the output for `atom` and `red`, or one of shared memory after the other.
        for (i, op) in ["atom", "red"].into_iter().enumerate() {
            let has_red = !operation.starts_with("cas") && !operation.starts_with("exch");
            if op == "red" && !has_red {
                continue;
            }
            let at = match space {
                "global" => format!("%x2+{}", offset + 8 + 8 * i),
                "shared" => "%r1".to_owned(),
                _ if i == 0 => "%x3".to_owned(),
                _ => format!("%x4+{}", offset + 16),
            };
            let target = place(space);
            let result = if op == "atom" { format!("{r}3, ") } else { String::new() };
            let order = if i == 0 { "" } else { ".relaxed.gpu" };
            body += &format!("    st{target}.{b} [{at}], {r}0;\n");
            body += &format!("    {op}{order}{target}.{operation} {result}[{at}], {r}1{swap};\n");
            body += &format!("    ld{target}.{b} {r}4, [{at}]; st.global.{b} [%x2+{}], {r}4;\n", offset + 8 + 8 * i);
            if op == "atom" {
                body += &format!("    st.global.{b} [%x2+{offset}], {r}3;\n");
            }
        }
        offset += 24 * THREADS as usize;
    }
    let input: Vec<u8> = (0..4 * THREADS).flat_map(|_| draw(noise).to_le_bytes()).collect();
    micro(&format!("atom {space} {name}"), frame(&body), THREADS, 1024, input, offset)
}

/// All threads of four blocks at one address: what is left does not depend on their order.
fn contended(noise: &mut Noise) -> Micro {
    let mut body =
        String::from("    mad.lo.u32 %r1, %cta, 128, %t; mad.wide.u32 %x1, %r1, 8, %in; ld.global.b64 %x11, [%x1];\n");
    body += "    cvt.u32.u64 %r11, %x11; ld.global.f32 %f1, [%x1]; cvt.u32.u64 %r12, %x11; and.b32 %r12, %r12, 255; cvt.rn.f32.u32 %f1, %r12;\n";
    let operations = [
        "add.u32", "add.u64", "min.u32", "max.s32", "min.s64", "max.u64", "and.b32", "or.b32", "xor.b32", "xor.b64",
        "inc.u32", "add.f32",
    ];
    for (i, operation) in operations.iter().enumerate() {
        let register = match operation.rsplit_once('.').map_or("", |(_, ty)| ty) {
            "f32" => "%f1",
            ty if ty.ends_with("64") => "%x11",
            _ => "%r11",
        };
        let op = if i % 2 == 0 { "red" } else { "atom" };
        let result = match (op, register) {
            ("red", _) => "",
            (_, "%f1") => "%f9, ",
            (_, "%x11") => "%x19, ",
            _ => "%r19, ",
        };
        body += &format!("    {op}.global.{operation} {result}[%out+{}], {register};\n", 8 * i);
    }
    let mut micro = micro("atom contended", frame(&body), 128, 0, noise.bytes(4 * 128 * 8), 8 * operations.len());
    micro.blocks = 4;
    micro.output.fill(0);
    micro
}

/// `red` and `atom` of vectors of floats, and pairs.
fn vectors(noise: &mut Noise) -> Micro {
    let mut body = String::from(
        "    mad.wide.u32 %x1, %t, 16, %in; mad.wide.u32 %x2, %t, 16, %out;
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%x1]; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%x1+1024];
",
    );
    let lines = [
        "red.global.add.v4.f32 [AT], {%f1, %f2, %f3, %f4};",
        "red.global.add.v2.f32 [AT], {%f1, %f2};",
        "red.global.add.noftz.v4.f16x2 [AT], {%r1, %r2, %r3, %r4};",
        "red.global.add.noftz.v4.bf16x2 [AT], {%r1, %r2, %r3, %r4};",
        "red.global.add.noftz.v2.f16x2 [AT], {%r1, %r2};",
        "atom.global.add.v4.f32 {%f5, %f6, %f7, %f8}, [AT], {%f1, %f2, %f3, %f4};",
    ];
    for (i, line) in lines.iter().enumerate() {
        body += &format!("    {}\n", line.replace("AT", &format!("%x2+{}", 1024 * i)));
    }
    body += &format!("    st.global.v4.f32 [%x2+{}], {{%f5, %f6, %f7, %f8}};\n", 1024 * lines.len());
    let draw = |n: &mut Noise| (F32.near_one(n, 3) as u32).to_le_bytes();
    let mut input: Vec<u8> = (0..256).flat_map(|_| draw(noise)).collect();
    input.extend((0..256).flat_map(|_| ((F16.near_one(noise, 3) | F16.near_one(noise, 3) << 16) as u32).to_le_bytes()));
    let output: Vec<u8> = (0..256 * 6)
        .flat_map(|_| ((F16.near_one(noise, 3) | F16.near_one(noise, 3) << 16) as u32).to_le_bytes())
        .collect();
    let mut micro = micro("atom vectors", frame(&body), THREADS, 0, input, 0);
    micro.output = output;
    micro.output.resize(1024 * (lines.len() + 1), 0xEE);
    micro
}

/// Loads and stores of every width, sign and vector length.
fn widths(noise: &mut Noise) -> Micro {
    let mut body = String::from(
        "    mad.wide.u32 %x1, %t, 16, %in; mad.wide.u32 %x2, %t, 16, %out; shl.b32 %r1, %t, 4; add.u32 %r1, %r1, %tile;\n",
    );
    let mut offset = 0;
    for ty in ["u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "f32", "u64", "s64", "b64", "f64"] {
        for count in [1u32, 2, 4] {
            let bits: u32 = ty[1..].parse().unwrap_or(32);
            if bits * count > 128 {
                continue;
            }
            let register = match (ty, bits) {
                ("f32", _) => "%f",
                ("f64", _) => "%d",
                (_, 64) => "%x1",
                (_, 32) => "%r1",
                (_, 16) => "%h",
                // Bytes are extended to the register.
                _ => "%r1",
            };
            let names: Vec<String> = (0..count).map(|i| format!("{register}{i}")).collect();
            let (vector, names) = match count {
                1 => (String::new(), names[0].clone()),
                n => (format!(".v{n}"), format!("{{{}}}", names.join(", "))),
            };
            body += &format!("    ld.global{vector}.{ty} {names}, [%x1];\n");
            if bits == 8 && count == 1 {
                body += &format!("    st.global.b32 [%x2+{}], %r10;\n", offset + 4);
            }
            body += &format!("    st.shared{vector}.{ty} [%r1], {names}; ld.shared{vector}.{ty} {names}, [%r1];\n");
            body += &format!("    st.global{vector}.{ty} [%x2+{offset}], {names};\n");
            offset += 16 * THREADS as usize;
        }
    }
    // Qualifiers that change nothing alone.
    for (i, qualifier) in
        ["nc", "ca", "cg", "cs", "L1::no_allocate", "L2::128B", "relaxed.gpu", "acquire.gpu", "volatile"]
            .into_iter()
            .enumerate()
    {
        let space = if qualifier.contains("gpu") || qualifier == "volatile" {
            format!("{qualifier}.global")
        } else {
            format!("global.{qualifier}")
        };
        let space = if qualifier.starts_with('L') { format!("global.{qualifier}") } else { space };
        body += &format!(
            "    ld.{space}.b32 %r20, [%x1+{}]; st.global.b32 [%x2+{}], %r20;\n",
            i % 4 * 4,
            offset + 4 * (i % 4)
        );
        if i % 4 == 3 {
            offset += 16 * THREADS as usize;
        }
    }
    offset += 16 * THREADS as usize;
    micro("ld st", frame(&body), THREADS, 2048, noise.bytes(16 * THREADS as usize), offset)
}

/// Local, constant, parameter and generic addresses.
fn spaces(noise: &mut Noise) -> Micro {
    let mut body = fill("FILL", 0, 0, 1024, THREADS);
    body += "    bar.sync 0;
    .local .align 8 .b8 own[64];
    mad.wide.u32 %x1, %t, 16, %in; mad.wide.u32 %x2, %t, 64, %out;
    ld.global.v2.b64 {%x3, %x4}, [%x1];
    st.local.b64 [own+8], %x3; st.local.b64 [own+48], %x4;
    and.b32 %r1, %t, 1; mul.wide.u32 %x5, %r1, 40; mov.u64 %x6, own; add.u64 %x6, %x6, %x5;
    ld.local.b64 %x7, [%x6+8]; st.global.b64 [%x2], %x7;
    cvta.local.u64 %x8, %x6; ld.b32 %r2, [%x8+8]; st.global.b32 [%x2+8], %r2;
    isspacep.local %p1, %x8; isspacep.shared %p2, %x8; isspacep.global %p3, %x8;
    selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; selp.u32 %r5, 4, 0, %p3; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
    st.global.b32 [%x2+12], %r3;
    shl.b32 %r6, %t, 4; add.u32 %r6, %r6, %tile; cvt.u64.u32 %x9, %r6; cvta.shared.u64 %x10, %x9; ld.b64 %x11, [%x10+8]; st.global.b64 [%x2+16], %x11;
    isspacep.local %p1, %x10; isspacep.shared %p2, %x10; isspacep.global %p3, %x10;
    selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2; selp.u32 %r5, 4, 0, %p3; or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5;
    st.global.b32 [%x2+24], %r3;
    cvta.global.u64 %x12, %x1; ld.b32 %r7, [%x12+4]; st.global.b32 [%x2+28], %r7;
    isspacep.global %p3, %x12; selp.u32 %r5, 4, 0, %p3; st.global.b32 [%x2+32], %r5;
    cvta.to.shared.u64 %x13, %x10; setp.eq.u64 %p4, %x13, %x9; selp.u32 %r8, 1, 0, %p4; st.global.b32 [%x2+36], %r8;
    mul.wide.u32 %x14, %t, 4; mov.u64 %x15, table; add.u64 %x15, %x15, %x14; ld.const.b32 %r9, [%x15]; st.global.b32 [%x2+40], %r9;
    ld.const.b64 %x16, [table+16]; st.global.b64 [%x2+48], %x16;
    ld.global.b32 %r10, [variable]; atom.global.add.u32 %r11, [variable+4], 1; st.global.b32 [%x2+56], %r10;
";
    body += &dump("DUMP", 0, 64 * THREADS, 1024, THREADS);
    let values: Vec<String> = (0..64).map(|_| (noise.next() as u32).to_string()).collect();
    let text = frame(&body).replace(
        ".extern .shared",
        &format!(
            ".const .align 8 .b32 table[64] = {{{}}};\n.global .align 8 .b32 variable[2] = {{77, 5}};\n.extern .shared",
            values.join(", ")
        ),
    );
    micro("state spaces", text, THREADS, 1024, noise.bytes(1024), 64 * THREADS as usize + 1024)
}
