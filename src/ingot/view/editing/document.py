"""A model that is edited in the page: its edits, one list, from which everything else comes.

Every state of the model has a version, a number that no other state gets; a page asks for what it shows by the version
that it shows, so that two tabs do not get in each other's way.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ingot.errors import IngotError, InputError
from ingot.format.save import save
from ingot.ir.model import Model
from ingot.view.answering import Json, NotThere, is_number, stated
from ingot.view.answers import Answers
from ingot.view.editing.apply import apply
from ingot.view.editing.edits import Edit
from ingot.view.editing.forms import leaf_form, suggestions, value_form
from ingot.view.editing.passes import PASSES
from ingot.view.editing.program import ARRAYS, Program, program
from ingot.view.editing.requests import edit_of, upload_of
from ingot.view.scene import Scene

_MOST_STATES = 8
"""States that are kept besides the first; others are made again from the edits when they are asked for."""


class Document:
    """Answers about a model and its edits. `source` is the path that a program would load."""

    def __init__(self, answers: Answers, source: str | None = None) -> None:
        self._original = answers
        self._source = source or "model.onnx"
        self._lock = threading.RLock()
        self._edits: list[Edit] = []
        self._versions = [0]
        """The version before any edit, and after each, those that were undone included."""
        self._done = 0
        self._last_version = 0
        self._states: dict[int, Answers] = {}

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that are done, and not undone."""
        return tuple(self._edits[: self._done])

    @property
    def answers(self) -> Answers:
        """The answers about the model as it is now."""
        return self._at(self._done)

    def get(self, path: str) -> Json:
        """As of `Answers`, of the version that `at/N/` names, or the newest; and `edits`, what was done to it."""
        if path == "edits":
            return self._listed()
        step, rest = self._resolved(path)
        form = re.fullmatch(r"(leaf|value) form/(\d{1,9})", rest)
        if form is not None or rest == "suggestions":
            return self._form(self._at(step).scene, form)
        answer = self._at(step).get(rest)
        return {**answer, "version": self._versions[step], "editable": True} if rest == "model" else answer

    def post(self, path: str, body: bytes) -> Json:
        """An edit, `undo`, `redo`, `save`, or what else `Answers` computes; an edit that is refused says why."""
        actions: dict[str, Callable[[bytes], Json]] = {
            "edit": lambda body: self._edit(stated(body)),
            "undo": lambda _: self._move(-1),
            "redo": lambda _: self._move(1),
            "save": lambda body: self._save(stated(body)),
        }
        name, *rest = path.split("/")
        if name == "weight" and len(rest) == 3 and all(map(is_number, rest)):
            version, leaf, index = map(int, rest)
            actions[path] = lambda body: self._upload(version, leaf, index, body)
        if path in actions:
            with self._lock:
                try:
                    return actions[path](body)
                except IngotError as error:
                    return {"refused": str(error)}
        step, rest_of_path = self._resolved(path)
        return self._at(step).post(rest_of_path, body)

    def file(self, path: str) -> bytes:
        """The arrays that the program reads, or a file of `Answers`."""
        if path == ARRAYS:
            content = io.BytesIO()
            np.savez(content, **self.program().arrays)  # type: ignore[arg-type]
            return content.getvalue()
        step, rest = self._resolved(path)
        return self._at(step).file(rest)

    def program(self, target: str | None = None) -> Program:
        """The program that makes the edits."""
        return program(self.edits, self._source, target or self._target())

    def _target(self) -> str:
        path = Path(self._source)
        return str(path.with_name(f"{path.stem}_edited.onnx"))

    def _resolved(self, path: str) -> tuple[int, str]:
        """The step that a path asks for, and the path in it."""
        with self._lock:
            if not path.startswith("at/"):
                return self._done, path
            version, _, rest = path.removeprefix("at/").partition("/")
            if not is_number(version) or int(version) not in self._versions:
                raise NotThere("the model was edited in another tab; load this page again")
            return self._versions.index(int(version)), rest

    def _at(self, step: int) -> Answers:
        """The answers after a number of edits."""
        with self._lock:
            if not step:
                return self._original
            version = self._versions[step]
            if version not in self._states:
                self._keep(version, self._applied(self._edits[step - 1], self._at(step - 1).model))
            return self._states[version]

    def _applied(self, edit: Edit, model: Model) -> Model:
        return apply(model.copy(), edit)

    def _keep(self, version: int, model: Model) -> None:
        self._states[version] = Answers(model, self._original.title, runs_by_tab=self._original.runs_by_tab)
        for old in list(self._states)[:-_MOST_STATES]:
            del self._states[old]

    def _edit(self, request: Json) -> Json:
        if not isinstance(request, dict):
            raise NotThere("an edit has a kind")
        self._refuse_stale(request.get("version"))
        return self._add(self._asked(lambda: edit_of(self.answers.scene, request)))

    def _upload(self, version: int, leaf: int, index: int, content: bytes) -> Json:
        self._refuse_stale(version)
        return self._add(self._asked(lambda: upload_of(self.answers.scene, leaf, index, content)))

    def _asked(self, read: Callable[[], Edit]) -> Edit:
        try:
            return read()
        except (IndexError, KeyError, TypeError) as error:
            raise InputError(f"the edit is incomplete: {error}") from None

    def _refuse_stale(self, version: object) -> None:
        if version != self._versions[self._done]:
            raise InputError("the model was edited in another tab", hint="load this page again")

    def _add(self, edit: Edit) -> Json:
        """Do an edit; what was undone before it is gone."""
        model = self._applied(edit, self.answers.model)
        self._last_version += 1
        self._edits[self._done :] = [edit]
        self._versions[self._done + 1 :] = [self._last_version]
        self._done += 1
        self._keep(self._last_version, model)
        return self._listed()

    def _move(self, by: int) -> Json:
        if not 0 <= self._done + by <= len(self._edits):
            raise InputError("there is nothing to undo" if by < 0 else "there is nothing to redo")
        self._done += by
        return self._listed()

    def _listed(self) -> Json:
        with self._lock:
            written = self.program()
            return {
                "version": self._versions[self._done],
                "done": written.steps,
                "undone": program(self._edits[self._done :], "", "").steps,
                "python": written.text,
                "arrays": sorted(written.arrays),
                "target": self._target(),
                "passes": list(PASSES),
            }

    def _form(self, scene: Scene, asked: re.Match[str] | None) -> Json:
        if asked is None:
            return suggestions(scene)
        try:
            return (leaf_form if asked[1] == "leaf" else value_form)(scene, int(asked[2]))
        except IndexError:
            raise NotThere(f"nothing is found under '{asked[0]}'") from None

    def _save(self, request: Json) -> Json:
        """Write the model to a path that nothing is at yet; InputError where it cannot be written."""
        text = str(request.get("path") or "").strip() if isinstance(request, dict) else ""
        if not text:
            raise InputError("name the file to write")
        try:
            path = Path(text).expanduser()
            if path.exists():
                raise InputError(f"'{path}' is there already", hint="give the new file another name")
            save(self.answers.model, path)
            return {"path": str(path.resolve()), "bytes": path.stat().st_size}
        except (OSError, RuntimeError, ValueError) as error:  # no such folder, no such user, no such name
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise InputError(f"cannot write '{text[:200]}': {reason}") from None
