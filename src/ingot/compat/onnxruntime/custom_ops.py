"""Custom operators: those of a Python file; libraries of machine code are refused, with what to do instead."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from ingot.compat.onnxruntime.errors import Fail, Unsupported
from ingot.ops.define import Operator

EXAMPLE = """\
from typing import Annotated, TypeAlias
from ingot import operator
from ingot.dtypes import Array
from ingot.ops.typesets import FLOATS, types

T: TypeAlias = Annotated[Array, types("T", FLOATS)]

@operator("Cube", since=1, domain="org.example")
def cube(x: T, /, *, scale: float = 1.0) -> T:
    return (x * x * x * scale).astype(x.dtype)
"""
"""A file that can be registered: an operator of one input and one attribute."""


def operators_of(path: str | os.PathLike[str]) -> list[Operator]:
    """The operators that a Python file defines by `@operator`.

    Fail if there is no such file or it defines none; NotImplemented for a library of machine code, whose calls go to
    onnxruntime's C API.
    """
    if not os.path.exists(path):
        raise Fail(f"Failed to load library {path} with error: there is no such file")
    if Path(path).suffix != ".py":
        raise Unsupported(
            f"{path} is machine code that calls onnxruntime's C API, which is not here: write its operators in a Python"
            f" file, and register that in its place. Such a file is\n\n{EXAMPLE}"
        )
    operators = [value for value in runpy.run_path(os.fspath(path)).values() if isinstance(value, Operator)]
    if not operators:
        raise Fail(f"{path} defines no operator: put @ingot.operator(...) before the function of each")
    return operators
