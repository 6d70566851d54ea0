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
        ([parse("(n + 7)//8"), parse("max(n - 1, 0)//8 + 1")], parse("(n + 7)//8")),
        ([parse("max(min(n, 1) + n - 1, 0)"), N], N),
        ([0, 1], 0),
    ],
)
def test_sizes_broadcast_to_what_is_certain(sizes: list[Dim | None], expected: Dim | None) -> None:
    assert broadcast_dims(sizes) == expected


@given(st.sampled_from(["n", "min(n, 512)", "n + 1", "2*n", "(n + 1)//2", "n//2", "max(n, 3)"]), st.integers(0, 600))
def test_what_is_certain_is_what_comes_out(text: str, n: int) -> None:
    _holds(N, parse(text), n)


@given(
    st.sampled_from(["(n + 7)//8", "max(n - 1, 0)//8 + 1", "max(n, 1)", "n", "max(min(n, 1) + n - 1, 0)", "min(n, 1)"]),
    st.sampled_from(["(n + 7)//8", "max(n - 1, 0)//8 + 1", "max(n, 1)", "n", "1 + max(n - 1, 0)", "n*n"]),
    st.integers(0, 40),
)
def test_sizes_that_differ_only_where_there_is_nothing_broadcast_as_they_do_then(a: str, b: str, n: int) -> None:
    _holds(parse(a), parse(b), n)


def _holds(first: Dim, other: Dim, n: int) -> None:
    a, b = evaluate(first, {"n": n}), evaluate(other, {"n": n})
    found = broadcast_dims([first, other])
    if found is not None and (a == b or 1 in (a, b)):
        assert evaluate(found, {"n": n}) == (a if b == 1 else b)


def test_numbers_that_differ_do_not_broadcast() -> None:
    with pytest.raises(ShapeError, match=r"sizes 3 and 4 do not broadcast, in shapes \[2, 3\] and \[4\]"):
        broadcast((2, 3), (4,))
