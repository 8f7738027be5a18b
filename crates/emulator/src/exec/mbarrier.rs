//! mbarriers.

use super::memory::Place;
use super::{Executed, Flow};
use crate::check::clock::SPARE_AGENTS;
use crate::check::fault::{FaultKind, Violation};
use crate::check::shadow::Access;
use crate::ir::{Mbarrier, MbarrierOp, Space, WaitPhase};
use crate::machine::mbarrier::{LIMIT, Mbarrier as State};
use crate::machine::registers::Src;
use crate::machine::run::{At, Run};
use crate::machine::warp::{Timeout, Wait, lanes};

/// Bytes of an mbarrier.
const BYTES: usize = 8;

fn misuse(message: String) -> Violation {
    Violation::new(FaultKind::Mbarrier, message)
}

impl Run<'_> {
    /// Block and offset of the mbarrier at an address.
    fn mbarrier_at(&mut self, at: At, address: u64, lane: usize) -> Result<(usize, u32), Violation> {
        match self.sight(at).find(Space::Generic, address, BYTES, lane) {
            Ok(Place::Shared { block, offset }) => Ok((block, offset as u32)),
            Ok(_) => Err(misuse(format!("an mbarrier at {address:#x}, outside shared memory")).at(address).lane(lane)),
            Err(violation) => Err(violation),
        }
    }

    /// The mbarrier at a place.
    pub(super) fn state(&mut self, c: usize, (block, offset): (usize, u32)) -> Result<&mut State, Violation> {
        self.clusters[c].blocks[block]
            .mbarriers
            .get_mut(&offset)
            .ok_or_else(|| misuse(format!("no mbarrier was initialised at offset {offset:#x} of rank {block}")))
    }

    pub(super) fn mbarrier(&mut self, at: At, op: &Mbarrier) -> Executed {
        let mut addresses = self.addresses(at, &op.address);
        // A 32-bit address is one of the shared window.
        for address in &mut addresses {
            if *address >> 32 == 0 {
                *address += crate::machine::address::SHARED_WINDOW;
            }
        }
        if let MbarrierOp::Wait { done, phase, blocking } = op.op {
            return self.mbarrier_wait(at, op, &addresses, done, phase, blocking);
        }
        let read = |run: &mut Self, src: Src| run.warp(at).registers.read::<u32>(src);
        for lane in lanes(at.mask) {
            let place = self.mbarrier_at(at, addresses[lane], lane)?;
            match op.op {
                MbarrierOp::Init { count } => {
                    let count = i64::from(read(self, count)[lane]);
                    if !(1..=LIMIT).contains(&count) {
                        return Err(
                            misuse(format!("an mbarrier for {count} arrivals; 1 to {LIMIT} are possible")).lane(lane)
                        );
                    }
                    let mut sight = self.sight(at);
                    let target = Place::Shared { block: place.0, offset: place.1 as usize };
                    sight.check(target, BYTES, true, lane, at.pc, true).map_err(|v| v.at(addresses[lane]))?;
                    let cluster = &mut self.clusters[at.cluster];
                    if cluster.spare_agents >= SPARE_AGENTS {
                        return Err(misuse(format!("more than {SPARE_AGENTS} mbarriers in one cluster")).lane(lane));
                    }
                    let agent = cluster.first_agent + cluster.spare_agents;
                    cluster.spare_agents += 1;
                    let state = State::new(count, agent, cluster.first_agent);
                    if cluster.blocks[place.0].mbarriers.insert(place.1, state).is_some() {
                        return Err(misuse("an mbarrier is initialised while one is alive there".into()).lane(lane));
                    }
                }
                MbarrierOp::Inval => {
                    self.state(at.cluster, place)?;
                    self.clusters[at.cluster].blocks[place.0].mbarriers.remove(&place.1);
                }
                MbarrierOp::Arrive { state, count, expect, drop } => {
                    let count = i64::from(read(self, count)[lane]);
                    let expect = expect.map(|src| i64::from(read(self, src)[lane]));
                    self.join(at, place, op.release)?;
                    let barrier = self.state(at.cluster, place)?;
                    barrier.last_pc = Some(at.pc);
                    let token = barrier.token();
                    if drop {
                        barrier.expected -= count;
                    }
                    let mut done = false;
                    if let Some(bytes) = expect {
                        done = barrier.transact(bytes).map_err(|v| v.lane(lane))?;
                    }
                    done |= barrier.arrive(count).map_err(|v| v.lane(lane))?;
                    if let Some(state) = state {
                        self.warp(at).registers.set_lane(state, lane, token);
                    }
                    self.after(at.cluster, place, done);
                }
                MbarrierOp::ExpectTx { bytes } | MbarrierOp::CompleteTx { bytes } => {
                    let expects = matches!(op.op, MbarrierOp::ExpectTx { .. });
                    let bytes = i64::from(read(self, bytes)[lane]) * if expects { 1 } else { -1 };
                    let done = self.state(at.cluster, place)?.transact(bytes).map_err(|v| v.lane(lane))?;
                    self.after(at.cluster, place, done);
                }
                MbarrierOp::CopyArrive { counted } => self.copy_arrive(at, lane, place, counted)?,
                MbarrierOp::Wait { .. } => {}
            }
        }
        Ok(Flow::Next)
    }

    /// Who arrives publishes what it knows.
    fn join(&mut self, at: At, place: (usize, u32), release: bool) -> Result<(), Violation> {
        self.state(at.cluster, place)?;
        if release {
            let cluster = &mut self.clusters[at.cluster];
            let clock = cluster.warps[at.warp].publish();
            if let Some(barrier) = cluster.blocks[place.0].mbarriers.get_mut(&place.1) {
                barrier.clock.join(clock);
            }
        }
        Ok(())
    }

    /// Wakes those that waited for a phase, if it completed.
    pub(super) fn after(&mut self, c: usize, (block, offset): (usize, u32), done: bool) {
        self.events += 1;
        if !done {
            return;
        }
        self.report.mbarrier_phases += 1;
        for group in self.clusters[c].warps.iter_mut().flat_map(|w| &mut w.groups) {
            if matches!(group.wait, Some(Wait::Mbarrier { block: b, offset: o, .. }) if (b, o) == (block, offset)) {
                group.wait = None;
            }
        }
    }

    fn mbarrier_wait(
        &mut self,
        at: At,
        op: &Mbarrier,
        addresses: &[u64; 32],
        done: u32,
        phase: WaitPhase,
        blocking: bool,
    ) -> Executed {
        let parity: [u32; 32] = match phase {
            WaitPhase::Parity(src) => self.warp(at).registers.read::<u32>(src),
            WaitPhase::State(src) => self.warp(at).registers.read::<u64>(src).map(|token| (token >> 63) as u32),
        };
        let mut past = 0;
        let mut missing = None;
        for lane in lanes(at.mask) {
            let place = self.mbarrier_at(at, addresses[lane], lane)?;
            let barrier = self.state(at.cluster, place).map_err(|v| v.lane(lane))?;
            if barrier.is_past(parity[lane]) {
                past |= 1 << lane;
                if op.acquire {
                    let clock = barrier.complete.clone();
                    self.warp(at).clock.join(&clock);
                }
            } else {
                missing = missing.or(Some((place, parity[lane])));
            }
        }
        // try_wait may answer no at any time, though rarely; when nobody else can go on, it does.
        if let (true, Some(((block, offset), parity)), 0) = (blocking, missing, past)
            && self.random.next() & 3 != 0
        {
            let events = self.events;
            match self.warp(at).timed_out.take() {
                Some(Timeout { pc, events: when, answered: false }) if pc == at.pc && when == events => {
                    self.warp(at).timed_out = Some(Timeout { pc, events, answered: true });
                }
                // It has answered no, and nothing has happened since: it would answer no for ever.
                Some(Timeout { events: when, answered: true, .. }) if when == events => {
                    self.warp(at).timed_out = Some(Timeout { pc: at.pc, events, answered: true });
                    let gave_up = Some(events);
                    return Ok(self.wait(at, Wait::Mbarrier { block, offset, parity, gave_up }));
                }
                _ => return Ok(self.wait(at, Wait::Mbarrier { block, offset, parity, gave_up: None })),
            }
        }
        self.warp(at).registers.set(done, at.mask, past);
        Ok(Flow::Next)
    }

    /// `cp.async.mbarrier.arrive`: the lane's copies so far land and arrive. Their moment is now or, with a wait for the
    /// phase, any before it; nobody can tell, as only the phase makes them known.
    fn copy_arrive(&mut self, at: At, lane: usize, place: (usize, u32), counted: bool) -> Result<(), Violation> {
        let barrier = self.state(at.cluster, place)?;
        barrier.last_pc = Some(at.pc);
        let agent = barrier.agent;
        let stands_for = Access::new(agent, barrier.phase + 1, lane, at.pc);
        if !counted {
            barrier.pending += 1;
        }
        let issuer = self.warp(at).agent;
        self.issuers.insert((agent, at.pc), issuer);
        self.join(at, place, true)?;
        for index in 0..self.warp(at).copies.copies.len() {
            let due = self.warp(at).copies.copies[index].pending & 1 << lane;
            if due != 0 {
                self.land(at.cluster, at.warp, index, due)?;
                self.hand_over(at, index, due, Some(stands_for));
            }
        }
        self.warp(at).copies.copies.retain(|copy| copy.pending != 0);
        let done = self.state(at.cluster, place)?.arrive(1).map_err(|v| v.lane(lane))?;
        self.after(at.cluster, place, done);
        Ok(())
    }
}
