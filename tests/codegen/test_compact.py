"""Kernels of less code compute what those do that they are drafts of, to the bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import ingot
from codegen.every_nest import feeds, models
from codegen.networks import encoder, images
from ingot import Session
from ingot.codegen.llvm import templates
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.dtypes import Array
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.providers.cpu import code

MODELS = models()


def results(
    model: Model, inputs: dict[str, Array], compact: bool, folder: Path, patch: pytest.MonkeyPatch
) -> list[Array]:
    """The results of a model whose kernels are all of one kind."""
    patch.setenv("INGOT_CACHE", str(folder / str(compact)))
    patch.setattr(templates, "TEMPLATES", {})
    patch.setattr(code, "emit", partial(emit, compact=compact))
    patch.setenv("INGOT_DRAFTS", "0")
    return Session(model, providers=("cpu", "reference"), threads=1).run(None, inputs)


def agrees(model: Model, inputs: dict[str, Array], folder: Path, patch: pytest.MonkeyPatch) -> None:
    full, compact = (results(model, inputs, how, folder, patch) for how in (False, True))
    for one, other in zip(full, compact, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=one.dtype.kind in "fc") or one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_nest_is_the_same_in_less_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agrees(MODELS[name], feeds(MODELS[name]), tmp_path, monkeypatch)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_transformer_is_the_same_in_less_code(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.random.default_rng(1).integers(0, 50, (batch, 16))
    agrees(encoder(), {"ids": ids}, tmp_path, monkeypatch)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_network_of_convolutions_is_the_same_in_less_code(
    batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(1).standard_normal((batch, 3, 32, 32)).astype(np.float32)
    agrees(images(), {"x": x}, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["products", "depthwise", "attention"])
def test_tiles_and_windows_are_less_code(name: str) -> None:
    compiled = Session(MODELS[name], providers=("cpu", "reference"), threads=1).compiled
    assert compiled is not None
    kernels = [parametrise(kernel).kernel for kernel in kernels_in(compiled.scheduled.steps)]
    full, compact = (sum(len(emit(kernel, host(), how).text) for kernel in kernels) for how in (False, True))
    assert compact < 0.7 * full


def test_products_with_sigmoids_that_jammed_rows_share_are_the_same_in_less_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ingot.parse_model("""<ir_version: 10, opset_import: ["" : 21]>
        g (float[1, 3, 32, 32] x, float[32, 3, 3, 3] w)
            => (float[1, 32, 32, 32] y) <int64[1] channels = {1}, int64[2] places = {2, 3}> {
            c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)
            m = ReduceMax (c, channels) s = Sigmoid (m) p = Mul (c, s) r = ReduceMean (p, places)
            t = Sigmoid (r) y = Mul (p, t) }""")
    random = np.random.default_rng(1)
    x, w = (random.standard_normal(shape, np.float32) for shape in ((1, 3, 32, 32), (32, 3, 3, 3)))
    inputs_to_initializers(model, {"w": w})
    agrees(model, {"x": x}, tmp_path, monkeypatch)
