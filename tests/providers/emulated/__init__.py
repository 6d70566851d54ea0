"""A GPU that is emulated: the driver's functions in Python, and kernels as LLVM compiles them for this processor.

Blocks run one after another, their threads as coroutines (`machine.c`), so that barriers and shuffles mean what they
mean on a GPU. A kernel is loaded as LLVM IR instead of PTX.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ingot.codegen.elf import LinkedCode
from ingot.codegen.executable_memory import Code
from ingot.codegen.llvm.kernel import Emitted
from ingot.codegen.llvm.make import facts, machine_for
from ingot.codegen.llvm.templates import PendingTemplate, Template
from ingot.loops.ir import Kernel, kernels_in
from ingot.providers.cuda import Cuda
from ingot.providers.cuda.code import EmittedKernel, emit_kernels
from ingot.providers.cuda.driver import Driver
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target

HAS_COMPILER = shutil.which("cc") is not None

_REGISTERS = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
_INVALID_HANDLE = 400
_NAMES = {
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    _INVALID_HANDLE: b"CUDA_ERROR_INVALID_HANDLE",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    901: b"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
}
_ATTRIBUTES = {13: 1_980_000, 16: 4, 36: 3_201_000, 37: 6144, 75: 9, 76: 0, 97: 232_448}


class Emulated(Cuda):
    """The provider on an emulated GPU."""

    def __init__(self, library: Library | None = None, most_bytes: int | None = None, number: int = 0) -> None:
        self.library = library or Library()
        super().__init__(number, most_bytes, Driver(self.library))

    def emit(self, scheduled: Scheduled, _: bool, /) -> Mapping[Kernel, EmittedKernel]:
        return emit_kernels(kernels_in(scheduled.steps), self.target, self.memory, _as_text)


def _as_text(_digest: str, _target: Target, emit: Callable[[], Emitted], /) -> PendingTemplate:
    """A function as LLVM IR, which the emulated driver loads."""
    pending, emitted = PendingTemplate(), emit()
    pending.settle(Template(Code({}, None, LinkedCode(emitted.text.encode(), {})), emitted.sizes))
    return pending


class Library:
    """What `libcuda` would be: its functions return a number, which is zero unless it is in `failures`."""

    def __init__(self, devices: int = 1) -> None:
        self.devices = devices
        self.failures: dict[str, int] = {}
        self.calls: list[str] = []
        self.launched: list[str] = []
        self.allocated: dict[int, Any] = {}
        self.live: set[tuple[str, int]] = set()
        """Streams, graphs and captures that were created and not destroyed, each by its kind and number."""
        self._handles: list[Any] = []
        self._current = threading.local()
        self._capturing: list[Callable[[], int]] | None = None

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cu"):
            raise AttributeError(name)
        own: Callable[..., int] = getattr(type(self), f"do_{name}", lambda *_: 0)
        return partial(self._called, name, own)

    def _called(self, name: str, own: Callable[..., int], *arguments: Any) -> int:
        self.calls.append(name)
        code = self.failures.get(name, 0)
        return code or own(self, *arguments) or 0

    def _handle(self, out: Any, thing: Any, kind: str | None = None) -> None:
        self._handles.append(thing)
        out._obj.value = len(self._handles)
        if kind is not None:
            self.live.add((kind, len(self._handles)))

    def _is_elsewhere(self, stream: int) -> bool:
        """Whether a stream is of another context than the current one, where nothing can be launched on it."""
        return bool(self._handles[stream - 1] != getattr(self._current, "context", None))

    def do_cuGetErrorName(self, code: int, out: Any) -> None:
        out._obj.value = _NAMES.get(code)

    def do_cuDriverGetVersion(self, out: Any) -> None:
        out._obj.value = 12_080

    def do_cuDeviceGetCount(self, out: Any) -> None:
        out._obj.value = self.devices

    def do_cuDeviceGetName(self, out: Any, _size: int, _device: int) -> None:
        out.value = b"emulated"

    def do_cuDeviceTotalMem_v2(self, out: Any, _device: int) -> None:
        out._obj.value = 1 << 30

    def do_cuDeviceGetAttribute(self, out: Any, which: int, _device: int) -> None:
        out._obj.value = _ATTRIBUTES[which]

    def do_cuDevicePrimaryCtxRetain(self, out: Any, _device: int) -> None:
        self._handle(out, "context")

    def do_cuCtxSetCurrent(self, context: int) -> None:
        self._current.context = context

    def do_cuStreamCreate(self, out: Any, _flags: int) -> None:
        self._handle(out, self._current.context, "stream")

    def do_cuStreamDestroy_v2(self, stream: int) -> None:
        self.live.remove(("stream", stream))

    def do_cuMemAllocAsync(self, out: Any, size: int, _stream: int) -> None:
        memory = np.full(size + 256, 0xA5, np.uint8)
        address = -(-memory.ctypes.data // 256) * 256
        self.allocated[address] = memory
        out._obj.value = address

    def do_cuMemHostAlloc(self, out: Any, size: int, _flags: int) -> None:
        self.do_cuMemAllocAsync(out, size, 0)

    def do_cuMemFreeAsync(self, address: int, _stream: int) -> None:
        del self.allocated[address]

    def do_cuMemFreeHost(self, address: int) -> None:
        del self.allocated[address]

    def do_cuMemcpyHtoDAsync_v2(self, to: int, source: int, size: int, _stream: int) -> None:
        ctypes.memmove(to, source, size)

    def do_cuMemcpyDtoHAsync_v2(self, to: int, source: int, size: int, _stream: int) -> None:
        ctypes.memmove(to, source, size)

    def do_cuModuleLoadDataEx(self, out: Any, image: bytes, *_: Any) -> None:
        self._handle(out, loaded(image.rstrip(b"\0").decode()))

    def do_cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> None:
        self._handle(out, (name.decode(), self._handles[module - 1]))

    def do_cuLaunchKernel(self, function: int, *rest: Any) -> int:
        name, module = self._handles[function - 1]
        grid, block, stream, arguments = rest[:3], rest[3:6], rest[7], rest[8]
        if self._is_elsewhere(stream):
            return _INVALID_HANDLE
        held = [ctypes.c_uint64.from_address(address).value for address in arguments]
        launch = partial(_launch, module, name, grid, block, held)
        self.launched.append(name)
        if self._capturing is not None:
            self._capturing.append(launch)
            return 0
        return launch()

    def do_cuStreamBeginCapture_v2(self, _stream: int, _mode: int) -> None:
        self._capturing = []

    def do_cuStreamEndCapture(self, _stream: int, out: Any) -> None:
        self._handle(out, self._capturing, "graph")
        self._capturing = None

    def do_cuGraphDestroy(self, graph: int) -> None:
        self.live.remove(("graph", graph))

    def do_cuGraphInstantiateWithFlags(self, out: Any, graph: int, _flags: int) -> None:
        self._handle(out, self._handles[graph - 1], "launchable")

    def do_cuGraphExecDestroy(self, graph: int) -> None:
        self.live.remove(("launchable", graph))

    def do_cuGraphLaunch(self, graph: int, stream: int) -> int:
        if self._is_elsewhere(stream):
            return _INVALID_HANDLE
        return max((launch() for launch in self._handles[graph - 1]), default=0)


def _launch(module: Any, name: str, grid: tuple[int, ...], block: tuple[int, ...], held: list[int]) -> int:
    values = (ctypes.c_uint64 * len(held))(*held)
    start = ctypes.addressof(values)
    addresses = (ctypes.c_void_p * len(held))(*range(start, start + 8 * len(held), 8))
    address = module.get_function_address(f"run_{name}")
    code = machine().emulated_launch(
        ctypes.c_void_p(address), addresses, (ctypes.c_int * 3)(*grid), (ctypes.c_int * 3)(*block)
    )
    assert code == 0, f"threads of a block of {name} took different ways through barriers"
    return 0


_LOADING = threading.RLock()
"""Held while the emulator or a kernel is loaded, which several threads ask for: two emulators would share no state."""


def machine() -> Any:
    """The emulator, compiled once."""
    with _LOADING:
        return _machine()


@cache
def _machine() -> Any:
    folder = tempfile.mkdtemp()
    path = Path(folder) / "machine.so"
    source = Path(__file__).with_name("machine.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, source], check=True)
    library = ctypes.CDLL(str(path))
    for name in ("register", "barrier", "exchange", "multiply", "copied", "bfloat_pair", "four_matrices"):
        address = ctypes.cast(getattr(library, f"emulated_{name}"), ctypes.c_void_p).value
        llvm.add_symbol(f"emulated_{name}", address)
    return library


def loaded(text: str) -> Any:
    """A module of kernels for this processor, with a function `run_…` for each, that takes its arguments by address."""
    with _LOADING:
        return _loaded(text)


@cache
def _loaded(text: str) -> Any:
    machine()
    triple, cpu, features, _ = facts()
    module = llvm.parse_assembly(for_host(text))
    target = machine_for(triple, cpu, features, anywhere=False)
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(module, builder)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine


def for_host(text: str) -> str:
    """The LLVM IR of kernels for a GPU as functions of the host."""
    text = re.sub(r'target triple = ".*"\n', "", text)
    text = re.sub(r"^(declare .*llvm\.nvvm\..*|!nvvm.*|!10\d\d .*)\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'addrspacecast \(ptr addrspace\(3\) (@"\w+") to ptr\)', r"\1", text)
    text = re.sub(r"addrspacecast ptr (.*) to ptr addrspace\([13]\)", r"bitcast ptr \1 to ptr", text)
    text = re.sub(r" addrspace\([13]\)", "", text)
    text = text.replace("external global [0 x i8]", f"internal global [{_SHARED_BYTES} x i8] undef")
    for number, register in enumerate(_REGISTERS):
        call = f'@"llvm.nvvm.read.ptx.sreg.{register}"()'
        text = text.replace(call, f"@emulated_register(ptr %own, i32 {number})")
    text = text.replace('@"llvm.nvvm.barrier0"()', "@emulated_barrier(ptr %own)")
    text = text.replace('@"llvm.nvvm.shfl.sync.bfly.i32"(', "@emulated_exchange(ptr %own, ")
    for name, own in _INTRINSICS.items():
        text = text.replace(f'@"llvm.nvvm.{name}"(', f"@emulated_{own}(ptr %own, ").replace("%own, )", "%own)")
    for name, kind in (("f32.f32", "f16"), ("bf16", "bf16")):
        text = text.replace(f'@"llvm.nvvm.mma.m16n8k16.row.col.{name}"(', f"@emulated_{kind}(ptr %own, ")
    wrappers = []
    for name, parameters in re.findall(r'define ptx_kernel void @"(\w+)"\((.*)\) \{', text):
        kinds = [parameter.split()[0] for parameter in parameters.split(", ")]
        lines = [f'define void @"run_{name}"(ptr %arguments, ptr %own) {{']
        for number, kind in enumerate(kinds):
            lines += [
                f"  %p{number} = getelementptr ptr, ptr %arguments, i64 {number}",
                f"  %q{number} = load ptr, ptr %p{number}",
                f"  %a{number} = load {kind}, ptr %q{number}",
            ]
        passed = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(kinds))
        wrappers.append("\n".join([*lines, f'  call void @"{name}"({passed}, ptr %own)', "  ret void", "}", ""]))
    text = re.sub(r'define ptx_kernel void (@"\w+")\((.*)\) \{', r"define void \1(\2, ptr %own) {", text)
    declared = [
        "declare i32 @emulated_register(ptr, i32)",
        "declare void @emulated_barrier(ptr)",
        "declare i32 @emulated_exchange(ptr, i32, i32, i32, i32)",
        "declare void @emulated_multiply(ptr, ptr, ptr, i32)",
        *_COPIES.splitlines(),
        *_matrices().splitlines(),
        _multiply("f16", "<2 x half>", 0),
        _multiply("bf16", "i32", 1),
    ]
    return "\n".join([*declared, text, *wrappers])


_SHARED_BYTES = 232_448

_INTRINSICS = {
    "cp.async.cg.shared.global.16.s": "copy",
    "cp.async.commit.group": "nothing",
    "cp.async.wait.group": "wait",
    "bar.warp.sync": "meet",
    "ex2.approx.f": "power_of_two",
    "ff2f16x2.rn": "halves",
    "ff2bf16x2.rn": "bfloats",
    "ldmatrix.sync.aligned.m8n8.x4.b16.p3": "matrices",
    "ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3": "turned_matrices",
}
"""What stands for an intrinsic; it takes the thread as well. Copies are made at once."""

_COPIES = """
declare void @emulated_copied(ptr, ptr, i32)
declare float @llvm.exp2.f32(float)
define internal void @emulated_copy(ptr %own, ptr %to, ptr %source, i32 %count) {
  call void @emulated_copied(ptr %to, ptr %source, i32 %count)
  ret void
}
define internal void @emulated_nothing(ptr %own) {
  ret void
}
define internal void @emulated_wait(ptr %own, i32 %but) {
  ret void
}
define internal void @emulated_meet(ptr %own, i32 %mask) {
  call void @emulated_barrier(ptr %own)
  ret void
}
define internal float @emulated_power_of_two(ptr %own, float %x) {
  %power = call float @llvm.exp2.f32(float %x)
  ret float %power
}
define internal <2 x half> @emulated_halves(ptr %own, float %high, float %low) {
  %x = fptrunc float %low to half
  %y = fptrunc float %high to half
  %one = insertelement <2 x half> undef, half %x, i32 0
  %two = insertelement <2 x half> %one, half %y, i32 1
  ret <2 x half> %two
}
define internal <2 x bfloat> @emulated_bfloats(ptr %own, float %high, float %low) {
  %word = call i32 @emulated_bfloat_pair(float %high, float %low)
  %pair = bitcast i32 %word to <2 x bfloat>
  ret <2 x bfloat> %pair
}
declare i32 @emulated_bfloat_pair(float, float)
declare void @emulated_four_matrices(ptr, ptr, ptr, i32)"""


def _matrices() -> str:
    """Functions that load matrices, which have their results in memory instead."""
    four = "{i32, i32, i32, i32}"
    lines = []
    for name, is_turned in (("matrices", 0), ("turned_matrices", 1)):
        lines += [f"define internal {four} @emulated_{name}(ptr %own, ptr %row) {{", "  %words = alloca [4 x i32]"]
        lines.append(f"  call void @emulated_four_matrices(ptr %own, ptr %row, ptr %words, i32 {is_turned})")
        before = "undef"
        for number in range(4):
            lines.append(f"  %p{number} = getelementptr i32, ptr %words, i64 {number}")
            lines.append(f"  %w{number} = load i32, ptr %p{number}")
            lines.append(f"  %r{number} = insertvalue {four} {before}, i32 %w{number}, {number}")
            before = f"%r{number}"
        lines += [f"  ret {four} {before}", "}"]
    return "\n".join(lines)


def _multiply(name: str, word: str, is_bfloat: int) -> str:
    """A function like the intrinsic for tensor cores, which has its operands in memory instead."""
    words = ", ".join(f"{word} %w{number}" for number in range(6))
    sums = ", ".join(f"float %s{number}" for number in range(4))
    four = "{float, float, float, float}"
    lines = [f"define internal {four} @emulated_{name}(ptr %own, {words}, {sums}) {{"]
    lines += ["  %words = alloca [6 x i32]", "  %sums = alloca [4 x float]"]
    for number in range(6):
        lines.append(f"  %wp{number} = getelementptr i32, ptr %words, i64 {number}")
        lines.append(f"  store {word} %w{number}, ptr %wp{number}")
    for number in range(4):
        lines.append(f"  %sp{number} = getelementptr float, ptr %sums, i64 {number}")
        lines.append(f"  store float %s{number}, ptr %sp{number}")
    lines.append(f"  call void @emulated_multiply(ptr %own, ptr %words, ptr %sums, i32 {is_bfloat})")
    before = "undef"
    for number in range(4):
        lines.append(f"  %t{number} = load float, ptr %sp{number}")
        lines.append(f"  %r{number} = insertvalue {four} {before}, float %t{number}, {number}")
        before = f"%r{number}"
    return "\n".join([*lines, f"  ret {four} {before}", "}", ""])
