"""Where in the user's code an operation comes from."""

from __future__ import annotations

from typing import Any

_THEIRS = ("/site-packages/tensorflow/", "/site-packages/keras/", "/site-packages/tf_keras/")


def place_of(operation: Any) -> str:
    """The node, and `file:line` of the innermost line that is not the framework's own, where TensorFlow kept it."""
    try:
        frames = list(operation.traceback or ())
    except Exception:  # graphs that were loaded have none
        frames = []
    own = [frame for frame in frames if not any(part in frame.filename for part in _THEIRS)]
    own = [frame for frame in own if not frame.filename.startswith(("<", "/tmp/__autograph_generated"))] or own
    node = f"node '{operation.name}'"
    if not own or not own[-1].lineno:
        return node
    frame = own[-1]
    code = f", {frame.line.strip()}" if frame.line else ""
    return f"{node}, {frame.filename}:{frame.lineno}{code}"
