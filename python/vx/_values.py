"""Arrays of users as tensors of the runtime, and back. Nothing is imported for them: pandas and torch are recognised by their objects."""
import contextlib as _contextlib

from ._runtime import Error, Tensor

# The integers and floats of the runtime that numpy has, as numpy calls them.
_INTEGERS = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64"}
_FLOATS = {"f16": "float16", "f32": "float32", "f64": "float64"}
_NUMBERS = {**_INTEGERS, **_FLOATS}


def root_of(value):
    """The package that a value's class is of: "numpy", "torch", "pandas"."""
    return type(value).__module__.partition(".")[0]


def is_frame(value):
    """Whether a value is a table with named columns, as those of pandas."""
    return hasattr(value, "columns") and hasattr(value, "to_numpy")


def _is_exact(array, dtype):
    """Where integers are values of a float type. It may be the array True, for those that always are."""
    import numpy
    bits = numpy.finfo(_FLOATS[dtype]).nmant + 1
    if array.dtype.kind == "b" or array.dtype.itemsize * 8 <= bits or not array.size or -(2**bits) <= int(array.min()) and int(array.max()) <= 2**bits:
        return numpy.ones(array.shape, bool)
    with numpy.errstate(over="ignore"):
        return array.astype(_FLOATS[dtype]).astype(numpy.longdouble) == array.astype(numpy.longdouble)


def _lost(array, dtype):
    """The values that the type does not have, and the values that it has."""
    import numpy
    kind = array.dtype.kind
    if dtype in _INTEGERS:
        bounds = numpy.iinfo(_INTEGERS[dtype])
        expected = f"expected {bounds.min} to {bounds.max}"
        if kind == "b":
            return numpy.zeros(array.shape, bool), expected
        if kind != "f":
            return (array < bounds.min) | (array > bounds.max), expected
        # The largest integer may be no float: the one after it is.
        array = array.astype(numpy.float64)
        return ~((array >= float(bounds.min)) & (array < float(bounds.max + 1)) & (array == numpy.floor(array))), "expected a whole number from " + expected[9:]
    bounds = numpy.finfo(_FLOATS[dtype])
    if kind == "f":
        with numpy.errstate(over="ignore"):
            return numpy.isinf(array.astype(_FLOATS[dtype])) & ~numpy.isinf(array), f"expected {bounds.min} to {bounds.max}"
    return ~_is_exact(array, dtype), f"expected an integer that it holds, as all up to {2 ** (bounds.nmant + 1)}"


def convert(array, dtype, name):
    """An array of numpy's in an element type of the runtime, if that holds each value. Floats are rounded to the nearest. Other types stay, for the runtime to refuse.

    Raises ValueError with the first value that the type does not hold, and its index."""
    import numpy
    own = str(array.dtype)
    if dtype not in _NUMBERS or dtype == "bool" or own not in _NUMBERS.values() or own == _NUMBERS[dtype]:
        return array
    lost, expected = _lost(array, dtype)
    if lost.any():
        place = tuple(int(index) for index in numpy.argwhere(lost)[0])
        raise ValueError(f"input '{name}': {array[place]} at {list(place)} is no value of {dtype}: {expected}")
    with numpy.errstate(over="ignore"):
        return array.astype(_NUMBERS[dtype])


def _numbers(array, name):
    """The numbers of an array of objects. Raises TypeError with the first that is none, and ValueError with the first integer that no type holds."""
    import numpy
    for place, value in numpy.ndenumerate(array):
        if isinstance(value, (bool, int, float, numpy.number, numpy.bool_)) and not isinstance(value, complex):
            if isinstance(value, int) and not -(2**63) <= value < 2**64:
                raise ValueError(f"input '{name}': {value} at {list(place)} is no value of any integer type")
            continue
        raise TypeError(f"input '{name}': expected numbers, got {value!r} ({type(value).__name__}) at {list(place)}")
    return numpy.array(array.tolist())


def plain(value):
    """A value without the parts that only its library knows: a tensor of torch without its gradient and contiguous, the array of a frame or a column of pandas. Others as they are."""
    if root_of(value) == "pandas" or is_frame(value):
        return value.to_numpy()
    if getattr(value, "requires_grad", False) and hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "is_contiguous") and hasattr(value, "contiguous") and not value.is_contiguous():
        value = value.contiguous()
    return value


@_contextlib.contextmanager
def _named_errors(value, name):
    """Errors of an array's own library, which gives no memory of a sparse tensor or of a device that is not there, with the input's name."""
    try:
        yield
    except (BufferError, RuntimeError, ValueError) as error:
        if root_of(value) == "numpy" or isinstance(error, Error):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"input '{name}': {type(value).__module__}.{type(value).__qualname__} gives no array by DLPack: {reason}") from None


def to_input(value, entry):
    """A value as the tensor of an input, in the element type of that if it holds each value. A vx.Tensor is never converted: it may be in the memory of a device."""
    name, dtype = entry["name"], entry["dtype"]
    if isinstance(value, Tensor):
        return value
    with _named_errors(value, name):
        value = plain(value)
    if not hasattr(value, "__dlpack__"):
        import numpy
        try:
            value = numpy.asarray(value)
        except ValueError as error:
            raise ValueError(f"input '{name}': expected lists of equal lengths: {error}") from None
    if root_of(value) == "numpy" and value.dtype.kind == "O" and dtype != "string":
        value = _numbers(value, name)
    if root_of(value) == "numpy" and value.dtype.kind in "cmM":
        raise TypeError(f"input '{name}': expected {dtype}, got {value.dtype}")
    with _named_errors(value, name):
        tensor = to_tensor(value)
    if tensor.dtype == dtype or dtype not in _NUMBERS or tensor.dtype not in _NUMBERS or dtype == "bool":
        return tensor
    return to_tensor(convert(to_array(tensor), dtype, name))


def to_tensor(array):
    """An array of any library as a tensor of the runtime, which reads it in place where it can."""
    if isinstance(array, Tensor):
        return array
    array = plain(array)
    if not hasattr(array, "__dlpack__") or root_of(array) == "numpy":
        import numpy
        array = numpy.asarray(array)
        if array.dtype.kind in "OUT": # strings
            return Tensor.from_strings(array.ravel().tolist(), array.shape)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if not array.flags.c_contiguous:
            array = numpy.array(array, order="C") # keeps its rank, which ascontiguousarray does not
    # The default stream, and so the runtime, waits for work that is queued for an array of CUDA.
    device = getattr(array, "__dlpack_device__", None)
    stream = {"stream": 1} if device and device()[0] == 2 else {}
    return Tensor.from_capsule(array.__dlpack__(max_version=(1, 0), **stream))


class _OnHost:
    """A tensor, in memory of the host."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **options):
        return self._tensor.__dlpack__(dl_device=(1, 0))

    def __dlpack_device__(self):
        return 1, 0


def to_array(tensor):
    """A tensor as numpy's array over its memory. It stays a tensor if numpy has no such type."""
    if tensor.dtype not in _NUMBERS and tensor.dtype != "string":
        return tensor
    import numpy
    if tensor.dtype == "string":
        texts = numpy.empty(len(tensor.strings()), object)
        texts[:] = tensor.strings()
        return texts.reshape(tensor.shape)
    return numpy.from_dlpack(_OnHost(tensor))


def by_column(frame, entries):
    """The columns of a frame as inputs by their names, or None if it has not one for each input. A column of a matrix with one column is given as such."""
    if not entries or any(entry["name"] not in list(frame.columns) for entry in entries):
        return None
    return {entry["name"]: plain(frame[entry["name"]]).reshape((-1,) + (1,) * (len(entry["shape"]) - 1)) for entry in entries}


def arguments(functions, function, arrays, named):
    """The tensors for the inputs of a function, and the names of its results.

    Inputs come by position and by name. One argument by position may be a dict of inputs, or a frame with a column for each input. Raises KeyError for a function that is not there,
    and TypeError for inputs that are missing, unknown or given twice."""
    if function not in functions:
        raise KeyError(f"the module has no function '{function}', but {', '.join(functions)}")
    info = functions[function]
    names = [entry["name"] for entry in info["inputs"]]
    if len(arrays) == 1 and not named:
        if isinstance(arrays[0], dict):
            arrays, named = (), arrays[0]
        elif is_frame(arrays[0]) and (columns := by_column(arrays[0], info["inputs"])):
            arrays, named = (), columns
    if len(arrays) > len(names):
        raise TypeError(f"function '{function}' takes {len(names)} inputs, got {len(arrays)}")
    given = dict(zip(names, arrays))
    for name, array in named.items():
        if name not in names:
            raise TypeError(f"function '{function}' has no input '{name}', but {', '.join(names)}")
        if name in given:
            raise TypeError(f"function '{function}': input '{name}' is given twice")
        given[name] = array
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"function '{function}': expected inputs {', '.join(names)}, got none for {', '.join(missing)}")
    return [to_input(given[entry["name"]], entry) for entry in info["inputs"]], [entry["name"] for entry in info["outputs"]]
