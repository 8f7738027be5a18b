//! Synchronisation through memory: releases, acquires and fences.

use super::memory::Place;
use super::{Executed, Flow};
use crate::check::clock::Memory;
use crate::ir::{Fence, Order};
use crate::machine::run::{At, Run};

impl Run<'_> {
    /// A strong write publishes what its warp knows: all of it if it is a release, what the last fence covered if not.
    pub(super) fn publish(&mut self, at: At, place: Place, address: u64, order: Order) {
        if !self.config.checks.races {
            return;
        }
        let location = self.location(at, place, address);
        let warp = self.warp(at);
        let clock = if order.release { Some(warp.publish().clone()) } else { warp.fenced.clone() };
        if let Some(clock) = clock {
            self.published.entry(location).or_insert_with(|| clock.clone()).join(&clock);
        }
    }

    /// A strong read learns what was published there: at once if it is an acquire, with the next fence if not.
    pub(super) fn observe(&mut self, at: At, place: Place, address: u64, order: Order) {
        if self.published.is_empty() {
            return;
        }
        let location = self.location(at, place, address);
        let Some(clock) = self.published.get(&location) else { return };
        let warp = &mut self.clusters[at.cluster].warps[at.warp];
        if order.acquire {
            warp.clock.join(clock);
        } else {
            warp.seen.get_or_insert_with(|| clock.clone()).join(clock);
        }
    }

    pub(super) fn fence(&mut self, at: At, fence: Fence) -> Executed {
        let warp = self.warp(at);
        match fence {
            Fence::Memory => {
                if let Some(seen) = warp.seen.take() {
                    warp.clock.join(&seen);
                }
                warp.fenced = Some(warp.publish().clone());
            }
            Fence::Proxy(only) => {
                warp.publish();
                for memory in Memory::ALL.into_iter().filter(|memory| only.is_none_or(|m| m == *memory)) {
                    warp.clock.fence_proxy(memory);
                }
            }
            // Everything is visible at once where these are needed.
            Fence::MbarrierInit | Fence::TensorMap => {}
        }
        Ok(Flow::Next)
    }
}
