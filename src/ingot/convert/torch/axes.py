"""Axes that stay open: what the caller named, as torch.export takes it, and the symbols it made as the names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from ingot import dims
from ingot.convert.request import DynamicAxes
from ingot.convert.torch.program import Example
from ingot.dims import Dim as IngotDim
from ingot.errors import InputError, nearest

Axes = dict[str, dict[int, str]]
"""By input, the name of each axis that stays open."""


def axes_by_input(stated: DynamicAxes | None, names: Sequence[str], outputs: Sequence[str] = ()) -> Axes:
    """The axes of inputs; those listed without a name are called after their input. InputError for an unknown name."""
    if stated is None:
        return {}
    pairs = stated.items() if isinstance(stated, Mapping) else zip(names, stated, strict=False)
    by_name: Axes = {}
    for name, axes in pairs:
        if name not in names:
            if name in outputs:
                continue  # sizes of outputs follow from those of inputs
            raise InputError(f"dynamic_axes names '{name}', which is no input", hint=nearest(name, names))
        by_name[name] = dict(axes) if isinstance(axes, Mapping) else {axis: f"{name}_dim_{axis}" for axis in axes}
    return by_name


def dynamic_shapes(module: Any, axes: Axes, names: Sequence[str], example: Example) -> Any:
    """What torch.export takes: by parameter of `forward`, for each tensor in the argument, its open axes."""
    leaves, spec = pytree.tree_flatten((example.args, dict(example.kwargs)))
    open_axes: list[Any] = []
    tensors = iter(names)
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            open_axes.append(None)
            continue
        own = axes.get(next(tensors), {})
        open_axes.append({axis % max(leaf.dim(), 1): Dim.DYNAMIC for axis in own} or None)
    if not any(open_axes):
        return None
    args, kwargs = pytree.tree_unflatten(open_axes, spec)
    return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)


def axes_of_shapes(module: Any, shapes: Any, names: Sequence[str], example: Example) -> Axes:
    """The axes that torch.export's own form names: those whose `Dim` has a name."""
    arguments = inspect.signature(module.forward).bind(*example.args, **example.kwargs).arguments
    by_parameter = dict(zip(arguments, shapes, strict=False)) if isinstance(shapes, tuple | list) else dict(shapes)
    by_name: Axes = {}
    tensors = iter(names)
    for parameter, argument in arguments.items():
        for path, leaf in pytree.tree_flatten_with_path(argument)[0]:
            if not isinstance(leaf, torch.Tensor):
                continue
            own = _at(by_parameter.get(parameter), path)
            pairs = own.items() if isinstance(own, Mapping) else enumerate(own or ())
            by_name[next(tensors)] = {axis: dim.__name__ for axis, dim in pairs if type(dim) is Dim}
    return by_name


def _at(shapes: Any, path: Sequence[Any]) -> Any:
    for key in path:
        if shapes is None:
            return None
        shapes = shapes[key.key if hasattr(key, "key") else key.idx]
    return shapes


def traced_example(axes: Axes, names: Sequence[str], example: Example) -> Example:
    """The example with open axes of sizes torch does not take for fixed: at least two, axes of one name alike.

    torch.export reads a size of one as one for ever.
    """
    sizes: dict[str, int] = {}
    leaves, spec = pytree.tree_flatten((example.args, dict(example.kwargs)))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    for name, leaf in zip(names, tensors, strict=True):
        for axis, called in axes.get(name, {}).items():
            if not -leaf.dim() <= axis < leaf.dim():
                raise InputError(f"dynamic_axes has axis {axis} of '{name}', which has {leaf.dim()} axes")
            size = leaf.shape[axis]
            sizes[called] = size if size > 1 else sizes.get(called, 2)
    grown = []
    for name, leaf in zip(names, tensors, strict=True):
        own = {axis % leaf.dim(): sizes[called] for axis, called in axes.get(name, {}).items()}
        grown.append(resized(leaf, [own.get(axis, size) for axis, size in enumerate(leaf.shape)]))
    fed = iter(grown)
    filled = [next(fed) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(filled, spec)
    return Example(args, kwargs)


def resized(tensor: Any, shape: Sequence[int]) -> Any:
    """A tensor repeated or cut to other sizes."""
    for axis, want in enumerate(shape):
        have = tensor.shape[axis]
        if have != want and have > 0:
            tensor = tensor.index_select(axis, torch.arange(want) % have)
    return tensor


def symbol_names(axes: Axes, inputs: Mapping[str, Any]) -> dict[str, IngotDim]:
    """What each of torch's symbols is called; `inputs` are the fake tensors of the program by name.

    A symbol that stands alone for an open axis takes its name, the first of several that torch found to be equal.
    """
    names: dict[str, IngotDim] = {}
    for name, fake in inputs.items():
        for axis, size in enumerate(fake.shape):
            if not isinstance(size, torch.SymInt) or not size.node.expr.is_Symbol:
                continue
            called = {at % fake.dim(): own for at, own in axes.get(name, {}).items()}.get(axis)
            names.setdefault(str(size.node.expr), dims.symbol(called or f"{name}_dim_{axis}"))
    return names
