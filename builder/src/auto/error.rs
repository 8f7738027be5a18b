use crate::tune::PlanChoice;
use thiserror::Error;
use warpwright_arch::{ArchId, ArchMismatch};
use warpwright_numeric::Dtype;
use warpwright_spec::{LoaderId, Order, ScheduleId, SchedulerId, Violation};

/// Why a spec has no plan for a problem on a device.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A rule of the spec is broken, before or after its open slots were filled.
    #[error(transparent)]
    Rule(#[from] Violation),
    /// The tag's kernels do not run on the device.
    #[error(transparent)]
    ArchMismatch(#[from] ArchMismatch),
    /// An operand does not lie as the type says.
    #[error("{operand} is {}-major in memory, but the kernel was built for {}-major: pass it as the type says, or leave its layout `Auto`", given.name(), expected.name())]
    Order {
        /// `A`, `B` or `D`.
        operand: &'static str,
        /// How it lies.
        given: Order,
        /// How the type says that it lies.
        expected: Order,
    },
    /// The composition is legal, and runs on the host, but its device code does not exist yet.
    #[error(
        "{schedule} on {arch} for {a} x {b} loaded by {loader} has no device code yet: use `.schedule::<Auto>()`, which takes the newest that exists, or run it on `Device::host()`"
    )]
    ScheduleNotWritten {
        /// The tag.
        arch: ArchId,
        /// The schedule that was named, or what `Auto` would need.
        schedule: ScheduleId,
        /// Element of A.
        a: Dtype,
        /// Element of B.
        b: Dtype,
        /// How operands would arrive.
        loader: LoaderId,
    },
    /// A named schedule that loads by TMA, and an operand that TMA cannot address.
    #[error(
        "{schedule} loads by TMA, which needs addresses and strides in multiples of {needed} bytes, but {operand}'s are multiples of {given}: pad the leading dimension, or use `.schedule::<Auto>()`"
    )]
    Misaligned {
        /// The schedule.
        schedule: ScheduleId,
        /// `A` or `B`.
        operand: &'static str,
        /// What divides its address and strides, up to 16.
        given: usize,
        /// What must.
        needed: usize,
    },
    /// No schedule of the tag has device code for these types yet.
    #[error(
        "no kernel for {a} x {b} into {acc} with {d} output has device code on {arch} yet: run it on `Device::host()`"
    )]
    TypesNotWritten {
        /// The tag.
        arch: ArchId,
        /// Element of A.
        a: Dtype,
        /// Element of B.
        b: Dtype,
        /// Element of the accumulator.
        acc: Dtype,
        /// Element of D.
        d: Dtype,
    },
    /// Rows that bulk copies cannot address.
    #[error(
        "BulkRows copies rows along K, in multiples of 16 bytes at such addresses, but {operand} is {major} and its rows are multiples of {given} bytes: store it so, or use GlobalToRegister"
    )]
    Rows {
        /// `A` or `B`.
        operand: &'static str,
        /// How it lies.
        major: &'static str,
        /// What divides its addresses, strides and length along K, in bytes, up to 16.
        given: usize,
    },
    /// The scheduler's device code does not exist yet.
    #[error(
        "the {scheduler} tile scheduler has no device code for {schedule} kernels yet: use `.scheduler::<Auto>()`, or run it on `Device::host()`"
    )]
    SchedulerNotWritten {
        /// The scheduler that was named.
        scheduler: SchedulerId,
        /// What it would feed.
        schedule: ScheduleId,
    },
    /// A number of parts of K, and a named scheduler that does not take any.
    #[error(
        "K is to be cut into {parts} parts, but the {scheduler} tile scheduler does not take a number of them: name SplitK or SplitKSerial, leave the scheduler `Auto`, or leave out `.splits({parts})`"
    )]
    Whole {
        /// How many were asked for.
        parts: usize,
        /// The scheduler that was named.
        scheduler: SchedulerId,
    },
    /// The kind of problem has no device code yet.
    #[error("a {kind} problem has no device code yet: run it on `Device::host()`")]
    ProblemNotWritten {
        /// The kind.
        kind: &'static str,
    },
    /// A fixed tile fits the tag's shared memory but not this device's.
    #[error("{source} (device: {device})")]
    Device {
        /// The rule.
        source: Violation,
        /// The device's name.
        device: String,
    },
    /// A choice that was given is no plan of this kernel for this problem.
    #[error(
        "none of this kernel's plans for the problem is {choice}: leave the choice to the plan, or name tile and schedule"
    )]
    NoSuchPlan {
        /// What was given.
        choice: PlanChoice,
    },
}
