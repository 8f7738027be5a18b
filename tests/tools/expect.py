"""Writes cases/expected.json.gz: what NumPy in f64 makes of the rows of cases/*.toml.

    python tests/tools/expect.py

Needs numpy and ml_dtypes. Shares no code with the Rust side: the data streams, the epilogue notation (Python's own
parser) and the zero rule are written here once more. Samples are rounded once from the exact sum of products.
"""

import ast
import glob
import gzip
import json
import math
import os
import re
import tomllib

import ml_dtypes
import numpy as np

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases")
SAMPLES = 48
# Rows beyond these are left to the Rust reference.
LARGEST = 200_000_000
MOST_ENTRIES = 1000

NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "i32": np.int32,
    "i8": np.int8,
    "u8": np.uint8,
}
LARGEST_FINITE = {"e4m3": 448.0, "e5m2": 57344.0}
PRIME = {"bf16": 251, "u8": 251, "i8": 127, "e4m3": 13, "e5m2": 7}
OUTPUT = {"f16": "f16", "f32": "f32", "tf32": "f32", "f64": "f64", "i8": "i32", "u8": "i32"}
U64 = np.uint64


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def draws(key, count):
    with np.errstate(over="ignore"):
        z = U64(key) + U64(0x9E3779B97F4A7C15) * (np.arange(count, dtype=U64) + U64(1))
        z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
        return z ^ (z >> U64(31))


def rounded(values, name):
    """To nearest even, as outputs are: fp8 and integers saturate, and NaN is 0 in integers."""
    if name == "tf32":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        cut = ((bits + np.uint64(0xFFF) + (bits >> np.uint64(13) & np.uint64(1))) >> np.uint64(13)) << np.uint64(13)
        return np.where(np.isnan(values), np.nan, cut.astype(np.uint32).view(np.float32).astype(np.float64))
    if name in ("i8", "u8", "i32"):
        limits = np.iinfo(NUMPY[name])
        return np.clip(np.rint(np.where(np.isnan(values), 0.0, values)), limits.min, limits.max).astype(np.float64)
    if name in LARGEST_FINITE:
        values = np.clip(values, -LARGEST_FINITE[name], LARGEST_FINITE[name])
    return values.astype(NUMPY[name]).astype(np.float64)


def fill(pattern, key, name, shape):
    """An operand's elements, (batch, rows, columns), rounded to its type."""
    batch, rows, columns = shape
    head, _, tail = pattern.partition("(")
    arguments = [float(x) for x in tail.rstrip(")").split(",") if x.strip()]
    b, i, j = np.ogrid[:batch, :rows, :columns]
    p = PRIME.get(name, 2039)
    zero = np.zeros(shape)
    if head == "integers":
        low, high = (int(x) for x in arguments) if arguments else (-4, 4)
        bits = draws(key, batch * rows * columns).reshape(shape)
        values = low + (((bits >> U64(32)) * U64(high - low + 1)) >> U64(32)).astype(np.int64)
    elif head == "normal":
        bits = draws(key, batch * rows * columns).reshape(shape)
        total = sum(((bits >> U64(16 * q)) & U64(0xFFFF)).astype(np.int64) for q in range(4))
        values = (total - 131070) / 32768.0
    elif head == "rowid":
        values = zero + np.where(j == 0, i % p, 0)
    elif head == "colid":
        values = zero + np.where(i == 0, j % p, 0)
    elif head == "batchid":
        values = zero + b % p
    elif head == "onehot_row":
        values = zero + (i == arguments[0])
    elif head == "onehot_column":
        values = zero + (j == arguments[0])
    elif head == "tail_rows":
        values = zero + (i >= rows - arguments[0])
    elif head == "tail_columns":
        values = zero + (j >= columns - arguments[0])
    elif head == "affine":
        base, db, di, dj = arguments
        values = base + db * b + di * i + dj * j
    else:
        values = zero + {"ones": 1.0, "zeros": 0.0, "nan": math.nan, "inf": math.inf}.get(
            head, arguments[0] if arguments else None
        )
    return rounded(np.asarray(values, dtype=np.float64), name)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normal(x):
    return 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))


ROOT = math.sqrt(2 / math.pi)


def tanh_slope(z):
    t = np.tanh(ROOT * (z + 0.044715 * z**3))
    return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * z * z)


# What the names of functions mean.
FUNCTIONS = {
    "leaky_relu": lambda x, slope: np.where(x < 0, slope * x, x),
    "clamp": lambda x, low, high: np.clip(x, low, high),
    "threshold": lambda x, limit, value: np.where(x > limit, x, value),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "tanh": np.tanh,
    "tanh_fast": np.tanh,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "softplus": lambda x: np.logaddexp(0, x),
    "fma": lambda x, y, z: x * y + z,
    "abs": np.abs,
    "square": np.square,
    "reciprocal": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "log": np.log,
    "snake": lambda x, a: x + np.sin(a * x) ** 2 / a,
    "gelu": lambda x: x * normal(x),
    # (1 + tanh(u)) / 2 without its cancellation.
    "gelu_tanh": lambda x: x * sigmoid(2 * ROOT * (x + 0.044715 * x**3)),
    "d_relu": lambda d, z: np.where(z > 0, d, 0),
    "d_leaky_relu": lambda d, z, slope: np.where(z > 0, d, slope * d),
    "d_sigmoid": lambda d, z: d * sigmoid(z) * (1 - sigmoid(z)),
    "d_silu": lambda d, z: d * (sigmoid(z) + z * sigmoid(z) * (1 - sigmoid(z))),
    "d_tanh": lambda d, z: d * (1 - np.tanh(z) ** 2),
    "d_softplus": lambda d, z: d * sigmoid(z),
    "d_hardswish": lambda d, z: d * np.where(z <= -3, 0, np.where(z >= 3, 1, (2 * z + 3) / 6)),
    "d_snake": lambda d, z, a: d * (1 + np.sin(2 * a * z)),
    "d_gelu": lambda d, z: d * (normal(z) + z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)),
    "d_gelu_tanh": lambda d, z: d * tanh_slope(z),
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "select": lambda c, a, b: np.where(c != 0, a, b),
    "identity": lambda x: x,
}


class Row:
    """A row of the table with the elements of its operands."""

    def __init__(self, case):
        self.case = case
        self.name = case["name"]
        self.m, self.n, self.k = case["m"], case["n"], case["k"]
        self.batch = case.get("batch", 1)
        self.exact = case["expect"] == "exact"
        a = case["a"]["type"]
        self.type = {"a": a, "b": case.get("b", {}).get("type", a)}
        self.type["d"] = case.get("d", {}).get("type", OUTPUT.get(a, "bf16"))
        self.type["c"] = case.get("c", {}).get("type", self.type["d"])
        self.scalars = {name: float(np.float32(x)) for name, x in case.get("scalars", {}).items()}
        text = case.get("epilogue", "d = acc").partition("=")[2].strip()
        # Python has no angle brackets: constants are numbers, conversions have a name for each type.
        text = re.sub(r"const<([^>]*)>", r"(\1)", text)
        text = re.sub(r"convert<(\w+)>", r"convert_\1", text)
        text = re.sub(r"(row|column|tile)<\w+>", r"\1", text)
        self.tree = ast.parse(text, mode="eval").body
        self.operands = {}

    def elements(self, name):
        """Operand `name`, (batch, rows, columns)."""
        if name not in self.operands:
            shapes = {"a": (self.m, self.k), "b": (self.k, self.n), "c": (self.m, self.n), "d": (self.m, self.n)}
            if name in shapes:
                spec, dtype = self.case.get(name, {}), self.type[name]
                shared = spec.get("batch_stride") == 0
                shape = shapes[name]
            else:
                spec = self.case["bind"][name]
                dtype = spec.get("type", "f32")
                shared = spec.get("batch_stride", 0) == 0
                along_rows = spec.get("order", "row") == "row"
                bytes_ = (self.m, -(-self.n // 8)) if along_rows else (-(-self.m // 8), self.n)
                shapes = {"row": (1, self.n), "column": (self.m, 1), "tile": (self.m, self.n), "mask": bytes_}
                shape = shapes[spec["kind"]]
            pattern = spec.get("data", "integers" if self.exact else "normal")
            key = fnv(self.name + "/" + name)
            values = fill(pattern, key, dtype, (1 if shared else self.batch, *shape))
            if name in self.case.get("bind", {}) and spec["kind"] == "mask":
                bits = np.unpackbits(values.astype(np.uint8), axis=2 if along_rows else 1, bitorder="little")
                values, shape = bits[:, : self.m, : self.n].astype(np.float64), (self.m, self.n)
            self.operands[name] = np.broadcast_to(values, (self.batch, *shape))
        return self.operands[name]

    def is_zero(self, node):
        if isinstance(node, ast.Constant):
            return node.value == 0
        return isinstance(node, ast.Name) and self.scalars.get(node.id) == 0

    @staticmethod
    def is_operand(node):
        if isinstance(node, ast.Name):
            return node.id in ("acc", "previous")
        return isinstance(node, ast.Call) and node.func.id == "source"

    def evaluate(self, node, leaf):
        """The value of a tree; `leaf(name)` gives acc, previous, source or a bound operand as an array."""
        if isinstance(node, ast.Constant):
            return np.float64(np.float32(node.value))
        if isinstance(node, ast.Name):
            if node.id in ("row_index", "column_index"):
                return self.indices[node.id]
            return np.float64(self.scalars[node.id]) if node.id in self.scalars else leaf(node.id)
        if isinstance(node, ast.UnaryOp):
            assert isinstance(node.op, ast.USub)
            return -self.evaluate(node.operand, leaf)
        if isinstance(node, ast.BinOp):
            l, r = node.left, node.right
            if isinstance(node.op, ast.Mult) and (
                (self.is_zero(l) and self.is_operand(r)) or (self.is_operand(l) and self.is_zero(r))
            ):
                return np.float64(0.0)
            l, r = self.evaluate(l, leaf), self.evaluate(r, leaf)
            operation = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide}
            return operation[type(node.op)](l, r)
        name = node.func.id
        if name == "otherwise":
            bound = node.args[0].args[0].id in self.case.get("bind", {})
            return self.evaluate(node.args[0] if bound else node.args[1], leaf)
        if name in ("source", "row", "column", "tile", "mask"):
            return leaf("source" if name == "source" else node.args[0].id)
        arguments = [self.evaluate(argument, leaf) for argument in node.args]
        if name.startswith("convert_"):
            return rounded(np.asarray(arguments[0], dtype=np.float64), name[8:])
        if name in FUNCTIONS:
            return np.asarray(FUNCTIONS[name](*arguments), dtype=np.float64)
        if name == "relu":
            return np.where(arguments[0] < 0, 0.0, arguments[0])
        if name == "user_softsign":
            return arguments[0] / (1 + np.abs(arguments[0]))
        return {"min": np.minimum, "max": np.maximum}[name](*arguments)

    def whole(self):
        """All of D before rounding; exact only where every sum is."""
        shape = (self.batch, self.m, self.n)
        _, i, j = np.ogrid[: self.batch, : self.m, : self.n]
        self.indices = {"row_index": i.astype(np.float64), "column_index": j.astype(np.float64)}

        def leaf(name):
            if name == "acc":
                return np.stack([self.elements("a")[b] @ self.elements("b")[b] for b in range(self.batch)])
            return self.elements({"previous": "d", "source": "c"}.get(name, name))

        return np.broadcast_to(self.evaluate(self.tree, leaf), shape)

    def places(self):
        """Corners, both sides of tile borders, and random elements."""
        rows = sorted({0, self.m - 1, *(r for r in (63, 64, 127, 128) if r < self.m)})
        columns = sorted({0, self.n - 1, *(c for c in (63, 64, 127, 128) if c < self.n)})
        chosen = [(b, i, j) for b in {0, self.batch - 1} for i in (0, self.m - 1) for j in (0, self.n - 1)]
        border = [(self.batch - 1, i, j) for i in rows for j in columns]
        chosen += border[:: max(1, len(border) // 16)]
        bits = [int(x) for x in draws(fnv(self.name + "/samples"), 3 * SAMPLES)]
        for q in range(SAMPLES):
            chosen.append((bits[3 * q] % self.batch, bits[3 * q + 1] % self.m, bits[3 * q + 2] % self.n))
        return list(dict.fromkeys(chosen))[:SAMPLES]

    def samples(self):
        places = self.places()
        b, i, j = (np.array(x) for x in zip(*places))
        self.indices = {"row_index": i.astype(np.float64), "column_index": j.astype(np.float64)}

        def leaf(name):
            if name == "acc":
                x, y = self.elements("a"), self.elements("b")
                return np.array([total(x[p, q, :] * y[p, :, r]) for p, q, r in places])
            values = np.broadcast_to(
                self.elements({"previous": "d", "source": "c"}.get(name, name)), (self.batch, self.m, self.n)
            )
            return values[b, i, j]

        values = np.broadcast_to(self.evaluate(self.tree, leaf), len(places)).astype(np.float64)
        return [[*place, f"{int(value):016x}"] for place, value in zip(places, values.view(U64))]


def total(products):
    """The exact sum, rounded once."""
    return math.fsum(products) if np.isfinite(products).all() else float(products.sum())


def checksum(values):
    flat = values.reshape(-1)
    finite = np.isfinite(flat)
    scaled = np.where(finite, flat, 0.0) * 1024.0
    assert (scaled == np.trunc(scaled)).all() and np.abs(scaled).max() < 2**44
    scaled = scaled.astype(np.int64)
    weights = 1 + np.arange(flat.size, dtype=np.int64) % 65521
    # Pieces of 10,000 keep the weighted sum of 44-bit numbers inside Python's exact integers.
    pieces = range(0, flat.size, 10_000)
    return {
        "sum": str(sum(int(x) for s in pieces for x in [scaled[s : s + 10_000].astype(object).sum()])),
        "weighted": str(sum(int((scaled[s : s + 10_000].astype(object) * weights[s : s + 10_000]).sum()) for s in pieces)),
        "nan": int(np.isnan(flat).sum()),
        "infinite": int(np.isinf(flat).sum()),
    }


def expect(row):
    known = {"samples": row.samples(), "whole": None, "output": None}
    if row.exact:
        values = row.whole()
        known["whole"] = checksum(values)
        with np.errstate(over="ignore"):
            # Exact in f32 where D is narrower, so the detour that ml_dtypes takes rounds nothing.
            wide = row.type["d"] in ("f64", "f32", "i32")
            narrow = rounded(values if wide else values.astype(np.float32), row.type["d"])
        known["output"] = checksum(narrow)
    return known


def main():
    known = {}
    for path in sorted(glob.glob(os.path.join(CASES, "*.toml"))):
        with open(path, "rb") as file:
            for case in tomllib.load(file)["case"]:
                batch = case.get("batch", 1)
                size = case["m"] * case["n"] * batch
                small = size * max(case["k"], 1) <= LARGEST and batch <= MOST_ENTRIES
                if size and small and case["expect"] in ("exact", "bound"):
                    with np.errstate(invalid="ignore"):
                        known[case["name"]] = expect(Row(case))
    text = json.dumps(known, sort_keys=True, separators=(",", ":"))
    with open(os.path.join(CASES, "expected.json.gz"), "wb") as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(known)} rows")


if __name__ == "__main__":
    main()
