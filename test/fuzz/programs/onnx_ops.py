"""Random ONNX models, written for ONNX Runtime and for vx at once; the ranges and the bookkeeping are those of vx_ops.py."""
import copy
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from program import ACCUMULATOR, EPSILON, FLOATS, Input, Op, Region, Value, plus, shape_of
from vx_ops import SIZES, Generator, limits, window_size

OPSET = 18
REDUCTIONS = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceSumSquare")
LISTS = {"Reshape": (1,), "Expand": (1,), "Slice": (1, 2, 3, 4), "Squeeze": (1,), "Unsqueeze": (1,), **dict.fromkeys(REDUCTIONS, (1,))}  # operands that may be known at run time only
KNOWN = {**LISTS, "Conv": (1,), "ConvTranspose": (1,)}  # operands whose sizes the model says
GENERATORS = {}
ONNX_TYPE = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "f64": TensorProto.DOUBLE, "i1": TensorProto.BOOL, "i32": TensorProto.INT32,
             "i64": TensorProto.INT64, "i8": TensorProto.INT8, "ui8": TensorProto.UINT8}


def generates(*names, weight=1.0):
    def register(function):
        GENERATORS[function.__name__] = (function, names, weight)
        return function

    return register


def operands_at(op, places):
    """The operands of `op` at its kind's `places`, those that it has."""
    return [op.operands[place] for place in places.get(op.kind, ()) if place < len(op.operands)]


class OnnxGenerator(Generator):
    MANY_SYMBOLS = 0  # a matter of planning, which is the same for all frontends

    def __init__(self, seed, **options):
        super().__init__(seed, **options)

    def program(self):
        program = super().program()
        if program is not None and self.chance(0.5):
            # The sizes of a filter and the length of a list are known, so those of what they are made of are, too.
            known = sources(program, [value for op in program.all_ops() for value in operands_at(op, KNOWN)])
            for value in program.inputs:
                if value.constant or value.binds or id(value) in known:
                    continue
                for axis in range(len(value.dims)):
                    if self.chance(0.4):
                        value.own_symbols[axis] = f"{value.name}d{axis}s{self.seed}"
        return program

    def dtype(self):
        return self.pick(("f32",) * 8 + ("i64", "i64", "i32", "i1"))

    def node(self, kind, operands, dtype, dims, low, high, exact=True, special=False, inner=0, outer=0, **attributes):
        """`operands` are values; arrays among them become initializers."""
        values = []
        for operand in operands:
            if isinstance(operand, np.ndarray):
                name = {"float32": "f32", "int64": "i64", "float16": "f16", "bool": "i1", "int32": "i32", "int8": "i8", "uint8": "ui8"}[operand.dtype.name]
                value = Input(self.fresh(), name, operand.shape, float(operand.min()) if operand.size else 0, float(operand.max()) if operand.size else 0,
                              make=lambda random, shape, array=operand: array, constant=True, fixed=True)
                self.inputs.append(value)
                operand = value
            values.append(operand)
        for place in LISTS.get(kind, ()):
            if place < len(values) and values[place].fixed and self.chance(0.3):
                values[place].constant = values[place].fixed = False
        result = self.emit(kind, values, dtype, dims, attributes, low, high, exact, special, inner, outer)
        return result

    def step(self):
        names = list(GENERATORS)
        weights = [GENERATORS[name][2] * (6 if set(GENERATORS[name][1]) & set(self.focus) else 1) for name in names]
        if self.depth > 1:
            weights = [0 if name in ("branches", "loop") else weight for name, weight in zip(names, weights)]
        for _ in range(20):
            before = len(self.ops), len(self.values), len(self.inputs)
            if GENERATORS[self.random.choices(names, weights)[0]][0](self) is not False:
                return True
            del self.ops[before[0]:], self.values[before[1]:], self.inputs[before[2]:]
        return False


def sources(program, values):
    """The ids of `values` and of all that they are computed from."""
    made = {}
    for op in program.all_ops():
        for value in op.results:
            made[id(value)] = op.reads()
        for region in op.regions:
            for value in region.arguments:
                made[id(value)] = [*op.operands, *region.yields]
    found, left = set(), list(values)
    while left:
        value = left.pop()
        if id(value) not in found:
            found.add(id(value))
            left += made.get(id(value), [])
    return found


def live(ops, needed):
    """Copies of `ops` without those whose results nothing needs, in regions as well; `needed` has the ids of what is, and gets those that they read."""
    kept = []
    for op in reversed(ops):
        if not any(id(value) in needed for value in op.results):
            continue
        op = copy.copy(op)
        op.regions = [live_region(op, region, needed) for region in op.regions]
        kept.append(op)
        needed |= {id(value) for value in op.reads()}
    return kept[::-1]


def live_region(op, region, needed):
    """What a loop carries and nobody reads stays as it is."""
    first = len(region.yields) - len(op.results)
    carried = region.arguments[len(region.arguments) - len(op.results):] if op.kind == "Loop" else [None] * len(op.results)
    yields = [region.yields[first + place] if argument is None or id(result) in needed else argument
              for place, (argument, result) in enumerate(zip(carried, op.results))]
    while True:
        wanted = {id(value) for value in (*region.yields[:first], *yields)}
        ops = live(region.ops, wanted)
        more = [region.yields[first + place] if id(argument) in wanted else value for place, (argument, value) in enumerate(zip(carried, yields))
                ] if op.kind == "Loop" else yields
        if more == yields:
            return Region(region.arguments, ops, [*region.yields[:first], *yields])
        yields = more


def number(*values):
    return np.array(values, np.int64)


def plain(value):
    return not value.special


def real(value):
    return value.dtype == "f32" and not value.special


# A dimension of one operand may be 1, or be left away in front.
def broadcast_pair(g, x, want=lambda value: True, **options):
    if g.chance(0.4):
        return g.like(x, want, **options), x.dims
    dims = [1 if g.chance(0.4) else dim for dim in x.dims][g.random.randint(0, len(x.dims)) if g.chance(0.4) else 0:]
    y = g.find(lambda v: v.dtype == x.dtype and v.dims == dims and want(v), 0.5, dtype=x.dtype, dims=dims, **options)
    return y, x.dims


@generates("Add", "Sub", "Mul", weight=3)
def arithmetic(g):
    op = g.pick(("Add", "Sub", "Mul"))
    x = g.find(lambda v: v.dtype != "i1" and plain(v))
    y, dims = broadcast_pair(g, x, plain)
    if y is None:
        return False
    a, b = (x, y) if g.chance(0.5) else (y, x)
    if op == "Mul":
        ends = [p * q for p in (a.low, a.high) for q in (b.low, b.high)]
        low, high = min(ends), max(ends)
    else:
        low, high = (a.low + b.low, a.high + b.high) if op == "Add" else (a.low - b.high, a.high - b.low)
    return g.node(op, [a, b], x.dtype, dims, low, high, a.exact and b.exact, inner=1, outer=2)


@generates("Div")
def quotient(g):
    x = g.find(real)
    y, dims = broadcast_pair(g, x, lambda v: plain(v) and v.low >= 0.5, low=1, high=4)
    return y is not None and g.node("Div", [x, y], x.dtype, dims, -x.magnitude / y.low, x.magnitude / y.low, False, outer=4)


@generates("Max", "Min")
def extremes(g):
    op = g.pick(("Max", "Min"))
    x = g.find(real)
    y, dims = broadcast_pair(g, x, plain)
    return y is not None and g.node(op, [x, y], "f32", dims, min(x.low, y.low), max(x.high, y.high), x.exact and y.exact)


@generates("Relu", "Neg", "Abs", "Identity", "LeakyRelu", "HardSigmoid", "Clip", weight=2)
def simple(g):
    x = g.find(real)
    op = g.pick(("Relu", "Neg", "Abs", "Identity", "Clip", "LeakyRelu", "HardSigmoid"))
    m = x.magnitude
    if op == "Clip":
        return g.node(op, [x, np.array(-2, np.float32), np.array(3, np.float32)], "f32", x.dims, -2, 3, x.exact)
    if op == "LeakyRelu":
        return g.node(op, [x], "f32", x.dims, -m, m, False, outer=3, alpha=0.1)
    if op == "HardSigmoid":
        return g.node(op, [x], "f32", x.dims, 0, 1, False, inner=2, outer=8, alpha=0.25, beta=0.5)
    return g.node(op, [x], "f32", x.dims, 0 if op in ("Relu", "Abs") else -m, m, x.exact)


@generates("Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Sqrt", "Gelu", "HardSwish", "Elu", weight=1.5)
def smooth(g):
    op = g.pick(("Sigmoid", "Tanh", "Exp", "Erf", "Softplus", "Elu", "HardSwish"))
    x = g.find(lambda v: real(v) and v.magnitude <= 8)
    if x.magnitude > 8:
        return False
    # ONNX Runtime's own error is of several units.
    return g.node(op, [x], "f32", x.dims, -x.magnitude - 1, math.exp(x.high) + 1, False, inner=4, outer=16)


@generates("Conv", weight=5)
def convolution(g):
    spatial = g.pick((1, 2, 2, 2, 3))
    groups = g.pick((1, 1, 1, 2, 3))
    channels = groups * g.pick((1, 1, 2, 3, 5))
    x = g.find(lambda v: real(v) and len(v.dims) == spatial + 2 and v.dims[1] in SIZES[1:11] and min(map(min, map(g.sizes, v.dims))) > 0, 0.5, dtype="f32",
               dims=[g.pick((1, 2, 3)), channels] + [g.dim(33, 0) for _ in range(spatial)], constant=False)
    if x is None or min(map(min, map(g.sizes, x.dims))) < 1:
        return False
    channels = x.dims[1]
    groups = channels if g.chance(0.15) else groups if channels % groups == 0 else 1
    filters = groups * g.pick((1, 1, 2, 3, 4))
    kernel, strides, dilations, low, high, out = [], [], [], [], [], []
    for dim in x.dims[2:]:
        k, s, d, a, b = g.pick((1, 2, 3, 3, 5)), g.pick((1, 1, 2, 3)), g.pick((1, 1, 1, 2)), g.pick((0, 0, 1, 1, 2)), g.pick((0, 0, 1, 1, 2))
        if min(g.sizes(dim)) + a + b < (k - 1) * d + 1:
            k = d = 1
        for list_, item in zip((kernel, strides, dilations, low, high), (k, s, d, a, b)):
            list_.append(item)
        out.append(window_size(g, dim, k, s, d, a, b))
    w = g.find(lambda v: real(v) and v.dims == [filters, channels // groups, *kernel], dtype="f32", dims=[filters, channels // groups, *kernel])
    if w is None:
        return False
    operands, terms, most = [x, w], channels // groups * math.prod(kernel), x.magnitude * w.magnitude
    exact = x.exact and w.exact
    if g.chance(0.5):
        bias = g.input("f32", [filters], exact=True)
        operands.append(bias)
        most += bias.magnitude
    if g.count([x.dims[0], filters, *out]) * terms > 400000:
        return False
    return g.node("Conv", operands, "f32", [x.dims[0], filters, *out], -terms * most, terms * most, exact, inner=terms + 2, outer=2, kernel_shape=kernel,
                  strides=strides, dilations=dilations, pads=low + high, group=groups)


@generates("ConvTranspose", weight=1.5)
def transposed_convolution(g):
    spatial, groups = g.pick((1, 2, 2)), g.pick((1, 1, 2))
    channels, filters = groups * g.pick((1, 2, 3)), g.pick((1, 2, 3))
    x = g.input("f32", [g.pick((1, 2)), channels] + [g.dim(17, 0) for _ in range(spatial)], constant=False)
    if min(map(min, map(g.sizes, x.dims))) < 1:
        return False
    kernel, strides, dilations, low, high, extra, out = [], [], [], [], [], [], []
    for dim in x.dims[2:]:
        k, s, d = g.pick((1, 2, 3, 4)), g.pick((1, 2, 3)), g.pick((1, 1, 2))
        whole = (k - 1) * d + 1
        a, b = min(g.pick((0, 0, 1)), (whole - 1) // 2), min(g.pick((0, 0, 1)), (whole - 1) // 2)
        o = g.pick((0, 0, 1)) if s > 1 else 0
        for list_, item in zip((kernel, strides, dilations, low, high, extra), (k, s, d, a, b, o)):
            list_.append(item)
        out.append(f"({dim} - 1) * {s} + {o + whole - a - b}" if isinstance(dim, str) else (dim - 1) * s + o + whole - a - b)
    w = g.input("f32", [channels, filters, *kernel])
    if any(min(g.sizes(dim)) < 1 for dim in out):
        return False
    terms = channels // groups * math.prod(kernel)
    most = terms * x.magnitude * w.magnitude
    return g.node("ConvTranspose", [x, w], "f32", [x.dims[0], filters * groups, *out], -most, most, x.exact and w.exact, inner=terms + 2, outer=2,
                  kernel_shape=kernel, strides=strides, dilations=dilations, pads=low + high, output_padding=extra, group=groups)


@generates("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", weight=3)
def pool(g):
    spatial = g.pick((1, 2, 2, 2, 3))
    x = g.find(lambda v: real(v) and len(v.dims) == spatial + 2 and min(map(min, map(g.sizes, v.dims))) > 0, 0.6, dtype="f32",
               dims=[g.pick((1, 2)), g.pick((1, 3, 5))] + [g.dim(33, 0) for _ in range(spatial)])
    if x is None or min(map(min, map(g.sizes, x.dims))) < 1:
        return False
    if g.chance(0.25):
        op = g.pick(("GlobalAveragePool", "GlobalMaxPool"))
        terms = g.count(x.dims[2:])
        return g.node(op, [x], "f32", x.dims[:2] + [1] * spatial, x.low, x.high, x.exact and op == "GlobalMaxPool", inner=terms + 2, outer=4)
    op = g.pick(("MaxPool", "AveragePool"))
    kernel, strides, low, high, out = [], [], [], [], []
    for dim in x.dims[2:]:
        k, s = g.pick((2, 3, 3, 5)), g.pick((1, 2, 3))
        a, b = g.random.randint(0, k - 1) // 2, g.random.randint(0, k - 1) // 2
        if min(g.sizes(dim)) + a + b < k:
            k, a, b = 1, 0, 0
        for list_, item in zip((kernel, strides, low, high), (k, s, a, b)):
            list_.append(item)
        out.append(window_size(g, dim, k, s, 1, a, b))
    attributes = dict(kernel_shape=kernel, strides=strides, pads=low + high)
    if op == "AveragePool":
        attributes["count_include_pad"] = g.pick((0, 1))
    terms = math.prod(kernel)
    return g.node(op, [x], "f32", x.dims[:2] + out, min(x.low, 0), max(x.high, 0), x.exact and op == "MaxPool", inner=terms + 2, outer=4, **attributes)


@generates("MatMul", weight=3)
def matmul(g):
    x = g.find(lambda v: real(v) and len(v.dims) >= 2, dtype="f32", dims=g.dims(g.pick((2, 2, 3, 4)), 3000))
    if x is None:
        return False
    # ONNX Runtime repeats nothing 0 times here.
    batch = [1 if min(g.sizes(dim)) > 0 and g.chance(0.3) else dim for dim in x.dims[:-2]][g.random.randint(0, max(0, len(x.dims) - 2)):]
    if g.least(x.dims[:-2]) == 0:
        batch = x.dims[:-2]
    dims = batch + [x.dims[-1], g.dim(33)]
    y = g.find(lambda v: real(v) and v.dims == dims, dtype="f32", dims=dims)
    terms = g.count([x.dims[-1]])
    if y is None or g.count(x.dims) * g.count([dims[-1]]) > 400000:
        return False
    most = terms * x.magnitude * y.magnitude
    return g.node("MatMul", [x, y], "f32", x.dims[:-1] + [dims[-1]], -most, most, x.exact and y.exact, inner=terms + 2, outer=2)


@generates("Gemm", weight=2)
def gemm(g):
    rows, columns, inner = g.dim(33), g.dim(33), g.dim(129)
    ta, tb = g.pick((0, 1)), g.pick((0, 1))
    a, b = g.input("f32", [inner, rows] if ta else [rows, inner]), g.input("f32", [columns, inner] if tb else [inner, columns])
    operands, terms = [a, b], g.count([inner])
    most = 2 * (terms * a.magnitude * b.magnitude + 4)
    beta = float(g.pick((1, 2))) if min(g.sizes(inner)) > 0 else 1.0  # of an empty sum ONNX Runtime forgets beta
    if g.chance(0.7):
        operands.append(g.input("f32", g.pick(([columns], [1, columns], [rows, columns], [rows, 1], [])), -4, 4, exact=True))
    return g.node("Gemm", operands, "f32", [rows, columns], -most, most, a.exact and b.exact, inner=terms + 2, outer=2, transA=ta, transB=tb,
                  alpha=float(g.pick((1, 2))), beta=beta)


@generates("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceSumSquare", weight=3)
def reduction(g):
    x = g.find(lambda v: real(v) and v.dims and g.least(v.dims) > 0)
    if x is None or g.least(x.dims) == 0:
        return False
    op = g.pick(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceSumSquare"))
    axes = sorted(g.random.sample(range(len(x.dims)), g.random.randint(1, len(x.dims))))
    keep = g.pick((0, 1))
    dims = [1 if d in axes else dim for d, dim in enumerate(x.dims) if keep or d not in axes]
    terms = g.count([x.dims[d] for d in axes])
    most = x.magnitude * (1 if op in ("ReduceMax", "ReduceMin", "ReduceMean") else terms) * (x.magnitude if op == "ReduceSumSquare" else 1)
    given = [axis - len(x.dims) if g.chance(0.3) else axis for axis in axes]
    if op in ("ReduceSum",):
        return g.node(op, [x, number(*given)], "f32", dims, -most, most, x.exact, inner=terms + 2, outer=2, keepdims=keep)
    exact = x.exact and op != "ReduceMean"
    return g.node(op, [x, number(*given)], "f32", dims, -most, most, exact, inner=0 if op in ("ReduceMax", "ReduceMin") else terms + 2, outer=0 if op in ("ReduceMax", "ReduceMin") else 4, keepdims=keep)


@generates("ArgMax", "ArgMin")
def arg_extreme(g):
    x = g.find(lambda v: real(v) and v.exact and v.dims and g.least(v.dims) > 0, exact=True)
    if x is None or g.least(x.dims) == 0 or not x.dims:
        return False
    axis, keep = g.random.randrange(len(x.dims)), g.pick((0, 1))
    dims = [1 if d == axis else dim for d, dim in enumerate(x.dims) if keep or d != axis]
    return g.node(g.pick(("ArgMax", "ArgMin")), [x], "i64", dims, 0, g.count([x.dims[axis]]) - 1, axis=axis, keepdims=keep, select_last_index=g.pick((0, 1)))


@generates("Softmax", "LogSoftmax")
def softmax(g):
    if g.chance(0.3):  # beyond what an exponential holds
        x = g.input("f32", g.dims(g.random.randint(1, 4)), -400, 400, exact=True)
    else:
        x = g.find(lambda v: real(v) and v.dims and v.magnitude < 20)
    if x is None or not x.dims:
        return False
    axis = g.random.randrange(len(x.dims))
    terms, op = g.count([x.dims[axis]]), g.pick(("Softmax", "LogSoftmax"))
    result = g.node(op, [x], "f32", x.dims, -2 * x.magnitude - 20 if op == "LogSoftmax" else 0, 1, False, inner=8, outer=terms + 16, axis=axis)
    if result and op == "LogSoftmax":
        g.ops[-1].absolute = True  # the logarithm of a sum near 1
    return result


@generates("LayerNormalization", "BatchNormalization", "InstanceNormalization", weight=1.5)
def norm(g):
    op = g.pick(("LayerNormalization", "BatchNormalization", "InstanceNormalization"))
    if op == "LayerNormalization":
        x = g.find(lambda v: real(v) and v.dims and g.least(v.dims) > 0 and v.magnitude < 1000)
        if x is None or not x.dims or g.least(x.dims) == 0:
            return False
        axis = g.random.randrange(len(x.dims))
        scale, bias = g.input("f32", x.dims[axis:]), g.input("f32", x.dims[axis:])
        terms = g.count(x.dims[axis:])
        most = 4 * math.sqrt(terms) + 4
        return g.node(op, [x, scale, bias], "f32", x.dims, -most, most, False, inner=terms + 8, outer=terms / 2 + 8, axis=axis, epsilon=0.1)
    x = g.find(lambda v: real(v) and len(v.dims) >= 3 and g.least(v.dims) > 0 and isinstance(v.dims[1], int) and v.magnitude < 1000, dtype="f32",
               dims=[g.pick((1, 2)), g.pick((1, 3, 5)), *g.dims(2, 200)])
    if x is None or g.least(x.dims) == 0:
        return False
    scale, bias = g.input("f32", [x.dims[1]]), g.input("f32", [x.dims[1]])
    terms = g.count(x.dims[2:])
    if op == "InstanceNormalization":
        most = 4 * math.sqrt(terms) + 4
        return g.node(op, [x, scale, bias], "f32", x.dims, -most, most, False, inner=terms + 8, outer=terms / 2 + 8, epsilon=0.1)
    mean, variance = g.input("f32", [x.dims[1]]), g.input("f32", [x.dims[1]], 1, 4)
    most = (x.magnitude + mean.magnitude) * scale.magnitude + bias.magnitude
    return g.node(op, [x, scale, bias, mean, variance], "f32", x.dims, -most, most, False, inner=6, outer=8, epsilon=0.01)


@generates("Transpose", weight=1.5)
def transposed(g):
    x = g.find(lambda v: len(v.dims) > 1)
    if x is None:
        return False
    order = list(range(len(x.dims)))
    g.random.shuffle(order)
    return g.node("Transpose", [x], x.dtype, [x.dims[d] for d in order], x.low, x.high, x.exact, perm=order)


@generates("Reshape", "Flatten", "Squeeze", "Unsqueeze", weight=2)
def reshaped(g):
    op = g.pick(("Reshape", "Flatten", "Squeeze", "Unsqueeze"))
    x = g.find(lambda v: v.dims and g.least(v.dims) > 0)
    if x is None or not x.dims or g.least(x.dims) == 0:
        return False
    join = lambda dims: dims[0] if len(dims) == 1 else math.prod(dims) if all(isinstance(d, int) for d in dims) else " * ".join(f"({d})" for d in dims) if dims else 1
    if op == "Unsqueeze":
        if len(x.dims) > 5:
            return False
        at = g.random.randint(0, len(x.dims))
        return g.node(op, [x, number(at)], x.dtype, x.dims[:at] + [1] + x.dims[at:], x.low, x.high, x.exact)
    if op == "Squeeze":
        places = [d for d, dim in enumerate(x.dims) if dim == 1]
        if not places:
            return False
        at = g.pick(places)
        return g.node(op, [x, number(at - len(x.dims) if g.chance(0.5) else at)], x.dtype, x.dims[:at] + x.dims[at + 1:], x.low, x.high, x.exact)
    at = g.random.randint(0, len(x.dims))
    before, after = join(x.dims[:at]) if at else 1, join(x.dims[at:]) if at < len(x.dims) else 1
    if op == "Flatten":
        return g.node(op, [x], x.dtype, [before, after], x.low, x.high, x.exact, axis=at)
    if at == 0 or at == len(x.dims):
        whole = join(x.dims)
        return g.node(op, [x, number(-1 if isinstance(whole, str) or g.chance(0.5) else whole)], x.dtype, [whole], x.low, x.high, x.exact)
    # 0 keeps a dimension.
    kept = [0 if isinstance(dim, str) or g.chance(0.5) else dim for dim in x.dims[:at]]
    return g.node(op, [x, number(*kept, -1 if isinstance(after, str) or g.chance(0.5) else after)], x.dtype, x.dims[:at] + [after], x.low, x.high, x.exact)


@generates("Concat", weight=1.5)
def joined(g):
    x = g.find(lambda v: v.dims)
    if x is None:
        return False
    axis, parts = g.random.randrange(len(x.dims)), [x]
    for _ in range(g.random.randint(1, 2)):
        dims = list(x.dims)
        dims[axis] = g.dim(20)
        parts.append(g.find(lambda v: v.dtype == x.dtype and len(v.dims) == len(x.dims) and all(a == b or d == axis for d, (a, b) in enumerate(zip(v.dims, x.dims))),
                            0.6, dtype=x.dtype, dims=dims))
    if None in parts:
        return False
    total = parts[0].dims[axis]
    for part in parts[1:]:
        total = plus(total, part.dims[axis])
    return g.node("Concat", parts, x.dtype, x.dims[:axis] + [total] + x.dims[axis + 1:], min(p.low for p in parts), max(p.high for p in parts),
                  all(p.exact for p in parts), axis=axis)


@generates("Slice", weight=2)
def sliced(g):
    x = g.find(lambda v: v.dims)
    if x is None:
        return False
    axis = g.random.randrange(len(x.dims))
    dim = x.dims[axis]
    if isinstance(dim, str):
        begin, step = 0, g.pick((1, 2, 3, -1))
        if step < 0:
            return g.node("Slice", [x, number(2**40), number(-2**40), number(axis), number(step)], x.dtype, x.dims, x.low, x.high, x.exact)
        begin = g.pick((0, 1))
        if min(g.sizes(dim)) < begin:
            return False
        size = f"ceildiv({dim} - {begin}, {step})"
        return g.node("Slice", [x, number(begin), number(2**62), number(axis), number(step)], x.dtype, x.dims[:axis] + [size] + x.dims[axis + 1:], x.low, x.high, x.exact)
    begin, end, step = g.random.randint(-dim - 2, dim + 2), g.random.randint(-dim - 2, dim + 2), g.pick((1, 1, 2, 3, -1, -2))
    size = len(range(dim)[begin:end:step])
    return g.node("Slice", [x, number(begin), number(end), number(axis), number(step)], x.dtype, x.dims[:axis] + [size] + x.dims[axis + 1:], x.low, x.high, x.exact)


@generates("Pad", weight=1.5)
def padded(g):
    x = g.find(lambda v: real(v) and v.dims and g.count(v.dims) < 2000)
    if x is None or not x.dims:
        return False
    low, high = [], []
    for dim in x.dims:
        least = min(g.sizes(dim))
        low.append(g.random.randint(-min(1, least // 2), 3)), high.append(g.random.randint(-min(1, least // 2), 3))
    operands = [x, number(*low, *high), np.array(2, np.float32)]
    return g.node("Pad", operands, "f32", [plus(dim, a + b) for dim, a, b in zip(x.dims, low, high)], min(x.low, 0), max(x.high, 2), x.exact)


@generates("Gather", weight=1.5)
def gathered(g):
    x = g.find(lambda v: v.dims and any(min(g.sizes(dim)) > 0 for dim in v.dims))
    if x is None or not any(min(g.sizes(dim)) > 0 for dim in x.dims):
        return False
    axis = g.pick([d for d, dim in enumerate(x.dims) if min(g.sizes(dim)) > 0])
    size = min(g.sizes(x.dims[axis]))
    rest = max(1, g.count(x.dims[:axis] + x.dims[axis + 1:]))
    indices = g.input(g.pick(("i32", "i64")), g.dims(g.random.randrange(3), max(1, min(200, 6000 // rest))), -size, size - 1)
    if len(indices.dims) + len(x.dims) > 7:
        return False
    return g.node("Gather", [x, indices], x.dtype, x.dims[:axis] + indices.dims + x.dims[axis + 1:], x.low, x.high, x.exact, axis=axis)


@generates("ScatterND")
def scattered(g):
    """Without a reduction each tuple is another: which of two stays is not said."""
    x = g.find(lambda v: v.dims and v.dtype in ("f32", "i32", "i64") and min(min(g.sizes(dim)) for dim in v.dims) > 0)
    if x is None or not x.dims or x.dtype not in ("f32", "i32", "i64") or min(min(g.sizes(dim)) for dim in x.dims) == 0:
        return False
    members = g.random.randint(1, len(x.dims))
    sizes = [min(g.sizes(dim)) for dim in x.dims[:members]]
    count = g.random.randrange(min(math.prod(sizes), 12) + 1)
    numbers = g.random.sample(range(math.prod(sizes)), count)
    tuples = np.stack(np.unravel_index(np.array(numbers, np.int64), sizes), 1).reshape(count, members).astype(np.int64)
    adds = g.chance(0.4)
    u = g.input(x.dtype, [count] + x.dims[members:], x.low, x.high, exact=x.exact)
    more = {"reduction": "add"} if adds else {}
    low, high = (x.low + u.low, x.high + u.high) if adds else (min(x.low, u.low), max(x.high, u.high))
    return g.node("ScatterND", [x, tuples, u], x.dtype, x.dims, low, high, x.exact and u.exact, **more)


@generates("Expand", "Tile")
def repeated(g):
    if g.chance(0.5):
        x = g.find(lambda v: v.dims and g.count(v.dims) < 1000)
        if x is None or not x.dims:
            return False
        times = [g.pick((1, 1, 2, 3)) for _ in x.dims]
        return g.node("Tile", [x, number(*times)], x.dtype, [f"({dim}) * {n}" if isinstance(dim, str) else dim * n for dim, n in zip(x.dims, times)], x.low, x.high, x.exact)
    dims = [g.dim(20) if g.chance(0.5) else g.pick((2, 3)) for _ in range(g.random.randint(1, 4))]
    if any(isinstance(dim, str) for dim in dims):
        return False
    x = g.input(dims=[1 if g.chance(0.5) else dim for dim in dims][g.random.randint(0, len(dims) - 1):])
    return g.node("Expand", [x, number(*dims)], x.dtype, dims, x.low, x.high, x.exact)


@generates("Where", "Equal", "Less", "Greater", "LessOrEqual", "And", "Not", weight=2)
def logic(g):
    op = g.pick(("Where", "Equal", "Less", "Greater", "LessOrEqual", "Not"))
    if op == "Not":
        x = g.find(lambda v: v.dtype == "i1", dtype="i1")
        return g.node(op, [x], "i1", x.dims, 0, 1)
    if op == "Where":
        x = g.find(lambda v: v.dtype in ("f32", "i64"), dtype="f32")
        y, dims = broadcast_pair(g, x)
        c = g.find(lambda v: v.dtype == "i1" and v.dims == dims, dtype="i1", dims=dims)
        return y is not None and c is not None and g.node(op, [c, x, y], x.dtype, dims, min(x.low, y.low), max(x.high, y.high), x.exact and y.exact)
    x = g.find(lambda v: v.dtype in ("f32", "i64", "i32") and v.exact, dtype="f32", exact=True)
    y, dims = broadcast_pair(g, x, lambda v: v.exact, exact=True)
    return y is not None and g.node(op, [x, y], "i1", dims, 0, 1)


@generates("QuantizeLinear")
def quantized(g):
    x = g.input("f32", special=True, exact=True)
    g.values.remove(x)
    x.is_private = True  # others take it for numbers
    zero = g.pick((np.array(3, np.uint8), np.array(-2, np.int8)))
    return g.node("QuantizeLinear", [x, np.array(g.pick((0.5, 1, 4)), np.float32), zero], "ui8" if zero.dtype == np.uint8 else "i8", x.dims, *((0, 255) if zero.dtype == np.uint8 else (-128, 127)))


@generates("SequenceConstruct", "SequenceErase", "SequenceAt")
def sequences(g):
    """Tensors that may differ in one size, of which one is taken out again."""
    x = g.find(lambda v: v.dims and plain(v), dtype="f32")
    if x is None or not x.dims:
        return False
    axis, items = g.random.randrange(len(x.dims)), [x]
    for _ in range(g.pick((1, 2))):
        dims = list(x.dims)
        dims[axis] = g.dim(20)
        items.append(g.input(x.dtype, dims))
    at = g.random.randrange(len(items))
    chosen = items[at]
    whole = g.node("SequenceConstruct", items, "sequence", [], 0, 0, all(item.exact for item in items))
    g.values.remove(whole)
    whole.items = x.dtype
    if g.chance(0.4):
        gone = g.pick([k for k in range(len(items)) if k != at])
        whole = g.node("SequenceErase", [whole, np.array(gone - len(items) if g.chance(0.3) else gone, np.int64)], "sequence", [], 0, 0, whole.exact)
        g.values.remove(whole)
        whole.items = x.dtype
        del items[gone]
        at -= gone < at
    if whole.exact and not g.depth and g.chance(0.5):
        g.kept.append(whole)  # a result as it is
    taken = g.node("SequenceAt", [whole, np.array(at - len(items) if g.chance(0.3) else at, np.int64)], x.dtype, chosen.dims, chosen.low, chosen.high, chosen.exact)
    # What may have another size fits no other op: a number is made of it.
    if taken and real(taken) and g.least(taken.dims) > 0 and g.chance(0.5):
        g.node("ReduceMax", [taken], "f32", [], taken.low, taken.high, taken.exact, keepdims=0)
    return taken


@generates("Cast")
def conversion(g):
    x = g.find(lambda v: v.exact and v.magnitude < 100)
    if x.magnitude > 100:
        return False
    dtype = g.pick(("f32", "i32", "i64", "f64", "i1"))
    return g.node("Cast", [x], dtype, x.dims, min(0, x.low) if dtype != "i1" else 0, x.high if dtype != "i1" else 1, to=ONNX_TYPE[dtype])


# Control.

def fitting(g, like):
    """An exact value made of what is there, of the type and shape of `like` and in [-1000, 1000]."""
    suited = [v for v in g.values if real(v) and v.exact and (v.dims == like.dims or g.least(v.dims) > 0)]
    if not suited:
        return False
    value = suited[-1] if g.chance(0.6) else g.pick(suited)
    if value.dims != like.dims:
        if value.dims:
            value = g.node("ReduceMax", [value], "f32", [], value.low, value.high, keepdims=0)
        zeros = g.node("Sub", [like, like], "f32", like.dims, 0, 0)
        value = g.node("Add", [zeros, value], "f32", like.dims, value.low, value.high)
    return value and g.node("Clip", [value, np.array(-1000, np.float32), np.array(1000, np.float32)], "f32", like.dims, -1000, 1000)


def carried(g):
    return g.find(lambda v: real(v) and v.exact and v.magnitude <= 1000, 0.6, dtype="f32", exact=True, dims=g.dims(most=300), low=-4, high=4, constant=False)


def truth(g):
    """A scalar of i1."""
    if g.chance(0.4):
        return g.input("i1", [], constant=False)
    x = g.find(lambda v: real(v) and v.exact and g.least(v.dims) > 0, dtype="f32", dims=[3], exact=True, constant=False)
    if x.dims:
        x = g.node("ReduceMax", [x], "f32", [], x.low, x.high, keepdims=0)
    return x and g.node(g.pick(("Less", "Greater")), [x, np.array(1, np.float32)], "i1", [], 0, 1)


@generates("If")
def branches(g):
    like = carried(g)
    condition = like and truth(g)
    if not condition:
        return False

    def body():
        for _ in range(g.random.randint(0, 3)):
            g.step()
        return fitting(g, like)

    regions = []
    for _ in range(2):
        ops, value = g.region([], body)
        if not value:
            return False
        regions.append(Region([], ops, [value]))
    result = g.emit("If", [condition], "f32", like.dims, {}, -1000, 1000, regions=regions)
    return result


@generates("Loop")
def loop(g):
    inits = [carried(g) for _ in range(g.pick((1, 1, 2)))]
    if not all(inits):
        return False
    trips = g.input("i64", [], 0, 4, constant=g.chance(0.3))
    trips.fixed = trips.constant
    arguments = [Value(g.fresh(), "i64", [], 0, 4), Value(g.fresh(), "i1", [], 0, 1), *[Value(g.fresh(), "f32", value.dims, -1000, 1000) for value in inits]]
    stops = g.chance(0.6)

    def body():
        for _ in range(g.random.randint(1, 3)):
            g.step()
        if g.chance(0.6):
            number_ = g.node("Cast", [arguments[0]], "f32", [], 0, 4, to=ONNX_TYPE["f32"])
            if g.chance(0.5):
                g.node("Add", [arguments[2], number_], "f32", arguments[2].dims, -1000, 1004)
        going = truth(g) if stops else g.node("Identity", [arguments[1]], "i1", [], 0, 1)
        if stops and g.chance(0.7):  # each round has another value
            g.node("Add", [arguments[2], np.array(1, np.float32)], "f32", arguments[2].dims, -999, 1001)
        nexts = [fitting(g, value) for value in arguments[2:]]
        return [going, *nexts] if going and all(nexts) else False

    ops, yields = g.region(arguments, body)
    if not yields:
        return False
    results = [Value(g.fresh(), "f32", value.dims, -1000, 1000) for value in inits]
    g.ops.append(Op("Loop", [trips, *inits], results, {}, regions=[Region(arguments, ops, yields)]))
    g.values += results
    return results[0]


def generate(seed, **options):
    for attempt in range(20):
        program = OnnxGenerator(seed + attempt * 1000003, **options).program()
        if program is not None:
            program.seed_given = seed
            return program
    raise SystemExit(f"no model comes from seed {seed}")


class ModelWriter:
    """Writes nodes. `perturbed`: with inputs by which each op's operands and results are a little off."""

    def __init__(self, perturbed):
        self.perturbed, self.deltas, self.counter = perturbed, {}, 0

    def delta(self, value, relative):
        name = f"d{len(self.deltas)}"
        self.deltas[name] = (value.dtype, shape_of(value.dims, self.sizes), relative)
        return name

    def nodes(self, ops):
        made = []
        for op in ops:
            names, results, after = [self.prefix + value.name for value in op.operands], [self.prefix + value.name for value in op.results], []
            if self.perturbed:
                for place, value in enumerate(op.operands):
                    if op.inner and value.dtype in FLOATS:
                        delta = self.delta(value, op.inner * EPSILON[ACCUMULATOR[value.dtype]])
                        made.append(helper.make_node("Mul", [names[place], delta], [f"{delta}_q"]))
                        names[place] = f"{delta}_q"
                if op.outer and op.results[0].dtype in FLOATS:
                    delta = self.delta(op.results[0], op.outer * EPSILON[op.results[0].dtype])
                    steps = [("Mul", delta)]
                    if op.absolute:
                        steps += [(kind, self.delta(op.results[0], op.outer * EPSILON[op.results[0].dtype])) for kind in ("Add", "Sub")]
                    for step, (kind, other) in enumerate(steps):
                        made_ = results[0] if step + 1 == len(steps) else f"{results[0]}_s{step + 1}"
                        after.append(helper.make_node(kind, [f"{results[0]}_s{step}", other], [made_]))
                    results = [results[0] + "_s0"]
            attributes = dict(op.text)
            if op.kind == "If":
                attributes.update(then_branch=self.graph(op.regions[0]), else_branch=self.graph(op.regions[1]))
            elif op.kind == "Loop":
                attributes["body"] = self.graph(op.regions[0])
                names.insert(1, "")
            self.counter += 1
            made.append(helper.make_node(op.kind, names, results, name=f"{self.prefix}n{self.counter}", **attributes))
            made += after
        return made

    def graph(self, region):
        """What it yields goes through Identity: a result may be an argument, or a value from outside."""
        nodes, outputs = self.nodes(region.ops), []
        arguments = [helper.make_tensor_value_info(self.prefix + value.name, ONNX_TYPE[value.dtype], [None] * len(value.dims)) for value in region.arguments]
        for value in region.yields:
            self.counter += 1
            name = f"{self.prefix}y{self.counter}"
            nodes.append(helper.make_node("Identity", [self.prefix + value.name], [name]))
            outputs.append(helper.make_tensor_value_info(name, ONNX_TYPE[value.dtype], [None] * len(value.dims)))
        self.counter += 1
        return helper.make_graph(nodes, f"{self.prefix}g{self.counter}", arguments, outputs)


def model_of(programs, sizes_of, perturbed=False):
    """A model of all programs, and the shapes of the inputs that perturb them."""
    nodes, inputs, outputs, weights, writer = [], [], [], [], ModelWriter(perturbed)
    for index, program in enumerate(programs):
        writer.sizes, writer.prefix = sizes_of(program), f"p{index}_"
        for value in program.inputs:
            if value.constant:
                weights.append(numpy_helper.from_array(np.asarray(value.array(program.seed, {})), writer.prefix + value.name))
            else:
                inputs.append(helper.make_tensor_value_info(writer.prefix + value.name, ONNX_TYPE[value.dtype],
                                                            [value.own_symbols.get(axis, dim) if writer.sizes is None else shape_of([dim], writer.sizes)[0]
                                                             for axis, dim in enumerate(map(symbol, value.dims))]))
        nodes += writer.nodes(program.ops)
        for value in program.results:
            nodes.append(helper.make_node("Identity", [writer.prefix + value.name], [writer.prefix + value.name + "_"]))
            name = writer.prefix + value.name + "_"
            if value.dtype == "sequence":
                outputs.append(helper.make_tensor_sequence_value_info(name, ONNX_TYPE[value.items], None))
            else:
                outputs.append(helper.make_tensor_value_info(name, ONNX_TYPE[value.dtype], [None] * len(value.dims)))
    for delta, (dtype, shape, _) in writer.deltas.items():
        inputs.append(helper.make_tensor_value_info(delta, ONNX_TYPE[dtype], list(shape)))
    graph = helper.make_graph(nodes, "random", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9), writer.deltas


def symbol(dim):
    """Inputs have symbols alone: an expression is a number that is not known."""
    return dim.replace(" ", "") if isinstance(dim, str) else dim
