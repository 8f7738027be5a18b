//! .safetensors files, read by the `safetensors` crate.

use super::{Array, Stored, bytes_of};
use crate::error::InputError;
use safetensors::{Dtype as Theirs, SafeTensors};
use warpwright::Dtype;

/// What a file that holds another type could be converted to.
const CHOICES: &str = "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, F8_E8M0, F6_E3M2, F6_E2M3, F4, I32, I8 and U8";

/// Reads the tensor of this name, or the only one.
pub fn read(path: &str, name: Option<&str>) -> Result<Array, InputError> {
    parse(path, name, &bytes_of(path)?)
}

fn parse(path: &str, name: Option<&str>, file: &[u8]) -> Result<Array, InputError> {
    let torn = |e: safetensors::SafeTensorError| InputError::Torn {
        path: path.to_owned(),
        kind: ".safetensors",
        why: e.to_string(),
    };
    let tensors = SafeTensors::deserialize(file).map_err(torn)?;
    let mut names = tensors.names();
    names.sort_unstable();
    let missing = |why: String| InputError::NoTensor { path: path.to_owned(), why, names: listed(&names) };
    let name = match (name, names.as_slice()) {
        (Some(name), _) if names.contains(&name) => name,
        (Some(name), _) => return Err(missing(format!("has no tensor `{name}`"))),
        (None, [only]) => only,
        (None, all) => return Err(missing(format!("has {} tensors", all.len()))),
    };
    let tensor = tensors.tensor(name).map_err(torn)?;
    let path = format!("{path}:{name}");
    let stored = match tensor.dtype() {
        Theirs::F64 => Stored::Typed(Dtype::F64),
        Theirs::F32 => Stored::Typed(Dtype::F32),
        Theirs::F16 => Stored::Typed(Dtype::F16),
        Theirs::BF16 => Stored::Typed(Dtype::Bf16),
        Theirs::F8_E4M3 => Stored::Typed(Dtype::E4m3),
        Theirs::F8_E5M2 => Stored::Typed(Dtype::E5m2),
        Theirs::F8_E8M0 => Stored::Typed(Dtype::E8m0),
        Theirs::F6_E3M2 => Stored::Typed(Dtype::E3m2),
        Theirs::F6_E2M3 => Stored::Typed(Dtype::E2m3),
        Theirs::F4 => Stored::Typed(Dtype::E2m1),
        Theirs::I32 => Stored::Typed(Dtype::I32),
        Theirs::I8 => Stored::Typed(Dtype::I8),
        Theirs::U8 => Stored::Raw { bytes: 1, found: "U8".into(), default: Some(Dtype::U8) },
        Theirs::U16 => Stored::Raw { bytes: 2, found: "U16".into(), default: None },
        other => return Err(InputError::ForeignType { path, found: other.to_string(), choices: CHOICES }),
    };
    Ok(Array { path, stored, shape: tensor.shape().to_vec(), fortran: false, bytes: tensor.data().to_vec() })
}

/// The first few names, for a message.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("`{n}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    match (shown.len(), more) {
        (0, _) => "its tensors, of which it has none".into(),
        (_, 0) => shown.join(", "),
        _ => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::tensor::TensorView;

    fn file(names: &[&str]) -> Vec<u8> {
        let data = [0u8; 12];
        let tensors = names.iter().map(|n| (n.to_string(), TensorView::new(Theirs::BF16, vec![2, 3], &data).unwrap()));
        safetensors::serialize(tensors, None).unwrap()
    }

    #[test]
    fn a_tensor_is_found_by_name_or_alone() {
        assert_eq!(parse("x.safetensors", None, &file(&["w"])).unwrap().path, "x.safetensors:w");
        let two = file(&["w", "a.b:c"]);
        assert_eq!(parse("x.safetensors", Some("a.b:c"), &two).unwrap().shape, [2, 3]);
        let text = |name| parse("x.safetensors", name, &two).unwrap_err().to_string();
        assert_eq!(text(None), "x.safetensors has 2 tensors: write FILE.safetensors:TENSOR with one of `a.b:c`, `w`");
        assert_eq!(
            text(Some("v")),
            "x.safetensors has no tensor `v`: write FILE.safetensors:TENSOR with one of `a.b:c`, `w`"
        );
    }

    #[test]
    fn torn_files_are_refused() {
        let whole = file(&["w"]);
        for cut in 0..whole.len() {
            assert!(parse("x.safetensors", None, &whole[..cut]).is_err(), "{cut} bytes");
        }
    }
}
