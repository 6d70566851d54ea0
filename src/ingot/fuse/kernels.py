"""The kernels of one stored tensor: its expression is read symbolically, down to loads of stored tensors."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.dims import Dim
from ingot.fuse.attention import attention_nest
from ingot.fuse.contraction import contraction_nest
from ingot.fuse.decision import Reading, Store
from ingot.fuse.descent import descent_nest
from ingot.fuse.limits import FusionLimits
from ingot.fuse.nest import nest_of
from ingot.fuse.read import Placed, Requirement, StoreFirst
from ingot.fuse.sequential import running, scattered
from ingot.fuse.sort import sort_nest
from ingot.fuse.suppression import suppression_nest
from ingot.loops.ir import Index, Kernel, Nest
from ingot.loops.kernel import kernel_of
from ingot.prim.descent import Descent
from ingot.prim.order import Order
from ingot.prim.suppression import Suppression
from ingot.prim.tensor import Concat, Scan, Scatter, Tensor


def read(store: Store, placed: Mapping[Tensor, Placed], limits: FusionLimits) -> Reading | Requirement:
    """The kernels of a step that may load what is `placed`, or what has to be stored before there can be any."""
    try:
        return _kernels(store, placed, limits)
    except StoreFirst as first:
        return first.requirement


def _kernels(store: Store, placed: Mapping[Tensor, Placed], limits: FusionLimits) -> Reading:
    name, tensor, target = store.name, store.tensor, store.target
    if store.attention is not None:
        attention = attention_nest(store.attention, store.chain, target, placed, limits)
        return _reading(kernel_of(name, (attention,), (target.buffer,)))
    if store.sides is not None:
        nest = contraction_nest(store.chain, store.sides, target, placed, name, limits)
        constants = {} if nest.packed is None else {nest.product.rhs.buffer: nest.packed}
        return Reading((kernel_of(name, (nest.product,), (target.buffer,)),), constants)
    match tensor:
        case Concat():
            return _reading(kernel_of(name, _parts(tensor, store, placed), (target.buffer,)))
        case Scatter():
            copied = nest_of(tensor.x, target, store.order, placed)
            written = scattered(tensor, target, placed)
            both = ((f"{name}_copy", copied), (name, written))
            return _reading(*(kernel_of(own, (nest,), (target.buffer,)) for own, nest in both))
        case Scan():
            statements = running(tensor, target, store.order, placed)
            return _reading(kernel_of(name, (statements,), (target.buffer,)))
        case Descent():
            return _reading(kernel_of(name, (descent_nest(tensor, target, placed),), (target.buffer,)))
        case Order():
            return _reading(kernel_of(name, (sort_nest(tensor, target, placed),), (target.buffer,)))
        case Suppression():
            return _reading(kernel_of(name, (suppression_nest(tensor, target, placed),), (target.buffer,)))
    plain = nest_of(store.source, target, store.order, placed, store.start)
    return _reading(kernel_of(name, (plain,), (target.buffer,)))


def _parts(tensor: Concat, store: Store, placed: Mapping[Tensor, Placed]) -> list[Nest]:
    """A nest for each part, one behind the other."""
    nests: list[Nest] = []
    start: Dim = 0
    for part in tensor.parts:
        begin = Index((), start * store.target.strides[tensor.axis])
        nests.append(nest_of(part, store.target, store.order, placed, begin))
        start = start + part.shape[tensor.axis]
    return nests


def _reading(*kernels: Kernel) -> Reading:
    return Reading(kernels, {})
