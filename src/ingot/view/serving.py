"""Serving a page at once, and what it shows when that has been loaded.

The browser starts, and fetches and draws an empty page, while the model is read.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ingot.runtime.garbage import uncollected
from ingot.view.answering import Answering, Awaited
from ingot.view.bundled import put_together
from ingot.view.server import Server

_SWITCHING = 0.0005
"""Seconds after which a thread that loads yields to one that serves, of which each request takes several turns."""

_TELLING = 3.0
"""Seconds that a page which was opened has to ask why there is nothing to show."""


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


def show_in_browser(url: str) -> None:
    """Open an address in the browser of the user, or say on stderr that there is none."""
    import webbrowser  # not free to import

    try:
        is_shown = webbrowser.open(url)
    except Exception:  # BROWSER names no command, or its program cannot be started; the page is served all the same
        is_shown = False
    if not is_shown:
        sys.stderr.write("no browser was found: open the address in one yourself\n")
