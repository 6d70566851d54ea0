"""Sparse initialisers, which operators that take tensors do not take."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import InputError
from ingot.ir.tensor import SparseTensor
from ingot.ir.types import SparseTensorType, TensorType
from ingot.repair.places import place_of
from ingot.repair.record import Repair, Subject


def make_dense(subject: Subject) -> Iterator[Repair]:
    """Give sparse initialisers their zeros; one with an index outside its shape stays."""
    for graph in subject.model.graphs():
        for value in list(graph.initializers.values()):
            if not isinstance(value.constant, SparseTensor):
                continue
            try:
                value.constant = value.constant.dense()
            except InputError:
                continue
            if value.type is None or isinstance(value.type, SparseTensorType):
                value.type = TensorType(value.constant.dtype, value.constant.shape)
            yield Repair("sparse", place_of(graph), f"initialiser '{value.name}' is dense")
