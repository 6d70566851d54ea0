"""Ranges over a stream of numbers: what each calibration keeps, in constant memory."""

from __future__ import annotations

import numpy as np
import pytest

from ingot.dtypes import DType
from ingot.ops.quantization.parameters import code_range, decode, encode, parameters
from ingot.quantise.histogram import HALF, Histogram
from ingot.quantise.options import options_from
from ingot.quantise.ranges import observer_for
from ingot.quantise.thresholds import entropy_range


def outliers() -> np.ndarray:
    x = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    x[::20_000] = 50
    return x


def range_of(calibration: str, x: np.ndarray, **settings: object) -> tuple[float, float]:
    observer = observer_for(options_from({"calibration": calibration, **settings}))()
    for part in np.array_split(x, 10):
        observer.update(part)
    return observer.range()


def test_extremes_are_those_of_all_batches() -> None:
    x = outliers()
    assert range_of("minmax", x) == (float(x.min()), 50.0)


@pytest.mark.parametrize("calibration", ["entropy", "percentile"])
def test_rare_outliers_are_cut_off(calibration: str) -> None:
    low, high = range_of(calibration, outliers(), percentile=99.9)
    assert -5 <= low <= -2
    assert 2 <= high <= 10


def test_a_range_of_the_least_squared_error_beats_the_extremes() -> None:
    x = np.random.default_rng(0).laplace(size=100_000).astype(np.float32)
    errors = []
    for calibration in ("minmax", "mse"):
        low, high = range_of(calibration, x)
        chosen = parameters(np.asarray(low), np.asarray(high), DType.UINT8, symmetric=False)
        codes = encode(x, chosen.scale, chosen.zero_point, chosen.low, chosen.high)
        errors.append(float(((decode(codes, chosen.scale, chosen.zero_point) - x) ** 2).mean()))
    assert errors[1] < errors[0] * 0.9


def test_an_average_follows_the_batches() -> None:
    low, high = range_of("average", np.repeat([1.0, 3.0], 500).astype(np.float32))
    assert 1 < high < 3
    assert 1 <= low < 3


def test_a_histogram_doubles_until_a_number_fits_and_loses_none() -> None:
    histogram = Histogram()
    for reach in (0.0, 1.0, 0.1, 30.0, -700.0):
        histogram.update(np.asarray([reach, reach / 2], np.float32))
    assert histogram.counts.sum() == 10
    assert histogram.counts.size == 2 * HALF
    assert (histogram.low, histogram.high) == (-700, 30)
    assert histogram.counts[:HALF].sum() == 2


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8, DType.INT4, DType.UINT4, DType.INT2])
@pytest.mark.parametrize("symmetric", [False, True])
def test_zero_has_a_code_and_numbers_are_half_a_step_away(dtype: DType, symmetric: bool) -> None:
    for low, high in ((-1.0, 3.0), (0.5, 2.0), (-4.0, -1.0), (0.0, 0.0)):
        chosen = parameters(np.asarray(low), np.asarray(high), dtype, symmetric)
        least, most = code_range(dtype, symmetric)
        x = np.linspace(low, high, 101).astype(np.float32)
        codes = encode(x, chosen.scale, chosen.zero_point, least, most)
        assert least <= codes.min()
        assert codes.max() <= most
        step = float(chosen.scale)
        assert np.abs(decode(codes, chosen.scale, chosen.zero_point) - x).max() <= step * 0.5001 + 1e-6
        assert (
            decode(
                encode(np.zeros((), np.float32), chosen.scale, chosen.zero_point, least, most),
                chosen.scale,
                chosen.zero_point,
            )
            == 0
        )


def test_many_zeros_do_not_let_entropy_cut_off_the_rest() -> None:
    rng = np.random.default_rng(0)
    histogram = Histogram()
    histogram.update(np.concatenate([np.zeros(200_000), np.clip(rng.random(10_000) * 8, 0, 6)]).astype(np.float32))
    low, high = entropy_range(histogram, 256)
    assert low == 0
    assert high > 5


@pytest.mark.parametrize("calibration", ["entropy", "percentile", "mse"])
def test_numbers_too_small_for_a_scale_are_zeros(calibration: str) -> None:
    observer = observer_for(options_from({"calibration": calibration}))()
    observer.update(np.full(9, 1e-41, np.float32))
    assert observer.range() == (0, 0)
    observer.update(np.linspace(-1, 1, 999, dtype=np.float32))
    low, high = observer.range()
    assert low < -0.5 < 0.5 < high
