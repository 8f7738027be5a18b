//! Compiling with the real NVRTC, for every target, without a GPU.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::time::Instant;

use warpwright_arch::Target;
use warpwright_runtime::cache::Cache;
use warpwright_runtime::nvrtc::{self, CompileError};

const SCALE: &str = r#"
struct Params { float* x; float factor; int n; };
extern "C" __global__ void scale(const __grid_constant__ Params p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.x[i] *= p.factor;
}
"#;

fn target(text: &str) -> Target {
    text.parse().expect("a target")
}

macro_rules! need_nvrtc {
    () => {
        if let Err(missing) = nvrtc::version() {
            eprintln!("SKIPPED: {missing}");
            return;
        }
    };
}

#[test]
fn every_target_gets_machine_code() {
    need_nvrtc!();
    for name in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"] {
        let compiled = nvrtc::compile(SCALE, "scale", target(name), &[]).expect(name);
        assert!(compiled.cubin.starts_with(b"\x7fELF"), "{name}");
        assert!(compiled.ptx.contains(&format!(".target {name}")), "{name}");
        assert!(compiled.ptx.contains("scale"), "{name}");
        assert!(compiled.seconds > 0.0);
    }
}

#[test]
fn multiplications_and_additions_are_not_fused_unless_written_so() {
    need_nvrtc!();
    let source = r#"extern "C" __global__ void f(float* x) { x[0] = x[1] * x[2] + x[3]; }"#;
    let ptx = nvrtc::compile(source, "f", target("sm_80"), &[]).unwrap().ptx;
    assert!(ptx.contains("mul") && ptx.contains("add") && !ptx.contains("fma"), "{ptx}");
}

#[test]
fn a_refused_source_is_saved_and_its_log_kept() {
    need_nvrtc!();
    let source = "static int spare;\nextern \"C\" __global__ void broken(unsigned n) { int x = undeclared_thing; if (n < 0) return; }\n";
    let error = nvrtc::compile(source, "broken", target("sm_90a"), &[]).unwrap_err();
    let text = error.to_string();
    let CompileError::Refused { log, source_path, .. } = error else { panic!("{text}") };
    assert!(log.contains("undeclared_thing") && log.contains("broken.cu"), "{log}");
    // Of the two variables that nobody uses, and the comparison that is never true, it says nothing.
    assert!(!log.contains("warning") && !log.contains("spare"), "{log}");
    assert!(text.contains("broken") && text.contains("sm_90a") && text.contains("undeclared_thing"), "{text}");
    let path = source_path.expect("some directory can be written");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), source);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn instructions_of_another_architecture_are_refused() {
    need_nvrtc!();
    let source = r#"extern "C" __global__ void f() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }"#;
    assert!(nvrtc::compile(source, "f", target("sm_90a"), &[]).is_ok());
    for other in ["sm_80", "sm_90", "sm_100a"] {
        let error = nvrtc::compile(source, "f", target(other), &[]).unwrap_err();
        assert!(matches!(&error, CompileError::Refused { log, .. } if log.contains("wgmma")), "{other}: {error}");
        remove_saved(&error);
    }
}

#[test]
fn unknown_targets_and_options_and_nul_bytes_are_errors() {
    need_nvrtc!();
    for wrong in [target("sm_70"), target("sm_123a")] {
        let error = nvrtc::compile(SCALE, "scale", wrong, &[]).unwrap_err();
        assert!(error.to_string().contains(&wrong.to_string()), "{error}");
        remove_saved(&error);
    }
    let error = nvrtc::compile(SCALE, "scale", target("sm_80"), &["--no-such-option".into()]).unwrap_err();
    assert!(error.to_string().contains("no-such-option"), "{error}");
    remove_saved(&error);
    let error = nvrtc::compile("\0", "nul", target("sm_80"), &[]).unwrap_err();
    assert!(matches!(error, CompileError::Nul { what: "source", .. }), "{error}");
}

#[test]
fn spilled_registers_are_advised_of() {
    need_nvrtc!();
    let source = r#"
        extern "C" __global__ void spill(float* x) {
            float v[96];
            #pragma unroll
            for (int i = 0; i < 96; ++i) v[i] = x[i * 128 + threadIdx.x];
            #pragma unroll
            for (int r = 0; r < 2; ++r)
                #pragma unroll
                for (int i = 0; i < 96; ++i) v[i] = v[i] * v[(i * 37 + 11) % 96] + v[(i * 53 + 7) % 96];
            #pragma unroll
            for (int i = 0; i < 96; ++i) x[i * 128 + threadIdx.x] = v[i];
        }"#;
    let roomy = nvrtc::compile(source, "spill", target("sm_90a"), &[]).unwrap();
    assert_eq!(nvrtc::advisories(&roomy.log).count(), 0, "{}", roomy.log);
    let tight = nvrtc::compile(source, "spill", target("sm_90a"), &["--maxrregcount=32".into()]).unwrap();
    assert!(nvrtc::advisories(&tight.log).count() > 0, "{}", tight.log);
}

#[test]
fn a_warm_start_takes_at_most_10_ms() {
    need_nvrtc!();
    let dir = tempfile::tempdir().unwrap();
    let cold = Cache::new(Some(dir.path().into()), u64::MAX);
    let compiled = nvrtc::cubin(&cold, SCALE, "scale", target("sm_90a"), &[]).unwrap();
    assert!(compiled.compile_seconds.is_some());
    // The median, since the machine may be busy.
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let warm = Cache::new(Some(dir.path().into()), u64::MAX);
            let started = Instant::now();
            let found = nvrtc::cubin(&warm, SCALE, "scale", target("sm_90a"), &[]).unwrap();
            assert_eq!((found.cubin, found.compile_seconds), (compiled.cubin.clone(), None));
            started.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    assert!(times[4] <= 0.010, "{times:?}");
}

/// Accumulators that are zeroed before a loop without a fence in it: ptxas waits for every instruction.
#[test]
fn serialized_wgmma_is_refused() {
    need_nvrtc!();
    let source = r#"
extern "C" __global__ void __launch_bounds__(128, 1) serial(float* out, unsigned long long a, unsigned long long b, int n) {
    float d[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int i = 0; i < n; ++i) {
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
    }
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
"#;
    let error = nvrtc::compile(source, "serial", target("sm_90a"), &[]).unwrap_err();
    let text = error.to_string();
    assert!(matches!(&error, CompileError::Serialized { message, .. } if message.contains("(C75")), "{text}");
    assert!(text.starts_with("`serial` for sm_90a would run its wgmma instructions one by one"), "{text}");
    remove_saved(&error);
}

#[test]
fn source_target_and_options_each_make_another_kernel() {
    need_nvrtc!();
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(dir.path().into()), u64::MAX);
    let fresh = |source: &str, target_name: &str, options: &[String]| {
        nvrtc::cubin(&cache, source, "scale", target(target_name), options).unwrap().compile_seconds.is_some()
    };
    assert!(fresh(SCALE, "sm_90a", &[]));
    assert!(!fresh(SCALE, "sm_90a", &[]));
    assert!(fresh(SCALE, "sm_80", &[]));
    assert!(fresh(SCALE, "sm_90a", &["--maxrregcount=64".into()]));
    assert!(fresh(&format!("{SCALE}\n"), "sm_90a", &[]));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

fn remove_saved(error: &CompileError) {
    if let CompileError::Refused { source_path: Some(path), .. }
    | CompileError::Serialized { source_path: Some(path), .. } = error
    {
        let _ = std::fs::remove_file(path);
    }
}
