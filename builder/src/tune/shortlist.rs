use super::choice::PlanChoice;
use crate::auto::{self, PlanError};
use crate::race::{RaceEntrant, RaceProblem};
use warpwright_arch::DeviceInfo;
use warpwright_spec::GemmDesc;

/// The plans that the model takes for the fastest, as entrants of a race: as many as `count`, and the first is `auto`, what is
/// chosen without a record.
///
/// # Errors
/// [`PlanError`] if there is no plan.
pub fn shortlist(
    desc: &GemmDesc,
    device: &DeviceInfo,
    problem: &RaceProblem,
    count: usize,
) -> Result<Vec<RaceEntrant>, PlanError> {
    let spec = problem.laid(&desc.spec()?);
    let mut entrants: Vec<RaceEntrant> = Vec::new();
    let mut chosen = Vec::new();
    for plan in auto::ranked(&spec, device, &problem.problem(), &problem.facts())? {
        let choice = PlanChoice::of(&plan);
        if entrants.len() < count && !chosen.contains(&choice) {
            let label = if entrants.is_empty() { "auto".into() } else { choice.to_string() };
            entrants.push(RaceEntrant::new(label, &spec).chosen(choice));
            chosen.push(choice);
        }
    }
    Ok(entrants)
}
