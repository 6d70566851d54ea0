"""The original, run on feeds: a module that is left as it was, whatever it does to its buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.convert.source import Feeds
from ingot.convert.torch.dtypes import to_array, to_tensor
from ingot.convert.torch.program import Example, quiet
from ingot.dtypes import Array


def original_of(
    module: Any, example: Example, names: Sequence[str], changed: Sequence[str]
) -> Callable[[Feeds], list[Array]]:
    """Calls a module like the example, its tensors fed by name; gives its results, then the buffers it changed."""
    leaves, spec = pytree.tree_flatten((example.args, dict(example.kwargs)))

    def original(feeds: Feeds) -> list[Array]:
        fed = iter(names)
        filled = [_fed(feeds[next(fed)], leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, spec)
        with torch.no_grad(), quiet(), evaluating(module), restored(module, changed):
            result = module(*args, **kwargs)
            state = [module.get_buffer(name).clone() for name in changed]
        return [*_arrays(result), *map(real_array, state)]

    return original


def real_array(tensor: Any) -> Array:
    """The elements of a tensor, complex ones as pairs along a last axis."""
    return to_array(torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """The module in evaluation mode, and after it each part as it was; one of a program stays as it was exported."""
    training = {part: part.training for part in module.modules()}
    with suppress(NotImplementedError):
        module.eval()
    try:
        yield
    finally:
        for part, was in training.items():
            part.training = was


@contextmanager
def restored(module: Any, names: Sequence[str]) -> Iterator[None]:
    """After it, the buffers named hold what they held."""
    before = {name: module.get_buffer(name) for name in names}
    contents = {name: buffer.clone() for name, buffer in before.items()}
    try:
        yield
    finally:
        for name, buffer in before.items():
            buffer.copy_(contents[name])
            path, _, leaf = name.rpartition(".")
            module.get_submodule(path)._buffers[leaf] = buffer


def _arrays(result: Any) -> list[Array]:
    """What a module returned, in the order of the model's outputs."""
    leaves = [leaf for leaf in pytree.tree_leaves(result) if leaf is not None]
    return [real_array(leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf)) for leaf in leaves]


def _fed(array: Array, like: Any) -> Any:
    """A tensor of what the model is fed: complex again where the original is."""
    tensor = to_tensor(array)
    return torch.view_as_complex(tensor) if like.is_complex() else tensor
