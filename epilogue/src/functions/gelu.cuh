// GELU, x * P(x), in its two forms: P is the normal distribution's, or its approximation by tanh.
//
// In f32 both are max(x, 0) - a * 2^q(a) with a = |x|: the logarithm of the tail P(-a) is almost a parabola, so that a short
// polynomial and one instruction of the special function unit give it, with a relative error that keeps its digits far out.
// Behind the last knot, where 2^q is 0, a is clamped: infinities then have their limits.
namespace math {
// P(-a) of the normal distribution for a in [0, 13]: 3e-7 of the result to 2, 3e-6 to 5.
__device__ __forceinline__ float normal_tail(float a) {
    float q = -2.2238494e-8f;
    q = fma(q, a, 6.8487213e-7f);
    q = fma(q, a, -9.041119e-6f);
    q = fma(q, a, 6.48251e-5f);
    q = fma(q, a, -2.3799475e-4f);
    q = fma(q, a, -9.028438e-5f);
    q = fma(q, a, 7.0627155e-3f);
    q = fma(q, a, -5.252398e-2f);
    q = fma(q, a, -0.4591918f);
    q = fma(q, a, -1.151108f);
    q = fma(q, a, -0.99999994f);
    return exp2_approx(q);
}

__device__ __forceinline__ float gelu(float x) {
    const float a = fminf(fabsf(x), 13.0f);
    return fma(-a, normal_tail(a), at_least(x, 0.0f));
}
__device__ __forceinline__ double gelu(double x) {
    return x < -40.0 ? -0.0 : 0.5 * x * erfc(-0.70710678118654752440 * x);
}

// The slope P(z) + z p(z).
__device__ __forceinline__ float gelu_slope(float z) {
    z = at_most(at_least(z, -13.0f), 13.0f);
    const float tail = normal_tail(fabsf(z));
    const float density = 0.39894228f * exp2_approx(-0.72134752f * z * z);
    return fma(z, density, z < 0.0f ? tail : 1.0f - tail);
}
__device__ __forceinline__ double gelu_slope(double z) {
    z = at_most(at_least(z, -40.0), 40.0);
    const double density = 0.39894228040143267794 * ::exp(-0.5 * z * z);
    return fma(z, density, 0.5 * erfc(-0.70710678118654752440 * z));
}

// The tail of the form with tanh is that of sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)): 1.3e-4 of the result to 2, in units of x
// at most 6.2e-5.
__device__ __forceinline__ float gelu_tanh(float x) {
    const float a = fminf(fabsf(x), 10.0f);
    float q = 1.8209603e-4f;
    q = fma(q, a, -3.1456416e-3f);
    q = fma(q, a, 1.0993936e-2f);
    q = fma(q, a, -4.8382338e-2f);
    q = fma(q, a, -0.4660653f);
    q = fma(q, a, -1.1482185f);
    q = fma(q, a, -1.0001774f);
    return fma(-a, exp2_approx(q), at_least(x, 0.0f));
}
__device__ __forceinline__ double gelu_tanh(double x) {
    const double v = 1.5957691216057307 * (x + 0.044715 * x * x * x);
    return x < -40.0 ? -0.0 : x / (1.0 + ::exp(-v));
}

// Five instructions and one of the special function unit, and one to keep infinity times zero away.
__device__ __forceinline__ float gelu_tanh_fast(float x) {
    x = at_least(x, -128.0f);
    const float half = 0.5f * x;
    return fma(half, tanh_approx(x * fma(0.035677408f, x * x, 0.7978846f)), half);
}
__device__ __forceinline__ double gelu_tanh_fast(double x) { return gelu_tanh(x); }

// The slope s + z s (1 - s) v' with s = sigmoid(v).
template <class T>
__device__ __forceinline__ T gelu_tanh_slope(T z) {
    z = at_most(at_least(z, T(-40)), T(40));
    const T square = z * z;
    const T v = z * fma(T(0.07135481627260025), square, T(1.5957691216057307));
    const T e = exp_fast(-abs(v)), r = reciprocal(T(1) + e), tail = e * r;
    return fma(z * fma(T(0.21406444881780076), square, T(1.5957691216057307)), tail * r, v < T(0) ? tail : r);
}
}  // namespace math
