//! Lowering: layouts become C++ index functions.
//!
//! Static integers are literals, factors and divisors that are powers of two are shifts and masks, swizzles are XORs, and
//! each dynamic integer is a parameter. The expression that is printed is the expression that [`IndexFunction::eval`]
//! evaluates, so a test on the host proves the printed function.

mod expr;

use core::fmt;

pub use expr::{Expr, Op, Width};

use crate::error::within;
use crate::{ComposedLayout, Cursor, Int, IntTuple, Layout, LayoutError, Swizzle, tri};

/// An index function: coordinates to an offset in elements.
///
/// Displayed, it is freestanding CUDA C++: `static __device__ __forceinline__ unsigned name(unsigned c0, …)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexFunction {
    name: String,
    variables: Vec<String>,
    arguments: usize,
    parameters: Vec<Int>,
    offset: Expr,
    /// The swizzled offset, of a variable behind all others that holds the offset.
    swizzled: Option<Expr>,
    width: Width,
}

/// The index function `name` of `layout`, with 32-bit arithmetic.
///
/// `arguments` names the coordinates: one for the whole layout (a linear coordinate), one for each mode, or one for each
/// integer of the shape. Dynamic integers follow as parameters, extents `s0, s1, …` and strides `d0, d1, …` numbered by
/// leaf; [`IndexFunction::parameters`] has their values in this order. A dynamic extent is a parameter only where a
/// coordinate must be split by it.
///
/// # Errors
/// [`LayoutError::Rank`] when the number of arguments is none of these, [`LayoutError::Overflow`] when an offset, or a static
/// extent or stride, does not fit 32 bits, [`LayoutError::NegativeOffset`] when the layout reaches a negative offset. What
/// dynamic integers add is the caller's to know.
pub fn index_function(name: &str, layout: &ComposedLayout, arguments: &[&str]) -> Result<IndexFunction, LayoutError> {
    index_function_of(name, layout, arguments, Width::U32)
}

/// As [`index_function`] with a chosen width.
///
/// # Errors
/// As [`index_function`].
pub fn index_function_of(
    name: &str,
    layout: &ComposedLayout,
    arguments: &[&str],
    width: Width,
) -> Result<IndexFunction, LayoutError> {
    layout.check()?;
    if width == Width::U32 {
        fits_32_bits(layout)?;
    }
    let mut f = IndexFunction {
        name: name.into(),
        variables: arguments.iter().map(|&a| a.into()).collect(),
        arguments: arguments.len(),
        parameters: Vec::new(),
        offset: Expr::Const(0),
        swizzled: None,
        width,
    };
    let l = &layout.layout;
    let groups: Vec<(Cursor, Cursor)> = if arguments.len() == 1 {
        vec![(Cursor::START, l.shape.skip(Cursor::START))]
    } else if arguments.len() == l.rank() {
        (0..l.rank()).map(|i| l.shape.child_at(Cursor::START, i)).map(|c| (c, l.shape.skip(c))).collect()
    } else if arguments.len() == l.shape.leaves() {
        (0..l.shape.leaves()).map(|i| (Cursor { token: 0, leaf: i }, Cursor { token: 0, leaf: i + 1 })).collect()
    } else {
        return Err(LayoutError::Rank { operation: "index_function", found: arguments.len(), needed: l.rank() });
    };
    let mut sum = f.constant(layout.offset, "offset".into());
    for (i, (from, to)) in groups.into_iter().enumerate() {
        let part = f.group(l, from.leaf, to.leaf, Expr::Var(i));
        sum = Expr::sum(sum, part);
    }
    f.offset = sum;
    f.swizzled = swizzled(&layout.swizzle, Expr::Var(f.variables.len()));
    Ok(f)
}

/// Whether what is known of the layout is right in unsigned arithmetic of 32 bits.
fn fits_32_bits(layout: &ComposedLayout) -> Result<(), LayoutError> {
    const MOST: i64 = u32::MAX as i64;
    let l = &layout.layout;
    let known = |v: Int| if v.is_static() { v.value() } else { 0 };
    let (mut least, mut most) = (known(layout.offset), known(layout.offset));
    for (s, d) in l.shape.iter().zip(l.stride.iter()) {
        within("a static extent of a 32-bit index function", known(s).into(), MOST)?;
        // An extent that is not known is at least 2 where it matters.
        let step = known(d) * if s.is_static() { s.value() - 1 } else { 1 };
        (least, most) = (least + step.min(0), most + step.max(0));
    }
    within("the largest offset of a 32-bit index function", most.into(), MOST)?;
    within("the least offset of a 32-bit index function", least.into(), MOST)?;
    let whole = l.is_static() && layout.offset.is_static();
    if whole && least < 0 { Err(LayoutError::NegativeOffset { offset: least }) } else { Ok(()) }
}

impl IndexFunction {
    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the parameters behind the coordinates.
    pub fn parameter_names(&self) -> &[String] {
        &self.variables[self.arguments..]
    }

    /// The values that the layout has for the parameters.
    pub fn parameters(&self) -> &[Int] {
        &self.parameters
    }

    /// Whether the device must divide: an extent that is dynamic or no power of two splits a coordinate.
    pub fn divides(&self) -> bool {
        self.offset.divides()
    }

    /// What the printed function returns for these coordinates and the layout's own parameters; `None` when a coordinate
    /// is missing.
    pub fn eval(&self, coordinates: &[u64]) -> Option<u64> {
        // Tests evaluate functions many millions of times: few variables need no heap.
        let (mut few, mut many, last) = ([0; 16], Vec::new(), self.variables.len());
        let vars = if last < few.len() {
            &mut few[..=last]
        } else {
            many.resize(last + 1, 0);
            &mut many[..]
        };
        vars[..self.arguments].copy_from_slice(coordinates.get(..self.arguments)?);
        for (var, parameter) in vars[self.arguments..].iter_mut().zip(&self.parameters) {
            *var = parameter.value() as u64;
        }
        vars[last] = self.offset.eval(&vars[..last], self.width)?;
        match &self.swizzled {
            Some(swizzled) => swizzled.eval(vars, self.width),
            None => Some(vars[last]),
        }
    }

    fn constant(&mut self, v: Int, name: String) -> Expr {
        if v.is_static() {
            return Expr::Const(v.value() as u64);
        }
        let at = self.variables.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.variables.push(name);
            self.parameters.push(v);
            self.variables.len() - 1
        });
        Expr::Var(at)
    }

    /// The offset of one coordinate over the leaves `from..to`, which are coalesced as long as that is static.
    fn group(&mut self, l: &Layout, from: usize, to: usize, coordinate: Expr) -> Expr {
        let mut modes: Vec<(Int, Int, usize)> = Vec::new();
        for i in from..to {
            let (s, d) = (l.shape.get(i), l.stride.get(i));
            if s.is(1) {
                continue;
            }
            match modes.last_mut() {
                Some((s0, d0, _)) if s0.is_static() && d.is_static() && s.is_static() && s0.mul(*d0) == d => {
                    *s0 = s0.mul(s);
                }
                _ => modes.push((s, d, i)),
            }
        }
        let (mut sum, mut rest) = (Expr::Const(0), coordinate);
        let count = modes.len();
        for (n, (s, d, leaf)) in modes.into_iter().enumerate() {
            let last = n + 1 == count;
            let (digit, next) = if last {
                (rest.clone(), rest)
            } else if d.is(0) {
                let s = self.constant(s, format!("s{leaf}"));
                (Expr::Const(0), Expr::quotient(rest, s))
            } else {
                let s = self.constant(s, format!("s{leaf}"));
                (Expr::remainder(rest.clone(), s.clone()), Expr::quotient(rest, s))
            };
            let d = if d.is(0) { Expr::Const(0) } else { self.constant(d, format!("d{leaf}")) };
            sum = Expr::sum(sum, Expr::product(digit, d));
            rest = next;
        }
        sum
    }
}

fn swizzled(swizzle: &Swizzle, x: Expr) -> Option<Expr> {
    if swizzle.is_identity() {
        return None;
    }
    let field = Expr::and(x.clone(), swizzle.source_mask() as u64);
    Some(Expr::xor(x, Expr::shift(field, swizzle.shift)))
}

impl fmt::Display for IndexFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ty = self.width.type_name();
        write!(f, "static __device__ __forceinline__ {ty} {}(", self.name)?;
        for (i, name) in self.variables.iter().enumerate() {
            write!(f, "{}{ty} {name}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str(") {\n")?;
        if let Some(swizzled) = &self.swizzled {
            write!(f, "    const {ty} x = ")?;
            self.offset.write(f, &self.variables, self.width)?;
            f.write_str(";\n    return ")?;
            let mut names = self.variables.clone();
            names.push("x".into());
            swizzled.write(f, &names, self.width)?;
        } else {
            f.write_str("    return ")?;
            self.offset.write(f, &self.variables, self.width)?;
        }
        f.write_str(";\n}\n")
    }
}

/// One index function a coordinate: a layout whose offsets are linear indices in the compact `codomain` (a thread/value
/// layout of a tile) becomes the functions `names[i]`, one for each mode of `codomain`.
///
/// # Errors
/// As [`Layout::coordinate`] and [`index_function`].
pub fn coordinate_functions(
    names: &[&str],
    layout: &Layout,
    codomain: &IntTuple,
    arguments: &[&str],
) -> Result<Vec<IndexFunction>, LayoutError> {
    names
        .iter()
        .enumerate()
        .map(|(i, name)| index_function(name, &tri!(layout.coordinate(codomain, i)).into(), arguments))
        .collect()
}
