"""The oldest IR version that has what a model is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot import Attribute, DType, Graph, Model, Node, Tensor, TensorType, Value
from ingot.ir import Function
from ingot.ir.model import TrainingInfo
from ingot.ir.needs import needed_ir_version
from ingot.ir.types import MapType, OptionalType, SequenceType, SparseTensorType


def model(type_: Any = None, constant: np.ndarray | None = None, *, as_input: bool = False, **kinds: Any) -> Model:
    """`y = Relu(x)` of a type, with a constant that may be an input, and functions."""
    x = Value("x", type_ or TensorType(DType.FLOAT32, (2,)))
    node = Node("Relu", [x], ["y"])
    constants = [] if constant is None else [Value("w", constant=Tensor(constant, name="w"))]
    return Model(Graph([x, *(constants if as_input else ())], [node.output], [node], constants), 17, **kinds)


def function(overload: str = "", default: Attribute | None = None) -> Function:
    x = Value("x")
    node = Node("Relu", [x], ["y"])
    body = Graph([x], [node.output], [node])
    return Function("own", "Twice", body, overload=overload, attributes={"a": default}, opset_imports={"": 17})


def test_a_plain_model_needs_the_version_that_brought_imports() -> None:
    assert needed_ir_version(model()) == 3


def test_constants_that_are_no_inputs_need_the_fourth() -> None:
    weights = np.zeros(2, np.float32)
    assert needed_ir_version(model(constant=weights)) == 4
    assert needed_ir_version(model(constant=weights, as_input=True)) == 3


@pytest.mark.parametrize(
    ("dtype", "version"),
    [
        *(("float32", 4), ("bfloat16", 4), ("float8e4m3fn", 9), ("float8e5m2fnuz", 9), ("int4", 10), ("uint4", 10)),
        *(("float4e2m1", 11), ("float8e8m0", 12), ("int2", 13), ("uint2", 13), ("float6e2m3", 14), ("float6e3m2", 14)),
    ],
)
def test_an_element_type_needs_the_version_that_brought_it(dtype: str, version: int) -> None:
    of = DType.of(dtype)
    assert needed_ir_version(model(constant=np.zeros(2, of.numpy))) == version
    if version > 4:
        assert needed_ir_version(model(TensorType(of, (2,)))) == version
        assert needed_ir_version(model(SequenceType(TensorType(of, ())))) == version
        assert needed_ir_version(model(MapType(DType.INT64, TensorType(of, ())))) == version
        held = model()
        held.graph.nodes[0].attributes["t"] = Attribute("t", Tensor(np.zeros(2, of.numpy)))
        assert needed_ir_version(held) == version


def test_optional_and_sparse_values_need_the_eighth() -> None:
    assert needed_ir_version(model(OptionalType(TensorType(DType.FLOAT32, (2,))))) == 8
    assert needed_ir_version(model(SparseTensorType(DType.FLOAT32, (2,)))) == 8


def test_functions_need_the_eighth_their_defaults_the_ninth_and_overloads_the_tenth() -> None:
    assert needed_ir_version(model(functions=[function()])) == 8
    assert needed_ir_version(model(functions=[function(default=Attribute("a", 1))])) == 9
    assert needed_ir_version(model(functions=[function("wide")])) == 10


def test_training_needs_the_seventh() -> None:
    trained = model()
    trained.training.append(TrainingInfo())
    assert needed_ir_version(trained) == 7


def test_notes_need_nothing() -> None:
    noted = model()
    noted.graph.nodes[0].metadata["by"] = "me"
    noted.graph.inputs[0].metadata["by"] = "me"
    assert needed_ir_version(noted) == 3
