"""Object files for WebAssembly: the functions that they import."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.errors import CompileError

_MAGIC = b"\0asm"
_IMPORTS = 2
_FUNCTION, _TABLE, _GLOBAL = 0, 1, 3


def refuse_missing(code: bytes) -> None:
    """CompileError if an object file imports a function, or is in another format."""
    if not code.startswith(_MAGIC):
        raise CompileError("an object file of another format")
    names = list(_functions(code))
    if names:
        raise CompileError(f"a kernel needs {', '.join(names)} from elsewhere")


def _functions(code: bytes) -> Iterator[str]:
    """The functions that are imported; they come in one section, after sections of other kinds."""
    at = len(_MAGIC) + 4
    while at < len(code):
        kind, (size, at) = code[at], _number(code, at + 1)
        if kind == _IMPORTS:
            yield from _imported(code, at)
        at += size


def _imported(code: bytes, at: int) -> Iterator[str]:
    count, at = _number(code, at)
    for _ in range(count):
        for _part in ("module", "name"):
            size, at = _number(code, at)
            name, at = code[at : at + size].decode(), at + size
        kind, at = code[at], at + 1
        if kind == _FUNCTION:
            _, at = _number(code, at)
            yield name
        elif kind == _GLOBAL:  # its type, and whether it changes
            at += 2
        else:  # a table, after its type, or memory: one bound, or two
            limited, at = _number(code, at + (kind == _TABLE))
            for _bound in range(1 + (limited & 1)):
                _, at = _number(code, at)


def _number(code: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and what comes after it."""
    total = shift = 0
    while True:
        byte, at = code[at], at + 1
        total |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return total, at
