//! How scale factors enter the mainloop, and which transforms need them.

use crate::tags::{Identity, Transform, Widen};

/// How scale factors enter the mainloop.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kind of scales",
    note = "scales are `NoScales`, `Blockwise<K>` (with `BlockwiseMn<M, N, K>` and `ZeroPoints<K>`) and `BlockScaled<K>`"
)]
pub trait Scales: 'static {
    /// As a value.
    const SPEC: ScaleSpec;
}

/// No scale factors.
pub struct NoScales;
/// One scale of B per `G` elements along K and per column (per row of A too, when A is narrow): promoted in registers.
pub struct Blockwise<const G: usize>;
/// One scale of A per `GM` rows and one of B per `GN` columns, each per `GK` elements along K.
pub struct BlockwiseMn<const GM: usize, const GN: usize, const GK: usize>;
/// Like [`Blockwise`], with a zero point per scale: w = (q - z) * s.
pub struct ZeroPoints<const G: usize>;
/// Block scale factors that the instruction applies itself (mxfp8, mxfp4: 32; nvfp4: 16).
pub struct BlockScaled<const G: usize>;

/// Scale factors as a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScaleSpec {
    /// Who applies them.
    pub kind: ScaleKind,
    /// Elements along M that share a scale of A; 0: A has none.
    pub m: usize,
    /// Elements along N that share a scale of B; 0: B has none.
    pub n: usize,
    /// Elements along K that share a scale.
    pub k: usize,
    /// Whether each scale of B comes with a zero point.
    pub zero_points: bool,
}

/// Who applies scale factors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScaleKind {
    /// There are none.
    None,
    /// The mainloop, in registers: partial sums of one K block are scaled and added.
    Software,
    /// The matrix instruction.
    Hardware,
}

impl ScaleSpec {
    /// No scale factors.
    pub const NONE: ScaleSpec = ScaleSpec { kind: ScaleKind::None, m: 0, n: 0, k: 0, zero_points: false };
    /// Whether there are any.
    pub const fn any(&self) -> bool {
        !matches!(self.kind, ScaleKind::None)
    }
}

impl Scales for NoScales {
    const SPEC: ScaleSpec = ScaleSpec::NONE;
}
impl<const G: usize> Scales for Blockwise<G> {
    const SPEC: ScaleSpec = ScaleSpec { kind: ScaleKind::Software, m: 0, n: 1, k: G, zero_points: false };
}
impl<const GM: usize, const GN: usize, const GK: usize> Scales for BlockwiseMn<GM, GN, GK> {
    const SPEC: ScaleSpec = ScaleSpec { kind: ScaleKind::Software, m: GM, n: GN, k: GK, zero_points: false };
}
impl<const G: usize> Scales for ZeroPoints<G> {
    const SPEC: ScaleSpec = ScaleSpec { kind: ScaleKind::Software, m: 0, n: 1, k: G, zero_points: true };
}
impl<const G: usize> Scales for BlockScaled<G> {
    const SPEC: ScaleSpec = ScaleSpec { kind: ScaleKind::Hardware, m: 1, n: 1, k: G, zero_points: false };
}

/// A transform gets the scales that it needs.
#[diagnostic::on_unimplemented(
    message = "the narrow operand has no scales",
    label = "needs `.scales::<Blockwise<128>>()`",
    note = "an integer operand that is widened on its way to the tensor cores needs scales: call `.scales::<Blockwise<G>>()` or `.scales::<ZeroPoints<G>>()` before `.build()`"
)]
pub trait ScaledBy<S: Scales>: Transform {}
impl<S: Scales> ScaledBy<S> for Identity {}
impl<const G: usize> ScaledBy<Blockwise<G>> for Widen {}
impl<const G: usize> ScaledBy<ZeroPoints<G>> for Widen {}
