"""Weights of PyTorch's files, and safetensors, without PyTorch. A file of torch.save may have code for any Python program. This reader makes tensors, dicts, lists and numbers only, and
refuses everything else."""
import collections as _collections
import json as _json
import math as _math
import os as _os
import pickle as _pickle
import zipfile as _zipfile

# The types of safetensors, and the NumPy types of their bytes.
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?"}
_STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8",
             "ByteStorage": "U8", "BoolStorage": "BOOL"}
_KEYS = ("state_dict", "model_state_dict", "model")
_LONGEST_HEADER = 100_000_000


class _Weights:
    """A tensor: its type in safetensors, and an array of NumPy, in which BF16 is u16."""

    def __init__(self, dtype, array):
        self.dtype, self.array = dtype, array


class _Storage:
    def __init__(self, dtype):
        self.dtype = dtype


class _Reader(_pickle.Unpickler):
    """Makes nothing but tensors and plain data."""

    def __init__(self, file, archive, prefix):
        super().__init__(file)
        self._archive, self._prefix, self._storages = archive, prefix, {}

    def find_class(self, module, name):
        known = {("torch._utils", "_rebuild_tensor_v2"): self._rebuild, ("torch._utils", "_rebuild_parameter"): lambda data, *_: data, ("torch.nn.parameter", "Parameter"): lambda data, *_: data,
                 ("collections", "OrderedDict"): _collections.OrderedDict, ("torch", "Size"): tuple}
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in _STORAGES:
            return _Storage(_STORAGES[name])
        raise ValueError(f"expected tensors by their names, got a '{module}.{name}': save the state dict of the module alone, by torch.save(module.state_dict(), path)")

    def persistent_load(self, place):
        import numpy
        if not isinstance(place, tuple) or len(place) != 5 or place[0] != "storage" or not isinstance(place[1], _Storage):
            raise ValueError("expected a storage of elements, got another reference")
        _, storage, key, _, count = place
        if key not in self._storages:
            try:
                data = self._archive.read(f"{self._prefix}data/{key}")
            except KeyError:
                raise ValueError(f"expected the elements '{key}', which the file has not") from None
            item = numpy.dtype(_TYPES[storage.dtype]).itemsize
            if not isinstance(count, int) or count < 0 or len(data) != count * item:
                raise ValueError(f"elements '{key}': expected {count} of {item} bytes, got {len(data)} bytes")
            self._storages[key] = storage.dtype, numpy.frombuffer(data, _TYPES[storage.dtype])
        if self._storages[key][0] != storage.dtype:
            raise ValueError(f"elements '{key}': expected one type, got {self._storages[key][0]} and {storage.dtype}")
        return self._storages[key]

    @staticmethod
    def _rebuild(storage, offset, size, stride, *_):
        import numpy
        dtype, elements = storage
        numbers = (offset, *size, *stride)
        if len(size) != len(stride) or len(size) > 32 or not all(isinstance(number, int) and 0 <= number < 2**62 for number in numbers):
            raise ValueError(f"a tensor: expected sizes and strides of 0 or more, got {tuple(size)} and {tuple(stride)}")
        last = offset + sum((length - 1) * step for length, step in zip(size, stride))
        count = _math.prod(size)
        if count and last >= len(elements):
            raise ValueError(f"a tensor: expected its last element at {len(elements) - 1} at most, got {last}")
        if count > len(elements): # repeated by strides of 0: a short file would become a long one
            raise ValueError(f"a tensor: expected {len(elements)} elements at most, got {count}")
        if not count:
            return _Weights(dtype, numpy.empty(size, elements.dtype))
        item = elements.dtype.itemsize
        return _Weights(dtype, numpy.lib.stride_tricks.as_strided(elements[offset:], size, [step * item for step in stride], writeable=False))


def _read(path):
    """The object of a file of torch.save."""
    if not _zipfile.is_zipfile(path):
        raise ValueError(f"'{path}': expected a file of torch.save of PyTorch 1.6 or newer, got none: load and save it with a newer PyTorch")
    try:
        with _zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
            if len(pickles) != 1:
                raise ValueError(f"expected one data.pkl, got {len(pickles)}")
            prefix = pickles[0][:-len("data.pkl")]
            if f"{prefix}byteorder" in archive.namelist() and archive.read(f"{prefix}byteorder") != b"little":
                raise ValueError("expected elements whose first byte is the lowest, got another order")
            if any(name.startswith(f"{prefix}code/") for name in archive.namelist()):
                raise ValueError("expected a state dict, got a program of TorchScript: save its state_dict()")
            with archive.open(pickles[0]) as file:
                return _Reader(file, archive, prefix).load()
    except ValueError as error:
        raise ValueError(f"'{path}': {error}") from None
    except OSError:
        raise
    except Exception as error: # of a file that is cut or damaged
        raise ValueError(f"'{path}': the file is damaged: {type(error).__name__}: {error}") from None


def _choose(path, content, key):
    """The tensors by name."""
    if key is not None:
        for part in key.split("/"):
            if not isinstance(content, dict) or part not in content:
                raise ValueError(f"'{path}': expected '{part}' of the key '{key}' among {', '.join(map(str, content)) if isinstance(content, dict) else 'no names'}")
            content = content[part]
    elif isinstance(content, dict) and not any(isinstance(value, _Weights) for value in content.values()):
        inside = [name for name in _KEYS if isinstance(content.get(name), dict)]
        if len(inside) != 1:
            raise ValueError(f"'{path}': expected tensors by their names, got {', '.join(map(str, content)) or 'nothing'}: name the state dict by --key")
        content = content[inside[0]]
    if isinstance(content, _Weights):
        raise ValueError(f"'{path}': expected tensors by their names, got one tensor")
    if not isinstance(content, dict):
        raise ValueError(f"'{path}': expected tensors by their names, got a {type(content).__name__}")
    tensors = {name: value for name, value in content.items() if isinstance(value, _Weights)}
    if not tensors or not all(isinstance(name, str) for name in tensors):
        raise ValueError(f"'{path}': expected tensors by their names, got {'no tensor' if not tensors else 'names that are no texts'}")
    return tensors, [str(name) for name in content if name not in tensors]


def _write(path, tensors):
    """Writes safetensors beside `path`, then renames the file."""
    import numpy
    header, offset = {}, 0
    for name, one in tensors.items():
        header[name] = {"dtype": one.dtype, "shape": list(one.array.shape), "data_offsets": [offset, offset + one.array.nbytes]}
        offset += one.array.nbytes
    text = _json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for one in tensors.values():
                file.write(memoryview(numpy.ascontiguousarray(one.array)).cast("B") if one.array.size else b"")
        _os.replace(part, path)
    except BaseException:
        if _os.path.exists(part):
            _os.remove(part)
        raise


def convert(source, output, key: str | None = None) -> list:
    """Writes the tensors of a file of torch.save as safetensors, and returns the names of what it left out because it is no tensor. bf16 stays bf16; each tensor is written by itself,
    tied ones too.

    `key`: the place of the state dict in a dict, as "state_dict" or "nets/first"; None: the dict itself, or the only one of state_dict, model_state_dict and model in it.

    Raises ValueError for a file that is damaged, has other objects than tensors, or has no state dict; OSError for one that cannot be read or written. `output` is the old one then."""
    source, output = _os.fspath(source), _os.fspath(output)
    tensors, others = _choose(source, _read(source), key)
    _write(output, tensors)
    return others


def read_safetensors(path) -> dict:
    """{name: array} of a safetensors file; bf16 becomes f32. Raises ValueError for a file that is damaged."""
    import numpy
    path = _os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(len(data) - 8, _LONGEST_HEADER):
        raise ValueError(f"'{path}': expected a safetensors file, whose header has at most {max(len(data) - 8, 0)} bytes, got {length}")
    try:
        header = _json.loads(data[8:8 + length])
        body, arrays = memoryview(data)[8 + length:], {}
        for name, one in header.items():
            if name == "__metadata__":
                continue
            (begin, end), shape, dtype = one["data_offsets"], one["shape"], numpy.dtype(_TYPES[one["dtype"]])
            if not all(type(number) is int and 0 <= number < 2**62 for number in (begin, end, *shape)):
                raise ValueError(f"'{name}': expected sizes and offsets of 0 or more")
            if not begin <= end <= len(body) or end - begin != _math.prod(shape) * dtype.itemsize:
                raise ValueError(f"'{name}': expected {_math.prod(shape) * dtype.itemsize} bytes inside of {len(body)}, got {begin} to {end}")
            array = numpy.frombuffer(body[begin:end], dtype).reshape(shape)
            arrays[name] = (array.astype(numpy.uint32) << 16).view(numpy.float32) if one["dtype"] == "BF16" else array
    except ValueError as error: # those of the JSON too
        raise ValueError(f"'{path}': the file is damaged: {error}") from None
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(f"'{path}': the header is damaged: {type(error).__name__}: {error}") from None
    return arrays
