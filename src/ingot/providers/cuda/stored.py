"""Kernels as the bytes that a plan file holds, and back, without the compiler.

Such bytes have the PTX of the functions that the kernel had, the launches for the sizes that it ran with, and what
others are planned and compiled from where a run has sizes that there are no launches for. They are as trusted as the
machine code of plan files: the cache directory is the user's.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ingot.codegen.executable_memory import Code
from ingot.codegen.nvptx.step import Plan
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.providers.cuda.launcher import Launcher, Launches, SizesOf, sizes_for

if TYPE_CHECKING:
    from ingot.providers.cuda.code import LoadedKernel
    from ingot.providers.cuda.device import Device


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """A kernel as data. `functions` have their PTX, and the sizes that they take, of parameters of these names.

    `launches` are those for some values of the parameters. `template` is what the compiler needs, pickled by itself.
    """

    buffers: int
    names: tuple[str, ...]
    functions: Mapping[str, tuple[bytes, tuple[Dim, ...]]]
    launches: Launches
    template: bytes


def restored(data: bytes, device: Device) -> Code:
    """The code of a kernel that was stored, whose functions begin to be loaded."""
    kernel: StoredKernel = pickle.loads(data)
    launcher = Launcher(device, RestoredKernel(kernel, device), kernel.buffers, len(kernel.names), kernel.launches)
    for name, (image, _) in kernel.functions.items():
        device.preload(image, name)
    return Code({"kernel": launcher.address}, launcher)


class RestoredKernel:
    """A kernel from a plan file: the compiler is loaded where a run has sizes that there are no launches for."""

    def __init__(self, kernel: StoredKernel, device: Device) -> None:
        self._stored, self._device = kernel, device
        self._compiled: LoadedKernel | None = None

    def plan(self, values: Sequence[int]) -> Plan:
        return self._loaded.plan(values)

    def function(self, name: str) -> tuple[int, SizesOf]:
        own = self._stored.functions.get(name)
        if own is None:
            return self._loaded.function(name)
        image, sizes = own
        return self._device.function(image, name), partial(sizes_for, sizes, self._stored.names)

    def stored(self, launches: Launches) -> StoredKernel:
        return self._loaded.stored(launches)

    @property
    def _loaded(self) -> LoadedKernel:
        if self._compiled is None:
            from ingot.providers.cuda.code import loaded_from  # a warm start needs no compiler

            self._compiled = loaded_from(self._stored, self._device)
        return self._compiled
