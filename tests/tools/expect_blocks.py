#!/usr/bin/env python3
"""Values that share scale factors by blocks, from NumPy: `tests/cases/blocks.json`, whose rows `tests/src/sinks.rs` runs.

Operands are small integers by a formula, so that every sum is exact; scale factors and what is divided by them follow in f32, each
operation rounded once. Data and checksums are those of `expect_sinks.py`. Needs numpy and ml_dtypes.
"""

import ml_dtypes
import numpy as np
from expect_sinks import crc, small, write

F = np.float32
# element: (its largest value, as ml_dtypes has it)
ELEMENTS = {
    "e4m3": (448, ml_dtypes.float8_e4m3fn), "e5m2": (57344, ml_dtypes.float8_e5m2),
    "e3m2": (28, ml_dtypes.float6_e3m2fn), "e2m3": (7.5, ml_dtypes.float6_e2m3fn), "e2m1": (6, ml_dtypes.float4_e2m1fn),
}  # fmt: skip


def element(x, name):
    largest, dtype = ELEMENTS[name]
    nan = np.isnan(x)
    # What has no NaN stores the largest value instead.
    x = np.where(nan, np.nan if name in ("e4m3", "e5m2") else largest, np.clip(x, -largest, largest))
    return x.astype(F).astype(dtype).astype(np.float64)


def scale_factor(exact, scale):
    """`exact` rounded to a scale factor's type."""
    if scale == "f32":
        return exact
    if scale == "e4m3":
        return element(exact, "e4m3").astype(F)
    _, exponent = np.frexp(np.where(np.isfinite(exact) & (exact > 0), exact, 1))
    mantissa = np.frexp(np.where(np.isfinite(exact) & (exact > 0), exact, 1))[0]
    up = np.ldexp(F(1), np.clip(np.where(mantissa == 0.5, exponent - 1, exponent), -127, 127)).astype(F)
    up = np.where(exact == 0, F(2.0**-127), np.where(np.isposinf(exact), F(2.0**127), up))
    return np.where(np.isnan(exact), F(np.nan), up)


def blocks(x, name, scale, block, axis):
    """Values divided by the scale factors of blocks along an axis, and these."""
    x = np.moveaxis(x.astype(F), axis, -1)
    count = -(-x.shape[-1] // block)
    padded = np.zeros((*x.shape[:-1], count * block), F)
    padded[..., : x.shape[-1]] = x
    cut = padded.reshape(*x.shape[:-1], count, block)
    with np.errstate(all="ignore"):
        amax = np.max(np.abs(cut), axis=-1)
        factors = scale_factor(amax * (F(1) / F(ELEMENTS[name][0])), scale)
        inverse = F(1) / factors
        inverse = np.where(inverse > np.finfo(F).max, np.finfo(F).max, inverse)
        divided = (cut * inverse[..., None]).reshape(padded.shape)[..., : x.shape[-1]]
    return np.moveaxis(divided, -1, axis), np.moveaxis(factors, -1, axis)


# What lies where no scale factor does: bytes of 0x7f.
POISON = {"e8m0": 1.0, "e4m3": np.nan}


def in_atoms(factors, axis, scale):
    """Scale factors in atoms of 128 lines by 4 blocks, rows of atoms one after the other."""
    factors = np.moveaxis(factors, axis, -1)
    batch, lines, count = factors.shape
    rows, columns = -(-lines // 128), -(-count // 4)
    out = np.full((batch, rows, columns * 512), POISON[scale])
    for line in range(lines):
        for block in range(count):
            at = line % 32 * 16 + line // 32 % 4 * 4 + block % 4
            out[:, line // 128, block // 4 * 512 + at] = factors[:, line, block]
    return out


def values(kind, x):
    _, m, n = x.shape
    if kind == "plain":
        return x
    if kind == "relu":
        return np.where(x < 0, 0, x)
    # Blocks of zeros alone, one with an infinity, one with a NaN.
    x = np.where(np.arange(n)[None, None, :] < 64, 0.0, x)
    x = np.where((np.arange(m)[None, :, None] == 5) & (np.arange(n)[None, None, :] == 70), np.inf, x)
    return np.where((np.arange(m)[None, :, None] == 6) & (np.arange(n)[None, None, :] == 71), np.nan, x)


X = "acc + row(bias)"
TEXTS = {
    "plain": X,
    "relu": f"relu({X})",
    "edges": f"select(eq(row_index, const<6>) * eq(column_index, const<71>), const<nan>, select(eq(row_index, const<5>) * "
    f"eq(column_index, const<70>), const<inf>, select(lt(column_index, const<64>), const<0>, {X})))",
}  # fmt: skip


def row(name, arch, element_name, scale, block, **of):
    r = {
        "name": name, "arch": arch, "a": "f16", "d": element_name, "z": "bf16", "order": "row", "swap": False,
        "tile": [64, 128, 32], "schedule": "multistage", "scheduler": "persistent", "extents": [2, 70, 208, 48], "nan": False,
        "ci": False,
    }  # fmt: skip
    if arch == "sm90":
        r.update(tile=[64, 128, 64], schedule="warpspecialized")
    kind, run, atoms = of.pop("kind", "plain"), of.pop("run", "rows"), of.pop("atoms", False)
    r.update(of)
    batch, m, n, k = r["extents"]
    lhs, rhs = small(batch, m, k), small(batch, n, k)
    x = np.einsum("bmk,bnk->bmn", lhs, rhs) + (np.arange(n) % 9 - 4.0)
    axis = 2 if run == "rows" else 1
    y, factors = blocks(values(kind, x), element_name, scale, block, axis)
    outputs = {"d": element(y, element_name), "f": in_atoms(factors, axis, scale) if atoms else factors}
    order = ", atoms" if atoms else ""
    text = f"d = quantize_{run}<{element_name}, {scale}, {block}{order}>(f, {TEXTS[kind]})"
    return r | {"epilogue": text, "outputs": {name: crc(value) for name, value in outputs.items()}}


def given(name, arch, d, text, outputs, **of):
    r = row(name, arch, "e4m3", "f32", 128, **of, ci=True)
    return r | {"d": d, "z": "e2m1", "epilogue": text, "outputs": {name: crc(value) for name, value in outputs.items()}}


def inputs(extents):
    batch, m, n, k = extents
    return np.einsum("bmk,bnk->bmn", small(batch, m, k), small(batch, n, k)) + (np.arange(n) % 9 - 4.0)


def beside(name, arch, extents, z="e2m1", scale="e4m3", block=16, **of):
    x = inputs(extents)
    y, factors = blocks(x, z, scale, block, 2)
    text = f"d = let x = {X}; select(const<1>, relu(x), aux_store(z, quantize_rows<{z}, {scale}, {block}>(f, x)))"
    outputs = {"d": np.where(x < 0, 0, x), "z": element(y, z), "f": factors}
    return given(name, arch, "f16", text, outputs, extents=extents, **of) | {"z": z}


def integers(name, arch, extents, z, **of):
    x = inputs(extents)
    least = -8 if z == "i4" else 0
    outputs = {"d": np.where(x < 0, 0, x), "z": np.clip(x, least, least + 15)}
    return given(name, arch, "f16", f"d = relu(aux_store(z, {X}))", outputs, extents=extents, **of) | {"z": z}


def nested(name, arch, **of):
    x = inputs([2, 70, 208, 48])
    y, inner = blocks(x, "e4m3", "e8m0", 32, 2)
    z, outer = blocks(y, "e5m2", "f32", 64, 1)
    text = (
        f"d = quantize_columns<e5m2, f32, 64>(f, quantize_rows<e4m3, e8m0, 32>(g, reduce_columns<max>(c, "
        f"reduce_rows<sum>(r, {X}))))"
    )
    outputs = {"d": element(z, "e5m2"), "f": outer, "g": inner, "r": np.sum(x, axis=1), "c": np.max(x, axis=(0, 2))}
    return given(name, arch, "e5m2", text, outputs, **of)


def rows():
    wide = {"tile": [128, 128, 64], "schedule": "cooperative", "extents": [2, 140, 272, 48]}
    yield row("e4m3_by_128", "sm80", "e4m3", "f32", 128, ci=True)
    yield row("e4m3_by_32_edges", "sm80", "e4m3", "e8m0", 32, kind="edges", ci=True)
    yield row("e4m3_by_128_fragments", "sm90", "e4m3", "f32", 128, kind="edges", **wide, ci=True)
    yield row("e5m2_by_32_fragments", "sm90", "e5m2", "e8m0", 32, kind="relu", ci=True)
    # The kernel's rows are D's columns, or D is contiguous along them, or both.
    yield row("e4m3_column_major", "sm80", "e4m3", "e8m0", 32, order="column", kind="edges", scheduler="splitkserial", ci=True)
    yield row("e4m3_columns_swapped", "sm80", "e4m3", "e4m3", 16, run="columns", swap=True, tile=[128, 64, 32], ci=True)
    yield row("e5m2_columns_of_column_major_fragments", "sm90", "e5m2", "f32", 128, run="columns", order="column", **wide | {"extents": [2, 144, 270, 48]}, ci=True)
    yield row("e4m3_columns_fragments_swapped", "sm90", "e4m3", "e8m0", 32, run="columns", swap=True, kind="edges", tile=[64, 128, 64], schedule="cooperative", ci=True)
    yield row("e4m3_swapped_sm90", "sm90", "e4m3", "e8m0", 32, swap=True, kind="edges", tile=[64, 128, 64], schedule="pingpong", atoms=True, ci=True)
    yield row("e4m3_pingpong_fragments", "sm90", "e4m3", "e4m3", 16, schedule="pingpong", scheduler="persistent", atoms=True, kind="edges", ci=True)
    yield row("i8_columns_in_atoms", "sm80", "e4m3", "e8m0", 64, a="i8", run="columns", atoms=True, kind="relu", tile=[64, 32, 64], extents=[3, 67, 141, 80], ci=True)
    # Of tiles whose parts of K are several blocks', the last to finish has the blocks.
    yield row("e4m3_stream_k_fragments", "sm90", "e4m3", "e8m0", 32, scheduler="streamk", **wide | {"extents": [1, 140, 272, 400]}, ci=True)
    # Two elements to a byte, the last of an odd line alone.
    odd = {"kind": "edges", "extents": [2, 67, 141, 48]}
    yield row("nvfp4_odd", "sm80", "e2m1", "e4m3", 16, **odd, atoms=True, ci=True)
    yield row("mxfp4_odd_swapped", "sm90", "e2m1", "e8m0", 32, **odd, swap=True, ci=True)
    yield row("mxfp6_odd", "sm80", "e3m2", "e8m0", 32, **odd, atoms=True, ci=True)
    yield row("mxfp6_odd_column_major", "sm90", "e2m3", "e8m0", 32, **odd, order="column", ci=True)
    yield row("nvfp4_columns_of_column_major", "sm80", "e2m1", "e4m3", 16, **odd, run="columns", order="column", ci=True)
    # In a matrix beside D, whose vectors are of one element; twice, the one of the other; and beside reductions.
    yield beside("nvfp4_beside_odd", "sm80", extents=[2, 67, 141, 48])
    yield beside("nvfp4_beside", "sm90", extents=[2, 70, 144, 48])
    yield beside("mxfp6_beside_odd", "sm80", [1, 67, 141, 48], "e2m3", "e8m0", 32)
    yield beside("mxfp6_beside", "sm90", [1, 70, 144, 48], "e3m2", "e8m0", 32, order="column")
    yield integers("i4_beside_odd", "sm80", [2, 67, 141, 48], "i4")
    yield integers("u4_beside", "sm90", [2, 72, 141, 48], "u4", order="column")
    yield nested("nested", "sm80")
    yield nested("nested_sm90", "sm90", order="column", tile=[128, 128, 64], schedule="cooperative")
    for i, name in enumerate(ELEMENTS):
        for j, (scale, block) in enumerate((("f32", 128), ("e8m0", 32), ("e4m3", 16))):
            for run in ("rows", "columns"):
                ends = {"extents": [2, 70, 208, 48] if run == "rows" else [1, 129, 35, 48], "tile": [128, 128, 32]}
                order = "row" if (name, run) != ("e5m2", "columns") else "column"
                if (i + j + (run == "rows")) % 2:
                    yield row(f"{name}_{scale}_{run}", "sm80", name, scale, block, run=run, kind="edges", order=order, **ends)
                else:
                    ends["tile"] = [128, 128, 64]
                    swap = run == "rows"
                    yield row(f"{name}_{scale}_{run}_sm90", "sm90", name, scale, block, run=run, kind="edges", swap=swap, **ends)


if __name__ == "__main__":
    write(rows(), "blocks")
