"""Each operator of the family on each of its element types, and on scalars and empty tensors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot.ops.math
from ingot.dtypes import Array, DType
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ops.catalog import standard
from ingot.ops.define import Operator
from ingot.ops.facts import Fact, of_constant

SHAPES: list[tuple[int, ...]] = [(), (0,), (1,), (2, 0, 3), (2, 3)]
FOLDER = Path(ingot.ops.math.__path__[0])
NAMES = sorted({name for file in FOLDER.glob("*.py") for name in re.findall(r'@operator\("(\w+)"', file.read_text())})
NEEDS = {"BitShift": {"direction": "LEFT"}}
AXIS = ("CumSum", "CumProd")


def newest(name: str) -> Operator:
    found = standard().newest("", name)
    assert found is not None
    return found


def sample(dtype: DType, shape: tuple[int, ...]) -> Array:
    count = int(np.prod(shape))
    if dtype is DType.STRING:
        return np.array([f"s{i}" for i in range(count)], object).reshape(shape)
    if dtype is DType.BOOL:
        return np.asarray(np.arange(count) % 2 == 0).reshape(shape)
    return (np.arange(count) % 5 + 1).astype(dtype.numpy).reshape(shape)


def dtypes_of(operator: Operator, position: int) -> list[DType]:
    names = operator.inputs[min(position, len(operator.inputs) - 1)].types.at(operator.version)
    return [d for d in DType if d and f"tensor({d.onnx_name})" in names]


def arguments(operator: Operator, dtype: DType, shape: tuple[int, ...]) -> list[Array]:
    first = next(formal for formal in operator.inputs if formal.types.name not in ("B", "T2"))
    arrays = []
    for formal in operator.inputs:
        if formal.optional:
            arrays.append(sample(dtype, ()))
        elif formal.types.name == first.types.name or operator.name == "Pow":
            arrays.append(sample(dtype, shape))
        elif formal.types.name == "B":
            arrays.append(sample(DType.BOOL, shape))
        else:
            arrays.append(np.array(0, np.int64))
    return arrays


@pytest.mark.parametrize("name", NAMES)
def test_the_result_has_the_type_and_shape_that_inference_says(name: str) -> None:
    operator = newest(name)
    data = 1 if name == "Where" else 0
    for dtype in dtypes_of(operator, data):
        for shape in SHAPES:
            if name in (*AXIS, "Hardmax") and not shape:
                continue  # a scalar has no axis
            given = arguments(operator, dtype, shape)
            copies = [x.copy() for x in given]
            attributes: dict[str, Any] = {k: p.default for k, p in operator.attributes.items()} | NEEDS.get(name, {})
            with np.errstate(all="ignore"):
                result = operator.evaluate(*given, **attributes)
            assert isinstance(result, np.ndarray)
            for x, copy in zip(given, copies, strict=True):
                np.testing.assert_array_equal(x, copy)
            for facts in (
                [Fact(TensorType(DType.of(x.dtype), x.shape)) for x in given],
                [of_constant(Tensor(x)) for x in given],
            ):
                answer = operator.rules["infer"](*facts, **attributes)
                fact = answer if isinstance(answer, Fact) else Fact(answer)
                assert fact.dtype is DType.of(result.dtype)
                assert fact.shape == result.shape
                if fact.elements is not None:
                    assert list(fact.elements) == result.reshape(-1).tolist()
            assert operator.rules["infer"](*[Fact()] * len(given), **attributes) in (None, TensorType(DType.BOOL))


OF_FLOATS = [name for name in NAMES if {"tensor(bfloat16)"} <= newest(name).outputs[0].types.at(99) and name != "Where"]


@pytest.mark.parametrize("name", OF_FLOATS)
def test_narrow_floats_are_rounded_once(name: str) -> None:
    operator = newest(name)
    values = np.linspace(-3, 3, 41)
    for dtype in (DType.BFLOAT16, DType.FLOAT16):
        x = values.astype(dtype.numpy)
        given = [x if formal.types.name != "T2" else np.array(0) for formal in operator.inputs if not formal.optional]
        wide = [x.astype(np.float32) if x.dtype == dtype.numpy else x for x in given]
        with np.errstate(all="ignore"):
            result = operator.evaluate(*given)
            expected = operator.evaluate(*wide).astype(dtype.numpy)
        np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))
