"""Rules that operators share: broadcasting of sizes that are expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.dims import Dim, evaluate, minimum, parse, symbol
from ingot.errors import ShapeError
from ingot.ops.shapes import broadcast, broadcast_dims

N, M = symbol("n"), symbol("m")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1], 1),
        ([1, N], N),
        ([N, N], N),
        ([N, 4], 4),
        ([N, M], None),
        ([None, 4], 4),
        ([None, N], None),
        ([minimum(N, 512), N], N),
        ([N, minimum(N, 512)], N),
        ([parse("n//2"), N], None),
        ([0, 1], 0),
    ],
)
def test_sizes_broadcast_to_what_is_certain(sizes: list[Dim | None], expected: Dim | None) -> None:
    assert broadcast_dims(sizes) == expected


@given(st.sampled_from(["n", "min(n, 512)", "n + 1", "2*n", "(n + 1)//2", "n//2", "max(n, 3)"]), st.integers(0, 600))
def test_what_is_certain_is_what_comes_out(text: str, n: int) -> None:
    other = parse(text)
    a, b = n, evaluate(other, {"n": n})
    found = broadcast_dims([N, other])
    if found is not None and (a == b or 1 in (a, b)):
        assert evaluate(found, {"n": n}) == (a if b == 1 else b)


def test_numbers_that_differ_do_not_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"sizes 3 and 4 do not broadcast, in shapes \[2, 3\] and \[4\]"):
        broadcast((2, 3), (4,))
