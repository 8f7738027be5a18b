// The epilogue of accumulators in fragments that TMA takes to D: registers → generated text → shared memory → D, and the one
// matrix that the text reads, if it has D's width, the other way round through the same memory.
//
// The accumulator source is that of visitor.cuh, and has
//   slabs_n, parts                subtiles side by side, the first ones, and rows of them
//   for_each_numbered(s, f)       f(i, x0, x1) for this thread's pairs of a subtile, in the order of its m16n8 fragments
//   advance()                     subtile s is subtile s + 1 from now on
// `cfg::slab_warps` warps share `cfg::slabs` slabs, each a subtile of D: where D is contiguous along the kernel's columns every warp
// has its own, so that no other warp waits for it; along its rows, of which a fragment has 16, the four of a warp group have rows of
// D that are long enough together. A slab's copy to D runs under the next subtile, and the last ones under the next tile's mainloop.
//
// One matrix that the text stores beside D, of D's width, takes the same way from slabs behind D's, `cfg::has_aux`.
//
// What there is beside the generated text of visitor.cuh:
//   Output                             generated: how a slab lies, and the TMA boxes that it is
//     Aux, boxes, box_bytes, source_map(params), aux_map(params)
//     at(row, column), box_row(i), box_column(i), box_offset(i)   in elements, of a slab
//   Epilogue::Vectors                  what a thread keeps of a tile's vectors
//   Vectors Epilogue::fetch(params, rows, column, columns)   fetches it: `rows` are the coordinates of the first two pairs of
//                                      each part's first subtile, `column` is the tile's first one of the kernel's `columns`
//   Epilogue::spread(loads, vectors, part, column)   hands all pairs of a subtile theirs, which begins at that column of the tile;
//                                      every lane of a warp calls it
//   Epilogue::Staged                   what is read through the slabs: its element
//   bool Epilogue::reads_staged()      whether a tile reads it
//   void Epilogue::stage(loads, x)     puts a vector of it where visit finds it
//   Epilogue::aux                      what is stored beside D, of the last visit: elements of Output::Aux
template <class Tree>
struct BulkVisitor {
    using Epilogue = Tree;
    static constexpr unsigned fragments = cfg::slab_columns / 8;
    static constexpr unsigned pairs = 2 * fragments;
    static constexpr int V = 2;
    static constexpr unsigned own_slabs = cfg::slabs * (1 + cfg::has_aux);
    using Loads = typename Epilogue::template Loads<V>;
    using Values = Vector<ElementD, V>;

    const Params& params;
    // Warps agree on what follows from their numbers: told so, the compiler hands it to the copies without a loop over lanes.
    unsigned warp;
    unsigned first_row;  // of this warp's first subtile, in a tile
    unsigned slabs;     // shared address of this warp's slabs
    unsigned barriers;  // of the barriers that their loads complete, one a slab
    unsigned lane;
    bool leads;  // whether this thread asks for the copies
    unsigned turn = 0;     // subtiles so far: the next one's slab is turn % cfg::slabs
    unsigned parities = 0;  // of the barriers, a bit each
    bool ahead = false;    // whether the next tile's first load was issued
    typename Epilogue::Vectors vectors;
    bool fetched = false;  // whether they are the next tile's

    __device__ __forceinline__ BulkVisitor(const Params& p, unsigned shared)
        : params(p),
          warp(__shfl_sync(~0u, threadIdx.x / 32, 0)),
          first_row(idx::warp_row(warp)),
          slabs(shared + cfg::slab_offset + warp / cfg::slab_warps * (own_slabs * cfg::slab_bytes)),
          barriers(shared + cfg::source_barriers_offset + warp / cfg::slab_warps * (cfg::slabs * 8)),
          lane(threadIdx.x % 32),
          leads(lane == 0 && warp % cfg::slab_warps == 0) {
        if (threadIdx.x == 0) ptx::prefetch_tensormap(&params.map_d);
        if constexpr (cfg::has_source) {
            if (leads) {
#pragma unroll
                for (unsigned i = 0; i < cfg::slabs; ++i) ptx::mbarrier_init(barriers + i * 8, 1);
                ptx::fence_mbarrier_init();
                ptx::fence_proxy_async();
            }
            meet();
        }
    }

    // Before a tile's products: its vectors can arrive under them, and what its first subtile reads, where no operands are.
    template <class Accumulators>
    __device__ __forceinline__ void begin(const Work& w) {
        vectors = fetch_vectors<Accumulators>(w);
        fetched = true;
        if constexpr (cfg::has_source && !cfg::lends_slabs) {
            if (!Epilogue(params.epilogue, w.group).reads_staged()) return;
            fetch<Accumulators>(w, 0);
            ahead = true;
        }
    }

    template <class Accumulators>
    __device__ __forceinline__ void run(const Work& w, const Accumulators& accumulators) {
        const Epilogue epilogue(params.epilogue, w.group);
        bool reads = false;
        if constexpr (cfg::has_source) {
            reads = epilogue.reads_staged();
            if (reads && !ahead) fetch<Accumulators>(w, 0);
            ahead = false;
        }
        if (!fetched) vectors = fetch_vectors<Accumulators>(w);
        fetched = false;
        Accumulators rest = accumulators;
#pragma unroll(cfg::unroll_subtiles ? Accumulators::subtiles : 1)
        for (unsigned s = 0; s < Accumulators::subtiles; ++s) {
            Loads loads[pairs];
#pragma unroll
            for (unsigned i = 0; i < pairs; ++i) {
                loads[i] = epilogue.template load<V>(params.epilogue, params.d, coordinates<Accumulators>(w, s, i));
            }
            Epilogue::spread(loads, vectors, s / Accumulators::slabs_n, Accumulators::column(s));
            const unsigned slab = slabs + turn % cfg::slabs * cfg::slab_bytes;
            if constexpr (cfg::has_source) {
                if (reads) {
                    if (s + 1 < Accumulators::subtiles) fetch<Accumulators>(w, s + 1);
                    await();
                    read(slab, epilogue, loads);
                } else {
                    released<cfg::slabs - 1>();
                }
                __syncwarp();
            }
            Accumulator acc[pairs][V];
            rest.for_each_numbered(cfg::unroll_subtiles ? s : 0, [&](unsigned i, Accumulator x0, Accumulator x1) {
                acc[i][0] = x0;
                acc[i][1] = x1;
            });
            if constexpr (cfg::line_passes > 0) measure(w, s, rest, epilogue, acc, loads);
            Values d[pairs];
            Vector<Output::Aux, V> aux[pairs];
            const auto visit = [&](auto inside) {
#pragma unroll
                for (unsigned i = 0; i < pairs; ++i) {
                    Coordinates c = coordinates<Accumulators>(w, s, i);
                    if constexpr (inside.value) c.count = V;
                    if constexpr (cfg::line_passes > 0) epilogue.pair = i;
                    typename Epilogue::Result out[V];
                    epilogue.template visit<V>(out, acc[i], loads[i], params.epilogue, c);
                    d[i] = Values::encode(out);
                    if constexpr (cfg::has_aux) aux[i] = epilogue.aux;
                }
            };
            // Asking for every element costs as much as reducing it.
            if (Epilogue::counts && inside<Accumulators>(w, s)) {
                visit(Known<true>{});
            } else {
                visit(Known<false>{});
            }
            if constexpr (!cfg::has_source) released<cfg::slabs - 1>();
            write(slab, d);
            if constexpr (cfg::has_aux) write(slab + cfg::slabs * cfg::slab_bytes, aux);
            store<Accumulators>(w, s, slab);
            ++turn;
            // Found by its number, a subtile would have to be copied, and the registers of those before stay taken.
            if constexpr (!cfg::unroll_subtiles) rest.advance();
        }
        epilogue.end(params.epilogue, w);
    }

    // Shared memory must outlive the copies from it.
    __device__ __forceinline__ void end() const {
        if (leads) ptx::bulk_wait_read<0>();
    }

   private:
    // The warps that share slabs.
    __device__ __forceinline__ void meet() const {
        if constexpr (cfg::slab_warps == 1) {
            __syncwarp();
        } else {
            ptx::barrier_sync(cfg::slab_barrier + warp / cfg::slab_warps, cfg::slab_warps * 32);
        }
    }

    template <bool x>
    struct Known {
        static constexpr bool value = x;
    };

    // Whether all of a subtile's elements exist.
    template <class Accumulators>
    __device__ __forceinline__ bool inside(const Work& w, unsigned s) const {
        return w.tile_m * cfg::tile_m + Accumulators::row(s) + cfg::slab_rows <= params.rows &&
               w.tile_n * cfg::output_n + Accumulators::column(s) + cfg::slab_columns <= params.columns;
    }

    // What values of lines become together, of a subtile and those behind it that share blocks with it (lines_fragments.cuh).
    template <class Accumulators>
    __device__ __forceinline__ void measure(const Work& w, unsigned s, const Accumulators& rest, const Epilogue& epilogue,
                                            const Accumulator (&acc)[pairs][V], const Loads (&loads)[pairs]) const {
        constexpr unsigned group = Epilogue::Line::group;
        if (s % group != 0) return;
        epilogue.line.begin();
        measure<Accumulators>(w, s, epilogue, acc, loads);
#pragma unroll 1
        for (unsigned next = s + 1; next < s + group; ++next) {
            Loads others[pairs];
#pragma unroll
            for (unsigned i = 0; i < pairs; ++i) {
                others[i] = epilogue.template load<V>(params.epilogue, params.d, coordinates<Accumulators>(w, next, i));
            }
            Epilogue::spread(others, vectors, next / Accumulators::slabs_n, Accumulators::column(next));
            Accumulator values[pairs][V];
            rest.for_each_numbered(cfg::unroll_subtiles ? next : next - s, [&](unsigned i, Accumulator x0, Accumulator x1) {
                values[i][0] = x0;
                values[i][1] = x1;
            });
            measure<Accumulators>(w, next, epilogue, values, others);
        }
        epilogue.settle(params, w, w.tile_m * cfg::tile_m + Accumulators::row(s) + row(0),
                        w.tile_n * cfg::output_n + Accumulators::column(s) + column(0));
    }
    template <class Accumulators>
    __device__ __forceinline__ void measure(const Work& w, unsigned s, const Epilogue& epilogue,
                                            const Accumulator (&acc)[pairs][V], const Loads (&loads)[pairs]) const {
#pragma unroll
        for (unsigned i = 0; i < pairs; ++i) {
            epilogue.pair = i;
            epilogue.template measure<V>(acc[i], loads[i], params.epilogue, coordinates<Accumulators>(w, s, i));
        }
    }

    // In a slab, from where this warp's rows begin there.
    __device__ __forceinline__ unsigned at(unsigned row, unsigned column) const {
        return Output::at(warp % cfg::slab_warps * cfg::slab_rows + row, column) * sizeof(ElementD);
    }

    // Where pair i of this lane is in the warp's part of a slab.
    __device__ __forceinline__ unsigned row(unsigned i) const { return idx::accumulator_row(lane, i % 2 * 2); }
    __device__ __forceinline__ unsigned column(unsigned i) const {
        return idx::accumulator_column(lane, i % 2 * 2) + i / 2 * 8;
    }

    template <class Accumulators>
    __device__ __forceinline__ Coordinates coordinates(const Work& w, unsigned subtile, unsigned i) const {
        return user_coordinates<V>(params, w, Accumulators::row(subtile) + row(i), Accumulators::column(subtile) + column(i));
    }

    template <class Accumulators>
    __device__ __forceinline__ auto fetch_vectors(const Work& w) const {
        Coordinates rows[2 * Accumulators::parts];
#pragma unroll
        for (unsigned i = 0; i < 2 * Accumulators::parts; ++i) {
            rows[i] = coordinates<Accumulators>(w, i / 2 * Accumulators::slabs_n, i % 2);
        }
        return Epilogue::fetch(params.epilogue, rows, w.tile_n * cfg::output_n, params.columns);
    }

    // Waits until all but the last `pending` copies from slabs have read them.
    template <unsigned pending>
    __device__ __forceinline__ void released() const {
        if (leads) ptx::bulk_wait_read<pending>();
        meet();
    }

    // Starts the load of what subtile `s` reads, whose slab is `s` minus the current subtile's behind the current one.
    template <class Accumulators>
    __device__ __forceinline__ void fetch(const Work& w, unsigned s) {
        const unsigned place = (turn + (s > 0)) % cfg::slabs;
        if (leads) {
            // The copy that had this slab before was followed by those of all other slabs but the current one.
            if (s > 0) {
                ptx::bulk_wait_read<cfg::slabs - 2>();
            } else {
                ptx::bulk_wait_read<cfg::slabs - 1>();
            }
            const unsigned barrier = barriers + place * 8;
            ptx::mbarrier_arrive_expect_tx(barrier, Output::boxes * Output::box_bytes);
#pragma unroll
            for (unsigned b = 0; b < Output::boxes; ++b) {
                const Box box = box_of<Accumulators>(w, s, b);
                ptx::tma_load(slabs + place * cfg::slab_bytes + Output::box_offset(b) * sizeof(ElementD),
                              &Output::source_map(params), barrier, box.along, box.across, w.group);
            }
        }
        __syncwarp();
    }

    // Until what the current subtile reads has arrived.
    __device__ __forceinline__ void await() {
        const unsigned place = turn % cfg::slabs;
        ptx::mbarrier_wait(barriers + place * 8, parities >> place & 1);
        parities ^= 1u << place;
    }

    // Where a box is along D's contiguous direction, and across.
    struct Box {
        int along, across;
    };
    template <class Accumulators>
    __device__ __forceinline__ Box box_of(const Work& w, unsigned s, unsigned b) const {
        const int row = w.tile_m * cfg::tile_m + first_row + s / Accumulators::slabs_n * 64 + Output::box_row(b);
        const int column = w.tile_n * cfg::output_n + Accumulators::column(s) + Output::box_column(b);
        return cfg::d_along_rows ? Box{row, column} : Box{column, row};
    }

    // The slab is this subtile's part of D. What lies in the slabs behind is copied with it, and waited for with it.
    template <class Accumulators>
    __device__ __forceinline__ void store(const Work& w, unsigned s, unsigned slab) const {
        ptx::fence_proxy_async();
        meet();
        if (leads) {
#pragma unroll
            for (unsigned b = 0; b < Output::boxes; ++b) {
                const Box box = box_of<Accumulators>(w, s, b);
                const unsigned from = slab + Output::box_offset(b) * sizeof(ElementD);
                ptx::tma_store(&params.map_d, from, box.along, box.across, w.group);
                if constexpr (cfg::has_aux) {
                    ptx::tma_store(&Output::aux_map(params), from + cfg::slabs * cfg::slab_bytes, box.along, box.across, w.group);
                }
            }
            ptx::bulk_commit();
        }
    }

    // Matrix l / 8 of the four (two) that begin at fragment j is rows 8 * (l / 8 % 2) of fragment j + l / 16; the lane names its row
    // l % 8, or its column where columns lie together.
    __device__ __forceinline__ unsigned matrix(unsigned slab, unsigned j) const {
        const unsigned l = lane % (fragments == 1 ? 16 : 32);
        return slab + (cfg::d_along_rows ? at(l / 8 % 2 * 8, j * 8 + l / 16 * 8 + l % 8) : at(l % 16, j * 8 + l / 16 * 8));
    }

    template <class Pair>
    __device__ __forceinline__ void write(unsigned slab, const Pair (&d)[pairs]) const {
        constexpr unsigned size = sizeof(ElementD);
        if constexpr (size == 2) {
            if constexpr (fragments == 1) {
                ptx::stmatrix_x2<cfg::d_along_rows>(matrix(slab, 0), d[0].words[0], d[1].words[0]);
            } else {
#pragma unroll
                for (unsigned j = 0; j < fragments; j += 2) {
                    ptx::stmatrix_x4<cfg::d_along_rows>(matrix(slab, j), d[2 * j].words[0], d[2 * j + 1].words[0],
                                                        d[2 * j + 2].words[0], d[2 * j + 3].words[0]);
                }
            }
        } else {
#pragma unroll
            for (unsigned i = 0; i < pairs; ++i) {
                if constexpr (cfg::d_along_rows) {
                    ptx::st_shared_low<size>(slab + at(row(i), column(i)), d[i].words[0]);
                    ptx::st_shared_low<size>(slab + at(row(i), column(i) + 1), d[i].words[size / 4] >> size % 4 * 8);
                } else if constexpr (size == 4) {
                    ptx::st_shared<8>(slab + at(row(i), column(i)), d[i].words);
                } else {
                    ptx::st_shared_low<2>(slab + at(row(i), column(i)), d[i].words[0]);
                }
            }
        }
    }

    __device__ __forceinline__ void read(unsigned slab, const Epilogue& epilogue, Loads (&loads)[pairs]) const {
        using Staged = Vector<typename Epilogue::Staged, V>;
        constexpr unsigned size = sizeof(ElementD);
        if constexpr (size == 2 && fragments > 1) {
#pragma unroll
            for (unsigned j = 0; j < fragments; j += 2) {
                unsigned words[4];
                ptx::ldmatrix_x4<cfg::d_along_rows>(words, matrix(slab, j));
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) epilogue.stage(loads[2 * j + i], Staged{{words[i]}});
            }
        } else {
#pragma unroll
            for (unsigned i = 0; i < pairs; ++i) {
                const unsigned from = slab + at(row(i), column(i));
                Staged x;
                if constexpr (cfg::d_along_rows) {
                    const unsigned second = ptx::ld_shared_low<size>(slab + at(row(i), column(i) + 1));
                    x.words[0] = ptx::ld_shared_low<size>(from);
                    if constexpr (size == 4) {
                        x.words[1] = second;
                    } else {
                        x.words[0] |= second << size * 8;
                    }
                } else if constexpr (size == 1) {
                    x.words[0] = ptx::ld_shared_low<2>(from);
                } else {
                    ptx::ld_shared<2 * size>(x.words, from);
                }
                epilogue.stage(loads[i], x);
            }
        }
    }
};
