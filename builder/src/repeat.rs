//! Calls like one before them: the same problem of operands that lie the same way, elsewhere in memory. What was found out
//! about extents, strides and alignment holds again, so that only what addresses decide is looked at.

use warpwright_epilogue::{LeafKind, OutputShape, Program};
use warpwright_kernels::Arguments;
use warpwright_kernels::lower::{DeviceCall, RepeatedCall};
use warpwright_runtime::{Device, Space, Strided};
use warpwright_spec::{CopyWidths, Mnk, Spec};

use crate::error::RunError;

/// A call that was launched.
pub(crate) struct Repeat {
    /// Of A, B and D, as they were given.
    operands: [Lies; 3],
    call: DeviceCall,
}

/// How an operand lies: alignment is never asked for beyond [`CopyWidths::WIDEST`] bytes, so that all addresses of one offset from multiples
/// of it are alike.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lies {
    layout: Strided,
    offset: u64,
    /// Bytes from its address that are read or written.
    bytes: usize,
}

/// An operand by what may change from call to call.
#[derive(Clone, Copy)]
struct Given {
    address: u64,
    bytes: usize,
}

impl Repeat {
    /// What a call of these operands repeats; `None` where more than A, B and D decides it: other operands of the mainloop, matrices
    /// of the epilogue, what it stores. The call was launched, with encoded maps.
    pub(crate) fn of(epilogue: &Program, given: &Arguments<'_>, call: &DeviceCall) -> Option<Repeat> {
        let addressed = |leaf: LeafKind| matches!(leaf, LeafKind::Scalar(_) | LeafKind::Row(_) | LeafKind::Column(_));
        if !given.extra.is_empty() || !epilogue.leaves().iter().all(|leaf| addressed(leaf.kind)) {
            return None;
        }
        let Arguments { a, b, d, .. } = given;
        let lies = |dtype: warpwright_numeric::Dtype, layout: Strided, address: u64| {
            let bytes = dtype.packed_bytes(layout.span(dtype).ok()?);
            Some(Lies { layout, offset: address % CopyWidths::WIDEST as u64, bytes })
        };
        let operands = [
            lies(a.dtype(), a.layout(), a.address())?,
            lies(b.dtype(), b.layout(), b.address())?,
            lies(d.dtype(), d.layout(), d.address())?,
        ];
        Some(Repeat { operands, call: call.clone() })
    }

    /// Whether a call is this one again: elements, memory, strides, alignment and lengths as they were, and D apart from what is read.
    pub(crate) fn is_like(&self, spec: &Spec, space: Space, given: &Arguments<'_>) -> bool {
        let Arguments { a, b, d, extra, .. } = given;
        let typed = (a.dtype(), b.dtype(), d.dtype()) == (spec.a, spec.b, spec.d);
        let here = a.space() == space && b.space() == space && d.space() == space;
        let operands = [
            (a.layout(), Given { address: a.address(), bytes: a.bytes() }),
            (b.layout(), Given { address: b.address(), bytes: b.bytes() }),
            (d.layout(), Given { address: d.address(), bytes: d.bytes() }),
        ];
        let fits = self.operands.iter().zip(&operands).all(|(lies, (layout, given))| {
            given.bytes >= lies.bytes
                && given.address % CopyWidths::WIDEST as u64 == lies.offset
                && *layout == lies.layout
        });
        let end = |i: usize| operands[i].1.address.checked_add(self.operands[i].bytes as u64);
        let apart = |i: usize| match (end(2), end(i)) {
            (Some(end_d), Some(end)) => end_d <= operands[i].1.address || end <= operands[2].1.address,
            _ => false,
        };
        typed && here && extra.is_empty() && fits && apart(0) && apart(1)
    }

    /// Makes `to` the launch of such a call; false: it has to be made anew.
    ///
    /// # Errors
    /// Arguments that are not the epilogue's.
    pub(crate) fn call(
        &self,
        to: &mut RepeatedCall,
        device: &Device,
        epilogue: &Program,
        given: &Arguments<'_>,
    ) -> Result<bool, RunError> {
        let addresses = [given.a.address(), given.b.address(), given.d.address()];
        let moved = |map: &mut [u8; 128], address| device.move_tensor_map(map, address);
        // Room for arguments is three kilobytes.
        if epilogue.leaves().is_empty() && given.epilogue.is_empty() {
            return Ok(self.call.again(to, addresses, None, moved));
        }
        let mut bound = epilogue.unbound();
        let [batch, m, n] = given.d.extents();
        epilogue.bind_in(&mut bound, given.epilogue, OutputShape { batch, m, n }, device.space())?;
        // Zeros that drop the products decide whether A and B have to be there.
        Ok(bound.may_read_accumulator() && self.call.again(to, addresses, Some(&bound), moved))
    }
}

/// The problem of a call's operands, if they fit one another: its extents and the entries of its batch.
pub(crate) fn extents(given: &Arguments<'_>) -> (Mnk, usize) {
    let ([_, _, k], [batch, m, n]) = (given.a.extents(), given.d.extents());
    (Mnk { m, n, k }, batch)
}
