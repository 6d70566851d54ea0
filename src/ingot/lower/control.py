"""Control flow in primitives: If, Loop and Scan as regions whose bodies are the primitives of their graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.infer.driver import Inference
from ingot.infer.naming import Naming
from ingot.ir.clone import copy_graph
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.lower.specialise_branches import no_zeros
from ingot.ops.catalog import Catalog
from ingot.ops.control.carried import forwarded, truth
from ingot.ops.facts import Fact
from ingot.prim.functions import ELEMENTS
from ingot.prim.make import gather, permute, reshape, size, slice_
from ingot.prim.region import branch, repeated
from ingot.prim.tensor import BodyArgument, Constant, Refused, Tensor, scalar

REGIONS = {"If", "Loop", "Scan"}

Facts = Mapping[Value, Fact]
Within = Callable[[Graph, Facts], list[Tensor]]
"""What a graph inside of a node gives, in primitives; Refused if the reference has to run a part of it."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a region is in: the tensors of values so far, what is known of them, and how a graph in it is lowered."""

    model: Model
    catalog: Catalog
    facts: dict[Value, Fact]
    values: dict[Value, Tensor]
    claims: Mapping[Graph, Sequence[tuple[Dim, Dim]]]
    within: Within
    told: Callable[[Dim], bool]
    claim: Callable[[tuple[Dim, Dim]], None]
    """Have each run make sure that two sizes are equal."""


def lower_region(node: Node, inputs: Sequence[Tensor | None], found: Sequence[Fact], around: Around) -> list[Tensor]:
    """What an If, a Loop or a Scan computes; Refused, with the reason, if its body cannot be said in primitives."""
    for each in inputs:
        if each is not None and each.dtype not in ELEMENTS:
            raise Refused("an input that is no tensor of numbers")
    match node.op_type:
        case "If":
            return _if(node, inputs, around)
        case "Loop":
            return _loop(node, inputs, found, around)
        case _:
            return _scan(node, inputs, around)


def _if(node: Node, inputs: Sequence[Tensor | None], around: Around) -> list[Tensor]:
    (condition,) = inputs
    assert condition is not None
    sides = [_graph(node, "then_branch"), _graph(node, "else_branch")]
    then, otherwise = [around.within(side, around.facts) for side in sides]
    claims = [tuple(around.claims.get(side, ())) for side in sides]
    if not all(around.told(size) for pairs in claims for pair in pairs for size in pair):
        raise Refused("sizes to compare that only a run can tell")
    return branch(condition, then, otherwise, (claims[0], claims[1]))


def _loop(node: Node, inputs: Sequence[Tensor | None], found: Sequence[Fact], around: Around) -> list[Tensor]:
    limit, condition = (inputs[place] if place < len(inputs) else None for place in (0, 1))
    initial = _whole(inputs[2:])
    body = copy_graph(_graph(node, "body"))
    carried = len(initial)
    same = [forwarded(body.outputs[1 + place]) is body.inputs[2 + place] for place in range(carried)]
    number = BodyArgument(DType.INT64, (), "number")
    states = [BodyArgument(each.dtype, each.shape, f"state{place}") for place, each in enumerate(initial)]
    seen: list[Tensor] = [start if same[place] else states[place] for place, start in enumerate(initial)]
    goes_on = forwarded(body.outputs[0]) is body.inputs[1] or truth(forwarded(body.outputs[0]).constant) is True
    if condition is None and not goes_on and body.inputs[1].uses:
        raise Refused("a condition that is looked at but does not end the loop")
    true = scalar(True, DType.BOOL)
    heads = [_as_declared(body.inputs[0], number), _as_declared(body.inputs[1], true)]
    made = _body(body, [*heads, *seen], around)
    rows = [row for row, value in zip(made[1 + carried :], node.outputs[carried:], strict=False) if value.name]
    count = _count(found[carried:], around) if rows else 0
    changing = [place for place in range(carried) if not same[place]]
    for place in changing:
        if made[1 + place].shape != initial[place].shape:
            raise Refused("a state whose size changes")
    trips: Dim | Tensor | None = count if rows else None if limit is None else reshape(limit, ())
    if isinstance(trips, Constant):
        trips = max(int(trips.array), 0)
    last, kept = repeated(
        trips,
        None if condition is None or rows else condition,
        [initial[place] for place in changing],
        number,
        [states[place] for place in changing],
        None if condition is None or goes_on else made[0],
        [made[1 + place] for place in changing],
        rows,
        count,
    )
    finals, collected = iter(last), iter(kept)
    ends = [initial[place] if same[place] else next(finals) for place in range(carried)]
    unwanted = scalar(0, DType.INT64)  # nobody reads what has no name
    return ends + [next(collected) if value.name else unwanted for value in node.outputs[carried:]]


def _scan(node: Node, inputs: Sequence[Tensor | None], around: Around) -> list[Tensor]:
    given = _whole(inputs)
    body = copy_graph(_graph(node, "body"))
    scanned = _integer(node["num_scan_inputs"])
    carried = len(given) - scanned
    collects = len(body.outputs) - carried
    axes, backwards = numbers(node, "scan_input_axes", scanned), numbers(node, "scan_input_directions", scanned)
    axes_out = numbers(node, "scan_output_axes", collects)
    backwards_out = numbers(node, "scan_output_directions", collects)
    first = given[carried]
    trips = first.shape[axes[0] % first.rank]
    number = BodyArgument(DType.INT64, (), "number")
    states = [BodyArgument(each.dtype, each.shape, f"state{place}") for place, each in enumerate(given[:carried])]
    slices = []
    for x, axis, reverse in zip(given[carried:], axes, backwards, strict=True):
        axis %= x.rank
        if x.shape[axis] != trips:
            raise Refused("scanned axes whose sizes only a run can tell to be equal")
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        at = size(trips) - 1 - number if reverse else number
        places: list[Tensor | int] = [at if each == axis else each - (each > axis) for each in range(x.rank)]
        slices.append(gather(x, places, shape))
    made = _body(body, [*states, *slices], around)
    for state, result in zip(states, made, strict=False):
        if state.shape != result.shape:
            raise Refused("a state whose size changes")
    last, kept = repeated(trips, None, given[:carried], number, states, None, made[:carried], made[carried:], trips)
    results = []
    for x, axis, reverse in zip(kept, axes_out, backwards_out, strict=True):
        if reverse:
            rest = (0,) * (x.rank - 1)
            x = slice_(x, (trips - 1, *rest), x.shape, (-1, *(1 for _ in rest)))
        order = list(range(1, x.rank))
        order.insert(axis % x.rank, 0)
        results.append(permute(x, order))
    return [*last, *results]


def _body(body: Graph, given: Sequence[Tensor], around: Around) -> list[Tensor]:
    """What a body gives for tensors in the place of its inputs: its types are found anew, for theirs."""
    inference = Inference(around.model, around.catalog)
    inference.facts = dict(around.facts)
    inference.naming = Naming(around.model)
    known = {
        value: Fact(TensorType(tensor.dtype, tensor.shape), constant=None)
        for value, tensor in zip(body.inputs, given, strict=True)
    }
    for value in body.inputs:
        value.type = known[value].type
    inference.graph(body, known)
    for pair in (pair for graph in nested_graphs(body) for pair in no_zeros(graph, inference.facts)):
        if not all(map(around.told, pair)):
            raise Refused("a size that may be zero, which only a run can tell")
        around.claim(pair)
    around.values.update(zip(body.inputs, given, strict=True))
    return around.within(body, inference.facts)


def _whole(given: Sequence[Tensor | None]) -> list[Tensor]:
    found = [each for each in given if each is not None]
    if len(found) < len(given):
        raise Refused("a state that is not given")
    return found


def _as_declared(value: Value, tensor: Tensor) -> Tensor:
    """A single element with the axes an input of a body declares: none, or one."""
    rank = value.type.rank if isinstance(value.type, TensorType) else 0
    return reshape(tensor, (1,) * (rank or 0))


def _count(found: Sequence[Fact], around: Around) -> Dim:
    """How many rows a loop keeps; Refused if only a run can tell."""
    for fact in found:
        if fact.shape and fact.shape[0] is not None and around.told(fact.shape[0]):
            return fact.shape[0]
    raise Refused("how often it runs, which only a run can tell")


def _graph(node: Node, name: str) -> Graph:
    found = node[name]
    assert isinstance(found, Graph)
    return found


def numbers(node: Node, name: str, count: int) -> list[int]:
    """An attribute of so many integers, by default zeros."""
    found = node.attributes.get(name)
    return [0] * count if found is None or not found.value else [int(each) for each in found.value]  # type: ignore[union-attr, arg-type]


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value
