// The step of a line along the kernel's columns where wgmma's fragments are visited: a warp has whole rows of a tile, four lanes a row, so
// that a block needs no other warp. Pair i is of row i % 2 of a lane's two, and in fragment i / 2 of 8 columns.
template <class Op, class Store, bool along_rows, unsigned block, unsigned, unsigned>
struct FragmentLineStep {
    static_assert(!along_rows && Op::joined == 1 && Op::settled == 1, "a number a block");
    // Subtiles that share a block, and blocks of a subtile.
    static constexpr unsigned group = block > cfg::slab_columns ? block / cfg::slab_columns : 1;
    static constexpr unsigned blocks = block > cfg::slab_columns ? 1 : cfg::slab_columns / block;
    float whole[2][blocks], settled[2][blocks][1];

    static constexpr __device__ __forceinline__ unsigned block_of(unsigned pair) { return blocks == 1 ? 0 : pair / 2 * 8 / block; }

    __device__ __forceinline__ void begin() {
#pragma unroll
        for (unsigned i = 0; i < 2 * blocks; ++i) whole[i % 2][i / 2] = Op::identity();
    }

    template <int V>
    __device__ __forceinline__ void measure(unsigned pair, const Coordinates& c, const float (&x)[V]) {
        float joined[1] = {whole[pair % 2][block_of(pair)]};
#pragma unroll
        for (int v = 0; v < V; ++v) Op::join(joined, v < static_cast<int>(c.count) ? x[v] : Op::identity());
        whole[pair % 2][block_of(pair)] = joined[0];
    }

    // `row` and `column` are those of the lane's first pair in the group.
    __device__ __forceinline__ void settle(const TensorArg& scales, const Params& params, const Work& w, unsigned row,
                                           unsigned column) {
#pragma unroll
        for (unsigned i = 0; i < 2 * blocks; ++i) {
            const unsigned number = i / 2, line = row + i % 2 * 8, first = column / cfg::slab_columns * cfg::slab_columns + number * block;
            float joined[1] = {whole[i % 2][number]};
            Op::join(joined, __shfl_xor_sync(~0u, joined[0], 1));
            Op::join(joined, __shfl_xor_sync(~0u, joined[0], 2));
            Op::settle(settled[i % 2][number], joined);
            // Lanes of a row take turns.
            if (threadIdx.x % 4 == number % 4 && line < params.rows && first < params.columns) {
                const unsigned code = Op::code(joined);
                Store::template put<typename Op::Scale>(scales, w.group, line, first / block, code);
            }
        }
    }

    struct Settled {
        const float (&numbers)[1];
        __device__ __forceinline__ float operator()(int, float x) const { return Op::value(x, numbers); }
    };
    __device__ __forceinline__ Settled known(unsigned pair) const { return {settled[pair % 2][block_of(pair)]}; }
};
