"""A session: a model made ready to run, and run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from time import monotonic
from typing import TYPE_CHECKING, Any

from ingot.errors import CompileError, IngotError, InputError
from ingot.format.load import ModelSource, load
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ir.types import Type
from ingot.ir.verify import verify
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import Operator
from ingot.passes.upgrade import upgrade
from ingot.runtime.evaluate import Evaluation, Observer
from ingot.runtime.feeds import checked_feeds
from ingot.runtime.limits import LimitError, RunLimits, refuse_nesting, within_the_stack
from ingot.runtime.order import Orders
from ingot.runtime.results import owned

if TYPE_CHECKING:
    from ingot.compile import Compiled, Executable
    from ingot.runtime.plan import StepObserver

__all__ = ["Cancel", "Interrupted", "LimitError", "Observer", "RunLimits", "Session"]


PROVIDERS = ("cpu", "reference")
"""The names of all providers."""


class Interrupted(IngotError):
    """A run ended before it was done: its deadline passed, or somebody cancelled it."""


class Cancel:
    """Given to a run, ends it from another thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        self._event.set()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()


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
        providers: Sequence[str] = ("reference",),
        threads: int | None = None,
        fallback: bool = True,
    ) -> None:
        """A session of a model, a path, bytes or a ModelProto; the model given is not changed.

        `providers` are who runs it, the first before the others: `cpu` compiles it for this processor and leaves what
        it cannot to `reference`, which takes everything. `threads` are how many run a compiled model, by default as
        many as the process may use processors. A model that fails to compile is left to the reference, or, without
        `fallback`, a CompileError.

        `operators` are custom ones the model uses, added to `catalog`, by default the standard ones; `seed` is what
        random operators without one of their own start from; `limits` hold for each run. CheckError if the model breaks
        the standard.
        """
        self._limits = limits or RunLimits()
        given = model if isinstance(model, Model) else load(model)
        refuse_nesting(given, self._limits)
        custom = tuple(operators)
        self._catalog = (catalog or standard()).with_operators(*custom) if custom else catalog
        self._seed = seed
        with within_the_stack():
            self._given = given.copy() if given is model else given
            ready = given.copy()
            verify(ready)
            upgrade(ready, catalog=self.catalog)
            infer(ready, catalog=self.catalog, name_sizes=False, most_calls=self._limits.calls)
        self._ready = ready
        self._orders: Orders = {}
        self._providers = tuple(providers)
        self._threads = threads
        self._places = {name: place for place, name in enumerate(ready.graph.outputs.names)}
        self._compiled = self._compile(fallback)

    def _compile(self, fallback: bool) -> Executable | None:
        unknown = [name for name in self._providers if name not in PROVIDERS]
        if unknown or not self._providers:
            raise InputError(f"there is no provider '{(unknown or [''])[0]}'", hint=f"one of {', '.join(PROVIDERS)}")
        if self._providers[0] != "cpu":
            return None
        from ingot.compile import Executable  # LLVM is not free to load

        try:
            return Executable(self._ready.copy(), self.catalog, self._threads, self._limits)
        except CompileError:
            if not fallback:
                raise
            return None

    @property
    def providers(self) -> tuple[str, ...]:
        """Who runs the model: `reference` alone, if it could not be compiled."""
        return self._providers if self._compiled is not None else ("reference",)

    @property
    def catalog(self) -> Catalog:
        return self._catalog or standard()

    @property
    def model(self) -> Model:
        """The model as it was given."""
        return self._given

    @property
    def limits(self) -> RunLimits:
        """What a run may take."""
        return self._limits

    @property
    def inputs(self) -> dict[str, Type | None]:
        """What a caller must give, by name."""
        return {value.name: value.type for value in self._ready.inputs}

    @property
    def outputs(self) -> dict[str, Type | None]:
        """What comes back, by name."""
        return {value.name: value.type for value in self._ready.outputs}

    @property
    def compiled(self) -> Compiled | None:
        """The stages that the model went through on its way to machine code; None if it is not compiled."""
        return None if self._compiled is None else self._compiled.compiled

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
        the session; Interrupted after `deadline` seconds, or when cancelled: at the next node, as nothing ends the
        computation of one.
        """
        compiled = self._compiled if observe is None and self._has(outputs) else None
        if compiled is not None and feeds is not None:
            plain = deadline is None and cancel is None and observe_steps is None
            results = compiled.again.run(feeds) if plain else None
            if results is not None:
                return results if outputs is None else self._chosen(results, outputs)
        if deadline is not None and not deadline >= 0:
            raise InputError(f"a deadline is a number of seconds, not {deadline}")
        end = None if deadline is None else monotonic() + deadline

        def proceed() -> None:
            if cancel is not None and cancel.cancelled:
                raise Interrupted("the run was cancelled")
            if end is not None and monotonic() >= end:
                raise Interrupted(f"the run took longer than {deadline} s")

        ready = checked_feeds(self._ready.graph, feeds or {})
        evaluation = Evaluation(
            self._ready,
            self.catalog,
            seed=self._seed if seed is None else seed,
            limits=self._limits,
            proceed=None if cancel is None and end is None else proceed,
            observe=observe,
            orders=self._orders,
        )
        if compiled is not None:
            from ingot.compile import Failed  # loaded with the compiled model

            try:
                asked = None if cancel is None and end is None else proceed
                results = compiled.run(ready, evaluation, asked, observe_steps)
                return owned(results if outputs is None else self._chosen(results, outputs), ready.values())
            except Failed:
                pass  # the reference says what is wrong, and where
        return owned(evaluation.run(ready, outputs), ready.values())

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
        cancel = Cancel()
        try:
            return await asyncio.to_thread(self.run, outputs, feeds, deadline=deadline, cancel=cancel)
        except asyncio.CancelledError:
            cancel.cancel()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        from ingot.format.save import save  # only pickling needs it

        whole = BytesIO()
        save(self._given, whole, external="never")  # weights in other files are taken in: there may be none over there
        return _restored, (
            *(whole.getvalue(), self._catalog, self._seed, self._limits, self._providers, self._threads),
        )

    def __repr__(self) -> str:
        return f"<Session {self._given.graph!r}>"


def _restored(
    data: bytes,
    catalog: Catalog | None,
    seed: int,
    limits: RunLimits,
    providers: tuple[str, ...],
    threads: int | None,
) -> Session:
    return Session(data, catalog=catalog, seed=seed, limits=limits, providers=providers, threads=threads)
