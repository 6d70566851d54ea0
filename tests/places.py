"""Every place of a model that can hold a tensor, so that a test can try one thing in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper

import ingot

Put = Callable[[onnx.ModelProto, TensorProto], None]


def plain_model() -> onnx.ModelProto:
    """One Relu and nothing else."""
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", types[:1], types[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def model_with(place: str, tensor: TensorProto) -> onnx.ModelProto:
    """A model that has `tensor`, of four int64, in the place of that name and nowhere else."""
    model = plain_model()
    PLACES[place](model, tensor)
    return model


def all_tensors(model: ingot.Model) -> Iterator[ingot.Tensor]:
    """Every dense tensor a model holds, those inside sparse ones and defaults of functions included."""
    for graph in model.graphs():
        yield from _graph_tensors(graph)
    for function in model.functions.values():
        for default in function.attributes.values():
            if default is not None:
                yield from _dense(default.tensors)
                for graph in default.graphs:
                    yield from _graph_tensors(graph)


def _graph_tensors(graph: ingot.Graph) -> Iterator[ingot.Tensor]:
    yield from _dense(tuple(value.constant for value in graph.initializers.values() if value.constant is not None))
    for node in graph:
        for attribute in node.attributes.values():
            yield from _dense(attribute.tensors)


def _dense(tensors: tuple[ingot.Tensor | ingot.SparseTensor, ...]) -> Iterator[ingot.Tensor]:
    for tensor in tensors:
        if isinstance(tensor, ingot.SparseTensor):
            yield from (tensor.values, tensor.indices)
        else:
            yield tensor


def _constant(tensor: TensorProto) -> NodeProto:
    return helper.make_node("Constant", [], ["c"], name="constant", value=tensor)


def _with_attribute(kind: AttributeProto.AttributeType, name: str) -> tuple[NodeProto, AttributeProto]:
    node = helper.make_node("Custom", [], ["d"], name="custom", domain="my")
    attribute = node.attribute.add(name=name)
    attribute.type = kind
    return node, attribute


def _other(tensor: TensorProto) -> TensorProto:
    """A partner for a sparse tensor's values or indices."""
    return helper.make_tensor("other", TensorProto.INT64, list(tensor.dims), range(tensor.dims[0]))


def _sparse(tensor: TensorProto, role: str) -> onnx.SparseTensorProto:
    sparse = onnx.SparseTensorProto(dims=[100])
    sparse.values.CopyFrom(tensor if role == "values" else _other(tensor))
    sparse.indices.CopyFrom(tensor if role == "indices" else _other(tensor))
    return sparse


def _subgraph(tensor: TensorProto, *, as_attribute: bool) -> GraphProto:
    graph = GraphProto(name="inner")
    if as_attribute:
        graph.node.append(_constant(tensor))
    else:
        graph.initializer.append(tensor)
    return graph


def _holding(graph: GraphProto) -> NodeProto:
    node, attribute = _with_attribute(AttributeProto.GRAPH, "body")
    attribute.g.CopyFrom(graph)
    return node


def _function(model: onnx.ModelProto) -> onnx.FunctionProto:
    function = model.functions.add(name="f", domain="my", input=["a"], output=["a"])
    function.opset_import.add(domain="", version=17)
    return function


def _initializer(model: onnx.ModelProto, tensor: TensorProto) -> None:
    model.graph.initializer.append(tensor)


def _attribute_tensor(model: onnx.ModelProto, tensor: TensorProto) -> None:
    model.graph.node.append(_constant(tensor))


def _attribute_tensors(model: onnx.ModelProto, tensor: TensorProto) -> None:
    node, attribute = _with_attribute(AttributeProto.TENSORS, "many")
    attribute.tensors.extend([_other(tensor), tensor])
    model.graph.node.append(node)


def _sparse_initializer(role: str) -> Put:
    def put(model: onnx.ModelProto, tensor: TensorProto) -> None:
        model.graph.sparse_initializer.append(_sparse(tensor, role))

    return put


def _sparse_attribute(role: str) -> Put:
    def put(model: onnx.ModelProto, tensor: TensorProto) -> None:
        node, attribute = _with_attribute(AttributeProto.SPARSE_TENSOR, "one")
        attribute.sparse_tensor.CopyFrom(_sparse(tensor, role))
        model.graph.node.append(node)

    return put


def _sparse_attribute_list(model: onnx.ModelProto, tensor: TensorProto) -> None:
    node, attribute = _with_attribute(AttributeProto.SPARSE_TENSORS, "many")
    attribute.sparse_tensors.append(_sparse(tensor, "values"))
    model.graph.node.append(node)


def _subgraph_initializer(model: onnx.ModelProto, tensor: TensorProto) -> None:
    model.graph.node.append(_holding(_subgraph(tensor, as_attribute=False)))


def _subgraph_attribute(model: onnx.ModelProto, tensor: TensorProto) -> None:
    model.graph.node.append(_holding(_subgraph(tensor, as_attribute=True)))


def _subgraph_list(model: onnx.ModelProto, tensor: TensorProto) -> None:
    node, attribute = _with_attribute(AttributeProto.GRAPHS, "bodies")
    attribute.graphs.append(_subgraph(tensor, as_attribute=False))
    model.graph.node.append(node)


def _function_attribute(model: onnx.ModelProto, tensor: TensorProto) -> None:
    _function(model).node.append(_constant(tensor))


def _function_subgraph(model: onnx.ModelProto, tensor: TensorProto) -> None:
    _function(model).node.append(_holding(_subgraph(tensor, as_attribute=False)))


def _function_default(model: onnx.ModelProto, tensor: TensorProto) -> None:
    _function(model).attribute_proto.append(_constant(tensor).attribute[0])


def _function_default_graph(model: onnx.ModelProto, tensor: TensorProto) -> None:
    _function(model).attribute_proto.append(_holding(_subgraph(tensor, as_attribute=False)).attribute[0])


def _training(graph: str, *, as_attribute: bool) -> Put:
    def put(model: onnx.ModelProto, tensor: TensorProto) -> None:
        getattr(model.training_info.add(), graph).CopyFrom(_subgraph(tensor, as_attribute=as_attribute))

    return put


PLACES: dict[str, Put] = {
    "initializer": _initializer,
    "attribute tensor": _attribute_tensor,
    "attribute tensors": _attribute_tensors,
    "sparse initializer values": _sparse_initializer("values"),
    "sparse initializer indices": _sparse_initializer("indices"),
    "sparse attribute values": _sparse_attribute("values"),
    "sparse attribute indices": _sparse_attribute("indices"),
    "sparse attribute list": _sparse_attribute_list,
    "subgraph initializer": _subgraph_initializer,
    "subgraph attribute": _subgraph_attribute,
    "subgraph list": _subgraph_list,
    "function node attribute": _function_attribute,
    "function subgraph initializer": _function_subgraph,
    "function attribute default": _function_default,
    "function attribute default graph": _function_default_graph,
    "training initialization": _training("initialization", as_attribute=False),
    "training algorithm": _training("algorithm", as_attribute=False),
    "training attribute": _training("algorithm", as_attribute=True),
}
