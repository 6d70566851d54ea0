"""Windows over a copy of what they slide over are those of the reference, wherever images, blocks and vectors end."""

from __future__ import annotations

import numpy as np
import pytest

import ingot
from ingot.codegen.llvm.host import host
from ingot.dtypes import Array
from ingot.ir import Model
from ingot.ir.types import TensorType
from ingot.loops.ir import Kernel, Position, Staged, kernels_in
from ingot.loops.parametrise import parametrise
from ingot.loops.show import show_kernel
from ingot.loops.walk import walk
from lower.guarded import fenced

HEADER = '<ir_version: 13, opset_import: ["" : 22]>'
CHANNELS = 3


def window(
    rows: int,
    columns: int,
    kernel: tuple[int, int] = (7, 7),
    pads: tuple[int, int, int, int] = (3, 3, 3, 3),
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    batch: int = 1,
    operator: str = "Conv",
    dtype: str = "float",
) -> Model:
    """A convolution of each channel by a filter of its own, and nothing below zero; or a pool."""
    how = f"kernel_shape = {list(kernel)}, pads = {list(pads)}, strides = {list(strides)}"
    if operator != "AveragePool" or dilations != (1, 1):
        how += f", dilations = {list(dilations)}"
    shape = f"{batch}, {CHANNELS}, {rows}, {columns}"
    graph = f"g ({dtype}[{shape}] x) => ({dtype}[{batch}, {CHANNELS}, h, w] y)"
    if operator != "Conv":
        return ingot.parse_model(f"{HEADER} {graph} {{ y = {operator} <{how}> (x) }}")
    weights = ", ".join(f"{value:.4f}" for value in np.linspace(-1, 1.5, CHANNELS * kernel[0] * kernel[1]))
    sizes = f"{CHANNELS}, 1, {kernel[0]}, {kernel[1]}"
    return ingot.parse_model(
        f"{HEADER} {graph} <{dtype}[{sizes}] f = {{{weights}}}, {dtype}[{CHANNELS}] b = {{0.5, -0.5, 0.1}}> "
        f"{{ c = Conv <group = {CHANNELS}, {how}> (x, f, b) y = Relu (c) }}"
    )


def staged(session: ingot.Session) -> list[Staged]:
    assert session.compiled is not None
    kernels = kernels_in(session.compiled.scheduled.steps)
    return [nest for kernel in kernels for nest in kernel.nests if isinstance(nest, Staged)]


def compiled(model: Model, threads: int = 1) -> ingot.Session:
    return ingot.Session(model, providers=("cpu", "reference"), threads=threads, fallback=False)


def image(model: Model) -> Array:
    kind = model.graph.inputs[0].type
    assert isinstance(kind, TensorType)
    assert kind.shape is not None
    return np.random.default_rng(5).standard_normal(kind.shape).astype(kind.dtype.numpy)  # type: ignore[arg-type]


def check(model: Model, x: Array | None = None) -> None:
    """AssertionError unless windows read a copy, nothing beside a buffer is touched, and the result is right."""
    x = image(model) if x is None else x
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    with fenced() as fences:
        session = compiled(model)
        assert staged(session)
        (result,) = session.run(None, {"x": fences.holding(x)})
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [2, 7, 15, 16, 17, 31, 46])
@pytest.mark.parametrize("columns", [17, 33])
def test_any_number_of_rows_in_blocks(rows: int, columns: int) -> None:
    check(window(rows, columns))


@pytest.mark.parametrize("columns", [9, 15, 16, 31, 32, 33, 49, 64])
def test_any_number_of_columns(columns: int) -> None:
    check(window(9, columns, batch=2))


@pytest.mark.parametrize("strides", [(1, 2), (2, 1), (2, 2), (3, 3), (2, 4)])
@pytest.mark.parametrize("columns", [40, 41, 42, 43])
def test_any_stride(strides: tuple[int, int], columns: int) -> None:
    check(window(23, columns, (5, 5), (2, 2, 2, 2), strides))
    check(window(23, columns, (5, 6), (0, 0, 0, 0), strides))


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (4, 4, 4, 4), (0, 1, 2, 0), (4, 0, 0, 4), (1, 3, 0, 2)])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_any_padding(pads: tuple[int, int, int, int], step: int) -> None:
    check(window(18, 54, (5, 5), pads, (step, step)))


@pytest.mark.parametrize("kernel", [(9, 9), (13, 5), (3, 11), (31, 31)])
def test_windows_too_large_to_be_unrolled_whole(kernel: tuple[int, int]) -> None:
    down, right = kernel[0] // 2, kernel[1] // 2
    check(window(20, 37, kernel, (down, right, down, right)))


@pytest.mark.parametrize("dilation", [2, 3])
def test_columns_that_are_some_apart(dilation: int) -> None:
    check(window(20, 37, (5, 5), (2, 4, 2, 4), dilations=(1, dilation)))


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_means_of_windows(step: int, dtype: str) -> None:
    check(window(19, 35, (5, 5), (2, 2, 2, 2), (step, step), operator="AveragePool", dtype=dtype))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_element_that_is_no_finite_number_is_in_its_windows_alone(value: float) -> None:
    model = window(20, 40, (5, 5), (2, 2, 2, 2), (2, 2))
    x = image(model)
    x[0, 1, 7, 9] = value
    check(model, x)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    model = window(31, 29)
    one, *others = [compiled(model, threads).run(None, {"x": image(model)})[0] for threads in (1, 2, 3)]
    for other in others:
        assert one.tobytes() == other.tobytes()


def test_the_memory_of_other_kernels_is_filled_again() -> None:
    """Kernels share scratch memory: what another one left beside an image is not read."""
    graph = "g (float[1, 3, 20, 40] x) => (float[1, 3, 20, 40] y, float[1, 3, 20, 40] z)"
    five = "<kernel_shape = [5, 5], pads = [2, 2, 2, 2]>"
    nine = "<kernel_shape = [9, 9], pads = [4, 4, 4, 4]>"
    model = ingot.parse_model(f"{HEADER} {graph} {{ y = AveragePool {five} (x) z = AveragePool {nine} (y) }}")
    session, x = compiled(model), image(model)
    expected = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    for _ in range(2):
        for result, right in zip(session.run(None, {"x": x}), expected, strict=True):
            np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [17, 29, 30])
def test_results_may_lie_in_the_memory_of_what_is_added(rows: int) -> None:
    shape = f"float[1, 3, {rows}, 40]"
    five = "<kernel_shape = [5, 5], pads = [2, 2, 2, 2]>"
    body = f"a = Exp (x) m = AveragePool {five} (x) s = Add (m, a) y = AveragePool {five} (s)"
    model = ingot.parse_model(f"{HEADER} g ({shape} x) => ({shape} y) {{ {body} }}")
    session, x = compiled(model), image(model)
    assert len(staged(session)) >= 1
    (expected,) = ingot.Session(model, providers=("reference",)).run(None, {"x": x})
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("rows", "copies"), [(17, 0), (31, 0), (32, 1), (33, 1), (14, 1)])
def test_blocks_of_rows_that_something_is_added_to_do_not_overlap(rows: int, copies: int) -> None:
    """What is added twice where its memory has the sum already would be wrong."""
    shape = f"float[1, 3, {rows}, 40]"
    weights = "float[3, 1, 5, 5] f = {" + ", ".join(["0.5"] * 75) + "}"
    body = "c = Conv <group = 3, pads = [2, 2, 2, 2]> (x, f) y = Add (c, z)"
    session = compiled(ingot.parse_model(f"{HEADER} g ({shape} x, {shape} z) => ({shape} y) <{weights}> {{ {body} }}"))
    assert len(staged(session)) == copies
    for nest in staged(session):
        assert not any(isinstance(node, Position) for node in walk(nest))


def test_small_windows_and_narrow_images_are_not_copied() -> None:
    assert not staged(compiled(window(20, 40, (3, 3), (1, 1, 1, 1))))
    narrow = host().lanes(4) // 2
    assert not staged(compiled(window(7, narrow, (5, 5), (2, 2, 2, 2))))


def test_layers_of_other_sizes_share_their_code() -> None:
    texts = set()
    for rows, columns in ((28, 30), (42, 52)):
        session = compiled(window(rows, columns))
        assert session.compiled is not None
        kernels = [step for step in session.compiled.scheduled.steps if isinstance(step, Kernel)]
        texts.add(show_kernel(parametrise(kernels[-1]).kernel))
    assert len(texts) == 1
