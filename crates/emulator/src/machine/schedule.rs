//! Which warp runs next, and what is to be said when none can.

use super::report::Report;
use super::run::{At, Run};
use super::warp::{Timeout, Wait, lanes};
use crate::check::fault::{Fault, FaultKind, Violation};

/// Instructions that a warp runs before another may, at most.
const SLICE: usize = 96;

/// Instructions in which nothing happens after which loads land that would land at the latest moment: whoever spins on what
/// another block stores waits for that block's loads.
const SPINNING: u64 = 1 << 13;

impl Run<'_> {
    /// Runs the whole grid.
    pub fn finish_grid(mut self) -> Result<Report, Fault> {
        let size: u32 = self.cluster.iter().product();
        let resident = (self.config.resident_blocks / size).max(1) as usize;
        let (mut seen_events, mut idle_since) = (0, 0);
        loop {
            while self.clusters.len() < resident && self.next < self.cluster_count() {
                self.start();
            }
            if self.clusters.is_empty() {
                return Ok(self.report);
            }
            let c = self.random.below(self.clusters.len());
            let progressed = self.visit(c)?;
            if self.clusters[c].is_done() {
                self.finish(c)?;
                self.clusters.swap_remove(c);
                continue;
            }
            if self.report.warp_instructions > self.config.steps {
                let why =
                    format!("endless: the launch has taken more than its {} warp instructions", self.config.steps);
                return Err(self.report_waits(FaultKind::Endless, &why));
            }
            let stalled = !progressed && !self.clusters.iter().any(|c| c.warps.iter().any(|w| w.is_ready()));
            if stalled && !self.land_for_the_stalled()? && !self.nudge() {
                return Err(self.deadlock("nobody can go on"));
            }
            if self.events != seen_events {
                (seen_events, idle_since) = (self.events, self.report.warp_instructions);
                continue;
            }
            let idle = self.report.warp_instructions - idle_since;
            if idle > SPINNING && self.land_for_the_stalled()? {
                idle_since = self.report.warp_instructions;
            } else if idle > self.config.patience {
                return Err(self.deadlock("warps spin, and nothing that they could wait for happens"));
            }
        }
    }

    /// Gives some warps of a cluster a turn. Returns whether any could use it.
    fn visit(&mut self, c: usize) -> Result<bool, Fault> {
        let mut progressed = false;
        let count = self.clusters[c].warps.len();
        // Several turns in one cluster keep its memory in the processor's cache.
        for _ in 0..2 * count {
            let start = self.random.below(count);
            let ready = |w: &usize| self.clusters[c].warps[*w].is_ready();
            let Some(w) = (start..count).chain(0..start).find(ready) else { break };
            progressed = true;
            let budget = 1 + self.random.below(SLICE);
            self.slice(c, w, budget)?;
            self.land_some(c, w)?;
            self.land_bulk(c)?;
            self.land_wgmma(c, w)?;
        }
        Ok(progressed)
    }

    /// Lets a wait that may give up do so, if nothing else can happen. Returns whether one did.
    fn nudge(&mut self) -> bool {
        let events = self.events;
        for warp in self.clusters.iter_mut().flat_map(|c| &mut c.warps) {
            for group in &mut warp.groups {
                if let Some(Wait::Mbarrier { gave_up, .. }) = group.wait
                    && gave_up != Some(events)
                {
                    warp.timed_out = Some(Timeout { pc: group.pc, events, answered: false });
                    group.wait = None;
                    return true;
                }
            }
        }
        false
    }

    /// Nobody goes on.
    fn deadlock(&self, why: &str) -> Fault {
        let kind = if self.is_divergence() { FaultKind::Divergence } else { FaultKind::Deadlock };
        self.report_waits(kind, &format!("deadlock: {why}"))
    }

    /// Everybody's wait, in words.
    fn report_waits(&self, kind: FaultKind, why: &str) -> Fault {
        let mut message = why.to_owned();
        let mut first = None;
        let mut listed = 0;
        for (c, cluster) in self.clusters.iter().enumerate() {
            for (w, warp) in cluster.warps.iter().enumerate() {
                for (g, group) in warp.groups.iter().enumerate() {
                    let at = At { cluster: c, warp: w, group: g, pc: group.pc, mask: group.mask };
                    first = first.or(Some(at));
                    listed += 1;
                    if listed > 12 {
                        continue;
                    }
                    let block = cluster.blocks[warp.block].id;
                    let inst = self.inst(group.pc);
                    message.push_str(&format!(
                        "\n    block {block:?} warp {} lanes {:#010x}: {}, at PTX line {}: {}",
                        warp.index,
                        group.mask,
                        self.describe(c, w, group.wait),
                        inst.line,
                        inst.text
                    ));
                }
            }
        }
        if listed > 12 {
            message.push_str(&format!("\n    and {} more", listed - 12));
        }
        match first {
            Some(at) => self.fault(at, Violation::new(kind, message)),
            None => self.fault_of_launch(kind, message),
        }
    }

    /// Whether lanes wait for lanes of their own warp that wait too: an instruction for all was executed by some.
    fn is_divergence(&self) -> bool {
        let warps = || self.clusters.iter().flat_map(|c| &c.warps);
        warps().any(|w| w.groups.len() > 1 && w.groups.iter().any(|g| matches!(g.wait, Some(Wait::Lanes { .. }))))
    }

    fn describe(&self, c: usize, w: usize, wait: Option<Wait>) -> String {
        let cluster = &self.clusters[c];
        match wait {
            None => "runs".to_owned(),
            Some(Wait::Lanes { needed }) => {
                let missing: Vec<String> = lanes(needed & cluster.warps[w].live)
                    .filter(|l| {
                        !cluster.warps[w]
                            .groups
                            .iter()
                            .any(|g| matches!(g.wait, Some(Wait::Lanes { .. })) && g.mask >> l & 1 != 0)
                    })
                    .map(|l| l.to_string())
                    .collect();
                match missing.is_empty() {
                    true => "waits for lanes of its warp that wait at another instruction for lanes".to_owned(),
                    false => {
                        format!("waits for lanes {} of its warp to come to the same instruction", missing.join(" "))
                    }
                }
            }
            Some(Wait::Barrier { id }) => {
                let barrier = &cluster.blocks[cluster.warps[w].block].barriers[id];
                let expected = barrier.expected.unwrap_or(cluster.blocks[cluster.warps[w].block].alive);
                format!("waits at barrier {id}, where {} of {expected} threads have arrived", barrier.arrived)
            }
            Some(Wait::Cluster { phase }) => format!("waits for phase {phase} of the cluster's barrier"),
            Some(Wait::Mbarrier { block, offset, parity, .. }) => match cluster.blocks[block].mbarriers.get(&offset) {
                Some(m) => {
                    let last = match m.last_pc {
                        Some(pc) => format!("the last arrival was at PTX line {}", self.inst(pc).line),
                        None => "nobody has arrived".to_owned(),
                    };
                    format!(
                        "waits for the phase of parity {parity} of the mbarrier at offset {offset:#x} of rank {block}, which \
                         is in phase {} with {} of {} arrivals and {} transaction bytes pending ({last})",
                        m.phase, m.pending, m.expected, m.transactions
                    )
                }
                None => format!("waits for an mbarrier at offset {offset:#x} that is gone"),
            },
            Some(Wait::Registers) => "waits for registers".to_owned(),
        }
    }

    /// The checks at a cluster's end.
    fn finish(&mut self, c: usize) -> Result<(), Fault> {
        self.events += 1;
        self.finish_bulk(c)?;
        if !self.config.checks.balance {
            return Ok(());
        }
        let cluster = &self.clusters[c];
        for (w, warp) in cluster.warps.iter().enumerate() {
            let at = |pc, mask| At { cluster: c, warp: w, group: 0, pc, mask };
            if let Some(copy) = warp.copies.copies.iter().find(|copy| copy.pending != 0) {
                let message = "a cp.async that no cp.async.wait_group or mbarrier covers when its thread exits";
                return Err(self.fault(at(copy.pc, copy.pending), Violation::new(FaultKind::Unbalanced, message)));
            }
            if let Some(issued) = warp.wgmma.issued.first() {
                let message = "a wgmma.mma_async that no wgmma.wait_group covers when its warp exits";
                return Err(self.fault(at(issued.pc, !0), Violation::new(FaultKind::Unbalanced, message)));
            }
        }
        for block in &cluster.blocks {
            for (id, barrier) in block.barriers.iter().enumerate() {
                if let Some(arrival) = barrier.arrivals.first() {
                    let message = format!(
                        "barrier {id} is left with {} arrivals of {} when its block exits",
                        barrier.arrived,
                        barrier.expected.unwrap_or(0)
                    );
                    let at = At { cluster: c, warp: arrival.warp, group: 0, pc: arrival.pc, mask: arrival.mask };
                    return Err(self.fault(at, Violation::new(FaultKind::Unbalanced, message)));
                }
            }
        }
        Ok(())
    }
}
