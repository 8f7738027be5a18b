// How the fragments of a subtile read vectors: each value comes from memory once a warp, a subtile ahead of its use.

// A vector that runs along the subtile's columns: lane l keeps columns 2 l and 2 l + 1 of every 64, and hands them to the lanes
// whose fragments have them.
template <class T, bool along>
struct VectorAhead {
    static constexpr unsigned spans = (cfg::slab_columns + 63) / 64;
    Vector<T, 2> held[spans];

    // The subtile begins at `column` of the kernel's `columns`.
    __device__ __forceinline__ void fetch(const VectorArg& a, const unsigned (&)[2], const Coordinates (&c)[2], unsigned column,
                                          unsigned columns) {
#pragma unroll
        for (unsigned s = 0; s < spans; ++s) {
            const unsigned index = column + s * 64 + threadIdx.x % 32 * 2;
            const unsigned left = index < columns ? columns - index : 0;
            const T* p = static_cast<const T*>(a.pointer) + c[0].batch * a.stride_batch + index * a.stride;
            // Nobody declares how vectors are aligned; the address tells, alike in all lanes.
            const bool aligned = reinterpret_cast<unsigned long long>(p) % (2 * sizeof(T)) == 0 && a.stride == 1;
            held[s] = {};
            if (aligned && left >= 2) {
                ptx::ld_global<2 * sizeof(T)>(held[s].words, p);
            } else {
                load_elements(held[s], p, a.stride, left);
            }
        }
    }

    // For pair i, which is in fragment i / 2.
    template <unsigned pairs, class Field>
    __device__ __forceinline__ void spread(Field field) const {
        const unsigned column = idx::accumulator_column(threadIdx.x % 32, 0);
#pragma unroll
        for (unsigned i = 0; i < pairs; i += 2) {
            const Vector<T, 2>& from = held[i / 16];
#pragma unroll
            for (unsigned word = 0; word < sizeof(from.words) / 4; ++word) {
                field(i).words[word] = __shfl_sync(~0u, from.words[word], (column + i % 16 * 4) / 2);
            }
            field(i + 1) = field(i);
        }
    }
};

// One that runs across them has one value for each of a fragment's two rows.
template <class T>
struct VectorAhead<T, false> {
    Vector<T, 1> held[2];

    __device__ __forceinline__ void fetch(const VectorArg& a, const unsigned (&index)[2], const Coordinates (&c)[2], unsigned,
                                          unsigned) {
        const T* p = static_cast<const T*>(a.pointer) + c[0].batch * a.stride_batch;
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            held[i] = {};
            if (c[i].count > 0) ptx::ld_global<sizeof(T)>(held[i].words, p + index[i] * a.stride);
        }
    }

    template <unsigned pairs, class Field>
    __device__ __forceinline__ void spread(Field field) const {
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i) field(i).value = held[i % 2];
    }
};

// v[n], and v[m].
template <class T>
struct RowAhead : VectorAhead<T, !cfg::transposed> {
    __device__ __forceinline__ void fetch(const VectorArg& a, const Coordinates (&c)[2], unsigned column, unsigned columns) {
        VectorAhead<T, !cfg::transposed>::fetch(a, {c[0].n, c[1].n}, c, column, columns);
    }
};
template <class T>
struct ColumnAhead : VectorAhead<T, cfg::transposed> {
    __device__ __forceinline__ void fetch(const VectorArg& a, const Coordinates (&c)[2], unsigned column, unsigned columns) {
        VectorAhead<T, cfg::transposed>::fetch(a, {c[0].m, c[1].m}, c, column, columns);
    }
};
