"""Graphs of CUDA: launches that were captured, begun by one call."""

from __future__ import annotations

from ctypes import c_uint64, c_void_p
from typing import TYPE_CHECKING
from weakref import finalize

from ingot.providers.cuda.driver import DriverError

if TYPE_CHECKING:
    from ingot.providers.cuda.device import Device


class Graph:
    """Captured launches: a call launches all of them on the stream of the thread that calls."""

    __slots__ = ("__weakref__", "_device", "_launchable")

    def __init__(self, device: Device, graph: int) -> None:
        """Of a graph of the driver, which is given back."""
        self._device, driver = device, device.driver
        try:
            self._launchable = driver.integer("cuGraphInstantiateWithFlags", graph, 0, kind=c_void_p)
        finally:
            driver.release("cuGraphDestroy", graph)
        finalize(self, driver.release, "cuGraphExecDestroy", self._launchable).atexit = False

    def became(self, graph: int) -> bool:
        """Whether this is now another graph of the driver, which is given back then: one of the same kernels."""
        driver, result = self._device.driver, (c_uint64 * 8)()
        try:
            driver.call("cuGraphExecUpdate_v2", self._launchable, graph, result)
        except DriverError:
            return False
        driver.release("cuGraphDestroy", graph)
        return True

    def __call__(self) -> None:
        device = self._device
        device.driver.call("cuGraphLaunch", self._launchable, device.stream)
