//! Pictures as LaTeX documents with TikZ, in the form of CuTe's `print_latex`.

use std::fmt::Write;

use super::{Cell, Picture};

const GREYS: [&str; 8] =
    ["black!00", "black!40", "black!20", "black!60", "black!10", "black!50", "black!30", "black!70"];
const THREADS: [&str; 8] = [
    "{rgb,255:red,175;green,175;blue,255}",
    "{rgb,255:red,175;green,255;blue,175}",
    "{rgb,255:red,255;green,255;blue,175}",
    "{rgb,255:red,255;green,175;blue,175}",
    "{rgb,255:red,210;green,210;blue,255}",
    "{rgb,255:red,210;green,255;blue,210}",
    "{rgb,255:red,255;green,255;blue,210}",
    "{rgb,255:red,255;green,210;blue,210}",
];

impl Picture {
    /// The picture as a LaTeX document of its own.
    pub fn latex(&self) -> String {
        let mut text = format!("% {}\n", self.title);
        text.push_str("\\documentclass[convert]{standalone}\n\\usepackage{tikz}\n\n\\begin{document}\n");
        text.push_str(
            "\\begin{tikzpicture}[x={(0cm,-1cm)},y={(1cm,0cm)},every node/.style={minimum size=1cm, outer sep=0pt}]\n\n",
        );
        for grid in &self.grids {
            if !grid.title.is_empty() {
                let _ = writeln!(text, "% {}", grid.title);
            }
            let (row, column) = (grid.row, grid.column);
            for i in 0..grid.rows {
                for j in 0..grid.columns {
                    let Some((fill, label)) = node(grid.cell(i, j)) else { continue };
                    let _ = writeln!(text, "\\node[fill={fill}] at ({},{}) {{{label}}};", row + i, column + j);
                }
            }
            let _ = writeln!(
                text,
                "\\draw[color=black,thick,shift={{(-0.5,-0.5)}}] ({row},{column}) grid ({},{});\n",
                row + grid.rows,
                column + grid.columns
            );
            for i in 0..grid.rows {
                let (x, y) = (row + i, column as i64 - 1);
                let _ = writeln!(text, "\\node at ({x},{y}) {{\\Large{{\\texttt{{{i}}}}}}};");
            }
            for j in 0..grid.columns {
                let (x, y) = (row as i64 - 1, column + j);
                let _ = writeln!(text, "\\node at ({x},{y}) {{\\Large{{\\texttt{{{j}}}}}}};");
            }
            text.push('\n');
        }
        text.push_str("\\end{tikzpicture}\n\\end{document}\n");
        text
    }
}

/// Fill and label of a cell.
fn node(cell: &Cell) -> Option<(&'static str, String)> {
    let of = |palette: &[&'static str; 8], i: &i64| palette[i.rem_euclid(8) as usize];
    match cell {
        Cell::Empty => None,
        Cell::Offset(v) => Some((of(&GREYS, v), v.to_string())),
        Cell::Unit { offset, unit } => Some((of(&THREADS, unit), offset.to_string())),
        Cell::Held { thread, value } => {
            Some((of(&THREADS, thread), format!("\\shortstack{{T{thread} \\\\ V{value}}}")))
        }
    }
}
