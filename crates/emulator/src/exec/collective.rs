//! Collectives of a warp: shuffles, votes, matches, reductions.

use super::{Executed, Flow};
use crate::check::fault::{FaultKind, Violation};
use crate::ir::{Answer, Collective, ShuffleMode, VoteMode};
use crate::machine::registers::Src;
use crate::machine::run::{At, Run};
use crate::machine::warp::lanes;
use core::array::from_fn;

impl Run<'_> {
    /// Waits until the lanes that `members` names have come. `None`: they have not.
    fn assemble(&mut self, at: At, members: Src) -> Result<Option<u32>, Violation> {
        if members == Src::Imm(0xFFFF_FFFF) {
            return Ok(self.together(at, !0).then_some(!0));
        }
        let masks = self.warp(at).registers.read::<u32>(members);
        let first = at.mask.trailing_zeros() as usize;
        let members = masks[first];
        for lane in lanes(at.mask) {
            if masks[lane] != members {
                let message =
                    format!("lanes {first} and {lane} name different members: {members:#x}, {:#x}", masks[lane]);
                return Err(Violation::new(FaultKind::Divergence, message).lane(lane));
            }
            if members >> lane & 1 == 0 {
                let message =
                    format!("lane {lane} executes a warp instruction whose members {members:#x} leave it out");
                return Err(Violation::new(FaultKind::Divergence, message).lane(lane));
            }
        }
        Ok(self.together(at, members).then_some(members))
    }

    pub(super) fn warp_sync(&mut self, at: At, members: Src) -> Executed {
        if self.assemble(at, members)?.is_none() {
            return Ok(Flow::Stop);
        }
        // The lanes' accesses before are ordered with those after.
        self.warp(at).publish();
        Ok(Flow::Next)
    }

    pub(super) fn collective(&mut self, at: At, members: Src, what: &Collective) -> Executed {
        let Some(members) = self.assemble(at, members)? else { return Ok(Flow::Stop) };
        let mask = at.mask;
        if let Collective::Mma(mma) = what {
            return self.mma(at, mma);
        }
        let registers = &mut self.warp(at).registers;
        match what {
            Collective::Shuffle { mode, to, valid, value, lane, clamp } => {
                let (value, lane, clamp) =
                    (registers.read::<u32>(*value), registers.read::<u32>(*lane), registers.read::<u32>(*clamp));
                // As PTX defines it: the segment and its bound come packed in the last operand.
                let source: [(usize, bool); 32] = from_fn(|l| {
                    let (b, c) = (lane[l] as usize & 31, clamp[l] as usize & 31);
                    let segment = clamp[l] as usize >> 8 & 31;
                    let max = l & segment | c & !segment;
                    let min = l & segment;
                    let (j, inside) = match mode {
                        ShuffleMode::Up => (l.wrapping_sub(b), l >= b && l - b >= max),
                        ShuffleMode::Down => (l + b, l + b <= max),
                        ShuffleMode::Butterfly => (l ^ b, l ^ b <= max),
                        ShuffleMode::Index => (min | b & !segment, (min | b & !segment) <= max),
                    };
                    if inside { (j, true) } else { (l, false) }
                });
                for l in lanes(mask) {
                    let from = source[l].0;
                    if members >> from & 1 == 0 || mask >> from & 1 == 0 {
                        let message = format!("lane {l} shuffles from lane {from}, which takes no part");
                        return Err(Violation::new(FaultKind::Divergence, message).lane(l));
                    }
                }
                registers.write(*to, mask, &from_fn(|l| value[source[l].0]));
                if let Some(valid) = valid {
                    let inside = (0..32).fold(0, |m, l| m | u32::from(source[l].1) << l);
                    registers.set(*valid, mask, inside);
                }
            }
            Collective::Vote { mode, to, value } => {
                let yes = value.mask(registers) & mask;
                let answer = match mode {
                    VoteMode::All => yes == mask,
                    VoteMode::Any | VoteMode::Ballot => yes != 0,
                    VoteMode::Uniform => yes == mask || yes == 0,
                };
                match to {
                    Answer::Reg(to) => registers.write(*to, mask, &[yes; 32]),
                    Answer::Pred(to) => registers.set(*to, mask, if answer { !0 } else { 0 }),
                }
            }
            Collective::MatchAny { to, value } => {
                let value = registers.read_wide(*value);
                let equal = from_fn(|l| lanes(mask).filter(|&j| value[j] == value[l]).fold(0u32, |m, j| m | 1 << j));
                registers.write(*to, mask, &equal);
            }
            Collective::MatchAll { to, valid, value } => {
                let same = registers.uniform(*value, mask).is_some();
                registers.write(*to, mask, &[if same { mask } else { 0 }; 32]);
                if let Some(valid) = valid {
                    registers.set(*valid, mask, if same { !0 } else { 0 });
                }
            }
            Collective::Reduce { to, value, signed, apply } => {
                let value = registers.read::<u32>(*value);
                let wide = |x: u32| if *signed { i64::from(x as i32) } else { i64::from(x) };
                let result = lanes(mask).map(|l| wide(value[l])).reduce(apply).unwrap_or(0);
                registers.write(*to, mask, &[result as u32; 32]);
            }
            Collective::Elect { to, leader } => {
                // The lowest lane, as the hardware picks it.
                let lane = mask.trailing_zeros();
                if let Some(to) = to {
                    registers.write(*to, mask, &[lane; 32]);
                }
                registers.set(*leader, mask, 1 << lane);
            }
            Collective::MoveMatrix { to, value } => {
                let value = registers.read::<u32>(*value);
                let element = |row: usize, column: usize| value[4 * row + column / 2] >> (16 * (column % 2)) & 0xFFFF;
                let out = from_fn(|l| {
                    let (row, column) = (l / 4, 2 * (l % 4));
                    element(column, row) | element(column + 1, row) << 16
                });
                registers.write(*to, mask, &out);
            }
            Collective::Mma(_) => {}
        }
        Ok(Flow::Next)
    }
}
