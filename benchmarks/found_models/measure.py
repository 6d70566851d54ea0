"""One model on onnxruntime and on ingot, in this process: `python -m benchmarks.found_models.measure MODEL`.

Prints one line of JSON: a `Result`, or why onnxruntime does not run the model.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any

import onnx
import onnxruntime

import ingot
from benchmarks.found_models.inputs import Feeds, attempts, declared, nudged
from benchmarks.found_models.judge import excuse, nearer_to_float64, nudged_weights
from benchmarks.found_models.silence import silenced
from benchmarks.package_models import NUDGE, distance
from benchmarks.tables.measure import in_turns
from ingot.compile import Artifacts
from ingot.errors import FallbackWarning
from ingot.ir.graph import Graph
from ingot.prim.tensor import Call
from ingot.tools.inspect.bodies import bodies_in

CLOSE = 1e-3
"""How far apart results may be, as a part of the largest element,"""
SPREADS = 4
"""or how many times as far as onnxruntime is from itself, where a model makes more of differences in rounding."""
BUDGET = 1.0
"""Seconds for the timed runs of a model."""

UNPREDICTABLE = ("Bernoulli", "Multinomial")


@dataclass
class Result:
    """What was measured of a model; `failure` says how ingot fails, or how results differ."""

    nodes: int = 0
    ours: float = 0.0
    theirs: float = 0.0
    start: float = 0.0
    their_start: float = 0.0
    apart: float = 0.0
    spread: float = 0.0
    on_reference: list[str] = field(default_factory=list)
    """`operator: reason` for each node that the reference runs."""
    reference_time: float = 0.0
    """The part of a run's time that these take."""
    failure: str | None = None
    settled: str | None = None
    """Why results that differ are no failure of ingot's."""
    inputs: dict[str, Any] = field(default_factory=dict)


class NotRun(Exception):
    """onnxruntime does not open the model, or does not run it on what was tried."""


def measure(path: Path) -> Result:
    """Both engines on a model in a file, on a copy without noise if it has any; NotRun if onnxruntime has no result."""
    try:
        model = ingot.load(path)
    except ingot.IngotError:
        return _measured(path)  # which says what ingot has against it, if onnxruntime runs it
    if not silenced(model):
        return _measured(path)
    with TemporaryDirectory(prefix="found-") as folder:
        copy = Path(folder, "silenced.onnx")
        ingot.save(model, copy)
        return _measured(copy)


def _measured(path: Path) -> Result:
    feeds, expected, theirs, their_start = _peer(path)
    result = Result(their_start=their_start, inputs={name: list(x.shape) for name, x in feeds.items()})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            begin = perf_counter()
            session = ingot.Session(path, threads=1)
            results = session.run(None, feeds)
            result.start = perf_counter() - begin
            results = session.run(None, feeds)
        except Exception as error:  # whatever ingot has against a model is what is looked for
            result.failure = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            return result
    result.on_reference = [f"whole model: {each.message}" for each in caught if each.category is FallbackWarning]
    result.nodes = sum(1 for _ in _nodes(ingot.load(path).graph))
    _inside(session, feeds, result)
    _compare(path, theirs, feeds, expected, results, result)
    result.ours, result.theirs = in_turns(
        lambda: session.run(None, feeds), lambda: theirs.run(None, feeds), BUDGET, thread_time
    )
    return result


def _peer(path: Path) -> tuple[Feeds, Sequence[Any], Any, float]:
    begin = perf_counter()
    try:
        session = _peer_session(path)
        created = perf_counter() - begin
        inputs = declared(session)
    except Exception as error:  # a reason to leave the model out
        raise NotRun(f"not opened: {' '.join(str(error).split())[:200]}") from None
    failure = ""
    for feeds in attempts(inputs):
        try:
            begin = perf_counter()
            expected = session.run(None, feeds)
            return feeds, expected, session, created + perf_counter() - begin
        except Exception as error:  # the next attempt
            failure = failure or " ".join(str(error).split())[:200]
    raise NotRun(f"no inputs: {failure}")


def _peer_session(path: Path, plain: bool = False) -> Any:
    options = onnxruntime.SessionOptions()
    if plain:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _nudged_session(path: Path) -> Any:
    """A session of the model with each weight a little larger or smaller."""
    with TemporaryDirectory(prefix="found-") as folder:
        copy = Path(folder, "nudged.onnx")
        onnx.save(nudged_weights(onnx.load(path), NUDGE), copy)
        return _peer_session(copy)


def _compare(
    path: Path, theirs: Any, feeds: Feeds, expected: Sequence[Any], results: Sequence[Any], result: Result
) -> None:
    """Note how far results are from onnxruntime's, and it from itself, and who is right; random ones by shape."""
    if any(node.op_type in UNPREDICTABLE for node in _nodes(ingot.load(path).graph)):
        shapes = [[getattr(x, "shape", None) for x in side] for side in (results, expected)]
        if [len(x or ()) for x in shapes[0]] != [len(x or ()) for x in shapes[1]]:
            result.failure = f"shapes {shapes[0]}, not {shapes[1]}"
        return
    result.apart = distance(list(results), list(expected))
    if result.apart > CLOSE:
        others = [theirs.run(None, nudged(feeds, NUDGE))]
        if path.suffix == ".onnx":
            others.append(_peer_session(path, plain=True).run(None, feeds))
            if not any(x.dtype.kind == "f" for x in feeds.values()):  # tokens, which cannot be nudged
                others.append(_nudged_session(path).run(None, feeds))
        result.spread = max(distance(other, list(expected)) for other in others)
    if not result.apart <= max(CLOSE, SPREADS * result.spread):
        shapes = [[(str(getattr(x, "dtype", "")), getattr(x, "shape", None)) for x in s] for s in (results, expected)]
        result.settled = excuse(path, feeds) or nearer_to_float64(path, feeds, results, expected)
        if result.settled:
            return
        more = "" if shapes[0] == shapes[1] else f": {shapes[0]}, not {shapes[1]}"
        result.failure = f"differs by {result.apart:.2g}, onnxruntime from itself by {result.spread:.2g}{more}"[:400]


def _inside(session: ingot.Session, feeds: Feeds, result: Result) -> None:
    """Note the nodes on the reference, and the part of the time that they take."""
    compiled = session.compiled
    if compiled is None:
        return
    every = [compiled, *(body for _, body in bodies_in(compiled))]
    calls = [call for part in every for call in part.program.calls.values() if not _runs_compiled(part, call)]
    result.on_reference += [f"{call.node.op_type}: {' '.join(str(call.reason).split())[:160]}" for call in calls]
    shares = []
    for _ in range(3):
        seen: list[tuple[Any, float, float, float]] = []

        def observe(step: Any, took: float, _: Mapping[str, int], seen: Any = seen) -> None:
            begin = perf_counter() - took
            inside = 0.0
            for _, at, _, alone in reversed(seen):
                if at < begin:
                    break
                inside += alone
            seen.append((step, begin, took, took - inside))

        session.run(None, feeds, observe_steps=observe)
        total = sum(alone for *_, alone in seen)
        on_reference = sum(alone for step, _, _, alone in seen if isinstance(step, Call) and step in calls)
        shares.append(on_reference / total if total else 0.0)
    result.reference_time = min(shares)


def _runs_compiled(part: Artifacts, call: Call) -> bool:
    """Whether a call runs bodies that are compiled: control flow outside of kernels."""
    bodies = part.bodies.get(call, ())
    return bool(bodies) and all(body is not None for body in bodies)


def _nodes(graph: Graph) -> Iterator[Any]:
    for node in graph:
        yield node
        for attribute in node.attributes.values():
            for inner in attribute.graphs:
                yield from _nodes(inner)


def main(arguments: Sequence[str]) -> int:
    try:
        print(json.dumps(asdict(measure(Path(arguments[0])))))
    except NotRun as error:
        print(json.dumps({"not run": str(error)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
