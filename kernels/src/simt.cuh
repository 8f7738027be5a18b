// Vectors, accumulators and arithmetic of fused multiply-adds.
//
// A warp's tile is units of 16 rows × 8 `columns` columns; a lane has a block of 4 × `columns` in each. Both operands lie
// along M and N in shared memory, so that a lane reads its rows and its columns of one step of K as vectors.

// One operand's vectors of a step of K.
template <class Operand, unsigned length>
struct VectorLoader {
    using Load = typename Operand::Load;
    using Vectors = Accumulator[Load::count][length];

    OperandReader<Operand> reader;

    __device__ __forceinline__ void load(Vectors& vectors, unsigned k, unsigned stage) const {
#pragma unroll
        for (unsigned i = 0; i < Load::count; ++i) ptx::ld_shared_vector<length>(vectors[i], reader.address(i, k, stage));
    }
};

// Accumulators of one warp's tile; a subtile is one row of units.
struct SimtAccumulators {
    static constexpr unsigned subtiles = cfg::warp_m / 16;
    static constexpr unsigned columns = cfg::warp_n % 32 == 0 ? 4 : 2;
    static constexpr unsigned units = cfg::warp_n / (8 * columns);
    static_assert(cfg::slab_rows == 16 && cfg::slab_columns == cfg::warp_n, "a slab is one row of a warp's units");

    Accumulator value[subtiles][units][4 * columns];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i)
#pragma unroll
            for (unsigned j = 0; j < units; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4 * columns; ++v) value[i][j][v] = 0;
    }

    // f(i, x) for each vector i of `vectors`, in an order that is the same for every CTA.
    using Value = Accumulator;
    using Team = WholeBlock;
    static constexpr unsigned vectors = subtiles * units;
    template <class F>
    __device__ __forceinline__ void for_each_vector(const F& f) {
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i)
#pragma unroll
            for (unsigned j = 0; j < units; ++j) f(i * units + j, value[i][j]);
    }

    __device__ __forceinline__ unsigned row(unsigned subtile) const {
        return idx::warp_row(threadIdx.x / 32) + subtile * 16;
    }
    __device__ __forceinline__ unsigned column(unsigned) const { return idx::warp_column(threadIdx.x / 32); }

    // Registers cannot be indexed at run time, so the subtile is found by comparison.
    template <class F>
    __device__ __forceinline__ void for_each_pair(unsigned subtile, const F& f) const {
        const unsigned lane = threadIdx.x % 32;
        const unsigned row = idx::accumulator_row(lane), column = idx::accumulator_column(lane);
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i) {
            if (i != subtile) continue;
#pragma unroll
            for (unsigned j = 0; j < units; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4 * columns; v += 2) {
                    f(row + v / columns, column + j * 8 * columns + v % columns, value[i][j][v], value[i][j][v + 1]);
                }
        }
    }
};

struct Math {
    using Accumulators = SimtAccumulators;
    static constexpr unsigned step = 1;

    using LoadA = VectorLoader<OperandA, 4>;
    using LoadB = VectorLoader<OperandB, Accumulators::columns>;

    LoadA load_a;
    LoadB load_b;
    LoadA::Vectors a[2];
    LoadB::Vectors b[2];

    __device__ __forceinline__ explicit Math(unsigned shared)
        : load_a{{idx::warp_row(threadIdx.x / 32), shared}}, load_b{{idx::warp_column(threadIdx.x / 32), shared}} {}

    __device__ __forceinline__ void load(unsigned buffer, unsigned k, const Sm80Stage& stage) {
        load_a.load(a[buffer], k, stage.a);
        load_b.load(b[buffer], k, stage.b);
    }

    __device__ __forceinline__ void multiply(unsigned buffer, Accumulators& accumulators) const {
#pragma unroll
        for (unsigned i = 0; i < Accumulators::subtiles; ++i)
#pragma unroll
            for (unsigned r = 0; r < 4; ++r)
#pragma unroll
                for (unsigned j = 0; j < Accumulators::units; ++j)
#pragma unroll
                    for (unsigned c = 0; c < Accumulators::columns; ++c) {
                        Accumulator& d = accumulators.value[i][j][r * Accumulators::columns + c];
                        d = fma_rn(a[buffer][i][r], b[buffer][j][c], d);
                    }
    }
};
