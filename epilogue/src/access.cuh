// How epilogue text reads tensors: user coordinates in, raw vectors out.
//
// A vector runs along the direction in which D is contiguous: n, or m in a transposed plan. Only this file and visitor.cuh
// know which; the tree's text does not.

using Accumulator = float;
using Compute = float;

struct Coordinates {
    unsigned m, n;   // of element 0, in the user's frame
    unsigned batch;  // batch or group
    unsigned count;  // how many of the vector's elements exist; 0 for lanes outside the problem
};

// T: element in memory. A: elements per access that the declared alignment permits along the vector; 1 where the tensor is
// not contiguous along it.
template <class T, int V>
using TileLoad = Vector<T, V>;

template <class T, int A, int V>
__device__ __forceinline__ TileLoad<T, V> load_tile(const TensorArg& t, const Coordinates& c) {
    constexpr int access = A < V ? A : V;
    TileLoad<T, V> x = {};
    const T* p = static_cast<const T*>(t.pointer) + c.batch * t.stride_batch + c.m * t.stride_m + c.n * t.stride_n;
    if constexpr (access * sizeof(T) >= 4 && access > 1) {
        if (c.count == V) {
            load_vector<access>(x, p);
            return x;
        }
    }
    load_elements(x, p, cfg::transposed ? t.stride_m : t.stride_n, c.count);
    return x;
}

// One value for the whole vector.
template <class T>
struct Uniform {
    Vector<T, 1> value;
    __device__ __forceinline__ float operator[](int) const { return value[0]; }
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
using RowLoad = typename BroadcastLoad<T, V, !cfg::transposed>::Type;
template <class T, int V>
using ColumnLoad = typename BroadcastLoad<T, V, cfg::transposed>::Type;

template <class T, int A, int V, bool along>
__device__ __forceinline__ auto load_broadcast(const VectorArg& a, unsigned index, const Coordinates& c) {
    typename BroadcastLoad<T, V, along>::Type x = {};
    const T* p = static_cast<const T*>(a.pointer) + c.batch * a.stride_batch + index * a.stride;
    if constexpr (along) {
        constexpr int access = A < V ? A : V;
        if constexpr (access * sizeof(T) >= 4 && access > 1) {
            if (c.count == V) {
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
    return load_broadcast<T, A, V, !cfg::transposed>(a, c.n, c);
}

// v[m] for every element.
template <class T, int A, int V>
__device__ __forceinline__ ColumnLoad<T, V> load_column(const VectorArg& a, const Coordinates& c) {
    return load_broadcast<T, A, V, cfg::transposed>(a, c.m, c);
}

// A scalar leaf: a value in the parameter block, or device memory, per batch if stride_batch is not zero.
__device__ __forceinline__ float scalar(const ScalarArg& a, unsigned batch) {
    return a.pointer ? a.pointer[batch * a.stride_batch] : a.value;
}
