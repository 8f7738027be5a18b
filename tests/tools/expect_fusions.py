#!/usr/bin/env python3
"""CUTLASS's fusion operations by their definitions, from NumPy: `tests/cases/fusions.json`, whose rows `tests/src/sinks.rs` runs.

Operands are small integers and coefficients powers of two, so that every value is exact; what is rounded is rounded once. Checksums are
those of `expect_sinks.py`. Needs numpy and ml_dtypes.
"""

import ml_dtypes
import numpy as np
from expect_blocks import POISON, blocks, element, in_atoms
from expect_sinks import crc, small, write

BATCH, M, N, K = 2, 70, 104, 48
ACC = np.einsum("bmk,bnk->bmn", small(BATCH, M, K), small(BATCH, N, K))
SRC = small(BATCH, M, N) * 2
T = small(BATCH, M, N) - 0.5
ROW = (np.arange(N) % 9 - 4.0)[None, None, :]
COLUMN = (np.arange(M) % 7 - 3.0)[None, :, None]
PER = (np.arange(BATCH) + 1.0)[:, None, None]
LIN, LINEAR = "2 * acc + 0.5 * source(src)", 2 * ACC + 0.5 * SRC
SCALED = "2 * (0.5 * (4 * acc)) + 0.25 * (2 * source(src))"
SCALED_LINEAR = 4 * ACC + 0.5 * SRC


def relu(x):
    return np.where(x < 0, 0, x)


def amax(x, axis):
    return np.max(np.abs(x), axis=axis)


def top_k(x, k):
    """Softmax over a row's k largest values; the least of them and all that equal it are kept."""
    largest = -np.sort(-x, axis=-1)[..., :k]
    e = np.exp(largest - largest[..., :1])
    y = np.where(x < largest[..., -1:], 0, np.exp(x - largest[..., :1]) / np.sum(e, axis=-1, keepdims=True))
    # A device's exponential is off in its last bits: no value may be about to round the other way.
    down, up = (np.float32(y * s).astype(np.float16) for s in (1 - 4e-6, 1 + 4e-6))
    assert np.all(down == up)
    return y


def quantized(x, name, scale, block, run, atoms=False):
    axis = 2 if run == "rows" else 1
    y, factors = blocks(x, name, scale, block, axis)
    return element(y, name), in_atoms(factors, axis, scale) if atoms else factors


def of_rows(text, x):
    """In e4m3 with f32 scale factors of 128, with a norm constant of 2."""
    d, f = quantized(2 * x, "e4m3", "f32", 128, "rows")
    return f"quantize_rows<e4m3, f32, 128>(f, 2 * {text})", "e4m3", {"d": d, "f": f}


def of_columns(text, x):
    d, f = quantized(2 * x, "e5m2", "e8m0", 32, "columns", True)
    return f"quantize_columns<e5m2, e8m0, 32, atoms>(f, 2 * {text})", "e5m2", {"d": d, "f": f}


def bf16(x):
    return x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def amax_aux(bias, with_bias):
    z = SCALED_LINEAR + with_bias
    outputs = {"d": 4 * relu(z), "s": amax(z, (0, 1, 2)), "z": bf16(2 * z), "q": amax(relu(z), (1, 2))}
    return f"let x = amax(s, {SCALED} + {bias}); let y = aux_store(z, 2 * x); 4 * amax(q, relu(x))", "f32", outputs


def plain(text, x, **outputs):
    return text, "f32", {"d": x, **outputs}


de_act = f"d_relu({LIN}, tile(t))", np.where(T > 0, LINEAR, 0)
FUSIONS = {
    "ScaledAcc": plain("2 * acc", 2 * ACC),
    "LinearCombination": plain(LIN, LINEAR),
    "LinCombEltAct": plain(f"relu({LIN})", relu(LINEAR)),
    "LinCombTopKSoftmaxCol<2>": (f"top_k_softmax<2>({LIN})", "f16", {"d": top_k(LINEAR, 2).astype(np.float16)}),
    "LinCombTopKSoftmaxCol<4>": (f"top_k_softmax<4>({LIN})", "f16", {"d": top_k(LINEAR, 4).astype(np.float16)}),
    "LinearCombinationGroupedWgrad": plain("per * acc + per * source(src)", PER * ACC + PER * SRC),
    "LinCombPerRowBias": plain(f"{LIN} + column(col)", LINEAR + COLUMN),
    "LinCombPerColBias": plain(f"{LIN} + row(bias)", LINEAR + ROW),
    "LinCombPerRowBiasEltAct": plain(f"relu({LIN} + column(col))", relu(LINEAR + COLUMN)),
    "LinCombPerColBiasEltAct": plain(f"relu({LIN} + row(bias))", relu(LINEAR + ROW)),
    "LinCombPerRowBiasEltActAux": plain(
        f"relu(aux_store(z, {LIN} + column(col)))", relu(LINEAR + COLUMN), z=bf16(LINEAR + COLUMN)
    ),
    "LinCombPerColBiasEltActAux": plain(f"relu(aux_store(z, {LIN} + row(bias)))", relu(LINEAR + ROW), z=bf16(LINEAR + ROW)),
    "PerRowLinCombPerRowBiasEltAct": plain(
        "relu(column(col) * acc + column(col) * source(src) + column(col))", relu(COLUMN * (ACC + SRC + 1))
    ),
    "PerColLinCombPerColBiasEltAct": plain(
        "relu(row(bias) * acc + row(bias) * source(src) + row(bias))", relu(ROW * (ACC + SRC + 1))
    ),
    "PerColResAddPerColBiasEltAct": plain(
        "relu(row(bias) * acc + row(bias)) + row(bias) * source(src)", relu(ROW * (ACC + 1)) + ROW * SRC
    ),
    "ScaledLinCombPerRowBiasEltAct": plain(f"relu({SCALED} + column(col))", relu(SCALED_LINEAR + COLUMN)),
    "ScaledLinCombPerColBiasEltAct": plain(f"relu({SCALED} + row(bias))", relu(SCALED_LINEAR + ROW)),
    "ScaledLinCombPerRowBiasEltActAmaxAux": amax_aux("column(col)", COLUMN),
    "ScaledLinCombPerColBiasEltActAmaxAux": amax_aux("row(bias)", ROW),
    "LinCombDeEltAct": plain(*de_act),
    "LinCombDeEltActDePerRowBias": plain(
        f"reduce_columns<sum>(c, {de_act[0]})", de_act[1], c=np.sum(de_act[1], axis=(0, 2)).astype(np.float32)
    ),
    "LinCombBlockScaleFactor": of_rows(f"({LIN})", LINEAR),
    "LinCombEltActBlockScaleFactor": of_columns(f"relu({LIN})", relu(LINEAR)),
    "LinCombPerRowBiasBlockScaleFactor": of_columns(f"({LIN} + column(col))", LINEAR + COLUMN),
    "LinCombPerColBiasBlockScaleFactor": of_rows(f"({LIN} + row(bias))", LINEAR + ROW),
    "LinCombPerRowBiasEltActBlockScaleFactor": of_rows(f"relu({LIN} + column(col))", relu(LINEAR + COLUMN)),
    "LinCombPerColBiasEltActBlockScaleFactor": of_columns(f"relu({LIN} + row(bias))", relu(LINEAR + ROW)),
}  # fmt: skip


def rows():
    for i, (name, (text, d, outputs)) in enumerate(FUSIONS.items()):
        for arch in ("sm80", "sm90"):
            sm90 = arch == "sm90"
            yield {
                "name": f"{name}_{arch}", "arch": arch, "a": "f16", "d": d, "z": "bf16",
                "order": "row" if (i + sm90) % 3 else "column", "swap": (i // 3 + sm90) % 4 == 0,
                "tile": [128, 128, 64] if sm90 else [128, 128, 32],
                "schedule": ("cooperative", "pingpong", "warpspecialized")[i % 3] if sm90 else "multistage",
                "scheduler": "persistent" if sm90 or i % 2 else "singletile", "extents": [BATCH, M, N, K], "nan": False,
                # Each operation on one architecture in every run, those that look at lines on both.
                "ci": sm90 == (i % 2 == 0) or "TopK" in name,
                "epilogue": f"d = {text}",
                "outputs": {output: crc(value) for output, value in outputs.items()},
            }  # fmt: skip


if __name__ == "__main__":
    write(rows(), "fusions")
