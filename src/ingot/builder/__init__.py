"""The builder: a Python function becomes a model, and `op` writes nodes into a graph.

What turns functions into models is imported when it is first used: passes and rules only write nodes.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ingot.builder.annotate import annotate
from ingot.builder.annotations import (
    BFloat16,
    Bool,
    Complex64,
    Complex128,
    Element,
    Float4E2M1,
    Float6E2M3,
    Float6E3M2,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0,
    Float16,
    Float32,
    Float64,
    Int2,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Map,
    Optional,
    Sequence,
    Sparse,
    String,
    UInt2,
    UInt4,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from ingot.builder.insertion import inserting
from ingot.builder.operators import Operator, Operators, op
from ingot.builder.scope import Checker
from ingot.builder.variable import Var
from ingot.builder.versions import OPSET, ir_version_of

if TYPE_CHECKING:
    from ingot.builder.exact import subgraph
    from ingot.builder.functions import LocalFunction, function
    from ingot.builder.tracing import build

_HOME = {"subgraph": "exact", "LocalFunction": "functions", "function": "functions", "build": "tracing"}
"""The modules of what is imported when it is first used."""


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'ingot.builder' has no attribute '{name}'")
    globals()[name] = value = getattr(_import_module(f"ingot.builder.{_HOME[name]}"), name)
    return value


__all__ = [
    "OPSET",
    "BFloat16",
    "Bool",
    "Checker",
    "Complex64",
    "Complex128",
    "Element",
    "Float4E2M1",
    "Float6E2M3",
    "Float6E3M2",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0",
    "Float16",
    "Float32",
    "Float64",
    "Int2",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "LocalFunction",
    "Map",
    "Operator",
    "Operators",
    "Optional",
    "Sequence",
    "Sparse",
    "String",
    "UInt2",
    "UInt4",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Var",
    "annotate",
    "build",
    "function",
    "inserting",
    "ir_version_of",
    "op",
    "subgraph",
]
