"""DynamicQuantizeLSTM against onnxruntime, whose codes it has to find one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import DType
from ingot.loops.ir import Contraction, kernels_in
from ops.contrib.peer import agrees

RNG = np.random.default_rng(11)


def weights(directions: int, rows: int, hidden: int, dtype: Any, by_column: bool) -> tuple[Any, Any, Any]:
    codes = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (directions, rows, 4 * hidden)).astype(dtype)
    shape = (directions, 4 * hidden) if by_column else (directions,)
    point = np.full(shape, 0 if dtype is np.int8 else 130, dtype)
    return codes, RNG.uniform(0.002, 0.004, shape).astype(np.float32), point


@pytest.mark.parametrize(
    ("dtype", "direction", "by_column", "lengths"),
    [
        (np.int8, "forward", False, False),
        (np.uint8, "forward", True, True),
        (np.uint8, "reverse", False, False),
        (np.int8, "reverse", True, True),
        (np.uint8, "bidirectional", True, False),
        (np.int8, "bidirectional", False, True),
    ],
)
def test_inputs_and_states_are_rounded_as_onnxruntime_does(
    dtype: Any, direction: str, by_column: bool, lengths: bool
) -> None:
    directions = 2 if direction == "bidirectional" else 1
    size, hidden, batch, length = 6, 5, 3, 7
    w, w_scale, w_point = weights(directions, size, hidden, dtype, by_column)
    r, r_scale, r_point = weights(directions, hidden, hidden, dtype, by_column)
    floats = [
        RNG.standard_normal(shape).astype(np.float32) for shape in ((length, batch, size), (directions, 8 * hidden))
    ]
    states = [RNG.standard_normal((directions, batch, hidden)).astype(np.float32) for _ in range(2)]
    lens = np.array([6, 2, 4], np.int32) if lengths else None
    agrees(
        "DynamicQuantizeLSTM",
        floats[0],
        w,
        r,
        floats[1],
        lens,
        *states,
        None,
        w_scale,
        w_point,
        r_scale,
        r_point,
        outputs=3,
        constant=(1, 2, 9, 11),
        hidden_size=hidden,
        direction=direction,
        rtol=2e-6,
        atol=2e-6,
    )


def test_peepholes_and_a_state_of_zeros() -> None:
    w, w_scale, w_point = weights(1, 4, 8, np.int8, False)
    r, r_scale, r_point = weights(1, 8, 8, np.int8, False)
    x, p = RNG.standard_normal((3, 2, 4)).astype(np.float32), RNG.standard_normal((1, 24)).astype(np.float32)
    args = [x, w, r, None, None, None, None, p, w_scale, w_point, r_scale, r_point]
    agrees("DynamicQuantizeLSTM", *args, outputs=3, constant=(1, 2, 9, 11), hidden_size=8, rtol=2e-6, atol=2e-6)


def test_bytes_are_multiplied_as_bytes() -> None:
    w, w_scale, w_point = weights(1, 32, 32, np.int8, False)
    r, r_scale, r_point = weights(1, 32, 32, np.int8, False)
    arrays = {"w": w, "r": r, "ws": w_scale, "wp": w_point, "rs": r_scale, "rp": r_point}
    model = ingot.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[t, 2, 32] x) => (y)
        { y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 32> (x, w, r, , , , , , ws, wp, rs, rp) }""".replace(
            "=> (y)", "=> (y) <" + ", ".join(f"{_kind(a)} {name} = {_text(a)}" for name, a in arrays.items()) + ">"
        )
    )
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    products = [
        nest
        for kernel in kernels_in(session.compiled.scheduled.steps)
        for nest in kernel.nests
        if isinstance(nest, Contraction)
    ]
    assert [product.dtype for product in products] == [DType.INT32, DType.INT32]
    assert all(product.tile is not None and product.tile.dot is not None for product in products)


def _kind(array: Any) -> str:
    return f"{'int8' if array.dtype == np.int8 else 'float'}[{', '.join(map(str, array.shape))}]"


def _text(array: Any) -> str:
    return "{" + ", ".join(map(str, array.reshape(-1).tolist())) + "}"
