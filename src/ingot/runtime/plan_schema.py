"""The schema of plan files: the parts of a plan as records of plain data, which JSON writes as lists in this order.

Tensors, calls and arrays are indices into the lists of the file. Plans are numbered in the order they are met: that of
the model, then those of its bodies.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

StoredDim: TypeAlias = int | list[int]
"""A size: a number, or a list of the place of an expression in `StoredFile.dims`."""


class StoredKernel(NamedTuple):
    name: str
    address: int
    """The offset of its code in the code section; of a plan for a device, the place of it in `StoredFile.codes`."""
    slots: list[int]
    scalars: list[StoredDim]
    writes: list[int]
    updates: list[StoredDim]


class StoredJump(NamedTuple):
    name: str
    kind: int
    slots: list[int]
    target: int
    otherwise: int
    trips: StoredDim
    pairs: int


class StoredGuard(NamedTuple):
    left: StoredDim
    right: StoredDim
    otherwise: str
    choice: str


class StoredArm(NamedTuple):
    first: int
    end: int
    guards: list[StoredGuard]


class StoredAllocation(NamedTuple):
    slot: int
    dtype: int
    shape: list[StoredDim]
    first: int
    last: int
    tensor: int | None
    placement: str


class StoredCopy(NamedTuple):
    tensor: int
    slot: int
    to_host: bool


class StoredSegment(NamedTuple):
    steps: list[StoredKernel | StoredJump]
    allocations: list[StoredAllocation]
    names: list[str]
    guards: list[StoredGuard]
    call: int | None
    arms: list[StoredArm]
    base: int
    copies: list[StoredCopy]


class StoredBody(NamedTuple):
    plan: StoredPlan | None
    parameters: list[str]
    captured: list[str]
    outputs: list[int]
    nodes: int
    specialised: bool
    invariant: StoredBody | None


class StoredPlan(NamedTuple):
    segments: list[StoredSegment]
    inputs: list[tuple[str, int]]
    placed: list[tuple[int, int]]
    slots: int
    memory: list[tuple[int, int]]
    """The arrays that slots hold the addresses of."""
    constants: list[tuple[int, int]]
    """The arrays that constant tensors hold."""
    call_results: list[tuple[int, list[int]]]
    bodies: list[tuple[int, list[StoredBody | None]]]
    shared: list[int]


class StoredTensor(NamedTuple):
    """A parameter has a name, a call result has its call; another tensor has neither."""

    dtype: int
    shape: list[StoredDim]
    name: str | None = None
    call: int | None = None
    result: int = 0
    opaque: bool = False


RANDOM_KEY = "random key"
"""The reason of a stored call that draws a key of random numbers."""


class StoredCall(NamedTuple):
    plan: int
    node: str | None
    """The name of the first output of the node that has one; None for a reading of sizes, and a random key."""
    arguments: list[int | None]
    reason: str


class StoredArray(NamedTuple):
    dtype: int
    shape: list[int]
    offset: int


class StoredType(NamedTuple):
    name: str
    dtype: int
    shape: list[StoredDim | None] | None


class StoredFile(NamedTuple):
    source: str
    thread_pool: dict[str, int]
    """The entry points of the native thread pool, by name: offsets in the code section."""
    plan: StoredPlan
    outputs: list[int]
    inputs: list[StoredType]
    results: list[StoredType]
    defaults: list[str]
    nodes: list[int]
    """For each plan the array that is a model of the nodes of its calls, encoded."""
    beside: list[tuple[str, str]]
    tensors: list[StoredTensor]
    calls: list[StoredCall]
    arrays: list[StoredArray]
    dims: list[list[Any]]
    dim_calls: list[list[Any]]
    """Subexpressions that sizes share; see `dims.Packing`."""
    codes: list[tuple[int, int]]
    """Where the code of each kernel for a device begins and ends in the code section."""
