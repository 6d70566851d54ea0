"""IOBinding: inputs and outputs bound to memory before a run."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ingot.compat.onnxruntime.cuda import memory_of
from ingot.compat.onnxruntime.devices import OrtDevice
from ingot.compat.onnxruntime.errors import Status
from ingot.compat.onnxruntime.native import NativeBinding
from ingot.compat.onnxruntime.values import OrtValue, OrtValueVector, element_dtype
from ingot.dtypes import Array, DType
from ingot.runtime.device_array import DeviceArray

if TYPE_CHECKING:
    from ingot.compat.onnxruntime.inference import InferenceSession
    from ingot.compat.onnxruntime.options import RunOptions
    from ingot.providers.cuda.device import Device


class IOBinding:
    """What one session reads and writes in `run_with_iobinding`; memory of the CPU or of a GPU."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: list[OrtValue] = []
        self._on_gpu: set[str] = set()
        """The outputs that stay on a GPU."""

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Read `name` from the array, as it is when the session runs."""
        if not isinstance(arr_on_cpu, np.ndarray):
            raise RuntimeError(f"input '{name}' is bound to a numpy array, not to a {type(arr_on_cpu).__name__}")
        self.bind_ortvalue_input(name, OrtValue(arr_on_cpu))

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: npt.DTypeLike | int,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Read `name` from the memory at an address, which must hold an array of that type and shape."""
        memory = memory_of(OrtDevice.make(device_type, device_id))
        self.bind_ortvalue_input(name, OrtValue(_at(buffer_ptr, element_dtype(element_type), shape, memory)))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        known = [*self._session.get_inputs(), *self._session.get_overridable_initializers()]
        if name not in [argument.name for argument in known]:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: npt.DTypeLike | int | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Ask for `name`: in new memory, or in the memory at an address, whose type and shape must be given then."""
        memory = memory_of(OrtDevice.make(device_type, device_id))
        if buffer_ptr is None:
            self._bind_output(name, None, memory is not None)
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are needed to write into memory at an address")
        else:
            self.bind_ortvalue_output(name, OrtValue(_at(buffer_ptr, element_dtype(element_type), shape, memory)))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Write `name` into a tensor."""
        self._bind_output(name, ortvalue, ortvalue.device_name() == "cuda")

    def synchronize_inputs(self) -> None:
        """Nothing: what is bound is in memory at once."""

    def synchronize_outputs(self) -> None:
        """Nothing: a run returns when its outputs are written."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order they were bound."""
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The same as a vector."""
        return OrtValueVector(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Copies of the same, as `run` would return them."""
        contents = [value.to_object() for value in self._results]
        contents = [content.numpy() if isinstance(content, DeviceArray) else content for content in contents]
        return [content.copy() if isinstance(content, np.ndarray) else content for content in contents]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._on_gpu.clear()
        self._results.clear()

    @property
    def _iobinding(self) -> NativeBinding:
        return NativeBinding(self)

    def _bind_output(self, name: str, target: OrtValue | None, is_on_gpu: bool) -> None:
        """Ask for `name`, in the place of what it was bound to before."""
        self._outputs[name] = target
        (self._on_gpu.add if is_on_gpu else self._on_gpu.discard)(name)

    def _write(self, results: Sequence[Any]) -> None:
        """Put the results of a run where they are bound; RuntimeError if one does not fit."""
        results = [
            result.numpy() if isinstance(result, DeviceArray) and name not in self._on_gpu else result
            for name, result in zip(self._outputs, results, strict=True)
        ]
        outputs = zip(self._outputs.items(), results, strict=True)
        self._results = [written(name, target, result, RuntimeError) for (name, target), result in outputs]


def written(name: str, target: OrtValue | None, result: Any, error: type[Exception]) -> OrtValue:
    """The result of an output as a value: `target`, with the result in its memory, if both are tensors.

    `error` if their types or shapes differ.
    """
    memory = None if target is None else target.to_object()
    if target is not None and isinstance(memory, DeviceArray) and isinstance(result, DeviceArray | np.ndarray):
        _write_there(name, memory, result, error)
        return target
    if target is None or not isinstance(memory, np.ndarray) or not isinstance(result, np.ndarray):
        return OrtValue(result)
    if memory.dtype != result.dtype or memory.shape != result.shape:
        raise error(
            f"Error in execution: output '{name}' is {result.dtype}{list(result.shape)}, what it is bound to"
            f" is {memory.dtype}{list(memory.shape)}"
        )
    memory[...] = result
    return target


def run_bound(session: InferenceSession, binding: IOBinding, run_options: RunOptions | None) -> None:
    """Run `session` on what is bound, and write its results where they are bound.

    ValueError for the binding of another session; RuntimeError, as in onnxruntime, whatever else goes wrong.
    """
    if binding._session is not session:
        raise ValueError("IOBinding must be used with the session that created it.")
    if not binding._outputs:
        raise RuntimeError("Error in execution: At least one output should be requested.")
    try:
        names = list(binding._outputs)
        if binding._on_gpu:
            results = session._run_on_device(names, binding._inputs, run_options)
        else:
            results = session.run(names, binding._inputs, run_options)
    except Exception as error:
        message = error.message if isinstance(error, Status) else str(error)
        raise RuntimeError(f"Error in execution: {message}") from error
    binding._write(results)


def _write_there(name: str, memory: DeviceArray, result: DeviceArray | Array, error: type[Exception]) -> None:
    """Copy a result to the memory of a GPU that it is bound to."""
    if memory.dtype != result.dtype or memory.shape != result.shape:
        raise error(
            f"Error in execution: output '{name}' is {result.dtype}{list(result.shape)}, what it is bound to"
            f" is {memory.dtype}{list(memory.shape)}"
        )
    if isinstance(result, DeviceArray):
        memory.memory.copy([(memory.address, result.address, result.nbytes)] if result.nbytes else [])
        memory.memory.finish()
    elif result.nbytes:
        memory.memory.upload(np.ascontiguousarray(result), memory.address)


def _at(address: int, dtype: DType, shape: Sequence[int], memory: Device | None) -> Array | DeviceArray:
    """The array at an address, of the host or of a GPU; as unsafe as it sounds, and what the API asks for."""
    if dtype is DType.STRING:
        raise RuntimeError("Only binding non-string Tensors is currently supported: strings have no address")
    if memory is not None:
        return DeviceArray(memory, address, tuple(shape), dtype.numpy, None)
    count = int(np.prod(tuple(shape), dtype=np.int64))
    held = (ctypes.c_char * (count * dtype.numpy.itemsize)).from_address(address)
    return np.frombuffer(memoryview(held).cast("B"), dtype.numpy, count).reshape(tuple(shape))
