"""Fusion: which tensors are stored, and the kernels that store them with everything else computed where it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ingot.dims import Dim, Expr, symbols
from ingot.errors import CompileError
from ingot.fuse.attention import AttentionMatch, attention_in, attention_nest
from ingot.fuse.contraction import Filters, Packed, contraction_nest, is_constant, packed_before
from ingot.fuse.gemv import is_gemv
from ingot.fuse.nest import nest_of
from ingot.fuse.order import order_like
from ingot.fuse.placement import ROOT, Placement, placements_of
from ingot.fuse.read import Placed, StoreFirst, c_strides, split, strides_of
from ingot.fuse.sequential import running, scattered
from ingot.fuse.unread_indices import unseen
from ingot.fuse.winograd import quickest
from ingot.loops.ir import (
    BranchStep,
    Buffer,
    Contraction,
    Index,
    Kernel,
    KernelNest,
    Load,
    LoopStep,
    Statement,
    Step,
    Winograd,
)
from ingot.loops.rewrite import buffers_read
from ingot.prim.evaluate import evaluate
from ingot.prim.make import constant, count
from ingot.prim.tensor import (
    AssumeShape,
    BodyArgument,
    Branch,
    Call,
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
    Region,
    RegionResult,
    Repeat,
    Reshape,
    Scan,
    Scatter,
    Size,
    Slice,
    Tensor,
    View,
)
from ingot.prim.walk import in_order
from ingot.schedule.nest import collapse, schedule_nest
from ingot.schedule.reuse_costly import COSTLY
from ingot.schedule.split_reduction import is_few_and_long, split_reduction

_MOST_INLINE = 96
"""Primitives in one expression."""

_GIVEN = Parameter | Constant | CallResult | BodyArgument
"""What is no kernel's to compute."""

_MOST_KEPT = 1 << 22
"""Bytes of a tensor that is computed when the model is compiled, where nobody asks for it by itself."""

_MOVING = Parameter | CallResult | BodyArgument | RegionResult
"""What is not known before a run."""

_MOST_BESIDE = 24
"""Maps that are followed to see whether one comes of them all."""


@dataclass(slots=True)
class Fused:
    """Steps in order, where every stored tensor is, and what the constants among the buffers hold.

    `made` is what a kernel stores, `why` the reason for storing what could not be computed where it is read.
    """

    steps: list[Step] = field(default_factory=list)
    placed: dict[Tensor, Placed] = field(default_factory=dict)
    constants: dict[Buffer, Tensor | Packed | Filters] = field(default_factory=dict)
    zeros: list[Buffer] = field(default_factory=list)
    made: dict[Kernel, Tensor] = field(default_factory=dict)
    why: dict[Tensor, str] = field(default_factory=dict)
    claims: tuple[tuple[Dim, Dim], ...] = ()
    """Sizes that are taken to be equal whichever branches are taken."""


def fuse(results: Sequence[Tensor], prefix: str = "") -> Fused:
    """Kernels and calls that compute `results`, each stored in the order of its axes; names begin with `prefix`."""
    return _Fusion(results, prefix).run()


class _Fusion:
    def __init__(self, results: Sequence[Tensor], prefix: str) -> None:
        self._results = results
        self._prefix = prefix
        self._order = in_order(results)
        self._places = {tensor: place for place, tensor in enumerate(self._order)}
        self._readers: dict[Tensor, list[Tensor]] = {}
        for tensor in self._order:
            for each in tensor.reads:
                self._readers.setdefault(each, []).append(tensor)
        self._stored = set(results)
        self._in_order = set(results)
        self._tops: dict[Tensor, list[Tensor]] = {}
        self._attentions: dict[Tensor, AttentionMatch] = {}
        self._attended: set[Tensor] = set()
        self._claimed: set[Tensor] = set()
        self._orders: dict[Tensor, tuple[int, ...]] = {}
        self._called: set[Call] = set()
        self._tellers: dict[str, Call | None] = {}  # None: an input
        for tensor in sorted(self._order, key=lambda each: isinstance(each, CallResult)):
            if isinstance(tensor, Parameter | CallResult):
                call = tensor.call if isinstance(tensor, CallResult) else None
                for name in (str(size) for size in tensor.shape if not isinstance(size, int)):
                    if name not in self._tellers and (call is None or not _needs(call, name)):
                        self._tellers[name] = call
        self._begun: set[Region] = set()
        self._states: set[Tensor] = set()
        self._homes = placements_of(self._order, results)
        self._fused = Fused()
        self._steps: dict[Placement, list[Step]] = {ROOT: self._fused.steps}
        self._names = 0

    def run(self) -> Fused:
        self._decide()
        self._store(ROOT)
        self._fused.claims = self._claims(ROOT)
        return self._fused

    def _store(self, home: Placement) -> None:
        """Have everything stored that is to be stored among the steps of `home`."""
        for tensor in self._order:  # in this order, what a kernel reads is there before it
            if tensor in self._stored and self._homes[tensor] == home:
                self._need(tensor)

    # --- what is stored

    def _decide(self) -> None:
        """Choose what is stored beside the results: what is no function of elements, and what several kernels read."""
        for tensor in self._order:
            if isinstance(tensor, Contract) and _column_axes(tensor) > 1:
                self._in_order.add(tensor.rhs)
        for region in dict.fromkeys(each.region for each in self._order if isinstance(each, RegionResult)):
            stored = list(region.before)
            if isinstance(region, Repeat):
                self._states.update(region.initial, region.results)
                stored += [*region.results, *(() if region.going is None else (region.going,))]
            self._stored.update(stored)
            self._in_order.update(stored)
        for tensor in self._order:
            found = attention_in(tensor, self._readers, self._stored) if isinstance(tensor, Contract) else None
            if found is not None and all(self._homes[each] == self._homes[tensor] for each in found.inside):
                self._attentions[tensor] = found
                self._attended |= found.inside
        for tensor in self._order:
            if isinstance(tensor, Contract) and tensor not in self._attended:
                chain = self._chain(tensor)
                self._tops[chain[-1]] = chain
                self._stored.add(chain[-1])
            elif self._is_alone(tensor) and not is_constant(tensor):  # which may only be packed
                self._stored.add(tensor)
        self._bound()
        written = set(self._written())
        homes: dict[Tensor, set[Tensor]] = {}
        for tensor in reversed(self._order):
            if isinstance(tensor, _GIVEN | Iota | Size):
                continue
            around: set[Tensor] = set()
            for reader in self._readers.get(tensor, ()):
                around |= {reader} if reader in self._stored or reader in written else homes.get(reader, set())
            homes[tensor] = around
            if (len(around) > 1 or self._is_repeated(tensor, around)) and self._worth_storing(tensor):
                self._stored.add(tensor)

    def _is_alone(self, tensor: Tensor) -> bool:
        """Whether a tensor is never computed where it is read: in order, from parts, or in parts."""
        return isinstance(tensor, Scan | Scatter | Concat) or (isinstance(tensor, Reduce) and self._divides(tensor))

    def _written(self) -> Iterator[Tensor]:
        """What is stored in the room of what a region makes."""
        for tensor in self._order:
            if isinstance(tensor, RegionResult):
                yield tensor
                if isinstance(tensor.region, Branch):
                    yield from (body[tensor.index] for body in tensor.region.bodies)
                elif tensor.is_rows:
                    yield tensor.region.rows[tensor.index - len(tensor.region.states)]

    def _is_repeated(self, tensor: Tensor, around: set[Tensor]) -> bool:
        """Whether a tensor would be computed again by every run of a body, and be the same."""
        home = self._homes[tensor]
        again = any(isinstance(region, Repeat) for each in around for region, _ in self._homes[each][len(home) :])
        return again and not is_constant(tensor) and any(isinstance(each, _MOVING) for each in in_order([tensor]))

    def _bound(self) -> None:
        """Store now and then what would else become one endless expression."""
        inlined: dict[Tensor, frozenset[Tensor]] = {}
        for tensor in self._order:
            if tensor in self._stored or isinstance(tensor, _GIVEN | RegionResult):
                inlined[tensor] = frozenset()
                continue
            inlined[tensor] = _with_reads(tensor, inlined)
            if len(inlined[tensor]) > _MOST_INLINE and tensor not in self._attended:
                narrow = self._narrowest(tensor, inlined[tensor])
                if narrow is None:
                    continue
                self._stored.add(narrow)
                behind = sorted(inlined[tensor] - inlined[narrow], key=lambda each: self._places[each])
                inlined[narrow] = frozenset()
                for each in behind:
                    inlined[each] = _with_reads(each, inlined)

    def _narrowest(self, tensor: Tensor, inside: frozenset[Tensor]) -> Tensor | None:
        """What leaves least of an expression if it is stored; of several that leave as much, the last."""
        best, least = None, len(inside)
        for each in sorted(inside - {tensor}, key=lambda each: -self._places[each]):
            if not isinstance(each, Map | Gather) or each in self._attended:
                continue
            left, pending = {tensor}, [tensor]
            while pending:
                fresh = [
                    read for read in pending.pop().reads if read in inside and read is not each and read not in left
                ]
                left.update(fresh)
                pending += fresh
            if len(left) < least:
                best, least = each, len(left)
        return best

    def _chain(self, tensor: Contract) -> list[Tensor]:
        """A contraction and the maps and permutations over it that can be made of its sums while they are at hand.

        Each of the chain is all that is made of the one before; in between there may be maps that are not in it.
        """
        chain: list[Tensor] = [tensor]
        inside: set[Tensor] = {tensor}
        while chain[-1] not in self._stored:
            added = self._next(chain[-1], tensor)
            if added is None or any(self._homes[each] != self._homes[tensor] for each in added):
                break
            if added[-1] in self._in_order and not _keeps_columns([*chain, added[-1]]):
                break
            inside.update(added)
            chain.append(added[-1])
        while isinstance(chain[-1], Permute) and chain[-1] not in self._stored:
            if self._flattened(chain[-1]) and _keeps_columns(chain):
                break
            inside.discard(chain.pop())
        self._claimed.update(inside - {tensor})
        return chain

    def _next(self, start: Tensor, contract: Contract) -> list[Tensor] | None:
        """The maps from a tensor on up to the first that is all that is made of it; None if there is none."""
        readers = set(self._readers.get(start, ()))
        if len(readers) == 1 and isinstance(reader := next(iter(readers)), Permute):
            return [reader]
        found: list[Tensor] = []
        waiting = readers
        while waiting and len(found) < _MOST_BESIDE:
            tensor = min(waiting, key=lambda each: self._places[each])
            if not isinstance(tensor, Map) or tensor.shape != start.shape or tensor in self._claimed:
                return None
            others = [each for each in tensor.arguments if each is not start and each not in found]
            if not all(self._apart(each, contract) for each in others):
                return None
            waiting.discard(tensor)
            found.append(tensor)
            if not waiting:
                return found
            if tensor in self._stored:
                return None
            waiting |= set(self._readers.get(tensor, ()))
        return None

    def _flattened(self, tensor: Tensor) -> bool:
        """Whether a tensor is read by a reshape alone that joins axes of it, and so needs it stored in their order."""
        readers = set(self._readers.get(tensor, ()))
        if len(readers) != 1:
            return False
        (reader,) = readers
        if not isinstance(reader, Reshape):
            return False
        return split(tuple(Index() for _ in reader.shape), reader.shape, tensor.shape) is None

    def _apart(self, tensor: Tensor, contract: Contract) -> bool:
        """Whether a tensor can be read where sums are finished: it has no other product or reduction in it."""
        pending, seen = [tensor], set()
        while pending:
            each = pending.pop()
            if each in self._stored or each in seen or isinstance(each, _GIVEN | RegionResult):
                continue
            if isinstance(each, Map) and len(set(self._readers.get(each, ()))) > 1:
                continue  # others read it too: it will be stored
            if isinstance(each, Contract | Reduce) or each is contract:
                return isinstance(each, Contract) and each is not contract
            seen.add(each)
            pending.extend(each.reads)
        return True

    def _divides(self, tensor: Reduce) -> bool:
        """Whether threads are to share the rows of a reduction, and nothing costly is computed twice for that."""
        sizes = tensor.x.shape
        kept = count([size for axis, size in enumerate(sizes) if axis not in tensor.axes])
        length = count([sizes[axis] for axis in tensor.axes])
        if not isinstance(length, int) or not is_few_and_long(kept, length):
            return False
        pending: list[Tensor] = [tensor.x]
        while pending:
            each = pending.pop()
            if isinstance(each, Map) and each.function in COSTLY:
                return False
            if isinstance(each, Map | View) and each not in self._stored:
                pending.extend(each.reads)
        return True

    def _worth_storing(self, tensor: Tensor) -> bool:
        if isinstance(tensor, View):
            return False
        if isinstance(tensor, Map):
            large = [each for each in tensor.arguments if not _is_spread(each)]
            return not (tensor.function == "cast" and len(large) == 1 and isinstance(large[0], _GIVEN | RegionResult))
        return True

    # --- storing

    def _need(self, tensor: Tensor) -> None:
        """Have a tensor stored."""
        if tensor in self._fused.placed:
            return
        match tensor:
            case Parameter():
                self._place(tensor, tensor.name, None)
            case Constant():
                self._fused.constants[self._place(tensor, self._name("c"), None).buffer] = tensor
            case CallResult():
                self._call(tensor.call)
            case RegionResult():
                self._begin(tensor.region)
            case Reshape(x=RegionResult()) if self._is_same_memory(tensor):
                self._need(tensor.x)
                buffer = self._buffer(tensor.x)
                self._fused.placed[tensor] = Placed(buffer, c_strides(tensor.shape))
                self._orders[tensor] = tuple(range(tensor.rank))
            case _ if self._is_known(tensor):
                (array,) = evaluate([tensor], {}, {})
                self._fused.constants[self._place(tensor, self._name("c"), None).buffer] = constant(array)
            case _:
                self._compute(tensor)

    def _is_same_memory(self, tensor: Reshape) -> bool:
        """Whether what a region made is stored for a result alone, which has other sizes and the same elements."""
        made = tensor.x
        others = [each for each in self._readers[made] if each is not tensor and each in self._results]
        moves = isinstance(made, RegionResult) and isinstance(made.region, Repeat) and not made.is_rows
        return not moves and tensor in self._results and made not in self._results and not others

    def _is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor may be computed when the model is compiled, and is not too large to be kept."""
        total = count(tensor.shape)
        fixed = isinstance(total, int) and total * tensor.dtype.numpy.itemsize <= _MOST_KEPT
        return fixed and tensor not in self._results and tensor not in self._states and is_constant(tensor)

    def _call(self, call: Call) -> None:
        if call in self._called:
            return
        self._called.add(call)
        for argument in call.arguments:
            if argument is not None:
                self._stored.add(argument)
                self._need(argument)
        self._fused.steps.append(call)
        for tensor in self._order:
            if isinstance(tensor, CallResult) and tensor.call is call:
                self._place(tensor, self._name("r"), None)

    def _tell(self, tensor: Tensor) -> None:
        """Have the calls made that tell the sizes a tensor is computed with: it may not read what else has them."""
        pending, seen = [tensor], {tensor}
        while pending:
            each = pending.pop()
            for call in {self._tellers.get(name) for size in sizes_of(each) for name in symbols(size)}:
                if call is not None:
                    self._call(call)
            more = [other for other in each.reads if other not in seen and other not in self._fused.placed]
            seen.update(more)
            pending += more

    # --- regions

    def _begin(self, region: Region) -> None:
        """Have what a region makes stored."""
        if region in self._begun:
            return
        self._begun.add(region)
        outcomes = [each for each in self._order if isinstance(each, RegionResult) and each.region is region]
        home = self._homes[outcomes[0]]
        self._tell(outcomes[0])
        for tensor in region.before:
            self._fused.why.setdefault(
                tensor, "a branch is by it" if isinstance(region, Branch) else "a loop begins with it"
            )
            self._need(tensor)
        if isinstance(region, Branch):
            self._steps[home].append(self._chosen(region, outcomes, home))
        else:
            self._steps[home].append(self._repeated(region, outcomes, home))
            for tensor in outcomes:
                if tensor in self._results and not tensor.is_rows:  # its memory changes places, a result's does not
                    self._copy(tensor, home)

    def _chosen(self, region: Branch, outcomes: Sequence[RegionResult], home: Placement) -> BranchStep:
        name = self._name("if")
        for tensor in outcomes:
            self._place(tensor, self._name("b"), None)
        steps = []
        for side, body in enumerate(region.bodies):
            inner = (*home, (region, side))
            steps.append(self._open(inner))
            self._store(inner)
            for tensor in outcomes:
                self._write(body[tensor.index], self._fused.placed[tensor], inner, "what a branch gives is stored")
        condition = self._fused.placed[region.condition].buffer
        claims = [(*region.claims[side], *self._claims((*home, (region, side)))) for side in (0, 1)]
        return BranchStep(name, condition, tuple(steps[0]), tuple(steps[1]), (claims[0], claims[1]))

    def _repeated(self, region: Repeat, outcomes: Sequence[RegionResult], home: Placement) -> LoopStep:
        name = self._name("loop")
        number = self._place(region.number, f"{name}_number", None).buffer
        for first, state in zip(region.initial, region.states, strict=True):
            self._fused.placed[state] = self._fused.placed[first]
            self._orders[state] = self._orders[first]
        kept = [tensor for tensor in outcomes if tensor.is_rows]
        for tensor in outcomes:
            if tensor.is_rows:
                self._place(tensor, self._name("b"), None)
            else:
                self._fused.placed[tensor] = self._fused.placed[region.initial[tensor.index]]
                self._orders[tensor] = self._orders[region.initial[tensor.index]]
        for tensor in (*region.results, *(() if region.going is None else (region.going,))):
            self._fused.why[tensor] = "the next run of the loop reads it"
        inner = (*home, (region, 0))
        steps = self._open(inner)
        self._store(inner)
        at = Load(region.number.dtype, number, Index())
        for tensor in kept:
            row, placed = region.rows[tensor.index - len(region.states)], self._fused.placed[tensor]
            start = Index(((at, placed.strides[0]),))
            target = Placed(placed.buffer, placed.strides[1:])
            self._write(row, target, inner, "what is kept of each run is stored", start)
        pairs = zip(region.initial, region.results, strict=True)
        return LoopStep(
            name,
            number,
            self._buffer(region.trips) if isinstance(region.trips, Tensor) else region.trips,
            None if region.condition is None else self._buffer(region.condition),
            None if region.going is None else self._buffer(region.going),
            tuple(steps),
            tuple((self._buffer(first), self._buffer(last)) for first, last in pairs),
            tuple(self._buffer(tensor) for tensor in kept),
        )

    def _open(self, home: Placement) -> list[Step]:
        """The steps of a body, to be added to."""
        self._steps[home] = []
        return self._steps[home]

    def _buffer(self, tensor: Tensor) -> Buffer:
        return self._fused.placed[tensor].buffer

    def _copy(self, tensor: RegionResult, home: Placement) -> None:
        """Store what a region made once more, in memory that stays where it is."""
        source = AssumeShape(tensor.dtype, tensor.shape, tensor)
        target = Placed(Buffer(self._name("b"), tensor.dtype, count(tensor.shape)), self._fused.placed[tensor].strides)
        self._write(source, target, home, "it is a result, and what it is copied from is not")
        self._fused.placed[tensor] = target

    def _write(self, tensor: Tensor, target: Placed, home: Placement, why: str, start: Index | None = None) -> None:
        """Store a tensor at a given place."""
        name = self._name("k")
        order = tuple(range(tensor.rank))
        while True:
            try:
                nest = nest_of(tensor, target, order, _Placed(self, tensor), start)
                break
            except StoreFirst as first:
                self._store_first(tensor, first)
        kernel = self._made(name, (schedule_nest(nest),), (target.buffer,))
        self._steps[home].append(kernel)
        self._fused.made[kernel] = tensor
        self._fused.why[tensor] = why

    def _claims(self, home: Placement) -> tuple[tuple[Dim, Dim], ...]:
        """Sizes that are taken to be equal in a body, and in the loops inside of it; branches have their own."""
        found: dict[tuple[Dim, Dim], None] = {}
        for tensor in self._order:
            if not isinstance(tensor, AssumeShape | Gather | Scatter) or not _always(self._homes[tensor], home):
                continue
            if isinstance(tensor, AssumeShape):
                pairs = zip(tensor.x.shape, tensor.shape, strict=True)
                found.update(dict.fromkeys((one, other) for one, other in pairs if one != other))
            else:
                found.update(dict.fromkeys(unseen(tensor)))
        return tuple(found)

    # --- kernels

    def _compute(self, tensor: Tensor) -> None:
        self._stored.add(tensor)
        self._tell(tensor)
        if tensor in self._fused.placed:  # one of these calls needed it
            return
        while True:
            try:
                kernels = self._kernels(tensor)
                break
            except StoreFirst as first:
                self._store_first(tensor, first)
        self._steps[self._homes[tensor]].extend(kernels)
        self._fused.made.update(dict.fromkeys(kernels, tensor))

    def _store_first(self, tensor: Tensor, first: StoreFirst) -> None:
        """Store what has to be stored before `tensor` is."""
        if first.tensor is tensor or first.tensor in self._fused.placed:
            raise CompileError(f"{type(tensor).__name__} cannot be stored: {first.why}") from None
        if isinstance(first.tensor, Contract):  # what was to be made of its sums cannot be
            self._tops = {top: chain for top, chain in self._tops.items() if chain[0] is not first.tensor}
            self._tops[first.tensor] = [first.tensor]
        if first.in_order:
            self._in_order.add(first.tensor)
        self._fused.why.setdefault(first.tensor, first.why)
        self._need(first.tensor)

    def _kernels(self, tensor: Tensor) -> list[Kernel]:
        """The kernels that store a tensor; StoreFirst if another has to be stored before."""
        name = self._name("k")
        if isinstance(tensor, Concat):
            return [self._joined(name, tensor)]
        if isinstance(tensor, Scatter):
            return self._scattered(name, tensor)
        if isinstance(tensor, Scan):
            return [self._running(name, tensor)]
        if tensor in self._tops and not self._is_thin(tensor):
            return [self._product(name, self._tops[tensor])]
        source = tensor.x if isinstance(tensor, Reshape) else tensor
        target, order = self._target(tensor, source, name)
        nest = collapse(nest_of(source, target, order, _Placed(self, tensor)))
        self._settle(tensor, source, target, order)
        two = split_reduction(nest, name)
        if two is None:
            return [self._made(name, (schedule_nest(nest),), (target.buffer,))]
        parts = self._made(f"{name}_parts", tuple(map(schedule_nest, two.parts)), (two.buffer,))
        return [parts, self._made(name, (schedule_nest(two.whole),), (target.buffer,))]

    def _is_thin(self, top: Tensor) -> bool:
        contract = self._tops[top][0]
        return isinstance(contract, Contract) and contract not in self._attentions and is_gemv(contract)

    def _scattered(self, name: str, tensor: Scatter) -> list[Kernel]:
        order = tuple(range(tensor.rank))
        buffer = Buffer(f"{name}_out", tensor.dtype, count(tensor.shape))
        target = Placed(buffer, strides_of(tensor.shape, order))
        copied = schedule_nest(nest_of(tensor.x, target, order, _Placed(self, tensor)))
        written = scattered(tensor, target, _Placed(self, tensor))
        self._settle(tensor, tensor, target, order)
        return [self._made(f"{name}_copy", (copied,), (buffer,)), self._made(name, (written,), (buffer,))]

    def _running(self, name: str, tensor: Scan) -> Kernel:
        target, order = self._target(tensor, tensor, name)
        statements = running(tensor, target, order, _Placed(self, tensor))
        self._settle(tensor, tensor, target, order)
        return self._made(name, (statements,), (target.buffer,))

    def _target(self, tensor: Tensor, source: Tensor, name: str) -> tuple[Placed, tuple[int, ...]]:
        fixed = tensor in self._in_order or isinstance(tensor, Reshape)
        order = tuple(range(source.rank))
        if not fixed:
            order = order_like(source, self._orders) or order
        buffer = Buffer(f"{name}_out", tensor.dtype, count(source.shape))
        return Placed(buffer, strides_of(source.shape, order)), order

    def _settle(self, tensor: Tensor, source: Tensor, target: Placed, order: tuple[int, ...]) -> None:
        if tensor is not source:
            target, order = Placed(target.buffer, c_strides(tensor.shape)), tuple(range(tensor.rank))
        self._fused.placed[tensor] = target
        self._orders[tensor] = order

    def _joined(self, name: str, tensor: Concat) -> Kernel:
        buffer = Buffer(f"{name}_out", tensor.dtype, count(tensor.shape))
        order = tuple(range(tensor.rank))
        if tensor not in self._in_order:
            order = order_like(tensor, self._orders) or order
        strides = strides_of(tensor.shape, order)
        start: Dim = 0
        nests: list[tuple[Statement, ...]] = []
        for part in tensor.parts:
            nest = nest_of(
                part, Placed(buffer, strides), order, _Placed(self, tensor), Index((), start * strides[tensor.axis])
            )
            nests.append(schedule_nest(nest))
            start = start + part.shape[tensor.axis]
        self._settle(tensor, tensor, Placed(buffer, strides), order)
        return self._made(name, tuple(nests), (buffer,))

    def _product(self, name: str, chain: Sequence[Tensor]) -> Kernel:
        tensor = chain[-1]
        fixed = tensor in self._in_order or isinstance(tensor, Permute)
        if (attention := self._attentions.get(chain[0])) is not None:
            found = attention_nest(attention, chain, _Placed(self, tensor), name, fixed)
            self._settle(tensor, tensor, found.target, found.order)
            return self._made(name, (found.nest,), (found.target.buffer,), found.nest.scratch)
        made = quickest(contraction_nest(chain, _Placed(self, tensor), name, fixed), name)
        product = made.product
        self._fused.constants.update(made.constants)
        if product.zeros is not None:
            self._fused.zeros.append(product.zeros)
        self._settle(tensor, tensor, made.target, made.order)
        if isinstance(product, Contraction) and not product.packed and self._is_the_same_in_each_run(chain[0]):
            product = self._packed_before(chain[0], product, name)
        return self._made(name, (product,), (made.target.buffer,), product.scratch)

    def _is_the_same_in_each_run(self, contract: Tensor) -> bool:
        """Whether the right side of a contraction is there before a loop that it is in."""
        assert isinstance(contract, Contract)
        inside = self._homes[contract][len(self._homes[contract.rhs]) :]
        return any(isinstance(region, Repeat) for region, _ in inside)

    def _packed_before(self, contract: Tensor, product: Contraction, name: str) -> Contraction:
        """A product whose right side is packed where it is made, and not by every run of a loop."""
        assert isinstance(contract, Contract)
        first, product = packed_before(product, name)
        assert first.panels is not None
        kernel = self._made(f"{name}_pack", (first,), (first.panels,))
        self._steps[self._homes[contract.rhs]].append(kernel)
        self._fused.made[kernel] = contract.rhs
        self._fused.why.setdefault(contract.rhs, f"{name} multiplies it in every run of a loop")
        return product

    def _made(
        self,
        name: str,
        nests: tuple[KernelNest, ...],
        writes: tuple[Buffer, ...],
        scratch: tuple[Buffer, ...] = (),
    ) -> Kernel:
        zeros = [nest.zeros for nest in nests if isinstance(nest, Contraction | Winograd) and nest.zeros is not None]
        reads = tuple(
            buffer for buffer in (*buffers_read(nests), *zeros) if buffer not in writes and buffer not in scratch
        )
        return Kernel(name, nests, reads, writes, scratch)

    def _place(self, tensor: Tensor, name: str, order: tuple[int, ...] | None) -> Placed:
        order = order or tuple(range(tensor.rank))
        placed = Placed(Buffer(name, tensor.dtype, count(tensor.shape)), strides_of(tensor.shape, order))
        self._fused.placed[tensor] = placed
        self._orders[tensor] = order
        return placed

    def _name(self, letter: str) -> str:
        self._names += 1
        return f"{self._prefix}{letter}{self._names}"


def _always(home: Placement, around: Placement) -> bool:
    """Whether what is computed in one body is so whenever another around it runs, but for how often loops do."""
    inside = home[len(around) :]
    return home[: len(around)] == around and all(isinstance(region, Repeat) for region, _ in inside)


class _Placed(Mapping[Tensor, Placed]):
    """What is stored, as a kernel sees it: asking for what is to be stored, and is not yet, has it stored first."""

    def __init__(self, fusion: _Fusion, root: Tensor) -> None:
        self._fusion = fusion
        self._root = root

    def __getitem__(self, tensor: Tensor) -> Placed:
        placed = self._fusion._fused.placed
        if tensor in placed:
            return placed[tensor]
        given = isinstance(tensor, Parameter | CallResult | RegionResult) or (
            isinstance(tensor, Constant) and tensor.array.size > 1
        )
        if given:
            self._fusion._need(tensor)
            return placed[tensor]
        if tensor in self._fusion._stored and tensor is not self._root:
            raise StoreFirst(tensor, "it is read by others too")
        raise KeyError(tensor)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._fusion._fused.placed)

    def __len__(self) -> int:
        return len(self._fusion._fused.placed)


def _needs(call: Call, name: str) -> bool:
    """Whether a call is made with what is computed with a size: then another tells it."""
    arguments = [each for each in call.arguments if each is not None]
    return any(name in symbols(size) for each in in_order(arguments) for size in sizes_of(each))


def sizes_of(tensor: Tensor) -> tuple[Dim, ...]:
    """The sizes that a tensor is computed with."""
    match tensor:
        case Size():
            return (tensor.size,)
        case RegionResult(region=Repeat(trips=int() | Expr() as trips)):
            return (*tensor.shape, trips)
        case Slice():
            return (*tensor.shape, *tensor.starts)
        case Pad():
            return (*tensor.shape, *tensor.before)
    return tensor.shape


def _is_spread(tensor: Tensor) -> bool:
    return isinstance(tensor, Expand) or (isinstance(tensor, Constant) and tensor.array.size == 1)


def _with_reads(tensor: Tensor, inlined: Mapping[Tensor, frozenset[Tensor]]) -> frozenset[Tensor]:
    """What is inlined where a tensor is: itself, unless it is one value everywhere, and what its reads have in them."""
    own = () if isinstance(tensor, Expand) else (tensor,)
    return frozenset(own).union(*(inlined[each] for each in tensor.reads))


def _column_axes(contract: Contract) -> int:
    """How many axes, other than those of size one, the columns of a contraction lie in."""
    left, right, _ = contract.labels
    return sum(label not in left and size != 1 for label, size in zip(right, contract.rhs.shape, strict=True))


def _keeps_columns(chain: Sequence[Tensor]) -> bool:
    """Whether the last of a chain over a contraction ends with its columns, as the contraction does."""
    contract = chain[0]
    assert isinstance(contract, Contract)
    axes = list(range(contract.rank))
    for tensor in chain:
        if isinstance(tensor, Permute):
            axes = [axes[axis] for axis in tensor.order]
    columns = len(set(contract.labels[1]) - set(contract.labels[0])) or 1
    return axes[-columns:] == list(range(contract.rank))[-columns:]
