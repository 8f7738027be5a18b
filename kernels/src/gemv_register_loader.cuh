// Steps of a GEMV tile straight into registers: a thread asks for `cfg::stages` - 1 of them ahead of the one that it multiplies.
struct GemvRegisterLoader {
    static constexpr bool has_producer = false;
    using Threads = WholeBlock;

    const Params& params;

    __device__ __forceinline__ GemvRegisterLoader(const Params& p, unsigned) : params(p) {}

    template <class F>
    __device__ __forceinline__ void each_step(DotWork work, const F& f) const {
        constexpr unsigned ahead = cfg::stages - 1;
        DotStep step[cfg::stages];
#pragma unroll
        for (unsigned i = 0; i < ahead; ++i) {
            if (i < work.steps) request(step[i], work, i < work.whole);
        }
#pragma unroll 1
        for (unsigned s = 0; s < work.steps; s += cfg::stages) {
#pragma unroll
            for (unsigned i = 0; i < cfg::stages; ++i) {
                const unsigned next = s + i + ahead;
                if (next < work.steps) request(step[(i + ahead) % cfg::stages], work, next < work.whole);
                if (s + i < work.steps) f(step[i], s + i < work.whole);
            }
        }
    }

   private:
    // The step that begins where `work` does, which then begins with the next one.
    __device__ __forceinline__ void request(DotStep& step, DotWork& work, bool whole) const {
        const auto read = [this, &work](Vector<Dot::ElementA, Dot::width>& x, unsigned line, unsigned part, int valid) {
            const Dot::ElementA* from = work.source + line * params.a.leading + Dot::step(part);
            if (valid == Dot::width) {
                ptx::ld_global_once<Dot::width * sizeof(Dot::ElementA)>(x.words, from);
            } else {
                x = {};
                if constexpr (!Dot::whole) load_elements(x, from, 1, valid);
            }
        };
        if (whole) {
            read_step<false>(step, work.rows_left, work.k_left, read);
        } else {
            read_step<true>(step, work.rows_left, work.k_left, read);
        }
        work.source += Dot::along_k ? static_cast<long long>(cfg::tile_k) : params.a.leading * cfg::tile_k;
        work.k_left -= static_cast<int>(cfg::tile_k);
    }
};
