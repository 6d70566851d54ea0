"""A session: a model prepared to run, and its runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from ingot.background import Background, Superseded
from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.format.load import ModelSource
from ingot.ir.model import Model
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.passes.levels import refuse_level
from ingot.passes.precisions import Precision, refuse_precision
from ingot.providers import PROVIDERS, compiler_of, default_providers, is_evaluator, resolve
from ingot.runtime.ended_work import until_ended
from ingot.runtime.feeds import checked_feeds
from ingot.runtime.garbage import uncollected
from ingot.runtime.interrupt import Cancel, Interrupt, Interrupted, interrupt_of
from ingot.runtime.limits import LimitError, RunLimits
from ingot.runtime.provider import Compiler, Evaluator, Provider
from ingot.runtime.results import owned
from ingot.session_model import BuildOptions, SessionModel
from ingot.session_plans import NotRun, PlansFor, SessionPlans

if TYPE_CHECKING:
    from ingot.compile import Artifacts
    from ingot.infer.typed import TypedModel
    from ingot.ir.node import Node
    from ingot.ops.catalog import Catalog
    from ingot.ops.define import Operator
    from ingot.ops.facts import Fact
    from ingot.repair.record import Repair
    from ingot.runtime.evaluate import Evaluation, Observer
    from ingot.runtime.order import Orders
    from ingot.runtime.plan import Plan, StepObserver

__all__ = ["Cancel", "Interrupted", "LimitError", "RunLimits", "Session"]


Placement: TypeAlias = Literal["host", "device"]


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
        providers: Sequence[str | Provider] | None = None,
        threads: int | None = None,
        fallback: bool = True,
        optimise: int = 2,
        precision: Precision | None = None,
        start: Literal["compiled", "at once"] = "compiled",
        strict: bool = False,
    ) -> None:
        """A session of a model, a path, bytes or a ModelProto; the model given is not changed.

        `providers` are who runs it, the first before the others: `cpu` compiles it for this processor and leaves what
        it cannot to `reference`, which takes everything; by default both, or those that INGOT_PROVIDERS lists.
        `threads` are how many run a compiled model, by default as many as the process may use processors. A model that
        fails to compile is left to the reference, or, without `fallback`, a CompileError. The first time that the
        reference runs what was to run compiled, a FallbackWarning says why. `optimise` is how much a model is changed
        before it is compiled: not at all (0), so that every result stays as it is (1), or also so that it is rounded
        differently (2). In a `precision`, products by constant weights are computed in fewer bits where that is faster:
        "bf16" rounds both operands to bfloat16, "fp16" the weights to float16, and both sum in float32; "int8-dynamic"
        multiplies bytes, with scales by the range of each run. The reference knows float32 alone. A model that was
        never opened before is compiled here, but as drafts where that saves time, which the first run uses,
        with the same results; the second waits for the rest, which is compiled in the background. With a `start` "at
        once" all is: the reference runs the model until then, so that results of the first runs may differ from later
        ones in their last bits. What goes wrong in the background, the next run reports; `close` waits for it.

        `operators` are custom ones the model uses, added to `catalog`, by default the standard ones; `seed` is what
        random operators without one of their own start from; `limits` hold for each run. A model that breaks the
        standard is repaired where that has one sensible meaning (see `repairs`), unless `strict`; CheckError if that is
        not enough.
        """
        refuse_level(optimise)
        refuse_precision(precision)
        if start not in ("compiled", "at once"):
            raise InputError(f"there is no start '{start}'", hint="it is 'compiled' or 'at once'")
        self._limits = limits or RunLimits()
        custom = tuple(operators)
        self._catalog = (catalog or _standard()).with_operators(*custom) if custom else catalog
        self._seed = seed
        self._named = tuple(default_providers() if providers is None else providers)
        self._providers = resolve(self._named)
        if not self._providers:
            raise InputError("a session needs a provider", hint=f"of {', '.join(PROVIDERS)}")
        self._threads = threads
        self._optimise = optimise
        self._precision = precision
        self._fallback = fallback
        self._start = start
        self._strict = strict
        self._orders: Orders = {}
        self._compiler = compiler = compiler_of(self._providers)
        self._evaluators = tuple(self._evaluator(provider) for provider in self._providers[compiler is not None :])
        options = BuildOptions(self._catalog, self._limits, threads, optimise, precision, strict)
        self._model = SessionModel(model, compiler, options)
        cached = self._model.find()
        if cached is None:
            if compiler is not None:
                compiler.warm_up()
            with uncollected():  # the imports of all stages too
                graph = self.typed.model.graph
            if compiler is not None:
                compiler.warm_up(len(graph))
            self._inputs: Sequence[Value] = list(graph.inputs)
            self._outputs: Sequence[Value] = list(graph.outputs)
            self._defaults = frozenset(value.name for value in graph.inputs if value.constant is not None)
        else:
            self._inputs, self._outputs, self._defaults = cached.inputs, cached.outputs, frozenset(cached.defaults)
        self._model.outputs = self._outputs
        self._places = {value.name: place for place, value in enumerate(self._outputs)}
        first = None if cached is None else cached.executable
        self._plans = plans = SessionPlans(self._model, self._inputs, first, fallback)
        if compiler is not None and first is None:
            if start == "compiled":
                plans.compile(draft=_may_draft())
            else:
                plans.compile_in_background()

    def close(self) -> None:
        """Wait for what the session does in the background; what went wrong there is reported here."""
        self._plans.end_background(wait=True)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def providers(self) -> tuple[str, ...]:
        """Who runs the model, by name: without the first, if that could not compile it, or has not done so yet."""
        names = tuple(provider.name for provider in self._providers)
        is_compiled = self._plans.first is not None or bool(self._plans.variants)
        return names[1:] or ("reference",) if self._compiler is not None and not is_compiled else names

    def evaluated_by(self, node: Node, inputs: Sequence[Fact]) -> str:
        """Who computes a node that is not in a kernel, by name, from what is known of its inputs."""
        operator = self.catalog.newest(node.domain, node.op_type)
        for evaluator in self._evaluators:
            if evaluator.takes_all or evaluator.refuses(node, operator, inputs, ()) is None:
                return evaluator.name
        return "reference"

    @property
    def catalog(self) -> Catalog:
        return self._model.catalog

    @property
    def model(self) -> Model:
        """The model as it was given, but for what was repaired in it."""
        return self._model.prepared()[0]

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was changed in the model because it breaks the standard."""
        self._model.prepared()
        return self._model.repairs

    @property
    def typed(self) -> TypedModel:
        """The model in the newest operators, with the types of its values: what providers are given."""
        return self._model.prepared()[1]

    @property
    def limits(self) -> RunLimits:
        """The limits of a run."""
        return self._limits

    @property
    def inputs(self) -> dict[str, Type | None]:
        """The types of the inputs without defaults, by name."""
        return {value.name: value.type for value in self._inputs if value.name not in self._defaults}

    @property
    def outputs(self) -> dict[str, Type | None]:
        """The types of the outputs, by name."""
        return {value.name: value.type for value in self._outputs}

    @property
    def compiled(self) -> Artifacts | None:
        """The stages that the model went through on its way to machine code; None if it is not compiled.

        It is waited for where that happens in the background.
        """
        plans = self._plans
        plans.end_background(wait=True)
        if plans.artifacts is None and plans.first is not None and self._compiler is not None:
            plans.compile_fully()  # its plan was found on disk, without the stages before
        return plans.artifacts

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
        placement: Placement = "host",
    ) -> list[Any]:
        """The outputs, or any values of the model asked for by name, for the given inputs.

        `feeds` are arrays, or what numpy or DLPack can make one of; an optional may be left out. Tensors on the device
        that runs the model are read there. `placement` is where results are: arrays on the host, or, on the "device",
        a `DeviceArray` each, which other libraries take by DLPack; strings stay on the host. `seed` is that of this
        run. `observe(node, inputs, outputs, seconds)` is called after each node, also in subgraphs and functions, whose
        nodes come before the one that runs them; nodes are those of the newest operators, arrays are not to be changed.
        `observe_steps(step, seconds, sizes)` is called after each kernel and call of a compiled model, which runs them
        one by one then. The results belong to the caller alone.

        InputError if a feed is missing, unknown, or does not fit; LimitError if the run takes more than the limits of
        the session; Interrupted after `deadline` seconds, or when cancelled: what is compiled ends within milliseconds,
        a node that is not when it is done.
        """
        if placement != "host":
            _refuse_placement(placement)
        interrupt = None if deadline is None and cancel is None else interrupt_of(deadline, cancel)
        plans = self._plans
        if plans.background is not None:
            plans.meet_background(interrupt)
        compilable = observe is None and (outputs is None or self._has(outputs))
        first = plans.first if compilable else None
        overrides = bool(self._defaults) and not self._defaults.isdisjoint(feeds or ())
        variants, without_defaults = plans.variants, None
        if first is not None and overrides:
            without_defaults = plans.without_defaults(self._defaults.intersection(feeds or ()), interrupt)
            first, variants = without_defaults.first, without_defaults.variants
        tries = first is not None or (compilable and not overrides and plans.uncompiled is not None)
        if tries and feeds is not None and observe_steps is None:
            own_seed = self._seed if seed is None else seed
            on_device = placement != "host"
            results = None if first is None else first.fast_path.run(feeds, interrupt, own_seed, on_device)
            if results is None:
                feeds = self._on_host(feeds)
                again = partial(self._evaluation, seed=own_seed, interrupt=interrupt)
                results = plans.run_again(first, variants, feeds, own_seed, again, interrupt)
            if results is not None:
                if on_device:
                    results = self._on_device(results)
                if outputs is None:
                    return results
                asked = self._chosen(results, outputs)
                return asked if len(set(outputs)) == len(outputs) else owned(asked, ())
        background = plans.background if first is None and compilable and not overrides else None
        try:
            results = self._run(
                _Run(
                    outputs,
                    self._on_host(feeds or {}),
                    interrupt,
                    self._seed if seed is None else seed,
                    observe,
                    observe_steps,
                ),
                (without_defaults or PlansFor(first, variants)) if tries else None,
                background,
            )
            return results if placement == "host" else self._on_device(results)
        finally:
            if plans.background is not None:
                plans.background.hurry()
            self._model.keep_rest()

    def _evaluator(self, provider: Provider) -> Evaluator:
        """What computes single nodes: a provider that does, or one that compiles each."""
        if is_evaluator(provider):
            return cast(Evaluator, provider)
        from ingot.node_sessions import NodeSessions  # few sessions have two providers that compile

        return NodeSessions(cast(Compiler, provider), self._open_node)

    def _open_node(self, model: bytes, compiler: Compiler) -> tuple[Session, Plan | None]:
        session = Session(
            model,
            catalog=self._catalog,
            limits=self._limits,
            providers=(compiler, "reference"),
            threads=self._threads,
            fallback=False,
            optimise=self._optimise,
        )
        first = session._plans.first
        return session, None if first is None else first.plan

    def _on_host(self, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
        """The feeds with copies on the host of those that are on the device."""
        if self._compiler is None or all(isinstance(feed, np.ndarray) for feed in feeds.values()):
            return feeds
        memory = self._compiler.memory
        if memory is None:
            return feeds
        adopted = {name: memory.adopted(feed) for name, feed in feeds.items() if not isinstance(feed, np.ndarray)}
        return {**feeds, **{name: array.numpy() for name, array in adopted.items() if array is not None}}

    def _on_device(self, results: Sequence[Any]) -> list[Any]:
        """The results on the device; InputError where there is none."""
        memory = None if self._compiler is None else self._compiler.memory
        if memory is None:
            raise InputError(
                "the session has no device to place results on", hint="name a provider that has: 'cuda' first"
            )
        from ingot.runtime.device_array import DeviceArray  # few sessions have a device

        return [
            DeviceArray.of(result, memory) if isinstance(result, np.ndarray) and not result.dtype.hasobject else result
            for result in results
        ]

    def _run(self, run: _Run, plans: PlansFor | None, background: Background | None) -> list[Any]:
        """A run that is not on the fast path: compiled, compiled again where a guard fails, or on the reference.

        `plans` are None where nothing but the reference may run it.
        """
        outputs, interrupt = run.outputs, run.interrupt
        ready = checked_feeds(self._inputs, run.feeds, self._defaults, strict=self._strict)
        evaluation = partial(self._evaluation, seed=run.seed, interrupt=interrupt, observe=run.observe)
        if background is not None:
            try:
                meanwhile = evaluation(self.typed.model, background=background)
                return owned(meanwhile.run(ready, outputs), ready.values())
            except Superseded:
                plans = PlansFor(self._plans.first, self._plans.variants)
        why = None
        if plans is not None:
            results = self._plans.run(plans, ready, evaluation, interrupt, run.observe_steps)
            if not isinstance(results, NotRun):
                return owned(results if outputs is None else self._chosen(results, outputs), ready.values())
            why = results.why
        if not self._model.is_prepared:  # after a warm start
            until_ended(self._model.prepared, None if interrupt is None else interrupt.check)
        results = owned(evaluation(self.typed.model).run(ready, outputs), ready.values())
        if why is not None:
            self._plans.warn(why)
        return results

    def _evaluation(
        self,
        model: Model,
        *,
        seed: int,
        interrupt: Interrupt | None,
        observe: Observer | None = None,
        background: Background | None = None,
    ) -> Evaluation:
        """How nodes of a model are evaluated in one run."""
        from ingot.runtime.evaluate import Evaluation  # operators

        return Evaluation(
            model,
            self.catalog,
            seed=seed,
            limits=self._limits,
            proceed=_proceed(interrupt, background),
            observe=observe,
            orders=self._orders,
            evaluators=self._evaluators,
        )

    def _has(self, outputs: Sequence[str]) -> bool:
        """Whether all that is asked for are outputs of the model, which is what a plan computes."""
        return all(name in self._places for name in outputs)

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
        options: dict[str, Any] = {
            "catalog": self._catalog,
            "seed": self._seed,
            "limits": self._limits,
            "providers": self._named,
            "threads": self._threads,
            "optimise": self._optimise,
            "precision": self._precision,
            "fallback": self._fallback,
            "start": self._start,
            "strict": self._strict,
        }
        return partial(Session, **options), (whole.getvalue(),)

    def __repr__(self) -> str:
        return f"<Session {self.model.graph!r}>"


@dataclass(frozen=True, slots=True)
class _Run:
    """The arguments of a run."""

    outputs: Sequence[str] | None
    feeds: Mapping[str, Any]
    interrupt: Interrupt | None
    seed: int
    observe: Observer | None
    observe_steps: StepObserver | None


def _proceed(interrupt: Interrupt | None, background: Background | None) -> Callable[[], None] | None:
    """What an evaluation asks whether it may go on: an interrupt, and whether the model is compiled meanwhile."""
    checks = [source.check for source in (interrupt, background) if source is not None]

    def proceed() -> None:
        for check in checks:
            check()

    return proceed if len(checks) > 1 else next(iter(checks), None)


def _refuse_placement(placement: str) -> None:
    if placement not in get_args(Placement):
        names = " or ".join(f"'{name}'" for name in get_args(Placement))
        raise InputError(f"there is no placement '{placement}'", hint=f"it is {names}")


def _may_draft() -> bool:
    """Whether kernels may be compiled as drafts to begin with: unless INGOT_DRAFTS is 0."""
    return os.environ.get("INGOT_DRAFTS") != "0"


def _standard() -> Catalog:
    from ingot.ops.catalog import standard  # a warm start needs none

    return standard()
