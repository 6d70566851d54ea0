"""What a precision costs: the error of each product against float32, that of the outputs, and the time of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.errors import InputError
from ingot.format.load import ModelSource, load
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.precisions import Precision, refuse_precision
from ingot.passes.round_products import products, refuses, round_nodes, round_products
from ingot.quantise.error import Noise, OutputError
from ingot.quantise.report import Layer
from ingot.quantise.samples import Samples
from ingot.queries.lenient_inference import gather
from ingot.session import Session

MEASURED = 8
"""Samples that errors are measured on, at most."""

_SECONDS, _ROUNDS = 1.0, 20
"""How long, and how often at most, either precision is run to measure its time."""


@dataclass(frozen=True, slots=True)
class LayerError:
    """A product in a precision beside the same in float32, on samples."""

    name: str
    operator: str
    snr: float
    """Decibels of its result, computed from what float32 gives it: what its own rounding costs."""
    snr_so_far: float
    """Decibels of its result where all products before it are rounded too."""

    @property
    def relative(self) -> float:
        """The size of its own error over the size of its result."""
        return 10 ** (-self.snr / 20)


@dataclass(frozen=True, slots=True)
class PrecisionReport:
    """What running the products of a model in a precision costs and brings, on samples."""

    precision: Precision
    layers: tuple[LayerError, ...]
    """The products that are rounded, the one with the largest error of its own first."""
    in_float: tuple[Layer, ...]
    """The products that stay in float32, and why."""
    outputs: tuple[OutputError, ...]
    samples: int
    seconds_in_float: float
    seconds: float
    """The least time of a run, on the first sample."""

    @property
    def snr(self) -> float:
        """The least signal over noise of all outputs, in decibels."""
        return min((error.snr for error in self.outputs), default=math.inf)

    @property
    def speedup(self) -> float:
        return self.seconds_in_float / self.seconds


def precision_report(
    model: Model | ModelSource, data: Any, precision: Precision = "bf16", *, threads: int | None = None
) -> PrecisionReport:
    """What `Session(model, precision=precision)` costs against float32 on `data`, and how much faster it is.

    `data` is what `quantize` takes: an iterable of feeds, a folder or file of arrays, or a reader with `get_next`; the
    first samples are measured. InputError if it does not fit, or the model has no product by constant weights.
    """
    refuse_precision(precision)
    original = model if isinstance(model, Model) else load(model)
    exact, rounded = (_session(original, threads, name) for name in (None, precision))
    assert exact.compiled is not None  # without fallback
    optimised = exact.compiled.optimised.model
    facts = gather(optimised)
    candidates = [node for node in products(optimised, facts) if node.graph is optimised.graph]
    if not candidates:
        raise InputError("the model has no product of float32 by constant weights", hint="there is nothing to round")
    in_float = [(node, reason) for node in candidates if (reason := refuses(node, facts, precision)) is not None]
    with Samples(data, list(original.graph.inputs)) as samples:
        feeds = samples.first(MEASURED)
    layers = _layer_errors(optimised, precision, feeds, threads)
    names = original.graph.outputs.names
    noises = [Noise() for _ in names]
    for sample in feeds:
        for noise, one, other in zip(noises, exact.run(names, sample), rounded.run(names, sample), strict=True):
            noise.update(one, other)
    seconds = _times((exact, rounded), feeds[0])
    return PrecisionReport(
        precision,
        layers,
        tuple(Layer(node.label, node.op_type, reason) for node, reason in in_float),
        tuple(noise.error(name) for name, noise in zip(names, noises, strict=True)),
        len(feeds),
        *seconds,
    )


def _session(model: Model, threads: int | None, precision: Precision | None = None) -> Session:
    return Session(model, providers=("cpu", "reference"), threads=threads, fallback=False, precision=precision)


def _layer_errors(
    optimised: Model, precision: Precision, samples: Sequence[Mapping[str, Array]], threads: int | None
) -> tuple[LayerError, ...]:
    """The errors of all products of the main graph that are rounded, the largest first."""
    beside, rounded = optimised.copy(), optimised.copy()
    pairs = _with_twins(beside, precision)
    if not pairs:
        return ()
    facts = gather(rounded)
    wanted = [node.outputs[0].name for node, _ in pairs]
    _return(rounded, [rounded.graph.value(name) for name in wanted], facts)
    round_products(rounded, facts, precision)
    own, so_far = ([Noise() for _ in pairs] for _ in range(2))
    exact_and_twins, all_rounded = _session(beside, threads), _session(rounded, threads)
    twins = [twin for _, twin in pairs]
    for sample in samples:
        exact = exact_and_twins.run(wanted, sample)
        for noise, one, other in zip(own, exact, exact_and_twins.run(twins, sample), strict=True):
            noise.update(one, other)
        for noise, one, other in zip(so_far, exact, all_rounded.run(wanted, sample), strict=True):
            noise.update(one, other)
    errors = [
        LayerError(node.label, node.op_type, noise.decibels, both.decibels)
        for (node, _), noise, both in zip(pairs, own, so_far, strict=True)
    ]
    return tuple(sorted(errors, key=lambda error: error.snr))


def _with_twins(model: Model, precision: Precision) -> list[tuple[Node, str]]:
    """Add a rounded twin to each product that can be rounded, and return both; the nodes and the twins' outputs."""
    facts, graph = gather(model), model.graph
    pairs: list[tuple[Node, str]] = []
    twins: list[Node] = []
    for node in products(model, facts):
        if node.graph is not graph or refuses(node, facts, precision) is not None:
            continue
        names = [graph.fresh_name(f"{value.name}_{precision}") for value in node.outputs[:1]]
        twin = Node(node.op_type, node.inputs, names, list(node.attributes.values()), domain=node.domain)
        graph.insert_before(node, twin)
        facts[twin.output] = facts[node.outputs[0]]
        _return(model, [node.outputs[0], twin.output], facts)
        pairs.append((node, twin.output.name))
        twins.append(twin)
    round_nodes(model, twins, facts, precision)
    return pairs


def _return(model: Model, values: Sequence[Value], facts: Facts) -> None:
    """Return values of the main graph beside what it returns."""
    for value in values:
        value.type = value.type or facts[value].type
        if value not in model.graph.outputs:
            model.graph.outputs.append(value)


def _times(sessions: Sequence[Session], feeds: Mapping[str, Array]) -> list[float]:
    """The least seconds of a run of each, in turns."""
    for session in sessions:
        for _ in range(2):  # the first one runs drafts of kernels, and the second waits for the kernels
            session.run(None, feeds)
    least = [math.inf for _ in sessions]
    begin = perf_counter()
    for _ in range(_ROUNDS):
        for place, session in enumerate(sessions):
            start = perf_counter()
            session.run(None, feeds)
            least[place] = min(least[place], perf_counter() - start)
        if perf_counter() - begin > _SECONDS * len(sessions):
            break
    return least
