//! Atoms by CUTLASS's names.

use super::{CopyAtom, MmaAtom, TmemShape, UtccpShape};
use crate::{LayoutError, layout};

const UNKNOWN_MMA: LayoutError =
    LayoutError::Parse { at: 0, expected: "the CUTLASS name of an MMA atom, as SM80_16x8x16_F32F16F16F32_TN" };
const UNKNOWN_COPY: LayoutError =
    LayoutError::Parse { at: 0, expected: "the CUTLASS name of a copy atom, as SM75_U32x4_LDSM_N" };

/// Element names and widths; a name that starts another comes after it.
const ELEMENTS: &[(&str, u32)] = &[
    ("TF32", 32),
    ("BF16", 16),
    ("GC64", 192),
    ("E4M3", 8),
    ("E5M2", 8),
    ("C64", 128),
    ("F64", 64),
    ("F32", 32),
    ("F16", 16),
    ("S32", 32),
    ("S8", 8),
    ("U8", 8),
    ("S4", 4),
    ("U4", 4),
    ("U1", 1),
];

/// The widths of up to four concatenated element names, and the rest.
fn elements(mut text: &str) -> (Vec<u32>, &str) {
    let mut bits = Vec::new();
    while bits.len() < 4 {
        let Some((name, width)) = ELEMENTS.iter().find(|(name, _)| text.starts_with(name)) else { break };
        bits.push(*width);
        text = &text[name.len()..];
    }
    (bits, text)
}

/// `16x8x16` as three integers, and the rest.
fn shape(text: &str) -> Option<([i64; 3], &str)> {
    let (dims, rest) = text.split_once('_').unwrap_or((text, ""));
    let mut parts = dims.split('x').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some(([next()?, next()?, next()?], rest))
}

impl MmaAtom {
    /// The atom with a CUTLASS name: `SM80_16x8x16_F32F16F16F32_TN`, `SM90_64x128x16_F32F16F16_SS`,
    /// `SM120_16x8x32_TN<float_e4m3_t,float_e4m3_t,float>`, `SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,float,256,128>`,
    /// `UniversalFMA<float>`.
    ///
    /// # Errors
    /// [`LayoutError::Parse`] for a name that is none.
    pub fn named(name: &str) -> Result<Self, LayoutError> {
        if let Some(element) = name.strip_prefix("UniversalFMA<") {
            let bits = match element.split(['>', ',']).next() {
                Some("double") => 64,
                Some("float" | "int" | "int32_t" | "uint32_t") => 32,
                Some("half_t" | "bfloat16_t" | "cutlass::half_t" | "cutlass::bfloat16_t") => 16,
                Some("int8_t" | "uint8_t") => 8,
                _ => return Err(UNKNOWN_MMA),
            };
            return Ok(Self::universal_fma(bits));
        }
        let (arch, rest) = name.split_once('_').ok_or(UNKNOWN_MMA)?;
        if arch == "SM61" {
            return match rest {
                "DP4A" => Self::dot_product(4, 8),
                "DP2A" => Self::dot_product(2, 16),
                _ => Err(UNKNOWN_MMA),
            };
        }
        if let Some(rest) = name.strip_prefix("SM100_MMA_") {
            return Self::umma_of_template(rest);
        }
        let ([m, n, k], rest) = shape(rest).ok_or(UNKNOWN_MMA)?;
        match arch {
            "SM70" if (m, n, k) == (8, 8, 4) => {
                let (bits, rest) = elements(rest);
                let (a, b) = match rest {
                    "_TN" => (false, false),
                    "_NT" => (true, true),
                    "_NN" => (true, false),
                    "_TT" => (false, true),
                    _ => return Err(UNKNOWN_MMA),
                };
                match bits[..] {
                    [c, 16, 16, _] => Self::sm70(c, a, b),
                    _ => Err(UNKNOWN_MMA),
                }
            }
            "SM120" if n == 8 => Self::mma_sync(m, k, if k == 64 { [32, 4, 4, 32] } else { [32, 8, 8, 32] }),
            "SM90" if m == 64 => {
                let (bits, rest) = elements(rest);
                match bits[..] {
                    [d, a, b] => Self::wgmma(n, k, [d, a, b, d], rest.starts_with("_RS")),
                    _ => Err(UNKNOWN_MMA),
                }
            }
            "SM75" | "SM80" | "SM89" | "SM90" if n == 8 => {
                let (bits, _) = elements(rest);
                Self::mma_sync(m, k, bits.try_into().map_err(|_| UNKNOWN_MMA)?)
            }
            _ => Err(UNKNOWN_MMA),
        }
    }
}

/// The element types of tcgen05's operands, without a namespace.
const UMMA_ELEMENTS: &[(&str, u32)] = &[
    ("half_t", 16),
    ("bfloat16_t", 16),
    ("tfloat32_t", 32),
    ("float", 32),
    ("int8_t", 8),
    ("uint8_t", 8),
    ("int32_t", 32),
    ("float_e4m3_t", 8),
    ("float_e5m2_t", 8),
    ("float_e2m3_t", 6),
    ("float_e3m2_t", 6),
    ("float_e2m1_t", 4),
];

impl MmaAtom {
    /// The `tcgen05.mma` atom with a CUTLASS name without its template arguments, as `SM100_MMA_F16BF16_2x1SM_SS`: of `m` by
    /// `n`, on elements of these widths.
    ///
    /// # Errors
    /// [`LayoutError::Parse`] for a name that is none, and those of [`umma`](Self::umma).
    pub fn umma_named(name: &str, m: i64, n: i64, bits: [u32; 4]) -> Result<Self, LayoutError> {
        let form = name.strip_prefix("SM100_MMA_").ok_or(UNKNOWN_MMA)?;
        // Where A comes from and what scales the sum change no layout.
        let form = form.strip_suffix("_SCALED").unwrap_or(form);
        let form = form.strip_suffix("_SS").or(form.strip_suffix("_TS")).ok_or(UNKNOWN_MMA)?;
        let kind = form.strip_suffix("_2x1SM");
        let k = match kind.unwrap_or(form) {
            "TF32" => 8,
            "F16BF16" => 16,
            "S8" | "F8F6F4" | "MXF8F6F4" => 32,
            "MXF4" | "MXF4NVF4" => 64,
            _ => return Err(UNKNOWN_MMA),
        };
        Self::umma(m, n, k, bits, kind.is_some())
    }

    /// `F16BF16_SS<half_t,half_t,float,128,256,…>`: the elements of A, B and C, perhaps of the scales, M and N.
    fn umma_of_template(text: &str) -> Result<Self, LayoutError> {
        let (form, arguments) = text.split_once('<').ok_or(UNKNOWN_MMA)?;
        let mut bits = Vec::new();
        let mut extents = Vec::new();
        for argument in arguments.trim_end_matches('>').split(',').map(str::trim) {
            let element = argument.rsplit("::").next().unwrap_or(argument);
            if let Ok(extent) = argument.parse::<i64>() {
                extents.push(extent);
            } else if let Some((_, width)) = UMMA_ELEMENTS.iter().find(|(name, _)| *name == element) {
                bits.push(*width);
            }
        }
        match (&bits[..], &extents[..]) {
            (&[a, b, c, ..], &[m, n, ..]) => Self::umma_named(&format!("SM100_MMA_{form}"), m, n, [c, a, b, c]),
            _ => Err(UNKNOWN_MMA),
        }
    }
}

/// A trailing number: `U32x4` is 4.
fn count(text: &str) -> Option<(&str, u32)> {
    let (kind, n) = text.split_once('x')?;
    Some((kind, n.parse().ok()?))
}

impl CopyAtom {
    /// The atom with a CUTLASS name: `UniversalCopy<uint128_t>`, `SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>`,
    /// `SM75_U32x4_LDSM_N`, `SM90_U16x8_STSM_T`, `SM100_TMEM_LOAD_32dp32b8x`. `element_bits` is the width that
    /// `DefaultCopy` copies.
    ///
    /// # Errors
    /// [`LayoutError::Parse`] for a name that is none.
    pub fn named(name: &str, element_bits: u32) -> Result<Self, LayoutError> {
        if name == "DefaultCopy" {
            return Self::universal(element_bits);
        }
        if let Some((kind, rest)) = name.split_once('<') {
            let element = rest.split(['>', ',']).next().unwrap_or_default();
            let bits = match element {
                "uint256_t" => 256,
                "uint128_t" | "cute::uint128_t" => 128,
                "uint64_t" | "double" => 64,
                "uint32_t" | "float" | "int" => 32,
                "uint16_t" | "half_t" => 16,
                "uint8_t" | "int8_t" => 8,
                _ => return Err(UNKNOWN_COPY),
            };
            return match kind {
                "UniversalCopy" | "AutoVectorizingCopyWithAssumedAlignment" => Self::universal(bits),
                _ if kind.starts_with("SM80_CP_ASYNC_CACHE") => Self::cp_async(bits / 8),
                _ => Err(UNKNOWN_COPY),
            };
        }
        let (arch, rest) = name.split_once('_').ok_or(UNKNOWN_COPY)?;
        let parts: Vec<&str> = rest.split('_').collect();
        match (arch, &parts[..]) {
            ("SM75", ["U32x1", "MOVM", "T"]) => {
                const WORD: crate::Layout = layout!((32, 32):(32, 1));
                Ok(Self { thr_id: layout!(32:1), src: WORD, dst: WORD, reference: WORD })
            }
            ("SM75" | "SM90", [kind, op @ ("LDSM" | "STSM"), form]) => {
                let (element, n) = count(kind).ok_or(UNKNOWN_COPY)?;
                let (matrices, transposed) = match (element, *form) {
                    ("U32", "N") => (n, false),
                    ("U16", "T") => (n / 2, true),
                    _ => return Err(UNKNOWN_COPY),
                };
                if *op == "LDSM" { Self::ldmatrix(matrices, transposed) } else { Self::stmatrix(matrices, transposed) }
            }
            ("SM50", ["Shuffle", "U32", "2x2Trans", partner]) => match *partner {
                "XOR1" => Ok(Self::shuffle_transpose(1)),
                "XOR4" => Ok(Self::shuffle_transpose(4)),
                _ => Err(UNKNOWN_COPY),
            },
            ("SM100", ["LOAD" | "STORE", "256bit", ..]) => Self::universal(256),
            ("SM100", ["TMEM", op @ ("LOAD" | "STORE"), rest @ ..]) => {
                let rest = if rest.first() == Some(&"STAT") { &rest[1..] } else { rest };
                let shape = rest.first().ok_or(UNKNOWN_COPY)?;
                let (shape, repeats) = tmem_shape(shape).ok_or(UNKNOWN_COPY)?;
                if *op == "LOAD" { Self::tmem_load(shape, repeats) } else { Self::tmem_store(shape, repeats) }
            }
            ("SM100", ["UTCCP", shape, ctas]) => {
                let shape = match *shape {
                    "128dp256bit" => UtccpShape::Lanes128Bits256,
                    "128dp128bit" => UtccpShape::Lanes128Bits128,
                    "4dp256bit" => UtccpShape::Lanes4Bits256,
                    "4x32dp128bit" => UtccpShape::Lanes32Times4,
                    "2x64dp128bitlw0213" => UtccpShape::Lanes64Times2Warps0213,
                    "2x64dp128bitlw0123" => UtccpShape::Lanes64Times2Warps0123,
                    _ => return Err(UNKNOWN_COPY),
                };
                Ok(Self::utccp(shape, *ctas == "2cta"))
            }
            ("SM100", [_, _, n @ ("x1" | "x2" | "x4"), "LDSM", "N"]) => {
                Self::ldmatrix(n[1..].parse().map_err(|_| UNKNOWN_COPY)?, false)
            }
            ("SM100", [kind, op @ ("LDSM" | "STSM"), "T"]) => {
                let ("U8", n) = count(kind).ok_or(UNKNOWN_COPY)? else { return Err(UNKNOWN_COPY) };
                if *op == "LDSM" { Self::ldmatrix_b8(n / 8) } else { Self::stmatrix_b8(n / 4) }
            }
            _ => Err(UNKNOWN_COPY),
        }
    }
}

/// `32dp32b8x` as a shape and a repeat count.
fn tmem_shape(text: &str) -> Option<(TmemShape, u32)> {
    const SHAPES: [(&str, TmemShape); 5] = [
        ("32dp32b", TmemShape::Lanes32Bits32),
        ("16dp32b", TmemShape::Lanes16Bits32Times2),
        ("16dp64b", TmemShape::Lanes16Bits64),
        ("16dp128b", TmemShape::Lanes16Bits128),
        ("16dp256b", TmemShape::Lanes16Bits256),
    ];
    let (name, shape) = SHAPES.into_iter().find(|(name, _)| text.starts_with(name))?;
    Some((shape, text[name.len()..].strip_suffix('x')?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcgen05_by_its_template() {
        let one = MmaAtom::named("SM100_MMA_F16BF16_SS<cutlass::half_t, cutlass::half_t, float, 128, 64, K, K>");
        assert_eq!(one, MmaAtom::umma(128, 64, 16, [32, 16, 16, 32], false));
        let pair =
            MmaAtom::named("SM100_MMA_MXF4_2x1SM_SS<float_e2m1_t,float_e2m1_t,float,float_ue8m0_t,256,32,32,a,b>");
        assert_eq!(pair, MmaAtom::umma(256, 32, 64, [32, 4, 4, 32], true));
        for name in [
            "SM100_MMA_F16BF16_SS",
            "SM100_MMA_F16BF16_SS<half_t,half_t,float>",
            "SM100_MMA_F16BF16_SS<half_t,128,128>",
            "SM100_MMA_F16BF16_SS_SPARSE<half_t,half_t,float,128,64>",
            "SM100_MMA_F17_SS<half_t,half_t,float,128,64>",
        ] {
            assert_eq!(MmaAtom::named(name), Err(UNKNOWN_MMA), "{name}");
        }
        let odd = MmaAtom::named("SM100_MMA_F16BF16_SS<half_t,half_t,float,96,64>");
        assert!(matches!(odd, Err(LayoutError::Count { value: 96, .. })), "{odd:?}");
    }
}
