"""Matching in time proportional to the text: all ways through a pattern at once, each step remembered."""

from __future__ import annotations

from ingot.errors import UnsupportedError
from ingot.ops.text.re2_syntax import Chars, CharSet, Choice, Place, Repeat, Row, Tree, parse

_MOST_STATES = 10_000
_MOST_REMEMBERED = 20_000

_States = frozenset[int]
_Around = tuple[str, str]  # the characters before and after a place; none at the ends of the text


class Pattern:
    """A compiled pattern: states, each of which takes a character, or goes on without one, maybe only in some places.

    UnsupportedError if it takes more than 10,000 states.
    """

    def __init__(self, pattern: str) -> None:
        tree = parse(pattern)
        if _size(tree) > _MOST_STATES:
            raise UnsupportedError(f"the pattern takes more than {_MOST_STATES:,} states", hint="repeat less often")
        self._takes: list[tuple[CharSet, int] | None] = []
        self._goes: list[list[tuple[str, int]]] = []
        self._end = self._state()
        self._start = self._add(tree, self._end)
        self._has_places = any(kind for edges in self._goes for kind, _ in edges)
        self._remembered: dict[tuple[_States, _Around, str], _States] = {}

    def matches(self, text: str) -> bool:
        """Whether the pattern describes the text from its beginning to its end."""
        states: _States = frozenset([self._start])
        before = ""
        for char in text:
            around = (_kind(before), _kind(char)) if self._has_places else ("", "")
            key = (states, around, char)
            reached = self._remembered.get(key)
            if reached is None:
                reached = self._step(states, (before, char), char)
                if len(self._remembered) >= _MOST_REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = reached
            if not reached:
                return False
            states, before = reached, char
        return self._end in self._reached(states, (before, ""))

    def _step(self, states: _States, around: _Around, char: str) -> _States:
        takes = (self._takes[state] for state in self._reached(states, around))
        return frozenset(take[1] for take in takes if take is not None and char in take[0])

    def _reached(self, states: _States, around: _Around) -> set[int]:
        """The states that can be reached without a character."""
        reached = set(states)
        pending = list(states)
        while pending:
            for kind, state in self._goes[pending.pop()]:
                if state not in reached and (not kind or _is_at(kind, around)):
                    reached.add(state)
                    pending.append(state)
        return reached

    def _state(self, takes: tuple[CharSet, int] | None = None) -> int:
        self._takes.append(takes)
        self._goes.append([])
        return len(self._takes) - 1

    def _add(self, tree: Tree, after: int) -> int:
        """The state in front of a tree that goes on at `after`."""
        match tree:
            case Chars():
                return self._state((tree.chars, after))
            case Place():
                state = self._state()
                self._goes[state].append((tree.kind, after))
                return state
            case Row():
                for part in reversed(tree.parts):
                    after = self._add(part, after)
                return after
            case Choice():
                state = self._state()
                self._goes[state] += [("", self._add(part, after)) for part in tree.parts]
                return state
            case Repeat():
                return self._add_repeat(tree, after)

    def _add_repeat(self, tree: Repeat, after: int) -> int:
        if tree.most is None:
            state = self._state()
            again = self._add(tree.part, state)
            self._goes[state] += [("", again), ("", after)]
            after = state
        else:
            end = after
            for _ in range(tree.most - tree.least):
                state = self._state()
                self._goes[state] += [("", self._add(tree.part, after)), ("", end)]
                after = state
        for _ in range(tree.least):
            after = self._add(tree.part, after)
        return after


def _size(tree: Tree) -> int:
    """How many states a tree takes, at most."""
    match tree:
        case Chars() | Place():
            return 1
        case Row() | Choice():
            return 1 + sum(map(_size, tree.parts))
        case Repeat():
            return (_size(tree.part) + 1) * (tree.least + 1 if tree.most is None else max(tree.most, 1))


def _is_word(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _kind(char: str) -> str:
    """As much of a character as matters to places."""
    return char if char in ("", "\n") else "w" if _is_word(char) else "."


def _is_at(kind: str, around: _Around) -> bool:
    before, after = around
    match kind:
        case "text start":
            return not before
        case "text end":
            return not after
        case "line start":
            return before in ("", "\n")
        case "line end":
            return after in ("", "\n")
    return (_is_word(before) != _is_word(after)) == (kind == "edge")
