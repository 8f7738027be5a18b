//! What a GPU hides: who may see whose writes, and who may not.

pub(crate) mod clock;
pub(crate) mod fault;
pub(crate) mod shadow;

/// Which rules are checked. Bounds, alignment, barriers and deadlock always are: running on would make no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Reads of memory that nothing has written.
    pub uninitialised: bool,
    /// Conflicting accesses that nothing orders, and accesses to what an asynchronous operation still owns.
    pub races: bool,
    /// Asynchronous-proxy accesses to what the generic proxy wrote without a proxy fence between. Needs `races`.
    pub proxies: bool,
    /// Registers touched while an asynchronous instruction owns them.
    pub registers: bool,
    /// Copies that nobody waited for, barriers left half full.
    pub balance: bool,
}

impl Checks {
    /// Every check.
    pub const ALL: Checks = Checks { uninitialised: true, races: true, proxies: true, registers: true, balance: true };
    /// None that can be left out.
    pub const NONE: Checks =
        Checks { uninitialised: false, races: false, proxies: false, registers: false, balance: false };
}

impl Default for Checks {
    fn default() -> Checks {
        Checks::ALL
    }
}
