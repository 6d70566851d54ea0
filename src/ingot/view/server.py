"""A server for the page, for this machine alone.

It listens on the loopback address. Every path begins with a secret token, and requests must name this server as their
host and, where they state an origin, as their origin: pages of other sites can neither read nor post anything. The page
may load nothing from elsewhere, and no markup is ever made of what a model says.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias
from urllib.parse import unquote

from ingot.errors import CompileError, IngotError, ProviderError
from ingot.view.answering import Answering, NotThere
from ingot.view.bundled import whole_page
from ingot.view.http import PLAIN, Connection, Malformed, Request, Threads, TooLarge
from ingot.view.shelf import Shelf

POLICY = "default-src 'none'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
_HTML = "text/html; charset=utf-8"
_ASKED_FOR = '<link rel="preload" href="data/model" as="fetch" crossorigin="anonymous">\n'
"""The browser asks for the model before it has read the page."""
_NOTEBOOKS, _NOBODY = "http://localhost:* http://127.0.0.1:*", "'none'"
_JSON = "application/json; charset=utf-8"
_BYTES, _DOWNLOAD = "application/octet-stream", {"Content-Disposition": "attachment"}
_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_NUMBER = re.compile(r"([1-9]\d{0,8})/")
"""What the paths begin with of a model that was dropped onto the page."""
_MOST_BYTES = 1 << 30
"""The body of a request, at most."""

_Reply: TypeAlias = tuple[str, bytes, Mapping[str, str]]
"""A kind of content, the content, and headers."""


class Server:
    """Serves the page of a model from when it is made until it is closed, in threads of its own.

    `answers` returns what answers the page. If `framed`, other local servers, as of notebooks, may show it in frames.
    """

    def __init__(self, answers: Callable[[], Answering], *, port: int = 0, framed: bool = False) -> None:
        """OSError if the port is in use; 0 is any that is free."""
        self.shelf = Shelf(answers)
        self.token = os.urandom(16).hex()
        self.policy = f"{POLICY}; frame-ancestors {_NOTEBOOKS if framed else _NOBODY}"
        self._http = _Http(("127.0.0.1", port), self)
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), name="ingot-view", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """How requests may name this server."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def wait(self) -> None:
        """Return when the server is closed, or the program interrupted."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Serve no longer."""
        self._http.shutdown()
        self._http.server_close()
        self.shelf.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Http(Threads):
    def __init__(self, address: tuple[str, int], owner: Server) -> None:
        self.owner = owner
        super().__init__(address, _Page)


class _Page(Connection):
    server: _Http
    number = 0
    """Of the model that is asked for."""

    def respond(self, request: Request) -> None:
        """Send a file of the page, or an answer."""
        path = self._path(request)
        if path is None:
            return
        if request.method == "POST":
            self._post(request, path.removeprefix("data/"))
        elif request.method != "GET":
            raise Malformed("a page is got, or posted to")
        elif path.startswith("data/file/"):
            self._answered(lambda answers: (_BYTES, answers.file(path.removeprefix("data/file/")), _DOWNLOAD))
        elif path.startswith("data/"):
            self._answered(lambda answers: (_JSON, _encoded(answers.get(path.removeprefix("data/"))), {}))
        elif path:
            self._send(404, PLAIN, b"not there\n")
        else:
            self._page()

    def _post(self, request: Request, path: str) -> None:
        """Compute something for the page."""
        if "origin" not in request.headers:
            raise Malformed("a request that computes something has an origin")
        try:
            body = self.body(request, _MOST_BYTES)
        except TooLarge as error:
            self._send(413, _JSON, _encoded({"error": str(error)}))
            return
        if path.startswith("open/"):
            self._reply(lambda: (_JSON, _encoded(self.server.owner.shelf.post(path, body)), {}))
        else:
            self._answered(lambda answers: (_JSON, _encoded(answers.post(path, body)), {}))

    def _path(self, request: Request) -> str | None:
        """The path below the token; None if the request was refused."""
        owner = self.server.owner
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        is_ours = host in owner.hosts and (origin is None or origin == f"http://{host}")
        token, slash, path = unquote(request.path.partition("?")[0]).removeprefix("/").partition("/")
        if not is_ours or not _is_same(token.encode(), owner.token.encode()):
            self.ends = True
            self._send(403, PLAIN, b"this address is not the one that ingot printed\n")
            return None
        if not slash:
            self._send(302, PLAIN, b"", {"Location": f"/{owner.token}/"})
            return None
        number = _NUMBER.match(path)
        self.number = int(number[1]) if number else 0
        return path[number.end() :] if number else path

    def _page(self) -> None:
        """Send the page, of which nothing may run or be applied but the elements with this very nonce."""
        nonce = os.urandom(16).hex()
        allowed = f"script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
        policy = {"Content-Security-Policy": f"{allowed}; {self.server.owner.policy}"}
        self._send(200, _HTML, whole_page(_ASKED_FOR, "", nonce).encode(), policy)

    def _answered(self, answer: Callable[[Answering], _Reply]) -> None:
        """Send what the answers of the model return that the path is of."""
        self._reply(lambda: answer(self.server.owner.shelf.answers(self.number)))

    def _reply(self, reply: Callable[[], _Reply]) -> None:
        """Send what a function returns; an error becomes a message that the page shows.

        404 is for what is not there, 422 for what the user or the model has wrong, 500 for defects of ingot.
        """
        try:
            kind, content, headers = reply()
        except NotThere as error:
            self._send(404, _JSON, _encoded({"error": str(error)}))
        except IngotError as error:
            is_ours = isinstance(error, CompileError | ProviderError)
            self._send(500 if is_ours else 422, _JSON, _encoded({"error": str(error)}))
        except Exception as error:  # whatever a broken model does to us, the page says it
            self._send(500, _JSON, _encoded({"error": f"{type(error).__name__}: {error}"}))
        else:
            self._send(200, kind, content, headers)

    def _send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        policy = {"Content-Security-Policy": self.server.owner.policy}
        self.send(status, kind, content, {**policy, **_GUARDS, **(headers or {})})


def _is_same(one: bytes, other: bytes) -> bool:
    """Whether two texts are the same, in a time that does not show where they differ."""
    differing = len(one) ^ len(other)
    for a, b in zip(one, other, strict=False):
        differing |= a ^ b
    return not differing


def _encoded(answer: object) -> bytes:
    return json.dumps(answer, separators=(",", ":")).encode("utf-8", "surrogatepass")
