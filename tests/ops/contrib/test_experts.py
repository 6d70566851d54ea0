"""Mixtures of experts against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, UnsupportedError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(16)
EXPERTS, HIDDEN, INNER = 5, 32, 64


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return (RNG.standard_normal(shape) / 2).astype(dtype)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize(("k", "normal", "bias"), [(1, 0, True), (2, 1, False)])
def test_tokens_go_through_the_experts_chosen(activation: str, k: int, normal: int, bias: bool) -> None:
    width = 2 * INNER if activation == "swiglu" else INNER
    args = [floats(2, 3, HIDDEN), floats(6, EXPERTS), floats(EXPERTS, width, HIDDEN)]
    args += [floats(EXPERTS, width) if bias else None, floats(EXPERTS, HIDDEN, INNER)]
    args += [floats(EXPERTS, HIDDEN)] if bias else []
    options: dict[str, Any] = {"activation_type": activation, "k": k, "normalize_routing_weights": normal}
    if activation == "swiglu":
        options |= {"swiglu_fusion": 1, "swiglu_limit": 1.5, "activation_alpha": 1.702, "activation_beta": 1.0}
    agrees("MoE", *args, compiled=False, rtol=1e-4, atol=1e-5, **options)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize(("points", "weights"), [(False, True), (True, False)])
def test_experts_of_few_bits(bits: int, block: int, points: bool, weights: bool) -> None:
    each = 8 // bits

    def codes(*shape: int) -> Any:
        return RNG.integers(0, 256, shape).astype(np.uint8)

    def scales(rows: int, size: int) -> Any:
        return np.abs(floats(EXPERTS, rows, size // block) if block else floats(EXPERTS, rows)) / 2**bits

    def zeros(rows: int, size: int) -> Any:
        if not points:
            return None
        return codes(EXPERTS, rows, size // block // each) if block else codes(EXPERTS, rows // each)

    args = [floats(4, HIDDEN), floats(4, EXPERTS), codes(EXPERTS, INNER, HIDDEN // each), scales(INNER, HIDDEN)]
    args += [
        floats(EXPERTS, INNER),
        codes(EXPERTS, HIDDEN, INNER // each),
        scales(HIDDEN, INNER),
        floats(EXPERTS, HIDDEN),
    ]
    args += [None, None, None, zeros(INNER, HIDDEN), zeros(HIDDEN, INNER), None]
    args += [np.abs(floats(4, EXPERTS)) if weights else None]
    while args[-1] is None:
        args.pop()
    options: dict[str, Any] = {"k": 2, "expert_weight_bits": bits, "activation_type": "silu"} | (
        {"block_size": block} if block else {}
    )
    agrees("QMoE", *args, compiled=False, rtol=1e-3, atol=1e-4, normalize_routing_weights=1, **options)


def test_a_third_layer_gates_the_first() -> None:
    x, probs = floats(3, 4), np.zeros((3, 1), np.float32)
    first, second, third = floats(1, 6, 4), floats(1, 4, 6), floats(1, 6, 4)
    args = [x, probs, first, None, second, None, third]
    y = evaluate("MoE", *args, domain="com.microsoft", version=1, activation_type="silu")
    hidden = x @ first[0].T
    np.testing.assert_allclose(
        y, (hidden / (1 + np.exp(-hidden)) * (x @ third[0].T)) @ second[0].T, rtol=1e-4, atol=1e-6
    )


def test_what_only_cuda_has_is_refused() -> None:
    args = [floats(3, 4), floats(3, 2), floats(2, 6, 4), None, floats(2, 4, 6)]

    def run(**attributes: Any) -> Any:
        return evaluate("MoE", *args, domain="com.microsoft", version=1, **attributes)

    with pytest.raises(UnsupportedError, match="use_sparse_mixer is for CUDA"):
        run(use_sparse_mixer=1)
    with pytest.raises(CheckError, match="activation_type is 'tanh'"):
        run(activation_type="tanh")
    with pytest.raises(CheckError, match="k is 3, there are 2 experts"):
        run(k=3)
