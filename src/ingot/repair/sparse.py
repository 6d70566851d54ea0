"""Sparse initialisers, which operators that take tensors do not take."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import InputError, UnsupportedError
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor
from ingot.ir.types import SparseTensorType, TensorType
from ingot.ir.value import Value
from ingot.ops.limit import dense
from ingot.ops.typesets import name_of
from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def make_dense(subject: Subject) -> Iterator[Repair]:
    """Give sparse initialisers that are used as tensors their zeros.

    One stays that has an index outside its shape, or that takes more bytes than a result may.
    """
    for graph in subject.model.graphs():
        for value in list(graph.initializers.values()):
            if not isinstance(value.constant, SparseTensor) or not _is_used_as_tensor(value, subject):
                continue
            try:
                value.constant = dense(value.constant)
            except (InputError, UnsupportedError):
                continue
            if value.type is None or isinstance(value.type, SparseTensorType):
                value.type = TensorType(value.constant.dtype, value.constant.shape)
            yield Repair("sparse", place_of(graph), f"initialiser '{value.name}' is dense")


def _is_used_as_tensor(value: Value, subject: Subject) -> bool:
    """Whether a node reads a sparse value that takes only tensors, or a graph returns it as one."""
    if value.is_output and not isinstance(value.type, SparseTensorType):
        return True
    return any(not _takes_sparse(node, index, value, subject) for node, index in value.uses)


def _takes_sparse(node: Node, index: int, value: Value, subject: Subject) -> bool:
    """Whether the operator of a node takes a sparse value as its input `index`; one that is not known does."""
    if subject.model.function_of(node) is not None:
        return False
    operator = subject.catalog.newest(node.domain, node.op_type)
    if operator is None or not operator.inputs:
        return True
    assert isinstance(value.constant, SparseTensor)
    formal = operator.inputs[min(index, len(operator.inputs) - 1)]
    return name_of(value.constant.type) in formal.types.at(operator.version)
