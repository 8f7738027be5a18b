// The epilogue's loop for accumulators that are single numbers in threads of their own: a visitor as in visitor.cuh, of whose
// generated text it uses vectors of one element. The accumulator source:
//   vectors                how many numbers a thread has
//   holds()                whether this thread has any
//   row(i), column(i)      where number i is in the tile
//   at(i)                  the number
template <class Tree>
struct ElementVisitor {
    using Epilogue = Tree;

    const Params& params;

    __device__ __forceinline__ ElementVisitor(const Params& p, unsigned) : params(p) {}

    template <class Accumulators>
    __device__ __forceinline__ void begin(const Work&) const {}
    __device__ __forceinline__ void end() const {}

    template <class Accumulators>
    __device__ __forceinline__ void run(const Work& w, const Accumulators& accumulators) const {
        const Epilogue epilogue(params.epilogue, w.group);
#pragma unroll 1
        for (unsigned i = 0; i < Accumulators::vectors; ++i) {
            Coordinates c = user_coordinates<1>(params, w, accumulators.row(i), accumulators.column(i));
            if (!accumulators.holds()) c.count = 0;
            const auto loads = epilogue.template load<1>(params.epilogue, params.d, c);
            const Accumulator acc[1] = {accumulators.at(i)};
            typename Epilogue::Result out[1];
            epilogue.template visit<1>(out, acc, loads, params.epilogue, c);
            store_tile<ElementD, 1, 1>(params.d, c, Vector<ElementD, 1>::encode(out));
        }
        epilogue.end(params.epilogue, w);
    }
};
