//! A functional emulator of NVIDIA GPUs: PTX in, memory effects out, on the CPU.
//!
//! It is for developing and testing kernels without the hardware, and for finding what the hardware hides. A [`Module`] is
//! loaded PTX, a [`Machine`] has memory and runs kernels. Asynchronous operations land when an adversary, driven by a
//! seed, decides, within what the memory model allows; a seed reproduces a run. What breaks a rule ends the run with a
//! [`Fault`] that names the source line, the thread, the address and the access that it conflicts with.
//!
//! ```
//! use warpwright_arch::ArchId;
//! use warpwright_emulator::{Config, Launch, Machine, Module};
//!
//! let module = Module::parse("
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry double(.param .u64 p) {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [p];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         shl.b32 %r2, %r2, 1;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }")?;
//! let mut machine = Machine::new(Config::new(ArchId::SM80));
//! let data: Vec<u8> = (0..64u32).flat_map(u32::to_le_bytes).collect();
//! let address = machine.upload(&data)?;
//! let kernel = module.kernel("double").ok_or("no such kernel")?;
//! machine.launch(kernel, &Launch::linear(1, 64, 0), &address.to_le_bytes())?;
//! assert_eq!(machine.read(address + 4 * 21, 4)?, 42u32.to_le_bytes());
//! // The 65th thread has nothing to double.
//! let fault = machine.launch(kernel, &Launch::linear(1, 65, 0), &address.to_le_bytes()).unwrap_err();
//! assert!(fault.to_string().contains("thread (64, 0, 0)"), "{fault}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod decode;
mod error;
mod exec;
mod ir;
mod machine;
mod module;
mod ptx;
mod tensor;
mod tensor_map;

pub use check::Checks;
pub use check::fault::{Fault, FaultKind, Site};
pub use error::{ParseError, ParseReason};
pub use machine::report::Report;
pub use machine::{AddressError, AllocationError, Completion, Config, Launch, Machine};
pub use module::{Kernel, Module};
pub use tensor_map::{PerDimension, TensorElement, TensorFill, TensorMapError, TensorMapSpec, TensorSwizzle};
