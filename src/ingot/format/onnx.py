"""ModelProto objects of the onnx package, taken and made without importing it unless there is one to make."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.format.decode import decode
from ingot.format.encode import LARGEST, encode_parts
from ingot.format.write import varint
from ingot.ir.tensor import External, Tensor

if TYPE_CHECKING:
    from pathlib import Path

    from ingot.format.external import ExternalPolicy
    from ingot.format.limits import Limits
    from ingot.ir.model import Model

_LENGTH_DELIMITED = 2


def is_model_proto(item: object) -> bool:
    """Whether `item` is a ModelProto, whichever copy of the onnx package made it."""
    descriptor = getattr(item, "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", None) == "onnx.ModelProto" and hasattr(item, "SerializeToString")


def from_onnx(
    proto: Any,
    *,
    folder: Path | None = None,
    limits: Limits | None = None,
    policy: ExternalPolicy | None = None,
) -> Model:
    """The model of an onnx.ModelProto, of any size."""
    return decode(serialize(proto), folder=folder, limits=limits, policy=policy)


def to_onnx(model: Model) -> Any:
    """The model as an onnx.ModelProto, of any size; UnsupportedError if the onnx package is not installed."""
    if "onnx" not in sys.modules:
        try:
            import_module("onnx")
        except ImportError:
            raise UnsupportedError(
                "the onnx package is not installed", hint="pip install onnx, or ask for bytes: ingot.encode(model)"
            ) from None
    return fill_proto(model, sys.modules["onnx"].ModelProto())


def serialize(proto: Any, largest: int = LARGEST) -> bytes:
    """The bytes of a message of any size: piece by piece where it is more than protobuf will write at once."""
    try:
        if proto.ByteSize() < largest:
            return bytes(proto.SerializeToString(deterministic=True))
    except Exception as error:  # protobuf's own class for "too large" differs between its implementations
        if "2GB" not in str(error) and "EncodeError" not in type(error).__name__:
            raise
    return b"".join(_pieces(proto, largest))


def _pieces(proto: Any, largest: int) -> Iterator[bytes]:
    for field, value in sorted(proto.ListFields(), key=lambda pair: pair[0].number):
        if isinstance(value, str | bytes):  # one string may be too large for protobuf by itself
            payload = value.encode() if isinstance(value, str) else value
            yield varint(field.number << 3 | _LENGTH_DELIMITED) + varint(len(payload))
            yield payload
            continue
        if field.message_type is None:
            alone = type(proto)()
            if isinstance(value, int | float):
                setattr(alone, field.name, value)
            else:
                getattr(alone, field.name).extend(value)
            yield alone.SerializeToString(deterministic=True)
            continue
        for item in [value] if hasattr(value, "DESCRIPTOR") else value:
            payload = serialize(item, largest)
            yield varint(field.number << 3 | _LENGTH_DELIMITED) + varint(len(payload))
            yield payload


def fill_proto(model: Model, proto: Any, largest: int = LARGEST) -> Any:
    """Parse the model into an empty ModelProto; past `largest` bytes the weights are put in one by one."""
    message = encode_parts(model)
    if message.size <= largest:
        proto.ParseFromString(message.join())
        return proto
    held: dict[str, Tensor] = {}
    secret = os.urandom(16).hex()  # no model can have a location that looks like a placeholder

    def hold(tensor: Tensor) -> Tensor:
        if tensor.external is not None or tensor.dtype is DType.STRING or tensor.nbytes < 1024:
            return tensor
        twin = tensor.renamed(tensor.name)
        twin.external = External(f"{secret}-{len(held)}")
        held[twin.external.location] = tensor
        return twin

    proto.ParseFromString(encode_parts(model, hold).join())
    for tensor_proto in _tensors(proto):
        for entry in tensor_proto.external_data:
            tensor = held.get(entry.value) if entry.key == "location" else None
            if tensor is not None:
                tensor_proto.ClearField("external_data")
                tensor_proto.ClearField("data_location")
                tensor_proto.raw_data = bytes(tensor.raw())
                break
    return proto


def _tensors(proto: Any) -> Iterator[Any]:
    if proto.DESCRIPTOR.name == "TensorProto":
        yield proto
        return
    for field, value in proto.ListFields():
        if field.message_type is not None:
            for item in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _tensors(item)
