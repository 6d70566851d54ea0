"""Convolutions by Winograd's algorithm are those of the reference, wherever tiles end and whatever is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.dtypes import Array, DType
from ingot.ir import Graph, Model, Node, Value
from ingot.ir.types import TensorType
from ingot.lower.loops import Winograd
from ingot.lower.winograd import POINTS, at_points

CLOSE = 2e-5
"""How far a result may be off, as a part of the largest."""


def convolution(
    shape: tuple[Any, ...], filters: int, pads: tuple[int, int, int, int] = (1, 1, 1, 1), *, beside: bool = False
) -> Model:
    """The convolution of `x` by 3 x 3 filters; with `beside` a bias, `r` added to it and nothing below zero."""
    rng = np.random.default_rng(7)
    graph = Graph([Value("x", TensorType(DType.FLOAT32, shape))])
    w = graph.add_initializer("w", rng.standard_normal((filters, shape[1], 3, 3)).astype(np.float32))
    given = [graph.inputs[0], w]
    if beside:
        given.append(graph.add_initializer("b", rng.standard_normal(filters).astype(np.float32)))
    y = graph.append(Node("Conv", given, ["c"], {"pads": list(pads)})).output
    if beside:
        rows, columns = (size + lo + hi - 2 for size, lo, hi in zip(shape[2:], pads[:2], pads[2:], strict=True))
        r = Value("r", TensorType(DType.FLOAT32, (shape[0], filters, rows, columns)))
        graph.inputs.append(r)
        y = graph.append(Node("Relu", [graph.append(Node("Add", [y, r], ["s"])).output], ["y"])).output
    graph.outputs.append(y)
    return Model(graph, 22)


def session(model: Model, threads: int = 1) -> ingot.Session:
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def sides(made: ingot.Session) -> list[int]:
    """The sides of the tiles of each kernel by Winograd's algorithm."""
    assert made.compiled is not None
    kernels = [step for step in made.compiled.fused.steps if hasattr(step, "nests")]
    return [nest.side for kernel in kernels for nest in kernel.nests if isinstance(nest, Winograd)]


def exactly(model: Model, feeds: dict[str, Array]) -> Array:
    """The result in float64, from a definition that needs no windows: nine products of shifted inputs."""
    graph = model.graph
    w, *rest = (np.asarray(value.constant.numpy(), np.float64) for value in graph.initializers.values())  # type: ignore[union-attr]
    pads = graph.nodes[0].attributes["pads"]
    top, left, bottom, right = pads.value if hasattr(pads, "value") else pads
    x = np.pad(feeds["x"].astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    rows, columns = x.shape[2] - 2, x.shape[3] - 2
    y = sum(
        np.einsum("nchw,oc->nohw", x[:, :, i : i + rows, j : j + columns], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    if rest:
        y = np.maximum(y + rest[0][:, None, None] + feeds["r"], 0)
    return np.asarray(y)


def feeds_of(model: Model, **sizes: int) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    found = {}
    for value in model.graph.inputs:
        shape = [size if isinstance(size, int) else ingot.dims.evaluate(size, sizes) for size in value.type.shape]  # type: ignore[union-attr]
        found[value.name] = rng.standard_normal(shape).astype(np.float32)
    return found


def is_close(result: Array, exact: Array) -> bool:
    limit = CLOSE * np.abs(exact).max(initial=0)
    return result.shape == exact.shape and bool((np.abs(result - exact) <= limit).all())


@pytest.fixture(params=[2, 4])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tiles of one side wherever the algorithm applies, even where it does not pay."""
    side: int = request.param
    monkeypatch.setattr("ingot.lower.winograd._time", lambda product, each: 0 if each == side else 1)
    return side


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 8, 9, 13, 14])
def test_any_size_of_the_image(forced: int, size: int) -> None:
    model = convolution((1, 17, size, size + 1), 20)
    feeds = feeds_of(model)
    made = session(model)
    assert sides(made) == [forced]
    assert is_close(made.run(None, feeds)[0], exactly(model, feeds))


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (2, 2, 2, 2), (1, 0, 0, 2), (0, 2, 1, 0)])
def test_any_padding(forced: int, pads: tuple[int, int, int, int]) -> None:
    model = convolution((1, 16, 7, 10), 16, pads)
    feeds = feeds_of(model)
    made = session(model)
    assert sides(made) == [forced]
    assert is_close(made.run(None, feeds)[0], exactly(model, feeds))


@pytest.mark.parametrize("channels", [16, 31, 32, 33, 48, 64, 65])
@pytest.mark.parametrize("filters", [16, 33, 65])
def test_any_number_of_channels_and_filters(channels: int, filters: int) -> None:
    model = convolution((1, channels, 13, 13), filters)
    feeds = feeds_of(model)
    made = session(model)
    assert sides(made) == [4]
    assert is_close(made.run(None, feeds)[0], exactly(model, feeds))


def test_images_that_fill_many_blocks_of_tiles() -> None:
    model = convolution((3, 64, 56, 56), 64)
    feeds = feeds_of(model)
    made = session(model)
    assert sides(made) == [4]
    assert is_close(made.run(None, feeds)[0], exactly(model, feeds))


def test_one_compilation_serves_every_batch_and_size() -> None:
    batch, rows, columns = map(ingot.dims.symbol, ("batch", "rows", "columns"))
    model = convolution((batch, 32, rows, columns), 48, (1, 2, 0, 1))
    made = session(model)
    assert sides(made) == [4]
    for sizes in ((1, 5, 5), (3, 14, 9), (2, 1, 1), (1, 30, 2)):
        feeds = feeds_of(model, **dict(zip(("batch", "rows", "columns"), sizes, strict=True)))
        assert is_close(made.run(None, feeds)[0], exactly(model, feeds)), sizes


@pytest.mark.parametrize("filters", [48, 65])
def test_what_follows_is_made_of_the_sums_at_hand(forced: int, filters: int) -> None:
    model = convolution((3, 33, 13, 14), filters, beside=True)
    feeds = feeds_of(model)
    made = session(model)
    assert sides(made) == [forced]
    assert is_close(made.run(None, feeds)[0], exactly(model, feeds))


@pytest.mark.parametrize("shape", [(1, 64, 7, 7), (3, 32, 30, 30)])
def test_two_threads_give_the_bits_of_one(shape: tuple[int, ...]) -> None:
    model = convolution(shape, 160, beside=True)
    feeds = feeds_of(model)
    one, two, three = (session(model, threads).run(None, feeds)[0] for threads in (1, 2, 3))
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_in_the_windows_that_see_it(forced: int, odd: float) -> None:
    model = convolution((1, 20, 11, 11), 40, beside=True)
    feeds = feeds_of(model)
    feeds["x"][0, 5, 4, 6] = odd
    made = session(model)
    assert sides(made) == [forced]
    with np.errstate(all="ignore"):
        result, expected = made.run(None, feeds)[0], ingot.Session(model, providers=("reference",)).run(None, feeds)[0]
    outside = np.ones((11, 11), bool)
    outside[3:6, 5:8] = False
    assert np.isfinite(result[..., outside]).all()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_an_infinite_input_is_the_same_for_two_threads() -> None:
    model = convolution((1, 32, 9, 9), 160)
    feeds = feeds_of(model)
    feeds["x"][0, 0, 4, 4] = np.inf
    feeds["x"][0, 1, 4, 4] = np.inf
    one, two = (session(model, threads).run(None, feeds)[0] for threads in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("attributes", [{"strides": [2, 2]}, {"dilations": [2, 2]}, {"group": 2}])
def test_other_convolutions_stay_products(forced: int, attributes: dict[str, Any]) -> None:
    graph = Graph([Value("x", TensorType(DType.FLOAT32, (1, 32, 12, 12)))])
    group = attributes.get("group", 1)
    w = graph.add_initializer("w", np.ones((32, 32 // group, 3, 3), np.float32))
    graph.outputs.append(graph.append(Node("Conv", [graph.inputs[0], w], ["y"], attributes)).output)
    assert sides(session(Model(graph, 22))) == []


def test_few_tiles_do_not_read_weights_that_are_four_times_as_large() -> None:
    assert sides(session(convolution((1, 256, 7, 7), 256))) == [2]
    assert sides(session(convolution((1, 256, 2, 2), 256))) == []


@pytest.mark.parametrize("side", POINTS)
def test_filters_at_points_are_polynomials(side: int) -> None:
    filters = np.random.default_rng(0).standard_normal((3, 3, 1, 1))
    values = at_points(filters, side).reshape(side + 2, side + 2)
    points = [0.0, *(sign * point for point in POINTS[side] for sign in (1, -1))]
    scale = np.array([np.prod([p - q for q in points if q != p]) for p in points])
    for i, p in enumerate(points):
        for j, q in enumerate(points):
            powers = np.outer([1, p, p * p], [1, q, q * q])
            assert np.isclose(values[i, j] * scale[i] * scale[j], (filters[..., 0, 0] * powers).sum())
    assert np.isclose(values[-1, -1], filters[2, 2, 0, 0])
