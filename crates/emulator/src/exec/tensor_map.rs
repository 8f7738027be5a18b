//! `tensormap.replace` and `tensormap.cp_fenceproxy`: tensor maps that a kernel makes itself.

use super::memory::Place;
use super::{Executed, Flow};
use crate::check::fault::{FaultKind, Violation};
use crate::ir::{Address, Space, TensorMapReplace};
use crate::machine::run::{At, Run};
use crate::machine::warp::lanes;
use crate::tensor_map::replace;

/// Bytes of a tensor map.
const BYTES: usize = 128;

impl Run<'_> {
    pub(super) fn replace_tensor_map(&mut self, at: At, op: &TensorMapReplace) -> Executed {
        let addresses = self.addresses(at, &op.address);
        let values = self.warp(at).registers.read_wide(op.value);
        let mut sight = self.sight(at);
        for lane in lanes(at.mask) {
            let address = addresses[lane];
            let place = sight.find_bytes(op.space, address, BYTES, lane)?;
            if let Place::Param { .. } = place {
                let message = "a write to kernel parameters";
                return Err(Violation::new(FaultKind::OutOfBounds, message).at(address).lane(lane));
            }
            sight.check(place, BYTES, true, lane, at.pc, false).map_err(|v| v.at(address))?;
            let mut map = [0; BYTES];
            sight.fetch(place, &mut map);
            replace(&mut map, op.field, values[lane]).ok_or_else(|| {
                let message = format!(
                    "{:?} of the tensor map at {address:#x} becomes {}: not a legal map",
                    op.field, values[lane]
                );
                Violation::new(FaultKind::Descriptor, message).at(address).lane(lane)
            })?;
            sight.bytes(place, BYTES).copy_from_slice(&map);
        }
        self.events += 1;
        Ok(Flow::Next)
    }

    pub(super) fn copy_tensor_map(&mut self, at: At, to: &Address, from: &Address) -> Executed {
        if !self.together(at, !0) {
            return Ok(Flow::Stop);
        }
        let (to, from) = (self.addresses(at, to)[0], self.addresses(at, from)[0]);
        let mut sight = self.sight(at);
        let mut map = [0; BYTES];
        let source = sight.find(Space::Shared, from, BYTES, 0)?;
        sight.check(source, BYTES, false, 0, at.pc, false).map_err(|v| v.at(from))?;
        sight.fetch(source, &mut map);
        let target = sight.find(Space::Global, to, BYTES, 0)?;
        sight.check(target, BYTES, true, 0, at.pc, false).map_err(|v| v.at(to))?;
        sight.bytes(target, BYTES).copy_from_slice(&map);
        self.warp(at).publish();
        self.events += 1;
        Ok(Flow::Next)
    }
}
