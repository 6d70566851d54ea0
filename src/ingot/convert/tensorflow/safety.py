"""What a SavedModel would run as it is loaded: looked at before it is, and refused unless it only fills tables.

Loading runs the functions that make and fill resources. Those of a SavedModel may be any operators, also ones that
write files; a SavedModel from a stranger is looked at here as the data it is, before TensorFlow sees it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ingot.convert.unsupported import Unsupported
from ingot.errors import ConvertError, InputError

_FILLING = frozenset(
    [
        "Const",
        "Placeholder",
        "Identity",
        "IdentityN",
        "NoOp",
        "Cast",
        "Reshape",
        "Range",
        "Shape",
        "Pack",
        "ExpandDims",
        "Size",
        "Fill",
        "StridedSlice",
        "Unpack",
        "Concat",
        "ConcatV2",
        "ZerosLike",
        "OnesLike",
        "Add",
        "AddV2",
        "Sub",
        "Mul",
        "StringJoin",
        "PartitionedCall",
        "StatefulPartitionedCall",
        "HashTable",
        "HashTableV2",
        "AnonymousHashTable",
        "MutableHashTableV2",
        "AnonymousMutableHashTable",
        "MutableDenseHashTableV2",
        "MutableHashTableOfTensorsV2",
        "InitializeTable",
        "InitializeTableV2",
        "LookupTableImportV2",
        "LookupTableSizeV2",
        "InitializeTableFromTextFileV2",
        "DestroyResourceOp",
        "VarHandleOp",
        "VarIsInitializedOp",
        "ReadVariableOp",
        "AssignVariableOp",
        "DenseHashTable",
        "If",
        "StatelessIf",
        "LookupTableInsertV2",
        "LookupTableExportV2",
        "LookupTableFindV2",
    ]
)
"""Operators that make and fill tables and variables, and nothing else."""

_RUN_ON_LOADING = ("_create_resource", "_initialize", "_destroy_resource", "__initializer")


def check_saved_model(path: Path) -> None:
    """ConvertError naming every operator that loading a SavedModel would run and that does more than fill tables."""
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    saved = SavedModel()
    try:
        saved.ParseFromString((path / "saved_model.pb").read_bytes())
    except Exception as error:
        raise InputError(f"'{path}' holds no SavedModel that can be read: {error}") from error
    unsupported = Unsupported()
    for meta in saved.meta_graphs:
        if not meta.HasField("object_graph_def"):
            raise ConvertError(
                f"'{path}' was written by TensorFlow 1: loading it would run its whole graph",
                hint="load it where you trust it, and write it again by tf.saved_model.save",
            )
        for asset in meta.asset_file_def:
            if ".." in PurePosixPath(asset.filename).parts or PurePosixPath(asset.filename).is_absolute():
                unsupported.add("asset", reason=f"it lies outside of the SavedModel: '{asset.filename}'")
        functions = {each.signature.name: each for each in meta.graph_def.library.function}
        for name in _reached(functions, _run_on_loading(meta.object_graph_def)):
            for node in functions[name].node_def:
                if node.op not in _FILLING:
                    unsupported.add(node.op, place=f"function '{name}'", reason="loading the SavedModel would run it")
                if node.op == "InitializeTableFromTextFileV2" and not _is_asset(functions[name], node):
                    unsupported.add(
                        node.op, place=f"function '{name}'", reason="it reads a file that is no asset of the SavedModel"
                    )
    unsupported.refuse("TensorFlow")


def _run_on_loading(objects: Any) -> Iterator[str]:
    """The names of the functions that make, fill and free the resources of a SavedModel."""
    for node in objects.nodes:
        for child in node.children:
            if child.local_name in _RUN_ON_LOADING:
                yield from objects.nodes[child.node_id].function.concrete_functions
                bare = objects.nodes[child.node_id].bare_concrete_function.concrete_function_name
                if bare:
                    yield bare


def _reached(functions: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Those of the functions that are called, also by each other."""
    reached: dict[str, None] = {}
    left = [name for name in names if name in functions]
    while left:
        name = left.pop()
        if name in reached:
            continue
        reached[name] = None
        for node in functions[name].node_def:
            for value in node.attr.values():
                each = [value.func.name, *(func.name for func in value.list.func)]
                left += [inner for inner in each if inner in functions]
    return list(reached)


def _is_asset(function: Any, node: Any) -> bool:
    """Whether the file a table is read from is given to the function, as assets are, and no constant in it."""
    arguments = {each.name for each in function.signature.input_arg}
    return len(node.input) > 1 and node.input[1].partition(":")[0] in arguments
