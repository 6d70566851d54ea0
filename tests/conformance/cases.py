"""The standard's own test cases, and how one is run and compared."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import ingot
from ingot.infer import infer
from ingot.ops.catalog import standard
from ingot.runtime.evaluate import Evaluation
from ingot.versions.upgrade import upgrade

UNPREDICTABLE = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
"""Operators that draw random numbers: the standard names no generator, so that only types and shapes are compared."""


@cache
def node_cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the generator overflows casts on purpose
        return {case.name: case for case in load_model_tests(kind="node")}


def run_case(case: Any) -> None:
    """Upgrade, infer and evaluate a case; AssertionError where an output is not what it should be."""
    model = ingot.from_onnx(case.model)
    types_before = {value.name: value.type for value in model.graph.outputs}
    upgrade(model)
    infer(model)
    for inputs, outputs in case.data_sets:
        feeds = dict(zip(model.graph.inputs.names, map(plain, inputs), strict=False))
        results = Evaluation(model, standard()).run(feeds)
        assert len(results) == len(outputs)
        for name, result, expected in zip(types_before, results, outputs, strict=True):
            if any(node.op_type in UNPREDICTABLE for node in model.nodes()):
                assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            else:
                same(result, plain(expected), case.rtol, case.atol, name)


def plain(item: Any) -> Any:
    """An array, a list or None for what a case gives, which may be a protobuf object."""
    if isinstance(item, onnx.TensorProto):
        return numpy_helper.to_array(item)
    if isinstance(item, onnx.SequenceProto):
        return numpy_helper.to_list(item)
    if isinstance(item, onnx.OptionalProto):
        return numpy_helper.to_optional(item)
    return item


def same(result: Any, expected: Any, rtol: float, atol: float, name: str) -> None:
    if isinstance(expected, list):
        assert isinstance(result, list)
        assert len(result) == len(expected)
        for mine, theirs in zip(result, expected, strict=True):
            same(mine, theirs, rtol, atol, name)
        return
    if expected is None or not hasattr(expected, "dtype"):
        assert result == expected, f"{name}: {result!r} is not {expected!r}"
        return
    assert isinstance(result, np.ndarray), f"{name} is a {type(result).__name__}"
    assert result.dtype == expected.dtype, f"{name} is {result.dtype}, not {expected.dtype}"
    assert result.shape == expected.shape, f"{name} has shape {result.shape}, not {expected.shape}"
    if expected.dtype == np.object_:
        assert result.tolist() == expected.tolist()
    elif expected.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected)
    else:
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        if expected.dtype.name == "bfloat16":
            rtol = max(rtol, 2**-6)  # as the suite's own comparator has it
        np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol=rtol, atol=atol)
