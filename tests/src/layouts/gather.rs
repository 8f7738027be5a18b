//! A matrix read on the device through a layout: one block a tile, one thread an element.

use warpwright::layout::lower::index_function;
use warpwright::layout::{Layout, LayoutError, Tiler, layout};
use warpwright::runtime::{Invocation, LaunchCall, Program};
use warpwright::{Device, Tensor};

use super::{launch, program};
use crate::launched::NotOnTheHost;

const ROWS: usize = 256;
const COLUMNS: usize = 128;
const MATRIX: Layout = layout!((256, 128):(128, 1));

/// The gather of a row-major 256 by 128 matrix, tile by tile of 16 by 16.
#[derive(Clone, Debug)]
pub struct Gather {
    /// (element, tile) to the place in the matrix.
    pub tiled: Layout,
    /// CUDA C++.
    pub source: String,
}

impl Gather {
    /// The kernel's name.
    pub const ENTRY: &'static str = "gather";
    /// Bytes of its parameter struct.
    pub const PARAMS_BYTES: usize = 16;

    /// The tiles and the kernel that goes through them.
    ///
    /// # Errors
    /// None: the tile divides the matrix.
    pub fn new() -> Result<Gather, LayoutError> {
        let tiled = MATRIX.zipped_divide(&Tiler::ByMode(&[Tiler::of(16), Tiler::of(16)]))?;
        let function = index_function("tiled", &tiled.into(), &["element", "tile"])?;
        let source = format!(
            "{function}struct Params {{ const float* matrix; float* out; }};\n\
             extern \"C\" __global__ void {}(const __grid_constant__ Params p) {{\n    \
             p.out[blockIdx.x * blockDim.x + threadIdx.x] = p.matrix[tiled(threadIdx.x, blockIdx.x)];\n}}\n",
            Self::ENTRY
        );
        Ok(Gather { tiled, source })
    }

    /// One block a tile.
    pub fn blocks(&self) -> u32 {
        self.tiled.mode(1).size().value() as u32
    }

    /// The matrix: every element is another number.
    pub fn matrix(&self) -> Vec<f32> {
        (0..ROWS * COLUMNS).map(|i| (i * 7 % (ROWS * COLUMNS)) as f32).collect()
    }

    /// The parameter struct.
    pub fn params(matrix: u64, out: u64) -> Vec<u8> {
        super::bytes(&[matrix, out])
    }

    /// How many elements of what came back are the matrix's at the places that the layout says.
    pub fn right(&self, found: &[f32]) -> usize {
        let matrix = self.matrix();
        (0i64..).zip(found).filter(|&(i, x)| matrix.get(self.tiled.eval(i) as usize) == Some(x)).count()
    }

    fn program(&self) -> Program {
        let launch = launch(Self::ENTRY.into(), self.source.clone(), Self::PARAMS_BYTES);
        program("layouts-gather".into(), vec![launch])
    }

    /// Runs it on the device; the elements that are right, which should be all.
    ///
    /// # Errors
    /// What the device refused.
    pub fn run(&self, device: &Device) -> Result<usize, Box<dyn std::error::Error>> {
        let stream = device.new_stream()?;
        let executable = device.load(&self.program())?;
        let matrix = Tensor::<f32>::from_vec(ROWS, COLUMNS, self.matrix())?.to_device(&stream)?;
        let mut out = Tensor::<f32>::zeros_on(&stream, matrix.layout())?;
        out.fill_bytes(&stream, 0xFF)?;
        let params = Self::params(matrix.view().raw().address(), out.view_mut()?.raw().address());
        let calls = [LaunchCall { grid: [self.blocks(), 1, 1], params: &params }];
        // SAFETY: the block is `Params`; both tensors hold the matrix's elements and live until `out` is read.
        unsafe { executable.run(&stream, &Invocation { launches: &calls, host: &NotOnTheHost }) }?;
        Ok(self.right(&out.to_host(&stream)?.to_vec()?))
    }
}
