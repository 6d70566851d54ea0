"""Rows that products with weights in codes read, stored as the halves that they are.

A model of halves widens them for such a product, as a processor wants them. On a GPU tensor cores multiply halves: the
kernel that makes such rows stores what it would widen, and one that does nothing else is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from ingot.dtypes import DType
from ingot.fuse.build import Fused
from ingot.loops.ir import (
    Apply,
    Buffer,
    Contraction,
    Kernel,
    KernelNest,
    Load,
    Nest,
    Scalar,
    Store,
    kernels_in,
    read_by_regions,
)
from ingot.loops.kernel import kernel_of
from ingot.loops.walk import Node, transform, walk
from ingot.prim.functions import NARROW_FLOATS

AnyNest = TypeVar("AnyNest", bound=KernelNest)


def narrow_rows(fused: Fused) -> Mapping[Kernel, tuple[Kernel, ...]]:
    """What becomes of the kernels that make or read such rows: others, or none."""
    kernels = list(kernels_in(fused.steps))
    rows, others = _read(kernels)
    hidden = rows - others - fused.visible - set(read_by_regions(fused.steps))
    stored: dict[Buffer, list[Store]] = defaultdict(list)
    for kernel in kernels:
        for store in _stores(kernel):
            stored[store.buffer].append(store)
    narrow = {}
    for buffer in hidden:
        widened = [_widened(store) for store in stored[buffer]]
        kinds = {value.dtype for value in widened if value is not None}
        if widened and None not in widened and len(kinds) == 1:
            narrow[buffer] = Buffer(buffer.name, kinds.pop(), buffer.elements)
    copied = {}
    for kernel in kernels:
        source = _copied(kernel)
        if source is not None and kernel.writes[0] in narrow and len(stored[kernel.writes[0]]) == 1:
            copied[kernel] = kernel.writes[0], source
    narrow.update(copied.values())
    changed: dict[Kernel, tuple[Kernel, ...]] = {}
    for kernel in kernels:
        if kernel in copied:
            changed[kernel] = ()
        elif not {*kernel.reads, *kernel.writes}.isdisjoint(narrow):
            nests = tuple(_narrowed(nest, narrow) for nest in kernel.nests)
            changed[kernel] = (kernel_of(kernel.name, nests, [narrow.get(own, own) for own in kernel.writes]),)
    return changed


def _read(kernels: list[Kernel]) -> tuple[set[Buffer], set[Buffer]]:
    """The buffers of rows that products with codes multiply, and those that are read in another way."""
    rows: set[Buffer] = set()
    others: set[Buffer] = set()
    for kernel in kernels:
        for nest in kernel.nests:
            is_coded = isinstance(nest, Contraction) and nest.codes is not None
            for node in _nodes(nest):
                if isinstance(node, Load):
                    (rows if is_coded and node is nest.lhs else others).add(node.buffer)  # type: ignore[union-attr]
    return {buffer for buffer in rows if buffer.dtype is DType.FLOAT32}, others


def _nodes(nest: KernelNest) -> Iterator[Node]:
    return walk(*nest) if isinstance(nest, tuple) else walk(nest)


def _stores(kernel: Kernel) -> Iterator[Store]:
    return (node for nest in kernel.nests for node in _nodes(nest) if isinstance(node, Store))


def _widened(store: Store) -> Scalar | None:
    """The half that a store widens."""
    match store.value:
        case Apply(function="cast", dtype=DType.FLOAT32, arguments=(value,)) if value.dtype in NARROW_FLOATS:
            return value
    return None


def _copied(kernel: Kernel) -> Buffer | None:
    """The buffer whose elements a kernel widens, all of them in order, and does nothing else."""
    if len(kernel.nests) != 1 or not isinstance(kernel.nests[0], Nest):
        return None
    stores = list(_stores(kernel))
    if len(stores) != 1:
        return None
    value = _widened(stores[0])
    if not isinstance(value, Load) or value.where or value.index != stores[0].index:
        return None
    return value.buffer if value.buffer.elements == stores[0].buffer.elements else None


def _narrowed(nest: AnyNest, narrow: Mapping[Buffer, Buffer]) -> AnyNest:
    def change(node: Node) -> Node:
        match node:
            case Load(buffer=buffer) if buffer in narrow:
                return replace(node, dtype=narrow[buffer].dtype, buffer=narrow[buffer])
            case Store(buffer=buffer) if buffer in narrow:
                value = _widened(node)
                assert value is not None
                return Store(narrow[buffer], node.index, value)
        return node

    if isinstance(nest, tuple):
        return tuple(transform(statement, change) for statement in nest)  # type: ignore[return-value]
    return transform(nest, change)
