// PTX instructions as functions, one each, no policy.
//
// Statements that touch or order memory are volatile with a "memory" clobber; arithmetic is neither, so that it can be
// scheduled freely. Shared addresses are 32-bit offsets into the shared window.
namespace ptx {

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies `bytes` (4, 8, 16) to shared memory asynchronously; bytes from `valid` on are written as zero and not read.
template <unsigned bytes>
__device__ __forceinline__ void cp_async(unsigned target, const void* source, unsigned valid) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(valid)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(target), "l"(source), "n"(bytes),
                     "r"(valid)
                     : "memory");
    }
}

// The same, all or nothing: one predicate, where a size costs five instructions of arithmetic.
template <unsigned bytes>
__device__ __forceinline__ void cp_async_or_zero(unsigned target, const void* source, bool valid) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    const unsigned ignored = !valid;
    if constexpr (bytes == 16) {
        asm volatile(
            "{\n\t.reg .pred ignore;\n\t"
            "setp.ne.u32 ignore, %2, 0;\n\t"
            "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, ignore;\n\t}" ::"r"(target),
            "l"(source), "r"(ignored)
            : "memory");
    } else {
        asm volatile(
            "{\n\t.reg .pred ignore;\n\t"
            "setp.ne.u32 ignore, %2, 0;\n\t"
            "cp.async.ca.shared.global.L2::128B [%0], [%1], %3, ignore;\n\t}" ::"r"(target),
            "l"(source), "r"(ignored), "n"(bytes)
            : "memory");
    }
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most `pending` of this thread's latest groups are incomplete. Other threads still need a barrier.
template <unsigned pending>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four 8x8 matrices of 16-bit elements; lane l names row l % 8 of matrix l / 8.
template <bool transposed>
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned address) {
    if constexpr (transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(address)
                     : "memory");
    }
}

__device__ __forceinline__ float cvt_f32_f16(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}

__device__ __forceinline__ unsigned cvt_rn_f16x2(float high, float low) {
    unsigned y;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
#else
    asm("{\n\t.reg .b16 high, low;\n\t"
        "cvt.rn.f16.f32 high, %1;\n\t"
        "cvt.rn.f16.f32 low, %2;\n\t"
        "mov.b32 %0, {low, high};\n\t}"
        : "=r"(y)
        : "f"(high), "f"(low));
#endif
    return y;
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ unsigned cvt_rn_bf16x2(float high, float low) {
    unsigned y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}
#endif

#if __CUDA_ARCH__ >= 890
__device__ __forceinline__ unsigned cvt_rn_satfinite_e4m3x2(float high, float low) {
    unsigned short y;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(y) : "f"(high), "f"(low));
    return y;
}

__device__ __forceinline__ unsigned cvt_rn_satfinite_e5m2x2(float high, float low) {
    unsigned short y;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(y) : "f"(high), "f"(low));
    return y;
}
#endif

__device__ __forceinline__ void mma_m16n8k16_f16(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                                 unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

#if __CUDA_ARCH__ >= 890
__device__ __forceinline__ unsigned cvt_f16x2_e4m3x2(unsigned short x) {
    unsigned y;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(y) : "h"(x));
    return y;
}

__device__ __forceinline__ unsigned cvt_f16x2_e5m2x2(unsigned short x) {
    unsigned y;
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(y) : "h"(x));
    return y;
}
#endif

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned cvt_rn_tf32(unsigned x) {
    unsigned y;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}
#endif

// One global access of 1, 2, 4, 8 or 16 bytes; less than 4 use the low bits of words[0].
template <unsigned bytes>
__device__ __forceinline__ void ld_global(unsigned* words, const void* source) {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "an access is a power of two");
    if constexpr (bytes == 16) {
        asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "l"(source)
                     : "memory");
    } else if constexpr (bytes == 8) {
        asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "l"(source) : "memory");
    } else if constexpr (bytes == 4) {
        asm volatile("ld.global.b32 %0, [%1];" : "=r"(words[0]) : "l"(source) : "memory");
    } else if constexpr (bytes == 2) {
        unsigned short half;
        asm volatile("ld.global.b16 %0, [%1];" : "=h"(half) : "l"(source) : "memory");
        words[0] = half;
    } else {
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(words[0]) : "l"(source) : "memory");
    }
}

// 16 bytes, or zeros, without a branch.
__device__ __forceinline__ void ld_global_or_zero(unsigned* words, const void* source, bool valid) {
    asm volatile(
        "{\n\t.reg .pred valid;\n\t"
        "setp.ne.u32 valid, %5, 0;\n\t"
        "mov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\tmov.b32 %2, 0;\n\tmov.b32 %3, 0;\n\t"
        "@valid ld.global.v4.b32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "=&r"(words[0]), "=&r"(words[1]), "=&r"(words[2]), "=&r"(words[3])
        : "l"(source), "r"(static_cast<unsigned>(valid))
        : "memory");
}

// The low word of a pair that is shifted right by less than 32 bits.
__device__ __forceinline__ unsigned funnel_right(unsigned low, unsigned high, unsigned bits) {
    unsigned x;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(x) : "r"(low), "r"(high), "r"(bits));
    return x;
}

template <unsigned bytes>
__device__ __forceinline__ void st_global(void* target, const unsigned* words) {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16, "an access is a power of two");
    if constexpr (bytes == 16) {
        asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
    } else if constexpr (bytes == 8) {
        asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(target), "r"(words[0]), "r"(words[1]) : "memory");
    } else if constexpr (bytes == 4) {
        asm volatile("st.global.b32 [%0], %1;" ::"l"(target), "r"(words[0]) : "memory");
    } else if constexpr (bytes == 2) {
        asm volatile("st.global.b16 [%0], %1;" ::"l"(target), "h"(static_cast<unsigned short>(words[0])) : "memory");
    } else {
        asm volatile("st.global.u8 [%0], %1;" ::"l"(target), "r"(words[0]) : "memory");
    }
}

// Of a programmatic launch: waits until the grids before this one are over and what they wrote can be read. Of any other launch,
// and before sm_90, nothing.
__device__ __forceinline__ void wait_for_grids_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
// Likewise: lets the grid behind this one begin.
__device__ __forceinline__ void let_grid_behind_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Flags that CTAs synchronise through.
__device__ __forceinline__ unsigned ld_acquire(const unsigned* flag) {
    unsigned x;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
    return x;
}

__device__ __forceinline__ void st_release(unsigned* flag, unsigned x) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(x) : "memory");
}

__device__ __forceinline__ void st_relaxed(unsigned* flag, unsigned x) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(x) : "memory");
}

// Returns what was there before.
__device__ __forceinline__ unsigned atom_add_acq_rel(unsigned* flag, unsigned x) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(flag), "r"(x) : "memory");
    return before;
}
__device__ __forceinline__ unsigned atom_add_relaxed(unsigned* flag, unsigned x) {
    unsigned before;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(flag), "r"(x) : "memory");
    return before;
}

// Returns what was there; then there is one more, or zero where `limit` was.
__device__ __forceinline__ unsigned atom_inc_acq_rel(unsigned* flag, unsigned limit) {
    unsigned x;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(x) : "l"(flag), "r"(limit) : "memory");
    return x;
}

// One shared access of 4, 8 or 16 bytes.
template <unsigned bytes>
__device__ __forceinline__ void st_shared(unsigned target, const unsigned* words) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "an access has 4, 8 or 16 bytes");
    if constexpr (bytes == 16) {
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(target), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
    } else if constexpr (bytes == 8) {
        asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(target), "r"(words[0]), "r"(words[1]) : "memory");
    } else {
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(target), "r"(words[0]) : "memory");
    }
}

template <unsigned bytes>
__device__ __forceinline__ void ld_shared(unsigned* words, unsigned source) {
    static_assert(bytes == 4 || bytes == 8, "an access has 4 or 8 bytes");
    if constexpr (bytes == 8) {
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(source) : "memory");
    } else {
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(words[0]) : "r"(source) : "memory");
    }
}

__device__ __forceinline__ void st_shared_number(unsigned target, float x) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(target), "f"(x) : "memory");
}
__device__ __forceinline__ void st_shared_number(unsigned target, int x) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(target), "r"(x) : "memory");
}
__device__ __forceinline__ void st_shared_number(unsigned target, double x) {
    asm volatile("st.shared.f64 [%0], %1;" ::"r"(target), "d"(x) : "memory");
}

// Numbers in the widest accesses that their count allows; a vector is aligned to its bytes, or to 16.
__device__ __forceinline__ void st_shared_pair(unsigned target, float x0, float x1) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(target), "f"(x0), "f"(x1) : "memory");
}
__device__ __forceinline__ void st_shared_pair(unsigned target, int x0, int x1) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(target), "r"(x0), "r"(x1) : "memory");
}
__device__ __forceinline__ void st_shared_pair(unsigned target, double x0, double x1) {
    asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(target), "d"(x0), "d"(x1) : "memory");
}

template <unsigned count>
__device__ __forceinline__ void ld_shared_vector(float* x, unsigned source) {
    if constexpr (count % 4 == 0) {
#pragma unroll
        for (unsigned i = 0; i < count; i += 4) {
            asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(x[i]), "=f"(x[i + 1]), "=f"(x[i + 2]), "=f"(x[i + 3])
                         : "r"(source + i * 4)
                         : "memory");
        }
    } else if constexpr (count == 2) {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[0]), "=f"(x[1]) : "r"(source) : "memory");
    } else {
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[0]) : "r"(source) : "memory");
    }
}
template <unsigned count>
__device__ __forceinline__ void ld_shared_vector(int* x, unsigned source) {
    if constexpr (count % 4 == 0) {
#pragma unroll
        for (unsigned i = 0; i < count; i += 4) {
            asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[i]), "=r"(x[i + 1]), "=r"(x[i + 2]), "=r"(x[i + 3])
                         : "r"(source + i * 4)
                         : "memory");
        }
    } else if constexpr (count == 2) {
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(source) : "memory");
    } else {
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x[0]) : "r"(source) : "memory");
    }
}
template <unsigned count>
__device__ __forceinline__ void ld_shared_vector(double* x, unsigned source) {
    if constexpr (count % 2 == 0) {
#pragma unroll
        for (unsigned i = 0; i < count; i += 2) {
            asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];"
                         : "=d"(x[i]), "=d"(x[i + 1])
                         : "r"(source + i * 8)
                         : "memory");
        }
    } else {
        asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x[0]) : "r"(source) : "memory");
    }
}

}  // namespace ptx
