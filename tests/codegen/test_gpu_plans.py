"""Launches that are planned for GPUs of every generation: for all sizes there is one, and the GPU can make it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product as products

import pytest

import ingot
from codegen.test_nvptx import scheduled
from ingot.codegen.nvptx import attention, recurrence_plans
from ingot.codegen.nvptx.attention import SizedAttention
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.target import gpu_target
from ingot.codegen.nvptx.variant import Function, Plan, Sized
from ingot.codegen.nvptx.variants import cheapest, functions_of
from ingot.dims import Dim, evaluate, symbols
from ingot.loops.ir import Attention, Contraction, Kernel, Recurrence
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import Target
from providers.test_cuda_recurrence import network

HEAD = '<ir_version: 10, opset_import: ["" : 24]>'

GPUS = {
    "A100": Gpu((8, 0), 108, 1.41e9, 1.56e12, 166_912),
    "Orin": Gpu((8, 7), 16, 1.3e9, 2.0e11, 166_912),
    "RTX 3060": Gpu((8, 6), 28, 1.78e9, 3.6e11, 101_376),
    "H200": Gpu((9, 0), 132, 1.98e9, 4.8e12, 232_448),
    "RTX 5090": Gpu((12, 0), 170, 2.4e9, 1.8e12, 101_376),
}
_MOST_BLOCKS = 2**31 - 1, 2**16 - 1, 2**16 - 1
_SIZES = (0, 1, 3, 8, 33, 64, 1000, 20_000)


def text(inputs: str, body: str) -> ingot.Model:
    return ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {body} }}")


MODELS = {
    **{
        f"{kind} product": text(f"{kind}[m, k] x, {kind}[k, n] w", "y = MatMul (x, w)")
        for kind in ("float", "float16", "double", "int32")
    },
    **{
        f"{kind} convolution": text(
            f"{kind}[b, c, h, h] x, {kind}[o, c, 3, 3] w", "y = Conv <pads = [1, 1, 1, 1]> (x, w)"
        )
        for kind in ("float", "float16")
    },
    **{
        f"{kind} heads of {width}": text(
            f"{kind}[b, 2, s, {width}] q, {kind}[b, 2, t, {width}] k, {kind}[b, 2, t, {width}] v",
            "y = Attention (q, k, v)",
        )
        for kind, width in products(("float", "float16"), (16, 64, 128, 144, 256))
    },
    "LSTM of 64 both ways": network("LSTM", 64, 2),
    "GRU of 300": network("GRU", 300, 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_gpu_can_make_what_is_planned(name: str) -> None:
    planned = 0
    for kernel, gpu in products(scheduled(MODELS[name]), GPUS.values()):
        target = gpu_target(*gpu.capability)
        functions = functions_in(kernel, target)
        for values in runs_of(kernel) if functions else ():
            planned += 1
            for step in plan_of(kernel, values, gpu, target).steps:
                function, threads = functions[step.function], step.block[0] * step.block[1]
                assert threads == function.threads if function.exact else 0 < threads <= function.threads
                assert step.shared <= gpu.shared
                assert all(0 < count <= most for count, most in zip(step.grid, _MOST_BLOCKS, strict=True))
                assert step.grid[0] % function.cluster == 0
                assert len(step.scalars) == len(function.scalars)
                assert len(step.maps) == len(function.maps)
                assert not step.together or step.grid[0] <= gpu.multiprocessors * function.blocks
    assert planned > 0


def functions_in(kernel: Kernel, target: Target) -> Mapping[str, Function]:
    """The functions that plans choose of; nothing for a kernel that is launched by its extents."""
    match kernel.nests:
        case (Contraction() as nest,):
            return functions_of(nest, target)
        case (Attention() as nest,):
            return attention.functions(nest, target)
        case (Recurrence() as nest,):
            return recurrence_plans.functions(nest)
    return {}


def runs_of(kernel: Kernel) -> list[dict[str, int]]:
    """Values for the named sizes of a kernel."""
    names = sorted({name for size in parametrise(kernel).sizes.values() for name in symbols(size)})
    shifted = [dict(zip(names, [*_SIZES[n:], *_SIZES[:n]], strict=False)) for n in range(len(_SIZES))]
    return [*shifted, *(dict.fromkeys(names, size) for size in (0, 1, 100)), *(_with_many(names, n) for n in names)]


def _with_many(names: list[str], name: str) -> dict[str, int]:
    return {**dict.fromkeys(names, 2), name: _SIZES[-1]}


def plan_of(kernel: Kernel, values: Mapping[str, int], gpu: Gpu, target: Target) -> Plan:
    size = partial(_evaluated, values=values)
    match kernel.nests:
        case (Contraction() as nest,):
            return cheapest(Sized(nest, kernel.buffers, size, gpu), target)
        case (Attention() as nest,):
            return attention.plan(SizedAttention(nest, kernel.buffers, size, gpu, target))
        case (Recurrence() as nest,):
            return recurrence_plans.plan(nest, size, gpu)
    raise AssertionError(kernel)


def _evaluated(dim: Dim, values: Mapping[str, int]) -> int:
    return evaluate(dim, values)
