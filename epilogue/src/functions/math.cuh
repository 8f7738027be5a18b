// Primitives of the functions: in f32 the special function unit's, in f64 the compiler's own library.
//
// The approximate ones flush subnormals to zero, which costs nothing and saves the scaling that they need otherwise.
namespace math {
__device__ __forceinline__ float fma(float x, float y, float z) { return __fmaf_rn(x, y, z); }
__device__ __forceinline__ double fma(double x, double y, double z) { return __fma_rn(x, y, z); }
__device__ __forceinline__ float abs(float x) { return fabsf(x); }
__device__ __forceinline__ double abs(double x) { return fabs(x); }
__device__ __forceinline__ float sqrt(float x) { return __fsqrt_rn(x); }
__device__ __forceinline__ double sqrt(double x) { return __dsqrt_rn(x); }

// 2^x, 2 units in the last place.
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 1 / x, 1 unit in the last place.
__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ double reciprocal(double x) { return 1.0 / x; }
// 1 / sqrt(x), 2^-22.9 of the result.
__device__ __forceinline__ float rsqrt(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ double rsqrt(double x) { return 1.0 / __dsqrt_rn(x); }
// 2^-10.9 of the result.
__device__ __forceinline__ float tanh_approx(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ double tanh_approx(double x) { return ::tanh(x); }

__device__ __forceinline__ float exp(float x) { return expf(x); }
__device__ __forceinline__ double exp(double x) { return ::exp(x); }
__device__ __forceinline__ float log(float x) { return logf(x); }
__device__ __forceinline__ double log(double x) { return ::log(x); }
__device__ __forceinline__ float tanh(float x) { return tanhf(x); }
__device__ __forceinline__ double tanh(double x) { return ::tanh(x); }
__device__ __forceinline__ float sin(float x) { return sinf(x); }
// For arguments below 2^50, which takes no call: x - n pi in two parts.
__device__ __forceinline__ double sin(double x) {
    const double n = rint(x * 0.31830988618379067);
    double r = fma(-n, 3.1415926535897931, x);
    r = fma(-n, 1.2246467991473532e-16, r);
    const double s = sinpi(r * 0.31830988618379067);
    return n - 2 * floor(0.5 * n) == 0 ? s : -s;
}

// The larger and the smaller; NaN if x is.
__device__ __forceinline__ float at_least(float x, float low) {
#if __CUDA_ARCH__ >= 800
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(low));
    return y;
#else
    return x < low ? low : x;
#endif
}
__device__ __forceinline__ double at_least(double x, double low) { return x < low ? low : x; }
__device__ __forceinline__ float at_most(float x, float high) {
#if __CUDA_ARCH__ >= 800
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(high));
    return y;
#else
    return x > high ? high : x;
#endif
}
__device__ __forceinline__ double at_most(double x, double high) { return x > high ? high : x; }
}  // namespace math
