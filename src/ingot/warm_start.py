"""Warm start: a model opened before is found in the cache by its content, and opened without passes or compiler."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from ingot.cache import contents, directory
from ingot.cache.fingerprint import fingerprint
from ingot.codegen.executable_memory import Code
from ingot.dataclass import dataclass
from ingot.format.content import SourceFile
from ingot.format.load import TEXT_SUFFIXES, ModelSource, load
from ingot.ir.graph import Graph
from ingot.ir.model import Model
from ingot.ir.types import format_shape
from ingot.ir.value import Value
from ingot.runtime import pool_code
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.executable import Executable
from ingot.runtime.limits import RunLimits, refuse_nesting, within_the_stack
from ingot.runtime.provider import Compiler


@dataclass(frozen=True, slots=True)
class ModelKey:
    """The key of a model in the cache: the digest of its content, and the parameters that its plan depends on.

    `content` is None for a large file that is `unseen`: its digest is computed only when a plan is written.
    """

    data: bytes | bytearray | memoryview | SourceFile
    folder: Path | None
    content: str | None
    parameters: tuple[str, ...]
    unseen: contents.Unseen | None = None
    source: str = ""
    """The path, for messages."""


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A model from a plan file: what runs it, its inputs and outputs, and the names of inputs with defaults."""

    executable: Executable
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    defaults: tuple[str, ...]


def key_of(source: object, limits: RunLimits, level: int, machine: str) -> ModelKey | None:
    """The key of a model; None if it is neither a file nor bytes, or is in text form.

    A plan depends on the limits, the optimisation level and the machine, too.
    """
    parameters = (fingerprint(), machine, str(limits.nesting), str(limits.calls), str(level))
    if isinstance(source, bytes | bytearray | memoryview):
        return ModelKey(source, None, contents.digest_of(source), parameters)
    if not isinstance(source, str | os.PathLike) or Path(source).suffix in TEXT_SUFFIXES:
        return None
    path = Path(source)
    uncached = contents.unseen(path)
    named = str(path.absolute())
    if uncached is not None:
        return ModelKey(SourceFile(path), path.parent, None, parameters, uncached, named)
    if not path.is_file():
        return None
    file = SourceFile(path)
    content = contents.digest_of_file(path, file)
    return ModelKey(file, path.parent, content, parameters, source=named)


def load_source(source: Model | ModelSource | ModelKey, limits: RunLimits) -> Model:
    """A model that nothing else references."""
    if isinstance(source, Model):
        refuse_nesting(source, limits)
        with within_the_stack():
            return source.copy()
    if not isinstance(source, ModelKey):
        return load(source)
    data = source.data.content() if isinstance(source.data, SourceFile) else source.data
    return load(data, folder=source.folder)


def find(
    key: ModelKey,
    compiler: Compiler,
    threads: int | None,
    limits: RunLimits,
    assumptions: Assumptions | None = None,
) -> CachedModel | None:
    """The model with a key, on the machine of a compiler.

    None if the cache has no plan file for it, or external weights have changed.

    `assumptions` are what its plan was compiled with, which the key has to name (`with_assumptions`).
    """
    if key.content is None:
        return None
    path = plan_path(key.content, key.parameters)
    if not path.exists():
        return None
    from ingot.runtime import plan_file  # a model opened for the first time needs none

    file = plan_file.read(path, threads or compiler.threads, limits.nodes, compiler.memory)
    if file is None or not all(_is_as_it_was(key.folder, *weights) for weights in file.beside):
        return None
    pool_code.provide(Code(file.thread_pool.entries, file.plan))
    inputs = [Value(name, type_) for name, type_ in file.inputs]
    nodes = cache(lambda: _model(file.calls[0]))
    executable = Executable(file.plan, file.outputs, nodes, limits.most_bytes, assumptions)
    outputs = tuple(Value(name, type_) for name, type_ in file.results)
    return CachedModel(executable, tuple(inputs), outputs, file.defaults)


def with_overrides(key: ModelKey, names: Iterable[str]) -> ModelKey:
    """The key for a session in which the defaults of these inputs are overridden."""
    return replace(key, parameters=(*key.parameters, *sorted(names)))


def with_assumptions(key: ModelKey, assumptions: Assumptions) -> ModelKey:
    """The key for a plan that was compiled with what a run has shown."""
    shapes = {} if assumptions.shapes is None else assumptions.shapes
    parts = (
        "shapes" if assumptions.shapes is not None else "",
        *(f"{name}: {format_shape(shapes[name])}" for name in sorted(shapes)),
        "choices",
        *sorted(assumptions.reversed_choices),
        "types",
        *(f"{name}: {assumptions.types[name]}" for name in sorted(assumptions.types)),
    )
    return replace(key, parameters=(*key.parameters, *parts))


def plan_path(content: str, parameters: tuple[str, ...]) -> Path:
    """The plan file of a content, for the parameters that a plan depends on."""
    return directory.path_of(hashlib.sha256("\n".join((content, *parameters)).encode()).hexdigest(), "plan")


def _model(nodes: bytes) -> Model:
    """The model of nodes that the reference runs: an empty one where there are none."""
    from ingot.format import decode

    return decode(nodes) if nodes else Model(Graph(), {})


def _is_as_it_was(around: Path | None, location: str, content: str) -> bool:
    return around is not None and contents.digest_of_file(around / location) == content
