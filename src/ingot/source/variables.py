"""Names of Python for the values of a model: short, from the end of the value's own name, and none of them twice."""

from __future__ import annotations

import builtins
import keyword
import re

_LONGEST = 28
_ENDINGS = re.compile(r"(?:_output_\d+|:\d+)$")
_NO_WORD = re.compile(r"[^0-9A-Za-z]+")


class Variables:
    """The names given out in one Python function, those around it included."""

    def __init__(self, around: Variables | None = None, reserved: frozenset[str] = frozenset()) -> None:
        self._used: set[str] = set(reserved) if around is None else set(around._used)

    def value(self, name: str, op_type: str) -> str:
        """A variable for a value called `name` that a node of `op_type` computes."""
        return self.free(_stem(name, op_type))

    def free(self, stem: str) -> str:
        """`stem`, or with the next free number; not given again."""
        stem = identifier(stem)
        name, count = stem, 1
        while name in self._used:
            count += 1
            name = f"{stem}_{count}"
        self._used.add(name)
        return name

    def free_as_is(self, name: str) -> str:
        """`name`, which is an identifier, or with the next free number; not given again."""
        free, count = name, 1
        while free in self._used:
            count += 1
            free = f"{name}_{count}"
        self._used.add(free)
        return free

    def reserve(self, *names: str) -> None:
        self._used.update(names)

    def reserve_those_of(self, other: Variables) -> None:
        self._used |= other._used


def identifier(text: str) -> str:
    """An identifier of ASCII letters that reminds of `text`, whatever that is; no keyword, no name of Python's own."""
    words = _NO_WORD.sub("_", text).strip("_")[:48].rstrip("_") or "x"
    if words[0].isdecimal():
        words = f"x{words}"
    return (
        f"{words}_" if keyword.iskeyword(words) or keyword.issoftkeyword(words) or hasattr(builtins, words) else words
    )


def is_identifier(text: str) -> bool:
    """Whether a text may stand in a program as the name of an argument or of an attribute."""
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text) and not text.startswith("__")


def _stem(name: str, op_type: str) -> str:
    short = _ENDINGS.sub("", name)
    if not short or short.isdecimal():
        return f"{op_type}_{short}".lower()
    parts = [part for part in re.split(r"[/.:]+", short) if _NO_WORD.sub("", part)]
    if not parts:
        return op_type.lower()
    stem = parts[-1]
    if re.fullmatch(rf"{re.escape(op_type)}(_\d+)?", stem) and len(parts) > 1 and not parts[-2].isdecimal():
        stem = f"{parts[-2]}_{op_type}"
    if stem.isdecimal():
        stem = f"{op_type}_{stem}"
    if len(stem) > _LONGEST:
        stem = stem[-_LONGEST:].lstrip("_0123456789") or op_type
    return stem if "/" not in name and "." not in name else stem.lower()
