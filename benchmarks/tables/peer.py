"""onnxruntime as the tables use it: its sessions, and the types that its kernels take."""

from __future__ import annotations

from functools import cache
from typing import Any

import onnx
import onnx.defs
import onnxruntime

DTYPES = ("float32", "float16", "float64", "int64", "int32", "int8", "uint8", "bool", "string")
_OPEN = (1 << 31) - 1
"""The last version of a kernel of the newest form of an operator: it serves no later form."""
_NAMES = {"float": "float32", "double": "float64"}


def peer_session(data: bytes, threads: int = 1) -> Any:
    """A session of onnxruntime's on the processor, which logs nothing.

    Its threads stop spinning when a run ends: they would take a processor from the other engine, whose turn is next.
    """
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


@cache
def operators() -> frozenset[tuple[str, str]]:
    """Domains and names of operators that have a kernel for the processor."""
    return frozenset(_kernels())


def opset_of(operator: str, newest: int) -> int:
    """The newest opset up to `newest` in which a kernel of the standard's operator is for the processor."""
    ranges = [kernel.version_range for kernel in _kernels().get(("", operator), [])]
    if ranges and not onnx.defs.has(operator):  # an experiment of the first opsets
        return int(max(first for first, _ in ranges))
    opset = newest
    while opset > 1 and onnx.defs.has(operator, opset):
        version = onnx.defs.get_schema(operator, max_inclusive_version=opset).since_version
        if any(first == version or (first < version <= last != _OPEN) for first, last in ranges):
            return opset
        opset = version - 1
    return newest


def dtypes_of(domain: str, operator: str, place: int = 0) -> list[str]:
    """The element types of DTYPES that some kernel of the newest version takes for one input."""
    kernels = _kernels().get((domain, operator), [])
    newest = max((kernel.version_range[0] for kernel in kernels), default=0)
    name = _type_parameter(domain, operator, place)
    allowed = {
        _plain(text)
        for kernel in kernels
        if kernel.version_range[0] == newest
        for text in kernel.type_constraints.get(name, ())
    }
    return [dtype for dtype in DTYPES if dtype in allowed]


def _type_parameter(domain: str, operator: str, place: int) -> str:
    if not domain and onnx.defs.has(operator):
        inputs = onnx.defs.get_schema(operator).inputs
        return str(inputs[min(place, len(inputs) - 1)].type_str) if inputs else ""
    return "T"


def _plain(text: str) -> str:
    name = text.removeprefix("tensor(").removesuffix(")")
    return _NAMES.get(name, name)


@cache
def _kernels() -> dict[tuple[str, str], list[Any]]:
    from onnxruntime.capi import onnxruntime_pybind11_state

    kernels: dict[tuple[str, str], list[Any]] = {}
    for kernel in onnxruntime_pybind11_state.get_all_opkernel_def():
        kernels.setdefault((kernel.domain, kernel.op_name), []).append(kernel)
    return kernels
