//! The oracle's inputs, read out of JSON.

use super::super::tree::Tree;
use serde_json::Value;
use thiserror::Error;
use warpwright::layout::{ComposedLayout, Int, IntTuple, Layout, LayoutError, Swizzle};

/// Why a line of a batch has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// The algebra refuses the input.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Not a request at all.
    #[error("not a JSON object {{\"family\": …, \"in\": {{…}}}}: {_0}")]
    Json(String),
    /// A family that there is not.
    #[error("`{_0}` is not a family: use the names of the oracle, as in cute_composition")]
    Family(String),
    /// A field that the family needs.
    #[error("`in.{field}` is {found}, but must be {expected}")]
    Field {
        /// Its name.
        field: String,
        /// What must be there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}

impl BatchError {
    /// Whether the request itself is wrong, not what it asks of the algebra.
    pub fn is_malformed(&self) -> bool {
        !matches!(self, BatchError::Layout(_))
    }
}

/// The fields of `in`.
#[derive(Clone, Copy)]
pub struct Input<'a>(pub &'a Value);

const NOTHING: Value = Value::Null;

/// The beginning of what was sent: an answer is not longer than it helps.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 120;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn wrong<T>(field: &str, value: &Value, expected: &'static str) -> Result<T, BatchError> {
    let found = if value.is_null() { "missing".to_owned() } else { shortened(&value.to_string()) };
    Err(BatchError::Field { field: field.to_owned(), expected, found })
}

fn tuple_of(field: &str, value: &Value) -> Result<IntTuple, BatchError> {
    match value {
        Value::Array(modes) => {
            let modes = modes.iter().map(|mode| tuple_of(field, mode)).collect::<Result<Vec<_>, _>>()?;
            Ok(IntTuple::tuple(&modes)?)
        }
        value => match value.as_i64() {
            Some(v) => Ok(IntTuple::int(v)),
            None => wrong(field, value, "an integer or nested lists of integers"),
        },
    }
}

fn layout_of(field: &str, value: &Value) -> Result<Layout, BatchError> {
    let part = |name: &str| match value.get(name) {
        Some(part) => tuple_of(field, part),
        None => wrong(field, value, "a layout {\"shape\": …, \"stride\": …}"),
    };
    Ok(Layout::new(part("shape")?, part("stride")?)?)
}

fn tree_of(field: &str, value: &Value) -> Result<Tree, BatchError> {
    Ok(match value {
        Value::Null => Tree::All,
        Value::Array(modes) => Tree::List(modes.iter().map(|m| tree_of(field, m)).collect::<Result<_, _>>()?),
        Value::Object(_) => Tree::Layout(Box::new(layout_of(field, value)?)),
        value => match value.as_i64() {
            Some(v) => Tree::Int(Int::Static(v)),
            None => return wrong(field, value, "null, an integer, a layout or a list of such"),
        },
    })
}

impl<'a> Input<'a> {
    pub fn get(self, field: &str) -> &'a Value {
        self.0.get(field).unwrap_or(&NOTHING)
    }

    pub fn has(self, field: &str) -> bool {
        !self.get(field).is_null()
    }

    pub fn int(self, field: &str) -> Result<i64, BatchError> {
        match self.get(field).as_i64() {
            Some(v) => Ok(v),
            None => wrong(field, self.get(field), "an integer"),
        }
    }

    /// An integer of a kind that 32 bits hold.
    pub fn small(self, field: &str) -> Result<i32, BatchError> {
        match i32::try_from(self.int(field)?) {
            Ok(v) => Ok(v),
            Err(_) => wrong(field, self.get(field), "an integer of 32 bits"),
        }
    }

    pub fn count(self, field: &str) -> Result<u32, BatchError> {
        match u32::try_from(self.int(field)?) {
            Ok(v) => Ok(v),
            Err(_) => wrong(field, self.get(field), "a count of 32 bits"),
        }
    }

    /// An address that a matrix descriptor holds.
    pub fn shared_address(self, field: &str) -> Result<u32, BatchError> {
        match self.count(field)? {
            address if address % 16 == 0 && address < 1 << 18 => Ok(address),
            _ => wrong(field, self.get(field), "a shared-memory address, a multiple of 16 below 262144"),
        }
    }

    /// Integers, if the field is there.
    pub fn ints(self, field: &str) -> Result<Option<Vec<i64>>, BatchError> {
        let Value::Array(items) = self.get(field) else {
            return if self.has(field) { wrong(field, self.get(field), "a list of integers") } else { Ok(None) };
        };
        match items.iter().map(Value::as_i64).collect::<Option<Vec<_>>>() {
            Some(items) => Ok(Some(items)),
            None => wrong(field, self.get(field), "a list of integers"),
        }
    }

    pub fn word(self, field: &str) -> Result<&'a str, BatchError> {
        match self.get(field).as_str() {
            Some(word) => Ok(word),
            None => wrong(field, self.get(field), "a string"),
        }
    }

    /// A string that is one of a list.
    pub fn choice<T: Copy>(self, field: &str, choices: &[(&str, T)], expected: &'static str) -> Result<T, BatchError> {
        let word = self.word(field)?;
        match choices.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => Ok(*value),
            None => wrong(field, self.get(field), expected),
        }
    }

    pub fn tuple(self, field: &str) -> Result<IntTuple, BatchError> {
        tuple_of(field, self.get(field))
    }

    pub fn maybe_tuple(self, field: &str) -> Result<Option<IntTuple>, BatchError> {
        if self.has(field) { self.tuple(field).map(Some) } else { Ok(None) }
    }

    pub fn layout(self, field: &str) -> Result<Layout, BatchError> {
        layout_of(field, self.get(field))
    }

    /// The layout whose shape and stride are the fields themselves.
    pub fn itself(self) -> Result<Layout, BatchError> {
        Ok(Layout::new(self.tuple("shape")?, self.tuple("stride")?)?)
    }

    pub fn tree(self, field: &str) -> Result<Tree, BatchError> {
        tree_of(field, self.get(field))
    }

    /// The items of a list, each as a tree.
    pub fn trees(self, field: &str) -> Result<Vec<Tree>, BatchError> {
        match self.get(field) {
            Value::Array(items) => items.iter().map(|item| tree_of(field, item)).collect(),
            value => wrong(field, value, "a list"),
        }
    }

    pub fn swizzle(self, field: &str) -> Result<Swizzle, BatchError> {
        let fields = self.ints(field)?.unwrap_or_default();
        let small = |i: usize| fields.get(i).and_then(|v| i32::try_from(*v).ok());
        match (fields.len(), small(0), small(1), small(2)) {
            (3, Some(bits), Some(base), Some(shift)) => Ok(Swizzle::new(bits, base, shift)?),
            _ => wrong(field, self.get(field), "the three integers of a swizzle"),
        }
    }

    /// A layout, or an object with what [`composed`](Self::composed) reads.
    pub fn maybe_swizzled(self, field: &str) -> Result<ComposedLayout, BatchError> {
        let inner = Input(self.get(field));
        if !inner.has("swizzle") {
            return Ok(self.layout(field)?.into());
        }
        inner.composed().map_err(|error| match error {
            BatchError::Field { field: of, expected, found } => {
                BatchError::Field { field: format!("{field}.{of}"), expected, found }
            }
            error => error,
        })
    }

    /// `swizzle ∘ offset ∘ layout`.
    pub fn composed(self) -> Result<ComposedLayout, BatchError> {
        let offset = if self.has("offset") { self.int("offset")? } else { 0 };
        let layout = ComposedLayout::new(self.swizzle("swizzle")?, self.layout("layout")?);
        Ok(layout.with_offset(Int::Static(offset))?)
    }
}
