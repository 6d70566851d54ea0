"""Every error and warning ingot raises on purpose: what went wrong, where, and one action to try."""

from __future__ import annotations

from collections.abc import Iterable


class IngotError(Exception):
    """The root of all errors below; `except IngotError` catches whatever ingot says about a model or an input.

    `message` says what is wrong, `where` holds lines that say where, `hint` names one action to try.
    """

    def __init__(self, message: str, *, where: tuple[str, ...] = (), hint: str | None = None) -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message, where, hint)

    def __str__(self) -> str:
        lines = [self.message, *(f"  {line}" for line in self.where)]
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.where, self.hint, self.__dict__)


class DecodeError(IngotError):
    """The bytes are not a model: malformed, truncated, contradictory, or pointing where they may not.

    `offset` is the position in the input (a byte, or a character of text) where it shows, `path` the field.
    """

    def __init__(
        self,
        message: str,
        *,
        offset: int | None = None,
        path: str | None = None,
        where: tuple[str, ...] = (),
        hint: str | None = None,
    ) -> None:
        self.offset = offset
        self.path = path
        place = []
        if path:
            place.append(f"in {path}")
        if offset is not None:
            place.append(f"at byte {offset:,}")
        super().__init__(message, where=((" ".join(place),) if place else ()) + where, hint=hint)


class ParseError(DecodeError):
    """The text is not a model in ONNX's textual syntax; `line` and `column` count from one."""

    def __init__(self, message: str, *, line: int, column: int, source: str = "", hint: str | None = None) -> None:
        self.line = line
        self.column = column
        where = [f"at line {line}, column {column}"]
        if source:
            where += [f"| {source}", "| " + " " * (column - 1) + "^"]
        super().__init__(message, where=tuple(where), hint=hint)


class ExternalDataError(DecodeError):
    """A tensor's external data is missing, out of bounds, or somewhere a model may not point."""


class CheckError(IngotError):
    """The model breaks the ONNX standard."""


class ShapeError(CheckError):
    """Two shapes that must agree do not."""


class BuildError(CheckError):
    """A function handed to the builder does something no model can express; `where` shows the user's line."""


class UnsupportedError(IngotError):
    """The model is fine; this version of ingot cannot do what was asked."""


class ConvertError(UnsupportedError):
    """A model of another framework cannot be expressed in ONNX, or not by this version; `where` lists every piece."""


class VerifyError(ConvertError):
    """A converted model does not give what the original gives."""


class InputError(IngotError):
    """The caller's arguments do not fit: a wrong name, type or value."""


class CompileError(IngotError):
    """A defect of ingot itself; the message says where the dump is."""


class ProviderError(IngotError):
    """A device refused or failed."""


class FallbackWarning(RuntimeWarning):
    """A model that was to run compiled runs on the reference, which takes longer; the message says why."""


def nearest(name: object, names: Iterable[str]) -> str | None:
    """A hint naming what `name` may have been meant to be; None if nothing is like it, or it is no text."""
    from difflib import get_close_matches  # only needed once something has gone wrong

    near = get_close_matches(name, names, 3) if isinstance(name, str) else None
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else None


def _rebuild(
    kind: type[IngotError], message: str, where: tuple[str, ...], hint: str | None, state: dict[str, object]
) -> IngotError:
    error = kind.__new__(kind, message, where, hint)
    IngotError.__init__(error, message, where=where, hint=hint)
    error.__dict__.update(state)
    return error
