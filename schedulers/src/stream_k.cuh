// Stream-K scheduler: the first `split_tiles` tiles, as one line of K tiles, are cut into `pieces` nearly equal units, one a
// CTA; the others are whole, and walked as by a persistent scheduler.
struct StreamKScheduler {
    const SchedulerArg& arg;
    unsigned end;   // of what is left of this CTA's unit
    unsigned tile;  // its next whole tile

    __device__ __forceinline__ explicit StreamKScheduler(const SchedulerArg& a)
        : arg(a), end(0), tile(a.split_tiles + cluster_number()) {
        if (cluster_number() < arg.pieces) end = begin(1);
    }

    __device__ __forceinline__ Work first() { return next(); }

    // The unit's last tile comes first: a tile that this CTA begins is stored before it has to wait for the one that its
    // predecessor began.
    __device__ __forceinline__ Work next() {
        if (cluster_number() < arg.pieces && begin(0) < end) return part();
        if (tile >= arg.tiles) return {};
        const Work w = whole_tile(arg, tile);
        tile += clusters();
        return w;
    }

    template <class Outputs, class Accumulators>
    __device__ __forceinline__ bool fixup(const Work& w, Accumulators& accumulators) const {
        return w.whole() || Turnstile::combine<Outputs>(arg, w, arg.pieces, accumulators);
    }

   private:
    // Where this CTA's unit begins, or that of the CTA which is `beyond` it. Not kept: registers are dear to large tiles.
    __device__ __forceinline__ unsigned begin(unsigned beyond) const {
        return part_begin(line(), arg.pieces, arg.part, cluster_number() + beyond);
    }

    __device__ __forceinline__ unsigned line() const { return arg.split_tiles * arg.k_tiles; }

    // The unit that holds K tile `at` of the line.
    __device__ __forceinline__ unsigned unit_of(unsigned at) const {
        const unsigned shorter = arg.part, longer = line() - shorter * arg.pieces;
        const unsigned in_longer = longer * (shorter + 1);
        return at < in_longer ? at / (shorter + 1) : longer + (at - in_longer) / shorter;
    }

    __device__ __forceinline__ Work part() {
        const unsigned i = (end - 1) / arg.k_tiles;
        const unsigned origin = i * arg.k_tiles;
        const unsigned from = max(begin(0), origin);
        Work w = whole_tile(arg, i);
        w.k_begin = from - origin;
        w.k_count = end - from;
        w.split = cluster_number() - unit_of(origin);
        w.last = end - origin == arg.k_tiles;
        end = from;
        return w;
    }
};
