"""Programs of numpy compute what the reference does: types, loops, empty axes, and random graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot
from ingot import Model, Session, parse_model, to_source
from ingot.dtypes import Array
from lower.random_nodes import random_model
from source.programs import executed

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
EACH = 20


def outputs(model: Model, feeds: dict[str, Array], tmp_path: Path) -> tuple[list[Any], list[Any]]:
    """What the program gives, and what the reference does."""
    wanted = Session(model, providers=("reference",)).run(None, feeds)
    run = executed(to_source(model, style="numpy", weights="program.npz"), tmp_path)["run"]
    results = run(*(feeds[value.name] for value in model.graph.inputs if value.name in feeds))
    return list(results) if isinstance(results, tuple) else [results], wanted


def check(model: Model, feeds: dict[str, Array], tmp_path: Path) -> None:
    """AssertionError unless both give the same, up to the rounding of sums in another order."""
    for result, wanted in zip(*outputs(model, feeds, tmp_path), strict=True):
        if not isinstance(wanted, np.ndarray):
            continue
        assert isinstance(result, np.ndarray | np.generic)
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype.kind in "fV":
            one, other = (np.asarray(array).astype(np.float64) for array in (result, wanted))
            size = float(np.abs(other[np.isfinite(other)]).max(initial=0))
            step = 2.0**-23 if wanted.itemsize > 2 else 2.0**-10 if wanted.dtype == np.float16 else 2.0**-7
            np.testing.assert_allclose(one, other, rtol=256 * step, atol=256 * step * size)
        else:
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64", "float16", "bfloat16", "double"])
@pytest.mark.parametrize("body", ["y = MatMul (x, w)", "y = Gemm <transB = 1> (x, w, c)"])
def test_products_of_every_type(dtype: str, body: str, tmp_path: Path) -> None:
    kind = np.dtype({"bfloat16": ml_dtypes.bfloat16, "double": np.float64}.get(dtype, dtype))
    x, w, c = (np.arange(count).reshape(shape) for count, shape in ((12, (3, 4)), (16, (4, 4)), (4, (4,))))
    large = 0x1234567 if kind.kind in "iu" else 1
    feeds = {"x": (x * large).astype(kind), "w": (w * large + 1).astype(kind), "c": c.astype(kind)}
    check(
        parse_model(f"{HEAD} g ({dtype}[3, 4] x, {dtype}[4, 4] w, {dtype}[4] c) => (y) {{ {body} }}"), feeds, tmp_path
    )


def test_integers_that_are_scaled_are_refused_by_name() -> None:
    model = parse_model(f"{HEAD} g (int32[3, 4] x, int32[4, 4] w) => (y) {{ y = Gemm <alpha = 0.5> (x, w) }}")
    with pytest.raises(ingot.UnsupportedError, match="Gemm"):
        to_source(model, style="numpy")


def test_a_normalisation_of_16_bits_gives_one_array(tmp_path: Path) -> None:
    model = parse_model(
        f"{HEAD} g (float16[n, 3, 2] x, float16[3] s, float16[3] v) => (y) {{ y = BatchNormalization (x, s, s, s, v) }}"
    )
    x, s = np.arange(12).reshape(2, 3, 2).astype(np.float16), np.ones(3, np.float16)
    check(model, {"x": x, "s": s, "v": s + s}, tmp_path)


@pytest.mark.parametrize(
    "body",
    ["y = Softmax <axis = 0> (x)", "a = Constant <value_ints = [0]> () y = ReduceMax (x, a)"],
)
def test_an_empty_axis_is_no_error(body: str, tmp_path: Path) -> None:
    model = parse_model(f"{HEAD} g (float[n, 3] x) => (y) {{ {body} }}")
    for rows in (0, 2):
        check(model, {"x": np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)}, tmp_path)


@pytest.mark.parametrize("condition", ["", "yes"])
def test_without_a_condition_a_loop_ignores_what_its_body_says_of_it(condition: str, tmp_path: Path) -> None:
    model = parse_model(
        f"""{HEAD} g (int64 n, float x) => (float y, float[k] z) {{
            yes = Constant <value = bool {{1}}> ()
            y, z = Loop (n, {condition}, x) <body = b (int64 i, bool c, float s) => (bool go, float t, float u) {{
                one = Constant <value = float {{1}}> () two = Constant <value = float {{2}}> ()
                t = Add (s, one) u = Identity (t) less = Less (t, two) go = And (less, c)
            }}>
        }}"""
    )
    results, _ = outputs(model, {"n": np.array(5), "x": np.array(0, np.float32)}, tmp_path)
    assert results[0] == (2 if condition else 5)
    check(model, {"n": np.array(5), "x": np.array(0, np.float32)}, tmp_path)


def test_equal_blocks_have_constants_of_their_own(tmp_path: Path) -> None:
    """Stages of a network split channels into more heads each, and sum over other axes."""
    sizes = {0: (2, 3, 4), 1: (2, 6, 2), 2: (2, 4, 3), 3: (2, 12, 1), 4: (2, 2, 6)}
    blocks = "".join(
        f"r{i} = Reshape (x{i}, s{i}) a{i} = Abs (r{i}) t{i} = ReduceSum <keepdims = 1> (a{i}, a_{i}) "
        f"d{i} = Div (a{i}, t{i}) f{i} = Reshape (d{i}, flat) x{i + 1} = Add (f{i}, one) "
        for i in sizes
    )
    constants = [f"int64[3] s{i} = {{{', '.join(map(str, size))}}}" for i, size in sizes.items()]
    constants += [f"int64[1] a_{i} = {{{1 + i % 2}}}" for i in sizes]
    listed = ", ".join([*constants, "int64[2] flat = {2, 12}", "float[1] one = {1}"])
    model = parse_model(f"{HEAD} g (float[2, 12] x0) => (x5) <{listed}> {{ {blocks} }}")
    assert "A block of" in to_source(model, style="numpy", weights="program.npz").text
    check(model, {"x0": np.random.default_rng(0).normal(size=(2, 12)).astype(np.float32)}, tmp_path)


def test_equal_blocks_compute_in_types_of_their_own(tmp_path: Path) -> None:
    """numpy divides integers, and multiplies those of few bits, otherwise than the standard does."""
    dtypes = ("float", "int32", "float16", "double", "uint8")
    block = "p{0} = Mul (x{0}, x{0}) q{0} = Div (p{0}, x{0}) r{0} = Div (q{0}, x{0}) y{0} = Sub (r{0}, x{0}) "
    body = "".join(map(block.format, range(len(dtypes))))
    inputs = ", ".join(f"{dtype}[2, 3] x{i}" for i, dtype in enumerate(dtypes))
    model = parse_model(f"{HEAD} g ({inputs}) => ({', '.join(f'y{i}' for i in range(len(dtypes)))}) {{ {body} }}")
    assert "A block of" in to_source(model, style="numpy", weights="program.npz").text
    kinds = [{"float": "float32", "double": "float64"}.get(dtype, dtype) for dtype in dtypes]
    feeds = {f"x{i}": np.arange(1, 7).reshape(2, 3).astype(kind) for i, kind in enumerate(kinds)}
    check(model, feeds, tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 100, EACH))
def test_random_graphs_are_computed_alike(first: int, tmp_path: Path) -> None:
    compared = 0
    for seed in range(first, first + EACH):
        drawn = random_model(seed)
        try:
            check(drawn.model, drawn.feeds(drawn.bindings[0]), tmp_path)
        except (ingot.UnsupportedError, ingot.CheckError, ingot.InputError):  # some are wrong on purpose
            continue
        except Exception as error:
            raise AssertionError(f"the graph of seed {seed}: {error}") from error
        compared += 1
    assert compared > EACH // 3
