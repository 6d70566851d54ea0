"""Attention, said in older versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ops.nn.older import older, refusal

RNG = np.random.default_rng(0)
NAMED = {0: ["b", 4, "l", 8], 1: ["b", 2, "t", 8], 2: ["b", 2, "t", 6]}


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def inputs(dtype: Any = np.float32) -> list[Any]:
    return [numbers(2, 4, 5, 8, dtype=dtype), numbers(2, 2, 7, 8, dtype=dtype), numbers(2, 2, 7, 6, dtype=dtype)]


def test_attention_is_two_products_and_a_softmax() -> None:
    q, k, v = numbers(1, 2, 3, 4), numbers(1, 2, 5, 4), numbers(1, 2, 5, 4)
    said = older("Attention", q, k, v, opset=23, to=22)
    assert said == ["Mul", "Transpose", "Mul", "MatMul", "Softmax", "MatMul"]


@pytest.mark.parametrize("to", [24, 23, 22, 13])
@pytest.mark.parametrize("windows", [(2, -1), (-1, 1), (0, 0), (1, 3)])
def test_windows_are_a_mask(to: int, windows: tuple[int, int]) -> None:
    sides = {"left_window_size": windows[0], "right_window_size": windows[1]}
    said = older("Attention", *inputs(), opset=25, to=to, dims=NAMED, is_causal=1, **sides)
    assert ("Attention" in said) == (to >= 23)


@pytest.mark.parametrize("to", [23, 22])
@pytest.mark.parametrize("causal", [0, 1])
def test_lengths_are_a_mask(to: int, causal: int) -> None:
    lengths = np.array([7, 0])
    said = older("Attention", *inputs(), None, None, None, lengths, opset=24, to=to, dims=NAMED, is_causal=causal)
    assert ("Attention" in said) == (to == 23)


@pytest.mark.parametrize("to", [23, 22])
@pytest.mark.parametrize("dtype", [np.bool_, np.float32])
def test_masks_that_are_short_hide_what_they_leave_out(to: int, dtype: Any) -> None:
    mask = RNG.integers(0, 2, (5, 6)).astype(dtype)
    lengths = np.array([6, 3])
    for dims in ({}, {**NAMED, 3: ["l", "s"]}):
        older("Attention", *inputs(), mask, None, None, lengths, opset=24, to=to, dims=dims)


def test_a_query_that_sees_nothing_reads_zero() -> None:
    mask = np.zeros((5, 7), np.bool_)
    older("Attention", *inputs(), mask, opset=23, to=22, outputs=4, qk_matmul_output_mode=3)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_every_stage_and_the_joined_states_are_given(mode: int) -> None:
    past = numbers(2, 2, 3, 8), numbers(2, 2, 3, 6)
    how = {"is_causal": 1, "softcap": 2.0, "qk_matmul_output_mode": mode, "outputs": 4}
    dims = {**NAMED, 4: ["b", 2, "p", 8], 5: ["b", 2, "p", 6]}
    older("Attention", *inputs(), None, *past, opset=23, to=22, dims=dims, **how)


def test_states_without_a_past_are_the_keys_and_values() -> None:
    older("Attention", *inputs(), opset=23, to=22, outputs=3)


def test_heads_without_an_axis_of_their_own() -> None:
    q, k, v = numbers(2, 5, 32), numbers(2, 7, 16), numbers(2, 7, 12)
    dims = {0: ["b", "l", 32], 1: ["b", "t", 16], 2: ["b", "t", 12]}
    older("Attention", q, k, v, opset=23, to=22, dims=dims, q_num_heads=4, kv_num_heads=2, scale=-0.3)


@pytest.mark.parametrize("precision", [None, 1, 11, 16])
def test_half_floats_in_every_precision(precision: int | None) -> None:
    how = {} if precision is None else {"softmax_precision": precision}
    older("Attention", *inputs(np.float16), opset=23, to=22, rtol=2e-2 if precision == 16 else 2e-3, **how)


def test_heads_that_nobody_counts_are_refused() -> None:
    dims = {0: ["b", "h", "l", 8], 1: ["b", "g", "t", 8], 2: ["b", "g", "t", 6]}
    assert "how many heads" in refusal("Attention", *inputs(), opset=23, to=22, dims=dims)
    unknown = {0: ["b", 4, "l", "d"], 1: ["b", 4, "t", "d"], 2: ["b", 4, "t", "e"]}
    assert "on which the scale depends" in refusal("Attention", *inputs(), opset=23, to=22, dims=unknown)
