// One unit of work: a tile of the output in the kernel's frame and the part of K to be accumulated into it.
struct Work {
    unsigned tile_m, tile_n;    // which tile
    unsigned group;             // batch entry or group
    unsigned tile;              // the tile's number in the order that tiles are walked
    unsigned k_begin, k_count;  // K tiles [k_begin, k_begin + k_count)
    unsigned split;             // which of the tile's parts along K
    bool last;                  // this part ends K
    bool whole;                 // this part is all of K
    bool valid;                 // false: no work is left
};

// A launch's clusters of CTAs: to schedulers they are one each.
__device__ __forceinline__ unsigned cluster_number() { return blockIdx.x / cfg::cluster_size; }
__device__ __forceinline__ unsigned clusters() { return gridDim.x / cfg::cluster_size; }

// Tile number i of one linear order over all groups, as a whole.
//
// The order walks bands of `band` tiles: along N a band is that many rows of tiles, visited column by column, so that the
// tiles in flight at one time form a block, and share operands in L2. Along M rows and columns change places.
__device__ __forceinline__ Work whole_tile(const SchedulerArg& arg, unsigned i) {
    const unsigned plane = arg.tiles_m * arg.tiles_n;
    const unsigned along = arg.along_m ? arg.tiles_m : arg.tiles_n;
    const unsigned across = arg.along_m ? arg.tiles_n : arg.tiles_m;
    Work w = {};
    w.tile = i;
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
    w.valid = true;
    return w;
}

// First of `total` K tiles in part i of `parts`: the longer parts come first.
template <class Count>
__device__ __forceinline__ Count part_begin(Count total, unsigned parts, unsigned i) {
    const Count longer = total % parts;
    return total / parts * i + min(static_cast<Count>(i), longer);
}
