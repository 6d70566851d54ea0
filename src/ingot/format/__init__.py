"""Bytes to graphs and back; nothing outside this package knows protobuf."""

from ingot.format.decode import decode
from ingot.format.encode import encode
from ingot.format.limits import Limits
from ingot.format.load import ModelSource, load
from ingot.format.onnx import from_onnx, to_onnx
from ingot.format.save import save

__all__ = ["Limits", "ModelSource", "decode", "encode", "from_onnx", "load", "save", "to_onnx"]
