"""Numbers in blocks of bytes: decoded, read by a product, and read by a gather."""
import numpy as np

from op_case import Case, Input, Result, tensor_type, uniform
from tolerance import Exact, at_most

# Elements and bytes of a block; the places of its numbers in f16; the magnitude of the largest integer with its scale of a part, and of a minimum's.
FORMATS = {"q4_0": (32, 18, [0], 8, 0), "q4_1": (32, 20, [0, 2], 15, 1), "q5_0": (32, 22, [0], 16, 0), "q5_1": (32, 24, [0, 2], 31, 1), "q8_0": (32, 34, [0], 128, 0),
           "q2_k": (256, 84, [80, 82], 3 * 15, 15), "q3_k": (256, 110, [108], 4 * 32, 0), "q4_k": (256, 144, [0, 2], 15 * 63, 63),
           "q5_k": (256, 176, [0, 2], 31 * 63, 63), "q6_k": (256, 210, [208], 32 * 128, 0), "iq4_nl": (32, 18, [0], 127, 0), "mxfp4": (32, 17, [], 12, 0)}
LARGEST = 0.03  # of the numbers in f16, and of mxfp4's powers of 2


def blocks(name, largest=LARGEST):
    """Random bytes, but for the numbers in f16, which are of both signs and at most `largest`, and the exponents."""
    elements, size, halves, _, _ = FORMATS[name]

    def make(rng, shape):
        data = rng.integers(0, 256, (*shape[:-1], shape[-1] // size, size), dtype=np.uint8)
        for place in halves:
            values = rng.uniform(largest / 3, largest, data.shape[:-1]) * rng.choice([-1, 1], data.shape[:-1])
            data[..., place:place + 2] = values.astype("<f2")[..., None].view(np.uint8)
        if name == "mxfp4":
            data[..., 0] = rng.integers(112, 122, data.shape[:-1])  # 2^-16 to 2^-7
        return data.reshape(shape)
    return make


def every_exponent(rng, shape):
    """Blocks of mxfp4 with each exponent: 0 and 1 are those of numbers that are not normal."""
    data = rng.integers(0, 256, (shape[-1] // 17, 17), dtype=np.uint8)
    data[:, 0] = np.arange(len(data))
    return data.reshape(shape)


def magnitude(name):
    """Of a number, in units of the numbers in f16."""
    _, _, _, integer, minimum = FORMATS[name]
    return integer + minimum


def largest(name):
    return magnitude(name) * LARGEST


def constant_bytes(name, dims, rng):
    """The text of a constant of rows of numbers in blocks, decoded as `wd`."""
    elements, size, *_ = FORMATS[name]
    shape = [*dims[:-1], dims[-1] // elements * size]
    data = blocks(name)(rng, tuple(shape))
    return (f"  %w = vx.constant dense<\"0x{data.tobytes().hex().upper()}\"> : {tensor_type('ui8', shape)}\n"
            f"  %wd = vx.decode_blocks {name} %w : {tensor_type('ui8', shape)}\n")


def decoded():
    """Formats without a minimum have one product for each number, which is rounded; a sum with one may be rounded once with its product."""
    for name, (elements, size, *_) in FORMATS.items():
        rule = at_most(lambda inputs, most=largest(name): 2.0**-23 * most, "epsilon * the largest number") if FORMATS[name][4] else Exact()
        for dims in ([1], [7], [2, 3], [0], [3, 0], [1, 1, 2]):
            bytes_of, numbers = [*dims[:-1], dims[-1] * size], [*dims[:-1], dims[-1] * elements]
            yield Case(f"decode_{name}_{'x'.join(map(str, dims))}", {"x": Input("ui8", bytes_of, blocks(name))},
                       f"  %r = vx.decode_blocks {name} %x : {tensor_type('ui8', bytes_of)}", {"r": Result("f32", numbers, rule)})
    # Every exponent but the least ones, whose numbers devices may take for 0, and the greatest, of which products are infinite.
    yield Case("decode_exponents", {"x": Input("ui8", [256 * 17], every_exponent)},
               f"  %d = vx.decode_blocks mxfp4 %x : {tensor_type('ui8', [256 * 17])}\n"
               f"  %r = vx.slice %d starts [#vx.dim<96>] strides [1] : {tensor_type('f32', [8192])} -> {tensor_type('f32', [7936])}", {"r": Result("f32", [7936], Exact())})


def products():
    rng = np.random.default_rng(5)
    for name, (elements, _, *_) in FORMATS.items():
        for m, n, count in ((1, 33, 3), (1, 64, 8), (3, 48, 2), (17, 20, 1), (70, 32, 2)):
            k = elements * (count if elements == 32 else min(count, 2))
            bound = at_most(lambda inputs, k=k, most=largest(name): (k + 4) * most * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product")
            yield Case(f"product_{name}_{m}x{n}x{k}", {"x": Input("f32", [m, k], uniform())},
                       f"{constant_bytes(name, [n, k], rng)}  %r = vx.contract %x, %wd batch = [] x [] contracting = [1] x [1] : "
                       f"{tensor_type('f32', [m, k])}, {tensor_type('f32', [n, k])}", {"r": Result("f32", [m, n], bound)})
    # Sums so long that a GPU cuts them: the parts have blocks, or groups of blocks, of their own.
    for name, k in (("q4_1", 3104), ("q8_0", 4096), ("q4_k", 3072), ("q6_k", 4096)):
        bound = at_most(lambda inputs, k=k, most=largest(name): (k + 4) * most * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product")
        yield Case(f"product_{name}_17x20x{k}", {"x": Input("f32", [17, k], uniform())},
                   f"{constant_bytes(name, [20, k], rng)}  %r = vx.contract %x, %wd batch = [] x [] contracting = [1] x [1] : "
                   f"{tensor_type('f32', [17, k])}, {tensor_type('f32', [20, k])}", {"r": Result("f32", [17, 20], bound)})
    # The sum runs along the left factor's first dimension: its neighbours are a row apart.
    for name in ("q4_0", "q4_1", "q8_0", "q4_k"):
        k = 512
        bound = at_most(lambda inputs, most=largest(name): (512 + 4) * most * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product")
        for m in (1, 3, 17):
            yield Case(f"product_{name}_columns_of_{m}", {"x": Input("f32", [k, m], uniform())},
                       f"{constant_bytes(name, [33, k], rng)}  %r = vx.contract %x, %wd batch = [] x [] contracting = [0] x [1] : "
                       f"{tensor_type('f32', [k, m])}, {tensor_type('f32', [33, k])}", {"r": Result("f32", [m, 33], bound)})
    # Any number of rows, as a prompt has.
    for name in ("q4_1", "q8_0", "q6_k"):
        k = 256
        bound = at_most(lambda inputs, most=largest(name): (256 + 4) * most * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product")
        yield Case(f"product_{name}_dynamic", {"x": Input("f32", [1, "M", k], uniform())},
                   f"{constant_bytes(name, [48, k], rng)}  %r = vx.contract %x, %wd batch = [] x [] contracting = [2] x [1] : "
                   f"{tensor_type('f32', [1, 'M', k])}, {tensor_type('f32', [48, k])}", {"r": Result("f32", [1, "M", 48], bound)},
                   header='vx.symbol "M"', runs=[{"M": size} for size in (1, 2, 7, 31, 65)])


def tables():
    """Rows of a table, which a product reads too: an embedding that is the head of the model."""
    rng = np.random.default_rng(6)
    for name, (elements, _, *_) in FORMATS.items():
        n, k = 40, 2 * elements
        bound = at_most(lambda inputs, most=largest(name): 2.0**-23 * most, "epsilon * the largest number")
        many = at_most(lambda inputs, k=k, most=largest(name): (k + 4) * most * most * 2.0**-22, "(k + 4) * 2 * epsilon * the largest product")
        yield Case(f"table_{name}", {"i": Input("i64", [1, "L"], lambda rng, shape: rng.integers(0, 40, shape))},
                   f"{constant_bytes(name, [n, k], rng)}  %r = vx.gather %wd, %i axis = 0 : {tensor_type('f32', [n, k])}, {tensor_type('i64', [1, 'L'])}\n"
                   f"  %p = vx.contract %r, %wd batch = [] x [] contracting = [2] x [1] : {tensor_type('f32', [1, 'L', k])}, {tensor_type('f32', [n, k])}",
                   {"r": Result("f32", [1, "L", k], bound), "p": Result("f32", [1, "L", n], many)}, header='vx.symbol "L"', runs=[{"L": size} for size in (1, 5, 33)])
    # Rows along a dimension between.
    for name in ("q5_1", "q6_k"):
        elements = FORMATS[name][0]
        bound = at_most(lambda inputs, most=largest(name): 2.0**-23 * most, "epsilon * the largest number")
        yield Case(f"table_{name}_axis_1", {"i": Input("i64", [5], lambda rng, shape: rng.integers(0, 7, shape))},
                   f"{constant_bytes(name, [3, 7, elements], rng)}  %r = vx.gather %wd, %i axis = 1 : {tensor_type('f32', [3, 7, elements])}, {tensor_type('i64', [5])}",
                   {"r": Result("f32", [3, 5, elements], bound)})


def cases():
    yield from decoded()
    yield from products()
    yield from tables()
