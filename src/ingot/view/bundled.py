"""The scripts of the page as one: a browser that asks for them one by one waits for each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parent / "page"

_IMPORT = re.compile(r"^import\s.*?from\s+\"\./([\w.]+)\";\s*$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let))", re.MULTILINE)


@cache
def bundle() -> str:
    """The modules of the page as one script, each after those it imports.

    They import and export names one by one, and no two modules have a name in common.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in texts:
            texts[name] = ""
            text = (PAGE / name).read_text("utf-8")
            for imported in _IMPORT.findall(text):
                add(imported)
            body = _EXPORT.sub("", _IMPORT.sub("", text))
            del texts[name]
            texts[name] = body

    add("main.js")
    return "\n".join(texts.values())
