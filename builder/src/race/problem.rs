//! What is raced.

use crate::auto::OperandFacts;
use warpwright_arch::DeviceInfo;
use warpwright_numeric::Dtype;
use warpwright_runtime::{Order as Memory, Strided};
use warpwright_spec::{Alignment, CopyWidths, Mnk, Order, Problem, Spec, default_output};

/// What a kernel takes at best that waits for device memory alone, behind a flushed cache and timed by events: seconds, and the
/// part of the data sheet's bandwidth. Measured on one H200 with bulk copies (4.3 µs + bytes / 4.6 TB/s).
const FLOOR: (f64, f64) = (4.3e-6, 4.6 / 4.8);

/// One product, or a batch of equal ones, of dense operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaceProblem {
    /// The extents.
    pub mnk: Mnk,
    /// How many products.
    pub batch: usize,
    /// Element of A.
    pub a: Dtype,
    /// Element of B.
    pub b: Dtype,
    /// Element of D.
    pub d: Dtype,
    /// How A lies in memory.
    pub order_a: Order,
    /// How B lies in memory.
    pub order_b: Order,
    /// How D lies in memory.
    pub order_d: Order,
    /// Whether cuBLASLt may sum fp8 products in the tensor core's own precision; other types have no such choice.
    pub fast_accumulation: bool,
}

impl RaceProblem {
    /// One product of two matrices of one element, K-major both, with a row-major D of the usual element.
    pub fn new(mnk: Mnk, element: Dtype) -> RaceProblem {
        RaceProblem {
            mnk,
            batch: 1,
            a: element,
            b: element,
            d: default_output(element),
            order_a: Order::Row,
            order_b: Order::Column,
            order_d: Order::Row,
            fast_accumulation: false,
        }
    }

    /// Multiplications and additions of the product.
    pub fn flops(&self) -> f64 {
        2.0 * self.mnk.m as f64 * self.mnk.n as f64 * self.mnk.k as f64 * self.batch as f64
    }

    /// Bytes of A, B and D.
    pub fn bytes(&self) -> f64 {
        let Mnk { m, n, k } = self.mnk;
        let of = |rows: usize, columns: usize, dtype: Dtype| rows as f64 * columns as f64 * dtype.bits() as f64 / 8.0;
        self.batch as f64 * (of(m, k, self.a) + of(k, n, self.b) + of(m, n, self.d))
    }

    /// The least time in which a device can read A and B and write D, in seconds: what is measured so for an H200, elsewhere
    /// the same part of the data sheet's bandwidth. `None` on the CPU.
    pub fn floor(&self, device: &DeviceInfo) -> Option<f64> {
        let (fixed, part) = FLOOR;
        (!device.is_host()).then(|| fixed + self.bytes() / (part * device.memory_bandwidth))
    }

    /// The layouts of A, B and D.
    pub(super) fn layouts(&self) -> [Strided; 3] {
        let Mnk { m, n, k } = self.mnk;
        [
            Strided::dense_batch(self.batch, m, k, memory(self.order_a)),
            Strided::dense_batch(self.batch, k, n, memory(self.order_b)),
            Strided::dense_batch(self.batch, m, n, memory(self.order_d)),
        ]
    }

    /// What plans need to know of the operands, which start at a multiple of what any copy moves.
    pub(crate) fn facts(&self) -> OperandFacts {
        let layouts = self.layouts();
        let width = |operand: usize, dtype: Dtype, order: Order| {
            layouts[operand].alignment(0, dtype, memory(order)).clamp(1, CopyWidths::WIDEST)
        };
        let d = width(2, self.d, self.order_d);
        OperandFacts {
            order_a: self.order_a,
            order_b: self.order_b,
            order_c: self.order_d,
            order_d: self.order_d,
            widths: CopyWidths {
                a: width(0, self.a, self.order_a),
                b: width(1, self.b, self.order_b),
                c: CopyWidths::WIDEST,
                d,
            },
        }
    }

    /// A spec whose operands lie as these do, where it leaves that open.
    pub(crate) fn laid(&self, spec: &Spec) -> Spec {
        Spec {
            order_a: spec.order_a.or(Some(self.order_a)),
            order_b: spec.order_b.or(Some(self.order_b)),
            order_d: spec.order_d.or(Some(self.order_d)),
            ..*spec
        }
    }

    /// The same for plans.
    pub(crate) fn problem(&self) -> Problem {
        let Mnk { m, n, k } = self.mnk;
        let CopyWidths { a, b, c, d } = self.facts().widths;
        let problem = if self.batch == 1 { Problem::dense(m, n, k) } else { Problem::batched(m, n, k, self.batch) };
        problem.aligned(Alignment { a, b, c, d })
    }
}

fn memory(order: Order) -> Memory {
    if matches!(order, Order::Row) { Memory::RowMajor } else { Memory::ColumnMajor }
}

impl std::fmt::Display for RaceProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.batch != 1 {
            write!(f, "{} of ", self.batch)?;
        }
        write!(f, "{} (M x N x K), {} x {} into {}", self.mnk, self.a, self.b, self.d)?;
        let line = |order: Order| order.name();
        write!(f, ", A {}, B {}, D {}", line(self.order_a), line(self.order_b), line(self.order_d))?;
        if self.fast_accumulation { f.write_str(", fast accumulation in cuBLASLt") } else { Ok(()) }
    }
}
