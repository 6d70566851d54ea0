"""As much of HTTP/1.1 as a page on this machine needs: the server of the standard library takes longer to import.

A request has a method, a path and headers, and a body of known length; anything else is answered with 400, and the
connection ends.
"""

from __future__ import annotations

import contextlib
import socket
import socketserver
import time
from collections.abc import Iterator, Mapping
from io import BufferedReader
from typing import Any

from ingot.dataclass import dataclass

_MOST_LETTERS = 1 << 16
"""Bytes of a request without its body, at most."""

_MOST_HEADERS = 100
_MOST_DIGITS = 15
"""Of the length of a body: Python refuses to read numbers of thousands."""

_MOST_CONNECTIONS = 128
"""Connections at once: a browser opens six for each name of a server. One more takes the place of a silent one."""

_LINGERING, _LONGEST_DRAIN = 1.0, 10.0
"""Seconds of silence, and of all, that the rest of a request is read for which has been answered without it."""

_PATIENCE = 60.0
"""Seconds that a connection may be silent between requests, that headers take in all, and that a body may pause."""

_LEAST_WAIT = 0.001
"""Seconds: none at all would be a socket that never waits."""

_WORDS = {
    200: "OK",
    302: "Found",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    413: "Content Too Large",
    422: "Unprocessable Content",
    500: "Internal Server Error",
}
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What a browser asks for; the names of headers are in lower case."""

    method: str
    path: str
    version: str
    headers: Mapping[str, str]

    @property
    def is_last(self) -> bool:
        """Whether the browser wants the connection to end after it."""
        options = self.headers.get("connection", "").lower().split(",")
        return self.version == "HTTP/1.0" or "close" in [option.strip() for option in options]

    @property
    def has_body(self) -> bool:
        """Whether bytes follow that belong to it."""
        return "transfer-encoding" in self.headers or self.headers.get("content-length", "0") != "0"


class Malformed(ValueError):
    """Bytes that are no request."""


class TooLarge(ValueError):
    """A body of more bytes than are read."""


class Connection(socketserver.StreamRequestHandler):
    """A connection, whose requests are answered one after the other by `respond`."""

    server: Threads
    rfile: BufferedReader
    wbufsize = -1
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer requests until the browser has no more, or one must not be followed by others."""
        self.ends = self._is_unread = False
        with contextlib.suppress(ConnectionError, TimeoutError):  # the page was closed, loaded again, or was silent
            try:
                while not self.ends and (request := self._read()) is not None and not self.server.is_closed:
                    self.ends = request.is_last or request.has_body  # what nobody reads must not be the next request
                    self._is_unread = request.has_body
                    self.respond(request)
            except Malformed as error:
                self.ends = self._is_unread = True
                self.send(400, PLAIN, f"{error}\n".encode(), {})
            if self._is_unread:
                self._drain()

    def finish(self) -> None:
        """Close what was read from and written to; the browser may be gone."""
        with contextlib.suppress(ConnectionError):
            super().finish()

    def respond(self, request: Request) -> None:
        """Answer a request by `send`."""
        raise NotImplementedError

    def body(self, request: Request, most: int) -> bytes:
        """The body of a request; Malformed if its length is not known or it is cut off, TooLarge if above `most`."""
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal()) or "transfer-encoding" in request.headers:
            raise Malformed("a request that computes something has a body of known length")
        if len(length) > _MOST_DIGITS or int(length) > most:
            raise TooLarge(f"a request takes at most {most:,} bytes")
        self.connection.settimeout(_PATIENCE)
        content = self.rfile.read(int(length))
        self.connection.settimeout(None)
        if len(content) < int(length):
            raise Malformed("the body of the request is cut off")
        self.ends, self._is_unread = request.is_last, False
        return content

    def send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Answer with content of a kind, and headers besides those that say what it is."""
        lines = [f"HTTP/1.1 {status} {_WORDS[status]}", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        lines += ["Connection: close"] if self.ends else []
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
        self.wfile.flush()

    def _drain(self) -> None:
        """Read what still comes, for so long: a connection closed before that loses the answer that was sent.

        A browser that posts a file reads no answer before it has sent all of it.
        """
        with contextlib.suppress(OSError):  # the browser has gone, or is silent
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_LINGERING)
            end = time.monotonic() + _LONGEST_DRAIN
            while time.monotonic() < end and self.connection.recv(_MOST_LETTERS):
                pass

    def _read(self) -> Request | None:
        """The next request, up to its body; None if there is none."""
        self.connection.settimeout(_PATIENCE)
        with self.server.silent(self.connection):
            if not self.rfile.peek(1):
                return None
        self._left, self._end = _MOST_LETTERS, time.monotonic() + _PATIENCE
        first = self._line()
        if not first:
            return None
        parts = first.split(" ")
        if len(parts) != 3 or not parts[1].startswith("/") or parts[2] not in ("HTTP/1.0", "HTTP/1.1"):
            raise Malformed("this is not HTTP/1.1")
        headers: dict[str, str] = {}
        while line := self._line():
            name, colon, text = line.partition(":")
            is_name = bool(name) and name == name.strip()
            if not colon or not is_name or name.lower() in headers or len(headers) >= _MOST_HEADERS:
                raise Malformed("the headers of the request are malformed")
            headers[name.lower()] = text.strip()
        if line is None:
            raise Malformed("the headers of the request are cut off")
        self.connection.settimeout(None)  # what is computed takes as long as it takes, and so does a download
        return Request(parts[0], parts[1], parts[2], headers)

    def _line(self) -> str | None:
        """The next line of a request; None if there is none."""
        line = b""
        while self._left and not line.endswith(b"\n") and (there := len(self._peek())):
            line += (part := self.rfile.readline(min(there, self._left)))  # of what is there: it does not wait
            self._left -= len(part)
        if not line:
            if not self._left:
                raise Malformed("the headers of the request are too long")
            return None
        text = line.decode("latin-1").removesuffix("\n").removesuffix("\r")
        if not line.endswith(b"\n") or "\r" in text or "\0" in text:
            raise Malformed("a line of the request is cut off, too long or malformed")
        return text

    def _peek(self) -> bytes:
        """What has come and is not read, or comes next; TimeoutError past the time that headers take."""
        self.connection.settimeout(max(self._end - time.monotonic(), _LEAST_WAIT))
        return self.rfile.peek(1)


class Threads(socketserver.ThreadingTCPServer):
    """A server with a thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], connection: type[Connection]) -> None:
        self.is_closed = False
        self._open: set[Any] = set()
        self._silent: dict[Any, Any] = {}
        super().__init__(address, connection)

    @contextlib.contextmanager
    def silent(self, connection: Any) -> Iterator[None]:
        """Let a connection give way to others: it waits for a request."""
        self._silent[connection] = connection
        try:
            yield
        finally:
            self._silent.pop(connection, None)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether one more connection is answered; others are closed at once."""
        del request, client_address
        if len(self._open) < _MOST_CONNECTIONS:
            return True
        for connection in tuple(self._silent):
            longest = self._silent.pop(connection, None)
            if longest is not None:  # its thread has not begun to read meanwhile
                with contextlib.suppress(OSError):
                    longest.shutdown(socket.SHUT_RDWR)
                return True
        return False

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Take no more connections, and no more requests on those that are open."""
        super().server_close()
        self.is_closed = True
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):  # it has ended meanwhile
                connection.shutdown(socket.SHUT_RD)  # an answer that is being written is not cut off
