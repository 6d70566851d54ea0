"""Models in onnxruntime's own format: written by onnxruntime, and table by table for what it would never write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnxruntime

from ingot.format.ort import schema
from ingot.format.ort.schema import Slots

LEVELS = {
    "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def ort_bytes(model: onnx.ModelProto, folder: Path, level: str = "none") -> bytes:
    """The model as onnxruntime writes it after optimising it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = LEVELS[level]
    options.optimized_model_filepath = str(folder / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return (folder / "model.ort").read_bytes()


class Ref:
    """A table by the fields it has, a string, or a vector; one object that is used twice is written once."""

    def __init__(self, content: Any, slots: Slots | None = None) -> None:
        self.content = content
        self.slots = slots


Field: TypeAlias = "tuple[str, float] | Ref"


def table(slots: Slots, fields: Mapping[str, Field | None]) -> Ref:
    """A table; a field is a scalar with its format of `struct`, or what it points to."""
    return Ref({name: field for name, field in fields.items() if field is not None}, slots)


def text(content: str | bytes) -> Ref:
    return Ref(content.encode() if isinstance(content, str) else content)


def numbers(code: str, items: Sequence[float]) -> Ref:
    return Ref((code, list(items)))


def vector(items: Sequence[Ref]) -> Ref:
    return Ref(list(items))


def flatbuffer(root: Ref, identifier: bytes = b"ORTM") -> bytes:
    """The bytes of a table and of all that it points to; offsets go forwards, so what is shared comes last."""
    out = bytearray(struct.pack("<I4s", 0, identifier))
    places: dict[Ref, int] = {}
    pointers: list[tuple[int, Ref]] = [(0, root)]
    for ref in _ordered(root):
        places[ref] = _write(out, ref, pointers)
    for at, ref in pointers:
        struct.pack_into("<I", out, at, places[ref] - at)
    return bytes(out)


def session(model: Ref | None, version: str = "6") -> bytes:
    """A file of a model, in a version of the format."""
    return flatbuffer(table(schema.SESSION, {"ort_version": text(version), "model": model}))


def model_of(graph: Mapping[str, Field | None], **fields: Field) -> bytes:
    """A file of a graph."""
    row = table(schema.OPSET_ID, {"domain": text(""), "version": ("q", 17)})
    given: dict[str, Field | None] = {"ir_version": ("q", 9), "opset_import": vector([row]), **fields}
    return session(table(schema.MODEL, {**given, "graph": table(schema.GRAPH, graph)}))


def node(op_type: str = "Relu", **fields: Field) -> Ref:
    given: dict[str, Field] = {"inputs": vector([text("x")]), "outputs": vector([text("y")]), **fields}
    return table(schema.NODE, {"op_type": text(op_type), "domain": text(""), **given})


def tensor(**fields: Field | None) -> Ref:
    """Two floats of the name `w`, but for what is given."""
    given: dict[str, Field | None] = {"name": text("w"), "data_type": ("i", 1), "dims": numbers("q", [2])}
    return table(schema.TENSOR, {**given, "raw_data": numbers("B", bytes(8)), **fields})


def _ordered(root: Ref) -> list[Ref]:
    """All parts, each after whatever points to it."""
    order: dict[Ref, None] = {}
    pending: list[tuple[Ref, bool]] = [(root, False)]
    while pending:
        ref, done = pending.pop()
        if done:
            order.setdefault(ref)
        elif ref not in order:
            pending.append((ref, True))
            parts = ref.content.values() if isinstance(ref.content, dict) else ref.content
            if not isinstance(ref.content, bytes):
                pending.extend((part, False) for part in parts if isinstance(part, Ref))
    return list(reversed(order))


def _write(out: bytearray, ref: Ref, pointers: list[tuple[int, Ref]]) -> int:
    """Write a part, and note where it points to others; where it lies."""
    out += bytes(-len(out) % 4)
    place = len(out)
    match ref.content:
        case bytes():
            out += struct.pack("<I", len(ref.content)) + ref.content + b"\0"
        case tuple():
            code, items = ref.content
            out += struct.pack(f"<I{len(items)}{code}", len(items), *items)
        case list():
            out += struct.pack("<I", len(ref.content)) + bytes(4 * len(ref.content))
            pointers.extend((place + 4 + 4 * index, item) for index, item in enumerate(ref.content))
        case _:
            return _write_table(out, ref, pointers)
    return place


def _write_table(out: bytearray, ref: Ref, pointers: list[tuple[int, Ref]]) -> int:
    assert ref.slots is not None
    offsets = [0] * len(ref.slots)
    body = bytearray(4)
    inside: list[tuple[int, Ref]] = []
    for name, field in ref.content.items():
        offsets[ref.slots[name]] = len(body)
        if isinstance(field, Ref):
            inside.append((len(body), field))
        body += bytes(4) if isinstance(field, Ref) else struct.pack(f"<{field[0]}", field[1])
    vtable = len(out)
    out += struct.pack(f"<HH{len(offsets)}H", 4 + 2 * len(offsets), len(body), *offsets)
    out += bytes(-len(out) % 4)
    place = len(out)
    struct.pack_into("<i", body, 0, place - vtable)
    out += body
    pointers.extend((place + at, field) for at, field in inside)
    return place
