"""Functions of vx.nn, with PyTorch's names and formulas."""
from ._nn_graph import ELEMENT_TYPES, Tensor, axis_of, binary, constant, node, operand, sizes, unify

__all__ = ["abs", "accuracy", "arange", "binary_cross_entropy", "binary_cross_entropy_with_logits", "cat", "ceil", "chunk", "clamp", "cos", "cross_entropy", "dropout", "elu", "embedding", "erf",
           "exp", "floor", "full", "gelu", "gradient", "hardsigmoid", "hardswish", "huber_loss", "isinf", "isnan", "kl_div", "l1_loss", "leaky_relu", "linear", "log", "log_softmax", "logical_not",
           "logsumexp", "matmul", "maximum", "minimum", "mish", "mse_loss", "nll_loss", "one_hot", "ones", "pad", "pick", "reciprocal", "relu", "round", "rsqrt", "scaled_dot_product_attention",
           "selu", "sigmoid", "sign", "silu", "sin", "softmax", "softplus", "split", "sqrt", "stack", "tanh", "where", "zeros"]


def _unary(name, op, text):
    def function(x):
        return node(op, x, layer=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


abs = _unary("abs", "Abs", "The absolute value of each element.")
ceil = _unary("ceil", "Ceil", "The next integer upwards.")
floor = _unary("floor", "Floor", "The next integer downwards.")
round = _unary("round", "Round", "The nearest integer; halves go to the even one.")
sign = _unary("sign", "Sign", "-1, 0 or 1.")
sqrt = _unary("sqrt", "Sqrt", "The square root.")
exp = _unary("exp", "Exp", "e to the power of x.")
log = _unary("log", "Log", "The natural logarithm.")
sin = _unary("sin", "Sin", "The sine.")
cos = _unary("cos", "Cos", "The cosine.")
tanh = _unary("tanh", "Tanh", "The hyperbolic tangent.")
erf = _unary("erf", "Erf", "The error function.")
reciprocal = _unary("reciprocal", "Reciprocal", "1 / x")
sigmoid = _unary("sigmoid", "Sigmoid", "1 / (1 + exp(-x))")
softplus = _unary("softplus", "Softplus", "log(1 + exp(x))")
relu = _unary("relu", "Relu", "max(x, 0)")
selu = _unary("selu", "Selu", "PyTorch's selu.")
mish = _unary("mish", "Mish", "x tanh(softplus(x))")
hardswish = _unary("hardswish", "HardSwish", "x max(0, min(1, x / 6 + 1 / 2))")
isnan = _unary("isnan", "IsNaN", "Whether an element is NaN.")
isinf = _unary("isinf", "IsInf", "Whether an element is infinite.")
logical_not = _unary("logical_not", "Not", "Not x, of bools.")


def rsqrt(x):
    """1 / sqrt(x)"""
    return reciprocal(sqrt(x))


def silu(x):
    """x sigmoid(x)"""
    return node("Mul", x, sigmoid(x), layer="silu")


def gelu(x, approximate: str = "none"):
    """x Phi(x), exact or with "tanh". Raises ValueError for another form."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate: expected none or tanh, got {approximate!r}")
    return node("Gelu", x, approximate=approximate, layer="gelu")


def elu(x, alpha: float = 1.0):
    """x, or alpha (exp(x) - 1) below 0."""
    return node("Elu", x, alpha=float(alpha), layer="elu")


def leaky_relu(x, negative_slope: float = 0.01):
    """x, or negative_slope x below 0."""
    return node("LeakyRelu", x, alpha=float(negative_slope), layer="leaky_relu")


def hardsigmoid(x):
    """max(0, min(1, x / 6 + 1 / 2))"""
    return node("HardSigmoid", x, alpha=1.0 / 6, layer="hardsigmoid")


def minimum(a, b):
    """The smaller one of each two elements."""
    return binary("Min", a, b, "minimum")


def maximum(a, b):
    """The larger one of each two elements."""
    return binary("Max", a, b, "maximum")


def clamp(x, min=None, max=None):
    """Elements limited to [min, max]; None: no limit."""
    return node("Clip", x, *(None if one is None else operand(one, x, "clamp") for one in (min, max)), layer="clamp")


def where(condition, a, b):
    """Elements of `a` where the condition is true, else those of `b`; one of them may be a number."""
    like = a if isinstance(a, Tensor) else b
    if not isinstance(like, Tensor):
        raise TypeError(f"where: expected a tensor among the values, got {type(a).__name__} and {type(b).__name__}")
    if condition.dtype != "bool":
        raise TypeError(f"where: expected a condition of bools, got {condition.dtype}")
    a, b = operand(a, like, "where"), operand(b, like, "where")
    condition, a = unify(condition, a)
    condition, b = unify(condition, b)
    return node("Where", condition, a, b, layer="where")


def softmax(x, dim: int = -1):
    """exp(x) / sum(exp(x)) over a dimension."""
    return node("Softmax", x, axis=axis_of(x, dim, "softmax"), layer="softmax")


def log_softmax(x, dim: int = -1):
    """The logarithm of softmax."""
    return node("LogSoftmax", x, axis=axis_of(x, dim, "log_softmax"), layer="log_softmax")


def logsumexp(x, dim: int = -1, keepdim: bool = False):
    """log(sum(exp(x))) over a dimension."""
    return x._reduce("ReduceLogSumExp", "logsumexp", dim, keepdim)


def matmul(a, b):
    """The product of matrices, each of a batch by that of the other one."""
    return node("MatMul", a, operand(b, a, "matmul"), layer="matmul")


def linear(x, weight, bias=None):
    """x weight^T + bias, with weight [out, in]."""
    if x.ndim == 2:
        return node("Gemm", x, weight, *(() if bias is None else (bias,)), transB=1, layer="linear")
    product = node("MatMul", x, node("Transpose", weight, perm=[1, 0], layer="linear"), layer="linear")
    return product if bias is None else node("Add", product, bias, layer="linear")


def cat(tensors, dim: int = 0):
    """Tensors side by side along a dimension, in which alone their sizes may differ."""
    tensors = list(tensors)
    if not tensors:
        raise ValueError("cat: expected one tensor or more, got none")
    return node("Concat", *(operand(one, tensors[0], "cat") for one in tensors), axis=axis_of(tensors[0], dim, "cat"), layer="cat")


def stack(tensors, dim: int = 0):
    """Tensors of one shape along a new dimension."""
    tensors = list(tensors)
    if not tensors:
        raise ValueError("stack: expected one tensor or more, got none")
    return cat([one.unsqueeze(dim) for one in tensors], axis_of(tensors[0], dim, "stack", 1))


def split(x, sizes, dim: int = 0) -> tuple:
    """Parts along a dimension: of `sizes` each, or of these sizes."""
    axis = axis_of(x, dim, "split")
    if isinstance(sizes, int):
        length = x.shape[axis]
        if not isinstance(length, int) or sizes < 1:
            raise ValueError(f"split: expected a size of 1 or more and a dimension whose size is known, got {sizes} and {length}")
        sizes = [sizes] * (length // sizes) + ([length % sizes] if length % sizes else [])
    parts = node("Split", x, constant(list(sizes), "i64"), axis=axis, outputs=len(sizes), layer="split")
    return parts if isinstance(parts, tuple) else (parts,)


def chunk(x, chunks: int, dim: int = 0) -> tuple:
    """A number of equal parts along a dimension."""
    parts = node("Split", x, axis=axis_of(x, dim, "chunk"), num_outputs=chunks, outputs=chunks, layer="chunk")
    return parts if isinstance(parts, tuple) else (parts,)


def pad(x, pad, value: float = 0.0):
    """`value` at the ends of the last dimensions: (left, right) of the last one, then (top, bottom), ..., as PyTorch has them."""
    if len(pad) % 2 or len(pad) > 2 * x.ndim or min(pad, default=0) < 0:
        raise ValueError(f"pad: expected two numbers of 0 or more for each of {x.ndim} dimensions at most, got {tuple(pad)}")
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pad) // 2):
        low[x.ndim - 1 - i], high[x.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return node("Pad", x, constant(low + high, "i64"), constant(value, x.dtype), layer="pad")


def embedding(input, weight):
    """Rows of `weight` by their numbers (i64): [..., width]."""
    return node("Gather", weight, input, layer="embedding")


def pick(x, index):
    """The element of each row of the last dimension that `index` (i64, [...]) names; another number fails the call."""
    return node("Pick", x, index, axis=x.ndim - 1, layer="pick")


def one_hot(input, num_classes: int, dtype: str = "f32"):
    """1 at the position of the number, else 0; all 0 for a number out of range."""
    column = node("Unsqueeze", input, constant([-1], "i64"), layer="one_hot")
    return node("Cast", node("Equal", column, constant(list(range(num_classes)), "i64"), layer="one_hot"), to=ELEMENT_TYPES[dtype], layer="one_hot")


def arange(x, dim: int):
    """0, 1, 2, ... up to the size of a dimension of `x`, as i64."""
    axis = axis_of(x, dim, "arange")
    size = node("Squeeze", node("Shape", x, start=axis, end=axis + 1, layer="arange"), layer="arange")
    return node("Range", constant(0, "i64"), size, constant(1, "i64"), layer="arange")


def full(shape, value: float, dtype: str = "f32"):
    """One number in every element; sizes are numbers, or names of sizes of inputs."""
    return node("Expand", constant(value, dtype), sizes(shape, "full"), layer="full")


def zeros(shape, dtype: str = "f32"):
    """0 in every element."""
    return full(shape, 0, dtype)


def ones(shape, dtype: str = "f32"):
    """1 in every element."""
    return full(shape, 1, dtype)


def dropout(x, p: float = 0.5):
    """In a training step 0 with probability p, else x / (1 - p); x elsewhere."""
    return x if p == 0 else node("Dropout", x, constant(p, "f32"), layer="dropout")


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None):
    """softmax(query key^T scale) value over [..., positions, depth]. `attn_mask`: bools, True where a position is seen, or numbers that are added. `scale`: None: 1 / sqrt(depth)."""
    depth = query.shape[-1]
    if scale is None and not isinstance(depth, int):
        raise ValueError(f"scaled_dot_product_attention: expected a depth that is known, got {depth}: give scale")
    scale = depth ** -0.5 if scale is None else scale
    order = list(range(key.ndim))
    order[-2:] = order[:-3:-1]
    scores = node("MatMul", node("Mul", query, constant(scale, query.dtype)), node("Transpose", key, perm=order))
    if is_causal:
        own, seen = arange(query, -2).unsqueeze(1), arange(key, -2).unsqueeze(0)
        scores = node("Where", node("LessOrEqual", seen, own), scores, constant(float("-inf"), scores.dtype))
    if attn_mask is not None:
        scores = where(attn_mask, scores, float("-inf")) if attn_mask.dtype == "bool" else scores + attn_mask
    return node("MatMul", dropout(softmax(scores), dropout_p), value)


def gradient(y, *x):
    """The gradient of the sum of the elements of `y` by each `x`: a tensor, or a tuple of several."""
    return node("Gradient", y, *x, outputs=len(x), layer="gradient")


def _loss(spec, output, target, what, outputs=1):
    return node("Loss", output, target, loss=spec, outputs=outputs, layer=what)


def _labels(spec, ignore_index, label_smoothing=0.0):
    if label_smoothing:
        spec += f",smoothing={label_smoothing:.17g}"
    return spec + (f",ignore_index={ignore_index}" if ignore_index is not None else "")


def cross_entropy(logits, labels, ignore_index: int | None = None, label_smoothing: float = 0.0):
    """The mean over all rows of -log(softmax(logits))[label], over the last dimension; labels are i64 of the other ones. PyTorch's classes are in dimension 1, and its `ignore_index`
    is -100 by default. A label that is no class fails the call."""
    return _loss(_labels("cross_entropy:", ignore_index, label_smoothing), logits, labels, "cross_entropy")


def accuracy(logits, labels, ignore_index: int | None = None):
    """The share of rows in which the largest logit, the first of several, is the label's."""
    return _loss(_labels("cross_entropy:", ignore_index), logits, labels, "accuracy", 2)[1]


def nll_loss(logs, labels, ignore_index: int | None = None):
    """The mean over all rows of -logs[label]."""
    return _loss(_labels("nll:", ignore_index), logs, labels, "nll_loss")


def mse_loss(output, target):
    """The mean of (output - target)^2."""
    return _loss("mse:", output, target, "mse_loss")


def l1_loss(output, target):
    """The mean of |output - target|."""
    return _loss("l1:", output, target, "l1_loss")


def huber_loss(output, target):
    """The mean of (output - target)^2 / 2 up to a distance of 1, and of the distance - 1 / 2 beyond."""
    return _loss("huber:", output, target, "huber_loss")


def binary_cross_entropy(output, target):
    """Of probabilities from 0 to 1."""
    return _loss("bce:", output, target, "binary_cross_entropy")


def binary_cross_entropy_with_logits(output, target):
    """Of logits."""
    return _loss("bce_logits:", output, target, "binary_cross_entropy_with_logits")


def kl_div(output, target):
    """Of logarithms of probabilities, by the rows of the batch ("batchmean")."""
    return _loss("kl:", output, target, "kl_div")


def function_of(name):
    """An activation by its name. Raises ValueError for another one."""
    if callable(name):
        return name
    known = {"relu": relu, "gelu": gelu, "silu": silu, "tanh": tanh, "sigmoid": sigmoid, "elu": elu, "leaky_relu": leaky_relu, "softplus": softplus, "selu": selu, "mish": mish, "hardswish": hardswish}
    if name not in known:
        raise ValueError(f"activation: expected {', '.join(known)} or a function, got {name!r}")
    return known[name]
