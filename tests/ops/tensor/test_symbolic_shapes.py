"""What is inferred from sizes with names: shapes computed inside a model come out exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dims import parse, symbol
from ingot.dtypes import DType
from ingot.errors import CheckError, ShapeError
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ops.catalog import standard
from ingot.ops.facts import Fact, of_constant

N, S = symbol("n"), symbol("s")
FAR = 2**63 - 1


def infer(name: str, *inputs: Fact, **attributes: Any) -> Any:
    """What the newest operator of a name makes of facts, as the driver asks it."""
    operator = standard().newest("", name)
    assert operator is not None
    defaults = {
        operator.keywords[key]: parameter.default
        for key, parameter in operator.attributes.items()
        if not parameter.required
    }
    found = operator.rules["infer"](*inputs, **{**defaults, **attributes})
    return [_fact(part) for part in found] if isinstance(found, list | tuple) else _fact(found)


def _fact(found: Any) -> Fact:
    return found if isinstance(found, Fact) else Fact(found)


def floats(*shape: Any) -> Fact:
    return Fact(TensorType(DType.FLOAT32, shape))


def sizes(*elements: Any) -> Fact:
    return Fact(TensorType(DType.INT64, (len(elements),)), elements)


def number(element: Any) -> Fact:
    return Fact(TensorType(DType.INT64, ()), (element,))


def constant(values: Any) -> Fact:
    return of_constant(Tensor(np.array(values, np.int64)))


UNKNOWN = Fact(TensorType(DType.FLOAT32, None))


def test_a_shape_taken_apart_and_put_together_reshapes_exactly() -> None:
    x = floats(N, S, 64)
    shape = infer("Shape", x)
    assert shape.elements == (N, S, 64)
    batch = infer("Unsqueeze", infer("Gather", shape, constant(0)), constant([0]))
    rest = infer("Slice", shape, constant([1]), constant([2]), constant([0]))
    target = infer("Concat", batch, rest, constant([4, 16]), axis=0)
    assert target.elements == (N, S, 4, 16)
    heads = infer("Reshape", x, target)
    assert heads.shape == (N, S, 4, 16)
    assert infer("Transpose", heads, perm=(0, 2, 1, 3)).shape == (N, 4, S, 16)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [
        ((N, S, 64), (0, -1), (N, 64 * S)),
        ((N, S, 64), (-1, 64), (N * S, 64)),
        ((N, 12), (0, 3, -1), (N, 3, 4)),
        ((N, S), (S, -1), (S, N)),
        ((N, S), (None, S), (N, S)),
        ((N, S), (None, None), (None, None)),
        ((N,), (2, -1), (2, parse("n//2"))),
        ((2, 3), (), None),
    ],
)
def test_reshape(shape: Any, target: Any, expected: Any) -> None:
    if expected is None:
        with pytest.raises(ShapeError, match="6 elements do not fit"):
            infer("Reshape", floats(*shape), sizes(*target))
    else:
        assert infer("Reshape", floats(*shape), sizes(*target)).shape == expected


def test_reshape_of_what_is_unknown_is_unknown() -> None:
    assert infer("Reshape", UNKNOWN, sizes(0, -1, N)).shape == (None, None, N)
    assert infer("Reshape", floats(N), Fact(TensorType(DType.INT64, (3,)))).shape == (None,) * 3
    assert infer("Reshape", floats(N), Fact(TensorType(DType.INT64, (None,)))).shape is None
    assert infer("Reshape", floats(0, N), sizes(0, -1)).shape == (0, N)
    assert infer("Reshape", floats(0, 3), sizes(3, 0), allowzero=1).shape == (3, 0)


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [
        (0, FAR, 1, N),
        (0, 2**31 - 1, 1, N),
        (1, FAR, 1, parse("max(n - 1, 0)")),
        (0, -1, 1, parse("max(n - 1, 0)")),
        (-1, FAR, 1, parse("min(n, 1)")),
        (0, FAR, 2, parse("(n + 1)//2")),
        (-1, -FAR, -1, N),
        (FAR, -FAR - 1, -1, N),
        (0, N, 1, N),
        (0, N - 1, 1, parse("max(n - 1, 0)")),
        (N - 1, N, 1, parse("min(n, 1)")),
        (0, S, 1, parse("min(n, s)")),
        (0, S - 2, 1, None),
        (0, None, 1, None),
        (0, 3, None, None),
    ],
)
def test_slice(start: Any, end: Any, step: Any, expected: Any) -> None:
    found = infer("Slice", floats(N, 8), sizes(start), sizes(end), constant([0]), sizes(step))
    assert found.shape == (expected, 8)


@pytest.mark.parametrize("step", [-3, -2, -1, 1, 2, 3])
def test_a_slice_has_the_length_it_has_for_every_size(step: int) -> None:
    for start in (-FAR, -4, -1, 0, 2, 5, FAR):
        for end in (-FAR, -4, -1, 0, 2, 5, FAR):
            found = infer("Slice", floats(N), sizes(start), sizes(end), constant([0]), sizes(step)).shape[0]
            for size in range(8):
                bound = found.substitute({"n": size}) if hasattr(found, "substitute") else found
                assert bound == len(range(size)[start:end:step]), (start, end, size, found)


def test_slice_of_unknown_axes_keeps_the_rank() -> None:
    axes = Fact(TensorType(DType.INT64, (1,)))
    assert infer("Slice", floats(N, 8), sizes(0), sizes(1), axes).shape == (None, None)
    assert infer("Slice", UNKNOWN, sizes(0), sizes(1)).shape is None


def test_expand_tile_range_and_fill_have_the_sizes_they_are_given() -> None:
    assert infer("Expand", floats(1, S), sizes(N, 1, 1)).shape == (N, 1, S)
    assert infer("Expand", floats(N, S), sizes(N, S)).shape == (N, S)
    assert infer("Tile", floats(N, 2), sizes(3, S)).shape == (3 * N, 2 * S)
    assert infer("ConstantOfShape", sizes(N, 4)).type == TensorType(DType.FLOAT32, (N, 4))
    steps = infer("Range", number(0), number(S), number(1))
    assert steps.type == TensorType(DType.INT64, (S,))
    assert infer("Range", number(N), number(N + S), number(2)).shape == (parse("(s + 1)//2"),)
    assert infer("Range", number(N), number(N + 3), number(1)).elements == (N, N + 1, N + 2)
    assert infer("Range", number(5), number(0), number(-2)).elements == (5, 3, 1)


def test_a_filled_tensor_of_integers_is_followed() -> None:
    ones = infer("ConstantOfShape", sizes(2), value=Tensor(np.array([7], np.int64)))
    assert ones.elements == (7, 7)
    many = infer("ConstantOfShape", sizes(1000), value=Tensor(np.array([7], np.int64)))
    assert many.elements is None
    assert many.shape == (1000,)


def test_sizes_are_followed_wherever_they_are_moved() -> None:
    x = sizes(N, S, 3)
    assert infer("Gather", x, constant([2, -3])).elements == (3, N)
    assert infer("Gather", x, constant(9)).elements is None
    assert infer("Squeeze", infer("Slice", x, constant([1]), constant([2]))).elements == (S,)
    assert infer("Split", x, constant([1, 2]), axis=0)[1].elements == (S, 3)
    assert [part.elements for part in infer("Split", x, axis=0, num_outputs=3)] == [(N,), (S,), (3,)]
    assert infer("Identity", x).elements == (N, S, 3)
    assert infer("Expand", number(N), sizes(2)).elements == (N, N)
    assert infer("Reshape", x, constant([3, 1])).elements == (N, S, 3)
    assert infer("Transpose", infer("Reshape", sizes(N, S, 3, 4), constant([2, 2]))).elements == (N, 3, S, 4)
    assert infer("Tile", sizes(N), constant([2])).elements == (N, N)
    assert infer("ScatterND", x, constant([[1]]), sizes(7)).elements == (N, 7, 3)
    assert infer("ScatterElements", x, constant([0]), sizes(S)).elements == (S, S, 3)
    assert infer("Pad", x, constant([1, 0])).elements == (0, N, S, 3)
    assert infer("Concat", x, Fact(TensorType(DType.INT64, (1,))), axis=0).elements == (N, S, 3, None)
    assert infer("Size", floats(N, S, 2)).elements == (2 * N * S,)
    assert infer("Size", floats(N, None)).elements == (None,)


def test_split_into_equal_parts_of_a_named_size() -> None:
    assert [part.shape for part in infer("Split", floats(3 * N), axis=0, num_outputs=3)] == [(N,)] * 3
    parts = infer("Split", floats(N), axis=0, num_outputs=2)
    for size in range(9):
        found = [part.shape[0].substitute({"n": size}) for part in parts]
        assert found == [-(-size // 2), size // 2]
    lengths = sizes(2, None)
    assert [part.shape for part in infer("Split", floats(N), lengths)] == [(2,), (N - 2,)]


def test_what_only_data_decides_is_left_open() -> None:
    assert infer("NonZero", floats(N, S)).type == TensorType(DType.INT64, (2, None))
    assert infer("Compress", floats(N, S), Fact(TensorType(DType.BOOL, (N,))), axis=1).shape == (N, None)
    assert infer("Unique", floats(N, S))[2].shape == (N * S,)
    assert infer("Squeeze", floats(1, N)).shape is None
    assert infer("Squeeze", floats(1, 3)).shape == (3,)
    assert infer("OneHot", floats(N), number(S), floats(2)).shape == (N, S)


@pytest.mark.parametrize(
    ("name", "inputs", "attributes"),
    [
        ("Concat", [floats(2, 3), floats(3, 3)], {"axis": 1}),
        ("Concat", [floats(2, 3), floats(3)], {"axis": 0}),
        ("Squeeze", [floats(2, 3), constant([0])], {}),
        ("Gather", [floats(2, 3), constant(0)], {"axis": 2}),
        ("Reshape", [floats(2, 3), sizes(-1, -1)], {}),
        ("Reshape", [floats(2, 3), sizes(-2)], {}),
        ("Reshape", [floats(2), sizes(1, 0)], {}),
        ("Expand", [floats(2), sizes(3)], {}),
        ("Tile", [floats(2), sizes(1, 1)], {}),
        ("Split", [floats(5), sizes(2, 2)], {}),
        ("Transpose", [floats(2, 3)], {"perm": (0, 0)}),
        ("Unsqueeze", [floats(2), constant([3])], {}),
        ("Pad", [floats(2), constant([1, 1, 1, 1])], {}),
        ("Pad", [floats(2), constant([-2, -1])], {}),
        ("Slice", [floats(2), constant([0]), constant([1]), constant([0]), constant([0])], {}),
        ("DepthToSpace", [floats(1, 6, 2, 2)], {"blocksize": 2}),
        ("ConstantOfShape", [sizes(-1)], {}),
        ("Range", [number(0), number(3), number(0)], {}),
        ("GatherND", [floats(2, 3), constant([[0, 0, 0]])], {}),
        ("ScatterElements", [floats(2), constant([[0]]), floats(1, 1)], {}),
        ("ScatterND", [floats(2, 3), constant([[0]]), floats(1, 4)], {}),
        ("ReverseSequence", [floats(4, 3), floats(2)], {}),
        ("Trilu", [floats(4)], {}),
        ("TensorScatter", [floats(2, 4, 3), floats(2, 5, 3)], {}),
        ("Constant", [], {}),
    ],
)
def test_what_cannot_be_is_refused_before_it_runs(name: str, inputs: list[Fact], attributes: dict[str, Any]) -> None:
    with pytest.raises(CheckError):
        infer(name, *inputs, **attributes)


def test_an_input_left_out_before_others_is_no_unknown_one() -> None:
    out = Fact(present=False)
    assert infer("Slice", floats(N, 8), sizes(0), sizes(FAR), out, sizes(2)).shape == (parse("(n + 1)//2"), 8)
    assert infer("Pad", floats(N, 8), sizes(1, 1), out, constant([1])).shape == (N, 10)
    assert infer("Squeeze", floats(1, 3), out).shape == (3,)


def test_large_results_are_not_followed() -> None:
    assert infer("Expand", number(N), sizes(2**30)).elements is None
    assert infer("Tile", sizes(N), constant([2**40])).shape == (2**40,)
    assert infer("Pad", sizes(N), constant([2**50, 0])).elements is None


def test_unknown_inputs_give_unknown_outputs() -> None:
    nothing = Fact()
    for name, count, attributes in [
        ("Reshape", 2, {}),
        ("Slice", 5, {}),
        ("Expand", 2, {}),
        ("Gather", 2, {}),
        ("Concat", 2, {"axis": 0}),
        ("Pad", 4, {}),
        ("Tile", 2, {}),
        ("Range", 3, {}),
        ("Squeeze", 2, {}),
        ("Unsqueeze", 2, {}),
        ("Split", 2, {"axis": 0}),
        ("Transpose", 1, {}),
        ("Flatten", 1, {}),
        ("GatherND", 2, {}),
        ("ScatterND", 3, {}),
        ("Unique", 1, {}),
        ("OneHot", 3, {}),
        ("CastLike", 2, {}),
        ("EyeLike", 1, {}),
        ("RandomNormalLike", 1, {}),
    ]:
        infer(name, *[nothing] * count, **attributes)
