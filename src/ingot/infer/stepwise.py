"""Inference over a model of any version: each old node is upgraded just before its rule is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ingot.errors import CheckError, InputError, UnsupportedError
from ingot.infer.driver import Inference
from ingot.infer.naming import Naming
from ingot.ir.domains import OpsetImports
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import Operator
from ingot.ops.facts import Fact
from ingot.ops.rewrite import NEWEST, newest, rewrite


def types_of(
    model: Model, *, catalog: Catalog | None = None, name_sizes: bool = False, custom: bool = False
) -> dict[Value, Type]:
    """The types found of the values of the main graph and its subgraphs, whatever operator sets the model imports.

    The model is not changed. With `name_sizes` a statically unknown size gets a name of its own; with `custom` what
    operators of domains that nobody knows compute is what is declared. CheckError as `infer` raises it.
    """
    twin = model.copy()
    pairs = list(twins(model.graph, twin.graph))
    inference = Stepwise(twin, catalog or standard())
    inference.custom = custom
    inference.naming = Naming(twin, names=name_sizes)
    inference.graph(twin.graph)
    types = ((value, inference.facts.get(other, Fact()).type or other.type) for value, other in pairs)
    return {value: type_ for value, type_ in types if type_ is not None}


class Stepwise(Inference):
    """One run over a model, which it rewrites; what nobody knows of leaves its outputs as declared."""

    def __init__(
        self, model: Model, catalog: Catalog, imports: Mapping[str, int] | None = None, depth: int = 0
    ) -> None:
        """A run over graphs of `model` that import the given operator sets, `depth` calls of functions deep."""
        self.old = OpsetImports(model.opset_imports if imports is None else imports)
        super().__init__(model, catalog, self.old, depth)
        if imports is None:
            model.opset_imports = newest(self.old)
        self.origins: dict[Node, tuple[str, ...]] = {}
        """Nodes that stand in for those of the model, and the lines that show the originals."""
        self.custom = False
        """Whether what nobody knows of is left as it is declared."""

    def node(self, node: Node) -> None:
        """What a node computes; one of an old meaning is rewritten, and what stands in for it asked."""
        if self.custom and self._is_unknown(node):
            self.leave(node)
            return
        with self._speaking(newest(self.old) if node in self.origins else self.old):
            operator = None if node in self.origins or self.is_call(node) else self.meaning(node)
            if operator is None or operator is self.catalog.newest(node.domain, node.op_type):
                super().node(node)
            else:
                self._renewed(node, operator)

    def _is_unknown(self, node: Node) -> bool:
        """Whether nobody knows of the domain that a node is from."""
        known = node.domain in NEWEST or self.is_call(node)
        return not known and not self.catalog.versions(node.domain, node.op_type)

    def meaning(self, node: Node) -> Operator | None:
        """The operator that a node names in the version imported; None if there is none."""
        return self.catalog.operator_of(node, self.old)

    def is_call(self, node: Node) -> bool:
        """Whether a node calls a function of the model."""
        return self.model.function_of(node) is not None

    def inside(self, function: Function) -> Inference:
        """The inference of the body of a function called here."""
        function_types = Stepwise(self.model, self.catalog, function.opset_imports, self.depth + 1)
        function_types.custom = self.custom
        return function_types

    def place(self, node: Node) -> tuple[str, ...]:
        """Lines that show a node and what it reads: of one that stands in, the node that the model has."""
        return self.origins.get(node) or super().place(node)

    def leave(self, node: Node) -> None:
        """Take the outputs of a node as they are declared; its subgraphs are gone through all the same."""
        for subgraph in node.subgraphs:
            self.graph(subgraph)
        for value in node.outputs:
            self.facts[value] = Fact(value.type)

    def _renewed(self, node: Node, operator: Operator) -> None:
        graph = node.graph
        assert graph is not None
        place = self.place(node)
        before = set(_inner(node))
        try:
            rewritten = rewrite(node, operator, graph, self.model)
        except CheckError as error:
            self.refuse(type(error)(error.message, where=place, hint=error.hint))
            self.leave(node)
            return
        except (UnsupportedError, InputError):
            self.leave(node)
            return
        for new in rewritten.nodes:
            self.origins.update({each: place for each in (new, *_inner(new)) if each not in before})
            self.node(new)
        for old, result in rewritten.results.items():
            self.facts[old] = self.facts.get(result, Fact(result.type))

    @contextmanager
    def _speaking(self, imports: Mapping[str, int]) -> Iterator[None]:
        before, self._imports = self._imports, imports
        try:
            yield
        finally:
            self._imports = before


def _inner(node: Node) -> Iterator[Node]:
    """The nodes in the subgraphs of a node, however deep."""
    for subgraph in node.subgraphs:
        for graph in nested_graphs(subgraph):
            yield from graph


def twins(graph: Graph, copy: Graph) -> Iterator[tuple[Value, Value]]:
    """The values of a graph and of its subgraphs, with those of a copy that is still like it."""
    yield from zip(graph.values(), copy.values(), strict=True)
    for node, other in zip(graph.nodes, copy.nodes, strict=True):
        for subgraph, twin in zip(node.subgraphs, other.subgraphs, strict=True):
            yield from twins(subgraph, twin)
