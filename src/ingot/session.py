"""A session: a model made ready to run, and run."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ingot.codegen.llvm.workers import workers
from ingot.errors import CheckError, CompileError, InputError, UnsupportedError
from ingot.format.load import ModelSource
from ingot.ir.model import Model
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.runtime.executable import Deoptimised, Executable
from ingot.runtime.fallback import warn_fallback
from ingot.runtime.feeds import checked_feeds
from ingot.runtime.interrupt import Cancel, Deadline, Either, Interrupt, Interrupted
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.results import owned
from ingot.runtime.team import processors
from ingot.warm_start import ModelKey, find, keep, key_of, with_given

if TYPE_CHECKING:
    from ingot.compile import Artifacts
    from ingot.ops.catalog import Catalog
    from ingot.ops.define import Operator
    from ingot.prepare import Prepared
    from ingot.runtime.evaluate import Evaluation, Observer
    from ingot.runtime.order import Orders
    from ingot.runtime.plan import StepObserver

__all__ = ["Cancel", "Interrupted", "LimitError", "Observer", "RunLimits", "Session"]


PROVIDERS = ("cpu", "reference")
"""The names of all providers, in the order in which they are asked."""


_MOST_GIVEN = 8
"""Sets of inputs with defaults that a session remembers what it compiled for."""


class Session:
    """A model ready to run: brought to the newest operators, checked, and typed.

    One session serves many threads: what a run computes is not kept in it. It can be pickled, and used after a fork.
    """

    def __init__(
        self,
        model: Model | ModelSource,
        *,
        operators: Iterable[Operator] = (),
        catalog: Catalog | None = None,
        seed: int = 0,
        limits: RunLimits | None = None,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        fallback: bool = True,
        optimise: int = 2,
    ) -> None:
        """A session of a model, a path, bytes or a ModelProto; the model given is not changed.

        `providers` are who runs it, the first before the others: `cpu` compiles it for this processor and leaves what
        it cannot to `reference`, which takes everything; by default both, or those that INGOT_PROVIDERS lists.
        `threads` are how many run a compiled model, by default as many as the process may use processors. A model that
        fails to compile is left to the reference, or, without `fallback`, a CompileError. The first time that the
        reference runs what was to run compiled, a FallbackWarning says why. `optimise` is how much a model is changed
        before it is compiled: not at all (0), so that every result stays as it is (1), or also so that it is rounded
        differently (2).

        `operators` are custom ones the model uses, added to `catalog`, by default the standard ones; `seed` is what
        random operators without one of their own start from; `limits` hold for each run. CheckError if the model breaks
        the standard.
        """
        self._limits = limits or RunLimits()
        custom = tuple(operators)
        self._catalog = (catalog or _standard()).with_operators(*custom) if custom else catalog
        self._seed = seed
        self._providers = _default_providers() if providers is None else tuple(providers)
        self._threads = threads
        self._optimise = optimise
        self._fallback = fallback
        self._orders: Orders = {}
        self._prepared: Prepared | None = None
        self._warned = False
        self._stages: Artifacts | None = None
        self._lock = threading.Lock()
        if optimise not in (0, 1, 2):
            raise InputError(f"there is no level {optimise}", hint="the levels are 0, 1, 2")
        unknown = [name for name in self._providers if name not in PROVIDERS]
        if unknown or not self._providers:
            raise InputError(f"there is no provider '{(unknown or [''])[0]}'", hint=f"one of {', '.join(PROVIDERS)}")
        origin = found = None
        if self._providers[0] == "cpu" and self._catalog is None:
            origin = key_of(model, self._limits, optimise)
            found = None if origin is None else find(origin, threads, self._limits)
        self._source = model if origin is None else origin
        self._compiled = None if found is None else found.executable
        self._with_given: dict[frozenset[str], Executable] = {}
        if found is None:
            if self._providers[0] == "cpu":
                workers(processors()).begin()  # LLVM is loaded there while the model is here
            ready = self._ready
            self._inputs: Sequence[Value] = list(ready.graph.inputs)
            self._outputs: Sequence[Value] = list(ready.graph.outputs)
            self._defaults = frozenset(value.name for value in ready.graph.inputs if value.constant is not None)
            if self._providers[0] == "cpu":
                self._compile(fallback, origin)
        else:
            self._inputs, self._outputs, self._defaults = found.inputs, found.outputs, frozenset(found.defaults)
        self._origin = origin if self._defaults else None
        self._places = {value.name: place for place, value in enumerate(self._outputs)}

    def _prepare(self) -> Prepared:
        """The model as it was given and as it is run; a session of a model that was opened before has not loaded it."""
        from ingot.prepare import prepared  # all operators

        with self._lock:
            if self._prepared is None:
                self._prepared = prepared(self._source, self.catalog, self._limits)
                self._source = None
            return self._prepared

    @property
    def _ready(self) -> Model:
        return self._prepare().ready

    def _compile(self, fallback: bool, origin: ModelKey | None = None) -> None:
        from ingot.compile import executable  # LLVM is not free to load

        try:
            made = executable(self._ready.copy(), self.catalog, self._threads, self._limits, self._optimise)
        except CompileError as error:
            if not fallback:
                raise
            self._warn(f"the model is not compiled, the reference runs it: {error.message}")
            return
        self._compiled, self._stages = made.executable, made.compiled
        if origin is not None:
            keep(origin, made, self._outputs, self._ready)

    def _compiled_for(self, given: frozenset[str]) -> Executable | None:
        """What runs the model when inputs that have defaults are given, which are no constants then.

        None if it cannot be compiled for that, so that the reference runs it.
        """
        found = self._with_given.get(given)
        if found is None:
            origin = None if self._origin is None else with_given(self._origin, given)
            kept = None if origin is None else find(origin, self._threads, self._limits)
            if kept is not None:
                found = kept.executable
            else:
                from ingot.compile import executable  # LLVM is not free to load
                from ingot.prepare import prepared_without  # all operators

                try:
                    ready = prepared_without(self._prepare().given, given, self.catalog, self._limits)
                    made = executable(ready, self.catalog, self._threads, self._limits, self._optimise)
                except (CheckError, CompileError, UnsupportedError) as error:
                    if not self._fallback:
                        raise
                    names = ", ".join(f"'{name}'" for name in sorted(given))
                    self._warn(f"the model with {names} given is not compiled, the reference runs it: {error.message}")
                    return None
                found = made.executable
                if origin is not None:
                    keep(origin, made, self._outputs, self._ready)
            while len(self._with_given) >= _MOST_GIVEN:
                self._with_given.pop(next(iter(self._with_given)), None)
            self._with_given[given] = found
        return found

    @property
    def providers(self) -> tuple[str, ...]:
        """Who runs the model: `reference` alone, if it could not be compiled."""
        return self._providers if self._compiled is not None else ("reference",)

    @property
    def catalog(self) -> Catalog:
        return self._catalog or _standard()

    @property
    def model(self) -> Model:
        """The model as it was given."""
        return self._prepare().given

    @property
    def limits(self) -> RunLimits:
        """What a run may take."""
        return self._limits

    @property
    def inputs(self) -> dict[str, Type | None]:
        """What a caller must give, by name."""
        return {value.name: value.type for value in self._inputs if value.name not in self._defaults}

    @property
    def outputs(self) -> dict[str, Type | None]:
        """What comes back, by name."""
        return {value.name: value.type for value in self._outputs}

    @property
    def compiled(self) -> Artifacts | None:
        """The stages that the model went through on its way to machine code; None if it is not compiled."""
        if self._stages is None and self._compiled is not None:
            self._compile(fallback=False)  # it was opened from what was kept, which has no stages
        return self._stages

    def run(
        self,
        outputs: Sequence[str] | None = None,
        feeds: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        seed: int | None = None,
        observe: Observer | None = None,
        observe_steps: StepObserver | None = None,
    ) -> list[Any]:
        """The outputs, or any values of the model asked for by name, for the given inputs.

        `feeds` are arrays, or what numpy or DLPack can make one of; an optional may be left out. `seed` is that of this
        run. `observe(node, inputs, outputs, seconds)` is called after each node, also in subgraphs and functions, whose
        nodes come before the one that runs them; nodes are those of the newest operators, arrays are not to be changed.
        `observe_steps(step, seconds, sizes)` is called after each kernel and call of a compiled model, which runs them
        one by one then. The results belong to the caller alone.

        InputError if a feed is missing, unknown, or does not fit; LimitError if the run takes more than the limits of
        the session; Interrupted after `deadline` seconds, or when cancelled: what is compiled ends within milliseconds,
        a node that is not when it is done.
        """
        compiled = self._compiled if observe is None and self._has(outputs) else None
        if compiled is not None and self._defaults and not self._defaults.isdisjoint(feeds or ()):
            compiled = self._compiled_for(self._defaults.intersection(feeds or ()))
        interrupt = _interrupt(deadline, cancel)
        if compiled is not None and feeds is not None and observe_steps is None:
            results = compiled.fast_path.run(feeds, interrupt)
            if results is not None:
                if outputs is None:
                    return results
                chosen = self._chosen(results, outputs)
                return chosen if len(set(outputs)) == len(outputs) else owned(chosen, ())
        ready = checked_feeds(self._inputs, feeds or {}, self._defaults)

        def evaluation(model: Model) -> Evaluation:
            from ingot.runtime.evaluate import Evaluation  # all operators

            return Evaluation(
                model,
                self.catalog,
                seed=self._seed if seed is None else seed,
                limits=self._limits,
                proceed=None if interrupt is None else interrupt.check,
                observe=observe,
                orders=self._orders,
            )

        reason = None
        if compiled is not None:
            try:
                results = compiled.run(ready, evaluation, interrupt, observe_steps)
                return owned(results if outputs is None else self._chosen(results, outputs), ready.values())
            except Deoptimised as failed:
                reason = str(failed)  # the reference says what is wrong, and where, or that nothing is
        results = owned(evaluation(self._ready).run(ready, outputs), ready.values())
        if reason is not None:
            self._warn(f"a compiled run was thrown away, the reference ran the whole model: {reason}")
        return results

    def _warn(self, message: str) -> None:
        """Warn of a fallback, the first time in this session."""
        if not self._warned:
            self._warned = True
            warn_fallback(message)

    def _has(self, outputs: Sequence[str] | None) -> bool:
        """Whether all that is asked for are outputs of the model, which is what a plan computes."""
        return outputs is None or all(name in self._places for name in outputs)

    def _chosen(self, results: Sequence[Any], outputs: Sequence[str]) -> list[Any]:
        return [results[self._places[name]] for name in outputs]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The outputs for inputs given in order or by name: one as it is, several as a tuple."""
        names = list(self.inputs)
        if len(arguments) > len(names):
            raise InputError(f"{len(arguments)} inputs are given, the model takes {len(names)}: {', '.join(names)}")
        feeds = dict(zip(names, arguments, strict=False))
        for name, value in named.items():
            if name in feeds:
                raise InputError(f"input '{name}' is given twice")
            feeds[name] = value
        results = self.run(None, feeds)
        return results[0] if len(results) == 1 else tuple(results)

    async def run_async(
        self,
        outputs: Sequence[str] | None = None,
        feeds: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
    ) -> list[Any]:
        """The same, without blocking the event loop; cancelling the task ends the run."""
        import asyncio  # not free to load, and there already if this is called

        cancel = Cancel()
        try:
            return await asyncio.to_thread(self.run, outputs, feeds, deadline=deadline, cancel=cancel)
        except asyncio.CancelledError:
            cancel.cancel()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        from ingot.format.save import save  # only pickling needs it

        whole = BytesIO()
        save(self.model, whole, external="never")  # weights in other files are taken in: there may be none over there
        return _restored, (
            *(whole.getvalue(), self._catalog, self._seed, self._limits, self._providers, self._threads),
            self._optimise,
        )

    def __repr__(self) -> str:
        return f"<Session {self.model.graph!r}>"


def _interrupt(deadline: float | None, cancel: Cancel | None) -> Interrupt | None:
    """What may end a run that begins now; InputError if the deadline is no number of seconds."""
    if deadline is None:
        return cancel
    if not deadline >= 0:
        raise InputError(f"a deadline is a number of seconds, not {deadline}")
    return Deadline(deadline) if cancel is None else Either(cancel, Deadline(deadline))


def _default_providers() -> tuple[str, ...]:
    given = os.environ.get("INGOT_PROVIDERS")
    return tuple(name.strip() for name in given.split(",")) if given else PROVIDERS


def _standard() -> Catalog:
    from ingot.ops.catalog import standard  # all operators

    return standard()


def _restored(
    data: bytes,
    catalog: Catalog | None,
    seed: int,
    limits: RunLimits,
    providers: tuple[str, ...],
    threads: int | None,
    optimise: int,
) -> Session:
    return Session(
        data, catalog=catalog, seed=seed, limits=limits, providers=providers, threads=threads, optimise=optimise
    )
