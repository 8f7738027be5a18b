//! The generated part of the table, `cases/pairwise.toml`: every pair of values of any two factors occurs in a row in
//! which both matter. (A scalar does not matter where the epilogue names none.)

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::random;

/// A, and D.
const TYPES: [(&str, &str); 5] = [("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f32")];
const ORDERS: [&str; 2] = ["row", "column"];
/// Bytes to which every base and leading dimension is aligned and no better; 0 is whatever packed operands have.
const ALIGNMENTS: [usize; 5] = [16, 8, 4, 2, 0];
const EXTENTS: [usize; 11] = [1, 7, 8, 63, 64, 65, 127, 128, 129, 130, 200];
const DEPTHS: [usize; 11] = [0, 1, 8, 15, 16, 17, 63, 64, 65, 129, 256 + 8];
const SCALARS: [(&str, &str); 5] = [("1.0", "0.0"), ("0.5", "0.0"), ("0.0", "2.0"), ("-1.0", "1.0"), ("0.0", "0.0")];
const EPILOGUES: [&str; 8] = [
    "acc",
    "alpha*acc",
    "alpha*acc + beta*source(c)",
    "relu(alpha*acc + row(bias) + beta*source(c))",
    "alpha*acc + column(bias)",
    "alpha*acc + beta*previous",
    "max(min(alpha*acc, 24), -24) / 4 - beta*source(c)",
    "user_softsign(alpha*acc + row(bias))",
];
const BATCHES: [&str; 5] = ["one", "packed", "gap", "broadcast a", "broadcast b"];
const DATA: [&str; 2] = ["integers", "normal"];

const TYPE: usize = 0;
const A_ORDER: usize = 1;
const B_ORDER: usize = 2;
const ALIGNMENT: usize = 3;
const M: usize = 4;
const N: usize = 5;
const K: usize = 6;
const SCALAR: usize = 7;
const EPILOGUE: usize = 8;
const C_ORDER: usize = 9;
const D_ORDER: usize = 10;
const BATCH: usize = 11;
const CONTENTS: usize = 12;
const FACTORS: usize = 13;
const LEVELS: [usize; FACTORS] = [
    TYPES.len(),
    2,
    2,
    ALIGNMENTS.len(),
    EXTENTS.len(),
    EXTENTS.len(),
    DEPTHS.len(),
    SCALARS.len(),
    EPILOGUES.len(),
    2,
    2,
    BATCHES.len(),
    DATA.len(),
];

/// A level for each factor.
type Row = [usize; FACTORS];
/// Two factors with a level each, the smaller factor first.
type Pair = (usize, usize, usize, usize);

/// The text of `cases/pairwise.toml`.
pub fn table() -> String {
    let mut text =
        "# Written by `cargo run -p warpwright-tests --bin pairwise`; a test compares it with the generator.\n"
            .to_owned();
    for (index, row) in cover().iter().enumerate() {
        write_case(&mut text, index, row);
    }
    text
}

/// Whether two levels can stand together in a row in which both matter.
fn matters(f: usize, x: usize, g: usize, y: usize) -> bool {
    let level = |factor| if f == factor { Some(x) } else { (g == factor).then_some(y) };
    let epilogue = level(EPILOGUE).map(|e| EPILOGUES[e]);
    let wide = level(TYPE).is_some_and(|t| TYPES[t].0 == "f32");
    let needs = |factor, name| level(factor).is_some() && epilogue.is_some_and(|e| !e.contains(name));
    !(needs(SCALAR, "alpha")
        || needs(C_ORDER, "source")
        || wide && level(ALIGNMENT).is_some_and(|a| ALIGNMENTS[a] == 2))
}

/// The pairs that a row, complete or not, covers.
fn pairs(row: &[Option<usize>; FACTORS]) -> impl Iterator<Item = Pair> + use<> {
    let row = *row;
    let idle = move |f: usize| {
        (0..FACTORS).any(|g| match (row[f], row[g]) {
            (Some(x), Some(y)) if f != g => {
                !matters(f.min(g), if f < g { x } else { y }, f.max(g), if f < g { y } else { x })
            }
            _ => false,
        }) && matches!(f, SCALAR | C_ORDER | ALIGNMENT)
    };
    let active: [Option<usize>; FACTORS] = std::array::from_fn(|f| if idle(f) { None } else { row[f] });
    (0..FACTORS).flat_map(move |f| (f + 1..FACTORS).map(move |g| (f, g))).filter_map(move |(f, g)| {
        let (x, y) = (active[f]?, active[g]?);
        Some((f, x, g, y))
    })
}

/// Two factors with a level each, whether or not both can matter at once.
fn every_pair() -> impl Iterator<Item = Pair> {
    let factors = (0..FACTORS).flat_map(|f| (f + 1..FACTORS).map(move |g| (f, g)));
    let levels = |(f, g): (usize, usize)| (0..LEVELS[f]).flat_map(move |x| (0..LEVELS[g]).map(move |y| (f, x, g, y)));
    factors.flat_map(levels)
}

/// Rows that cover every pair: each is the best of several, grown from a pair that is still open by taking, factor
/// after factor in random order, the level that covers most.
fn cover() -> Vec<Row> {
    let mut open: BTreeSet<Pair> = every_pair().filter(|&(f, x, g, y)| matters(f, x, g, y)).collect();
    let key = random::key("pairwise", "rows");
    let mut drawn = 0;
    let mut below = |n: usize| {
        drawn += 1;
        random::integer(random::draw(key, drawn), 0, n as i64 - 1) as usize
    };
    let mut rows = Vec::new();
    while let Some(&seed) = open.first() {
        let mut best: Option<(usize, Row)> = None;
        for _ in 0..24 {
            let row = grow(seed, &open, &mut below);
            let gain = pairs(&row.map(Some)).filter(|pair| open.contains(pair)).count();
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, row));
            }
        }
        let (_, row) = best.expect("24 candidates");
        for pair in pairs(&row.map(Some)) {
            open.remove(&pair);
        }
        rows.push(row);
    }
    rows
}

fn grow(seed: Pair, open: &BTreeSet<Pair>, below: &mut impl FnMut(usize) -> usize) -> Row {
    let mut row = [None; FACTORS];
    (row[seed.0], row[seed.2]) = (Some(seed.1), Some(seed.3));
    let mut rest: Vec<usize> = (0..FACTORS).filter(|&f| row[f].is_none()).collect();
    while !rest.is_empty() {
        let factor = rest.swap_remove(below(rest.len()));
        let first = below(LEVELS[factor]);
        let gain = |level: usize| {
            let mut tried = row;
            tried[factor] = Some(level);
            // A level must not make the seed idle, or the row would never cover it.
            let found: Vec<Pair> = pairs(&tried).collect();
            let keeps = found.contains(&seed);
            (keeps, found.iter().filter(|pair| open.contains(pair)).count())
        };
        let levels = (0..LEVELS[factor]).map(|step| (first + step) % LEVELS[factor]);
        row[factor] = levels.max_by_key(|&level| gain(level));
    }
    row.map(|level| level.expect("every factor has a level"))
}

/// An operand's entry in the row.
struct Entry {
    name: &'static str,
    dtype: &'static str,
    inherits: bool,
    order: usize,
    rows: usize,
    columns: usize,
    broadcast: bool,
    data: Option<&'static str>,
}

fn write_case(text: &mut String, index: usize, row: &Row) {
    let (a_type, d_type) = TYPES[row[TYPE]];
    let (m, n, k) = (EXTENTS[row[M]], EXTENTS[row[N]], DEPTHS[row[K]]);
    let (alpha, beta) = SCALARS[row[SCALAR]];
    let epilogue = EPILOGUES[row[EPILOGUE]];
    let batch = BATCHES[row[BATCH]];
    let exact = DATA[row[CONTENTS]] == "integers" && !epilogue.contains("user");
    let data = (!exact && DATA[row[CONTENTS]] == "integers").then_some("integers");
    let entries = BATCHES[row[BATCH]] != "one";

    let own_c = d_type == "f32" && index % 2 == 1;
    let reads_a = !(epilogue.contains("alpha") && alpha == "0.0");
    let a_data = if reads_a || index.is_multiple_of(2) { data } else { Some("nan") };
    let c_data = match beta {
        "0.0" if index % 4 == 1 => Some("absent"),
        "0.0" => Some("nan"),
        _ => data,
    };
    let d_data = epilogue.contains("previous").then_some(DATA[row[CONTENTS]]);
    let mut operands = vec![
        Entry {
            name: "a",
            dtype: a_type,
            inherits: false,
            order: row[A_ORDER],
            rows: m,
            columns: k,
            broadcast: batch == "broadcast a",
            data: a_data,
        },
        Entry {
            name: "b",
            dtype: a_type,
            inherits: true,
            order: row[B_ORDER],
            rows: k,
            columns: n,
            broadcast: batch == "broadcast b",
            data,
        },
        Entry {
            name: "d",
            dtype: d_type,
            inherits: a_type == d_type,
            order: row[D_ORDER],
            rows: m,
            columns: n,
            broadcast: false,
            data: d_data,
        },
    ];
    if epilogue.contains("source") {
        let dtype = if own_c { a_type } else { d_type };
        operands.push(Entry {
            name: "c",
            dtype,
            inherits: !own_c,
            order: row[C_ORDER],
            rows: m,
            columns: n,
            broadcast: false,
            data: c_data,
        });
    }

    let mut line = |args: std::fmt::Arguments<'_>| writeln!(text, "{args}").expect("a String takes all");
    line(format_args!("\n[[case]]"));
    line(format_args!("name = \"pair_{index:03}_{a_type}_{d_type}_{m}x{n}x{k}\""));
    line(format_args!("m = {m}\nn = {n}\nk = {k}"));
    if entries {
        line(format_args!("batch = 3"));
    }
    for operand in &operands {
        let fields = fields(operand, ALIGNMENTS[row[ALIGNMENT]], batch == "gap");
        if !fields.is_empty() {
            line(format_args!("{} = {{ {} }}", operand.name, fields.join(", ")));
        }
    }
    if epilogue != "acc" {
        line(format_args!("epilogue = \"d = {epilogue}\""));
        let beta = if epilogue.contains("beta") { format!(", beta = {beta}") } else { String::new() };
        line(format_args!("scalars = {{ alpha = {alpha}{beta} }}"));
    }
    for (kind, len) in [("row", n), ("column", m)] {
        if epilogue.contains(&format!("{kind}(bias)")) {
            let stride = if entries { [0, len, len + 3][index % 3] } else { 0 };
            let data = data.map_or(String::new(), |data| format!(", data = \"{data}\""));
            line(format_args!(
                "bind.bias = {{ kind = \"{kind}\", type = \"{d_type}\", batch_stride = {stride}{data} }}"
            ));
        }
    }
    line(format_args!("expect = \"{}\"", if exact { "exact" } else { "bound" }));
}

fn fields(operand: &Entry, alignment: usize, gap: bool) -> Vec<String> {
    let mut fields = Vec::new();
    if !operand.inherits {
        fields.push(format!("type = \"{}\"", operand.dtype));
    }
    if operand.order == 1 {
        fields.push(format!("order = \"{}\"", ORDERS[operand.order]));
    }
    let size = if operand.dtype == "f32" { 4 } else { 2 };
    let (inner, outer) =
        if operand.order == 0 { (operand.columns, operand.rows) } else { (operand.rows, operand.columns) };
    let (inner, step) = (inner.max(1), alignment.max(size) / size);
    let leading = match alignment {
        0 => inner,
        16 => inner.next_multiple_of(step),
        // The next odd multiple: aligned to `alignment` and to nothing more.
        _ => (inner + step).next_multiple_of(2 * step) - step,
    };
    if leading > inner {
        fields.push(format!("pad = {}", leading - inner));
    }
    if alignment != 0 && alignment != 16 {
        fields.push(format!("offset = {step}"));
    }
    if operand.broadcast {
        fields.push("batch_stride = 0".to_owned());
    } else if gap {
        fields.push(format!("batch_stride = {}", leading * outer + 2 * step));
    }
    if let Some(data) = operand.data {
        fields.push(format!("data = \"{data}\""));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_that_matters_is_covered() {
        let covered: BTreeSet<Pair> = cover().iter().flat_map(|row| pairs(&row.map(Some))).collect();
        for pair @ (f, x, g, y) in every_pair() {
            assert_eq!(covered.contains(&pair), matters(f, x, g, y), "factors {f}, {g} at {x}, {y}");
        }
    }

    #[test]
    fn leading_dimensions_have_the_alignment_and_no_better() {
        for (size, dtype) in [(2, "f16"), (4, "f32")] {
            for inner in 1..40 {
                for alignment in [16, 8, 4, 2] {
                    let operand = Entry {
                        name: "a",
                        dtype,
                        inherits: true,
                        order: 0,
                        rows: 3,
                        columns: inner,
                        broadcast: false,
                        data: None,
                    };
                    let pad = fields(&operand, alignment, false)
                        .iter()
                        .find_map(|field| field.strip_prefix("pad = ").map(|pad| pad.parse::<usize>().unwrap()))
                        .unwrap_or(0);
                    let bytes = (inner + pad) * size;
                    let alignment = alignment.max(size);
                    assert!(
                        bytes % alignment == 0 && (alignment == 16 || bytes % (2 * alignment) != 0),
                        "{inner} {alignment}: {bytes}"
                    );
                }
            }
        }
    }
}
