//! Barriers of a block and of a cluster.

use super::{Executed, Flow};
use crate::check::clock::Clock;
use crate::check::fault::{FaultKind, Violation};
use crate::ir::{Answer, Barrier, BarrierKind, ReduceMode};
use crate::machine::barrier::{Arrival, NamedBarrier};
use crate::machine::registers::Src;
use crate::machine::run::{At, Run};
use crate::machine::warp::Wait;

fn misuse(message: String) -> Violation {
    Violation::new(FaultKind::Barrier, message)
}

impl Run<'_> {
    fn uniform(&mut self, at: At, src: Src, what: &str) -> Result<u64, Violation> {
        let registers = &self.warp(at).registers;
        registers
            .uniform(src, at.mask)
            .ok_or_else(|| misuse(format!("{what} of a barrier differs among the lanes of a warp")))
    }

    pub(super) fn barrier(&mut self, at: At, op: &Barrier) -> Executed {
        if op.aligned && !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        let id = self.uniform(at, op.id, "the number")? as usize;
        let expected = match op.threads {
            Some(src) => Some(self.uniform(at, src, "the thread count")? as u32),
            None => None,
        };
        if id >= 16 {
            return Err(misuse(format!("barrier {id}; a block has 16")));
        }
        if let Some(n) = expected
            && (n == 0 || n % 32 != 0 || n > self.threads().next_multiple_of(32))
        {
            return Err(misuse(format!(
                "a barrier of {n} threads in a block of {}: a multiple of 32 is wanted",
                self.threads()
            )));
        }
        let (waits, reduce) = match op.kind {
            BarrierKind::Sync => (true, None),
            BarrierKind::Arrive => (false, None),
            BarrierKind::Reduce { to, value, mode } => (true, Some((to, value, mode))),
        };
        if !waits && expected.is_none() {
            return Err(misuse("barrier.arrive without a thread count".into()));
        }
        let cluster = &mut self.clusters[at.cluster];
        let warp = &mut cluster.warps[at.warp];
        let block = warp.block;
        let barrier = &mut cluster.blocks[block].barriers[id];
        if let Some(first) = barrier.arrivals.first()
            && barrier.expected != expected
        {
            let count = |n: Option<u32>| n.map_or("all".to_owned(), |n| n.to_string());
            let access = cluster.warps[first.warp].access(first.mask.trailing_zeros() as usize, first.pc);
            let message = format!(
                "barrier {id} is entered for {} threads while others entered it for {}",
                count(expected),
                count(barrier.expected)
            );
            return Err(misuse(message).against(access));
        }
        if let Some(before) = barrier.arrivals.iter().find(|a| a.warp == at.warp && a.mask & at.mask != 0) {
            let access = warp.access(at.mask.trailing_zeros() as usize, before.pc);
            return Err(misuse(format!("a warp arrives twice at barrier {id} before it completes")).against(access));
        }
        barrier.expected = expected;
        // A partly filled last warp counts as a whole one where a count is given.
        barrier.arrived += if expected.is_some() && op.aligned { 32 } else { at.mask.count_ones() };
        barrier.arrivals.push(Arrival { warp: at.warp, mask: at.mask, pc: at.pc, waits, reduce });
        barrier.clock.join(warp.publish());
        if let Some(n) = expected
            && barrier.arrived > n
        {
            return Err(misuse(format!("{} threads arrive at barrier {id}, which is for {n}", barrier.arrived)));
        }
        let pc = at.pc + 1;
        let group = &mut warp.groups[at.group];
        if waits {
            group.wait = Some(Wait::Barrier { id });
        } else {
            group.pc = pc;
        }
        self.complete(at.cluster, block, id)?;
        Ok(Flow::Stop)
    }

    /// Lets the threads of a barrier go on if all have come.
    fn complete(&mut self, c: usize, block: usize, id: usize) -> Result<(), Violation> {
        let cluster = &mut self.clusters[c];
        let barrier = &mut cluster.blocks[block].barriers[id];
        let expected = barrier.expected.unwrap_or(cluster.blocks[block].alive);
        let barrier = &mut cluster.blocks[block].barriers[id];
        if barrier.arrivals.is_empty() || barrier.arrived < expected {
            return Ok(());
        }
        let NamedBarrier { arrivals, clock, .. } = core::mem::take(barrier);
        let answers = arrivals.iter().filter_map(|a| {
            let (_, value, _) = a.reduce?;
            Some((value.mask(&cluster.warps[a.warp].registers) & a.mask, a.mask))
        });
        let (yes, all) = answers.fold((0, 0), |(yes, all), (y, m)| (yes + y.count_ones(), all + m.count_ones()));
        for arrival in arrivals.iter().filter(|a| a.waits) {
            let warp = &mut cluster.warps[arrival.warp];
            warp.clock.join(&clock);
            if let Some((to, _, mode)) = arrival.reduce {
                let holds = if mode == ReduceMode::And { yes == all } else { yes > 0 };
                match to {
                    Answer::Reg(to) => warp.registers.write(to, arrival.mask, &[yes; 32]),
                    Answer::Pred(to) => warp.registers.set(to, arrival.mask, if holds { !0 } else { 0 }),
                }
            }
            for group in &mut warp.groups {
                if group.wait == Some(Wait::Barrier { id }) && group.mask & arrival.mask != 0 {
                    group.wait = None;
                    group.pc += 1;
                }
            }
            warp.merge();
        }
        self.report.barriers += 1;
        self.events += 1;
        Ok(())
    }

    /// What an exit may complete: barriers for all threads that are left.
    pub(super) fn after_exit(&mut self, c: usize, block: usize) -> Result<(), Violation> {
        for id in 0..16 {
            if self.clusters[c].blocks[block].barriers[id].expected.is_none() {
                self.complete(c, block, id)?;
            }
        }
        self.complete_cluster(c);
        Ok(())
    }

    pub(super) fn cluster_arrive(&mut self, at: At, release: bool) -> Executed {
        let cluster = &mut self.clusters[at.cluster];
        let warp = &mut cluster.warps[at.warp];
        let barrier = &mut cluster.barrier;
        if barrier.arrived[at.warp] & at.mask != 0 {
            return Err(misuse("a thread arrives twice in one phase of the cluster's barrier".into()));
        }
        barrier.arrived[at.warp] |= at.mask;
        warp.cluster_phase = barrier.phase + 1;
        if release {
            barrier.clock.join(warp.publish());
        }
        warp.groups[at.group].pc += 1;
        self.complete_cluster(at.cluster);
        Ok(Flow::Stop)
    }

    pub(super) fn cluster_wait(&mut self, at: At, acquire: bool) -> Executed {
        let cluster = &mut self.clusters[at.cluster];
        let warp = &mut cluster.warps[at.warp];
        if warp.cluster_phase == 0 {
            return Err(misuse("barrier.cluster.wait before any arrive".into()));
        }
        if cluster.barrier.phase < warp.cluster_phase {
            let phase = warp.cluster_phase;
            return Ok(self.wait(at, Wait::Cluster { phase }));
        }
        if acquire {
            warp.clock.join(&cluster.barrier.complete);
        }
        Ok(Flow::Next)
    }

    fn complete_cluster(&mut self, c: usize) {
        let cluster = &mut self.clusters[c];
        let barrier = &mut cluster.barrier;
        let someone = barrier.arrived.iter().any(|mask| *mask != 0);
        let all = cluster.warps.iter().zip(&barrier.arrived).all(|(w, arrived)| w.live & !arrived == 0);
        if !someone || !all {
            return;
        }
        barrier.phase += 1;
        barrier.arrived.fill(0);
        let first = cluster.first_agent;
        barrier.complete = core::mem::replace(&mut barrier.clock, Clock::new(first));
        for group in cluster.warps.iter_mut().flat_map(|w| &mut w.groups) {
            if matches!(group.wait, Some(Wait::Cluster { .. })) {
                group.wait = None;
            }
        }
        self.report.barriers += 1;
        self.events += 1;
    }
}
