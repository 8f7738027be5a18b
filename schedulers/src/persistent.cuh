// Persistent scheduler: cluster c takes tiles c, c + the number of clusters, … of one linear order over all groups. With a
// cluster of several CTAs a tile here is one of each, side by side.
struct PersistentScheduler {
    const SchedulerArg& arg;
    unsigned index;

    __device__ __forceinline__ explicit PersistentScheduler(const SchedulerArg& a) : arg(a), index(cluster_number()) {}

    __device__ __forceinline__ Work first() const { return at(index); }

    __device__ __forceinline__ Work next() {
        index += clusters();
        return at(index);
    }

    // Every tile is one piece here, so nothing has to be combined.
    template <class, class Accumulators>
    __device__ __forceinline__ bool fixup(const Work&, Accumulators&) const {
        return true;
    }

   private:
    __device__ __forceinline__ Work at(unsigned i) const {
        if (i < arg.tiles) return whole_tile(arg, i);
        // Whatever this yields is whole: the compiler then drops what is for parts.
        Work none = {};
        none.last = true;
        return none;
    }
};
