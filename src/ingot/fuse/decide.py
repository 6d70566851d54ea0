"""Deciding: from primitives to which tensors are stored, and by which steps.

What is stored follows from the primitives alone for the most part (`fuse.choose`). The rest is a fixpoint: a tensor is
read symbolically (`fuse.kernels.read`), and what that requires to be stored is decided first, until there is no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ingot.dims import symbols
from ingot.errors import CompileError
from ingot.fuse.attention import attention_order
from ingot.fuse.choose import Choice, choose
from ingot.fuse.claims import claims_in
from ingot.fuse.contraction import contraction_order, is_constant
from ingot.fuse.decision import Decision, Planned, Reading, Store, StoreBranch, StoreLoop
from ingot.fuse.gemv import is_gemv
from ingot.fuse.kernels import read
from ingot.fuse.order import order_like
from ingot.fuse.placement import ROOT, Placement
from ingot.fuse.read import Placed, Requirement, StoreFirst, c_strides, strides_of
from ingot.fuse.sizes import size_calls
from ingot.fuse.uses import Uses, uses_of
from ingot.loops.ir import Buffer, Index, Load
from ingot.prim.make import count
from ingot.prim.tensor import (
    AssumeShape,
    Branch,
    Call,
    CallResult,
    Constant,
    Contract,
    Parameter,
    Permute,
    Region,
    RegionResult,
    Repeat,
    Reshape,
    Scatter,
    Tensor,
)
from ingot.prim.walk import sizes_of

_MOST_KNOWN = 1 << 22
"""Bytes of a tensor that is computed when the model is compiled, where nobody asks for it by itself."""


def decide(results: Sequence[Tensor], prefix: str = "") -> Decision:
    """How `results` are computed, each stored in the order of its axes; names of steps begin with `prefix`."""
    uses = uses_of(results)
    return _Deciding(uses, choose(uses), prefix).run()


class _Deciding:
    """A decision that is being made: steps are added in the order they run in, each after all that it reads."""

    def __init__(self, uses: Uses, choice: Choice, prefix: str) -> None:
        self.uses = uses
        self.choice = choice
        self.prefix = prefix
        self.stored = dict(choice.stored)
        self.in_order = set(choice.in_order)
        self.chains = dict(choice.chains)
        self.size_calls = size_calls(uses.order)
        self.placed: dict[Tensor, Placed] = {}
        self.orders: dict[Tensor, tuple[int, ...]] = {
            tensor: tuple(range(tensor.rank)) for tensor in uses.order if isinstance(tensor, Parameter)
        }
        self.known: list[Tensor] = []
        self.why: dict[Tensor, str] = {}
        self.steps: dict[Placement, list[Planned]] = {ROOT: []}
        self.readings: dict[Store, Reading] = {}
        self.calls: set[Call] = set()
        self.regions: set[Region] = set()
        self.numbers: dict[str, int] = {}

    def run(self) -> Decision:
        self._store_all(ROOT)
        return Decision(
            self.uses.results,
            tuple(self.steps[ROOT]),
            self.placed,
            tuple(self.known),
            self.why,
            self.size_calls,
            claims_in(self.uses, ROOT),
            self.readings,
        )

    def _store_all(self, body: Placement) -> None:
        """Store everything that is to be stored among the steps of a body."""
        for tensor in self.uses.order:  # in this order, most of what a kernel reads is there before it
            if tensor in self.stored and self.uses.placements[tensor] == body:
                self._store(tensor)

    # --- one tensor

    def _store(self, tensor: Tensor) -> None:
        """Have a tensor stored by the steps so far."""
        if tensor in self.placed:
            return
        match tensor:
            case Parameter() | Constant():
                self.leaf(tensor)
            case CallResult():
                self._call(tensor.call)
            case RegionResult():
                self._region(tensor.region)
            case Reshape(x=RegionResult()) if self._is_same_memory(tensor):
                self._store(tensor.x)
                self._settle(tensor, Placed(self._buffer(tensor.x), c_strides(tensor.shape)), range(tensor.rank))
            case _ if self._is_known(tensor):
                self._place(tensor, self._name("c"))
                self.known.append(tensor)
            case _:
                self._compute(tensor)

    def _compute(self, tensor: Tensor) -> None:
        """Add the step that computes and stores a tensor, after those that it requires."""
        self.stored.setdefault(tensor, "")
        self._call_for_sizes(tensor)
        if tensor in self.placed:  # one of these calls needed it
            return
        store = self._added(lambda: self._planned(tensor), tensor, self.uses.placements[tensor])
        self._settle(tensor, store.placed, range(tensor.rank) if isinstance(tensor, Reshape) else store.order)
        self.why.setdefault(tensor, self.stored[tensor])

    def _added(self, planned: Callable[[], Store], tensor: Tensor, body: Placement) -> Store:
        """Add a step to a body: the fixpoint over what it requires."""
        while True:
            store, loads = planned(), _Loads(self, tensor)
            reading = read(store, loads)
            if isinstance(reading, Reading):
                store = replace(store, reads=loads.reads)
                self.steps[body].append(store)
                self.readings[store] = reading
                self._name("k")
                return store
            self._require(tensor, reading)

    def _require(self, tensor: Tensor, requirement: Requirement) -> None:
        """Store what has to be stored before `tensor` is."""
        first = requirement.tensor
        if first is tensor or first in self.placed:
            raise CompileError(f"{type(tensor).__name__} cannot be stored: {requirement.why}")
        if isinstance(first, Contract):  # its epilogue does not fit
            self.chains = {last: chain for last, chain in self.chains.items() if chain[0] is not first}
            self.chains[first] = (first,)
        if requirement.in_order:
            self.in_order.add(first)
        self.stored.setdefault(first, requirement.why)
        self._store(first)

    def _planned(self, tensor: Tensor) -> Store:
        """The step that stores a tensor, as far as it is known before the tensor is read."""
        name, chain = self._next_name("k"), self.chains.get(tensor, ())
        attention = self.choice.attentions.get(chain[0]) if chain else None
        if chain and attention is None and isinstance(chain[0], Contract) and is_gemv(chain[0]):
            chain = ()
        if attention is not None:
            order = attention_order(attention, chain)
        elif chain:
            order = contraction_order(chain)
        elif isinstance(tensor, Reshape):
            order = tuple(range(tensor.x.rank))
        else:
            order = order_like(tensor, self.orders) or tuple(range(tensor.rank))
        if tensor in self.in_order or isinstance(tensor, Scatter) or (chain and isinstance(tensor, Permute)):
            order = tuple(range(len(order)))
        shape = tensor.x.shape if isinstance(tensor, Reshape) else tensor.shape
        target = Placed(Buffer(f"{name}_out", tensor.dtype, count(shape)), strides_of(shape, order))
        return Store(name, tensor, target, order, Index(), chain, attention)

    def _write(self, tensor: Tensor, target: Placed, body: Placement, why: str, start: Index | None = None) -> None:
        """Add the step that stores a tensor at a given place."""
        order = tuple(range(tensor.rank))
        self._added(lambda: Store(self._next_name("k"), tensor, target, order, start or Index()), tensor, body)
        self.why[tensor] = why

    def _is_same_memory(self, tensor: Reshape) -> bool:
        """Whether what a region made is stored for a result alone, which has other sizes and the same elements."""
        made, results = tensor.x, self.uses.results
        others = [each for each in self.uses.readers_of(made) if each is not tensor and each in results]
        moves = isinstance(made, RegionResult) and isinstance(made.region, Repeat) and not made.is_rows
        return not moves and tensor in results and made not in results and not others

    def _is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor may be computed when the model is compiled, and is not too large to be kept."""
        total = count(tensor.shape)
        small = isinstance(total, int) and total * tensor.dtype.numpy.itemsize <= _MOST_KNOWN
        return small and tensor not in self.uses.results and tensor not in self.choice.states and is_constant(tensor)

    # --- calls

    def _call(self, call: Call) -> None:
        if call in self.calls:
            return
        self.calls.add(call)
        for argument in call.arguments:
            if argument is not None:
                self.stored.setdefault(argument, "a call reads it")
                self._store(argument)
        self.steps[ROOT].append(call)
        for tensor in self.uses.order:
            if isinstance(tensor, CallResult) and tensor.call is call:
                self._place(tensor, self._name("r"))

    def _call_for_sizes(self, tensor: Tensor) -> None:
        """Make the calls that tell the sizes a tensor is computed with: it may not read what else has them."""
        pending, seen = [tensor], {tensor}
        while pending:
            each = pending.pop()
            for call in {self.size_calls.get(name) for size in sizes_of(each) for name in symbols(size)}:
                if call is not None:
                    self._call(call)
            more = [other for other in each.reads if other not in seen and other not in self.placed]
            seen.update(more)
            pending += more

    # --- regions

    def _region(self, region: Region) -> None:
        """Have what a region makes stored."""
        if region in self.regions:
            return
        self.regions.add(region)
        results = [each for each in self.uses.order if isinstance(each, RegionResult) and each.region is region]
        body = self.uses.placements[results[0]]
        self._call_for_sizes(results[0])
        for tensor in region.before:
            self._store(tensor)
        if isinstance(region, Branch):
            self.steps[body].append(self._branch(region, results, body))
            return
        self.steps[body].append(self._loop(region, results, body))
        for tensor in results:
            if tensor in self.uses.results and not tensor.is_rows:  # its memory changes places, a result's does not
                self._copy(tensor, body)

    def _branch(self, region: Branch, results: Sequence[RegionResult], body: Placement) -> StoreBranch:
        name = self._name("if")
        for tensor in results:
            self._place(tensor, self._name("b"))
        sides = [(*body, (region, side)) for side in (0, 1)]
        for side, values in zip(sides, region.bodies, strict=True):
            self.steps[side] = []
            self._store_all(side)
            for tensor in results:
                self._write(values[tensor.index], self.placed[tensor], side, "what a branch gives is stored")
        then, otherwise = (tuple(self.steps[side]) for side in sides)
        claims = [(*region.claims[number], *claims_in(self.uses, side)) for number, side in enumerate(sides)]
        return StoreBranch(name, region, self._buffer(region.condition), then, otherwise, (claims[0], claims[1]))

    def _loop(self, region: Repeat, results: Sequence[RegionResult], body: Placement) -> StoreLoop:
        name = self._name("loop")
        number = self._place(region.number, f"{name}_number").buffer
        rows = [tensor for tensor in results if tensor.is_rows]
        for tensor in rows:
            self._place(tensor, self._name("b"))
        last = [(tensor, region.initial[tensor.index]) for tensor in results if not tensor.is_rows]
        for state, initial in (*zip(region.states, region.initial, strict=True), *last):
            self._settle(state, self.placed[initial], self.orders[initial])
        inner = (*body, (region, 0))
        self.steps[inner] = []
        self._store_all(inner)
        at = Load(region.number.dtype, number, Index())
        for tensor in rows:
            row, placed = region.rows[tensor.index - len(region.states)], self.placed[tensor]
            start = Index(((at, placed.strides[0]),))
            self._write(
                row, Placed(placed.buffer, placed.strides[1:]), inner, "what is kept of each run is stored", start
            )
        return StoreLoop(
            name,
            region,
            number,
            self._buffer(region.trips) if isinstance(region.trips, Tensor) else region.trips,
            None if region.condition is None else self._buffer(region.condition),
            None if region.going is None else self._buffer(region.going),
            tuple(self.steps[inner]),
            tuple((self._buffer(a), self._buffer(b)) for a, b in zip(region.initial, region.results, strict=True)),
            tuple(self._buffer(tensor) for tensor in rows),
        )

    def _copy(self, tensor: RegionResult, body: Placement) -> None:
        """Store what a loop made once more, in memory that stays where it is."""
        source = AssumeShape(tensor.dtype, tensor.shape, tensor)
        buffer = Buffer(self._name("b"), tensor.dtype, count(tensor.shape))
        target = Placed(buffer, self.placed[tensor].strides)
        self._write(source, target, body, "it is a result, and what it is copied from is not")
        self.placed[tensor] = target

    # --- memory

    def leaf(self, tensor: Parameter | Constant) -> Placed:
        """The memory of what is given, which is named when it is first read."""
        if tensor not in self.placed:
            name = tensor.name if isinstance(tensor, Parameter) else self._name("c")
            buffer = Buffer(name, tensor.dtype, count(tensor.shape))
            self.placed[tensor] = Placed(buffer, c_strides(tensor.shape))
        return self.placed[tensor]

    def _place(self, tensor: Tensor, name: str) -> Placed:
        placed = Placed(Buffer(name, tensor.dtype, count(tensor.shape)), c_strides(tensor.shape))
        self._settle(tensor, placed, range(tensor.rank))
        return placed

    def _settle(self, tensor: Tensor, placed: Placed, order: Sequence[int]) -> None:
        self.placed[tensor] = placed
        self.orders[tensor] = tuple(order)

    def _buffer(self, tensor: Tensor) -> Buffer:
        return self.placed[tensor].buffer

    def _name(self, letter: str) -> str:
        """The name of one more of a kind."""
        name = self._next_name(letter)
        self.numbers[letter] = self.numbers.get(letter, 0) + 1
        return name

    def _next_name(self, letter: str) -> str:
        return f"{self.prefix}{letter}{self.numbers.get(letter, 0) + 1}"


class _Loads(Mapping[Tensor, Placed]):
    """What a step may load: what is stored by the steps so far. `reads` is what was asked for.

    What is to be stored and is not yet, is required.
    """

    def __init__(self, deciding: _Deciding, tensor: Tensor) -> None:
        self._deciding = deciding
        self._tensor = tensor
        self.reads: dict[Tensor, Placed] = {}

    def __getitem__(self, tensor: Tensor) -> Placed:
        placed = self._deciding.placed.get(tensor)
        if placed is None and (
            isinstance(tensor, Parameter) or (isinstance(tensor, Constant) and tensor.array.size > 1)
        ):
            placed = self._deciding.leaf(tensor)
        if placed is not None:
            self.reads[tensor] = placed
            return placed
        if isinstance(tensor, CallResult | RegionResult):
            raise StoreFirst(tensor, "it is made as a whole")
        if tensor in self._deciding.stored and tensor is not self._tensor:
            raise StoreFirst(tensor, self._deciding.stored[tensor])
        raise KeyError(tensor)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.reads)

    def __len__(self) -> int:
        return len(self.reads)
