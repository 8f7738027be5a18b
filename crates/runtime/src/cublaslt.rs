//! NVIDIA's library of matrix products, which kernels are raced against. Nothing else uses it.
//!
//! The library is loaded when it is first asked for, from the first place that has it:
//! 1. the directory in `WARPWRIGHT_CUBLASLT_DIR`, when set, and no other;
//! 2. the dynamic loader's own search: `LD_LIBRARY_PATH` and the system's directories;
//! 3. `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, and the packages of the Python environment in `VIRTUAL_ENV`;
//! 4. `cublasLt` beside any directory above the running executable.

mod arrange;
mod library;

use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::path::PathBuf;
use std::ptr;

use cudarc::cublaslt::sys;
use cudarc::driver::CudaStream;
use warpwright_numeric::Dtype;

use crate::backend::Buffer;
use crate::{DriverFault, MemoryError, RawView, RawViewMut, Space, Stream, Strided};
use arrange::{Arranged, Stored, Types};
use library::{HeuristicResult, Library};

/// cuBLASLt is not here, or is not usable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "cuBLASLt, which kernels are raced against, {problem}: install the CUDA toolkit or `pip install nvidia-cublas`, and put \
     its library directory into LD_LIBRARY_PATH or WARPWRIGHT_CUBLASLT_DIR"
)]
#[non_exhaustive]
pub struct CublasLtMissing {
    /// What is wrong.
    pub problem: String,
}

/// A product that cuBLASLt does not compute.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CublasLtError {
    /// The library is missing.
    #[error(transparent)]
    Missing(#[from] CublasLtMissing),
    /// A stream of something else than a GPU.
    #[error("cuBLASLt runs on NVIDIA GPUs alone, and the stream belongs to {space}: use a stream of `Device::cuda`")]
    NotCuda {
        /// Where the stream is.
        space: Space,
    },
    /// Elements that it has no product for.
    #[error(
        "cuBLASLt has no product of {a} by {b} into {d}: it has f16, bf16, tf32, f32, f64, i8 into i32, and fp8 pairs but \
         two e5m2"
    )]
    Types {
        /// Element of A.
        a: Dtype,
        /// Element of B.
        b: Dtype,
        /// Element of D.
        d: Dtype,
    },
    /// Extents that make no product.
    #[error(
        "A is {a:?}, B {b:?} and D {d:?} (batch, rows, columns), which is no product: they must agree in M, N, K and batch"
    )]
    Extents {
        /// Of A.
        a: [usize; 3],
        /// Of B.
        b: [usize; 3],
        /// Of D.
        d: [usize; 3],
    },
    /// Strides that are no leading dimension, or too large.
    #[error("{operand} has {layout:?}: cuBLASLt takes matrices with contiguous rows or columns that do not overlap")]
    Layout {
        /// `A`, `B` or `D`.
        operand: &'static str,
        /// Its layout.
        layout: Strided,
    },
    /// A bias that it does not add.
    #[error(
        "the bias is {found} with {layout:?}: cuBLASLt adds a contiguous row of N elements of D's type {d} to a row-major D"
    )]
    Bias {
        /// Its element.
        found: Dtype,
        /// Its layout.
        layout: Strided,
        /// Element of D.
        d: Dtype,
    },
    /// Another call than the product was made for.
    #[error("{operand} is not as it was when the product was made: make another product for it")]
    Changed {
        /// `A`, `B`, `D` or `bias`.
        operand: &'static str,
    },
    /// An algorithm that there is not.
    #[error("there is no algorithm {index}: the product has {count}, numbered from 0")]
    NoSuchAlgorithm {
        /// What was asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The heuristics found nothing.
    #[error(
        "cuBLASLt has no algorithm for this product with {workspace} bytes of workspace: i8 and fp8 need both operands \
         K-major, their extents multiples of 16"
    )]
    NoAlgorithm {
        /// The workspace offered.
        workspace: usize,
    },
    /// A call that failed, with the library's own words.
    #[error("{call} failed with status {status}: {text}")]
    Call {
        /// The call.
        call: &'static str,
        /// `cublasStatus_t`, as a number.
        status: c_int,
        /// The library's description.
        text: String,
    },
    /// No workspace.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverFault),
}

/// Which cuBLASLt is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CublasLtVersion {
    /// Major, minor and patch.
    pub number: (usize, usize, usize),
    /// The file, if it was not the dynamic loader's find.
    pub path: Option<PathBuf>,
}

/// The library's version; loads it.
///
/// # Errors
/// [`CublasLtMissing`].
pub fn version() -> Result<CublasLtVersion, CublasLtMissing> {
    let library = library::get()?;
    // 10000 · major + 100 · minor + patch since cuBLAS 11.
    let version = library.version;
    Ok(CublasLtVersion { number: (version / 10_000, version / 100 % 100, version % 100), path: library.path.clone() })
}

impl std::fmt::Display for CublasLtVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor, patch) = self.number;
        write!(f, "cuBLASLt {major}.{minor}.{patch}")
    }
}

/// D = A · B, or D = gelu(A · B + bias), by cuBLASLt, for operands of these types and layouts on one stream, with its heuristics'
/// best algorithms.
#[derive(Debug)]
pub struct CublasLtProduct {
    stream: Stream,
    shapes: [(Dtype, Strided, usize); 3],
    swapped: bool,
    /// Where the bias is, if there is one.
    bias: Option<u64>,
    one: [u8; 8],
    algorithms: Vec<(sys::cublasLtMatmulAlgo_t, usize)>,
    workspace: Box<dyn Buffer>,
    product: Owned<sys::cublasLtMatmulDesc_t>,
    first: Owned<sys::cublasLtMatrixLayout_t>,
    second: Owned<sys::cublasLtMatrixLayout_t>,
    d: Owned<sys::cublasLtMatrixLayout_t>,
    // Last, so that it is destroyed last.
    handle: Owned<sys::cublasLtHandle_t>,
}

impl CublasLtProduct {
    /// Algorithms that the heuristics are asked for.
    pub const ALGORITHMS: usize = 16;
    /// Workspace that they may use, in bytes.
    pub const WORKSPACE: usize = 64 << 20;

    /// Asks for algorithms. A is (batch, M, K), B (batch, K, N), D (batch, M, N); a stride of 0 repeats a batch entry.
    /// `fast_accumulation` sums fp8 products in the tensor core's own precision; other types have no such choice.
    ///
    /// # Errors
    /// [`CublasLtError`].
    pub fn new(
        stream: &Stream,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
        fast_accumulation: bool,
    ) -> Result<CublasLtProduct, CublasLtError> {
        CublasLtProduct::with(stream, a, b, d, None, fast_accumulation)
    }

    /// The same for D = gelu(A · B + bias), GELU being the form with tanh and `bias` a row (1, 1, N) of D's type; D is row-major.
    ///
    /// # Errors
    /// [`CublasLtError`].
    pub fn with_bias_and_gelu(
        stream: &Stream,
        a: RawView<'_>,
        b: RawView<'_>,
        bias: RawView<'_>,
        d: RawViewMut<'_>,
        fast_accumulation: bool,
    ) -> Result<CublasLtProduct, CublasLtError> {
        CublasLtProduct::with(stream, a, b, d, Some(bias), fast_accumulation)
    }

    fn with(
        stream: &Stream,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
        bias: Option<RawView<'_>>,
        fast_accumulation: bool,
    ) -> Result<CublasLtProduct, CublasLtError> {
        let types = arrange::types(a.dtype(), b.dtype(), d.dtype()).ok_or(CublasLtError::Types {
            a: a.dtype(),
            b: b.dtype(),
            d: d.dtype(),
        })?;
        let ([batch_a, m, k], [batch_b, k_b, n], [batch, m_d, n_d]) = (a.extents(), b.extents(), d.extents());
        if (batch_a, batch_b, k_b, m_d, n_d) != (batch, batch, k, m, n) || [batch, m, n, k].contains(&0) {
            return Err(CublasLtError::Extents { a: a.extents(), b: b.extents(), d: d.extents() });
        }
        let arranged = arrange::arranged(a.layout(), b.layout(), d.layout()).map_err(|operand| {
            let layout = match operand {
                "A" => a.layout(),
                "B" => b.layout(),
                _ => d.layout(),
            };
            CublasLtError::Layout { operand, layout }
        })?;
        if let Some(bias) = bias {
            let row = bias.extents() == [1, 1, n] && (bias.layout().strides[2] == 1 || n == 1);
            // cuBLASLt's bias runs along the rows of its column-major D.
            if bias.dtype() != d.dtype() || !row || !arranged.swapped {
                return Err(CublasLtError::Bias { found: bias.dtype(), layout: bias.layout(), d: d.dtype() });
            }
        }
        let bias = bias.map(|bias| bias.address());
        let library = library::get()?;
        bound(stream)?;
        let handle = Owned::make(library, "cublasLtCreate", library.destroy, |handle| {
            // SAFETY: the stream's context is current, and the handle is written to.
            unsafe { (library.create)(handle) }
        })?;
        let Descriptors { product, first, second, d: d_layout } =
            Descriptors::new(library, types, &arranged, bias, fast_accumulation)?;
        let shapes = [
            shape(a.dtype(), a.layout(), a.address()),
            shape(b.dtype(), b.layout(), b.address()),
            shape(d.dtype(), d.layout(), d.address()),
        ];
        let [a_aligned, b_aligned, d_aligned] = shapes.map(|(_, _, aligned)| aligned);
        let (first_aligned, second_aligned) =
            if arranged.swapped { (b_aligned, a_aligned) } else { (a_aligned, b_aligned) };
        let preference = preference(library, first_aligned, second_aligned, d_aligned)?;
        let mut found = [HeuristicResult::EMPTY; Self::ALGORITHMS];
        let mut count: c_int = 0;
        // SAFETY: every descriptor lives, and `found` has room for what is asked for.
        let status = unsafe {
            (library.heuristics)(
                handle.raw,
                product.raw,
                first.raw,
                second.raw,
                d_layout.raw,
                d_layout.raw,
                preference.raw,
                Self::ALGORITHMS as c_int,
                found.as_mut_ptr(),
                &mut count,
            )
        };
        // That nothing was found is a status of its own.
        const NOT_SUPPORTED: c_int = 15;
        if status != NOT_SUPPORTED {
            library.check("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        let found = &found[..usize::try_from(count).unwrap_or(0).min(Self::ALGORITHMS)];
        let algorithms: Vec<_> = found
            .iter()
            .filter(|result| result.state == 0 && result.workspace_bytes <= Self::WORKSPACE)
            .map(|result| (result.algorithm, result.workspace_bytes))
            .collect();
        if algorithms.is_empty() {
            return Err(CublasLtError::NoAlgorithm { workspace: Self::WORKSPACE });
        }
        let workspace = stream.queue().allocate(Self::WORKSPACE)?;
        Ok(CublasLtProduct {
            stream: stream.clone(),
            shapes,
            swapped: arranged.swapped,
            bias,
            one: types.one,
            algorithms,
            workspace,
            product,
            first,
            second,
            d: d_layout,
            handle,
        })
    }

    /// How many algorithms the heuristics found, best guess first.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Workspace that an algorithm uses, in bytes.
    pub fn workspace_bytes(&self, algorithm: usize) -> Option<usize> {
        self.algorithms.get(algorithm).map(|(_, bytes)| *bytes)
    }

    /// Submits D = A · B to the stream that the product was made for, by one of its algorithms.
    ///
    /// # Errors
    /// [`CublasLtError::Changed`] for operands of other types, layouts or less alignment than the product was made for;
    /// [`CublasLtError::Call`] if the library refuses.
    pub fn run(
        &self,
        algorithm: usize,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
    ) -> Result<(), CublasLtError> {
        self.submit(algorithm, a, b, d, None)
    }

    /// Submits D = gelu(A · B + bias), with the bias that the product was made for.
    ///
    /// # Errors
    /// As [`run`](CublasLtProduct::run).
    pub fn run_with_bias(
        &self,
        algorithm: usize,
        a: RawView<'_>,
        b: RawView<'_>,
        bias: RawView<'_>,
        d: RawViewMut<'_>,
    ) -> Result<(), CublasLtError> {
        self.submit(algorithm, a, b, d, Some(bias))
    }

    fn submit(
        &self,
        algorithm: usize,
        a: RawView<'_>,
        b: RawView<'_>,
        d: RawViewMut<'_>,
        bias: Option<RawView<'_>>,
    ) -> Result<(), CublasLtError> {
        let bias_length = d.extents()[2];
        let same_bias = bias.is_none_or(|bias| (bias.dtype(), bias.extents()) == (d.dtype(), [1, 1, bias_length]));
        if !same_bias || bias.map(|bias| bias.address()) != self.bias {
            return Err(CublasLtError::Changed { operand: "bias" });
        }
        let count = self.algorithms.len();
        let (algorithm, _) =
            self.algorithms.get(algorithm).ok_or(CublasLtError::NoSuchAlgorithm { index: algorithm, count })?;
        self.check("A", self.shapes[0], a.dtype(), a.layout(), a.address(), a.bytes(), a.space())?;
        self.check("B", self.shapes[1], b.dtype(), b.layout(), b.address(), b.bytes(), b.space())?;
        self.check("D", self.shapes[2], d.dtype(), d.layout(), d.address(), d.bytes(), d.space())?;
        let stream = bound(&self.stream)?;
        let library = library::get()?;
        let zero = [0u8; 8];
        let at = |address: u64| address as usize as *mut c_void;
        let (first, second) = if self.swapped { (b.address(), a.address()) } else { (a.address(), b.address()) };
        // SAFETY: the operands are this device's memory with the types and layouts of the descriptors, borrowed until the work
        // is submitted; the workspace belongs to this product, whose stream orders its calls. C is not read at β = 0.
        let status = unsafe {
            (library.multiply)(
                self.handle.raw,
                self.product.raw,
                self.one.as_ptr().cast(),
                at(first),
                self.first.raw,
                at(second),
                self.second.raw,
                zero.as_ptr().cast(),
                at(d.address()),
                self.d.raw,
                at(d.address()),
                self.d.raw,
                algorithm,
                at(self.workspace.address()),
                Self::WORKSPACE,
                stream.cu_stream().cast(),
            )
        };
        library.check("cublasLtMatmul", status)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a view, which has two types")]
    fn check(
        &self,
        operand: &'static str,
        made: (Dtype, Strided, usize),
        dtype: Dtype,
        layout: Strided,
        address: u64,
        bytes: usize,
        space: Space,
    ) -> Result<(), CublasLtError> {
        let (_, _, aligned) = shape(dtype, layout, address);
        let fits = layout.span(dtype).is_ok_and(|span| dtype.packed_bytes(span) <= bytes);
        let same = (dtype, layout) == (made.0, made.1) && aligned >= made.2;
        if same && fits && space == self.stream.device().space() {
            Ok(())
        } else {
            Err(CublasLtError::Changed { operand })
        }
    }
}

/// A type, a layout, and what the address is a multiple of: a power of two up to 256.
fn shape(dtype: Dtype, layout: Strided, address: u64) -> (Dtype, Strided, usize) {
    (dtype, layout, 1 << (address | 256).trailing_zeros())
}

/// The CUDA stream, its context made current in this thread.
fn bound(stream: &Stream) -> Result<&CudaStream, CublasLtError> {
    let cuda = stream.cuda().ok_or_else(|| CublasLtError::NotCuda { space: stream.device().space() })?;
    crate::backend::cuda::make_current(cuda)?;
    Ok(cuda)
}

struct Descriptors {
    product: Owned<sys::cublasLtMatmulDesc_t>,
    first: Owned<sys::cublasLtMatrixLayout_t>,
    second: Owned<sys::cublasLtMatrixLayout_t>,
    d: Owned<sys::cublasLtMatrixLayout_t>,
}

impl Descriptors {
    fn new(
        library: &'static Library,
        types: Types,
        arranged: &Arranged,
        bias: Option<u64>,
        fast_accumulation: bool,
    ) -> Result<Descriptors, CublasLtError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let product = Owned::make(library, "cublasLtMatmulDescCreate", library.destroy_product, |product| {
            // SAFETY: the descriptor is written to.
            unsafe { (library.create_product)(product, types.compute, types.scale) }
        })?;
        let set = |attribute, value: &[u8]| {
            // SAFETY: the descriptor lives, and the attribute has as many bytes as the header says.
            let status = unsafe { (library.set_product)(product.raw, attribute, value.as_ptr().cast(), value.len()) };
            library.check("cublasLtMatmulDescSetAttribute", status)
        };
        // CUBLAS_OP_N is 0 and CUBLAS_OP_T is 1, of 32 bits.
        let operation = |transpose: bool| i32::from(transpose).to_ne_bytes();
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, &operation(arranged.transpose_first))?;
        set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, &operation(arranged.transpose_second))?;
        if types.is_fp8 {
            set(Attribute::CUBLASLT_MATMUL_DESC_FAST_ACCUM, &[u8::from(fast_accumulation)])?;
        }
        if let Some(address) = bias {
            let epilogue = sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_GELU_BIAS as u32;
            set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue.to_ne_bytes())?;
            set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address.to_ne_bytes())?;
        }
        let (first, second) = if arranged.swapped { (types.b, types.a) } else { (types.a, types.b) };
        Ok(Descriptors {
            first: layout(library, first, arranged.first)?,
            second: layout(library, second, arranged.second)?,
            d: layout(library, types.d, arranged.d)?,
            product,
        })
    }
}

fn layout(
    library: &'static Library,
    element: sys::cudaDataType_t,
    Stored { rows, cols, leading, batch, batch_stride, .. }: Stored,
) -> Result<Owned<sys::cublasLtMatrixLayout_t>, CublasLtError> {
    use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
    let layout = Owned::make(library, "cublasLtMatrixLayoutCreate", library.destroy_layout, |layout| {
        // SAFETY: the descriptor is written to.
        unsafe { (library.create_layout)(layout, element, rows, cols, leading) }
    })?;
    let set = |attribute, value: &[u8]| {
        // SAFETY: the descriptor lives, and the attribute has as many bytes as the header says.
        let status = unsafe { (library.set_layout)(layout.raw, attribute, value.as_ptr().cast(), value.len()) };
        library.check("cublasLtMatrixLayoutSetAttribute", status)
    };
    if batch != 1 {
        set(Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch.to_ne_bytes())?;
        set(Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride.to_ne_bytes())?;
    }
    Ok(layout)
}

fn preference(
    library: &'static Library,
    first: usize,
    second: usize,
    d: usize,
) -> Result<Owned<sys::cublasLtMatmulPreference_t>, CublasLtError> {
    use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
    let made = Owned::make(library, "cublasLtMatmulPreferenceCreate", library.destroy_preference, |made| {
        // SAFETY: the descriptor is written to.
        unsafe { (library.create_preference)(made) }
    })?;
    let set = |attribute, value: &[u8]| {
        // SAFETY: the descriptor lives, and the attribute has as many bytes as the header says.
        let status = unsafe { (library.set_preference)(made.raw, attribute, value.as_ptr().cast(), value.len()) };
        library.check("cublasLtMatmulPreferenceSetAttribute", status)
    };
    let workspace = CublasLtProduct::WORKSPACE as u64;
    set(Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace.to_ne_bytes())?;
    let bytes = |aligned: usize| (aligned as u32).to_ne_bytes();
    set(Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &bytes(first))?;
    set(Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &bytes(second))?;
    set(Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &bytes(d))?;
    set(Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &bytes(d))?;
    Ok(made)
}

/// A descriptor or handle that is destroyed when dropped.
#[derive(Debug)]
struct Owned<P: Copy> {
    raw: P,
    destroy: unsafe extern "C" fn(P) -> c_int,
}

impl<T> Owned<*mut T> {
    fn make(
        library: &Library,
        call: &'static str,
        destroy: unsafe extern "C" fn(*mut T) -> c_int,
        create: impl FnOnce(*mut *mut T) -> c_int,
    ) -> Result<Owned<*mut T>, CublasLtError> {
        let mut raw = ptr::null_mut();
        library.check(call, create(&mut raw))?;
        Ok(Owned { raw, destroy })
    }
}

impl<P: Copy> Drop for Owned<P> {
    fn drop(&mut self) {
        // SAFETY: it was made by the matching function and is destroyed once. Destroying a handle waits for nothing that
        // uses the descriptors: their contents were copied into the launches.
        unsafe { (self.destroy)(self.raw) };
    }
}

// SAFETY: cuBLASLt's handles and descriptors are not tied to a thread; `run` only reads them.
unsafe impl Send for CublasLtProduct {}

const _: () = assert!(size_of::<sys::cublasLtMatmulAlgo_t>() == 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Order, Tensor};

    fn missing() -> bool {
        if let Err(missing) = version() {
            assert!(missing.to_string().contains("pip install nvidia-cublas"), "{missing}");
            return true;
        }
        false
    }

    /// Descriptors need no GPU, so the attributes and their sizes are checked by the library itself, where it is.
    #[test]
    fn the_library_takes_every_attribute() {
        if missing() {
            return;
        }
        let library = library::get().unwrap();
        assert!(version().unwrap().number.0 >= 11);
        use Dtype::*;
        for (a, b, d) in [
            (F16, F16, F16),
            (Bf16, Bf16, F32),
            (Tf32, Tf32, F32),
            (F32, F32, F32),
            (F64, F64, F64),
            (I8, I8, I32),
            (E4m3, E5m2, Bf16),
        ] {
            let types = arrange::types(a, b, d).unwrap();
            let dense = |rows, cols, order| Strided::dense_batch(3, rows, cols, order);
            let arranged = arrange::arranged(
                dense(64, 32, Order::RowMajor),
                dense(32, 48, Order::ColumnMajor),
                dense(64, 48, Order::RowMajor),
            );
            let arranged = arranged.unwrap();
            for bias in [None, Some(4096)] {
                Descriptors::new(library, types, &arranged, bias, true).map(drop).unwrap();
            }
        }
        preference(library, 256, 16, 128).map(drop).unwrap();
    }

    #[test]
    fn a_failed_call_is_told_in_the_librarys_words() {
        if missing() {
            return;
        }
        let error = library::get().unwrap().check("cublasLtMatmul", 7).unwrap_err().to_string();
        assert!(error.starts_with("cublasLtMatmul failed with status 7: ") && error.len() > 40, "{error}");
    }

    #[test]
    fn wrong_products_are_refused_before_the_library_is_asked() {
        let stream = Device::host().default_stream().unwrap();
        let (a, b) = (Tensor::<f32>::zeros(4, 8).unwrap(), Tensor::<f32>::zeros(8, 6).unwrap());
        let mut d = Tensor::<f32>::zeros(4, 6).unwrap();
        let mut other = Tensor::<i32>::zeros(4, 6).unwrap();
        let (a, b) = (a.view().raw(), b.view().raw());
        fn refused(stream: &Stream, a: RawView<'_>, b: RawView<'_>, d: RawViewMut<'_>) -> CublasLtError {
            CublasLtProduct::new(stream, a, b, d, false).unwrap_err()
        }
        let error = refused(&stream, a, b, other.view_mut().unwrap().into_raw());
        assert_eq!(error, CublasLtError::Types { a: Dtype::F32, b: Dtype::F32, d: Dtype::I32 });
        let error = refused(&stream, a, a, d.view_mut().unwrap().into_raw());
        assert_eq!(error, CublasLtError::Extents { a: [1, 4, 8], b: [1, 4, 8], d: [1, 4, 6] });
        assert!(error.to_string().contains("must agree in M, N, K and batch"), "{error}");
        // A row of other elements, of another length, and one along M.
        let (halves, short, row) = (
            Tensor::<warpwright_numeric::f16>::zeros(1, 6).unwrap(),
            Tensor::<f32>::zeros(1, 5).unwrap(),
            Tensor::<f32>::zeros(1, 6).unwrap(),
        );
        for bias in [halves.view().raw(), short.view().raw()] {
            let d = d.view_mut().unwrap().into_raw();
            let error = CublasLtProduct::with_bias_and_gelu(&stream, a, b, bias, d, false).unwrap_err();
            assert!(matches!(error, CublasLtError::Bias { d: Dtype::F32, .. }), "{error}");
        }
        let mut turned = Tensor::<f32>::zeros(6, 4).unwrap();
        let turned = turned.view_mut().unwrap().transposed().into_raw();
        let error = CublasLtProduct::with_bias_and_gelu(&stream, a, b, row.view().raw(), turned, false).unwrap_err();
        assert!(matches!(error, CublasLtError::Bias { found: Dtype::F32, .. }), "{error}");
        let error = refused(&stream, a, b, d.view_mut().unwrap().into_raw());
        match error {
            CublasLtError::Missing(_) => {}
            CublasLtError::NotCuda { space } => assert_eq!(space, Space::Host),
            other => panic!("{other}"),
        }
    }
}
