//! What goes with what. Each table is written once and becomes both trait impls (so that `cargo check` sees a bad
//! combination of types) and a `const fn` over values (so that the run-time path obeys the same rows).

use crate::Auto;
use crate::major::{AutoMajor, KMajor, Major, MajorId, MnMajor};
use crate::tags::*;
use warpwright_arch::{Arch, ArchId, Sm75, Sm80, Sm89, Sm90, Sm100};
use warpwright_numeric::{Dtype, Element, bf16, e2m1, e2m3, e3m2, e4m3, e5m2, f16, i4, tf32, u4};

/// An architecture runs a schedule: one impl per pair.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `{S}` schedule",
    label = "this schedule needs another architecture",
    note = "`Auto`, the default, picks one that `{Self}` has"
)]
pub trait Runs<S: Schedule>: Arch {
    /// The instruction family that the schedule feeds; `Auto`: the principal one for the types.
    type Instruction: Instruction;
}

macro_rules! schedules {
    ($($arch:ident { $($s:ident: $instr:ident),+ })+) => {
        $($(impl Runs<$s> for $arch { type Instruction = $instr; })+)+
        /// The instruction family that a schedule feeds on an architecture; `None` where the pair does not exist.
        pub const fn runs(arch: ArchId, s: ScheduleId) -> Option<InstructionId> {
            $($(if arch as u8 == $arch::ID as u8 && s as u8 == <$s as Schedule>::ID as u8 {
                return Some(<$instr as Instruction>::ID);
            })+)+
            None
        }
    };
}
schedules! {
    Sm75  { Auto: Auto, Multistage: MmaSync, Gemv: Dot }
    Sm80  { Auto: Auto, Multistage: MmaSync, Gemv: Dot }
    Sm89  { Auto: Auto, Multistage: MmaSync, Gemv: Dot }
    Sm90  { Auto: Auto, Multistage: MmaSync, WarpSpecialized: Wgmma, Pingpong: Wgmma, Cooperative: Wgmma, Gemv: Dot }
    Sm100 { Auto: Auto, Multistage: MmaSync, WarpSpecialized: Tcgen05, OneSm: Tcgen05, TwoSm: Tcgen05, Gemv: Dot }
}

/// The loader that feeds an instruction on an architecture when nothing else is asked for.
pub trait Loads<I: Instruction>: Arch {
    /// The loader.
    type Loader: Loader;
}
macro_rules! loaders {
    ($($arch:ident { $($i:ident: $l:ident),+ })+) => {
        $($(impl Loads<$i> for $arch { type Loader = $l; })+)+
        /// The loader that feeds an instruction on an architecture; `None` where the architecture lacks the instruction.
        pub const fn loads(arch: ArchId, i: InstructionId) -> Option<LoaderId> {
            $($(if arch as u8 == $arch::ID as u8 && i as u8 == <$i as Instruction>::ID as u8 {
                return Some(<$l as Loader>::ID);
            })+)+
            None
        }
    };
}
loaders! {
    Sm75  { Simt: GlobalToRegister, MmaSync: GlobalToRegister, Dot: GlobalToRegister }
    Sm80  { Simt: CpAsync, MmaSync: CpAsync, Dot: GlobalToRegister }
    Sm89  { Simt: CpAsync, MmaSync: CpAsync, Dot: GlobalToRegister }
    Sm90  { Simt: CpAsync, MmaSync: CpAsync, Dot: GlobalToRegister, Wgmma: Tma }
    Sm100 { Simt: CpAsync, MmaSync: CpAsync, Dot: GlobalToRegister, Tcgen05: Tma }
}

/// A tile scheduler can feed a schedule.
#[diagnostic::on_unimplemented(
    message = "the `{Self}` tile scheduler cannot feed a `{S}` kernel",
    label = "not with this schedule",
    note = "`Pingpong` gives each warp group its own whole tile, while `StreamK` and `SplitK` cut tiles along K: use `Cooperative` with them; `Pingpong` and `Cooperative` are persistent, so not with `SingleTile`"
)]
pub trait Feeds<S: Schedule>: TileScheduler {}
macro_rules! feeds {
    ($($t:ident { $($s:ident),+ })+) => {
        $($(impl Feeds<$s> for $t {})+)+
        /// Whether a tile scheduler can feed a schedule.
        pub const fn feeds(t: SchedulerId, s: ScheduleId) -> bool {
            $($(if t as u8 == <$t as TileScheduler>::ID as u8 && s as u8 == <$s as Schedule>::ID as u8 { return true; })+)+
            false
        }
    };
}
feeds! {
    Auto       { Auto, Multistage, WarpSpecialized, Pingpong, Cooperative, OneSm, TwoSm, Gemv }
    SingleTile { Auto, Multistage, WarpSpecialized, OneSm, TwoSm, Gemv }
    Persistent { Auto, Multistage, WarpSpecialized, Pingpong, Cooperative, OneSm, TwoSm, Gemv }
    StreamK    { Auto, Multistage, WarpSpecialized, Cooperative, OneSm, TwoSm }
    SplitK     { Auto, Multistage, WarpSpecialized, Cooperative, OneSm, TwoSm, Gemv }
    SplitKSerial { Auto, Multistage, WarpSpecialized, Cooperative, OneSm, TwoSm, Gemv }
    Grouped    { Auto, Multistage, WarpSpecialized, Pingpong, Cooperative, OneSm, TwoSm, Gemv }
}

/// An architecture's instruction family `I` multiplies `A` by `B` into `Acc`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no instruction for this schedule that multiplies `{A}` by `{B}` into `{Acc}`",
    label = "`{Self}` cannot multiply these types here",
    note = "bf16 and tf32 need `Sm80` or later, fp8 `Sm89`, fp4 and fp6 `Sm100`; integers accumulate in `i32`, `f64` in `f64`, all others in `f32`; plain `f32` runs with `Auto` or `Multistage`, on tensor cores as `tf32`"
)]
pub trait Multiplies<I: Instruction, A: Element, B: Element, Acc: Element>: Arch + Loads<Self::Instruction> {
    /// What is done to B on the way.
    type Transform: Transform;
    /// The instruction that executes it: `I` itself, or what `Auto` stands for.
    type Instruction: Instruction;
}

/// One row of the table of products, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    /// What is done to B on the way.
    pub transform: TransformId,
    /// The instruction that executes it.
    pub instruction: InstructionId,
}

macro_rules! multiplies {
    ($($arch:ident $family:ident { $($instr:ident: $([$($a:ident)+ * $($b:ident)+ -> $acc:ident $transform:ident])+);+ $(;)? })+) => {
        $($($(multiplies!(@a $arch $family $instr $acc $transform [$($a)+] [$($b)+]);)+)+)+
        /// The row of the table of products for an instruction family of an architecture; `None` where there is none.
        pub const fn multiplies(arch: ArchId, family: InstructionId, a: Dtype, b: Dtype, acc: Dtype) -> Option<Product> {
            $(if arch as u8 == $arch::ID as u8 && family as u8 == <$family as Instruction>::ID as u8 {
                $($(if one_of(a, &[$(<$a as Element>::DTYPE),+]) && one_of(b, &[$(<$b as Element>::DTYPE),+])
                    && acc as u8 == <$acc as Element>::DTYPE as u8 {
                    return Some(Product { transform: <$transform as Transform>::ID, instruction: <$instr as Instruction>::ID });
                })+)+
            })+
            None
        }
    };
    (@a $arch:ident $family:ident $instr:ident $acc:ident $transform:ident [$($a:ident)+] $bs:tt) => {
        $(multiplies!(@b $arch $family $instr $acc $transform $a $bs);)+
    };
    (@b $arch:ident $family:ident $instr:ident $acc:ident $transform:ident $a:ident [$($b:ident)+]) => {
        $(impl Multiplies<$family, $a, $b, $acc> for $arch { type Transform = $transform; type Instruction = $instr; })+
    };
}
const fn one_of(t: Dtype, list: &[Dtype]) -> bool {
    let mut i = 0;
    while i < list.len() {
        if list[i] as u8 == t as u8 {
            return true;
        }
        i += 1;
    }
    false
}
multiplies! {
    Sm75 MmaSync {
        MmaSync: [f16 * f16 -> f32 Identity] [i8 u8 * i8 u8 -> i32 Identity];
        Simt: [f32 * f32 -> f32 Identity] [f64 * f64 -> f64 Identity];
    }
    Sm75 Auto {
        MmaSync: [f16 * f16 -> f32 Identity] [i8 u8 * i8 u8 -> i32 Identity];
        Simt: [f32 * f32 -> f32 Identity] [f64 * f64 -> f64 Identity];
    }
    Sm80 MmaSync {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm80 Auto {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm89 MmaSync {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm89 Auto {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm90 MmaSync {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm90 Wgmma {
        Wgmma: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen] [e4m3 * i4 u4 -> f32 Widen];
    }
    Sm90 Auto {
        Wgmma: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen] [e4m3 * i4 u4 -> f32 Widen];
        MmaSync: [f64 * f64 -> f64 Identity];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm100 MmaSync {
        MmaSync: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm100 Tcgen05 {
        Tcgen05: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity]
            [e4m3 e5m2 e3m2 e2m3 e2m1 * e4m3 e5m2 e3m2 e2m3 e2m1 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen] [e4m3 * i4 u4 -> f32 Widen];
    }
    Sm100 Auto {
        Tcgen05: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity]
            [e4m3 e5m2 e3m2 e2m3 e2m1 * e4m3 e5m2 e3m2 e2m3 e2m1 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f16 * i4 u4 i8 u8 -> f32 Widen] [bf16 * i4 u4 i8 u8 -> f32 Widen] [e4m3 * i4 u4 -> f32 Widen];
        MmaSync: [f64 * f64 -> f64 Identity];
        Simt: [f32 * f32 -> f32 Identity];
    }
    Sm75 Dot {
        Dot: [f16 * f16 -> f32 Identity] [i8 u8 * i8 u8 -> i32 Identity] [f32 * f32 -> f32 Identity] [f64 * f64 -> f64 Identity];
    }
    Sm80 Dot {
        Dot: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [f32 * f32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity];
    }
    Sm89 Dot {
        Dot: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [f32 * f32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity];
    }
    Sm90 Dot {
        Dot: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [f32 * f32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity];
    }
    Sm100 Dot {
        Dot: [f16 * f16 -> f32 Identity] [bf16 * bf16 -> f32 Identity] [tf32 * tf32 -> f32 Identity] [f32 * f32 -> f32 Identity]
            [i8 u8 * i8 u8 -> i32 Identity] [f64 * f64 -> f64 Identity] [e4m3 e5m2 * e4m3 e5m2 -> f32 Identity];
    }
}

/// An instruction reads operands of `T` whose contiguous mode is `M`. K-major is always fine, so that a type that the
/// instruction lacks altogether is reported once, by [`Multiplies`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot read an operand of `{T}` that is `{M}`",
    label = "this layout does not suit the instruction",
    note = "this type must be K-major, A `RowMajor` and B `ColumnMajor`; transpose it once, or store it K-major"
)]
pub trait Reads<T: Element, M: Major>: Instruction {}
impl<I: Instruction, T: Element> Reads<T, KMajor> for I {}
impl<I: Instruction, T: Element> Reads<T, AutoMajor> for I {}
macro_rules! reads_mn_major {
    ($($instr:ident { $($t:ident)+ })+) => {
        $($(impl Reads<$t, MnMajor> for $instr {})+)+
        /// Whether an instruction reads operands of a type in this major.
        pub const fn reads(i: InstructionId, t: Dtype, m: MajorId) -> bool {
            $($(if i as u8 == <$instr as Instruction>::ID as u8 && t as u8 == <$t as Element>::DTYPE as u8 { return true; })+)+
            matches!(m, MajorId::K)
        }
    };
}
reads_mn_major! {
    Simt    { f32 f64 }
    Dot     { f16 bf16 tf32 f32 f64 i8 u8 e4m3 e5m2 }
    MmaSync { f16 bf16 tf32 f64 i8 u8 e4m3 e5m2 }
    Wgmma   { f16 bf16 }
    Tcgen05 { f16 bf16 tf32 i8 u8 e4m3 e5m2 }
}
