"""The way down: newer operators rewritten in those of an older version, one version at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ingot.errors import CheckError, IngotError, UnsupportedError
from ingot.infer.check import node_errors
from ingot.infer.stepwise import types_of
from ingot.ir.clone import copy_node, copy_value
from ingot.ir.domains import OpsetImports, spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.tensor import Tensor
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog, with_downgrades
from ingot.ops.define import Operator
from ingot.ops.facts import Fact, of_constant
from ingot.ops.rewrite import drop_defaults, rewrite
from ingot.versions.axes import count_from_front

_NEGATIVE_AXES_SINCE = 11


class Descent:
    """Nodes of one set of graphs on their way down, `level` the versions they are in now."""

    def __init__(self, model: Model, holder: Model | Function, catalog: Catalog, level: Mapping[str, int]) -> None:
        self._model = model
        self._holder = holder
        self._catalog = catalog
        self.level = OpsetImports(level)
        self._pending: dict[Node, int] = {}
        self.rewritten = 0
        holder.opset_imports = self.level

    def take(self, nodes: Iterable[Node], versions: Mapping[str, int]) -> None:
        """Add nodes of the given versions, to come along from there."""
        for node in nodes:
            self._pending[node] = versions.get(node.domain, 0)

    def to(self, domain: str, target: int) -> None:
        """Bring the nodes of a domain down to a version of it; UnsupportedError if one cannot be expressed there."""
        while self.level[domain] > target:
            version = self.level[domain]
            self.level[domain] = version - 1
            self._holder.opset_imports = self.level
            for node, stands in list(self._pending.items()):
                if stands >= version and node.domain == domain and node.graph is not None:
                    self._step(node, domain, version)

    def _step(self, node: Node, domain: str, version: int) -> None:
        """Say a node of `version` in the one before."""
        operator = self._catalog.find(domain, node.op_type, version)
        if operator is None or version not in operator.since:
            return
        refusal = None
        if version != operator.since[0]:
            fit(node, operator, version, version - 1)
            refusal = next(refusals(node, self.level, self._catalog), None)
            if refusal is None:
                return
        self._rewrite_older(node, operator, version, refusal)

    def _rewrite_older(self, node: Node, operator: Operator, version: int, refusal: CheckError | None) -> None:
        graph = node.graph
        assert graph is not None
        place = f"in node '{node.label}' ({node.op_type}-{version})"
        shown = f"{spelled_out(operator.domain)} {version - 1}"
        if "downgrade" not in with_downgrades(operator).rules:
            reason = refusal.message if refusal else f"{node.op_type} has no equivalent there"
            raise UnsupportedError(f"{shown} cannot express this: {reason}", where=(place,))
        inputs = list(node.inputs)
        try:
            rewritten = rewrite(node, operator, graph, self._model, "downgrade", version=version - 1).nodes
        except IngotError as error:
            if refusal is not None and isinstance(error, UnsupportedError):
                error.message = f"{error.message} ({refusal.message})"
            error.message = f"{shown} cannot express this: {error.message}"
            raise
        self.rewritten += 1
        self._pending.pop(node, None)
        self.find_types(rewritten)
        for new in rewritten:
            inner = (each for graph in new.subgraphs for nested in nested_graphs(graph) for each in nested)
            self.take((new, *(each for each in inner if each not in self._pending)), self.level)
            for wrong in refusals(new, self.level, self._catalog):
                raise UnsupportedError(f"{shown} cannot express this: {wrong.message}", where=(place,))
        _drop_unread(inputs)

    def find_types(self, nodes: list[Node]) -> None:
        """Find the types of what a rule computes on the way, for the rules of still older versions to read."""
        scratch = Graph(name="made")
        known: dict[Value, Value] = {}
        own = {value for node in nodes for value in node.outputs}
        for node in nodes:
            for value in (*node.inputs, *(inner for graph in node.subgraphs for inner in captures(graph))):
                if value is not None and value not in own and value not in known:
                    twin = copy_value(value, known)
                    (scratch.inputs.append if value.constant is None else scratch.initializers.add)(twin)
        for node in nodes:
            scratch.append(copy_node(node, known))
        inferred: dict[Value, Type] = {}
        try:
            inferred = types_of(Model(scratch, dict(self.level)), catalog=self._catalog, custom=True)
        except IngotError:
            return  # no types for an inconsistent model: the whole is checked in the end
        inner = (graph for node in nodes for subgraph in node.subgraphs for graph in nested_graphs(subgraph))
        for value in (*own, *(value for graph in inner for value in graph.values())):
            if value.type is None and (type_ := inferred.get(known.get(value, value))) is not None:
                value.type = type_


def fit(node: Node, operator: Operator, source: int, target: int) -> None:
    """Take off a node of `source` what an older version with its meaning writes otherwise, if it has an effect at all.

    UnsupportedError if an axis counts from the back and the rank is not known.
    """
    drop_defaults(node, operator, target)
    if not operator.domain and target < _NEGATIVE_AXES_SINCE <= source:
        count_from_front(node)


def refusals(node: Node, versions: Mapping[str, int], catalog: Catalog) -> Iterator[CheckError]:
    """What keeps a node from being valid as it is in the given versions."""
    facts = [Fact(present=False) if value is None else _fact(value) for value in node.inputs]
    return node_errors(node, facts, versions, catalog)


def _fact(value: Value) -> Fact:
    return of_constant(value.constant) if isinstance(value.constant, Tensor) else Fact(value.type)


def _drop_unread(values: Iterable[Value | None]) -> None:
    """Take away constants that became attributes, and are read by nobody now."""
    for value in values:
        if value is None or value.uses or value.is_output or value.is_input:
            continue
        if value.producer is not None:
            if value.producer.applies("Constant") and value.producer.graph is not None:
                value.producer.graph.remove(value.producer)
        elif value.graph is not None and value.name in value.graph.initializers:
            value.graph.initializers.remove(value)
