// Matrices of bits: 8 elements to a byte, the lowest bit first. Their strides are in bits.

template <int V>
struct MaskLoad {
    unsigned bits;  // element v: bit v
    __device__ __forceinline__ unsigned operator[](int v) const { return bits >> v & 1; }
};

template <int V>
__device__ __forceinline__ MaskLoad<V> load_mask(const TensorArg& t, const Coordinates& c) {
    const unsigned char* bytes = static_cast<const unsigned char*>(t.pointer);
    const long long first = c.batch * t.stride_batch + c.m * t.stride_m + c.n * t.stride_n;
    const long long stride = stride_along(t);
    MaskLoad<V> x = {0};
    if (stride == 1 && first % V == 0) {
        // The bits of a vector of up to 8 are in one byte.
#pragma unroll
        for (int v = 0; v < V; v += 8) {
            if (v < c.count) x.bits |= static_cast<unsigned>(bytes[(first + v) / 8]) << v;
        }
        if constexpr (V < 8) x.bits >>= first % 8;
    } else {
#pragma unroll
        for (int v = 0; v < V; ++v) {
            const long long bit = first + v * stride;
            if (v < c.count) x.bits |= (bytes[bit / 8] >> bit % 8 & 1u) << v;
        }
    }
    return x;
}
