//! Random operands: element `i` depends on a key and `i` alone, so that all threads fill them together.

use rayon::prelude::*;
use std::f64::consts::TAU;
use warpwright_numeric::Dtype;
use warpwright_runtime::{MemoryError, Space};

/// The 64 bits at position `index` of a stream (splitmix64).
pub(super) fn draw(key: u64, index: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut z = key.wrapping_add(GOLDEN.wrapping_mul(index.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Two normal numbers of mean 0 and variance 1 (Box and Muller).
fn normals(key: u64, pair: u64) -> [f64; 2] {
    let bits = draw(key, pair);
    // In (0, 1], so that the logarithm is finite.
    let uniform = |bits: u64| ((bits & 0xFFFF_FFFF) as f64 + 1.0) / 4_294_967_296.0;
    let radius = (-2.0 * uniform(bits).ln()).sqrt();
    let (sine, cosine) = (TAU * uniform(bits >> 32)).sin_cos();
    [radius * cosine, radius * sine]
}

/// What a normal number becomes: itself for floats, and for integers one that spans a third of the type's range.
fn scaled(dtype: Dtype, x: f64) -> f64 {
    if dtype.is_float() {
        return x;
    }
    let (low, high) = (dtype.min_finite(), dtype.max_finite());
    let x = (low + high) / 2.0 + x * (high - low) / 6.0;
    x.round().clamp(low, high)
}

/// `count` packed elements of random normal numbers.
pub(super) fn normal(dtype: Dtype, count: usize, key: u64) -> Result<Vec<u8>, MemoryError> {
    /// Elements of one task: an even number, and whole bytes of every type.
    const PART: usize = 1 << 14;
    let size = dtype.packed_bytes(count);
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(size);
    room.map_err(|_| MemoryError::OutOfMemory { space: Space::Host, bytes: size })?;
    bytes.resize(size, 0);
    let part_bytes = PART * dtype.bits() / 8;
    bytes.par_chunks_mut(part_bytes).enumerate().for_each(|(part, bytes)| {
        let first = part * PART;
        let elements = PART.min(count - first);
        for i in (0..elements).step_by(2) {
            let pair = normals(key, ((first + i) / 2) as u64);
            for (j, x) in pair.into_iter().enumerate().take(elements - i) {
                encode(dtype, bytes, i + j, scaled(dtype, x));
            }
        }
    });
    Ok(bytes)
}

fn encode(dtype: Dtype, bytes: &mut [u8], index: usize, x: f64) {
    match dtype.bits() {
        // Whole bytes need no shifting.
        bits @ (8 | 16 | 32 | 64) => {
            let size = bits / 8;
            bytes[index * size..][..size].copy_from_slice(&dtype.encode_bits(x).to_le_bytes()[..size]);
        }
        _ => dtype.encode(bytes, index, x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(dtype: Dtype, count: usize) -> (f64, f64) {
        let bytes = normal(dtype, count, 7).unwrap();
        let values: Vec<f64> = (0..count).map(|i| dtype.decode(&bytes, i)).collect();
        let mean = values.iter().sum::<f64>() / count as f64;
        (mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count as f64)
    }

    #[test]
    fn floats_have_mean_0_and_variance_1() {
        for dtype in [Dtype::F64, Dtype::F32, Dtype::Tf32, Dtype::F16, Dtype::Bf16, Dtype::E4m3, Dtype::E5m2] {
            let (mean, variance) = moments(dtype, 40_001);
            assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.04, "{dtype}: {mean} {variance}");
        }
    }

    #[test]
    fn integers_span_their_range() {
        for dtype in [Dtype::I8, Dtype::U8, Dtype::I4, Dtype::U4] {
            let (mean, variance) = moments(dtype, 40_001);
            let (low, high) = (dtype.min_finite(), dtype.max_finite());
            assert!((mean - (low + high) / 2.0).abs() < 0.02 * (high - low), "{dtype}: {mean}");
            assert!((variance.sqrt() - (high - low) / 6.0).abs() < 0.02 * (high - low), "{dtype}: {variance}");
        }
    }

    #[test]
    fn neighbours_and_keys_differ() {
        let normal = |key| normal(Dtype::F32, 64, key).unwrap();
        let (one, other) = (normal(1), normal(2));
        assert_ne!(one, other);
        assert_eq!(one, normal(1));
        assert_ne!(one[..4], one[4..8]);
    }
}
