"""The module that onnxruntime defines its session and values in."""

from ingot.compat.onnxruntime.binding import IOBinding
from ingot.compat.onnxruntime.devices import OrtDevice, get_ort_device_type
from ingot.compat.onnxruntime.enums import OrtDeviceVendorId
from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import OrtValue, copy_tensors

Session = InferenceSession

__all__ = [
    "IOBinding",
    "InferenceSession",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "copy_tensors",
    "get_ort_device_type",
]
