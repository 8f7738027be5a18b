// Single-tile scheduler: every cluster computes one tile, or one of each of its CTAs side by side, and M runs fastest.
struct SingleTileScheduler {
    const SchedulerArg& arg;

    __device__ __forceinline__ explicit SingleTileScheduler(const SchedulerArg& a) : arg(a) {}

    // The grid is one-dimensional, because its other dimensions end at 65,535.
    __device__ __forceinline__ Work first() const {
        const unsigned plane = arg.tiles_m * arg.tiles_n;
        const unsigned index = cluster_number();
        Work w = {};
        w.group = quotient(index, arg.by_plane);
        const unsigned in_plane = index - w.group * plane;
        w.tile_m = in_plane % arg.tiles_m;
        w.tile_n = in_plane / arg.tiles_m;
        w.k_count = arg.k_tiles;
        w.last = true;
        w.valid = true;
        return w;
    }

    __device__ __forceinline__ Work next() const { return {}; }

    template <class, class Accumulators>
    __device__ __forceinline__ bool fixup(const Work&, Accumulators&) const {
        return true;
    }
};
