"""Two models in one page: the answers about each, about both merged, and the list of what differs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from ingot.difference.api import diff
from ingot.difference.result import Change
from ingot.ir.model import Model
from ingot.ir.node import Node
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.view.answering import Json
from ingot.view.answers import Answers
from ingot.view.comparing.entries import Entry, entries
from ingot.view.comparing.merged import Merged, merged

_MOST_LISTED = 2000
_ORDER = ("removed", "added", "changed", "renamed")
"""Which of several differences a node is coloured by."""


class Comparison:
    """Answers about two models: under `a/` and `b/` those about each, else those about both merged."""

    def __init__(self, a: Answers, b: Answers) -> None:
        self._sides = {"a": a, "b": b}
        self._lock = threading.RLock()
        self._merged: Merged | None = None
        self._answers: Answers | None = None
        self._entries: list[Entry] = []

    def get(self, path: str) -> Json:
        """The answer to a path; `differences` is the list, with the colours of nodes in each picture."""
        if path == "differences":
            return self._differences()
        answers, rest = self._resolved(path)
        if answers is not self._both():
            return answers.get(rest)
        if rest == "check":
            return []  # of a picture of two models
        answer = answers.get(rest)
        titles = [side.title for side in self._sides.values()]
        return {**answer, "compared": titles} if rest == "model" else answer

    def post(self, path: str, body: bytes) -> Json:
        """As of the `Answers` of the path."""
        answers, rest = self._resolved(path)
        return answers.post(rest, body)

    def file(self, path: str) -> bytes:
        """As of the `Answers` of the path."""
        answers, rest = self._resolved(path)
        return answers.file(rest)

    def everything(self) -> Iterator[tuple[str, Json]]:
        """All that a saved page shows."""
        for path, answer in self._both().everything():
            yield path, self.get(path) if path in ("model", "check") else answer
        for side, answers in self._sides.items():
            for path, answer in answers.everything():
                yield f"{side}/{path}", answer
        yield "differences", self._differences()

    def _resolved(self, path: str) -> tuple[Answers, str]:
        side, _, rest = path.partition("/")
        return (self._sides[side], rest) if side in self._sides else (self._both(), path)

    def _both(self) -> Answers:
        """The answers about the merged model, whose types are those of the two."""
        with self._lock:
            if self._answers is None:
                a, b = self._sides["a"].model, self._sides["b"].model
                difference = diff(a, b)
                self._merged = merged(a, b, difference)
                self._entries = entries(a, b, difference)
                titles = " → ".join(side.title for side in self._sides.values())
                self._answers = Answers(self._merged.model, titles, self._types)
            return self._answers

    def _types(self) -> Mapping[Value, Type]:
        assert self._merged is not None
        types: dict[Value, Type] = {}
        for side, places in (("a", self._merged.of_a), ("b", self._merged.of_b)):
            own = self._sides[side].types()
            for value, twin in places.items():
                if isinstance(value, Value) and isinstance(twin, Value) and value in own:
                    types[twin] = own[value]
        return types

    def _differences(self) -> Json:
        with self._lock:
            both = self._both()
            assert self._merged is not None
            of_a, of_b = self._merged.of_a, self._merged.of_b
            leaves = {"a": self._sides["a"].numbers(), "b": self._sides["b"].numbers(), "merged": both.numbers()}
            listed: list[Json] = []
            colours: dict[str, dict[int, str]] = {"a": {}, "b": {}, "merged": {}}
            for entry in self._entries:
                drawn = of_b.get(entry.b) if entry.b is not None else None
                drawn = drawn if drawn is not None else of_a.get(entry.a) if entry.a is not None else None
                places = {
                    "a": _number(leaves["a"], entry.a),
                    "b": _number(leaves["b"], entry.b),
                    "merged": _number(leaves["merged"], drawn),
                }
                for side, leaf in places.items():
                    known = colours[side].get(-1 if leaf is None else leaf)
                    if leaf is not None and (known is None or _ORDER.index(entry.status) < _ORDER.index(known)):
                        colours[side][leaf] = entry.status
                changes = [_words(change) for change in entry.changes]
                listed.append({"status": entry.status, "title": entry.title, "changes": changes, **places})
            partners = {
                leaves["a"][node]: leaves["b"][other]
                for node, other in _partners(self._merged)
                if node in leaves["a"] and other in leaves["b"]
            }
            return {
                "entries": listed[:_MOST_LISTED],
                "count": len(listed),
                "colours": colours,
                "partners": partners,
            }


def _number(leaves: Mapping[Node | Value, int], place: Node | Value | None) -> int | None:
    return None if place is None else leaves.get(place)


def _partners(both: Merged) -> Iterator[tuple[Node | Value, Node | Value]]:
    """What stands at one place in both models."""
    back = {drawn: original for original, drawn in both.of_b.items()}
    for original, drawn in both.of_a.items():
        if drawn in back:
            yield original, back[drawn]


def _words(change: Change) -> Json:
    numbers = None
    if change.numbers is not None:
        largest, mean, count = change.numbers
        numbers = f"{count:,} elements differ, by {largest:.3g} at most and {mean:.3g} on average"
    return {
        "kind": change.kind,
        "name": f"{change.part} {change.name}",
        "before": change.before,
        "after": change.after,
        "numbers": numbers,
    }


def comparison(a: Model, b: Model, titles: tuple[str, str]) -> Comparison:
    """The comparison of two models under their titles."""
    return Comparison(Answers(a, titles[0]), Answers(b, titles[1]))
