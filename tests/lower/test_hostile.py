"""Numbers meant to hurt do not: what comes of them is right, or an error that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by mprotect")

SCRIPT = Path(__file__).with_name("hostile.py")


@pytest.mark.parametrize("where", [[], ["--front"]], ids=["behind", "before"])
def test_hostile_numbers_are_right_or_refused(where: list[str]) -> None:
    command = [sys.executable, str(SCRIPT), "--every", "13", *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
