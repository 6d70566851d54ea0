"""Models of one node said in an older version: what they become, and that they compute the same there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ingot
from ingot.builder.versions import ir_version_of
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.versions.convert import convert_versions


def older(
    op_type: str,
    *inputs: Any,
    opset: Any,
    to: Any,
    dims: Any = None,
    constants: Any = (),
    outputs: Any = 1,
    rtol: Any = 1e-5,
    **attributes: Any,
) -> list[str]:
    """The operators that say a node in version `to`; it is valid by onnx's checker, and computes what the node did.

    Inputs are arrays or None; those in `dims` are declared with these sizes, those in `constants` are initialisers.
    """
    proto, feeds = _model(op_type, inputs, opset, dims or {}, constants, outputs, attributes)
    expected = ingot.Session(proto).run(None, feeds)
    model = ingot.from_onnx(proto)
    convert_versions(model, {"": to})
    model.ir_version = max(8, ir_version_of(to))
    said = ingot.to_onnx(model)
    onnx.checker.check_model(said)
    for result, wanted in zip(ingot.Session(said).run(None, feeds), expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        found, known = result.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(found, known, rtol=rtol, atol=rtol)
        zeros = (found == 0) & (known == 0)
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(known[zeros]))
    return [node.op_type for node in model.graph]


def refusal(op_type: str, *inputs: Any, opset: Any, to: Any, **said: Any) -> str:
    """Why a node cannot be expressed in version `to`."""
    names = ("dims", "constants", "outputs")
    dims, constants, outputs = (said.pop(name, default) for name, default in zip(names, ({}, (), 1), strict=True))
    proto, _ = _model(op_type, inputs, opset, dims, constants, outputs, said)
    with pytest.raises(UnsupportedError) as caught:
        convert_versions(ingot.from_onnx(proto), {"": to})
    return caught.value.message


def _model(
    op_type: str,
    inputs: Sequence[Any],
    opset: int,
    dims: Mapping[int, Sequence[Any]],
    constants: Collection[int],
    outputs: int,
    attributes: Mapping[str, Any],
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    arrays = {index: np.asarray(x) for index, x in enumerate(inputs) if x is not None}
    names = [f"x{index}" if index in arrays else "" for index in range(len(inputs))]
    results = [f"y{index}" for index in range(outputs)]
    declared = [
        helper.make_tensor_value_info(f"x{index}", int(DType.of(array.dtype)), list(dims.get(index, array.shape)))
        for index, array in arrays.items()
        if index not in constants
    ]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, results, **attributes)],
        "one node",
        declared,
        [onnx.ValueInfoProto(name=name) for name in results],
        [numpy_helper.from_array(arrays[index], f"x{index}") for index in constants],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
    return proto, {f"x{index}": array for index, array in arrays.items() if index not in constants}
