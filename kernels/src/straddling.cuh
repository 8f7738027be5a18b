// 16 bytes from any address, by the two aligned vectors that hold them: eight accesses of two bytes would take four times as
// long. Bytes before an operand that share a vector with it are in its allocation, which begins at a multiple of more; those
// behind it need not be, so that a row's last elements are read one by one.
template <class Element>
struct Straddling {
    static constexpr int length = 16 / sizeof(Element);

    const Element* source;
    int left;  // elements from there to the end of the row, as far as they matter
    unsigned words[8];

    __device__ __forceinline__ unsigned offset() const {
        return static_cast<unsigned>(reinterpret_cast<unsigned long long>(source)) & 15;
    }
    __device__ __forceinline__ bool within() const {
        const unsigned end = offset() == 0 ? 16 : 32 - offset();
        return left * static_cast<int>(sizeof(Element)) >= static_cast<int>(end);
    }

    __device__ __forceinline__ void request(const Element* p, int elements) {
        source = p;
        left = min(elements, 32);
        const unsigned char* first = reinterpret_cast<const unsigned char*>(p) - offset();
        ptx::ld_global_or_zero(words, first, within());
        ptx::ld_global_or_zero(words + 4, first + 16, within() && offset() != 0);
    }

    __device__ __forceinline__ Vector<Element, length> take() const {
        Vector<Element, length> x = {};
        if (left > 0 && !within()) {
            load_elements(x, source, 1, min(left, length));
            return x;
        }
        const unsigned at = offset(), shift = at % 4 * 8;
        unsigned w[6], v[5];
#pragma unroll
        for (unsigned i = 0; i < 6; ++i) w[i] = at & 8 ? words[i + 2] : words[i];
#pragma unroll
        for (unsigned i = 0; i < 5; ++i) v[i] = at & 4 ? w[i + 1] : w[i];
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) x.words[i] = ptx::funnel_right(v[i], v[i + 1], shift);
        return x;
    }
};
