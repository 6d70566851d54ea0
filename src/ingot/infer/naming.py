"""Names for statically unknown and data-dependent sizes, so that what depends on them can be followed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ingot.dims import Dim, Expr, substitute, symbol, symbols
from ingot.ir.model import Model
from ingot.ir.types import Shape, TensorType, Type, map_shapes
from ingot.ir.value import Value
from ingot.ops.facts import Fact
from ingot.ops.shapes import FRESH


class Naming:
    """Gives out names that are not in use in a model; without `names`, sizes that would get one stay unknown."""

    def __init__(self, model: Model, *, names: bool = True) -> None:
        self._model = model
        self._names = names
        self._used: set[str] | None = None

    def named_apart(self, outputs: Sequence[Value], facts: list[Fact]) -> list[Fact]:
        """The facts inferred for one node, the sizes that are fresh under names of this node alone.

        One that is declared under a name keeps that.
        """
        if not any(_fresh_in(fact.type) for fact in facts):
            return facts
        known: dict[str, Dim | None] = {}
        for value, fact in zip(outputs, facts, strict=False):
            for place, mark, declared in _marks(fact.type, value.type):
                if known.get(mark) is None:
                    known[mark] = declared if declared is not None or not self._names else self._new(value, place)

        def settled(shape: Shape) -> Shape:
            return tuple(_settled(dim, known) for dim in shape)

        return [fact if fact.type is None else replace(fact, type=map_shapes(fact.type, settled)) for fact in facts]

    def filled(self, value: Value, fact: Fact) -> Fact:
        """The same, a name in place of each size of a tensor that is not known."""
        type_ = fact.type
        if not self._names or not value.name or not isinstance(type_, TensorType):
            return fact
        if type_.shape is None or None not in type_.shape:
            return fact
        shape = tuple(self._new(value, i) if dim is None else dim for i, dim in enumerate(type_.shape))
        return replace(fact, type=replace(type_, shape=shape))

    def _new(self, value: Value, axis: int) -> Dim:
        if self._used is None:
            self._used = _names_in(self._model)
        stem = re.sub(r"\W+", "_", f"{value.name}_{axis}", flags=re.ASCII)
        stem = stem if stem.isidentifier() else f"_{stem}"
        name, count = stem, 1
        while name in self._used:
            count += 1
            name = f"{stem}_{count}"
        self._used.add(name)
        return symbol(name)


def _marks(inferred: Type | None, declared: Type | None) -> list[tuple[int, str, Dim | None]]:
    """The axes of a tensor whose size a rule calls fresh: axis, what it calls it, and the size declared there."""
    if not isinstance(inferred, TensorType) or inferred.shape is None:
        return []
    beside: Shape = (None,) * len(inferred.shape)
    if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == len(beside):
        beside = declared.shape
    return [
        (place, name, size)
        for place, (dim, size) in enumerate(zip(inferred.shape, beside, strict=True))
        if isinstance(dim, Expr)
        for name in symbols(dim)
        if name.startswith(FRESH) and dim == symbol(name)
    ]


def _fresh_in(type_: Type | None) -> bool:
    return isinstance(type_, TensorType) and any(
        isinstance(dim, Expr) and any(name.startswith(FRESH) for name in symbols(dim)) for dim in type_.shape or ()
    )


def _settled(dim: Dim | None, known: dict[str, Dim | None]) -> Dim | None:
    if not isinstance(dim, Expr):
        return dim
    names = {name: known.get(name) for name in symbols(dim) if name.startswith(FRESH)}
    sizes = {name: size for name, size in names.items() if size is not None}
    return substitute(dim, sizes) if len(sizes) == len(names) else None


def _names_in(model: Model) -> set[str]:
    """The names of sizes that the values of a model are declared with."""
    names: set[str] = set()

    def note(shape: Shape) -> Shape:
        for dim in shape:
            if isinstance(dim, Expr):
                names.update(symbols(dim))
        return shape

    for graph in model.graphs():
        for value in graph.values():
            if value.type is not None:
                map_shapes(value.type, note)
    return names
