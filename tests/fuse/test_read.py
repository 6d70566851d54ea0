"""Reading a tensor gives its kernels, or what has to be stored first and why: it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fuse.programs import LIMITS, parameter, weights
from ingot.fuse.decision import Reading, Store
from ingot.fuse.kernels import read
from ingot.fuse.read import Placed, Requirement
from ingot.fuse.sides import constant_right
from ingot.fuse.strides import c_strides, strides_of
from ingot.loops.ir import Buffer
from ingot.prim import apply, concat, contract, pad, permute, reduce_, reshape, scan, window
from ingot.prim.make import count
from ingot.prim.tensor import Contract, Tensor

A = parameter("a", 2, 3, 4)
X = parameter("x", 6, 8)
SUMS = contract(X, weights(8, 2, 3), "mk,kab->mab")


def placed(tensor: Tensor, order: Sequence[int] | None = None) -> Placed:
    buffer = Buffer("memory", tensor.dtype, count(tensor.shape))
    return Placed(buffer, c_strides(tensor.shape) if order is None else strides_of(tensor.shape, order))


def reading(tensor: Tensor, stored: Mapping[Tensor, Placed], chain: tuple[Tensor, ...] = ()) -> Reading | Requirement:
    sides = constant_right(chain[0]) if chain and isinstance(chain[0], Contract) else None
    return read(
        Store("k1", tensor, placed(tensor), tuple(range(tensor.rank)), chain=chain, sides=sides), stored, LIMITS
    )


EXP = apply("exp", A)
TURNED = permute(EXP, (1, 0, 2))
SCAN = scan("add", A, 1)
CONCAT = concat([A, A], 0)
ROWS = reduce_("add", A, (2,))
COLUMNS = reduce_("add", A, (0,))
BIASED = apply("add", SUMS, parameter("bias", 3))
STRIDED = permute(window(pad(parameter("image", 4, 9), (0, 1), (0, 1), 0.0), (1,), (3,), (1,), (1,)), (1, 0, 2))
CONVOLVED = contract(STRIDED, weights(4, 3, 16), "wci,cio->wo")


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (apply("negate", pad(EXP, (0, 0, 1), (0, 0, 1), 0.0)), Requirement(EXP, "what is computed is padded")),
        (apply("negate", reshape(TURNED, (6, 4))), Requirement(TURNED, "a reshape joins its axes", in_order=True)),
        (apply("negate", SCAN), Requirement(SCAN, "it is no function of single elements")),
        (apply("negate", CONCAT), Requirement(CONCAT, "it is no function of single elements")),
        (apply("add", ROWS, COLUMNS), Requirement(COLUMNS, "another reduction goes over other rows")),
        (apply("add", ROWS, apply("exp", ROWS)), None),
    ],
    ids=["pad", "reshape", "scan", "concat", "other rows", "the same rows"],
)
def test_what_a_tensor_requires(tensor: Tensor, expected: Requirement | None) -> None:
    result = reading(tensor, {A: placed(A)})
    assert (result if isinstance(result, Requirement) else None) == expected


def test_what_is_required_is_loaded_once_it_is_stored() -> None:
    tensor = apply("negate", pad(EXP, (0, 0, 1), (0, 0, 1), 0.0))
    result = reading(tensor, {A: placed(A), EXP: placed(EXP)})
    assert isinstance(result, Reading)
    (kernel,) = result.kernels
    assert len(kernel.reads) == 1


def test_a_reshape_joins_axes_only_of_what_lies_in_their_order() -> None:
    tensor = apply("negate", reshape(TURNED, (6, 4)))
    assert isinstance(reading(tensor, {TURNED: placed(TURNED)}), Reading)
    required = reading(tensor, {TURNED: placed(TURNED, (1, 0, 2))})
    assert required == Requirement(tensor.reads[0], "a reshape joins its axes", in_order=True)


def test_an_epilogue_may_keep_columns_from_being_one_axis() -> None:
    bias = BIASED.reads[1]
    stored = {X: placed(X), _source(bias): placed(_source(bias))}
    assert reading(BIASED, stored, (SUMS, BIASED)) == Requirement(SUMS, "its columns lie in several axes")
    assert isinstance(reading(SUMS, stored, (SUMS,)), Reading)


def test_a_side_of_a_contraction_is_stored() -> None:
    computed = apply("exp", X)
    product = contract(computed, weights(8, 4), "mk,kn->mn")
    assert reading(product, {X: placed(X)}, (product,)) == Requirement(computed, "a product reads it")


def test_padding_in_short_pieces_is_stored() -> None:
    image = _source(STRIDED)
    required = reading(CONVOLVED, {image: placed(image)}, (CONVOLVED,))
    assert isinstance(required, Requirement)
    assert required.why == "its padding is read in short pieces"


def _source(tensor: Tensor) -> Tensor:
    while tensor.reads:
        tensor = tensor.reads[0]
    return tensor
