"""FlexAttention beyond the standard's cases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from ingot.errors import CheckError, ShapeError
from ops.ml.one_node import evaluate, inferred

RNG = np.random.default_rng(2)
DOMAIN = "ai.onnx.preview"


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def attend(*inputs: Any, **attributes: Any) -> Any:
    return evaluate("FlexAttention", *inputs, domain=DOMAIN, version=1, **attributes)


def expected(q: Any, k: Any, v: Any, scale: float) -> Any:
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    scores = q @ np.swapaxes(k, 2, 3) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def test_groups_of_heads_share_keys() -> None:
    q, k, v = floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)
    np.testing.assert_allclose(attend(q, k, v), expected(q, k, v, 8**-0.5), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(attend(q, k, v, scale=0.5), expected(q, k, v, 0.5), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_every_float_type_comes_back_as_it_was(dtype: Any) -> None:
    q, k, v = (floats(1, 1, 3, 4).astype(dtype) for _ in range(3))
    y = attend(q, k, v)
    assert y.dtype == dtype
    wide = expected(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64), 0.5)
    np.testing.assert_allclose(y.astype(np.float64), wide, atol=0.02)


def test_a_graph_changes_the_scores_in_the_softmax_precision() -> None:
    kind = helper.make_tensor_value_info("s", TensorProto.DOUBLE, [None] * 4)
    out = helper.make_tensor_value_info("t", TensorProto.DOUBLE, [None] * 4)
    graph = helper.make_graph([helper.make_node("Add", ["s", "s"], ["t"])], "double", [kind], [out])
    q, k, v = floats(1, 1, 2, 4), floats(1, 1, 3, 4), floats(1, 1, 3, 4)
    y = attend(q, k, v, score_mod=graph, softmax_precision=TensorProto.DOUBLE)
    np.testing.assert_allclose(y, expected(q, k, v, 1.0), rtol=1e-5, atol=1e-6)


def test_without_keys_there_is_nothing_to_read() -> None:
    y = attend(floats(1, 1, 2, 4), floats(1, 1, 0, 4), floats(1, 1, 0, 4))
    assert y.tolist() == [[[[0] * 4] * 2]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match="3 query heads are no multiple of 2"):
        attend(floats(1, 3, 2, 4), floats(1, 2, 2, 4), floats(1, 2, 2, 4))
    with pytest.raises(ShapeError, match="head sizes of query and key differ"):
        attend(floats(1, 1, 2, 4), floats(1, 1, 2, 5), floats(1, 1, 2, 5))
    with pytest.raises(CheckError, match="softmax_precision is 6"):
        attend(*[floats(1, 1, 2, 4)] * 3, softmax_precision=6)


def test_sizes_keep_their_names() -> None:
    given: Any = {"q": (1, ["b", 4, "l", 8]), "k": (1, ["b", 2, "s", 8]), "v": (1, ["b", 2, "s", 6])}
    assert inferred("FlexAttention", given, domain=DOMAIN, version=1) == "float32[b, 4, l, 6]"
