"""The page that `ingot explain` prints: every kernel with its nodes, then the nodes that need none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from ingot.cli.bench_page import seconds_text
from ingot.cli.printable import printable
from ingot.cli.show import heading, rows
from ingot.cli.units import counted, size_text
from ingot.tools.inspect.explained import Explained, KernelEntry, NodeEntry
from ingot.tools.inspect.titles import where
from ingot.tools.inspect.trace import How

if TYPE_CHECKING:
    from rich.console import RenderableType

_TIMES = ("time", "share")
_ABSENT = {
    How.KNOWN: "computed when the model is compiled: constants, and sizes",
    How.SAME: "they give what they read",
    How.UNUSED: "no output needs them",
    How.GONE: "folded into others, known, or not needed",
}


def page(model: str, explained: Explained) -> Iterator[RenderableType]:
    """The parts of the page, top to bottom."""
    if explained.kernels:
        threads = f", {counted(explained.threads, 'thread')}" if explained.provider == "cpu" else ""
        yield heading(f"kernels of {model}", explained.provider + threads)
        yield from _kernels(explained)
    if explained.copies:
        yield heading("copies", "of every run, between the host and the memory of the device")
        yield rows((f"to the {copy.to}", copy.value or "", copy.type) for copy in explained.copies)
    called = [node for node in explained.nodes if node.how == How.CALLED.value]
    if called:
        for provider in dict.fromkeys(node.provider for node in called):
            yield heading(where(provider))
            yield rows(_called(node, explained) for node in called if node.provider == provider)
    for how, note in _ABSENT.items():
        nodes = [node for node in explained.nodes if node.how == how.value]
        if nodes:
            yield heading(how.value, note)
            yield rows((node.operator, node.node) for node in nodes)
    yield heading("in all")
    yield rows([(line,) for line in _sums(explained)])


def _kernels(explained: Explained) -> Iterator[RenderableType]:
    """A line of numbers for each kernel, and under it, further in, a line for each of its nodes and what it stores."""
    titles = ("kernel", "size", "bytes", *(_TIMES if explained.seconds is not None else ()))
    lines = [titles, *(_numbers(kernel, explained) for kernel in explained.kernels)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [_aligned(line, widths) for line in lines]
    wide = max(
        [len("stores"), *(len(explained.nodes[place].operator) for each in explained.kernels for place in each.nodes)]
    )
    yield Text(aligned[0], style="dim")
    for kernel, line in zip(explained.kernels, aligned[1:], strict=True):
        yield Text(line)
        yield rows(_parts(kernel, explained, wide), indent=widths[0] + 4)


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    """In columns: the kernel and its size to the left, numbers to the right."""
    kernel, size, *numbers = map(str.ljust, line, widths)
    return "  " + "  ".join([kernel, size, *map(str.rjust, map(str.strip, numbers), widths[2:])])


def _numbers(kernel: KernelEntry, explained: Explained) -> tuple[str, ...]:
    times = () if explained.seconds is None else (_time(kernel.seconds), _share(kernel.seconds, explained))
    return (kernel.kernel, kernel.amount, _bytes(kernel), *times)


def _parts(kernel: KernelEntry, explained: Explained, wide: int) -> Iterator[tuple[str | Text, ...]]:
    for place in sorted([*kernel.nodes, *kernel.views]):
        node = explained.nodes[place]
        notes = [] if place not in kernel.views else ["read in place"] if kernel.nodes else ["copied"]
        others = [each for each in node.kernels if each != kernel.kernel]
        notes += [f"also in {', '.join(others[:3])}{' ...' if len(others) > 3 else ''}"] if others else []
        yield node.operator.ljust(wide), node.node + (f" ({', '.join(notes)})" if notes else "")
    stored = kernel.type if kernel.stores is None else f"{kernel.stores}: {kernel.type}"
    yield Text("stores".ljust(wide), style="dim"), Text(printable(f"{stored}; {kernel.why}"), style="dim")


def _called(node: NodeEntry, explained: Explained) -> tuple[str, ...]:
    times = () if explained.seconds is None else (_time(node.seconds), _share(node.seconds, explained))
    return *times, node.operator, node.node, node.reason or ""


def _bytes(kernel: KernelEntry) -> str:
    read, written = kernel.bytes_read, kernel.bytes_written
    return size_text(read + written) if isinstance(read, int) and isinstance(written, int) else "?"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else seconds_text(seconds)


def _share(seconds: float | None, explained: Explained) -> str:
    return "" if seconds is None else f"{seconds / _whole(explained):.1%}"


def _sums(explained: Explained) -> Iterator[str]:
    computed = explained.counts.get(How.COMPUTED.value, 0)
    parts = [f"{computed:,} computed in {counted(len(explained.kernels), 'kernel')}"]
    called = Counter(where(node.provider) for node in explained.nodes if node.how == How.CALLED.value)
    for how, count in explained.counts.items():
        if how == How.CALLED.value:
            parts += [f"{number:,} {place}" for place, number in called.items()]
        elif how != How.COMPUTED.value:
            parts.append(f"{count:,} {how}")
    yield f"{counted(len(explained.nodes), 'node')}: {', '.join(parts)}"
    moved = [
        kernel.bytes_read + kernel.bytes_written
        for kernel in explained.kernels
        if isinstance(kernel.bytes_read, int) and isinstance(kernel.bytes_written, int)
    ]
    yield f"{size_text(sum(moved))} read and written by kernels"
    if explained.seconds is not None:
        assert explained.seconds_in_kernels is not None
        assert explained.seconds_on_the_reference is not None
        whole, kernels, calls = _whole(explained), explained.seconds_in_kernels, explained.seconds_on_the_reference
        places = " and ".join(called) or How.CALLED.value
        shares = f"{kernels / whole:.1%} in kernels, {calls / whole:.1%} {places}"
        yield f"{seconds_text(explained.seconds)} a run: {shares}, {1 - (kernels + calls) / whole:.1%} around them"


def _whole(explained: Explained) -> float:
    """What shares are of: a run, or its parts if they took longer when they were measured one by one."""
    parts = (explained.seconds_in_kernels or 0.0) + (explained.seconds_on_the_reference or 0.0)
    return max(explained.seconds or 0.0, parts)
