"""The page of first pictures: `python -m benchmarks viewers` writes it.

It needs playwright and Chromium, and what requirements/exports.txt names; netron and Model Explorer are installed into
build/viewers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import ingot
from benchmarks import frames
from benchmarks.viewers.first_picture import EMPTY, Picture, Viewer, first_picture, peers, viewers
from benchmarks.viewers.models import Shown, models
from ingot.view.answers import Answers
from ingot.view.png import browser

_ROUNDS = 5
_SECONDS = 40.0
"""After which no further round of a model begins: all of it takes less than ten minutes, on a busy machine too."""

_LAUNCH = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
"""Model Explorer draws by WebGL, which a machine without a graphics processor has in software; nothing is fetched."""

_HEAD = f"""# First pictures

How soon a model is seen: `ingot view MODEL` beside netron and Google's Model Explorer, in one headless Chromium, in
turns. Numbers are medians of {_ROUNDS} rounds, or of those that begin within {_SECONDS:.0f} s, with the least and the
greatest in brackets. A picture is there when the browser has made the frame in which nodes are drawn, by its clock: of
netron when its layout is shown, of Model Explorer when its graph has a canvas, of ingot when the canvas is drawn. The
ratio is ingot's median to that of the faster one; at most 0.3 is asked for. Nodes are those of the main graph. Run it
on a machine that does nothing else: programs beside it slow processes that wait for each other more than one that
computes alone, and the smallest model most.
"""
_OF_THE_PAGE = """
## What ingot's consists of

Seconds from the command until the address is printed; from the request of the page until the data of the picture are
there (the model is read, grouped and laid out meanwhile), until it is drawn, and until the browser has shown it. The
last row is a page with nothing in it, served by the standard library: the least that any viewer takes.

"""
_OF_LINES = """
## Sizes on lines

Values that nodes compute, and those of them whose shapes the file states, which is what netron shows, and ingot infers.

"""
_OF_FRAMES = """
## Moving

Frames a second while a picture of 10,000 open nodes is moved, at several scales, medians of three rounds. Chromium has
no graphics processor here, and draws the canvas in software; the script is what the page itself takes of a frame. The
first row only fills the canvas, which is the most that the browser makes. At least 50 are asked for.

"""

Amount = Callable[[Picture], float]


@dataclass(frozen=True, slots=True)
class Row:
    """A model, and the pictures of it by each viewer, in the order of the viewers; none where one shows none."""

    model: Shown
    pictures: tuple[tuple[Picture, ...], ...]


def table(only: str = "") -> str:
    """The page, or its part for models whose titles have `only` in them."""
    from playwright.sync_api import sync_playwright

    compared = viewers()
    load = os.getloadavg()[0]
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=_LAUNCH)
        empty = [first_picture(chromium, EMPTY, Path()) for _ in range(_ROUNDS)]
        rows = [Row(model, _taken(chromium, compared, model)) for model in models(only)]
        machine = f"{os.cpu_count()} cores, with a load of {load:.1f}"
        about = f"\nChromium {chromium.version}, {', '.join(peers())}; {machine}.\n"
        chromium.close()
    names = [viewer.name for viewer in compared]
    parts = [
        _HEAD,
        about,
        _comparison("Seconds from the command", names, rows, lambda picture: picture.whole, 2),
        _comparison("Seconds from the request of the page", names, rows, lambda picture: picture.page, 2),
        _comparison("Processor seconds, of program and browser", names, rows, lambda picture: picture.processor, 2),
        _comparison("Resident memory of the program, MiB", names, rows, lambda picture: picture.memory, 0),
        _OF_THE_PAGE,
        _parts(rows, empty),
        _OF_LINES,
        _lines(rows),
    ]
    return "".join(parts if only else [*parts, _OF_FRAMES, frames.table()])


def _taken(chromium: Any, compared: Sequence[Viewer], model: Shown) -> tuple[tuple[Picture, ...], ...]:
    """Pictures of a model by each viewer."""
    taken: dict[str, list[Picture]] = {viewer.name: [] for viewer in compared}
    end = time.monotonic() + _SECONDS
    for turn in range(_ROUNDS):
        if turn and time.monotonic() > end:
            break
        for viewer in compared:
            try:
                taken[viewer.name].append(first_picture(chromium, viewer, model.path))
            except Exception as error:  # a viewer that fails is no reason to lose the others
                print(f"{viewer.name} shows nothing of {model.title}: {error}", flush=True)
    return tuple(map(tuple, taken.values()))


def _comparison(title: str, names: Sequence[str], rows: Sequence[Row], amount: Amount, digits: int) -> str:
    lines = [f"\n## {title}\n", f"| model | nodes | {' | '.join(names)} | ratio |", "|---" * (len(names) + 3) + "|"]
    for row in rows:
        amounts = [[amount(picture) for picture in pictures] for pictures in row.pictures]
        cells = [_spread(each, digits) for each in amounts]
        *others, own = (median(each) if each else None for each in amounts)
        faster = min((other for other in others if other is not None), default=None)
        ratio = "–" if own is None or faster is None else f"{own / faster:.2f}"
        lines.append(f"| {row.model.title} | {row.model.nodes:,} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines) + "\n"


def _spread(amounts: Sequence[float], digits: int) -> str:
    """The median, and the least and the greatest where they are not the same."""
    if not amounts:
        return "–"
    middle, least, greatest = (f"{each:.{digits}f}" for each in (median(amounts), min(amounts), max(amounts)))
    return middle if least == greatest else f"{middle} ({least}–{greatest})"


def _parts(rows: Sequence[Row], empty: Sequence[Picture]) -> str:
    lines = ["| model | address | data | drawn | shown | from the command | data, KiB |", "|---" * 7 + "|"]
    for row in rows:
        if own := row.pictures[-1]:
            parts = [picture.parts for picture in own if picture.parts is not None]
            loaded, drawn, size = (median(each[number] for each in parts) for number in range(3))
            seconds = (_middle(own, "address"), loaded, drawn, _middle(own, "page"), _middle(own, "whole"))
            lines.append(f"| {row.model.title} | {' | '.join(f'{each:.2f}' for each in seconds)} | {size / 1024:.0f} |")
    address, shown, whole = (_middle(empty, name) for name in ("address", "page", "whole"))
    lines.append(f"| an empty page | {address:.2f} | – | – | {shown:.2f} | {whole:.2f} | – |")
    return "\n".join(lines) + "\n"


def _middle(pictures: Sequence[Picture], name: str) -> float:
    return median(float(getattr(picture, name)) for picture in pictures)


def _lines(rows: Sequence[Row]) -> str:
    lines = ["| model | values | stated | inferred |", "|---|---|---|---|"]
    for row in rows:
        model = ingot.load(row.model.path, external="defer")
        values = [value for node in model.graph.nodes for value in node.outputs if value.name]
        stated = sum(getattr(value.type, "shape", None) is not None for value in values)
        types = Answers(model, row.model.title).types()
        inferred = sum(getattr(types.get(value), "shape", None) is not None for value in values)
        lines.append(f"| {row.model.title} | {len(values):,} | {stated:,} | {inferred:,} |")
    return "\n".join(lines) + "\n"
