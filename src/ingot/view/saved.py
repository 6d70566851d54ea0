"""The page in one file, with everything that it shows inside: it needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Protocol

from ingot.view.answering import Json
from ingot.view.bundled import PAGE, bundle

_SERVED = """<link rel="preload" href="data/model" as="fetch" crossorigin="anonymous">
<script type="module" src="bundle.js"></script>"""
"""What only a page that is served has."""


class Complete(Protocol):
    """Answers that can all be given at once."""

    def everything(self) -> Iterator[tuple[str, Json]]:
        """All that a saved page shows: paths and their answers."""


def saved_page(answers: Complete) -> str:
    """The page of a model, or of two, as the text of an HTML file."""
    content = json.dumps(dict(answers.everything()), separators=(",", ":"))
    script = f"{{\n{bundle()}\n}}"
    style = (PAGE / "page.css").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "img-src blob: data:; base-uri 'none'; form-action 'none'"
    )
    page = (PAGE / "page.html").read_text("utf-8")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    page = page.replace('<link rel="stylesheet" href="page.css">', head)
    page = page.replace(f"{_SERVED}\n", "")
    # no text of a model can end the element: JSON has other spellings of what HTML looks for
    inside = content.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    inside = inside.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    scripts = f'<script type="application/json" id="saved">{inside}</script>\n<script>{script}</script>\n'
    return page.replace("</body>", f"{scripts}</body>")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
