"""A model as a program that computes it with numpy alone: a line or so a node, functions for larger operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ingot.dtypes import DType
from ingot.errors import CheckError, UnsupportedError
from ingot.infer import infer
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.domains import spelled_out
from ingot.ir.equality import same_tensor
from ingot.ir.graph import Graph
from ingot.ir.inline import inline
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import SequenceType, TensorType
from ingot.ir.value import Value
from ingot.ops.catalog import standard
from ingot.ops.define import Operator
from ingot.source.body import BlockFunction, Body, Place, one_text
from ingot.source.bundle import Bundle
from ingot.source.layout import Expression, Group, call, flat, labelled, lines, listed, mapping, tupled
from ingot.source.literals import INLINE_ITEMS, elements, float32, is_of_numpy, items, numpy_name, plain, quoted
from ingot.source.numpy_templates import TEMPLATES, Site
from ingot.source.prelude import written_for
from ingot.source.program import Program, heading, load_function, returned
from ingot.source.repeats import repeated_blocks
from ingot.source.variables import Variables, identifier
from ingot.source.weights import Weights
from ingot.versions.upgrade import upgrade

_RESERVED = frozenset({"Path", "json", "main", "ml_dtypes", "np", "weights", "i", "j", "k", "place"})
_UNDEFINED_BY_SEED = (
    *("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
)
"""Operators that draw random numbers, which no program can draw alike."""


class NumpyStyle:
    """The dialect of numpy, and the parts of its program."""

    def __init__(self, model: Model, weights: Weights, weights_name: str) -> None:
        model = model.copy()
        upgrade(model)
        if model.functions:
            inline(model)
        infer(model)
        self._model = model
        self._weights = weights
        self._weights_name = weights_name
        self._module = Variables(reserved=_RESERVED)
        self._bundle = Bundle(self._module)
        self._constants: dict[Value, str] = {}
        self._constant_rows: list[str] = []
        self._blocks: list[list[str]] = []
        self._tables: list[list[str]] = []
        self._refused: dict[str, str] = {}
        self._uses_foreign = False
        self._body = Body(self, self._module)
        self._blocks_of_graph = repeated_blocks(model.graph)

    def text(self) -> str:
        """The program; UnsupportedError naming the operators that it cannot express."""
        self._name_constants()
        self._name_operators()
        graph_rows = self._main()
        if self._refused:
            reasons = [f"{name}: {reason}" for name, reason in self._refused.items()]
            names = ", ".join(self._refused)
            raise UnsupportedError(
                f"numpy has no program for {names}", where=tuple(reasons), hint="write it in style build"
            )
        program = Program(heading(self._model, "computed with numpy", self._weights_name if self._weights else None))
        program.add_imports(self._imports())
        if self._weights:
            program.add(*load_function(self._weights, self._weights_name))
        if self._constant_rows:
            program.add(*self._constant_rows)
        for rows in self._tables:
            program.add(*rows)
        for text in self._bundle.definitions:
            program.add(*text.split("\n"), spaced=text.startswith(("def ", "class ", "@")))
        for rows in self._blocks:
            program.add(*rows, spaced=True)
        program.add(*graph_rows, spaced=True)
        return program.text()

    def node(self, nodes: Sequence[Node], inputs: Sequence[Expression], targets: str, place: Place) -> list[str]:
        node = nodes[0]
        if not targets:
            return []
        control = node.rule_in(_CONTROL)
        if control is not None:
            return control(self, node, [flat(item) for item in inputs], targets, place)
        operator = standard().newest(node.domain, node.op_type)
        if operator is None:
            self._refuse(node, "nobody defines it")
            return []
        try:
            expression = self._expression(nodes, operator, inputs)
        except (UnsupportedError, CheckError) as error:
            self._refuse(node, error.message)
            return []
        names = targets.split(", ")
        if isinstance(expression, Group) and operator.returns_several and not _gives_one_array(nodes):
            if len(names) == 1:
                expression = Group(expression.before, expression.items, f"{expression.after}[0]")
            elif len(names) < len(operator.outputs):
                targets += ", *_"
        return lines(labelled(f"{targets} = ", expression), place.indent)

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        if len(set(values)) == 1:
            return self._constant(values[0])
        if self._is_one_literal(values):
            tensor = values[0].constant
            assert isinstance(tensor, Tensor)
            return self._literal(tensor)
        keys = [self._key(value) for value in values]
        return f"weights[{place.text(keys, 'weight')}]"

    def block(self, block: BlockFunction) -> None:
        self._blocks.append(block.lines)
        if block.tables:
            pairs: list[tuple[str, Expression]] = [
                (quoted(key), tupled(list(map(quoted, texts)))) for key, texts in block.tables.items()
            ]
            self._tables.append(lines(labelled(f"{block.table} = ", mapping(pairs))))

    def _refuse(self, node: Node, reason: str) -> None:
        name = node.op_type if not node.domain else f"{spelled_out(node.domain)}.{node.op_type}"
        self._refused.setdefault(name, reason)

    # Constants

    def _is_one_literal(self, values: Sequence[Value]) -> bool:
        first = values[0].constant
        return (
            isinstance(first, Tensor)
            and elements(first) is not None
            and all(value.constant is not None and same_tensor(first, value.constant) for value in values)
        )

    def _name_constants(self) -> None:
        for value in self._model.graph.initializers.values():
            if isinstance(value.constant, Tensor) and elements(value.constant) is None and value.users:
                self._key(value)

    def _constant(self, value: Value) -> Expression:
        tensor = value.constant
        if isinstance(tensor, SparseTensor):
            tensor = tensor.dense()
            return f"weights[{quoted(self._weights.key(tensor, value.name))}]"
        assert tensor is not None
        if elements(tensor) is not None:
            return self._literal(tensor)
        return f"weights[{quoted(self._key(value))}]"

    def _key(self, value: Value) -> str:
        tensor = value.constant
        assert isinstance(tensor, Tensor)
        return self._weights.key(tensor, value.name if value.graph is self._model.graph else None)

    def _literal(self, tensor: Tensor) -> Expression:
        literal = elements(tensor)
        if literal is None:
            return f"weights[{quoted(self._weights.key(tensor))}]"
        if tensor.dtype is DType.STRING:
            return call("np.array", literal, "object")
        if not is_of_numpy(tensor.dtype):
            self._uses_foreign = True
        if tensor.dtype in (DType.INT64, DType.BOOL, DType.FLOAT64) and tensor.size:
            return call("np.array", literal)
        if not tensor.shape and tensor.dtype is DType.FLOAT32:
            return call("np.float32", literal)
        return call("np.array", literal, numpy_name(tensor.dtype))

    # Operators

    def _expression(self, nodes: Sequence[Node], operator: Operator, inputs: Sequence[Expression]) -> Expression:
        """What a node computes, or the same one of each instance of a block: their types and constants may differ."""
        node = nodes[0]
        shown = [flat(item) for item in inputs]
        if node.applies("Constant"):
            return self._constant_node(node)
        if node.applies(*_UNDEFINED_BY_SEED):
            raise UnsupportedError("it draws random numbers")
        names = operator.keywords
        attributes = {**operator.defaults, **{names[key]: item.value for key, item in node.attributes.items()}}
        template = node.rule_in(TEMPLATES)
        if template is not None:
            texts = {template(Site(each, shown, attributes)) for each in nodes}
            if len(texts) == 1 and (text := texts.pop()) is not None:
                return text
        written = _written_for_all(nodes)
        if written is None and operator.runtime is not None:
            raise UnsupportedError("it asks for more than its inputs")
        function = self._bundle.function(operator.evaluate if written is None else written)
        arguments: list[Expression] = list(inputs)
        while arguments and arguments[-1] == "None":
            arguments.pop()
        for key, attribute in node.attributes.items():
            if key in ("training_mode", "output_sequence") and written is not None:
                continue
            arguments.append(labelled(f"{names[key]}=", self._attribute(attribute)))
        return call(function, *arguments)

    def _constant_node(self, node: Node) -> Expression:
        attribute = next(iter(node.attributes.values()))
        if isinstance(attribute.value, Tensor):
            return self._literal(attribute.value)
        if isinstance(attribute.value, SparseTensor):
            return self._literal(attribute.value.dense())
        types = {
            AttributeKind.FLOAT: "np.float32",
            AttributeKind.FLOATS: "np.float32",
            AttributeKind.STRING: "object",
            AttributeKind.STRINGS: "object",
        }
        return call("np.array", self._attribute(attribute), types.get(attribute.kind, "np.int64"))

    def _attribute(self, attribute: Attribute) -> Expression:
        value: Any = attribute.value
        literal = plain(attribute)
        if literal is not None:
            return literal
        match attribute.kind:
            case AttributeKind.TENSOR:
                return self._literal(value)
            case AttributeKind.INTS | AttributeKind.FLOATS | AttributeKind.STRINGS:
                if len(value) > INLINE_ITEMS and not any(isinstance(item, bytes) for item in value):
                    return f"weights[{quoted(self._weights.list_key(value))}].tolist()"
                if attribute.kind is AttributeKind.FLOATS:
                    return listed([float32(item) for item in value])
                return listed(items(value))
        raise UnsupportedError(f"its attribute '{attribute.name}' holds a {attribute.kind.name.lower()}")

    # Control flow

    def _if(self, node: Node, inputs: Sequence[str], targets: str, place: Place) -> list[str]:
        margin = " " * place.indent
        rows: list[str] = []
        for keyword_, name in ((f"if np.all({inputs[0]}):", "then_branch"), ("else:", "else_branch")):
            rows.append(margin + keyword_)
            graph = node[name]
            assert isinstance(graph, Graph)
            inner = Place(place.scope, place.variables, one_text, place.indent + 4)
            rows += self._body.statements(graph, inner)
            results = ", ".join(self._result(value, inner) for value in graph.outputs)
            rows.append(f"{margin}    {targets} = {results}")
        return rows

    def _loop(self, node: Node, inputs: Sequence[str], targets: str, place: Place) -> list[str]:
        margin = " " * place.indent
        graph = node["body"]
        assert isinstance(graph, Graph)
        count = len(graph.inputs) - 2
        free = place.variables.free
        index, going = free("step"), free("going")
        states = [free(identifier(value.name)) for value in list(graph.inputs)[2:]]
        rows = [f"{margin}{state} = {first}" for state, first in zip(states, inputs[2:], strict=True)]
        limit, condition = (
            inputs[place] if inputs[place : place + 1] not in ([], ["None"]) else "" for place in (0, 1)
        )
        rows.append(f"{margin}{going} = {condition or 'np.array(True)'}")
        collected = [free(f"{identifier(value.name)}s") for value in list(graph.outputs)[1 + count :]]
        rows += [f"{margin}{name} = []" for name in collected]
        rows.append(f"{margin}{index} = 0")
        tests = [f"{index} < {limit}"] * bool(limit) + [f"np.all({going})"] * bool(condition)  # else it is ignored
        rows.append(f"{margin}while {' and '.join(tests) or 'True'}:")
        inner = Place(place.scope, place.variables, one_text, place.indent + 4)
        first, second, *others = graph.inputs
        inner.scope[first], inner.scope[second] = f"np.array({index})", going
        inner.scope.update(zip(others, states, strict=True))
        rows += self._body.statements(graph, inner)
        results = [self._result(value, inner) for value in graph.outputs]
        rows += [
            f"{margin}    {name}.append({item})" for name, item in zip(collected, results[1 + count :], strict=True)
        ]
        carried = ", ".join([going, *states])
        rows += lines(labelled(f"{carried} = ", ", ".join(results[: 1 + count])), place.indent + 4)
        rows.append(f"{margin}    {index} += 1")
        empties = [_empty(value) for value in list(graph.outputs)[1 + count :]]
        stacked = [f"np.stack({name}) if {name} else {empty}" for name, empty in zip(collected, empties, strict=True)]
        finals = [*states, *(f"({item})" if len(states) + len(stacked) > 1 else item for item in stacked)]
        rows.append(f"{margin}{targets} = {', '.join(finals)}")
        return rows

    def _scan(self, node: Node, inputs: Sequence[str], targets: str, place: Place) -> list[str]:
        margin = " " * place.indent
        graph = node["body"]
        assert isinstance(graph, Graph)
        scanned: int = node.get("num_scan_inputs")
        count = len(graph.inputs) - scanned
        stacked = len(graph.outputs) - count
        axes = node.get("scan_input_axes") or (0,) * scanned
        backwards = node.get("scan_input_directions") or (0,) * scanned
        result_axes = node.get("scan_output_axes") or (0,) * stacked
        result_backwards = node.get("scan_output_directions") or (0,) * stacked
        free = place.variables.free
        index, length = free("step"), free("length")
        states = [free(identifier(value.name)) for value in list(graph.inputs)[:count]]
        rows = [f"{margin}{state} = {first}" for state, first in zip(states, inputs[:count], strict=True)]
        collected = [free(f"{identifier(value.name)}s") for value in list(graph.outputs)[count:]]
        rows += [f"{margin}{name} = []" for name in collected]
        rows.append(f"{margin}{length} = {inputs[count]}.shape[{axes[0]}]")
        rows.append(f"{margin}for {index} in range({length}):")
        inner = Place(place.scope, place.variables, one_text, place.indent + 4)
        inner.scope.update(zip(list(graph.inputs)[:count], states, strict=True))
        for value, source, axis, back in zip(list(graph.inputs)[count:], inputs[count:], axes, backwards, strict=True):
            variable = free(identifier(value.name))
            at = f"{length} - 1 - {index}" if back else index
            rows.append(f"{margin}    {variable} = np.take({source}, {at}, axis={axis})")
            inner.scope[value] = variable
        rows += self._body.statements(graph, inner)
        results = [self._result(value, inner) for value in graph.outputs]
        rows += [f"{margin}    {name}.append({item})" for name, item in zip(collected, results[count:], strict=True)]
        if states:
            rows.append(f"{margin}    {', '.join(states)} = {', '.join(results[:count])}")
        finals = list(states)
        for name, axis, back in zip(collected, result_axes, result_backwards, strict=True):
            finals.append(f"np.stack({name}{'[::-1]' if back else ''}{f', axis={axis}' if axis else ''})")
        rows.append(f"{margin}{targets} = {', '.join(finals)}")
        return rows

    def _sequence_map(self, node: Node, inputs: Sequence[str], targets: str, place: Place) -> list[str]:
        margin = " " * place.indent
        graph = node["body"]
        assert isinstance(graph, Graph)
        free = place.variables.free
        inner = Place(place.scope, place.variables, one_text, place.indent + 4)
        collected = [free(f"{identifier(value.name)}s") for value in graph.outputs]
        rows = [f"{margin}{name} = []" for name in collected]
        index = free("step")
        rows.append(f"{margin}for {index} in range(len({inputs[0]})):")
        for value, source, outer in zip(graph.inputs, inputs, node.inputs, strict=True):
            is_list = outer is node.inputs[0] or (outer is not None and isinstance(outer.type, SequenceType))
            inner.scope[value] = f"{source}[{index}]" if is_list else source
        rows += self._body.statements(graph, inner)
        results = [self._result(value, inner) for value in graph.outputs]
        rows += [f"{margin}    {name}.append({item})" for name, item in zip(collected, results, strict=True)]
        rows.append(f"{margin}{targets} = {', '.join(collected)}")
        return rows

    def _result(self, value: Value, place: Place) -> str:
        return place.scope.get(value) or flat(self._constant(value))

    # The program

    def _name_operators(self) -> None:
        """Take the definitions that are needed, before variables get names."""
        columns = [column for block in self._blocks_of_graph for column in zip(*block.instances, strict=True)]
        inside = {node for column in columns for node in column}
        alone = [(node,) for node in self._model.nodes() if node not in inside]
        for nodes in [*alone, *columns]:
            node = nodes[0]
            operator = standard().newest(node.domain, node.op_type)
            if operator is None or node.subgraphs or node.applies("Constant"):
                continue
            try:
                self._expression(nodes, operator, ["x"] * len(node.inputs))
            except (UnsupportedError, CheckError):
                continue

    def _main(self) -> list[str]:
        graph = self._model.graph
        name = self._module.free("run")
        variables = Variables(self._module)
        place = Place({}, variables, one_text, 4)
        parameters = []
        for value in graph.inputs:
            variable = variables.value(value.name, "x")
            place.scope[value] = variable
            parameters.append(variable if value.constant is None else f"{variable}={flat(self._constant(value))}")
        body = self._body.statements(graph, place, self._blocks_of_graph)
        results = [self._result(value, place) for value in graph.outputs]
        rows = lines(call(f"def {name}", *parameters), 0, ":")
        rows.append(f'    """What the model computes, by {len(graph)} nodes."""')
        return [*rows, *body, *returned(results, 4)]

    def _imports(self) -> list[str]:
        own = {"import json"} if self._weights.has_strings else set()
        if self._weights:
            own.add("from pathlib import Path")
        if self._weights.has_foreign or self._uses_foreign:
            own.add("import ml_dtypes")
        everything = {*self._bundle.imports, *own, "import numpy as np"}
        third = sorted(row for row in everything if row.split()[1].split(".")[0] in ("numpy", "ml_dtypes"))
        first = sorted((row for row in everything if row not in third), key=lambda row: (row.startswith("from"), row))
        third.sort(key=lambda row: (row.startswith("from"), row))
        return [*first, "", *third] if first else third


def _written_for_all(nodes: Sequence[Node]) -> Callable[..., Any] | None:
    """The function of the prelude that computes each of some nodes; None where their definition has to."""
    functions = {written_for(node) for node in nodes}
    return functions.pop() if len(functions) == 1 else None


def _gives_one_array(nodes: Sequence[Node]) -> bool:
    """Whether a call gives one array, whatever the operator has for results: the prelude's BatchNormalization does."""
    return nodes[0].applies("BatchNormalization") and _written_for_all(nodes) is not None


def _empty(value: Value) -> str:
    """Nothing of a value, stacked: what a loop that never runs collects."""
    if not isinstance(value.type, TensorType):
        return "np.zeros(0)"
    shape = ", ".join(str(size) if isinstance(size, int) else "0" for size in value.type.shape or ())
    return f"np.zeros((0, {shape}), {numpy_name(value.type.dtype)})"


_CONTROL: dict[str, Callable[[NumpyStyle, Node, Sequence[str], str, Place], list[str]]] = {
    "If": NumpyStyle._if,
    "Loop": NumpyStyle._loop,
    "Scan": NumpyStyle._scan,
    "SequenceMap": NumpyStyle._sequence_map,
}
