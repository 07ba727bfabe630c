"""Random ONNX nodes and chains of a few, of the sizes that networks have, for scripts/bench-nodes to time beside a peer.

`draw(seed, number)` gives case `number` of a seed, always the same one. Seven of ten are products, convolutions, pools and quantised forms; the others come from
the remaining ops. Work and memory of a case are bounded (MOST_PRODUCTS, MOST_ELEMENTS), so that a thousand of them are timed in minutes.
"""
import math
import random

import numpy as np
from onnx import TensorProto, helper, numpy_helper

MOST_PRODUCTS, MOST_ELEMENTS = 60_000_000, 1_000_000
OPSET = 21
FORMS = {}  # name: (function, weight)


def form(weight):
    def register(function):
        FORMS[function.__name__] = (function, weight)
        return function
    return register


class Draw:
    """One case while it is made: a graph whose nodes are written in order."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed} {number}")
        self.numbers = np.random.default_rng(self.random.getrandbits(64))
        self.inputs, self.constants, self.nodes, self.words, self.opset, self.domains = {}, {}, [], [], OPSET, set()

    def pick(self, *values):
        return self.random.choice(values)

    def chance(self, odds):
        return self.random.random() < odds

    def size(self, least, most):
        """Large sizes somewhat more often than small ones, by their logarithm; multiples of 8 and odd ones."""
        value = int(round(least * (most / least) ** (self.random.random() ** 0.6)))
        return max(least, value // 8 * 8) if value >= 16 and self.chance(0.6) else value

    def sizes(self, rank, most=MOST_ELEMENTS, least=1):
        shape = [self.size(least, 256) for _ in range(rank)]
        while math.prod(shape) > most:
            place = shape.index(max(shape))
            shape[place] = max(1, shape[place] // 2)
        return shape

    def normal(self, *shape, dtype=np.float32):
        return self.numbers.standard_normal(shape).astype(dtype)

    def integers(self, low, high, shape, dtype=np.int64):
        """Of low to high - 1."""
        return self.numbers.integers(low, high, shape).astype(dtype)

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.ascontiguousarray(array)
        return name

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def packed(self, values, dtype):
        """A constant of 4 bits."""
        name = f"c{len(self.constants)}"
        self.constants[name] = helper.make_tensor(name, dtype, values.shape, values.reshape(-1).tolist())
        return name

    def either(self, array, odds=0.5):
        return self.constant(array) if self.chance(odds) else self.input(array)

    def node(self, op, operands, outputs=1, domain="", **attributes):
        names = [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, operands, names, name=f"node{len(self.nodes)}", domain=domain, **attributes))
        self.domains.add(domain)
        return names[0] if outputs == 1 else names

    def say(self, *words):
        self.words += [str(word) for word in words]


class Case:
    def __init__(self, seed, number, name, drawn, results):
        self.form, self.ops = name, sorted({node.op_type for node in drawn.nodes})
        self.title = f"{number} {name}: " + " ".join(drawn.words)
        self.inputs, self.results = drawn.inputs, results
        # The first size of the first input is a symbol in a fifth of the cases.
        dynamic = drawn.random.random() < 0.2
        values = []
        for name_, array in drawn.inputs.items():
            shape = [f"{name_}d{axis}" if dynamic and name_ == "x0" and array.dtype == np.float32 and array.ndim > 1 and axis == 0 else size for axis, size in enumerate(array.shape)]
            values.append(helper.make_tensor_value_info(name_, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        if dynamic:
            self.title += " symbolic"
        graph = helper.make_graph(drawn.nodes, "g", values, [helper.make_empty_tensor_value_info(name_) for name_ in results], list(drawn.constants.values()))
        opsets = [helper.make_opsetid("", drawn.opset), *(helper.make_opsetid(domain, 1) for domain in drawn.domains if domain)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=10 if drawn.opset <= 22 else 11)


def draw(seed, number):
    names = list(FORMS)
    choose = random.Random(f"form {seed} {number}")
    name = choose.choices(names, [FORMS[name][1] for name in names])[0]
    drawn = Draw(seed, number)
    results = FORMS[name][0](drawn)
    return Case(seed, number, name, drawn, [results] if isinstance(results, str) else results)


def after(g, value, channels=None, rank=None):
    """The ops after a product in networks: a bias, an activation, both or nothing."""
    if rank and channels and g.chance(0.3):
        shape = [channels] + [1] * (rank - 2)
        value = g.node("Add", [value, g.constant(g.normal(*shape))])
        g.say("bias")
    if g.chance(0.4):
        op = g.pick("Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Gelu", "Clip")
        value = g.node(op, [value, g.constant(np.float32(0)), g.constant(np.float32(6))] if op == "Clip" else [value])
        g.say(op)
    return value


# Products.

def product_sizes(g, most=MOST_PRODUCTS):
    while True:
        rows, depth, columns = g.pick(1, 1, g.size(2, 8), g.size(8, 512)), g.size(1, 2048), g.size(1, 2048)
        if rows * depth * columns <= most and max(rows * depth, depth * columns, rows * columns) <= 4 * MOST_ELEMENTS:
            return rows, depth, columns


@form(8)
def matmul(g):
    rows, depth, columns = product_sizes(g)
    dtype = g.pick(*[np.float32] * 9, np.float64)
    batch = [g.size(1, 16) for _ in range(g.pick(0, 0, 0, 1, 1, 2))]
    while batch and math.prod(batch) * max(rows * depth * columns / MOST_PRODUCTS, max(rows * depth, depth * columns, rows * columns) / MOST_ELEMENTS) > 1:
        batch.pop()
    left, right = [*batch, rows, depth], [*batch, depth, columns]
    if batch and g.chance(0.3):
        right = [1 if g.chance(0.5) else size for size in batch][g.pick(0, 0, len(batch)):] + [depth, columns]
    if g.chance(0.05):
        left = left[-1:]
    elif g.chance(0.05):
        right = right[-2:-1]
    a, b = g.input(g.normal(*left, dtype=dtype)), None
    g.say(left, right, np.dtype(dtype).name)
    if len(right) > 1 and g.chance(0.3):
        order = [*range(len(right) - 2), len(right) - 1, len(right) - 2]
        b = g.node("Transpose", [g.either(g.normal(*[right[d] for d in order], dtype=dtype))], perm=order)
        g.say("transposed")
    else:
        b = g.either(g.normal(*right, dtype=dtype))
    if b.startswith("c"):
        g.say("constant")
    y = g.node("MatMul", [a, b])
    return after(g, y, columns, 2) if dtype == np.float32 and len(left) > 1 and len(right) > 1 else y


@form(4)
def gemm(g):
    rows, depth, columns = product_sizes(g)
    ta, tb = g.pick(0, 0, 1), g.pick(0, 1)
    a, b = g.normal(*([depth, rows] if ta else [rows, depth])), g.normal(*([columns, depth] if tb else [depth, columns]))
    operands = [g.input(a), g.either(b, 0.7)]
    if g.chance(0.7):
        operands.append(g.constant(g.normal(*g.pick([columns], [1, columns], [rows, columns], [rows, 1]))))
    g.say(a.shape, b.shape, f"transA={ta} transB={tb}", "constant" if operands[1][0] == "c" else "")
    return after(g, g.node("Gemm", operands, transA=ta, transB=tb, alpha=g.pick(1.0, 1.0, 0.5), beta=g.pick(1.0, 1.0, 2.0)))


@form(3)
def einsum(g):
    letters = {letter: g.size(1, 96) for letter in "abcdef"}
    while True:
        left, right = (g.random.sample("abcdef", g.random.randint(1, 4)) for _ in range(2))
        letters = {letter: g.size(1, 96) for letter in "abcdef"}
        used = sorted(set(left) | set(right))
        kept = [letter for letter in used if g.chance(0.7 if letter in left and letter in right else 0.8)]
        if math.prod(letters[letter] for letter in used) <= MOST_PRODUCTS // 4 and math.prod(letters[letter] for letter in kept) <= MOST_ELEMENTS:
            break
    g.random.shuffle(kept)
    equation = f"{''.join(left)},{''.join(right)}->{''.join(kept)}"
    g.say(equation, {letter: letters[letter] for letter in used})
    return g.node("Einsum", [g.input(g.normal(*[letters[letter] for letter in part])) for part in (left, right)], equation=equation)


def attention_sizes(g):
    while True:
        batch, heads, queries, keys, depth = g.pick(1, 1, 2, 8), g.size(1, 16), g.pick(1, g.size(2, 256)), g.size(1, 512), g.pick(16, 32, 64, 64, 80, 128)
        if 2 * batch * heads * queries * keys * depth <= MOST_PRODUCTS and batch * heads * max(queries, keys) * depth <= MOST_ELEMENTS:
            return batch, heads, queries, keys, depth


@form(3)
def attention(g):
    """As exporters write it."""
    batch, heads, queries, keys, depth = attention_sizes(g)
    g.say(f"batch {batch} heads {heads} queries {queries} keys {keys} depth {depth}")
    q, k, v = (g.input(g.normal(batch, heads, length, depth)) for length in (queries, keys, keys))
    scores = g.node("MatMul", [q, g.node("Transpose", [k], perm=[0, 1, 3, 2])])
    scores = g.node(*g.pick(("Mul", [scores, g.constant(np.float32(depth ** -0.5))]), ("Div", [scores, g.constant(np.float32(depth ** 0.5))])))
    if g.chance(0.5):
        scores = g.node("Add", [scores, g.input(g.normal(batch, 1, queries, keys))])
        g.say("masked")
    y = g.node("MatMul", [g.node("Softmax", [scores], axis=-1), v])
    if g.chance(0.5):
        y = g.node("Reshape", [g.node("Transpose", [y], perm=[0, 2, 1, 3]), g.constant(np.array([batch, queries, heads * depth]))])
        g.say("joined")
    return y


# Convolutions and pools.

def windows(g, spatial, sizes, kernels, dilate=True, pad_below=None):
    """Kernel, strides, dilations and pads that fit into the sizes."""
    kernel, strides, dilations, low, high = [], [], [], [], []
    same = g.chance(0.8)
    first = (g.pick(*kernels), g.pick(1, 1, 1, 2, 2, 3), g.pick(1, 1, 1, 1, 2) if dilate else 1)
    for size in sizes:
        k, s, d = first if same else (g.pick(*kernels), g.pick(1, 1, 2), g.pick(1, 1, 1, 2) if dilate else 1)
        reach = (k - 1) * d + 1
        a = reach // 2 if g.chance(0.7) else g.pick(0, 0, 1)
        b = a if g.chance(0.9) else g.pick(0, 1)
        if pad_below:
            a, b = min(a, k - 1), min(b, k - 1)
        if size + a + b < reach:
            k, d, a, b = 1, 1, 0, 0
        for list_, item in zip((kernel, strides, dilations, low, high), (k, s, d, a, b)):
            list_.append(item)
    return kernel, strides, dilations, low + high


def image(g, spatial, channels, most=MOST_ELEMENTS):
    largest = {1: 2048, 2: 112, 3: 24}[spatial]
    while True:
        shape = [g.pick(1, 1, 1, 2, 4), channels] + [g.size(1 if g.chance(0.1) else 5, largest) for _ in range(spatial)]
        if spatial == 2 and g.chance(0.6):
            shape[3] = shape[2]
        if math.prod(shape) <= most:
            return shape


def conv_sizes(g):
    spatial = g.pick(1, 2, 2, 2, 2, 2, 3)
    kind = g.pick("dense", "dense", "dense", "depthwise", "multiplier", "grouped", "grouped")
    while True:
        if kind == "dense":
            groups, inside, outside = 1, g.pick(1, 3, g.size(1, 256)), g.size(1, 256)
        elif kind == "depthwise":
            groups, inside, outside = g.size(2, 384), 1, 1
        elif kind == "multiplier":
            groups, inside, outside = g.size(2, 96), 1, g.pick(2, 3, 4)
        else:
            groups, inside, outside = g.pick(2, 3, 4, 8, 16, 32), g.pick(1, 2, 4, 8, g.size(1, 32)), g.pick(1, 2, 4, 8, g.size(1, 32))
        shape = image(g, spatial, groups * inside)
        kernel, strides, dilations, pads = windows(g, spatial, shape[2:], (1, 1, 3, 3, 3, 5, 7) if spatial < 3 else (1, 3, 3))
        out = [(size + a + b - (k - 1) * d - 1) // s + 1 for size, k, s, d, a, b in zip(shape[2:], kernel, strides, dilations, pads, pads[spatial:])]
        work = shape[0] * groups * outside * inside * math.prod(out) * math.prod(kernel)
        if work <= MOST_PRODUCTS and shape[0] * groups * outside * math.prod(out) <= MOST_ELEMENTS:
            g.say(kind, shape, f"filters {groups * outside} groups {groups} kernel {kernel} strides {strides} dilations {dilations} pads {pads}")
            return shape, [groups * outside, inside, *kernel], dict(kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads, group=groups)


@form(12)
def conv(g):
    shape, filter_, attributes = conv_sizes(g)
    operands = [g.input(g.normal(*shape)), g.either(g.normal(*filter_), 0.9)]
    if g.chance(0.5):
        operands.append(g.constant(g.normal(filter_[0])))
    y = g.node("Conv", operands, **attributes)
    if g.chance(0.3):
        channel = lambda low=-1, high=1: g.constant(g.numbers.uniform(low, high, filter_[0]).astype(np.float32))
        y = g.node("BatchNormalization", [y, channel(), channel(), channel(), channel(0.5, 2)])
        g.say("BatchNormalization")
    if g.chance(0.2):
        y = g.node("Add", [y, g.node("Relu", [y])])
        g.say("residual")
    return after(g, y, filter_[0], len(shape))


@form(3)
def conv_transpose(g):
    spatial = g.pick(1, 2, 2, 2, 3)
    while True:
        groups = g.pick(1, 1, 1, 2, 4)
        inside, outside = g.size(1, 128) if groups == 1 else g.size(1, 24), g.size(1, 128) if groups == 1 else g.size(1, 24)
        shape = image(g, spatial, groups * inside, MOST_ELEMENTS // 8)
        kernel, strides, dilations, pads = [], [], [], [[], []]
        for _ in range(spatial):
            k, s, d = g.pick(2, 3, 3, 4, 5), g.pick(1, 2, 2, 3), g.pick(1, 1, 1, 2)
            pad = g.pick(0, 0, 1) if (k - 1) * d >= 2 else 0
            kernel.append(k), strides.append(s), dilations.append(d), pads[0].append(pad), pads[1].append(pad)
        out = [(size - 1) * s + (k - 1) * d + 1 - 2 * a for size, k, s, d, a in zip(shape[2:], kernel, strides, dilations, pads[0])]
        work = math.prod(shape) * outside * math.prod(kernel)
        if work <= MOST_PRODUCTS and shape[0] * groups * outside * math.prod(out) <= MOST_ELEMENTS and min(out) > 0:
            break
    g.say(shape, f"filters {groups * outside} groups {groups} kernel {kernel} strides {strides} dilations {dilations} pads {pads[0]}")
    operands = [g.input(g.normal(*shape)), g.constant(g.normal(groups * inside, outside, *kernel))]
    if g.chance(0.5):
        operands.append(g.constant(g.normal(groups * outside)))
    y = g.node("ConvTranspose", operands, kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads[0] + pads[1], group=groups)
    return after(g, y, groups * outside, len(shape))


@form(5)
def pool(g):
    spatial, op = g.pick(1, 2, 2, 2, 3), g.pick("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    shape = image(g, spatial, g.size(1, 256))
    if op.startswith("Global"):
        g.say(op, shape)
        return g.node(op, [g.input(g.normal(*shape))])
    kernel, strides, dilations, pads = windows(g, spatial, shape[2:], (2, 2, 3, 3, 5, 7), dilate=op == "MaxPool", pad_below=True)
    attributes = dict(kernel_shape=kernel, strides=strides, pads=pads)
    if op == "MaxPool":
        attributes["dilations"] = dilations
    if op == "AveragePool":
        attributes["count_include_pad"] = g.pick(0, 1)
    if op != "LpPool":
        attributes["ceil_mode"] = g.pick(0, 0, 1)
    g.say(op, shape, attributes)
    return g.node(op, [g.input(g.normal(*shape))], **attributes)


# Quantised forms.

def zero_point(g, dtype):
    if g.chance(0.3):
        return dtype(0)
    return dtype(g.random.randint(100, 150)) if dtype == np.uint8 else dtype(g.random.randint(-20, 20))


def codes(g, dtype, *shape):
    return g.integers(0, 256, shape, np.uint8) if dtype == np.uint8 else g.integers(-127, 128, shape, np.int8)


def scales(g, count=None):
    return g.numbers.uniform(0.005, 0.02, () if count is None else count).astype(np.float32)


def quantised_conv_sizes(g):
    while True:
        shape, filter_, attributes = conv_sizes(g)
        if len(shape) == 4 or g.chance(0.3):
            return shape, filter_, attributes
        g.words.clear()


@form(4)
def qlinear_conv(g):
    shape, filter_, attributes = quantised_conv_sizes(g)
    x, w = g.pick(np.uint8, np.int8), g.pick(np.int8, np.int8, np.uint8)
    if x == np.int8:
        w = np.int8
    by_channel = g.chance(0.6)
    g.say(np.dtype(x).name, np.dtype(w).name, "by channel" if by_channel else "by tensor")
    count = filter_[0] if by_channel else None
    w_zero = np.zeros(filter_[0], w) if by_channel else w(0) if w == np.int8 else zero_point(g, w)
    operands = [g.input(codes(g, x, *shape)), g.constant(scales(g)), g.constant(zero_point(g, x)), g.constant(codes(g, w, *filter_)), g.constant(scales(g, count)),
                g.constant(w_zero), g.constant(np.float32(0.05 * math.sqrt(math.prod(filter_[1:])))), g.constant(zero_point(g, x))]
    if g.chance(0.6):
        operands.append(g.constant(g.integers(-5000, 5000, filter_[0], np.int32)))
    return g.node("QLinearConv", operands, **attributes)


@form(2)
def conv_integer(g):
    shape, filter_, attributes = quantised_conv_sizes(g)
    operands = [g.input(codes(g, np.uint8, *shape)), g.constant(codes(g, np.int8 if g.chance(0.3) else np.uint8, *filter_))]
    if g.chance(0.7):
        operands.append(g.constant(zero_point(g, np.uint8)))
    return g.node("ConvInteger", operands, **attributes)


@form(4)
def matmul_integer(g):
    rows, depth, columns = product_sizes(g)
    batch = [g.size(2, 8)] if g.chance(0.2) and rows * depth * columns * 8 < MOST_PRODUCTS and depth * columns * 8 < MOST_ELEMENTS else []
    left, right = g.pick((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8))
    a, b = g.input(codes(g, left, *batch, rows, depth)), g.either(codes(g, right, *(batch if g.chance(0.3) else []), depth, columns), 0.8)
    g.say([*batch, rows, depth, columns], np.dtype(left).name, np.dtype(right).name, "constant" if b[0] == "c" else "")
    if g.chance(0.5):
        zero = zero_point(g, left)
        if g.chance(0.5):
            return g.node("MatMulInteger", [a, b, g.constant(zero), g.constant(right(0))])
        return g.node("MatMulInteger", [a, b, g.constant(zero)])
    y_scale = np.float32(0.02 * math.sqrt(depth))
    by_column = g.chance(0.4) and not batch
    b_zero = np.zeros(columns, right) if by_column else zero_point(g, right)
    g.say("QLinearMatMul", "by column" if by_column else "")
    return g.node("QLinearMatMul", [a, g.constant(scales(g)), g.constant(zero_point(g, left)), b, g.constant(scales(g, columns if by_column else None)), g.constant(b_zero),
                                    g.constant(y_scale), g.constant(zero_point(g, left))])


@form(2)
def dynamic_quantised(g):
    """As quantize_dynamic writes it."""
    rows, depth, columns = product_sizes(g)
    g.say([rows, depth, columns])
    x = g.input(g.normal(rows, depth))
    bytes_, scale, zero = g.node("DynamicQuantizeLinear", [x], 3)
    right = g.pick(np.int8, np.uint8)
    product = g.node("MatMulInteger", [bytes_, g.constant(codes(g, right, depth, columns)), zero, g.constant(zero_point(g, right))])
    both = g.node("Mul", [scale, g.constant(scales(g, columns if g.chance(0.3) else None))])
    y = g.node("Mul", [g.node("Cast", [product], to=TensorProto.FLOAT), both])
    return after(g, y, columns, 2)


@form(5)
def qdq(g):
    """As quantize_static writes it: a product between DequantizeLinear and QuantizeLinear."""
    by_channel, signed = g.chance(0.6), g.chance(0.5)
    kind = np.int8 if signed else np.uint8

    def through(value, step, zero):
        step, zero = g.constant(np.float32(step)), g.constant(zero)
        return g.node("DequantizeLinear", [g.node("QuantizeLinear", [value, step, zero]), step, zero])

    if g.chance(0.5):
        shape, filter_, attributes = quantised_conv_sizes(g)
        op, x, axis, terms, columns = "Conv", g.input(g.normal(*shape)), 0, math.prod(filter_[1:]), filter_[0]
    else:
        rows, depth, columns = product_sizes(g)
        op, x, axis, terms, filter_, attributes = "MatMul", g.input(g.normal(rows, depth)), 1, depth, [depth, columns], {}
        g.say([rows, depth, columns])
    count = columns if by_channel else None
    g.say(op, "by channel" if by_channel else "by tensor", np.dtype(kind).name)
    w_zero = np.zeros(() if count is None else count, np.int8)
    w = g.node("DequantizeLinear", [g.constant(codes(g, np.int8, *filter_)), g.constant(scales(g, count)), g.constant(w_zero)], axis=axis)
    operands = [through(x, 0.03, zero_point(g, kind)), w]
    if op == "Conv" and g.chance(0.6):
        operands.append(g.constant(g.normal(columns)))
    y = g.node(op, operands, **attributes)
    if g.chance(0.4):
        y = g.node("Relu", [y])
        g.say("Relu")
    return through(y, 0.02 * math.sqrt(terms), zero_point(g, kind))


@form(4)
def low_bit_weight(g):
    """A product of floats by a weight of 8 or 4 bits: by axis, by tensor, in blocks, or MatMulNBits."""
    rows, depth, columns = product_sizes(g)
    layout = g.pick("axis", "tensor", "blocks", "nbits")
    x = g.input(g.normal(rows, depth))
    if layout in ("blocks", "nbits"):
        block = g.pick(16, 32, 32, 64, 128)
        depth = max(1, depth // block) * block
        g.inputs[x] = g.normal(rows, depth)
    g.say([rows, depth, columns], layout)
    if layout == "nbits":
        blocks = depth // block
        operands = [x, g.constant(g.integers(0, 256, (columns, blocks, block // 2), np.uint8)), g.constant(scales(g, columns * blocks))]
        if g.chance(0.4):
            operands.append(g.constant(g.integers(0, 256, columns * -(-blocks // 2), np.uint8)))
            g.say("zero points")
        g.say(f"blocks of {block}")
        return g.node("MatMulNBits", operands, domain="com.microsoft", K=depth, N=columns, bits=4, block_size=block)
    bits = g.pick(8, 8, 4)
    g.say(f"{bits} bits")
    values = g.integers(-127, 128, (depth, columns), np.int8) if bits == 8 else g.integers(-8, 8, (depth, columns))
    w = g.constant(values) if bits == 8 else g.packed(values, TensorProto.INT4)
    if layout == "blocks":
        g.say(f"of {block}")
        return g.node("MatMul", [x, g.node("DequantizeLinear", [w, g.constant(g.numbers.uniform(0.005, 0.02, (depth // block, columns)).astype(np.float32))], axis=0, block_size=block)])
    return after(g, g.node("MatMul", [x, g.node("DequantizeLinear", [w, g.constant(scales(g, columns if layout == "axis" else None))], axis=1)]), columns, 2)


@form(1)
def quantise(g):
    shape = g.sizes(g.pick(2, 3, 4))
    kind = g.pick(np.uint8, np.int8)
    axis = g.random.randrange(len(shape))
    by_axis = g.chance(0.5)
    count = shape[axis] if by_axis else None
    zero = np.zeros(() if count is None else count, kind) + zero_point(g, kind)
    op = g.pick("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")
    g.say(op, shape, f"axis {axis}" if by_axis else "")
    if op == "DynamicQuantizeLinear":
        return g.node(op, [g.input(g.normal(*shape))], 3)
    x = g.input(g.normal(*shape) if op == "QuantizeLinear" else codes(g, kind, *shape))
    return g.node(op, [x, g.constant(scales(g, count)), g.constant(zero.astype(kind))], axis=axis)
