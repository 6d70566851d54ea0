"""Outputs whose type or shape a model does not declare."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.ir.types import SparseTensorType, TensorType
from ingot.repair.record import Repair, Subject


def declare_outputs(subject: Subject) -> Iterator[Repair]:
    """Declare the type of outputs of the main graph that have none, or no shape, where inference finds one."""
    for value in subject.model.graph.outputs:
        declared = value.type
        lacks_shape = isinstance(declared, TensorType | SparseTensorType) and declared.shape is None
        inferred = subject.facts.of(value).type
        if (declared is None or lacks_shape) and inferred is not None and getattr(inferred, "shape", ()) is not None:
            value.type = inferred
            yield Repair("untyped", "the main graph", f"output '{value.name}' is declared {inferred}")
