"""A run as a Chrome trace: a file that chrome://tracing and ui.perfetto.dev show as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingot.tools.inspect.by_thread import Piece
from ingot.tools.inspect.measured import Event, Measured

_STEPS, _THREADS = 0, 1
"""Rows of the picture: kernels one by one, as they are measured, and a run as it is, by thread."""


def chrome_trace(measured: Measured, pieces: Sequence[Piece] = ()) -> dict[str, Any]:
    """The steps of a measured run, and the pieces of kernels of one that was not, in microseconds."""
    steps = {step.kernel: step.title for step in measured.steps}
    names = [_named(_STEPS, "kernels one by one")]
    names += [_named(_THREADS, "kernels by thread")] if pieces else []
    events = [_event(event) for event in measured.events]
    events += [_piece(piece, steps.get(piece.kernel, piece.kernel)) for piece in pieces]
    return {"traceEvents": names + events, "displayTimeUnit": "ms"}


def _named(process: int, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": name}}


def _event(event: Event) -> dict[str, Any]:
    step = event.step
    details: dict[str, Any] = {"nodes": list(step.nodes)}
    if step.kernel is not None:
        details |= {
            "kernel": step.kernel,
            "operations": step.operations,
            "bytes_read": step.bytes_read,
            "bytes_written": step.bytes_written,
        }
    return {
        "name": step.title,
        "cat": "reference" if step.kernel is None else "kernel",
        "ph": "X",
        "ts": event.begin * 1e6,
        "dur": event.seconds * 1e6,
        "pid": _STEPS,
        "tid": 0,
        "args": details,
    }


def _piece(piece: Piece, title: str) -> dict[str, Any]:
    return {
        "name": title,
        "cat": "piece",
        "ph": "X",
        "ts": piece.begin * 1e6,
        "dur": piece.seconds * 1e6,
        "pid": _THREADS,
        "tid": piece.thread,
        "args": {"kernel": piece.kernel},
    }
