"""IOBinding: runs that read and write memory bound before."""

from __future__ import annotations

import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from compat.samples import X, add_relu

Z = np.array([[2, 0, 6], [5, 7, 0]], np.float32)


@pytest.fixture
def session() -> ort.InferenceSession:
    return ort.InferenceSession(add_relu())


def test_outputs_bound_by_name_are_new_values(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("z")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), Z)
    (copy,) = binding.copy_outputs_to_cpu()
    copy[0, 0] = 9
    assert binding.get_outputs()[0].numpy()[0, 0] == 2


def test_memory_is_bound_by_its_address(session: ort.InferenceSession) -> None:
    x, z = X.copy(), np.zeros((2, 3), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("z", "cpu", 0, 1, z.shape, z.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(z, Z)
    x[:] = 0
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(z, [[1, 2, 3]] * 2)
    with pytest.raises(ValueError, match="element_type"):
        binding.bind_output("z", buffer_ptr=z.ctypes.data)
    with pytest.raises(RuntimeError, match="strings"):
        binding.bind_input("x", "cpu", 0, str, [1], 0)


def test_ortvalues_are_bound(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    target = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(X))
    binding.bind_ortvalue_output("z", target)
    session.run_with_iobinding(binding, ort.RunOptions())
    np.testing.assert_array_equal(target.numpy(), Z)
    assert binding.get_outputs()[0] is target


@pytest.mark.parametrize(("shape", "kind"), [([2, 2], np.float32), ([2, 3], np.float64)])
def test_memory_that_does_not_fit_is_a_runtime_error(
    session: ort.InferenceSession, shape: list[int], kind: type[np.floating]
) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_shape_and_type(shape, kind))
    with pytest.raises(RuntimeError, match=r"Error in execution: output 'z' is float32\[2, 3\]"):
        session.run_with_iobinding(binding)


def test_what_is_not_bound_is_a_runtime_error(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="At least one output should be requested"):
        session.run_with_iobinding(binding)
    binding.bind_output("z")
    with pytest.raises(RuntimeError, match="Required inputs"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X)
    binding.bind_output("q")
    with pytest.raises(RuntimeError, match="Invalid output name:q"):
        session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    binding.clear_binding_inputs()
    assert binding.get_outputs() == []


def test_what_cannot_be_bound_is_refused(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: q"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(RuntimeError, match="list"):
        binding.bind_cpu_input("x", [1.0])  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="only the cpu"):
        binding.bind_output("z", "cuda")
    with pytest.raises(ValueError, match="session that created it"):
        ort.InferenceSession(add_relu()).run_with_iobinding(binding)
