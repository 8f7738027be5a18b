// Putting the parts of a tile together through workspace. A sum is (…(p0 + p1) + p2) + … in the accumulator's type, whoever
// computes it, so every way of fix-up, and the host's, gives the same bits.
//
// Accumulators have `Value`, `vectors` and for_each_vector(f), which calls f(i, x) with each Value (&x)[n] of a thread. Vector
// i of thread t lies at (i × threads + t) × sizeof(x) of a part's partials: neighbouring threads touch neighbouring bytes.
// `Team`: `threads`, how many hold them, the first of the block; synchronize() and any(condition) of all that multiply.
// Where `cfg::shares` blocks add up a share of the columns each, what has a share's accumulators, Outputs, has besides
//   share_of(i), vector_of(i, share)   whose the whole's vector i is, and which of the whole's is vector i of a share
//   take(whole, share)                 copies them from the whole
//
// Flags are zero when a launch begins, and it leaves them zero. Stores become visible through them: synchronize() orders all
// threads' stores before thread 0's release, and thread 0's acquire before all threads' loads.
template <class Accumulators>
struct Partials {
    using Value = typename Accumulators::Value;
    static constexpr unsigned threads = Accumulators::Team::threads;
    // Bytes of one part.
    static constexpr unsigned long long stride = cfg::tile_m * cfg::output_n * cfg::shares * sizeof(Value);

    unsigned char* base;

    __device__ __forceinline__ Partials(const SchedulerArg& arg, unsigned long long part)
        : base(static_cast<unsigned char*>(arg.partials) + part * stride) {}

    __device__ __forceinline__ void store(Accumulators& accumulators) const {
        accumulators.for_each_vector([this](unsigned i, auto& x) { write(at(i, x), x); });
    }

    // What these shares have of it, a bit each.
    template <class Outputs>
    __device__ __forceinline__ void store(Accumulators& accumulators, unsigned shares) const {
        accumulators.for_each_vector([&](unsigned i, auto& x) {
            if (shares >> Outputs::share_of(i) & 1) write(at(i, x), x);
        });
    }

    // Accumulators plus what is stored.
    __device__ __forceinline__ void add_to(Accumulators& accumulators) const {
        accumulators.for_each_vector([this](unsigned i, auto& x) {
            constexpr unsigned n = sizeof(x) / sizeof(Value);
            Value y[n];
            read(y, at(i, x));
#pragma unroll
            for (unsigned v = 0; v < n; ++v) x[v] += y[v];
        });
    }

    // The sums of all parts of a tile, the first of which is `first`, or of a share of them. Few sums leave registers to load several
    // parts before one is added: every load takes as long as the way to L2 and back.
    template <class Sums, class From>
    static __device__ __forceinline__ void sum(const SchedulerArg& arg, unsigned long long first, unsigned parts, const From& from,
                                               Sums& sums) {
        // Values of a thread, and how many parts of them it may hold beside its sums.
        constexpr unsigned values = stride / (threads * sizeof(Value)) * Sums::vectors / Accumulators::vectors;
        constexpr unsigned ahead = From::held < 2 * values ? 1 : From::held / values;
        sums.for_each_vector([&](unsigned i, auto& x) { from.read(arg, first, 0, i, x); });
#pragma unroll 1
        for (unsigned part = 1; part < parts; part += ahead) {
            if constexpr (ahead == 1) {
                sums.for_each_vector([&](unsigned i, auto& x) {
                    constexpr unsigned n = sizeof(x) / sizeof(Value);
                    Value y[n];
                    from.read(arg, first, part, i, y);
#pragma unroll
                    for (unsigned v = 0; v < n; ++v) x[v] += y[v];
                });
                continue;
            }
            Value held[ahead][values];
#pragma unroll
            for (unsigned a = 0; a < ahead; ++a) {
                if (part + a >= parts) continue;
                sums.for_each_vector([&](unsigned i, auto& x) {
                    constexpr unsigned n = sizeof(x) / sizeof(Value);
                    Value y[n];
                    from.read(arg, first, part + a, i, y);
#pragma unroll
                    for (unsigned v = 0; v < n; ++v) held[a][i * n + v] = y[v];
                });
            }
#pragma unroll
            for (unsigned a = 0; a < ahead; ++a) {
                if (part + a >= parts) continue;
                sums.for_each_vector([&](unsigned i, auto& x) {
                    constexpr unsigned n = sizeof(x) / sizeof(Value);
#pragma unroll
                    for (unsigned v = 0; v < n; ++v) x[v] += held[a][i * n + v];
                });
            }
        }
    }

    // All of every part.
    struct All {
        static constexpr unsigned held = 32;

        template <unsigned n>
        __device__ __forceinline__ void read(const SchedulerArg& arg, unsigned long long first, unsigned part, unsigned i,
                                             Value (&y)[n]) const {
            const Partials partials(arg, first + part);
            partials.read(y, partials.at(i, y));
        }
    };

    // A share, of which registers hold what one part has, and nothing else by now.
    template <class Outputs>
    struct Share {
        static constexpr unsigned held = 96;

        Outputs& own;
        unsigned share, holder;  // a holder that is no part: all of them are stored

        template <unsigned n>
        __device__ __forceinline__ void read(const SchedulerArg& arg, unsigned long long first, unsigned part, unsigned i,
                                             Value (&y)[n]) const {
            if (part == holder) {
                own.for_each_vector([&](unsigned j, auto& x) {
                    if (j == i) memcpy(y, x, sizeof(y));
                });
            } else {
                const Partials partials(arg, first + part);
                partials.read(y, partials.at(Outputs::vector_of(i, share), y));
            }
        }
    };

   private:
    template <class V>
    __device__ __forceinline__ unsigned char* at(unsigned i, const V& x) const {
        static_assert(Accumulators::vectors * threads * sizeof(x) == stride, "a part is all threads' vectors");
        return base + (i * threads + threadIdx.x) * sizeof(x);
    }

    // Bytes of one access to a vector of n values.
    template <unsigned n>
    static constexpr unsigned width = n * sizeof(Value) % 16 == 0 ? 16 : n * sizeof(Value) % 8 == 0 ? 8 : 4;

    template <unsigned n>
    static __device__ __forceinline__ void write(unsigned char* to, const Value (&x)[n]) {
        static_assert(sizeof(x) % width<n> == 0, "a vector is whole accesses");
        unsigned words[sizeof(x) / 4];
        memcpy(words, x, sizeof(x));
#pragma unroll
        for (unsigned b = 0; b < sizeof(x); b += width<n>) ptx::st_global<width<n>>(to + b, words + b / 4);
    }

    template <unsigned n>
    static __device__ __forceinline__ void read(Value (&x)[n], const unsigned char* from) {
        unsigned words[sizeof(x) / 4];
#pragma unroll
        for (unsigned b = 0; b < sizeof(x); b += width<n>) ptx::ld_global<width<n>>(words + b / 4, from + b);
        memcpy(x, words, sizeof(x));
    }
};

// In the order of K: a part waits for its predecessor, adds what is stored and stores the sum. One part a tile; the part that
// ends K keeps the sum. Waits for CTAs of lower numbers only, which started before.
struct Turnstile {
    template <class, class Accumulators>
    static __device__ __forceinline__ bool combine(const SchedulerArg& arg, const Work& w, unsigned,
                                                   Accumulators& accumulators) {
        const Partials<Accumulators> partials(arg, w.tile);
        unsigned* flag = arg.flags + w.tile;
        if (w.split > 0) {
            if (threadIdx.x == 0) {
                while (ptx::ld_acquire(flag) != w.split) {
                }
            }
            Accumulators::Team::synchronize();
            partials.add_to(accumulators);
        }
        if (!w.last) partials.store(accumulators);
        Accumulators::Team::synchronize();
        if (threadIdx.x == 0) ptx::st_release(flag, w.last ? 0 : w.split + 1);
        return w.last;
    }
};

// Share s of a tile's columns is of part s % parts. Part s keeps what it has of share s, stores all others, waits a while until everyone
// has done that, and adds up its shares. Nobody waits for long, since nobody knows whether the others run already: who gives up leaves
// its shares to the last to arrive.
template <unsigned shares>
struct Arrivals {
    // In a tile's flag: parts that arrived, blocks with shares that went on, of which no more is to come, and shares that were given up.
    static constexpr unsigned arrived = 1, gone = 1 << 8, given_up = 1 << 16;
    // Looks at the flag, each of which takes as long as the way to L2 and back.
    static constexpr unsigned patience = 64;

    unsigned before = 0;  // what the flag was when this block went on
    bool goes = false;    // whether it did, and has not looked at that yet

    // Which shares this block adds up, a bit each.
    template <class Outputs, class Accumulators>
    __device__ __forceinline__ unsigned combine(const SchedulerArg& arg, const Work& w, unsigned parts, Accumulators& accumulators) {
        using Team = typename Accumulators::Team;
        unsigned own = 0;
        for (unsigned share = w.split; share < shares; share += parts) own |= 1u << share;
        const Partials<Accumulators> partials(arg, static_cast<unsigned long long>(w.tile) * parts + w.split);
        const unsigned kept = 1u << (w.split % 32) & own;
        partials.template store<Outputs>(accumulators, ~kept);
        Team::synchronize();
        unsigned* const flag = arg.flags + w.tile;
        const bool first = threadIdx.x == 0;
        bool complete = false;
        unsigned left = 0;  // what the others left to this block
        if (first) {
            before = ptx::atom_add_acq_rel(flag, arrived);
            complete = in(before, arrived) + 1 == parts;
            if (complete) left = before / given_up;
            // Nobody else will clear it.
            if (complete && own == 0 && in(before, gone) == waiting(parts)) ptx::st_relaxed(flag, 0);
            for (unsigned i = 0; i < patience && own != 0 && !complete; ++i) complete = in(ptx::ld_acquire(flag), arrived) == parts;
        }
        if (!Team::any(complete)) {
            if (own == 0) return 0;
            partials.template store<Outputs>(accumulators, kept);
            Team::synchronize();
            if (first) {
                before = ptx::atom_add_acq_rel(flag, gone + own * given_up);
                complete = in(before, arrived) == parts;
            }
            goes = Team::any(complete);
            return goes ? own : 0;
        }
        if (own != 0) {
            if (first) before = ptx::atom_add_relaxed(flag, gone);
            goes = true;
        }
        if (Team::any(left != 0)) {
#pragma unroll 1
            for (unsigned share = 0; share < shares; ++share) own |= Team::any(left >> share & 1) << share;
        }
        return own;
    }

    // The sum of a share; `kept` is what this part has of the one whose number it has.
    template <class Accumulators, class Outputs>
    static __device__ __forceinline__ void take(const SchedulerArg& arg, const Work& w, unsigned parts, unsigned share, Outputs& kept,
                                                Outputs& outputs) {
        using Kept = Partials<Accumulators>;
        const typename Kept::template Share<Outputs> from{kept, share, share == w.split ? share : parts};
        Kept::sum(arg, static_cast<unsigned long long>(w.tile) * parts, parts, from, outputs);
    }

    // When all is done: the last to go on leaves the flag as it was. Until then nobody waits for the answer of the one before.
    __device__ __forceinline__ void end(const SchedulerArg& arg, const Work& w, unsigned parts) const {
        if (threadIdx.x == 0 && goes && in(before, gone) + 1 == waiting(parts)) ptx::st_relaxed(arg.flags + w.tile, 0);
    }

   private:
    static __device__ __forceinline__ unsigned in(unsigned flag, unsigned field) { return flag / field & 0xff; }
    // Blocks that have shares.
    static __device__ __forceinline__ unsigned waiting(unsigned parts) { return min(parts, shares); }
};

// Nobody waits: every part is stored, and the CTA that is the last to arrive adds them up.
template <>
struct Arrivals<1> {
    template <class, class Accumulators>
    static __device__ __forceinline__ bool combine(const SchedulerArg& arg, const Work& w, unsigned parts,
                                                   Accumulators& accumulators) {
        using Kept = Partials<Accumulators>;
        const unsigned long long first = static_cast<unsigned long long>(w.tile) * parts;
        Kept(arg, first + w.split).store(accumulators);
        Accumulators::Team::synchronize();
        // Counts to parts - 1, then starts over.
        const bool last = threadIdx.x == 0 && ptx::atom_inc_acq_rel(arg.flags + w.tile, parts - 1) == parts - 1;
        if (!Accumulators::Team::any(last)) return false;
        Kept::sum(arg, first, parts, typename Kept::All{}, accumulators);
        return true;
    }
};
