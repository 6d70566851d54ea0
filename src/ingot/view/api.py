"""`ingot.view`: the page of a model, from Python and in notebooks."""

from __future__ import annotations

import html
import os
import sys
import threading
from pathlib import Path

from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.view.answers import Answers
from ingot.view.comparing.comparison import Comparison
from ingot.view.editable import Editable
from ingot.view.server import Server
from ingot.view.serving import show_in_browser

_HEIGHT = 640
"""Pixels of a page inside a notebook."""


class View:
    """A model that is being shown, until it is closed; a notebook shows it as a frame."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The address of the page, with its secret token."""
        return self._server.url

    def close(self) -> None:
        """Stop serving the page."""
        self._server.close()

    def wait(self) -> None:
        """Return when the page is served no longer."""
        self._server.wait()

    def _repr_html_(self) -> str:
        source = html.escape(self.url, quote=True)
        return f'<iframe src="{source}" style="width: 100%; height: {_HEIGHT}px; border: 1px solid #ccc"></iframe>'

    def __repr__(self) -> str:
        return f"<View {self.url}>"


def view(
    model: Model | ModelSource,
    other: Model | ModelSource | None = None,
    *,
    title: str | None = None,
    port: int = 0,
    open_browser: bool | None = None,
) -> View:
    """Show a model in the browser, or inline where the result is displayed in a notebook; or in what `other` differs.

    `port` 0 is any that is free. The browser is opened unless this is a notebook, or as `open_browser` says. The page
    is served until `close` is called or the program ends; the model must not be changed meanwhile.
    """
    answers = answers_of(model, title)
    source = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    page = Editable(answers, source) if other is None else Comparison(answers, answers_of(other))
    is_notebook = _is_notebook()
    server = Server(lambda: page, port=port, framed=is_notebook)
    # the first picture is computed while the browser starts; where that fails, the page shows the error
    threading.Thread(target=answers.prepare, daemon=True).start()
    if open_browser if open_browser is not None else not is_notebook:
        show_in_browser(server.url)
    return View(server)


def save_page(model: Model | ModelSource, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page of a model to one file that needs no server: everything but running the model."""
    from ingot.view.saved import saved_page

    Path(path).write_text(saved_page(answers_of(model, title)), "utf-8")


def answers_of(model: Model | ModelSource, title: str | None = None) -> Answers:
    """The answers of a model, which is loaded if it is none yet; external weights may be missing."""
    if isinstance(model, Model):
        return Answers(model, title or model.graph.name or "model")
    name = Path(model).name if isinstance(model, str | os.PathLike) else "model"
    return Answers(load(model, external="defer"), title or name)


def _is_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")
