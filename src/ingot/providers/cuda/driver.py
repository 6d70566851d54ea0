"""The NVIDIA driver: the functions of `libcuda` that are used, their arguments, and their errors by name."""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ingot.errors import ProviderError

_LIBRARIES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")

_KINDS: dict[str, Any] = {
    "p": c_void_p, "i": c_int, "u": c_uint, "s": c_size_t, "a": c_uint64, "t": c_char_p, "f": c_float,
}  # fmt: skip

_SIGNATURES = {
    "cuInit": "u",
    "cuDriverGetVersion": "p",
    "cuGetErrorName": "ip",
    "cuGetErrorString": "ip",
    "cuDeviceGetCount": "p",
    "cuDeviceGet": "pi",
    "cuDeviceGetName": "pii",
    "cuDeviceTotalMem_v2": "pi",
    "cuDeviceGetAttribute": "pii",
    "cuDevicePrimaryCtxRetain": "pi",
    "cuCtxSetCurrent": "p",
    "cuModuleLoadDataEx": "ptupp",
    "cuModuleGetFunction": "ppt",
    "cuFuncSetAttribute": "pii",
    "cuTensorMapEncodeTiled": "piuappppiiii",
    "cuStreamCreate": "pu",
    "cuStreamDestroy_v2": "p",
    "cuStreamSynchronize": "p",
    "cuMemAllocAsync": "psp",
    "cuMemFreeAsync": "ap",
    "cuDeviceGetDefaultMemPool": "pi",
    "cuMemPoolSetAttribute": "pip",
    "cuMemHostAlloc": "psu",
    "cuMemFreeHost": "p",
    "cuMemcpyHtoDAsync_v2": "apsp",
    "cuMemcpyDtoHAsync_v2": "pasp",
    "cuMemcpyAsync": "aasp",
    "cuMemHostRegister_v2": "psu",
    "cuMemHostUnregister": "p",
    "cuCtxSynchronize": "",
    "cuLaunchKernel": "puuuuuuuppp",
    "cuLaunchCooperativeKernel": "puuuuuuupp",
    "cuEventCreate": "pu",
    "cuEventDestroy_v2": "p",
    "cuEventRecord": "pp",
    "cuEventSynchronize": "p",
    "cuEventElapsedTime": "ppp",
    "cuStreamBeginCapture_v2": "pi",
    "cuStreamEndCapture": "pp",
    "cuGraphInstantiateWithFlags": "ppa",
    "cuGraphLaunch": "pp",
    "cuGraphExecUpdate_v2": "ppp",
    "cuGraphExecDestroy": "p",
    "cuGraphDestroy": "p",
}
"""The functions, and the kinds of their arguments, a letter each; those that CUDA 12 and 13 both have."""

OUT_OF_MEMORY = 2
_NO_DEVICE = 100
_LOST = frozenset({46, 214, 700, 701, 702, 708, 709, 714, 715, 716, 717, 718, 719, 721, 722})
"""Errors after which every call fails: an uncorrectable error of memory, and those of kernels that ended early."""

_LOG_BYTES = 1 << 14
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6
"""Options of `cuModuleLoadDataEx`: where the compiler of the driver writes what is wrong, and how much it may."""


class DriverError(ProviderError):
    """A function of the driver failed; `code` is its number of the error."""

    def __init__(self, message: str, code: int, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code

    @property
    def is_lost(self) -> bool:
        """Whether the GPU refuses everything in this process from now on."""
        return self.code in _LOST


class Driver:
    """The driver, initialised; `library` has its functions as attributes."""

    def __init__(self, library: Any) -> None:
        """ProviderError if the driver is too old, has no device or refuses to start."""
        self._library = library
        if isinstance(library, ctypes.CDLL):
            for name, kinds in _SIGNATURES.items():
                try:
                    getattr(library, name).argtypes = [_KINDS[kind] for kind in kinds]
                except AttributeError:
                    raise ProviderError(
                        f"the NVIDIA driver is too old: it has no {name}", hint="install a driver for CUDA 12 or later"
                    ) from None
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; DriverError, with the error's name, if it fails."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise self.error(name, code)

    def release(self, name: str, handle: int, *arguments: int) -> None:
        """Call a function that gives back a handle; where that fails nothing is left to do, as when a process ends."""
        getattr(self._library, name)(handle, *arguments)

    def error(self, function: str, code: int, log: str = "") -> DriverError:
        """The error of a number that a function returned; `log` is what else the driver had to say."""
        name, text = c_char_p(), c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(name))
        self._library.cuGetErrorString(code, ctypes.byref(text))
        title = (name.value or b"unknown error").decode()
        meaning = (text.value or b"").decode()
        hint = None
        if code == OUT_OF_MEMORY:
            hint = "run smaller batches, or close other programs that use the GPU"
        elif code in _LOST:
            hint = "the GPU is lost for this process: start it again"
        elif code == _NO_DEVICE:
            hint = "leave out the provider 'cuda', or make a GPU visible (CUDA_VISIBLE_DEVICES)"
        message = f"the NVIDIA driver refused {function}: {title} ({code}){f', {meaning}' if meaning else ''}"
        return DriverError(f"{message}\n{log}" if log else message, code, hint=hint)

    def integer(self, name: str, *arguments: Any, kind: Any = c_int) -> int:
        """The number that a function writes to its first argument."""
        value = kind()
        self.call(name, ctypes.byref(value), *arguments)
        return int(value.value or 0)

    @property
    def version(self) -> tuple[int, int]:
        """The newest CUDA that the driver runs."""
        number = self.integer("cuDriverGetVersion")
        return number // 1000, number % 1000 // 10

    @property
    def count(self) -> int:
        """How many devices there are."""
        return self.integer("cuDeviceGetCount")

    def module(self, image: bytes) -> int:
        """PTX as code of the current context: compiled as a whole, which the driver caches.

        Never by `cuLinkAddData`: relocatable code is slower, and nothing says so.
        """
        handle, log = c_void_p(), ctypes.create_string_buffer(_LOG_BYTES)
        options = (c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(_LOG_BYTES))
        code = self._library.cuModuleLoadDataEx(ctypes.byref(handle), image + b"\0", 2, options, values)
        if code:
            raise self.error("cuModuleLoadDataEx", code, log.value.decode(errors="replace"))
        return int(handle.value or 0)

    def function(self, module: int, name: str) -> int:
        """A kernel of a module."""
        handle = c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(handle), module, name.encode())
        return int(handle.value or 0)


@cache
def open_driver() -> Driver:
    """The driver of this machine; ProviderError if there is none, or no device."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return Driver(library)
    raise ProviderError(
        f"there is no NVIDIA driver here: {_LIBRARIES[0]} is not found",
        hint="leave out the provider 'cuda', or install the driver of the GPU; nothing else is needed",
    )
