//! What is remembered of every byte of memory: whether it was written, by whom last, who read it since, and whether an
//! asynchronous operation owns it. Kept per 16 bytes; a chunk whose parts differ is split into words, or into bytes.

use super::clock::{Agent, Clock, Memory};

/// One access that is remembered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Access {
    pub agent: Agent,
    /// The agent's epoch, from 1; 0 means no access.
    pub epoch: u32,
    /// pc << 8 | strong << 7 | asynchronous proxy << 6 | writes << 5 | lane.
    site: u32,
}

impl Access {
    pub const NONE: Access = Access { agent: 0, epoch: 0, site: 0 };

    pub fn new(agent: Agent, epoch: u32, lane: usize, pc: u32) -> Access {
        Access { agent, epoch, site: pc << 8 | lane as u32 }
    }

    /// An atomic, volatile or otherwise strong access.
    pub fn strong(mut self, strong: bool) -> Access {
        self.site = self.site & !0x80 | u32::from(strong) << 7;
        self
    }

    /// An access through the asynchronous proxy.
    pub fn asynchronous(mut self) -> Access {
        self.site |= 0x40;
        self
    }

    pub fn writing(mut self) -> Access {
        self.site |= 0x20;
        self
    }

    pub fn is_some(self) -> bool {
        self.epoch != 0
    }

    pub fn is_strong(self) -> bool {
        self.site & 0x80 != 0
    }

    pub fn is_asynchronous(self) -> bool {
        self.site & 0x40 != 0
    }

    pub fn writes(self) -> bool {
        self.site & 0x20 != 0
    }

    pub fn lane(self) -> usize {
        (self.site & 31) as usize
    }

    pub fn pc(self) -> u32 {
        self.site >> 8
    }

    /// Whether it does not race with what `me` does now: both are strong, or one happened before the other.
    #[inline]
    fn agrees(self, me: Access, clock: &Clock) -> bool {
        self.is_strong() && me.is_strong() || self.before(me, clock)
    }

    /// Whether it happened before what the warp `me` does now.
    #[inline]
    fn before(self, me: Access, clock: &Clock) -> bool {
        if self.agent == me.agent {
            // Lanes of one instruction are simultaneous; those of different ones are ordered by a warp-wide sync.
            return self.lane() == me.lane() || self.epoch < me.epoch || self.pc() == me.pc();
        }
        clock.known(self.agent) >= self.epoch
    }
}

/// Why an access must not happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    /// Nothing orders it with another.
    Race(Access),
    /// An asynchronous write is not known to have completed.
    Owned(Access),
    /// An asynchronous read is not known to have completed.
    Wanted(Access),
    /// Nothing has written the byte.
    Uninitialised,
    /// The generic proxy's write is not fenced.
    Unfenced(Access),
}

const READERS: usize = 3;

#[derive(Clone, Copy, Default, Debug)]
struct Cell {
    write: Access,
    reads: [Access; READERS],
    /// The asynchronous operation that will write here.
    owner: Access,
    /// Asynchronous operations that have yet to read, and one of them.
    waiting: u32,
    reader: Access,
}

impl Cell {
    fn read(&mut self, me: Access, clock: &Clock, proxies: Option<Memory>) -> Option<Conflict> {
        let write = self.write;
        if self.owner.is_some() {
            return Some(Conflict::Owned(self.owner));
        }
        if write.is_some() {
            if !write.agrees(me, clock) {
                return Some(Conflict::Race(write));
            }
            if let Some(memory) = proxies
                && me.is_asynchronous()
                && !write.is_asynchronous()
                && clock.fenced(write.agent, memory) < write.epoch
            {
                return Some(Conflict::Unfenced(write));
            }
        }
        let slot = self.reads.iter().position(|r| r.agent == me.agent && r.is_some());
        let slot = slot.or_else(|| self.reads.iter().position(|r| !r.is_some() || r.before(me, clock)));
        // Too many readers: one is forgotten.
        self.reads[slot.unwrap_or(me.lane() % READERS)] = me;
        None
    }

    fn write(&mut self, me: Access, clock: &Clock) -> Option<Conflict> {
        if self.owner.is_some() {
            return Some(Conflict::Owned(self.owner));
        }
        if self.waiting > 0 {
            return Some(Conflict::Wanted(self.reader));
        }
        for other in [self.write].into_iter().chain(self.reads) {
            if other.is_some() && !other.agrees(me, clock) {
                return Some(Conflict::Race(other));
            }
        }
        self.write = me.writing();
        self.reads = [Access::NONE; READERS];
        None
    }
}

#[derive(Clone, Debug)]
enum Slot {
    Whole(Cell),
    /// Cells of 4 bytes or of one.
    Split(Box<[Cell]>),
}

const CHUNK: usize = 16;
const PAGE: usize = 64;

/// The shadow of one run of memory.
#[derive(Clone, Default, Debug)]
pub(crate) struct Shadow {
    /// One bit per byte that was written.
    written: Option<Vec<u16>>,
    pages: Option<Vec<Option<Box<[Slot]>>>>,
    /// Which memory it is, if proxy fences are checked.
    proxies: Option<Memory>,
}

/// What to do with the cells of a range.
enum Deed {
    Read,
    Write,
    Own,
    /// An asynchronous operation will read.
    Want,
    /// It has read, and that is known to `Access`.
    Unwant,
    /// The owner's write has landed and is known to `Access`.
    Release,
}

impl Shadow {
    /// The shadow of `bytes` bytes of a memory.
    pub fn new(bytes: usize, memory: Memory, checks: super::Checks) -> Shadow {
        let chunks = bytes.div_ceil(CHUNK);
        Shadow {
            written: checks.uninitialised.then(|| vec![0; chunks]),
            pages: checks.races.then(|| vec![None; chunks.div_ceil(PAGE)]),
            proxies: checks.proxies.then_some(memory),
        }
    }

    /// Forgets who accessed what.
    pub fn forget(&mut self) {
        if let Some(pages) = &mut self.pages {
            pages.fill(None);
        }
    }

    /// Marks bytes as written.
    pub fn initialise(&mut self, offset: usize, len: usize) {
        let Some(written) = &mut self.written else { return };
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let (chunk, from) = (at / CHUNK, at % CHUNK);
            let n = (CHUNK - from).min(end - at);
            written[chunk] |= (((1u32 << n) - 1) << from) as u16;
            at += n;
        }
    }

    /// The first byte of a range that nothing has written.
    pub fn unwritten(&self, offset: usize, len: usize) -> Option<usize> {
        let written = self.written.as_ref()?;
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let (chunk, from) = (at / CHUNK, at % CHUNK);
            let n = (CHUNK - from).min(end - at);
            let missing = !u32::from(written[chunk]) >> from & ((1 << n) - 1);
            if missing != 0 {
                return Some(at + missing.trailing_zeros() as usize);
            }
            at += n;
        }
        None
    }

    /// The last write of a byte, if it is known.
    pub fn writer(&self, offset: usize) -> Option<Access> {
        let page = self.pages.as_ref()?.get(offset / CHUNK / PAGE)?.as_ref()?;
        let cell = match &page[offset / CHUNK % PAGE] {
            Slot::Whole(cell) => cell,
            Slot::Split(cells) => &cells[offset % CHUNK * cells.len() / CHUNK],
        };
        cell.write.is_some().then_some(cell.write)
    }

    /// A read by `me`.
    #[inline]
    pub fn read(&mut self, offset: usize, len: usize, me: Access, clock: &Clock) -> Result<(), (usize, Conflict)> {
        if let Some(at) = self.unwritten(offset, len) {
            return Err((at, Conflict::Uninitialised));
        }
        self.each(offset, len, &Deed::Read, me, clock)
    }

    /// A write by `me`.
    #[inline]
    pub fn write(&mut self, offset: usize, len: usize, me: Access, clock: &Clock) -> Result<(), (usize, Conflict)> {
        self.initialise(offset, len);
        self.each(offset, len, &Deed::Write, me, clock)
    }

    /// An asynchronous write that `me` starts: nobody may touch the bytes until it is released.
    pub fn own(&mut self, offset: usize, len: usize, me: Access, clock: &Clock) -> Result<(), (usize, Conflict)> {
        self.initialise(offset, len);
        self.each(offset, len, &Deed::Own, me, clock)
    }

    /// An asynchronous read that `me` starts: nobody may write the bytes until it is over.
    pub fn want(&mut self, offset: usize, len: usize, me: Access, clock: &Clock) -> Result<(), (usize, Conflict)> {
        if let Some(at) = self.unwritten(offset, len) {
            return Err((at, Conflict::Uninitialised));
        }
        self.each(offset, len, &Deed::Want, me, clock)
    }

    /// The asynchronous read is over; it counts as done by `by`.
    pub fn unwant(&mut self, offset: usize, len: usize, by: Access) {
        let nothing = Clock::default();
        // Ending a read never conflicts.
        let _ = self.each(offset, len, &Deed::Unwant, by, &nothing);
    }

    /// The asynchronous write has completed; it counts as done by `by`.
    pub fn release(&mut self, offset: usize, len: usize, by: Access) {
        let nothing = Clock::default();
        // Releasing never conflicts.
        let _ = self.each(offset, len, &Deed::Release, by, &nothing);
    }

    fn each(
        &mut self,
        offset: usize,
        len: usize,
        deed: &Deed,
        me: Access,
        clock: &Clock,
    ) -> Result<(), (usize, Conflict)> {
        let Some(pages) = &mut self.pages else { return Ok(()) };
        let proxies = self.proxies;
        let act = |cell: &mut Cell| match deed {
            Deed::Read => cell.read(me, clock, proxies),
            Deed::Write => cell.write(me, clock),
            Deed::Own => {
                let conflict = cell.write(me, clock);
                cell.owner = if conflict.is_none() { me } else { cell.owner };
                conflict
            }
            Deed::Want => {
                let conflict = cell.read(me, clock, proxies);
                if conflict.is_none() {
                    cell.waiting += 1;
                    cell.reader = me;
                }
                conflict
            }
            Deed::Unwant => {
                cell.waiting = cell.waiting.saturating_sub(1);
                // The read counts as done by whoever knows of it.
                if let Some(read) = cell.reads.iter_mut().find(|r| r.agent == me.agent && r.is_some()) {
                    *read = me;
                }
                None
            }
            Deed::Release => {
                cell.owner = Access::NONE;
                cell.write = me.writing();
                None
            }
        };
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let (chunk, from) = (at / CHUNK, at % CHUNK);
            let n = (CHUNK - from).min(end - at);
            let page =
                pages[chunk / PAGE].get_or_insert_with(|| vec![Slot::Whole(Cell::default()); PAGE].into_boxed_slice());
            let slot = &mut page[chunk % PAGE];
            if n == CHUNK {
                match slot {
                    Slot::Whole(cell) => {
                        if let Some(conflict) = act(cell) {
                            return Err((at, conflict));
                        }
                    }
                    Slot::Split(cells) => {
                        let granule = CHUNK / cells.len();
                        for (i, cell) in cells.iter_mut().enumerate() {
                            if let Some(conflict) = act(cell) {
                                return Err((at + i * granule, conflict));
                            }
                        }
                        if matches!(deed, Deed::Write | Deed::Own | Deed::Release) {
                            *slot = Slot::Whole(cells[0]);
                        }
                    }
                }
            } else {
                let granule = if from % 4 == 0 && n % 4 == 0 { 4 } else { 1 };
                let have = match slot {
                    Slot::Whole(_) => CHUNK,
                    Slot::Split(cells) => CHUNK / cells.len(),
                };
                let granule = granule.min(have);
                if granule < have {
                    let cells = (0..CHUNK / granule).map(|i| match slot {
                        Slot::Whole(cell) => *cell,
                        Slot::Split(cells) => cells[i * granule / have],
                    });
                    *slot = Slot::Split(cells.collect());
                }
                let Slot::Split(cells) = slot else { unreachable!("the chunk was split above") };
                for (i, cell) in cells[from / granule..(from + n) / granule].iter_mut().enumerate() {
                    if let Some(conflict) = act(cell) {
                        return Err((at + i * granule, conflict));
                    }
                }
            }
            at += n;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Checks;

    #[test]
    fn a_barrier_orders_what_it_joins() {
        let mut shadow = Shadow::new(64, Memory::Shared, Checks { uninitialised: false, ..Checks::ALL });
        let (mut x, mut y) = (Clock::new(0), Clock::new(0));
        x.learn(0, 1);
        y.learn(1, 1);
        let writer = Access::new(0, 1, 3, 7);
        let reader = Access::new(1, 1, 0, 9);
        assert_eq!(shadow.write(4, 8, writer, &x), Ok(()));
        assert_eq!(shadow.read(0, 16, reader, &y), Err((4, Conflict::Race(writer.writing()))));
        y.join(&x);
        assert_eq!(shadow.read(0, 16, reader, &y), Ok(()));
        // The writer does not know of the read.
        let again = Access::new(0, 2, 3, 7);
        assert_eq!(shadow.write(0, 1, again, &x), Err((0, Conflict::Race(reader))));
    }

    #[test]
    fn owned_bytes_are_out_of_bounds_for_all() {
        let mut shadow = Shadow::new(64, Memory::Shared, Checks::ALL);
        let clock = Clock::new(0);
        let copy = Access::new(0, 1, 0, 1);
        assert_eq!(shadow.own(16, 4, copy, &clock), Ok(()));
        assert_eq!(shadow.read(16, 4, copy, &clock), Err((16, Conflict::Owned(copy))));
        assert_eq!(shadow.read(20, 4, copy, &clock), Err((20, Conflict::Uninitialised)));
        shadow.release(16, 4, copy);
        assert_eq!(shadow.read(16, 4, copy, &clock), Ok(()));
    }
}
