"""Linear attention, its convolution and positions of three kinds against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, UnsupportedError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(21)
B, L, K, V = 2, 5, 4, 6


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return (RNG.standard_normal(shape) / 2).astype(dtype)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize(("heads", "keys", "values", "past"), [(4, 2, 2, False), (2, 2, 4, True), (2, 1, 2, True)])
def test_states_are_read_and_written(rule: str, heads: int, keys: int, values: int, past: bool) -> None:
    args = [floats(B, L, heads * K), floats(B, L, keys * K), floats(B, L, values * V)]
    args.append(floats(B, values, K, V) if past else None)
    args.append(-np.abs(floats(B, L, values * (K if past else 1))) if rule.startswith("gated") else None)
    args.append(np.abs(floats(B, L, 1 if past else values)) if rule.endswith("delta") else None)
    while args[-1] is None:
        args.pop()
    agrees("LinearAttention", *args, outputs=2, rtol=1e-4, q_num_heads=heads, kv_num_heads=values, update_rule=rule)


@pytest.mark.parametrize(("dilation", "activation"), [(1, "silu"), (2, "none")])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize(("length", "past"), [(1, True), (7, False), (7, True)])
def test_channels_are_filtered(dilation: int, activation: str, last: int, length: int, past: bool) -> None:
    kept = 3 * dilation
    x = floats(B, length, 2, 3) if last else floats(B, 6, length)
    state = (floats(B, kept, 2, 3) if last else floats(B, 6, kept)) if past else None
    args = [x, floats(6, 1, 4), floats(6), *([state] if past else [])]
    options: dict[str, Any] = {"activation": activation, "dilation": dilation, "channels_last": last}
    agrees("CausalConvWithState", *args, outputs=2, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("layout", "interleaved", "axes"), [(0, 0, 3), (1, 0, 4), (0, 1, 4), (1, 1, 3)])
def test_pairs_are_turned_by_three_positions(dtype: Any, layout: int, interleaved: int, axes: int) -> None:
    x = floats(B, L, 3 * 16, dtype=dtype) if axes == 3 else floats(B, 3, L, 16, dtype=dtype)
    positions = RNG.integers(0, 9, (3, B, L))
    caches = [floats(9, 8, dtype=dtype) for _ in range(2)]
    options: dict[str, Any] = {
        "mrope_section": [4, 2, 2],
        "mrope_layout": layout,
        "interleaved": interleaved,
        "num_heads": 3,
    }
    tolerance = 1e-5 if dtype is np.float32 else 2e-3
    agrees("MRotaryEmbedding", x, positions, *caches, rtol=tolerance, atol=tolerance, **options)


def test_what_is_for_cuda_is_refused() -> None:
    args = [floats(B, L, 2 * K), floats(B, L, 2 * K), floats(B, L, 2 * V)]

    def run(op_type: str, *inputs: Any, **attributes: Any) -> Any:
        return evaluate(op_type, *inputs, domain="com.microsoft", version=1, outputs=2, **attributes)

    with pytest.raises(UnsupportedError, match="state_window is 2"):
        run("LinearAttention", *args, q_num_heads=2, kv_num_heads=2, update_rule="linear", state_window=2)
    with pytest.raises(CheckError, match="no multiples"):
        run("LinearAttention", *args, q_num_heads=2, kv_num_heads=3, update_rule="linear")
    with pytest.raises(UnsupportedError, match="ndim is 2"):
        run("CausalConvWithState", floats(1, 2, 3), floats(2, 1, 2), ndim=2)
