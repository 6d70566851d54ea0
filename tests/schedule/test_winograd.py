"""Convolutions by Winograd's algorithm are those of the reference, wherever tiles end and whatever is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dims import Dim, evaluate, symbol
from ingot.dtypes import Array, DType
from ingot.ir import Graph, Model, Node, Value
from ingot.ir.types import TensorType
from ingot.loops.ir import Kernel, Winograd
from ingot.schedule.winograd import POINTS, at_points
from lower.guarded import fenced

CLOSE = 2e-5
"""How far a result may be off, as a part of the largest."""


@dataclass(frozen=True)
class Convolution:
    """The convolution of `x` by 3 x 3 filters; with `beside` a bias, `r` added to it and nothing below zero."""

    shape: tuple[Dim, ...]
    filters: int
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    beside: bool = False

    def feeds(self, **sizes: int) -> dict[str, Array]:
        images, channels, rows, columns = (evaluate(size, sizes) for size in self.shape)
        top, left, bottom, right = self.pads
        found = {"x": _random(0, images, channels, rows, columns)}
        if self.beside:
            found["r"] = _random(1, images, self.filters, rows + top + bottom - 2, columns + left + right - 2)
        return found

    def model(self, **attributes: Any) -> Model:
        graph = Graph([Value("x", TensorType(DType.FLOAT32, self.shape))])
        w, b = self.weights()
        given = [graph.inputs[0], graph.add_initializer("w", w)]
        if self.beside:
            given.append(graph.add_initializer("b", b))
        y = graph.append(Node("Conv", given, ["c"], {"pads": list(self.pads), **attributes})).output
        if self.beside:
            graph.inputs.append(Value("r", TensorType(DType.FLOAT32, tuple(self.feeds()["r"].shape))))
            y = graph.append(Node("Add", [y, graph.inputs[1]], ["s"])).output
            y = graph.append(Node("Relu", [y], ["y"])).output
        graph.outputs.append(y)
        return Model(graph, 22)

    def weights(self) -> tuple[Array, Array]:
        channels = self.shape[1]
        assert isinstance(channels, int)
        return _random(2, self.filters, channels, 3, 3), _random(3, self.filters)

    def exactly(self, feeds: dict[str, Array]) -> Array:
        """The result in float64, from a definition that knows no windows: nine products of shifted inputs."""
        top, left, bottom, right = self.pads
        x = np.pad(feeds["x"].astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
        w, b = (each.astype(np.float64) for each in self.weights())
        rows, columns = x.shape[2] - 2, x.shape[3] - 2
        y = np.zeros((x.shape[0], self.filters, rows, columns))
        for i in range(3):
            for j in range(3):
                y += np.einsum("nchw,oc->nohw", x[:, :, i : i + rows, j : j + columns], w[:, :, i, j])
        return np.maximum(y + b[:, None, None] + feeds["r"], 0) if self.beside else y


def session(model: Model, threads: int = 1) -> ingot.Session:
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def sides(made: ingot.Session) -> list[int]:
    """The sides of the tiles of each kernel by Winograd's algorithm."""
    assert made.compiled is not None
    kernels = [step for step in made.compiled.scheduled.steps if isinstance(step, Kernel)]
    return [nest.side for kernel in kernels for nest in kernel.nests if isinstance(nest, Winograd)]


def check(case: Convolution, side: int, **sizes: int) -> None:
    """AssertionError unless a case is computed in tiles of a side, and what it is in float64."""
    feeds = case.feeds(**sizes)
    made = session(case.model())
    assert sides(made) == [side]
    assert_close(made.run(None, feeds)[0], case.exactly(feeds))


def assert_close(result: Array, exact: Array) -> None:
    assert result.shape == exact.shape
    error, largest = np.abs(result - exact).max(initial=0), np.abs(exact).max(initial=0)
    assert error <= CLOSE * largest, f"off by {error / largest:.1e} of the largest"


def _random(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=[2, 4])
def side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tiles of one side wherever the algorithm applies, even where it does not pay."""
    found: int = request.param
    monkeypatch.setattr("ingot.schedule.winograd._time", lambda _, each, __: 0 if each == found else 1)
    return found


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 8, 9, 13, 14])
def test_any_size_of_the_image(side: int, size: int) -> None:
    check(Convolution((1, 17, size, size + 1), 20), side)


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (2, 2, 2, 2), (1, 0, 0, 2), (0, 2, 1, 0)])
def test_any_padding(side: int, pads: tuple[int, int, int, int]) -> None:
    check(Convolution((1, 16, 7, 10), 16, pads), side)


@pytest.mark.parametrize("channels", [16, 31, 33, 48, 64, 65])
@pytest.mark.parametrize("filters", [16, 33, 65])
def test_any_number_of_channels_and_filters(channels: int, filters: int) -> None:
    check(Convolution((1, channels, 13, 13), filters), 4)


def test_images_that_fill_many_blocks_of_tiles() -> None:
    check(Convolution((3, 64, 56, 56), 64), 4)


def test_five_hundred_channels_are_summed_as_closely(side: int) -> None:
    check(Convolution((1, 512, 9, 9), 32), side)


@pytest.mark.parametrize("filters", [48, 65])
def test_what_follows_is_made_of_the_sums_at_hand(side: int, filters: int) -> None:
    check(Convolution((3, 33, 13, 14), filters, beside=True), side)


def test_one_compilation_serves_every_batch_and_size() -> None:
    names = ("batch", "rows", "columns")
    batch, rows, columns = map(symbol, names)
    case = Convolution((batch, 32, rows, columns), 48, (1, 2, 0, 1))
    made = session(case.model())
    assert sides(made) == [4]
    for sizes in ((1, 5, 5), (3, 14, 9), (2, 2, 1), (1, 30, 2), (0, 8, 8)):
        feeds = case.feeds(**dict(zip(names, sizes, strict=True)))
        assert_close(made.run(None, feeds)[0], case.exactly(feeds))


def test_windows_with_strides_as_large_as_their_gaps_slide_too(side: int) -> None:
    case = Convolution((2, 24, 15, 18), 32)
    model = case.model(strides=[2, 2], dilations=[2, 2])
    made = session(model)
    assert sides(made) == [side]
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, case.feeds())
    assert_close(made.run(None, case.feeds())[0], expected)


@pytest.mark.parametrize("attributes", [{"strides": [2, 2]}, {"dilations": [2, 2]}, {"strides": [1, 2]}])
@pytest.mark.usefixtures("side")
def test_other_convolutions_stay_products(attributes: dict[str, Any]) -> None:
    assert sides(session(Convolution((1, 32, 12, 12), 32).model(**attributes))) == []


def test_few_tiles_do_not_pay_for_weights_four_times_as_large() -> None:
    assert sides(session(Convolution((1, 256, 7, 7), 256).model())) == [2]
    assert sides(session(Convolution((1, 256, 2, 2), 256).model())) == []


@pytest.mark.parametrize("shape", [(1, 64, 7, 7), (3, 32, 30, 30)])
@pytest.mark.parametrize("odd", [1, np.inf])
def test_more_threads_give_the_bits_of_one(shape: tuple[int, ...], odd: float) -> None:
    case = Convolution(shape, 160, beside=True)
    feeds = case.feeds()
    feeds["x"][0, :2, 4, 4] = odd
    one, two, three = (session(case.model(), threads).run(None, feeds)[0] for threads in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("front", [False, True])
def test_nothing_outside_of_buffers_is_touched(side: int, front: bool) -> None:
    for case in (Convolution((2, 33, 5, 7), 65, (0, 0, 0, 0)), Convolution((1, 17, 9, 6), 16, (0, 2, 1, 0), True)):
        with fenced(front) as fences:
            made = session(case.model(), threads=2)
            assert sides(made) == [side]
            for odd in (1, np.inf):
                feeds = case.feeds()
                feeds["x"][0, 0, 1, 1] = odd
                made.run(None, {name: fences.holding(array) for name, array in feeds.items()})


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_in_the_windows_that_see_it(side: int, odd: float) -> None:
    case = Convolution((1, 20, 11, 11), 40, beside=True)
    feeds = case.feeds()
    feeds["x"][0, 5, 4, 6] = odd
    made = session(case.model())
    assert sides(made) == [side]
    result = made.run(None, feeds)[0]
    with np.errstate(all="ignore"):
        expected = ingot.Session(case.model(), providers=("reference",)).run(None, feeds)[0]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    apart = np.ones((11, 11), bool)
    apart[3:6, 5:8] = False
    assert np.isfinite(result[..., apart]).all()


@pytest.mark.parametrize("odd", [np.inf, np.nan, 1e38])
@pytest.mark.usefixtures("side")
def test_weights_that_are_not_finite_or_nearly_so_are_not_transformed(
    odd: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Convolution((1, 16, 8, 8), 16)
    w, b = case.weights()
    w[3, 2, 1, 1] = odd
    monkeypatch.setattr(Convolution, "weights", lambda _: (w, b))
    assert sides(session(case.model())) == []


@pytest.mark.parametrize("side", POINTS)
def test_filters_at_points_are_polynomials(side: int) -> None:
    filters = np.random.default_rng(0).standard_normal((3, 3, 1, 1))
    values = at_points(filters, side).reshape(side + 2, side + 2)
    points = [0.0, *(sign * point for point in POINTS[side] for sign in (1, -1))]
    scale = [np.prod([p - q for q in points if q != p]) for p in points]
    for i, p in enumerate(points):
        for j, q in enumerate(points):
            powers = np.outer([1, p, p * p], [1, q, q * q])
            assert np.isclose(values[i, j] * scale[i] * scale[j], (filters[..., 0, 0] * powers).sum())
    assert np.isclose(values[-1, -1], filters[2, 2, 0, 0])
