// Sum over k of (a - b)^2, from global memory straight into registers.

// A thread's sums lie where mma.sync m16n8 would put them: the epilogue asks an accumulator source for no more than this.
struct DistanceAccumulators {
    static constexpr unsigned subtiles = cfg::warp_m / 16;
    static constexpr unsigned fragments_n = cfg::warp_n / 8;

    float value[subtiles][fragments_n][4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (unsigned i = 0; i < subtiles * fragments_n * 4; ++i) (&value[0][0][0])[i] = 0.0f;
    }

    __device__ __forceinline__ unsigned row(unsigned subtile) const { return idx::warp_row(threadIdx.x / 32) + subtile * 16; }
    __device__ __forceinline__ unsigned column(unsigned) const { return idx::warp_column(threadIdx.x / 32); }

    template <class F>
    __device__ __forceinline__ void for_each_pair(unsigned subtile, const F& f) const {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i) {
            if (i != subtile) continue;
#pragma unroll
            for (unsigned j = 0; j < fragments_n; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4; v += 2) {
                    f(idx::accumulator_row(lane, v), idx::accumulator_column(lane, v) + j * 8, value[i][j][v],
                      value[i][j][v + 1]);
                }
        }
    }
};

struct SquaredDistance : SingleRole {
    using Accumulators = DistanceAccumulators;
    using Outputs = Accumulators;

    const Params& params;

    __device__ __forceinline__ SquaredDistance(const Params& p, unsigned) : params(p) {}

    __device__ __forceinline__ void run(const Work& work, Accumulators& accumulators) const {
        accumulators.clear();
        const unsigned first_k = work.k_begin * cfg::tile_k;
        const unsigned end_k = min(params.depth, first_k + work.k_count * cfg::tile_k);
        const unsigned warp = threadIdx.x / 32;
        const unsigned lane = threadIdx.x % 32;
        const unsigned row = work.tile_m * cfg::tile_m + idx::warp_row(warp);
        const unsigned column = work.tile_n * cfg::tile_n + idx::warp_column(warp);
#pragma unroll 1
        for (unsigned k = first_k; k < end_k; ++k) {
#pragma unroll
            for (unsigned i = 0; i < Accumulators::subtiles; ++i)
#pragma unroll
                for (unsigned j = 0; j < Accumulators::fragments_n; ++j)
#pragma unroll
                    for (unsigned v = 0; v < 4; ++v) {
                        const unsigned m = row + i * 16 + idx::accumulator_row(lane, v);
                        const unsigned n = column + j * 8 + idx::accumulator_column(lane, v);
                        if (m >= params.rows || n >= params.columns) continue;
                        const float d = element<OperandA>(params.a, work.group, m, k) - element<OperandB>(params.b, work.group, n, k);
                        accumulators.value[i][j][v] = __fmaf_rn(d, d, accumulators.value[i][j][v]);
                    }
        }
    }

   private:
    template <class Operand>
    static __device__ __forceinline__ float element(const OperandArg& arg, unsigned batch, long long mn, long long k) {
        using Element = typename Operand::Element;
        const long long at = Operand::mn_contiguous ? mn + k * arg.leading : mn * arg.leading + k;
        Vector<Element, 1> x = {};
        load_elements(x, static_cast<const Element*>(arg.pointer) + batch * arg.stride_batch + at, 1, 1);
        return x[0];
    }
};
