//! The table on emulated devices: rows cut down to a few tiles, and how many kernels they need.

use std::collections::BTreeSet;

use warpwright::runtime::emulator::EmulatorOptions;
use warpwright::{ArchId, Device, DeviceInfo};

use crate::case::{Case, Expect};
use crate::library::{self, Library};
use crate::pattern::Pattern;
use crate::prepare::Prepared;
use crate::runner::{Outcome, Runner};
use crate::stand_in::stand_in;

/// Rows of at most this many products run as they are.
const PRODUCTS: usize = 1 << 21;

/// Batches of more entries than this are cut.
const BATCH: usize = 16;

/// A row as the emulator runs it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The row, cut down if it was large.
    pub case: Case,
    /// Whether it was cut, so that values from outside say nothing of it.
    pub is_cut: bool,
    /// The architecture emulated: the row's tag.
    pub tag: ArchId,
    /// Multiprocessors: with one, a persistent block works on several tiles of a small problem.
    pub sms: u32,
    /// Tags and hashes of the kernels that it launches, or why there are none: there is no device code, usually.
    pub kernels: Result<BTreeSet<String>, String>,
}

impl Row {
    /// The row of this number in the table. One that names no architecture takes one of those that have device code for it,
    /// in turn, so that a table of rows meets every mainloop.
    pub fn new(number: usize, case: &Case) -> Row {
        let (mut case, is_cut) = cut(case);
        // Whether there is device code is found out, not believed.
        case.only = None;
        let sms = if number.is_multiple_of(2) { 4 } else { 1 };
        let on = |tag: ArchId, case: Case| {
            let mut row = Row { tag, case, is_cut, sms, kernels: Ok(BTreeSet::new()) };
            row.kernels = row.plan();
            row
        };
        if case.plan.arch.is_none() && !matches!(case.expect, Expect::Error { .. }) {
            let mut rows: Vec<Row> = ArchId::ALL
                .iter()
                .filter(|tag| !tag.tcgen05())
                .map(|&tag| on(tag, with_tag(&case, tag)))
                .filter(|row| row.kernels.is_ok())
                .collect();
            if !rows.is_empty() {
                // Neighbours have equal multiprocessors every other time.
                return rows.swap_remove(number / 2 % rows.len());
            }
        }
        on(library::tag(&case), case)
    }

    /// The emulated device's properties.
    pub fn info(&self) -> DeviceInfo {
        self.options().info().clone()
    }

    /// A device for it.
    ///
    /// # Errors
    /// Without NVRTC.
    pub fn device(&self, seed: u64) -> Result<Device, warpwright::DeviceError> {
        self.options().seed(seed).device()
    }

    fn options(&self) -> EmulatorOptions {
        EmulatorOptions::of_tag(self.tag).sms(self.sms)
    }

    fn plan(&self) -> Result<BTreeSet<String>, String> {
        let prepared = Prepared::new(&self.case)?;
        let library = Library::new(&stand_in(self.info())).map_err(|e| e.to_string())?;
        match library.run(&prepared) {
            Outcome::Failed { text, .. } if !matches!(self.case.expect, Expect::Error { .. }) => Err(text),
            _ => {
                let sources = library.launched().into_iter().flat_map(|plan| library::sources(&plan));
                Ok(sources
                    .map(|(_, text)| format!("{} {}", self.tag.lower_name(), library::text_hash(&text)))
                    .collect())
            }
        }
    }
}

/// A row on another architecture than it would take.
fn with_tag(case: &Case, tag: ArchId) -> Case {
    let mut case = case.clone();
    case.plan.arch = Some(tag.lower_name().to_owned());
    case
}

/// Cuts a row of many products down: an extent keeps one whole tile and what goes beyond whole ones, a batch three entries.
fn cut(case: &Case) -> (Case, bool) {
    let products = [case.m, case.n, case.k, case.batch].iter().fold(1usize, |all, &x| all.saturating_mul(x));
    let patterns = [&case.a.data, &case.b.data, &case.c.data, &case.d.data];
    let is_one_place = |p: &&Option<Pattern>| matches!(p, Some(Pattern::OneHotRow(_) | Pattern::OneHotColumn(_)));
    if products <= PRODUCTS || patterns.iter().any(is_one_place) {
        return (case.clone(), false);
    }
    let tile = case.plan.tile.unwrap_or([128, 128, 64]).map(|t| t.max(64));
    let keep = |extent: usize, tile: usize| extent.min(tile + extent % tile);
    let (m, n, k) = (keep(case.m, tile[0]), keep(case.n, tile[1]), keep(case.k, tile[2]));
    let batch = if case.batch > BATCH { 3 } else { case.batch };
    let is_cut = (m, n, k, batch) != (case.m, case.n, case.k, case.batch);
    (Case { m, n, k, batch, ..case.clone() }, is_cut)
}

/// The rows that together need at most `kernels` kernels, spread over the table; those that need none are all among them.
pub fn select(rows: Vec<Row>, kernels: usize) -> Vec<Row> {
    let mut all: Vec<&String> = Vec::new();
    let mut seen = BTreeSet::new();
    for kernel in rows.iter().filter_map(|row| row.kernels.as_ref().ok()).flatten() {
        if seen.insert(kernel) {
            all.push(kernel);
        }
    }
    let chosen: BTreeSet<String> = match all.len() {
        count if count <= kernels => all.into_iter().cloned().collect(),
        count => (0..kernels).map(|i| all[i * count / kernels].clone()).collect(),
    };
    rows.into_iter().filter(|row| row.kernels.as_ref().map_or(true, |own| own.is_subset(&chosen))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;

    #[test]
    fn large_rows_keep_a_whole_tile_and_the_rest() {
        let table = case::load(&case::folder()).unwrap();
        let row = table.iter().find(|c| c.m * c.n * c.k > 1 << 22 && c.plan.tile.is_none()).unwrap();
        let (small, is_cut) = cut(row);
        assert!(is_cut && small.m * small.n * small.k <= 255 * 255 * 127);
        assert_eq!((small.m % 128, small.n % 128, small.k % 64), (row.m % 128, row.n % 128, row.k % 64));
        let many = Case { batch: 65_537, m: 40, ..row.clone() };
        assert_eq!((cut(&many).0.batch, cut(&many).0.m), (3, 40));
        let small = Case { m: 100, n: 100, k: 100, batch: 2, ..row.clone() };
        assert!(!cut(&small).1);
    }

    #[test]
    fn a_selection_needs_no_more_kernels_than_it_may() {
        let row = |kernels: &[&str]| Row {
            case: case::parse(
                "[[case]]\nname = \"x\"\nm = 1\nn = 1\nk = 1\na = { type = \"f16\" }\nexpect = \"exact\"",
            )
            .unwrap()
            .remove(0),
            is_cut: false,
            tag: ArchId::SM80,
            sms: 1,
            kernels: Ok(kernels.iter().map(|k| (*k).to_owned()).collect()),
        };
        let rows = vec![row(&["a"]), row(&[]), row(&["b"]), row(&["a", "c"]), row(&["d"]), row(&["a"])];
        let kept = select(rows.clone(), 2);
        assert_eq!(kept.iter().map(|r| r.kernels.clone().unwrap().len()).sum::<usize>(), 4, "{kept:?}");
        assert_eq!(select(rows.clone(), 4).len(), rows.len());
    }
}
