"""The decision of fusion: which tensors are stored, by which steps, from what, in which order of axes, and why.

Every tensor that no step stores is fused: computed wherever a step reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.fuse.attention_match import AttentionMatch
from ingot.fuse.contraction import Packed
from ingot.fuse.limits import FusionLimits
from ingot.fuse.read import Placed
from ingot.fuse.sides import Sides
from ingot.fuse.strides import c_strides
from ingot.loops.ir import Buffer, Index, Kernel
from ingot.prim.coded import Coded
from ingot.prim.guard import Guards
from ingot.prim.region import Branch, Repeat
from ingot.prim.tensor import Constant, HostStep, Parameter, Reshape, Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Store:
    """A step that stores `tensor`, from element `start` of `target` on, whose axes lie in `order`.

    `chain` is a contraction with its epilogue, which ends with `tensor`, and `sides` its operands; `attention` what
    lies between that contraction and another. All that is loaded is in `reads`, with its place.
    """

    name: str
    tensor: Tensor
    target: Placed
    order: tuple[int, ...]
    start: Index = field(default_factory=Index)
    chain: tuple[Tensor, ...] = ()
    attention: AttentionMatch | None = None
    sides: Sides | None = None
    reads: Mapping[Tensor, Placed] = field(default_factory=dict)

    @property
    def source(self) -> Tensor:
        """The tensor whose elements are written: for a reshape its source, which has the same memory."""
        return self.tensor.x if isinstance(self.tensor, Reshape) else self.tensor

    @property
    def placed(self) -> Placed:
        """Where `tensor` is, once it is stored."""
        if self.source is self.tensor:
            return self.target
        return Placed(self.target.buffer, c_strides(self.tensor.shape))


@dataclass(frozen=True, eq=False, slots=True)
class StoreBranch:
    """A step that stores the results of one of two bodies; `guards` are what each assumes of sizes."""

    name: str
    region: Branch
    condition: Buffer
    then: tuple[Planned, ...]
    otherwise: tuple[Planned, ...]
    guards: tuple[Guards, Guards]


@dataclass(frozen=True, eq=False, slots=True)
class StoreLoop:
    """A step that stores the results of a repetition; its buffers are those of a `LoopStep`."""

    name: str
    region: Repeat
    number: Buffer
    trips: Dim | Buffer | None
    condition: Buffer | None
    going: Buffer | None
    steps: tuple[Planned, ...]
    swapped: tuple[tuple[Buffer, Buffer], ...]
    collected: tuple[Buffer, ...]


Planned: TypeAlias = Store | StoreBranch | StoreLoop | HostStep


@dataclass(frozen=True, slots=True)
class Reading:
    """The kernels that a step becomes, and what the constants among their buffers hold."""

    kernels: tuple[Kernel, ...]
    constants: Mapping[Buffer, Packed | Coded]


@dataclass(frozen=True, slots=True)
class Decision:
    """How `results` are computed.

    `placed` is the placement of each stored tensor; those of `known` are folded when the model is compiled. `why` is
    the reason for each tensor that a step stores. `size_calls` are the calls whose results have named sizes. `guards`
    are what is assumed of sizes whichever branches are taken. `limits` are what was decided by. `readings` saves
    reading tensors again to build kernels: without it they are the same.
    """

    results: tuple[Tensor, ...]
    steps: tuple[Planned, ...]
    placed: Mapping[Tensor, Placed]
    known: tuple[Tensor, ...]
    why: Mapping[Tensor, str]
    size_calls: Mapping[str, HostStep]
    guards: Guards
    limits: FusionLimits
    readings: Mapping[Store, Reading] = field(default_factory=dict, repr=False)


def stores_in(steps: Sequence[Planned]) -> Iterator[Store]:
    """The steps that store one tensor, those inside of regions too, in order."""
    for step in steps:
        match step:
            case Store():
                yield step
            case StoreBranch():
                yield from stores_in((*step.then, *step.otherwise))
            case StoreLoop():
                yield from stores_in(step.steps)


def fused_into(store: Store) -> list[Tensor]:
    """The tensors that a step computes beside the one it stores, without the numbers among them."""
    fused: dict[Tensor, None] = {}
    pending = list(store.tensor.reads)
    while pending:
        tensor = pending.pop()
        if tensor in store.reads or tensor in fused or isinstance(tensor, Constant | Parameter):
            continue
        fused[tensor] = None
        pending.extend(tensor.reads)
    return list(fused)
