//! `warpwright gemm`: a product of matrices from files.

use super::{Extents, Types, print_json};
use crate::args::GemmArgs;
use crate::error::InputError;
use crate::files;
use crate::product::{Product, multiply};
use serde::Serialize;
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
}

/// Multiplies, and writes the result.
pub fn run(args: &GemmArgs) -> anyhow::Result<()> {
    if let Some(out) = &args.out {
        if out.extension().is_none_or(|e| e != "npy") {
            return Err(InputError::OutKind { path: out.display().to_string() }.into());
        }
        files::check_target(out)?;
    }
    let product = multiply(&args.operands, &args.kernel, args.device.as_deref())?;
    if let Some(out) = &args.out {
        write(out, product.d.raw(), product.factors.batched)?;
    }
    let report = Report {
        device: product.device.name().to_owned(),
        kernel: product.plan.name(),
        problem: Extents::of(&product.factors),
        types: Types::of(&product.plan),
        epilogue: product.epilogue.tree.to_string(),
        seconds: product.took.as_secs_f64(),
        out: args.out.as_ref().map(|path| path.display().to_string()),
    };
    if args.json { print_json(&report) } else { report.print(&product) }
}

impl Report {
    fn print(&self, product: &Product) -> anyhow::Result<()> {
        println!("{}, {}", self.problem, self.types);
        println!("kernel   {} on {}", self.kernel, self.device);
        println!("epilogue d = {}", self.epilogue);
        println!("took     {:.3} ms, planning and compilation included", self.seconds * 1e3);
        match &self.out {
            Some(path) => println!("wrote    {path}"),
            None => print_corner(product.d.raw()),
        }
        Ok(())
    }
}

/// The first rows and columns of the first matrix.
fn print_corner(d: RawView<'_>) {
    const SHOWN: usize = 4;
    let [batch, rows, cols] = d.extents();
    if batch == 0 {
        return;
    }
    for m in 0..rows.min(SHOWN) {
        let row: Vec<String> = (0..cols.min(SHOWN)).map(|n| format!("{:>12}", d.decode_at(0, m, n))).collect();
        println!("{}{}", row.join(" "), if cols > SHOWN { " ..." } else { "" });
    }
    if rows > SHOWN {
        println!("{:>12}", "...");
    }
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
