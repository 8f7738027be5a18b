//! `warpwright profile`: kernels timed against each other and against cuBLASLt.

pub mod args;
mod baseline;
mod csv;
mod html;
mod problems;
mod report;
mod suites;
mod summary;

use super::{print, print_json};
use crate::error::InputError;
use crate::files;
use crate::place::Place;
use crate::progress::Progress;
use crate::remedy;
use crate::request::count;
use args::{OutputArgs, ProfileArgs};
use problems::{Candidates, Named, problems};
use report::{Race, Report};
use std::path::Path;
use warpwright::{ArchId, Device, RaceRules, Tuning, race};

/// Races; whether everything that was checked holds: the baseline, the results of the kernels, and that every race took place.
pub fn run(args: &ProfileArgs) -> anyhow::Result<bool> {
    check_outputs(&args.output)?;
    let problems = problems(&args.problems)?;
    if problems.is_empty() && !args.running.check_baseline {
        return Err(InputError::NoShapes.into());
    }
    let candidates = Candidates::of(&args.candidates)?;
    let usual = RaceRules::default();
    let rounds = args.running.rounds.as_deref().map_or(Ok(usual.rounds), |text| count("rounds", text, 1))?;
    let seed = args.running.seed.as_deref().map_or(Ok(1), |text| count("seed", text, 0))? as u64;
    let device = match Place::of(args.running.device.as_deref())? {
        Place::Emulator(_) => return Err(InputError::NotTimed.into()),
        place => place.open(ArchId::SM80)?,
    };
    let library = !args.candidates.no_cublaslt && !device.is_host();
    let rules = RaceRules { rounds, seed, library, ..usual };
    let tables = !args.output.json && !args.output.summary;

    let mut report = Report { device: device.name().to_owned(), baseline: None, races: Vec::new() };
    if args.running.check_baseline {
        let progress = Progress::new("timing the baseline", suites::baseline().len());
        let check = baseline::check(&device, &rules, || progress.step())?;
        drop(progress);
        if !args.output.json {
            print(check.to_string().as_bytes())?;
        }
        report.baseline = Some(check);
    }
    let lines = summary::Lines::of(&problems);
    let summarised = !args.output.json && !problems.is_empty() && (args.output.summary || problems.len() > 1);
    if summarised && args.output.summary {
        print(lines.head().as_bytes())?;
    }
    let withhold = report.baseline.as_ref().is_some_and(|check| !check.holds);
    for (i, named) in problems.iter().enumerate() {
        let raced = raced(&device, named, &candidates, &rules, withhold, (i, problems.len()));
        let (race, text) = match raced {
            Ok(raced) => raced,
            // A problem that cannot be raced is no reason to throw the others away.
            Err(error) if problems.len() > 1 => {
                let why = match remedy::of(&error) {
                    Some(remedy) => format!("{error}; {remedy}"),
                    None => error.to_string(),
                };
                (Race::failed(named, why.clone()), format!("{}: {why}\n", named.problem))
            }
            Err(error) => return Err(error),
        };
        // At once: a race may take long, and what comes after it may fail.
        if tables {
            print(format!("{}{text}", if i > 0 { "\n" } else { "" }).as_bytes())?;
        } else if summarised {
            print(lines.line(&race).as_bytes())?;
        }
        report.races.push(race);
    }
    if summarised {
        let all: String = report.races.iter().map(|race| lines.line(race)).collect();
        let above = if tables { format!("\n{}{all}", lines.head()) } else { String::new() };
        print(format!("{above}{}", summary::tail(&report)?).as_bytes())?;
    }
    if let Some(path) = &args.output.csv {
        files::write_atomically(path, csv::text(&report).as_bytes())?;
    }
    if let Some(path) = &args.output.html {
        files::write_atomically(path, html::page(&report)?.as_bytes())?;
    }
    if args.output.json {
        print_json(&report)?;
    }
    let fair = |race: &Race| {
        race.failed.is_none() && !race.rows.is_empty() && race.refused.iter().all(|refused| !refused.wrong)
    };
    Ok(!withhold && report.races.iter().all(fair))
}

/// One problem's race, and its table.
fn raced(
    device: &Device,
    named: &Named,
    candidates: &Candidates,
    rules: &RaceRules<'_>,
    withhold: bool,
    (index, count): (usize, usize),
) -> anyhow::Result<(Race, String)> {
    // In thousandths of a problem, since how many entrants each has is known later.
    const UNIT: usize = 1000;
    let progress = Progress::new("racing", UNIT * count);
    let watch = |done: usize, total: usize| progress.reach(UNIT * index + UNIT * done / total.max(1));
    progress.reach(UNIT * index);
    let entered = candidates.enter(device.info(), &named.problem);
    if let Some(rule) = entered.nobody(rules.library) {
        return Err(rule.into());
    }
    let mut table = race(device, &named.problem, &entered.entrants, &RaceRules { watch: Some(&watch), ..*rules })?;
    if withhold {
        table.withhold_ratios();
    }
    let remembered = match candidates.tune() && table.best_kernel().is_some() {
        true => format!("remembered: {}\n", Tuning::global().remember(device.info(), &table)?),
        false => String::new(),
    };
    let race = Race::new(named, &table, &entered);
    let suite = named.suite.as_ref().map_or(String::new(), |suite| format!("{suite} {}: ", named.name));
    let illegal: String = entered.illegal.iter().map(|(label, rule)| format!("  - {label}: {rule}\n")).collect();
    Ok((race, format!("{suite}{table}{illegal}{remembered}")))
}

/// Refuses files that could not be written, before anything is measured.
fn check_outputs(output: &OutputArgs) -> Result<(), InputError> {
    for (flag, path, kind) in [("csv", &output.csv, "csv"), ("html", &output.html, "html")] {
        let Some(path) = path else { continue };
        if Path::new(path).extension().is_none_or(|extension| extension != kind) {
            return Err(InputError::Extension { flag, path: path.display().to_string(), kind });
        }
        files::check_target(path)?;
    }
    Ok(())
}
