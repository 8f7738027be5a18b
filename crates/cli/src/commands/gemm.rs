//! `warpwright gemm`: a product of matrices from files.

use super::{Extents, Types, print, print_json};
use crate::args::GemmArgs;
use crate::counts::{self, Launched};
use crate::error::InputError;
use crate::files;
use crate::operands::targets;
use crate::product::multiply;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use warpwright::{Order, RawView};

#[derive(Serialize)]
struct Report {
    device: String,
    kernel: String,
    problem: Extents,
    types: Types,
    epilogue: String,
    /// Of the call, planning and compilation included.
    seconds: f64,
    out: Option<String>,
    /// What the epilogue stored beside D.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saved: Vec<String>,
    /// Of an emulated device, where they are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    launches: Vec<Launched>,
}

/// Multiplies, and writes the result.
pub fn run(args: &GemmArgs) -> anyhow::Result<()> {
    targets(&args.kernel, args.out.as_deref())?;
    let product = multiply(&args.operands, &args.kernel, &args.device)?;
    if let Some(out) = &args.out {
        write(out, product.d.raw(), product.factors.batched)?;
    }
    for (saved, matrix) in &product.stored {
        write(&saved.path, matrix.raw(), product.factors.batched)?;
    }
    let report = Report {
        device: product.device.name().to_owned(),
        kernel: product.plan.name(),
        problem: Extents::of(&product.factors),
        types: Types::of(&product.plan),
        epilogue: product.epilogue.text,
        seconds: product.took.as_secs_f64(),
        out: args.out.as_ref().map(|path| path.display().to_string()),
        saved: product.stored.iter().map(|(saved, _)| saved.path.display().to_string()).collect(),
        launches: product.launches,
    };
    if args.json { print_json(&report) } else { Ok(print(report.text(product.d.raw())?.as_bytes())?) }
}

impl Report {
    fn text(&self, d: RawView<'_>) -> Result<String, std::fmt::Error> {
        let mut t = String::new();
        writeln!(t, "{}, {}", self.problem, self.types)?;
        writeln!(t, "kernel   {} on {}", self.kernel, self.device)?;
        writeln!(t, "epilogue {}", self.epilogue)?;
        writeln!(t, "took     {:.3} ms, planning and compilation included", self.seconds * 1e3)?;
        counts::write(&mut t, &self.launches)?;
        for path in &self.saved {
            writeln!(t, "saved    {path}")?;
        }
        match &self.out {
            Some(path) => writeln!(t, "wrote    {path}")?,
            None => corner(&mut t, d)?,
        }
        Ok(t)
    }
}

/// The first rows and columns of the first matrix.
fn corner(t: &mut String, d: RawView<'_>) -> std::fmt::Result {
    const SHOWN: usize = 4;
    let [batch, rows, cols] = d.extents();
    let rows_shown = if batch == 0 { 0 } else { rows.min(SHOWN) };
    for m in 0..rows_shown {
        let row: Vec<String> = (0..cols.min(SHOWN)).map(|n| format!("{:>12}", d.decode_at(0, m, n))).collect();
        writeln!(t, "{}{}", row.join(" "), if cols > SHOWN { " ..." } else { "" })?;
    }
    if rows > rows_shown && rows_shown > 0 {
        writeln!(t, "{:>12}", "...")?;
    }
    Ok(())
}

/// Writes D as a .npy file: column-major matrices in Fortran order. NumPy has no batch of column-major matrices, so those
/// are written row by row.
fn write(path: &Path, d: RawView<'_>, batched: bool) -> Result<(), InputError> {
    let [batch, rows, cols] = d.extents();
    let dtype = d.dtype();
    let column = d.layout().order() == Some(Order::ColumnMajor);
    let bytes = d.host_bytes().unwrap_or_default();
    let contents = if !batched {
        files::npy_bytes(dtype, &[rows, cols], column, packed(bytes, dtype.packed_bytes(rows * cols)))
    } else if column {
        let mut by_rows = vec![0; dtype.packed_bytes(batch * rows * cols)];
        let places = (0..batch).flat_map(|b| (0..rows).flat_map(move |m| (0..cols).map(move |n| (b, m, n))));
        places.enumerate().for_each(|(i, (b, m, n))| dtype.encode(&mut by_rows, i, d.decode_at(b, m, n)));
        files::npy_bytes(dtype, &[batch, rows, cols], false, &by_rows)
    } else {
        files::npy_bytes(dtype, &[batch, rows, cols], false, packed(bytes, dtype.packed_bytes(batch * rows * cols)))
    };
    files::write_atomically(path, &contents)
}

fn packed(bytes: &[u8], needed: usize) -> &[u8] {
    &bytes[..needed.min(bytes.len())]
}
