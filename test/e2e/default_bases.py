"""Small nodes that leave what is optional absent, for run_defaults.py: a list for each op, tried in order until each default has been seen.

Inputs are in the schema's order, None where one is absent. `give` has, by the schema's name, what an optional input is given to see that it matters."""
import ml_dtypes
import numpy as np
from onnx import TensorProto


class Base:
    def __init__(self, *inputs, give=None, outputs=1, terms=64, **attributes):
        self.inputs, self.give, self.outputs, self.terms, self.attributes = list(inputs), give or {}, outputs, terms, attributes


random = np.random.default_rng(29)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)


def whole(kind, *shape):
    info = np.iinfo(kind)
    return random.integers(info.min, info.max, shape, endpoint=True).astype(kind)


X3, X4 = normal(2, 3, 4), normal(2, 3, 5, 7)
SQUARE = normal(2, 3, 6, 6)
SIX = np.arange(6, dtype=np.float32)
SCALE, ONE = np.float32(0.5), np.float32(1)
U8, I8 = whole(np.uint8, 2, 4, 6, 6), whole(np.int8, 4, 4, 3, 3)
FILTER = whole(np.uint8, 4, 4, 3, 3)
BOXES = np.array([[[0, 0, 1, 1], [0, 0.3, 1, 1.3], [0, 0.6, 1, 1.6], [0, 5, 1, 6], [0, 5.01, 1, 6.02]]], np.float32)
SCORES = f32(0.9, 0.75, 0.6, -0.5, 0.3).reshape(1, 1, 5)
MANY = i64(5)
REDUCED = (Base(X3, give={"axes": i64(1)}), Base(X3, i64()))
WINDOW = (Base(np.int64(7)),)


def recurrent(gates, cells=False):
    own = (normal(3, 2, 4), normal(1, 5 * gates, 4), normal(1, 5 * gates, 5))
    give = {"B": normal(1, 10 * gates), "sequence_lens": np.array([1, 3], np.int32), "initial_h": normal(1, 2, 5)}
    if cells:
        give |= {"initial_c": normal(1, 2, 5), "P": normal(1, 15)}
    return (Base(*own, give=give, outputs=3 if cells else 2, hidden_size=5), Base(*own, give["B"], outputs=2, hidden_size=5), Base(*own, outputs=2),
            Base(np.ascontiguousarray(own[0][:2]), normal(1, 5 * gates, 4), own[2], outputs=2),
            Base(normal(3, 2, 4), normal(2, 5 * gates, 4), normal(2, 5 * gates, 5), outputs=2, hidden_size=5, direction="bidirectional"),
            Base(*own, outputs=2, hidden_size=5, activations=["LeakyRelu"] if gates == 1 else ["HardSigmoid", "LeakyRelu", "LeakyRelu"][:3 if cells else 2],
                 give={"activation_alpha": [[0.5] * 3, [0.5] * 2, [0.5]]}),
            Base(*own, outputs=2, hidden_size=5, activations=["HardSigmoid"] * (3 if cells else 2 if gates == 3 else 1), give={"activation_beta": [[0.25] * 3, [0.25] * 2, [0.25]]}))


def pooled(**attributes):
    return Base(SQUARE, kernel_shape=[2, 2], **attributes), Base(SQUARE, kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1], **attributes), Base(
        SQUARE[:, :, :5], kernel_shape=[2, 2], strides=[2, 3], **attributes)


BASES = {
    "AffineGrid": [Base(normal(2, 2, 3), i64(2, 3, 4, 5))],
    "ArgMax": [Base(np.round(X3)), Base(np.zeros((3, 4), np.float32))],
    "ArgMin": [Base(np.round(X3)), Base(np.zeros((3, 4), np.float32))],
    "Attention": [Base(normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8), outputs=1, give={"attn_mask": normal(4, 5)}),
                  Base(normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8), give={"past_key": (normal(2, 3, 2, 8), normal(2, 3, 2, 8)), "past_value": []}),
                  Base(normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8), None, normal(2, 3, 2, 8), normal(2, 3, 2, 8), outputs=4, softcap=1.0),
                  Base(normal(2, 3, 4, 8), normal(2, 3, 5, 8), normal(2, 3, 5, 8), give={"nonpad_kv_seqlen": i64(2, 4)})],
    "AveragePool": pooled(),
    "BatchNormalization": [Base(X4, normal(3), normal(3), normal(3), f32(1e-5, 2e-5, 1e-6)), Base(X4, normal(3), normal(3), normal(3), f32(1, 2, 3), outputs=3, training_mode=1)],
    "BlackmanWindow": WINDOW, "HammingWindow": WINDOW, "HannWindow": WINDOW,
    "Cast": [Base(f32(1e6, -1e6, 500, 1.3), to=TensorProto.FLOAT8E4M3FN)],
    "CastLike": [Base(f32(1e6, -1e6, 500, 1.3), f32(1).astype(ml_dtypes.float8_e4m3fn))],
    "CenterCropPad": [Base(normal(3, 4), i64(2, 6)), Base(normal(4, 4), i64(2, 3))],
    "Clip": [Base(X3, give={"min": np.float32(-0.5), "max": np.float32(0.5)})],
    "Col2Im": [Base(normal(1, 8, 4), i64(5, 5), i64(2, 2), strides=[2, 2]), Base(normal(1, 8, 4), i64(4, 4), i64(2, 2), strides=[2, 2], give={"pads": [[1, 0, 0, 0]]})],
    "Compress": [Base(normal(3, 3), np.array([True, False, True]))],
    "ConstantOfShape": [Base(i64(2, 3))],
    "Conv": [Base(SQUARE, normal(4, 3, 2, 2), give={"B": normal(4)}), Base(SQUARE, normal(3, 3, 2, 2))],
    "ConvInteger": [Base(U8, FILTER, give={"x_zero_point": np.uint8(7), "w_zero_point": np.uint8(5)})],
    "ConvTranspose": [Base(SQUARE, normal(3, 2, 2, 2), give={"B": normal(2)}), Base(SQUARE, normal(3, 2, 2, 2), strides=[2, 2])],
    "CumProd": [Base(X3, np.int64(1))], "CumSum": [Base(X3, np.int64(1))],
    "DFT": [Base(normal(2, 6, 5, 2), give={"dft_length": np.int64(4), "axis": np.int64(1)}), Base(normal(2, 6, 5, 1))],
    "DeformConv": [Base(SQUARE, normal(4, 3, 2, 2), normal(2, 8, 5, 5), give={"B": normal(4), "mask": normal(2, 4, 5, 5)})],
    "DepthToSpace": [Base(normal(1, 8, 2, 3), blocksize=2)],
    "DequantizeLinear": [Base(whole(np.uint8, 3, 3), SCALE, give={"x_zero_point": np.uint8(7)}), Base(whole(np.int8, 3, 3), f32(0.1, 0.2, 0.4))],
    "QuantizeLinear": [Base(5 * normal(3, 3), SCALE, give={"y_zero_point": np.uint8(7)}), Base(5 * normal(3, 3), f32(0.1, 0.2, 0.4)),
                       Base(900 * normal(3, 3), SCALE, f32(0).astype(ml_dtypes.float8_e4m3fn)[0])],
    "Dropout": [Base(X3, give={"training_mode": np.array(True)})],
    "EyeLike": [Base(normal(3, 4)), Base(whole(np.uint8, 3, 4))],
    "Gather": [Base(normal(3, 3), i64(1, 0))], "GatherElements": [Base(normal(3, 3), i64(1, 0, 2).reshape(1, 3))],
    "GatherND": [Base(normal(2, 2, 2), np.array([[[0], [1]], [[1], [0]]], np.int64))],
    "Gemm": [Base(normal(4, 4), normal(4, 4), normal(4), give={}), Base(normal(4, 4), normal(4, 4), give={"C": normal(4)})],
    "GridSample": [Base(X4, random.uniform(-1.4, 1.4, (2, 3, 4, 2)).astype(np.float32))],
    "GroupNormalization": [Base(1e-3 * normal(2, 4, 5), normal(4), normal(4), num_groups=2)],
    "InstanceNormalization": [Base(1e-3 * X4, normal(3), normal(3))],
    "IsInf": [Base(f32(np.inf, -np.inf, 1, np.nan))],
    "LRN": [Base(90 * X4, size=3)],
    "LayerNormalization": [Base(1e-3 * normal(3, 4, 4), normal(4), give={"B": normal(4)}), Base(normal(4, 4, 4), ONE)],
    "RMSNormalization": [Base(1e-3 * normal(3, 4, 4), normal(4)), Base(normal(4, 4, 4), normal(1))],
    "LSTM": recurrent(4, cells=True), "GRU": recurrent(3), "RNN": recurrent(1),
    "LpPool": pooled(), "MaxPool": (*pooled(), Base(SQUARE, kernel_shape=[2, 2], outputs=2)),
    "MatMulInteger": [Base(whole(np.uint8, 3, 4), whole(np.uint8, 4, 2), give={"a_zero_point": np.uint8(7), "b_zero_point": np.uint8(5)})],
    "MaxRoiPool": [Base(SQUARE, np.array([[0, 0, 0, 2, 2], [1, 1, 1, 3, 2]], np.float32), pooled_shape=[2, 2])],
    "MaxUnpool": [Base(f32(1, 2, 3, 4).reshape(1, 1, 2, 2), i64(0, 1, 4, 3).reshape(1, 1, 2, 2), kernel_shape=[2, 2], give={"output_shape": i64(1, 1, 3, 5)}),
                  Base(f32(1, 2, 3, 4).reshape(1, 1, 2, 2), i64(0, 2, 6, 8).reshape(1, 1, 2, 2), kernel_shape=[2, 2], strides=[2, 2], give={"pads": [[0, 0, 1, 1], [1, 1, 0, 0]]})],
    "MeanVarianceNormalization": [Base(X4)],
    "MelWeightMatrix": [Base(np.int64(6), np.int64(16), np.int64(8000), np.float32(100), np.float32(3000))],
    "Mod": [Base(np.array([-7, 7, -8], np.int32), np.array([3, -3, 5], np.int32))],
    "NegativeLogLikelihoodLoss": [Base(normal(4, 3), i64(0, 2, 1, 1), give={"weight": f32(1, 2, 3)})],
    "SoftmaxCrossEntropyLoss": [Base(normal(4, 3), i64(0, 2, 1, 1), give={"weights": f32(1, 2, 3)})],
    "NonMaxSuppression": [Base(BOXES, SCORES, MANY, give={"iou_threshold": [f32(0.5), f32(0.1)], "score_threshold": f32(0.5)}), Base(BOXES, SCORES, give={
        "max_output_boxes_per_class": MANY}), Base(
        np.array([[[0, 0, 1, 1], [2, 2, 9, 9]]], np.float32), f32(0.9, 0.8).reshape(1, 1, 2), MANY)],
    "OneHot": [Base(i64(1, 1), np.int64(2), f32(0, 1))],
    "Pad": [Base(normal(3, 4), i64(1, 0, 0, 2), give={"constant_value": np.float32(3)}), Base(normal(3, 4), i64(1, 0, 0, 2), give={"axes": i64(1, 0)})],
    "QLinearConv": [Base(U8, SCALE, np.uint8(7), FILTER, SCALE, np.uint8(5), np.float32(900), np.uint8(128), give={"B": whole(np.int32, 4) // 2**18})],
    "Reshape": [Base(normal(3, 0), i64(0, 0))],
    "Resize": [Base(SQUARE, None, f32(1, 1, 1.5, 0.7)), Base(SQUARE, None, None, i64(2, 3, 9, 4)), Base(SQUARE, None, f32(1, 1, 1.5, 0.7), mode="cubic"),
               Base(SQUARE, None, f32(1, 1, 1.5, 0.7), mode="linear"), Base(SQUARE, f32(0, 0, -0.5, -0.5, 1, 1, 1.5, 1.5), None, i64(2, 3, 9, 4), coordinate_transformation_mode="tf_crop_and_resize"),
               Base(SQUARE, None, f32(1, 1, 2, 1), give={"axes": [[0, 1, 3, 2]]})],
    "ReverseSequence": [Base(normal(3, 3, 3), i64(1, 2, 3))],
    "RoiAlign": [Base(SQUARE, np.array([[0.3, 0.4, 3.1, 4], [1, 1, 4, 3.3]], np.float32), i64(0, 1))],
    "RotaryEmbedding": [Base(normal(2, 3, 4, 8), normal(2, 4, 4), normal(2, 4, 4)), Base(normal(2, 4, 24), normal(2, 4, 4), normal(2, 4, 4), num_heads=3),
                        Base(normal(2, 3, 4, 8), normal(2, 4, 2), normal(2, 4, 2), rotary_embedding_dim=4)],
    "STFT": [Base(normal(1, 32, 1), np.int64(4), None, np.int64(8), give={"window": abs(normal(8))}), Base(normal(1, 32, 1), np.int64(4), abs(normal(8)))],
    "ScatterElements": [Base(normal(3, 3), i64(1, 0, 2).reshape(1, 3), normal(1, 3))],
    "ScatterND": [Base(normal(4), i64(1, 3).reshape(2, 1), normal(2))],
    "Scatter": [Base(normal(3, 3), i64(1, 0, 2).reshape(1, 3), normal(1, 3))],
    "Upsample": [Base(SQUARE, f32(1, 1, 2, 2))],
    "Slice": [Base(normal(5, 6), i64(1, 2), i64(4, 5), give={"axes": i64(1, 0)}), Base(normal(5, 6), i64(1, 2), i64(4, 5), i64(0, 1), give={"steps": i64(2, 1)})],
    "Split": [Base(normal(4, 4), give={"split": i64(1, 3)}, outputs=2, num_outputs=2)],
    "Squeeze": [Base(normal(1, 3, 1), give={"axes": i64(0)})],
    "StringSplit": [Base(np.array(["a b c", "d,e f"], object), outputs=2)],
    "TensorScatter": [Base(normal(2, 3, 4, 4), normal(2, 3, 1, 4), give={"write_indices": i64(1, 2)}),
                      Base(normal(2, 4, 4, 4), normal(2, 4, 4, 4), i64(1, 2), mode="circular")],
    "TfIdfVectorizer": [Base(np.array([1, 2, 1, 3], np.int32), mode="TFIDF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1, 2],
                             pool_int64s=[1, 2, 3])],
    "TopK": [Base(normal(4, 4), i64(2), outputs=2)],
    "Trilu": [Base(normal(4, 4), give={"k": np.int64(1)})],
    "Unique": [Base(f32(3, 1, 3, 2)), Base(f32(3, 1, 3, 1).reshape(2, 2), outputs=1)],
    "Transpose": [Base(normal(3, 4, 2))],
    "Swish": [Base(X3)],
    "CategoryMapper": [Base(i64(1, 7), cats_int64s=[1, 2], cats_strings=["a", "b"]), Base(np.array(["a", "z"], object), cats_int64s=[1, 2], cats_strings=["a", "b"])],
    "Imputer": [Base(f32(0, 1, 2).reshape(1, 3), imputed_value_floats=[5.0]), Base(i64(0, 1, 2).reshape(1, 3), imputed_value_int64s=[5])],
    "LabelEncoder": [Base(i64(1, 7), keys_int64s=[1, 2], values_floats=[0.5, 1.5]), Base(f32(1, 7), keys_floats=[1.0, 2.0], values_int64s=[4, 5]),
                     Base(i64(1, 7), keys_int64s=[1, 2], values_strings=["a", "b"])],
    "LinearClassifier": [Base(normal(3, 2), coefficients=[1.0, 2.0, -1.0, 0.5], classlabels_ints=[4, 5], outputs=2, give={"intercepts": [[0.5, 0.25]]})],
    "Scaler": [Base(normal(2, 3), offset=[0.5]), Base(normal(2, 3), scale=[0.5])],
}
for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
    BASES["Reduce" + op] = [Base(abs(X3) + 0.1, give={"axes": i64(1)}), Base(abs(X3) + 0.1, i64())]

# What other values an attribute of text, or a list, may have.
TEXTS = {"mode": ("linear", "cubic", "nearest", "CRD", "reflect", "edge", "wrap", "circular", "max", "bilinear", "IDF", "TF"), "auto_pad": ("SAME_UPPER", "SAME_LOWER", "VALID"),
         "direction": ("reverse", "bidirectional"), "reduction": ("none", "sum", "mean", "add", "mul", "max", "min"), "approximate": ("tanh",),
         "padding_mode": ("border", "reflection"), "nearest_mode": ("round_prefer_ceil", "floor", "ceil"),
         "coordinate_transformation_mode": ("asymmetric", "align_corners", "output_half_pixel", "pytorch_half_pixel"),
         "keep_aspect_ratio_policy": ("not_larger", "not_smaller"), "round_mode": ("down", "nearest"), "case_change_action": ("UPPER", "LOWER"), "delimiter": (",",),
         "norm": ("L1", "L2"), "post_transform": ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"), "aggregate_function": ("AVERAGE", "MIN", "MAX"),
         "kernel_type": ("RBF", "POLY", "SIGMOID"), "default_string": ("other",), "update_rule": ("linear", "gated", "delta"), "activation": ("silu", "swish")}
LISTS = {"activations": (["Relu"], ["Sigmoid", "Relu"], ["Sigmoid", "Relu", "Relu"], ["Relu", "Relu"])}
