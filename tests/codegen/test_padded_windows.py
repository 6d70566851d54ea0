"""Windows of padded images: loads of which some lanes, or all, are outside, for several rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.kernel import emit
from ingot.compile import Options, compile_model
from ingot.dtypes import Array
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.ops.catalog import standard
from ingot.prepare import prepare
from ingot.providers.cpu import Cpu
from ingot.runtime.limits import RunLimits
from ingot.schedule.target import named


def _results(body: str, dtype: str, x: Array) -> tuple[Array, Array, ingot.Session]:
    """What a model of images makes of some, compiled and by the reference, and the compiled one."""
    sizes = ", ".join(map(str, x.shape))
    text = f'<ir_version: 10, opset_import: ["" : 21]> g ({dtype}[{sizes}] x) => (y) {{ {body} }}'
    model = ingot.parse_model(text)
    compiled = ingot.Session(model, threads=1, fallback=False, providers=("cpu", "reference"))
    reference = ingot.Session(model, providers=("reference",))
    return compiled.run(None, {"x": x})[0], reference.run(None, {"x": x})[0], compiled


@pytest.mark.parametrize(("side", "dtype"), [(5, "float"), (17, "uint8"), (40, "float"), (40, "int8")])
def test_the_greatest_of_padded_windows_is_that_of_the_reference(side: int, dtype: str) -> None:
    for kernel in ([3, 3], [4, 6]):
        x = np.random.default_rng(side).integers(-100 if dtype != "uint8" else 0, 100, (2, 3, side, side))
        pads = [kernel[0] // 2, kernel[1] // 2] * 2
        body = f"y = MaxPool <kernel_shape = {kernel}, pads = {pads}> (x)"
        compiled, expected, _ = _results(body, dtype, x.astype(np.float32 if dtype == "float" else dtype))
        assert compiled.tolist() == expected.tolist()


@pytest.mark.parametrize(("side", "kernel"), [(5, 3), (17, 5), (28, 7)])
def test_sums_of_padded_windows_are_those_of_the_reference(side: int, kernel: int) -> None:
    x = np.random.default_rng(1).standard_normal((1, 2, side, side)).astype(np.float32)
    half = [kernel // 2] * 4
    body = f"y = AveragePool <kernel_shape = [{kernel}, {kernel}], pads = {half}> (x)"
    compiled, expected, _ = _results(body, "float", x)
    np.testing.assert_allclose(compiled, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("place", [0, 44])
def test_the_greatest_of_a_window_with_a_nan_is_nan(place: int) -> None:
    x = np.zeros((1, 1, 9, 45), np.float32)
    x[..., 4, place] = np.nan
    compiled, expected, _ = _results("y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)", "float", x)
    np.testing.assert_array_equal(compiled, expected)
    assert np.isnan(compiled).sum() >= 6


@pytest.mark.parametrize("side", [9, 20, 45])
@pytest.mark.parametrize("kernel", [9, 13, 25])
def test_the_greatest_of_large_padded_windows(side: int, kernel: int) -> None:
    x = np.random.default_rng(side).standard_normal((1, 2, side, side)).astype(np.float32)
    x[0, 1, 4, 5] = np.nan
    half = [kernel // 2] * 4
    body = f"y = MaxPool <kernel_shape = [{kernel}, {kernel}], pads = {half}> (x)"
    compiled, expected, session = _results(body, "float", x)
    np.testing.assert_array_equal(compiled, expected)
    assert session.compiled is not None
    kept = [show_kernel(parametrise(step).kernel) for step in kernels_in(session.compiled.scheduled.steps)]
    assert len(kept) == 2
    assert all(f"< {kernel}:" in text for text in kept)


def test_lanes_of_a_window_that_are_inside_are_found_once_for_all_its_loads() -> None:
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[1,2,40,40] x) => (y)'
    model = ingot.parse_model(f"{text} {{ y = MaxPool <kernel_shape = [1, 5], pads = [0, 2, 0, 2]> (x) }}")
    provider = Cpu(named("x86-64-v4"))
    compiled = compile_model(prepare(model, standard(), RunLimits()), provider, Options(standard(), threads=1))
    (kernel,) = kernels_in(compiled.artifacts.scheduled.steps)
    emitted = emit(parametrise(kernel).kernel, named("x86-64-v4")).text
    assert emitted.count("llvm.masked.load") > 5
    assert "icmp ult <16 x i64>" not in emitted


@pytest.mark.parametrize(("kernel", "kernels"), [([3, 3], 1), ([5, 5], 2), ([1, 25], 1)])
def test_large_windows_are_reduced_along_one_axis_after_another(kernel: Any, kernels: int) -> None:
    x = np.zeros((1, 1, 30, 30), np.float32)
    *_, session = _results(f"y = MaxPool <kernel_shape = {kernel}> (x)", "float", x)
    assert session.compiled is not None
    assert len(list(kernels_in(session.compiled.scheduled.steps))) == kernels


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("side", [5, 31, 33, 67])
def test_windows_that_move_by_several_elements_over_padding_are_those_of_the_reference(side: int, stride: int) -> None:
    x = np.random.default_rng(stride).standard_normal((1, 3, side, side)).astype(np.float32)
    for kernel in (3, 5):
        window = f"kernel_shape = [{kernel}, {kernel}], pads = {[kernel // 2] * 4}, strides = [{stride}, {stride}]"
        body = f"y = MaxPool <{window}> (x)"
        compiled, expected, _ = _results(body, "float", x)
        assert compiled.tolist() == expected.tolist()
        compiled, expected, session = _results(body.replace("Max", "Average"), "float", x)
        np.testing.assert_allclose(compiled, expected, 1e-5, 1e-6)
        assert session.compiled is not None
        assert len(list(kernels_in(session.compiled.scheduled.steps))) == 1


@pytest.mark.parametrize(("dtype", "value"), [("float", 3), ("float", 0), ("int8", 7), ("double", 2)])
@pytest.mark.parametrize("rows", ["5000", "n"])
def test_columns_are_added_to_any_number_of_rows(dtype: str, value: int, rows: str) -> None:
    """A row of the fill is as long as the longest loop that rows are jammed in; along these there are more elements."""
    for columns, pads in ((1, [1, 1, 1, 2]), (1, [0, 0, 0, 3]), (2, [0, 1, 0, 1]), (3, [0, 1, 2, 0])):
        model = ingot.parse_model(
            f'<ir_version: 10, opset_import: ["" : 21]> g ({dtype}[{rows}, {columns}] x) => (y) '
            f"<int64[4] pads = {{{', '.join(map(str, pads))}}}, {dtype} value = {{{value}}}> "
            "{ y = Pad (x, pads, value) }"
        )
        session = ingot.Session(model, threads=1, fallback=False, providers=("cpu", "reference"))
        kind = {"float": "float32", "double": "float64"}.get(dtype, dtype)
        x = np.random.default_rng(0).integers(-9, 9, (5000, columns)).astype(kind)
        expected = np.pad(x, ((pads[0], pads[2]), (pads[1], pads[3])), constant_values=value)
        np.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)
