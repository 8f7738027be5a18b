// SM90 warp-specialised mainloop: a warp group fills a ring of `cfg::stages` stages, warp groups of consumers multiply what
// arrived with wgmma, straight from shared memory.
//
//   full[s]    completes when stage s has arrived; consumers wait for it
//   empty[s]   completes when every consumer warp that reads what this block loads has read stage s; the producer waits for it
//   returned   the epilogue's slabs may lie over the first `cfg::lent_stages` stages: completes when every consumer warp that reads
//              what this block loads has stored a tile; the producer waits for it before it fills one of them for the next
//
// Nothing races for those bytes: a tile's loads have landed and its products are done in all warps of the block before one of them
// writes a slab, behind a barrier of the consumers, and no block loads the next tile's into them before all warps there have
// passed `returned`, whose copies to D have read their slabs by then.
//
// Everything about an operand's layout comes from its generated description (`OperandA`, `OperandB`):
//   stage_bytes, shared         bytes of a stage, and where stage 0 is in shared memory
//   mn_contiguous               whether M (or N) is contiguous in memory
//   descriptor                  the constant fields of its matrix descriptors
//   block_step(k_block)         bytes from a stage's start to a K block
//   part_step(part)             bytes from a stage's start to rows 64 * part of A, to columns `Wgmma::n` * part of B
// `Wgmma::multiply<accumulate>` is one instruction of `Wgmma::n` columns and a K block of `Wgmma::k`, `Wgmma::finish` waits for
// all. Where `cfg::promotion` is not 0 the sum of so many products is made by itself, then added to the accumulators.
//
//   Loader  prefetch(params)            what one thread may ask for before anything else
//           shares_a, shares_b          whether the blocks of a row of the cluster load A's tile for one another, those of a column B's
//           arrivals                    at a full barrier, each time
//           one_asks                    whether one thread requests everything, so that no other needs its barriers to
//           takes_part()                whether this thread of the producer's loads
//           begin(work, first_k)        from there on
//           fill(stage, full)           requests the next K tile into a stage
//           landed()                    a consumer, behind full's wait
//   Fragments  in_registers             whether the instructions read A from registers
//              load(part, block, stage, held)  loads a K block of 64 rows

// A place in the ring, and the parity of the phase that fills it.
struct Sm90Stage {
    unsigned index, parity;

    __device__ __forceinline__ void advance() {
        if (++index == cfg::stages) {
            index = 0;
            parity ^= 1;
        }
    }
    // As `count` calls of advance.
    __device__ __forceinline__ void skip(unsigned count) {
        const unsigned to = index + count;
        parity ^= to / cfg::stages % 2;
        index = to % cfg::stages;
    }
};

// The threads that multiply.
struct Sm90Consumers {
    static constexpr unsigned threads = cfg::threads - 128;

    static __device__ __forceinline__ void synchronize() { ptx::barrier_sync(1, threads); }
    static __device__ __forceinline__ bool any(bool condition) { return ptx::barrier_or(1, threads, condition); }
};

// A consumer warp's accumulators of so many columns: of each of its 64-row wgmma tiles it holds 16 rows, as m16n8 fragments. A
// subtile is `cfg::slab_columns` columns of one wgmma tile.
template <unsigned columns>
struct Sm90Accumulators {
    static constexpr unsigned parts = cfg::warp_group_m / 64;
    static constexpr unsigned fragments_n = columns / 8, tile_fragments = cfg::tile_n / 8;
    static constexpr unsigned slab_fragments = cfg::slab_columns / 8;
    static constexpr unsigned slabs_n = columns / cfg::slab_columns;
    static constexpr unsigned subtiles = parts * slabs_n;
    static constexpr unsigned vectors = parts * fragments_n;
    static_assert(cfg::slab_rows == 16 && slabs_n * cfg::slab_columns == columns, "slabs cover a warp's rows");
    using Value = Accumulator;
    using Team = Sm90Consumers;

    Accumulator value[parts][fragments_n][4];

    template <class F>
    __device__ __forceinline__ void for_each_vector(const F& f) {
#pragma unroll
        for (unsigned i = 0; i < vectors; ++i) f(i, value[i / fragments_n][i % fragments_n]);
    }

    // Of a tile whose columns are shared out: which share has vector i, which of the tile's vectors is vector i of one, and those of one.
    static __device__ __forceinline__ constexpr unsigned share_of(unsigned i) { return i % tile_fragments / fragments_n; }
    static __device__ __forceinline__ constexpr unsigned vector_of(unsigned i, unsigned share) {
        return i / fragments_n * tile_fragments + share * fragments_n + i % fragments_n;
    }
    template <class Tile>
    __device__ __forceinline__ void take(const Tile& tile, unsigned share) {
#pragma unroll
        for (unsigned s = 0; s < tile_fragments / fragments_n; ++s) {
            if (s != share) continue;
            for_each_vector([&](unsigned i, auto& x) {
                memcpy(x, tile.value[i / fragments_n][s * fragments_n + i % fragments_n], sizeof(x));
            });
        }
    }

    // Subtile 0 is over: all others move up by one.
    __device__ __forceinline__ void advance() {
#pragma unroll
        for (unsigned i = slab_fragments; i < vectors; ++i)
#pragma unroll
            for (unsigned v = 0; v < 4; ++v) {
                const unsigned to = i - slab_fragments;
                value[to / fragments_n][to % fragments_n][v] = value[i / fragments_n][i % fragments_n][v];
            }
    }

    static __device__ __forceinline__ unsigned row(unsigned subtile) {
        return idx::warp_row(threadIdx.x / 32) + subtile / slabs_n * 64;
    }
    static __device__ __forceinline__ unsigned column(unsigned subtile) { return subtile % slabs_n * cfg::slab_columns; }

    template <class F>
    __device__ __forceinline__ void for_each_pair(unsigned subtile, const F& f) const {
        const unsigned lane = threadIdx.x % 32;
        for_each_numbered(subtile, [&](unsigned i, Accumulator x0, Accumulator x1) {
            f(idx::accumulator_row(lane, i % 2 * 2), idx::accumulator_column(lane, i % 2 * 2) + i / 2 * 8, x0, x1);
        });
    }

    // Registers cannot be indexed at run time, so the subtile is found by comparison.
    template <class F>
    __device__ __forceinline__ void for_each_numbered(unsigned subtile, const F& f) const {
#pragma unroll
        for (unsigned s = 0; s < subtiles; ++s) {
            if (s != subtile) continue;
#pragma unroll
            for (unsigned i = 0; i < 2 * slab_fragments; ++i) {
                const Accumulator(&x)[4] = value[s / slabs_n][s % slabs_n * slab_fragments + i / 2];
                f(i, x[i % 2 * 2], x[i % 2 * 2 + 1]);
            }
        }
    }
};

// Where a block is in its cluster. Blocks of a row share A's tile, those of a column B's, as far as they have the same part of K.
struct Sm90Cluster {
    unsigned row, column, part;

    __device__ __forceinline__ Sm90Cluster() {
        const unsigned rank = cfg::cluster_size == 1 ? 0 : ptx::cluster_rank();
        row = cluster::row_of(rank);
        column = cluster::column_of(rank);
        part = cluster::part_of(rank);
    }
    // Whether this block has a part of its tile's D.
    __device__ __forceinline__ bool receives() const { return cfg::output_parts == cfg::cluster_k || part < cfg::output_parts; }
    // The blocks that share A's tile with this one, and those that share B's, a bit each.
    __device__ __forceinline__ unsigned short row_mask() const {
        unsigned mask = 0;
#pragma unroll
        for (unsigned c = 0; c < cfg::cluster_n; ++c) mask |= 1u << cluster::rank(row, c, part);
        return static_cast<unsigned short>(mask);
    }
    __device__ __forceinline__ unsigned short column_mask() const {
        unsigned mask = 0;
#pragma unroll
        for (unsigned r = 0; r < cfg::cluster_m; ++r) mask |= 1u << cluster::rank(r, column, part);
        return static_cast<unsigned short>(mask);
    }
    // Of the blocks whose loads this one reads, number i: its row if that shares A's tile, or else itself; then the rest of
    // its column if that shares B's. Nobody else may arrive: who shares nothing runs ahead, and arrives twice in a phase.
    template <class Loader>
    static constexpr unsigned in_row = Loader::shares_a ? cfg::cluster_n : 1;
    template <class Loader>
    static constexpr unsigned producers = in_row<Loader> + (Loader::shares_b ? cfg::cluster_m - 1 : 0);
    template <class Loader>
    __device__ __forceinline__ unsigned producer(unsigned i) const {
        if (i < in_row<Loader>) return cluster::rank(row, Loader::shares_a ? i : column, part);
        const unsigned other = i - in_row<Loader>;
        return cluster::rank(other < row ? other : other + 1, column, part);
    }
};

// Blocks of a cluster that have parts of a tile's K: the first `cfg::output_parts` of them take a part of its columns each. All send them
// their sums, which they add in the order of K, as fixup.cuh does. One that takes all keeps its own.
//
//   ready     completes when sums may be sent to all of these: when every warp of theirs is done with the tile's products, if sums lie
//             over stages, or else with the sums of the tile before
//   arrived   completes when all have come here
//
// Nobody is early: who receives arrives for the next tile when all have sent for this one, and so have seen it ready.
// Vector i of thread t of the part that is number p of those sent lies at ((p × vectors + i) × threads + t) × 16.
template <unsigned threads>
struct Sm90ClusterSum {
    // Part 0 has all columns, and adds the others to its sums.
    static constexpr bool one_receives = cfg::output_parts == 1;

    unsigned shared;
    unsigned parity;  // of the next tile's phases

    __device__ __forceinline__ explicit Sm90ClusterSum(unsigned s) : shared(s), parity(0) {}

    __device__ __forceinline__ void init() const {
        if constexpr (cfg::cluster_k > 1) {
            ptx::mbarrier_init(ready(), cfg::output_parts * threads / 32);
            ptx::mbarrier_init(arrived(), 1);
        }
    }

    // Of a block that receives, `outputs` is the sum of its columns.
    template <class Accumulators, class Outputs>
    __device__ __forceinline__ void combine(const Sm90Cluster& place, const Accumulators& accumulators, Outputs& outputs) {
        constexpr unsigned sent = cfg::cluster_k - one_receives;
        static_assert(cfg::output_parts * Outputs::vectors == Accumulators::vectors, "every block has as many columns");
        const auto at = [](unsigned part, unsigned i) {
            return cfg::partials_offset + (((part - one_receives) * Outputs::vectors + i) * threads + threadIdx.x) * 16;
        };
        const unsigned now = parity;
        parity ^= 1;
        if (place.receives()) {
            if constexpr (cfg::lends_sums) tell(place);
            if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(arrived(), sent * Outputs::vectors * threads * 16);
        }
        if (!one_receives || place.part > 0) {
            unsigned block[cfg::output_parts];
#pragma unroll
            for (unsigned part = 0; part < cfg::output_parts; ++part) {
                block[part] = ptx::map_shared(shared, cluster::rank(place.row, place.column, part));
            }
            ptx::mbarrier_wait_cluster(ready(), cfg::lends_sums ? now : now ^ 1);
            // One vector for each block, then the next: none is sent everything at once.
#pragma unroll
            for (unsigned i = 0; i < Outputs::vectors; ++i)
#pragma unroll
                for (unsigned part = 0; part < cfg::output_parts; ++part) {
                    const unsigned column = part * Outputs::fragments_n + i % Outputs::fragments_n;
                    ptx::st_async(block[part] + at(place.part, i), accumulators.value[i / Outputs::fragments_n][column],
                                  block[part] + (arrived() - shared));
                }
        }
        if (!place.receives()) return;
        ptx::mbarrier_wait_cluster(arrived(), now);
        outputs.for_each_vector([&](unsigned i, auto& x) {
            if constexpr (one_receives) {
                memcpy(x, accumulators.value[i / Outputs::fragments_n][i % Outputs::fragments_n], sizeof(x));
            } else {
                ptx::ld_shared_vector<4>(x, shared + at(0, i));
            }
        });
#pragma unroll 1
        for (unsigned part = 1; part < cfg::cluster_k; ++part) {
            outputs.for_each_vector([&](unsigned i, auto& x) {
                Accumulator y[4];
                ptx::ld_shared_vector<4>(y, shared + at(part, i));
#pragma unroll
                for (unsigned v = 0; v < 4; ++v) x[v] += y[v];
            });
        }
        if constexpr (!cfg::lends_sums) tell(place);
    }

    // After the last tile: nobody may still be about to arrive here when the block ends.
    __device__ __forceinline__ void end() const {
        if constexpr (cfg::cluster_k > 1 && !cfg::lends_sums) ptx::mbarrier_wait(ready(), parity ^ 1);
    }

   private:
    // Tells all that this warp's share of the bytes is free.
    __device__ __forceinline__ void tell(const Sm90Cluster& place) const {
        __syncwarp();
        const unsigned lane = threadIdx.x % 32;
        ptx::mbarrier_arrive_remote(ready(), cluster::rank(place.row, place.column, lane), lane < cfg::cluster_k);
    }

    __device__ __forceinline__ unsigned ready() const { return shared + cfg::barriers_offset + (2 * cfg::stages + 1) * 8; }
    __device__ __forceinline__ unsigned arrived() const { return ready() + 8; }
};

// The instructions read A from shared memory.
struct Sm90NoFragments {
    static constexpr bool in_registers = false;
};

// Consumers come first, so that warp w of them stages its accumulators in slab w; the producer is the last warp group.
template <class Loader, class Fragments>
struct Sm90WarpSpecialized {
    using Accumulators = Sm90Accumulators<cfg::tile_n>;
    using Outputs = Sm90Accumulators<cfg::output_n>;
    static constexpr bool has_producer = true, alternates = cfg::pingpong;
    static constexpr unsigned k_blocks = cfg::tile_k / Wgmma::k;
    static constexpr unsigned consumer_threads = Sm90Consumers::threads;
    static constexpr unsigned consumer_warps = consumer_threads / 32;
    // With ping-pong one warp group alone reads a stage.
    static constexpr unsigned reading_warps = cfg::pingpong ? 4 : consumer_warps;
    static constexpr bool lends = cfg::lent_stages > 0;
    // Warps that make barriers, each those of some stages.
    static constexpr unsigned makers = 4;
    // A stage is read by as many blocks as load for this one.
    static constexpr unsigned readers = Sm90Cluster::producers<Loader>;

    // Whether a block asks for the first stage by itself, before it meets the others.
    static constexpr bool early = Loader::one_asks;

    // The low words of the matrix descriptors of a stage.
    struct Operands {
        unsigned a, b;
    };

    const Params& params;
    unsigned shared;
    Sm90Cluster place;
    unsigned rows;    // bytes from a stage of A to this warp group's
    Operands first;   // stage 0's
    Sm90Stage stage;  // the next to be filled, or to be read
    Sm90ClusterSum<consumer_threads> sum;

    __device__ __forceinline__ Sm90WarpSpecialized(const Params& p, unsigned s)
        : params(p), shared(uniform(s)), rows(0), stage{0, 0}, sum(s) {
        if constexpr (!cfg::pingpong) {
            const unsigned group = uniform(threadIdx.x / 128);
#pragma unroll
            for (unsigned g = 1; g < consumer_threads / 128; ++g) {
                if (group == g) rows = OperandA::part_step(g * Accumulators::parts);
            }
        }
        first = {uniform(start<OperandA>(shared + OperandA::shared + rows)), uniform(start<OperandB>(shared + OperandB::shared))};
        const unsigned warp = uniform(threadIdx.x / 32);
        if (warp == consumer_warps + 1 && ptx::elect_one()) Loader::prefetch(params);
        // The hardware makes one barrier after the other, a warp at a time.
        if (warp < makers && ptx::elect_one()) {
#pragma unroll
            for (unsigned i = 0; i < cfg::stages; i += makers) {
                if (i + warp >= cfg::stages) break;
                if (!early || i + warp > 0) ptx::mbarrier_init(full(i + warp), Loader::arrivals);
                ptx::mbarrier_init(empty(i + warp), reading_warps * readers);
            }
            if (warp == 0) {
                if constexpr (lends) ptx::mbarrier_init(returned(), reading_warps * readers);
                sum.init();
            }
            ptx::fence_mbarrier_init();
        }
    }

    static __device__ __forceinline__ bool is_producer() { return uniform(threadIdx.x / 32) >= consumer_warps; }

    // A cluster is given a rectangle of tiles. Where it has several blocks for each, they have a part of its K each.
    __device__ __forceinline__ Work share(Work work) const {
        work.tile = (work.tile * cfg::cluster_n + place.column) * cfg::cluster_m + place.row;
        work.tile_m = work.tile_m * cfg::cluster_m + place.row;
        work.tile_n = work.tile_n * cfg::cluster_n + place.column;
        if constexpr (cfg::cluster_k > 1) {
            const unsigned begin = part_begin(work.k_count, cfg::cluster_k, place.part);
            work.k_count = part_begin(work.k_count, cfg::cluster_k, place.part + 1) - begin;
            work.k_begin += begin;
        }
        return work;
    }
    // What this block's epilogue has of its share: tiles that are narrower.
    __device__ __forceinline__ Work output(Work work) const {
        work.tile = work.tile * cfg::output_parts + place.part;
        work.tile_n = work.tile_n * cfg::output_parts + place.part;
        return work;
    }
    __device__ __forceinline__ bool has_output() const { return place.receives(); }
    template <class Sums, class F>
    __device__ __forceinline__ void combine(Sums& accumulators, const F& then) {
        if constexpr (cfg::cluster_k == 1) {
            then(accumulators);
        } else {
            Outputs outputs;
            sum.combine(place, accumulators, outputs);
            if (has_output()) then(outputs);
        }
    }

    // Until all barriers are made. One place of the text for all threads, as __syncthreads() wants.
    static __device__ __forceinline__ void meet() {
        if constexpr (cfg::cluster_size > 1) {
            ptx::cluster_meet();
        } else {
            __syncthreads();
        }
    }

    // The producer, before the block meets: asks for the first stage, whose barrier it makes itself. 0.1 to 0.3 µs of a kernel are what
    // else lies between its first tile and its first request: the other barriers, the meeting, and new numbers of registers.
    template <class Share>
    __device__ __forceinline__ void head_start(const Work& given, const Share& share) {
        if constexpr (early) {
            if (!given.valid || !Loader::takes_part()) return;
            ptx::mbarrier_init(full(0), Loader::arrivals);
            ptx::fence_mbarrier_init();
            ptx::wait_for_grids_before();
            Loader loader(params, shared, place);
            const Work work = share(given);
            loader.begin(work, first_k(work));
            loader.template fill<true>(0, full(0));
        }
    }

    // Beyond the end of K everything reads as zero.
    __device__ __forceinline__ unsigned first_k(const Work& work) const {
        return work.k_count == 0 ? cfg::tile_k + params.depth / cfg::tile_k * cfg::tile_k : work.k_begin * cfg::tile_k;
    }

    // The producer: loads its share of `given` and of everything that the scheduler yields behind it.
    template <class Scheduler, class Share>
    __device__ __forceinline__ void produce(Scheduler& scheduler, Work given, const Share& share) {
        ptx::setmaxnreg_dec<cfg::producer_registers>();
        if (!Loader::takes_part()) return;
        Loader loader(params, shared, place);
        unsigned begun = early;  // K tiles that were asked for before
        unsigned before = 1;  // the parity of the phase in which the tile before is stored: that of none is over
#pragma unroll 1
        for (; given.valid; given = scheduler.next()) {
            const Work work = share(given);
            const unsigned count = k_tiles(work);
            loader.begin(work, first_k(work) + begun * cfg::tile_k);
            if (begun > 0) stage.advance();
            bool lent = lends;
#pragma unroll 1
            for (unsigned tile = begun; tile < count; ++tile) {
                ptx::mbarrier_wait(empty(stage.index), stage.parity ^ 1);
                // A parity tells phases apart while this tile cannot be stored: at the latest before it is whole.
                if (lent && (stage.index < cfg::lent_stages || tile + 1 == count)) {
                    ptx::mbarrier_wait(returned(), before);
                    lent = false;
                }
                loader.fill(stage.index, full(stage.index));
                stage.advance();
            }
            before ^= 1;
            begun = 0;
        }
        // Nobody may still be about to arrive here, or to be written to, when the block ends.
#pragma unroll 1
        for (unsigned i = 0; i < cfg::stages; ++i) {
            ptx::mbarrier_wait(empty(stage.index), stage.parity ^ 1);
            stage.advance();
        }
        if constexpr (lends) ptx::mbarrier_wait(returned(), before);
    }

    // A consumer, before its first tile.
    static __device__ __forceinline__ void begin() { ptx::setmaxnreg_inc<cfg::consumer_registers>(); }

    // A consumer: one tile. `issued()` is called as soon as the tensor core has all of it before it: with ping-pong the other warp
    // group's instructions can line up behind.
    template <class Sums, class F>
    __device__ __forceinline__ void run(const Work& work, Sums& accumulators, const F& issued) {
        if constexpr (cfg::promotion > 0) {
            Accumulator sums[Wgmma::n / 8][4] = {};
#pragma unroll
            for (unsigned part = 0; part < Accumulators::parts; ++part)
#pragma unroll
                for (unsigned j = 0; j < Accumulators::fragments_n * 4; ++j) accumulators.value[part][j / 4][j % 4] = 0;
#pragma unroll 1
            for (unsigned tile = 0; tile < k_tiles(work); ++tile) promote(accumulators, sums);
            issued();
        } else if constexpr (Fragments::in_registers) {
            from_registers(work, accumulators, issued);
        } else {
            in_place(work, accumulators, issued);
        }
        if constexpr (lends) Sm90Consumers::synchronize();
    }
    template <class Sums>
    __device__ __forceinline__ void run(const Work& work, Sums& accumulators) {
        run(work, accumulators, [] {});
    }

    // Warps stage in slabs of their own, which the producer may want back.
    __device__ __forceinline__ void end_of_tile() const {
        if constexpr (lends) {
            ptx::bulk_wait_read<0>();
            ptx::fence_proxy_async();
            __syncwarp();
            arrive(returned());
        }
    }

    // Ping-pong: warp groups take tiles in turn, and multiply one after the other, so that one stores while the other
    // multiplies and the ring is read in order.
    static __device__ __forceinline__ bool takes(unsigned turn) {
        return !cfg::pingpong || uniform(threadIdx.x / 128) == turn % 2;
    }
    __device__ __forceinline__ void skip(const Work& work) { stage.skip(k_tiles(work)); }
    static __device__ __forceinline__ void await(unsigned turn) {
        if (turn > 0) ptx::barrier_sync(1 + turn % 2, consumer_threads);
    }
    static __device__ __forceinline__ void pass(unsigned turn) {
        ptx::barrier_arrive(1 + (turn + 1) % 2, consumer_threads);
    }

    // A consumer, after its last tile.
    __device__ __forceinline__ void end() const { sum.end(); }

   private:
    // Tells the compiler what it cannot see: that a warp agrees on a value, which may live in a uniform register.
    static __device__ __forceinline__ unsigned uniform(unsigned x) { return __shfl_sync(0xffffffff, x, 0); }

    __device__ __forceinline__ unsigned full(unsigned i) const { return shared + cfg::barriers_offset + i * 8; }
    __device__ __forceinline__ unsigned empty(unsigned i) const { return full(cfg::stages + i); }
    __device__ __forceinline__ unsigned returned() const { return full(2 * cfg::stages); }

    // Work without products is a tile of zeros: a branch to clear the accumulators instead would end before the instructions
    // that write them, and the assembler then runs those one by one.
    static __device__ __forceinline__ unsigned k_tiles(const Work& work) { return max(1, work.k_count); }

    // The instructions add to the accumulators, one stage's behind another's.
    template <class Sums, class F>
    __device__ __forceinline__ void in_place(const Work& work, Sums& accumulators, const F& issued) {
        // The first instruction overwrites the accumulators: zeroing them would tie the ordinary pipes to the instruction's.
        multiply<false>(accumulators, operands());
        Sm90Stage done = stage;
        stage.advance();
        Operands next = operands();
        bool arrived = has_arrived();
#pragma unroll 1
        for (unsigned tile = 1; tile < k_tiles(work); ++tile) {
            multiply<true>(accumulators, next, arrived);
            const Sm90Stage last = stage;
            stage.advance();
            next = operands();
            arrived = has_arrived();
            ptx::wgmma_wait<1>();
            release(done);
            done = last;
        }
        issued();
        settle(accumulators);
        release(done);
    }

    // Waits until all is summed. Who adds to the sums copies them, which the compiler would do before, did it not hear of it.
    template <class Sums>
    static __device__ __forceinline__ void settle(Sums& accumulators) {
        if constexpr (cfg::adds_up) {
#pragma unroll
            for (unsigned part = 0; part < Accumulators::parts; ++part) Wgmma::finish(accumulators.value[part]);
        } else {
            ptx::wgmma_wait<0>();
        }
    }

    // Of the stage that is read next: the low words of its matrix descriptors. With whether it has arrived they are found under
    // the instructions of the stage before, since what lies between one's last and the other's first is time of the tensor core.
    __device__ __forceinline__ Operands operands() const {
        return {first.a + stage.index * (OperandA::stage_bytes >> 4), first.b + stage.index * (OperandB::stage_bytes >> 4)};
    }
    __device__ __forceinline__ bool has_arrived() const { return ptx::mbarrier_test(full(stage.index), stage.parity); }

    // Waits for the stage and multiplies it; the instructions are in flight when this returns.
    template <bool accumulate, class Sums>
    __device__ __forceinline__ void multiply(Sums& accumulators, const Operands& from, bool arrived = false) const {
        if (!arrived) ptx::mbarrier_wait(full(stage.index), stage.parity);
        Loader::landed();
        ptx::wgmma_fence();
#pragma unroll
        for (unsigned block = 0; block < k_blocks; ++block)
#pragma unroll
            for (unsigned part = 0; part < Accumulators::parts; ++part) {
                const unsigned long long x = matrix<OperandA>(from.a, OperandA::part_step(part) + OperandA::block_step(block));
                const unsigned long long y = matrix<OperandB>(from.b, OperandB::block_step(block));
                if (accumulate || block > 0) {
                    Wgmma::multiply<true>(accumulators.value[part], x, y);
                } else {
                    Wgmma::multiply<false>(accumulators.value[part], x, y);
                }
            }
        ptx::wgmma_commit();
    }

    // As in_place, a K block of A after the other in registers: one is loaded while the one before is multiplied.
    template <class Sums, class F>
    __device__ __forceinline__ void from_registers(const Work& work, Sums& accumulators, const F& issued) {
        const Fragments fragments(shared);
        unsigned held[2][Accumulators::parts][4];
        Sm90Stage done = stage;
        multiply_held<false>(accumulators, fragments, held, done);
#pragma unroll 1
        for (unsigned tile = 1; tile < k_tiles(work); ++tile) multiply_held<true>(accumulators, fragments, held, done);
        issued();
        settle(accumulators);
        release(done);
    }

    // One stage; `done` is the one before, whose last instructions are in flight, and then this one.
    template <bool accumulate, class Sums>
    __device__ __forceinline__ void multiply_held(Sums& accumulators, const Fragments& fragments,
                                                  unsigned (&held)[2][Accumulators::parts][4], Sm90Stage& done) {
        ptx::mbarrier_wait(full(stage.index), stage.parity);
        Loader::landed();
        const unsigned b = start<OperandB>(shared + OperandB::shared + stage.index * OperandB::stage_bytes);
        // Of an odd number of blocks, the last of a stage and the first of the next have the same registers.
        if constexpr (accumulate && k_blocks % 2 != 0) ptx::wgmma_wait<0>();
#pragma unroll
        for (unsigned block = 0; block < k_blocks; ++block) {
#pragma unroll
            for (unsigned part = 0; part < Accumulators::parts; ++part) {
                fragments.load(part, block, stage.index * OperandA::stage_bytes, held[block % 2][part]);
            }
            ptx::wgmma_fence();
#pragma unroll
            for (unsigned part = 0; part < Accumulators::parts; ++part) {
                const unsigned long long y = matrix<OperandB>(b, OperandB::block_step(block));
                if (accumulate || block > 0) {
                    Wgmma::multiply<true>(accumulators.value[part], held[block % 2][part], y);
                } else {
                    Wgmma::multiply<false>(accumulators.value[part], held[block % 2][part], y);
                }
            }
            ptx::wgmma_commit();
            ptx::wgmma_wait<1>();
            if (accumulate && block == 0) release(done);
        }
        done = stage;
        stage.advance();
    }

    // Waits for the stage, multiplies it and gives it back. Sums of one instruction's rows and columns are made at a time, so that
    // few registers hold them; meanwhile other warp groups multiply.
    template <class Sums>
    __device__ __forceinline__ void promote(Sums& accumulators, Accumulator (&sums)[Wgmma::n / 8][4]) {
        constexpr unsigned blocks = cfg::promotion / Wgmma::k, columns = cfg::tile_n / Wgmma::n;
        constexpr unsigned rounds = k_blocks / blocks * Accumulators::parts * columns;
        ptx::mbarrier_wait(full(stage.index), stage.parity);
        Loader::landed();
        const unsigned a = start<OperandA>(shared + OperandA::shared + stage.index * OperandA::stage_bytes + rows);
        const unsigned b = start<OperandB>(shared + OperandB::shared + stage.index * OperandB::stage_bytes);
#pragma unroll
        for (unsigned i = 0; i < rounds; ++i) {
            const unsigned column = i % columns, part = i / columns % Accumulators::parts;
            const unsigned first = i / columns / Accumulators::parts * blocks;
            ptx::wgmma_fence();
#pragma unroll
            for (unsigned block = first; block < first + blocks; ++block) {
                const unsigned long long x = matrix<OperandA>(a, OperandA::part_step(part) + OperandA::block_step(block));
                const unsigned long long y = matrix<OperandB>(b, OperandB::part_step(column) + OperandB::block_step(block));
                if (block > first) {
                    Wgmma::multiply<true>(sums, x, y);
                } else {
                    // This is 0. If the assembler knew, each round would have registers of its own: it would spill.
                    Wgmma::multiply(sums, x, y, params.reserved);
                }
            }
            ptx::wgmma_commit();
            Wgmma::finish(sums);
            if (i + 1 == rounds) {
                release(stage);
                stage.advance();
            }
#pragma unroll
            for (unsigned j = 0; j < Wgmma::n / 8; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4; ++v)
                    accumulators.value[part][column * (Wgmma::n / 8) + j][v] += sums[j][v];
        }
    }

    // The low word of the descriptor of what lies at an address, bits 4 to 17 of which are the start; the block's rank above
    // them is stripped.
    template <class Operand>
    static __device__ __forceinline__ unsigned start(unsigned address) {
        return static_cast<unsigned>(Operand::descriptor) | (address & 0x3ffff) >> 4;
    }

    // The descriptor of what lies `step` bytes behind that. Shared memory ends before the start's field does, so that this is
    // one addition, where masking every address anew takes five instructions.
    template <class Operand>
    static __device__ __forceinline__ unsigned long long matrix(unsigned start, unsigned step) {
        return Operand::descriptor >> 32 << 32 | (start + (step >> 4));
    }

    // Tells the producers of everything in the stage that this warp has read it.
    __device__ __forceinline__ void release(const Sm90Stage& s) const { arrive(empty(s.index)); }

    // At a barrier of every block that loads for this one.
    __device__ __forceinline__ void arrive(unsigned barrier) const {
        const unsigned lane = threadIdx.x % 32;
        if constexpr (readers == 1) {
            if (lane == 0) ptx::mbarrier_arrive(barrier);
        } else {
            // No branch: it would part the instructions around it, and the assembler then runs them one by one.
            ptx::mbarrier_arrive_remote(barrier, place.producer<Loader>(lane), lane < readers);
        }
    }
};
