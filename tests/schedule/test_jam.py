"""Rows that are jammed are those of the reference, wherever windows end, and only where something is shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import ingot
from ingot.dims import Dim, evaluate, symbol
from ingot.dtypes import Array, DType
from ingot.ir import Graph, Model, Node, Value
from ingot.ir.types import TensorType
from ingot.loops.ir import Buffer, Index, Kernel, Let, Literal, Load, Stage, Update, Var
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.schedule.jam import shared_innermost
from lower.guarded import fenced


@dataclass(frozen=True)
class Depthwise:
    """A convolution of each channel by a filter of its own, with a bias, and nothing below zero; channels come last."""

    shape: tuple[Dim, ...]
    kernel: int = 3
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    stride: int = 1
    dilation: int = 1
    weight: float | None = None

    def model(self) -> Model:
        channels = self.shape[3]
        assert isinstance(channels, int)
        graph = Graph([Value("x", TensorType(DType.FLOAT32, self.shape))])
        x = graph.append(Node("Transpose", graph.inputs, ["t"], {"perm": [0, 3, 1, 2]})).output
        w = floats(channels, 1, self.kernel, self.kernel)
        if self.weight is not None:
            w[:, :, 0, 0] = self.weight
        given = [x, graph.add_initializer("w", w), graph.add_initializer("b", floats(channels))]
        sides = [self.kernel, self.kernel]
        attributes = {
            "group": channels,
            "kernel_shape": sides,
            "pads": list(self.pads),
            "strides": [self.stride, self.stride],
            "dilations": [self.dilation, self.dilation],
        }
        y = graph.append(Node("Conv", given, ["c"], attributes)).output
        y = graph.append(Node("Relu", [y], ["r"])).output
        graph.outputs.append(graph.append(Node("Transpose", [y], ["y"], {"perm": [0, 2, 3, 1]})).output)
        return Model(graph, {"": 22})

    def feed(self, **sizes: int) -> Array:
        return floats(*(evaluate(size, sizes) for size in self.shape))


def floats(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def compiled(model: Model, threads: int = 1) -> ingot.Session:
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def loops(session: ingot.Session) -> str:
    assert session.compiled is not None
    return "\n".join(show_kernel(step) for step in session.compiled.scheduled.steps if isinstance(step, Kernel))


def check(case: Depthwise, **sizes: int) -> None:
    """AssertionError unless rows are jammed, nothing beside a buffer is touched, and the result is right."""
    x = case.feed(**sizes)
    (expected,) = ingot.Session(case.model()).run(None, {"x": x})
    with fenced() as fences:
        session = compiled(case.model())
        assert " jam:" in loops(session)
        (result,) = session.run(None, {"x": fences.holding(x)})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 9, 11, 14])
def test_any_number_of_columns(columns: int) -> None:
    check(Depthwise((1, 3, columns, 17)))


@pytest.mark.parametrize("channels", [3, 8, 16, 24, 33])
def test_any_number_of_channels(channels: int) -> None:
    check(Depthwise((2, 5, 7, channels)))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_any_stride_and_dilation(stride: int, dilation: int) -> None:
    check(Depthwise((1, 13, 13, 24), 3, (2, 2, 2, 2), stride, dilation))


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (2, 2, 2, 2), (0, 1, 2, 0), (4, 0, 0, 4)])
def test_windows_of_five_with_any_padding(pads: tuple[int, int, int, int]) -> None:
    check(Depthwise((1, 7, 8, 20), 5, pads))


@pytest.mark.parametrize("side", [7, 9, 13])
def test_windows_too_large_to_be_written_out(side: int) -> None:
    check(Depthwise((1, 9, 8, 20), side, (side // 2,) * 4))


def test_one_axis_of_a_large_window_is_unrolled() -> None:
    session = compiled(Depthwise((1, 14, 14, 20), 11, (5, 5, 5, 5)).model())
    assert session.compiled is not None
    kernels = [step for step in session.compiled.scheduled.steps if isinstance(step, Kernel)]
    text = show_kernel(parametrise(kernels[-1]).kernel)
    assert text.count("< 11:") == 1


@pytest.mark.parametrize("columns", [0, 1, 3, 4, 6, 9])
def test_sizes_that_only_a_run_tells(columns: int) -> None:
    check(Depthwise((symbol("n"), symbol("rows"), symbol("columns"), 9)), n=2, rows=4, columns=columns)


def test_a_weight_that_is_infinite_meets_the_zeros_around_an_image() -> None:
    case = Depthwise((1, 4, 7, 16), weight=np.inf)
    (expected,) = ingot.Session(case.model()).run(None, {"x": case.feed()})
    (result,) = compiled(case.model()).run(None, {"x": case.feed()})
    assert np.isnan(expected[:, 0]).any()
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))


def test_any_number_of_threads_gives_the_same_bits() -> None:
    case = Depthwise((1, 31, 29, 40), 5, (2, 2, 2, 2))
    one, *others = [compiled(case.model(), threads).run(None, {"x": case.feed()})[0] for threads in (1, 2, 3)]
    for other in others:
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("columns", [9, 14])
def test_pools_whose_windows_overlap(pool: str, columns: int) -> None:
    graph = f"g (float[1,20,6,{columns}] x) => (float[1,20,h,w] y)"
    text = f"{graph} {{ y = {pool} <kernel_shape=[3,3], pads=[1,1,1,1]> (x) }}"
    model = ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 22]> {text}')
    x = floats(1, 20, 6, columns)
    session = compiled(model)
    (expected,), (result,) = ingot.Session(model).run(None, {"x": x}), session.run(None, {"x": x})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_nothing_is_jammed_where_windows_do_not_meet() -> None:
    text = "g (float[1,16,8,8] x) => (float[1,16,4,4] y) { y = MaxPool <kernel_shape=[2,2], strides=[2,2]> (x) }"
    session = compiled(ingot.parse_model(f'<ir_version: 13, opset_import: ["" : 22]> {text}'))
    assert " jam:" not in loops(session)


def test_more_channels_than_there_are_zeros_are_taken_alone() -> None:
    case = Depthwise((1, 2, 4, 2049))
    session = compiled(case.model())
    assert " jam:" not in loops(session)
    (expected,) = ingot.Session(case.model()).run(None, {"x": case.feed()})
    np.testing.assert_allclose(session.run(None, {"x": case.feed()})[0], expected, rtol=1e-5, atol=1e-5)


def test_layers_of_other_sizes_share_their_code() -> None:
    texts = set()
    for channels, side in ((16, 28), (48, 14)):
        session = compiled(Depthwise((1, side, side, channels)).model())
        assert session.compiled is not None
        kernels = [step for step in session.compiled.scheduled.steps if isinstance(step, Kernel)]
        texts.add(show_kernel(parametrise(kernels[-1]).kernel))
    assert len(texts) == 1


def test_the_channels_of_an_image_are_summed_where_they_lie() -> None:
    graph = Graph([Value("x", TensorType(DType.FLOAT32, (1, 3, 12, 13)))])
    w = graph.add_initializer("w", floats(20, 3, 3, 3))
    attributes = {"pads": [1, 1, 1, 1], "strides": [2, 2]}
    graph.outputs.append(graph.append(Node("Conv", [graph.inputs[0], w], ["y"], attributes)).output)
    model, x = Model(graph, {"": 22}), floats(1, 3, 12, 13)
    session = compiled(model)
    before, _ = loops(session).split("  product ")
    assert before.count("kernel k") == 2, "the image is stored once, with zeros around it, and multiplied"
    (expected,) = ingot.Session(model).run(None, {"x": x})
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-5)


def test_the_loop_that_jammed_rows_share_is_the_innermost() -> None:
    image = Var("i", 7)
    rows, columns, tap, across = (Var(name, 7) for name in ("r", "c", "t", "a"))
    load = Load(
        DType.FLOAT32, Buffer("x", DType.FLOAT32, 200), Index(((image, 10), (rows, 10), (columns, 1), (tap, 1)))
    )
    sums = Update("s", "add", load)
    start = Let("s", Literal(DType.FLOAT32, 0.0))
    assert shared_innermost(Stage((rows, columns), (start,), (sums,)), image).inner == (columns, rows)
    assert shared_innermost(Stage((rows, columns), (start,), (sums,)), across).inner == (rows, columns)
    first = Update("s", "where", load)
    assert shared_innermost(Stage((rows, columns), (start,), (first,)), image).inner == (rows, columns)
