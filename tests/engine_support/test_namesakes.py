"""An operator of another domain is not taken for the one of the standard whose name it has."""

from __future__ import annotations

import pytest

from ingot.dtypes import DType
from ingot.engine_support.known import depends_on_inputs
from ingot.engine_support.opsets import at_opset
from ingot.engine_support.restrictions import restrictions_of
from ingot.ir import Graph, Model, Node, TensorType, Value


@pytest.mark.parametrize(("domain", "depends"), [("", False), ("ai.onnx", False), ("my", True)])
def test_only_sizes_by_the_standard_are_constants(domain: str, depends: bool) -> None:
    x = Value("x", TensorType(DType.FLOAT32, (2, 3)))
    Graph([x])
    assert depends_on_inputs(Node("Shape", [x], 1, domain=domain).output) is depends


@pytest.mark.parametrize(("domain", "refused"), [("", ["with layout 1"]), ("my", [])])
def test_what_an_engine_refuses_of_an_operator_it_does_not_refuse_of_a_namesake(
    domain: str, refused: list[str]
) -> None:
    node = Node("GRU", [Value("x"), Value("w"), Value("r")], 1, {"layout": 1}, domain=domain)
    assert list(restrictions_of("onnxruntime", node, {})) == refused


def test_a_model_that_spells_out_the_standard_domain_changes_its_opset() -> None:
    x = Value("x", TensorType(DType.FLOAT32, (2,)))
    node = Node("Relu", [x], [Value("y", TensorType(DType.FLOAT32, (2,)))], domain="ai.onnx")
    made = at_opset(Model(Graph([x], [node.output], [node], name="g"), {"ai.onnx": 21}), 17)
    assert made.opset_imports == {"": 17}
