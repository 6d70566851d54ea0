"""Systems that are not Linux, as far as this one can be made to look like them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingot.codegen.llvm.host import host

WITHOUT_UNIX = """
import ctypes, mmap, os, pathlib, signal, subprocess, sys, threading
import ml_dtypes, numpy as np

GONE = {
    os: "register_at_fork sched_getaffinity pread preadv fork sysconf sysconf_names getuid geteuid fchmod statvfs"
        " O_NOFOLLOW O_DIRECTORY O_CLOEXEC posix_fadvise copy_file_range sendfile",
    mmap: "PROT_EXEC PROT_READ PROT_WRITE MAP_PRIVATE MAP_SHARED MAP_ANONYMOUS MADV_DONTNEED",
    signal: "SIGHUP SIGALRM pthread_kill pthread_sigmask setitimer",
}
for module, names in GONE.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
os.supports_dir_fd.clear()
sys.modules["resource"] = sys.modules["fcntl"] = None
sys.platform = "win32"

import ingot

graph = "g (float[n] x) => (float[n] y) { t = Exp (x) y = Relu (t) }"
model = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + graph)
path = pathlib.Path(sys.argv[1]) / "model.onnx"
ingot.save(model, path)
for source in (model, path, path):
    session = ingot.Session(source, providers=("reference",))
    (y,) = session.run(None, {"x": np.zeros(3, np.float32)})
    assert y.tolist() == [1, 1, 1] and session.providers == ("reference",)
print("done")
"""

WITHOUT_A_LINKER = """
import sys
from time import monotonic, sleep
import numpy as np
import ingot
from ingot.codegen.elf import linkable
from ingot.codegen.llvm import make
from ingot.codegen.llvm.host import host
from ingot.runtime import pool_code, thread_pool

thread_pool.processors = lambda: 2
triple, *rest = make.facts()
make.facts = lambda: ("x86_64-unknown-freebsd", *rest)
assert not linkable(host().triple)

graph = "g (float[n] x) => (float[n] y) <int64 a = {0}> { t = Exp (x) u = CumSum (t, a) y = Exp (t) }"
model = ingot.parse_model('<ir_version: 10, opset_import: ["" : 21]> ' + graph)
session = ingot.Session(model, providers=("cpu", "reference"), threads=2, fallback=False)
x = np.linspace(-1, 1, 1 << 20, dtype=np.float32)
expected = np.exp(np.exp(x))
session.close()
pool = thread_pool.thread_pool()
for _ in range(3):
    (y,) = session.run(None, {"x": x})
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    assert len(pool._threads) == 1
    patience = monotonic() + 60  # it gives way 3,000 times first, each time to all other programs
    while not pool._parked:
        assert monotonic() < patience, "the worker does not park"
        sleep(0.001)
assert pool_code.plain_code() is None
print("done")
"""


def run(program: str, folder: Path, **settings: str) -> None:
    environment = os.environ | {"INGOT_CACHE": str(folder / "cache"), **settings}
    command = [sys.executable, "-W", "error", "-c", program, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_the_reference_runs_models_where_nothing_of_unix_is_there(tmp_path: Path) -> None:
    run(WITHOUT_UNIX, tmp_path)


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="code for x86-64")
def test_llvm_loads_what_cannot_be_linked_and_workers_park_where_there_is_no_futex(tmp_path: Path) -> None:
    run(WITHOUT_A_LINKER, tmp_path, INGOT_WORKERS="0")
