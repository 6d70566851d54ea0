"""The page as one file: a browser that asks for styles and scripts one by one waits for each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parent / "page"

_IMPORT = re.compile(r"^import\s.*?from\s+\"\./([\w.]+)\";\s*$", re.MULTILINE)


def whole_page(head: str, data: str, nonce: str = "") -> str:
    """The page with its styles and its script inside.

    `head` is put before the styles, `data` before the script; `nonce` is what a policy knows the two elements by.
    """
    attribute = f' nonce="{nonce}"' if nonce else ""
    opening, middle, ending = _parts()
    styles, scripts = f"<style{attribute}>{style()}</style>", f"<script{attribute}>{script()}</script>"
    return f"{opening}{head}{styles}{middle}{data}{scripts}{ending}"


def put_together() -> None:
    """Read the files of the page, so that it is there when it is asked for."""
    style()
    script()
    _parts()


@cache
def style() -> str:
    """What the element of styles contains."""
    return (PAGE / "page.css").read_text("utf-8")


@cache
def script() -> str:
    """What the element of scripts contains: the modules in a block, so that their names stay their own."""
    return f"{{\n{bundle()}\n}}"


@cache
def bundle() -> str:
    """The modules of the page as one script, each after those it imports.

    They import and export names one by one, and no two modules have a name in common.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in texts:
            texts[name] = ""
            head, rest = _headed((PAGE / name).read_text("utf-8"))
            for imported in _IMPORT.findall(head):
                add(imported)
            del texts[name]
            texts[name] = _IMPORT.sub("", head) + rest.replace("\nexport ", "\n")

    add("main.js")
    return "\n".join(texts.values())


def _headed(text: str) -> tuple[str, str]:
    """A module up to its last import, and what follows: patterns that look at every line take long."""
    last = text.rfind("\nimport ")
    end = text.index("\n", last + 1) if last >= 0 else 0
    return text[:end], text[end:]


@cache
def _parts() -> tuple[str, str, str]:
    """The page before its styles, from there to its script, and the rest."""
    opening, _, rest = (PAGE / "page.html").read_text("utf-8").partition("<style></style>")
    middle, _, ending = rest.partition("<script></script>")
    return opening, middle, ending
