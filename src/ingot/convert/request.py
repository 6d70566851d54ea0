"""Request: how a caller wants a converted model to look, in the words that all frameworks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ingot.errors import InputError, nearest

DynamicAxes: TypeAlias = Mapping[str, Mapping[int, str] | Sequence[int]] | Sequence[Mapping[int, str] | Sequence[int]]
"""By input or output, the axes whose size is open: with a name each, or only listed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What `convert` was asked for; `options` are those of one framework alone.

    None for names and axes means that the converter chooses; for `opset_version`, the default of `convert`.
    """

    input_names: tuple[str, ...] | None = None
    output_names: tuple[str, ...] | None = None
    dynamic_axes: DynamicAxes | None = None
    opset_version: int | Mapping[str, int] | None = None
    seed: int = 0
    options: Mapping[str, object] = field(default_factory=dict)
    trusted: bool = False
    """Whether a file may run the code that is in it as it is loaded."""

    def __post_init__(self) -> None:
        for what, names in ("input", self.input_names), ("output", self.output_names):
            for place, name in enumerate(names or ()):
                if not name:
                    raise InputError(f"the name of {what} {place} is empty")
                if name in (names or ())[:place]:
                    raise InputError(f"two {what}s are to be called '{name}'")
        shared = set(self.input_names or ()) & set(self.output_names or ())
        if shared:
            raise InputError(f"'{min(shared)}' is to be the name of an input and of an output")

    def only(self, framework: str, *known: str) -> Mapping[str, object]:
        """The options, if `framework` knows them all; InputError for one that it does not."""
        for name in self.options:
            if name not in known:
                raise InputError(f"converting from {framework} takes no option '{name}'", hint=nearest(name, known))
        return self.options


def leading_names(
    what: str, wanted: Sequence[str] | None, default: Sequence[str], *, reserved: Sequence[str] = ()
) -> tuple[str, ...]:
    """The names asked for, then the default ones of what is left; InputError if they are more than there are values.

    A default name that is `reserved`, or asked for by another value, is numbered.
    """
    if wanted is None or len(wanted) >= len(default):
        return checked_names(what, wanted, default)
    names = list(wanted)
    for name in default[len(wanted) :]:
        count = 1
        unique = name
        while unique in names or unique in reserved:
            unique = f"{name}_{count}"
            count += 1
        names.append(unique)
    return tuple(names)


def checked_names(what: str, wanted: Sequence[str] | None, default: Sequence[str]) -> tuple[str, ...]:
    """The names asked for, or the default ones; InputError if they are not as many as there are values to name."""
    if wanted is None:
        return tuple(default)
    if len(wanted) != len(default):
        listed = ", ".join(default)
        raise InputError(
            f"{len(wanted)} {what} names are given, the model has {len(default)} {what}{'s' * (len(default) != 1)}",
            hint=f"by default they are called {listed}",
        )
    return tuple(wanted)
