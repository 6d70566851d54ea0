"""One node said in an older version: the nodes it becomes, which compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ingot
from ingot.builder.versions import ir_version_of
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.versions.convert import convert_versions


def said(
    op_type: str,
    inputs: Sequence[Any],
    to: int,
    *,
    fixed: Sequence[int] = (),
    dims: Sequence[Sequence[int | str] | None] | None = None,
    outputs: int = 1,
    rtol: float = 0,
    atol: float = 0,
    **attributes: Any,
) -> list[str]:
    """The operators that say a node of opset 28 in `to`, once they were found valid there and to compute the same.

    Inputs with an index in `fixed` are initialisers; `dims` are declared in place of the shapes of the inputs.
    """
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None and i not in fixed}
    expected = ingot.Session(_one_node(op_type, inputs, fixed, dims, outputs, attributes)).run(None, feeds)
    model = converted(op_type, inputs, to, fixed=fixed, dims=dims, outputs=outputs, **attributes)
    model.ir_version = max(8, ir_version_of(to))
    for value, wanted in zip(model.graph.outputs, expected, strict=True):
        value.type = TensorType(DType.of(wanted.dtype), (None,) * wanted.ndim)  # the checker wants some
    proto = ingot.to_onnx(model)
    onnx.checker.check_model(proto)
    for result, wanted in zip(ingot.Session(proto).run(None, feeds), expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        if rtol:
            np.testing.assert_allclose(result.astype(np.float64), wanted.astype(np.float64), rtol, atol)
        else:
            np.testing.assert_array_equal(result, wanted)
    return [node.op_type for node in model.graph]


def refusal(op_type: str, inputs: Sequence[Any], to: int, **how: Any) -> str:
    """Why a node cannot be expressed in `to`."""
    with pytest.raises(UnsupportedError) as caught:
        converted(op_type, inputs, to, **how)
    return caught.value.message


def only(op_type: str, inputs: Sequence[Any], to: int, **how: Any) -> Node:
    """The one node that a node becomes."""
    (node,) = converted(op_type, inputs, to, **how).graph
    return node


def converted(
    op_type: str,
    inputs: Sequence[Any],
    to: int,
    *,
    fixed: Sequence[int] = (),
    dims: Sequence[Sequence[int | str] | None] | None = None,
    outputs: int = 1,
    **attributes: Any,
) -> Model:
    """The model of one node, in `to`."""
    model = ingot.from_onnx(_one_node(op_type, inputs, fixed, dims, outputs, attributes))
    convert_versions(model, {"": to})
    return model


def _one_node(
    op_type: str,
    inputs: Sequence[Any],
    fixed: Sequence[int],
    dims: Sequence[Sequence[int | str] | None] | None,
    outputs: int,
    attributes: dict[str, Any],
) -> onnx.ModelProto:
    given = [(i, np.asarray(x)) for i, x in enumerate(inputs) if x is not None]
    node = helper.make_node(
        op_type, ["" if x is None else f"x{i}" for i, x in enumerate(inputs)], [f"y{i}" for i in range(outputs)]
    )
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    graph = helper.make_graph(
        [node],
        "one node",
        [
            helper.make_tensor_value_info(f"x{i}", int(DType.of(x.dtype)), x.shape if dims is None else dims[i])
            for i, x in given
            if i not in fixed
        ],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output],
        [numpy_helper.from_array(x, f"x{i}") for i, x in given if i in fixed],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=10)
