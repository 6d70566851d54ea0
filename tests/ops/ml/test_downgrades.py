"""Encoders and trees in older versions of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import ingot
from ingot.errors import UnsupportedError
from ingot.ir.model import Model
from ingot.versions.convert import convert_versions
from ops.ml.one_node import loaded, strings, tensor, written


def model(op_type: str, x: Any, version: int, outputs: int = 1, **attributes: Any) -> Model:
    declared = {"x": (int(ingot.DType.of(x.dtype)), x.shape)}
    return loaded(written(op_type, ["x"], declared, outputs, "ai.onnx.ml", version, attributes))


def older(op_type: str, x: Any, *, version: int, to: int, outputs: int = 1, **attributes: Any) -> list[str]:
    """The operators that say a node in version `to`; they are valid there, and compute what the node did."""
    made = model(op_type, x, version, outputs, **attributes)
    wanted = ingot.Session(made.copy()).run(None, {"x": x})
    convert_versions(made, {"ai.onnx.ml": to, "": 21})
    proto = ingot.to_onnx(made)
    onnx.checker.check_model(proto)
    for result, expected in zip(ingot.Session(proto).run(None, {"x": x}), wanted, strict=True):
        assert result.dtype == expected.dtype
        if result.dtype.kind == "f":
            np.testing.assert_allclose(result, expected, rtol=1e-6 if result.itemsize > 2 else 1e-3)
        else:
            np.testing.assert_array_equal(result, expected)
    return [node.op_type for node in made.graph]


def refusal(op_type: str, x: Any, *, version: int, to: int, **attributes: Any) -> str:
    made = model(op_type, x, version, **attributes)
    with pytest.raises(UnsupportedError) as caught:
        convert_versions(made, {"ai.onnx.ml": to})
    return caught.value.message


WORDS = strings("b", "a", "zebra", "c", "a")
NUMBERS = np.array([[3, 0], [7, -1]], np.int64)


def test_strings_for_their_positions_stay_an_encoder() -> None:
    for version in (2, 4):
        names: dict[str, Any] = {"keys_strings": ["a", "b", "c"], "values_int64s": [0, 1, 2], "default_int64": 42}
        assert older("LabelEncoder", WORDS, version=version, to=1, **names) == ["LabelEncoder"]
    back: dict[str, Any] = {"keys_int64s": [0, 1, 2, 3], "values_strings": ["a", "b", "c", "d"], "default_string": "?"}
    assert older("LabelEncoder", NUMBERS, version=2, to=1, **back) == ["LabelEncoder"]


def test_strings_and_integers_for_each_other_are_mapped() -> None:
    there: dict[str, Any] = {"keys_strings": ["a", "b", "a"], "values_int64s": [7, 7, 3]}
    assert older("LabelEncoder", WORDS, version=2, to=1, **there) == ["CategoryMapper"]
    back: dict[str, Any] = {"keys_int64s": [7, 3, 7], "values_strings": ["a", "b", "last"]}
    assert older("LabelEncoder", NUMBERS, version=2, to=1, **back) == ["CategoryMapper"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"values_floats": [0.5, -1.0], "default_float": 9.0}, ["Gather"]),
        ({"values_strings": ["x", "y"], "default_string": "z"}, ["Gather"]),
        ({"values_int64s": [5, 6], "default_int64": 9}, ["Gather"]),
    ],
)
def test_other_pairs_are_looked_up_by_position(values: Any, said: list[str]) -> None:
    if "values_int64s" not in values:
        assert older("LabelEncoder", WORDS, version=2, to=1, keys_strings=["a", "b"], **values) == [
            "CategoryMapper",
            *said,
        ]
    if "values_strings" not in values:
        mapped = ["CategoryMapper", "CategoryMapper", *said]
        assert older("LabelEncoder", NUMBERS, version=2, to=1, keys_int64s=[3, -1], **values) == mapped


@pytest.mark.parametrize("keys", [np.int16, np.int32, np.int64, np.float32])
@pytest.mark.parametrize("values", [np.int16, np.int32, np.int64, np.float32, np.float64])
def test_tensors_become_lists(keys: Any, values: Any) -> None:
    pairs = {
        "keys_tensor": tensor(np.array([3, -1, 3], keys)),
        "values_tensor": tensor(np.array([1, 2, 4 / 3], values)),
        "default_tensor": tensor(np.array([9], values)),
    }
    said = older("LabelEncoder", NUMBERS.astype(keys), version=4, to=3, **pairs)
    assert "LabelEncoder" in said
    if keys is not np.float32:
        older("LabelEncoder", NUMBERS.astype(keys), version=4, to=1, **pairs)


def test_keys_that_are_no_strings_and_no_integers_are_refused() -> None:
    x = np.array([1.5, np.nan])
    pairs = {"keys_tensor": tensor(x), "values_int64s": [1, 2]}
    assert "keys of float64 came with version 4" in refusal("LabelEncoder", x, version=4, to=3, **pairs)
    floats = {"keys_floats": [1.5, np.nan], "values_int64s": [1, 2]}
    narrow = x.astype(np.float32)
    assert "keys of float32 came with version 2" in refusal("LabelEncoder", narrow, version=2, to=1, **floats)


def trees(dtype: Any, **changed: Any) -> dict[str, Any]:
    """A tree of all modes, one with a set of members, and one that is a leaf."""
    modes = np.array([0, 1, 2, 3, 4, 5, 6, 0], np.uint8)
    return {
        "tree_roots": [0, 6, 7],
        "n_targets": 2,
        "nodes_featureids": [0, 1, 0, 1, 0, 1, 0, 0],
        "nodes_modes": tensor(modes),
        "nodes_splits": tensor(np.array([0.5, -1, 2, 0.25, 3, 1, 0, 0], dtype)),
        "nodes_truenodeids": [1, 3, 5, 0, 1, 2, 4, 6],
        "nodes_trueleafs": [0, 0, 0, 1, 1, 1, 1, 1],
        "nodes_falsenodeids": [2, 4, 3, 1, 2, 3, 5, 6],
        "nodes_falseleafs": [0, 0, 1, 1, 1, 1, 1, 1],
        "nodes_missing_value_tracks_true": [1, 0, 1, 0, 1, 0, 1, 0],
        "leaf_targetids": [0, 1, 0, 1, 0, 1, 0],
        "leaf_weights": tensor(np.array([0.5, 1, 2, 4, -8, 16, 32], dtype)),
        "membership_values": tensor(np.array([1, 3, np.nan], dtype)),
        **changed,
    }


ROWS = np.array([[0.5, -1], [0.4, -2], [3, 1], [1, 0.25], [2, 0.3], [np.nan, 1], [0, np.nan], [9, 9]], np.float32)


@pytest.mark.parametrize("to", [4, 3, 1])
@pytest.mark.parametrize("aggregate", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_trees_are_written_node_by_node(to: int, aggregate: int, dtype: Any) -> None:
    attributes = trees(dtype, aggregate_function=aggregate, post_transform=aggregate % 3)
    said = older("TreeEnsemble", ROWS.astype(dtype), version=5, to=to, **attributes)
    assert [name for name in said if name != "Cast"] == ["TreeEnsembleRegressor"]


def test_an_empty_set_has_no_members() -> None:
    attributes = trees(np.float32, membership_values=tensor(np.array([np.nan], np.float32)))
    older("TreeEnsemble", ROWS, version=5, to=3, **attributes)


def test_trees_that_answer_in_float64_are_refused() -> None:
    message = refusal("TreeEnsemble", ROWS.astype(np.float64), version=5, to=4, **trees(np.float64))
    assert "trees that answer in float64 came with version 5" in message


def test_trees_that_share_too_many_nodes_are_refused() -> None:
    depth = 12
    both = [*range(1, depth), 0]
    leafs = [0] * (depth - 1) + [1]
    attributes = {
        "tree_roots": [0],
        "nodes_featureids": [0] * depth,
        "nodes_modes": tensor(np.zeros(depth, np.uint8)),
        "nodes_splits": tensor(np.zeros(depth, np.float32)),
        **dict.fromkeys(("nodes_truenodeids", "nodes_falsenodeids"), both),
        **dict.fromkeys(("nodes_trueleafs", "nodes_falseleafs"), leafs),
        "leaf_targetids": [0],
        "leaf_weights": tensor(np.ones(1, np.float32)),
    }
    message = refusal("TreeEnsemble", ROWS, version=5, to=4, **attributes)
    assert "written out, 12 nodes would become more than 400" in message


def voting(kind: str, **changed: Any) -> dict[str, Any]:
    names = {"Classifier": "class", "Regressor": "target"}[kind]
    own = {"classlabels_int64s": [3, 5]} if kind == "Classifier" else {"n_targets": 2}
    lists = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        f"{names}_treeids": [0, 0, 0],
        f"{names}_nodeids": [1, 1, 2],
        f"{names}_ids": [0, 1, 1],
    }
    return {**own, **lists, **changed}


@pytest.mark.parametrize(("kind", "outputs"), [("Classifier", 2), ("Regressor", 1)])
def test_tensors_of_doubles_become_floats_where_they_are_some(kind: str, outputs: int) -> None:
    name = {"Classifier": "class_weights", "Regressor": "target_weights"}[kind]
    doubles = {
        "nodes_values_as_tensor": tensor(np.array([0.5, 0, 0])),
        f"{name}_as_tensor": tensor(np.array([0.25, 2, 3])),
        "base_values_as_tensor": tensor(np.array([0.5, -0.5])),
    }
    said = older(f"TreeEnsemble{kind}", ROWS, version=3, to=2, outputs=outputs, **voting(kind, **doubles))
    assert said == [f"TreeEnsemble{kind}"]
    doubles["nodes_values_as_tensor"] = tensor(np.array([0.1, 0, 0]))
    made = model(f"TreeEnsemble{kind}", ROWS, 3, outputs, **voting(kind, **doubles))
    with pytest.raises(UnsupportedError, match="'nodes_values_as_tensor' holds numbers that no float32 is"):
        convert_versions(made, {"ai.onnx.ml": 2})


@pytest.mark.parametrize(("kind", "outputs"), [("Classifier", 2), ("Regressor", 1)])
def test_what_version_5_deprecated_stands_before_it(kind: str, outputs: int) -> None:
    name = {"Classifier": "class_weights", "Regressor": "target_weights"}[kind]
    attributes = voting(kind, nodes_values=[0.5, 0.0, 0.0], **{name: [1.0, 2.0, 3.0]})
    assert older(f"TreeEnsemble{kind}", ROWS, version=5, to=4, outputs=outputs, **attributes) == [f"TreeEnsemble{kind}"]
