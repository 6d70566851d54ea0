"""Constants, ranges and random numbers beyond the standard's cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import CheckError, IngotError, InputError
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import TensorType
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact
from ingot.ops.generator.keys import node_key

FLOATS = [DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16]


class Source:
    """A runtime whose random numbers are those of a seed."""

    wanted = (True,)

    def key(self, seed: float | None) -> int:
        return node_key(seed or 0)


def run(name: str, *inputs: Any, **attributes: Any) -> Any:
    operator = standard().newest("", name)
    assert operator is not None
    if operator.runtime is not None:
        attributes[operator.runtime] = Source()
    return operator.evaluate(*inputs, **attributes)


@pytest.mark.parametrize(
    ("attributes", "dtype", "expected"),
    [
        ({"value_int": 3}, np.int64, 3),
        ({"value_ints": (1, 2)}, np.int64, [1, 2]),
        ({"value_ints": ()}, np.int64, []),
        ({"value_float": 1.5}, np.float32, 1.5),
        ({"value_floats": ()}, np.float32, []),
        ({"value_string": "a"}, np.object_, "a"),
        ({"value_strings": ("a", "bc")}, np.object_, ["a", "bc"]),
        ({"value": Tensor(np.array([1, 2], ml_dtypes.int4))}, ml_dtypes.int4, [1, 2]),
    ],
)
def test_a_constant_is_what_its_attribute_holds(attributes: dict[str, Any], dtype: Any, expected: Any) -> None:
    result = run("Constant", **attributes)
    assert result.dtype == dtype
    assert result.tolist() == expected


def test_a_sparse_constant_is_made_dense() -> None:
    sparse = SparseTensor(Tensor(np.array([5, 6], np.float32)), Tensor(np.array([1, 3], np.int64)), (2, 2))
    assert run("Constant", sparse_value=sparse).tolist() == [[0, 5], [0, 6]]


def test_a_constant_has_exactly_one_value() -> None:
    for attributes in ({}, {"value_int": 1, "value_float": 1.0}):
        with pytest.raises(CheckError, match="one value"):
            run("Constant", **attributes)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.float8_e5m2, ml_dtypes.int4, np.bool_, np.uint64])
def test_a_tensor_is_filled_in_the_type_of_its_value(dtype: Any) -> None:
    result = run("ConstantOfShape", np.array([2, 0, 3]), value=Tensor(np.array([1], dtype)))
    assert result.dtype == dtype
    assert result.shape == (2, 0, 3)
    scalar = run("ConstantOfShape", np.zeros(0, np.int64), value=Tensor(np.array([1], dtype)))
    assert scalar.shape == ()
    assert int(scalar) == 1


def test_a_fill_of_two_values_or_a_negative_size_is_refused() -> None:
    with pytest.raises(CheckError, match="2 elements"):
        run("ConstantOfShape", np.array([2]), value=Tensor(np.array([1, 2])))
    with pytest.raises(InputError, match="negative"):
        run("ConstantOfShape", np.array([2, -1]))


def test_ones_lie_on_the_diagonal_asked_for() -> None:
    for k in (-9, -2, -1, 0, 1, 3, 9, 2**62, -(2**62)):
        for shape in ((2, 4), (4, 2), (0, 3), (3, 0)):
            result = run("EyeLike", np.zeros(shape, np.float32), k=k, dtype=7)
            assert result.dtype == np.int64
            bounded = max(min(k, 10), -10)
            assert result.tolist() == np.eye(*shape, bounded, dtype=np.int64).tolist()
    assert run("EyeLike", np.zeros((2, 2), bool)).dtype == np.bool_
    assert run("EyeLike", np.zeros((2, 2), np.float32), dtype=16).dtype == ml_dtypes.bfloat16
    with pytest.raises(CheckError):
        run("EyeLike", np.zeros((2, 2), np.float32), dtype=8)


def scalars(dtype: Any, *values: float) -> list[Any]:
    return [np.array(value, dtype) for value in values]


@pytest.mark.parametrize(
    "dtype", [np.int16, np.int32, np.int64, np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
)
def test_a_range_has_its_type(dtype: Any) -> None:
    for start, limit, delta in ((0, 5, 2), (5, 0, -2), (3, 3, 1), (5, 0, 1), (-3, 4, 3)):
        result = run("Range", *scalars(dtype, start, limit, delta))
        assert result.dtype == dtype
        assert result.astype(np.int64).tolist() == list(range(start, limit, delta))


def test_a_range_of_16_bit_floats_does_not_stop_where_a_sum_would() -> None:
    result = run("Range", *scalars(np.float16, 0, 4096, 1))
    assert result.size == 4096
    assert result[-1] == 4096
    with pytest.raises(CheckError, match="stash_type"):
        run("Range", *scalars(np.float16, 0, 4096, 1), stash_type=7)


def test_a_range_at_the_ends_of_int64() -> None:
    low, high = -(2**63), 2**63 - 1
    assert run("Range", *scalars(np.int64, low, low + 2, 1)).tolist() == [low, low + 1]
    assert run("Range", *scalars(np.int64, low, high, 2**62)).tolist() == [low, -(2**62), 0, 2**62]
    assert run("Range", *scalars(np.int64, high, low, low)).tolist() == [high, -1]


@pytest.mark.parametrize("values", [(0, 5, 0), (0, np.nan, 1), (0, np.inf, 1)])
def test_a_range_without_end_is_refused(values: Any) -> None:
    with pytest.raises(IngotError):
        run("Range", *scalars(np.float32, *values))
    with pytest.raises(IngotError):
        run("Range", *scalars(np.int64, 0, 5, 0))
    with pytest.raises(IngotError):
        run("Range", np.zeros(2), np.ones(()), np.ones(()))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_random_numbers_have_the_type_and_the_range_asked_for(dtype: DType) -> None:
    uniform = run("RandomUniform", shape=(1000,), dtype=int(dtype), low=-1.0, high=1.0)
    assert uniform.dtype == dtype.numpy
    wide = uniform.astype(np.float64)
    assert wide.min() >= -1
    assert wide.max() < 1
    assert abs(wide.mean()) < 0.1
    normal = run("RandomNormalLike", np.zeros((50, 20), dtype.numpy), mean=3.0, scale=2.0)
    assert normal.dtype == dtype.numpy
    assert abs(normal.astype(np.float64).mean() - 3) < 0.3
    assert abs(normal.astype(np.float64).std() - 2) < 0.3
    assert run("RandomUniformLike", np.zeros((2, 0), np.int32), dtype=int(dtype)).shape == (2, 0)
    assert run("RandomNormal", shape=(), dtype=int(dtype)).shape == ()
    assert run("RandomUniform", shape=(), dtype=int(dtype)).shape == ()


def test_bfloat16_never_rounds_up_to_the_end() -> None:
    drawn = run("RandomUniform", shape=(20000,), dtype=16)
    assert float(drawn.max()) < 1


def test_random_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(CheckError, match="floats"):
        run("RandomNormalLike", np.zeros(2, np.int64))
    with pytest.raises(CheckError):
        run("RandomUniform", shape=(2,), low=2.0, high=1.0)
    with pytest.raises(InputError):
        run("RandomUniform", shape=(2**40,))
    with pytest.raises(InputError):
        run("RandomUniform", shape=(-1,))


def test_bernoulli_follows_its_probabilities() -> None:
    chances = np.repeat(np.array([0, 1, 0.25], np.float32), 4000).reshape(3, 4000)
    drawn = run("Bernoulli", chances, dtype=9)
    assert drawn.dtype == np.bool_
    assert not drawn[0].any()
    assert drawn[1].all()
    assert abs(drawn[2].mean() - 0.25) < 0.05
    assert run("Bernoulli", chances.astype(np.float16)).dtype == np.float16
    for bad in (1.5, -0.1, np.nan):
        with pytest.raises(InputError, match="outside 0 to 1"):
            run("Bernoulli", np.array([bad], np.float32))


def test_multinomial_never_draws_what_has_no_weight() -> None:
    logarithms = np.array([[-np.inf, 0, -np.inf, np.log(3)], [1000, 1000, -np.inf, -np.inf]])
    drawn = run("Multinomial", logarithms, sample_size=4000, dtype=7)
    assert drawn.dtype == np.int64
    assert set(drawn[0].tolist()) == {1, 3}
    assert set(drawn[1].tolist()) == {0, 1}
    assert abs((drawn[0] == 3).mean() - 0.75) < 0.05
    assert run("Multinomial", np.zeros((0, 3), np.float32)).shape == (0, 1)
    for bad in (np.full((1, 2), -np.inf), np.full((1, 2), np.nan), np.zeros((1, 0))):
        with pytest.raises(InputError):
            run("Multinomial", bad)


def test_random_shapes_are_inferred() -> None:
    catalog = standard()
    x = Fact(TensorType(DType.FLOAT32, (symbol("n"), 4)))
    for name in ("RandomNormalLike", "RandomUniformLike", "Bernoulli"):
        found = catalog.get("", name, 28).rules["infer"](x, dtype=None)
        assert found == x.type
    drawn = catalog.get("", "Multinomial", 28).rules["infer"](x, dtype=6, sample_size=3)
    assert drawn == TensorType(DType.INT32, (symbol("n"), 3))
