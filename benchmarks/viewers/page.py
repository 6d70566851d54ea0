"""The page of first pictures: `python -m benchmarks viewers` writes it.

It needs playwright and Chromium, and what requirements/exports.txt names; netron and Model Explorer are installed into
build/viewers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ingot
from benchmarks import frames
from benchmarks.viewers.first_picture import Picture, Viewer, first_picture, peers, viewers
from benchmarks.viewers.models import Shown, models
from ingot.view.answers import Answers
from ingot.view.png import browser

_ROUNDS = 3
_LONG = 60.0
"""Seconds of a picture that is not waited for again."""

_LAUNCH = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
"""Model Explorer draws by WebGL, which a machine without a graphics processor has in software; nothing is fetched."""

_HEAD = f"""# First pictures

How soon a model is seen: `ingot view MODEL` beside netron and Google's Model Explorer, in one headless Chromium, in
turns; the best of {_ROUNDS} rounds, or of one where a picture takes more than a minute. A picture is there when nodes
are drawn: of netron when its layout is shown, of Model Explorer when its graph has a canvas, of ingot after the first
frame. The ratio is ingot's to that of the faster one; at most 0.3 is asked for. Nodes are those of the main graph.
"""
_OF_THE_PAGE = """
## What ingot's consists of

Seconds from the command until the address is printed; from the request of the page until the data of the picture are
there (numpy is imported and the model read, grouped and laid out meanwhile), until it is drawn, and until the browser
has shown it.

"""
_OF_LINES = """
## Sizes on lines

Values that nodes compute, and those of them whose shapes the file states, which is what netron shows, and ingot infers.

"""
_OF_FRAMES = """
## Moving

Frames a second while a picture of 10,000 open nodes is moved, at several scales. Chromium has no graphics processor
here, and draws the canvas in software; the script is what the page itself takes of a frame. At least 50 are asked for.

"""

Amount = Callable[[Picture], float]


@dataclass(frozen=True, slots=True)
class Row:
    """A model, and the best pictures of it, in the order of the viewers; None where a viewer shows none."""

    model: Shown
    pictures: tuple[Picture | None, ...]


def table(only: str = "") -> str:
    """The page, or its part for models whose titles have `only` in them."""
    from playwright.sync_api import sync_playwright

    compared = viewers()
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=_LAUNCH)
        rows = [Row(model, _best(chromium, compared, model)) for model in models(only)]
        about = f"\nChromium {chromium.version}, {', '.join(peers())}.\n"
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
        _parts(rows),
        _OF_LINES,
        _lines(rows),
    ]
    return "".join(parts if only else [*parts, _OF_FRAMES, frames.table()])


def _best(chromium: Any, compared: Sequence[Viewer], model: Shown) -> tuple[Picture | None, ...]:
    """Pictures of a model by each viewer, with the least of each amount."""
    taken: dict[str, list[Picture]] = {viewer.name: [] for viewer in compared}
    for turn in range(_ROUNDS):
        for viewer in compared:
            earlier = taken[viewer.name]
            if turn and (not earlier or earlier[0].whole > _LONG):
                continue
            try:
                earlier.append(first_picture(chromium, viewer, model.path))
            except Exception as error:  # a viewer that fails is no reason to lose the others
                print(f"{viewer.name} shows nothing of {model.title}: {error}", flush=True)
    return tuple(_least(pictures) for pictures in taken.values())


def _least(pictures: Sequence[Picture]) -> Picture | None:
    if not pictures:
        return None
    first = min(pictures, key=lambda picture: picture.whole)
    return replace(
        first,
        page=min(picture.page for picture in pictures),
        processor=min(picture.processor for picture in pictures),
        memory=min(picture.memory for picture in pictures),
    )


def _comparison(title: str, names: Sequence[str], rows: Sequence[Row], amount: Amount, digits: int) -> str:
    lines = [f"\n## {title}\n", f"| model | nodes | {' | '.join(names)} | ratio |", "|---" * (len(names) + 3) + "|"]
    for row in rows:
        amounts = [None if picture is None else amount(picture) for picture in row.pictures]
        cells = ["–" if each is None else f"{each:.{digits}f}" for each in amounts]
        *others, own = amounts
        faster = min((other for other in others if other is not None), default=None)
        ratio = "–" if own is None or faster is None else f"{own / faster:.2f}"
        lines.append(f"| {row.model.title} | {row.model.nodes:,} | {' | '.join(cells)} | {ratio} |")
    return "\n".join(lines) + "\n"


def _parts(rows: Sequence[Row]) -> str:
    lines = ["| model | address | data | drawn | shown | data, KiB |", "|---|---|---|---|---|---|"]
    for row in rows:
        if (own := row.pictures[-1]) is not None and own.parts is not None:
            loaded, drawn, size = own.parts
            seconds = " | ".join(f"{each:.2f}" for each in (own.address, loaded, drawn, own.page))
            lines.append(f"| {row.model.title} | {seconds} | {size / 1024:.0f} |")
    return "\n".join(lines) + "\n"


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
