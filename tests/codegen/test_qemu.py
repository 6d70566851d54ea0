"""Code for AArch64, run by an emulator: it says what the reference says."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from codegen.every_nest import feeds, programs
from codegen.networks import encoder, images
from codegen.programs import agrees
from ingot.deploy.compiled import compiled_for
from ingot.dtypes import Array
from ingot.ir.model import Model
from ingot.loops.ir import Attention, Winograd, kernels_in
from ingot.schedule.target import named
from models import real_models

EMULATOR = shutil.which("qemu-aarch64")
pytestmark = pytest.mark.skipif(EMULATOR is None, reason="qemu-aarch64 is not installed: Debian's package qemu-user")
MODELS = programs()


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_nest_runs(name: str, tmp_path: Path) -> None:
    agrees(MODELS[name], feeds(MODELS[name]), named("aarch64"), tmp_path, [str(EMULATOR)])


@pytest.mark.parametrize("target", ["aarch64+dotprod", "aarch64+i8mm", "aarch64+sve"])
def test_rows_that_are_rounded_to_bytes_give_nearly_the_same(target: str, tmp_path: Path) -> None:
    model = MODELS["rounded codes"]
    agrees(model, feeds(model), named(target), tmp_path, [str(EMULATOR), "-cpu", "max"], rtol=0.01)


def test_a_transformer_runs(tmp_path: Path) -> None:
    model = encoder()
    ids = np.random.default_rng(1).integers(0, 50, (2, 16))
    assert Attention in nests(model)
    agrees(model, {"ids": ids}, named("aarch64"), tmp_path, [str(EMULATOR)])


def test_a_network_of_convolutions_runs(tmp_path: Path) -> None:
    model = images()
    x = np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)
    assert Winograd in nests(model)
    agrees(model, {"x": x}, named("aarch64"), tmp_path, [str(EMULATOR)])


def test_a_detector_of_speech_with_states_and_branches_runs(tmp_path: Path) -> None:
    (path,) = (path for path in real_models() if path.name == "silero_vad.onnx")
    x = np.random.default_rng(1).standard_normal((1, 576)).astype(np.float32) * np.float32(0.1)
    given: dict[str, Array] = {"input": x, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000)}
    agrees(path, given, named("aarch64"), tmp_path, [str(EMULATOR)])


def test_code_for_longer_vectors_runs_too(tmp_path: Path) -> None:
    ids = np.random.default_rng(1).integers(0, 50, (1, 16))
    emulator = [str(EMULATOR), "-cpu", "max"]
    agrees(encoder(layers=1), {"ids": ids}, named("aarch64+sve"), tmp_path, emulator)


def nests(model: Model) -> set[type]:
    """The kinds of nests that a model has."""
    steps = compiled_for(model, named("aarch64")).scheduled.steps
    return {type(nest) for kernel in kernels_in(steps) for nest in kernel.nests}
