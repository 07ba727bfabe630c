#!/usr/bin/env python3
"""Variables over several calls of one instance, compared with NumPy after each: bit for bit where the arithmetic is exact.

  run_state.py --bin BUILD/bin [--device cpu,vulkan] [--variants rocm=gfx1100] [--filter TEXT]

A call that fails must leave every variable as it was. Exit code: 0 all as wanted, 1 not.
"""
import json
import math
import os
import re
import statistics
import sys

import state_loops  # noqa: F401 (its cases)
from call_runs import CallRuns
from run_models import np
from state_case import CASES, Failed, Program, case, tensor, whole

for folder in ("common", "models"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
from make_adamw_pools import NUMBERS, Pools
from module_hash import hash64


@case(1, 7, 17, 1000, 65537)
def _adamw(n):
    """Three variables, each written where it lies."""
    t, random = tensor(n), np.random.default_rng(n)
    numbers = {"b1": 0.9, "c1": 0.1, "b2": 0.99, "c2": 0.01, "e": 1e-8, "wd": 0.001}
    text = f"""vx.variable @w : {t}
vx.variable @m : {t}
vx.variable @v : {t}
func.func @step(%g: {t} {{vx.name = "g"}}, %lr: tensor<f32> {{vx.name = "lr"}}) -> (tensor<f32> {{vx.name = "largest"}}) {{
  %w = vx.variable_load @w : {t}
  %m = vx.variable_load @m : {t}
  %v = vx.variable_load @v : {t}
  %l = vx.broadcast %lr, [] : tensor<f32> -> {t}
"""
    for name, number in numbers.items():
        text += f"  %{name}_ = vx.constant dense<{number:e}> : tensor<f32>\n  %{name} = vx.broadcast %{name}_, [] : tensor<f32> -> {t}\n"
    for result, op, *operands in (("m0", "mul", "m", "b1"), ("m1", "mul", "g", "c1"), ("m2", "add", "m0", "m1"), ("v0", "mul", "v", "b2"), ("gg", "mul", "g", "g"),
                                  ("v1", "mul", "gg", "c2"), ("v2", "add", "v0", "v1"), ("s", "sqrt", "v2"), ("d", "add", "s", "e"), ("q", "div", "m2", "d"),
                                  ("decay", "mul", "w", "wd"), ("p", "add", "q", "decay"), ("u", "mul", "p", "l"), ("w2", "sub", "w", "u"), ("a", "abs", "g")):
        text += f"  %{result} = vx.{op} {', '.join('%' + name for name in operands)} : {', '.join([t] * len(operands))}\n"
    text += f"""  vx.variable_store %m2, @m : {t}
  vx.variable_store %v2, @v : {t}
  vx.variable_store %w2, @w : {t}
  %r = vx.reduce max %a axes = [0] : {t}
  return %r : tensor<f32>
}}"""

    def step(state, g, lr):
        f = {name: np.float32(number) for name, number in numbers.items()}
        m = state["m"] * f["b1"] + g * f["c1"]
        v = state["v"] * f["b2"] + g * g * f["c2"]
        return {"m": m, "v": v, "w": state["w"] - (m / (np.sqrt(v) + f["e"]) + state["w"] * f["wd"]) * lr}

    calls = [(random.standard_normal(n).astype(np.float32), np.float32(0.1 / (i + 1))) for i in range(4)]
    return Program(text, {name: abs(random.standard_normal(n)).astype(np.float32) for name in "wmv"}, calls, step, ulps=64, replays=1)


def each_reads_the_other(n, reads_new):
    """Both new values are made of both old ones, so that one of them cannot lie where its variable does until the other is there."""
    t, random = tensor(n), np.random.default_rng(n)
    largest = {name: f"  %{name}_ = vx.reduce max %{name} axes = [0] : {t}\n" if reads_new else "" for name in "sd"}
    text = f"""vx.variable @a : {t}
vx.variable @b : {t}
func.func @step(%x: {t} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %a = vx.variable_load @a : {t}
  %b = vx.variable_load @b : {t}
  %s = vx.add %a, %b : {t}, {t}
{largest["s"]}  %d = vx.sub %a, %b : {t}, {t}
{largest["d"]}  vx.variable_store %s, @a : {t}
  vx.variable_store %d, @b : {t}
  %f = vx.reduce max %x axes = [0] : {t}
"""
    if reads_new:
        text += "  %sd = vx.add %s_, %d_ : tensor<f32>, tensor<f32>\n  %r = vx.add %sd, %f : tensor<f32>, tensor<f32>\n"
    text += f"  return {'%r' if reads_new else '%f'} : tensor<f32>\n}}"
    return Program(text, {"a": whole(random, n), "b": whole(random, n)}, [(whole(random, n),)] * 3,
                   lambda state, x: {"a": state["a"] + state["b"], "b": state["a"] - state["b"]})


@case(5, 129)
def _each_reads_the_other(n):
    """What reads the first new value at once holds it up."""
    return each_reads_the_other(n, True)


@case(5, 129)
def _nobody_reads_the_new(n):
    """Nothing holds the first new value up: it could be computed last, if what it reads were still there then."""
    return each_reads_the_other(n, False)


@case(3, 33)
def _moved_in_itself(n):
    """A sum with the own transpose, and one with the own first row: neither can be computed in place. Then one that can."""
    t, random = tensor(n, n), np.random.default_rng(n)
    text = f"""vx.variable @a : {t}
vx.variable @b : {t}
vx.variable @c : {t}
func.func @step(%x: {t} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %a = vx.variable_load @a : {t}
  %b = vx.variable_load @b : {t}
  %c = vx.variable_load @c : {t}
  %at = vx.transpose %a, [1, 0] : {t}
  %a1 = vx.sub %a, %at : {t}, {t}
  %a2 = vx.add %a1, %x : {t}, {t}
  %row = vx.slice %b starts [#vx.dim<0>, #vx.dim<0>] strides [1, 1] : {t} -> {tensor(1, n)}
  %flat = vx.reshape %row : {tensor(1, n)} -> {tensor(n)}
  %rows = vx.broadcast %flat, [1] : {tensor(n)} -> {t}
  %b1 = vx.sub %b, %rows : {t}, {t}
  %b2 = vx.add %b1, %x : {t}, {t}
  %c1 = vx.sub %x, %c : {t}, {t}
  vx.variable_store %a2, @a : {t}
  vx.variable_store %b2, @b : {t}
  vx.variable_store %c1, @c : {t}
  %r = vx.reduce max %x axes = [0, 1] : {t}
  return %r : tensor<f32>
}}"""
    return Program(text, {name: whole(random, n, n) for name in "abc"}, [(whole(random, n, n),) for _ in range(3)],
                   lambda state, x: {"a": state["a"] - state["a"].T + x, "b": state["b"] - state["b"][:1] + x, "c": x - state["c"]})


@case(4, 65)
def _read_before_and_after(n):
    """The old value is read by a product that runs after what is stored could be computed; the new one by another; both are returned, too."""
    t, random = tensor(n, n), np.random.default_rng(n)
    text = f"""vx.variable @w : {t}
vx.variable @last : {t}
vx.variable @held : {t}
func.func @step(%x: {t} {{vx.name = "x"}}) -> ({t} {{vx.name = "old"}}, {t} {{vx.name = "y"}}, {t} {{vx.name = "kept"}}) {{
  %w = vx.variable_load @w : {t}
  %held = vx.variable_load @held : {t}
  %w1 = vx.sub %x, %w : {t}, {t}
  %y0 = vx.contract %x, %w batch = [] x [] contracting = [1] x [0] : {t}, {t}
  %y1 = vx.contract %x, %w1 batch = [] x [] contracting = [1] x [0] : {t}, {t}
  %y = vx.add %y0, %y1 : {t}, {t}
  vx.variable_store %w1, @w : {t}
  vx.variable_store %y, @last : {t}
  %kept = vx.add %held, %x : {t}, {t}
  vx.variable_store %kept, @held : {t}
  return %w, %y, %kept : {t}, {t}, {t}
}}"""
    return Program(text, {name: whole(random, n, n) for name in ("w", "last", "held")}, [(whole(random, n, n),) for _ in range(3)],
                   lambda state, x: {"w": x - state["w"], "last": x @ state["w"] + x @ (x - state["w"]), "held": state["held"] + x})


@case(7, 1025)
def _stored_and_loaded_again(n):
    """Ops that would run as one, were there not a variable between them: one reads what the other stores, one what the other overwrites."""
    t, random = tensor(n), np.random.default_rng(n)
    text = f"""vx.variable @a : {t}
vx.variable @b : {t}
vx.variable @c : {t}
func.func @step(%x: {t} {{vx.name = "x"}}) -> ({t} {{vx.name = "old"}}) {{
  %0 = vx.neg %x : {t}
  %old = vx.variable_load @b : {t}
  vx.variable_store %0, @a : {t}
  vx.variable_store %x, @b : {t}
  %a = vx.variable_load @a : {t}
  %b = vx.variable_load @b : {t}
  %1 = vx.sub %0, %a : {t}, {t}
  %2 = vx.sub %1, %old : {t}, {t}
  %3 = vx.sub %2, %b : {t}, {t}
  vx.variable_store %3, @c : {t}
  return %2 : {t}
}}"""
    return Program(text, {name: whole(random, n) for name in "abc"}, [(whole(random, n),) for _ in range(3)], lambda state, x: {"a": -x, "b": x, "c": -state["b"] - x})


@case(6, 50)
def _bad_index(n):
    """Rows are gathered by indices of the input, in front of and behind what is stored: a bad one changes nothing."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    text = f"""vx.variable @w : {t}
vx.variable @sum : {t}
func.func @step(%i: {tensor(n, of="i64")} {{vx.name = "i"}}, %j: {tensor(2, of="i64")} {{vx.name = "j"}}) -> ({tensor(2, 3)} {{vx.name = "r"}}) {{
  %w = vx.variable_load @w : {t}
  %sum = vx.variable_load @sum : {t}
  %rows = vx.gather %w, %i axis = 0 : {t}, {tensor(n, of="i64")}
  %s = vx.add %sum, %rows : {t}, {t}
  %w1 = vx.neg %w : {t}
  vx.variable_store %s, @sum : {t}
  vx.variable_store %w1, @w : {t}
  %r = vx.gather %s, %j axis = 0 : {t}, {tensor(2, of="i64")}
  return %r : {tensor(2, 3)}
}}"""

    def step(state, i, j):
        if any(index < -n or index >= n for index in (*i, *j)):
            return None
        return {"w": -state["w"], "sum": state["sum"] + state["w"][i]}

    good = [(random.integers(-n, n, n), np.array([0, -n])) for _ in range(4)]
    bad_first, bad_last = (np.where(np.arange(n) == n // 2, n, good[0][0]), np.array([0, 1])), (good[0][0], np.array([1, -n - 1]))
    return Program(text, {"w": whole(random, n, 3), "sum": whole(random, n, 3)}, [good[0], bad_first, good[1], bad_last, bad_first, good[2], good[3]], step,
                   message="allowed is")


@case(6, 50)
def _bad_index_of_what_is_stored(n):
    """The kernel that computes the new value is the one that reports the bad index."""
    t, random = tensor(n), np.random.default_rng(n)
    text = f"""vx.variable @sum : {t}
func.func @step(%x: {t} {{vx.name = "x"}}, %i: {tensor(n, of="i64")} {{vx.name = "i"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %sum = vx.variable_load @sum : {t}
  %rows = vx.gather %x, %i axis = 0 : {t}, {tensor(n, of="i64")}
  %s = vx.add %sum, %rows : {t}, {t}
  vx.variable_store %s, @sum : {t}
  %r = vx.reduce max %x axes = [0] : {t}
  return %r : tensor<f32>
}}"""
    good, x = random.integers(-n, n, n), whole(random, n)
    return Program(text, {"sum": whole(random, n)}, [(x, good), (x, np.where(np.arange(n) == n - 1, n, good)), (x, good)],
                   lambda state, x, i: {"sum": state["sum"] + x[i]} if i.max() < n else None, message="allowed is")


def checked(name, indices, count, sizes):
    """The text of indices that are known to be right, of the last dimension's members."""
    kind = tensor(*count, of="i64")
    return f"  %{name} = vx.check_indices %{indices} below [{', '.join(f'#vx.dim<{size}>' for size in sizes)}] : {kind}\n"


@case(3, 33, 1025)
def _append(n):
    """A cache of pages: lines are written at pages and lines of the input, and read behind. Of two lines for one place the last stays; a bad
    place changes nothing."""
    pages, heads, lines, tokens = 5, 2, 32, 4
    t, at, random = tensor(pages, heads, lines, n), tensor(tokens, 2, of="i64"), np.random.default_rng(n)
    rows = tensor(tokens, heads, n)
    text = f"""vx.variable @cache : {t}
func.func @step(%at: {at} {{vx.name = "at"}}, %x: {rows} {{vx.name = "x"}}) -> ({tensor(pages, heads, lines)} {{vx.name = "sums"}}) {{
  %cache = vx.variable_load @cache : {t}
{checked("ok", "at", (tokens, 2), (pages, lines))}  %y = vx.neg %x : {rows}
  %new = vx.scatter set %cache, %ok, %y axes = [0, 2] : {t}, {at}, {rows}
  vx.variable_store %new, @cache : {t}
  %sums = vx.reduce max %new axes = [3] : {t}
  return %sums : {tensor(pages, heads, lines)}
}}"""

    def step(state, at, x):
        cache = state["cache"].copy()
        for (page, line), row in zip(at, x):
            if not (-pages <= page < pages and -lines <= line < lines):
                return None
            cache[page, :, line] = -row
        return {"cache": cache}

    def call(*bad):
        at = np.stack([random.integers(-pages, pages, tokens), random.integers(-lines, lines, tokens)], 1)
        at[1] = at[0]
        for place, value in bad:
            at[place] = value
        return at, whole(random, tokens, heads, n)

    calls = [call(), call(), call(((3, 0), pages)), call(), call(((0, 1), -lines - 1)), call()]
    return Program(text, {"cache": whole(random, pages, heads, lines, n)}, calls, step, message="allowed is")


@case(3, 33, 1025)
def _pages(n):
    """A line is written into a cache, and pages of an input are read behind it, counted from the end too: neither a bad place nor a bad page leaves a
    trace."""
    pages, lines, read = 5, 7, 3
    t, at, ids, random = tensor(pages, lines, n), tensor(1, 2, of="i64"), tensor(read, of="i64"), np.random.default_rng(n)
    row, out = tensor(1, n), tensor(read, lines, n)
    text = f"""vx.variable @cache : {t}
func.func @step(%at: {at} {{vx.name = "at"}}, %x: {row} {{vx.name = "x"}}, %i: {ids} {{vx.name = "i"}})
    -> ({out} {{vx.name = "y"}}, {tensor(read, lines)} {{vx.name = "largest"}}) {{
  %cache = vx.variable_load @cache : {t}
{checked("ok", "at", (1, 2), (pages, lines))}  %new = vx.scatter set %cache, %ok, %x axes = [0, 1] : {t}, {at}, {row}
  vx.variable_store %new, @cache : {t}
  %y = vx.gather %new, %i axis = 0 : {t}, {ids}
  %largest = vx.reduce max %y axes = [2] : {out}
  return %y, %largest : {out}, {tensor(read, lines)}
}}"""

    def step(state, at, x, i):
        (page, line), = at
        if not (-pages <= page < pages and -lines <= line < lines and (-pages <= i).all() and (i < pages).all()):
            return None
        cache = state["cache"].copy()
        cache[page, line] = x[0]
        return {"cache": cache}

    def call(at=None, i=None):
        at = np.array([at or (random.integers(-pages, pages), random.integers(-lines, lines))])
        return at, whole(random, 1, n), np.array(i) if i else random.integers(-pages, pages, read)

    def results(state, at, x, i):
        read = step(state, at, x, i)["cache"][i]
        return [read, read.max(2)]

    calls = [call(), call(i=[0, pages, 1]), call(), call(at=(pages, 0)), call(i=[-1, -pages, 4]), call(i=[0, 1, -pages - 1]), call()]
    return Program(text, {"cache": whole(random, pages, lines, n)}, calls, step, message="allowed is", results={"step": results}, in_place=("step",))


@case(7, 260)
def _added_rows(n):
    """Rows are added one after another to one variable, by two kernels, and a slice of another is replaced; both are read and returned."""
    t, part, random = tensor(n, 5), tensor(3, 5), np.random.default_rng(n)
    ids, one = tensor(3, 1, of="i64"), tensor(1, of="i64")
    text = f"""vx.variable @sum : {t}
vx.variable @part : {t}
func.func @step(%i: {ids} {{vx.name = "i"}}, %s: {one} {{vx.name = "s"}}, %x: {part} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}, {t} {{vx.name = "all"}}) {{
  %sum = vx.variable_load @sum : {t}
  %part = vx.variable_load @part : {t}
  %once = vx.scatter add %sum, %i, %x axes = [0] : {t}, {ids}, {part}
  %y = vx.neg %x : {part}
  %twice = vx.scatter add %once, %i, %y axes = [0] : {t}, {ids}, {part}
  %z = vx.add %x, %x : {part}, {part}
  %thrice = vx.scatter add %twice, %i, %z axes = [0] : {t}, {ids}, {part}
  %box = vx.update_slice %part, %s, %x axes = [0] : {t}, {one}, {part}
  vx.variable_store %thrice, @sum : {t}
  vx.variable_store %box, @part : {t}
  %both = vx.add %thrice, %box : {t}, {t}
  %r = vx.reduce max %both axes = [0, 1] : {t}
  return %r, %both : tensor<f32>, {t}
}}"""

    def step(state, i, s, x):
        total, box = state["sum"].copy(), state["part"].copy()
        for row, value in zip(i[:, 0], x):
            if 0 <= row < n:
                total[row] += 2 * value
        if 0 <= s[0] <= n - 3:
            box[s[0] : s[0] + 3] = x
        return {"sum": total, "part": box}

    calls = [(np.array([[a], [b], [a]]), np.array([s]), whole(random, 3, 5)) for a, b, s in ((0, 1, 0), (n - 1, 2, n - 3), (n, -1, n - 2), (3, 3, -1), (2, n // 2, 1))]
    return Program(text, {"sum": whole(random, n, 5), "part": whole(random, n, 5)}, calls, step)


@case(6, 40)
def _scattered_from_itself(n):
    """What is written is read from what is written over: the old value is meant. Another's old value is read behind the write."""
    t, random = tensor(n, 3), np.random.default_rng(n)
    ids = tensor(n, 1, of="i64")
    text = f"""vx.variable @w : {t}
vx.variable @u : {t}
vx.variable @kept : {t}
func.func @step(%i: {ids} {{vx.name = "i"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %w = vx.variable_load @w : {t}
  %u = vx.variable_load @u : {t}
  %y = vx.neg %w : {t}
  %w1 = vx.scatter set %w, %i, %y axes = [0] : {t}, {ids}, {t}
  %u1 = vx.scatter add %u, %i, %w axes = [0] : {t}, {ids}, {t}
  %m = vx.reduce max %u1 axes = [0, 1] : {t}
  %mm = vx.broadcast %m, [] : tensor<f32> -> {t}
  %k = vx.add %u, %mm : {t}, {t}
  vx.variable_store %w1, @w : {t}
  vx.variable_store %u1, @u : {t}
  vx.variable_store %k, @kept : {t}
  %r = vx.reduce max %w axes = [0, 1] : {t}
  return %r : tensor<f32>
}}"""

    def step(state, i):
        w, u = state["w"].copy(), state["u"].copy()
        for row, to in enumerate(i[:, 0]):
            w[to] = -state["w"][row]
            u[to] += state["w"][row]
        return {"w": w, "u": u, "kept": state["u"] + u.max()}

    return Program(text, {name: whole(random, n, 3) for name in ("w", "u", "kept")}, [(random.integers(0, n, (n, 1)),) for _ in range(3)], step)


@case(7, 20000)
def _pools(floats):
    """50 parameters of odd sizes, and their gradients, in pools: gradients are written where they lie, one kernel updates all."""
    pools, random = Pools(50, floats), np.random.default_rng(floats)
    matrix, vector = pools.get_shown()
    rows = pools.shapes[0][0]
    f = {name: np.float32(number) for name, number in NUMBERS.items()}
    members = {f"{letter}{k}": (pool, offset, shape) for letter, pool in (("w", "parameters"), ("g", "gradients")) for k, (shape, offset) in enumerate(zip(pools.shapes, pools.offsets))}
    state = {name: np.zeros(pools.size, np.float32) for name in ("parameters", "first", "second", "gradients")}
    for name, (pool, start, shape) in members.items():
        state[pool][start : start + int(np.prod(shape))] = random.standard_normal(int(np.prod(shape)))

    def view(state, name):
        pool, start, shape = members[name]
        return state[pool][start : start + int(np.prod(shape))].reshape(shape)

    def backward(state, x, d):
        new = {name: value.copy() for name, value in state.items()}
        for k, shape in enumerate(pools.shapes):
            own = d[:, k : k + shape[-1]]
            view(new, f"g{k}")[...] = x[:, k : k + shape[0]].T @ own if len(shape) == 2 else own.sum(0) + view(state, f"w{k}") * np.float32(0.5)
        return new

    def step(state, lr, i=np.zeros(1, np.int64)):
        if i.min() < -rows or i.max() >= rows:
            return None
        m = state["first"] * f["b1"] + state["gradients"] * f["c1"]
        v = state["second"] * f["b2"] + state["gradients"] * state["gradients"] * f["c2"]
        w = state["parameters"]
        return {"parameters": w - (m / (np.sqrt(v) + f["e"]) + w * f["wd"]) * lr, "first": m, "second": v, "gradients": state["gradients"]}

    def predict(state, x):
        return [x[:, : pools.shapes[matrix][0]] @ view(state, f"w{matrix}"), -view(state, f"w{vector}")]

    calls, x = [], whole(random, 4, pools.inner)
    for number in range(3):
        d, lr = whole(random, 4, pools.outer), np.float32(0.1 / (number + 1))
        calls += [("backward", x, d), ("checked_step", lr, np.array([0, 1, rows])), ("step", lr), ("predict", np.eye(4, pools.inner, dtype=np.float32)),
                  ("checked_step", lr, np.array([0, -rows, rows - 1]))]
    return Program(pools.get_text(), state, calls, {"backward": backward, "step": step, "checked_step": step, "predict": lambda state, x: state}, ulps=64, message="allowed is",
                   members=members, written={"w1": whole(random, *pools.shapes[1]), "w4": whole(random, *pools.shapes[4])},
                   results={"predict": predict, "checked_step": lambda state, lr, i: [view(state, "w0")[np.clip(i, -rows, rows - 1)]]},
                   work={"step": {"dispatches": 1, "replays": 1}, "backward": {"replays": 1}, "checked_step": {"dispatches": 2, "replays": 1}},
                   in_place=("backward", "step"), without_arena=("step",))


POOL = {"a": ("pool", 0, (3, 5)), "b": ("pool", 16, (16,)), "c": ("pool", 32, (7,)), "bc": ("pool", 16, (23,))}


def of_pool(body, results=""):
    """A pool of 48 floats, with members of which some share bytes, and another variable."""
    members = "".join(f"vx.variable @{name} in @{pool} at {4 * start} : {tensor(*shape)}\n" for name, (pool, start, shape) in POOL.items())
    return f"""vx.symbol data_dependent "i"
vx.variable @pool : {tensor(48)}
{members}vx.variable @kept : {tensor(48)}
{body}"""


@case(1, 2)
def _members_and_the_whole(seed):
    """Members and their pool are stored and loaded by turns: each load gives what was stored last, whichever name it was stored under."""
    random = np.random.default_rng(seed)
    t, a, b, bc = tensor(48), tensor(3, 5), tensor(16), tensor(23)
    text = of_pool(f"""func.func @step(%x: {a} {{vx.name = "x"}}, %y: {bc} {{vx.name = "y"}}) -> ({t} {{vx.name = "r"}}) {{
  %p = vx.variable_load @pool : {t}
  %p1 = vx.neg %p : {t}
  vx.variable_store %p1, @pool : {t}
  %a = vx.variable_load @a : {a}
  %a1 = vx.add %a, %x : {a}, {a}
  vx.variable_store %a1, @a : {a}
  vx.variable_store %y, @bc : {bc}
  %b = vx.variable_load @b : {b}
  %b1 = vx.add %b, %b : {b}, {b}
  vx.variable_store %b1, @b : {b}
  %q = vx.variable_load @pool : {t}
  %k = vx.variable_load @kept : {t}
  %k1 = vx.add %k, %q : {t}, {t}
  vx.variable_store %k1, @kept : {t}
  return %q : {t}
}}""")

    def step(state, x, y):
        pool = -state["pool"]
        pool[:15] += x.reshape(-1)
        pool[16:39] = y
        pool[16:32] *= 2
        return {"pool": pool, "kept": state["kept"] + pool}

    return Program(text, {"pool": whole(random, 48), "kept": whole(random, 48)}, [("step", whole(random, 3, 5), whole(random, 23)) for _ in range(3)], {"step": step},
                   members=POOL, results={"step": lambda state, x, y: [step(state, x, y)["pool"]]})


@case(1, 2)
def _members_in_a_loop(seed):
    """A loop stores a member, and loads the pool before it does so in the next round."""
    random = np.random.default_rng(seed)
    t, c = tensor(48), tensor(7)
    text = of_pool(f"""func.func @step(%k: tensor<i64> {{vx.name = "k"}}, %x: {c} {{vx.name = "x"}}) {{
  vx.loop "i" trip_count(%k) {{
    %p = vx.variable_load @pool : {t}
    %s = vx.variable_load @kept : {t}
    %s1 = vx.add %s, %p : {t}, {t}
    vx.variable_store %s1, @kept : {t}
    %c = vx.variable_load @c : {c}
    %c1 = vx.sub %x, %c : {c}, {c}
    vx.variable_store %c1, @c : {c}
    %true = vx.constant dense<true> : tensor<i1>
    vx.yield %true : tensor<i1>
  }}
  return
}}""")

    def step(state, k, x):
        pool, kept = state["pool"].copy(), state["kept"].copy()
        for _ in range(int(k)):
            kept += pool
            pool[32:39] = x - pool[32:39]
        return {"pool": pool, "kept": kept}

    return Program(text, {"pool": whole(random, 48), "kept": whole(random, 48)}, [(np.array(k), whole(random, 7)) for k in (0, 3, 1)], step, members=POOL)


@case(1, 2)
def _members_read_as_the_pool(seed):
    """The old pool is read behind what a member's new value is computed from, by kernels of its own; another member is made of bytes that
    lie elsewhere in the pool."""
    random = np.random.default_rng(seed)
    t, a, b, c = tensor(48), tensor(3, 5), tensor(16), tensor(7)
    text = of_pool(f"""func.func @step(%x: {a} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %p = vx.variable_load @pool : {t}
  %a = vx.variable_load @a : {a}
  %a1 = vx.sub %x, %a : {a}, {a}
  vx.variable_store %a1, @a : {a}
  %m = vx.reduce max %a1 axes = [0, 1] : {a}
  %mm = vx.broadcast %m, [] : tensor<f32> -> {t}
  %k = vx.add %p, %mm : {t}, {t}
  vx.variable_store %k, @kept : {t}
  %s = vx.slice %p starts [#vx.dim<24>] strides [1] : {t} -> {b}
  %b1 = vx.neg %s : {b}
  vx.variable_store %b1, @b : {b}
  %old = vx.reduce max %p axes = [0] : {t}
  return %old : tensor<f32>
}}""")

    def step(state, x):
        pool = state["pool"].copy()
        pool[:15] = x.reshape(-1) - pool[:15]
        pool[16:32] = -state["pool"][24:40]
        return {"pool": pool, "kept": state["pool"] + pool[:15].max()}

    return Program(text, {"pool": whole(random, 48), "kept": whole(random, 48)}, [("step", whole(random, 3, 5)) for _ in range(3)], {"step": step}, members=POOL,
                   results={"step": lambda state, x: [state["pool"].max()]})


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = 0xd2511f53 * c[0], 0xcd9e8d57 * c[2]
        c = [(second >> 32) ^ c[1] ^ k[0], second & 0xffffffff, (first >> 32) ^ c[3] ^ k[1], first & 0xffffffff]
        k = [(k[0] + 0x9e3779b9) & 0xffffffff, (k[1] + 0xbb67ae85) & 0xffffffff]
    return c


def drawn(seed, name, *dims):
    """The numbers u of docs/module-format.md."""
    stream, words = hash64(name.encode()), []
    halves = lambda number: (number & 0xffffffff, number >> 32)
    for block in range((math.prod(dims) + 1) // 2):
        words += philox((*halves(block), *halves(stream)), halves(seed))
    low, high = (np.array(words[begin::2], np.uint64) for begin in (0, 1))
    u = (((low | high << np.uint64(32)) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return u[: math.prod(dims)].reshape(dims)


@case(1, 9, 130)
def _random_start(n):
    """What variables start with follows from the seed and their names: a pair of one type differs, and a third one has other rules."""
    t, random, seed = tensor(n, 3), np.random.default_rng(n), 0xfedcba9876543210
    text = f"""vx.variable @u role = parameter init = <uniform(-0.25, 1.5)> : {t}
vx.variable @v role = optimizer init = <uniform(-0.25, 1.5)> : {t}
vx.variable @w init = <normal(0.5, 2.0)> : {t}
func.func @step(%x: {t} {{vx.name = "x"}}) -> (tensor<f32> {{vx.name = "r"}}) {{
  %u = vx.variable_load @u : {t}
  %w = vx.variable_load @w : {t}
  %s = vx.add %u, %x : {t}, {t}
  vx.variable_store %s, @u : {t}
  %r = vx.reduce max %w axes = [0, 1] : {t}
  return %r : tensor<f32>
}}"""
    quantile = np.vectorize(statistics.NormalDist(0, 1).inv_cdf)
    state = {name: (-0.25 + 1.75 * drawn(seed, name, n, 3)).astype(np.float32) for name in "uv"}
    state["w"] = (0.5 + 2.0 * quantile(drawn(seed, "w", n, 3))).astype(np.float32)
    return Program(text, state, [(whole(random, n, 3),)] * 2, lambda state, x: dict(state, u=state["u"] + x), seed=seed)


def bits(array):
    """As whole numbers in the order of the floats."""
    numbers = array.view(np.int32).astype(np.int64)
    return np.where(numbers < 0, -(numbers & 0x7fffffff), numbers)


def compare(program, want, got, where):
    for name, value in want.items():
        value = np.asarray(value, np.float32)
        if value.shape != got[name].shape:
            return f"{where}: @{name} is {got[name].shape}, expected {value.shape}"
        off = np.abs(bits(value) - bits(got[name]))
        if off.size and off.max() > program.ulps:
            place = np.unravel_index(off.argmax(), off.shape)
            return f"{where}: @{name} at {[int(i) for i in place]} is {got[name][place]}, expected {value[place]} ({off.max()} ulp)"
    return None


def show_schedules(program, runs, source):
    """The text of each target's schedules, by its name, where they are to be looked at."""
    if not program.in_place and not program.rounds_in_place:
        return {}
    shown = runs.tool("vx-compile", source, f"-target={','.join(runs.devices)}", *runs.variants, "--stop-after=schedule", "-o", "-")
    return dict(re.findall(r"^// target (\w+)\n(.*?)(?=^// target |\Z)", shown.stdout, re.S | re.M))


def find_copies(program, shown):
    """What the schedules of a target do that they are not to do, or None."""
    if not program.in_place and not program.rounds_in_place:
        return None
    schedules = dict(re.findall(r"^  vxrt\.program @(\w+) (.*?)^  }", shown, re.S | re.M))
    for function in program.in_place:
        for unwanted in ("vxrt.copy", "vxrt.check_faults", *(["vxrt.arena_reserve"] if function in program.without_arena else [])):
            if unwanted in schedules[function]:
                return f"'{function}' has a {unwanted}"
    for function in program.rounds_in_place:
        for loop in re.findall(r"^( *)%[^\n]*vxrt\.while (.*?)^\1}", schedules[function], re.S | re.M):
            for unwanted in ("vxrt.copy", "vxrt.allocate"):
                if unwanted in loop[1]:
                    return f"a loop of '{function}' has a {unwanted}"
    return None


def run(program, runs, module, device, threads, seen):
    """The first difference, or None. `seen` gets the bits of the state after each call."""
    script, want = [], program.write(program.state)
    names = list(program.add_members(want))

    def put(array):
        path = runs.file(f"{device}{len(script)}.bin")
        np.ascontiguousarray(array).tofile(path)
        return path

    for name, value in [*(program.state.items() if program.seed is None else []), *program.written.items()]:
        script.append(f"write {name} {put(value)}")
    for number, (function, *inputs) in enumerate(program.calls):
        line = f"call {function}"
        for k, value in enumerate(inputs):
            path = runs.file(f"{device}_call{number}_{k}.bin")
            np.ascontiguousarray(value).tofile(path)
            line += f" {path}"
        script.append(line)
        if function in program.results:
            script.append(f"results {runs.file(f'{device}_results{number}.bin')}")
        for name in names:
            script.append(f"read {name} {runs.file(f'{device}_{name}_{number}.bin')}")
    answers, failed = runs.answers(module, device, threads, script, program.seed or 0)
    if failed:
        return failed
    if len(answers) != len(program.calls):
        return f"{len(answers)} answers to {len(program.calls)} calls"
    for number, ((function, *inputs), answer) in enumerate(zip(program.calls, answers)):
        new = program.functions[function](want, *inputs)
        verb, _, rest = answer.partition(" ")
        message = program.message
        if isinstance(new, Failed):
            want, message, new = new.state, new.message, None
        if (verb == "failed") != (new is None) or (new is None and message not in rest):
            return f"call {number}: expected it to {'be done' if new else 'fail with ' + repr(message)}, got {answer!r}"
        if new:
            report = json.loads(rest)
            for what, count in program.work.get(function, {}).items():
                if report[what] != count:
                    return f"call {number} of '{function}': {report[what]} {what}, expected {count}"
            if function in program.results:
                results = np.concatenate([np.reshape(value, -1) for value in program.results[function](want, *inputs)])
                got = np.fromfile(runs.file(f"{device}_results{number}.bin"), np.float32)
                found = compare(program, {"results": results}, {"results": got}, f"call {number} of '{function}'")
                if found:
                    return found
            want = new
        got = {name: np.fromfile(runs.file(f"{device}_{name}_{number}.bin"), np.float32).reshape(value.shape) for name, value in program.add_members(want).items()}
        found = compare(program, program.add_members(want), got, f"after call {number}")
        if found:
            return found
        for name, value in program.add_members(got).items():
            if not np.array_equal(bits(value), bits(got[name])):
                return f"after call {number}: @{name} is not what its pool holds"
        # Rounding does not add up over calls: each is compared by itself.
        want = {name: got[name] for name in program.state}
        seen.append(b"".join(value.tobytes() for value in want.values()))
    return None


def main():
    with CallRuns() as runs:
        for name, make in CASES.items():
            if not runs.wants(name):
                continue
            program = make()
            source, module = runs.file(name + ".mlir"), runs.file(name + ".vxm")
            with open(source, "w") as file:
                file.write(program.text)
            _, refused = runs.compile(source, module)
            schedules = {} if refused else show_schedules(program, runs, source)
            for device in runs.devices:
                first, copies = None, refused or find_copies(program, schedules.get(device, ""))
                for threads in (1, 2, 4) if device == "cpu" else (1,):
                    seen = []
                    found = refused or run(program, runs, module, device, threads, seen)
                    first = first or seen
                    found = found or copies
                    if not found and seen != first:
                        found = "other bits than with one thread"
                    runs.count(f"{name} on {device}, {threads} threads", found)
    return runs.end()


if __name__ == "__main__":
    sys.exit(main())
