//! Copy atoms of SM100: tensor memory and 8-bit matrices.

use super::CopyAtom;
use crate::layout::Builder;
use crate::{Int, IntTuple, Layout, LayoutError, layout, tri};

/// The shapes of `tcgen05.ld` and `tcgen05.st`: lanes, and bits of one lane in one repeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TmemShape {
    /// `.32x32b`
    Lanes32Bits32,
    /// `.16x32bx2`
    Lanes16Bits32Times2,
    /// `.16x64b`
    Lanes16Bits64,
    /// `.16x128b`
    Lanes16Bits128,
    /// `.16x256b`
    Lanes16Bits256,
}

/// The shapes of `tcgen05.cp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UtccpShape {
    /// `.128x256b`
    Lanes128Bits256,
    /// `.128x128b`
    Lanes128Bits128,
    /// `.4x256b`
    Lanes4Bits256,
    /// `.32x128b.warpx4`
    Lanes32Times4,
    /// `.64x128b.warpx2::02_13`
    Lanes64Times2Warps0213,
    /// `.64x128b.warpx2::01_23`
    Lanes64Times2Warps0123,
}

/// A mode from `extent:stride` pairs: an integer when only one is left after dropping a repeat count of 1 at the end.
const fn mode(b: &mut Builder, pairs: &[(i64, i64)]) {
    let last_is_one = pairs.len() > 1 && pairs[pairs.len() - 1].0 == 1;
    let len = if last_is_one { pairs.len() - 1 } else { pairs.len() };
    if len > 1 {
        b.open();
    }
    let mut i = 0;
    while i < len {
        b.leaf(Int::Static(pairs[i].0), Int::Static(pairs[i].1));
        i += 1;
    }
    if len > 1 {
        b.close();
    }
}

const fn pair(first: &[(i64, i64)], second: &[(i64, i64)]) -> Result<Layout, LayoutError> {
    let mut b = Builder::new();
    b.open();
    mode(&mut b, first);
    mode(&mut b, second);
    b.close();
    b.finish()
}

/// (thread, bit) → bit of the registers, and the bits of all lanes.
const fn tmem_registers(shape: TmemShape, n: i64) -> Result<(Layout, i64), LayoutError> {
    Ok(match shape {
        TmemShape::Lanes32Bits32 => (tri!(pair(&[(32, 32 * n)], &[(32 * n, 1)])), 1024 * n),
        TmemShape::Lanes16Bits32Times2 => (tri!(pair(&[(16, 64 * n), (2, 32 * n)], &[(32 * n, 1)])), 1024 * n),
        TmemShape::Lanes16Bits64 => (tri!(pair(&[(2, 512 * n), (2, 32), (8, 64 * n)], &[(32, 1), (n, 64)])), 1024 * n),
        TmemShape::Lanes16Bits128 => {
            (tri!(pair(&[(4, 32), (8, 128 * n)], &[(32, 1), (2, 1024 * n), (n, 128)])), 2048 * n)
        }
        TmemShape::Lanes16Bits256 => {
            (tri!(pair(&[(4, 64), (8, 256 * n)], &[(64, 1), (2, 2048 * n), (n, 256)])), 4096 * n)
        }
    })
}

/// `threads` threads that each see all `bits`.
const fn whole(threads: i64, bits: i64) -> Result<Layout, LayoutError> {
    Layout::new(
        tri!(IntTuple::flat(&[Int::Static(threads), Int::Static(bits)])),
        tri!(IntTuple::flat(&[Int::ZERO, Int::ONE])),
    )
}

const WARP: Layout = layout!(32:1);
/// The registers of 8-bit transposed matrices: ((4,8),(8,2,2,…)).
const fn b8_registers(matrices: i64) -> Result<Layout, LayoutError> {
    pair(&[(4, 256), (8, 8)], &[(8, 1), (2, 128), (2, 64), (matrices, 1024)])
}

impl CopyAtom {
    /// `tcgen05.ld` of `repeats` repeats: the source is tensor memory, which tiles.
    ///
    /// # Errors
    /// [`LayoutError::Count`] unless the repeats are a power of two within 128 registers.
    pub const fn tmem_load(shape: TmemShape, repeats: u32) -> Result<Self, LayoutError> {
        let registers = match shape {
            TmemShape::Lanes16Bits128 => 2,
            TmemShape::Lanes16Bits256 => 4,
            _ => 1,
        };
        if repeats.count_ones() != 1 || repeats > 128 / registers {
            return Err(LayoutError::Count { what: "repeats of tcgen05.ld and st", value: repeats as i64 });
        }
        let (dst, bits) = tri!(tmem_registers(shape, repeats as i64));
        let memory = tri!(whole(32, bits));
        Ok(Self { thr_id: WARP, src: memory, dst, reference: memory })
    }

    /// `tcgen05.st` of `repeats` repeats: the destination is tensor memory, which tiles.
    ///
    /// # Errors
    /// As [`tmem_load`](Self::tmem_load).
    pub const fn tmem_store(shape: TmemShape, repeats: u32) -> Result<Self, LayoutError> {
        let load = tri!(Self::tmem_load(shape, repeats));
        Ok(Self { src: load.dst, dst: load.src, ..load })
    }

    /// `tcgen05.cp`, by one CTA or by a pair.
    pub const fn utccp(shape: UtccpShape, pair: bool) -> Self {
        const fn both(one: Layout, two: Layout, pair: bool) -> Layout {
            if pair { two } else { one }
        }
        let all = both(layout!((1, 16384):(0, 1)), layout!((2, 16384):(0, 1)), pair);
        let (src, dst) = match shape {
            UtccpShape::Lanes128Bits256 => {
                let l = both(layout!((1, 32768):(0, 1)), layout!((2, 32768):(0, 1)), pair);
                (l, l)
            }
            UtccpShape::Lanes128Bits128 => (all, all),
            UtccpShape::Lanes4Bits256 => {
                let l = both(layout!((1, (4, 256)):(0, (32, 128))), layout!((2, (4, 256)):(0, (32, 128))), pair);
                (l, l)
            }
            UtccpShape::Lanes32Times4 => {
                let one = layout!((1, (32, 128, 4)):(0, (1, 32, 0)));
                (both(one, layout!((2, (32, 128, 4)):(0, (1, 32, 0))), pair), all)
            }
            UtccpShape::Lanes64Times2Warps0213 => {
                let one = layout!((1, (64, 128, 2)):(0, (1, 64, 0)));
                (both(one, layout!((2, (64, 128, 2)):(0, (1, 64, 0))), pair), all)
            }
            UtccpShape::Lanes64Times2Warps0123 => {
                let one = layout!((1, (32, 128, 2, 2)):(0, (1, 32, 4096, 0)));
                (both(one, layout!((2, (32, 128, 2, 2)):(0, (1, 32, 4096, 0))), pair), all)
            }
        };
        Self { thr_id: if pair { layout!(2:1) } else { layout!(1:0) }, src, dst, reference: dst }
    }

    /// `ldmatrix.m16n16.x{matrices}.trans.b8`, one or two matrices.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for any other number.
    pub const fn ldmatrix_b8(matrices: u32) -> Result<Self, LayoutError> {
        let src = match matrices {
            1 => layout!(((2, 2, 4, 2), 128):((128, 1024, 256, 0), 1)),
            2 => layout!(((2, 2, 4, 2), 128):((128, 1024, 256, 2048), 1)),
            _ => return Err(LayoutError::Count { what: "matrices of ldmatrix.b8, 1 or 2,", value: matrices as i64 }),
        };
        let dst = tri!(b8_registers(2 * matrices as i64));
        Ok(Self { thr_id: WARP, src, dst, reference: dst })
    }

    /// `stmatrix.m16n8.x{matrices}.trans.b8`, one, two or four matrices.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for any other number.
    pub const fn stmatrix_b8(matrices: u32) -> Result<Self, LayoutError> {
        let rows = tri!(Self::ldmatrix(matrices, false)).src;
        let src = tri!(b8_registers(matrices as i64));
        Ok(Self { thr_id: WARP, src, dst: rows, reference: src })
    }

    /// A warp shuffle that transposes 2×2 blocks of words between lanes whose ids differ in bit `distance` (1 or 4).
    pub const fn shuffle_transpose(distance: u32) -> Self {
        const SRC: Layout = layout!((32, 64):(64, 1));
        let dst = if distance == 1 {
            layout!(((2, 16), (32, 2)):((32, 128), (1, 64)))
        } else {
            layout!(((4, 2, 4), (32, 2)):((64, 32, 512), (1, 256)))
        };
        Self { thr_id: WARP, src: SRC, dst, reference: SRC }
    }
}
