"""A model as a program that builds it with `ingot.build`."""

from __future__ import annotations

from collections.abc import Sequence

from ingot import builder
from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor
from ingot.ir.value import Value
from ingot.source.body import BlockFunction, Body, Place, one_text, progression
from ingot.source.build_constants import BuildConstants
from ingot.source.build_imports import import_rows
from ingot.source.build_model import ModelSections
from ingot.source.build_sharding import annotated, configured
from ingot.source.build_types import element_name
from ingot.source.build_values import BuildValues
from ingot.source.layout import Expression, Group, call, flat, labelled, lines, listed, mapping, tupled
from ingot.source.literals import quoted
from ingot.source.program import Program, heading, load_function, returned
from ingot.source.repeats import repeated_blocks
from ingot.source.result_names import common_result_names, follows
from ingot.source.variables import Variables, identifier, is_identifier
from ingot.source.weights import Weights

_RESERVED = frozenset(
    {*builder.__all__, "build", "save"}
    | {"Attribute", "AttributeKind", "DType", "Function", "Graph", "Model", "Node", "SparseTensor", "Tensor"}
    | {"MapType", "OptionalType", "SequenceType", "SparseTensorType", "TensorType", "OpaqueType", "TrainingInfo"}
    | {"DeviceConfiguration", "NodeConfiguration", "ShardedDim", "Sharding", "SimpleSharding", "TensorAnnotation"}
    | {"Path", "from_param", "json", "make_model", "ml_dtypes", "np", "sys", "weights", "VALUE_TYPES"}
    | {"i", "j", "k", "place"}
    | {"algorithm", "initialization", "model", "names", "training"}
)
"""What a program imports, defines, or calls something inside of the function that makes the model."""
_CONTROL = ("If", "Loop", "Scan")
_OF_CALLS = frozenset({"name", "outputs", "self", "inputs", "body", "then", "else_", "cond"})
"""Names that a call of an operator gives a meaning of its own."""

_OF_TYPES = frozenset({"to", "dtype"})
"""Attributes of standard operators that hold the number of an element type."""


class BuildStyle:
    """The dialect of `ingot.build`, and its program but for its end, which `ModelSections` writes."""

    def __init__(self, model: Model, weights: Weights, weights_name: str) -> None:
        self._model = model
        self._weights = weights
        self._weights_name = weights_name
        self._values = BuildValues(weights)
        self.module = Variables(reserved=_RESERVED)
        self.result_names = common_result_names(model)
        self.typed: set[Value] = set()
        """Values whose types the functions of blocks declare."""
        self.type_functions: list[list[str]] = []
        self.type_loops: list[str] = []
        self._domains: dict[str, str] = {}
        self._blocks: list[list[str]] = []
        self._tables: list[list[str]] = []
        self._body = Body(self, self.module)
        self._repeats = repeated_blocks(model.graph)
        self._constants = BuildConstants(model, weights, self._values, self.module, self._repeats)

    def text(self) -> str:
        """The program."""
        model = self._model
        self._name_domains()
        functions = [self._function(function) for function in model.functions.values()]
        graph_rows, graph_name = self._main()
        ending = ModelSections(model, self, self._values, self._constants, self._weights, self._weights_name)
        making = ending.sections(graph_name, [name for name, _ in functions])
        program = Program(heading(model, "built with ingot", self._weights_name if self._weights else None))
        program.add_imports(import_rows(self._values.used, self._weights))
        if self._weights:
            program.add(*load_function(self._weights, self._weights_name))
        if self._domains:
            program.add(*(f"{name} = op.domain({quoted(domain)})" for domain, name in self._domains.items()))
        program.add(*self._constants.rows)
        for rows in self._tables:
            program.add(*rows)
        for _, rows in functions:
            program.add(*rows, spaced=True)
        for rows in self._blocks:
            program.add(*rows, spaced=True)
        program.add(*graph_rows, spaced=True)
        for rows in making:
            program.add(*rows, spaced=True)
        return program.text()

    def node(self, nodes: Sequence[Node], inputs: Sequence[Expression], targets: str, place: Place) -> list[str]:
        node = nodes[0]
        rows: list[str] = []
        attributes = self._attributes(node, place, rows)
        keywords: list[Expression] = []
        names = [[one.outputs[index].name for one in nodes] for index in range(len(node.outputs))]
        if not follows(nodes, self.result_names):
            keywords.append(self._outputs(names, place))
        elif len(names) > 1:
            keywords.append(f"outputs={len(names)}")
        if node.name:
            keywords.append(f"name={place.text([one.name for one in nodes], 'node')}")
        expression = call(self._operator(node, attributes), *inputs, *(value for _, value in attributes), *keywords)
        if len(node.outputs) == 1 and targets == "_":
            targets = ""
        if len(node.outputs) == 1 and targets and not _is_single(keywords):
            targets += ","
        rows += lines(labelled(f"{targets} = " if targets else "", expression), place.indent)

        def reference(value: Value) -> str:
            return f"{place.scope[value]}.value"

        return rows + configured(node, targets.split(",")[0], place.indent, reference, self._values.used)

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        return self._constants.weight(values, place)

    def block(self, block: BlockFunction) -> None:
        self._blocks.append(block.lines)
        if block.tables:
            pairs: list[tuple[str, Expression]] = [
                (quoted(key), tupled(list(map(quoted, texts)))) for key, texts in block.tables.items()
            ]
            self._tables.append(lines(labelled(f"{block.table} = ", mapping(pairs))))
        self._block_types(block)

    def _block_types(self, block: BlockFunction) -> None:
        """A function for the declared types of a block's values, where they are the same in every instance."""
        entries: list[tuple[str, Expression]] = []
        for name, column in block.values:
            type_ = column[0].type
            if type_ is not None and all(value.type == type_ and not value.is_output for value in column):
                entries.append((name, self._values.type(type_)))
                self.typed.update(column)
        if not entries:
            return
        name = self.module.free(f"{block.name}_types")
        parameters = [parameter for parameter, _ in block.parameters]
        rows = [f"def {name}({', '.join(parameters)}):"]
        rows.append('    """The declared types of the values of a block."""')
        rows += lines(labelled("return ", mapping(entries)), 4)
        self.type_functions.append(rows)
        vectors = [vector for _, vector in block.parameters]
        numbers = progression(vectors[0]) if len(vectors) == 1 else call("zip", *map(progression, vectors))
        self.type_loops += lines(labelled(f"for {', '.join(parameters)} in ", numbers), 0, ":")
        self.type_loops.append(f"    VALUE_TYPES |= {name}({', '.join(parameters)})")

    def _name_domains(self) -> None:
        """Give every domain its variable, before functions have variables of their own."""
        for node in self._model.nodes():
            if node.domain and node.domain not in self._domains:
                words = node.domain.split(".")
                self._domains[node.domain] = self.module.free(identifier(words[-1] or "other"))

    def _operator(self, node: Node, attributes: list[tuple[str, Expression]]) -> str:
        """The expression of a node's operator: `op.Relu`, `ml.Scaler`, `op["if"]` where it is no plain name."""
        owner = self._domains[node.domain] if node.domain else "op"
        if node.overload:
            return f"{owner}[{quoted(node.op_type)}, {quoted(node.overload)}]"
        by_name = is_identifier(node.op_type) and not node.op_type.startswith(("_", "domain"))
        if node.applies(*_CONTROL):
            by_name = self._is_plain_control(node, [name for name, _ in attributes])
        return f"{owner}.{node.op_type}" if by_name else f"{owner}[{quoted(node.op_type)}]"

    def _is_plain_control(self, node: Node, keywords: list[str]) -> bool:
        """Whether the builder's own If, Loop or Scan takes a node as it is."""
        if node.applies("If"):
            return keywords == ["then_branch", "else_branch"] and len(node.inputs) == 1
        if node.applies("Loop"):
            return keywords == ["body"] and len(node.inputs) >= 2
        return keywords[:1] == ["body"] and len(node.inputs) >= 1

    def _outputs(self, names: list[list[str]], place: Place) -> Expression:
        if len(names) == 1 and names[0][0]:
            return f"outputs={place.text(names[0], 'result')}"
        texts: list[Expression] = [place.text(each, "result") if each[0] else "None" for each in names]
        return labelled("outputs=", listed(texts))

    def _attributes(self, node: Node, place: Place, rows: list[str]) -> list[tuple[str, Expression]]:
        """The arguments for the attributes of a node, with their keywords if all have one; `rows` gets subgraphs."""
        control = node.applies(*_CONTROL)
        payloads = [(attribute, self._payload(node, attribute, place, rows)) for attribute in node.attributes.values()]
        by_keyword = all(
            payload is not None
            and is_identifier(attribute.name)
            and (attribute.name not in _OF_CALLS or (control and attribute.name == "body"))
            for attribute, payload in payloads
        )
        if by_keyword:
            return [
                (attribute.name, labelled(f"{attribute.name}=", payload))
                for attribute, payload in payloads
                if payload is not None
            ]
        return [("", self._values.stated(attribute, payload)) for attribute, payload in payloads]

    def _payload(self, node: Node, attribute: Attribute, place: Place, rows: list[str]) -> Expression | None:
        """What a keyword may be given for an attribute; None where only an Attribute will do."""
        if attribute.graphs:
            graphs = []
            for graph in attribute.graphs:
                stem = attribute.name if not graph.name or not is_identifier(graph.name) else graph.name
                name = place.variables.free(identifier(stem if attribute.kind.is_list else attribute.name))
                rows += self.subgraph(graph, name, place)
                graphs.append(name)
            return listed(list(graphs)) if attribute.kind.is_list else graphs[0]
        if attribute.ref or attribute.doc_string or (attribute.kind.is_list and not attribute.value):
            return None
        is_number = attribute.kind is AttributeKind.INT and attribute.name in _OF_TYPES and not node.domain
        if is_number and attribute.value in list(DType) and attribute.value:
            name = element_name(DType(attribute.value))  # type: ignore[arg-type]
            self._values.used.add(name)
            return name
        return self._values.value(attribute)

    def subgraph(self, graph: Graph, name: str, place: Place) -> list[str]:
        self._values.used.add("subgraph")
        rows: list[str] = []
        inner = place.inner()
        inner = Place(inner.scope, inner.variables, one_text, inner.indent)
        keywords: list[Expression] = []
        parameters = []
        for value in graph.inputs:
            parameters.append(inner.variables.value(value.name, "x"))
            inner.scope[value] = parameters[-1]
        declared = []
        for value in graph.initializers.values():
            variable = place.variables.free(identifier(value.name))
            constant = value.constant
            assert constant is not None
            expression = (
                self._values.sparse(constant)
                if isinstance(constant, SparseTensor)
                else self._values.tensor(constant, quoted(value.name))
            )
            rows += lines(labelled(f"{variable} = ", expression), place.indent)
            declared.append((quoted(value.name), variable))
            inner.scope.setdefault(value, variable)
        if graph.inputs:
            pairs: list[tuple[str, Expression]] = [
                (quoted(value.name), self._values.type(value.type)) for value in graph.inputs
            ]
            keywords.append(labelled("inputs=", mapping(pairs)))
        keywords.append(labelled("outputs=", self.declared_outputs(graph)))
        if declared:
            keywords.append(labelled("initializers=", mapping([(key, shown) for key, shown in declared])))
        types = self.value_types(graph)
        if types:
            keywords.append(labelled("value_types=", mapping(types)))
        keywords.append(f"name={quoted(graph.name)}")
        body = self._body.statements(graph, inner)
        rows += ["", *lines(call("@subgraph", *keywords), place.indent)]
        rows += lines(call(f"def {name}", *parameters), place.indent, ":")
        rows += body
        results = [inner.scope.get(value) or flat(self._constants.reference(value)) for value in graph.outputs]
        rows += [*returned(results, place.indent + 4), ""]
        return rows + annotated(
            graph, name, place.indent, lambda value: f"{place.scope[value]}.value", self._values.used
        )

    def declared_outputs(self, graph: Graph) -> Expression:
        own = [
            (value.name, value.type if value.graph is graph and value.producer is not None else None)
            for value in graph.outputs
        ]
        if any(type_ is not None for _, type_ in own) and len({name for name, _ in own}) == len(own):
            return mapping([(quoted(name), self._values.type(type_)) for name, type_ in own])
        return listed([quoted(name) for name, _ in own])

    def value_types(self, graph: Graph, *, function: bool = False) -> list[tuple[str, Expression]]:
        """The declared types of what nodes compute, but for results, which are declared with the graph."""
        values = self.typed_values(graph, function=function)
        return [(quoted(value.name), self._values.type(value.type)) for value in values]

    def typed_values(self, graph: Graph, *, function: bool = False) -> list[Value]:
        repeats = len(set(graph.outputs.names)) != len(graph.outputs)
        returned = set() if function or repeats else set(graph.outputs)
        return [
            value
            for value in graph.values()
            if value.type is not None
            and (value.producer is not None or (function and value in graph.inputs))
            and value not in returned
        ]

    def _function(self, function: Function) -> tuple[str, list[str]]:
        self._values.used.add("function")
        graph = function.graph
        name = self.module.free(identifier(function.name))
        variables = Variables(self.module)
        place = Place({}, variables, one_text, 4)
        parameters = []
        for value in graph.inputs:
            parameters.append(variables.value(value.name, "x"))
            place.scope[value] = parameters[-1]
        keywords: list[Expression] = [f"domain={quoted(function.domain)}"]
        imports: list[tuple[str, Expression]] = [(quoted(d), str(v)) for d, v in function.opset_imports.items()]
        keywords.append(labelled("opsets=", mapping(imports)))
        keywords.append(f"name={quoted(function.name)}")
        if function.overload:
            keywords.append(f"overload={quoted(function.overload)}")
        if graph.inputs.names != parameters:
            keywords.append(labelled("input_names=", listed([quoted(text) for text in graph.inputs.names])))
        keywords.append(labelled("outputs=", listed([quoted(text) for text in graph.outputs.names])))
        if function.attributes:
            pairs: list[tuple[str, Expression]] = [
                (quoted(key), "None" if default is None else self._values.stated(default, None))
                for key, default in function.attributes.items()
            ]
            keywords.append(labelled("attributes=", mapping(pairs)))
        types = self.value_types(graph, function=True)
        if types:
            keywords.append(labelled("value_types=", mapping(types)))
        keywords.append(f"doc_string={quoted(function.doc_string)}")
        body = self._body.statements(graph, place)
        rows = lines(call("@function", *keywords))
        rows += lines(call(f"def {name}", *parameters), 0, ":")
        rows += body
        rows += returned([place.scope[value] for value in graph.outputs], 4)
        return name, rows

    def _main(self) -> tuple[list[str], str]:
        graph = self._model.graph
        name = self.module.free(identifier(graph.name or "graph"))
        variables = Variables(self.module)
        place = Place({}, variables, one_text, 4)
        parameters = []
        for value in graph.inputs:
            if value.constant is None:
                parameters.append(variables.value(value.name, "x"))
                place.scope[value] = parameters[-1]
        body = self._body.statements(graph, place, self._repeats)
        results = [place.scope.get(value) or flat(self._constants.reference(value)) for value in graph.outputs]
        rows = lines(call(f"def {name}", *parameters), 0, ":")
        counted = f"{len(graph)} node{'s' if len(graph) != 1 else ''}"
        rows.append(f'    """The graph of the model: {counted}."""')
        rows += ["", *body] if body and body[0].lstrip().startswith("@") else body
        rows += returned(results, 4)
        return rows, name


def _is_single(keywords: Sequence[Expression]) -> bool:
    """Whether a call with these keywords returns one value, and no tuple."""
    return not any(isinstance(keyword, Group) and keyword.before.startswith("outputs=[") for keyword in keywords)
