use core::fmt;
use serde::{Deserialize, Serialize};
use warpwright_spec::{KernelPlan, LoaderId, Mnk, Repacks, ScheduleId, SchedulerId, loads};

/// What a plan decides of a problem's kernel, in the kernel's terms: enough to find the plan again among the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct PlanChoice {
    /// How the kernel overlaps its work.
    pub schedule: ScheduleId,
    /// How operands arrive, where that is not the schedule's usual way.
    pub loader: Option<LoaderId>,
    /// How tiles are handed out.
    pub scheduler: SchedulerId,
    /// Whether the kernel's rows are the user's columns.
    pub transposed: bool,
    /// The tile.
    pub tile: Mnk,
    /// The cluster.
    pub cluster: Mnk,
    /// Parts of K.
    pub splits: usize,
    /// Operands that are copied into workspace first.
    pub repacks: Repacks,
}

impl PlanChoice {
    /// What this plan decided.
    pub fn of(plan: &KernelPlan) -> PlanChoice {
        PlanChoice {
            schedule: plan.spec.schedule,
            loader: Some(plan.spec.loader)
                .filter(|_| loads(plan.spec.arch, plan.spec.instruction) != Some(plan.spec.loader)),
            scheduler: plan.spec.scheduler,
            transposed: plan.transposed,
            tile: plan.tile,
            cluster: plan.cluster,
            splits: plan.splits,
            repacks: plan.repacks,
        }
    }
}

impl fmt::Display for PlanChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanChoice { schedule, loader, scheduler, transposed, tile, cluster, splits, repacks } = self;
        write!(f, "{schedule} {tile}")?;
        if let Some(loader) = loader {
            write!(f, " {loader}")?;
        }
        if *transposed {
            f.write_str(" transposed")?;
        }
        match cluster {
            Mnk { m: 1, n: 1, k: 1 } => {}
            Mnk { m, n, k: 1 } => write!(f, " cluster {m}x{n}")?,
            whole => write!(f, " cluster {whole}")?,
        }
        write!(f, " {scheduler}")?;
        if *splits > 1 {
            write!(f, " {splits} splits")?;
        }
        if repacks.any() {
            let user = if *transposed { repacks.swapped() } else { *repacks };
            write!(f, " {} repacked", user.name())?;
        }
        Ok(())
    }
}

/// As it stands in a file.
#[derive(Serialize, Deserialize)]
struct Written {
    schedule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loader: Option<String>,
    scheduler: String,
    transposed: bool,
    tile: [usize; 3],
    cluster: [usize; 3],
    splits: usize,
    /// Whether the first operand is copied, and the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repacks: Option<[bool; 2]>,
}

impl From<PlanChoice> for Written {
    fn from(choice: PlanChoice) -> Written {
        let extents = |Mnk { m, n, k }: Mnk| [m, n, k];
        Written {
            schedule: choice.schedule.name().into(),
            loader: choice.loader.map(|loader| loader.name().into()),
            scheduler: choice.scheduler.name().into(),
            transposed: choice.transposed,
            tile: extents(choice.tile),
            cluster: extents(choice.cluster),
            splits: choice.splits,
            repacks: choice.repacks.any().then_some([choice.repacks.a, choice.repacks.b]),
        }
    }
}

impl TryFrom<Written> for PlanChoice {
    type Error = String;

    fn try_from(written: Written) -> Result<PlanChoice, String> {
        let extents = |[m, n, k]: [usize; 3]| Mnk { m, n, k };
        let loader = |name: String| LoaderId::from_name(&name).ok_or_else(|| format!("`{name}` is no loader"));
        Ok(PlanChoice {
            loader: written.loader.map(loader).transpose()?,
            schedule: ScheduleId::from_name(&written.schedule)
                .ok_or_else(|| format!("`{}` is no schedule", written.schedule))?,
            scheduler: SchedulerId::from_name(&written.scheduler)
                .ok_or_else(|| format!("`{}` is no scheduler", written.scheduler))?,
            transposed: written.transposed,
            tile: extents(written.tile),
            cluster: extents(written.cluster),
            splits: written.splits,
            repacks: written.repacks.map_or(Repacks::NONE, |[a, b]| Repacks { a, b }),
        })
    }
}
