"""Classes of onnxruntime that ingot has no counterpart of: they can be imported, and say so when they are used."""

from __future__ import annotations

from typing import Any, NoReturn

from ingot.compat.onnxruntime.errors import Unsupported


class LoraAdapter:
    """Weights added to those of a model for a run."""

    def Load(self, path: str) -> NoReturn:  # noqa: N802
        raise Unsupported(f"LoraAdapter.Load is not supported: {path}")


class AdapterFormat:
    """The file that adapters are in."""

    def __init__(self, *arguments: Any) -> None:
        del arguments
        raise Unsupported("AdapterFormat is not supported: adapters are not part of ingot's onnxruntime")

    @staticmethod
    def read_adapter(path: str) -> NoReturn:
        raise Unsupported(f"AdapterFormat.read_adapter is not supported: {path}")


class ModelCompiler:
    """Writes a model with parts compiled for one device."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        del arguments, named
        raise Unsupported("ModelCompiler is not supported: no provider compiles models to files")
