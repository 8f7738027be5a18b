#!/usr/bin/env python3
"""What epilogues store beside D, from NumPy in f64: `tests/cases/sinks.json`, whose rows `tests/src/sinks.rs` runs.

Operands are small integers by a formula, so every sum is exact in any order and every output is known to the bit. Of each output the
CRC-32 of its elements, decoded to f64 in the order (batch, row, column), is listed; NaN is 0x7ff8000000000000.
Needs numpy and ml_dtypes.
"""

import json
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np

X = "acc + row(bias)"
# name: (the epilogue, what D is of x, {output: (axes, reduction)}, matrices and bits)
KINDS = {
    "all": (
        f"d = relu(aux_store(z, reduce_rows<sum>(r, reduce_columns<max>(c, amax(s, reduce_all<sum_of_squares>(q, "
        f"aux_mask(bits, aux_store(y, {X}))))))))",
        lambda x: np.where(x < 0, 0, x),
        {"r": "sum", "c": "max", "s": "amax", "q": "sum_of_squares"},
        ["z", "y", "bits"],
    ),
    "atomic": (
        f"d = relu(aux_store(z, reduce_rows<atomic sum>(r, reduce_columns<atomic max>(c, reduce_all<atomic amax>(s, "
        f"reduce_all<atomic sum_of_squares>(q, aux_mask(bits, {X})))))))",
        lambda x: np.where(x < 0, 0, x),
        {"r": "sum", "c": "max", "s": "amax", "q": "sum_of_squares"},
        ["z", "bits"],
    ),
    "least": (
        f"d = let t = reduce_rows<min>(r, {X}); aux_store(z, reduce_all<min>(s, reduce_columns<sum>(c, t))) + "
        f"reduce_all<atomic min>(q, t)",
        lambda x: x + x,
        {"r": "min", "c": "sum", "s": "min", "q": "min"},
        ["z"],
    ),
    "scaled": (
        f"d = aux_mask(bits, 2 * reduce_columns<amax>(c, {X}) + reduce_rows<atomic sum_of_squares>(r, acc - 3) * 0)",
        lambda x: 2 * x,
        {"c": "amax"},
        ["bits"],
    ),
    # What wgmma's fragments are stored from without a detour.
    "fragments": (
        f"d = relu(aux_store(z, amax(s, reduce_all<sum_of_squares>(q, aux_mask(bits, aux_store(y, {X}))))))",
        lambda x: np.where(x < 0, 0, x),
        {"s": "amax", "q": "sum_of_squares"},
        ["z", "y", "bits"],
    ),
    # The same without matrices.
    "reduced": (
        f"d = relu(amax(s, reduce_all<sum_of_squares>(q, aux_mask(bits, {X}))))",
        lambda x: np.where(x < 0, 0, x),
        {"s": "amax", "q": "sum_of_squares"},
        ["bits"],
    ),
    # What TMA takes from slabs of its own.
    "aux": (
        f"d = relu(aux_store(z, amax(s, {X})))",
        lambda x: np.where(x < 0, 0, x),
        {"s": "amax"},
        ["z"],
    ),
}
REDUCE = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "amax": lambda x, axis: np.max(np.abs(x), axis=axis),
    "sum_of_squares": lambda x, axis: np.sum(x * x, axis=axis),
}
# Which modes of (batch, M, N) each output reduces away.
AXES = {"r": 1, "c": (0, 2), "s": (0, 1, 2), "q": (1, 2)}
TYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "i32": np.int32, "i8": np.int8,
}  # fmt: skip


def small(batch, i, j):
    b, i, j = np.ogrid[0:batch, 0:i, 0:j]
    return ((b * 5 + i * 7 + j * 3) % 5).astype(np.float64) - 2


def stored(x, dtype):
    """The values that an output of this type holds."""
    if dtype in ("i8", "i32"):
        limits = np.iinfo(TYPES[dtype])
        return np.clip(np.rint(np.nan_to_num(x, nan=0.0)), limits.min, limits.max)
    largest = {"e4m3": 448, "e5m2": 57344}.get(dtype)
    if largest:
        x = np.clip(x, -largest, largest)
    # float64 to the narrow types goes through float32, where these values are exact.
    return x.astype(np.float32 if dtype != "f64" else np.float64).astype(TYPES[dtype]).astype(np.float64)


def crc(x):
    x = np.ascontiguousarray(x, dtype="<f8").reshape(-1)
    words = x.view("<u8").copy()
    words[np.isnan(x)] = 0x7FF8000000000000
    # Zeros of reductions and of products are +0, those of D may be either: they count as one.
    words[x == 0] = 0
    return zlib.crc32(words.tobytes())


def row(name, arch, a, kind, **of):
    r = {
        "name": name, "arch": arch, "a": a, "d": a if a not in ("i8", "e4m3") else {"i8": "i32", "e4m3": "e4m3"}[a],
        "z": "bf16", "order": "row", "swap": False, "tile": [64, 64, 32], "schedule": "multistage", "scheduler": "singletile",
        "extents": [2, 70, 104, 80], "nan": False, "ci": False,
    }  # fmt: skip
    if arch == "sm90":
        r.update(tile=[64, 64, 64], schedule="warpspecialized", scheduler="persistent")
    r.update(of)
    text, d_of, reduced, others = KINDS[kind]
    batch, m, n, k = r["extents"]
    lhs, rhs = small(batch, m, k), small(batch, n, k)
    if r["nan"]:
        lhs[0, 3, 1] = np.nan
    x = np.einsum("bmk,bnk->bmn", lhs, rhs) + (np.arange(n) % 9 - 4.0)
    compute = "f64" if a == "f64" else "f32"
    outputs = {"d": stored(d_of(x), r["d"])}
    for output, reduction in reduced.items():
        outputs[output] = stored(REDUCE[reduction](x, axis=AXES[output]), compute)
    if kind == "scaled":
        acc = x - (np.arange(n) % 9 - 4.0)
        outputs["r"] = stored(REDUCE["sum_of_squares"](acc - 3, axis=1), compute)
    if "z" in others:
        outputs["z"] = stored(x, r["z"])
    if "y" in others:
        outputs["y"] = stored(x, compute)
    if "bits" in others:
        above = d_of(x) > 0
        bits = np.packbits(above, axis=2 if r["order"] == "row" else 1, bitorder="little")
        outputs["bits"] = bits.astype(np.float64)
    return r | {"epilogue": text, "outputs": {name: crc(value) for name, value in outputs.items()}}


def rows():
    yield row("f16_persistent", "sm80", "f16", "all", scheduler="persistent", ci=True)
    yield row("f16_column_major_split", "sm80", "f16", "all", order="column", scheduler="splitkserial", ci=True)
    yield row("i8_atomic", "sm80", "i8", "atomic", tile=[64, 32, 64], z="i8", ci=True)
    yield row("f16_pingpong", "sm90", "f16", "all", schedule="pingpong", ci=True)
    yield row("f16_column_major_sm90", "sm90", "f16", "atomic", order="column", nan=True, ci=True)
    yield row("f16_shares", "sm90", "f16", "all", tile=[128, 64, 64], schedule="cooperative", scheduler="splitk", extents=[2, 200, 144, 712], nan=True, ci=True)
    yield row("f16_swapped", "sm90", "f16", "least", swap=True, ci=True)
    yield row("f16_swapped_mask", "sm90", "f16", "scaled", swap=True, ci=True)
    wide = {"tile": [128, 64, 128], "schedule": "cooperative", "extents": [2, 72, 112, 80]}
    yield row("e4m3_fragments", "sm90", "e4m3", "fragments", **wide, z="e4m3", nan=True, ci=True)
    yield row("e4m3_aux", "sm90", "e4m3", "aux", **wide, z="e4m3", ci=True)
    square = wide | {"tile": [128, 128, 128]}
    yield row("e4m3_aux_column_major", "sm90", "e4m3", "aux", **square | {"extents": [2, 80, 112, 80]}, z="e4m3", order="column", nan=True, ci=True)
    yield row("e4m3_to_bf16", "sm90", "e4m3", "fragments", **square, d="bf16", order="column", ci=True)
    # D is contiguous along the kernel's rows.
    yield row("f16_fragments_swapped", "sm90", "f16", "reduced", swap=True, tile=[64, 128, 64], schedule="cooperative", nan=True, ci=True)
    yield row("f16_fragments_column_major", "sm90", "f16", "reduced", order="column", tile=[128, 16, 64], schedule="cooperative", extents=[2, 200, 33, 80], ci=True)
    yield row("e4m3_aux_swapped", "sm90", "e4m3", "aux", **wide | {"tile": [64, 128, 128]}, z="e4m3", swap=True, ci=True)
    yield row("e4m3_aux_pingpong_swapped", "sm90", "e4m3", "aux", tile=[40, 64, 128], schedule="pingpong", z="e5m2", swap=True, extents=[2, 50, 272, 144])
    # Copies of operands, parts of tiles and parts of reductions share a workspace.
    copied = {"d": "f32", "tile": [128, 64, 32], "schedule": "cooperative", "extents": [2, 140, 70, 211]}
    yield row("tf32_repacked_stream_k", "sm90", "tf32", "all", **copied, scheduler="streamk", ci=True)
    yield row("tf32_repacked_swapped", "sm90", "tf32", "least", **copied | {"tile": [64, 128, 32]}, swap=True)
    for a in ("f16", "bf16"):
        for order in ("row", "column"):
            for kind in ("all", "atomic", "least", "scaled"):
                yield row(f"{a}_{order}_{kind}", "sm80", a, kind, order=order, d="f32", nan=kind == "least")
                yield row(f"{a}_{order}_{kind}_sm90", "sm90", a, kind, order=order, z="e5m2", nan=kind == "all")
    for kind in ("all", "atomic", "least"):
        yield row(f"f64_{kind}", "sm80", "f64", kind, tile=[32, 32, 16], z="f64", nan=kind == "atomic")
        yield row(f"i8_{kind}_i32", "sm80", "i8", kind, tile=[64, 32, 64], z="i32")
        yield row(f"f16_swapped_{kind}_sm80", "sm80", "f16", kind, swap=True, extents=[3, 33, 40, 50])
    yield row("f16_swapped_column", "sm90", "f16", "all", swap=True, order="column", extents=[1, 200, 24, 72])
    yield row("e4m3_pingpong_aux", "sm90", "e4m3", "aux", tile=[64, 128, 128], schedule="pingpong", z="e5m2", extents=[3, 200, 272, 144])
    yield row("one_element", "sm80", "f16", "all", extents=[1, 1, 1, 8])
    yield row("one_row", "sm90", "f16", "least", extents=[1, 1, 200, 16])


def write(rows, name):
    """Rows as `tests/cases/<name>.json`, a line each."""
    listed = list(rows)
    names = [r["name"] for r in listed]
    assert len(set(names)) == len(names)
    text = "[\n" + ",\n".join(json.dumps(r) for r in listed) + "\n]\n"
    Path(__file__).parent.parent.joinpath("cases", f"{name}.json").write_text(text)
    print(len(listed), "rows")


if __name__ == "__main__":
    write(rows(), "sinks")
