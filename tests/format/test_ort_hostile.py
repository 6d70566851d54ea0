"""Files of onnxruntime's format that onnxruntime would not write: each ends in a DecodeError that says where, soon."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

import ingot
from format.ort_files import Ref, model_of, node, numbers, session, table, tensor, text, vector
from ingot.errors import DecodeError
from ingot.format import Limits
from ingot.format.ort import schema
from ingot.session import Session
from places import all_tensors


def refused(data: bytes, limits: Limits | None = None) -> str:
    """The message of decoding, which must fail and say where."""
    with pytest.raises(DecodeError) as caught:
        ingot.decode(data, limits=limits)
    error = caught.value
    assert error.path is not None
    assert error.path.startswith("model")
    assert error.offset is not None, str(error)
    assert 0 <= error.offset <= len(data)
    return str(error)


def plain(**fields: Ref) -> bytes:
    """A model of one Relu, and what is given of its graph."""
    graph = {"inputs": vector([text("x")]), "outputs": vector([text("y")]), "nodes": vector([node()])}
    return model_of({**graph, **fields})


def attribute(kind: int, **fields: Ref) -> bytes:
    """A model of a node with one attribute."""
    row = table(schema.ATTRIBUTE, {"name": text("a"), "type": ("i", kind), **fields})
    return plain(nodes=vector([node(attributes=vector([row]))]))


def info(type_: Ref) -> bytes:
    """A model whose input is of a type."""
    return plain(node_args=vector([table(schema.VALUE_INFO, {"name": text("x"), "type": type_})]))


def shaped(**fields: Ref) -> Ref:
    return table(
        schema.TYPE, {"value_type": ("B", 1), "value": table(schema.TENSOR_TYPE, {"elem_type": ("i", 1), **fields})}
    )


def test_a_file_made_table_by_table_is_a_model() -> None:
    dim = table(schema.DIMENSION, {"denotation": text("DATA_BATCH")})
    model = ingot.decode(plain(initializers=vector([tensor()])))
    assert [node.op_type for node in model.graph] == ["Relu"]
    [weight] = all_tensors(model)
    np.testing.assert_array_equal(weight.numpy(), [0, 0])
    typed = ingot.decode(info(shaped(shape=table(schema.SHAPE, {"dim": vector([dim])}))))
    assert typed.graph.inputs[0].type == ingot.TensorType(
        ingot.DType.FLOAT32, (None,), axis_denotations=("DATA_BATCH",)
    )


@pytest.mark.parametrize("version", ["1", "2", "3", "4", "5", "6"])
def test_every_version_of_the_format_is_read(version: str) -> None:
    graph = table(schema.GRAPH, {})
    assert not len(ingot.decode(session(table(schema.MODEL, {"graph": graph}), version)).graph)


@pytest.mark.parametrize("version", ["", "0", "7", "06", "x" * 1000])
def test_another_version_is_refused(version: str) -> None:
    assert "1 to 6 are known\n  in model.ort_version at byte" in refused(session(table(schema.MODEL, {}), version))


EMPTY = struct.pack("<I4s", 8, b"ORTM")
WRONG: dict[str, tuple[bytes, str]] = {
    "nothing follows": (EMPTY, "bytes 8 to 12 lie outside of the file, which has 8\n  in model at byte 8"),
    "no root": (struct.pack("<I4s", 0, b"ORTM"), "an offset leads nowhere\n  in model at byte 0"),
    "root outside": (struct.pack("<I4s", 1 << 31, b"ORTM") + bytes(9), "lie outside of the file"),
    "vtable before the file": (EMPTY + struct.pack("<i", 100) + bytes(4), "lie outside of the file"),
    "vtable behind the file": (EMPTY + struct.pack("<i", -100) + bytes(4), "lie outside of the file"),
    "vtable longer than the file": (EMPTY + struct.pack("<iHH", -4, 9000, 4), "lie outside of the file"),
    "table longer than the file": (EMPTY + struct.pack("<iHH", -4, 4, 9000), "lie outside of the file"),
    "no fields": (EMPTY + struct.pack("<iHH", -4, 4, 4), "version '' of onnxruntime's format"),
    "no model": (session(None), "it has no model"),
    "no graph": (session(table(schema.MODEL, {})), "it has no graph"),
    "a field outside of its table": (
        EMPTY + struct.pack("<iHHHH", -4, 8, 4, 2, 0),
        "it lies outside of its table, which has 4 bytes\n  in model.ort_version",
    ),
    "a long string": (
        EMPTY + struct.pack("<iIHHHHI", -8, 12, 6, 8, 4, 0, 1 << 31),
        "lie outside of the file, which has 28\n  in model.ort_version",
    ),
    "bad text": (plain(nodes=vector([node(name=text(b"\xff"))])), "it is not UTF-8\n  in model.graph.nodes[0].name"),
    "a part of a provider": (
        plain(nodes=vector([node(type=("i", 1), execution_provider_type=text("NnapiExecutionProvider"))])),
        "node 'y' is a part that NnapiExecutionProvider has compiled, and what it computes is not in the file",
    ),
    "attribute of no kind": (
        attribute(99),
        "99 is not an attribute type\n  in model.graph.nodes[0].attributes[0].type",
    ),
    "attribute of kind 0": (attribute(0), "0 is not an attribute type"),
    "attribute without a value": (attribute(3, i=Ref(b"")), "is of type STRING and has no such value"),
    "sparse attribute": (attribute(11), "is of type SPARSE_TENSOR and has no such value"),
    "attribute given twice": (
        plain(
            nodes=vector(
                [node(attributes=vector([table(schema.ATTRIBUTE, {"name": text("a"), "type": ("i", 2)})] * 2))]
            )
        ),
        "attribute 'a' is given twice",
    ),
    "value declared twice": (
        plain(node_args=vector([table(schema.VALUE_INFO, {"name": text("x")}) for _ in range(2)])),
        "value 'x' is declared twice\n  in model.graph.node_args[1]",
    ),
    "type of no kind": (info(table(schema.TYPE, {"value_type": ("B", 9)})), "9 is not a kind of type"),
    "type without a value": (info(table(schema.TYPE, {"value_type": ("B", 1)})), "it has no value"),
}
TENSORS: dict[str, tuple[Ref, str]] = {
    "no element type": (tensor(data_type=None), "it has no element type"),
    "odd element type": (tensor(data_type=("i", -1)), "-1 is not an element type"),
    "negative size": (tensor(dims=numbers("q", [-2])), "the size of axis 0 is negative"),
    "overflowing sizes": (tensor(dims=numbers("q", [1 << 32, 1 << 32])), "multiply to more than"),
    "short": (tensor(raw_data=numbers("B", bytes(7))), "2 elements of float32 take 8 bytes, 7 are here"),
    "long": (tensor(raw_data=numbers("B", bytes(9))), "2 elements of float32 take 8 bytes, 9 are here"),
    "absent": (tensor(raw_data=None), "2 elements of float32 take 8 bytes, 0 are here"),
    "floats as strings": (tensor(string_data=vector([])), "elements of float32 are stored in raw_data"),
    "strings as bytes": (tensor(data_type=("i", 8)), "strings are stored in string_data"),
    "too few strings": (tensor(data_type=("i", 8), raw_data=None), "2 strings are declared, 0 are here"),
    "elsewhere": (tensor(external_data_offset=("q", 0)), "another file, which the format does not name"),
}
WRONG |= {
    f"initialiser: {name}": (plain(initializers=vector([row])), message) for name, (row, message) in TENSORS.items()
}
SPARSE = {"values": tensor(), "indices": tensor(data_type=("i", 7), raw_data=numbers("q", [0, 1]))}
WRONG["sparse: no values"] = (plain(sparse_initializers=vector([table(schema.SPARSE_TENSOR, {})])), "it has no values")
WRONG["sparse: float indices"] = (
    plain(sparse_initializers=vector([table(schema.SPARSE_TENSOR, {"values": tensor(), "indices": tensor()})])),
    "its indices are float32, not int64\n  in model.graph.sparse_initializers[0].indices",
)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place(name: str) -> None:
    data, message = WRONG[name]
    assert message in refused(data)


def test_an_operator_that_ingot_lacks_is_named() -> None:
    rows = [
        table(schema.OPSET_ID, {"domain": text(d), "version": ("q", v)}) for d, v in (("", 17), ("com.microsoft", 1))
    ]
    nodes = vector([node("ReorderInput", domain=text("com.microsoft"))])
    type_ = {"name": text("x"), "type": shaped()}
    graph = {"inputs": vector([text("x")]), "outputs": vector([text("y")]), "nodes": nodes}
    data = model_of({**graph, "node_args": vector([table(schema.VALUE_INFO, type_)])}, opset_import=vector(rows))
    with pytest.raises(ingot.CheckError, match=r"com\.microsoft has no operator ReorderInput"):
        Session(data)


def test_nodes_that_wait_for_each_other_are_left_to_the_check() -> None:
    pair = [node(inputs=vector([text(a)]), outputs=vector([text(b)])) for a, b in ("xy", "yx")]
    model = ingot.decode(model_of({"nodes": vector(pair), "outputs": vector([text("y")])}))
    assert [node.outputs[0].name for node in model.graph] == ["y", "x"]
    assert list(ingot.ir.problems(model))


def test_a_tensor_of_many_axes_is_refused_when_it_is_used() -> None:
    for row in (
        tensor(dims=numbers("q", [1] * 100), raw_data=numbers("B", bytes(4))),
        tensor(dims=numbers("q", [1] * 100), data_type=("i", 8), raw_data=None, string_data=vector([text("a")])),
    ):
        [weight] = all_tensors(ingot.decode(plain(initializers=vector([row]))))
        with pytest.raises(ingot.UnsupportedError, match="100 axes"):
            weight.numpy()


def nested(depth: int) -> bytes:
    """Subgraphs inside of subgraphs."""
    graph = table(schema.GRAPH, {})
    for _ in range(depth):
        row = table(schema.ATTRIBUTE, {"name": text("body"), "type": ("i", 5), "g": graph})
        graph = table(schema.GRAPH, {"nodes": vector([node("Loop", attributes=vector([row]))])})
    return session(table(schema.MODEL, {"graph": graph}))


def deep_type(depth: int) -> bytes:
    """Sequences of sequences."""
    type_ = shaped()
    for _ in range(depth):
        type_ = table(schema.TYPE, {"value_type": ("B", 2), "value": table(schema.SEQUENCE_TYPE, {"elem_type": type_})})
    return info(type_)


@pytest.mark.parametrize("make", [nested, deep_type])
def test_nesting_has_a_limit(make: Callable[[int], bytes]) -> None:
    ingot.decode(make(20))
    for depth in (60, 5000):
        assert "tables are nested more than 100 deep" in refused(make(depth))
    assert "more than 20 deep" in refused(make(20), Limits(nesting=20))


def test_the_number_of_parts_has_a_limit() -> None:
    data = plain(nodes=vector([node() for _ in range(100)]))
    ingot.decode(data)
    assert "the model has more than 50 parts" in refused(data, Limits(messages=50))


def bomb(depth: int) -> bytes:
    """Graphs of two nodes whose subgraphs are one and the same: 2 ** depth of them in a file of a few kilobytes."""
    graph = table(schema.GRAPH, {})
    for _ in range(depth):
        row = table(schema.ATTRIBUTE, {"name": text("body"), "type": ("i", 5), "g": graph})
        pair = [node("Loop", attributes=vector([row])) for _ in range(2)]
        graph = table(schema.GRAPH, {"nodes": vector(pair)})
    return session(table(schema.MODEL, {"graph": graph}))


def repeated_weights() -> bytes:
    """A thousand tensors that share 100 kB."""
    raw = numbers("B", bytes(100_000))
    return plain(initializers=vector([tensor(dims=numbers("q", [25_000]), raw_data=raw) for _ in range(1000)]))


def overlapping_strings() -> bytes:
    """Names that begin at every fourth byte of a run, and each go on for 80 kB."""
    spread = vector([text("n") for _ in range(20_000)])
    data = bytearray(plain(inputs=spread))
    tail = len(data)
    data += struct.pack("<I", 80_000) * 40_000
    first = data.index(struct.pack("<I", 20_000))
    for index in range(20_000):
        place = first + 4 + 4 * index
        struct.pack_into("<I", data, place, tail + 4 * index - place)
    return bytes(data)


@pytest.mark.parametrize("data", [bomb(30), repeated_weights(), overlapping_strings()], ids=["graphs", "raw", "text"])
def test_parts_that_overlap_take_no_more_memory_than_the_file(data: bytes) -> None:
    before = time.thread_time()
    tracemalloc.start()
    try:
        assert "parts of the file overlap" in refused(data)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2_000_000 + 300 * len(data)
    assert time.thread_time() - before < 10


def test_strings_may_be_shared() -> None:
    name = text("shared" * 1000)
    data = plain(inputs=vector([name]), nodes=vector([node(inputs=vector([name] * 50)) for _ in range(50)]))
    model = ingot.decode(data)
    assert all(len(node.inputs) == 50 for node in model.graph)
