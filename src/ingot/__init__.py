"""The whole ONNX system in one package: load, check, edit, build, print, run and save models.

Everything but errors is imported when it is first used: a command that serves a page, or only prints its help, need not
wait for numpy.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ingot.errors import (
    BuildError,
    CheckError,
    CompileError,
    ConvertError,
    DecodeError,
    ExternalDataError,
    FallbackWarning,
    IngotError,
    InputError,
    ParseError,
    ProviderError,
    ShapeError,
    UnsupportedError,
    VerifyError,
)
from ingot.version import __version__

if TYPE_CHECKING:
    from ingot.builder import (
        BFloat16,
        Bool,
        Complex64,
        Complex128,
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
        String,
        UInt2,
        UInt4,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        build,
        function,
        inserting,
        op,
    )
    from ingot.convert.api import (
        convert,
    )
    from ingot.convert.export import (
        export,
    )
    from ingot.convert.to_torch.module import (
        to_torch,
    )
    from ingot.convert.to_torch.source import (
        to_torch_source,
    )
    from ingot.difference.api import diff
    from ingot.difference.result import Diff
    from ingot.dtypes import DType
    from ingot.engine_support.check import check_for
    from ingot.format import Limits, decode, encode, from_onnx, load, save, to_onnx
    from ingot.infer.check import check
    from ingot.infer.retype import set_type
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
    from ingot.ir.extract import (
        extract,
    )
    from ingot.ir.inline import (
        inline,
    )
    from ingot.ir.interface import (
        add_outputs,
        initializers_to_inputs,
        inputs_to_initializers,
        remove_dead,
        remove_outputs,
        set_batch,
    )
    from ingot.ir.join import (
        join,
    )
    from ingot.ir.names import (
        prefix,
        rename,
        uniquify,
    )
    from ingot.ir.sizes import (
        tensor_sizes,
    )
    from ingot.ir.surgery import bypass, insert_after, rewire, set_constant
    from ingot.ir.text import (
        parse_model,
        to_text,
    )
    from ingot.ops.define import operator
    from ingot.passes.optimise import optimise
    from ingot.pruning.api import prune
    from ingot.quantise.api import quantize
    from ingot.quantise.precision_report import precision_report
    from ingot.repair.apply_rules import repair
    from ingot.session import Cancel, Interrupted, LimitError, RunLimits, Session
    from ingot.source.api import to_source
    from ingot.versions.upgrade import upgrade
    from ingot.view.api import view

_LATER = {
    "ingot.dtypes": "DType",
    "ingot.format": "Limits decode encode from_onnx load save to_onnx",
    "ingot.ir": "Attribute AttributeKind Function Graph Model Node SparseTensor Tensor TensorType Value verify",
    "ingot.builder": (
        "BFloat16 Bool Complex64 Complex128 Float4E2M1 Float6E2M3 Float6E3M2 Float8E4M3FN Float8E4M3FNUZ "
        "Float8E5M2 Float8E5M2FNUZ Float8E8M0 Float16 Float32 Float64 Int2 Int4 Int8 Int16 Int32 Int64 String "
        "UInt2 UInt4 UInt8 UInt16 UInt32 UInt64 build function inserting op"
    ),
    "ingot.convert.api": "convert",
    "ingot.convert.export": "export",
    "ingot.infer.check": "check",
    "ingot.convert.to_torch.module": "to_torch",
    "ingot.convert.to_torch.source": "to_torch_source",
    "ingot.ir.extract": "extract",
    "ingot.ir.inline": "inline",
    "ingot.ir.interface": (
        "add_outputs initializers_to_inputs inputs_to_initializers remove_dead remove_outputs set_batch"
    ),
    "ingot.ir.join": "join",
    "ingot.ir.names": "prefix rename uniquify",
    "ingot.ir.sizes": "tensor_sizes",
    "ingot.ir.surgery": "bypass insert_after rewire set_constant",
    "ingot.infer.retype": "set_type",
    "ingot.ir.text": "parse_model to_text",
    "ingot.session": "Cancel Interrupted LimitError RunLimits Session",
    "ingot.passes.optimise": "optimise",
    "ingot.pruning.api": "prune",
    "ingot.quantise.api": "quantize",
    "ingot.quantise.precision_report": "precision_report",
    "ingot.repair.apply_rules": "repair",
    "ingot.difference.api": "diff",
    "ingot.difference.result": "Diff",
    "ingot.source.api": "to_source",
    "ingot.versions.upgrade": "upgrade",
    "ingot.view": "view",
    "ingot.ops.define": "operator",
    "ingot.engine_support.check": "check_for",
}
_HOME = {name: module for module, names in _LATER.items() for name in names.split()}
_PACKAGES = ("dims", "dtypes", "format", "ir")
"""What `import ingot` alone makes reachable by its full name."""


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return _import_module(f"ingot.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ingot' has no attribute '{name}'")
    module = _import_module(_HOME[name])
    value: object = globals().get(name)  # a package of that name, which can be called: `ingot.convert`
    if value is None:
        globals()[name] = value = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = [
    "Attribute",
    "AttributeKind",
    "BFloat16",
    "Bool",
    "BuildError",
    "Cancel",
    "CheckError",
    "CompileError",
    "Complex64",
    "Complex128",
    "ConvertError",
    "DType",
    "DecodeError",
    "Diff",
    "ExternalDataError",
    "FallbackWarning",
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
    "Function",
    "Graph",
    "IngotError",
    "InputError",
    "Int2",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Interrupted",
    "LimitError",
    "Limits",
    "Model",
    "Node",
    "ParseError",
    "ProviderError",
    "RunLimits",
    "Session",
    "ShapeError",
    "SparseTensor",
    "String",
    "Tensor",
    "TensorType",
    "UInt2",
    "UInt4",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "UnsupportedError",
    "Value",
    "VerifyError",
    "__version__",
    "add_outputs",
    "build",
    "bypass",
    "check",
    "check_for",
    "convert",
    "decode",
    "diff",
    "encode",
    "export",
    "extract",
    "from_onnx",
    "function",
    "initializers_to_inputs",
    "inline",
    "inputs_to_initializers",
    "insert_after",
    "inserting",
    "join",
    "load",
    "op",
    "operator",
    "optimise",
    "parse_model",
    "precision_report",
    "prefix",
    "prune",
    "quantize",
    "remove_dead",
    "remove_outputs",
    "rename",
    "repair",
    "rewire",
    "save",
    "set_batch",
    "set_constant",
    "set_type",
    "tensor_sizes",
    "to_onnx",
    "to_source",
    "to_text",
    "to_torch",
    "to_torch_source",
    "uniquify",
    "upgrade",
    "verify",
    "view",
]
