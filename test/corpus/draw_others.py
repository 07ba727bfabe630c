"""The forms of draw_nodes.py beside products: elementwise ops, reductions, norms, moves, elements by index, sorts, recurrences and images."""
import math

import numpy as np
from onnx import TensorProto

from draw_nodes import MOST_ELEMENTS, MOST_PRODUCTS, form, image

UNARY = ("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf",
         "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh",
         "ThresholdedRelu")
REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")


def one(value, dtype=np.int64):
    return np.array([value], dtype)


def broadcast(g, shape):
    if g.chance(0.4):
        return shape
    if g.chance(0.2):
        return []
    return [1 if g.chance(0.4) else size for size in shape][g.random.randint(0, len(shape) - 1) if g.chance(0.4) else 0:]


@form(2.5)
def unary(g):
    op, shape = g.pick(*UNARY), g.sizes(g.random.randint(1, 4))
    x = g.normal(*shape)
    if op in ("Acos", "Asin", "Atanh"):
        x = np.tanh(x) * 0.99
    elif op in ("Log", "Sqrt", "Reciprocal"):
        x = np.abs(x) + np.float32(0.1)
    elif op == "Acosh":
        x = np.abs(x) + 1
    g.say(op, shape)
    return g.node(op, [g.input(x.astype(np.float32))])


@form(2.5)
def binary(g):
    op, shape = g.pick("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "Mod", "PRelu", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "Where",
                       "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"), g.sizes(g.random.randint(1, 4))
    other = broadcast(g, shape)
    g.say(op, shape, other)
    a, b = g.normal(*shape), g.normal(*other)
    if op in ("And", "Or", "Xor"):
        a, b = a > 0, b > 0
    elif op.startswith("Bitwise"):
        a, b = g.integers(-1000, 1000, shape, np.int32), g.integers(-1000, 1000, other, np.int32)
    elif op == "BitShift":
        return g.node(op, [g.input(g.integers(0, 1000, shape, np.uint32)), g.either(g.integers(0, 8, other, np.uint32))], direction=g.pick("LEFT", "RIGHT"))
    elif op == "Mod":
        a, b = g.integers(-1000, 1000, shape), g.integers(1, 50, other)
    elif op in ("Div", "Pow"):
        a, b = np.abs(a) + np.float32(0.1), np.abs(b) + np.float32(0.5)
    elif op not in ("PRelu", "Mean", "Sum") and g.chance(0.2):
        a, b = g.integers(-1000, 1000, shape), g.integers(-1000, 1000, other)
    if op == "Where":
        return g.node(op, [g.input(g.normal(*broadcast(g, shape)) > 0), g.input(a), g.either(b)])
    return g.node(op, [g.input(a), g.either(b)])


@form(1.5)
def chain(g):
    """Elementwise ops in a row, some with an operand that lacks dimensions."""
    shape = g.sizes(g.random.randint(2, 4))
    value = g.input(g.normal(*shape))
    g.say(shape)
    for _ in range(g.random.randint(2, 6)):
        if g.chance(0.5):
            op = g.pick("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Erf", "Softplus")
            value = g.node(op, [value])
        else:
            op = g.pick("Add", "Mul", "Sub", "Max")
            value = g.node(op, [value, g.either(g.normal(*broadcast(g, shape)))])
        g.say(op)
    return value


@form(2)
def reduction(g):
    op, shape = g.pick(*REDUCTIONS), g.sizes(g.random.randint(1, 4))
    axes = sorted(g.random.sample(range(len(shape)), g.random.randint(1, len(shape))))
    x = g.normal(*shape)
    x = np.abs(x) + np.float32(0.1) if op == "ReduceLogSum" else (1 + 0.01 * x).astype(np.float32) if op == "ReduceProd" else x
    g.say(op, shape, axes)
    return g.node(op, [g.input(x), g.constant(np.array(axes))], keepdims=g.pick(0, 1))


@form(1)
def places(g):
    op, shape = g.pick("ArgMax", "ArgMin", "TopK", "TopK", "CumSum", "Hardmax"), g.sizes(g.random.randint(1, 3))
    axis = g.random.randrange(len(shape))
    x = g.input(g.normal(*shape))
    g.say(op, shape, f"axis {axis}")
    if op == "TopK":
        count = min(shape[axis], g.size(1, 256))
        g.say(f"k {count}")
        return g.node(op, [x, g.constant(one(count))], 2, axis=axis, largest=g.pick(0, 1))
    if op == "CumSum":
        return g.node(op, [x, g.constant(np.array(axis))], reverse=g.pick(0, 1), exclusive=g.pick(0, 1))
    return g.node(op, [x], axis=axis, **({} if op == "Hardmax" else {"keepdims": g.pick(0, 1)}))


@form(2)
def softmax(g):
    op, shape = g.pick("Softmax", "Softmax", "Softmax", "LogSoftmax"), g.sizes(g.random.randint(1, 4))
    axis = -1 if g.chance(0.7) else g.random.randrange(len(shape))
    g.say(op, shape, f"axis {axis}")
    return g.node(op, [g.input(g.normal(*shape))], axis=axis)


@form(3)
def norm(g):
    op = g.pick("LayerNormalization", "LayerNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LpNormalization", "LRN", "MeanVarianceNormalization")
    if op in ("LayerNormalization", "LpNormalization"):
        shape = g.sizes(g.random.randint(2, 4))
        axis = len(shape) - 1 if g.chance(0.8) else g.random.randrange(len(shape))
        g.say(op, shape, f"axis {axis}")
        x = g.input(g.normal(*shape))
        if op == "LpNormalization":
            return g.node(op, [x], axis=axis, p=g.pick(1, 2))
        if g.chance(0.4):
            x = g.node("Add", [x, g.input(g.normal(*shape))])
        return g.node(op, [x, g.constant(g.normal(*shape[axis:])), g.constant(g.normal(*shape[axis:]))], axis=axis)
    groups = g.pick(1, 2, 4, 8)
    channels = groups * g.size(1, 64)
    shape = image(g, g.pick(1, 2, 2, 3), channels)
    g.say(op, shape)
    x = g.input(g.normal(*shape))
    if op == "LRN" and len(shape) == 4:  # ONNX Runtime has no other
        return g.node(op, [x], size=g.pick(3, 5))
    if op in ("MeanVarianceNormalization", "LRN"):
        return g.node("MeanVarianceNormalization", [x], axes=[0, *range(2, len(shape))])
    scale, bias = g.constant(g.normal(channels)), g.constant(g.normal(channels))
    if op == "BatchNormalization":
        return g.node(op, [x, scale, bias, g.constant(g.normal(channels)), g.constant(np.abs(g.normal(channels)) + np.float32(0.5))])
    if op == "GroupNormalization":
        g.say(f"groups {groups}")
        return g.node(op, [x, scale, bias], num_groups=groups)
    return g.node(op, [x, scale, bias])


@form(2)
def moves(g):
    op = g.pick("Transpose", "Transpose", "Transpose", "Concat", "Split", "Slice", "Slice", "Pad", "Tile", "Expand", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "Trilu", "Cast")
    shape = g.sizes(g.random.randint(2, 4))
    dtype = g.pick(np.float32, np.float32, np.float32, np.int64, np.uint8)
    values = lambda *sizes: g.normal(*sizes) if dtype == np.float32 else g.integers(0, 100, sizes, dtype)
    axis = g.random.randrange(len(shape))
    if op in ("DepthToSpace", "SpaceToDepth"):
        block = g.pick(2, 2, 3, 4)
        sizes = image(g, 2, 1, MOST_ELEMENTS // 16)
        sizes = [sizes[0], block * block * g.size(1, 16), *sizes[2:]] if op == "DepthToSpace" else [sizes[0], g.size(1, 16), sizes[2] // block * block or block, sizes[3] // block * block or block]
        while math.prod(sizes) > MOST_ELEMENTS:
            sizes[0], sizes[2] = 1, max(block, sizes[2] // 2 // block * block)
        g.say(op, sizes, f"block {block}")
        return g.node(op, [g.input(g.normal(*sizes))], blocksize=block, **({"mode": g.pick("DCR", "CRD")} if op == "DepthToSpace" else {}))
    g.say(op, shape, np.dtype(dtype).name)
    if op == "Transpose":
        order = list(range(len(shape)))
        g.random.shuffle(order)
        g.say(order)
        return g.node(op, [g.input(values(*shape))], perm=order)
    if op == "Concat":
        parts = [list(shape) for _ in range(g.random.randint(2, 4))]
        for part in parts:
            part[axis] = g.size(1, max(1, shape[axis]))
        g.say(f"axis {axis}", [part[axis] for part in parts])
        return g.node(op, [g.input(values(*part)) for part in parts], axis=axis)
    if op == "Split":
        count = g.random.randint(1, min(4, shape[axis]))
        sizes = [shape[axis] // count] * (count - 1)
        sizes.append(shape[axis] - sum(sizes))
        g.say(f"axis {axis}", sizes)
        names = g.node(op, [g.input(values(*shape)), g.constant(np.array(sizes))], count, axis=axis)
        return names
    if op == "Slice":
        begin, step = g.random.randrange(max(1, shape[axis] // 2)), g.pick(1, 1, 2, 3, -1)
        end = shape[axis] if step > 0 else -shape[axis] - 1
        g.say(f"axis {axis} from {begin} by {step}")
        return g.node(op, [g.input(values(*shape)), g.constant(one(begin if step > 0 else -1)), g.constant(one(end)), g.constant(one(axis)), g.constant(one(step))])
    if op == "Pad":
        low, high = ([g.random.randint(0, min(3, size - 1)) for size in shape] for _ in range(2))
        mode = g.pick("constant", "constant", "reflect", "edge", "wrap")
        g.say(low, high, mode)
        return g.node(op, [g.input(g.normal(*shape)), g.constant(np.array(low + high))], mode=mode)
    if op == "Tile":
        times = [g.pick(1, 1, 2, 3) for _ in shape]
        return g.node(op, [g.input(values(*shape)), g.constant(np.array(times))])
    if op == "Expand":
        return g.node(op, [g.input(values(*[1 if g.chance(0.5) else size for size in shape])), g.constant(np.array(shape))])
    if op == "ReverseSequence":
        return g.node(op, [g.input(g.normal(*shape)), g.input(g.integers(1, shape[0] + 1, (shape[1],)))], time_axis=0, batch_axis=1)
    if op == "Trilu":
        return g.node(op, [g.input(values(*shape)), g.constant(np.array(g.pick(-1, 0, 1)))], upper=g.pick(0, 1))
    return g.node("Cast", [g.input(values(*shape))], to=g.pick(TensorProto.FLOAT, TensorProto.INT32, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BOOL))


@form(2)
def by_index(g):
    op = g.pick("Gather", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "OneHot", "Compress", "NonZero", "Unique", "EyeLike", "Range")
    shape = g.sizes(g.random.randint(1, 3), MOST_ELEMENTS // 4)
    axis = g.random.randrange(len(shape))
    x = g.normal(*shape)
    g.say(op, shape, f"axis {axis}")
    if op == "Gather":
        room = max(1, min(2000, MOST_ELEMENTS // (math.prod(shape) // shape[axis])))
        indices = g.integers(0, shape[axis], [g.size(1, room)])
        g.say(f"{indices.size} indices")
        return g.node(op, [g.either(x), g.input(indices)], axis=axis)
    if op in ("GatherElements", "ScatterElements"):
        indices = np.argsort(g.numbers.random(shape), axis)
        if op == "GatherElements":
            return g.node(op, [g.input(x), g.input(indices)], axis=axis)
        adds = g.chance(0.3)
        return g.node(op, [g.input(x), g.input(indices), g.input(g.normal(*shape))], axis=axis, **({"reduction": "add"} if adds else {}))
    if op in ("GatherND", "ScatterND"):
        members = g.random.randint(1, len(shape))
        rest = math.prod(shape[members:])
        count = min(g.size(1, 2000), max(1, MOST_ELEMENTS // rest), math.prod(shape[:members]))
        flat = g.numbers.permutation(math.prod(shape[:members]))[:count]
        tuples = np.stack(np.unravel_index(flat, shape[:members]), 1).astype(np.int64)
        g.say(f"{count} tuples of {members}")
        if op == "GatherND":
            return g.node(op, [g.input(x), g.input(tuples)])
        return g.node(op, [g.input(x), g.input(tuples), g.input(g.normal(count, *shape[members:]))])
    if op == "OneHot":
        depth = g.size(2, 512)
        return g.node(op, [g.input(g.integers(0, depth, (min(2000, max(1, MOST_ELEMENTS // depth)),))), g.constant(one(depth)), g.constant(np.array([0, 1], np.float32))])
    if op == "Compress":
        return g.node(op, [g.input(x), g.input(g.numbers.random(shape[axis]) > 0.5)], axis=axis)
    if op == "NonZero":
        return g.node(op, [g.input((x * (x > 0)).astype(np.float32))])
    if op == "Unique":
        return g.node(op, [g.input(g.integers(0, 500, [min(50000, math.prod(shape))]))], 4)
    if op == "EyeLike":
        return g.node(op, [g.input(g.normal(g.size(1, 512), g.size(1, 512)))], k=g.pick(-1, 0, 1))
    return g.node("Range", [g.input(np.array(0, np.int64)), g.input(np.array(g.size(1, 100000), np.int64)), g.constant(np.array(1))])


@form(1.5)
def resize(g):
    op = g.pick("Resize", "Resize", "GridSample", "RoiAlign", "CenterCropPad", "AffineGrid", "Col2Im")
    shape = image(g, 2, g.size(1, 64), MOST_ELEMENTS // 4)
    g.say(op, shape)
    x = g.input(g.normal(*shape))
    if op == "Resize":
        mode, factor = g.pick("nearest", "linear", "cubic"), g.pick(2.0, 2.0, 0.5, 1.5, 3.0)
        coordinates = g.pick("half_pixel", "asymmetric", "align_corners")
        g.say(mode, factor, coordinates)
        return g.node(op, [x, "", g.constant(np.array([1, 1, factor, factor], np.float32))], mode=mode, coordinate_transformation_mode=coordinates, nearest_mode="floor" if mode == "nearest" else "round_prefer_floor")
    if op == "GridSample":
        return g.node(op, [x, g.input(g.numbers.uniform(-1, 1, (shape[0], shape[2], shape[3], 2)).astype(np.float32))], mode=g.pick("linear", "nearest"), padding_mode=g.pick("zeros", "border"))
    if op == "RoiAlign":
        count = g.size(1, 100)
        while count * shape[1] * 49 > MOST_ELEMENTS // 2:
            count = max(1, count // 2)
        low = g.numbers.uniform(0, shape[2] / 2, (count, 2))
        boxes = np.concatenate([low, low + g.numbers.uniform(1, shape[2] / 2 + 1, (count, 2))], 1).astype(np.float32)
        return g.node(op, [x, g.input(boxes), g.input(g.integers(0, shape[0], count))], output_height=7, output_width=7, sampling_ratio=2)
    if op == "CenterCropPad":
        return g.node(op, [x, g.constant(np.array([max(1, shape[2] // 2), shape[3] + 2]))], axes=[2, 3])
    if op == "AffineGrid":
        return g.node(op, [g.input(g.normal(shape[0], 2, 3)), g.constant(np.array(shape))])
    kernel, size = g.pick(2, 3), g.size(4, 32)
    places = (size - kernel + 1) ** 2
    return g.node(op, [g.input(g.normal(1, g.size(1, 8) * kernel * kernel, places)), g.constant(np.array([size, size])), g.constant(np.array([kernel, kernel]))])


@form(1.5)
def recurrence(g):
    op, gates = g.pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    while True:
        length, batch, inside, hidden = g.size(1, 128), g.pick(1, 1, g.size(2, 32)), g.size(4, 256), g.size(4, 256)
        if length * batch * gates * hidden * (inside + hidden) <= MOST_PRODUCTS:
            break
    both = g.chance(0.3)
    count = 2 if both else 1
    weight = lambda *shape: g.constant((g.normal(*shape) / math.sqrt(hidden)).astype(np.float32))
    g.say(op, f"places {length} batch {batch} input {inside} hidden {hidden}", "both ways" if both else "")
    more = {"linear_before_reset": g.pick(0, 1)} if op == "GRU" else {}
    return g.node(op, [g.input(g.normal(length, batch, inside)), weight(count, gates * hidden, inside), weight(count, gates * hidden, hidden), weight(count, 2 * gates * hidden)], 2,
                  hidden_size=hidden, direction="bidirectional" if both else g.pick("forward", "reverse"), **more)


@form(0.5)
def signal(g):
    op = g.pick("DFT", "STFT", "NonMaxSuppression", "MelWeightMatrix", "HannWindow", "Det")
    g.say(op)
    if op == "DFT":
        rows, length = g.size(1, 16), g.pick(64, 100, 128, 256, g.size(2, 256))
        g.say(rows, length)
        return g.node(op, [g.input(g.normal(rows, length, 1)), "", g.constant(np.array(1))])
    if op == "STFT":
        frame = g.pick(64, 128, 256)
        return g.node(op, [g.input(g.normal(1, frame * g.size(2, 16), 1)), g.constant(np.array(frame // 2)), g.constant(np.hanning(frame).astype(np.float32)), g.constant(np.array(frame))])
    if op == "NonMaxSuppression":
        count, classes = g.size(10, 2000), g.size(1, 20)
        centre, half = g.numbers.random((1, count, 2)) * 640, g.numbers.random((1, count, 2)) * 50 + 2
        boxes = np.concatenate([centre - half, centre + half], 2).astype(np.float32)
        g.say(count, classes)
        return g.node(op, [g.input(boxes), g.input((g.numbers.random((1, classes, count)) ** 4).astype(np.float32)), g.constant(one(50)), g.constant(one(0.45, np.float32)), g.constant(one(0.1, np.float32))])
    if op == "MelWeightMatrix":
        return g.node(op, [g.constant(np.array(value, kind)) for value, kind in ((64, np.int64), (512, np.int64), (16000, np.int64), (0, np.float32), (8000, np.float32))])
    if op == "HannWindow":
        return g.node(op, [g.input(np.array(g.size(2, 4096), np.int64))])
    size = g.size(1, 32)
    return g.node(op, [g.input(g.normal(g.size(1, 16), size, size))])
