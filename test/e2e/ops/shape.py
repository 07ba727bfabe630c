"""Constants and ops that move elements."""
from op_case import FLOATS, INTEGERS, Case, Input, Result, any_values, integers, special_floats, tensor_type, uniform, values
from tolerance import Exact

EVERY = FLOATS + INTEGERS + ("i1",)
SOME = ("f32", "i1", "i64", "bf16", "ui8")


def moved(name, dtype, dims, op, result):
    """`op` is text over %x, with {x} and {r} for the types."""
    text = op.format(x=tensor_type(dtype, dims), r=tensor_type(dtype, result))
    return Case(f"{name}_{dtype}", {"x": Input(dtype, dims, any_values(dtype))}, f"  %r = {text}",
                {"r": Result(dtype, result, Exact())})


def keys(rng, shape):
    return rng.integers(-2**63, 2**63, shape)


def dims_attr(*amounts):
    return "[" + ", ".join(f"#vx.dim<{amount}>" for amount in amounts) + "]"


def cases():
    for dtype in EVERY:
        yield moved("transpose", dtype, [3, 7], "vx.transpose %x, [1, 0] : {x}", [7, 3])
    for dtype in SOME:
        yield moved("transpose_3d", dtype, [2, 5, 3], "vx.transpose %x, [2, 0, 1] : {x}", [3, 2, 5])
        yield moved("broadcast", dtype, [3, 1], "vx.broadcast %x, [1, 2] : {x} -> {r}", [2, 3, 5])
        yield moved("slice", dtype, [11], "vx.slice %x starts [#vx.dim<2>] strides [3] : {x} -> {r}", [3])
        yield moved("reshape", dtype, [4, 6], "vx.reshape %x : {x} -> {r}", [3, 8])
    # Planes become pixels: rows of two to four elements, of whole vectors and not.
    for dtype in ("f32", "ui8", "f16", "i64"):
        for planes, width in ((2, 16), (3, 37), (4, 64), (3, 5), (5, 33), (3, 1), (3, 0)):
            yield moved(f"transpose_pixels_{planes}x{width}", dtype, [2, planes, 3, width], "vx.transpose %x, [0, 2, 3, 1] : {x}", [2, 3, width, planes])
    # Squares in registers, the last of which lie over a part of those before: of all widths of elements, wider and narrower than a square, and cut into workgroups.
    for dtype in ("ui8", "f16", "bf16", "f32", "i32", "f64", "i64", "i1"):
        for rows, columns in ((64, 48), (37, 43), (17, 16), (16, 15), (9, 131), (5, 33), (4, 4), (3, 29), (29, 3)):
            yield moved(f"transpose_squares_{rows}x{columns}", dtype, [2, rows, columns], "vx.transpose %x, [0, 2, 1] : {x}", [2, columns, rows])
        yield moved("transpose_squares_channels", dtype, [1, 133, 18, 26], "vx.transpose %x, [0, 2, 3, 1] : {x}", [1, 18, 26, 133])
        yield moved("transpose_squares_planes", dtype, [1, 18, 26, 37], "vx.transpose %x, [0, 3, 1, 2] : {x}", [1, 37, 18, 26])
        yield moved("transpose_squares_outer", dtype, [21, 3, 19], "vx.transpose %x, [2, 1, 0] : {x}", [19, 3, 21])
    for name, dims, permutation in (("scalar", [], []), ("one", [7], [0]), ("empty", [0, 3], [1, 0]), ("ones", [1, 1, 1], [2, 1, 0]),
                                    ("5d", [2, 3, 1, 5, 2], [4, 1, 3, 0, 2]), ("long", [67, 131], [1, 0]),
                                    ("batch", [3, 17, 13], [0, 2, 1])):
        yield moved(f"transpose_{name}", "f32", dims, f"vx.transpose %x, {permutation} : {{x}}",
                    [dims[axis] for axis in permutation])
    for name, dtype, dims, dim, tile, permutation in (("whole", "f32", [32, 3], 0, 16, [0, 1]), ("rest", "f32", [3, 20], 1, 16, [1, 0]),
                                                      ("filter", "f32", [17, 3, 2, 5], 0, 16, [0, 2, 3, 1]), ("small", "i32", [2, 2], 0, 4, [1, 0]),
                                                      ("empty", "f32", [0, 3], 0, 16, [0, 1]), ("bf16", "bf16", [33, 2], 0, 32, [0, 1]),
                                                      ("unsigned", "ui16", [5, 2], 0, 4, [1, 0])):
        packed = [-(-dims[d] // tile) if d == dim else dims[d] for d in permutation] + [tile]
        yield moved(f"pack_{name}", dtype, dims, f"vx.pack %x dim = {dim} tile = {tile} permutation = {permutation} : {{x}}", packed)
        yield moved(f"unpack_{name}", dtype, packed, f"vx.unpack %x dim = {dim} permutation = {permutation} : {{x}} -> {{r}}", dims)
    for name, dims, result in (("to_scalar", [1, 1], []), ("from_scalar", [], [1, 1, 1]), ("empty", [0, 7], [3, 0]),
                               ("flat", [3, 5, 7], [105]), ("deep", [30], [2, 3, 5]), ("ones", [7], [1, 7, 1])):
        yield moved(f"reshape_{name}", "f32", dims, "vx.reshape %x : {x} -> {r}", result)
    for name, dims, where, result in (("scalar", [], [], [3, 5]), ("same", [3, 5], [0, 1], [3, 5]), ("rows", [5], [1], [3, 5]),
                                      ("columns", [3], [0], [3, 5]), ("empty", [1], [0], [0]), ("to_none", [5], [1], [0, 5]),
                                      ("middle", [2, 7], [0, 2], [2, 3, 7]), ("all_ones", [1, 1], [0, 2], [2, 3, 5])):
        yield moved(f"broadcast_{name}", "f32", dims, f"vx.broadcast %x, {where} : {{x}} -> {{r}}", result)
    for name, dims, starts, strides, result in (
            ("backwards", [7], [6], [-1], [7]), ("backwards_steps", [11], [10], [-3], [4]), ("empty", [5], [5], [1], [0]),
            ("box", [5, 7, 3], [1, 2, 0], [1, 2, 1], [3, 2, 3]), ("mixed", [5, 7], [4, 1], [-2, 3], [3, 2]),
            ("one", [13], [12], [1], [1]), ("whole", [3, 5], [0, 0], [1, 1], [3, 5]), ("of_empty", [0, 4], [0, 3], [1, -1], [0, 4])):
        yield moved(f"slice_{name}", "f32", dims, f"vx.slice %x starts {dims_attr(*starts)} strides {strides} : {{x}} -> {{r}}", result)
    # A vector and a part of one in each row, whose last element ends whole lines of the cache; the first of those that go back begins them.
    for stride in (2, 3, 4, 5, -1, -2, -3, -4):
        length = abs(stride) * 19 + 1
        yield moved(f"slice_vectors_by_{stride}".replace("-", "minus_"), "f32", [16, length],
                    f"vx.slice %x starts {dims_attr(0, length - 1 if stride < 0 else 0)} strides [1, {stride}] : {{x}} -> {{r}}", [16, 20])
    yield from concats()
    yield from pads()
    yield from made()


def concats():
    for name, dtype, axis, parts in (
            ("rows", "f32", 0, [[2, 3], [1, 3], [5, 3]]), ("columns", "i32", 1, [[3, 1], [3, 7]]), ("one", "f32", 0, [[4]]),
            ("with_empty", "f32", 0, [[0, 2], [3, 2], [0, 2]]), ("all_empty", "f32", 0, [[0], [0]]), ("bools", "i1", 0, [[3], [4]]),
            ("middle", "f64", 1, [[2, 3, 5], [2, 1, 5]]), ("many", "f16", 0, [[1], [2], [3], [4], [5]]), ("very_many", "f32", 0, [[1 + 7 * i % 5] for i in range(23)]),
            ("many_columns", "f32", 1, [[3, i] for i in (2, 0, 1, 5, 1, 3)]),
            ("long", "i64", 0, [[257], [131]]), ("bytes", "ui8", 1, [[3, 3], [3, 2]]), ("halves", "bf16", 0, [[3], [4]])):
        inputs = {f"x{i}": Input(dtype, dims, any_values(dtype)) for i, dims in enumerate(parts)}
        result = list(parts[0])
        result[axis] = sum(dims[axis] for dims in parts)
        text = f"  %r = vx.concat axis = {axis} ({', '.join('%' + x for x in inputs)}) : " + \
            ", ".join(value.type() for value in inputs.values())
        yield Case(f"concat_{name}", inputs, text, {"r": Result(dtype, result, Exact())})
    kind = tensor_type("f32", [3])
    yield Case("concat_same_twice", {"x": Input("f32", [3], uniform())},
               f"  %r = vx.concat axis = 0 (%x, %x) : {kind}, {kind}", {"r": Result("f32", [6], Exact())})


def pads():
    for name, dtype, dims, low, high in (
            ("both", "f32", [3, 5], [1, 0], [2, 3]), ("removes", "f32", [7, 5], [-2, 1], [0, -3]), ("none", "f32", [5], [0], [0]),
            ("empty", "f32", [0], [2], [3]), ("to_empty", "f32", [5], [-3], [-2]), ("scalar", "f32", [], [], []),
            ("ints", "i32", [3], [1], [1]), ("bools", "i1", [3], [1], [2]), ("wide", "f64", [2, 1, 3], [1, 1, 1], [0, 2, 1]),
            ("bytes", "i8", [17], [5], [7]), ("halves", "f16", [3, 3], [0, 1], [1, 0]), ("beyond", "f32", [4], [-6], [5])):
        result = [size + a + b for size, a, b in zip(dims, low, high)]
        yield Case(f"pad_{name}", {"x": Input(dtype, dims, any_values(dtype)), "v": Input(dtype, [], values(1))},
                   f"  %r = vx.pad %x, %v low {dims_attr(*low)} high {dims_attr(*high)} : "
                   f"{tensor_type(dtype, dims)}, {tensor_type(dtype, [])}", {"r": Result(dtype, result, Exact())})
    yield Case("pad_nan", {"x": Input("f32", [3], special_floats()), "v": Input("f32", [], values(float("nan")))},
               "  %r = vx.pad %x, %v low [#vx.dim<1>] high [#vx.dim<1>] : tensor<3xf32>, tensor<f32>",
               {"r": Result("f32", [5], Exact())})


def made():
    """Ops without operands."""
    for dtype in ("f32", "f16", "bf16", "f64", "i8", "i32", "i64", "ui8", "ui64"):
        yield Case(f"iota_{dtype}", {}, f"  %r = vx.iota axis = 1 : {tensor_type(dtype, [3, 7])}",
                   {"r": Result(dtype, [3, 7], Exact())})
    for name, axis, dims in (("empty", 0, [0]), ("one", 0, [1]), ("first", 0, [5, 2, 3]), ("long", 0, [1009])):
        yield Case(f"iota_{name}", {}, f"  %r = vx.iota axis = {axis} : {tensor_type('i64', dims)}",
                   {"r": Result("i64", dims, Exact())})
    for name, number, dims in (("one", 0, []), ("empty", 0, [0, 4]), ("short", 1, [7]), ("matrix", 2**33 + 5, [3, 37]), ("block", -1, [5, 1, 64])):
        yield Case(f"random_bits_{name}", {"k": Input("i64", [], keys)}, f"  %r = vx.random_bits %k number = {number} : {tensor_type('ui32', dims)}",
                   {"r": Result("ui32", dims, Exact())})
    # Drawn where they are read: behind a product, in front of a sum, and by two readers.
    kind, mask = tensor_type("f32", [6, 48]), tensor_type("i1", [6, 48])
    yield Case("random_bits_read", {"k": Input("i64", [], keys), "x": Input("f32", [6, 48], integers(-4, 4)), "w": Input("f32", [48, 48], integers(-2, 2))}, f"""
  %b = vx.random_bits %k number = 2 : {tensor_type('ui32', [6, 48])}
  %c = vx.constant dense<1234567890> : tensor<ui32>
  %l = vx.broadcast %c, [] : tensor<ui32> -> {tensor_type('ui32', [6, 48])}
  %m = vx.compare ge %b, %l : {tensor_type('ui32', [6, 48])}, {tensor_type('ui32', [6, 48])}
  %z = vx.constant dense<0.0> : {kind}
  %p = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : {kind}, {tensor_type('f32', [48, 48])}
  %r = vx.select %m, %p, %z : {mask}, {kind}, {kind}
  %t = vx.select %m, %x, %z : {mask}, {kind}, {kind}
  %s = vx.reduce sum %t axes = [1] : {kind}""",
               {"r": Result("f32", [6, 48], Exact()), "s": Result("f32", [6], Exact())})
    for dtype, text in (("f32", "[1.5, -0.0, 0x7F800000]"), ("f64", "[1.0e300, 0x7FF8000000000000, -2.5]"), ("f16", "[1.0, 65504.0, -2.0]"),
                        ("bf16", "[1.0, 3.0e38, -2.0]"), ("i1", "[true, false, true]"), ("i8", "[-128, 0, 127]"),
                        ("i64", "[-9223372036854775808, 0, 9223372036854775807]"), ("ui64", "[18446744073709551615, 0, 1]"),
                        ("ui8", "[255, 0, 1]")):
        kind = tensor_type(dtype, [3])
        yield Case(f"constant_{dtype}", {}, f"  %r = vx.constant dense<{text}> : {kind}", {"r": Result(dtype, [3], Exact())})
        # Read by a kernel at run time.
        yield Case(f"constant_used_{dtype}", {"x": Input(dtype, [3], any_values(dtype))},
                   f"  %c = vx.constant dense<{text}> : {kind}\n  %r = vx.concat axis = 0 (%x, %c) : {kind}, {kind}",
                   {"r": Result(dtype, [6], Exact())})
    yield Case("constant_empty", {}, "  %r = vx.constant dense<> : tensor<0xf32>", {"r": Result("f32", [0], Exact())})
    yield Case("constant_splat", {}, "  %r = vx.constant dense<2.5> : tensor<3x5xf32>", {"r": Result("f32", [3, 5], Exact())})
    yield Case("identity", {"x": Input("f32", [5], special_floats())}, "  %r = vx.reshape %x : tensor<5xf32> -> tensor<5xf32>",
               {"r": Result("f32", [5], Exact())})
