// Loads by TMA: one thread requests the boxes of this block's slice of each operand, for all blocks that share the tile, or of all
// slices for this block alone.
//
// Of an operand's description (`OperandA`, `OperandB`):
//   slices                      parts of the tile's rows, one loaded by each block of the cluster that shares the tile
//   boxes                       TMA boxes of a slice
//   slice_mn, slice_bytes       from one slice to the next, in rows and in the stage
//   box_mn(i), box_k(i)         where box i begins in its slice
//   box_offset(i), box_bytes    where it goes, from the slice's start, and its size
struct Sm90TmaLoader {
    static constexpr bool shares_a = OperandA::slices > 1, shares_b = OperandB::slices > 1;
    static constexpr unsigned arrivals = 1;
    static constexpr bool one_asks = true;
    static constexpr unsigned stage_bytes = OperandA::slices * OperandA::boxes * OperandA::box_bytes +
                                            OperandB::slices * OperandB::boxes * OperandB::box_bytes;

    const Params& params;
    unsigned shared;
    const Sm90Cluster& place;
    int m, n, k, group;  // where the next K tile begins

    __device__ __forceinline__ Sm90TmaLoader(const Params& p, unsigned s, const Sm90Cluster& c)
        : params(p), shared(s), place(c), m(0), n(0), k(0), group(0) {}

    static __device__ __forceinline__ void prefetch(const Params& params) {
        ptx::prefetch_tensormap(&params.map_a);
        ptx::prefetch_tensormap(&params.map_b);
    }

    // One thread of the block's last warp group.
    static __device__ __forceinline__ bool takes_part() {
        return threadIdx.x / 32 == cfg::threads / 32 - 4 && ptx::elect_one();
    }

    __device__ __forceinline__ void begin(const Work& work, unsigned first_k) {
        m = static_cast<int>(work.tile_m * cfg::tile_m);
        n = static_cast<int>(work.tile_n * cfg::tile_n);
        k = static_cast<int>(first_k);
        group = static_cast<int>(work.group);
    }

    template <bool alone = false>
    __device__ __forceinline__ void fill(unsigned stage, unsigned full) {
        ptx::mbarrier_arrive_expect_tx(full, stage_bytes);
        const SchedulerArg& tiles = params.scheduler;
        issue<OperandA, alone>(params.map_a, m, stage, full, place.column, place.row_mask(), policy(tiles.tiles_n, tiles.tiles_m));
        issue<OperandB, alone>(params.map_b, n, stage, full, place.row, place.column_mask(), policy(tiles.tiles_m, tiles.tiles_n));
        k += static_cast<int>(cfg::tile_k);
    }

    static __device__ __forceinline__ void landed() {}

   private:
    // How L2 is to keep an operand that tiles beside one another (`beside`) read again and again, but not those above: of few rows
    // the other operand is read once, and need not drive out what all read.
    static __device__ __forceinline__ unsigned long long policy(unsigned beside, unsigned above) {
        return beside == 1 ? ptx::evict_first : above == 1 ? ptx::evict_last : ptx::evict_normal;
    }

    // The boxes of this block's slice, for all blocks of `blocks`, or of all slices.
    template <class Operand, bool alone>
    __device__ __forceinline__ void issue(const ptx::TensorMap& map, int mn, unsigned stage, unsigned full, unsigned slice,
                                          unsigned short blocks, unsigned long long policy) const {
        constexpr bool together = Operand::slices > 1 && !alone;
        const unsigned target = shared + Operand::shared + stage * Operand::stage_bytes;
#pragma unroll
        for (unsigned s = 0; s < (together ? 1 : Operand::slices); ++s) {
            const unsigned part = together ? slice : s;
#pragma unroll
            for (unsigned i = 0; i < Operand::boxes; ++i) {
                const int box_mn = mn + static_cast<int>(part * Operand::slice_mn + Operand::box_mn(i));
                const int box_k = k + static_cast<int>(Operand::box_k(i));
                const int c0 = Operand::mn_contiguous ? box_mn : box_k;
                const int c1 = Operand::mn_contiguous ? box_k : box_mn;
                const unsigned to = target + part * Operand::slice_bytes + Operand::box_offset(i);
                if constexpr (together) {
                    ptx::tma_load_multicast(to, &map, full, c0, c1, group, blocks, policy);
                } else {
                    ptx::tma_load(to, &map, full, c0, c1, group, policy);
                }
            }
        }
    }
};
