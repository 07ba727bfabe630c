"""One op each, small, for its gradient: every op with a pullback has a case, all of its operands that may have a gradient are inputs, and PyTorch computes the same.

`e2e.gradients.pullbacks` compares the gradients with differences, `e2e.gradients.torch` with what PyTorch has computed, and each fault of `test/mutants` in
the gradient of an operand is caught by these cases."""
import numpy as np

from op_case import Case, Input, Points, Result, apart, bools, signed, tensor_type, uniform, values
from tolerance import Ulp

BOTH = signed(0.3, 1.7)
POSITIVE = uniform(0.3, 2.0)
# No gradient passes through these, which the compiler says: test/Autodiff/expand-gradients.mlir.
REFUSED = {"optional": "no gradient passes through an optional", "optional_value": "no gradient passes through an optional"}


def on_grid(make):
    """Multiples of 1/64, which f16 and f32 hold both."""
    return lambda rng, shape: np.round(np.asarray(make(rng, shape)) * 64) / 64


class Pullback(Case):
    """`torch` takes the module, its functional part and the inputs by name, and gives the results in their order, or the one."""

    def __init__(self, op, name, inputs, body, results, torch, points=None, **options):
        inputs = {key: Input("f32", value, on_grid(BOTH)) if isinstance(value, list) else
                  Input(value.dtype, value.dims, on_grid(value.make)) if value.dtype == "f32" else value for key, value in inputs.items()}
        super().__init__(name, inputs, body, {key: Result("f32", dims, Ulp(4)) for key, dims in results.items()}, points=points, **options)
        self.op, self.torch = op, torch

    def golden_arrays(self):
        return self.arrays(self.runs[0])

    def seed(self, result, shape):
        """How often the elements of a result count in the number that is differentiated."""
        return on_grid(signed(0.5, 1.5))(np.random.default_rng([*self.name.encode(), *result.encode()]), shape)


def t(*dims, dtype="f32"):
    return tensor_type(dtype, dims)


def floats(make, *dims):
    return Input("f32", list(dims), make)


def whole(*numbers, dims=None, dtype="i64"):
    return Input(dtype, [len(numbers)] if dims is None else dims, values(*numbers))


def cases():
    yield from elementwise()
    yield from contractions()
    yield from shapes()
    yield from reductions()
    yield from norms()
    yield from indexing()
    yield from control()
    yield from sequences()
    yield from directives()


def unary(op, make, torch, reason=None):
    points = Points(make, reason) if reason else None
    return Pullback(op, op, {"x": floats(make, 7)}, f"  %r = vx.{op} %x : {t(7)}", {"r": [7]}, lambda t, f, x: torch(t, x), points)


def binary(op, x, y, torch, points=None, name=None, y_text=""):
    inputs = {"x": floats(x, 8)} | ({} if y_text else {"y": floats(y, 8)})
    return Pullback(op, name or op, inputs, f"{y_text}  %r = vx.{op} %x, %y : {t(8)}, {t(8)}", {"r": [8]}, torch, points)


def elementwise():
    yield unary("neg", BOTH, lambda t, x: -x)
    yield unary("abs", BOTH, lambda t, x: t.abs(x))
    for op in ("exp", "sin", "cos", "atan", "tanh", "erf"):
        yield unary(op, BOTH, lambda t, x, op=op: getattr(t, op)(x))
    for op in ("sqrt", "log"):
        yield unary(op, POSITIVE, lambda t, x, op=op: getattr(t, op)(x), "it has no value below 0")
    for op in ("asin", "acos"):
        yield unary(op, signed(0.1, 0.9), lambda t, x, op=op: getattr(t, op)(x), "it has no value beyond -1 and 1")
    yield binary("add", BOTH, BOTH, lambda t, f, x, y: x + y)
    yield binary("sub", BOTH, BOTH, lambda t, f, x, y: x - y)
    yield binary("mul", BOTH, BOTH, lambda t, f, x, y: x * y)
    yield binary("div", BOTH, BOTH, lambda t, f, x, y: x / y)
    dividend, divisor = signed(2.3, 2.7), signed(0.93, 1.05)
    yield binary("rem", dividend, divisor, lambda t, f, x, y: t.fmod(x, y), Points({"x": dividend, "y": divisor}, "it jumps where the quotient is a whole number"))
    yield binary("pow", POSITIVE, signed(0.5, 2.5), lambda t, f, x, y: x**y, Points({"x": POSITIVE}, "below 0 it has values for whole exponents only"))
    exponents = [2.0, 3.0, -1.0, -2.0, 1.0, 5.0, -3.0, 2.0]
    yield binary("pow", signed(0.5, 1.5), None, lambda t, f, x: x**t.tensor(exponents, dtype=x.dtype), name="pow_of_both_signs",
                 y_text=f"  %y = vx.constant dense<{exponents}> : {t(8)}\n")
    equal = Points(BOTH, "where both are equal the one and the other changes over")
    yield binary("max", BOTH, BOTH, lambda t, f, x, y: t.maximum(x, y), equal)
    yield binary("min", BOTH, BOTH, lambda t, f, x, y: t.minimum(x, y), equal)
    mask = [True, False, True, True, False, False, True, False]
    yield Pullback("select", "select", {"c": whole(*mask, dtype="i1"), "x": [8], "y": [8]}, f"  %r = vx.select %c, %x, %y : {t(8, dtype='i1')}, {t(8)}, {t(8)}",
                   {"r": [8]}, lambda t, f, c, x, y: t.where(c, x, y))
    # Through the next narrower type; what has 6 bits behind the point is itself there.
    yield Pullback("cast", "cast", {"x": [8]}, f"  %n = vx.cast %x : {t(8)} -> {t(8, dtype='narrow')}\n  %r = vx.cast %n : {t(8, dtype='narrow')} -> {t(8)}", {"r": [8]},
                   lambda t, f, x: x * 1.0, Points(on_grid(BOTH), "between two numbers of the narrower type it is flat"))


def contractions():
    yield Pullback("contract", "contract", {"a": [2, 3, 4], "b": [4, 2, 5]}, f"  %r = vx.contract %a, %b batch = [0] x [1] contracting = [2] x [0] : {t(2, 3, 4)}, {t(4, 2, 5)}",
                   {"r": [2, 3, 5]}, lambda t, f, a, b: t.einsum("bmk,kbn->bmn", a, b))
    conv = "strides = [2, 1] dilations = [1, 2] pads = [1, 0] x [1, 0] groups = 2"
    of_torch = dict(stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    yield Pullback("conv", "conv", {"x": [2, 4, 6, 5], "w": [6, 2, 3, 2]}, f"  %r = vx.conv %x, %w {conv} : {t(2, 4, 6, 5)}, {t(6, 2, 3, 2)}", {"r": [2, 6, 3, 3]},
                   lambda t, f, x, w: f.conv2d(x, w, **of_torch))
    yield Pullback("conv", "conv_channels_last", {"x": [2, 6, 5, 4], "w": [6, 2, 3, 2]}, f"  %r = vx.conv %x, %w {conv} channels_last : {t(2, 6, 5, 4)}, {t(6, 2, 3, 2)}",
                   {"r": [2, 3, 3, 6]}, lambda t, f, x, w: f.conv2d(x.permute(0, 3, 1, 2), w, **of_torch).permute(0, 2, 3, 1))

    def filter_gradient(t, f, x, g):
        w = t.zeros(6, 2, 3, 2, dtype=x.dtype, requires_grad=True)
        return t.autograd.grad(f.conv2d(x, w, **of_torch), w, g, create_graph=True)[0]

    yield Pullback("conv_filter", "conv_filter", {"x": [2, 4, 6, 5], "g": [2, 6, 3, 3]},
                   "  %r = vx.conv_filter %x, %g kernel [#vx.dim<3>, #vx.dim<2>] strides = [2, 1] dilations = [1, 2] pads = [1, 0] groups = 2 : "
                   f"{t(2, 4, 6, 5)}, {t(2, 6, 3, 3)}", {"r": [6, 2, 3, 2]}, filter_gradient)

    def attention(t, f, q, k, v, m, b):
        k, v = (each.repeat_interleave(2, 1) for each in (k, v))
        score = 2 * t.tanh(0.5 * (q @ k.transpose(2, 3)) / 2) + b
        allowed = m & (t.arange(5)[None, :] <= t.arange(4)[:, None] + 1)
        score = score.masked_fill(~allowed, -t.inf)
        return t.softmax(score, -1) @ v, t.logsumexp(score, -1)

    yield Pullback("attention", "attention", {"q": [2, 4, 4, 3], "k": [2, 2, 5, 3], "v": [2, 2, 5, 6], "m": Input("i1", [2, 1, 1, 5], values(*[True] * 4, False)), "b": [1, 4, 4, 5]},
                   f"  %r, %l = vx.attention %q, %k, %v mask(%m : {t(2, 1, 1, 5, dtype='i1')}) bias(%b : {t(1, 4, 4, 5)}) scale = 0.5 softcap = 2.0 causal past = <1> "
                   f"dims = [0, 1, 2, 3] x [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] : {t(2, 4, 4, 3)}, {t(2, 2, 5, 3)}, {t(2, 2, 5, 6)} -> {t(2, 4, 4, 6)}, {t(2, 4, 4)}",
                   {"r": [2, 4, 4, 6], "l": [2, 4, 4]}, attention)


def shapes():
    one = lambda op, name, dims, text, result, torch: Pullback(op, name, {"x": dims}, f"  %r = {text}", {"r": result}, torch)
    yield one("reshape", "reshape", [3, 4], f"vx.reshape %x : {t(3, 4)} -> {t(2, 6)}", [2, 6], lambda t, f, x: x.reshape(2, 6))
    yield one("transpose", "transpose", [2, 3, 4], f"vx.transpose %x, [2, 0, 1] : {t(2, 3, 4)}", [4, 2, 3], lambda t, f, x: x.permute(2, 0, 1))
    yield one("pack", "pack", [5, 3], f"vx.pack %x dim = 0 tile = 4 permutation = [1, 0] : {t(5, 3)}", [3, 2, 4],
              lambda t, f, x: f.pad(x, (0, 0, 0, 3)).reshape(2, 4, 3).permute(2, 0, 1))
    yield one("unpack", "unpack", [3, 2, 4], f"vx.unpack %x dim = 0 permutation = [1, 0] : {t(3, 2, 4)} -> {t(5, 3)}", [5, 3],
              lambda t, f, x: x.permute(1, 2, 0).reshape(8, 3)[:5])
    yield one("broadcast", "broadcast", [3, 1], f"vx.broadcast %x, [1, 2] : {t(3, 1)} -> {t(2, 3, 4)}", [2, 3, 4], lambda t, f, x: x.expand(2, 3, 4))
    yield one("slice", "slice", [6, 7], f"vx.slice %x starts [#vx.dim<5>, #vx.dim<1>] strides [-2, 3] : {t(6, 7)} -> {t(3, 2)}", [3, 2],
              lambda t, f, x: x.flip(0)[::2, 1::3])
    yield Pullback("concat", "concat", {"x": [5, 3], "y": [5, 1], "z": [5, 2]}, f"  %r = vx.concat axis = 1 (%x, %y, %z) : {t(5, 3)}, {t(5, 1)}, {t(5, 2)}", {"r": [5, 6]},
                   lambda t, f, x, y, z: t.cat([x, y, z], 1))
    yield Pullback("pad", "pad", {"x": [3, 4], "v": []}, f"  %r = vx.pad %x, %v low [#vx.dim<1>, #vx.dim<-1>] high [#vx.dim<0>, #vx.dim<2>] : {t(3, 4)}, {t()}", {"r": [4, 5]},
                   lambda t, f, x, v: t.cat([t.cat([v.expand(1, 3), x[:, 1:]], 0), v.expand(4, 2)], 1))


def reductions():
    ties = Points(apart, "where two are equal the greatest changes over")
    for kind, of_torch in (("sum", lambda x: x.sum((0, 2))), ("prod", lambda x: x.prod(2).prod(0)), ("max", lambda x: x.amax((0, 2))), ("min", lambda x: x.amin((0, 2)))):
        yield Pullback("reduce", f"reduce_{kind}", {"x": floats(apart if kind in ("max", "min") else BOTH, 3, 2, 4)}, f"  %r = vx.reduce {kind} %x axes = [0, 2] : {t(3, 2, 4)}",
                       {"r": [2]}, lambda t, f, x, of_torch=of_torch: of_torch(x), ties if kind in ("max", "min") else None)
    for flags in ("", "exclusive", "reverse", "exclusive reverse"):
        def cumulated(t, f, x, flags=flags):
            x = x.flip(1) if "reverse" in flags else x
            y = x.cumsum(1) - (x if "exclusive" in flags else 0)
            return y.flip(1) if "reverse" in flags else y

        yield Pullback("cumulative_sum", f"cumulative_sum_{flags.replace(' ', '_') or 'plain'}", {"x": [2, 5, 2]}, f"  %r = vx.cumulative_sum {flags} %x : {t(2, 5, 2)}",
                       {"r": [2, 5, 2]}, cumulated)
    # Windows of 3 that begin at every second place and overlap; what lies outside takes part with 0, 1 or not at all.
    windowed = lambda t, f, x, outside: f.pad(x, (1, 1), value=outside).unfold(1, 3, 2)
    for kind, outside, of_torch in (("sum", 0.0, lambda w: w.sum(2)), ("prod", 1.0, lambda w: w.prod(2)), ("max", -np.inf, lambda w: w.amax(2)), ("min", np.inf, lambda w: w.amin(2))):
        yield Pullback("reduce_window", f"reduce_window_{kind}", {"x": floats(apart, 2, 7)},
                       f"  %r = vx.reduce_window {kind} %x window = [1, 3] strides = [1, 2] dilations = [1, 1] pads = [0, 1] x [0, 1] : {t(2, 7)}", {"r": [2, 4]},
                       lambda t, f, x, outside=outside, of_torch=of_torch: of_torch(windowed(t, f, x, outside)), ties if kind in ("max", "min") else None)


def norms():
    yield Pullback("softmax", "softmax", {"x": [3, 5]}, f"  %r = vx.softmax %x axis = 1 : {t(3, 5)}", {"r": [3, 5]}, lambda t, f, x: f.softmax(x, 1))
    yield Pullback("softmax", "softmax_log", {"x": [3, 5]}, f"  %r = vx.softmax log %x axis = 0 : {t(3, 5)}", {"r": [3, 5]}, lambda t, f, x: f.log_softmax(x, 0))
    yield Pullback("layer_norm", "layer_norm", {"x": [3, 2, 4], "s": [2, 4], "b": [2, 4]}, f"  %r = vx.layer_norm %x, %s, %b axis = 1 epsilon = 1.0e-2 : {t(3, 2, 4)}, {t(2, 4)}, {t(2, 4)}",
                   {"r": [3, 2, 4]}, lambda t, f, x, s, b: f.layer_norm(x, (2, 4), s, b, eps=float(np.float32(1e-2))))
    yield Pullback("rms_norm", "rms_norm", {"x": [3, 5], "s": [5]}, f"  %r = vx.rms_norm %x, %s, epsilon = 1.0e-2 : {t(3, 5)}, {t(5)}", {"r": [3, 5]},
                   lambda t, f, x, s: x / t.sqrt((x * x).mean(1, keepdim=True) + float(np.float32(1e-2))) * s)
    yield Pullback("dequantize", "dequantize", {"q": whole(-128, -3, 0, 5, 127, 9, dims=[2, 3], dtype="i8"), "s": [2, 3], "z": whole(4, -2, 0, 7, -128, 127, dims=[2, 3], dtype="i8")},
                   f"  %r = vx.dequantize %q, %s, %z : ({t(2, 3, dtype='i8')}, {t(2, 3)}, {t(2, 3, dtype='i8')}) -> {t(2, 3)}", {"r": [2, 3]},
                   lambda t, f, q, s, z: (q.to(s.dtype) - z.to(s.dtype)) * s)
    for of_batch in (True, False):
        def batch_norm(t, f, x, s, b, m, v, of_batch=of_batch):
            mean, variance = (x.mean((0, 2)), x.var((0, 2), correction=0)) if of_batch else (m, v)
            column = lambda each: each[None, :, None]
            y = (x - column(mean)) / t.sqrt(column(variance) + float(np.float32(1e-2))) * column(s) + column(b)
            return (y, m * 0.75 + mean * 0.25, v * 0.75 + variance * 0.25) if of_batch else (y, m, v)

        kinds = ", ".join([t(2, 3, 4)] + [t(3)] * 4)
        yield Pullback("batch_norm", f"batch_norm{'_of_batch' if of_batch else ''}", {"x": [2, 3, 4], "s": [3], "b": [3], "m": [3], "v": floats(POSITIVE, 3)},
                       f"  %r, %n, %w = vx.batch_norm %x, %s, %b, %m, %v epsilon = 1.0e-2 momentum = 7.5e-1 {'of_batch ' if of_batch else ''}: {kinds}",
                       {"r": [2, 3, 4], "n": [3], "w": [3]}, batch_norm, Points({"v": POSITIVE}, "no variance is below 0"))


def indexing():
    i64 = lambda *dims: t(*dims, dtype="i64")
    yield Pullback("gather", "gather", {"x": [2, 5, 3], "i": whole(4, 0, -5, 4, 2)}, f"  %r = vx.gather %x, %i axis = 1 : {t(2, 5, 3)}, {i64(5)}", {"r": [2, 5, 3]},
                   lambda t, f, x, i: x[:, i])
    yield Pullback("gather", "gather_tuples", {"x": [4, 3, 2], "i": whole(3, 1, 0, 2, -1, 1, dims=[3, 2])}, f"  %r = vx.gather %x, %i axis = 0 members = 2 : {t(4, 3, 2)}, {i64(3, 2)}",
                   {"r": [3, 2]}, lambda t, f, x, i: x[i[:, 0], i[:, 1]])
    # The last of two updates of one place stays, and one of no place is none.
    updates = {"x": [4, 3], "i": whole(2, 0, 2, 7, dims=[4, 1]), "u": [4, 3]}
    kinds = f"{t(4, 3)}, {i64(4, 1)}, {t(4, 3)}"
    yield Pullback("scatter", "scatter_set", updates, f"  %r = vx.scatter set %x, %i, %u axes = [0] : {kinds}", {"r": [4, 3]},
                   lambda t, f, x, i, u: t.stack([u[1], x[1], u[2], x[3]]))
    yield Pullback("scatter", "scatter_add", updates, f"  %r = vx.scatter add %x, %i, %u axes = [0] : {kinds}", {"r": [4, 3]},
                   lambda t, f, x, i, u: t.stack([x[0] + u[1], x[1], x[2] + u[0] + u[2], x[3]]))
    yield Pullback("update_slice", "update_slice", {"x": [5, 4], "i": whole(2), "u": [2, 4]}, f"  %r = vx.update_slice %x, %i, %u axes = [0] : {t(5, 4)}, {i64(1)}, {t(2, 4)}",
                   {"r": [5, 4]}, lambda t, f, x, i, u: t.cat([x[:2], u, x[4:]]))


def control():
    for condition in (True, False):
        yield Pullback("if", f"if_{'then' if condition else 'else'}", {"c": whole(condition, dims=[], dtype="i1"), "x": [5], "y": [5]}, f"""
  %r = vx.if %c -> {t(5)} {{
    %a = vx.mul %x, %y : {t(5)}, {t(5)}
    vx.yield %a : {t(5)}
  }} else {{
    %d = vx.div %x, %y : {t(5)}, {t(5)}
    vx.yield %d : {t(5)}
  }}""", {"r": [5]}, lambda t, f, c, x, y: x * y if c else x / y)

    def loop(t, f, n, x, w, s):
        for row in range(3):
            x = t.tanh(x * w) + s[row]
        return x

    yield Pullback("loop", "loop", {"n": whole(3, dims=[]), "x": [5], "w": [5], "s": [3, 5]}, f"""
  %r = vx.loop "i" trip_count(%n) inits(%x : {t(5)}) -> {t(5)} {{
  ^bb0(%c: {t(5)}):
    %m = vx.mul %c, %w : {t(5)}, {t(5)}
    %h = vx.tanh %m : {t(5)}
    %k = vx.slice %s starts [#vx.dim<i>, #vx.dim<0>] strides [1, 1] : {t(3, 5)} -> {t(1, 5)}
    %q = vx.reshape %k : {t(1, 5)} -> {t(5)}
    %d = vx.add %h, %q : {t(5)}, {t(5)}
    %g = vx.constant dense<true> : tensor<i1>
    vx.yield %g, %d : tensor<i1>, {t(5)}
  }}""", {"r": [5]}, loop, header='vx.symbol data_dependent "i"')


def sequences():
    kind = "!vx.sequence<tensor<3xf32>>"
    make = f"  %s = vx.sequence_construct %x, %y : ({t(3)}, {t(3)}) -> {kind}\n"
    position = lambda name, number: f"  %{name} = vx.constant dense<{number}> : tensor<i64>\n"
    at = lambda result, name, index: position(f"at_{result}", index) + f"  %{result} = vx.sequence_at %{name}, %at_{result} : {kind} -> {t(3)}\n"
    yield Pullback("sequence_construct", "sequence_construct", {"x": [3], "y": [3]}, make + at("r", "s", 0) + at("q", "s", -1), {"r": [3], "q": [3]}, lambda t, f, x, y: (x, y))
    yield Pullback("sequence_at", "sequence_at", {"x": [3], "y": [3]}, make + at("r", "s", 1), {"r": [3]}, lambda t, f, x, y: y * 1.0)
    yield Pullback("sequence_insert", "sequence_insert", {"x": [3], "y": [3], "z": [3]},
                   make + position("p", 1) + f"  %i = vx.sequence_insert %s, %z at %p : {kind}, {t(3)} -> {kind}\n" + at("r", "i", 0) + at("q", "i", 1) + at("o", "i", 2),
                   {"r": [3], "q": [3], "o": [3]}, lambda t, f, x, y, z: (x, z, y))
    yield Pullback("sequence_erase", "sequence_erase", {"x": [3], "y": [3]}, make + position("p", 0) + f"  %e = vx.sequence_erase %s at %p : {kind}\n" + at("r", "e", 0),
                   {"r": [3]}, lambda t, f, x, y: y * 1.0)


def directives():
    yield Pullback("watch", "watch", {"x": [6]}, f"  %w = vx.watch %x : {t(6)}\n  %r = vx.mul %w, %w : {t(6)}, {t(6)}", {"r": [6]}, lambda t, f, x: x * x)
    pair = f"({t(6)}, {t(6)}) -> {t(6)}"
    yield Pullback("custom_gradient", "custom_gradient", {"x": [6], "y": [6]}, f"""
  %r = vx.custom_gradient (%x, %y) : {pair} {{
  ^bb0(%a: {t(6)}, %b: {t(6)}):
    %s = vx.sin %a : {t(6)}
    %p = vx.mul %s, %b : {t(6)}, {t(6)}
    vx.yield %p : {t(6)}
  }} pullback {{
  ^bb0(%a: {t(6)}, %b: {t(6)}, %p: {t(6)}, %g: {t(6)}):
    %c = vx.cos %a : {t(6)}
    %h = vx.mul %c, %b : {t(6)}, {t(6)}
    %da = vx.mul %g, %h : {t(6)}, {t(6)}
    %s = vx.sin %a : {t(6)}
    %db = vx.mul %g, %s : {t(6)}, {t(6)}
    vx.yield %da, %db : {t(6)}, {t(6)}
  }}""", {"r": [6]}, lambda t, f, x, y: t.sin(x) * y)
    kept = [True, False, False, False, True, True, True, True, True, True, True, False]
    yield Pullback("dropout", "dropout", {"x": [12], "k": whole(5, dims=[])}, f"  %r, %mask = vx.dropout %x key(%k) ratio = 0.25 number = 2 : {t(12)}", {"r": [12]},
                   lambda t, f, x, k: x * t.tensor(kept) / 0.75)
