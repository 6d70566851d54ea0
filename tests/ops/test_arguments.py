"""Attributes as arguments of rules: text that is not UTF-8."""

from __future__ import annotations

from typing import Any

import pytest

import ingot
from ingot.ir.types import TensorType

NOT_TEXT = b"\xffij->ji"

CASES: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "a string": ("", "Einsum", 17, {"equation": NOT_TEXT}),
    "a string of an old operator": ("", "Upsample", 7, {"mode": NOT_TEXT, "scales": [1.0, 2.0]}),
    "one of several": ("ai.onnx.ml", "LabelEncoder", 4, {"keys_strings": ["a", b"\xff"], "values_floats": [1.0, 2.0]}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_attribute_that_is_not_utf_8_is_refused(name: str) -> None:
    domain, operator, version, attributes = CASES[name]
    dtype = ingot.DType.STRING if domain else ingot.DType.FLOAT32
    graph = ingot.Graph([ingot.Value("x", TensorType(dtype, (1, 2)))], name="g")
    graph.outputs.append(graph.append(ingot.Node(operator, [graph.inputs[0]], ["y"], attributes, domain=domain)).output)
    model = ingot.Model(graph, {"": 17, domain: version})
    text = next(key for key in attributes if key not in ("scales", "values_floats"))
    message = f"attribute '{text}' is not UTF-8"
    assert message in [problem.message for problem in ingot.check(model)]
    for strict in (False, True):
        with pytest.raises(ingot.CheckError, match=message):
            ingot.Session(model, strict=strict)
