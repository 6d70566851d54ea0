"""Decoding of plan files: records to plans, whose code and arrays lie in mapped memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ingot.dims import Dim, Packing
from ingot.dtypes import Array, DType
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.prim.guard import Guard
from ingot.prim.tensor import Call, CallResult, HostStep, Parameter, RandomKey, SizeReading, Tensor
from ingot.runtime.plan import Allocation, Arm, Body, Copy, Jump, KernelStep, Placement, Plan, Segment
from ingot.runtime.plan_schema import (
    RANDOM_KEY,
    StoredArm,
    StoredArray,
    StoredBody,
    StoredCall,
    StoredDim,
    StoredFile,
    StoredGuard,
    StoredPlan,
    StoredSegment,
    StoredTensor,
    StoredType,
)
from ingot.runtime.provider import DeviceMemory
from ingot.runtime.stored_on_device import StoredOnDevice

_DTYPES = {int(dtype): dtype for dtype in DType}
_KERNEL_FIELDS = 6
"""A jump has more fields: the length of a record distinguishes the two."""


class PlanDecoder:
    """Decodes the records of one file, each tensor and call once."""

    def __init__(
        self,
        file: StoredFile,
        memory: Array,
        code: int,
        owner: Any,
        threads: int,
        most_trips: int,
        device: tuple[DeviceMemory, bytes] | None = None,
    ) -> None:
        """`memory` holds the arrays, the code lies at an address; `owner` keeps both.

        `device` is what the plan is for, if that is not the host, with the bytes of the code section.
        """
        self._file = file
        self._code = code
        self._device = None if device is None else StoredOnDevice(file, memory, *device)
        self._owner = owner
        self._threads = threads
        self._most_trips = most_trips
        self.arrays = [_array(StoredArray(*stored), memory) for stored in file.arrays]
        packing = Packing(file.dim_calls)
        self._dims = [packing.unpacked(dim) for dim in file.dims]
        self._tensors: dict[int, Tensor] = {}
        self._calls: dict[int, HostStep] = {}
        self.nodes: Sequence[Mapping[str, Node]] = ()
        """The nodes of calls for each plan, by the names of their outputs."""

    def finish(self) -> None:
        """Wait for what began in the background."""
        if self._device is not None:
            self._device.finish()

    def plan(self, stored: StoredPlan) -> Plan:
        tensor, arrays = self.tensor, self.arrays
        memory = tuple((slot, arrays[number]) for slot, number in stored.memory)
        template = np.zeros(stored.slots, np.int64)
        keep, device = [self._owner], self._device
        if device is None:
            for slot, array in memory:
                template[slot] = array.ctypes.data
        else:
            for slot, address in device.addresses(stored).items():
                template[slot] = address
            keep.append(device)
        return Plan(
            tuple([self._segment(StoredSegment(*fields)) for fields in stored.segments]),
            {name: tensor(number) for name, number in stored.inputs},
            {tensor(number): slot for number, slot in stored.placed},
            template,
            {tensor(number): arrays[array] for number, array in stored.constants},
            {self._call(call): self._results(results) for call, results in stored.call_results},
            tuple(keep),
            self._threads,
            memory if device is None else (),
            most_trips=self._most_trips,
            bodies=dict(self._bodies(stored.bodies)),
            device=None if device is None else device.memory,
            shared=frozenset(stored.shared),
        )

    def _bodies(
        self, stored: Sequence[tuple[int, Sequence[StoredBody | None]]]
    ) -> Iterator[tuple[Call, tuple[Body | None, ...]]]:
        for number, bodies in stored:
            call = self._call(number)
            assert isinstance(call, Call)
            yield call, tuple(map(self._body, bodies))

    def _body(self, fields: StoredBody | None) -> Body | None:
        if fields is None:
            return None
        stored = StoredBody(*fields)
        return Body(
            None if stored.plan is None else self.plan(StoredPlan(*stored.plan)),
            tuple(stored.parameters),
            tuple(stored.captured),
            tuple(map(self.tensor, stored.outputs)),
            stored.nodes,
            stored.specialised,
            self._body(stored.invariant),
        )

    def _segment(self, stored: StoredSegment) -> Segment:
        return Segment(
            tuple([self._kernel(*s) if len(s) == _KERNEL_FIELDS else self._jump(*s) for s in stored.steps]),
            tuple([self._allocation(*fields) for fields in stored.allocations]),
            tuple(stored.names),
            self._guards(stored.guards),
            None if stored.call is None else self._call(stored.call),
            tuple([self._arm(StoredArm(*fields)) for fields in stored.arms]),
            stored.base,
            tuple([Copy(self.tensor(tensor), slot, to_host) for tensor, slot, to_host in stored.copies]),
        )

    def _kernel(
        self,
        name: str,
        address: int,
        slots: list[int],
        scalars: list[StoredDim],
        writes: list[int],
        updates: list[StoredDim],
    ) -> KernelStep:
        sizes = self.sizes(scalars), tuple(writes), self.sizes(updates)
        place = self._code + address if self._device is None else self._device.code(address).address
        return KernelStep(name, place, tuple(slots), *sizes)

    def _jump(
        self, name: str, kind: int, slots: list[int], target: int, otherwise: int, trips: StoredDim, pairs: int
    ) -> Jump:
        return Jump(name, kind, tuple(slots), target, otherwise, self._dim(trips), pairs)

    def _allocation(
        self, slot: int, dtype: int, shape: list[StoredDim], first: int, last: int, tensor: int | None, placement: str
    ) -> Allocation:
        own = None if tensor is None else self.tensor(tensor)
        return Allocation(slot, _DTYPES[dtype], self.sizes(shape), first, last, own, Placement(placement))

    def _arm(self, stored: StoredArm) -> Arm:
        return Arm(stored.first, stored.end, self._guards(stored.guards))

    def _guards(self, stored: Iterable[StoredGuard]) -> tuple[Guard, ...]:
        return tuple(
            [Guard(self._dim(left), self._dim(right), otherwise, choice) for left, right, otherwise, choice in stored]
        )

    def types(self, stored: Iterable[StoredType]) -> tuple[tuple[str, TensorType], ...]:
        return tuple((name, TensorType(_DTYPES[dtype], self._shape(shape))) for name, dtype, shape in stored)

    def _shape(self, shape: list[StoredDim | None] | None) -> tuple[Dim | None, ...] | None:
        return None if shape is None else tuple([None if dim is None else self._dim(dim) for dim in shape])

    def tensor(self, number: int) -> Tensor:
        tensor = self._tensors.get(number)
        if tensor is None:
            stored = StoredTensor(*self._file.tensors[number])
            dtype, shape = _DTYPES[stored.dtype], self.sizes(stored.shape)
            if stored.call is not None:
                tensor = CallResult(dtype, shape, self._call(stored.call), stored.result, stored.opaque)
            elif stored.name is not None:
                tensor = Parameter(dtype, shape, stored.name)
            else:
                tensor = Tensor(dtype, shape)
            self._tensors[number] = tensor
        return tensor

    def _results(self, numbers: Iterable[int]) -> tuple[CallResult, ...]:
        tensors = [self.tensor(number) for number in numbers]
        return tuple(tensor for tensor in tensors if isinstance(tensor, CallResult))

    def _call(self, number: int) -> HostStep:
        call = self._calls.get(number)
        if call is None:
            stored = StoredCall(*self._file.calls[number])
            arguments = tuple(None if argument is None else self.tensor(argument) for argument in stored.arguments)
            if stored.node is not None:
                call = Call(self.nodes[stored.plan][stored.node], arguments, stored.reason)
            elif stored.reason == RANDOM_KEY:
                call = RandomKey(*arguments or (None,))
            else:
                (x,) = arguments
                assert x is not None
                call = SizeReading(x)
            self._calls[number] = call
        return call

    def sizes(self, stored: Iterable[StoredDim]) -> tuple[Dim, ...]:
        dims = self._dims
        return tuple([dim if isinstance(dim, int) else dims[dim[0]] for dim in stored])

    def _dim(self, stored: StoredDim) -> Dim:
        return stored if isinstance(stored, int) else self._dims[stored[0]]


def _array(stored: StoredArray, memory: Array) -> Array:
    dtype = _DTYPES[stored.dtype].numpy
    size = dtype.itemsize
    for extent in stored.shape:
        size *= extent
    array: Array = memory[stored.offset : stored.offset + size].view(dtype).reshape(stored.shape)
    return array
