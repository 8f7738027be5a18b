//! `wgmma`: matrix instructions that run when the adversary pleases, in the order of their issue.
//!
//! Each warp of a warpgroup computes 16 of the 64 rows from its own registers, so each has a queue of its own.

use crate::check::fault::{FaultKind, Violation};
use crate::ir::{Inst, Op};

/// An instruction that its warp has yet to wait for.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub pc: u32,
    pub a_descriptor: u64,
    pub b_descriptor: u64,
    pub scale_d: bool,
    pub group: u32,
    pub done: bool,
    /// Offsets of the 16-byte chunks of shared memory that it reads.
    pub reads: Vec<u32>,
    /// Rows of the accumulators and of A's registers.
    pub registers: Vec<u32>,
}

/// What a warp has issued, and which registers it touched.
#[derive(Clone, Debug)]
pub(crate) struct WgmmaQueue {
    pub issued: Vec<Issued>,
    pub committed: u32,
    /// Per row of the register file: how many issued instructions own it.
    owned: Vec<u16>,
    /// Per row: touched by another instruction since the last `wgmma.fence`.
    touched: Vec<bool>,
    /// The warp has executed a `wgmma.fence`: from then on, touches count.
    active: bool,
}

impl WgmmaQueue {
    pub fn new(rows: u32) -> WgmmaQueue {
        let rows = rows as usize;
        WgmmaQueue { issued: Vec::new(), committed: 0, owned: vec![0; rows], touched: vec![true; rows], active: false }
    }

    /// Nothing has to be watched.
    #[inline]
    pub fn is_idle(&self) -> bool {
        !self.active
    }

    /// `wgmma.fence`.
    pub fn fence(&mut self) {
        self.active = true;
        self.touched.fill(false);
    }

    /// Before an instruction is executed: it must not touch what issued ones own.
    pub fn check(&mut self, inst: &Inst) -> Result<(), Violation> {
        if matches!(inst.op, Op::Wgmma(_)) {
            return Ok(());
        }
        for row in &inst.registers {
            let row = *row as usize;
            if self.owned[row] > 0 {
                let message =
                    "a register is touched that an unfinished wgmma.mma_async owns: wgmma.wait_group comes first";
                return Err(Violation::new(FaultKind::RegisterInFlight, message));
            }
            self.touched[row] = true;
        }
        Ok(())
    }

    /// Issues an instruction whose registers are `registers`.
    pub fn issue(&mut self, issued: Issued, checked: bool) -> Result<(), Violation> {
        if checked && (!self.active || issued.registers.iter().any(|row| self.touched[*row as usize])) {
            let message = "wgmma.mma_async on registers touched since the last wgmma.fence";
            return Err(Violation::new(FaultKind::RegisterInFlight, message));
        }
        for row in &issued.registers {
            self.owned[*row as usize] += 1;
        }
        self.issued.push(issued);
        Ok(())
    }

    /// Takes out the oldest instruction.
    pub fn retire(&mut self) -> Issued {
        let issued = self.issued.remove(0);
        for row in &issued.registers {
            self.owned[*row as usize] -= 1;
        }
        issued
    }
}
