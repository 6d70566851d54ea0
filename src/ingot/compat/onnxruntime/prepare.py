"""A model made ready for a session: read as onnxruntime reads it, with what its SessionOptions change."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ingot.compat.onnxruntime.enums import GraphOptimizationLevel
from ingot.compat.onnxruntime.errors import Fail, InvalidProtobuf, ModelLoadCanceled, Unsupported
from ingot.compat.onnxruntime.options import ModelChanges, SessionOptions, entries_of, is_cancelled, model_changes
from ingot.dims import Dim, Expr, substitute
from ingot.dtypes import DType
from ingot.errors import CheckError
from ingot.format.encode import encode
from ingot.format.load import is_ort_path, load, read_file
from ingot.format.ort.schema import is_ort
from ingot.format.save import model_tensors, save
from ingot.ir.interface import change_shapes
from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType
from ingot.ir.value import Value

_FOLDER = "session.model_external_initializers_file_folder_path"
_MOST_COPIED = 1 << 29
_OPTIMISED_FILE = "session.optimized_model_external_initializers_file_name"
_OPTIMISED_SIZE = "session.optimized_model_external_initializers_min_size_in_bytes"


def prepared(source: str | bytes, options: SessionOptions) -> Model:
    """The model in a file or in bytes, with the sizes fixed and the initialisers given in `options`.

    External data of a model in bytes is looked for in the folder an entry of the options names, else in the current
    one. Links to it are followed where the file is a link itself, into the folder that this leads to: so are download
    caches. NotImplemented for the options whose effect we could not give.
    """
    _refuse(options)
    _refuse_other_format(source, options)
    if is_cancelled(options):
        raise ModelLoadCanceled("loading was cancelled: SessionOptions.set_load_cancellation_flag")
    changes = model_changes(options)
    has_files = bool(changes.external or changes.files)
    folder = entries_of(options).get(_FOLDER) or (os.getcwd() if isinstance(source, bytes) else None)
    model = load(source, folder=folder, external="defer" if has_files else "require", trusted=_linked_folders(source))
    _replace_initializers(model, changes)
    _fix_sizes(model, changes)
    return model


def optimised(model: Model, level: GraphOptimizationLevel) -> Model:
    """The model after the passes of a level of onnxruntime: a copy, or the same for the lowest."""
    if level == GraphOptimizationLevel.ORT_DISABLE_ALL:
        return model
    from ingot.passes.optimise import optimise  # all operators

    copy = model.copy()
    optimise(copy, level_of(level))
    return copy


def level_of(level: GraphOptimizationLevel) -> int:
    """How much a model may be changed before it is compiled; past `extended` onnxruntime changes where values lie."""
    return min(int(level), 2)


def write_optimised(model: Model, options: SessionOptions) -> None:
    """Write the optimised model where the options ask for it, its larger initialisers in a file beside if they do."""
    if not options.optimized_model_filepath:
        return
    entries = entries_of(options)
    result = optimised(model, options.graph_optimization_level)
    location = entries.get(_OPTIMISED_FILE)
    if location:
        threshold = int(entries.get(_OPTIMISED_SIZE, "1024"))
        target = options.optimized_model_filepath
        save(result, target, external="one-file", threshold=threshold, location=location)
    else:
        save(result, options.optimized_model_filepath)


def reads_through_links(source: str | bytes, model: Model) -> bool:
    """Whether a model has external data, and its file is a link."""
    return bool(_linked_folders(source)) and any(t.external for t in model_tensors(model, attributes=True))


def _linked_folders(source: str | bytes) -> list[str]:
    """The folder of a model file which is a link, and the one that it leads to."""
    if isinstance(source, bytes) or not os.path.islink(source):
        return []
    return [os.path.dirname(os.path.abspath(source)), os.path.dirname(os.path.realpath(source))]


def leaves_alone(options: SessionOptions) -> bool:
    """Whether options change nothing about a model and where it is read from."""
    return not model_changes(options) and not entries_of(options).get(_FOLDER)


def cacheable(data: bytes | None, model: Model) -> bytes | Model:
    """What a session finds again in the cache: the bytes of a model, made of it if there are none.

    The model itself if it has tensors in other files, or so many that a copy of them would cost more than it saves.
    """
    tensors = list(model_tensors(model, attributes=True))
    if any(tensor.external is not None for tensor in tensors):
        return model
    if data is not None:
        return data
    if sum(tensor.nbytes for tensor in tensors) > _MOST_COPIED:
        return model
    try:
        return encode(model)
    except CheckError:  # two values with one name, which a session says, or mends
        return model


def _refuse(options: SessionOptions) -> None:
    entries = entries_of(options)
    target = options.optimized_model_filepath
    if target and (entries.get("session.save_model_format", "").upper() == "ORT" or is_ort_path(target)):
        raise Unsupported("models cannot be written in onnxruntime's own format (.ort): end the path in .onnx")
    if entries.get("session.disable_cpu_ep_fallback") == "1":
        raise Fail(
            "This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has been"
            " explicitly disabled by the user: session.disable_cpu_ep_fallback"
        )
    if not -1 <= options.log_severity_level <= 4:
        raise RuntimeError(f"Invalid session log severity level: {options.log_severity_level}, they are 0 to 4")


def _refuse_other_format(source: str | bytes, options: SessionOptions) -> None:
    """Refuse a model in another format than the options name."""
    wanted = entries_of(options).get("session.load_model_format", "").upper()
    if wanted in ("ORT", "ONNX"):
        is_ort_format = is_ort(memoryview(source) if isinstance(source, bytes) else read_file(Path(source)))
        if wanted == "ORT" and not is_ort_format:
            raise Fail("session.load_model_format is ORT, and the model is not in that format")
        if wanted == "ONNX" and is_ort_format:
            raise InvalidProtobuf("session.load_model_format is ONNX, and the model is in onnxruntime's own format")


def _replace_initializers(model: Model, changes: ModelChanges) -> None:
    initializers = model.graph.initializers
    for name, replacement in changes.initializers.items():
        if name in initializers:
            _put(initializers[name], Tensor(replacement.numpy().copy()))
    for name, replacement in changes.external.items():
        if name not in initializers:
            continue
        if not _is_external(initializers[name]):
            raise Fail(f"initialiser '{name}' is not external: its data cannot be given from outside")
        _put(initializers[name], Tensor(replacement.numpy().copy()))
    if changes.files:
        for graph in model.graphs():
            for value in graph.initializers.values():
                if _is_external(value):
                    _read_from_memory(value, changes)


def _read_from_memory(value: Value, changes: ModelChanges) -> None:
    tensor = value.constant
    assert isinstance(tensor, Tensor)
    assert tensor.external is not None
    content = changes.files.get(tensor.external.location)
    if content is None:
        return
    start = tensor.external.offset or 0
    view = memoryview(content)[start : start + tensor.nbytes]
    if len(view) != tensor.nbytes:
        raise Fail(
            f"initialiser '{value.name}' takes {tensor.nbytes} bytes at {start} of '{tensor.external.location}',"
            f" which has {len(content)}"
        )
    value.constant = Tensor.from_buffer(bytes(view), tensor.dtype, tensor.shape, name=tensor.name)


def _put(value: Value, new: Tensor) -> None:
    old = value.constant
    assert old is not None
    if (new.dtype, new.shape) != (old.dtype, old.shape):
        raise Fail(f"initialiser '{value.name}' is {_shown(old.dtype, old.shape)}, got {_shown(new.dtype, new.shape)}")
    value.constant = new


def _is_external(value: Value) -> bool:
    return isinstance(value.constant, Tensor) and value.constant.external is not None


def _fix_sizes(model: Model, changes: ModelChanges) -> None:
    by_name = dict[str, Dim](changes.dims_by_name)
    if by_name:

        def fixed(dim: Dim | None) -> Dim | None:
            return substitute(dim, by_name) if isinstance(dim, Expr) else dim

        change_shapes(model.graphs(), lambda shape: tuple(map(fixed, shape)))
    by_denotation = changes.dims_by_denotation
    for value in model.graph.inputs if by_denotation else ():
        type_ = value.type
        if isinstance(type_, TensorType) and type_.shape is not None and type_.axis_denotations:
            sizes = [by_denotation.get(denotation) for denotation in type_.axis_denotations]
            shape = tuple(
                dim if new is None or isinstance(dim, int) else new for dim, new in zip(type_.shape, sizes, strict=True)
            )
            value.type = replace(type_, shape=shape)


def _shown(dtype: DType, shape: tuple[int, ...]) -> str:
    return f"{dtype}{list(shape)}"
