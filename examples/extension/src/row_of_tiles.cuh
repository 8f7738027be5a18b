// One tile a block, N fastest.
struct RowOfTiles {
    const SchedulerArg& arg;

    __device__ __forceinline__ explicit RowOfTiles(const SchedulerArg& a) : arg(a) {}

    __device__ __forceinline__ Work first() const {
        const unsigned in_plane = blockIdx.x % (arg.tiles_m * arg.tiles_n);
        Work w = {};
        w.tile_m = in_plane / arg.tiles_n;
        w.tile_n = in_plane % arg.tiles_n;
        w.group = blockIdx.x / (arg.tiles_m * arg.tiles_n);
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
