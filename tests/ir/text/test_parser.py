"""What is read, what is refused with a place and a reason, and that nothing else ever happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import parser

from ingot.dims import parse as dim
from ingot.dtypes import DType
from ingot.errors import ExternalDataError, ParseError
from ingot.ir import (
    AttributeKind,
    External,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
    Value,
    verify,
)
from ingot.ir.text import parse, parse_function, parse_graph, parse_model, parse_node
from ingot.ir.text.literals import integers, reals
from ir.text.constructs import TEXT


def test_everything_a_model_says_is_read() -> None:
    model = parse(TEXT)
    assert (model.ir_version, model.model_version) == (8, 3)
    assert model.opset_imports == {"": 18, "d.e": 1}
    assert (model.producer_name, model.producer_version, model.domain) == ("p", "2", "d")
    assert (model.doc_string, model.metadata) == ('a "b" \\', {"k": "v"})
    graph = model.graph
    x, s, d = graph.inputs
    assert x.type == TensorType(DType.FLOAT32, (dim("N"), dim("M + N"), 3, None))
    assert s.type == SequenceType(MapType(DType.INT64, OptionalType(TensorType(DType.FLOAT32))))
    assert list(graph.initializers) == ["d", "w", "q", "t"]
    assert d.is_input
    assert d.is_initializer
    foo, branch, bar = graph.nodes
    assert (foo.domain, foo.op_type, foo.overload, foo.name) == ("d.e", "Foo", "ov", "n1")
    assert foo.inputs == (x, None, graph.initializers["w"])
    assert foo.output.type == TensorType(DType.FLOAT32, ())
    assert {name: attribute.kind for name, attribute in foo.attributes.items()} == {
        "a": AttributeKind.INT,
        "b": AttributeKind.FLOATS,
        "c": AttributeKind.STRINGS,
        "t": AttributeKind.TENSOR,
        "p": AttributeKind.TYPE,
        "r": AttributeKind.STRING,
        "e": AttributeKind.TENSOR,
    }
    assert branch.outputs == (graph.outputs[0],)
    assert (bar.inputs, bar.outputs) == ((), ())
    function = next(iter(model.functions.values()))
    assert function.id == ("d.e", "Foo", "ov")
    assert [function.attributes["a"], function.attributes["q"] and function.attributes["q"].value] == [None, 1.5]
    assert [value.type for value in function.inputs] == [TensorType(DType.FLOAT32, (3,)), None]
    assert function.graph.nodes[0].attributes["alpha"].ref == "q"


def test_a_subgraph_reads_the_values_around_it_wherever_they_are_defined() -> None:
    graph = parse_graph("""
    g (x) => (y) <float w = {1}> {
      y = Loop (x) <body = b (i) => (o) { o = Add (later, i)  p = Scan (o) <body = c () => (w, later, free) {}> }>
      later = Neg (x)
      z = Op (free)
    }""")
    loop, later, last = graph.nodes
    body = loop.subgraphs[0]
    add, scan = body.nodes
    assert add.inputs == (later.output, body.inputs[0])
    inner = scan.subgraphs[0]
    assert list(inner.outputs)[:2] == [graph.initializers["w"], later.output]
    assert inner.outputs[2] is not last.inputs[0], "nothing defines 'free': each scope has its own"
    assert later.output.users == (add,)


def test_a_name_that_nothing_defines_is_one_value_for_every_reader() -> None:
    node = parse_node("y = Op <body = g () => (free) { a = Op (free) }> (free, free)")
    free = node.inputs[0]
    assert isinstance(free, Value)
    assert free.graph is None
    assert node.inputs[1] is free
    assert node.subgraphs[0].outputs[0] is free
    assert len(free.uses) == 3


def test_external_data_is_asked_for_where_it_can_be_found() -> None:
    text = 'g () => () <int8[2] w = ["location": "f", "offset": "4"], int8[1] v = ["location": "later"]> {}'
    asked: list[tuple[External, int]] = []

    def fetch(place: External, count: int) -> memoryview | None:
        asked.append((place, count))
        return memoryview(b"\1\2") if place.location == "f" else None

    constants = [value.constant for value in parse_model(text, external=fetch).graph.initializers.values()]
    assert asked == [(External("f", offset=4), 2), (External("later"), 1)]
    found, later = constants
    assert isinstance(found, Tensor)
    assert (found.tolist(), found.external) == ([1, 2], External("f", offset=4))
    assert isinstance(later, Tensor)
    with pytest.raises(ExternalDataError, match="'later', which the text was read without"):
        later.numpy()


def test_the_links_of_a_model_are_right() -> None:
    text = TEXT.replace("Neg(y)", "Neg(z)")
    model = parse_model(text)
    verify(model)
    assert all(node.graph is graph for graph in model.graphs() for node in graph)


TYPES: dict[str, Type] = {
    "float": TensorType(DType.FLOAT32, ()),
    "double[]": TensorType(DType.FLOAT64),
    "float6e3m2[2, -1]": TensorType(DType.FLOAT6E3M2, (2, -1)),
    'int2["3", "a b", ""]': TensorType(DType.INT2, (dim("`3`"), dim("`a b`"), None)),
    "sparse_tensor(bool[n])": SparseTensorType(DType.BOOL, (dim("n"),)),
    "sparse_tensor(bool[])": SparseTensorType(DType.BOOL),
    "optional(seq(string))": OptionalType(SequenceType(TensorType(DType.STRING, ()))),
    "map(string, opaque(a.b, c))": MapType(DType.STRING, OpaqueType("a.b", "c")),
    "opaque(a.b)": OpaqueType("", "a.b"),
    "opaque()": OpaqueType(),
    "seq()": SequenceType(None),
    "undefined[1]": TensorType(DType.UNDEFINED, (1,)),
}


@pytest.mark.parametrize("text", TYPES)
def test_types_are_read(text: str) -> None:
    assert parse_graph(f"g ({text} x) => () {{}}").inputs[0].type == TYPES[text]
    assert parse_node(f"x = Op <t: type_proto = {text}> ()")["t"] == TYPES[text]


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.UNDEFINED], ids=str)
def test_every_element_type_is_read_as_onnx_reads_it(dtype: DType) -> None:
    text = f"g ({dtype.onnx_name}[2, n] x) => () {{}}"
    assert parse_graph(text).inputs[0].type == TensorType(dtype, (2, dim("n")))
    assert parser.parse_graph(text).input[0].type.tensor_type.elem_type == dtype


@pytest.mark.parametrize(
    ("text", "inputs", "outputs"),
    [
        ("= Op ()", [], []),
        (", = Op (,)", [""], [""]),
        ("x, = Op (y,)", ["y"], ["x"]),
        (",x = Op (,y)", ["", "y"], ["", "x"]),
        ('"",x = Op ("", y, "")', ["", "y", ""], ["", "x"]),
        ("x = Op (,,)", ["", ""], ["x"]),
    ],
)
def test_omitted_inputs_and_outputs_are_read_as_onnx_reads_them(
    text: str, inputs: list[str], outputs: list[str]
) -> None:
    node = parse_node(text)
    assert [value.name if value else "" for value in node.inputs] == inputs
    assert [value.name for value in node.outputs] == outputs
    theirs = parser.parse_node(text)
    assert (list(theirs.input), list(theirs.output)) == (inputs, outputs)


FLOATS = ["1.", "1e5", "1E+5", "-0", "nan", "-NaN", "inf", "-INFINITY", "16777217", "00.5", "1e-400", "3.4028235e38"]
HALFWAY = [
    "1.00000005960464477539062500001",
    "1.000000059604644775390625",
    "1.00000005960464477539062499999",
    "7.00649232162408535461864791645e-46",
]
"""Halves between two float32, and texts so near that their nearest float64 is the half."""


@pytest.mark.parametrize("literal", [*FLOATS, *HALFWAY])
def test_a_float_is_the_one_that_onnx_reads(literal: str) -> None:
    text = f"x = Op <a: float = {literal}, t = float[2] {{1, {literal}}}, u = float[1] {{{literal} # here\n}}> ()"
    mine, theirs = parse_node(text), parser.parse_node(text)
    assert str(mine["a"]) == str(theirs.attribute[0].f)
    for name, attribute in (("t", theirs.attribute[1]), ("u", theirs.attribute[2])):
        tensor = mine[name]
        assert isinstance(tensor, Tensor)
        assert str(tensor.tolist()) == str(list(attribute.t.float_data))


@settings(deadline=None)
@given(st.lists(st.integers(-(1 << 70), 1 << 70), min_size=1), st.lists(st.floats(), min_size=1))
def test_a_list_read_at_once_is_what_its_items_are(whole: list[int], broken: list[float]) -> None:
    found = integers(" , ".join(map(str, whole)), -128, 255)
    assert (found is None) == any(not -128 <= item <= 255 for item in whole)
    assert found is None or found.tolist() == whole
    numbers = reals(",".join(map(repr, broken)), single=False)
    assert numbers is None or numbers.tolist() == broken


BAD: dict[str, tuple[str, int, str]] = {
    "": ("expected the name of a graph, the text ends", 1, ""),
    "g": ("expected '(' before the inputs of a graph, the text ends", 2, ""),
    "g () = > () {}": ("expected '=>' after the inputs of a graph, found '='", 6, ""),
    "g () => () {} }": ("expected the name of a function, found '}'", 15, ""),
    "g (é) => () {}": ("nothing begins with 'é'", 4, "quotes"),
    'g ("x) => () {}': ("the string that begins here has no end", 4, ""),
    "g (x,) => () {}": ("expected the name of a value, found ')'", 6, ""),
    "g (floot[2] x) => () {}": ("expected ')' or ',' after a value, found '['", 9, ""),
    "g (float[2,] x) => () {}": ("expected a size: a number, a name or '?', found ']'", 12, ""),
    "g (float[9223372036854775808] x) => () {}": ("9223372036854775808 is not a size of 64 bits", 10, ""),
    "g (seq[2] x) => () {}": ("expected '(' after 'seq', found '['", 7, ""),
    "g (map(text, float) x) => () {}": ("'text' is not the type of the keys", 8, "one of float"),
    "g (float[2] x = {1}) => () {}": ("float[2] takes 2 numbers, 1 are here", 17, ""),
    "g (int4[3] x = {1, 2, 3}) => () {}": ("int4[3] takes 2 numbers, 3 are here", 16, "2 to a byte"),
    "g (complex64[1] x = {1}) => () {}": ("complex64[1] takes 2 numbers, 1 are here", 21, "two floats"),
    "g (uint8[2] x = {1, 256}) => () {}": ("256 is not an integer from 0 to 255, as uint8 takes", 21, ""),
    "g (float16[1] x = {1.5}) => () {}": ("1.5 is not an integer from 0 to 65535, as float16 takes", 20, ""),
    "g (float[1] x = {1e39}) => () {}": ("1e39 is not a float of 32 bits", 18, ""),
    "g (double[1] x = {1e}) => () {}": ("1e is not a float of 64 bits", 19, ""),
    "g (bool[1] x = {true}) => () {}": ("expected an integer, found 'true'", 17, ""),
    'g (string[1] x = {1}) => () {}': ("expected a string, found '1'", 19, ""),
    "g (float[n] x = {1}) => () {}": ("the sizes of a constant are numbers, not float32[n]", 4, ""),
    "g (float[] x = {1}) => () {}": ("the sizes of a constant are numbers, not float32[...]", 4, ""),
    "g (x = {1}) => () {}": ("a constant of no type cannot be written", 4, "float[2] x"),
    "g (float x = ...) => () {}": ("the value is left out here", 14, "elide=None"),
    'g (float x = ["offset": "1"]) => () {}': ("external data has no location", 14, "location"),
    'g (float x = ["location": "f", "offset": "-1"]) => () {}': ("the offset of external data is not a number", 14, ""),
    'g (float x = ["location": "f", "length": "5"]) => () {}': ("takes 4 bytes, its external data is 5 long", 14, ""),
    'g (float x = ["location": "f", "location": "g"]) => () {}': ("external data gives 'location' twice", 14, ""),
    "g () => () { x = (y) }": ("expected an operator, found '('", 18, ""),
    "g () => () { x = Op(y }": ("expected ')' or ',' after an input, found '}'", 23, ""),
    "g () => () { x = Op <>() }": ("expected the name of an attribute, found '>'", 22, ""),
    "g () => () { x = Op <a=1, a=2>() }": ("attribute 'a' is given twice", 27, ""),
    "g () => () { x = Op <a=1> () <b=2> }": ("given already, before its inputs", 30, ""),
    "g () => () { x = Op <a: integer = 1>() }": ("'integer' is not an attribute type", 25, "did you mean"),
    "g () => () { x = Op <a = - 5>() }": ("expected a number after '-'", 26, ""),
    "g () => () { x = Op <a = 99999999999999999999>() }": ("99999999999999999999 is not an integer of 64 bits", 26, ""),
    "g () => () { x = Op <a: int = 1.5>() }": ("expected a value of type int, found one of type float", 31, ""),
    "g () => () { x = Op <a = [1, 2.5]>() }": ("expected a value of type int, found one of type float", 30, ""),
    "g () => () { x = Op <a: int = [1]>() }": ("attribute 'a' is one int, not a list", 31, "a: ints = "),
    "g () => () { x = Op <a: ints = 1>() }": ("expected a list of ints in brackets, found '1'", 32, ""),
    "g () => () { x = Op <a = []>() }": ("an empty list must say its type", 26, "a: ints = []"),
    "g () => () { x = Op <a = @b>() }": ("refers to another and must say its type", 26, "a: float = @b"),
    'g () => () { x = Op <a: int = @"">() }': ("an empty name refers to nothing", 31, ""),
    "g () => () { x = Op <a: sparse_tensor = ...>() }": ("is left out here", 41, ""),
    "<ir_version: 1, ir_version: 2> g () => () {}": ("'ir_version' is given twice", 17, ""),
    "<producer: 1> g () => () {}": ("'producer' is not a property of a model", 2, "producer_name"),
    '<opset_import: ["": 1, "": 2]> g () => () {}': ("operator set 'ai.onnx' is imported in two versions", 24, ""),
    "g () => () {} f () => () {} f () => () {}": ("function 'f' is defined twice", 29, ""),
    "g () => () {} f <a, a> () => () {}": ("attribute 'a' is declared twice", 21, ""),
    "g () => () {} <ir_version: 3> f () => () {}": ("'ir_version' is not a property of a function", 16, "domain"),
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_what_is_malformed_is_refused_with_its_place_and_a_reason(text: str) -> None:
    message, column, hint = BAD[text]
    with pytest.raises(ParseError) as caught:
        parse_model("\n" + text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column) == (2, column)
    assert hint in (error.hint or "")
    if text:
        assert str(error).splitlines()[2:4] == [f"  | {text}", "  | " + " " * (column - 1) + "^"]


def test_an_error_in_a_long_line_shows_what_is_near() -> None:
    text = "g () => () { " + "x = Op (y) " * 1000 + "x = Op (!) " + "x = Op (y) " * 1000 + "}"
    with pytest.raises(ParseError) as caught:
        parse_model(text)
    assert caught.value.column == text.index("!") + 1
    _, shown, caret = caught.value.where
    assert len(shown) < 130
    assert shown[caret.index("^")] == "!"


def test_text_after_the_end_is_refused() -> None:
    for read, text in ((parse_graph, "g () => () {}"), (parse_node, "x = Op ()"), (parse_function, "f () => () {}")):
        read(text + " # a comment\n")
        with pytest.raises(ParseError, match="expected the end of the text, found 'more'"):
            read(text + " more")


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ParseError, match="surrogate"):
        parse_model('g () => () { "\ud800" = Op () }')
