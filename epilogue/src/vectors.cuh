// How the fragments of a tile read vectors: each value comes from memory once a warp, before the tile's products, so that no store of
// a subtile waits for it.

// Of values: chosen by its place, one of them would have to be in memory.
__device__ __forceinline__ void replace(unsigned& x, unsigned y, bool wanted) { x = wanted ? y : +x; }

// A vector that runs along the tile's columns: of every group of them, lane l keeps columns 2 l and 2 l + 1 of every 64, and hands
// them to the lanes whose fragments have them. A subtile's columns are in one group.
template <class T, bool along>
struct VectorAhead {
    static constexpr unsigned group = 64 % cfg::slab_columns == 0 ? 64 : cfg::slab_columns;
    static constexpr unsigned groups = (cfg::output_n + group - 1) / group, spans = (group + 63) / 64;
    Vector<T, 2> held[groups][spans];

    // The tile begins at `column` of the kernel's `columns`.
    template <unsigned rows>
    __device__ __forceinline__ void fetch(const VectorArg& a, const unsigned (&)[rows], const Coordinates (&c)[rows], unsigned column,
                                          unsigned columns) {
        const T* const p = static_cast<const T*>(a.pointer) + c[0].batch * a.stride_batch;
        // Nobody declares how vectors are aligned; the address tells, alike in all lanes.
        const bool aligned = reinterpret_cast<unsigned long long>(p) % (2 * sizeof(T)) == 0 && a.stride == 1;
#pragma unroll
        for (unsigned i = 0; i < groups * spans; ++i) {
            const unsigned index = column + i / spans * group + i % spans * 64 + threadIdx.x % 32 * 2;
            const unsigned left = index < columns ? columns - index : 0;
            Vector<T, 2>& to = held[i / spans][i % spans];
            to = {};
            if (aligned && left >= 2) {
                ptx::ld_global<2 * sizeof(T)>(to.words, p + index);
            } else {
                load_elements(to, p + index * a.stride, a.stride, left);
            }
        }
    }

    // For pair i, which is in fragment i / 2.
    template <unsigned pairs, class Field>
    __device__ __forceinline__ void spread(unsigned, unsigned first, Field field) const {
        Vector<T, 2> from[spans];
#pragma unroll
        for (unsigned s = 0; s < spans; ++s) {
            from[s] = held[0][s];
#pragma unroll
            for (unsigned g = 1; g < groups; ++g) {
#pragma unroll
                for (unsigned word = 0; word < sizeof(from[s].words) / 4; ++word) {
                    replace(from[s].words[word], held[g][s].words[word], first / group == g);
                }
            }
        }
        const unsigned column = idx::accumulator_column(threadIdx.x % 32, 0) + first % group;
#pragma unroll
        for (unsigned i = 0; i < pairs; i += 2) {
#pragma unroll
            for (unsigned word = 0; word < sizeof(from[0].words) / 4; ++word) {
                field(i).words[word] = __shfl_sync(~0u, from[i / 16].words[word], (column + i % 16 * 4) / 2);
            }
            field(i + 1) = field(i);
        }
    }
};

// One that runs across them has one value for each of a fragment's two rows.
template <class T>
struct VectorAhead<T, false> {
    static constexpr unsigned parts = cfg::warp_group_m / 64;
    Vector<T, 1> held[2 * parts];

    __device__ __forceinline__ void fetch(const VectorArg& a, const unsigned (&index)[2 * parts], const Coordinates (&c)[2 * parts],
                                          unsigned, unsigned) {
        const T* p = static_cast<const T*>(a.pointer) + c[0].batch * a.stride_batch;
#pragma unroll
        for (unsigned i = 0; i < 2 * parts; ++i) {
            held[i] = {};
            if (c[i].count > 0) ptx::ld_global<sizeof(T)>(held[i].words, p + index[i] * a.stride);
        }
    }

    template <unsigned pairs, class Field>
    __device__ __forceinline__ void spread(unsigned part, unsigned, Field field) const {
        Vector<T, 1> rows[2] = {held[0], held[1]};
#pragma unroll
        for (unsigned i = 2; i < 2 * parts; ++i) {
#pragma unroll
            for (unsigned word = 0; word < sizeof(rows[0].words) / 4; ++word) {
                replace(rows[i % 2].words[word], held[i].words[word], i / 2 == part);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i) field(i).value = rows[i % 2];
    }
};

// v[n], and v[m].
template <class T>
struct RowAhead : VectorAhead<T, !cfg::transposed> {
    template <unsigned rows>
    __device__ __forceinline__ void fetch(const VectorArg& a, const Coordinates (&c)[rows], unsigned column, unsigned columns) {
        unsigned index[rows];
#pragma unroll
        for (unsigned i = 0; i < rows; ++i) index[i] = c[i].n;
        VectorAhead<T, !cfg::transposed>::fetch(a, index, c, column, columns);
    }
};
template <class T>
struct ColumnAhead : VectorAhead<T, cfg::transposed> {
    template <unsigned rows>
    __device__ __forceinline__ void fetch(const VectorArg& a, const Coordinates (&c)[rows], unsigned column, unsigned columns) {
        unsigned index[rows];
#pragma unroll
        for (unsigned i = 0; i < rows; ++i) index[i] = c[i].m;
        VectorAhead<T, cfg::transposed>::fetch(a, index, c, column, columns);
    }
};
