"""The code of a kernel as a plan needs it, whatever machine it is for."""

from __future__ import annotations

from ingot.codegen.executable_memory import Code
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Buffer


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A kernel that can be run: its code, the buffers it takes, in order, and its runtime scalars."""

    code: Code
    buffers: tuple[Buffer, ...]
    scalars: tuple[Dim, ...]
