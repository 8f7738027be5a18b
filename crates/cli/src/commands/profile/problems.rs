//! Which problems are raced, and by whom.

use super::args::{CandidatesArgs, ProblemsArgs};
use super::suites;
use crate::error::InputError;
use crate::request::{
    Kernel, Operand, answer, arch, cluster, count, dtype, loader, order, schedule, scheduler, shape, staging, tile,
};
use warpwright::spec::{self, LoaderId};
use warpwright::{
    ArchId, DeviceInfo, Dtype, GemmDesc, Mnk, Node, RaceEntrant, RaceProblem, ScheduleId, SchedulerId, StagingId,
    Violation, race_space, shortlist,
};

/// A problem with its name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The suite it is from.
    pub suite: Option<String>,
    /// Its name there, or its extents.
    pub name: String,
    /// The problem.
    pub problem: RaceProblem,
}

/// Reads the problems: each type with each shape.
pub fn problems(args: &ProblemsArgs) -> Result<Vec<Named>, InputError> {
    let mut shapes = Vec::new();
    for text in &args.shape {
        shapes.push((None, text.clone(), shape(text)?));
    }
    for name in &args.suite {
        shapes.extend(
            suites::suite(name)?.into_iter().map(|shape| (Some(name.clone()), shape.name.clone(), shape.mnk())),
        );
    }
    let mut types = Vec::new();
    for text in &args.types {
        types.extend(dtype("type", &Some(text.clone()))?);
    }
    if types.is_empty() {
        types.push(Dtype::Bf16);
    }
    let type_b = dtype("type-b", &args.type_b)?;
    let output = dtype("output-type", &args.output_type)?;
    let order_a = order("order-a", &args.order_a)?.unwrap_or(spec::Order::Row);
    let order_b = order("order-b", &args.order_b)?.unwrap_or(spec::Order::Column);
    let order_d = order("order-d", &args.order_d)?.unwrap_or(spec::Order::Row);
    let batch = args.batch.as_deref().map_or(Ok(1), |text| count("batch", text, 1))?;
    let mut problems = Vec::new();
    for &element in &types {
        for (suite, name, mnk) in &shapes {
            let usual = RaceProblem::new(*mnk, element);
            let problem = RaceProblem {
                batch,
                b: type_b.unwrap_or(element),
                d: output.unwrap_or(usual.d),
                order_a,
                order_b,
                order_d,
                fast_accumulation: args.fast_accumulation,
                ..usual
            };
            problems.push(Named { suite: suite.clone(), name: name.clone(), problem });
        }
    }
    Ok(problems)
}

/// What is named of the candidates.
pub struct Candidates {
    arch: Option<ArchId>,
    tiles: Vec<Mnk>,
    swaps: Vec<bool>,
    clusters: Vec<Mnk>,
    schedules: Vec<ScheduleId>,
    loaders: Vec<LoaderId>,
    stages: Vec<usize>,
    schedulers: Vec<SchedulerId>,
    stagings: Vec<StagingId>,
    splits: Vec<usize>,
    /// How many of what is not named.
    more: usize,
    /// How many plans of the model's liking, instead of everything else.
    tuned: Option<usize>,
}

/// Those who race on a problem.
pub struct Entered {
    /// Legal kernels, the plan's own choice first.
    pub entrants: Vec<RaceEntrant>,
    /// Combinations that break a rule.
    pub illegal: Vec<(String, Violation)>,
    /// Whether there are more than the plan's own choice.
    is_named: bool,
}

impl Candidates {
    /// Reads the options.
    pub fn of(args: &CandidatesArgs) -> Result<Candidates, InputError> {
        Ok(Candidates {
            arch: arch(&args.arch)?,
            tiles: args.tile.iter().map(|text| tile(text)).collect::<Result<_, _>>()?,
            swaps: each(&args.swap_ab, |text| answer("swap-ab", text))?,
            clusters: args.cluster.iter().map(|text| cluster(text)).collect::<Result<_, _>>()?,
            schedules: each(&args.schedule, schedule)?,
            loaders: each(&args.loader, loader)?,
            stages: args.stages.iter().map(|text| count("stages", text, 1)).collect::<Result<_, _>>()?,
            schedulers: each(&args.scheduler, scheduler)?,
            stagings: each(&args.staging, staging)?,
            splits: args.splits.iter().map(|text| count("splits", text, 1)).collect::<Result<_, _>>()?,
            more: match (&args.top, args.all) {
                (Some(text), _) => count("top", text, 1)?,
                (None, true) => usize::MAX,
                (None, false) => 0,
            },
            tuned: args.tune.as_deref().map(|text| count("tune", text, 1)).transpose()?,
        })
    }

    /// Whether who wins is to be remembered.
    pub fn tune(&self) -> bool {
        self.tuned.is_some()
    }

    /// The candidates for a problem on a device.
    pub fn enter(&self, info: &DeviceInfo, problem: &RaceProblem) -> Entered {
        let kernel = Kernel {
            arch: self.arch,
            output: Some(problem.d),
            // Of types whose sums are whole there is nothing to choose.
            fast_accumulation: problem.fast_accumulation && (problem.a.is_fp8() || problem.b.is_fp8()),
            ..Kernel::default()
        };
        let operand = |dtype, order| Operand { dtype, order };
        let (a, b) = (operand(problem.a, problem.order_a), operand(problem.b, problem.order_b));
        let mut base = kernel.desc(info, a, b, &Node::LoadAcc);
        base.order_d = Some(problem.order_d);
        let mut entered = Entered { entrants: Vec::new(), illegal: Vec::new(), is_named: false };
        if let Some(count) = self.tuned
            && let Ok(listed) = shortlist(&base, info, problem, count)
        {
            entered.entrants = listed;
            return entered;
        }
        let base = Combination { desc: base, splits: None };
        entered.add("auto".into(), &base);
        let named = self.combinations(&base);
        entered.is_named = !named.is_empty();
        for combination in &named {
            entered.add(combination.label(), combination);
        }
        if self.more > 0 {
            for base in if named.is_empty() { vec![base] } else { named } {
                for desc in race_space(&base.desc, info, problem).into_iter().take(self.more) {
                    let combination = Combination { desc, ..base };
                    entered.add(combination.label(), &combination);
                }
            }
        }
        entered
    }

    /// Every combination of what is named; none if nothing is.
    fn combinations(&self, base: &Combination) -> Vec<Combination> {
        let mut found = vec![*base];
        found = varied(&found, &self.tiles, |to, tile| to.desc.tile = Some(tile));
        found = varied(&found, &self.swaps, |to, swapped| to.desc.swap_ab = Some(swapped));
        found = varied(&found, &self.clusters, |to, cluster| to.desc.cluster = Some(cluster));
        found = varied(&found, &self.schedules, |to, schedule| to.desc.schedule = schedule);
        found = varied(&found, &self.loaders, |to, loader| to.desc.loader = Some(loader));
        found = varied(&found, &self.stages, |to, stages| to.desc.stages = Some(stages));
        found = varied(&found, &self.schedulers, |to, scheduler| to.desc.scheduler = scheduler);
        found = varied(&found, &self.stagings, |to, staging| to.desc.staging = staging);
        found = varied(&found, &self.splits, |to, splits| to.splits = Some(splits));
        found.retain(|combination| combination != base);
        found
    }
}

/// A kernel as far as it is named.
#[derive(Clone, Copy, PartialEq)]
struct Combination {
    desc: GemmDesc,
    splits: Option<usize>,
}

impl Combination {
    fn label(&self) -> String {
        let desc = &self.desc;
        let mut parts = Vec::new();
        if !matches!(desc.schedule, ScheduleId::AUTO) {
            parts.push(desc.schedule.name().to_owned());
        }
        parts.extend(desc.loader.map(|loader| loader.name().to_owned()));
        parts.extend(desc.tile.map(|tile| tile.to_string()));
        parts.extend(desc.swap_ab.map(|swapped| if swapped { "swapped" } else { "not swapped" }.to_owned()));
        parts.extend(desc.cluster.map(|cluster| format!("cluster {cluster}")));
        parts.extend(desc.stages.map(|stages| format!("{stages} stages")));
        if !matches!(desc.scheduler, SchedulerId::AUTO) {
            parts.push(desc.scheduler.name().to_owned());
        }
        if !matches!(desc.staging, StagingId::AUTO) {
            parts.push(desc.staging.name().to_owned());
        }
        parts.extend(self.splits.map(|splits| format!("{splits} splits")));
        if parts.is_empty() { "auto".into() } else { parts.join(" ") }
    }
}

impl Entered {
    /// The rule that keeps everybody who was named from racing, or everybody at all where cuBLASLt does not race either.
    pub fn nobody(&self, library: bool) -> Option<Violation> {
        let named = self.entrants.iter().filter(|entrant| entrant.label() != "auto").count();
        let nobody = if self.is_named { named == 0 } else { self.entrants.is_empty() && !library };
        self.illegal.last().filter(|_| nobody).map(|(_, rule)| *rule)
    }

    fn add(&mut self, label: String, Combination { desc, splits }: &Combination) {
        match RaceEntrant::from_desc(label.clone(), desc) {
            Ok(entrant) => {
                let entrant = splits.iter().fold(entrant, |entrant, &parts| entrant.splits(parts));
                if self.entrants.iter().all(|known| known.label() != label) {
                    self.entrants.push(entrant);
                }
            }
            Err(rule) => self.illegal.push((label, rule)),
        }
    }
}

fn each<T>(
    texts: &[String],
    read: impl Fn(&Option<String>) -> Result<Option<T>, InputError>,
) -> Result<Vec<T>, InputError> {
    let read: Vec<Option<T>> = texts.iter().map(|text| read(&Some(text.clone()))).collect::<Result<_, _>>()?;
    Ok(read.into_iter().flatten().collect())
}

/// Each with each value; without values, as they are.
fn varied<T: Copy>(from: &[Combination], values: &[T], set: impl Fn(&mut Combination, T)) -> Vec<Combination> {
    if values.is_empty() {
        return from.to_vec();
    }
    let with = |from: &Combination, value: T| {
        let mut to = *from;
        set(&mut to, value);
        to
    };
    let with = &with;
    from.iter().flat_map(|from| values.iter().map(move |&value| with(from, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Candidates {
        Candidates {
            arch: None,
            tiles: Vec::new(),
            swaps: Vec::new(),
            clusters: Vec::new(),
            loaders: Vec::new(),
            schedules: Vec::new(),
            stages: Vec::new(),
            schedulers: Vec::new(),
            stagings: Vec::new(),
            splits: Vec::new(),
            more: 0,
            tuned: None,
        }
    }

    fn problem(element: Dtype) -> RaceProblem {
        RaceProblem::new(Mnk { m: 512, n: 512, k: 512 }, element)
    }

    fn labels(candidates: &Candidates, info: &DeviceInfo, element: Dtype) -> Vec<String> {
        let entered = candidates.enter(info, &problem(element));
        entered.entrants.iter().map(|entrant| entrant.label().to_owned()).collect()
    }

    #[test]
    fn every_combination_races_beside_auto() {
        let tile = |m, n, k| Mnk { m, n, k };
        let two = Candidates { tiles: vec![tile(128, 128, 32), tile(64, 64, 64)], stages: vec![2, 3], ..candidates() };
        assert_eq!(
            labels(&two, &DeviceInfo::a100(), Dtype::F16),
            ["auto", "128x128x32 2 stages", "128x128x32 3 stages", "64x64x64 2 stages", "64x64x64 3 stages"]
        );
        assert_eq!(labels(&candidates(), &DeviceInfo::a100(), Dtype::F16), ["auto"]);
        let split = Candidates { splits: vec![1, 4], ..candidates() };
        assert_eq!(labels(&split, &DeviceInfo::a100(), Dtype::F16), ["auto", "1 splits", "4 splits"]);
    }

    #[test]
    fn all_expands_what_is_not_named() {
        let all = labels(&Candidates { more: usize::MAX, ..candidates() }, &DeviceInfo::a100(), Dtype::Bf16);
        assert!(all.len() > 20 && all.contains(&"Multistage 128x256x64".to_owned()), "{all:?}");
        let named = Candidates { more: usize::MAX, stages: vec![3], ..candidates() };
        let named = labels(&named, &DeviceInfo::a100(), Dtype::Bf16);
        assert!(named.iter().filter(|label| label.contains("x")).all(|label| label.ends_with("3 stages")), "{named:?}");
    }

    #[test]
    fn one_illegal_candidate_among_legal_ones_is_told() {
        let mixed = Candidates { stages: vec![3, 99], ..candidates() };
        let entered = mixed.enter(&DeviceInfo::a100(), &problem(Dtype::F16));
        assert_eq!((entered.entrants.len(), entered.illegal.len(), entered.nobody(true)), (2, 1, None));
        let wrong = Candidates { stages: vec![99], ..candidates() };
        let entered = wrong.enter(&DeviceInfo::a100(), &problem(Dtype::F16));
        assert!(matches!(entered.nobody(true), Some(Violation::Stages { .. })));
    }

    #[test]
    fn cublaslt_may_race_alone() {
        // e4m3 is not Sm80's.
        let entered = candidates().enter(&DeviceInfo::a100(), &problem(Dtype::E4m3));
        assert!(entered.entrants.is_empty() && entered.nobody(true).is_none());
        assert!(matches!(entered.nobody(false), Some(Violation::NoInstruction { .. })));
    }

    #[test]
    fn the_best_predicted_are_taken() {
        let info = DeviceInfo::h200();
        let all = labels(&Candidates { more: usize::MAX, ..candidates() }, &info, Dtype::Bf16);
        let top = labels(&Candidates { more: 3, ..candidates() }, &info, Dtype::Bf16);
        assert_eq!(top, all[..4]);
    }
}
