"""A picture of a model as SVG, with the layout of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape

from ingot.dataclass import dataclass
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.view.boxes import ROW_HEIGHT, TITLE_HEIGHT, text_width, type_text
from ingot.view.curves import Curve, curves
from ingot.view.families import FAMILIES
from ingot.view.reflow import Placed
from ingot.view.scene import Item, Scene
from ingot.view.themes import LIGHT, Theme

_MARGIN = 16.0
_FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as the text of an SVG file, and its size in pixels."""

    text: str
    width: int
    height: int


def svg(picture: Placed, scene: Scene, types: Mapping[Value, Type], theme: Theme = LIGHT) -> Picture:
    """A placed level as a picture, with the sizes of values on lines."""
    drawing = _Drawing(scene, types, theme)
    width, height = round(picture.width + 2 * _MARGIN), round(picture.height + 2 * _MARGIN)
    body = "\n".join(drawing.level(picture, _MARGIN, _MARGIN, 0))
    width = max([width, *(round(right + _MARGIN) for right in drawing.rights)])
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{_FONT}" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="{theme.ground}"/>\n'
        f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 1 L7 4 L0 7 z" fill="{theme.line}"/></marker></defs>\n{body}\n</svg>\n'
    )
    return Picture(text, width, height)


class _Drawing:
    def __init__(self, scene: Scene, types: Mapping[Value, Type], theme: Theme) -> None:
        self._scene = scene
        self._types = types
        self._theme = theme
        self._labels: list[tuple[float, float, float, float]] = []

    def level(self, placed: Placed, x: float, y: float, depth: int) -> Iterator[str]:
        """What a level is drawn with, its corner at a point: frames of open items, then lines, then boxes."""
        theme = self._theme
        for item, inner in placed.inner.items():
            left, top = x + placed.lefts[item], y + placed.tops[item]
            yield _rectangle(
                left, top, inner.width, inner.height, theme.frames[(depth + 1) % 2], theme.border, 8, dash=True
            )
            yield from self.level(inner, left, top, depth + 1)
        labelled: set[int] = set()
        sizes: list[str] = []
        for curve in curves(placed):
            arrow = placed.level.items[curve.target].kind != "port out" and curve.target not in placed.inner
            yield _path([(x + a, y + b) for a, b in curve.corners], theme, arrow=arrow)
            if curve.track not in labelled:
                labelled.add(curve.track)
                ground = theme.frames[depth % 2] if depth else theme.ground
                sizes += self._size(placed, curve, x, y, ground)
        yield from sizes
        for item, each in enumerate(placed.level.items):
            if item in placed.inner:
                left, top = x + placed.lefts[item], y + placed.tops[item]
                halo = theme.frames[(depth + 1) % 2]
                yield _text(left + 12, top + 18, each.label.title, theme.text, bold=True, halo=halo)
            elif each.box.width:
                yield from _box(each, x + placed.lefts[item], y + placed.tops[item], theme)

    @property
    def rights(self) -> list[float]:
        """The right ends of texts on lines."""
        return [right for _, _, right, _ in self._labels]

    def _size(self, placed: Placed, curve: Curve, x: float, y: float, ground: str) -> Iterator[str]:
        """The sizes of what flows along a line, beside where it leaves its source, unless there is text already."""
        line = placed.level.layout.tracks[curve.track].line
        value = self._scene.values[line.values[0]]
        shown = type_text(self._types.get(value, value.type)) if len(line.values) == 1 else f"{len(line.values)} values"
        if not shown or placed.level.items[line.source].kind not in ("node", "group"):
            return
        left, bottom = x + curve.corners[0][0] + 5, y + curve.corners[0][1] + 13
        area = (left, bottom - 9, left + 0.75 * text_width(shown), bottom + 2)
        if any(a < area[2] and area[0] < c and b < area[3] and area[1] < d for a, b, c, d in self._labels):
            return
        self._labels.append(area)
        yield _text(left, bottom, shown, self._theme.faint, size=9, halo=ground)


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
    yield _text(x + width / 2, y + 17, item.label.title, theme.text, bold=True, middle=True, fit=width - 8)
    for number, row in enumerate(item.label.rows):
        colour = theme.weight if row.kind == "weight" else theme.faint
        down = y + TITLE_HEIGHT + ROW_HEIGHT * number + (9 if item.kind == "node" else 6)
        yield _text(x + width / 2, down, row.text, colour, size=10, middle=True, fit=width - 8)


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
    fit: float = 0.0,
) -> str:
    style = ' font-weight="600"' if bold else ""
    style += ' text-anchor="middle"' if middle else ""
    if fit and text_width(text) * size / 12 * 1.1 > fit:
        style += f' textLength="{fit:.0f}" lengthAdjust="spacingAndGlyphs"'
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
