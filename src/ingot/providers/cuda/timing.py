"""Times of what a GPU does, by events.

The GPU is kept busy while the host launches what is timed: the event before it is then reached when everything is under
way, and what launching takes, tens of microseconds, is not counted.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_float, c_uint64, c_void_p
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingot.providers.cuda.device import Device

_NANOSECONDS = 100_000
"""How long the GPU is kept busy."""

PAUSE = b"""\
.version 7.0
.target sm_80
.address_size 64
.visible .entry pause(.param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .b64 %d<5>;
    ld.param.u64 %d1, [nanoseconds];
    mov.u64 %d2, %globaltimer;
AGAIN:
    mov.u64 %d3, %globaltimer;
    sub.u64 %d4, %d3, %d2;
    setp.lt.u64 %p1, %d4, %d1;
    @%p1 bra AGAIN;
    ret;
}
"""
"""A kernel in PTX that does nothing for a while."""


def seconds(device: Device, begin: Callable[[], object], rounds: int) -> float:
    """The median time, on the device, of what `begin` launches."""
    driver, times = device.driver, []
    nanoseconds = c_uint64(_NANOSECONDS)
    arguments = (c_void_p * 1)(ctypes.addressof(nanoseconds))
    pause, stream = device.function(PAUSE, "pause"), device.stream
    first, last = (driver.integer("cuEventCreate", 0, kind=c_void_p) for _ in range(2))
    try:
        for _ in range(rounds):
            driver.call("cuLaunchKernel", pause, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)
            driver.call("cuEventRecord", first, stream)
            begin()
            driver.call("cuEventRecord", last, stream)
            driver.call("cuEventSynchronize", last)
            elapsed = c_float()
            driver.call("cuEventElapsedTime", ctypes.byref(elapsed), first, last)
            times.append(elapsed.value / 1e3)
    finally:
        for event in (first, last):
            driver.release("cuEventDestroy_v2", event)
    return median(times)
