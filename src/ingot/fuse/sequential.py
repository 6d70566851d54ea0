"""Loops whose order matters: scatters in the order of their updates, and prefix sums along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.fuse.read import Place, Placed, Reader, StoreFirst, linear, of_var
from ingot.loops.ir import (
    Apply,
    CheckedIndex,
    For,
    Index,
    Kind,
    Let,
    Literal,
    Load,
    Local,
    Scalar,
    Statement,
    Store,
    Update,
    Var,
)
from ingot.prim.functions import identity
from ingot.prim.tensor import Reduce, Scan, Scatter, Tensor


def scattered(tensor: Scatter, target: Placed, placed: Mapping[Tensor, Placed]) -> tuple[Statement, ...]:
    """The updates of a scatter written in order into `target`, which holds what they are written over."""
    updates = tensor.updates
    variables = [Var(f"i{axis}", size) for axis, size in enumerate(updates.shape)]
    at = tuple(_index(var) for var in variables)
    reader = Reader(placed, _refuse_reductions)
    place = tuple(
        at[coordinate]
        if isinstance(coordinate, int)
        else Index(((CheckedIndex(reader.read(coordinate, at), size), 1),))
        for coordinate, size in zip(tensor.places, tensor.shape, strict=True)
    )
    index = linear(place, target.strides)
    value: Scalar = reader.read(updates, at)
    if tensor.function is not None:
        value = Apply(tensor.dtype, tensor.function, (Load(tensor.dtype, target.buffer, index), value))
    body: tuple[Statement, ...] = (Store(target.buffer, index, value),)
    for number, var in enumerate(reversed(variables)):
        if var.extent != 1:
            independent = number == 0 and _only_directly(tensor, len(variables) - 1)
            body = (For(var, body, Kind.PARALLEL if independent else Kind.SERIAL),)
    return body


def _only_directly(tensor: Scatter, axis: int) -> bool:
    """Whether an axis of the updates is an axis of the result, so that no two of its elements meet."""
    return any(place == axis for place in tensor.places if isinstance(place, int))


def running(
    tensor: Scan, target: Placed, order: Sequence[int], placed: Mapping[Tensor, Placed]
) -> tuple[Statement, ...]:
    """A scan (prefix sum) stored at `target`, rows parallel."""
    variables = {axis: Var(f"i{axis}", size) for axis, size in enumerate(tensor.shape)}
    along = variables[tensor.axis]
    forward = tuple(_index(variables[axis]) for axis in range(tensor.rank))
    last = tensor.shape[tensor.axis] - 1
    step = of_var(along) if not tensor.reverse else of_var(along).times(-1).plus(last)
    at: Place = tuple(step if axis == tensor.axis else index for axis, index in enumerate(forward))
    reader = Reader(placed, _refuse_reductions)
    total = Local(tensor.dtype, "total")
    start = Literal(tensor.dtype, identity(tensor.function, tensor.dtype).item())
    update = Update("total", tensor.function, reader.read(tensor.x, at))
    store = Store(target.buffer, linear(at, target.strides), total)
    inner: tuple[Statement, ...] = (store, update) if tensor.exclusive else (update, store)
    loops: tuple[Statement, ...] = (Let("total", start), For(along, inner))
    rows = [axis for axis in order if axis != tensor.axis and tensor.shape[axis] != 1]
    for axis in reversed(rows):
        loops = (For(variables[axis], loops, Kind.PARALLEL),)
    return loops


def _index(var: Var) -> Index:
    return Index() if var.extent == 1 else of_var(var)


def _refuse_reductions(tensor: Tensor, _at: Place) -> Scalar | None:
    if isinstance(tensor, Reduce):
        raise StoreFirst(tensor, "it is read one after another")
    return None
