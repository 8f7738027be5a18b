// Stores of a D whose lines begin at any element: a lane stores the aligned vector that begins in its own, whose end the next lane has.
// What is left at the ends of a line's part, and of D, is stored by elements.
struct RealignedStore {
    template <class T, int V>
    static __device__ __forceinline__ void store(const TensorArg& d, const Coordinates& c, const Vector<T, V>& x, unsigned place) {
        constexpr unsigned bytes = V * sizeof(T), words = bytes / 4;
        constexpr unsigned vectors = (cfg::vectors_along_rows ? cfg::slab_rows : cfg::slab_columns) / V;
        const unsigned lane = threadIdx.x % 32;
        const bool first = place == 0 || lane == 0, last = place + 1 == vectors || lane == 31;
        T* const to = static_cast<T*>(const_cast<void*>(d.pointer)) + offset_of<true>(d, c);
        // Of the vector's bytes, those before an aligned address. Lanes with elements of one line agree.
        const unsigned skipped = (bytes - static_cast<unsigned>(reinterpret_cast<unsigned long long>(to)) % bytes) % bytes;
        const unsigned head = skipped / sizeof(T);

        // Other lanes may have read what D held here.
        __syncwarp();
        unsigned pair[2 * words], shifted[words];
#pragma unroll
        for (unsigned i = 0; i < words; ++i) {
            pair[i] = x.words[i];
            pair[words + i] = __shfl_sync(~0u, x.words[i], lane + 1);
        }
        words_from(shifted, pair, skipped);
        const unsigned following = __shfl_sync(~0u, c.count, lane + 1);
        const bool whole = c.count == V && (head == 0 || !last && following >= head);
        if (whole) ptx::st_global<bytes>(to + head, shifted);

        const unsigned begin = first || c.count < head ? 0 : head, end = whole ? head : c.count;
#pragma unroll
        for (unsigned v = 0; v < V; ++v) {
            unsigned element[2];
            x.extract(v, element);
            if (v >= begin && v < end) ptx::st_global<sizeof(T)>(to + v, element);
        }
    }
};
