"""Tree ensembles beyond the standard's cases: their arithmetic, hostile trees, and the operators of old."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError
from ops.ml.one_node import evaluate, inferred, operators_after_upgrade, tensor

NAN = float("nan")


def stump(**changes: Any) -> dict[str, Any]:
    """One node: feature 0 at most 0.5 goes to leaf 0, else to leaf 1."""
    return {
        "tree_roots": [0],
        "nodes_featureids": [0],
        "nodes_modes": tensor(np.array([0], np.uint8)),
        "nodes_splits": tensor(np.array([0.5], np.float32)),
        "nodes_trueleafs": [1],
        "nodes_truenodeids": [0],
        "nodes_falseleafs": [1],
        "nodes_falsenodeids": [1],
        "leaf_targetids": [0, 1],
        "leaf_weights": tensor(np.array([1, 10], np.float32)),
        "n_targets": 2,
    } | changes


def column(*values: float) -> Any:
    return np.array(values, np.float32).reshape(-1, 1)


@pytest.mark.parametrize(
    ("mode", "taken"), [(0, [1, 1, 0]), (1, [1, 0, 0]), (2, [0, 1, 1]), (3, [0, 0, 1]), (4, [0, 1, 0]), (5, [1, 0, 1])]
)
@pytest.mark.parametrize("tracks", [0, 1])
def test_a_node_compares_by_its_mode_and_sends_nan_where_it_says(mode: int, taken: list[int], tracks: int) -> None:
    y = evaluate(
        "TreeEnsemble",
        column(0, 0.5, 1, NAN),
        **stump(nodes_modes=tensor(np.array([mode], np.uint8)), nodes_missing_value_tracks_true=[tracks]),
    )
    assert (y[:, 0] == 1).tolist() == [*map(bool, taken), bool(tracks)]


def test_a_set_may_hold_zero_and_be_empty() -> None:
    member = stump(nodes_modes=tensor(np.array([6], np.uint8)))
    values = tensor(np.array([0, 3, NAN], np.float32))
    y = evaluate("TreeEnsemble", column(0, -0.0, 3, 2, NAN), **member, membership_values=values)
    assert y[:, 0].tolist() == [1, 1, 1, 0, 0]
    y = evaluate("TreeEnsemble", column(0, 1), **member, membership_values=tensor(np.array([NAN], np.float32)))
    assert y[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize(("aggregate", "expected"), [(0, [3.0, 0.5]), (1, [6, 1]), (2, [2, 1]), (3, [4, 1])])
def test_votes_are_put_together_and_a_target_without_one_is_zero(aggregate: int, expected: list[float]) -> None:
    trees = stump(
        tree_roots=[0, 1],
        nodes_featureids=[0, 0],
        nodes_modes=tensor(np.zeros(2, np.uint8)),
        nodes_splits=tensor(np.full(2, 0.5, np.float32)),
        nodes_trueleafs=[1, 1],
        nodes_truenodeids=[0, 2],
        nodes_falseleafs=[1, 1],
        nodes_falsenodeids=[1, 1],
        leaf_targetids=[0, 1, 0],
        leaf_weights=tensor(np.array([2, 0.5, 4], np.float32)),
        aggregate_function=aggregate,
    )
    y = evaluate("TreeEnsemble", column(0, 1), **trees)
    assert y[0].tolist() == [expected[0], 0]
    assert y[1, 0] == 0
    assert y[1, 1] == {0: 0.5, 1: 1, 2: 0.5, 3: 0.5}[aggregate]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_result_has_the_type_of_the_input(dtype: Any) -> None:
    y = evaluate(
        "TreeEnsemble",
        np.array([[0], [1]], dtype),
        **stump(nodes_splits=tensor(np.array([0.5], dtype)), leaf_weights=tensor(np.array([1, 10], dtype))),
    )
    assert y.dtype == dtype
    assert y.tolist() == [[1, 0], [0, 10]]


def test_no_rows_give_no_rows() -> None:
    assert evaluate("TreeEnsemble", np.zeros((0, 1), np.float32), **stump()).shape == (0, 2)


def test_subtrees_may_be_shared() -> None:
    shared = stump(
        nodes_featureids=[0, 0, 0],
        nodes_modes=tensor(np.array([4, 4, 0], np.uint8)),
        nodes_splits=tensor(np.array([1, 2, 9], np.float32)),
        nodes_trueleafs=[0, 0, 1],
        nodes_truenodeids=[2, 2, 0],
        nodes_falseleafs=[0, 1, 1],
        nodes_falsenodeids=[1, 1, 1],
    )
    assert evaluate("TreeEnsemble", column(1, 2, 3), **shared)[:, 0].tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes_trueleafs": [0]}, "cycle"),
        ({"nodes_truenodeids": [5]}, "leads to leaf 5"),
        ({"nodes_truenodeids": [7], "nodes_trueleafs": [0]}, "leads to node 7"),
        ({"nodes_truenodeids": [-1]}, "leads to -1"),
        ({"tree_roots": [3]}, "leads to node 3"),
        ({"tree_roots": [-1]}, "begins at node -1"),
        ({"leaf_targetids": [0, 2]}, "between 0 and 2, of 2"),
        ({"nodes_featureids": [-1]}, "feature -1"),
        ({"nodes_modes": tensor(np.array([9], np.uint8))}, "modes lie between 9"),
        ({"nodes_modes": tensor(np.array([6], np.uint8))}, "1 nodes ask for membership, 0 sets"),
        ({"nodes_falsenodeids": [0, 1]}, "differ in length"),
        ({"leaf_weights": tensor(np.array([1], np.float32))}, "2 targets of leaves and 1 weights"),
        ({"aggregate_function": 7}, "aggregate_function is 7"),
        ({"post_transform": -1}, "post_transform is -1"),
        ({"n_targets": 0}, "n_targets is 0"),
    ],
)
def test_what_is_no_forest_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckError, match=message):
        evaluate("TreeEnsemble", column(0), **stump(**changes))


def test_a_longer_cycle_is_found() -> None:
    ring = stump(
        nodes_featureids=[0, 0, 0],
        nodes_modes=tensor(np.zeros(3, np.uint8)),
        nodes_splits=tensor(np.zeros(3, np.float32)),
        nodes_trueleafs=[0, 0, 0],
        nodes_truenodeids=[1, 2, 1],
        nodes_falseleafs=[1, 1, 1],
        nodes_falsenodeids=[0, 0, 0],
    )
    with pytest.raises(CheckError, match="cycle"):
        evaluate("TreeEnsemble", column(0), **ring)


def test_a_row_without_the_feature_is_the_callers_mistake() -> None:
    with pytest.raises(InputError, match="feature 3, the input has 1"):
        evaluate("TreeEnsemble", column(0), **stump(nodes_featureids=[3]))


def test_rows_keep_their_name_in_inference() -> None:
    assert inferred("TreeEnsemble", {"x": (1, ["rows", 1])}, **stump()) == "float32[rows, 2]"


def nodes(trees: int = 1, *, weights: tuple[float, float] = (1.0, 10.0), targets: tuple[int, int] = (0, 1)) -> Any:
    """As many stumps, spelled as the operators of old do; votes come apart from nodes."""
    count = 3 * trees
    return {
        "nodes_treeids": [i // 3 for i in range(count)],
        "nodes_nodeids": [0, 1, 2] * trees,
        "nodes_featureids": [0] * count,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * trees,
        "nodes_values": [0.5, 0.0, 0.0] * trees,
        "nodes_truenodeids": [1, 0, 0] * trees,
        "nodes_falsenodeids": [2, 0, 0] * trees,
    }, {
        "treeids": [i // 2 for i in range(2 * trees)],
        "nodeids": [1, 2] * trees,
        "ids": list(targets) * trees,
        "weights": list(weights) * trees,
    }


def regressor(trees: int = 1, **changes: Any) -> dict[str, Any]:
    places, votes = nodes(trees)
    return {**places, **{f"target_{name}": value for name, value in votes.items()}, "n_targets": 2, **changes}


def classifier(trees: int = 1, weights: tuple[float, float] = (1.0, 10.0), **changes: Any) -> dict[str, Any]:
    targets = changes.pop("targets", (0, 1))
    places, votes = nodes(trees, weights=weights, targets=targets)
    return {**places, **{f"class_{name}": value for name, value in votes.items()}, **changes}


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_an_old_regressor_is_the_same_before_and_after_upgrading(version: int, dtype: Any, aggregate: str) -> None:
    x = np.array([[0], [1]], dtype)
    attributes = regressor(3, aggregate_function=aggregate, base_values=[0.5, 0.25])
    mine = evaluate("TreeEnsembleRegressor", x, version=version, **attributes)
    plain = evaluate("TreeEnsembleRegressor", x, version=version, upgraded=False, **attributes)
    factor = 3 if aggregate == "SUM" else 1
    np.testing.assert_array_equal(mine, [[factor + 0.5, 0.25], [0.5, 10 * factor + 0.25]])
    np.testing.assert_array_equal(mine, plain)


def test_an_old_regressor_becomes_a_tree_ensemble() -> None:
    found = operators_after_upgrade("TreeEnsembleRegressor", {"x": (1, ["n", 1])}, version=3, **regressor())
    assert found == ["TreeEnsemble"]


def test_a_leaf_with_two_votes_keeps_the_operator() -> None:
    twice = regressor(target_nodeids=[1, 1], target_ids=[0, 1])
    found = operators_after_upgrade("TreeEnsembleRegressor", {"x": (1, ["n", 1])}, version=3, **twice)
    assert found == ["TreeEnsembleRegressor"]
    assert evaluate("TreeEnsembleRegressor", column(0, 1), version=3, **twice).tolist() == [[1, 10], [0, 0]]


@pytest.mark.parametrize("upgraded", [True, False])
def test_a_leaf_says_the_same_once_where_there_is_one_target(upgraded: bool) -> None:
    votes: dict[str, Any] = {"target_treeids": [0] * 6, "target_nodeids": [1, 1, 1, 2, 2, 2]}
    votes |= {"target_weights": [3.0] * 3 + [5.0] * 3}
    one = {**regressor(), **votes, "target_ids": [0] * 6, "n_targets": 1}
    y = evaluate("TreeEnsembleRegressor", column(0, 1), version=3, upgraded=upgraded, **one)
    assert y.tolist() == [[3], [5]]
    two = {**regressor(), **votes, "target_ids": [0, 0, 1, 0, 0, 1]}
    y = evaluate("TreeEnsembleRegressor", column(0, 1), version=3, upgraded=upgraded, **two)
    assert y.tolist() == [[6, 3], [10, 5]]


def test_a_tree_may_be_a_single_leaf() -> None:
    lone: dict[str, Any] = {
        "nodes_treeids": [4],
        "nodes_nodeids": [0],
        "nodes_featureids": [0],
        "nodes_modes": ["LEAF"],
        "nodes_values": [0.0],
        "nodes_truenodeids": [0],
        "nodes_falsenodeids": [0],
        "target_treeids": [4],
        "target_nodeids": [0],
        "target_ids": [0],
        "target_weights": [2.5],
        "n_targets": 1,
    }
    for upgraded in (True, False):
        y = evaluate("TreeEnsembleRegressor", column(0, 1), version=3, upgraded=upgraded, **lone)
        assert y.tolist() == [[2.5], [2.5]]


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("upgraded", [True, False])
def test_votes_for_one_of_two_classes_score_the_second(version: int, upgraded: bool) -> None:
    def scores(weights: tuple[float, float], transform: str) -> Any:
        return evaluate(
            "TreeEnsembleClassifier",
            column(0, 1),
            version=version,
            outputs=2,
            upgraded=upgraded,
            **classifier(weights=weights, targets=(0, 0), classlabels_strings=["no", "yes"], post_transform=transform),
        )

    labels, found = scores((0.25, 0.75), "NONE")
    assert labels.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found, [[0.75, 0.25], [0.25, 0.75]])
    labels, found = scores((-2.0, 1.0), "NONE")
    assert labels.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found, [[2, -2], [-1, 1]])
    labels, found = scores((0.25, -1.0), "LOGISTIC")
    assert labels.tolist() == ["yes", "no"]
    expected = 1 / (1 + np.exp(-np.array([[-0.25, 0.25], [1, -1]])))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_an_old_classifier_is_the_same_before_and_after_upgrading(transform: str) -> None:
    attributes = classifier(2, (0.1, 0.4), classlabels_int64s=[7, 8, 9], post_transform=transform, targets=(0, 2))
    mine = evaluate("TreeEnsembleClassifier", column(0, 1), version=3, outputs=2, **attributes)
    plain = evaluate("TreeEnsembleClassifier", column(0, 1), version=3, outputs=2, upgraded=False, **attributes)
    assert mine[0].tolist() == plain[0].tolist() == [7, 9]
    np.testing.assert_allclose(mine[1], plain[1], rtol=1e-6)


def test_an_old_classifier_becomes_a_tree_ensemble() -> None:
    found = operators_after_upgrade(
        "TreeEnsembleClassifier",
        {"x": (1, ["n", 1])},
        version=1,
        outputs=2,
        **classifier(classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX"),
    )
    assert found[0] == "TreeEnsemble"
    assert "TreeEnsembleClassifier" not in found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes_truenodeids": [0, 0, 0]}, "cycle"),
        ({"nodes_truenodeids": [9, 0, 0]}, "tree 0 has no node 9"),
        ({"nodes_nodeids": [0, 1, 1]}, "tree 0 has two nodes 1"),
        ({"target_nodeids": [1, 5]}, "tree 0 has no node 5"),
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF", "LEEF"]}, "mode 'LEEF'"),
        ({"nodes_values": [0.5]}, "differ in length"),
        ({"target_weights": [1.0]}, "lists of votes differ"),
        ({"target_ids": [0, 2]}, "of 2"),
        ({"base_values": [1.0, 2.0, 3.0]}, "3 base values"),
    ],
)
@pytest.mark.parametrize("upgraded", [True, False])
def test_what_is_no_old_forest_is_refused(changes: dict[str, Any], message: str, upgraded: bool) -> None:
    with pytest.raises(CheckError, match=message):
        evaluate("TreeEnsembleRegressor", column(0), version=3, upgraded=upgraded, **regressor(**changes))
