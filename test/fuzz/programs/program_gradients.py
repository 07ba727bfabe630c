"""The gradients of random programs in vx text as their expansion has them, and differences of what the reference evaluator computes."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import vx_ops  # noqa: E402
from program import Writer, constant_text, resolved, shape_of  # noqa: E402
import op_case  # noqa: E402  of test/e2e, as program.py says
from run_gradients import SIDES, STEP, Program, along, difference, floats, is_finite, moved, take_gradients, with_type  # noqa: E402
from run_ops import Failure  # noqa: E402

STEPS = (STEP, STEP / 8)
TYPES = ("f32",) * 8 + ("i64", "i64", "i32", "i1")
DIFFERENTIABLE = ("mul", "div", "sub", "pow", "rem", "max", "min", "tanh", "atan", "sqrt", "log", "contract", "conv", "reduce", "softmax", "layer_norm", "gather", "scatter",
                  "slice", "pad", "concat", "loop", "if", "reduce_window", "attention", "cumulative_sum")
WITHOUT = {"bitcast", "paged_attention", "select_boxes", "variable"}  # these are of f32 alone; what is stored in a variable is a number without a gradient


class Inconclusive(Exception):
    """Nothing can be said of a program; the text is the reason."""


class FloatGenerator(vx_ops.Generator):
    MANY_SYMBOLS = 0

    def dtype(self):
        return self.pick(TYPES)


def generate(seed, generator):
    for attempt in range(20):
        program = generator(seed + attempt * 1000003, size=1 + seed % 7, focus=DIFFERENTIABLE).program()
        if program is not None and program.types() <= set(TYPES) and not program.fault and not WITHOUT & set(program.kinds()) and \
                any(value.dtype == "f32" for value in program.results) and any(map(is_moved, program.inputs)):
            return program
    raise Inconclusive("no program of these types comes from the seed")


def is_moved(value):
    """Inputs of floats are what gradients are taken by, those that the program would have as constants too."""
    return value.dtype == "f32" and not value.fixed


def array_of(program, value):
    """An input's elements: floats anywhere in their range, so that few are at a kink."""
    sizes = program.runs[0]
    if not is_moved(value):
        return value.array(program.seed, {} if value.constant else sizes)
    random = np.random.default_rng([program.seed, *value.name.encode()])
    low, high = (value.low, value.high) if np.isfinite([value.low, value.high]).all() else (-4, 4)
    return random.uniform(max(low, -64), min(high, 64), shape_of(value.dims, sizes)) if low < high else np.full(shape_of(value.dims, sizes), float(low))


def case_of(program):
    """A program in vx text as a case of f64."""
    sizes, lines, inputs = program.runs[0], [], {}
    for value in program.inputs:
        if value.constant and not is_moved(value):
            lines.append(f"  %{value.name} = {constant_text(value, array_of(program, value), value.type(sizes))}")
        else:
            inputs[value.name] = op_case.Input(value.dtype, shape_of(value.dims, sizes), None)
    writer = Writer(sizes)
    writer.ops(program.ops)
    results = {value.name: op_case.Result(value.dtype, [resolved(dim, sizes) for dim in value.dims], None) for value in program.results if value.dtype == "f32"}
    header = "\n".join(line for line in program.header if "data_dependent" in line or "vx.variable" in line or "func.func" in line)
    return with_type(op_case.Case("program", inputs, "\n".join(lines + writer.lines), results, header), "f32", "f64")


class VxDifferences:
    """The derivative of a program in vx text along a direction, as its gradients give it and as differences do."""

    def __init__(self, tools, root, program, expander):
        case = case_of(program)
        if not case.results or not floats(case.inputs):
            raise Inconclusive("no result or no input of floats")
        first = take_gradients(case, 1)
        try:
            # The gradients come first: a change of the first op of a kind is one of theirs.
            self.program = Program(tools, root, [first, case, *[case] * 8], expander)
        except Failure as failure:
            for message, reason in (("has no gradient here", "an op without a gradient"), ("expected an op '", "no op to change the gradient of"), ("expected an operand with", "no op to change the gradient of")):
                if message in str(failure):
                    raise Inconclusive(reason) from None
            raise
        self.case = case
        random = np.random.default_rng(program.seed)
        given = {value.name: array_of(program, value) for value in program.inputs if value.name in case.inputs}
        self.arrays = {**given, **{name: value.make(random, [size for size in value.dims]) for name, value in first.inputs.items() if name not in given}}
        self.direction = {name: random.uniform(-1, 1, self.arrays[name].shape) for name in floats(case.inputs)}

    def compute(self):
        points = [each for step in STEPS for each in moved(self.arrays, self.direction, step)]
        gradients, at, *around = self.program.run([self.arrays, self.arrays, *points])
        if not is_finite(self.case, at):
            raise Inconclusive("results that are not finite")
        wants = [difference(self.case, self.arrays, 1, around[4 * number:4 * number + 4], step) for number, step in enumerate(STEPS)]
        got, terms = along(1, self.direction, gradients)
        slopes = [difference(self.case, self.arrays, 1, around[4:], STEPS[1], side)[0] for side in SIDES]
        return got, [want for want, _ in wants], terms + max(size for _, size in wants), slopes
