"""A GPU: its primary context, a stream for each thread, its memory, and the kernels that are loaded."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Callable
from ctypes import c_float, c_size_t, c_uint64, c_void_p
from statistics import median
from typing import Any

from ingot.dtypes import Array
from ingot.errors import ProviderError
from ingot.providers.cuda.driver import Driver

_NON_BLOCKING = 1
_PORTABLE_AND_MAPPED = 3
_RELAXED = 2
_RELEASE_THRESHOLD = 4
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
"""Numbers of the driver's interface: flags of streams, of pinned memory and of captures, and attributes."""


class Device:
    """One GPU. Sessions and threads share its context, its pool of memory and its modules."""

    def __init__(self, driver: Driver, number: int = 0, most_bytes: int | None = None) -> None:
        """`most_bytes` is how much memory may be allocated at a time; ProviderError if there is no such device."""
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
        self._context: int | None = None
        self._lock = threading.RLock()
        self._threads = threading.local()
        self._pool_stream = 0
        self._sizes: dict[int, int] = {}
        self._used = 0
        self.shared: set[int] = set()
        """The addresses of memory that the host reads and writes in place, too."""
        self._functions: dict[tuple[str, str], int] = {}
        self._images: dict[str, int] = {}

    # --- threads

    @property
    def stream(self) -> int:
        """The stream of this thread; its context is current from then on."""
        stream: int | None = getattr(self._threads, "stream", None)
        if stream is None:
            self._enter()
            stream = self._threads.stream = self._new_stream()
            self._threads.failure = None
            self._threads.is_capturing = False
        return stream

    def _enter(self) -> None:
        with self._lock:
            if self._context is None:
                self._context = self.driver.integer("cuDevicePrimaryCtxRetain", self._handle, kind=c_void_p)
                self._open_pool()
        self.driver.call("cuCtxSetCurrent", self._context)

    def _open_pool(self) -> None:
        """Have the pool hold what is freed, instead of giving it back whenever a stream is waited for."""
        self.driver.call("cuCtxSetCurrent", self._context)
        self._pool_stream = self._new_stream()
        pool = self.driver.integer("cuDeviceGetDefaultMemPool", self._handle, kind=c_void_p)
        self.driver.call("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.byref(c_uint64(1 << 62)))

    def _new_stream(self) -> int:
        return self.driver.integer("cuStreamCreate", _NON_BLOCKING, kind=c_void_p)

    # --- memory

    def allocate(self, size: int, shared: bool = False) -> int:
        stream, driver = self.stream, self.driver
        del stream  # the context of this thread is there
        size = max(size, 1)
        if shared:
            address = c_void_p()
            driver.call("cuMemHostAlloc", ctypes.byref(address), size, _PORTABLE_AND_MAPPED)
            ctypes.memset(address, 0, size)
            self.shared.add(int(address.value or 0))
            return int(address.value or 0)
        with self._lock:
            if self.most_bytes is not None and self._used + size > self.most_bytes:
                raise ProviderError(
                    f"{size:,} bytes more than the {self._used:,} in use exceed the limit of {self.most_bytes:,}",
                    hint="raise the limit of the provider, or run smaller batches",
                )
            block = driver.integer("cuMemAllocAsync", size, self._pool_stream, kind=c_uint64)
            driver.call("cuStreamSynchronize", self._pool_stream)
            self._sizes[block] = size
            self._used += size
        return block

    def free(self, address: int) -> None:
        self.stream  # noqa: B018 - the context of this thread
        if address in self.shared:
            self.shared.discard(address)
            self.driver.call("cuMemFreeHost", address)
            return
        with self._lock:
            self._used -= self._sizes.pop(address)
            self.driver.call("cuMemFreeAsync", address, self._pool_stream)

    @property
    def used(self) -> int:
        """Bytes that are allocated."""
        return self._used

    def upload(self, array: Array, address: int) -> None:
        if address in self.shared:
            ctypes.memmove(address, array.ctypes.data, array.nbytes)
            return
        stream = self.stream
        self.driver.call("cuMemcpyHtoDAsync_v2", address, array.ctypes.data, array.nbytes, stream)
        self.driver.call("cuStreamSynchronize", stream)  # the array may be gone after this

    def download(self, address: int, array: Array) -> None:
        stream = self.stream
        if address in self.shared:
            ctypes.memmove(array.ctypes.data, address, array.nbytes)
            return
        self.driver.call("cuMemcpyDtoHAsync_v2", array.ctypes.data, address, array.nbytes, stream)
        self.driver.call("cuStreamSynchronize", stream)

    def finish(self) -> None:
        stream = self.stream
        failure, self._threads.failure = self._threads.failure, None
        if failure is not None:
            raise failure
        self.driver.call("cuStreamSynchronize", stream)

    # --- kernels

    def function(self, image: bytes, name: str) -> int:
        """A kernel of PTX, which is loaded once."""
        self.stream  # noqa: B018 - the context of this thread
        key = hashlib.sha256(image).hexdigest()
        with self._lock:
            function = self._functions.get((key, name))
            module = self._images.get(key)
        if function is not None:
            return function
        if module is None:
            module = self.driver.module(image)  # several at a time
            with self._lock:
                module = self._images.setdefault(key, module)
        function = self.driver.function(module, name)
        with self._lock:
            return self._functions.setdefault((key, name), function)

    def launch(self, function: int, grid: tuple[int, int, int], block: tuple[int, int], arguments: Any) -> None:
        """Launch a kernel on the stream of this thread; `arguments` are 64-bit numbers."""
        addresses = (c_void_p * len(arguments))(
            *range(ctypes.addressof(arguments), ctypes.addressof(arguments) + 8 * len(arguments), 8)
        )
        self.driver.call("cuLaunchKernel", function, *grid, *block, 1, 0, self.stream, addresses, None)

    def seconds(self, begin: Callable[[], None], rounds: int) -> float:
        """The median time, on the device, of what `begin` launches."""
        stream, driver, times = self.stream, self.driver, []
        first, last = (driver.integer("cuEventCreate", 0, kind=c_void_p) for _ in range(2))
        for _ in range(rounds):
            driver.call("cuEventRecord", first, stream)
            begin()
            driver.call("cuEventRecord", last, stream)
            driver.call("cuEventSynchronize", last)
            elapsed = c_float()
            driver.call("cuEventElapsedTime", ctypes.byref(elapsed), first, last)
            times.append(elapsed.value / 1e3)
        for event in (first, last):
            driver.call("cuEventDestroy_v2", event)
        return median(times)

    def wait(self) -> None:
        """Wait for what was launched, unless that is captured."""
        if not self._threads.is_capturing:
            self.driver.call("cuStreamSynchronize", self.stream)

    def fail(self, error: BaseException) -> None:
        """Raise an error when this thread next finishes."""
        self.stream  # noqa: B018 - the context of this thread
        self._threads.failure = self._threads.failure or error

    @property
    def has_failed(self) -> bool:
        """Whether there is an error that this thread has not raised yet."""
        return getattr(self._threads, "failure", None) is not None

    def capture(self, begin: Callable[[], None]) -> Graph | None:
        """What `begin` launches, as a graph, without running it; None where it failed."""
        stream, graph = self.stream, c_void_p()
        self.driver.call("cuStreamBeginCapture_v2", stream, _RELAXED)
        self._threads.is_capturing = True
        try:
            begin()
        finally:
            self._threads.is_capturing = False
            self.driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        if self.has_failed:
            self._threads.failure = None
            return None
        return Graph(self, int(graph.value or 0))


class Graph:
    """Captured launches: a call launches all of them on the stream of the thread that calls."""

    def __init__(self, device: Device, graph: int) -> None:
        self._device = device
        driver = device.driver
        self._launchable = driver.integer("cuGraphInstantiateWithFlags", graph, 0, kind=c_void_p)
        driver.call("cuGraphDestroy", graph)

    def __call__(self) -> None:
        device = self._device
        device.driver.call("cuGraphLaunch", self._launchable, device.stream)

    def __del__(self) -> None:
        if hasattr(self, "_launchable") and ctypes is not None:
            self._device.driver.call("cuGraphExecDestroy", self._launchable)
