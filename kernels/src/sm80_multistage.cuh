// SM80 multistage mainloop: cp.async into a ring of `cfg::stages` swizzled stages, ldmatrix into double-buffered fragments,
// mma.sync m16n8k16.
//
// Everything about an operand's layout comes from its generated description (`OperandA`, `OperandB`):
//   Element, tile_k, mn_contiguous         element, K extent of a tile, and whether M (or N) is contiguous in memory
//   offset(mn, k)                          where an element is in a stage, in elements
//   stage_bytes, shared                    bytes of a stage, and where stage 0 is in shared memory
//   Copy: chunk, count, threads            elements per copy, copies per thread, threads that copy
//         whole                            no chunk straddles the operand's end
//         direct                           alignment forbids cp.async: single elements through registers
//         mn(thread), k(thread)            coordinates in the tile of a thread's first chunk
//         step_mn(i), step_k(i)            from there to its i-th chunk
//   Load: count                            ldmatrix.x4 per K block, each of a 16 × 16 block
//         mn(lane), k(lane)                row of the block that a lane names to ldmatrix
//   Both: bases, representative…(b)        offsets of one thread's accesses differ by constants as far as the swizzle
//         base(i…), delta(i…)              allows: access i… lies `delta` elements from base `base`, which is
//                                          computed once from the access that represents it
template <class Operand>
struct OperandLoader {
    using Element = typename Operand::Element;
    using Copy = typename Operand::Copy;

    const Element* source;  // this thread's next chunk
    long long leading;      // elements between neighbours across the contiguous direction
    int mn_left, k_left;    // from this thread's first chunk in the next K tile to the end of the operand
    unsigned target[Copy::bases];  // shared addresses in stage 0

    __device__ __forceinline__ OperandLoader(const OperandArg& arg, unsigned shared) : leading(arg.leading) {
#pragma unroll
        for (unsigned b = 0; b < Copy::bases; ++b) {
            const unsigned i = Copy::representative(b);
            const unsigned mn = Copy::mn(threadIdx.x) + Copy::step_mn(i);
            const unsigned k = Copy::k(threadIdx.x) + Copy::step_k(i);
            target[b] = shared + Operand::shared + Operand::offset(mn, k) * sizeof(Element);
        }
    }

    // From (first_mn, first_k) on; what lies at or beyond (end_mn, end_k) reads as zero.
    __device__ __forceinline__ void begin(const OperandArg& arg, unsigned batch, unsigned first_mn, unsigned end_mn,
                                          unsigned first_k, unsigned end_k) {
        const unsigned mn = first_mn + Copy::mn(threadIdx.x);
        const unsigned k = first_k + Copy::k(threadIdx.x);
        mn_left = static_cast<int>(end_mn - mn);
        k_left = static_cast<int>(end_k - k);
        source = static_cast<const Element*>(arg.pointer) + batch * arg.stride_batch + distance(mn, k);
    }

    // Requests part `part` of `parts` of the next K tile into the stage at byte `stage`. Parts come in order; after the last
    // one the next tile is due. Tiles beyond the end are zeros, so that the loop needs no branch.
    __device__ __forceinline__ void issue(unsigned part, unsigned parts, unsigned stage) {
#pragma unroll
        for (unsigned i = Copy::count * part / parts; i < Copy::count * (part + 1) / parts; ++i) {
            if (Copy::threads == cfg::threads || threadIdx.x < Copy::threads) copy(i, stage);
            const bool last = i + 1 == Copy::count;
            const unsigned next = last ? 0 : i + 1;
            const int tile = last ? static_cast<int>(Operand::tile_k) : 0;
            source += distance(static_cast<int>(Copy::step_mn(next) - Copy::step_mn(i)),
                               static_cast<int>(Copy::step_k(next) - Copy::step_k(i)) + tile);
            // Opaque, or the compiler keeps one base and multiplies anew for every chunk.
            asm("" : "+l"(source));
            k_left -= tile;
        }
    }

   private:
    __device__ __forceinline__ long long distance(long long mn, long long k) const {
        return Operand::mn_contiguous ? mn + k * leading : mn * leading + k;
    }

    __device__ __forceinline__ void copy(unsigned i, unsigned stage) const {
        constexpr unsigned bytes = Copy::chunk * sizeof(Element);
        const unsigned to = target[Copy::base(i)] + Copy::delta(i) * sizeof(Element) + stage;
        const int mn = mn_left - static_cast<int>(Copy::step_mn(i));
        const int k = k_left - static_cast<int>(Copy::step_k(i));
        const int along = Operand::mn_contiguous ? mn : k;
        const bool across = (Operand::mn_contiguous ? k : mn) > 0;
        if constexpr (Copy::whole) {
            ptx::cp_async_or_zero<bytes>(to, source, across && along > 0);
        } else {
            const unsigned valid = across ? max(0, min(along, static_cast<int>(Copy::chunk))) : 0;
            if constexpr (Copy::direct) {
                Vector<Element, Copy::chunk> x = {};
                load_elements(x, source, 1, valid);
                ptx::st_shared_v4(to, x.words);
            } else {
                ptx::cp_async<bytes>(to, source, valid * sizeof(Element));
            }
        }
    }
};

// One operand's fragments of a K block: `count` ldmatrix.x4 of 16 × 16 elements.
template <class Operand>
struct FragmentLoader {
    using Load = typename Operand::Load;
    static constexpr int count = Load::count;

    unsigned source[Load::bases];  // shared addresses in stage 0

    __device__ __forceinline__ FragmentLoader(unsigned warp_mn, unsigned shared) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned b = 0; b < Load::bases; ++b) {
            const unsigned mn = warp_mn + Load::mn(lane) + Load::representative_mn(b);
            const unsigned k = Load::k(lane) + Load::representative_k(b);
            source[b] = shared + Operand::shared + Operand::offset(mn, k) * sizeof(typename Operand::Element);
        }
    }

    __device__ __forceinline__ void load(unsigned (&fragments)[count][4], unsigned k_block, unsigned stage) const {
#pragma unroll
        for (unsigned i = 0; i < count; ++i) {
            const unsigned delta = Load::delta(i, k_block) * sizeof(typename Operand::Element);
            ptx::ldmatrix_x4<Operand::mn_contiguous>(
                fragments[i], source[Load::base(i, k_block)] + delta + stage);
        }
    }
};

// Accumulators of one warp's tile in m16n8 fragments; a subtile is one row of fragments.
struct Sm80Accumulators {
    static constexpr unsigned subtiles = cfg::warp_m / 16;
    static constexpr unsigned fragments_n = cfg::warp_n / 8;
    static_assert(cfg::slab_rows == 16 && cfg::slab_columns == cfg::warp_n, "a slab is one row of a warp's fragments");

    float value[subtiles][fragments_n][4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i)
#pragma unroll
            for (unsigned j = 0; j < fragments_n; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4; ++v) value[i][j][v] = 0.0f;
    }

    // f(i, x) for each vector i of `vectors`, in an order that is the same for every CTA.
    using Value = float;
    static constexpr unsigned vectors = subtiles * fragments_n;
    template <class F>
    __device__ __forceinline__ void for_each_vector(const F& f) {
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i)
#pragma unroll
            for (unsigned j = 0; j < fragments_n; ++j) f(i * fragments_n + j, value[i][j]);
    }

    __device__ __forceinline__ unsigned row(unsigned subtile) const {
        return idx::warp_row(threadIdx.x / 32) + subtile * 16;
    }
    __device__ __forceinline__ unsigned column(unsigned) const { return idx::warp_column(threadIdx.x / 32); }

    // Registers cannot be indexed at run time, so the subtile is found by comparison.
    template <class F>
    __device__ __forceinline__ void for_each_pair(unsigned subtile, const F& f) const {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i) {
            if (i != subtile) continue;
#pragma unroll
            for (unsigned j = 0; j < fragments_n; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4; v += 2) {
                    f(idx::accumulator_row(lane, v), idx::accumulator_column(lane, v) + j * 8, value[i][j][v],
                      value[i][j][v + 1]);
                }
        }
    }
};

// A stage of the ring, by where it begins in each operand's buffer.
struct Sm80Stage {
    unsigned a, b;  // bytes

    static __device__ __forceinline__ Sm80Stage at(unsigned index) {
        return {index * OperandA::stage_bytes, index * OperandB::stage_bytes};
    }
    __device__ __forceinline__ Sm80Stage following() const {
        return a == at(cfg::stages - 1).a ? at(0) : Sm80Stage{a + OperandA::stage_bytes, b + OperandB::stage_bytes};
    }
};

struct Sm80Multistage : SingleRole {
    using Accumulators = Sm80Accumulators;
    static constexpr unsigned k_blocks = cfg::tile_k / 16;
    // With an even number of K blocks the two fragment buffers alternate across tiles, and the first fragments of the next
    // tile are loaded during the last block of this one.
    static constexpr bool across_tiles = k_blocks % 2 == 0;
    static_assert(cfg::stages >= 2, "one stage is filled while another is read");

    const Params& params;
    OperandLoader<OperandA> copy_a;
    OperandLoader<OperandB> copy_b;
    FragmentLoader<OperandA> load_a;
    FragmentLoader<OperandB> load_b;
    unsigned a[2][FragmentLoader<OperandA>::count][4];
    unsigned b[2][FragmentLoader<OperandB>::count][4];

    __device__ __forceinline__ Sm80Multistage(const Params& p, unsigned shared)
        : params(p),
          copy_a(p.a, shared),
          copy_b(p.b, shared),
          load_a(idx::warp_row(threadIdx.x / 32), shared),
          load_b(idx::warp_column(threadIdx.x / 32), shared) {}

    __device__ __forceinline__ void run(const Work& work, Accumulators& accumulators) {
        accumulators.clear();
        if (work.k_count == 0) return;
        const unsigned first_k = work.k_begin * cfg::tile_k;
        const unsigned end_k = min(params.depth, first_k + work.k_count * cfg::tile_k);
        copy_a.begin(params.a, work.group, work.tile_m * cfg::tile_m, params.rows, first_k, end_k);
        copy_b.begin(params.b, work.group, work.tile_n * cfg::tile_n, params.columns, first_k, end_k);
#pragma unroll 1
        for (unsigned stage = 0; stage < cfg::stages - 1; ++stage) {
            request(0, 1, Sm80Stage::at(stage));
            ptx::cp_async_commit();
        }
        Sm80Stage read = Sm80Stage::at(0);
        Sm80Stage write = Sm80Stage::at(cfg::stages - 1);
        if (across_tiles) {
            await();
            load(0, 0, read);
        }
#pragma unroll 1
        for (unsigned tile = 0; tile < work.k_count; ++tile) {
            if (!across_tiles) {
                await();
                load(0, 0, read);
            }
#pragma unroll
            for (unsigned block = 0; block < k_blocks; ++block) {
                const bool last = block == k_blocks - 1;
                if (last) {
                    if (k_blocks == 1) request(0, 1, write);
                    ptx::cp_async_commit();
                    write = write.following();
                    // The next tile arrives, and no warp reads this one any more: its last fragments are in registers.
                    if (across_tiles) await();
                    read = read.following();
                }
                if (!last || across_tiles) load((block + 1) % 2, (block + 1) % k_blocks, read);
                // Spread over the blocks, so that address arithmetic and copies fill gaps between the instructions.
                if (!last) request(block, k_blocks - 1, write);
                multiply(block % 2, accumulators);
            }
        }
        ptx::cp_async_wait<0>();
        __syncthreads();
    }

   private:
    __device__ __forceinline__ void request(unsigned part, unsigned parts, Sm80Stage stage) {
        copy_a.issue(part, parts, stage.a);
        copy_b.issue(part, parts, stage.b);
    }

    static __device__ __forceinline__ void await() {
        ptx::cp_async_wait<cfg::stages - 2>();
        __syncthreads();
    }

    __device__ __forceinline__ void load(unsigned buffer, unsigned k_block, Sm80Stage stage) {
        load_a.load(a[buffer], k_block, stage.a);
        load_b.load(b[buffer], k_block, stage.b);
    }

    // Serpentine order: neighbouring instructions share a fragment, which saves register-file reads.
    __device__ __forceinline__ void multiply(unsigned buffer, Accumulators& accumulators) const {
#pragma unroll
        for (unsigned i = 0; i < Accumulators::subtiles; ++i)
#pragma unroll
            for (unsigned step = 0; step < Accumulators::fragments_n; ++step) {
                const unsigned j = i % 2 ? Accumulators::fragments_n - 1 - step : step;
                const unsigned(&y)[4] = b[buffer][j / 2];
                mma(accumulators.value[i][j], a[buffer][i], y[j % 2 * 2], y[j % 2 * 2 + 1], OperandA::Element{});
            }
    }

    static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&x)[4], unsigned y0, unsigned y1, f16) {
        ptx::mma_m16n8k16_f16(d, x, y0, y1);
    }
    static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&x)[4], unsigned y0, unsigned y1, bf16) {
        ptx::mma_m16n8k16_bf16(d, x, y0, y1);
    }
};
