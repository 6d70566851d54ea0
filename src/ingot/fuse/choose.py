"""The first half of deciding: what is stored for reasons that the primitives alone give, each with its reason.

Everything else, elementwise functions, reductions and views, is computed where it is read, unless reading it turns out
to need more (`fuse.decide`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.fuse.attention_match import AttentionMatch, attention_in
from ingot.fuse.epilogue import Epilogues, column_axes
from ingot.fuse.gathered_rows import gathered_rows
from ingot.fuse.interpolated import interpolated
from ingot.fuse.limits import FusionLimits
from ingot.fuse.long_expression import cuts, nested_gathers
from ingot.fuse.paired_rows import paired_rows
from ingot.fuse.repeated_rows import repeated_rows
from ingot.fuse.sides import Sides, constants_left
from ingot.fuse.uses import External, Uses, is_spread
from ingot.loops.function_costs import COSTLY
from ingot.prim.descent import Descent
from ingot.prim.functions import NARROW_FLOATS
from ingot.prim.make import count
from ingot.prim.order import Order
from ingot.prim.region import BodyArgument, Branch, RegionResult, Repeat
from ingot.prim.suppression import Suppression
from ingot.prim.tensor import (
    Concat,
    Contract,
    Expand,
    Gather,
    Iota,
    Map,
    Reduce,
    Scan,
    Scatter,
    Size,
    Tensor,
    View,
)

RESULT = "it is a result"
CONTRACTION = "it ends a contraction"
SHARED = "several kernels read it"
HOISTED = "every run of a loop would compute it again"
LONG_EXPRESSION = "the expression would be too long without it"
LONG_REDUCTION = "threads share its long rows"
CONCAT = "tensors joined are stored"
SCAN = "running totals are stored"
DESCENT = "votes of trees are stored"
ORDER = "places in order are stored"
SUPPRESSION = "boxes that are kept are stored"
SCATTER = "what is written at computed places is stored"
GATHERED_ROWS = "rows of it are gathered"
REPEATED_ROWS = "rows of it are repeated"
INTERPOLATED = "it is interpolated again"
PAIRED_ROWS = "each of its rows is reduced with many others"
BRANCHED = "a branch is by it"
LOOP_BEGIN = "a loop begins with it"
LOOP_STATE = "the next run of the loop reads it"

_STORED_ALONE: Mapping[type[Tensor], str] = {
    Scan: SCAN,
    Descent: DESCENT,
    Order: ORDER,
    Suppression: SUPPRESSION,
    Scatter: SCATTER,
    Concat: CONCAT,
}
"""What is never computed where it is read, and why."""

_OF_RUNS = ("add", "subtract", "less", "less_equal", "where")
"""Functions of the number of a run that are as cheap as loading their result: which row it reads, and whether any."""

_CHEAP = External | Iota | Size
"""What no kernel computes, or any may as well compute again."""

_OF_A_GATHER = 4
"""Primitives that a gather stands for: its index is counted from the front, and checked."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which tensors are stored, why, and how.

    `in_order` is stored in the order of its axes. `chains` are contractions with their epilogues, by the last tensor of
    each; `attentions` are by their second contraction. `states` are those of loops. `sides` are those of contractions
    whose constant operand is the left one.
    """

    stored: Mapping[Tensor, str]
    in_order: frozenset[Tensor]
    chains: Mapping[Tensor, tuple[Tensor, ...]]
    attentions: Mapping[Tensor, AttentionMatch]
    states: frozenset[Tensor]
    sides: Mapping[Contract, Sides]


def choose(uses: Uses, limits: FusionLimits) -> Choice:
    """The tensors stored beside the results: those that are not elementwise, and those that several kernels read."""
    stored = dict.fromkeys(uses.results, RESULT)
    in_order, states = set(uses.results), set[Tensor]()
    for tensor in uses.order:
        if isinstance(tensor, Contract) and column_axes(tensor) > 1:
            in_order.add(tensor.rhs)
    for region in dict.fromkeys(result.region for result in uses.order if isinstance(result, RegionResult)):
        around = dict.fromkeys(region.before, BRANCHED if isinstance(region, Branch) else LOOP_BEGIN)
        if isinstance(region, Repeat):
            states.update((*region.initial, *region.results))
            going = () if region.going is None else (region.going,)
            around |= dict.fromkeys((*region.results, *going), LOOP_STATE)
        in_order.update(around)
        for tensor, why in around.items():
            stored.setdefault(tensor, why)
    attentions = _attentions(uses, stored, limits)
    inside = frozenset[Tensor]().union(*(result.inside for result in attentions.values()))
    sides = constants_left(uses, in_order, limits)
    epilogues = Epilogues(uses, stored, in_order, sides)
    chains: dict[Tensor, tuple[Tensor, ...]] = {}
    for tensor in uses.order:
        if isinstance(tensor, Contract) and tensor not in inside:
            chain = epilogues.chain(tensor, reshapes=tensor not in attentions)
            chains[chain[-1]] = chain
            stored.setdefault(chain[-1], CONTRACTION)
        elif not tensor.is_constant:  # which may only be packed
            alone = _stored_alone(tensor, stored, limits)
            if alone is not None:
                stored.setdefault(tensor, alone)
    for tensor in gathered_rows(uses):
        stored.setdefault(tensor, GATHERED_ROWS)
        in_order.add(tensor)
    for tensor in repeated_rows(uses):
        stored.setdefault(tensor, REPEATED_ROWS)
        in_order.add(tensor)
    for tensor in paired_rows(uses):
        stored.setdefault(tensor, PAIRED_ROWS)
        in_order.add(tensor)
    for tensor in interpolated(uses, stored):
        stored.setdefault(tensor, INTERPOLATED)
    for tensor in nested_gathers(uses, stored, inside, limits.inlined // _OF_A_GATHER):
        stored.setdefault(tensor, LONG_EXPRESSION)
    _store_shared(uses, stored)
    long = cuts(uses, stored, inside, limits.inlined)
    stored |= dict.fromkeys(long, LONG_EXPRESSION)
    if long:  # kernels begin where there were none before
        _store_shared(uses, stored)
    return Choice(stored, frozenset(in_order), chains, attentions, frozenset(states), sides)


def _attentions(uses: Uses, stored: Mapping[Tensor, str], limits: FusionLimits) -> dict[Tensor, AttentionMatch]:
    attentions: dict[Tensor, AttentionMatch] = {}
    placements = uses.placements
    for tensor in uses.order:
        match = None
        if isinstance(tensor, Contract) and limits.attention_rows is not None:
            match = attention_in(tensor, uses.readers, stored, limits.attention_rows, limits.attention_width)
        if match is not None and all(placements[inner] == placements[tensor] for inner in match.inside):
            attentions[tensor] = match
    return attentions


def _stored_alone(tensor: Tensor, stored: Mapping[Tensor, str], limits: FusionLimits) -> str | None:
    """Why a tensor is never computed where it is read, from parts or in parts; None if it may be."""
    if isinstance(tensor, Reduce):
        return LONG_REDUCTION if _is_divided(tensor, stored, limits) else None
    return _STORED_ALONE.get(type(tensor))


def _is_divided(tensor: Reduce, stored: Mapping[Tensor, str], limits: FusionLimits) -> bool:
    """Whether threads are to share the rows of a reduction, and nothing costly is computed twice for that."""
    sizes = tensor.x.shape
    rows = count([size for axis, size in enumerate(sizes) if axis not in tensor.axes])
    length = count([sizes[axis] for axis in tensor.axes])
    if not isinstance(length, int) or not limits.divides(rows, length):
        return False
    pending: list[Tensor] = [tensor.x]
    while pending:
        inner = pending.pop()
        if isinstance(inner, Map) and inner.function in COSTLY:
            return False
        if isinstance(inner, Map | View) and inner not in stored:
            pending.extend(inner.reads)
    return True


def _store_shared(uses: Uses, stored: dict[Tensor, str]) -> None:
    """Store what several kernels, or every run of a loop, would compute again."""
    written = {*_written_in_place(uses), *_narrow_operands(uses)}
    has_loops = any(isinstance(region, Repeat) for placement in uses.placements.values() for region, _ in placement)
    kernels: dict[Tensor, set[Tensor]] = {}
    for tensor in reversed(uses.order):
        if isinstance(tensor, _CHEAP):
            continue
        around: set[Tensor] = set()
        for reader in uses.readers_of(tensor):
            around |= {reader} if reader in stored or reader in written else kernels.get(reader, set())
        kernels[tensor] = around
        repeated = has_loops and _is_repeated(tensor, around, uses)
        if (len(around) > 1 or repeated) and _is_worth_storing(tensor):
            stored.setdefault(tensor, SHARED if len(around) > 1 else HOISTED)


def _narrow_operands(uses: Uses) -> Iterator[Tensor]:
    """What contractions of bytes or of 16-bit floats read and is computed: it is stored, as they read it in units."""
    for tensor in uses.order:
        if isinstance(tensor, Contract):
            for operand in tensor.reads:
                if operand.dtype is tensor.dtype:
                    continue
                while isinstance(operand, View):
                    operand = operand.x
                if isinstance(operand, Map) and not operand.is_constant:
                    yield operand


def _written_in_place(uses: Uses) -> Iterator[Tensor]:
    """The tensors that are stored in the memory of a region's results."""
    for tensor in uses.order:
        if isinstance(tensor, RegionResult):
            yield tensor
            if isinstance(tensor.region, Branch):
                yield from (body[tensor.index] for body in tensor.region.bodies)
            elif tensor.is_rows:
                yield tensor.region.rows[tensor.index - len(tensor.region.states)]


def _is_repeated(tensor: Tensor, around: set[Tensor], uses: Uses) -> bool:
    """Whether a tensor is invariant in a loop whose every run would compute it again."""
    own = uses.placements[tensor]
    is_in_loop = any(
        isinstance(region, Repeat) for reader in around for region, _ in uses.placements[reader][len(own) :]
    )
    return is_in_loop and not tensor.is_constant and tensor in uses.moving


def _is_worth_storing(tensor: Tensor) -> bool:
    if isinstance(tensor, View) or (isinstance(tensor, Gather) and _moves_rows(tensor)) or _follows_runs(tensor):
        return False
    if isinstance(tensor, Map):
        large = [argument for argument in tensor.arguments if not is_spread(argument)]
        if tensor.function != "cast" or len(large) != 1:
            return True
        is_widened = tensor.dtype is DType.FLOAT32 and large[0].dtype in NARROW_FLOATS  # half of the bytes are stored
        return not is_widened and not isinstance(large[0], External | RegionResult)
    return True


def _moves_rows(tensor: Gather) -> bool:
    """Whether whole rows are read at places that are not checked: as cheap where it is read as a view."""
    places = [place for place in tensor.places if not isinstance(place, int)]
    return tensor.in_range and all(isinstance(place, Expand) and place.x.shape[-1:] in ((), (1,)) for place in places)


def _follows_runs(tensor: Tensor) -> bool:
    """Whether a tensor is computed from the number of a loop's run by a few cheap functions of whole numbers."""
    if isinstance(tensor, View):
        return _follows_runs(tensor.x)
    if isinstance(tensor, Map) and tensor.function in _OF_RUNS and tensor.dtype in (DType.INT64, DType.BOOL):
        return any(map(_follows_runs, tensor.arguments))
    return isinstance(tensor, BodyArgument) and tensor.dtype is DType.INT64 and count(tensor.shape) == 1
