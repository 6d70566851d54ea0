"""Arguments that a run computes (axes, shapes, bounds) in machine code: what the reference gives, or its error."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from ingot.dtypes import DType
from ingot.loops.ir import For, Kind, Load, kernels_in
from ingot.loops.rewrite import within
from ingot.loops.walk import walk
from lower.machine import HEADER, runs

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EMPTY = np.zeros((2, 0, 4), np.float32)
LARGEST, SMALLEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp", "ReduceProd"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_of_a_reduction(name: str, keepdims: int) -> None:
    runs(
        f"g (float[2, m, 4] x, int64[1] one, int64[2] two) => (y, z) {{"
        f" y = {name} <keepdims = {keepdims}> (x, one) z = {name} <keepdims = {keepdims}> (x, two) }}",
        {"x": X / 24, "one": ints(1), "two": ints(0, 2)},
        {"x": X / 24, "one": ints(-1), "two": ints(-2, 0)},
        {"x": EMPTY, "one": ints(0), "two": ints(-1, -2)},
        {"x": X, "one": ints(3), "two": ints(0, 1)},
        {"x": X, "one": ints(0), "two": ints(0, -3)},
        rtol=1e-5,
    )


def test_axes_of_a_reduction_over_all_axes() -> None:
    runs(
        "g (float[n, m] x, int64[2] axes) => (y) { y = ReduceSum <keepdims = 0> (x, axes) }",
        {"x": X[0], "axes": ints(1, 0)},
        {"x": X[0], "axes": ints(1, 1)},
    )


def test_a_reduction_over_computed_axes_reads_vectors_whichever_they_are() -> None:
    model = ingot.parse_model(
        f"{HEADER} g (float[2, 3, 40] x, int64[1] axes) => (float[a, b, c] y) {{ y = ReduceSum (x, axes) }}"
    )
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    nests = [nest for kernel in kernels_in(session.compiled.scheduled.steps) for nest in kernel.nests]
    vectors = [loop for loop in within([part for nest in nests if isinstance(nest, tuple) for part in nest])
               if isinstance(loop, For) and loop.kind is Kind.VECTOR]  # fmt: skip
    strides = [
        load.index.factor(loop.var)
        for loop in vectors
        for load in walk(*loop.body)
        if isinstance(load, Load) and load.dtype is DType.FLOAT32
    ]
    assert strides
    assert set(strides) == {1}


def test_the_axis_of_a_cumulative_sum() -> None:
    for axis_type in ("int64", "int32"):
        cases = [{"x": X, "axis": np.array(axis, axis_type)} for axis in (0, 1, 2, -1, -3, 3, -4)]
        runs(
            f"g (float[2, m, 4] x, {axis_type} axis) => (y) {{ y = CumSum <exclusive = 1> (x, axis) }}",
            *cases,
            {"x": EMPTY, "axis": np.array(1, axis_type)},
        )


def test_a_shape() -> None:
    runs(
        "g (float[2, m, 4] x, int64[2] shape) => (y) { y = Reshape (x, shape) }",
        *({"x": X, "shape": ints(*shape)} for shape in [(6, 4), (-1, 4), (0, -1), (0, 12), (24, 1)]),
        *({"x": X, "shape": ints(*shape)} for shape in [(5, 5), (-1, 5), (-1, -1), (-2, 12), (0, 0), (-1, 0)]),
        *({"x": EMPTY, "shape": ints(*shape)} for shape in [(-1, 4), (0, 0), (2, 0), (7, 7)]),
    )
    runs(
        "g (float[2, m, 4] x, int64[3] shape) => (y) { y = Reshape <allowzero = 1> (x, shape) }",
        *({"x": EMPTY, "shape": ints(*shape)} for shape in [(0, 3, 5), (4, 0, 2), (0, -1, 2), (-1, 1, 2)]),
        {"x": X, "shape": ints(0, 3, 4)},
    )
    runs(
        "g (float[2, m, 4] x, int64[4] shape) => (y) { y = Reshape (x, shape) }",
        *({"x": X, "shape": ints(*shape)} for shape in [(2, 3, 2, -1), (0, 0, 0, 1), (2, 3, 4, 0)]),
    )


def test_axes_that_are_put_in_or_taken_out() -> None:
    runs(
        "g (float[2, m, 4] x, int64[2] axes) => (y) { y = Unsqueeze (x, axes) }",
        *({"x": X, "axes": ints(*axes)} for axes in [(0, 1), (-1, 0), (4, 2), (5, 0), (1, 1), (-5, -1)]),
        {"x": EMPTY, "axes": ints(0, 3)},
    )
    runs(
        "g (float x, int64[2] axes) => (y) { y = Unsqueeze (x, axes) }",
        *({"x": np.float32(3), "axes": ints(*axes)} for axes in [(0, 1), (1, 1)]),
    )
    runs(
        "g (float[1, m, 1] x, int64[1] axes) => (y) { y = Squeeze (x, axes) }",
        *({"x": X[:1, :, :1], "axes": ints(axis)} for axis in (0, 2, -1, 1, 3)),
    )
    runs(
        "g (float[1, 1] x, int64[2] axes) => (y) { y = Squeeze (x, axes) }",
        *({"x": X[:1, 0, :1], "axes": ints(*axes)} for axes in [(0, 1), (1, 1)]),
    )


BOUNDS = [(0, 2, 1), (1, LARGEST, 1), (-2, 3, 1), (5, 9, 1), (2, 1, 1), (SMALLEST, LARGEST, 2), (0, 2, 0)]
BACKWARDS = [(-1, SMALLEST, -1), (2, 0, -2), (LARGEST, -3, -1), (0, SMALLEST, SMALLEST), (1, 1, -1)]


def test_bounds_of_a_slice() -> None:
    runs(
        "g (float[2, m, 4] x, int64[1] starts, int64[1] ends, int64[1] axes, int64[1] steps) => (y) "
        "{ y = Slice (x, starts, ends, axes, steps) }",
        *(
            {"x": X, "starts": ints(a), "ends": ints(b), "axes": ints(axis), "steps": ints(c)}
            for axis in (1, -1)
            for a, b, c in (*BOUNDS, *BACKWARDS)
        ),
        {"x": EMPTY, "starts": ints(-1), "ends": ints(5), "axes": ints(1), "steps": ints(-1)},
        {"x": X, "starts": ints(0), "ends": ints(1), "axes": ints(3), "steps": ints(1)},
    )


def test_bounds_of_a_slice_along_known_axes() -> None:
    for step in (1, 2, -1):
        runs(
            f"g (float[2, m, 4] x, int32[2] starts, int32[2] ends) => (y) <int32[2] axes = {{2, 1}}, "
            f"int32[2] steps = {{{step}, 1}}> {{ y = Slice (x, starts, ends, axes, steps) }}",
            *(
                {"x": X, "starts": np.array([a, 0], np.int32), "ends": np.array([b, -1], np.int32)}
                for a, b in [(0, 3), (-1, -5), (3, 0), (1, 1), (100, -100)]
            ),
        )


def test_only_the_sliced_axes_have_read_sizes() -> None:
    model = ingot.parse_model(
        f"{HEADER} g (float[n, 3] x, int64[1] s, int64[1] e) => (y) <int64[1] a = {{0}}> {{ y = Slice (x, s, e, a) }}"
    )
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    (output,) = session.compiled.outputs
    assert output.shape[1] == 3


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_amounts_of_a_pad(mode: str) -> None:
    runs(
        f'g (float[2, m, 4] x, int64[6] pads) => (y) {{ y = Pad <mode = "{mode}"> (x, pads) }}',
        *(
            {"x": X, "pads": ints(*p)}
            for p in [(0,) * 6, (1, 0, 2, 0, 1, 1), (-1, 1, 0, 0, -1, 2), (0, -2, 0, 0, -2, 0)]
        ),
    )
    runs(
        f'g (float[2, m, 4] x, int64[2] pads, int64[1] axes) => (y) {{ y = Pad <mode = "{mode}"> (x, pads, , axes) }}',
        *({"x": X, "pads": ints(1, 2), "axes": ints(axis)} for axis in (0, -1, 2, 3)),
    )


@pytest.mark.parametrize("kind", ["float", "double", "int64", "int32", "int16"])
def test_bounds_of_a_range(kind: str) -> None:
    numpy = {"float": np.float32, "double": np.float64}.get(kind, kind)
    bounds = [(0, 5, 1), (1, 10, 3), (10, 1, -4), (3, 3, 1), (5, 1, 1), (0, 5, 0), (7, -7, -1)]
    runs(
        f"g ({kind} a, {kind} b, {kind} c) => (y) {{ y = Range (a, b, c) }}",
        *({"a": np.array(a, numpy), "b": np.array(b, numpy), "c": np.array(c, numpy)} for a, b, c in bounds),
    )


def test_a_range_to_infinity_is_refused_as_the_reference_does() -> None:
    bounds = [(0, np.inf, 1), (np.nan, 1, 1), (0, 1.5, 0.5)]
    runs(
        "g (float a, float b, float c) => (y) { y = Range (a, b, c) }",
        *({"a": np.float32(a), "b": np.float32(b), "c": np.float32(c)} for a, b, c in bounds),
    )


def test_natural_numbers_that_sizes_follow_from() -> None:
    runs(
        "g (float[2, m] x, int64[2] repeats) => (y) { y = Tile (x, repeats) }",
        *({"x": X[0, :2], "repeats": ints(*n)} for n in [(1, 1), (2, 3), (0, 1), (-1, 1)]),
    )
    runs(
        "g (int64[2] shape) => (y) { y = ConstantOfShape (shape) }",
        *({"shape": ints(*n)} for n in [(2, 3), (0, 4), (-1, 2)]),
    )
    runs(
        "g (int64[n] x, int64 depth, float[2] values) => (y) { y = OneHot (x, depth, values) }",
        *({"x": ints(0, 2, -1), "depth": np.int64(d), "values": X[0, 0, :2]} for d in (3, 1, 0)),
    )
    runs(
        "g (float[n, 5] x, int64[1] k) => (y, i) { y, i = TopK (x, k) }",
        *({"x": np.array([[1, 5, 2, 4, 3]], np.float32), "k": ints(k)} for k in (1, 3, 5, 0, 6, -1)),
    )
    runs(
        "g (float[n, 5] x, int64[2] lengths) => (y, z) { y, z = Split <axis = 1> (x, lengths) }",
        *(
            {"x": np.array([[1, 5, 2, 4, 3]], np.float32), "lengths": ints(*n)}
            for n in [(2, 3), (0, 5), (3, 3), (-1, 6)]
        ),
    )


def test_a_shape_to_expand_to() -> None:
    runs(
        "g (float[2, 1, 4] x, int64[3] shape) => (y) { y = Expand (x, shape) }",
        *({"x": X[:, :1], "shape": ints(*n)} for n in [(2, 3, 4), (1, 5, 1), (1, 0, 4), (3, 1, 1), (2, -1, 4)]),
    )
    runs(
        "g (float[n] x, int64[2] shape) => (y) { y = Expand (x, shape) }",
        *({"x": X[0, 0], "shape": ints(*n)} for n in [(2, 4), (3, 1)]),
    )


def test_expand_to_a_size_that_only_a_run_can_compare() -> None:
    rows = [(5, 4), (5, 1), (1, 4), (4, 4), (1, 0), (5, 0), (0, 1), (5, 3)]
    runs(
        "g (float[n, 3] x, float[m, 3] y) => (z) { shape = Shape (y) z = Expand (x, shape) }",
        *({"x": X[0, 0, :3] + np.zeros((n, 1), np.float32), "y": np.zeros((m, 3), np.float32)} for n, m in rows),
    )
    runs(  # the shape that torch's exporter writes around index_add: the first of the rows that are added to
        "g (float[n, 3] x, float[m, 3] y) => (z) <int64[1] starts = {0}, int64[1] ends = {1}> {"
        " first = Slice (y, starts, ends) shape = Shape (first) z = Expand (x, shape) }",
        *({"x": X[0, 0, :3] + np.zeros((n, 1), np.float32), "y": np.zeros((m, 3), np.float32)} for n, m in rows),
    )


def test_a_size_that_follows_from_another_computed_size() -> None:
    runs(
        "g (float[n] x, int64[1] shape, int64[1] starts) => (y) <int64[1] most = {9}, int64[1] axes = {0}> {"
        " wide = Expand (x, shape) part = Slice (wide, starts, most, axes) half = Shape (part)"
        " zero = Mul (half, starts)"
        " small = ConstantOfShape (zero) y = Concat <axis = 0> (part, small) }",
        *({"x": X[0, 0, :1], "shape": ints(m), "starts": ints(s)} for m, s in [(4, 1), (5, 0), (3, 2)]),
    )


def test_a_plan_with_computed_sizes_is_found_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path))
    text = f"{HEADER} g (float[n] x, int64[2] shape) => (y) {{ z = Exp (x) y = Reshape (z, shape) }}"
    path = tmp_path / "model.onnx"
    ingot.save(ingot.parse_model(text), path)
    for _ in range(2):
        session = ingot.Session(path, providers=("cpu", "reference"))
        assert session.run(None, {"x": X[0, 0], "shape": ints(2, -1)})[0].shape == (2, 2)
        assert session.run(None, {"x": X[0, 0], "shape": ints(4, 1)})[0].shape == (4, 1)
        for thread in threading.enumerate():
            if thread.name == "ingot-keep":
                thread.join()


def test_a_squeeze_without_axes_is_compiled_for_sizes_that_are_not_one() -> None:
    text = f"{HEADER} g (float[n, 1, m] x) => (y) {{ z = Squeeze (x) y = Exp (z) }}"
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    for n, m in [(2, 3), (0, 2), (1, 3), (2, 1), (1, 1)]:
        (y,) = session.run(None, {"x": np.zeros((n, 1, m), np.float32)})
        assert y.shape == tuple(size for size in (n, m) if size != 1)


def test_a_squeeze_of_a_computed_size_has_a_plan_for_either_choice() -> None:
    constants = "<int64 zero = {0}, int64 one = {1}>"
    text = f"{HEADER} g (int64 n) => (y) {constants} {{ r = Range (zero, n, one) y = Squeeze (r) }}"
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    for _ in range(2):
        assert session.run(None, {"n": np.array(3)})[0].tolist() == [0, 1, 2]
        assert session.run(None, {"n": np.array(1)})[0].tolist() == 0


@pytest.mark.parametrize("kind", ["float", "float16", "bool", "int8", "uint64"])
def test_places_that_are_not_zero(kind: str) -> None:
    numpy = {"float": np.float32}.get(kind, kind)
    x = np.array([[0, 1, -0.0], [2, 0, 3]]).astype(numpy)
    runs(
        f"g ({kind}[n, m] x) => (y) {{ y = NonZero (x) }}",
        *({"x": each} for each in (x, x[:1], x[:, :1], x * 0, x[:0], x[:, :0])),
    )
    runs(f"g ({kind} x) => (y) {{ y = NonZero (x) }}", {"x": x[0, 1]}, {"x": x[0, 0]})


def test_sizes_of_what_follows_a_count() -> None:
    runs(
        "g (float[n] x) => (y, s) <int64[1] axes = {0}> {"
        " p = NonZero (x) q = Squeeze (p, axes) z = Gather (x, q) y = Mul (z, z) s = Shape (y) }",
        *({"x": np.array(each, np.float32)} for each in ([1, 0, 2], [0, 0], [3], [])),
    )


def test_slices_that_a_condition_selects() -> None:
    for axis in ("", "<axis = 0>", "<axis = -1>"):
        runs(
            f"g (float[2, m, 4] x, bool[k] c) => (y) {{ y = Compress {axis} (x, c) }}",
            *({"x": X, "c": np.array(c, bool)} for c in ([1, 0], [0, 0], [1, 1], [0], [], [0, 1, 1, 0, 1])),
            {"x": EMPTY, "c": np.array([0, 1], bool)},
        )


def test_a_reshape_that_fits_one_batch_alone_is_compiled() -> None:
    """Exporters write the batch of their example into a Reshape of a model whose batch is declared open."""
    model = ingot.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[batch, 6] x) => (float[1, 2, 3] z)'
        " <int64[3] shape = {1, 2, 3}> { y = Relu (x) z = Reshape (y, shape) }"
    )
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    x = np.arange(-3, 3, dtype=np.float32).reshape(1, 6)
    np.testing.assert_array_equal(session(x), np.maximum(x, 0).reshape(1, 2, 3))
    assert session.compiled is not None
    assert not session.compiled.program.calls
    with pytest.raises(ingot.IngotError, match="12 elements do not fit"):
        session(np.zeros((2, 6), np.float32))


def test_pads_of_which_only_a_run_knows_whether_they_take_off() -> None:
    for mode in ("constant", "reflect", "edge"):
        runs(
            f"g (float[n] x, float[m] like) => (y) <int64[1] zero = {{0}}> {{"
            f" n = Shape (x) m = Shape (like) less = Sub (m, n) pads = Concat <axis = 0> (zero, less)"
            f' y = Pad <mode = "{mode}"> (x, pads) }}',
            *({"x": X[0, 0], "like": np.zeros(size, np.float32)} for size in (4, 6, 3, 0)),
        )


def test_pads_to_a_multiple_are_known_to_add() -> None:
    text = (
        f"{HEADER} g (float[b, n] x) => (float[p, q] y)"
        " <int64[1] one = {1}, int64[1] seven = {7}, int64[1] eight = {8}, int64[3] none = {0, 0, 0}> {"
        " shape = Shape (x) n = Gather <axis = 0> (shape, one) up = Add (n, seven) blocks = Div (up, eight)"
        " whole = Mul (blocks, eight) more = Sub (whole, n)"
        " pads = Concat <axis = 0> (none, more) y = Pad (x, pads) }"
    )
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    (y,) = session.run(None, {"x": np.ones((2, 13), np.float32)})
    assert y.shape == (2, 16)
    assert session.compiled is not None
    assert len(session.compiled.plan.segments) == 1


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_long_rows_are_padded_by_their_own_elements(mode: str) -> None:
    x = np.arange(3 * 40, dtype=np.float32).reshape(3, 40)
    constant = "int64[4] pads = {1, 3, 2, 5}"
    runs(f'g (float[3, 40] x) => (y) <{constant}> {{ y = Pad <mode = "{mode}"> (x, pads) }}', {"x": x})
    runs(
        f'g (float[3, 40] x, int64[4] pads) => (y) {{ y = Pad <mode = "{mode}"> (x, pads) }}',
        *({"x": x, "pads": ints(*pads)} for pads in [(1, 3, 2, 5), (0, 0, 0, 0), (0, -2, 1, 39), (2, 39, 0, 0)]),
    )


def test_a_slice_by_computed_steps_takes_whole_rows_where_they_are_one() -> None:
    x = np.arange(3 * 40, dtype=np.float32).reshape(3, 40)
    graph = (
        "g (float[3, 40] x, int64[2] a, int64[2] b, int64[2] axes, int64[2] by) => (y)"
        " { y = Slice (x, a, b, axes, by) }"
    )
    cases = [
        ((0, 3), (3, 38), (1, 1)),
        ((2, 35), (-9, 1), (-1, 1)),
        ((0, 39), (3, -99), (2, -3)),
        ((0, 5), (3, 5), (1, 1)),
    ]
    runs(graph, *({"x": x, "a": ints(*a), "b": ints(*b), "axes": ints(0, 1), "by": ints(*by)} for a, b, by in cases))
    session = ingot.Session(ingot.parse_model(f"{HEADER} {graph}"), providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    steps = [type(step).__name__ for step in session.compiled.scheduled.steps]
    assert "BranchStep" in steps


def test_a_slice_that_may_count_from_either_end_is_machine_code() -> None:
    """From `k - 1` to `2*k - 1`, as models with relative positions have it: from the end where `k` is zero."""
    model = ingot.parse_model(f"""{HEADER} g (float[n, m] x, float[k] e) => (z)
    <int64[1] one = {{1}}, int64[1] two = {{2}}> {{
        size = Shape <start = 0, end = 1> (e)
        start = Sub (size, one)
        twice = Mul (size, two)
        end = Sub (twice, one)
        z = Slice (x, start, end, one)
    }}""")
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    x = np.arange(18, dtype=np.float32).reshape(2, 9)
    for size in (0, 1, 3, 5, 3):
        (z,) = session.run(None, {"x": x, "e": np.zeros(size, np.float32)})
        assert z.tolist() == x[:, size - 1 : 2 * size - 1].tolist()
