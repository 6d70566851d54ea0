"""Inference: each operator, in order, is asked what it makes of what is known of its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.dims import Dim, symbol
from ingot.errors import CheckError, ShapeError
from ingot.infer.decided import decided_by_sizes
from ingot.infer.evaluated import evaluated
from ingot.infer.naming import Naming
from ingot.infer.types import check_inputs, versioned
from ingot.ir.clone import copy_graph
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.inline import bind, call_arguments
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type, map_shapes
from ingot.ir.value import Value
from ingot.ops.arguments import keywords
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import Operator
from ingot.ops.facts import Fact, of_constant

Facts = dict[Value, Fact]

OMITTED = Fact(present=False)

MOST_EXPANDED = 10_000
"""Calls of functions that are followed in one model: two in each body, twenty deep, are a million."""

_QUESTION = symbol("?")

_DEFAULTS_SINCE = 4
"""The version of the format since which an initialiser that is an input is a default; before, each had to be one."""

MOST_CALLS = 100
"""Functions called in functions; a model that goes deeper calls itself."""


def infer(
    model: Model,
    *,
    catalog: Catalog | None = None,
    name_sizes: bool = True,
    most_calls: int = MOST_EXPANDED,
    input_facts: Mapping[Value, Fact] | None = None,
    overrule: bool = False,
) -> Facts:
    """What is known of every value of the main graph and its subgraphs; types found are noted on the values too.

    What the model declares and what is inferred are merged; `input_facts` is what else is known of its inputs. A
    statically unknown size, as of an input declared without one or a result of NonZero, gets a name of its own, unless
    `name_sizes` is False. CheckError, with the node and its inputs, where an operator refuses what it is given, where
    the two contradict each other (with `overrule`, only where they differ in more than rank and sizes: else what is
    inferred holds), and where functions are called more than `most_calls` times in each other.
    """
    inference = Inference(model, catalog or standard())
    inference.most_calls = most_calls
    inference.overrules = overrule
    inference.naming = Naming(model, names=name_sizes)
    inference.graph(model.graph, input_facts)
    return inference.facts


class Inference:
    """One run over a model."""

    def __init__(
        self, model: Model, catalog: Catalog, imports: Mapping[str, int] | None = None, depth: int = 0
    ) -> None:
        """A run over graphs of `model` that import the given operator sets, `depth` calls of functions deep."""
        self.facts: Facts = {}
        self.naming = Naming(model, names=False)
        self.model = model
        self.catalog = catalog
        self._imports = model.opset_imports if imports is None else imports
        self.depth = depth
        self.most_calls = MOST_EXPANDED
        self.overrules = False
        """Whether what is inferred holds where it contradicts what is declared in rank or sizes."""
        self.is_dead = False
        """Whether the nodes gone through are in a branch that sizes rule out: their errors are none of the model."""
        self._calls = [0]  # shared by the inferences of all functions called

    def graph(self, graph: Graph, inputs: Mapping[Value, Fact] | None = None) -> None:
        """Everything in a graph, `inputs` being what is known of its inputs beside what it declares."""
        for value in graph.inputs:
            if value.type is not None:
                value.type = map_shapes(value.type, _without_marks)
            passed = (inputs or {}).get(value, Fact())
            known = passed if value.type is None else self._merge(value, passed, None)
            known = self.naming.filled(value, known)
            self.facts[value] = known
            if value.type is None or (isinstance(value.type, TensorType) and value.type.shape != known.shape):
                value.type = known.type
        for value in graph.initializers.values():
            if isinstance(value.constant, Tensor):
                fact = of_constant(value.constant)
                fixed = value not in graph.inputs or self.model.ir_version < _DEFAULTS_SINCE
                self.facts[value] = fact if fixed else Fact(fact.type)
            elif isinstance(value.constant, SparseTensor):
                self.facts[value] = Fact(value.constant.type)
        for node in graph:
            self.node(node)

    def node(self, node: Node) -> None:
        """What a node computes; a node nothing is known of leaves its outputs as declared."""
        try:
            inferred = self.naming.named_apart(node.outputs, self._ask(node, self.read(node)))
        except CheckError as error:
            self.refuse(type(error)(error.message, where=self.place(node) + error.where, hint=error.hint))
            inferred = []
        for index, value in enumerate(node.outputs):
            fact = inferred[index] if index < len(inferred) else Fact()
            merged = self._merge(value, fact, node)
            merged = self.naming.filled(value, merged)
            self.facts[value] = merged
            if merged.type is not None:
                value.type = merged.type

    def read(self, node: Node) -> list[Fact]:
        """What is known of the inputs of a node."""
        return [OMITTED if value is None else self.fact(value) for value in node.inputs]

    def fact(self, value: Value) -> Fact:
        """What is known of a value: what was found, else what it is if it is a constant, else what it is declared."""
        if value not in self.facts and isinstance(value.constant, Tensor) and not value.is_input:
            self.facts[value] = of_constant(value.constant)
        return self.facts.get(value, Fact(value.type))

    def refuse(self, error: CheckError) -> None:
        """What becomes of an error, which has its place: it is raised.

        Who overrides this may note it and go on, but for errors where `is_dead`.
        """
        raise error from None

    def _contradiction(self, value: Value, inferred: Fact, node: Node | None) -> Fact:
        """What is known of a value whose declared type contradicts the inferred one: after an error, the declared one.

        A run that overrules declarations goes on with the inferred one. `node` is what computes the value; None for an
        input of a graph.
        """
        if self.overrules and value.type is not None and inferred.type is not None:
            right = corrected(value.type, inferred.type)
            if right is not None:
                return inferred.with_type(right)
        message = f"'{value.name}' is declared {value.type}: found {inferred.type}"
        if node is None:
            raise ShapeError(message)
        self.refuse(ShapeError(message, where=self.place(node)))
        return Fact(value.type)

    def _merge(self, value: Value, inferred: Fact, node: Node | None) -> Fact:
        """One fact from what is declared of a value and what is inferred."""
        if value.type is None or value.type == inferred.type:
            return inferred
        try:
            return _merged(Fact(value.type), inferred)
        except ShapeError:
            return self._contradiction(value, inferred, node)

    def inside(self, function: Function) -> Inference:
        """The inference of the body of a function called here."""
        return Inference(self.model, self.catalog, function.opset_imports, self.depth + 1)

    def _ask(self, node: Node, inputs: list[Fact]) -> list[Fact]:
        function = self.model.function_of(node)
        if function is not None:
            return self._call(node, function, inputs)
        operator = self.operator(node)
        check_inputs(operator, node, inputs, self.version(node.domain))
        arguments = {**operator.defaults, **keywords(operator, node)}
        into = operator.apply("body", inputs, arguments) if "body" in operator.rules else ()
        for subgraph in node.subgraphs:
            input_facts = {value: Fact(type_) for value, type_ in zip(subgraph.inputs, into, strict=False) if type_}
            if self._is_dead_branch(subgraph, node):
                self._dead_branch(subgraph, input_facts)
            else:
                self.graph(subgraph, input_facts)
        if "infer" not in operator.rules:
            return []
        parts = operator.apply("infer", inputs, arguments, outputs=len(node.outputs))
        facts = [part if isinstance(part, Fact) else Fact(part) for part in parts]
        return [evaluated(node, operator, inputs, facts[0])] if len(facts) == len(node.outputs) == 1 else facts

    def _is_dead_branch(self, branch: Graph, node: Node) -> bool:
        """Whether a subgraph is a branch that cannot run with the sizes of its inputs: it need not fit them."""
        condition = decided_by_sizes(node.inputs[0], self.facts) if node.applies("If") else None
        return isinstance(condition, bool) and branch is not node["then_branch" if condition else "else_branch"]

    def _dead_branch(self, branch: Graph, inputs: Mapping[Value, Fact]) -> None:
        """What is known in a branch that cannot run, as far as it fits its inputs."""
        before, self.is_dead = self.is_dead, True
        try:
            self.graph(branch, inputs)
        except CheckError:
            pass
        finally:
            self.is_dead = before

    def _call(self, node: Node, function: Function, inputs: list[Fact]) -> list[Fact]:
        """What a function computes of these inputs: its body, with the attributes of this call, gone through afresh."""
        if self.depth >= MOST_CALLS:
            raise CheckError(f"functions call each other more than {MOST_CALLS} deep, or themselves")
        self._calls[0] += 1
        if self._calls[0] > self.most_calls:
            raise CheckError(f"functions are called more than {self.most_calls:,} times in each other")
        body = copy_graph(function.graph)
        arguments = call_arguments(node, function)
        omitted = {
            value for index, value in enumerate(body.inputs) if index >= len(node.inputs) or not node.inputs[index]
        }
        for inner in body:
            inner.inputs = [None if value in omitted else value for value in inner.inputs]
            bind(inner, arguments, omitted, body)
        inference = self.inside(function)
        inference._calls, inference.naming, inference.most_calls = self._calls, self.naming, self.most_calls
        inference.overrules, inference.is_dead = self.overrules, self.is_dead
        inference.graph(body, dict(zip(body.inputs, inputs, strict=False)))
        return [inference.facts.get(value, Fact()) for value in body.outputs]

    def operator(self, node: Node) -> Operator:
        """What the node means in the versions the model imports; CheckError if it means nothing."""
        return self.catalog.get(node.domain, node.op_type, self.version(node.domain))

    def version(self, domain: str) -> int:
        """The version of a domain that is imported; CheckError if it is not."""
        version = self._imports.get(domain)
        if version is not None:
            return version
        raise CheckError(f"the model does not import domain '{spelled_out(domain)}'")

    def place(self, node: Node) -> tuple[str, ...]:
        """Lines that show a node and what it reads."""
        try:
            operator = self.operator(node)
        except CheckError:
            return (f"in node '{node.label}' ({node.op_type})",)
        lines = [f"in node '{node.label}' ({versioned(operator, self.version(node.domain))})"]
        for index, value in enumerate(node.inputs):
            if value is not None:
                formal = operator.inputs[min(index, len(operator.inputs) - 1)].name if operator.inputs else "?"
                lines.append(f"{formal:<8} = {value.name}: {self.facts.get(value, Fact(value.type))}")
        return tuple(lines)


def is_complete(facts: Facts) -> bool:
    """Whether every value is a tensor, of sizes that are all known or named."""
    types = {fact.type for fact in facts.values()}
    return all(isinstance(type_, TensorType) and type_.shape is not None and None not in type_.shape for type_ in types)


def _without_marks(shape: Shape) -> Shape:
    """Sizes below zero and sizes named `?` are how some exporters say that they do not know: two `?` are not one."""
    return tuple(None if dim == _QUESTION or (isinstance(dim, int) and dim < 0) else dim for dim in shape)


def _merged(declared: Fact, inferred: Fact) -> Fact:
    """One fact from two; ShapeError where they contradict each other."""
    if declared.type is None:
        return inferred
    type_ = declared.type if inferred.type is None else merge_types(declared.type, inferred.type)
    return inferred if type_ is inferred.type else inferred.with_type(type_)


def merge_types(declared: Type, inferred: Type) -> Type:
    """A type that meets both, part by part, the inferred one where both know something; ShapeError where they
    contradict each other.
    """
    match declared, inferred:
        case TensorType(), TensorType():
            if declared.dtype and inferred.dtype and declared.dtype != inferred.dtype:
                raise ShapeError(f"found {inferred}")
            shape = _merge_shapes(declared.shape, inferred.shape, inferred)
            if shape == declared.shape and (declared.dtype or not inferred.dtype):
                return declared
            return TensorType(declared.dtype or inferred.dtype, shape, denotation=declared.denotation)
        case SparseTensorType(), SparseTensorType():
            return declared
        case SequenceType(), SequenceType() if declared.element is not None and inferred.element is not None:
            return SequenceType(merge_types(declared.element, inferred.element))
        case OptionalType(), OptionalType() if declared.element is not None and inferred.element is not None:
            return OptionalType(merge_types(declared.element, inferred.element))
    if type(declared) is type(inferred):
        return declared
    if isinstance(declared, OptionalType) or isinstance(inferred, OptionalType):
        return inferred  # the standard's own cases give an optional where what it holds is declared
    raise ShapeError(f"found {inferred}")


def corrected(declared: Type, inferred: Type) -> Type | None:
    """A declared type with the rank and the sizes of the inferred one; None if the two differ in more than these."""
    match declared, inferred:
        case TensorType(), TensorType():
            if declared.dtype and inferred.dtype and declared.dtype != inferred.dtype:
                return None
            return TensorType(declared.dtype or inferred.dtype, _corrected_shape(declared.shape, inferred.shape))
        case SequenceType(), SequenceType() if declared.element is not None and inferred.element is not None:
            element = corrected(declared.element, inferred.element)
            return None if element is None else SequenceType(element)
        case OptionalType(), OptionalType() if declared.element is not None and inferred.element is not None:
            element = corrected(declared.element, inferred.element)
            return None if element is None else OptionalType(element)
    return None


def _corrected_shape(declared: Shape | None, inferred: Shape | None) -> Shape | None:
    if declared is None or inferred is None or len(declared) != len(inferred):
        return declared if inferred is None else inferred
    return tuple(a if b is None else b for a, b in zip(declared, inferred, strict=True))


def _merge_shapes(declared: Shape | None, inferred: Shape | None, shown: Type) -> Shape | None:
    if declared is None or inferred is None:
        return inferred if declared is None else declared
    if len(declared) != len(inferred):
        raise ShapeError(f"found {shown}")
    return tuple(_merge_dims(a, b, shown) for a, b in zip(declared, inferred, strict=True))


def _merge_dims(a: Dim | None, b: Dim | None, shown: Type) -> Dim | None:
    """A declared and an inferred size as one: the inferred one, also where that is open and a number is declared."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise ShapeError(f"found {shown}")
    return b
