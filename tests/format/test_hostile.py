"""Files made to hurt: each ends in a model or in a DecodeError that says where, soon, and in little memory."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import pickle
import random
import subprocess
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import ingot
from format.test_every_field import everything
from ingot.errors import DecodeError, IngotError, InputError, UnsupportedError
from ingot.format import Limits, messages
from ingot.format.decode_tensors import STORED_IN
from ingot.format.schema import Kind, Message
from ingot.format.values import decode_value
from ingot.ir.text import parse_model
from places import PLACES, all_tensors, model_with, plain_model
from wiretree import BYTES, EIGHT, FOUR, VARINT, Item, Tree, delimited, float_word, integer, long_varint, parse, varint

TABLES = {table.name: table for table in vars(messages).values() if isinstance(table, Message)}
TABLES["TypeProto.Optional"] = TABLES["TypeProto.Sequence"]
TABLES["TypeProto.SparseTensor"] = TABLES["TypeProto.Tensor"]


def refused(data: bytes, **named: Any) -> DecodeError:
    """The error of decoding, which must have one and must say where."""
    with pytest.raises(DecodeError) as caught:
        ingot.decode(data, **named)
    assert caught.value.offset is not None, str(caught.value)
    assert 0 <= caught.value.offset <= len(data)
    assert caught.value.path is not None
    assert caught.value.path.startswith("model")
    return caught.value


def survives(data: bytes) -> ingot.Model | None:
    """The model, or None if decoding refused; fails on any other end."""
    try:
        return ingot.decode(data)
    except DecodeError as error:
        problem = error
    assert problem.path is not None
    assert problem.offset is not None, str(problem)
    assert len(str(problem)) < 2000 + len(data)
    return None


def raw_model(graph: bytes, rest: bytes = b"") -> bytes:
    """A model of these bytes for a graph."""
    return integer(1, 9) + delimited(7, graph) + delimited(8, integer(2, 17)) + rest


def with_attribute(attribute: bytes) -> bytes:
    """A model of one node with this attribute."""
    return raw_model(delimited(1, delimited(4, b"Custom") + delimited(5, attribute)))


def with_tensor(tensor: bytes | TensorProto) -> bytes:
    """A model of one initialiser."""
    return raw_model(delimited(5, tensor if isinstance(tensor, bytes) else tensor.SerializeToString()))


def tensor_of(model: ingot.Model) -> ingot.Tensor:
    (tensor,) = all_tensors(model)
    return tensor


def rich() -> onnx.ModelProto:
    """A model of every message, with tensors of every storage."""
    model = everything()
    for name in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
        dtype = {"float_data": 1, "int32_data": 6, "int64_data": 7, "double_data": 11, "uint64_data": 13}[name]
        tensor = model.graph.initializer.add(name=name, data_type=dtype, dims=[2])
        getattr(tensor, name).extend([1, 2])
    model.graph.initializer.append(helper.make_tensor("strings", TensorProto.STRING, [2], [b"a", b"\xff"]))
    part = model.graph.initializer.add(name="part", data_type=1, dims=[4], raw_data=bytes(8))
    part.segment.begin, part.segment.end = 0, 2
    outside = model.graph.initializer.add(name="outside", data_type=1, dims=[4], data_location=1)
    outside.external_data.add(key="location", value="somewhere")
    return model


RICH = rich().SerializeToString()


def kinds_of_place() -> Iterator[tuple[str, list[int]]]:
    """One place of the rich model for each kind of message in each kind of field, and the way to it by indices."""
    seen: set[tuple[str, str]] = set()
    pending: list[tuple[Tree, list[int], str]] = [(parse(RICH), [], "model")]
    while pending:
        tree, way, label = pending.pop(0)
        yield f"{tree.name} in {label}", way
        for index, item in enumerate(tree.items):
            field = tree.descriptor.fields_by_number[item.number].name
            if isinstance(item.payload, Tree) and (tree.name, field) not in seen:
                seen.add((tree.name, field))
                pending.append((item.payload, [*way, index], f"{tree.name}.{field}"))


PLACES_OF_KINDS = dict(kinds_of_place())


def spoiled(way: list[int], spoil: Callable[[Tree], None]) -> bytes:
    """The rich model with something done to the message at the end of `way`."""
    root = tree = parse(RICH)
    for index in way:
        payload = tree.items[index].payload
        assert isinstance(payload, Tree)
        tree = payload
    spoil(tree)
    return root.encoded()


def table_at(way: list[int]) -> Message:
    found: list[Message] = []
    spoiled(way, lambda tree: found.append(TABLES[tree.name]))
    return found[0]


def test_the_rich_model_has_every_message_and_decodes() -> None:
    outside_models = {"SequenceProto", "MapProto", "OptionalProto"}
    assert {tree.name for tree in parse(RICH).walk()} == TABLES.keys() - outside_models
    assert ingot.encode(ingot.decode(RICH)) == RICH


# 1. Parsing.


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the input is empty\n  in model at byte 0\n  hint: is this an ONNX model?"),
        (b"\0", "0 is not a field number\n  in model at byte 0\n  hint: is this an ONNX model?"),
        (b"\x08", "it ends in the middle of a field\n  in model at byte 0\n  hint: is this an ONNX model?"),
        (b"\x08\x09", "it has no graph\n  in model at byte 0\n  hint: is this an ONNX model?"),
        (b"\x0a\x00", "expected a varint, found a length and bytes\n  in model.ir_version at byte 0"),
        (b"\x3a\x05\x0a", "it claims 5 bytes, 1 are left\n  in model.graph at byte 0"),
        (b"\x3a\x04\x0a\x02\x0a\x01", "it claims 1 bytes, 0 are left\n  in model.graph.node[0].input at byte 4"),
        (b"\x3a\x00\x3a\x00", "it is given twice\n  in model.graph at byte 2"),
        (b"\x3a\x03\x12\x01\xff", "it is not UTF-8 (invalid start byte)\n  in model.graph.name at byte 4"),
        (b"\xff" * 11, "a varint is longer than 10 bytes\n  in model at byte 0\n  hint: is this an ONNX model?"),
        (b"\x0f", "expected a varint, found wire type 7\n  in model.ir_version at byte 0"),
        (b"\xa7\x06", "wire type 7 cannot begin a field\n  in model at byte 0\n  hint: is this an ONNX model?"),
    ],
)
def test_messages_say_what_is_wrong_and_where(data: bytes, message: str) -> None:
    assert str(refused(data)) == message


def _archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", "")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 12\n", "git lfs pull"),
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "a web page"),
        (b"<HTML><body>404</body></HTML>", "a web page"),
        (b'<?xml version="1.0"?><net name="m"></net>', "OpenVINO"),
        (_archive(), "torch.onnx"),
        (gzip.compress(RICH), "gzip"),
        (b"\x89HDF\r\n\x1a\n" + bytes(40), "ingot convert"),
        (b"GGUF\3\0\0\0" + bytes(40), "llama.cpp"),
        (b"\x1c\0\0\0TFL3" + bytes(40), "TensorFlow Lite"),
        (b'\x40\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', "safetensors"),
        (b"\x93NUMPY\1\0" + bytes(40), "an array of numpy"),
        (pickle.dumps({"weight": [1.0]}), "a pickle"),
    ],
)
def test_what_people_have_in_place_of_a_model_is_named(data: bytes, hint: str) -> None:
    assert hint in (refused(data).hint or "")


def test_a_message_names_every_step_of_the_way_and_the_byte() -> None:
    model = helper.make_model(helper.make_graph([], "g", [], []))
    bad = TensorProto(name="w", data_type=1, dims=[2], raw_data=bytes(7))
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=bad)], "inner", [], [])
    model.graph.node.append(helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner))
    data = model.SerializeToString()
    error = refused(data)
    assert str(error).splitlines()[:2] == [
        "2 elements of float32 take 8 bytes, 7 are here",
        f"  in model.graph.node[0].attribute[0].g.node[0].attribute[0].t.raw_data at byte {error.offset}",
    ]
    assert error.offset is not None
    assert data[error.offset :].startswith(bad.SerializeToString())


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_refused(seed: int) -> None:
    source = random.Random(seed)
    for length in (1, 2, 3, 5, 8, 13, 50, 200, 1000):
        for _ in range(20):
            survives(source.randbytes(length))


def test_a_model_cut_at_any_byte_is_refused_or_a_model() -> None:
    whole = ingot.encode(ingot.decode(RICH))
    models = sum(survives(whole[:length]) is not None for length in range(len(whole)))
    assert 0 < models < 30, "only cuts between fields of the model itself leave one"


def test_a_model_cut_at_the_front_is_refused_or_a_model() -> None:
    for length in range(1, len(RICH), 3):
        survives(RICH[length:])


def test_any_byte_may_be_missing_or_doubled() -> None:
    for position in range(0, len(RICH), 2):
        survives(RICH[:position] + RICH[position + 1 :])
        survives(RICH[:position] + RICH[position : position + 1] + RICH[position:])


def test_any_byte_may_be_anything() -> None:
    for position in range(len(RICH)):
        value = (0, 128, 255)[position % 3]
        survives(RICH[:position] + bytes([value]) + RICH[position + 1 :])


OVERLONG = b"\x80" * 10 + b"\x01"


@pytest.mark.parametrize(
    "data",
    [
        OVERLONG,
        b"\x08" + OVERLONG,
        b"\x3a" + OVERLONG,
        integer(1, 9) + b"\xff" * 20,
        with_attribute(b"\x18" + OVERLONG),
        with_attribute(b"\x40" + OVERLONG + integer(20, 7)),
        with_attribute(b"\x40\x01" * 30 + b"\x40" + OVERLONG + integer(20, 7)),
        with_attribute(delimited(8, OVERLONG) + integer(20, 7)),
        with_attribute(delimited(8, b"\x01" * 1000 + OVERLONG) + integer(20, 7)),
        with_attribute(integer(8, 1) + delimited(8, OVERLONG) + integer(20, 7)),
        with_attribute(delimited(8, OVERLONG) + integer(8, 1) + integer(20, 7)),
        with_tensor(delimited(1, OVERLONG) + integer(2, 1)),
        with_tensor(integer(1, 1) + integer(2, 7) + delimited(7, OVERLONG)),
        with_tensor(integer(1, 1) + integer(2, 13) + delimited(11, OVERLONG)),
        with_tensor(integer(1, 2) + integer(2, 6) + delimited(5, b"\x01") + delimited(5, OVERLONG)),
        raw_model(b"", varint(999 << 3) + OVERLONG),
    ],
)
def test_a_varint_of_more_than_ten_bytes_is_refused(data: bytes) -> None:
    assert "a varint is longer than 10 bytes" in refused(data).message


@pytest.mark.parametrize(
    "data",
    [
        with_attribute(delimited(8, b"\x01" * 5 + b"\x80") + integer(20, 7)),
        with_attribute(delimited(8, b"\x80" * 3) + integer(20, 7)),
        with_attribute(delimited(7, bytes(7)) + integer(20, 6)),
        with_attribute(float_word(7, 1.0) + delimited(7, bytes(3)) + integer(20, 6)),
        with_tensor(integer(1, 2) + integer(2, 7) + delimited(7, b"\x01\x80")),
        with_tensor(integer(1, 2) + integer(2, 11) + delimited(10, bytes(9)) + delimited(10, bytes(7))),
        with_tensor(delimited(1, b"\x80") + integer(2, 1)),
    ],
)
def test_a_packed_run_that_ends_inside_a_number_is_refused(data: bytes) -> None:
    refused(data)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 65, 200])
@pytest.mark.parametrize("cut", [b"\x40", b"\x40\x80", b"\x40\xff\xff", b"\x3d", b"\x3d\0\0\0"])
def test_a_run_of_numbers_that_is_cut_off_is_refused_and_not_read_for_ever(count: int, cut: bytes) -> None:
    run = (b"\x40\x01" if cut[0] == 0x40 else float_word(7, 1.0)) * count + cut
    data = raw_model(delimited(1, delimited(5, run) + delimited(4, b"Custom" * 9)))
    assert refused(data).message == "it ends in the middle of a field"


LENGTHS = [1, 127, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("way", PLACES_OF_KINDS.values(), ids=PLACES_OF_KINDS)
def test_a_length_beyond_the_message_is_refused(way: list[int], length: int) -> None:
    def lie(tree: Tree) -> None:
        for field in TABLES[tree.name].fields.values():
            if field.wire == BYTES:
                tree.items.append(Item(field.number, BYTES, b"", wrong_length=length))
                return
        tree.items.append(Item(999, BYTES, b"", wrong_length=length))

    refused(spoiled(way, lie))


EXPECTED = {VARINT: "a varint", EIGHT: "8 bytes", BYTES: "a length and bytes", FOUR: "4 bytes"}
WIRES = {VARINT: b"\x01", EIGHT: bytes(8), BYTES: b"\x00", 3: b"", 4: b"", FOUR: bytes(4), 6: b"", 7: b""}


@pytest.mark.parametrize("way", PLACES_OF_KINDS.values(), ids=PLACES_OF_KINDS)
def test_every_field_in_every_wrong_wire_type_is_refused(way: list[int]) -> None:
    for field in table_at(way).fields.values():
        right = {field.wire, BYTES} if field.repeated else {field.wire}
        for wire, payload in WIRES.items():
            if wire in right:
                continue

            def add(tree: Tree, number: int = field.number, wire: int = wire, payload: bytes = payload) -> None:
                if wire == BYTES:
                    payload = b""
                tree.items.insert(0, Item(number, wire, payload))

            error = refused(spoiled(way, add))
            assert error.message.startswith(f"expected {EXPECTED[field.wire]}, found ")
            assert (error.path or "").endswith(field.name)


@pytest.mark.parametrize("way", PLACES_OF_KINDS.values(), ids=PLACES_OF_KINDS)
def test_text_that_is_not_utf8_is_refused_in_every_string_field(way: list[int]) -> None:
    for field in table_at(way).fields.values():
        for bad in (b"\xff", b"a\x80", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80"):
            if field.kind is Kind.STRING:

                def add(tree: Tree, number: int = field.number, bad: bytes = bad) -> None:
                    tree.items.append(Item(number, BYTES, bad))

                error = refused(spoiled(way, add))
                assert error.message.startswith("it is not UTF-8 (")
                assert (error.path or "").endswith(field.name)


GROUPS = {
    "empty": b"",
    "of every kind of field": integer(1, 5) + delimited(2, b"x") + float_word(3, 1.0) + b"\x21" + bytes(8),
    "in a group": varint(7 << 3 | 3) + integer(1, 5) + varint(7 << 3 | 4),
}


@pytest.mark.parametrize("content", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("way", PLACES_OF_KINDS.values(), ids=PLACES_OF_KINDS)
def test_unknown_groups_are_kept(way: list[int], content: bytes) -> None:
    group = varint(999 << 3 | 3) + content + varint(999 << 3 | 4)

    def add(tree: Tree) -> None:
        tree.items.append(Item(999, 3, content + varint(999 << 3 | 4)))

    data = spoiled(way, add)
    assert group in ingot.encode(ingot.decode(data))


@pytest.mark.parametrize(
    "rest",
    [
        varint(999 << 3 | 3),
        varint(999 << 3 | 3) + integer(1, 1),
        varint(999 << 3 | 3) + varint(998 << 3 | 4),
        varint(999 << 3 | 3) * 2 + varint(999 << 3 | 4),
        varint(999 << 3 | 4),
        varint(999 << 3 | 3) + b"\x0e" + varint(999 << 3 | 4),
        varint(999 << 3 | 3) + b"\x0a\x7f" + varint(999 << 3 | 4),
        varint(999 << 3 | 3) * 200_000,
    ],
)
def test_groups_that_do_not_close_are_refused(rest: bytes) -> None:
    refused(raw_model(b"", rest))


def test_groups_may_be_nested_as_deep_as_they_like() -> None:
    deep = varint(999 << 3 | 3) * 50_000 + varint(999 << 3 | 4) * 50_000
    assert ingot.encode(ingot.decode(raw_model(b"", deep))).endswith(deep)


@pytest.mark.parametrize("number", [0, 1 << 29, (1 << 32) + 1, 1 << 60])
def test_a_number_that_no_field_has_is_refused(number: int) -> None:
    error = refused(raw_model(b"", varint(number << 3) + b"\x01"))
    assert error.message == f"{number} is not a field number"


def numbers_as_written(source: random.Random, number: int, kind: str) -> bytes:
    """Some of a repeated field, in one of the ways that writers have: packed, unpacked, with bytes to spare."""
    count = source.choice([0, 1, 2, 15, 16, 17, 40, 70, 200])
    if kind == "float":
        words = [source.randbytes(4) for _ in range(count)]
        if source.random() < 0.5:
            return delimited(number, b"".join(words))
        tag = varint(number << 3 | FOUR) if source.random() < 0.7 else long_varint(number << 3 | FOUR, 2)
        return b"".join(tag + word for word in words)
    out = []
    for _ in range(count):
        value = source.choice([0, 1, -1, 127, 128, source.getrandbits(31), -source.getrandbits(63)])
        out.append(varint(value) if source.random() < 0.9 else long_varint(value & (1 << 64) - 1, 10))
    if source.random() < 0.5:
        return delimited(number, b"".join(out))
    long_tags = source.random() < 0.3
    tags = [long_varint(number << 3, 2) if long_tags and source.random() < 0.2 else varint(number << 3) for _ in out]
    return b"".join(tag + value for tag, value in zip(tags, out, strict=True))


@pytest.mark.parametrize("seed", range(150))
def test_repeated_numbers_mean_what_protobuf_says_however_they_are_written(seed: int) -> None:
    source = random.Random(seed)
    kind = "float" if seed % 3 == 0 else "int"
    body = b"".join(numbers_as_written(source, 7 if kind == "float" else 8, kind) for _ in range(source.randint(1, 6)))
    attribute = delimited(1, b"a") + body + integer(20, 6 if kind == "float" else 7)
    theirs = AttributeProto.FromString(attribute)
    (node,) = ingot.decode(with_attribute(attribute)).graph
    ours = node["a"]
    if kind == "float":
        np.testing.assert_array_equal(np.array(ours, np.float32), np.array(theirs.floats, np.float32))
    else:
        assert list(ours) == list(theirs.ints)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(60))
def test_the_typed_fields_of_tensors_mean_what_protobuf_says_however_they_are_written(seed: int) -> None:
    source = random.Random(seed)
    field, dtype = source.choice([("int64_data", 7), ("uint64_data", 13), ("int32_data", 6), ("float_data", 1)])
    number = TABLES["TensorProto"].fields[field].number
    kind = "float" if field == "float_data" else "int"
    body = b"".join(numbers_as_written(source, number, kind) for _ in range(source.randint(1, 4)))
    theirs = getattr(TensorProto.FromString(body), field)
    data = with_tensor(integer(1, len(theirs)) + integer(2, dtype) + body)
    ours = tensor_of(ingot.decode(data)).numpy()
    np.testing.assert_array_equal(ours, np.array(theirs, ours.dtype))


@pytest.mark.parametrize("name", ["x" * (1 << 20), "\0", "a\0b", "\n\r\t", "\u202e", "𝕏" * 1000, "%s{}", "../../x"])
def test_names_may_be_anything_that_is_text(name: str) -> None:
    model = helper.make_model(helper.make_graph([helper.make_node("Relu", [name], ["y"], name=name)], name, [], []))
    model.graph.input.add(name=name)
    model.graph.output.add(name="y")
    data = model.SerializeToString()
    decoded = ingot.decode(data)
    assert decoded.graph.inputs[0].name == name
    assert ingot.encode(decoded) == data


# 2. Nesting.


def nested_graphs(depth: int) -> bytes:
    graph = b""
    for _ in range(depth):
        attribute = delimited(1, b"then_branch") + delimited(6, graph) + integer(20, 5)
        graph = delimited(1, delimited(4, b"If") + delimited(5, attribute))
    return raw_model(graph)


def nested_type(depth: int, number: int, inner: int) -> bytes:
    type_ = delimited(1, integer(1, 1))
    for _ in range(depth):
        type_ = delimited(number, delimited(inner, type_))
    return raw_model(delimited(11, delimited(1, b"x") + delimited(2, type_)))


NESTED: dict[str, Callable[[int], bytes]] = {
    "if in if": nested_graphs,
    "sequence of sequence": lambda depth: nested_type(depth, 4, 1),
    "map to map": lambda depth: nested_type(depth, 5, 2),
    "optional of optional": lambda depth: nested_type(depth, 9, 1),
}


@pytest.mark.parametrize("make", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("depth", [1, 5, 20, 30])
def test_moderate_nesting_is_a_model(make: Callable[[int], bytes], depth: int) -> None:
    model = ingot.decode(make(depth))
    assert ingot.encode(model) == make(depth)
    assert ingot.encode(model.copy()) == make(depth)
    list(ingot.ir.problems(model))


@pytest.mark.parametrize("make", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("depth", [60, 100, 1000, 20_000])
def test_deep_nesting_is_refused_and_names_the_limit(make: Callable[[int], bytes], depth: int) -> None:
    if make is nested_graphs and depth > 1000:
        depth = 5000  # making the file takes longer than refusing it
    error = refused(make(depth))
    assert error.message == "messages are nested more than 100 deep"
    assert error.hint == "raise Limits.nesting if you trust the file"


@pytest.mark.parametrize("make", NESTED.values(), ids=NESTED)
def test_nesting_at_the_limit_can_be_worked_with(make: Callable[[int], bytes]) -> None:
    deepest = max(depth for depth in range(20, 100) if survives(make(depth)) is not None)
    model = ingot.decode(make(deepest))
    assert ingot.encode(model.copy()) == make(deepest)
    list(ingot.ir.problems(model))
    str(model.graph.inputs)


@pytest.mark.parametrize("kind", ["if in if", "sequence of sequence"])
def test_a_limit_above_what_the_interpreter_can_do_is_no_crash(kind: str) -> None:
    make = "nested_graphs" if kind == "if in if" else "nested_type"
    script = f"""
import ingot
def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])
def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload
inner = b""
for _ in range(3000):
    if {make!r} == "nested_graphs":
        inner = field(1, field(4, b"If") + field(5, field(1, b"b") + field(6, inner) + b"\\xa0\\x01\\x05"))
    else:
        inner = field(4, field(1, inner))
graph = inner if {make!r} == "nested_graphs" else field(11, field(1, b"x") + field(2, inner))
try:
    ingot.decode(b"\\x08\\x09" + field(7, graph), limits=ingot.Limits(nesting=1_000_000))
    print("a model")
except ingot.DecodeError as error:
    print(error.message)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "messages are nested too deep\n", "")


# How many parts.


REPEATED = [
    (label, way, field.number, field.name)
    for label, way in PLACES_OF_KINDS.items()
    for field in table_at(way).fields.values()
    if field.repeated and field.kind is Kind.MESSAGE
]


@pytest.mark.parametrize(("way", "number"), [row[1:3] for row in REPEATED], ids=[f"{r[0]}.{r[3]}" for r in REPEATED])
def test_every_list_of_messages_counts_towards_the_limit(way: list[int], number: int) -> None:
    def many(tree: Tree) -> None:
        if tree.name == "AttributeProto":
            field = TABLES["AttributeProto"].numbers[number].name
            tree.items = [Item(20, VARINT, KINDS[field])]
        elif tree.name == "TensorProto" and number == TABLES["TensorProto"].fields["external_data"].number:
            tree.items = [Item(1, VARINT, 0), Item(2, VARINT, 7), Item(14, VARINT, 1)]
        tree.items.extend(Item(number, BYTES, b"") for _ in range(10_000))

    data = spoiled(way, many)
    with pytest.raises(DecodeError) as caught:
        ingot.decode(data, limits=Limits(messages=5000))
    assert caught.value.message == "the model has more than 5,000 parts"
    assert caught.value.hint == "raise Limits.messages if you trust the file"


@pytest.mark.parametrize(
    "graph",
    [
        delimited(1, delimited(2, b"a") * 10_000),
        delimited(1, delimited(2, b"") * 10_000),
    ],
    ids=["outputs", "outputs without names"],
)
def test_values_count_towards_the_limit(graph: bytes) -> None:
    with pytest.raises(DecodeError, match="parts"):
        ingot.decode(raw_model(graph), limits=Limits(messages=5000))


def test_inputs_of_functions_count_towards_the_limit() -> None:
    with pytest.raises(DecodeError, match="parts"):
        ingot.decode(raw_model(b"", delimited(25, delimited(4, b"a") * 10_000)), limits=Limits(messages=5000))


def test_a_million_empty_nodes_are_refused_or_read_in_bounded_time_and_memory() -> None:
    script = """
import resource, ingot
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
graph = b"\\x0a\\x00" * 1_000_000
data = b"\\x08\\x09\\x3a\\x80\\x89\\x7a" + graph
try:
    ingot.decode(data, limits=ingot.Limits(messages=999_999))
    raise AssertionError
except ingot.DecodeError as error:
    assert "999,999 parts" in error.message
assert len(ingot.decode(data).graph) == 1_000_000
"""
    subprocess.run([sys.executable, "-c", script], timeout=120, check=True)


# 5. Tensors.


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dims", [[-1], [4, -1], [-(1 << 63)], [0, -1]])
def test_negative_sizes_are_refused_in_every_place(place: str, dims: list[int]) -> None:
    tensor = TensorProto(name="w", data_type=7, dims=[4])
    data = model_with(place, tensor)
    for found in _tensor_protos(data):
        if found.name == "w":
            found.ClearField("dims")
            found.dims.extend(dims)
    assert f"is negative: {min(dims)}" in refused(data.SerializeToString()).message


def _tensor_protos(message: Any) -> Iterator[TensorProto]:
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in [value] if hasattr(value, "DESCRIPTOR") else value:
                if isinstance(item, TensorProto):
                    yield item
                else:
                    yield from _tensor_protos(item)


HUGE = {
    "2**32 squared": [1 << 32, 1 << 32],
    "2**61 * 8 * 6": [1 << 61, 8, 6],
    "2**63 - 1": [(1 << 63) - 1],
    "2**63 - 1 four times": [(1 << 63) - 1] * 4,
    "wraps to four": [(1 << 62) + 1, 4],
    "wraps to zero": [1 << 32, 1 << 32],
    "huge and zero": [1 << 40, 0, 1 << 40],
    "zero and huge": [0, 1 << 60, 1 << 60],
    "2**59 and zero": [1 << 59, 0],
}


@pytest.mark.parametrize("dtype", [1, 8, 9, 15, 22, 27])
@pytest.mark.parametrize("dims", HUGE.values(), ids=HUGE)
def test_sizes_whose_product_nothing_can_count_are_refused(dims: list[int], dtype: int) -> None:
    for payload in ({"raw_data": b""}, {"raw_data": bytes(16)}, {}):
        error = refused(with_tensor(TensorProto(data_type=dtype, dims=dims, **payload)))
        assert "the sizes of the axes multiply to more than" in error.message


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 20, 1 << 20], [(1 << 59) - 1]])
def test_sizes_that_the_payload_does_not_have_are_refused(dims: list[int]) -> None:
    for payload in ({"raw_data": bytes(8)}, {"float_data": [1.0, 2.0]}, {}):
        refused(with_tensor(TensorProto(data_type=1, dims=dims, **payload)))


@pytest.mark.parametrize("dims", [[0], [0, 5], [1 << 58, 0], [0, 1 << 30, 1 << 20]])
def test_no_elements_are_a_tensor_whatever_the_other_sizes(dims: list[int]) -> None:
    for dtype in (1, 8, 9, 15, 22, 27):
        tensor = tensor_of(ingot.decode(with_tensor(TensorProto(data_type=dtype, dims=dims))))
        assert tensor.numpy().shape == tuple(dims)


def test_no_elements_are_shown_in_little_memory() -> None:
    tensor = tensor_of(ingot.decode(with_tensor(TensorProto(data_type=1, dims=[1 << 58, 0]))))
    tensor.numpy()
    assert len(repr(tensor)) < 100


@pytest.mark.parametrize("rank", [0, 1, 31, 32, 33, 64])
def test_up_to_64_axes_are_read(rank: int) -> None:
    tensor = tensor_of(ingot.decode(with_tensor(TensorProto(data_type=1, dims=[1] * rank, raw_data=bytes(4)))))
    if rank <= 32 or int(np.__version__.split(".")[0]) >= 2:
        assert tensor.numpy().shape == (1,) * rank


@pytest.mark.parametrize("rank", [65, 1000, 100_000])
def test_more_axes_than_numpy_has_are_a_tensor_that_cannot_be_looked_at(rank: int) -> None:
    data = with_tensor(TensorProto(data_type=1, dims=[1] * rank, raw_data=bytes(4)))
    model = ingot.decode(data)
    with pytest.raises(UnsupportedError, match="axes"):
        tensor_of(model).numpy()
    assert ingot.encode(model) == data


@pytest.mark.parametrize("number", [0, 29, 999, -1, 1 << 31, (1 << 63) - 1])
def test_an_element_type_that_does_not_exist_is_refused(number: int) -> None:
    error = refused(with_tensor(integer(1, 1) + integer(2, number) + delimited(9, bytes(4))))
    assert error.path == "model.graph.initializer[0].data_type"
    for inner in (delimited(1, integer(1, number)), delimited(8, integer(1, number)), delimited(5, integer(1, number))):
        value_info = delimited(1, b"x") + delimited(2, inner)
        if number:
            refused(raw_model(delimited(11, value_info)))
        else:
            ingot.decode(raw_model(delimited(11, value_info)))


DTYPES = [dtype for dtype in ingot.DType if dtype is not ingot.DType.UNDEFINED]
FIELDS = ["raw_data", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"]


def stored(dtype: ingot.DType, field: str, entries: int) -> TensorProto:
    """Three elements of a type, given as so many entries (or bytes) of a field."""
    tensor = TensorProto(name="w", data_type=int(dtype), dims=[3])
    if field == "raw_data":
        tensor.raw_data = bytes(range(entries))
    elif field == "string_data":
        tensor.string_data.extend([b"x"] * entries)
    else:
        getattr(tensor, field).extend(range(entries))
    return tensor


def entries_of_three(dtype: ingot.DType, field: str) -> int | None:
    """How many entries three elements take in a field; None if they cannot be in it."""
    if field == "raw_data":
        return None if dtype is ingot.DType.STRING else -(-3 * dtype.bits // 8)
    if STORED_IN.get(dtype, "int32_data") != field:
        return None
    if dtype.is_complex:
        return 6
    return -(-3 * dtype.bits // 8) if dtype.bits in (2, 4) else 3


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.label)
def test_every_type_in_every_field_with_every_number_of_entries(dtype: ingot.DType, field: str) -> None:
    right = entries_of_three(dtype, field)
    for entries in range(60):
        tensor = stored(dtype, field, entries)
        if not tensor.HasField("raw_data") and entries == 0:
            tensor = TensorProto.FromString(tensor.SerializeToString() + b"")
        data = with_tensor(tensor)
        if entries != right:
            error = refused(data)
            where = field if entries or field == "raw_data" else "raw_data"
            assert error.path == f"model.graph.initializer[0].{where}"
            continue
        ours = tensor_of(ingot.decode(data)).numpy()
        assert ours.shape == (3,)
        if dtype is not ingot.DType.STRING:
            theirs = numpy_helper.to_array(tensor)
            assert np.array_equal(ours.view(np.uint8), theirs.view(np.uint8)) or dtype is ingot.DType.BOOL


@pytest.mark.parametrize("dtype", [d for d in DTYPES if 0 < d.bits < 8], ids=lambda dtype: dtype.label)
@pytest.mark.parametrize("count", range(1, 9))
def test_a_packed_payload_has_exactly_the_bytes_it_takes(dtype: ingot.DType, count: int) -> None:
    needed = -(-count * dtype.bits // 8)
    for size in range(needed + 3):
        data = with_tensor(TensorProto(data_type=int(dtype), dims=[count], raw_data=b"\xff" * size))
        if size == needed:
            assert tensor_of(ingot.decode(data)).numpy().shape == (count,)
        else:
            assert f"take {needed} bytes, {size} are here" in refused(data).message


@pytest.mark.parametrize("payload", [b"\xff\x02\x00\x01", b"\x80\x00\x00\x7f"])
def test_a_bool_of_another_byte_than_one_is_true(payload: bytes) -> None:
    model = ingot.decode(with_tensor(TensorProto(data_type=9, dims=[4], raw_data=payload)))
    assert tensor_of(model).numpy().tolist() == [byte != 0 for byte in payload]
    assert set(tensor_of(model).numpy().view(np.uint8).tolist()) <= {0, 1}
    assert payload in ingot.encode(model), "what the file says stays"


@pytest.mark.parametrize("payload", [b"", b"a", bytes(16)])
def test_strings_in_raw_data_are_refused(payload: bytes) -> None:
    for dims in ([1], [0], []):
        error = refused(with_tensor(TensorProto(data_type=8, dims=dims, raw_data=payload)))
        assert error.message == "strings are stored in string_data"


@pytest.mark.parametrize("place", PLACES)
def test_a_segment_is_kept_and_cannot_be_looked_at(place: str) -> None:
    tensor = TensorProto(name="w", data_type=7, dims=[4], raw_data=bytes(16))
    tensor.segment.begin, tensor.segment.end = -5, 1 << 60
    data = model_with(place, tensor).SerializeToString()
    model = ingot.decode(data)
    (found,) = [tensor for tensor in all_tensors(model) if tensor.name == "w"]
    with pytest.raises(UnsupportedError, match="segment"):
        found.numpy()
    assert ingot.encode(model) == data


@pytest.mark.parametrize("dims", [[1 << 40, 0, 1 << 40], [(1 << 63) - 1] * 1000], ids=["huge and zero", "a thousand"])
def test_sizes_in_text_whose_product_nothing_can_count_are_refused(dims: list[int]) -> None:
    declared = f"float[{', '.join(map(str, dims))}] w = {{}}"
    with pytest.raises(ingot.ParseError):
        tensor_of(parse_model(f'<ir_version: 9, opset_import: ["" : 17]>\ng () => () <{declared}> {{}}')).numpy()


# 7. Sparse tensors.


def with_sparse(indices: Any, dims: list[int], count: int = 2, dtype: Any = np.int64) -> bytes:
    model = plain_model()
    sparse = model.graph.sparse_initializer.add(dims=dims)
    sparse.values.CopyFrom(numpy_helper.from_array(np.ones(count, np.float32), "s"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array(indices, dtype), "i"))
    return bytes(model.SerializeToString())


def sparse_of(data: bytes) -> ingot.SparseTensor:
    (value,) = ingot.decode(data).graph.initializers.values()
    assert isinstance(value.constant, ingot.SparseTensor)
    return value.constant


@pytest.mark.parametrize(
    ("indices", "dims"),
    [
        ([0, 10], [10]),
        ([0, -1], [10]),
        ([0, (1 << 63) - 1], [10]),
        ([0, -(1 << 63)], [10]),
        ([[0, 0], [0, 2]], [2, 2]),
        ([[0, 0], [-1, 0]], [2, 2]),
        ([[0, 0], [1 << 62, 1 << 62]], [2, 2]),
        ([0, 1], [0]),
        ([0, 1], [5, 0]),
        ([[0, 0], [0, 0]], [5, 0]),
        ([0, 1], []),
    ],
)
def test_an_index_outside_a_sparse_tensor_is_an_error_when_it_is_used(indices: Any, dims: list[int]) -> None:
    with pytest.raises(InputError, match="has an index outside its shape"):
        sparse_of(with_sparse(indices, dims)).dense()


@pytest.mark.parametrize("indices", [[3, 1], [1, 1], [[1, 1], [0, 1]], [[1, 1], [1, 1]]])
def test_unsorted_and_doubled_indices_do_no_harm(indices: Any) -> None:
    dense = sparse_of(with_sparse(indices, [2, 2])).dense().numpy()
    assert dense.shape == (2, 2)
    assert set(dense.reshape(-1).tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("indices", "dims", "count"),
    [
        ([0, 1, 2], [10], 2),
        ([0], [10], 2),
        ([[0, 1, 2], [0, 1, 2]], [2, 2], 2),
        ([[[0, 1]], [[0, 1]]], [2, 2], 2),
        ([[0], [1]], [2, 2], 2),
        ([[0, 0]], [2, 2], 2),
        (0, [2, 2], 1),
    ],
)
def test_indices_that_do_not_fit_the_values_are_refused(indices: Any, dims: list[int], count: int) -> None:
    assert "do not give a tensor of" in refused(with_sparse(indices, dims, count)).message


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.uint64])
def test_indices_of_another_type_are_refused(dtype: Any) -> None:
    assert "not int64" in refused(with_sparse([0, 1], [10], dtype=dtype)).message


@pytest.mark.parametrize("dims", [[1 << 32, 1 << 32], [-1], [(1 << 63) - 1, 2]])
def test_a_sparse_shape_that_cannot_be_is_refused(dims: list[int]) -> None:
    refused(with_sparse([0, 1], dims))


@pytest.mark.parametrize("missing", ["values", "indices"])
def test_a_sparse_tensor_without_its_parts_is_refused(missing: str) -> None:
    model = onnx.ModelProto.FromString(with_sparse([0, 1], [10]))
    model.graph.sparse_initializer[0].ClearField(missing)
    assert refused(model.SerializeToString()).message == f"it has no {missing}"


# 3 and 4. Things given twice, and things that contradict each other.


def test_a_function_defined_twice_is_refused() -> None:
    model = plain_model()
    for _ in range(2):
        model.functions.add(name="f", domain="d", overload="o")
    error = refused(model.SerializeToString())
    assert error.message == "function 'd.f:o' is defined twice"


def test_an_attribute_given_twice_is_refused() -> None:
    model = plain_model()
    for value in (1, 2):
        model.graph.node[0].attribute.append(helper.make_attribute("axis", value))
    error = refused(model.SerializeToString())
    assert error.message == "attribute 'axis' is given twice"
    assert error.path == "model.graph.node[0].attribute[1]"


@pytest.mark.parametrize("default", [True, False])
def test_an_attribute_of_a_function_declared_twice_is_refused(default: bool) -> None:
    model = plain_model()
    function = model.functions.add(name="f", domain="d", attribute=["a"] if default else ["a", "a"])
    if default:
        function.attribute_proto.append(helper.make_attribute("a", 1))
    assert "is declared twice" in refused(model.SerializeToString()).message


def test_of_an_operator_set_imported_in_two_versions_the_last_counts() -> None:
    model = plain_model()
    model.opset_import.add(domain="", version=18)
    decoded = ingot.decode(model.SerializeToString())
    assert decoded.opset == 18
    assert ingot.encode(decoded) == model.SerializeToString()


def test_an_operator_set_imported_twice_alike_is_kept() -> None:
    model = plain_model()
    model.opset_import.add(domain="", version=17)
    assert ingot.encode(ingot.decode(model.SerializeToString())) == model.SerializeToString()


@pytest.mark.parametrize("version", [0, -1, 9999, -(1 << 63), (1 << 63) - 1])
def test_versions_may_be_any_number(version: int) -> None:
    model = plain_model()
    model.opset_import[0].version = version
    model.ir_version = version
    model.model_version = version
    decoded = ingot.decode(model.SerializeToString())
    assert (decoded.opset, decoded.ir_version, decoded.model_version) == (version, version, version)


VALUES: dict[str, Any] = {
    "f": 1.0,
    "i": 1,
    "s": b"x",
    "t": numpy_helper.from_array(np.ones(1)),
    "g": helper.make_graph([], "g", [], []),
    "sparse_tensor": onnx.SparseTensorProto.FromString(
        onnx.ModelProto.FromString(with_sparse([0, 1], [10])).graph.sparse_initializer[0].SerializeToString()
    ),
    "tp": helper.make_tensor_type_proto(1, [1]),
    "floats": [1.0],
    "ints": [1],
    "strings": [b"x"],
    "tensors": [numpy_helper.from_array(np.ones(1))],
    "graphs": [helper.make_graph([], "g", [], [])],
    "sparse_tensors": [onnx.ModelProto.FromString(with_sparse([0, 1], [10])).graph.sparse_initializer[0]],
    "type_protos": [helper.make_tensor_type_proto(1, [1])],
}
KINDS = {
    "f": AttributeProto.FLOAT,
    "i": AttributeProto.INT,
    "s": AttributeProto.STRING,
    "t": AttributeProto.TENSOR,
    "g": AttributeProto.GRAPH,
    "sparse_tensor": AttributeProto.SPARSE_TENSOR,
    "tp": AttributeProto.TYPE_PROTO,
    "floats": AttributeProto.FLOATS,
    "ints": AttributeProto.INTS,
    "strings": AttributeProto.STRINGS,
    "tensors": AttributeProto.TENSORS,
    "graphs": AttributeProto.GRAPHS,
    "sparse_tensors": AttributeProto.SPARSE_TENSORS,
    "type_protos": AttributeProto.TYPE_PROTOS,
}


def attribute_with(*fields: str, kind: int | None = None) -> bytes:
    attribute = AttributeProto(name="a", **{field: VALUES[field] for field in fields})
    return bytes(attribute.SerializeToString()) + (b"" if kind is None else integer(20, kind))


@pytest.mark.parametrize(("stated", "given"), list(itertools.permutations(KINDS, 2)), ids=" but ".join)
def test_an_attribute_that_holds_another_kind_than_it_says_is_refused(stated: str, given: str) -> None:
    error = refused(with_attribute(attribute_with(given, kind=KINDS[stated])))
    assert error.message == f"attribute 'a' is of type {_kind_name(stated)} but gives '{given}'"
    refused(with_attribute(attribute_with(stated, given, kind=KINDS[stated])))
    assert (
        f"attribute 'a' has no type, and {_first(stated, given)}"
        in refused(with_attribute(attribute_with(stated, given))).message
    )


def _kind_name(field: str) -> str:
    return {"tp": "TYPE", "type_protos": "TYPES"}.get(field) or AttributeProto.AttributeType.Name(KINDS[field])


def _first(*fields: str) -> str:
    numbers = {name: field.number for name, field in TABLES["AttributeProto"].fields.items()}
    return " and ".join(sorted(fields, key=lambda name: numbers[name]))


@pytest.mark.parametrize("field", KINDS)
def test_an_attribute_without_a_type_has_that_of_its_only_value(field: str) -> None:
    data = with_attribute(attribute_with(field))
    model = ingot.decode(data)
    (node,) = model.graph
    assert node.attributes["a"].kind == KINDS[field]
    assert ingot.encode(model) == data


@pytest.mark.parametrize("number", [15, 99, -1, 1 << 40])
def test_an_attribute_of_an_unknown_type_is_refused(number: int) -> None:
    error = refused(with_attribute(attribute_with("i", kind=number)))
    assert error.message == f"{number} is not an attribute type"


@pytest.mark.parametrize("kind", ["t", "g", "sparse_tensor", "tp"])
def test_an_attribute_without_the_value_it_must_have_is_refused(kind: str) -> None:
    assert refused(with_attribute(attribute_with(kind=KINDS[kind]))).message == "it has no value"


@pytest.mark.parametrize("field", KINDS)
def test_an_attribute_that_refers_and_has_a_value_is_refused(field: str) -> None:
    data = attribute_with(field, kind=KINDS[field]) + delimited(21, b"other")
    assert refused(with_attribute(data)).message == "attribute 'a' both refers and has a value"


ODDITIES = {
    "a value info that says nothing": raw_model(
        delimited(1, delimited(1, b"x") + delimited(2, b"y")) + delimited(13, delimited(1, b"y"))
    ),
    "a tensor whose type is stated as 0": with_attribute(attribute_with("t", kind=0)),
    "a tensor beside an integer of 0": with_attribute(attribute_with("t", kind=4) + integer(3, 0)),
}


@pytest.mark.parametrize("data", ODDITIES.values(), ids=ODDITIES)
def test_oddities_survive_for_other_readers(data: bytes) -> None:
    assert onnx.ModelProto.FromString(ingot.encode(ingot.decode(data))) == onnx.ModelProto.FromString(data)


@pytest.mark.parametrize("way", PLACES_OF_KINDS.values(), ids=PLACES_OF_KINDS)
def test_a_message_given_twice_is_refused_and_a_scalar_given_twice_has_its_last_value(way: list[int]) -> None:
    for index, item in enumerate(_tree_at(way).items):
        field = table_at(way).numbers[item.number]
        if field.repeated:
            continue

        def double(tree: Tree, index: int = index) -> None:
            tree.items.insert(0, tree.items[index])

        data = spoiled(way, double)
        if field.kind is Kind.MESSAGE:
            assert refused(data).message == "it is given twice"
        else:
            assert ingot.encode(ingot.decode(data)) in (RICH, data)


def _tree_at(way: list[int]) -> Tree:
    found: list[Tree] = []
    spoiled(way, found.append)
    return found[0]


GRAPHS: dict[str, Any] = {
    "a cycle": [("Add", ["x", "b"], ["a"]), ("Relu", ["a"], ["b"])],
    "a node that reads itself": [("Relu", ["a"], ["a"])],
    "two of one name": [("Relu", ["x"], ["a"]), ("Relu", ["x"], ["a"])],
    "one output name twice": [("Split", ["x"], ["a", "a"])],
    "an input computed again": [("Relu", ["x"], ["x"])],
    "a value nothing defines": [("Relu", ["nothing"], ["a"])],
    "no names at all": [("", [""], [""]), ("Relu", [], []), ("Relu", ["", ""], ["", ""])],
    "ten thousand inputs": [("Relu", ["x"] * 10_000, ["a"])],
    "ten thousand outputs": [("Relu", ["x"], [f"a{i}" for i in range(10_000)])],
    "the wrong order": [("Relu", ["a"], ["b"]), ("Relu", ["x"], ["a"])],
}


@pytest.mark.parametrize("nodes", GRAPHS.values(), ids=GRAPHS)
def test_graphs_that_make_no_sense_are_read_and_their_problems_listed(nodes: Any) -> None:
    model = plain_model()
    del model.graph.node[:]
    model.graph.node.extend(helper.make_node(op, ins, outs) for op, ins, outs in nodes)
    del model.graph.output[:]
    decoded = ingot.decode(model.SerializeToString())
    found = list(ingot.ir.problems(decoded))
    assert found or max(len(nodes[0][1]), len(nodes[0][2])) == 10_000
    twin = decoded.copy()
    assert len(list(ingot.ir.problems(twin))) == len(found)
    if any("two values are named" in problem for problem in found):
        with pytest.raises(ingot.CheckError, match="two values are named"):
            ingot.encode(decoded)
    else:
        assert ingot.encode(decoded) == ingot.encode(twin) == model.SerializeToString()


# How much memory, how much time.


def bomb(kind: str) -> bytes:
    """About a megabyte that is made to take as much memory as it can."""
    size = 1_000_000
    match kind:
        case "packed ints":
            return with_attribute(delimited(1, b"a") + delimited(8, b"\x01" * size) + integer(20, 7))
        case "large packed ints":
            return with_attribute(delimited(1, b"a") + delimited(8, varint(1 << 62) * (size // 9)) + integer(20, 7))
        case "ints one by one":
            return with_attribute(delimited(1, b"a") + b"\x40\x01" * (size // 2) + integer(20, 7))
        case "floats one by one":
            return with_attribute(delimited(1, b"a") + float_word(7, 1.5) * (size // 5) + integer(20, 6))
        case "packed sizes":
            return with_tensor(delimited(1, b"\x01" * size) + integer(2, 1) + delimited(9, bytes(4)))
        case "small integers":
            return with_tensor(integer(1, size) + integer(2, 3) + delimited(5, b"\x01" * size))
        case "integers one by one":
            return with_tensor(integer(1, size // 2) + integer(2, 3) + b"\x28\x01" * (size // 2))
        case "unknown fields":
            return raw_model(b"", (varint(999 << 3) + b"\x01") * (size // 3))
        case "a long unknown field":
            return raw_model(b"", delimited(999, bytes(size)))
        case "a long text":
            return raw_model(delimited(10, b"x" * size))
        case "a text of wide characters":
            return raw_model(delimited(10, b"x" * size + "𝕏".encode()))
        case "a type in types":
            type_ = delimited(1, integer(1, 1)) + delimited(6, b"x" * (size // 10))
            for _ in range(45):
                type_ = delimited(4, delimited(1, type_))
            return raw_model(delimited(11, delimited(1, b"x") + delimited(2, type_)))
        case "a graph in graphs":
            graph = delimited(10, b"x" * (size // 10))
            for _ in range(30):
                graph = delimited(1, delimited(4, b"If") + delimited(5, delimited(6, graph) + integer(20, 5)))
            return raw_model(graph)
        case "external entries":
            entry = delimited(1, b"k") + delimited(2, b"v")
            return with_tensor(integer(2, 1) + integer(14, 1) + delimited(13, entry) * (size // 8))
        case "bools":
            return with_tensor(TensorProto(data_type=9, dims=[size], raw_data=b"\xff" * size))
        case "bits":
            return with_tensor(TensorProto(data_type=25, dims=[4 * size], raw_data=b"\xff" * size))
    raise AssertionError(kind)


BOMBS = {  # how many times the file; lists of Python numbers take 8 bytes an element, their numbers up to 32
    "packed ints": 35,
    "large packed ints": 12,
    "ints one by one": 20,
    "floats one by one": 20,
    "packed sizes": 35,
    "small integers": 12,
    "integers one by one": 20,
    "unknown fields": 3,
    "a long unknown field": 3,
    "a long text": 3,
    "a text of wide characters": 6,
    "a type in types": 4,
    "a graph in graphs": 4,
    "external entries": 80,
    "bools": 3,
    "bits": 14,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_memory_stays_in_proportion_to_the_file(kind: str) -> None:
    data = bomb(kind)
    tracemalloc.start()
    try:
        model = survives(data)
        if model is not None:
            for tensor in all_tensors(model):
                try:
                    tensor.numpy()
                except IngotError:
                    continue
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < BOMBS[kind] * len(data) + (1 << 20), f"{peak / len(data):.1f} times the file"


PARTS = {
    "nodes": delimited(1, b""),
    "named nodes": delimited(1, delimited(3, b"n") + delimited(4, b"Relu")),
    "nodes with an attribute": delimited(1, delimited(5, delimited(1, b"a") + integer(3, 1) + integer(20, 2))),
    "initialisers": delimited(5, integer(1, 0) + integer(2, 1)),
    "inputs": delimited(11, b""),
    "inputs with a type": delimited(11, delimited(1, b"x") + delimited(2, delimited(1, integer(1, 1)))),
    "value infos": delimited(13, delimited(1, b"x")),
    "metadata": delimited(16, delimited(1, b"k")),
    "annotations": delimited(14, b""),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_takes_about_a_kilobyte_at_most(part: bytes) -> None:
    data = raw_model(part * 20_000)
    tracemalloc.start()
    try:
        ingot.decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak / 20_000 < 1500, f"{peak / 20_000:.0f} bytes a part"


SLOW = {
    "a product of a hundred thousand sizes": "delimited(5, (integer(1, (1 << 63) - 1)) * 100_000 + integer(2, 1))",
    "a product of a hundred thousand twos": "delimited(5, (integer(1, 2)) * 100_000 + integer(2, 1))",
    "a thousand long sizes": "b''.join(delimited(11, delimited(1, b'x') + delimited(2, delimited(1, integer(1, 1) + "
    "delimited(2, delimited(1, delimited(2, b'+'.join(b'(a%d+%d)//c' % (i, j) for i in range(250)))))))) "
    "for j in range(100))",
    "a run of packed and unpacked numbers in turns": "delimited(1, delimited(5, delimited(1, b'a') + "
    "(integer(8, 1) + delimited(8, b'\\x01\\x01')) * 50_000 + integer(20, 7)))",
    "many names that nothing defines": "b''.join(delimited(1, delimited(1, b'%d' % i) + delimited(2, b'o%d' % i)) "
    "for i in range(50_000))",
    "one name for everything": "delimited(1, delimited(1, b'a') + delimited(2, b'a')) * 50_000",
    "an input and an initialiser of each name": "b''.join(delimited(11, delimited(1, b'%d' % i)) + "
    "delimited(5, integer(1, 0) + integer(2, 1) + delimited(8, b'%d' % i)) for i in range(6_000))",
}


def test_a_function_may_return_one_value_any_number_of_times() -> None:
    def seconds(count: int) -> float:
        data = raw_model(b"", delimited(25, delimited(1, b"f") + delimited(5, b"a") * count))
        begun = time.thread_time()
        ingot.decode(data)
        return time.thread_time() - begun

    seconds(1000)
    assert seconds(40_000) < 30 * max(seconds(4000), 0.005)


@pytest.mark.parametrize("graph", SLOW.values(), ids=SLOW)
def test_no_small_file_takes_long(graph: str) -> None:
    script = f"""
import sys
sys.path.insert(0, {next(p for p in sys.path if p.endswith("tests"))!r})
from wiretree import delimited, integer
import ingot
try:
    model = ingot.decode(integer(1, 9) + delimited(7, {graph}) + delimited(8, integer(2, 17)))
    for _ in ingot.ir.problems(model):
        pass
    ingot.encode(model.copy())
except (ingot.DecodeError, ingot.CheckError):
    pass
"""
    subprocess.run([sys.executable, "-c", script], timeout=30, check=True)


# Values outside models.


def values_outside() -> dict[str, tuple[bytes, ingot.ir.Type]]:
    tensor = ingot.TensorType(ingot.DType.FLOAT32)
    sequence = ingot.ir.SequenceType(tensor)
    mapping = ingot.ir.MapType(ingot.DType.INT64, tensor)
    array = numpy_helper.from_array(np.ones(3, np.float32), "t")
    items = onnx.SequenceProto(name="s", elem_type=1, tensor_values=[array, array])
    pairs = onnx.MapProto(name="m", key_type=7, keys=[1, 2], values=items)
    return {
        "tensor": (array.SerializeToString(), tensor),
        "sequence": (items.SerializeToString(), sequence),
        "map": (pairs.SerializeToString(), mapping),
        "optional": (
            onnx.OptionalProto(name="o", elem_type=3, sequence_value=items).SerializeToString(),
            ingot.ir.OptionalType(sequence),
        ),
    }


OUTSIDE = values_outside()


@pytest.mark.parametrize(("data", "type_"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_value_spoiled_in_any_byte_is_refused_or_a_value(data: bytes, type_: ingot.ir.Type) -> None:
    decode_value(data, type_)
    for position in range(len(data)):
        head, tail = data[:position], data[position + 1 :]
        for change in (head, head + tail, head + b"\xff" + tail, head + b"\0" + tail, head + b"\x80" + data[position:]):
            with contextlib.suppress(DecodeError):
                decode_value(change, type_)
