"""The model cases that come with the onnx package: simple, light, pytorch-converted, pytorch-operator."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import ingot
from conformance.known import KNOWN
from conformance.old_wheels import run

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
CASES = sorted(path.parent for path in DATA.glob("*/*/model.onnx"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_model(folder: Path) -> None:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    name = f"{folder.parent.name}/{folder.name}"
    if name in KNOWN:
        with pytest.raises((AssertionError, ingot.IngotError)):
            run(files)
    else:
        run(files)


def test_there_are_as_many_models_as_the_wheel_has() -> None:
    assert len(CASES) > 100
