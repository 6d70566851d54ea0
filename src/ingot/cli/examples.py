"""The examples at the end of a help page."""

from __future__ import annotations


def examples(*commands: str) -> str:
    """An epilog for click that shows `commands`, a line each."""
    unwrapped = "\b"  # click's mark for a paragraph to leave as it is
    return "\n".join([unwrapped, "Examples:", *(f"  {command}" for command in commands)])
