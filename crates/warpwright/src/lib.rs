//! GEMM kernels composed out of Rust types, run on NVIDIA GPUs, on the CPU, and on an emulator of the GPU.
//!
//! ```
//! use warpwright::prelude::*;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let device = Device::host();
//! # let stream = device.default_stream()?;
//! # let a = Tensor::<bf16>::from_fn(64, 32, |m, k| bf16::from_f32((m * k % 7) as f32 - 3.0))?;
//! # let b = Tensor::<bf16>::from_fn(32, 48, |k, n| bf16::from_f32((k + n) as f32 % 5.0 - 2.0))?;
//! # let c = Tensor::<bf16>::full(64, 48, bf16::ONE)?;
//! # let (bias, other) = (vec![1.0f32; 48], vec![2.0f32; 48]);
//! # let mut d = Tensor::<bf16>::zeros(64, 48)?;
//! # let problem = Problem::dense(64, 48, 32);
//! # let (alpha, beta) = (0.5, 2.0);
//! // Everything fixed by type, everything checked by rustc.
//! let mut gemm = GemmBuilder::<Sm90, bf16, f32>::auto()
//!     .tile::<Shape<U128, U256, U64>>()
//!     .cluster::<Shape<U2, U1, U1>>()
//!     .schedule::<Cooperative>()
//!     .stages::<U4>()
//!     .scheduler::<StreamK>()
//!     // One expression is both the epilogue's type (hence the kernel) and its arguments.
//!     .epilogue(relu(alpha * acc() + row(&bias) + beta * source(&c)))
//!     .build(&device)?; // checks; compiles now if every slot is fixed
//! println!("{}", gemm.explain(&problem)?); // why this plan; shared memory, stages, waves, predicted time
//! gemm.run(&stream, &a, &b, &mut d)?; // a prepared plan allocates nothing and is capturable in a CUDA graph
//!
//! // Arguments change, the kernel stays: store it in a struct, erase its type, run it per layer.
//! let kernel = gemm.detach(); // Kernel<K>: 'static, Send, Sync
//! kernel.run_with(&stream, &a, &b, &mut d, relu(0.5 * acc() + row(&other) + beta * source(&c)))?;
//! let erased: DynGemm<bf16, bf16, bf16> = kernel.erase();
//! # erased.run_with(&stream, &a, &b, &mut d, relu(0.5 * acc() + row(&other) + beta * source(&c)))?;
//! # Ok(())
//! # }
//! ```
//!
//! In one line, from host memory to host memory: the device is chosen, a GPU that the tag fits, or the CPU if there is no
//! NVIDIA device at all.
//!
//! ```no_run
//! use warpwright::prelude::*;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (a, b) = (Tensor::<f16>::zeros(64, 32)?, Tensor::<f16>::zeros(32, 48)?);
//! let d = GemmBuilder::<Sm100, f16, f32>::auto().run(&a, &b)?;
//! # let _: Tensor<f16> = d;
//! # Ok(())
//! # }
//! ```
//!
//! Without a GPU, the kernel itself runs on an emulated one ([`Device::emulator`]), which reports races, missing waits and
//! accesses out of bounds, each with its line. It needs NVRTC and no driver.
//!
//! ```
//! use warpwright::prelude::*;
//! # use warpwright::DeviceError;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # if let Err(DeviceError::NoNvrtc(missing)) = Device::emulator::<Sm80>() {
//! #     println!("{missing}");
//! #     return Ok(());
//! # }
//! let device = Device::emulator::<Sm80>()?;
//! let stream = device.default_stream()?;
//! let a = Tensor::<f16>::from_fn(40, 16, |m, k| f16::from_f32((m + k) as f32))?.to_device(&stream)?;
//! let b = Tensor::<f16>::full(16, 24, f16::ONE)?.to_device(&stream)?;
//! let mut d = Tensor::<f16>::zeros_on(&stream, Strided::dense(40, 24, Order::RowMajor))?;
//! GemmBuilder::<Sm80, f16, f32>::auto().build(&device)?.run(&stream, &a, &b, &mut d)?;
//! assert_eq!(d.to_host(&stream)?.get(2, 3)?, f16::from_f32(16.0 * 2.0 + 120.0));
//! # Ok(())
//! # }
//! ```
//!
//! # What is where
//!
//! | | |
//! | --- | --- |
//! | [`GemmBuilder`], [`Gemm`], [`Kernel`], [`DynGemm`] | compose, run, store, erase |
//! | [`GemmDesc`], [`AnyGemm`], [`candidates`] | the same from values, through the same rules |
//! | [`race()`], [`RaceEntrant`], [`RaceTable`] | kernels timed against each other and against cuBLASLt |
//! | [`Tuning`], [`shortlist`] | winners, remembered for each device and problem |
//! | [`acc`], [`row`], [`source`], [`relu`], [`share`], … | epilogue expressions; [`fusions`] has CUTLASS's |
//! | [`Device`], [`Stream`], [`Tensor`] | where things run and live |
//! | [`Composed`], [`GemmUniversal`], [`Mainloop`], [`Epilogue`] | what a kernel is, for those who write its type |
//! | [`numeric`], [`layout`], [`arch`], [`spec`], [`runtime`], [`schedulers`], [`epilogue`], [`kernels`], [`builder`] | the crates behind |
//!
//! What types decide is checked by `cargo check`; what numbers decide (a tile of 96 rows, nine stages) by `cargo build`, and
//! by `cargo check` for a kernel that is named: `const _: () = MyKernel::LEGAL;`. What a problem decides is an `Err` in the
//! same words.

pub use warpwright_arch as arch;
pub use warpwright_builder as builder;
pub use warpwright_epilogue as epilogue;
pub use warpwright_kernels as kernels;
pub use warpwright_layout as layout;
pub use warpwright_numeric as numeric;
pub use warpwright_runtime as runtime;
pub use warpwright_schedulers as schedulers;
pub use warpwright_spec as spec;

// Every name that users write is here at the root: rustc prints a type that came through a glob with its shortest public
// path, and `warpwright::Sm90` reads better than `warpwright::prelude::Sm90`.
pub use warpwright_arch::{Arch, ArchId, ArchMismatch, ComputeCapability, DeviceInfo, Sm75, Sm80, Sm89, Sm90, Sm100};
pub use warpwright_builder::race::{
    RaceEntrant, RaceError, RaceLibrary, RaceProblem, RaceRefusal, RaceRefusalReason, RaceRow, RaceRules, RaceRunner,
    RaceTable, RaceTrack, RaceWrong, race, space as race_space, time_library,
};
pub use warpwright_builder::tune::{PlanChoice, Tuning, TuningError, shortlist};
pub use warpwright_builder::{
    AnyGemm, ArgumentsOf, BuildError, CallArgs, Composed, DynGemm, Gemm, GemmBuilder, Kernel, Kernels, Operands,
    OperandsOf, Plan, PlanError, PlanOf, RunError,
};
pub use warpwright_epilogue::functions::*;
pub use warpwright_epilogue::{
    Acc, Accuracy, Apply, Apply2, Apply3, Arg, Args, CollectiveEpilogue, Column, ColumnIndex, Constant, Convert,
    Epilogue, EpilogueFunction, Expr, Function, Fusion, HostFn, IntoExpr, IsEqual, IsGreater, IsGreaterOrEqual, IsLess,
    IsLessOrEqual, IsNotEqual, Let, Mask, Maximum, Minimum, Minus, Negate, NodeOn, Otherwise, Over, PerBatch, Plus,
    Previous, Relu, Row, RowIndex, Scalar, ScalarPointer, Selected, Source, TileOf, Times, Var, acc, apply, apply2,
    apply3, column, column_index, column_or, constant, convert, epilogue_fn, eq, ge, gt, identity, le, lt, mask, max,
    min, ne, per_batch, previous, relu, row, row_index, row_or, scalar, select, share, share_as, source, tile, tile_or,
};
pub use warpwright_epilogue::{
    AllColumns, AllElements, AllRows, Amax, Atomic, AuxStore, MaskStore, Max, Min, Reduce, ReduceAxes, ReduceOperator,
    Sum, SumOfSquares, amax, aux_mask, aux_store, reduce_all, reduce_columns, reduce_rows,
};
pub use warpwright_epilogue::{
    AlongColumns, AlongRows, BlockDirection, BlockElement, BlockFormat, Blocks, InAtoms, Mx, Nvfp4, Quantized,
    TopKSoftmax, quantize_columns, quantize_rows, top_k_softmax,
};
pub use warpwright_epilogue::{FunctionError, check_function, check_functions, check_tree, fusions};
pub use warpwright_kernels::{Arguments, CollectiveMainloop, GemmKernel, GemmUniversal, Mainloop};
pub use warpwright_numeric::{Dtype, Element, bf16, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, f16, i4, tf32, u4};
pub use warpwright_runtime::{
    AsView, AsViewMut, Device, DeviceError, Graph, Order, RawView, RawViewMut, Space, Stream, Strided, Tensor,
    TensorError, TensorView, TensorViewMut, WorkspacePtr,
};
pub use warpwright_spec::{
    Accumulation, AccumulationId, Alignment, Auto, BlockScaled, Blockwise, BlockwiseMn, BulkRows, Cluster, ColumnMajor,
    Cooperative, CpAsync, Dot, EpilogueStaging, Extension, Extents, FastAccum, FromRegisters, FromShared, GemmDesc,
    Gemv, GlobalToRegister, Grouped, Groups, Identity, KernelPlan, LayoutChoice, MmaSync, Mnk, Multistage, NoScales,
    Node, OneSm, OperandSource, Persistent, Pingpong, Problem, Promoted, Reused, RowMajor, Scales, Schedule,
    ScheduleId, SchedulerId, Separate, Shape, Simt, SingleTile, Spec, SplitK, SplitKSerial, StagingId, StreamK,
    Tcgen05, Tile, TileScheduler, Tma, TmaMulticast, TwoSm, U, U1, U2, U3, U4, U5, U6, U7, U8, U16, U32, U48, U64, U96,
    U128, U160, U192, U224, U256, Violation, WarpSpecialized, Wgmma, Widen, ZeroPoints, candidates,
};

/// Everything that a program which multiplies matrices usually names.
pub mod prelude {
    pub use crate::{
        Acc, AnyGemm, Apply, Arch, ArchId, AsView, AsViewMut, Auto, BlockScaled, Blockwise, BlockwiseMn, Cluster,
        Column, ColumnMajor, Composed, Cooperative, Device, Dtype, DynGemm, Element, Expr, FastAccum, FromRegisters,
        FromShared, Fusion, Gemm, GemmBuilder, GemmDesc, GemmKernel, Gemv, Grouped, IntoExpr, Kernel, Kernels, Mnk,
        Multistage, NoScales, OneSm, Operands, Order, Persistent, Pingpong, Plan, Plus, Problem, Promoted, Relu,
        Reused, Row, RowMajor, Scalar, Separate, Shape, SingleTile, Sm75, Sm80, Sm89, Sm90, Sm100, Source, SplitK,
        SplitKSerial, Stream, StreamK, Strided, Tensor, TensorView, TensorViewMut, Tile, Times, TwoSm, U, U1, U2, U3,
        U4, U5, U6, U7, U8, U16, U32, U48, U64, U96, U128, U160, U192, U224, U256, WarpSpecialized, ZeroPoints, acc,
        amax, aux_mask, aux_store, bf16, candidates, column, convert, e2m1, e2m3, e3m2, e4m3, e5m2, e8m0, epilogue_fn,
        f16, i4, max, min, per_batch, previous, reduce_all, reduce_columns, reduce_rows, relu, row, scalar, share,
        share_as, source, tf32, tile, u4,
    };
    pub use crate::{
        Blocks, InAtoms, Mx, Nvfp4, column_index, column_or, constant, eq, ge, gt, identity, le, lt, mask, ne,
        quantize_columns, quantize_rows, row_index, row_or, select, tile_or, top_k_softmax,
    };
    pub use warpwright_epilogue::functions::*;
}
