"""A GPU: its primary context, a stream for each thread, its memory, and the kernels that are loaded."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_int64, c_size_t, c_uint64, c_void_p
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary, finalize

import numpy as np

from ingot.codegen.executable_memory import Code
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.step import TensorMap
from ingot.dtypes import Array
from ingot.errors import ProviderError
from ingot.providers.cuda.copies import COPY, Staging, copy, new_parameters, upload, upload_where_it_is
from ingot.providers.cuda.driver import OUT_OF_MEMORY, Driver, DriverError
from ingot.providers.cuda.foreign import adopted
from ingot.providers.cuda.graph import Graph
from ingot.providers.cuda.launcher import Launcher
from ingot.providers.cuda.pinned import PinnedResults, rounded
from ingot.providers.cuda.stored import restored
from ingot.providers.cuda.tensor_maps import encoded
from ingot.providers.cuda.timing import seconds
from ingot.runtime.address import address_of
from ingot.runtime.device import Block, block_of
from ingot.runtime.device_array import DLPACK_CUDA, DeviceArray

_NON_BLOCKING = 1
_PORTABLE_AND_MAPPED = 3
_RELAXED = 2
_RELEASE_THRESHOLD = 4
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_CLOCK, _MEMORY_CLOCK, _BUS_BITS, _SHARED = 13, 36, 37, 97
_DYNAMIC_SHARED = 8
_PLAIN_SHARED = 48 << 10
"""Numbers of the driver's interface: flags of streams, of pinned memory and of captures, and attributes."""

_MOST_LAUNCHES = 1 << 14
"""Launches of one graph."""

_NUMBERS = 1 << 16
"""Numbers that loops of a graph count with."""

_COPIED = 1 << 28
"""Bytes that are copied to measure how fast memory is: more than L2 holds."""

_LARGEST_FREE, _MOST_FREE = 1 << 26, 1 << 28
"""Bytes of blocks that are not given back when they are freed, each and all: to allocate takes longer than a run."""


class Device:
    """One GPU. Sessions and threads share its context, its pool of memory and its modules."""

    def __init__(
        self, driver: Driver, number: int = 0, most_bytes: int | None = None, stream: int | None = None
    ) -> None:
        """`most_bytes` is how much memory may be allocated at a time, `stream` what all threads use.

        By default each has one of its own. ProviderError if there is no such device.
        """
        if not 0 <= number < driver.count:
            raise ProviderError(f"there is no GPU {number}: the driver has {driver.count}", hint="see `ingot devices`")
        self.driver, self.number, self.most_bytes = driver, number, most_bytes
        handle = driver.integer("cuDeviceGet", number)
        name = ctypes.create_string_buffer(256)
        driver.call("cuDeviceGetName", name, 256, handle)
        self.name = name.value.decode()
        self.total_bytes = driver.integer("cuDeviceTotalMem_v2", handle, kind=c_size_t)
        self.multiprocessors, major, minor = (
            driver.integer("cuDeviceGetAttribute", which, handle) for which in (_MULTIPROCESSORS, _MAJOR, _MINOR)
        )
        self.capability = major, minor
        self._handle = handle
        self._stream = stream
        self._context: int | None = None
        self._lock = threading.RLock()
        self._own = _ThreadState()
        self._pool_stream = 0
        self._sizes: dict[int, int] = {}
        self._used = 0
        self.shared: set[int] = set()
        """The addresses of memory that the host reads and writes in place, too."""
        self.launchers: WeakValueDictionary[int, Launcher] = WeakValueDictionary()
        """What launches kernels, by the addresses that plans have of them."""
        self._loaded: dict[str, _Module] = {}
        self._shared: dict[int, int] = {}
        """The dynamic shared memory that functions may have, where it is more than any may."""
        self._loaders: ThreadPoolExecutor | None = None
        self._results = PinnedResults(driver)
        self.staging = Staging(self)
        """What large arrays of the host are copied through."""
        self._free: dict[int, list[int]] = {}
        """Blocks that were freed, by their sizes, to be allocated again."""
        self._free_bytes = 0
        self._limits: tuple[float, float] | None = None
        self._numbers: Block | None = None

    # --- threads

    @property
    def stream(self) -> int:
        """The stream of this thread, whose current context is that of the device."""
        own = self._own
        if own.running is not None:
            return own.running
        self.enter()
        return self._own_stream() if self._stream is None else self._stream

    def _own_stream(self) -> int:
        """A stream of the current context that no other thread has."""
        own = self._own
        if own.stream is None:
            own.stream = _Stream(self.driver)
        return own.stream.number

    def begin_run(self) -> None:
        self._own.running = self.stream

    def end_run(self) -> None:
        self._own.running = None

    def enter(self) -> None:
        """Make the context current: another device of this thread, or another library, may have made its own that."""
        if self._context is None:
            with self._lock:
                if self._context is None:
                    context = self.driver.integer("cuDevicePrimaryCtxRetain", self._handle, kind=c_void_p)
                    self.driver.call("cuCtxSetCurrent", context)
                    self._open_pool()
                    self._context = context
        self.driver.call("cuCtxSetCurrent", self._context)

    def _open_pool(self) -> None:
        """Have the pool hold what is freed, instead of giving it back whenever a stream is waited for."""
        self._pool_stream = _new_stream(self.driver)
        pool = self.driver.integer("cuDeviceGetDefaultMemPool", self._handle, kind=c_void_p)
        self.driver.call("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.byref(c_uint64(1 << 62)))
        first = self.driver.integer("cuMemAllocAsync", 1, self._pool_stream, kind=c_uint64)  # takes milliseconds
        self.driver.release("cuMemFreeAsync", first, self._pool_stream)

    # --- memory

    def allocate(self, size: int, shared: bool = False) -> int:
        driver, size = self.driver, max(size, 1)
        if shared:
            address = c_void_p()
            self.enter()
            driver.call("cuMemHostAlloc", ctypes.byref(address), size, _PORTABLE_AND_MAPPED)
            ctypes.memset(address, 0, size)
            self.shared.add(int(address.value or 0))
            return int(address.value or 0)
        size = rounded(size)
        with self._lock:
            blocks = self._free.get(size)
            if blocks:
                block = blocks.pop()
                self._sizes[block] = size
                self._used += size
                self._free_bytes -= size
                return block
            self.enter()
            if self._free_bytes and self._is_too_much(size):
                self.release_free()
            if self._is_too_much(size):
                raise ProviderError(
                    f"{size:,} bytes more than the {self._used:,} in use exceed the limit of {self.most_bytes:,}",
                    hint="raise the limit of the provider, or run smaller batches",
                )
            try:
                block = driver.integer("cuMemAllocAsync", size, self._pool_stream, kind=c_uint64)
            except DriverError as error:
                if error.code != OUT_OF_MEMORY or not self._free_bytes:
                    raise
                self.release_free()
                block = driver.integer("cuMemAllocAsync", size, self._pool_stream, kind=c_uint64)
            driver.call("cuStreamSynchronize", self._pool_stream)
            self._sizes[block] = size
            self._used += size
        return block

    def free(self, address: int) -> None:
        if address in self.shared:
            self.enter()
            self.shared.discard(address)
            self.driver.release("cuMemFreeHost", address)
            return
        with self._lock:
            size = self._sizes.pop(address)
            self._used -= size
            if size <= _LARGEST_FREE and self._free_bytes + size <= _MOST_FREE:
                self._free.setdefault(size, []).append(address)
                self._free_bytes += size
                return
            self.enter()
            self.driver.release("cuMemFreeAsync", address, self._pool_stream)

    def _is_too_much(self, size: int) -> bool:
        return self.most_bytes is not None and self._used + self._free_bytes + size > self.most_bytes

    def release_free(self) -> None:
        """Give back to the driver the blocks that nobody uses."""
        unused, self._free, self._free_bytes = self._free, {}, 0  # what is freed meanwhile, as a collection does, stays
        for blocks in unused.values():
            for block in blocks:
                self.driver.release("cuMemFreeAsync", block, self._pool_stream)

    @property
    def used(self) -> int:
        """Bytes that are allocated."""
        return self._used

    def upload(self, array: Array, address: int) -> None:
        if address in self.shared:
            ctypes.memmove(address, array.ctypes.data, array.nbytes)
            return
        upload(self, array, address)

    def upload_own(self, array: Array, address: int) -> None:
        upload_where_it_is(self, array, address)

    def download(self, address: int, array: Array) -> None:
        if address in self.shared:
            ctypes.memmove(array.ctypes.data, address, array.nbytes)
            return
        if array.nbytes:
            self.driver.call("cuMemcpyDtoHAsync_v2", address_of(array), address, array.nbytes, self.stream)

    def copy(self, copies: Sequence[tuple[int, int, int]]) -> None:
        copy(self, copies)

    def result_array(self, shape: tuple[int, ...], dtype: Any) -> Array:
        self.stream  # noqa: B018 - the context is current
        return self._results.array(shape, dtype)

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return DLPACK_CUDA, self.number

    def adopted(self, value: Any) -> DeviceArray | None:
        return adopted(value, self)

    def settle(self) -> None:
        self.enter()
        self.driver.call("cuCtxSynchronize")

    def finish(self) -> None:
        failure, self._own.failure = self._own.failure, None
        try:
            self.driver.call("cuStreamSynchronize", self.stream)
        finally:
            if failure is not None:  # kernels that were begun before it are done: their memory may be given back
                raise failure

    # --- kernels

    def function(self, image: bytes, name: str) -> int:
        """A kernel of PTX, which is loaded once: others wait for the thread that loads it."""
        self.enter()
        with self._lock:
            module = self._loaded.setdefault(hashlib.sha256(image).hexdigest(), _Module())
        with module.lock:
            if module.number is None:
                module.number = self.driver.module(image)
            if name not in module.functions:
                module.functions[name] = self.driver.function(module.number, name)
            return module.functions[name]

    @property
    def copy_parameters(self) -> tuple[Any, Any]:
        """What this thread passes to the kernel that copies."""
        if self._own.copies is None:
            self._own.copies = new_parameters()
        return self._own.copies

    @cached_property
    def copy_function(self) -> int:
        """The kernel that copies."""
        return self.function(COPY, "copy")

    @property
    def numbers(self) -> Block:
        """The first int64 numbers, in order: one block for all threads, whose graphs have its address."""
        with self._lock:
            if self._numbers is None:
                self._numbers = block_of(np.arange(_NUMBERS, dtype=np.int64), self)
            return self._numbers

    def as_captured(self, addresses: list[int]) -> list[int]:
        """What a kernel that is captured gets for these addresses: constants for counters."""
        counters = self._own.counters
        if counters.isdisjoint(addresses):
            return addresses
        return [self._number_at(address) if address in counters else address for address in addresses]

    def _number_at(self, counter: int) -> int:
        number = c_int64.from_address(counter).value
        if not 0 <= number < _NUMBERS:
            raise DriverError(f"a loop of more than {_NUMBERS:,} trips is not captured", 0)
        return self.numbers.address + 8 * number

    def preload(self, image: bytes, name: str) -> None:
        """Begin to load a kernel of PTX, in the background; what fails there fails again where it is needed."""
        with self._lock:
            if self._loaders is None:
                self._loaders = ThreadPoolExecutor(1, "ingot-cuda")  # the driver loads one at a time
        self._loaders.submit(self.function, image, name)

    def stored(self, address: int) -> bytes | None:
        launcher = self.launchers.get(address)
        return None if launcher is None else launcher.stored()

    def restored(self, stored: bytes) -> Code:
        return restored(stored, self)

    @cached_property
    def gpu(self) -> Gpu:
        """The numbers that decide which kernel is the fastest."""
        clock, memory, bits, shared = (
            self.driver.integer("cuDeviceGetAttribute", which, self._handle)
            for which in (_CLOCK, _MEMORY_CLOCK, _BUS_BITS, _SHARED)
        )
        bandwidth = 2e3 * memory * bits / 8  # both clocks are in kHz, and memory moves twice in a cycle
        return Gpu(self.capability, self.multiprocessors, 1e3 * clock, bandwidth, shared)

    def launch(
        self,
        function: int,
        grid: tuple[int, int, int],
        block: tuple[int, int],
        numbers: Sequence[int],
        maps: Sequence[Any] = (),
        shared: int = 0,
        together: bool = False,
    ) -> None:
        """Launch a kernel on the stream of this thread. Its arguments are 64-bit numbers, and tensor maps after them.

        `shared` are the bytes of its dynamic shared memory, and `together` is whether blocks wait for each other.
        """
        if self._own.is_capturing:
            self._own.launches += 1
            if self._own.launches > _MOST_LAUNCHES:
                raise DriverError(f"more than {_MOST_LAUNCHES:,} launches are not captured", 0)
        if shared > _PLAIN_SHARED:
            self._allow_shared(function, shared)
        arguments = (c_uint64 * len(numbers))(*[number & 0xFFFFFFFFFFFFFFFF for number in numbers])
        start = ctypes.addressof(arguments)
        places = [*range(start, start + 8 * len(numbers), 8), *map(ctypes.addressof, maps)]
        addresses = (c_void_p * len(places))(*places)
        place = (function, *grid, *block, 1, shared, self.stream, addresses)
        if together:
            self.driver.call("cuLaunchCooperativeKernel", *place)
        else:
            self.driver.call("cuLaunchKernel", *place, None)

    def _allow_shared(self, function: int, size: int) -> None:
        """Let a function have so much dynamic shared memory; what other threads were allowed stays."""
        with self._lock:
            if self._shared.get(function, 0) < size:
                self.driver.call("cuFuncSetAttribute", function, _DYNAMIC_SHARED, size)
                self._shared[function] = size

    def tensor_map(self, of: TensorMap, address: int) -> Any:
        """A tensor map for a buffer at an address, which a launch copies."""
        return encoded(of, address, self.driver)

    def timed(self, begin: Callable[[], object]) -> float:
        took = self.seconds(begin, 1)
        self.finish()
        return took

    def limits(self) -> tuple[float, float]:
        """Operations as the clock and the multiprocessors have them, bytes as a large copy moves them."""
        if self._limits is None:
            size = min(_COPIED, self.total_bytes // 8)
            to, source = self.allocate(size), self.allocate(size)
            try:
                took = self.seconds(lambda: self.copy([(to, source, size)]), 5)
            finally:
                self.free(to)
                self.free(source)
            self._limits = self.gpu.singles * self.multiprocessors, 2 * size / took
        return self._limits

    def seconds(self, begin: Callable[[], object], rounds: int) -> float:
        """The median time, on the device, of what `begin` launches."""
        return seconds(self, begin, rounds)

    def wait(self) -> None:
        """Wait for what was launched, unless that is captured."""
        if not self.is_capturing:
            self.driver.call("cuStreamSynchronize", self.stream)

    def fail(self, error: BaseException) -> None:
        """Raise an error when this thread next finishes."""
        self._own.failure = self._own.failure or error

    @property
    def has_failed(self) -> bool:
        """Whether there is an error that this thread has not raised yet."""
        return self._own.failure is not None

    @property
    def is_capturing(self) -> bool:
        """Whether what this thread launches is captured, and does not run."""
        return self._own.is_capturing

    def capture(
        self,
        begin: Callable[[], None],
        before: Callable[[], None] | None = None,
        counters: Collection[int] = (),
    ) -> Graph | None:
        """What `begin` launches, as a graph, without running it; None where the driver refuses.

        The graph `before` becomes the new one, where that has the same kernels. In place of a counter a kernel gets a
        constant: the number that the counter has now. The stream that all threads use is not captured: what others
        launch meanwhile would be, too.
        """
        if counters:
            self.numbers  # noqa: B018 - copied now
        self.copy_function  # noqa: B018 - loaded now: not all drivers do while they capture
        self.enter()
        own, running, stream, graph = self._own, self._own.running, self._own_stream(), c_void_p()
        try:
            self.driver.call("cuStreamBeginCapture_v2", stream, _RELAXED)
        except DriverError:
            return None
        own.is_capturing, own.launches, own.counters, own.running = True, 0, frozenset(counters), stream
        try:
            begin()
        except BaseException as error:
            self.fail(error)
        own.is_capturing, own.counters, own.running = False, frozenset(), running
        try:
            self.driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        except DriverError as error:  # what failed before has made the capture invalid
            self.fail(error)
        captured = int(graph.value or 0)
        if not self.has_failed:
            if isinstance(before, Graph) and before.became(captured):
                return before
            try:
                return Graph(self, captured)
            except DriverError:
                return None
        if captured:
            self.driver.release("cuGraphDestroy", captured)
        if isinstance(self._own.failure, DriverError):  # others, such as Ctrl-C, are raised when the thread finishes
            self._own.failure = None
        return None


class _ThreadState(threading.local):
    """What a thread has of a device: a stream, once it is used, and an error that is to be raised."""

    stream: _Stream | None = None
    failure: BaseException | None = None
    copies: tuple[Any, Any] | None = None
    running: int | None = None
    """The stream, while a run goes on, in which nobody else makes another context current."""
    is_capturing = False
    launches = 0
    """How many were captured."""
    counters: frozenset[int] = frozenset()


class _Stream:
    """A stream, which ends with the thread that has it."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, driver: Driver) -> None:
        self.number = _new_stream(driver)
        finalize(self, driver.release, "cuStreamDestroy_v2", self.number).atexit = False


class _Module:
    """Code that is loaded, or being loaded by the thread that has the lock, and its kernels by name."""

    __slots__ = ("functions", "lock", "number")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.number: int | None = None
        self.functions: dict[str, int] = {}


def _new_stream(driver: Driver) -> int:
    """A stream of the current context that waits for no other."""
    return driver.integer("cuStreamCreate", _NON_BLOCKING, kind=c_void_p)
