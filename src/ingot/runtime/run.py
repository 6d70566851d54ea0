"""Running a plan: one loop over its segments, for a model and for the bodies in it, observed or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.prim.tensor import Call, Tensor
from ingot.runtime.address import address_of
from ingot.runtime.entry import Entry
from ingot.runtime.frame import Frame, SegmentFrame, fresh_array
from ingot.runtime.ledger import Ledger
from ingot.runtime.limits import LimitError, exceeded
from ingot.runtime.plan import Jump, Plan, StepObserver
from ingot.runtime.provider import DeviceMemory
from ingot.runtime.segment import Caller, PreparedSegment
from ingot.runtime.thread_pool import thread_pool
from ingot.schedule.threads import THREADS

if TYPE_CHECKING:
    from ingot.runtime.interrupt import Interrupt


@dataclass(frozen=True, slots=True)
class ByteLimit:
    """The bytes that a run may allocate, where no ledger follows its results."""

    left: int
    charge_new: None = None
    few: int = 0


class PlanRunner:
    """A plan ready to run: what all runs of it share, and the frames that are not in use.

    Values are numbered: the inputs in order, then constants, and the results of segments and calls.
    """

    def __init__(
        self, plan: Plan, outputs: Sequence[Tensor], parameters: Sequence[str] | None = None, fixed: int = 0
    ) -> None:
        """The outputs of a plan for its inputs, or for these `parameters` by name, of which the last are `fixed`."""
        self.plan = plan
        self.frames: list[Frame] = []
        inputs = [plan.inputs[name] for name in (plan.inputs if parameters is None else parameters)]
        numbers = {tensor: number for number, tensor in enumerate(inputs)}
        produced = [
            allocation.tensor
            for segment in plan.segments
            for allocation in segment.allocations
            if allocation.tensor is not None
        ]
        called = [tensor for results in plan.call_results.values() for tensor in results]
        for tensor in (*plan.constants, *produced, *called):
            numbers.setdefault(tensor, len(numbers))
        self.entries = entries = [Entry(tensor, numbers[tensor], plan.placed.get(tensor)) for tensor in inputs]
        known = frozenset({THREADS}).union(*(entry.names for entry in entries))
        self._fixed = entries[len(entries) - fixed :]
        self._placed = [entry for entry in entries[: len(entries) - fixed] if entry.is_placed]
        self.checks = [check for entry in entries for check in entry.checks(known)]
        self.segments: list[PreparedSegment] = []
        for segment in plan.segments:
            prepared = PreparedSegment(plan, segment, numbers, known)
            known = known.union(*(entry.names for entry in prepared.entries))
            self.segments.append(prepared)
        self.outputs = [numbers[tensor] for tensor in outputs]
        stored = {number for segment in self.segments for number, _, _ in segment.results}
        self.gives_fresh_arrays = stored.issuperset(self.outputs) and len(set(self.outputs)) == len(self.outputs)
        """Whether all outputs are results of kernels, each an array of its own."""
        self._values: list[Any] = [None] * len(numbers)
        for tensor, array in plan.constants.items():
            self._values[numbers[tensor]] = _read_only(array)
        self._sizes = {THREADS: plan.threads}

    @property
    def constants(self) -> list[Any]:
        """The arrays of the values after the inputs, None for those that are not constant."""
        return self._values[len(self.entries) :]

    def constant(self, number: int) -> Any | None:
        """The array of a value that is constant, else None."""
        return self._values[number]

    def is_true(self, number: int) -> bool:
        """Whether a value is a constant of one element that is true."""
        value = self._values[number]
        return value is not None and value.size == 1 and bool(value.reshape(()))

    def frame(self) -> Frame:
        """A frame for the caller alone; `release` gives it back."""
        try:
            frame = self.frames.pop()  # to look first is no use: other threads take them too
        except IndexError:
            frame = Frame(self.plan, self.segments)
            frame.values, frame.sizes = self._values, self._sizes
        return frame

    def release(self, frame: Frame) -> None:
        """Leave a frame to the next run, without what a body captured."""
        frame.values, frame.sizes = self._values, self._sizes
        self.frames.append(frame)

    @contextmanager
    def running(self, interrupt: Interrupt | None) -> Iterator[Frame]:
        """A frame for one run, whose kernels stop where `interrupt` ends it; Interrupted after that."""
        frame = self.frame()
        frame.native = frame.active = None  # this run binds its segments anew
        if interrupt is not None:
            interrupt.attach(frame.state)
        try:
            yield frame
        finally:
            if interrupt is not None:
                interrupt.detach(frame.state)
            frame.words[0] = frame.words[1] = 0
            self.release(frame)
        if interrupt is not None:
            interrupt.check()

    def sizes_of(self, inputs: Sequence[Any]) -> dict[str, int]:
        """The named sizes that inputs in order have; GuardFailed if they are not as assumed."""
        values, sizes, slots = self._values.copy(), self._sizes.copy(), self.plan.template.copy()
        for entry in self._placed:
            entry.admit(inputs[entry.number], values, sizes, slots)
        for check in self.checks:
            check.require(values, sizes)
        return sizes

    def fix(self, frame: Frame, inputs: Iterable[Any]) -> None:
        """Set the last inputs for all runs with a frame; GuardFailed if they are not as assumed."""
        values, sizes = self._values.copy(), self._sizes.copy()
        for entry, value in zip(self._fixed, inputs, strict=True):
            entry.admit(value, values, sizes, frame.slots)
        frame.values, frame.sizes = values, sizes

    def run(
        self,
        frame: Frame,
        inputs: Sequence[Any],
        call: Caller,
        observe: StepObserver | None,
        limit: ByteLimit | Ledger,
    ) -> list[Any] | None:
        """The outputs for inputs in order, those that are fixed left out; None if the state says that the run ended.

        `call` makes the calls. With `observe`, steps are run one by one, each when all threads are done with the one
        before. GuardFailed where something is not as was assumed. LimitError, before anything is allocated, if a
        segment needs more bytes than `limit` leaves; a ledger counts the results too.
        """
        values, sizes, slots, words = frame.values.copy(), frame.sizes.copy(), frame.slots, frame.words
        values[: len(inputs)] = inputs
        for entry in self._placed:
            entry.admit(inputs[entry.number], values, sizes, slots)
        for check in self.checks:
            check.require(values, sizes)
        charge, few, held = limit.charge_new, limit.few, 0
        start, device = thread_pool().start, self.plan.device
        for segment in frame.segments:
            prepared = segment.prepared
            binding = prepared.binder.bind(sizes)
            if binding.needed > few and binding.needed > limit.left - held:
                binding = prepared.binder.bind_tightly(sizes)
                if binding.needed > limit.left - held:
                    raise _excess(binding.needed, limit.left - held, limit)
            held += binding.needed if charge is None else binding.layout.total
            if binding is not segment.binding:
                segment.install(binding)
            for (number, slot, dtype), shape in zip(prepared.results, binding.shapes, strict=True):
                array = values[number] = fresh_array(shape, dtype)
                slots[slot] = address_of(array)
                if charge is not None:
                    charge(array)
            if device is not None:
                _upload(device, prepared, values, slots)
            if segment.job is not None:
                try:
                    if observe is None and device is None:
                        start(segment.job)
                    elif observe is None and device is not None:
                        segment.begin(device, start)
                    elif observe is not None:
                        self._observed(segment, frame, sizes, observe)
                finally:
                    if device is not None:  # whatever was raised: the frame is another run's next
                        device.finish()
                if words[0] or words[1]:
                    return None
            if device is not None:
                _download(device, prepared, values, slots)
            if prepared.call is not None:
                begin = perf_counter()
                prepared.make(prepared.call, call, values, sizes, slots)
                if observe is not None and isinstance(prepared.call, Call):
                    observe(prepared.call, perf_counter() - begin, sizes)
        return [values[number] for number in self.outputs]

    def _observed(self, segment: SegmentFrame, frame: Frame, sizes: Mapping[str, int], observe: StepObserver) -> None:
        steps, words = segment.prepared.steps, frame.words
        row = 0
        while row < len(steps) and not (words[0] or words[1]):
            step = steps[row]
            run = partial(thread_pool().run, segment.rows[row : row + 1], frame.table, frame.state, self.plan.threads)
            if isinstance(step, Jump):
                row = run()
                continue
            if self.plan.device is None:
                begin = perf_counter()
                run()
                seconds = perf_counter() - begin
            else:
                seconds = self.plan.device.timed(run)
            observe(step, seconds, sizes)
            row += 1


def _upload(device: DeviceMemory, prepared: PreparedSegment, values: list[Any], slots: Any) -> None:
    """Copy what the kernels of a segment read from the host, and the segments before it did not."""
    for number, slot in prepared.uploads:
        if values[number].nbytes:
            device.upload(values[number], slots[slot])


def _download(device: DeviceMemory, prepared: PreparedSegment, values: list[Any], slots: Any) -> None:
    """Copy the results of a segment to their arrays."""
    for number, slot in prepared.downloads:
        if values[number].nbytes:
            device.download(slots[slot], values[number])
    if prepared.downloads:
        device.finish()


def _excess(needed: int, left: int, limit: ByteLimit | Ledger) -> LimitError:
    if isinstance(limit, ByteLimit):
        return exceeded(f"the values of this run take {needed:,} bytes, the limit is {left:,}", "memory", f"{needed:_}")
    text = f"the values of a run of a body take {needed:,} bytes, {left:,} are left"
    return exceeded(text, "memory", f"{limit.live + needed:_}")


def _read_only(array: Array) -> Array:
    """The same elements, which nobody who gets them as a result may change."""
    view = array.view()
    view.flags.writeable = False
    return view
