"""Serving a page at once, and what it shows when that has been loaded.

The browser starts, and fetches and draws an empty page, while the model is read.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TextIO

from ingot.runtime.garbage import uncollected
from ingot.view.answering import Answering, Awaited
from ingot.view.bundled import put_together
from ingot.view.later import imported_later
from ingot.view.server import Server

_SWITCHING = 0.0005
"""Seconds after which a thread that loads yields to one that serves, of which each request takes several turns."""

_TELLING = 3.0
"""Seconds that a page which was opened has to ask why there is nothing to show."""


_AT_ONCE = "4"
"""The exponent of how many cycles a thread of OpenBLAS spins before it sleeps, the least it takes.

numpy starts one for each processor as it is imported, and each would spin for 20 ms, beside the browser that draws.
"""


def serve_until_interrupted(load: Callable[[], Answering], *, port: int = 0, open_browser: bool) -> None:
    """Serve what a function loads until Ctrl-C; the address goes to stdout. Errors as of `serve_while_loading`."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _AT_ONCE)
    imported_later("numpy")
    try:
        server = serve_while_loading(load, lambda url: _say(sys.stdout, url), port=port, open_browser=open_browser)
    except KeyboardInterrupt:  # while the model was being loaded
        return
    _say(sys.stderr, "serving until Ctrl-C")
    try:
        server.wait()
    except KeyboardInterrupt:
        server.close()


def serve_while_loading(
    load: Callable[[], Answering], opened: Callable[[str], None], *, port: int = 0, open_browser: bool
) -> Server:
    """Serve a page, call `opened` with its address, and load what it shows.

    OSError if the port is not free. An error of `load` is shown by the page, and raised; the server is closed then.
    """
    awaited = Awaited()
    server = Server(awaited, port=port)
    opened(server.url)
    if open_browser:
        threading.Thread(target=show_in_browser, args=(server.url,), daemon=True).start()
    put_together()  # while the browser starts, instead of in turns with what loads, when it asks
    switching = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCHING)
    try:
        with uncollected():
            answers = load()
    except Exception as error:
        awaited.fail(error)
        if open_browser:
            awaited.reported.wait(_TELLING)
        server.close()
        raise
    finally:
        sys.setswitchinterval(switching)
    awaited.give(answers)
    return server


def _say(stream: TextIO | None, text: str) -> None:
    """Write a line to stdout or stderr, if there is one."""
    if stream is not None:
        stream.write(f"{text}\n")
        stream.flush()


def show_in_browser(url: str) -> None:
    """Open an address in the browser of the user, or say on stderr that there is none."""
    import webbrowser  # not free to import

    try:
        is_shown = webbrowser.open(url)
    except Exception:  # BROWSER names no command, or its program cannot be started; the page is served all the same
        is_shown = False
    if not is_shown:
        sys.stderr.write("no browser was found: open the address in one yourself\n")
