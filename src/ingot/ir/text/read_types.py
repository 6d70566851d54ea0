"""Types: `float[N, 3]`, `seq(...)`, `map(int64, ...)`, `optional(...)`, `sparse_tensor(...)`, `opaque(...)`."""

from __future__ import annotations

from ingot.dims import Dim, from_param
from ingot.dtypes import DType
from ingot.errors import nearest
from ingot.ir.text.lexer import Reader
from ingot.ir.text.literals import integer
from ingot.ir.text.words import DTYPES, TYPE_WORDS, UNDEFINED
from ingot.ir.types import MapType, OpaqueType, OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type

INT64 = (-(1 << 63), (1 << 63) - 1)


def starts_type(reader: Reader) -> bool:
    """Whether a type begins here, and not a name."""
    if reader.kind != "name":
        return False
    return reader.value in TYPE_WORDS or (reader.value == UNDEFINED and reader.following in ("[", "name", "string"))


def read_type(reader: Reader) -> Type:
    with reader.nested():
        at = reader.start
        word = reader.take("name", what="a type")
        if word in DTYPES or word == UNDEFINED:
            return TensorType(DTYPES.get(word, DType.UNDEFINED), _shape(reader))
        if word not in TYPE_WORDS:
            raise reader.error(f"'{word}' is not a type", at, hint=nearest(word, TYPE_WORDS))
        reader.expect("(", where=f"after '{word}'")
        return _PARAMETERS[word](reader)


def read_int64(reader: Reader, what: str) -> int:
    """An integer of 64 bits."""
    at = reader.start
    text = reader.take("number", what=what)
    value = integer(text, *INT64)
    if value is None:
        raise reader.error(f"{text[:40]} is not {what} of 64 bits", at)
    return value


def _sequence(reader: Reader) -> Type:
    return SequenceType(_last_type(reader))


def _optional(reader: Reader) -> Type:
    return OptionalType(_last_type(reader))


def _map(reader: Reader) -> Type:
    key = _dtype(reader, "the type of the keys")
    reader.expect(",", where="after the type of the keys")
    return MapType(key, _last_type(reader))


def _sparse(reader: Reader) -> Type:
    sparse = SparseTensorType(_dtype(reader, "an element type"), _shape(reader))
    reader.expect(")", where="after the type of a sparse tensor")
    return sparse


def _opaque(reader: Reader) -> Type:
    """`opaque(name)` or `opaque(domain, name)`; dots may stand in whichever comes first."""
    if reader.accept(")"):
        return OpaqueType()
    parts = [reader.quotable("the name of an opaque type")]
    while reader.accept("."):
        parts.append(reader.quotable("a name after '.'"))
    opaque = OpaqueType("", ".".join(parts))
    if reader.accept(","):
        opaque = OpaqueType(opaque.name, reader.quotable("the name of an opaque type"))
    reader.expect(")", where="after the name of an opaque type")
    return opaque


_PARAMETERS = {"seq": _sequence, "optional": _optional, "map": _map, "sparse_tensor": _sparse, "opaque": _opaque}


def _last_type(reader: Reader) -> Type | None:
    """A type and the parenthesis after it; None where the model leaves the type open."""
    if reader.accept(")"):
        return None
    type_ = read_type(reader)
    reader.expect(")", where="after a type")
    return type_


def _dtype(reader: Reader, what: str) -> DType:
    return reader.word({**DTYPES, UNDEFINED: DType.UNDEFINED}, what)


def _shape(reader: Reader) -> Shape | None:
    """No brackets are a scalar, empty ones an unknown rank."""
    if not reader.accept("["):
        return ()
    if reader.accept("]"):
        return None
    sizes = [_dim(reader)]
    while reader.accept(","):
        sizes.append(_dim(reader))
    reader.expect("]", where="or ',' after a size")
    return tuple(sizes)


def _dim(reader: Reader) -> Dim | None:
    if reader.accept("?"):
        return None
    if reader.kind == "number":
        return read_int64(reader, "a size")
    name = reader.quotable("a size: a number, a name or '?'")
    if name not in reader.sizes:
        reader.sizes[name] = from_param(name) if name else None
    return reader.sizes[name]
