"""The plans of a session: that of its model, those beside it, and those for overridden defaults; which of them runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ingot.background import Background
from ingot.dataclass import dataclass
from ingot.errors import CheckError, CompileError, UnsupportedError
from ingot.ir.types import TensorType, is_static
from ingot.ir.value import Value
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.ended_work import Proceed, until_ended
from ingot.runtime.executable import Executable
from ingot.runtime.fallback import warn_fallback
from ingot.runtime.fork_lock import ForkLock
from ingot.runtime.guards import GuardFailed, KernelError
from ingot.runtime.observed_types import ObservedTypes, TypeNotes
from ingot.runtime.recent import remember
from ingot.session_model import SessionModel
from ingot.typed_plans import TypedPlans
from ingot.variants import Variants

if TYPE_CHECKING:
    from ingot.compile import Artifacts, Build
    from ingot.ir.model import Model
    from ingot.runtime.evaluate import Evaluation
    from ingot.runtime.interrupt import Interrupt
    from ingot.runtime.plan import StepObserver

_NONE: frozenset[str] = frozenset()

_MOST_OVERRIDES = 8
"""How many sets of overridden defaults a session has plans for."""


@dataclass(frozen=True, slots=True)
class PlansFor:
    """The plans that may run a model: the first, None if it failed to compile or is not there yet, and those beside it.

    `overridden` are the defaults that runs give, which are no constants in these plans.
    """

    first: Executable | None
    variants: Variants
    overridden: frozenset[str] = _NONE


@dataclass(frozen=True, slots=True)
class NotRun:
    """That no plan has run a model, and why; None where there was none that could."""

    why: str | None


class SessionPlans:
    """What a session runs its model with; many threads may ask at once."""

    def __init__(self, model: SessionModel, inputs: Sequence[Value], first: Executable | None, fallback: bool) -> None:
        """`first` is the plan found on disk; without `fallback`, a model that fails to compile is a CompileError."""
        self.first = first
        self.variants = Variants(inputs)
        self.typed_plans = TypedPlans()
        self.uncompiled: str | None = None
        """Why the model could not be compiled for the sizes that it declares."""
        self.background: Background | None = None
        self._model = model
        self._inputs = inputs
        self._fallback = fallback
        self.artifacts: Artifacts | None = None
        """The stages that the model went through; None if it is not compiled, or was found on disk."""
        self._has_run = False
        self._warned = False
        self._with_overrides: dict[frozenset[str], PlansFor] = {}
        self._overrides_lock = ForkLock()

    def compile(self, draft: bool) -> None:
        """Compile the model, with drafts of kernels for the first run where that saves time.

        CompileError without a fallback.
        """
        try:
            build = self._model.build(draft=draft)
        except CompileError as error:
            if not self._fallback:
                raise
            self.uncompiled = error.message
            if not any(_is_open(value) for value in self._inputs):  # else a run may know what is missing
                self.warn(f"the model is not compiled, the reference runs it: {error.message}")
            return
        self._use(build)

    def compile_fully(self) -> None:
        """Compile the model without drafts; CompileError if that fails."""
        self._use(self._model.build())

    def compile_in_background(self) -> None:
        """Compile the model while the reference runs it."""
        self.background = Background(self.compile_fully)

    def end_background(self, wait: bool = False) -> None:
        """Report what became of the compilation in the background, if it has ended."""
        background = self.background
        if background is None or not (wait or background.done):
            return
        error = background.error()
        self.background = None
        if isinstance(error, CompileError) and self._fallback:
            if self.first is None:
                self.uncompiled = error.message
                self.warn(f"the model is not compiled, the reference runs it: {error.message}")
            else:
                self.warn(f"the model stays as it was compiled for its first run, slower: {error.message}")
        elif error is not None:
            raise error

    def meet_background(self, interrupt: Interrupt | None) -> None:
        """Wait for a compilation that has left drafts for the first run, from the second run on."""
        background = self.background
        if background is None:
            return
        if self.first is not None and not background.done:
            if not self._has_run:
                self._has_run = True
                return
            background.wait(None if interrupt is None else interrupt.check)
        self.end_background()

    def without_defaults(self, overridden: frozenset[str], interrupt: Interrupt | None) -> PlansFor:
        """The plans for runs that override these defaults.

        One thread compiles, and others that need the same wait, until a run has to end.
        """
        plans = self._with_overrides.get(overridden)
        if plans is None:
            proceed = None if interrupt is None else interrupt.check
            with self._overrides_lock.held(proceed):
                plans = self._with_overrides.get(overridden)  # another thread may have compiled it meanwhile
                if plans is None:
                    first = self._compiled_without(overridden, proceed)
                    plans = PlansFor(first, Variants(self._inputs), overridden)
                    remember(self._with_overrides, overridden, plans, _MOST_OVERRIDES)
        return plans

    def run_again(
        self,
        first: Executable | None,
        variants: Variants,
        feeds: Mapping[str, Any],
        seed: int,
        evaluation: Callable[[Model], Evaluation],
        interrupt: Interrupt | None,
    ) -> list[Any] | None:
        """The outputs for inputs of shapes that ran before, by the first plan or one beside it; None if none fits."""
        results = None if first is None else first.run_again(feeds, evaluation, interrupt)
        variant = variants.chosen(feeds) if results is None and variants else None
        if variant is None:
            return results
        results = variant.fast_path.run(feeds, interrupt, seed)
        return variant.run_again(feeds, evaluation, interrupt) if results is None else results

    def run(
        self,
        plans: PlansFor,
        ready: Mapping[str, Any],
        evaluation: Callable[[Model], Evaluation],
        interrupt: Interrupt | None,
        observe: StepObserver | None,
    ) -> list[Any] | NotRun:
        """The outputs for inputs that are checked, by the first plan whose guards hold, compiled if it is not there.

        `observe` is called after each step.
        """
        first, variants, overridden = plans.first, plans.variants, plans.overridden
        proceed = None if interrupt is None else interrupt.check
        reason = self.uncompiled if first is None else None
        failures: list[str] = []
        failed_choices: set[str] = set()

        def build(assumptions: Assumptions) -> Executable | None:
            return self._recompiled(assumptions, failures, overridden, proceed)

        others = () if overridden or first is None else self.typed_plans.others(first)
        for executable in variants.candidates(first, ready, build, failed_choices, proceed, others):
            notes = TypeNotes()
            try:
                results = executable.run(ready, evaluation, interrupt, observe, notes)
                if notes.types and not overridden and observe is None:
                    typed = self._with_observed_types(executable, notes.types, proceed)
                    if typed is not None:
                        return _run_typed(typed, ready, evaluation, interrupt) or results
                return results
            except GuardFailed as failed:
                reason = str(failed)
                failed_choices.update(failed.choices_of_run(executable.plan.inputs.values()))
            except KernelError as error:
                reason = str(error)
                break  # the reference says what is wrong, and where, or that nothing is
        if reason is None:
            return NotRun(None)
        again = "".join(f"; compiled again: {failure}" for failure in dict.fromkeys(failures))
        thrown = "the model is not compiled" if first is None else "a compiled run was thrown away"
        return NotRun(f"{thrown}, the reference ran the whole model: {reason}{again}")

    def warn(self, message: str) -> None:
        """Warn of a fallback, the first time in this session."""
        if not self._warned:
            self._warned = True
            warn_fallback(message)

    def _use(self, build: Build) -> None:
        """Run a build from now on, and keep its plan; one with drafts only for a run, while it is finished."""
        self.first, self.artifacts = build.executable, build.artifacts
        finish = build.finish
        if finish is not None:
            self.background = Background(lambda: self._use(finish()), is_awaited=True)
        else:
            self._model.keep(build)

    def _compiled_without(self, overridden: frozenset[str], proceed: Proceed | None) -> Executable | None:
        """The model compiled without these defaults, from the cache if it is there; None if that fails."""
        try:
            return until_ended(partial(self._model.with_overrides, overridden), proceed)
        except (CheckError, CompileError, UnsupportedError) as error:
            if not self._fallback:
                raise
            names = ", ".join(f"'{name}'" for name in sorted(overridden))
            self.warn(f"the model with {names} given is not compiled, the reference runs it: {error.message}")
            return None

    def _recompiled(
        self,
        assumptions: Assumptions,
        failures: list[str],
        overridden: frozenset[str] = _NONE,
        proceed: Proceed | None = None,
    ) -> Executable | None:
        """The model recompiled with what a run has shown of it.

        None, and the reason, if that fails. What `proceed` raises ends it.
        """
        try:
            return until_ended(partial(self._model.again, assumptions, overridden), proceed)
        except (CheckError, CompileError, UnsupportedError) as error:
            failures.append(error.message)
            return None

    def _with_observed_types(
        self, before: Executable, observed: ObservedTypes, proceed: Proceed | None
    ) -> Executable | None:
        """The plan for types that a run of another has just shown, which takes its place; None if there is none."""

        def build(assumptions: Assumptions) -> Executable | None:
            return self._recompiled(assumptions, [], proceed=proceed)

        try:
            executable = self.typed_plans.plan_for(before, observed, build, proceed)
        except BaseException:  # the run has to end: the next one is to come here again
            before.forget()
            raise
        if executable is not None:
            is_first = executable.assumptions.are_of_the_model
            self.variants.replace(before, None if is_first else executable)
            if is_first:
                self.first = executable
        return executable


def _run_typed(
    typed: Executable,
    ready: Mapping[str, Any],
    evaluation: Callable[[Model], Evaluation],
    interrupt: Interrupt | None,
) -> list[Any] | None:
    """The results of a run by the plan for the types that it has shown; None if its guards fail all the same."""
    try:
        return typed.run(ready, evaluation, interrupt)
    except (GuardFailed, KernelError):
        return None


def _is_open(value: Value) -> bool:
    """Whether a run may know more of an input than its declared type says."""
    return not isinstance(value.type, TensorType) or not is_static(value.type.shape)
