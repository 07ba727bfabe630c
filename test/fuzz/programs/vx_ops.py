"""Random programs in vx text: one generator for each op. A generator adds ops to `g` or returns False when nothing here suits it."""
import math
import random as python_random

import numpy as np

from program import ACCUMULATOR, EXACT, FLOATS, INTEGERS, LARGEST, NUMPY, Input, Op, Program, Region, Value, plus, shape_of, times, tensor_type

SIZES = (0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 129)
ELEMENTS = 6000  # of one tensor
WORK = 400000  # products of one contraction
TYPES = ("f32",) * 10 + ("f16",) * 2 + ("f64",) + ("i32", "i64") * 2 + ("i1",) * 2 + ("i8", "i16", "ui8", "ui16", "ui32", "ui64")
GENERATORS = {}


def generates(*names, weight=1.0):
    """The ops of docs/ops.md that the function makes."""

    def register(function):
        GENERATORS[function.__name__] = (function, names, weight)
        return function

    return register


def limits(dtype):
    if dtype == "i1":
        return 0, 1
    info = np.iinfo(NUMPY[dtype])
    return int(info.min), int(info.max)


class Generator:
    MANY_SYMBOLS = 1 / 120  # how often a program has 4 to 6 symbols and buffers of many sizes

    def __init__(self, seed, size=6, bf16=False, focus=()):
        self.random = python_random.Random(seed)
        self.seed, self.size, self.bf16, self.focus = seed, size, bf16, focus
        self.inputs, self.ops, self.header, self.values, self.counter = [], [], [], [], 0
        self.symbols, self.runs, self.fault, self.depth, self.kept = [], [{}, {}], None, 0, []
        # Of their own, so that all other programs stay what they are.
        self.many_symbols = python_random.Random(f"symbols of {seed}").random() < self.MANY_SYMBOLS
        if self.many_symbols:
            for name in "nmkhwc"[:self.random.randint(4, 6)]:
                self.symbol(f"{name}{seed}")
        elif self.chance(0.6):
            for name in ("n", "m")[:self.random.choice((1, 1, 2))]:
                self.symbol(f"{name}{seed}")

    # Choices.

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, choices):
        return self.random.choice(list(choices))

    def symbol(self, name):
        self.symbols.append(name)
        for run in self.runs:
            run[name] = self.pick(SIZES[:11])
        # Now and then its range is declared, and what it is a multiple of. Of its own, as above.
        random, declared = python_random.Random(f"range of {name}"), ""
        if not self.many_symbols and random.random() < 0.25:
            multiple = random.choice((2, 4, 8, 16))
            for run in self.runs:
                run[name] = multiple * random.choice((1, 1, 2, 3))
            declared = f" min = {multiple} max = {random.choice((48, 512))} multiple = {multiple}"
        self.header.append(f'vx.symbol "{name}"{declared}')

    def fresh(self):
        self.counter += 1
        return f"v{self.counter}"

    def sizes(self, dim):
        """In each run; of what data decides, the most and 0."""
        return [shape_of([dim], run)[0] for run in self.runs] + ([0] if isinstance(dim, str) and "data" in dim else [])

    def count(self, dims):
        """The number of elements, the larger of the runs."""
        return max(math.prod(shape_of(dims, run)) for run in self.runs)

    def least(self, dims):
        if any(isinstance(dim, str) and "data" in dim for dim in dims):
            return 0
        return min(math.prod(shape_of(dims, run)) for run in self.runs)

    def known(self, value):
        """No dimension that data decides."""
        return all(not isinstance(dim, str) or "data" not in dim for dim in value.dims)

    def dim(self, most=10**9, zero=0.03):
        if self.symbols and self.chance(0.35):
            name = self.pick(self.symbols)
            dim = name if self.chance(0.85) else plus(name, self.pick((1, 2, 5)))
            if max(self.sizes(dim)) <= most:
                return dim
        if self.chance(zero):
            return 0
        return self.pick([size for size in SIZES if 0 < size <= most] or [1])

    def dims(self, rank=None, most=ELEMENTS):
        rank = self.random.choices(range(7), (1, 4, 6, 6, 5, 2, 1))[0] if rank is None else rank
        dims = []
        for _ in range(rank):
            dims.append(self.dim(max(1, most // max(1, self.count(dims)))))
        if self.count(dims) > most:
            return [1] * rank
        self.random.shuffle(dims)
        return dims

    def dtype(self):
        return "bf16" if self.bf16 and self.chance(0.3) else self.pick(TYPES)

    # Values.

    def input(self, dtype=None, dims=None, low=None, high=None, exact=None, constant=None, special=False):
        dtype = dtype or self.dtype()
        dims = self.dims() if dims is None else list(dims)
        dims = [1 if isinstance(dim, str) and "data" in dim else dim for dim in dims]  # no input has a size that data decides
        name = self.fresh()
        static = not any(isinstance(dim, str) for dim in dims)
        if constant is None:
            constant = static and self.count(dims) <= 2000 and self.chance(0.3)
        if dtype == "i1":
            value = Input(name, dtype, dims, 0, 1, make=lambda random, shape: random.integers(0, 2, shape).astype(bool), constant=constant)
        elif dtype in FLOATS:
            exact = self.chance(0.6) if exact is None else exact
            if low is None or max(abs(low), abs(high)) > LARGEST[dtype]:
                low, high = self.pick(((-4, 4), (-4, 4), (-2, 3), (1, 4), (0, 3)))
            if exact:
                low, high = math.ceil(low), math.floor(high)
                make = lambda random, shape, low=low, high=high: random.integers(low, high, shape, endpoint=True)
            else:
                make = lambda random, shape, low=low, high=high: random.uniform(low, high, shape)
            if special:
                plain = make
                make = lambda random, shape: np.where(random.integers(0, 5, shape) == 0, random.choice([np.inf, -np.inf, np.nan], shape), plain(random, shape))
            value = Input(name, dtype, dims, low, high, exact=exact, special=special, make=make, constant=constant)
        else:
            ends = limits(dtype)
            if low is None:
                low, high = ends if self.chance(0.3) else (max(ends[0], -9), 9)
            kind = NUMPY[dtype]
            value = Input(name, dtype, dims, low, high, constant=constant,
                          make=lambda random, shape, low=low, high=high: random.integers(low, high, shape, dtype=kind, endpoint=True))
        self.inputs.append(value)
        self.values.append(value)
        return value

    def find(self, want=lambda value: True, probability=0.75, **options):
        """A value that is there, sooner one that was made last; or a new input."""
        if self.chance(probability):
            suited = [value for value in self.values if want(value)]
            if suited:
                return suited[-1] if self.chance(0.5) else self.pick(suited)
        for _ in range(30):
            value = self.input(**options)
            if want(value):
                return value
            self.inputs.remove(value)
            self.values.remove(value)
        return None

    def like(self, value, want=lambda value: True, **options):
        """Another of its type and shape."""
        return self.find(lambda other: other.dtype == value.dtype and other.dims == value.dims and want(other), 0.5, dtype=value.dtype,
                         dims=value.dims, **options)

    def emit(self, kind, operands, dtype, dims, text, low, high, exact=True, special=False, inner=0, outer=0, regions=()):
        if self.count(dims) > 4 * ELEMENTS:
            return False
        if dtype in FLOATS and not special:
            if exact and not math.isfinite(low) or exact and max(abs(low), abs(high)) > EXACT[dtype]:
                exact = False
                inner, outer = max(inner, 4), max(outer, 4)
            if not exact and max(abs(low), abs(high)) > LARGEST[dtype]:
                return False
        elif dtype in INTEGERS:
            ends = limits(dtype)
            if low < ends[0] or high > ends[1]:
                low, high = ends
        if not exact and any(isinstance(dim, str) and "data" in dim for value in (*operands, None) for dim in (value.dims if value else dims)):
            return False  # the perturbations' sizes are not known
        result = Value(self.fresh(), dtype, dims, low, high, exact, special)
        rounds = dtype in FLOATS and not exact
        self.ops.append(Op(kind, operands, [result], text, inner if rounds else 0, outer if rounds else 0, regions))
        self.values.append(result)
        return result

    def constant(self, dtype, number):
        """A scalar."""
        text = f"{float(number):e}" if dtype in FLOATS else str(number)
        result = Value(self.fresh(), dtype, [], number, number, exact=float(number).is_integer())
        self.ops.append(Op("constant", [], [result], lambda c: f"{c.r[0]} = vx.constant dense<{text}> : {c.rt[0]}"))
        return result

    def splat(self, dtype, dims, number):
        scalar = self.constant(dtype, number)
        if not dims:
            return scalar
        return self.emit("broadcast", [scalar], dtype, dims, lambda c: f"{c.r[0]} = vx.broadcast {c.o[0]}, [] : {c.t[0]} -> {c.rt[0]}", number,
                         number, scalar.exact)

    def clamped(self, value, low, high):
        lower, upper = self.splat(value.dtype, value.dims, low), self.splat(value.dtype, value.dims, high)
        if not lower or not upper:
            return False
        step = self.emit("max", [value, lower], value.dtype, value.dims, lambda c: f"{c.r[0]} = vx.max {c.o[0]}, {c.o[1]} : {c.t[0]}, {c.t[0]}",
                         low, max(value.high, low), value.exact)
        return step and self.emit("min", [step, upper], value.dtype, value.dims,
                                  lambda c: f"{c.r[0]} = vx.min {c.o[0]}, {c.o[1]} : {c.t[0]}, {c.t[0]}", low, high, value.exact)

    # Programs.

    def step(self):
        names = list(GENERATORS)
        weights = [GENERATORS[name][2] * (6 if set(GENERATORS[name][1]) & set(self.focus) else 1) for name in names]
        if self.depth:
            weights = [0 if name in ("variables", "nonzero") or self.depth > 1 and name in ("branches", "loop", "sequences") else weight
                       for name, weight in zip(names, weights)]
        for _ in range(20):
            before = len(self.ops), len(self.values), len(self.inputs), len(self.header)
            if GENERATORS[self.random.choices(names, weights)[0]][0](self) is not False:
                return True
            del self.ops[before[0]:], self.values[before[1]:], self.inputs[before[2]:], self.header[before[3]:]
        return False

    def region(self, arguments, steps):
        """Runs `steps()` with ops going to a region; gives (ops, what it returned). Inputs stay the function's."""
        outer, self.ops = self.ops, []
        values, self.values = self.values, self.values + arguments
        self.depth += 1
        result = steps()
        self.depth -= 1
        ops, self.ops = self.ops, outer
        self.values = values + [value for value in self.inputs if value not in values and not value.constant and not value.is_private]
        # A constant of a region is written at the function's start as well.
        self.values += [value for value in self.inputs if value not in self.values and not value.is_private]
        return ops, result

    def made(self):
        """What may be a result; of sequences, those that are to be."""
        kept = {id(value) for value in self.kept}
        return [value for op in self.ops for value in op.results if isinstance(value, Value) and (value.dtype != "sequence" or id(value) in kept)]

    def program(self):
        for symbol in self.symbols:
            # Bound whatever the ops read.
            self.input("i32", [symbol], constant=False).binds = True
        if self.many_symbols:
            products_of_many_sizes(self)
        for _ in range(self.random.randint(1, self.size)):
            self.step()
        made = self.made()
        if not made:
            self.step()
            made = self.made()
        read = {id(value) for op in self.ops for value in op.reads()}
        results = [value for value in made if id(value) not in read]
        kept = {id(value) for value in self.kept}
        results += [value for value in made if id(value) in read and (id(value) in kept or self.chance(0.15))]
        results = results[:8]
        if not results:
            return None
        runs = [{name: size for name, size in run.items() if name in self.symbols} for run in self.runs]
        return Program(self.seed, list(self.inputs), list(self.ops), results, list(self.header), runs if self.symbols else runs[:1], self.fault).pruned()


def plain(value):
    return not value.special


def is_float(value):
    return value.dtype in FLOATS and not value.special


def same(text):
    return lambda c: f"{c.r[0]} = vx.{text} {c.o[0]} : {c.t[0]}"


def pair(text):
    return lambda c: f"{c.r[0]} = vx.{text} {c.o[0]}, {c.o[1]} : {c.t[0]}, {c.t[1]}"


# Elementwise.

@generates("neg", "abs", "sign", weight=3)
def signs(g):
    x = g.find(lambda v: v.dtype != "i1")
    op = g.pick(("neg", "abs") if x.is_float and not x.exact else ("neg", "abs", "sign"))
    if x.is_float:
        low, high = {"neg": (-x.high, -x.low), "sign": (-1, 1),
                     "abs": (0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)), x.magnitude)}[op]
    else:
        low, high = (-1, 1) if op == "sign" else limits(x.dtype)
    if x.dtype.startswith("ui") and op == "sign":
        low = 0
    return g.emit(op, [x], x.dtype, x.dims, same(op), low, high, x.exact, x.special)


@generates("ceil", "floor", "round", weight=4)
def whole(g):
    x = g.find(lambda v: is_float(v) and v.exact)
    # Halves and quarters, exactly.
    part = g.splat(x.dtype, x.dims, g.pick((0.5, 0.25, -0.5, 1.0)))
    if not part or x.magnitude > EXACT[x.dtype] / 8:
        return False
    op = g.pick(("ceil", "floor", "round"))
    scaled = Value(g.fresh(), x.dtype, x.dims, -x.magnitude, x.magnitude)
    g.ops.append(Op("mul", [x, part], [scaled], pair("mul")))
    return g.emit(op, [scaled], x.dtype, x.dims, same(op), -x.magnitude, x.magnitude)


@generates("sqrt", "exp", "log", "sin", "cos", "tanh", "erf", "asin", "acos", "atan", weight=6)
def transcendental(g):
    op = g.pick(("sqrt", "exp", "log", "sin", "cos", "tanh", "erf", "asin", "acos", "atan"))
    ranges = {"sqrt": (0, 1e6), "exp": (-30, 6), "log": (0.01, 1e6), "sin": (-60, 60), "cos": (-60, 60), "tanh": (-1e9, 1e9), "erf": (-1e9, 1e9),
              "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": (-1e9, 1e9)}
    low, high = ranges[op]
    own = {"sqrt": (0, 9), "log": (1, 9), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9)}.get(op, (-4, 4))
    x = g.find(lambda v: is_float(v) and low <= v.low and v.high <= high, low=own[0], high=own[1], dtype=g.pick(("f32",) * 5 + ("f16", "f64")))
    if op == "sqrt" and not x.exact and x.low < 0.01:
        return False  # an error of nearly 0 grows
    span = {"sqrt": lambda: (math.sqrt(x.low), math.sqrt(x.high)), "exp": lambda: (0, math.exp(x.high)), "log": lambda: (math.log(x.low), math.log(x.high) + 0.01),
            "asin": lambda: (-1.6, 1.6), "acos": lambda: (0, 3.2), "atan": lambda: (-1.6, 1.6)}
    lowest, highest = span.get(op, lambda: (-1, 1))()
    return g.emit(op, [x], x.dtype, x.dims, same(op), lowest, highest, False, inner=1, outer=3)


@generates("add", "sub", "mul", weight=5)
def arithmetic(g):
    op = g.pick(("add", "sub", "mul"))
    x = g.find(lambda v: v.dtype != "i1" and plain(v))
    y = x if g.chance(0.1) else g.like(x, plain)
    if y is None:
        return False
    if op == "mul":
        ends = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
        low, high = min(ends), max(ends)
    else:
        low, high = (x.low + y.low, x.high + y.high) if op == "add" else (x.low - y.high, x.high - y.low)
    exact = x.exact and y.exact
    return g.emit(op, [x, y], x.dtype, x.dims, pair(op), low, high, exact, inner=1 if op != "mul" else 0, outer=2)


@generates("div", "rem", weight=2)
def quotients(g):
    op = g.pick(("div", "rem"))
    x = g.find(lambda v: v.dtype != "i1" and plain(v) and (op == "div" or v.exact))
    if not x.is_float:
        y = g.like(x)
        return y is not None and g.emit(op, [x, y], x.dtype, x.dims, pair(op), *limits(x.dtype))
    y = g.like(x, lambda v: plain(v) and (v.low >= 0.5 or v.high <= -0.5) and (op == "div" or v.exact), low=1, high=4, exact=True if op == "rem" else None)
    if y is None:
        return False
    if op == "rem":
        return g.emit(op, [x, y], x.dtype, x.dims, pair(op), -x.magnitude, x.magnitude)
    most = x.magnitude / min(abs(y.low), abs(y.high))
    return g.emit(op, [x, y], x.dtype, x.dims, pair(op), -most, most, False, outer=4)


@generates("mul", "div", weight=3)
def zeros(g):
    """NaN and infinities beside a constant zero, by which a driver must not take products and quotients for known."""
    x = g.input(g.pick(("f32", "f32", "f16", "f64")), special=True, exact=True)
    zero = g.splat(x.dtype, x.dims, g.pick((0.0, -0.0)))
    op = g.pick(("mul", "div", "div"))
    return zero and g.emit(op, [zero, x] if g.chance(0.3) else [x, zero], x.dtype, x.dims, pair(op), -9, 9, special=True)


@generates("pow")
def power(g):
    x = g.find(lambda v: is_float(v) and v.low >= 0.5 and v.high <= 20, low=1, high=3, dtype=g.pick(("f32", "f32", "f16", "f64")))
    y = g.like(x, lambda v: plain(v) and v.magnitude <= 3, low=-2, high=2)
    if y is None:
        return False
    return g.emit("pow", [x, y], x.dtype, x.dims, pair("pow"), 0, max(x.high, 1 / x.low) ** 3, False, inner=2, outer=6)


@generates("max", "min", weight=2)
def extremes(g):
    op = g.pick(("max", "min"))
    if g.chance(0.25):  # NaN goes through
        x = g.input(g.pick(("f32", "f32", "f16", "f64")), special=True, exact=True)
        y = g.like(x, lambda v: v.special and v.exact, special=True, exact=True)
    else:
        x = g.find(lambda v: v.dtype != "i1")
        y = g.like(x)
    choose = max if op == "max" else min
    return y is not None and g.emit(op, [x, y], x.dtype, x.dims, pair(op), choose(x.low, y.low), choose(x.high, y.high), x.exact and y.exact,
                                    x.special or y.special)


@generates("and", "or", "xor", "not", weight=3)
def bits(g):
    x = g.find(lambda v: v.dtype == "i1" or v.dtype in INTEGERS, dtype=g.pick(("i1", "i1", "i32", "i64", "ui8")))
    op = g.pick(("and", "or", "xor", "not"))
    if op == "not":
        return g.emit(op, [x], x.dtype, x.dims, same(op), *limits(x.dtype))
    y = g.like(x)
    return y is not None and g.emit(op, [x, y], x.dtype, x.dims, pair(op), *limits(x.dtype))


def size_value(g):
    name = g.pick(g.symbols)
    expression = g.pick((name, name, f"{name} + 1", f"3 * {name} + 1", f"floordiv({name}, 2)", f"ceildiv({name}, 3)", f"mod({name}, 5)", f"max({name}, 4)", f"min({name}, 4)"))
    return g.emit("dim_value", [], "i64", [], lambda c: f"{c.r[0]} = vx.dim_value <{c.size(expression)}>", 0, 500)


@generates("compare", weight=1.5)
def comparison(g):
    x = g.find(lambda v: v.exact)
    y = g.like(x, lambda v: v.exact, exact=True)
    predicate = g.pick(("eq", "ne", "lt", "le", "gt", "ge"))
    if g.symbols and g.chance(0.15):  # of sizes, which may be known without them
        x, y = size_value(g), size_value(g)
    return y is not None and g.emit("compare", [x, y], "i1", x.dims, pair(f"compare {predicate}"), 0, 1)


@generates("compare", "iota", "dim_value", weight=3)
def places(g):
    """Places along a dimension compared with what is near its size: some are the same for every element, some for all but the last."""
    dims = [dim for dim in g.dims(g.pick((1, 1, 2, 3))) if min(g.sizes(dim)) > 0]
    if not dims:
        return False
    axis = g.random.randrange(len(dims))
    step = g.pick((-1, -1, 0, 0, 1))
    edge = g.pick((0, 1)) if g.chance(0.2) else plus(dims[axis], step) if isinstance(dims[axis], int) or step >= 0 else f"{dims[axis]} - 1"
    place = g.emit("iota", [], "i64", dims, lambda c: f"{c.r[0]} = vx.iota axis = {axis} : {c.rt[0]}", 0, 140)
    size = g.emit("dim_value", [], "i64", [], lambda c: f"{c.r[0]} = vx.dim_value <{c.size(edge)}>", 0, 500)
    edges = place and size and g.emit("broadcast", [size], "i64", dims, lambda c: f"{c.r[0]} = vx.broadcast {c.o[0]}, [] : {c.t[0]} -> {c.rt[0]}", 0, 500)
    return edges and g.emit("compare", [place, edges] if g.chance(0.5) else [edges, place], "i1", dims, pair(f"compare {g.pick(('lt', 'lt', 'le', 'gt', 'gt', 'ge'))}"), 0, 1)


@generates("is_nan", "is_inf", weight=2)
def kinds_of_numbers(g):
    op = g.pick(("is_nan", "is_inf"))
    x = g.find(lambda v: v.is_float and (v.exact or not v.special), 0.4, dtype=g.pick(("f32", "f16", "f64")), special=True, exact=True)
    return g.emit(op, [x], "i1", x.dims, same(op), 0, 1)


@generates("select", weight=2)
def selection(g):
    x = g.find()
    y = g.like(x)
    c = g.find(lambda v: v.dtype == "i1" and v.dims == x.dims, dtype="i1", dims=x.dims)
    if y is None or c is None:
        return False
    return g.emit("select", [c, x, y], x.dtype, x.dims,
                  lambda c: f"{c.r[0]} = vx.select {c.o[0]}, {c.o[1]}, {c.o[2]} : {c.t[0]}, {c.t[1]}, {c.t[2]}", min(x.low, y.low),
                  max(x.high, y.high), x.exact and y.exact, x.special or y.special)


@generates("cast", weight=2)
def conversion(g):
    x = g.find(lambda v: plain(v) or v.exact)
    dtype = g.dtype()
    if dtype in INTEGERS and g.chance(0.3):  # what is outside of the type goes to its ends
        x = g.input(g.pick(("f32", "f64")), low=-2**g.pick((9, 17, 40)), high=2**g.pick((9, 17, 40)), special=True, exact=True)
    text = lambda c: f"{c.r[0]} = vx.cast {c.o[0]} : {c.t[0]} -> {c.rt[0]}"
    if dtype in FLOATS:
        if x.is_float:
            exact = x.exact and x.magnitude <= EXACT[dtype]
            return g.emit("cast", [x], dtype, x.dims, text, x.low, x.high, exact, x.special, outer=2)
        if x.magnitude > EXACT[dtype]:
            return False
        return g.emit("cast", [x], dtype, x.dims, text, x.low, x.high)
    if x.is_float and not x.exact:
        return False
    if dtype == "i1":
        return g.emit("cast", [x], dtype, x.dims, text, 0, 1)
    low, high = limits(dtype)
    if x.special or x.is_float and (x.low < low or x.high > high):
        return g.emit("cast", [x], dtype, x.dims, text, low, high)
    return g.emit("cast", [x], dtype, x.dims, text, x.low, x.high)


@generates("quantize", "dequantize", weight=2)
def quantization(g):
    """To integers and back by a power of 2, so that only the rounding to integers loses anything. What does not fit goes to the ends of the type."""
    x = g.find(lambda v: v.is_float and v.exact and v.magnitude <= 1024 and not v.special, dtype=g.pick(("f32", "f32", "f16", "f64")))
    if x is None or x.dtype not in ("f32", "f16", "f64"):
        return False
    dtype = g.pick(("i8", "ui8") if x.dtype == "f16" else ("i8", "ui8", "i16", "ui16"))
    low, high = limits(dtype)
    step = g.pick((0.5, 0.125, 2.0))
    scale = g.splat(x.dtype, x.dims, step)
    if not scale:
        return False
    integers = g.emit("quantize", [x, scale], dtype, x.dims, lambda c: f"{c.r[0]} = vx.quantize {c.o[0]}, {c.o[1]} : ({c.t[0]}, {c.t[1]}) -> {c.rt[0]}", low, high)
    if not integers or not g.chance(0.7):
        return integers
    return g.emit("dequantize", [integers, scale], x.dtype, x.dims,
                  lambda c: f"{c.r[0]} = vx.dequantize {c.o[0]}, {c.o[1]} : ({c.t[0]}, {c.t[1]}) -> {c.rt[0]}", step * low, step * high, step == 2.0)


# Elements and bytes of a block, and the magnitude of its largest number where all bytes are from 28 to 31: an f16 is at most 0.007 then.
BLOCKS = {"q4_0": (32, 18, 0.06), "q4_1": (32, 20, 0.12), "q5_0": (32, 22, 0.12), "q5_1": (32, 24, 0.23), "q8_0": (32, 34, 0.9), "q2_k": (256, 84, 0.5), "q3_k": (256, 110, 1),
          "q4_k": (256, 144, 7.1), "q5_k": (256, 176, 14.2), "q6_k": (256, 210, 28.7), "iq4_nl": (32, 18, 0.9), "mxfp4": (32, 17, 12)}


@generates("decode_blocks", weight=2)
def blocks(g):
    name = g.pick(tuple(BLOCKS))
    elements, size, magnitude = BLOCKS[name]
    rows, count = [dim for dim in g.dims()[:2]], g.pick((1, 1, 2, 3))
    x = g.input("ui8", rows + [count * size], low=28, high=31)
    return g.emit("decode_blocks", [x], "f32", x.dims[:-1] + [count * elements], lambda c: f"{c.r[0]} = vx.decode_blocks {name} {c.o[0]} : {c.t[0]}", -magnitude, magnitude)


@generates("bitcast")
def same_bits(g):
    source, target = g.pick((("f32", "i32"), ("f32", "ui32"), ("f64", "i64"), ("f16", "ui16"), ("i8", "ui8"), ("ui16", "i16"), ("i1", "ui8"), ("ui8", "i1")))
    # What is computed may have a zero of either sign, which its bits tell.
    x = g.input(source, special=False) if source in FLOATS else g.find(lambda v: v.dtype == source, dtype=source)
    return g.emit("bitcast", [x], target, x.dims, lambda c: f"{c.r[0]} = vx.bitcast {c.o[0]} : {c.t[0]} -> {c.rt[0]}", *limits(target))


# Shapes.

@generates("iota", "dim_value")
def counting(g):
    if g.chance(0.3) and g.symbols:
        return size_value(g)
    dims = g.dims()
    if not dims:
        return False
    axis, dtype = g.random.randrange(len(dims)), g.pick(("i32", "i64", "f32", "i32"))
    return g.emit("iota", [], dtype, dims, lambda c: f"{c.r[0]} = vx.iota axis = {axis} : {c.rt[0]}", 0, 140)


@generates("random_bits")
def random_bits(g):
    """Bits of a key that the call gives, or their lowest one as a number."""
    key, dims, number = g.input("i64", []), g.dims(), g.pick((0, 1, 5, -1, 2**40))
    bits = key and g.emit("random_bits", [key], "ui32", dims, lambda c: f"{c.r[0]} = vx.random_bits {c.o[0]} number = {number} : {c.rt[0]}", 0, 2**32 - 1)
    limit = bits and g.chance(0.7) and g.splat("ui32", dims, g.random.randrange(2**32))
    return g.emit("compare", [bits, limit], "i1", dims, pair("compare ge"), 0, 1) if limit else bits


@generates("broadcast", weight=3)
def repeated(g):
    x = g.find(lambda v: len(v.dims) < 6 and g.known(v) and g.count(v.dims) < 2000, dims=g.dims(g.random.randrange(4), 200))
    if x is None:
        return False
    dims, places = [], []
    for index, dim in enumerate(x.dims):
        while len(dims) < 6 - (len(x.dims) - index) and g.chance(0.35):
            dims.append(g.dim(max(1, ELEMENTS // max(1, g.count(dims + x.dims)))))
        places.append(len(dims))
        dims.append(g.dim(max(1, ELEMENTS // max(1, g.count(dims + x.dims[index + 1:])))) if dim == 1 and g.chance(0.8) else dim)
    while len(dims) < 6 and g.chance(0.35):
        dims.append(g.dim(max(1, ELEMENTS // max(1, g.count(dims)))))
    return g.emit("broadcast", [x], x.dtype, dims, lambda c: f"{c.r[0]} = vx.broadcast {c.o[0]}, {places} : {c.t[0]} -> {c.rt[0]}", x.low, x.high,
                  x.exact, x.special)


@generates("reshape", weight=2)
def reshaped(g):
    x = g.find(lambda v: g.known(v))
    dims = list(x.dims)
    for _ in range(g.random.randint(1, 3)):
        move = g.pick(("one", "join", "split", "drop"))
        if move == "one" and len(dims) < 6:
            dims.insert(g.random.randint(0, len(dims)), 1)
        elif move == "join" and len(dims) > 1:
            at = g.random.randrange(len(dims) - 1)
            dims[at:at + 2] = [times(dims[at], dims[at + 1])]
        elif move == "split" and len(dims) < 6:
            places = [i for i, dim in enumerate(dims) if not isinstance(dim, str) and dim > 1 and any(dim % k == 0 for k in range(2, dim))]
            if places:
                at = g.pick(places)
                factor = g.pick([k for k in range(2, dims[at]) if dims[at] % k == 0])
                dims[at:at + 1] = [factor, dims[at] // factor]
        elif move == "drop" and 1 in dims:
            dims.remove(1)
    return g.emit("reshape", [x], x.dtype, dims, lambda c: f"{c.r[0]} = vx.reshape {c.o[0]} : {c.t[0]} -> {c.rt[0]}", x.low, x.high, x.exact, x.special)


@generates("transpose", weight=2)
def transposed(g):
    x = g.find(lambda v: len(v.dims) > 1)
    if x is None:
        return False
    order = list(range(len(x.dims)))
    g.random.shuffle(order)
    return g.emit("transpose", [x], x.dtype, [x.dims[d] for d in order], lambda c: f"{c.r[0]} = vx.transpose {c.o[0]}, {order} : {c.t[0]}", x.low, x.high,
                  x.exact, x.special)


@generates("slice", weight=2)
def sliced(g):
    x = g.find(lambda v: v.dims and g.known(v))
    if x is None:
        return False
    starts, strides, dims = [], [], []
    for dim in x.dims:
        least = min(g.sizes(dim))
        kind = g.pick(("whole", "part", "part", "every", "back"))
        if isinstance(dim, str):
            if kind == "every":
                step = g.pick((2, 3))
                starts.append(0), strides.append(step), dims.append(f"ceildiv({dim}, {step})")
            elif kind == "back" and least > 0:
                starts.append(f"{dim} - 1"), strides.append(-1), dims.append(dim)
            elif kind == "part" and least > 1:
                begin = g.random.randint(0, least - 1)
                starts.append(begin), strides.append(1), dims.append(f"{dim} - {begin}" if begin and g.chance(0.5) else g.random.randint(0, least - begin))
            else:
                starts.append(0), strides.append(1), dims.append(dim)
            continue
        if least == 0 or kind == "whole":
            starts.append(0), strides.append(1), dims.append(dim)
            continue
        step = {"part": 1, "every": g.pick((2, 3)), "back": g.pick((-1, -2))}[kind]
        begin = g.random.randint(0, least - 1)
        room = (least - 1 - begin) // step + 1 if step > 0 else begin // -step + 1
        starts.append(begin), strides.append(step), dims.append(g.random.randint(0 if g.chance(0.1) else 1, room))
    text = lambda c: (f"{c.r[0]} = vx.slice {c.o[0]} starts [{', '.join(c.dim(s) for s in starts)}] strides {strides} : {c.t[0]} -> {c.rt[0]}")
    return g.emit("slice", [x], x.dtype, dims, text, x.low, x.high, x.exact, x.special)


@generates("concat", weight=2)
def joined(g):
    x = g.find(lambda v: v.dims and g.known(v))
    if x is None:
        return False
    axis = g.random.randrange(len(x.dims))
    parts = [x]
    for _ in range(g.random.randint(0, 3)):
        suited = lambda v: v.dtype == x.dtype and len(v.dims) == len(x.dims) and g.known(v) and all(a == b or d == axis for d, (a, b) in enumerate(zip(v.dims, x.dims)))
        dims = list(x.dims)
        dims[axis] = g.dim(40)
        part = g.find(suited, 0.6, dtype=x.dtype, dims=dims)
        if part is None:
            return False
        parts.append(part)
    total = parts[0].dims[axis]
    for part in parts[1:]:
        total = plus(total, part.dims[axis])
    dims = list(x.dims)
    dims[axis] = total
    text = lambda c: f"{c.r[0]} = vx.concat axis = {axis} ({', '.join(c.o)}) : {', '.join(c.t)}"
    return g.emit("concat", parts, x.dtype, dims, text, min(p.low for p in parts), max(p.high for p in parts), all(p.exact for p in parts),
                  any(p.special for p in parts))


@generates("pad", weight=2)
def padded(g):
    x = g.find(lambda v: v.dims and g.known(v) and g.count(v.dims) < 2500)
    if x is None:
        return False
    value = g.find(lambda v: v.dtype == x.dtype and not v.dims, dtype=x.dtype, dims=[])
    low, high, dims = [], [], []
    for dim in x.dims:
        least = min(g.sizes(dim))
        for amounts in (low, high):
            amounts.append(g.pick((0, 0, 1, 2, 3)) if g.chance(0.8) else -g.random.randint(0, least // 2))
        dims.append(plus(dim, low[-1] + high[-1]))
    text = lambda c: (f"{c.r[0]} = vx.pad {c.o[0]}, {c.o[1]} low [{', '.join(map(c.dim, low))}] high [{', '.join(map(c.dim, high))}] : {c.t[0]}, {c.t[1]}")
    return g.emit("pad", [x, value], x.dtype, dims, text, min(x.low, value.low), max(x.high, value.high), x.exact and value.exact, x.special or value.special)


@generates("pack", "unpack", weight=0.7)
def packed(g):
    x = g.find(lambda v: v.dims and len(v.dims) < 6 and g.known(v) and v.dtype != "i1")
    if x is None:
        return False
    order = list(range(len(x.dims)))
    g.random.shuffle(order)
    dim, tile = g.random.randrange(len(x.dims)), g.pick((1, 2, 4, 8, 16, 3))
    size = x.dims[dim]
    tiles = f"ceildiv({size}, {tile})" if isinstance(size, str) else -(-size // tile)
    dims = [tiles if d == dim else x.dims[d] for d in order] + [tile]
    middle = g.emit("pack", [x], x.dtype, dims, lambda c: f"{c.r[0]} = vx.pack {c.o[0]} dim = {dim} tile = {tile} permutation = {order} : {c.t[0]}",
                    min(0, x.low), max(0, x.high), x.exact, x.special)
    return middle and g.emit("unpack", [middle], x.dtype, x.dims,
                             lambda c: f"{c.r[0]} = vx.unpack {c.o[0]} dim = {dim} permutation = {order} : {c.t[0]} -> {c.rt[0]}", x.low, x.high, x.exact, x.special)


# Reductions.

@generates("reduce", weight=4)
def reduction(g):
    x = g.find(lambda v: v.dims and plain(v))
    if x is None:
        return False
    axes = sorted(g.random.sample(range(len(x.dims)), g.random.randint(0 if g.chance(0.1) else 1, len(x.dims))))
    kept = [dim for d, dim in enumerate(x.dims) if d not in axes]
    terms, least = g.count([x.dims[d] for d in axes]), g.least([x.dims[d] for d in axes])
    kinds = ["and", "or"] if x.dtype == "i1" else ["sum", "max", "min", "prod", "sum"] + (["and", "or"] if not x.is_float else [])
    kind = g.pick(kinds)
    text = lambda c: f"{c.r[0]} = vx.reduce {kind} {c.o[0]} axes = {axes} : {c.t[0]}"
    if not x.is_float:
        return g.emit("reduce", [x], x.dtype, kept, text, *limits(x.dtype))
    if kind == "sum":
        return g.emit("reduce", [x], x.dtype, kept, text, min(0, terms * x.low), max(0, terms * x.high), x.exact, inner=terms + 1, outer=2)
    if kind == "prod":
        if terms * math.log2(max(2, x.magnitude)) > 40:
            return False
        most = max(1, x.magnitude) ** terms
        return g.emit("reduce", [x], x.dtype, kept, text, -most, most, x.exact, inner=2, outer=2 + terms)
    return g.emit("reduce", [x], x.dtype, kept, text, x.low, x.high, x.exact, special=least == 0)


@generates("arg_reduce", weight=1.5)
def place_of_extreme(g):
    x = g.find(lambda v: v.dims and v.dtype != "i1" and v.exact and any(g.least([dim]) > 0 for dim in v.dims), exact=True)
    if x is None:
        return False
    axis = g.pick([d for d, dim in enumerate(x.dims) if g.least([dim]) > 0])
    kind, last = g.pick(("max", "min")), g.pick(("", " last"))
    return g.emit("arg_reduce", [x], "i64", x.dims[:axis] + x.dims[axis + 1:], lambda c: f"{c.r[0]} = vx.arg_reduce {kind} {c.o[0]} axis = {axis}{last} : {c.t[0]}",
                  0, max(0, g.count([x.dims[axis]]) - 1))


def window_size(g, size, kernel, stride, dilation, low, high):
    """As inference writes it."""
    whole = (kernel - 1) * dilation + 1
    if isinstance(size, str):
        return f"max(floordiv({size} + {low + high - whole}, {stride}) + 1, 0)"
    return max((size + low + high - whole) // stride + 1, 0)


@generates("cumulative_sum")
def cumulated(g):
    x = g.find(lambda v: len(v.dims) == 3 and v.dtype != "i1" and plain(v) and g.known(v))
    if x is None:
        return False
    flags = g.pick(("", "exclusive ", "reverse ", "exclusive reverse "))
    text = lambda c: f"{c.r[0]} = vx.cumulative_sum {flags}{c.o[0]} : {c.t[0]}"
    if not x.is_float:
        return g.emit("cumulative_sum", [x], x.dtype, x.dims, text, *limits(x.dtype))
    terms = g.count([x.dims[1]])
    return g.emit("cumulative_sum", [x], x.dtype, x.dims, text, min(0, terms * x.low), max(0, terms * x.high), x.exact, inner=terms + 1, outer=2)


@generates("reduce_window", weight=3)
def window(g):
    x = g.find(lambda v: v.dims and v.dtype != "i1" and plain(v) and g.known(v))
    if x is None:
        return False
    kind = g.pick(("max", "sum", "min", "max", "sum", "prod"))
    windows, strides, dilations, low, high, dims, terms = [], [], [], [], [], [], 1
    for index, dim in enumerate(x.dims):
        if index + 2 < len(x.dims) and g.chance(0.8) or terms > 30:
            entry = (1, 1, 1, 0, 0)
        else:
            kernel, dilation = g.pick((1, 2, 3, 3, 5)), g.pick((1, 1, 2))
            entry = (kernel, g.pick((1, 1, 2, 3)), dilation, g.pick((0, 1, 1, 2)), g.pick((0, 1, 1, 2, 3)))
        if min(g.sizes(dim)) + entry[3] + entry[4] < (entry[0] - 1) * entry[2] + 1:  # a window fits
            entry = (1, 1, 1, 0, 0)
        for list_, item in zip((windows, strides, dilations, low, high), entry):
            list_.append(item)
        terms *= entry[0]
        dims.append(window_size(g, dim, *entry))
    text = lambda c: (f"{c.r[0]} = vx.reduce_window {kind} {c.o[0]} window = {windows} strides = {strides} dilations = {dilations} pads = {low} x {high}"
                      f" : {c.t[0]}")
    if not x.is_float:
        return g.emit("reduce_window", [x], x.dtype, dims, text, *limits(x.dtype))
    if kind == "sum":
        return g.emit("reduce_window", [x], x.dtype, dims, text, min(0, terms * x.low), max(0, terms * x.high), x.exact, inner=terms + 1, outer=2)
    if kind == "prod":
        most = max(1, x.magnitude) ** terms
        if terms * math.log2(max(2, x.magnitude)) > 40:
            return False
        return g.emit("reduce_window", [x], x.dtype, dims, text, -most, most, x.exact, inner=2, outer=2 + terms)
    # A window in the padding alone gives an infinity.
    return g.emit("reduce_window", [x], x.dtype, dims, text, x.low, x.high, x.exact, special=any(low) or any(high))


# Products.

@generates("conv", weight=4)
def convolution(g):
    dtype = g.pick(("f32",) * 8 + ("f16", "f64"))
    spatial, last = g.pick((1, 2, 2, 2, 3)), g.chance(0.2)
    suited = lambda v: v.dtype == dtype and len(v.dims) == spatial + 2 and g.known(v) and plain(v) and v.dims[-1 if last else 1] in SIZES[1:11]
    groups = g.pick((1, 1, 1, 2, 3))
    channels = groups * g.pick((1, 1, 2, 3, 5, 8))
    places = [g.dim(33, 0.01) for _ in range(spatial)]
    x = g.find(suited, 0.5, dtype=dtype, dims=[g.pick((1, 1, 2, 3)) if not g.symbols or g.chance(0.7) else g.symbols[0]]
               + (places + [channels] if last else [channels] + places), constant=False)
    if x is None or g.count(x.dims) > 4 * ELEMENTS:
        return False
    channels = x.dims[-1 if last else 1]
    groups = groups if channels % groups == 0 else 1
    if g.chance(0.15):
        groups = channels
    filters = groups * g.pick((1, 1, 2, 3, 4))
    places = x.dims[1:-1] if last else x.dims[2:]
    kernel, strides, dilations, low, high, out = [], [], [], [], [], []
    for dim in places:
        k, s, d, a, b = g.pick((1, 1, 2, 3, 3, 5)), g.pick((1, 1, 2, 3)), g.pick((1, 1, 1, 2)), g.pick((0, 0, 1, 1, 2)), g.pick((0, 0, 1, 1, 2))
        if min(g.sizes(dim)) + a + b < (k - 1) * d + 1:
            k = d = 1
        for list_, item in zip((kernel, strides, dilations, low, high), (k, s, d, a, b)):
            list_.append(item)
        out.append(window_size(g, dim, k, s, d, a, b))
    w = g.find(lambda v: v.dtype == dtype and v.dims == [filters, channels // groups, *kernel] and plain(v), dtype=dtype,
               dims=[filters, channels // groups, *kernel])
    terms = channels // groups * math.prod(kernel)
    dims = [x.dims[0]] + (out + [filters] if last else [filters] + out)
    if w is None or g.count(dims) * terms > WORK:
        return False
    return product(g, "conv", x, w, terms, dims, text_of=lambda sums_: lambda c: (
        f"{c.r[0]} = vx.conv {c.o[0]}, {c.o[1]} strides = {strides} dilations = {dilations} pads = {low} x {high} groups = {groups}"
        f"{' channels_last' if last else ''}{sums_} : {c.t[0]}, {c.t[1]}"))


@generates("conv_filter", weight=2)
def convolution_filter(g):
    dtype = g.pick(("f32",) * 8 + ("f16", "f64"))
    spatial, last = g.pick((1, 2, 2, 3)), g.chance(0.3)
    suited = lambda v: (v.dtype == dtype and len(v.dims) == spatial + 2 and g.known(v) and plain(v) and v.dims[-1 if last else 1] in SIZES[1:11]
                        and all(isinstance(dim, int) for dim in v.dims[1:]))
    channels = g.pick((1, 1, 2, 3, 5, 8, 17))
    places = [g.pick((1, 2, 3, 5, 7, 9)) for _ in range(spatial)]
    x = g.find(suited, 0.5, dtype=dtype, dims=[g.pick((1, 1, 2, 3)) if not g.symbols or g.chance(0.7) else g.symbols[0]]
               + (places + [channels] if last else [channels] + places), constant=False)
    if x is None or g.count(x.dims) > 4 * ELEMENTS:
        return False
    channels = x.dims[-1 if last else 1]
    groups = g.pick([n for n in (1, 1, 1, 2, 3, channels) if channels % n == 0])
    filters = groups * g.pick((1, 1, 2, 3, 4))
    kernel, strides, dilations, low, out = [], [], [], [], []
    for dim in x.dims[1:-1] if last else x.dims[2:]:
        k, s, d, a = g.pick((1, 1, 2, 3, 3)), g.pick((1, 1, 2, 3)), g.pick((1, 1, 1, 2)), g.pick((0, 0, 1, 1, 2))
        for list_, item in zip((kernel, strides, dilations, low), (k, s, d, a)):
            list_.append(item)
        # Of a convolution's places, and now and then more.
        out.append(max(1, (dim + 2 * a - ((k - 1) * d + 1)) // s + 1 + g.pick((0, 0, 0, 1))))
    gradient = [x.dims[0]] + (out + [filters] if last else [filters] + out)
    y = g.find(lambda v: v.dtype == dtype and v.dims == gradient and plain(v), dtype=dtype, dims=gradient)
    terms = max(1, g.count([x.dims[0], *out]))
    dims = kernel + [channels // groups, filters] if last else [filters, channels // groups] + kernel
    if y is None or g.count(dims) * terms > WORK:
        return False
    sizes = ", ".join(f"#vx.dim<{k}>" for k in kernel)
    return product(g, "conv_filter", x, y, terms, dims, text_of=lambda sums_: lambda c: (
        f"{c.r[0]} = vx.conv_filter {c.o[0]}, {c.o[1]} kernel [{sizes}] strides = {strides} dilations = {dilations} pads = {low} groups = {groups}"
        f"{' channels_last' if last else ''}{sums_} : {c.t[0]}, {c.t[1]}"))


def product(g, kind, x, w, terms, dims, text_of):
    narrow = x.dtype in ("f16", "bf16") and g.chance(0.4)
    text = text_of(" sums = f32" if narrow else "")
    most = terms * x.magnitude * w.magnitude
    if not x.is_float:
        return g.emit(kind, [x, w], x.dtype, dims, text, *limits(x.dtype))
    exact = x.exact and w.exact and most <= EXACT[ACCUMULATOR[x.dtype]]
    result = g.emit(kind, [x, w], "f32" if narrow else x.dtype, dims, text, -most, most, exact, inner=terms + 2, outer=2)
    if result and narrow and not result.exact:
        # Factors of 16 bits cannot be off by what sums in f32 round: the result is, by that of partial sums.
        g.ops[-1].outer, g.ops[-1].absolute = 2 + math.ceil(terms**0.5 * x.magnitude * w.magnitude), True
    return result


@generates("contract", weight=4)
def contraction(g):
    dtype = g.pick(("f32",) * 8 + ("f16", "f64", "i32", "i64"))
    x = g.find(lambda v: v.dtype == dtype and v.dims and g.known(v) and plain(v) and g.count(v.dims) < 5000, 0.6, dtype=dtype, dims=g.dims(g.pick((1, 2, 2, 3, 3, 4)), 3000))
    if x is None:
        return False
    order = list(range(len(x.dims)))
    g.random.shuffle(order)
    batch = order[:g.pick((0, 0, 1, 1, 2))]
    rest = order[len(batch):]
    contracting = rest[:g.pick((1, 1, 1, 2, 0))]
    free = [dim for d, dim in enumerate(x.dims) if d not in batch and d not in contracting]
    terms = g.count([x.dims[d] for d in contracting])
    room = max(1, WORK // max(1, g.count(x.dims)))
    own = [g.dim(min(room, 129)) for _ in range(min(g.pick((0, 1, 1, 1, 2)), 6 - len(batch) - len(contracting), 6 - len(batch) - len(free)))]
    if g.count(own + x.dims) > WORK:
        own = []
    parts = [("b", i) for i in range(len(batch))] + [("c", i) for i in range(len(contracting))] + [("f", i) for i in range(len(own))]
    g.random.shuffle(parts)
    dims = [x.dims[batch[i]] if kind == "b" else x.dims[contracting[i]] if kind == "c" else own[i] for kind, i in parts]
    other_batch, other_contracting = [parts.index(("b", i)) for i in range(len(batch))], [parts.index(("c", i)) for i in range(len(contracting))]
    y = g.find(lambda v: v.dtype == dtype and v.dims == dims and plain(v), dtype=dtype, dims=dims)
    if y is None:
        return False
    own = [dims[i] for i, (kind, _) in enumerate(parts) if kind == "f"]
    swap = g.chance(0.5)
    if swap:
        x, y, batch, other_batch, contracting, other_contracting, free, own = y, x, other_batch, batch, other_contracting, contracting, own, free
    paired = [x.dims[d] for d in batch]
    return product(g, "contract", x, y, terms, paired + free + own, text_of=lambda sums_: lambda c: (
        f"{c.r[0]} = vx.contract {c.o[0]}, {c.o[1]} batch = {batch} x {other_batch} contracting = {contracting} x {other_contracting}{sums_} : {c.t[0]}, {c.t[1]}"))


def products_of_many_sizes(g):
    """A long chain of products, each [a, b] of two symbols, many of which are alive at once: which buffer is larger is not known, so that where the
    next one lies in the arena is the greatest of many sums."""
    alive, read = [], set()
    for symbol in g.symbols:
        alive.append(g.input("f32", [symbol, g.pick(g.symbols)], -2, 2, exact=True, constant=False))
    for _ in range(g.random.randint(64, 80)):
        x = g.pick([value for value in alive if value.name not in read] or alive)
        axis = g.pick((0, 1))
        places = [(other, d) for other in alive if other is not x for d in (0, 1) if other.dims[d] == x.dims[axis]]
        y, other_axis = g.pick(places) if places else (g.input("f32", [x.dims[axis], g.pick(g.symbols)], -2, 2, exact=True, constant=False), 0)
        most = g.count([x.dims[axis]]) * x.magnitude * y.magnitude
        text = lambda c, axis=axis, other_axis=other_axis: (
            f"{c.r[0]} = vx.contract {c.o[0]}, {c.o[1]} batch = [] x [] contracting = [{axis}] x [{other_axis}] : {c.t[0]}, {c.t[1]}")
        made = g.emit("contract", [x, y], "f32", [x.dims[1 - axis], y.dims[1 - other_axis]], text, -most, most)
        made = made and g.clamped(made, -2, 2)
        if not made:
            return False
        alive.append(made)
        read |= {x.name, y.name}
        if len(alive) > g.pick((16, 32)):
            alive.remove(g.pick([value for value in alive if value.name in read]))
    # What is left is read at the end.
    total = None
    for x in alive:
        most = g.emit("reduce", [x], "f32", [], lambda c: f"{c.r[0]} = vx.reduce max {c.o[0]} axes = [0, 1] : {c.t[0]}", x.low, x.high, special=g.least(x.dims) == 0)
        total = most if total is None or not most else g.emit("add", [total, most], "f32", [], pair("add"), total.low + most.low, total.high + most.high,
                                                                    special=total.special or most.special)
        if not total:
            return False
    return total


@generates("call", weight=1)
def call(g):
    x = g.find(lambda v: v.is_float)
    if x is None:
        return False
    name = f"call{g.seed}_{g.counter}"
    own = [f"{name}_{axis}" for axis in range(len(x.dims))]
    of_callee = tensor_type(x.dtype, own)
    g.header.append("".join(f'vx.symbol "{symbol}"\n' for symbol in own) + f"func.func private @{name}(%x: {of_callee}) -> {of_callee} {{\n"
                    f"  %0 = vx.neg %x : {of_callee}\n  return %0 : {of_callee}\n}}")
    return g.emit("call", [x], x.dtype, x.dims, lambda c: f"{c.r[0]} = vx.call @{name}({c.o[0]}) : ({c.t[0]}) -> {c.rt[0]}", -x.high, -x.low, x.exact,
                  x.special)


@generates("softmax", weight=2.5)
def softmax(g):
    if g.chance(0.4):  # beyond what an exponential of the type holds
        dtype = g.pick(("f32", "f32", "f32", "f64"))
        most = 400 if dtype == "f32" else 1000
        x = g.input(dtype, g.dims(g.random.randint(1, 4)), -most, most, exact=True)
    else:
        x = g.find(lambda v: is_float(v) and v.dims and v.magnitude < 30, dtype=g.pick(("f32", "f32", "f32", "f16", "f64")))
    if x is None:
        return False
    axis, log = g.random.randrange(len(x.dims)), g.chance(0.3)
    terms = g.count([x.dims[axis]])
    low, high = (-2 * x.magnitude - 10, 0) if log else (0, 1)
    result = g.emit("softmax", [x], x.dtype, x.dims, lambda c: f"{c.r[0]} = vx.softmax {'log ' if log else ''}{c.o[0]} axis = {axis} : {c.t[0]}", low, high,
                    False, inner=8, outer=terms + 12)
    if result and log:
        g.ops[-1].absolute = True  # the logarithm of a sum near 1
    return result


@generates("layer_norm", "rms_norm", weight=2)
def norm(g):
    x = g.find(lambda v: is_float(v) and v.dims and v.dtype != "f16" and 0.5 < v.magnitude < 1000 and g.known(v), dtype=g.pick(("f32", "f32", "f32", "f64")))
    if x is None:
        return False
    is_layer = g.chance(0.5)
    axis = g.random.randrange(len(x.dims)) if is_layer else len(x.dims) - 1
    dims, epsilon = x.dims[axis:], g.pick(("1.0e-1", "1.0e-2", "1.0"))
    terms = g.count(dims)
    scale = g.find(lambda v: v.dtype == x.dtype and v.dims == dims and plain(v), 0.5, dtype=x.dtype, dims=dims)
    if scale is None:
        return False
    if not is_layer:
        most = math.sqrt(max(terms, 1)) * scale.magnitude
        text = lambda c: f"{c.r[0]} = vx.rms_norm {c.o[0]}, {c.o[1]}, epsilon = {epsilon} : {c.t[0]}, {c.t[1]}"
        return g.emit("rms_norm", [x, scale], x.dtype, x.dims, text, -most, most, False, inner=2, outer=terms / 2 + 6)
    bias = g.find(lambda v: v.dtype == x.dtype and v.dims == dims and plain(v), 0.5, dtype=x.dtype, dims=dims)
    if bias is None:
        return False
    most = math.sqrt(max(terms, 1)) * scale.magnitude + bias.magnitude
    text = lambda c: f"{c.r[0]} = vx.layer_norm {c.o[0]}, {c.o[1]}, {c.o[2]} axis = {axis} epsilon = {epsilon} : {c.t[0]}, {c.t[1]}, {c.t[2]}"
    return g.emit("layer_norm", [x, scale, bias], x.dtype, x.dims, text, -most, most, False, inner=terms + 6, outer=terms / 2 + 6)


@generates("attention", weight=1.5)
def attention(g):
    dtype = g.pick(("f32", "f32", "f32", "f64"))
    batch, length, keys = g.pick((1, 2)) if not g.symbols or g.chance(0.6) else g.symbols[0], g.dim(17), g.dim(33)
    groups, repeats = g.pick((1, 2, 3)), g.pick((1, 1, 2))
    depth, wide = g.pick((1, 3, 4, 8, 16)), g.pick((1, 2, 5, 8))
    if g.count([batch, groups * repeats, length, keys, depth]) > WORK:
        return False
    orders = [g.random.sample(range(4), 4) if g.chance(0.4) else [0, 1, 2, 3] for _ in range(4)]

    def laid(sizes, order):
        dims = [None] * 4
        for size, place in zip(sizes, order):
            dims[place] = size
        return dims

    q = g.input(dtype, laid([batch, groups * repeats, length, depth], orders[0]), -1, 1, constant=False)
    k = g.input(dtype, laid([batch, groups, keys, depth], orders[1]), -1, 1, constant=False)
    v = g.input(dtype, laid([batch, groups, keys, wide], orders[2]), -2, 2)
    operands, extra, options = [q, k, v], [], ""
    for kind, name in (("mask", "i1"), ("bias", dtype)):
        if g.chance(0.35):
            dims = [size if g.chance(0.5) else 1 for size in (batch, groups * repeats, length, keys)]
            operands.append(g.input(name, dims, -2, 2) if name != "i1" else g.input(name, dims))
            extra.append(kind)
    if g.chance(0.2):
        options += " softcap = 2.0"
    if g.chance(0.4):
        options += " causal"
    if g.chance(0.2):
        options += " window = 3"
    past = g.pick((0, 0, 3, 7))
    if past:
        options += f" past = <{past}>"
    options += " zero_invalid"
    has_sum = g.chance(0.3)

    def text(c):
        given = "".join(f" {kind}({c.o[3 + i]} : {c.t[3 + i]})" for i, kind in enumerate(extra))
        return (f"{', '.join(c.r)} = vx.attention {c.o[0]}, {c.o[1]}, {c.o[2]}{given} scale = 5.000000e-01{options} dims = {orders[0]} x {orders[1]} x {orders[2]}"
                f" -> {orders[3]} : {c.t[0]}, {c.t[1]}, {c.t[2]} -> {', '.join(c.rt)}")

    terms = max(g.count([keys]), 1)
    result = g.emit("attention", operands, dtype, laid([batch, groups * repeats, length, wide], orders[3]), text, -2, 2, False, inner=depth + 6, outer=terms + 10)
    if result and has_sum:
        # Of a row that nothing takes part in it is -inf, and no number is near.
        log = Value(g.fresh(), dtype, [batch, groups * repeats, length], -math.inf, 20, False, True)
        g.ops[-1].results.append(log)
        g.values.append(log)
    return result


# Memory.

@generates("reduce", "broadcast", weight=5)
def shared(g):
    """What several ops read, and an elementwise op last: it may be computed in the place of what it reads; and again with its result."""
    makers = (transposed, padded, gathered, repeated, softmax, window, joined, contraction, norm, sliced)
    x = g.pick(makers)(g) if g.chance(0.8) else g.find(lambda v: v.dims)
    if not x or not x.dims or x.dtype == "i1" or x.special or not g.known(x) or g.least(x.dims) == 0:
        return False
    for _ in range(g.pick((1, 2, 3, 4))):
        axes = sorted(g.random.sample(range(len(x.dims)), g.random.randint(1, len(x.dims))))
        places = [d for d in range(len(x.dims)) if d not in axes]
        kind = g.pick(("max", "min"))
        most = g.emit("reduce", [x], x.dtype, [x.dims[d] for d in places], lambda c, axes=axes, kind=kind: f"{c.r[0]} = vx.reduce {kind} {c.o[0]} axes = {axes} : {c.t[0]}",
                      x.low, x.high, x.exact)
        again = most and g.emit("broadcast", [most], x.dtype, x.dims, lambda c, places=places: f"{c.r[0]} = vx.broadcast {c.o[0]}, {places} : {c.t[0]} -> {c.rt[0]}",
                                x.low, x.high, x.exact)
        if not again:
            return False
        op = g.pick(("add", "sub", "sub", "max", "min"))
        operands = [x, again] if g.chance(0.7) else [again, x]
        low, high = {"add": (2 * x.low, 2 * x.high), "sub": (x.low - x.high, x.high - x.low)}.get(op, (x.low, x.high))
        after = g.emit(op, operands, x.dtype, x.dims, pair(op), low, high, x.exact, inner=1, outer=2)
        if not after:
            return False
        if g.chance(0.15):
            g.kept.append(x)  # alive until the program's end
        x = after
    # What is read no more is a result, which has memory of its own.
    if g.chance(0.8):
        axes = sorted(g.random.sample(range(len(x.dims)), g.random.randint(1, len(x.dims))))
        dims = [dim for d, dim in enumerate(x.dims) if d not in axes]
        return g.emit("reduce", [x], x.dtype, dims, lambda c: f"{c.r[0]} = vx.reduce max {c.o[0]} axes = {axes} : {c.t[0]}", x.low, x.high, x.exact)
    return x


@generates("contract", "reshape", weight=1.5)
def read_twice(g):
    """A product added to what it was made of, which a reshape gives another name: no place for the sum."""
    rows, columns = 2 * g.pick((1, 2, 4, 17, 65)), g.pick((1, 3, 8, 33))
    start = g.input("f32", [columns, rows], -4, 4, exact=True, constant=False)
    x = g.emit("transpose", [start], "f32", [rows, columns], lambda c: f"{c.r[0]} = vx.transpose {c.o[0]}, [1, 0] : {c.t[0]}", start.low, start.high)
    split = g.emit("reshape", [x], "f32", [2, rows // 2, columns], lambda c: f"{c.r[0]} = vx.reshape {c.o[0]} : {c.t[0]} -> {c.rt[0]}", x.low, x.high)
    w = g.input("f32", [rows, 2, rows // 2], -2, 2, exact=True)
    most = rows * x.magnitude * w.magnitude
    made = g.emit("contract", [w, split], "f32", x.dims,  # each row of all rows
                  lambda c: f"{c.r[0]} = vx.contract {c.o[0]}, {c.o[1]} batch = [] x [] contracting = [1, 2] x [0, 1] : {c.t[0]}, {c.t[1]}", -most, most)
    both = g.emit("add", [made, x] if g.chance(0.5) else [x, made], "f32", x.dims, pair("add"), -2 * most, 2 * most)
    axis = g.pick((0, 1))
    return g.emit("reduce", [both], "f32", [both.dims[1 - axis]], lambda c: f"{c.r[0]} = vx.reduce max {c.o[0]} axes = [{axis}] : {c.t[0]}", both.low, both.high)


@generates("reduce", "softmax", "rms_norm", "layer_norm", "contract", weight=9)
def many_rows(g):
    """Rows that are many and short: a device may give each to one thread, or to a few."""
    outer = g.pick(([33, 33], [8, 129], [129, 13], [1040]))
    length = g.pick((1, 3, 8, 13, 16, 17, 17, 20, 20, 22, 22))
    x = g.input("f32", outer + [length], -4, 4, constant=False)
    move, axis = g.pick(("sum", "max", "softmax", "softmax", "rms_norm", "rms_norm", "layer_norm", "layer_norm", "contract", "contract")), len(outer)
    if move in ("sum", "max"):
        y = g.emit("reduce", [x], "f32", outer, lambda c: f"{c.r[0]} = vx.reduce {move} {c.o[0]} axes = [{axis}] : {c.t[0]}", *((length * x.low, length * x.high) if move == "sum" else (x.low, x.high)),
                   x.exact, inner=length + 1 if move == "sum" else 0, outer=2 if move == "sum" else 0)
    elif move == "softmax":
        y = g.emit("softmax", [x], "f32", x.dims, lambda c: f"{c.r[0]} = vx.softmax {c.o[0]} axis = {axis} : {c.t[0]}", 0, 1, False, inner=8, outer=length + 12)
    elif move == "contract":
        w = g.input("f32", [length], -2, 2)
        most = length * x.magnitude * w.magnitude
        y = g.emit("contract", [x, w], "f32", outer, lambda c: f"{c.r[0]} = vx.contract {c.o[0]}, {c.o[1]} batch = [] x [] contracting = [{axis}] x [0] : {c.t[0]}, {c.t[1]}",
                   -most, most, x.exact and w.exact, inner=length + 2, outer=2)
    else:
        scale, most = g.input("f32", [length], 1, 3), 3 * math.sqrt(length) + 4
        if move == "rms_norm":
            y = g.emit("rms_norm", [x, scale], "f32", x.dims, lambda c: f"{c.r[0]} = vx.rms_norm {c.o[0]}, {c.o[1]}, epsilon = 1.0e-1 : {c.t[0]}, {c.t[1]}", -most, most, False,
                       inner=2, outer=length / 2 + 6)
        else:
            bias = g.input("f32", [length], -2, 2)
            y = g.emit("layer_norm", [x, scale, bias], "f32", x.dims,
                       lambda c: f"{c.r[0]} = vx.layer_norm {c.o[0]}, {c.o[1]}, {c.o[2]} axis = {axis} epsilon = 1.0e-1 : {c.t[0]}, {c.t[1]}, {c.t[2]}", -most, most, False,
                       inner=length + 6, outer=length / 2 + 6)
    if y and g.chance(0.5):
        op = g.pick(("neg", "abs"))
        return g.emit(op, [y], "f32", y.dims, same(op), -y.magnitude, y.magnitude, y.exact)
    return y


# Indices.

@generates("gather", weight=2)
def gathered(g):
    x = g.find(lambda v: v.dims and g.known(v) and any(min(g.sizes(dim)) > 0 for dim in v.dims))
    if x is None:
        return False
    axis = g.pick([d for d, dim in enumerate(x.dims) if min(g.sizes(dim)) > 0])
    size = min(g.sizes(x.dims[axis]))
    inside = lambda v: v.dtype in ("i32", "i64") and -size <= v.low and v.high < size and g.known(v) and len(v.dims) + len(x.dims) <= 7
    rest = max(1, g.count(x.dims[:axis] + x.dims[axis + 1:]))
    indices = g.find(inside, 0.4, dtype=g.pick(("i32", "i64")), dims=g.dims(g.random.randrange(3), max(1, min(300, ELEMENTS // rest))), low=-size, high=size - 1)
    if indices is None:
        return False
    return g.emit("gather", [x, indices], x.dtype, x.dims[:axis] + indices.dims + x.dims[axis + 1:],
                  lambda c: f"{c.r[0]} = vx.gather {c.o[0]}, {c.o[1]} axis = {axis} : {c.t[0]}, {c.t[1]}", x.low, x.high, x.exact, x.special)


@generates("gather")
def gathered_tuples(g):
    x = g.find(lambda v: v.dims and g.known(v) and any(min(g.sizes(dim)) > 0 for dim in v.dims))
    if x is None:
        return False
    axis = g.pick([d for d, dim in enumerate(x.dims) if min(g.sizes(dim)) > 0])
    members = 1
    while axis + members < len(x.dims) and min(g.sizes(x.dims[axis + members])) > 0 and g.chance(0.7):
        members += 1
    size = min(min(g.sizes(dim)) for dim in x.dims[axis:axis + members])
    rest = max(1, g.count(x.dims[:axis] + x.dims[axis + members:]))
    places = g.dims(g.random.randrange(3), max(1, min(300, ELEMENTS // rest)))
    indices = g.input(g.pick(("i32", "i64")), places + [members], low=-size, high=size - 1)
    return g.emit("gather", [x, indices], x.dtype, x.dims[:axis] + places + x.dims[axis + members:],
                  lambda c: f"{c.r[0]} = vx.gather {c.o[0]}, {c.o[1]} axis = {axis} members = {members} : {c.t[0]}, {c.t[1]}", x.low, x.high, x.exact, x.special)


@generates("scatter", "check_indices", weight=1.5)
def scattered(g):
    """Rows at places of the data, some outside, several at one place; or places that are checked."""
    x = g.find(lambda v: v.dims and g.known(v))
    if x is None:
        return False
    axes = sorted(g.random.sample(range(len(x.dims)), g.random.randrange(1, len(x.dims) + 1)))
    rest = [dim for axis, dim in enumerate(x.dims) if axis not in axes]
    rows = g.dims(g.random.randrange(3), max(1, min(60, ELEMENTS // max(1, g.count(rest)))))
    size = min(min(g.sizes(x.dims[axis])) for axis in axes)
    is_checked = size > 0 and g.chance(0.4)
    low, high = (-size, size - 1) if is_checked else (-1, size)
    places = g.input(g.pick(("i32", "i64")), rows + [len(axes)], low=low, high=high)
    if is_checked:
        below = [x.dims[axis] for axis in axes]
        places = g.emit("check_indices", [places], places.dtype, places.dims,
                        lambda c: f"{c.r[0]} = vx.check_indices {c.o[0]} below [{', '.join(map(c.dim, below))}] : {c.t[0]}", 0, size - 1)
        if not places:
            return places
    u = g.find(lambda v: v.dtype == x.dtype and v.dims == rows + rest and g.known(v), 0.5, dtype=x.dtype, dims=rows + rest, low=x.low, high=x.high, exact=x.exact)
    if u is None:
        return False
    return g.emit("scatter", [x, places, u], x.dtype, x.dims,
                  lambda c: f"{c.r[0]} = vx.scatter set {c.o[0]}, {c.o[1]}, {c.o[2]} axes = {axes} : {c.t[0]}, {c.t[1]}, {c.t[2]}",
                  min(x.low, u.low), max(x.high, u.high), x.exact and u.exact, x.special or u.special)


@generates("update_slice")
def updated_slice(g):
    x = g.find(lambda v: v.dims and g.known(v))
    if x is None:
        return False
    axis = g.random.randrange(len(x.dims))
    size = min(g.sizes(x.dims[axis]))
    length = g.random.randrange(size + 1)
    part = x.dims[:axis] + [length] + x.dims[axis + 1:]
    start = g.input(g.pick(("i32", "i64")), [1], low=-1, high=size - length + 1)
    u = g.find(lambda v: v.dtype == x.dtype and v.dims == part and g.known(v), 0.5, dtype=x.dtype, dims=part, low=x.low, high=x.high, exact=x.exact)
    if u is None:
        return False
    return g.emit("update_slice", [x, start, u], x.dtype, x.dims,
                  lambda c: f"{c.r[0]} = vx.update_slice {c.o[0]}, {c.o[1]}, {c.o[2]} axes = [{axis}] : {c.t[0]}, {c.t[1]}, {c.t[2]}",
                  min(x.low, u.low), max(x.high, u.high), x.exact and u.exact, x.special or u.special)


@generates("paged_attention")
def paged_attention(g):
    """Sequences as they come: tables with numbers that are no pages, starts that are not in order, and lengths beyond the table."""
    groups, repeats, places, depth, sequences, most = g.pick((1, 2)), g.pick((1, 3)), g.pick((1, 2, 5, 32)), g.pick((1, 4, 7, 16)), g.random.randint(0, 3), g.random.randint(0, 3)
    query = g.find(lambda v: len(v.dims) == 3 and g.known(v) and v.dtype == "f32" and v.exact and v.dims[1:] == [groups * repeats, depth] and max(abs(v.low), abs(v.high)) <= 8,
                   0.5, dtype="f32", dims=[g.dim(9), groups * repeats, depth], exact=True)
    if query is None:
        return False
    pages = g.random.randint(0, 4)
    keys, values = (g.input("f32", [pages, groups, places, depth], exact=True) for _ in range(2))
    table, starts, lengths = (g.input("i64", dims, low, high) for dims, low, high in
                              (([sequences, most], -1, pages), ([sequences + 1], 0, 9), ([sequences], -1, most * places + 2)))
    options = g.pick(("", " softcap = 2.000000e+00", f" window = {g.random.randint(1, 9)}"))
    return g.emit("paged_attention", [query, keys, values, table, starts, lengths], "f32", query.dims,
                  lambda c: f"{c.r[0]} = vx.paged_attention {c.o[0]}, {c.o[1]}, {c.o[2]} table({c.o[3]}) starts({c.o[4]}) lengths({c.o[5]}) scale = 5.000000e-01{options} : "
                            f"{c.t[0]}, {c.t[1]}, {c.t[3]}, {c.t[4]}, {c.t[5]}", -4, 4, False, inner=depth + 6, outer=most * places + 10)


@generates("top_places")
def first_places(g):
    """Of rows that are no shorter than what is wanted of them, whatever the symbols are."""
    keys = g.find(lambda v: len(v.dims) == 2 and g.known(v) and v.dtype in ("f32", "f16", "f64", "i32", "i64", "ui8") and v.exact, 0.6, exact=True)
    if keys is None or len(keys.dims) != 2 or keys.dtype not in ("f32", "f16", "f64", "i32", "i64", "ui8"):
        return False
    count, descending = g.random.randint(0, min(1024, min(g.sizes(keys.dims[1])))), g.pick(("", "descending "))
    return g.emit("top_places", [keys], "i64", [keys.dims[0], count], lambda c: f"{c.r[0]} = vx.top_places {descending}{c.o[0]} count = {count} : {c.t[0]}", 0, 4 * ELEMENTS)


@generates("select_boxes")
def selected(g):
    """Of boxes whose corners are small whole numbers, so that all areas are exact."""
    scores = g.find(lambda v: len(v.dims) == 3 and g.known(v) and v.dtype == "f32" and v.exact, 0.6, dtype="f32", exact=True)
    if scores is None or len(scores.dims) != 3 or scores.dtype != "f32":
        return False
    boxes = g.input("f32", [scores.dims[0], scores.dims[2], 4], low=-4, high=4, exact=True)
    count = g.random.randint(0, 9)
    return g.emit("select_boxes", [boxes, scores, g.splat("f32", [], 0.25), g.splat("f32", [], 0)], "i64", scores.dims[:2] + [count],
                  lambda c: f"{c.r[0]} = vx.select_boxes {c.o[0]}, {c.o[1]} overlap({c.o[2]}) least({c.o[3]}) : {c.t[0]}, {c.t[1]} -> {c.rt[0]}", -1, 4 * ELEMENTS)


@generates("merge_runs")
def merged(g):
    """Places that some levels of a sort bring in order."""
    keys = g.find(lambda v: len(v.dims) == 3 and g.known(v) and v.dtype in ("f32", "f16", "f64", "i32", "i64", "ui8") and v.exact, 0.6, exact=True)
    if keys is None or len(keys.dims) != 3 or keys.dtype not in ("f32", "f16", "f64", "i32", "i64", "ui8"):
        return False
    dims, descending = keys.dims[:2], g.pick(("", "descending "))
    places = g.emit("iota", [], "i64", dims, lambda c: f"{c.r[0]} = vx.iota axis = 1 : {c.rt[0]}", 0, 4 * ELEMENTS)
    for level in range(g.random.randrange(1, 4)):
        places = places and g.emit("merge_runs", [keys, places, g.splat("i64", [], level)], "i64", dims,
                                   lambda c: f"{c.r[0]} = vx.merge_runs {descending}{c.o[0]}, {c.o[1]} level({c.o[2]}) : {c.t[0]}, {c.t[1]}", 0, 4 * ELEMENTS)
    return places


@generates("nonzero", "count_nonzero", "bind_symbol", weight=1.5)
def nonzero(g):
    x = g.find(lambda v: v.dims and g.known(v) and v.exact and not (isinstance(v, Input) and v.constant), 0.5, exact=True, constant=False)
    if x is None:
        return False
    count = g.emit("count_nonzero", [x], "i64", [], same("count_nonzero"), 0, 4 * ELEMENTS)
    if not count or g.chance(0.3):
        return count
    symbol = f"data{g.seed}_{g.counter}"
    g.header.append(f'vx.symbol data_dependent "{symbol}"')
    rank = len(x.dims)
    for run in g.runs:
        run[symbol] = g.count(x.dims)  # at most
    places = Value(g.fresh(), "i64", [rank, symbol], 0, 4 * ELEMENTS)
    g.ops.append(Op("nonzero", [x, count], [places],
                    lambda c: f'vx.bind_symbol "{symbol}" = {c.o[1]}\n{c.r[0]} = vx.nonzero {c.o[0]} : {c.t[0]} -> {c.rt[0]}'))
    g.values.append(places)
    if rank == 1 and g.chance(0.7):
        flat = Value(g.fresh(), "i64", [symbol], 0, 4 * ELEMENTS)
        g.ops.append(Op("reshape", [places], [flat], lambda c: f"{c.r[0]} = vx.reshape {c.o[0]} : {c.t[0]} -> {c.rt[0]}"))
        picked = Value(g.fresh(), x.dtype, [symbol], x.low, x.high, x.exact, x.special)
        g.ops.append(Op("gather", [x, flat], [picked], lambda c: f"{c.r[0]} = vx.gather {c.o[0]}, {c.o[1]} axis = 0 : {c.t[0]}, {c.t[1]}"))
        g.values += [flat, picked]
    return places


# Control.

def fitting(g, dtype, dims, low, high):
    """A value made of what is there, of this type and shape, in this range, exact."""
    suited = [v for v in g.values if plain(v) and v.exact and v.dtype == dtype]
    if not suited:
        return False
    value = suited[-1] if g.chance(0.6) else g.pick(suited)
    if value.dims != dims:
        kind = "or" if dtype == "i1" else "max"
        if value.dims:
            empty = g.least(value.dims) == 0
            axes = list(range(len(value.dims)))
            value = g.emit("reduce", [value], dtype, [], lambda c: f"{c.r[0]} = vx.reduce {kind} {c.o[0]} axes = {axes} : {c.t[0]}", value.low, value.high)
            if not value or empty and dtype in FLOATS:
                value.special = True
        if value and dims:
            value = g.emit("broadcast", [value], dtype, dims, lambda c: f"{c.r[0]} = vx.broadcast {c.o[0]}, [] : {c.t[0]} -> {c.rt[0]}", value.low, value.high)
    if not value or dtype == "i1":
        return value
    return g.clamped(value, low, high)


def carried(g, **options):
    return g.find(lambda v: plain(v) and v.exact and g.known(v) and v.dtype in ("f32", "i32", "i64", "f64") and v.magnitude <= 1000, 0.6,
                  dtype=g.pick(("f32", "f32", "i32", "i64")), exact=True, dims=g.dims(most=300), low=-4, high=4, constant=False)


@generates("if", "yield", weight=1.5)
def branches(g):
    model = carried(g)
    dtype, dims = model.dtype, model.dims
    if g.chance(0.5):
        condition = g.find(lambda v: v.dtype == "i1" and not v.dims, dtype="i1", dims=[], constant=False)
    else:
        x = carried(g)
        axes = list(range(len(x.dims)))
        total = g.emit("reduce", [x], x.dtype, [], lambda c: f"{c.r[0]} = vx.reduce sum {c.o[0]} axes = {axes} : {c.t[0]}", -1e9, 1e9) if x.dims else x
        zero = g.constant(x.dtype, 0)
        condition = total and g.emit("compare", [total, zero], "i1", [], pair(f"compare {g.pick(('lt', 'gt', 'ne'))}"), 0, 1)
    if not condition:
        return False
    regions, most = [], 1000

    def body():
        for _ in range(g.random.randint(0, 3)):
            g.step()
        if g.chance(0.3):
            shared(g)
        return fitting(g, dtype, dims, -most, most)

    for _ in range(2):
        ops, value = g.region([], body)
        if not value:
            return False
        regions.append(Region([], ops, [value]))
    text = lambda c: (f"{c.r[0]} = vx.if {c.o[0]} -> {c.rt[0]} {{\n" + c.region(regions[0]) + f"\n  vx.yield {c.name(regions[0].yields[0])} : {c.rt[0]}\n}} else {{\n" +
                      c.region(regions[1]) + f"\n  vx.yield {c.name(regions[1].yields[0])} : {c.rt[0]}\n}}")
    return g.emit("if", [condition], dtype, dims, text, -most, most, regions=regions)


@generates("loop", "yield", weight=1.5)
def loop(g):
    inits = [carried(g) for _ in range(g.pick((1, 1, 2, 3)))]
    trips = g.find(lambda v: v.dtype == "i64" and not v.dims and 0 <= v.low and v.high <= 5, dtype="i64", dims=[], low=0, high=4)
    if trips is None or any(value is None for value in inits):
        return False
    most = 1000
    name = f"data{g.seed}_i{g.counter}"
    g.header.append(f'vx.symbol data_dependent "{name}"')
    arguments = [Value(g.fresh(), value.dtype, value.dims, -most, most) for value in inits]
    stop = g.chance(0.5)

    def body():
        if g.chance(0.5):
            number = Value(g.fresh(), "i64", [], 0, 10)
            g.ops.append(Op("dim_value", [], [number], lambda c: f"{c.r[0]} = vx.dim_value <{name}>"))
            g.values.append(number)
        for _ in range(g.random.randint(1, 4)):
            g.step()
        if g.chance(0.3):
            shared(g)
        if stop:
            going = g.chance(0.3) and fitting(g, "i1", [], 0, 1)
            if not going:  # by the number of the round
                number = Value(g.fresh(), "i64", [], 0, 10)
                g.ops.append(Op("dim_value", [], [number], lambda c: f"{c.r[0]} = vx.dim_value <{name}>"))
                going = g.emit("compare", [number, g.constant("i64", g.pick((0, 1, 2)))], "i1", [], pair("compare lt"), 0, 1)
            if g.chance(0.7) and arguments[0].dtype != "i1":  # each round has another value
                one = g.splat(arguments[0].dtype, arguments[0].dims, 1)
                if one:
                    g.emit("add", [arguments[0], one], one.dtype, one.dims, pair("add"), -most + 1, most + 1)
        else:
            going = Value(g.fresh(), "i1", [], 0, 1)
            g.ops.append(Op("constant", [], [going], lambda c: f"{c.r[0]} = vx.constant dense<true> : tensor<i1>"))
        nexts = [fitting(g, value.dtype, value.dims, -most, most) for value in arguments]
        if not going or any(not value for value in nexts):
            return False
        if len(nexts) > 1 and g.chance(0.3):
            # Values that only change places.
            for i, value in enumerate(arguments):
                for j, other in enumerate(arguments):
                    if i != j and (value.dtype, value.dims) == (other.dtype, other.dims):
                        nexts[i] = other
        return [going, *nexts]

    ops, yields = g.region(arguments, body)
    if not yields:
        return False
    region = Region(arguments, ops, yields)
    results = [Value(g.fresh(), value.dtype, value.dims, -most, most) for value in inits]

    def text(c):
        kinds = ", ".join(c.rt)
        block = ", ".join(f"{c.name(a)}: {c.type(a)}" for a in arguments)
        values = ", ".join(c.name(v) for v in region.yields)
        return (f"{', '.join(c.r)} = vx.loop \"{name}\" trip_count({c.o[0]}) inits({', '.join(c.o[1:])} : {', '.join(c.t[1:])}) -> {kinds} {{\n^bb0({block}):\n" +
                c.region(region) + f"\n  vx.yield {values} : {', '.join(c.type(v) for v in region.yields)}\n}}")

    g.ops.append(Op("loop", [trips, *inits], results, text, regions=[region]))
    g.values += results
    return results[0]


@generates("sequence_construct", "sequence_at", "sequence_insert", "sequence_erase", "sequence_length", "optional", "optional_value", weight=0.8)
def sequences(g):
    x = carried(g)
    others = [g.like(x, plain, low=-4, high=4, exact=True) for _ in range(g.random.randint(0, 2))]
    if any(value is None or not value.exact for value in others):
        return False
    items = [x, *others]
    kind = lambda c, value: f"!vx.sequence<{c.type(value)}>"
    count, steps = len(items), []
    for _ in range(g.random.randint(0, 3)):
        move = g.pick(("insert", "erase", "append", "last"))
        if move in ("erase", "last") and count < 2:
            continue
        low, high = (-count, count) if move == "insert" else (-count, count - 1)
        position = g.input("i64", [], low, high) if move in ("insert", "erase") else None
        steps.append((move, position, g.pick(items)))
        count += 1 if move in ("insert", "append") else -1
    position = g.input("i64", [], -count, count - 1)
    operands = [*items, position, *[p for _, p, _ in steps if p is not None]]
    result, length = Value(g.fresh(), x.dtype, x.dims, min(v.low for v in items), max(v.high for v in items)), Value(g.fresh(), "i64", [], 0, 10)
    tag, is_optional = g.counter, g.chance(0.3)

    def text(c):
        whole = f"!vx.sequence<{c.type(x)}>"
        current = f"%{c.prefix}s{tag}_0"
        lines = [f"{current} = vx.sequence_construct {', '.join(c.name(v) for v in items)} : ({', '.join(c.type(v) for v in items)}) -> {whole}"]
        for index, (move, place, item) in enumerate(steps):
            after = f"%{c.prefix}s{tag}_{index + 1}"
            at = f" at {c.name(place)}" if place is not None else ""
            if move in ("insert", "append"):
                lines.append(f"{after} = vx.sequence_insert {current}, {c.name(item)}{at} : {whole}, {c.type(item)} -> {whole}")
            else:
                lines.append(f"{after} = vx.sequence_erase {current}{at} : {whole}")
            current = after
        if is_optional:
            optional, held = f"%{c.prefix}s{tag}_optional", f"%{c.prefix}s{tag}_held"
            lines.append(f"{optional} = vx.optional {current} : {whole} -> !vx.optional<{whole}>")
            lines.append(f"{held} = vx.optional_value {optional} : !vx.optional<{whole}> -> {whole}")
            current = held
        lines.append(f"{c.r[1]} = vx.sequence_length {current} : {whole}")
        lines.append(f"{c.r[0]} = vx.sequence_at {current}, {c.name(position)} : {whole} -> {c.rt[0]}")
        return "\n".join(lines)

    g.ops.append(Op("sequence", operands, [result, length], text))
    g.values += [result, length]
    return result


@generates("variable", "variable_load", "variable_store", weight=1)
def variables(g):
    """Loads before and after a store: what is stored must not be seen before."""
    x = g.find(lambda v: plain(v) and v.exact and v.dtype in ("f32", "i32", "i64") and not any(isinstance(d, str) for d in v.dims), 0.7,
               dtype=g.pick(("f32", "i32")), exact=True, dims=[d for d in g.dims(most=300) if not isinstance(d, str)], low=-4, high=4)
    if x is None or any(isinstance(d, str) for d in x.dims) or any(op.kind == "variable" for op in g.ops):
        return False
    state = f"@state{g.seed}_{g.counter}"
    kind = x.type({})
    start = g.pick((0, 3))
    number = f"{float(start):e}" if x.is_float else start
    g.header.append(f"vx.variable {state} : {kind}" + (f" = dense<{number}> : {kind}" if start and 0 not in x.dims else ""))
    old, new = Value(g.fresh(), x.dtype, x.dims, min(0, start), max(0, start)), Value(g.fresh(), x.dtype, x.dims, x.low, x.high)
    op = g.pick(("max", "min")) if g.chance(0.6) else None  # of what was there and what comes
    if op:
        new.low, new.high = min(x.low, old.low), max(x.high, old.high)

    def text(c):
        stored, update, name = c.o[0], "", state.replace("@", f"@{c.copy}")
        if op:
            stored, update = f"{c.r[1]}_stored", f"{c.r[1]}_stored = vx.{op} {c.r[0]}, {c.o[0]} : {c.t[0]}, {c.t[0]}\n"
        return (f"{c.r[0]} = vx.variable_load {name} : {c.rt[0]}\n{update}vx.variable_store {stored}, {name} : {c.t[0]}\n"
                f"{c.r[1]} = vx.variable_load {name} : {c.rt[1]}")

    g.ops.append(Op("variable", [x], [old, new], text))
    g.values += [old, new]
    return new


def covered_ops():
    """The ops that the generators make."""
    return {name for _, names, _ in GENERATORS.values() for name in names} | {"constant", "symbol"}


def generate(seed, **options):
    for attempt in range(20):
        program = Generator(seed + attempt * 1000003, **options).program()
        if program is not None:
            program.seed_given = seed
            return program
    raise SystemExit(f"no program comes from seed {seed}")
