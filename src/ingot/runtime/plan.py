"""A plan as data: kernels, jumps and calls in order, the allocations they need, and the guards on sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, HostStep, Tensor

if TYPE_CHECKING:
    from ingot.runtime.provider import DeviceMemory

Ints = np.ndarray[Any, np.dtype[np.int64]]

MOST_TRIPS = (1 << 63) - 1
"""A bound on loop trips that no run reaches."""


@dataclass(frozen=True, eq=False, slots=True)
class KernelStep:
    """A kernel in a plan: the address of its code, the slots it reads and writes, and its runtime scalars."""

    name: str
    address: int
    slots: tuple[int, ...]
    scalars: tuple[Dim, ...]
    writes: tuple[int, ...] = ()
    """The slots that it writes, if it may be left out where all of them are empty; else nothing."""
    updates: tuple[Dim, ...] = ()
    """The sizes of what a scatter puts in, which may be left out only where one of these is zero, too."""


@dataclass(frozen=True, eq=False, slots=True)
class Jump:
    """A step without code that chooses the next one: see `codegen` for the kinds, and what their slots are.

    The next step is `target`, or `otherwise`; `trips` are those of a loop, `pairs` of slots are swapped by it.
    """

    name: str
    kind: int
    slots: tuple[int, ...]
    target: int
    otherwise: int = 0
    trips: Dim = MOST_TRIPS
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class Arm:
    """The steps of one arm of a branch, from `first` to before `end`: closed where one of its guards fails."""

    first: int
    end: int
    guards: tuple[Guard, ...]


class Placement(Enum):
    """Where the memory of a slot is."""

    HOST = "host"
    DEVICE = "device"
    SHARED = "shared"
    """On the device, where the host reads and writes it in place, too."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The memory of a slot: in the arena of its segment, or, for a tensor seen from outside, an array of its own.

    What is shared with a device is in no arena.
    """

    slot: int
    dtype: DType
    shape: tuple[Dim, ...]
    first: int
    last: int
    tensor: Tensor | None = None
    placement: Placement = Placement.HOST


@dataclass(frozen=True, eq=False, slots=True)
class Copy:
    """A tensor copied between its array on the host and the memory of a slot on the device."""

    tensor: Tensor
    slot: int
    to_host: bool


@dataclass(frozen=True, eq=False, slots=True)
class Segment:
    """Kernels and jumps that run without a stop, the memory they need first, and the call or reading after them."""

    steps: tuple[KernelStep | Jump, ...]
    allocations: tuple[Allocation, ...]
    names: tuple[str, ...]
    """The named sizes that all this depends on."""
    guards: tuple[Guard, ...]
    call: HostStep | None
    arms: tuple[Arm, ...] = ()
    base: int = 0
    """The number of the first step, where allocations count those of all segments."""
    copies: tuple[Copy, ...] = ()
    """Those to the device are made before the steps, those to the host after them; none where memory is the host's."""


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """A subgraph of a node that the reference runs, as a plan of its own.

    `parameters` are the inputs of the subgraph, then the captured values, then the results of `invariant`: the loop
    invariants, as a body from the captured values. `captured` are the names of these around the node; `nodes` is how
    many nodes a run counts for. Where a guard fails, the reference runs the subgraph, unless it is `specialised`:
    changed by an assumption, so that the model has to be run otherwise. A body without a plan always fails its guards.
    """

    plan: Plan | None
    parameters: tuple[str, ...]
    captured: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    nodes: int
    specialised: bool = False
    invariant: Body | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """How the results of a model are computed; never changed.

    `template` holds the addresses of constants by slot, which `keep` and `memory` own. `placed` has the slot of each
    tensor that comes from outside: an input, or the result of a call.
    """

    segments: tuple[Segment, ...]
    inputs: Mapping[str, Tensor]
    placed: Mapping[Tensor, int]
    template: Ints
    constants: Mapping[Tensor, Array]
    call_results: Mapping[HostStep, Sequence[CallResult]]
    keep: tuple[Any, ...]
    threads: int
    memory: tuple[tuple[int, Array], ...] = ()
    """The arrays of constants, by slot; a device has copies of them, and a plan for it that was kept nothing else."""
    codes: Mapping[int, LinkedCode] = field(default_factory=dict)
    """The linked code of kernels, by address; empty where it cannot be stored in a plan file."""
    most_trips: int = MOST_TRIPS
    """How often the bodies of loops are run, all together, before the run ends in an error."""
    bodies: Mapping[Call, tuple[Body | None, ...]] = field(default_factory=dict)
    """The subgraphs of the nodes of calls, in order, that have plans of their own."""
    device: DeviceMemory | None = None
    """The memory that kernels read and write; None where it is the host's."""
    shared: frozenset[int] = frozenset()
    """The slots of constants on the device that the host reads in place, too."""


StepObserver: TypeAlias = Callable[[KernelStep | Call, float, Mapping[str, int]], None]
"""Called after each step with it, the seconds it took, and the named sizes known by then."""
