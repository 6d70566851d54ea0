"""Binding: everything that follows from the sizes of a run for one segment of a plan, before anything is allocated."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingot.codegen.turns import FAIL, GO
from ingot.dims import Dim, evaluate
from ingot.errors import InputError
from ingot.prim.guard import Guard
from ingot.runtime.arena import Lifetime, offsets, rounded
from ingot.runtime.formula import Formula, Values
from ingot.runtime.guards import GuardFailed
from ingot.runtime.plan import MOST_TRIPS, Allocation, Arm, Jump, KernelStep, Segment

MOST_BYTES = 1 << 46
MOST_STEPS = 1 << 62

_MOST_BINDINGS = 64
"""Sizes that a segment remembers the bindings of."""

_OPERANDS = struct.Struct("<6q")
"""What a jump is given; every step has room for it, so that it can be replaced by one."""


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """Where the allocations of a segment lie in its arena of `total` bytes, if they are no larger than `sizes`."""

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    total: int


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
        self.arena = [each for each in segment.allocations if each.tensor is None]
        self.results = [each for each in segment.allocations if each.tensor is not None]
        self._allocations = [*self.arena, *self.results]
        kernels = [step for step in segment.steps if isinstance(step, KernelStep)]
        jumps = [step for step in segment.steps if isinstance(step, Jump)]
        operands = [_operands(jump, most_trips) for jump in jumps]
        self._kernels = kernels
        self._names = segment.names
        self._formula = formula = Formula(segment.names)
        self._left = formula.sizes([guard.left for guard in segment.guards])
        self._right = formula.sizes([guard.right for guard in segment.guards])
        self._scalars = formula.sizes([dim for kernel in kernels for dim in kernel.scalars])
        self._operands = formula.sizes([dim for each in operands for dim in each])
        self._bytes = formula.bytes([(each.dtype.numpy.itemsize, each.shape) for each in self._allocations])
        self._shapes = [formula.sizes(each.shape) for each in self.results]
        self._arms = [_BoundArm(arm, segment, formula) for arm in segment.arms]
        self.places, self._packed = _placed(segment.steps, [*kernels, *jumps])
        self._bindings: dict[tuple[int, ...], Binding] = {}
        self._layout: Layout | None = None

    @property
    def words(self) -> int:
        """How many words the scalars of all steps take."""
        return self._packed.size // 8

    def bind(self, sizes: Mapping[str, int]) -> Binding:
        """The binding for sizes by name.

        GuardFailed if they are not as was assumed; InputError if a kernel or an allocation would be out of all
        proportion.
        """
        key = tuple([sizes[name] for name in self._names])
        binding = self._bindings.get(key)
        if binding is None:
            binding = self._bind(key, sizes)
            if len(self._bindings) >= _MOST_BINDINGS:
                self._bindings.clear()
            self._bindings[key] = binding
        return binding

    def bind_tightly(self, sizes: Mapping[str, int]) -> Binding:
        """The same, with an arena that is no larger than these sizes need."""
        self._layout = None
        key = tuple([sizes[name] for name in self._names])
        binding = self._bindings[key] = self._bind(key, sizes)
        return binding

    def _bind(self, key: tuple[int, ...], known: Mapping[str, int]) -> Binding:
        values = self._formula.values(key)
        if self._left(values) != self._right(values):
            raise self._failure(values, known)
        sizes, scalars = self._bytes(values), self._scalars(values)
        operands = self._operands(values)
        shapes = tuple([shape(values) for shape in self._shapes])
        jumps: dict[int, tuple[int, ...]] = {}
        if self._arms or 0 in sizes or None in values:
            closed = [arm.arm for arm in self._arms if not arm.is_open(values)]
            idle = [_is_in(allocation, closed, self.segment.base) for allocation in self._allocations]
            sizes = tuple([0 if unused else size for size, unused in zip(sizes, idle, strict=True)])
            shapes = tuple([(0,) if u else s for s, u in zip(shapes, idle[len(self.arena) :], strict=True)])
            jumps = self._jumps(sizes, closed)
            scalars = self._without(jumps, scalars)
            if None in (*sizes, *scalars, *self._left(values)):
                raise self._failure(values, known)
        self._refuse_disproportion(sizes, scalars, operands, known)
        packed = self._packed.pack(*scalars, *operands)
        if jumps:
            packed = self._replaced(packed, jumps)
        count = len(self.arena)
        layout = self._laid_out(sizes[:count])
        return Binding(packed, tuple(jumps), layout, shapes, layout.total + sum(sizes[count:]))

    def _failure(self, values: Values, known: Mapping[str, int]) -> GuardFailed:
        """What to raise where guards fail, or a size that is needed has no value."""
        pairs = zip(self.segment.guards, self._left(values), self._right(values), strict=True)
        failed = [guard for guard, left, right in pairs if left is None or left != right]
        no_value = Guard(0, 0, "sizes were assumed to be such that none is divided by zero")
        return GuardFailed(failed or [no_value], known)

    def _jumps(self, sizes: Sequence[int], closed: Sequence[Arm]) -> dict[int, tuple[int, ...]]:
        """The operands of the jumps that take the place of steps: of closed arms, and of kernels that write nothing.

        The former give up, if they are ever come to; the latter go on, however many iterations the kernel would have.
        """
        empty = {each.slot for each, size in zip(self._allocations, sizes, strict=True) if size == 0}
        jumps: dict[int, tuple[int, ...]] = {}
        for row, step in enumerate(self.segment.steps):
            if any(arm.first <= row < arm.end for arm in closed):
                jumps[row] = (FAIL, 0, 0, MOST_TRIPS, 0, MOST_TRIPS)
            elif isinstance(step, KernelStep) and step.writes and empty.issuperset(step.writes):
                jumps[row] = (GO, row + 1, 0, MOST_TRIPS, 0, MOST_TRIPS)
        return jumps

    def _without(self, jumps: Mapping[int, tuple[int, ...]], scalars: Sequence[int]) -> tuple[int, ...]:
        """The scalars of kernels, zero for those that are replaced."""
        replaced = {self.segment.steps[row] for row in jumps}
        own = [kernel in replaced for kernel in self._kernels for _ in kernel.scalars]
        return tuple([0 if unused else scalar for scalar, unused in zip(scalars, own, strict=True)])

    def _replaced(self, packed: bytes, jumps: Mapping[int, tuple[int, ...]]) -> bytes:
        words = bytearray(packed)
        for row, operands in jumps.items():
            _OPERANDS.pack_into(words, 8 * self.places[row], *operands)
        return bytes(words)

    def _refuse_disproportion(
        self, sizes: Sequence[int], scalars: Sequence[int], operands: Sequence[int], known: Mapping[str, int]
    ) -> None:
        if sum(sizes) > MOST_BYTES:
            for allocation, size in zip(self._allocations, sizes, strict=True):
                if size > MOST_BYTES:
                    shape = [evaluate(dim, known) for dim in allocation.shape]
                    raise InputError(f"a value of sizes {shape} takes {size:,} bytes")
        if scalars and (max(scalars) > MOST_STEPS or min(scalars) < -MOST_STEPS):
            raise InputError(f"a computation over these sizes takes {max(map(abs, scalars)):,} steps")
        if operands and max(operands) > MOST_TRIPS:
            raise InputError(f"a loop over these sizes takes {max(operands):,} iterations")

    def _laid_out(self, sizes: tuple[int, ...]) -> Layout:
        """A layout for arena allocations of these sizes.

        The one of before, if they fit; else the first is exact, and those that follow leave room for sizes that grow.
        """
        layout = self._layout
        if layout is not None:
            if _fits(sizes, layout):
                return layout
            sizes = tuple([rounded(size) for size in sizes])
        lifetimes = [Lifetime(size, each.first, each.last) for size, each in zip(sizes, self.arena, strict=True)]
        starts, total = offsets(lifetimes)
        self._layout = layout = Layout(sizes, tuple(starts), total)
        return layout


class _BoundArm:
    """An arm of a branch with what decides whether it can be run."""

    def __init__(self, arm: Arm, segment: Segment, formula: Formula) -> None:
        self.arm = arm
        inside = [each for each in segment.allocations if _is_in(each, [arm], segment.base)]
        self._left = formula.sizes([guard.left for guard in arm.guards])
        self._right = formula.sizes([guard.right for guard in arm.guards])
        self._extents = formula.sizes([dim for each in inside for dim in each.shape])

    def is_open(self, values: Values) -> bool:
        """Whether its guards hold, and what it allocates has sizes that there can be."""
        left, extents = self._left(values), self._extents(values)
        if left != self._right(values) or None in left or None in extents:
            return False
        return not extents or min(extents) >= 0


def _operands(jump: Jump, most_trips: int) -> tuple[Dim, ...]:
    return (jump.kind, jump.target, jump.otherwise, jump.trips, jump.pairs, most_trips)


def _placed(
    steps: Sequence[KernelStep | Jump], ordered: Sequence[KernelStep | Jump]
) -> tuple[tuple[int, ...], struct.Struct]:
    """The place of the scalars of each step, in words, and how all are packed in the order of `ordered`."""
    places: dict[KernelStep | Jump, int] = {}
    form = ["<"]
    place = 0
    for step in ordered:
        count = len(step.scalars) if isinstance(step, KernelStep) else 6
        spare = max(0, 6 - count)
        places[step] = place
        form.append(f"{count}q{8 * spare}x")
        place += count + spare
    return tuple([places[step] for step in steps]), struct.Struct("".join(form))


def _is_in(allocation: Allocation, arms: Sequence[Arm], base: int) -> bool:
    return any(arm.first <= allocation.first - base and allocation.last - base < arm.end for arm in arms)


def _fits(sizes: tuple[int, ...], layout: Layout) -> bool:
    """Whether allocations of these sizes can lie as in a layout, without leaving most of it unused."""
    for size, available in zip(sizes, layout.sizes, strict=True):
        if size > available:
            return False
    return sum(layout.sizes) <= 4 * sum(sizes)
