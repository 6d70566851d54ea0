"""ModelCompiler: a model written as its session would run it. No provider here compiles nodes into files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from ingot.compat.onnxruntime.enums import GraphOptimizationLevel, OrtCompileApiFlags
from ingot.compat.onnxruntime.errors import Fail, InvalidArgument, Unsupported, loading
from ingot.compat.onnxruntime.options import SessionOptions
from ingot.compat.onnxruntime.prepare import optimised, prepared
from ingot.compat.onnxruntime.values import OrtValue
from ingot.format.save import save
from ingot.ir.model import Model
from ingot.ir.tensor import External, Tensor


@dataclass(frozen=True, slots=True)
class OrtExternalInitializerInfo:
    """Where the bytes of an initialiser lie outside of a model."""

    filepath: str
    file_offset: int
    byte_size: int


GetInitializerLocationFunc = Callable[
    [str, OrtValue, OrtExternalInitializerInfo | None], OrtExternalInitializerInfo | None
]
"""Where an initialiser is to lie, given its name, its value and where it lies now; None for inside of the model."""


class ModelCompiler:
    """Writes a model with what its SessionOptions change and with the passes of a level, as onnxruntime's CPU does."""

    def __init__(
        self,
        sess_options: SessionOptions,
        input_model_path_or_bytes: str | os.PathLike[str] | bytes,
        embed_compiled_data_into_model: bool = False,
        external_initializers_file_path: str | os.PathLike[str] | None = None,
        external_initializers_size_threshold: int = 1024,
        flags: int = OrtCompileApiFlags.NONE,
        graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_DISABLE_ALL,
        get_initializer_location_func: GetInitializerLocationFunc | None = None,
    ) -> None:
        """For a model in a file or in bytes, which is read when it is compiled.

        Initialisers of at least the threshold go to the file, or wherever the function says; not both. The path of the
        file is relative to the folder of the compiled model, or an absolute one below it.
        """
        del embed_compiled_data_into_model  # there is no compiled data
        if not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options are SessionOptions, not {type(sess_options).__name__}")
        if not isinstance(input_model_path_or_bytes, str | os.PathLike | bytes):
            raise TypeError(f"Unable to load from type '{type(input_model_path_or_bytes)}'")
        if not input_model_path_or_bytes:
            kind = "bytes array" if isinstance(input_model_path_or_bytes, bytes) else "path"
            raise ValueError(f"Input model {kind} is empty")
        if external_initializers_file_path and get_initializer_location_func is not None:
            raise ValueError(
                "Cannot initialize ModelCompiler with both `external_initializers_file_path`"
                " and `get_initializer_location_func`"
            )
        self._source: str | bytes
        if isinstance(input_model_path_or_bytes, bytes):
            self._source = input_model_path_or_bytes
        else:
            self._source = os.fspath(input_model_path_or_bytes)
        self._options = sess_options
        self._external = Path(external_initializers_file_path) if external_initializers_file_path else None
        self._threshold = external_initializers_size_threshold
        self._flags = int(flags)
        self._level = graph_optimization_level
        self._location = get_initializer_location_func

    def compile_to_file(self, output_model_path: str | os.PathLike[str] | None = None) -> None:
        """Write the model to a file, by default beside a model in a file, with `_ctx` added to its name."""
        if output_model_path is None and isinstance(self._source, str):
            source = Path(self._source)
            output_model_path = source.with_name(f"{source.stem}_ctx.onnx")
        if not isinstance(output_model_path, str | os.PathLike):
            raise TypeError(f"Output model's filepath is of unexpected type '{type(output_model_path)}'")
        target = Path(output_model_path)
        if self._flags & OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS and target.exists():
            raise Fail(f"Output model file {target} exists already")
        self._write(target)

    def compile_to_bytes(self) -> bytes:
        stream = BytesIO()
        self._write(stream)
        return stream.getvalue()

    def compile_to_stream(self, write_function: Callable[[bytes], None]) -> None:
        """Give the bytes of the model to a function; Fail with its exception if it raises one."""
        if not callable(write_function):
            raise TypeError(f"a stream is a function that takes bytes, not a {type(write_function).__name__}")
        data = self.compile_to_bytes()
        try:
            write_function(data)
        except Exception as error:
            raise Fail(f"{type(error).__name__}: {error}") from error

    def set_ep_context_data_write_func(self, write_func: Callable[..., None]) -> None:
        """Accepted and never called: no provider compiles nodes into data."""
        if not callable(write_func):
            raise TypeError(f"a function that writes can be called, a {type(write_func).__name__} cannot")

    def clear_ep_context_data_write_func(self) -> None:
        """Nothing, as there is nothing to write."""

    def _write(self, target: Path | BytesIO) -> None:
        if self._flags & OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED:
            raise Fail("Unable to compile any nodes. The cpu, the only provider, compiles models when they are opened.")
        if isinstance(self._source, str) and not os.path.exists(self._source):
            raise InvalidArgument(f'Input model path does not exist: "{self._source}"')
        with loading("Load model to compile failed"):
            model = optimised(prepared(self._source, self._options), self._level)
            if self._location is not None:
                _place(model, self._location, target.parent if isinstance(target, Path) else None)
            if isinstance(target, BytesIO):
                if self._external is not None:
                    raise Unsupported("a model in bytes has no folder that its external initialisers could lie in")
                save(model, target)
            elif self._external is not None:
                location = _inside(self._external, target.parent)
                save(model, target, external="one-file", threshold=self._threshold, location=location)
            else:
                save(model, target)


def _place(model: Model, location: GetInitializerLocationFunc, folder: Path | None) -> None:
    """Let a function say where each initialiser lies."""
    for name, value in model.graph.initializers.items():
        tensor = value.constant
        if not isinstance(tensor, Tensor):
            continue
        now = None
        if tensor.external is not None:
            path = Path(tensor.external.folder or "", tensor.external.location)
            now = OrtExternalInitializerInfo(str(path), tensor.external.offset or 0, tensor.nbytes)
        chosen = location(name, OrtValue(tensor.numpy()), now)
        if chosen is None:
            value.constant = Tensor(tensor.numpy(), name=tensor.name)
            continue
        if chosen.byte_size != tensor.nbytes:
            raise InvalidArgument(f"initialiser '{name}' takes {tensor.nbytes} bytes, not {chosen.byte_size}")
        place = External(_relative(chosen.filepath, folder), chosen.file_offset, chosen.byte_size)
        value.constant = Tensor.lazy(tensor.numpy, tensor.dtype, tensor.shape, name=tensor.name, external=place)


def _inside(path: Path, folder: Path) -> str:
    """A path as a model in `folder` writes it; Fail if it leads out of that folder, or into one that is not there."""
    location = Path(_relative(str(path), folder))
    if location.is_absolute() or ".." in location.parts:
        raise Fail(f"external initialisers can only lie in the folder of the model, {folder}, not in {path}")
    if not (folder / location).parent.is_dir():
        raise Fail(f"there is no folder {(folder / location).parent} for the external initialisers")
    return location.as_posix()


def _relative(path: str, folder: Path | None) -> str:
    """A path as a model in `folder` writes it."""
    if folder is None or not os.path.isabs(path):
        return path
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
