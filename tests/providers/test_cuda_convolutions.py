"""Convolutions of the provider `cuda` on an emulated GPU: every way to copy operands into tiles."""

from __future__ import annotations

from typing import TypeAlias

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Model, Session
from ingot.codegen.nvptx import gathered_product, single_tiles, thirds_product
from ingot.codegen.nvptx.wgmma_tiles import TILES
from ingot.dtypes import Array
from ingot.ir.tensor import Tensor
from providers.emulated import HAS_COMPILER, Emulated

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
KINDS = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

Case: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], str]
"""The sizes of an image and of filters, and attributes."""

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")


def convolution(image: tuple[int, ...], filters: tuple[int, ...], attributes: str, kind: str) -> tuple[Model, Array]:
    """A convolution by constant filters with a bias and an activation, and an image for it."""
    random = np.random.default_rng(sum(image))
    arrays = [random.standard_normal(shape).astype(KINDS[kind]) for shape in (image, filters, filters[:1])]
    sizes = [f"{kind}[{', '.join(map(str, array.shape))}]" for array in arrays]
    names = dict(zip("wb", arrays[1:], strict=True))
    with_attributes = f"Conv <{attributes}>" if attributes else "Conv"
    inputs = ", ".join(f"{size} {name}" for size, name in zip(sizes, "xwb", strict=True))
    model = ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ t = {with_attributes} (x, w, b) y = Relu (t) }}")
    for value in model.graph.inputs:
        if value.name in names:
            value.constant = Tensor(names[value.name], name=value.name)
            model.graph.initializers.add(value)
    return model, arrays[0]


def check(image: tuple[int, ...], filters: tuple[int, ...], attributes: str = "", kind: str = "float") -> list[str]:
    """The functions that were launched; AssertionError unless the result is right."""
    model, x = convolution(image, filters, attributes, kind)
    provider = Emulated()
    (result,) = Session(model, providers=(provider, "reference"), fallback=False).run(None, {"x": x})
    (expected,) = Session(model, providers=("reference",)).run(None, {"x": x})
    tolerance = {"float": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}[kind]
    wide = expected.astype(np.float64)
    np.testing.assert_allclose(result.astype(np.float64), wide, tolerance, tolerance * np.abs(wide).max())
    return provider.library.launched


@pytest.fixture
def singles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products have the variant of tiles of float32 alone, whatever it costs."""
    monkeypatch.setattr("ingot.codegen.nvptx.variants.VARIANTS", (single_tiles.VARIANT,))


@pytest.mark.usefixtures("singles")
@pytest.mark.parametrize(
    ("image", "filters", "attributes"),
    [
        ((2, 8, 9, 7), (64, 8, 3, 3), "pads = [1, 1, 1, 1]"),
        ((1, 16, 8, 8), (20, 16, 3, 3), "pads = [1, 0, 0, 1], strides = [2, 1]"),
        ((2, 24, 10, 10), (36, 24, 3, 3), "pads = [2, 2, 2, 2], dilations = [2, 2]"),
        ((1, 16, 10, 10), (16, 8, 3, 3), "pads = [1, 1, 1, 1], group = 2"),
        ((3, 16, 9, 9), (40, 16, 1, 1), "strides = [2, 2]"),
        ((1, 8, 5, 6, 7), (12, 8, 3, 3, 3), "pads = [1, 1, 1, 1, 1, 1]"),
        ((2, 8, 40), (12, 8, 5), "pads = [2, 2]"),
    ],
)
def test_channels_are_copied_in_pieces(image: tuple[int, ...], filters: tuple[int, ...], attributes: str) -> None:
    launched = check(image, filters, attributes)
    assert any(name.startswith("singles") and "_" not in name for name in launched)


@pytest.mark.usefixtures("singles")
@pytest.mark.parametrize(
    ("image", "filters", "attributes"),
    [
        ((1, 5, 11, 11), (12, 5, 5, 5), "pads = [2, 2, 2, 2], strides = [2, 2]"),
        ((1, 5, 11, 11), (10, 5, 5, 5), "pads = [2, 2, 2, 2], strides = [2, 2]"),
        ((1, 1, 10, 10), (8, 1, 3, 3), "pads = [1, 1, 1, 1]"),
        ((2, 5, 9, 9), (7, 5, 1, 1), ""),
        ((2, 32, 5, 5), (130, 32, 1, 1), ""),
    ],
)
def test_odd_channels_are_copied_one_by_one(image: tuple[int, ...], filters: tuple[int, ...], attributes: str) -> None:
    launched = check(image, filters, attributes)
    assert any(name.startswith("singles") and "_" in name for name in launched)


@pytest.mark.usefixtures("singles")
def test_many_channels_of_few_places_are_divided_among_blocks() -> None:
    launched = check((1, 256, 4, 4), (64, 256, 3, 3), "pads = [1, 1, 1, 1]")
    assert launched[-2:] == ["finish", "kernel"]


PADDED = ((2, 24, 9, 7), (64, 24, 3, 3), "pads = [1, 1, 1, 1]")
UNEVEN = ((1, 72, 8, 8), (24, 72, 3, 3), "pads = [1, 0, 0, 1], strides = [2, 1]")
GROUPS = ((1, 16, 10, 10), (16, 8, 3, 3), "pads = [1, 1, 1, 1], group = 2")
APART = ((3, 16, 9, 9), (136, 16, 1, 1), "strides = [2, 2]")
DILATED = ((2, 24, 10, 10), (40, 24, 3, 3), "pads = [2, 2, 2, 2], dilations = [2, 2]")
CUBES = ((1, 8, 5, 6, 7), (16, 8, 3, 3, 3), "pads = [1, 1, 1, 1, 1, 1]")


@pytest.mark.parametrize(
    ("tile", "case", "kind"),
    [
        ("64x64", PADDED, "float16"),
        ("64x64", UNEVEN, "bfloat16"),
        ("64x64", GROUPS, "float16"),
        ("128x64", APART, "float16"),
        ("64x128", DILATED, "float16"),
        ("128x128", CUBES, "float16"),
        ("64x64by2", UNEVEN, "float16"),
    ],
)
def test_halves_are_gathered(tile: str, case: Case, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"wgmma{tile}"
    monkeypatch.setattr("ingot.codegen.nvptx.gathered_product.TILES", {name: TILES[name]})
    monkeypatch.setattr("ingot.codegen.nvptx.variants.VARIANTS", (gathered_product.VARIANT,))
    assert f"gathered{tile}" in check(*case, kind)


def test_four_channels_of_halves_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.codegen.nvptx.variants.VARIANTS", (gathered_product.VARIANT,))
    launched = check((1, 4, 11, 11), (16, 4, 5, 5), "pads = [2, 2, 2, 2], strides = [2, 2]", "float16")
    assert any(name.startswith("filled") for name in launched)


@pytest.mark.usefixtures("singles")
def test_three_channels_become_four() -> None:
    assert any(name.startswith("singles") and "_" not in name for name in check((1, 3, 11, 11), (16, 3, 5, 5)))
    assert any(name.startswith("singles") and "_" in name for name in check((1, 3, 11, 11), (16, 3, 1, 1)))


@pytest.mark.parametrize(
    ("tile", "case"),
    [
        ("64x64", PADDED),
        ("64x64", GROUPS),
        ("128x64", UNEVEN),
        ("128x128", APART),
        ("64x64by2", UNEVEN),
        ("64x64by8", CUBES),
    ],
)
def test_float32_is_multiplied_in_thirds(tile: str, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"thirds{tile}"
    monkeypatch.setattr("ingot.codegen.nvptx.thirds_product.TILES", {name: thirds_product.TILES[name]})
    monkeypatch.setattr("ingot.codegen.nvptx.variants.VARIANTS", (thirds_product.VARIANT,))
    assert name in check(*case)


def wild(case: str) -> tuple[Array, Array]:
    """Operands that three products of TF32 alone would not multiply as float32 does."""
    random = np.random.default_rng(7)
    x, w = random.standard_normal((70, 40), np.float32), random.standard_normal((40, 24), np.float32)
    match case:
        case "infinities":
            x[3, 7], x[66, 9], x[20, 1] = np.inf, -np.inf, np.nan
        case "infinite weights":
            w[3, 7], w[5, 20] = -np.inf, np.nan
        case "tiny numbers":
            x, w = x * np.float32(1e-30), w * np.float32(1e-6)
        case "numbers below the smallest normal one":
            x, w = x * np.float32(1e-39), w * np.float32(1e20)
        case "rows of zeros among tiny numbers":
            x[::2], x[1::2, 3] = 0, 1e-35
        case "the largest numbers":
            x, w = np.sign(x) * np.float32(3.4028234e38), w * np.float32(1e-3)
    return x, w


@pytest.mark.parametrize(
    ("case", "tile"),
    [
        ("infinities", "thirds64x64"),
        ("infinities", "thirds64x64by2"),
        ("infinite weights", "thirds64x64"),
        ("tiny numbers", "thirds64x64"),
        ("numbers below the smallest normal one", "thirds64x64"),
        ("rows of zeros among tiny numbers", "thirds64x64"),
        ("the largest numbers", "thirds64x64"),
    ],
)
def test_thirds_are_as_exact_as_float32_at_the_ends_of_the_range(
    case: str, tile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.codegen.nvptx.thirds_product.TILES", {tile: thirds_product.TILES[tile]})
    monkeypatch.setattr("ingot.codegen.nvptx.variants.VARIANTS", (thirds_product.VARIANT,))
    x, w = wild(case)
    text = f"{HEAD} g (float[70, 40] x, float[40, 24] w) => (y) {{ y = MatMul (x, w) }}"
    provider = Emulated()
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    (result,) = session.run(None, {"x": x, "w": w})
    assert tile in provider.library.launched
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) @ w.astype(np.float64)
        expected = exact.astype(np.float32)
        sizes = np.abs(x).astype(np.float64) @ np.abs(w).astype(np.float64)
    known = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(result[~known], expected[~known])
    error = np.abs(result[known] - exact[known])
    assert (error <= 1e-6 * sizes[known] + 2.0**-149 * 40).all()
