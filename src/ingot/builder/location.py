"""Where in the user's code something went wrong, shown as a traceback shows it."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

from ingot.errors import BuildError

Where = tuple[str, ...]
"""The lines of an error that say where: file and line, the source, a marker under it."""

_HERE = str(Path(__file__).parent) + os.sep


def failure(message: str, *, hint: str | None = None, more: Where = ()) -> BuildError:
    """An error at the line of the user's code that is running now, to be raised."""
    return BuildError(message, where=(*running(), *more), hint=hint)


def user_frame() -> FrameType | None:
    """The innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def running() -> Where:
    """The line of the user's code that is running now."""
    frame = user_frame()
    if frame is None:
        return ()
    code = frame.f_code
    line, last, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if line != frame.f_lineno:
        start = end = None
    elif last != line:
        end = None
    return _shown(code.co_filename, frame.f_lineno, code.co_name, start, end)


def place(frame: FrameType | None) -> str:
    """`file:line` of a frame."""
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def definition(fn: Callable[..., object], parameter: str = "") -> Where:
    """The line that defines `fn`, with the marker under `parameter` if it is named."""
    code = _code_of(fn)
    if code is None:
        return running()
    word = parameter or (code.co_name if code.co_name.isidentifier() else "lambda")
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    begun = "lambda" if code.co_name == "<lambda>" else "def "
    within = False
    for number in range(code.co_firstlineno, code.co_firstlineno + 50):
        source = linecache.getline(code.co_filename, number)
        start = source.find(begun) if not within else 0
        within = within or start >= 0
        if within and (hit := pattern.search(source, start)):
            columns = (len(source[:i].encode()) for i in hit.span())
            return _shown(code.co_filename, number, code.co_name, *columns)
    return _shown(code.co_filename, code.co_firstlineno, code.co_name)


def returning(fn: Callable[..., object]) -> Where:
    """The line on which `fn` returns; where it is defined, if it returns on several."""
    code = _code_of(fn)
    if code is None:
        return running()
    import dis  # only needed once something has gone wrong

    spots = {
        (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("RETURN_VALUE", "RETURN_CONST") and (at := instruction.positions) is not None
    }
    if len({line for line, *_ in spots}) != 1:
        return definition(fn)
    line, last, start, end = spots.pop()
    if line is None:
        return definition(fn)
    return _shown(code.co_filename, line, code.co_name, start, end if last == line else None)


def _code_of(fn: Callable[..., object]) -> CodeType | None:
    code = getattr(fn, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _shown(filename: str, line: int, name: str, start: int | None = None, end: int | None = None) -> Where:
    head = f'File "{filename}", line {line}, in {name}'
    linecache.checkcache(filename)
    source = linecache.getline(filename, line).rstrip()
    if not source:
        return (head,)
    text = source.lstrip()
    if start is None:
        return head, f"  {text}"
    raw = source.encode()  # columns count bytes
    before = len(raw[:start].decode(errors="replace")) - (len(source) - len(text))
    width = len(raw[start:end].decode(errors="replace"))
    return head, f"  {text}", "  " + " " * before + "^" * max(width, 1)
