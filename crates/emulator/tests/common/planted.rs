//! Planted faults: what a report must name.

use warpwright_emulator::{Fault, FaultKind, Site};

/// What a report may say of a planted fault: its kind, a part of the line where the rule is broken, and of the line that it
/// conflicts with (empty: with none).
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub kind: FaultKind,
    pub site: &'static str,
    pub other: &'static str,
}

pub const fn report(kind: FaultKind, site: &'static str, other: &'static str) -> Report {
    Report { kind, site, other }
}

/// Whether a line of `text` is the one that `site` names.
fn is_at(text: &str, site: &Site, part: &str) -> bool {
    text.lines().nth(site.line as usize - 1).is_some_and(|line| line.contains(part))
}

/// Runs 20 seeds of a broken text. Something must be reported, and whatever is must be one of `reports`, by threads that
/// `may` execute the lines.
pub fn check(text: &str, run: impl Fn(u64) -> Result<(), Fault>, reports: &[Report], may: impl Fn(&Site) -> bool) {
    let mut found = 0;
    for seed in 0..20 {
        let Err(fault) = run(seed) else { continue };
        found += 1;
        let matches = |report: &Report| {
            let site = fault.site.as_ref().is_some_and(|site| is_at(text, site, report.site) && may(site));
            let other = match &fault.other {
                Some(other) => !report.other.is_empty() && is_at(text, other, report.other) && may(other),
                None => report.other.is_empty(),
            };
            fault.kind == report.kind && site && other
        };
        assert!(reports.iter().any(matches), "seed {seed}: none of {reports:?}:\n{:?}: {fault}", fault.kind);
    }
    assert!(found > 0, "20 seeds report nothing, where one of {reports:?} is due");
}
