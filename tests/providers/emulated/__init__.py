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
from dataclasses import dataclass
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
from ingot.providers.cuda.copies import COPY
from ingot.providers.cuda.driver import Driver
from ingot.providers.cuda.timing import PAUSE
from ingot.schedule.schedule import Scheduled
from ingot.schedule.target import Target

HAS_COMPILER = shutil.which("cc") is not None

_REGISTERS = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
_INVALID_VALUE, _INVALID_HANDLE, _IS_CAPTURED = 1, 400, 900
_MAP_BYTES = 128
_PLAIN_SHARED = 48 << 10
SHARED = 97
"""The attribute that has the most shared memory of a block."""
_KERNEL = r'define ptx_kernel void @"(\w+)"\((.*)\) \{'
_NAMES = {
    2: b"CUDA_ERROR_OUT_OF_MEMORY",
    100: b"CUDA_ERROR_NO_DEVICE",
    _INVALID_HANDLE: b"CUDA_ERROR_INVALID_HANDLE",
    700: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    719: b"CUDA_ERROR_LAUNCH_FAILED",
    _IS_CAPTURED: b"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    901: b"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
}
_ATTRIBUTES = {13: 1_980_000, 16: 4, 36: 3_201_000, 37: 6144, 75: 9, 76: 0, SHARED: 232_448}
AMPERE = {75: 8, 76: 6, SHARED: 101_376}
"""What differs for a small GPU before Hopper: its capability, and the shared memory of a block."""


class Emulated(Cuda):
    """The provider on an emulated GPU, whose plans are not kept."""

    fingerprint: str | None = None

    def __init__(self, library: Library | None = None, most_bytes: int | None = None, number: int = 0) -> None:
        self.library = library or Library()
        super().__init__(number, most_bytes, Driver(self.library))

    def emit(self, scheduled: Scheduled, _: bool, /) -> Mapping[Kernel, EmittedKernel]:
        return emit_kernels(kernels_in(scheduled.steps), self.target, self.memory, as_text)


def as_text(_digest: str, _target: Target, emit: Callable[[], Emitted], /) -> PendingTemplate:
    """A function as LLVM IR, which the emulated driver loads."""
    pending, emitted = PendingTemplate(), emit()
    pending.settle(Template(Code({}, None, LinkedCode(emitted.text.encode(), {})), emitted.sizes))
    return pending


class _Thread(threading.local):
    """The current context of a thread."""

    context: int | None = None


class Library:
    """What `libcuda` would be: its functions return a number, which is zero unless it is in `failures`."""

    def __init__(self, devices: int = 1, attributes: Mapping[int, int] | None = None) -> None:
        self.devices = devices
        self.attributes = {**_ATTRIBUTES, **(attributes or {})}
        self.failures: dict[str, int] = {}
        self.calls: list[str] = []
        self.launched: list[str] = []
        self.allocated: dict[int, Any] = {}
        self.live: set[tuple[str, int]] = set()
        """Streams, graphs and captures that were created and not destroyed, each by its kind and number."""
        self.allowed: dict[int, int] = {}
        """The dynamic shared memory that functions may have, where it was set."""
        self._handles: list[Any] = []
        self._current, self._lock = _Thread(), threading.Lock()
        self._captured: dict[int, list[Callable[[], int]]] = {}
        """What is captured, by its stream."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cu"):
            raise AttributeError(name)
        own: Callable[..., int] = getattr(type(self), f"do_{name}", lambda *_: 0)
        return partial(self._called, name, own)

    def _called(self, name: str, own: Callable[..., int], *arguments: Any) -> int:
        self.calls.append(name)
        code = self.failures.get(name, 0)
        if code and name == "cuStreamEndCapture":
            del self._captured[arguments[0]]
        return code or own(self, *arguments) or 0

    def _handle(self, out: Any, thing: Any, kind: str | None = None) -> None:
        with self._lock:
            self._handles.append(thing)
            out._obj.value = number = len(self._handles)
        if kind is not None:
            self.live.add((kind, number))

    def _is_elsewhere(self, stream: int) -> bool:
        """Whether a stream is of another context than the current one, where nothing can be launched on it."""
        return bool(self._handles[stream - 1] != self._current.context)

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
        out._obj.value = self.attributes[which]

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

    def do_cuMemcpyHtoDAsync_v2(self, to: int, source: int, size: int, _stream: int) -> int:
        ctypes.memmove(to, source, size)
        return 0 if size else _INVALID_VALUE

    def do_cuMemcpyDtoHAsync_v2(self, to: int, source: int, size: int, _stream: int) -> int:
        ctypes.memmove(to, source, size)
        return 0 if size else _INVALID_VALUE

    def do_cuMemcpyAsync(self, to: int, source: int, size: int, stream: int) -> None:
        self._begin(stream, partial(_copy, [to, source, size]))

    def do_cuTensorMapEncodeTiled(
        self, out: Any, _type: int, rank: int, address: int, sizes: Any, strides: Any, box: Any, *rest: Any
    ) -> int:
        apart = list(strides)[: rank - 1]
        if any(number % 16 for number in (address, *apart)) or max(box) > 256 or not all(sizes) or rest[2] != 3:
            return _INVALID_VALUE
        fields = [address, rank, *_padded(sizes, 5), *_padded(apart, 4)]
        out._obj[: len(fields)] = fields
        (ctypes.c_int * 5).from_buffer(out._obj, 8 * len(fields))[:rank] = list(box)
        return 0

    def do_cuModuleLoadDataEx(self, out: Any, image: bytes, *_: Any) -> None:
        if image.startswith((COPY, PAUSE)):
            self._handle(out, None)
            return
        self._handle(out, loaded(image.rstrip(b"\0").decode()))

    def do_cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> None:
        self._handle(out, (name.decode(), self._handles[module - 1]))

    def do_cuFuncSetAttribute(self, function: int, _which: int, value: int) -> int:
        self.allowed[function] = value
        return _INVALID_VALUE if value > self.attributes[SHARED] else 0

    def do_cuLaunchCooperativeKernel(self, function: int, *rest: Any) -> int:
        return self.do_cuLaunchKernel(function, *rest, None, True)

    def do_cuLaunchKernel(self, function: int, *rest: Any) -> int:
        name, module = self._handles[function - 1]
        grid, block, stream, arguments = rest[:3], rest[3:6], rest[7], rest[8]
        if self._is_elsewhere(stream):
            return _INVALID_HANDLE
        if name == "pause":
            return self._begin(stream, int)
        if module is None:
            places = (ctypes.c_uint64 * (3 * grid[1])).from_address(arguments[0])
            return self._begin(stream, partial(_copy, list(places)))
        if rest[6] > self.allowed.get(function, _PLAIN_SHARED):
            return _INVALID_VALUE
        kernel = module.kernels[name]
        held = [ctypes.string_at(address, size) for address, size in zip(arguments, kernel.sizes, strict=True)]
        self.launched.append(name)
        together = grid[0] if rest[-1] is True else 0
        return self._begin(stream, partial(_launch, module, name, grid, block, held, together))

    def _begin(self, stream: int, work: Callable[[], int]) -> int:
        if stream in self._captured:
            self._captured[stream].append(work)
            return 0
        return work()

    def do_cuStreamSynchronize(self, stream: int) -> int:
        return _IS_CAPTURED if stream in self._captured else 0

    def do_cuStreamBeginCapture_v2(self, stream: int, _mode: int) -> None:
        self._captured[stream] = []

    def do_cuStreamEndCapture(self, stream: int, out: Any) -> None:
        self._handle(out, self._captured.pop(stream), "graph")

    def do_cuEventCreate(self, out: Any, _flags: int) -> None:
        self._handle(out, "event")

    def do_cuEventElapsedTime(self, out: Any, _first: int, _last: int) -> None:
        out._obj.value = 0.25

    def do_cuGraphDestroy(self, graph: int) -> None:
        self.live.remove(("graph", graph))

    def do_cuGraphInstantiateWithFlags(self, out: Any, graph: int, _flags: int) -> None:
        self._handle(out, self._handles[graph - 1], "launchable")

    def do_cuGraphExecDestroy(self, graph: int) -> None:
        self.live.remove(("launchable", graph))

    def do_cuGraphExecUpdate_v2(self, launchable: int, graph: int, _result: Any) -> None:
        self._handles[launchable - 1] = self._handles[graph - 1]

    def do_cuGraphLaunch(self, graph: int, stream: int) -> int:
        if self._is_elsewhere(stream):
            return _INVALID_HANDLE
        return max((launch() for launch in self._handles[graph - 1]), default=0)


def _copy(places: list[int]) -> int:
    for first in range(0, len(places), 3):
        ctypes.memmove(*places[first : first + 3])
    return 0


def _padded(numbers: Any, count: int) -> list[int]:
    return [*numbers, *[0] * (count - len(numbers))]


@dataclass(frozen=True)
class Loaded:
    """Kernels for this processor: functions `run_…`, which take their arguments by address."""

    engine: Any
    kernels: Mapping[str, HostKernel]


@dataclass(frozen=True)
class HostKernel:
    """The bytes of the parameters of a kernel, and the blocks of its clusters."""

    sizes: tuple[int, ...]
    cluster: int


def _launch(
    module: Loaded, name: str, grid: tuple[int, ...], block: tuple[int, ...], held: list[bytes], together: int
) -> int:
    values = [ctypes.create_string_buffer(value, len(value)) for value in held]
    addresses = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, values))
    address = module.engine.get_function_address(f"run_{name}")
    with _LAUNCHING:
        code = machine().emulated_launch(
            ctypes.c_void_p(address),
            addresses,
            (ctypes.c_int * 3)(*grid),
            (ctypes.c_int * 3)(*block),
            together or module.kernels[name].cluster,
        )
    assert code != 1, f"threads of a block of {name} wait for others that never come"
    assert code == 0, f"an instruction of {name} has operands that it may not have"
    return 0


_LOADING = threading.RLock()
"""Held while the emulator or a kernel is loaded, which several threads ask for: two emulators would share no state."""


_LAUNCHING = threading.Lock()
"""Held while a kernel runs: the emulator is one GPU."""


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
    names = (
        "register",
        "barrier",
        "exchange",
        "multiply",
        "ptx",
        "copy",
        "bfloat_pair",
        "four_matrices",
        "meet_warp",
        "commit",
        "memory",
        "wait",
    )
    for name in names:
        address = ctypes.cast(getattr(library, f"emulated_{name}"), ctypes.c_void_p).value
        llvm.add_symbol(f"emulated_{name}", address)
    return library


def loaded(text: str) -> Loaded:
    """A module of kernels for this processor."""
    with _LOADING:
        return _loaded(text)


@cache
def _loaded(text: str) -> Loaded:
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
    cluster = re.search(r'"cluster_dim_x", i32 (\d+)', text)
    kernels = {
        name: HostKernel(tuple(_MAP_BYTES if "byval" in own else 8 for own in parameters.split(", ")), blocks)
        for name, parameters in re.findall(_KERNEL, text)
        for blocks in [1 if cluster is None else int(cluster[1])]
    }
    return Loaded(engine, kernels)


def for_host(text: str) -> str:
    """The LLVM IR of kernels for a GPU as functions of the host."""
    text = re.sub(r'target triple = ".*"\n', "", text)
    text = re.sub(r'^(declare .*llvm\.nvvm\..*|!nvvm.*|!10\d\d .*|@"dynamic" = .*)\n', "", text, flags=re.MULTILINE)
    text = text.replace('ptrtoint (ptr addrspace(3) @"dynamic" to i32)', "0")
    text = text.replace('addrspacecast (ptr addrspace(3) @"dynamic" to ptr)', "%dynamic")
    text = re.sub(r'addrspacecast \(ptr addrspace\(3\) (@"\w+") to ptr\)', r"\1", text)
    text = re.sub(r"addrspacecast ptr (.*) to ptr addrspace\([13]\)", r"bitcast ptr \1 to ptr", text)
    text = re.sub(r" addrspace\([13]\)", "", text)
    for number, register in enumerate(_REGISTERS):
        call = f'@"llvm.nvvm.read.ptx.sreg.{register}"()'
        text = text.replace(call, f"@emulated_register(ptr %own, i32 {number})")
    text = text.replace('@"llvm.nvvm.barrier0"()', "@emulated_barrier(ptr %own)")
    text = text.replace('@"llvm.nvvm.shfl.sync.bfly.i32"(', "@emulated_exchange(ptr %own, ")
    for name, own in _INTRINSICS.items():
        text = text.replace(f'@"llvm.nvvm.{name}"(', f"@emulated_{own}(ptr %own, ").replace("%own, )", "%own)")
    for name, size in (("cg.shared.global.16", 16), ("ca.shared.global.8", 8), ("ca.shared.global.4", 4)):
        text = text.replace(f'@"llvm.nvvm.cp.async.{name}.s"(', f"@emulated_copy(ptr %own, i32 {size}, ")
    text = text.replace('@"llvm.nvvm.cp.async.commit.group"()', "@emulated_commit(ptr %own)")
    text = text.replace('@"llvm.nvvm.cp.async.wait.group"(', "@emulated_wait(ptr %own, ")
    for name, kind in (("f32.f32", "f16"), ("bf16", "bf16")):
        text = text.replace(f'@"llvm.nvvm.mma.m16n8k16.row.col.{name}"(', f"@emulated_{kind}(ptr %own, ")
    text, inline = _without_ptx(text)
    wrappers = []
    for name, parameters in re.findall(_KERNEL, text):
        lines, passed = [f'define void @"run_{name}"(ptr %arguments, ptr %own) {{'], []
        for number, parameter in enumerate(parameters.split(", ")):
            lines += [
                f"  %p{number} = getelementptr ptr, ptr %arguments, i64 {number}",
                f"  %q{number} = load ptr, ptr %p{number}",
            ]
            if "byval" in parameter:
                passed.append(f"ptr %q{number}")
                continue
            kind = parameter.split()[0]
            lines.append(f"  %a{number} = load {kind}, ptr %q{number}")
            passed.append(f"{kind} %a{number}")
        wrappers.append(
            "\n".join([*lines, f'  call void @"{name}"({", ".join(passed)}, ptr %own)', "  ret void", "}", ""])
        )
    text = re.sub(_KERNEL, r'define void @"\1"(\2, ptr %own) {', text).replace(" byval([128 x i8])", "")
    text = re.sub(
        r"^(define void .*ptr %own\) {\nentry\.0:)$",
        r"\1\n  %dynamic = call ptr @emulated_memory(ptr %own)",
        text,
        flags=re.MULTILINE,
    )
    declared = [
        "declare i32 @emulated_register(ptr, i32)",
        "declare void @emulated_barrier(ptr)",
        "declare i32 @emulated_exchange(ptr, i32, i32, i32, i32)",
        "declare void @emulated_multiply(ptr, ptr, ptr, i32)",
        "declare void @emulated_ptx(ptr, i32, ptr, ptr, ptr)",
        "declare ptr @emulated_memory(ptr)",
        *_SINGLE.splitlines(),
        *_matrices().splitlines(),
        "declare void @emulated_copy(ptr, i32, ptr, ptr, i32)",
        "declare void @emulated_commit(ptr)",
        "declare void @emulated_wait(ptr, i32)",
        _multiply("f16", "<2 x half>", 0),
        _multiply("bf16", "i32", 1),
    ]
    return "\n".join([*declared, *inline, text, *wrappers])


_OPERATIONS = (
    r"fence\.|prefetch\.|setmaxnreg|wgmma\.fence|wgmma\.commit|barrier\.cluster\.arrive|{ \.reg \.pred never",
    r"mbarrier\.init\S* \[\$0\], (\d+)",
    r"mbarrier\.arrive\.expect_tx",
    r"mbarrier\.arrive\.shared",
    r".*mbarrier\.try_wait",
    r"cp\.async\.bulk\.tensor\.(\d)d\.shared",
    r".*wgmma\.mma_async\S*\.m64n(\d+)k16\.f32\.(f16|bf16)\..*, (\d), (\d); }",
    r"wgmma\.wait_group\S* (\d)",
    r"mov\.u32 \$0, %cluster_ctarank",
    r"barrier\.cluster\.wait",
    r"st\.shared\.v2\.f32",
    r".*ld\.shared::cluster\.v4\.f32",
    r"wgmma\.mma_async\S*\.m64n(\d+)k16\.f32\.(f16|bf16)\.",
    r"barrier\.sync 1, (\d+)",
    r".*red\.relaxed\.gpu\.global\.add",
    r"ldmatrix\.sync\.aligned\.m8n8\.x4()\.shared\.b16",
    r"ldmatrix\.sync\.aligned\.m8n8\.x4(\.trans)\.shared\.b16",
    r".*wgmma\.mma_async\S*\.m64n(\d+)k8\.f32\.tf32",
    r"st\.shared\.v4\.b32",
    r"ld\.shared\.v4\.b32",
    r"st\.shared\.f32",
    r"cp\.async\.mbarrier\.arrive\.noinc",
    r"$",
)
"""PTX in line, and the numbers in it: what `emulated_ptx` does for each is in `machine.c`, by its place."""


def _without_ptx(text: str) -> tuple[str, list[str]]:
    """The text of a module with calls in the place of PTX, and the functions that are called."""
    functions: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def called(found: re.Match[str]) -> str:
        returned, assembly, passed = found.groups()
        kinds = tuple(argument.split(" ", 1)[0] for argument in passed.split(", ") if argument)
        name = functions.setdefault((returned, assembly, kinds), f"@inline{len(functions)}")
        return f"call {returned} {name}(ptr %own{', ' if passed else ''}{passed})"

    pattern = r'call (\S+|{[^}]*}) asm sideeffect "([^"]*)", "[^"]*"\((.*)\) convergent nounwind'
    text = re.sub(pattern, called, text)
    return text, [_inline(name, *key) for key, name in functions.items()]


def _inline(name: str, returned: str, assembly: str, kinds: tuple[str, ...]) -> str:
    """A function that does what PTX does: operands and results are in memory, eight and four bytes for each."""
    operation, found = next(
        (number, match) for number, known in enumerate(_OPERATIONS) if (match := re.match(known, assembly))
    )
    numbers = [int(part) if part.isdigit() else int(part in ("bf16", ".trans")) for part in found.groups()]
    results = [kind.strip() for kind in returned.strip("{}").split(",")] if returned != "void" else []
    numbers = _padded([*numbers, len(results)], 4)
    parameters = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(kinds))
    lines = [f"define internal {returned} {name}(ptr %own{', ' if parameters else ''}{parameters}) {{"]
    lines.append(f"  %in = alloca [{max(1, len(kinds))} x i64]")
    lines.append(f"  %out = alloca [{max(1, len(results))} x float]")
    lines.append(f"  %numbers = alloca [{len(numbers)} x i32]")
    for number, value in enumerate(numbers):
        lines.append(f"  %n{number} = getelementptr i32, ptr %numbers, i64 {number}")
        lines.append(f"  store i32 {value}, ptr %n{number}")
    for number, kind in enumerate(kinds):
        lines.append(f"  %i{number} = getelementptr i64, ptr %in, i64 {number}")
        lines.append(f"  store {kind} %a{number}, ptr %i{number}")
    lines.append(f"  call void @emulated_ptx(ptr %own, i32 {operation}, ptr %numbers, ptr %in, ptr %out)")
    before = "undef"
    for number, kind in enumerate(results):
        lines.append(f"  %o{number} = getelementptr float, ptr %out, i64 {number}")
        lines.append(f"  %r{number} = load {kind}, ptr %o{number}")
        if len(results) > 1:
            lines.append(f"  %s{number} = insertvalue {returned} {before}, {kind} %r{number}, {number}")
            before = f"%s{number}"
    lines.append("  ret void" if not results else f"  ret {returned} {'%r0' if len(results) == 1 else before}")
    return "\n".join([*lines, "}", ""])


_INTRINSICS = {
    "bar.warp.sync": "meet",
    "ex2.approx.f": "power_of_two",
    "ex2.approx.ftz.f": "power_of_two",
    "rcp.approx.ftz.f": "reciprocal",
    "ff2f16x2.rn": "halves",
    "ff2bf16x2.rn": "bfloats",
    "ldmatrix.sync.aligned.m8n8.x4.b16.p3": "matrices",
    "ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3": "turned_matrices",
}
"""What stands for an intrinsic; it takes the thread as well."""

_SINGLE = """
declare float @llvm.exp2.f32(float)
define internal void @emulated_meet(ptr %own, i32 %mask) {
  call void @emulated_meet_warp(ptr %own)
  ret void
}
define internal float @emulated_power_of_two(ptr %own, float %x) {
  %power = call float @llvm.exp2.f32(float %x)
  ret float %power
}
define internal float @emulated_reciprocal(ptr %own, float %x) {
  %quotient = fdiv float 1.0, %x
  ret float %quotient
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
declare void @emulated_meet_warp(ptr)
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
