//! Micro-kernels: PTX with its inputs, one at least for every form of an instruction that the emulator runs. A GPU runs each
//! once; what it wrote is kept in `cases/micro.bin.gz` and is what the emulator must write, bit for bit.

mod atomic;
mod cluster;
mod convert;
mod data;
mod emulate;
mod float;
mod integer;
mod kernel;
mod mma;
mod record;
mod scalar;
mod synchronise;
mod tma;
mod traps;
mod warp;
mod wgmma;

pub use emulate::emulate;
pub use record::{Outcome, Record, parse, read, write};

use warpwright_emulator::TensorMapSpec;

/// Bytes of every kernel's one parameter: a tensor map, then the addresses of its input and output.
pub const PARAMETERS: usize = 144;

/// A kernel, its launch and its memory.
#[derive(Clone, Debug)]
pub struct Micro {
    /// Unique among all.
    pub name: String,
    /// The module's text, with one entry `k`.
    pub ptx: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Blocks of a cluster; 1 launches without clusters.
    pub cluster: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// What the input buffer holds.
    pub input: Vec<u8>,
    /// What the output buffer holds before the kernel runs.
    pub output: Vec<u8>,
    /// A tensor map over one of the buffers; its address counts from that buffer's first byte.
    pub map: Option<(Buffer, TensorMapSpec)>,
    /// What the parts of the output mean. What no part covers is compared bit for bit.
    pub parts: Vec<Part>,
    /// The hardware refuses the kernel when it runs.
    pub traps: bool,
}

/// One of a micro-kernel's two buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// The input.
    Input,
    /// The output.
    Output,
}

/// A run of bytes of the output.
#[derive(Clone, Debug)]
pub struct Part {
    /// The instruction whose results it holds.
    pub name: String,
    /// First byte.
    pub offset: usize,
    /// Bytes.
    pub len: usize,
    /// How close it must come.
    pub accuracy: Accuracy,
}

/// How close a result must come to the hardware's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// Every bit.
    Bits,
    /// Floats: within `relative` of the value or `absolute`, whichever is more; NaN and infinity exactly.
    Near {
        /// The float's format.
        format: Format,
        /// Share of the value.
        relative: f64,
        /// Absolute distance.
        absolute: f64,
    },
    /// Sine and cosine in f32 of the thread's first operand: absolute 2^−20.5 up to 2π and 2^−14.7 up to 100π; beyond, anything
    /// that is one.
    Angle,
}

/// A float format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

impl Micro {
    /// What identifies text, launch and memory: results of another hash are of another kernel.
    pub fn hash(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.ptx.as_bytes());
        for number in [self.blocks, self.cluster, self.threads, self.shared] {
            hasher.update(&number.to_le_bytes());
        }
        for bytes in [&self.input, &self.output] {
            hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        hasher.update(format!("{:?}", self.map).as_bytes());
        hasher.finalize().into()
    }
}

/// Every micro-kernel; those that fault, with which a process ends, come last but for a few.
pub fn all() -> Vec<Micro> {
    let families: [fn() -> Vec<Micro>; 11] = [
        integer::all,
        float::all,
        convert::all,
        warp::all,
        atomic::all,
        mma::all,
        wgmma::all,
        tma::all,
        synchronise::all,
        cluster::all,
        traps::all,
    ];
    families.into_iter().flat_map(|family| family()).collect()
}

/// The first difference of two outputs that is more than a kernel's parts allow, in words.
pub fn difference(micro: &Micro, hardware: &[u8], emulated: &[u8]) -> Option<String> {
    if hardware.len() != emulated.len() {
        return Some(format!("{} bytes on the hardware, {} here", hardware.len(), emulated.len()));
    }
    let mut loose = vec![false; hardware.len()];
    for part in &micro.parts {
        let range = part.offset..part.offset + part.len;
        let (h, e) = (&hardware[range.clone()], &emulated[range.clone()]);
        let near = match part.accuracy {
            Accuracy::Near { format, relative, absolute } => Some((format, relative, absolute)),
            Accuracy::Angle => Some((Format::F32, 0.0, 0.0)),
            Accuracy::Bits => None,
        };
        if let Some((format, relative, absolute)) = near {
            loose[range].fill(true);
            let size = format.bytes();
            for (i, (h, e)) in h.chunks_exact(size).zip(e.chunks_exact(size)).enumerate() {
                let absolute = if part.accuracy == Accuracy::Angle { angle(micro, i) } else { absolute };
                let (x, y) = (format.value(h), format.value(e));
                let near = x == y || (x - y).abs() <= (relative * x.abs()).max(absolute) || (x.is_nan() && h == e);
                if !near {
                    return Some(format!("{}, element {i}: {x:e} on the hardware, {y:e} here", part.name));
                }
            }
        } else if let Some(i) = (0..part.len).find(|i| h[*i] != e[*i]) {
            let wrong = (0..part.len).filter(|i| h[*i] != e[*i]).count();
            let word = i / 8 * 8..(i / 8 * 8 + 8).min(part.len);
            return Some(format!(
                "{}, byte {i} of {} ({wrong} differ): {:02x?} on the hardware, {:02x?} here",
                part.name,
                part.len,
                &h[word.clone()],
                &e[word]
            ));
        }
    }
    let i = (0..hardware.len()).find(|i| !loose[*i] && hardware[*i] != emulated[*i])?;
    let word = i / 8 * 8..(i / 8 * 8 + 8).min(hardware.len());
    Some(format!("byte {i}: {:02x?} on the hardware, {:02x?} here", &hardware[word.clone()], &emulated[word]))
}

/// How far the sine of the first operand of thread `i` may be off.
fn angle(micro: &Micro, i: usize) -> f64 {
    let x = micro.input.get(scalar::OPERANDS * i..).map_or(0.0, |bytes| Format::F32.value(&bytes[..4]).abs());
    match x / core::f64::consts::TAU {
        0.0..=1.0 => 2f64.powf(-20.5),
        1.0..=50.0 => 2f64.powf(-14.7),
        _ => 2.0,
    }
}

impl Format {
    fn bytes(self) -> usize {
        match self {
            Format::F16 | Format::Bf16 => 2,
            Format::F32 => 4,
            Format::F64 => 8,
        }
    }

    fn value(self, bytes: &[u8]) -> f64 {
        let bits = bytes.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        match self {
            Format::F16 => warpwright_numeric::f16::from_bits(bits as u16).to_f64(),
            Format::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
            Format::F32 => f64::from(f32::from_bits(bits as u32)),
            Format::F64 => f64::from_bits(bits),
        }
    }
}
