"""Attention: its whole signature, and what programs write in parts."""
import numpy as np

from op_case import ACCUMULATOR, EPSILON, FLOATS, Case, Input, Result, bools, uniform, values
from tolerance import at_most

PLAIN = [0, 1, 2, 3]


def place(sizes, dims):
    """[batch, heads, length, depth] in the order of a tensor."""
    shape = [None] * 4
    for size, dim in zip(sizes, dims):
        shape[dim] = size
    return shape


def error_of(dtype, depth, keys, scale):
    """A score is off by (depth + 4) roundings of at most |scale| * depth * 2 (the inputs are below sqrt(2)); a weight by e^that and
    its sum's roundings; the values are below 1."""
    unit = EPSILON[ACCUMULATOR[dtype]]
    score = (depth + 4) * unit * abs(scale) * depth * 2 + 4 * unit * (abs(scale) * depth * 2 + 1)
    return 4 * score + (2 * keys + 12) * unit


def attention(name, dtype="f32", batch=1, heads=2, key_heads=None, length=3, keys=5, depth=4, value_depth=None, dims=(PLAIN, PLAIN, PLAIN, PLAIN),
              mask=None, bias=None, options="", scale=0.5, log_sum_exp=False, make=uniform(-1.4, 1.4), make_mask=bools, make_bias=uniform(-2, 2),
              value_make=uniform(), runs=({},), header="", past=False, without_gradient=None):
    key_heads = heads if key_heads is None else key_heads
    value_depth = depth if value_depth is None else value_depth
    shapes = {"q": place([batch, heads, length, depth], dims[0]), "k": place([batch, key_heads, keys, depth], dims[1]),
              "v": place([batch, key_heads, keys, value_depth], dims[2])}
    inputs = {key: Input(dtype, shape, value_make if key == "v" else make) for key, shape in shapes.items()}
    extra = ""
    if mask:
        inputs["m"] = Input("i1", mask, make_mask)
        extra += f" mask(%m : {inputs['m'].type()})"
    if bias:
        inputs["b"] = Input(dtype, bias, make_bias)
        extra += f" bias(%b : {inputs['b'].type()})"
    largest = max([value for run in runs for value in run.values()] + [1]) * 2
    bound = error_of(dtype, depth, keys if isinstance(keys, int) else largest, scale)
    rule = at_most(lambda inputs: bound, "the errors of scores, weights and their sum")
    results = {"r": Result(dtype, place([batch, heads, length, value_depth], dims[3]), rule)}
    if log_sum_exp:
        results["l"] = Result(ACCUMULATOR[dtype], [batch, heads, length], rule)
    if past:
        inputs["p"] = Input(dtype, ["held"], make)  # binds the symbol
    text = (f"  %r{', %l' if log_sum_exp else ''} = vx.attention %q, %k, %v{extra} scale = {scale:e} {options} "
            f"dims = {dims[0]} x {dims[1]} x {dims[2]} -> {dims[3]} : {inputs['q'].type()}, {inputs['k'].type()}, {inputs['v'].type()} -> "
            + ", ".join(result.type() for result in results.values()))
    return Case(name, inputs, text, results, header=header, runs=runs, without_gradient=without_gradient)


def first_taken(rng, shape):
    """No row without a key that takes part."""
    return bools(rng, shape) | (np.arange(shape[-1]) == 0)


EMPTY_ROW = "the result of a row that no key takes part in is NaN, or its log_sum_exp -inf"


def cases():
    for dtype in FLOATS:
        yield attention(f"attention_{dtype}", dtype, batch=2, length=7, keys=9, depth=8)
        yield attention(f"attention_everything_{dtype}", dtype, batch=2, heads=4, key_heads=2, length=5, keys=11, depth=8, mask=[2, 1, 1, 11],
                        bias=[1, 4, 5, 11], options="softcap = 2.0 causal window = 7 past = <6> zero_invalid", log_sum_exp=True)
    inside, transposed = [0, 2, 1, 3], [0, 1, 3, 2]
    for name, dims in (("heads_inside", (inside, inside, inside, inside)), ("transposed_key", (PLAIN, transposed, PLAIN, PLAIN)),
                       ("length_first", ([1, 2, 0, 3],) * 4), ("all_different", ([3, 0, 1, 2], transposed, inside, [2, 1, 3, 0]))):
        yield attention(f"attention_{name}", batch=2, heads=3, length=5, keys=7, depth=6, value_depth=9, dims=dims)
    for name, sizes in (("odd", dict(batch=3, heads=5, length=17, keys=33, depth=19, value_depth=23)), ("one", dict(heads=1, length=1, keys=1, depth=1)),
                        ("one_query", dict(batch=2, heads=4, length=1, keys=67, depth=32)), ("one_key", dict(length=9, keys=1)),
                        ("wide", dict(heads=2, length=37, keys=41, depth=64)), ("long", dict(heads=1, length=3, keys=517, depth=16)),
                        ("no_keys", dict(keys=0)), ("no_queries", dict(length=0)), ("no_batch", dict(batch=0)), ("no_depth", dict(depth=0, value_depth=3))):
        yield attention(f"attention_{name}", **sizes)
    yield attention("attention_no_keys_log_sum_exp", keys=0, log_sum_exp=True, without_gradient=EMPTY_ROW)
    for groups in (1, 2, 3):
        yield attention(f"attention_groups_{groups}", heads=6, key_heads=groups, length=5, keys=7, depth=8, dims=(inside, inside, PLAIN, inside))
    for name, mask in (("rows", [1, 1, 5, 9]), ("keys", [2, 1, 1, 9]), ("whole", [2, 3, 5, 9]), ("one", [1, 1, 1, 1])):
        yield attention(f"attention_mask_{name}", batch=2, heads=3, length=5, keys=9, mask=mask, options="zero_invalid")
        yield attention(f"attention_bias_{name}", batch=2, heads=3, length=5, keys=9, bias=mask)
    yield attention("attention_causal", length=9, keys=9, options="causal", depth=8)
    yield attention("attention_causal_past", length=4, keys=9, options="causal past = <5>", depth=8)
    yield attention("attention_causal_before", length=6, keys=3, options="causal past = <-3>", depth=8, without_gradient=EMPTY_ROW)
    yield attention("attention_window", length=9, keys=9, options="causal window = 3", depth=8)
    yield attention("attention_window_alone", length=9, keys=9, options="window = 2", depth=8)
    yield attention("attention_softcap", length=5, keys=9, options="softcap = 0.75", depth=8)
    # A row that nothing takes part in.
    nothing = values(*[False] * 5, *[True] * 5)
    for name, options in (("nan", ""), ("zero", "zero_invalid")):
        yield attention(f"attention_empty_row_{name}", length=2, keys=5, mask=[1, 1, 2, 5], make_mask=nothing, options=options, log_sum_exp=True, without_gradient=EMPTY_ROW)
    nan, inf = float("nan"), float("inf")
    for name, numbers in (("nan", (nan, 0.5, 1, -1)), ("inf", (inf, 0.5, 1, -1)), ("minus_inf", (-inf, 0.5, 1, -1)), ("lowest", (-3.4028234e38, 0, -3.4028234e38, 0))):
        for option in ("", "zero_invalid"):
            yield attention(f"attention_bias_{name}{'_' if option else ''}{option}", length=2, keys=4, bias=[1, 1, 1, 4], make_bias=values(*numbers), options=option)
    # All scores at the lowest number: equal weights.
    yield attention("attention_all_lowest", length=2, keys=4, bias=[1, 1, 1, 4], make_bias=values(-3.4028234e38))
    # Keys of several blocks: with none in the first that takes part, with a number in the last that decides the row, and odd sizes.
    none_first = values(*[False] * 270, *[True] * 30)
    lowest_first = values(*[-inf] * 270, *[0.25] * 30)
    nan_last, inf_last = values(*[0.5] * 299, nan), values(*[0.5] * 299, inf)
    blocks = dict(heads=1, length=35, keys=300, depth=8)
    yield attention("attention_blocks_mask", mask=[1, 1, 1, 300], make_mask=none_first, log_sum_exp=True, **blocks)
    yield attention("attention_blocks_bias", bias=[1, 1, 1, 300], make_bias=lowest_first, log_sum_exp=True, **blocks)
    for option in ("", "zero_invalid"):
        yield attention(f"attention_blocks_nan{option}", bias=[1, 1, 1, 300], make_bias=nan_last, options=option, log_sum_exp=True, **blocks)
        yield attention(f"attention_blocks_inf{option}", bias=[1, 1, 1, 300], make_bias=inf_last, options=option, **blocks)
    # A few queries, whose heads share keys or do not: keys of several blocks, odd depths, and a tail of each.
    few = dict(batch=2, heads=6, key_heads=2, keys=300, depth=20, value_depth=33)
    for length in (1, 2, 4):
        yield attention(f"attention_few_{length}", length=length, log_sum_exp=True, **few)
    yield attention("attention_few_alone", batch=1, heads=3, length=1, keys=261, depth=64, value_depth=140, dims=([0, 2, 1, 3],) * 4)
    yield attention("attention_few_mask", length=2, mask=[1, 1, 1, 300], make_mask=none_first, log_sum_exp=True, **few)
    yield attention("attention_few_bias", length=1, bias=[1, 6, 1, 300], options="softcap = 2.0", **few)
    for option in ("", "zero_invalid"):
        yield attention(f"attention_few_nan{option}", length=2, bias=[1, 1, 1, 300], make_bias=nan_last, options=option, log_sum_exp=True, **few)
    yield attention("attention_few_causal", length=3, options="causal window = 40 past = <290>", log_sum_exp=True, **few)
    yield attention("attention_few_symbolic", batch="b", heads=4, key_heads=1, length=1, keys="held + 1", depth=16, options="causal past = <held>", past=True,
                    header='vx.symbol "b"\nvx.symbol "held"', runs=[{"b": 1, "held": 0}, {"b": 2, "held": 15}, {"b": 1, "held": 200}, {"b": 0, "held": 3}])
    yield attention("attention_blocks_causal", heads=1, length=150, keys=290, depth=8, options="causal window = 40 past = <140>", log_sum_exp=True)
    yield attention("attention_blocks_whole", heads=2, key_heads=1, length=33, keys=261, depth=19, value_depth=70, mask=[1, 2, 33, 261], bias=[1, 1, 33, 261], options="zero_invalid")
    for dtype in FLOATS:
        yield attention(f"attention_blocks_{dtype}", dtype, heads=1, length=49, keys=259, depth=64, value_depth=48, scale=0.125)
    yield attention("attention_blocks_transposed", heads=1, length=19, keys=141, depth=33, value_depth=35, dims=([0, 1, 3, 2],) * 4)
    yield attention("attention_deep", heads=1, length=21, keys=70, depth=200, value_depth=250, scale=0.07)
    yield attention("attention_deeper", heads=1, length=5, keys=7, depth=300, value_depth=9, scale=0.07)
    yield attention("attention_blocks_symbolic", batch="b", length="s", keys="s", depth=16, heads=2, dims=([0, 2, 1, 3],) * 4, mask=["b", 1, 1, "s"], options="causal zero_invalid",
                    make_mask=first_taken, header='vx.symbol "b"\nvx.symbol "s"', runs=[{"b": 1, "s": 128}, {"b": 1, "s": 129}, {"b": 1, "s": 147}, {"b": 2, "s": 160}], log_sum_exp=True)
    yield attention("attention_symbolic", batch="b", length="s", keys="s", depth=8, heads=2, dims=([0, 2, 1, 3],) * 4, bias=["b", 1, 1, "s"],
                    header='vx.symbol "b"\nvx.symbol "s"', runs=[{"b": 1, "s": 1}, {"b": 3, "s": 7}, {"b": 2, "s": 33}, {"b": 0, "s": 5}, {"b": 1, "s": 0}])
    yield attention("attention_symbolic_past", length="step", keys="held + step", depth=8, heads=4, key_heads=2, options="causal past = <held>", past=True,
                    header='vx.symbol "step"\nvx.symbol "held"', runs=[{"step": 1, "held": 0}, {"step": 1, "held": 20}, {"step": 5, "held": 3}])
    yield from pages()
    yield from parts()


def paged(name, lengths, tokens=None, dtype="f32", cache=None, heads=4, key_heads=2, places=32, depth=16, pages=None, most=None, options="", scale=0.5, extra=0,
          starts=None, change=lambda table: table, make=uniform(-1.4, 1.4), value_make=uniform(), symbolic=False):
    """`lengths` of sequences, of which the last `tokens` are asked for, all of them by default; `extra` tokens are of no sequence. The table names
    the pages in a random order, and numbers that are no pages behind those of a sequence."""
    tokens = lengths if tokens is None else tokens
    cache = dtype if cache is None else cache
    used = [-(-length // places) for length in lengths]
    most = max(used + [0]) if most is None else most
    pages = sum(used) + 2 if pages is None else pages

    def make_table(rng, shape):
        table, order = np.full(shape, 1 << 40, np.int64), rng.permutation(max(pages, sum(min(count, most) for count in used)))
        for s, count in enumerate(used):
            count = min(count, most)
            table[s, :count], order = order[:count], order[count:]
        return change(table)

    count = sum(tokens) + extra
    sizes = {"n": count, "p": pages, "s": len(lengths), "m": most} if symbolic else {}
    dims = ("n", "p", "s", "m") if symbolic else (count, pages, len(lengths), most)
    after = f"{dims[2]} + 1" if symbolic else dims[2] + 1
    inputs = {"q": Input(dtype, [dims[0], heads, depth], make), "k": Input(cache, [dims[1], key_heads, places, depth], make),
              "v": Input(cache, [dims[1], key_heads, places, depth], value_make), "t": Input("i64", [dims[2], dims[3]], make_table),
              "s": Input("i64", [after], values(*(np.cumsum([0] + list(tokens)) if starts is None else starts))), "l": Input("i64", [dims[2]], values(*lengths) if lengths else uniform())}
    bound = error_of(dtype, depth, max(list(lengths) + [1]), scale)
    rule = at_most(lambda inputs: bound, "the errors of scores, weights and their sum")
    kinds = [inputs[key].type() for key in "qktsl"]
    return Case(name, inputs, f"  %r = vx.paged_attention %q, %k, %v table(%t) starts(%s) lengths(%l) scale = {scale:e} {options} : {', '.join(kinds)}",
                {"r": Result(dtype, [dims[0], heads, depth], rule)}, runs=[sizes] if symbolic else ({},),
                without_gradient="pages are caches, which only inference has",
                header="\n".join(f'vx.symbol "{name}"' for name in sizes))


def pages():
    for dtype in ("f32", "f16", "bf16"):
        yield paged(f"paged_attention_{dtype}", [70, 1, 33], dtype=dtype)
        yield paged(f"paged_attention_f32_over_{dtype}", [70, 1, 33], [3, 1, 2], cache=dtype)
    for length in (1, 7, 31, 32, 33, 64, 65, 200):
        yield paged(f"paged_attention_decode_{length}", [length], [1])
        yield paged(f"paged_attention_prompt_{length}", [length], depth=8, heads=2, key_heads=1)
    yield paged("paged_attention_ragged", [5, 97, 64, 1, 130], [5, 1, 17, 1, 4])
    yield paged("paged_attention_symbolic", [5, 97, 64, 1, 130], [5, 1, 17, 1, 4], symbolic=True)
    for window in (1, 2, 31, 32, 33, 40, 1000):
        yield paged(f"paged_attention_window_{window}", [100, 3], [9, 3], options=f"window = {window}")
    yield paged("paged_attention_softcap", [40, 3], [9, 3], options="softcap = 0.75")
    yield paged("paged_attention_all", [140, 33], [9, 3], options="softcap = 2.0 window = 70", heads=6, key_heads=3)
    for depth in (1, 3, 7, 12, 64, 80, 128, 256, 257):
        yield paged(f"paged_attention_depth_{depth}", [37], [2], depth=depth, scale=depth ** -0.5)
    for heads, key_heads in ((1, 1), (9, 3), (8, 8), (7, 1)):
        yield paged(f"paged_attention_heads_{heads}_{key_heads}", [37, 2], [2, 1], heads=heads, key_heads=key_heads)
    for places in (1, 2, 7, 16, 48):
        yield paged(f"paged_attention_places_{places}", [37, 2], [2, 1], places=places, depth=8)
    # Tokens of no sequence, sequences without tokens, and none of either.
    yield paged("paged_attention_padding", [37, 2], [2, 1], extra=3)
    yield paged("paged_attention_idle", [37, 2, 9], [2, 0, 1])
    yield paged("paged_attention_no_tokens", [37], [0])
    yield paged("paged_attention_no_sequence", [], extra=2, pages=1)
    yield paged("paged_attention_no_pages", [3], pages=0)
    yield paged("paged_attention_no_table", [3], most=0)
    yield paged("paged_attention_overlap", [40, 40, 40], [9, 0, 0], starts=[0, 9, 4, 9])
    # Positions beyond the table, and pages that are not there: no memory but that of the pages is read.
    yield paged("paged_attention_beyond", [100], [9], most=2)
    yield paged("paged_attention_far", [1 << 40], [2], most=2, pages=3)
    yield paged("paged_attention_negative", [-5], [2], most=2, pages=3)
    yield paged("paged_attention_no_page", [40], [2], change=lambda table: np.full_like(table, -1))
    for number in (-1, -(1 << 62), 1 << 33, 1 << 62):
        yield paged(f"paged_attention_page_{number}", [100], [9], change=lambda table, number=number: np.where(np.arange(table.shape[1]) == 1, number, table))
    yield paged("paged_attention_shared", [40, 40], [3, 3], change=lambda table: np.concatenate([table[:1], table[:1]]))
    nan, inf = float("nan"), float("inf")
    for name, number in (("nan", nan), ("inf", inf), ("minus_inf", -inf)):
        yield paged(f"paged_attention_key_{name}", [70], [2], make=lambda rng, shape, number=number: np.where(rng.random(shape) < 0.02, number, rng.random(shape)))
        yield paged(f"paged_attention_value_{name}", [70], [2], value_make=lambda rng, shape, number=number: np.where(rng.random(shape) < 0.02, number, rng.random(shape)))
    # A score of -inf on all of the first page, and on all pages.
    yield paged("paged_attention_first_page_lowest", [70], [2], pages=3, change=lambda table: np.arange(3).reshape(1, 3),
                make=lambda rng, shape: np.where(np.indices(shape)[0] == 0, -inf if len(shape) == 4 else 1.0, 1.0))
    yield paged("paged_attention_lowest", [70], [2], make=lambda rng, shape: np.full(shape, -inf if len(shape) == 4 else 1.0))


def parts():
    """Programs in parts: the result must not depend on whether the parts are found."""
    def score_type(element="f32"):
        return f"tensor<2x3x5x7x{element}>"

    rule = at_most(lambda inputs: error_of("f32", 8, 7, 1), "the errors of scores, weights and their sum")
    head = """
  %qh = vx.reshape %q : tensor<2x5x24xf32> -> tensor<2x5x3x8xf32>
  %qt = vx.transpose %qh, [0, 2, 1, 3] : tensor<2x5x3x8xf32>
  %kh = vx.reshape %k : tensor<2x7x24xf32> -> tensor<2x7x3x8xf32>
  %kt = vx.transpose %kh, [0, 2, 3, 1] : tensor<2x7x3x8xf32>
  %vh = vx.reshape %v : tensor<2x7x24xf32> -> tensor<2x7x3x8xf32>
  %vt = vx.transpose %vh, [0, 2, 1, 3] : tensor<2x7x3x8xf32>
  %c = vx.constant dense<0.5> : tensor<f32>
  %zero = vx.constant dense<0.0> : tensor<f32>
  %low = vx.constant dense<0xFF800000> : tensor<f32>
  %cq = vx.broadcast %c, [] : tensor<f32> -> tensor<2x3x5x8xf32>
  %qs = vx.mul %qt, %cq : tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>
  %dots = vx.contract %qs, %kt batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>"""
    tail = """
  %p = vx.softmax %x axis = 3 : tensor<2x3x5x7xf32>{weights}
  %o = vx.contract {p}, %vt batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<2x3x5x7xf32>, tensor<2x3x7x8xf32>
  %ot = vx.transpose %o, [0, 2, 1, 3] : tensor<2x3x5x8xf32>
  %r = vx.reshape %ot : tensor<2x5x3x8xf32> -> tensor<2x5x24xf32>"""
    plain = tail.format(weights="", p="%p")
    s, b = score_type(), score_type("i1")
    checked = tail.format(weights=f"""
  %n = vx.is_nan %p : {s}
  %zeros = vx.broadcast %zero, [] : tensor<f32> -> {s}
  %pz = vx.select %n, %zeros, %p : {b}, {s}, {s}""", p="%pz")
    lows = f"\n  %lows = vx.broadcast %low, [] : tensor<f32> -> {s}"
    masked = f"{lows}\n  %mw = vx.broadcast %m, [2, 3] : tensor<5x7xi1> -> {b}\n  %x = vx.select %mw, %dots, %lows : {b}, {s}, {s}"
    causal = f"""{lows}
  %t = vx.iota axis = 0 : tensor<7xi64>
  %s = vx.iota axis = 0 : tensor<5xi64>
  %tw = vx.broadcast %t, [1] : tensor<7xi64> -> tensor<5x7xi64>
  %sw = vx.broadcast %s, [0] : tensor<5xi64> -> tensor<5x7xi64>
  %le = vx.compare gt %tw, %sw : tensor<5x7xi64>, tensor<5x7xi64>
  %mw = vx.broadcast %le, [2, 3] : tensor<5x7xi1> -> {b}
  %x = vx.select %mw, %lows, %dots : {b}, {s}, {s}"""
    biased = f"\n  %bw = vx.broadcast %b, [0, 3] : tensor<2x7xf32> -> {s}\n  %x = vx.add %bw, %dots : {s}, {s}"
    capped = f"""
  %cap = vx.constant dense<2.0> : tensor<f32>
  %caps = vx.broadcast %cap, [] : tensor<f32> -> {s}
  %y = vx.div %dots, %caps : {s}, {s}
  %h = vx.tanh %y : {s}
  %x = vx.mul %h, %caps : {s}, {s}"""
    scaled = f"\n  %cs = vx.broadcast %c, [] : tensor<f32> -> {s}\n  %x = vx.div %dots, %cs : {s}, {s}"
    operands = {"q": Input("f32", [2, 5, 24], uniform()), "k": Input("f32", [2, 7, 24], uniform()), "v": Input("f32", [2, 7, 24], uniform())}
    m, bias = Input("i1", [5, 7], bools), Input("f32", [2, 7], uniform(-2, 2))
    for name, middle, end, extra in (("masked", masked, checked, {"m": m}), ("causal", causal, plain, {}), ("biased", biased, plain, {"b": bias}),
                                     ("capped", capped, plain, {}), ("scaled", scaled, plain, {})):
        yield Case(f"parts_{name}", {**operands, **extra}, head + middle + end, {"r": Result("f32", [2, 5, 24], rule)})
    # Query, key and value from one product, and keys that serve several heads.
    yield Case("parts_packed", {"qkv": Input("f32", [2, 5, 72], uniform())}, """
  %w = vx.reshape %qkv : tensor<2x5x72xf32> -> tensor<2x5x3x3x8xf32>
  %t = vx.transpose %w, [2, 0, 3, 1, 4] : tensor<2x5x3x3x8xf32>
  %i0 = vx.constant dense<0> : tensor<i64>
  %i1 = vx.constant dense<1> : tensor<i64>
  %i2 = vx.constant dense<2> : tensor<i64>
  %q = vx.gather %t, %i0 axis = 0 : tensor<3x2x3x5x8xf32>, tensor<i64>
  %k = vx.gather %t, %i1 axis = 0 : tensor<3x2x3x5x8xf32>, tensor<i64>
  %v = vx.gather %t, %i2 axis = 0 : tensor<3x2x3x5x8xf32>, tensor<i64>
  %x = vx.contract %q, %k batch = [0, 1] x [0, 1] contracting = [3] x [3] : tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>
  %p = vx.softmax %x axis = 3 : tensor<2x3x5x5xf32>
  %r = vx.contract %p, %v batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<2x3x5x5xf32>, tensor<2x3x5x8xf32>""",
               {"r": Result("f32", [2, 3, 5, 8], rule)})
    yield Case("parts_grouped", {"q": Input("f32", [1, 4, 5, 8], uniform()), "k": Input("f32", [1, 2, 7, 8], uniform()),
                                 "v": Input("f32", [1, 2, 7, 8], uniform())}, """
  %k1 = vx.reshape %k : tensor<1x2x7x8xf32> -> tensor<1x2x1x7x8xf32>
  %k2 = vx.broadcast %k1, [0, 1, 2, 3, 4] : tensor<1x2x1x7x8xf32> -> tensor<1x2x2x7x8xf32>
  %k3 = vx.reshape %k2 : tensor<1x2x2x7x8xf32> -> tensor<1x4x7x8xf32>
  %kt = vx.transpose %k3, [0, 1, 3, 2] : tensor<1x4x7x8xf32>
  %v2 = vx.broadcast %v, [0, 1, 3, 4] : tensor<1x2x7x8xf32> -> tensor<1x2x2x7x8xf32>
  %v3 = vx.reshape %v2 : tensor<1x2x2x7x8xf32> -> tensor<1x4x7x8xf32>
  %x = vx.contract %q, %kt batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<1x4x5x8xf32>, tensor<1x4x8x7xf32>
  %p = vx.softmax %x axis = 3 : tensor<1x4x5x7xf32>
  %r = vx.contract %p, %v3 batch = [0, 1] x [0, 1] contracting = [3] x [2] : tensor<1x4x5x7xf32>, tensor<1x4x7x8xf32>""",
               {"r": Result("f32", [1, 4, 5, 8], rule)})
    yield Case("parts_one_batch", {"q": Input("f32", [3, 5, 8], uniform()), "k": Input("f32", [3, 7, 8], uniform()), "v": Input("f32", [3, 7, 8], uniform())}, """
  %x = vx.contract %q, %k batch = [0] x [0] contracting = [2] x [2] : tensor<3x5x8xf32>, tensor<3x7x8xf32>
  %p = vx.softmax %x axis = 2 : tensor<3x5x7xf32>
  %r = vx.contract %p, %v batch = [0] x [0] contracting = [2] x [1] : tensor<3x5x7xf32>, tensor<3x7x8xf32>""",
               {"r": Result("f32", [3, 5, 8], rule)})
