//! What a user may fix by type, and [`Auto`], which fits every slot.

use core::marker::PhantomData;
use typenum::Unsigned;
use warpwright_numeric::Element;

/// "Decided for me." Fits every slot of the builder.
#[derive(Clone, Copy, Default, Debug)]
pub struct Auto;

/// Three extents as a type: a tile (M, N, K in elements) or a cluster (in thread blocks).
pub struct Shape<M, N, K>(PhantomData<(M, N, K)>);

/// A number as a type that `rustc` prints legibly: `U<128>`, where typenum's own prints eight nested `UInt<..>`.
pub struct U<const N: usize>;

macro_rules! numbers {
    ($($name:ident = $n:literal)+) => { $(#[doc = concat!("The number ", stringify!($n), " as a type.")] pub type $name = U<$n>;)+ };
}
numbers! {
    U1 = 1 U2 = 2 U3 = 3 U4 = 4 U5 = 5 U6 = 6 U7 = 7 U8 = 8 U16 = 16 U32 = 32 U48 = 48 U64 = 64 U96 = 96
    U128 = 128 U160 = 160 U192 = 192 U224 = 224 U256 = 256
}

/// `Tile<128, 256, 64>` is short for `Shape<U128, U256, U64>`.
pub type Tile<const M: usize, const N: usize, const K: usize> = Shape<U<M>, U<N>, U<K>>;
/// `Cluster<2, 1>` is short for `Shape<U2, U1, U1>`.
pub type Cluster<const M: usize, const N: usize> = Shape<U<M>, U<N>, U<1>>;

/// A number as a type: `U<128>`, or typenum's own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    label = "expected a number type such as `U128`",
    note = "any number is `U<96>`"
)]
pub trait Extent: 'static {
    /// The number.
    const N: usize;
}
// Without `do_not_recommend` the message would be about `Unsigned`, which the user never wrote.
#[diagnostic::do_not_recommend]
impl<T: Unsigned + 'static> Extent for T {
    const N: usize = T::USIZE;
}
impl<const N: usize> Extent for U<N> {
    const N: usize = N;
}

/// Extents along M, N and K.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Mnk {
    /// Along M: rows of A and D.
    pub m: usize,
    /// Along N: columns of B and D.
    pub n: usize,
    /// Along K: columns of A, rows of B.
    pub k: usize,
}

impl Mnk {
    /// Extents from three numbers.
    pub const fn new(m: usize, n: usize, k: usize) -> Mnk {
        Mnk { m, n, k }
    }
    /// How many blocks a cluster of these extents has.
    pub const fn blocks(self) -> usize {
        self.m * self.n * self.k
    }
    /// M and N exchanged: the same extents seen by a transposed plan.
    pub const fn swapped(self) -> Mnk {
        Mnk { m: self.n, n: self.m, k: self.k }
    }
}

impl core::fmt::Display for Mnk {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

macro_rules! slot {
    ($(#[$doc:meta])* $name:ident: $ty:ty) => {
        $(#[$doc])*
        pub trait $name: 'static {
            /// What was fixed; `None` for [`Auto`].
            const VALUE: Option<$ty>;
        }
        impl $name for Auto {
            const VALUE: Option<$ty> = None;
        }
    };
}
slot!(
    /// A tile or cluster slot.
    #[diagnostic::on_unimplemented(
        message = "this is not a tile or cluster shape", label = "expected `Shape<M, N, K>` or `Auto`",
        note = "write `Shape<U128, U256, U64>`, `Tile<128, 256, 64>`, `Cluster<2, 1>` or `Auto`")]
    ShapeChoice: Mnk);
slot!(
    /// The stage-count slot.
    #[diagnostic::on_unimplemented(
        message = "this is not a stage count", label = "expected a number type or `Auto`",
        note = "write `U4`, `U<4>` or `Auto`")]
    StagesChoice: usize);

impl<M: Extent, N: Extent, K: Extent> ShapeChoice for Shape<M, N, K> {
    const VALUE: Option<Mnk> = Some(Mnk { m: M::N, n: N::N, k: K::N });
}
#[diagnostic::do_not_recommend]
impl<T: Extent> StagesChoice for T {
    const VALUE: Option<usize> = Some(T::N);
}

/// An element slot: [`Auto`] becomes `Default`. It lives beside `Auto`, since only here may it be implemented for both
/// `Auto` and every element.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type of a matrix",
    label = "not an element type",
    note = "element types are f64, f32, tf32, f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1, e8m0, i32, i8, u8, i4 and u4, or `Auto`",
    note = "`f16` must be imported from this crate: the compiler's own `f16` is another, unstable type"
)]
pub trait ElementChoice<Default: Element>: 'static {
    /// What the slot stands for.
    type Element: Element;
}
impl<D: Element> ElementChoice<D> for Auto {
    type Element = D;
}
#[diagnostic::do_not_recommend]
impl<D: Element, T: Element> ElementChoice<D> for T {
    type Element = T;
}
