//! Counter-based random numbers: element `i` of a stream depends on nothing but the stream's key and `i`, so that
//! `tools/expect.py` draws the same bits in any order.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The key of the stream that fills `operand` of the case `name`: FNV-1a of `name/operand`.
pub fn key(name: &str, operand: &str) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
    let mut hash = name.as_bytes().iter().fold(0xCBF2_9CE4_8422_2325, fold);
    hash = fold(hash, &b'/');
    operand.as_bytes().iter().fold(hash, fold)
}

/// The 64 bits at position `index` of a stream (splitmix64).
pub fn draw(key: u64, index: u64) -> u64 {
    let mut z = key.wrapping_add(GOLDEN.wrapping_mul(index.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A uniform integer in `low..=high`, from a draw.
pub fn integer(bits: u64, low: i64, high: i64) -> i64 {
    let span = (high - low + 1) as u64;
    low + (((bits >> 32) * span) >> 32) as i64
}

/// A bell-shaped number of mean 0 and variance 4/3, from a draw: the sum of four uniform 16-bit integers, scaled by a
/// power of two. It has at most 18 significant bits, so an element type's rounding is the only one.
pub fn normal(bits: u64) -> f64 {
    let sum: i64 = (0..4).map(|i| ((bits >> (16 * i)) & 0xFFFF) as i64).sum();
    (sum - 2 * 0xFFFF) as f64 / 32768.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_of_seed_zero_is_the_published_sequence() {
        assert_eq!(draw(0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(draw(0, 1), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn moments() {
        let n = 100_000;
        let key = key("moments", "a");
        let normals: Vec<f64> = (0..n).map(|i| normal(draw(key, i))).collect();
        let mean = normals.iter().sum::<f64>() / n as f64;
        let variance = normals.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 0.02 && (variance - 4.0 / 3.0).abs() < 0.02, "{mean} {variance}");
        let mut seen = [0u32; 9];
        (0..n).for_each(|i| seen[(integer(draw(key, i), -4, 4) + 4) as usize] += 1);
        assert!(seen.iter().all(|&count| (10_500..11_800).contains(&count)), "{seen:?}");
    }
}
