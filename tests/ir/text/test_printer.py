"""What the text looks like, and that its numbers are exact."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import numpy_helper, parser

from ingot.dims import from_param, symbol
from ingot.dtypes import Array, DType
from ingot.errors import ParseError, UnsupportedError
from ingot.ir import (
    Attribute,
    AttributeKind,
    External,
    Function,
    Graph,
    Model,
    Node,
    OpaqueType,
    SequenceType,
    Tensor,
    TensorType,
    Type,
    Value,
)
from ingot.ir.text import lost, parse_function, parse_graph, parse_model, parse_node, to_text

ROW = TensorType(DType.FLOAT32, (symbol("n"), 3))
TEXT = """<
  ir_version: 10,
  opset_import: ["" : 20, "my" : 1],
  producer_name: "ingot",
  doc_string: "two \\"words\\"",
  model_version: 3,
  metadata_props: ["author": "me"]
>
main (float[n, 3] x, bool c) => (float[n, 3] y)
  <
    float[3] w = {1.0, -0.5, 1e-07},
    float[n, 3] t
  >
{
  [add] t = Add (x, w)
  y = If (c) <then_branch: graph = then () => (float[n, 3] a)
      <
        int64[1] axes = {0}
      >
    {
      a = my.Twice <scale: float = 2.0, axes: ints = [0, 1]> (t, "", axes)
    }, else_branch: graph = "else/0" () => (float[n, 3] b) {
      b = Neg (t)
    }>
}
<
  domain: "my",
  opset_import: ["" : 20]
>
Twice <axes, scale: float = 1.5> (i, "of/j") => (o)
  <
    float[n, 3] i
  >
{
  o = Mul <s: float = @scale> (i, i)
}
"""


def test_a_model_is_one_node_a_line_with_subgraphs_indented() -> None:
    assert to_text(parse_model(TEXT)) == TEXT


def test_the_same_model_gives_the_same_text() -> None:
    model = parse_model(TEXT)
    assert to_text(model) == to_text(model.copy()) == to_text(model)


def test_graphs_functions_and_nodes_have_texts_of_their_own() -> None:
    model = parse_model(TEXT)
    function = next(iter(model.functions.values()))
    node = model.graph.nodes[1]
    assert to_text(model.graph) in TEXT
    assert to_text(function) in TEXT
    assert f"  {to_text(model.graph.nodes[0])}" in TEXT
    assert to_text(parse_graph(to_text(model.graph))) == to_text(model.graph)
    assert to_text(parse_function(to_text(function))) == to_text(function)
    assert to_text(parse_node(to_text(node))) == to_text(node)
    assert parser.parse_function(to_text(function)).attribute_proto[0].f == 1.5
    assert parser.parse_node(to_text(model.graph.nodes[0])).name == "add"
    assert parser.parse_graph(to_text(model.graph, portable=True)).node[1].attribute[1].g.name == "else_0"


def constant(values: Array, name: str = "w") -> Graph:
    return Graph(initializers=[Tensor(values, name=name)], name="g")


def test_more_elements_than_asked_for_are_left_out_with_a_mark() -> None:
    graph = constant(np.arange(17.0))
    assert "double[17] w = {...}" in to_text(graph)
    assert "16.0}" in to_text(graph, elide=17)
    assert "16.0}" in to_text(graph, elide=None)
    assert "{...}" in to_text(constant(np.zeros(1)), elide=0)
    assert "= {}" in to_text(constant(np.zeros(0)), elide=0)


def test_elements_left_out_are_read_by_nobody() -> None:
    text = to_text(constant(np.arange(17.0)))
    with pytest.raises(ParseError, match="is left out here") as caught:
        parse_graph(text)
    assert caught.value.hint is not None
    assert "elide=None" in caught.value.hint
    with pytest.raises(parser.ParseError):
        parser.parse_graph(text)


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.UNDEFINED], ids=str)
def test_elements_left_out_of_an_attribute_are_read_by_nobody(dtype: DType) -> None:
    node = Node("Op", attributes={"a": Tensor(np.zeros(2), dtype) if dtype is not DType.STRING else Tensor(["a", "b"])})
    text = to_text(node, elide=1)
    with pytest.raises(ParseError, match="is left out here"):
        parse_node(text)
    with pytest.raises(parser.ParseError):
        parser.parse_node(text)


def test_strict_text_leaves_no_elements_out() -> None:
    graph = constant(np.arange(17.0))
    with pytest.raises(UnsupportedError, match="more than 16, of tensor 'w'"):
        to_text(graph, strict=True)
    assert to_text(graph, elide=None, strict=True) == to_text(graph, elide=None)


def test_external_data_is_written_as_where_it_is_and_not_read() -> None:
    def load() -> Array:
        raise AssertionError("read")

    place = External("w.bin", offset=4, checksum="ff")
    tensor = Tensor.lazy(load, DType.FLOAT32, [1000], name="w", external=place)
    text = to_text(Graph(initializers=[tensor], name="g"), strict=True)
    assert 'float[1000] w = ["location": "w.bin", "offset": "4", "checksum": "ff"]' in text
    read = parse_graph(text).initializers["w"].constant
    assert isinstance(read, Tensor)
    assert read.external == place
    with pytest.raises(Exception, match="was read without"):
        read.numpy()


def test_elements_that_cannot_be_had_are_left_out() -> None:
    def load() -> Array:
        raise UnsupportedError("gone")

    graph = Graph(initializers=[Tensor.lazy(load, DType.FLOAT32, [1], name="w")], name="g")
    assert "float[1] w = {...}" in to_text(graph)
    assert lost(graph) == ["the elements (gone) of tensor 'w'"]


def test_names_are_quoted_where_they_would_read_as_something_else() -> None:
    x, y, z = Value("float"), Value("a.b", ROW), Value("undefined")
    node = Node("Op", [x, None, y, z], [Value(""), Value("_1")])
    text = to_text(Graph([x, y, z], node.outputs[1:], [node], name="9"))
    assert text == (
        '"9" ("float", float[n, 3] "a.b", "undefined") => (_1) {\n  "", _1 = Op ("float", "", "a.b", "undefined")\n}\n'
    )
    assert [value.name for value in parse_graph(text).inputs] == ["float", "a.b", "undefined"]
    assert [value.name for value in parser.parse_graph(text).input] == ["float", "a.b", "undefined"]


def test_two_values_of_one_name_are_a_link_that_text_cannot_say() -> None:
    first, second = Node("A", [], ["v"]), Node("B", [], ["v"])
    reader = Node("C", [second.output], ["y"])
    graph = Graph((), [reader.output], [first, second, reader], name="g")
    assert lost(graph) == ["the link to a value that shares its name or has none of node 'y'"]
    assert lost(Node("C", [Value()])) == ["the link to a value that shares its name or has none of node '<unnamed C>'"]
    assert lost(Node("C", [Value("x"), Value("x")])) != []
    assert lost(Node("C", [first.output, first.output, None])) == []


def test_initialisers_of_a_function_are_not_silently_lost() -> None:
    function = Function("my", "F", constant(np.ones(1)))
    assert lost(function) == ["the initialisers of function 'my.F'"]
    for parse in (parse_function, parser.parse_function):
        with pytest.raises((ParseError, parser.ParseError)):
            parse(to_text(function))


def test_open_and_odd_types_are_read_back() -> None:
    types: list[Type] = [SequenceType(None), TensorType(DType.UNDEFINED, ()), TensorType(DType.UNDEFINED, (1,))]
    odd = [OpaqueType("", "a.b"), OpaqueType("a b.c", ""), OpaqueType("", "a b"), OpaqueType("d", "e.f"), OpaqueType()]
    inputs = [Value(f"v{index}", type_) for index, type_ in enumerate([*types, *odd])]
    node = Node("Op", attributes={f"a{index}": type_ for index, type_ in enumerate([*types, *odd])})
    graph = parse_graph(to_text(Graph(inputs, (), [node], name="g")))
    assert [value.type for value in graph.inputs] == [*types, *odd]
    assert [graph.nodes[0][f"a{index}"] for index in range(8)] == [*types, *odd]


def test_a_symbol_that_reads_as_an_expression_is_not_silently_lost() -> None:
    inputs = [Value("x", TensorType(DType.INT8, (symbol(name),))) for name in ("n+1", " n", "n/2", "n")]
    assert [bool(lost(Graph([value], name="g"))) for value in inputs] == [True, True, False, False]


def test_a_note_stays_one_line_whatever_the_name() -> None:
    node = Node("Op", name="a\nb\r\u2028c", doc_string="d")
    assert to_text(node).splitlines()[0].startswith("# lost: the doc string of node")
    assert parse_node(to_text(node)).name == node.name


@settings(deadline=None)
@given(st.integers(0, (1 << 32) - 1))
def test_a_float_reads_back_as_the_same_bits(bits: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    text = to_text(Node("Op", attributes={"a": value}))
    for read in (parse_node(text)["a"], parser.parse_node(text).attribute[0].f):
        assert isinstance(read, float)
        if math.isnan(value):
            assert math.isnan(read)
            assert math.copysign(1, read) == math.copysign(1, value)
        else:
            assert struct.pack("<f", read) == struct.pack("<I", bits)


def test_a_float_too_large_for_32_bits_is_infinite_as_when_it_is_saved() -> None:
    assert "= inf>" in to_text(Node("Op", attributes={"a": 1e300}))
    assert "= 0.1>" in to_text(Node("Op", attributes={"a": 0.1}))


@pytest.mark.parametrize("dtype", [d for d in DType if d not in (DType.UNDEFINED, DType.STRING)], ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_elements_read_back_as_the_same_bits(dtype: DType, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 9))
    raw = data.draw(st.binary(min_size=dtype.nbytes(count), max_size=dtype.nbytes(count)))
    tensor = Tensor.from_buffer(raw, dtype, (count,), name="t")
    tensor = Tensor(tensor.numpy(), name="t")  # no bits beyond the elements
    node = Node("Op", attributes={"a": tensor})
    text = to_text(node)
    read = parse_node(text)["a"]
    theirs = numpy_helper.to_array(parser.parse_node(text).attribute[0].t)
    assert isinstance(read, Tensor)
    assert (read.dtype, read.shape, read.name) == (dtype, (count,), "t")
    if not lost(node):
        assert bytes(read.raw()) == bytes(tensor.raw()) == bytes(Tensor(theirs, dtype).raw())
    else:
        assert dtype.is_float or dtype.is_complex
        np.testing.assert_array_equal(read.numpy(), tensor.numpy())


@settings(deadline=None)
@given(st.text(), st.text(min_size=1), st.lists(st.text()))
def test_any_name_and_any_string_reads_back(name: str, word: str, strings: list[str]) -> None:
    value = Value(name, TensorType(DType.INT8, (from_param(word),)))
    attributes = [
        Attribute(word, name),
        Attribute(word + "s", strings, AttributeKind.STRINGS),
        Attribute(word + "r", None, AttributeKind.INT, ref=word),
        Attribute(word + "t", Tensor(np.array(strings, object), DType.STRING, name=name)),
        Attribute(word + "g", Graph(name=name)),
    ]
    node = Node(word, [value if name else None], [Value(word)], attributes, domain=name, overload=name, name=name)
    graph = Graph([value] if name != word else [], node.outputs, [node], name=name)
    model = Model(graph, {name: 1}, producer_name=name, doc_string=word, metadata={name: word})
    read = parse_model(to_text(model, elide=None, notes=False))
    assert to_text(read, elide=None, notes=False) == to_text(model, elide=None, notes=False)
    copy = read.graph.nodes[0]
    assert (copy.op_type, copy.domain, copy.overload, copy.name, copy.output.name) == (word, name, name, name, word)
    assert [copy[word], copy[word + "s"]] == [name, tuple(strings)]
    assert copy.attributes[word + "r"].ref == word
    assert (read.producer_name, read.doc_string, read.metadata, read.opset_imports) == (
        name,
        word,
        {name: word},
        {name: 1},
    )
