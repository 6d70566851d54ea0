"""A session: a model made ready to run, and run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

import numpy as np

from ingot.dims import Expr
from ingot.dtypes import DType
from ingot.errors import IngotError, InputError, nearest
from ingot.format.load import ModelSource, load
from ingot.infer import infer
from ingot.ir.model import Model
from ingot.ir.types import OptionalType, SequenceType, TensorType, Type
from ingot.ir.value import Value
from ingot.ir.verify import verify
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import Operator
from ingot.passes.upgrade import upgrade
from ingot.runtime.evaluate import Evaluation


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

    One session serves many threads: nothing of a run is kept in it. It can be pickled, and used after a fork.
    """

    def __init__(
        self,
        model: Model | ModelSource,
        *,
        operators: Iterable[Operator] = (),
        catalog: Catalog | None = None,
        seed: int = 0,
    ) -> None:
        """A session of a model, a path, bytes or a ModelProto; the model given is not changed.

        `operators` are custom ones the model uses, added to `catalog`, by default the standard ones; `seed` is what
        random operators without one of their own start from. CheckError if the model breaks the standard.
        """
        self._given = model.copy() if isinstance(model, Model) else load(model)
        custom = tuple(operators)
        self._catalog = (catalog or standard()).with_operators(*custom) if custom else catalog
        self._seed = seed
        ready = self._given.copy()
        verify(ready)
        upgrade(ready, catalog=self.catalog)
        infer(ready, catalog=self.catalog)
        self._ready = ready

    @property
    def catalog(self) -> Catalog:
        return self._catalog or standard()

    @property
    def model(self) -> Model:
        """The model as it was given."""
        return self._given

    @property
    def inputs(self) -> dict[str, Type | None]:
        """What a caller must give, by name."""
        return {value.name: value.type for value in self._ready.inputs}

    @property
    def outputs(self) -> dict[str, Type | None]:
        """What comes back, by name."""
        return {value.name: value.type for value in self._ready.outputs}

    def run(
        self,
        outputs: Sequence[str] | None = None,
        feeds: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        cancel: Cancel | None = None,
        seed: int | None = None,
    ) -> list[Any]:
        """The outputs, or any values of the model asked for by name, for the given inputs.

        `feeds` are arrays, or what numpy or DLPack can make one of; an optional may be left out. `seed` is that of this
        run. InputError if a feed is missing, unknown, or does not fit; Interrupted after `deadline` seconds, or when
        cancelled.
        """
        end = None if deadline is None else monotonic() + deadline

        def proceed() -> None:
            if cancel is not None and cancel.cancelled:
                raise Interrupted("the run was cancelled")
            if end is not None and monotonic() > end:
                raise Interrupted(f"the run took longer than {deadline} s")

        ready = self._checked(feeds or {})
        start = self._seed if seed is None else seed
        results = Evaluation(self._ready, self.catalog, seed=start, proceed=proceed).run(ready, outputs)
        return [_own(result, ready.values()) for result in results]

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

    def _checked(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        known = {value.name: value for value in self._ready.graph.inputs}
        for name in feeds:
            if name not in known:
                hint = nearest(name, known) or f"the inputs are {', '.join(known) or 'none'}"
                raise InputError(f"the model has no input '{name}'", hint=hint)
        feeds = {value.name: None for value in known.values() if isinstance(value.type, OptionalType)} | dict(feeds)
        missing = [value for value in self._ready.inputs if value.name not in feeds]
        if missing:
            shown = ", ".join(f"'{value.name}': {value.type or '?'}" for value in missing)
            raise InputError(f"missing input {shown}")
        sizes: dict[str, tuple[int, str]] = {}
        return {name: _feed(known[name], value, sizes) for name, value in feeds.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        from ingot.format.encode import encode  # only pickling needs it

        return _restored, (encode(self._given), self._catalog, self._seed)

    def __repr__(self) -> str:
        return f"<Session {self._given.graph!r}>"


def _own(result: Any, feeds: Iterable[Any]) -> Any:
    """A result that is not the caller's own array under another name."""
    shared = isinstance(result, np.ndarray) and any(
        isinstance(feed, np.ndarray) and np.may_share_memory(result, feed) for feed in feeds
    )
    return result.copy() if shared else result


def _restored(data: bytes, catalog: Catalog | None, seed: int) -> Session:
    return Session(data, catalog=catalog, seed=seed)


def _feed(value: Value, given: Any, sizes: dict[str, tuple[int, str]]) -> Any:
    """What is given for an input, as an array; InputError, saying what was expected, if it does not fit."""
    type_ = value.type
    if isinstance(type_, SequenceType):
        if not isinstance(given, list | tuple):
            raise InputError(f"input '{value.name}' is {type_}, got a {type(given).__name__}", hint="give a list")
        element = Value(f"{value.name}[...]", type_.element)
        return [_feed(element, item, {}) for item in given]
    if not isinstance(type_, TensorType):
        return given
    array = _array(value.name, given, type_)
    if type_.shape is not None:
        if array.ndim != len(type_.shape):
            raise InputError(f"input '{value.name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}")
        for dim, size in zip(type_.shape, array.shape, strict=True):
            if isinstance(dim, int) and dim != size:
                raise InputError(f"input '{value.name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}")
            if isinstance(dim, Expr):
                before = sizes.setdefault(str(dim), (size, value.name))
                if before[0] != size:
                    raise InputError(
                        f"size '{dim}' is {before[0]} in input '{before[1]}' and {size} in input '{value.name}'"
                    )
    return array


def _array(name: str, given: Any, type_: TensorType) -> np.ndarray[Any, Any]:
    wanted = type_.dtype
    if given is None:
        raise InputError(f"input '{name}' is {type_}, got None")
    if not isinstance(given, np.ndarray | np.generic) and hasattr(given, "__dlpack__"):
        given = np.from_dlpack(given)
    if isinstance(given, np.ndarray | np.generic) or hasattr(given, "__array__"):
        array = np.asarray(given)
        if array.dtype.kind in "USTO":
            array = _strings(name, array)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if wanted and DType.of(array.dtype) is not wanted:
            raise InputError(
                f"input '{name}' is {type_}, got {DType.of(array.dtype)}{list(array.shape)}",
                hint=f"convert it: x.astype('{wanted.numpy}')",
            )
        return array
    try:
        array = np.asarray(given, wanted.numpy if wanted else None)
        return _strings(name, array) if wanted is DType.STRING else array
    except (TypeError, ValueError):
        raise InputError(f"input '{name}' is {type_}, and a {type(given).__name__} makes no such array") from None


def _strings(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array of `str`, bytes decoded; InputError for anything else in it."""
    found = np.empty(array.shape, np.object_)
    for index, item in enumerate(array.reshape(-1).tolist()):
        if not isinstance(item, str | bytes):
            raise InputError(f"input '{name}' holds strings, got a {type(item).__name__}")
        found.reshape(-1)[index] = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
    return found
