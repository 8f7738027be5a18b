//! The plans of one kernel: found without a lock once they are there.

use crate::auto::OperandFacts;
use crate::repeat::{Repeat, extents};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use warpwright_kernels::Arguments;
use warpwright_kernels::lower::{EncodedMaps, TensorMaps};
use warpwright_runtime::{Executable, Space};
use warpwright_schedulers::WorkspaceRegions;
use warpwright_spec::{Extents, KernelPlan, Mnk, Problem, RasterOrder, Spec};

/// What a plan is remembered by: everything that the choice of a plan looks at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    mnk: Mnk,
    /// `None`: one product.
    batch: Option<usize>,
    facts: OperandFacts,
}

impl Key {
    /// The key of a dense or batched problem; others are planned at every call.
    pub(crate) fn of(problem: &Problem, facts: &OperandFacts) -> Option<Key> {
        match problem.extents {
            Extents::Dense(mnk) => Some(Key { mnk, batch: None, facts: *facts }),
            Extents::Batched { mnk, batch } => Some(Key { mnk, batch: Some(batch), facts: *facts }),
            _ => None,
        }
    }

    fn home(&self) -> usize {
        home(self.mnk, self.batch)
    }
}

/// The slot that a problem is looked for in first: extents tell problems apart, and a few multiplications mix them.
fn home(mnk: Mnk, batch: Option<usize>) -> usize {
    let mix = |sum: u64, x: usize| (sum ^ x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let sum = [mnk.m, mnk.n, mnk.k, batch.unwrap_or(0)].into_iter().fold(0, mix);
    sum as usize % SLOTS
}

/// A plan with what was compiled for it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) plan: KernelPlan,
    pub(crate) executable: Executable,
    /// What the plan fixes of its tensor maps.
    pub(crate) maps: TensorMaps,
    /// Those of its first call.
    pub(crate) encoded: Arc<OnceLock<EncodedMaps>>,
    /// The first call that others may repeat.
    pub(crate) repeat: Arc<OnceLock<Repeat>>,
    /// Blocks that the device keeps at once.
    pub(crate) resident: usize,
    /// Of a launch of this problem.
    pub(crate) workspace: WorkspaceRegions,
}

struct Entry {
    key: Key,
    prepared: Prepared,
}

/// Problems are remembered in a table that only grows: a slot that was written is never written again, so that reading one
/// is a load. Plans of different problems share what was compiled.
pub(crate) struct Plans {
    problems: Box<[OnceLock<Box<Entry>>]>,
    compiled: Mutex<HashMap<KernelPlan, Executable>>,
}

/// Slots of the table. Problems beyond it are planned anew at every call, which compiles nothing.
const SLOTS: usize = 256;
/// How many slots from its own on a problem may use.
const PROBES: usize = 8;

impl Plans {
    pub(crate) fn new() -> Plans {
        Plans { problems: (0..SLOTS).map(|_| OnceLock::new()).collect(), compiled: Mutex::default() }
    }

    /// What is compiled, for a kernel that plans otherwise.
    pub(crate) fn without_problems(&self) -> Plans {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        Plans { compiled: Mutex::new(compiled.clone()), ..Plans::new() }
    }

    fn slots(&self, home: usize) -> impl Iterator<Item = &OnceLock<Box<Entry>>> {
        (home..home + PROBES).map(|i| &self.problems[i % SLOTS])
    }

    /// A call that this one repeats. No lock, no allocation.
    pub(crate) fn repeated(&self, spec: &Spec, space: Space, given: &Arguments<'_>) -> Option<(&Prepared, &Repeat)> {
        let (mnk, batch) = extents(given);
        self.slots(home(mnk, (batch != 1).then_some(batch))).map_while(OnceLock::get).find_map(|entry| {
            let repeat = entry.prepared.repeat.get()?;
            repeat.is_like(spec, space, given).then_some((&entry.prepared, repeat))
        })
    }

    /// The plan of a problem that was prepared. No lock, no allocation.
    pub(crate) fn find(&self, key: &Key) -> Option<&Prepared> {
        self.slots(key.home()).map_while(OnceLock::get).find(|entry| entry.key == *key).map(|entry| &entry.prepared)
    }

    /// Remembers a plan, unless the problem's slots are taken. A second thread's equal plan is as good as the first's.
    pub(crate) fn remember(&self, key: Key, prepared: &Prepared) {
        for slot in self.slots(key.home()) {
            if slot.get_or_init(|| Box::new(Entry { key, prepared: prepared.clone() })).key == key {
                return;
            }
        }
    }

    /// What is compiled for a plan, compiled now if no plan of the same source was.
    pub(crate) fn load<E>(
        &self,
        plan: &KernelPlan,
        compile: impl FnOnce() -> Result<Executable, E>,
    ) -> Result<Executable, E> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compiled.get(&source_of(plan)) {
            return Ok(known.clone());
        }
        let made = compile()?;
        compiled.insert(source_of(plan), made.clone());
        Ok(made)
    }

    /// Everything that was compiled, with a plan that uses it.
    pub(crate) fn compiled(&self) -> Vec<(KernelPlan, Executable)> {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.iter().map(|(plan, executable)| (*plan, executable.clone())).collect()
    }
}

/// What of a plan is in its source: the walk over the tiles and the number of splits are parameters.
fn source_of(plan: &KernelPlan) -> KernelPlan {
    KernelPlan { raster: RasterOrder::AlongM, swizzle: 1, splits: 1, ..*plan }
}
