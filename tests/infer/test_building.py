from __future__ import annotations

import numpy as np
import pytest

from ingot import BuildError, Float32, Int64, build, op
from ingot.builder import Var
from ingot.infer.building import builder_checker


def test_a_misspelt_operator_is_refused_at_the_user_s_line() -> None:
    with pytest.raises(BuildError, match="has no operator Matmul") as caught:
        build(lambda x: op.Matmul(x, x), Float32[4, 4], check=builder_checker())
    assert caught.value.hint == "did you mean 'MatMul' or 'Mul'?"
    assert __file__ in str(caught.value)
    assert "op.Matmul(x, x)" in str(caught.value)


def test_what_a_node_computes_is_typed() -> None:
    model = build(lambda x: op.Softmax(op.Transpose(x)), Float32["n", 4], check=builder_checker())
    assert str(model.graph.outputs[0].type) == "float32[4, n]"


def test_sizes_computed_from_shapes_are_followed() -> None:
    def flat(x: Var) -> Var:
        return op.Reshape(x, op.Concat(op.Shape(x, end=1), np.array([12]), axis=0))

    model = build(flat, Float32["n", 3, 4], check=builder_checker())
    assert str(model.graph.outputs[0].type) == "float32[n, 12]"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda x: op.Relu(x, x), "takes 1 inputs, the node has 2"),
        (lambda x: op.Softmax(x, axes=1), "has no attribute 'axes'"),
        (lambda x: op.Softmax(x, axis="last"), "attribute 'axis' is string"),
        (lambda x: op.Cast(x), "needs attribute 'to'"),
        (lambda x: op.MatMul(x, np.ones((5, 2), np.float32)), "5"),
        (lambda x: op.Add(x, np.ones(4, np.int64)), "takes one type for both"),
    ],
)
def test_what_breaks_the_standard_is_refused(made: object, says: str) -> None:
    with pytest.raises(BuildError, match=says):
        build(made, Float32[3, 4], check=builder_checker())  # type: ignore[call-overload]


def test_nodes_are_held_to_the_opset_of_the_build() -> None:
    with pytest.raises(BuildError, match="it came with 20"):
        build(lambda x: op.Gelu(x), Float32[3, 4], opset=13, check=builder_checker())
    build(lambda x: op.Squeeze(x, axes=[0]), Float32[1, 4], opset=11, check=builder_checker())


def test_operators_of_other_domains_are_taken_as_they_come() -> None:
    model = build(lambda x: op.domain("com.example").Frob(x, power=2), Float32[3], check=builder_checker())
    assert model.opset_imports["com.example"] == 1


def test_a_loop_is_checked_inside() -> None:
    with pytest.raises(BuildError, match="has no operator Ad"):
        build(
            lambda x, n: op.Loop(n, None, x, body=lambda _, s: op.Ad(s, s)),
            Float32[3],
            Int64[()],
            check=builder_checker(),
        )
