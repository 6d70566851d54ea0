"""The native module under the name that onnxruntime's own Python code imports it by."""

from ingot.compat.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
