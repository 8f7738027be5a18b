//! Whether the host's body of a function and the device's text are the same function: both are run on random arguments.

use crate::HostFn;
use std::fmt::Write;
use warpwright_arch::{ArchId, Sm80};
use warpwright_numeric::{Dtype, Element};
use warpwright_runtime::{
    Device, DeviceError, HostContext, HostProgram, Invocation, LaunchCall, LaunchTemplate, LoadError, Program,
    RunError, StreamError, Tensor, TensorError, WorkspaceLayout,
};
use warpwright_spec::{Function, Node};

/// Arguments that each function is tried with.
const TRIES: usize = 4096;
const THREADS: usize = 128;

/// A function whose two sides differ, or that could not be tried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The device's value is not the host's.
    #[error(
        "the epilogue function `{function}` of {arguments:?} is {host} on the host, but {device} on {on}, in {}: {allowed:e} apart is allowed; mend its host body or its CUDA text, or state its accuracy",
        compute.name()
    )]
    Differs {
        /// Its name.
        function: &'static str,
        /// Its arguments.
        arguments: Vec<f64>,
        /// What the host's body gives.
        host: f64,
        /// What the device's text gives.
        device: f64,
        /// The largest difference that its accuracy allows.
        allowed: f64,
        /// The compute type.
        compute: Dtype,
        /// The device.
        on: String,
    },
    /// No device runs the text.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The text does not compile.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// No memory.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// It did not run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Tries a function, as [`check_functions`].
///
/// # Errors
/// As there.
pub fn check_function(function: Function, device: &Device) -> Result<(), FunctionError> {
    check_functions(&[function], device)
}

/// Tries the functions of a tree, as [`check_functions`]. Returns which they are.
///
/// # Errors
/// As there.
pub fn check_tree(node: &Node, device: &Device) -> Result<Vec<Function>, FunctionError> {
    let mut functions = Vec::new();
    collect(node, &mut functions);
    check_functions(&functions, device)?;
    Ok(functions)
}

fn collect(node: &Node, functions: &mut Vec<Function>) {
    if let Node::Apply(function, _) = node
        && !functions.contains(function)
    {
        functions.push(*function);
    }
    node.children().into_iter().flatten().for_each(|child| collect(child, functions));
}

/// Compares functions' host bodies with their device texts on 4096 arguments each, in f32 and in f64: random ones of many magnitudes,
/// infinities, NaN and both zeros. Where the accuracy is exact all bits must agree, but for the sign of zeros and those of NaN.
/// On the CPU, which runs no device text, an emulated device stands in, which needs NVRTC.
///
/// # Errors
/// [`FunctionError::Differs`] for the first difference; the others if the text cannot be run.
pub fn check_functions(functions: &[Function], device: &Device) -> Result<(), FunctionError> {
    if functions.is_empty() {
        return Ok(());
    }
    let emulated;
    let device = if device.is_host() {
        emulated = Device::emulator::<Sm80>()?;
        &emulated
    } else {
        device
    };
    compare::<f32>(functions, device)?;
    compare::<f64>(functions, device)
}

/// A compute type.
trait Compute: Element {
    const NAME: &'static str;
    const BITS: i32;
    fn host(function: HostFn, at: [Self; 3]) -> Self;
    fn narrow(x: f64) -> Self;
}
macro_rules! compute {
    ($t:ident $name:literal $bits:literal |$single:ident, $double:ident| $f:ident) => {
        impl Compute for $t {
            const NAME: &'static str = $name;
            const BITS: i32 = $bits;
            fn host(function: HostFn, [x, y, z]: [$t; 3]) -> $t {
                match function {
                    HostFn::Unary($single, $double) => compute!(@call $f $single $double (x)),
                    HostFn::Binary($single, $double) => compute!(@call $f $single $double (x, y)),
                    HostFn::Ternary($single, $double) => compute!(@call $f $single $double (x, y, z)),
                }
            }
            fn narrow(x: f64) -> $t {
                x as $t
            }
        }
    };
    (@call single $single:ident $double:ident $args:tt) => {{ let _ = $double; $single $args }};
    (@call double $single:ident $double:ident $args:tt) => {{ let _ = $single; $double $args }};
}
compute!(f32 "float" 24 |single, double| single);
compute!(f64 "double" 53 |single, double| double);

fn compare<T: Compute>(functions: &[Function], device: &Device) -> Result<(), FunctionError> {
    let inputs: [Vec<T>; 3] = core::array::from_fn(|place| (0..TRIES).map(|i| T::narrow(argument(place, i))).collect());
    let outputs = run(functions, device, &inputs)?;
    for (function, outputs) in functions.iter().zip(outputs.chunks(TRIES)) {
        for (i, device_value) in outputs.iter().enumerate() {
            let at = [0, 1, 2].map(|place| inputs[place][i]);
            let arguments: Vec<f64> = at[..function.host.arity()].iter().map(|x| x.to_f64()).collect();
            let (host, given) = (T::host(function.host, at).to_f64(), device_value.to_f64());
            let allowed = allowed::<T>(function, &arguments, host);
            let same = host == given || host.is_nan() && given.is_nan();
            // A difference with NaN is no difference that is allowed.
            let near = (host - given).abs() <= allowed;
            if !same && !near {
                return Err(FunctionError::Differs {
                    function: function.name,
                    arguments,
                    host,
                    device: given,
                    allowed,
                    compute: T::DTYPE,
                    on: device.name().to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// How far a device's value may be off. An approximation may overflow a little sooner.
fn allowed<T: Compute>(function: &Function, arguments: &[f64], host: f64) -> f64 {
    if function.accuracy.is_exact() {
        return 0.0;
    }
    let most = if T::BITS == 24 { 3.4e38 } else { 1.7e308 };
    if host.abs() > most && host.is_infinite() && arguments.iter().all(|x| x.is_finite()) {
        return f64::INFINITY;
    }
    function.accuracy.allows(arguments[0], host, T::BITS) + function.accuracy.flushed(T::BITS)
}

/// Argument `place` of try `i`: moderate, of any magnitude, or special. Specials meet moderate ones only, since a function's flat
/// parts are 0 on one side and tiny on the other, which an infinity tells apart.
fn argument(place: usize, i: usize) -> f64 {
    const SPECIAL: [f64; 8] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, -1.0, 88.5];
    let bits = mixed((3 * i + place) as u64);
    let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
    let sign = if bits & 1 == 1 { -1.0 } else { 1.0 };
    match i % 8 {
        0 if i / 8 % 3 == place => SPECIAL[i / 24 % 8],
        0 | 1 => 4.0 * unit - 2.0,
        2 => sign * 2f64.powf(40.0 * unit - 20.0),
        3 => 200.0 * unit - 100.0,
        _ => 16.0 * unit - 8.0,
    }
}

/// A random word of a number.
fn mixed(i: u64) -> u64 {
    let z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn run<T: Compute>(functions: &[Function], device: &Device, inputs: &[Vec<T>; 3]) -> Result<Vec<T>, FunctionError> {
    let stream = device.default_stream()?;
    let program = Program {
        name: "check_functions".to_owned(),
        tag: ArchId::SM75,
        launches: vec![LaunchTemplate {
            entry: "check_functions".to_owned(),
            source: source(functions, T::NAME),
            options: Vec::new(),
            block: [THREADS as u32, 1, 1],
            cluster: [1, 1, 1],
            shared_bytes: 0,
            params_bytes: 32,
            pdl: false,
        }],
        workspace: WorkspaceLayout::default(),
    };
    let executable = device.load(&program)?;
    let mut there = Vec::new();
    for input in inputs {
        there.push(Tensor::from_vec(1, TRIES, input.clone())?.to_device(&stream)?);
    }
    let mut out = Tensor::<T>::from_vec(functions.len(), TRIES, vec![T::default(); functions.len() * TRIES])?
        .to_device(&stream)?;
    let mut params = Vec::new();
    for tensor in &there {
        params.extend(tensor.view().raw().address().to_le_bytes());
    }
    params.extend(out.view_mut()?.raw().address().to_le_bytes());
    let launches = [LaunchCall { grid: [(TRIES / THREADS) as u32, 1, 1], params: &params }];
    // SAFETY: the parameters are the kernel's four pointers, to as many elements as its threads read and write; the tensors live
    // until the stream has been waited for.
    unsafe { executable.run(&stream, &Invocation { launches: &launches, host: &NotOnTheHost })? };
    Ok(out.to_host(&stream)?.to_vec()?)
}

struct NotOnTheHost;
impl HostProgram for NotOnTheHost {
    fn run(&self, _: &HostContext<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("device text was run on the CPU".into())
    }
}

fn source(functions: &[Function], real: &str) -> String {
    let mut text = String::new();
    let mut needed: Vec<&str> = Vec::new();
    for need in functions.iter().flat_map(|f| f.needs) {
        if !needed.contains(need) {
            needed.push(need);
        }
    }
    text.extend(needed);
    let mut calls = String::new();
    for (i, function) in functions.iter().enumerate() {
        let (name, cuda) = (function.name, function.cuda);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "__device__ {real} f{i}_{name}({real} x, {real} y, {real} z) {{ return {cuda}; }}");
        let _ = writeln!(calls, "    p.out[{} + i] = f{i}_{name}(x, y, z);", i * TRIES);
    }
    let _ = write!(
        text,
        "struct Params {{ const {real} *x, *y, *z; {real}* out; }};\n\
         extern \"C\" __global__ void check_functions(const __grid_constant__ Params p) {{\n\
         \x20   const unsigned i = blockIdx.x * {THREADS} + threadIdx.x;\n\
         \x20   const {real} x = p.x[i], y = p.y[i], z = p.z[i];\n{calls}}}\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EpilogueFunction, functions};

    crate::epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");
    crate::epilogue_fn!(wrong: Wrong, |x| if x > 7.0 { x + 1.0 } else { x }, "x");

    fn nvrtc() -> bool {
        let there = Device::emulator::<Sm80>().is_ok();
        assert!(there || std::env::var_os("WARPWRIGHT_REQUIRE_NVRTC").is_none(), "NVRTC is required");
        there
    }

    #[test]
    fn every_function_of_the_library_is_the_same_on_both_sides() {
        if nvrtc() {
            let all: Vec<Function> = functions::all().collect();
            check_functions(&all, &Device::host()).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn users_functions_are_compared() {
        if !nvrtc() {
            return;
        }
        check_function(Softsign::FUNCTION, &Device::host()).unwrap_or_else(|e| panic!("{e}"));
        let _ = (softsign(crate::acc()), wrong(crate::acc()));
        let error = check_function(Wrong::FUNCTION, &Device::host()).unwrap_err();
        let FunctionError::Differs { function: "wrong", ref arguments, host, device, .. } = error else {
            panic!("{error}")
        };
        assert!(arguments[0] > 7.0 && host == f64::from((arguments[0] + 1.0) as f32) && device == arguments[0]);
        assert!(error.to_string().starts_with("the epilogue function `wrong` of ["), "{error}");
    }
}
