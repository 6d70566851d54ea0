"""Sizes as plain data."""

from __future__ import annotations

import json

import pytest

from ingot.dims import Expr, Packing, parse


@pytest.mark.parametrize(
    "text",
    ["n", "3*n*m**2 - 7", "(n + 1)//2*((n - 3)//4 + m)", "max(n, m, 4)*5 + n % 3", "min(`a b`//2, (m//3 + n)//5)"],
)
def test_a_size_is_packed_as_plain_data_and_unpacked_as_it_was(text: str) -> None:
    packing = Packing()
    size = parse(text)
    assert isinstance(size, Expr)
    data = json.loads(json.dumps([packing.packed(size), packing.packed(size), packing.calls]))
    unpacking = Packing(data[2])
    assert unpacking.unpacked(data[0]) == unpacking.unpacked(data[1]) == size
    assert str(unpacking.unpacked(data[0])) == str(size)


def test_calls_that_sizes_share_are_packed_once() -> None:
    packing = Packing()
    for text in ("n//2", "n//2 + 1", "(n//2 + m)//(m + 3)"):
        size = parse(text)
        assert isinstance(size, Expr)
        packing.packed(size)
    assert len(packing.calls) == 2
