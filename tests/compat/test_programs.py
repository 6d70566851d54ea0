"""Packages that use onnxruntime, unmodified, through their own API: on ingot's they answer as on the real one."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from compat.run_packages import compare

PROGRAM = str(Path(__file__).with_name("run_packages.py"))
NEEDS = {
    "magika": ("magika", "dotenv"),
    "rapidocr": ("rapidocr_onnxruntime", "cv2", "shapely", "pyclipper", "yaml", "PIL", "six", "tqdm"),
    "silero": ("silero_vad", "torch"),
}


@pytest.mark.parametrize("package", NEEDS)
def test_a_package_answers_as_with_onnxruntime(package: str, tmp_path: Path) -> None:
    missing = [name for name in ("onnxruntime", *NEEDS[package]) if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    reports: list[str] = []
    for runtime in ([], ["-m", "ingot.compat"]):
        reports.append(str(tmp_path / f"{len(reports)}.json"))
        arguments = [sys.executable, *runtime, PROGRAM, reports[-1], package]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    real, ours = (Path(report).read_text() for report in reports)
    assert '"onnxruntime": "ORT Build Info: ingot' in ours
    assert '"onnxruntime": "ORT Build Info: ingot' not in real
    assert compare(*reports)
