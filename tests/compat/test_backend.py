"""The backend API, the environment of the process, and what is not there."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu, one_node, tensor
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
        lambda: backend.prepare(one_node("Add", [tensor("a", [1]), tensor("b", [1])], tensor("c", [1]))).run(X),
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(NotImplementedError):
        OnnxRuntimeBackend.run_node(None, [])


def test_the_version_is_that_of_the_api() -> None:
    assert ort.__version__ == ort.get_version_string() == "1.31.1"
    assert ort.get_build_info().startswith("ingot ")


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
    with pytest.raises(state.InvalidArgument, match="0 to 4"):
        ort.set_default_logger_severity(9)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(AttributeError, match="quantize"):
        _ = ort.quantize
    with pytest.raises(state.NotImplemented, match="ModelCompiler"):
        ort.ModelCompiler(ort.SessionOptions(), "m.onnx")
    with pytest.raises(state.NotImplemented, match=r"LoraAdapter\.Load is not supported: a\.onnx_adapter"):
        ort.LoraAdapter().Load("a.onnx_adapter")
    for call in (ort.AdapterFormat, lambda: ort.AdapterFormat.read_adapter("a")):
        with pytest.raises(state.NotImplemented, match="AdapterFormat"):
            call()
    with pytest.raises(AttributeError, match="get_all_opkernel_def"):
        _ = state.get_all_opkernel_def
    with pytest.raises(state.NotImplemented, match=r"my \(my\.so\)"):
        ort.register_execution_provider_library("my", "my.so")
    with pytest.raises(state.NotImplemented, match="my"):
        ort.unregister_execution_provider_library("my")
    with pytest.raises(FileNotFoundError, match=r"mul_1\.onnx"):
        datasets.get_example("mul_1.onnx")


def test_classes_are_the_same_under_every_name() -> None:
    assert state.InferenceSession is Session is ort.InferenceSession
    assert state.OrtValue is ort.OrtValue
    assert isinstance(state.get_default_session_options(), ort.SessionOptions)
