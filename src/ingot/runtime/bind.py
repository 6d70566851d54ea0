"""Binding: what follows from the sizes of a run for one segment of a plan, before anything is allocated."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import ceil, prod
from operator import itemgetter, le, mul

from ingot.codegen.jumps import FAIL, GO
from ingot.dataclass import dataclass
from ingot.dims import Dim, evaluate
from ingot.errors import InputError
from ingot.runtime.arena import ALIGN, Arena, rounded
from ingot.runtime.formula import Formula, Values
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import MOST_TRIPS, Allocation, Arm, Jump, KernelStep, Placement, Segment

MOST_BYTES = 1 << 46
MOST_STEPS = 1 << 62

_BINDINGS = 64
"""How many bindings a segment remembers at least."""

_BINDING_BYTES = 1 << 20
"""Bytes up to which it remembers more: a body with a state that grows has other sizes in each iteration."""

_OF_A_BINDING = 512
"""Bytes that a binding takes besides its scalars, about."""

_OPERANDS = struct.Struct("<6q")
"""The operands of a jump; the scalars of every step take as many words, so that it can be replaced by one."""


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """Where the allocations of a segment lie in its arena of `total` bytes, if they are no larger than `sizes`."""

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    total: int
    bytes: int
    """The sum of the sizes, which is more than the total where allocations share memory."""


_PARTS = 16
"""Layouts are scaled in steps of this part of them."""

_NEVER = 1e300
"""The inverse of a size of zero, which no scale makes larger."""


class ScalableLayout:
    """A layout for sizes that all grow or shrink alike, as they do with the batch: one is computed for all of them.

    Where every size is at most `scale` times what it was, `scale` times the offsets keep all allocations apart. Sizes
    are rounded up to lines for each step of the scale, so that offsets begin at lines at all scales.
    """

    def __init__(self, arena: Arena, sizes: Sequence[int]) -> None:
        step = _PARTS * ALIGN
        self._sizes = [-(-rounded(size) // step) * step for size in sizes]
        self._starts, self._total = arena.offsets(self._sizes)
        self._bytes = sum(self._sizes)
        self._inverses = [_PARTS / size if size else _NEVER for size in self._sizes]

    def scaled(self, sizes: tuple[int, ...]) -> Layout | None:
        """A layout for these sizes; None if they have changed so differently that much of it would be unused."""
        steps = max(map(mul, sizes, self._inverses), default=0.0)
        if steps > _NEVER / _PARTS:
            return None
        parts = ceil(steps)  # exact enough: sizes are below the precision of a double
        if 2 * self._bytes * parts > 3 * _PARTS * (sum(sizes) + len(sizes) * _PARTS * ALIGN):
            return None
        return Layout(
            tuple([size * parts // _PARTS for size in self._sizes]),
            tuple([start * parts // _PARTS for start in self._starts]),
            self._total * parts // _PARTS,
            self._bytes * parts // _PARTS,
        )


class Binding:
    """A segment for certain sizes; never changed."""

    __slots__ = ("layout", "needed", "replaced", "scalars", "shapes")

    def __init__(
        self,
        scalars: bytes,
        replaced: tuple[int, ...],
        layout: Layout,
        shapes: tuple[tuple[int, ...], ...],
        needed: int,
    ) -> None:
        """`scalars` are those of all steps, as they lie in memory: those of a step at its place in `Binder.places`.

        The steps in `replaced` are jumps that take the place of a kernel. `shapes` are those of the results, for which
        and for the arena `needed` bytes are allocated.
        """
        self.scalars = scalars
        self.replaced = replaced
        self.layout = layout
        self.shapes = shapes
        self.needed = needed


class Binder:
    """Computes the bindings of one segment, and remembers the latest of them."""

    def __init__(self, segment: Segment, most_trips: int = MOST_TRIPS) -> None:
        self.segment = segment
        private = [allocation for allocation in segment.allocations if allocation.tensor is None]
        self.arena = [allocation for allocation in private if allocation.placement is not Placement.SHARED]
        self.results = [allocation for allocation in segment.allocations if allocation.tensor is not None]
        self._allocations = [*self.arena, *self.results]
        self._key = _key(segment.names)
        self._formula = formula = Formula(segment.names)
        self._left = formula.sizes([guard.left for guard in segment.guards])
        self._right = formula.sizes([guard.right for guard in segment.guards])
        scalars = [scalars_of(step, most_trips) for step in segment.steps]
        self._counts = [len(own) for own in scalars]
        self._firsts = [0, *accumulate(self._counts)]
        self._scalars = formula.sizes([dim for own in scalars for dim in own])
        self._arena_bytes = formula.bytes(
            [(allocation.dtype.numpy.itemsize, allocation.shape) for allocation in self.arena]
        )
        self._result_bytes = formula.bytes(
            [(allocation.dtype.numpy.itemsize, allocation.shape) for allocation in self.results]
        )
        self._updates = {
            row: formula.sizes(step.updates)
            for row, step in enumerate(segment.steps)
            if isinstance(step, KernelStep) and step.updates
        }
        self._shapes = [formula.sizes(allocation.shape) for allocation in self.results]
        self._arms = [_BoundArm(arm, segment, formula) for arm in segment.arms]
        self.places, self._packed = _placed(self._counts)
        self._bindings: dict[tuple[int, ...], Binding] = {}
        self._most_bindings = max(_BINDINGS, _BINDING_BYTES // (self._packed.size + _OF_A_BINDING))
        self._layout: Layout | None = None
        self._scalable: ScalableLayout | None = None
        copied = {copy.slot for copy in segment.copies}
        self._spans = [
            (index, own.first - segment.base, own.last - segment.base + 1)
            for index, own in enumerate(self.arena)
            if own.first >= segment.base and own.last - segment.base < len(segment.steps) and own.slot not in copied
        ]
        """The arena's allocations that steps of this segment alone need, with the rows of these steps."""
        self._arena = Arena([(allocation.first, allocation.last) for allocation in self.arena])

    @property
    def words(self) -> int:
        """How many words the scalars of all steps take."""
        return self._packed.size // 8

    def bind(self, sizes: Mapping[str, int]) -> Binding:
        """The binding for sizes by name.

        GuardFailed if they are not as was assumed; InputError if a kernel or an allocation would be out of all
        proportion.
        """
        key = self._key(sizes)
        binding = self._bindings.get(key)
        if binding is None:
            binding = self._bind(key, sizes)
            if len(self._bindings) >= self._most_bindings:
                self._bindings.clear()
            self._bindings[key] = binding
        return binding

    def bind_tightly(self, sizes: Mapping[str, int]) -> Binding:
        """The same, with an arena that is no larger than these sizes need."""
        self._layout = None
        key = self._key(sizes)
        binding = self._bindings[key] = self._bind(key, sizes)
        return binding

    def _bind(self, key: tuple[int, ...], known: Mapping[str, int]) -> Binding:
        values = self._formula.values(key)
        if self.segment.guards and self._left(values) != self._right(values):
            raise self._failure(values, known)
        arena, results = self._arena_bytes(values), self._result_bytes(values)
        if self._arms or None in values or 0 in arena or 0 in results:
            return self._bind_in_part(values, known)
        scalars = self._scalars(values)
        if values and (max(values) > MOST_BYTES or min(values) < -MOST_STEPS):
            self._refuse_disproportion((*arena, *results), scalars, known)
        shapes = tuple([shape(values) for shape in self._shapes])
        layout = self._laid_out(arena)
        return Binding(self._packed.pack(*scalars), (), layout, shapes, layout.total + sum(results))

    def _bind_in_part(self, values: Values, known: Mapping[str, int]) -> Binding:
        """A binding in which some steps do not run: those of closed arms, and kernels that would write nothing.

        The former are replaced by jumps that fail the run if it reaches them; the latter by jumps to the next step,
        however many iterations the kernel would have.
        """
        steps = self.segment.steps
        closed = [arm.arm for arm in self._arms if not arm.is_open(values)]
        sizes = [*self._arena_bytes(values), *self._result_bytes(values)]
        unused: set[int] = set()
        if closed:
            unused = {index for index, own in enumerate(self._allocations) if _is_in(own, closed, self.segment.base)}
        for index in unused:
            sizes[index] = 0
        empty = {own.slot for own, size in zip(self._allocations, sizes, strict=True) if size == 0}
        jumps: dict[int, tuple[int, ...]] = {}
        for row, step in enumerate(steps):
            if any(arm.first <= row < arm.end for arm in closed):
                jumps[row] = (FAIL, 0, 0, MOST_TRIPS, 0, MOST_TRIPS)
            elif isinstance(step, KernelStep) and step.writes and empty.issuperset(step.writes):
                if row in self._updates and 0 not in self._updates[row](values):
                    continue  # it has indices to check, of which none is valid
                jumps[row] = (GO, row + 1, 0, MOST_TRIPS, 0, MOST_TRIPS)
        before = [0, *accumulate(row not in jumps for row in range(len(steps)))]
        for index, first, end in self._spans:
            if before[first] == before[end]:
                sizes[index] = 0  # as working memory of a kernel that does not run
        scalars = list(self._scalars(values))
        for row in jumps:
            first = self._firsts[row]
            scalars[first : first + self._counts[row]] = [0] * self._counts[row]
        if None in (*sizes, *scalars, *self._left(values)):
            raise self._failure(values, known)
        if max(sizes, default=0) > MOST_BYTES or max(map(abs, scalars), default=0) > min(MOST_STEPS, MOST_TRIPS):
            self._refuse_disproportion(sizes, scalars, known)
        packed = bytearray(self._packed.pack(*scalars))
        for row, operands in jumps.items():
            _OPERANDS.pack_into(packed, 8 * self.places[row], *operands)
        layout = self._laid_out(tuple(sizes[: len(self.arena)]))
        needed = layout.total + sum(sizes[len(self.arena) :])
        shapes = [
            (0,) if index in unused else shape(values)
            for index, shape in enumerate(self._shapes, start=len(self.arena))
        ]
        for allocation, shape in zip(self.results, shapes, strict=True):
            if prod(max(size, 1) for size in shape) > MOST_BYTES // allocation.dtype.numpy.itemsize:  # if one is zero
                raise InputError(f"no array has sizes {list(shape)}")
        return Binding(bytes(packed), tuple(jumps), layout, tuple(shapes), needed)

    def _failure(self, values: Values, known: Mapping[str, int]) -> GuardFailed:
        """The exception for guards that fail, or for a size that is needed and has no value."""
        pairs = zip(self.segment.guards, self._left(values), self._right(values), strict=True)
        failed = [guard for guard, left, right in pairs if left is None or left != right]
        return GuardFailed(failed, known, "" if failed else "sizes were assumed by which none is divided by zero")

    def _refuse_disproportion(self, sizes: Sequence[int], scalars: Sequence[int], known: Mapping[str, int]) -> None:
        """InputError if allocations of these sizes, or steps with these scalars, are more than there can be."""
        for allocation, size in zip(self._allocations, sizes, strict=True):
            if size > MOST_BYTES:
                shape = [evaluate(dim, known) for dim in allocation.shape]
                raise InputError(f"a value of sizes {shape} takes {size:,} bytes")
        steps = zip(self.segment.steps, self._counts, strict=True)
        owners = [step for step, count in steps for _ in range(count)]
        for step, scalar in zip(owners, scalars, strict=True):
            if abs(scalar) > (MOST_STEPS if isinstance(step, KernelStep) else MOST_TRIPS):
                raise InputError(f"a computation over these sizes takes {abs(scalar):,} steps")

    def _laid_out(self, sizes: tuple[int, ...]) -> Layout:
        """A layout for arena allocations of these sizes.

        That of the last binding, if they fit; else a new one: exact if it is the first or some take no bytes, which
        have nothing to grow from, else for sizes that may grow.
        """
        layout = self._layout
        if layout is None or (0 in sizes and not _fits(sizes, layout)):
            starts, total = self._arena.offsets(sizes)
            layout = Layout(sizes, tuple(starts), total, sum(sizes))
        elif not _fits(sizes, layout):
            scaled = None if self._scalable is None else self._scalable.scaled(sizes)
            if scaled is None:
                self._scalable = scalable = ScalableLayout(self._arena, sizes)
                scaled = scalable.scaled(sizes)
            assert scaled is not None
            layout = scaled
        self._layout = layout
        return layout


class _BoundArm:
    """An arm of a branch with what decides whether it can be run."""

    def __init__(self, arm: Arm, segment: Segment, formula: Formula) -> None:
        self.arm = arm
        inside = [allocation for allocation in segment.allocations if _is_in(allocation, [arm], segment.base)]
        self._left = formula.sizes([guard.left for guard in arm.guards])
        self._right = formula.sizes([guard.right for guard in arm.guards])
        self._extents = formula.sizes([dim for allocation in inside for dim in allocation.shape])

    def is_open(self, values: Values) -> bool:
        """Whether its guards hold, and what it allocates has sizes that there can be."""
        left, extents = self._left(values), self._extents(values)
        if left != self._right(values) or None in left or None in extents:
            return False
        return not extents or min(extents) >= 0


def scalars_of(step: KernelStep | Jump, most_trips: int) -> tuple[Dim, ...]:
    """The runtime scalars of a kernel, or the operands of a jump."""
    if isinstance(step, KernelStep):
        return step.scalars
    return (step.kind, step.target, step.otherwise, step.trips, step.pairs, most_trips)


def _placed(counts: Sequence[int]) -> tuple[tuple[int, ...], struct.Struct]:
    """The place of the scalars of each step, in words, and how those of all are packed; see `_OPERANDS`."""
    places = []
    form = ["<"]
    place = 0
    for count in counts:
        spare = max(0, _OPERANDS.size // 8 - count)
        places.append(place)
        form.append(f"{count}q{8 * spare}x")
        place += count + spare
    return tuple(places), struct.Struct("".join(form))


def _is_in(allocation: Allocation, arms: Sequence[Arm], base: int) -> bool:
    return any(arm.first <= allocation.first - base and allocation.last - base < arm.end for arm in arms)


def _fits(sizes: tuple[int, ...], layout: Layout) -> bool:
    """Whether allocations of these sizes can lie as in a layout, without leaving most of it unused."""
    return all(map(le, sizes, layout.sizes)) and layout.bytes <= 4 * sum(sizes)


def _key(names: Sequence[str]) -> Callable[[Mapping[str, int]], tuple[int, ...]]:
    """A function from all known sizes to those of these names."""
    if not names:
        return lambda _: ()
    if len(names) == 1:
        (name,) = names
        return lambda sizes: (sizes[name],)
    return itemgetter(*names)
