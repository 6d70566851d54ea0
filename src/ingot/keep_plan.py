"""Keep the plan of a model on disk, where a warm start finds it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.cache import contents, directory
from ingot.format import encode
from ingot.format.content import is_still
from ingot.ir.domains import TRAINING
from ingot.ir.extract import extract
from ingot.ir.model import Model
from ingot.ir.sort import reads
from ingot.ir.tensor import Tensor as Held
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.runtime import plan_file, pool_code
from ingot.warm_start import ModelKey, plan_path

if TYPE_CHECKING:
    from ingot.compile import Artifacts, Build


def keep(key: ModelKey, build: Build, outputs: Sequence[Value], model: Model) -> None:
    """Write the plan file of a model in the background; where that is not possible, nothing happens."""
    # no daemon, as the thread that starts it may be: a process waits for it at its end, or short programs kept nothing
    writer = threading.Thread(target=_write, args=(key, build, outputs, model), name="ingot-keep", daemon=False)
    writer.start()


def _write(key: ModelKey, build: Build, outputs: Sequence[Value], model: Model) -> None:
    content = key.content if key.unseen is None else key.unseen.content()
    if content is None:
        return
    try:
        if plan_file.write(plan_path(content, key.parameters), _plan_file(key, build, outputs, model)):
            directory.prune_alone(directory.most_bytes())
    except plan_file.Unstorable:
        return


def _plan_file(key: ModelKey, build: Build, outputs: Sequence[Value], model: Model) -> plan_file.PlanFile:
    artifacts = build.artifacts
    code = pool_code.plain_code()
    if code is None:
        raise plan_file.Unstorable("code that only this process has")
    return plan_file.PlanFile(
        artifacts.plan,
        artifacts.outputs,
        _typed(model.graph.inputs),
        _typed(outputs),
        tuple(value.name for value in model.graph.inputs if value.constant is not None),
        tuple(_nodes(artifacts)),
        code,
        tuple(_beside(model, key.folder)),
        key.source,
    )


def _typed(values: Iterable[Value]) -> tuple[tuple[str, TensorType], ...]:
    named = []
    for value in values:
        if not isinstance(value.type, TensorType):
            raise plan_file.Unstorable(f"an input or output of type {value.type}")
        named.append((value.name, value.type))
    return tuple(named)


def _nodes(artifacts: Artifacts) -> Iterator[bytes]:
    """Models of the nodes that the reference runs, encoded: of a model, then of the bodies in it."""
    nodes = list(artifacts.program.calls)
    if any(node.applies("Gradient", domain=TRAINING) for node in nodes):
        raise plan_file.Unstorable("a gradient, which is of the whole model")
    ends = [value for node in nodes for value in node.outputs if value.name]
    read = [value for node in nodes for value in reads(node) if value not in ends]
    if nodes:
        yield encode(
            extract(artifacts.optimised.model, dict.fromkeys(v.name for v in read) or None, [v.name for v in ends])
        )
    else:
        yield b""
    for bodies in artifacts.bodies.values():
        for body in bodies:
            if body is not None:
                yield from _nodes(body)
                if body.invariants is not None:
                    yield from _nodes(body.invariants)


def _beside(model: Model, around: Path | None) -> Iterator[tuple[str, str]]:
    """The files that a model has external weights in, and the digests of their contents, which are still those read."""
    places: dict[str, Held] = {}
    for graph in model.graphs():
        for value in graph.initializers.values():
            if isinstance(value.constant, Held) and value.constant.external is not None:
                places[value.constant.external.location] = value.constant
    for location, weights in places.items():
        content = None if around is None else contents.digest_of_file(around / location)
        if around is None or content is None:
            raise plan_file.Unstorable("weights in files that are not beside the model")
        if not is_still(weights.raw(), around / location):
            raise plan_file.Unstorable("weights in files that have been written to since")
        yield location, content
