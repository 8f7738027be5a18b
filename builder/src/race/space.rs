//! What there is to choose from: tiles and schedules beyond those that `Auto` looks at.

use super::RaceProblem;
use crate::auto;
use warpwright_arch::DeviceInfo;
use warpwright_spec::{GemmDesc, InstructionId, LoaderId, Mnk, ScheduleId};

const ROWS: &[usize] = &[16, 32, 64, 128, 256];
const COLUMNS: &[usize] = &[16, 32, 64, 128, 256];
/// Instructions that read shared memory take other widths too.
const WIDE_COLUMNS: &[usize] = &[8, 16, 32, 64, 96, 128, 160, 192, 224, 256];
/// Depths of a tile, as bytes of a line of the wider operand.
const LINES: &[usize] = &[64, 128];

/// Every schedule and tile of a grid that has a plan on the device, the one that the model takes for the fastest first. What
/// `base` names (a tile, a schedule, a depth of the pipeline) stays.
pub fn space(base: &GemmDesc, device: &DeviceInfo, problem: &RaceProblem) -> Vec<GemmDesc> {
    let schedules: Vec<ScheduleId> = match base.schedule {
        ScheduleId::AUTO => {
            let dots = auto::few_columns(&problem.problem());
            let raced = |s: &ScheduleId| !matches!(s, ScheduleId::AUTO) && (dots || !matches!(s, ScheduleId::GEMV));
            ScheduleId::ALL.iter().copied().filter(raced).collect()
        }
        named => vec![named],
    };
    let (facts, extents) = (problem.facts(), problem.problem());
    let predicted = |desc: &GemmDesc| {
        let plan = auto::resolve(&desc.spec().ok()?, device, &extents, &facts).ok()?;
        Some(auto::predict(&plan, device, &extents).seconds)
    };
    let mut found = Vec::new();
    for scheduled in schedules.into_iter().flat_map(|schedule| orientations(GemmDesc { schedule, ..*base })) {
        for tile in tiles(&scheduled, problem) {
            let desc = GemmDesc { tile: Some(tile), ..scheduled };
            found.extend(predicted(&desc).map(|seconds| (seconds, desc)));
        }
    }
    found.sort_by(|x, y| x.0.total_cmp(&y.0));
    found.into_iter().map(|(_, desc)| desc).collect()
}

/// As it is and, where an instruction has more rows than columns and nobody named either, with A and B in one another's places;
/// dot products by each loader.
fn orientations(desc: GemmDesc) -> Vec<GemmDesc> {
    let instruction = desc.spec().map(|spec| spec.instruction);
    if instruction == Ok(InstructionId::DOT) && desc.loader.is_none() {
        let bulk = GemmDesc { loader: Some(LoaderId::BULK_ROWS), ..desc };
        return [desc, bulk].into_iter().filter(|desc| desc.spec().is_ok()).collect();
    }
    let of_warp_groups = instruction == Ok(InstructionId::WGMMA);
    match of_warp_groups && desc.swap_ab.is_none() && desc.tile.is_none() {
        true => [false, true].map(|swapped| GemmDesc { swap_ab: Some(swapped), ..desc }).to_vec(),
        false => vec![desc],
    }
}

fn tiles(desc: &GemmDesc, problem: &RaceProblem) -> Vec<Mnk> {
    if let Some(tile) = desc.tile {
        return vec![tile];
    }
    let Ok(spec) = desc.spec() else { return Vec::new() };
    if spec.instruction == InstructionId::DOT {
        let whole = problem.problem();
        return auto::dot_tiles(&spec, &whole, &problem.facts(), auto::dot_transposed(&spec, &whole));
    }
    let columns = match spec.instruction {
        InstructionId::WGMMA | InstructionId::TCGEN05 => WIDE_COLUMNS,
        _ => COLUMNS,
    };
    let bits = desc.a.bits().max(desc.b.bits());
    let mut tiles = Vec::new();
    for &m in ROWS {
        for &n in columns {
            let (m, n) = if desc.swap_ab == Some(true) { (n, m) } else { (m, n) };
            tiles.extend(LINES.iter().map(|line| Mnk { m, n, k: line * 8 / bits }));
        }
    }
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpwright_arch::ArchId;
    use warpwright_numeric::Dtype;

    #[test]
    fn wgmma_is_tried_both_ways_round() {
        let problem = RaceProblem::new(Mnk { m: 16, n: 4096, k: 4096 }, Dtype::Bf16);
        let all = space(&GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32), &DeviceInfo::h200(), &problem);
        let of = |swapped| all.iter().filter(move |desc| desc.swap_ab == swapped).count();
        assert!(of(Some(true)) > 20 && of(Some(false)) > 20 && of(None) > 0, "{all:?}");
    }

    #[test]
    fn it_holds_what_auto_chooses_and_more() {
        let device = DeviceInfo::a100();
        for size in [512, 4096] {
            let problem = RaceProblem::new(Mnk { m: size, n: size, k: size }, Dtype::Bf16);
            let base = GemmDesc::new(ArchId::SM80, Dtype::Bf16, Dtype::F32);
            let all = space(&base, &device, &problem);
            let plan = auto::resolve(&base.spec().unwrap(), &device, &problem.problem(), &problem.facts()).unwrap();
            assert!(all.iter().any(|desc| desc.tile == plan.spec.tile), "{:?} is not raced", plan.spec.tile);
            assert!(all.len() > 20, "{}", all.len());
            assert!(all.iter().all(|desc| desc.spec().is_ok()));
            let seconds = |desc: &GemmDesc| {
                let plan = auto::resolve(&desc.spec().unwrap(), &device, &problem.problem(), &problem.facts()).unwrap();
                auto::predict(&plan, &device, &problem.problem()).seconds
            };
            assert!(all.is_sorted_by(|x, y| seconds(x) <= seconds(y)));
        }
    }

    #[test]
    fn what_is_named_stays() {
        let problem = RaceProblem::new(Mnk { m: 256, n: 256, k: 256 }, Dtype::F16);
        let mut base = GemmDesc::new(ArchId::SM90, Dtype::F16, Dtype::F32);
        base.tile = Some(Mnk { m: 128, n: 128, k: 64 });
        let all = space(&base, &DeviceInfo::host(), &problem);
        assert!(all.len() > 1 && all.iter().all(|desc| desc.tile == base.tile));
        base.schedule = ScheduleId::COOPERATIVE;
        assert_eq!(space(&base, &DeviceInfo::host(), &problem).len(), 1);
    }
}
