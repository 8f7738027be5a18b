// All threads of a block, where all hold accumulators.
struct WholeBlock {
    static constexpr unsigned threads = cfg::threads;

    static __device__ __forceinline__ void synchronize() { __syncthreads(); }
    static __device__ __forceinline__ bool any(bool condition) { return __syncthreads_or(condition); }
};

// What the shell asks of a mainloop in which every warp loads, multiplies and runs the epilogue. Mainloops inherit it.
struct SingleRole {
    static constexpr bool has_producer = false, alternates = false;

    static __device__ __forceinline__ const Work& share(const Work& work) { return work; }
    static __device__ __forceinline__ bool has_output() { return true; }
    static __device__ __forceinline__ const Work& output(const Work& work) { return work; }
    template <class Accumulators, class F>
    static __device__ __forceinline__ void combine(Accumulators& accumulators, const F& then) {
        then(accumulators);
    }
    static __device__ __forceinline__ bool takes(unsigned) { return true; }
    static __device__ __forceinline__ void skip(const Work&) {}
    // The next tile's copies may overwrite slabs that another warp still reads.
    static __device__ __forceinline__ void end_of_tile() { __syncthreads(); }
};
