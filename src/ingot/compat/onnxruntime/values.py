"""OrtValue: a value outside a session; tensors share the memory of their numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.compat.onnxruntime.devices import OrtDevice, require_cpu
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.dtypes import Array, DType


class OrtValue:
    """A tensor, a sparse tensor, a sequence (list), a map (dict), or an empty optional (None)."""

    def __init__(self, content: OrtValue | Array | SparseTensor | list[Any] | dict[Any, Any] | None) -> None:
        """A value over what a run takes and returns."""
        self._content: Any = content._content if isinstance(content, OrtValue) else content

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Array, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A tensor that shares the array's memory, or a copy of it if the array is not contiguous."""
        require_cpu(_device(device_type, device_id, vendor_id))
        if not isinstance(numpy_obj, np.ndarray):
            raise RuntimeError(f"an OrtValue is made from a numpy array, not from a {type(numpy_obj).__name__}")
        DType.of(numpy_obj.dtype)
        return cls(np.asarray(numpy_obj, order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Array, /, onnx_element_type: int) -> OrtValue:
        """A tensor of an element type numpy has no name for, over an array of elements of that width."""
        dtype = DType(onnx_element_type).numpy
        if data.dtype.itemsize != dtype.itemsize:
            raise RuntimeError(f"elements of {data.dtype} take {data.dtype.itemsize} bytes, {dtype} {dtype.itemsize}")
        return cls(np.asarray(data, order="C").view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls,
        shape: Sequence[int],
        element_type: npt.DTypeLike | int,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A tensor whose elements are yet to be written."""
        require_cpu(_device(device_type, device_id, vendor_id))
        dtype = element_dtype(element_type)
        if dtype is DType.STRING:
            raise RuntimeError("a tensor of strings cannot be made without its strings")
        return cls(np.zeros(tuple(shape), dtype.numpy))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: SparseTensor) -> OrtValue:
        return OrtValue(sparse_tensor)

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """A tensor that shares what `data` offers by DLPack; bytes can be taken for booleans."""
        array = np.from_dlpack(data)
        return OrtValue(array.view(np.bool_) if is_bool_tensor and array.dtype == np.uint8 else array)

    def numpy(self) -> Array:
        """The array; RuntimeError for anything but a tensor."""
        if not isinstance(self._content, np.ndarray):
            raise RuntimeError(f"only a tensor is a numpy array, this is a {self.data_type()}")
        return self._content

    def to_object(self) -> Any:
        """What `run` would return for it."""
        return self._content

    def as_sparse_tensor(self) -> SparseTensor:
        if not isinstance(self._content, SparseTensor):
            raise RuntimeError(f"this is no sparse tensor, it is a {self.data_type()}")
        return self._content

    def update_inplace(self, np_arr: Array) -> None:
        """Write the array's elements into this tensor; RuntimeError if type or number differ."""
        own = self.numpy()
        if np_arr.size != own.size or np_arr.dtype != own.dtype:
            raise RuntimeError(
                f"cannot update {own.dtype}{list(own.shape)} with {np_arr.dtype}{list(np_arr.shape)}: they differ"
            )
        own[...] = np_arr.reshape(own.shape)

    def data_ptr(self) -> int:
        return int(self.numpy().ctypes.data)

    def data_type(self) -> str:
        return type_of(self._content)

    def element_type(self) -> int:
        """The number the format gives the element type."""
        content = self._content.values() if isinstance(self._content, SparseTensor) else self.numpy()
        return int(DType.of(content.dtype))

    def shape(self) -> list[int]:
        if isinstance(self._content, SparseTensor):
            return self._content.dense_shape()
        return list(self.numpy().shape)

    def tensor_size_in_bytes(self) -> int:
        array = self.numpy()
        return DType.of(array.dtype).nbytes(array.size)

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return self._content is not None

    def is_tensor(self) -> bool:
        return isinstance(self._content, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return isinstance(self._content, SparseTensor)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._content, list) and all(isinstance(item, np.ndarray) for item in self._content)

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        return self.numpy().__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.numpy().__dlpack_device__()
        return int(kind), int(number)

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self


def element_dtype(element_type: npt.DTypeLike | int) -> DType:
    """The element type that a numpy type or the format's number stands for."""
    return DType(element_type) if isinstance(element_type, int) else DType.of(element_type)


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: None = None) -> None:
    """Write each tensor of `src` into the one of `dst` at its place."""
    del stream
    if len(src) != len(dst):
        raise ValueError(f"{len(src)} tensors cannot be copied to {len(dst)}")
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source.numpy())


def type_of(content: Any) -> str:
    """The name in onnxruntime for the type of what a run takes or returns."""
    match content:
        case SparseTensor():
            return content.data_type()
        case list():
            return f"seq({type_of(content[0])})" if content else "seq(unknown)"
        case dict():
            key, value = next(iter(content.items()), ("", 0.0))
            return f"map({_scalar(key)},tensor({_scalar(value)}))"
        case None:
            return "optional"
        case _:
            return f"tensor({DType.of(np.asarray(content).dtype).onnx_name})"


def _scalar(value: Any) -> str:
    return "string" if isinstance(value, str) else "int64" if isinstance(value, int) else "float"


def _device(device: str | OrtDevice, number: int, vendor: int) -> OrtDevice:
    return device if isinstance(device, OrtDevice) else OrtDevice.make(device, number, vendor)
