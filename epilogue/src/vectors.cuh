// How the fragments of a subtile read vectors: each value once a thread, not once for each pair of elements.
//
// Pair i of a subtile is in fragment i / 2, 8 elements of D's contiguous direction on from the one before, and in row i % 2 of
// the fragment's two. `field(i)` is where pair i's values belong.

// A vector that runs along the pairs: `index` is that of pair 0's first element, from which on `left` elements are there.
template <class T, unsigned pairs, class Field>
__device__ __forceinline__ void load_along(const VectorArg& a, unsigned index, unsigned batch, unsigned left, Field field) {
    const T* p = static_cast<const T*>(a.pointer) + batch * a.stride_batch + index * a.stride;
    // Nobody declares how vectors are aligned; the address tells, alike in all lanes.
    const bool aligned = reinterpret_cast<unsigned long long>(p) % (2 * sizeof(T)) == 0 && a.stride == 1;
    if (aligned && left > 4 * pairs - 8) {
#pragma unroll
        for (unsigned i = 0; i + 2 < pairs; i += 2) ptx::ld_global<2 * sizeof(T)>(field(i).words, p + 4 * i);
        load_elements(field(pairs - 2), p + (4 * pairs - 8), 1, min(left - (4 * pairs - 8), 2u));
    } else {
#pragma unroll
        for (unsigned i = 0; i < pairs; i += 2) {
            const unsigned there = left > 4 * i ? min(left - 4 * i, 2u) : 0;
            load_elements(field(i), p + 4 * i * a.stride, a.stride, there);
        }
    }
#pragma unroll
    for (unsigned i = 0; i < pairs; i += 2) field(i + 1) = field(i);
}

// A vector that runs across them: one value for each of the two rows.
template <class T, unsigned pairs, class Field>
__device__ __forceinline__ void load_across(const VectorArg& a, const unsigned (&index)[2], const Coordinates (&c)[2],
                                            Field field) {
    const T* p = static_cast<const T*>(a.pointer) + c[0].batch * a.stride_batch;
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
        if (c[i].count > 0) ptx::ld_global<sizeof(T)>(field(i).value.words, p + index[i] * a.stride);
    }
#pragma unroll
    for (unsigned i = 2; i < pairs; ++i) field(i) = field(i % 2);
}

template <class T, unsigned pairs, class Field>
__device__ __forceinline__ void load_rows(const VectorArg& a, const Coordinates (&c)[2], unsigned left, Field field) {
    if constexpr (cfg::transposed) {
        const unsigned index[2] = {c[0].n, c[1].n};
        load_across<T, pairs>(a, index, c, field);
    } else {
        load_along<T, pairs>(a, c[0].n, c[0].batch, left, field);
    }
}

template <class T, unsigned pairs, class Field>
__device__ __forceinline__ void load_columns(const VectorArg& a, const Coordinates (&c)[2], unsigned left, Field field) {
    if constexpr (cfg::transposed) {
        load_along<T, pairs>(a, c[0].m, c[0].batch, left, field);
    } else {
        const unsigned index[2] = {c[0].m, c[1].m};
        load_across<T, pairs>(a, index, c, field);
    }
}
