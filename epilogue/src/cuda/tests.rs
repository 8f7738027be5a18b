use super::*;
use crate::{Expr, Fusion, acc, column, convert, max, per_batch, previous, relu, row, scalar, share, source, tile};
use warpwright_numeric::{bf16, f16};

crate::epilogue_fn!(softsign: Softsign, |x| x / (1.0 + x.abs()), "x / (1 + fabs(x))");
crate::epilogue_fn!(lerp: Lerp, |x, y, z| x + z * (y - x), "x + z * (y - x)");

fn program<N: Fusion>(_: Expr<N>, accumulator: Dtype, output: Dtype) -> Program {
    Program::of(N::NODE, accumulator, output).unwrap()
}

fn shown<N: Fusion>(e: Expr<N>, accumulator: Dtype, output: Dtype) -> String {
    let program = program(e, accumulator, output);
    params(program.block())
        + &epilogue(
            &program,
            Accesses { matrix: 16, vector: 16, output: 16, staged: None, fragments: false, aux: None },
        )
}

#[test]
fn accumulators_alone() {
    insta::assert_snapshot!(shown(acc(), Dtype::F32, Dtype::F16), @r#"
    struct EpilogueParams {
    };
    struct Epilogue {
        using Result = Accumulator;
        __device__ __forceinline__ explicit Epilogue(const EpilogueParams& p, unsigned batch) {
        }
        static __device__ __forceinline__ bool uses_accumulator(const EpilogueParams& p, unsigned batch) {
            return true;
        }
        template <int V> struct Loads {
        };
        template <int V>
        __device__ __forceinline__ Loads<V> load(const EpilogueParams& p, const TensorArg& d, const Coordinates& c) const {
            Loads<V> l = {};
            return l;
        }
        template <int V>
        __device__ __forceinline__ void visit(Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l, const EpilogueParams& p, const Coordinates& c) const {
    #pragma unroll
            for (int v = 0; v < V; ++v) {
                out[v] = acc[v];
            }
        }
        static constexpr bool counts = false;
        __device__ __forceinline__ void end(const EpilogueParams& p, const Work& w) const {
        }
    };
    "#);
}

#[test]
fn axpby_with_bias_and_relu() {
    let (bias, c) = ([0f32; 8], [bf16::ZERO; 8]);
    let e = relu(2.0 * acc() + row(&bias) + 0.5 * source(&c));
    insta::assert_snapshot!(shown(e, Dtype::F32, Dtype::Bf16), @r#"
    struct EpilogueParams {
        ScalarArg s0;
        VectorArg v0;
        ScalarArg s1;
        TensorArg t0;
    };
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s0) == 0, "offset of s0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->v0) == 24, "offset of v0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s1) == 48, "offset of s1");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->t0) == 72, "offset of t0");
    static_assert(sizeof(EpilogueParams) == 104, "size of EpilogueParams");
    __device__ __forceinline__ float f0_relu(float x) { return x < 0 ? 0 : x; }
    struct Epilogue {
        using Result = float;
        float s0;
        bool keep0;
        float s1;
        bool keep1;
        __device__ __forceinline__ explicit Epilogue(const EpilogueParams& p, unsigned batch) {
            s0 = scalar(p.s0, batch);
            keep0 = s0 != 0.0f;
            if (!keep0) s0 = 0.0f;
            s1 = scalar(p.s1, batch);
            keep1 = s1 != 0.0f;
            if (!keep1) s1 = 0.0f;
        }
        static __device__ __forceinline__ bool uses_accumulator(const EpilogueParams& p, unsigned batch) {
            return scalar(p.s0, batch) != 0.0f;
        }
        template <int V> struct Loads {
            RowLoad<f32, V> v0;
            TileLoad<bf16, V> t0;
        };
        template <int V>
        __device__ __forceinline__ Loads<V> load(const EpilogueParams& p, const TensorArg& d, const Coordinates& c) const {
            Loads<V> l = {};
            l.v0 = load_row<f32, 4, V>(p.v0, c);
            if (keep1) l.t0 = load_tile<bf16, 8, V>(p.t0, c);
            return l;
        }
        template <int V>
        __device__ __forceinline__ void visit(Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l, const EpilogueParams& p, const Coordinates& c) const {
    #pragma unroll
            for (int v = 0; v < V; ++v) {
                const float x0 = s0 * acc[v];
                const float x1 = l.v0[v];
                const float x2 = x0 + x1;
                const float x3 = s1 * l.t0[v];
                const float x4 = x2 + x3;
                const float x5 = f0_relu(x4);
                out[v] = x5;
            }
        }
        static constexpr bool counts = false;
        __device__ __forceinline__ void end(const EpilogueParams& p, const Work& w) const {
        }
    };
    "#);
}

#[test]
fn scalars_in_memory_drop_the_previous_output() {
    let (alpha, betas, v) = ([1f32], [0f32; 3], [f16::ZERO; 8]);
    let e = acc() * scalar(&alpha) + per_batch(&betas) * previous() - column(&v);
    insta::assert_snapshot!(shown(e, Dtype::F32, Dtype::F16), @r#"
    struct EpilogueParams {
        ScalarArg s0;
        ScalarArg s1;
        VectorArg v0;
    };
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s0) == 0, "offset of s0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s1) == 24, "offset of s1");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->v0) == 48, "offset of v0");
    static_assert(sizeof(EpilogueParams) == 72, "size of EpilogueParams");
    struct Epilogue {
        using Result = float;
        float s0;
        bool keep0;
        float s1;
        bool keep1;
        __device__ __forceinline__ explicit Epilogue(const EpilogueParams& p, unsigned batch) {
            s0 = scalar(p.s0, batch);
            keep0 = s0 != 0.0f;
            if (!keep0) s0 = 0.0f;
            s1 = scalar(p.s1, batch);
            keep1 = s1 != 0.0f;
            if (!keep1) s1 = 0.0f;
        }
        static __device__ __forceinline__ bool uses_accumulator(const EpilogueParams& p, unsigned batch) {
            return scalar(p.s0, batch) != 0.0f;
        }
        template <int V> struct Loads {
            ColumnLoad<f16, V> v0;
            TileLoad<f16, V> previous;
        };
        template <int V>
        __device__ __forceinline__ Loads<V> load(const EpilogueParams& p, const TensorArg& d, const Coordinates& c) const {
            Loads<V> l = {};
            l.v0 = load_column<f16, 8, V>(p.v0, c);
            if (keep1) l.previous = load_tile<f16, 8, V>(d, c);
            return l;
        }
        template <int V>
        __device__ __forceinline__ void visit(Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l, const EpilogueParams& p, const Coordinates& c) const {
    #pragma unroll
            for (int v = 0; v < V; ++v) {
                const float x0 = acc[v] * s0;
                const float x1 = s1 * l.previous[v];
                const float x2 = x0 + x1;
                const float x3 = l.v0[v];
                const float x4 = x2 - x3;
                out[v] = x4;
            }
        }
        static constexpr bool counts = false;
        __device__ __forceinline__ void end(const EpilogueParams& p, const Work& w) const {
        }
    };
    "#);
}

#[test]
fn shared_values_functions_and_conversions() {
    let mask = [0f32; 8];
    let e = share(convert::<f16, _>(acc()), |z| lerp(z, softsign(z), tile(&mask)) + max(-z, convert::<f32, _>(1)));
    insta::assert_snapshot!(shown(e, Dtype::F32, Dtype::F32), @r#"
    struct EpilogueParams {
        TensorArg t0;
        ScalarArg s0;
    };
    static_assert(__INTADDR__(&((EpilogueParams*)0)->t0) == 0, "offset of t0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s0) == 32, "offset of s0");
    static_assert(sizeof(EpilogueParams) == 56, "size of EpilogueParams");
    __device__ __forceinline__ float f0_softsign(float x) { return x / (1 + fabs(x)); }
    __device__ __forceinline__ float f1_lerp(float x, float y, float z) { return x + z * (y - x); }
    __device__ __forceinline__ float f2_neg(float x) { return -x; }
    template <class T> __device__ __forceinline__ T maximum(T x, T y) { return x > y || x != x ? x : y; }
    template <class T> __device__ __forceinline__ float rounded(float x) {
        const float values[1] = {x};
        return Vector<T, 1>::encode(values)[0];
    }
    struct Epilogue {
        using Result = float;
        float s0;
        __device__ __forceinline__ explicit Epilogue(const EpilogueParams& p, unsigned batch) {
            s0 = scalar(p.s0, batch);
        }
        static __device__ __forceinline__ bool uses_accumulator(const EpilogueParams& p, unsigned batch) {
            return true;
        }
        template <int V> struct Loads {
            TileLoad<f32, V> t0;
        };
        template <int V>
        __device__ __forceinline__ Loads<V> load(const EpilogueParams& p, const TensorArg& d, const Coordinates& c) const {
            Loads<V> l = {};
            l.t0 = load_tile<f32, 4, V>(p.t0, c);
            return l;
        }
        template <int V>
        __device__ __forceinline__ void visit(Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l, const EpilogueParams& p, const Coordinates& c) const {
    #pragma unroll
            for (int v = 0; v < V; ++v) {
                const float x0 = rounded<f16>(static_cast<float>(acc[v]));
                const float x1 = f0_softsign(x0);
                const float x2 = l.t0[v];
                const float x3 = f1_lerp(x0, x1, x2);
                const float x4 = f2_neg(x0);
                const float x5 = static_cast<float>(s0);
                const float x6 = maximum<float>(x4, x5);
                const float x7 = x3 + x6;
                out[v] = x7;
            }
        }
        static constexpr bool counts = false;
        __device__ __forceinline__ void end(const EpilogueParams& p, const Work& w) const {
        }
    };
    "#);
}

#[test]
fn integers_stay_exact_until_a_scalar_asks() {
    let (zero_points, scale) = ([0i32; 8], [0f32; 8]);
    let e = 0.5 * (row(&scale) * relu(acc() - row(&zero_points)));
    insta::assert_snapshot!(shown(e, Dtype::I32, Dtype::F16), @r#"
    struct EpilogueParams {
        ScalarArg s0;
        VectorArg v0;
        VectorArg v1;
    };
    static_assert(__INTADDR__(&((EpilogueParams*)0)->s0) == 0, "offset of s0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->v0) == 24, "offset of v0");
    static_assert(__INTADDR__(&((EpilogueParams*)0)->v1) == 48, "offset of v1");
    static_assert(sizeof(EpilogueParams) == 72, "size of EpilogueParams");
    struct Epilogue {
        using Result = float;
        float s0;
        __device__ __forceinline__ explicit Epilogue(const EpilogueParams& p, unsigned batch) {
            s0 = scalar(p.s0, batch);
        }
        static __device__ __forceinline__ bool uses_accumulator(const EpilogueParams& p, unsigned batch) {
            return true;
        }
        template <int V> struct Loads {
            RowLoad<f32, V> v0;
            RowLoad<i32, V> v1;
        };
        template <int V>
        __device__ __forceinline__ Loads<V> load(const EpilogueParams& p, const TensorArg& d, const Coordinates& c) const {
            Loads<V> l = {};
            l.v0 = load_row<f32, 4, V>(p.v0, c);
            l.v1 = load_row<i32, 4, V>(p.v1, c);
            return l;
        }
        template <int V>
        __device__ __forceinline__ void visit(Result (&out)[V], const Accumulator (&acc)[V], const Loads<V>& l, const EpilogueParams& p, const Coordinates& c) const {
    #pragma unroll
            for (int v = 0; v < V; ++v) {
                const float x0 = l.v0[v];
                const long long x1 = l.v1.exact(v);
                const long long x2 = static_cast<long long>(static_cast<unsigned long long>(acc[v]) - static_cast<unsigned long long>(x1));
                const long long x3 = x2 < 0 ? 0 : x2;
                const float x4 = static_cast<float>(x3);
                const float x5 = x0 * x4;
                const float x6 = s0 * x5;
                out[v] = x6;
            }
        }
        static constexpr bool counts = false;
        __device__ __forceinline__ void end(const EpilogueParams& p, const Work& w) const {
        }
    };
    "#);
}

#[test]
fn doubles_compute_in_double() {
    let text = shown(relu(2.0 * acc()), Dtype::F64, Dtype::F64);
    assert!(
        text.contains("double s0;") && text.contains("keep0 = s0 != 0.0;") && text.contains("double f0_relu(double x)")
    );
    assert!(!text.contains("float"), "{text}");
    assert!(argument_structs(Dtype::F64).contains("const double* pointer; long long stride_batch; double value;"));
}

#[test]
fn widths_follow_declared_bytes() {
    assert_eq!(width(16, Dtype::Bf16), 8);
    assert_eq!(width(4, Dtype::Bf16), 2);
    assert_eq!(width(2, Dtype::F32), 1);
    assert_eq!(width(0, Dtype::F16), 1);
    assert_eq!(width(128, Dtype::F32), 4);
}
