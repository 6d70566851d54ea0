"""Values of a model, computed by an engine: a provider of ingot, or onnxruntime."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ingot.errors import InputError, ProviderError
from ingot.ir import Model
from ingot.ir.types import Type

ENGINES = ("cpu", "reference", "onnxruntime")

_FATAL = 4
"""The severity of onnxruntime's messages that end a program; those below it are not shown."""


def run_on(engine: str, model: Model, names: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
    """Values of a model by their names, inside ones too.

    InputError if the engine is not installed, ProviderError if onnxruntime refuses the model or fails in running it.
    """
    if engine != "onnxruntime":
        from ingot.session import Session  # not free to import

        return Session(model, providers=("reference",) if engine == "reference" else None).run(list(names), feeds)
    from ingot.format import encode
    from ingot.ir.interface import add_outputs

    asked = model.copy()
    add_outputs(asked, names, types=_inferred_types(model, names))
    with _quiet():
        try:
            import onnxruntime
        except ModuleNotFoundError:
            raise InputError("the package 'onnxruntime' is not installed", hint="pip install onnxruntime") from None
        if "ingot" in onnxruntime.get_build_info():
            raise InputError(
                "the package 'onnxruntime' of this process is ingot's own: ingot would be compared with itself",
                hint="start without ingot.compat: env -u PYTHONPATH ingot compare ...",
            )
        onnxruntime.set_default_logger_severity(_FATAL)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _FATAL
        with _refusal("the model"):
            session = onnxruntime.InferenceSession(encode(asked), options)
        with _refusal("to run it"):
            results: list[Any] = session.run(list(names), dict(feeds))
    return results


def _inferred_types(model: Model, names: Sequence[str]) -> dict[str, Type]:
    """Types of values by their names; of a model that breaks the standard, as they are with its repairs."""
    from ingot.infer import infer
    from ingot.repair.apply_rules import with_repairs

    def typed_copy(readable: Model) -> Model:
        copy = readable.copy()
        infer(copy)
        return copy

    typed, _, _ = with_repairs(model, typed_copy)
    known = {value.name: value.type for value in typed.graph.values()}
    return {name: type_ for name in names if (type_ := known.get(name)) is not None}


@contextmanager
def _refusal(what: str) -> Iterator[None]:
    """ProviderError in place of an exception of onnxruntime."""
    try:
        yield
    except Exception as error:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        raise ProviderError(f"onnxruntime refuses {what}: {first}", where=tuple(rest)) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what is written to stderr below Python: onnxruntime writes there before its log level can be set."""
    try:
        saved = os.dup(2)
    except OSError:  # there is none
        yield
        return
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(nowhere)
        os.close(saved)
