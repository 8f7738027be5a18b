//! A row with its memory.

use warpwright_numeric::Dtype;

use crate::case::{BindKind, Case, Expect, OperandSpec, Order};
use crate::expression::Expression;
use crate::operand::{GUARD, Layout, Operand};
use crate::pattern::Pattern;
use crate::random;

/// A case whose operands exist.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The row.
    pub case: Case,
    /// A, `m × k`.
    pub a: Operand,
    /// B, `k × n`.
    pub b: Operand,
    /// C, `m × n`; none if the epilogue does not name it or its data is `absent`.
    pub c: Option<Operand>,
    /// D, `m × n`, as it is before the run.
    pub d: Operand,
    /// The vectors and tiles that the epilogue names.
    pub bindings: Vec<Binding>,
    /// The epilogue with its scalars' values.
    pub epilogue: Expression,
}

/// A named operand of the epilogue: a row vector is `1 × n`, a column vector `m × 1`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Its name in the notation.
    pub name: String,
    /// How it is spread over D.
    pub kind: BindKind,
    /// Its memory.
    pub operand: Operand,
}

impl Prepared {
    /// Fills the operands of a row, or says what is wrong with the row.
    pub fn new(case: &Case) -> Result<Self, String> {
        let fault = |what: String| format!("case `{}`: {what}", case.name);
        let (m, n, k, exact) = (case.m, case.n, case.k, case.expect == Expect::Exact);
        let may_be_wrong = matches!(case.expect, Expect::Error { .. });
        case.a.dtype.ok_or_else(|| fault("`a.type` is missing".to_owned()))?;
        let usual = if exact { Pattern::Integers(-4, 4) } else { Pattern::Normal };

        let layout = |name: &str, spec: &OperandSpec, dtype: Dtype, rows: usize, columns: usize| {
            let (inner, outer) = if spec.order == Order::Row { (columns, rows) } else { (rows, columns) };
            let leading = inner.max(1).checked_add_signed(spec.pad).unwrap_or(0);
            if !dtype.bits().is_multiple_of(8) {
                return Err(fault(format!("{name} is of a type smaller than a byte")));
            }
            if leading < inner && !may_be_wrong {
                return Err(fault(format!("{name}'s leading dimension is smaller than its extent")));
            }
            let base = GUARD + spec.offset * dtype.bits() / 8;
            let batch_stride = spec.batch_stride.unwrap_or(leading * outer);
            Ok(Layout { dtype, rows, columns, batch: case.batch, order: spec.order, leading, batch_stride, base })
        };
        let input = |name: &str, spec: &OperandSpec, dtype: Dtype, rows: usize, columns: usize| {
            let pattern = spec.data.as_ref().unwrap_or(&usual);
            let layout = layout(name, spec, dtype, rows, columns);
            layout.map(|layout| Operand::input(layout, pattern, random::key(&case.name, name)))
        };

        let epilogue = Expression::parse(&case.epilogue)
            .and_then(|e| e.with_scalars(&case.scalars))
            .or_else(|what| if may_be_wrong { Ok(Expression::Acc) } else { Err(fault(what)) })?;
        let wants_c = epilogue.names(&|e| matches!(e, Expression::Source));
        let has_c = wants_c && case.c.data != Some(Pattern::Absent);
        if epilogue.reads(&|e| matches!(e, Expression::Source)) && !has_c && !may_be_wrong {
            return Err(fault("the epilogue reads C, which is absent".to_owned()));
        }
        if epilogue.reads(&|e| matches!(e, Expression::Previous)) && case.d.data.is_none() {
            return Err(fault("the epilogue reads D's former value, so `d.data` must say what that is".to_owned()));
        }

        let mut bindings = Vec::new();
        for (name, spec) in &case.bind {
            let (rows, columns, order) = match spec.kind {
                BindKind::Row => (1, n, Order::Row),
                BindKind::Column => (m, 1, Order::Column),
                BindKind::Tile => (m, n, spec.order),
                BindKind::Mask if spec.order == Order::Row => (m, n.div_ceil(8), spec.order),
                BindKind::Mask => (m.div_ceil(8), n, spec.order),
            };
            let same = OperandSpec {
                dtype: spec.dtype,
                order,
                pad: spec.pad,
                offset: spec.offset,
                batch_stride: Some(spec.batch_stride),
                data: spec.data.clone(),
            };
            let operand = input(name, &same, spec.dtype.unwrap_or(Dtype::F32), rows, columns)?;
            bindings.push(Binding { name: name.clone(), kind: spec.kind, operand });
        }
        let kind_of = |name: &str| bindings.iter().find(|b| b.name == name).map(|b| b.kind);
        let unbound = |e: &Expression| match e {
            Expression::Row(name) => kind_of(name) != Some(BindKind::Row),
            Expression::Column(name) => kind_of(name) != Some(BindKind::Column),
            Expression::Tile(name) => kind_of(name) != Some(BindKind::Tile),
            Expression::Mask(name) => kind_of(name) != Some(BindKind::Mask),
            _ => false,
        };
        if epilogue.names(&unbound) && !may_be_wrong {
            return Err(fault("a vector or tile that the epilogue names is not in `bind` as that kind".to_owned()));
        }

        let d_layout = layout("d", &case.d, case.d_type(), m, n)?;
        Ok(Self {
            a: input("a", &case.a, case.a_type(), m, k)?,
            b: input("b", &case.b, case.b_type(), k, n)?,
            c: if has_c { Some(input("c", &case.c, case.c_type(), m, n)?) } else { None },
            d: Operand::output(d_layout, case.d.data.as_ref(), random::key(&case.name, "d")),
            bindings,
            epilogue,
            case: case.clone(),
        })
    }

    /// The operand bound to `name`.
    pub fn binding(&self, name: &str) -> Option<&Binding> {
        self.bindings.iter().find(|binding| binding.name == name)
    }
}

impl Binding {
    /// The element that meets D's element (row, column) of a batch entry.
    pub fn at(&self, batch: usize, row: usize, column: usize) -> f64 {
        match self.kind {
            BindKind::Row => self.operand.get(batch, 0, column),
            BindKind::Column => self.operand.get(batch, row, 0),
            BindKind::Tile => self.operand.get(batch, row, column),
            BindKind::Mask if self.operand.layout.order == Order::Row => {
                f64::from(self.operand.get(batch, row, column / 8) as u8 >> (column % 8) & 1)
            }
            BindKind::Mask => f64::from(self.operand.get(batch, row / 8, column) as u8 >> (row % 8) & 1),
        }
    }
}
