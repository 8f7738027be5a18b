//! Measured candidates as CSV.

use super::{Suite, Which};
use warpwright::SchedulerId;
use warpwright::prelude::*;

/// One candidate of one problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Which suite the problem is of.
    pub suite: Suite,
    /// Element of A and B.
    pub element: Dtype,
    /// The problem.
    pub mnk: Mnk,
    /// The candidate.
    pub which: Which,
    /// Registers of a thread.
    pub registers: u32,
    /// Blocks that one SM holds.
    pub blocks_per_sm: u32,
    /// What the model said when it was measured, in µs.
    pub predicted: f64,
    /// Median over the runs, in µs.
    pub median: f64,
    /// How many.
    pub runs: usize,
}

const HEADER: &str =
    "suite,type,m,n,k,tile_m,tile_n,tile_k,stages,scheduler,splits,registers,blocks_per_sm,predicted_us,median_us,runs";

/// The rows as text, with a header.
pub fn write(rows: &[Row]) -> String {
    let mut text = format!("{HEADER}\n");
    for row in rows {
        let (tile, stages, scheduler, splits) = row.which;
        text += &format!(
            "{},{},{},{},{},{},{},{},{stages},{scheduler},{splits},{},{},{:.2},{:.2},{}\n",
            row.suite.name(),
            row.element.name(),
            row.mnk.m,
            row.mnk.n,
            row.mnk.k,
            tile.m,
            tile.n,
            tile.k,
            row.registers,
            row.blocks_per_sm,
            row.predicted,
            row.median,
            row.runs,
        );
    }
    text
}

/// Rows that [`write`] wrote.
///
/// # Errors
/// What line is not one.
pub fn read(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("the first line is not `{HEADER}`"));
    }
    lines
        .zip(2..)
        .map(|(line, number)| row(line).ok_or_else(|| format!("line {number} is no candidate: {line}")))
        .collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let [
        suite,
        element,
        m,
        n,
        k,
        tile_m,
        tile_n,
        tile_k,
        stages,
        scheduler,
        splits,
        registers,
        blocks,
        predicted,
        median,
        runs,
    ] = fields[..]
    else {
        return None;
    };
    let mnk = |m: &str, n: &str, k: &str| Some(Mnk::new(m.parse().ok()?, n.parse().ok()?, k.parse().ok()?));
    Some(Row {
        suite: Suite::from_name(suite)?,
        element: Dtype::from_name(element)?,
        mnk: mnk(m, n, k)?,
        which: (
            mnk(tile_m, tile_n, tile_k)?,
            stages.parse().ok()?,
            SchedulerId::from_name(scheduler)?,
            splits.parse().ok()?,
        ),
        registers: registers.parse().ok()?,
        blocks_per_sm: blocks.parse().ok()?,
        predicted: predicted.parse().ok()?,
        median: median.parse().ok()?,
        runs: runs.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_a_file_and_others_are_refused() {
        let row = Row {
            suite: Suite::Judging,
            element: Dtype::Bf16,
            mnk: Mnk::new(16, 8192, 320),
            which: (Mnk::new(64, 128, 64), 4, SchedulerId::STREAM_K, 1),
            registers: 168,
            blocks_per_sm: 2,
            predicted: 12.25,
            median: 13.5,
            runs: 9,
        };
        let text = write(&[row.clone(), row.clone()]);
        assert_eq!(read(&text), Ok(vec![row.clone(), row]));
        assert!(read(&text.replace("StreamK", "Stream")).unwrap_err().starts_with("line 2 "));
        assert!(read("m,n,k\n").is_err());
    }
}
