"""The page that `ingot profile` prints: kernels by the time they take, and how that adds up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from ingot.cli.bench_page import busy, seconds_text
from ingot.cli.show import heading, rows
from ingot.cli.units import counted, size_text
from ingot.tools.inspect.measured import Measured, Step

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS = ("time", "share", "calls", "GFLOP/s", "GB/s", "kernel", "what")
_RIGHT = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class _Group:
    """Steps that are alike, taken together."""

    title: str
    steps: list[Step]

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def page(model: str, inputs: Mapping[str, str], measured: Measured, *, each: bool = False) -> Iterator[RenderableType]:
    """The parts of the page, top to bottom; alike kernels have one row, unless `each` is to have its own."""
    about = [f"{name} {type_}" for name, type_ in inputs.items()]
    where = counted(measured.threads, "thread") if measured.limits is None else measured.provider
    yield heading(f"{model}, {where}, {counted(measured.runs, 'run')}", ", ".join(about))
    total = sum(step.seconds for step in measured.steps)
    shown: list[tuple[str | Text, ...]] = [tuple(Text(name, style="dim") for name in COLUMNS)]
    groups = sorted(_groups(measured.steps, each), key=lambda group: -group.seconds)
    shown += [_cells(group, total) for group in groups]
    yield rows(shown, right=_RIGHT)
    yield heading("in all")
    yield rows(_totals(measured), right=(0,))
    yield from busy(measured.load)


def _groups(steps: tuple[Step, ...], each: bool) -> list[_Group]:
    groups: dict[str, _Group] = {}
    for place, step in enumerate(steps):
        groups.setdefault(str(place) if each else step.title, _Group(step.title, [])).steps.append(step)
    return list(groups.values())


def _cells(group: _Group, total: float) -> tuple[str, ...]:
    first, seconds = group.steps[0], group.seconds
    share = seconds / total if total else 0.0
    more = f" +{len(group.steps) - 1}" if len(group.steps) > 1 else ""
    return (
        seconds_text(seconds),
        f"{share:.1%}",
        str(len(group.steps)),
        _rate(sum(step.operations for step in group.steps), seconds),
        _rate(sum(step.bytes_read + step.bytes_written for step in group.steps), seconds),
        f"{first.kernel or '-'}{more}",
        group.title,
    )


def _rate(amount: int, seconds: float) -> str:
    if not amount or not seconds:
        return ""
    rate = amount / seconds / 1e9
    return f"{rate:.0f}" if rate >= 99.5 else f"{rate:.1f}" if rate >= 0.05 else "0.0"


def _totals(measured: Measured) -> Iterator[tuple[str, str]]:
    kernels = [step for step in measured.steps if step.kernel is not None]
    operations, moved = (
        sum(step.operations for step in kernels), sum(step.bytes_read + step.bytes_written for step in kernels)
    )  # fmt: skip
    rates = f"{_rate(operations, measured.kernels) or 0} GFLOP/s, {_rate(moved, measured.kernels) or 0} GB/s"
    yield seconds_text(measured.kernels), f"in {counted(len(kernels), 'kernel')}: {rates}, {size_text(moved)} moved"
    if measured.limits is not None and measured.kernels:
        of = [_share_of(operations, measured.kernels, measured.limits[0])]
        of.append(_share_of(moved, measured.kernels, measured.limits[1]))
        limits = f"{measured.limits[0] / 1e9:,.0f} GFLOP/s of float32 and {measured.limits[1] / 1e9:,.0f} GB/s"
        yield "", f"of the {limits} that the device has: {of[0]} and {of[1]}"
    if len(kernels) < len(measured.steps):
        where = "on the reference" if measured.provider == "cpu" else "one by one"
        yield seconds_text(measured.calls), f"in {counted(len(measured.steps) - len(kernels), 'node')} {where}"
    yield seconds_text(measured.whole), f"a run as a whole, {_compared(measured)}"
    if measured.limits is None:
        start = "starting a kernel alone to measure it, which a run does not do"
        yield seconds_text(measured.start), f"{start}: taken off each of them"


def _share_of(amount: int, seconds: float, limit: float) -> str:
    return f"{amount / seconds / limit:.0%}"


def _compared(measured: Measured) -> str:
    parts = measured.kernels + measured.calls
    rest = measured.whole - parts
    return f"{seconds_text(abs(rest))} {'more' if rest >= 0 else 'less'} than its parts"
