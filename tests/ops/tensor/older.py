"""Models written as text, said in an older version: what they become, and that they compute the same there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import ingot
from ingot.builder.versions import ir_version_of
from ingot.errors import UnsupportedError
from ingot.ir.model import Model
from ingot.versions.convert import convert_versions


def older(graph: str, to: int, *feeds: Mapping[str, Any], opset: int = 28) -> list[str]:
    """The operators that say a graph in version `to`; it is valid there, and for each of `feeds` computes the same."""
    proto = _proto(graph, opset)
    wanted = [ingot.Session(proto).run(None, dict(feed)) for feed in feeds]
    model = converted(graph, to, opset=opset)
    model.ir_version = max(8, ir_version_of(to))
    said = ingot.to_onnx(model)
    onnx.checker.check_model(said)
    session = ingot.Session(said)
    for feed, expected in zip(feeds, wanted, strict=True):
        for result, array in zip(session.run(None, dict(feed)), expected, strict=True):
            assert (result.dtype, result.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(result, array)
    return [node.op_type for node in model.graph]


def refusal(graph: str, to: int, *, opset: int = 28) -> str:
    """Why a graph cannot be expressed in version `to`."""
    with pytest.raises(UnsupportedError) as caught:
        converted(graph, to, opset=opset)
    return caught.value.message


def converted(graph: str, to: int, *, opset: int = 28) -> Model:
    """The model of a graph, in version `to`."""
    model = ingot.from_onnx(_proto(graph, opset))
    convert_versions(model, {"": to})
    return model


def floats(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def _proto(graph: str, opset: int) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {graph}')
