"""An ONNX model as a module of PyTorch, and what trains it: for bench-peer. Each node is the call of PyTorch that computes it, on the file's weights.

Needs the packages `torch`, `onnx` and `numpy`. What is not in the tables below is an error that names it.
"""
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F

OPS = {}


def op(*names, whole=()):
    """Registers the function of an op: of its attributes and operands. Operands at the places `whole` come as lists of numbers."""

    def register(function):
        for name in names:
            OPS[name] = function, whole
        return function

    return register


def unary(name, function):
    OPS[name] = (lambda a, x: function(x)), ()


def binary(name, function):
    OPS[name] = (lambda a, x, y: function(x, y)), ()


for _name, _function in {"Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "Ceil": torch.ceil,
                         "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf, "Exp": torch.exp, "Floor": torch.floor, "HardSwish": F.hardswish, "Identity": lambda x: x,
                         "IsNaN": torch.isnan, "Log": torch.log, "Mish": F.mish, "Neg": torch.neg, "Not": torch.logical_not, "Reciprocal": torch.reciprocal, "Relu": torch.relu,
                         "Round": torch.round, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Softplus": F.softplus, "Softsign": F.softsign,
                         "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh}.items():
    unary(_name, _function)
for _name, _function in {"Add": torch.add, "And": torch.logical_and, "Div": lambda x, y: x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"),
                         "Equal": torch.eq, "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Less": torch.lt, "LessOrEqual": torch.le, "MatMul": torch.matmul,
                         "Max": torch.maximum, "Min": torch.minimum, "Mul": torch.mul, "Or": torch.logical_or, "Pow": torch.pow, "Sub": torch.sub}.items():
    binary(_name, _function)


@op("Gemm")
def _gemm(a, x, w, bias=None):
    x, w = x.T if a.get("transA", 0) else x, w if a.get("transB", 0) else w.T
    alpha, beta = a.get("alpha", 1.0), a.get("beta", 1.0)
    if alpha == 1 and beta == 1 and (bias is None or bias.dim() == 1):
        return F.linear(x, w, bias)
    y = alpha * (x @ w.T)
    return y if bias is None else y + beta * bias


def spatial_padding(a, rank):
    """The padding of a convolution or pool: one number for each dimension, and what F.pad is to add before where both ends differ."""
    if a.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise ValueError(f"auto_pad {a['auto_pad'].decode()} is not known here")
    pads = a.get("pads", [0] * 2 * rank)
    begins, ends = pads[:rank], pads[rank:]
    if begins == ends:
        return begins, None
    return [0] * rank, [size for pair in reversed(list(zip(begins, ends))) for size in pair]


@op("Conv")
def _conv(a, x, w, bias=None):
    rank = x.dim() - 2
    padding, before = spatial_padding(a, rank)
    x = F.pad(x, before) if before else x
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return convolve(x, w, bias, a.get("strides", [1] * rank), padding, a.get("dilations", [1] * rank), a.get("group", 1))


@op("ConvTranspose")
def _conv_transpose(a, x, w, bias=None):
    rank = x.dim() - 2
    padding, before = spatial_padding(a, rank)
    if before or "output_shape" in a:
        raise ValueError("a ConvTranspose with output_shape or padding that differs at both ends is not known here")
    convolve = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    return convolve(x, w, bias, a.get("strides", [1] * rank), padding, a.get("output_padding", [0] * rank), a.get("group", 1), a.get("dilations", [1] * rank))


@op("MaxPool")
def _max_pool(a, x):
    rank = x.dim() - 2
    padding, before = spatial_padding(a, rank)
    x = F.pad(x, before, value=float("-inf")) if before else x
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
    return pool(x, a["kernel_shape"], a.get("strides", [1] * rank), padding, a.get("dilations", [1] * rank), bool(a.get("ceil_mode", 0)))


@op("AveragePool")
def _average_pool(a, x):
    rank = x.dim() - 2
    padding, before = spatial_padding(a, rank)
    if before or a.get("dilations", [1] * rank) != [1] * rank:
        raise ValueError("an AveragePool with dilations or padding that differs at both ends is not known here")
    pool = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    return pool(x, a["kernel_shape"], a.get("strides", [1] * rank), padding, bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0)))


@op("GlobalAveragePool")
def _global_average_pool(a, x):
    return x.mean(tuple(range(2, x.dim())), keepdim=True)


@op("GlobalMaxPool")
def _global_max_pool(a, x):
    return x.amax(tuple(range(2, x.dim())), keepdim=True)


@op("LpPool")
def _lp_pool(a, x):
    rank = x.dim() - 2
    if any(a.get("pads", ())) or a.get("dilations", [1] * rank) != [1] * rank:
        raise ValueError("an LpPool with padding or dilations is not known here")
    pool = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}[rank]
    return pool(x, float(a.get("p", 2)), a["kernel_shape"], a.get("strides", [1] * rank), bool(a.get("ceil_mode", 0)))


@op("GlobalLpPool")
def _global_lp_pool(a, x):
    return torch.linalg.vector_norm(x, float(a.get("p", 2)), tuple(range(2, x.dim())), keepdim=True)


@op("Einsum")
def _einsum(a, *operands):
    return torch.einsum(a["equation"].decode(), *operands)


@op("InstanceNormalization")
def _instance_norm(a, x, scale, bias):
    return F.instance_norm(x, None, None, scale, bias, eps=a.get("epsilon", 1e-5))


@op("GroupNormalization")
def _group_norm(a, x, scale, bias):
    return F.group_norm(x, a["num_groups"], scale, bias, a.get("epsilon", 1e-5))


@op("LayerNormalization")
def _layer_norm(a, x, scale, bias=None):
    return F.layer_norm(x, x.shape[a.get("axis", -1):], scale, bias, a.get("epsilon", 1e-5))


@op("Softmax")
def _softmax(a, x):
    return x.softmax(a.get("axis", -1))


@op("LogSoftmax")
def _log_softmax(a, x):
    return x.log_softmax(a.get("axis", -1))


@op("Gelu")
def _gelu(a, x):
    return F.gelu(x, approximate=a.get("approximate", b"none").decode())


@op("LeakyRelu")
def _leaky_relu(a, x):
    return F.leaky_relu(x, a.get("alpha", 0.01))


@op("Elu")
def _elu(a, x):
    return F.elu(x, a.get("alpha", 1.0))


@op("HardSigmoid")
def _hard_sigmoid(a, x):
    return (x * a.get("alpha", 0.2) + a.get("beta", 0.5)).clamp(0, 1)


@op("Clip", whole=(1, 2))
def _clip(a, x, low=None, high=None):
    return x.clamp(low if low is None else low[0], high if high is None else high[0])


@op("Reshape", whole=(1,))
def _reshape(a, x, sizes):
    return x.reshape([x.shape[i] if size == 0 and not a.get("allowzero", 0) else size for i, size in enumerate(sizes)])


@op("Flatten")
def _flatten(a, x):
    axis = a.get("axis", 1)
    rows = 1
    for size in x.shape[:axis]:
        rows *= size
    return x.reshape(rows, -1)


@op("Transpose")
def _transpose(a, x):
    return x.permute(a.get("perm", list(reversed(range(x.dim())))))


@op("Concat")
def _concat(a, *parts):
    return torch.cat(parts, a["axis"])


@op("Split", whole=(1,))
def _split(a, x, sizes=None):
    axis = a.get("axis", 0)
    return x.split(sizes or x.shape[axis] // a["outputs"], axis)


@op("Slice", whole=(1, 2, 3, 4))
def _slice(a, x, starts, ends, axes=None, steps=None):
    for axis, start, end, step in zip(axes or range(len(starts)), starts, ends, steps or [1] * len(starts)):
        if step < 1:
            raise ValueError(f"a Slice with the step {step} is not known here")
        size = x.shape[axis]
        start, end = (min(max(place + size if place < 0 else place, 0), size) for place in (start, end))
        x = x.narrow(axis, start, max(end - start, 0))
        if step > 1:
            x = x[(slice(None),) * (axis % x.dim()) + (slice(None, None, step),)]
    return x


@op("Squeeze", whole=(1,))
def _squeeze(a, x, axes=None):
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@op("Unsqueeze", whole=(1,))
def _unsqueeze(a, x, axes):
    rank = x.dim() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@op("Expand", whole=(1,))
def _expand(a, x, sizes):
    return x.broadcast_to(torch.broadcast_shapes(x.shape, tuple(sizes)))


@op("Gather")
def _gather(a, x, at):
    axis = a.get("axis", 0)
    # A table of rows is what PyTorch calls an embedding.
    if axis == 0 and x.dim() == 2 and x.requires_grad:
        return F.embedding(at, x)
    at = at.where(at >= 0, at + x.shape[axis])
    return x.index_select(axis, at.reshape(-1)).reshape(x.shape[:axis] + at.shape + x.shape[axis + 1:])


@op("GatherND")
def _gather_nd(a, x, at):
    if a.get("batch_dims", 0):
        raise ValueError("a GatherND with batch_dims is not known here")
    return x[tuple(at.unbind(-1))]


@op("Range", whole=(0, 1, 2))
def _range(a, start, end, step):
    return torch.arange(start[0], end[0], step[0])


@op("Tile", whole=(1,))
def _tile(a, x, times):
    return x.repeat(times)


@op("Where")
def _where(a, condition, x, y):
    return torch.where(condition, x, y)


@op("Cast")
def _cast(a, x):
    return x.to(torch.from_numpy(onnx.helper.tensor_dtype_to_np_dtype(a["to"]).type(0).reshape(())).dtype)


@op("Shape")
def _shape(a, x):
    return torch.tensor(x.shape[a.get("start", 0):a.get("end", x.dim())])


@op("ConstantOfShape", whole=(0,))
def _constant_of_shape(a, sizes):
    value = torch.from_numpy(numpy_helper.to_array(a["value"]).copy()) if "value" in a else torch.zeros(1)
    return value.reshape(()).expand(sizes)


@op("ReduceMean", whole=(1,))
def _reduce_mean(a, x, axes=None):
    return x.mean(axes or a.get("axes") or list(range(x.dim())), keepdim=bool(a.get("keepdims", 1)))


@op("ReduceSum", whole=(1,))
def _reduce_sum(a, x, axes=None):
    return x.sum(axes or list(range(x.dim())), keepdim=bool(a.get("keepdims", 1)))


def axes_of(a, x, axes):
    return axes or a.get("axes") or list(range(x.dim()))


for _name, _function in {"ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceL2": lambda x, axes, keepdim: torch.linalg.vector_norm(x, 2, axes, keepdim),
                         "ReduceL1": lambda x, axes, keepdim: torch.linalg.vector_norm(x, 1, axes, keepdim), "ReduceLogSumExp": torch.logsumexp,
                         "ReduceSumSquare": lambda x, axes, keepdim: (x * x).sum(axes, keepdim)}.items():
    OPS[_name] = (lambda a, x, axes=None, function=_function: function(x, axes_of(a, x, axes), bool(a.get("keepdims", 1)))), (1,)


@op("ArgMax")
def _arg_max(a, x):
    return x.argmax(a.get("axis", 0), bool(a.get("keepdims", 1)))


@op("ArgMin")
def _arg_min(a, x):
    return x.argmin(a.get("axis", 0), bool(a.get("keepdims", 1)))


@op("TopK", whole=(1,))
def _top_k(a, x, count):
    return tuple(x.topk(count[0], a.get("axis", -1), bool(a.get("largest", 1)), bool(a.get("sorted", 1))))


@op("CumSum", whole=(1,))
def _cum_sum(a, x, axis):
    if a.get("exclusive", 0) or a.get("reverse", 0):
        raise ValueError("a CumSum that is exclusive or goes backwards is not known here")
    return x.cumsum(axis[0])


@op("GatherElements")
def _gather_elements(a, x, at):
    return x.gather(a.get("axis", 0), at)


@op("Pad", whole=(1, 2, 3))
def _pad(a, x, sizes, value=None, axes=None):
    mode = a.get("mode", b"constant").decode()
    if axes is not None or mode != "constant":
        raise ValueError("a Pad with axes or of another mode than constant is not known here")
    begins, ends = sizes[:x.dim()], sizes[x.dim():]
    return F.pad(x, [size for pair in reversed(list(zip(begins, ends))) for size in pair], value=value[0] if value else 0.0)


class Model(nn.Module):
    """The graph of a file. Initializers named in `trained` are parameters; batch norms whose mean is in `collected` compute those of the batch and collect
    them, others use what the file has."""

    def __init__(self, path, trained=(), collected=()):
        super().__init__()
        proto = onnx.load(path)
        self.graph, self.drops = proto.graph, bool(trained)
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        nodes = []
        for node in self.graph.node:
            if node.op_type == "Constant":
                arrays[node.output[0]] = constant_of(node)
            else:
                nodes.append(node)
        missing = sorted(set(trained) - set(arrays))
        if missing:
            raise ValueError(f"'{path}' has no initializer '{missing[0]}', which the module trains; give the model that it was compiled from")
        unknown = sorted({node.op_type for node in nodes if node.op_type not in {*OPS, "BatchNormalization", "Dropout"} or node.domain not in ("", "ai.onnx")})
        if unknown:
            raise ValueError(f"'{path}' has ops that this script knows no call of PyTorch for: {', '.join(unknown)}")
        self.inputs = [value.name for value in self.graph.input if value.name not in arrays]
        self.outputs = [value.name for value in self.graph.output]
        # By name: what the file holds, and the same as lists of numbers where they may be sizes.
        self.constants = {name: torch.from_numpy(array.copy()) for name, array in arrays.items() if name not in trained}
        self.numbers = {name: array.reshape(-1).tolist() for name, array in self.constants.items() if array.numel() <= 64}
        self.trained = nn.ParameterDict()
        for number, name in enumerate(trained):
            self.constants[name] = self.trained[f"w{number}"] = nn.Parameter(torch.from_numpy(arrays[name].copy()))
        self.steps = [self.step_of(node, collected) for node in nodes]

    def step_of(self, node, collected):
        """(call, names of operands, names of results)"""
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        attributes["outputs"] = len(node.output)
        if node.op_type == "BatchNormalization":
            of_batch = node.input[3] in collected
            momentum, epsilon = 1 - attributes.get("momentum", 0.9), attributes.get("epsilon", 1e-5)
            call = lambda x, scale, bias, mean, variance: F.batch_norm(x, mean, variance, scale, bias, of_batch, momentum, epsilon)
            return call, list(node.input), list(node.output)[:1]
        if node.op_type == "Dropout":
            [ratio] = self.numbers.get(node.input[1], [None]) if len(node.input) > 1 else [0.5]
            if ratio is None:
                raise ValueError(f"the ratio of '{node.name}' (Dropout) is no constant")
            return (lambda x: F.dropout(x, ratio, self.drops)), [node.input[0]], list(node.output)[:1]
        function, whole = OPS[node.op_type]
        numbers = {place: self.numbers.get(name) for place, name in enumerate(node.input) if place in whole and name}

        def call(*operands):
            given = [operand if place not in numbers else operand.reshape(-1).tolist() if numbers[place] is None else numbers[place]
                     for place, operand in enumerate(operands)]
            return function(attributes, *given)

        return call, list(node.input), list(node.output)

    def forward(self, *inputs, wanted=None):
        """The outputs, or the values of these names."""
        values = {**self.constants, **dict(zip(self.inputs, inputs))}
        for call, operands, results in self.steps:
            found = call(*(values[name] if name else None for name in operands))
            for name, value in zip(results, found if isinstance(found, (tuple, list)) else [found]):
                values[name] = value
        return [values[name] for name in wanted or self.outputs]


def constant_of(node):
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return numpy_helper.to_array(value)
        kinds = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
        if attribute.name in kinds:
            return numpy_helper.np.array(value, kinds[attribute.name])
    raise ValueError(f"'{node.name}' (Constant) has no numbers")


def parse(text):
    """NAME, the entry without '=' or None, and the keys of NAME[:[ENTRY][,KEY=VALUE...]]."""
    name, _, rest = text.partition(":")
    entries = [entry for entry in rest.split(",") if entry]
    value = lambda text: {"true": 1.0, "false": 0.0}.get(text) if text in ("true", "false") else float(text)
    keys = {key: value(number) for key, _, number in (entry.partition("=") for entry in entries if "=" in entry)}
    return name, next((entry for entry in entries if "=" not in entry), None), keys


class Loss:
    """`--loss=` of vx-compile, of a model's outputs."""

    def __init__(self, text, model):
        self.name, output, self.keys = parse(text)
        floats = [value.name for value in model.graph.output if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
        self.output = output or floats[0]
        # Cross entropy of what a Softmax makes takes the Softmax's input.
        makers = {node.output[0]: node for node in model.graph.node}
        if self.name == "cross_entropy" and self.output in makers and makers[self.output].op_type == "Softmax":
            self.output = makers[self.output].input[0]

    def __call__(self, y, target=None):
        keys = self.keys
        if self.name in ("cross_entropy", "nll"):
            axis = int(keys.get("axis", -1)) % y.dim()
            if axis == y.dim() - 1:  # rows are rows, however many dimensions they are counted by
                y = y.reshape(-1, y.shape[-1])
                target = target.reshape(-1) if not keys.get("soft") else target.reshape(y.shape)
            else:
                y, target = y.movedim(axis, 1), target.movedim(axis, 1) if keys.get("soft") else target
            ignored = {"ignore_index": int(keys["ignore_index"])} if "ignore_index" in keys else {}
            if self.name == "nll":
                return F.nll_loss(y, target, **ignored)
            return F.cross_entropy(y, target, label_smoothing=keys.get("smoothing", 0.0), **ignored)
        if self.name == "none":
            return y.mean()
        if self.name == "huber":
            return F.huber_loss(y, target, delta=keys.get("delta", 1.0))
        if self.name == "kl":
            return F.kl_div(y, target, reduction="batchmean")
        known = {"mse": F.mse_loss, "l1": F.l1_loss, "bce": F.binary_cross_entropy, "bce_logits": F.binary_cross_entropy_with_logits}
        if self.name not in known:
            raise ValueError(f"this script knows no loss '{self.name}' of PyTorch")
        return known[self.name](y, target)


class Optimizer:
    """`--optimizer=` and the clipping of vx-compile, as a module's training table says them."""

    def __init__(self, text, parameters, rate):
        name, _, keys = parse(text)
        self.parameters = list(parameters)
        self.norm, self.value = keys.pop("clip_norm", None), keys.pop("clip_value", None)
        betas = {"betas": (keys.pop("beta1"), keys.pop("beta2"))} if "beta1" in keys else {}
        flags = {key: bool(keys.pop(key)) for key in ("nesterov", "centered") if key in keys}
        # A step of a tiny model would mostly be launches without the fused optimizer.
        known = {"sgd": (torch.optim.SGD, {"fused": True}), "adam": (torch.optim.Adam, {"fused": True}), "adamw": (torch.optim.AdamW, {"fused": True}),
                 "adagrad": (torch.optim.Adagrad, {"fused": True}), "rmsprop": (torch.optim.RMSprop, {})}
        if name not in known:
            raise ValueError(f"PyTorch has no optimizer '{name}', expected one of {', '.join(known)}")
        make, more = known[name]
        self.optimizer = make(self.parameters, lr=rate, **betas, **flags, **keys, **more)

    def step(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if self.norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.norm)
        if self.value is not None:
            nn.utils.clip_grad_value_(self.parameters, self.value)
        self.optimizer.step()
