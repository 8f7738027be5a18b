// Split-K scheduler: every tile is cut along K into `pieces` parts, one a cluster. All tiles' first parts come first, so that CTAs
// that run together read the same K.
template <class Fixup>
struct SplitKScheduler {
    const SchedulerArg& arg;
    Fixup parts;

    __device__ __forceinline__ explicit SplitKScheduler(const SchedulerArg& a) : arg(a) {}

    __device__ __forceinline__ Work first() const {
        unsigned split = quotient(cluster_number(), arg.by_tiles);
        // Where ptxas sees through it, it spills of large Multistage tiles.
        asm volatile("" : "+r"(split));
        Work w = whole_tile(arg, cluster_number() - split * arg.tiles);
        w.k_begin = part_begin(arg.k_tiles, arg.pieces, arg.part, split);
        w.k_count = part_begin(arg.k_tiles, arg.pieces, arg.part, split + 1) - w.k_begin;
        w.split = split;
        w.last = split + 1 == arg.pieces;
        return w;
    }

    __device__ __forceinline__ Work next() const { return {}; }

    template <class Outputs, class Accumulators>
    __device__ __forceinline__ unsigned fixup(const Work& w, Accumulators& accumulators) {
        return cfg::shares == 1 && w.whole() ? ~0u : parts.template combine<Outputs>(arg, w, arg.pieces, accumulators);
    }

    // The sum of a share of the columns, and the end of all of this block's.
    template <class Accumulators, class Outputs>
    __device__ __forceinline__ void take(const Work& w, unsigned share, Outputs& kept, Outputs& outputs) const {
        parts.template take<Accumulators>(arg, w, arg.pieces, share, kept, outputs);
    }
    __device__ __forceinline__ void end(const Work& w) const { parts.end(arg, w, arg.pieces); }
};
