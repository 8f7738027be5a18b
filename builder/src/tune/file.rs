//! Records on disk.

use super::choice::PlanChoice;
use super::class::Class;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

/// Of this layout of the file.
const FORMAT: u32 = 1;

/// Of a file: some hundred thousand winners. A larger one would take a process's memory to be found to be something else.
const MOST_BYTES: u64 = 1 << 26;

/// A winner.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Winner {
    /// What won. A value, since one that a later version cannot read is no reason to lose the others.
    pub choice: serde_json::Value,
    /// The median of its times.
    pub microseconds: f64,
    /// How many ran.
    pub entrants: usize,
}

impl Winner {
    pub fn new(choice: PlanChoice, microseconds: f64, entrants: usize) -> Winner {
        let choice = serde_json::to_value(choice).unwrap_or(serde_json::Value::Null);
        Winner { choice, microseconds, entrants }
    }

    pub fn choice(&self) -> Option<PlanChoice> {
        serde_json::from_value(self.choice.clone()).ok()
    }
}

#[derive(Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    class: Class,
    #[serde(flatten)]
    winner: Winner,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    records: Vec<Record>,
}

pub(super) type Winners = HashMap<Class, Winner>;

/// Reads a file; one that is not there holds nothing.
pub(super) fn read(path: &Path) -> Result<Winners, String> {
    let what = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Winners::new()),
        what => what.map_err(|error| error.to_string())?,
    };
    if !what.is_file() {
        return Err("it is no regular file".into());
    }
    if what.len() > MOST_BYTES {
        return Err(format!("it has {} bytes, of at most {MOST_BYTES}", what.len()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let File { format, records } = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if format != FORMAT {
        return Err(format!("its format is {format}, not {FORMAT}"));
    }
    Ok(records.into_iter().map(|record| (record.class, record.winner)).collect())
}

/// Adds a winner to those in a file, or replaces it; a file that cannot be read counts as empty.
pub(super) fn insert(path: &Path, class: Class, winner: Winner) -> io::Result<()> {
    let directory = directory(path);
    std::fs::create_dir_all(directory)?;
    // Who adds another one at the same time would lose this one, or this one that. Where nothing can be locked, so be it.
    let place = std::fs::File::open(directory);
    let _held = place.as_ref().map(std::fs::File::lock);
    let mut stored = read(path).unwrap_or_default();
    stored.insert(class, winner);
    write(path, &stored)
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Replaces a file as a whole.
fn write(path: &Path, winners: &Winners) -> io::Result<()> {
    let records = winners.iter().map(|(class, winner)| Record { class: class.clone(), winner: winner.clone() });
    let mut records: Vec<Record> = records.collect();
    records.sort_by(|x, y| x.class.cmp(&y.class));
    let text = serde_json::to_string_pretty(&File { format: FORMAT, records })? + "\n";
    let mut file = tempfile::NamedTempFile::new_in(directory(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}
