//! NumPy's .npy files. Written by hand because the descriptors of `ml_dtypes` (`<f1`, `bfloat16`) are refused by the crates
//! that read .npy, and because their parsers of Python literals recurse as deep as a file says.

use super::{Array, Stored, bytes_of, packed_bytes};
use crate::error::InputError;
use warpwright::Dtype;

const MAGIC: &[u8] = b"\x93NUMPY";
/// What NumPy aligns the elements to.
const ALIGNMENT: usize = 64;
/// What a file that holds another type could be converted to.
const CHOICES: &str = "float16, float32, float64, int8, uint8 and int32, or bfloat16 and float8 of ml_dtypes";

/// Reads an array.
pub fn read(path: &str) -> Result<Array, InputError> {
    parse(path, bytes_of(path)?)
}

fn parse(path: &str, mut file: Vec<u8>) -> Result<Array, InputError> {
    let torn = |why: String| InputError::Torn { path: path.to_owned(), kind: ".npy", why };
    let (text, start) = header(&file).map_err(torn)?;
    let Header { descr, fortran, shape } = Header::parse(text).map_err(torn)?;
    let found = format!("'{descr}'");
    let descriptor = Descriptor::of(&descr);
    let Some(Descriptor { stored, size, big_endian }) = descriptor else {
        return Err(InputError::ForeignType { path: path.to_owned(), found, choices: CHOICES });
    };
    let needed = packed_bytes(&shape, 8 * size).ok_or_else(|| torn(format!("a shape of {shape:?} fits no memory")))?;
    let given = file.len() - start;
    if given != needed {
        return Err(torn(format!("{given} bytes follow its header, but {shape:?} elements of {found} take {needed}")));
    }
    file.drain(..start);
    if big_endian {
        file.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(Array { path: path.to_owned(), stored, shape, fortran, bytes: file })
}

/// The header's text and where the elements start.
fn header(file: &[u8]) -> Result<(&str, usize), String> {
    let rest = file.strip_prefix(MAGIC).ok_or("it does not begin with \\x93NUMPY")?;
    let short = || format!("it ends in its header, after {} bytes", file.len());
    let major = *rest.first().ok_or_else(short)?;
    let (size, before) = match (major, &rest[1..]) {
        (1, [_, a, b, ..]) => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        (2 | 3, [_, a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        (1..=3, _) => return Err(short()),
        _ => return Err(format!("its format has version {major}, and versions 1 to 3 are known")),
    };
    let end = before + size;
    let text = file.get(before..end).ok_or_else(short)?;
    Ok((std::str::from_utf8(text).map_err(|_| "its header is not text".to_owned())?, end))
}

/// What a header says.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// A Python dictionary with three keys, in any order: a string, a boolean, a tuple of numbers.
    fn parse(text: &str) -> Result<Header, String> {
        let mut scan = Scan { rest: text.trim_end_matches(['\n', ' ', '\0']) };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        scan.need("{")?;
        while !scan.take("}") {
            let key = scan.string()?;
            scan.need(":")?;
            match key.as_str() {
                "descr" if scan.peek("[") => return Err("it holds records, not numbers".into()),
                "descr" => descr = Some(scan.string()?),
                "fortran_order" => fortran = Some(scan.boolean()?),
                "shape" => shape = Some(scan.tuple()?),
                _ => return Err(format!("its header has an unknown key `{key}`")),
            }
            if !scan.take(",") {
                scan.need("}")?;
                break;
            }
        }
        if !scan.rest.trim().is_empty() {
            return Err(format!("its header goes on after its end: `{}`", clipped(scan.rest)));
        }
        let lacks = |key: &str| format!("its header lacks `{key}`");
        Ok(Header {
            descr: descr.ok_or_else(|| lacks("descr"))?,
            fortran: fortran.ok_or_else(|| lacks("fortran_order"))?,
            shape: shape.ok_or_else(|| lacks("shape"))?,
        })
    }
}

fn clipped(text: &str) -> String {
    text.trim().chars().take(20).collect()
}

struct Scan<'a> {
    rest: &'a str,
}

impl Scan<'_> {
    fn peek(&mut self, symbol: &str) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.starts_with(symbol)
    }
    fn take(&mut self, symbol: &str) -> bool {
        let here = self.peek(symbol);
        if here {
            self.rest = &self.rest[symbol.len()..];
        }
        here
    }
    fn need(&mut self, symbol: &str) -> Result<(), String> {
        if self.take(symbol) {
            Ok(())
        } else {
            Err(format!("its header lacks `{symbol}` before `{}`", clipped(self.rest)))
        }
    }
    fn string(&mut self) -> Result<String, String> {
        let quote = if self.take("'") {
            '\''
        } else if self.take("\"") {
            '"'
        } else {
            return Err(format!("its header lacks a string before `{}`", clipped(self.rest)));
        };
        let (inside, after) = self.rest.split_once(quote).ok_or("a string of its header does not end")?;
        self.rest = after;
        Ok(inside.to_owned())
    }
    fn boolean(&mut self) -> Result<bool, String> {
        if self.take("True") {
            Ok(true)
        } else if self.take("False") {
            Ok(false)
        } else {
            Err("`fortran_order` is neither True nor False".into())
        }
    }
    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.need("(")?;
        let mut numbers = Vec::new();
        while !self.take(")") {
            self.peek("");
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let number = self.rest[..digits]
                .parse()
                .map_err(|_| format!("its shape has no number before `{}`", clipped(self.rest)))?;
            numbers.push(number);
            // Python 2 wrote long integers with an L.
            self.rest = self.rest[digits..].trim_start_matches('L');
            if !self.take(",") {
                self.need(")")?;
                break;
            }
        }
        Ok(numbers)
    }
}

/// What a type string stands for.
#[derive(Debug, PartialEq)]
struct Descriptor {
    stored: Stored,
    size: usize,
    big_endian: bool,
}

impl Descriptor {
    fn of(descr: &str) -> Option<Descriptor> {
        let typed = |dtype: Dtype| Stored::Typed(dtype);
        let little =
            |dtype: Dtype| Some(Descriptor { stored: typed(dtype), size: dtype.bits() / 8, big_endian: false });
        // The names under which ml_dtypes' types are known.
        match descr {
            "bfloat16" => return little(Dtype::Bf16),
            "float8_e4m3fn" => return little(Dtype::E4m3),
            "float8_e5m2" => return little(Dtype::E5m2),
            "float8_e8m0fnu" => return little(Dtype::E8m0),
            _ => {}
        }
        let (order, kind) = match descr.split_at_checked(1)? {
            (order @ ("<" | ">" | "|" | "="), kind) => (order, kind),
            _ => ("|", descr),
        };
        let raw = |bytes, default| Stored::Raw { bytes, found: format!("'{descr}'"), default };
        let (stored, size) = match kind {
            "f2" => (typed(Dtype::F16), 2),
            "f4" => (typed(Dtype::F32), 4),
            "f8" => (typed(Dtype::F64), 8),
            // ml_dtypes' float8_e5m2 is the one that NumPy takes for a float of a byte.
            "f1" => (typed(Dtype::E5m2), 1),
            "i1" => (typed(Dtype::I8), 1),
            "i4" => (typed(Dtype::I32), 4),
            "u1" => (raw(1, Some(Dtype::U8)), 1),
            "u2" => (raw(2, None), 2),
            "V1" => (raw(1, None), 1),
            "V2" => (raw(2, None), 2),
            _ => return None,
        };
        // Raw elements have no order of bytes: NumPy writes them as they lie in memory.
        Some(Descriptor { stored, size, big_endian: order == ">" && !kind.starts_with('V') })
    }
}

/// The type string that NumPy, with ml_dtypes, writes for a type, but for e5m2, whose `<f1` NumPy itself cannot load; types
/// without one are written as f32, which holds them.
fn descr(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "<f8",
        Dtype::F32 | Dtype::Tf32 => "<f4",
        Dtype::F16 => "<f2",
        Dtype::Bf16 => "<V2",
        Dtype::E4m3 | Dtype::E5m2 => "<V1",
        Dtype::I32 => "<i4",
        Dtype::I8 => "|i1",
        Dtype::U8 => "|u1",
        Dtype::I4 | Dtype::U4 | Dtype::E2m1 | Dtype::E3m2 | Dtype::E2m3 | Dtype::E8m0 => return None,
    })
}

/// A file of packed elements with these dimensions. Types that NumPy has no type string for are widened to f32.
pub fn to_bytes(dtype: Dtype, shape: &[usize], fortran: bool, elements: &[u8]) -> Vec<u8> {
    let Some(descr) = descr(dtype) else {
        let wide = super::rounded(dtype, Dtype::F32, elements, shape);
        return to_bytes(Dtype::F32, shape, fortran, &wide);
    };
    let extents: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let order = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({}), }}", extents.trim_end());
    let before = MAGIC.len() + 4;
    let size = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before;
    let mut file = Vec::with_capacity(before + size + elements.len());
    file.extend_from_slice(MAGIC);
    // At most a few extents of 20 digits: a header of version 1 holds 65,535 bytes.
    file.extend_from_slice(&[1, 0, size as u8, (size >> 8) as u8]);
    file.extend_from_slice(text.as_bytes());
    file.resize(before + size - 1, b' ');
    file.push(b'\n');
    file.extend_from_slice(elements);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, elements: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend_from_slice(&[1, 0]);
        file.extend_from_slice(&(text.len() as u16).to_le_bytes());
        file.extend_from_slice(text.as_bytes());
        file.extend_from_slice(elements);
        file
    }
    fn refused(bytes: Vec<u8>) -> String {
        parse("x.npy", bytes).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        for (dtype, stored) in [
            (Dtype::F32, Stored::Typed(Dtype::F32)),
            (Dtype::E5m2, Stored::Raw { bytes: 1, found: "'<V1'".into(), default: None }),
            (Dtype::I8, Stored::Typed(Dtype::I8)),
            (Dtype::Bf16, Stored::Raw { bytes: 2, found: "'<V2'".into(), default: None }),
        ] {
            let elements: Vec<u8> = (0..6 * dtype.bits() / 8).map(|i| i as u8).collect();
            let bytes = to_bytes(dtype, &[2, 3], true, &elements);
            assert_eq!((bytes.len() - elements.len()) % ALIGNMENT, 0);
            let array = parse("x.npy", bytes).unwrap();
            assert_eq!((array.stored, array.shape, array.fortran, array.bytes), (stored, vec![2, 3], true, elements));
        }
        let text = std::str::from_utf8(&to_bytes(Dtype::F32, &[7], false, &[0; 28])[10..60]).unwrap().to_owned();
        assert_eq!(text, "{'descr': '<f4', 'fortran_order': False, 'shape': ");
    }

    #[test]
    fn other_writers_headers_are_read() {
        let header = Header::parse("{\"shape\": (2L, 3L),\"fortran_order\":False , 'descr' : '|u1'}   \n").unwrap();
        assert_eq!(header, Header { descr: "|u1".into(), fortran: false, shape: vec![2, 3] });
        assert!(Header::parse("{'descr':'<f4','fortran_order':False,'shape':()}").unwrap().shape.is_empty());
    }

    #[test]
    fn big_endian_elements_are_turned() {
        let array =
            parse("x.npy", file("{'descr':'>f4','fortran_order':False,'shape':(1,)}", &1.5f32.to_be_bytes())).unwrap();
        assert_eq!(array.bytes, 1.5f32.to_le_bytes());
    }

    #[test]
    fn torn_files_are_refused() {
        let whole = to_bytes(Dtype::F32, &[2, 2], false, &[0; 16]);
        for cut in 0..whole.len() {
            assert!(parse("x.npy", whole[..cut].to_vec()).is_err(), "{cut} bytes");
        }
        let mut long = whole.clone();
        long.push(0);
        assert!(refused(long).contains("17 bytes follow its header"));
        assert_eq!(
            refused(whole[..whole.len() - 1].to_vec()),
            "x.npy is not a whole .npy file: 15 bytes follow its header, but [2, 2] elements of '<f4' take 16; write or copy it again"
        );
        let shape = |s: &str| refused(file(&format!("{{'descr':'<f4','fortran_order':False,'shape':({s})}}"), &[]));
        assert!(shape("4294967296,4294967296,").contains("fits no memory"));
        assert!(shape("-1,").contains("no number before `-1,"));
        assert!(shape("99999999999999999999999").contains("no number"));
        assert!(refused(file("{'descr':[('a','<f4')],'fortran_order':False,'shape':(1,)}", &[])).contains("records"));
        assert!(refused(file(&"(".repeat(60_000), &[])).contains("lacks `{`"));
        assert!(refused(file("{'descr':'<c8','fortran_order':False,'shape':(1,)}", &[0; 8])).contains("'<c8'"));
        assert!(refused(file("{'descr':'é", "".as_bytes())).contains("does not end"));
    }
}
