"""Indices out of range are refused where what they are for is empty, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import FallbackWarning, InputError
from ingot.session import Session

HEAD = '<ir_version: 13, opset_import: ["" : 28]> '
GATHER = HEAD + "g (float[n, m] x, int64[k] i) => (y) { y = Gather <axis = 1> (x, i) }"
SUMMED = HEAD + "g (float[n, m] x, int64[k] i) => (y) { z = Gather <axis = 1> (x, i) y = ReduceSum (z) }"
FIXED = HEAD + "g (float[n, m] x) => (y) <int64[2] i = {0, 2}> { y = Gather <axis = 1> (x, i) }"
FROM_BEHIND = HEAD + "g (float[n, m] x) => (y) <int64[2] i = {0, -2}> { y = Gather <axis = 1> (x, i) }"
GATHER_ND = HEAD + "g (float[n, m] x, int64[k, 1] i) => (y) { y = GatherND (x, i) }"
SCATTER_ND = HEAD + "g (float[n, m] x, int64[k, 1] i, float[k, m] u) => (y) { y = ScatterND (x, i, u) }"


def outcome(session: Session, feeds: dict[str, Any]) -> tuple[int, ...] | str:
    try:
        return tuple(session.run(None, feeds)[0].shape)
    except InputError as error:
        return error.message


def agree(text: str, *feeds: dict[str, Any]) -> None:
    model = ingot.parse_model(text)
    reference = Session(model, providers=("reference",))
    compiled = Session(model, providers=("cpu", "reference"), fallback=False)
    assert compiled.compiled is not None
    assert not compiled.compiled.program.calls
    expected = [outcome(reference, given) for given in (*feeds, *feeds)]
    assert [outcome(compiled, given) for given in (*feeds, *feeds)] == expected
    assert any(isinstance(each, str) for each in expected)
    assert any(isinstance(each, tuple) for each in expected)


def x(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def i(*values: int) -> Any:
    return np.array(values, np.int64)


@pytest.mark.parametrize("text", [GATHER, SUMMED])
def test_a_column_that_is_not_there_is_missed_without_rows(text: str) -> None:
    given = [(x(2, 3), i(1)), (x(0, 3), i(1)), (x(0, 3), i(3)), (x(0, 3), i()), (x(0, 0), i(0)), (x(2, 3), i(-4))]
    with pytest.warns(FallbackWarning, match="assumed to be equal are not"):
        agree(text, *({"x": a, "i": b} for a, b in given))


@pytest.mark.parametrize("text", [FIXED, FROM_BEHIND])
def test_columns_known_when_the_model_is_compiled_are_missed_too(text: str) -> None:
    agree(text, *({"x": x(*shape)} for shape in ((2, 3), (0, 3), (0, 2), (0, 1), (0, 0))))


def test_rows_that_are_not_there_are_missed_without_columns() -> None:
    given = [(x(2, 3), i(1)), (x(2, 0), i(1)), (x(2, 0), i(2)), (x(2, 0), i())]
    with pytest.warns(FallbackWarning, match="assumed to be equal are not"):
        agree(GATHER_ND, *({"x": a, "i": b.reshape(-1, 1)} for a, b in given))
    feeds = [{"x": a, "i": b.reshape(-1, 1), "u": x(len(b), a.shape[1])} for a, b in given]
    with pytest.warns(FallbackWarning, match="assumed to be equal are not"):
        agree(SCATTER_ND, *feeds)
