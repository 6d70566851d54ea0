"""The model of a session: loaded, repaired and typed when that is first needed, and compiled, or found in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ingot.dataclass import dataclass
from ingot.errors import InputError
from ingot.format.content import FileMap, maps_of, require_unchanged
from ingot.format.load import ModelSource
from ingot.ir.model import Model
from ingot.ir.value import Value
from ingot.runtime.assumptions import Assumptions
from ingot.runtime.ended_work import Proceed
from ingot.runtime.executable import Executable
from ingot.runtime.fork_lock import ForkLock
from ingot.runtime.limits import RunLimits
from ingot.runtime.provider import Compiler
from ingot.warm_start import CachedModel, ModelKey, find, key_of, load_source, with_assumptions, with_overrides

if TYPE_CHECKING:
    from ingot.compile import Build
    from ingot.infer.typed import TypedModel
    from ingot.ops.catalog import Catalog
    from ingot.passes.precisions import Precision
    from ingot.repair.record import Repair

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What a session was given that its plans depend on; a catalog of None is that of the standard."""

    catalog: Catalog | None
    limits: RunLimits
    threads: int | None
    level: int
    precision: Precision | None
    strict: bool


class SessionModel:
    """A model, of which many threads may ask."""

    def __init__(self, source: Model | ModelSource, compiler: Compiler | None, options: BuildOptions) -> None:
        self.outputs: Sequence[Value] = ()
        """As a session shows them, for plans that are kept."""
        self.repairs: tuple[Repair, ...] = ()
        self._compiler = compiler
        self._options = options
        self._lock = ForkLock()
        self._prepared: tuple[Model, TypedModel] | None = None
        self._unkept: Build | None = None
        self._maps: tuple[FileMap, ...] = ()
        key = None
        if compiler is not None and compiler.fingerprint is not None and options.catalog is None:
            machine = f"{compiler.name}\n{compiler.fingerprint}"
            machine += f"\nprecision {options.precision}" if options.precision else ""
            machine += "\nstrict" if options.strict else ""
            key = key_of(source, options.limits, options.level, machine)
        self._source: Model | ModelSource | ModelKey = source if key is None else key
        self._key = None if key is None else replace(key, data=b"")

    @property
    def catalog(self) -> Catalog:
        """The operators that the model may use."""
        if self._options.catalog is not None:
            return self._options.catalog
        from ingot.ops.catalog import standard  # a warm start needs none

        return standard()

    @property
    def is_prepared(self) -> bool:
        """Whether it is loaded and typed."""
        return self._prepared is not None

    def prepared(self, proceed: Proceed | None = None) -> tuple[Model, TypedModel]:
        """The model as it was given but for repairs, and typed; after a warm start both are loaded only here.

        What `proceed` raises ends it. InputError if the file of the model, or of its weights, was written to meanwhile.
        """
        with self._lock.held(proceed):
            if self._prepared is None:
                from ingot.prepare import prepare, repair_and_prepare  # a warm start needs none

                limits = self._options.limits
                loaded = load_source(self._source, limits)
                self._maps = tuple(maps_of(loaded))
                if proceed is not None:
                    proceed()
                if self._options.strict:
                    self._prepared = loaded, prepare(loaded, self.catalog, limits)
                else:
                    repaired = repair_and_prepare(loaded, self.catalog, limits)
                    self._prepared, self.repairs = (repaired.model, repaired.typed), repaired.repairs
                self._source = b""  # nobody asks for it again
            else:
                self._require_unchanged()
            return self._prepared

    def find(self) -> CachedModel | None:
        """What an earlier process has kept of it; None if there is nothing."""
        if self._key is None or self._compiler is None:
            return None
        return find(self._key, self._compiler, self._options.threads, self._options.limits)

    def keep(self, build: Build) -> None:
        """Keep a plan for later processes; one for a device after the next run, with what was launched in it."""
        if self._key is not None:
            self._unkept = build
            if build.artifacts.plan.device is None:
                self.keep_rest()

    def keep_rest(self) -> None:
        """Keep the plan that was to be kept after a run."""
        build, self._unkept = self._unkept, None
        if build is None or self._key is None:
            return
        try:
            _, typed = self.prepared()
        except InputError:  # its file was written to: the build has what was there before, and the key may not
            return
        _keep(self._key, build, self.outputs, typed.model)

    def build(self, draft: bool = False) -> Build:
        """The model compiled as it is; CompileError if that fails."""
        return self._built(self.prepared()[1], None, draft, Assumptions())

    def again(
        self, assumptions: Assumptions, overridden: frozenset[str] = _NONE, proceed: Proceed | None = None
    ) -> Executable:
        """The model compiled with what a run has shown, or found; without the defaults that a run overrides.

        CheckError, CompileError or UnsupportedError if that fails. What `proceed` raises ends it.
        """
        key = None if self._key is None else with_assumptions(with_overrides(self._key, overridden), assumptions)
        return self._with(key, assumptions, overridden, proceed)

    def with_overrides(self, overridden: frozenset[str], proceed: Proceed | None = None) -> Executable:
        """The same with nothing but that."""
        key = None if self._key is None else with_overrides(self._key, overridden)
        return self._with(key, Assumptions(), overridden, proceed)

    def _with(
        self, key: ModelKey | None, assumptions: Assumptions, overridden: frozenset[str], proceed: Proceed | None
    ) -> Executable:
        options = self._options
        assert self._compiler is not None
        cached = None if key is None else find(key, self._compiler, options.threads, options.limits, assumptions)
        if cached is not None:
            return cached.executable
        from ingot.prepare import prepare  # a warm start needs none

        model, typed = self.prepared(proceed)
        own = prepare(model, self.catalog, options.limits, overridden, assumptions.shapes)
        build = self._built(own, proceed, False, assumptions)
        if key is not None:
            _keep(key, build, self.outputs, typed.model)
        return build.executable

    def _built(self, typed: TypedModel, proceed: Proceed | None, draft: bool, assumptions: Assumptions) -> Build:
        from ingot.compile import Options, compile_model  # all stages

        assert self._compiler is not None
        own = self._options
        options = Options(self.catalog, own.threads, own.limits, own.level, proceed, draft, own.precision, assumptions)
        build = compile_model(typed, self._compiler, options)
        self._require_unchanged()
        return build

    def _require_unchanged(self) -> None:
        """InputError if a mapped file was written to, which may end the process when the map is read."""
        for content in self._maps:
            require_unchanged(content)


def _keep(key: ModelKey, build: Build, outputs: Sequence[Value], model: Model) -> None:
    from ingot.keep_plan import keep  # not before the first run is over

    keep(key, build, outputs, model)
