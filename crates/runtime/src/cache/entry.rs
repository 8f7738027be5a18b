//! An entry's bytes: magic, key, payload's length, payload's checksum, payload.

use std::fmt;

/// What an entry is found by: a hash of everything that its payload depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of these parts; their boundaries count.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Key(hasher.finalize().into())
    }

    /// The entry's file name.
    pub(super) fn file_name(&self) -> String {
        format!("{self}.{EXTENSION}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// What entries' files end in.
const EXTENSION: &str = "wwk";

/// Names the format; another one is foreign.
const MAGIC: &[u8; 8] = b"WWKERN\x01\n";

pub(super) const HEADER_BYTES: usize = 8 + 32 + 8 + 32;

pub(super) fn header(key: &Key, payload: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..40].copy_from_slice(&key.0);
    header[40..48].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    header[48..].copy_from_slice(blake3::hash(payload).as_bytes());
    header
}

/// The payload of a whole entry under this key, `None` for anything else.
pub(super) fn payload<'a>(key: &Key, entry: &'a [u8]) -> Option<&'a [u8]> {
    let (found, payload) = entry.split_at_checked(HEADER_BYTES)?;
    // The header holds the magic, the key, the length and the checksum: one comparison checks them all.
    (found == header(key, payload)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_of_parts_count() {
        assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
        assert_ne!(Key::of(&[b"abc"]), Key::of(&[b"abc", b""]));
        assert_eq!(Key::of(&[b"ab", b"c"]), Key::of(&[b"ab", b"c"]));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_seen() {
        let (key, content) = (Key::of(&[b"key"]), b"the payload".as_slice());
        let whole = [&header(&key, content)[..], content].concat();
        assert_eq!(payload(&key, &whole), Some(content));
        for length in 0..whole.len() {
            assert_eq!(payload(&key, &whole[..length]), None, "{length}");
        }
        for bit in 0..8 * whole.len() {
            let mut torn = whole.clone();
            torn[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(payload(&key, &torn), None, "{bit}");
        }
        assert_eq!(payload(&key, &[&whole[..], b"x"].concat()), None);
        assert_eq!(payload(&Key::of(&[b"another"]), &whole), None);
    }
}
