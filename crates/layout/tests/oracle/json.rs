//! The oracle's JSON: reading inputs, comparing outputs.

use serde_json::Value;
use warpwright_layout::{ComposedLayout, Coord, Int, IntTuple, Layout, LayoutError, Swizzle, Tiler};

/// Why a case did not pass.
#[derive(Debug)]
pub enum Failure {
    /// The library refused the input.
    Rejected(LayoutError),
    /// The result differs.
    Wrong(String),
}

impl From<LayoutError> for Failure {
    fn from(e: LayoutError) -> Self {
        Self::Rejected(e)
    }
}

pub type Outcome = Result<(), Failure>;

pub fn wrong<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Wrong(text.into()))
}

pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Outcome {
    if got == expected { Ok(()) } else { wrong(format!("{what}: {got:?}, expected {expected:?}")) }
}

/// An integer; a value that no result has where there is none.
pub fn int(v: &Value) -> i64 {
    v.as_i64().unwrap_or(i64::MIN)
}

pub fn tuple(v: &Value) -> IntTuple {
    match v {
        Value::Array(modes) => {
            let modes: Vec<IntTuple> = modes.iter().map(tuple).collect();
            IntTuple::tuple(&modes).unwrap()
        }
        v => IntTuple::int(int(v)),
    }
}

pub fn layout(v: &Value) -> Result<Layout, LayoutError> {
    Layout::new(tuple(&v["shape"]), tuple(&v["stride"]))
}

pub fn swizzle(v: &Value) -> Result<Swizzle, LayoutError> {
    let field = |i: usize| int(&v[i]) as i32;
    Swizzle::new(field(0), field(1), field(2))
}

/// A tiler that lives as long as the test.
pub fn tiler(v: &Value) -> Result<Tiler<'static>, LayoutError> {
    Ok(match v {
        Value::Null => Tiler::Keep,
        Value::Array(modes) => {
            let modes = modes.iter().map(tiler).collect::<Result<Vec<_>, _>>()?;
            Tiler::ByMode(modes.leak())
        }
        Value::Object(_) => Tiler::Layout(Box::leak(Box::new(layout(v)?))),
        v => Tiler::Size(Int::Static(int(v))),
    })
}

pub fn coord(v: &Value) -> Coord<'static> {
    match v {
        Value::Null => Coord::All,
        Value::Array(modes) => Coord::ByMode(modes.iter().map(coord).collect::<Vec<_>>().leak()),
        v => Coord::At(int(v)),
    }
}

/// The plain integers of a tuple as JSON.
pub fn to_json(t: &IntTuple) -> Value {
    if t.is_tuple() { (0..t.rank()).map(|i| to_json(&t.mode(i))).collect() } else { t.get(0).value().into() }
}

/// Equal in form, size and cosize, and as a function.
pub fn same_layout(out: &Value, got: &Layout) -> Outcome {
    let expected = layout(out)?;
    equal("layout", *got, expected)?;
    if let Some(size) = out["size"].as_i64() {
        equal("size", got.size().value(), size)?;
    }
    if let Some(cosize) = out["cosize"].as_i64() {
        equal("cosize", got.cosize().value(), cosize)?;
    }
    same_table(out, |i| got.eval(i))
}

pub fn same_table(out: &Value, f: impl Fn(i64) -> i64) -> Outcome {
    let Some(table) = out["table"].as_array() else { return Ok(()) };
    for (i, v) in table.iter().enumerate() {
        equal("table", (i, f(i as i64)), (i, int(v)))?;
    }
    Ok(())
}

/// A composed layout, or a plain one where the reference's swizzle vanished.
pub fn same_composed(out: &Value, got: &ComposedLayout) -> Outcome {
    if out.get("swizzle").is_none() {
        if !got.is_plain() {
            return wrong(format!("{got} where a plain layout is expected"));
        }
        return same_layout(out, &got.layout);
    }
    equal("swizzle", got.swizzle, swizzle(&out["swizzle"])?)?;
    equal("offset", got.offset.value(), int(&out["offset"]))?;
    equal("inner", got.layout, layout(&out["inner"])?)?;
    equal("size", got.size().value(), int(&out["size"]))?;
    same_table(out, |i| got.eval(i))
}
