//! A GEMM kernel's PTX with its parameters, on small problems.

#![allow(dead_code, reason = "each test binary uses a part")]

use warpwright_arch::ArchId;
use warpwright_emulator::{Config, Fault, Launch, Machine, Module, Report};
use warpwright_numeric::{Element, bf16, f16, pack};

/// One of the GEMM kernels in `data`.
pub struct Gemm {
    pub text: &'static str,
    pub tile: [u32; 3],
    pub threads: u32,
    pub shared: u32,
    /// M (and N) is contiguous in A (and B), rather than K.
    pub mn_contiguous: bool,
    pub f16: bool,
    pub persistent: bool,
}

pub const BF16: Gemm = Gemm {
    text: include_str!("../data/sm80_bf16.ptx"),
    tile: [64, 64, 32],
    threads: 128,
    shared: 24576,
    mn_contiguous: false,
    f16: false,
    persistent: true,
};

pub const F16_MN: Gemm = Gemm {
    text: include_str!("../data/sm80_f16_mn.ptx"),
    tile: [64, 32, 64],
    threads: 64,
    shared: 49152,
    mn_contiguous: true,
    f16: true,
    persistent: false,
};

/// Small integers that repeat late.
pub fn integers(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 20) % 9) as f32 - 4.0
    };
    (0..n).map(|_| next()).collect()
}

/// The result of a run and what it should be.
pub struct Outcome {
    pub report: Report,
    pub found: Vec<f32>,
    pub expected: Vec<f32>,
}

impl Gemm {
    /// Runs the kernel in `module` on an m × n × k problem.
    pub fn run(&self, module: &Module, config: Config, problem: [usize; 3], blocks: u32) -> Result<Outcome, Fault> {
        self.run_scaled(module, config, problem, blocks, 1.0)
    }

    /// The same with A's elements multiplied by `scale`, which may make them fractions: then `expected` is approximate.
    pub fn run_scaled(
        &self,
        module: &Module,
        config: Config,
        [m, n, k]: [usize; 3],
        blocks: u32,
        scale: f32,
    ) -> Result<Outcome, Fault> {
        let (mut a, b) = (integers(m * k, 7), integers(n * k, 11));
        a.iter_mut().for_each(|x| *x *= scale);
        let mut machine = Machine::new(config);
        let upload = |machine: &mut Machine, x: &[f32], rows: usize| {
            // Row-major rows × k here; the kernel may want it the other way round.
            let at = |i: usize| if self.mn_contiguous { x[i % rows * k + i / rows] } else { x[i] };
            let bytes = if self.f16 {
                pack(&(0..x.len()).map(|i| f16::from_f32(at(i))).collect::<Vec<_>>())
            } else {
                pack(&(0..x.len()).map(|i| <bf16 as Element>::from_f32(at(i))).collect::<Vec<_>>())
            };
            machine.upload(&bytes).unwrap()
        };
        let (pa, pb) = (upload(&mut machine, &a, m), upload(&mut machine, &b, n));
        let size = if self.f16 { 4 } else { 2 };
        let pd = machine.allocate(m * n * size).unwrap();
        let [tm, tn, tk] = self.tile.map(|x| x as usize);
        let (tiles_m, tiles_n, k_tiles) = (m.div_ceil(tm), n.div_ceil(tn), k.div_ceil(tk));
        let tiles = (tiles_m * tiles_n) as u32;
        let (la, lb) = if self.mn_contiguous { (m, n) } else { (k, k) };
        let mut parameters = Vec::new();
        for x in [pa, la as u64, 0, pb, lb as u64, 0, pd, n as u64, 1, 0] {
            parameters.extend_from_slice(&x.to_le_bytes());
        }
        for x in [m as u32, n as u32, k as u32, 0, tiles, tiles_m as u32, tiles_n as u32, k_tiles as u32, 2, 1] {
            parameters.extend_from_slice(&x.to_le_bytes());
        }
        parameters.extend_from_slice(&[0; 16]);
        parameters.extend_from_slice(&1f32.to_le_bytes());
        parameters.extend_from_slice(&[0; 4]);
        let grid = if self.persistent { blocks } else { tiles };
        let launch = Launch::linear(grid, self.threads, self.shared);
        let report = machine.launch(&module.kernels()[0], &launch, &parameters)?;
        let bytes = machine.read(pd, m * n * size).expect("D is allocated");
        let found = bytes
            .chunks_exact(size)
            .map(|c| match *c {
                [x, y] => bf16::from_le_bytes([x, y]).to_f32(),
                [x, y, z, w] => f32::from_le_bytes([x, y, z, w]),
                _ => unreachable!("elements have 2 or 4 bytes"),
            })
            .collect();
        let dot = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[j * k + l]).sum::<f32>();
        let mut expected: Vec<f32> = (0..m * n).map(|i| dot(i / n, i % n)).collect();
        if !self.f16 {
            expected.iter_mut().for_each(|x| *x = <bf16 as Element>::from_f32(*x).to_f32());
        }
        Ok(Outcome { report, found, expected })
    }
}

/// A machine of the kernels' architecture.
pub fn config(seed: u64) -> Config {
    Config { seed, ..Config::new(ArchId::SM80) }
}
