"""The tables of the format: the names of their fields in the order of their slots, deprecated ones included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

_IDENTIFIER = b"ORTM"
"""Bytes 4 to 8 of a file."""

_PRODUCER = b"\x12\x04"
"""Bytes 2 to 4 of a protobuf whose producer, after an IR version below 128, has the name of the identifier. In a
flatbuffer they say that it begins after 64 MiB, which none does: the table that is written last comes first."""

VERSIONS = range(1, 7)
"""The versions of the format that are read. What they differ in is who may run a model, not what the model is: sparse
initialisers came with 2, the doc string of the graph with 3, 8-bit floats with 6; hashes of kernels went with 5."""

Slots: TypeAlias = Mapping[str, int]
"""The slot of each field of a table."""


def is_ort(view: memoryview) -> bool:
    """Whether the bytes of a file are of this format, rather than of protobuf."""
    return view[4:8] == _IDENTIFIER and view[2:4] != _PRODUCER


def _table(fields: str) -> Slots:
    return {name: slot for slot, name in enumerate(fields.split())}


SESSION = _table("ort_version model session_state kernel_type_str_resolver")
MODEL = _table(
    "ir_version opset_import producer_name producer_version domain model_version doc_string graph graph_doc_string"
    " metadata_props"
)
OPSET_ID = _table("domain version")
ENTRY = _table("key value")
GRAPH = _table(
    "initializers node_args nodes max_node_index node_edges inputs outputs sparse_initializers runtime_optimizations"
)
NODE = _table(
    "name doc_string domain since_version index op_type type execution_provider_type inputs outputs attributes"
    " input_arg_counts implicit_inputs"
)
ATTRIBUTE = _table("name doc_string type f i s t g floats ints strings tensors graphs")
TENSOR = _table("name doc_string dims data_type raw_data string_data external_data_offset")
SPARSE_TENSOR = _table("values indices dims")
VALUE_INFO = _table("name doc_string type")
TYPE = _table("denotation value_type value")
TENSOR_TYPE = _table("elem_type shape")
SEQUENCE_TYPE = _table("elem_type")
MAP_TYPE = _table("key_type value_type")
SHAPE = _table("dim")
DIMENSION = _table("value denotation")
DIMENSION_VALUE = _table("dim_type dim_value dim_param")
