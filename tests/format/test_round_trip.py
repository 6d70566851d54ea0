"""Decoding and encoding again gives back the model, byte for byte where its bytes are in canonical order."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import ingot
from models import node_models, real_models, wheel_models


def check(data: bytes) -> None:
    again = ingot.encode(ingot.decode(data))
    original = onnx.ModelProto.FromString(data)
    if original.SerializeToString(deterministic=True) == data:
        assert again == data
    else:
        assert onnx.ModelProto.FromString(again) == original


def test_all_generated_node_models_come_back() -> None:
    samples = node_models()
    assert len(samples) >= 1884
    for sample in samples:
        check(sample.data)


@pytest.mark.parametrize("path", wheel_models(), ids=lambda path: path.parent.name)
def test_models_of_the_onnx_wheel_come_back(path: Path) -> None:
    check(path.read_bytes())


@pytest.mark.parametrize("path", real_models(), ids=lambda path: path.name)
def test_real_models_come_back(path: Path) -> None:
    check(path.read_bytes())


@pytest.mark.parametrize("path", real_models(), ids=lambda path: path.name)
def test_a_copy_of_a_model_is_the_same_model(path: Path) -> None:
    model = ingot.load(path)
    assert ingot.encode(model.copy()) == path.read_bytes()


@pytest.mark.parametrize("path", real_models(), ids=lambda path: path.name)
def test_a_real_model_is_structurally_sound(path: Path) -> None:
    ingot.verify(ingot.load(path))
