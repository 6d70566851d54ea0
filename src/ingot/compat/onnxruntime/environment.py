"""What onnxruntime keeps for the whole process: the seed and the level of its log."""

from __future__ import annotations

import itertools
import operator
import os
import platform
import secrets
import sys
from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from ingot.compat.onnxruntime.cuda import is_available
from ingot.compat.onnxruntime.devices import OrtMemoryInfo
from ingot.compat.onnxruntime.errors import Fail, Unsupported
from ingot.version import __version__ as ingot_version

API_VERSION = "1.31.1"
"""The version of onnxruntime whose API this is."""

_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: multiples of it are far from each other


class _Seeds:
    """A new seed for each run: unpredictable, until a program sets where to begin."""

    def __init__(self) -> None:
        self.begin(secrets.randbits(64))

    def begin(self, seed: int) -> None:
        self._first = seed
        self._runs = itertools.count()

    def next(self) -> int:
        return (self._first + next(self._runs) * _ODD) % (1 << 64)


SEEDS = _Seeds()


class _GlobalThreads:
    """How many threads sessions share; 0 for as many as there are processors."""

    intra_op = 0


GLOBAL_THREADS = _GlobalThreads()


def set_seed(seed: int) -> None:
    """Make the random numbers of the runs that follow a function of `seed`; they are not onnxruntime's own."""
    SEEDS.begin(operator.index(seed))


def get_device() -> str:
    """What sessions may run on beside the CPU."""
    return "GPU" if is_available() else "CPU"


def get_version_string() -> str:
    return API_VERSION


def get_build_info() -> str:
    return f"ORT Build Info: ingot {ingot_version} with the API of onnxruntime {API_VERSION}"


def set_default_logger_severity(severity: int) -> None:
    """Accepted and without effect: nothing is logged. RuntimeError for a level there is not (0 to 4)."""
    if not 0 <= operator.index(severity) <= 4:
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted and without effect: nothing is logged."""
    operator.index(verbosity)


def set_global_thread_pool_sizes(intra_op_num_threads: int, inter_op_num_threads: int) -> None:
    """Set how many threads run sessions whose options say `use_per_session_threads = False`."""
    operator.index(inter_op_num_threads)
    GLOBAL_THREADS.intra_op = operator.index(intra_op_num_threads)


def enable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def disable_telemetry_events() -> None:
    """Nothing: there is no telemetry."""


def has_collective_ops() -> bool:
    return False


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Nothing: no library is needed for the CPU."""
    del cuda, cudnn, msvc, directory


def create_and_register_allocator(memory: object, arena: object = None) -> None:
    """Accepted and without effect: numpy takes the memory."""
    del arena
    _require_memory(memory)


def create_and_register_allocator_v2(
    provider_type: str, memory: object, options: Mapping[str, str], arena: object = None
) -> None:
    """Accepted and without effect, as the one before."""
    del provider_type, options, arena
    _require_memory(memory)


def _require_memory(memory: object) -> None:
    if not isinstance(memory, OrtMemoryInfo):
        raise TypeError(f"memory is described by an OrtMemoryInfo, not by a {type(memory).__name__}")


def print_debug_info() -> None:
    """Print what a report of a defect should say of this installation."""
    sys.stdout.write(
        f"onnxruntime version: {API_VERSION} (ingot {ingot_version})\nplatform: {platform.platform()}\n"
        f"python: {platform.python_version()}\nnumpy: {np.__version__}\n"
    )


def register_execution_provider_library(registration_name: str, library_path: str) -> NoReturn:
    if not os.path.exists(library_path):
        raise Fail(f"Failed to load library {library_path}: there is no such file")
    raise Unsupported(f"provider libraries cannot be registered: {registration_name} ({library_path})")


def unregister_execution_provider_library(registration_name: str) -> NoReturn:
    raise Fail(f"Execution provider library: {registration_name} was not registered.")
