"""What cannot be converted: collected while converting, and reported all at once."""

from __future__ import annotations

from dataclasses import dataclass

from ingot.errors import ConvertError

_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing that has no way to ONNX: what it is, where the user has it, why not, and what to do."""

    what: str
    place: str = ""
    reason: str = ""
    hint: str | None = None

    def __str__(self) -> str:
        text = self.what
        if self.reason:
            text += f": {self.reason}"
        if self.place:
            text += f" (in {self.place})"
        return text


class Unsupported:
    """The pieces found so far, each once."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []

    def add(self, what: str, *, place: str = "", reason: str = "", hint: str | None = None) -> None:
        """Note a piece; converting goes on, to find the others."""
        piece = Piece(what, place, reason, hint)
        if piece not in self.pieces:
            self.pieces.append(piece)

    def __bool__(self) -> bool:
        return bool(self.pieces)

    def refuse(self, framework: str) -> None:
        """ConvertError that lists every piece, if there is one."""
        if not self.pieces:
            return
        lines = [str(piece) for piece in self.pieces[:_MOST_SHOWN]]
        if len(self.pieces) > _MOST_SHOWN:
            lines.append(f"and {len(self.pieces) - _MOST_SHOWN} more")
        count = f"{len(self.pieces)} piece{'s' if len(self.pieces) > 1 else ''}"
        hints = [piece.hint for piece in self.pieces if piece.hint is not None]
        error = ConvertError(
            f"{count} of the {framework} model cannot be converted",
            where=tuple(lines),
            hint=hints[0] if hints else None,
        )
        for hint in dict.fromkeys(hints[1:]):
            error.add_note(hint)
        raise error
