// Single-tile scheduler: the grid is (tiles along M, tiles along N, batches) and every CTA computes its own tile.
struct SingleTileScheduler {
    const SchedulerArg& arg;

    __device__ __forceinline__ explicit SingleTileScheduler(const SchedulerArg& a) : arg(a) {}

    __device__ __forceinline__ Work first() const {
        Work w = {};
        w.tile_m = blockIdx.x;
        w.tile_n = blockIdx.y;
        w.batch = blockIdx.z;
        w.k_count = arg.k_tiles;
        w.last = true;
        w.valid = true;
        return w;
    }

    __device__ __forceinline__ Work next() const { return {}; }

    template <class Accumulators>
    __device__ __forceinline__ void fixup(const Work&, Accumulators&) const {}
};
