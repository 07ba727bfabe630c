"""Gather, scatter, boxes at a place of the data, and the places of what is not zero."""
import numpy as np

from op_case import FLOATS, INTEGERS, Case, Input, Points, Result, any_values, bools, constant, integers, signed, special_floats, tensor_type, uniform, values
from tolerance import Exact


def gather(name, dtype, dims, index_type, index_dims, axis, make=None, known=""):
    size = dims[axis]
    result = dims[:axis] + index_dims + dims[axis + 1:]
    return Case(name, {"x": Input(dtype, dims, any_values(dtype)),
                       "i": Input(index_type, index_dims, make or integers(-size, max(size - 1, -size)))},
                f"  %r = vx.gather %x, %i axis = {axis}{known} : {tensor_type(dtype, dims)}, {tensor_type(index_type, index_dims)}",
                {"r": Result(dtype, result, Exact())})


def tuples(name, index_type, dims, index_dims, axis, make=None, known=""):
    members = index_dims[-1]
    result = dims[:axis] + index_dims[:-1] + dims[axis + members:]
    size = min(dims[axis:axis + members])
    return Case(name, {"x": Input("f32", dims, any_values("f32")), "i": Input(index_type, index_dims, make or integers(-size, size - 1))},
                f"  %r = vx.gather %x, %i axis = {axis} members = {members}{known} : {tensor_type('f32', dims)}, {tensor_type(index_type, index_dims)}",
                {"r": Result("f32", result, Exact())})


def tuple_fault(name, indices, expected):
    """Of a tensor f32[5, 3, 2] and tuples [2, 2, 3], whose numbers `indices` are."""
    case = tuples(name, "i64", [5, 3, 2], [2, 2, 3], 0, values(*indices))
    case.fault = expected
    return case


def fault(name, index_type, bad, expected, dims=(5,), axis=0):
    """The call fails, and says where and with which index."""
    kind, index = tensor_type("f32", list(dims)), tensor_type(index_type, [3])
    return Case(name, {"x": Input("f32", list(dims), uniform()), "i": Input(index_type, [3], values(0, bad, 1))},
                f"  %r = vx.gather %x, %i axis = {axis} : {kind}, {index}",
                {"r": Result("f32", list(dims[:axis]) + [3] + list(dims[axis + 1:]), Exact())}, fault=expected)


def out_of_range(value, low, high, place="1", line=4):
    """The op's place is that in the program that op_case.py writes."""
    return f"program.mlir:{line}:8: index at [{place}] is {value}, allowed is [{low}, {high})"


def check(name, index_type, dims, sizes, make=None, expected=None, from_start=False):
    """`sizes` is one, or one for each member of the last dimension."""
    kind = tensor_type(index_type, dims)
    below = ", ".join(f"#vx.dim<{size}>" for size in sizes)
    make = make or integers(0 if from_start else -min(sizes), min(sizes) - 1)
    return Case(name, {"i": Input(index_type, dims, make)}, f"  %r = vx.check_indices %i below [{below}]{' from_start' if from_start else ''} : {kind}",
                {"r": Result(index_type, dims, Exact())}, fault=expected)


def update(name, op, dtype, dims, axes, index_type, index_dims, part, low, high, before="", changed="%x", written="%u", after="", results=(), **more):
    """`changed` and `written` may be made of %x and %u by the text `before`; `after` may read %r."""
    inputs = {"x": Input(dtype, dims, any_values(dtype)), "i": Input(index_type, index_dims, integers(low, high)), "u": Input(dtype, part, any_values(dtype))}
    text = f"{before}  %r = vx.{op} {changed}, %i, {written} axes = {axes} : {tensor_type(dtype, dims)}, {tensor_type(index_type, index_dims)}, {tensor_type(dtype, part)}\n{after}"
    points = Points(signed(0.3, 1.7), "a magnitude has a kink at 0") if "vx.abs" in text else None
    return Case(name, inputs, text, {"r": Result(dtype, dims, Exact()), **dict(results)}, points=points, **more)


def scatter(name, kind, dtype, dims, axes, index_type, rows, low=None, high=None, **more):
    """Of indices that are all right where no range is given."""
    size = min(dims[axis] for axis in axes) if low is None else 0
    part = rows + [dim for axis, dim in enumerate(dims) if axis not in axes]
    return update(name, f"scatter {kind}", dtype, dims, axes, index_type, rows + [len(axes)], part, 0 if low is None else low, size - 1 if low is None else high, **more)


def update_slice(name, dtype, dims, axes, index_type, part, low=0, high=None, **more):
    room = min(dims[axis] - part[axis] for axis in axes) if high is None else high
    return update(name, "update_slice", dtype, dims, axes, index_type, [len(axes)], part, low, room, **more)


def sort(name, dtype, dims, levels, make=None, descending=False, **more):
    """Places that count from 0, in the order of their keys after as many levels as their number wants."""
    kind, places, flag = tensor_type(dtype, dims), tensor_type("i64", dims[:2]), "descending " if descending else ""
    text = f"  %p0 = vx.iota axis = 1 : {places}\n"
    for level in range(levels):
        text += f"  %l{level} = vx.constant dense<{level}> : tensor<i64>\n  %p{level + 1} = vx.merge_runs {flag}%x, %p{level} level(%l{level}) : {kind}, {places}\n"
    return Case(name, {"x": Input(dtype, dims, make or any_values(dtype))}, text + f"  %z = vx.constant dense<0> : {tensor_type('i64', [])}\n"
                f"  %b = vx.broadcast %z, [] : tensor<i64> -> {places}\n  %r = vx.add %p{levels}, %b : {places}, {places}", {"r": Result("i64", dims[:2], Exact())}, **more)


def sorts():
    for dtype in FLOATS + INTEGERS:
        yield sort(f"merge_runs_{dtype}", dtype, [3, 37, 1], 6)
    # Ties, NaN, tuples, one place and none, runs that are cut, many runs.
    for descending in (False, True):
        name = "descending" if descending else "ascending"
        yield sort(f"merge_runs_ties_{name}", "i32", [2, 77, 1], 7, integers(0, 5), descending)
        yield sort(f"merge_runs_special_{name}", "f32", [2, 65, 1], 7, special_floats(), descending)
        yield sort(f"merge_runs_tuples_{name}", "i64", [2, 50, 3], 6, integers(0, 2), descending)
        yield sort(f"merge_runs_one_level_{name}", "f32", [3, 33, 1], 1, uniform(), descending)
    yield sort("merge_runs_one", "f32", [4, 1, 1], 1)
    yield sort("merge_runs_none", "f32", [4, 0, 1], 1)
    yield sort("merge_runs_no_member", "f32", [2, 9, 0], 2)
    yield sort("merge_runs_large", "f32", [1, 5000, 1], 13, uniform())
    yield sort("merge_runs_symbolic", "f32", ["r", "n", "m"], 7, integers(0, 9), header='vx.symbol "r"\nvx.symbol "n"\nvx.symbol "m"',
               runs=[{"r": r, "n": n, "m": m} for r, n, m in ((1, 1, 1), (3, 17, 2), (2, 128, 1), (5, 0, 1), (4, 64, 5))])


def top(name, dtype, dims, count, make=None, descending=False, **more):
    return Case(name, {"x": Input(dtype, dims, make or any_values(dtype))},
                f"  %r = vx.top_places {'descending ' if descending else ''}%x count = {count} : {tensor_type(dtype, dims)}", {"r": Result("i64", [dims[0], count], Exact())}, **more)


def tops():
    for dtype in FLOATS + INTEGERS:
        # Rows that are sorted at once, and longer ones whose best elements are kept.
        yield top(f"top_places_{dtype}", dtype, [3, 37], 37)
        yield top(f"top_places_long_{dtype}", dtype, [2, 1301], 17, descending=True)
    for descending in (False, True):
        name = "descending" if descending else "ascending"
        for count, length in ((0, 5), (1, 1), (1, 7), (16, 16), (17, 17), (3, 64), (33, 127), (1024, 1024), (1, 1025), (65, 2053), (1024, 1031), (300, 8400)):
            yield top(f"top_places_{count}_of_{length}_{name}", "f32", [2, length], count, uniform(), descending)
        yield top(f"top_places_ties_{name}", "i32", [2, 1500], 70, integers(0, 5), descending)
        yield top(f"top_places_equal_{name}", "f32", [1, 1500], 70, integers(3, 3), descending)
        yield top(f"top_places_wide_ties_{name}", "i64", [2, 1500], 513, integers(-2, 2), descending)
        yield top(f"top_places_special_{name}", "f32", [2, 1101], 40, special_floats(), descending)
        yield top(f"top_places_in_order_{name}", "f32", [1, 3000], 100, lambda rng, shape: np.arange(3000).reshape(shape) - 1000, descending)
        yield top(f"top_places_nan_{name}", "f32", [2, 1200], 30, lambda rng, shape: np.where(rng.random(shape) < 0.99, np.nan, rng.random(shape)), descending)
    # A NaN is the greatest whatever its sign is.
    for dtype in FLOATS:
        yield top(f"top_places_signed_nan_{dtype}", dtype, [2, 300], 300, lambda rng, shape: np.where(rng.random(shape) < 0.5, np.copysign(np.nan, rng.random(shape) - 0.5), rng.random(shape)))
    # Long rows, which a GPU has in blocks, the last of them filled up with what stands behind all numbers.
    yield top("top_places_blocks", "f32", [2, 20001], 5, uniform())
    yield top("top_places_blocks_ties", "i32", [1, 20001], 9, integers(0, 3), True)
    yield top("top_places_blocks_last", "f32", [1, 16387], 7, lambda rng, shape: np.full(shape, -np.inf), True)
    yield top("top_places_blocks_nan", "f32", [1, 16387], 7, lambda rng, shape: np.full(shape, np.nan))
    yield top("top_places_rows", "f32", [1001, 10], 3, uniform())
    yield top("top_places_no_row", "f32", [0, 10], 3, uniform())
    yield top("top_places_symbolic", "f32", ["r", "n"], 7, uniform(), header='vx.symbol "r"\nvx.symbol "n"', runs=[{"r": r, "n": n} for r, n in ((1, 7), (3, 64), (2, 2049))])
    # What makes the keys is computed as they are read.
    yield Case("top_places_of_sum", {"x": Input("f32", [3, 1100], uniform()), "y": Input("f32", [3, 1100], uniform())},
               "  %s = vx.add %x, %y : tensor<3x1100xf32>, tensor<3x1100xf32>\n  %r = vx.top_places %s count = 9 : tensor<3x1100xf32>", {"r": Result("i64", [3, 9], Exact())})


def select(name, images, classes, boxes, count, overlap=0.3, least=0.2, scores=uniform(0, 1), **more):
    def corners(rng, shape):
        first, size = rng.random(shape[:2] + (2,)), rng.random(shape[:2] + (2,)) * 0.4
        return np.concatenate([first, first + size], 2)
    kinds = [tensor_type("f32", dims) for dims in ([images, boxes, 4], [images, classes, boxes])] + [tensor_type("i64", [images, classes, count])]
    return Case(name, {"b": Input("f32", [images, boxes, 4], corners), "s": Input("f32", [images, classes, boxes], scores)},
                f"  %o = {constant('f32', overlap)}\n  %l = {constant('f32', least)}\n  %r = vx.select_boxes %b, %s overlap(%o) least(%l) : {kinds[0]}, {kinds[1]} -> {kinds[2]}",
                {"r": Result("i64", [images, classes, count], Exact())}, **more)


def boxes():
    few = lambda rng, shape: rng.integers(0, 4, shape) / 4
    for images, classes, number, count in ((1, 1, 1, 1), (2, 3, 40, 5), (1, 2, 17, 17), (2, 1, 300, 300), (1, 3, 700, 40), (1, 2, 0, 3), (1, 0, 5, 3), (1, 2, 5, 0)):
        yield select(f"select_boxes_{images}x{classes}x{number}_{count}", images, classes, number, count)
    yield select("select_boxes_all", 1, 2, 400, 400, overlap=0.999, least=-1.0)
    yield select("select_boxes_ties", 1, 2, 333, 60, scores=few)
    yield select("select_boxes_none", 1, 2, 50, 10, least=2.0)
    yield select("select_boxes_special", 1, 3, 200, 30, least="0xFF800000", scores=special_floats())
    yield select("select_boxes_symbolic", "i", "c", "n", 9, header='vx.symbol "i"\nvx.symbol "c"\nvx.symbol "n"', runs=[{"i": i, "c": c, "n": n} for i, c, n in ((1, 1, 1), (2, 3, 65), (1, 2, 401))])


def updates():
    for kind, dtypes in (("set", FLOATS + INTEGERS + ("i1",)), ("add", FLOATS + INTEGERS)):
        for dtype in dtypes:
            yield scatter(f"scatter_{kind}_{dtype}", kind, dtype, [7, 33], [0], "i64", [11])
        for index_type in ("i32", "i64"):
            # Several tuples for one place, tuples that are not in the tensor, and places in rows, columns, pages of lines.
            for name, dims, axes, rows in (("rows", [5, 3], [0], [4]), ("columns", [3, 17], [1], [9]), ("middle", [2, 5, 37], [1], [7]), ("elements", [3, 5], [0, 1], [23]),
                                           ("vector", [13], [0], [31]), ("pages", [3, 2, 5, 35], [0, 2], [11]), ("matrix_of_rows", [7, 5], [0], [3, 4]),
                                           ("one", [4, 130], [0], []), ("outer", [2, 3, 5], [0, 1], [6]), ("inner", [2, 3, 5], [1, 2], [6]), ("large", [17, 1031], [0], [5])):
                yield scatter(f"scatter_{kind}_{name}_{index_type}", kind, "f32", dims, axes, index_type, rows)
            yield scatter(f"scatter_{kind}_no_tuple_{index_type}", kind, "f32", [4, 3], [0], index_type, [0])
            yield scatter(f"scatter_{kind}_nothing_{index_type}", kind, "f32", [0, 3], [0], index_type, [2], 0, 0)
            yield scatter(f"scatter_{kind}_empty_rows_{index_type}", kind, "f32", [3, 0], [0], index_type, [2])
            yield scatter(f"scatter_{kind}_out_of_range_{index_type}", kind, "f32", [5, 4, 19], [0, 1], index_type, [40], -2, 6)
        kinds, part = tensor_type("f32", [6, 21]), tensor_type("f32", [9, 21])
        # What is updated and what is written are computed, what is updated is read again, results are updated and computed from.
        yield scatter(f"scatter_{kind}_of_computed", kind, "f32", [6, 21], [0], "i64", [9], before=f"  %a = vx.neg %x : {kinds}\n  %w = vx.abs %u : {part}\n",
                      changed="%a", written="%w", after=f"  %s = vx.add %r, %a : {kinds}, {kinds}\n", results=[("s", Result("f32", [6, 21], Exact()))])
        yield scatter(f"scatter_{kind}_twice", kind, "f32", [6, 21], [0], "i64", [9], before=f"  %a = vx.neg %x : {kinds}\n"
                      f"  %b = vx.scatter {kind} %a, %i, %u axes = [0] : {kinds}, {tensor_type('i64', [9, 1])}, {part}\n  %w = vx.neg %u : {part}\n", changed="%b", written="%w")
        yield scatter(f"scatter_{kind}_into_zeros", kind, "f32", [6, 21], [0], "i64", [9], before=f"  %z = vx.constant dense<0.0> : {kinds}\n", changed="%z")
        yield scatter(f"scatter_{kind}_into_constant", kind, "f32", [2, 3], [0], "i64", [1], before="  %z = vx.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>\n", changed="%z")
        yield scatter(f"scatter_{kind}_of_itself", kind, "f32", [6, 21], [0], "i64", [6], before=f"  %a = vx.neg %x : {kinds}\n  %w = vx.abs %a : {kinds}\n", changed="%a", written="%w",
                      after=f"  %s = vx.mul %u, %u : {kinds}, {kinds}\n", results=[("s", Result("f32", [6, 21], Exact()))])
        yield scatter(f"scatter_{kind}_symbolic", kind, "f32", ["n", "d"], [0], "i64", ["t"], 0, 3, header='vx.symbol "n"\nvx.symbol "d"\nvx.symbol "t"',
                      runs=[{"n": n, "d": d, "t": t} for n, d, t in ((4, 1, 1), (7, 17, 5), (5, 131, 13), (1, 3, 0), (4, 64, 33))])
    for dtype in FLOATS + INTEGERS + ("i1",):
        yield update_slice(f"update_slice_{dtype}", dtype, [7, 33], [0], "i64", [3, 33])
    for index_type in ("i32", "i64"):
        for name, dims, axes, part in (("rows", [9, 5], [0], [2, 5]), ("columns", [5, 40], [1], [5, 19]), ("box", [7, 5, 35], [0, 1, 2], [3, 2, 17]), ("vector", [257], [0], [100]),
                                       ("line", [2, 4, 33, 16], [2], [2, 4, 1, 16]), ("part", [4, 6, 9], [1], [2, 3, 5]), ("all", [4, 5], [0], [4, 5]), ("nothing", [4, 5], [1], [4, 0]),
                                       ("large", [19, 1031], [0], [7, 1031])):
            yield update_slice(f"update_slice_{name}_{index_type}", "f32", dims, axes, index_type, part)
        for start in (-1, 3, 2**31 - 1, -2**31):
            yield update_slice(f"update_slice_out_of_range_{index_type}_{start}", "f32", [5, 7], [0], index_type, [3, 7], start, start)
    kinds, part = tensor_type("f32", [6, 21]), tensor_type("f32", [2, 21])
    yield update_slice("update_slice_of_computed", "f32", [6, 21], [0], "i64", [2, 21], before=f"  %a = vx.neg %x : {kinds}\n  %w = vx.abs %u : {part}\n", changed="%a", written="%w",
                       after=f"  %s = vx.add %r, %a : {kinds}, {kinds}\n", results=[("s", Result("f32", [6, 21], Exact()))])
    yield update_slice("update_slice_into_zeros", "f32", [6, 21], [0], "i64", [2, 21], before=f"  %z = vx.constant dense<0.0> : {kinds}\n", changed="%z")
    yield update_slice("update_slice_symbolic", "f32", ["n", "d"], [0], "i64", ["t", "d"], 0, 3, header='vx.symbol "n"\nvx.symbol "d"\nvx.symbol "t"',
                       runs=[{"n": n, "d": d, "t": t} for n, d, t in ((4, 1, 1), (9, 17, 5), (16, 131, 13), (4, 3, 0), (40, 64, 33))])
    for index_type in ("i32", "i64"):
        for name, dims, sizes in (("scalar", [], [7]), ("vector", [31], [5]), ("tuples", [9, 3], [4, 7, 5]), ("none", [0, 2], [3, 4]), ("matrix", [3, 257], [9])):
            yield check(f"check_indices_{name}_{index_type}", index_type, dims, sizes)
        yield check(f"check_indices_from_start_{index_type}", index_type, [17], [5], from_start=True)
        yield check(f"check_indices_before_start_{index_type}", index_type, [2, 2], [3, 9], values(0, 8, -1, 0), out_of_range(-1, 0, 3, "1, 0", line=3), from_start=True)
        yield check(f"check_indices_behind_end_{index_type}", index_type, [3], [3], values(0, 2, 3), out_of_range(3, 0, 3, "2", line=3), from_start=True)
        yield check(f"check_indices_too_large_{index_type}", index_type, [2, 2], [3, 9], values(0, 8, 3, 0), out_of_range(3, -3, 3, "1, 0", line=3))
        yield check(f"check_indices_too_small_{index_type}", index_type, [2, 2], [3, 9], values(-3, 8, 2, -10), out_of_range(-10, -9, 9, "1, 1", line=3))


def nonzero(name, dtype, dims, make):
    text = f"""
  %count = vx.count_nonzero %x : {tensor_type(dtype, dims)}
  vx.bind_symbol "found" = %count
  %r = vx.nonzero %x : {tensor_type(dtype, dims)} -> {tensor_type('i64', [len(dims), 'found'])}"""
    return Case(name, {"x": Input(dtype, dims, make)}, text + "\n  %n = vx.reshape %count : tensor<i64> -> tensor<i64>",
                {"r": Result("i64", [len(dims), "found"], Exact()), "n": Result("i64", [], Exact())}, header='vx.symbol data_dependent "found"')


def cases():
    yield from updates()
    yield from sorts()
    yield from tops()
    yield from boxes()
    for dtype in FLOATS + INTEGERS + ("i1",):
        yield gather(f"gather_{dtype}", dtype, [7, 3], "i64", [5], 0)
    for index_type in ("i32", "i64"):
        for name, dims, index_dims, axis in (("scalar", [7], [], 0), ("matrix", [5, 3], [2, 3], 0), ("last_axis", [3, 11], [4], 1),
                                             ("middle", [2, 5, 3], [7], 1), ("no_index", [5], [0], 0), ("empty_rows", [5, 0], [3], 0),
                                             ("one", [1, 7], [3], 0), ("long", [13], [1031], 0)):
            yield gather(f"gather_{name}_{index_type}", "f32", dims, index_type, index_dims, axis)
    # Where all are known to be in range there is no fault, and what is outside all the same reads 0.
    yield gather("gather_known", "f32", [5, 33], "i64", [7], 0, values(0, 4, 2, 5, -1, 2**62, 1), " in_range")
    yield gather("gather_known_inner", "i32", [3, 7, 2], "i32", [2, 2], 1, values(6, -(2**31), 7, 0), " in_range")
    yield gather("gather_known_long", "f32", [13], "i64", [1031], 0, integers(-3, 15), " in_range")
    yield tuples("gather_known_tuples", "i64", [5, 3, 2], [4, 2], 0, values(4, 2, 0, 3, -1, 0, 3, 1), " in_range")
    for index_type in ("i32", "i64"):
        yield fault(f"gather_too_large_{index_type}", index_type, 5, out_of_range(5, -5, 5))
        yield fault(f"gather_too_small_{index_type}", index_type, -6, out_of_range(-6, -5, 5))
    yield fault("gather_far_out", "i64", 2**62, out_of_range(2**62, -5, 5))
    yield fault("gather_far_below", "i32", -2**31, out_of_range(-2**31, -3, 3), (2, 3), 1)
    yield fault("gather_of_nothing", "i64", 0, out_of_range(0, 0, 0, "0"), (0, 3))
    for index_type in ("i32", "i64"):
        for name, dims, index_dims, axis in (("whole", [4, 5, 3], [7, 3], 0), ("rows", [4, 5, 33], [2, 3, 2], 0), ("inner", [3, 4, 5], [6, 2], 1),
                                             ("middle", [2, 4, 3, 5], [3, 2], 1), ("single", [7, 3], [5, 1], 0), ("one_tuple", [4, 5], [2], 0),
                                             ("no_tuple", [4, 5], [0, 2], 0), ("long", [13, 11], [1031, 2], 0)):
            yield tuples(f"gather_tuples_{name}_{index_type}", index_type, dims, index_dims, axis)
    right = [0, 0, 0, 4, 2, 1, -5, -3, -2, 1, 1, 1]
    yield tuple_fault("gather_tuple_too_large", right[:4] + [3] + right[5:], out_of_range(3, -3, 3, "0, 1, 1"))
    yield tuple_fault("gather_tuple_too_small", right[:6] + [-6] + right[7:], out_of_range(-6, -5, 5, "1, 0, 0"))
    # Where the number of the element would still be inside of the tensor.
    yield tuple_fault("gather_tuple_inner_too_large", right[:11] + [2], out_of_range(2, -2, 2, "1, 1, 2"))
    for dtype in ("f32", "i1", "i64", "ui8", "f16"):
        yield nonzero(f"nonzero_{dtype}", dtype, [3, 7], sparse(dtype))
    for name, dims, make in (("vector", [257], sparse("f32")), ("none_found", [3, 5], values(0.0)), ("all_found", [2, 3], values(1.0)),
                             ("empty", [0, 3], values(1.0)), ("special", [13], special_floats()), ("3d", [2, 3, 5], sparse("f32"))):
        yield nonzero(f"nonzero_{name}", "f32", dims, make)
    for dtype in ("f64", "i32", "bf16"):
        yield Case(f"count_nonzero_{dtype}", {"x": Input(dtype, [5, 7], sparse(dtype))},
                   f"  %r = vx.count_nonzero %x : {tensor_type(dtype, [5, 7])}", {"r": Result("i64", [], Exact())})
    yield Case("count_nonzero_scalar", {"x": Input("f32", [], values(2.0))}, "  %r = vx.count_nonzero %x : tensor<f32>",
               {"r": Result("i64", [], Exact())})


def sparse(dtype):
    if dtype == "i1":
        return bools
    return lambda rng, shape: rng.integers(0, 2, shape) * rng.integers(1, 9, shape)

