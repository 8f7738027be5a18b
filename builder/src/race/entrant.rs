//! Who races, and by which rules.

use super::{RaceError, RaceProblem};
use crate::any::AnyGemm;
use crate::error::BuildError;
use crate::list::Kernels;
use crate::tune::PlanChoice;
use warpwright_runtime::Device;
use warpwright_spec::{GemmDesc, Node, RasterOrder, Spec, Violation};

/// A kernel that enters a race.
#[derive(Clone, Debug)]
pub struct RaceEntrant {
    label: String,
    spec: Spec,
    walk: Option<(RasterOrder, usize)>,
    splits: Option<usize>,
    choice: Option<PlanChoice>,
}

impl RaceEntrant {
    /// A kernel of a spec. Without a label it goes by its plan's name.
    pub fn new(label: impl Into<String>, spec: &Spec) -> RaceEntrant {
        RaceEntrant { label: label.into(), spec: *spec, walk: None, splits: None, choice: None }
    }

    /// A kernel from values.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn from_desc(label: impl Into<String>, desc: &GemmDesc) -> Result<RaceEntrant, Violation> {
        Ok(RaceEntrant::new(label, &desc.spec()?))
    }

    /// Kernels by type: a tuple of up to eight. An illegal one is a compile error.
    pub fn of_types<K: Kernels>() -> Vec<RaceEntrant> {
        K::specs().iter().map(|spec| RaceEntrant::new("", spec)).collect()
    }

    /// The same kernel with its tiles walked in this order: `swizzle` tiles side by side, rounded up to a power of two.
    pub fn rasterized(mut self, raster: RasterOrder, swizzle: usize) -> RaceEntrant {
        self.walk = Some((raster, swizzle));
        self
    }

    /// The same kernel with K cut into as many parts, as [`Kernel::splits`](crate::Kernel::splits) does.
    pub fn splits(mut self, parts: usize) -> RaceEntrant {
        self.splits = Some(parts);
        self
    }

    /// The same kernel by the plan that decides this, whatever the model, or a record, says.
    pub fn chosen(mut self, choice: PlanChoice) -> RaceEntrant {
        self.choice = Some(choice);
        self
    }

    /// What it was called; empty if it goes by its plan's name.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What it is, where there is no plan to name it.
    pub(super) fn describe(&self) -> String {
        if !self.label.is_empty() {
            return self.label.clone();
        }
        let Spec { arch, schedule, tile, stages, scheduler, .. } = self.spec;
        let tile = tile.map_or(String::new(), |tile| format!(" {tile}"));
        let stages = stages.map_or(String::new(), |stages| format!(", {stages} stages"));
        format!("{arch} {schedule}{tile}{stages}, {scheduler} scheduler")
    }

    /// Refuses what is not this problem's product.
    pub(super) fn check(&self, problem: &RaceProblem) -> Result<(), RaceError> {
        let entrant = || self.describe();
        let given = (self.spec.a, self.spec.b, self.spec.d);
        let raced = (problem.a, problem.b, problem.d);
        if given != raced {
            return Err(RaceError::Types { entrant: entrant(), given, raced });
        }
        if !matches!(self.spec.epilogue, Node::LoadAcc) {
            return Err(RaceError::Epilogue { entrant: entrant(), epilogue: self.spec.epilogue.to_string() });
        }
        if self.spec.scales.any() {
            return Err(RaceError::Scales { entrant: entrant() });
        }
        Ok(())
    }

    /// The kernel on a device, for operands that lie as the problem says.
    pub(super) fn build(&self, device: &Device, problem: &RaceProblem) -> Result<AnyGemm, BuildError> {
        let mut gemm = AnyGemm::from_spec(&problem.laid(&self.spec), device)?;
        if let Some((raster, swizzle)) = self.walk {
            gemm = gemm.rasterized(raster, swizzle);
        }
        if let Some(choice) = self.choice {
            gemm = gemm.chosen(choice);
        }
        Ok(match self.splits {
            Some(parts) => gemm.splits(parts),
            None => gemm,
        })
    }
}

/// How a race is run.
#[derive(Clone, Copy)]
pub struct RaceRules<'a> {
    /// Times that everyone is timed.
    pub rounds: usize,
    /// Times that everyone runs before that, after the run that is checked.
    pub warmups: usize,
    /// Times that each of cuBLASLt's algorithms is timed to choose the one that races.
    pub qualifying: usize,
    /// What the operands and the order of running are drawn from.
    pub seed: u64,
    /// Size of the buffer that is filled before every run; `None`: four times the L2 cache, and at least 256 MiB on a GPU.
    pub flush_bytes: Option<usize>,
    /// Whether cuBLASLt enters. Where it cannot, the table says why.
    pub library: bool,
    /// Told how many of how many timed runs are done.
    pub watch: Option<&'a (dyn Fn(usize, usize) + Sync)>,
}

impl Default for RaceRules<'_> {
    fn default() -> Self {
        RaceRules { rounds: 15, warmups: 2, qualifying: 5, seed: 1, flush_bytes: None, library: true, watch: None }
    }
}

impl RaceRules<'_> {
    pub(super) fn watch(&self, done: usize, total: usize) {
        if let Some(watch) = self.watch {
            watch(done, total);
        }
    }
}

impl std::fmt::Debug for RaceRules<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RaceRules")
            .field("rounds", &self.rounds)
            .field("warmups", &self.warmups)
            .field("qualifying", &self.qualifying)
            .field("seed", &self.seed)
            .field("flush_bytes", &self.flush_bytes)
            .field("library", &self.library)
            .finish_non_exhaustive()
    }
}
