"""A picture as PNG, drawn by a browser that is installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from ingot.errors import UnsupportedError
from ingot.view.svg import Picture

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SECONDS = 120
_MOST_PIXELS = 16_000
"""The side of a picture that browsers draw, at most."""


def browser() -> str | None:
    """The path of a browser that draws pictures without a window; None if there is none."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def write_png(picture: Picture, path: Path) -> None:
    """Write a picture to a file; UnsupportedError without a browser, or where it is too large for one."""
    program = browser()
    if program is None:
        raise UnsupportedError(
            "a PNG is drawn by Chromium or Chrome, and neither is installed", hint="write an SVG: -o picture.svg"
        )
    if max(picture.width, picture.height) > _MOST_PIXELS:
        size = f"{picture.width} × {picture.height}"
        raise UnsupportedError(f"a picture of {size} pixels is too large for a PNG", hint="write an SVG, or --open fit")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "picture.svg"), Path(folder, "picture.png")
        source.write_text(picture.text, "utf-8")
        command = [
            *(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={folder}/profile", f"--screenshot={target}"),
            *(f"--window-size={picture.width},{picture.height}", source.as_uri()),
        ]
        ended = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        if not target.is_file():
            last = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise UnsupportedError(f"{program} drew no picture: {''.join(last) or f'exit code {ended.returncode}'}")
        shutil.copyfile(target, path)
