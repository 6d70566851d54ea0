"""Optional values: wrapped, asked for, taken out; an optional of something is that thing, an empty one None."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, InputError, UnsupportedError
from ingot.ir.types import OptionalType, SequenceType, SparseTensorType, TensorType, Type
from ingot.ir.value import Value
from ingot.ops.define import operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.tensor.moved import in_own_type
from ingot.ops.typesets import ALL_3, ALL_28, BOOL, TypeNames, name_of, optionals, sequences, types

PLAIN_3: TypeNames = ALL_3 | sequences(ALL_3)
PLAIN_28: TypeNames = ALL_28 | sequences(ALL_28)

V: TypeAlias = Annotated[Any, types("V", {15: PLAIN_3, 28: PLAIN_28})]
Wrapped: TypeAlias = Annotated[Any, types("O", {15: optionals(PLAIN_3), 28: optionals(PLAIN_28)})]
Either: TypeAlias = Annotated[
    Any,
    types("O", {15: optionals(PLAIN_3), 18: PLAIN_3 | optionals(PLAIN_3), 28: PLAIN_28 | optionals(PLAIN_28)}),
]
B: TypeAlias = Annotated[Array, types("B", BOOL)]

_ANY_SINCE = 18


@operator("Optional", since=(15, 28))
def optional(x: V | None = None, /, *, type_: Type | None = None) -> Wrapped:
    """An optional that holds the input, or an empty one of the type that `type` gives."""
    if x is None and type_ is None:
        raise CheckError("an empty Optional needs the type of what it could hold", hint="give its attribute 'type'")
    return x


@optional.infer
def infer_optional(x: Fact | None = None, /, *, type_: Type | None) -> Inferred:
    if type_ is None and (x is None or not x.present):
        raise CheckError("an empty Optional needs the type of what it could hold", hint="give its attribute 'type'")
    element = type_ if x is None or x.type is None else x.type
    if type_ is not None and element is not None and name_of(type_) != name_of(element):
        raise CheckError(f"type is {type_}, the value is {element}")
    return OptionalType(element)


@operator("OptionalHasElement", since=(18, 28))
def optional_has_element(x: Either | None = None, /) -> B:
    """Whether the input holds something; one left out does not, a tensor or a sequence does."""
    return np.asarray(x is not None)


@optional_has_element.infer
def infer_has(x: Fact | None = None, /) -> Inferred:
    return TensorType(DType.BOOL, ())


@optional_has_element.lower
def lower_has(x: prim.Tensor | None = None, /, *, facts: tuple[Fact, ...]) -> prim.Tensor:
    if x is not None and not isinstance(facts[0].type, TensorType):
        raise prim.Refused(f"an input of {facts[0].type}")
    return prim.scalar(x is not None, DType.BOOL)


@optional_has_element.downgrade
def downgrade_has(op: Any, x: Value | None = None, /, *, version: int) -> Any:
    if x is None:
        return op.Identity(np.array(False))
    if version >= optional_has_element.since[0] or x.type is None:
        raise UnsupportedError(f"it does not take the type of '{x.name}'")
    return op.OptionalHasElement(x) if isinstance(x.type, OptionalType) else op.Identity(np.array(True))


@operator("OptionalHasElement", since=15)
def optional_has_element_15(x: Wrapped, /) -> B:
    """The same of an optional."""
    raise superseded()


@optional_has_element_15.upgrade
def upgrade_has(op: Any, x: Value, /) -> Any:
    return op.OptionalHasElement(x)


@operator("OptionalGetElement", since=(15, 18, 28))
def optional_get_element(x: Either, /) -> V:
    """What the input holds; InputError if it is empty. A tensor or a sequence is given back as it is."""
    if x is None:
        raise InputError("the optional is empty", hint="ask OptionalHasElement first")
    return x


@optional_get_element.infer
def infer_get(x: Fact, /) -> Inferred:
    match x.type:
        case OptionalType():
            return x.type.element
        case TensorType() | SparseTensorType() | SequenceType():
            return x
    return None


@optional_get_element.lower
def lower_get(x: prim.Tensor, /, *, inferred: tuple[Fact, ...]) -> prim.Tensor:
    return in_own_type(x, inferred[0])


@optional_get_element.downgrade
def downgrade_get(op: Any, x: Value, /, *, version: int) -> Any:
    """A tensor or a sequence is given back as it is."""
    if not optional_get_element.since[0] <= version < _ANY_SINCE or isinstance(x.type, OptionalType | None):
        raise UnsupportedError(f"it does not take the type of '{x.name}'")
    return op.Identity(x)
