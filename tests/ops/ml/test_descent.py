"""Forests and labels as machine code: random ones of every kind against the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

import ingot
from ingot.dtypes import Array, DType
from ingot.errors import CompileError
from ingot.ops.ml.descent import scores
from ingot.ops.ml.forest import aggregated
from ingot.ops.ml.tree_ensemble import forest_of_nodes
from ingot.prim.descent import Descent
from ingot.prim.evaluate import evaluate
from ingot.prim.gradient import gradients
from ingot.prim.tensor import Parameter
from ingot.prim.verify import verify
from ingot.prim.walk import in_order
from ops.ml.one_node import loaded, tensor, written

FEATURES = 5
FLOAT, DOUBLE, HALF = 1, 11, 10
DEFAULTS: dict[str, Any] = {"membership_values": None, "n_targets": None, "nodes_missing_value_tracks_true": None}


def forest(
    random: np.random.Generator,
    trees: int,
    depth: int,
    *,
    modes: tuple[int, ...] = (0,),
    targets: int = 1,
    by_tree: bool = True,
    missing: bool = False,
    real: Any = np.float32,
) -> dict[str, Any]:
    """The attributes of TreeEnsemble for random trees, some of them a single leaf's."""
    nodes: list[list[float]] = []
    votes: list[tuple[int, float]] = []
    members: list[float] = []

    def leaf(tree: int) -> tuple[int, int]:
        target = tree % targets if by_tree else int(random.integers(targets))
        votes.append((target, float(random.normal())))
        return len(votes) - 1, 1

    def grow(tree: int, level: int) -> tuple[int, int]:
        if level == depth or (level and random.random() < 0.2):
            return leaf(tree)
        place = len(nodes)
        split = float(random.choice([-1, -0.0, 0.3, 0.5, 1, 2, np.inf, -np.inf]))
        asked = int(random.integers(FEATURES)), int(random.choice(modes)), split, int(random.integers(2))
        nodes.append([*asked, 0, 0, 0, 0])
        nodes[place][4:6] = grow(tree, level + 1)
        nodes[place][6:8] = grow(tree, level + 1)
        return place, 0

    roots = [grow(tree, 0)[0] for tree in range(trees)]
    for node in nodes:
        if node[1] == 6:
            members += [*random.choice(range(-3, 4), random.integers(4), replace=False), np.nan]
    table = np.array(nodes)
    return {
        "tree_roots": roots,
        "nodes_featureids": table[:, 0].astype(int).tolist(),
        "nodes_modes": tensor(table[:, 1].astype(np.uint8)),
        "nodes_splits": tensor(table[:, 2].astype(real)),
        **({"nodes_missing_value_tracks_true": table[:, 3].astype(int).tolist()} if missing else {}),
        "nodes_truenodeids": table[:, 4].astype(int).tolist(),
        "nodes_trueleafs": table[:, 5].astype(int).tolist(),
        "nodes_falsenodeids": table[:, 6].astype(int).tolist(),
        "nodes_falseleafs": table[:, 7].astype(int).tolist(),
        "leaf_targetids": [target for target, _ in votes],
        "leaf_weights": tensor(np.array([weight for _, weight in votes], real)),
        "n_targets": targets,
        **({"membership_values": tensor(np.array(members, real))} if 6 in modes and members else {}),
    }


def rows(random: np.random.Generator, count: int, dtype: Any = np.float32) -> Array:
    """Numbers of which many are equal to splits, and some are none at all."""
    x = random.choice([-3, -1, -0.0, 0, 0.3, 0.5, 1, 2, 3, np.inf, -np.inf, np.nan], (count, FEATURES))
    return np.where(random.random(x.shape) < 0.3, random.normal(size=x.shape), x).astype(dtype)


def agree(operator: str, attributes: dict[str, Any], *tables: Array, kind: int = FLOAT, outputs: int = 1) -> list[str]:
    """AssertionError unless machine code gives what the reference does; why what is not compiled is not."""
    version = 5 if operator == "TreeEnsemble" else 3
    model = loaded(written(operator, ["x"], {"x": (kind, ("n", FEATURES))}, outputs, "ai.onnx.ml", version, attributes))
    expected = ingot.Session(model, providers=["reference"])
    compiled = ingot.Session(model, providers=["cpu", "reference"], fallback=False)
    for x in tables:
        for one, other in zip(compiled.run(None, {"x": x}), expected.run(None, {"x": x}), strict=True):
            assert one.dtype == other.dtype
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=1e-6 if one.itemsize > 2 else 1e-3, atol=1e-6)
            else:
                np.testing.assert_array_equal(one, other)
    assert compiled.compiled is not None
    return [call.reason for call in compiled.compiled.program.calls.values()]


@pytest.mark.parametrize("missing", [False, True])
def test_features_that_no_node_asks_for_are_not_read(missing: bool) -> None:
    random, wide = np.random.default_rng(3), 90
    places = np.sort(random.choice(wide, FEATURES, replace=False))
    attributes = forest(random, 7, 5, modes=(0, 1), missing=missing)
    attributes["nodes_featureids"] = places[attributes["nodes_featureids"]].tolist()
    model = loaded(written("TreeEnsemble", ["x"], {"x": (FLOAT, ("n", wide))}, 1, "ai.onnx.ml", 5, attributes))
    compiled = ingot.Session(model, providers=["cpu", "reference"], fallback=False)
    for count in (0, 1, 70):
        x = random.normal(size=(count, wide)).astype(np.float32)
        x[:, places] = rows(random, count)
        expected = ingot.Session(model, providers=["reference"])(x)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-6, atol=1e-6)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    trees = [each for each in in_order([*compiled.compiled.program.values.values()]) if isinstance(each, Descent)]
    assert [tree.x.shape[1] for tree in trees] == [FEATURES]


@pytest.mark.parametrize("modes", [(0,), (1,), (2,), (3,), (4,), (5,), (6,), (0, 1, 2, 3, 4, 5, 6)], ids=str)
@pytest.mark.parametrize("missing", [False, True])
def test_every_comparison_goes_the_way_of_the_reference(modes: tuple[int, ...], missing: bool) -> None:
    random = np.random.default_rng(sum(modes) + missing)
    trees = forest(random, 7, 5, modes=modes, missing=missing)
    assert not agree("TreeEnsemble", trees, rows(random, 64), rows(random, 1), rows(random, 0))


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("by_tree", [True, False])
@pytest.mark.parametrize("trees", [1, 8, 13])
def test_votes_are_added_for_each_target(targets: int, by_tree: bool, trees: int) -> None:
    random = np.random.default_rng(targets)
    attributes = forest(random, trees, 6, targets=targets, by_tree=by_tree)
    for aggregate in (0, 1, 2, 3):
        assert not agree("TreeEnsemble", {**attributes, "aggregate_function": aggregate}, rows(random, 33))


@pytest.mark.parametrize("depth", [3, 9], ids=["small", "large"])
@pytest.mark.parametrize(("kind", "real"), [(FLOAT, np.float32), (DOUBLE, np.float64)])
@pytest.mark.parametrize("by_tree", [True, False])
def test_any_number_of_rows_goes_down_small_and_large_trees(depth: int, kind: int, real: Any, by_tree: bool) -> None:
    random = np.random.default_rng(depth)
    attributes = forest(random, 11, depth, targets=2, by_tree=by_tree, missing=True, real=real)
    if kind == DOUBLE:  # one split that no float32 is
        splits = attributes["nodes_splits"]
        attributes["nodes_splits"] = tensor(np.append(numpy_helper.to_array(splits)[:-1], 0.1))
    counts = (1, 2, 4, 5, 8, 15, 16, 17, 20, 63, 64, 65, 100)
    assert not agree("TreeEnsemble", attributes, *(rows(random, count, real) for count in counts), kind=kind)


def test_more_rows_than_a_chunk_are_added_in_the_order_of_trees() -> None:
    """With the same order of sums as the reference, results are the same bit for bit."""
    random = np.random.default_rng(9)
    for depth in (3, 8):
        attributes = forest(random, 9, depth)
        model = loaded(written("TreeEnsemble", ["x"], {"x": (FLOAT, ("n", FEATURES))}, 1, "ai.onnx.ml", 5, attributes))
        x = rows(random, 5000)
        (expected,) = ingot.Session(model, providers=["reference"]).run(None, {"x": x})
        for threads in (1, 2):
            (scores,) = ingot.Session(model, threads=threads, fallback=False).run(None, {"x": x})
            np.testing.assert_array_equal(scores, expected)


def test_a_double_is_compared_as_such_where_splits_are_floats() -> None:
    edge = float(np.float32(0.3))
    x = np.array([edge, np.nextafter(edge, 1), np.nextafter(edge, 0), -1e300, 1e300, 5e-324, -5e-324, np.nan])
    table = np.repeat(x[:, None], FEATURES, axis=1)
    random = np.random.default_rng(10)
    for modes in ((0, 3), (0, 1, 2, 3, 4, 5)):
        trees = forest(random, 12, 5, modes=modes, missing=True, real=np.float64)
        splits = numpy_helper.to_array(trees["nodes_splits"]).astype(np.float32).astype(np.float64)
        assert not agree("TreeEnsemble", {**trees, "nodes_splits": tensor(splits)}, table, kind=DOUBLE)


@pytest.mark.parametrize("aggregate", [2, 3])
def test_a_target_without_a_vote_is_zero_whatever_the_others_are(aggregate: int) -> None:
    random = np.random.default_rng(11)
    attributes = forest(random, 3, 3, targets=5, by_tree=False) | {"aggregate_function": aggregate}
    assert not agree("TreeEnsemble", attributes, rows(random, 50))


@pytest.mark.parametrize("function", ["add", "minimum"])
def test_the_primitive_means_what_machine_code_does(function: str) -> None:
    random = np.random.default_rng(12)
    attributes = forest(random, 5, 6, modes=(0, 1, 4, 6), targets=2, by_tree=False, missing=True) | {"n_targets": 2}
    model = loaded(written("TreeEnsemble", ["x"], {"x": (FLOAT, ("n", FEATURES))}, 1, "ai.onnx.ml", 5, attributes))
    (node,) = model.graph.nodes
    trees, targets = forest_of_nodes({**DEFAULTS, **{name: each.value for name, each in node.attributes.items()}})
    x = rows(random, 21)
    tensor_ = scores(
        Parameter(DType.FLOAT32, (21, FEATURES), "x"), trees, targets, "SUM" if function == "add" else "MIN"
    )
    (votes,) = evaluate([tensor_], {"x": x}, {})
    expected = aggregated(trees, x.astype(np.float64), targets, "SUM" if function == "add" else "MIN")
    np.testing.assert_array_equal(votes, expected)


@pytest.mark.parametrize("transform", [0, 1, 2, 3, 4])
def test_scores_are_transformed(transform: int) -> None:
    random = np.random.default_rng(3)
    attributes = forest(random, 6, 4, targets=3, by_tree=False)
    assert not agree("TreeEnsemble", {**attributes, "post_transform": transform}, rows(random, 20))


@pytest.mark.parametrize(("kind", "real"), [(DOUBLE, np.float64), (HALF, np.float16)])
def test_other_types_are_compared_as_they_are(kind: int, real: Any) -> None:
    random = np.random.default_rng(5)
    assert not agree("TreeEnsemble", forest(random, 5, 5, real=real), rows(random, 40, real), kind=kind)


def test_deep_trees_are_gone_down_in_parts() -> None:
    random = np.random.default_rng(6)
    trees = forest(random, 1, 1)
    deep = 60  # a chain: each node sends what is above its split on
    trees |= {
        "tree_roots": [0],
        "nodes_featureids": [0] * deep,
        "nodes_modes": tensor(np.zeros(deep, np.uint8)),
        "nodes_splits": tensor(np.arange(deep, dtype=np.float32)),
        "nodes_truenodeids": list(range(deep)),
        "nodes_trueleafs": [1] * deep,
        "nodes_falsenodeids": [*range(1, deep), deep],
        "nodes_falseleafs": [*[0] * (deep - 1), 1],
        "leaf_targetids": [0] * (deep + 1),
        "leaf_weights": tensor(np.arange(deep + 1, dtype=np.float32)),
    }
    x = np.zeros((deep + 2, FEATURES), np.float32)
    x[:, 0] = np.arange(deep + 2) - 0.5
    assert not agree("TreeEnsemble", trees, x)


def test_trees_are_flat_and_their_tables_are_verified() -> None:
    random = np.random.default_rng(14)
    attributes = forest(random, 3, 3)
    model = loaded(written("TreeEnsemble", ["x"], {"x": (FLOAT, ("n", FEATURES))}, 1, "ai.onnx.ml", 5, attributes))
    (node,) = model.graph.nodes
    trees, targets = forest_of_nodes({**DEFAULTS, **{name: each.value for name, each in node.attributes.items()}})
    x = Parameter(DType.FLOAT32, (4, FEATURES), "x")
    votes: Any = scores(x, trees, targets, "SUM")
    verify([votes])
    (slope,) = gradients(votes, [x])
    (array,) = evaluate([slope], {"x": rows(random, 4)}, {})
    assert not array.any()
    with pytest.raises(CompileError, match="'multiply' does not reduce votes"):
        verify([replace(votes, function="multiply")])
    with pytest.raises(CompileError, match="element types"):
        verify([replace(votes, dtype=DType.FLOAT32)])


SPREAD = {
    "nodes_treeids": [0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 0, 1, 2],
    "nodes_featureids": [0, 0, 0, 1, 0, 0],
    "nodes_values": [0.5, 0.0, 0.0, 0.3, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 2, 0, 0],
}
"""Two trees of which every leaf votes for three targets."""
TREES, LEAVES = [0] * 6 + [1] * 6, [1, 1, 1, 2, 2, 2] * 2
STRINGS = ["elements of string"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
WEIGHTS = [0.1, 0.7, 0.2, 0.5, 0.1, 0.4, 0.3, 0.3, 0.4, 0.9, 0.0, 0.1]


def test_leaves_that_vote_for_several_targets_are_a_table() -> None:
    votes = {"target_treeids": TREES, "target_nodeids": LEAVES, "target_ids": [0, 1, 2] * 4, "target_weights": WEIGHTS}
    base = {"base_values": [1.0, 0.0, -1.0], "n_targets": 3}
    random = np.random.default_rng(7)
    assert not agree("TreeEnsembleRegressor", {**SPREAD, **votes, **base}, rows(random, 40))


@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [4, 2, 9]}, {"classlabels_strings": ["a", "b", "c"]}], ids=["numbers", "strings"]
)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_class_with_most_votes_is_named(labels: dict[str, Any], transform: str) -> None:
    votes = {"class_treeids": TREES, "class_nodeids": LEAVES, "class_ids": [0, 1, 2] * 4, "class_weights": WEIGHTS}
    attributes = {**SPREAD, **votes, **labels, "post_transform": transform}
    left = agree("TreeEnsembleClassifier", attributes, rows(np.random.default_rng(8), 40), outputs=2)
    assert left == ([] if "classlabels_int64s" in labels else STRINGS)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("twice", [False, True])
def test_votes_for_one_class_score_it(transform: str, sign: int, classes: int, strings: bool, twice: bool) -> None:
    """Votes are for the last class; a leaf that votes twice cannot become a TreeEnsemble."""
    labels = {"classlabels_strings": ["a", "b"][:classes]} if strings else {"classlabels_int64s": [4, 2][:classes]}
    votes = {
        "class_treeids": [0, 0, 1, 1] * (1 + twice),
        "class_nodeids": [1, 2, 1, 2] * (1 + twice),
        "class_ids": [classes - 1] * 4 * (1 + twice),
        "class_weights": [0.1, 0.3, sign * 0.25, 0.4, 0.0625, 0.0, 0.0, 0.0][: 4 * (1 + twice)],
    }
    attributes = {**SPREAD, **votes, **labels, "post_transform": transform}
    x = rows(np.random.default_rng(13), 40)
    left = agree("TreeEnsembleClassifier", attributes, x, outputs=2)
    assert left == (STRINGS if strings else [])


@pytest.mark.parametrize("values", [{"values_int64s": [7, -7, 0]}, {"values_floats": [0.5, -1.0, 2.0]}], ids=str)
def test_integers_are_looked_up_in_a_table(values: dict[str, Any]) -> None:
    x = np.array([[-(2**63), 2, 3, 5, 6], [5, 4, 1, 2**63 - 1, 3]], np.int64)
    attributes = {"keys_int64s": [5, 2, 3], "default_int64": 11, "default_float": 11.0, **values}
    assert not agree("LabelEncoder", attributes, x, kind=7)
