"""`import onnxruntime` gives ingot's, in a process of its own: this one keeps what it has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compat.samples import add_relu


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", *arguments], capture_output=True, text=True, check=False)


def test_every_module_that_programs_import_is_ours() -> None:
    script = """
import ingot.compat
assert ingot.compat.install() is ingot.compat.install()
import onnxruntime as ort
import onnxruntime.backend, onnxruntime.datasets
from onnxruntime.capi import _pybind_state as C, onnxruntime_pybind11_state
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, NotImplemented
assert ort.__name__ == "ingot.compat.onnxruntime"
assert InferenceSession is ort.InferenceSession is onnxruntime.InferenceSession
assert C.Fail is Fail is onnxruntime_pybind11_state.Fail
assert C.NotImplemented is NotImplemented
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "statement",
    ["import onnxruntime.quantization", "from onnxruntime.transformers import optimizer", "import onnxruntime.tools"],
)
def test_packages_that_are_not_there_are_import_errors_that_say_so(statement: str) -> None:
    done = run("-c", f"import ingot.compat; ingot.compat.install(); {statement}")
    assert "is not part of ingot's onnxruntime" in done.stderr or "are not part of ingot's onnxruntime" in done.stderr
    assert "ImportError" in done.stderr


def test_our_own_modules_do_not_appear_under_its_name() -> None:
    done = run("-c", "import ingot.compat; ingot.compat.install(); import onnxruntime.options")
    assert "ModuleNotFoundError: ingot's onnxruntime has no module 'onnxruntime.options'" in done.stderr


def test_installing_beside_the_real_one_is_refused_and_uninstalling_undoes_it() -> None:
    script = """
import sys, types
import ingot.compat
sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
try:
    ingot.compat.install()
except RuntimeError as error:
    assert "imported already" in str(error)
else:
    raise AssertionError
del sys.modules["onnxruntime"]
ingot.compat.install()
ingot.compat.uninstall()
assert not [name for name in sys.modules if name.startswith("onnxruntime")]
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr


PROGRAM = """
import sys
import onnxruntime
import beside
session = onnxruntime.InferenceSession(sys.argv[1])
print(__name__, sys.argv[2], session.run(None, {"x": [[1, 2, 3]]})[0].tolist())
"""


def test_a_program_runs_with_it_in_place(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("")
    (tmp_path / "m.onnx").write_bytes(add_relu())
    program, model = str(tmp_path / "program.py"), str(tmp_path / "m.onnx")
    for arguments in ([program], ["--", program], ["--", "python", program]):
        (tmp_path / "program.py").chmod(0o755)
        done = run("-m", "ingot.compat", *arguments, model, "--option")
        assert done.stdout == "__main__ --option [[2.0, 4.0, 6.0]]\n", done.stderr
    done = run("-m", "ingot.compat", "-m", "json.tool", "--help")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "usage:"), (["-x"], "usage:"), (["--", "nosuchcommand"], "no command"), (["--", "true"], "not a Python")],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], said: str) -> None:
    done = run("-m", "ingot.compat", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_those_who_ask_which_version_is_installed_are_told_ours() -> None:
    script = """
import ingot.compat
ort = ingot.compat.install()
from importlib.metadata import metadata, version
from importlib.util import find_spec
from onnxruntime.capi import build_and_package_info as info
assert version("onnxruntime") == ort.__version__ == info.__version__ == ort.version
assert metadata("onnxruntime")["Name"] == info.package_name == ort.package_name == "onnxruntime"
assert find_spec("onnxruntime") is not None
assert version("numpy")
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr
