"""Compiles kernels of matrix fragments to PTX and compares what the PTX computes (evaluate_ptx.py) with sums in f64.

usage: check_values.py VX-OPT [--barriers]

With --barriers each kernel is evaluated once more for each of its barriers and the wait of its loop, without it: each time the evaluation must end in a race; and without
one factor, and from low memory, in an error.
"""
import os
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from evaluate_ptx import Race, evaluate, from_bits  # noqa: E402

# Each product of fragments is rounded to f32 once.
ROUNDOFF = 2.0**-24
LEAST_DEPTH = 8


def bf16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def store(values, kind):
    """As it lies in memory, and the value that a product takes."""
    if kind == "f16":
        kept = values.astype(np.float16)
        return kept, kept.astype(np.float64)
    if kind == "bf16":
        kept = bf16(values)
        return kept, from_bits(kept.astype(np.uint64), "bf16").reshape(kept.shape)
    kept = values.astype(np.float32)
    rounded = (kept.view(np.uint32).astype(np.uint64) + 0x1000) & 0xFFFFE000
    return kept, from_bits(rounded, "f32").reshape(kept.shape)


def ptx(opt, kernel, variant):
    passes = (f"builtin.module(vx-cuda-codegen{{variant={variant}}},vx-cuda-pipeline,"
              f"vx-cuda-print-ptx{{variant={variant}}})")
    run = subprocess.run([opt, "-", f"--pass-pipeline={passes}", "-o", os.devnull], input=kernel, text=True, capture_output=True)
    if run.returncode:
        raise SystemExit(f"vx-opt: {run.stderr}")
    return run.stdout


def precision_of(kind):
    return "factors = tf32" if kind == "tf32" else "sums = f32"


def tensor(dims, kind):
    return f"tensor<{'x'.join(map(str, dims))}x{'f32' if kind == 'tf32' else kind}>"


def check(name, got, want, terms):
    worst = np.abs(got - want).max(initial=0)
    bound = (terms // LEAST_DEPTH + 2) * ROUNDOFF * (terms + 1)  # no partial sum is above terms + 1
    print(f"{'ok' if worst <= bound else 'WRONG'} {name}: worst {worst:.2g}, bound {bound:.2g}")
    return worst <= bound


BARRIER = re.compile(r"^\s*bar(?:rier)?\.sync\s+0;$", re.M)
WAIT = re.compile(r"^\s*cp\.async\.wait_group\s+\d+;$", re.M)
FACTOR = re.compile(r"^\s*ldmatrix\.[^;]*;$", re.M)
BARRIERS = "--barriers" in sys.argv


def check_barriers(name, text, buffers, workgroups):
    """The last workgroup, whose tile is the least regular, with one line less."""
    kept = [buffer.copy() for buffer in buffers]
    missed, count = [], 0

    def run(changed, what, wanted):
        nonlocal count
        count += 1
        for buffer, value in zip(buffers, kept):
            buffer[...] = value
        try:
            evaluate(changed, buffers, [], workgroups, only=[workgroups - 1])
            missed.append(what)
        except wanted:
            pass

    barriers = list(BARRIER.finditer(text))
    # The wait behind the loop is for copies of rounds that there are not: nothing is left to wait for.
    for number, place in enumerate([*barriers, *list(WAIT.finditer(text))[:1]]):
        run(text[:place.start()] + text[place.end():], f"barrier or wait {number}", Race)
    for place in list(FACTOR.finditer(text))[:1]:
        run(text[:place.start()] + text[place.end():], "a factor", AssertionError)
    moved = text.replace("ld.param", "//ld.param", 1)
    run(moved, "the parameter", AssertionError)
    if address := re.search(r"cvta\.to\.global\.u64\s+(%rd\d+), (%rd\d+);", text):
        run(text[:address.end()] + f"\nsub.s64 {address.group(1)}, {address.group(1)}, 1048576;" + text[address.end():], "an address", IndexError)
    print(f"{'WRONG' if missed or not barriers else 'ok'} {name}: an error without each of {count} lines{f', but not without {missed}' if missed else ''}")
    return not missed and bool(barriers)


def product(opt, rng, kind, shape, orders, strategy, variant="sm_80", bias=False):
    """orders: for each factor whether it lies along the sum."""
    m, n, k = shape
    tile, step, stages, threads = strategy
    a_dims, b_dims = (m, k) if orders[0] else (k, m), (n, k) if orders[1] else (k, n)
    workgroups = -(-m // tile[0]) * -(-n // tile[1])
    epilogue = "vx.yield %r"
    if bias:
        epilogue = (f"%w = vx.broadcast %c, [1] : tensor<{n}xf32> -> tensor<{m}x{n}xf32>\n"
                    f"  %s = vx.add %r, %w : tensor<{m}x{n}xf32>, tensor<{m}x{n}xf32>\n  vx.yield %s")
    kernel = f"""
vx.kernel @k "x" symbols [] workgroups <{workgroups}> #vx.mma<tile = {list(tile)}, step = {step}, stages = {stages}, threads = {threads}> {{
^bb0(%a: {tensor(a_dims, kind)}, %b: {tensor(b_dims, kind)}{f', %c: tensor<{n}xf32>' if bias else ''}):
  %r = vx.contract %a, %b batch = [] x [] contracting = [{int(orders[0])}] x [{int(orders[1])}] {precision_of(kind)} {{vx.anchor}} : {tensor(a_dims, kind)}, {tensor(b_dims, kind)}
  {epilogue} : tensor<{m}x{n}xf32>
}}"""
    text = ptx(opt, kernel, variant)
    a, a_values = store(rng.uniform(-1, 1, a_dims), kind)
    b, b_values = store(rng.uniform(-1, 1, b_dims), kind)
    c = rng.uniform(-1, 1, n).astype(np.float32)
    result = np.full((m, n), np.nan, np.float32)
    if BARRIERS:
        return check_barriers(f"{kind} {m}x{n}x{k} {orders}", text, [a, b, *([c] if bias else []), result], workgroups)
    evaluate(text, [a, b, *([c] if bias else []), result], [], workgroups)
    want = (a_values if orders[0] else a_values.T) @ (b_values.T if orders[1] else b_values) + (c if bias else 0)
    copies = "asynchronous" if "cp.async.cg" in text else "through registers"
    name = f"{kind} {m}x{n}x{k}, along the sum {orders}, {copies}"
    return check(name, result, want, k)


def conv(opt, rng, kind, x_dims, filters, kernel_size, stride, pad, strategy):
    tile, step, stages, threads = strategy
    w_dims = (filters, x_dims[1], kernel_size, kernel_size)
    out = [(size + 2 * pad - kernel_size) // stride + 1 for size in x_dims[2:]]
    result_dims = (x_dims[0], filters, *out)
    workgroups = int(np.prod([-(-size // edge) for size, edge in zip(result_dims, tile)]))
    kernel = f"""
vx.kernel @k "x" symbols [] workgroups <{workgroups}> #vx.mma<tile = {list(tile)}, step = {step}, stages = {stages}, threads = {threads}> {{
^bb0(%x: {tensor(x_dims, kind)}, %w: {tensor(w_dims, kind)}):
  %r = vx.conv %x, %w strides = [{stride}, {stride}] dilations = [1, 1] pads = [{pad}, {pad}] x [{pad}, {pad}] groups = 1 {precision_of(kind)} {{vx.anchor}} : {tensor(x_dims, kind)}, {tensor(w_dims, kind)}
  vx.yield %r : {tensor(result_dims, 'f32')}
}}"""
    text = ptx(opt, kernel, "sm_80")
    x, x_values = store(rng.uniform(-1, 1, x_dims), kind)
    w, w_values = store(rng.uniform(-1, 1, w_dims), kind)
    result = np.full(result_dims, np.nan, np.float32)
    if BARRIERS:
        return check_barriers(f"conv {kind} {x_dims} {w_dims}", text, [x, w, result], workgroups)
    evaluate(text, [x, w, result], [], workgroups)
    padded = np.pad(x_values, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    want = np.zeros(result_dims)
    for i in range(kernel_size):
        for j in range(kernel_size):
            part = padded[:, :, i:i + stride * (out[0] - 1) + 1:stride, j:j + stride * (out[1] - 1) + 1:stride]
            want += np.einsum("nchw,mc->nmhw", part, w_values[:, :, i, j])
    return check(f"conv {kind} {x_dims} {w_dims}", result, want, int(np.prod(w_dims[1:])))


def main(opt):
    rng = np.random.default_rng(7)
    good = True
    for kind in ("f16", "bf16", "tf32"):
        step = 16 if kind == "tf32" else 32
        for orders in ((True, True), (True, False), (False, True), (False, False)):
            good &= product(opt, rng, kind, (64, 64, 96), orders, ((64, 32), step, 3, 64))
            good &= product(opt, rng, kind, (37, 41, 17), orders, ((32, 32), step, 2, 64))
        good &= product(opt, rng, kind, (40, 72, 40), (True, False), ((32, 64), step, 4, 128), "sm_90a", bias=True)
        good &= conv(opt, rng, kind, (1, 16, 9, 8), 24, 3, 1, 1, ((1, 16, 4, 8), step, 2, 64))
        good &= conv(opt, rng, kind, (2, 3, 11, 11), 17, 3, 2, 0, ((1, 32, 4, 8), step, 2, 64))
    good &= product(opt, rng, "f16", (1, 7, 1), (True, False), ((32, 32), 32, 2, 64))
    good &= product(opt, rng, "f16", (197, 72, 40), (True, False), ((64, 64), 32, 3, 128), "sm_90a")
    good &= product(opt, rng, "f16", (130, 136, 72), (True, False), ((128, 128), 32, 2, 256))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
