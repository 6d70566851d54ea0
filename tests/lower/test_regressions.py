"""What random graphs once found wrong in compiled models, each as small as it gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import IngotError, InputError
from ingot.runtime.limits import LimitError
from ingot.session import Session

FLOAT = np.float32


def sessions(graph: str) -> tuple[Session, Session]:
    model = ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 28]> {graph}')
    return Session(model), Session(model, providers=("cpu", "reference"), threads=2, fallback=False)


def agree(graph: str, /, **feeds: Any) -> None:
    """Both sides give the same results, or refuse with the same error."""
    outcomes: list[Any] = []
    for session in sessions(graph):
        try:
            outcomes.append(session.run(None, feeds))
        except IngotError as error:
            outcomes.append(f"{type(error).__name__}: {error}")
    one, other = outcomes
    if isinstance(one, str):
        assert one == other
    else:
        for a, b in zip(one, other, strict=True):
            most = np.abs(np.where(np.isfinite(a), a, 0)).max(initial=0) if a.dtype.kind == "f" else 0
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6 * most)  # sums cancel, in another order each


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(FLOAT)


def test_an_index_into_an_empty_axis_is_refused_and_nothing_read() -> None:
    graph = "g (float[n, 1000] x, int64[3] i) => (float[3, 1000] y) { y = Gather(x, i) }"
    agree(graph, x=floats(0, 1000), i=np.zeros(3, np.int64))
    agree(graph, x=floats(2, 1000), i=np.array([0, -1, 1]))


def test_an_update_of_an_empty_axis_is_refused_and_nothing_written() -> None:
    graph = "g (float[n, 1000] x, int64[3, 1] i, float[3, 1000] u) => (float[n, 1000] y) { y = ScatterND(x, i, u) }"
    agree(graph, x=floats(0, 1000), i=np.zeros((3, 1), np.int64), u=floats(3, 1000))


def test_an_index_out_of_an_axis_of_size_one_is_refused() -> None:
    graph = "g (float[1, 4] x, int64[2] i) => (float[2, 4] y) { y = Gather(x, i) }"
    agree(graph, x=floats(1, 4), i=np.array([0, 1]))
    agree(graph, x=floats(1, 4), i=np.array([0, -1]))


def test_an_index_out_of_a_repeated_axis_is_refused() -> None:
    graph = """g (float[1, 4] x, int64[2] i) => (float[2, 4] y) {
        s = Constant<value = int64[2] {3, 4}>() e = Expand(x, s) y = Gather(e, i)
    }"""
    agree(graph, x=floats(1, 4), i=np.array([0, 3]))
    agree(graph, x=floats(1, 4), i=np.array([0, 2]))


def test_what_is_padded_can_be_gathered() -> None:
    graph = """g (float[n, 4] x, int64[5] i) => (float[5, 4] y) {
        p = Constant<value = int64[4] {1, 0, 1, 0}>() e = Pad(x, p) y = Gather(e, i)
    }"""
    agree(graph, x=floats(3, 4), i=np.array([0, 1, 4, -1, 2]))


def test_what_is_gathered_can_be_padded() -> None:
    graph = """g (float[1, 4] x, int64[5] i) => (float[7, 4] y) {
        p = Constant<value = int64[4] {1, 0, 1, 0}>() e = Gather(x, i) y = Pad(e, p)
    }"""
    agree(graph, x=floats(1, 4), i=np.zeros(5, np.int64))


def test_what_is_reduced_and_padded_reads_no_rows_that_are_not_there() -> None:
    graph = """g (float[8, 3] x) => (float[3, 6] y) {
        a = Constant<value = int64[1] {0}>() p = Constant<value = int64[4] {1, 1, 1, 2}>()
        r = ReduceLogSumExp(x, a) y = Pad(r, p)
    }"""
    agree(graph, x=floats(8, 3))
    _, session = sessions(graph)
    assert session.compiled is not None
    assert len(session.compiled.scheduled.steps) > 1  # what is padded is stored: padding has rows that it has not


def test_a_constant_without_columns_can_be_multiplied_by() -> None:
    agree(
        "g (float[2, 3] x) => (float[2, 0] y) { w = Constant<value = float[3, 0] {}>() y = MatMul(x, w) }",
        x=floats(2, 3),
    )
    agree("g (float[0, 5] x) => (float[5] y) { w = Constant<value = float[0] {}>() y = MatMul(w, x) }", x=floats(0, 5))


def test_columns_in_two_axes_are_added_to_along_one() -> None:
    graph = """g (float[3, 17] x, float[2, 1, 1, 17] b) => (float[2, 3, 1, 17] y) {
        w = Constant<value = float[2, 3, 1, 3] {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}>() p = MatMul(w, x) y = Add(p, b)
    }"""
    agree(graph, x=floats(3, 17), b=floats(2, 1, 1, 17))


def test_columns_in_several_axes_of_a_convolution_can_be_multiplied() -> None:
    graph = """g (float16[2, 3, n, 8] x, float16[33, n] a, float16[3, 1, 1, 1] w) => (float16[2, 3, 33, 8] y) {
        c = Conv<group = 3, kernel_shape = [1, 1]>(x, w) y = MatMul(a, c)
    }"""
    x, a, w = (floats(*shape).astype(np.float16) for shape in ((2, 3, 5, 8), (33, 5), (3, 1, 1, 1)))
    one, other = (session.run(None, {"x": x, "a": a, "w": w})[0].astype(FLOAT) for session in sessions(graph))
    np.testing.assert_allclose(other, one, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "float16", "double"])
def test_columns_of_narrow_elements_have_room_in_their_panel(kind: str) -> None:
    graph = f"g ({kind}[m, k] x, {kind}[k, n] w) => ({kind}[m, n] y) {{ y = Einsum<equation = 'mk,kn->mn'>(x, w) }}"
    numbers = np.random.default_rng(0)
    x, w = (numbers.integers(0, 5, shape).astype(kind) for shape in ((33, 7), (7, 300)))
    agree(graph.replace("'", '"'), x=x, w=w)


def test_a_constant_index_out_of_range_before_a_product_is_refused() -> None:
    graph = """g (float[3, 4] x) => (float[1, 4] y) {
        t = Constant<value = float[2, 3] {1, 2, 3, 4, 5, 6}>() i = Constant<value = int64[1] {2}>()
        w = Gather(t, i) y = MatMul(w, x)
    }"""
    agree(graph, x=floats(3, 4))


def test_a_constant_division_by_zero_before_a_product_is_refused() -> None:
    graph = """g (int32[2, 2] x) => (int32[2, 2] y) {
        a = Constant<value = int32[2, 2] {1, 2, 3, 4}>() z = Constant<value = int32[2] {0, 1}>()
        w = Div(a, z) y = MatMul(x, w)
    }"""
    agree(graph, x=np.ones((2, 2), np.int32))


def test_a_division_by_a_constant_zero_is_refused() -> None:
    graph = "g (int64[n] x) => (int64[n] y) { z = Constant<value = int64 {0}>() y = Div(x, z) }"
    agree(graph, x=np.ones(20, np.int64))


def test_a_constant_that_the_reference_computes_can_be_multiplied_by() -> None:
    graph = """g (int64[3, 3] x) => (int64[2, 3] y) {
        a = Constant<value = int64[2, 2] {1, 2, 3, 4}>() b = Constant<value = int64[2, 3] {1, 2, 3, 4, 5, 6}>()
        w = Gemm<alpha = 2.0>(a, b) y = MatMul(w, x)
    }"""
    agree(graph, x=np.arange(9).reshape(3, 3))


def test_a_size_may_be_told_by_a_later_input_or_by_none() -> None:
    agree('g (float["n + 1"] x, float[n] y) => (float s, float[k] z) { s = ReduceSum<keepdims = 0>(x) z = Relu(y) }',
          x=floats(6), y=floats(5))  # fmt: skip
    agree('g (float["2*n"] x) => (float s) { s = ReduceSum<keepdims = 0>(x) }', x=floats(6))


def test_sizes_that_only_the_data_tell_are_left_to_the_reference() -> None:
    agree("g (float[n, 1] x, int64[2] s) => (float[a, b] y) { e = Expand(x, s) y = Relu(e) }",
          x=floats(2, 1), s=np.array([2, 5]))  # fmt: skip


def test_a_result_too_large_is_refused_with_its_bytes() -> None:
    _, session = sessions("g (float[n, 1] x, float[1, m] y) => (float[n, m] z) { z = Add(x, y) }")
    with pytest.raises(LimitError, match=r"17,592,186,044,416 bytes"):
        session.run(None, {"x": floats(1 << 21, 1), "y": floats(1, 1 << 21)})


def test_a_result_past_64_bits_is_refused_with_its_bytes() -> None:
    graph = """g (float[n, 1, 1] x, float[1, m, 1] y, float[1, 1, k] z) => (float[n, m, k] s) {
        a = Add(x, y) s = Mul(a, z)
    }"""
    _, session = sessions(graph)
    size = 1 << 21
    with pytest.raises(InputError, match=r"36,893,488,147,419,103,232 bytes"):
        session.run(None, {"x": floats(size, 1, 1), "y": floats(1, size, 1), "z": floats(1, 1, size)})


def test_steps_past_64_bits_are_refused() -> None:
    graph = """g (float[n, 1, 1] x, float[1, m, 1] y, float[1, 1, k] z) => (float s) {
        a = Add(x, y) b = Mul(a, z) s = ReduceSum<keepdims = 0>(b)
    }"""
    _, session = sessions(graph)
    size = 1 << 21
    feeds = {"x": floats(size, 1, 1), "y": floats(1, size, 1), "z": floats(1, 1, size)}
    with pytest.raises(InputError, match=r"9,223,372,036,854,775,808 steps"):
        session.run(None, feeds)


def test_the_size_of_what_a_call_makes_is_computed_with_after_the_call() -> None:
    graph = """g (float[n] x) => (bool[1] b, int64[1, k] y, float[m] z) {
        one = Constant<value = int64[1] {1}>() two = Constant<value = int64[1] {2}>()
        y = NonZero(x) s = Shape(y) t = Gather(s, one) b = Equal(t, two) z = Unique(x)
    }"""
    agree(graph, x=np.array([0, 1, 0, 2], FLOAT))
    agree(graph, x=np.array([0, 1, 3, 2], FLOAT))


def test_a_call_that_only_tells_sizes_is_made() -> None:
    graph = "g (int64[2] s) => (float[a, b] y) { c = ConstantOfShape(s) e = EyeLike(c) y = Neg(e) }"
    for sizes in ([3, 4], [0, 2], [1, 1]):
        agree(graph, s=np.asarray(sizes))


def test_what_writes_nothing_takes_no_time() -> None:
    graph = "g (int64[2] s, float[n] x) => (float[a, b] y) { c = ConstantOfShape(s) e = EyeLike(c) y = Neg(e) }"
    agree(graph, s=np.asarray([1 << 40, 0]), x=floats(1))  # 2 ** 40 rows of nothing


def test_what_is_padded_twice_can_be_multiplied() -> None:
    graph = """g (float[k, 16] x, float[5, n] a) => (float[10, 16] y)
        <int64[4] p = {0, 1, 2, 1}, int64[4] q = {2, 1, 1, 0}> { b = Pad(a, p) c = Pad(b, q) y = MatMul(c, x) }"""
    agree(graph, x=floats(20, 16), a=floats(5, 17))


def test_weights_of_16_bits_are_not_scaled() -> None:
    graph = """g (float16[1, 2, 5, 5] x) => (float16[1, 2, 4, 4] z)
        <float[2, 2, 2, 2] w = {WEIGHTS}, float[2] b = {0.3333, 0.7777}, float[1] c = {-0.1842}> {
        v = Cast<to = 10>(w) d = Cast<to = 10>(b) e = Cast<to = 10>(c) y = Conv(x, v, d) z = Add(y, e)
    }"""
    numbers = ", ".join(f"{each:.4f}" for each in floats(16))
    x = floats(1, 2, 5, 5).astype(np.float16)
    reference, compiled = (session.run(None, {"x": x})[0] for session in sessions(graph.replace("WEIGHTS", numbers)))
    np.testing.assert_array_equal(compiled, reference)


def test_a_computed_size_of_zero_is_one_to_copy() -> None:
    graph = """g (float[n, 4, m] x) => (float[a, b] y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
        s = Shape(x) n = Gather(s, zero) m = Gather(s, two) f = Mul(m, four)
        t = Concat<axis = 0>(n, f) y = Reshape(x, t)
    }"""
    agree(graph, x=floats(0, 4, 0))
    agree(graph, x=floats(2, 4, 3))
    agree(graph, x=floats(0, 4, 3))


def test_a_size_is_told_by_the_call_that_finds_it_before_one_that_is_made_with_it() -> None:
    graph = """g (float[n] x, int64 k) => (int64[a, b] y, int64[c] s)
        <int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] second = {1}> {
        r = Range(zero, k, one) i = Cast<to = 7>(x) u = Unsqueeze(i, second) e = Equal(u, r) d = Cast<to = 7>(e)
        s = ReduceSum<keepdims = 0>(d, first) h = Shape(s) m = ReduceMax<keepdims = 1>(i)
        t = Concat<axis = 0>(h, m) z = Expand(zero, t) y = Add(z, one)
    }"""
    agree(graph, x=np.array([1, 2], FLOAT), k=np.asarray(4))
    agree(graph, x=np.array([0, 3, 3], FLOAT), k=np.asarray(0))


def test_sizes_taken_to_be_equal_are_made_sure_of_where_only_sizes_are_needed() -> None:
    graph = """g (int64[3] s, int64[2] t) => (int64[3] y) <int32 z = {0}>
        { a = Expand (z, s) b = Expand (z, t) c = Add (a, b) y = Shape (c) }"""
    reference, compiled = sessions(graph)
    shapes = ([2, 4, 3], [4, 3]), ([2, 1, 3], [4, 1]), ([2, 4, 3], [1, 3])
    feeds = [{"s": np.array(s), "t": np.array(t)} for s, t in shapes]
    for each in feeds:  # without a FallbackWarning: compiled again, without what was assumed
        np.testing.assert_array_equal(compiled.run(None, each)[0], reference.run(None, each)[0])


@pytest.mark.parametrize("wanted", [5, 1, 3, 0, -1, -(2**63)])
@pytest.mark.parametrize("width", ["w", "5"])
def test_a_computed_shape_that_does_not_broadcast_is_refused(wanted: int, width: str) -> None:
    graph = f"g (float[n, {width}] x, int64[1] s) => (y) {{ y = Expand (x, s) }}"
    agree(graph, x=floats(2, 5), s=np.array([wanted]))


def test_an_input_of_unknown_rank_leaves_the_rest_of_the_model_compiled() -> None:
    graph = "g (float[] x, int64 step, int64 length) => (y, z) { y = STFT (x, step, , length) z = Abs (y) }"
    model = ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 28]> {graph}')
    model.graph.inputs[0].type = ingot.TensorType(ingot.DType.FLOAT32, None)
    session = Session(model, providers=("cpu", "reference"), fallback=False)
    reference = Session(model, providers=("reference",))
    for size in (16, 33):
        feeds = {"x": floats(1, size, 1), "step": np.array(3), "length": np.array(8)}
        for result, expected in zip(session.run(None, feeds), reference.run(None, feeds), strict=True):
            np.testing.assert_allclose(result, expected, atol=1e-5)


def test_a_result_is_a_constant_that_a_product_reads_in_another_shape() -> None:
    model = ingot.parse_model(
        """<ir_version: 13, opset_import: ["" : 28]>
        g (float[1, 3, 1, 3] x) => (float[1, 3, 1, 3] y, float[9] z)
          <int8[3, 3, 1, 1] w = {15, -17, -7, 23, 33, 54, 19, 127, 75}, float s = {0.5}, int64[1] flat = {-1}> {
          d = DequantizeLinear (w, s) y = Conv (x, d) z = Reshape (d, flat) }"""
    )
    x = floats(1, 3, 1, 3)
    for level in (0, 1, 2):
        session = Session(model, providers=("cpu", "reference"), fallback=False, optimise=level)
        for _ in range(2):
            y, z = session.run(None, {"x": x})
            w = np.array([15, -17, -7, 23, 33, 54, 19, 127, 75], FLOAT) / 2
            np.testing.assert_array_equal(z, w)
            np.testing.assert_allclose(y[0, :, 0], w.reshape(3, 3) @ x[0, :, 0], rtol=1e-5)


def test_a_product_of_halves_that_is_reshaped_before_it_is_widened() -> None:
    graph = """g (float16[4, 6] x) => (float y) <float16[6, 1] w = {1, 2, 3, 4, 5, 6}, int64[1] flat = {-1}> {
        m = MatMul (x, w) r = Reshape (m, flat) c = Cast <to = 1> (r) s = ReduceSum <keepdims = 0> (c) y = Log (s) }"""
    agree(graph, x=np.abs(floats(4, 6)).astype(np.float16))
