//! Products of few rows: kernels whose A and B change places give the bits of those where they do not, and blocks of a cluster the
//! bits of blocks that meet in workspace.

use crate::case::{self, Case};
use crate::library::Library;
use crate::prepare::Prepared;
use crate::runner::{Outcome, Runner};
use warpwright::{Device, bf16};

/// What a kernel of few rows is made of. Who does not cut K says so: Auto might.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    /// Tile, of which `0` rows are as many as the problem has, rounded up to eight.
    tile: [usize; 3],
    swapped: bool,
    schedule: &'static str,
    /// The rest of the plan.
    rest: &'static str,
}

const PLAIN: Kernel = Kernel {
    tile: [64, 64, 64],
    swapped: false,
    schedule: "warpspecialized",
    rest: ", scheduler = \"persistent\", cluster = [1, 1]",
};
const SWAPPED: Kernel = Kernel { tile: [0, 64, 64], swapped: true, ..PLAIN };

/// Kernels of the same bits each: the order in which K is summed is theirs.
const ALIKE: &[&[Kernel]] = &[
    &[
        PLAIN,
        SWAPPED,
        Kernel { tile: [0, 128, 64], schedule: "cooperative", ..SWAPPED },
        Kernel { tile: [0, 64, 128], rest: ", scheduler = \"persistent\", cluster = [1, 2]", ..SWAPPED },
    ],
    &[
        Kernel { rest: ", scheduler = \"split_k\", splits = 4, cluster = [1, 1]", ..SWAPPED },
        Kernel { rest: ", scheduler = \"split_k_serial\", splits = 4, cluster = [1, 1]", ..SWAPPED },
        Kernel { rest: ", cluster = [1, 1, 4]", ..SWAPPED },
        Kernel { rest: ", cluster = [1, 1, 4]", ..PLAIN },
    ],
];

/// Everything that an epilogue reads, leading dimensions that are padded, random data. Of the two matrices TMA brings the one, if it
/// is alone.
fn row(m: usize, (n, k): (usize, usize), kernel: &Kernel) -> Result<Case, String> {
    let Kernel { tile: [rows, columns, depth], swapped, schedule, rest } = *kernel;
    let eights = m.next_multiple_of(8);
    let rows = if rows == 0 { eights } else { rows };
    let extra = if eights.is_multiple_of(16) { " + tile(extra)" } else { "" };
    let bind = r#"bind.extra = { kind = "tile", type = "bf16", pad = 8, data = "normal" }"#;
    let bind = if extra.is_empty() { "" } else { bind };
    let text = format!(
        r#"
[[case]]
name = "few_rows_{m}"
m = {m}
n = {n}
k = {k}
a = {{ type = "bf16", order = "row", pad = 8, data = "normal" }}
b = {{ order = "column", pad = 16, data = "normal" }}
c = {{ pad = 8, data = "normal" }}
d = {{ type = "bf16", pad = {D_PAD} }}
epilogue = "d = relu(row(sb)*column(sa)*(alpha*acc) + row(bias) + beta*source(c)){extra}"
scalars = {{ alpha = 0.75, beta = -0.5 }}
bind.bias = {{ kind = "row", data = "normal" }}
bind.sb = {{ kind = "row", data = "normal" }}
bind.sa = {{ kind = "column", data = "normal" }}
{bind}
plan = {{ arch = "sm90", tile = [{rows}, {columns}, {depth}], schedule = "{schedule}", transposed = {swapped}{rest} }}
expect = "bound"
"#
    );
    case::parse(&text).map_err(|e| e.to_string())?.pop().ok_or_else(|| "no row".into())
}

/// Elements behind each row of D.
const D_PAD: usize = 24;

fn pair(bytes: &[u8], at: usize) -> [u8; 2] {
    [bytes[2 * at], bytes[2 * at + 1]]
}

/// Runs products of `m` rows by kernels that must agree in every bit, D's padding included.
///
/// # Errors
/// The first that differs, or what was refused.
pub fn alike(device: &Device, m: usize, extents: (usize, usize)) -> Result<usize, String> {
    let library = Library::new(device).map_err(|e| e.to_string())?;
    let mut runs = 0;
    for kernels in ALIKE {
        let mut first: Option<Vec<u8>> = None;
        for kernel in *kernels {
            let of = format!("{m} rows by {kernel:?}");
            let prepared = Prepared::new(&row(m, extents, kernel)?)?;
            let found = match library.run(&prepared) {
                Outcome::Done { d, .. } => d,
                Outcome::Failed { text, .. } => return Err(format!("{of}: {text}")),
                Outcome::Skipped { why } => return Err(format!("{of}: {why}")),
            };
            runs += 1;
            let first = first.get_or_insert_with(|| found.clone());
            let differing: Vec<usize> = (0..found.len() / 2).filter(|i| pair(first, *i) != pair(&found, *i)).collect();
            if let Some(&at) = differing.first() {
                let (count, leading) = (differing.len(), extents.0 + D_PAD);
                let [one, other] = [first, &found].map(|d| bf16::from_bits(u16::from_le_bytes(pair(d, at))));
                let at = (at / leading, at % leading);
                return Err(format!(
                    "{of}: {count} elements differ from those of {:?}, at {at:?} {other} from {one}",
                    kernels[0]
                ));
            }
        }
    }
    Ok(runs)
}
