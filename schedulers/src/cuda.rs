//! Device text: what of this crate is part of a kernel's source.

use warpwright_spec::SchedulerId;

/// `struct Work`, and the order that tiles are walked in.
pub const WORK: &str = include_str!("work.cuh");

/// A scheduler's type in a kernel, and the text that declares it. It comes behind [`WORK`], the parameter structs and the
/// kernel's constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceText {
    /// The type.
    pub name: &'static str,
    /// Its declaration and what that needs, in order.
    pub text: [&'static str; 2],
}

/// What the GPU runs for a scheduler; `None` where there is nothing yet. `AUTO` is one tile a block, as on the host.
pub const fn device_text(id: SchedulerId) -> Option<DeviceText> {
    const FIXUP: &str = include_str!("fixup.cuh");
    const SPLIT_K: [&str; 2] = [FIXUP, include_str!("split_k.cuh")];
    let (name, text) = match id {
        SchedulerId::AUTO | SchedulerId::SINGLE_TILE => ("SingleTileScheduler", ["", include_str!("single_tile.cuh")]),
        SchedulerId::PERSISTENT => ("PersistentScheduler", ["", include_str!("persistent.cuh")]),
        SchedulerId::SPLIT_K => ("SplitKScheduler<Arrivals<cfg::shares>>", SPLIT_K),
        SchedulerId::SPLIT_K_SERIAL => ("SplitKScheduler<Turnstile>", SPLIT_K),
        SchedulerId::STREAM_K => ("StreamKScheduler", [FIXUP, include_str!("stream_k.cuh")]),
        SchedulerId::GROUPED => return None,
    };
    Some(DeviceText { name, text })
}
