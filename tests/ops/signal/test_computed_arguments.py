"""Axes, steps and lengths of transforms that a run computes, in machine code: what the reference gives."""

from __future__ import annotations

import numpy as np
import pytest

from lower.machine import runs

X = np.random.default_rng(0).random((2, 6, 5, 1)).astype(np.float32)


@pytest.mark.parametrize("onesided", [0, 1])
def test_the_axis_of_a_transform(onesided: int) -> None:
    runs(
        f"g (float[2, 6, 5, 1] x, int64 axis) => (y) {{ y = DFT <onesided = {onesided}> (x, , axis) }}",
        *({"x": X, "axis": np.array(axis)} for axis in (0, 1, 2, -2, -4, 3, -1, 4)),
        rtol=1e-4,
        atol=1e-4,
    )


def test_the_axis_of_the_inverse_of_half_a_spectrum() -> None:
    runs(
        "g (float[3, 5, 2] x, int64 axis) => (y) { y = DFT <onesided = 1, inverse = 1> (x, , axis) }",
        *({"x": np.concatenate([X[0, :3], X[1, :3]], -1), "axis": np.array(axis)} for axis in (0, 1, -2, 2)),
        rtol=1e-4,
        atol=1e-4,
    )


def test_frames_of_a_computed_step_and_length() -> None:
    signal = X.reshape(1, 60, 1)
    for onesided in (0, 1):
        runs(
            f"g (float[1, 60, 1] x, int64 step, int64 n) => (y) {{ y = STFT <onesided = {onesided}> (x, step, , n) }}",
            *(
                {"x": signal, "step": np.array(s), "n": np.array(n)}
                for s, n in [(4, 8), (7, 60), (1, 3), (0, 8), (4, 61)]
            ),
            rtol=1e-4,
            atol=1e-4,
        )
    runs(
        "g (float[1, 60, 1] x, int64 step, float[8] w, int64 n) => (y) { y = STFT (x, step, w, n) }",
        *(
            {"x": signal, "step": np.array(s), "w": X.reshape(-1)[:8], "n": np.array(n)}
            for s, n in [(4, 8), (3, 8), (4, 7)]
        ),
        rtol=1e-4,
        atol=1e-4,
    )


def test_sizes_of_an_image_that_blocks_make() -> None:
    x = np.random.default_rng(1).random((1, 5 * 2, 6)).astype(np.float32)
    runs(
        "g (float[1, r, c] x, int64[2] image, int64[2] block) => (y) {"
        " y = Col2Im <pads = [0, 1, 0, 1], strides = [1, 1]> (x, image, block) }",
        {"x": x, "image": np.array([3, 4]), "block": np.array([1, 5])},
        {"x": x[:, :, :4], "image": np.array([3, 1]), "block": np.array([2, 1])},
        {"x": x, "image": np.array([9, 9]), "block": np.array([1, 5])},
        {"x": x, "image": np.array([3, 4]), "block": np.array([3, 1])},
        rtol=1e-5,
    )
