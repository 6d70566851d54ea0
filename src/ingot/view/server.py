"""A server for the page, for this machine alone.

It listens on the loopback address. Every path begins with a secret token, and requests must name this server as their
host and, where they state an origin, as their origin: pages of other sites can neither read nor post anything. The page
may load nothing from elsewhere, and no markup is ever made of what a model says.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ingot.errors import IngotError
from ingot.view.answering import Answering, NotThere
from ingot.view.bundled import PAGE, bundle

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
_NOTEBOOKS, _NOBODY = "http://localhost:* http://127.0.0.1:*", "'none'"
_JSON = "application/json; charset=utf-8"
_BYTES, _DOWNLOAD = "application/octet-stream", {"Content-Disposition": "attachment"}
_MOST_BYTES = 1 << 30
"""The body of a request, at most."""


class Server:
    """Serves the page of a model from when it is made until it is closed, in threads of its own.

    `answers` returns what answers the page. If `framed`, other local servers, as of notebooks, may show it in frames.
    """

    def __init__(self, answers: Callable[[], Answering], *, port: int = 0, framed: bool = False) -> None:
        """OSError if the port is in use; 0 is any that is free."""
        self.answers = answers
        self.token = secrets.token_urlsafe(16)
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

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], owner: Server) -> None:
        self.owner = owner
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ingot"
    sys_version = ""
    server: _Http

    def do_GET(self) -> None:
        """Send a file of the page, or an answer."""
        path = self._path()
        if path is None:
            return
        if path.startswith("data/file/"):
            self._answered(lambda answers: (_BYTES, answers.file(path.removeprefix("data/file/")), _DOWNLOAD))
        elif path.startswith("data/"):
            self._answered(lambda answers: (_JSON, _encoded(answers.get(path.removeprefix("data/"))), {}))
        else:
            self._file(path or "page.html")

    def do_POST(self) -> None:
        """Compute something for the page."""
        path = self._path()
        if path is None:
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES or self.headers.get("Origin") is None:
            self.close_connection = True
            self._send(
                400, _JSON, _encoded({"error": "a request of the page has an origin and a body of known length"})
            )
            return
        body = self.rfile.read(int(length))
        self._answered(lambda answers: (_JSON, _encoded(answers.post(path.removeprefix("data/"), body)), {}))

    def _path(self) -> str | None:
        """The path below the token; None if the request was refused."""
        owner = self.server.owner
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        is_ours = host in owner.hosts and (origin is None or origin == f"http://{host}")
        token, slash, path = unquote(urlsplit(self.path).path).removeprefix("/").partition("/")
        if not is_ours or not secrets.compare_digest(token.encode(), owner.token.encode()):
            self.close_connection = True
            self._send(403, "text/plain; charset=utf-8", b"this address is not the one that ingot printed\n")
            return None
        if not slash:
            self._send(302, "text/plain", b"", {"Location": f"/{token}/"})
            return None
        return path

    def _file(self, name: str) -> None:
        kind = _KINDS.get(Path(name).suffix)
        if kind is not None and name == "bundle.js":
            self._send(200, kind, bundle().encode())
        elif kind is None or "/" in name or not (file := PAGE / name).is_file():
            self._send(404, "text/plain; charset=utf-8", b"not there\n")
        else:
            self._send(200, kind, file.read_bytes())

    def _answered(self, answer: Callable[[Answering], tuple[str, bytes, Mapping[str, str]]]) -> None:
        """Send what an answer returns; an error becomes a message that the page shows."""
        try:
            kind, content, headers = answer(self.server.owner.answers())
        except NotThere as error:
            self._send(404, _JSON, _encoded({"error": error.message}))
        except (IngotError, OSError, MemoryError, RecursionError, ValueError) as error:
            self._send(500, _JSON, _encoded({"error": str(error) or type(error).__name__}))
        else:
            self._send(200, kind, content, headers)

    def _send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Security-Policy", self.server.owner.policy)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.send_header("Cache-Control", "no-store")
            for name, text in (headers or {}).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # the page was closed or loaded again
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a server for one page has no log."""


def _encoded(answer: object) -> bytes:
    return json.dumps(answer, separators=(",", ":")).encode("utf-8", "surrogatepass")
