"""A profile for the page: what nodes and groups cost, when threads ran which kernel, and the limits of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from typing import Any

from ingot.compile import Artifacts
from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.precisions import Precision
from ingot.providers import compiling_providers
from ingot.session import Cancel, Session
from ingot.tools.bench.bandwidth import IN_CACHE, IN_MEMORY, copy_limit
from ingot.tools.bench.cores import chosen
from ingot.tools.bench.inputs import described
from ingot.tools.bench.limit import fma_limit
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.by_thread import Piece, pieces_by_thread
from ingot.tools.inspect.measured import Measured, measured
from ingot.tools.inspect.shares import NodeKey, Share, shares
from ingot.tools.inspect.titles import known_sizes
from ingot.tools.inspect.trace import Trace
from ingot.view.answers import Answers
from ingot.view.families import FAMILIES, family_of
from ingot.view.scene import Scene

_MOST_PIECES = 20_000
"""Pieces of kernels on the timeline of a page."""

_MOST_FOLDED = 4
"""Nodes that a pass makes one of, and that are looked for."""

Json = Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Operations a second, and bytes a second from memory and from the second cache, all measured."""

    operations: float
    memory: float
    cache: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured of a model: its steps, what its nodes have of them, and one run by thread."""

    times: Measured
    shares: Mapping[NodeKey, Share]
    pieces: tuple[Piece, ...]
    limits: Limits
    inputs: Mapping[str, str]


def profile(
    model: Model,
    feeds: Mapping[str, Any],
    *,
    threads: int | None,
    precision: Precision | None,
    seconds: float,
    cancel: Cancel,
) -> Profile:
    """Compile a model and measure it on inputs; IngotError as of a session, or where the reference has to run it.

    Interrupted if it was cancelled, after the model was compiled or between two runs.
    """
    session = Session(model, providers=compiling_providers(), threads=threads, fallback=False, precision=precision)
    compiled = session.compiled
    if compiled is None:
        raise InputError("the model was not compiled, so that there are no kernels to measure")
    trace = traced(compiled)
    times = measured(session, trace, feeds, seconds, cancel)
    cancel.check()
    return profiled(session, compiled, trace, times, feeds)


def profiled(session: Session, compiled: Artifacts, trace: Trace, times: Measured, feeds: Mapping[str, Any]) -> Profile:
    """The profile of a model that was measured."""
    pieces = pieces_by_thread(session, compiled, feeds)
    sizes = known_sizes(compiled.plan.inputs, feeds)
    return Profile(times, shares(compiled, trace, times, sizes), pieces, _limits_of(times), described(feeds))


def _limits_of(times: Measured) -> Limits:
    """The limits of what ran the kernels: a device's memory is behind its cache, whose speed is not measured."""
    return limits(times.threads) if times.limits is None else Limits(*times.limits, times.limits[1])


@cache
def limits(threads: int) -> Limits:
    """The limits of so many cores of this machine; it takes a second or two to measure them."""
    cores = chosen(threads)
    return Limits(fma_limit(cores), copy_limit(cores, IN_MEMORY), copy_limit(cores, IN_CACHE))


def profile_json(profile: Profile, scene: Scene, leaves: Mapping[Node | Value, int]) -> Json:
    """A profile in the numbers of a scene; `leaves` are those of its nodes.

    Each cost is seconds, bytes and operations. Levels have the sums of what is inside of them.
    """
    named = {node.label: node for node in leaves if isinstance(node, Node)}
    labels = {label for label, _ in profile.shares}
    nodes: dict[int, Share] = {}
    levels: dict[int, Share] = {}
    numbers: dict[str, int] = {}
    for (label, operator), share in profile.shares.items():
        node = named.get(label)
        if node is None:
            continue  # a pass has put it in, or it is of the body of a function
        leaf = numbers[label] = leaves[_original(node, operator, labels)]
        nodes[leaf] = nodes.get(leaf, Share()).plus(share)
        level: int | None = scene.leaves[leaf][0]
        while level is not None:
            levels[level] = levels.get(level, Share()).plus(share)
            level = scene.around(level)
    times = profile.times
    places = {step.kernel: place for place, step in enumerate(times.steps) if step.kernel is not None}
    known = [piece for piece in profile.pieces if piece.kernel in places][:_MOST_PIECES]
    return {
        "whole": times.whole,
        "kernels": times.kernels,
        "calls": times.calls,
        "runs": times.runs,
        "threads": times.threads,
        "load": times.load,
        "inputs": dict(profile.inputs),
        "nodes": {leaf: _cost(share) for leaf, share in nodes.items()},
        "levels": {level: _cost(share) for level, share in levels.items()},
        "steps": [
            {
                "kernel": step.kernel,
                "title": step.title,
                "cost": [step.seconds, step.bytes_read + step.bytes_written, step.operations],
                "leaves": (own := [numbers[label] for label in step.nodes if label in numbers]),
                "family": _family(scene, own),
            }
            for step in times.steps
        ],
        "timeline": [[places[piece.kernel], piece.thread, piece.begin, piece.seconds] for piece in known],
        "limits": [profile.limits.operations, profile.limits.memory, profile.limits.cache],
    }


@dataclass(frozen=True, slots=True)
class ProfilePage:
    """The answers of a page that shows a profile first, and has no weights."""

    answers: Answers
    profile: Profile

    def everything(self) -> Iterator[tuple[str, Json]]:
        """All that the page shows: paths and their answers."""
        yield from self.answers.everything(weights=False)
        yield "profile", self.answers.numbered(lambda leaves: profile_json(self.profile, self.answers.scene, leaves))


def _original(node: Node, operator: str, labels: Set[str]) -> Node:
    """The node of the file that an optimised one does the work of.

    One that took in others has the label of the last: the convolution that a normalisation was folded into has that of
    the normalisation. The work is that of the first of them with its operator.
    """
    at: Node | None = node
    for _ in range(_MOST_FOLDED):
        if at is None or at.applies(operator, domain=at.domain):
            break
        before = at.inputs[0].producer if at.inputs and at.inputs[0] is not None else None
        at = None if before is None or before.label in labels else before
    return at if at is not None and at.applies(operator, domain=at.domain) else node


def _family(scene: Scene, leaves: Iterable[int]) -> str:
    """The family of operators that says most about nodes: that which is listed first."""
    families = {family_of(node) for leaf in leaves if (node := scene.leaf(leaf).node) is not None}
    return next((family for family in FAMILIES if family in families), "")


def _cost(share: Share) -> list[float]:
    return [share.seconds, round(share.moved), round(share.operations)]
