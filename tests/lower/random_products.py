"""Nodes of random graphs that multiply and add up: products of matrices, convolutions, and pooling beside them."""

from __future__ import annotations

from typing import Any

from ingot.dtypes import DType
from ingot.ir import Value
from lower.random_graphs import FLOATS, INTEGERS, WIDE_INTEGERS, Maker, Shape


def matmul(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: (dtype in FLOATS or dtype in WIDE_INTEGERS) and len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    column = make.size(1, 2, 5, 15, 16, 17, 33, 64, 65)
    batch: Shape = shape[:-2] if make.random.random() < 0.4 else ()
    other: Shape = (*batch, shape[-1], column) if make.random.random() < 0.85 else (shape[-1],)
    if not make.fits((*shape[:-1], column)) or not make.fits(other):
        return
    y = make.operand(dtype, other)
    pair = [x, y]
    if make.random.random() < 0.3 and len(shape) > 1:
        pair = [make.operand(dtype, (column, shape[-2])), x]
    (found,) = make.node("MatMul", pair, exact=dtype in INTEGERS)
    _epilogue(make, found)


def _epilogue(make: Maker, found: Value) -> None:
    """What a contraction is often followed by."""
    if found in make.types and make.random.random() < 0.5:
        dtype, shape = make.types[found]
        (found,) = make.node("Add", [found, make.operand(dtype, make.broadcast(shape))], exact=True)
        if dtype in FLOATS and make.random.random() < 0.6:
            make.node(make.random.choice(("Relu", "Sigmoid", "Gelu", "LeakyRelu")), [found], exact=False)


def gemm(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: (dtype in FLOATS or dtype in WIDE_INTEGERS) and len(shape) == 2)
    if x is None:
        return
    dtype, shape = make.types[x]
    left, right = make.random.choice((0, 1)), make.random.choice((0, 1))
    rows, depth = shape[::-1] if left else shape
    column = make.random.choice((1, 3, 16, 17, 40, 65))
    y = make.operand(dtype, (column, depth) if right else (depth, column))
    inputs = [x, y]
    if make.random.random() < 0.7:
        inputs.append(make.operand(dtype, make.random.choice(((rows, column), (column,), (1, column), (rows, 1), ()))))
    if make.fits((rows, column)):
        scale = make.random.choice((1.0, 2.0)) if dtype in INTEGERS else make.random.choice((1.0, 0.5, 1.7))
        make.node("Gemm", inputs, exact=dtype in INTEGERS, transA=left, transB=right, alpha=scale, beta=scale)


def einsum(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype is not DType.BOOL and len(shape) in (2, 3))
    if x is None:
        return
    dtype, shape = make.types[x]
    left = "ijk"[: len(shape)]
    shared = "".join(letter for letter in left if make.random.random() < 0.6)
    right = "".join(make.random.sample(shared + "o", len(shared) + 1))
    extra = make.size(1, 3, 16, 17, 65)
    y = make.operand(dtype, tuple(extra if letter == "o" else shape[left.index(letter)] for letter in right))
    kept = [letter for letter in left + "o" if letter not in shared or make.random.random() < 0.4]
    make.random.shuffle(kept)
    sizes = [extra if letter == "o" else shape[left.index(letter)] for letter in kept]
    if make.fits(sizes):
        exact = dtype in INTEGERS
        make.node("Einsum", [x, y], exact=exact, equation=f"{left},{right}->{''.join(kept)}")


def convolution(make: Maker) -> None:
    spatial = make.random.choice((1, 2, 2))
    x = make.pick(lambda dtype, shape: dtype in FLOATS and len(shape) == spatial + 2 and isinstance(shape[1], int))
    if x is None:
        dtype = make.random.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16, DType.FLOAT64))
        first = make.size(1, 2)
        sizes = [make.size(3, 5, 8, 9) for _ in range(spatial)]
        start: Shape = (first, make.random.choice((1, 2, 3, 4, 8, 16, 32)), *sizes)
        if not make.fits(start):
            return
        x = make.input(dtype, start)
    dtype, shape = make.types[x]
    channels = shape[1]
    assert isinstance(channels, int)
    groups = make.random.choice((1, 1, 1, channels, *(g for g in (2, 4) if channels % g == 0)))
    if groups == 0 or channels == 0:
        return
    out = groups * make.random.choice((1, 2, 3, 8, 16) if groups == 1 else (1, 1, 2))
    kernel = [make.random.choice((1, 2, 3)) for _ in range(spatial)]
    dilations = [make.random.choice((1, 1, 1, 2)) for _ in range(spatial)]
    strides = [make.random.choice((1, 1, 2, 3)) for _ in range(spatial)]
    pads = [make.random.choice((0, 1, 2)) for _ in range(2 * spatial)]
    for axis, size in enumerate(shape[2:]):
        if not isinstance(size, int) or size + pads[axis] + pads[axis + spatial] < 6:
            pads[axis] = dilations[axis] * kernel[axis]  # whatever the size is, there is a window
    weight = make.operand(dtype, (out, channels // groups, *kernel))
    inputs = [x, weight, *([make.operand(dtype, (out,))] if make.random.random() < 0.5 else [])]
    if not make.fits((shape[0], out, *(size + 6 for size in shape[2:]))):
        return
    attributes: dict[str, Any] = {
        "group": groups,
        "pads": pads,
        "strides": strides,
        "dilations": dilations,
        "kernel_shape": kernel,
    }
    (found,) = make.node("Conv", inputs, exact=False, **attributes)
    _epilogue(make, found)


def pooling(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype in FLOATS and len(shape) in (3, 4))
    if x is None:
        return
    spatial = len(make.types[x][1]) - 2
    op = make.random.choice(("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"))
    exact = op in ("MaxPool", "GlobalMaxPool")
    if op.startswith("Global"):
        make.node(op, [x], exact=exact)
        return
    kernel = [make.random.choice((1, 2, 3)) for _ in range(spatial)]
    if any(not isinstance(size, int) or size < 3 for size in make.types[x][1][2:]):
        kernel = [1] * spatial
    pads = [make.random.choice((0, size // 2)) for size in kernel * 2]
    strides = [make.random.choice((1, 2)) for _ in range(spatial)]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "pads": pads, "strides": strides}
    if op == "AveragePool":
        attributes["count_include_pad"] = make.random.choice((0, 1))
    make.node(op, [x], exact=exact, ceil_mode=make.random.choice((0, 1)), **attributes)
