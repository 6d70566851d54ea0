"""The whole ONNX system in one package: load, check, edit, build and save models."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ingot.dtypes import DType
from ingot.errors import (
    BuildError,
    CheckError,
    CompileError,
    DecodeError,
    ExternalDataError,
    IngotError,
    InputError,
    ParseError,
    ProviderError,
    ShapeError,
    UnsupportedError,
)
from ingot.format import Limits, decode, encode, from_onnx, load, save, to_onnx
from ingot.ir import (
    Attribute,
    AttributeKind,
    Function,
    Graph,
    Model,
    Node,
    SparseTensor,
    Tensor,
    TensorType,
    Value,
    verify,
)
from ingot.version import __version__

if TYPE_CHECKING:
    pass
