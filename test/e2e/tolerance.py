"""How far a result may be from the reference: exact, units in the last place, or derived from a reduction's length."""
import numpy as np

from op_case import ACCUMULATOR, EPSILON, FLOATS, TINY, decode


class Exact:
    """The same bits; every NaN is the same."""

    def mismatches(self, got, want, dtype, context):
        if dtype not in FLOATS:
            return got != want
        bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.dtype.itemsize]
        both_nan = np.isnan(decode(got, dtype)) & np.isnan(decode(want, dtype))
        return (got.view(bits) != want.view(bits)) & ~both_nan

    def packed(self, want, dtype, context):
        """The rule as tools/check-plan/output_rule.h takes it, and the limits of the elements if it has some."""
        return {"rule": "exact"}, None

    def __str__(self):
        return "the same bits"


def ordered(array, dtype):
    """Floats as integers that are one apart for neighbours; +0 and -0 are the same."""
    size = array.dtype.itemsize * 8
    bits = array.view({16: np.uint16, 32: np.uint32, 64: np.uint64}[size])
    magnitude = (bits & np.array((1 << (size - 1)) - 1, bits.dtype)).astype(object if size == 64 else np.int64)
    negative = (bits >> np.array(size - 1, bits.dtype)) != 0
    return np.where(negative, -magnitude, magnitude)


class Ulp:
    """At most `units` places apart. Numbers below the least normal one may be flushed to zero."""

    def __init__(self, units):
        self.units = units

    def mismatches(self, got, want, dtype, context):
        if dtype not in FLOATS:
            return got != want
        a, b = decode(got, dtype), decode(want, dtype)
        both_nan = np.isnan(a) & np.isnan(b)
        one_nan = np.isnan(a) != np.isnan(b)
        distance = abs(ordered(got, dtype) - ordered(want, dtype))
        # f16 is computed in f32, which has its denormal numbers as normal ones.
        flushed = (abs(a) <= TINY[dtype]) & (abs(b) <= TINY[dtype]) & ((a == 0) | (b == 0)) & (dtype != "f16")
        return ~both_nan & (one_nan | ((distance > self.units) & ~flushed).astype(bool))

    def packed(self, want, dtype, context):
        return {"rule": "ulp", "units": self.units}, None

    def __str__(self):
        return f"at most {self.units} units in the last place"


class Bound:
    """An absolute bound for each element. `bound(context)` gives it in f64; on top comes one rounding to the result's
    type. What is not finite must be equal."""

    def __init__(self, bound, text):
        self.bound, self.text = bound, text

    def limits(self, want, dtype, context):
        return self.bound(context) + EPSILON[dtype] * abs(decode(want, dtype)) + TINY[dtype]

    def packed(self, want, dtype, context):
        limits = np.broadcast_to(np.asarray(self.limits(want, dtype, context), np.float64), want.shape)
        # What is not finite must be equal anyway.
        return {"rule": "limit"}, np.nan_to_num(limits, nan=0.0)

    def mismatches(self, got, want, dtype, context):
        a, b = decode(got, dtype), decode(want, dtype)
        limit = self.limits(want, dtype, context)
        with np.errstate(invalid="ignore"):
            near = abs(a - b) <= limit
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        return ~(same | (near & np.isfinite(a) & np.isfinite(b)))

    def __str__(self):
        return self.text


def sum_of(terms, dtype):
    """A sum of `terms` products or numbers in any order: (terms + 1) * epsilon of the accumulator * the sum of the
    magnitudes, which is the reference's result for the inputs' magnitudes."""
    epsilon = EPSILON[ACCUMULATOR[dtype]]
    return Bound(lambda context: (terms + 1) * epsilon * decode(context.of_magnitudes(), dtype),
                 f"(terms + 1) * epsilon * sum of magnitudes, {terms} terms")


def relative(factor, dtype):
    """`factor` roundings of the accumulator's type, relative to the result."""
    epsilon = EPSILON[ACCUMULATOR[dtype]]
    return Bound(lambda context: factor * epsilon * abs(decode(context.want, dtype)), f"{factor} * epsilon, relative")


def at_most(formula, text):
    """`formula(inputs)` is the bound of each element, from the inputs as f64."""
    return Bound(lambda context: formula(context.inputs()), text)
