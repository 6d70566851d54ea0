"""What a page is served from: something that answers its requests, at once or when a model has been loaded."""

from __future__ import annotations

import json
import threading
from typing import Any, Protocol

from ingot.errors import InputError

Json = Any

_MOST_DIGITS = 9


class NotThere(InputError):
    """A path that nothing is found under."""


def is_number(part: str) -> bool:
    """Whether a part of a path is the number of something: Python refuses to read numbers of thousands of digits."""
    return len(part) <= _MOST_DIGITS and part.isascii() and part.isdecimal()


def stated(body: bytes) -> dict[str, Json]:
    """The object, in JSON, in the body of a request, empty if there is no body; NotThere if it is no such thing."""
    try:
        content = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise NotThere("a request of the page has an object, in JSON")
    return content


class Answering(Protocol):
    """What answers the requests of a page, by their paths below `data/`; safe for several threads."""

    def get(self, path: str) -> Json:
        """What the page shows, of what JSON has; NotThere for a path that nothing is found under."""

    def post(self, path: str, body: bytes) -> Json:
        """What the page asks to be computed or changed."""

    def file(self, path: str) -> bytes:
        """The content of a file to download."""


class Awaited:
    """Answers that come later: who asks for them waits. The page is there before the model is loaded."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._answers: Answering | None = None
        self._error: Exception | None = None
        self.reported = threading.Event()
        """Set once somebody has asked, and got an error."""

    def give(self, answers: Answering) -> None:
        """Let those who wait have the answers."""
        self._answers = answers
        self._ready.set()

    def fail(self, error: Exception) -> None:
        """Let those who wait have an error instead."""
        self._error = error
        self._ready.set()

    def __call__(self) -> Answering:
        """The answers; the error if there are none."""
        self._ready.wait()
        if self._answers is None:
            assert self._error is not None
            self.reported.set()
            raise self._error
        return self._answers
