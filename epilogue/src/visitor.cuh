// The epilogue's rolled loop: accumulators → shared memory → vectors → generated text → D.
//
// The mainloop's accumulators arrive as an accumulator source:
//   subtiles                      how many there are
//   row(s), column(s)             where this warp's slab of subtile s begins in the tile
//   for_each_pair(s, f)           f(row, column, x0, x1) for this thread's pairs of neighbours along a row of the slab
// Each warp stages its own slab of `cfg::slab_rows` × `cfg::slab_columns` values, so no other warp waits for it, and reads it
// back as vectors of `cfg::d_vector` elements along D's contiguous direction.
//
// The generated text is `struct Epilogue`:
//   explicit Epilogue(const EpilogueParams&, unsigned batch)                 reads the scalars, once per tile
//   static bool uses_accumulator(const EpilogueParams&, unsigned batch)      false: zero scalars drop every use of acc()
//   Result                                                                   what D is converted from: exact integers or Compute
//   template <int V> struct Loads                                            raw values of one vector's other operands
//   template <int V> Loads<V> load(params, d, coordinates) const             fetches them, one step ahead of visit
//   template <int V> void visit(out, acc, loads, params, coordinates) const  computes V elements of D
//   void end(params, work) const                                             stores what there is one of in a tile
//   bool counts                                                              whether visit asks how many elements there are
// and before that, `cfg::line_passes` times, `measure` of all of a tile and `settle` (lines.cuh).
// It appears once in the kernel. Every lane calls load and visit, with count 0 where it has nothing.

// Writes an accumulator source's pairs to the warp's slab.
struct SlabWriter {
    unsigned slab;

    __device__ __forceinline__ void operator()(unsigned row, unsigned column, Accumulator x0, Accumulator x1) const {
        if constexpr (cfg::vectors_along_rows) {
            ptx::st_shared_number(slab + idx::slab(row, column) * sizeof(Accumulator), x0);
            ptx::st_shared_number(slab + idx::slab(row, column + 1) * sizeof(Accumulator), x1);
        } else {
            ptx::st_shared_pair(slab + idx::slab(row, column) * sizeof(Accumulator), x0, x1);
        }
    }
};

// A vector of V elements, from its row and column in the kernel's terms.
template <int V>
__device__ __forceinline__ Coordinates user_coordinates(const Params& params, const Work& w, unsigned row, unsigned column) {
    row += w.tile_m * cfg::tile_m;
    column += w.tile_n * cfg::output_n;
    const unsigned first = cfg::vectors_along_rows ? row : column, end = cfg::vectors_along_rows ? params.rows : params.columns;
    const unsigned line = cfg::vectors_along_rows ? column : row, lines = cfg::vectors_along_rows ? params.columns : params.rows;
    const unsigned left = first < end ? end - first : 0;
    Coordinates c;
    c.m = cfg::transposed ? column : row;
    c.n = cfg::transposed ? row : column;
    c.batch = w.group;
    c.count = line < lines ? min(left, static_cast<unsigned>(V)) : 0;
    return c;
}

// How a vector of D is stored: every lane calls, `place` is the vector's place in its line of the slab.
struct DirectStore {
    template <class T, int V>
    static __device__ __forceinline__ void store(const TensorArg& d, const Coordinates& c, const Vector<T, V>& x, unsigned) {
        store_tile<T, V>(d, c, x);
    }
};

// A visitor is made once by each thread that runs epilogues: begin<Accumulators>(work) before a tile's products,
// run(work, accumulators) behind them, end() after the last tile.
template <class Tree, class Store>
struct Visitor {
    using Epilogue = Tree;
    static constexpr int V = cfg::d_vector;
    static constexpr unsigned steps = cfg::slab_rows * cfg::slab_columns / (V * 32);

    const Params& params;
    unsigned slab;  // shared address of this warp's slab
    unsigned lane;

    __device__ __forceinline__ Visitor(const Params& p, unsigned shared)
        : params(p), slab(shared + cfg::slab_offset + threadIdx.x / 32 * cfg::slab_bytes), lane(threadIdx.x % 32) {}

    template <class Accumulators>
    __device__ __forceinline__ void begin(const Work&) const {}
    __device__ __forceinline__ void end() const {}

    template <class Accumulators>
    __device__ __forceinline__ void run(const Work& w, const Accumulators& accumulators) const {
        // Of a type, since kernels of other visitors have this text too, and NVRTC 13.0 judges all that names none.
        static_assert(sizeof(Accumulators) > 0 && steps * V * 32 == cfg::slab_rows * cfg::slab_columns,
                      "a warp's vectors fill the slab exactly");
        const Epilogue epilogue(params.epilogue, w.group);
        measure<0>(w, accumulators, epilogue);
        for_each_vector(w, accumulators, epilogue, [&](const Accumulator (&acc)[V], const Loads& loads, const Coordinates& c,
                                                       unsigned place) {
            typename Epilogue::Result out[V];
            epilogue.template visit<V>(out, acc, loads, params.epilogue, c);
            Store::store(params.d, c, Vector<ElementD, V>::encode(out), place);
        });
        epilogue.end(params.epilogue, w);
    }

   private:
    using Loads = typename Epilogue::template Loads<V>;

    // The passes that come before.
    template <int pass, class Accumulators>
    __device__ __forceinline__ void measure(const Work& w, const Accumulators& accumulators, const Epilogue& epilogue) const {
        if constexpr (pass < cfg::line_passes) {
            for_each_vector(w, accumulators, epilogue, [&](const Accumulator (&acc)[V], const Loads& loads, const Coordinates& c,
                                                           unsigned) {
                epilogue.template measure<pass, V>(acc, loads, params.epilogue, c);
            });
            epilogue.template settle<pass, typename Accumulators::Team>(params, w);
            measure<pass + 1>(w, accumulators, epilogue);
        }
    }

    template <class Accumulators, class F>
    __device__ __forceinline__ void for_each_vector(const Work& w, const Accumulators& accumulators, const Epilogue& epilogue,
                                                    const F& f) const {
        Coordinates next;
        Loads ahead;
        // Iteration i fetches for vector i and computes vector i - 1, so the text of both appears once.
#pragma unroll 1
        for (unsigned i = 0; i <= steps * Accumulators::subtiles; ++i) {
            const Coordinates now = next;
            const Loads loads = ahead;
            if (i < steps * Accumulators::subtiles) {
                next = coordinates(w, accumulators, i / steps, i % steps);
                ahead = epilogue.template load<V>(params.epilogue, params.d, next);
            }
            if (i == 0) continue;
            const unsigned step = (i - 1) % steps;
            if (step == 0) {
                __syncwarp();
                accumulators.for_each_pair((i - 1) / steps, SlabWriter{slab});
                __syncwarp();
            }
            Accumulator acc[V];
            read(acc, step);
            const unsigned vector = lane + step * 32;
            f(acc, loads, now, (cfg::vectors_along_rows ? idx::vector_row(vector) : idx::vector_column(vector)) / V);
        }
    }

    template <class Accumulators>
    __device__ __forceinline__ Coordinates coordinates(const Work& w, const Accumulators& accumulators, unsigned subtile,
                                                       unsigned step) const {
        const unsigned vector = lane + step * 32;
        return user_coordinates<V>(params, w, accumulators.row(subtile) + idx::vector_row(vector),
                                   accumulators.column(subtile) + idx::vector_column(vector));
    }

    __device__ __forceinline__ void read(Accumulator (&acc)[V], unsigned step) const {
        const unsigned vector = lane + step * 32;
        const unsigned row = idx::vector_row(vector);
        const unsigned column = idx::vector_column(vector);
        // 16 bytes stay together in the slab.
        constexpr int most = 16 / sizeof(Accumulator), width = V < most ? V : most;
#pragma unroll
        for (int v = 0; v < V; v += width) {
            const unsigned at = cfg::vectors_along_rows ? idx::slab(row + v, column) : idx::slab(row, column + v);
            ptx::ld_shared_vector<width>(acc + v, slab + at * sizeof(Accumulator));
        }
    }
};
