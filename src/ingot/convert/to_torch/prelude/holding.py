"""How a module holds its weights."""

from __future__ import annotations

import torch
from torch import nn


class Part(nn.Module):
    """Holds parameters and parts; `part[0]` is the one called `0`."""

    def __getitem__(self, index: int) -> Part:
        return getattr(self, str(index))


def place(module: nn.Module, name: str) -> tuple[nn.Module, str]:
    """The part that holds what is called `name`, made where there is none, and the last word of the name."""
    *parents, last = name.split(".")
    for parent in parents:
        if parent not in module._modules:
            module.add_module(parent, Part())
        module = module._modules[parent]
    return module, last


def parameter(module: nn.Module, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> None:
    part, last = place(module, name)
    part.register_parameter(last, nn.Parameter(torch.empty(shape, dtype=dtype)))


def buffer(module: nn.Module, name: str, *shape: int, dtype: torch.dtype = torch.float32) -> None:
    part, last = place(module, name)
    part.register_buffer(last, torch.empty(shape, dtype=dtype))
