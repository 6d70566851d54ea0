"""Converters: models of other frameworks as ONNX, compared with the original before they are given back."""

import sys
from types import ModuleType
from typing import Any

from ingot.convert.api import convert, converted
from ingot.convert.export import export
from ingot.convert.request import Request
from ingot.convert.source import Source, Tolerance
from ingot.convert.unsupported import Piece, Unsupported
from ingot.convert.verify import OutputReport, Report, compare

__all__ = [
    "OutputReport",
    "Piece",
    "Report",
    "Request",
    "Source",
    "Tolerance",
    "Unsupported",
    "compare",
    "convert",
    "converted",
    "export",
]


class _CallableModule(ModuleType):
    """The package can be called, so that `ingot.convert(model)` works whether or not it was imported before."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        return convert(*args, **named)


sys.modules[__name__].__class__ = _CallableModule
