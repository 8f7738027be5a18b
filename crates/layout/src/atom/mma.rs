//! MMA atoms.

use crate::layout::Builder;
use crate::{Int, Layout, LayoutError, layout, tri};

/// One matrix-multiply instruction: who holds what.
///
/// `a`, `b` and `c` take (thread, value) to a column-major index in M×K, N×K and M×N.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MmaAtom {
    /// M, N and K.
    pub shape_mnk: [i64; 3],
    /// Element widths of D, A, B and C in bits.
    pub bits: [u32; 4],
    /// Logical thread to thread index within the atom's threads.
    pub thr_id: Layout,
    /// (thread, value) → m + M·k.
    pub a: Layout,
    /// (thread, value) → n + N·k.
    pub b: Layout,
    /// (thread, value) → m + M·n.
    pub c: Layout,
}

/// Adds `extent:stride` unless the extent is 1.
const fn value(b: &mut Builder, extent: i64, stride: i64) {
    if extent > 1 {
        b.leaf(Int::Static(extent), Int::Static(stride));
    }
}

/// The operand fragment of `mma.sync` with `rows` rows: four lanes share a row, each with 32 bits (one element of 64
/// bits and more) of every group of k.
const fn operand(rows: i64, k: i64, bits: u32) -> Result<Layout, LayoutError> {
    let word = if bits < 32 { (32 / bits) as i64 } else { 1 };
    let groups = k / (4 * word);
    let modes = (word > 1) as usize + (rows > 8) as usize + (groups > 1) as usize;
    // The reference writes the values of 4-bit operands as a tuple even when there is one mode.
    let tuple = modes > 1 || (modes == 1 && bits == 4);
    let mut b = Builder::new();
    b.open();
    lanes(&mut b, rows * word);
    if tuple {
        b.open();
    }
    value(&mut b, word, rows);
    value(&mut b, rows / 8, 8);
    value(&mut b, groups, rows * 4 * word);
    if modes == 0 {
        b.leaf(Int::ONE, Int::ZERO);
    }
    if tuple {
        b.close();
    }
    b.close();
    b.finish()
}

const fn lanes(b: &mut Builder, quad_stride: i64) {
    b.open();
    b.leaf(Int::Static(4), Int::Static(quad_stride));
    b.leaf(Int::Static(8), Int::ONE);
    b.close();
}

const fn accumulator(m: i64) -> Layout {
    if m == 16 { layout!(((4, 8), (2, 2)):((32, 1), (16, 8))) } else { layout!(((4, 8), 2):((16, 1), 8)) }
}

impl MmaAtom {
    /// `mma.sync.m{m}n8k{k}` (SM75 and later, all types but f16 m8n8k4): `bits` are the widths of D, A, B and C, with
    /// 8 for the padded containers of 4- and 6-bit floats.
    ///
    /// # Errors
    /// [`LayoutError::Count`] when m is neither 8 nor 16, or k is no multiple of the four lanes' words.
    pub const fn mma_sync(m: i64, k: i64, bits: [u32; 4]) -> Result<Self, LayoutError> {
        if m != 8 && m != 16 {
            return Err(LayoutError::Count { what: "M of mma.sync, 8 or 16,", value: m });
        }
        let mut i = 1;
        while i < 3 {
            let word = if bits[i] == 0 || bits[i] >= 32 { 1 } else { 32 / bits[i] as i64 };
            if bits[i] == 0 || k < 4 * word || k % (4 * word) != 0 {
                return Err(LayoutError::Count { what: "K of mma.sync, a multiple of four words,", value: k });
            }
            i += 1;
        }
        Ok(Self {
            shape_mnk: [m, 8, k],
            bits,
            thr_id: layout!(32:1),
            a: tri!(operand(m, k, bits[1])),
            b: tri!(operand(8, k, bits[2])),
            c: accumulator(m),
        })
    }

    /// `wgmma.mma_async.m64n{n}k{k}`; `a_in_registers` for the form that reads A from registers. Operands in shared memory
    /// are seen whole by each of the 128 threads.
    ///
    /// # Errors
    /// [`LayoutError::Count`] when n is no multiple of 8 up to 256, or k is not 256 bits of A.
    pub const fn wgmma(n: i64, k: i64, bits: [u32; 4], a_in_registers: bool) -> Result<Self, LayoutError> {
        if n < 8 || n > 256 || n % 8 != 0 {
            return Err(LayoutError::Count { what: "N of wgmma, a multiple of 8 up to 256,", value: n });
        }
        if k < 1 || bits[1] > 32 || k.saturating_mul(bits[1] as i64) != 256 {
            return Err(LayoutError::Count { what: "K of wgmma, 256 bits of A,", value: k });
        }
        let word = (32 / bits[1]) as i64;
        let a = if a_in_registers { tri!(warpgroup(word, 2)) } else { tri!(shared(64, k)) };
        Ok(Self {
            shape_mnk: [64, n, k],
            bits,
            thr_id: layout!(128:1),
            a,
            b: tri!(shared(n, k)),
            c: tri!(warpgroup(2, n / 8)),
        })
    }

    /// `mma.sync.m8n8k4` of f16 (SM70) by one quad pair, accumulating in `c_bits`; `a_m_major` and `b_n_major` for operands
    /// that are contiguous in m and n.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for accumulators that are neither of 16 nor of 32 bits.
    pub const fn sm70(c_bits: u32, a_m_major: bool, b_n_major: bool) -> Result<Self, LayoutError> {
        if c_bits != 16 && c_bits != 32 {
            return Err(LayoutError::Count { what: "accumulator bits of m8n8k4, 16 or 32,", value: c_bits as i64 });
        }
        const ROW: Layout = layout!((8, 4):(1, 8));
        const COLUMN: Layout = layout!(((4, 2), 4):((8, 4), 1));
        Ok(Self {
            shape_mnk: [8, 8, 4],
            bits: [c_bits, 16, 16, c_bits],
            thr_id: layout!((4, 2):(1, 16)),
            a: if a_m_major { COLUMN } else { ROW },
            b: if b_n_major { COLUMN } else { ROW },
            c: if c_bits == 16 {
                layout!((8, 8):(1, 8))
            } else {
                layout!(((2, 2, 2), (2, 2, 2)):((1, 16, 4), (8, 2, 32)))
            },
        })
    }

    /// The integer dot products of SM61: one thread, four elements of 8 bits or two of 16.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for other numbers of elements or bits.
    pub const fn dot_product(k: i64, bits: u32) -> Result<Self, LayoutError> {
        const ONE: Layout = layout!((1, 1):(0, 0));
        let operand = match (k, bits) {
            (4, 8) => layout!((1, 4):(0, 1)),
            (2, 16) => layout!((1, 2):(0, 1)),
            _ => {
                return Err(LayoutError::Count {
                    what: "elements of dp4a and dp2a, 4 of 8 bits or 2 of 16,",
                    value: k,
                });
            }
        };
        let bits = [32, bits, bits, 32];
        Ok(Self { shape_mnk: [1, 1, k], bits, thr_id: layout!(1:0), a: operand, b: operand, c: ONE })
    }

    /// `tcgen05.mma` of `m`×`n` with operands seen whole by the issuing CTA, or halved between the two CTAs of a `pair`. K
    /// is 16 for 16-bit operands, 8 for tf32, 32 for integers and f8f6f4, 64 for packed e2m1.
    ///
    /// # Errors
    /// [`LayoutError::Count`] for an m or n that no such instruction has.
    pub const fn umma(m: i64, n: i64, k: i64, bits: [u32; 4], pair: bool) -> Result<Self, LayoutError> {
        if (m != 64 && m != 128 && m != 256) || (m == 64 && pair) || (m == 256 && !pair) {
            return Err(LayoutError::Count { what: "M of tcgen05.mma, 64 or 128 (128 or 256 for a pair),", value: m });
        }
        let step = if pair { 16 } else { 8 };
        if n < step || n > 256 || n % step != 0 {
            return Err(LayoutError::Count {
                what: "N of tcgen05.mma, a multiple of 8 (16 for a pair) up to 256,",
                value: n,
            });
        }
        if k != 8 && k != 16 && k != 32 && k != 64 {
            return Err(LayoutError::Count { what: "K of tcgen05.mma, 8, 16, 32 or 64,", value: k });
        }
        let ctas = if pair { 2 } else { 1 };
        Ok(Self {
            shape_mnk: [m, n, k],
            bits,
            thr_id: if pair { layout!(2:1) } else { layout!(1:0) },
            a: tri!(split(ctas, m, k)),
            b: tri!(split(ctas, n, k)),
            c: tri!(split(ctas, m, n)),
        })
    }

    /// The scalar multiply-add on elements of `bits`.
    pub const fn universal_fma(bits: u32) -> Self {
        const ONE: Layout = layout!((1, 1):(0, 0));
        Self { shape_mnk: [1, 1, 1], bits: [bits; 4], thr_id: layout!(1:0), a: ONE, b: ONE, c: ONE }
    }
}

/// A warpgroup's fragment of a 64-row matrix: `word` elements, rows 8 apart, then `groups` of columns.
const fn warpgroup(word: i64, groups: i64) -> Result<Layout, LayoutError> {
    let mut b = Builder::new();
    b.open();
    b.open();
    b.leaf(Int::Static(4), Int::Static(64 * word));
    b.leaf(Int::Static(8), Int::ONE);
    b.leaf(Int::Static(4), Int::Static(16));
    b.close();
    b.open();
    if word > 1 {
        b.leaf(Int::Static(word), Int::Static(64));
    }
    b.leaf(Int::Static(2), Int::Static(8));
    b.leaf(Int::Static(groups), Int::Static(256 * word));
    b.close();
    b.close();
    b.finish()
}

/// A rows×k operand in shared memory, seen by 128 threads.
const fn shared(rows: i64, k: i64) -> Result<Layout, LayoutError> {
    let mut b = Builder::new();
    b.open();
    b.leaf(Int::Static(128), Int::ZERO);
    b.open();
    b.leaf(Int::Static(rows), Int::ONE);
    b.leaf(Int::Static(k), Int::Static(rows));
    b.close();
    b.close();
    b.finish()
}

/// A rows×columns matrix whose rows are halved between `ctas` CTAs.
const fn split(ctas: i64, rows: i64, columns: i64) -> Result<Layout, LayoutError> {
    let part = rows / ctas;
    let mut b = Builder::new();
    b.open();
    b.leaf(Int::Static(ctas), Int::Static(if ctas > 1 { part } else { 0 }));
    b.open();
    b.leaf(Int::Static(part), Int::ONE);
    b.leaf(Int::Static(columns), Int::Static(rows));
    b.close();
    b.close();
    b.finish()
}
