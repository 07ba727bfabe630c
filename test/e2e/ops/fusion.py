"""Kernels with several results: what an anchor computes leaves beside what follows from it, and what is read by others too.

Of the cases of other families, each with four results more: twice its own, a sum that is read where it is stored, the greater of both, and a comparison."""
import fnmatch

from ops import attention, contraction, norm, reduction

from op_case import Case, Input, Points, Result, apart, bools, signed, tensor_type, uniform
from tolerance import Exact, Ulp, relative, sum_of

OF_OTHERS = {
    contraction: ("matmul_f32", "matmul_f16", "matmul_i32", "matmul_1x*", "matmul_64x64x64", "matmul_67x131x129", "matmul_128x16x257", "matmul_5x0x3", "matmul_3x5x0",
                  "contract_batched", "contract_matrix_vector", "contract_vector_matrix", "contract_heads", "matmul_bias_relu", "matmul_of_transposed",
                  "packed_matmul_131x67x19_f32", "packed_matmul_7x20x9_f16", "packed_conv_3x3", "packed_conv_1x1", "depthwise_depthwise_*", "depthwise_wide_packed"),
    norm: ("softmax_f32", "softmax_f16", "softmax_middle", "softmax_long", "softmax_first_axis", "layer_norm_f32", "layer_norm_long", "rms_norm_3d", "rms_norm_empty"),
    reduction: ("sum_f32", "sum_shape_*", "max_i32", "sum_bf16"),
    attention: ("attention_f32", "attention_f16", "attention_odd", "attention_one_query", "attention_length_first", "attention_all_different", "attention_deep"),
}


def beside(case):
    """The case with more results of its result's shape, all of one kernel."""
    (name, result), = case.results.items()
    t, mask = result.type(), tensor_type("i1", result.dims)
    inputs = {**case.inputs, "beside": Input(result.dtype, result.dims, uniform(0, 2))}
    body = case.body.rstrip("\n") + f"""
  %two = vx.constant dense<2{'.0' if result.dtype[0] in 'fb' else ''}> : {tensor_type(result.dtype, [])}
  %twos = vx.broadcast %two, [] : {tensor_type(result.dtype, [])} -> {t}
  %twice = vx.mul %{name}, %twos : {t}, {t}
  %sum = vx.add %beside, %twos : {t}, {t}
  %greater = vx.max %twice, %sum : {t}, {t}
  %equal = vx.compare eq %beside, %sum : {t}, {t}"""
    results = {name: result, "twice": result, "sum": Result(result.dtype, result.dims, Exact()), "greater": result, "equal": Result("i1", result.dims, Exact())}
    own = {key: case.points.of(key) for key in case.inputs if case.points.of(key)} if case.points else {}
    points = Points(own | {"beside": signed(200, 300)}, "where the sum equals twice the result the one and the other changes over")
    return Case(f"{case.name}_beside", inputs, body, results, points=points)


def reductions(name, dims, axes, dtype="f32"):
    """The sum, the greatest square and the variance, in one pass over the rows."""
    left = [size for axis, size in enumerate(dims) if axis not in axes]
    t, r = tensor_type(dtype, dims), tensor_type(dtype, left)
    terms = 1
    for axis in axes:
        terms *= dims[axis]
    return Case(name, {"x": Input(dtype, dims, uniform(0, 1))}, f"""
  %sum = vx.reduce sum %x axes = {axes} : {t}
  %square = vx.mul %x, %x : {t}, {t}
  %largest = vx.reduce max %square axes = {axes} : {t}
  %squares = vx.reduce sum %square axes = {axes} : {t}
  %both = vx.add %sum, %squares : {r}, {r}""",
                {"sum": Result(dtype, left, sum_of(terms, dtype)), "largest": Result(dtype, left, relative(1, dtype)), "both": Result(dtype, left, sum_of(2 * terms + 1, dtype))},
                points=Points(apart, "where two squares are equal the one and the other changes over"))


def cases():
    for family, names in OF_OTHERS.items():
        for case in family.cases():
            if any(fnmatch.fnmatch(case.name, name) for name in names) and len(case.results) == 1:
                yield beside(case)
    for name, dims, axes in (("rows", [5, 37], [1]), ("columns", [37, 5], [0]), ("all", [3, 5, 7], [0, 1, 2]), ("middle", [2, 13, 3], [1]), ("one", [4, 1], [1]),
                             ("long", [3, 1031], [1]), ("very_long", [2, 9001], [1]), ("tall", [1031, 3], [0]), ("wide", [64, 130], [0]), ("none", [3, 0], [1])):
        yield reductions(f"reductions_{name}", dims, axes)
    yield reductions("reductions_f16", [7, 65], [1], "f16")
    # Each result is of another type, and each may lie where an operand of its type does.
    for dims in ([1], [7], [17, 3], [64, 64], [0, 3], [65537]):
        f, h, b = (tensor_type(dtype, dims) for dtype in ("f32", "f16", "i1"))
        yield Case(f"types_{'x'.join(map(str, dims))}", {"x": Input("f32", dims, uniform()), "y": Input("f32", dims, uniform()), "b": Input("i1", dims, bools)}, f"""
  %u = vx.neg %x : {f}
  %v = vx.neg %y : {f}
  %c = vx.not %b : {b}
  %s = vx.add %u, %v : {f}, {f}
  %d = vx.sub %u, %v : {f}, {f}
  %m = vx.compare gt %u, %v : {f}, {f}
  %n = vx.xor %m, %c : {b}, {b}
  %h = vx.cast %s : {f} -> {h}
  %r = vx.mul %s, %d : {f}, {f}""",
                   {"s": Result("f32", dims, Ulp(0)), "d": Result("f32", dims, Ulp(0)), "n": Result("i1", dims, Exact()), "h": Result("f16", dims, Ulp(0)),
                    "r": Result("f32", dims, Ulp(0))})
    # One result is read where the next kernel begins and lies over an operand that ends here; the other one is the caller's.
    for dims in ([1, 3], [2, 4], [3, 4], [3, 2], [8, 5], [17, 2], [67, 33], [0, 3]):
        t, s, r = (tensor_type("f32", sizes) for sizes in (dims, dims[:1], [dims[0], 1]))
        yield Case(f"in_place_{'x'.join(map(str, dims))}", {"x": Input("f32", dims, uniform(0, 1))}, f"""
  %sums = vx.reduce sum %x axes = [1] : {t}
  %total = vx.reshape %sums : {s} -> {r}
  %square = vx.mul %x, %x : {t}, {t}
  %sums_of_squares = vx.reduce sum %square axes = [1] : {t}
  %squares = vx.reshape %sums_of_squares : {s} -> {r}
  %one = vx.constant dense<1.0> : tensor<f32>
  %ones = vx.broadcast %one, [] : tensor<f32> -> {r}
  %product = vx.mul %total, %total : {r}, {r}
  %both = vx.add %squares, %product : {r}, {r}
  %more = vx.add %both, %ones : {r}, {r}
  %root = vx.sqrt %more : {r}
  %inverse = vx.div %ones, %root : {r}, {r}
  %spread = vx.broadcast %root, [0, 1] : {r} -> {t}
  %y = vx.mul %x, %spread : {t}, {t}""",
                   {"total": Result("f32", [dims[0], 1], sum_of(dims[1], "f32")), "inverse": Result("f32", [dims[0], 1], relative(2 * dims[1] + 8, "f32")),
                    "y": Result("f32", dims, relative(2 * dims[1] + 8, "f32"))})
    # Rows that are shorter than a few vectors: these go on from row to row where all that is read lies in one run of memory.
    for name, dims, others in (("all", [5, 7, 11], ([0, 1, 2],)), ("bias", [4, 8, 7, 7], ([1],)), ("plane", [4, 8, 7, 7], ([2, 3], [0])), ("last", [9, 33, 3], ([2],)),
                               ("outer_and_last", [6, 5, 9], ([0, 2],)), ("image", [3, 4, 5, 7], ([1, 2, 3], [0])), ("transposed", [13, 13], ([1, 0],)), ("ones", [17, 1, 3, 5], ([0, 1, 2, 3], [3])),
                               ("columns", [16, 4, 5], ([1, 2], [0, 1])), ("whole", [8, 16, 5], ([0, 1, 2],)), ("empty", [0, 3, 5], ([1, 2],)), ("wide", [2, 3, 113], ([1],))):
        t = tensor_type("f32", dims)
        inputs, body = {"x": Input("f32", dims, uniform())}, ""
        for i, kept in enumerate(others):
            sizes = [dims[d] for d in kept]
            inputs[f"o{i}"] = Input("f32", sizes, uniform(1, 2))
            order = sorted(kept)
            if kept != order:
                body += f"  %t{i} = vx.transpose %o{i}, {[kept.index(d) for d in order]} : {tensor_type('f32', sizes)}\n"
            source, sizes = (f"%t{i}", [dims[d] for d in order]) if kept != order else (f"%o{i}", sizes)
            body += f"  %b{i} = vx.broadcast {source}, {order} : {tensor_type('f32', sizes)} -> {t}\n" if len(kept) < len(dims) else f"  %b{i} = vx.abs {source} : {t}\n"
            body += f"  %s{i} = vx.mul {'%x' if i == 0 else f'%s{i - 1}'}, %b{i} : {t}, {t}\n"
        last = f"%s{len(others) - 1}"
        yield Case(f"flat_{name}", inputs, f"{body}  %r = vx.neg {last} : {t}\n  %h = vx.cast {last} : {t} -> {tensor_type('f16', dims)}",
                   {"r": Result("f32", dims, Ulp(len(others))), "h": Result("f16", dims, Ulp(1))})
    n = tensor_type("f32", ["n", 7, 3])
    yield Case("flat_symbolic", {"x": Input("f32", ["n", 7, 3], uniform()), "y": Input("f32", [7, 3], uniform())}, f"""
  %b = vx.broadcast %y, [1, 2] : {tensor_type("f32", [7, 3])} -> {n}
  %r = vx.add %x, %b : {n}, {n}""", {"r": Result("f32", ["n", 7, 3], Ulp(0))}, header='vx.symbol "n"', runs=[{"n": size} for size in (1, 0, 17, 64)])
    m = tensor_type("f32", [5, "n", 3])
    yield Case("flat_symbolic_middle", {"x": Input("f32", [5, "n", 3], uniform()), "y": Input("f32", ["n", 3], uniform())}, f"""
  %b = vx.broadcast %y, [1, 2] : {tensor_type("f32", ["n", 3])} -> {m}
  %r = vx.add %x, %b : {m}, {m}""", {"r": Result("f32", [5, "n", 3], Ulp(0))}, header='vx.symbol "n"', runs=[{"n": size} for size in (1, 0, 17, 64)])
    # Planes become pixels, which are scaled and moved by channel.
    for planes, width in ((3, 29), (4, 48), (2, 130)):
        x, y = [2, planes, 3, width], [2, 3, width, planes]
        t, r, row = tensor_type("f32", x), tensor_type("f32", y), tensor_type("f32", [planes])
        yield Case(f"pixels_{planes}x{width}", {"x": Input("f32", x, uniform()), "s": Input("f32", [planes], uniform()), "o": Input("f32", [planes], uniform(3, 4))}, f"""
  %p = vx.transpose %x, [0, 2, 3, 1] : {t}
  %ss = vx.broadcast %s, [3] : {row} -> {r}
  %oo = vx.broadcast %o, [3] : {row} -> {r}
  %m = vx.mul %p, %ss : {r}, {r}
  %r = vx.add %m, %oo : {r}, {r}""", {"r": Result("f32", y, relative(3, "f32"))})
