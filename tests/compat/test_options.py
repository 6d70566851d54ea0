"""SessionOptions and RunOptions: their fields, and those that change what a session does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu, external_add, model
from ingot.compat.onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, ModelLoadCanceled
from ingot.compat.onnxruntime.errors import Unsupported

SESSION_DEFAULTS = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "enable_profiling": False,
    "execution_mode": ort.ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": ort.ExecutionOrder.DEFAULT,
    "graph_optimization_level": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "inter_op_num_threads": 0,
    "intra_op_num_threads": 0,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "optimized_model_filepath": "",
    "profile_file_prefix": "onnxruntime_profile_",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}
RUN_DEFAULTS = {
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "only_execute_path_to_fetches": False,
    "terminate": False,
}


@pytest.mark.parametrize(("kind", "defaults"), [(ort.SessionOptions, SESSION_DEFAULTS), (ort.RunOptions, RUN_DEFAULTS)])
def test_every_field_has_its_default_and_can_be_set_to_its_type_only(
    kind: type[ort.SessionOptions | ort.RunOptions], defaults: dict[str, object]
) -> None:
    options, other = kind(), kind()
    for name, default in defaults.items():
        assert getattr(options, name) == default
        with pytest.raises(TypeError, match=name):
            setattr(options, name, [])
    options.log_severity_level = np.int64(3)  # type: ignore[assignment]
    assert (options.log_severity_level, other.log_severity_level) == (3, -1)
    with pytest.raises(AttributeError, match="nosuch"):
        options.nosuch = 1  # type: ignore[union-attr]


def test_config_entries_are_kept_and_an_unknown_one_is_a_runtime_error() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with pytest.raises(RuntimeError, match="nope"):
        options.get_session_config_entry("nope")
    with pytest.raises(TypeError, match="strings"):
        options.add_session_config_entry("a", 1)  # type: ignore[arg-type]
    run_options = ort.RunOptions()
    run_options.add_run_config_entry("gpu_graph_id", "1")
    assert run_options.get_run_config_entry("gpu_graph_id") == "1"
    with pytest.raises(RuntimeError, match="nope"):
        run_options.get_run_config_entry("nope")


def test_an_entry_of_ours_sets_the_precision_of_products() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("ingot.precision", "bf16")
    assert ort.InferenceSession(add_relu(), options).get_session_options() is options
    options.add_session_config_entry("ingot.precision", "bf15")
    with pytest.raises(Exception, match=r"ingot\.precision is one of bf16, fp16, int8-dynamic, not 'bf15'"):
        ort.InferenceSession(add_relu(), options)


def test_a_session_returns_the_options_it_was_given() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    assert ort.InferenceSession(add_relu(), options).get_session_options() is options
    assert ort.InferenceSession(add_relu()).get_session_options().intra_op_num_threads == 0
    with pytest.raises(TypeError, match="SessionOptions"):
        ort.InferenceSession(add_relu(), ["CPUExecutionProvider"])  # type: ignore[arg-type]


def test_a_free_dimension_is_fixed_by_its_name() -> None:
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("n", 5)
    session = ort.InferenceSession(add_relu(), options)
    assert (session.get_inputs()[0].shape, session.get_outputs()[0].shape) == ([5, 3], [5, 3])
    with pytest.raises(InvalidArgument, match=r"float32\[5, 3\]"):
        session.run(None, {"x": X})


def test_a_free_dimension_is_fixed_by_its_denotation() -> None:
    model = onnx.load_from_string(add_relu())
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 4)
    assert ort.InferenceSession(model.SerializeToString(), options).get_inputs()[0].shape == [4, 3]


@pytest.mark.parametrize("overridable", [True, False])
@pytest.mark.parametrize("in_a_file", [False, True])
def test_an_initializer_is_replaced(overridable: bool, in_a_file: bool, tmp_path: Path) -> None:
    data = add_relu(overridable=overridable)
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    options = ort.SessionOptions()
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.full(3, 100, np.float32)))
    options.add_initializer("unknown", ort.OrtValue.ortvalue_from_numpy(np.zeros(3, np.float32)))
    (result,) = ort.InferenceSession(path if in_a_file else data, options).run(None, {"x": X})
    np.testing.assert_array_equal(result, X + 100)


def test_an_initializer_of_another_type_or_kind_is_refused() -> None:
    options = ort.SessionOptions()
    with pytest.raises(RuntimeError, match="OrtValue"):
        options.add_initializer("w", np.zeros(3))  # type: ignore[arg-type]
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.zeros(4, np.float32)))
    with pytest.raises(RuntimeError, match="An OrtValue for this name has already been added: w"):
        options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(np.zeros(3, np.float32)))
    with pytest.raises(Fail, match=r"'w' is float32\[3\], got float32\[4\]"):
        ort.InferenceSession(add_relu(), options)


def test_external_data_is_given_by_name_or_by_file() -> None:
    options = ort.SessionOptions()
    options.add_external_initializers(["w"], [ort.OrtValue.ortvalue_from_numpy(np.full(3, 100, np.float32))])
    np.testing.assert_array_equal(ort.InferenceSession(external_add(), options).run(None, {"x": X})[0], X + 100)
    with pytest.raises(Fail, match="'w' is not external"):
        ort.InferenceSession(add_relu(), options)
    options = ort.SessionOptions()
    content = np.array([0, 100, 100, 100], np.float32).tobytes()
    options.add_external_initializers_from_files_in_memory(["w.bin"], [content], [len(content)])
    np.testing.assert_array_equal(ort.InferenceSession(external_add(), options).run(None, {"x": X})[0], X + 100)
    options.add_external_initializers_from_files_in_memory(["w.bin"], [content], [8])
    with pytest.raises(Fail, match=r"takes 12 bytes at 4 of 'w\.bin', which has 8"):
        ort.InferenceSession(external_add(), options)
    with pytest.raises(Fail, match=r"w\.bin"):
        ort.InferenceSession(external_add())


def test_external_data_of_bytes_is_looked_for_in_the_folder_an_entry_names(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.array([0, 100, 100, 100], np.float32).tobytes())
    options = ort.SessionOptions()
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    np.testing.assert_array_equal(ort.InferenceSession(external_add(), options).run(None, {"x": X})[0], X + 100)


@pytest.mark.parametrize(("place", "is_read"), [("blobs", True), ("blobs/below", True), ("elsewhere", False)])
def test_external_data_behind_a_link_is_read_where_the_model_is_a_link_beside_it(
    place: str, is_read: bool, tmp_path: Path
) -> None:
    for folder in ("blobs", "snapshot", place):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "blobs" / "1").write_bytes(external_add())
    (tmp_path / place / "2").write_bytes(np.array([0, 100, 100, 100], np.float32).tobytes())
    (tmp_path / "snapshot" / "m.onnx").symlink_to(tmp_path / "blobs" / "1")
    (tmp_path / "snapshot" / "w.bin").symlink_to(tmp_path / place / "2")
    path = tmp_path / "snapshot" / "m.onnx"
    if is_read:
        np.testing.assert_array_equal(ort.InferenceSession(path).run(None, {"x": X})[0], X + 100)
    else:
        with pytest.raises(Fail, match="External data path validation failed"):
            ort.InferenceSession(path)
    (tmp_path / "snapshot" / "copy.onnx").write_bytes(external_add())
    with pytest.raises(Fail, match="External data path validation failed"):
        ort.InferenceSession(tmp_path / "snapshot" / "copy.onnx")


def test_the_optimized_model_is_a_model(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "o.onnx")
    before = ort.InferenceSession(add_relu(), options).run(None, {"x": X})
    np.testing.assert_array_equal(ort.InferenceSession(tmp_path / "o.onnx").run(None, {"x": X}), before)


@pytest.mark.parametrize(
    ("key", "value"),
    [("session.load_model_format", "ORT"), ("session.disable_cpu_ep_fallback", "1")],
)
def test_entries_we_cannot_follow_are_refused(key: str, value: str) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry(key, value)
    with pytest.raises((Unsupported, Fail)):
        ort.InferenceSession(add_relu(), options)


@pytest.mark.parametrize("name", ["m.ort", "m.onnx"])
def test_onnxruntimes_own_format_is_not_written(name: str, tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / name)
    if name == "m.onnx":
        options.add_session_config_entry("session.save_model_format", "ORT")
    with pytest.raises(Unsupported, match=r"\.ort"):
        ort.InferenceSession(add_relu(), options)


def test_options_that_are_not_there_say_so() -> None:
    options = ort.SessionOptions()
    calls: list[Callable[[], object]] = [
        lambda: options.set_ep_context_data_read_func(print),
    ]
    for call in calls:
        with pytest.raises(Unsupported, match="not supported"):
            call()
    options.clear_ep_context_data_read_func()
    with pytest.raises(InvalidArgument, match="Failed to add provider of type 'CUDAExecutionProvider'"):
        options.add_provider("CUDAExecutionProvider", {})
    with pytest.raises(RuntimeError, match="Unknown Provider Type: Abacus"):
        options.add_provider("Abacus", {})
    assert not options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    assert options.has_providers()


def test_loading_can_be_cancelled() -> None:
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(ModelLoadCanceled, match="cancelled"):
        ort.InferenceSession(add_relu(), options)
    options.set_load_cancellation_flag(False)
    ort.InferenceSession(add_relu(), options)


def test_terminate_ends_a_run_and_what_is_not_run_options_is_refused() -> None:
    session = ort.InferenceSession(add_relu())
    options = ort.RunOptions()
    session.run(None, {"x": X}, options)
    options.terminate = True
    with pytest.raises(Fail, match="Exiting due to terminate flag being set to true"):
        session.run(None, {"x": X}, options)
    with pytest.raises(TypeError, match="RunOptions"):
        session.run(None, {"x": X}, {})  # type: ignore[arg-type]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Sessions are compiled, and those of a file are kept."""
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("compiled")
def test_terminate_ends_the_runs_in_progress_and_can_be_taken_back() -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", "n"]) for name in "xy")
    nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("MatMul", ["s", "x"], ["y"])]
    session = ort.InferenceSession(model(nodes, [x], [y]))
    options = ort.RunOptions()
    ended: list[Exception] = []

    def work() -> None:
        try:
            session.run(None, {"x": np.ones((5000, 5000), np.float32)}, options)
        except Fail as error:
            ended.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    while not options._cancel._states:
        time.sleep(0.01)
    begin = time.perf_counter()
    options.terminate = True
    options.terminate = False
    worker.join()
    assert time.perf_counter() - begin < 1
    assert "cancelled" in str(ended[0])
    assert session.run(["y"], {"x": np.ones((2, 2), np.float32)}, options)[0].shape == (2, 2)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("names", [None, ["z"]])
@pytest.mark.parametrize("options", [None, ort.RunOptions()])
def test_a_run_starts_no_thread_and_takes_the_fast_path(
    names: list[str] | None, options: ort.RunOptions | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ort.InferenceSession(add_relu(overridable=False))
    session.run(names, {"x": X}, options)
    compiled = session._engine._plans.first
    assert compiled is not None
    monkeypatch.setattr(compiled, "run", None)
    monkeypatch.setattr(threading.Thread, "start", None)
    np.testing.assert_array_equal(
        session.run(names, {"x": X}, options)[0], np.maximum(X + np.array([1, 2, 3], np.float32), 0)
    )


@pytest.mark.usefixtures("compiled")
def test_names_of_outputs_do_not_have_the_session_load_its_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(add_relu(overridable=False))
    ort.InferenceSession(path)
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()
    session = ort.InferenceSession(path)
    session.run(["z"], {"x": X})
    assert not session._engine._model.is_prepared
