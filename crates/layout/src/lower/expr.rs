//! Integer expressions that print as CUDA C++ and evaluate on the host.

use core::fmt;

/// An unsigned expression over named variables. The constructors simplify: constants fold, and factors and divisors
/// that are powers of two become shifts and masks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// A literal.
    Const(u64),
    /// Variable number `i` of the function.
    Var(usize),
    /// Two operands.
    Op(Op, Box<Expr>, Box<Expr>),
}

/// The operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `+`
    Add,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `^`
    Xor,
}

impl Op {
    const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::And => "&",
            Self::Xor => "^",
        }
    }
}

/// The width of the arithmetic, which wraps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Width {
    /// `unsigned`: offsets within shared memory, registers and tiles.
    #[default]
    U32,
    /// `unsigned long long`: offsets within global memory.
    U64,
}

impl Width {
    pub(crate) const fn type_name(self) -> &'static str {
        match self {
            Self::U32 => "unsigned",
            Self::U64 => "unsigned long long",
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::U32 => "u",
            Self::U64 => "ull",
        }
    }

    const fn wrap(self, v: u64) -> u64 {
        match self {
            Self::U32 => v & u32::MAX as u64,
            Self::U64 => v,
        }
    }
}

impl Expr {
    fn op(op: Op, a: Self, b: Self) -> Self {
        Self::Op(op, Box::new(a), Box::new(b))
    }

    /// `a + b`.
    pub fn sum(a: Self, b: Self) -> Self {
        match (a, b) {
            (Self::Const(0), e) | (e, Self::Const(0)) => e,
            (Self::Const(x), Self::Const(y)) => Self::Const(x.wrapping_add(y)),
            (a, b) => Self::op(Op::Add, a, b),
        }
    }

    /// `a * b`.
    pub fn product(a: Self, b: Self) -> Self {
        match (a, b) {
            (Self::Const(0), _) | (_, Self::Const(0)) => Self::Const(0),
            (Self::Const(1), e) | (e, Self::Const(1)) => e,
            (Self::Const(x), Self::Const(y)) => Self::Const(x.wrapping_mul(y)),
            (Self::Const(c), e) | (e, Self::Const(c)) if c.is_power_of_two() => {
                Self::op(Op::Shl, e, Self::Const(u64::from(c.trailing_zeros())))
            }
            (a, b) => Self::op(Op::Mul, a, b),
        }
    }

    /// `a / b`.
    pub fn quotient(a: Self, b: Self) -> Self {
        match (a, b) {
            (a, Self::Const(1)) => a,
            (Self::Op(Op::Shr, e, s), Self::Const(c)) if c.is_power_of_two() => match *s {
                Self::Const(s) => Self::op(Op::Shr, *e, Self::Const(s + u64::from(c.trailing_zeros()))),
                s => Self::op(Op::Shr, Self::op(Op::Shr, *e, s), Self::Const(u64::from(c.trailing_zeros()))),
            },
            (a, Self::Const(c)) if c.is_power_of_two() => {
                Self::op(Op::Shr, a, Self::Const(u64::from(c.trailing_zeros())))
            }
            (a, b) => Self::op(Op::Div, a, b),
        }
    }

    /// `a % b`.
    pub fn remainder(a: Self, b: Self) -> Self {
        match b {
            Self::Const(1) => Self::Const(0),
            Self::Const(c) if c.is_power_of_two() => Self::op(Op::And, a, Self::Const(c - 1)),
            b => Self::op(Op::Rem, a, b),
        }
    }

    /// `a & mask`.
    pub fn and(a: Self, mask: u64) -> Self {
        Self::op(Op::And, a, Self::Const(mask))
    }

    /// `a ^ b`.
    pub fn xor(a: Self, b: Self) -> Self {
        Self::op(Op::Xor, a, b)
    }

    /// `a >> n` for a positive `n`, `a << -n` for a negative one.
    pub fn shift(a: Self, n: i32) -> Self {
        match n {
            0 => a,
            1.. => Self::op(Op::Shr, a, Self::Const(n as u64)),
            _ => Self::op(Op::Shl, a, Self::Const(u64::from(n.unsigned_abs()))),
        }
    }

    /// The value, or `None` on a division by zero or a variable that is missing.
    pub fn eval(&self, vars: &[u64], width: Width) -> Option<u64> {
        let v = match self {
            Self::Const(v) => *v,
            Self::Var(i) => *vars.get(*i)?,
            Self::Op(op, a, b) => {
                let (a, b) = (a.eval(vars, width)?, b.eval(vars, width)?);
                match op {
                    Op::Add => a.wrapping_add(b),
                    Op::Mul => a.wrapping_mul(b),
                    Op::Div => a.checked_div(b)?,
                    Op::Rem => a.checked_rem(b)?,
                    Op::Shl => a.wrapping_shl(b as u32),
                    Op::Shr => a.wrapping_shr(b as u32),
                    Op::And => a & b,
                    Op::Xor => a ^ b,
                }
            }
        };
        Some(width.wrap(v))
    }

    /// Whether a `/` or `%` is left.
    pub fn divides(&self) -> bool {
        match self {
            Self::Op(op, a, b) => matches!(op, Op::Div | Op::Rem) || a.divides() || b.divides(),
            _ => false,
        }
    }

    pub(crate) fn write(&self, f: &mut dyn fmt::Write, names: &[String], width: Width) -> fmt::Result {
        match self {
            Self::Const(v) => write!(f, "{}{}", width.wrap(*v), width.suffix()),
            Self::Var(i) => f.write_str(&names[*i]),
            Self::Op(op, a, b) => {
                f.write_char('(')?;
                a.write(f, names, width)?;
                write!(f, " {} ", op.symbol())?;
                match (op, b.as_ref()) {
                    (Op::Shl | Op::Shr, Self::Const(n)) => write!(f, "{n}")?,
                    _ => b.write(f, names, width)?,
                }
                f.write_char(')')
            }
        }
    }
}
