"""What onnxruntime does not ask of a model: changes in memory before a session is made of it."""

from __future__ import annotations

from dataclasses import replace

from ingot.dims import Dim, Expr, symbols
from ingot.errors import InputError, UnsupportedError
from ingot.ir.attribute import AttributeKind
from ingot.ir.interface import change_shapes
from ingot.ir.model import Model
from ingot.ir.tensor import SparseTensor
from ingot.ir.types import SequenceType, SparseTensorType, TensorType
from ingot.ops.limit import dense


def loosen(model: Model) -> bool:
    """Make declared types no stricter than onnxruntime takes them, and what is sparse dense; whether any changed."""
    unknown = forget_unknown_sizes(model)
    elements = forget_sizes_in_sequences(model)
    return make_dense(model) or unknown or elements


def forget_unknown_sizes(model: Model) -> bool:
    """Make sizes that exporters mark as unknown by a negative number or by the name `?` unknown; whether any was."""
    return change_shapes(model.graphs(), lambda shape: tuple(_known(dim) for dim in shape))


def forget_sizes_in_sequences(model: Model) -> bool:
    """Let the tensors in a sequence that is fed have any shape; whether a model declares one."""
    changed = False
    for value in model.graph.inputs:
        if isinstance(value.type, SequenceType) and isinstance(value.type.element, TensorType):
            changed |= value.type.element.shape is not None
            value.type = replace(value.type, element=replace(value.type.element, shape=None))
    return changed


def make_dense(model: Model) -> bool:
    """Declare sparse inputs and outputs as dense, and write sparse constants so; whether there was any.

    A constant stays that has an index outside its shape, or that takes more bytes than a result may.
    """
    changed = False
    for value in (*model.graph.inputs, *model.graph.outputs):
        if isinstance(value.type, SparseTensorType):
            value.type = TensorType(value.type.dtype, value.type.shape)
            changed = True
    for node in model.nodes():
        for attribute in list(node.attributes.values()) if node.applies("Constant") else ():
            if attribute.kind is AttributeKind.SPARSE_TENSOR and isinstance(attribute.value, SparseTensor):
                try:
                    whole = dense(attribute.value)
                except (InputError, UnsupportedError):
                    continue
                del node.attributes[attribute.name]
                node.attributes["value"] = whole
                changed = True
    return changed


def _known(dim: Dim | None) -> Dim | None:
    if isinstance(dim, Expr):
        return None if symbols(dim) <= {"?", ""} else dim
    return None if dim is None or dim < 0 else dim
