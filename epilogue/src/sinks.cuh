// What the generated text stores beside D, through `visit` alone: it has the elements, and the warp's state is in the epilogue,
// which lives as long as a tile.
//
// Every lane of a warp calls visit slab_rows × slab_columns / (32 V) times a subtile, the first time with lane 0 on the subtile's
// element (0, 0). So a count of calls tells where subtiles begin and end, whichever visitor calls.
//
// A reduction's partial results lie in workspace, those of both M and N one a warp and tile, those of lines one a subtile and value
// that remains:
//   lines    (entry × blocks + block) × length + index     blocks of 16 rows (slab_columns columns) are reduced away
//   all      (entry × blocks + tile_m × tile_warps + warp) × length + tile_n
// `finish_reductions`, a launch of its own, puts them together in that order. Atomic ones have one place an output, zero before
// and after each run.

namespace ptx {
__device__ __forceinline__ void red_add(double* p, double x) {
    asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(p), "d"(x) : "memory");
}
__device__ __forceinline__ void red_max(double* p, unsigned long long x) {
    asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
}
}  // namespace ptx

// NaN if either is.
__device__ __forceinline__ float larger(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float x;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
    return x;
#else
    return a > b || a != a ? a : b;
#endif
}
__device__ __forceinline__ double larger(double a, double b) { return a > b || a != a ? a : b; }
__device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
__device__ __forceinline__ double magnitude(double x) { return fabs(x); }

// How values are reduced: `Value` is what they are put together in, `identity` what that begins with, as a value that counts for
// nothing. Squares of floats are exact in double.
struct ReduceSum {
    using Value = double;
    static __device__ __forceinline__ Compute identity() { return 0; }
    static __device__ __forceinline__ Value counted(Compute x) { return x; }
    static __device__ __forceinline__ Value join(Value a, Value b) { return a + b; }
    static __device__ __forceinline__ void add(double* place, Value x) { ptx::red_add(place, x); }
    static __device__ __forceinline__ Value added(const double* place) { return *place; }
};
struct ReduceSumOfSquares : ReduceSum {
    static __device__ __forceinline__ Value counted(Compute x) { return static_cast<Value>(x) * static_cast<Value>(x); }
};
// A place holds a maximum as an integer that grows with it, zero where there is none yet. Every NaN is the largest.
struct ReduceMax {
    using Value = Compute;
    static __device__ __forceinline__ Compute identity() { return __uint_as_float(0xff800000); }
    // Zeros of both signs are equal, so that no order of comparisons shows.
    static __device__ __forceinline__ Value counted(Compute x) { return x + 0; }
    static __device__ __forceinline__ Value join(Value a, Value b) { return larger(a, b); }
    static __device__ __forceinline__ unsigned long long key(double x) {
        const long long bits = __double_as_longlong(x);
        return x != x ? ~0ull : static_cast<unsigned long long>(bits < 0 ? ~bits : bits | 1ll << 63);
    }
    static __device__ __forceinline__ double unlocked(unsigned long long key) {
        return __longlong_as_double(key >> 63 ? key & ~(1ull << 63) : ~key);
    }
    static __device__ __forceinline__ unsigned long long held(const double* place) {
        return static_cast<unsigned long long>(__double_as_longlong(*place));
    }
    static __device__ __forceinline__ void add(double* place, Value x) { ptx::red_max(place, key(x)); }
    static __device__ __forceinline__ Value added(const double* place) {
        const unsigned long long key = held(place);
        return key ? static_cast<Value>(unlocked(key)) : identity();
    }
};
struct ReduceAmax : ReduceMax {
    static __device__ __forceinline__ Compute identity() { return 0; }
    static __device__ __forceinline__ Value counted(Compute x) { return magnitude(x); }
};
struct ReduceMin : ReduceMax {
    static __device__ __forceinline__ Compute identity() { return __uint_as_float(0x7f800000); }
    static __device__ __forceinline__ Value join(Value a, Value b) { return -larger(-a, -b); }
    static __device__ __forceinline__ void add(double* place, Value x) { ptx::red_max(place, key(-x)); }
    static __device__ __forceinline__ Value added(const double* place) {
        const unsigned long long key = held(place);
        return key ? static_cast<Value>(-unlocked(key)) : identity();
    }
};

// Where a warp is in its subtile.
struct SubtileVisits {
    unsigned visits = 0;
    unsigned row, column;  // of the subtile's element (0, 0), in the kernel's terms

    static __device__ __forceinline__ unsigned row_of(const Coordinates& c) { return cfg::transposed ? c.n : c.m; }
    static __device__ __forceinline__ unsigned column_of(const Coordinates& c) { return cfg::transposed ? c.m : c.n; }

    // Counts a visit; true for the subtile's last one.
    template <int V>
    __device__ __forceinline__ bool count(const Coordinates& c) {
        if (visits == 0) {
            row = __shfl_sync(~0u, row_of(c), 0);
            column = __shfl_sync(~0u, column_of(c), 0);
        }
        if (++visits != cfg::slab_rows * cfg::slab_columns / (32 * V)) return false;
        visits = 0;
        return true;
    }
};

// A bit for each element that is greater than zero, eight along D's contiguous direction to a byte.
__device__ __forceinline__ unsigned char* mask_byte(const TensorArg& t, unsigned batch, unsigned m, unsigned n) {
    const long long at = cfg::d_along_m ? m / 8 * t.stride_m + n * t.stride_n : m * t.stride_m + n / 8 * t.stride_n;
    return static_cast<unsigned char*>(const_cast<void*>(t.pointer)) + batch * t.stride_batch + at;
}

// Across that direction, of a fragment's pairs: a byte's elements are of the eight lanes that have a column of it.
template <int V, class X>
__device__ __forceinline__ void store_mask_across(const TensorArg& t, const Coordinates& c, const X (&x)[V]) {
    static_assert(V == 2, "the pairs of a fragment of eight rows");
    const unsigned lane = threadIdx.x % 32;
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) bits |= static_cast<unsigned>(v < static_cast<int>(c.count) && x[v] > X(0)) << 8 * v;
    bits <<= idx::accumulator_row(lane, 0);
#pragma unroll
    for (unsigned other = 4; other < 32; other *= 2) bits |= __shfl_xor_sync(~0u, bits, other);
    if (idx::accumulator_row(lane, 0) != 0) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
        const unsigned byte = bits >> 8 * v & 0xff;
        if (v < static_cast<int>(c.count)) {
            const unsigned m = cfg::vectors_along_m ? c.m + v : c.m, n = cfg::vectors_along_m ? c.n : c.n + v;
            ptx::st_global<1>(mask_byte(t, c.batch, m, n), &byte);
        }
    }
}

template <int V, class X>
__device__ __forceinline__ void store_mask(const TensorArg& t, const Coordinates& c, const X (&x)[V]) {
    if constexpr (cfg::d_along_m != cfg::vectors_along_m) return store_mask_across(t, c, x);
    static_assert(V <= 8 && cfg::slab_columns % 8 == 0, "a byte's elements are of neighbouring lanes");
    static_assert(cfg::slab_rows % 8 == 0, "whichever way D lies");
    constexpr unsigned lanes = 8 / V;
    const unsigned lane = threadIdx.x % lanes;
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < V; ++v) bits |= static_cast<unsigned>(v < static_cast<int>(c.count) && x[v] > X(0)) << v;
    bits <<= lane * V;
#pragma unroll
    for (unsigned other = 1; other < lanes; other *= 2) bits |= __shfl_xor_sync(~0u, bits, other);
    if (lane != 0 || c.count == 0) return;
    ptx::st_global<1>(mask_byte(t, c.batch, c.m, c.n), &bits);
}

template <class Value>
__device__ __forceinline__ Value shuffled(Value x, unsigned lanes) {
    return __shfl_xor_sync(~0u, x, lanes);
}

// Where an atomic reduction's result for an entry of the batch begins: one output may be of all entries.
__device__ __forceinline__ double* atomic_place(const ReductionArg& r, unsigned batch, unsigned length) {
    return r.partials + (r.stride_batch ? static_cast<unsigned long long>(batch) * length : 0);
}

// A reduction of both M and N: registers, then the warp's lanes at the end of a tile.
template <class Op, bool atomic>
struct ReduceAll {
    // Of even and odd elements, so that no instruction waits for the one before.
    typename Op::Value halves[2] = {Op::counted(Op::identity()), Op::counted(Op::identity())};

    template <int V>
    __device__ __forceinline__ void visit(const Coordinates& c, const Compute (&x)[V]) {
#pragma unroll
        for (int v = 0; v < V; ++v) {
            if (v < static_cast<int>(c.count)) halves[v % 2] = Op::join(halves[v % 2], Op::counted(x[v]));
        }
    }

    __device__ __forceinline__ void end(const ReductionArg& r, const Work& w) {
        typename Op::Value whole = Op::join(halves[0], halves[1]);
#pragma unroll
        for (unsigned lanes = 16; lanes > 0; lanes /= 2) whole = Op::join(whole, shuffled(whole, lanes));
        const unsigned block = w.tile_m * cfg::tile_warps + threadIdx.x / 32 % cfg::tile_warps;
        // A cluster may have tiles outside the problem.
        if (threadIdx.x % 32 != 0 || block >= r.blocks || w.tile_n >= r.length) return;
        if constexpr (atomic) {
            Op::add(atomic_place(r, w.group, 1), whole);
        } else {
            r.partials[(static_cast<unsigned long long>(w.group) * r.blocks + block) * r.length + w.tile_n] = whole;
        }
    }
};

// A reduction along one direction, through a slab of the warp's own: rows are the kernel's.
template <class Op, bool atomic, bool reduces_rows, unsigned number>
struct ReduceLines {
    template <int V>
    __device__ __forceinline__ void visit(const ReductionArg& r, const Coordinates& c, const Compute (&x)[V], bool ends,
                                          const SubtileVisits& subtile) const {
        const unsigned row = SubtileVisits::row_of(c) - subtile.row, column = SubtileVisits::column_of(c) - subtile.column;
        constexpr int most = 16 / sizeof(Compute), width = V < most ? V : most;
#pragma unroll
        for (int first = 0; first < V; first += width) {
            Compute y[width];
#pragma unroll
            for (int v = 0; v < width; ++v) y[v] = first + v < static_cast<int>(c.count) ? x[first + v] : Op::identity();
            unsigned words[sizeof(y) / 4];
            memcpy(words, y, sizeof(y));
            ptx::st_shared<sizeof(y)>(cfg::vectors_along_rows ? at(row + first, column) : at(row, column + first), words);
        }
        if (!ends) return;
        __syncwarp();
        const unsigned lane = threadIdx.x % 32;
        if constexpr (reduces_rows) {
#pragma unroll 1
            for (unsigned i = lane; i < cfg::slab_columns; i += 32) {
                typename Op::Value whole = Op::counted(Op::identity());
#pragma unroll 4
                for (unsigned j = 0; j < cfg::slab_rows; ++j) whole = Op::join(whole, Op::counted(load(j, i)));
                store(r, c.batch, subtile.row / cfg::slab_rows, subtile.column + i, whole);
            }
        } else {
            // Two lanes a row.
            constexpr unsigned half = cfg::slab_columns / 2;
            typename Op::Value whole = Op::counted(Op::identity());
#pragma unroll 4
            for (unsigned j = 0; j < half; ++j) whole = Op::join(whole, Op::counted(load(lane / 2, lane % 2 * half + j)));
            whole = Op::join(whole, shuffled(whole, 1));
            if (lane % 2 == 0) store(r, c.batch, subtile.column / cfg::slab_columns, subtile.row + lane / 2, whole);
        }
    }

   private:
    static __device__ __forceinline__ unsigned at(unsigned row, unsigned column) {
        extern __shared__ __align__(1024) unsigned char shared[];
        const unsigned slab = number * cfg::epilogue_warps + threadIdx.x / 32;
        return ptx::shared_address(shared) + cfg::slab_offset + slab * cfg::slab_bytes +
               idx::slab(row, column) * sizeof(Compute);
    }

    static __device__ __forceinline__ Compute load(unsigned row, unsigned column) {
        Compute x[1];
        ptx::ld_shared_vector<1>(x, at(row, column));
        return x[0];
    }

    static __device__ __forceinline__ void store(const ReductionArg& r, unsigned batch, unsigned block, unsigned index,
                                                 typename Op::Value whole) {
        if (block >= r.blocks || index >= r.length) return;
        if constexpr (atomic) {
            Op::add(atomic_place(r, batch, r.length) + index, whole);
        } else {
            r.partials[(static_cast<unsigned long long>(batch) * r.blocks + block) * r.length + index] = whole;
        }
    }
};

// The end of a reduction, by blocks of `finish_threads`. Where each value is of many parts, `finish_shares` threads share them.
constexpr unsigned finish_threads = 256, finish_shares = 8;

template <class Op, bool atomic, bool all>
__device__ __forceinline__ void finish_reduction(const ReductionArg& r) {
    using Value = typename Op::Value;
    // One output may be of all entries of the batch.
    const unsigned outputs = r.stride_batch ? r.entries : 1, entries = r.stride_batch ? 1 : r.entries;
    const unsigned length = all ? 1 : r.length;
    const unsigned long long parts = static_cast<unsigned long long>(entries) * r.blocks * (all ? r.length : 1);
    const unsigned long long values = static_cast<unsigned long long>(outputs) * length;
    const auto store = [&](unsigned long long at, Value whole) {
        static_cast<Compute*>(r.pointer)[at / length * r.stride_batch + at % length * r.stride] = static_cast<Compute>(whole);
    };
    if constexpr (atomic) {
        for (unsigned long long at = blockIdx.x * finish_threads + threadIdx.x; at < values; at += gridDim.x * finish_threads) {
            double* place = r.partials + at;
            store(at, Op::added(place));
            *place = 0;
        }
    } else {
        // Neighbouring threads have neighbouring parts, or values.
        constexpr unsigned lanes = all ? 1 : finish_threads / finish_shares, shares = finish_threads / lanes;
        // The shares of a warp are put together by itself.
        constexpr unsigned step = all ? 32 : 1;
        const unsigned lane = threadIdx.x % lanes, share = threadIdx.x / lanes;
        __shared__ Value shared[shares][lanes];
        // All threads meet at the barriers.
        for (unsigned long long first = blockIdx.x * lanes; first < values; first += gridDim.x * lanes) {
            const unsigned long long at = first + lane;
            Value whole = Op::counted(Op::identity());
            if (at < values) {
                const double* from = r.partials + at / length * parts * length + at % length;
#pragma unroll 16
                for (unsigned long long part = share; part < parts; part += shares) {
                    whole = Op::join(whole, static_cast<Value>(from[part * length]));
                }
            }
            if constexpr (all) {
#pragma unroll
                for (unsigned other = 16; other > 0; other /= 2) whole = Op::join(whole, shuffled(whole, other));
            }
            shared[share][lane] = whole;
            __syncthreads();
            if (share == 0 && at < values) {
#pragma unroll 1
                for (unsigned s = step; s < shares; s += step) whole = Op::join(whole, shared[s][lane]);
                store(at, whole);
            }
            __syncthreads();
        }
    }
}
