"""Plans beside the first: a model compiled again with what a run has shown, where a guard of the first plan failed.

A plan rests on assumptions, such as that sizes of one name are equal, or that a branch for an axis of one element is
taken; its guards check them in every run. When one fails, the model is compiled again without the sizes that it
declares for other values than inputs: first with a name of its own for every open size of an input, but for those that
are zero or one, so that broadcasting is known, which serves all sizes of that pattern; and if guards of that plan fail
too, for exactly the sizes of the run. Kernels are templates that take sizes at run time, so most are there already.

A model that cannot be compiled for the sizes that it declares has no first plan; the sizes of a run may be all that was
missing, and it is compiled for these in the same way.

A choice may rest on a size that a run computes, such as that of a Squeeze without axes. Where such a guard fails, the
model is compiled with the other choice, and the next runs have a plan for either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.dims import symbol
from ingot.ir.types import Shape, TensorType
from ingot.ir.value import Value
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.ended_work import Proceed
from ingot.runtime.executable import Executable
from ingot.runtime.fork_lock import ForkLock
from ingot.runtime.recent import remember

Signature: TypeAlias = tuple[tuple[int, ...] | None, ...]
"""The shapes of inputs in order; None for what is no array."""

Build: TypeAlias = Callable[[Assumptions], Executable | None]
"""The model compiled with what a run has shown of it; None if that fails."""

_MOST = 64
"""Shapes of inputs that are remembered, before those met first are forgotten."""

_MOST_FAILURES = 8
"""Plans for exact sizes of one pattern that may fail, before none is compiled for others: each takes a while."""


_NONE: frozenset[str] = frozenset()

_MOST_REVERSALS = 4
"""Plans with other choices that one run may compile."""


class Variants:
    """The plans of one session beside its first, and the shapes of inputs that each is for."""

    def __init__(self, inputs: Iterable[Value]) -> None:
        self._inputs = list(inputs)
        self._names = _distinct([value.name for value in self._inputs])
        self._built: dict[tuple[tuple[Shape | None, ...], frozenset[str]], Executable | None] = {}
        """Plans by the shapes that they were compiled for: those for exact sizes only until their guards fail."""
        self._failures: dict[tuple[Shape | None, ...], int] = {}
        self._chosen: dict[Signature, Executable] = {}
        self._refused: dict[Signature, None] = {}
        self._lock = ForkLock()

    def __bool__(self) -> bool:
        """Whether there is a plan beside the first."""
        return bool(self._chosen)

    @property
    def has_compiled(self) -> bool:
        """Whether the model was compiled again, whatever came of it."""
        return bool(self._built)

    def chosen(self, feeds: Mapping[str, Any]) -> Executable | None:
        """The plan that ran inputs of these shapes before, if it was not the first."""
        return self._chosen.get(self._signature(feeds))

    def replace(self, before: Executable, after: Executable | None) -> None:
        """Choose another plan, or the first one for None, for all shapes that a plan was chosen for."""
        for signature, plan in list(self._chosen.items()):  # in one step: other threads may add some
            if plan is before and after is not None:
                self._chosen[signature] = after
            elif plan is before:
                self._chosen.pop(signature, None)

    def candidates(
        self,
        first: Executable | None,
        feeds: Mapping[str, Any],
        build: Build,
        failed: set[str],
        proceed: Proceed | None = None,
        others: Sequence[Executable] = (),
    ) -> Iterator[Executable]:
        """Plans for a run, in order: who takes the next says that the guards of the last have failed.

        `others` are for other types of values than the first. The choices by sizes of the run that failed with it are
        to be in `failed` by then, which is emptied before each.
        `build` compiles those that are not there yet, but for shapes for which the guards of all plans failed before:
        a guard may be about what a node computes, so that plans that are there may fit the next run of these shapes.
        One thread compiles, and others that need the same plan wait for it, unless `proceed` ends their run.
        """
        signature = self._signature(feeds)
        known = self._chosen.get(signature)
        choices = _NONE
        for executable in dict.fromkeys((known, first, *others)):
            if executable is None:
                continue
            if executable is not known and executable is not first:
                remember(self._chosen, signature, executable, _MOST)
            failed.clear()
            yield executable
            if failed:
                choices = executable.assumptions.reversed_choices ^ failed
        if choices:
            yield from self._reversed(signature, build, choices, failed, proceed)
        if signature in self._refused:
            return
        for compiled in self._compiled(signature, build, proceed):
            if compiled is None or compiled is known:
                continue
            remember(self._chosen, signature, compiled, _MOST)
            failed.clear()
            yield compiled
            if failed and not choices:  # the plans before did not come as far
                choices = frozenset(failed)
                yield from self._reversed(signature, build, choices, failed, proceed)
        if known is None:
            self._chosen.pop(signature, None)
        else:
            remember(self._chosen, signature, known, _MOST)
        remember(self._refused, signature, None, _MOST)

    def _reversed(
        self, signature: Signature, build: Build, choices: frozenset[str], failed: set[str], proceed: Proceed | None
    ) -> Iterator[Executable]:
        """Plans with choices reversed, first these and then those that fail, until one fits or there are too many."""
        pattern = self._pattern(signature)
        tried: set[frozenset[str]] = set()
        while choices and choices not in tried and len(tried) < _MOST_REVERSALS:
            tried.add(choices)
            executable = self._once(pattern, build, proceed, choices)
            if executable is None:
                return
            remember(self._chosen, signature, executable, _MOST)
            failed.clear()
            yield executable
            choices ^= failed
        self._chosen.pop(signature, None)

    def _pattern(self, signature: Signature) -> tuple[Shape | None, ...]:
        """The shapes of inputs with a name for each size that is not one, or zero, in these."""
        inputs = zip(self._inputs, self._names, signature, strict=True)
        return tuple(None if shape is None else _opened(value, name, shape) for value, name, shape in inputs)

    def _compiled(self, signature: Signature, build: Build, proceed: Proceed | None) -> Iterator[Executable | None]:
        """The plan for all sizes that are zero or one where these are, each other size with a name of its own.

        After that the one for exactly these sizes, unless those for too many others of the kind have failed.
        """
        pattern = self._pattern(signature)
        yield self._once(pattern, build, proceed)
        if pattern != signature and self._failures.get(pattern, 0) < _MOST_FAILURES:
            yield self._once(signature, build, proceed)
            remember(self._built, (signature, _NONE), None, _MOST)  # for threads that wait for it
            if signature not in self._refused:
                remember(self._failures, pattern, self._failures.get(pattern, 0) + 1, _MOST)

    def _once(
        self,
        shapes: Sequence[Shape | None],
        build: Build,
        proceed: Proceed | None,
        choices: frozenset[str] = _NONE,
    ) -> Executable | None:
        """The plan for shapes, with some choices reversed, compiled by the first thread that asks."""
        key = tuple(shapes), choices
        if key not in self._built:
            with self._lock.held(proceed):
                if key not in self._built:  # or another thread has done so meanwhile
                    pairs = zip(self._inputs, shapes, strict=True)
                    named = {value.name: shape for value, shape in pairs if shape is not None}
                    remember(self._built, key, build(Assumptions(named, choices)), _MOST)
        return self._built.get(key)

    def _signature(self, feeds: Mapping[str, Any]) -> Signature:
        return tuple(
            array.shape if isinstance(array := feeds.get(value.name), np.ndarray) else None for value in self._inputs
        )


def _opened(value: Value, name: str, shape: tuple[int, ...]) -> Shape:
    """A shape of an input with a name for each size that is neither declared as a number, nor zero, nor one."""
    declared = value.type.shape if isinstance(value.type, TensorType) else None
    fixed = declared if declared is not None and len(declared) == len(shape) else (None,) * len(shape)
    return tuple(
        size if size <= 1 or isinstance(number, int) else symbol(f"size{axis}_of_{name}")
        for axis, (size, number) in enumerate(zip(shape, fixed, strict=True))
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """A name for each of these in letters, digits and underscores, no two alike."""
    distinct: dict[str, None] = {}
    for name in names:
        plain = own = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
        while own in distinct:
            own = f"{plain}_{len(distinct)}"
            plain += "_"
        distinct[own] = None
    return list(distinct)
