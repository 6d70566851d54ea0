"""As much of HTTP/1.1 as a page on this machine needs: the server of the standard library takes longer to import.

A request has a method, a path and headers, and a body of known length; anything else is answered with 400, and the
connection ends.
"""

from __future__ import annotations

import socketserver
from collections.abc import Mapping

from ingot.dataclass import dataclass

_MOST_LETTERS = 1 << 16
"""Bytes of a line of a request, at most."""

_MOST_HEADERS = 100
_WORDS = {200: "OK", 302: "Found", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error"}
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """What a browser asks for; the names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


class Malformed(ValueError):
    """Bytes that are no request."""


class Connection(socketserver.StreamRequestHandler):
    """A connection, whose requests are answered one after the other by `respond`."""

    wbufsize = -1
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer requests until the browser has no more, or one must not be followed by others."""
        self.ends = False
        try:
            while not self.ends:
                request = self._read()
                if request is None:
                    return
                self.ends = request.headers.get("connection", "").lower() == "close"
                self.respond(request)
        except Malformed as error:
            self.ends = True
            self.send(400, PLAIN, f"{error}\n".encode(), {})
        except (BrokenPipeError, ConnectionResetError):  # the page was closed or loaded again
            return

    def respond(self, request: Request) -> None:
        """Answer a request by `send`."""
        raise NotImplementedError

    def body(self, request: Request, most: int) -> bytes:
        """The body of a request; Malformed if its length is not known or above `most`."""
        length = request.headers.get("content-length", "")
        if (
            not (length.isascii() and length.isdecimal())
            or int(length) > most
            or "transfer-encoding" in request.headers
        ):
            raise Malformed("a request that computes something has a body of known length")
        return self.rfile.read(int(length))

    def send(self, status: int, kind: str, content: bytes, headers: Mapping[str, str]) -> None:
        """Answer with content of a kind, and headers besides those that say what it is."""
        lines = [f"HTTP/1.1 {status} {_WORDS[status]}", f"Content-Type: {kind}", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        lines += ["Connection: close"] if self.ends else []
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)
        self.wfile.flush()

    def _read(self) -> Request | None:
        """The next request; None if there is none."""
        first = self._line()
        if not first:
            return None
        parts = first.split(" ")
        if len(parts) != 3 or not parts[1].startswith("/") or not parts[2].startswith("HTTP/1."):
            raise Malformed("this is not HTTP/1.1")
        headers: dict[str, str] = {}
        while line := self._line():
            name, colon, text = line.partition(":")
            if not colon or name != name.strip() or name.lower() in headers or len(headers) >= _MOST_HEADERS:
                raise Malformed("the headers of the request are malformed")
            headers[name.lower()] = text.strip()
        return Request(parts[0], parts[1], headers)

    def _line(self) -> str:
        line = self.rfile.readline(_MOST_LETTERS)
        if len(line) >= _MOST_LETTERS:
            raise Malformed("a line of the request is too long")
        return line.decode("latin-1").rstrip("\r\n")


class Threads(socketserver.ThreadingTCPServer):
    """A server with a thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
