// Loads what TMA cannot address: the threads of a warp group copy by cp.async, or element by element where alignment forbids that
// (operands.cuh), into the layout that TMA would fill. Blocks of a cluster load for themselves.
struct Sm90CopyLoader {
    static constexpr bool shares_a = false, shares_b = false;
    static constexpr bool direct = OperandA::Copy::direct || OperandB::Copy::direct;
    static constexpr bool asynchronous = !OperandA::Copy::direct || !OperandB::Copy::direct;
    // A thread arrives when it has stored, and again when what it copies has landed.
    static constexpr unsigned arrivals = cfg::copiers * (direct + asynchronous);

    static constexpr bool one_asks = false;

    const Params& params;
    OperandLoader<OperandA> copy_a;
    OperandLoader<OperandB> copy_b;

    __device__ __forceinline__ Sm90CopyLoader(const Params& p, unsigned shared, const Sm90Cluster&)
        : params(p), copy_a(p.a, shared), copy_b(p.b, shared) {}

    static __device__ __forceinline__ void prefetch(const Params&) {}
    static __device__ __forceinline__ bool takes_part() { return true; }

    __device__ __forceinline__ void begin(const Work& work, unsigned first_k) {
        copy_a.begin(params.a, work.group, work.tile_m * cfg::tile_m, params.rows, first_k, params.depth);
        copy_b.begin(params.b, work.group, work.tile_n * cfg::tile_n, params.columns, first_k, params.depth);
    }

    __device__ __forceinline__ void fill(unsigned stage, unsigned full) {
        copy_a.issue(0, 1, stage * OperandA::stage_bytes);
        copy_b.issue(0, 1, stage * OperandB::stage_bytes);
        if constexpr (direct) ptx::mbarrier_arrive(full);
        if constexpr (asynchronous) ptx::mbarrier_arrive_copies(full);
    }

    // Threads wrote, and the instructions read as TMA would.
    static __device__ __forceinline__ void landed() { ptx::fence_proxy_async(); }
};
