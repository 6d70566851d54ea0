"""The words of ONNX's textual syntax: identifiers, type and attribute names, and text in quotes."""

from __future__ import annotations

import re

from ingot.dtypes import DType
from ingot.ir.attribute import AttributeKind

DTYPES = {dtype.onnx_name: dtype for dtype in DType if dtype is not DType.UNDEFINED}
"""Element types by name."""

UNDEFINED = DType.UNDEFINED.onnx_name
"""How onnx prints an element type that the model leaves open; its own parser takes it for a value's name."""

TYPE_WORDS = frozenset(DTYPES) | {"seq", "map", "optional", "sparse_tensor", "opaque"}
"""Words that begin a type wherever a type may stand."""

KINDS = {
    "float": AttributeKind.FLOAT,
    "int": AttributeKind.INT,
    "string": AttributeKind.STRING,
    "tensor": AttributeKind.TENSOR,
    "graph": AttributeKind.GRAPH,
    "sparse_tensor": AttributeKind.SPARSE_TENSOR,
    "type_proto": AttributeKind.TYPE,
    "floats": AttributeKind.FLOATS,
    "ints": AttributeKind.INTS,
    "strings": AttributeKind.STRINGS,
    "tensors": AttributeKind.TENSORS,
    "graphs": AttributeKind.GRAPHS,
    "sparse_tensors": AttributeKind.SPARSE_TENSORS,
    "type_protos": AttributeKind.TYPES,
}
KIND_NAMES = {kind: name for name, kind in KINDS.items()}

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_FLOAT_WORD = re.compile(r"(?:inf|infinity|nan)\Z", re.IGNORECASE)
_NO_WORD = re.compile(r"[^A-Za-z0-9_]")
_READ_AS_FLOAT = re.compile(r"(?:inf|infinity|nan)(?![A-Za-z0-9])", re.IGNORECASE)


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.match(text) is not None


def is_float_word(text: str) -> bool:
    """Whether `text` is a float that is spelled in letters."""
    return _FLOAT_WORD.match(text) is not None


def reads_as_graph_name(text: str) -> bool:
    """Whether onnx takes `text` for the name of a graph where an attribute's value may stand."""
    return is_identifier(text) and text not in TYPE_WORDS and _READ_AS_FLOAT.match(text) is None


def graph_name(text: str) -> str:
    """`text` as a graph name that onnx reads where an attribute's value may stand: other characters become `_`."""
    word = _NO_WORD.sub("_", text)
    return word if reads_as_graph_name(word) else f"graph_{word}"


def quoted(text: str) -> str:
    """`text` as a string; the syntax has no escapes but those of the quote and of the backslash itself."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def name_text(name: str) -> str:
    """A name as it is where it is an identifier and nothing else, in quotes where not."""
    return name if is_identifier(name) and name not in TYPE_WORDS and name != UNDEFINED else quoted(name)


def word_text(word: str) -> str:
    """Like `name_text`, for places where no type can stand."""
    return word if is_identifier(word) else quoted(word)
