"""`ingot.to_torch`: the source of a model, made a module that holds its weights."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ingot.convert.to_torch.source import TorchSource, to_torch_source
from ingot.errors import ConvertError
from ingot.format.load import ModelSource
from ingot.ir.model import Model

_numbers = count(1)


def to_torch(model: Model | ModelSource, *, trained: Callable[[str], bool] | None = None) -> Any:
    """The torch.nn.Module of a model: an object, a path, bytes or a ModelProto, which stays as it is.

    The module is in evaluation mode; its `source` is its text. Weights are parameters under the names they have in the
    model, so that the state dict of a module that was exported fits; `trained` says of the name of an initialiser of
    floats whether it is a parameter, where the default is not what is wanted. ConvertError listing every node that
    torch has nothing for.
    """
    return module_of(to_torch_source(model, trained=trained))


def run_module(source: TorchSource, inputs: Sequence[Any]) -> list[Any]:
    """What the module of a source gives for arrays, lists of arrays, and None: the same."""
    from ingot.convert.torch.dtypes import to_array, to_tensor  # it imports torch

    def to_tensors(item: Any) -> Any:
        if isinstance(item, list):
            return [to_tensors(each) for each in item]
        return None if item is None else to_tensor(item)

    def to_arrays(item: Any) -> Any:
        if isinstance(item, list):
            return [to_arrays(each) for each in item]
        return None if item is None else to_array(item)

    outputs = module_of(source)(*map(to_tensors, inputs))
    return [to_arrays(each) for each in outputs] if isinstance(outputs, tuple) else [to_arrays(outputs)]


def module_of(source: TorchSource) -> Any:
    """A module that runs a source, with its weights."""
    try:
        import torch
    except ModuleNotFoundError:
        raise ConvertError(
            "converting to PyTorch needs the package 'torch'", hint="pip install 'ingot[torch]'"
        ) from None
    name = f"<ingot.to_torch {next(_numbers)}>"
    linecache.cache[name] = (len(source.text), None, source.text.splitlines(keepends=True), name)  # for tracebacks
    namespace: dict[str, Any] = {"__name__": name, "__file__": name}
    exec(compile(source.text, name, "exec"), namespace)
    module = namespace["Model"]()
    state = module.state_dict()
    with torch.no_grad():
        for key, array in source.arrays().items():
            tensor = torch.from_numpy(np.array(array, order="C"))
            state[key].copy_(tensor if tensor.dtype == state[key].dtype else tensor.view(state[key].dtype))
    module.source = source.text
    return module.eval()
