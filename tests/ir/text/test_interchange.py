"""onnx and ingot read each other's text, and every construct that one of them cannot say is in a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser, printer

from ingot.errors import ParseError, UnsupportedError
from ingot.format.decode import decode
from ingot.format.encode import encode
from ingot.ir import Model, verify
from ingot.ir.text import lost, parse_function, parse_graph, parse_model, parse_node, refused_by_onnx, to_text
from ir.text.constructs import ALL, CONSTRUCTS, TEXT, UNSAID, Verdict, changed
from models import Sample, node_models, real_models, wheel_models

LARGEST = 3_000_000
"""Bytes of the real models that are read here; the others take too long in a test."""


def normal(model: ModelProto) -> ModelProto:
    """A model without what has no meaning: how elements are stored, empty fields that are present, the order of value
    infos, and those that repeat what an input or an initialiser is.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    _normalise(copy)
    return copy


def _normalise(message: Any) -> None:
    kind = message.DESCRIPTOR.name
    stored_elsewhere = kind == "TensorProto" and message.data_location == TensorProto.EXTERNAL
    if kind == "TensorProto" and message.data_type != TensorProto.STRING and not stored_elsewhere:
        message.raw_data = numpy_helper.from_array(numpy_helper.to_array(message)).raw_data
        for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            message.ClearField(field)
    if kind in ("GraphProto", "FunctionProto"):
        known = {item.name for item in [*message.initializer, *message.input]} if kind == "GraphProto" else set()
        rows = sorted((row for row in message.value_info if row.name not in known), key=lambda row: row.name)
        del message.value_info[:]
        message.value_info.extend(rows)
    for field, value in message.ListFields():
        repeated = field.is_repeated
        if field.message_type is not None:
            for item in value if repeated else [value]:
                _normalise(item)
            if field.message_type.name == "TypeProto" and not repeated and not value.ByteSize():
                message.ClearField(field.name)
        elif not repeated and value == field.default_value and field.name not in ("dim_value", "elem_type"):
            message.ClearField(field.name)


def verdict(model: ModelProto, ir: Model) -> Verdict:
    wanted = normal(model)
    text = to_text(ir, elide=None)
    return Verdict(
        _reads(lambda: printer.to_text(model), wanted),
        _reads(lambda: text, wanted),
        _ingot_reads(text) == wanted,
    )


def _reads(write: Callable[[], str], wanted: ModelProto) -> bool:
    try:
        return bool(normal(parser.parse_model(write())) == wanted)
    except (parser.ParseError, UnicodeDecodeError):
        return False


def _ingot_reads(text: str) -> ModelProto | None:
    try:
        model = parse_model(text)
    except ParseError as error:
        if "is left out here" in error.message:  # the only thing ingot prints and does not read
            return None
        raise
    verify(model)
    return normal(ModelProto.FromString(encode(model)))


def check(sample: Sample, expected: Verdict = ALL) -> None:
    """The verdict on a model is the expected one, and ingot says beforehand what it will be."""
    model, ir = ModelProto.FromString(sample.data), decode(sample.data)
    assert verdict(model, ir) == expected, sample.name
    assert bool(lost(ir)) == (not expected.ingot), sample.name
    assert bool(refused_by_onnx(ir)) == (expected.ingot and not expected.onnx_from_ingot), sample.name
    if expected.onnx:
        theirs = printer.to_text(model)
        read = parse_model(theirs)
        verify(read)
        assert normal(ModelProto.FromString(encode(read))) == normal(parser.parse_model(theirs)), sample.name


def test_every_node_model_is_read_by_both_from_the_text_of_either() -> None:
    samples = node_models()
    assert len(samples) > 1_800
    for sample in samples:
        check(sample)


def test_every_model_in_the_wheel_is_read_by_both_from_the_text_of_either() -> None:
    paths = wheel_models()
    assert len(paths) > 140
    for path in paths:
        check(Sample(path.name, path.read_bytes()))


def test_graphs_functions_and_nodes_that_onnx_prints_are_read() -> None:
    model = parser.parse_model(TEXT.replace("int4[3] q = {33, 3}, ", "").replace("c: strings = [], ", ""))
    graph, function = parse_graph(printer.to_text(model.graph)), parse_function(printer.to_text(model.functions[0]))
    assert [node.op_type for node in graph] == [node.op_type for node in model.graph.node]
    assert [node.op_type for node in function.graph] == [node.op_type for node in model.functions[0].node]
    for node in model.graph.node:
        assert parse_node(printer.to_text(node)).op_type == node.op_type


DOTTED = "names of tensors in attributes have dots in them"
REAL = {
    "silero_vad.onnx": (Verdict(False, False, True), DOTTED),
    "silero_vad_openvino_16k.onnx": (Verdict(False, False, True), DOTTED),
    "ch_ppocr_mobile_v2.0_cls_infer.onnx": (Verdict(False, False, True), DOTTED),
    "silero_vad_op18_ifless.onnx": (Verdict(False, False, False), "nodes and values have metadata"),
}
"""The real models that do not go through text, and why."""


@pytest.mark.parametrize(
    "path", [path for path in real_models() if path.stat().st_size < LARGEST], ids=lambda path: str(path.name)
)
def test_real_models_are_read_by_both_from_the_text_of_either(path: Path) -> None:
    check(Sample(path.name, path.read_bytes()), REAL.get(path.name, (ALL, ""))[0])


@pytest.mark.parametrize("name", [name for name, (_, reason) in REAL.items() if reason is DOTTED])
def test_onnx_reads_the_portable_text_of_a_real_model(name: str) -> None:
    data = next(path for path in real_models() if path.name == name).read_bytes()
    ir, wanted = decode(data), normal(ModelProto.FromString(data))
    assert not refused_by_onnx(ir, portable=True)
    read = normal(parser.parse_model(to_text(ir, elide=None, portable=True)))
    for message in (read, wanted):
        _forget_tensor_names(message)
    assert read == wanted


def _forget_tensor_names(message: Any) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else [value]:
                _forget_tensor_names(item)
    if message.DESCRIPTOR.name == "AttributeProto" and message.HasField("t"):
        message.t.ClearField("name")


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_who_reads_a_construct_is_what_the_table_says(name: str) -> None:
    make, expected = CONSTRUCTS[name]
    check(Sample(name, make().SerializeToString()), expected)


@pytest.mark.parametrize("name", [name for name, (_, expected) in CONSTRUCTS.items() if expected is UNSAID])
def test_what_the_syntax_cannot_say_is_named_in_a_comment_and_refused_when_strict(name: str) -> None:
    ir = decode(CONSTRUCTS[name][0]().SerializeToString())
    notes = [line.removeprefix("# lost: ") for line in to_text(ir).splitlines() if line.startswith("# lost: ")]
    assert notes == lost(ir)
    with pytest.raises(UnsupportedError, match="would not say everything"):
        to_text(ir, elide=None, strict=True)
    assert "# lost" not in to_text(ir, notes=False)


@pytest.mark.parametrize("name", [name for name, (_, expected) in CONSTRUCTS.items() if expected is not UNSAID])
def test_strict_text_is_the_same_text(name: str) -> None:
    ir = decode(CONSTRUCTS[name][0]().SerializeToString())
    assert to_text(ir, elide=None, strict=True) == to_text(ir, elide=None)


@pytest.mark.parametrize(
    "name", ["an odd name of a tensor", "an odd name of a subgraph", "a subgraph named like a float"]
)
def test_portable_text_gives_up_names_that_onnx_cannot_read(name: str) -> None:
    model = CONSTRUCTS[name][0]()
    ir = decode(model.SerializeToString())
    assert not refused_by_onnx(ir, portable=True)
    assert any("name" in reason for reason in lost(ir, portable=True))
    read = parser.parse_model(to_text(ir, elide=None, portable=True))
    for message in (read, model):
        attribute = message.graph.node[0].attribute[0]
        (attribute.g if attribute.HasField("g") else attribute.t).ClearField("name")
    assert normal(read) == normal(model)


@pytest.mark.parametrize("name", ["tensors", "an odd operator", "a sequence of what is open", "a NUL"])
def test_portable_text_that_onnx_would_not_read_says_so(name: str) -> None:
    ir = decode(CONSTRUCTS[name][0]().SerializeToString())
    assert "# onnx does not read: " in to_text(ir, portable=True)
    with pytest.raises(UnsupportedError, match="would not say everything"):
        to_text(ir, portable=True, strict=True)


MEANING_ONLY: dict[str, Callable[[ModelProto], Any]] = {
    "a size that is not in normal form": lambda model: model.graph.input[0].type.tensor_type.shape.dim.add(
        dim_param="n+1"
    ),
    "the type of a value that nothing defines": lambda model: model.graph.value_info.append(
        helper.make_tensor_value_info("nowhere", 1, [])
    ),
    "an output with another type than the input it is": lambda model: model.graph.output.append(
        helper.make_tensor_value_info("x", 1, ["n", "m"])
    ),
}
"""What the graph keeps in another form, or has no place for: the text is that of the graph."""


@pytest.mark.parametrize("name", MEANING_ONLY)
def test_what_the_graph_holds_is_what_the_text_says(name: str) -> None:
    model = changed(MEANING_ONLY[name])
    ir = decode(model.SerializeToString())
    text = to_text(ir, elide=None)
    assert normal(parser.parse_model(text)) != normal(model)
    assert to_text(parse_model(text), elide=None) == text
    assert normal(parser.parse_model(text)) == _ingot_reads(text)
