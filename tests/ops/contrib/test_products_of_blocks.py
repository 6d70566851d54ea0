"""Products with matrices of few bits an element, and of short integers, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.errors import CheckError, ShapeError
from ops.contrib.peer import agrees
from ops.ml.one_node import evaluate

RNG = np.random.default_rng(14)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("quant_type", [0, 1])
@pytest.mark.parametrize(("k", "n", "block"), [(64, 8, 32), (40, 3, 16), (13, 5, 64)])
def test_products_with_floats_of_four_bits(quant_type: int, k: int, n: int, block: int) -> None:
    count = n * k
    b = RNG.integers(0, 256, -(-count // 2)).astype(np.uint8)
    args = [floats(2, 3, k), b, np.abs(floats(-(-count // block)))]
    agrees("MatMulBnb4", *args, constant=(1, 2), K=k, N=n, block_size=block, quant_type=quant_type, atol=1e-5)


def test_weights_may_be_taken_as_they_are() -> None:
    args = [floats(3, 4), RNG.integers(0, 256, 12).astype(np.uint8), np.abs(floats(2))]

    def run(*inputs: Any, **more: Any) -> Any:
        fixed = {"K": 6, "N": 4, "block_size": 16, "quant_type": 1}
        return evaluate("MatMulBnb4", *inputs, domain="com.microsoft", version=1, **{**fixed, **more})

    back = run(np.eye(6, dtype=np.float32), *args[1:])
    np.testing.assert_allclose(run(*args, transB=0), args[0] @ back.T, rtol=1e-5)
    with pytest.raises(CheckError, match="quant_type is 2"):
        run(*args, quant_type=2)
    with pytest.raises(ShapeError, match="too few for 4 rows of 6"):
        run(args[0], args[1][:5], args[2], transB=0)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("k", "n"), [(64, 6), (40, 3)])
def test_products_with_blocks_that_hold_their_scale(kind: int, k: int, n: int) -> None:
    blocks = -(-k // 32)
    rows = RNG.integers(0, 256, (n, blocks, 20 + kind)).astype(np.uint8)
    rows[..., :4] = np.abs(floats(n, blocks, 1)).view(np.uint8)
    if kind:
        rows[..., 4] %= 16
    args = [floats(2, 3, k), rows.reshape(-1), np.array([k, n], np.int64)]
    agrees("MatMulFpQ4", *args, constant=(1, 2), blk_quant_type=kind, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("bits", "block"), [(2, 32), (4, 16), (4, 64), (8, 32)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("points", [False, True])
def test_products_with_packed_bits(bits: int, block: int, dtype: Any, points: bool) -> None:
    k, n = 96, 8
    blocks = -(-k // block)
    b = RNG.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
    scales = (np.abs(floats(n * blocks)) / 8).astype(dtype)
    zero = RNG.integers(0, 256, n * -(-blocks * bits // 8)).astype(np.uint8) if points else None
    args = [floats(3, k, dtype=dtype), b, scales, *([zero] if points else [])]
    tolerance = 1e-4 if dtype is np.float32 else 4e-3
    constant = range(1, len(args))
    options: dict[str, Any] = {"K": k, "N": n, "block_size": block, "bits": bits}
    agrees("MatMulNBits", *args, constant=constant, rtol=tolerance, atol=10 * tolerance, **options)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 7, 8])
def test_bits_of_codes_follow_each_other_through_the_bytes_of_a_block(bits: int) -> None:
    codes = RNG.integers(0, 1 << bits, (3, 2, 16))
    packed = [
        [
            sum(int(code) << bits * place for place, code in enumerate(block)).to_bytes(2 * bits, "little")
            for block in row
        ]
        for row in codes
    ]
    b = np.frombuffer(b"".join(map(b"".join, packed)), np.uint8).reshape(3, 2, 2 * bits)
    options: dict[str, Any] = {"K": 32, "N": 3, "block_size": 16, "bits": bits}
    args = [np.eye(32, dtype=np.float32), b, np.ones((3, 2), np.float32)]
    y = evaluate("MatMulNBits", *args, domain="com.microsoft", version=1, **options)
    np.testing.assert_array_equal(y, codes.reshape(3, 32).T - (1 << (bits - 1)))


def test_codes_have_two_to_eight_bits() -> None:
    args = [floats(2, 32), np.zeros((3, 2, 18), np.uint8), np.ones((3, 2), np.float32)]
    with pytest.raises(CheckError, match="bits is 9, expected 2 to 8"):
        evaluate("MatMulNBits", *args, domain="com.microsoft", version=1, K=32, N=3, block_size=16, bits=9)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_products_of_short_integers(shape: tuple[int, ...]) -> None:
    a, b = (RNG.integers(-300, 300, size).astype(np.int16) for size in (shape, (4, 5)))
    agrees("MatMulInteger16", a, b)


@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_rows_of_packed_bits_are_gathered(indices: Any) -> None:
    data = RNG.integers(0, 256, (6, 16)).astype(np.uint8)
    scales = np.abs(floats(6, 2))
    at = np.array([[0, 5], [2, 2]], indices)
    agrees("GatherBlockQuantized", data, at, scales, constant=(0, 2), bits=4, block_size=16)
