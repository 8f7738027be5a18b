//! Pictures as text, in the form of CuTe's `print_layout`.

use std::fmt::Write;

use super::{Grid, Picture};

impl Picture {
    /// The picture as lines of text.
    pub fn ascii(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for grid in &self.grids {
            if !grid.title.is_empty() {
                text.push_str(&grid.title);
                text.push('\n');
            }
            grid.write_ascii(&mut text);
        }
        text
    }
}

impl Grid {
    fn write_ascii(&self, text: &mut String) {
        let labels: Vec<String> = self.cells.iter().map(|cell| cell.lines().concat()).collect();
        let digits = (self.columns - 1).to_string().len();
        let width = labels.iter().map(String::len).max().unwrap_or(0).max(digits);
        let margin = (self.rows - 1).to_string().len().max(2);
        let rule = format!("{:margin$}  {}+\n", "", format!("+{}", "-".repeat(width + 2)).repeat(self.columns));
        let mut line = format!("{:margin$}  ", "");
        for j in 0..self.columns {
            let _ = write!(line, "  {j:>width$} ");
        }
        text.push_str(&line);
        text.push('\n');
        text.push_str(&rule);
        for (i, row) in labels.chunks(self.columns).enumerate() {
            let _ = write!(text, "{i:>margin$}  ");
            for label in row {
                let _ = write!(text, "| {label:>width$} ");
            }
            text.push_str("|\n");
            text.push_str(&rule);
        }
    }
}
