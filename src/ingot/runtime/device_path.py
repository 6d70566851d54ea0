"""The fast path of a plan for a device: a run with types and sizes that ran before is one launch.

That launch copies small inputs from memory that the host shares, runs all kernels, and copies small results back; large
ones are copied before and after it, and tensors that are on the device already, in between. It is captured when such
inputs come again, and renewed where the memory that it is of has moved.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.prim.tensor import Call
from ingot.runtime.address import address_of
from ingot.runtime.bind import Binding
from ingot.runtime.device import Block
from ingot.runtime.device_array import DeviceArray
from ingot.runtime.direct_calls import DirectCall
from ingot.runtime.frame import Frame
from ingot.runtime.interrupt import Interrupt
from ingot.runtime.plan import Plan
from ingot.runtime.provider import DeviceMemory, Replay
from ingot.runtime.recent import remember
from ingot.runtime.run import PlanRunner
from ingot.runtime.thread_pool import thread_pool

_SMALL = 1 << 16
"""Bytes of a result up to which the host copies it once more; larger ones are written where they are returned."""

_STAGED = 1 << 21
"""Bytes of an input up to which the host copies it to memory that the device reads."""

_MOST_KEYS = 32
"""Types and sizes of inputs that are remembered."""

_MOST_READY = 16
"""Launches that a frame has ready."""

_ALIGN = 256

_OWN = 3
"""Addresses that a launch is of, before those of inputs on the device."""

_Key: TypeAlias = "tuple[Any, ...]"


class DevicePath:
    """The fast path of a plan for a device that has one segment, without calls, whose sizes say what runs."""

    def __init__(self, plan: Plan, device: DeviceMemory) -> None:
        self._names = tuple(plan.inputs)
        self._device = device
        self._placed = [tensor in plan.placed for tensor in plan.inputs.values()]
        self._ran: dict[_Key, dict[str, int]] = {}
        """The sizes of inputs that ran, by name."""
        self._runner: PlanRunner | None = None
        self.is_closed = False

    def run(
        self,
        feeds: Mapping[str, Any],
        interrupt: Interrupt | None = None,
        seed: int = 0,  # noqa: ARG002 - such a plan draws no numbers
        on_device: bool = False,
    ) -> list[Any] | None:
        """The outputs, `on_device` or on the host; None if this is no fast path.

        That is so for other types and sizes, and for an error that a kernel met. Interrupted where `interrupt` ends it.
        """
        runner = self._runner
        if runner is None or len(feeds) != len(self._names):
            return None
        inputs, key = [], []
        for name in self._names:
            feed = feeds.get(name)
            if type(feed) is np.ndarray:
                if not feed.flags.c_contiguous:
                    feed = np.ascontiguousarray(feed)
                key.append((feed.shape, feed.dtype, False))
            else:
                feed = self._device.adopted(feed)
                if feed is None:
                    return None
                key.append((feed.shape, feed.dtype, True))
            inputs.append(feed)
        own = tuple(key)
        sizes = self._ran.get(tuple([part[:2] for part in key]))
        if sizes is None:
            return None
        frame = runner.frame()
        if interrupt is not None:
            interrupt.attach(frame.state)
        results = None
        self._device.begin_run()
        try:
            ready = frame.native_runs.get(own)
            if ready is None:
                ready = DeviceRun(self._device, runner, frame, inputs, self._placed, sizes)
                remember(frame.native_runs, own, ready, _MOST_READY)
            results = ready.run(inputs, on_device)
        finally:
            self._device.end_run()
            if interrupt is not None:
                interrupt.detach(frame.state)
            if results is None or interrupt is not None:
                frame.words[0] = frame.words[1] = 0
            runner.frames.append(frame)
        if interrupt is not None:
            interrupt.check()
        return results

    def learn(
        self,
        runner: PlanRunner,
        feeds: Mapping[str, Any],
        most_bytes: int,  # noqa: ARG002 - a run like one before takes no more
        direct: Callable[[Call], DirectCall | None],  # noqa: ARG002 - there are no calls
    ) -> bool:
        """Note that inputs like these ran, if the plan has a fast path; whether it has."""
        if self.is_closed or not self._is_straight(runner):
            self.is_closed = True
            return False
        arrays = [feeds.get(name) for name in self._names]
        if set(feeds) != set(self._names) or any(type(array) is not np.ndarray for array in arrays):
            return False
        inputs: list[Any] = arrays
        remember(
            self._ran, tuple([(array.shape, array.dtype) for array in inputs]), runner.sizes_of(inputs), _MOST_KEYS
        )
        self._runner = runner
        return True

    def _is_straight(self, runner: PlanRunner) -> bool:
        """Whether all that a run does is one segment, whose sizes say what runs, and whose results are the outputs."""
        segments = runner.segments
        return (
            len(segments) == 1
            and segments[0].counters is not None
            and segments[0].call is None
            and runner.gives_fresh_arrays
            and {number for number, _ in segments[0].downloads}.issuperset(runner.outputs)
        )


@dataclass(frozen=True, slots=True)
class _Input:
    """An input that kernels read: its place among the inputs, its slot, its bytes, and where it is staged, if so."""

    number: int
    slot: int
    size: int
    staged: int | None


@dataclass(frozen=True, slots=True)
class _Result:
    """A result: the slot that it is in on the device, its type, its bytes, and where it is staged, if so."""

    slot: int
    shape: tuple[int, ...]
    dtype: Any
    size: int
    staged: int | None


class DeviceRun:
    """A run with certain types and sizes in a frame, which nothing else uses meanwhile."""

    def __init__(
        self,
        device: DeviceMemory,
        runner: PlanRunner,
        frame: Frame,
        inputs: Sequence[Any],
        placed: Sequence[bool],
        sizes: Mapping[str, int],
    ) -> None:
        self._device, self._frame, self._segment = device, frame, frame.first
        prepared = self._segment.prepared
        self._binding: Binding = prepared.binder.bind(sizes)
        self._numbers = [number for number, is_placed in enumerate(placed) if is_placed]
        self._replay: Replay | None = None
        self._captured: tuple[Any, ...] = ()
        """The addresses that the launch is of."""
        self._is_refused = False
        """Whether the device captures nothing."""
        self._to: dict[int, int] = {}
        self._from: dict[int, int] = {}
        """Where inputs go, and where results are, by slot."""
        self._moving: set[int] = set()
        """Inputs on the device that were at several addresses."""
        used, own, staged = 0, {}, 0
        for number, slot in prepared.uploads:
            size, place = inputs[number].nbytes, None
            if type(inputs[number]) is np.ndarray and size <= _STAGED:
                place, used = used, used + -(-size // _ALIGN) * _ALIGN
            own[number] = _Input(number, slot, size, place)
        shapes = {number: shape for (number, _, _), shape in zip(prepared.results, self._binding.shapes, strict=True)}
        dtypes = {number: dtype for number, _, dtype in prepared.results}
        slots = dict(prepared.downloads)
        results = []
        for number in runner.outputs:
            shape, dtype = shapes[number], dtypes[number]
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            place = None
            if size <= _SMALL:
                place, staged = staged, staged + -(-size // _ALIGN) * _ALIGN
            results.append(_Result(slots[number], shape, dtype, size, place))
        self._inputs, self._results = list(own.values()), results
        self._staged = used, staged

    def run(self, inputs: Sequence[Any], on_device: bool) -> list[Any] | None:
        """The outputs; None where a kernel met an error."""
        device, frame = self._device, self._frame
        boxes = frame.boxes = frame.boxes or _Boxes(device)
        boxes.fit(self._staged)
        for each in self._inputs:
            if each.staged is not None and each.size:
                ctypes.memmove(boxes.to_device + each.staged, address_of(inputs[each.number]), each.size)
        if not self._is_refused and (self._replay is None or self._addresses(inputs) != self._captured):
            self._prepare(inputs)
        if self._is_refused:
            self._place()
        copies = []
        for each in self._inputs:
            if each.staged is None and each.size:
                value = inputs[each.number]
                if type(value) is np.ndarray:
                    device.upload(value, self._to[each.slot])
                elif each.number in self._moving:
                    copies.append((self._to[each.slot], value.address, each.size))
        try:
            if copies:
                device.copy(copies)
            if self._replay is None:
                self._begin()
                self._note_results()
            else:
                self._replay()
            results = self._fetched(on_device)
        finally:  # whatever was raised: the frame is another run's next
            device.finish()
        if frame.words[0] or frame.words[1]:
            return None
        return [
            np.ndarray(own.shape, own.dtype, boxes.to_host, own.staged or 0).copy() if result is None else result
            for result, own in zip(results, self._results, strict=True)
        ]

    def _fetched(self, on_device: bool) -> list[Any]:
        """The results that are not staged, which are being copied, and None for the others."""
        device, places = self._device, self._from
        results: list[Any] = []
        copies = []
        for own in self._results:
            if on_device:
                array = DeviceArray.new(device, own.shape, own.dtype)
                copies.append((array.address, places[own.slot], own.size))
                results.append(array)
            elif own.staged is None:
                results.append(device.result_array(own.shape, own.dtype))
                device.download(places[own.slot], results[-1])
            else:
                results.append(None)
        if copies:
            device.copy([copy for copy in copies if copy[2]])
        return results

    def _addresses(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The addresses that a launch is of."""
        boxes: _Boxes = self._frame.boxes
        return self._segment.memory_address, boxes.to_device, boxes.to_host_address, *self._direct(inputs)

    def _direct(self, inputs: Sequence[Any]) -> list[int]:
        """The addresses of inputs on the device that kernels read in place."""
        return [
            inputs[each.number].address
            for each in self._inputs
            if type(inputs[each.number]) is DeviceArray and each.number not in self._moving
        ]

    def _prepare(self, inputs: Sequence[Any]) -> None:
        """Capture the launch for the addresses of now."""
        segment, slots = self._segment, self._frame.slots
        if self._replay is not None:
            direct = [each.number for each in self._inputs if type(inputs[each.number]) is DeviceArray]
            before = zip([n for n in direct if n not in self._moving], self._captured[_OWN:], strict=False)
            self._moving.update([number for number, address in before if inputs[number].address != address])
        self._place()
        for each in self._inputs:
            value = inputs[each.number]
            if type(value) is DeviceArray and each.number not in self._moving:
                if value.is_aligned and segment.prepared.is_straight:
                    slots[each.slot] = value.address
                else:  # kernels could write there, where loops swap slots
                    self._moving.add(each.number)
        try:
            counters = [slots[slot] for slot in segment.prepared.counters or ()]
            self._replay = self._device.capture(self._begin, self._replay, counters)
            self._note_results()
        finally:
            if segment.prepared.is_straight:
                for slot, home in self._to.items():
                    slots[slot] = home
        if self._replay is None:
            self._device.finish()  # raises what else ended the capture, such as Ctrl-C
            self._is_refused = True
            self._moving.update(each.number for each in self._inputs)
        self._captured = self._addresses(inputs)

    def _place(self) -> None:
        """Have the slots of the binding in place, and note where inputs go."""
        if self._segment.binding is not self._binding:
            self._segment.install(self._binding)
        self._to = {each.slot: self._frame.slots[each.slot] for each in self._inputs}

    def _note_results(self) -> None:
        """Note where results are: loops have swapped slots."""
        self._from = {own.slot: self._frame.slots[own.slot] for own in self._results}

    def _begin(self) -> None:
        """Begin the copies of what is staged, and the kernels between them."""
        device, slots, boxes = self._device, self._frame.slots, self._frame.boxes
        there = [(slots[e.slot], boxes.to_device + e.staged, e.size) for e in self._inputs if e.staged is not None]
        device.copy([copy for copy in there if copy[2]])
        if self._segment.job is not None:
            thread_pool().start(self._segment.job)
        start = boxes.to_host_address
        back = [(start + own.staged, slots[own.slot], own.size) for own in self._results if own.staged is not None]
        device.copy([copy for copy in back if copy[2]])


class _Boxes:
    """Memory that the host and a device share, which all runs in a frame are staged in: as much as one has needed."""

    def __init__(self, device: DeviceMemory) -> None:
        self._device = device
        self._blocks: list[Block | None] = [None, None]
        self.to_device = self.to_host_address = 0
        self.to_host: Array = np.zeros(0, np.uint8)

    def fit(self, sizes: tuple[int, int]) -> None:
        """Have room for so many bytes of inputs, and of results."""
        for place, size in enumerate(sizes):
            block = self._blocks[place]
            if size and (block is None or block.size < size):
                self._blocks[place] = None  # before there is another
                block = self._blocks[place] = Block(self._device, size, shared=True)
                if place == 0:
                    self.to_device = block.address
                else:
                    self.to_host_address, self.to_host = block.address, _bytes_at(block)


def _bytes_at(block: Block) -> Array:
    memory: Any = (ctypes.c_uint8 * block.size).from_address(block.address)
    array: Array = np.frombuffer(memory, np.uint8)
    return array
