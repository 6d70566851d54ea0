"""MelWeightMatrix as machine code, of numbers that a run computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lower.machine import runs

GRAPH = "g (int64 b, int64 n, int64 r, float l, float u) => (y) "


def case(bands: int, length: int, rate: int, lower: float, upper: float) -> dict[str, Any]:
    numbers = {"b": np.int64(bands), "n": np.int64(length), "r": np.int64(rate)}
    return {**numbers, "l": np.float32(lower), "u": np.float32(upper)}


@pytest.mark.parametrize("kind", [1, 10, 11, 16])
def test_weights_of_bands_are_those_of_the_reference(kind: int) -> None:
    cases = [case(8, 16, 8192, 0, 4096), case(80, 512, 16000, 20, 7600), case(1, 1, 8, 0, 4), case(0, 16, 8, 0, 4)]
    cases += [case(40, 639, 16000, 125, 7500), case(64, 1024, 44100, 0, 22050)]
    runs(f"{GRAPH} {{ y = MelWeightMatrix <output_datatype = {kind}> (b, n, r, l, u) }}", *cases, rtol=1e-5)


def test_a_corner_that_is_at_an_index_but_for_rounding_is_at_it() -> None:
    runs(
        f"{GRAPH} {{ y = MelWeightMatrix (b, n, r, l, u) }}",
        *(case(3, 640 * k - 1, 16000, 125, 7500) for k in range(1, 9)),
    )


def test_numbers_that_make_no_sense_are_reported() -> None:
    wrong = [
        case(8, 0, 8192, 0, 9),
        case(8, 16, 0, 0, 9),
        case(8, 16, 8, -1, 3),
        case(8, 16, 8, 4, 3),
        case(8, 16, 8, 0, 99),
    ]
    wrong += [case(-1, 16, 8192, 0, 9), case(8, 16, 8192, 0, np.inf), case(8, 16, 8192, np.nan, 4)]
    runs(f"{GRAPH} {{ y = MelWeightMatrix (b, n, r, l, u) }}", *wrong)
