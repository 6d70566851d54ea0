"""Where in the user's code a call of a program comes from."""

from __future__ import annotations

import re
from typing import Any

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n\s*(?P<code>.*)')


def place_of(node: Any) -> str:
    """`file:line` and the code of the innermost line that is not torch's own; the module path where there is none."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    own = [frame for frame in frames if "/site-packages/torch/" not in frame["file"]] or frames
    if own:
        frame = own[-1]
        return f"{frame['file']}:{frame['line']}, {frame['code'].strip()}"
    modules = node.meta.get("nn_module_stack") or {}
    path = next(reversed(modules.values()), None) if modules else None
    return f"module {path[0]}" if path and path[0] else f"call {node.name}"
