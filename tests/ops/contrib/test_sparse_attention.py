"""Attention that blocks show parts of, against onnxruntime, whose past and present are one buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

from ingot.errors import InputError
from ops.contrib.peer import MICROSOFT, of_one_node, on_ingot, same
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(24)
B, HEADS, KV, SIZE, ROOM, BLOCK = 2, 4, 2, 16, 64, 16


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def patterns() -> tuple[Any, Any]:
    """All blocks before, and the first and the last of them."""
    columns = [[list(range(i + 1)) for i in range(4)], [sorted({0, i}) for i in range(4)]]
    rows = [np.cumsum([0, *map(len, each)]) for each in columns]
    flat = [[column for row in each for column in row] for each in columns]
    most = max(map(len, flat))
    return np.array(rows, np.int32), np.array([each + [-1] * (most - len(each)) for each in flat], np.int32)


def inputs(length: int, totals: Any, packed: bool, rotary: bool, dtype: Any) -> list[Any]:
    parts = [floats(B, length, n * SIZE, dtype=dtype) for n in (HEADS, KV, KV)]
    args = [np.concatenate(parts, axis=2), None, None] if packed else parts
    args += [floats(B, KV, ROOM, SIZE, dtype=dtype) for _ in range(2)]
    args += [*patterns(), np.array([max(totals)], np.int32), np.array(totals, np.int32)]
    return args + ([floats(ROOM, SIZE // 2, dtype=dtype) for _ in range(2)] if rotary else [])


OPTIONS: dict[str, Any] = {"num_heads": HEADS, "kv_num_heads": KV, "sparse_block_size": BLOCK}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("length", "totals", "packed", "rotary"),
    [(40, (40, 40), False, False), (40, (40, 40), True, True), (1, (50, 50), False, True), (1, (64, 64), True, False)],
)
def test_blocks_show_what_is_seen(length: int, totals: Any, packed: bool, rotary: bool, dtype: Any) -> None:
    args = inputs(length, totals, packed, rotary, dtype)
    options: dict[str, Any] = {**OPTIONS, "do_rotary": int(rotary)}
    model = of_one_node("SparseAttention", args, 3, MICROSOFT, (), options)
    feeds = {f"x{i}": x for i, x in enumerate(args) if x is not None}
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, x in feeds.items():
        if name not in ("x3", "x4"):
            binding.bind_cpu_input(name, x)
    shared = [onnxruntime.OrtValue.ortvalue_from_numpy(feeds[name].copy()) for name in ("x3", "x4")]
    for place, buffer in enumerate(shared):
        binding.bind_ortvalue_input(f"x{3 + place}", buffer)
        binding.bind_ortvalue_output(f"y{1 + place}", buffer)
    binding.bind_output("y0")
    session.run_with_iobinding(binding)
    expected = [binding.copy_outputs_to_cpu()[2], *(buffer.numpy() for buffer in shared)]
    tolerance = 1e-4 if dtype is np.float32 else 5e-3
    for results in on_ingot(model, feeds, compiled=False):
        same(results, expected, tolerance, tolerance)


def test_each_sequence_has_its_own_length() -> None:
    """onnxruntime reads the scores of other rows where lengths differ: they are written as if all had the longest."""
    args = inputs(1, (50, 35), False, False, np.float32)

    def run(*given: Any) -> Any:
        return evaluate("SparseAttention", *given, domain="com.microsoft", version=1, outputs=3, **OPTIONS)

    both = run(*args)
    for row, total in enumerate((50, 35)):
        alone = [x[row : row + 1] for x in args[:5]]
        lengths = [np.array([total], np.int32)] * 2
        for mine, other in zip(both, run(*alone, *args[5:7], *lengths), strict=True):
            np.testing.assert_allclose(mine[row], other[0], rtol=1e-6)


def test_lengths_beyond_a_buffer_are_refused() -> None:
    args = inputs(1, (65, 3), False, False, np.float32)
    with pytest.raises(InputError, match=r"lengths are \[65, 3\]"):
        evaluate("SparseAttention", *args, domain="com.microsoft", version=1, outputs=3, **OPTIONS)
