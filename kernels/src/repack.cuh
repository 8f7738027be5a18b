// Copies of operands that TMA cannot address, in lines that begin at whole cache lines: of two operands at most, by one launch.
//
// A line is what is contiguous in memory: a row of a K-major operand, say. It is copied in chunks of 16 bytes, the last of which
// may bring what is behind the line, whose place in the copy nobody reads.
struct RepackPlace {
    unsigned chunk, line, entry;

    __device__ __forceinline__ RepackPlace(const RepackArg& r, unsigned at)
        : chunk(at % r.chunks), line(at / r.chunks % r.lines), entry(at / r.chunks / r.lines) {}

    // To the chunk that is a whole grid's threads further on.
    __device__ __forceinline__ void advance(const RepackArg& r) {
        chunk += r.step_chunks;
        line += r.step_lines;
        entry += r.step_entries;
        if (chunk >= r.chunks) {
            chunk -= r.chunks;
            ++line;
        }
        if (line >= r.lines) {
            line -= r.lines;
            ++entry;
        }
    }
};

__device__ __forceinline__ void repack(const RepackArg& r, unsigned block) {
    RepackPlace place(r, block * repack_threads + threadIdx.x);
#pragma unroll 1
    while (place.entry < r.entries) {
        Straddling<unsigned char> chunks[repack_at_once];
        unsigned char* targets[repack_at_once];
#pragma unroll
        for (unsigned i = 0; i < repack_at_once; ++i) {
            const bool exists = place.entry < r.entries;
            const unsigned long long line = place.line, entry = place.entry, chunk = 16ull * place.chunk;
            const unsigned char* source = r.source + entry * r.source_entry + line * r.source_line + chunk;
            // Bytes behind a line are the next one's, or lie between them: only behind the operand there need not be any.
            const unsigned long long left = r.end - reinterpret_cast<unsigned long long>(source);
            chunks[i].request(source, exists ? static_cast<int>(left < 32 ? left : 32) : 0);
            targets[i] = exists ? r.target + entry * r.target_entry + line * r.target_line + chunk : nullptr;
            place.advance(r);
        }
#pragma unroll
        for (unsigned i = 0; i < repack_at_once; ++i) {
            if (targets[i] != nullptr) ptx::st_global<16>(targets[i], chunks[i].take().words);
        }
    }
}
