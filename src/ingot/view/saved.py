"""The page in one file, with everything that it shows inside: it needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Protocol

from ingot.view.answering import Json
from ingot.view.bundled import script, style, whole_page


class Complete(Protocol):
    """Answers that can all be given at once."""

    def everything(self) -> Iterator[tuple[str, Json]]:
        """All that a saved page shows: paths and their answers."""


def saved_page(answers: Complete) -> str:
    """The page of a model, or of two, as the text of an HTML file."""
    content = json.dumps(dict(answers.everything()), separators=(",", ":"))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script())}'; style-src 'sha256-{_hash(style())}'; "
        "img-src blob: data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    # no text of a model can end the element: JSON has other spellings of what HTML looks for
    inside = content.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    inside = inside.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return whole_page(head, f'<script type="application/json" id="saved">{inside}</script>\n')


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
