"""What programs find below the Python API: the native session and the native binding."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu
from ingot.compat.onnxruntime.capi import _pybind_state as state

Z = np.maximum(X + np.array([1, 2, 3], np.float32), 0)


@pytest.fixture(scope="module")
def session() -> ort.InferenceSession:
    return ort.InferenceSession(add_relu())


def test_the_native_session_runs_with_its_arguments_in_their_order(session: ort.InferenceSession) -> None:
    native = session._sess
    np.testing.assert_array_equal(native.run(["z"], {"x": X}, None)[0], Z)
    values = {"x": ort.OrtValue.ortvalue_from_numpy(X)}
    results = native.run_with_ort_values(values, ["z"], ort.RunOptions())
    assert isinstance(results, state.OrtValueVector)
    np.testing.assert_array_equal(results[0].numpy(), Z)
    fetches = state.OrtValueVector()
    native.run_with_ortvaluevector(None, ["x"], [values["x"]], ["z"], fetches, [])
    np.testing.assert_array_equal(fetches[0].numpy(), Z)
    done = threading.Event()
    called: list[Any] = []

    def callback(*given: Any) -> None:
        called.append(given)
        done.set()

    native.run_async(["z"], {"x": X}, callback, 7, None)
    assert done.wait(10)
    assert called[0][1:] == (7, "")


def test_the_native_session_describes_the_model(session: ort.InferenceSession) -> None:
    native = session._sess
    assert [argument.name for argument in native.inputs_meta] == ["x"]
    assert [argument.name for argument in native.outputs_meta] == ["z"]
    assert [argument.name for argument in native.overridable_initializers] == ["w"]
    assert native.session_options is session.get_session_options()
    assert native.model_meta == session.get_modelmeta()
    assert native.get_providers() == ["CPUExecutionProvider"]
    assert native.get_provider_options() == {"CPUExecutionProvider": {}}
    assert (len(native.input_meminfos), len(native.output_meminfos), len(native.input_epdevices)) == (1, 1, 1)
    assert (native.get_profiling_start_time_ns, native.end_profiling(), native.get_tuning_results()) == (0, "", [])
    assert (native.is_webgpu_graph_capture_enabled(), native.webgpu_context_id()) == (False, -1)
    native.set_tuning_results([], True)
    native.set_ep_dynamic_options({})
    native.release_captured_graph(0)
    with pytest.raises(state.Fail, match="must be set to"):
        native.get_provider_graph_assignment_info()
    value = native.create_ortvalue_from_shape_and_onnx_type([2], 7, ort.OrtDevice.make("cpu", 0))
    assert (value.shape(), value.data_type()) == ([2], "tensor(int64)")


def test_a_native_session_is_made_in_two_steps() -> None:
    native = state.InferenceSession(ort.SessionOptions(), add_relu(), False, False)
    with pytest.raises(state.Fail, match="initialize_session"):
        native.run(["z"], {"x": X}, None)
    native.initialize_session(["CPUExecutionProvider"], [{}], set())
    np.testing.assert_array_equal(native.run(["z"], {"x": X}, None)[0], Z)


def test_the_native_binding_takes_devices(session: ort.InferenceSession) -> None:
    cpu = ort.OrtDevice.make("cpu", 0)._get_c_device()
    binding = ort.SessionIOBinding(session._sess)
    binding.bind_input("x", X)
    binding.bind_output("z", cpu)
    session._sess.run_with_iobinding(binding, None)
    assert isinstance(binding.get_outputs(), state.OrtValueVector)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], Z)
    result = np.zeros_like(Z)
    binding.clear_binding_inputs()
    binding.clear_binding_outputs()
    binding.bind_input("x", cpu, np.float32, X.shape, X.ctypes.data)
    binding.bind_output("z", cpu, np.float32, Z.shape, result.ctypes.data)
    binding.synchronize_inputs()
    session._sess.run_with_iobinding(binding)
    binding.synchronize_outputs()
    np.testing.assert_array_equal(result, Z)
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(-X))
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(result))
    session._sess.run_with_iobinding(binding)
    np.testing.assert_array_equal(result, np.maximum(np.array([1, 2, 3], np.float32) - X, 0))
    assert session.io_binding()._iobinding.get_outputs() == []
    with pytest.raises(RuntimeError, match="only the cpu"):
        binding.bind_output("z", ort.OrtDevice.make("cuda", 0))
    with pytest.raises(RuntimeError, match="Only binding non-string Tensors"):
        binding.bind_input("x", cpu, str, [1], 0)
