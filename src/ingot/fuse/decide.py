"""Deciding: which tensors are stored, and by which steps; all others are fused.

What is stored follows from the primitives alone for the most part (`fuse.choose`). The rest is a fixpoint: a tensor is
read symbolically (`fuse.kernels.read`), and what that requires to be stored is decided first, until nothing more is
required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ingot.dims import symbols
from ingot.errors import CompileError
from ingot.fuse.attention import attention_order
from ingot.fuse.choose import Choice, choose
from ingot.fuse.contraction import contraction_order
from ingot.fuse.decision import Decision, Planned, Reading, Store
from ingot.fuse.gemv import is_gemv
from ingot.fuse.guards import guards_in
from ingot.fuse.kernels import read
from ingot.fuse.limits import FusionLimits
from ingot.fuse.memory import Memory
from ingot.fuse.order import order_like
from ingot.fuse.placement import ROOT, Placement
from ingot.fuse.read import Placed, Requirement, StoreFirst
from ingot.fuse.regions import branch_step, copy_result, loop_step
from ingot.fuse.sides import Sides, constant_right
from ingot.fuse.sizes import size_calls
from ingot.fuse.strides import c_strides, strides_of
from ingot.fuse.uses import Uses, uses_of
from ingot.loops.ir import Buffer, Index
from ingot.prim.make import count
from ingot.prim.region import Branch, Region, RegionResult, Repeat
from ingot.prim.tensor import (
    CallResult,
    Constant,
    Contract,
    HostStep,
    Parameter,
    Permute,
    Reshape,
    Scatter,
    SizeReading,
    Tensor,
)
from ingot.prim.walk import sizes_of

_NOT_OF_KERNELS = (Parameter, Constant, CallResult, RegionResult, Reshape)
"""Tensors that no kernel writes, or not as a whole: their memory is not that of another."""


def decide(results: Sequence[Tensor], limits: FusionLimits, prefix: str = "") -> Decision:
    """How `results` are computed, each stored in the order of its axes; names of steps begin with `prefix`."""
    uses = uses_of(results)
    choice = choose(uses, limits)
    while True:
        try:
            return _Deciding(uses, choice, limits, prefix).run()
        except _StoreInOrder as late:
            choice = replace(choice, in_order=choice.in_order | {late.tensor})


class _StoreInOrder(Exception):
    """A tensor is stored in another order of its axes than a reader of it needs, which was not known by then."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _Deciding:
    """A decision in progress: steps are added in the order they run in, each after all that it reads."""

    def __init__(self, uses: Uses, choice: Choice, limits: FusionLimits, prefix: str) -> None:
        self.uses = uses
        self.limits = limits
        self.choice = choice
        self.stored = dict(choice.stored)
        self.in_order = set(choice.in_order)
        self.wanted: dict[Tensor, tuple[int, ...]] = {}
        self.chains = dict(choice.chains)
        self.size_calls = size_calls(uses.order)
        self.memory = Memory(uses, prefix)
        self.known: list[Tensor] = []
        self.why: dict[Tensor, str] = {}
        self.steps: dict[Placement, list[Planned]] = {ROOT: []}
        self.readings: dict[Store, Reading] = {}
        self.calls: set[HostStep] = set()
        self.regions: set[Region] = set()
        self.call_results: dict[HostStep, list[CallResult]] = {}
        self.region_results: dict[Region, list[RegionResult]] = {}
        for tensor in uses.order:
            if isinstance(tensor, CallResult):
                self.call_results.setdefault(tensor.call, []).append(tensor)
            elif isinstance(tensor, RegionResult):
                self.region_results.setdefault(tensor.region, []).append(tensor)

    def run(self) -> Decision:
        self.store_all(ROOT)
        return Decision(
            self.uses.results,
            tuple(self.steps[ROOT]),
            self.memory.placed,
            tuple(self.known),
            self.why,
            self.size_calls,
            guards_in(self.uses, ROOT),
            self.limits,
            self.readings,
        )

    def store_all(self, body: Placement) -> None:
        """Add the steps of a body: every tensor that is stored in it, those first that need no call."""
        order = self.uses.order  # most of what a kernel reads is there before it
        called = _called(order)
        for tensor in sorted(order, key=called.__contains__) if called else order:
            if tensor in self.stored and self.uses.placements[tensor] == body:
                self._store(tensor)

    # --- one tensor

    def _store(self, tensor: Tensor) -> None:
        """Add the steps that store a tensor, unless it is stored."""
        if tensor in self.memory.placed:
            return
        match tensor:
            case Parameter() | Constant():
                self.memory.external(tensor)
            case CallResult():
                self._call(tensor.call)
            case RegionResult():
                self._region(tensor.region)
            case Reshape(x=RegionResult()) if self._is_same_memory(tensor):
                self._store(tensor.x)
                placed = Placed(self.memory.buffer(tensor.x), c_strides(tensor.shape))
                self.memory.put(tensor, placed, range(tensor.rank))
            case _ if self._is_known(tensor):
                self.memory.allocate(tensor, self.memory.name("c"))
                self.known.append(tensor)
            case Reshape() if self._is_stored_alike(tensor):
                self.memory.put(
                    tensor, Placed(self.memory.buffer(tensor.x), c_strides(tensor.shape)), range(tensor.rank)
                )
            case _:
                self._compute(tensor)

    def _compute(self, tensor: Tensor) -> None:
        """Add the step that computes and stores a tensor, after those that it requires."""
        self._call_for_sizes(tensor)
        if tensor in self.memory.placed:  # one of these calls needed it
            return
        store = self._added(lambda: self._planned(tensor), tensor, self.uses.placements[tensor])
        self.memory.put(tensor, store.placed, range(tensor.rank) if isinstance(tensor, Reshape) else store.order)
        self.why.setdefault(tensor, self.stored[tensor])

    def _added(self, planned: Callable[[], Store], tensor: Tensor, body: Placement) -> Store:
        """Add a step to a body: the fixpoint over what it requires."""
        while True:
            store, loads = planned(), _Loads(self, tensor)
            reading = read(store, loads, self.limits)
            if isinstance(reading, Reading):
                store = replace(store, reads=loads.reads)
                self.steps[body].append(store)
                self.readings[store] = reading
                self.memory.name("k")
                return store
            self._require(tensor, reading)

    def _require(self, tensor: Tensor, requirement: Requirement) -> None:
        """Store what has to be stored before `tensor` is."""
        first = requirement.tensor
        if requirement.in_order and first in self.memory.placed and first not in self.in_order:
            raise _StoreInOrder(first)
        if first is tensor or first in self.memory.placed:
            raise CompileError(f"{type(tensor).__name__} cannot be stored: {requirement.why}")
        if isinstance(first, Contract):  # its epilogue does not fit
            self.chains = {last: chain for last, chain in self.chains.items() if chain[0] is not first}
            self.chains[first] = (first,)
        if requirement.in_order:
            self.in_order.add(first)
        if requirement.order is not None:
            self.wanted[first] = requirement.order
        self.stored.setdefault(first, requirement.why)
        self._store(first)

    def _planned(self, tensor: Tensor) -> Store:
        """The step that stores a tensor, as far as it is known before the tensor is read."""
        name, chain = self.memory.next_name("k"), self.chains.get(tensor, ())
        attention = self.choice.attentions.get(chain[0]) if chain else None
        if chain and attention is None and isinstance(chain[0], Contract) and is_gemv(chain[0]):
            chain = ()
        if attention is not None:
            order = attention_order(attention, chain)
        elif chain:
            order = contraction_order(chain, self._sides(chain))
        elif isinstance(tensor, Reshape):
            order = tuple(range(tensor.x.rank))
        else:
            order = self.wanted.get(tensor) or order_like(tensor, self.memory.orders) or tuple(range(tensor.rank))
        if tensor in self.in_order or isinstance(tensor, Scatter) or (chain and isinstance(tensor, Permute)):
            order = tuple(range(len(order)))
        shape = tensor.x.shape if isinstance(tensor, Reshape) else tensor.shape
        target = Placed(Buffer(f"{name}_out", tensor.dtype, count(shape)), strides_of(shape, order))
        sides = self._sides(chain) if chain and attention is None else None
        return Store(name, tensor, target, order, Index(), chain, attention, sides)

    def _sides(self, chain: Sequence[Tensor]) -> Sides:
        contract = chain[0]
        assert isinstance(contract, Contract)
        return self.choice.sides.get(contract) or constant_right(contract)

    def write(self, tensor: Tensor, target: Placed, body: Placement, why: str, start: Index | None = None) -> None:
        """Add the step that stores a tensor at a given place."""
        order = tuple(range(tensor.rank))
        self._added(lambda: Store(self.memory.next_name("k"), tensor, target, order, start or Index()), tensor, body)
        self.why[tensor] = why

    def _is_same_memory(self, tensor: Reshape) -> bool:
        """Whether a result that is a reshape can share the memory of its source: no other result, and no loop, does."""
        source, results = tensor.x, self.uses.results
        others = [reader for reader in self.uses.readers_of(source) if reader is not tensor and reader in results]
        moves = isinstance(source, RegionResult) and isinstance(source.region, Repeat) and not source.is_rows
        return not moves and tensor in results and source not in results and not others

    def _is_stored_alike(self, tensor: Reshape) -> bool:
        """Store what a result is a reshape of, if it is stored; whether its memory can be that of the result."""
        source = tensor.x
        if source not in self.stored or not self._is_same_memory(tensor) or isinstance(source, _NOT_OF_KERNELS):
            return False
        if self.uses.placements[source] != self.uses.placements[tensor] or source in self.choice.states:
            return False
        if self._is_known(source):  # it is among the constants, and no result
            return False
        self._store(source)
        return self.memory.placed[source].strides == c_strides(source.shape)

    def _is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor is folded when the model is compiled: constant, not too large, no result and no state."""
        total = count(tensor.shape)
        small = isinstance(total, int) and total * tensor.dtype.numpy.itemsize <= self.limits.folded_bytes
        return small and tensor not in self.uses.results and tensor not in self.choice.states and tensor.is_constant

    # --- calls

    def _call(self, call: HostStep) -> None:
        if call in self.calls:
            return
        self.calls.add(call)
        for argument in call.arguments:
            if argument is not None:
                self.stored.setdefault(
                    argument, "its elements are sizes" if isinstance(call, SizeReading) else "a call reads it"
                )
                self._store(argument)
        self.steps[ROOT].append(call)
        for tensor in self.call_results.get(call, ()):
            self.memory.allocate(tensor, self.memory.name("r"))

    def _call_for_sizes(self, tensor: Tensor) -> None:
        """Make the calls whose results have the sizes that a tensor is computed with, even if it does not read them."""
        if not self.size_calls:
            return
        pending, seen = [tensor], {tensor}
        while pending:
            reached = pending.pop()
            for call in {self.size_calls.get(name) for size in sizes_of(reached) for name in symbols(size)}:
                if call is not None:
                    self._call(call)
            fresh = [read for read in reached.reads if read not in seen and read not in self.memory.placed]
            seen.update(fresh)
            pending += fresh

    # --- regions

    def _region(self, region: Region) -> None:
        """Store the results of a region."""
        if region in self.regions:
            return
        self.regions.add(region)
        results = self.region_results[region]
        body = self.uses.placements[results[0]]
        self._call_for_sizes(results[0])
        for tensor in region.before:
            self._store(tensor)
        if isinstance(region, Branch):
            self.steps[body].append(branch_step(self, region, results, body))
            return
        self.steps[body].append(loop_step(self, region, results, body))
        for tensor in results:
            if tensor in self.uses.results and not tensor.is_rows:
                copy_result(self, tensor, body)


def _called(order: Sequence[Tensor]) -> set[Tensor]:
    """The results of calls among tensors, and what is computed from them."""
    called: set[Tensor] = set()
    for tensor in order:
        if isinstance(tensor, CallResult) or not called.isdisjoint(tensor.reads):
            called.add(tensor)
    return called


class _Loads(Mapping[Tensor, Placed]):
    """The tensors that a step may load: those stored by the steps so far.

    `reads` collects what was looked up. Looking up a tensor that is to be stored, and is not yet, raises StoreFirst.
    """

    def __init__(self, deciding: _Deciding, tensor: Tensor) -> None:
        self._deciding = deciding
        self._tensor = tensor
        self.reads: dict[Tensor, Placed] = {}

    def __getitem__(self, tensor: Tensor) -> Placed:
        placed: Placed | None = self.get(tensor)
        if placed is None:
            raise KeyError(tensor)
        return placed

    def get(self, tensor: Tensor, default: Any = None) -> Any:
        """Most tensors that are asked for are not stored, and an exception for each would be slow."""
        placed = self._deciding.memory.placed.get(tensor)
        if placed is None and (
            isinstance(tensor, Parameter) or (isinstance(tensor, Constant) and tensor.array.size > 1)
        ):
            placed = self._deciding.memory.external(tensor)
        if placed is not None:
            self.reads[tensor] = placed
            return placed
        if isinstance(tensor, CallResult | RegionResult):
            raise StoreFirst(tensor, "it is made as a whole")
        if tensor in self._deciding.stored and tensor is not self._tensor:
            raise StoreFirst(tensor, self._deciding.stored[tensor])
        return default

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.reads)

    def __len__(self) -> int:
        return len(self.reads)
