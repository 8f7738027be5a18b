//! Upcast, downcast and recast: the same memory in wider or narrower elements.

use crate::layout::Builder;
use crate::{Int, IntTuple, Layout, LayoutError, tri};

impl Layout {
    /// Offsets counted in elements `factor` times wider: the stride-1 mode shrinks, other strides are divided.
    ///
    /// # Errors
    /// [`LayoutError::UpcastDivisibility`] and [`LayoutError::Count`] for a factor below 1.
    pub const fn upcast(&self, factor: i64) -> Result<Self, LayoutError> {
        if factor < 1 {
            return Err(LayoutError::Count { what: "the recast factor, 1 or more,", value: factor });
        }
        let n = Int::Static(factor);
        let (mut shape, mut stride) = ([Int::ONE; IntTuple::MAX_LEAVES], [Int::ZERO; IntTuple::MAX_LEAVES]);
        let mut i = 0;
        while i < self.shape.leaves() {
            let (s, d) = (self.shape.get(i), self.stride.get(i));
            (shape[i], stride[i]) = (s, d);
            let step = d.abs().value();
            if step != 0 {
                if step % factor != 0 && factor % step != 0 {
                    return Err(LayoutError::UpcastDivisibility { stride: d, factor });
                }
                if d.is_static() {
                    shape[i] = s.ceil_div(n.ceil_div(d.abs()));
                    stride[i] = d.signum().mul(d.abs().ceil_div(n));
                } else {
                    // A dynamic stride is taken to be a multiple of the factor.
                    if step % factor != 0 {
                        return Err(LayoutError::UpcastDivisibility { stride: d, factor });
                    }
                    stride[i] = d.div(n);
                }
            }
            i += 1;
        }
        Self::new(self.shape.with_leaves(&shape), self.stride.with_leaves(&stride))
    }

    /// Offsets counted in elements `factor` times narrower: the stride-1 mode grows, other strides are multiplied. As in CuTe
    /// every mode of stride 1 grows, also one of a single element; coalesce or filter what has several.
    ///
    /// # Errors
    /// [`LayoutError::DowncastStride`] without a static stride 1; [`LayoutError::Count`] for a factor below 1.
    pub const fn downcast(&self, factor: i64) -> Result<Self, LayoutError> {
        if factor < 1 {
            return Err(LayoutError::Count { what: "the recast factor, 1 or more,", value: factor });
        }
        let n = Int::Static(factor);
        let (mut shape, mut stride) = ([Int::ONE; IntTuple::MAX_LEAVES], [Int::ZERO; IntTuple::MAX_LEAVES]);
        let (mut i, mut adjacent) = (0, false);
        while i < self.shape.leaves() {
            let (s, d) = (self.shape.get(i), self.stride.get(i));
            if d.is(1) || d.is(-1) {
                adjacent = adjacent || d.is(1);
                (shape[i], stride[i]) = (s.mul(n), d);
            } else {
                (shape[i], stride[i]) = (s, d.mul(n));
            }
            i += 1;
        }
        if !adjacent {
            return Err(LayoutError::DowncastStride);
        }
        Self::new(self.shape.with_leaves(&shape), self.stride.with_leaves(&stride))
    }

    /// Offsets in elements of `old_bits` become offsets in elements of `new_bits`.
    ///
    /// # Errors
    /// As [`upcast`](Self::upcast) and [`downcast`](Self::downcast).
    pub const fn recast(&self, old_bits: i64, new_bits: i64) -> Result<Self, LayoutError> {
        let (up, down) = tri!(recast_ratio(old_bits, new_bits));
        let mut out = *self;
        if up > 1 {
            out = tri!(out.upcast(up));
        }
        if down > 1 {
            out = tri!(out.downcast(down));
        }
        Ok(out)
    }

    /// The largest `n` for which [`upcast`](Self::upcast) by `n` keeps every static extent and stride whole. As in CuTe, dynamic
    /// strides are taken to be multiples of it.
    ///
    /// # Errors
    /// As [`logical_divide`](Self::logical_divide).
    pub const fn max_alignment(&self) -> Result<i64, LayoutError> {
        let flat = tri!(self.coalesce());
        let mut b = Builder::new();
        if flat.shape.is_tuple() {
            b.open();
        }
        let mut i = 0;
        while i < flat.shape.leaves() {
            let (s, d) = (flat.shape.get(i), flat.stride.get(i));
            b.leaf(if s.is_static() { s } else { Int::ONE }, if d.is_static() { d } else { Int::ZERO });
            i += 1;
        }
        if flat.shape.is_tuple() {
            b.close();
        }
        let known = tri!(b.finish());
        let inverse = tri!(known.right_inverse());
        let permuted = tri!(known.logical_divide(&crate::Tiler::Layout(&inverse)));
        let mut g = permuted.mode(0).size().value();
        let rest = permuted.mode(1).stride;
        i = 0;
        while i < rest.leaves() {
            g = gcd(g, rest.get(i).value());
            i += 1;
        }
        // A stride is a step also where it is not known how many there are.
        i = 0;
        while i < flat.shape.leaves() {
            if !flat.shape.get(i).is_static() && flat.stride.get(i).is_static() {
                g = gcd(g, flat.stride.get(i).value());
            }
            i += 1;
        }
        Ok(g)
    }
}

pub(crate) const fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `new / old` in lowest terms: first up, then down.
pub(crate) const fn recast_ratio(old_bits: i64, new_bits: i64) -> Result<(i64, i64), LayoutError> {
    if old_bits < 1 {
        return Err(LayoutError::Count { what: "the old element width in bits", value: old_bits });
    }
    if new_bits < 1 {
        return Err(LayoutError::Count { what: "the new element width in bits", value: new_bits });
    }
    let g = gcd(old_bits, new_bits);
    Ok((new_bits / g, old_bits / g))
}
