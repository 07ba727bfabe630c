"""Nodes of ai.onnx.ml that other learning ends in: trees, support vectors, linear models, and what makes features for them."""
import numpy as np
from onnx import numpy_helper

DOMAIN = "ai.onnx.ml"


def grow_forest(random, targets, trees, depth, features, modes, votes, weigh):
    """The attributes nodes_* and a list of (tree, node, target, weight). `votes` is how many targets each leaf speaks of; None is one or two by chance."""
    nodes, voted = [], []
    for tree in range(trees):
        own = []

        def grow(left):
            at = len(own)
            own.append(None)
            if left == 0 or (at and random.random() < 0.2):
                own[at] = (tree, at, 0, "LEAF", 0.0, 0, 0, 0)
                spoken = random.permutation(targets)[:votes or random.integers(1, 3)]
                voted.extend((tree, at, int(target), float(weigh())) for target in sorted(spoken))
                return at
            feature, mode, split, missing = int(random.integers(features)), str(random.choice(modes)), float(random.integers(-2, 3)) / 2, int(random.integers(2))
            ways = grow(left - 1), grow(left - 1)
            own[at] = (tree, at, feature, mode, split, *ways, missing)
            return at

        grow(depth)
        nodes += own
    names = "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true"
    return {f"nodes_{name}": list(values) for name, values in zip(names, zip(*nodes))}, voted


def votes_of(kind, voted):
    trees, nodes, targets, weights = zip(*voted)
    return {f"{kind}_treeids": trees, f"{kind}_nodeids": nodes, f"{kind}_ids": targets, f"{kind}_weights": weights}


def forests(Node, random):
    all_modes = [f"BRANCH_{mode}" for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]
    normal, share = random.standard_normal, random.random

    def rows(features, kind=np.float32):
        data = (random.integers(-2, 3, (11, features)) / 2).astype(kind)
        if kind in (np.float32, np.float64):
            data[0, 0] = np.nan
        return data

    for title, targets, votes, kind, modes, options in (
            ("a sum", 1, 1, np.float32, ["BRANCH_LEQ"], {}), ("all modes", 3, 1, np.float32, all_modes, {}), ("leaves of all targets", 3, 3, np.float32, ["BRANCH_LT"], {}),
            ("leaves of some targets", 4, None, np.float32, all_modes, {}), ("of doubles", 2, 1, np.float64, all_modes, {}), ("averaged", 2, 2, np.float32, ["BRANCH_GTE"], {"aggregate_function": "AVERAGE"}),
            ("the least", 2, 1, np.float32, ["BRANCH_GT"], {"aggregate_function": "MIN"}), ("the greatest", 3, 3, np.float32, ["BRANCH_LEQ"], {"aggregate_function": "MAX"}),
            ("with base values", 2, 1, np.float32, ["BRANCH_LEQ"], {"base_values": [0.5, -2.0]}), ("with one base value, averaged", 1, 1, np.float32, ["BRANCH_LEQ"], {"base_values": [0.75], "aggregate_function": "AVERAGE"}),
            ("shares", 3, 3, np.float32, ["BRANCH_LEQ"], {"post_transform": "SOFTMAX"}), ("logistic", 2, 1, np.float32, ["BRANCH_LEQ"], {"post_transform": "LOGISTIC"}),
            ("shares of what is not 0", 4, None, np.float32, ["BRANCH_LEQ"], {"post_transform": "SOFTMAX_ZERO"})):
        nodes, voted = grow_forest(random, targets, 5, 4, 3, modes, votes, normal)
        if title not in ("all modes", "of doubles"):
            del nodes["nodes_missing_value_tracks_true"]
        yield Node(f"regression by trees, {title}", "TreeEnsembleRegressor", {"x": rows(3, kind)}, domain=DOMAIN, opset=3 if kind == np.float64 else 1, terms=16, n_targets=targets, **nodes,
                   **votes_of("target", voted), **options)
    nodes, voted = grow_forest(random, 2, 4, 3, 3, ["BRANCH_LEQ"], 2, lambda: share() / 4)
    yield Node("regression by trees, probit", "TreeEnsembleRegressor", {"x": rows(3)}, domain=DOMAIN, opset=1, terms=64, n_targets=2, post_transform="PROBIT", **nodes, **votes_of("target", voted))
    nodes, voted = grow_forest(random, 2, 4, 3, 3, all_modes, 1, normal)
    tensors = {"nodes_values_as_tensor": numpy_helper.from_array(np.array(nodes.pop("nodes_values")) / 3 * 3)}
    ballots = votes_of("target", voted)
    tensors["target_weights_as_tensor"] = numpy_helper.from_array(np.array(ballots.pop("target_weights")))
    yield Node("regression by trees, all in doubles", "TreeEnsembleRegressor", {"x": rows(3, np.float64)}, domain=DOMAIN, opset=3, terms=16, n_targets=2, **nodes, **ballots, **tensors)
    numbers, names = {"classlabels_int64s": [7, -3, 12, 0]}, {"classlabels_strings": ["no", "yes", "perhaps", "ünsure"]}
    for title, classes, votes, labels, weigh, kind, options in (
            ("leaves of all classes", 3, 3, numbers, share, np.float32, {}), ("leaves of one class", 4, 1, names, normal, np.float32, {}), ("leaves of some classes", 4, None, numbers, normal, np.float32, {}),
            ("with base values", 3, 1, numbers, normal, np.float32, {"base_values": [0.5, 1.0, -0.5]}), ("shares", 3, 3, names, normal, np.float32, {"post_transform": "SOFTMAX"}),
            ("logistic", 4, 1, numbers, normal, np.float32, {"post_transform": "LOGISTIC"}), ("of integers", 3, 3, names, share, np.int64, {}), ("of narrow integers", 3, 1, numbers, normal, np.int32, {}),
            ("of doubles", 3, 3, numbers, share, np.float64, {})):
        nodes, voted = grow_forest(random, classes, 5, 4, 3, all_modes, votes, weigh)
        own = {name: values[:classes] for name, values in labels.items()}
        yield Node(f"classes by trees, {title}", "TreeEnsembleClassifier", {"x": rows(3, kind)}, domain=DOMAIN, opset=1, terms=16, outputs=2, **nodes, **votes_of("class", voted), **own, **options)
    for labels, base in ((numbers, []), (names, [0.125])):
        own = {name: values[:2] for name, values in labels.items()}
        for weights, weigh in (("shares", lambda: share() / 4), ("weights", normal)):
            for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
                nodes, voted = grow_forest(random, 1, 4, 3, 3, ["BRANCH_LEQ"], 1, weigh)
                yield Node(f"two classes by trees of {weights}, {transform}, {len(base)} base values, {next(iter(own))}", "TreeEnsembleClassifier", {"x": rows(3)}, domain=DOMAIN, opset=3,
                           terms=16, outputs=2, post_transform=transform, **nodes, **votes_of("class", voted), **own, **({"base_values": base} if base else {}))
    nodes, voted = grow_forest(random, 1, 4, 3, 3, ["BRANCH_LEQ"], 1, normal)
    yield Node("two classes by trees that vote for the second", "TreeEnsembleClassifier", {"x": rows(3)}, domain=DOMAIN, opset=3, terms=16, outputs=2, classlabels_int64s=[5, 4], **nodes,
               **votes_of("class", [(tree, node, 1, weight) for tree, node, _, weight in voted]))
    yield Node("one class by trees", "TreeEnsembleClassifier", {"x": rows(3)}, domain=DOMAIN, opset=3, terms=16, outputs=2, classlabels_int64s=[1], **nodes, **votes_of("class", voted))


def support_vectors(Node, random):
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    flat = lambda *shape: (random.integers(-8, 9, shape) / 8).ravel().tolist()
    x = normal(9, 4)
    for kernel, parameters in (("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.5, 0.25, 2.0]), ("POLY", [0.5, 0.25, 3.0]), ("RBF", [0.25, 0.0, 0.0]), ("SIGMOID", [0.5, -0.25, 0.0])):
        options = {"kernel_type": kernel, "kernel_params": parameters}
        yield Node(f"regression by support vectors, {kernel} {parameters[2:]}", "SVMRegressor", {"x": x}, domain=DOMAIN, opset=1, terms=64, n_supports=5, support_vectors=flat(5, 4),
                   coefficients=flat(5), rho=[0.3], **options)
        for classes in (2, 4):
            pairs = classes * (classes - 1) // 2
            per_class = [3, 1, 2, 4][:classes]
            common = dict(vectors_per_class=per_class, support_vectors=flat(sum(per_class), 4), coefficients=flat(classes - 1, sum(per_class)), rho=flat(pairs), **options)
            yield Node(f"{classes} classes by support vectors, {kernel} {parameters[2:]}", "SVMClassifier", {"x": x}, domain=DOMAIN, opset=1, terms=64, outputs=2,
                       classlabels_ints=[4, -1, 9, 2][:classes], **common)
            if kernel == "RBF":
                yield Node(f"shares of {classes} classes by support vectors", "SVMClassifier", {"x": x}, domain=DOMAIN, opset=1, terms=1 << 14, outputs=2,
                           classlabels_strings=["a", "b", "c", "d"][:classes], prob_a=(-1 - random.random(pairs)).tolist(), prob_b=flat(pairs), **common)
                for transform in ("LOGISTIC", "SOFTMAX"):
                    yield Node(f"{transform} of {classes} classes by support vectors", "SVMClassifier", {"x": x}, domain=DOMAIN, opset=1, terms=64, outputs=2, classlabels_ints=[4, -1, 9, 2][:classes],
                               post_transform=transform, **common)
    yield Node("regression by one vector", "SVMRegressor", {"x": x}, domain=DOMAIN, opset=1, terms=64, n_supports=0, coefficients=flat(4), rho=[0.5], kernel_params=[0.0, 0.0, 0.0])
    yield Node("inside or outside by support vectors", "SVMRegressor", {"x": x}, domain=DOMAIN, opset=1, terms=64, n_supports=3, support_vectors=flat(3, 4), coefficients=flat(3), rho=[0.1],
               kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], one_class=1)
    yield Node("classes by a vector each", "SVMClassifier", {"x": x.astype(np.float64)}, domain=DOMAIN, opset=1, terms=64, outputs=2, classlabels_ints=[4, -1, 9], coefficients=flat(3, 4), rho=[0.5],
               kernel_params=[0.0, 0.0, 0.0])


def linear_models(Node, random):
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x = normal(9, 4)
    for targets in (1, 3):
        for intercepts in ({}, {"intercepts": normal(targets).tolist()}):
            yield Node(f"linear regression of {targets} targets, {len(intercepts)}", "LinearRegressor", {"x": x}, domain=DOMAIN, opset=1, terms=32, targets=targets,
                       coefficients=normal(4 * targets).tolist(), **intercepts)
    yield Node("linear regression of one row", "LinearRegressor", {"x": x[0]}, domain=DOMAIN, opset=1, terms=32, targets=2, coefficients=normal(8).tolist())
    for kind in (np.float32, np.float64, np.int64, np.int32):
        data = (4 * x).astype(kind)
        yield Node(f"linear classes of {kind.__name__}", "LinearClassifier", {"x": data}, domain=DOMAIN, opset=1, terms=64, outputs=2, classlabels_ints=[3, 1, 4], coefficients=normal(12).tolist(),
                   intercepts=normal(3).tolist())
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        for classes, targets in ((3, 3), (2, 2), (2, 1)):
            yield Node(f"{classes} linear classes of {targets} scores, {transform}", "LinearClassifier", {"x": x}, domain=DOMAIN, opset=1, terms=64, outputs=2, post_transform=transform,
                       coefficients=normal(4 * targets).tolist(), intercepts=normal(targets).tolist(), classlabels_strings=["x", "y", "z"][:classes])


def features(Node, random):
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)
    x, whole = normal(5, 4), random.integers(-3, 4, (5, 4))
    for kind in (np.float32, np.float64, np.int64, np.int32):
        data = (4 * x).astype(kind)
        yield Node(f"scaled {kind.__name__}", "Scaler", {"x": data}, domain=DOMAIN, opset=1, terms=8, offset=normal(4).tolist(), scale=normal(4).tolist())
        yield Node(f"scaled {kind.__name__} by one", "Scaler", {"x": data}, domain=DOMAIN, opset=1, terms=8, offset=[0.5], scale=[0.25])
        zeros = np.where(np.arange(5)[:, None] == 2, 0, abs(data)).astype(kind)
        for norm in ("MAX", "L1", "L2"):
            yield Node(f"rows of {kind.__name__} by their {norm}", "Normalizer", {"x": zeros if norm == "MAX" else np.where(zeros == 0, 0, data).astype(kind)}, domain=DOMAIN, opset=1, terms=16, norm=norm)
    holes = np.where(x > 0.5, np.nan, np.round(x)).astype(np.float32)
    yield Node("NaN filled in", "Imputer", {"x": holes}, domain=DOMAIN, opset=1, imputed_value_floats=[1.5, -2.0, 0.0, 7.0], replaced_value_float=float("nan"))
    yield Node("zeros filled in", "Imputer", {"x": holes}, domain=DOMAIN, opset=1, imputed_value_floats=[2.5], replaced_value_float=0.0)
    yield Node("integers filled in", "Imputer", {"x": whole}, domain=DOMAIN, opset=1, imputed_value_int64s=[9, 8, 7, 6], replaced_value_int64=-1)
    yield Node("integers filled in by one", "Imputer", {"x": whole}, domain=DOMAIN, opset=1, imputed_value_int64s=[1 << 40], replaced_value_int64=2)
    for title, data, categories in (("integers", whole, {"cats_int64s": [2, -3, 0]}), ("floats", 2 * x, {"cats_int64s": [1, -1, 0]}), ("doubles", x.astype(np.float64), {"cats_int64s": [0]}),
                                    ("strings", np.array([["a", "b"], ["", "a"], ["c", "ü"]], object), {"cats_strings": ["ü", "a", "z"]})):
        yield Node(f"one hot {title}", "OneHotEncoder", {"x": data}, domain=DOMAIN, opset=1, **categories)
    yield Node("one hot, all known", "OneHotEncoder", {"x": np.array([3, 1, 2])}, domain=DOMAIN, opset=1, cats_int64s=[1, 2, 3], zeros=0)
    for kind in (np.float32, np.int64):
        parts = {name: (4 * normal(5, size)).astype(kind) for name, size in (("x", 3), ("z", 2), ("v", 4))}
        yield Node(f"features of {kind.__name__} side by side", "FeatureVectorizer", parts, domain=DOMAIN, opset=1, inputdimensions=[2, 3, 4], fixed=("x", "z", "v"))
    yield Node("categories of strings", "CategoryMapper", {"x": np.array([["a", "b"], ["q", ""]], object)}, domain=DOMAIN, opset=1, cats_strings=["b", "", "a"], cats_int64s=[5, -7, 0], default_int64=3)
    yield Node("categories of integers", "CategoryMapper", {"x": np.array([5, -7, 4, 0])}, domain=DOMAIN, opset=1, cats_strings=["b", "", "a"], cats_int64s=[5, -7, 0], default_string="none")


def learned(Node):
    random = np.random.default_rng(53)
    for part in (forests, support_vectors, linear_models, features):
        yield from part(Node, random)
