"""The module that onnxruntime defines its session and values in."""

from ingot.compat.onnxruntime.adapters import AdapterFormat
from ingot.compat.onnxruntime.binding import IOBinding
from ingot.compat.onnxruntime.compiling import GetInitializerLocationFunc, ModelCompiler
from ingot.compat.onnxruntime.devices import OrtDevice, get_ort_device_type
from ingot.compat.onnxruntime.enums import OrtDeviceVendorId
from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.compat.onnxruntime.providers import check_and_normalize_provider_args
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import OrtValue, copy_tensors

Session = InferenceSession

__all__ = [
    "AdapterFormat",
    "GetInitializerLocationFunc",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "check_and_normalize_provider_args",
    "copy_tensors",
    "get_ort_device_type",
]
