"""Attention in 16-bit floats: one kernel that does not round scores, unless no result may change.

Weights are rounded to bfloat16, as the model says, and not to float16: pairs of bfloat16 are multiplied faster.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ingot import Session, parse_model
from ingot.ir.model import Model
from ingot.ir.verify import verify
from ingot.loops.ir import Attention, kernels_in
from ingot.passes.widen_attention import widen_attention
from ingot.queries.lenient_inference import gather

NUMPY: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
SCALE = {"bfloat16": 0x3E00, "float16": 0x3000}
"""The bits of an eighth."""
PLAIN = "s = MatMul (q, k) w = Softmax (s) y = MatMul (w, v)"
MASKED = "a = MatMul (q, k) c = Mul (a, scale) s = Add (c, mask) w = Softmax (s) y = MatMul (w, v)"


def model(kind: str, body: str, more: str = "") -> Model:
    inputs = f"{kind}[2, 3, 37, 40] q, {kind}[2, 3, 40, 29] k, {kind}[2, 3, 29, 24] v, {kind}[37, 29] mask"
    constants = f"<{kind} scale = {{{SCALE[kind]}}}>"
    head = '<ir_version: 11, opset_import: ["" : 23]>'
    return parse_model(f"{head} g ({inputs}) => (y{more}) {constants} {{ {body} }}")


def feeds(kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    shapes = {"q": (2, 3, 37, 40), "k": (2, 3, 40, 29), "v": (2, 3, 29, 24), "mask": (37, 29)}
    return {name: rng.standard_normal(shape).astype(NUMPY[kind]) for name, shape in shapes.items()}


@pytest.mark.parametrize("kind", NUMPY)
@pytest.mark.parametrize("body", [PLAIN, MASKED])
def test_attention_in_16_bits_is_one_kernel_rounded_once(kind: str, body: str) -> None:
    session = Session(model(kind, body), providers=("cpu",), fallback=False)
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    assert any(isinstance(nest, Attention) for nest in nests)
    given = feeds(kind)
    q, k, v, mask = (given[name].astype(np.float64) for name in ("q", "k", "v", "mask"))
    scores = q @ k * 0.125 + mask if body == MASKED else q @ k
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    shares = weights / weights.sum(-1, keepdims=True)
    expected = shares @ v
    step = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[kind]  # half a last place, and what float32 rounds
    off = np.abs(session.run(None, given)[0].astype(np.float64) - expected)
    of_weights = step * (shares @ np.abs(v)) if kind == "bfloat16" else 0.0  # each by half a place, and so their sum
    assert (off <= 1.01 * step * np.abs(expected) + of_weights + 1e-5).all()


@pytest.mark.parametrize("body", [PLAIN, MASKED])
def test_what_is_written_is_standard(body: str) -> None:
    changed = model("float16", body)
    assert widen_attention(changed, gather(changed)) == 1
    verify(changed)
    exact, rounded = (Session(each, providers=("reference",)).run(None, feeds("float16"))[0] for each in
                      (changed, model("float16", body)))  # fmt: skip
    np.testing.assert_allclose(exact.astype(np.float32), rounded.astype(np.float32), rtol=2e-2, atol=2e-2)


def test_scores_that_something_else_reads_stay_in_16_bits() -> None:
    seen = model("float16", PLAIN, ", s")
    assert widen_attention(seen, gather(seen)) == 0


def test_a_session_that_changes_no_result_leaves_attention_alone() -> None:
    session = Session(model("float16", PLAIN), providers=("cpu",), fallback=False, optimise=1)
    assert session.compiled is not None
    assert not any(node.applies("Cast") for node in session.compiled.optimised.model.graph)
