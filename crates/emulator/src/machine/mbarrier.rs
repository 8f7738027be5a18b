//! mbarriers: arrivals and transaction bytes that complete phases.

use crate::check::clock::{Agent, Clock};
use crate::check::fault::{FaultKind, Violation};

/// Largest count, and largest magnitude of the transaction bytes.
pub(crate) const LIMIT: i64 = (1 << 20) - 1;

/// The state of one mbarrier.
#[derive(Clone, Debug)]
pub(crate) struct Mbarrier {
    /// Phases completed.
    pub phase: u32,
    pub expected: i64,
    pub pending: i64,
    /// Bytes expected less bytes completed.
    pub transactions: i64,
    /// Stands for the asynchronous writes that complete on it.
    pub agent: Agent,
    /// What those know who arrived in this phase.
    pub clock: Clock,
    /// What is known when the last phase completed.
    pub complete: Clock,
    /// Instruction of the last arrival, for reports.
    pub last_pc: Option<u32>,
}

impl Mbarrier {
    pub fn new(count: i64, agent: Agent, first: Agent) -> Mbarrier {
        Mbarrier {
            phase: 0,
            expected: count,
            pending: count,
            transactions: 0,
            agent,
            clock: Clock::new(first),
            complete: Clock::new(first),
            last_pc: None,
        }
    }

    /// Whether the phase of this parity has completed.
    pub fn is_past(&self, parity: u32) -> bool {
        self.phase & 1 != parity & 1
    }

    /// The token of an arrival: pending count and phase where the hardware has them.
    pub fn token(&self) -> u64 {
        let pending = ((1 << 20) - self.pending) as u64 & 0xF_FFFF;
        u64::from(self.phase & 1) << 63 | pending << 43
    }

    /// `count` threads arrive. Returns whether the phase completed.
    pub fn arrive(&mut self, count: i64) -> Result<bool, Violation> {
        if count > self.pending {
            return Err(Violation::new(
                FaultKind::Mbarrier,
                format!("{count} arrivals at an mbarrier that expects {} more in this phase", self.pending),
            ));
        }
        self.pending -= count;
        Ok(self.check())
    }

    /// Bytes are expected (positive) or have arrived (negative). Returns whether the phase completed.
    pub fn transact(&mut self, bytes: i64) -> Result<bool, Violation> {
        self.transactions += bytes;
        if self.transactions.abs() > LIMIT {
            return Err(Violation::new(
                FaultKind::Mbarrier,
                format!("{} transaction bytes pending at an mbarrier, beyond ±{LIMIT}", self.transactions),
            ));
        }
        Ok(self.check())
    }

    fn check(&mut self) -> bool {
        let done = self.pending == 0 && self.transactions == 0;
        if done {
            self.phase += 1;
            self.pending = self.expected;
            // Whoever sees this phase sees every asynchronous write that completed in it.
            self.clock.learn(self.agent, self.phase);
            self.complete = self.clock.clone();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn barrier(count: i64) -> Mbarrier {
        Mbarrier::new(count, 1, 0)
    }

    #[test]
    fn a_ring_of_two_boxes() {
        let mut b = barrier(1);
        assert!(b.is_past(1) && !b.is_past(0), "a fresh barrier lets the producer pass");
        assert!(!b.transact(16384).unwrap());
        assert!(!b.arrive(1).unwrap());
        assert!(!b.transact(-8192).unwrap());
        assert!(b.transact(-8192).unwrap());
        assert!(b.is_past(0) && !b.is_past(1));
        assert_eq!((b.phase, b.pending, b.transactions), (1, 1, 0));
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let mut b = barrier(1);
        assert!(!b.transact(-100).unwrap());
        assert!(!b.arrive(1).unwrap(), "pending 0 and negative bytes stay open");
        assert!(b.transact(100).unwrap(), "expecting completes");
    }

    #[test]
    fn limits() {
        assert!(barrier(1).arrive(2).is_err());
        assert!(barrier(1).transact(LIMIT).is_ok());
        assert!(barrier(1).transact(-LIMIT - 1).is_err());
        let mut b = barrier(LIMIT);
        assert!(b.arrive(LIMIT).unwrap());
    }
}
