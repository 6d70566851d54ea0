"""The models that a server shows: the one that it was started with, and those that were dropped onto its page."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingot.errors import IngotError, InputError
from ingot.view.answering import Answering, NotThere

_MOST_MODELS = 8
"""Models that were dropped and are still shown: the last ones."""

_MOST_BATCHES = 4
_MOST_BYTES = 4 << 30
"""Bytes of the files of one model that is dropped."""

_BATCH = re.compile(r"[A-Za-z0-9-]{1,80}")
_LONGEST = 255
"""Bytes of the name of a file, as most file systems have it."""


class Batch:
    """Files that were dropped together, in a folder of their own, until it is closed."""

    def __init__(self) -> None:
        import tempfile  # not free to import, and rarely needed

        self.folder = tempfile.TemporaryDirectory(prefix="ingot-view-")
        self.names: list[str] = []
        self.size = 0

    def add(self, name: str, content: bytes) -> None:
        """Put a file into the folder; InputError if its name is none, or there are too many bytes."""
        if not name or name[0] == "." or any(char in name for char in "/\\\0:"):
            raise InputError(
                "a file that is dropped has a plain name", hint="rename it: no slash, no colon, no dot in front"
            )
        if len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
            raise InputError(f"the name of a dropped file takes at most {_LONGEST} bytes", hint="rename it")
        self.size += len(content)
        if self.size > _MOST_BYTES:
            raise InputError("the files of a dropped model take at most 4 GB", hint="'ingot view' opens larger ones")
        Path(self.folder.name, name).write_bytes(content)
        self.names.append(name)

    def close(self) -> None:
        """Remove the files."""
        self.folder.cleanup()


class Shelf:
    """The answers of several models, by number; 0 is the first. Safe for several threads."""

    def __init__(self, first: Callable[[], Answering]) -> None:
        self._first = first
        self._lock = threading.Lock()
        self._batches: dict[str, Batch] = {}
        self._dropped: dict[int, tuple[Answering, Batch]] = {}
        self._count = 0

    def answers(self, number: int) -> Answering:
        """What answers the page of a model; NotThere if there is none of this number, or it was closed."""
        if number == 0:
            return self._first()
        with self._lock:
            if number not in self._dropped:
                raise NotThere("this model was dropped before many others, and is closed", hint="drop it again")
            return self._dropped[number][0]

    def post(self, path: str, body: bytes) -> Any:
        """`open/BATCH/NAME` takes a file; `open/BATCH` opens the model in the files, and returns its number."""
        parts = path.split("/", 2)
        if len(parts) < 2 or not _BATCH.fullmatch(parts[1]):
            raise NotThere(f"nothing is opened under '{path}'")
        if len(parts) == 3:
            with self._lock:
                if parts[1] not in self._batches:
                    self._batches[parts[1]] = Batch()
                batch = self._batches[parts[1]]
                for old in list(self._batches)[:-_MOST_BATCHES]:
                    self._batches.pop(old).close()
            batch.add(parts[2], body)
            return {}
        with self._lock:
            dropped = self._batches.pop(parts[1], None)
        if dropped is None or not dropped.names:
            raise NotThere("no files were dropped")
        return {"number": self._open(dropped)}

    def _open(self, batch: Batch) -> int:
        from ingot.view.answers import Answers  # imports numpy
        from ingot.view.any_model import load_any, main_file
        from ingot.view.editable import Editable

        name = main_file(batch.names)
        try:
            answers = Editable(Answers(load_any(Path(batch.folder.name, name)), name), name)
        except BaseException as error:
            if isinstance(error, IngotError):
                _name_as_dropped(error, batch.folder.name)
            batch.close()
            raise
        with self._lock:
            self._count += 1
            self._dropped[self._count] = (answers, batch)
            for old in sorted(self._dropped)[:-_MOST_MODELS]:
                self._dropped.pop(old)[1].close()
            return self._count

    def close(self) -> None:
        """Forget all models that were dropped, and remove their files."""
        with self._lock:
            for batch in (*self._batches.values(), *(batch for _, batch in self._dropped.values())):
                batch.close()
            self._batches.clear()
            self._dropped.clear()


def _name_as_dropped(error: IngotError, folder: str) -> None:
    """Let an error name files as whoever dropped them knows them, not where they were put."""
    prefix = folder + os.sep
    error.message = error.message.replace(prefix, "")
    error.where = tuple(line.replace(prefix, "") for line in error.where)
