"""Transposes of channels-last models move to where they cancel."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.builder import Float32, Var, build, op
from ingot.convert.layout import channels_first
from ingot.infer.building import builder_checker
from ingot.passes.flattened import transpose_weights
from ingot.passes.layout import sink_transposes, views_for_transposes
from passes.written import applied, compare

FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]
HEAD = "g (float[n, 3, 4, 5] x, float[n, 4, 5, 3] z) => (float[a, b, c, d] y)"
PARAMETERS = """<float[3] v = {1, 2, 3}, float one = {2}, int64[1] p0 = {1}, int64[1] p1 = {2}, int64[1] p3 = {-1},
    int64[8] pads = {0, 1, 2, 0, 0, 0, 1, 1}, int64[4] repeats = {1, 2, 1, 3}, float[4] scales = {1, 2, 2, 1},
    int64[2] two = {1, 2}, int64[4] pair = {1, 0, 1, 1}>"""


@pytest.mark.parametrize(
    "between",
    [
        "y = Relu (a)",
        "y = Clip (a, one)",
        "y = Mul (a, v)",
        "y = Sub (one, a)",
        "c = Relu (a)\n y = Add (c, a)",
        "c = Transpose<perm = [0, 3, 1, 2]> (z)\n d = Transpose<perm = [0, 2, 3, 1]> (c)\n y = Add (d, z)",
        "c = ReduceMean (a, two)\n y = Mul (a, c)",
        "c = Concat<axis = 3> (a, a)\n y = Concat<axis = -3> (c, c)",
        "c, d = Split<axis = -1, num_outputs = 2> (a)\n y = Concat<axis = 3> (d, c)",
        "y = Softmax (a)",
        "y = LogSoftmax<axis = 1> (a)",
        "c = ArgMax<axis = -1> (a)\n y = Cast<to = 1> (c)",
        "y = Pad (a, pads)",
        "y = Pad (a, pair, , two)",
        "y = Slice (a, p0, p3, p3)",
        "y = Slice (a, p0, p1)",
        "y = Tile (a, repeats)",
        'y = Resize<mode = "nearest"> (a, , scales)',
        "c = Shape (a)\n d = Relu (a)\n y = Expand (d, c)",
        "c = Greater (a, one)\n y = Where (c, a, v)",
        "c = ReduceMax<keepdims = 0> (a, p3)\n y = Unsqueeze (c, p0)",
        "c = Unsqueeze (a, p1)\n d = Neg (c)\n y = Squeeze (d, p1)",
    ],
)
def test_a_node_computes_channels_first(between: str) -> None:
    text = f"{HEAD} {PARAMETERS} {{ a = Transpose<perm = [0, 2, 3, 1]> (x)\n {between} }}"
    count, nodes = applied(sink_transposes, text)
    assert count
    last = nodes[-1]
    assert last.startswith(("y = Transpose", "y = Unsqueeze")), nodes


@pytest.mark.parametrize(
    "between",
    ["y = Add (a, z)", "y = LayerNormalization (a, v)", "y = CumSum (a, one)"],
    ids=["an operand that is channels last", "a normalisation of channels", "an axis"],
)
def test_what_has_no_rule_stays(between: str) -> None:
    parameters = PARAMETERS.replace("float one = {2}", "int64 one = {2}")
    text = f"{HEAD} {parameters} {{ a = Transpose<perm = [0, 2, 3, 1]> (x)\n {between} }}"
    assert applied(sink_transposes, text)[0] == 0


def test_other_transposes_stay() -> None:
    text = f"{HEAD} {{ a = Transpose<perm = [0, 2, 1, 3]> (x)\n y = Relu (a) }}"
    assert applied(sink_transposes, text)[0] == 0


def test_a_transpose_of_axes_of_size_one_is_a_view() -> None:
    text = (
        """g (float[n, 1, 1, 5] x) => (float[n, 5, 1, 1] y) { a = Transpose<perm = [0, 3, 1, 2]> (x)\n y = Relu (a) }"""
    )
    count, nodes = applied(views_for_transposes, text)
    assert count == 1
    assert not any("Transpose" in node for node in nodes)


@pytest.mark.parametrize("product", ["y = MatMul (c, w)", "y = Gemm<transB = 1> (c, t)"])
def test_weights_of_what_is_flattened_are_stored_in_the_other_order(product: str) -> None:
    held = ", ".join(map(str, range(24)))
    text = f"""g (float[n, 2, 3, 2] x) => (float[n, 2] y)
        <float[12, 2] w = {{{held}}}, float[2, 12] t = {{{held}}}, int64[2] to = {{-1, 12}}> {{
        a = Transpose<perm = [0, 2, 3, 1]> (x)\n b = Reshape (a, to)\n c = Relu (b)\n {product}
    }}"""
    count, nodes = applied(transpose_weights, text)
    assert count == 1
    assert not any("Transpose" in node for node in nodes)


def test_a_channels_last_network_transposes_its_input_and_nothing_else() -> None:
    generator = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return generator.normal(size=shape).astype(np.float32)

    def conv(x: Var, filters: int, channels: int, stride: int = 1) -> Var:
        made = op.Conv(
            op.Transpose(x, perm=FIRST), weights(filters, channels, 3, 3), pads=[1] * 4, strides=[stride] * 2
        )
        return op.Transpose(made, perm=LAST) + weights(filters)

    def network(x: Var) -> Var:
        first = op.Relu(conv(x * 2.0 - 1.0, 4, 3))
        pooled = op.ReduceMean(first, [1, 2], keepdims=1)
        gate = op.Sigmoid(op.Reshape(op.MatMul(op.Squeeze(pooled, [1, 2]), weights(4, 4)), [-1, 1, 1, 4]))
        residual = op.Relu(conv(first * gate, 4, 4) + first)
        both = op.Concat(conv(residual, 2, 4), residual, axis=-1)
        return op.MatMul(op.Reshape(conv(both, 5, 6, 2), [-1, 4 * 4 * 5]), weights(80, 3))

    model = build(network, Float32["batch", 8, 8, 3], check=builder_checker())
    before = model.copy()
    channels_first(model)
    assert [node.op_type for node in model.graph].count("Transpose") == 1
    compare(before, model, {"x": generator.normal(size=(2, 8, 8, 3)).astype(np.float32)})
    assert isinstance(model, ingot.Model)
