//! Reading an instruction's suffixes and operands.

use super::Decoder;
use crate::error::ParseReason;
use crate::ir::{Address, Base, Compute, Op, Order, Space};
use crate::machine::registers::{LANES, Lane, PredSrc, Src};
use crate::ptx::ast::{Instruction, Memory, Operand, Reg, VariableSpace, Width};
use std::cell::Cell;

pub(crate) type Decoded<T> = Result<T, ParseReason>;

/// A fundamental type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

impl Ty {
    pub fn named(name: &str) -> Option<Ty> {
        Some(match name {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "b16" => Ty::B16,
            "b32" => Ty::B32,
            "b64" => Ty::B64,
            "b128" => Ty::B128,
            "u8" => Ty::U8,
            "u16" => Ty::U16,
            "u32" => Ty::U32,
            "u64" => Ty::U64,
            "s8" => Ty::S8,
            "s16" => Ty::S16,
            "s32" => Ty::S32,
            "s64" => Ty::S64,
            "f16" => Ty::F16,
            "f16x2" => Ty::F16x2,
            "bf16" => Ty::Bf16,
            "bf16x2" => Ty::Bf16x2,
            "f32" => Ty::F32,
            "f64" => Ty::F64,
            _ => return None,
        })
    }

    pub fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::B8 | Ty::U8 | Ty::S8 => 8,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 16,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32 => 32,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 64,
            Ty::B128 => 128,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }
}

/// One instruction while it is decoded.
pub(crate) struct Args<'d, 't, 'm> {
    pub decoder: &'d mut Decoder<'t, 'm>,
    pub instruction: &'d Instruction<'t>,
    /// Which suffixes somebody has asked for, a bit each.
    asked: Cell<u64>,
}

/// Suffixes that change nothing here: scopes, state spaces that addresses tell, caches, what vectors of operands show, and
/// what an instruction does unless it says otherwise.
fn says_nothing(opcode: &str, suffix: &str) -> bool {
    match suffix {
        "cta" | "cluster" | "gpu" | "sys" | "weak" => true,
        "global" | "shared" | "shared::cta" | "shared::cluster" => true,
        "nc" | "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "v2" | "v4" | "v8" => true,
        "sync" | "aligned" | "rn" | "approx" | "full" | "lo" | "noftz" => true,
        _ if suffix.starts_with("L1::") || suffix.starts_with("L2::") => true,
        _ => match opcode {
            "bar" | "barrier" => matches!(suffix, "or" | "wait" | "acquire" | "release"),
            "bmsk" => suffix == "wrap",
            "bra" => suffix == "uni",
            "brx" => suffix == "idx",
            "createpolicy" => matches!(suffix, "fractional" | "range" | "b64"),
            "cvta" => matches!(suffix, "u32" | "u64" | "local" | "const" | "param" | "param::entry"),
            "griddepcontrol" => matches!(suffix, "wait" | "launch_dependents"),
            "prefetch" | "prefetchu" => matches!(suffix, "param" | "const" | "local" | "tensormap" | "L1" | "L2"),
            "tensormap" => {
                matches!(suffix, "replace" | "tile" | "b1024" | "b32" | "b64" | "release" | "tensormap::generic")
            }
            "nanosleep" => suffix == "u32",
            "pmevent" => suffix == "mask",
            "cp" => matches!(
                suffix,
                "async"
                    | "arrive"
                    | "tile"
                    | "bulk_group"
                    | "mbarrier::complete_tx::bytes"
                    | "L2"
                    | "1d"
                    | "2d"
                    | "3d"
                    | "4d"
                    | "5d"
            ),
            "fence" | "membar" => matches!(
                suffix,
                "sc" | "acq_rel"
                    | "acquire"
                    | "release"
                    | "gl"
                    | "alias"
                    | "sync_restrict::shared::cta"
                    | "sync_restrict::shared::cluster"
            ),
            "mapa" | "getctarank" => matches!(suffix, "u32" | "u64"),
            "match" => suffix == "any",
            "mbarrier" => matches!(suffix, "acquire" | "release" | "noComplete" | "b64"),
            "movmatrix" => matches!(suffix, "m8n8" | "trans"),
            "rcp" => suffix == "ftz",
            "atom" | "red" | "st" => matches!(suffix, "relaxed" | "mbarrier::complete_tx::bytes"),
            "set" | "setp" => suffix == "xor",
            "setmaxnreg" => suffix == "dec",
            "shf" => matches!(suffix, "r" | "wrap"),
            "shfl" => suffix == "idx",
            "vote" => suffix == "ballot",
            "wgmma" => suffix == "mma_async",
            _ => false,
        },
    }
}

impl<'d, 't, 'm> Args<'d, 't, 'm> {
    pub fn new(decoder: &'d mut Decoder<'t, 'm>, instruction: &'d Instruction<'t>) -> Args<'d, 't, 'm> {
        Args { decoder, instruction, asked: Cell::new(0) }
    }
}

impl<'t> Args<'_, 't, '_> {
    pub fn has(&self, suffix: &str) -> bool {
        self.find(|s| (s == suffix).then_some(())).is_some()
    }

    /// What `f` makes of the suffixes that it takes, in their order.
    pub fn all<T>(&self, mut f: impl FnMut(&'t str) -> Option<T>) -> Vec<T> {
        let suffixes = self.instruction.suffixes.iter().enumerate();
        let taken = suffixes.filter_map(|(i, suffix)| {
            let found = f(suffix)?;
            self.asked.set(self.asked.get() | 1 << i.min(63));
            Some(found)
        });
        taken.collect()
    }

    /// What `f` makes of the first suffix that it takes.
    pub fn find<T>(&self, f: impl FnMut(&'t str) -> Option<T>) -> Option<T> {
        self.all(f).into_iter().next()
    }

    /// The suffix at a place, which says what the instruction is; empty if there is none.
    pub fn suffix(&self, index: usize) -> &'t str {
        self.asked.set(self.asked.get() | 1 << index);
        self.instruction.suffixes.get(index).copied().unwrap_or("")
    }

    /// A suffix that nobody asked for and that may change what the instruction does.
    pub fn ignored(&self) -> Option<&'t str> {
        let asked = |i: usize| self.asked.get() >> i.min(63) & 1 != 0;
        let suffixes = self.instruction.suffixes.iter().enumerate();
        suffixes
            .filter(|(i, suffix)| !asked(*i) && !says_nothing(self.instruction.opcode, suffix))
            .map(|(_, suffix)| *suffix)
            .next()
    }

    pub fn count(&self) -> usize {
        self.instruction.operands.len()
    }

    /// The type suffixes in their order.
    pub fn types(&self) -> Vec<Ty> {
        self.all(Ty::named)
    }

    /// The last type suffix: what most instructions work on.
    pub fn ty(&self) -> Decoded<Ty> {
        self.types().last().copied().ok_or_else(|| self.unsupported("no type"))
    }

    pub fn unsupported(&self, what: &str) -> ParseReason {
        let name = core::iter::once(self.instruction.opcode).chain(self.instruction.suffixes.iter().copied());
        let name = name.collect::<Vec<_>>().join(".");
        ParseReason::Unsupported(if what.is_empty() { name } else { format!("{name} ({what})") })
    }

    pub fn operand(&self, index: usize) -> Decoded<&Operand<'t>> {
        self.instruction
            .operands
            .get(index)
            .ok_or_else(|| ParseReason::Operands(format!("operand {} is missing", index + 1)))
    }

    fn wrong(&self, operand: &Operand<'_>, wanted: &str) -> ParseReason {
        ParseReason::Operands(format!("expected {wanted}, found {operand:?}"))
    }

    /// A register that is not a predicate.
    pub fn reg(&self, index: usize) -> Decoded<Reg> {
        match self.operand(index)? {
            Operand::Register(reg) if reg.width != Width::Pred => Ok(*reg),
            other => Err(self.wrong(other, "a register")),
        }
    }

    /// A register that holds `bits` bits.
    pub fn reg_of(&self, index: usize, bits: u32) -> Decoded<Reg> {
        let reg = self.reg(index)?;
        if reg.width.rows() == bits.div_ceil(32) {
            return Ok(reg);
        }
        Err(ParseReason::Operands(format!("operand {} has {} bits, not {bits}", index + 1, reg.width.bits())))
    }

    pub fn pred(&self, index: usize) -> Decoded<u32> {
        match self.operand(index)? {
            Operand::Register(Reg { row, width: Width::Pred }) => Ok(*row),
            other => Err(self.wrong(other, "a predicate")),
        }
    }

    pub fn pred_src(&self, index: usize) -> Decoded<PredSrc> {
        match self.operand(index)? {
            Operand::Register(Reg { row, width: Width::Pred }) => Ok(PredSrc::Reg { index: *row, negated: false }),
            Operand::Not(inner) => match **inner {
                Operand::Register(Reg { row, width: Width::Pred }) => Ok(PredSrc::Reg { index: row, negated: true }),
                ref other => Err(self.wrong(other, "a predicate")),
            },
            Operand::Integer(value) => Ok(PredSrc::Const(*value != 0)),
            other => Err(self.wrong(other, "a predicate")),
        }
    }

    /// Any operand that has a value in every lane. Special registers and symbols are moved to a register first.
    pub fn src(&mut self, index: usize) -> Decoded<Src> {
        let operand = self.operand(index)?.clone();
        self.value(&operand)
    }

    pub fn value(&mut self, operand: &Operand<'t>) -> Decoded<Src> {
        Ok(match operand {
            Operand::Register(reg) if reg.width != Width::Pred => Src::Reg(*reg),
            Operand::Integer(bits) => Src::Imm(*bits),
            Operand::Float32(bits) => Src::Imm(u64::from(*bits)),
            Operand::Float64(bits) if self.has("f32") => Src::Imm(u64::from((f64::from_bits(*bits) as f32).to_bits())),
            Operand::Float64(bits) => Src::Imm(*bits),
            Operand::Special(name) => {
                let what = super::special::named(name).ok_or_else(|| ParseReason::Undeclared((*name).to_owned()))?;
                let to = self.decoder.scratch(if name.ends_with("64") { 64 } else { 32 });
                self.decoder.emit(Op::Special { to, what });
                Src::Reg(to)
            }
            Operand::Symbol(name) => {
                let (base, _) = self.decoder.symbol(name)?;
                let to = self.decoder.scratch(64);
                self.decoder.emit(Op::AddressOf { to, address: Address { base, offset: 0 } });
                Src::Reg(to)
            }
            other => return Err(self.wrong(other, "a value")),
        })
    }

    /// An immediate.
    pub fn constant(&self, index: usize) -> Decoded<u64> {
        match self.operand(index)? {
            Operand::Integer(value) => Ok(*value),
            other => Err(self.wrong(other, "a constant")),
        }
    }

    pub fn memory(&self, index: usize) -> Decoded<&Memory<'t>> {
        match self.operand(index)? {
            Operand::Memory(memory) => Ok(memory),
            other => Err(self.wrong(other, "an address in brackets")),
        }
    }

    /// The address in brackets, and the space of the variable that it names, if it names one.
    pub fn address_space(&mut self, index: usize) -> Decoded<(Address, Option<Space>)> {
        let Memory { base, offset, .. } = self.memory(index)?.clone();
        Ok(match base {
            Operand::Register(reg) if reg.width != Width::Pred => (Address { base: Base::Reg(reg), offset }, None),
            Operand::Integer(at) => (Address { base: Base::None, offset: offset.wrapping_add(at as i64) }, None),
            Operand::Symbol(name) => {
                let (base, space) = self.decoder.symbol(name)?;
                (Address { base, offset }, Some(space))
            }
            ref other => return Err(self.wrong(other, "an address")),
        })
    }

    pub fn address(&mut self, index: usize) -> Decoded<Address> {
        Ok(self.address_space(index)?.0)
    }

    /// The registers of a vector operand, or of a single one; `None` for `_`.
    pub fn targets(&self, index: usize) -> Decoded<Vec<Option<Reg>>> {
        let one = |operand: &Operand<'t>| match operand {
            Operand::Register(reg) if reg.width != Width::Pred => Ok(Some(*reg)),
            Operand::Sink => Ok(None),
            other => Err(self.wrong(other, "a register")),
        };
        match self.operand(index)? {
            Operand::Vector(items) => items.iter().map(one).collect(),
            other => Ok(vec![one(other)?]),
        }
    }

    /// The registers of a vector operand, none of them `_`.
    pub fn regs(&self, index: usize) -> Decoded<Box<[Reg]>> {
        self.targets(index)?
            .into_iter()
            .map(|r| r.ok_or_else(|| ParseReason::Operands("`_` has no value here".into())))
            .collect()
    }

    /// The values of a vector operand, or of a single one.
    pub fn sources(&mut self, index: usize) -> Decoded<Box<[Src]>> {
        match self.operand(index)?.clone() {
            Operand::Vector(items) => items.iter().map(|item| self.value(item)).collect(),
            other => Ok(Box::new([self.value(&other)?])),
        }
    }

    /// The state space that the suffixes name.
    pub fn space(&self) -> Space {
        let named = self.find(|suffix| match suffix {
            "global" | "const" => Some(Space::Global),
            "shared" | "shared::cta" | "shared::cluster" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "param" | "param::entry" => Some(Space::Param),
            _ => None,
        });
        named.unwrap_or(Space::Generic)
    }

    /// The memory order that the suffixes name.
    pub fn order(&self) -> Order {
        Order {
            strong: ["relaxed", "acquire", "release", "acq_rel", "volatile", "mmio"].iter().any(|s| self.has(s)),
            acquire: self.has("acquire") || self.has("acq_rel"),
            release: self.has("release") || self.has("acq_rel"),
        }
    }

    /// `d = f(a)`.
    pub fn unary<A: Lane, R: Lane>(&mut self, f: impl Fn(A) -> R + Send + Sync + 'static) -> Decoded<Op> {
        let (d, a) = (self.reg_of(0, bits::<R>())?, self.src(1)?);
        Ok(compute(move |registers, mask| {
            let a = registers.read::<A>(a);
            registers.write(d, mask, &core::array::from_fn(|l| f(a[l])));
        }))
    }

    /// `d = f(a, b)`.
    pub fn binary<A: Lane, B: Lane, R: Lane>(&mut self, f: impl Fn(A, B) -> R + Send + Sync + 'static) -> Decoded<Op> {
        let (d, a, b) = (self.reg_of(0, bits::<R>())?, self.src(1)?, self.src(2)?);
        Ok(compute(move |registers, mask| {
            let (a, b) = (registers.read::<A>(a), registers.read::<B>(b));
            registers.write(d, mask, &core::array::from_fn(|l| f(a[l], b[l])));
        }))
    }

    /// `d = f(a, b, c)`.
    pub fn ternary<A: Lane, B: Lane, C: Lane, R: Lane>(
        &mut self,
        f: impl Fn(A, B, C) -> R + Send + Sync + 'static,
    ) -> Decoded<Op> {
        let (d, a, b, c) = (self.reg_of(0, bits::<R>())?, self.src(1)?, self.src(2)?, self.src(3)?);
        Ok(compute(move |registers, mask| {
            let (a, b, c) = (registers.read::<A>(a), registers.read::<B>(b), registers.read::<C>(c));
            registers.write(d, mask, &core::array::from_fn(|l| f(a[l], b[l], c[l])));
        }))
    }
}

/// Bits of the registers that hold a `T`, words counting as 32.
fn bits<T: Lane>() -> u32 {
    if size_of::<T>() == 8 { 64 } else { 32 }
}

/// An operation on registers alone.
pub(crate) fn compute(f: impl Fn(&mut crate::machine::registers::Registers, u32) + Send + Sync + 'static) -> Op {
    let f: Compute = Box::new(f);
    Op::Compute(f)
}

/// One bit per lane for which `f` holds.
pub(crate) fn lanes_where(f: impl Fn(usize) -> bool) -> u32 {
    (0..LANES).fold(0, |mask, l| mask | u32::from(f(l)) << l)
}

/// The space of a variable's address.
pub(crate) fn space_of(space: VariableSpace) -> Space {
    match space {
        VariableSpace::Global | VariableSpace::Const => Space::Global,
        VariableSpace::Shared => Space::Shared,
        VariableSpace::Local => Space::Local,
        VariableSpace::Param => Space::Param,
    }
}
