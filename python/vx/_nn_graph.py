"""Tensors of the graphs that vx.nn builds, over the builder's C interface (vxb.h): nodes are ONNX's, and checked when they are made."""
import math as _math
import numbers as _numbers
import os as _os
import sys as _sys
import threading as _threading

ELEMENT_TYPES = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11, "u32": 12, "u64": 13}
_NAMES = {**{number: name for name, number in ELEMENT_TYPES.items()}, 16: "bf16"}
_NUMPY = {"f32": "float32", "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "i32": "int32", "i64": "int64", "bool": "bool", "f16": "float16", "f64": "float64", "u32": "uint32",
          "u64": "uint64"}
_FLOATS = ("f32", "f16", "f64", "bf16")
_FOLDER = _os.path.dirname(_os.path.abspath(__file__))
_state = _threading.local()


class Build:
    """The graph that a thread builds, with the values of parameters and the layers that are being called."""

    def __init__(self, native):
        self.native, self.values, self.layers, self.types, self.function = native, {}, [], {}, None

    def __enter__(self):
        if getattr(_state, "build", None) is not None:
            raise RuntimeError("vx.nn: expected no model that is being built by this thread, got one")
        _state.build = self
        return self

    def __exit__(self, *error):
        _state.build = None


def current():
    """The graph that this thread builds. Raises RuntimeError outside of one."""
    build = getattr(_state, "build", None)
    if build is None:
        raise RuntimeError("vx.nn: tensors exist while a model is built: expected a call in forward or in a loss, which Module.compile calls")
    return build


def place(layer):
    """(scope, layer, file, line): the position of the user's code that makes a node."""
    build = getattr(_state, "build", None)
    scope, outer = build.layers[-1] if build is not None and build.layers else ("", None)
    frame = _sys._getframe(1)
    while frame.f_back is not None and _os.path.dirname(_os.path.abspath(frame.f_code.co_filename)) == _FOLDER:
        frame = frame.f_back
    return scope, outer or layer, frame.f_code.co_filename, frame.f_lineno


def node(op, *inputs, layer=None, outputs=1, **attributes):
    """Adds a node. Returns its output, or a tuple of several. An input None is left out."""
    build = current()
    ids = [-1 if one is None else one._id(build) for one in inputs]
    made = build.native.node(op, ids, attributes, place(layer or op), outputs)
    tensors = tuple(Tensor(build, one) for one in made)
    return tensors[0] if outputs == 1 else tensors


def constant(value, dtype):
    """A tensor of these elements."""
    import numpy
    build = current()
    array = numpy.ascontiguousarray(numpy.asarray(value).astype(_NUMPY[dtype])).reshape(numpy.shape(value))
    return Tensor(build, build.native.constant(ELEMENT_TYPES[dtype], list(array.shape), array.tobytes(), place("constant")))


def sizes(given, layer):
    """A list of sizes: numbers, names of dimensions of inputs, -1 for any."""
    build = current()
    return Tensor(build, build.native.sizes([None if one == -1 else one for one in given], place(layer)))


def fail(layer, message):
    """Raises vx.CompileError with the position of the user's code."""
    current().native.fail(place(layer), message)


def axis_of(tensor, dim, what, more=0):
    """A dimension from 0 on. Raises IndexError for one that the tensor has not."""
    rank = tensor.ndim + more
    if not isinstance(dim, int) or not -rank <= dim < rank:
        raise IndexError(f"{what}: expected a dimension of {-rank} to {rank - 1}, got {dim!r}")
    return dim % rank


def operand(value, like, what):
    """A tensor, or a number or array as a constant of the other operand's type. Raises TypeError for other types."""
    if isinstance(value, Tensor):
        if value.dtype != like.dtype:
            raise TypeError(f"{what}: expected operands of one element type, got {like.dtype} and {value.dtype}: use .to({like.dtype!r})")
        return value
    if isinstance(value, _numbers.Real):
        if like.dtype not in _FLOATS and not isinstance(value, _numbers.Integral):
            raise TypeError(f"{what}: expected a whole number beside a tensor of {like.dtype}, got {value}: use .to('f32')")
        return constant(value, like.dtype)
    if hasattr(value, "__array__"):
        return constant(value, like.dtype)
    raise TypeError(f"{what}: expected a tensor or a number, got {type(value).__name__}")


def unify(first, second):
    """The operands with equal sizes where one is known by number or by another name: the call checks that they are equal, as the C++ builder has it."""
    left, right = list(first.shape), list(second.shape)
    if len(left) != len(right) or left == right:
        return first, second
    wanted_left, wanted_right = ["?"] * len(left), ["?"] * len(right)
    for i, (a, b) in enumerate(zip(left, right)):
        if a == b or 1 in (a, b) or isinstance(a, int) and isinstance(b, int):
            continue
        if isinstance(b, int):
            wanted_left[i] = str(b)
        elif a is not None:
            wanted_right[i] = str(a)
    if wanted_left != ["?"] * len(left):
        first = node("As", first, dims=[str(size) if wanted == "?" and size is not None else wanted for wanted, size in zip(wanted_left, left)])
    if wanted_right != ["?"] * len(right):
        second = node("As", second, dims=[str(size) if wanted == "?" and size is not None else wanted for wanted, size in zip(wanted_right, right)])
    return first, second


def binary(op, first, second, what):
    """A node of two operands, one of which may be a number."""
    if not isinstance(first, Tensor):
        first = operand(first, second, what)
    second = operand(second, first, what)
    return node(op, *unify(first, second), layer=what)


class Tensor:
    """A value of the function that is being built. `shape` has numbers, the names of sizes that a call binds, and None for sizes that are not known; `dtype` is "f32", "i64", ...

    Operators and methods have PyTorch's names and meanings. Operands have one element type; of two tensors the smaller one is repeated along dimensions of 1. Sizes of two names are
    compared by the call. Errors: TypeError for other types, IndexError for dimensions that are not there, vx.CompileError for shapes that do not fit, with file and line."""

    def __init__(self, build, value):
        self._build, self._value = build, value

    def _id(self, build):
        if self._build is not build:
            raise RuntimeError("vx.nn: expected a tensor of the model that is being built, got one of another")
        return self._value

    def _type(self):
        build = current()
        value = self._id(build)
        if value not in build.types:
            build.types[value] = build.native.type_of(value)
        return build.types[value]

    @property
    def shape(self) -> tuple:
        """The sizes: numbers, names, or None."""
        return self._type()[1]

    @property
    def dtype(self) -> str:
        """The element type, as "f32"."""
        return _NAMES[self._type()[0]]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def size(self, dim=None):
        """The shape, or one size of it."""
        return self.shape if dim is None else self.shape[axis_of(self, dim, "size")]

    def __repr__(self):
        return f"vx.nn.Tensor({self.dtype}[{', '.join('?' if one is None else str(one) for one in self.shape)}])"

    def __bool__(self):
        raise TypeError("vx.nn: a tensor has no value while the model is built, so that no condition can depend on it: use nn.where")

    __hash__ = object.__hash__
    __array_ufunc__ = None # so that an array of NumPy on the left leaves the operator to the tensor

    def __len__(self):
        if not self.ndim or not isinstance(self.shape[0], int):
            raise TypeError(f"len: expected a first dimension whose size is known, got {self.shape}")
        return self.shape[0]

    def __iter__(self):
        return (self[number] for number in range(len(self)))

    def __abs__(self):
        return node("Abs", self, layer="abs")

    def __add__(self, other):
        return binary("Add", self, other, "+")

    def __radd__(self, other):
        return binary("Add", other, self, "+")

    def __sub__(self, other):
        return binary("Sub", self, other, "-")

    def __rsub__(self, other):
        return binary("Sub", other, self, "-")

    def __mul__(self, other):
        return binary("Mul", self, other, "*")

    def __rmul__(self, other):
        return binary("Mul", other, self, "*")

    def __truediv__(self, other):
        return binary("Div", self, other, "/")

    def __rtruediv__(self, other):
        return binary("Div", other, self, "/")

    def __pow__(self, other):
        return binary("Pow", self, other, "**")

    def __matmul__(self, other):
        return node("MatMul", self, operand(other, self, "@"), layer="@")

    def __neg__(self):
        return node("Neg", self, layer="neg")

    def __lt__(self, other):
        return binary("Less", self, other, "<")

    def __le__(self, other):
        return binary("LessOrEqual", self, other, "<=")

    def __gt__(self, other):
        return binary("Greater", self, other, ">")

    def __ge__(self, other):
        return binary("GreaterOrEqual", self, other, ">=")

    def __eq__(self, other):
        return binary("Equal", self, other, "==")

    def __ne__(self, other):
        return node("Not", binary("Equal", self, other, "!="), layer="!=")

    def __invert__(self):
        return node("Not", self, layer="~")

    def __and__(self, other):
        return binary("And", self, other, "&")

    def __or__(self, other):
        return binary("Or", self, other, "|")

    def __getitem__(self, places):
        """Numbers, slices with steps of 1 or more, None and ..., as NumPy has them."""
        places = list(places) if isinstance(places, tuple) else [places]
        if sum(one is Ellipsis for one in places) > 1:
            raise IndexError("[]: expected one '...' at most")
        taken = sum(one is not None and one is not Ellipsis for one in places)
        if taken > self.ndim:
            raise IndexError(f"[]: expected {self.ndim} places at most, got {taken}")
        if Ellipsis in [one for one in places if one is Ellipsis]:
            at = next(i for i, one in enumerate(places) if one is Ellipsis)
            places[at:at + 1] = [slice(None)] * (self.ndim - taken)
        result, axis = self, 0
        for one in places:
            if one is None:
                result = result.unsqueeze(axis)
                axis += 1
            elif isinstance(one, slice):
                start, end, step = one.start or 0, one.stop, 1 if one.step is None else one.step
                if not all(isinstance(number, int) for number in (start, 0 if end is None else end, step)) or step < 1:
                    raise IndexError(f"[]: expected a slice of whole numbers with a step of 1 or more, got {one}")
                if (start, end, step) != (0, None, 1):
                    numbers = (constant([number], "i64") for number in (start, 2**63 - 1 if end is None else end, axis, step))
                    result = node("Slice", result, *numbers, layer="[]")
                axis += 1
            elif isinstance(one, int) and not isinstance(one, bool):
                size = result.shape[axis]
                if isinstance(size, int) and not -size <= one < size:
                    raise IndexError(f"[]: expected a number of {-size} to {size - 1} for dimension {axis}, got {one}")
                result = node("Gather", result, constant(one, "i64"), axis=axis, layer="[]")
            else:
                raise IndexError(f"[]: expected whole numbers, slices, None or ..., got {type(one).__name__}: use nn.embedding for rows by their numbers")
        return result

    def to(self, dtype: str):
        """The elements as another type: floats are cut towards 0 to become integers."""
        if dtype not in ELEMENT_TYPES:
            raise ValueError(f"to: expected a type of {', '.join(ELEMENT_TYPES)}, got {dtype!r}")
        return node("Cast", self, to=ELEMENT_TYPES[dtype], layer="to")

    def float(self):
        """The elements as f32."""
        return self.to("f32")

    def long(self):
        """The elements as i64."""
        return self.to("i64")

    def reshape(self, *given):
        """The elements in another shape: numbers, names of sizes, and -1 at most once."""
        given = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
        if sum(one == -1 for one in given) > 1 or not all(isinstance(one, (int, str)) for one in given):
            raise ValueError(f"reshape: expected numbers, names, and -1 once at most, got {given}")
        return node("Reshape", self, sizes(given, "reshape"), allowzero=1, layer="reshape")

    view = reshape

    def flatten(self, start_dim: int = 0, end_dim: int = -1):
        """Dimensions start_dim to end_dim as one."""
        first, last = axis_of(self, start_dim, "flatten"), axis_of(self, end_dim, "flatten")
        if first == 1 and last == self.ndim - 1:
            return node("Flatten", self, axis=1, layer="flatten")
        around = [*self.shape[:first], *self.shape[last + 1:]]
        if any(one is None for one in around):
            raise ValueError(f"flatten: expected sizes beside the dimensions that are known, got {self.shape}")
        return self.reshape(*self.shape[:first], -1, *self.shape[last + 1:])

    def permute(self, *dims):
        """Dimension i of the result is dimension dims[i]."""
        dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
        order = [axis_of(self, dim, "permute") for dim in dims]
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"permute: expected each of {self.ndim} dimensions once, got {tuple(dims)}")
        return node("Transpose", self, perm=order, layer="permute")

    def transpose(self, dim0: int, dim1: int):
        """Two dimensions swapped."""
        order = list(range(self.ndim))
        first, second = axis_of(self, dim0, "transpose"), axis_of(self, dim1, "transpose")
        order[first], order[second] = second, first
        return node("Transpose", self, perm=order, layer="transpose")

    @property
    def T(self):
        """A matrix with its dimensions swapped."""
        return self.transpose(0, 1)

    def unsqueeze(self, dim: int):
        """With a dimension of 1 at this position of the result."""
        return node("Unsqueeze", self, constant([axis_of(self, dim, "unsqueeze", 1)], "i64"), layer="unsqueeze")

    def squeeze(self, dim: int):
        """Without this dimension, which is 1."""
        return node("Squeeze", self, constant([axis_of(self, dim, "squeeze")], "i64"), layer="squeeze")

    def expand(self, *given):
        """Repeated along dimensions of 1 to these sizes: numbers, or names of sizes."""
        given = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
        return node("Expand", self, sizes(given, "expand"), layer="expand")

    def _reduce(self, op, what, dim, keepdim):
        if dim is None:
            return node(op, self, keepdims=int(keepdim), layer=what)
        axes = [axis_of(self, one, what) for one in (dim if isinstance(dim, (tuple, list)) else (dim,))]
        return node(op, self, constant(axes, "i64"), keepdims=int(keepdim), layer=what)

    def sum(self, dim=None, keepdim: bool = False):
        """Over all elements, or over one or several dimensions."""
        return self._reduce("ReduceSum", "sum", dim, keepdim)

    def mean(self, dim=None, keepdim: bool = False):
        """Over all elements, or over one or several dimensions."""
        return self._reduce("ReduceMean", "mean", dim, keepdim)

    def amax(self, dim=None, keepdim: bool = False):
        """The largest of all elements, or over dimensions."""
        return self._reduce("ReduceMax", "amax", dim, keepdim)

    def amin(self, dim=None, keepdim: bool = False):
        """The smallest of all elements, or over dimensions."""
        return self._reduce("ReduceMin", "amin", dim, keepdim)

    def prod(self, dim=None, keepdim: bool = False):
        """Over all elements, or over one or several dimensions."""
        return self._reduce("ReduceProd", "prod", dim, keepdim)

    def argmax(self, dim: int = -1, keepdim: bool = False):
        """The position of the largest element of a dimension, the first of several, as i64."""
        return node("ArgMax", self, axis=axis_of(self, dim, "argmax"), keepdims=int(keepdim), layer="argmax")

    def argmin(self, dim: int = -1, keepdim: bool = False):
        """The position of the smallest element of a dimension, the first of several, as i64."""
        return node("ArgMin", self, axis=axis_of(self, dim, "argmin"), keepdims=int(keepdim), layer="argmin")

    def detach(self):
        """The same value, which no gradient goes through."""
        return node("StopGradient", self, layer="detach")


class Init:
    """The first values of a parameter, random ones by the seed of the model and the parameter's name."""

    def __init__(self, kind, a=0.0, b=0.0):
        self.kind, self.a, self.b = kind, float(a), float(b)

    @staticmethod
    def zeros():
        return Init(0)

    @staticmethod
    def constant(value):
        return Init(1, value)

    @staticmethod
    def uniform(low, high):
        return Init(2, low, high)

    @staticmethod
    def normal(mean=0.0, std=1.0):
        return Init(3, mean, std)

    @staticmethod
    def orthogonal(gain=1.0):
        return Init(4, gain)

    @staticmethod
    def kaiming_uniform(inputs):
        """As PyTorch's layers begin: uniform up to 1 / sqrt(inputs)."""
        bound = 1 / _math.sqrt(inputs) if inputs > 0 else 0.0
        return Init(2, -bound, bound)

    @staticmethod
    def xavier_uniform(inputs, outputs):
        bound = _math.sqrt(6.0 / (inputs + outputs))
        return Init(2, -bound, bound)
