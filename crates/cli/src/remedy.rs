//! What to do about a rule of the library, in terms of the options. Rules whose own words name the remedy are not here.

use warpwright::{BuildError, PlanError, RaceError, RunError, Violation};

/// The remedy of an error, if the error does not name one that the command line has.
pub fn of(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<RunError>() {
        return match error {
            RunError::Build(error) => of_build(error),
            _ => None,
        };
    }
    if let Some(RaceError::Untimed { .. }) = error.downcast_ref() {
        return Some("that is, give --device host or --device cuda:0");
    }
    let build = error.downcast_ref::<BuildError>().and_then(of_build);
    let plan = || error.downcast_ref::<PlanError>().and_then(of_plan);
    build.or_else(plan).or_else(|| error.downcast_ref::<Violation>().and_then(of_rule))
}

fn of_build(error: &BuildError) -> Option<&'static str> {
    match error {
        BuildError::Rule(rule) => of_rule(rule),
        BuildError::Plan(error) => of_plan(error),
        _ => None,
    }
}

fn of_plan(error: &PlanError) -> Option<&'static str> {
    match error {
        PlanError::Rule(rule) => of_rule(rule),
        PlanError::ScheduleNotWritten { .. } => {
            Some("that is, leave --schedule and --loader out or give --device host")
        }
        PlanError::SchedulerNotWritten { .. } => Some("that is, leave --scheduler out or give --device host"),
        PlanError::TypesNotWritten { .. } | PlanError::ProblemNotWritten { .. } => Some("that is, give --device host"),
        _ => None,
    }
}

fn of_rule(rule: &Violation) -> Option<&'static str> {
    match rule {
        Violation::Extent { .. } => Some("give such a --tile, or leave it out to let the plan decide"),
        Violation::Stages { .. } => Some("give such --stages, or leave them out to let the plan decide"),
        Violation::NoSchedule { .. } => Some("that is, leave --schedule out, or give another --arch"),
        Violation::NoFeed { .. } => Some("that is, leave --scheduler out, or give another --schedule"),
        Violation::NoInstruction { .. } => {
            Some("that is, give other types with --type-a and --type-b, or another --arch")
        }
        Violation::NoAccumulator => Some("use acc in --epilogue"),
        _ => None,
    }
}
