"""Scan: a graph run once for each slice of its inputs, carrying states and collecting what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError, ShapeError, UnsupportedError
from ingot.ir.clone import copy_graph
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.control.carried import Collection, after_runs, bound, moved, named_sizes, outward, require_arity
from ingot.ops.control.regions import Regions, require_all, require_same_shapes, require_tensors
from ingot.ops.define import Heterogeneous, Runtime, operator, superseded
from ingot.ops.facts import Fact, Inferred
from ingot.ops.older import rank_of, shape_of
from ingot.ops.shapes import axis_of, unify
from ingot.ops.typesets import ALL, ALL_3, ALL_19, ALL_21, ALL_23, ALL_24, ALL_25, INT64, types
from ingot.prim.make import gather, permute, size, slice_
from ingot.prim.make_region import repeated
from ingot.prim.region import BodyArgument
from ingot.prim.tensor import Refused, Tensor

V: TypeAlias = Annotated[
    Array, types("V", {9: ALL_3, 16: ALL, 19: ALL_19, 21: ALL_21, 23: ALL_23, 24: ALL_24, 25: ALL_25})
]
V8: TypeAlias = Annotated[Array, types("V", ALL_3)]
I8: TypeAlias = Annotated[Array, types("I", INT64)]


@operator("Scan", since=(9, 11, 16, 19, 21, 23, 24, 25))
def scan(
    *initial_state_and_scan_inputs: Annotated[V, Heterogeneous()],
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    runtime: Runtime,
) -> Annotated[tuple[V, ...], Heterogeneous()]:
    """The states after `body(*states, *slices) -> *states, *collected` ran for each slice of the last
    `num_scan_inputs` inputs; then what was collected, stacked.

    Each input is cut along its axis, from the front or (direction 1) from the back; outputs are put together so too.
    """
    inputs = initial_state_and_scan_inputs
    carried, into, out = _ways(
        len(inputs),
        body,
        num_scan_inputs,
        (scan_input_axes, scan_input_directions),
        (scan_output_axes, scan_output_directions),
    )
    states: list[Any] = list(inputs[:carried])
    slices = []
    for x, (axis, reverse) in zip(inputs[carried:], into, strict=True):
        along = np.moveaxis(x, axis_of(axis, x.ndim, "scan_input_axes"), 0)
        slices.append(along[::-1] if reverse else along)
    counts = {x.shape[0] for x in slices}
    if len(counts) != 1:
        raise ShapeError(f"the scanned axes differ in size: {[x.shape[0] for x in slices]}")

    def known() -> dict[str, int]:
        shapes = [*map(np.shape, inputs[:carried]), *(x.shape[1:] for x in slices)]
        return {**named_sizes(*runtime.around(body)), **named_sizes(*zip(body.inputs, shapes, strict=True))}

    collected = [Collection(value, carried + k, known) for k, value in enumerate(list(body.outputs)[carried:])]
    for step in range(counts.pop()):
        outputs = runtime.run(body, [*states, *(x[step, ...] for x in slices)])
        states = outputs[:carried]
        for collection, item in zip(collected, outputs[carried:], strict=True):
            collection.add(item)
    stacked = [
        collection.stacked(axis, reverse=reverse) for collection, (axis, reverse) in zip(collected, out, strict=True)
    ]
    return (*states, *stacked)


@scan.infer
def infer(
    *inputs: Fact,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
) -> list[Inferred]:
    carried, into, out = _ways(
        len(inputs),
        body,
        num_scan_inputs,
        (scan_input_axes, scan_input_directions),
        (scan_output_axes, scan_output_directions),
    )
    length: Dim | None = None
    slices: list[TensorType | None] = []
    for fact, (axis, _) in zip(inputs[carried:], into, strict=True):
        slices.append(_slice_type(fact, axis))
        if fact.shape is not None:
            place = axis_of(axis, len(fact.shape), "scan_input_axes")
            length = unify(length, fact.shape[place], "the scanned axes")
    body_inputs = [value.type for value in body.inputs]
    outputs = [value.type for value in body.outputs]
    final = [
        after_runs(fact.type, a, b)
        for fact, a, b in zip(inputs[:carried], body_inputs[:carried], outputs, strict=False)
    ]
    names = bound(zip(body_inputs, [*final, *slices], strict=True))
    results: list[Inferred] = [*final]
    for type_, (axis, _) in zip(outputs[carried:], out, strict=True):
        element = outward(type_, names)
        if not isinstance(element, TensorType) or element.shape is None:
            results.append(element if isinstance(element, TensorType) else None)
            continue
        sizes = list(element.shape)
        sizes.insert(axis_of(axis, len(sizes) + 1, "scan_output_axes"), length)
        results.append(TensorType(element.dtype, tuple(sizes)))
    return results


@scan.body
def into_body(
    *inputs: Fact, body: Graph, num_scan_inputs: int, scan_input_axes: Sequence[int] | None, **_: object
) -> list[Inferred]:
    """The states as they are, and the scanned inputs without the axis they are cut along."""
    carried = _state_count(len(inputs), num_scan_inputs, body)
    axes = _per_value("scan_input_axes", scan_input_axes, num_scan_inputs)
    types_: list[Inferred] = [fact.type for fact in inputs[:carried]]
    for fact, axis in zip(inputs[carried:], axes, strict=True):
        types_.append(_slice_type(fact, axis))
    return types_


@scan.lower
def lower(
    *initial_state_and_scan_inputs: Tensor | None,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
    regions: Regions,
) -> list[Tensor]:
    """A region that repeats as often as the scanned axes are long, and reads a slice of each in every run."""
    require_tensors(initial_state_and_scan_inputs)
    inputs = require_all(initial_state_and_scan_inputs)
    body = copy_graph(body)
    carried, into, out = _ways(
        len(inputs),
        body,
        num_scan_inputs,
        (scan_input_axes, scan_input_directions),
        (scan_output_axes, scan_output_directions),
    )
    first = inputs[carried]
    trips = first.shape[into[0][0] % first.rank]
    number = BodyArgument(DType.INT64, (), "number")
    initial = inputs[:carried]
    states = [BodyArgument(start.dtype, start.shape, f"state{place}") for place, start in enumerate(initial)]
    slices = []
    for x, (axis, reverse) in zip(inputs[carried:], into, strict=True):
        axis %= x.rank
        if x.shape[axis] != trips:
            raise Refused("scanned axes whose sizes are not known to be equal")
        at = size(trips) - 1 - number if reverse else number
        places: list[Tensor | int] = [at if own == axis else own - (own > axis) for own in range(x.rank)]
        slices.append(gather(x, places, x.shape[:axis] + x.shape[axis + 1 :]))
    results = regions.body(body, [*states, *slices])
    require_same_shapes(states, results)
    rows = results[carried:]
    last, rows_of_runs = repeated(trips, None, initial, number, states, None, results[:carried], rows, trips)
    stacked = [
        _put_together(x, trips, axis % x.rank, reverse) for x, (axis, reverse) in zip(rows_of_runs, out, strict=True)
    ]
    return [*last, *stacked]


def _put_together(rows: Tensor, count: Dim, axis: int, reverse: bool) -> Tensor:
    """Rows stacked along the first axis, as an output that has them along another, the last row first if `reverse`."""
    if reverse:
        rest = (0,) * (rows.rank - 1)
        rows = slice_(rows, (count - 1, *rest), rows.shape, (-1, *(1 for _ in rest)))
    order = list(range(1, rows.rank))
    order.insert(axis, 0)
    return permute(rows, order)


@scan.downgrade
def downgrade(
    op: Any,
    *inputs: Value,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
    version: int,
) -> Any:
    """A batch of one, scanned along its second axis."""
    if version >= scan.since[0]:
        raise UnsupportedError("it does not carry values of this type")
    carried = _state_count(len(inputs), num_scan_inputs, body)
    axes = _per_value("scan_input_axes", scan_input_axes, num_scan_inputs)
    batch = [op.Unsqueeze(state, axes=[0]) for state in inputs[:carried]]
    for value, axis in zip(inputs[carried:], axes, strict=True):
        batch.append(op.Unsqueeze(_axis_moved(op, value, axis_of(axis, rank_of(value)), 0, rank_of(value)), axes=[0]))
    ranks = [rank_of(value) + 1 for value in list(body.outputs)[carried:]]
    length = shape_of(inputs[carried])[axis_of(axes[0], rank_of(inputs[carried]))]
    scanned = op.Scan(
        None,
        *batch,
        body=moved(body, "body"),
        num_scan_inputs=num_scan_inputs,
        directions=scan_input_directions or None,
    )
    results = [op.Squeeze(each, axes=[0]) for each in (scanned if isinstance(scanned, tuple) else (scanned,))]
    axes_out = _per_value("scan_output_axes", scan_output_axes, len(ranks))
    reversed_out = _flags("scan_output_directions", scan_output_directions, len(ranks))
    for place, (axis, backwards, rank) in enumerate(zip(axes_out, reversed_out, ranks, strict=True), carried):
        if backwards:
            if not isinstance(length, int):
                raise UnsupportedError("an output is put together backwards, and how many parts it has is not known")
            results[place] = op.Gather(results[place], list(range(length))[::-1], axis=0)
        results[place] = _axis_moved(op, results[place], 0, axis_of(axis, rank), rank)
    return results


Way: TypeAlias = tuple[int, bool]
"""The axis along which a value is cut or put together, and whether that goes backwards."""


def _ways(
    inputs: int,
    body: Graph,
    scanned: int,
    into: tuple[Sequence[int] | None, Sequence[int] | None],
    out: tuple[Sequence[int] | None, Sequence[int] | None],
) -> tuple[int, list[Way], list[Way]]:
    """How many states there are, and the way of every scanned input and of every collected output."""
    carried = _state_count(inputs, scanned, body)
    collects = len(body.outputs) - carried
    return (
        carried,
        list(
            zip(
                _per_value("scan_input_axes", into[0], scanned),
                _flags("scan_input_directions", into[1], scanned),
                strict=True,
            )
        ),
        list(
            zip(
                _per_value("scan_output_axes", out[0], collects),
                _flags("scan_output_directions", out[1], collects),
                strict=True,
            )
        ),
    )


def _axis_moved(op: Any, value: Any, source: int, target: int, rank: int) -> Any:
    """A tensor of `rank` axes with one of them put elsewhere."""
    if source == target:
        return value
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return op.Transpose(value, perm=order)


def _slice_type(fact: Fact, axis: int) -> TensorType | None:
    if fact.dtype is None or fact.shape is None:
        return None if fact.dtype is None else TensorType(fact.dtype)
    place = axis_of(axis, len(fact.shape), "scan_input_axes")
    return TensorType(fact.dtype, fact.shape[:place] + fact.shape[place + 1 :])


def _state_count(inputs: int, scanned: int, body: Graph) -> int:
    if not 1 <= scanned <= inputs:
        raise CheckError(f"num_scan_inputs is {scanned}, of {inputs} inputs")
    require_arity(body, inputs, inputs - scanned)
    return inputs - scanned


def _per_value(name: str, numbers: Sequence[int] | None, count: int) -> Sequence[int]:
    if not numbers:
        return [0] * count
    if len(numbers) != count:
        raise CheckError(f"{name} has {len(numbers)} numbers for {count} values")
    return numbers


def _flags(name: str, numbers: Sequence[int] | None, count: int) -> list[bool]:
    flags = _per_value(name, numbers, count)
    if not set(flags) <= {0, 1}:
        raise CheckError(f"{name} holds {list(flags)}: 0 is forward, 1 backward")
    return [flag == 1 for flag in flags]


@operator("Scan", since=8)
def scan_8(
    sequence_lens: I8 | None = None,
    /,
    *initial_state_and_scan_inputs: Annotated[V8, Heterogeneous()],
    body: Graph,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> Annotated[tuple[V8, ...], Heterogeneous()]:
    """The same for each row of a batch, along the second axis, up to the length of the row."""
    raise superseded()


@scan_8.upgrade
def upgrade(
    op: Any,
    lengths: Value | None,
    /,
    *inputs: Value,
    body: Graph,
    num_scan_inputs: int,
    directions: Sequence[int] | None,
) -> Any:
    """A Scan over the batch, whose body is a Scan over the row; rows are padded with zeros to the longest."""
    inner = moved(body, "body")
    carried = _state_count(len(inputs), num_scan_inputs, inner)

    def row(*values: Any) -> Any:
        states, scanned = values[:carried], list(values[carried : len(inputs)])
        missing = None
        if lengths is not None:
            length = op.Reshape(values[-1], [1])
            missing = op.Sub(op.Shape(scanned[0], start=0, end=1), length)
            scanned = [op.Slice(x, [0], length, [0]) for x in scanned]
        results = op.Scan(
            *states, *scanned, body=inner, num_scan_inputs=num_scan_inputs, scan_input_directions=directions or None
        )
        results = results if isinstance(results, tuple) else (results,)
        if missing is None:
            return results
        pads = op.Concat([0], missing, axis=0)
        return (*results[:carried], *(op.Pad(x, pads, None, [0]) for x in results[carried:]))

    return op.Scan([], [*inputs, *([] if lengths is None else [lengths])], body=row)
