//! A line of a batch as JSON in which no field is given twice: the last one would win, and nobody would hear of the other.

use super::read::{BatchError, shortened};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What a line asks.
pub struct Request {
    pub family: String,
    pub input: Value,
}

impl Request {
    pub fn read(line: &[u8]) -> Result<Request, BatchError> {
        let wrong = |why: &str| Err(BatchError::Json(why.to_owned()));
        if line.trim_ascii().is_empty() {
            return wrong("the line is empty");
        }
        let mut fields = match serde_json::from_slice(line) {
            Ok(Once(Value::Object(fields))) => fields,
            Ok(_) => return wrong("it does not start with {"),
            Err(e) => return wrong(&e.to_string()),
        };
        match (fields.remove("family"), fields.remove("in")) {
            (Some(Value::String(family)), Some(input)) => Ok(Request { family, input }),
            (Some(Value::String(_)), None) => wrong("missing field `in`"),
            (Some(other), _) => wrong(&format!("`family` is {}, but must be a string", shortened(&other.to_string()))),
            (None, _) => wrong("missing field `family`"),
        }
    }
}

/// A value in whose objects, however deep, each field is given once.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Once, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Once;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Once, E> {
        Ok(Once(Value::Null))
    }

    fn visit_bool<E>(self, v: bool) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_str<E>(self, v: &str) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_string<E>(self, v: String) -> Result<Once, E> {
        Ok(Once(v.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Once, A::Error> {
        let mut list = Vec::new();
        while let Some(Once(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Once(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Once, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if fields.contains_key(&name) {
                return Err(de::Error::custom(format_args!("duplicate field `{}`", shortened(&name))));
            }
            let Once(value) = entries.next_value()?;
            fields.insert(name, value);
        }
        Ok(Once(fields.into()))
    }
}
