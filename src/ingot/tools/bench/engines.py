"""The engines that can be measured: how each opens a model with a number of threads, and runs it.

A worker loads this file alone, so it imports nothing of ingot but in the engine that is ingot.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[Mapping[str, Any]], list[Any]]
"""Runs a model on inputs by name, and gives its outputs in order."""
Open: TypeAlias = Callable[[str, int], Run]
"""Opens the model in a file for a number of threads."""

PACKAGES = {
    **dict.fromkeys(("ingot", "ingot-bf16", "ingot-fp16", "ingot-int8-dynamic", "ingot-reference"), "ingot"),
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
}
"""The engines known by name, and the package each needs."""


def prepared(engine: str) -> tuple[Open, str]:
    """How an engine opens models, and its version; what it needs is imported. ImportError if that is not installed,
    RuntimeError if onnxruntime is ingot by another name.

    An engine is one of `PACKAGES`, or a function of somebody else's, as `module:function`.
    """
    match engine:
        case "ingot":
            return _ingot(None)
        case "ingot-reference":
            return _ingot(("reference",))
        case "ingot-bf16" | "ingot-fp16" | "ingot-int8-dynamic":
            return _ingot(None, engine.removeprefix("ingot-"))
        case "onnxruntime":
            return _onnxruntime()
        case "openvino":
            return _openvino()
    module, _, function = engine.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # where the command was given
    opener: Open = getattr(import_module(module), function)
    return opener, str(getattr(sys.modules[module], "__version__", ""))


def _ingot(providers: tuple[str, ...] | None, precision: Any = None) -> tuple[Open, str]:
    from ingot.providers import compiling_providers
    from ingot.session import Session
    from ingot.version import __version__

    def opened(path: str, threads: int) -> Run:
        named = compiling_providers() if providers is None else providers
        session = Session(path, threads=threads, providers=named, precision=precision)
        return lambda feeds: session.run(None, feeds)

    return opened, __version__


def _onnxruntime() -> tuple[Open, str]:
    import onnxruntime

    if "ingot" in onnxruntime.get_build_info():
        raise RuntimeError("the package 'onnxruntime' of this process is ingot's own: start without ingot.compat")

    def opened(path: str, threads: int) -> Run:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda feeds: list(session.run(None, feeds))

    return opened, str(onnxruntime.__version__)


def _openvino() -> tuple[Open, str]:
    import openvino

    settings = {
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",  # it would take bfloat16 where the processor has it
    }

    def opened(path: str, threads: int) -> Run:
        compiled = openvino.Core().compile_model(path, "CPU", {**settings, "INFERENCE_NUM_THREADS": threads})
        return lambda feeds: list(compiled(feeds).values())

    return opened, str(openvino.__version__).partition("-")[0]
