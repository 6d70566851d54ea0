"""Models opened before: opened again without being looked at, unless anything about them has changed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import keep_plan, warm_start
from ingot import prepare as preparing
from ingot.cache import contents, directory
from ingot.codegen.elf import linkable
from ingot.codegen.llvm.host import host
from ingot.errors import InputError
from ingot.format.load import load
from ingot.ir.node import Node
from ingot.providers.cpu import Cpu
from ingot.runtime.provider import Provider
from ingot.session import Session

pytestmark = pytest.mark.skipif(not linkable(host().triple), reason="code is not kept in files on this system")

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '
PRODUCT = (
    HEAD + "g (float[n, 3] x) => (float[n, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}> { t = MatMul (x, w) y = Exp (t) }"
)
CALLS = HEAD + "g (float[n] x) => (int64[1, m] y, float[k] z) { y = NonZero (x) s = Unique (x) z = Mul (s, s) }"
RANDOM = HEAD + "g (float[n] x) => (float[n] y) { r = RandomNormalLike (x) y = Add (x, r) }"
CONTROL = (
    HEAD
    + """g (float[n] x, int64 m) => (float[n] y) {
  s = Loop <body = b (int64 i, bool go, float[n] p) => (bool on, float[n] q) {
    on = Identity (go)
    q = Add (p, x)
  }> (m, , x)
  three = Constant <value_int = 3> ()
  many = Greater (m, three)
  y = If <then_branch = t () => (float[n] a) { a = Neg (s) }, else_branch = e () => (float[n] c) { c = Exp (s) }> (many)
}"""
)
BODIES = (
    HEAD
    + """g (float[n] x, int64 m) => (float[k] y, float[j, 2] z) <int64[1] last = {1}, int64[2] pair = {-1, 2}> {
  y = Loop <body = b (int64 i, bool go, float[p] s) => (bool on, float[q] t) {
    on = Identity (go)
    inner = Loop <body = c (int64 j, bool also, float[o] u) => (bool yet, float[r] v) {
      yet = Identity (also)
      e = Exp (x)
      v = Concat <axis = 0> (u, e)
    }> (i, , s)
    f = NonZero (inner)
    g = Cast <to = 1> (f)
    h = ReduceSum <keepdims = 0> (g, last)
    t = Concat <axis = 0> (inner, h)
  }> (m, , x)
  twice = Concat <axis = 0> (y, y)
  z = Reshape (twice, pair)
}"""
)
DEFAULT = HEAD + "g (float[2] x, float[2] d) => (float[2] y) <float[2] d = {5, 7}> { y = Add (x, d) }"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(contents, "SETTLED", -(10**18))  # files made a moment ago count as settled
    return tmp_path / "cache"


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The models that were looked at."""
    found: list[object] = []
    real = preparing.prepare

    def counting(source: Any, *rest: Any, **options: Any) -> Any:
        found.append(source)
        return real(source, *rest, **options)

    monkeypatch.setattr(preparing, "prepare", counting)
    return found


def saved(path: Path, text: str = PRODUCT) -> Path:
    ingot.save(ingot.parse_model(text), path)
    return path


def opened(source: Any, compiler: str | Provider = "cpu", **settings: Any) -> Session:
    """A session, when all that will be kept of it is."""
    session = Session(source, providers=(compiler, "reference"), fallback=False, **settings)
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    return session


def test_a_model_opened_before_is_not_looked_at(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx")
    first = opened(path).run(None, {"x": X})[0]
    assert len(prepared) == 1
    again = opened(path, threads=2)
    np.testing.assert_array_equal(again.run(None, {"x": X})[0], first)
    np.testing.assert_array_equal(again.run(["y"], {"x": X[:1]})[0], first[:1])
    assert len(prepared) == 1
    assert again.providers == ("cpu", "reference")
    assert list(again.inputs) == ["x"]
    assert len(prepared) == 1


def test_neither_llvm_nor_the_operators_are_loaded_for_it(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    opened(path)
    script = (
        "import sys, numpy as np; from ingot.session import Session; "
        f"s = Session({str(path)!r}, providers=('cpu', 'reference')); "
        "s.run(None, {'x': np.ones((2, 3), np.float32)}); "
        "print('llvmlite' in sys.modules, 'ingot.ops.catalog' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_the_same_content_elsewhere_or_as_bytes_is_the_same_model(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx")
    opened(path)
    twin = tmp_path / "twin.onnx"
    twin.write_bytes(path.read_bytes())
    for source in (twin, path.read_bytes(), bytearray(path.read_bytes())):
        np.testing.assert_allclose(opened(source).run(None, {"x": X})[0][0, 0], np.exp(X[0] @ [1, 3, 5]), rtol=1e-6)
    assert len(prepared) == 1


def test_other_weights_are_another_model(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx")
    before = opened(path).run(None, {"x": X})[0]
    saved(path, PRODUCT.replace("{1, 2", "{2, 2"))
    assert not np.array_equal(opened(path).run(None, {"x": X})[0], before)
    assert len(prepared) == 2


def test_a_file_changed_a_moment_ago_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "SETTLED", 10**18)
    path = tmp_path / "file"
    path.write_bytes(b"one")
    times = (os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns)
    before = contents.digest_of_file(path)
    with open(path, "r+b") as file:
        file.write(b"two")
    os.utime(path, ns=times)
    assert contents.digest_of_file(path) != before


def test_a_file_that_has_not_changed_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    before = contents.digest_of_file(path)
    monkeypatch.setattr(contents, "digest_of", lambda _: "read")
    assert contents.digest_of_file(path) == before
    path.write_bytes(b"three")
    assert contents.digest_of_file(path) == "read"


def test_large_files_and_bytes_have_the_same_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_CHUNK", 1000)
    path = tmp_path / "file"
    path.write_bytes(os.urandom(12_345))
    assert contents.digest_of_file(path) == contents.digest_of(path.read_bytes())


def test_a_large_file_that_is_new_is_read_whole_only_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared: list[object]
) -> None:
    monkeypatch.setattr(contents, "_CHUNK", 10)
    path = saved(tmp_path / "m.onnx")
    read: list[Path] = []
    whole = contents.digest_of_file

    def reading(path: Path, *source: Any) -> str | None:
        read.append(path)
        assert len(prepared) > 0
        return whole(path, *source)

    monkeypatch.setattr(contents, "digest_of_file", reading)
    assert contents.unseen(path) is not None
    opened(path)
    assert read == [path]
    assert contents.unseen(path) is None
    opened(path)
    twin = tmp_path / "twin.onnx"
    twin.write_bytes(path.read_bytes())
    assert contents.unseen(twin) is None
    opened(twin)
    assert len(prepared) == 1


def test_a_program_that_ends_at_once_keeps_a_large_file_too(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    script = (
        "import sys; from ingot.cache import contents; contents._CHUNK, contents.SETTLED = 10, -(10**18); "
        "from ingot.session import Session; "
        f"Session({str(path)!r}, providers=('cpu', 'reference'), threads=1, fallback=False); "
        "print('ingot.ops.catalog' in sys.modules)"
    )
    found = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(2)
    ]
    assert [(each.stdout.strip(), each.stderr) for each in found] == [("True", ""), ("False", "")]


def test_nothing_is_kept_of_a_file_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_CHUNK", 10)
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    found = contents.unseen(path)
    assert found is not None
    assert found.content() == contents.digest_of(bytes(100))
    path.write_bytes(bytes(101))
    assert found.content() is None
    path.unlink()
    assert found.content() is None


def test_a_file_changed_a_moment_ago_does_not_count_as_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_CHUNK", 10)
    monkeypatch.setattr(contents, "SETTLED", 10**18)
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    assert contents.unseen(path) is None


@pytest.mark.parametrize("damage", ["short", "empty", "text", "code", "magic"])
def test_a_damaged_file_is_as_good_as_none(damage: str, tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx")
    expected = opened(path).run(None, {"x": X})[0]
    (plan,) = directory.entries("plan")
    whole = bytearray(plan.read_bytes())
    if damage == "short":
        del whole[-1:]
    elif damage == "empty":
        whole.clear()
    else:
        whole[{"magic": 3, "text": 200, "code": whole.index(b"\xc3", 1 << 14)}[damage]] ^= 1
    plan.write_bytes(whole)
    np.testing.assert_array_equal(opened(path).run(None, {"x": X})[0], expected)
    assert len(prepared) == 2


def test_what_the_reference_runs_is_kept_too(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx", CALLS)
    x = np.array([3, 0, -2, 3], np.float32)
    for _ in range(2):
        places, squares = opened(path).run(None, {"x": x})
        np.testing.assert_array_equal(places, [[0, 2, 3]])
        np.testing.assert_array_equal(squares, [4, 0, 9])
    assert len(prepared) == 1


def test_loops_and_branches_are_kept(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx", CONTROL)
    feeds = [{"x": X[0], "m": np.asarray(count, np.int64)} for count in (0, 1, 4)]
    first = opened(path)
    expected = [first.run(None, each)[0] for each in feeds]
    again = opened(path, threads=2)
    assert len(prepared) == 1
    for each, wanted in zip(feeds * 2, expected * 2, strict=True):
        np.testing.assert_array_equal(again.run(None, each)[0], wanted)


def test_bodies_are_kept(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx", BODIES)
    feeds = [{"x": X[:, 0], "m": np.asarray(count, np.int64)} for count in (0, 1, 4)]
    first = opened(path)
    expected = [first.run(None, each) for each in feeds]
    again = opened(path, threads=2)
    for each, wanted in zip(feeds * 2, expected * 2, strict=True):
        for one, other in zip(wanted, again.run(None, each), strict=True):
            np.testing.assert_array_equal(one, other)
    ran: list[str] = []
    again.run(None, feeds[2], observe_steps=lambda step, *_: ran.append(getattr(step, "name", "")))
    assert {name[:2] for name in ran if name.startswith("b")} == {"b1", "b2", "b3"}
    assert len(prepared) == 1


def test_random_numbers_are_those_of_the_first_time(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx", RANDOM)
    x = np.zeros(5, np.float32)
    first, second = (opened(path, seed=3).run(None, {"x": x})[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_defaults_of_inputs_are_kept(tmp_path: Path, prepared: list[object]) -> None:
    path = saved(tmp_path / "m.onnx", DEFAULT)
    x = np.ones(2, np.float32)
    opened(path).run(None, {"x": x, "d": x})
    opened(path)  # waits for what is kept
    session = opened(path)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], [6, 8])
    np.testing.assert_array_equal(session.run(None, {"x": x, "d": x})[0], [2, 2])
    assert list(session.inputs) == ["x"]
    assert len(prepared) == 2  # the model, and with an input given in the place of its default


def test_what_one_provider_compiled_is_not_for_another_on_the_same_machine(tmp_path: Path) -> None:
    class Picky(Cpu):
        name = "picky"

        def refuses(self, node: Node, *rest: Any) -> str | None:
            return "it is picky" if node.applies("Exp") else super().refuses(node, *rest)

    path = saved(tmp_path / "m.onnx")
    for compiler, calls in (("cpu", 0), (Picky(), 1), ("cpu", 0)):
        executable = opened(path, compiler)._plans.first
        assert executable is not None
        assert sum(segment.call is not None for segment in executable.plan.segments) == calls


def test_feeds_are_checked_all_the_same(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    opened(path)
    session = opened(path)
    with pytest.raises(InputError, match="missing input 'x'"):
        session.run(None, {})
    with pytest.raises(InputError, match=r"got float64\[4, 3\]"):
        session.run(None, {"x": X.astype(np.float64)})


def test_what_was_not_kept_comes_from_the_model_even_if_its_file_is_gone(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.onnx")
    opened(path)
    session = opened(path)
    path.unlink()
    np.testing.assert_allclose(session.run(["t"], {"x": X})[0], X @ np.arange(1, 7).reshape(3, 2), rtol=1e-6)
    assert str(session.outputs["y"]) == "float32[n, 2]"
    assert session.model.graph.nodes[0].applies("MatMul")
    assert session.compiled is not None
    assert pickle.loads(pickle.dumps(session)).run(None, {"x": X})[0].shape == (4, 2)


@pytest.mark.parametrize("on_reference", [False, True])
def test_a_deadline_holds_while_a_model_opened_before_is_loaded(
    on_reference: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "m.onnx", HEAD + "g (float[n] x, float[m] w) => (float[k] y) { y = Add (x, w) }")
    opened(path)
    added = opened(path)
    feeds = {"x": np.ones(3, np.float32), "w": np.ones(1, np.float32)}  # a guard fails: n is not m
    observe = (lambda *_: None) if on_reference else None
    begun, goes_on = threading.Event(), threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return load(*arguments, **options)

    monkeypatch.setattr(warm_start, "load", slowly)
    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(ingot.Interrupted):
            threads.submit(added.run, None, feeds, deadline=0.05, observe=observe).result(30)
        assert begun.is_set()
        goes_on.set()
        assert added.run(None, feeds, deadline=600, observe=observe)[0].tolist() == [2, 2, 2]


def test_weights_in_other_files_are_looked_at(tmp_path: Path, prepared: list[object]) -> None:
    path = tmp_path / "m.onnx"
    model = ingot.parse_model(PRODUCT)
    ingot.save(model, path, external="one-file", threshold=0)
    (data,) = [each for each in tmp_path.iterdir() if each.is_file() and each != path]
    before = opened(path).run(None, {"x": X})[0]
    np.testing.assert_array_equal(opened(path).run(None, {"x": X})[0], before)
    assert len(prepared) == 1
    weights = np.fromfile(data, np.float32)
    (weights * 2).tofile(data)
    assert not np.array_equal(opened(path).run(None, {"x": X})[0], before)
    assert len(prepared) == 2


def test_a_model_larger_than_half_the_room_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE_BYTES", "20000")
    opened(saved(tmp_path / "m.onnx"))
    assert directory.entries("plan") == []


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "file"))
    path = saved(tmp_path / "m.onnx")
    for _ in range(2):
        assert opened(path).run(None, {"x": X})[0].shape == (4, 2)


def test_models_are_compiled_unless_something_else_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ingot.parse_model(PRODUCT)
    monkeypatch.delenv("INGOT_PROVIDERS")
    assert Session(model).compiled is not None
    assert Session(model, providers=["reference"]).compiled is None
    monkeypatch.setenv("INGOT_PROVIDERS", "reference")
    assert Session(model).providers == ("reference",)
    monkeypatch.setenv("INGOT_PROVIDERS", "gpu")
    with pytest.raises(InputError, match="there is no provider 'gpu'"):
        Session(model)


def test_the_code_of_the_thread_pool_is_compiled_once_for_all_models(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[n] x) => (float[n] y) {{ y = {} (x) }}'
    script = (
        "import sys, numpy, ingot, ingot.codegen.llvm.thread_pool as thread_pool\n"
        "if sys.argv[2] == 'cached': del thread_pool.thread_pool_text\n"
        "session = ingot.Session(ingot.parse_model(sys.argv[1]), fallback=False, providers=('cpu',))\n"
        "print(session(numpy.float32([4]))[0])"
    )
    environment = os.environ | {"INGOT_CACHE": str(tmp_path)}
    for operator, result, state in (("Neg", "-4.0", "empty"), ("Sqrt", "2.0", "cached")):
        command = [sys.executable, "-c", script, text.format(operator), state]
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert (run.stdout.strip(), run.stderr) == (result, "")


def test_a_process_waits_for_a_plan_that_is_written_for_work_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    daemons: list[bool] = []
    monkeypatch.setattr(keep_plan, "_write", lambda *_: daemons.append(threading.current_thread().daemon))
    arguments: Any = (None, None, (), None)
    background = threading.Thread(target=keep_plan.keep, args=arguments, daemon=True)
    background.start()
    background.join()
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    assert daemons == [False]
