"""A model as a program that builds it with `ingot.build`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ingot.dtypes import DType
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.equality import same_tensor
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.source.body import BlockFunction, Body, Place, one_text, progression, tidy
from ingot.source.build_types import element_name, type_expression
from ingot.source.layout import Expression, Group, call, flat, labelled, lines, listed, mapping, tupled
from ingot.source.literals import INLINE_ITEMS, elements, float32, is_of_numpy, items, numpy_name, quoted
from ingot.source.notes import Notes, notes_of, written_notes
from ingot.source.program import Program, heading, load_function, returned
from ingot.source.repeats import is_weight, repeated_blocks
from ingot.source.result_names import common_result_names, follows
from ingot.source.variables import Variables, identifier, is_identifier
from ingot.source.weights import Weights

_RESERVED = frozenset(
    "DType Function Graph Model Node Path Tensor SparseTensor Attribute AttributeKind Var annotate build function json "
    "main make_model ml_dtypes np op save subgraph sys weights load NOTES VALUE_TYPES i j k place".split()
)
_OF_CALLS = frozenset({"name", "outputs", "self", "inputs", "body", "then", "else_", "cond"})
_CONTROL = {
    "If": ("then_branch", "else_branch"),
    "Loop": ("body",),
}
_FEW_NOTES = 4
"""At most so many doc strings and sets of metadata are written into the program."""

_OF_TYPES = frozenset({"to", "dtype"})


class BuildStyle:
    """The dialect of `ingot.build`, and the parts of its program."""

    def __init__(self, model: Model, weights: Weights, weights_name: str) -> None:
        self._model = model
        self._weights = weights
        self._weights_name = weights_name
        self._used: set[str] = set()
        self._module = Variables(reserved=_RESERVED)
        self._domains: dict[str, str] = {}
        self._constants: dict[Value, str] = {}
        self._constant_rows: list[str] = []
        self._blocks: list[list[str]] = []
        self._tables: list[list[str]] = []
        self._typed: set[Value] = set()
        self._type_functions: list[list[str]] = []
        self._type_loops: list[str] = []
        self._result_names = common_result_names(model)
        self._body = Body(self, self._module)
        self._blocks_of_graph = repeated_blocks(model.graph)

    def text(self) -> str:
        """The program."""
        model = self._model
        self._name_domains()
        self._name_constants()
        functions = [self._function(function) for function in model.functions.values()]
        graph_rows, graph_name = self._main()
        making = self._making(graph_name, [name for name, _ in functions])
        program = Program(heading(model, "built with ingot", self._weights_name if self._weights else None))
        program.add_imports(self._imports())
        if self._weights:
            program.add(*load_function(self._weights, self._weights_name))
        if self._domains:
            program.add(*(f"{name} = op.domain({quoted(domain)})" for domain, name in self._domains.items()))
        if self._constant_rows:
            program.add(*self._constant_rows)
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
        named = bool(node.name)
        if not follows(nodes, self._result_names):
            keywords.append(self._outputs(names, place))
        elif len(names) > 1:
            keywords.append(f"outputs={len(names)}")
        if named:
            keywords.append(f"name={place.text([one.name for one in nodes], 'node')}")
        expression = call(self._operator(node, attributes), *inputs, *(value for _, value in attributes), *keywords)
        if len(node.outputs) == 1 and targets == "_":
            targets = ""
        if len(node.outputs) == 1 and targets and not _is_single(keywords):
            targets += ","
        rows += lines(labelled(f"{targets} = " if targets else "", expression), place.indent)
        rows += self._configurations(node, targets, place)
        return rows

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        if len(set(values)) == 1:
            return self._constant(values[0])
        if self._is_one_literal(values):
            tensor = values[0].constant
            assert isinstance(tensor, Tensor)
            return self._tensor(tensor, place.text([value.name for value in values], "constant"))
        keys = [self._key(value) for value in values]
        return f"weights[{place.text(keys, 'weight')}]"

    def block(self, block: BlockFunction) -> None:
        self._blocks.append(block.lines)
        if block.tables:
            pairs: list[tuple[str, Expression]] = [
                (quoted(key), tupled(list(map(quoted, texts)))) for key, texts in block.tables.items()
            ]
            self._tables.append(_statement(block.table, mapping(pairs)))
        self._block_types(block)

    def _block_types(self, block: BlockFunction) -> None:
        """A function for the declared types of a block's values, where they are the same in every instance."""
        entries: list[tuple[str, Expression]] = []
        for name, column in block.values:
            type_ = column[0].type
            if type_ is not None and all(value.type == type_ and not value.is_output for value in column):
                entries.append((name, type_expression(type_, self._used)))
                self._typed.update(column)
        if not entries:
            return
        name = self._module.free(f"{block.name}_types")
        parameters = [parameter for parameter, _ in block.parameters]
        rows = [f"def {name}({', '.join(parameters)}):"]
        rows.append('    """The declared types of the values of a block."""')
        rows += lines(labelled("return ", mapping(entries)), 4)
        self._type_functions.append(rows)
        vectors = [vector for _, vector in block.parameters]
        numbers = progression(vectors[0]) if len(vectors) == 1 else call("zip", *map(progression, vectors))
        self._type_loops += lines(labelled(f"for {', '.join(parameters)} in ", numbers), 0, ":")
        self._type_loops.append(f"    VALUE_TYPES |= {name}({', '.join(parameters)})")

    def _name_domains(self) -> None:
        """Give every domain its variable, before functions have variables of their own."""
        for node in self._model.nodes():
            if node.domain and node.domain not in self._domains:
                words = node.domain.split(".")
                self._domains[node.domain] = self._module.free(identifier(words[-1] or "other"))

    def _is_one_literal(self, values: Sequence[Value]) -> bool:
        """Whether constants of the instances of a block are the same small one, each read in one place."""
        first = values[0].constant
        if not isinstance(first, Tensor) or elements(first) is None:
            return False
        return all(
            isinstance(value.constant, Tensor)
            and same_tensor(first, value.constant)
            and (first.doc_string, first.metadata) == (value.constant.doc_string, value.constant.metadata)
            and _uses(value) == 1
            and not self._is_declared(value)
            for value in values
        )

    def _stored_for_blocks(self) -> set[Value]:
        """Constants that the instances of a block find in the file of weights, since they differ."""
        stored: set[Value] = set()
        for block in self._blocks_of_graph:
            for nodes in zip(*block.instances, strict=True):
                for column in zip(*(node.inputs for node in nodes), strict=True):
                    values = [value for value in column if value is not None and is_weight(value)]
                    if len(set(values)) > 1 and not self._is_one_literal(values):
                        stored.update(values)
        return stored

    def _name_constants(self) -> None:
        """Put weights into their file, in order, and give variables to constants that are read in several places."""
        stored = self._stored_for_blocks()
        for value in self._model.graph.initializers.values():
            if isinstance(value.constant, Tensor):
                if elements(value.constant) is None or self._is_declared(value) or value in stored:
                    self._key(value)
                elif _uses(value) > 1:
                    self._constant(value)
            else:
                self._constant(value)

    # Constants of graphs

    def _constant(self, value: Value) -> Expression:
        known = self._constants.get(value)
        if known is not None:
            return known
        tensor = value.constant
        if isinstance(tensor, Tensor) and value.graph is self._model.graph and not self._weights.has(tensor):
            literal = elements(tensor)
            if literal is not None:
                expression = self._tensor(tensor, quoted(value.name))
                if _uses(value) == 1:
                    return expression
                name = self._module.free(identifier(value.name))
                self._constants[value] = name
                self._constant_rows += lines(labelled(f"{name} = ", expression))
                return name
            return f"weights[{quoted(self._key(value))}]"
        if isinstance(tensor, SparseTensor):
            name = self._module.free(identifier(value.name))
            self._constants[value] = name
            self._constant_rows += lines(labelled(f"{name} = ", self._sparse(tensor)))
            return name
        return f"weights[{quoted(self._key(value))}]"

    def _is_declared(self, value: Value) -> bool:
        """Whether a constant has to be made before the graph is written: nobody reads it, or it is an input too."""
        return value.is_input or value.is_output or not value.users

    def _key(self, value: Value) -> str:
        tensor = value.constant
        assert isinstance(tensor, Tensor)
        return self._weights.key(tensor, value.name if value.graph is self._model.graph else None)

    def _tensor(self, tensor: Tensor, name: str | None) -> Expression:
        """A Tensor of these elements under the expression of a name; its texts are part of it."""
        self._used.add("ingot.Tensor")
        extra: list[Expression] = [] if name is None or name == '""' else [f"name={name}"]
        if tensor.doc_string:
            extra.append(f"doc_string={quoted(tensor.doc_string)}")
        if tensor.metadata:
            extra.append(labelled("metadata=", mapping([(quoted(k), quoted(v)) for k, v in tensor.metadata.items()])))
        return call("Tensor", *self._elements(tensor), *extra)

    def _elements(self, tensor: Tensor) -> list[Expression]:
        literal = elements(tensor)
        if literal is None:
            return [f"weights[{quoted(self._weights.key(tensor))}]"]
        natural = {DType.INT64, DType.BOOL, DType.FLOAT64, DType.COMPLEX128}
        if tensor.dtype in natural and tensor.size:
            return [literal]
        if is_of_numpy(tensor.dtype) and tensor.dtype is not DType.STRING:
            self._used.add("numpy")
            return [literal, numpy_name(tensor.dtype)]
        return [literal, quoted(tensor.dtype.label)]

    def _sparse(self, sparse: SparseTensor) -> Expression:
        self._used.add("ingot.SparseTensor")
        shape = ", ".join(map(str, sparse.shape))
        return call(
            "SparseTensor",
            self._tensor(sparse.values, quoted(sparse.values.name)),
            self._tensor(sparse.indices, quoted(sparse.indices.name)),
            f"[{shape}]",
        )

    # Nodes

    def _operator(self, node: Node, attributes: list[tuple[str, Expression]]) -> str:
        owner = "op"
        if node.domain:
            owner = self._domains[node.domain]
        if node.overload:
            return f"{owner}[{quoted(node.op_type)}, {quoted(node.overload)}]"
        is_method = not node.domain and node.op_type in ("If", "Loop", "Scan")
        if is_method:
            wanted = _CONTROL.get(node.op_type)
            names = tuple(name for name, _ in attributes)
            plain = names == wanted if wanted else names[:1] == ("body",) and "" not in names
            if not plain or (node.op_type == "If" and len(node.inputs) != 1) or len(node.inputs) < 2 - (wanted is None):
                return f"{owner}[{quoted(node.op_type)}]" if node.op_type != "If" or names != wanted else "op.If"
            if node.op_type == "Scan" and any(name in _OF_CALLS - {"body"} for name in names):
                return f"{owner}[{quoted(node.op_type)}]"
        if not is_identifier(node.op_type) or node.op_type.startswith("_") or node.op_type == "domain":
            return f"{owner}[{quoted(node.op_type)}]"
        return f"{owner}.{node.op_type}"

    def _outputs(self, names: list[list[str]], place: Place) -> Expression:
        if len(names) == 1 and names[0][0]:
            return f"outputs={place.text(names[0], 'result')}"
        texts: list[Expression] = [place.text(each, "result") if each[0] else "None" for each in names]
        return labelled("outputs=", listed(texts))

    def _attributes(self, node: Node, place: Place, rows: list[str]) -> list[tuple[str, Expression]]:
        """The arguments for the attributes of a node, with their keywords, if all may have one; `rows` gets subgraphs."""
        control = not node.domain and node.op_type in ("If", "Loop", "Scan")
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
        return [("", self._stated(attribute, payload)) for attribute, payload in payloads]

    def _stated(self, attribute: Attribute, payload: Expression | None) -> Expression:
        """An attribute as an object, for what no keyword can express."""
        self._used |= {"ingot.Attribute", "ingot.AttributeKind"}
        parts: list[Expression] = [quoted(attribute.name)]
        kind = f"AttributeKind.{attribute.kind.name}"
        if attribute.ref:
            parts += [f"kind={kind}", f"ref={quoted(attribute.ref)}"]
        else:
            parts += [payload if payload is not None else self._bare(attribute), kind]
        if attribute.doc_string:
            parts.append(f"doc_string={quoted(attribute.doc_string)}")
        return call("Attribute", *parts)

    def _bare(self, attribute: Attribute) -> Expression:
        return "[]" if attribute.kind.is_list and not attribute.value else self._value(attribute)

    def _payload(self, node: Node, attribute: Attribute, place: Place, rows: list[str]) -> Expression | None:
        """What a keyword may be given for an attribute; None where only an Attribute will do."""
        if attribute.graphs:
            graphs = []
            for graph in attribute.graphs:
                stem = attribute.name if not graph.name or not is_identifier(graph.name) else graph.name
                name = place.variables.free(identifier(stem if attribute.kind.is_list else attribute.name))
                rows += self._subgraph(graph, name, place)
                graphs.append(name)
            return listed(list(graphs)) if attribute.kind.is_list else graphs[0]
        if attribute.ref or attribute.doc_string or (attribute.kind.is_list and not attribute.value):
            return None
        is_number = attribute.kind is AttributeKind.INT and attribute.name in _OF_TYPES and not node.domain
        if is_number and attribute.value in list(DType) and attribute.value:
            name = element_name(DType(attribute.value))  # type: ignore[arg-type]
            self._used.add(name)
            return name
        return self._value(attribute)

    def _value(self, attribute: Attribute) -> Expression:
        value: Any = attribute.value
        match attribute.kind:
            case AttributeKind.INT:
                return str(value)
            case AttributeKind.FLOAT:
                return float32(value)
            case AttributeKind.STRING:
                return quoted(value)
            case AttributeKind.TENSOR:
                return self._tensor_attribute(value)
            case AttributeKind.SPARSE_TENSOR:
                return self._sparse(value)
            case AttributeKind.TYPE:
                return type_expression(value, self._used)
            case AttributeKind.TENSORS:
                return listed([self._tensor_attribute(item) for item in value])
            case AttributeKind.SPARSE_TENSORS:
                return listed([self._sparse(item) for item in value])
            case AttributeKind.TYPES:
                return listed([type_expression(item, self._used) for item in value])
        if attribute.kind is AttributeKind.FLOATS:
            literals: list[Expression] = [float32(item) for item in value]
        else:
            literals = items(value)
        if len(value) > INLINE_ITEMS and not any(isinstance(item, bytes) for item in value):
            return f"weights[{quoted(self._weights.list_key(value))}].tolist()"
        return listed(literals)

    def _tensor_attribute(self, tensor: Tensor) -> Expression:
        plain = not (tensor.name or tensor.doc_string or tensor.metadata)
        if plain and (literal := elements(tensor)) is None:
            return f"weights[{quoted(self._weights.key(tensor))}]"
        if plain and is_of_numpy(tensor.dtype) and tensor.dtype is not DType.STRING:
            self._used.add("numpy")
            if tensor.dtype in (DType.INT64, DType.BOOL, DType.FLOAT64) and tensor.size:
                return call("np.array", literal)
            return call("np.array", literal, numpy_name(tensor.dtype))
        return self._tensor(tensor, quoted(tensor.name))

    def _configurations(self, node: Node, targets: str, place: Place) -> list[str]:
        if not node.device_configurations:
            return []
        self._used |= {"sharding.NodeConfiguration"}
        rows = []
        variable = targets.split(",")[0]
        configurations: list[Expression] = []
        for configuration in node.device_configurations:
            shardings: list[Expression] = []
            for sharding in configuration.shardings:
                self._used |= {"sharding.Sharding"}
                dims: list[Expression] = []
                for dim in sharding.dims:
                    self._used |= {"sharding.ShardedDim", "sharding.SimpleSharding"}
                    pieces = ", ".join(self._piece(piece) for piece in dim.shardings)
                    dims.append(f"ShardedDim({dim.axis}, ({pieces}{',' if len(dim.shardings) == 1 else ''}))")
                shown = place.scope.get(sharding.value) or flat(self._constant(sharding.value))
                owner = f"{shown}.value"
                shardings.append(
                    call(
                        "Sharding",
                        owner,
                        repr(sharding.devices),
                        repr(sharding.groups),
                        tupled(dims),
                    )
                )
            name, stage = quoted(configuration.configuration), str(configuration.pipeline_stage)
            configurations.append(call("NodeConfiguration", name, tupled(shardings), stage))
        label = f"{variable}.value.producer.device_configurations = "
        rows += lines(labelled(label, tupled(configurations)), place.indent)
        return rows

    def _piece(self, piece: Any) -> str:
        if piece.dim is None or isinstance(piece.dim, int):
            return f"SimpleSharding({piece.num_shards}, {piece.dim})"
        self._used.add("dims.from_param")
        return f"SimpleSharding({piece.num_shards}, from_param({quoted(str(piece.dim))}))"

    # Graphs

    def _subgraph(self, graph: Graph, name: str, place: Place) -> list[str]:
        self._used.add("subgraph")
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
                self._sparse(constant)
                if isinstance(constant, SparseTensor)
                else self._tensor(constant, quoted(value.name))
            )
            rows += lines(labelled(f"{variable} = ", expression), place.indent)
            declared.append((quoted(value.name), variable))
            inner.scope.setdefault(value, variable)
        if graph.inputs:
            pairs: list[tuple[str, Expression]] = [
                (quoted(value.name), type_expression(value.type, self._used)) for value in graph.inputs
            ]
            keywords.append(labelled("inputs=", mapping(pairs)))
        keywords.append(labelled("outputs=", self._declared_outputs(graph)))
        if declared:
            keywords.append(labelled("initializers=", mapping([(key, shown) for key, shown in declared])))
        types = self._value_types(graph)
        if types:
            keywords.append(labelled("value_types=", mapping(types)))
        keywords.append(f"name={quoted(graph.name)}")
        body = self._body.statements(graph, inner)
        rows += ["", *lines(call("@subgraph", *keywords), place.indent)]
        rows += lines(call(f"def {name}", *parameters), place.indent, ":")
        rows += body
        results = [inner.scope.get(value) or flat(self._constant(value)) for value in graph.outputs]
        rows += [*returned(results, place.indent + 4), ""]
        if graph.quantization:
            rows += self._annotations(graph, name, place)
        return rows

    def _declared_outputs(self, graph: Graph) -> Expression:
        own = [(value.name, value.type if value.graph is graph and value.producer is not None else None) for value in graph.outputs]
        if any(type_ is not None for _, type_ in own) and len({name for name, _ in own}) == len(own):
            return mapping([(quoted(name), type_expression(type_, self._used)) for name, type_ in own])
        return listed([quoted(name) for name, _ in own])

    def _value_types(self, graph: Graph, *, function: bool = False) -> list[tuple[str, Expression]]:
        """The declared types of what nodes compute, but for results, which are declared with the graph."""
        values = self._typed_values(graph, function=function)
        return [(quoted(value.name), type_expression(value.type, self._used)) for value in values]

    def _typed_values(self, graph: Graph, *, function: bool = False) -> list[Value]:
        repeats = len(set(graph.outputs.names)) != len(graph.outputs)
        returned = set() if function or repeats else set(graph.outputs)
        return [
            value
            for value in graph.values()
            if value.type is not None
            and (value.producer is not None or (function and value in graph.inputs))
            and value not in returned
        ]

    def _annotations(self, graph: Graph, owner: str, place: Place | None) -> list[str]:
        """Statements for the annotations of quantisation of a graph that a variable holds."""
        self._used.add("sharding.TensorAnnotation")
        margin = "    " if place is None else " " * place.indent

        def found(value: Value) -> str:
            if value.graph is graph or place is None:
                return f"{owner}.value({quoted(value.name)})"
            shown = place.scope.get(value)
            return f"{shown}.value" if shown else f"{owner}.outer.value({quoted(value.name)})"

        notes: list[Expression] = []
        for note in graph.quantization:
            pairs: list[tuple[str, Expression]] = [(quoted(role), found(value)) for role, value in note.parameters.items()]
            notes.append(call("TensorAnnotation", found(note.value), mapping(pairs)))
        return lines(labelled(f"{owner}.quantization = ", listed(notes)), len(margin))

    def _function(self, function: Function) -> tuple[str, list[str]]:
        self._used.add("function")
        graph = function.graph
        name = self._module.free(identifier(function.name))
        variables = Variables(self._module)
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
                (quoted(key), "None" if default is None else self._stated(default, None))
                for key, default in function.attributes.items()
            ]
            keywords.append(labelled("attributes=", mapping(pairs)))
        types = self._value_types(graph, function=True)
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
        name = self._module.free(identifier(graph.name or "graph"))
        variables = Variables(self._module)
        place = Place({}, variables, one_text, 4)
        parameters = []
        for value in graph.inputs:
            if value.constant is None:
                parameters.append(variables.value(value.name, "x"))
                place.scope[value] = parameters[-1]
        body = self._body.statements(graph, place, self._blocks_of_graph)
        results = [place.scope.get(value) or flat(self._constant(value)) for value in graph.outputs]
        rows = lines(call(f"def {name}", *parameters), 0, ":")
        counted = f"{len(graph)} node{'s' if len(graph) != 1 else ''}"
        rows.append(f'    """The graph of the model: {counted}."""')
        rows += ["", *body] if body and body[0].lstrip().startswith("@") else body
        rows += returned(results, 4)
        return rows, name

    # The model

    def _making(self, graph_name: str, functions: list[str]) -> list[list[str]]:
        model, graph = self._model, self._model.graph
        rows: list[list[str]] = []
        types = self._value_types(graph)
        noted = self._noted(notes_of(model))
        keywords: list[Expression] = [graph_name]
        inputs: list[tuple[str, Expression]] = [
            (quoted(value.name), type_expression(value.type, self._used))
            for value in graph.inputs
            if value.constant is None
        ]
        keywords.append(labelled("inputs=", mapping(inputs)))
        keywords.append(labelled("outputs=", self._declared_outputs(graph)))
        initializers = self._initializers()
        if initializers is not None:
            keywords.append(labelled("initializers=", initializers))
        if functions:
            keywords.append(labelled("functions=", listed(list(functions))))
        if types:
            keywords.append("value_types=VALUE_TYPES")
            rows += self._type_functions
            table = [pair for pair, value in zip(types, self._typed_values(graph), strict=True) if value not in self._typed]
            rows.append([*_statement("VALUE_TYPES", mapping(table)), *self._type_loops])
        if self._result_names:
            keywords.append(f"result_names={quoted(self._result_names)}")
        imports = dict(model.opset_imports)
        standard = imports.get("")
        ordered = standard is not None and 1 <= standard <= 28 and next(iter(imports)) == ""
        if ordered:
            keywords.append(f"opset={standard}")
            others: list[tuple[str, Expression]] = [(quoted(d), str(v)) for d, v in imports.items() if d]
            if others:
                keywords.append(labelled("opsets=", mapping(others)))
        keywords.append(f"ir_version={model.ir_version}")
        keywords.append(f"name={quoted(graph.name)}")
        keywords.append(f"doc_string={quoted(model.doc_string)}")
        keywords.append("exact=True")
        making = ["def make_model() -> Model:", '    """The model, built anew."""']
        making += lines(labelled("model = ", call("build", *keywords)), 4)
        if not ordered:
            pairs: list[tuple[str, Expression]] = [(quoted(d), str(v)) for d, v in imports.items()]
            making += lines(labelled("model.opset_imports = ", mapping(pairs)), 4)
        making += self._fields()
        making += noted
        making.append("    return model")
        rows.append(making)
        self._used |= {"build", "op", "ingot.Model", "ingot.save"}
        output = quoted(self._weights_name.removesuffix(".npz") + ".onnx")
        rows.append(
            [
                'if __name__ == "__main__":',
                f"    save(make_model(), sys.argv[1] if len(sys.argv) > 1 else {output})",
            ]
        )
        return rows

    def _noted(self, notes: Notes) -> list[str]:
        """The statement that puts doc strings and metadata onto the model: from the file of weights, unless few."""
        if not notes:
            return []
        self._used.add("annotate")
        if sum(map(len, notes.values())) <= _FEW_NOTES:
            return lines(call("annotate", "model", written_notes(notes)), 4)
        self._used.add("json")
        key = self._weights.key(Tensor(json.dumps(notes), "string"))
        return [f"    annotate(model, json.loads(weights[{quoted(key)}].item()))"]

    def _initializers(self) -> Expression | None:
        names = [name for name in self._weights.names if not name.startswith("@")]
        renamed = [
            (quoted(value.name), f"weights[{quoted(key)}]")
            for value in self._model.graph.initializers.values()
            if isinstance(value.constant, Tensor)
            and self._weights.has(value.constant)
            and (key := self._key(value)) != value.name
        ]
        sparse = [
            (quoted(value.name), self._constant(value))
            for value in self._model.graph.initializers.values()
            if isinstance(value.constant, SparseTensor)
        ]
        others: list[tuple[str, Expression]] = [*renamed, *sparse]
        if len(names) == len(self._weights.names) and not others:
            return "weights" if names else None
        if not names:
            return mapping(others) if others else None
        own = "{name: array for name, array in weights.items() if name[0] != \"@\"}"
        if not others:
            return own
        return Group("{", (f"**{own}", *(labelled(f"{key}: ", shown) for key, shown in others)), "}")

    def _fields(self) -> list[str]:
        """Statements for what `build` does not take."""
        model, graph = self._model, self._model.graph
        rows = [
            f"    model.producer_name = {quoted(model.producer_name)}",
            f"    model.producer_version = {quoted(model.producer_version)}",
        ]
        if model.domain:
            rows.append(f"    model.domain = {quoted(model.domain)}")
        if model.model_version:
            rows.append(f"    model.model_version = {model.model_version}")
        if model.metadata:
            pairs: list[tuple[str, Expression]] = [(quoted(k), quoted(v)) for k, v in model.metadata.items()]
            rows += lines(labelled("model.metadata = ", mapping(pairs)), 4)
        if model.configurations:
            self._used.add("sharding.DeviceConfiguration")
            shown: list[Expression] = [
                call("DeviceConfiguration", quoted(c.name), str(c.num_devices), _tuple(c.devices))
                for c in model.configurations
            ]
            rows += lines(labelled("model.configurations = ", listed(shown)), 4)
        defaults = [value for value in graph.inputs if value.constant is not None]
        if defaults:
            order = [value for value in graph.inputs if value.constant is None] + defaults
            rows += self._default_inputs(defaults, moved=order != list(graph.inputs))
        if graph.quantization:
            rows += self._annotations(graph, "model.graph", None)
        rows += self._training()
        return rows

    def _default_inputs(self, defaults: list[Value], *, moved: bool) -> list[str]:
        graph = self._model.graph
        rows = []
        for value in defaults:
            if value.constant is not None and value.type != value.constant.type:
                shown = type_expression(value.type, self._used)
                rows += lines(labelled(f"model.graph.value({quoted(value.name)}).type = ", shown), 4)
        names = [quoted(value.name) for value in (graph.inputs if moved else defaults)]
        if moved:
            rows += lines(labelled("names = ", listed(list(names))), 4)
            rows.append("    model.graph.inputs[:] = [model.graph.value(name) for name in names]")
        elif [value for value in graph.initializers.values() if value.constant is not None] == defaults and all(
            isinstance(value.constant, Tensor) and self._key(value) == value.name for value in defaults
        ):
            rows.append("    model.graph.inputs.extend(model.graph.initializers.values())")
        else:
            rows += lines(labelled("names = ", listed(list(names))), 4)
            rows.append("    model.graph.inputs.extend(model.graph.value(name) for name in names)")
        return rows

    def _training(self) -> list[str]:
        rows: list[str] = []
        for training in self._model.training:
            self._used |= {"model.TrainingInfo"}
            rows.append("    training = TrainingInfo()")
            for field in ("initialization", "algorithm"):
                graph = getattr(training, field)
                if graph is None:
                    continue
                self._used.add("inserting")
                rows.append("    with inserting(at_end_of=model.graph, exact=True):")
                scope = {
                    value: f"model.graph.value({quoted(value.name)})"
                    for value in self._model.graph.values()
                }
                place = Place(scope, Variables(self._module), one_text, 8)
                place.variables.reserve("training", "model")
                rows += ["", *tidy(self._subgraph(graph, field, place)), ""]
                rows += [f"    {field}.adopt(model)", f"    training.{field} = {field}"]
            for field in ("initialization_binding", "update_binding"):
                binding = getattr(training, field)
                if binding:
                    pairs: list[tuple[str, Expression]] = [(quoted(k), quoted(v)) for k, v in binding.items()]
                    rows += lines(labelled(f"training.{field} = ", mapping(pairs)), 4)
            rows.append("    model.training.append(training)")
        return rows

    def _imports(self) -> list[str]:
        used = self._used
        rows = ["import sys"]
        if self._weights.has_strings or "json" in used:
            rows.insert(0, "import json")
        if self._weights:
            rows.append("from pathlib import Path")
        third = []
        if self._weights.has_foreign:
            third.append("import ml_dtypes")
        if self._weights or "numpy" in used:
            third.append("import numpy as np")
        direct = sorted(name.removeprefix("ingot.") for name in used if name.startswith("ingot."))
        builder = sorted(name for name in used if "." not in name and name not in ("numpy", "json"))
        homes = {
            "ingot": direct,
            "ingot.builder": builder,
            "ingot.dims": [name.removeprefix("dims.") for name in used if name.startswith("dims.")],
            "ingot.ir.model": [name.removeprefix("model.") for name in used if name.startswith("model.")],
            "ingot.ir.sharding": [name.removeprefix("sharding.") for name in used if name.startswith("sharding.")],
            "ingot.ir.types": [name.removeprefix("ir.") for name in used if name.startswith("ir.")],
        }
        for home, names in homes.items():
            if names:
                third += _import(home, names)
        return [*rows, "", *third]


def _import(home: str, names: list[str]) -> list[str]:
    ordered = sorted(names, key=lambda name: (not name[0].isupper(), _natural(name)))
    row = f"from {home} import {', '.join(ordered)}"
    return [row] if len(row) <= 120 else [f"from {home} import (", *(f"    {name}," for name in ordered), ")"]


def _natural(name: str) -> list[tuple[int, str]]:
    """A key to sort names by as import sorters do: numbers in them by size."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _statement(name: str, expression: Expression) -> list[str]:
    return lines(labelled(f"{name} = ", expression))


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(map(quoted, texts))}{',' if len(texts) == 1 else ''})"


def _is_single(keywords: Sequence[Expression]) -> bool:
    """Whether a call with these keywords returns one value, and no tuple."""
    return not any(isinstance(keyword, Group) and keyword.before.startswith("outputs=[") for keyword in keywords)


def _uses(value: Value) -> int:
    return len(value.uses) + value.is_output
