// GemmUniversal: the one kernel body over a scheduler, a mainloop and an epilogue.
//
//   Scheduler   first(), next() → Work; fixup(work, accumulators), after which the CTA for which it is true holds the sum of
//               all parts of the tile, and runs the epilogue
//   Mainloop    Accumulators; run(work, accumulators), after which shared memory is free in all warps
//   Accumulators  clear(); for_each_vector(f) for fix-up (fixup.cuh); what the epilogue reads (visitor.cuh)
//   Epilogue    generated text (visitor.cuh)
template <class Scheduler, class Mainloop, class Epilogue>
__device__ __forceinline__ void gemm_universal(const Params& params, const void* shared_memory) {
    const unsigned shared = ptx::shared_address(shared_memory);
    Scheduler scheduler(params.scheduler);
    Mainloop mainloop(params, shared);
    const Visitor<Epilogue> visitor(params, shared);
#pragma unroll 1
    for (Work work = scheduler.first(); work.valid; work = scheduler.next()) {
        typename Mainloop::Accumulators accumulators;
        accumulators.clear();
        bool complete = work.last;
        if (Epilogue::uses_accumulator(params.epilogue, work.group)) {
            mainloop.run(work, accumulators);
            complete = scheduler.fixup(work, accumulators);
        }
        if (complete) visitor.run(work, accumulators);
        // The next tile's copies may overwrite slabs that another warp still reads.
        __syncthreads();
    }
}
