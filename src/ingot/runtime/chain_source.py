"""Calls one after another as the text of a function of Python's: a loop over them takes as long as many of them.

Values are variables: `v3` is the value of number 3, `k3` a constant; `f0` is what computes the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import CodeType

from ingot.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CallLine:
    """A call in the text: the numbers of its arguments, None for one omitted, and of its results, with their places."""

    arguments: tuple[int | None, ...]
    results: tuple[tuple[int, int], ...]
    several: bool
    has_bodies: bool
    is_bounded: bool
    """Whether its results need not be counted."""
    assumed: tuple[tuple[int, tuple[int | None, ...]], ...]
    """The numbers of results whose type and sizes were assumed, with the sizes that are numbers."""


@dataclass(frozen=True, slots=True)
class ChainText:
    """All that the text depends on."""

    calls: tuple[CallLine, ...]
    inputs: int
    outputs: tuple[int, ...]
    returned: tuple[int, ...]
    """The numbers of the results of kernels."""
    is_limited: bool
    """Whether limits and errors of floats have to be looked after."""
    is_own: bool
    """Whether outputs are the caller's own as they are, or need not be."""
    by_name: bool
    """Whether inputs are looked up by their names, or all given in order."""


@lru_cache(maxsize=256)
def chain_code(text: ChainText) -> CodeType:
    """The definition of `chain(inputs, results, held, ending)`, compiled."""
    return compile("\n".join(_lines(text)), "<calls>", "exec")


def _lines(text: ChainText) -> Iterable[str]:
    known = {*range(text.inputs), *text.returned, *(number for call in text.calls for number, _ in call.results)}
    read = {number for call in text.calls for number in call.arguments} | set(text.outputs)

    def name(number: int | None) -> str:
        if number is None:
            return "None"
        return f"v{number}" if number in known else f"k{number}"

    yield "def chain(inputs, results, held, ending):"
    if text.by_name:
        yield from (f" v{number} = inputs[n{number}]" for number in range(text.inputs) if number in read)
    elif text.inputs:
        yield f" {_tuple(name(number) for number in range(text.inputs))} = inputs"
    if text.returned:
        yield f" {_tuple(map(name, text.returned))} = results"
    if any(call.has_bodies for call in text.calls):
        yield " run = direct_run(ending, most_nodes, most_bytes)"
    if text.is_limited:
        yield " is_limited = type(ending) is not DirectRun"
        yield " if is_limited: allowed = allow(most_bytes); before = ignore()"
    yield from _calls(text, name)
    if not all(call.is_bounded for call in text.calls):
        yield " if held > most_bytes: return None"
    outputs = f"[{', '.join(map(name, text.outputs))}]"
    yield f" return {outputs if text.is_own else f'owned({outputs}, inputs.values())'}"


def _calls(text: ChainText, name: Callable[[int | None], str]) -> Iterable[str]:
    """The lines of all calls; none for a body that gives what it has."""
    if not text.calls:
        return
    yield " try:"
    for place, call in enumerate(text.calls):
        yield "  if ending is not None: ending.check()"
        arguments = ", ".join([*["run"] * call.has_bodies, *map(name, call.arguments)])
        yield from _call(place, call, f"f{place}({arguments})")
        for number, sizes in call.assumed:
            others = "".join(f" or s[{axis}] != {size}" for axis, size in enumerate(sizes) if size is not None)
            yield f"  s = v{number}.shape"
            yield f"  if len(s) != {len(sizes)} or v{number}.dtype != d{number}{others}: return False"
    yield " except Interrupted: raise"
    yield " except refused: return None"
    if text.is_limited:
        yield " finally:"
        yield "  if is_limited: restore(before); disallow(allowed)"


def _call(place: int, call: CallLine, called: str) -> Iterable[str]:
    """The lines of a call, which may give a single result where it could give several."""
    single = f"v{call.results[0][0]}" if call.results else "_"
    if not call.several:
        yield f"  {single} = {called}"
        if not call.is_bounded:
            yield f"  held += bytes_of({single}, c{place})"
        return
    yield f"  r = {called}"
    yield "  if isinstance(r, (tuple, list)):"
    yield from (f"   v{number} = r[{index}]" for number, index in call.results)
    yield "   pass" if call.is_bounded else f"   for each in r: held += bytes_of(each, c{place})"
    yield "  else:"
    yield f"   {single} = r"
    if not call.is_bounded:
        yield f"   held += bytes_of(r, c{place})"


def _tuple(names: Iterable[str] | Sequence[str]) -> str:
    return f"({', '.join(names)},)"
