use warpwright_spec::{CopyWidths, Order};

/// What a plan needs to know of the operands: how they lie, and how wide a copy their addresses and strides permit.
/// Problems whose facts differ have different plans.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OperandFacts {
    /// How A lies.
    pub order_a: Order,
    /// How B lies.
    pub order_b: Order,
    /// How C lies, if the epilogue reads one; else D's order.
    pub order_c: Order,
    /// How D lies.
    pub order_d: Order,
    /// Copy widths in bytes, in the user's terms.
    pub widths: CopyWidths,
}

impl OperandFacts {
    /// Row-major everywhere but B, 16-byte aligned: K is contiguous in both operands.
    pub const K_MAJOR: OperandFacts = OperandFacts {
        order_a: Order::Row,
        order_b: Order::Column,
        order_c: Order::Row,
        order_d: Order::Row,
        widths: CopyWidths { a: 16, b: 16, c: 16, d: 16 },
    };
}
