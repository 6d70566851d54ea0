"""The backend API, the environment of the process, and what is not there."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import onnx
import pytest

import ingot.compat.onnxruntime as ort
from compat.examples import MODELS
from compat.samples import X, add_relu, one_node, tensor
from ingot import Model, parse_model, save
from ingot.compat.onnxruntime import backend, datasets
from ingot.compat.onnxruntime.backend.backend import OnnxRuntimeBackend
from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as state
from ingot.compat.onnxruntime.capi.onnxruntime_inference_collection import Session

Z = np.array([[2, 0, 6], [5, 7, 0]], np.float32)


def test_a_model_is_prepared_from_anything_and_run() -> None:
    proto = onnx.load_from_string(add_relu())
    session = ort.InferenceSession(add_relu())
    for given in (add_relu(), proto, session, backend.prepare(session)):
        np.testing.assert_array_equal(backend.prepare(given).run([X])[0], Z)
        np.testing.assert_array_equal(backend.run(given, X)[0], Z)
    prepared = backend.prepare(add_relu(), "CPU", intra_op_num_threads=2, unknown=1)
    np.testing.assert_array_equal(prepared.run(X, logid="l", unknown=1)[0], Z)


def test_what_the_backend_refuses() -> None:
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    assert backend.is_compatible(add_relu())
    for call in (
        lambda: backend.prepare(add_relu(), "CUDA"),
        lambda: backend.prepare(add_relu(), enable_profiling=True),
        lambda: backend.prepare(add_relu()).run(X, terminate=True),
        lambda: backend.run(add_relu(), X, terminate=True),
        lambda: backend.prepare(one_node("Add", [tensor("a", [1]), tensor("b", [1])], tensor("c", [1]))).run(X),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(NotImplementedError):
        OnnxRuntimeBackend.run_node(None, [])


def test_the_version_is_that_of_the_api() -> None:
    assert ort.__version__ == ort.get_version_string() == "1.31.1"
    assert ort.get_build_info().startswith("ORT Build Info: ingot ")


def test_settings_without_effect_on_results_are_accepted() -> None:
    ort.set_default_logger_severity(3)
    ort.set_default_logger_verbosity(1)
    ort.set_global_thread_pool_sizes(1, 1)
    ort.enable_telemetry_events()
    ort.disable_telemetry_events()
    ort.preload_dlls()
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(memory, ort.OrtArenaCfg())
    assert not ort.has_collective_ops()
    with pytest.raises(RuntimeError, match="Invalid logging severity"):
        ort.set_default_logger_severity(9)
    with pytest.raises(TypeError, match="OrtMemoryInfo"):
        ort.create_and_register_allocator(None)
    for call in (ort.set_seed, ort.set_default_logger_severity, ort.set_default_logger_verbosity):
        with pytest.raises(TypeError, match="integer"):
            call("much")  # type: ignore[arg-type]


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="quantize"):
        _ = ort.quantize
    with pytest.raises(AttributeError, match="get_all_opkernel_def"):
        _ = state.get_all_opkernel_def
    with pytest.raises(state.NotImplemented, match=r"my \(.*test_backend\.py\)"):
        ort.register_execution_provider_library("my", __file__)
    with pytest.raises(state.Fail, match=r"Failed to load library my\.so"):
        ort.register_execution_provider_library("my", "my.so")
    with pytest.raises(state.Fail, match="my was not registered"):
        ort.unregister_execution_provider_library("my")


def test_example_models_have_the_interface_of_onnxruntimes() -> None:
    for name, text in MODELS.items():
        assert Path(datasets.get_example(name)).read_bytes() == _bytes(parse_model(text))
    session = ort.InferenceSession(datasets.get_example("logreg_iris.onnx"))
    labels, probabilities = session.run(
        None, {"float_input": np.array([[5.1, 3.5], [6.0, 2.2], [7.0, 3.0]], np.float32)}
    )
    assert labels.tolist() == [0, 1, 2]
    assert [max(row, key=row.__getitem__) for row in probabilities] == [0, 1, 2]
    for name in ("none.onnx", "../options.py", "__init__.pyc"):
        with pytest.raises(FileNotFoundError, match="Unable to find example"):
            datasets.get_example(name)


def _bytes(model: Model) -> bytes:
    stream = BytesIO()
    save(model, stream)
    return stream.getvalue()


def test_classes_are_the_same_under_every_name() -> None:
    assert Session is ort.InferenceSession
    assert state.OrtValue is ort.OrtValue
    assert isinstance(state.get_default_session_options(), ort.SessionOptions)
