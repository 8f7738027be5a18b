// Multistage mainloop: a ring of `cfg::stages` stages in shared memory, filled ahead by cp.async, or one tile ahead through
// registers where there is no cp.async; double-buffered fragments.
//
//   Math   Accumulators; step: elements of K in a K block
//          load(buffer, k_block, stage)       fragments of a K block into one of two buffers
//          multiply(buffer, accumulators)
struct Sm80Multistage : SingleRole {
    using Accumulators = Math::Accumulators;
    using Outputs = Accumulators;
    static constexpr unsigned k_blocks = cfg::tile_k / Math::step;
    // Whether all copies wait in registers, and none in cp.async.
    static constexpr bool registers = OperandA::Copy::registers && OperandB::Copy::registers;
    // With an even number of K blocks the two fragment buffers alternate across tiles, and the first fragments of the next
    // tile are loaded during the last block of this one.
    static constexpr bool across_tiles = k_blocks % 2 == 0;
    static_assert(cfg::stages >= 2, "one stage is filled while another is read");

    const Params& params;
    OperandLoader<OperandA> copy_a;
    OperandLoader<OperandB> copy_b;
    Math math;

    __device__ __forceinline__ Sm80Multistage(const Params& p, unsigned shared)
        : params(p), copy_a(p.a, shared), copy_b(p.b, shared), math(shared) {}

    __device__ __forceinline__ void run(const Work& work, Accumulators& accumulators) {
        accumulators.clear();
        if (work.k_count == 0) return;
        const unsigned first_k = work.k_begin * cfg::tile_k;
        const unsigned end_k = min(params.depth, first_k + work.k_count * cfg::tile_k);
        copy_a.begin(params.a, work.group, work.tile_m * cfg::tile_m, params.rows, first_k, end_k);
        copy_b.begin(params.b, work.group, work.tile_n * cfg::tile_n, params.columns, first_k, end_k);
#pragma unroll 1
        for (unsigned stage = 0; stage < cfg::stages - 1; ++stage) {
            request(0, 1, Sm80Stage::at(stage));
            commit(Sm80Stage::at(stage));
        }
        Sm80Stage read = Sm80Stage::at(0);
        Sm80Stage write = Sm80Stage::at(cfg::stages - 1);
        if (across_tiles) {
            await();
            math.load(0, 0, read);
        }
#pragma unroll 1
        for (unsigned tile = 0; tile < work.k_count; ++tile) {
            if (!across_tiles) {
                await();
                math.load(0, 0, read);
            }
#pragma unroll
            for (unsigned block = 0; block < k_blocks; ++block) {
                const bool last = block == k_blocks - 1;
                if (last) {
                    if (k_blocks == 1) request(0, 1, write);
                    commit(write);
                    write = write.following();
                    // The next tile arrives, and no warp reads this one any more: its last fragments are in registers.
                    if (across_tiles) await();
                    read = read.following();
                }
                if (!last || across_tiles) math.load((block + 1) % 2, (block + 1) % k_blocks, read);
                // Spread over the blocks, so that address arithmetic and copies fill gaps between the instructions.
                if (!last) request(block, k_blocks - 1, write);
                math.multiply(block % 2, accumulators);
            }
        }
        if constexpr (!registers) ptx::cp_async_wait<0>();
        __syncthreads();
    }

   private:
    __device__ __forceinline__ void request(unsigned part, unsigned parts, Sm80Stage stage) {
        copy_a.issue(part, parts, stage.a);
        copy_b.issue(part, parts, stage.b);
    }

    __device__ __forceinline__ void commit(Sm80Stage stage) const {
        copy_a.settle(stage.a);
        copy_b.settle(stage.b);
        if constexpr (!registers) ptx::cp_async_commit();
    }

    static __device__ __forceinline__ void await() {
        if constexpr (!registers) ptx::cp_async_wait<cfg::stages - 2>();
        __syncthreads();
    }
};
