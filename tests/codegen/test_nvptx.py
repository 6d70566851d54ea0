"""Kernels for GPUs as text: which instructions they have, for every generation; assembled where ptxas is."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import ingot
from golden.zoo import graph_of
from ingot.codegen.llvm.make import object_code
from ingot.codegen.nvptx import attention, recurrence_plans, window_plans
from ingot.codegen.nvptx.kernel import ENTRY, emit
from ingot.codegen.nvptx.target import gpu_target
from ingot.codegen.nvptx.variants import functions_of
from ingot.codegen.nvptx.wgmma_tiles import TILES
from ingot.compile import Options, compile_model
from ingot.errors import CompileError, ProviderError
from ingot.ir.model import Model
from ingot.loops.ir import Attention, Contraction, Kernel, Recurrence, SlidingWindows, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.providers.cuda import Cuda
from ingot.runtime.limits import RunLimits
from ingot.schedule.schedule import Scheduled

GENERATIONS = [(8, 0), (9, 0), (10, 0)]
HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


class Recorder(Cuda):
    """A provider that schedules kernels, and goes no further."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[Kernel] = []

    def emit(self, scheduled: Scheduled, _: bool, /) -> dict[Kernel, object]:  # type: ignore[override]
        self.kernels += kernels_in(scheduled.steps)
        raise CompileError("as far as this")


def scheduled(model: Model) -> list[Kernel]:
    """The kernels of a model."""
    recorder = Recorder()
    with pytest.raises(CompileError, match="as far as this"):
        compile_model(prepare(model, standard(), RunLimits()), recorder, Options(standard()))
    return recorder.kernels


def kernels_of(model: Model) -> list[Kernel]:
    """The kernels of a model, as templates."""
    return [parametrise(kernel).kernel for kernel in scheduled(model)]


@cache
def ptx_of(inputs: str, body: str, generation: tuple[int, int] = (9, 0), name: str = ENTRY) -> str:
    (kernel,) = kernels_of(ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {body} }}"))
    return compiled(kernel, generation, name)


def compiled(kernel: Kernel, generation: tuple[int, int], name: str = ENTRY) -> str:
    target = gpu_target(*generation)
    code, _ = object_code((emit(kernel, target, name).text, target.triple, target.cpu, target.features, False, "full"))
    return code.decode()


def names_of(kernel: Kernel, generation: tuple[int, int]) -> list[str]:
    """The functions of a kernel."""
    (nest,) = kernel.nests
    match nest:
        case Contraction():
            return [*functions_of(nest, gpu_target(*generation))]
        case Attention():
            return [*attention.functions(nest, gpu_target(*generation))]
        case SlidingWindows():
            return [*window_plans.functions(nest)]
        case Recurrence():
            return [*recurrence_plans.functions(nest)]
    return [ENTRY]


def test_elementwise_kernels_move_128_bits_at_once() -> None:
    text = ptx_of("float[n, m] x, float[n, m] z", "t = Add (x, z) y = Relu (t)")
    assert text.count("ld.global.nc.v4") == 2
    assert text.count("st.global.v4") == 1


def test_halves_move_eight_at_once() -> None:
    text = ptx_of("float16[n, m] x", "y = Relu (x)")
    assert "ld.global.nc.v4.b32" in text


def test_groups_shuffle_within_a_warp_and_meet_between_them() -> None:
    text = ptx_of("float[n, m] x", "y = Softmax (x)")
    assert text.count("shfl.sync.bfly.b32") == 20, "five for each of two reductions, in either way to do them"
    assert text.count("bar.sync") + text.count("barrier.sync") == 8
    assert "ld.global.nc.v4" in text


def test_products_have_tiles_in_shared_memory_and_sums_in_registers() -> None:
    for name, products in (("large", 8 * 8 * 8), ("small", 4 * 4 * 16)):
        text = ptx_of("float[m, k] x, float[k, n] w", "y = MatMul (x, w)", name=name)
        assert f".entry {name}" in text
        assert text.count("fma.rn.f32") == products
        assert "ld.shared.v4" in text


@pytest.mark.parametrize(("kind", "name"), [("float16", "f16"), ("bfloat16", "bf16")])
@pytest.mark.parametrize("generation", GENERATIONS)
def test_products_of_halves_are_those_of_tensor_cores(kind: str, name: str, generation: tuple[int, int]) -> None:
    for side, products in ((128, 2 * 4 * 4), (64, 2 * 2 * 2)):
        text = ptx_of(f"{kind}[m, k] x, {kind}[k, n] w", "y = MatMul (x, w)", generation, f"halves{side}")
        assert text.count(f"mma.sync.aligned.m16n8k16.row.col.f32.{name}.{name}.f32") == products
        assert "fma.rn" not in text


def test_sizes_are_parameters_and_a_kernel_is_one_for_all_of_them() -> None:
    texts = {
        emit(
            kernels_of(ingot.parse_model(f"{HEAD} g (float[{n}, {m}] x) => (y) {{ y = Softmax (x) }}"))[0],
            gpu_target(9, 0),
        ).text
        for n, m in ((50, 640), (70, 4096))
    }
    assert len(texts) == 1


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_generation_has_its_target(generation: tuple[int, int]) -> None:
    text = ptx_of("float[n, m] x", "y = Softmax (x)", generation)
    assert f".target {gpu_target(*generation).cpu}" in text


def test_a_newer_gpu_runs_code_for_the_newest_that_is_known() -> None:
    assert gpu_target(9, 0).cpu == "sm_90a"
    assert gpu_target(8, 7).cpu == "sm_86"
    assert gpu_target(12, 1).cpu == "sm_120"
    assert gpu_target(9, 5).cpu == "sm_89", "code for sm_90a runs on 9.0 alone"
    with pytest.raises(ProviderError, match=r"compute capability 7\.5 is too old"):
        gpu_target(7, 5)


@pytest.mark.parametrize("name", ["magika", "one_node", "lstm", "resnet18", "silero_vad"])
def test_kernels_of_the_zoo_are_emitted(name: str) -> None:
    kernels = kernels_of(graph_of(name))
    assert kernels
    for kernel in kernels:
        for function in names_of(kernel, (9, 0)):
            assert "ptx_kernel" in emit(kernel, gpu_target(9, 0), function).text


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("generation", GENERATIONS)
def test_kernels_are_assembled(generation: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "kernel.ptx"
    for kernel in kernels_of(graph_of("magika"))[:6]:
        for name in names_of(kernel, generation):
            path.write_text(compiled(kernel, generation, name))
            command = ["ptxas", f"-arch={gpu_target(*generation).cpu}", str(path), "-o", str(tmp_path / "code")]
            subprocess.run(command, check=True, capture_output=True)


_RESIDUAL = {
    "float16": "t = MatMul (x, w) s = Add (t, v) u = Gelu (s) y = Add (u, r)",
    "float": "t = MatMul (x, w) a = Cast <to = 1> (t) b = Cast <to = 1> (v) s = Add (a, b) u = Add (s, r) "
    "z = Relu (u) y = Cast <to = 10> (z)",
}
"""Products with a bias, an activation and a residual, by the type of the latter."""


def residual_ptx(kind: str, name: str) -> str:
    inputs = f"float16[m, k] x, float16[k, n] w, float16[n] v, {kind}[m, n] r"
    return ptx_of(inputs, _RESIDUAL[kind], (9, 0), name)


@pytest.mark.parametrize(("name", "kind", "loads"), [("128x128turns", "float16", 8), ("128x128", "float", 16)])
def test_residuals_are_asked_for_before_the_products(name: str, kind: str, loads: int) -> None:
    before, *_ = residual_ptx(kind, f"wgmma{name}").split("wgmma.mma_async")
    assert before.count("ld.global.nc.v4") >= loads, "as many as registers are free for"


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("kind", list(_RESIDUAL))
@pytest.mark.parametrize("name", [*TILES, "piped128x128", "piped64x64"])
def test_products_on_hopper_keep_sums_in_registers_and_products_under_way(name: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.ptx"
    path.write_text(residual_ptx(kind, name))
    command = ["ptxas", "-v", "-arch=sm_90a", str(path), "-o", str(tmp_path / "code")]
    notes = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in notes
    assert "(C75" not in notes, "products that wait for each other, or registers that are not moved"


def test_a_row_that_fits_into_registers_is_read_once() -> None:
    text = ptx_of("float[n, m] x", "y = Softmax (x)")
    held, passes, several = 4, 3, 4
    assert text.count("ld.global.nc.v4") == held + passes * (several + 1), "one load for each vector that is held"


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("kind", ["float", "float16", "bfloat16"])
def test_products_of_few_rows_keep_their_sums_in_registers(kind: str, tmp_path: Path) -> None:
    (kernel,) = kernels_of(
        ingot.parse_model(f"{HEAD} g ({kind}[m, k] x, {kind}[k, n] w) => (y) {{ y = MatMul (x, w) }}")
    )
    path = tmp_path / "kernel.ptx"
    for generation in GENERATIONS:
        for name in names_of(kernel, generation):
            if not name.startswith(("rows", "half_rows")):
                continue
            path.write_text(compiled(kernel, generation, name))
            command = ["ptxas", "-v", f"-arch={gpu_target(*generation).cpu}", str(path), "-o", str(tmp_path / "code")]
            notes = subprocess.run(command, check=True, capture_output=True, text=True).stderr
            assert " 0 bytes spill stores" in notes, f"{name}: {notes}"


def attention_functions(kind: str, depth: int, generation: tuple[int, int]) -> dict[str, str]:
    """The functions of attention in heads of so many elements, as PTX."""
    heads = ", ".join(
        f"{kind}[b, h, {length}, {depth}] {name}" for name, length in (("q", "s"), ("k", "t"), ("v", "t"))
    )
    text = f'<ir_version: 10, opset_import: ["" : 24]> g ({heads}) => (y) {{ y = Attention <is_causal = 1> (q, k, v) }}'
    (kernel,) = (kernel for kernel in kernels_of(ingot.parse_model(text)) if isinstance(kernel.nests[0], Attention))
    (nest,) = kernel.nests
    assert isinstance(nest, Attention)
    return {name: compiled(kernel, generation, name) for name in attention.functions(nest, gpu_target(*generation))}


@pytest.mark.parametrize(("kind", "depth"), [("float", 64), ("float16", 80)])
def test_attention_reads_keys_while_it_multiplies_and_sums_as_float32(kind: str, depth: int) -> None:
    functions = attention_functions(kind, depth, (9, 0))
    for name, text in functions.items():
        if name == "finish" or (kind != "float" and name.startswith("floats")):
            continue
        assert "cp.async.cg.shared.global" in text, name
        assert "ex2.approx.f32" in text
        assert ("mma.sync.aligned.m16n8k16.row.col.f32." in text) == name.startswith("halves")
        assert ("ldmatrix.sync.aligned.m8n8.x4.trans" in text) == name.startswith("halves")
        assert ("wgmma.mma_async" in text) == ("cp.async.bulk.tensor" in text) == name.startswith("hopper")


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize(
    ("kind", "depth", "generation"), [("float16", 64, (8, 0)), ("bfloat16", 64, (9, 0)), ("float", 64, (10, 0))]
)
def test_attention_is_assembled(kind: str, depth: int, generation: tuple[int, int], tmp_path: Path) -> None:
    for name, text in attention_functions(kind, depth, generation).items():
        path = tmp_path / f"{name}.ptx"
        path.write_text(text)
        command = ["ptxas", f"-arch={gpu_target(*generation).cpu}", str(path), "-o", str(tmp_path / "code")]
        subprocess.run(command, check=True, capture_output=True)


@pytest.mark.parametrize(("stores", "powers"), [("y = Cast <to = 10> (g)", 8), ("y = Identity (g)", 0)])
def test_gates_that_are_rounded_at_once_are_powers_of_the_gpu(stores: str, powers: int) -> None:
    text = ptx_of("float16[n] x", f"s = Cast <to = 1> (x) g = Gelu (s) {stores}")
    assert text.count("ex2.approx.ftz.f32") >= powers
    assert powers or "ex2.approx" not in text


def test_four_channels_of_an_image_are_stored_at_once() -> None:
    text = (
        "x = Transpose <perm = [0, 2, 3, 1]> (i) p = Constant <value_ints = [0, 0, 0, 0, 0, 0, 0, 1]> () y = Pad (x, p)"
    )
    ptx = ptx_of("float[n, 3, h, w] i", text)
    assert "st.global.v4.b32" in ptx


@pytest.mark.parametrize("kind", ["float", "float16", "bfloat16"])
def test_pools_of_every_type_slide_by_single_elements_and_by_vectors(kind: str) -> None:
    pool = "y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (x)"
    (kernel,) = kernels_of(
        ingot.parse_model(f"{HEAD.replace('21', '22')} g ({kind}[n, c, h, w] x) => (y) {{ {pool} }}")
    )
    for name in names_of(kernel, (9, 0)):
        assert f".entry {name}" in compiled(kernel, (9, 0), name)
