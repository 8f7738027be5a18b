//! Ordered layouts and `tile_to_shape`.

use crate::layout::Builder;
use crate::{Cursor, Int, IntTuple, Layout, LayoutError, Tiler, tri};

impl Layout {
    /// The compact layout of `shape` whose modes are contiguous in the order of `order`'s integers, smallest first.
    /// `order` has the shape's nesting or less; dynamic orders count as larger than all static ones, left to right.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] when `order` does not follow the shape's nesting.
    pub const fn ordered(shape: &IntTuple, order: &IntTuple) -> Result<Self, LayoutError> {
        let (mut extents, mut keys) = ([Int::ONE; IntTuple::MAX_LEAVES], [0i128; IntTuple::MAX_LEAVES]);
        let mut i = 0;
        while i < order.leaves() {
            let o = order.get(i);
            keys[i] = if o.is_static() { o.value() as i128 } else { i64::MAX as i128 + 1 + i as i128 };
            i += 1;
        }
        tri!(order_extents(shape, Cursor::START, order, Cursor::START, &mut extents));
        let mut strides = [Int::ZERO; IntTuple::MAX_LEAVES];
        tri!(order_strides(shape, Cursor::START, order, Cursor::START, &extents, &keys, &mut strides));
        Self::new(*shape, shape.with_leaves(&strides))
    }

    /// The block repeated until it has the extents of `shape`. `order` says in which order the modes are tiled, smaller
    /// first; `None` is column-major.
    ///
    /// # Errors
    /// [`LayoutError::BlockDivisibility`], [`LayoutError::TooManyModes`], [`LayoutError::Extent`], and those of
    /// [`blocked_product`](Self::blocked_product).
    pub const fn tile_to_shape(&self, shape: &IntTuple, order: Option<&IntTuple>) -> Result<Self, LayoutError> {
        let rank = shape.rank();
        let mut leaf = 0;
        while leaf < shape.leaves() {
            if shape.get(leaf).value() < 1 {
                return Err(LayoutError::Extent { mode: shape.path(leaf), extent: shape.get(leaf) });
            }
            leaf += 1;
        }
        if self.rank() > rank {
            return Err(LayoutError::TooManyModes { operation: "tile_to_shape", given: self.rank(), rank });
        }
        let block = tri!(self.append(rank));
        let (have, want) = (block.shape.product_each(), shape.product_each());
        let mut times = [Int::ONE; IntTuple::MAX_LEAVES];
        let mut i = 0;
        while i < rank {
            let (target, b) = (want.get(i), have.get(i));
            if target.value() < b.value() || target.value() % b.value() != 0 {
                return Err(LayoutError::BlockDivisibility { mode: i, target, block: b });
            }
            times[i] = target.ceil_div(b);
            i += 1;
        }
        let times = want.with_leaves(&times);
        let tiler = match order {
            Some(order) => tri!(Self::ordered(&times, order)),
            None => tri!(Self::column_major(times)),
        };
        block.blocked_product(&tiler)
    }

    /// A compact layout of this shape whose modes are ordered by this layout's strides; stride-0 modes stay 0.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub const fn make_like(&self) -> Result<Self, LayoutError> {
        let kept = self.filter_zeros();
        let ordered = tri!(Self::ordered(&kept.shape, &kept.stride));
        Self::new(self.shape, ordered.stride)
    }
}

impl Layout {
    /// A compact layout of this shape for registers: mode 0, which an atom moves or multiplies as a vector, is contiguous
    /// whatever its strides here; the other modes follow in the order of their strides.
    ///
    /// # Errors
    /// As [`tiled_product`](Self::tiled_product).
    pub const fn fragment_like(&self) -> Result<Self, LayoutError> {
        let rank = self.rank();
        if rank < 2 || !self.shape.is_static() {
            return Self::column_major(self.shape);
        }
        let (first, mut rest) = (self.mode(0), Builder::new());
        let compact = tri!(Self::column_major(first.filter_zeros().shape));
        let vector = tri!(Self::new(first.shape, compact.stride));
        rest.open();
        let mut i = 1;
        while i < rank {
            rest.mode(self, i);
            i += 1;
        }
        rest.close();
        let rest = tri!(rest.finish());
        let ordered = tri!(Self::ordered(&rest.shape, &rest.stride));
        vector.tiled_product(&Tiler::Layout(&ordered))
    }
}

/// The product of the shape at each integer of `order`.
const fn order_extents(
    shape: &IntTuple,
    at: Cursor,
    order: &IntTuple,
    o: Cursor,
    out: &mut [Int; IntTuple::MAX_LEAVES],
) -> Result<(), LayoutError> {
    if !order.is_tuple_at(o) {
        out[o.leaf] = shape.product_at(at);
        return Ok(());
    }
    let (found, needed) = (order.rank_at(o), shape.rank_at(at));
    if found != needed || !shape.is_tuple_at(at) {
        return Err(LayoutError::Rank { operation: "make_ordered_layout", found, needed });
    }
    let mut i = 0;
    while i < found {
        tri!(order_extents(shape, shape.child_at(at, i), order, order.child_at(o, i), out));
        i += 1;
    }
    Ok(())
}

const fn order_strides(
    shape: &IntTuple,
    at: Cursor,
    order: &IntTuple,
    o: Cursor,
    extents: &[Int; IntTuple::MAX_LEAVES],
    keys: &[i128; IntTuple::MAX_LEAVES],
    out: &mut [Int; IntTuple::MAX_LEAVES],
) -> Result<(), LayoutError> {
    if order.is_tuple_at(o) {
        let mut i = 0;
        while i < order.rank_at(o) {
            tri!(order_strides(shape, shape.child_at(at, i), order, order.child_at(o, i), extents, keys, out));
            i += 1;
        }
        return Ok(());
    }
    let (mut current, mut i) = (Int::ONE, 0);
    while i < order.leaves() {
        if keys[i] < keys[o.leaf] {
            current = current.mul(extents[i]);
        }
        i += 1;
    }
    let (mut leaf, end) = (at.leaf, shape.skip(at).leaf);
    while leaf < end {
        let s = shape.get(leaf);
        if !s.is(1) {
            out[leaf] = current;
            current = current.mul(s);
        }
        leaf += 1;
    }
    Ok(())
}
