"""The provider `cuda` on an emulated GPU: everything but the speed, and PTX itself."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Cancel, InputError, Interrupted, Session
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.kernel import Shape
from ingot.codegen.nvptx.target import gpu_target
from ingot.codegen.nvptx.variant import Plan, Sized
from ingot.codegen.nvptx.variants import cheapest
from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.errors import ProviderError
from ingot.loops.ir import Buffer, Contraction, Index, Kernel, Load, Var
from ingot.providers import DEFAULT, compiling_providers, named
from ingot.providers.cuda import Cuda
from ingot.providers.cuda.code import EmittedKernel, loaded_from
from ingot.providers.cuda.device import Device
from ingot.providers.cuda.driver import Driver, DriverError, open_driver
from ingot.providers.cuda.launch import grid_of
from ingot.runtime.device_array import DeviceArray
from ingot.runtime.dlpack import imported
from ingot.runtime.plan import Jump
from ingot.runtime.provider import Replay
from ingot.schedule.gpu import SPLIT_ELEMENTS
from ingot.schedule.schedule import Scheduled
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.explained import explained
from ingot.tools.inspect.measured import measured
from providers.emulated import HAS_COMPILER, Emulated, Library, as_text
from providers.test_own_memory import BRANCH, LOOP
from providers.test_third_provider import HEAD, MIXED

emulated = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def graph(inputs: str, body: str) -> str:
    return f"{HEAD} g ({inputs}) => (y) {{ {body} }}"


def expected(text: str, feeds: dict[str, Array]) -> list[Array]:
    return Session(ingot.parse_model(text), providers=("reference",)).run(None, feeds)


def check(text: str, feeds: dict[str, Array], provider: Emulated | None = None, rtol: float = 1e-5) -> Session:
    """AssertionError unless all of it runs on the GPU, and right, however often."""
    session = Session(ingot.parse_model(text), providers=(provider or Emulated(), "reference"), fallback=False)
    assert session.compiled is not None
    assert not session.compiled.program.calls
    first = session.run(None, feeds)
    for result, own in zip(first, expected(text, feeds), strict=True):
        np.testing.assert_allclose(result, own, rtol=rtol, atol=1e-5)
    for _ in range(2):
        for result, before in zip(session.run(None, feeds), first, strict=True):
            np.testing.assert_array_equal(result, before, "other bits in another run")
    return session


@emulated
@pytest.mark.parametrize("shape", [(1000,), (7, 32), (7, 33), (3, 1), (0, 5)])
def test_elementwise_kernels_of_any_size(shape: tuple[int, ...]) -> None:
    sizes = ", ".join("nmk"[: len(shape)])
    text = graph(f"float[{sizes}] x, float[{sizes}] z", "t = Add (x, z) y = Tanh (t)")
    check(text, {"x": normal(*shape), "z": normal(*shape)})


@emulated
@pytest.mark.parametrize("dtype", ["float16", "double", "int8", "int64", "uint16"])
def test_elementwise_kernels_of_other_types(dtype: str) -> None:
    kind = {"double": "float64"}.get(dtype, dtype)
    x = np.arange(-40, 53).astype(kind)
    check(graph(f"{dtype}[n] x", "t = Add (x, x) y = Mul (t, x)"), {"x": x}, rtol=1e-3)


@emulated
@pytest.mark.parametrize("shape", [(7, 3), (7, 33), (5, 64), (3, 2000), (2, 5000)])
def test_groups_reduce_rows(shape: tuple[int, int]) -> None:
    check(graph("float[n, m] x", "y = Softmax (x)"), {"x": normal(*shape)})
    text = graph("float[n, m] x, float[m] w, float[m] v", "y = LayerNormalization (x, w, v)")
    check(text, {"x": normal(*shape), "w": normal(shape[1]), "v": normal(shape[1])})


@emulated
@pytest.mark.parametrize(("axes", "shape"), [("0", (50, 20)), ("0, 2", (4, 33, 6)), ("1", (4, 33, 6))])
def test_reductions_along_any_axis(axes: str, shape: tuple[int, ...]) -> None:
    sizes = ", ".join("nmk"[: len(shape)])
    body = f"a = Constant <value_ints = [{axes}]> () y = ReduceMax (x, a)"
    check(graph(f"float[{sizes}] x", body), {"x": normal(*shape)})


@emulated
def test_a_long_reduction_is_divided_among_groups_of_one_block() -> None:
    session = check(graph("float[a, b, c] x", "y = ReduceSum <keepdims = 0> (x)"), {"x": normal(8, 64, 33)}, rtol=1e-3)
    assert session.compiled is not None
    assert len(session.compiled.scheduled.steps) == 3


@emulated
def test_a_long_reduction_of_columns_is_divided_too() -> None:
    body = "a = Constant <value_ints = [0]> () y = ReduceSum (x, a)"
    session = check(graph("float[3000, 8] x", body), {"x": normal(3000, 8)}, rtol=1e-3)
    assert session.compiled is not None
    assert len(session.compiled.scheduled.steps) > 1


@emulated
def test_transposes_gathers_scatters_and_scans() -> None:
    for shape in ((33, 70), (5, 40)):
        check(graph("float[n, m] x", "y = Transpose (x)"), {"x": normal(*shape)})
    text = graph("bool[a, b, c] x", "y = Transpose <perm = [0, 2, 1]> (x)")
    check(text, {"x": normal(2, 40, 17) > 0})
    indices = np.array([[2, 0], [1, -3]])
    check(graph("float[3, m] x, int64[p, q] i", "y = Gather (x, i)"), {"x": normal(3, 9), "i": indices})
    text = graph("float[5, m] x, int64[k, 1] i, float[k, m] u", 'y = ScatterND <reduction = "add"> (x, i, u)')
    check(text, {"x": normal(5, 9), "i": np.array([[4], [1], [4]]), "u": normal(3, 9)})
    check(graph("float[n, m] x", "a = Constant <value_int = 0> () y = CumSum (x, a)"), {"x": normal(9, 7)})


@emulated
def test_an_index_out_of_range_is_an_error() -> None:
    text = graph("float[3] x, int64[k] i", "y = Gather (x, i)")
    session = Session(ingot.parse_model(text), providers=(Emulated(), "reference"), fallback=False)
    with pytest.raises(ingot.IngotError, match="3"):
        session.run(None, {"x": normal(3), "i": np.array([5])})


@emulated
@pytest.mark.parametrize(
    ("left", "right"),
    [((50, 20), (20, 70)), ((130, 64), (64, 132)), ((1, 500), (500, 9)), ((3, 5, 9), (3, 9, 4)), ((4, 0), (0, 4))],
)
def test_products_of_any_size(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    batch = "b, " if len(left) == 3 else ""
    inputs = f"float[{batch}m, k] x, float[{batch}k, n] w, float[n] v"
    body = "t = MatMul (x, w) s = Add (t, v) y = Relu (s)"
    feeds = {"x": normal(*left), "w": normal(*right), "v": normal(right[-1])}
    check(graph(inputs, body), feeds, rtol=1e-4)


@emulated
@pytest.mark.parametrize("dtype", ["double", "int32", "uint32", "float16"])
def test_products_of_other_types(dtype: str) -> None:
    kind = {"double": "float64"}.get(dtype, dtype)
    x, other = (np.arange(9 * 8) % 7).astype(kind).reshape(9, 8), (np.arange(8 * 5) % 3).astype(kind).reshape(8, 5)
    check(graph(f"{dtype}[m, k] x, {dtype}[k, n] w", "y = MatMul (x, w)"), {"x": x, "w": other}, rtol=1e-3)


@emulated
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(("m", "k", "n"), [(50, 64, 96), (129, 72, 136), (3, 500, 9), (70, 33, 65)])
@pytest.mark.parametrize("turned", [0, 1])
def test_halves_are_multiplied_by_tensor_cores_and_summed_as_float32(
    kind: str, m: int, k: int, n: int, turned: int
) -> None:
    dtype = np.dtype(kind) if kind == "float16" else np.dtype(ml_dtypes.bfloat16)
    text = graph(f"{kind}[m, k] x, {kind}[{'n, k' if turned else 'k, n'}] w", f"y = Gemm <transB = {turned}> (x, w)")
    session = Session(ingot.parse_model(text), providers=(Emulated(), "reference"), fallback=False)
    x, w = normal(m, k).astype(dtype), normal(k, n).astype(dtype)
    feeds = {"x": x, "w": np.ascontiguousarray(w.T) if turned else w}
    exact = x.astype(np.float64) @ w.astype(np.float64)
    for _ in range(2):
        result = session.run(None, feeds)[0].astype(np.float64)
        np.testing.assert_allclose(result, exact, rtol=2.0**-7 if kind == "bfloat16" else 2.0**-10, atol=1e-4)


@emulated
def test_a_product_of_bytes_is_summed_as_int32() -> None:
    x, w = np.arange(-36, 36).astype(np.int8).reshape(9, 8), np.arange(-60, 60, 3).astype(np.int8).reshape(8, 5)
    check(graph("int8[m, k] x, int8[k, n] w", "y = MatMulInteger (x, w)"), {"x": x, "w": w})


@emulated
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_few_bits_are_multiplied(bits: int) -> None:
    random = np.random.default_rng(bits)
    codes = random.integers(0, 256, 5 * 2 * 4 * bits)
    scales = random.standard_normal(10)
    text = f"""<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]> g (float[m, 64] x) => (y)
    <uint8[5, 2, {4 * bits}] q = {{{", ".join(map(str, codes))}}}, float[10] s = {{{", ".join(map(str, scales))}}}> {{
        y = com.microsoft.MatMulNBits <K = 64, N = 5, bits = {bits}, block_size = 32> (x, q, s)
    }}"""
    check(text, {"x": normal(3, 64)}, rtol=1e-4)


@emulated
def test_a_product_of_few_sums_is_divided_along_what_is_summed() -> None:
    provider = Emulated()
    feeds = {"x": normal(20, 1000), "w": normal(1000, 3)}
    check(graph("float[m, k] x, float[k, n] w", "t = MatMul (x, w) y = Relu (t)"), feeds, provider, rtol=1e-3)
    assert "finish" in provider.library.launched


@emulated
def test_convolutions_read_their_padding() -> None:
    text = f"""{HEAD} g (float[n, 3, h, w] x, float[8, 3, 3, 3] k) => (y) {{
        t = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, k) y = Relu (t)
    }}"""
    check(text, {"x": normal(2, 3, 9, 10), "k": normal(8, 3, 3, 3)}, rtol=1e-4)


@emulated
@pytest.mark.parametrize("trips", [0, 1, 3])
def test_loops_and_branches_run_on_what_the_host_shares(trips: int) -> None:
    check(LOOP, {"x": np.array([0.5, 1], np.float32), "trips": np.array(trips)})
    check(BRANCH, {"x": np.array([1, 2], np.float32), "c": np.array(bool(trips))})


@emulated
def test_the_kernels_of_a_run_are_one_graph_from_the_second_run_on() -> None:
    provider = Emulated()
    calls = provider.library.calls
    text = graph("float[n, m] x, float[m, k] w", "t = MatMul (x, w) y = Softmax (t)")
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    for size in (4, 5, 4):  # others sizes have graphs of their own
        calls.clear()
        feeds = {"x": normal(size, 6), "w": normal(6, 7)}
        for _ in range(4):
            session.run(None, feeds)
        assert calls.count("cuStreamBeginCapture_v2") <= 1
        assert calls.count("cuGraphLaunch") >= 3


@emulated
def test_what_the_gpu_has_no_kernels_for_is_a_call_with_the_reason() -> None:
    text = graph("float[n, m] x", "k = Constant <value_ints = [2]> () t = Exp (x) y, i = TopK (t, k)")
    session = Session(ingot.parse_model(text), providers=(Emulated(), "reference"), fallback=False)
    np.testing.assert_allclose(session.run(None, {"x": normal(3, 9)})[0], expected(text, {"x": normal(3, 9)})[0], 1e-5)
    assert session.compiled is not None
    assert [call.reason for call in session.compiled.program.calls.values()] == ["there is no kernel for order"]


@emulated
def test_memory_is_given_back_and_stays_below_its_limit() -> None:
    provider = Emulated(most_bytes=5 << 20)
    session = Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=(provider, "reference"))
    session.run(None, {"x": normal(1000)})
    assert 0 < provider.memory.used < 5 << 20
    with pytest.raises(ProviderError, match="exceed the limit of 5,242,880"):
        session.run(None, {"x": normal(1 << 20)})
    np.testing.assert_allclose(session.run(None, {"x": normal(9)})[0], np.exp(normal(9)), 1e-5)
    del session
    gc.collect()
    assert provider.memory.used == 0
    provider.memory.release_free()
    assert not provider.library.allocated


@emulated
def test_a_failed_launch_is_an_error_of_the_run_and_the_session_lives_on() -> None:
    provider = Emulated()
    session = Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=(provider, "reference"))
    provider.library.failures["cuLaunchKernel"] = 700
    with pytest.raises(DriverError, match="cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS"):
        session.run(None, {"x": normal(5)})
    provider.library.failures.clear()
    np.testing.assert_allclose(session.run(None, {"x": normal(5)})[0], np.exp(normal(5)), 1e-5)


@emulated
def test_a_failed_launch_ends_the_loop_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Emulated()
    session = Session(ingot.parse_model(LOOP), providers=(provider, "reference"), fallback=False)
    feeds = {"x": np.full(2, 1e-30, np.float32), "trips": np.array(1000)}
    device, launch, launches, skipped = provider.memory, provider.memory.launch, 0, 0

    def tenth_fails(*arguments: Any) -> None:
        nonlocal launches
        launches += 1
        if launches == 10:
            raise ValueError("no launch")
        launch(*arguments)

    def has_failed(device: Device) -> bool:
        nonlocal skipped
        skipped += device._own.failure is not None
        return device._own.failure is not None

    monkeypatch.setattr(device, "launch", tenth_fails)
    monkeypatch.setattr(Device, "has_failed", property(has_failed))
    with pytest.raises(ValueError, match="no launch"):
        session.run(None, feeds)
    assert skipped < 5, "kernels that are not launched, in up to a thousand trips"
    np.testing.assert_allclose(session.run(None, feeds)[0], expected(LOOP, feeds)[0], 1e-5)


@emulated
def test_two_threads_have_streams_of_their_own() -> None:
    provider = Emulated()
    session = Session(ingot.parse_model(MIXED), providers=(provider, "reference"), fallback=False)
    provider.library.calls.clear()
    x = {"x": normal(2, 4)}
    session.run(None, x)
    other = threading.Thread(target=session.run, args=(None, x))
    other.start()
    other.join()
    assert provider.library.calls.count("cuStreamCreate") == 1, "that of the other thread"


def run_thrice(session: Session, feeds: dict[str, Array]) -> None:
    for _ in range(3):
        session.run(None, feeds)


@emulated
def test_streams_end_with_their_threads_and_graphs_with_their_sessions() -> None:
    provider = Emulated()
    text = graph("float[n, m] x, float[m, k] w", "t = MatMul (x, w) y = Softmax (t)")
    feeds = {"x": normal(4, 6), "w": normal(6, 7)}
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    session.run(None, feeds)
    before = {kind for kind, _ in provider.library.live}, len(provider.library.live)
    assert before == ({"stream"}, 2), "that of the pool and that of this thread: those that compiled are gone"
    for _ in range(3):
        other = threading.Thread(target=run_thrice, args=(session, feeds))
        other.start()
        other.join()
    del other
    assert {kind for kind, _ in provider.library.live} == {"stream", "launchable"}
    del session
    gc.collect()
    assert ({kind for kind, _ in provider.library.live}, len(provider.library.live)) == before


@emulated
def test_one_thread_uses_two_gpus_in_turn() -> None:
    library = Library(devices=2)
    text = graph("float[n] x", "y = Exp (x)")
    sessions = [
        Session(ingot.parse_model(text), providers=(Emulated(library, number=number), "reference"), fallback=False)
        for number in range(2)
    ]
    for _ in range(3):
        for session in sessions:
            np.testing.assert_allclose(session.run(None, {"x": normal(9)})[0], np.exp(normal(9)), 1e-5)


@emulated
@pytest.mark.parametrize(
    "function", ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuLaunchKernel"]
)
def test_a_capture_that_the_driver_refuses_is_no_error_of_the_run(function: str) -> None:
    provider = Emulated()
    session = Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=(provider, "reference"))
    feeds = {"x": normal(9)}
    session.run(None, feeds)
    device, begin = provider.memory, provider.memory.capture

    def refused(launches: Callable[[], None], before: Replay | None = None, _: object = None) -> object:
        provider.library.failures[function] = 901
        captured = begin(launches, before)
        provider.library.failures.clear()
        return captured

    device.capture = refused  # type: ignore[method-assign, assignment]
    for _ in range(2):
        np.testing.assert_allclose(session.run(None, feeds)[0], np.exp(normal(9)), 1e-5)
    assert {kind for kind, _ in provider.library.live} <= {"stream", "graph"}
    assert function == "cuStreamEndCapture" or "graph" not in {kind for kind, _ in provider.library.live}


@emulated
def test_ctrl_c_while_launches_are_captured_is_raised() -> None:
    provider = Emulated()
    session = Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=(provider, "reference"))
    feeds = {"x": normal(9)}
    session.run(None, feeds)
    device, launch = provider.memory, provider.memory.launch

    def interrupted(*_: object) -> None:
        device.launch = launch  # type: ignore[method-assign]
        raise KeyboardInterrupt

    device.launch = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        session.run(None, feeds)
    for _ in range(2):
        provider.library.calls.clear()
        np.testing.assert_allclose(session.run(None, feeds)[0], np.exp(normal(9)), 1e-5)
    assert "cuGraphLaunch" in provider.library.calls, "the driver had refused nothing"


def test_what_failed_is_raised_once_kernels_before_it_are_done() -> None:
    library = Library()
    device = Device(Driver(library))
    device.fail(ValueError("no kernel"))
    library.calls.clear()
    with pytest.raises(ValueError, match="no kernel"):
        device.finish()
    assert "cuStreamSynchronize" in library.calls
    device.finish()


def test_threads_that_need_one_module_load_it_once() -> None:
    library, loaded = Library(), []
    device = Device(Driver(library))
    gate = threading.Barrier(4)

    def load(image: bytes) -> int:
        loaded.append(image)
        time.sleep(0.05)
        return 1

    device.driver.module = load  # type: ignore[method-assign]
    device.driver.function = lambda module, _: module  # type: ignore[method-assign, assignment]

    def ask() -> None:
        gate.wait()
        device.function(b"image", "kernel")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1


def test_threads_that_open_a_provider_share_its_device() -> None:
    provider, gate, devices = Cuda(of=Driver(Library())), threading.Barrier(8), []

    def open_device() -> None:
        gate.wait()
        devices.append(provider.memory)

    threads = [threading.Thread(target=open_device) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(devices)) == 1


def test_a_driver_without_a_function_is_too_old() -> None:
    empty = ctypes.CDLL(None)  # a library without functions of CUDA
    with pytest.raises(ProviderError, match="too old: it has no cuInit") as error:
        Driver(empty)
    assert error.value.hint is not None


def test_without_a_driver_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    open_driver.cache_clear()
    monkeypatch.setattr("ingot.providers.cuda.driver._LIBRARIES", ("libcuda_of_nobody.so",))
    with pytest.raises(ProviderError, match="there is no NVIDIA driver here") as error:
        Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=("cuda", "reference"))
    assert error.value.hint is not None
    open_driver.cache_clear()


def test_a_gpu_is_used_only_where_it_is_named() -> None:
    assert "cuda" not in DEFAULT
    assert named("cuda").name == "cuda"
    assert named("cuda:1") is not named("cuda")
    for name in ("cuda:x", "cpu:1", "tpu"):
        with pytest.raises(InputError):
            named(name)


def test_errors_of_the_driver_have_their_names() -> None:
    library = Library()
    library.failures["cuInit"] = 100
    with pytest.raises(DriverError, match=r"cuInit: CUDA_ERROR_NO_DEVICE \(100\)") as error:
        Driver(library)
    assert error.value.code == 100


def test_a_gpu_that_there_is_not_is_refused() -> None:
    with pytest.raises(ProviderError, match="there is no GPU 1: the driver has 1"):
        Device(Driver(Library()), 1)


def test_out_of_memory_says_so() -> None:
    library = Library()
    device = Device(Driver(library))
    library.failures["cuMemAllocAsync"] = 2
    with pytest.raises(DriverError, match="CUDA_ERROR_OUT_OF_MEMORY") as error:
        device.allocate(1 << 40)
    assert error.value.hint is not None
    library.failures.clear()
    device.free(device.allocate(100))


@pytest.mark.parametrize(
    ("rows", "length", "grid"),
    [(0, 9, None), (100_000, 1, (391, (1, 256))), (100_000, 128, (12_500, (32, 8))), (10, 1 << 20, (10, (512, 1)))],
)
def test_groups_follow_from_rows_and_their_length(rows: int, length: int, grid: object) -> None:
    assert grid_of(Shape.GROUPS, [rows, length], 1000) == grid


H200 = Gpu((9, 0), 132, 1.98e9, 4.8e12, 232_448)
A100 = Gpu((8, 0), 108, 1.41e9, 1.6e12, 166_912)


def plan_of(batch: int, rows: int, columns: int, depth: int, dtype: DType = DType.FLOAT32, gpu: Gpu = H200) -> Plan:
    """The plan of a product of matrices on a GPU."""
    axes = [Var(name, size) for name, size in zip("bmnk", (batch, rows, columns, depth), strict=True)]
    operands = []
    for name, (outer, inner) in {"x": (axes[1], axes[3]), "w": (axes[3], axes[2])}.items():
        terms = ((axes[0], outer.extent * inner.extent), (outer, inner.extent), (inner, 1))
        buffer = Buffer(name, dtype, batch * outer.extent * inner.extent)
        operands.append(Load(dtype, buffer, Index(terms)))
    b, m, n, k = ((axis,) for axis in axes)
    left, right = operands
    product = Contraction(DType.FLOAT32, b, m, n, k, left, right, ())
    return cheapest(Sized(product, (left.buffer, right.buffer), size_of, gpu), gpu_target(*gpu.capability))


def size_of(dim: Dim) -> int:
    assert isinstance(dim, int)
    return dim


def test_tiles_of_products_follow_from_their_sizes() -> None:
    assert not plan_of(1, 0, 5, 5).steps
    (step,) = plan_of(1, 4096, 4096, 4096).steps
    assert (step.function, step.grid) == ("thirds128x128", (132, 1, 1))
    few, finish = plan_of(1, 16, 4096, 4096, gpu=A100).steps
    assert few.grid[1] > 1
    assert (finish.function, finish.scalars) == ("finish", (few.grid[1],))


@pytest.mark.parametrize(
    ("rows", "columns", "depth", "name"),
    [
        (128, 768, 768, "wgmma64x64"),
        (128, 768, 3072, "wgmma64x64by4"),
        (49, 512, 4608, "wgmma64x64by8"),
        (4096, 3072, 768, "wgmma128x128turns"),
        (12544, 256, 2304, "wgmma192x128"),
        (4096, 4096, 4096, "wgmma128x256"),
    ],
)
def test_tiles_of_halves_are_those_that_were_the_fastest(rows: int, columns: int, depth: int, name: str) -> None:
    (step,) = plan_of(1, rows, columns, depth, DType.FLOAT16).steps
    assert step.function == name


def test_sums_of_nothing_are_those_of_a_function_that_walks_no_axes() -> None:
    (step,) = plan_of(64, 3136, 256, 0, gpu=A100).steps
    assert step.function == "large", "steps along several axes, of which one has no places, would never end"


def test_no_more_partial_sums_than_there_is_memory_for() -> None:
    for step in plan_of(1, 600, 600, 1 << 16, gpu=A100).steps:
        assert step.grid[1] * 600 * 600 <= SPLIT_ELEMENTS


@emulated
def test_functions_are_compiled_when_sizes_need_them_first() -> None:
    compiled: list[str] = []

    class Recorder(Emulated):
        def emit(self, scheduled: Scheduled, _: bool, /) -> Mapping[Kernel, EmittedKernel]:
            emitted = super().emit(scheduled, _)
            compiled.extend(name for kernel in emitted.values() for name in kernel.begun)
            return emitted

    provider = Recorder()
    text = graph("float[m, 64] x, float[64, 80] w", "y = MatMul (x, w)")
    session = Session(ingot.parse_model(text), providers=(provider, "reference"), fallback=False)
    w = normal(64, 80)
    for rows in (1, 1, 700):
        loaded = provider.library.calls.count("cuModuleLoadDataEx")
        x = normal(rows, 64)
        np.testing.assert_allclose(session.run(None, {"x": x, "w": w})[0], x @ w, 1e-4, 1e-4)
    assert compiled
    assert all(name.startswith(("singles", "finish", "rows")) for name in compiled)
    assert provider.library.calls.count("cuModuleLoadDataEx") == loaded + 1
    loaded += 1
    session.run(None, {"x": normal(720, 64), "w": w})
    assert provider.library.calls.count("cuModuleLoadDataEx") == loaded, "another size, and nothing to compile"


class Kept(Emulated):
    """An emulated GPU whose plans are kept in files."""

    fingerprint = "emulated"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("ingot.providers.cuda.code.loaded_from", partial(loaded_from, compiled=as_text))
    return tmp_path


def kept(path: Path, text: str, *runs: dict[str, Array]) -> None:
    """Open a model in a file, run it, and wait until its plan is kept."""
    path.write_bytes(ingot.encode(ingot.parse_model(text)))
    session = Session(path, providers=(Kept(), "reference"), fallback=False)
    for feeds in runs:
        session.run(None, feeds)
    for thread in threading.enumerate():
        if thread.name == "ingot-keep":
            thread.join()


PRODUCT = f"""{HEAD} g (float[n, 6] x) => (float[n, 5] y) <float[6, 5] w = {{{", ".join(map(str, range(30)))}}}> {{
    t = MatMul (x, w) y = Relu (t)
}}"""


@emulated
def test_a_plan_file_has_the_kernels_and_the_constants_of_a_gpu(cache: Path) -> None:
    kept(cache / "model.onnx", PRODUCT, {"x": normal(3, 6)})
    provider = Kept()
    session = Session(cache / "model.onnx", providers=(provider, "reference"), fallback=False)
    assert session._plans.artifacts is None, "it was not compiled"
    for rows in (3, 3, 3, 4, 200, 3):  # other sizes need other launches, and the compiler
        feeds = {"x": normal(rows, 6)}
        np.testing.assert_allclose(session.run(None, feeds)[0], expected(PRODUCT, feeds)[0], 1e-4)
    del session
    gc.collect()
    assert provider.memory.used == 0


@emulated
def test_loops_and_branches_are_kept_in_plan_files(cache: Path) -> None:
    feeds = [{"x": np.array([0.5, 1], np.float32), "trips": np.array(3)}, {"x": normal(2), "c": np.array(True)}]
    for number, (text, own) in enumerate(zip((LOOP, BRANCH), feeds, strict=True)):
        path = cache / f"{number}.onnx"
        kept(path, text, own)
        session = Session(path, providers=(Kept(), "reference"), fallback=False)
        assert session._plans.artifacts is None
        for result, wanted in zip(session.run(None, own), expected(text, own), strict=True):
            np.testing.assert_allclose(result, wanted, 1e-5)


def opened(text: str, provider: Emulated | None = None) -> Session:
    return Session(ingot.parse_model(text), providers=(provider or Emulated(), "reference"), fallback=False)


class Foreign:
    """A tensor of another library on the emulated GPU, which speaks DLPack or the interface of CUDA's arrays."""

    def __init__(self, array: Array, provider: Emulated, number: int = 0) -> None:
        self.own, self.number = DeviceArray.of(array, provider.memory), number
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number

    def __dlpack__(self, **options: Any) -> object:
        self.streams.append(options.get("stream"))
        return self.own.__dlpack__(**options)


@emulated
@pytest.mark.parametrize("rows", [3, 40_000])
def test_a_run_that_ran_before_is_one_launch(rows: int) -> None:
    provider = Emulated()
    session = opened(graph("float[n, m] x, float[m] w", "t = Mul (x, w) y = Softmax (t)"), provider)
    calls = provider.library.calls
    for number in range(4):
        feeds = {"x": normal(rows, 9) + number, "w": normal(9)}
        calls.clear()
        np.testing.assert_allclose(session.run(None, feeds)[0], _softmax(feeds["x"] * feeds["w"]), 1e-4)
    assert calls.count("cuGraphLaunch") == 1
    assert not calls.count("cuLaunchKernel")
    assert calls.count("cuStreamSynchronize") == 1
    assert calls.count("cuMemcpyDtoHAsync_v2") == (rows > 10_000), "a large result is written where it is returned"


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    result: Array = e / e.sum(-1, keepdims=True)
    return result


@emulated
def test_a_graph_is_updated_where_memory_has_moved() -> None:
    provider = Emulated()
    session = opened(graph("float[n, m] x", "t = Softmax (x) u = Transpose (t) y = Softmax (u)"), provider)
    small, large = {"x": normal(4, 5)}, {"x": normal(400, 50)}
    for feeds in (small, small, large, large):
        session.run(None, feeds)
    provider.library.calls.clear()
    result = session.run(None, small)[0]
    np.testing.assert_allclose(result, _softmax(_softmax(small["x"]).T), 1e-4)
    assert provider.library.calls.count("cuGraphExecUpdate_v2") == 1
    assert not provider.library.calls.count("cuGraphInstantiateWithFlags")


@emulated
def test_tensors_on_the_device_are_read_and_returned_there() -> None:
    provider = Emulated()
    session = opened(graph("float[n] x, float[n] w", "y = Mul (x, w)"), provider)
    x, w, calls = normal(9), normal(9) + 1, provider.library.calls
    session.run(None, {"x": x, "w": w})
    for number in range(5):
        foreign = Foreign(x + number, provider)
        calls.clear()
        (result,) = session.run(None, {"x": foreign, "w": w}, placement="device")
        assert isinstance(result, DeviceArray)
        assert foreign.streams == [provider.memory.stream], "what others do with it is waited for"
        assert not {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2"}.intersection(calls)
        np.testing.assert_allclose(result.numpy(), (x + number) * w, 1e-6)
        (again,) = session.run(None, {"x": result, "w": np.ones_like(w)})
        np.testing.assert_allclose(again, result.numpy(), 1e-6)


@emulated
def test_a_tensor_at_the_same_address_is_not_copied() -> None:
    provider = Emulated()
    session = opened(graph("float[n] x", "y = Exp (x)"), provider)
    own = DeviceArray.of(normal(9), provider.memory)
    for _ in range(3):
        session.run(None, {"x": normal(9)})
        np.testing.assert_allclose(session.run(None, {"x": own})[0], np.exp(normal(9)), 1e-5)
    copies: list[Any] = []
    provider.memory.copy = copies.append  # type: ignore[method-assign, assignment]
    session.run(None, {"x": own})
    assert not copies


@emulated
def test_tensors_on_the_device_run_in_any_session() -> None:
    provider = Emulated()
    x = DeviceArray.of(normal(4), provider.memory)
    for text in (MIXED, graph("float[n] x", "y = Identity (x)"), graph("float[n] x", "y = Exp (x)")):
        own = DeviceArray.of(normal(2, 4), provider.memory) if text is MIXED else x
        session = opened(text, provider)
        for _ in range(3):
            result = session.run(None, {"x": own}, placement="device")[0]
            np.testing.assert_allclose(result.numpy(), expected(text, {"x": own.numpy()})[0], 1e-4)


@emulated
def test_what_is_exported_lives_as_long_as_what_took_it() -> None:
    provider = Emulated()
    array = DeviceArray.of(normal(3, 4), provider.memory)
    assert array.__cuda_array_interface__["data"] == (array.address, False)
    capsule, address = array.__dlpack__(stream=None), array.address
    del array
    gc.collect()
    assert address in provider.library.allocated
    taken = imported(Capsule(capsule), provider.memory, 0)
    np.testing.assert_array_equal(taken.numpy(), normal(3, 4))
    del taken, capsule
    gc.collect()
    provider.memory.release_free()
    assert address not in provider.library.allocated
    assert "cuCtxSynchronize" in provider.library.calls


@emulated
def test_what_is_exported_is_a_copy_where_one_is_wanted_and_stays_on_its_device() -> None:
    memory = Emulated().memory
    array = DeviceArray.of(normal(3, 4), memory)
    for copy, is_same in ((True, False), (False, True), (None, True)):
        capsule = array.__dlpack__(stream=None, max_version=(1, 0), dl_device=(2, 0), copy=copy)
        taken = imported(Capsule(capsule), memory, 0)
        assert (taken.address == array.address) is is_same
        np.testing.assert_array_equal(taken.numpy(), normal(3, 4))
    with pytest.raises(BufferError, match="on a device"):
        array.__dlpack__(stream=None, dl_device=(1, 0))


class Capsule:
    """A tensor that has only this capsule."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, stream: int | None = None) -> object:
        return self.capsule


@emulated
def test_a_tensor_elsewhere_is_no_input_and_results_need_a_device() -> None:
    provider = Emulated(Library(devices=2))
    session = opened(graph("float[n] x", "y = Exp (x)"), provider)
    with pytest.raises(InputError, match="numpy cannot take the memory"):
        session.run(None, {"x": Foreign(normal(3), provider, number=1)})
    host = Session(ingot.parse_model(graph("float[n] x", "y = Exp (x)")), providers=("reference",))
    with pytest.raises(InputError, match="no device to place results on"):
        host.run(None, {"x": normal(3)}, placement="device")
    with pytest.raises(InputError, match="there is no placement 'gpu'"):
        host.run(None, {"x": normal(3)}, placement="gpu")  # type: ignore[arg-type]


@emulated
def test_threads_run_one_session_with_sizes_and_placements_of_their_own() -> None:
    session = opened(graph("float[n, m] x", "t = Exp (x) y = Softmax (t)"))
    wrong: list[int] = []

    def run(own: int) -> None:
        for turn in range(12):
            x = normal(1 + (own + turn) % 3, 5) + own
            (result,) = session.run(None, {"x": x}, placement="device" if turn % 2 else "host")
            if not np.allclose(np.asarray(result), _softmax(np.exp(x)), 1e-4):
                wrong.append(own)

    threads = [threading.Thread(target=run, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@emulated
def test_strings_stay_on_the_host() -> None:
    text = f"{HEAD} g (string[n] s, float[n] x) => (t, y) {{ t = StringConcat (s, s) y = Exp (x) }}"
    session = Session(ingot.parse_model(text), providers=(Emulated(), "reference"))
    feeds = {"s": np.array(["a", "bc"], object), "x": normal(2)}
    for _ in range(2):
        strings, numbers = session.run(None, feeds, placement="device")
        np.testing.assert_array_equal(strings, ["aa", "bcbc"])
        assert isinstance(numbers, DeviceArray)


@emulated
def test_memory_is_flat_over_runs_of_random_sizes() -> None:
    provider, random = Emulated(), np.random.default_rng(0)
    session = opened(graph("float[n, m] x", "t = Exp (x) y = Softmax (t)"), provider)
    blocks = []
    for _ in range(4):
        for _ in range(60):
            x = random.standard_normal(random.integers(1, 12, 2), np.float32)
            np.testing.assert_allclose(session.run(None, {"x": x})[0], _softmax(np.exp(x)), 1e-4)
        gc.collect()
        blocks.append((len(provider.library.allocated), len(provider.library.live)))
    assert blocks[-1][0] <= blocks[0][0] + 4
    assert blocks[-1][1] <= blocks[0][1] + 16


@emulated
def test_what_the_gpu_refuses_is_compiled_for_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""{HEAD} g (float[n, m] x) => (y, i) {{
        k = Constant <value_ints = [2]> () t = Exp (x) y, i = TopK (t, k)
    }}"""
    session = Session(ingot.parse_model(text), providers=(Emulated(), "cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert len(session.compiled.program.calls) == 1
    (operator,) = (own for own in session.catalog.versions("", "TopK")[-1:])
    monkeypatch.setattr(type(operator), "evaluate", None)  # the reference is not asked
    for rows in (3, 3, 4):
        feeds = {"x": normal(rows, 9)}
        values, places = session.run(None, feeds)
        order = np.argsort(-feeds["x"], axis=-1)[:, :2]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_allclose(values, np.exp(np.take_along_axis(feeds["x"], order, -1)), 1e-5)


@emulated
def test_what_nobody_compiles_is_left_to_the_reference() -> None:
    text = f"{HEAD} g (float[n] x) => (y) {{ t = Exp (x) s = Cast <to = 8> (t) y = StringConcat (s, s) }}"
    session = Session(ingot.parse_model(text), providers=(Emulated(), "cpu", "reference"), fallback=False)
    (result,) = session.run(None, {"x": np.zeros(2, np.float32)})
    assert result.tolist() == expected(text, {"x": np.zeros(2, np.float32)})[0].tolist()


@emulated
def test_what_a_loop_collects_is_stored_in_its_own_type_although_all_who_read_it_round_it() -> None:
    text = f"""{HEAD} g (float[3, 4] x) => (float16[3, 4] y) {{
        zeros = Constant <value = float[4] {{0, 0, 0, 0}}> ()
        s, rows = Scan <num_scan_inputs = 1, body = b (float[4] p, float[4] r) => (float[4] q, float[4] o) {{
            q = Add (p, r) o = Exp (q)
        }}> (zeros, x)
        h = Cast <to = 10> (rows) y = Neg (h)
    }}"""
    check(text, {"x": normal(3, 4)}, rtol=1e-3)


@emulated
def test_what_has_no_elements_is_not_copied_and_what_is_beside_it_is() -> None:
    provider = Emulated()
    session = opened(graph("float[n] x, float w", "y = Mul (x, w)"), provider)
    w = np.float32(2)
    for count in (0, 0, 3, 0):
        feeds = {"x": np.ones(count, np.float32), "w": w}
        assert session.run(None, feeds)[0].tolist() == [2] * count
        assert session.run(None, feeds, placement="device")[0].numpy().tolist() == [2] * count
    assert DeviceArray.of(np.zeros((0, 3), np.float32), provider.memory).numpy().shape == (0, 3)


@emulated
def test_what_is_timed_is_launched_while_the_gpu_is_busy() -> None:
    provider = Emulated()
    provider.library.calls.clear()
    assert provider.memory.seconds(lambda: provider.library.calls.append("begun"), 1) == 0.25e-3
    calls = [call for call in provider.library.calls if call in ("cuLaunchKernel", "cuEventRecord", "begun")]
    assert calls == ["cuLaunchKernel", "cuEventRecord", "begun", "cuEventRecord"]


@emulated
def test_large_arrays_go_through_pinned_memory_a_piece_at_a_time() -> None:
    provider = Emulated()
    memory, array = provider.memory, np.random.default_rng(0).integers(0, 255, (9 << 20) + 5, np.uint8)
    own = DeviceArray.of(array, memory)
    np.testing.assert_array_equal(own.numpy(), array)
    assert provider.library.calls.count("cuMemcpyHtoDAsync_v2") == 5
    assert "cuMemHostRegister_v2" not in provider.library.calls, "others may use the array meanwhile"
    threads = [threading.Thread(target=DeviceArray.of, args=(array, memory)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    provider.library.calls.clear()
    memory.upload_own(array, own.address)
    np.testing.assert_array_equal(own.numpy(), array)
    assert (
        provider.library.calls.count("cuMemHostRegister_v2") == provider.library.calls.count("cuMemHostUnregister") == 1
    )


@emulated
def test_memory_that_is_free_is_given_back_where_there_is_too_little() -> None:
    provider = Emulated(most_bytes=1 << 20)
    memory = provider.memory
    memory.free(memory.allocate(600_000))
    first = memory.allocate(900_000)
    with pytest.raises(ProviderError, match="exceed the limit"):
        memory.allocate(600_000)
    memory.free(first)
    other = Emulated().memory
    other.free(other.allocate(1000))
    library = other.driver._library
    library.failures["cuMemAllocAsync"] = 2
    with pytest.raises(DriverError, match="OUT_OF_MEMORY"):
        other.allocate(2000)
    assert not library.allocated
    library.failures.clear()
    other.free(other.allocate(2000))


@emulated
def test_a_gpu_that_is_lost_says_so_and_its_memory_is_forgotten() -> None:
    provider = Emulated()
    session = opened(graph("float[n] x", "y = Exp (x)"), provider)
    session.run(None, {"x": normal(5)})
    provider.library.failures.update(dict.fromkeys(("cuStreamSynchronize", "cuMemFreeAsync", "cuMemFreeHost"), 719))
    with pytest.raises(DriverError, match="CUDA_ERROR_LAUNCH_FAILED") as error:
        session.run(None, {"x": normal(5)})
    assert error.value.hint == "the GPU is lost for this process: start it again"
    assert error.value.is_lost
    del session
    gc.collect()


@emulated
def test_what_runs_on_the_gpu_is_explained_and_timed_by_events() -> None:
    text = f"{HEAD} g (float[n, m] x) => (y, i) {{ k = Constant <value_ints = [2]> () t = Exp (x) y, i = TopK (t, k) }}"
    session = Session(ingot.parse_model(text), providers=(Emulated(), "cpu", "reference"), fallback=False)
    compiled = session.compiled
    assert compiled is not None
    trace = traced(compiled)
    times = measured(session, trace, {"x": normal(3, 4)}, 0.01)
    assert times.provider == "cuda"
    assert times.limits is not None
    assert [step.seconds for step in times.steps if step.kernel is not None] == [0.25e-3], "as the events say"
    entry = explained(compiled, trace, {}, times, session)
    assert entry.provider == "cuda"
    assert {node.operator: node.provider for node in entry.nodes if node.provider} == {"Exp": "cuda", "TopK": "cpu"}
    assert [copy.to for copy in entry.copies] == ["device", "host"]


def test_commands_look_into_what_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiling_providers() == DEFAULT
    monkeypatch.setenv("INGOT_PROVIDERS", "cuda, cpu,reference")
    assert compiling_providers() == ("cuda", "cpu", "reference")
    monkeypatch.setenv("INGOT_PROVIDERS", "reference")
    assert compiling_providers() == DEFAULT


COUNTED = f"""{HEAD} g (float[n, 3] x) => (float[m] y) {{
    five = Constant <value = int64 {{5}}> ()
    yes = Constant <value = bool {{1}}> ()
    zeros = Constant <value = float[3] {{0, 0, 0}}> ()
    y = Loop (five, yes, zeros) <body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] t) {{
        c2 = Constant <value = bool {{1}}> ()
        row = Gather (x, i) e = Exp (row) n = ReduceSum (e) u = Div (e, n) t = Add (s, u)
    }}>
}}"""


@emulated
def test_a_loop_that_only_sizes_decide_on_is_one_launch() -> None:
    provider = Emulated()
    session = opened(COUNTED, provider)
    assert session.compiled is not None
    assert any(isinstance(step, Jump) for step in session.compiled.plan.segments[0].steps)
    for number in range(5):
        feeds = {"x": normal(5, 3) + number}
        provider.library.calls.clear()
        on_device = DeviceArray.of(feeds["x"], provider.memory)
        for own in (feeds, {"x": on_device}):
            np.testing.assert_allclose(session.run(None, own)[0], expected(COUNTED, feeds)[0], 1e-5)
    assert provider.library.calls.count("cuGraphLaunch") == 2
    assert provider.library.calls.count("cuLaunchKernel") == 1, "a copy of what is on the device"


@emulated
def test_a_recurrent_network_is_one_launch() -> None:
    text = f"""{HEAD} g (float[7, b, 4] x, float[1, 24, 4] w, float[1, 24, 6] r) => (y, h, c) {{
        y, h, c = LSTM <hidden_size = 6> (x, w, r)
    }}"""
    provider = Emulated()
    session = opened(text, provider)
    feeds = {"x": normal(7, 2, 4), "w": normal(1, 24, 4), "r": normal(1, 24, 6)}
    for _ in range(4):
        provider.library.calls.clear()
        for result, own in zip(session.run(None, feeds), expected(text, feeds), strict=True):
            np.testing.assert_allclose(result, own, 1e-4, 1e-6)
    assert provider.library.calls.count("cuGraphLaunch") == 1
    assert not provider.library.calls.count("cuLaunchKernel")


@emulated
def test_loops_of_many_trips_are_not_captured() -> None:
    device, launches = Emulated().memory, 0
    function = device.copy_function

    def begin() -> None:
        nonlocal launches
        for _ in range(20_000):
            launches += 1
            device.launch(function, (1, 0, 1), (1, 1), [0])

    assert device.capture(begin) is None
    assert launches == 1 + (1 << 14)
    device.finish()


@emulated
def test_a_run_is_cancelled_and_its_deadline_is_kept() -> None:
    session = opened(graph("float[n] x", "y = Exp (x)"))
    feeds, cancel = {"x": normal(9)}, Cancel()
    for _ in range(3):
        session.run(None, feeds, deadline=60)
    cancel.cancel()
    with pytest.raises(Interrupted):
        session.run(None, feeds, cancel=cancel)
    with pytest.raises(Interrupted):
        session.run(None, feeds, deadline=0)
    np.testing.assert_allclose(session.run(None, feeds)[0], np.exp(normal(9)), 1e-5)


@emulated
def test_out_of_memory_ends_the_run_and_not_the_session() -> None:
    provider = Emulated()
    session = opened(graph("float[n, m] x", "t = Softmax (x) u = Transpose (t) y = Softmax (u)"), provider)
    for _ in range(3):
        session.run(None, {"x": normal(4, 5)})
    for _ in range(3):
        provider.library.failures["cuMemAllocAsync"] = 2
        with pytest.raises(DriverError, match="OUT_OF_MEMORY"):
            session.run(None, {"x": normal(400, 500)})
        provider.library.failures.clear()
        np.testing.assert_allclose(session.run(None, {"x": normal(4, 5)})[0], _softmax(_softmax(normal(4, 5)).T), 1e-4)
