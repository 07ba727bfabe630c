"""One end-to-end case of an op: a program in vx text, its inputs, and how far a device may be from the reference."""
import os
import re
import zlib

import numpy as np

FLOATS = ("f32", "f16", "bf16", "f64")
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("ui8", "ui16", "ui32", "ui64")
INTEGERS = SIGNED + UNSIGNED
PACKED = ("i4", "ui4", "i2", "ui2")  # of which some share a byte in memory

# How arrays of each element type are kept here. A bf16 array holds its bits.
NUMPY = {
    "f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64, "i1": np.bool_,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
    "i4": np.int8, "ui4": np.uint8, "i2": np.int8, "ui2": np.uint8,
}
# The distance of 1 from the next number, the least normal number, and what sums are accumulated in: the table that vx-conformance has too.
EPSILON, TINY, ACCUMULATOR = {}, {}, {}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "vx-conformance", "roundings.inc")) as file:
    for dtype, epsilon, least, accumulator in re.findall(r'^VX_ROUNDING\(\w+, "(\w+)", (\S+), (\S+), (\w+)\)$', file.read(), re.M):
        EPSILON[dtype], TINY[dtype], ACCUMULATOR[dtype] = float.fromhex(epsilon), float.fromhex(least), accumulator.lower()


def to_bf16(values):
    """Round to nearest even; the bits as uint16."""
    with np.errstate(over="ignore"):
        narrow = np.asarray(values, np.float32)
    bits = narrow.view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(narrow), np.uint16(0x7FC0), rounded).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode(values, dtype):
    """An array as it is kept here."""
    if dtype == "bf16":
        return to_bf16(values)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(NUMPY[dtype])


def decode(array, dtype):
    """A float array as f64."""
    return (from_bf16(array) if dtype == "bf16" else array).astype(np.float64)


def tensor_type(dtype, dims):
    """`dims` are sizes, or expressions over symbols as strings."""
    text = "tensor<" + "".join(f"{'?' if isinstance(dim, str) else dim}x" for dim in dims) + dtype
    if any(isinstance(dim, str) for dim in dims):
        text += ", #vx.enc<[" + ", ".join(str(dim) for dim in dims) + "]>"
    return text + ">"


DIM_FUNCTIONS = {"max": max, "min": min, "floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b}


class Input:
    """`make(rng, shape)` gives the values; `dims` may name symbols, which each run of the case gives sizes."""

    def __init__(self, dtype, dims, make):
        self.dtype, self.dims, self.make = dtype, list(dims), make

    def type(self):
        return tensor_type(self.dtype, self.dims)

    def array(self, rng, sizes):
        shape = [eval(dim, DIM_FUNCTIONS, dict(sizes)) if isinstance(dim, str) else dim for dim in self.dims]
        return encode(self.make(rng, tuple(shape)), self.dtype).reshape(shape)


class Result:
    def __init__(self, dtype, dims, rule):
        self.dtype, self.dims, self.rule = dtype, list(dims), rule

    def type(self):
        return tensor_type(self.dtype, self.dims)


class Points:
    """At which inputs the gradients of a case are compared with differences, where its own values and values of both signs do not do, and why: a
    kink, a jump, the end of what the function is defined for. `make` is for all inputs of floats, or a dict with those of some by name."""

    def __init__(self, make, reason):
        self.make, self.reason = make, reason

    def of(self, name):
        """None for an input that these are not about."""
        return self.make.get(name) if isinstance(self.make, dict) else self.make


SYMBOL = re.compile(r'vx\.symbol (?:data_dependent )?"(\w+)"')


class Case:
    """`body` is vx text over `%name` of the inputs, and defines `%name` of the results.

    `header` stands at module level (symbols, variables). `runs` are the sizes of the symbols, one run each: the module is
    compiled once. `fault` is the message that each run fails with, `precision` the one that it is compiled with. `points` is of class Points, or None;
    `without_gradient` says why the case has no gradients to compare."""

    def __init__(self, name, inputs, body, results, header="", runs=({},), fault=None, precision=None, points=None, without_gradient=None):
        self.name, self.inputs, self.body, self.results = name, inputs, body, results
        self.header, self.runs, self.fault, self.precision = header, list(runs), fault, precision
        self.points, self.without_gradient = points, without_gradient

    @property
    def can_share(self):
        """Programs with nothing but symbols at module level may stand in one function with others that have as many runs."""
        return not self.fault and all(SYMBOL.match(line) for line in self.header.splitlines())

    @property
    def symbols(self):
        return [SYMBOL.match(line)[1] for line in self.header.splitlines() if SYMBOL.match(line)]

    def arrays(self, sizes):
        rng = np.random.default_rng(zlib.crc32(f"{self.name} {sorted(sizes.items())}".encode()))
        return {name: value.array(rng, sizes) for name, value in self.inputs.items()}


def program(cases):
    """One program that holds all `cases`; names, those at module level too, are those of the case with a prefix when there are several."""
    arguments, types, names, body, header = [], [], [], [], []
    for index, case in enumerate(cases):
        prefix = prefix_of(index, cases)
        symbol = re.compile(rf"(?<![\w%@.])({'|'.join(case.symbols)})\b") if case.symbols and prefix else None
        rename = lambda text: re.sub(r"([%@])(?=[A-Za-z_0-9])", rf"\1{prefix}", symbol.sub(rf"{prefix}\1", text) if symbol else text)
        for name, value in case.inputs.items():
            arguments.append(f'%{prefix}{name}: {rename(value.type())} {{vx.name = "{prefix}{name}"}}')
        for name, value in case.results.items():
            types.append(f'{rename(value.type())} {{vx.name = "{prefix}{name}"}}')
            names.append((f"%{prefix}{name}", rename(value.type())))
        body.append(rename(case.body.strip("\n")))
        if case.header:
            header.append(rename(case.header))
    return ("".join(f"{text}\n" for text in header) + "func.func @main(" + ",\n    ".join(arguments) + ")\n    -> (" + ",\n    ".join(types) + ") {\n" +
            "\n".join(body) + "\n  return " + ", ".join(name for name, _ in names) + " : " +
            ", ".join(text for _, text in names) + "\n}\n")


def prefix_of(index, cases):
    return "" if len(cases) == 1 else f"c{index}_"


# Values.

def uniform(low=-1.0, high=1.0):
    return lambda rng, shape: rng.uniform(low, high, shape)


def signs(rng, shape):
    """As many of -1 as of 1, or one more."""
    return rng.permutation(np.where(np.arange(int(np.prod(shape))) % 2, 1.0, -1.0)).reshape(shape)


def signed(low, high):
    """Of both signs, with magnitudes from `low` to `high`."""
    return lambda rng, shape: signs(rng, shape) * rng.uniform(low, high, shape)


def apart(rng, shape):
    """Of both signs; no two are near one another, and none is near 0."""
    return (0.3 + 0.01 * rng.permutation(int(np.prod(shape))).reshape(shape)) * signs(rng, shape)


def integers(low, high):
    """From `low` to `high`, both included."""
    return lambda rng, shape: rng.integers(low, high, shape, endpoint=True)


def bools(rng, shape):
    return rng.integers(0, 2, shape).astype(bool)


def values(*given):
    """Exactly these, repeated to fill the shape."""
    return lambda rng, shape: np.resize(np.array(given), shape)


def full_range(dtype):
    """Integers of all sizes, with both ends of the type in front."""
    info = np.iinfo(NUMPY[dtype])
    unused = 8 - int(dtype[-1]) if dtype in PACKED else 0
    low, high = info.min >> unused, info.max >> unused
    special = [low, high, 0, 1, high - 1, low + 1]

    def make(rng, shape):
        count = int(np.prod(shape))
        wide = rng.integers(low, high, count, dtype=NUMPY[dtype], endpoint=True)
        small = rng.integers(max(low, -9), min(high, 9), count).astype(NUMPY[dtype])
        mixed = np.where(rng.integers(0, 2, count) == 0, wide, small)
        head = min(len(special), count)
        mixed[:head] = np.array(special[:head], NUMPY[dtype])
        return mixed.reshape(shape)

    return make


def special_floats(scale=8.0, extra=()):
    """Signed zeros, infinities and NaN in front of ordinary numbers of many sizes."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -2.5, *extra]

    def make(rng, shape):
        count = int(np.prod(shape))
        drawn = rng.uniform(-scale, scale, count) * 2.0 ** rng.integers(-6, 2, count)
        head = min(len(special), count)
        drawn[:head] = special[:head]
        return drawn.reshape(shape)

    return make


def any_values(dtype):
    """Something of every kind that the type has."""
    if dtype == "i1":
        return bools
    return special_floats() if dtype in FLOATS else full_range(dtype)


def constant(dtype, text):
    return f"vx.constant dense<{text}> : tensor<{dtype}>"
