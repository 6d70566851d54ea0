"""Models with one construct each, and who gets them back through ONNX's textual syntax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

TEXT = """
<ir_version: 8, opset_import: ["" : 18, "d.e": 1], producer_name: "p", producer_version: "2", domain: "d",
 model_version: 3, doc_string: "a \\"b\\" \\\\", metadata_props: ["k": "v"]>  # a comment
agraph (float[N, "M+N", 3, ?] x, seq(map(int64, optional(float[]))) s, float[2] d = {1, -2.5e-3}) => (float[N] y)
<float[3] w = {1, nan, -inf}, int4[3] q = {33, 3}, string[1] t = {"}"}, float z>
{
  [n1] z = d.e.Foo:ov <a: int = 1, b = [1.5, 2], c: strings = [], t = float {3}, p = seq(float), r = "s",
                       e = int8[1] nm = ["location": "f", "offset": "4"]> (x, , w)
  y, = If (z) <then_branch = g1 () => (k) <float i = {1}> { k = Add (x, i) }, else_branch = g2 => (l) { l = Neg(y) }>
  = Bar ()
}
<domain: "d.e", opset_import: ["": 18], overload: "ov", doc_string: "x">
Foo <a, q: float = 1.5, c = [1]> (float[3] i, j) => (float o) <float k> {
  k = Neg <alpha: float = @q> (i) o = Add (k, j)
}
"""
"""A model that uses all of the syntax."""


class Verdict(NamedTuple):
    """Who gets a model back through text: onnx from its own, onnx from ingot's, ingot from its own."""

    onnx: bool
    onnx_from_ingot: bool
    ingot: bool


ODD = 'a b."\\\n'
"""A name that only quotes and escapes can say."""

ALL = Verdict(True, True, True)
UNPRINTED = Verdict(False, True, True)
"""onnx prints something that it cannot read, or nothing; ingot prints what onnx reads."""
UNREAD = Verdict(False, False, True)
"""onnx reads none of it."""
UNSAID = Verdict(False, False, False)
"""The syntax has no words for it."""


def plain() -> ModelProto:
    """A model that goes through text whole: one node, from x to y."""
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Op", ["x"], ["y"], domain="my")], "g", types[:1], types[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)])


def with_attribute(value: Any, name: str = "a", kind: int | None = None) -> ModelProto:
    model = plain()
    model.graph.node[0].attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return model


def with_tensor(dtype: int, values: list[Any]) -> ModelProto:
    model = with_attribute(helper.make_tensor("t", dtype, [len(values)], values))
    model.graph.initializer.append(helper.make_tensor("w", dtype, [len(values)], values))
    return model


def with_graph(name: str) -> ModelProto:
    return with_attribute(onnx.GraphProto(name=name))


def with_input(**fields: Any) -> ModelProto:
    model = plain()
    model.graph.input.append(onnx.ValueInfoProto(name="extra", type=onnx.TypeProto(**fields)))
    return model


def with_function(**fields: Any) -> ModelProto:
    model = plain()
    node = helper.make_node("Identity", ["a"], ["b"])
    imports = [helper.make_opsetid("", 17)]
    model.functions.append(
        onnx.FunctionProto(
            **{"name": "F", "domain": "my", "input": ["a"], "output": ["b"], "node": [node], "opset_import": imports}
            | fields
        )
    )
    return model


def changed(change: Callable[[ModelProto], Any]) -> ModelProto:
    model = plain()
    change(model)
    return model


def external(name: str) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "w.bin", "offset": "4096", "length": "12", "other": "x"}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def sparse() -> onnx.SparseTensorProto:
    values = numpy_helper.from_array(np.ones(1, np.float32), "s")
    return onnx.SparseTensorProto(values=values, indices=numpy_helper.from_array(np.zeros(1, np.int64)), dims=[3])


def strange_nan() -> TensorProto:
    return numpy_helper.from_array(np.array([0x7FC00001], np.uint32).view(np.float32), "t")


def metadata() -> list[onnx.StringStringEntryProto]:
    return [onnx.StringStringEntryProto(key="k", value="v")]


def with_reference(name: str) -> ModelProto:
    attribute = AttributeProto(name="r", type=AttributeProto.FLOAT, ref_attr_name=name)
    node = helper.make_node("Identity", ["a"], ["b"])
    node.attribute.append(attribute)
    return with_function(node=[node], attribute=["alpha"])


def _shaped(name: str, **fields: str) -> onnx.TypeProto.Tensor:
    dim = onnx.TensorShapeProto.Dimension(dim_param=name, **fields)
    return onnx.TypeProto.Tensor(elem_type=1, shape=onnx.TensorShapeProto(dim=[dim]))


def _name_like_a_type(model: ModelProto) -> None:
    model.graph.input.add(name="float")


def _odd_inputs(model: ModelProto) -> None:
    model.graph.node[0].input.extend([ODD, "", "9"])
    for name in (ODD, "9"):
        model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]))


def _odd_domain(model: ModelProto) -> None:
    model.graph.node[0].domain = "com.my-company..x"
    model.opset_import.add(domain="com.my-company..x", version=1)


def _documented_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("a", 1, doc_string="d"))


CONSTRUCTS: dict[str, tuple[Callable[[], ModelProto], Verdict]] = {
    "a plain model": (plain, ALL),
    "an infinite float": (lambda: with_attribute(float("-inf")), ALL),
    "floats with NaN": (lambda: with_attribute([float("nan"), -float("nan"), 1e-45, 0.1, -0.0]), ALL),
    "the largest integers": (lambda: with_attribute([(1 << 63) - 1, -(1 << 63)]), ALL),
    "a string of odd characters": (lambda: with_attribute(ODD + "é\r\n\t#"), ALL),
    "an empty list of ints": (lambda: with_attribute([], kind=AttributeProto.INTS), ALL),
    "a type": (lambda: with_attribute(helper.make_tensor_type_proto(TensorProto.INT2, [None, 2, "n"])), ALL),
    "float16 elements": (lambda: with_tensor(TensorProto.FLOAT16, [0.1, float("nan")]), ALL),
    "bfloat16 elements": (lambda: with_tensor(TensorProto.BFLOAT16, [0.1, float("-inf")]), ALL),
    "float8 elements": (lambda: with_tensor(TensorProto.FLOAT8E8M0, [2.0, 4.0]), ALL),
    "uint64 elements": (lambda: with_tensor(TensorProto.UINT64, [(1 << 64) - 1, 0]), ALL),
    "bool elements": (lambda: with_tensor(TensorProto.BOOL, [True, False]), ALL),
    "string elements": (lambda: with_tensor(TensorProto.STRING, [ODD.encode(), b""]), ALL),
    "double elements": (lambda: with_tensor(TensorProto.DOUBLE, [0.1, 5e-324, float("nan")]), ALL),
    "external data": (lambda: changed(lambda model: model.graph.initializer.append(external("w"))), ALL),
    "odd names of values": (lambda: changed(_odd_inputs), ALL),
    "an odd name of a node": (lambda: changed(lambda model: setattr(model.graph.node[0], "name", ODD)), ALL),
    "an odd name of a graph": (lambda: changed(lambda model: setattr(model.graph, "name", "inf b")), ALL),
    "an odd name of a size": (lambda: with_input(tensor_type=_shaped("a/b")), ALL),
    "an expression of sizes": (lambda: with_input(tensor_type=_shaped("2*n + 1")), ALL),
    "unknown rank": (lambda: with_input(tensor_type=onnx.TypeProto.Tensor(elem_type=1)), ALL),
    "an opaque type": (lambda: with_input(opaque_type=onnx.TypeProto.Opaque(domain="a.b", name="c")), ALL),
    "a node with an overload": (lambda: changed(lambda model: setattr(model.graph.node[0], "overload", "o")), ALL),
    "a function with an overload": (lambda: with_function(overload=ODD), ALL),
    "a function with an odd name": (lambda: with_function(name=ODD, domain=ODD), ALL),
    "metadata of the model": (lambda: changed(lambda model: model.metadata_props.add(key=ODD, value=ODD)), ALL),
    "a doc string of the model": (lambda: changed(lambda model: setattr(model, "doc_string", ODD)), ALL),
    # what onnx prints wrongly or not at all
    "an empty list of strings": (lambda: with_attribute([], kind=AttributeProto.STRINGS), UNPRINTED),
    "no string elements": (lambda: with_tensor(TensorProto.STRING, []), UNPRINTED),
    "complex elements": (lambda: with_tensor(TensorProto.COMPLEX64, [1 + 2j, -3j]), UNPRINTED),
    "double complex elements": (lambda: with_tensor(TensorProto.COMPLEX128, [0.1 + 2j]), UNPRINTED),
    "int4 elements": (lambda: with_tensor(TensorProto.INT4, [-8, 7, 1]), UNPRINTED),
    "uint4 elements": (lambda: with_tensor(TensorProto.UINT4, [15]), UNPRINTED),
    "int2 elements": (lambda: with_tensor(TensorProto.INT2, [-2, 1, 0, 1, -1]), UNPRINTED),
    "uint2 elements": (lambda: with_tensor(TensorProto.UINT2, [3, 1]), UNPRINTED),
    "float4 elements": (lambda: with_tensor(TensorProto.FLOAT4E2M1, [0.5, -6.0, 1.0]), UNPRINTED),
    "float6 elements": (lambda: with_tensor(TensorProto.FLOAT6E2M3, [0.125, -1.0, 7.5]), UNPRINTED),
    "other float6 elements": (lambda: with_tensor(TensorProto.FLOAT6E3M2, [0.25, -1.0]), UNPRINTED),
    "external data without a name": (lambda: with_attribute(external("")), UNPRINTED),
    "a reference to an odd name": (lambda: with_reference(ODD), UNPRINTED),
    "a value without a type, named like one": (lambda: changed(_name_like_a_type), UNPRINTED),
    "an odd name of a function's attribute": (lambda: with_function(attribute=[ODD]), UNPRINTED),
    "a doc string of a function": (lambda: with_function(doc_string=ODD), UNPRINTED),
    "a default of a function": (
        lambda: with_function(attribute=["a"], attribute_proto=[helper.make_attribute(ODD, [1.5])]),
        UNPRINTED,
    ),
    "types in a function": (
        lambda: with_function(value_info=[helper.make_tensor_value_info(name, 1, ["n"]) for name in "ab"]),
        UNPRINTED,
    ),
    # what onnx's parser cannot read, though ingot's can
    "an odd name of a tensor": (lambda: with_attribute(helper.make_tensor("a.b", 1, [1], [1.0])), UNREAD),
    "an odd name of a subgraph": (lambda: with_graph("a.b"), UNREAD),
    "an empty name of a subgraph": (lambda: with_graph(""), UNREAD),
    "a subgraph named like a float": (lambda: with_graph("inf_body"), UNREAD),
    "a subgraph named like a type": (lambda: with_graph("optional"), UNREAD),
    "an odd name of an attribute": (lambda: with_attribute(1, "a b"), UNREAD),
    "an odd operator": (lambda: changed(lambda model: setattr(model.graph.node[0], "op_type", "a.b")), UNREAD),
    "an odd domain": (lambda: changed(_odd_domain), UNREAD),
    "an odd overload": (lambda: changed(lambda model: setattr(model.graph.node[0], "overload", "a b")), UNREAD),
    "a NUL": (lambda: with_attribute("a\0b"), UNREAD),
    "a NUL in an element": (lambda: with_attribute(TensorProto(data_type=8, dims=[1], string_data=[b"\0"])), UNREAD),
    "tensors": (lambda: with_attribute([helper.make_tensor("", 1, [1], [1.0])] * 2), UNREAD),
    "graphs": (lambda: with_attribute([onnx.GraphProto(name="g1")] * 2), UNREAD),
    "types": (lambda: with_attribute([helper.make_tensor_type_proto(1, [])] * 2), UNREAD),
    "an undefined element type": (lambda: with_input(tensor_type=onnx.TypeProto.Tensor(elem_type=0)), UNREAD),
    "a sequence of what is open": (lambda: with_input(sequence_type=onnx.TypeProto.Sequence()), UNREAD),
    "an optional of what is open": (lambda: with_input(optional_type=onnx.TypeProto.Optional()), UNREAD),
    "a map to what is open": (lambda: with_input(map_type=onnx.TypeProto.Map(key_type=7)), UNREAD),
    "an odd opaque type": (lambda: with_input(opaque_type=onnx.TypeProto.Opaque(domain="a", name="b.c")), UNREAD),
    # what the syntax cannot say
    "bytes that are not text": (lambda: with_attribute(b"\xff"), UNSAID),
    "elements that are not text": (lambda: with_tensor(TensorProto.STRING, [b"\xff"]), UNSAID),
    "the payload of a NaN": (lambda: with_attribute(strange_nan()), UNSAID),
    "a sparse tensor": (lambda: with_attribute(sparse()), UNSAID),
    "sparse tensors": (lambda: with_attribute([sparse()]), UNSAID),
    "a sparse initialiser": (lambda: changed(lambda model: model.graph.sparse_initializer.append(sparse())), UNSAID),
    "a doc string of a graph": (lambda: changed(lambda model: setattr(model.graph, "doc_string", "d")), UNSAID),
    "a doc string of a node": (lambda: changed(lambda model: setattr(model.graph.node[0], "doc_string", "d")), UNSAID),
    "a doc string of a value": (
        lambda: changed(lambda model: setattr(model.graph.input[0], "doc_string", "d")),
        UNSAID,
    ),
    "a doc string of a tensor": (lambda: with_attribute(TensorProto(data_type=1, dims=[0], doc_string="d")), UNSAID),
    "a doc string of an attribute": (lambda: changed(_documented_attribute), UNSAID),
    "metadata of a graph": (lambda: changed(lambda model: model.graph.metadata_props.extend(metadata())), UNSAID),
    "metadata of a node": (
        lambda: changed(lambda model: model.graph.node[0].metadata_props.extend(metadata())),
        UNSAID,
    ),
    "metadata of a value": (
        lambda: changed(lambda model: model.graph.input[0].metadata_props.extend(metadata())),
        UNSAID,
    ),
    "metadata of a tensor": (
        lambda: with_attribute(TensorProto(data_type=1, dims=[0], metadata_props=metadata())),
        UNSAID,
    ),
    "metadata of a function": (lambda: with_function(metadata_props=metadata()), UNSAID),
    "the denotation of a type": (lambda: with_input(denotation="IMAGE", tensor_type=_shaped("n")), UNSAID),
    "the denotation of an axis": (lambda: with_input(tensor_type=_shaped("n", denotation="DATA_BATCH")), UNSAID),
    "quantisation annotations": (
        lambda: changed(lambda model: model.graph.quantization_annotation.add(tensor_name="x")),
        UNSAID,
    ),
    "training": (lambda: changed(lambda model: model.training_info.add(algorithm=onnx.GraphProto(name="a"))), UNSAID),
    "device configurations": (lambda: changed(lambda model: model.configuration.add(name="c", num_devices=2)), UNSAID),
    "device configurations of a node": (
        lambda: changed(lambda model: model.graph.node[0].device_configurations.add(configuration_id="c")),
        UNSAID,
    ),
}
"""Every construct that one of the two tools has trouble with, and some that none has."""
