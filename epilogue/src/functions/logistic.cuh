// The logistic function and what is made of it.
namespace math {
// e^x to about |x| 2^-24 of the result, and 2^-22: one multiplication and one instruction of the special function unit.
__device__ __forceinline__ float exp_fast(float x) { return exp2_approx(x * 1.44269504f); }
__device__ __forceinline__ double exp_fast(double x) { return ::exp(x); }

// Beyond this many units from 0 the exponential is 0 or infinity; clamping first keeps 0 * infinity away.
__device__ __forceinline__ float saturated(float x) { return at_most(at_least(x, -128.0f), 128.0f); }
__device__ __forceinline__ double saturated(double x) { return at_most(at_least(x, -1024.0), 1024.0); }

template <class T>
__device__ __forceinline__ T sigmoid(T x) {
    return reciprocal(T(1) + exp_fast(-x));
}

__device__ __forceinline__ float silu(float x) {
    x = at_least(x, -128.0f);
    return x * sigmoid(x);
}
__device__ __forceinline__ double silu(double x) {
    x = at_least(x, -1024.0);
    return x * sigmoid(x);
}

// Both by the hyperbolic tangent, which is one instruction of the special function unit.
template <class T>
__device__ __forceinline__ T sigmoid_fast(T x) {
    return fma(T(0.5), tanh_approx(T(0.5) * x), T(0.5));
}
__device__ __forceinline__ float silu_fast(float x) {
    const float half = 0.5f * at_least(x, -128.0f);
    return fma(half, tanh_approx(half), half);
}
__device__ __forceinline__ double silu_fast(double x) { return silu(x); }

// max(x, 0) + log1p(e^-|x|): the logarithm as a polynomial, relative error 3e-8 on [0, 1], so that small results keep their digits.
__device__ __forceinline__ float softplus(float x) {
    const float z = exp_fast(-fabsf(x));
    float p = 0.0052326964f;
    p = fma(p, z, -0.029505253f);
    p = fma(p, z, 0.078225985f);
    p = fma(p, z, -0.1366325f);
    p = fma(p, z, 0.1910601f);
    p = fma(p, z, -0.24842983f);
    p = fma(p, z, 0.33319098f);
    p = fma(p, z, -0.49999493f);
    p = fma(p, z, 0.99999994f);
    return fma(p, z, at_least(x, 0.0f));
}
__device__ __forceinline__ double softplus(double x) { return at_least(x, 0.0) + log1p(::exp(-fabs(x))); }

// sigmoid'(z) = e r^2 with e = e^-|z| and r = 1 / (1 + e), which keeps its digits where the function is flat.
template <class T>
__device__ __forceinline__ T sigmoid_slope(T z) {
    const T e = exp_fast(-abs(z)), r = reciprocal(T(1) + e);
    return e * r * r;
}

template <class T>
__device__ __forceinline__ T silu_slope(T z) {
    z = saturated(z);
    const T e = exp_fast(-abs(z)), r = reciprocal(T(1) + e), tail = e * r;
    return fma(z, tail * r, z < T(0) ? tail : r);
}
}  // namespace math
