"""A run as a Chrome trace: a file that chrome://tracing and ui.perfetto.dev show as a picture."""

from __future__ import annotations

from typing import Any

from ingot.tools.inspect.measured import Event, Measured


def chrome_trace(measured: Measured) -> dict[str, Any]:
    """The events of one run, in microseconds."""
    return {"traceEvents": [_event(event) for event in measured.events], "displayTimeUnit": "ms"}


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
        "pid": 0,
        "tid": 0,
        "args": details,
    }
