//! The epilogue as one of a kernel's three collectives.

use crate::Fusion;
use core::marker::PhantomData;
use warpwright_numeric::{Dtype, Element};
use warpwright_spec::{AccumulatorSource, Auto, EpilogueStaging, LayoutChoice, Node, StagingId};

/// Turns accumulators into D.
///
/// An epilogue sees one subtile's values and their coordinates (the user's, also in a transposed plan), never a whole
/// accumulator and never who produced it. What a kernel must know of it is its [`EpilogueContract`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a collective epilogue",
    note = "`Epilogue<Fusion, D, Layout>` is one"
)]
pub trait CollectiveEpilogue: 'static {
    /// What it stores.
    type D: Element;
    /// How D lies in memory.
    type Layout: LayoutChoice;
    /// What it computes.
    type Fusion: Fusion + 'static;
    /// [`Fusion`](Self::Fusion) as a value.
    const NODE: &'static Node = <Self::Fusion as Fusion>::NODE;
    /// Where it is staged.
    const STAGING: StagingId = StagingId::AUTO;
}

/// The epilogue of a visitor tree: a fusion, the element that it stores, the layout that it stores in, and where it is staged.
pub struct Epilogue<N, D, L, S = Auto>(PhantomData<(N, D, L, S)>);
impl<N: Fusion + 'static, D: Element, L: LayoutChoice, S: EpilogueStaging> CollectiveEpilogue for Epilogue<N, D, L, S> {
    type D = D;
    type Layout = L;
    type Fusion = N;
    const STAGING: StagingId = S::ID;
}

/// What a tree asks of the kernel that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EpilogueContract {
    /// Whether it may read C.
    pub needs_source: bool,
    /// Whether it may read what D held.
    pub needs_previous: bool,
    /// Whether it reads M x N operands, so that a producer that loads them ahead of the subtiles pays.
    pub needs_producer: bool,
    /// Rows of a subtile.
    pub subtile_m: usize,
    /// Columns of a subtile.
    pub subtile_n: usize,
    /// Bytes of shared memory in which a subtile's accumulators become rows.
    pub shared_bytes: usize,
}

impl EpilogueContract {
    /// The contract of a tree whose accumulators, of this element, come in the subtiles of a source.
    pub const fn of(node: &Node, accumulator: Dtype, source: &AccumulatorSource) -> EpilogueContract {
        let (subtile_m, subtile_n) = (source.subtile_m, source.subtile_n);
        EpilogueContract {
            needs_source: node.reads_source(),
            needs_previous: node.reads_previous(),
            needs_producer: reads_matrix(node),
            subtile_m,
            subtile_n,
            shared_bytes: subtile_m * subtile_n * accumulator.bits() / 8,
        }
    }
}

const fn reads_matrix(node: &Node) -> bool {
    if matches!(node, Node::LoadSource(_) | Node::LoadPrevious | Node::LoadTile(_)) {
        return true;
    }
    let children = node.children();
    let mut i = 0;
    while i < children.len() {
        if let Some(child) = children[i]
            && reads_matrix(child)
        {
            return true;
        }
        i += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Acc, Plus, Row, Scalar, Source, Times};
    use warpwright_numeric::bf16;
    use warpwright_spec::{Auto, Place, RoleKind};

    const SUBTILES: AccumulatorSource =
        AccumulatorSource { place: Place::Registers(RoleKind::Mma), stages: 1, subtile_m: 16, subtile_n: 64 };

    fn contract<E: CollectiveEpilogue>() -> EpilogueContract {
        EpilogueContract::of(E::NODE, Dtype::F32, &SUBTILES)
    }

    #[test]
    fn contracts_say_who_reads_what() {
        type Bias = Plus<Acc, Row<'static, f32>>;
        let plain = contract::<Epilogue<Bias, bf16, Auto>>();
        assert_eq!((plain.needs_source, plain.needs_producer, plain.shared_bytes), (false, false, 16 * 64 * 4));
        let axpby = contract::<Epilogue<Plus<Bias, Times<Scalar, Source<'static, bf16>>>, bf16, Auto>>();
        assert_eq!((axpby.needs_source, axpby.needs_previous, axpby.needs_producer), (true, false, true));
    }
}
