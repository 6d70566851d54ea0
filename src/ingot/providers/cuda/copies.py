"""Copies to, from and on a GPU: small ones by a kernel, several at a time, large ones by its copy engine.

A copy by the engine takes some five microseconds that nothing hides, a kernel that copies one or two. Large arrays go
through pinned memory, but for those of plan files, whose memory is pinned where it is: nobody else knows of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from ctypes import c_uint64, c_void_p
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import finalize

from ingot.dtypes import Array
from ingot.providers.cuda.driver import DriverError
from ingot.runtime.address import address_of
from ingot.runtime.device import Block
from ingot.runtime.processors import processors

if TYPE_CHECKING:
    from ingot.providers.cuda.device import Device

_BY_KERNEL = 1 << 17
"""Bytes up to which a kernel copies."""

_TOGETHER = 8
"""Copies of one launch: as many as its parameter has places."""

_THREADS = 256
_BYTES_A_THREAD = 64

_PIECE = 1 << 25
"""Bytes that are pinned while those before them are copied."""

_LARGE = 1 << 22
"""Bytes of memory of the host from which on a copy goes through pinned memory."""

_STAGED_PIECE = 1 << 21
_MOST_COPIERS = 4
"""Bytes that a thread copies at a time to pinned memory, and threads that do: more are no faster."""

_NO_TIMES = 2
"""The flag of events that are only waited for."""

_PAGE = 1 << 12
_READ_ONLY = 8
"""The flag of memory that is only read, as that of mapped files is."""

COPY = b"""\
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .align 8 .b8 copies[192])
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    .reg .b64 %d<16>;
    mov.u32 %r1, %ctaid.y;
    mul.wide.u32 %d1, %r1, 24;
    mov.b64 %d2, copies;
    add.s64 %d1, %d1, %d2;
    ld.param.u64 %d3, [%d1];
    ld.param.u64 %d4, [%d1+8];
    ld.param.u64 %d5, [%d1+16];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    cvt.u64.u32 %d6, %r5;
    mov.u32 %r6, %nctaid.x;
    mul.lo.u32 %r6, %r6, %r3;
    cvt.u64.u32 %d7, %r6;
    mov.u64 %d8, 0;
    or.b64 %d9, %d3, %d4;
    and.b64 %d9, %d9, 15;
    setp.ne.u64 %p1, %d9, 0;
    @%p1 bra BYTES;
    and.b64 %d8, %d5, -16;
    shl.b64 %d10, %d6, 4;
    shl.b64 %d11, %d7, 4;
LINES:
    setp.ge.u64 %p2, %d10, %d8;
    @%p2 bra BYTES;
    add.s64 %d12, %d4, %d10;
    add.s64 %d13, %d3, %d10;
    .reg .b32 %w<4>;
    ld.global.v4.u32 {%w0, %w1, %w2, %w3}, [%d12];
    st.global.v4.u32 [%d13], {%w0, %w1, %w2, %w3};
    add.s64 %d10, %d10, %d11;
    bra LINES;
BYTES:
    add.s64 %d10, %d8, %d6;
NEXT:
    setp.ge.u64 %p3, %d10, %d5;
    @%p3 bra END;
    add.s64 %d12, %d4, %d10;
    add.s64 %d13, %d3, %d10;
    ld.global.u8 %r7, [%d12];
    st.global.u8 [%d13], %r7;
    add.s64 %d10, %d10, %d7;
    bra NEXT;
END:
    ret;
}
"""
"""A kernel in PTX that makes one copy for each row of its grid: places to copy to and from, and numbers of bytes."""


def upload(device: Device, array: Array, address: int) -> None:
    """Copy an array of the host, which may be gone after this."""
    start, size, driver = address_of(array), array.nbytes, device.driver
    if size >= _LARGE:
        device.staging.upload(start, size, address)
        return
    if size:  # drivers refuse to copy nothing
        driver.call("cuMemcpyHtoDAsync_v2", address, start, size, device.stream)
        driver.call("cuStreamSynchronize", device.stream)


def upload_where_it_is(device: Device, array: Array, address: int) -> None:
    """Copy an array of the host that nobody else copies meanwhile, which is pinned for that.

    Others could have its memory pinned, too, and end that while it is copied.
    """
    start, stream, driver = address_of(array), device.stream, device.driver
    pinned = []
    try:
        for begin, end in _pieces(start, array.nbytes):
            if array.nbytes >= _LARGE and _pin(device, begin, end - begin):
                pinned.append(begin)
            driver.call("cuMemcpyHtoDAsync_v2", address + begin - start, begin, end - begin, stream)
        driver.call("cuStreamSynchronize", stream)
    except BaseException:
        driver.release("cuStreamSynchronize", stream)  # a copy of memory that is pinned no more is an error for good
        raise
    finally:
        for begin in pinned:
            driver.release("cuMemHostUnregister", begin)


class Staging:
    """Pinned memory that large arrays are copied through, a piece by each thread, while others are on their way.

    One array at a time.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._buffers: list[_Buffer] = []

    def upload(self, start: int, size: int, address: int) -> None:
        """Copy so many bytes of the host to an address; they may be gone after this."""
        with self._lock:
            if self._threads is None:
                threads = min(_MOST_COPIERS, processors())
                self._threads = ThreadPoolExecutor(threads, "ingot-copy")
                self._buffers = [_Buffer(self._device) for _ in range(2 * threads)]
            pieces = range(0, size, _STAGED_PIECE)
            share = partial(self._share, start, size, address, self._device.stream)
            workers = len(self._buffers) // 2
            begun = [self._threads.submit(share, pieces[n::workers], n) for n in range(min(workers, len(pieces)))]
            try:
                for own in begun:
                    own.result()
                self._device.driver.call("cuStreamSynchronize", self._device.stream)
            finally:
                wait(begun)  # whatever was raised: they read what may be gone after this

    def _share(self, start: int, size: int, address: int, stream: int, pieces: range, number: int) -> None:
        """Copy every second piece of a worker through each of its two buffers."""
        for turn, begin in enumerate(pieces):
            buffer, length = self._buffers[2 * number + turn % 2], min(_STAGED_PIECE, size - begin)
            buffer.fill(start + begin, length)
            buffer.send(address + begin, length, stream)


class _Buffer:
    """A piece of pinned memory, and an event after the copy from it."""

    def __init__(self, device: Device) -> None:
        self._device, self._block = device, Block(device, _STAGED_PIECE, shared=True)
        self._event = device.driver.integer("cuEventCreate", _NO_TIMES, kind=c_void_p)
        finalize(self, device.driver.release, "cuEventDestroy_v2", self._event).atexit = False

    def fill(self, source: int, size: int) -> None:
        """Copy bytes into it, once what was there before is on the device."""
        self._device.enter()
        self._device.driver.call("cuEventSynchronize", self._event)
        ctypes.memmove(self._block.address, source, size)

    def send(self, address: int, size: int, stream: int) -> None:
        driver = self._device.driver
        driver.call("cuMemcpyHtoDAsync_v2", address, self._block.address, size, stream)
        driver.call("cuEventRecord", self._event, stream)


def copy(device: Device, copies: Sequence[tuple[int, int, int]]) -> None:
    """Begin copies to places from others, of so many bytes each."""
    small = []
    for own in copies:
        if own[2] <= _BY_KERNEL:
            small.append(own)
        else:
            device.driver.call("cuMemcpyAsync", *own, device.stream)
    for first in range(0, len(small), _TOGETHER):
        _copy_by_kernel(device, small[first : first + _TOGETHER])


def _copy_by_kernel(device: Device, copies: Sequence[tuple[int, int, int]]) -> None:
    places, parameters = device.copy_parameters
    largest = 1
    for number, (to, source, size) in enumerate(copies):
        places[3 * number], places[3 * number + 1], places[3 * number + 2] = to, source, size
        largest = max(largest, size)
    grid = -(-largest // (_THREADS * _BYTES_A_THREAD)), len(copies), 1
    function, stream = device.copy_function, device.stream
    device.driver.call("cuLaunchKernel", function, *grid, _THREADS, 1, 1, 0, stream, parameters, None)


def new_parameters() -> tuple[Any, Any]:
    """Places of the parameter of the kernel that copies, which a launch reads at once, and where they are."""
    places = (c_uint64 * (3 * _TOGETHER))()
    return places, (c_void_p * 1)(ctypes.addressof(places))


def _pieces(start: int, size: int) -> Iterator[tuple[int, int]]:
    """Where each piece of so many bytes begins and ends, at pages but for the first and the last."""
    begin, last = start, start + size
    while begin < last:
        end = min(last, (begin // _PAGE) * _PAGE + _PIECE)
        yield begin, end
        begin = end


def _pin(device: Device, start: int, size: int) -> bool:
    """Pin memory of the host, if the driver can: some of it may be pinned by others."""
    try:
        device.driver.call("cuMemHostRegister_v2", start, size, _READ_ONLY)
    except DriverError:
        return False
    return True
