"""Tensors, attributes and types as expressions of a program in style build."""

from __future__ import annotations

from typing import Any

from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Type
from ingot.source.build_types import type_expression
from ingot.source.layout import Expression, call, labelled, listed, mapping
from ingot.source.literals import INLINE_ITEMS, elements, float32, is_of_numpy, items, numpy_name, plain, quoted
from ingot.source.weights import Weights


class BuildValues:
    """Expressions of values; `used` gets what the program has to import for them, `weights` what it has to load."""

    def __init__(self, weights: Weights) -> None:
        self.used: set[str] = set()
        self._weights = weights

    def type(self, type_: Type | None) -> Expression:
        return type_expression(type_, self.used)

    def tensor(self, tensor: Tensor, name: str | None) -> Expression:
        """A Tensor of these elements under the expression of a name; its texts are part of it."""
        self.used.add("ingot.Tensor")
        extra: list[Expression] = [] if name is None or name == '""' else [f"name={name}"]
        if tensor.doc_string:
            extra.append(f"doc_string={quoted(tensor.doc_string)}")
        if tensor.metadata:
            extra.append(labelled("metadata=", mapping([(quoted(k), quoted(v)) for k, v in tensor.metadata.items()])))
        return call("Tensor", *self._elements(tensor), *extra)

    def _elements(self, tensor: Tensor) -> list[Expression]:
        literal = elements(tensor)
        if literal is None:
            return [f"weights[{quoted(self._weights.key(tensor))}]"]
        natural = {DType.INT64, DType.BOOL, DType.FLOAT64, DType.COMPLEX128}
        if tensor.dtype in natural and tensor.size:
            return [literal]
        if is_of_numpy(tensor.dtype) and tensor.dtype is not DType.STRING:
            self.used.add("numpy")
            return [literal, numpy_name(tensor.dtype)]
        return [literal, quoted(tensor.dtype.label)]

    def sparse(self, sparse: SparseTensor) -> Expression:
        self.used.add("ingot.SparseTensor")
        shape = ", ".join(map(str, sparse.shape))
        return call(
            "SparseTensor",
            self.tensor(sparse.values, quoted(sparse.values.name)),
            self.tensor(sparse.indices, quoted(sparse.indices.name)),
            f"[{shape}]",
        )

    def stated(self, attribute: Attribute, payload: Expression | None) -> Expression:
        """An attribute as an object, for what no keyword can express."""
        self.used |= {"ingot.Attribute", "ingot.AttributeKind"}
        parts: list[Expression] = [quoted(attribute.name)]
        kind = f"AttributeKind.{attribute.kind.name}"
        if attribute.ref:
            parts += [f"kind={kind}", f"ref={quoted(attribute.ref)}"]
        else:
            parts += [payload if payload is not None else self._bare(attribute), kind]
        if attribute.doc_string:
            parts.append(f"doc_string={quoted(attribute.doc_string)}")
        return call("Attribute", *parts)

    def _bare(self, attribute: Attribute) -> Expression:
        return "[]" if attribute.kind.is_list and not attribute.value else self.value(attribute)

    def value(self, attribute: Attribute) -> Expression:
        value: Any = attribute.value
        literal = plain(attribute)
        if literal is not None:
            return literal
        match attribute.kind:
            case AttributeKind.TENSOR:
                return self._tensor_attribute(value)
            case AttributeKind.SPARSE_TENSOR:
                return self.sparse(value)
            case AttributeKind.TYPE:
                return self.type(value)
            case AttributeKind.TENSORS:
                return listed([self._tensor_attribute(item) for item in value])
            case AttributeKind.SPARSE_TENSORS:
                return listed([self.sparse(item) for item in value])
            case AttributeKind.TYPES:
                return listed([self.type(item) for item in value])
        if attribute.kind is AttributeKind.FLOATS:
            literals: list[Expression] = [float32(item) for item in value]
        else:
            literals = items(value)
        if len(value) > INLINE_ITEMS and not any(isinstance(item, bytes) for item in value):
            return f"weights[{quoted(self._weights.list_key(value))}].tolist()"
        return listed(literals)

    def _tensor_attribute(self, tensor: Tensor) -> Expression:
        if tensor.name or tensor.doc_string or tensor.metadata:
            return self.tensor(tensor, quoted(tensor.name))
        literal = elements(tensor)
        if literal is None:
            return f"weights[{quoted(self._weights.key(tensor))}]"
        if not is_of_numpy(tensor.dtype) or tensor.dtype is DType.STRING:
            return self.tensor(tensor, None)
        self.used.add("numpy")
        if tensor.dtype in (DType.INT64, DType.BOOL, DType.FLOAT64) and tensor.size:
            return call("np.array", literal)
        return call("np.array", literal, numpy_name(tensor.dtype))
