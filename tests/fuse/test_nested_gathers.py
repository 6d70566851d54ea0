"""Gathers of gathers: nothing is shared between the places that they read, so that some of them are stored."""

from __future__ import annotations

import numpy as np

import ingot


def test_indices_that_are_followed_again_and_again_are_compiled() -> None:
    """`x[x]`, taken thirty times, would be an expression of a billion gathers."""
    steps = " ".join(f"x{number + 1} = Gather (x{number}, x{number})" for number in range(30))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (int64[n] x0) => (y) {{ {steps} y = Identity (x30) }}'
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    x = np.array([3, 2, 4, 1, 0], np.int64)
    expected = x
    for _ in range(30):
        expected = expected[expected]
    np.testing.assert_array_equal(session(x), expected)
    assert session.compiled is not None
    assert not session.compiled.program.calls


def test_a_long_chain_of_gathers_is_compiled() -> None:
    """As deep as it is long, were it one expression."""
    steps = " ".join(f"x{number + 1} = Gather (table, x{number})" for number in range(200))
    text = (
        f'<ir_version: 8, opset_import: ["" : 17]> g (int64[m] table, int64[n] x0) => (y) {{ {steps} y = Neg (x200) }}'
    )
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    table, x = np.array([1, 2, 0], np.int64), np.array([2, 0], np.int64)
    expected = x
    for _ in range(200):
        expected = table[expected]
    np.testing.assert_array_equal(session(table, x), -expected)
