"""The reference: a model evaluated node by node with the numpy functions that define its operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ingot.dtypes import DType
from ingot.errors import CheckError, IngotError, InputError
from ingot.ir.attribute import Attribute
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.sort import captures
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.lower.differentiate import differentiate
from ingot.ops.arguments import keywords
from ingot.ops.catalog import Catalog
from ingot.ops.define import Operator, Runs, Runtime
from ingot.ops.generator.keys import key_of, node_key
from ingot.ops.limit import ALLOWED, OversizedError, allowing, dense, proceeding
from ingot.runtime import float_errors
from ingot.runtime.dispatch import compute
from ingot.runtime.ledger import Ledger
from ingot.runtime.limits import LimitError, RunLimits, exceeded, too_deep, within_the_stack
from ingot.runtime.order import Order, Orders, order
from ingot.runtime.provider import Evaluator

if TYPE_CHECKING:
    from ingot.runtime.direct_calls import DirectCall

Values = dict[Value, Any]
"""The values of a run: arrays; lists for sequences, dictionaries for maps, None for an empty optional."""


Observer: TypeAlias = Callable[[Node, Sequence[Any], Sequence[Any], float], None]
"""Called after a node with its inputs, its outputs, and the seconds it took."""


Rule: TypeAlias = tuple[Operator, Mapping[str, Any]]
"""The operator of a node, and its attributes as arguments."""


class Running(Protocol):
    """A subgraph that a plan runs in place of the reference, over and over."""

    def run(self, inputs: Sequence[Any]) -> list[Any] | None:
        """The outputs of the subgraph; None if the reference has to evaluate it after all."""

    def repeat(self, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        """The same as `Runtime.repeat`."""

    def close(self) -> None:
        """Called when it is not run any more."""


class Bodies(Protocol):
    """The subgraphs of a node that have plans."""

    def begin(self, graph: Graph, depth: int) -> Running | None:
        """A subgraph bound to the values around it, so many graphs deep; None if it has no plan."""


class Evaluation:
    """One run of a model, within limits."""

    def __init__(
        self,
        model: Model,
        catalog: Catalog,
        *,
        seed: int = 0,
        limits: RunLimits | None = None,
        proceed: Callable[[], None] | None = None,
        observe: Observer | None = None,
        orders: Orders | None = None,
        evaluators: Sequence[Evaluator] = (),
    ) -> None:
        """A run of `model` whose random numbers follow from `seed`.

        `proceed`, called before each node and each run of a subgraph, may raise; so may `observe`, called after each
        node, those of subgraphs and functions before the node that runs them. `orders` is shared by the runs of a model
        that does not change between them. Each node is computed by the first of `evaluators` that does not refuse it,
        or else by the function that defines its operator.
        """
        limits = limits or RunLimits()
        self._model = model
        self._catalog = catalog
        self._seed = seed
        self.drawn = 0
        self._orders: Orders = {} if orders is None else orders
        self.evaluators = tuple(evaluators)
        self._most_nodes = limits.nodes
        self._nodes_left = limits.nodes
        self._proceed = proceed
        self.observe = observe
        self.nesting = limits.nesting
        self.ledger = Ledger(limits.most_bytes)
        self._steps = False

    def run(self, feeds: Mapping[str, Any], fetch: Sequence[str] | None = None) -> list[Any]:
        """The outputs, or the values named in `fetch`, for the given inputs.

        LimitError, and never a RecursionError or a MemoryError, if that takes more than there is.
        """
        graph = self._model.graph
        values: Values = {}
        for value in graph.inputs:
            if value.name in feeds:
                values[value] = feeds[value.name]
                self.ledger.exempt(values[value])
        if fetch is None:
            steps = self.order(graph, len(graph.outputs))
        else:
            steps = order(graph, [_value(graph, name) for name in fetch])
        scope = _Scope(self, self._model.opset_imports, values)
        try:
            with self._within_limits():
                scope.graph(graph, steps)
        finally:
            self.ledger.close()
        return [values[value] for value in steps.wanted]

    def step(self, node: Node, values: Values, bodies: Bodies | None = None, depth: int = 0) -> Sequence[Any]:
        """The results of one node, from the values that it and its subgraphs read, in a graph so many others deep.

        `bodies` are the subgraphs that have plans.
        """
        scope = _Scope(self, self._model.opset_imports, values, depth=depth, bodies=bodies)
        if self._steps:
            return scope.node(node)
        self._steps = True
        try:
            with self._within_limits():
                return scope.node(node)
        finally:
            self._steps = False

    @contextmanager
    def _within_limits(self) -> Iterator[None]:
        """Operators may take what is left of the memory, and ask whether the run is to go on."""
        with (
            np.errstate(all="ignore"),
            within_the_stack(),
            proceeding(self._proceed),
            allowing(self.ledger.left) as self.allowed,
        ):
            yield

    def computed(self, node: Node, direct: DirectCall, arguments: list[Any]) -> Sequence[Any] | None:
        """The results of a node that needs nothing but its inputs; None where `step` has to say what is wrong."""
        if self.observe is not None or node.applies("Constant"):
            return None
        self.proceed()
        inputs = arguments[: direct.inputs]
        allowed, before = ALLOWED.set(self.ledger.left), float_errors.ignore()
        try:
            results = direct.results(inputs)
        except (IngotError, MemoryError, RecursionError):
            return None
        finally:
            float_errors.restore(before)
            ALLOWED.reset(allowed)
        if _is_charged(node, inputs):
            self.ledger.charge(results)
        return results

    def rule_of(self, node: Node) -> Rule:
        """How a node is computed, which is the same in every run."""
        operator = self.operator(node, self._model.opset_imports)
        return operator, keywords(operator, node)

    def run_bodies(self, node: Node, rule: Rule, inputs: list[Any], runtime: Runtime) -> Sequence[Any]:
        """The results of a node whose graphs `runtime` runs; MemoryError if they take too much.

        It has no inputs that are omitted at the end, and no attributes of a function around it.
        """
        operator, attributes = rule
        assert operator.runtime is not None
        allowed = ALLOWED.set(self.ledger.left)
        try:
            self.proceed()
            arguments = {**attributes, operator.runtime: runtime}
            results = _results_of(operator, compute(self.evaluators, node, operator, inputs, arguments))
            self.ledger.charge(results)
        except OversizedError:
            raise MemoryError from None
        except IngotError as error:
            error.where = error.where or place_of(node, inputs)
            raise
        finally:
            ALLOWED.reset(allowed)
        return results

    def proceed(self, nodes: int = 1) -> None:
        """Count nodes about to run; raises if the run has to end here."""
        if self._proceed is not None:
            self._proceed()
        self._nodes_left -= nodes
        if self._nodes_left < 0:
            most = self._most_nodes
            raise exceeded(f"the run took more than {most:,} nodes, the limit", "nodes", f"{10 * most:_}")

    def runs_left(self, nodes: int) -> int:
        """How often so many nodes may still be run."""
        return self._nodes_left // nodes

    def order(self, graph: Graph, outputs: int) -> Order:
        """How the first outputs of a graph are computed."""
        steps = self._orders.get((graph, outputs))
        if steps is None:
            steps = self._orders[graph, outputs] = order(graph, list(graph.outputs)[:outputs])
        return steps

    def operator(self, node: Node, imports: Mapping[str, int]) -> Operator:
        if node.domain not in imports:
            raise CheckError(f"domain '{spelled_out(node.domain)}' is not imported")
        return self._catalog.get(node.domain, node.op_type, imports[node.domain])

    @property
    def imports(self) -> Mapping[str, int]:
        """The operator sets of the model."""
        return self._model.opset_imports

    @property
    def first_takes_all(self) -> bool:
        """Whether every node is computed by the same evaluator, or as it is defined."""
        return not self.evaluators or self.evaluators[0].takes_all

    def function(self, node: Node) -> Function | None:
        return self._model.function_of(node)

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:
        """The derivative of a value by others, for arrays by name."""
        return list(differentiate(self._model, self._catalog, xs, y, values))

    def key(self, seed: float | None) -> int:
        """A new key of random numbers: that of the node's seed, else by the run and the number of draws before."""
        if seed is not None:
            return node_key(seed)
        self.drawn += 1
        return key_of(self._seed, self.drawn)

    def generator(self, seed: float | None) -> np.random.Generator:
        """A new random generator: seeded by the node, else by the run and the number of generators before."""
        if seed is not None:
            return np.random.Generator(np.random.Philox(np.float32(seed).view(np.uint32).item()))
        self.drawn += 1
        return np.random.Generator(np.random.Philox(key=[self._seed, self.drawn]))


class _Scope:
    """Graphs of one set of imports: the main one with its subgraphs, or the body of a function in one call."""

    def __init__(
        self,
        evaluation: Evaluation,
        imports: Mapping[str, int],
        values: Values,
        arguments: Mapping[str, Attribute | None] | None = None,
        depth: int = 0,
        bodies: Bodies | None = None,
    ) -> None:
        self._evaluation = evaluation
        self._imports = imports
        self._values = values
        self._arguments = arguments or {}
        self._depth = depth
        self._bodies = bodies

    def graph(self, graph: Graph, steps: Order) -> None:
        """Compute what is wanted."""
        values = self._values
        for value in graph.initializers.values():
            if value not in values and value.constant is not None:
                try:
                    values[value] = _constant(value.constant)
                except OversizedError as error:
                    if not value.uses and not value.is_output:
                        continue
                    raise self._evaluation.ledger.refusal(error.count) from None
                self._evaluation.ledger.exempt(values[value])
        for node, dying in zip(steps.nodes, steps.dying, strict=True):
            for value, result in zip(node.outputs, self.node(node), strict=False):
                values[value] = result
            for value in dying:
                values.pop(value, None)

    def node(self, node: Node) -> Sequence[Any]:
        evaluation = self._evaluation
        inputs = [None if value is None else self._read(node, value) for value in node.inputs]
        observe = evaluation.observe
        begin = 0.0 if observe is None else perf_counter()
        try:
            evaluation.proceed()
            function = evaluation.function(node)
            outputs = self._evaluate(node, inputs) if function is None else self.call(node, function, inputs)
        except MemoryError as error:
            raise _out_of_memory(error, evaluation.ledger.live, place_of(node, inputs)) from None
        except OversizedError as error:
            refusal = evaluation.ledger.refusal(error.count)
            refusal.where = place_of(node, inputs)
            raise refusal from None
        except IngotError as error:
            if not error.where:
                error.where = place_of(node, inputs)
            raise
        if observe is not None:
            observe(node, inputs, outputs, perf_counter() - begin)
        return outputs

    def _read(self, node: Node, value: Value) -> Any:
        if value not in self._values:
            if value.is_input:
                raise InputError(f"input '{value.name}' was not given")
            raise CheckError(f"node '{node.label}' reads '{value.name}', which nothing defines")
        return self._values[value]

    def _evaluate(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        operator = self._evaluation.operator(node, self._imports)
        arguments = keywords(operator, self._resolved(node))
        runtime = None if operator.runtime is None else _NodeRuntime(self, node)
        if operator.runtime is not None:
            arguments[operator.runtime] = runtime
        inputs = _padded(operator, node, inputs)
        self._evaluation.allowed.set(self._evaluation.ledger.left)
        try:
            result = compute(self._evaluation.evaluators, node, operator, inputs, arguments)
        finally:
            if runtime is not None:
                runtime.close()
        results = _results_of(operator, result)
        if node.applies("Constant"):
            self._evaluation.ledger.exempt(result)
        elif _is_charged(node, inputs):
            self._evaluation.ledger.charge(results)
        return results

    def _resolved(self, node: Node) -> Node:
        """The node with references to attributes of the function around it replaced by what they are in this call."""
        if not any(attribute.ref for attribute in node.attributes.values()):
            return node
        resolved = []
        for name, attribute in node.attributes.items():
            actual = self._arguments.get(attribute.ref) if attribute.ref else attribute
            if actual is not None:
                resolved.append(actual if actual is attribute else Attribute(name, actual.value, actual.kind))
        twin = Node(node.op_type, (), [], domain=node.domain, name=node.name)
        for attribute in resolved:
            dict.__setitem__(twin.attributes, attribute.name, attribute)
        return twin

    def call(self, node: Node, function: Function, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of a model-local function."""
        attributes: dict[str, Attribute | None] = dict(function.attributes)
        attributes.update({attribute.name: attribute for attribute in self._resolved(node).attributes.values()})
        values: Values = {}
        for index, value in enumerate(function.graph.inputs):
            values[value] = inputs[index] if index < len(inputs) else None
        scope = _Scope(self._evaluation, function.opset_imports, values, attributes, self._deeper())
        steps = self._evaluation.order(function.graph, len(node.outputs))
        scope.graph(function.graph, steps)
        return [values[value] for value in steps.wanted]

    def subgraph(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph inside a node; what it computes is its own, what is around it is seen."""
        self._evaluation.proceed()  # a body without nodes may run without end too
        steps = self._evaluation.order(graph, len(graph.outputs))
        inner: Values = {value: self._values[value] for value in steps.captured if value in self._values}
        inner.update(zip(graph.inputs, inputs, strict=False))
        scope = _Scope(self._evaluation, self._imports, inner, self._arguments, self._deeper())
        scope.graph(graph, steps)
        return [inner[value] for value in steps.wanted]

    def around(self, graph: Graph) -> list[tuple[Value, tuple[int, ...]]]:
        """The tensors that a subgraph captures, and their shapes."""
        arrays = {value: self._values.get(value) for value in captures(graph)}
        return [(value, array.shape) for value, array in arrays.items() if isinstance(array, np.ndarray)]

    def begin(self, graph: Graph) -> Running | None:
        """A subgraph ready to be run by its plan; None if it has none."""
        return None if self._bodies is None else self._bodies.begin(graph, self._deeper())

    def _deeper(self) -> int:
        if self._depth >= self._evaluation.nesting:
            raise too_deep(self._evaluation.nesting)
        return self._depth + 1

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:
        return self._evaluation.gradient(xs, y, values)

    def key(self, seed: float | None) -> int:
        return self._evaluation.key(seed)

    def generator(self, seed: float | None) -> np.random.Generator:
        return self._evaluation.generator(seed)


class _NodeRuntime:
    def __init__(self, scope: _Scope, node: Node) -> None:
        self._scope = scope
        self._begun: dict[Graph, Running | None] = {}
        self.wanted = tuple(bool(value.name) for value in node.outputs)

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        running = self._running(graph)
        results = None if running is None else running.run(inputs)
        return self._scope.subgraph(graph, inputs) if results is None else results

    def repeat(self, graph: Graph, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        running = self._running(graph)
        return None if running is None else running.repeat(first, most, conditional, states)

    def around(self, graph: Graph) -> list[tuple[Value, tuple[int, ...]]]:
        return self._scope.around(graph)

    def _running(self, graph: Graph) -> Running | None:
        if graph not in self._begun:
            self._begun[graph] = self._scope.begin(graph)
        return self._begun[graph]

    def close(self) -> None:
        """Called when the node is done."""
        for running in self._begun.values():
            if running is not None:
                running.close()

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:
        return self._scope.gradient(xs, y, values)

    def key(self, seed: float | None) -> int:
        return self._scope.key(seed)

    def generator(self, seed: float | None) -> np.random.Generator:
        return self._scope.generator(seed)


def _results_of(operator: Operator, result: Any) -> Sequence[Any]:
    """What an operator returned as a sequence of results: one that has several returns one."""
    return result if operator.returns_several and isinstance(result, tuple | list) else (result,)


def _padded(operator: Operator, node: Node, inputs: list[Any]) -> list[Any]:
    """The inputs without what is omitted at the end; CheckError if there are too many or too few."""
    while inputs and inputs[-1] is None and node.inputs[len(inputs) - 1] is None:
        inputs = inputs[:-1]
    variadic = bool(operator.inputs) and operator.inputs[-1].variadic
    most = len(operator.inputs)
    required = [index for index, formal in enumerate(operator.inputs) if not formal.optional and not formal.variadic]
    least = required[-1] + 1 if required else 0
    if variadic:
        least = len(operator.inputs) - 1 + operator.inputs[-1].at_least if operator.inputs[-1].at_least else 0
    if len(inputs) < least or (len(inputs) > most and not variadic):
        expected = f"at least {least}" if variadic else str(most) if least == most else f"{least} to {most}"
        raise CheckError(f"{operator.name} takes {expected} inputs, {len(inputs)} are given")
    return inputs


def _constant(constant: Tensor | SparseTensor) -> Any:
    return constant.numpy() if isinstance(constant, Tensor) else dense(constant).numpy()


_MOVING = frozenset({"Identity", "Optional", "OptionalGetElement", "SequenceErase", "SequenceInsert"})
"""Operators whose results are elements of a sequence they read, which are counted already: to look at all of them each
time would make it costly to grow a sequence one by one."""


def _value(graph: Graph, name: str) -> Value:
    """The value of that name; InputError, with a hint how to see it, for one of a subgraph."""
    value = graph.find(name)
    if value is not None:
        return value
    for inner in nested_graphs(graph):
        if inner is not graph and inner.find(name) is not None:
            at = "" if inner.parent is None else f" of node '{inner.parent.label}'"
            hint = "see every value of a subgraph, each time it runs: run(..., observe=...)"
            raise InputError(f"'{name}' is inside a subgraph{at}, which may run any number of times", hint=hint)
    return graph.value(name)


def _out_of_memory(error: MemoryError, live: int, where: tuple[str, ...]) -> LimitError:
    message = str(error) or "no memory left"
    return LimitError(
        f"{message[:1].lower()}{message[1:]}; {live:,} bytes of results are alive",
        where=where,
        hint="a smaller batch, or a machine with more memory",
    )


def place_of(node: Node, inputs: Sequence[Any]) -> tuple[str, ...]:
    """Lines that show a node and what it reads."""
    lines = [f"in node '{node.label}' ({node.op_type})"]
    for value, argument in zip(node.inputs, inputs, strict=False):
        if value is not None:
            lines.append(f"{value.name}: {_shown(argument)}")
    return tuple(lines)


def _shown(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        return f"{DType.of(argument.dtype)}{list(argument.shape)}"
    return type(argument).__name__


def _is_charged(node: Node, inputs: Sequence[Any]) -> bool:
    """Whether the results of a node may be arrays that were not there before: not those of one that moves elements."""
    return not node.applies(*_MOVING) or not inputs or not isinstance(inputs[0], list)
