// GEMV mainloop: the rows of a matrix, operand A, times the few columns of operand B, the vectors. A thread multiplies what it
// reads of the matrix in registers. Its sums are of its own part of K: those of a warp are added by shuffles, those of the warps
// through shared memory, in an order that is the same each time.
//
// How the block's threads share a step is generated (`Dot`):
//   threads                       that multiply, the first of the block
//   ElementA, ElementB            of the matrix and of the vectors
//   along_k, vectors_along_k      whether K is contiguous in memory
//   width, vector_width           elements per access
//   whole                         no access to the matrix straddles its end
//   lines, parts                  a thread reads `lines` lines of neighbours, each in `parts` accesses
//   row(thread), k(thread)        coordinates of its first element; lines are neighbours
//   step(part)                    from there to another access of the line, along the contiguous mode
//   sums, sum_row(sum)            rows of which a thread has sums, and how far they are from row(thread)
//   first_lane, lanes             parts of the same sums are in lanes that differ in the bits from `first_lane` on
//   warps, warp(warp)             how many warps have parts of the same sums, and which of them a warp is
//   sums_offset                   where the warps' sums are in shared memory

// Sums of the tile, each in a thread of its own: sum i of thread t is number t + i × holders, down the rows before the columns.
template <class Threads>
struct DotAccumulators {
    using Value = Accumulator;
    static constexpr unsigned sums = cfg::tile_m * cfg::tile_n;
    static constexpr unsigned threads = sums < Dot::threads ? sums : Dot::threads;
    static constexpr unsigned vectors = sums / threads;
    struct Team {
        static constexpr unsigned threads = DotAccumulators::threads;
        static __device__ __forceinline__ void synchronize() { Threads::synchronize(); }
        static __device__ __forceinline__ bool any(bool condition) { return Threads::any(condition); }
    };
    static_assert(vectors * threads == sums, "all threads that have any have as many");

    Accumulator value[vectors][1];

    static __device__ __forceinline__ bool holds() { return threads == Dot::threads || threadIdx.x < threads; }
    static __device__ __forceinline__ unsigned number(unsigned i) { return threadIdx.x + i * threads; }
    static __device__ __forceinline__ unsigned row(unsigned i) { return number(i) % cfg::tile_m; }
    static __device__ __forceinline__ unsigned column(unsigned i) { return number(i) / cfg::tile_m; }

    template <class F>
    __device__ __forceinline__ void for_each_vector(const F& f) {
        if (!holds()) return;
#pragma unroll
        for (unsigned i = 0; i < vectors; ++i) f(i, value[i]);
    }

    // Registers cannot be indexed at run time, so the sum is found by comparison.
    __device__ __forceinline__ Accumulator at(unsigned i) const {
        Accumulator x = value[0][0];
#pragma unroll
        for (unsigned v = 1; v < vectors; ++v) x = v == i ? value[v][0] : x;
        return x;
    }
};

__device__ __forceinline__ float multiply_add(float x, float y, float z) { return fma_rn(x, y, z); }
__device__ __forceinline__ double multiply_add(double x, double y, double z) { return fma_rn(x, y, z); }
__device__ __forceinline__ int multiply_add(int x, int y, int z) {
    return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(y) + static_cast<unsigned>(z));
}

// Elements as what multiplies.
template <class T, int V>
__device__ __forceinline__ void widen(Accumulator (&y)[V], const Vector<T, V>& x) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
        if constexpr (is_same<T, tf32>) {
            y[v] = __uint_as_float(round_to_tf32(x.words[v]) & ~0x1fffu);
        } else if constexpr (is_same<T, i8> || is_same<T, u8>) {
            y[v] = static_cast<int>(x.exact(v));
#if __CUDA_ARCH__ >= 890
        } else if constexpr (is_same<T, e4m3> || is_same<T, e5m2>) {
            const unsigned pair = widen_pair<T>(x.words[v / 4] >> (v % 4 / 2 * 16));
            y[v] = ptx::cvt_f32_f16(static_cast<unsigned short>(v % 2 == 0 ? pair : pair >> 16));
#endif
        } else {
            y[v] = x[v];
        }
    }
}

// What a thread reads of the matrix in a step.
using DotStep = Vector<Dot::ElementA, Dot::width>[Dot::lines][Dot::parts];

// What this thread has of a work.
struct DotWork {
    const Dot::ElementA* source;  // its first element
    unsigned first_k, end_k;      // of the work
    int rows_left, k_left;        // from its first element to the ends of the matrix and of the work
    unsigned steps, whole;        // steps, and of how many, the first, nothing lies outside

    __device__ __forceinline__ DotWork(const Params& params, const Work& work) {
        first_k = work.k_begin * cfg::tile_k;
        end_k = min(params.depth, first_k + work.k_count * cfg::tile_k);
        const unsigned row = work.tile_m * cfg::tile_m + Dot::row(threadIdx.x), k = first_k + Dot::k(threadIdx.x);
        const OperandArg& a = params.a;
        source = static_cast<const Dot::ElementA*>(a.pointer) + work.group * a.stride_batch +
                 (Dot::along_k ? row * a.leading + k : k * a.leading + row);
        rows_left = static_cast<int>(params.rows - row);
        k_left = static_cast<int>(end_k - k);
        steps = (end_k - first_k + cfg::tile_k - 1) / cfg::tile_k;
        whole = (work.tile_m + 1) * cfg::tile_m <= params.rows ? (end_k - first_k) / cfg::tile_k : 0;
    }
};

// Reads a step whose first element is as far from the ends; what lies outside is zero. read(x, line, part, valid) fetches one
// access, of whose elements as many exist.
template <bool checked, class Read>
__device__ __forceinline__ void read_step(DotStep& step, int rows_left, int k_left, const Read& read) {
#pragma unroll
    for (unsigned l = 0; l < Dot::lines; ++l) {
        const int across = (Dot::along_k ? rows_left : k_left) - static_cast<int>(l);
#pragma unroll
        for (unsigned p = 0; p < Dot::parts; ++p) {
            const int along = (Dot::along_k ? k_left : rows_left) - static_cast<int>(Dot::step(p));
            const bool all = !checked || (across > 0 && along >= static_cast<int>(Dot::width));
            read(step[l][p], l, p, all ? Dot::width : across > 0 ? max(0, along) : 0);
        }
    }
}

// The loader brings steps (gemv_register_loader.cuh, gemv_bulk_loader.cuh):
//   has_producer                a warp of its own loads: produce(scheduler, first, share)
//   each_step(work, f)          f(step, whole) for each step of a work, in order
//   Threads                     that multiply: synchronize(), any(condition)
template <class Loader>
struct Gemv : SingleRole {
    using Accumulators = DotAccumulators<typename Loader::Threads>;
    using Outputs = Accumulators;
    using ElementB = Dot::ElementB;
    static constexpr bool has_producer = Loader::has_producer;
    // What a thread reads of a vector: of each access to a line along K, or of all lines.
    static constexpr unsigned vector_parts = Dot::along_k ? Dot::parts : 1;
    using Factors = Vector<ElementB, (Dot::along_k ? Dot::width : Dot::lines)>;
    static constexpr unsigned sums = Dot::sums * cfg::tile_n;

    const Params& params;
    unsigned shared;
    Loader loader;

    // Of the work at hand.
    const ElementB* vector;      // what multiplies this thread's first element of the next step
    long long column_stride;     // from one vector to the next
    int columns_left, k_left;    // from the tile's first column, and from `vector`, to the end

    __device__ __forceinline__ Gemv(const Params& p, unsigned s) : params(p), shared(s), loader(p, s) {}

    // The next tile's sums may overwrite those that another warp still reads.
    static __device__ __forceinline__ void end_of_tile() { Loader::Threads::synchronize(); }

    // Whoever multiplies comes first.
    static __device__ __forceinline__ bool is_producer() { return threadIdx.x >= Dot::threads; }
    template <class Share>
    static __device__ __forceinline__ void head_start(const Work&, const Share&) {}
    // Until the ring's barriers are made.
    static __device__ __forceinline__ void meet() { __syncthreads(); }
    template <class Scheduler, class Share>
    __device__ __forceinline__ void produce(Scheduler& scheduler, const Work& first, const Share& share) {
        loader.produce(scheduler, first, share);
    }
    static __device__ __forceinline__ void begin() {}
    static __device__ __forceinline__ void end() {}

    __device__ __forceinline__ void run(const Work& work, Accumulators& accumulators) {
        Accumulator partial[sums] = {};
        if (work.k_count > 0) {
            multiply(work, partial);
            reduce(partial);
            Loader::Threads::synchronize();
        }
#pragma unroll
        for (unsigned i = 0; i < Accumulators::vectors; ++i) {
            accumulators.value[i][0] = work.k_count > 0 && Accumulators::holds() ? sum(Accumulators::number(i)) : 0;
        }
    }

   private:
    __device__ __forceinline__ void multiply(const Work& work, Accumulator (&partial)[sums]) {
        const DotWork mine(params, work);
        const unsigned column = work.tile_n * cfg::tile_n;
        const OperandArg& b = params.b;
        column_stride = Dot::vectors_along_k ? b.leading : 1;
        vector = static_cast<const ElementB*>(b.pointer) + work.group * b.stride_batch + column * column_stride +
                 (mine.first_k + Dot::k(threadIdx.x)) * vector_stride();
        columns_left = static_cast<int>(params.columns - column);
        k_left = mine.k_left;
        loader.each_step(mine, [&](const DotStep& step, bool whole) { multiply(step, whole, partial); });
    }

    __device__ __forceinline__ long long vector_stride() const { return Dot::vectors_along_k ? 1 : params.b.leading; }

    __device__ __forceinline__ void multiply(const DotStep& step, bool whole, Accumulator (&partial)[sums]) {
#pragma unroll
        for (unsigned j = 0; j < cfg::tile_n; ++j) {
            // Columns that do not exist repeat the last one; nobody reads their sums.
            const ElementB* column = vector + min(static_cast<int>(j), columns_left - 1) * column_stride;
#pragma unroll
            for (unsigned p = 0; p < vector_parts; ++p) {
                const unsigned skipped = Dot::along_k ? Dot::step(p) : 0;
                Factors x;
                factors(x, column + skipped * vector_stride(), whole, skipped);
                products(step, p, x, &partial[j * Dot::sums]);
            }
        }
        vector += vector_stride() * cfg::tile_k;
        k_left -= static_cast<int>(cfg::tile_k);
    }

    // Those `skipped` steps of K behind `vector`.
    __device__ __forceinline__ void factors(Factors& x, const ElementB* from, bool whole, unsigned skipped) const {
        // Not by whether min(max(left, 0), size) is the size: for negative numbers too, ptxas 13.0 takes it for true on sm_90a.
        const int left = k_left - static_cast<int>(skipped);
        const bool all = whole || left >= Factors::size;
        if constexpr (Dot::vectors_along_k && Dot::vector_width * sizeof(ElementB) >= 4) {
            if (all) {
                load_vector<Dot::vector_width>(x, from);
                return;
            }
        }
        x = {};
        load_elements(x, from, vector_stride(), all ? Factors::size : max(0, left));
    }

    // Of access p of every line along K, or of whole lines.
    static __device__ __forceinline__ void products(const DotStep& step, unsigned p, const Factors& x, Accumulator* partial) {
        constexpr bool bytes = is_same<Accumulator, int> && Dot::along_k && Dot::width % 4 == 0;
        if constexpr (bytes) {
#pragma unroll
            for (unsigned l = 0; l < Dot::lines; ++l)
#pragma unroll
                for (unsigned w = 0; w < Dot::width / 4; ++w) {
                    partial[l] = ptx::dp4a<is_same<Dot::ElementA, i8>, is_same<ElementB, i8>>(step[l][p].words[w],
                                                                                            x.words[w], partial[l]);
                }
        } else {
            Accumulator factor[Factors::size];
            widen(factor, x);
#pragma unroll
            for (unsigned l = 0; l < Dot::lines; ++l)
#pragma unroll
                for (unsigned q = 0; q < (Dot::along_k ? 1 : Dot::parts); ++q) {
                    Accumulator element[Dot::width];
                    widen(element, step[l][Dot::along_k ? p : q]);
#pragma unroll
                    for (unsigned v = 0; v < Dot::width; ++v) {
                        Accumulator& to = partial[Dot::along_k ? l : q * Dot::width + v];
                        to = multiply_add(element[v], factor[Dot::along_k ? v : l], to);
                    }
                }
        }
    }

    // The lanes' parts, added in pairs of the farthest lanes first; where there are several sums, each lane of a pair goes on with
    // half of them. What is left goes to shared memory.
    __device__ __forceinline__ void reduce(Accumulator (&partial)[sums]) const {
        exchange<sums, Dot::first_lane * Dot::lanes / 2>(partial, 0);
    }

    // `kept` sums from number `first` on, in lanes whose bits above `mask` are done.
    template <unsigned kept, unsigned mask>
    __device__ __forceinline__ void exchange(Accumulator (&partial)[sums], unsigned first) const {
        const bool upper = threadIdx.x & mask;
        if constexpr (mask < Dot::first_lane) {
            store<kept>(partial, first);
        } else if constexpr (kept == 1) {
            partial[0] += __shfl_xor_sync(~0u, partial[0], mask);
            exchange<1, mask / 2>(partial, first);
        } else {
            constexpr unsigned half = kept / 2;
#pragma unroll
            for (unsigned i = 0; i < half; ++i) {
                const Accumulator given = upper ? partial[i] : partial[i + half];
                const Accumulator own = upper ? partial[i + half] : partial[i];
                partial[i] = own + __shfl_xor_sync(~0u, given, mask);
            }
            exchange<half, mask / 2>(partial, upper ? first + half : first);
        }
    }

    template <unsigned kept>
    __device__ __forceinline__ void store(const Accumulator (&partial)[sums], unsigned first) const {
        // Lanes beyond the sums have what others have.
        constexpr unsigned repeated = kept == 1 && Dot::lanes > sums ? Dot::first_lane * (Dot::lanes / sums - 1) : 0;
        if (threadIdx.x & repeated) return;
        const unsigned base = Dot::warp(threadIdx.x / 32) * Accumulators::sums + Dot::row(threadIdx.x);
#pragma unroll
        for (unsigned i = 0; i < kept; ++i) {
            const unsigned number = first + i;
            unsigned words[sizeof(Accumulator) / 4];
            memcpy(words, &partial[i], sizeof(Accumulator));
            ptx::st_shared<sizeof(Accumulator)>(
                at(base + number / Dot::sums * cfg::tile_m + Dot::sum_row(number % Dot::sums)), words);
        }
    }

    __device__ __forceinline__ unsigned at(unsigned number) const { return shared + Dot::sums_offset + number * sizeof(Accumulator); }

    // The warps' parts, in their order.
    __device__ __forceinline__ Accumulator sum(unsigned number) const {
        Accumulator x;
        ptx::ld_shared_vector<1>(&x, at(number));
#pragma unroll
        for (unsigned part = 1; part < Dot::warps; ++part) {
            Accumulator y;
            ptx::ld_shared_vector<1>(&y, at(number + part * Accumulators::sums));
            x += y;
        }
        return x;
    }
};
