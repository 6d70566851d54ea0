"""Encoding of plans: as records, with the code of kernels and the arrays of constants beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.dims import Dim, Expr, Packing
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.prim.guard import Guard
from ingot.prim.tensor import CallResult, HostStep, Parameter, RandomKey, SizeReading, Tensor
from ingot.runtime.plan import Allocation, Arm, Body, Jump, KernelStep, Plan, Segment
from ingot.runtime.plan_schema import (
    RANDOM_KEY,
    StoredAllocation,
    StoredArm,
    StoredArray,
    StoredBody,
    StoredCall,
    StoredCopy,
    StoredDim,
    StoredGuard,
    StoredJump,
    StoredKernel,
    StoredPlan,
    StoredSegment,
    StoredTensor,
    StoredType,
)
from ingot.runtime.provider import DeviceMemory

ALIGN = 64
"""Code and arrays begin at multiples of a cache line."""


_OF_THIS_PROCESS = "code that only this process has"


class Unstorable(Exception):
    """A plan cannot be stored in a file: the message names what is no plain data."""


class PlanEncoder:
    """Numbers tensors, calls, code, arrays and sizes, and collects them."""

    def __init__(self) -> None:
        self.code = bytearray()
        self.size = 0
        """Bytes of all arrays."""
        self.tensors: list[StoredTensor] = []
        self.calls: list[StoredCall] = []
        self.arrays: list[StoredArray] = []
        self.dims: list[Any] = []
        self.packing = Packing()
        self.device_codes: list[tuple[int, int]] = []
        self._device_codes: dict[int, int] = {}
        self._codes: dict[int, int] = {}
        self._arrays: dict[int, tuple[int, Array]] = {}
        self._tensors: dict[Tensor, int] = {}
        self._calls: dict[HostStep, int] = {}
        self._dims: dict[Expr, int] = {}
        self._plans = self._number = 0

    def plan(self, plan: Plan) -> StoredPlan:
        number = self._number = self._plans
        self._plans += 1
        segments = [self._segment(segment, plan) for segment in plan.segments]
        inputs = [(name, self.tensor(tensor)) for name, tensor in plan.inputs.items()]
        placed = [(self.tensor(tensor), slot) for tensor, slot in plan.placed.items()]
        memory = [(slot, self.array(array)) for slot, array in plan.memory]
        constants = [(self.tensor(tensor), self.array(array)) for tensor, array in plan.constants.items()]
        results = [(self._call(call), list(map(self.tensor, own))) for call, own in plan.call_results.items()]
        calls = [self._call(call) for call in plan.bodies]
        bodies = [[None if body is None else self._body(body) for body in inside] for inside in plan.bodies.values()]
        self._number = number
        pairs = list(zip(calls, bodies, strict=True))
        shared = sorted(plan.shared)
        return StoredPlan(segments, inputs, placed, len(plan.template), memory, constants, results, pairs, shared)

    def _body(self, body: Body) -> StoredBody:
        return StoredBody(
            None if body.plan is None else self.plan(body.plan),
            list(body.parameters),
            list(body.captured),
            [self.tensor(tensor) for tensor in body.outputs],
            body.nodes,
            body.specialised,
            None if body.invariant is None else self._body(body.invariant),
        )

    def _segment(self, segment: Segment, plan: Plan) -> StoredSegment:
        return StoredSegment(
            [self._jump(step) if isinstance(step, Jump) else self._kernel(step, plan) for step in segment.steps],
            [self._allocation(allocation) for allocation in segment.allocations],
            list(segment.names),
            self._guards(segment.guards),
            None if segment.call is None else self._call(segment.call),
            [self._arm(arm) for arm in segment.arms],
            segment.base,
            [StoredCopy(self.tensor(copy.tensor), copy.slot, copy.to_host) for copy in segment.copies],
        )

    def _kernel(self, step: KernelStep, plan: Plan) -> StoredKernel:
        if plan.device is not None:
            address = self._device_code(step.address, plan.device)
        else:
            code = plan.codes.get(step.address)
            if code is None:
                raise Unstorable(_OF_THIS_PROCESS)
            address = self.place_code(code) + code.entries["kernel"]
        scalars, updates = self.sizes(step.scalars), self.sizes(step.updates)
        return StoredKernel(step.name, address, list(step.slots), scalars, list(step.writes), updates)

    def _jump(self, step: Jump) -> StoredJump:
        trips = self._dim(step.trips)
        return StoredJump(step.name, step.kind, list(step.slots), step.target, step.otherwise, trips, step.pairs)

    def _allocation(self, allocation: Allocation) -> StoredAllocation:
        return StoredAllocation(
            allocation.slot,
            int(allocation.dtype),
            self.sizes(allocation.shape),
            allocation.first,
            allocation.last,
            None if allocation.tensor is None else self.tensor(allocation.tensor),
            allocation.placement.value,
        )

    def _arm(self, arm: Arm) -> StoredArm:
        return StoredArm(arm.first, arm.end, self._guards(arm.guards))

    def _guards(self, guards: Iterable[Guard]) -> list[StoredGuard]:
        return [
            StoredGuard(self._dim(guard.left), self._dim(guard.right), guard.otherwise, guard.choice)
            for guard in guards
        ]

    def type(self, name: str, type_: TensorType) -> StoredType:
        shape = type_.shape
        sizes = None if shape is None else [None if dim is None else self._dim(dim) for dim in shape]
        return StoredType(name, int(type_.dtype), sizes)

    def tensor(self, tensor: Tensor) -> int:
        """The number of a tensor."""
        if tensor not in self._tensors:
            stored = StoredTensor(int(tensor.dtype), self.sizes(tensor.shape))
            if isinstance(tensor, CallResult):
                stored = stored._replace(call=self._call(tensor.call), result=tensor.index, opaque=tensor.opaque)
            elif isinstance(tensor, Parameter):
                stored = stored._replace(name=tensor.name)
            self._tensors[tensor] = len(self.tensors)
            self.tensors.append(stored)
        return self._tensors[tensor]

    def _call(self, call: HostStep) -> int:
        if call not in self._calls:
            arguments = [None if tensor is None else self.tensor(tensor) for tensor in call.arguments]
            node, reason = None, ""
            if isinstance(call, RandomKey):
                reason = RANDOM_KEY
            elif not isinstance(call, SizeReading):
                node = next((value.name for value in call.node.outputs if value.name), "")
                reason = call.reason
            self._calls[call] = len(self.calls)
            self.calls.append(StoredCall(self._number, node, arguments, reason))
        return self._calls[call]

    def sizes(self, dims: Iterable[Dim]) -> list[StoredDim]:
        return [self._dim(dim) for dim in dims]

    def _dim(self, dim: Dim) -> StoredDim:
        if isinstance(dim, int):
            return dim
        if dim not in self._dims:
            self._dims[dim] = len(self.dims)
            self.dims.append(self.packing.packed(dim))
        return [self._dims[dim]]

    def place_code(self, code: LinkedCode) -> int:
        """Where code lies among that of all kernels."""
        if id(code) not in self._codes:
            self.code += bytes(-len(self.code) % ALIGN)
            self._codes[id(code)] = len(self.code)
            self.code += code.code
        return self._codes[id(code)]

    def _device_code(self, address: int, device: DeviceMemory) -> int:
        """The place among all code for a device of that of the kernel at an address."""
        if address not in self._device_codes:
            stored = device.stored(address)
            if stored is None:
                raise Unstorable(_OF_THIS_PROCESS)
            self._device_codes[address] = len(self.device_codes)
            self.device_codes.append((len(self.code), len(self.code) + len(stored)))
            self.code += stored
        return self._device_codes[address]

    def array(self, array: Array) -> int:
        """The number of an array."""
        if id(array) not in self._arrays:
            if array.dtype.hasobject:
                raise Unstorable("a constant of strings")
            self._arrays[id(array)] = (len(self.arrays), array)
            self.arrays.append(StoredArray(int(DType.of(array.dtype)), list(array.shape), self.size))
            self.size = -(-(self.size + array.nbytes) // ALIGN) * ALIGN
        return self._arrays[id(array)][0]

    def array_bytes(self) -> Iterator[bytes | memoryview]:
        """The bytes of all arrays, in order."""
        end = 0
        for stored, (_, array) in zip(self.arrays, self._arrays.values(), strict=True):
            yield bytes(stored.offset - end)
            flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            yield memoryview(flat)
            end = stored.offset + array.nbytes
        yield bytes(self.size - end)
