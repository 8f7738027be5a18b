// Element types of device memory and their conversions.
//
// Floats round to nearest even; f16, bf16 and tf32 overflow to infinity, fp8 and integers saturate. NaN stays NaN, and is 0 in
// integers. `Compute`, float or double, is what elements are read as.

struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};
struct tf32 {
    unsigned bits;
};
struct e4m3 {
    unsigned char bits;
};
struct e5m2 {
    unsigned char bits;
};
// Packed in memory, where they are stored but not read.
struct e3m2 {
    unsigned char bits;
};
struct e2m3 {
    unsigned char bits;
};
struct e2m1 {
    unsigned char bits;
};
struct i4 {
    unsigned char bits;
};
struct u4 {
    unsigned char bits;
};
using f32 = float;
using f64 = double;
using i8 = signed char;
using u8 = unsigned char;
using i32 = int;

template <class T, class U>
constexpr bool is_same = false;
template <class T>
constexpr bool is_same<T, T> = true;

template <class T>
constexpr int bits_of = 8 * sizeof(T);
template <>
constexpr int bits_of<e3m2> = 6;
template <>
constexpr int bits_of<e2m3> = 6;
template <>
constexpr int bits_of<e2m1> = 4;
template <>
constexpr int bits_of<i4> = 4;
template <>
constexpr int bits_of<u4> = 4;

__device__ __forceinline__ float fma_rn(float x, float y, float z) { return __fmaf_rn(x, y, z); }
__device__ __forceinline__ double fma_rn(double x, double y, double z) { return __fma_rn(x, y, z); }

// The nearest tf32 of any float's bits, ties to even, its other bits being what the tensor cores ignore.
__device__ __forceinline__ unsigned round_to_tf32(unsigned bits) {
#if __CUDA_ARCH__ >= 900
    return ptx::cvt_rn_tf32(bits);
#else
    // A NaN's carry would leave its exponent.
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits + 0xfff + (bits >> 13 & 1);
#endif
}

// An element's value; `words` hold it in their low bits, and what lies above is ignored.
template <class T>
__device__ __forceinline__ auto decode(unsigned low, unsigned high);

template <>
__device__ __forceinline__ auto decode<f16>(unsigned bits, unsigned) {
    return ptx::cvt_f32_f16(static_cast<unsigned short>(bits));
}
template <>
__device__ __forceinline__ auto decode<bf16>(unsigned bits, unsigned) {
    return __uint_as_float(bits << 16);
}
template <>
__device__ __forceinline__ auto decode<f32>(unsigned bits, unsigned) {
    return __uint_as_float(bits);
}
template <>
__device__ __forceinline__ auto decode<tf32>(unsigned bits, unsigned) {
    return __uint_as_float(bits);
}
template <>
__device__ __forceinline__ auto decode<f64>(unsigned low, unsigned high) {
    return __hiloint2double(high, low);
}
template <>
__device__ __forceinline__ auto decode<e4m3>(unsigned bits, unsigned) {
    // As f16 with the exponent 8 too low; the one NaN of each sign has no counterpart there.
    const float x = ptx::cvt_f32_f16(static_cast<unsigned short>((bits & 0x80) << 8 | (bits & 0x7f) << 7)) * 256.0f;
    return (bits & 0x7f) == 0x7f ? __uint_as_float(0x7fffffff) : x;
}
template <>
__device__ __forceinline__ auto decode<e5m2>(unsigned bits, unsigned) {
    return ptx::cvt_f32_f16(static_cast<unsigned short>(bits << 8));
}
template <>
__device__ __forceinline__ auto decode<i8>(unsigned bits, unsigned) {
    return static_cast<int>(static_cast<signed char>(bits));
}
template <>
__device__ __forceinline__ auto decode<u8>(unsigned bits, unsigned) {
    return static_cast<int>(bits & 0xff);
}
template <>
__device__ __forceinline__ auto decode<i32>(unsigned bits, unsigned) {
    return static_cast<int>(bits);
}

#if __CUDA_ARCH__ >= 890
// Two fp8 elements, exactly.
template <class T>
__device__ __forceinline__ unsigned widen_pair(unsigned bits) {
    if constexpr (is_same<T, e4m3>) {
        return ptx::cvt_f16x2_e4m3x2(static_cast<unsigned short>(bits));
    } else {
        return ptx::cvt_f16x2_e5m2x2(static_cast<unsigned short>(bits));
    }
}

// fp8 m16n8k32 by products of f16. Steps of K change places alike in both operands, which no sum sees.
template <class A, class B>
__device__ __forceinline__ void mma_as_f16(float* d, const unsigned* a, const unsigned* b) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
        const unsigned upper = a[2 * half], lower = a[2 * half + 1], columns = b[half];
        ptx::mma_m16n8k16_f16(d, widen_pair<A>(upper), widen_pair<A>(lower), widen_pair<A>(upper >> 16),
                              widen_pair<A>(lower >> 16), widen_pair<B>(columns), widen_pair<B>(columns >> 16));
    }
}
#endif

// A float that rounds to any narrower type as x does: rounded to odd, it is no tie unless x is.
__device__ __forceinline__ float single(float x) { return x; }
__device__ __forceinline__ float single(double x) {
    const float y = __double2float_rz(x);
    return static_cast<double>(y) == x ? y : __uint_as_float(__float_as_uint(y) | 1);
}
__device__ __forceinline__ float single(long long x) { return single(static_cast<double>(x)); }
// To a float of `mantissa` bits and a sign without infinities, of exponents from 1 - `bias` on, that saturates.
template <int mantissa, int bias>
__device__ __forceinline__ unsigned encode_small(float x, float largest) {
    constexpr int cut = 23 - mantissa;
    const unsigned sign = __float_as_uint(x) >> 24 & 0x80;
    const float magnitude = fminf(fabsf(x), largest);
    const unsigned bits = __float_as_uint(magnitude);
    // Rounds at the last bit of a subnormal, which is that of this power of two.
    const float place = __uint_as_float((127 + 1 - bias + cut) << 23);
    const unsigned subnormal = __float_as_uint(magnitude + place) - __float_as_uint(place);
    const unsigned normal = ((bits + (1 << (cut - 1)) - 1 + (bits >> cut & 1)) >> cut) - ((127 - bias) << mantissa);
    const unsigned code = bits >> 23 >= 128 - bias ? normal : subnormal;
    return x != x ? 0x7f : sign | code;
}

// The same with the sign next to the other bits, and no NaN, which the largest value stands for.
template <int mantissa, int bias>
__device__ __forceinline__ unsigned encode_finite(float x, float largest) {
    constexpr unsigned sign = mantissa == 1 ? 8 : 32;
    const unsigned code = encode_small<mantissa, bias>(x, largest);
    return x != x ? sign - 1 : (code & 0x80 ? sign : 0) | code & (sign - 1);
}

__device__ __forceinline__ float single(int x) { return single(static_cast<double>(x)); }

__device__ __forceinline__ int to_integer(int x) { return x; }
__device__ __forceinline__ int to_integer(float x) { return __float2int_rn(x); }
__device__ __forceinline__ int to_integer(double x) { return x != x ? 0 : __double2int_rn(x); }
__device__ __forceinline__ int to_integer(long long x) {
    return static_cast<int>(min(max(x, -2147483648ll), 2147483647ll));
}

// Two elements of at most 16 bits side by side.
template <class T, class X>
__device__ __forceinline__ unsigned encode_pair(X low, X high) {
    if constexpr (is_same<T, f16>) {
        return ptx::cvt_rn_f16x2(single(high), single(low));
    } else if constexpr (is_same<T, bf16>) {
#if __CUDA_ARCH__ >= 800
        return ptx::cvt_rn_bf16x2(single(high), single(low));
#else
        const auto one = [](float x) {
            const unsigned bits = __float_as_uint(x);
            return x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        };
        return one(single(high)) << 16 | one(single(low));
#endif
    } else if constexpr (is_same<T, e4m3>) {
#if __CUDA_ARCH__ >= 890
        return ptx::cvt_rn_satfinite_e4m3x2(single(high), single(low));
#else
        return encode_small<3, 7>(single(high), 448.0f) << 8 | encode_small<3, 7>(single(low), 448.0f);
#endif
    } else if constexpr (is_same<T, e5m2>) {
#if __CUDA_ARCH__ >= 890
        return ptx::cvt_rn_satfinite_e5m2x2(single(high), single(low));
#else
        return encode_small<2, 15>(single(high), 57344.0f) << 8 | encode_small<2, 15>(single(low), 57344.0f);
#endif
    } else if constexpr (is_same<T, e3m2>) {
        return encode_finite<2, 3>(single(high), 28.0f) << 6 | encode_finite<2, 3>(single(low), 28.0f);
    } else if constexpr (is_same<T, e2m3>) {
        return encode_finite<3, 1>(single(high), 7.5f) << 6 | encode_finite<3, 1>(single(low), 7.5f);
    } else if constexpr (is_same<T, e2m1>) {
        return encode_finite<1, 1>(single(high), 6.0f) << 4 | encode_finite<1, 1>(single(low), 6.0f);
    } else {
        constexpr int bits = bits_of<T>, values = 1 << bits, least = is_same<T, i8> || is_same<T, i4> ? -values / 2 : 0;
        const unsigned x0 = min(max(to_integer(low), least), least + values - 1) & (values - 1);
        const unsigned x1 = min(max(to_integer(high), least), least + values - 1) & (values - 1);
        return x1 << bits | x0;
    }
}

// An element of 32 or 64 bits.
template <class T, class X>
__device__ __forceinline__ void encode_wide(unsigned* words, X x) {
    if constexpr (is_same<T, f32>) {
        words[0] = __float_as_uint(static_cast<float>(x));
    } else if constexpr (is_same<T, tf32>) {
        words[0] = round_to_tf32(__float_as_uint(single(x))) & ~0x1fffu;
    } else if constexpr (is_same<T, i32>) {
        words[0] = to_integer(x);
    } else {
        words[0] = __double2loint(static_cast<double>(x));
        words[1] = __double2hiint(static_cast<double>(x));
    }
}

// V elements in their memory form. Reading converts, so a load does not wait for its data until the values are used.
template <class T, int V>
struct Vector {
    static constexpr int size = V;
    static constexpr int bits = bits_of<T>;
    unsigned words[(V * bits + 31) / 32];

    __device__ __forceinline__ Compute operator[](int v) const { return static_cast<Compute>(value(v)); }

    // Of integers.
    __device__ __forceinline__ long long exact(int v) const { return value(v); }

    // Replaces nothing: element v must still be zero.
    __device__ __forceinline__ void insert(int v, const unsigned* element) {
        words[v * bits / 32] |= element[0] << (v * bits % 32);
        if constexpr (bits == 64) words[2 * v + 1] = element[1];
    }

    __device__ __forceinline__ void extract(int v, unsigned* element) const {
        element[0] = words[v * bits / 32] >> (v * bits % 32);
        if constexpr (bits == 64) element[1] = words[2 * v + 1];
    }

    template <class X>
    static __device__ __forceinline__ Vector encode(const X (&x)[V]) {
        Vector y = {};
        if constexpr (bits < 8) {
            unsigned long long all = 0;
#pragma unroll
            for (int v = 0; v < V; v += 2) {
                all |= static_cast<unsigned long long>(encode_pair<T>(x[v], v + 1 < V ? x[v + 1] : X(0))) << v * bits;
            }
            y.words[0] = static_cast<unsigned>(all);
            if constexpr (V * bits > 32) y.words[1] = static_cast<unsigned>(all >> 32);
        } else if constexpr (bits >= 32) {
#pragma unroll
            for (int v = 0; v < V; ++v) encode_wide<T>(&y.words[v * bits / 32], x[v]);
        } else {
#pragma unroll
            for (int v = 0; v < V; v += 2) {
                y.words[v * bits / 32] |= encode_pair<T>(x[v], v + 1 < V ? x[v + 1] : X(0)) << (v * bits % 32);
            }
        }
        return y;
    }

   private:
    __device__ __forceinline__ auto value(int v) const {
        return decode<T>(words[v * bits / 32] >> (v * bits % 32), bits == 64 ? words[2 * v + 1] : 0);
    }
};

// Consecutive elements in accesses of `access` elements each; p is aligned to one access.
template <int access, class T, int V>
__device__ __forceinline__ void load_vector(Vector<T, V>& x, const T* p) {
    static_assert(V % access == 0 && access * sizeof(T) >= 4, "accesses fill whole words");
#pragma unroll
    for (int v = 0; v < V; v += access) ptx::ld_global<access * sizeof(T)>(&x.words[v * x.bits / 32], p + v);
}

template <int access, class T, int V>
__device__ __forceinline__ void store_vector(T* p, const Vector<T, V>& x) {
    static_assert(V % access == 0 && access * sizeof(T) >= 4, "accesses fill whole words");
#pragma unroll
    for (int v = 0; v < V; v += access) ptx::st_global<access * sizeof(T)>(p + v, &x.words[v * x.bits / 32]);
}

// The first `count` elements, `stride` apart; the others are zero.
template <class T, int V>
__device__ __forceinline__ void load_elements(Vector<T, V>& x, const T* p, long long stride, unsigned count) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if (v < static_cast<int>(count)) {
            unsigned element[2];
            ptx::ld_global<sizeof(T)>(element, p + v * stride);
            x.insert(v, element);
        }
    }
}

template <class T, int V>
__device__ __forceinline__ void store_elements(T* p, long long stride, unsigned count, const Vector<T, V>& x) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if (v < static_cast<int>(count)) {
            unsigned element[2];
            x.extract(v, element);
            ptx::st_global<sizeof(T)>(p + v * stride, element);
        }
    }
}
