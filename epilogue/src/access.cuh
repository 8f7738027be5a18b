// How epilogue text reads tensors: user coordinates in, raw vectors out.
//
// A vector runs along n, or m (`cfg::vectors_along_m`): along the direction in which D is contiguous, or, in fragments, along the
// kernel's columns. Only this file and the visitors know which; the tree's text does not.

struct Coordinates {
    unsigned m, n;   // of element 0, in the user's frame
    unsigned batch;  // batch or group
    unsigned count;  // how many of the vector's elements exist; 0 for lanes outside the problem
};

__device__ __forceinline__ long long stride_along(const TensorArg& t) { return cfg::vectors_along_m ? t.stride_m : t.stride_n; }

// Where a vector's element 0 lies, in elements from the tensor's base. Of a contiguous tensor the stride along the vector is
// known to be 1.
template <bool contiguous>
__device__ __forceinline__ long long offset_of(const TensorArg& t, const Coordinates& c) {
    const long long across = cfg::vectors_along_m ? c.n * t.stride_n : c.m * t.stride_m;
    const long long along = cfg::vectors_along_m ? c.m : c.n;
    return c.batch * t.stride_batch + across + (contiguous ? along : along * stride_along(t));
}

// T: element in memory. A: elements per access that the declared alignment permits along the vector; 1 where the tensor is
// not contiguous along it.
template <class T, int V>
using TileLoad = Vector<T, V>;

template <class T, int A, int V>
__device__ __forceinline__ TileLoad<T, V> load_tile(const TensorArg& t, const Coordinates& c) {
    constexpr int access = A < V ? A : V;
    TileLoad<T, V> x = {};
    const T* p = static_cast<const T*>(t.pointer) + offset_of<(access > 1)>(t, c);
    if constexpr (access > 1 && access * sizeof(T) >= 4) {
        if (c.count == V) {
            load_vector<access>(x, p);
        } else {
            load_elements(x, p, 1, c.count);
        }
    } else {
        load_elements(x, p, stride_along(t), c.count);
    }
    return x;
}

// Elements of 4 or 6 bits, in a matrix that is contiguous along the vector and whose lines begin at whole bytes, as four of them do.
// Every lane calls, and where a vector has fewer, neighbouring lanes have neighbours.
template <int A, class T, int V>
__device__ __forceinline__ void store_packed(const TensorArg& t, const Coordinates& c, const Vector<T, V>& x) {
    constexpr int bits = bits_of<T>, lanes = V < 4 ? 4 / V : 1;
    unsigned char* p = static_cast<unsigned char*>(const_cast<void*>(t.pointer)) + offset_of<true>(t, c) * bits / 8;
    unsigned long long all = x.words[0];
    if constexpr (V * bits > 32) all |= static_cast<unsigned long long>(x.words[1]) << 32;
    unsigned count = c.count;
    if constexpr (lanes > 1) {
        const unsigned lane = threadIdx.x % lanes;
        unsigned word = x.words[0] << lane * (V * bits);
#pragma unroll
        for (unsigned other = 1; other < lanes; other *= 2) {
            word |= __shfl_xor_sync(~0u, word, other);
            count += __shfl_xor_sync(~0u, count, other);
        }
        if (lane != 0) return;
        all = word;
    }
    if constexpr (V * bits == 32 && A >= V) {
        if (count == V) {
            ptx::st_global<4>(p, x.words);
            return;
        }
    }
#pragma unroll
    for (int byte = 0; byte < lanes * V * bits / 8; ++byte) {
        const int there = static_cast<int>(count) * bits - 8 * byte;
        unsigned value = static_cast<unsigned>(all >> 8 * byte) & 0xff;
        // What is behind the last element stays.
        if (there > 0 && there < 8) value = value & ((1u << there) - 1) | p[byte] & 0xff << there;
        if (there > 0) ptx::st_global<1>(p + byte, &value);
    }
}

// The counterpart for D and auxiliary outputs.
template <class T, int A, int V>
__device__ __forceinline__ void store_tile(const TensorArg& t, const Coordinates& c, const Vector<T, V>& x) {
    constexpr int access = A < V ? A : V;
    T* p = static_cast<T*>(const_cast<void*>(t.pointer)) + offset_of<(access > 1)>(t, c);
    if constexpr (bits_of<T> < 8) {
        store_packed<A>(t, c, x);
    } else if constexpr (access > 1 && access * sizeof(T) >= 4) {
        if (c.count == V) {
            store_vector<access>(p, x);
        } else {
            store_elements(p, 1, c.count, x);
        }
    } else {
        store_elements(p, stride_along(t), c.count, x);
    }
}

// One value for the whole vector.
template <class T>
struct Uniform {
    Vector<T, 1> value;
    __device__ __forceinline__ Compute operator[](int) const { return value[0]; }
    __device__ __forceinline__ long long exact(int) const { return value.exact(0); }
};

template <class T, int V, bool along>
struct BroadcastLoad {
    using Type = Vector<T, V>;
};
template <class T, int V>
struct BroadcastLoad<T, V, false> {
    using Type = Uniform<T>;
};

template <class T, int V>
using RowLoad = typename BroadcastLoad<T, V, !cfg::vectors_along_m>::Type;
template <class T, int V>
using ColumnLoad = typename BroadcastLoad<T, V, cfg::vectors_along_m>::Type;

template <class T, int A, int V, bool along>
__device__ __forceinline__ auto load_broadcast(const VectorArg& a, unsigned index, const Coordinates& c) {
    typename BroadcastLoad<T, V, along>::Type x = {};
    const T* p = static_cast<const T*>(a.pointer) + c.batch * a.stride_batch + index * a.stride;
    if constexpr (along) {
        // Nobody declares how vectors are aligned; the address tells, alike in all lanes.
        constexpr int bytes = V * sizeof(T) < 16 ? V * sizeof(T) : 16;
        constexpr int access = bytes / sizeof(T);
        if constexpr (access > 1 && bytes >= 4) {
            const bool aligned = reinterpret_cast<unsigned long long>(p) % bytes == 0 && a.stride == 1;
            if (c.count == V && (A >= access || aligned)) {
                load_vector<access>(x, p);
                return x;
            }
        }
        load_elements(x, p, a.stride, c.count);
    } else if (c.count > 0) {
        ptx::ld_global<sizeof(T)>(x.value.words, p);
    }
    return x;
}

// v[n] for every element.
template <class T, int A, int V>
__device__ __forceinline__ RowLoad<T, V> load_row(const VectorArg& a, const Coordinates& c) {
    return load_broadcast<T, A, V, !cfg::vectors_along_m>(a, c.n, c);
}

// v[m] for every element.
template <class T, int A, int V>
__device__ __forceinline__ ColumnLoad<T, V> load_column(const VectorArg& a, const Coordinates& c) {
    return load_broadcast<T, A, V, cfg::vectors_along_m>(a, c.m, c);
}

// A scalar leaf: a value in the parameter block, or device memory, per batch if stride_batch is not zero.
__device__ __forceinline__ Compute scalar(const ScalarArg& a, unsigned batch) {
    return a.pointer ? a.pointer[batch * a.stride_batch] : a.value;
}
