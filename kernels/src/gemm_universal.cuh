// GemmUniversal: the one kernel body over a scheduler, a mainloop and an epilogue.
//
//   Scheduler   first(), next() → Work; fixup<Outputs>(work, accumulators), after which the CTA for which it is true holds the sum of
//               all parts of the tile, and runs the epilogue. Of several shares of the tile's columns it yields a bit for each that
//               this CTA has: take<Accumulators>(work, share, kept, outputs) is the share's sum, end(work) comes last; `kept` are this
//               CTA's of the share that has the number of its part
//   Mainloop    Accumulators; run(work, accumulators), which leaves zeros where there is no K
//               share(work): this block's part of its cluster's work; has_output(): whether it has a part of D, and then
//               output(share): which; combine(accumulators, then): then(Outputs&) with that, which blocks may have to add up
//               end_of_tile(), after which shared memory may be filled for the next tile
//               takes(turn): whether this thread's warps compute that tile, else skip(work)
//               has_producer: is_producer() threads call head_start(first, share), and once all threads were at meet(),
//               produce(scheduler, first, share), the others begin(), consume and end()
//               alternates: warp groups take tiles in turn; await(turn) before a tile's products, pass(turn) in run(work,
//               accumulators, issued), which calls issued() when no more instructions of the tile are to come
//               roles.cuh has all this for mainloops of one role
//   Accumulators  for_each_vector(f) for fix-up (fixup.cuh); what the epilogue reads (visitor.cuh)
//   Visitor     runs the epilogue's generated text on a tile (visitor.cuh, visitor_bulk.cuh)
// What a block does of the work that its cluster was given. If zero scalars drop every use of the products, there are none.
template <class Mainloop, class Epilogue>
struct Share {
    const Params& params;
    const Mainloop& mainloop;

    __device__ __forceinline__ bool multiplies(const Work& work) const {
        return Epilogue::uses_accumulator(params.epilogue, work.group);
    }
    __device__ __forceinline__ Work operator()(const Work& work) const {
        Work mine = mainloop.share(work);
        if (!multiplies(work)) mine.k_count = 0;
        return mine;
    }
};

template <class Visitor, class Scheduler, class Mainloop>
__device__ __forceinline__ void consume(const Params& params, Scheduler& scheduler, Mainloop& mainloop, unsigned shared) {
    using Accumulators = typename Mainloop::Accumulators;
    using Outputs = typename Mainloop::Outputs;
    Visitor visitor(params, shared);
    const Share<Mainloop, typename Visitor::Epilogue> share{params, mainloop};
    unsigned turn = 0;
    Work given = scheduler.first();
#pragma unroll 1
    while (given.valid) {
        const Work work = share(given);
        // Who takes turns must know whether somebody waits for the next one; for the others it would only hold registers.
        if constexpr (Mainloop::alternates) given = scheduler.next();
        if (mainloop.takes(turn)) {
            Accumulators accumulators;
            const Work output = mainloop.output(work);
            // Who ends up with parts of a tile is not known yet.
            if (cfg::shares == 1 && work.whole() && mainloop.has_output()) visitor.template begin<Outputs>(output);
            if constexpr (Mainloop::alternates) {
                mainloop.await(turn);
                mainloop.run(work, accumulators, [&] {
                    if (given.valid) mainloop.pass(turn);
                });
            } else {
                mainloop.run(work, accumulators);
            }
            mainloop.combine(accumulators, [&](auto& sums) {
                const bool multiplies = share.multiplies(work);
                unsigned shares = work.last ? ~0u : 0;
                if (multiplies) shares = scheduler.template fixup<Outputs>(output, sums);
                if constexpr (cfg::shares == 1) {
                    if (shares) visitor.run(output, sums);
                } else {
                    Outputs kept;
                    kept.take(sums, multiplies ? work.split : 0);
#pragma unroll 1
                    for (unsigned i = 0; i < cfg::shares; ++i) {
                        if (!(shares >> i & 1)) continue;
                        // Without products all is zero.
                        Outputs outputs = kept;
                        if (multiplies) scheduler.template take<Accumulators>(output, i, kept, outputs);
                        Work part = output;
                        part.tile_n = part.tile_n * cfg::shares + i;
                        visitor.run(part, outputs);
                    }
                    if (multiplies) scheduler.end(output);
                }
            });
            mainloop.end_of_tile();
        } else {
            mainloop.skip(work);
        }
        if constexpr (!Mainloop::alternates) given = scheduler.next();
        ++turn;
    }
    visitor.end();
}

template <class Scheduler, class Mainloop, class Visitor>
__device__ __forceinline__ void gemm_universal(const Params& params, const void* shared_memory) {
    const unsigned shared = ptx::shared_address(shared_memory);
    Scheduler scheduler(params.scheduler);
    Mainloop mainloop(params, shared);
    if constexpr (Mainloop::has_producer) {
        Work first = {};
        if (mainloop.is_producer()) {
            // Found while others make the barriers, and held so that the compiler does not find it later.
            first = scheduler.first();
            asm volatile("" : "+r"(first.tile_m), "+r"(first.tile_n), "+r"(first.k_begin), "+r"(first.group));
            mainloop.head_start(first, Share<Mainloop, typename Visitor::Epilogue>{params, mainloop});
        }
        mainloop.meet();
        // Up to here nothing of global memory was touched but parameters, and what a head start waited for grids before to ask for.
        ptx::wait_for_grids_before();
        ptx::let_grid_behind_begin();
        if (mainloop.is_producer()) {
            mainloop.produce(scheduler, first, Share<Mainloop, typename Visitor::Epilogue>{params, mainloop});
        } else {
            mainloop.begin();
            consume<Visitor>(params, scheduler, mainloop, shared);
            mainloop.end();
        }
    } else {
        ptx::wait_for_grids_before();
        ptx::let_grid_behind_begin();
        consume<Visitor>(params, scheduler, mainloop, shared);
    }
}
