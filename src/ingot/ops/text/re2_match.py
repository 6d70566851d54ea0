"""Matching in time proportional to the text: all ways through a pattern at once, each step remembered."""

from __future__ import annotations

from typing import Any

from ingot.errors import UnsupportedError
from ingot.ops.text.re2_syntax import Chars, CharSet, Choice, Place, Repeat, Row, Tree, parse

_MOST_STATES = 10_000
_MOST_REMEMBERED = 20_000

_States = frozenset[int]
_Threads = tuple[_States, ...]  # the states of matches that began at different places, the earliest first
_Around = tuple[str, str]  # the characters before and after a place; none at the ends of the text


class _Node(dict[str, "_Node"]):
    """The states that a text before a place leads to, with the nodes after a character more; `before` is its kind.

    `is_end` is whether a match may end here, at the end of the text; None until that is asked.
    """

    __slots__ = ("before", "is_end", "states")

    def __init__(self, states: _States, before: str) -> None:
        super().__init__()
        self.states = states
        self.before = before
        self.is_end: bool | None = None


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
        self._nodes: dict[tuple[_States, str], _Node] = {}
        self._followed = 0
        self._first = self._node(frozenset([self._start]), "")
        self._advanced: dict[tuple[_Threads, _Around, str], tuple[_Threads, tuple[int, ...]]] = {}
        self._finished: dict[tuple[_Threads, _Around], int | None] = {}

    def matches(self, text: str) -> bool:
        """Whether the pattern describes the text from its beginning to its end."""
        node = self._first
        for char in text:
            following = node.get(char)
            if following is None:
                following = self._follow(node, char)
            if not following.states:
                return False
            node = following
        if node.is_end is None:
            node.is_end = self._end in self._reached(node.states, (node.before, ""))
        return node.is_end

    def _follow(self, node: _Node, char: str) -> _Node:
        """The node after a character, which is remembered."""
        if self._followed >= _MOST_REMEMBERED:
            self._nodes.clear()
            self._first = self._node(frozenset([self._start]), "")
            self._followed = 0
        states = self._step(node.states, (node.before, _kind(char)), char)
        following = node[char] = self._node(states, _kind(char) if self._has_places else ".")
        self._followed += 1
        return following

    def _node(self, states: _States, before: str) -> _Node:
        node = self._nodes.get((states, before))
        if node is None:
            node = self._nodes[states, before] = _Node(states, before)
        return node

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """Where the leftmost match from `start` on begins and ends, the longest of those that begin there."""
        threads: _Threads = ()
        starts: tuple[int, ...] = ()
        best: tuple[int, int] | None = None
        before = text[start - 1] if start else ""
        for place in range(start, len(text) + 1):
            char = text[place] if place < len(text) else ""
            around = (_kind(before), _kind(char)) if self._has_places else ("", "")
            if best is None:
                threads, starts = (*threads, frozenset([self._start])), (*starts, place)
            key = (threads, around)
            if key not in self._finished:
                _forget(self._finished)
                self._finished[key] = self._finishing(threads, (before, char))
            finishing = self._finished[key]
            if finishing is not None:
                best = (starts[finishing], place)
                threads, starts = threads[: finishing + 1], starts[: finishing + 1]
            if not char:
                break
            threads, survivors = self._advance(threads, around, (before, char))
            starts = tuple(starts[index] for index in survivors)
            if best is not None and not threads:
                break
            before = char
        return best

    def _finishing(self, threads: _Threads, around: _Around) -> int | None:
        """The first thread that may end here."""
        return next((i for i, states in enumerate(threads) if self._end in self._reached(states, around)), None)

    def _advance(self, threads: _Threads, kinds: _Around, around: _Around) -> tuple[_Threads, tuple[int, ...]]:
        """The threads after a character, without states that an earlier one has too, and which of before they are."""
        key = (threads, kinds, around[1])
        advanced = self._advanced.get(key)
        if advanced is None:
            seen: set[int] = set()
            new: list[tuple[int, _States]] = []
            for index, states in enumerate(threads):
                after = self._step(states, around, around[1]) - seen
                if after:
                    new.append((index, after))
                    seen |= after
            advanced = tuple(states for _, states in new), tuple(index for index, _ in new)
            _forget(self._advanced)
            self._advanced[key] = advanced
        return advanced

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


def _forget(remembered: dict[Any, Any]) -> None:
    if len(remembered) >= _MOST_REMEMBERED:
        remembered.clear()


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
