"""The benchmarks of the provider `cuda`, as far as they need no GPU: what they count, and their operators."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from benchmarks import gpu, gpu_memory

from ingot import Session

torch = pytest.importorskip("torch")


def test_what_there_was_no_time_for_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    gpu._worker("graphs", 1, 2, -1.0, 7)
    assert json.loads(capsys.readouterr().out)["counts"] == {"graphs that there was no time for": 3}


CASES = gpu_memory.cases(torch)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_an_operator_is_what_pytorch_is_asked_for(case: Any) -> None:
    arrays = gpu_memory.arrays_of(case, np.dtype(np.float32), 2)
    model, feeds = gpu_memory.model_of(case, "float", arrays)
    (result,) = Session(model, providers=("reference",)).run(None, feeds)
    expected = case.peer(*(torch.from_numpy(array) for array in arrays)).numpy()
    np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol=1e-3, atol=1e-3)
