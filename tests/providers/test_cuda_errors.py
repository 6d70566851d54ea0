"""The provider `cuda` on an emulated GPU where something fails, or threads meet: nothing is left under way, or lost."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingot import InputError
from ingot.codegen.nvptx.step import Plan
from ingot.dtypes import Array
from ingot.errors import ProviderError
from ingot.providers.cuda import copies, device
from ingot.providers.cuda.device import Device
from ingot.providers.cuda.driver import Driver, DriverError
from ingot.providers.cuda.launcher import Launcher, SizesOf
from ingot.providers.cuda.stored import StoredKernel
from ingot.runtime.device import Block, block_of
from ingot.runtime.device_array import DeviceArray, is_contiguous
from providers.emulated import HAS_COMPILER, Emulated, Library
from providers.test_cuda import graph, normal, opened

emulated = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")


@emulated
def test_a_run_whose_results_have_no_memory_waits_for_its_kernels() -> None:
    provider, feeds = Emulated(), {"x": normal(9)}
    session = opened(graph("float[n] x", "y = Exp (x)"), provider)
    for _ in range(3):
        session.run(None, feeds)
    memory, allocate = provider.memory, provider.memory.allocate

    def full(*_: object) -> int:
        raise ProviderError("no memory is left")

    memory.allocate = full  # type: ignore[method-assign, assignment]
    provider.library.calls.clear()
    with pytest.raises(ProviderError, match="no memory is left"):
        session.run(None, feeds, placement="device")
    assert provider.library.calls[-2:] == ["cuGraphLaunch", "cuStreamSynchronize"], "another run has its memory next"
    memory.allocate = allocate  # type: ignore[method-assign]
    np.testing.assert_allclose(session.run(None, feeds)[0], np.exp(feeds["x"]), 1e-5)


def test_what_one_thread_allows_a_function_another_does_not_take_away() -> None:
    library = Library()
    own, call = Device(Driver(library)), library.do_cuFuncSetAttribute
    large, small = 200_000, 100_000
    others: list[threading.Thread] = []

    def meets(function: int, which: int, size: int) -> int:
        if size == small:  # the other thread comes in between what this one asked and what it does
            others.append(threading.Thread(target=own.launch, args=(1, (1, 1, 1), (1, 1), [], (), large)))
            others[0].start()
            others[0].join(0.2)
        return call(function, which, size)

    own.driver._library = _Calling(library, meets)
    own.launch(1, (1, 1, 1), (1, 1), [], (), small)
    others[0].join()
    assert library.allowed[1] == large


class _Calling:
    """The functions of a library, of which none launches, and one is another."""

    def __init__(self, library: Library, attribute: Any) -> None:
        self._library, self.cuFuncSetAttribute = library, attribute

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: 0) if name == "cuLaunchKernel" else getattr(self._library, name)


@emulated
def test_what_a_thread_captures_is_its_own_where_all_use_one_stream() -> None:
    provider, feeds = Emulated(), {"x": normal(9)}
    memory = provider.memory
    memory.enter()
    memory._stream = memory.driver.integer("cuStreamCreate", 1, kind=ctypes.c_void_p)
    one, other = (opened(graph("float[n] x", f"y = {name} (x)"), provider) for name in ("Exp", "Neg"))
    for session in (one, other):
        session.run(None, feeds)
    launch, results = memory.launch, []

    def meets(*arguments: Any) -> None:
        memory.launch = launch  # type: ignore[method-assign]
        thread = threading.Thread(target=lambda: results.append(other.run(None, feeds)[0]))
        thread.start()
        thread.join()
        launch(*arguments)

    memory.launch = meets  # type: ignore[method-assign, assignment]
    np.testing.assert_allclose(one.run(None, feeds)[0], np.exp(feeds["x"]), 1e-5)
    np.testing.assert_array_equal(results, [-feeds["x"]])
    np.testing.assert_allclose(one.run(None, feeds)[0], np.exp(feeds["x"]), 1e-5)


@emulated
def test_threads_that_capture_loops_count_with_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, own = Emulated().memory, block_of

    def slowly(*arguments: Any) -> Block:
        time.sleep(0.1)
        return own(*arguments)

    monkeypatch.setattr(device, "block_of", slowly)
    addresses: list[int] = []
    threads = [threading.Thread(target=lambda: addresses.append(memory.numbers.address)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert addresses == [memory.numbers.address] * 2, "a graph that was captured would read memory that is given back"


@emulated
def test_a_large_copy_that_fails_reads_nothing_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "processors", lambda: 3)
    provider, read = Emulated(), []
    memory, array = provider.memory, np.zeros(3 * copies._STAGED_PIECE, np.uint8)
    own = DeviceArray.of(array, memory)
    fill = copies._Buffer.fill

    def slowly(self: Any, source: int, size: int) -> None:
        if source == array.ctypes.data:
            raise DriverError("the first piece", 1)
        time.sleep(0.2)
        fill(self, source, size)
        read.append(source)

    monkeypatch.setattr(copies._Buffer, "fill", slowly)
    with pytest.raises(DriverError, match="the first piece"):
        memory.upload(array, own.address)
    assert len(read) == 2


@emulated
def test_memory_stays_pinned_until_copies_of_it_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_PIECE", 1 << 21)
    provider = Emulated()
    memory, array = provider.memory, np.zeros(1 << 23, np.uint8)
    address, copy = memory.allocate(array.nbytes), provider.library.do_cuMemcpyHtoDAsync_v2
    begun: list[int] = []

    def refused(to: int, source: int, size: int, stream: int) -> int | None:
        begun.append(to)
        return 1 if len(begun) == 3 else copy(to, source, size, stream)

    monkeypatch.setattr(Library, "do_cuMemcpyHtoDAsync_v2", lambda _, *arguments: refused(*arguments))
    with pytest.raises(DriverError):
        memory.upload_own(array, address)
    calls = provider.library.calls
    assert calls.index("cuStreamSynchronize", calls.index("cuMemHostRegister_v2")) < calls.index("cuMemHostUnregister")


@emulated
def test_what_is_freed_while_free_memory_is_given_back_is_not_lost() -> None:
    memory = Emulated().memory
    unused, used = memory.allocate(1000), memory.allocate(50_000)
    memory.free(unused)
    release = memory.driver.release

    def collected(name: str, handle: int, *arguments: int) -> None:
        memory.driver.release = release  # type: ignore[method-assign]
        memory.free(used)
        release(name, handle, *arguments)

    memory.driver.release = collected  # type: ignore[method-assign]
    memory.release_free()
    assert memory.allocate(50_000) == used


def test_launches_of_nothing_are_planned_once() -> None:
    planned = []

    class Nothing:
        def plan(self, values: Sequence[int]) -> Plan:
            planned.append(values)
            return Plan(0.0, ())

        def function(self, name: str) -> tuple[int, SizesOf]:
            raise AssertionError(name)

        def stored(self, launches: object) -> StoredKernel:
            raise AssertionError(launches)

    launcher = Launcher(Device(Driver(Library())), Nothing(), 0, 1)
    sizes, none = (ctypes.c_int64 * 1)(7), (ctypes.c_int32 * 1)()
    for _ in range(3):
        places = (ctypes.addressof(none), ctypes.addressof(none), ctypes.addressof(sizes), ctypes.addressof(none))
        assert launcher.callback(*places, 0, 0, 1) == 0
    assert planned == [(7,)]


class Interfaced:
    """A tensor on a GPU that has only the interface of CUDA's arrays."""

    def __init__(self, own: DeviceArray, **fields: object) -> None:
        self._own, self._fields = own, fields

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return {**self._own.__cuda_array_interface__, **self._fields}


@emulated
def test_arrays_of_cuda_are_read_after_their_stream_in_any_thread() -> None:
    provider = Emulated()
    memory, array = provider.memory, normal(3, 4)
    own = DeviceArray.of(array, memory)
    values: list[Array] = []

    def read() -> None:
        adopted = memory.adopted(Interfaced(own, stream=1, strides=(16, 4)))
        assert adopted is not None
        values.append(adopted.numpy())

    provider.library.calls.clear()
    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(values, [array])
    calls = provider.library.calls
    assert calls.index("cuCtxSetCurrent") < calls.index("cuStreamSynchronize"), "streams are those of a context"
    with pytest.raises(InputError, match="not contiguous"):
        memory.adopted(Interfaced(own, strides=(4, 12)))


def test_tensors_are_contiguous_where_their_elements_lie_in_order() -> None:
    assert is_contiguous((2, 3), (3, 1), 1)
    assert is_contiguous((2, 1, 3), (12, 77, 4), 4)
    assert is_contiguous((3, 0, 2), (2, 2, 1), 1)
    assert is_contiguous((), (), 8)
    assert not is_contiguous((2, 3), (1, 2), 1)
    assert not is_contiguous((2, 3), (4, 1), 1)


@emulated
def test_the_stream_that_the_driver_calls_zero_is_the_legacy_one_of_others() -> None:
    asked: list[int | None] = []
    memory = Emulated().memory
    own = DeviceArray.of(normal(3), memory)

    class Foreign:
        def __dlpack_device__(self) -> tuple[int, int]:
            return own.__dlpack_device__()

        def __dlpack__(self, stream: int | None = None) -> object:
            asked.append(stream)
            return own.__dlpack__(stream=stream)

    memory._stream = 0
    adopted = memory.adopted(Foreign())
    assert adopted is not None
    assert adopted.address == own.address
    assert asked == [1]
    del adopted
    gc.collect()
