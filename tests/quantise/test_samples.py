"""Calibration data: its many forms give the same, and what is wrong with it names the sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError
from ingot.quantise.samples import Samples
from quantise.models import normal, parsed

X = normal(12, 3)


def model() -> ingot.Model:
    return parsed("g (float[n, 3] x) => (float[n, 2] y) { y = MatMul (x, w) }", w=normal(3, 2))


def two_inputs() -> ingot.Model:
    return parsed(
        "g (float[n, 3] x, float[n, 2] z) => (float[n, 2] y) { a = MatMul (x, w) y = Add (a, z) }", w=normal(3, 2)
    )


class Reader:
    """A data reader in the shape of onnxruntime's."""

    def __init__(self) -> None:
        self._rows = iter(X)

    def get_next(self) -> dict[str, Any] | None:
        row = next(self._rows, None)
        return None if row is None else {"x": row[None]}


def once() -> Iterator[Any]:
    for row in X:
        yield row[None]


@pytest.mark.parametrize("form", ["array", "mapping", "list", "tuples", "generator", "reader", "file", "npz", "folder"])
def test_every_form_of_data_gives_the_same(form: str, tmp_path: Path) -> None:
    np.save(tmp_path / "all.npy", X)
    np.savez(tmp_path / "all.npz", x=X)
    (tmp_path / "rows").mkdir()
    for number, row in enumerate(X):
        np.save(tmp_path / "rows" / f"{number:02}.npy", row[None])
    data: dict[str, Any] = {
        "array": X,
        "mapping": {"x": X},
        "list": [{"x": row[None]} for row in X],
        "tuples": [(row[None],) for row in X],
        "generator": once(),
        "reader": Reader(),
        "file": tmp_path / "all.npy",
        "npz": str(tmp_path / "all.npz"),
        "folder": tmp_path / "rows",
    }
    result = ingot.quantize(model(), data[form])
    assert ingot.to_text(result.model) == ingot.to_text(ingot.quantize(model(), X).model)
    assert result.report.samples > 0


def test_rows_of_one_array_are_cut_into_what_the_model_takes() -> None:
    fixed = parsed("g (float[4, 3] x) => (float[4, 2] y) { y = MatMul (x, w) }", w=normal(3, 2))
    seen: list[tuple[int, int]] = []
    ingot.quantize(fixed, X, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "there is no calibration data"),
        ([X, X[:, :2]], r"sample 1: input 'x' is float32\[n, 3\], got float32\[12, 2\]"),
        ([X, X.astype(np.float64)], "sample 1: input 'x' is float32"),
        ([X, X, np.full_like(X, np.nan)], "sample 2: input 'x' holds NaN"),
        ([np.full_like(X, np.inf)], "sample 0: input 'x' holds infinity"),
        ([X, X[:0]], r"sample 1: input 'x' is empty, float32\[0, 3\]"),
        (
            [np.where(np.arange(12)[:, None] == 7, np.float32(np.nan), X)],
            "sample 0: input 'x' holds NaN, first in row 7",
        ),
        ([{"y": X}], "sample 0: the model has no input 'y'"),
        ([{}], "sample 0: missing input 'x'"),
        (7, "a int is no calibration data"),
        ("nowhere.npy", "nowhere.npy"),
        (None, "a static quantisation needs data"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_data_that_does_not_fit_is_refused_with_its_sample(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ingot.quantize(model(), data)


def test_a_value_that_is_not_a_number_inside_names_value_and_sample() -> None:
    logs = parsed("g (float[n, 3] x) => (float[n, 2] y) { l = Log (x) y = MatMul (l, w) }", w=normal(3, 2))
    with pytest.raises(InputError, match="sample 1: value 'l' is NaN inside of the model"):
        ingot.quantize(logs, [np.abs(X), -np.abs(X)])


def test_one_array_is_not_enough_for_two_inputs() -> None:
    with pytest.raises(InputError, match="the data is one array, the model has 2 inputs"):
        ingot.quantize(two_inputs(), X)
    result = ingot.quantize(two_inputs(), {"x": X, "z": normal(12, 2)})
    assert result.report.samples == 1


def test_data_that_is_read_once_is_read_on_after_its_first_samples() -> None:
    with Samples(once(), list(model().graph.inputs)) as samples:
        assert len(samples.first(3)) == 3
        assert len(list(samples)) == 12
        assert samples.count == 12
        rows = np.concatenate([feeds["x"] for feeds in samples])
    np.testing.assert_array_equal(rows, X)


def test_an_input_that_has_a_default_is_measured_by_it() -> None:
    text = "g (float[n, 3] x, float[3, 2] d) => (float[n, 2] y) { y = MatMul (x, d) }"
    both = parsed(text)
    default = both.graph.inputs[1]
    default.constant = ingot.Tensor(normal(3, 2), name="d")
    both.graph.initializers.add(default)
    result = ingot.quantize(both, X, activation_products=True)
    assert result.report.snr is not None
    assert result.report.snr > 30
