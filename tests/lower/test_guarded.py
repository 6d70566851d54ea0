"""Kernels stay within their buffers: random graphs run in memory between pages that nobody may touch."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages are protected by mprotect")

SCRIPT = Path(__file__).with_name("guarded.py")

TOO_LITTLE = """
import sys; sys.path.insert(0, {tests!r})
import numpy as np, ingot
from ingot.runtime import run
from ingot.runtime.bind import Binder
from lower.guarded import fenced
text = '<ir_version: 13, opset_import: ["" : 28]> g (float[n] x) => (float[n] y) {{ y = Relu(x) }}'
with fenced() as fences:
    {given}
    session = ingot.Session(ingot.parse_model(text), providers=("cpu", "reference"), fallback=False)
    session.run(None, dict(x=fences.holding(np.ones(100, np.float32))))
"""

READS_PAST_THE_END = "bind = Binder.bind; Binder.bind = lambda self, sizes: bind(self, {**sizes, 'n': 101})"
WRITES_PAST_THE_END = "run.fresh_array = lambda shape, dtype: fences.array((99,), dtype)"


@pytest.mark.parametrize("where", [[], ["--front"]], ids=["behind", "before"])
def test_random_graphs_stay_within_their_buffers(where: list[str]) -> None:
    done = _python(str(SCRIPT), "--first", "500", "--count", "40", *where)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]


@pytest.mark.parametrize("given", [READS_PAST_THE_END, WRITES_PAST_THE_END], ids=["read", "write"])
def test_what_passes_the_end_by_one_element_is_noticed(given: str) -> None:
    program = TOO_LITTLE.format(tests=str(SCRIPT.parents[1]), given=given)
    assert _python("-c", program).returncode == -signal.SIGSEGV


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
