"""The colours of pictures on light and on dark ground."""

from __future__ import annotations

from ingot.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a picture; `frames` are those of open groups, in turns from the outside to the inside."""

    ground: str
    box: str
    border: str
    text: str
    faint: str
    weight: str
    line: str
    frames: tuple[str, ...]
    port: str
    is_dark: bool


LIGHT = Theme(
    "#ffffff",
    "#ffffff",
    "#9aa4b2",
    "#1d2530",
    "#66707d",
    "#2b5f9e",
    "#8a95a3",
    ("#f5f7fa", "#eaeef3"),
    "#e8f1e4",
    False,
)
DARK = Theme(
    "#14181e", "#1e242c", "#56606d", "#e8ecf1", "#9aa5b2", "#8fbdf2", "#76828f", ("#1a1f27", "#222933"), "#24361f", True
)
