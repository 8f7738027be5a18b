use super::choice::PlanChoice;
use super::class::{Class, is_open};
use super::error::TuningError;
use super::file::{self, Winner, Winners};
use crate::auto::{self, OperandFacts};
use crate::race::{RaceRunner, RaceTable};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use warpwright_arch::DeviceInfo;
use warpwright_runtime::cache::default_directory;
use warpwright_spec::{KernelPlan, Problem, Spec};

/// Winners of races by device and problem, in memory and in a file. Shared by threads.
#[derive(Debug)]
pub struct Tuning {
    path: Option<PathBuf>,
    winners: RwLock<Winners>,
    warned: AtomicBool,
}

impl Tuning {
    /// The process's: the file that `WARPWRIGHT_TUNING` names, else `tuning.json` in the cache's directory. If the variable is
    /// empty there is none.
    pub fn global() -> Arc<Tuning> {
        static GLOBAL: OnceLock<Arc<Tuning>> = OnceLock::new();
        let global = GLOBAL.get_or_init(|| {
            let cached = || default_directory().map(|directory| directory.join("tuning.json"));
            let path = match std::env::var_os("WARPWRIGHT_TUNING") {
                Some(named) => Some(PathBuf::from(named)).filter(|path| !path.as_os_str().is_empty()),
                None => cached(),
            };
            Arc::new(path.map_or_else(Tuning::in_memory, |path| Tuning::open(&path)))
        });
        Arc::clone(global)
    }

    /// What a file holds; nothing, if it is not there. One that cannot be read is warned of, and counts as empty.
    pub fn open(path: &Path) -> Tuning {
        let tuning = Tuning { path: Some(path.to_owned()), ..Tuning::in_memory() };
        match file::read(path) {
            Ok(winners) => *tuning.winners.write().unwrap_or_else(PoisonError::into_inner) = winners,
            Err(why) => tuning.warn(&format!("{} is not a file of winners ({why})", path.display())),
        }
        tuning
    }

    /// What an explanation of a winner's plan ends with.
    pub const NOTE: &str = "  tuned      the fastest of a race on this device, whatever the model predicts\n";

    /// None yet, and no file for them.
    pub fn in_memory() -> Tuning {
        Tuning { path: None, winners: RwLock::default(), warned: AtomicBool::new(false) }
    }

    /// The plan that won on this device for this problem, if there is a record, and such a plan still. A kernel with a slot
    /// that its user named has none.
    pub fn plan(
        &self,
        spec: &Spec,
        device: &DeviceInfo,
        problem: &Problem,
        facts: &OperandFacts,
    ) -> Option<KernelPlan> {
        if !is_open(spec) || self.read().is_empty() {
            return None;
        }
        let winner = self.read().get(&Class::of(spec, device, problem, facts)?)?.clone();
        let found = winner.choice().and_then(|choice| auto::resolve_choice(spec, device, problem, facts, &choice).ok());
        if found.is_none() {
            let (mnk, device) = (problem.bound(), &device.name);
            self.warn(&format!("the winner for {mnk} on {device} is no plan of this version: {}", winner.choice));
        }
        found
    }

    /// Remembers the fastest of our kernels in a race, in the file too, where what another process wrote meanwhile stays.
    ///
    /// # Errors
    /// [`TuningError`]. A winner that cannot be written is remembered by this process all the same.
    pub fn remember(&self, device: &DeviceInfo, table: &RaceTable) -> Result<PlanChoice, TuningError> {
        let row = table.best_kernel().ok_or(TuningError::NoWinner)?;
        let RaceRunner::Kernel(plan) = &row.runner else { return Err(TuningError::NoWinner) };
        let class = Class::of(&plan.spec, device, &table.problem.problem(), &table.problem.facts());
        let class = class.ok_or(TuningError::NoWinner)?;
        let choice = PlanChoice::of(plan);
        let kernels = table.rows.iter().filter(|row| matches!(row.runner, RaceRunner::Kernel(_))).count();
        let winner = Winner::new(choice, row.median() * 1e6, kernels);
        let mut winners = self.winners.write().unwrap_or_else(PoisonError::into_inner);
        winners.insert(class.clone(), winner.clone());
        let path = self.path.as_ref().ok_or(TuningError::NoFile)?;
        // A file that cannot be read was warned of when it was opened.
        file::insert(path, class, winner).map_err(|source| TuningError::Unwritable { path: path.clone(), source })?;
        Ok(choice)
    }

    fn read(&self) -> RwLockReadGuard<'_, Winners> {
        self.winners.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, what: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            log::warn!("{what}: the model chooses instead; `warpwright profile --tune` measures anew");
        }
    }
}
