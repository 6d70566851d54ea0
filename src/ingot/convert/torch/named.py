"""Names for the inputs and outputs of a model: those of the module's parameters, and of what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ingot.convert.torch.program import Example


def input_names_of(module: Any, example: Example) -> list[str]:
    """One name for each tensor of the example, from the parameters of `forward` and the places inside arguments."""
    names = list(_parameters(module, len(example.args))) + list(example.kwargs)
    arguments = [*example.args, *example.kwargs.values()]
    input_names: list[str] = []
    for name, argument in zip(names, arguments, strict=True):
        for path, leaf in pytree.tree_flatten_with_path(argument)[0]:
            if isinstance(leaf, torch.Tensor):
                input_names.append("_".join([name, *(_word(key) for key in path)]))
    return input_names


def output_names_of(program: Any, used: Sequence[str]) -> list[str]:
    """One name for each result of a program: the keys of what it returns, or `output`, numbered from the second."""
    spec = program.call_spec.out_spec
    count = spec.num_leaves
    leaves = pytree.tree_unflatten(list(range(count)), spec)
    try:
        paths = [path for path, _ in pytree.tree_flatten_with_path(leaves)[0]]
    except Exception:  # a class without paths
        paths = [()] * count
    results = program.graph_signature.output_specs[-count:] if count else []
    names: list[str] = []
    for at, (path, result) in enumerate(zip(paths, results, strict=True)):
        if type(result.arg).__name__ == "ConstantArgument" and result.arg.value is None:
            continue
        words = [_word(key) for key in path]
        if not words or words[0].isdigit():
            words = ["output", *words] if len(words) > 1 or (words and count > 1) else ["output"]
        name = "_".join(words)
        while name in names or name in used:
            name = f"{name}_{at}" if name not in used else f"{name}_out"
        names.append(name)
    return names


def _parameters(module: Any, count: int) -> list[str]:
    """The names of the first parameters of `forward`; those of `*args` are numbered."""
    names: list[str] = []
    for parameter in inspect.signature(module.forward).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{at}" for at in range(count - len(names))]
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(parameter.name)
    return names[:count]


def _word(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key).strip(".[]'\"")
