"""CUDAExecutionProvider, values and bindings on `cuda`, on an emulated GPU."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import add_relu
from ingot.compat.onnxruntime import cuda
from ingot.providers.cuda import Cuda
from ingot.runtime.device_array import DeviceArray
from providers.emulated import HAS_COMPILER, Emulated

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
X, Y = np.array([[1, -2, -3]], np.float32), np.array([[3, 1, 4]], np.float32)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Emulated:
    """One emulated GPU."""
    provider = Emulated()
    for module in (cuda, *(getattr(ort, name) for name in ("environment", "providers", "values"))):
        if hasattr(module, "is_available"):
            monkeypatch.setattr(module, "is_available", lambda: True)
        if hasattr(module, "opened"):
            monkeypatch.setattr(module, "opened", lambda *_: provider)
    return provider


def feeds() -> dict[str, Any]:
    return {"x": X}


@pytest.mark.usefixtures("gpu")
def test_a_gpu_is_available_where_there_is_one() -> None:
    assert ort.get_available_providers() == [CUDA, CPU]
    assert ort.get_device() == "GPU"
    assert ort.InferenceSession(add_relu()).get_providers() == [CPU], "it is used only where it is asked for"


def test_a_session_runs_on_the_gpu(gpu: Emulated) -> None:
    session = ort.InferenceSession(add_relu(), providers=[(CUDA, {"device_id": 0}), CPU])
    assert session.get_providers() == [CUDA, CPU]
    assert session.get_provider_options()[CUDA] == {"device_id": "0"}
    expected = ort.InferenceSession(add_relu()).run(None, feeds())
    for _ in range(3):
        np.testing.assert_array_equal(session.run(None, feeds())[0], expected[0])
    assert "cuGraphLaunch" in gpu.library.calls
    session.set_providers([CPU])
    gpu.library.calls.clear()
    np.testing.assert_array_equal(session.run(None, feeds())[0], expected[0])
    assert not gpu.library.calls


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"abacus": 1}, 'Unknown provider option: "abacus"'),
        ({"device_id": "first"}, 'Failed to parse provider option "device_id"'),
        ({"use_tf32": "perhaps"}, 'Failed to parse provider option "use_tf32"'),
    ],
)
def test_options_that_there_are_not_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        ort.InferenceSession(add_relu(), providers=[(CUDA, options), CPU])


def test_options_reach_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(cuda, "opened", lambda *arguments: asked.append(arguments))
    cuda.provider_of({"device_id": "1", "gpu_mem_limit": str(2 << 30), "user_compute_stream": "77"})
    cuda.provider_of({"gpu_mem_limit": str(2**64 - 1), "arena_extend_strategy": "kSameAsRequested"})
    assert asked == [(1, 2 << 30, 77), (0, None, None)]


def test_values_on_the_gpu(gpu: Emulated) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    assert (value.device_name(), value.shape(), value.data_type()) == ("cuda", [1, 3], "tensor(float)")
    assert value.is_tensor()
    assert value.element_type() == 1
    assert value.data_ptr() in gpu.library.allocated
    np.testing.assert_array_equal(value.numpy(), X)
    value.update_inplace(Y)
    np.testing.assert_array_equal(value.numpy(), Y)
    with pytest.raises(RuntimeError, match="does not match"):
        value.update_inplace(np.zeros(4, np.float32))
    other = ort.OrtValue.from_dlpack(value)
    assert other.data_ptr() == value.data_ptr()
    empty = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "cuda", 0)
    assert empty.tensor_size_in_bytes() == 24


@pytest.mark.usefixtures("gpu")
def test_bindings_on_the_gpu() -> None:
    session = ort.InferenceSession(add_relu(), providers=[CUDA, CPU])
    names, (output,) = list(feeds()), [value.name for value in session.get_outputs()]
    expected = session.run(None, feeds())[0]
    values = [ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0) for array in feeds().values()]
    target = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(expected), "cuda", 0)
    for _ in range(3):
        binding = session.io_binding()
        for name, value in zip(names, values, strict=True):
            binding.bind_input(name, "cuda", 0, np.float32, value.shape(), value.data_ptr())
        binding.bind_output(output, "cuda")
        session.run_with_iobinding(binding)
        (result,) = binding.get_outputs()
        assert result.device_name() == "cuda"
        assert isinstance(result.to_object(), DeviceArray)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)
        binding.bind_output(output, "cuda", 0, np.float32, target.shape(), target.data_ptr())
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(target.numpy(), expected)
        binding.bind_output(output)
        session.run_with_iobinding(binding)
        assert binding.get_outputs()[0].device_name() == "cpu"
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], expected)


@pytest.mark.usefixtures("gpu")
def test_an_output_is_written_to_what_it_was_bound_to_last() -> None:
    session = ort.InferenceSession(add_relu(), providers=[CUDA, CPU])
    (output,) = [value.name for value in session.get_outputs()]
    expected = session.run(None, feeds())[0]
    host, device = (ort.OrtValue.ortvalue_from_numpy(np.zeros_like(expected), place) for place in ("cpu", "cuda"))
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output(output, "cuda")
    for target in (host, device, host):
        target.update_inplace(np.zeros_like(expected))
        binding.bind_ortvalue_output(output, target)
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(target.numpy(), expected)


@pytest.mark.usefixtures("gpu")
def test_a_session_on_the_cpu_takes_values_of_the_gpu() -> None:
    session = ort.InferenceSession(add_relu())
    fed = {name: ort.OrtValue.ortvalue_from_numpy(array, "cuda", 0) for name, array in feeds().items()}
    np.testing.assert_array_equal(session.run(None, fed)[0], session.run(None, feeds())[0])


def test_without_a_gpu_values_on_it_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="only the cpu"):
        ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0)


def test_the_provider_is_pickled_by_what_it_was_made_with() -> None:
    twin = pickle.loads(pickle.dumps(Cuda(1, 1 << 20)))
    assert (twin._number, twin._most_bytes) == (1, 1 << 20)
