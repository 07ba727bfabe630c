"""The networks of the self-check: the trained digits of the examples, and four whose weights are inputs."""
from cases import Case, Input, UNIT, close, tensor


class Body:
    """Lines of a function and the types of its values."""

    def __init__(self):
        self.lines, self.types, self.inputs = [], {}, {}

    def input(self, name, dims, low=-1.0, high=1.0):
        self.inputs[name] = Input("f32", dims, low, high)
        self.types[name] = dims
        return name

    def add(self, op, operands, dims):
        name = f"v{len(self.lines)}"
        kinds = ", ".join(tensor("f32", self.types[operand]) for operand in operands)
        self.lines.append(f"  %{name} = vx.{op.format(*('%' + operand for operand in operands))} : {kinds}")
        self.types[name] = dims
        return name

    def constant(self, value, dims):
        scalar = f"v{len(self.lines)}"
        self.lines.append(f"  %{scalar} = vx.constant dense<{value:e}> : tensor<f32>")
        return self.broadcast_of(scalar, [], [], dims)

    def broadcast_of(self, name, own, axes, dims):
        result = f"v{len(self.lines)}"
        self.lines.append(f"  %{result} = vx.broadcast %{name}, {axes} : {tensor('f32', own)} -> {tensor('f32', dims)}")
        self.types[result] = dims
        return result

    def broadcast(self, name, axes, dims):
        return self.broadcast_of(name, self.types[name], axes, dims)

    def reshape(self, name, dims):
        result = f"v{len(self.lines)}"
        self.lines.append(f"  %{result} = vx.reshape %{name} : {tensor('f32', self.types[name])} -> {tensor('f32', dims)}")
        self.types[result] = dims
        return result

    def binary(self, op, first, second):
        return self.add(f"{op} {{}}, {{}}", [first, second], self.types[first])

    def relu(self, name):
        return self.binary("max", name, self.constant(0, self.types[name]))

    def linear(self, name, key, width):
        """The last dimension times a matrix, and a bias."""
        dims = self.types[name]
        bound = dims[-1] ** -0.5
        weight, bias = self.input(f"{key}_weight", [dims[-1], width], -bound, bound), self.input(f"{key}_bias", [width], -bound, bound)
        out = dims[:-1] + [width]
        product = self.add(f"contract {{}}, {{}} batch = [] x [] contracting = [{len(dims) - 1}] x [0]", [name, weight], out)
        return self.binary("add", product, self.broadcast(bias, [len(dims) - 1], out))

    def gelu(self, name):
        dims = self.types[name]
        inner = self.add("erf {}", [self.binary("mul", name, self.constant(0.5**0.5, dims))], dims)
        return self.binary("mul", self.binary("mul", name, self.constant(0.5, dims)), self.binary("add", inner, self.constant(1, dims)))

    def layer_norm(self, name, key):
        dims = self.types[name]
        scale, bias = self.input(f"{key}_scale", dims[-1:], 0.5, 1.5), self.input(f"{key}_bias", dims[-1:])
        return self.add(f"layer_norm {{}}, {{}}, {{}} axis = {len(dims) - 1} epsilon = 1.000000e-05", [name, scale, bias], dims)

    def conv(self, name, key, filters, kernel, stride, groups=1):
        batch, channels, height, width = self.types[name]
        bound = (channels // groups * kernel * kernel) ** -0.5
        weight, bias = self.input(f"{key}_weight", [filters, channels // groups, kernel, kernel], -bound, bound), self.input(f"{key}_bias", [filters], -bound, bound)
        low = kernel // 2
        dims = [batch, filters, (height + 2 * low - kernel) // stride + 1, (width + 2 * low - kernel) // stride + 1]
        out = self.add(f"conv {{}}, {{}} strides = [{stride}, {stride}] dilations = [1, 1] pads = [{low}, {low}] x [{low}, {low}] groups = {groups}", [name, weight], dims)
        return self.binary("add", out, self.broadcast(bias, [1], dims))

    def case(self, name, result, rule):
        lines = [*self.lines, f"  %y = vx.reshape %{result} : {tensor('f32', self.types[result])} -> {tensor('f32', self.types[result])}"]
        return Case(name, self.inputs, "\n".join(lines), {"y": (tensor("f32", self.types[result]), rule)})


def perceptron(name, rule):
    body = Body()
    x = body.input("x", [8, 96])
    for layer, width in (("first", 128), ("second", 64)):
        x = body.relu(body.linear(x, layer, width))
    x = body.linear(x, "last", 10)
    return body.case(name, body.add("softmax {} axis = 1", [x], body.types[x]), rule)


def residual():
    """A stem, two residual blocks, a depthwise one, a mean over places and a linear layer."""
    body = Body()
    x = body.relu(body.conv(body.input("x", [2, 3, 32, 32]), "stem", 16, 3, 2))
    for block in ("first", "second"):
        inner = body.relu(body.conv(x, f"{block}_in", 16, 3, 1))
        x = body.relu(body.binary("add", body.conv(inner, f"{block}_out", 16, 3, 1), x))
    x = body.relu(body.conv(body.conv(x, "depthwise", 16, 3, 2, 16), "pointwise", 32, 1, 1))
    batch, channels, height, width = body.types[x]
    total = body.add("reduce sum {} axes = [2, 3]", [x], [batch, channels])
    mean = body.binary("mul", total, body.constant(1 / (height * width), [batch, channels]))
    return body.case("residual", body.linear(mean, "head", 10), close(300))


def transformer():
    """Two layers of an encoder: attention of four heads, GELU, layer norms in front."""
    body = Body()
    batch, length, heads, depth = 2, 17, 4, 16
    x = body.input("x", [batch, length, heads * depth])
    for layer in ("first", "second"):
        norm = body.layer_norm(x, f"{layer}_norm")
        parts = [body.reshape(body.linear(norm, f"{layer}_{key}", heads * depth), [batch, length, heads, depth]) for key in ("query", "key", "value")]
        kinds = ", ".join([tensor("f32", [batch, length, heads, depth])] * 3)
        out = f"v{len(body.lines)}"
        inside = [0, 2, 1, 3]
        body.lines.append(f"  %{out} = vx.attention {', '.join('%' + part for part in parts)} scale = {depth ** -0.5:e} "
                          f"dims = {inside} x {inside} x {inside} -> {inside} : {kinds} -> {tensor('f32', [batch, length, heads, depth])}")
        body.types[out] = [batch, length, heads, depth]
        x = body.binary("add", x, body.linear(body.reshape(out, [batch, length, heads * depth]), f"{layer}_out", heads * depth))
        hidden = body.gelu(body.linear(body.layer_norm(x, f"{layer}_second_norm"), f"{layer}_up", 128))
        x = body.binary("add", x, body.linear(hidden, f"{layer}_down", heads * depth))
    return body.case("transformer", body.layer_norm(x, "final"), close(400))


def recurrent():
    """A cell that the host runs for each step of a sequence."""
    state, weight = tensor("f32", [4, 48]), tensor("f32", [48, 48])
    product = "batch = [] x [] contracting = [1] x [0]"
    return Case("recurrent", {"x": Input("f32", [12, 4, 48]), "h": Input("f32", [4, 48]), "w": Input("f32", [48, 48], -0.15, 0.15), "u": Input("f32", [48, 48], -0.15, 0.15),
                              "n": Input("i64", [], 12, 12)}, f"""
  %true = vx.constant dense<true> : tensor<i1>
  %y = vx.loop "step" trip_count(%n) inits(%h : {state}) -> {state} {{
  ^bb0(%before: {state}):
    %place = vx.dim_value <step>
    %now = vx.gather %x, %place axis = 0 : tensor<12x4x48xf32>, tensor<i64>
    %in = vx.contract %now, %w {product} : {state}, {weight}
    %kept = vx.contract %before, %u {product} : {state}, {weight}
    %sum = vx.add %in, %kept : {state}, {state}
    %next = vx.tanh %sum : {state}
    vx.yield %true, %next : tensor<i1>, {state}
  }}""", {"y": (state, close(200))}, 'vx.symbol data_dependent "step"\n')


# Each a case and its options of vx-compile.
NETWORKS = [
    (residual(), []),
    (transformer(), []),
    (recurrent(), []),
    (perceptron("perceptron_f16", {"rule": "close", "rms": 4 * UNIT["f16"], "largest": 16 * UNIT["f16"]}), ["--precision=f16"]),
]
DIGITS_RULE = close(300)
