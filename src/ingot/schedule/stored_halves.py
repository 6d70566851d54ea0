"""What kernels on a GPU store only for others to convert it: stored, or read, in the type that it comes from.

Halves that are widened are stored as halves where every reader may widen them: a processor wants them widened once, and
a GPU moves half the bytes. So is what every reader rounds to halves. Products with weights in codes multiply the halves
themselves, in their rows. A kernel that does nothing but widen is left out, and so is one that converts otherwise, if
one elementwise kernel alone reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite

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
    Recurrence,
    Scalar,
    Statement,
    Store,
    collected_by_loops,
    kernels_in,
    read_by_regions,
)
from ingot.loops.kernel import kernel_of
from ingot.loops.walk import Node, children, transform, walk
from ingot.prim.functions import NARROW_FLOATS

_FLOATS = {*NARROW_FLOATS, DType.FLOAT32, DType.FLOAT64}


def stored_halves(fused: Fused) -> Mapping[Kernel, tuple[Kernel, ...]]:
    """What becomes of the kernels that store or read such buffers: others, or none."""
    kernels = list(kernels_in(fused.steps))
    fixed = _fixed(kernels) | fused.visible | {*read_by_regions(fused.steps), *collected_by_loops(fused.steps)}
    stored: dict[Buffer, list[Store]] = defaultdict(list)
    readers: dict[Buffer, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        for store in _stores(kernel):
            stored[store.buffer].append(store)
        for buffer in kernel.reads:
            readers[buffer].append(kernel)
    sources = {}
    rounded = _rounded(kernels)
    for buffer, own in stored.items():
        if buffer in fixed or not readers[buffer]:
            continue
        kinds = {value.dtype if (value := _widened(store)) is not None else DType.FLOAT32 for store in own}
        kind = kinds.pop() if len(kinds) == 1 and buffer.dtype is DType.FLOAT32 else DType.FLOAT32
        if kind is not DType.FLOAT32 or buffer in rounded:
            kind = rounded.get(buffer, kind)
            sources[buffer] = Buffer(buffer.name, kind, buffer.elements)
    changed: dict[Kernel, tuple[Kernel, ...]] = {}
    for kernel in kernels:
        converted = _converted(kernel)
        if converted is None or converted[0] in fixed or len(stored[converted[0]]) > 1:
            continue
        to, source = converted
        if source in sources or to in sources.values() or len(stored[source]) > 1:
            continue
        if to in sources or (len(readers[to]) == 1 and _is_elementwise(readers[to][0])):
            sources[to] = source
            changed[kernel] = ()
    for kernel in kernels:
        if kernel not in changed and not {*kernel.reads, *kernel.writes}.isdisjoint(sources):
            nests = tuple(_changed(nest, sources) for nest in kernel.nests)
            changed[kernel] = (kernel_of(kernel.name, nests, [sources.get(own, own) for own in kernel.writes]),)
    return changed


def _rounded(kernels: list[Kernel]) -> dict[Buffer, DType]:
    """The buffers of float32 that every reader rounds to the same halves."""
    kinds: dict[Buffer, set[DType]] = defaultdict(set)
    for kernel in kernels:
        for nest in kernel.nests:
            for node in _nodes(nest):
                for part in children(node):
                    if isinstance(part, Load) and part.dtype is DType.FLOAT32:
                        is_rounded = isinstance(node, Apply) and node.function == "cast" and node.dtype in NARROW_FLOATS
                        kinds[part.buffer].add(node.dtype if is_rounded else part.dtype)  # type: ignore[union-attr]
    return {buffer: own.pop() for buffer, own in kinds.items() if len(own) == 1 and DType.FLOAT32 not in own}


def _fixed(kernels: list[Kernel]) -> set[Buffer]:
    """The buffers that something reads as they are, or with a filling that another type may not have."""
    fixed: set[Buffer] = set()
    for kernel in kernels:
        for nest in kernel.nests:
            if isinstance(nest, Recurrence):
                fixed.update((*kernel.reads, *kernel.writes))
            for node in _nodes(nest):
                if isinstance(node, Load) and (
                    not _may_convert(nest, node) or (node.where and isfinite(node.fill) and node.fill != 0)
                ):
                    fixed.add(node.buffer)
    return fixed


def _may_convert(nest: KernelNest, load: Load) -> bool:
    """Whether a load of a nest may be another one that is converted: an operand of a product may not."""
    match nest:
        case Nest():
            return True
        case Contraction(codes=None):
            return load is not nest.lhs and load is not nest.rhs
        case Contraction():
            return load is not nest.rhs
    return False


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


def _converted(kernel: Kernel) -> tuple[Buffer, Buffer] | None:
    """The buffer that a kernel stores, and the one whose elements it converts, all in order, and does nothing else."""
    if len(kernel.nests) != 1 or not isinstance(kernel.nests[0], Nest):
        return None
    match list(_stores(kernel)):
        case [Store(buffer=to, index=at, value=Apply(function="cast", arguments=(Load() as load,)))]:
            is_same = dict(load.index.terms) == dict(at.terms) and load.index.offset == at.offset
            is_whole = not load.where and load.buffer.elements == to.elements
            if is_same and is_whole and {load.dtype, to.dtype} <= _FLOATS:
                return to, load.buffer
    return None


def _is_elementwise(kernel: Kernel) -> bool:
    """Whether a kernel reads each element about once."""
    return all(isinstance(nest, Nest) and not any(stage.inner for stage in nest.stages) for nest in kernel.nests)


def _changed(nest: KernelNest, sources: Mapping[Buffer, Buffer]) -> KernelNest:
    """A nest that loads what it converts itself, and stores what was not converted."""

    def half(load: Load) -> Load:
        source = sources.get(load.buffer)
        return load if source is None else replace(load, dtype=source.dtype, buffer=source)

    def change(node: Node) -> Node:
        match node:
            case Load(buffer=buffer, dtype=dtype) if buffer in sources:
                return Apply(dtype, "cast", (half(node),))
            case Apply(function="cast", arguments=(Apply(function="cast", arguments=(Load() as load,)) as wide,)):
                is_same = load.dtype is node.dtype and wide.dtype is DType.FLOAT32
                return load if is_same and load.buffer in sources.values() else node
            case Store(buffer=buffer) if buffer in sources:
                kind, value = sources[buffer].dtype, _widened(node)
                if value is None or value.dtype is not kind:
                    value = Apply(kind, "cast", (node.value,))
                return Store(sources[buffer], node.index, value)
        return node

    if isinstance(nest, Contraction):
        body: tuple[Statement, ...] = tuple(transform(statement, change) for statement in nest.body)
        return replace(nest, lhs=half(nest.lhs), body=body)
    if isinstance(nest, tuple):
        return tuple(transform(statement, change) for statement in nest)
    return transform(nest, change)
