// Stores of a D whose lines begin at any element: a lane stores the aligned vector that begins in its own, whose end the next lane has.
// Of a line's part that a warp has at once, the last lane's end is the first one's: that vector is stored in two pieces. What is left
// at the end of D is stored by elements.
struct RealignedStore {
    template <class T, int V>
    static __device__ __forceinline__ void store(const TensorArg& d, const Coordinates& c, const Vector<T, V>& x, unsigned place) {
        constexpr unsigned bytes = V * sizeof(T), words = bytes / 4;
        constexpr unsigned vectors = (cfg::vectors_along_rows ? cfg::slab_rows : cfg::slab_columns) / V;
        const unsigned lane = threadIdx.x % 32;
        // From the first lane of the line's part, and to its last.
        const unsigned behind = min(place, lane), ahead = min(vectors - 1 - place, 31 - lane);
        const unsigned next = ahead == 0 ? lane - behind : lane + 1;
        T* const to = static_cast<T*>(const_cast<void*>(d.pointer)) + offset_of<true>(d, c);
        // Of the vector's bytes, those before an aligned address. Lanes with elements of one line agree.
        const unsigned skipped = (bytes - static_cast<unsigned>(reinterpret_cast<unsigned long long>(to)) % bytes) % bytes;
        const unsigned head = skipped / sizeof(T);

        // Other lanes may have read what D held here.
        __syncwarp();
        const unsigned following = __shfl_sync(~0u, c.count, next);
        const unsigned preceding = __shfl_sync(~0u, c.count, behind == 0 ? lane + ahead : lane - 1);
        const bool whole = c.count == V && following >= head;
        const unsigned begin = preceding == V && c.count >= head ? head : 0, end = whole ? head : c.count;
        if (begin < end) {
#pragma unroll
            for (unsigned v = 0; v < V; ++v) {
                unsigned element[2];
                x.extract(v, element);
                if (v >= begin && v < end) ptx::st_global<sizeof(T)>(to + v, element);
            }
        }

        unsigned y[words];
        turned<T>(y, x.words, skipped);
        take_end<T>(y, bytes - skipped, next);
        if (!whole) return;
        if (ahead > 0 || head == 0) {
            ptx::st_global<bytes>(to + head, y);
        } else {
            store_apart<bytes, T>(reinterpret_cast<unsigned char*>(to + head), (behind + 1) * bytes, bytes - skipped, y);
        }
    }

   private:
    // The words with byte `first` before all others, and those before it behind.
    template <class T, unsigned words>
    static __device__ __forceinline__ void turned(unsigned (&y)[words], const unsigned (&x)[words], unsigned first) {
#pragma unroll
        for (unsigned i = 0; i < words; ++i) y[i] = x[i];
#pragma unroll
        for (unsigned skip = words / 2; skip > 0; skip /= 2) {
            unsigned before[words];
#pragma unroll
            for (unsigned i = 0; i < words; ++i) before[i] = y[i];
#pragma unroll
            for (unsigned i = 0; i < words; ++i) y[i] = first & 4 * skip ? before[(i + skip) % words] : before[i];
        }
        if constexpr (sizeof(T) < 4) {
            const unsigned word = y[0];
#pragma unroll
            for (unsigned i = 0; i < words; ++i) y[i] = ptx::funnel_right(y[i], i + 1 < words ? y[i + 1] : word, first % 4 * 8);
        }
    }

    // From byte `own` on, what lane `next` has there.
    template <class T, unsigned words>
    static __device__ __forceinline__ void take_end(unsigned (&y)[words], unsigned own, unsigned next) {
        const unsigned low = (1u << own % 4 * 8) - 1;
#pragma unroll
        for (unsigned i = 0; i < words; ++i) {
            const unsigned other = __shfl_sync(~0u, y[i], next);
            const unsigned end = sizeof(T) < 4 && 4 * i < own ? y[i] & low | other & ~low : other;
            y[i] = 4 * i + 4 <= own ? y[i] : end;
        }
    }

    // Of `size` bytes, the first `near` to where `to` says, and the others `back` bytes before there.
    template <unsigned size, class T>
    static __device__ __forceinline__ void store_apart(unsigned char* to, unsigned back, unsigned near, unsigned* x) {
        if constexpr (size == sizeof(T)) {
            ptx::st_global<size>(to - back, x);
        } else {
            constexpr unsigned half = size / 2, words = half < 4 ? 1 : half / 4;
            const bool nearer = near >= half;
            unsigned piece[words];
#pragma unroll
            for (unsigned i = 0; i < words; ++i) {
                const unsigned low = x[i], high = half < 4 ? low >> 8 * half % 32 : x[half < 4 ? i : i + words];
                piece[i] = nearer ? low : high;
                x[i] = nearer ? high : low;
            }
            ptx::st_global<half>(to - (nearer ? 0 : static_cast<int>(back - half)), piece);
            const unsigned passed = nearer ? half : 0;
            store_apart<half, T>(to + passed, back, near - passed, x);
        }
    }
};
