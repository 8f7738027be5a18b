//! What the emulator reports.

use core::fmt;

/// What kind of rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FaultKind {
    /// An address outside every allocation.
    OutOfBounds,
    /// An address that is not a multiple of the access.
    Misaligned,
    /// A read of memory that nothing has written.
    Uninitialised,
    /// Two accesses, one of them a write, that nothing orders.
    Race,
    /// An access to memory that an asynchronous operation still owns.
    AsyncOwned,
    /// An asynchronous-proxy access to generic writes without a proxy fence.
    MissingProxyFence,
    /// A barrier used against its rules.
    Barrier,
    /// An instruction that all lanes must execute together, executed by some.
    Divergence,
    /// Nobody can go on.
    Deadlock,
    /// The launch took more instructions than [`Config::steps`](crate::Config::steps).
    Endless,
    /// Resources left over at exit.
    Unbalanced,
    /// An mbarrier used against its rules.
    Mbarrier,
    /// A matrix descriptor or tensor map that is not legal, or not legally used.
    Descriptor,
    /// A register touched while an asynchronous instruction owns it.
    RegisterInFlight,
    /// The kernel trapped.
    Trap,
    /// A launch that no device accepts.
    Launch,
}

/// One instruction of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// `%ctaid`.
    pub block: [u32; 3],
    /// `%tid`.
    pub thread: [u32; 3],
    /// The CUDA source line as `file:line`, where the text carries line information.
    pub source: Option<String>,
    /// Line of the PTX text.
    pub line: u32,
    /// The instruction.
    pub text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [i, j, k]) = (self.block, self.thread);
        write!(f, "block ({x}, {y}, {z}) thread ({i}, {j}, {k}) at ")?;
        if let Some(source) = &self.source {
            write!(f, "{source}, ")?;
        }
        write!(f, "PTX line {}: {}", self.line, self.text)
    }
}

/// A broken rule: the run ends with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Fault {
    /// Which rule.
    pub kind: FaultKind,
    /// What happened, in words.
    pub message: String,
    /// The address that was touched.
    pub address: Option<u64>,
    /// Who broke the rule.
    pub site: Option<Box<Site>>,
    /// The access that it conflicts with.
    pub other: Option<Box<Site>>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some(site) = &self.site {
            write!(f, "\n  by {site}")?;
        }
        if let Some(other) = &self.other {
            write!(f, "\n  conflicting with {other}")?;
        }
        Ok(())
    }
}

/// A fault before its sites are known: what happened, in which lane, against which access.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub kind: FaultKind,
    pub message: String,
    pub address: Option<u64>,
    pub lane: Option<usize>,
    pub other: Option<super::shadow::Access>,
}

impl Violation {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Violation {
        Violation { kind, message: message.into(), address: None, lane: None, other: None }
    }

    pub fn at(mut self, address: u64) -> Violation {
        self.address = Some(address);
        self
    }

    pub fn lane(mut self, lane: usize) -> Violation {
        self.lane = Some(lane);
        self
    }

    pub fn against(mut self, other: super::shadow::Access) -> Violation {
        self.other = Some(other);
        self
    }
}
