"""OrtValue: a value outside a session; tensors share the memory of their numpy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ingot.compat.onnxruntime.cuda import is_available, memory_of, opened
from ingot.compat.onnxruntime.devices import OrtDevice, OrtMemoryInfo
from ingot.compat.onnxruntime.dlpack import from_capsule, to_capsule
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.dtypes import Array, DType
from ingot.runtime.device_array import DLPACK_CUDA, DeviceArray


class OrtValue:
    """A tensor, a sparse tensor, a sequence (list), a map (dict), or an empty optional (None)."""

    def __init__(
        self, content: OrtValue | Array | DeviceArray | SparseTensor | list[Any] | dict[Any, Any] | None
    ) -> None:
        """A value over what a run takes and returns."""
        self._content: Any = content._content if isinstance(content, OrtValue) else content

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: Array, /, device_type: str | OrtDevice = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A tensor that shares the array's memory, or a copy of it: on a GPU, and if the array is not contiguous."""
        memory = memory_of(_device(device_type, device_id, vendor_id))
        if not isinstance(numpy_obj, np.ndarray):
            raise RuntimeError(f"an OrtValue is made from a numpy array, not from a {type(numpy_obj).__name__}")
        DType.of(numpy_obj.dtype)
        array = np.asarray(numpy_obj, order="C")
        return cls(array if memory is None else DeviceArray.of(array, memory))

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
        memory_info: OrtMemoryInfo | None = None,
    ) -> OrtValue:
        """A tensor whose elements are yet to be written; `memory_info` says where, whatever the device is."""
        memory = None
        if memory_info is None:
            memory = memory_of(_device(device_type, device_id, vendor_id))
        else:
            if (device_type, device_id, vendor_id) != ("cpu", 0, -1):
                ignored = "device_type, device_id, and vendor_id are ignored when memory_info is provided."
                warnings.warn(ignored, stacklevel=2)
            if memory_info.device_type != OrtDevice.cpu():
                raise RuntimeError(f"No shared allocator found for {memory_info.name}: only the cpu has memory here")
        dtype = element_dtype(element_type)
        if dtype is DType.STRING:
            raise RuntimeError("only tensors of non-string numpy arrays can be made without their elements")
        zeros = np.zeros(tuple(shape), dtype.numpy)
        return cls(zeros if memory is None else DeviceArray.of(zeros, memory))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: SparseTensor) -> OrtValue:
        return OrtValue(sparse_tensor)

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """A tensor that shares what `data`, a capsule or what has one, offers by DLPack; bytes may be booleans."""
        if hasattr(data, "__dlpack_device__") and int(data.__dlpack_device__()[0]) != 1:
            kind, number = map(int, data.__dlpack_device__())
            memory = opened(number).memory if kind == DLPACK_CUDA and is_available() else None
            adopted = None if memory is None else memory.adopted(data)
            if adopted is None:
                raise RuntimeError("only tensors of the cpu can be taken")
            return OrtValue(adopted)
        return OrtValue(from_capsule(data.__dlpack__() if hasattr(data, "__dlpack__") else data, is_bool_tensor))

    def numpy(self) -> Array:
        """The array, of a tensor on a GPU a copy; RuntimeError for anything but a tensor."""
        if isinstance(self._content, DeviceArray):
            return self._content.numpy()
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
        own = self._content if isinstance(self._content, DeviceArray) else self.numpy()
        if np_arr.nbytes and np_arr.dtype == own.dtype and isinstance(own, DeviceArray) and np_arr.nbytes == own.nbytes:
            own.memory.upload(np.ascontiguousarray(np_arr), own.address)
            return
        if isinstance(own, DeviceArray):
            own = own.numpy()
        if np_arr.size != own.size or np_arr.dtype != own.dtype:
            raise RuntimeError(
                "The input size of numpy arrays does not match the size of the OrtValue:"
                f" {np_arr.dtype}{list(np_arr.shape)} against {own.dtype}{list(own.shape)}"
            )
        own[...] = np_arr.reshape(own.shape)

    def data_ptr(self) -> int:
        own = self._content
        return own.address if isinstance(own, DeviceArray) else int(self.numpy().ctypes.data)

    def data_type(self) -> str:
        return type_of(self._content)

    def element_type(self) -> int:
        """The number the format gives the element type."""
        content = self._content.values() if isinstance(self._content, SparseTensor) else self._tensor()
        return int(DType.of(content.dtype))

    def shape(self) -> list[int]:
        if isinstance(self._content, SparseTensor):
            return self._content.dense_shape()
        return list(self._tensor().shape)

    def tensor_size_in_bytes(self) -> int:
        array = self._tensor()
        return DType.of(array.dtype).nbytes(prod(array.shape))

    def device_name(self) -> str:
        return "cuda" if isinstance(self._content, DeviceArray) else "cpu"

    def _tensor(self) -> Array | DeviceArray:
        """The tensor where it is."""
        return self._content if isinstance(self._content, DeviceArray) else self.numpy()

    def has_value(self) -> bool:
        return self._content is not None

    def is_tensor(self) -> bool:
        return isinstance(self._content, np.ndarray | DeviceArray)

    def is_sparse_tensor(self) -> bool:
        return isinstance(self._content, SparseTensor)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._content, list) and all(isinstance(item, np.ndarray) for item in self._content)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """The array itself unless another type or a copy is asked for."""
        array = self.numpy()
        if copy is None:
            return np.asarray(array, dtype)
        return np.array(array, dtype, copy=copy)

    def to_dlpack(self) -> Any:
        """A DLPack capsule over the memory of the tensor."""
        if isinstance(self._content, DeviceArray):
            return self._content.__dlpack__(stream=None)
        return to_capsule(self.numpy())

    def __dlpack__(self, *, stream: int | None = None, **_options: Any) -> Any:
        if stream not in (None, -1) and not isinstance(self._content, DeviceArray):
            raise RuntimeError("a tensor of the cpu has no streams")
        return self.to_dlpack()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._content.__dlpack_device__() if isinstance(self._content, DeviceArray) else (1, 0)

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self


def contents_of(value: Any) -> Any:
    """What an OrtValue holds; anything else as it is."""
    return value._content if isinstance(value, OrtValue) else value


class OrtValueVector(list[OrtValue]):
    """Values in order, as runs on native values return them."""

    def push_back(self, value: OrtValue | Any, is_bool_tensor: bool = False) -> None:
        """Append a value, or the tensor in a DLPack capsule."""
        self.append(value if isinstance(value, OrtValue) else OrtValue.from_dlpack(value, is_bool_tensor))

    def reserve(self, count: int) -> None:
        """Nothing: a list grows by itself."""
        int(count)

    def shrink_to_fit(self) -> None:
        """Nothing, as `reserve`."""

    def element_type_at(self, index: int) -> int:
        return self[index].element_type()

    def bool_tensor_indices(self) -> list[int]:
        """Where the tensors of booleans are."""
        return [index for index, value in enumerate(self) if value.data_type() == "tensor(bool)"]

    def dlpack_at(self, index: int) -> Any:
        return self[index].to_dlpack()

    def to_dlpacks(self, to_tensor: Callable[[Any], Any] | None) -> list[Any]:
        """A capsule for each, or what a function makes of it."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]


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
        case DeviceArray():
            return f"tensor({DType.of(content.dtype).onnx_name})"
        case _:
            return f"tensor({DType.of(np.asarray(content).dtype).onnx_name})"


def _scalar(value: Any) -> str:
    return "string" if isinstance(value, str) else "int64" if isinstance(value, int) else "float"


def _device(device: str | OrtDevice, number: int, vendor: int) -> OrtDevice:
    return device if isinstance(device, OrtDevice) else OrtDevice.make(device, number, vendor)
