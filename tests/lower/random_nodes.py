"""Random models, node by node: each function adds a node or two to a graph in the making, where they fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ingot.dtypes import DType
from lower.random_computed import any_rank, computed, declare_wrongly
from lower.random_graphs import FLOATS, INTEGERS, WIDE_INTEGERS, Drawn, Maker
from lower.random_layers import (
    attention,
    bits,
    integer_product,
    many_channels,
    normalise_channels,
    quantise,
    root_mean_square,
    several,
)
from lower.random_products import convolution, einsum, gemm, matmul, pooling
from lower.random_views import (
    blocks,
    computed_shape,
    concat,
    expand,
    gather,
    gather_elements,
    gather_nd,
    largest,
    one_hot,
    pad,
    reshape,
    scatter,
    slice_,
    split,
    transpose,
    triangle,
)

ARITHMETIC = ("Add", "Sub", "Mul")
SMOOTH = (
    "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Gelu", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Mish",
    "Sin", "Cos", "Atan", "Exp", "Asinh", "Swish", "Sqrt", "Log", "Reciprocal",
)  # fmt: skip
SHARP = ("Abs", "Neg", "Relu", "LeakyRelu", "Identity", "ThresholdedRelu")
ROUNDING = ("Floor", "Ceil", "Round", "Sign")
COMPARE = ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare")


def random_model(seed: int) -> Drawn:
    """The model of a seed: 3 to 25 nodes, up to three outputs."""
    make = Maker(seed)
    r = make.random
    make.input(r.choice((DType.FLOAT32, DType.FLOAT32, r.choice(DTYPES_OF_INPUTS))), make.shape())
    wanted = r.choice((3, 5, 8, 12, 16, 25))
    for _ in range(200):
        if len(make.graph.nodes) >= wanted:
            break
        r.choice(STEPS)(make)
    computed = [value for value in make.types if value.producer is not None]
    if not computed:
        return random_model(seed + 1_000_000_007)
    last = [value for value in computed if not value.uses] or computed[-1:]
    outputs = dict.fromkeys([*r.sample(last, min(len(last), r.choice((1, 2, 4)))), r.choice(computed)])
    outputs.update(dict.fromkeys(r.sample(make.loose, min(len(make.loose), 2))))
    if r.random() < 0.15:
        declare_wrongly(make)
    return make.drawn(list(outputs))


DTYPES_OF_INPUTS = (*FLOATS, *INTEGERS, DType.BOOL)


def arithmetic(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype is not DType.BOOL)
    if x is None:
        return
    dtype, shape = make.types[x]
    y = make.operand(dtype, make.broadcast(shape))
    op = make.random.choice((*ARITHMETIC, "Max", "Min", "Div"))
    if op == "Div" and dtype in INTEGERS and make.random.random() < 0.97:
        y = make.weight(np.asarray(make.random.choice((1, 2, 3, 7)), dtype.numpy))
    pair = [x, y] if op == "Div" or make.random.random() < 0.7 else [y, x]
    make.node(op, pair, exact=True)


def unary(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype in FLOATS)
    if x is not None:
        op = make.random.choice((*SMOOTH, *SHARP))
        if op in ("Sqrt", "Log", "Reciprocal"):
            (x,) = make.node("Abs", [x], exact=True)
            one = make.weight(np.asarray(0.5, make.types[x][0].numpy))
            (x,) = make.node("Add", [x, one], exact=True)
        if op == "Exp":
            low, high = (make.weight(np.asarray(bound, make.types[x][0].numpy)) for bound in (-9, 5))
            (x,) = make.node("Clip", [x, low, high], exact=True)
        make.node(op, [x], exact=op in SHARP or op == "Sqrt")


def integer_unary(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype in (DType.INT8, DType.INT16, DType.INT32, DType.INT64))
    if x is not None:
        make.node(make.random.choice(("Abs", "Neg", "Relu", "Sign", "BitwiseNot")), [x], exact=True)


def rounding(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype in FLOATS)
    if x is not None and x in make.exact:
        make.smooth = False
        make.node(make.random.choice(ROUNDING), [x], exact=True)


def clip(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype is not DType.BOOL)
    if x is not None:
        kind = make.types[x][0].numpy
        low = make.weight(np.asarray(1, kind)) if make.random.random() < 0.7 else None
        high = make.weight(np.asarray(5, kind)) if make.random.random() < 0.7 else None
        make.node("Clip", [x, low, high], exact=True)


def cast(make: Maker) -> None:
    x = make.pick()
    if x is None:
        return
    dtype, _ = make.types[x]
    target = make.random.choice((*FLOATS, *INTEGERS, DType.BOOL))
    if dtype in FLOATS and target not in FLOATS:
        if x not in make.exact or make.special:
            return
        make.smooth = False
        kind = dtype.numpy
        low = 0 if target.name.startswith("U") else -100
        (x,) = make.node(
            "Clip", [x, make.weight(np.asarray(low, kind)), make.weight(np.asarray(100, kind))], exact=True
        )
    make.node("Cast", [x], exact=True, to=int(target))


def compare(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype is not DType.BOOL)
    if x is None or x not in make.exact:
        return
    dtype, shape = make.types[x]
    y = make.operand(dtype, make.broadcast(shape))
    if y in make.exact:
        make.smooth = make.smooth and dtype not in FLOATS
        make.node(make.random.choice(COMPARE), [x, y], exact=True)


def logic(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype is DType.BOOL)
    if x is not None:
        y = make.operand(DType.BOOL, make.broadcast(make.types[x][1]))
        op = make.random.choice(("And", "Or", "Xor", "Not"))
        make.node(op, [x] if op == "Not" else [x, y], exact=True)


def where(make: Maker) -> None:
    x = make.pick()
    if x is not None:
        dtype, shape = make.types[x]
        condition = make.operand(DType.BOOL, make.broadcast(shape))
        make.node("Where", [condition, x, make.operand(dtype, make.broadcast(shape))], exact=True)


def reduce(make: Maker) -> None:
    x = make.pick(lambda dtype, _: dtype in FLOATS or dtype in WIDE_INTEGERS)
    if x is None:
        return
    dtype, shape = make.types[x]
    op = make.random.choice((*REDUCE, "ReduceLogSumExp"))
    if dtype in INTEGERS and op not in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"):
        return
    axes = make.random.sample(range(len(shape)), make.random.randint(0, len(shape)))
    signed = [axis - make.random.choice((0, len(shape))) for axis in axes]
    given = [make.weight(np.asarray(signed, np.int64))] if make.random.random() < 0.85 else []
    exact = op in ("ReduceMax", "ReduceMin") or dtype in INTEGERS
    keep, noop = make.random.choice((0, 1)), make.random.choice((0, 0, 1))
    make.node(op, [x, *given], exact=exact, keepdims=keep, noop_with_empty_axes=noop)


def normalise(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype in FLOATS and len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    axis = make.random.randrange(-len(shape), len(shape))
    if make.random.random() < 0.6 or not all(isinstance(size, int) and size > 1 for size in shape[axis:]):
        make.node(make.random.choice(("Softmax", "Softmax", "LogSoftmax")), [x], exact=False, axis=axis)
    else:
        scale, bias = (make.operand(dtype, shape[axis:]) for _ in range(2))
        make.node("LayerNormalization", [x, scale, bias], exact=False, axis=axis)


def place_of_extreme(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype is not DType.BOOL and len(shape) > 0)
    if x is not None and x in make.exact:
        make.smooth = make.smooth and make.types[x][0] not in FLOATS
        axis = make.random.randrange(-len(make.types[x][1]), len(make.types[x][1]))
        keep, last = make.random.choice((0, 1)), make.random.choice((0, 1))
        op = make.random.choice(("ArgMax", "ArgMin"))
        make.node(op, [x], exact=True, axis=axis, keepdims=keep, select_last_index=last)


def running(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: (dtype in FLOATS or dtype in WIDE_INTEGERS) and len(shape) > 0)
    if x is not None:
        dtype, shape = make.types[x]
        axis = make.weight(np.asarray(make.random.randrange(-len(shape), len(shape)), np.int64))
        exclusive, reverse = make.random.choice((0, 1)), make.random.choice((0, 1))
        make.node("CumSum", [x, axis], exact=dtype in INTEGERS, exclusive=exclusive, reverse=reverse)


STEPS: tuple[Callable[[Maker], None], ...] = (
    *(arithmetic,) * 4, *(unary,) * 3, integer_unary, rounding, clip, *(cast,) * 2, compare, logic, *(where,) * 2,
    *(reduce,) * 4, *(normalise,) * 2, place_of_extreme, running, *(matmul,) * 3, gemm, einsum, *(convolution,) * 2,
    pooling, *(transpose,) * 2, *(reshape,) * 3, *(slice_,) * 2, concat, split, expand, pad, *(gather,) * 2,
    gather_elements, scatter, normalise_channels, root_mean_square, *(attention,) * 2, *(quantise,) * 2,
    integer_product, many_channels, *(bits,) * 2, *(several,) * 2, gather_nd, *(computed_shape,) * 2, triangle, one_hot,
    blocks, largest, *(computed,) * 4, any_rank,
)  # fmt: skip
