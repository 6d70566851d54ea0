"""LLVM in other processes: asked side by side, ended when idle, replaced when they die, done without where need be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.codegen.llvm import workers as module
from ingot.codegen.llvm.make import Answer, Request, facts, object_code
from ingot.codegen.llvm.workers import Ask, Workers, most_workers
from ingot.errors import CompileError

TEXT = "define i64 @kernel(i64 %x) {\n  %y = add i64 %x, 7\n  ret i64 %y\n}\n"


def request(text: str = TEXT) -> Request:
    triple, cpu, features, _ = facts()
    return text, triple, cpu, features, True, "full"


def asking(text: str = TEXT) -> Callable[[Ask], Answer]:
    return lambda ask: ask(request(text))


@pytest.fixture
def crew() -> Workers:
    return Workers(2)


def processes(crew: Workers) -> list[int]:
    return [each._popen.pid for each in crew._processes]


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_another_process_makes_the_same_code(crew: Workers) -> None:
    assert crew.submit(asking()).result() == object_code(request())
    assert crew.facts.result() == facts()
    assert processes(crew)
    crew.end()


def test_llvm_is_not_loaded_by_a_session_that_compiles(tmp_path: Path) -> None:
    script = (
        "import sys, numpy as np, ingot; "
        "m = ingot.parse_model('<opset_import: [\"\" : 21]> g (float[n] x) => (float[n] y) { y = Exp (x) }'); "
        "s = ingot.Session(m, providers=('cpu', 'reference'), threads=1, fallback=False); "
        "print(s.run(None, {'x': np.zeros(3, np.float32)})[0][0], 'llvmlite.binding' in sys.modules)"
    )
    environment = {**os.environ, "INGOT_CACHE": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == ["1.0", "False"]


def test_what_llvm_refuses_is_a_compile_error_and_the_process_goes_on(crew: Workers) -> None:
    refused = crew.submit(asking("define nothing"))
    with pytest.raises(CompileError, match="LLVM refused a kernel"):
        refused.result()
    [before] = processes(crew)
    assert crew.submit(asking()).result()
    assert processes(crew) == [before]
    crew.end()


def test_more_processes_are_started_only_for_work_that_waits(crew: Workers) -> None:
    crew.submit(asking()).result()
    crew.submit(asking()).result()
    assert len(processes(crew)) == 1
    go = threading.Event()
    waiting = [crew.submit(lambda ask: (go.wait(), ask(request()))[1]) for _ in range(12)]
    assert crew._runners == 2
    go.set()
    assert all(each.result() for each in waiting)
    crew.end()


def test_of_what_waits_the_heaviest_is_begun_first() -> None:
    crew, begun, go = Workers(1), list[int](), threading.Event()
    crew.submit(lambda _: go.wait())
    waiting = [crew.submit(lambda _, weight=weight: begun.append(weight), weight) for weight in (3, 9, 1, 9)]  # type: ignore[misc]
    go.set()
    for each in waiting:
        each.result()
    assert begun == [9, 9, 3, 1]
    crew.end()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_that_was_ended_from_outside_is_replaced(crew: Workers) -> None:
    crew.submit(asking()).result()
    [before] = processes(crew)
    os.kill(before, signal.SIGKILL)
    assert crew.submit(asking()).result() == object_code(request())
    assert processes(crew) != [before]
    crew.end()


def test_a_text_that_ends_every_process_is_a_compile_error(crew: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    crew.submit(asking()).result()

    def dying(self: module._Process, _: Request) -> Answer:
        self._popen.kill()
        raise EOFError

    monkeypatch.setattr(module._Process, "ask", dying)
    with pytest.raises(CompileError, match="LLVM ended with code -9 on a kernel"):
        crew.submit(asking()).result()
    monkeypatch.undo()
    assert crew.submit(asking()).result() == object_code(request())
    crew.end()


def test_processes_end_when_they_have_nothing_to_do(crew: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_IDLE", 0.05)
    crew.submit(asking()).result()
    [process] = processes(crew)
    end = time.monotonic() + 10
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_there(process)
    assert not processes(crew)
    assert crew.submit(asking()).result() == object_code(request())


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that is to happen soon."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_process_that_is_still_starting_is_ended_too(
    crew: Workers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "make.py"
    program.write_text("import time; time.sleep(1000)")
    monkeypatch.setattr(module, "_PROGRAM", program)
    monkeypatch.setattr(module, "_IDLE", 0.05)
    crew.begin()
    until(lambda: bool(processes(crew)))
    [process] = processes(crew)
    crew.end()
    assert not is_there(process)
    until(lambda: not crew._runners)
    assert not processes(crew)
    assert crew.facts.result() == facts()


def test_as_many_begin_as_are_asked_for_and_may_be(crew: Workers) -> None:
    for count in (1, 2, 1, 100):
        crew.begin(count)
    assert crew._runners == 2
    until(lambda: len(processes(crew)) == 2)
    crew.end()


def test_work_that_nobody_waits_for_any_more_is_left_out(crew: Workers) -> None:
    go, done = threading.Event(), list[int]()
    first = crew.submit(lambda _: go.wait())
    second = crew.submit(lambda _: done.append(1))
    assert second.cancel()
    third = crew.submit(lambda _: done.append(2))
    go.set()
    first.result()
    third.result()
    assert done == [2]
    crew.end()


@pytest.mark.parametrize("executable", ["", "/usr/sbin/uwsgi", "/nowhere/python3"])
def test_where_no_process_can_be_started_llvm_runs_here(
    executable: str, crew: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    assert crew.submit(asking()).result() == object_code(request())
    assert crew.facts.result() == facts()
    assert not processes(crew)
    with pytest.raises(CompileError, match="LLVM refused a kernel"):
        crew.submit(asking("define nothing")).result()


def test_where_no_thread_can_be_started_llvm_runs_at_once(crew: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert crew.submit(asking()).result(timeout=10) == object_code(request())


def test_a_variable_says_how_many_processes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_workers(2) == 2
    assert most_workers(64) == 8
    monkeypatch.setenv("INGOT_WORKERS", "0")
    assert most_workers(64) == 0
    nobody = Workers(most_workers(64))
    assert nobody.submit(asking()).result() == object_code(request())
    assert not processes(nobody)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_workers_of_its_own(tmp_path: Path) -> None:
    script = """
import os, sys, numpy as np, ingot
def run(op):
    m = ingot.parse_model('<opset_import: ["" : 21]> g (float[n] x) => (float[n] y) { y = %s (x) }' % op)
    s = ingot.Session(m, providers=('cpu', 'reference'), threads=1, fallback=False)
    return s.run(None, {'x': np.zeros(3, np.float32)})[0][0]
assert run('Exp') == 1
child = os.fork()
if child == 0:
    os._exit(0 if run('Cos') == 1 and run('Exp') == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
assert run('Cosh') == 1
"""
    environment = {**os.environ, "INGOT_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (found.returncode, found.stderr) == (0, "")


def worker(packages: Path) -> subprocess.CompletedProcess[str]:
    """A worker that is asked for nothing, and what it imports."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-X",
        "importtime",
        module.__file__.replace("workers", "make"),
        str(packages),
    ]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="latin-1", check=False)


def test_a_worker_leaves_out_what_it_never_uses() -> None:
    ready = worker(module._packages())
    assert ready.returncode == 0
    assert "llvmlite.binding" in ready.stderr
    assert not [line for line in ready.stderr.splitlines() if line.endswith(("importlib.resources", "llvmlite.ir"))]


def test_a_worker_imports_it_where_another_llvmlite_uses_it(tmp_path: Path) -> None:
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").touch()
    (tmp_path / "llvmlite" / "ir.py").write_text("def used(*_): return ''", "utf-8")
    functions = ("initialize_native_target", "initialize_native_asmprinter", "initialize_native_asmparser")
    names = ("get_process_triple", "get_host_cpu_name")
    (tmp_path / "llvmlite" / "binding.py").write_text(
        "from llvmlite.ir import used; used(); features = type('', (dict,), {'flatten': used})\n"
        f"{' = '.join((*functions, *names))} = used; get_host_cpu_features = features",
        "utf-8",
    )
    ready = worker(tmp_path)
    assert ready.returncode == 0, ready.stderr
    assert any(line.endswith("llvmlite.ir") for line in ready.stderr.splitlines())
