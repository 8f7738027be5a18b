// The row and the column of element v of a vector, in the user's frame.

__device__ __forceinline__ unsigned row_index(const Coordinates& c, int v) { return cfg::vectors_along_m ? c.m + v : c.m; }
__device__ __forceinline__ unsigned column_index(const Coordinates& c, int v) { return cfg::vectors_along_m ? c.n : c.n + v; }
