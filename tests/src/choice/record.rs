//! Measured candidates as CSV.

use super::{Suite, Which};
use std::str::FromStr;
use warpwright::prelude::*;
use warpwright::spec::RasterOrder;
use warpwright::{ScheduleId, SchedulerId};

/// One candidate of one problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Which suite the problem is of.
    pub suite: Suite,
    /// Whose kernels are measured.
    pub tag: ArchId,
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
    /// cuBLASLt's median for the problem in the same rounds, in µs; NaN where it did not run.
    pub library: f64,
}

const HEADER: &str = "suite,tag,type,m,n,k,schedule,swapped,tile_m,tile_n,tile_k,cluster_m,cluster_n,cluster_k,stages,scheduler,splits,raster,swizzle,\
                      registers,blocks_per_sm,predicted_us,median_us,runs,cublaslt_us";

/// The rows as text, with a header.
pub fn write(rows: &[Row]) -> String {
    let mut text = format!("{HEADER}\n");
    for row in rows {
        let Which { schedule, swapped, tile, cluster, stages, scheduler, splits, walk: (raster, swizzle) } = row.which;
        let Mnk { m, n, k } = row.mnk;
        let problem = format!("{},{},{},{m},{n},{k}", row.suite.name(), row.tag.name(), row.element.name());
        let of = |x: Mnk| format!("{},{},{}", x.m, x.n, x.k);
        let shape = format!("{},{}", of(tile), of(cluster));
        let which = format!("{schedule},{swapped},{shape},{stages},{scheduler},{splits},{},{swizzle}", raster.name());
        let found = format!("{},{},{:.2},{:.2}", row.registers, row.blocks_per_sm, row.predicted, row.median);
        text += &format!("{problem},{which},{found},{},{:.2}\n", row.runs, row.library);
    }
    text
}

/// Rows that [`write()`] wrote.
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
        .map(|(line, number)| {
            let mut fields = Fields(line.split(','));
            let row = row(&mut fields).filter(|_| fields.0.next().is_none());
            row.ok_or_else(|| format!("line {number} is no candidate: {line}"))
        })
        .collect()
}

/// What is left of a line.
struct Fields<'a>(std::str::Split<'a, char>);

impl<'a> Fields<'a> {
    fn named<T>(&mut self, find: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        self.0.next().and_then(find)
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.named(|field| field.parse().ok())
    }
}

fn row(fields: &mut Fields<'_>) -> Option<Row> {
    Some(Row {
        suite: fields.named(Suite::from_name)?,
        tag: fields.named(ArchId::from_name)?,
        element: fields.named(Dtype::from_name)?,
        mnk: Mnk::new(fields.number()?, fields.number()?, fields.number()?),
        which: Which {
            schedule: fields.named(ScheduleId::from_name)?,
            swapped: fields.number()?,
            tile: Mnk::new(fields.number()?, fields.number()?, fields.number()?),
            cluster: Mnk::new(fields.number()?, fields.number()?, fields.number()?),
            stages: fields.number()?,
            scheduler: fields.named(SchedulerId::from_name)?,
            splits: fields.number()?,
            walk: (fields.named(raster)?, fields.number()?),
        },
        registers: fields.number()?,
        blocks_per_sm: fields.number()?,
        predicted: fields.number()?,
        median: fields.number()?,
        runs: fields.number()?,
        library: fields.number()?,
    })
}

fn raster(name: &str) -> Option<RasterOrder> {
    [RasterOrder::AlongM, RasterOrder::AlongN].into_iter().find(|raster| raster.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_a_file_and_others_are_refused() {
        let row = Row {
            suite: Suite::Judging,
            tag: ArchId::SM90,
            element: Dtype::Bf16,
            mnk: Mnk::new(16, 8192, 320),
            which: Which {
                schedule: ScheduleId::PINGPONG,
                swapped: true,
                tile: Mnk::new(64, 128, 64),
                cluster: Mnk::new(1, 2, 1),
                stages: 4,
                scheduler: SchedulerId::PERSISTENT,
                splits: 1,
                walk: (RasterOrder::AlongN, 8),
            },
            registers: 168,
            blocks_per_sm: 2,
            predicted: 12.25,
            median: 13.5,
            runs: 9,
            library: 11.75,
        };
        let text = write(&[row.clone(), row.clone()]);
        assert_eq!(read(&text), Ok(vec![row.clone(), row]));
        assert!(read(&text.replace("Pingpong", "Ping")).unwrap_err().starts_with("line 2 "));
        assert!(read(&text.replace("11.75", "11.75,1")).unwrap_err().starts_with("line 2 "));
        assert!(read("m,n,k\n").is_err());
    }
}
