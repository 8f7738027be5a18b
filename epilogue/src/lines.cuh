// Steps whose values depend on their neighbours in a line of D, which may run along the kernel's rows or along its columns.
//
// The visitor sees all of a tile once for each pass of steps, before the one that stores it:
//   measure   puts a subtile's values in a slab of the warp's own, and joins units of neighbours there; what that gives lies in shared
//             memory for all warps that have the tile, units in the order of a line, lines side by side
//   settle    behind a barrier of them, joins units to blocks or whole lines, which then lie there in the same way behind the units
// so that no block needs to be one warp's. `known` is what `visit` reads of it.
//
//   Op     joined, settled     how many numbers a unit is joined to, and how many a value is computed from
//          identity, join      as of reductions, of `joined` numbers
//          settle(out, in)     from the one to the other
//          value(x, settled)   the step

namespace cfg {
constexpr unsigned atom_lines = 128, atom_blocks = 4, atom_scales = atom_lines * atom_blocks;
}

// A power of two, or NaN: the exponent of a float.
struct e8m0 {
    unsigned char bits;
};

// The code of the scale factor that a number is rounded to, and its value.
template <class Scale>
struct ScaleCode {
    static __device__ __forceinline__ unsigned of(float x) { return encode_pair<Scale>(x, 0.0f) & 0xff; }
    static __device__ __forceinline__ float value(unsigned code) { return decode<Scale>(code, 0); }
};
template <>
struct ScaleCode<float> {
    static __device__ __forceinline__ unsigned of(float x) { return __float_as_uint(x); }
    static __device__ __forceinline__ float value(unsigned code) { return __uint_as_float(code); }
};
// Rounded up. Subnormals have the place value of exponent 1, and 2^-127 is one of them.
template <>
struct ScaleCode<e8m0> {
    static __device__ __forceinline__ unsigned of(float x) {
        const unsigned bits = __float_as_uint(x), exponent = bits >> 23, mantissa = bits & 0x7fffff;
        return x != x ? 0xff : min(exponent + (mantissa > (exponent == 0 ? 1u << 22 : 0u)), 0xfeu);
    }
    static __device__ __forceinline__ float value(unsigned code) {
        return __uint_as_float(code == 0 ? 1u << 22 : code == 0xff ? 0x7fffffff : code << 23);
    }
};

// Division by the scale factor of a block: its largest magnitude times the reciprocal of the element's largest value.
template <class Scale_, unsigned reciprocal>
struct QuantizeOp {
    using Scale = Scale_;
    static constexpr unsigned joined = 1, settled = 1;

    static __device__ __forceinline__ float identity() { return 0; }
    static __device__ __forceinline__ void join(float (&a)[1], float x) { a[0] = larger(a[0], magnitude(x)); }
    static __device__ __forceinline__ void join(float (&a)[1], const float (&b)[1]) { a[0] = larger(a[0], b[0]); }
    static __device__ __forceinline__ unsigned code(const float (&a)[1]) {
        return ScaleCode<Scale>::of(a[0] * __uint_as_float(reciprocal));
    }
    // At most the largest float, so that zeros stay zeros where the scale factor is one.
    static __device__ __forceinline__ void settle(float (&out)[1], const float (&a)[1]) {
        const float factor = 1.0f / ScaleCode<Scale>::value(code(a));
        out[0] = factor > __uint_as_float(0x7f7fffff) ? __uint_as_float(0x7f7fffff) : factor;
    }
    static __device__ __forceinline__ float value(float x, const float (&factor)[1]) { return x * factor[0]; }
};

// The softmax of the k largest values, in order, NaN before all others.
template <unsigned k>
struct TopKSoftmaxOp {
    using Scale = void;
    static constexpr unsigned joined = k, settled = 3;

    static __device__ __forceinline__ float identity() { return __uint_as_float(0xff800000); }
    static __device__ __forceinline__ void join(float (&a)[k], float x) {
#pragma unroll
        for (unsigned i = 0; i < k; ++i) {
            const bool keeps = a[i] >= x || a[i] != a[i];
            const float first = keeps ? a[i] : x;
            x = keeps ? x : a[i];
            a[i] = first;
        }
    }
    static __device__ __forceinline__ void join(float (&a)[k], const float (&b)[k]) {
#pragma unroll
        for (unsigned i = 0; i < k; ++i) join(a, b[i]);
    }
    static __device__ __forceinline__ void settle(float (&out)[3], const float (&a)[k]) {
        out[0] = a[0] != a[0] ? a[0] : a[k - 1];
        out[1] = a[0];
        out[2] = expf(a[0] - a[0]);
#pragma unroll
        for (unsigned i = 1; i < k; ++i) out[2] += expf(a[i] - a[0]);
    }
    static __device__ __forceinline__ float value(float x, const float (&a)[3]) {
        return x < a[0] ? 0.0f : expf(x - a[1]) / a[2];
    }
};

// Where the scale factor of a line's block goes.
template <class Place>
struct ScaleStore {
    template <class Scale>
    static __device__ __forceinline__ void put(const TensorArg& t, unsigned batch, unsigned line, unsigned block, unsigned code) {
        Scale* to = static_cast<Scale*>(const_cast<void*>(t.pointer)) + batch * t.stride_batch + Place::at(t, line, block);
        ptx::st_global<sizeof(Scale)>(to, &code);
    }
};
template <bool along_m>
struct StridedScales : ScaleStore<StridedScales<along_m>> {
    static __device__ __forceinline__ long long at(const TensorArg& t, unsigned line, unsigned block) {
        return along_m ? block * t.stride_m + line * t.stride_n : line * t.stride_m + block * t.stride_n;
    }
};
struct ScalesInAtoms : ScaleStore<ScalesInAtoms> {
    static __device__ __forceinline__ long long at(const TensorArg& t, unsigned line, unsigned block) {
        return line / cfg::atom_lines * t.stride_m + block / cfg::atom_blocks * cfg::atom_scales +
               idx::scale_atom(line % cfg::atom_lines, block % cfg::atom_blocks);
    }
};
struct NoScales {};

// `Store` says where scale factors go. `along_rows`: lines run along the kernel's rows. `block`: values of a block, 0 for whole lines. `slab`: which of the warp's, and
// `offset` where the tile's numbers begin, in shared memory.
template <class Op, class Store, bool along_rows, unsigned block, unsigned slab, unsigned offset>
struct LineStep {
    static constexpr unsigned length = along_rows ? cfg::tile_m : cfg::output_n, lines = along_rows ? cfg::output_n : cfg::tile_m;
    static constexpr unsigned unit = length % 16 == 0 ? 16 : 8, units = length / unit;
    static constexpr unsigned span = block ? block : length, spans = (length + span - 1) / span;

    // Puts values in the slab, and at the subtile's end joins its units.
    template <int V>
    static __device__ __forceinline__ void measure(const Coordinates& c, const float (&x)[V], bool ends,
                                                   const SubtileVisits& subtile) {
        const unsigned row = SubtileVisits::row_of(c) - subtile.row, column = SubtileVisits::column_of(c) - subtile.column;
        constexpr int width = V < 4 ? V : 4;
#pragma unroll
        for (int first = 0; first < V; first += width) {
            unsigned y[width];
#pragma unroll
            for (int v = 0; v < width; ++v) {
                y[v] = __float_as_uint(first + v < static_cast<int>(c.count) ? x[first + v] : Op::identity());
            }
            ptx::st_shared<sizeof(y)>(cfg::vectors_along_rows ? at(row + first, column) : at(row, column + first), y);
        }
        if (!ends) return;
        __syncwarp();
        constexpr unsigned slab_lines = along_rows ? cfg::slab_columns : cfg::slab_rows;
        constexpr unsigned slab_units = (along_rows ? cfg::slab_rows : cfg::slab_columns) / unit;
        const unsigned first_line = (along_rows ? subtile.column : subtile.row) % lines;
        const unsigned first_unit = (along_rows ? subtile.row : subtile.column) % length / unit;
#pragma unroll 1
        for (unsigned i = threadIdx.x % 32; i < slab_lines * slab_units; i += 32) {
            const unsigned line = i % slab_lines, part = i / slab_lines;
            float whole[Op::joined];
#pragma unroll
            for (unsigned j = 0; j < Op::joined; ++j) whole[j] = Op::identity();
            // Along vectors four stay together.
            constexpr unsigned width = along_rows == cfg::vectors_along_rows ? 4 : 1;
#pragma unroll 4
            for (unsigned j = part * unit; j < part * unit + unit; j += width) {
                float y[width];
                ptx::ld_shared_vector<width>(y, along_rows ? at(j, line) : at(line, j));
#pragma unroll
                for (unsigned i = 0; i < width; ++i) Op::join(whole, y[i]);
            }
            put(joined(first_unit + part, first_line + line), whole);
        }
    }

    // Joins units, behind a barrier, by threads of which this is number `rank` of `threads`; stores scale factors.
    static __device__ __forceinline__ void settle(const TensorArg* scales, const Params& params, const Work& w, unsigned rank,
                                                  unsigned threads) {
#pragma unroll 1
        for (unsigned i = rank; i < spans * lines; i += threads) {
            const unsigned line = i % lines, number = i / lines;
            float whole[Op::joined], out[Op::settled];
            get(whole, joined(number * (span / unit), line));
#pragma unroll 4
            for (unsigned j = 1; j < span / unit; ++j) {
                float other[Op::joined];
                get(other, joined(number * (span / unit) + j, line));
                Op::join(whole, other);
            }
            Op::settle(out, whole);
            put(settled(number, line), out);
            if constexpr (block > 0) {
                const unsigned row = w.tile_m * cfg::tile_m + (along_rows ? number * block : line);
                const unsigned column = w.tile_n * cfg::output_n + (along_rows ? line : number * block);
                if (row < params.rows && column < params.columns) {
                    const unsigned of = along_rows ? column : row, which = (along_rows ? row : column) / block;
                    Store::template put<typename Op::Scale>(*scales, w.group, of, which, Op::code(whole));
                }
            }
        }
    }

    // What a vector's values are computed from.
    template <int V>
    struct Settled {
        static constexpr bool one = along_rows == cfg::vectors_along_rows;
        float numbers[one ? 1 : V][Op::settled];

        __device__ __forceinline__ float operator()(int v, float x) const { return Op::value(x, numbers[one ? 0 : v]); }
    };
    template <int V>
    static __device__ __forceinline__ Settled<V> known(const Coordinates& c) {
        const unsigned row = SubtileVisits::row_of(c) % cfg::tile_m, column = SubtileVisits::column_of(c) % cfg::output_n;
        Settled<V> x;
#pragma unroll
        for (int v = 0; v < (Settled<V>::one ? 1 : V); ++v) {
            get(x.numbers[v], settled((along_rows ? row : column) / span, (along_rows ? column : row) + v));
        }
        return x;
    }

   private:
    static __device__ __forceinline__ unsigned base() {
        extern __shared__ __align__(1024) unsigned char shared[];
        return ptx::shared_address(shared);
    }
    static __device__ __forceinline__ unsigned at(unsigned row, unsigned column) {
        return base() + cfg::slab_offset + (slab * cfg::epilogue_warps + threadIdx.x / 32) * cfg::slab_bytes +
               idx::slab(row, column) * sizeof(float);
    }
    static __device__ __forceinline__ unsigned joined(unsigned number, unsigned line) {
        return base() + lines_begin() + offset + (number * lines + line) * Op::joined * sizeof(float);
    }
    static __device__ __forceinline__ unsigned settled(unsigned number, unsigned line) {
        return base() + lines_begin() + offset + (units * lines * Op::joined + (number * lines + line) * Op::settled) * sizeof(float);
    }
    template <unsigned n>
    static __device__ __forceinline__ void put(unsigned to, const float (&x)[n]) {
#pragma unroll
        for (unsigned i = 0; i < n; ++i) {
            const unsigned bits = __float_as_uint(x[i]);
            ptx::st_shared<4>(to + i * sizeof(float), &bits);
        }
    }
    template <unsigned n>
    static __device__ __forceinline__ void get(float (&x)[n], unsigned from) {
#pragma unroll
        for (unsigned i = 0; i < n; ++i) {
            float y[1];
            ptx::ld_shared_vector<1>(y, from + i * sizeof(float));
            x[i] = y[0];
        }
    }
};
