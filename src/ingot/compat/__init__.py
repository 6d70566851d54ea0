"""Other packages' APIs on top of ingot, importable in their place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_HERE = "ingot.compat.onnxruntime"
_MODULES = (
    "",
    ".backend",
    ".backend.backend",
    ".backend.backend_rep",
    ".capi",
    ".capi._pybind_state",
    ".capi.build_and_package_info",
    ".capi.onnxruntime_inference_collection",
    ".capi.onnxruntime_pybind11_state",
    ".datasets",
)
_ABSENT = {
    "quantization": "onnxruntime's quantiser is not part of ingot's onnxruntime",
    "tools": "onnxruntime's tools are not part of ingot's onnxruntime",
    "training": "onnxruntime's training is not part of ingot's onnxruntime",
    "transformers": "onnxruntime's transformer optimiser is not part of ingot's onnxruntime",
}


def install() -> ModuleType:
    """Make `import onnxruntime`, for this process and from now on, give ingot's; returns it.

    RuntimeError if the real one is imported already: some modules would hold the one and some the other. Doing it twice
    does no harm.
    """
    present = sys.modules.get("onnxruntime")
    ours = import_module(_HERE)
    if present is not None and present is not ours:
        raise RuntimeError("onnxruntime is imported already: call ingot.compat.install() before anything imports it")
    for name in _MODULES:
        sys.modules[f"onnxruntime{name}"] = import_module(_HERE + name)
    if not any(isinstance(finder, _Absent) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Absent())
    return ours


def uninstall() -> None:
    """Undo `install`; modules that have imported it keep it."""
    for name in _MODULES:
        sys.modules.pop(f"onnxruntime{name}", None)
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Absent)]


class _Version(Distribution):
    """The metadata of the package `onnxruntime` for those who ask whether, and in which version, it is installed."""

    def read_text(self, filename: str) -> str | None:
        version = import_module(f"{_HERE}.environment").API_VERSION
        return f"Metadata-Version: 2.1\nName: onnxruntime\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        return Path(__file__).parent / "onnxruntime" / path


class _Absent:
    """Refuses every module of onnxruntime that is not ours, also those of an onnxruntime installed beside."""

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterator[Distribution]:
        if context is not None and context.name == "onnxruntime":
            yield _Version()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, rest = fullname.partition(".")
        if package != "onnxruntime" or not rest:
            return None
        reason = _ABSENT.get(rest.split(".")[0])
        if reason is not None:
            raise ImportError(f"{fullname}: {reason}", name=fullname)
        raise ModuleNotFoundError(f"ingot's onnxruntime has no module {fullname!r}", name=fullname)
