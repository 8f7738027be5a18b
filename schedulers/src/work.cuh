// One unit of work: a tile of the output in the kernel's frame and the part of K to be accumulated into it.
struct Work {
    unsigned tile_m, tile_n;    // which tile
    unsigned group;             // batch entry or group
    unsigned k_begin, k_count;  // K tiles [k_begin, k_begin + k_count)
    unsigned split;             // which of the tile's parts along K
    bool last;                  // this part runs the epilogue
    bool whole;                 // this part is all of K
    bool valid;                 // false: no work is left
};
