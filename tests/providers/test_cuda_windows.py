"""Windows that slide, of the provider `cuda` on an emulated GPU: depthwise convolutions and pools in strips."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import ingot
from codegen.test_nvptx import compiled, kernels_of
from ingot import Model, Session
from ingot.codegen.nvptx import window_plans
from ingot.codegen.nvptx.sliding_windows import Strip
from ingot.dtypes import Array
from ingot.ir.tensor import Tensor
from ingot.loops.ir import SlidingWindows
from providers.emulated import HAS_COMPILER, Emulated
from providers.test_cuda_convolutions import HEAD, KINDS, convolution

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

LAST = "h = Transpose <perm = [0, 3, 1, 2]> (x) c = {} (h{}) r = Relu (c) y = Transpose <perm = [0, 2, 3, 1]> (r)"
FIRST = "c = {} (x{}) y = Relu (c)"


@pytest.fixture
def strip(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Threads have strips of one kind; the name of their function."""
    count, lanes = request.param

    def strips(_: SlidingWindows) -> list[Strip]:
        return [Strip(count, lanes), Strip(1, 1)]

    monkeypatch.setattr(window_plans, "_strips", strips)
    monkeypatch.setattr(window_plans, "_seconds", lambda _, strip, *__: -strip.count * strip.lanes)
    return f"windows{count}x{lanes}"


def model_of(
    image: tuple[int, ...], operator: str, body: str, filters: tuple[int, ...] = (), kind: str = "float"
) -> tuple[Model, Array]:
    """An operator whose filters and bias are constant, and an image for it."""
    random = np.random.default_rng(sum(image))
    shapes = {"x": image, **({"w": filters, "b": filters[:1]} if filters else {})}
    arrays = {name: random.standard_normal(shape).astype(KINDS[kind]) for name, shape in shapes.items()}
    inputs = ", ".join(f"{kind}[{', '.join(map(str, shape))}] {name}" for name, shape in shapes.items())
    text = body.format(operator, ", w, b" if filters else "")
    model = ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {text} }}")
    for value in model.graph.inputs:
        if value.name != "x":
            value.constant = Tensor(arrays[value.name], name=value.name)
            model.graph.initializers.add(value)
    return model, arrays["x"]


def launched(
    image: tuple[int, ...], operator: str, body: str, filters: tuple[int, ...] = (), kind: str = "float"
) -> list[str]:
    """The functions that were launched; AssertionError unless the result is right."""
    model, x = model_of(image, operator, body, filters, kind)
    provider, feeds = Emulated(), {"x": x}
    (result,) = Session(model, providers=(provider, "reference"), fallback=False).run(None, feeds)
    (expected,) = Session(model, providers=("reference",)).run(None, feeds)
    tolerance = {"float": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}[kind]
    wide = expected.astype(np.float64)
    np.testing.assert_allclose(result.astype(np.float64), wide, tolerance, tolerance * np.abs(wide).max())
    return provider.library.launched


@pytest.mark.parametrize(
    ("strip", "image", "attributes", "filters"),
    [
        ((7, 4), (2, 9, 14, 16), "pads = [3, 3, 3, 3], group = 16", (16, 1, 7, 7)),
        ((4, 4), (1, 9, 10, 24), "pads = [1, 1, 1, 1], strides = [2, 2], group = 24", (24, 1, 3, 3)),
        ((2, 2), (2, 9, 9, 36), "pads = [2, 2, 2, 2], dilations = [2, 2], group = 36", (36, 1, 3, 3)),
        ((2, 1), (1, 9, 8, 5), "group = 5, strides = [1, 2], dilations = [1, 3]", (5, 1, 2, 2)),
        ((14, 4), (1, 3, 17, 8), "pads = [0, 9, 0, 9], group = 8", (8, 1, 1, 19)),
    ],
    indirect=["strip"],
)  # fmt: skip
def test_channels_are_vectors(strip: str, image: tuple[int, ...], attributes: str, filters: tuple[int, ...]) -> None:
    assert strip in launched(image, f"Conv <{attributes}>", LAST, filters)


@pytest.mark.parametrize(
    ("strip", "image", "attributes", "filters"),
    [
        ((8, 1), (2, 3, 9, 11), "pads = [1, 1, 1, 1], group = 3", (3, 1, 3, 3)),
        ((4, 1), (2, 6, 12, 10), "pads = [2, 2, 2, 2], strides = [2, 2], group = 6", (6, 1, 5, 5)),
        ((2, 1), (1, 4, 5, 7, 9), "pads = [1, 1, 1, 1, 1, 1], group = 4", (4, 1, 3, 3, 3)),
    ],
    indirect=["strip"],
)
def test_columns_are_neighbours(strip: str, image: tuple[int, ...], attributes: str, filters: tuple[int, ...]) -> None:
    assert strip in launched(image, f"Conv <{attributes}>", FIRST, filters)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("strip", [(7, 4)], indirect=True)
def test_halves_are_summed_as_float32(strip: str, kind: str) -> None:
    attributes = "pads = [3, 3, 3, 3], group = 16"
    assert strip in launched((1, 7, 9, 16), f"Conv <{attributes}>", LAST, (16, 1, 7, 7), kind)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(("strip", "body", "image"), [
    ((4, 4), LAST, (2, 11, 13, 8)),
    ((4, 1), FIRST, (2, 3, 11, 13)),
], indirect=["strip"])  # fmt: skip
def test_pools_slide(strip: str, body: str, image: tuple[int, ...], operator: str) -> None:
    attributes = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]"
    assert strip in launched(image, f"{operator} <{attributes}>", body)


def test_windows_of_any_size_share_a_kernel() -> None:
    attributes = "pads = [1, 1, 1, 1], group = 8"
    for image in ((1, 1, 1, 8), (1, 2, 9, 8), (3, 30, 2, 8)):
        names = launched(image, f"Conv <{attributes}>", LAST, (8, 1, 3, 3))
        assert any(name.startswith("windows") for name in names) or image[2] == 1


def test_constant_filters_slide() -> None:
    model, x = convolution((2, 12, 8, 9), (12, 1, 5, 5), "pads = [2, 2, 2, 2], group = 12", "float")
    provider = Emulated()
    (result,) = Session(model, providers=(provider, "reference"), fallback=False).run(None, {"x": x})
    (expected,) = Session(model, providers=("reference",)).run(None, {"x": x})
    np.testing.assert_allclose(result, expected, 1e-5, 1e-5)
    assert any(name.startswith("windows") for name in provider.library.launched)


def test_no_finite_filter_meets_padding_unseen() -> None:
    """Padding is multiplied as the zeros that it is: by an infinite filter, no number."""
    text = "g (float[1, 4, 3, 3] x, float[4, 1, 3, 3] w) => (y) { y = Conv <pads = [1, 1, 1, 1], group = 4> (x, w) }"
    feeds = {"x": np.ones((1, 4, 3, 3), np.float32), "w": np.full((4, 1, 3, 3), np.inf, np.float32)}
    model = ingot.parse_model(f"{HEAD} {text}")
    provider = Emulated()
    (result,) = Session(model, providers=(provider, "reference"), fallback=False).run(None, feeds)
    assert any(name.startswith("windows") for name in provider.library.launched)
    with np.errstate(all="ignore"):
        (expected,) = Session(model, providers=("reference",)).run(None, feeds)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("name", ["windows7x4", "windows8x4", "windows14x2", "windows14x4"])
def test_strips_stay_in_registers(name: str, tmp_path: Path) -> None:
    operator = "Conv <pads = [3, 3, 3, 3], group = 96>"
    (kernel,) = kernels_of(model_of((2, 56, 56, 96), operator, LAST, (96, 1, 7, 7))[0])
    path = tmp_path / "kernel.ptx"
    path.write_text(compiled(kernel, (9, 0), name))
    command = ["ptxas", "-v", "-arch=sm_90a", str(path), "-o", str(tmp_path / "code")]
    report = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "0 bytes spill stores" in report.stdout + report.stderr
