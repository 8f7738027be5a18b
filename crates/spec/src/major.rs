//! Storage orders: of a matrix as the user says it, and of an operand as an instruction reads it.

use crate::Auto;

/// How a matrix lies in memory, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Columns are contiguous within a row.
    Row,
    /// Rows are contiguous within a column.
    Column,
}

impl Order {
    /// `row` or `column`.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Row => "row",
            Order::Column => "column",
        }
    }
    /// The order of the transposed matrix.
    pub const fn transposed(self) -> Order {
        match self {
            Order::Row => Order::Column,
            Order::Column => Order::Row,
        }
    }
    /// Which mode of A (M x K) is contiguous in this order.
    pub const fn major_of_a(self) -> MajorId {
        match self {
            Order::Row => MajorId::K,
            Order::Column => MajorId::MN,
        }
    }
    /// Which mode of B (K x N) is contiguous in this order.
    pub const fn major_of_b(self) -> MajorId {
        self.transposed().major_of_a()
    }
}

/// Which mode of an operand is contiguous, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MajorId {
    /// K is contiguous: A row-major, B column-major.
    K,
    /// M (of A) or N (of B) is contiguous.
    MN,
}

impl MajorId {
    /// `K` or `MN`.
    pub const fn name(self) -> &'static str {
        match self {
            MajorId::K => "K-major",
            MajorId::MN => "MN-major",
        }
    }
}

/// K is contiguous.
pub struct KMajor;
/// M or N is contiguous.
pub struct MnMajor;
/// Which mode is contiguous is seen from the operand's strides.
pub struct AutoMajor;

/// Which mode of an operand is contiguous, as a type.
pub trait Major: 'static {
    /// As a value; `None` for [`AutoMajor`].
    const ID: Option<MajorId>;
}
impl Major for KMajor {
    const ID: Option<MajorId> = Some(MajorId::K);
}
impl Major for MnMajor {
    const ID: Option<MajorId> = Some(MajorId::MN);
}
impl Major for AutoMajor {
    const ID: Option<MajorId> = None;
}

/// Columns are contiguous within a row.
pub struct RowMajor;
/// Rows are contiguous within a column.
pub struct ColumnMajor;

/// The layout slot of an operand: [`RowMajor`], [`ColumnMajor`], or [`Auto`]: what the tensor's strides say.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout",
    label = "not a layout",
    note = "layouts are `RowMajor`, `ColumnMajor` and `Auto`"
)]
pub trait LayoutChoice: 'static {
    /// The major of an A operand in this layout.
    type AsA: Major;
    /// The major of a B operand in this layout.
    type AsB: Major;
    /// As a value; `None` for [`Auto`].
    const ORDER: Option<Order>;
}
impl LayoutChoice for RowMajor {
    type AsA = KMajor;
    type AsB = MnMajor;
    const ORDER: Option<Order> = Some(Order::Row);
}
impl LayoutChoice for ColumnMajor {
    type AsA = MnMajor;
    type AsB = KMajor;
    const ORDER: Option<Order> = Some(Order::Column);
}
impl LayoutChoice for Auto {
    type AsA = AutoMajor;
    type AsB = AutoMajor;
    const ORDER: Option<Order> = None;
}
