// One unit of work: a tile of the output in the kernel's frame and the part of K to be accumulated into it.
struct Work {
    unsigned tile_m, tile_n;    // which tile
    unsigned group;             // batch entry or group
    unsigned tile;              // the tile's number in the order that tiles are walked
    unsigned k_begin, k_count;  // K tiles [k_begin, k_begin + k_count)
    unsigned split;             // which of the tile's parts along K
    bool last;                  // this part ends K
    bool valid;                 // false: no work is left

    // Whether this part is all of K.
    __device__ __forceinline__ bool whole() const { return split == 0 && last; }
};

// A launch's clusters of CTAs: to schedulers they are one each.
__device__ __forceinline__ unsigned cluster_number() { return blockIdx.x / cfg::cluster_size; }
__device__ __forceinline__ unsigned clusters() { return gridDim.x / cfg::cluster_size; }

// x divided by what the divisor was made of, rounded down.
__device__ __forceinline__ unsigned quotient(unsigned x, const Divisor& by) {
    const unsigned long long product = static_cast<unsigned long long>(x) * by.multiplier;
    return static_cast<unsigned>(((product >> 32) + x) >> by.shift);
}

// Tile number i of one linear order over all groups, as a whole.
//
// The order walks bands of `band` tiles: along N a band is that many rows of tiles, visited column by column, so that the
// tiles in flight at one time form a block, and share operands in L2. Along M rows and columns change places.
__device__ __forceinline__ Work whole_tile(const SchedulerArg& arg, unsigned i) {
    const unsigned along = arg.along_m ? arg.tiles_m : arg.tiles_n;
    const unsigned across = arg.along_m ? arg.tiles_n : arg.tiles_m;
    Work w = {};
    w.tile = i;
    w.group = quotient(i, arg.by_plane);
    const unsigned in_plane = i - w.group * (arg.tiles_m * arg.tiles_n);
    const unsigned band = quotient(in_plane, arg.by_line);
    const unsigned in_band = in_plane - band * (arg.band * along);
    const unsigned width = min(arg.band, across - band * arg.band);
    const unsigned position = quotient(in_band, width == arg.band ? arg.by_band : arg.by_rest);
    const unsigned lane = band * arg.band + in_band - position * width;
    w.tile_m = arg.along_m ? position : lane;
    w.tile_n = arg.along_m ? lane : position;
    w.k_count = arg.k_tiles;
    w.last = true;
    w.valid = true;
    return w;
}

// First of `total` K tiles in part i of `parts`, each of which has `part` or one more: the longer parts come first.
__device__ __forceinline__ unsigned part_begin(unsigned total, unsigned parts, unsigned part, unsigned i) {
    return part * i + min(i, total - part * parts);
}
// The same of a number of parts that is a constant.
__device__ __forceinline__ unsigned part_begin(unsigned total, unsigned parts, unsigned i) {
    return part_begin(total, parts, total / parts, i);
}
