"""`import onnxruntime` gives ingot's, in a process of its own: this one keeps what it has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import machinery
from pathlib import Path

import pytest

from compat.samples import add_relu
from ingot.compat.finder import SHADOW
from ingot.compat.onnxruntime import __version__


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_every_module_that_programs_import_is_ours() -> None:
    script = """
import ingot.compat
assert ingot.compat.install() is ingot.compat.install()
import onnxruntime as ort
assert ort.capi.onnxruntime_inference_collection.InferenceSession is ort.InferenceSession
import onnxruntime.backend, onnxruntime.datasets
from onnxruntime.capi import _pybind_state as C, onnxruntime_pybind11_state
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, NotImplemented
assert "ingot" in ort.get_build_info()
assert InferenceSession is ort.InferenceSession is onnxruntime.InferenceSession
assert C.Fail is Fail is onnxruntime_pybind11_state.Fail
assert C.NotImplemented is NotImplemented
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr


def beside(folder: Path, modules: dict[str, str] | None = None) -> dict[str, str]:
    """An environment with an onnxruntime installed that has these modules and no others."""
    refusal = "raise AssertionError('the real one')"
    for name, text in {"__init__": refusal, "capi/_pybind_state": refusal, **(modules or {})}.items():
        path = folder / "installed" / "onnxruntime" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    entries = [str(folder / "installed"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, entries))}


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("import onnxruntime.quantization.qdq_quantizer", "env -u PYTHONPATH pip install onnxruntime"),
        ("from onnxruntime.transformers import optimizer", "env -u PYTHONPATH pip install onnxruntime"),
        ("from onnxruntime.tools.onnx_model_utils import optimize_model", "env -u PYTHONPATH pip install onnxruntime"),
        ("import onnxruntime.training", "ingot.to_torch"),
    ],
)
def test_parts_that_are_nowhere_are_import_errors_that_say_what_to_do(
    statement: str, hint: str, tmp_path: Path
) -> None:
    done = run("-c", f"import ingot.compat; ingot.compat.install(); {statement}", env=beside(tmp_path))
    assert "ModuleNotFoundError: onnxruntime." in done.stderr
    assert "is not part of ingot's onnxruntime" in done.stderr
    assert hint in done.stderr


def test_those_who_ask_whether_there_is_a_module_get_an_answer(tmp_path: Path) -> None:
    script = """
import ingot.compat
ingot.compat.install()
from importlib.util import find_spec
for absent in ("training", "tools.nope", "nope", "options", "capi.nope", "transformers.optimizer", "quantization.nope"):
    assert find_spec(f"onnxruntime.{absent}") is None, absent
for present in ("capi", "capi._pybind_state", "backend.backend", "transformers.io_binding_helper", "quantization"):
    assert find_spec(f"onnxruntime.{present}") is not None, present
assert find_spec("onnxruntime") is not None
"""
    done = run("-c", script, env=beside(tmp_path, {"quantization/__init__": ""}))
    assert done.returncode == 0, done.stderr


def test_python_modules_of_an_installed_onnxruntime_run_on_our_core(tmp_path: Path) -> None:
    script = """
import ingot.compat
ort = ingot.compat.install()
from onnxruntime import quantization
from onnxruntime.quantization.calibrate import InferenceSession
assert InferenceSession is ort.InferenceSession is quantization.Session
from onnxruntime.transformers.io_binding_helper import TypeHelper
assert TypeHelper == "theirs"
from onnxruntime.capi import extra
assert extra.Fail is ort.capi._pybind_state.Fail
"""
    modules = {
        "quantization/__init__": "from .calibrate import InferenceSession as Session",
        "quantization/calibrate": "from onnxruntime import InferenceSession",
        "transformers/__init__": "",
        "transformers/io_binding_helper": "TypeHelper = 'theirs'",
        "capi/extra": "from ._pybind_state import Fail",
    }
    done = run("-c", script, env=beside(tmp_path, modules))
    assert done.returncode == 0, done.stderr


def test_libraries_of_an_installed_onnxruntime_are_not_loaded(tmp_path: Path) -> None:
    environment = beside(tmp_path)
    suffix = machinery.EXTENSION_SUFFIXES[0]
    (tmp_path / "installed" / "onnxruntime" / "capi" / f"core{suffix}").write_bytes(b"")
    script = "import ingot.compat; ingot.compat.install(); import onnxruntime.capi.core"
    assert "ModuleNotFoundError" in run("-c", script, env=environment).stderr


def test_the_helper_that_optimum_imports_is_there_without_an_onnxruntime(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(add_relu())
    script = f"""
import numpy as np
import ingot.compat
ort = ingot.compat.install()
from onnxruntime.transformers.io_binding_helper import TypeHelper
session = ort.InferenceSession({str(tmp_path / "m.onnx")!r})
assert TypeHelper.get_io_numpy_type_map(session) == {{"x": np.float32, "z": np.float32}}
assert TypeHelper.get_io_onnx_type_map(session) == {{"x": 1, "z": 1}}
assert TypeHelper.get_input_type(session, "x") == TypeHelper.get_output_type(session, "z") == "tensor(float)"
assert TypeHelper.ort_type_to_numpy_type("tensor(bool)") is bool
for wrong in ("tensor(string)", "seq(tensor(float))", "tensor(bfloat16)"):
    try:
        TypeHelper.ort_type_to_numpy_type(wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
"""
    done = run("-c", script, env=beside(tmp_path))
    assert done.returncode == 0, done.stderr


def test_shapes_are_inferred_without_an_onnxruntime(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(add_relu())
    script = f"""
import onnx
import ingot.compat
ingot.compat.install()
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
model = SymbolicShapeInference.infer_shapes(onnx.load({str(tmp_path / "m.onnx")!r}), auto_merge=True)
[value] = model.graph.value_info
print([dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim])
"""
    done = run("-c", script, env=beside(tmp_path))
    assert done.stdout == "['n', 3]\n", done.stderr


CHILDREN = """
import multiprocessing, os, subprocess, sys

def answer(_=None):
    from importlib.metadata import version
    version_before = version("onnxruntime")
    import onnxruntime
    assert version_before == onnxruntime.__version__
    return "ingot" in onnxruntime.get_build_info()

if __name__ == "__main__":
    answers = [answer()]
    for method in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(method).Pool(1) as pool:
            answers += pool.map(answer, [0])
            pool.close()
            pool.join()
    script = "import onnxruntime; print('ingot' in onnxruntime.get_build_info())"
    answers.append(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "True\\n")
    print(set(answers))
"""


def test_child_processes_have_what_their_parent_has(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(CHILDREN)
    installed = beside(tmp_path)
    with_path = {**installed, "PYTHONPATH": os.pathsep.join([SHADOW, installed["PYTHONPATH"]])}
    for arguments, environment in ((["-m", "ingot.compat", str(program)], installed), ([str(program)], with_path)):
        done = run(*arguments, env=environment)
        assert done.stdout == "{True}\n", done.stderr


def test_a_command_that_is_not_python_passes_it_on() -> None:
    line = f"{sys.executable} -c 'import onnxruntime; print(onnxruntime.get_build_info())'"
    done = run("-m", "ingot.compat", "--", "sh", "-c", line)
    assert "ingot" in done.stdout, done.stderr


def test_a_child_that_has_no_ingot_or_is_told_so_gets_the_installed_one(tmp_path: Path) -> None:
    modules = {"__init__": "import onnxruntime.inside; what = 'installed'", "inside": ""}
    environment = beside(tmp_path, modules)
    line = "import onnxruntime.inside; print(onnxruntime.what)"
    path = os.pathsep.join([SHADOW, environment["PYTHONPATH"]])
    done = run("-c", line, env={**environment, "PYTHONPATH": path, "INGOT_COMPAT": "0"})
    assert done.stdout == "installed\n", done.stderr
    bare = os.pathsep.join([SHADOW, str(tmp_path / "installed")])
    done = run("-S", "-c", line, env={**environment, "PYTHONPATH": bare})
    assert done.stdout == "installed\n", done.stderr


def test_our_own_modules_do_not_appear_under_its_name() -> None:
    done = run("-c", "import ingot.compat; ingot.compat.install(); import onnxruntime.options")
    assert "ModuleNotFoundError: No module named 'onnxruntime.options'" in done.stderr


def test_installing_beside_the_real_one_is_refused_and_uninstalling_undoes_it() -> None:
    script = """
import os, sys, types
import ingot.compat
sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
try:
    ingot.compat.install()
except RuntimeError as error:
    assert "imported already" in str(error)
else:
    raise AssertionError
del sys.modules["onnxruntime"]
if not os.environ.get("PYTHONPATH"):
    os.environ.pop("PYTHONPATH", None)  # empty is as good as absent
before = list(sys.path), list(sys.meta_path), dict(os.environ)
ingot.compat.install()
ingot.compat.uninstall()
assert not [name for name in sys.modules if name.startswith("onnxruntime")]
assert before == (sys.path, sys.meta_path, dict(os.environ))
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
    for arguments in ([program], ["--", program], ["--", sys.executable, program]):
        (tmp_path / "program.py").chmod(0o755)
        done = run("-m", "ingot.compat", *arguments, model, "--option")
        assert done.stdout == "__main__ --option [[2.0, 4.0, 6.0]]\n", done.stderr
    done = run("-m", "ingot.compat", "-m", "json.tool", "--help")
    assert done.returncode == 0, done.stderr
    done = run("-m", "ingot.compat", "-c", "import onnxruntime, sys; print(__name__, sys.argv)", "a")
    assert done.stdout == "__main__ ['-c', 'a']\n", done.stderr
    assert run("-m", "ingot.compat", "--path").stdout == f"{SHADOW}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage:"),
        (["-x"], "usage:"),
        (["--", "nosuchcommand"], "there is no command 'nosuchcommand'"),
        (["nosuchprogram.py"], "there is no file 'nosuchprogram.py'"),
        (["--", sys.executable, "nosuchprogram.py"], "there is no file 'nosuchprogram.py'"),
        (["-m", "nosuchpackage.module"], "there is no module 'nosuchpackage.module'"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], said: str) -> None:
    done = run("-m", "ingot.compat", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


WHICH = "import onnxruntime, os; print('ingot' in onnxruntime.get_build_info(), os.getpid() == int(os.environ['PID']))"


def answer(*arguments: str) -> tuple[str, str]:
    """What a command prints that tells whether it has ingot's onnxruntime, and runs in the process that was started."""
    launcher = "import os, runpy, sys; os.environ['PID'] = str(os.getpid()); sys.argv[0] = 'compat'; "
    done = run("-c", launcher + "runpy.run_module('ingot.compat', run_name='__main__')", "--", *arguments)
    return done.stdout, done.stderr


@pytest.mark.skipif(os.name == "nt", reason="scripts with a first line for sh")
def test_a_script_of_sh_that_speaks_of_python_is_run_by_sh(tmp_path: Path) -> None:
    script = executable(tmp_path / "tool", f'#!/bin/sh\n# starts python\nexec {sys.executable} -c "{WHICH}"\n')
    stdout, stderr = answer(script)
    assert stdout == "True False\n", stderr


@pytest.mark.skipif(os.name == "nt", reason="scripts with a first line for sh")
def test_a_script_that_pip_wrote_for_a_long_path_runs_in_this_process(tmp_path: Path) -> None:
    head = f"""#!/bin/sh\n'''exec' {sys.executable} "$0" "$@"\n' '''\n"""
    stdout, stderr = answer(executable(tmp_path / "tool", head + WHICH))
    assert stdout == "True True\n", stderr
    stdout, stderr = answer(executable(tmp_path / "short", f"#!{sys.executable}\n{WHICH}"))
    assert stdout == "True True\n", stderr


@pytest.mark.skipif(os.name == "nt", reason="scripts with a first line for sh")
def test_an_interpreter_elsewhere_is_run_and_not_replaced_by_this_one(tmp_path: Path) -> None:
    for name in ("python3", "python-config"):
        stdout, stderr = answer(executable(tmp_path / name, '#!/bin/sh\necho "another: $@"\n'), "prog.py")
        assert stdout == "another: prog.py\n", stderr


def test_options_of_python_are_left_to_python() -> None:
    stdout, stderr = answer(sys.executable, "-u", "-c", WHICH)
    assert stdout.split() == ["True", "False"], stderr
    stdout, stderr = answer(sys.executable, "-c", WHICH)
    assert stdout.split() == ["True", "True"], stderr


def test_every_place_that_names_the_version_of_the_api_names_the_same() -> None:
    (metadata,) = Path(SHADOW).glob("*.dist-info/METADATA")
    assert metadata.parent.name == f"onnxruntime-{__version__}.dist-info"
    assert f"\nVersion: {__version__}\n" in metadata.read_text()
    root = Path(__file__).parent.parent.parent
    for place in ("requirements/test.txt", "docs/guide/onnxruntime-api.md"):
        assert set(re.findall(r"onnxruntime==([\d.]+)", (root / place).read_text("utf-8"))) == {__version__}, place


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
