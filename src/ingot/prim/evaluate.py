"""Primitives evaluated with numpy: the semantics of a lowering, without any code generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dims import Dim
from ingot.dims import evaluate as size_of
from ingot.dtypes import Array
from ingot.prim.coded import Coded, Dequantised
from ingot.prim.descent import Descent, votes_of
from ingot.prim.functions import FUNCTIONS, identity
from ingot.prim.order import Order, places_in_order
from ingot.prim.region import BodyArgument, Branch, RegionResult, Repeat
from ingot.prim.suppression import Suppression, selected_boxes
from ingot.prim.tensor import (
    AssumeShape,
    CallResult,
    Concat,
    Constant,
    Contract,
    Expand,
    Gather,
    Iota,
    Map,
    Pad,
    Parameter,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Scatter,
    Size,
    SizeReading,
    Slice,
    Tensor,
    Window,
)
from ingot.prim.walk import in_order

_ACCUMULATE = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
_REDUCE = {**_ACCUMULATE, "and": np.logical_and, "or": np.logical_or}


def evaluate(results: Sequence[Tensor], inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> list[Array]:
    """The arrays of `results`, from inputs and sizes by name; calls cannot be evaluated."""
    with np.errstate(all="ignore"):
        return _evaluated(results, {}, inputs, sizes)


def read_sizes(readings: Sequence[CallResult], inputs: Mapping[str, Array], sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes by name, and with them those of readings, in order; ValueError where one is below zero."""
    known = dict(sizes)
    for reading in readings:
        assert isinstance(reading.call, SizeReading)
        (array,) = evaluate([reading.call.x], inputs, known)
        if (array < 0).any():
            raise ValueError(f"sizes {array.tolist()}")
        known.update(zip(map(str, reading.shape), array.tolist(), strict=True))
    return known


def _evaluated(
    results: Sequence[Tensor], known: Mapping[Tensor, Array], inputs: Mapping[str, Array], sizes: Mapping[str, int]
) -> list[Array]:
    """The arrays of `results`; `known` holds the arguments of a body while it runs, what depends on others waits."""
    arrays = dict(known)
    waiting: dict[Tensor, frozenset[Tensor]] = {}
    for tensor in in_order(results):
        if tensor in arrays:
            continue
        waiting[tensor] = _unknown(tensor, arrays, waiting)
        if waiting[tensor]:
            continue
        if isinstance(tensor, Parameter):
            arrays[tensor] = inputs[tensor.name]
            continue
        shape = tuple(size_of(size, sizes) for size in tensor.shape)
        if isinstance(tensor, RegionResult):
            array = _region_result(tensor, arrays, inputs, sizes)
        else:
            reads = [arrays[operand] for operand in tensor.reads]
            array = np.asarray(_compute(tensor, reads, shape, arrays, sizes))
        assert array.shape == shape, f"{type(tensor).__name__}: {array.shape} is not {shape}"
        assert array.dtype == tensor.dtype.numpy, f"{type(tensor).__name__}: {array.dtype} is not {tensor.dtype}"
        arrays[tensor] = array
    return [arrays[result] for result in results]


def _unknown(
    tensor: Tensor, arrays: Mapping[Tensor, Array], waiting: Mapping[Tensor, frozenset[Tensor]]
) -> frozenset[Tensor]:
    """The arguments of bodies around a tensor that have no value yet."""
    if isinstance(tensor, BodyArgument):
        return frozenset({tensor})
    read = frozenset[Tensor]().union(
        *(waiting.get(operand, frozenset()) for operand in tensor.reads if operand not in arrays)
    )
    if isinstance(tensor, RegionResult) and isinstance(tensor.region, Repeat):
        return read - {tensor.region.number, *tensor.region.states}
    return read


def _region_result(
    tensor: RegionResult, arrays: Mapping[Tensor, Array], inputs: Mapping[str, Array], sizes: Mapping[str, int]
) -> Array:
    region = tensor.region
    if isinstance(region, Branch):
        body = region.then if arrays[region.condition] else region.otherwise
        return _evaluated([body[tensor.index]], arrays, inputs, sizes)[0]
    limit = region.trips
    most = arrays[limit].item() if isinstance(limit, Tensor) else None if limit is None else size_of(limit, sizes)
    states = [arrays[state] for state in region.initial]
    rows: list[Array] = []
    going = region.condition is None or bool(arrays[region.condition])
    number = 0
    while going and (most is None or number < most):
        known = {**arrays, region.number: np.asarray(number)}
        known.update(zip(region.states, states, strict=True))
        results = _evaluated(region.bodies[0], known, inputs, sizes)
        states = results[: len(states)]
        going = region.going is None or bool(results[len(states)])
        if tensor.is_rows:
            rows.append(results[len(results) - len(region.rows) + tensor.index - len(states)])
        number += 1
    if not tensor.is_rows:
        return states[tensor.index]
    shape = tuple(size_of(size, sizes) for size in tensor.shape)
    return np.stack(rows) if rows else np.empty(shape, tensor.dtype.numpy)


def _compute(
    tensor: Tensor, reads: list[Array], shape: tuple[int, ...], arrays: Mapping[Tensor, Array], sizes: Mapping[str, int]
) -> Array:
    match tensor:
        case Constant():
            return tensor.array
        case Coded():
            return tensor.array()
        case Size():
            return np.asarray(size_of(tensor.size, sizes))
        case Iota():
            along = [-1 if axis == tensor.axis else 1 for axis in range(len(shape))]
            return np.broadcast_to(np.arange(shape[tensor.axis]).reshape(along), shape)
        case Map(function="cast"):
            return _cast(reads[0], tensor.dtype.numpy)
        case Map(function="bitcast"):
            return np.ascontiguousarray(reads[0]).reshape(-1).view(tensor.dtype.numpy).reshape(shape)
        case Map():
            return FUNCTIONS[tensor.function].compute(*reads)
        case Reduce():
            return _reduce(tensor, reads[0])
        case Contract():
            left, right, result = tensor.labels
            dtype = tensor.dtype.numpy
            wide = [read.astype(dtype, copy=False) if read.dtype.itemsize == 2 else read for read in reads]
            return np.asarray(np.einsum(f"{left},{right}->{result}", *wide, dtype=dtype))
        case AssumeShape() | Dequantised():
            return reads[0]
        case Permute():
            return reads[0].transpose(tensor.order)
        case Expand():
            return np.broadcast_to(reads[0], shape)
        case Reshape():
            return reads[0].reshape(shape)
        case Slice():
            return reads[0][_slices(tensor.starts, tensor.steps, shape, sizes)]
        case Pad():
            array = np.full(shape, tensor.fill, tensor.dtype.numpy)
            array[_slices(tensor.before, (1,) * len(shape), reads[0].shape, sizes)] = reads[0]
            return array
        case Window():
            return _windows(tensor, reads[0], shape)
        case Gather():
            return reads[0][_places(tensor.places, arrays, shape)]
        case Scatter():
            return _scatter(tensor, reads, arrays)
        case Concat():
            return np.concatenate(reads, tensor.axis)
        case Scan():
            return _scan(tensor, reads[0])
        case Descent():
            rows, targets = shape
            return votes_of(tensor.trees, tensor.function, reads[0], (rows, targets), reads[1:])
        case Order():
            return places_in_order(reads[0], shape[-1], tensor.descending)
        case Suppression():
            return selected_boxes(tensor, reads, shape)
    raise AssertionError(f"{type(tensor).__name__} cannot be evaluated")


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Elements as another type: floats to the nearest integer towards zero in range, NaN to zero."""
    if dtype.kind not in "iu" or x.dtype.kind in "biu":
        return x.astype(dtype)
    ends = np.iinfo(dtype)
    wide = np.nan_to_num(x.astype(np.float64), nan=0.0)
    low, high = wide <= float(ends.min), wide >= float(ends.max)
    inside = np.where(low | high, 0.0, wide).astype(dtype)
    return np.where(low, ends.min, np.where(high, ends.max, inside)).astype(dtype)


def _reduce(tensor: Reduce, x: Array) -> Array:
    start = identity(tensor.function, tensor.dtype)
    return np.asarray(_REDUCE[tensor.function].reduce(x, axis=tensor.axes, keepdims=True, dtype=x.dtype, initial=start))


def _slices(
    starts: Sequence[Dim], steps: Sequence[int], shape: tuple[int, ...], sizes: Mapping[str, int]
) -> tuple[slice, ...]:
    slices = []
    for start, step, size in zip(starts, steps, shape, strict=True):
        first = size_of(start, sizes)
        end = first + size * step
        slices.append(slice(first, None if end < 0 else end, step) if size else slice(0, 0))
    return tuple(slices)


def _windows(tensor: Window, x: Array, shape: tuple[int, ...]) -> Array:
    strides = list(x.strides)
    inner = [x.strides[axis] * dilation for axis, dilation in zip(tensor.axes, tensor.dilations, strict=True)]
    for axis, stride in zip(tensor.axes, tensor.strides, strict=True):
        strides[axis] *= stride
    return np.lib.stride_tricks.as_strided(x, shape, (*strides, *inner), writeable=False)


def _places(
    places: Sequence[Tensor | int], arrays: Mapping[Tensor, Array], shape: tuple[int, ...]
) -> tuple[Array, ...]:
    own = np.indices(shape, sparse=True) if shape else ()
    return tuple(own[place] if isinstance(place, int) else arrays[place] for place in places)


def _scatter(tensor: Scatter, reads: list[Array], arrays: Mapping[Tensor, Array]) -> Array:
    array, updates = reads[0].copy(), reads[1]
    places = tuple(np.broadcast_to(p, updates.shape) for p in _places(tensor.places, arrays, updates.shape))
    if tensor.function is None:
        for index in np.ndindex(updates.shape):
            array[tuple(place[index] for place in places)] = updates[index]
    else:
        _ACCUMULATE[tensor.function].at(array, places, updates)
    return array


def _scan(tensor: Scan, x: Array) -> Array:
    work = np.flip(x, tensor.axis) if tensor.reverse else x
    result = np.asarray(_ACCUMULATE[tensor.function].accumulate(work, tensor.axis, dtype=x.dtype))
    if tensor.exclusive:
        start = 0 if tensor.function == "add" else 1
        result = np.roll(result, 1, tensor.axis)
        result[(slice(None),) * tensor.axis + (slice(0, 1),)] = start
    return np.flip(result, tensor.axis) if tensor.reverse else result
