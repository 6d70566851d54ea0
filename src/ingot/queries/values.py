"""What a pass may ask of a value: its constant, its numbers, its shape, who computes it and who reads it."""

from __future__ import annotations

from typing import Any

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.infer.driver import Facts
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.ops.facts import Fact, of_constant


def fact(value: Value | None, facts: Facts) -> Fact:
    """What is known of a value; of one made since the inference, its constant or its type."""
    if value is None:
        return Fact(present=False)
    known = facts.get(value)
    if known is not None:
        return known
    if isinstance(value.constant, Tensor) and not value.is_input:
        return of_constant(value.constant)
    return Fact(value.type)


def constant(value: Value | None, facts: Facts) -> Tensor | None:
    """The tensor a value always is; None for a default, which a caller may override."""
    return fact(value, facts).constant


def elements(value: Value | None, facts: Facts) -> Array | None:
    """The elements of a constant."""
    tensor = constant(value, facts)
    return None if tensor is None else tensor.numpy()


def number(value: Value | None, facts: Facts) -> Any:
    """The only element of a constant of one element, as a Python number; None for anything else."""
    tensor = constant(value, facts)
    if tensor is None or tensor.size != 1 or tensor.dtype is DType.STRING:
        return None
    return tensor.numpy().reshape(()).item()


def integers(value: Value | None, facts: Facts) -> list[int] | None:
    """The elements of a value whose integers are all known."""
    known = fact(value, facts)
    if known.integers is not None:
        return known.integers
    tensor = known.constant
    return [int(x) for x in tensor.numpy().reshape(-1)] if tensor is not None and tensor.dtype.is_integer else None


def dtype(value: Value | None, facts: Facts) -> DType | None:
    return fact(value, facts).dtype


def shape(value: Value | None, facts: Facts) -> tuple[Dim, ...] | None:
    """The sizes of a tensor where each is known, as a number or as an expression."""
    sizes = fact(value, facts).shape
    if sizes is None or any(dim is None for dim in sizes):
        return None
    return tuple(dim for dim in sizes if dim is not None)


def rank(value: Value | None, facts: Facts) -> int | None:
    return fact(value, facts).rank


def same_type(a: Value | None, b: Value | None, facts: Facts) -> bool:
    """Whether two tensors are known to have one element type and one shape."""
    sizes = shape(a, facts)
    return sizes is not None and sizes == shape(b, facts) and dtype(a, facts) is dtype(b, facts) is not None


def produced_by(value: Value | None, *names: str) -> Node | None:
    """The node whose first output a value is, if it applies one of these standard operators."""
    if value is None or value.producer is None or value.index != 0:
        return None
    return value.producer if value.producer.applies(*names) else None


def read(node: Node, index: int) -> Value | None:
    """Input `index` of a node; None where it is omitted."""
    return node.inputs[index] if index < len(node.inputs) else None


def only_reader(value: Value) -> Node | None:
    """The one node that reads a value, once, where no graph returns it."""
    uses = value.uses
    return uses[0].node if len(uses) == 1 and not value.is_output else None
