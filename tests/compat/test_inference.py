"""InferenceSession: what it says about a model, and what its runs take and return."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ingot
import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu, external_add, model, one_node, tensor
from ingot.codegen.elf import linkable
from ingot.codegen.llvm.host import host
from ingot.compat.onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

Z = np.array([[2, 0, 6], [5, 7, 0]], np.float32)


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    return ort.InferenceSession(add_relu())


def test_a_session_is_made_from_bytes_a_path_and_a_pathlike(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(add_relu())
    for source in (add_relu(), str(path), path):
        np.testing.assert_array_equal(ort.InferenceSession(source).run(None, {"x": X})[0], Z)


def test_a_session_is_not_made_from_anything_else() -> None:
    for source in (3, bytearray(add_relu()), None):
        with pytest.raises(TypeError, match="Unable to load from type"):
            ort.InferenceSession(source)  # type: ignore[arg-type]


def test_inputs_outputs_and_overridable_initializers_are_described(session: ort.InferenceSession) -> None:
    (x,), (z,), (w,) = session.get_inputs(), session.get_outputs(), session.get_overridable_initializers()
    assert (x.name, x.shape, x.type) == ("x", ["n", 3], "tensor(float)")
    assert (z.name, z.shape) == ("z", ["n", 3])  # the second size is inferred
    assert (w.name, w.shape) == ("w", [3])
    assert str(x) == "NodeArg(name='x', type='tensor(float)', shape=['n', 3])"


def test_initializers_that_are_no_inputs_are_not_overridable() -> None:
    assert ort.InferenceSession(add_relu(overridable=False)).get_overridable_initializers() == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((TensorProto.FLOAT, "float"), (TensorProto.DOUBLE, "double"), (TensorProto.FLOAT16, "float16")),
        *((TensorProto.INT64, "int64"), (TensorProto.BOOL, "bool"), (TensorProto.STRING, "string")),
        *((TensorProto.BFLOAT16, "bfloat16"), (TensorProto.UINT8, "uint8")),
    ],
)
def test_types_have_the_names_onnxruntime_gives_them(kind: int, name: str) -> None:
    session = ort.InferenceSession(one_node("Identity", [tensor("x", [None], kind)], tensor("y", [None], kind)))
    assert session.get_inputs()[0].type == f"tensor({name})"
    assert session.get_inputs()[0].shape == [None]


def test_sequences_maps_and_optionals_have_names_too() -> None:
    floats = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    sequence = helper.make_value_info("s", helper.make_sequence_type_proto(floats))
    (s,) = ort.InferenceSession(one_node("SequenceLength", [sequence], tensor("n", [], TensorProto.INT64))).get_inputs()
    assert (s.type, s.shape) == ("seq(tensor(float))", [])
    map_type = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    maps = helper.make_value_info("m", helper.make_sequence_type_proto(map_type))
    zipped = one_node("ZipMap", [tensor("x", [None, 2])], maps, "ai.onnx.ml", classlabels_strings=["a", "b"])
    session = ort.InferenceSession(zipped)
    assert session.get_outputs()[0].type == "seq(map(string,tensor(float)))"
    (result,) = session.run(None, {"x": np.array([[0.25, 0.75]], np.float32)})
    assert result == [{"a": 0.25, "b": 0.75}]


def test_a_size_marked_unknown_by_a_question_mark_or_a_negative_number_takes_anything() -> None:
    session = ort.InferenceSession(one_node("Relu", [tensor("x", [-1, "?", "?"])], tensor("y", [-1, "?", "?"])))
    assert session.get_inputs()[0].shape == [None, "?", "?"]
    assert session.run(None, {"x": np.ones((1, 2, 3), np.float32)})[0].shape == (1, 2, 3)


def test_sizes_of_one_name_may_differ_as_onnxruntime_lets_them() -> None:
    inputs = [tensor("a", ["n"]), tensor("b", ["n"])]
    session = ort.InferenceSession(one_node("Concat", inputs, tensor("c", [None]), axis=0))
    assert session.run(None, {"a": np.zeros(2, np.float32), "b": np.ones(3, np.float32)})[0].tolist() == [0, 0, 1, 1, 1]


def test_a_metadata_object_holds_what_the_model_says_about_itself() -> None:
    said: dict[str, Any] = {"producer_name": "p", "domain": "d", "model_version": 7, "doc_string": "of the model"}
    meta = ort.InferenceSession(add_relu(**said)).get_modelmeta()
    assert (meta.producer_name, meta.domain, meta.version, meta.description) == ("p", "d", 7, "of the model")
    assert (meta.graph_name, meta.graph_description, meta.custom_metadata_map) == ("g", "of the graph", {})


@pytest.mark.parametrize(("chosen", "version"), [({}, 2**63 - 1), ({"model_version": 0}, 0), ({"model_version": 3}, 3)])
def test_a_model_without_a_version_has_the_largest(chosen: dict[str, Any], version: int) -> None:
    assert ort.InferenceSession(add_relu(**chosen)).get_modelmeta().version == version


def test_a_size_that_inference_knows_is_shown_in_the_place_of_a_name() -> None:
    data = one_node("Shape", [tensor("x", ["n", 3])], tensor("y", ["some name"], TensorProto.INT64))
    assert ort.InferenceSession(data).get_outputs()[0].shape == [2]
    data = one_node("Relu", [tensor("x", ["n", 3])], tensor("y", ["m", None]))
    assert ort.InferenceSession(data).get_outputs()[0].shape == ["m", 3]


def test_arrays_reach_the_session_as_they_are_and_ortvalues_as_arrays(
    session: ort.InferenceSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    run = session._engine.run

    def noted(names: Any, feeds: Any, **options: Any) -> Any:
        calls.append((names, feeds, options))
        return run(names, feeds, **options)

    monkeypatch.setattr(session._engine, "run", noted)
    feeds, options = {"x": X}, ort.RunOptions()
    session.run(None, feeds)
    session.run(["z"], feeds)
    session.run(["y"], feeds, options)
    session.run_with_ort_values(["z"], {"x": ort.OrtValue.ortvalue_from_numpy(X)})
    assert [names for names, _, _ in calls] == [None, None, ["y"], None]
    assert all(given is feeds for _, given, _ in calls[:3])
    assert calls[3][1]["x"] is X
    assert [list(named) for _, _, named in calls] == [[], [], ["cancel"], []]


def test_threads_are_those_of_the_session_or_of_the_process() -> None:
    options = ort.SessionOptions()
    options.use_per_session_threads = False
    ort.set_global_thread_pool_sizes(1, 1)
    try:
        np.testing.assert_array_equal(ort.InferenceSession(add_relu(), options).run(None, {"x": X})[0], Z)
    finally:
        ort.set_global_thread_pool_sizes(0, 0)


def test_tensors_in_a_sequence_may_have_other_shapes_than_it_declares() -> None:
    element = helper.make_tensor_type_proto(TensorProto.INT64, [2, 3])
    value = helper.make_value_info("x", helper.make_sequence_type_proto(element))
    session = ort.InferenceSession(one_node("SequenceLength", [value], tensor("y", [], TensorProto.INT64)))
    assert session.run(None, {"x": [np.zeros((4, 1), np.int64)]})[0] == 1


@pytest.mark.parametrize("names", [None, [], ["z"]])
def test_no_names_mean_all_outputs(session: ort.InferenceSession, names: list[str] | None) -> None:
    results = session.run(names, {"x": X})
    assert isinstance(results, list)
    np.testing.assert_array_equal(results[0], Z)


def test_a_name_given_twice_is_returned_twice(session: ort.InferenceSession) -> None:
    one, two = session.run(["z", "z"], {"x": X})
    one[0, 0] = 99
    np.testing.assert_array_equal(two, Z)


def test_values_inside_the_model_can_be_asked_for(session: ort.InferenceSession) -> None:
    np.testing.assert_array_equal(session.run(["y"], {"x": X})[0], X + np.array([1, 2, 3], np.float32))


@pytest.mark.parametrize(
    "feed", [X.tolist(), X.astype(int).tolist(), ort.OrtValue.ortvalue_from_numpy(X), X.astype(">f4")]
)
def test_lists_and_ortvalues_are_feeds(session: ort.InferenceSession, feed: Any) -> None:
    np.testing.assert_array_equal(session.run(None, {"x": feed})[0], Z)


def test_an_overridable_initializer_can_be_fed(session: ort.InferenceSession) -> None:
    (result,) = session.run(None, {"x": X, "w": np.zeros(3, np.float32)})
    np.testing.assert_array_equal(result, np.maximum(X, 0))


def test_missing_feeds_are_a_value_error_in_the_words_of_onnxruntime(session: ort.InferenceSession) -> None:
    with pytest.raises(ValueError) as caught:
        session.run(None, {"q": X})
    assert str(caught.value) == "Required inputs (['x']) are missing from input feed (['q'])."


@pytest.mark.parametrize(
    ("feeds", "said"),
    [
        ({"x": X, "q": X}, "no input 'q'"),
        ({"x": X.astype(np.float64)}, "float64"),
        ({"x": X[0]}, r"float32\[n, 3\], got float32\[3\]"),
        ({"x": X[:, :2]}, r"got float32\[2, 2\]"),
        ({"x": None}, "got None"),
        ({"x": [["a", "b", "c"]]}, "makes no such array"),
    ],
)
def test_feeds_that_do_not_fit_are_invalid_arguments(
    session: ort.InferenceSession, feeds: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        session.run(None, feeds)


def test_an_unknown_output_is_an_invalid_argument(session: ort.InferenceSession) -> None:
    with pytest.raises(InvalidArgument, match="Invalid output name:q"):
        session.run(["q"], {"x": X})


def test_strings_are_fed_as_any_array_and_come_back_as_objects() -> None:
    session = ort.InferenceSession(
        one_node("Identity", [tensor("x", None, TensorProto.STRING)], tensor("y", None, TensorProto.STRING))
    )
    for feed in (np.array(["a", "ü"]), ["a", "ü"], np.array([b"a", "ü".encode()]), np.array(["a", "ü"], object)):
        (result,) = session.run(None, {"x": feed})
        assert result.dtype == object
        assert result.tolist() == ["a", "ü"]
    (result,) = session.run(None, {"x": np.array([b"a\0b\0", b"\0c\0d"], np.void)})
    assert result.tolist() == ["a\0b\0", "\0c\0d"]


def test_numbers_are_not_fed_as_strings_unless_they_are_objects() -> None:
    session = ort.InferenceSession(
        one_node("Identity", [tensor("x", None, TensorProto.STRING)], tensor("y", None, TensorProto.STRING))
    )
    for array, name in ((np.array([1, 2]), "int64"), (np.array([1.5]), "double"), (np.array([True]), "bool")):
        for feed in (array, ort.OrtValue.ortvalue_from_numpy(array)):
            with pytest.raises(InvalidArgument, match=rf"Actual: \(tensor\({name}\)\) , expected: \(tensor\(string\)"):
                session.run(None, {"x": feed})
    for objects in (np.array(["a", 1], object), ["a", 1]):
        assert session.run(None, {"x": objects})[0].tolist() == ["a", "1"]


def test_an_output_that_is_not_in_a_list_of_names_is_a_type_error(session: ort.InferenceSession) -> None:
    wrong: list[Any] = ["z", b"z", {"z": 1}, [1]]
    for names in wrong:
        with pytest.raises(TypeError, match="output_names are a list of names"):
            session.run(names, {"x": X})
        with pytest.raises(TypeError, match="output_names are a list of names"):
            session.run_async(names, {"x": X}, lambda *_: None, None)
    right: list[Any] = [("z",), {"z"}, np.array(["z"]), (name for name in "z"), "", None]
    for names in right:
        np.testing.assert_array_equal(session.run(names, {"x": X})[0], Z)


def test_an_optional_input_may_be_missing_none_or_given() -> None:
    inner = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    optional = helper.make_value_info("x", helper.make_optional_type_proto(inner))
    session = ort.InferenceSession(one_node("OptionalHasElement", [optional], tensor("y", [], TensorProto.BOOL)))
    assert session.get_inputs()[0].type == "optional(tensor(float))"
    assert not session.run(None, {})[0]
    assert not session.run(None, {"x": None})[0]
    assert session.run(None, {"x": np.zeros(2, np.float32)})[0]


def test_sequences_are_lists_in_and_out() -> None:
    floats = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    sequence_type = helper.make_sequence_type_proto(floats)
    session = ort.InferenceSession(
        one_node("Identity", [helper.make_value_info("s", sequence_type)], helper.make_value_info("t", sequence_type))
    )
    given = [np.zeros(2, np.float32), np.ones((1, 3), np.float32)]
    (result,) = session.run(None, {"s": given})
    assert [item.tolist() for item in result] == [[0, 0], [[1, 1, 1]]]
    result[0][0] = 9
    assert given[0][0] == 0


def test_outputs_belong_to_the_caller() -> None:
    session = ort.InferenceSession(one_node("Identity", [tensor("x", [None])], tensor("y", [None])))
    x = np.zeros(2, np.float32)
    (y,) = session.run(None, {"x": x})
    y[0] = 1
    assert x[0] == 0
    nodes = [helper.make_node("Constant", [], ["y"], value=helper.make_tensor("", TensorProto.FLOAT, [1], [3.0]))]
    constant = ort.InferenceSession(model(nodes, [], [tensor("y", [1])]))
    constant.run(None, {})[0][0] = 9
    assert constant.run(None, {})[0][0] == 3


def test_random_numbers_differ_from_run_to_run_and_follow_from_a_seed() -> None:
    data = one_node("RandomNormal", [], tensor("y", [4]), shape=[4])
    session = ort.InferenceSession(data)
    assert session.run(None, {})[0].tolist() != session.run(None, {})[0].tolist()
    ort.set_seed(5)
    first = session.run(None, {})[0].tolist()
    second = session.run(None, {})[0].tolist()
    ort.set_seed(5)
    assert ort.InferenceSession(data).run(None, {})[0].tolist() == first != second


def test_run_async_calls_back_from_another_thread_with_results_or_a_message(session: ort.InferenceSession) -> None:
    done = threading.Event()
    calls: list[tuple[list[Any], Any, str]] = []

    def callback(results: list[Any], user_data: Any, error: str) -> None:
        calls.append((results, user_data, error))
        done.set()

    session.run_async(["z"], {"x": X}, callback, "mine")
    assert done.wait(10)
    results, user_data, error = calls.pop()
    np.testing.assert_array_equal(results[0], Z)
    assert (user_data, error) == ("mine", "")
    done.clear()
    session.run_async(None, {"x": X.astype(np.float64)}, callback, None)
    assert done.wait(10)
    assert calls[0][0] == []
    said = (
        "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))\ninput 'x' is float32[n, 3]"
    )
    assert calls[0][2].startswith(said)
    with pytest.raises(ValueError, match="Required inputs"):
        session.run_async(None, {}, callback, None)


def test_run_with_ort_values_takes_and_returns_them(session: ort.InferenceSession) -> None:
    (result,) = session.run_with_ort_values(["z"], {"x": ort.OrtValue.ortvalue_from_numpy(X)})
    assert isinstance(result, ort.OrtValue)
    np.testing.assert_array_equal(result.numpy(), Z)
    with pytest.raises(TypeError, match="must be an OrtValue"):
        session.run_with_ort_values(None, {"x": X})  # type: ignore[dict-item]
    fetches: list[ort.OrtValue] = []
    session.run_with_ortvaluevector(None, ["x"], [ort.OrtValue.ortvalue_from_numpy(X)], ["z"], fetches, [])
    np.testing.assert_array_equal(fetches[0].numpy(), Z)


def test_fetches_that_hold_tensors_are_written_into(session: ort.InferenceSession) -> None:
    def run(fetches: list[ort.OrtValue]) -> None:
        session.run_with_ortvaluevector(None, ["x"], [ort.OrtValue.ortvalue_from_numpy(X)], ["z"], fetches, [])

    target = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(Z))
    run(fetches := [target])
    assert fetches[0] is target
    np.testing.assert_array_equal(target.numpy(), Z)
    with pytest.raises(InvalidArgument, match="fetch names has 1 elements, but fetch has 2 elements"):
        run([target, target])
    for other in (np.zeros((3, 3), np.float32), np.zeros(Z.shape, np.int64)):
        with pytest.raises(InvalidArgument, match="output 'z' is float32"):
            run([ort.OrtValue.ortvalue_from_numpy(other)])


def test_a_session_is_pickled_and_shared_by_threads(session: ort.InferenceSession) -> None:
    copy = pickle.loads(pickle.dumps(session))
    np.testing.assert_array_equal(copy.run(None, {"x": X})[0], Z)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(copy.run(None, {"x": X})[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((result == Z).all() for result in results)
    assert len(results) == 4


def test_what_concerns_other_hardware_is_empty_or_refused_by_name(session: ort.InferenceSession) -> None:
    assert session.get_tuning_results() == []
    session.set_tuning_results([])
    session.set_ep_dynamic_options({"a": "b"})
    session.release_captured_graph()
    assert [memory.name for memory in session.get_input_memory_infos()] == ["Cpu"]
    assert [memory.name for memory in session.get_output_memory_infos()] == ["Cpu"]
    assert session.create_ortvalue_from_shape_and_type([2], np.float32, "cpu").shape() == [2]
    assert [device.ep_name for device in session.get_input_epdevices()] == ["CPUExecutionProvider"]
    with pytest.raises(Exception, match="NOT_IMPLEMENTED : set_tuning_results"):
        session.set_tuning_results([{}])


def test_programs_find_the_path_of_the_model_where_onnxruntime_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(add_relu())
    assert ort.InferenceSession(path)._model_path == str(path)
    assert ort.InferenceSession(path.read_bytes())._model_path is None


def unknown_size() -> bytes:
    """`z = Relu(x)` for x of a shape that an exporter wrote as unknown by `?`."""
    return model([helper.make_node("Relu", ["x"], ["z"])], [tensor("x", ["?", "?"])], [tensor("z", ["?", "?"])])


@pytest.mark.skipif(not linkable(host().triple), reason="code is not kept in files on this system")
@pytest.mark.parametrize("data", [add_relu(), unknown_size()], ids=["as it is", "with unknown sizes"])
def test_a_model_in_bytes_opens_from_the_cache(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")
    first = ort.InferenceSession(data)
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    again = ort.InferenceSession(data)
    assert again.run(["z"], {"x": X})[0].tolist() == first.run(None, {"x": X})[0].tolist()
    assert first._engine._model.is_prepared
    assert not again._engine._model.is_prepared


def test_a_model_in_bytes_finds_its_weights_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")
    monkeypatch.chdir(tmp_path)
    for content in ([0, 1, 2, 3], [0, 4, 5, 6]):
        (tmp_path / "w.bin").write_bytes(np.array(content, np.float32).tobytes())
        session = ort.InferenceSession(external_add())
        assert session.run(None, {"x": np.zeros((1, 3), np.float32)})[0].tolist() == [content[1:]]


def test_outputs_declared_in_another_rank_or_size_are_shown_as_they_are() -> None:
    relu = '<ir_version: 9, opset_import: ["" : 17]> main (float[n, 3] x) => (float[{}] y) {{ y = Relu (x) }}'
    for declared in ("n, 4", "n, 3, 1", "n, c"):
        session = ort.InferenceSession(ingot.encode(ingot.parse_model(relu.format(declared))))
        assert session.get_outputs()[0].shape == ["n", 3]


def test_sizes_of_one_name_may_differ_in_a_run() -> None:
    text = """<ir_version: 9, opset_import: ["" : 17]>
    main (float[n] a, float[n] b) => (float[n] y) { y = Concat <axis = 0> (a, b) }"""
    session = ort.InferenceSession(ingot.encode(ingot.parse_model(text)))
    for many in (2, 3, 2):
        (joined,) = session.run(None, {"a": np.zeros(2, np.float32), "b": np.ones(many, np.float32)})
        assert joined.tolist() == [0, 0] + [1] * many
