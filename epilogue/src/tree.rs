//! A tree, drawn.

use std::fmt::Write;
use warpwright_spec::Node;

/// What stands at a node: an operator, a function, a leaf.
fn label(node: &Node) -> String {
    match node {
        Node::Apply(function, _) => function.name.to_owned(),
        Node::Combine(op, ..) => op.name().to_owned(),
        Node::Convert(element, _) => format!("convert<{}>", element.name()),
        Node::Bind(i, ..) => format!("let shared{i}"),
        Node::Select(..) => "select".to_owned(),
        Node::Otherwise(..) => "otherwise".to_owned(),
        Node::Sink(sink, _) => sink.to_string(),
        Node::TopKSoftmax(k, _) => format!("top_k_softmax<{k}>"),
        leaf => leaf.to_string(),
    }
}

/// The tree in ASCII, a line for each node, children below their parent.
///
/// ```
/// use warpwright_epilogue::parse::{NameKind, expression};
///
/// let names = [("bias", NameKind::Operand(warpwright_numeric::Dtype::F32))];
/// let tree = expression("relu(2*acc + row(bias))", &names)?.node;
/// assert_eq!(
///     warpwright_epilogue::ascii(tree),
///     "relu\n\
///      `-- +\n\
///      \x20   |-- *\n\
///      \x20   |   |-- scalar\n\
///      \x20   |   `-- acc\n\
///      \x20   `-- row<f32>\n"
/// );
/// # Ok::<(), warpwright_epilogue::parse::ParseError>(())
/// ```
pub fn ascii(node: &Node) -> String {
    let mut text = label(node) + "\n";
    below(&mut text, node, "");
    text
}

fn below(text: &mut String, node: &Node, margin: &str) {
    let children: Vec<_> = node.children().into_iter().flatten().collect();
    for (i, child) in children.iter().enumerate() {
        let last = i + 1 == children.len();
        let (branch, rest) = if last { ("`-- ", "    ") } else { ("|-- ", "|   ") };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{margin}{branch}{}", label(child));
        below(text, child, &format!("{margin}{rest}"));
    }
}

const LEVEL: usize = 56;
const HEIGHT: usize = 28;
const GAP: usize = 16;
/// Of a character, and of what is beside the characters.
const WIDTHS: [usize; 2] = [8, 20];

/// The tree as a self-contained SVG picture: the result at the top, leaves where they end.
pub fn svg(node: &Node) -> String {
    let mut drawing = Drawing { lines: String::new(), boxes: String::new(), right: GAP, bottom: 0 };
    drawing.place(node, 0);
    let Drawing { lines, boxes, right, bottom } = drawing;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{right}\" height=\"{bottom}\" viewBox=\"0 0 {right} {bottom}\" \
         font-family=\"monospace\" font-size=\"13\" text-anchor=\"middle\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <g stroke=\"#777\">\n{lines}</g>\n<g>\n{boxes}</g>\n</svg>\n"
    )
}

struct Drawing {
    lines: String,
    boxes: String,
    /// Where the next leaf begins.
    right: usize,
    bottom: usize,
}

impl Drawing {
    /// Draws a subtree; the middle of its top.
    fn place(&mut self, node: &Node, depth: usize) -> usize {
        let label = label(node);
        let width = WIDTHS[0] * label.chars().count() + WIDTHS[1];
        let top = GAP + depth * LEVEL;
        self.bottom = self.bottom.max(top + HEIGHT + GAP);
        let from = self.right;
        let children: Vec<usize> =
            node.children().into_iter().flatten().map(|child| self.place(child, depth + 1)).collect();
        let middle = match (children.first(), children.last()) {
            (Some(first), Some(last)) => ((first + last) / 2).max(from + width / 2),
            _ => from + width / 2,
        };
        self.right = self.right.max(middle + width / 2 + GAP);
        for child in children {
            let _ = writeln!(
                self.lines,
                "<line x1=\"{middle}\" y1=\"{}\" x2=\"{child}\" y2=\"{}\"/>",
                top + HEIGHT,
                top + LEVEL
            );
        }
        let fill = if matches!(node.children(), [None, None, None]) { "#eef" } else { "#efe" };
        let _ = writeln!(
            self.boxes,
            "<rect x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{fill}\" stroke=\"#777\"/>\
             <text x=\"{middle}\" y=\"{}\">{}</text>",
            middle - width / 2,
            top + 19,
            escaped(&label)
        );
        middle
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fusion, IntoExpr, acc, constant, convert, max, relu, row, select, share};

    fn node<E: IntoExpr>(_: E) -> &'static Node {
        E::Node::NODE
    }

    #[test]
    fn every_node_is_a_line_and_a_box() {
        let bias = [0f32; 4];
        let tree =
            node(share(acc() + row(&bias), |z| select(max(z, 0), relu(z), convert::<f32, _>(constant!(0.5)) / z)));
        let lines = ascii(tree);
        assert!(
            lines.starts_with("let shared0\n|-- +\n|   |-- acc\n|   `-- row<f32>\n`-- select\n    |-- max\n"),
            "{lines}"
        );
        assert!(
            lines.ends_with("    `-- /\n        |-- convert<f32>\n        |   `-- const<0.5>\n        `-- shared0\n"),
            "{lines}"
        );
        let picture = svg(tree);
        let boxes = picture.matches("<text").count();
        assert_eq!(boxes, lines.lines().count());
        assert_eq!(picture.matches("<line").count(), boxes - 1);
        assert!(picture.contains(">const&lt;0.5&gt;<") && picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
    }

    // Boxes of one level do not overlap, however long their labels are.
    #[test]
    fn boxes_do_not_overlap() {
        let tree = node(max(relu(acc()), max(constant!(0.125), relu(relu(constant!(1234567.5)) + acc()))));
        let picture = svg(tree);
        let number = |line: &str, name: &str| -> usize {
            line.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let boxes: Vec<[usize; 3]> = picture
            .lines()
            .filter(|line| line.starts_with("<rect x="))
            .map(|line| [number(line, "y"), number(line, "x"), number(line, "width")])
            .collect();
        for (i, a) in boxes.iter().enumerate() {
            for b in &boxes[..i] {
                assert!(a[0] != b[0] || a[1] + a[2] <= b[1] || b[1] + b[2] <= a[1], "{a:?} {b:?}");
            }
        }
    }
}
