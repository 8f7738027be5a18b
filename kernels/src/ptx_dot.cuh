// PTX that only dot products need, as functions.
namespace ptx {

// As ld_global, of what nobody writes while the kernel runs and this block reads once: past the first-level cache.
template <unsigned bytes>
__device__ __forceinline__ void ld_global_once(unsigned* words, const void* source) {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "an access is a power of two");
    if constexpr (bytes == 16) {
        asm volatile("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "l"(source)
                     : "memory");
    } else if constexpr (bytes == 8) {
        asm volatile("ld.global.nc.L1::no_allocate.v2.b32 {%0, %1}, [%2];"
                     : "=r"(words[0]), "=r"(words[1])
                     : "l"(source)
                     : "memory");
    } else if constexpr (bytes == 4) {
        asm volatile("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(words[0]) : "l"(source) : "memory");
    } else if constexpr (bytes == 2) {
        unsigned short half;
        asm volatile("ld.global.nc.L1::no_allocate.b16 %0, [%1];" : "=h"(half) : "l"(source) : "memory");
        words[0] = half;
    } else {
        asm volatile("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(words[0]) : "l"(source) : "memory");
    }
}

// 16 bytes of shared memory.
__device__ __forceinline__ void ld_shared_quad(unsigned* words, unsigned source) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(source)
                 : "memory");
}

#if __CUDA_ARCH__ >= 900
// Bytes, in multiples of 16 at such addresses, into shared memory; they are counted at `barrier`.
__device__ __forceinline__ void bulk_load(unsigned target, const void* source, unsigned bytes, unsigned barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
                 "l"(source), "r"(bytes), "r"(barrier)
                 : "memory");
}
#endif

// z plus the products of four bytes each.
template <bool signed_x, bool signed_y>
__device__ __forceinline__ int dp4a(unsigned x, unsigned y, int z) {
    int d;
    if constexpr (signed_x && signed_y) {
        asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    } else if constexpr (signed_x) {
        asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    } else if constexpr (signed_y) {
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    } else {
        asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    }
    return d;
}

}  // namespace ptx
