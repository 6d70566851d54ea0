"""Every plan of a product, chosen or not, on an emulated GPU: indices, tails, splits, epilogues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot.codegen.nvptx.variant import Plan, Sized, Step
from ingot.codegen.nvptx.variants import variants_of
from ingot.compile import Options, compile_model
from ingot.dims import Dim, evaluate
from ingot.dims.expr import terms_of
from ingot.dims.substitution import value_of
from ingot.dtypes import Array
from ingot.errors import CompileError
from ingot.loops.ir import Contraction, Index, Kernel, kernels_in
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.providers.cuda.code import EmittedKernel, LoadedKernel
from ingot.runtime.limits import RunLimits
from ingot.schedule.schedule import Scheduled
from providers.emulated import HAS_COMPILER, Emulated

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the emulator is compiled by cc")

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'


class Recorder(Emulated):
    """A provider that emits kernels, and goes no further."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.turned = turned
        self.emitted: Mapping[Kernel, EmittedKernel] = {}

    def emit(self, scheduled: Scheduled, _: bool, /) -> Mapping[Kernel, EmittedKernel]:
        (kernel,) = kernels_in(scheduled.steps)  # a product and its epilogue
        own = replace(scheduled, steps=(_turned(kernel),)) if self.turned else scheduled
        self.emitted = super().emit(own, _)
        raise CompileError("as far as this")


def _turned(kernel: Kernel) -> Kernel:
    (nest,) = kernel.nests
    assert isinstance(nest, Contraction)
    (m,), (k,) = nest.m, nest.k
    lhs = replace(nest.lhs, index=Index(((k, m.extent), (m, 1))))
    return replace(kernel, nests=(replace(nest, lhs=lhs),))


class Product:
    """The kernel of a model that is one product, whose plans are run one by one."""

    def __init__(self, inputs: str, body: str, turned: bool = False) -> None:
        """With `turned`, its left matrix lies column by column, as no front end leaves it."""
        provider = Recorder(turned)
        model = ingot.parse_model(f"{HEAD} g ({inputs}) => (y) {{ {body} }}")
        with pytest.raises(CompileError, match="as far as this"):
            compile_model(prepare(model, standard(), RunLimits()), provider, Options(standard()))
        ((self.kernel, self.emitted),) = provider.emitted.items()
        self.device = provider.memory
        self.loaded = LoadedKernel(self.emitted, self.device)

    def plans(self, sizes: Mapping[str, int]) -> Iterator[Plan]:
        (nest,) = self.emitted.own.nests
        assert isinstance(nest, Contraction)
        values = dict(zip(self.emitted.sizes, self.values(sizes), strict=True))

        def size(dim: Dim) -> int:
            return value_of(terms_of(dim), values.__getitem__)

        sized = Sized(nest, self.emitted.own.buffers, size, self.device.gpu)
        for variant in variants_of(nest, self.emitted.target):
            yield from variant.plans(sized)

    def values(self, sizes: Mapping[str, int]) -> list[int]:
        return [evaluate(size, sizes) for size in self.emitted.sizes.values()]

    def run(self, plan: Plan, sizes: Mapping[str, int], arrays: Mapping[str, Array], result: Array) -> None:
        """Run the steps of a plan; what is not in `arrays` and no scratch memory is the result."""
        addresses, memory = [], []
        for buffer in self.kernel.buffers:
            array = arrays.get(buffer.name, result)
            nbytes = 4 << 20 if buffer in self.kernel.scratch else array.nbytes
            addresses.append(self.device.allocate(nbytes))
            if buffer not in self.kernel.scratch:
                self.device.upload(array, addresses[-1])
                memory.append((addresses[-1], array))
        state = self.device.allocate(64)
        for step in plan.steps:
            self._launch(step, sizes, [*addresses, state])
        for address, array in memory:
            self.device.download(address, array)
        for address in (*addresses, state):
            self.device.free(address)

    def _launch(self, step: Step, sizes: Mapping[str, int], addresses: list[int]) -> None:
        function, sizes_of = self.loaded.function(step.function)
        maps = [self.device.tensor_map(own, addresses[own.buffer]) for own in step.maps]
        numbers = [*addresses, *sizes_of(self.values(sizes)), *step.scalars]
        self.device.launch(function, step.grid, step.block, numbers, maps, step.shared)


@cache
def product(inputs: str, body: str, turned: bool = False) -> Product:
    return Product(inputs, body, turned)


def check(
    inputs: str,
    body: str,
    arrays: Mapping[str, Array],
    exact: Array,
    sizes: Mapping[str, int],
    only: str,
    turned: bool = False,
    atol: float = 1e-3,
) -> set[str]:
    """The functions of those plans, by a pattern of names, that gave what is exact but for rounding to 16 bits."""
    own, ran = product(inputs, body, turned), set()
    dtype = next(iter(arrays.values())).dtype
    for plan in own.plans(sizes):
        name = plan.steps[0].function
        if name in ran or not re.fullmatch(only, name):
            continue
        ran.add(name)
        result = np.full(exact.shape, np.nan, dtype)
        own.run(plan, sizes, arrays, result)
        rtol = 2.0**-7 if dtype == ml_dtypes.bfloat16 else 2.0**-10
        np.testing.assert_allclose(result.astype(np.float64), exact, rtol=rtol, atol=atol, err_msg=name)
    return ran


def halves(kind: str, *shape: int) -> Array:
    dtype = np.dtype(kind) if kind == "float16" else np.dtype(ml_dtypes.bfloat16)
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32).astype(dtype)


def wide(array: Array) -> Array:
    return array.astype(np.float64)


def test_every_plan_of_a_product_of_halves_is_right() -> None:
    m, n, k = 66, 72, 264
    x, w = halves("float16", m, k), halves("float16", k, n)
    inputs, body = "float16[m, k] x, float16[k, n] w", "y = MatMul (x, w)"
    ran = check(inputs, body, {"x": x, "w": w}, wide(x) @ wide(w), {"m": m, "n": n, "k": k}, "(halves|piped|wgmma).*")
    assert {"halves64", "piped128x128", "wgmma128x256", "wgmma64x64by8"} <= ran


@pytest.mark.parametrize(("m", "n", "k"), [(3, 8, 8), (70, 136, 72)])
def test_tails_of_all_axes_are_zeros_and_are_not_stored(m: int, n: int, k: int) -> None:
    x, w = halves("float16", m, k), halves("float16", k, n)
    inputs, body = "float16[m, k] x, float16[k, n] w", "y = MatMul (x, w)"
    assert check(inputs, body, {"x": x, "w": w}, wide(x) @ wide(w), {"m": m, "n": n, "k": k}, ".*64x64(by4)?")


@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("only", ["wgmma192x128", "wgmma128x128by2", "piped64x64"])
def test_lines_of_tiles_are_along_either_axis(left: int, right: int, only: str) -> None:
    m, n, k = 136, 72, 72
    x, w = halves("bfloat16", m, k), halves("bfloat16", k, n)
    inputs = f"bfloat16[m, k] x, bfloat16[{'n, k' if right else 'k, n'}] w"
    arrays = {
        "x": np.ascontiguousarray(x.T).reshape(m, k) if left else x,
        "w": np.ascontiguousarray(w.T) if right else w,
    }
    body = f"y = Gemm <transB = {right}> (x, w)"
    sizes = {"m": m, "n": n, "k": k}
    assert check(inputs, body, arrays, wide(x) @ wide(w), sizes, only, turned=bool(left))


@pytest.mark.parametrize("only", ["wgmma128x128turns", "wgmma64x64"])
def test_blocks_take_several_tiles(only: str) -> None:
    m, n, k = 700, 136, 456
    x, w = halves("float16", m, k), halves("float16", k, n)
    inputs, body = "float16[m, k] x, float16[k, n] w", "y = MatMul (x, w)"
    assert only in check(inputs, body, {"x": x, "w": w}, wide(x) @ wide(w), {"m": m, "n": n, "k": k}, only)


@pytest.mark.parametrize("only", ["wgmma64x128", "wgmma64x64by2", "piped64x64"])
def test_batches_are_axes_of_tensor_maps(only: str) -> None:
    a, b, m, n, k = 2, 2, 70, 72, 40
    x, w = halves("float16", a, b, m, k), halves("float16", a, b, k, n)
    inputs, body = "float16[a, b, m, k] x, float16[a, b, k, n] w", "y = MatMul (x, w)"
    assert check(inputs, body, {"x": x, "w": w}, wide(x) @ wide(w), {"a": a, "b": b, "m": m, "n": n, "k": k}, only)


@pytest.mark.parametrize("only", ["wgmma128x128", "wgmma64x64by2", "halves64", "piped64x64"])
def test_what_follows_a_product_is_part_of_its_kernel(only: str) -> None:
    m, n, k = 70, 72, 72
    x, w, v, r = (halves("float16", *shape) for shape in ((m, k), (k, n), (n,), (m, n)))
    inputs = "float16[m, k] x, float16[k, n] w, float16[n] v, float16[m, n] r"
    body = "t = MatMul (x, w) s = Add (t, v) u = Relu (s) y = Add (u, r)"
    exact = np.maximum(wide(x) @ wide(w) + wide(v), 0) + wide(r)
    arrays = {"x": x, "w": w, "v": v, "r": r}
    atol = 2.0**-10 * float(np.abs(exact).max())  # each step rounds to 16 bits
    assert check(inputs, body, arrays, exact, {"m": m, "n": n, "k": k}, only, atol=atol)


@pytest.mark.parametrize("columns", [75, 131])
def test_columns_that_are_no_eights_are_stored_one_by_one(columns: int) -> None:
    m, n, k = 70, columns, 72
    x, w, v, r = (halves("float16", *shape) for shape in ((m, k), (n, k), (n,), (m, n)))
    inputs = "float16[m, k] x, float16[n, k] w, float16[n] v, float16[m, n] r"
    body = "t = Gemm <transB = 1> (x, w) s = Add (t, v) u = Relu (s) y = Add (u, r)"
    exact = np.maximum(wide(x) @ wide(w).T + wide(v), 0) + wide(r)
    arrays = {"x": x, "w": w, "v": v, "r": r}
    atol = 2.0**-10 * float(np.abs(exact).max())  # each step rounds to 16 bits
    ran = check(inputs, body, arrays, exact, {"m": m, "n": n, "k": k}, "wgmma.*", atol=atol)
    sizes = ("128x128", "128x128by2", "128x128by4", "128x64", "64x128", "64x64", "64x64by2", "64x64by4", "64x64by8")
    assert ran == {f"wgmma_singly{size}" for size in sizes}


@pytest.mark.parametrize(("m", "n", "k"), [(70, 72, 41), (70, 71, 40)])
def test_sizes_that_the_copy_engine_cannot_walk_have_other_plans(m: int, n: int, k: int) -> None:
    x, w = halves("float16", m, k), halves("float16", k, n)
    inputs, body = "float16[m, k] x, float16[k, n] w", "y = MatMul (x, w)"
    ran = check(inputs, body, {"x": x, "w": w}, wide(x) @ wide(w), {"m": m, "n": n, "k": k}, "halves64")
    names = [plan.steps[0].function for plan in product(inputs, body).plans({"m": m, "n": n, "k": k})]
    assert ran
    assert not [name for name in names if name.startswith("wgmma")]
