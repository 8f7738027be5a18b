// SM80 multistage mainloop: cp.async into a ring of `cfg::stages` swizzled stages, ldmatrix into double-buffered fragments,
// mma.sync m16n8k16.
//
// Everything about an operand's layout comes from its generated description (`OperandA`, `OperandB`):
//   Element, tile_k, mn_contiguous         element, K extent of a tile, and whether M (or N) is contiguous in memory
//   offset(mn, k)                          byte offset of an element in a stage
//   Copy: chunk, count, threads            elements per copy, copies per thread, threads that copy
//         direct                           alignment forbids cp.async: single elements through registers
//         mn(thread), k(thread)            coordinates in the tile of a thread's first chunk
//         step_mn(i), step_k(i)            from there to its i-th chunk
//   Load: count                            ldmatrix.x4 per K block, each of a 16 × 16 block
//         mn(lane), k(lane)                row of the block that a lane names to ldmatrix
//   Both: bases, representative…(b)        offsets of one thread's accesses differ by constants as far as the swizzle
//         base(i…), delta(i…)              allows: access i… lies `delta` bytes from base address `base`, which is
//                                          computed once from the access that represents it
template <class Operand>
struct OperandLoader {
    using Element = typename Operand::Element;
    using Copy = typename Operand::Copy;

    const Element* source;  // this thread's next chunk
    long long leading;      // elements between neighbours across the contiguous direction
    unsigned mn, k;         // coordinates of its first chunk in the next K tile
    unsigned mn_extent, k_extent;
    unsigned target[Copy::bases];  // shared addresses in stage 0

    __device__ __forceinline__ OperandLoader(const OperandArg& arg, unsigned mn_extent, unsigned k_extent, unsigned shared)
        : leading(arg.leading), mn_extent(mn_extent), k_extent(k_extent) {
#pragma unroll
        for (unsigned b = 0; b < Copy::bases; ++b) {
            target[b] = shared + Operand::offset(Copy::mn(threadIdx.x) + Copy::step_mn(Copy::representative(b)),
                                                 Copy::k(threadIdx.x) + Copy::step_k(Copy::representative(b)));
        }
    }

    __device__ __forceinline__ void begin(const OperandArg& arg, unsigned batch, unsigned first_mn, unsigned first_k) {
        mn = first_mn + Copy::mn(threadIdx.x);
        k = first_k + Copy::k(threadIdx.x);
        source = static_cast<const Element*>(arg.pointer) + batch * arg.stride_batch + distance(mn, k);
    }

    // Requests part `part` of `parts` of the next K tile into the stage at byte `stage`. Parts come in order; after the last
    // one the next tile is due.
    __device__ __forceinline__ void issue(unsigned part, unsigned parts, unsigned stage) {
        const bool copies = Copy::threads == cfg::threads || threadIdx.x < Copy::threads;
#pragma unroll
        for (unsigned i = Copy::count * part / parts; i < Copy::count * (part + 1) / parts; ++i) {
            const unsigned to = target[Copy::base(i)] + Copy::delta(i) + stage;
            const unsigned valid = valid_elements(mn + Copy::step_mn(i), k + Copy::step_k(i));
            if (copies) {
                if constexpr (Copy::direct) {
                    Vector<Element, Copy::chunk> x = {};
                    load_elements(x, source, 1, valid);
                    ptx::st_shared_v4(to, x.words);
                } else {
                    ptx::cp_async<Copy::chunk * sizeof(Element)>(to, source, valid * sizeof(Element));
                }
            }
            const bool last = i + 1 == Copy::count;
            const unsigned next = last ? 0 : i + 1;
            source += distance(static_cast<int>(Copy::step_mn(next) - Copy::step_mn(i)),
                               static_cast<int>(Copy::step_k(next) - Copy::step_k(i)) + (last ? Operand::tile_k : 0));
            if (last) k += Operand::tile_k;
        }
    }

   private:
    __device__ __forceinline__ long long distance(long long mn, long long k) const {
        return Operand::mn_contiguous ? mn + k * leading : mn * leading + k;
    }

    // How many of a chunk's elements lie inside the operand.
    __device__ __forceinline__ unsigned valid_elements(unsigned mn, unsigned k) const {
        const bool inside = Operand::mn_contiguous ? k < k_extent : mn < mn_extent;
        const int left = Operand::mn_contiguous ? static_cast<int>(mn_extent - mn) : static_cast<int>(k_extent - k);
        return inside ? static_cast<unsigned>(max(0, min(left, static_cast<int>(Copy::chunk)))) : 0;
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
            source[b] = shared + Operand::offset(warp_mn + Load::mn(lane) + Load::representative_mn(b),
                                                 Load::k(lane) + Load::representative_k(b));
        }
    }

    __device__ __forceinline__ void load(unsigned (&fragments)[count][4], unsigned k_block, unsigned stage) const {
#pragma unroll
        for (unsigned i = 0; i < count; ++i) {
            ptx::ldmatrix_x4<Operand::mn_contiguous>(fragments[i],
                                                     source[Load::base(i, k_block)] + stage + Load::delta(i, k_block));
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

struct Sm80Multistage {
    using Accumulators = Sm80Accumulators;
    static constexpr unsigned k_blocks = cfg::tile_k / 16;
    static_assert(k_blocks % 2 == 0, "fragments alternate between two buffers across K tiles");
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
          copy_a(p.a, p.rows, p.depth, shared + cfg::a_offset),
          copy_b(p.b, p.columns, p.depth, shared + cfg::b_offset),
          load_a(idx::warp_row(threadIdx.x / 32), shared + cfg::a_offset),
          load_b(idx::warp_column(threadIdx.x / 32), shared + cfg::b_offset) {}

    __device__ __forceinline__ void run(const Work& work, Accumulators& accumulators) {
        if (work.k_count == 0) return;
        copy_a.begin(params.a, work.batch, work.tile_m * cfg::tile_m, work.k_begin * cfg::tile_k);
        copy_b.begin(params.b, work.batch, work.tile_n * cfg::tile_n, work.k_begin * cfg::tile_k);
        unsigned write = 0;
#pragma unroll 1
        for (unsigned stage = 0; stage < cfg::stages - 1; ++stage) {
            request(stage < work.k_count, 0, 1, write);
            ptx::cp_async_commit();
            write += cfg::stage_bytes;
        }

        unsigned read = 0;
        await();
        load(0, 0, read);
#pragma unroll 1
        for (unsigned tile = 0; tile < work.k_count; ++tile) {
            const bool wanted = tile + cfg::stages - 1 < work.k_count;
#pragma unroll
            for (unsigned block = 0; block < k_blocks; ++block) {
                if (block == k_blocks - 1) {
                    // A group is committed even when nothing is left to copy: `await` counts groups. Behind it the next
                    // tile has arrived, and no warp reads this one any more: its last fragments are in registers.
                    ptx::cp_async_commit();
                    write = following(write);
                    await();
                    read = following(read);
                }
                load((block + 1) % 2, (block + 1) % k_blocks, read);
                // Spread over the blocks, so that address arithmetic and copies fill gaps between the instructions.
                if (block < k_blocks - 1) request(wanted, block, k_blocks - 1, write);
                multiply(block % 2, accumulators);
            }
        }
        ptx::cp_async_wait<0>();
        __syncthreads();
    }

   private:
    static __device__ __forceinline__ unsigned following(unsigned stage) {
        return stage == (cfg::stages - 1) * cfg::stage_bytes ? 0 : stage + cfg::stage_bytes;
    }

    __device__ __forceinline__ void request(bool wanted, unsigned part, unsigned parts, unsigned stage) {
        if (wanted) {
            copy_a.issue(part, parts, stage);
            copy_b.issue(part, parts, stage);
        }
    }

    static __device__ __forceinline__ void await() {
        ptx::cp_async_wait<cfg::stages - 2>();
        __syncthreads();
    }

    __device__ __forceinline__ void load(unsigned buffer, unsigned k_block, unsigned stage) {
        load_a.load(a[buffer], k_block, stage);
        load_b.load(b[buffer], k_block, stage);
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
