#!/usr/bin/env python3
"""A fully convolutional detector with free batch, height and width, as an ONNX model: a backbone of strided residual stages, a feature
pyramid that is scaled up by Resize and by ConvTranspose and joined by Concat, and two heads on each level.

  make_detector.py OUT.onnx

66 convolutions; weights drawn from one seed. The sizes of a picture must be multiples of 32, or the levels of the pyramid do not fit.
"""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


class Builder:
    def __init__(self):
        self.random = np.random.default_rng(17)
        self.nodes, self.weights, self.count = [], [], 0

    def name(self, kind):
        self.count += 1
        return f"{kind}_{self.count}"

    def constant(self, array):
        name = self.name("weight")
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind, *inputs, **attributes):
        name = self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def drawn(self, *shape):
        return self.constant((self.random.standard_normal(shape) * np.sqrt(1.5 / np.prod(shape[1:]))).astype(np.float32))

    def conv(self, x, channels, out, kernel=3, stride=1, group=1, relu=True):
        pad = kernel // 2
        y = self.add("Conv", x, self.drawn(out, channels // group, kernel, kernel), self.constant(np.zeros(out, np.float32)),
                     kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
        return self.add("Relu", y) if relu else y

    def residual(self, x, channels):
        y = self.conv(x, channels, channels // 2, kernel=1)
        y = self.conv(y, channels // 2, channels, relu=False)
        return self.add("Relu", self.add("Add", x, y))

    def twice(self, x, channels, by_resize):
        if by_resize:
            return self.add("Resize", x, "", self.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
                            coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return self.add("ConvTranspose", x, self.drawn(channels, channels, 2, 2), kernel_shape=[2, 2], strides=[2, 2])


def make_model():
    b = Builder()
    x = b.conv("image", 3, 8, stride=2)
    channels, levels = 8, []
    for blocks in (3, 4, 5, 4):
        x = b.conv(x, channels, channels * 2, stride=2)
        channels *= 2
        for _ in range(blocks):
            x = b.residual(x, channels)
        levels.append((x, channels))
    merged = b.conv(x, channels, 32, kernel=1)
    pyramid = [merged]
    for index, (level, width) in enumerate(reversed(levels[:-1])):
        up = b.twice(merged, 32, by_resize=index % 2 == 0)
        side = b.conv(level, width, 32, kernel=1)
        merged = b.conv(b.add("Concat", up, side, axis=1), 64, 32)
        merged = b.residual(merged, 32)
        pyramid.append(merged)
    outputs = []
    for index, level in enumerate(reversed(pyramid)):
        scores = b.conv(b.conv(level, 32, 32, group=32), 32, 5, kernel=1, relu=False)
        boxes = b.conv(b.conv(level, 32, 32), 32, 4, kernel=1, relu=False)
        for name, value in ((f"scores_{index}", b.add("Sigmoid", scores)), (f"boxes_{index}", boxes)):
            b.nodes.append(helper.make_node("Identity", [value], [name], name=name))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, "height", "width"])
    graph = helper.make_graph(b.nodes, "detector", [image], outputs, b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


if __name__ == "__main__":
    save(make_model(), sys.argv[1])
