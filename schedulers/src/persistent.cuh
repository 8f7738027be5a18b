// Persistent scheduler: CTA c takes tiles c, c + gridDim.x, … of one linear order over all groups.
//
// The order walks bands of `band` tiles: along N a band is that many rows of tiles, visited column by column, so that the
// tiles in flight at one time form a block, and share operands in L2. Along M rows and columns change places.
struct PersistentScheduler {
    const SchedulerArg& arg;
    unsigned index;

    __device__ __forceinline__ explicit PersistentScheduler(const SchedulerArg& a) : arg(a), index(blockIdx.x) {}

    __device__ __forceinline__ Work first() const { return at(index); }

    __device__ __forceinline__ Work next() {
        index += gridDim.x;
        return at(index);
    }

    // Every tile is one piece here, so nothing has to be combined.
    template <class Accumulators>
    __device__ __forceinline__ void fixup(const Work&, Accumulators&) const {}

   private:
    __device__ __forceinline__ Work at(unsigned i) const {
        Work w = {};
        w.valid = i < arg.tiles;
        if (!w.valid) return w;
        const unsigned plane = arg.tiles_m * arg.tiles_n;
        const unsigned along = arg.along_m ? arg.tiles_m : arg.tiles_n;
        const unsigned across = arg.along_m ? arg.tiles_n : arg.tiles_m;
        w.group = i / plane;
        const unsigned in_plane = i % plane;
        const unsigned band = in_plane / (arg.band * along);
        const unsigned in_band = in_plane % (arg.band * along);
        const unsigned width = min(arg.band, across - band * arg.band);
        const unsigned position = in_band / width;
        const unsigned lane = band * arg.band + in_band % width;
        w.tile_m = arg.along_m ? position : lane;
        w.tile_n = arg.along_m ? lane : position;
        w.k_count = arg.k_tiles;
        w.last = true;
        w.whole = true;
        return w;
    }
};
