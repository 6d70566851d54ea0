"""Where a guard of the first plan fails, the model is compiled again with what the run has shown, and both are kept."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Session
from ingot import compile as compiling
from ingot.dtypes import DType
from ingot.infer.typed import TypedModel
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.runtime.ended_work import Unwanted
from ingot.runtime.executable import Executable
from ingot.session import Cancel
from ingot.variants import Variants

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
ADD = f"{HEAD} g (float[n] x, float[m] w) => (y) {{ y = Add (x, w) }}"
MISDECLARED = f"""{HEAD} g (float[batch, 2] x) => (float[batch] y) <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{
    row = Slice (x, zero, one, zero)
    y = Squeeze (row)
}}"""

COUNTED = f"""{HEAD} g (float[n] x) => (y) <int64[1] first = {{0}}> {{
    places = NonZero (x)
    row = Squeeze (places, first)
    numbers = Cast <to = 1> (row)
    y = Add (numbers, x)
}}"""
ONE_WAY = COUNTED.replace("Add (numbers, x)", "PRelu (x, numbers)")


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The types of the inputs of each model that is compiled."""
    compiled: list[list[str]] = []
    real = compiling.compile_model

    def counting(typed: TypedModel, *rest: Any) -> Any:
        compiled.append([str(value.type) for value in typed.model.graph.inputs])
        return real(typed, *rest)

    monkeypatch.setattr(compiling, "compile_model", counting)
    return compiled


def session(text: str) -> Session:
    return Session(ingot.parse_model(text), providers=("cpu", "reference"), threads=1)


def floats(count: int) -> Any:
    return np.arange(count, dtype=np.float32)


def test_broadcasting_that_was_not_assumed_is_compiled_once_for_all_sizes(shapes: list[list[str]]) -> None:
    added = session(ADD)
    for _ in range(2):
        for n in (2, 5, 9):
            np.testing.assert_array_equal(added.run(None, {"x": floats(n), "w": floats(1) + 1})[0], floats(n) + 1)
            np.testing.assert_array_equal(added.run(None, {"x": floats(n), "w": floats(n)})[0], 2 * floats(n))
    assert shapes == [["float32[n]", "float32[m]"], ["float32[size0_of_x]", "float32[1]"]]


def test_a_second_run_takes_the_fast_path_of_the_plan_that_fits(shapes: list[list[str]]) -> None:
    added = session(ADD)
    feeds = {"x": floats(3), "w": floats(1)}
    added.run(None, feeds)
    chosen = added._plans.variants.chosen(feeds)
    assert chosen is not None
    assert chosen.fast_path.run(feeds) is not None
    assert len(shapes) == 2


def test_a_shape_that_is_declared_wrong_is_overruled(shapes: list[list[str]]) -> None:
    squeezed = session(MISDECLARED)
    for rows in (3, 4):
        assert squeezed.run(None, {"x": np.ones((rows, 2), np.float32)})[0].tolist() == [1, 1]
    assert len(shapes) == 1


def test_a_number_that_is_declared_wrong_is_overruled_too(shapes: list[list[str]]) -> None:
    squeezed = session(MISDECLARED.replace("(float[batch] y)", "(float[3] y)"))
    for rows in (3, 4):
        assert squeezed.run(None, {"x": np.ones((rows, 2), np.float32)})[0].tolist() == [1, 1]
    assert len(shapes) == 1


SQUEEZED = f"""{HEAD} g (float[n] x) => (y) <int64[1] one = {{1}}, int64[1] axis = {{0}}> {{
    size = Shape (x)
    is_one = Equal (size, one)
    c = Squeeze (is_one)
    y = If (c) <then_branch = a () => (p) {{ p = Squeeze (x, axis) }}, else_branch = b () => (q) {{ q = Neg (x) }}>
}}"""


@pytest.mark.parametrize("declared", ["n", "3"])
def test_a_branch_that_these_sizes_never_take_need_not_fit_them(declared: str) -> None:
    chosen = session(SQUEEZED.replace("float[n] x", f"float[{declared}] x"))
    assert chosen.run(None, {"x": floats(3)})[0].tolist() == [0, -1, -2]
    if declared == "n":
        assert chosen.run(None, {"x": floats(1)})[0].tolist() == 0


def test_a_branch_that_is_taken_has_to_fit() -> None:
    taken = SQUEEZED.replace("float[n] x", "float[3] x").replace("one = {1}", "one = {3}")
    with pytest.raises(ingot.CheckError, match="axis 0 has 3 elements and cannot be taken out"):
        session(taken)


def test_a_window_that_does_not_fit_an_axis_is_an_error_in_machine_code_too() -> None:
    pool = "t = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) y = GlobalAveragePool (t)"
    opened = session(f"{HEAD} g (float[1, 1, h, w] x) => (float[1, 1, 1, 1] y) {{ {pool} }}")
    assert opened.run(None, {"x": np.full((1, 1, 4, 2), 3, np.float32)})[0].item() == 3
    with pytest.raises(ingot.ShapeError, match="a window that reaches over 2 does not fit an axis of 1"):
        opened.run(None, {"x": np.ones((1, 1, 1, 2), np.float32)})


POOLED = "p = MaxPool <kernel_shape = [9, 9]> (x) r = Relu (p) y = ReduceSum <keepdims = 0> (r)"
LOOPED = f"""{HEAD} g (float[1, 1, n, n] x) => (float s) <int64 trips = {{2}}, float zero = {{0}}> {{
    s = Loop (trips, , zero) <body = b (int64 i, bool c, float total) => (bool d, float next) {{
        d = Identity (c) {POOLED} next = Add (total, y) }}>
}}"""
SHRINKING = f"""{HEAD} g (float[1, 1, 10] x, float[n] w) => (float s) <int64[1] all = {{10}}, int64[1] last = {{2}}> {{
    start = Shape (w) t = Slice (x, start, all, last)
    p = MaxPool <kernel_shape = [3]> (t) r = Relu (p) s = ReduceSum <keepdims = 0> (r)
}}"""


@pytest.mark.parametrize("size", [1, 2, 8, 9])
def test_windows_in_the_body_of_a_loop_have_to_fit_too(size: int) -> None:
    x = np.ones((1, 1, size, size), np.float32)
    if size == 9:
        assert session(LOOPED).run(None, {"x": x})[0].item() == 2
        return
    with pytest.raises(ingot.ShapeError, match=f"a window that reaches over 9 does not fit an axis of {size}"):
        session(LOOPED).run(None, {"x": x})


@pytest.mark.parametrize("size", [0, 7, 8, 9, 10, 12])
def test_an_axis_that_shrinks_as_a_size_grows_is_never_below_zero(size: int) -> None:
    feeds = {"x": np.ones((1, 1, 10), np.float32), "w": np.ones(size, np.float32)}
    opened = session(SHRINKING)
    if size in (8, 9):
        with pytest.raises(ingot.ShapeError, match="a window that reaches over 3 does not fit"):
            opened.run(None, feeds)
        return
    assert opened.run(None, feeds)[0].item() == max(0, 8 - size)


def test_sizes_that_no_plan_can_have_are_said_by_the_reference(shapes: list[list[str]]) -> None:
    added = session(ADD)
    with pytest.raises(ingot.IngotError, match="2"):
        added.run(None, {"x": floats(2), "w": floats(3)})
    assert added.run(None, {"x": floats(2), "w": floats(2)})[0].tolist() == [0, 2]
    assert shapes


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Executable]:
    """The plans that ran to the end, in order."""
    plans: list[Executable] = []

    def noting(real: Callable[..., list[Any] | None]) -> Callable[..., list[Any] | None]:
        def run(self: Executable, *arguments: Any) -> list[Any] | None:
            results = real(self, *arguments)
            if results is not None:
                plans.append(self)
            return results

        return run

    monkeypatch.setattr(Executable, "run", noting(Executable.run))
    monkeypatch.setattr(Executable, "run_again", noting(Executable.run_again))
    return plans


@pytest.mark.filterwarnings("ignore:a compiled run was thrown away")
def test_a_run_whose_values_fail_a_guard_does_not_take_the_plan_from_others(ran: list[Executable]) -> None:
    counted = session(ONE_WAY)
    full, single = floats(4) + 1, np.eye(1, 4, dtype=np.float32)[0]
    for _ in range(2):
        assert counted.run(None, {"x": full})[0].tolist() == [1, 2, 3, 4]
        assert counted.run(None, {"x": single})[0].tolist() == [1, 0, 0, 0]
    assert ran == [counted._plans.first]  # the second time on its fast path


@pytest.mark.filterwarnings("ignore:a compiled run was thrown away")
def test_exact_sizes_that_do_not_help_are_not_compiled_for_ever(shapes: list[list[str]]) -> None:
    counted = session(ONE_WAY)
    for size in range(2, 40):
        counted.run(None, {"x": np.eye(1, size, dtype=np.float32)[0]})
    assert len(shapes) == 3 + 8  # the first, without its choice, for the pattern, for exact sizes


@pytest.mark.filterwarnings("ignore:a compiled run was thrown away")
def test_sizes_of_which_none_is_open_are_not_compiled_twice(shapes: list[list[str]]) -> None:
    counted = session(ONE_WAY.replace("float[n]", "float[4]"))
    assert counted.run(None, {"x": np.eye(1, 4, dtype=np.float32)[0]})[0].tolist() == [1, 0, 0, 0]
    assert shapes == [["float32[4]"]] * 3  # the second without its choice


def test_threads_whose_guards_fail_at_once_compile_once(shapes: list[list[str]]) -> None:
    added = session(ADD)
    together = threading.Barrier(4)

    def run(_: int) -> Any:
        together.wait()
        return added.run(None, {"x": floats(3), "w": floats(1)})[0].tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(run, range(4))) == [[0, 1, 2]] * 4
    assert len(shapes) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_process_forked_while_a_thread_compiles_compiles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    added = session(ADD)
    building, goes_on = threading.Event(), threading.Event()
    real = compiling.compile_model

    def slow(*arguments: Any) -> Any:
        if threading.current_thread().name == "slow":
            building.set()
            goes_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(compiling, "compile_model", slow)
    feeds = {"x": floats(3), "w": floats(1)}
    thread = threading.Thread(target=added.run, args=(None, feeds), name="slow")
    thread.start()
    assert building.wait(60)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=added.run, args=(None, feeds))
    child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
    goes_on.set()
    thread.join()
    assert child.exitcode == 0


def test_shapes_that_no_plan_fitted_are_tried_again_with_the_first_and_compiled_no_more(
    shapes: list[list[str]],
) -> None:
    counted = session(
        f"""{HEAD} g (float[4] x, float[2] w) => (y) {{
        n = NonZero (x)
        t = Transpose (n)
        s = Squeeze (t, axis)
        f = Cast <to = 1> (s)
        y = Add (f, w)
    }}""".replace("=> (y) {", "=> (y) <int64[1] axis = {1}> {")
    )
    two, three = np.array([1, 0, 1, 0], np.float32), np.array([1, 1, 1, 0], np.float32)
    w = np.zeros(2, np.float32)
    for _ in range(2):
        assert counted.run(None, {"x": two, "w": w})[0].tolist() == [0, 2]
        with pytest.raises(ingot.IngotError):
            counted.run(None, {"x": three, "w": w})
    compiled = len(shapes)
    assert counted.run(None, {"x": two, "w": w})[0].tolist() == [0, 2]
    with pytest.raises(ingot.IngotError):
        counted.run(None, {"x": three, "w": w})
    assert len(shapes) == compiled


@pytest.mark.filterwarnings("ignore:a compiled run was thrown away")
def test_threads_that_need_the_same_exact_sizes_compile_them_once(shapes: list[list[str]]) -> None:
    counted = session(ONE_WAY)
    together = threading.Barrier(4)

    def run(_: int) -> Any:
        together.wait()
        return counted.run(None, {"x": np.eye(1, 4, dtype=np.float32)[0]})[0].tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(run, range(4))) == [[1, 0, 0, 0]] * 4
    assert len(shapes) == 4


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Compilations that begin from now on wait until the event is set, then end before their next stage."""
    goes_on = threading.Event()
    real = compiling.compile_model

    def slowly(typed: TypedModel, provider: Any, options: Any) -> Any:
        goes_on.wait(60)
        return real(typed, provider, options)

    monkeypatch.setattr(compiling, "compile_model", slowly)
    yield goes_on
    goes_on.set()


def test_a_run_that_compiles_again_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    added, cancel = session(ADD), Cancel()
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()
    real = compiling.compile_model

    def slowly(*arguments: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        try:
            return real(*arguments)
        except Unwanted:
            ended.set()
            raise

    monkeypatch.setattr(compiling, "compile_model", slowly)
    feeds = {"x": floats(3), "w": floats(1)}
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(added.run, None, feeds, cancel=cancel)
        assert begun.wait(60)
        cancel.cancel()
        with pytest.raises(ingot.Interrupted, match="cancelled"):
            run.result(60)
    goes_on.set()
    assert ended.wait(60), "the compilation goes on for nobody"
    assert added.run(None, feeds, deadline=600)[0].tolist() == [0, 1, 2]


def test_a_deadline_ends_the_wait_for_a_thread_that_compiles(slow: threading.Event) -> None:
    slow.set()
    added = session(ADD)
    slow.clear()
    feeds = {"x": floats(3), "w": floats(1)}
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(added.run, None, feeds)
        while not added._plans.variants._lock._locks:
            sleep(0.001)
        with pytest.raises(ingot.Interrupted):
            added.run(None, feeds, deadline=0.05)
        slow.set()
        assert first.result()[0].tolist() == [0, 1, 2]


def test_a_model_whose_default_is_overridden_is_compiled_again_too(shapes: list[list[str]]) -> None:
    inputs = "float[n] x, float[m] w, float[1] b"
    added = session(f"{HEAD} g ({inputs}) => (y) <float[1] b = {{1}}> {{ t = Add (x, w) y = Add (t, b) }}")
    for _ in range(2):
        feeds = {"x": floats(3), "w": floats(1), "b": floats(1) + 5}
        assert added.run(None, feeds)[0].tolist() == [5, 6, 7]
    assert len(shapes) == 3, "at first, for the overridden default, and for its broadcasting"


def variants(*names: str) -> Variants:
    return Variants([Value(name, TensorType(DType.FLOAT32, None)) for name in names])


def build_nothing(*_: Any) -> None:
    pass


def test_sizes_of_inputs_whose_names_differ_in_signs_alone_have_other_names() -> None:
    given: list[Any] = []
    names = ("a.b", "a:b", "a_b_1", "a_b")
    feeds = {name: floats(size) for size, name in enumerate(names, 2)}
    list(variants(*names).candidates(None, feeds, lambda assumed: given.append(assumed.shapes), set()))
    assert len({str(size) for shape in given[0].values() for size in shape}) == 4


def test_patterns_without_end_are_not_remembered_without_end() -> None:
    own = variants("x")
    for rank in range(200):
        x = np.zeros((2,) + (1,) * (rank % 60) + (0,) * (rank // 60))
        list(own.candidates(None, {"x": x}, build_nothing, set()))
    assert len(own._built) <= 64
    assert len(own._failures) <= 64


def test_a_size_that_is_called_threads_is_one_like_others(shapes: list[list[str]]) -> None:
    product = session(f"{HEAD} g (float[threads, 8] x, float[8, m] w) => (y) {{ y = MatMul (x, w) }}")
    ones = {"x": np.ones((5, 8), np.float32), "w": np.ones((8, 70), np.float32)}
    assert product.run(None, ones)[0].shape == (5, 70)
    assert len(shapes) == 1


def test_a_computed_size_that_broadcasts_is_compiled_once_for_all_sizes(ran: list[Executable]) -> None:
    counted = session(COUNTED)
    for size in (2, 3, 9, 3):
        numbers = np.eye(1, size, dtype=np.float32)[0]
        assert counted.run(None, {"x": numbers})[0].tolist() == numbers.tolist()
        assert counted.run(None, {"x": 1 + numbers})[0].tolist() == (1 + numbers + np.arange(size)).tolist()
        assert counted.run(None, {"x": 0 * numbers[:1]})[0].tolist() == []
    with pytest.raises(ingot.ShapeError, match="do not broadcast"):
        counted.run(None, {"x": np.array([1, 1, 0], np.float32)})
    assert len(set(ran)) == 2
    assert len(ran) == 4  # later runs are on the fast path of either


def test_a_choice_by_a_size_that_a_run_computes_has_a_plan_for_either() -> None:
    graph = """g (float[n] x) => (y) <float[1] one = {1}> {
        c = Greater (x, one) a = NonZero (c) t = Transpose (a) s = Squeeze (t) y = Add (s, s) }"""
    model = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    session = ingot.Session(model, providers=("cpu", "reference"))
    reference = ingot.Session(model, providers=("reference",))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ingot.FallbackWarning)  # the whole model is never on the reference
        for elements in ([0, 5, 2, 0], [0, 5, 0, 0], [3, 3, 0, 0], [0, 0, 0, 9], [0, 0, 0, 0]) * 3:
            x = np.array(elements, np.float32)
            result, expected = session(x), reference(x)
            assert (result.shape, result.tolist()) == (expected.shape, expected.tolist())
    assert [choices for _, choices in session._plans.variants._built] == [frozenset({"axis 0 of s"})]


def test_a_choice_is_reversed_for_other_sizes_too_where_plans_for_types_fail() -> None:
    text = """HEAD g (float[n, 2] x, bool flat) => (z) <float one = {1}, int64[1] zero = {0}> {
        c = Greater (x, one) a = NonZero (c) t = Transpose (a) s = Squeeze (t) f = Cast <to = 1> (s)
        y = If (flat) <
            then_branch = u () => (p) { p = ReduceSum <keepdims = 0> (f, zero) },
            else_branch = w () => (q) { q = Neg (f) }
        >
        z = Relu (y)
    }"""
    chosen = session(text.replace("HEAD", HEAD))
    for rows in (1, 3, 4, 3):  # what is computed has one row each time, which the first plan does not assume
        x = np.zeros((rows, 2), np.float32)
        x[-1, 1] = 2
        for _ in range(2):
            assert chosen.run(None, {"x": x, "flat": np.array(True)})[0].tolist() == rows


def test_a_branch_by_a_size_that_a_run_computes_has_a_plan_for_either() -> None:
    graph = """g (float[n] x) => (y)
        <float[1] one = {1}, int64[1] first = {0}, int64 length = {1}, int64[1] zero = {0}> {
        c = Greater (x, one) a = NonZero (c) t = Transpose (a)
        shape = Shape (t) many = Gather (shape, zero) single = Squeeze (many) is_one = Equal (single, length)
        y = If (is_one) <then_branch = u () => (p) { p = Squeeze (t, first) },
                         else_branch = v () => (q) { q = Add (t, t) }> }"""
    model = ingot.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    session = ingot.Session(model, providers=("cpu", "reference"))
    reference = ingot.Session(model, providers=("reference",))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ingot.FallbackWarning)
        for elements in ([0, 5, 2, 0], [0, 5, 0, 0], [3, 3, 0, 0]) * 2:
            x = np.array(elements, np.float32)
            result, expected = session(x), reference(x)
            assert (result.shape, result.tolist()) == (expected.shape, expected.tolist())


ONE_IN_A_BATCH = f"""{HEAD} g (float[batch, 1, n] x) => (y) {{
    row = Squeeze (x)
    places = NonZero (row)
    rows = Transpose <perm = [1, 0]> (places)
    y = GatherND (row, rows)
}}"""
"""Only a batch of one makes coordinates of one number; with a batch of another size they are of two."""

RANGE = (
    ONE_IN_A_BATCH.replace("GatherND (row,", "GatherND (numbers,")
    .replace(
        "row = ",
        "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () numbers = Range (zero, k, one) row = ",
    )
    .replace(") => (y)", ", int64 k) => (y)")
)


def test_a_model_that_fails_to_compile_for_open_sizes_is_compiled_for_those_of_a_run(shapes: list[list[str]]) -> None:
    opened = session(RANGE)
    assert "cpu" not in opened.providers
    for count in (4, 7, 4):
        x = np.arange(count, dtype=np.float32).reshape(1, 1, -1)
        assert opened.run(None, {"x": x, "k": np.array(count)})[0].tolist() == list(range(1, count))
    assert "cpu" in opened.providers
    assert shapes == [["float32[batch, 1, n]", "int64[]"], ["float32[1, 1, size2_of_x]", "int64[]"]]
    chosen = opened._plans.variants.chosen({"x": x, "k": np.array(4)})
    assert chosen is not None
    assert chosen.fast_path.run({"x": x, "k": np.array(4)}) is not None


def test_a_model_that_fails_to_compile_says_what_is_wrong_with_a_run_by_the_reference() -> None:
    with pytest.raises(ingot.IngotError):
        session(RANGE).run(None, {"x": np.ones((2, 1, 3), np.float32), "k": np.array(3)})


@pytest.mark.parametrize("text", [ADD, RANGE])
def test_plans_beside_the_first_are_kept_for_the_next_process(
    text: str, shapes: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "model.onnx"
    ingot.save(ingot.parse_model(text), path)
    feeds: dict[str, Any] = (
        {"x": floats(3).reshape(1, 1, 3), "k": np.array(3)} if text is RANGE else {"x": floats(3), "w": floats(1)}
    )
    results = []
    for _ in range(3):
        opened = Session(path, providers=("cpu", "reference"), threads=1)
        results.append(opened.run(None, feeds)[0].tolist())
        results.append(opened.run(None, feeds)[0].tolist())
        opened.close()
        for thread in threading.enumerate():
            if thread.name == "ingot-keep":
                thread.join()
    assert results == [results[0]] * 6
    with_sizes = [types for types in shapes if "size" in "".join(types)]
    assert len(with_sizes) == 1
