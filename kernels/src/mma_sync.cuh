// Fragments, accumulators and arithmetic of warp-wide mma.sync.
//
// All types share one step: 16 rows × 8 columns × 32 bytes of K, in which a lane holds four words of A and two of B. Words of
// A go down the rows before they go along K. `Instruction` may be smaller than a step.

// One operand's fragments of a K block: `count` blocks of 16 rows × 32 bytes.
template <class Operand>
struct FragmentLoader {
    using Load = typename Operand::Load;
    using Fragments = unsigned[Load::count][4];

    OperandReader<Operand> reader;

    // `down`: words go down the rows before they go along K, as A's do.
    template <bool down>
    __device__ __forceinline__ void load(Fragments& fragments, unsigned k_block, unsigned stage) const {
#pragma unroll
        for (unsigned i = 0; i < Load::count; ++i) {
            if constexpr (Load::byte_pairs) {
                unsigned x[4];
                ptx::ldmatrix_x4<true>(x, reader.address(i, k_block, stage));
                // Each word has two rows at two steps; steps 0 and 1 are in one word, 2 and 3 in another.
                fragments[i][0] = __byte_perm(x[0], x[1], 0x6420);
                fragments[i][down ? 1 : 2] = __byte_perm(x[0], x[1], 0x7531);
                fragments[i][down ? 2 : 1] = __byte_perm(x[2], x[3], 0x6420);
                fragments[i][3] = __byte_perm(x[2], x[3], 0x7531);
            } else if constexpr (Load::matrices) {
                ptx::ldmatrix_x4<Load::transposed>(fragments[i], reader.address(i, k_block, stage));
            } else {
                constexpr unsigned words = 4 / Load::parts;
#pragma unroll
                for (unsigned part = 0; part < Load::parts; ++part) {
                    const unsigned from = reader.address(i * Load::parts + part, k_block, stage);
                    ptx::ld_shared<4 * words>(&fragments[i][part * words], from);
                }
            }
        }
    }

    // Makes operands of what memory holds.
    static __device__ __forceinline__ void prepare(unsigned (&block)[4]) {
        if constexpr (is_same<typename Operand::Element, tf32>) {
#pragma unroll
            for (unsigned w = 0; w < 4; ++w) block[w] = round_to_tf32(block[w]);
        }
    }
};

// Accumulators of one warp's tile in m16n8 fragments; a subtile is one row of fragments.
struct Sm80Accumulators {
    static constexpr unsigned subtiles = cfg::warp_m / 16;
    static constexpr unsigned fragments_n = cfg::warp_n / 8;
    static_assert(cfg::slab_rows == 16 && cfg::slab_columns == cfg::warp_n, "a slab is one row of a warp's fragments");

    Accumulator value[subtiles][fragments_n][4];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (unsigned i = 0; i < subtiles; ++i)
#pragma unroll
            for (unsigned j = 0; j < fragments_n; ++j)
#pragma unroll
                for (unsigned v = 0; v < 4; ++v) value[i][j][v] = 0;
    }

    // f(i, x) for each vector i of `vectors`, in an order that is the same for every CTA.
    using Value = Accumulator;
    using Team = WholeBlock;
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
            for (unsigned j = 0; j < fragments_n; j += 2)
#pragma unroll
                for (unsigned v = 0; v < 8; v += 2) {
                    const unsigned row = idx::accumulator_row(lane, v), column = idx::accumulator_column(lane, v) + j * 8;
                    if constexpr (OperandB::Load::byte_pairs) {
                        // Neighbours along a row are in two fragments.
                        const unsigned w = v % 4 + v / 4;
                        f(row, column, value[i][j][w], value[i][j + 1][w]);
                    } else {
                        f(row, column, value[i][j + v / 4][v % 4], value[i][j + v / 4][v % 4 + 1]);
                    }
                }
        }
    }
};

struct Math {
    using Accumulators = Sm80Accumulators;
    static constexpr unsigned step = 32 / sizeof(OperandA::Element);

    FragmentLoader<OperandA> load_a;
    FragmentLoader<OperandB> load_b;
    FragmentLoader<OperandA>::Fragments a[2];
    FragmentLoader<OperandB>::Fragments b[2];

    __device__ __forceinline__ explicit Math(unsigned shared)
        : load_a{{idx::warp_row(threadIdx.x / 32), shared}}, load_b{{idx::warp_column(threadIdx.x / 32), shared}} {}

    __device__ __forceinline__ void load(unsigned buffer, unsigned k_block, const Sm80Stage& stage) {
        load_a.load<true>(a[buffer], k_block, stage.a);
        load_b.load<false>(b[buffer], k_block, stage.b);
    }

    // Serpentine order: neighbouring instructions share a fragment, which saves register-file reads.
    __device__ __forceinline__ void multiply(unsigned buffer, Accumulators& accumulators) {
#pragma unroll
        for (unsigned i = 0; i < Accumulators::subtiles; ++i) {
            load_a.prepare(a[buffer][i]);
#pragma unroll
            for (unsigned s = 0; s < Accumulators::fragments_n; ++s) {
                const unsigned j = i % 2 ? Accumulators::fragments_n - 1 - s : s;
                if (i == 0 && j % 2 == 0) load_b.prepare(b[buffer][j / 2]);
                multiply(accumulators.value[i][j], a[buffer][i], &b[buffer][j / 2][j % 2 * 2]);
            }
        }
    }

   private:
    // One step by as many instructions as it takes.
    static __device__ __forceinline__ void multiply(Accumulator* d, const unsigned* x, const unsigned* y) {
        using I = Instruction;
#pragma unroll
        for (unsigned k = 0; k < step / I::k; ++k)
#pragma unroll
            for (unsigned m = 0; m < 16 / I::m; ++m) {
                I::mma(d + m * 2, x + (k * (16 / I::m) + m) * I::a_words, y + k * I::b_words);
            }
    }
};
