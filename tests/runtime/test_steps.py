"""The steps of a compiled model, watched one by one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import ingot
from ingot.prim.tensor import Call, RandomKey, SizeReading
from ingot.runtime.plan import KernelStep
from ingot.session import Session

MODEL = """<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4]>
g (float[n, 3] x, bool c) => (float[n, 3] y) {
  s = Softmax (x)
  b = If (c) <
    then_branch = t () => (float[n, 3] a) {
      a = ai.onnx.ml.LabelEncoder <keys_floats = [0.0], values_floats = [1.0]> (s)
    },
    else_branch = e () => (float[n, 3] a) { a = Neg (s) }
  >
  y = Abs (b)
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_each_step_is_seen_with_its_time_and_the_sizes(threads: int) -> None:
    session = Session(ingot.parse_model(MODEL), providers=("cpu", "reference"), threads=threads, fallback=False)
    seen: list[tuple[str, float, dict[str, int]]] = []

    def observe(step: KernelStep | Call, seconds: float, sizes: Mapping[str, int]) -> None:
        name = step.node.op_type if isinstance(step, Call) else step.name
        seen.append((name, seconds, dict(sizes)))

    feeds = {"x": np.arange(12, dtype=np.float32).reshape(4, 3), "c": np.array(False)}
    (watched,) = session.run(None, feeds, observe_steps=observe)
    (alone,) = session.run(None, feeds)
    np.testing.assert_array_equal(watched, alone)
    assert session.compiled is not None
    steps = [step for step in session.compiled.scheduled.steps if not isinstance(step, SizeReading | RandomKey)]
    expected = [step.node.op_type if isinstance(step, Call) else step.name for step in steps]
    expected.insert(expected.index("If"), "b2k1")  # the second branch, which is taken, before the node it is in
    assert [name for name, _, _ in seen] == expected
    assert "If" in expected
    assert all(seconds > 0 for _, seconds, _ in seen)
    assert all(sizes["n"] == 4 for _, _, sizes in seen)
