//! `wgmma` and `setmaxnreg`.

use super::{Executed, Flow};
use crate::check::fault::{Fault, FaultKind, Violation};
use crate::ir::{Op, Space, Wgmma, WgmmaA};
use crate::machine::Completion;
use crate::machine::address::RANK_SHIFT;
use crate::machine::registers::{PredSrc, Src};
use crate::machine::run::{At, Run, conflict};
use crate::machine::wgmma::Issued;
use crate::tensor::descriptor::{Descriptor, Tile};
use crate::tensor::fragment::Lanes;
use crate::tensor::tile;

fn illegal(message: String) -> Violation {
    Violation::new(FaultKind::Descriptor, message)
}

/// The tile of A that a warp multiplies; `None` if A is in registers.
fn a_tile(op: &Wgmma, descriptor: u64, warp: u32) -> Result<Option<Tile>, String> {
    if let WgmmaA::Registers(_) = op.a_source {
        return Ok(None);
    }
    let descriptor = Descriptor::decode(descriptor)?;
    let bytes = op.kind.a.bits() as u32 / 8;
    Ok(Some(Tile { descriptor, first: warp % 4 * 16, count: 16, k: op.k, transposed: op.transpose_a, bytes }))
}

fn b_tile(op: &Wgmma, descriptor: u64) -> Result<Tile, String> {
    let descriptor = Descriptor::decode(descriptor)?;
    let bytes = op.kind.b.bits() as u32 / 8;
    Ok(Tile { descriptor, first: 0, count: op.n, k: op.k, transposed: op.transpose_b, bytes })
}

/// The rows or columns from `mn` to `mn + 8` of the `step`th 16 bytes along K, as registers hold them.
fn fragment(memory: &[u8], tile: &Tile, mn: u32, step: u32) -> Lanes {
    let mut words = [0; 32];
    if tile.transposed {
        // 16-bit elements: 16 bytes are 8 of them at one k.
        for k in 0..8 {
            let at = tile.descriptor.mn_major((tile.first + mn) * 2, 8 * step + k) as usize;
            for (g, x) in memory[at..][..16].as_chunks().0.iter().enumerate() {
                words[4 * g + k as usize / 2] |= u32::from(u16::from_le_bytes(*x)) << (k % 2 * 16);
            }
        }
    } else {
        for (g, four) in words.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let at = tile.descriptor.k_major(tile.first + mn + g as u32, 16 * step) as usize;
            for (word, x) in four.iter_mut().zip(memory[at..][..16].as_chunks().0) {
                *word = u32::from_le_bytes(*x);
            }
        }
    }
    words
}

impl Run<'_> {
    pub(super) fn wgmma_fence(&mut self, at: At) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        self.warp(at).wgmma.fence();
        Ok(Flow::Next)
    }

    fn uniform_descriptor(&mut self, at: At, src: Src) -> Result<u64, Violation> {
        let value = self.warp(at).registers.uniform(src, at.mask);
        value.ok_or_else(|| illegal("a matrix descriptor differs among the lanes of a warp".into()))
    }

    pub(super) fn wgmma(&mut self, at: At, op: &Wgmma) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        if at.mask != !0 {
            return Err(Violation::new(FaultKind::Divergence, "wgmma needs all 32 lanes of its warp"));
        }
        let a_descriptor = match op.a_source {
            WgmmaA::Descriptor(src) => self.uniform_descriptor(at, src)?,
            WgmmaA::Registers(_) => 0,
        };
        let b_descriptor = self.uniform_descriptor(at, op.b_descriptor)?;
        let scale_d = match op.scale_d {
            PredSrc::Const(value) => value,
            p => p.mask(&self.warp(at).registers) != 0,
        };
        let index = self.warp(at).index;
        let a = a_tile(op, a_descriptor, index).map_err(illegal)?;
        let b = b_tile(op, b_descriptor).map_err(illegal)?;
        let mut reads: Vec<u32> = b.chunks().into_iter().map(|c| c.0).collect();
        reads.extend(a.into_iter().flat_map(Tile::chunks).map(|c| c.0));
        let block = self.warp(at).block;
        let mut sight = self.sight(at);
        for offset in &reads {
            let address = u64::from((block as u32) << RANK_SHIFT | offset);
            sight.find(Space::Shared, address, 16, 0)?;
            let me = sight.warp.access(0, at.pc).asynchronous();
            sight.blocks[block]
                .shared
                .shadow
                .want(*offset as usize, 16, me, &sight.warp.clock)
                .map_err(|(_, found)| conflict(found, "asynchronous read by wgmma", "shared", address))?;
        }
        self.report.shared_read_bytes += 16 * reads.len() as u64;
        if self.config.checks.races {
            for tile in a.into_iter().chain([b]) {
                self.check_tile(at, tile)?;
            }
        }
        let a_registers: &[crate::ptx::ast::Reg] = match &op.a_source {
            WgmmaA::Registers(regs) => regs,
            WgmmaA::Descriptor(_) => &[],
        };
        let registers = op.d.iter().chain(a_registers).map(|r| r.row).collect();
        let checked = self.config.checks.registers;
        let warp = self.warp(at);
        let group = warp.wgmma.committed;
        let issued = Issued { pc: at.pc, a_descriptor, b_descriptor, scale_d, group, done: false, reads, registers };
        warp.wgmma.issue(issued, checked)?;
        if self.completion == Completion::Early {
            self.run_wgmma(at.cluster, at.warp, usize::MAX)?;
        }
        Ok(Flow::Next)
    }

    /// Whether the elements of an operand lie apart, and are permuted as the tensor load that brought them left them.
    fn check_tile(&mut self, at: At, tile: Tile) -> Result<(), Violation> {
        if !self.sound.contains(&tile.at_zero()) {
            if let Some((x, y)) = tile.shared_elements() {
                return Err(illegal(format!(
                    "{:?}: its elements {x:?} and {y:?}, as (row or column, k), share memory",
                    tile.descriptor
                )));
            }
            self.sound.insert(tile.at_zero());
        }
        let Some((first, ..)) = tile.chunks().first().copied() else { return Ok(()) };
        let block = &self.clusters[at.cluster].blocks[self.clusters[at.cluster].warps[at.warp].block];
        let Some(found) = block.boxes.iter().find(|b| (b.start..b.end).contains(&first)) else { return Ok(()) };
        let writer = block.shared.shadow.writer(first as usize).filter(|w| w.is_asynchronous() && w.pc() == found.pc);
        match writer {
            Some(writer) if !tile.descriptor.matches(found.swizzle) => Err(illegal(format!(
                "{:?} of what a tensor load left at {first:#x} with swizzle {:?}",
                tile.descriptor, found.swizzle
            ))
            .at(first.into())
            .against(writer)),
            _ => Ok(()),
        }
    }

    pub(super) fn wgmma_commit(&mut self, at: At) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        self.warp(at).wgmma.committed += 1;
        Ok(Flow::Next)
    }

    pub(super) fn wgmma_wait(&mut self, at: At, pending: u32) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        let queue = &self.warp(at).wgmma;
        let due = queue.issued.iter().take_while(|i| i.group + pending < queue.committed).count();
        self.run_wgmma(at.cluster, at.warp, due)?;
        for _ in 0..due {
            let issued = self.warp(at).wgmma.retire();
            let cluster = &mut self.clusters[at.cluster];
            let warp = &cluster.warps[at.warp];
            let me = warp.access(0, issued.pc).asynchronous();
            for offset in issued.reads {
                cluster.blocks[warp.block].shared.shadow.unwant(offset as usize, 16, me);
            }
        }
        Ok(Flow::Next)
    }

    /// Lets some of a warp's instructions run, where their moment is left to chance.
    pub fn land_wgmma(&mut self, c: usize, w: usize) -> Result<(), Fault> {
        if self.completion != Completion::Reordered || self.clusters[c].warps[w].wgmma.issued.is_empty() {
            return Ok(());
        }
        let count = self.random.below(self.clusters[c].warps[w].wgmma.issued.len() + 1);
        let pc = self.clusters[c].warps[w].wgmma.issued[0].pc;
        let at = At { cluster: c, warp: w, group: 0, pc, mask: !0 };
        self.run_wgmma(c, w, count).map_err(|v| self.fault(at, v))
    }

    /// Runs the oldest instructions of a warp, up to `count` of them.
    fn run_wgmma(&mut self, c: usize, w: usize, count: usize) -> Result<(), Violation> {
        let count = count.min(self.clusters[c].warps[w].wgmma.issued.len());
        for index in 0..count {
            if self.clusters[c].warps[w].wgmma.issued[index].done {
                continue;
            }
            let pc = self.clusters[c].warps[w].wgmma.issued[index].pc;
            let Op::Wgmma(op) = &self.inst(pc).op else { continue };
            self.compute_wgmma(c, w, index, op)?;
            self.clusters[c].warps[w].wgmma.issued[index].done = true;
            self.report.asynchronous += 1;
            self.report.tensor_products += u64::from(16 * op.n * op.k);
        }
        Ok(())
    }

    fn compute_wgmma(&mut self, c: usize, w: usize, index: usize, op: &Wgmma) -> Result<(), Violation> {
        let cluster = &mut self.clusters[c];
        let warp = &mut cluster.warps[w];
        let memory = &cluster.blocks[warp.block].shared.bytes;
        let issued = &warp.wgmma.issued[index];
        let tile = b_tile(op, issued.b_descriptor).map_err(illegal)?;
        // Registers alternate between the groups of 8 rows, then go on along K.
        let a: [Lanes; 4] = match (a_tile(op, issued.a_descriptor, warp.index).map_err(illegal)?, &op.a_source) {
            (None, WgmmaA::Registers(regs)) => core::array::from_fn(|r| *warp.registers.row(regs[r].row)),
            (a, _) => core::array::from_fn(|r| {
                a.map_or([0; 32], |tile| fragment(memory, &tile, 8 * (r as u32 % 2), r as u32 / 2))
            }),
        };
        let operands = &mut self.operands;
        tile::load_a(operands, op.kind, &a.each_ref());
        let mut c = [[0; 32]; 4];
        let per_column = op.d.len() / (op.n as usize / 8);
        for (mn, regs) in (0..).step_by(8).zip(op.d.chunks_exact(per_column)) {
            let b = [fragment(memory, &tile, mn, 0), fragment(memory, &tile, mn, 1)];
            for (lanes, reg) in c.iter_mut().zip(regs) {
                *lanes = if issued.scale_d { *warp.registers.row(reg.row) } else { [0; 32] };
            }
            tile::multiply(operands, op.kind, &b.each_ref(), &mut c[..per_column]);
            for (lanes, reg) in c.iter().zip(regs) {
                *warp.registers.row_mut(reg.row) = *lanes;
            }
        }
        Ok(())
    }

    /// `setmaxnreg`: registers given up go to the block's pool, from which others take them.
    pub(super) fn max_registers(&mut self, at: At, count: u32, increase: bool) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        let threads = self.threads();
        let cluster = &mut self.clusters[at.cluster];
        let warp = &mut cluster.warps[at.warp];
        let pool = &mut cluster.blocks[warp.block].pool;
        // What a launch with one block on the multiprocessor gives each thread.
        let launch = (65536 / threads / 8 * 8).min(255);
        let have = if warp.max_registers == 0 { launch } else { warp.max_registers };
        if increase {
            let more = count.saturating_sub(have) * 32;
            if *pool < more {
                return Ok(self.wait(at, crate::machine::warp::Wait::Registers));
            }
            *pool -= more;
            warp.max_registers = count.max(have);
        } else {
            *pool += have.saturating_sub(count) * 32;
            warp.max_registers = count.min(have);
            self.events += 1;
            for warp in cluster.warps.iter_mut() {
                for group in &mut warp.groups {
                    if group.wait == Some(crate::machine::warp::Wait::Registers) {
                        group.wait = None;
                    }
                }
            }
        }
        Ok(Flow::Next)
    }
}
