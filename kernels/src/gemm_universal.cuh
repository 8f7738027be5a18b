// GemmUniversal: the one kernel body over a scheduler, a mainloop and an epilogue.
//
//   Scheduler   first(), next() → Work; fixup(work, accumulators)
//   Mainloop    Accumulators; clear(accumulators); run(work, accumulators), after which shared memory is free in all warps
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
        if (Epilogue::uses_accumulator(params.epilogue, work.group)) mainloop.run(work, accumulators);
        scheduler.fixup(work, accumulators);
        if (work.last) visitor.run(work, accumulators);
        // The next tile's copies may overwrite slabs that another warp still reads.
        __syncthreads();
    }
}
