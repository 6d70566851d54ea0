"""Channels that nothing depends on are removed, wherever they pass, and results stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from quantise.models import normal, parsed

GONE = [1, 4]


def shrunk(model: ingot.Model, x: Any) -> tuple[ingot.Model, dict[str, tuple[int, int]]]:
    """The pruned model, which computes the same, and the widths before and after of products by what they compute."""
    result = ingot.prune(model)
    before, after = ingot.Session(model).run(None, {"x": x}), ingot.Session(result.model).run(None, {"x": x})
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5 * np.abs(one).max(initial=1e-3))
    return result.model, {each.name: (each.before, each.after) for each in result.report.channels}


def zeroed(array: Any, axis: int, entries: list[int] = GONE) -> Any:
    """A copy with entries along an axis set to zero."""
    changed = array.copy()
    changed[(slice(None),) * axis + (entries,)] = 0
    return changed


def constant(model: ingot.Model, name: str) -> Any:
    tensor = model.graph.initializers[name].constant
    assert isinstance(tensor, ingot.Tensor)
    return tensor.numpy()


def test_a_channel_that_is_zero_after_its_activation_goes() -> None:
    bias = normal(6)
    bias[GONE] = [-1, 0]
    model = parsed(
        "g (float[n, 3, 5, 5] x) => (y) { a = Conv (x, w1, b1) r = Relu (a) y = Conv (r, w2, b2) }",
        w1=zeroed(normal(6, 3, 3, 3), 0), b1=bias, w2=normal(4, 6, 1, 1), b2=normal(4),
    )  # fmt: skip
    small, widths = shrunk(model, normal(2, 3, 5, 5))
    assert widths == {"a": (6, 4)}
    assert constant(small, "w1").shape == (4, 3, 3, 3)
    assert constant(small, "b1").shape == (4,)
    assert constant(small, "w2").shape == (4, 4, 1, 1)


def test_a_channel_whose_bias_passes_its_activation_stays() -> None:
    bias = normal(6)
    bias[GONE] = [1, -1]
    model = parsed(
        "g (float[n, 3, 5, 5] x) => (y) { a = Conv (x, w1, b1) r = Relu (a) y = Conv (r, w2) }",
        w1=zeroed(normal(6, 3, 3, 3), 0), b1=bias, w2=normal(4, 6, 1, 1),
    )  # fmt: skip
    assert shrunk(model, normal(2, 3, 5, 5))[1] == {"a": (6, 5)}


def test_a_channel_that_every_reader_multiplies_by_zero_goes() -> None:
    model = parsed(
        """g (float[n, 8] x) => (y, z) {
          a = Gemm <transB: int = 1> (x, w1, b1) t = Tanh (a) y = MatMul (t, w2) z = Gemm (t, w3)
        }""",
        w1=normal(6, 8), b1=normal(6), w2=zeroed(normal(6, 3), 0), w3=zeroed(normal(6, 4), 0, [0, *GONE]),
    )  # fmt: skip
    small, widths = shrunk(model, normal(5, 8))
    assert widths == {"a": (6, 4)}
    assert constant(small, "w1").shape == (4, 8)


def test_removing_a_channel_may_leave_another_unread() -> None:
    w2 = zeroed(normal(6, 5), 0, [3])
    w2[3, 0] = 1  # channel 3 of a is read by channel 0 of b alone
    model = parsed(
        """g (float[n, 8] x) => (y) {
          a = MatMul (x, w1) r = Relu (a) b = MatMul (r, w2) s = Relu (b) y = MatMul (s, w3)
        }""",
        w1=normal(8, 6), w2=w2, w3=zeroed(normal(5, 3), 0, [0]),
    )  # fmt: skip
    assert shrunk(model, normal(5, 8))[1] == {"b": (5, 4), "a": (6, 5)}


def test_a_residual_sum_loses_what_both_branches_do_without() -> None:
    w1, w2 = zeroed(normal(6, 3, 1, 1), 0, [1, 4]), zeroed(normal(6, 3, 1, 1, seed=1), 0, [1, 2])
    model = parsed(
        """g (float[n, 3, 4, 4] x) => (y) {
          a = Conv (x, w1) b = Conv (x, w2) s = Add (a, b) r = Relu (s) y = Conv (r, w3)
        }""",
        w1=w1, w2=w2, w3=normal(4, 6, 3, 3),
    )  # fmt: skip
    assert shrunk(model, normal(2, 3, 4, 4))[1] == {"a": (6, 5), "b": (6, 5)}


def test_normalisations_depthwise_convolutions_and_pools_pass_channels_on() -> None:
    model = parsed(
        """g (float[n, 3, 8, 8] x) => (y) {
          a = Conv <pads: ints = [1, 1, 1, 1]> (x, w1)
          r = Relu (a)
          n = BatchNormalization (r, g1, b1, m1, v1)
          d = Conv <group: int = 6, pads: ints = [1, 1, 1, 1]> (n, w2, b2)
          p = MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (d)
          q = PRelu (p, slope)
          f = Flatten (q)
          y = Gemm (f, w3, b3)
        }""",
        w1=normal(6, 3, 3, 3), g1=normal(6), b1=normal(6), m1=normal(6), v1=np.abs(normal(6)) + 1,
        w2=normal(6, 1, 3, 3), b2=normal(6), slope=normal(6, 1, 1),
        w3=zeroed(normal(6, 16, 5), 0).reshape(96, 5), b3=normal(5),
    )  # fmt: skip
    small, widths = shrunk(model, normal(2, 3, 8, 8))
    assert widths == {"a": (6, 4)}
    assert {name: constant(small, name).shape[0] for name in ("g1", "w2", "slope", "w3")} == {
        "g1": 4, "w2": 4, "slope": 4, "w3": 64,
    }  # fmt: skip
    [depthwise] = [node for node in small.graph if node.applies("Conv") and node.get("group", 1) != 1]
    assert depthwise.get("group") == 4


def test_a_depthwise_convolution_of_zeros_frees_the_channel_before_it() -> None:
    bias = normal(6)
    bias[GONE] = 0
    model = parsed(
        """g (float[n, 3, 6, 6] x) => (y) {
          a = Conv (x, w1) r = Relu (a) d = Conv <group: int = 6> (r, w2, b2) y = Conv (d, w3)
        }""",
        w1=normal(6, 3, 3, 3), w2=zeroed(normal(6, 1, 3, 3), 0), b2=bias, w3=normal(2, 6, 1, 1),
    )  # fmt: skip
    assert shrunk(model, normal(2, 3, 6, 6))[1] == {"a": (6, 4)}


def test_a_concatenation_loses_channels_of_its_parts() -> None:
    model = parsed(
        """g (float[n, 3, 6, 6] x) => (y) {
          a = Conv (x, w1) b = Conv (x, w2) c = Concat <axis: int = 1> (a, x, b) y = Conv (c, w3)
        }""",
        w1=normal(4, 3, 1, 1), w2=zeroed(normal(5, 3, 1, 1), 0, [3]), w3=zeroed(normal(2, 12, 1, 1), 1, [0, 5, 7]),
    )  # fmt: skip
    assert shrunk(model, normal(2, 3, 6, 6))[1] == {"a": (4, 3), "b": (5, 3)}


def test_a_gate_goes_with_what_it_multiplies() -> None:
    model = parsed(
        """g (float[n, 3, 6, 6] x) => (y) {
          a = Conv (x, w1) p = GlobalAveragePool (a) q = Conv (p, w2) h = Relu (q) k = Conv (h, w3) s = Sigmoid (k)
          m = Mul (a, s) y = Conv (m, w4)
        }""",
        w1=zeroed(normal(6, 3, 3, 3), 0), w2=normal(2, 6, 1, 1), w3=normal(6, 2, 1, 1), w4=normal(3, 6, 1, 1),
    )  # fmt: skip
    assert shrunk(model, normal(2, 3, 6, 6))[1] == {"a": (6, 4), "k": (6, 4)}


@pytest.mark.parametrize(
    "text",
    [
        "a = MatMul (x, w1) y = Identity (a)",
        "a = MatMul (x, w1) r = Relu (a) n = LayerNormalization (r, g) y = MatMul (n, w2)",
        "a = MatMul (x, w1) s = Softmax (a) y = MatMul (s, w2)",
        "a = MatMul (x, w1) e = Exp (a) y = MatMul (e, w2)",
    ],
)
def test_a_channel_stays_where_something_depends_on_it(text: str) -> None:
    constants = {"w1": zeroed(normal(8, 6), 1), "w2": normal(6, 3), "g": np.abs(normal(6))}
    used = {name: array for name, array in constants.items() if f"{name})" in text}
    model = parsed(f"g (float[n, 8] x) => (y) {{ {text} }}", **used)
    assert shrunk(model, normal(5, 8))[1] == {}


def test_one_channel_stays_of_a_product_that_nothing_depends_on() -> None:
    model = parsed(
        "g (float[n, 8] x) => (y) { a = MatMul (x, w1) r = Relu (a) b = MatMul (r, w2) y = Add (b, x) }",
        w1=np.zeros((8, 6), np.float32), w2=normal(6, 8),
    )  # fmt: skip
    assert shrunk(model, normal(5, 8))[1] == {"a": (6, 1)}


def test_a_weight_that_another_product_reads_is_copied() -> None:
    model = parsed(
        """g (float[n, 6] x) => (y) {
          a = MatMul (x, w) r = Relu (a) b = MatMul (r, w) s = Softmax (b) y = MatMul (s, w2)
        }""",
        w=zeroed(normal(6, 6), 1), w2=normal(6, 2),
    )  # fmt: skip
    small, widths = shrunk(model, normal(5, 6))
    assert widths == {"a": (6, 4)}
    shapes = sorted(constant(small, name).shape for name in small.graph.initializers)
    assert shapes == [(4, 6), (6, 2), (6, 4)]
