"""Labels that are strings become numbers, and are looked up last."""

from __future__ import annotations

import pytest

from ingot import parse_model
from ingot.passes.string_labels import number_labels

HEADER = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]>'
LINEAR = "coefficients = [1.0, 2.0], intercepts = [0.5]"


def operators(body: str, outputs: str = "y, z") -> tuple[int, list[str]]:
    """How many nodes are changed, and the operators after that."""
    model = parse_model(f"{HEADER} g (float[n, 2] x) => ({outputs}) {{ {body} }}")
    count = number_labels(model)
    return count, [node.op_type for node in model.graph]


def test_a_classifier_chooses_a_place_in_a_table_of_strings() -> None:
    body = f'y, z = ai.onnx.ml.LinearClassifier <classlabels_strings = ["a", "b"], {LINEAR}> (x)'
    assert operators(body) == (1, ["LinearClassifier", "Gather"])


def test_an_encoder_of_integers_does_too() -> None:
    body = """i = Cast <to = 7> (x)
        y = ai.onnx.ml.LabelEncoder <keys_int64s = [3, 1], values_strings = ["c", "a"]> (i)"""
    assert operators(body, "y") == (1, ["Cast", "LabelEncoder", "Gather"])


@pytest.mark.parametrize(
    "body",
    [
        f"y, z = ai.onnx.ml.LinearClassifier <classlabels_ints = [4, 2], {LINEAR}> (x)",
        "y = ai.onnx.ml.LabelEncoder <keys_floats = [3.0], values_floats = [1.0]> (x) z = Identity (y)",
    ],
    ids=["integers", "floats"],
)
def test_other_labels_stay(body: str) -> None:
    assert operators(body)[0] == 0
