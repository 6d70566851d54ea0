"""Inputs whose shapes do not go together: the reference refuses them, and so does compiled code, sizes known or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array
from ingot.errors import IngotError
from ops.contrib.peer import MICROSOFT, PROVIDERS, of_one_node

NCHWC = "com.microsoft.nchwc"
RNG = np.random.default_rng(3)


def f(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def i(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


class Case(NamedTuple):
    op_type: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = {}
    outputs: int = 1
    domain: str = MICROSOFT
    constant: tuple[int, ...] = ()


LINEAR = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
GATED = {**LINEAR, "update_rule": "gated_delta"}
HEADS = {"num_heads": 2}

CASES = {
    "linear attention, fewer keys": Case("LinearAttention", (f(1, 3, 8), f(1, 1, 8), f(1, 3, 4)), LINEAR, 2),
    "linear attention, fewer values": Case("LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 1, 4)), LINEAR, 2),
    "linear attention, another batch": Case("LinearAttention", (f(2, 3, 8), f(1, 3, 8), f(2, 3, 4)), LINEAR, 2),
    "linear attention, fewer decays": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 1, 2), f(1, 3, 2)), GATED, 2
    ),
    "linear attention, one decay": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 3, 1), f(1, 3, 2)), GATED, 2
    ),
    "linear attention, fewer rates": Case(
        "LinearAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 4), None, f(1, 3, 2), f(1, 2, 2)), GATED, 2
    ),
    "reordered, too many channels": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": 32}, domain=NCHWC),
    "reordered, no channels": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": 0}, domain=NCHWC),
    "reordered, fewer than none": Case("ReorderOutput", (f(1, 16, 2, 2),), {"channels": -4}, domain=NCHWC),
    "crops of two numbers": Case("CropAndResize", (f(1, 2, 4, 4), f(3, 2), i(0, 0, 0), i(2, 2)), constant=(3,)),
    "crops of fewer images": Case("CropAndResize", (f(1, 2, 4, 4), f(3, 4), i(0, 0), i(2, 2)), constant=(3,)),
    "words, filters of another size": Case(
        "WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 5), f(4), f(7, 3))
    ),
    "words, one bias": Case("WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 3), f(1), f(7, 3))),
    "words, another window": Case(
        "WordConvEmbedding", (i(1, 2, 3).reshape(1, 3), f(4, 1, 2, 3), f(4), f(7, 3)), {"conv_window_size": 3}
    ),
    "heads, a short bias": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 8), f(9)), HEADS),
    "heads, a bias of two axes": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 3, 8), f(1, 24)), HEADS),
    "heads, one part": Case("MultiHeadAttention", (f(1, 3, 2, 1, 4),), HEADS),
    "heads, other heads": Case("MultiHeadAttention", (f(1, 3, 4, 3, 4),), HEADS),
    "heads, packed pairs of one part": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 5, 2, 1, 4)), HEADS),
    "heads, packed with a bias": Case("MultiHeadAttention", (f(1, 3, 2, 3, 4), None, None, f(24)), HEADS),
    "heads, packed pairs with a bias": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 5, 2, 2, 4), None, f(24)), HEADS),
    "heads, keys of another batch": Case("MultiHeadAttention", (f(2, 3, 8), f(1, 3, 8), f(2, 3, 8)), HEADS),
    "heads, fewer values than keys": Case("MultiHeadAttention", (f(1, 3, 8), f(1, 3, 8), f(1, 2, 8)), HEADS),
    "attention, a short bias": Case("Attention", (f(1, 2, 4), f(4, 24), f(3)), HEADS),
    "attention, one bias": Case("Attention", (f(1, 2, 4), f(4, 24), f(1)), HEADS),
    "attention, a past of keys alone": Case(
        "Attention", (f(1, 3, 6), f(6, 24), f(24), None, f(1, 1, 2, 2, 4)), HEADS, 2
    ),
    "attention, a past of other heads": Case(
        "Attention", (f(1, 3, 6), f(6, 24), f(24), None, f(2, 1, 2, 2, 5)), HEADS, 2
    ),
}


@pytest.mark.parametrize("named", [False, True], ids=["known", "named"])
@pytest.mark.parametrize("name", CASES)
def test_shapes_that_the_reference_refuses_are_refused_by_compiled_code(name: str, named: bool) -> None:
    case = CASES[name]
    model = of_one_node(case.op_type, case.inputs, case.outputs, case.domain, case.constant, case.attributes)
    if named:
        for place, value in enumerate(model.graph.input):
            for axis, size in enumerate(value.type.tensor_type.shape.dim):
                size.dim_param = f"d{place}_{axis}"
    feeds = {f"x{n}": x for n, x in enumerate(case.inputs) if x is not None and n not in case.constant}
    for providers in PROVIDERS.values():
        with pytest.raises(IngotError):
            ingot.Session(model.SerializeToString(), providers=providers, fallback=False).run(None, feeds)
