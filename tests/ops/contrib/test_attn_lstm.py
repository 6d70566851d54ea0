"""An LSTM that attends, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, InputError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(27)
LENGTH, BATCH, SIZE, HIDDEN, STEPS, DEPTH, ATTENTION = 5, 3, 4, 6, 7, 8, 5


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) / 2).astype(np.float32)


def inputs(directions: int, above: int, lengths: bool) -> list[Any]:
    width = above or DEPTH
    args = [
        floats(LENGTH, BATCH, SIZE),
        floats(directions, 4 * HIDDEN, SIZE + width),
        floats(directions, 4 * HIDDEN, HIDDEN),
    ]
    args += [floats(directions, 8 * HIDDEN), np.array([5, 2, 4], np.int32) if lengths else None, None, None, None]
    args += [floats(directions, HIDDEN, ATTENTION), floats(directions, DEPTH, ATTENTION), floats(directions, ATTENTION)]
    args += [floats(BATCH, STEPS, DEPTH), np.array([7, 3, 5], np.int32) if lengths else None]
    return [*args, floats(directions, HIDDEN + DEPTH, above)] if above else args if lengths else args[:-1]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("above", [0, 3])
@pytest.mark.parametrize("lengths", [False, True])
def test_memories_are_attended_to(direction: str, above: int, lengths: bool) -> None:
    args = inputs(2 if direction == "bidirectional" else 1, above, lengths)
    options: dict[str, Any] = {"direction": direction, "hidden_size": HIDDEN}
    agrees("AttnLSTM", *args, outputs=3, compiled=False, rtol=1e-4, atol=1e-5, **options)


def test_a_memory_is_needed() -> None:
    args = inputs(1, 0, True)

    def run(*given: Any) -> Any:
        return evaluate("AttnLSTM", *given, domain="com.microsoft", version=1, outputs=3, hidden_size=HIDDEN)

    with pytest.raises(CheckError, match="needs the weights of queries"):
        run(*args[:4])
    args[-1][0] = 8
    with pytest.raises(InputError, match="for memories of 7 steps"):
        run(*args)
