"""onnxruntime as a backend in the sense of the onnx package."""

from ingot.compat.onnxruntime.backend.backend import is_compatible, prepare, run, supports_device

__all__ = ["is_compatible", "prepare", "run", "supports_device"]
