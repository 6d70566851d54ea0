"""Specialisation by sizes: an If whose condition depends on sizes alone is replaced by the branch that is taken.

Exporters write `x.squeeze(0) if x.shape[0] == 1 else x` as an If whose branches have different ranks, which no kernel
can have. Where the sizes are unknown, the branch for equal sizes is assumed, and a guard checks it in each run. A
Squeeze without axes, whose result has no known rank either, is assumed to leave every axis whose size is not known, and
sizes that are scaled as floats are assumed to be exact in them (`scaled_sizes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import numpy as np

from ingot.builder import inserting, op
from ingot.dataclass import dataclass
from ingot.dims import Expr, lower_bound, minimum, upper_bound
from ingot.infer.decided import EqualSizes, decided_by_sizes
from ingot.infer.driver import Facts, Inference
from ingot.infer.naming import Naming
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.lower.open_broadcasts import open_broadcasts
from ingot.lower.scaled_sizes import scale_in_integers
from ingot.ops.catalog import Catalog
from ingot.ops.facts import Fact, of_constant
from ingot.passes.branches import put_in_place
from ingot.prim.guard import BROADCASTS, Guard

Guards = dict[Graph, list[Guard]]
"""Sizes that were assumed to be equal, by the graph whose nodes depend on it."""

_MOST_ROUNDS = 32
"""How often ranks that a Squeeze has from now on may decide more of a model."""

_CHOSEN = "a branch was chosen by sizes, and sizes that were assumed to be equal are not"
_CHOSEN_OTHERWISE = "a branch was chosen by sizes, and sizes that were assumed not to be equal are"


@dataclass(frozen=True, slots=True)
class Specialised:
    """A typed model without functions, and what was assumed about sizes in its graphs.

    `changed` are the graphs whose branches were decided by an assumption: they compute what the model does only while
    their guards hold.
    """

    model: Model
    facts: Facts
    guards: Guards
    changed: frozenset[Graph]

    def copy(self) -> Specialised:
        """The same of a copy of the model."""
        model = self.model.copy()
        graphs = dict(zip(nested_graphs(self.model.graph), nested_graphs(model.graph), strict=True))
        values = {
            value: twin
            for graph, other in graphs.items()
            for value, twin in zip(graph.values(), other.values(), strict=True)
        }
        return Specialised(
            model,
            {values[value]: fact for value, fact in self.facts.items() if value in values},
            {graphs[graph]: list(pairs) for graph, pairs in self.guards.items() if graph in graphs},
            frozenset(graphs[graph] for graph in self.changed if graph in graphs),
        )


def specialise_branches(
    model: Model,
    catalog: Catalog,
    input_facts: Mapping[Value, Fact] | None = None,
    assumed: Guards | None = None,
    reversed_choices: frozenset[str] = frozenset(),
    facts: Facts | None = None,
    settled: Set[str] = frozenset(),
) -> Specialised:
    """A model, which is changed, with its facts: every If that sizes decide is replaced by the branch it takes.

    `input_facts` is what is known of its inputs, `assumed` what was assumed in its graphs before. Declared sizes that
    contradict what is inferred are overruled: the model is checked, and they can only contradict a default of an input.
    Where sizes are not known, branches for equal sizes are chosen, and no size to be one, but for `reversed_choices`.
    Sizes that only a run can compare are assumed to be equal where tensors broadcast, unless that is reversed; those of
    nothing but `settled` names are assumed to be so all the same.
    A model without subgraphs whose types were inferred need not be gone through again: `facts` are what was found.
    """
    guards: Guards = {graph: list(own) for graph, own in (assumed or {}).items()}
    if BROADCASTS in reversed_choices:
        facts = facts or _decided(model, catalog, input_facts, guards, reversed_choices)
        if open_broadcasts(model.graph, facts, settled):
            facts = None
    for _ in range(_MOST_ROUNDS):
        facts = facts or _decided(model, catalog, input_facts, guards, reversed_choices)
        changes = [
            _name_squeezed_axes(model, facts, guards, reversed_choices),
            _scale_in_integers(model, facts, guards),
        ]
        if not any(changes):
            break
        facts = None
    assert facts is not None
    changed = frozenset(graph for graph, own in guards.items() if own)
    for graph in nested_graphs(model.graph):
        guards.setdefault(graph, []).extend(no_zeros(graph, facts))
    return Specialised(model, facts, guards, changed)


def no_zeros(graph: Graph, facts: Facts) -> Iterator[Guard]:
    """Guards that no size computed for a Reshape is zero, unless the input's size on that axis is zero too.

    Reshape takes a zero for "copy this size", so that inference by the computed size would be wrong.
    """
    for node in graph:
        if node.applies("Reshape") and not node.get("allowzero", 0):
            yield from _no_zeros(node, facts)


def _no_zeros(node: Node, facts: Facts) -> Iterator[Guard]:
    data, target = (None if value is None else facts.get(value) for value in node.inputs[:2])
    shape = None if data is None else data.shape
    if target is None or target.elements is None or shape is None:
        return
    for axis, size in enumerate(target.elements):
        copied = shape[axis] if axis < len(shape) else 1
        if not isinstance(size, Expr) or copied is None or size == copied or (lower_bound(size) or 0) > 0:
            continue
        least = minimum(copied, 1)
        otherwise = f"sizes that were assumed not to be zero for Reshape '{node.label}' are not"
        yield Guard(minimum(size, 1) * least, least, otherwise)


@dataclass(frozen=True, slots=True)
class _Decision:
    """An If that sizes decide: certainly, or where two sizes are equal, which is assumed."""

    node: Node
    decided: bool | EqualSizes
    is_reversed: bool = False

    @property
    def takes_then(self) -> bool:
        """Whether the branch for a condition that holds is taken."""
        return bool(self.decided) != self.is_reversed


class _Deciding(Inference):
    """An inference that follows the branch that sizes decide: what an If gives is what that branch does."""

    def __init__(self, model: Model, catalog: Catalog, reversed_choices: frozenset[str]) -> None:
        super().__init__(model, catalog)
        self.decisions: list[_Decision] = []
        self._reversed = reversed_choices

    def node(self, node: Node) -> None:
        super().node(node)
        if not node.applies("If") or self.is_dead:
            return
        decided = decided_by_sizes(node.inputs[0], self.facts)
        assert node.graph is not None
        if decided is None or (
            isinstance(decided, EqualSizes) and not (_ranks_differ(node) and _is_in_branches(node.graph))
        ):
            return
        is_reversed = isinstance(decided, EqualSizes) and _choice(node) in self._reversed
        decision = _Decision(node, decided, is_reversed)
        self.decisions.append(decision)
        for value, result in zip(node.outputs, _branch_of(decision).outputs, strict=True):
            fact = self.facts[value] = self.fact(result)
            value.type = fact.type or value.type


def _branch_of(decision: _Decision) -> Graph:
    branch = decision.node["then_branch" if decision.takes_then else "else_branch"]
    assert isinstance(branch, Graph)
    return branch


def _put_in_place(decision: _Decision, model: Model, guards: Guards) -> None:
    """Put the branch that is taken in the place of an If, unless that went with a branch that is not."""
    node, graph, decided = decision.node, decision.node.graph, decision.decided
    if graph is None or graph.root is not model.graph:
        return
    branch = _branch_of(decision)
    own = guards.setdefault(graph, [])
    own += guards.pop(branch, [])
    if isinstance(decided, EqualSizes):
        own.append(_guard_of_branch(decision, decided))
    put_in_place(branch, node, graph)


def _guard_of_branch(decision: _Decision, sizes: EqualSizes) -> Guard:
    """That two sizes are equal, or that they are not where that is reversed."""
    choice = _choice(decision.node)
    if not decision.is_reversed:
        return Guard(sizes.one, sizes.other, _CHOSEN, choice)
    apart = sizes.one - sizes.other
    return Guard(minimum(apart * apart, 1), 1, _CHOSEN_OTHERWISE, choice)


def _choice(node: Node, axis: int | None = None) -> str:
    """The name of what is chosen for a node: which branch, or whether an axis has one element."""
    return f"branch of {node.label}" if axis is None else f"axis {axis} of {node.label}"


def _decided(
    model: Model,
    catalog: Catalog,
    input_facts: Mapping[Value, Fact] | None,
    guards: Guards,
    reversed_choices: frozenset[str],
) -> Facts:
    """What is known of a model whose branches that sizes decide are put in their places."""
    inference = _Deciding(model, catalog, reversed_choices)
    inference.overrules = True
    inference.naming = Naming(model)
    inference.graph(model.graph, input_facts)
    facts = inference.facts
    for decision in reversed(inference.decisions):  # those inside come before the If around them
        _put_in_place(decision, model, guards)
    for value in model.graph.initializers.values():
        if value not in facts and isinstance(value.constant, Tensor):  # of a branch before
            facts[value] = of_constant(value.constant)
    return facts


def _name_squeezed_axes(model: Model, facts: Facts, guards: Guards, reversed_choices: frozenset[str]) -> bool:
    """Whether a Squeeze without axes got those of size one; sizes with names are assumed not to be one,
    unless they are at most that, or the choice is reversed.
    """
    changed = False
    for graph in nested_graphs(model.graph):
        for node in [node for node in graph if node.applies("Squeeze") and len(node.inputs) == 1]:
            fact = Fact() if node.inputs[0] is None else facts.get(node.inputs[0], Fact())
            sizes = fact.shape or ()
            if not any(isinstance(size, Expr) for size in sizes) or None in sizes or not _is_in_branches(graph):
                continue
            axes = [
                axis
                for axis, size in enumerate(sizes)
                if size is not None and (upper_bound(size) == 1 or _choice(node, axis) in reversed_choices)
            ]
            guards.setdefault(graph, []).extend(
                _guard_of_squeeze(size, node, axis, axis in axes)
                for axis, size in enumerate(sizes)
                if isinstance(size, Expr)
            )
            with inserting(before=node):
                node.inputs = [node.inputs[0], op.Constant(value=Tensor(np.array(axes, np.int64))).value]
            changed = True
    return changed


def _scale_in_integers(model: Model, facts: Facts, guards: Guards) -> bool:
    """Whether sizes are from now on scaled by integer arithmetic, within what floats hold exactly."""
    changed = False
    for graph in nested_graphs(model.graph):
        if _is_in_branches(graph):
            own = list(scale_in_integers(graph, facts))
            guards.setdefault(graph, []).extend(own)
            changed = changed or bool(own)
    return changed


def _guard_of_squeeze(size: Expr, node: Node, axis: int, is_one: bool) -> Guard:
    """That a size is one, or that it is not."""
    choice = _choice(node, axis)
    if is_one:
        return Guard(size, 1, f"a size that was assumed to be one for Squeeze '{node.label}' is none", choice)
    otherwise = f"a size that was assumed not to be one for Squeeze '{node.label}' is one"
    return Guard(minimum((size - 1) * (size - 1), 1), 1, otherwise, choice)


def _is_in_branches(graph: Graph) -> bool:
    """Whether nothing but branches is around a graph: in a loop, sizes may differ from run to run."""
    while graph.parent is not None:
        if not graph.parent.applies("If") or graph.parent.graph is None:
            return False
        graph = graph.parent.graph
    return True


def _ranks_differ(node: Node) -> bool:
    """Whether the branches of an If have results of different ranks."""
    branches = [node["then_branch"], node["else_branch"]]
    assert all(isinstance(branch, Graph) for branch in branches)
    ranks = [[_rank(value) for value in branch.outputs] for branch in branches if isinstance(branch, Graph)]
    return ranks[0] != ranks[1]


def _rank(value: Value) -> int | None:
    return value.type.rank if isinstance(value.type, TensorType) else None
