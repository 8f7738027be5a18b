//! Single instructions against their definition.

use warpwright_arch::ArchId;
use warpwright_emulator::{Checks, Config, Fault, Launch, Machine, Module, ParseReason, Report};

/// Runs `body` in one warp of lanes whose operands are `rows`: as 64 bits in `%x %y %z`, 32 in `%a %b %c`, floats in
/// `%fa %fb %fc`, 16 bits in `%ha %hb %hc`, doubles in `%da %db %dc`. The result is `%o` (32 bits) or `%oo` (64).
fn run(body: &str, rows: &[[u64; 3]]) -> Vec<u64> {
    let wide = body.contains("%oo");
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .pred %p, %q; .reg .b16 %ha, %hb, %hc, %ho; .reg .b32 %a, %b, %c, %o, %t, %u; .reg .f32 %fa, %fb, %fc, %fo;
    .reg .b64 %x, %y, %z, %oo, %in, %out; .reg .f64 %da, %db, %dc;
    mov.u32 %t, %tid.x;
    ld.param.u64 %in, [in];
    ld.param.u64 %out, [out];
    mad.wide.u32 %in, %t, 24, %in;
    mad.wide.u32 %out, %t, 8, %out;
    ld.global.b64 %x, [%in]; ld.global.b64 %y, [%in+8]; ld.global.b64 %z, [%in+16];
    cvt.u32.u64 %a, %x; cvt.u32.u64 %b, %y; cvt.u32.u64 %c, %z;
    mov.b32 %fa, %a; mov.b32 %fb, %b; mov.b32 %fc, %c;
    cvt.u16.u32 %ha, %a; cvt.u16.u32 %hb, %b; cvt.u16.u32 %hc, %c;
    mov.b64 %da, %x; mov.b64 %db, %y; mov.b64 %dc, %z;
    mov.u32 %o, 0; mov.u64 %oo, 0;
    {body}
    {}
    st.global.b64 [%out], %oo;
    ret;
}}",
        if wide { "" } else { "cvt.u64.u32 %oo, %o;" }
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Config::new(ArchId::SM90));
    let input = machine.upload(&rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let output = machine.allocate(8 * rows.len()).unwrap();
    let parameters: Vec<u8> = [input, output].iter().flat_map(|x| x.to_le_bytes()).collect();
    let launch = Launch::linear(1, rows.len() as u32, 0);
    machine.launch(&module.kernels()[0], &launch, &parameters).unwrap_or_else(|f| panic!("{f}"));
    let bytes = machine.read(output, 8 * rows.len()).unwrap();
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
}

/// One row of operands.
fn one(body: &str, x: u64, y: u64, z: u64) -> u64 {
    run(body, &[[x, y, z]])[0]
}

fn f(x: f32) -> u64 {
    u64::from(x.to_bits())
}

/// Operands that fill a warp: corner cases first, then noise.
fn operands() -> Vec<[u64; 3]> {
    let corners = [0, 1, u64::MAX, 1 << 31, (1 << 31) - 1, 0xFFFF_FFFF, 1 << 63, (1 << 63) - 1, 7, 31, 32, 33];
    let mut state = 0x0123_4567_89AB_CDEF_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    (0..32)
        .map(|i| {
            let pick = |n: usize, noise| if i < 20 { corners[(i * 5 + n * 7) % corners.len()] } else { noise };
            [pick(0, next()), pick(1, next()), pick(2, next())]
        })
        .collect()
}

fn agrees(body: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    let rows = operands();
    for (row, found) in rows.iter().zip(run(body, &rows)) {
        let [x, y, z] = *row;
        assert_eq!(found, expected(x, y, z), "{body} of {x:#x}, {y:#x}, {z:#x}: found {found:#x}");
    }
}

#[test]
fn integer_arithmetic() {
    let s = |x: u64| x as i32;
    let u = |x: u64| x as u32;
    let r = |x: i32| u64::from(x as u32);
    agrees("add.s32 %o, %a, %b;", |x, y, _| u64::from(u(x).wrapping_add(u(y))));
    agrees("sub.sat.s32 %o, %a, %b;", |x, y, _| r(s(x).saturating_sub(s(y))));
    agrees("mul.lo.s32 %o, %a, %b;", |x, y, _| r(s(x).wrapping_mul(s(y))));
    agrees("mul.hi.s32 %o, %a, %b;", |x, y, _| r(((i64::from(s(x)) * i64::from(s(y))) >> 32) as i32));
    agrees("mul.hi.u64 %oo, %x, %y;", |x, y, _| ((u128::from(x) * u128::from(y)) >> 64) as u64);
    agrees("mul.wide.s32 %oo, %a, %b;", |x, y, _| (i64::from(s(x)) * i64::from(s(y))) as u64);
    agrees("mad.lo.u32 %o, %a, %b, %c;", |x, y, z| u64::from(u(x).wrapping_mul(u(y)).wrapping_add(u(z))));
    agrees("mad.wide.u32 %oo, %a, %b, %z;", |x, y, z| (u64::from(u(x)) * u64::from(u(y))).wrapping_add(z));
    agrees("div.u32 %o, %a, %b;", |x, y, _| u64::from(u(x).checked_div(u(y)).unwrap_or(u32::MAX)));
    agrees("div.s32 %o, %a, %b;", |x, y, _| if u(y) == 0 { u64::from(u32::MAX) } else { r(s(x).wrapping_div(s(y))) });
    agrees("rem.s64 %oo, %x, %y;", |x, y, _| if y == 0 { !0 } else { (x as i64).wrapping_rem(y as i64) as u64 });
    agrees("min.s32 %o, %a, %b;", |x, y, _| r(s(x).min(s(y))));
    agrees("max.u64 %oo, %x, %y;", |x, y, _| x.max(y));
    agrees("abs.s32 %o, %a;", |x, _, _| r(s(x).wrapping_abs()));
    agrees("sad.u32 %o, %a, %b, %c;", |x, y, z| u64::from(u(x).abs_diff(u(y)).wrapping_add(u(z))));
    // A 128-bit sum through the carry flag, of which the high half.
    agrees("add.cc.u64 %in, %x, %y; addc.u64 %oo, %z, 0;", |x, y, z| {
        ((u128::from(x) + u128::from(y) + (u128::from(z) << 64)) >> 64) as u64
    });
    agrees("sub.cc.u32 %t, %a, %b; subc.u32 %o, %c, 0;", |x, y, z| {
        u64::from(u(z).wrapping_sub(u32::from(u(x) < u(y))))
    });
    assert_eq!(one("dp4a.s32.s32 %o, %a, %b, %c;", 0x01FF_02FE, 0x0102_0304, 10), 10 + 1 - 2 + 6 - 8);
    assert_eq!(one("add.u16 %ho, %ha, %hb; cvt.u32.u16 %o, %ho;", 0xFFFF, 2, 0), 1);
}

#[test]
fn bits() {
    let u = |x: u64| x as u32;
    agrees("shl.b32 %o, %a, %b;", |x, y, _| u64::from(u(x).checked_shl(u(y)).unwrap_or(0)));
    agrees("shr.s32 %o, %a, %b;", |x, y, _| u64::from((x as i32 >> u(y).min(31)) as u32));
    agrees("shr.u64 %oo, %x, %b;", |x, y, _| x.checked_shr(u(y)).unwrap_or(0));
    agrees("shf.l.wrap.b32 %o, %a, %b, %c;", |x, y, z| ((y << 32 | x & 0xFFFF_FFFF) << (z & 31)) >> 32);
    agrees("shf.r.clamp.b32 %o, %a, %b, %c;", |x, y, z| {
        u64::from(u((y << 32 | x & 0xFFFF_FFFF) >> u64::from(u(z)).min(32)))
    });
    agrees("lop3.b32 %o, %a, %b, %c, 0xEA;", |x, y, z| u64::from(u(x & y | z)));
    agrees("lop3.b32 %o, %a, %b, %c, 0x6A;", |x, y, z| u64::from(u((x & y) ^ z)));
    agrees("popc.b64 %o, %x;", |x, _, _| u64::from(x.count_ones()));
    agrees("clz.b32 %o, %a;", |x, _, _| u64::from(u(x).leading_zeros()));
    agrees("brev.b32 %o, %a;", |x, _, _| u64::from(u(x).reverse_bits()));
    agrees("bfind.s32 %o, %a;", |x, _, _| {
        let x = if (x as i32) < 0 { !u(x) } else { u(x) };
        u64::from(x.checked_ilog2().unwrap_or(u32::MAX))
    });
    assert_eq!(one("prmt.b32 %o, %a, %b, 0x5410;", 0x3322_1100, 0x7766_5544, 0), 0x5544_1100);
    assert_eq!(one("prmt.b32 %o, %a, %b, 0x7BF0;", 0x83_1100, 0x8077_0000, 0), 0x8000_FF00);
    assert_eq!(one("prmt.b32.f4e %o, %a, %b, %c;", 0x3322_1100, 0x7766_5544, 1), 0x4433_2211);
    assert_eq!(one("bfe.u32 %o, %a, 8, 12;", 0xABCD_EF12, 0, 0), 0xDEF);
    assert_eq!(one("bfe.s32 %o, %a, 8, 4;", 0xF00, 0, 0), 0xFFFF_FFFF);
    assert_eq!(one("bfe.s32 %o, %a, 28, 8;", 0x9000_0000, 0, 0), 0xFFFF_FFF9);
    assert_eq!(one("bfe.u32 %o, %a, 40, 4;", u64::MAX, 0, 0), 0);
    assert_eq!(one("bfi.b32 %o, %a, %b, 4, 8;", 0xAB, 0xFFFF_FFFF, 0), 0xFFFF_FABF);
    assert_eq!(one("bfi.b64 %oo, %x, %y, 60, 8;", 0xFF, 0, 0), 0xF << 60);
}

#[test]
fn floats() {
    let nan = 0x7FFF_FFFF;
    let (tiny, inf) = (f32::from_bits(1), f32::INFINITY);
    assert_eq!(one("add.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(inf), f(-inf), 0), nan);
    assert_eq!(one("add.ftz.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(tiny), f(tiny), 0), 0);
    assert_eq!(one("add.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(tiny), f(tiny), 0), 2);
    assert_eq!(one("add.rz.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(1.0), f(1.9 * 2f32.powi(-24)), 0), f(1.0));
    assert_eq!(one("add.rp.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(1.0), f(tiny), 0), f(1.0f32.next_up()));
    let e = 2f32.powi(-12);
    assert_eq!(
        one("fma.rn.f32 %fo, %fa, %fb, %fc; mov.b32 %o, %fo;", f(1.0 + e), f(1.0 + e), f(-1.0)),
        f(2.0 * e + e * e)
    );
    assert_eq!(one("mul.rm.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(1.0 + e), f(1.0 + e), 0), f(1.0 + 2.0 * e));
    assert_eq!(one("add.sat.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(0.75), f(0.75), 0), f(1.0));
    assert_eq!(one("div.rz.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(2.0), f(3.0), 0), f((2.0f32 / 3.0).next_down()));
    assert_eq!(one("sqrt.rp.f32 %fo, %fa; mov.b32 %o, %fo;", f(2.0), 0, 0), f(2f32.sqrt().next_up()));
    // NaN loses unless it is kept; −0 is below +0.
    assert_eq!(one("min.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(f32::NAN), f(3.0), 0), f(3.0));
    assert_eq!(one("min.NaN.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(f32::NAN), f(3.0), 0), nan);
    assert_eq!(one("max.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(-0.0), f(0.0), 0), f(0.0));
    assert_eq!(one("min.f32 %fo, %fa, %fb; mov.b32 %o, %fo;", f(0.0), f(-0.0), 0), f(-0.0));
    assert_eq!(
        one("fma.rn.f64 %da, %da, %db, %dc; mov.b64 %oo, %da;", 3f64.to_bits(), 5f64.to_bits(), 1f64.to_bits()),
        16f64.to_bits()
    );
    for (name, x, y) in [
        ("ex2.approx.ftz", 3.5, 3.5f32.exp2()),
        ("lg2.approx", 10.0, 10f32.log2()),
        ("rcp.approx.ftz", 3.0, 1.0 / 3.0),
        ("rsqrt.approx", 2.0, 0.5f32.sqrt()),
        ("tanh.approx", 0.3, 0.3f32.tanh()),
    ] {
        let found = f32::from_bits(one(&format!("{name}.f32 %fo, %fa; mov.b32 %o, %fo;"), f(x), 0, 0) as u32);
        assert!((found - y).abs() <= 1e-6 * y.abs(), "{name}: {found} {y}");
    }
}

#[test]
fn halves() {
    // f16: 1 + 2^-11 ties to even; packed operands stay apart.
    assert_eq!(one("add.f16x2 %o, %a, %b;", 0x3C00_3C01, 0x1000_1000, 0), 0x3C00_3C02);
    assert_eq!(one("mul.rn.bf16x2 %o, %a, %b;", 0x4040_BF80, 0x4040_3F80, 0), 0x4110_BF80);
    assert_eq!(one("fma.rn.f16 %ho, %ha, %hb, %hc; cvt.u32.u16 %o, %ho;", 0x3C01, 0x3C01, 0xBC00), 0x1800);
    // A product between two bf16, which an addend of 2^-60 pushes to either side.
    let fma = "fma.rn.bf16 %ho, %ha, %hb, %hc; cvt.u32.u16 %o, %ho;";
    assert_eq!(one(fma, 0x3FC0, 0x3F81, 0x2180), 0x3FC2);
    assert_eq!(one(fma, 0x3FC0, 0x3F81, 0xA180), 0x3FC1);
    assert_eq!(one("max.NaN.bf16x2 %o, %a, %b;", 0x7FC0_3F80, 0x3F80_4000, 0), 0x7FFF_4000);
    assert_eq!(one("neg.f16x2 %o, %a;", 0x0000_3C00, 0, 0), 0x8000_BC00);
    assert_eq!(one("setp.lt.f16 %p, %ha, %hb; selp.b32 %o, 5, 6, %p;", 0xBC00, 0x3C00, 0), 5);
}

#[test]
fn conversions() {
    let cvt = |form: &str, x: u64| one(&format!("cvt.{form};"), x, 0, 0);
    assert_eq!(cvt("rzi.s32.f32 %o, %fa", f(-2.9)), (-2i32 as u32).into());
    assert_eq!(cvt("rni.s32.f32 %o, %fa", f(2.5)), 2);
    assert_eq!(cvt("rpi.u32.f32 %o, %fa", f(-5.0)), 0);
    assert_eq!(cvt("rzi.s32.f32 %o, %fa", f(f32::NAN)), 0);
    assert_eq!(cvt("rzi.s32.f32 %o, %fa", f(1e20)), i32::MAX as u64);
    assert_eq!(cvt("rmi.f32.f32 %fo, %fa; mov.b32 %o, %fo", f(-1.5)), f(-2.0));
    assert_eq!(cvt("rn.f32.s64 %fo, %x; mov.b32 %o, %fo", i64::MIN as u64), f(-9.223372e18));
    assert_eq!(cvt("rz.f32.u32 %fo, %a; mov.b32 %o, %fo", 0xFFFF_FFFF), f(4294967040.0));
    assert_eq!(cvt("s32.s8 %o, %a", 0x80), 0xFFFF_FF80);
    assert_eq!(cvt("u32.u8 %o, %a", 0x1FF), 0xFF);
    assert_eq!(cvt("sat.s8.s32 %o, %a", 1000), 127);
    assert_eq!(cvt("sat.u8.s32 %o, %a", -3i64 as u64), 0);
    assert_eq!(cvt("s64.s32 %oo, %a", 0x8000_0000), 0xFFFF_FFFF_8000_0000);
    assert_eq!(cvt("rn.f16.f32 %ho, %fa; cvt.u32.u16 %o, %ho", f(65520.0)), 0x7C00);
    assert_eq!(cvt("rz.f16.f32 %ho, %fa; cvt.u32.u16 %o, %ho", f(65520.0)), 0x7BFF);
    assert_eq!(cvt("rn.bf16.f32 %ho, %fa; cvt.u32.u16 %o, %ho", 0x3F80_8000), 0x3F80);
    assert_eq!(cvt("rz.bf16.f32 %ho, %fa; cvt.u32.u16 %o, %ho", 0x3F80_FFFF), 0x3F80);
    assert_eq!(cvt("f32.f16 %fo, %ha; mov.b32 %o, %fo", 1), f(2f32.powi(-24)));
    assert_eq!(cvt("f32.bf16 %fo, %ha; mov.b32 %o, %fo", 0xC040), f(-3.0));
    assert_eq!(cvt("rna.tf32.f32 %o, %fa", f(1.0 + 2f32.powi(-11))), f(1.0 + 2f32.powi(-10)));
    assert_eq!(one("cvt.rn.f16x2.f32 %o, %fa, %fb;", f(1.0), f(-2.0), 0), 0x3C00_C000);
    assert_eq!(one("cvt.rn.bf16x2.f32 %o, %fa, %fb;", f(f32::NAN), f(-2.0), 0), 0x7FFF_C000);
    assert_eq!(one("cvt.rn.relu.f16x2.f32 %o, %fa, %fb;", f(1.0), f(-2.0), 0), 0x3C00_0000);
    // The first source is the high byte; out of range becomes the largest finite value.
    assert_eq!(one("cvt.rn.satfinite.e4m3x2.f32 %ho, %fa, %fb; cvt.u32.u16 %o, %ho;", f(1.0), f(1000.0), 0), 0x387E);
    assert_eq!(one("cvt.rn.satfinite.e5m2x2.f32 %ho, %fa, %fb; cvt.u32.u16 %o, %ho;", f(-1e9), f(f32::NAN), 0), 0xFB7F);
    assert_eq!(one("cvt.rn.f16x2.e4m3x2 %o, %ha;", 0x387E, 0, 0), 0x3C00_5F00);
}

#[test]
fn comparisons_and_moves() {
    let nan = f(f32::NAN);
    assert_eq!(one("setp.lt.f32 %p, %fa, %fb; selp.b32 %o, 1, 0, %p;", nan, f(1.0), 0), 0);
    assert_eq!(one("setp.ltu.f32 %p, %fa, %fb; selp.b32 %o, 1, 0, %p;", nan, f(1.0), 0), 1);
    assert_eq!(one("setp.ne.f32 %p, %fa, %fa; selp.b32 %o, 1, 0, %p;", nan, 0, 0), 0);
    assert_eq!(one("setp.neu.f32 %p, %fa, %fa; selp.b32 %o, 1, 0, %p;", nan, 0, 0), 1);
    assert_eq!(one("setp.gt.s32 %p|%q, %a, %b; @%q add.u32 %o, %o, 2; @%p add.u32 %o, %o, 1;", 1, u64::MAX, 0), 1);
    assert_eq!(
        one("setp.hi.u32 %p, %a, %b; setp.eq.and.u32 %q, %a, 1, !%p; selp.b32 %o, 1, 0, %q;", 1, u64::MAX, 0),
        1
    );
    assert_eq!(one("set.lt.u32.s32 %o, %a, %b;", u64::MAX, 0, 0), 0xFFFF_FFFF);
    assert_eq!(one("mov.b32 {%ha, %hb}, %a; mov.b32 %o, {%hb, %ha};", 0x1234_5678, 0, 0), 0x5678_1234);
    assert_eq!(one("mov.b64 {%t, %u}, %x; mov.b64 %oo, {%u, %t};", 0x1_0000_0002, 0, 0), 0x2_0000_0001);
    assert_eq!(one("slct.b32.s32 %o, %a, %b, %c;", 5, 6, u64::MAX), 6);
    assert_eq!(one("testp.subnormal.f32 %p, %fa; selp.b32 %o, 1, 0, %p;", 1, 0, 0), 1);
}

fn warp(body: &str) -> Vec<u64> {
    run(body, &(0..32).map(|l| [l, 100 + l, 0]).collect::<Vec<_>>())
}

#[test]
fn lanes_see_each_other() {
    let lanes = |f: &dyn Fn(u64) -> u64| (0..32).map(f).collect::<Vec<_>>();
    assert_eq!(warp("shfl.sync.bfly.b32 %o, %b, 5, 31, -1;"), lanes(&|l| 100 + (l ^ 5)));
    assert_eq!(
        warp("shfl.sync.up.b32 %o|%p, %b, 3, 0, -1; @!%p mov.u32 %o, 7;"),
        lanes(&|l| if l < 3 { 7 } else { 97 + l })
    );
    assert_eq!(
        warp("shfl.sync.down.b32 %o, %b, 4, 0x1807, -1;"),
        lanes(&|l| if l % 8 < 4 { 104 + l } else { 100 + l })
    );
    assert_eq!(warp("shfl.sync.idx.b32 %o, %b, 2, 0x181F, -1;"), lanes(&|l| 100 + l / 8 * 8 + 2));
    assert_eq!(warp("setp.lt.u32 %p, %a, 5; vote.sync.ballot.b32 %o, %p, -1;"), lanes(&|_| 31));
    assert_eq!(warp("setp.lt.u32 %p, %a, 5; vote.sync.any.pred %q, !%p, -1; selp.u32 %o, 1, 0, %q;"), lanes(&|_| 1));
    assert_eq!(
        warp("shr.u32 %t, %a, 4; match.any.sync.b32 %o, %t, -1;"),
        lanes(&|l| if l < 16 { 0xFFFF } else { 0xFFFF_0000 })
    );
    assert_eq!(warp("redux.sync.add.s32 %o, %a, -1;"), lanes(&|_| 496));
    assert_eq!(warp("redux.sync.max.u32 %o, %b, -1;"), lanes(&|_| 131));
    assert_eq!(warp("elect.sync %o|%p, -1; @%p add.u32 %o, %o, 50;"), lanes(&|l| if l == 0 { 50 } else { 0 }));
    let some = "and.b32 %t, %a, 31; mov.u32 %u, 0xFFFF0F00; shr.u32 %u, %u, %t; and.b32 %u, %u, 1; setp.ne.u32 %p, %u, 0; @!%p bra END; elect.sync %o|%q, 0xFFFF0F00; END:";
    assert_eq!(warp(some), lanes(&|l| if 0xFFFF_0F00u32 >> l & 1 == 1 { 8 } else { 0 }));
    // A part of the warp elects its own leader; the parts meet again.
    let parts = "setp.lt.u32 %p, %a, 8; @%p bra LOW; elect.sync %o|%q, 0xFFFFFF00; bra.uni MEET; LOW: elect.sync %o|%q, 0xFF; MEET: shfl.sync.bfly.b32 %o, %o, 31, 31, -1;";
    assert_eq!(warp(parts), lanes(&|l| if l > 23 { 0 } else { 8 }));
    assert_eq!(warp("activemask.b32 %o;"), lanes(&|_| 0xFFFF_FFFF));
    // Element (row, column) of an 8 × 8 matrix of halves is 8 row + column; lane l holds row l / 4, columns 2 (l % 4) on.
    let transposed =
        warp("shl.b32 %t, %a, 1; mad.lo.u32 %t, %t, 0x10001, 0x10000; movmatrix.sync.aligned.m8n8.trans.b16 %o, %t;");
    assert_eq!(transposed, lanes(&|l| (16 * (l % 4) + l / 4) | ((16 * (l % 4) + 8 + l / 4) << 16)));
}

#[test]
fn lanes_that_go_apart_meet_again() {
    // A loop that lane l leaves after l turns, with a warp-wide sum behind it.
    let body = "mov.u32 %t, 0; LOOP: setp.ge.u32 %p, %t, %a; @%p bra DONE; add.u32 %t, %t, 1; bra LOOP; DONE: redux.sync.add.s32 %o, %t, -1;";
    assert_eq!(warp(body), [496; 32]);
    // The branch that is taken lies behind the one that is not, and both join before.
    let body = "setp.gt.u32 %p, %a, 9; @%p bra FAR; bra NEAR; JOIN: shfl.sync.idx.b32 %o, %t, 31, 31, -1; bra END; NEAR: mov.u32 %t, 1; bra JOIN; FAR: mov.u32 %t, 2; bra JOIN; END:";
    assert_eq!(warp(body), [2; 32]);
    // A lane waits for what another of its warp does: none may starve the others.
    let body = "setp.ne.u32 %p, %a, 0; @%p bra SET; SPIN: ld.volatile.global.b32 %o, [%out+8]; setp.ne.u32 %q, %o, 77; @%q bra SPIN; bra END; SET: setp.ne.u32 %p, %a, 1; @%p bra END; mov.u32 %t, 77; st.volatile.global.b32 [%out], %t; SPIN2: bra END; END: mov.u32 %o, 3;";
    let seeded = run_unchecked(body, &(0..32).map(|l| [l, 0, 0]).collect::<Vec<_>>());
    assert!(seeded.is_ok(), "{seeded:?}");
}

/// As [`run`] without checks, for kernels that race on purpose.
fn run_unchecked(body: &str, rows: &[[u64; 3]]) -> Result<Report, Fault> {
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .u64 out)
{{ .reg .pred %p, %q; .reg .b32 %a, %o, %t; .reg .b64 %out;
    mov.u32 %a, %tid.x; ld.param.u64 %out, [out]; mad.wide.u32 %out, %a, 8, %out;
    {body}
    ret; }}"
    );
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let mut machine = Machine::new(Config { checks: Checks::NONE, ..Config::new(ArchId::SM90) });
    let output = machine.upload(&vec![0; 8 * rows.len() + 8]).unwrap();
    machine.launch(&module.kernels()[0], &Launch::linear(1, rows.len() as u32, 0), &output.to_le_bytes())
}

#[test]
fn what_is_not_modelled_is_refused_when_it_is_loaded() {
    for (body, line) in [
        ("tex.2d.v4.f32.f32 {%f1, %f1, %f1, %f1}, [t, {%f1, %f1}];", 6),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};", 6),
        ("tcgen05.wait::ld.sync.aligned;", 6),
        ("add.u32 %r1, %r9, 1;", 6),
        ("bra NOWHERE;", 7),
    ] {
        let text = format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{ .reg .b32 %r<3>; .reg .f32 %f<3>;\n{body}\n}}"
        );
        let error = Module::parse(&text).expect_err(body);
        assert_eq!(error.line, line, "{error}");
        if line == 6 {
            assert_eq!(error.text, body);
            let wrong = matches!(
                error.reason,
                ParseReason::Unsupported(_) | ParseReason::Operands(_) | ParseReason::Undeclared(_)
            );
            assert!(wrong, "{error}");
        }
    }
}
