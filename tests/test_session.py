"""Sessions: feeds, fetches, errors, threads, deadlines, custom operators."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import pickle
import threading
import weakref
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import CheckError, CompileError, DType, Graph, InputError, Model, Node, TensorType, Value, operator
from ingot.dims import symbol
from ingot.dtypes import Array
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import FLOATS, types
from ingot.session import Cancel, Interrupted, LimitError, RunLimits, Session

DIGITS = Path(__file__).parent.parent / "examples" / "digits.onnx"
ROWS = TensorType(DType.FLOAT32, (symbol("n"), 3))


def affine(op_type: str = "Mul", domain: str = "") -> Model:
    """y = (x op w) + b"""
    x, b = Value("x", ROWS), Value("b", ROWS)
    graph = Graph([x, b], name="affine")
    w = graph.add_initializer("w", np.array([1, 2, 3], np.float32))
    h = graph.append(Node(op_type, [x, w], ["h"], name="scale", domain=domain)).output
    graph.outputs.append(graph.append(Node("Add", [h, b], ["y"])).output)
    return Model(graph, {"": 20} | ({domain: 1} if domain else {}), ir_version=9)


X = np.ones((2, 3), np.float32)


def test_a_call_takes_inputs_in_order_or_by_name() -> None:
    session = Session(affine())
    assert session(X, X).tolist() == [[2, 3, 4]] * 2
    assert session(X, b=X).tolist() == [[2, 3, 4]] * 2
    assert session.inputs == {"x": ROWS, "b": ROWS}
    assert str(session.outputs["y"]) == "float32[n, 3]"


def test_any_value_inside_can_be_asked_for() -> None:
    h, y, w = Session(affine()).run(["h", "y", "w"], {"x": X, "b": X})
    assert h.tolist() == [[1, 2, 3]] * 2
    assert y.tolist() == [[2, 3, 4]] * 2
    assert w.tolist() == [1, 2, 3]
    assert Session(affine()).run(["h"], {"x": X, "b": X})[0].shape == (2, 3)


def test_values_of_an_upgraded_model_keep_their_names() -> None:
    x = Value("x", TensorType(DType.FLOAT32, (2, 3, 4)))
    graph = Graph([x])
    s = graph.append(Node("Softmax", [x], ["s"])).output
    graph.outputs.append(graph.append(Node("Neg", [s], ["y"])).output)
    s_found, _ = Session(Model(graph, 11, ir_version=6)).run(["s", "y"], {"x": np.zeros((2, 3, 4), np.float32)})
    np.testing.assert_allclose(s_found, np.full((2, 3, 4), 1 / 12), rtol=1e-6)


def test_what_dlpack_offers_and_numpy_does_not_take_is_taken_as_an_array_or_refused() -> None:
    class Offer:
        def __dlpack__(self, **_options: Any) -> Any:
            raise BufferError("numpy does not know these elements")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    class OfferedArray(Offer):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.array([1, -2], ml_dtypes.bfloat16)

    text = '<ir_version: 8, opset_import: ["" : 17]> g (bfloat16[2] x) => (y) { y = Neg (x) }'
    session = Session(ingot.parse_model(text))
    assert session(OfferedArray()).tolist() == [-1, 2]
    with pytest.raises(InputError, match=r"input 'x' is .*numpy cannot take the memory given: numpy does not know"):
        session(Offer())


def test_lists_scalars_and_dlpack_are_taken() -> None:
    session = Session(affine())
    assert session([[1, 1, 1]], [[0, 0, 0]]).tolist() == [[1, 2, 3]]

    class Foreign:
        def __dlpack__(self, **options: Any) -> Any:
            return X.copy().__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return X.__dlpack_device__()

    assert session(Foreign(), X).tolist() == [[2, 3, 4]] * 2


class Refusing:
    """A tensor of another library that is not to become an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("detach it first")


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"x": X}, r"missing input 'b': float32\[n, 3\]"),
        ({"x": X, "b": X, "bb": X}, "no input 'bb'\n  hint: did you mean 'b'"),
        ({"x": X.astype(np.float64), "b": X}, r"'x' is float32\[n, 3\], got float64\[2, 3\]\n  hint: convert it"),
        ({"x": X[:, :2], "b": X}, r"'x' is float32\[n, 3\], got float32\[2, 2\]"),
        ({"x": X[0], "b": X}, r"'x' is float32\[n, 3\], got float32\[3\]"),
        ({"x": object(), "b": X}, "a object makes no such array"),
        ({"x": [["a"]], "b": X}, "a list makes no such array"),
        ({"x": [[10**400]], "b": X}, "a list makes no such array"),
        ({"x": None, "b": X}, r"'x' is float32\[n, 3\], got None"),
        ({"x": X, "b": X, 3: X}, "no input '3'\n  hint: the inputs are x, b"),
        ({"x": Refusing(), "b": X}, r"'x' is float32\[n, 3\], and numpy cannot take what is given: detach it first"),
    ],
)
def test_feeds_that_do_not_fit_say_what_was_expected(feeds: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Session(affine()).run(None, feeds)


def test_a_result_is_never_the_callers_own_array() -> None:
    x = Value("x", ROWS)
    graph = Graph([x])
    graph.outputs.append(graph.append(Node("Identity", [x], ["y"])).output)
    given = X.copy()
    result = Session(Model(graph, 20))(given)
    given[:] = 7
    assert result.tolist() == X.tolist()


def test_results_can_be_written_without_harm_to_the_model_or_to_each_other() -> None:
    session = Session(affine())
    for _ in range(2):
        w, again, h = session.run(["w", "w", "h"], {"x": X, "b": X})
        assert w.tolist() == again.tolist() == [1, 2, 3]
        assert h.tolist() == [[1, 2, 3]] * 2
        w[:] = 7
        h[:] = 7


def test_the_elements_of_a_returned_sequence_are_not_the_callers_own() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (seq(float[n]) x) => (seq(float[n]) y) { y = Identity (x) }
    """)
    given = np.ones(2, np.float32)
    (result,) = Session(model).run(None, {"x": [given]})
    given[:] = 7
    assert result[0].tolist() == [1, 1]


def test_strings_may_be_given_as_bytes() -> None:
    x = Value("x", TensorType(DType.STRING, (symbol("n"),)))
    graph = Graph([x])
    graph.outputs.append(graph.append(Node("Identity", [x], ["y"])).output)
    session = Session(Model(graph, 20))
    assert session(np.array([b"a", "b"], object)).tolist() == ["a", "b"]
    assert session(["a", "ä"]).tolist() == ["a", "ä"]
    with pytest.raises(InputError, match="holds strings, got a int"):
        session(np.array([1], object))


def test_sizes_that_exporters_did_not_know_take_any_size() -> None:
    x = Value("x", TensorType(DType.FLOAT32, (-1, 3)))
    graph = Graph([x])
    graph.outputs.append(graph.append(Node("Relu", [x], ["y"])).output)
    assert Session(Model(graph, 20))(X).shape == (2, 3)


def test_an_unknown_output_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="no value 'hh'"):
        Session(affine()).run(["hh"], {"x": X, "b": X})


def test_a_model_that_breaks_the_standard_is_refused_with_the_node() -> None:
    model = affine()
    model.graph.nodes[0].op_type = "Mull"
    with pytest.raises(CheckError, match="has no operator Mull") as caught:
        Session(model)
    assert "did you mean 'Mul'" in str(caught.value)
    wrong = affine()
    wrong.graph.initializers["w"].constant = ingot.Tensor(np.ones(4, np.float32))
    with pytest.raises(ingot.ShapeError, match="do not broadcast") as shapes:
        Session(wrong)
    assert "in node 'scale' (Mul-14)" in str(shapes.value)
    assert "= x: float32[n, 3]" in str(shapes.value)


def test_one_session_serves_many_threads() -> None:
    session = Session(DIGITS)
    images = np.random.default_rng(0).random((8, 1, 8, 8), np.float32)
    expected = session(images)
    found: list[Array] = []
    threads = [threading.Thread(target=lambda: found.append(session(images))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == expected).all() for result in found)


def test_a_session_can_be_pickled() -> None:
    session = pickle.loads(pickle.dumps(Session(affine(), limits=RunLimits(memory=10))))
    assert session.limits == RunLimits(memory=10)
    with pytest.raises(LimitError, match="the limit is 10"):
        session(X, X)
    session = pickle.loads(pickle.dumps(Session(affine())))
    assert session(X, X).tolist() == [[2, 3, 4]] * 2


def test_a_pickled_session_falls_back_no_more_than_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_compiler(*_: object) -> None:
        raise CompileError("LLVM is on strike")

    data = pickle.dumps(Session(affine(), providers=("cpu", "reference"), fallback=False))
    monkeypatch.setattr("ingot.compile.compile_model", no_compiler)
    monkeypatch.setattr("ingot.session_model.find", lambda *_: None)
    with pytest.raises(CompileError, match="on strike"):
        pickle.loads(data)


def test_a_pickled_session_takes_its_external_weights_along(tmp_path: Path) -> None:
    ingot.save(affine(), tmp_path / "m.onnx", external="one-file", threshold=0)
    session = Session(tmp_path / "m.onnx")
    data = pickle.dumps(session)
    assert session(X, X).tolist() == [[2, 3, 4]] * 2
    for path in tmp_path.iterdir():
        path.unlink()
    assert pickle.loads(data)(X, X).tolist() == [[2, 3, 4]] * 2


def test_a_session_that_nobody_has_is_gone_at_once() -> None:
    session = Session(affine(), providers=("cpu", "reference"), fallback=False)
    session(X, X)
    left = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert left() is None
    finally:
        gc.enable()


def test_threads_that_run_at_once_have_limits_of_their_own() -> None:
    session = Session(affine(), limits=RunLimits(memory=2 * X.nbytes))
    failures: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(50):
                session(X, X)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("deadline", [-1, float("nan")])
def test_a_deadline_is_a_number_of_seconds(deadline: float) -> None:
    with pytest.raises(InputError, match="a deadline is a number of seconds"):
        Session(affine()).run(None, {"x": X, "b": X}, deadline=deadline)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_session_survives_a_fork() -> None:
    session = Session(affine())
    queue = multiprocessing.get_context("fork").Queue()
    worker = multiprocessing.get_context("fork").Process(target=lambda: queue.put(session(X, X).tolist()))
    worker.start()
    assert queue.get(timeout=60) == [[2, 3, 4]] * 2
    worker.join()


def test_a_run_can_be_awaited_and_cancelled() -> None:
    session = Session(affine())
    assert asyncio.run(session.run_async(None, {"x": X, "b": X}))[0].tolist() == [[2, 3, 4]] * 2
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Interrupted, match="cancelled"):
        session.run(None, {"x": X, "b": X}, cancel=cancel)


def test_a_loop_without_end_is_ended_by_its_deadline() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g (float[1] x) => (float[1] y) {
            limit = Constant <value_int = 9000000000000000000> ()
            go = Constant <value = bool {1}> ()
            y = Loop (limit, go, x) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] t) {
                d = Identity (c)
                t = Add (s, s)
            }>
        }
    """)
    with pytest.raises(Interrupted, match=r"longer than 0\.2 s"):
        Session(model).run(None, {"x": np.ones(1, np.float32)}, deadline=0.2)


def test_functions_that_double_at_every_level_are_refused() -> None:
    level = """
        <domain: "d", opset_import: ["" : 20, "d" : 1]>
        F{0} (a) => (c) {{
            h = d.F{1} (a)
            c = d.F{1} (h)
        }}"""
    bottom = '<domain: "d", opset_import: ["" : 20]>\nF0 (a) => (c) { c = Relu (a) }'
    main = '<ir_version: 10, opset_import: ["" : 20, "d" : 1]>\ng (float[1] x) => (float[1] y) { y = d.F40 (x) }\n'
    text = main + bottom + "".join(level.format(n, n - 1) for n in range(1, 41))
    with pytest.raises(CheckError, match="more than 10,000 times"):
        Session(ingot.parse_model(text))


T: TypeAlias = Annotated[Array, types("T", FLOATS)]


@operator("Swap", since=1, domain="my.own")
def swap(x: T, y: T, /, *, scale: float = 1.0) -> T:
    """`y` in the shape of `x`, scaled."""
    return np.asarray(np.broadcast_to(y, x.shape) * scale, x.dtype)


@swap.infer
def infer_swap(x: Fact, y: Fact, /, *, scale: float) -> Inferred:
    del y, scale
    return x.type


def test_a_custom_operator_takes_ten_lines() -> None:
    session = Session(affine("Swap", "my.own"), operators=[swap])
    assert session(X, X).tolist() == [[2, 3, 4]] * 2
    assert str(session.outputs["y"]) == "float32[n, 3]"
    with pytest.raises(CheckError, match=r"nothing is known of domain 'my\.own'"):
        Session(affine("Swap", "my.own"))
    wrong = affine("Swap", "my.own")
    wrong.graph.nodes[0]["scal"] = 2.0
    with pytest.raises(CheckError, match="no attribute 'scal'"):
        Session(wrong, operators=[swap])


def test_a_custom_operator_works_inside_functions_and_subgraphs() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20, "my.own" : 1, "local" : 1]>
        g (float[2] x, float[2] y, bool c) => (float[2] z) {
            z = If (c) <
                then_branch = t () => (float[2] a) { a = local.twice <by = 3.0> (x, y) },
                else_branch = e () => (float[2] b) { b = my.own.Swap (x, y) }
            >
        }
        <domain: "local", opset_import: ["" : 20, "my.own" : 1]>
        twice <by> (p, q) => (r) {
            h = my.own.Swap <scale: float = @by> (p, q)
            r = Add (h, h)
        }
    """)
    session = Session(model, operators=[swap])
    x, y = np.zeros(2, np.float32), np.array([1, 2], np.float32)
    assert session(x, y, np.array(True)).tolist() == [6, 12]
    assert session(x, y, np.array(False)).tolist() == [1, 2]


def test_random_operators_follow_the_seed() -> None:
    model = ingot.parse_model("""
        <ir_version: 10, opset_import: ["" : 20]>
        g () => (float[4] y, float[4] z) {
            y = RandomNormal <shape = [4]> ()
            z = RandomNormal <shape = [4]> ()
        }
    """)
    y, z = Session(model, seed=1)()
    again, _ = Session(model, seed=1)()
    other, _ = Session(model, seed=2)()
    assert (y == again).all()
    assert not (y == z).any()
    assert not (y == other).any()


@pytest.mark.parametrize("providers", [("cpu", "reference"), ("reference",)])
def test_a_declared_size_that_a_default_contradicts_is_overruled(providers: tuple[str, ...]) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 2] x, int64[4] pads) => (float[1, 4] y) <int64[4] pads = {0, 0, 1, 1}> { y = Pad (x, pads) }"""
    session = Session(ingot.parse_model(text), providers=providers)
    x = np.array([[1, 2]], np.float32)
    assert session.run(None, {"x": x})[0].tolist() == [[1, 2, 0], [0, 0, 0]]
    assert session.run(None, {"x": x, "pads": np.array([0, 1, 0, 1])})[0].tolist() == [[0, 1, 2, 0]]


def test_none_is_refused_as_load_refuses_it() -> None:
    with pytest.raises(InputError, match="cannot load a model from a NoneType"):
        Session(None)
