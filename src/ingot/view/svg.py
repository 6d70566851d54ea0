"""A picture of a model as SVG, with the layout of the page."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from ingot.dataclass import dataclass
from ingot.view.boxes import ROW_HEIGHT, TITLE_HEIGHT, type_text
from ingot.view.curves import curves
from ingot.view.families import FAMILIES
from ingot.view.opening import opened_at_first
from ingot.view.reflow import Placed, place
from ingot.view.scene import Item, Scene

_MARGIN = 16.0
_FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a picture."""

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
    "#ffffff", "#ffffff", "#9aa4b2", "#1d2530", "#66707d", "#2b5f9e", "#8a95a3", ("#f5f7fa", "#eaeef3"), "#e8f1e4", False
)
DARK = Theme(
    "#14181e", "#1e242c", "#56606d", "#e8ecf1", "#9aa5b2", "#8fbdf2", "#76828f", ("#1a1f27", "#222933"), "#24361f", True
)


def svg(scene: Scene, *, theme: Theme = LIGHT, opened: set[int] | None = None, types: bool = True) -> str:
    """The first picture of a model, or the one with these levels open; `types` writes sizes on lines."""
    picture = place(scene, scene.root, opened_at_first(scene) if opened is None else opened)
    width, height = picture.width + 2 * _MARGIN, picture.height + 2 * _MARGIN
    body = "\n".join(_level(scene, picture, _MARGIN, _MARGIN, 0, theme, types))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONT}" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="{theme.ground}"/>\n'
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 1 L7 4 L0 7 z" fill="{theme.line}"/></marker></defs>\n{body}\n</svg>\n'
    )


def _level(scene: Scene, placed: Placed, x: float, y: float, depth: int, theme: Theme, types: bool) -> Iterator[str]:
    """What a level is drawn with, its corner at a point: frames of open items, then lines, then boxes."""
    for item, inner in placed.inner.items():
        left, top = x + placed.lefts[item], y + placed.tops[item]
        fill = theme.frames[(depth + 1) % 2]
        yield _rectangle(left, top, inner.width, inner.height, fill, theme.border, 8, dash=True)
        yield from _level(scene, inner, left, top, depth + 1, theme, types)
    labelled: set[int] = set()
    for curve in curves(placed):
        arrow = placed.level.items[curve.target].kind != "port out" and curve.target not in placed.inner
        yield _path([(x + a, y + b) for a, b in curve.corners], theme, arrow=arrow)
        if types and curve.track not in labelled:
            labelled.add(curve.track)
            yield from _size(scene, placed, curve.track, curve.corners, x, y, theme)
    for item, each in enumerate(placed.level.items):
        if item in placed.inner:
            left, top = x + placed.lefts[item], y + placed.tops[item]
            yield _text(left + 12, top + 18, each.label.title, theme.text, bold=True, halo=theme.frames[(depth + 1) % 2])
        elif each.box.width:
            yield from _box(each, x + placed.lefts[item], y + placed.tops[item], theme)


def _size(
    scene: Scene,
    placed: Placed,
    track: int,
    corners: tuple[tuple[float, float], ...],
    x: float,
    y: float,
    theme: Theme,
) -> Iterator[str]:
    """The sizes of what flows along a line, beside where it leaves its source."""
    line = placed.level.layout.tracks[track].line
    shown = type_text(scene.values[line.values[0]].type) if len(line.values) == 1 else f"{len(line.values)} values"
    if shown and placed.level.items[line.source].kind in ("node", "group"):
        start_x, start_y = corners[0]
        yield _text(x + start_x + 5, y + start_y + 13, shown, theme.faint, size=9, halo=theme.ground)


def _box(item: Item, x: float, y: float, theme: Theme) -> Iterator[str]:
    width, height = item.box.width, item.box.height
    if item.kind in ("input", "output", "outer"):
        yield _rectangle(x, y, width, height, theme.port, theme.border, min(height / 2, 13))
    elif item.kind == "group":
        for shift in (4, 2) if item.members else (2,):
            yield _rectangle(x + shift, y + shift, width, height, theme.box, theme.border, 6)
        yield _rectangle(x, y, width, height, theme.box, theme.border, 6)
        at = x + 8.0
        for family, share in item.mixture:
            part = share * (width - 16)
            colour = FAMILIES[family].dark if theme.is_dark else FAMILIES[family].light
            yield f'<rect x="{at:.1f}" y="{y + height - 5:.1f}" width="{part:.1f}" height="3" fill="{colour}"/>'
            at += part
    else:
        colour = FAMILIES[item.family].dark if theme.is_dark else FAMILIES[item.family].light
        yield _rectangle(x, y, width, height, theme.box if item.label.rows else colour, theme.border, 5)
        if item.label.rows:
            yield (
                f'<path d="M{x + 0.5:.1f} {y + TITLE_HEIGHT - 3:.1f} v{-(TITLE_HEIGHT - 8):.1f} q0 -4.5 4.5 -4.5 '
                f'h{width - 10:.1f} q4.5 0 4.5 4.5 v{TITLE_HEIGHT - 8:.1f} z" fill="{colour}"/>'
            )
    yield _text(x + width / 2, y + 17, item.label.title, theme.text, bold=True, middle=True)
    for number, row in enumerate(item.label.rows):
        colour = theme.weight if row.kind == "weight" else theme.faint
        down = y + TITLE_HEIGHT + ROW_HEIGHT * number + (9 if item.kind == "node" else 6)
        yield _text(x + width / 2, down, row.text, colour, size=10, middle=True)


def _rectangle(
    x: float, y: float, width: float, height: float, fill: str, border: str, radius: float, *, dash: bool = False
) -> str:
    dashes = ' stroke-dasharray="4 3"' if dash else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:.0f}" '
        f'fill="{fill}" stroke="{border}"{dashes}/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    fill: str,
    *,
    size: int = 12,
    bold: bool = False,
    middle: bool = False,
    halo: str = "",
) -> str:
    style = ' font-weight="600"' if bold else ""
    style += ' text-anchor="middle"' if middle else ""
    style += f' paint-order="stroke" stroke="{halo}" stroke-width="3"' if halo else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}"{style}>{escape(text)}</text>'


def _path(corners: list[tuple[float, float]], theme: Theme, *, arrow: bool) -> str:
    (x, y), *others = corners
    steps = [f"M{x:.1f} {y:.1f}"]
    for number, (to_x, to_y) in enumerate(others):
        if abs(to_x - x) < 0.5 and abs(to_y - y) < 0.5:
            continue  # the arrow takes its direction from the last step
        if number % 2 == 0 or abs(to_x - x) < 0.5:
            steps.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            steps.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    end = ' marker-end="url(#arrow)"' if arrow else ""
    return f'<path d="{" ".join(steps)}" fill="none" stroke="{theme.line}" stroke-width="1.2"{end}/>'
