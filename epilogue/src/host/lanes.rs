//! Arithmetic on rows: each function is one loop that vectorises, chosen once a row.

use super::arena::{Lane, Lanes};
use super::read::Target;
use core::ops::{Add, Div, Mul, Sub};
use warpwright_numeric::{Dtype, Element};
use warpwright_spec::{HostFn, Operator};

/// A compute type.
pub(super) trait Real:
    Target + Element + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    const ZERO: Self;
    /// A number of the host.
    fn narrow(x: f64) -> Self;
    fn from_integer(x: i64) -> Self;
    /// The nearest value of `T`.
    fn to_element<T: Element>(self) -> T;
    fn functions(function: HostFn) -> Body<Self>;
}

/// The body of a function in one compute type.
pub(super) enum Body<R> {
    Unary(fn(R) -> R),
    Binary(fn(R, R) -> R),
    Ternary(fn(R, R, R) -> R),
}

macro_rules! real {
    ($($t:ident, $from:ident, |$single:ident, $double:ident| $choice:ident;)+) => { $(
        impl Real for $t {
            const ZERO: $t = 0.0;
            fn narrow(x: f64) -> $t {
                x as $t
            }
            fn from_integer(x: i64) -> $t {
                x as $t
            }
            fn to_element<T: Element>(self) -> T {
                T::$from(self)
            }
            fn functions(function: HostFn) -> Body<$t> {
                match function {
                    HostFn::Unary($single, $double) => Body::Unary(real!(@pick $choice $single $double)),
                    HostFn::Binary($single, $double) => Body::Binary(real!(@pick $choice $single $double)),
                    HostFn::Ternary($single, $double) => Body::Ternary(real!(@pick $choice $single $double)),
                }
            }
        }
    )+ };
    (@pick single $single:ident $double:ident) => {{ let _ = $double; $single }};
    (@pick double $single:ident $double:ident) => {{ let _ = $single; $double }};
}
real! {
    f32, from_f32, |single, double| single;
    f64, from_f64, |single, double| double;
}

/// The type of a [`Dtype`].
macro_rules! with_element {
    ($dtype:expr, $t:ident => $body:expr) => {
        match $dtype {
            warpwright_numeric::Dtype::F64 => {
                type $t = f64;
                $body
            }
            warpwright_numeric::Dtype::F32 => {
                type $t = f32;
                $body
            }
            warpwright_numeric::Dtype::Tf32 => {
                type $t = warpwright_numeric::tf32;
                $body
            }
            warpwright_numeric::Dtype::F16 => {
                type $t = warpwright_numeric::f16;
                $body
            }
            warpwright_numeric::Dtype::Bf16 => {
                type $t = warpwright_numeric::bf16;
                $body
            }
            warpwright_numeric::Dtype::E4m3 => {
                type $t = warpwright_numeric::e4m3;
                $body
            }
            warpwright_numeric::Dtype::E5m2 => {
                type $t = warpwright_numeric::e5m2;
                $body
            }
            warpwright_numeric::Dtype::I32 => {
                type $t = i32;
                $body
            }
            warpwright_numeric::Dtype::I8 => {
                type $t = i8;
                $body
            }
            warpwright_numeric::Dtype::U8 => {
                type $t = u8;
                $body
            }
            warpwright_numeric::Dtype::I4 => {
                type $t = warpwright_numeric::i4;
                $body
            }
            warpwright_numeric::Dtype::U4 => {
                type $t = warpwright_numeric::u4;
                $body
            }
            warpwright_numeric::Dtype::E2m1 => {
                type $t = warpwright_numeric::e2m1;
                $body
            }
            warpwright_numeric::Dtype::E3m2 => {
                type $t = warpwright_numeric::e3m2;
                $body
            }
            warpwright_numeric::Dtype::E2m3 => {
                type $t = warpwright_numeric::e2m3;
                $body
            }
            warpwright_numeric::Dtype::E8m0 => {
                type $t = warpwright_numeric::e8m0;
                $body
            }
        }
    };
}
pub(super) use with_element;

pub(super) fn map<T: Copy, U>(x: Lanes<'_, T>, row: &mut [U], f: impl Fn(T) -> U) -> Lane<U> {
    match x {
        Lanes::Splat(x) => Lane::Splat(f(x)),
        Lanes::Row(xs) => {
            for (y, x) in row.iter_mut().zip(xs) {
                *y = f(*x);
            }
            Lane::Row
        }
    }
}

pub(super) fn unary<T: Copy>(x: Lanes<'_, T>, row: &mut [T], f: impl Fn(T) -> T) -> Lane<T> {
    map(x, row, f)
}

/// A function of what a row holds already.
pub(super) fn in_place<T: Copy>(lane: Lane<T>, row: &mut [T], f: impl Fn(T) -> T) -> Lane<T> {
    match lane {
        Lane::Splat(x) => Lane::Splat(f(x)),
        Lane::Row => {
            for x in row {
                *x = f(*x);
            }
            Lane::Row
        }
    }
}

fn zip<T: Copy>(a: Lanes<'_, T>, b: Lanes<'_, T>, row: &mut [T], f: impl Fn(T, T) -> T) -> Lane<T> {
    match (a, b) {
        (Lanes::Splat(a), b) => map(b, row, |b| f(a, b)),
        (a, Lanes::Splat(b)) => map(a, row, |a| f(a, b)),
        (Lanes::Row(a), Lanes::Row(b)) => {
            for ((y, a), b) in row.iter_mut().zip(a).zip(b) {
                *y = f(*a, *b);
            }
            Lane::Row
        }
    }
}

// The device's text is the same comparison, so that zeros and NaN come out alike.
#[allow(clippy::eq_op, reason = "a value that differs from itself is NaN")]
fn maximum<T: PartialOrd>(a: T, b: T) -> T {
    if a > b || a != a { a } else { b }
}
#[allow(clippy::eq_op, reason = "a value that differs from itself is NaN")]
fn minimum<T: PartialOrd>(a: T, b: T) -> T {
    if a < b || a != a { a } else { b }
}

pub(super) fn combine<R: Real>(op: Operator, a: Lanes<'_, R>, b: Lanes<'_, R>, row: &mut [R]) -> Lane<R> {
    match op {
        Operator::Plus => zip(a, b, row, |a, b| a + b),
        Operator::Minus => zip(a, b, row, |a, b| a - b),
        Operator::Times => zip(a, b, row, |a, b| a * b),
        Operator::Over => zip(a, b, row, |a, b| a / b),
        Operator::Maximum => zip(a, b, row, maximum),
        Operator::Minimum => zip(a, b, row, minimum),
        Operator::IsLess => zip(a, b, row, |a, b| truth(a < b)),
        Operator::IsLessOrEqual => zip(a, b, row, |a, b| truth(a <= b)),
        Operator::IsGreater => zip(a, b, row, |a, b| truth(a > b)),
        Operator::IsGreaterOrEqual => zip(a, b, row, |a, b| truth(a >= b)),
        Operator::IsEqual => zip(a, b, row, |a, b| truth(a == b)),
        Operator::IsNotEqual => zip(a, b, row, |a, b| truth(a != b)),
    }
}

fn truth<R: Real>(holds: bool) -> R {
    R::from_integer(holds.into())
}

/// Division is never exact: it gives 0 here, and no program holds it.
pub(super) fn combine_exact(op: Operator, a: Lanes<'_, i64>, b: Lanes<'_, i64>, row: &mut [i64]) -> Lane<i64> {
    match op {
        Operator::Plus => zip(a, b, row, i64::wrapping_add),
        Operator::Minus => zip(a, b, row, i64::wrapping_sub),
        Operator::Times => zip(a, b, row, i64::wrapping_mul),
        Operator::Over => Lane::Splat(0),
        Operator::Maximum => zip(a, b, row, i64::max),
        Operator::Minimum => zip(a, b, row, i64::min),
        Operator::IsLess => zip(a, b, row, |a, b| (a < b).into()),
        Operator::IsLessOrEqual => zip(a, b, row, |a, b| (a <= b).into()),
        Operator::IsGreater => zip(a, b, row, |a, b| (a > b).into()),
        Operator::IsGreaterOrEqual => zip(a, b, row, |a, b| (a >= b).into()),
        Operator::IsEqual => zip(a, b, row, |a, b| (a == b).into()),
        Operator::IsNotEqual => zip(a, b, row, |a, b| (a != b).into()),
    }
}

pub(super) fn apply<R: Real>(function: HostFn, values: [Lanes<'_, R>; 3], row: &mut [R]) -> Lane<R> {
    let [x, y, z] = values;
    match R::functions(function) {
        Body::Unary(f) => unary(x, row, f),
        Body::Binary(f) => zip(x, y, row, f),
        Body::Ternary(f) => {
            for (i, out) in row.iter_mut().enumerate() {
                *out = f(x.at(i), y.at(i), z.at(i));
            }
            Lane::Row
        }
    }
}

/// Element by element, the second where the first is kept, else the third.
pub(super) fn select<C: Copy, T: Copy>(
    condition: Lanes<'_, C>,
    a: Lanes<'_, T>,
    b: Lanes<'_, T>,
    row: &mut [T],
    keeps: impl Fn(C) -> bool,
) -> Lane<T> {
    match condition {
        Lanes::Splat(c) => unary(if keeps(c) { a } else { b }, row, |x| x),
        Lanes::Row(condition) => {
            for (i, (out, &c)) in row.iter_mut().zip(condition).enumerate() {
                *out = if keeps(c) { a.at(i) } else { b.at(i) };
            }
            Lane::Row
        }
    }
}

/// Rounds what a row holds to an element type.
pub(super) fn round<R: Real>(element: Dtype, lane: Lane<R>, row: &mut [R]) -> Lane<R> {
    with_element!(element, T => in_place(lane, row, |x| R::of(x.to_element::<T>())))
}
