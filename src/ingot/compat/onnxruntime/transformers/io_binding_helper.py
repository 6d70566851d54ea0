"""Element types by the names that onnxruntime, numpy, torch and ONNX have for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

from ingot.compat.onnxruntime.arguments import NodeArg
from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.convert.to_torch.dtypes import SMALL, TORCH
from ingot.dtypes import DType

T = TypeVar("T")
_BY_NAME = {f"tensor({dtype.onnx_name})": dtype for dtype in DType}
_OF_NUMPY = [dtype for dtype in DType if dtype.numpy.kind in "iufcb" and dtype.numpy.isbuiltin == 1]


class TypeHelper:
    """Translates element types; ValueError for one that the other side does not have, or a name that is not there."""

    @staticmethod
    def get_input_type(ort_session: InferenceSession, name: str) -> str:
        return _type_of(ort_session.get_inputs(), name, "input")

    @staticmethod
    def get_output_type(ort_session: InferenceSession, name: str) -> str:
        return _type_of(ort_session.get_outputs(), name, "output")

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> type:
        """The scalar type of numpy for `tensor(float)` and the like; Python's `bool` for truth values."""
        dtype = _named(ort_type)
        if dtype not in _OF_NUMPY:
            raise ValueError(f"numpy has no type for {ort_type}")
        return _numpy_type(dtype)

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        return _torch_type(_named(ort_type))

    @staticmethod
    def ort_type_to_onnx_type(ort_type: str) -> int:
        """The number of an element type in ONNX's TensorProto."""
        return int(_named(ort_type))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: Any) -> Any:
        return _torch_type(DType.of(numpy_type))

    @staticmethod
    def torch_type_to_numpy_type(torch_type: Any) -> type:
        dtype = next((dtype for dtype in _OF_NUMPY if TORCH.get(dtype) == str(torch_type)), None)
        if dtype is None:
            raise ValueError(f"numpy has no type for {torch_type}")
        return _numpy_type(dtype)

    @staticmethod
    def get_io_numpy_type_map(ort_session: InferenceSession) -> dict[str, type]:
        """The scalar type of numpy for each input and output of a session."""
        return _by_name(ort_session, TypeHelper.ort_type_to_numpy_type)

    @staticmethod
    def get_io_torch_type_map(ort_session: InferenceSession) -> dict[str, Any]:
        return _by_name(ort_session, TypeHelper.ort_type_to_torch_type)

    @staticmethod
    def get_io_onnx_type_map(ort_session: InferenceSession) -> dict[str, int]:
        return _by_name(ort_session, TypeHelper.ort_type_to_onnx_type)


def _type_of(arguments: Iterable[NodeArg], name: str, kind: str) -> str:
    for argument in arguments:
        if argument.name == name:
            return argument.type
    raise ValueError(f"the model has no {kind} '{name}'")


def _named(ort_type: str) -> DType:
    dtype = _BY_NAME.get(ort_type)
    if dtype is None:
        raise ValueError(f"{ort_type} is no type of a tensor")
    return dtype


def _numpy_type(dtype: DType) -> type:
    return bool if dtype is DType.BOOL else dtype.numpy.type


def _torch_type(dtype: DType) -> Any:
    if dtype not in TORCH or dtype in SMALL:
        raise ValueError(f"torch has no type for {dtype}")
    return getattr(import_module("torch"), TORCH[dtype].removeprefix("torch."))


def _by_name(session: InferenceSession, translate: Callable[[str], T]) -> dict[str, T]:
    return {argument.name: translate(argument.type) for argument in (*session.get_inputs(), *session.get_outputs())}
