//! Bulk copies and TMA: issue and landing.

use super::{Executed, Flow, number};
use crate::check::fault::{Fault, FaultKind, Violation};
use crate::check::shadow::Access;
use crate::decode::args::Ty;
use crate::decode::{add_flushed, apply_global};
use crate::ir::{Address, Apply, Base, Bulk, BulkDirection, BulkReduce, BulkRemote, Space, StoreAsync};
use crate::machine::Completion;
use crate::machine::address::{OFFSET_MASK, PARAM_WINDOW, RANK_SHIFT, SHARED_WINDOW};
use crate::machine::flight::{BulkLoad, BulkStore, LandedBox, Origin, Piece};
use crate::machine::run::{At, Run, conflict};
use crate::machine::warp::lanes;
use crate::tensor_map::{TensorElement, TensorFill, TensorMapSpec};

/// Alignment of a box in shared memory, swizzled or not.
const BOX_ALIGN: u32 = 128;

fn illegal(message: String) -> Violation {
    Violation::new(FaultKind::Descriptor, message)
}

/// A shared address, generic or not, as one of the shared window.
fn window(address: u64) -> u32 {
    address.wrapping_sub(if address >> 32 == 0 { 0 } else { SHARED_WINDOW }) as u32
}

/// The pieces of a run of bytes.
fn run_of_bytes(global: u64, shared: u32, size: u32) -> Result<Vec<Piece>, Violation> {
    if !global.is_multiple_of(16) || !shared.is_multiple_of(16) || !size.is_multiple_of(16) {
        let message =
            format!("bulk copy of {size} bytes between {global:#x} and {shared:#x}: multiples of 16 are wanted");
        return Err(Violation::new(FaultKind::Misaligned, message));
    }
    if size > OFFSET_MASK {
        return Err(Violation::new(
            FaultKind::OutOfBounds,
            format!("bulk copy of {size} bytes, more than shared memory has"),
        ));
    }
    let piece = |i: u32| Piece { shared: shared + i, len: 16, begin: 0, end: 16, global: global + u64::from(i) };
    Ok((0..size).step_by(16).map(piece).collect())
}

/// The pieces of a box whose first element has these coordinates.
fn box_pieces(map: &TensorMapSpec, coordinates: &[i32], shared: u32) -> Vec<Piece> {
    let (es, row_bytes) = (map.element.bytes(), map.row_bytes());
    // A row that is narrower than the swizzle's span still takes the whole span.
    let pitch = map.swizzle.span().max(row_bytes);
    let rank = map.dims.len();
    let rows: u32 = (1..rank).map(|d| map.taken(d)).product();
    let mut pieces = Vec::with_capacity((rows * row_bytes / 16) as usize);
    for row in 0..rows {
        let (mut rest, mut inside, mut global) = (row, true, map.address);
        for (d, first) in coordinates.iter().enumerate().skip(1) {
            let step = rest % map.taken(d) * map.element_strides[d];
            rest /= map.taken(d);
            let at = i64::from(*first) + i64::from(step);
            inside &= at >= 0 && (at as u64) < map.dims[d];
            global = global.wrapping_add((at as u64).wrapping_mul(map.strides[d - 1]));
        }
        for byte in (0..row_bytes).step_by(16) {
            let first = i64::from(coordinates[0]) + i64::from(byte / es);
            let count = i64::from(16 / es);
            let begin = (-first).clamp(0, count);
            let end = (map.dims[0] as i64 - first).clamp(begin, count);
            let (begin, end) = if inside { (begin, end) } else { (0, 0) };
            pieces.push(Piece {
                shared: map.swizzle.apply(shared + row * pitch + byte),
                len: 16,
                begin: (begin * i64::from(es)) as u8,
                end: (end * i64::from(es)) as u8,
                global: global.wrapping_add((first as u64).wrapping_mul(u64::from(es))),
            });
        }
    }
    pieces
}

/// f32 bits rounded to tf32, to nearest even, as loads of a TF32 map do.
fn to_tf32(bits: u32) -> u32 {
    if bits & 0x7F80_0000 == 0x7F80_0000 {
        return if bits << 9 == 0 { bits } else { 0x7FFF_E000 };
    }
    bits.wrapping_add(0xFFF + (bits >> 13 & 1)) & !0x1FFF
}

/// Element by element, what `apply` makes of target and source.
fn combine(target: &mut [u8], source: &[u8], (apply, size): (Apply, u8)) {
    let size = size as usize;
    for (to, from) in target.chunks_exact_mut(size).zip(source.chunks_exact(size)) {
        let new = apply(number(to), number(from), 0);
        to.copy_from_slice(&new.to_le_bytes()[..size]);
    }
}

/// What a reduction does to the elements of a map, or to those that the instruction names.
fn reduction(op: BulkReduce, map: Option<&TensorMapSpec>) -> Result<(Apply, u8), Violation> {
    let Some(map) = map else {
        return op.own.ok_or_else(|| illegal(format!("{} of elements of no type", op.operation)));
    };
    if map.element == TensorElement::F32Ftz && op.operation == "add" {
        return Ok((add_flushed, 4));
    }
    let ty = match map.element {
        TensorElement::U32 => Some(Ty::U32),
        TensorElement::S32 => Some(Ty::S32),
        TensorElement::U64 => Some(Ty::U64),
        TensorElement::S64 => Some(Ty::S64),
        TensorElement::F16 => Some(Ty::F16),
        TensorElement::Bf16 => Some(Ty::Bf16),
        TensorElement::F32 => Some(Ty::F32),
        TensorElement::F64 => Some(Ty::F64),
        _ => None,
    };
    let bitwise = matches!(op.operation, "and" | "or" | "xor");
    let apply = ty.filter(|ty| !bitwise || *ty != Ty::S64).and_then(|ty| apply_global(op.operation, ty));
    let apply = apply.ok_or_else(|| illegal(format!("no reduction {} of {:?} elements", op.operation, map.element)))?;
    Ok((apply, map.element.bytes() as u8))
}

impl Run<'_> {
    /// The tensor map that an operand names, for one lane.
    fn tensor_map(&mut self, at: At, map: &Address, lane: usize) -> Result<TensorMapSpec, Violation> {
        let mut address = self.addresses(at, map)[lane];
        if matches!(map.base, Base::Param(_)) {
            address += PARAM_WINDOW;
        }
        let mut bytes = [0; 128];
        if !address.is_multiple_of(64) {
            return Err(Violation::new(
                FaultKind::Misaligned,
                format!("a tensor map at {address:#x}, not a multiple of 64"),
            ));
        }
        let mut sight = self.sight(at);
        let place = sight.find_bytes(Space::Generic, address, bytes.len(), lane)?;
        sight.fetch(place, &mut bytes);
        let spec =
            TensorMapSpec::decode(&bytes).ok_or_else(|| illegal(format!("no tensor map lies at {address:#x}")))?;
        spec.check().map_err(|e| illegal(format!("the tensor map at {address:#x} is not legal: {e}")))?;
        // An H200 wants memory at a tensor's address even for a box that lies outside the tensor altogether.
        self.sight(at).find_bytes(Space::Global, spec.address, 1, lane)?;
        Ok(spec)
    }

    pub(super) fn bulk(&mut self, at: At, op: &Bulk) -> Executed {
        for lane in lanes(at.mask) {
            let at = At { mask: 1 << lane, ..at };
            self.bulk_of_lane(at, op, lane).map_err(|v| if v.lane.is_none() { v.lane(lane) } else { v })?;
        }
        self.events += 1;
        Ok(Flow::Next)
    }

    fn bulk_of_lane(&mut self, at: At, op: &Bulk, lane: usize) -> Result<(), Violation> {
        let shared = window(self.addresses(at, &op.shared)[lane]);
        let (offset, rank) = (shared & OFFSET_MASK, (shared >> RANK_SHIFT) as usize);
        let value = |run: &mut Self, src| run.warp(at).registers.read::<u32>(src)[lane];
        let mut origin = Origin::Global;
        let mut target = (rank, offset);
        let mut map = None;
        let pieces = match &op.remote {
            BulkRemote::Bytes { address, size } => {
                let (global, size) = (self.addresses(at, address)[lane], value(self, *size));
                run_of_bytes(global, offset, size)?
            }
            BulkRemote::Peer { address, size } => {
                let to = window(self.addresses(at, address)[lane]);
                let size = value(self, *size);
                origin = Origin::Shared { block: rank, offset };
                target = ((to >> RANK_SHIFT) as usize, to & OFFSET_MASK);
                run_of_bytes(0, target.1, size)?
            }
            BulkRemote::Tensor { map: address, coordinates } => {
                let spec = self.tensor_map(at, address, lane)?;
                if spec.dims.len() != coordinates.len() {
                    let message =
                        format!("{} coordinates for a tensor map of rank {}", coordinates.len(), spec.dims.len());
                    return Err(illegal(message));
                }
                let c: Vec<i32> = coordinates.iter().map(|src| value(self, *src) as i32).collect();
                if offset % BOX_ALIGN != 0 {
                    let message =
                        format!("a box at shared address {shared:#x}, which is not a multiple of {BOX_ALIGN}");
                    return Err(Violation::new(FaultKind::Misaligned, message).at(shared.into()));
                }
                if i64::from(c[0]) * i64::from(spec.element.bytes()) % 16 != 0 {
                    let message =
                        format!("innermost coordinate {}: not a multiple of 16 bytes, an illegal instruction", c[0]);
                    return Err(illegal(message));
                }
                if matches!(op.direction, BulkDirection::Store { .. }) && c.iter().any(|c| *c < 0) {
                    return Err(illegal(format!("a store at negative coordinates {c:?}, an illegal instruction")));
                }
                let mut pieces = box_pieces(&spec, &c, offset);
                if matches!(op.direction, BulkDirection::Store { reduce: None }) {
                    pieces.iter_mut().for_each(Piece::widen);
                }
                map = Some(spec);
                pieces
            }
        };
        match &op.direction {
            BulkDirection::Load { barrier, multicast, reduce } => {
                let reduce = reduce.map(|op| reduction(op, map.as_ref())).transpose()?;
                let barrier = window(self.addresses(at, barrier)[lane]) & OFFSET_MASK;
                let ranks: Vec<usize> = match multicast {
                    Some(src) => {
                        let mask = value(self, *src) & 0xFFFF;
                        lanes(mask).collect()
                    }
                    None => vec![target.0],
                };
                let fill = match map.as_ref().map(|m| (m.fill, m.element.bytes())) {
                    Some((TensorFill::Nan, 2)) => [0xF7, 0x7F, 0xF7, 0x7F],
                    Some((TensorFill::Nan, _)) => 0x7FF7_7FF7u32.to_le_bytes(),
                    _ => [0; 4],
                };
                // A row of bytes that a one-dimensional map copies may have been permuted beforehand.
                let swizzle = map.as_ref().filter(|m| m.dims.len() > 1).map(|m| m.swizzle);
                let rounds =
                    map.as_ref().is_some_and(|m| matches!(m.element, TensorElement::Tf32 | TensorElement::Tf32Ftz));
                // The mbarrier is the one at the operand's offset in each block that receives data.
                let targets = ranks.into_iter().map(|r| (r, (r, barrier))).collect();
                let bytes = pieces.iter().map(|p| u32::from(p.len)).sum();
                let load = BulkLoad {
                    pieces,
                    origin,
                    fill,
                    rounds,
                    targets,
                    bytes,
                    reduce,
                    swizzle,
                    warp: at.warp,
                    lane,
                    pc: at.pc,
                };
                self.issue_load(at, load)
            }
            BulkDirection::Store { reduce } => {
                let reduce = reduce.map(|op| reduction(op, map.as_ref())).transpose()?;
                let group = self.warp(at).bulk_committed[lane];
                let store = BulkStore {
                    pieces,
                    block: rank,
                    warp: at.warp,
                    lane,
                    group,
                    reduce,
                    landed: false,
                    read: false,
                    pc: at.pc,
                };
                self.issue_store(at, store)
            }
        }
    }

    pub(super) fn store_async(&mut self, at: At, op: &StoreAsync) -> Executed {
        let (addresses, barriers) = (self.addresses(at, &op.address), self.addresses(at, &op.barrier));
        let values: Vec<[u64; 32]> = op.from.iter().map(|src| self.warp(at).registers.read_wide(*src)).collect();
        let (size, len) = (op.bytes as usize, op.bytes as usize * values.len());
        for lane in lanes(at.mask) {
            let (to, barrier) = (window(addresses[lane]), window(barriers[lane]));
            self.sight(at).find(Space::Shared, to.into(), len, lane)?;
            if to >> RANK_SHIFT != barrier >> RANK_SHIFT {
                let message =
                    format!("an asynchronous store to {to:#x} with its mbarrier in another block, at {barrier:#x}");
                return Err(illegal(message).lane(lane));
            }
            let mut bytes = [0; 16];
            for (to, value) in bytes.chunks_exact_mut(size).zip(&values) {
                to.copy_from_slice(&value[lane].to_le_bytes()[..size]);
            }
            let rank = (to >> RANK_SHIFT) as usize;
            let piece = Piece { shared: to & OFFSET_MASK, len: len as u8, begin: 0, end: len as u8, global: 0 };
            let load = BulkLoad {
                pieces: vec![piece],
                origin: Origin::Registers(bytes),
                fill: [0; 4],
                rounds: false,
                targets: vec![(rank, (rank, barrier & OFFSET_MASK))],
                bytes: len as u32,
                reduce: op.reduce.map(|apply| (apply, op.bytes as u8)),
                swizzle: None,
                warp: at.warp,
                lane,
                pc: at.pc,
            };
            self.issue_load(At { mask: 1 << lane, ..at }, load).map_err(|v| v.lane(lane))?;
        }
        self.events += 1;
        Ok(Flow::Next)
    }

    fn issue_load(&mut self, at: At, load: BulkLoad) -> Result<(), Violation> {
        for (rank, barrier) in &load.targets {
            let lane = load.lane;
            if self.clusters[at.cluster].blocks.get(*rank).is_none() {
                return Err(Violation::new(
                    FaultKind::OutOfBounds,
                    format!("a copy to block {rank} of a smaller cluster"),
                ));
            }
            self.state(at.cluster, *barrier)?;
            let mut sight = self.sight(at);
            for piece in &load.pieces {
                let (offset, len) = (piece.shared, piece.len as usize);
                let address = u64::from((*rank as u32) << RANK_SHIFT | offset);
                sight.find_bytes(Space::Shared, address, len, lane)?;
                let me = sight.warp.access(lane, at.pc).asynchronous();
                let shadow = &mut sight.blocks[*rank].shared.shadow;
                let clock = &sight.warp.clock;
                // Reductions are atomic, and so free to meet.
                let owned = if load.reduce.is_some() {
                    shadow.write(offset as usize, len, me.strong(true), clock)
                } else {
                    shadow.own(offset as usize, len, me, clock)
                };
                owned.map_err(|(_, found)| conflict(found, "asynchronous write", "shared", address))?;
            }
        }
        let first = load.pieces.first().map_or(0, |p| p.shared);
        let mut sight = self.sight(at);
        for piece in load.pieces.iter().filter(|p| p.begin < p.end) {
            let (begin, len) = (u64::from(piece.begin), (piece.end - piece.begin) as usize);
            let address = match load.origin {
                Origin::Global => piece.global + begin,
                Origin::Shared { block, offset } => {
                    u64::from((block as u32) << RANK_SHIFT | (offset + piece.shared - first))
                }
                Origin::Registers(_) => break,
            };
            let space = if load.origin == Origin::Global { Space::Global } else { Space::Shared };
            let place = sight.find_bytes(space, address, len, load.lane)?;
            sight.check_asynchronous(place, len, load.lane, at.pc).map_err(|v| v.at(address))?;
        }
        if load.origin == Origin::Global {
            self.report.global_read_bytes += load.pieces.iter().map(|p| u64::from(p.end - p.begin)).sum::<u64>();
        }
        self.clusters[at.cluster].loads.push(load);
        if self.completion == Completion::Early {
            let index = self.clusters[at.cluster].loads.len() - 1;
            self.land_load(at.cluster, index)?;
        }
        Ok(())
    }

    /// Moves the bytes of a load and tells its mbarriers.
    fn land_load(&mut self, c: usize, index: usize) -> Result<(), Violation> {
        let cluster = &mut self.clusters[c];
        let load = cluster.loads.swap_remove(index);
        let first = load.pieces.first().map_or(0, |p| p.shared);
        let mut data = vec![[0u8; 16]; load.pieces.len()];
        for (bytes, piece) in data.iter_mut().zip(&load.pieces) {
            let (begin, end) = (piece.begin as usize, piece.end as usize);
            for (i, byte) in bytes.iter_mut().enumerate() {
                *byte = load.fill[i % 4];
            }
            if begin < end {
                match load.origin {
                    Origin::Global => {
                        let (allocation, at) = self.memory.find(piece.global + begin as u64, end - begin)?;
                        let source = &self.memory.region(allocation).bytes[at..at + end - begin];
                        bytes[begin..end].copy_from_slice(source);
                    }
                    Origin::Registers(value) => *bytes = value,
                    Origin::Shared { block, offset } => {
                        let at = (offset + piece.shared - first) as usize;
                        bytes.copy_from_slice(&cluster.blocks[block].shared.bytes[at..at + 16]);
                    }
                }
            }
            if load.rounds {
                for word in bytes[begin..end].chunks_exact_mut(4) {
                    word.copy_from_slice(&to_tf32(number(word) as u32).to_le_bytes());
                }
            }
        }
        let span = load.pieces.iter().fold((u32::MAX, 0), |(start, end), piece| {
            (start.min(piece.shared), end.max(piece.shared + u32::from(piece.len)))
        });
        for (rank, barrier) in &load.targets {
            let block = &mut cluster.blocks[*rank];
            block.boxes.retain(|b| b.end <= span.0 || span.1 <= b.start);
            block.boxes.extend(load.swizzle.map(|swizzle| LandedBox {
                start: span.0,
                end: span.1,
                swizzle,
                pc: load.pc,
            }));
            let Some(state) = block.mbarriers.get(&barrier.1) else {
                return Err(illegal("the mbarrier of a bulk copy is gone when the copy lands".into()));
            };
            let by = Access::new(state.agent, state.phase + 1, load.lane, load.pc).asynchronous();
            self.issuers.insert((state.agent, load.pc), cluster.warps[load.warp].agent);
            for (bytes, piece) in data.iter().zip(&load.pieces) {
                let (at, len) = (piece.shared as usize, piece.len as usize);
                let target = &mut block.shared.bytes[at..at + len];
                match load.reduce {
                    None => target.copy_from_slice(&bytes[..len]),
                    Some(reduce) => combine(target, &bytes[..len], reduce),
                }
                block.shared.shadow.release(at, len, by);
            }
        }
        self.report.shared_written_bytes += u64::from(load.bytes) * load.targets.len() as u64;
        self.report.asynchronous += 1;
        for (_, barrier) in &load.targets {
            let done = self.state(c, *barrier)?.transact(-i64::from(load.bytes))?;
            self.after(c, *barrier, done);
        }
        Ok(())
    }

    fn issue_store(&mut self, at: At, store: BulkStore) -> Result<(), Violation> {
        let lane = store.lane;
        let mut sight = self.sight(at);
        for piece in &store.pieces {
            let (begin, len) = (u32::from(piece.begin), (piece.end - piece.begin) as usize);
            let address = u64::from((store.block as u32) << RANK_SHIFT | piece.shared);
            sight.find_bytes(Space::Shared, address, piece.len as usize, lane)?;
            if len == 0 {
                continue;
            }
            let me = sight.warp.access(lane, at.pc).asynchronous();
            let shadow = &mut sight.blocks[store.block].shared.shadow;
            let clock = &sight.warp.clock;
            shadow
                .want((piece.shared + begin) as usize, len, me, clock)
                .map_err(|(_, found)| conflict(found, "asynchronous read", "shared", address))?;
            let global = piece.global + u64::from(begin);
            let (allocation, offset) = sight.memory.find(global, len).map_err(|v| v.lane(lane))?;
            let shadow = &mut sight.memory.region(allocation).shadow;
            // Reductions are atomic, and so free to meet.
            let owned = if store.reduce.is_some() {
                shadow.write(offset, len, me.strong(true), clock)
            } else {
                shadow.own(offset, len, me, clock)
            };
            owned.map_err(|(_, found)| conflict(found, "asynchronous write", "global", global))?;
        }
        self.report.global_written_bytes += store.pieces.iter().map(|p| u64::from(p.end - p.begin)).sum::<u64>();
        self.clusters[at.cluster].stores.push(store);
        if self.completion == Completion::Early {
            let index = self.clusters[at.cluster].stores.len() - 1;
            self.land_store(at.cluster, index)?;
        }
        Ok(())
    }

    fn land_store(&mut self, c: usize, index: usize) -> Result<(), Violation> {
        let cluster = &mut self.clusters[c];
        let store = &mut cluster.stores[index];
        if core::mem::replace(&mut store.landed, true) {
            return Ok(());
        }
        for piece in &store.pieces {
            let (begin, end) = (piece.begin as usize, piece.end as usize);
            if begin == end {
                continue;
            }
            let from = piece.shared as usize;
            let source = &cluster.blocks[store.block].shared.bytes[from + begin..from + end];
            let (allocation, at) = self.memory.find(piece.global + begin as u64, end - begin)?;
            let target = &mut self.memory.region(allocation).bytes[at..at + end - begin];
            match store.reduce {
                None => target.copy_from_slice(source),
                Some(reduce) => combine(target, source, reduce),
            }
        }
        self.report.asynchronous += 1;
        self.events += 1;
        Ok(())
    }

    pub(super) fn bulk_commit(&mut self, at: At) -> Executed {
        let warp = self.warp(at);
        for lane in lanes(at.mask) {
            warp.bulk_committed[lane] += 1;
        }
        Ok(Flow::Next)
    }

    pub(super) fn bulk_wait(&mut self, at: At, pending: u32, read: bool) -> Executed {
        let committed = self.warp(at).bulk_committed;
        let due =
            |s: &BulkStore| s.warp == at.warp && at.mask >> s.lane & 1 != 0 && s.group + pending < committed[s.lane];
        for index in 0..self.clusters[at.cluster].stores.len() {
            if !due(&self.clusters[at.cluster].stores[index]) {
                continue;
            }
            self.land_store(at.cluster, index)?;
            let cluster = &mut self.clusters[at.cluster];
            let store = &mut cluster.stores[index];
            let warp = &cluster.warps[at.warp];
            let me = warp.access(store.lane, store.pc).asynchronous();
            let was_read = core::mem::replace(&mut store.read, true);
            for piece in store.pieces.iter().filter(|p| p.begin < p.end) {
                let (begin, len) = (u32::from(piece.begin), (piece.end - piece.begin) as usize);
                if !was_read {
                    let shadow = &mut cluster.blocks[store.block].shared.shadow;
                    shadow.unwant((piece.shared + begin) as usize, len, me);
                }
                if !read && store.reduce.is_none() {
                    let (allocation, offset) = self.memory.find(piece.global + u64::from(begin), len)?;
                    self.memory.region(allocation).shadow.release(offset, len, me);
                }
            }
        }
        if !read {
            self.clusters[at.cluster].stores.retain(|s| !due(s));
        }
        Ok(Flow::Next)
    }

    /// Lets some bulk copies of a cluster land, where their moment is left to chance.
    pub fn land_bulk(&mut self, c: usize) -> Result<(), Fault> {
        if self.completion != Completion::Reordered {
            return Ok(());
        }
        let (loads, stores) = (self.clusters[c].loads.len(), self.clusters[c].stores.len());
        if loads > 0 && self.random.next() & 3 == 0 {
            let index = self.random.below(loads);
            self.land_load_or_fault(c, index)?;
        }
        if stores > 0 && self.random.next() & 3 == 0 {
            let index = self.random.below(stores);
            let at = self.at_store(c, index);
            self.land_store(c, index).map_err(|v| self.fault(at, v))?;
        }
        Ok(())
    }

    /// Lands one load, if any is under way: nobody can go on without.
    pub fn land_for_the_stalled(&mut self) -> Result<bool, Fault> {
        let Some(c) = self.clusters.iter().position(|c| !c.loads.is_empty()) else { return Ok(false) };
        let index = self.random.below(self.clusters[c].loads.len());
        self.land_load_or_fault(c, index)?;
        Ok(true)
    }

    fn land_load_or_fault(&mut self, c: usize, index: usize) -> Result<(), Fault> {
        let load = &self.clusters[c].loads[index];
        let at = At { cluster: c, warp: load.warp, group: 0, pc: load.pc, mask: 1 << load.lane };
        self.land_load(c, index).map_err(|v| self.fault(at, v))
    }

    fn at_store(&self, c: usize, index: usize) -> At {
        let store = &self.clusters[c].stores[index];
        At { cluster: c, warp: store.warp, group: 0, pc: store.pc, mask: 1 << store.lane }
    }

    /// What is left under way when a cluster ends.
    pub fn finish_bulk(&mut self, c: usize) -> Result<(), Fault> {
        let cluster = &self.clusters[c];
        if let Some(load) = cluster.loads.first() {
            let at = At { cluster: c, warp: load.warp, group: 0, pc: load.pc, mask: 1 << load.lane };
            let message = "a block exits while a bulk copy into its cluster's shared memory is under way";
            return Err(self.fault(at, Violation::new(FaultKind::Unbalanced, message)));
        }
        if self.config.checks.balance
            && let Some(index) = cluster.stores.iter().position(|s| !s.read)
        {
            let message = "a block exits before a bulk store has read its shared memory: no wait_group.read covers it";
            return Err(self.fault(self.at_store(c, index), Violation::new(FaultKind::Unbalanced, message)));
        }
        for index in 0..self.clusters[c].stores.len() {
            let at = self.at_store(c, index);
            self.land_store(c, index).map_err(|v| self.fault(at, v))?;
        }
        Ok(())
    }
}
