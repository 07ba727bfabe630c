"""Ops that ONNX Runtime does not compute in f64, made of ones that it does, for a network at inputs of known sizes."""
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Of Abramowitz and Stegun, 7.1.26: erf x is sign(x) (1 - e^(-x x) t (a1 + t (a2 + ...))) with t = 1 / (1 + p |x|), within 1.5e-7. Its derivatives are as good.
ERF_P, ERF_A = 0.3275911, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
LAST = np.iinfo(np.int64).max


class WideOps:
    """Collects the nodes that stand for others. `shapes` has the sizes of what these read and write."""

    def __init__(self, shapes):
        self.shapes, self.nodes, self.constants, self.count = shapes, [], [], 0

    def name(self):
        self.count += 1
        return f"wide/{self.count}"

    def emit(self, op, *inputs, output=None, **attributes):
        output = output or self.name()
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), self.name()))
        return self.constants[-1].name

    def integers(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def number(self, value):
        return self.constant(np.float64(value))

    def reshape(self, x, *dims, output=None):
        return self.emit("Reshape", x, self.integers(*dims), output=output)

    def windows(self, x, kernel, strides, dilations):
        """One slice for each place of a kernel: what it reads for all outputs."""
        axes = self.integers(*range(2, 2 + len(kernel)))
        for place in itertools.product(*(range(k) for k in kernel)):
            starts = [i * d for i, d in zip(place, dilations)]
            ends = [-(k - 1 - i) * d or LAST for i, k, d in zip(place, kernel, dilations)]
            yield self.emit("Slice", x, self.integers(*starts), self.integers(*ends), axes, self.integers(*strides))

    def convolution(self, node, given):
        x, w = node.input[:2]
        outputs, inputs, *kernel = self.shapes[w]
        rank, places, groups = len(kernel), int(np.prod(kernel)), given.get("group", 1)
        pads = given.get("pads", [0] * 2 * rank)
        if any(pads):
            x = self.emit("Pad", x, self.integers(0, 0, *pads[:rank], 0, 0, *pads[rank:]))
        read = list(self.windows(x, kernel, given.get("strides", [1] * rank), given.get("dilations", [1] * rank)))
        batch, _, *sizes = self.shapes[node.output[0]]
        columns = self.reshape(self.emit("Concat", *read, axis=1), batch, places, groups, inputs, -1)
        columns = self.reshape(self.emit("Transpose", columns, perm=[0, 2, 1, 3, 4]), batch, groups, places * inputs, -1)
        w = self.emit("Transpose", self.reshape(w, groups, outputs // groups, inputs, places), perm=[0, 1, 3, 2])
        product = self.emit("MatMul", self.reshape(w, groups, outputs // groups, places * inputs), columns)
        self.with_bias(node, self.reshape(product, batch, outputs, *sizes), rank)

    def with_bias(self, node, y, rank):
        if len(node.input) > 2 and node.input[2]:
            self.emit("Add", y, self.reshape(node.input[2], 1, -1, *[1] * rank), output=node.output[0])
        else:
            self.emit("Identity", y, output=node.output[0])

    def transposed_convolution(self, node, given):
        """Of a kernel that is as large as its strides: each input makes outputs of its own."""
        inputs, outputs, *kernel = self.shapes[node.input[1]]
        rank = len(kernel)
        assert given.get("strides") == kernel and not any(given.get("pads", [])) and given.get("group", 1) == 1, given
        batch, _, *sizes = self.shapes[node.input[0]]
        w = self.emit("Transpose", self.reshape(node.input[1], inputs, -1), perm=[1, 0])
        y = self.reshape(self.emit("MatMul", w, self.reshape(node.input[0], batch, inputs, -1)), batch, outputs, *kernel, *sizes)
        order = [axis for d in range(rank) for axis in (2 + rank + d, 2 + d)]
        y = self.emit("Transpose", y, perm=[0, 1, *order])
        self.with_bias(node, self.reshape(y, *self.shapes[node.output[0]]), rank)

    def mean_of_windows(self, node, given):
        kernel = given["kernel_shape"]
        assert not any(given.get("pads", [])) and not given.get("ceil_mode"), given
        read = list(self.windows(node.input[0], kernel, given.get("strides", [1] * len(kernel)), given.get("dilations", [1] * len(kernel))))
        self.emit("Div", self.emit("Sum", *read), self.number(len(read)), output=node.output[0])

    def mean_of_image(self, node, given):
        self.emit("ReduceMean", node.input[0], axes=list(range(2, len(self.shapes[node.input[0]]))), output=node.output[0])

    def instance_norm(self, node, given):
        x, scale, bias = node.input
        rank = len(self.shapes[x]) - 2
        axes = list(range(2, 2 + rank))
        rest = self.emit("Sub", x, self.emit("ReduceMean", x, axes=axes))
        variance = self.emit("ReduceMean", self.emit("Mul", rest, rest), axes=axes)
        normal = self.emit("Div", rest, self.emit("Sqrt", self.emit("Add", variance, self.number(given["epsilon"]))))
        spread = [self.reshape(name, 1, -1, *[1] * rank) for name in (scale, bias)]
        self.emit("Add", self.emit("Mul", normal, spread[0]), spread[1], output=node.output[0])

    def linear_resize(self, node, given):
        """A product with a matrix of its own for each axis whose size changes."""
        assert given["mode"] == b"linear" and given["coordinate_transformation_mode"] == b"half_pixel", given
        y = node.input[0]
        before, after = self.shapes[y], self.shapes[node.output[0]]
        for axis, (size, wanted) in enumerate(zip(before, after)):
            if size == wanted:
                continue
            places = np.clip((np.arange(wanted) + 0.5) * size / wanted - 0.5, 0, size - 1)
            matrix = np.maximum(0, 1 - abs(places[:, None] - np.arange(size)))
            order = [*range(axis), *range(axis + 1, len(before)), axis]
            moved = self.emit("MatMul", self.emit("Transpose", y, perm=order), self.constant(matrix.T.copy()))
            y = self.emit("Transpose", moved, perm=[int(place) for place in np.argsort(order)])
        self.emit("Identity", y, output=node.output[0])

    def erf(self, x, output=None):
        t = self.emit("Div", self.number(1), self.emit("Add", self.emit("Mul", self.emit("Abs", x), self.number(ERF_P)), self.number(1)))
        sum = self.number(0)
        for factor in reversed(ERF_A):
            sum = self.emit("Mul", self.emit("Add", sum, self.number(factor)), t)
        rest = self.emit("Mul", self.emit("Exp", self.emit("Neg", self.emit("Mul", x, x))), sum)
        return self.emit("Mul", self.emit("Sign", x), self.emit("Sub", self.number(1), rest), output=output)

    def gelu(self, node, given):
        assert given.get("approximate", b"none") == b"none", given
        x = node.input[0]
        share = self.emit("Add", self.erf(self.emit("Mul", x, self.number(0.5**0.5))), self.number(1))
        self.emit("Mul", self.emit("Mul", x, self.number(0.5)), share, output=node.output[0])

    def dequantize(self, node, given):
        """Of integers that are weights: what rounds numbers is gone by now."""
        x, scale, *zero = node.input
        rank = len(self.shapes[x])
        assert not given.get("block_size"), given

        def spread(name):
            return self.reshape(name, *(-1 if d == given.get("axis", 1) % rank else 1 for d in range(rank))) if self.shapes[name] else name

        numbers = self.emit("Cast", x, to=TensorProto.DOUBLE)
        if zero and zero[0]:
            numbers = self.emit("Sub", numbers, self.emit("Cast", spread(zero[0]), to=TensorProto.DOUBLE))
        self.emit("Mul", numbers, spread(scale), output=node.output[0])

    def parts(self, x, count, axis):
        """Equal parts of an axis."""
        names = [self.name() for _ in range(count)]
        self.nodes.append(helper.make_node("Split", [x], names, name=names[0], axis=axis))
        return names

    def lstm_step(self, x, state, w, r, biases):
        before = self.emit("Add", self.emit("MatMul", x, w), self.emit("MatMul", state[0], r))
        before = self.emit("Add", before, self.emit("Add", *biases))
        i, o, f, c = self.parts(before, 4, 1)
        i, o, f = (self.emit("Sigmoid", gate) for gate in (i, o, f))
        cell = self.emit("Add", self.emit("Mul", f, state[1]), self.emit("Mul", i, self.emit("Tanh", c)))
        return [self.emit("Mul", o, self.emit("Tanh", cell)), cell]

    def gru_step(self, x, state, w, r, biases):
        """Of linear_before_reset."""
        z, reset, h = self.parts(self.emit("Add", self.emit("MatMul", x, w), biases[0]), 3, 1)
        z2, reset2, h2 = self.parts(self.emit("Add", self.emit("MatMul", state[0], r), biases[1]), 3, 1)
        z, reset = (self.emit("Sigmoid", self.emit("Add", *pair)) for pair in ((z, z2), (reset, reset2)))
        h = self.emit("Tanh", self.emit("Add", h, self.emit("Mul", reset, h2)))
        return [self.emit("Add", h, self.emit("Mul", z, self.emit("Sub", state[0], h)))]

    def recurrence(self, node, given, step, states):
        """All steps of all directions, one behind the other. `states` are the inputs that the states begin with."""
        x, w, r, b = node.input[:4]
        length, batch, _ = self.shapes[x]
        count, hidden = self.shapes[w][0], given["hidden_size"]
        assert not node.input[4] and all(len(node.input) > i and node.input[i] for i in states) and set(given) <= {"direction", "hidden_size", "linear_before_reset"}, given
        assert node.op_type != "GRU" or given.get("linear_before_reset"), given
        rows = [self.reshape(row, batch, -1) for row in (self.parts(x, length, 0) if length > 1 else [x])]
        split = lambda name: self.parts(name, count, 0) if count > 1 else [name]
        flat = lambda name: self.emit("Squeeze", name, self.integers(0))
        each_y, ends = [], []
        for d, values in enumerate(zip(*(split(name) for name in (w, r, b, *(node.input[i] for i in states))))):
            own_w, own_r = (self.emit("Transpose", flat(name), perm=[1, 0]) for name in values[:2])
            biases, state = self.parts(flat(values[2]), 2, 0), [flat(name) for name in values[3:]]
            turned = d == 1 or given.get("direction") == b"reverse"
            ys = []
            for row in reversed(rows) if turned else rows:
                state = step(self, row, state, own_w, own_r, biases)
                ys.append(self.reshape(state[0], 1, 1, batch, hidden))
            each_y.append(self.emit("Concat", *(reversed(ys) if turned else ys), axis=0))
            ends.append([self.reshape(name, 1, batch, hidden) for name in state])
        for output, names, axis in zip(node.output, [each_y, *zip(*ends)], (1, 0, 0)):
            if output:
                self.emit("Concat", *names, axis=axis, output=output)


RULES = {
    "AveragePool": WideOps.mean_of_windows,
    "Conv": WideOps.convolution,
    "ConvTranspose": WideOps.transposed_convolution,
    "DequantizeLinear": WideOps.dequantize,
    "Erf": lambda ops, node, given: ops.erf(node.input[0], node.output[0]),
    "Gelu": WideOps.gelu,
    "GRU": lambda ops, node, given: ops.recurrence(node, given, WideOps.gru_step, (5,)),
    "GlobalAveragePool": WideOps.mean_of_image,
    "InstanceNormalization": WideOps.instance_norm,
    "LSTM": lambda ops, node, given: ops.recurrence(node, given, WideOps.lstm_step, (5, 6)),
    "Resize": WideOps.linear_resize,
}


def names_of_sizes(graph):
    """The tensors whose sizes replace_ops needs."""
    return sorted({name for node in graph.node if node.op_type in RULES for name in [*node.input, *node.output] if name})


def replace_ops(graph, shapes):
    """Changes the graph: the ops that RULES has are made of others. It is to be of f64."""
    ops = WideOps(shapes)
    for node in graph.node:
        if node.op_type in RULES:
            RULES[node.op_type](ops, node, {each.name: helper.get_attribute_value(each) for each in node.attribute})
        else:
            ops.nodes.append(node)
    nodes = list(ops.nodes)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(ops.constants)
