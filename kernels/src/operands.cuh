// Operands on their way: device memory → shared memory (`OperandLoader`) → registers (`OperandReader`). The threads that copy are
// `cfg::copiers` from `cfg::first_copier` on.
//
// Everything about an operand's layout comes from its generated description (`OperandA`, `OperandB`):
//   Element, tile_k, mn_contiguous         element, K extent of a tile, and whether M (or N) is contiguous in memory
//   offset(mn, k)                          where an element is in a stage, in elements
//   stage_bytes, shared                    bytes of a stage, and where stage 0 is in shared memory
//   Copy: chunk, count, threads            elements per copy, copies per thread, threads that copy
//         registers                        copies wait in registers until the stage is due, rather than in cp.async
//         whole                            no chunk straddles the operand's end
//         apart                            between neighbours of a chunk in shared memory, in elements
//         direct                           alignment forbids wide accesses: a chunk is 16 bytes from any address
//         group                            then, of how many chunks everything is requested before the first is used
//         mn(thread), k(thread)            coordinates in the tile of a thread's first chunk
//         step_mn(i), step_k(i)            from there to its i-th chunk
//   Load: count, parts                     blocks of a warp's rows in a K block, and accesses of a lane to each
//         matrices, transposed, byte_pairs  how the accesses become fragments (mma_sync.cuh)
//         mn(lane), k(lane)                coordinates of a lane's access in a block
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
    Vector<Element, Copy::chunk> held[Copy::registers ? Copy::count : 1];

    __device__ __forceinline__ OperandLoader(const OperandArg& arg, unsigned shared) : leading(arg.leading) {
#pragma unroll
        for (unsigned b = 0; b < Copy::bases; ++b) {
            const unsigned i = Copy::representative(b);
            const unsigned mn = Copy::mn(thread()) + Copy::step_mn(i);
            const unsigned k = Copy::k(thread()) + Copy::step_k(i);
            target[b] = shared + Operand::shared + Operand::offset(mn, k) * sizeof(Element);
        }
    }

    // From (first_mn, first_k) on; what lies at or beyond (end_mn, end_k) reads as zero.
    __device__ __forceinline__ void begin(const OperandArg& arg, unsigned batch, unsigned first_mn, unsigned end_mn,
                                          unsigned first_k, unsigned end_k) {
        const unsigned mn = first_mn + Copy::mn(thread());
        const unsigned k = first_k + Copy::k(thread());
        mn_left = static_cast<int>(end_mn - mn);
        k_left = static_cast<int>(end_k - k);
        source = static_cast<const Element*>(arg.pointer) + batch * arg.stride_batch + distance(mn, k);
    }

    // Requests part `part` of `parts` of the next K tile into the stage at byte `stage`. Parts come in order; after the last
    // one the next tile is due. Tiles beyond the end are zeros, so that the loop needs no branch.
    __device__ __forceinline__ void issue(unsigned part, unsigned parts, unsigned stage) {
        const unsigned end = Copy::count * (part + 1) / parts;
        if constexpr (Copy::direct) {
#pragma unroll
            for (unsigned first = Copy::count * part / parts; first < end; first += Copy::group) {
                straddling(first, min(end, first + Copy::group), stage);
            }
        } else {
#pragma unroll
            for (unsigned i = Copy::count * part / parts; i < end; ++i) {
                if (takes_part()) {
                    if constexpr (Copy::registers) {
                        held[i] = read(i);
                    } else {
                        copy(i, stage);
                    }
                }
                advance(i);
            }
        }
    }

    // After a tile's last part: what waits in registers goes to the stage.
    __device__ __forceinline__ void settle(unsigned stage) const {
        if constexpr (Copy::registers) {
            if (!takes_part()) return;
#pragma unroll
            for (unsigned i = 0; i < Copy::count; ++i) {
                if constexpr (Copy::apart == 1) {
                    ptx::st_shared<bytes>(address(i, stage), held[i].words);
                } else {
                    constexpr unsigned words = sizeof(Element) / 4;
#pragma unroll
                    for (unsigned v = 0; v < Copy::chunk; ++v) {
                        const unsigned to = address(i, stage) + v * Copy::apart * sizeof(Element);
                        ptx::st_shared<sizeof(Element)>(to, &held[i].words[v * words]);
                    }
                }
            }
        }
    }

   private:
    static constexpr unsigned bytes = Copy::chunk * sizeof(Element);

    static __device__ __forceinline__ unsigned thread() { return threadIdx.x - cfg::first_copier; }
    static __device__ __forceinline__ bool takes_part() {
        return Copy::threads == cfg::copiers || thread() < Copy::threads;
    }

    __device__ __forceinline__ long long distance(long long mn, long long k) const {
        return Operand::mn_contiguous ? mn + k * leading : mn * leading + k;
    }

    __device__ __forceinline__ unsigned address(unsigned i, unsigned stage) const {
        return target[Copy::base(i)] + Copy::delta(i) * sizeof(Element) + stage;
    }

    // From chunk i to the one behind it, which may be the next tile's first.
    __device__ __forceinline__ void advance(unsigned i) {
        const bool last = i + 1 == Copy::count;
        const unsigned next = last ? 0 : i + 1;
        const int tile = last ? static_cast<int>(Operand::tile_k) : 0;
        source += distance(static_cast<int>(Copy::step_mn(next) - Copy::step_mn(i)),
                           static_cast<int>(Copy::step_k(next) - Copy::step_k(i)) + tile);
        // Opaque, or the compiler keeps one base and multiplies anew for every chunk.
        asm("" : "+l"(source));
        k_left -= tile;
    }

    // Elements from a chunk's first to the end of its row; none or less beyond the operand.
    __device__ __forceinline__ int row_left(unsigned i) const {
        const int mn = mn_left - static_cast<int>(Copy::step_mn(i));
        const int k = k_left - static_cast<int>(Copy::step_k(i));
        return (Operand::mn_contiguous ? k : mn) > 0 ? (Operand::mn_contiguous ? mn : k) : 0;
    }

    // How many of a chunk's elements exist.
    __device__ __forceinline__ unsigned existing(unsigned i) const {
        const int mn = mn_left - static_cast<int>(Copy::step_mn(i));
        const int k = k_left - static_cast<int>(Copy::step_k(i));
        const int along = Operand::mn_contiguous ? mn : k;
        const bool across = (Operand::mn_contiguous ? k : mn) > 0;
        if constexpr (Copy::whole) return across && along > 0 ? Copy::chunk : 0;
        return across ? max(0, min(along, static_cast<int>(Copy::chunk))) : 0;
    }

    __device__ __forceinline__ Vector<Element, Copy::chunk> read(unsigned i) const {
        const unsigned valid = existing(i);
        Vector<Element, Copy::chunk> x = {};
        if (Copy::whole ? valid > 0 : valid == Copy::chunk) {
            ptx::ld_global<bytes>(x.words, source);
        } else if constexpr (!Copy::whole) {
            load_elements(x, source, 1, valid);
        }
        return x;
    }

    __device__ __forceinline__ void copy(unsigned i, unsigned stage) const {
        const unsigned to = address(i, stage);
        if constexpr (Copy::whole) {
            ptx::cp_async_or_zero<bytes>(to, source, existing(i) > 0);
        } else {
            ptx::cp_async<bytes>(to, source, existing(i) * sizeof(Element));
        }
    }

    // Chunks `first` to `end`, which no wide access reaches.
    __device__ __forceinline__ void straddling(unsigned first, unsigned end, unsigned stage) {
        Straddling<Element> chunks[Copy::group];
#pragma unroll
        for (unsigned i = first; i < end; ++i) {
            if (takes_part()) chunks[i - first].request(source, row_left(i));
            advance(i);
        }
        if (!takes_part()) return;
#pragma unroll
        for (unsigned i = first; i < end; ++i) {
            if constexpr (Copy::registers) {
                held[i] = chunks[i - first].take();
            } else {
                ptx::st_shared<bytes>(address(i, stage), chunks[i - first].take().words);
            }
        }
    }
};

// Where this lane reads one operand's fragments.
template <class Operand>
struct OperandReader {
    using Load = typename Operand::Load;

    unsigned source[Load::bases];  // shared addresses in stage 0

    __device__ __forceinline__ OperandReader(unsigned warp_mn, unsigned shared) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned b = 0; b < Load::bases; ++b) {
            const unsigned mn = warp_mn + Load::mn(lane) + Load::representative_mn(b);
            const unsigned k = Load::k(lane) + Load::representative_k(b);
            source[b] = shared + Operand::shared + Operand::offset(mn, k) * sizeof(typename Operand::Element);
        }
    }

    __device__ __forceinline__ unsigned address(unsigned access, unsigned k_block, unsigned stage) const {
        return source[Load::base(access, k_block)] + Load::delta(access, k_block) * sizeof(typename Operand::Element) +
               stage;
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
