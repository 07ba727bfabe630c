"""Forms of nodes of com.microsoft that are not composed, or that break the op's own rules, with the importer's message for each."""
import numpy as np
from onnx import TensorProto, helper

from microsoft_nodes import MicrosoftNode, f16, f32, one, whole

WAY_OUT = "; export the model again without ONNX Runtime's fusions"
CHECK = "; the model breaks a rule of ONNX"


def refusals():
    """Pairs of a node and the words of its message; a form that is only not composed has the way out."""

    def unsupported(words, op, inputs, outputs=(0,), **options):
        return MicrosoftNode(words, op, inputs, outputs=outputs, fixed=tuple(inputs), **options), words + WAY_OUT

    def wrong(words, op, inputs, outputs=(0,), **options):
        return MicrosoftNode(words, op, inputs, outputs=outputs, fixed=tuple(inputs), **options), words + CHECK

    yield unsupported("the op is not imported", "Inverse", {"x": f32(3, 3)})
    a, b = f32(3, 4), f32(4, 5)
    yield unsupported("expects 'activation' to be one of Celu, Elu, HardSigmoid, LeakyRelu, ParametricSoftplus, Relu, ScaledTanh, Selu, Sigmoid, Softplus, Softsign, Tanh, ThresholdedRelu, got 'Gelu'",
                      "FusedGemm", {"a": a, "b": b}, activation="Gelu")
    yield wrong("expects attribute 'activation_alpha', got none", "FusedGemm", {"a": a, "b": b}, activation="LeakyRelu")
    image = {"x": f32(1, 2, 5, 5), "w": f32(3, 2, 3, 3)}
    yield unsupported("expects 'activation' to be one of Clip, HardSigmoid, HardSwish, LeakyRelu, Relu, Sigmoid, Tanh, got 'Elu'", "FusedConv", image, activation="Elu")
    yield wrong("expects 'activation_params' with 2 entries for 'Clip', got 1", "FusedConv", image, activation="Clip", activation_params=[1.0])
    yield wrong("expects input 3 of the shape 'f32[1,3,3,3]', got 'f32[1,3,1,1]'", "FusedConv", image | {"b": None, "z": f32(1, 3, 1, 1)})
    yield wrong("expects input 1 of the shape 'f32[7]', got 'f32[1]'", "BiasGelu", {"x": f32(2, 7), "b": f32(1)})
    rows = {"x": f32(2, 3, 7), "k": f32(2, 3, 7), "g": f32(7)}
    yield wrong("expects input 1 of the shape 'f32[2,3,7]', got 'f32[2,1,7]'", "SkipLayerNormalization", rows | {"k": f32(2, 1, 7)})
    yield wrong("expects an input of 2 or 3 dimensions, got 'f32[7]'", "SkipSimplifiedLayerNormalization", {name: f32(7) for name in "xkg"})
    yield unsupported("expects 'stash_type' to be 1, as f32 is kept, got 11", "SimplifiedLayerNormalization", {"x": f32(3, 7), "g": f32(7)}, stash_type=11)
    ids = whole(np.int32, 2, 3, low=0, high=4)
    yield wrong("expects 'segment_ids' and 'segment_embedding' together, got only input 1", "EmbedLayerNormalization",
                {"i": ids, "s": ids, "w": f32(5, 7), "p": f32(5, 7), "k": None, "g": f32(7), "b": f32(7)})
    yield wrong("expects a table of 2 dimensions as input 3, got 'f32[]'", "EmbedLayerNormalization", {"i": ids, "s": None, "w": f32(5, 7), "p": f32(), "k": None, "g": f32(7), "b": f32(7)})
    packed = {"a": f32(3, 32), "b": whole(np.uint8, 5, 2, 8), "s": f32(5, 2)}
    sizes = {"K": 32, "N": 5, "block_size": 16}
    yield unsupported("expects 'bits' to be 2, 4 or 8, got 3", "MatMulNBits", packed, bits=3, **sizes)
    yield wrong(f"expects 'N' from 1 to {2**48 // 48}, got {2**45}", "MatMulNBits", packed, **sizes | {"N": 2**45})
    yield wrong(f"expects 'K' from 1 to {2**45}, got {2**60}", "MatMulNBits", packed, **sizes | {"K": 2**60})
    yield unsupported("expects 'weight_prepacked' to be 0, as others are layouts of one GPU, got 2", "MatMulNBits", packed, weight_prepacked=2, **sizes)
    yield wrong("expects 'block_size' to be a power of 2 and at least 16, got 24", "MatMulNBits", packed, **sizes | {"block_size": 24})
    yield wrong("expects rows of 'K' = 32 elements, got 'f32[3,31]'", "MatMulNBits", packed | {"a": f32(3, 31)}, **sizes)
    yield wrong("expects input 1 of the shape 'u8[5,2,8]', got 'u8[5,2,4]'", "MatMulNBits", packed | {"b": whole(np.uint8, 5, 2, 4)}, **sizes)
    table = {"d": whole(np.uint8, 9, 16), "i": np.array([1], np.int64), "s": f32(9, 2)}
    yield unsupported("expects 'bits' to be 2, 4 or 8, got 5", "GatherBlockQuantized", table, bits=5, block_size=16)
    yield wrong("expects 'gather_axis' to be 0 with bytes, got 1", "GatherBlockQuantized", table, gather_axis=1, quantize_axis=0, block_size=16)
    yield wrong("expects 'gather_axis' and 'quantize_axis' to differ with bytes, got 0 for both", "GatherBlockQuantized", table, quantize_axis=0, block_size=16)
    yield unsupported("expects integers of 4 or 8 bits as input 0, got 'f8E4M3FN[9,16]'", "GatherBlockQuantized",
                      table | {"d": np.zeros((9, 16), helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT8E4M3FN))}, block_size=16)
    yield wrong("expects input 2 of the shape 'f32[9,2]', got 'f32[9,3]'", "GatherBlockQuantized", table | {"s": f32(9, 3)}, block_size=16)
    yield wrong("expects input 3 of the shape 'u8[9,1]', got 'u8[9,2]'", "GatherBlockQuantized", table | {"z": whole(np.uint8, 9, 2)}, block_size=16)
    x, s, z = whole(np.uint8, 3, 7), one(np.float32, 0.1), one(np.uint8, 3)
    yield wrong("expects 2 inputs and 3 for each tensor, its scale and zero point among them, got 4", "QLinearConcat", {"sy": s, "zy": z, "x": x, "s": s}, axis=0)
    yield wrong("expects inputs 1 and 2 of one type, got 'u8[]' and 'i8[3,7]'", "QLinearConcat", {"sy": s, "zy": z, "x": x.view(np.int8), "s": s, "z": one(np.int8, 3)}, axis=0)
    yield wrong("expects one scale as input 1, got 'f32[3]'", "QLinearAdd", {"a": x, "sa": f32(3), "za": z, "b": x, "sb": s, "zb": z, "sc": s})
    yield wrong("expects 'y_scale' with 'y_zero_point', got input 8 alone", "QGemm", {"a": x, "sa": s, "za": z, "b": x.T.copy(), "sb": s, "zb": z, "c": None, "sy": None, "zy": z})
    q, k, v = f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8)
    mha = {"q": q, "k": k, "v": v, "b": None, "m": None, "a": None, "pk": None, "pv": None}
    yield unsupported("expects no input 'past_sequence_length', as a cache is a tensor of its own, got one", "MultiHeadAttention", mha | {"n": one(np.int32, 1)}, num_heads=2)
    yield unsupported("expects no input 'cache_indirection', as a cache is a tensor of its own, got one", "MultiHeadAttention", mha | {"n": None, "i": whole(np.int32, 2, 1, 5)}, num_heads=2)
    yield unsupported("expects a mask with an end for each of 2 in the batch, or an end and a start, got 'i32[8]'", "MultiHeadAttention", mha | {"m": whole(np.int32, 8)}, num_heads=2)
    yield unsupported("expects a mask of 1 to 3 dimensions, got 'i32[2,1,9,9]'", "MultiHeadAttention", mha | {"m": whole(np.int32, 2, 1, 9, 9)}, num_heads=2)
    yield unsupported("expects input 'key' with a query of 3 dimensions, got none", "MultiHeadAttention", {"q": q}, num_heads=2)
    yield unsupported("expects as many new keys as places of the query with 'unidirectional', got 5 and 3", "MultiHeadAttention", mha, num_heads=2, unidirectional=1)
    yield unsupported("expects no input 'bias' with what is packed in 5 dimensions, got 'f32[24]'", "MultiHeadAttention", {"q": f32(2, 3, 2, 3, 4), "k": None, "v": None, "b": f32(24)}, num_heads=2)
    yield wrong("expects 'past_key' and 'past_value' together, got only input 6", "MultiHeadAttention", mha | {"pk": f32(2, 2, 4, 4)}, num_heads=2)
    yield wrong("expects sizes that 'num_heads' = 3 divides, got 8", "MultiHeadAttention", mha, num_heads=3)
    yield wrong("expects a bias of the scores for 5 places of dimension 3, got 'f32[1,1,3,4]'", "MultiHeadAttention", mha | {"a": f32(1, 1, 3, 4)}, num_heads=2)
    projected = {"x": f32(2, 3, 6), "w": f32(6, 24), "b": f32(24)}
    yield unsupported("expects 'do_rotary' to be 0, got 1", "Attention", projected, num_heads=2, do_rotary=1)
    yield unsupported("expects 'past_present_share_buffer' to be 0, got 1", "Attention", projected, num_heads=2, past_present_share_buffer=1)
    yield unsupported("expects no input 'past_sequence_length', as a cache is a tensor of its own, got one", "Attention", projected | {"m": None, "p": None, "a": None, "n": one(np.int32, 1)}, num_heads=2)
    yield wrong("expects 'qkv_hidden_sizes' with 3 sizes of at least 1, the first two equal, got [8, 6, 8]", "Attention", projected, num_heads=2, qkv_hidden_sizes=[8, 6, 8])
    turned = {"x": f32(2, 3, 8), "p": whole(np.int64, 2, 3, low=0, high=4), "c": f32(9, 2), "s": f32(9, 2)}
    yield unsupported("expects 'scale' to be 1, got 2.000000", "RotaryEmbedding", turned, scale=2.0)
    yield wrong("expects 'num_heads' with 'rotary_embedding_dim', got 4 alone", "RotaryEmbedding", turned, rotary_embedding_dim=4)
    grouped = {"q": f32(1, 3, 16), "k": f32(1, 3, 8), "v": f32(1, 3, 8), "pk": None, "pv": None, "n": np.array([2], np.int32), "t": np.array([3], np.int32)}
    heads = {"num_heads": 4, "kv_num_heads": 2}
    yield unsupported("expects 'k_quant_type' to be NONE, got 'PER_TENSOR'", "GroupQueryAttention", grouped, k_quant_type="PER_TENSOR", **heads)
    yield unsupported("expects no 'kv_cache_bit_width', got 8", "GroupQueryAttention", grouped, kv_cache_bit_width=8, **heads)
    yield unsupported("expects 'sliding_window_cache' to be 0, got 1", "GroupQueryAttention", grouped, sliding_window_cache=1, **heads)
    more = grouped | dict.fromkeys(("c", "s", "at", "a", "sink"))
    yield unsupported("expects no input 'k_scale', as the cache is not quantised, got 'f32[1]'", "GroupQueryAttention", more | {"ks": f32(1)}, **heads)
    yield unsupported("expects no input 'query_seqlens', as each query has all of its places, got 'i32[1]'", "GroupQueryAttention",
                      more | dict.fromkeys(("ks", "vs", "qn", "kn")) | {"ql": np.array([2], np.int32)}, **heads)
    yield unsupported("expects a cache of the query's elements: 'f32', got 'u8[1,2,5,4]'", "GroupQueryAttention",
                      grouped | {"pk": whole(np.uint8, 1, 2, 5, 4), "pv": whole(np.uint8, 1, 2, 5, 4)}, **heads)
    yield wrong("expects 'local_window_size' to be -1 with 'causal' = 0, got 3", "GroupQueryAttention", grouped, causal=0, local_window_size=3, **heads)
    yield wrong("expects 'num_heads' to be a multiple of 'kv_num_heads', both at least 1, got 4 and 3", "GroupQueryAttention", grouped, num_heads=4, kv_num_heads=3)
    yield wrong("expects 'qk_output' to be 0, 1 or 2, got 3", "GroupQueryAttention", grouped, qk_output=3, **heads)
    yield wrong("expects 'softcap' to be at least 0 and finite, got -1.000000", "GroupQueryAttention", grouped, softcap=-1.0, **heads)
    yield wrong("expects 'q_norm_weight' and 'k_norm_weight' together, got only input 14", "GroupQueryAttention", more | {"ks": None, "vs": None, "qn": f32(4)}, **heads)
    yield wrong("expects tables of 2 dimensions as inputs 7 and 8 with 'do_rotary', got none", "GroupQueryAttention", grouped, do_rotary=1, **heads)
    lstm = {"x": f32(3, 2, 5), "w": whole(np.int8, 1, 5, 16), "r": whole(np.int8, 1, 4, 16)} | dict.fromkeys("bnhcp") | {"ws": f32(1), "wz": np.zeros(1, np.int8), "rs": f32(1), "rz": np.zeros(1, np.int8)}
    yield wrong("expects input 1 of the shape 'i8[1,5,16]', got 'i8[1,5,12]'", "DynamicQuantizeLSTM", lstm | {"w": whole(np.int8, 1, 5, 12)}, hidden_size=4)
    yield wrong("expects input 8 of the shape 'f32[1]', got 'f32[2]'", "DynamicQuantizeLSTM", lstm | {"ws": f32(2)}, hidden_size=4)


def faults():
    """Pairs of a node whose call fails and the words of its message: a place that no row of a table has."""
    tables = {"w": f32(5, 7), "p": f32(5, 7), "k": None, "g": f32(7), "b": f32(7)}
    yield MicrosoftNode("a word outside", "EmbedLayerNormalization", {"i": np.array([[1, 5]], np.int32), "s": None} | tables), "index at [0, 1] is 5, allowed is [0, 5)"
    yield MicrosoftNode("a word before the first", "EmbedLayerNormalization", {"i": np.array([[1, -1]], np.int32), "s": None} | tables), "index at [0, 1] is -1, allowed is [0, 5)"
    yield MicrosoftNode("a place outside", "RotaryEmbedding", {"x": f32(1, 3, 8), "p": np.array([7], np.int64), "c": f32(9, 4), "s": f32(9, 4)}, fixed=("x", "c", "s")), "index at [0, 2] is 9, allowed is [0, 9)"
