// Stream-K scheduler: the first `split_tiles` tiles, as one line of K tiles, are cut into `pieces` nearly equal units, one a
// CTA; the others are whole, and walked as by a persistent scheduler.
struct StreamKScheduler {
    const SchedulerArg& arg;
    unsigned long long begin, end;  // what is left of this CTA's unit
    unsigned tile;                  // its next whole tile

    __device__ __forceinline__ explicit StreamKScheduler(const SchedulerArg& a)
        : arg(a), begin(0), end(0), tile(a.split_tiles + cluster_number()) {
        if (cluster_number() < arg.pieces) {
            begin = part_begin(line(), arg.pieces, arg.part, cluster_number());
            end = part_begin(line(), arg.pieces, arg.part, cluster_number() + 1);
        }
    }

    __device__ __forceinline__ Work first() { return next(); }

    // The unit's last tile comes first: a tile that this CTA begins is stored before it has to wait for the one that its
    // predecessor began.
    __device__ __forceinline__ Work next() {
        if (begin < end) return part();
        if (tile >= arg.tiles) return {};
        const Work w = whole_tile(arg, tile);
        tile += clusters();
        return w;
    }

    template <class Accumulators>
    __device__ __forceinline__ bool fixup(const Work& w, Accumulators& accumulators) const {
        return w.whole || Turnstile::combine(arg, w, arg.pieces, accumulators);
    }

   private:
    __device__ __forceinline__ unsigned long long line() const {
        return static_cast<unsigned long long>(arg.split_tiles) * arg.k_tiles;
    }

    // The unit that holds K tile `at` of the line.
    __device__ __forceinline__ unsigned unit_of(unsigned long long at) const {
        const unsigned long long shorter = arg.part, longer = line() - shorter * arg.pieces;
        const unsigned long long in_longer = longer * (shorter + 1);
        const unsigned long long unit = at < in_longer ? at / (shorter + 1) : longer + (at - in_longer) / shorter;
        return static_cast<unsigned>(unit);
    }

    __device__ __forceinline__ Work part() {
        const unsigned i = static_cast<unsigned>((end - 1) / arg.k_tiles);
        const unsigned long long origin = static_cast<unsigned long long>(i) * arg.k_tiles;
        const unsigned long long from = max(begin, origin);
        Work w = whole_tile(arg, i);
        w.k_begin = static_cast<unsigned>(from - origin);
        w.k_count = static_cast<unsigned>(end - from);
        w.split = cluster_number() - unit_of(origin);
        w.last = end - origin == arg.k_tiles;
        w.whole = w.k_count == arg.k_tiles;
        end = from;
        return w;
    }
};
