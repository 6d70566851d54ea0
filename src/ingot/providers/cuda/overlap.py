"""Launches that begin before the kernel before them has ended, as the driver wants them described."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_int, c_uint, c_void_p

WAIT = b"griddepcontrol.wait"
"""What the code of a kernel has that may be launched so."""

_SERIALISED = 6
"""The attribute of a launch by which the kernel itself waits for the one before."""


class _Attribute(ctypes.Structure):
    _fields_ = (("name", c_int), ("pad", c_char * 4), ("value", c_int), ("rest", c_char * 60))


class _Config(ctypes.Structure):
    _fields_ = (
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", c_void_p),
        ("count", c_uint),
    )


_OWN = _Attribute(_SERIALISED, b"", 1, b"")


def overlapping(grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, stream: int) -> _Config:
    """What the driver is told of such a launch."""
    return _Config((c_uint * 3)(*grid), (c_uint * 3)(*block), shared, stream, ctypes.addressof(_OWN), 1)
