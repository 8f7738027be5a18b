//! Pictures as SVG files.

use std::fmt::Write;

use super::{Cell, Picture};

/// Pixels of a cell's side.
const SIDE: usize = 36;
/// Pixels left and above of a grid, for its indices.
const MARGIN: usize = 28;
/// Pixels of the title's line.
const HEAD: usize = 26;

const GREYS: [&str; 8] = ["#ffffff", "#c8c8c8", "#e4e4e4", "#acacac", "#f2f2f2", "#bababa", "#d6d6d6", "#9e9e9e"];
const THREADS: [&str; 8] = ["#afafff", "#afffaf", "#ffffaf", "#ffafaf", "#d2d2ff", "#d2ffd2", "#ffffd2", "#ffd2d2"];

impl Picture {
    /// The picture as an SVG file: colours tell threads (or a swizzle's units) apart modulo 8.
    pub fn svg(&self) -> String {
        let right = self.grids.iter().map(|g| g.column + g.columns).max().unwrap_or(0);
        let bottom = self.grids.iter().map(|g| g.row + g.rows).max().unwrap_or(0);
        let (width, height) = (right * SIDE + 2 * MARGIN, bottom * SIDE + 2 * MARGIN + HEAD);
        // Text is wider than a picture of few columns.
        let width = width.max(9 * self.title.len() + 2 * MARGIN);
        let mut t = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\" text-anchor=\"middle\">\n\
             <title>{0}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"{MARGIN}\" y=\"18\" font-size=\"14\" text-anchor=\"start\">{0}</text>\n",
            escaped(&self.title)
        );
        for grid in &self.grids {
            let (left, top) = (MARGIN + grid.column * SIDE, HEAD + MARGIN + grid.row * SIDE);
            for i in 0..grid.rows {
                let y = top + i * SIDE;
                let _ = writeln!(t, "<text x=\"{}\" y=\"{}\" fill=\"#666\">{i}</text>", left - 12, y + SIDE / 2 + 4);
                for j in 0..grid.columns {
                    write_cell(&mut t, grid.cell(i, j), left + j * SIDE, y);
                }
            }
            for j in 0..grid.columns {
                let x = left + j * SIDE + SIDE / 2;
                let _ = writeln!(t, "<text x=\"{x}\" y=\"{}\" fill=\"#666\">{j}</text>", top - 8);
            }
        }
        t.push_str("</svg>\n");
        t
    }
}

fn write_cell(t: &mut String, cell: &Cell, x: usize, y: usize) {
    let of = |palette: &[&'static str; 8], i: &i64| palette[i.rem_euclid(8) as usize];
    let fill = match cell {
        Cell::Empty => "none",
        Cell::Offset(v) => of(&GREYS, v),
        Cell::Unit { unit, .. } => of(&THREADS, unit),
        Cell::Held { thread, .. } => of(&THREADS, thread),
    };
    let _ = writeln!(
        t,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"{fill}\" stroke=\"black\" \
         stroke-width=\"0.7\"/>"
    );
    let lines = cell.lines();
    let first = y + SIDE / 2 + 4 - 7 * lines.len().saturating_sub(1);
    for (n, line) in lines.iter().enumerate() {
        let _ = writeln!(t, "<text x=\"{}\" y=\"{}\">{line}</text>", x + SIDE / 2, first + 14 * n);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
