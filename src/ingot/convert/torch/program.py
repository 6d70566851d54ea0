"""The exported program of a module: traced by torch.export on the example, with the axes that stay open."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ingot.convert.torch.dtypes import to_tensor
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

    def tensors(self) -> list[Any]:
        return [leaf for leaf in self.leaves() if isinstance(leaf, torch.Tensor)]


def example_of(example: Any, kwargs: Mapping[str, Any] | None = None) -> Example:
    """An example as the caller gives it: a tensor, a tuple of arguments that may end in a dict of keywords, a dict.

    Arrays of numpy stand for tensors.
    """
    if example is None and not kwargs:
        raise InputError("a PyTorch model needs an example of its inputs", hint="convert(model, (torch.randn(1, 3),))")
    tensors = dict(_tensors(kwargs or {}))
    example = _tensors(example)
    match example:
        case None:
            return Example((), tensors)
        case Mapping():
            return Example((), {**example, **tensors})
        case tuple() | list():
            args = tuple(example)
            if args and isinstance(args[-1], dict) and not tensors:
                return Example(args[:-1], args[-1])
            return Example(args, tensors)
    return Example((example,), tensors)


def example_for(program: Any, example: Example, names: Sequence[str]) -> Example:
    """An example as a program is called; a dict may have its inputs by name. InputError where it does not fit."""
    tensors = [leaf for leaf in example.leaves() if isinstance(leaf, torch.Tensor)]
    if not example.args and set(example.kwargs) == set(names):
        tensors = [example.kwargs[name] for name in names]
    if len(tensors) != len(names):
        expected = ", ".join(names)
        raise InputError(f"the example has {len(tensors)} tensors, the program takes {len(names)}: {expected}")
    fakes = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    for name, tensor in zip(names, tensors, strict=True):
        wanted = fakes[name]
        if tensor.dtype != wanted.dtype or tensor.dim() != wanted.dim():
            raise InputError(
                f"the example of '{name}' is {_described(tensor)}, the program takes {_described(wanted)}",
                hint="convert(program) takes the example that the program was exported with",
            )
    leaves, spec = pytree.tree_flatten(program.example_inputs or (example.args, dict(example.kwargs)))
    fed = iter(tensors)
    args, kwargs = pytree.tree_unflatten(
        [next(fed) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec
    )
    return Example(args, kwargs)


def load_program(path: Path) -> Any:
    """The program of a `.pt2` file; what torch raises if it is none, without what it logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with quiet():
            return torch.export.load(path)
    finally:
        logging.disable(before)


def _tensors(example: Any) -> Any:
    return pytree.tree_map(lambda leaf: _tensor(leaf) if isinstance(leaf, np.ndarray) else leaf, example)


def _tensor(array: Any) -> Any:
    if array.dtype.kind in "OSUT":
        raise InputError("PyTorch has no tensors of strings or objects, the example has")
    return to_tensor(array)


def _described(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}[{', '.join(map(str, tensor.shape))}]"


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
    raise untraced("torch.export cannot trace the module", failures[0]) from failures[0]


def untraced(message: str, error: Exception) -> ConvertError:
    """The error of a program that torch did not make, with what torch says, and what may help."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    first_line = lines[0] if lines else type(error).__name__
    hint = next((hint for sign, hint in _HINTS.items() if sign in str(error)), _HINTS[""])
    return ConvertError(f"{message}: {first_line}", where=tuple(lines[1:12]), hint=hint)


_HINTS = {
    "not a known type": "a class of your own that holds tensors: torch.export.register_dataclass(TheClass)",
    "ScriptModule": "convert the module that was scripted",
    "marked": "the module fixes this size: leave the axis out of dynamic_axes, or what fixes it out of the module",
    "data-dependent": "models that branch on values need torch.cond",
    "": "torch.export.export(model, args) shows the same; models that branch on values need torch.cond",
}
"""By what torch says, what to do."""


@contextmanager
def quiet() -> Iterator[None]:
    """Torch warns of its own insides while it exports, and logs what it raises too."""
    handlers = logging.getLogger("torch").handlers
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)
