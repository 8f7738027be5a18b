// Putting the parts of a tile together through workspace. A sum is (…(p0 + p1) + p2) + … in the accumulator's type, whoever
// computes it, so every way of fix-up, and the host's, gives the same bits.
//
// Accumulators have `Value`, `vectors` and for_each_vector(f), which calls f(i, x) with each Value (&x)[n] of a thread. Vector
// i of thread t lies at (i × threads + t) × sizeof(x) of a part's partials: neighbouring threads touch neighbouring bytes.
// `Team`: `threads`, how many hold them, the first of the block; synchronize() and any(condition) of all that multiply.
//
// Flags are zero when a launch begins, and it leaves them zero. Stores become visible through them: synchronize() orders all
// threads' stores before thread 0's release, and thread 0's acquire before all threads' loads.
template <class Accumulators>
struct Partials {
    using Value = typename Accumulators::Value;
    static constexpr unsigned threads = Accumulators::Team::threads;
    // Bytes of one part.
    static constexpr unsigned long long stride = cfg::tile_m * cfg::output_n * sizeof(Value);

    unsigned char* base;

    __device__ __forceinline__ Partials(const SchedulerArg& arg, unsigned long long part)
        : base(static_cast<unsigned char*>(arg.partials) + part * stride) {}

    __device__ __forceinline__ void store(Accumulators& accumulators) const {
        accumulators.for_each_vector([this](unsigned i, auto& x) { write(at(i, x), x); });
    }

    __device__ __forceinline__ void load(Accumulators& accumulators) const {
        accumulators.for_each_vector([this](unsigned i, auto& x) { read(x, at(i, x)); });
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

    // Values of a thread, and how many parts of them it may hold beside its sums.
    static constexpr unsigned values = stride / (threads * sizeof(Value));
    static constexpr unsigned ahead = values < 32 ? 32 / values : 1;

    // The sums of all parts of a tile, the first of which is `first`. Few sums leave registers to load several parts before one is
    // added: every load takes as long as the way to L2 and back.
    static __device__ __forceinline__ void sum(const SchedulerArg& arg, unsigned long long first, unsigned parts,
                                               Accumulators& accumulators) {
        Partials(arg, first).load(accumulators);
#pragma unroll 1
        for (unsigned part = 1; part < parts; part += ahead) {
            if constexpr (ahead == 1) {
                Partials(arg, first + part).add_to(accumulators);
                continue;
            }
            Value held[ahead][values];
#pragma unroll
            for (unsigned a = 0; a < ahead; ++a) {
                if (part + a >= parts) continue;
                const Partials from(arg, first + part + a);
                accumulators.for_each_vector([&](unsigned i, auto& x) {
                    constexpr unsigned n = sizeof(x) / sizeof(Value);
                    Value y[n];
                    read(y, from.at(i, x));
#pragma unroll
                    for (unsigned v = 0; v < n; ++v) held[a][i * n + v] = y[v];
                });
            }
#pragma unroll
            for (unsigned a = 0; a < ahead; ++a) {
                if (part + a >= parts) continue;
                accumulators.for_each_vector([&](unsigned i, auto& x) {
                    constexpr unsigned n = sizeof(x) / sizeof(Value);
#pragma unroll
                    for (unsigned v = 0; v < n; ++v) x[v] += held[a][i * n + v];
                });
            }
        }
    }

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
    template <class Accumulators>
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

// Nobody waits: every part is stored, and the CTA that is the last to arrive adds them up.
struct LastArrival {
    template <class Accumulators>
    static __device__ __forceinline__ bool combine(const SchedulerArg& arg, const Work& w, unsigned parts,
                                                   Accumulators& accumulators) {
        const unsigned long long first = static_cast<unsigned long long>(w.tile) * parts;
        Partials<Accumulators>(arg, first + w.split).store(accumulators);
        Accumulators::Team::synchronize();
        // Counts to parts - 1, then starts over.
        const bool last = threadIdx.x == 0 && ptx::atom_inc_acq_rel(arg.flags + w.tile, parts - 1) == parts - 1;
        if (!Accumulators::Team::any(last)) return false;
        Partials<Accumulators>::sum(arg, first, parts, accumulators);
        return true;
    }
};
