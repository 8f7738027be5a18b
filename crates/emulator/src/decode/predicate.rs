//! Comparisons and selections.

use super::args::{Args, Decoded, Ty, compute, lanes_where};
use super::rounding::{flush, flush_half};
use crate::ir::Op;
use crate::machine::registers::{LANES, Lane, PredSrc};
use crate::ptx::ast::{Operand, Reg, Width};
use core::cmp::Ordering;
use warpwright_numeric::f16;

pub(crate) fn decode(a: &mut Args<'_, '_, '_>) -> Decoded<Option<Op>> {
    Ok(Some(match a.instruction.opcode {
        "setp" => compare(a)?,
        "set" => set(a)?,
        "selp" => {
            let bits = a.ty()?.bits();
            let (to, x, y, p) = (a.reg_of(0, bits.max(32))?, a.src(1)?, a.src(2)?, a.pred_src(3)?);
            compute(move |r, mask| {
                let p = p.mask(r);
                if bits == 64 {
                    let (x, y) = (r.read::<u64>(x), r.read::<u64>(y));
                    r.write(to, mask, &core::array::from_fn(|l| if p >> l & 1 != 0 { x[l] } else { y[l] }));
                } else {
                    let (x, y) = (r.read::<u32>(x), r.read::<u32>(y));
                    let keep = !0 >> (32 - bits.min(32));
                    r.write(to, mask, &core::array::from_fn(|l| keep & if p >> l & 1 != 0 { x[l] } else { y[l] }));
                }
            })
        }
        "slct" => {
            let (types, to) = (a.types(), a.reg(0)?);
            let (x, y, c) = (a.src(1)?, a.src(2)?, a.src(3)?);
            let float = types.last() == Some(&Ty::F32);
            let flushes = a.has("ftz");
            compute(move |r, mask| {
                let (x, y, c) = (r.read_wide(x), r.read_wide(y), r.read::<u32>(c));
                let first = |l: usize| {
                    if float && flushes {
                        flush(f32::from_bits(c[l])) >= 0.0
                    } else if float {
                        f32::from_bits(c[l]) >= 0.0
                    } else {
                        c[l] as i32 >= 0
                    }
                };
                r.write_wide(to, mask, &core::array::from_fn(|l| if first(l) { x[l] } else { y[l] }));
            })
        }
        "testp" => {
            let (to, x) = (a.pred(0)?, a.src(1)?);
            let kind = a.suffix(0).to_owned();
            let double = a.ty()? == Ty::F64;
            compute(move |r, mask| {
                let x =
                    r.read_wide(x).map(|b| if double { f64::from_bits(b) } else { f32::from_bits(b as u32).into() });
                let smallest = if double { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
                let is = lanes_where(|l| match kind.as_str() {
                    "finite" => x[l].is_finite(),
                    "infinite" => x[l].is_infinite(),
                    "number" => !x[l].is_nan(),
                    "notanumber" => x[l].is_nan(),
                    // Zero counts as normal.
                    "normal" => x[l].is_finite() && (x[l].abs() >= smallest || x[l] == 0.0),
                    _ => x[l] != 0.0 && x[l].abs() < smallest,
                });
                r.set(to, mask, is);
            })
        }
        _ => return Ok(None),
    }))
}

/// Which outcomes of a comparison count as true.
#[derive(Clone, Copy)]
struct Test {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Test {
    fn named(name: &str) -> Option<Test> {
        let (stem, unordered) = match name {
            "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" => (&name[..2], true),
            _ => (name, false),
        };
        let (less, equal, greater, unordered) = match stem {
            "eq" => (false, true, false, unordered),
            "ne" => (true, false, true, unordered),
            "lt" | "lo" => (true, false, false, unordered),
            "le" | "ls" => (true, true, false, unordered),
            "gt" | "hi" => (false, false, true, unordered),
            "ge" | "hs" => (false, true, true, unordered),
            "num" => (true, true, true, false),
            "nan" => (false, false, false, true),
            _ => return None,
        };
        Some(Test { less, equal, greater, unordered })
    }

    #[inline(always)]
    fn holds(self, ordering: Option<Ordering>) -> bool {
        match ordering {
            Some(Ordering::Less) => self.less,
            Some(Ordering::Equal) => self.equal,
            Some(Ordering::Greater) => self.greater,
            None => self.unordered,
        }
    }
}

type Comparison = Box<dyn Fn(&crate::machine::registers::Registers) -> u32 + Send + Sync>;

/// The comparison of operands `first` and the one after it, as a mask of lanes.
fn comparison(a: &mut Args<'_, '_, '_>, first: usize, ty: Ty) -> Decoded<Comparison> {
    let test = a.find(Test::named).ok_or_else(|| a.unsupported(""))?;
    let (x, y) = (a.src(first)?, a.src(first + 1)?);
    let flushes = a.has("ftz");
    fn of<T: Lane + PartialOrd>(
        x: crate::machine::registers::Src,
        y: crate::machine::registers::Src,
        test: Test,
    ) -> Comparison {
        Box::new(move |r| {
            let (x, y) = (r.read::<T>(x), r.read::<T>(y));
            lanes_where(|l| test.holds(x[l].partial_cmp(&y[l])))
        })
    }
    Ok(match ty {
        Ty::U16 | Ty::B16 => of::<u16>(x, y, test),
        Ty::S16 => of::<i16>(x, y, test),
        Ty::U32 | Ty::B32 => of::<u32>(x, y, test),
        Ty::S32 => of::<i32>(x, y, test),
        Ty::U64 | Ty::B64 => of::<u64>(x, y, test),
        Ty::S64 => of::<i64>(x, y, test),
        Ty::F64 => of::<f64>(x, y, test),
        Ty::F32 if flushes => Box::new(move |r| {
            let (x, y) = (r.read::<f32>(x), r.read::<f32>(y));
            lanes_where(|l| test.holds(flush(x[l]).partial_cmp(&flush(y[l]))))
        }),
        Ty::F32 => of::<f32>(x, y, test),
        Ty::F16 => Box::new(move |r| {
            let widen = |bits: u16| flush_half(f16::from_bits(bits).to_f32(), flushes);
            let (x, y) = (r.read::<u16>(x).map(widen), r.read::<u16>(y).map(widen));
            lanes_where(|l| test.holds(x[l].partial_cmp(&y[l])))
        }),
        Ty::Bf16 => Box::new(move |r| {
            let widen = |b: u16| f32::from_bits(u32::from(b) << 16);
            let (x, y) = (r.read::<u16>(x).map(widen), r.read::<u16>(y).map(widen));
            lanes_where(|l| test.holds(x[l].partial_cmp(&y[l])))
        }),
        _ => return Err(a.unsupported("")),
    })
}

/// How a comparison's outcome is combined with a predicate.
type Combine = fn(u32, u32) -> u32;

fn combine(a: &Args<'_, '_, '_>, index: usize) -> Decoded<(Combine, PredSrc)> {
    if a.count() <= index {
        return Ok((|t, _| t, PredSrc::Const(true)));
    }
    let apply: Combine = if a.has("and") {
        |t, c| t & c
    } else if a.has("or") {
        |t, c| t | c
    } else {
        |t, c| t ^ c
    };
    Ok((apply, a.pred_src(index)?))
}

fn compare(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let ty = a.ty()?;
    let predicate = |operand: &Operand<'_>| match operand {
        Operand::Register(Reg { row, width: Width::Pred }) => Some(*row),
        _ => None,
    };
    let (to, inverse) = match a.operand(0)? {
        Operand::Pair(p, q) => (predicate(p), predicate(q)),
        other => (predicate(other), None),
    };
    let compare = comparison(a, 1, ty)?;
    let (apply, other) = combine(a, 3)?;
    Ok(compute(move |r, mask| {
        let (t, c) = (compare(r), other.mask(r));
        if let Some(to) = to {
            r.set(to, mask, apply(t, c));
        }
        if let Some(inverse) = inverse {
            r.set(inverse, mask, apply(!t, c));
        }
    }))
}

fn set(a: &mut Args<'_, '_, '_>) -> Decoded<Op> {
    let types = a.types();
    let (&[result, ty], to) = (types.as_slice(), a.reg(0)?) else { return Err(a.unsupported("")) };
    let one = match result {
        Ty::F32 => u64::from(1f32.to_bits()),
        Ty::U32 | Ty::S32 | Ty::B32 => u64::from(u32::MAX),
        _ => return Err(a.unsupported("")),
    };
    let compare = comparison(a, 1, ty)?;
    let (apply, other) = combine(a, 3)?;
    Ok(compute(move |r, mask| {
        let t = apply(compare(r), other.mask(r));
        let values: [u64; LANES] = core::array::from_fn(|l| if t >> l & 1 != 0 { one } else { 0 });
        r.write_wide(to, mask, &values);
    }))
}
