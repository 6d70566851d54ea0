"""Gates, norms of branches and mixed streams against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.contrib.peer import agrees

RNG = np.random.default_rng(20)
HALVES = [np.float32, np.float16]


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def close(dtype: Any) -> dict[str, Any]:
    return {"rtol": 1e-5, "atol": 1e-6} if dtype is np.float32 else {"rtol": 1e-3, "atol": 1e-3}


@pytest.mark.parametrize("dtype", HALVES)
def test_rows_are_added_through_a_gate(dtype: Any) -> None:
    agrees("GatedAdd", *(floats(2, 3, 8, dtype=dtype) for _ in range(2)), floats(2, 3, 1, dtype=dtype), **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("size", [8, 4])
@pytest.mark.parametrize("activation", ["silu", "sigmoid"])
def test_norms_are_gated(dtype: Any, size: int, activation: str) -> None:
    x, gate = floats(2, 3, 8, dtype=dtype), floats(2, 3, 8, dtype=dtype)
    agrees("GatedRMSNorm", x, floats(size, dtype=dtype), gate, epsilon=1e-3, activation=activation, **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("outputs", [1, 2])
def test_decays_and_rates(dtype: Any, outputs: int) -> None:
    args = [floats(2, 3, 4, dtype=dtype) * 5, floats(4), floats(4)]
    more = [floats(2, 3, 4, dtype=dtype)] if outputs == 2 else []
    agrees("LinearAttentionGate", *args, *more, outputs=outputs, **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("scaled", [False, True])
def test_silu_of_scaled_numbers(dtype: Any, scaled: bool) -> None:
    more = [np.asarray(1.7, dtype)] if scaled else []
    agrees("ScaledSiLU", floats(3, 5, dtype=dtype), *more, alpha=0.6, **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("branches", [0, 3])
@pytest.mark.parametrize("scale", [None, (4,), (3, 4), (12,)])
def test_norms_of_branches(dtype: Any, branches: int, scale: Any) -> None:
    x = floats(2, 5, 12, dtype=dtype) if branches else floats(2, 5, 3, 4, dtype=dtype)
    more = [] if scale is None else [floats(*scale)]
    options: dict[str, Any] = {"num_branches": branches} if branches else {}
    agrees("BranchwiseRMSNorm", x, *more, **options, **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("mix", [(2, 5, 3), (2, 5, 3, 1), (2, 5, 3, 4)])
@pytest.mark.parametrize("branches", [0, 3])
def test_streams_are_mixed(dtype: Any, mix: Any, branches: int) -> None:
    x = floats(2, 5, 12, dtype=dtype) if branches else floats(2, 5, 3, 4, dtype=dtype)
    options: dict[str, Any] = {"num_branches": branches} if branches else {}
    agrees("HyperConnectionPreMix", x, floats(*mix), reduction_scale=0.5, **options, **close(dtype))
    block = floats(2, 5, 4, dtype=dtype)
    agrees("HyperConnectionPostMix", x, block, floats(*mix), **options, **close(dtype))
    agrees("HyperConnectionPostMix", x, block, floats(*mix), floats(2, 5, 3, 3), **options, **close(dtype))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("outputs", [1, 2])
def test_values_are_gated_by_how_keys_and_queries_agree(dtype: Any, outputs: int) -> None:
    args = [floats(2, 3, 4, 8, dtype=dtype) for _ in range(2)] + [floats(2, 3, 8, dtype=dtype)]
    args += [floats(4, 8, dtype=dtype) for _ in range(1 + outputs)]
    agrees("EngramGate", *args, outputs=outputs, **close(dtype))
