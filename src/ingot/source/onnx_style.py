"""A model as a program that builds it with `onnx.helper`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.format.encode_types import encode_type
from ingot.ir.attribute import Attribute, AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Function, Model
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type
from ingot.ir.value import Value
from ingot.source.body import BlockFunction, Body, Place, one_text
from ingot.source.layout import Expression, call, labelled, lines, listed, mapping, tupled
from ingot.source.literals import INLINE_ITEMS, elements, float32, is_of_numpy, items, numpy_name, plain, quoted
from ingot.source.notes import Notes, notes_of, written_notes
from ingot.source.onnx_helpers import ANNOTATE, NODE, SUBGRAPH
from ingot.source.program import Program, heading, load_function, returned
from ingot.source.repeats import is_weight, repeated_blocks
from ingot.source.variables import Variables, identifier, is_identifier
from ingot.source.weights import Weights

_RESERVED = frozenset(
    {"Path", "TensorProto", "annotate", "graphs_of", "helper", "json", "make_model", "ml_dtypes", "node", "note", "np"}
    | {"numpy_helper", "onnx", "subgraph", "sys", "weights", "written", "i", "j", "k", "place"}
    | {"graph", "model", "notes"}
)
"""What a program imports, defines, or calls something inside of the function that makes the model."""
_OF_NODES = frozenset({"op_type", "inputs", "outputs", "name", "domain", "overload", "attributes", "others"})
_ELEMENTS = {DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}


class OnnxStyle:
    """The dialect of `onnx.helper`, in which a value is its name, and the parts of its program."""

    def __init__(self, model: Model, weights: Weights, weights_name: str) -> None:
        _refuse(model)
        self._model = model
        self._weights = weights
        self._weights_name = weights_name
        self._module = Variables(reserved=_RESERVED)
        self._blocks: list[list[str]] = []
        self._tables: list[list[str]] = []
        self._body = Body(self, self._module)
        self._blocks_of_graph = repeated_blocks(model.graph)
        self._uses_json = False
        self._has_subgraphs = any(node.subgraphs for node in model.nodes())

    def text(self) -> str:
        """The program."""
        for value in self._model.graph.initializers.values():
            if isinstance(value.constant, Tensor) and elements(value.constant) is None:
                self._weights.key(value.constant, value.name)
        functions = [self._function(function) for function in self._model.functions.values()]
        name, graph_rows = self._main()
        notes = notes_of(self._model)
        making = self._making(name, [function_name for function_name, _ in functions], notes)
        program = Program(heading(self._model, "built with onnx.helper", self._weights_name if self._weights else None))
        program.add_imports(self._imports())
        if self._weights:
            program.add(*load_function(self._weights, self._weights_name))
        for rows in self._tables:
            program.add(*rows)
        program.add("written = [[]]  # the nodes of the graphs that are being written, innermost last")
        program.add(NODE, spaced=True)
        if self._has_subgraphs:
            program.add(SUBGRAPH, spaced=True)
        if notes:
            for text in ANNOTATE:
                program.add(text, spaced=True)
        for rows in (*(rows for _, rows in functions), *self._blocks, graph_rows, *making):
            program.add(*rows, spaced=True)
        return program.text()

    def node(self, nodes: Sequence[Node], inputs: Sequence[Expression], targets: str, place: Place) -> list[str]:
        node = nodes[0]
        rows: list[str] = []
        attributes = [self._attribute(attribute, place, rows) for attribute in node.attributes.values()]
        by_keyword = all(keyword is not None for keyword, _ in attributes)
        shown: list[Expression] = ['""' if item == "None" else item for item in inputs]
        results: list[Expression] = [
            place.text([one.outputs[index].name for one in nodes], "result") for index in range(len(node.outputs))
        ]
        arguments: list[Expression] = [quoted(node.op_type), listed(shown), listed(results)]
        for (keyword, payload), attribute in zip(attributes, node.attributes.values(), strict=True):
            if by_keyword:
                arguments.append(labelled(f"{keyword}=", payload))
            else:
                arguments.append(payload if keyword is None else _attribute_call(attribute.name, payload))
        if node.name:
            arguments.append(f"name={place.text([one.name for one in nodes], 'node')}")
        if node.domain:
            arguments.append(f"domain={quoted(node.domain)}")
        if node.overload:
            arguments.append(f"overload={quoted(node.overload)}")
        if len(node.outputs) == 1 and targets == "_":
            targets = ""
        return rows + lines(labelled(f"{targets} = " if targets else "", call("node", *arguments)), place.indent)

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        return place.text([value.name for value in values], "weight")

    def block(self, block: BlockFunction) -> None:
        self._blocks.append(block.lines)
        if block.tables:
            pairs: list[tuple[str, Expression]] = [
                (quoted(key), tupled(list(map(quoted, texts)))) for key, texts in block.tables.items()
            ]
            self._tables.append(lines(labelled(f"{block.table} = ", mapping(pairs))))

    # Values and types

    def _array(self, tensor: Tensor, name: str | None = None) -> Expression:
        """The array of a tensor: small ones as literals, others from the file of weights."""
        literal = elements(tensor)
        if literal is None or (not is_of_numpy(tensor.dtype) and tensor.dtype is not DType.STRING):
            return f"weights[{quoted(self._weights.key(tensor, name))}]"
        if tensor.dtype is DType.STRING:
            return call("np.array", literal, "object")
        if tensor.dtype in (DType.INT64, DType.BOOL, DType.FLOAT64) and tensor.size:
            return call("np.array", literal)
        return call("np.array", literal, numpy_name(tensor.dtype))

    def _tensor(self, tensor: Tensor, name: str) -> Expression:
        named = [quoted(name)] if name else []
        return call("numpy_helper.from_array", self._array(tensor), *named)

    def _sparse(self, sparse: SparseTensor, name: str) -> Expression:
        values, indices = self._tensor(sparse.values, name), self._tensor(sparse.indices, sparse.indices.name)
        return call("helper.make_sparse_tensor", values, indices, str(list(sparse.shape)))

    def _type(self, type_: Type) -> Expression:
        match type_:
            case TensorType(denotation="", axis_denotations=()) if type_.dtype is not DType.UNDEFINED:
                return call("helper.make_tensor_type_proto", _element(type_.dtype), _shape(type_))
            case SequenceType(denotation="") if type_.element is not None:
                return call("helper.make_sequence_type_proto", self._type(type_.element))
            case OptionalType(denotation="") if type_.element is not None:
                return call("helper.make_optional_type_proto", self._type(type_.element))
        return f"onnx.TypeProto.FromString({quoted(encode_type(type_))})"

    def _info(self, value: Value) -> Expression:
        type_ = value.type
        if type_ is None:
            return f"onnx.ValueInfoProto(name={quoted(value.name)})"
        if isinstance(type_, TensorType) and not (type_.denotation or type_.axis_denotations) and type_.dtype:
            return call("helper.make_tensor_value_info", quoted(value.name), _element(type_.dtype), _shape(type_))
        return call("helper.make_value_info", quoted(value.name), self._type(type_))

    # Attributes

    def _attribute(self, attribute: Attribute, place: Place, rows: list[str]) -> tuple[str | None, Expression]:
        """The keyword of an attribute, and its payload; no keyword where the payload is the whole attribute."""
        name, kind = attribute.name, attribute.kind
        if attribute.ref:
            kind_name = f"onnx.AttributeProto.{kind.name}"
            arguments = f"name={quoted(name)}, type={kind_name}, ref_attr_name={quoted(attribute.ref)}"
            return None, f"onnx.AttributeProto({arguments})"
        if attribute.graphs:
            graphs: list[Expression] = []
            for graph in attribute.graphs:
                variable = place.variables.free(identifier(name))
                rows += self._subgraph(graph, variable, place)
                graphs.append(variable)
            payload: Expression = listed(graphs) if kind.is_list else graphs[0]
        else:
            payload = self._payload(attribute)
        if attribute.doc_string or (kind.is_list and not attribute.value):
            doc = [f"doc_string={quoted(attribute.doc_string)}"] if attribute.doc_string else []
            kind_name = f"attr_type=onnx.AttributeProto.{kind.name}"
            return None, call("helper.make_attribute", quoted(name), payload, *doc, kind_name)
        if not is_identifier(name) or name in _OF_NODES:
            return None, _attribute_call(name, payload)
        return name, payload

    def _payload(self, attribute: Attribute) -> Expression:
        value: Any = attribute.value
        literal = plain(attribute)
        if literal is not None:
            return literal
        match attribute.kind:
            case AttributeKind.TENSOR:
                return self._tensor(value, value.name)
            case AttributeKind.SPARSE_TENSOR:
                return self._sparse(value, value.values.name)
            case AttributeKind.TYPE:
                return self._type(value)
            case AttributeKind.TENSORS:
                return listed([self._tensor(item, item.name) for item in value])
            case AttributeKind.SPARSE_TENSORS:
                return listed([self._sparse(item, item.values.name) for item in value])
            case AttributeKind.TYPES:
                return listed([self._type(item) for item in value])
        if len(value) > INLINE_ITEMS and not any(isinstance(item, bytes) for item in value):
            return f"weights[{quoted(self._weights.list_key(value))}].tolist()"
        if attribute.kind is AttributeKind.FLOATS:
            return listed([float32(item) for item in value])
        return listed(items(value))

    # Graphs

    def _subgraph(self, graph: Graph, name: str, place: Place) -> list[str]:
        inner = place.inner()
        inner = Place(inner.scope, inner.variables, one_text, inner.indent)
        function = place.variables.free(f"write_{name}")
        parameters = []
        for value in graph.inputs:
            parameters.append(inner.variables.value(value.name, "x"))
            inner.scope[value] = parameters[-1]
        body = self._body.statements(graph, inner)
        results = [inner.scope.get(value) or quoted(value.name) for value in graph.outputs]
        body += returned(results, inner.indent) or [" " * inner.indent + "pass"]
        rows = ["", *lines(call(f"def {function}", *parameters), place.indent, ":"), *body, ""]
        arguments = [quoted(graph.name), *self._signature(graph), function, *self._parts(graph)]
        return rows + lines(labelled(f"{name} = ", call("subgraph", *arguments)), place.indent)

    def _signature(self, graph: Graph) -> list[Expression]:
        results: list[Expression] = []
        for value in graph.outputs:
            own = value.graph is graph and value.producer is not None
            results.append(self._info(value) if own else f"onnx.ValueInfoProto(name={quoted(value.name)})")
        return [listed([self._info(value) for value in graph.inputs]), listed(results)]

    def _parts(self, graph: Graph, *, main: bool = False) -> list[Expression]:
        """Keyword arguments of make_graph for constants and types."""
        parts: list[Expression] = []
        dense: list[Expression] = []
        sparse: list[Expression] = []
        for value in graph.initializers.values():
            if isinstance(value.constant, SparseTensor):
                sparse.append(self._sparse(value.constant, value.name))
            elif value.constant is not None and not (main and self._is_by_name(value)):
                dense.append(self._tensor(value.constant, value.name))
        if main and any(self._is_by_name(value) for value in graph.initializers.values()):
            named = "name, array in weights.items()" + (' if name[0] != "@"' if self._has_unnamed() else "")
            loaded = f"*(numpy_helper.from_array(array, name) for {named})"
            dense.insert(0, loaded)
        if dense:
            parts.append(labelled("initializer=", listed(dense)))
        if sparse:
            parts.append(labelled("sparse_initializer=", listed(sparse)))
        infos = self._infos(graph)
        if infos:
            parts.append(labelled("value_info=", listed(infos)))
        return parts

    def _infos(self, graph: Graph) -> list[Expression]:
        returned = set(graph.outputs)
        values = (value for node in graph.nodes for value in node.outputs if value.name)
        return [
            self._info(value)
            for value in values
            if value not in returned and (value.type is not None or value.doc_string or value.metadata_if_any)
        ]

    def _is_by_name(self, value: Value) -> bool:
        return (
            isinstance(value.constant, Tensor)
            and self._weights.has(value.constant)
            and (self._weights.key(value.constant) == value.name)
        )

    def _has_unnamed(self) -> bool:
        return any(name.startswith("@") for name in self._weights.names)

    def _function(self, function: Function) -> tuple[str, list[str]]:
        graph = function.graph
        name = self._module.free(identifier(function.name))
        place = Place({}, Variables(self._module), one_text, 4)
        for value in graph.inputs:
            place.scope[value] = quoted(value.name)
        rows = [f"def {name}():", '    """A function of the model."""']
        body = self._body.statements(graph, place)
        rows += ["    written.append([])", *body]
        imports: list[Expression] = [
            call("helper.make_opsetid", quoted(domain), str(version))
            for domain, version in function.opset_imports.items()
        ]
        required: list[Expression] = [quoted(key) for key, item in function.attributes.items() if item is None]
        defaults: list[Expression] = []
        for item in function.attributes.values():
            if item is not None:
                keyword, payload = self._attribute(item, place, rows)
                defaults.append(payload if keyword is None else _attribute_call(item.name, payload))
        arguments: list[Expression] = [
            quoted(function.domain),
            quoted(function.name),
            listed([quoted(text) for text in graph.inputs.names]),
            listed([quoted(text) for text in graph.outputs.names]),
            "written.pop()",
            listed(imports),
            listed(required),
            listed(defaults),
            f"doc_string={quoted(function.doc_string)}" if function.doc_string else "doc_string=None",
        ]
        if function.overload:
            arguments.append(f"overload={quoted(function.overload)}")
        typed: list[Expression] = [self._info(value) for value in graph.values() if value.type is not None]
        if typed:
            arguments.append(labelled("value_info=", listed(typed)))
        rows += lines(labelled("return ", call("helper.make_function", *arguments)), 4)
        return name, rows

    def _main(self) -> tuple[str, list[str]]:
        graph = self._model.graph
        name = self._module.free(identifier(graph.name or "graph"))
        variables = Variables(self._module)
        place = Place({}, variables, one_text, 4)
        parameters = []
        for value in graph.inputs:
            if not is_weight(value):
                parameters.append(variables.value(value.name, "x"))
                place.scope[value] = parameters[-1]
        body = self._body.statements(graph, place, self._blocks_of_graph)
        rows = lines(call(f"def {name}", *parameters), 0, ":")
        counted = f"{len(graph)} node{'s' if len(graph) != 1 else ''}"
        results = [place.scope.get(value) or quoted(value.name) for value in graph.outputs]
        return name, [*rows, f'    """The nodes of the model: {counted}."""', *body, *returned(results, 4)]

    # The model

    def _making(self, name: str, functions: list[str], notes: Notes) -> list[list[str]]:
        model, graph = self._model, self._model.graph
        noted = self._noted(notes)
        rows = ["def make_model() -> onnx.ModelProto:", '    """The model, built anew."""']
        arguments = [quoted(value.name) for value in graph.inputs if not is_weight(value)]
        rows.append("    written[:] = [[]]")
        rows += lines(call(name, *arguments), 4)
        parts = self._parts(graph, main=True)
        graph_call = call("helper.make_graph", "written[0]", quoted(graph.name), *self._signature(graph), *parts)
        rows += lines(labelled("graph = ", graph_call), 4)
        imports: list[Expression] = [
            call("helper.make_opsetid", quoted(domain), str(version)) for domain, version in model.opset_imports.items()
        ]
        keywords: list[Expression] = [labelled("opset_imports=", listed(imports)), f"ir_version={model.ir_version}"]
        fields = ("producer_name", "producer_version", "domain", "doc_string")
        keywords += [f"{field}={quoted(getattr(model, field))}" for field in fields if getattr(model, field)]
        if model.model_version:
            keywords.append(f"model_version={model.model_version}")
        if functions:
            keywords.append(labelled("functions=", listed([f"{function}()" for function in functions])))
        rows += lines(labelled("model = ", call("helper.make_model", "graph", *keywords)), 4)
        if model.metadata:
            pairs: list[tuple[str, Expression]] = [(quoted(k), quoted(v)) for k, v in model.metadata.items()]
            rows += lines(call("helper.set_model_props", "model", mapping(pairs)), 4)
        rows += [*noted, "    return model"]
        output = quoted(self._weights_name.removesuffix(".npz") + ".onnx")
        ending = [
            'if __name__ == "__main__":',
            f"    onnx.save(make_model(), sys.argv[1] if len(sys.argv) > 1 else {output})",
        ]
        return [rows, ending]

    def _noted(self, notes: Notes) -> list[str]:
        if not notes:
            return []
        if sum(map(len, notes.values())) <= 4:
            return lines(call("annotate", "model", written_notes(notes)), 4)
        self._uses_json = True
        texts = {kind: {str(number): texts for number, texts in entries.items()} for kind, entries in notes.items()}
        key = self._weights.key(Tensor(json.dumps(texts), "string"))
        return [
            f"    notes = json.loads(weights[{quoted(key)}].item())",
            "    annotate(model, {kind: {int(n): note for n, note in each.items()} for kind, each in notes.items()})",
        ]

    def _imports(self) -> list[str]:
        rows = ["import json"] if self._uses_json or self._weights.has_strings else []
        rows.append("import sys")
        if self._weights:
            rows.append("from pathlib import Path")
        third = ["import ml_dtypes"] if self._weights.has_foreign else []
        third += ["import numpy as np", "import onnx", "from onnx import TensorProto, helper, numpy_helper"]
        return [*rows, "", *third]


def _refuse(model: Model) -> None:
    """UnsupportedError for what `onnx.helper` has no words for."""
    kinds = {
        "device configurations": model.configurations or any(node.device_configurations for node in model.nodes()),
        "training information": model.training,
        "annotations of quantisation": any(graph.quantization for graph in model.graphs()),
    }
    present = [kind for kind, parts in kinds.items() if parts]
    if present:
        raise UnsupportedError(f"onnx.helper has no words for {' and '.join(present)}", hint="write it in style build")


def _attribute_call(name: str, payload: Expression) -> Expression:
    return call("helper.make_attribute", quoted(name), payload)


def _element(dtype: DType) -> str:
    return f"TensorProto.{_ELEMENTS.get(dtype, dtype.name)}"


def _shape(type_: TensorType) -> str:
    if type_.shape is None:
        return "None"
    sizes = [str(size) if size is None or isinstance(size, int) else quoted(str(size)) for size in type_.shape]
    return f"[{', '.join(sizes)}]"
