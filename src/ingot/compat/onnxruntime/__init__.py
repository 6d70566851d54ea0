"""onnxruntime's Python API on top of ingot: `import ingot.compat.onnxruntime as ort`, or see `ingot.compat.install`.

What computes is ingot's; what is missing raises an error that names it.
"""

from typing import Any

from ingot.compat.onnxruntime.adapters import AdapterFormat, LoraAdapter
from ingot.compat.onnxruntime.arguments import ModelMetadata, NodeArg
from ingot.compat.onnxruntime.binding import IOBinding
from ingot.compat.onnxruntime.compiling import ModelCompiler, OrtExternalInitializerInfo
from ingot.compat.onnxruntime.devices import OrtArenaCfg, OrtDevice, OrtMemoryInfo
from ingot.compat.onnxruntime.enums import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
)
from ingot.compat.onnxruntime.environment import (
    API_VERSION,
    create_and_register_allocator,
    create_and_register_allocator_v2,
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    register_execution_provider_library,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
    unregister_execution_provider_library,
)
from ingot.compat.onnxruntime.ep_devices import (
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpDevice,
    OrtHardwareDevice,
    get_ep_devices,
)
from ingot.compat.onnxruntime.inference import InferenceSession
from ingot.compat.onnxruntime.native import NativeBinding
from ingot.compat.onnxruntime.options import RunOptions, SessionOptions
from ingot.compat.onnxruntime.providers import get_all_providers, get_available_providers
from ingot.compat.onnxruntime.sparse import SparseTensor
from ingot.compat.onnxruntime.values import OrtValue, copy_tensors

__version__ = version = API_VERSION
package_name = "onnxruntime"
cuda_version = ""
SessionIOBinding = NativeBinding

__all__ = [
    "AdapterFormat",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "LoraAdapter",
    "ModelCompiler",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "cuda_version",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
    "version",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"ingot's onnxruntime has no {name!r}")
