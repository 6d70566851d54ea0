"""A model in a page that can edit it: what edits need is imported when the first is asked for."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ingot.errors import IngotError
from ingot.format.load import load
from ingot.view.answering import Answering, Json
from ingot.view.answers import Answers
from ingot.view.server import Server

if TYPE_CHECKING:
    from ingot.view.editing.document import Document

_READS = ("edits", "suggestions", "leaf form", "value form", "at")
_CHANGES = ("edit", "undo", "redo", "save", "weight")


class Editable:
    """Answers about a model, those of a `Document` from the first edit on. `source` is the path of its file."""

    def __init__(self, answers: Answers, source: str | None = None) -> None:
        self._answers = answers
        self._source = source
        self._document: Document | None = None
        self._lock = threading.Lock()

    def get(self, path: str) -> Json:
        """As of `Answers`, and of `Document`."""
        if self._document is None and path == "model":
            return {**self._answers.get(path), "version": 0, "editable": True}
        return self._of(path, _READS).get(path)

    def post(self, path: str, body: bytes) -> Json:
        """As of `Answers`, and of `Document`; `open/NAME` shows another model in a page of its own."""
        if path.startswith("open/"):
            return _opened(path.removeprefix("open/"), body)
        return self._of(path, _CHANGES).post(path, body)

    def file(self, path: str) -> bytes:
        """As of `Answers`, and of `Document`."""
        return self._of(path, ("edits.npz", "at")).file(path)

    def _of(self, path: str, words: tuple[str, ...]) -> Answering:
        if self._document is None and path.partition("/")[0] not in words:
            return self._answers
        with self._lock:
            if self._document is None:
                from ingot.view.editing.document import Document  # imports passes and operators

                self._document = Document(self._answers, self._source)
            return self._document


def _opened(name: str, content: bytes) -> Json:
    """The address of a page for the content of a file, or why it is refused; weights outside of it are missing."""
    try:
        if name.endswith(".onnxtxt"):
            from ingot.ir.text import parse_model  # rarely needed, and not free to import

            model = parse_model(content.decode("utf-8", "replace"))
        else:
            model = load(content, external="defer")
    except IngotError as error:
        return {"refused": str(error)}
    page = Editable(Answers(model, name), name)
    return {"url": Server(lambda: page).url}
