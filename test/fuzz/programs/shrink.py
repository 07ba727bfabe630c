"""Makes what fails smaller while it fails in the same way: a random program, or the list of what shares a program."""
import copy
import time

import numpy as np

from program import Input, Program


def stand_in(value):
    """An input in the place of what an op computes."""
    low, high = max(value.low, -4), min(value.high, 4)
    if low > high:
        low, high = value.low, value.high
    if value.dtype == "i1":
        make = lambda random, shape: random.integers(0, 2, shape).astype(bool)
    elif value.is_float and not value.exact:
        make = lambda random, shape: random.uniform(low, high, shape)
    else:
        make = lambda random, shape: random.integers(int(np.ceil(low)), int(np.floor(high)), shape, endpoint=True)
    return Input(value.name, value.dtype, value.dims, low, high, exact=value.exact, special=value.special, make=make)


def with_operands(op, operands):
    changed = copy.copy(op)
    changed.operands = operands
    return changed


def candidates(program):
    if len(program.results) > 1:
        for value in program.results:
            yield Program(program.seed, program.inputs, program.ops, [value], program.header, program.runs)
    for index, op in reversed(list(enumerate(program.ops))):
        # The program's end, then its beginning.
        for value in op.results:
            if value not in program.results and value.dtype != "sequence" or len(program.results) > 1 and value in program.results:
                yield Program(program.seed, program.inputs, program.ops[:index + 1], [value], program.header, program.runs)
    for index, op in enumerate(program.ops):
        if any(value.dtype == "sequence" for value in op.results):
            continue  # no input is one
        inputs = [stand_in(value) for value in op.results]
        if any(value in program.results for value in op.results) or any(isinstance(d, str) and "data" in d for v in op.results for d in v.dims):
            continue
        named = {value.name: value for value in inputs}
        replaced = lambda values: [named.get(value.name, value) for value in values]
        if op.regions:
            continue
        ops = [with_operands(o, replaced(o.operands)) for o in program.ops[:index] + program.ops[index + 1:]]
        if any(o.regions for o in ops):
            # Regions hold the values themselves.
            if any(value in reads for o in ops if o.regions for reads in [o.reads()] for value in op.results):
                continue
        yield Program(program.seed, program.inputs + inputs, ops, program.results, program.header, program.runs)
    for value in program.inputs:
        if value.constant and not value.fixed:
            other = Input(value.name, value.dtype, value.dims, value.low, value.high, exact=value.exact, special=value.special, make=value.make)
            swap = lambda values: [other if v is value else v for v in values]
            if any(o.regions for o in program.ops):
                continue
            yield Program(program.seed, swap(program.inputs), [with_operands(o, swap(o.operands)) for o in program.ops],
                          program.results, program.header, program.runs)


def weight(program):
    return len(program.ops) + len(program.results) + 0.1 * sum(value.constant for value in program.inputs)


def shrink(thing, fails, seconds=90, candidates=lambda program: (smaller.pruned() for smaller in candidates(program)), weight=weight):
    """`fails(thing)`: whether it fails as the first one did. `candidates(thing)` are those to try in its place, where `weight` says that they are smaller."""
    until = time.time() + seconds
    changed = True
    while changed and time.time() < until:
        changed = False
        for smaller in candidates(thing):
            if weight(smaller) >= weight(thing):
                continue
            if fails(smaller):
                thing, changed = smaller, True
                break
            if time.time() > until:
                break
    return thing


def sublists(items):
    """The halves, then all but one."""
    if len(items) > 1:
        yield items[:len(items) // 2]
        yield items[len(items) // 2:]
        yield from (items[:place] + items[place + 1:] for place in range(len(items)))


def responsible(items, fails, seconds=90):
    """Of what shares a program that failed, the members that make it fail: no smaller list of them that was tried fails. None where all of them do not fail again: the
    program has failed all the same."""
    return shrink(items, fails, seconds, sublists, len) if fails(items) else None
