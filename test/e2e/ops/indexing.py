"""Gather, and the places of what is not zero."""
from op_case import FLOATS, INTEGERS, Case, Input, Result, any_values, bools, integers, special_floats, tensor_type, uniform, values
from tolerance import Exact



def gather(name, dtype, dims, index_type, index_dims, axis, make=None):
    size = dims[axis]
    result = dims[:axis] + index_dims + dims[axis + 1:]
    return Case(name, {"x": Input(dtype, dims, any_values(dtype)),
                       "i": Input(index_type, index_dims, make or integers(-size, max(size - 1, -size)))},
                f"  %r = vx.gather %x, %i axis = {axis} : {tensor_type(dtype, dims)}, {tensor_type(index_type, index_dims)}",
                {"r": Result(dtype, result, Exact())})


def tuples(name, index_type, dims, index_dims, axis, make=None):
    members = index_dims[-1]
    result = dims[:axis] + index_dims[:-1] + dims[axis + members:]
    size = min(dims[axis:axis + members])
    return Case(name, {"x": Input("f32", dims, any_values("f32")), "i": Input(index_type, index_dims, make or integers(-size, size - 1))},
                f"  %r = vx.gather %x, %i axis = {axis} members = {members} : {tensor_type('f32', dims)}, {tensor_type(index_type, index_dims)}",
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


def out_of_range(value, low, high, place="1"):
    """The op's place is that in the program that op_case.py writes."""
    return f"program.mlir:4:8: index at [{place}] is {value}, allowed is [{low}, {high})"


def nonzero(name, dtype, dims, make):
    text = f"""
  %count = vx.count_nonzero %x : {tensor_type(dtype, dims)}
  vx.bind_symbol "found" = %count
  %r = vx.nonzero %x : {tensor_type(dtype, dims)} -> {tensor_type('i64', [len(dims), 'found'])}"""
    return Case(name, {"x": Input(dtype, dims, make)}, text + "\n  %n = vx.reshape %count : tensor<i64> -> tensor<i64>",
                {"r": Result("i64", [len(dims), "found"], Exact()), "n": Result("i64", [], Exact())}, header='vx.symbol data_dependent "found"')


def cases():
    for dtype in FLOATS + INTEGERS + ("i1",):
        yield gather(f"gather_{dtype}", dtype, [7, 3], "i64", [5], 0)
    for index_type in ("i32", "i64"):
        for name, dims, index_dims, axis in (("scalar", [7], [], 0), ("matrix", [5, 3], [2, 3], 0), ("last_axis", [3, 11], [4], 1),
                                             ("middle", [2, 5, 3], [7], 1), ("no_index", [5], [0], 0), ("empty_rows", [5, 0], [3], 0),
                                             ("one", [1, 7], [3], 0), ("long", [13], [1031], 0)):
            yield gather(f"gather_{name}_{index_type}", "f32", dims, index_type, index_dims, axis)
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

