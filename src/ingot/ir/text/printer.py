"""Models, graphs, functions and nodes to ONNX's textual syntax, with a word on what that cannot express."""

from __future__ import annotations

from ingot.errors import UnsupportedError
from ingot.ir.text.foreign import refused_by_onnx
from ingot.ir.text.lost import elided, lost
from ingot.ir.text.parts import Item
from ingot.ir.text.writer import written


def to_text(
    item: Item,
    *,
    elide: int | None = 16,
    strict: bool = False,
    portable: bool = False,
    notes: bool = True,
) -> str:
    """`item` in ONNX's textual syntax; the same item gives the same text.

    The elements of a tensor of more than `elide` elements are left out, with a mark that no parser reads; None writes
    them all. What the syntax cannot express is in comments at the top, unless `notes` is false; `strict` raises an
    UnsupportedError instead, also for elements left out.

    `portable` is for onnx's own parser, which reads less than the syntax has: names that are not identifiers are given
    up where it stumbles over them and they mean nothing, those of tensors in attributes and the exact ones of
    subgraphs. What it still would not read counts like what the syntax cannot express.
    """
    missing = lost(item, elide=elide, portable=portable)
    unread = refused_by_onnx(item, portable=True) if portable else []
    if strict:
        omitted = elided(item, elide)
        if refused := [*missing, *omitted, *unread]:
            hint = "elide=None leaves no elements out" if omitted else None
            raise UnsupportedError("the text would not say everything", where=tuple(refused), hint=hint)
    comments = [f"# lost: {reason}" for reason in missing] + [f"# onnx does not read: {reason}" for reason in unread]
    lines = [" ".join(comment.splitlines()) for comment in comments] if notes else []
    return "\n".join([*lines, written(item, elide=elide, portable=portable)]) + "\n"
