//! Executing instructions.

mod barrier;
mod bulk;
mod collective;
mod copy;
mod matrix;
mod mbarrier;
mod memory;
mod mma;
mod order;
mod special;
mod tensor_map;
mod wgmma;

pub(crate) use memory::number;

use crate::check::fault::{Fault, FaultKind, Violation};
use crate::ir::{Inst, MbarrierOp, Op};
use crate::machine::run::{At, Run};
use crate::machine::warp::{Group, Wait};

/// How a group of lanes goes on.
pub(crate) enum Flow {
    /// With the next instruction.
    Next,
    /// The group was changed: it waits, has exited or went elsewhere.
    Stop,
}

type Executed = Result<Flow, Violation>;

/// Instructions that their lanes execute together or that may make them wait: under a guard, those that skip it go ahead.
fn is_together(op: &Op) -> bool {
    match op {
        Op::Collective { .. }
        | Op::WarpSync { .. }
        | Op::Matrix(_)
        | Op::Barrier(_)
        | Op::ClusterArrive { .. }
        | Op::ClusterWait { .. }
        | Op::MaxRegisters { .. }
        | Op::WgmmaFence
        | Op::Wgmma(_)
        | Op::WgmmaCommit
        | Op::WgmmaWait(_)
        | Op::TensorMapCopy { .. } => true,
        Op::Mbarrier(m) => matches!(m.op, MbarrierOp::Wait { .. }),
        _ => false,
    }
}

impl Run<'_> {
    /// Runs a warp for at most `budget` instructions.
    pub fn slice(&mut self, cluster: usize, warp: usize, budget: usize) -> Result<(), Fault> {
        let code = &self.kernel.code.instructions;
        let mut left = budget;
        while left > 0 {
            let several = self.clusters[cluster].warps[warp].groups.len() > 1;
            // Usually the lanes furthest behind go on; sometimes others do, so that none can starve another.
            let any = (several && self.random.next() & 7 == 0).then(|| self.random.next());
            let Some(g) = self.clusters[cluster].warps[warp].pick(any) else { return Ok(()) };
            let Group { mut pc, mask, .. } = self.clusters[cluster].warps[warp].groups[g];
            loop {
                if left == 0 {
                    self.clusters[cluster].warps[warp].groups[g].pc = pc;
                    break;
                }
                left -= 1;
                let inst = &code[pc as usize];
                let w = &mut self.clusters[cluster].warps[warp];
                let exec = match inst.guard {
                    None => mask,
                    Some((p, negated)) => mask & (w.registers.predicates[p as usize] ^ if negated { !0 } else { 0 }),
                };
                if !w.wgmma.is_idle() && self.config.checks.registers {
                    w.wgmma.check(inst).map_err(|v| self.fault(At { cluster, warp, group: g, pc, mask: exec }, v))?;
                }
                let w = &mut self.clusters[cluster].warps[warp];
                self.report.warp_instructions += 1;
                self.report.thread_instructions += u64::from(mask.count_ones());
                match &inst.op {
                    Op::Compute(f) => {
                        if exec != 0 {
                            f(&mut w.registers, exec);
                        }
                        pc += 1;
                    }
                    Op::Branch { target } => {
                        if exec == mask {
                            pc = *target;
                        } else if exec == 0 {
                            pc += 1;
                        } else {
                            w.groups[g] = Group { pc: pc + 1, mask: mask & !exec, wait: None };
                            w.groups.push(Group { pc: *target, mask: exec, wait: None });
                            w.merge();
                            break;
                        }
                    }
                    op => {
                        w.groups[g].pc = pc;
                        if exec == 0 {
                            pc += 1;
                        } else if exec != mask && is_together(op) {
                            w.groups[g].mask = exec;
                            w.groups.push(Group { pc: pc + 1, mask: mask & !exec, wait: None });
                            w.merge();
                            // The order of groups changes nothing but who goes first.
                            break;
                        } else {
                            let at = At { cluster, warp, group: g, pc, mask: exec };
                            match self.execute(at, inst).map_err(|violation| self.fault(at, violation))? {
                                Flow::Next => pc += 1,
                                Flow::Stop => break,
                            }
                        }
                    }
                }
                if several {
                    let w = &mut self.clusters[cluster].warps[warp];
                    w.groups[g].pc = pc;
                    let others = || w.groups.iter().enumerate().filter(|(i, _)| *i != g);
                    if others().any(|(_, other)| other.pc == pc) {
                        w.merge();
                        break;
                    }
                    if any.is_none() && others().any(|(_, other)| other.wait.is_none() && other.pc < pc) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn execute(&mut self, at: At, inst: &Inst) -> Executed {
        match &inst.op {
            Op::Compute(_) | Op::Branch { .. } | Op::Nop => Ok(Flow::Next),
            Op::Special { to, what } => self.special(at, *to, *what),
            Op::AddressOf { to, address } => {
                let values = self.addresses(at, address);
                self.warp(at).registers.write_wide(*to, at.mask, &values);
                Ok(Flow::Next)
            }
            Op::BranchTable { index, targets } => self.branch_table(at, *index, targets),
            Op::Exit => self.exit(at),
            Op::Trap => Err(Violation::new(FaultKind::Trap, "the kernel trapped")),
            Op::Sleep => Ok(Flow::Next),
            Op::Load(load) => self.load(at, load),
            Op::Store(store) => self.store(at, store),
            Op::Atomic(atomic) => self.atomic(at, atomic),
            Op::ActiveMask { to } => {
                self.warp(at).registers.write(*to, at.mask, &[at.mask; 32]);
                Ok(Flow::Next)
            }
            Op::Collective { members, what } => self.collective(at, *members, what),
            Op::WarpSync { members } => self.warp_sync(at, *members),
            Op::Matrix(matrix) => self.matrix(at, matrix),
            Op::CopyAsync(copy) => self.copy_async(at, copy),
            Op::CopyCommit => {
                self.warp(at).copies.commit(at.mask);
                Ok(Flow::Next)
            }
            Op::CopyWait(pending) => self.copy_wait(at, *pending),
            Op::Fence(fence) => self.fence(at, *fence),
            Op::Barrier(barrier) => self.barrier(at, barrier),
            Op::ClusterArrive { release } => self.cluster_arrive(at, *release),
            Op::ClusterWait { acquire } => self.cluster_wait(at, *acquire),
            Op::Mbarrier(mbarrier) => self.mbarrier(at, mbarrier),
            Op::Bulk(bulk) => self.bulk(at, bulk),
            Op::StoreAsync(store) => self.store_async(at, store),
            Op::TensorMapReplace(replace) => self.replace_tensor_map(at, replace),
            Op::TensorMapCopy { to, from } => self.copy_tensor_map(at, to, from),
            Op::BulkCommit => self.bulk_commit(at),
            Op::BulkWait { pending, read } => self.bulk_wait(at, *pending, *read),
            Op::WgmmaFence => self.wgmma_fence(at),
            Op::Wgmma(wgmma) => self.wgmma(at, wgmma),
            Op::WgmmaCommit => self.wgmma_commit(at),
            Op::WgmmaWait(pending) => self.wgmma_wait(at, *pending),
            Op::MaxRegisters { count, increase } => self.max_registers(at, *count, *increase),
        }
    }

    #[inline]
    pub fn warp(&mut self, at: At) -> &mut crate::machine::warp::Warp {
        &mut self.clusters[at.cluster].warps[at.warp]
    }

    /// Makes the group wait.
    pub fn wait(&mut self, at: At, wait: Wait) -> Flow {
        self.warp(at).groups[at.group].wait = Some(wait);
        Flow::Stop
    }

    /// Whether all of `needed` that still live execute the instruction; if not, those that do wait for the others.
    pub fn together(&mut self, at: At, needed: u32) -> bool {
        let warp = self.warp(at);
        if needed & warp.live & !at.mask == 0 {
            return true;
        }
        self.wait(at, Wait::Lanes { needed });
        self.warp(at).merge();
        false
    }

    fn branch_table(&mut self, at: At, index: crate::machine::registers::Src, targets: &[u32]) -> Executed {
        let warp = self.warp(at);
        let index = warp.registers.read_wide(index);
        let mut left = at.mask;
        let rest = warp.groups[at.group].mask & !at.mask;
        warp.groups.swap_remove(at.group);
        if rest != 0 {
            warp.groups.push(Group { pc: at.pc + 1, mask: rest, wait: None });
        }
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let mask =
                crate::machine::warp::lanes(left).filter(|&l| index[l] == index[first]).fold(0, |m, l| m | 1 << l);
            let Some(&pc) = targets.get(index[first] as usize) else {
                let message = format!("branch index {} of a table of {}", index[first], targets.len());
                return Err(Violation::new(FaultKind::Trap, message).lane(first));
            };
            warp.groups.push(Group { pc, mask, wait: None });
            left &= !mask;
        }
        warp.merge();
        Ok(Flow::Stop)
    }

    fn exit(&mut self, at: At) -> Executed {
        let warp = self.warp(at);
        let rest = warp.groups[at.group].mask & !at.mask;
        warp.groups[at.group].pc += u32::from(rest != 0);
        warp.exit(at.mask);
        warp.merge();
        let block = warp.block;
        self.clusters[at.cluster].blocks[block].alive -= at.mask.count_ones();
        self.events += 1;
        self.after_exit(at.cluster, block)?;
        Ok(Flow::Stop)
    }
}
