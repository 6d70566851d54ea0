"""The page that `ingot external` prints: files of weights, and the tensors in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ingot.cli.placement import PlacedFile
from ingot.cli.show import heading, rows
from ingot.cli.units import counted, size_text

if TYPE_CHECKING:
    from rich.console import RenderableType


def page(files: Sequence[PlacedFile], *, looked_for: bool) -> Iterator[RenderableType]:
    """A table for each file with several tensors, then one for all files with a single tensor."""
    absent = "missing" if looked_for else "not looked for: give --folder"
    for file in files:
        if len(file.tensors) > 1:
            state = [] if file.found else [absent]
            yield heading(
                file.location, ", ".join([counted(len(file.tensors), "tensor"), size_text(file.bytes), *state])
            )
            cells = ((f"{t.offset:,}", size_text(t.bytes), t.type, t.name) for t in file.tensors)
            yield rows([("offset", "size", "type", "tensor"), *cells], right=(0, 1))
    alone = [file for file in files if len(file.tensors) == 1]
    if alone:
        size = size_text(sum(file.bytes for file in alone))
        yield heading("a tensor a file", f"{counted(len(alone), 'file')}, {size}")
        yield rows((_alone(file, absent) for file in alone), right=(0,))


def _alone(file: PlacedFile, absent: str) -> tuple[str, str, str]:
    [tensor] = file.tensors
    start = f" from byte {tensor.offset:,}" if tensor.offset else ""
    state = "" if file.found else f" ({absent})"
    return size_text(tensor.bytes), tensor.type, f"{tensor.name} in {file.location}{start}{state}"
