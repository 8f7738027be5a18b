// Steps of a GEMV tile through shared memory: a warp of its own copies the tile's rows along K into a ring of `cfg::stages`
// stages, and runs ahead of the tile that is multiplied into those behind it. For rows that bulk copies can address: those
// that lie along K, at addresses and of lengths in multiples of 16 bytes.
//
// Generated beside the rest of `Dot`:
//   stage(row, k)                        where an element is in a stage, in elements
//   ring_offset, stage_bytes             where stage 0 is in shared memory, and bytes of a stage
//   barriers_offset                      where the barriers are: of full stages, and of empty ones
struct GemvBulkLoader {
    static constexpr bool has_producer = true;
    struct Threads {
        static __device__ __forceinline__ void synchronize() { ptx::barrier_sync(1, Dot::threads); }
        static __device__ __forceinline__ bool any(bool condition) { return ptx::barrier_or(1, Dot::threads, condition); }
    };
    static_assert(Dot::along_k && Dot::parts == 1 && Dot::whole, "rows along K, in whole accesses of 16 bytes");

    const Params& params;
    unsigned shared;
    unsigned index, parity;  // of the next stage to be filled, or to be read

    __device__ __forceinline__ GemvBulkLoader(const Params& p, unsigned s) : params(p), shared(s), index(0), parity(0) {
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (unsigned i = 0; i < cfg::stages; ++i) {
                ptx::mbarrier_init(full(i), 1);
                ptx::mbarrier_init(empty(i), Dot::threads / 32);
            }
            ptx::fence_mbarrier_init();
        }
    }

    template <class Scheduler, class Share>
    __device__ __forceinline__ void produce(Scheduler& scheduler, Work given, const Share& share) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
        for (; given.valid; given = scheduler.next()) {
            const Work work = share(given);
            const unsigned first_row = work.tile_m * cfg::tile_m;
            const unsigned rows = min(cfg::tile_m, params.rows - first_row);
            const Dot::ElementA* source = static_cast<const Dot::ElementA*>(params.a.pointer) +
                                          work.group * params.a.stride_batch + first_row * params.a.leading;
            unsigned k = work.k_begin * cfg::tile_k;
            const unsigned end = min(params.depth, k + work.k_count * cfg::tile_k);
#pragma unroll 1
            for (; k < end; k += cfg::tile_k) {
                const unsigned bytes = min(cfg::tile_k, end - k) * sizeof(Dot::ElementA);
                ptx::mbarrier_wait(empty(index), parity ^ 1);
                if (lane == 0) ptx::mbarrier_arrive_expect_tx(full(index), rows * bytes);
                __syncwarp();
#pragma unroll 1
                for (unsigned row = lane; row < rows; row += 32) {
                    ptx::bulk_load(address(row, 0), source + row * params.a.leading + k, bytes, full(index));
                }
                advance();
            }
        }
        // Nobody may still be about to arrive here when the block ends.
#pragma unroll 1
        for (unsigned i = 0; i < cfg::stages; ++i) {
            ptx::mbarrier_wait(empty(index), parity ^ 1);
            advance();
        }
    }

    template <class F>
    __device__ __forceinline__ void each_step(DotWork work, const F& f) {
#pragma unroll 1
        for (unsigned s = 0; s < work.steps; ++s) {
            DotStep step;
            const unsigned from = address(Dot::row(threadIdx.x), Dot::k(threadIdx.x));
            const auto read = [this, from](Vector<Dot::ElementA, Dot::width>& x, unsigned line, unsigned, int valid) {
                if (valid > 0) {
                    ptx::ld_shared_quad(x.words, from + Dot::stage(line, 0) * sizeof(Dot::ElementA));
                } else {
                    x = {};
                }
            };
            ptx::mbarrier_wait(full(index), parity);
            if (s < work.whole) {
                read_step<false>(step, work.rows_left, work.k_left, read);
            } else {
                read_step<true>(step, work.rows_left, work.k_left, read);
            }
            __syncwarp();
            if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(empty(index));
            advance();
            work.k_left -= static_cast<int>(cfg::tile_k);
            f(step, s < work.whole);
        }
    }

   private:
    __device__ __forceinline__ unsigned full(unsigned i) const { return shared + Dot::barriers_offset + i * 8; }
    __device__ __forceinline__ unsigned empty(unsigned i) const { return full(cfg::stages + i); }
    // Of an element of the next stage.
    __device__ __forceinline__ unsigned address(unsigned row, unsigned k) const {
        return shared + Dot::ring_offset + index * Dot::stage_bytes + Dot::stage(row, k) * sizeof(Dot::ElementA);
    }
    __device__ __forceinline__ void advance() {
        if (++index == cfg::stages) {
            index = 0;
            parity ^= 1;
        }
    }
};
