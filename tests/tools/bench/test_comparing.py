"""What measurements and outputs are made into: spreads, means, differences, reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.tools.bench.arithmetic import Arithmetic
from ingot.tools.bench.cores import allowed, chosen
from ingot.tools.bench.difference import difference
from ingot.tools.bench.limit import fma_limit
from ingot.tools.bench.process import reason
from ingot.tools.bench.results import ModelRows, Row, Spread, means, spread

A = np.array([1.0, -4.0], np.float32)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([A], [A], (0, 0, None)),
        ([A + 0.5], [A], (0.5, 0.125, None)),
        ([A], [A + np.array([0, np.nan], np.float32)], (np.inf, np.inf, "output 0 has NaN in other places")),
        ([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])], (0, 0, None)),
        ([np.array([np.inf])], [np.array([-np.inf])], (np.inf, np.inf, None)),
        ([A], [A[:1]], (np.inf, np.inf, "output 0 is [2], not [1]")),
        ([A], [A, A], (np.inf, np.inf, "1 outputs, not 2")),
        ([A, A + 1], [A, A], (1, 0.25, None)),
        ([np.array([True])], [np.array([False])], (1, np.inf, None)),
        ([np.array([2**40], np.int64)], [np.array([2**40 - 4], np.int64)], (4, 4 / (2**40 - 4), None)),
        ([np.array(["a"], object)], [np.array(["b"], object)], (np.inf, np.inf, "output 0 has other words")),
        ([[A, None], {"k": A}], [[A, None], {"k": A + 2}], (2, 2 / 3, None)),
        ([np.array([3 + 4j])], [np.array([0j])], (5, np.inf, None)),
        ([np.zeros((0, 3))], [np.zeros((0, 3))], (0, 0, None)),
    ],
)
def test_the_largest_difference_of_any_output(ours: list[Any], theirs: list[Any], expected: tuple[Any, ...]) -> None:
    found = difference(ours, theirs)
    assert (found.absolute, found.relative) == pytest.approx(expected[:2])
    assert found.kind == expected[2]


def test_a_spread_has_the_quartiles() -> None:
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0, 1.0, 5)
    assert spread([2.0]) == Spread(2.0, 2.0, 2.0, 2.0, 1)


def test_means_are_geometric_and_leave_out_what_failed() -> None:
    def model(ratio: float | None) -> ModelRows:
        rows = [Row("ingot", "", 2, None, None, 1.0), Row("peer", "", 2, None, None, ratio)]
        return ModelRows("m", {}, Arithmetic(0, True), rows)

    assert means([model(2.0), model(8.0), model(None)]) == {"peer": {2: pytest.approx(4.0)}}


def test_a_missing_package_is_named_with_how_to_install_it() -> None:
    said = "No module named 'openvino'"
    assert reason("openvino", "ModuleNotFoundError", said, "openvino") == (
        "openvino is not installed: pip install openvino"
    )
    assert reason("openvino", "ModuleNotFoundError", "No module named 'x'", "x").endswith("No module named 'x'")
    assert reason("onnxruntime", "Fail", "opset 28 is not known", None) == "opset 28 is not known"


def test_threads_get_cores_of_their_own() -> None:
    free = allowed()
    for threads in {1, len(free)}:
        assert len(set(chosen(threads))) == threads
        assert set(chosen(threads)) <= set(free)


def test_the_limit_is_what_a_core_may_reach() -> None:
    slowest, fastest = 1e9, 4 * 64 * 6e9  # nothing has more than four units of 512 bits, or 6 GHz
    assert slowest < fma_limit(allowed()[:1]) < fastest
