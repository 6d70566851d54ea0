"""Checking a whole model: everything that breaks the standard, not only the first of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingot.errors import CheckError, ShapeError
from ingot.infer.attributes import attribute_errors
from ingot.infer.calls import call_errors, recursive_functions
from ingot.infer.declared import declaration_problems
from ingot.infer.driver import Inference
from ingot.infer.problem import Problem
from ingot.infer.scales import scale_problems
from ingot.infer.stepwise import Stepwise
from ingot.infer.types import effective, missing_outputs, output_errors, signature_errors, versioned
from ingot.ir.domains import is_of_onnx
from ingot.ir.graph import Graph
from ingot.ir.model import Function, FunctionId, Model
from ingot.ir.node import Node
from ingot.ir.verify import problems as structural_problems
from ingot.ops.catalog import Catalog, standard
from ingot.ops.facts import Fact

__all__ = ["Problem", "check", "node_errors"]

_MOST_CALLS = 10_000
"""A small file can have functions that call functions, doubling each time; later calls are not followed."""


def check(model: Model, *, catalog: Catalog | None = None) -> list[Problem]:
    """All problems of a model, as it is: structure, versions, operators, attributes, types and shapes.

    Nodes are held to the version that the model imports. After an error in a node its outputs are taken as declared,
    so that one mistake is not reported again wherever it flows. In a branch of an If that sizes rule out, nodes are
    held to their operators, and not to the shapes of what they read. The model is not changed.
    """
    catalog = catalog or standard()
    problems = [Problem(message) for message in structural_problems(model)]
    sound = not problems
    problems += declaration_problems(model)
    collected = _Collected(recursive_functions(model))
    for name in sorted(map(str, collected.recursive)):
        problems.append(Problem(f"function '{name}' calls itself", hint="a function may call only others"))
    twin = model.copy()
    if sound:
        run = _Check(twin, catalog, collected)
        try:
            run.graph(twin.graph)
        except ShapeError as error:  # a declared input that contradicts what is known of it
            collected.add(Problem.of(error))
    else:  # values may be undefined or out of order: types cannot be inferred
        _Check(twin, catalog, collected).alone(twin.graph)
    for training in twin.training:
        for graph in (training.initialization, training.algorithm):
            if graph is not None:
                _Check(twin, catalog, collected, twin.opset_imports).alone(graph)
    for key, function in twin.functions.items():
        if key not in collected.entered:
            _Check(twin, catalog, collected, function.opset_imports, within=_within(function)).alone(function.graph)
    return [*problems, *collected.problems]


def node_errors(node: Node, inputs: list[Fact], imports: Mapping[str, int], catalog: Catalog) -> Iterator[CheckError]:
    """Everything wrong with one node by itself: its operator, its inputs and outputs, its attributes."""
    domain = node.domain
    version = imports.get(domain)
    if version is None:
        return  # reported once for the whole model
    operator = catalog.operator_of(node, imports)
    if operator is None:
        if is_of_onnx(domain) or catalog.versions(domain, node.op_type):
            try:
                catalog.get(domain, node.op_type, version)
            except CheckError as error:
                yield error
        return
    if operator.deprecated and effective(operator, version) == operator.version:
        yield CheckError(f"{versioned(operator, version)} is deprecated", hint=_replacement(operator.documentation))
    yield from signature_errors(operator, node, inputs, version)
    yield from missing_outputs(operator, node, version)
    yield from output_errors(operator, node, inputs, version)
    yield from attribute_errors(operator, node, version, catalog)


def _replacement(documentation: str) -> str | None:
    line = documentation.partition("\n")[0]
    return line or None


def _within(function: Function) -> tuple[str, ...]:
    return (f"in function '{function.id}'",)


class _Collected:
    """What the runs over the graphs of one model share."""

    def __init__(self, recursive: set[FunctionId]) -> None:
        self.recursive = recursive
        self.entered: set[FunctionId] = set()
        self.calls = 0
        self._by_place: dict[tuple[str, ...], Problem] = {}

    def add(self, problem: Problem) -> None:
        """Note a problem, once: the body of a function is gone through at every call."""
        first_and_last = (problem.where[:1] + problem.where[-1:]) if problem.where else ()
        self._by_place.setdefault((problem.message, *first_and_last), problem)

    @property
    def problems(self) -> list[Problem]:
        return list(self._by_place.values())


class _Check(Stepwise):
    """A run that notes errors and goes on."""

    def __init__(
        self,
        model: Model,
        catalog: Catalog,
        collected: _Collected,
        imports: Mapping[str, int] | None = None,
        depth: int = 0,
        within: tuple[str, ...] = (),
    ) -> None:
        super().__init__(model, catalog, imports, depth)
        self._collected = collected
        self._within = within

    def refuse(self, error: CheckError) -> None:
        """Note an error that inference found, which has its place, unless the node cannot run."""
        if not self.is_dead:
            self._note(error)

    def _note(self, error: CheckError) -> None:
        self._collected.add(Problem.of(error, within=self._within))

    def node(self, node: Node) -> None:
        """What a node computes, if nothing is wrong with it by itself."""
        if node in self.origins:
            super().node(node)
        elif self.is_call(node):
            self._call_of(node)
        elif self._blamed(node, self.read(node)) or self.meaning(node) is None:
            self.leave(node)
        else:
            super().node(node)

    def alone(self, graph: Graph) -> None:
        """Look at each node by itself, without what flows between them."""
        for node in graph:
            if not self.is_call(node):
                self._blamed(node, [Fact() for _ in node.inputs])
            for subgraph in node.subgraphs:
                self.alone(subgraph)

    def inside(self, function: Function) -> Inference:
        """The check of the body of a function called here."""
        self._collected.entered.add(function.id)
        imports, depth = function.opset_imports, self.depth + 1
        return _Check(self.model, self.catalog, self._collected, imports, depth, _within(function))

    def _blamed(self, node: Node, inputs: list[Fact]) -> bool:
        """Note what is wrong with a node by itself; whether anything is."""
        errors = list(node_errors(node, inputs, self.old, self.catalog))
        for error in errors:
            self._note(type(error)(error.message, where=self.place(node) + error.where, hint=error.hint))
        if not errors and node.domain in self.old and self.meaning(node) is None:
            message = f"nothing is known of operator '{node.domain}.{node.op_type}'"
            self._collected.add(Problem(message, self.place(node) + self._within, severity="warning"))
        for message in () if errors else scale_problems(node, inputs):
            self._collected.add(Problem(message, self.place(node) + self._within, severity="warning"))
        return bool(errors)

    def _call_of(self, node: Node) -> None:
        function = self.model.function_of(node)
        assert function is not None
        errors = list(call_errors(node, function))
        for error in errors:
            self._note(CheckError(error.message, where=self.place(node), hint=error.hint))
        self._collected.calls += 1
        if errors or function.id in self._collected.recursive or self._collected.calls > _MOST_CALLS:
            self.leave(node)
        else:
            super().node(node)
