"""The exported program of a module: traced by torch.export on the example, with the axes that stay open."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.convert.torch.recurrent import whole_layers
from ingot.errors import ConvertError, InputError


@dataclass(frozen=True, slots=True)
class Example:
    """What a module is called with: positional and keyword arguments."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def leaves(self) -> list[Any]:
        """The tensors and numbers in it, in the order of the program's inputs."""
        return list(pytree.tree_leaves((self.args, dict(self.kwargs))))


def example_of(example: Any, kwargs: Mapping[str, Any] | None = None) -> Example:
    """An example as the caller gives it: a tensor, a tuple of arguments that may end in a dict of keywords, a dict."""
    if example is None and not kwargs:
        raise InputError("a PyTorch model needs an example of its inputs", hint="convert(model, (torch.randn(1, 3),))")
    given = dict(kwargs or {})
    match example:
        case None:
            return Example((), given)
        case Mapping():
            return Example((), {**example, **given})
        case tuple() | list():
            args = tuple(example)
            if args and isinstance(args[-1], dict) and not given:
                return Example(args[:-1], args[-1])
            return Example(args, given)
    return Example((example,), given)


def export_module(module: Any, example: Example, dynamic_shapes: Any) -> Any:
    """The program of a module; ConvertError with what torch says if it cannot be traced."""
    failures = []
    for strict in (False, True):
        try:
            with quiet(), whole_layers():
                return torch.export.export(
                    module, example.args, dict(example.kwargs), dynamic_shapes=dynamic_shapes, strict=strict
                )
        except Exception as error:
            failures.append(error)
    first = failures[0]
    lines = [line for line in str(first).strip().splitlines() if line.strip()]
    raise ConvertError(
        f"torch.export cannot trace the module: {lines[0] if lines else type(first).__name__}",
        where=tuple(lines[1:12]),
        hint="torch.export.export(model, args) shows the same; models that branch on values need torch.cond",
    ) from first


@contextmanager
def quiet() -> Iterator[None]:
    """Torch warns of its own insides while it exports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
