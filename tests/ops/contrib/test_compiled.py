"""Rare operators of onnxruntime as machine code: what the reference computes, for all types, sizes with names, none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ingot.dtypes import Array
from lower.machine import runs

RNG = np.random.default_rng(13)
HASHED = {"int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "float": np.float32}


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("kind", [*HASHED, "double"])
@pytest.mark.parametrize("attributes", ["", "<positive = 0, seed = 4294967295>"])
def test_hashes_of_elements_are_those_of_the_reference(kind: str, attributes: str) -> None:
    dtype = HASHED.get(kind, np.float64)
    cases = [{"x": RNG.integers(0, 2**31, shape).astype(dtype)} for shape in ((3, 5), (0, 2), (1, 70))]
    for threads in (1, 2):
        runs(f"g ({kind}[n, m] x) => (y) {{ y = com.microsoft.MurmurHash3 {attributes} (x) }}", *cases, threads=threads)


@pytest.mark.parametrize(
    "attributes", ["kernel_shape = [3, 3]", "kernel_shape = [2, 3], strides = [2, 1], pads = [1, 1, 0, 2]"]
)
@pytest.mark.parametrize("masks", [(2, 3), (1, 3), (1, 1)])
def test_a_masked_pool_is_that_of_the_reference(attributes: str, masks: tuple[int, int]) -> None:
    cases: list[dict[str, Any]] = []
    for size in (5, 11):
        mask = (RNG.random((*masks, size, 7)) < 0.8).astype(np.int32)
        cases.append({"x": floats(2, 3, size, 7), "m": mask})
    graph = f"g (float[2, 3, h, 7] x, int32[{masks[0]}, {masks[1]}, h, 7] m) => (y) "
    for threads in (1, 2):
        runs(f"{graph} {{ y = com.microsoft.MaxpoolWithMask <{attributes}> (x, m) }}", *cases, threads=threads)


@pytest.mark.parametrize("padding", ['auto_pad = "SAME_UPPER"', 'auto_pad = "SAME_LOWER"', "strides = [2]"])
def test_a_masked_pool_along_one_axis_masks_its_first_element_too(padding: str) -> None:
    cases = [{"x": floats(1, 2, n), "m": np.zeros((1, 2, n), np.int32)} for n in (4, 9)]
    cases += [{"x": floats(1, 2, n), "m": RNG.integers(0, 2, (1, 2, n), np.int32)} for n in (4, 9)]
    text = f"com.microsoft.MaxpoolWithMask <kernel_shape = [4], {padding}> (x, m)"
    runs(f"g (float[1, c, n] x, int32[1, c, n] m) => (y) {{ y = {text} }}", *cases)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tokens_that_would_repeat_a_run_are_ruled_out(size: int) -> None:
    cases = [{"i": RNG.integers(0, 4, (2, n)), "s": floats(2, 9)} for n in (size, 6, 30)]
    cases[1]["s"][:] = np.nan
    cases.append({"i": np.full((2, 5), 9), "s": floats(2, 9)})
    graph = "g (int64[b, n] i, float[b, v] s) => (y) "
    runs(f"{graph} {{ y = com.microsoft.NGramRepeatBlock <ngram_size = {size}> (i, s) }}", *cases)


def test_fewer_tokens_than_a_run_rule_nothing_out() -> None:
    case = {"i": RNG.integers(0, 4, (2, 2)), "s": floats(2, 9)}
    runs("g (int64[2, 2] i, float[b, v] s) => (y) { y = com.microsoft.NGramRepeatBlock <ngram_size = 3> (i, s) }", case)


@pytest.mark.parametrize("attributes", ["", "<strides = [2, 2]>", "<strides = [2, 1], output_padding = [1, 0]>"])
def test_a_transposed_convolution_is_cropped_by_what_a_run_computes(attributes: str) -> None:
    cases = [
        {"x": floats(1, 2, 5, n), "w": floats(2, 3, 3, 3), "b": floats(3), "p": np.array([1, 0, 0, 1])} for n in (4, 6)
    ]
    cases.append({**cases[0], "p": np.array([0, 0, 0, 0])})
    cases.append({**cases[0], "p": np.array([90, 0, 0, 0])})
    graph = "g (float[1, 2, 5, n] x, float[2, 3, 3, 3] w, int64[4] p, float[3] b) => (y) "
    text = f"{graph} {{ y = com.microsoft.ConvTransposeWithDynamicPads {attributes} (x, w, p, b) }}"
    for threads in (1, 2):
        runs(text, *cases, rtol=1e-4, atol=1e-5, threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_paths_through_costs_are_those_of_the_reference(threads: int) -> None:
    cases = [
        {"x": RNG.random((rows, columns)).astype(np.float32)} for rows, columns in ((1, 1), (5, 3), (3, 8), (40, 30))
    ]
    cases += [{"x": RNG.integers(0, 2, (9, 9)).astype(np.float32)}, {"x": np.zeros((4, 6), np.float32)}]
    cases += [{"x": np.zeros(shape, np.float32)} for shape in ((0, 3), (3, 0), (0, 0), (1, 7), (7, 1))]
    cases.append({"x": np.where(RNG.random((6, 7)) < 0.2, np.nan, 1).astype(np.float32)})
    runs("g (float[n, m] x) => (y) { y = com.microsoft.DynamicTimeWarping (x) }", *cases, threads=threads)
    whole = {"x": cases[3]["x"][None]}
    runs("g (float[1, n, m] x) => (y) { y = com.microsoft.DynamicTimeWarping (x) }", whole, threads=threads)


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", "identity", "swiglu"])
@pytest.mark.parametrize(("k", "beside"), [(1, False), (3, True)])
def test_mixtures_of_experts_are_those_of_the_reference(activation: str, k: int, beside: bool) -> None:
    experts, size, inner = 4, 6, 8
    width = 2 * inner if activation == "swiglu" and not beside else inner
    fixed = {"w": floats(experts, width, size), "b": floats(experts, width), "v": floats(experts, size, inner)}
    fixed["u"] = floats(experts, inner, size)
    cases = [
        {"x": floats(n, m, size), "p": floats(n * m, experts), **fixed} for n, m in ((2, 3), (1, 1), (0, 4), (5, 20))
    ]
    cases.append({**cases[0], "p": np.zeros((6, experts), np.float32)})
    options = f'activation_type = "{activation}", k = {k}, swiglu_fusion = 1, normalize_routing_weights = {k - 1}'
    sizes = f"float[4, {width}, 6] w, float[4, {width}] b, float[4, 6, 8] v, float[4, 8, 6] u"
    inputs = "x, p, w, b, v, , u" if beside else "x, p, w, b, v"
    text = f"com.microsoft.MoE <{options}> ({inputs})"
    for threads in (1, 2):
        graph = f"g (float[n, m, 6] x, float[t, 4] p, {sizes}) => (y) {{ y = {text} }}"
        runs(graph, *cases, rtol=1e-4, atol=1e-5, threads=threads)
