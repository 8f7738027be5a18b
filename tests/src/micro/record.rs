//! What micro-kernels wrote, as a file.

use std::io::{self, Read, Write};

/// What became of one kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Its output buffer.
    Output(Vec<u8>),
    /// It was refused, in the driver's words.
    Refused(String),
}

/// One kernel's outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The kernel's name.
    pub name: String,
    /// The kernel's [`hash`](super::Micro::hash) when it ran.
    pub hash: [u8; 32],
    /// What became of it.
    pub outcome: Outcome,
}

impl Record {
    /// The record as bytes; records follow one another in a file.
    pub fn bytes(&self) -> Vec<u8> {
        let (kind, data) = match &self.outcome {
            Outcome::Output(bytes) => (0u32, bytes.as_slice()),
            Outcome::Refused(words) => (1, words.as_bytes()),
        };
        let mut out = Vec::new();
        for (number, bytes) in [(self.name.len() as u32, self.name.as_bytes()), (kind, &self.hash)] {
            out.extend_from_slice(&number.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        out.extend_from_slice(&(data.len() as u32).to_le_bytes());
        out.extend_from_slice(data);
        out
    }
}

/// Reads records as they follow one another; a torn last one, which a killed writer leaves, is dropped.
pub fn parse(mut bytes: &[u8]) -> Vec<Record> {
    fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
        let (head, tail) = bytes.split_at_checked(len)?;
        *bytes = tail;
        Some(head)
    }
    fn number(bytes: &mut &[u8]) -> Option<usize> {
        take(bytes, 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }
    let mut one = || {
        let len = number(&mut bytes)?;
        let name = String::from_utf8_lossy(take(&mut bytes, len)?).into_owned();
        let kind = number(&mut bytes)?;
        let mut hash = [0; 32];
        hash.copy_from_slice(take(&mut bytes, 32)?);
        let len = number(&mut bytes)?;
        let data = take(&mut bytes, len)?;
        let outcome = match kind {
            0 => Outcome::Output(data.to_vec()),
            _ => Outcome::Refused(String::from_utf8_lossy(data).into_owned()),
        };
        Some(Record { name, hash, outcome })
    };
    std::iter::from_fn(&mut one).collect()
}

/// Reads a compressed file of records.
///
/// # Errors
/// That of the compression.
pub fn read(compressed: &[u8]) -> io::Result<Vec<Record>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(compressed).read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

/// Writes a compressed file of records.
///
/// # Errors
/// That of the compression.
pub fn write(records: &[Record]) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for record in records {
        encoder.write_all(&record.bytes())?;
    }
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_a_file_and_a_torn_one_is_dropped() {
        let records = [
            Record { name: "a".into(), hash: [1; 32], outcome: Outcome::Output(vec![1, 2, 3]) },
            Record { name: "b".into(), hash: [2; 32], outcome: Outcome::Refused("no".into()) },
        ];
        assert_eq!(read(&write(&records).unwrap()).unwrap(), records);
        let bytes: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
        assert_eq!(parse(&bytes[..bytes.len() - 1]), records[..1]);
    }
}
