"""The proof: a converted model and its original run on the same inputs, and what lies between them is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.convert.source import Feeds, Source, Tolerance
from ingot.dtypes import Array
from ingot.errors import IngotError, InputError, VerifyError
from ingot.ir.model import Model
from ingot.session import Session

PROVIDERS = ("cpu", "reference")


@dataclass(frozen=True, slots=True)
class OutputReport:
    """What lies between an output of the model and of the original, over all examples.

    For numbers the largest differences; for labels (integers, booleans, strings) how many of `count` are the same.
    """

    name: str
    absolute: float = 0.0
    relative: float = 0.0
    count: int = 0
    equal: int = 0
    exact: bool = False
    """Whether it must be equal: labels."""
    drawn: bool = False
    """Whether it depends on random numbers: only its shape was compared."""

    def __str__(self) -> str:
        if self.drawn:
            return f"{self.name}: drawn at random, of the same shape"
        if self.exact:
            return f"{self.name}: {self.equal:,} of {self.count:,} equal"
        return f"{self.name}: at most {self.absolute:.1e} apart, relative {self.relative:.1e}"


@dataclass(frozen=True, slots=True)
class Report:
    """How a converted model compares with its original."""

    outputs: tuple[OutputReport, ...]
    examples: int

    def __str__(self) -> str:
        return "\n".join(str(output) for output in self.outputs)


def verify(source: Source, model: Model | None = None, *, providers: Sequence[str] = PROVIDERS) -> Report:
    """A report on `model`, by default the one of `source`; VerifyError where it is further off than the tolerances.

    The error names the output and, where the original shows its intermediate values, the first of them that differs.
    """
    model = source.model if model is None else model
    session = Session(model, providers=providers)
    names = list(session.outputs)
    total: dict[str, OutputReport] = {}
    for number, feeds in enumerate(source.examples):
        expected = _of_the_original(source, feeds)
        if len(expected) != len(names):
            raise VerifyError(f"the original gives {len(expected)} values, the model {len(names)}: {', '.join(names)}")
        for name, wanted, actual in zip(names, expected, session.run(None, feeds), strict=True):
            tolerance = source.tolerances.get(name, source.tolerance)
            report, wrong = compare(name, wanted, actual, tolerance)
            total[name] = _joined(total[name], report) if name in total else report
            if wrong is not None:
                raise _failure(source, model, session, feeds, f"output '{name}' is not the original's: {wrong}", number)
    return Report(tuple(total.values()), len(source.examples))


def _of_the_original(source: Source, feeds: Feeds) -> list[Any]:
    """What the original gives; InputError with what it says if it does not take the example."""
    try:
        return source.original(feeds)
    except (IngotError, MemoryError):
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        shown = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in feeds.items())
        raise InputError(
            f"the original does not run on the example: {lines[0]}", where=(shown,), hint="give one that it takes"
        ) from error


def compare(name: str, wanted: Any, actual: Any, tolerance: Tolerance) -> tuple[OutputReport, str | None]:
    """What lies between two values, and what is wrong about it: None if it is within the tolerance."""
    if isinstance(wanted, list | tuple | Mapping) or isinstance(actual, list | tuple | Mapping):
        return _compare_containers(name, wanted, actual, tolerance)
    wanted, actual = np.asarray(wanted), np.asarray(actual)
    if wanted.shape != actual.shape:
        return OutputReport(name), f"shape {list(actual.shape)}, expected {list(wanted.shape)}"
    if tolerance.absolute == math.inf and wanted.dtype == actual.dtype:
        return OutputReport(name, count=wanted.size, equal=wanted.size, drawn=True), None
    if wanted.dtype.kind in "biuOSUT" and actual.dtype.kind in "biuOSUT":
        return _compare_labels(name, wanted, actual)
    try:
        return _compare_numbers(name, wanted, actual, tolerance)
    except (TypeError, ValueError):
        return OutputReport(name), f"{actual.dtype}, expected {wanted.dtype}"


def _compare_labels(name: str, wanted: Array, actual: Array) -> tuple[OutputReport, str | None]:
    if (wanted.dtype.kind in "biu") != (actual.dtype.kind in "biu"):
        wanted, actual = wanted.astype(str), actual.astype(str)
    same = np.asarray(wanted == actual)
    report = OutputReport(name, count=same.size, equal=int(same.sum()), exact=True)
    if same.all():
        return report, None
    place = tuple(np.argwhere(~same)[0].tolist()) if same.ndim else ()
    shown = f"at {list(place)} it is {actual[place]!r}, expected {wanted[place]!r}"
    return report, f"{report.count - report.equal:,} of {report.count:,} labels differ; {shown}"


def _compare_numbers(name: str, wanted: Array, actual: Array, tolerance: Tolerance) -> tuple[OutputReport, str | None]:
    wide = np.complex128 if "c" in wanted.dtype.kind + actual.dtype.kind else np.float64
    a, b = wanted.astype(wide), actual.astype(wide)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        apart = np.where(same, 0.0, np.abs(a - b))
        apart = np.where(np.isnan(apart), np.inf, apart)
        small = same | (np.abs(a) <= tolerance.absolute)  # of what is next to nothing only the difference counts
        relative = np.where(small, 0.0, apart / np.maximum(np.abs(a), np.finfo(np.float32).tiny))
        largest = np.abs(a[np.isfinite(a)]).max(initial=0.0)
        allowed = tolerance.absolute + tolerance.scaled * largest + tolerance.relative * np.abs(a)
        near = same | (apart <= allowed) & np.isfinite(a)
    report = OutputReport(
        name,
        absolute=float(apart.max(initial=0.0)),
        relative=float(np.where(np.isnan(relative), np.inf, relative).max(initial=0.0)),
        count=near.size,
        equal=int(near.sum()),
    )
    if near.all():
        return report, None
    place = tuple(np.argwhere(~near)[0].tolist()) if near.ndim else ()
    shown = f"at {list(place)} it is {actual[place]:.9g}, expected {wanted[place]:.9g}"
    return (
        report,
        f"{report.count - report.equal:,} of {report.count:,} values differ, up to {apart.max():.3g}; {shown}",
    )


def _compare_containers(name: str, wanted: Any, actual: Any, tolerance: Tolerance) -> tuple[OutputReport, str | None]:
    """Sequences by their elements, maps by their keys."""
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        if set(wanted) != set(actual):
            return OutputReport(name), f"keys {sorted(actual)}, expected {sorted(wanted)}"
        pairs = [(wanted[key], actual[key]) for key in wanted]
    elif isinstance(wanted, Mapping) or isinstance(actual, Mapping) or len(wanted) != len(actual):
        return OutputReport(name), f"a {type(actual).__name__}, expected a {type(wanted).__name__} of {len(wanted)}"
    else:
        pairs = list(zip(wanted, actual, strict=True))
    total, wrong = OutputReport(name), None
    for place, (one, other) in enumerate(pairs):
        report, problem = compare(name, one, other, tolerance)
        total = _joined(total, report)
        if problem is not None and wrong is None:
            wrong = f"element {place}: {problem}"
    return total, wrong


def _joined(one: OutputReport, other: OutputReport) -> OutputReport:
    return OutputReport(
        one.name,
        max(one.absolute, other.absolute),
        max(one.relative, other.relative),
        one.count + other.count,
        one.equal + other.equal,
        one.exact or other.exact,
        one.drawn or other.drawn,
    )


def _failure(source: Source, model: Model, session: Session, feeds: Feeds, message: str, number: int) -> VerifyError:
    where = [f"on example {number} of {len(source.examples)}"]
    first = _first_diverging(source, model, session, feeds)
    if first is not None:
        where.append(first)
    return VerifyError(message, where=tuple(where), hint="verify=False gives the model as it is")


def _first_diverging(source: Source, model: Model, session: Session, feeds: Feeds) -> str | None:
    """Which value inside is the first that the original has otherwise, in the order of the model's nodes."""
    if source.inside is None:
        return None
    expected = source.inside(feeds)
    order = [value for node in model.graph.nodes for value in node.outputs if value.name in expected]
    for value in order:
        try:
            [actual] = session.run([value.name], feeds)
        except InputError:
            continue  # bringing the model to the newest operators left it behind
        _, wrong = compare(value.name, expected[value.name], actual, source.tolerance)
        if wrong is not None:
            node = value.producer
            label = "" if node is None else f" of {node.op_type}"
            return f"the first value that differs is '{value.name}'{label}: {wrong}"
    return None
