"""Random integer expressions of the kind that places in memory are made of, the same over several operands in one kernel.

A compiler that takes one expression for another of the same shape is caught: a result is the sum of one expression over each operand, times factors of
their own, as a number and as the place of a gather."""
import random

from op_case import Case, Input, Result, integers, tensor_type
from tolerance import Exact

OPERANDS = "abcdef"
RESULTS = 8  # of a kind
TABLE = 4096


def tree(choose, depth):
    """(op, operand, operand): 'x' is the kernel's operand, 'y' another one, a number a constant."""
    if depth == 0 or choose.random() < 0.1:
        return choose.choice("xxxy")
    inner = tree(choose, depth - 1)
    by = choose.choice([2, 3, 4, 5, 7, 8, 12, 17, 24, 33])
    times = choose.choice([1, 2, 3, 5, 6, 7, 8, 9, 16, 24, 33, 48, 66, 100])
    kind = choose.choice(["places", "places", "div", "rem", "mul", "bit", "bit", "less", "min", "max", "and", "add"])
    if kind == "places":  # row and column, with another distance of the rows
        column = ("rem", inner, by)
        return ("add", ("mul", ("div", inner, by), times), column if choose.random() < 0.5 else ("mul", column, choose.choice([2, 3, 5])))
    if kind == "bit":
        bit = choose.choice([("rem", inner, 2), ("and", inner, 1), ("and", inner, 4), ("rem", ("mul", ("rem", inner, 2), 9), 5)])
        return ("mul", bit, times)
    if kind == "less":
        return ("mul", ("less", inner, by), times)
    if kind == "mul":
        return ("mul", ("rem", inner, by), times)
    if kind == "add":
        return ("add", inner, tree(choose, depth - 1))
    return (kind, inner, by)


class Text:
    def __init__(self, dims):
        self.type, self.bits = tensor_type("i64", dims), tensor_type("i1", dims)
        self.lines, self.constants, self.count = [], {}, 0

    def op(self, text):
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def constant(self, number):
        if number not in self.constants:
            scalar = self.op(f"vx.constant dense<{number}> : tensor<i64>")
            self.constants[number] = self.op(f"vx.broadcast {scalar}, [] : tensor<i64> -> {self.type}")
        return self.constants[number]

    def binary(self, name, left, right):
        return self.op(f"vx.{name} {left}, {right} : {self.type}, {self.type}")

    def value(self, node, x, y):
        if node in ("x", "y"):
            return x if node == "x" else y
        if isinstance(node, int):
            return self.constant(node)
        name, left, right = node
        left, right = self.value(left, x, y), self.value(right, x, y)
        if name == "less":  # one of two constants
            below = self.op(f"vx.compare lt {left}, {right} : {self.type}, {self.type}")
            zero, nine = self.constant(0), self.constant(9)
            return self.op(f"vx.select {below}, {nine}, {zero} : {self.bits}, {self.type}, {self.type}")
        return self.binary(name, left, right)


def expression_case(seed, dims, header="", runs=None):
    choose = random.Random(seed)
    text = Text(dims)
    results = {}
    inputs = {name: Input("i64", dims, integers(-40 if name == "f" else 0, 500)) for name in OPERANDS}
    inputs["table"] = Input("i64", [TABLE], integers(0, 500))
    for number in range(2 * RESULTS):
        node = tree(choose, choose.randint(1, 3))
        while node in ("x", "y"):
            node = tree(choose, 3)
        total = None
        for place, name in enumerate(OPERANDS):
            value = text.value(node, f"%{name}", f"%{choose.choice(OPERANDS)}")
            if number % 2:
                place_of = text.binary("and", value, text.constant(TABLE - 1))
                value = text.op(f"vx.gather %table, {place_of} axis = 0 : tensor<{TABLE}xi64>, {text.type}")
            part = text.binary("mul", value, text.constant(1009**place))
            total = part if total is None else text.binary("add", total, part)
        text.lines.append(f"  %r{number} = vx.add {total}, {text.constant(0)} : {text.type}, {text.type}")
        results[f"r{number}"] = Result("i64", dims, Exact())
    more = {"header": header, "runs": runs} if runs else {}
    return Case(f"expression_{seed}", inputs, "\n".join(text.lines), results, **more)


def cases():
    for seed in range(3):
        yield expression_case(seed, [300])
    for seed in range(3, 6):
        yield expression_case(seed, ["n"], 'vx.symbol "n" max = 4096', [{"n": 300}, {"n": 1}, {"n": 0}])
