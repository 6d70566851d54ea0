"""The standard's node cases through `to_torch`: what one gives, compared as the suite has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import ingot
from conformance.cases import UNPREDICTABLE, plain, same
from ingot.convert.torch.dtypes import to_array, to_tensor
from ingot.dtypes import DType

_HELD = {DType.INT4: np.int8, DType.INT2: np.int8, DType.UINT4: np.uint8, DType.UINT2: np.uint8}
"""Types that a module holds in bytes."""


def run_case(case: Any) -> None:
    """ConvertError if torch has not what the case needs; AssertionError where an output is not what it should be."""
    model = ingot.from_onnx(case.model)
    module = ingot.to_torch(model)
    drawn = any(node.op_type in UNPREDICTABLE for node in model.nodes())
    drawn |= "training_dropout" in case.name and "zero_ratio" not in case.name  # drawn by numpy's generator there
    for inputs, outputs in case.data_sets:
        with torch.no_grad():
            results = module(*(tensor(plain(given)) for given in inputs))
        results = results if isinstance(results, tuple) else (results,)
        assert len(results) == len(outputs)
        for value, result, expected in zip(model.graph.outputs, results, outputs, strict=True):
            found, wanted = array(result), held(plain(expected))
            if drawn:
                assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            else:
                same(found, wanted, case.rtol, case.atol, value.name)


def tensor(item: Any) -> Any:
    """What a case gives, as torch has it."""
    if isinstance(item, list):
        return [tensor(each) for each in item]
    return None if item is None else to_tensor(held(np.asarray(item)))


def array(item: Any) -> Any:
    """What a module gives, as numpy has it."""
    if isinstance(item, list | tuple):
        return [array(each) for each in item]
    return None if item is None else to_array(item)


def held(item: Any) -> Any:
    """An array of a type that modules hold in another as it is held."""
    if isinstance(item, list):
        return [held(each) for each in item]
    if item is None or not hasattr(item, "dtype") or item.dtype.kind == "O":
        return item
    other = _HELD.get(DType.of(item.dtype))
    return item if other is None else item.astype(other)
