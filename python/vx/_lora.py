"""Low-rank adapters (Hu et al., 2021) in ONNX models: a weight W becomes W + alpha / rank * B A, where B and A alone are trained. Models are edited as messages of protobuf, so that all
else in the file stays byte by byte."""
import fnmatch as _fnmatch
import os as _os

# Field numbers of onnx.proto.
_GRAPH, _NODE, _INITIALIZER = 7, 1, 5
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_OP = 1, 2, 3, 4
_DIMS, _DATA_TYPE, _FLOATS, _NAME, _RAW, _LOCATION = 1, 2, 4, 8, 9, 14
_F32 = 1


def _varint(data, place):
    value = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise ValueError("the file is damaged: a number does not end")
        value |= (data[place] & 0x7F) << shift
        place += 1
        if data[place - 1] < 0x80:
            return value, place
        shift += 7


def _read(data):
    """[[number, kind, value]] of a message: numbers of kind 0, bytes of the others."""
    place, fields = 0, []
    while place < len(data):
        key, place = _varint(data, place)
        if key & 7 == 0:
            value, place = _varint(data, place)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                if key & 7 != 2:
                    raise ValueError(f"the file is damaged: expected a field of the kinds 0, 1, 2 and 5, got {key & 7}")
                size, place = _varint(data, place)
            if size > len(data) - place:
                raise ValueError(f"the file is damaged: expected {len(data) - place} bytes at most, got a field of {size}")
            value, place = data[place:place + size], place + size
        fields.append([key >> 3, key & 7, value])
    return fields


def _number(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _write(fields):
    parts = []
    for number, kind, value in fields:
        parts.append(_number(number << 3 | kind))
        if kind == 0:
            parts.append(_number(value))
        else:
            parts.extend([_number(len(value)), value] if kind == 2 else [value])
    return b"".join(parts)


def _texts(fields, number):
    return [bytes(value).decode("utf-8", "replace") for one, kind, value in fields if one == number and kind == 2]


def _tensor(name, array):
    return _write([*([_DIMS, 0, size] for size in array.shape), [_DATA_TYPE, 0, _F32], [_NAME, 2, name.encode()], [_RAW, 2, array.astype("<f4").tobytes()]])


def _node(op, inputs, output):
    return _write([*([_NODE_INPUT, 2, name.encode()] for name in inputs), [_NODE_OUTPUT, 2, output.encode()], [_NODE_NAME, 2, output.encode()], [_NODE_OP, 2, op.encode()]])


class _Initializer:
    """The facts of an initializer, without its elements."""

    def __init__(self, data):
        self.fields = _read(data)
        self.name = next(iter(_texts(self.fields, _NAME)), "")
        self.type = next((value for number, kind, value in self.fields if number == _DATA_TYPE and kind == 0), 0)
        self.shape = []
        for number, kind, value in self.fields:
            if number == _DIMS and kind == 0:
                self.shape.append(value)
            elif number == _DIMS: # packed
                place = 0
                while place < len(value):
                    size, place = _varint(value, place)
                    self.shape.append(size)

    def array(self):
        """Its elements. Raises ValueError if they are in another file, or not as many as its shape says."""
        import numpy
        if any(number == _LOCATION and value == 1 for number, _, value in self.fields):
            raise ValueError(f"'{self.name}': expected its elements in the file, got them in another one")
        raw = b"".join(bytes(value) for number, kind, value in self.fields if number == _RAW)
        if not raw:
            raw = b"".join(bytes(value) for number, kind, value in self.fields if number == _FLOATS)
        count = 1
        for size in self.shape:
            count *= size
        if len(raw) != 4 * count:
            raise ValueError(f"'{self.name}': expected {4 * count} bytes of elements, got {len(raw)}")
        return numpy.frombuffer(raw, "<f4").reshape(self.shape)


class LoRA:
    """Adapters for the weights of vx.Model(..., loss=..., lora=vx.LoRA("*attention*")): matrices of f32 whose names match one of the patterns, with *, ? and [a-z], between commas. Of each,
    W becomes W + alpha / rank * B A; B [rows, rank] begins with 0, A [rank, columns] with random values of `seed` up to 1 / sqrt(columns) as in PyTorch's adapters. Only these are trained:
    the model's parameters are "W.lora_B" and "W.lora_A". `export` writes the model with the sums in the place of W.

    A step computes the gradient of the whole W before those of A and B, so it saves the memory of the optimizer's state and not the time of the step.

    Raises ValueError for numbers out of their range, and where no weight matches."""

    def __init__(self, targets: str, rank: int = 8, alpha: float = 16.0, seed: int = 0):
        if not isinstance(targets, str) or not targets.strip(", "):
            raise ValueError(f"LoRA: targets: expected patterns of names, got {targets!r}")
        if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
            raise ValueError(f"LoRA: rank: expected a whole number of 1 or more, got {rank!r}")
        if not 0 < float(alpha) < float("inf"):
            raise ValueError(f"LoRA: alpha: expected a number above 0, got {alpha!r}")
        self.targets, self.rank, self.alpha, self.seed = targets, rank, float(alpha), int(seed)

    def add(self, model: bytes) -> tuple:
        """The bytes of an ONNX model with adapters, and the names of their parameters."""
        import numpy
        random = numpy.random.default_rng(self.seed)
        patterns = [one.strip() for one in self.targets.split(",") if one.strip()]
        fields = _read(memoryview(model))
        at = [place for place, (number, kind, _) in enumerate(fields) if (number, kind) == (_GRAPH, 2)]
        if len(at) != 1:
            raise ValueError(f"lora: expected an ONNX model with one graph, got {len(at)}")
        graph = _read(fields[at[0]][2])
        matrices, others = {}, []
        for number, kind, value in graph:
            if (number, kind) == (_INITIALIZER, 2):
                one = _Initializer(value)
                if any(_fnmatch.fnmatchcase(one.name, pattern) for pattern in patterns):
                    if len(one.shape) == 2 and one.type == _F32 and min(one.shape) > 0:
                        matrices[one.name] = one
                    else:
                        others.append(one.name)
        for pattern in patterns:
            if not _fnmatch.filter(matrices, pattern):
                got = _fnmatch.filter(others, pattern)
                raise ValueError(f"lora: '{pattern}': expected the name of a matrix of f32 among the initializers, got {', '.join(got) + ', which are none' if got else 'none'}")
        replaced = {name.encode(): f"{name}.lora_sum".encode() for name in matrices}
        used, nodes, rest = set(), [], []
        for field in graph:
            if field[:2] != [_NODE, 2]:
                rest.append(field)
                continue
            node = _read(field[2])
            for part in node:
                if part[:2] == [_NODE_INPUT, 2] and bytes(part[2]) in replaced:
                    used.add(bytes(part[2]).decode())
                    part[2] = replaced[bytes(part[2])]
            nodes.append([_NODE, 2, _write(node)])
        unused = [name for name in matrices if name not in used]
        if unused:
            raise ValueError(f"lora: expected weights that nodes of the graph read, got '{unused[0]}', which none reads")
        added, names = [], []
        for name, one in matrices.items():
            rows, columns = one.shape
            left, right, scale, product, scaled = (f"{name}.lora_{part}" for part in ("B", "A", "scale", "product", "scaled"))
            bound = 1 / numpy.sqrt(columns)
            rest += [[_INITIALIZER, 2, _tensor(left, numpy.zeros((rows, self.rank)))], [_INITIALIZER, 2, _tensor(right, random.uniform(-bound, bound, (self.rank, columns)))],
                     [_INITIALIZER, 2, _tensor(scale, numpy.array(self.alpha / self.rank))]]
            added += [[_NODE, 2, _node("MatMul", [left, right], product)], [_NODE, 2, _node("Mul", [product, scale], scaled)], [_NODE, 2, _node("Add", [name, scaled], f"{name}.lora_sum")]]
            names += [left, right]
        fields[at[0]][2] = _write([*added, *nodes, *rest])
        return _write(fields), names

    def __repr__(self):
        return f"vx.LoRA({self.targets!r}, rank={self.rank}, alpha={self.alpha}, seed={self.seed})"


def merge(model):
    """The bytes of a model that LoRA.add and training have made, with the sums in the place of the weights. Raises ValueError for weights that are not in the file."""
    import numpy
    fields = _read(memoryview(model))
    at = next(place for place, (number, kind, _) in enumerate(fields) if (number, kind) == (_GRAPH, 2))
    graph = _read(fields[at][2])
    initializers = {}
    for place, (number, kind, value) in enumerate(graph):
        if (number, kind) == (_INITIALIZER, 2):
            one = _Initializer(value)
            initializers[one.name] = place, one
    names = [name[:-len(".lora_B")] for name in initializers if name.endswith(".lora_B")]
    parts = {f"{name}.lora_{part}".encode() for name in names for part in ("B", "A", "scale", "product", "scaled", "sum")}
    for name in names:
        left, right, scale, weight = (initializers[one][1].array() for one in (f"{name}.lora_B", f"{name}.lora_A", f"{name}.lora_scale", name))
        place, one = initializers[name]
        total = (weight + numpy.float32(scale) * (left.astype(numpy.float64) @ right)).astype("<f4")
        kept = [field for field in one.fields if field[0] not in (_RAW, _FLOATS)]
        graph[place] = [_INITIALIZER, 2, _write([*kept, [_RAW, 2, total.tobytes()]])]
    left = []
    for field in graph:
        if field[:2] == [_NODE, 2]:
            node = _read(field[2])
            if any(bytes(part[2]) in parts for part in node if part[:2] == [_NODE_OUTPUT, 2]):
                continue
            for part in node:
                if part[:2] == [_NODE_INPUT, 2] and bytes(part[2]) in parts:
                    part[2] = bytes(part[2])[:-len(".lora_sum")]
            field = [_NODE, 2, _write(node)]
        elif field[:2] == [_INITIALIZER, 2] and next(iter(_texts(_read(field[2]), _NAME)), "").encode() in parts:
            continue
        left.append(field)
    fields[at][2] = _write(left)
    return _write(fields)


def merge_file(path):
    """Replaces a file by the merged one."""
    with open(path, "rb") as file:
        merged = merge(file.read())
    part = f"{path}.part"
    try:
        with open(part, "wb") as file:
            file.write(merged)
        _os.replace(part, path)
    except BaseException:
        if _os.path.exists(part):
            _os.remove(part)
        raise
