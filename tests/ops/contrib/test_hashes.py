"""Hashes of n-grams against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from ops.contrib.peer import agrees

RNG = np.random.default_rng(26)
MOST, HEADS = 3, 2


def stripped(*args: Any) -> list[Any]:
    found = list(args)
    while found[-1] is None:
        found.pop()
    return found


def tables(dtype: Any) -> list[Any]:
    return [RNG.integers(1, 10**4, MOST).astype(dtype), np.array([101, 103, 107, 109], dtype)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize(
    ("end", "reset", "segments"), [(False, 0, False), (True, 0, True), (True, 1, False), (True, 1, True)]
)
def test_hashes_of_rows(dtype: Any, past: bool, end: bool, reset: int, segments: bool) -> None:
    ids = RNG.integers(0, 6, (2, 7)).astype(dtype)
    args = [ids, *tables(dtype), RNG.integers(0, 6, (2, MOST - 1)).astype(dtype) if past else None]
    args += [np.arange(4).astype(dtype) * 1000 if past else None, np.asarray(3, dtype) if end else None]
    args += [np.sort(RNG.integers(0, 3, (2, 7)), axis=1).astype(np.int32) if segments else None]
    options: dict[str, Any] = {"max_ngram_size": MOST, "n_head_per_ngram": HEADS, "pad_id": 5, "reset_on_eos": reset}
    for constant in ((), (2,)):
        compiled = bool(constant)
        agrees("NGramHashMapping", *stripped(*args), outputs=2, constant=constant, compiled=compiled, **options)
        args[0] = args[0] * 10**8  # products wrap around


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("reset", [0, 1])
def test_hashes_of_sequences_in_one_row(past: bool, reset: int) -> None:
    ids = RNG.integers(0, 6, 9).astype(np.int64)
    args = [ids, *tables(np.int64), np.array([0, 1, 5, 9], np.int32)]
    args += [RNG.integers(0, 6, (3, MOST - 1)) if past else None, None, np.asarray(3)]
    args += [np.sort(RNG.integers(0, 3, 9)).astype(np.int32), np.zeros((3, MOST - 1), np.int32) if past else None]
    args += [np.array([1, 3, 0], np.int32)]
    options: dict[str, Any] = {"max_ngram_size": MOST, "n_head_per_ngram": HEADS, "pad_id": 5, "reset_on_eos": reset}
    options["state_update_capacity"] = 2
    for constant in ((), (2,)):
        agrees("VarlenNGramHashMapping", *args, outputs=4, constant=constant, compiled=bool(constant), **options)


@pytest.mark.parametrize("ends", [[0, 5, 5, 9], [1, 3, 5, 9], [0, 3, 5, 8], [0, 7, 5, 9], [0, 3, 99, 9]])
def test_sequences_that_do_not_fit_their_row_are_refused(ends: list[int]) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
    g (int64[9] x, int32[n] ends) => (h, p, s, t) <int64[3] m = {3, 5, 7}, int64[4] v = {101, 103, 107, 109}> {
        h, p, s, t = com.microsoft.VarlenNGramHashMapping <max_ngram_size = 3, n_head_per_ngram = 2, pad_id = 5>
        (x, m, v, ends)
    }"""
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"))
    feeds = {"x": np.arange(9), "ends": np.array([0, 3, 5, 9], np.int32)}
    for _ in range(2):
        session.run(None, feeds)
    with pytest.raises(InputError):
        session.run(None, feeds | {"ends": np.array(ends, np.int32)})
    assert session.compiled is not None
    assert not session.compiled.program.calls
