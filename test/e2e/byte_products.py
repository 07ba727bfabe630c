"""The peer of nodes that multiply bytes, on machines on which ONNX Runtime is wrong for them."""
import numpy as np
import onnx.reference

from cpu_variants import CPU_VARIANTS
from run_models import reference


def saturates(node):
    """Without VNNI ONNX Runtime adds products of bytes in 16 bits, which saturate: then ONNX's own evaluator answers for these."""
    return CPU_VARIANTS[0] != "avx512+vnni" and any(one.op_type in ("MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul") for one in node.model().graph.node)


def peer(node, path):
    return onnx.reference.ReferenceEvaluator(path) if saturates(node) else reference(path)


def at_ties(got, want):
    """The evaluator's bytes where ours differ by one in a thousandth of them: it multiplies scales in another order, and ties decide."""
    if got.dtype != want.dtype or got.shape != want.shape or want.dtype not in (np.uint8, np.int8):
        return want
    distance = np.abs(got.astype(int) - want.astype(int))
    return got if distance.max(initial=0) <= 1 and np.count_nonzero(distance) <= max(1, want.size // 1000) else want
