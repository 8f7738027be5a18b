// A in registers: a warp's 16 rows of 64, and a K block of `Wgmma::k`, by one ldmatrix.
//
// Of A's description (`OperandA::Fragments`):
//   transposed                 whether rows are contiguous in shared memory
//   mn(lane), k(lane)          coordinates of what a lane names to ldmatrix
//   bases, representative…(b)  distinct addresses of a lane; all others are a constant away from one of them
//   base(part, block), delta(part, block)  which one, and how far, in elements
struct Sm90Fragments {
    using Place = OperandA::Fragments;
    static constexpr bool in_registers = true;

    unsigned source[Place::bases];  // shared addresses in stage 0

    __device__ __forceinline__ Sm90Fragments(unsigned shared) {
        const unsigned lane = threadIdx.x % 32;
#pragma unroll
        for (unsigned b = 0; b < Place::bases; ++b) {
            const unsigned mn = idx::warp_row(threadIdx.x / 32) + Place::mn(lane) + Place::representative_mn(b);
            const unsigned k = Place::k(lane) + Place::representative_k(b);
            source[b] = shared + OperandA::shared + OperandA::offset(mn, k) * sizeof(OperandA::Element);
        }
    }

    __device__ __forceinline__ void load(unsigned part, unsigned block, unsigned stage, unsigned (&held)[4]) const {
        const unsigned delta = Place::delta(part, block) * sizeof(OperandA::Element);
        ptx::ldmatrix_x4<Place::transposed>(held, source[Place::base(part, block)] + delta + stage);
    }
};
