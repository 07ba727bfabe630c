"""Layers of vx.nn: names, layouts and first values of parameters are those of PyTorch's layers, and the nodes those of the C++ builder's (vx/builder/layers.hpp)."""
from . import _nn_functions as F
from ._nn_graph import Init, constant, fail, node
from ._nn_module import Module, Parameter, Statistic

__all__ = ["AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d",
           "ConvTranspose3d", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GRU", "GroupNorm", "Hardsigmoid", "Hardswish", "Identity", "LSTM", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax",
           "MLP", "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish", "ModuleList", "MultiheadAttention", "RMSNorm", "RNN", "ReLU", "SELU", "Sequential", "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh",
           "TransformerEncoderLayer"]


def _want(name, dtype=float, least=None, **given):
    for key, value in given.items():
        if not isinstance(value, (int, float) if dtype is float else dtype) or isinstance(value, bool) or least is not None and value < least:
            raise ValueError(f"{name}: {key}: expected {'a number' if dtype is float else 'a whole number'}{'' if least is None else f' of {least} or more'}, got {value!r}")


def _window(name, dims, **given):
    """Each as a list of a number for each dimension."""
    made = []
    for key, value in given.items():
        numbers = [value] * dims if isinstance(value, int) else list(value)
        least = 0 if key in ("padding", "output_padding") else 1
        if len(numbers) != dims or not all(isinstance(number, int) and number >= least for number in numbers):
            raise ValueError(f"{name}: {key}: expected a number of {least} or more, or {dims} of them, got {value!r}")
        made.append(numbers)
    return made


def _check_rank(layer, x, rank):
    if x.ndim != rank:
        fail(type(layer).__name__, f"expected an input of {rank} dimensions, got {list(x.shape)}")


def _check_size(layer, x, dim, size, what):
    have = x.shape[dim]
    if isinstance(have, int) and have != size:
        fail(type(layer).__name__, f"expected {size} {what}, got {have} in {list(x.shape)}")


class Linear(Module):
    """y = x weight^T + bias over the last dimension: [..., in_features] to [..., out_features]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__()
        _want("Linear", int, 1, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        init = Init.kaiming_uniform(in_features)
        self.weight = Parameter(out_features, in_features, init=init)
        self.bias = Parameter(out_features, init=init) if bias else None

    def forward(self, x):
        _check_size(self, x, -1, self.in_features, "features")
        return F.linear(x, self.weight, self.bias)

    def _describe(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class _Conv(Module):
    DIMS, IS_TRANSPOSED = 2, False

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1, bias: bool = True):
        super().__init__()
        self._begin(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)

    def _begin(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias):
        name = type(self).__name__
        _want(name, int, 1, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{name}: groups: expected a divisor of {in_channels} and {out_channels} channels, got {groups}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = _window(name, self.DIMS, kernel_size=kernel_size, stride=stride, dilation=dilation)
        if padding == "same" and not self.IS_TRANSPOSED:
            if any(one != 1 for one in self.stride):
                raise ValueError(f"{name}: padding: expected a stride of 1 for 'same', got {stride}")
            total = [dilation * (kernel - 1) for dilation, kernel in zip(self.dilation, self.kernel_size)]
            self.pads = [one // 2 for one in total] + [one - one // 2 for one in total]
        else:
            self.pads = _window(name, self.DIMS, padding=0 if padding == "valid" else padding)[0] * 2
        first, second = (in_channels, out_channels // groups) if self.IS_TRANSPOSED else (out_channels, in_channels // groups)
        fan = second
        for size in self.kernel_size:
            fan *= size
        init = Init.kaiming_uniform(fan)
        self.weight = Parameter(first, second, *self.kernel_size, init=init)
        self.bias = Parameter(out_channels, init=init) if bias else None

    def forward(self, x):
        _check_rank(self, x, self.DIMS + 2)
        _check_size(self, x, 1, self.in_channels, "channels")
        return node("Conv", x, self.weight, *(() if self.bias is None else (self.bias,)), kernel_shape=self.kernel_size, strides=self.stride, pads=self.pads, dilations=self.dilation, group=self.groups)

    def _describe(self):
        return f"{self.in_channels}, {self.out_channels}, kernel_size={tuple(self.kernel_size)}, stride={tuple(self.stride)}, pads={tuple(self.pads)}, groups={self.groups}"


class Conv1d(_Conv):
    """A convolution: [batch, in_channels, length] to [batch, out_channels, ...]. `padding` may be "same" or "valid"."""

    DIMS = 1


class Conv2d(_Conv):
    """A convolution: [batch, in_channels, height, width] to [batch, out_channels, ...]. `padding` may be "same" or "valid"."""


class Conv3d(_Conv):
    """A convolution: [batch, in_channels, depth, height, width] to [batch, out_channels, ...]. `padding` may be "same" or "valid"."""

    DIMS = 3


class _ConvTranspose(_Conv):
    IS_TRANSPOSED = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1, bias: bool = True, dilation=1):
        Module.__init__(self)
        self._begin(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.output_padding, = _window(type(self).__name__, self.DIMS, output_padding=output_padding)

    def forward(self, x):
        _check_rank(self, x, self.DIMS + 2)
        _check_size(self, x, 1, self.in_channels, "channels")
        return node("ConvTranspose", x, self.weight, *(() if self.bias is None else (self.bias,)), kernel_shape=self.kernel_size, strides=self.stride, pads=self.pads, dilations=self.dilation,
                    group=self.groups, output_padding=self.output_padding)


class ConvTranspose1d(_ConvTranspose):
    """The gradient of Conv1d as a layer."""

    DIMS = 1


class ConvTranspose2d(_ConvTranspose):
    """The gradient of Conv2d as a layer."""


class ConvTranspose3d(_ConvTranspose):
    """The gradient of Conv3d as a layer."""

    DIMS = 3


class Embedding(Module):
    """Rows of a table by their numbers: i64 [...] to [..., embedding_dim]. A number that is no row fails the call."""

    def __init__(self, num_embeddings: int, embedding_dim: int):
        super().__init__()
        _want("Embedding", int, 1, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.weight = Parameter(num_embeddings, embedding_dim, init=Init.normal())

    def forward(self, x):
        return F.embedding(x, self.weight)

    def _describe(self):
        return ", ".join(map(str, self.weight.shape))


class LayerNorm(Module):
    """(x - mean) / sqrt(variance + eps) * weight + bias, over the last dimension."""

    def __init__(self, normalized_shape: int, eps: float = 1e-5):
        super().__init__()
        _want("LayerNorm", int, 1, normalized_shape=normalized_shape)
        self.width, self.eps = normalized_shape, eps
        self.weight, self.bias = Parameter(normalized_shape, init=Init.constant(1)), Parameter(normalized_shape)

    def forward(self, x):
        _check_size(self, x, -1, self.width, "features")
        return node("LayerNormalization", x, self.weight, self.bias, axis=-1, epsilon=float(self.eps))

    def _describe(self):
        return f"{self.width}, eps={self.eps}"


class RMSNorm(Module):
    """x / sqrt(mean(x^2) + eps) * weight, over the last dimension."""

    def __init__(self, normalized_shape: int, eps: float = 1e-6):
        super().__init__()
        _want("RMSNorm", int, 1, normalized_shape=normalized_shape)
        self.width, self.eps = normalized_shape, eps
        self.weight = Parameter(normalized_shape, init=Init.constant(1))

    def forward(self, x):
        _check_size(self, x, -1, self.width, "features")
        mean = node("ReduceMean", node("Mul", x, x), constant([-1], "i64"), keepdims=1)
        return node("Mul", node("Div", x, node("Sqrt", node("Add", mean, constant(self.eps, "f32")))), self.weight)

    def _describe(self):
        return f"{self.width}, eps={self.eps}"


class _BatchNorm(Module):
    DIMS = (4,)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1):
        super().__init__()
        _want(type(self).__name__, int, 1, num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight, self.bias = Parameter(num_features, init=Init.constant(1)), Parameter(num_features)
        self.running_mean, self.running_var = Statistic(num_features), Statistic(num_features, init=Init.constant(1))

    def forward(self, x):
        if x.ndim not in self.DIMS:
            fail(type(self).__name__, f"expected an input of {' or '.join(map(str, self.DIMS))} dimensions, got {list(x.shape)}")
        _check_size(self, x, 1, self.num_features, "channels")
        return node("BatchNormalization", x, self.weight, self.bias, self.running_mean, self.running_var, epsilon=float(self.eps), momentum=float(1 - self.momentum))

    def _describe(self):
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Normalises channels over batch and positions, [batch, channels] or [batch, channels, length]: by the batch in a training step, which moves the running statistics by `momentum`;
    else by these. The running variance is that of the batch without PyTorch's factor n / (n - 1)."""

    DIMS = (2, 3)


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d over [batch, channels, height, width]."""


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d over [batch, channels, depth, height, width]."""

    DIMS = (5,)


class GroupNorm(Module):
    """Normalises each of `num_groups` groups of channels over their positions: [batch, channels, ...]."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5):
        super().__init__()
        _want("GroupNorm", int, 1, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: expected groups that divide {num_channels} channels, got {num_groups}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight, self.bias = Parameter(num_channels, init=Init.constant(1)), Parameter(num_channels)

    def forward(self, x):
        _check_size(self, x, 1, self.num_channels, "channels")
        rows = node("Reshape", x, constant([0, self.num_groups, -1], "i64"))
        normal = node("InstanceNormalization", rows, constant([1.0] * self.num_groups, "f32"), constant([0.0] * self.num_groups, "f32"), epsilon=float(self.eps))
        back = node("Reshape", normal, node("Shape", x))
        column = [self.num_channels] + [1] * (x.ndim - 2)
        scaled = node("Mul", back, node("Reshape", self.weight, constant(column, "i64")))
        return node("Add", scaled, node("Reshape", self.bias, constant(column, "i64")))

    def _describe(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class MultiheadAttention(Module):
    """Heads of attention: softmax(q k^T / sqrt(depth)) v, with a layer for the output. forward(query, key, value) over [batch, positions, embed_dim] returns (output, None): the weights of
    the heads are not returned. `key_padding_mask`: bools [batch, positions], True where a key is not seen. `attn_mask`: bools, True where it is not seen, or numbers that are added, that
    can be repeated to [batch, heads, queries, keys]. PyTorch's `batch_first` is True."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, batch_first: bool = True):
        super().__init__()
        _want("MultiheadAttention", int, 1, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: expected heads that divide the width {embed_dim}, got {num_heads}")
        if not batch_first:
            raise ValueError("MultiheadAttention: expected batch_first=True, got False: transpose the input")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.in_proj_weight = Parameter(3 * embed_dim, embed_dim, init=Init.xavier_uniform(embed_dim, 3 * embed_dim))
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        self.in_proj_bias = Parameter(3 * embed_dim) if bias else None
        if bias:
            self.out_proj.bias.init = Init.zeros()

    def _project(self, query, key, value):
        width = [self.embed_dim] * 3
        if query is key and key is value:
            return node("Split", F.linear(query, self.in_proj_weight, self.in_proj_bias), constant(width, "i64"), axis=-1, outputs=3)
        weights = node("Split", self.in_proj_weight, constant(width, "i64"), axis=0, outputs=3)
        biases = (None,) * 3 if self.in_proj_bias is None else node("Split", self.in_proj_bias, constant(width, "i64"), axis=0, outputs=3)
        return tuple(F.linear(*one) for one in zip((query, key, value), weights, biases))

    def forward(self, query, key=None, value=None, key_padding_mask=None, attn_mask=None, is_causal: bool = False):
        key = query if key is None else key
        value = key if value is None else value
        for one in (query, key, value):
            _check_rank(self, one, 3)
            _check_size(self, one, 2, self.embed_dim, "features")
        depth = self.embed_dim // self.num_heads

        def heads(part):
            return node("Transpose", node("Reshape", part, constant([0, 0, self.num_heads, depth], "i64")), perm=[0, 2, 1, 3])

        is_own, inputs = key is query, (query, key)
        query, key, value = (heads(part) for part in self._project(query, key, value))
        if is_causal:
            own = F.arange(inputs[0], 1)
            seen = own if is_own else F.arange(inputs[1], 1)
        scale = constant(1 / depth ** 0.5, "f32")
        scores = node("MatMul", node("Mul", query, scale), node("Transpose", key, perm=[0, 1, 3, 2]))
        never = float("-inf")
        if is_causal:
            own = node("Unsqueeze", own, constant([1], "i64"))
            scores = node("Where", node("LessOrEqual", node("Unsqueeze", seen, constant([0], "i64")), own), scores, constant(never, "f32"))
        if attn_mask is not None:
            scores = node("Where", attn_mask, constant(never, "f32"), scores) if attn_mask.dtype == "bool" else scores + attn_mask
        if key_padding_mask is not None:
            scores = node("Where", key_padding_mask.unsqueeze(1).unsqueeze(1), constant(never, "f32"), scores)
        seen = node("MatMul", F.dropout(node("Softmax", scores, axis=-1), self.dropout), value)
        rows = node("Reshape", node("Transpose", seen, perm=[0, 2, 1, 3]), constant([0, 0, self.embed_dim], "i64"))
        return self.out_proj(rows), None

    def _describe(self):
        return f"{self.embed_dim}, {self.num_heads}"


class TransformerEncoderLayer(Module):
    """Attention and two linear layers, each with a sum and a norm, over [batch, positions, d_model]. PyTorch's `batch_first` is True."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation="relu", layer_norm_eps: float = 1e-5, batch_first: bool = True, norm_first: bool = False):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward), Linear(dim_feedforward, d_model)
        self.norm1, self.norm2 = LayerNorm(d_model, layer_norm_eps), LayerNorm(d_model, layer_norm_eps)
        self.p, self.activation, self.norm_first = dropout, F.function_of(activation), norm_first

    def _attend(self, x, options):
        return F.dropout(self.self_attn(x, **options)[0], self.p)

    def _feed(self, x):
        return F.dropout(self.linear2(F.dropout(self.activation(self.linear1(x)), self.p)), self.p)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal: bool = False):
        options = {"attn_mask": src_mask, "key_padding_mask": src_key_padding_mask, "is_causal": is_causal}
        if self.norm_first:
            x = src + self._attend(self.norm1(src), options)
            return x + self._feed(self.norm2(x))
        x = self.norm1(src + self._attend(src, options))
        return self.norm2(x + self._feed(x))


class _Recurrent(Module):
    OP, GATES = "RNN", (0,)

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, batch_first: bool = False, dropout: float = 0.0):
        super().__init__()
        _want(type(self).__name__, int, 1, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        self.input_size, self.hidden_size, self.num_layers, self.batch_first, self.dropout = input_size, hidden_size, num_layers, batch_first, dropout
        rows, init = len(self.GATES) * hidden_size, Init.kaiming_uniform(hidden_size)
        for layer in range(num_layers):
            setattr(self, f"weight_ih_l{layer}", Parameter(rows, input_size if layer == 0 else hidden_size, init=init))
            setattr(self, f"weight_hh_l{layer}", Parameter(rows, hidden_size, init=init))
            setattr(self, f"bias_ih_l{layer}", Parameter(rows, init=init))
            setattr(self, f"bias_hh_l{layer}", Parameter(rows, init=init))

    def _order(self, value):
        """The gates in ONNX's order, with a dimension of one direction before them."""
        if len(self.GATES) > 1:
            parts = node("Split", value, axis=0, num_outputs=len(self.GATES), outputs=len(self.GATES))
            value = node("Concat", *(parts[gate] for gate in self.GATES), axis=0)
        return node("Unsqueeze", value, constant([0], "i64"))

    def _layer(self, layer, x, states):
        weights = [getattr(self, f"{name}_l{layer}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        bias = node("Concat", self._order(weights[2]), self._order(weights[3]), axis=1)
        inputs = [x, self._order(weights[0]), self._order(weights[1]), bias, None]
        inputs += [None if state is None else node("Unsqueeze", state, constant([0], "i64")) for state in states]
        while inputs[-1] is None:
            inputs.pop()
        more = {"linear_before_reset": 1} if self.OP == "GRU" else {}
        out, *last = node(self.OP, *inputs, hidden_size=self.hidden_size, outputs=1 + len(states), **more)
        return node("Squeeze", out, constant([1], "i64")), [node("Squeeze", one, constant([0], "i64")) for one in last]

    def _run(self, x, states):
        _check_rank(self, x, 3)
        _check_size(self, x, 2, self.input_size, "features")
        x = x.transpose(0, 1) if self.batch_first else x
        lasts = []
        for layer in range(self.num_layers):
            own = [None if state is None else node("Gather", state, constant(layer, "i64"), axis=0) for state in states]
            x, last = self._layer(layer, x, own)
            lasts.append(last)
            if layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout)
        return x.transpose(0, 1) if self.batch_first else x, [F.stack(each, 0) for each in zip(*lasts)]

    def forward(self, x, h0=None):
        out, (last,) = self._run(x, [h0])
        return out, last

    def _describe(self):
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, batch_first={self.batch_first}"


class RNN(_Recurrent):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over [positions, batch, input_size], or [batch, positions, input_size] with `batch_first`. forward(x, h0) returns all h, and the last ones
    [num_layers, batch, hidden_size]; without h0 they begin with 0."""


class GRU(_Recurrent):
    """PyTorch's GRU. Inputs and results are those of RNN."""

    OP, GATES = "GRU", (1, 0, 2)


class LSTM(_Recurrent):
    """PyTorch's LSTM: forward(x, (h0, c0)) returns all h, and (the last h, the last cells). Shapes are those of RNN."""

    OP, GATES = "LSTM", (0, 3, 1, 2)

    def forward(self, x, states=None):
        out, last = self._run(x, [None, None] if states is None else list(states))
        return out, tuple(last)


class _Pool(Module):
    OP, DIMS = "MaxPool", 2

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.kernel_size, self.stride, self.padding = _window(type(self).__name__, self.DIMS, kernel_size=kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        _check_rank(self, x, self.DIMS + 2)
        more = {"count_include_pad": 1} if self.OP == "AveragePool" else {}
        return node(self.OP, x, **more, kernel_shape=self.kernel_size, strides=self.stride, pads=self.padding * 2)

    def _describe(self):
        return f"kernel_size={tuple(self.kernel_size)}, stride={tuple(self.stride)}, padding={tuple(self.padding)}"


class MaxPool1d(_Pool):
    """The largest element of each window: [batch, channels, length]."""

    DIMS = 1


class MaxPool2d(_Pool):
    """The largest element of each window: [batch, channels, height, width]."""


class MaxPool3d(_Pool):
    """The largest element of each window: [batch, channels, depth, height, width]."""

    DIMS = 3


class AvgPool1d(_Pool):
    """The mean of each window, where padding counts as zeros: [batch, channels, length]."""

    OP, DIMS = "AveragePool", 1


class AvgPool2d(_Pool):
    """The mean of each window, where padding counts as zeros: [batch, channels, height, width]."""

    OP = "AveragePool"


class AvgPool3d(_Pool):
    """The mean of each window, where padding counts as zeros: [batch, channels, depth, height, width]."""

    OP, DIMS = "AveragePool", 3


class AdaptiveAvgPool2d(Module):
    """The mean of each channel: [batch, channels, height, width] to [batch, channels, 1, 1]. The output size is 1."""

    def __init__(self, output_size=1):
        super().__init__()
        if output_size not in (1, (1, 1)):
            raise ValueError(f"AdaptiveAvgPool2d: expected the output size 1, got {output_size}: use AvgPool2d")

    def forward(self, x):
        _check_rank(self, x, 4)
        return x.mean((2, 3), keepdim=True)


class Dropout(Module):
    """In a training step each element is 0 with probability `p`, else x / (1 - p). Elsewhere the result is x."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"Dropout: p: expected 0 or more and less than 1, got {p}")
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p)

    def _describe(self):
        return f"p={self.p}"


class Flatten(Module):
    """Dimensions start_dim to end_dim as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return x.flatten(self.start_dim, self.end_dim)


class Identity(Module):
    """x"""

    def forward(self, x):
        return x


class _Activation(Module):
    FUNCTION, OPTIONS = None, {}

    def __init__(self, *values, **named):
        super().__init__()
        names = list(self.OPTIONS)
        if len(values) > len(names) or any(key not in names[len(values):] for key in named):
            raise TypeError(f"{type(self).__name__}: expected {', '.join(names) or 'no arguments'}, got {', '.join([*map(repr, values), *named])}")
        self.options = {**self.OPTIONS, **dict(zip(names, values)), **named}

    def forward(self, x):
        return type(self).FUNCTION(x, **self.options)

    def _describe(self):
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items())


def _activation(name, function, **options):
    return type(name, (_Activation,), {"FUNCTION": staticmethod(function), "OPTIONS": options, "__doc__": f"nn.{function.__name__} as a layer.", "__module__": __name__})


ReLU = _activation("ReLU", F.relu)
GELU = _activation("GELU", F.gelu, approximate="none")
SiLU = _activation("SiLU", F.silu)
Tanh = _activation("Tanh", F.tanh)
Sigmoid = _activation("Sigmoid", F.sigmoid)
ELU = _activation("ELU", F.elu, alpha=1.0)
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, negative_slope=0.01)
Softplus = _activation("Softplus", F.softplus)
SELU = _activation("SELU", F.selu)
Mish = _activation("Mish", F.mish)
Hardswish = _activation("Hardswish", F.hardswish)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid)
Softmax = _activation("Softmax", F.softmax, dim=-1)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, dim=-1)


class ModuleList(Module):
    """Modules with numbers as names, for loops of your own."""

    def __init__(self, modules=()):
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module):
        """Adds a module at the end. Returns itself."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: expected modules, got {type(module).__name__}")
        setattr(self, str(len(self._parts)), module)
        return self

    def __iter__(self):
        return iter(self._parts.values())

    def __len__(self):
        return len(self._parts)

    def __getitem__(self, index):
        return list(self._parts.values())[index]


class Sequential(ModuleList):
    """Modules in sequence, each over the result of the one before it; with the names "0", "1", ..."""

    def __init__(self, *modules):
        super().__init__(modules)

    def forward(self, x):
        for module in self:
            x = module(x)
        return x


class MLP(Sequential):
    """Linear layers of these sizes, with an activation (a name, a function, or a class of a layer) and a dropout after each but the last: nn.MLP([784, 256, 10], "relu"). It is a Sequential of
    Linear, activation and, if `dropout` is not 0, Dropout."""

    def __init__(self, sizes, activation="relu", dropout: float = 0.0, bias: bool = True):
        sizes = list(sizes)
        if len(sizes) < 2:
            raise ValueError(f"MLP: expected two sizes or more, got {sizes}")
        parts = []
        for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
            parts.append(Linear(before, after, bias))
            if i + 2 < len(sizes):
                parts.append(activation() if isinstance(activation, type) and issubclass(activation, Module) else _Function(F.function_of(activation)))
                parts.extend([Dropout(dropout)] if dropout else [])
        super().__init__(*parts)


class _Function(Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)

    def _describe(self):
        return getattr(self.function, "__name__", repr(self.function))
