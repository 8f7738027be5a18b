// Element types of device memory and their conversions: round to nearest even, overflow to infinity, NaN stays NaN.

struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};
using f32 = float;

// `bits` holds an element in its low bits; what lies above is ignored.
template <class T>
__device__ __forceinline__ float decode(unsigned bits);

template <>
__device__ __forceinline__ float decode<f16>(unsigned bits) {
    return ptx::cvt_f32_f16(static_cast<unsigned short>(bits));
}
template <>
__device__ __forceinline__ float decode<bf16>(unsigned bits) {
    return __uint_as_float(bits << 16);
}
template <>
__device__ __forceinline__ float decode<f32>(unsigned bits) {
    return __uint_as_float(bits);
}

template <class T>
__device__ __forceinline__ unsigned encode_pair(float low, float high);

template <>
__device__ __forceinline__ unsigned encode_pair<f16>(float low, float high) {
    return ptx::cvt_rn_f16x2(high, low);
}
template <>
__device__ __forceinline__ unsigned encode_pair<bf16>(float low, float high) {
    return ptx::cvt_rn_bf16x2(high, low);
}

// V elements in their memory form. Reading converts, so a load does not wait for its data until the values are used.
template <class T, int V>
struct Vector {
    static constexpr int size = V;
    static constexpr int per_word = 4 / sizeof(T);
    static constexpr int bits = 8 * sizeof(T);
    unsigned words[(V + per_word - 1) / per_word];

    __device__ __forceinline__ float operator[](int v) const {
        return decode<T>(words[v / per_word] >> (v % per_word * bits));
    }

    // Replaces nothing: element v must still be zero.
    __device__ __forceinline__ void insert(int v, unsigned element) {
        words[v / per_word] |= element << (v % per_word * bits);
    }

    __device__ __forceinline__ unsigned extract(int v) const { return words[v / per_word] >> (v % per_word * bits); }

    static __device__ __forceinline__ Vector encode(const float (&x)[V]) {
        Vector y;
        if constexpr (per_word == 1) {
#pragma unroll
            for (int v = 0; v < V; ++v) y.words[v] = __float_as_uint(x[v]);
        } else {
#pragma unroll
            for (int v = 0; v < V; v += 2) y.words[v / 2] = encode_pair<T>(x[v], v + 1 < V ? x[v + 1] : 0.0f);
        }
        return y;
    }
};

// Consecutive elements in accesses of `access` elements each; p is aligned to one access.
template <int access, class T, int V>
__device__ __forceinline__ void load_vector(Vector<T, V>& x, const T* p) {
    static_assert(V % access == 0 && access * sizeof(T) >= 4, "accesses fill whole words");
#pragma unroll
    for (int v = 0; v < V; v += access) ptx::ld_global<access * sizeof(T)>(&x.words[v / x.per_word], p + v);
}

template <int access, class T, int V>
__device__ __forceinline__ void store_vector(T* p, const Vector<T, V>& x) {
    static_assert(V % access == 0 && access * sizeof(T) >= 4, "accesses fill whole words");
#pragma unroll
    for (int v = 0; v < V; v += access) ptx::st_global<access * sizeof(T)>(p + v, &x.words[v / x.per_word]);
}

// The first `count` elements, `stride` apart; the others are zero.
template <class T, int V>
__device__ __forceinline__ void load_elements(Vector<T, V>& x, const T* p, long long stride, unsigned count) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if (v < static_cast<int>(count)) {
            unsigned element;
            ptx::ld_global<sizeof(T)>(&element, p + v * stride);
            x.insert(v, element);
        }
    }
}

template <class T, int V>
__device__ __forceinline__ void store_elements(T* p, long long stride, unsigned count, const Vector<T, V>& x) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if (v < static_cast<int>(count)) {
            const unsigned element = x.extract(v);
            ptx::st_global<sizeof(T)>(p + v * stride, &element);
        }
    }
}
