"""What a model needs of the format: the oldest IR version that can express it."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dtypes import DType
from ingot.ir.attribute import Attribute
from ingot.ir.model import Model
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

# From the history of versions in the standard's onnx.proto.
_IMPORTS = 3
_INITIALIZERS_ALONE = 4
_SPARSE_CONSTANTS = 6
_TRAINING = 7
_FUNCTIONS = 8
_OPTIONAL_AND_SPARSE_TYPES = 8
_FUNCTION_DEFAULTS = 9
_OVERLOADS = 10
_ELEMENT_TYPES = {
    DType.BFLOAT16: 4,
    **dict.fromkeys((DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ), 9),
    **dict.fromkeys((DType.INT4, DType.UINT4), 10),
    DType.FLOAT4E2M1: 11,
    DType.FLOAT8E8M0: 12,
    **dict.fromkeys((DType.INT2, DType.UINT2), 13),
    **dict.fromkeys((DType.FLOAT6E2M3, DType.FLOAT6E3M2), 14),
}


def needed_ir_version(model: Model) -> int:
    """The oldest IR version that has what the model is made of, whatever its operators need besides.

    Notes that say nothing about results, such as metadata of nodes and devices to run on, do not count: a reader of an
    older version leaves them out.
    """
    return max(_needs(model))


def _needs(model: Model) -> Iterator[int]:
    yield _IMPORTS if model.opset_imports else 1
    yield from (_TRAINING for _ in model.training)
    for function in model.functions.values():
        yield _OVERLOADS if function.overload else _FUNCTIONS
        yield from (_FUNCTION_DEFAULTS for default in function.attributes.values() if default is not None)
    for graph in model.graphs():
        for value in graph.values():
            yield from _of_type(value.type)
            yield from _of_constant(value.constant)
        inputs = set(graph.inputs)
        yield from (_INITIALIZERS_ALONE for value in graph.initializers.values() if value not in inputs)
        for node in graph:
            for attribute in node.attributes.values():
                yield from _of_attribute(attribute)


def _of_attribute(attribute: Attribute) -> Iterator[int]:
    values = attribute.value if isinstance(attribute.value, tuple | list) else (attribute.value,)
    for value in values:
        if isinstance(value, Tensor | SparseTensor):
            yield from _of_constant(value)
        elif isinstance(value, Type):
            yield from _of_type(value)


def _of_constant(constant: Tensor | SparseTensor | None) -> Iterator[int]:
    if isinstance(constant, SparseTensor):
        yield _SPARSE_CONSTANTS
        constant = constant.values
    if constant is not None:
        yield _ELEMENT_TYPES.get(constant.dtype, 1)


def _of_type(type_: Type | None) -> Iterator[int]:
    match type_:
        case TensorType():
            yield _ELEMENT_TYPES.get(type_.dtype, 1)
        case SparseTensorType():
            yield max(_OPTIONAL_AND_SPARSE_TYPES, _ELEMENT_TYPES.get(type_.dtype, 1))
        case OptionalType():
            yield _OPTIONAL_AND_SPARSE_TYPES
            yield from _of_type(type_.element)
        case SequenceType():
            yield from _of_type(type_.element)
        case MapType():
            yield from _of_type(type_.value)
