// PTX of sm_90a as functions, one each, no policy: mbarriers, TMA, wgmma's ordering, clusters, register budgets.
namespace ptx {

// The 128 bytes that the driver encodes; kernels only take its address.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

__device__ __forceinline__ void mbarrier_init(unsigned barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers known to TMA and to the other blocks of the cluster, once a barrier follows.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives when all cp.async of this thread so far have landed.
__device__ __forceinline__ void mbarrier_arrive_copies(unsigned barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// The barrier at the same place in another block of the cluster, if `arrives`.
__device__ __forceinline__ void mbarrier_arrive_remote(unsigned barrier, unsigned rank, bool arrives) {
    asm volatile(
        "{\n\t.reg .b32 remote;\n\t.reg .pred arrives;\n\t"
        "setp.ne.u32 arrives, %2, 0;\n\t"
        "@arrives mapa.shared::cluster.u32 remote, %0, %1;\n\t"
        "@arrives mbarrier.arrive.shared::cluster.b64 _, [remote];\n\t}" ::"r"(barrier),
        "r"(rank), "r"(static_cast<unsigned>(arrives))
        : "memory");
}

__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Until the phase of this parity is over. try_wait sleeps for a while, so the loop does not spin.
__device__ __forceinline__ void mbarrier_wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n\t.reg .pred over;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n\t"
        "@!over bra again;\n\t}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

// Whether the phase of this parity is over, without waiting.
__device__ __forceinline__ bool mbarrier_test(unsigned barrier, unsigned parity) {
    unsigned over;
    asm volatile(
        "{\n\t.reg .pred over;\n\t"
        "mbarrier.test_wait.parity.shared::cta.b64 over, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, over;\n\t}"
        : "=r"(over)
        : "r"(barrier), "r"(parity)
        : "memory");
    return over != 0;
}

// The same as mbarrier_wait, for what other blocks of the cluster did before.
__device__ __forceinline__ void mbarrier_wait_cluster(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n\t.reg .pred over;\n\t"
        "again:\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%0], %1;\n\t"
        "@!over bra again;\n\t}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

// The address of the same place in another block of the cluster.
__device__ __forceinline__ unsigned map_shared(unsigned address, unsigned rank) {
    unsigned mapped;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

// Four numbers into a block of the cluster, whose barrier counts their bytes.
__device__ __forceinline__ void st_async(unsigned target, const float (&x)[4], unsigned barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(target),
                 "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "r"(barrier)
                 : "memory");
}
__device__ __forceinline__ void st_async(unsigned target, const int (&x)[4], unsigned barrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(target),
                 "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void prefetch_tensormap(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// One box into shared memory; its bytes are counted at `barrier`.
__device__ __forceinline__ void tma_load(unsigned target, const TensorMap* map, unsigned barrier, int c0, int c1, int c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
            "r"(target),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

// The same under a policy of L2's.
__device__ __forceinline__ void tma_load(unsigned target, const TensorMap* map, unsigned barrier, int c0, int c1, int c2,
                                         unsigned long long policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(target),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "l"(policy)
        : "memory");
}

// The same into every block whose bit is set in `blocks`, each at its own target and barrier of the same offsets.
__device__ __forceinline__ void tma_load_multicast(unsigned target, const TensorMap* map, unsigned barrier, int c0, int c1,
                                                   int c2, unsigned short blocks, unsigned long long policy) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(target),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "h"(blocks), "l"(policy)
        : "memory");
}

// Policies of L2's: lines that go first or last, as createpolicy makes them, and as usual, as CUTLASS has it: createpolicy's
// 0x16f0… for that makes 4096 cubed 12 % slower on an H200.
constexpr unsigned long long evict_first = 0x12f0000000000000ull, evict_normal = 0x1000000000000000ull,
                             evict_last = 0x14f0000000000000ull;

// Shared memory written by plain stores, for what the async proxy does later.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// One box from shared memory; what lies outside the tensor is not written.
__device__ __forceinline__ void tma_store(const TensorMap* map, unsigned source, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(source), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}

__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but `pending` of this thread's latest bulk groups have read their sources.
template <unsigned pending>
__device__ __forceinline__ void bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

// 8x8 matrices of 16-bit elements, as ldmatrix reads them; lane l names row l % 8 of matrix l / 8.
template <bool transposed>
__device__ __forceinline__ void stmatrix_x4(unsigned address, unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
    if constexpr (transposed) {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0),
                     "r"(r1), "r"(r2), "r"(r3)
                     : "memory");
    } else {
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1),
                     "r"(r2), "r"(r3)
                     : "memory");
    }
}
template <bool transposed>
__device__ __forceinline__ void stmatrix_x2(unsigned address, unsigned r0, unsigned r1) {
    if constexpr (transposed) {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1)
                     : "memory");
    } else {
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1) : "memory");
    }
}

// The low bits of a word.
template <unsigned bytes>
__device__ __forceinline__ void st_shared_low(unsigned target, unsigned x) {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4, "parts of a word");
    if constexpr (bytes == 4) {
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(target), "r"(x) : "memory");
    } else if constexpr (bytes == 2) {
        asm volatile("st.shared.b16 [%0], %1;" ::"r"(target), "h"(static_cast<unsigned short>(x)) : "memory");
    } else {
        asm volatile("st.shared.b8 [%0], %1;" ::"r"(target), "r"(x) : "memory");
    }
}
template <unsigned bytes>
__device__ __forceinline__ unsigned ld_shared_low(unsigned source) {
    static_assert(bytes == 1 || bytes == 2 || bytes == 4, "parts of a word");
    if constexpr (bytes == 2) {
        unsigned short x;
        asm volatile("ld.shared.b16 %0, [%1];" : "=h"(x) : "r"(source) : "memory");
        return x;
    } else {
        unsigned x;
        if constexpr (bytes == 4) {
            asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(source) : "memory");
        } else {
            asm volatile("ld.shared.b8 %0, [%1];" : "=r"(x) : "r"(source) : "memory");
        }
        return x;
    }
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <unsigned pending>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

template <unsigned registers>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <unsigned registers>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

__device__ __forceinline__ void barrier_sync(unsigned id, unsigned threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// Whether the condition holds for any of the threads.
__device__ __forceinline__ bool barrier_or(unsigned id, unsigned threads, bool condition) {
    unsigned any;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "setp.ne.u32 p, %1, 0;\n\t"
        "bar.red.or.pred p, %2, %3, p;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(any)
        : "r"(static_cast<unsigned>(condition)), "r"(id), "r"(threads)
        : "memory");
    return any;
}
__device__ __forceinline__ void barrier_arrive(unsigned id, unsigned threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// All threads of the cluster are here. Of what they did before, only what a fence made known is known.
__device__ __forceinline__ void cluster_meet() {
    asm volatile(
        "barrier.cluster.arrive.relaxed.aligned;\n\t"
        "barrier.cluster.wait.aligned;" ::
            : "memory");
}

// True in one lane of a converged warp, the same each time.
__device__ __forceinline__ bool elect_one() {
    unsigned elected;
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "elect.sync _|p, 0xffffffff;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(elected));
    return elected;
}

}  // namespace ptx
