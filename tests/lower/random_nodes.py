"""What random graphs are made of: each function adds a node or two to a graph in the making, where they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ir import Value
from lower.random_graphs import FLOATS, INTEGERS, WIDE_INTEGERS, Drawn, Maker, Shape

ARITHMETIC = ("Add", "Sub", "Mul")
SMOOTH = (
    "Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Gelu", "Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Mish",
    "Sin", "Cos", "Atan", "Exp", "Asinh", "Swish", "Sqrt", "Log", "Reciprocal",
)  # fmt: skip
SHARP = ("Abs", "Neg", "Relu", "LeakyRelu", "Identity", "ThresholdedRelu")
ROUNDING = ("Floor", "Ceil", "Round", "Sign")
COMPARE = ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
REDUCE = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare")
INDICES = (DType.INT64, DType.INT32)


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


# --- contractions


def matmul(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: (dtype in FLOATS or dtype in WIDE_INTEGERS) and len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    column = make.random.choice((1, 2, 5, 15, 16, 17, 33, 64, 65, *make.names))
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
    extra = make.random.choice((1, 3, 16, 17))
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
        first: Dim = make.random.choice((1, 2, *make.names))
        sizes = [make.random.choice((3, 5, 8, 9, *make.names)) for _ in range(spatial)]
        channels = make.random.choice((1, 2, 3, 4, 8, 16, 32))
        if not make.fits((first, channels, *sizes)):
            return
        x = make.input(dtype, (first, channels, *sizes))
    dtype, shape = make.types[x]
    channels = int(shape[1])  # type: ignore[call-overload]
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
    attributes = {"group": groups, "pads": pads, "strides": strides, "dilations": dilations, "kernel_shape": kernel}
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
    attributes: dict[str, object] = {"kernel_shape": kernel, "pads": pads, "strides": strides}
    if op == "AveragePool":
        attributes["count_include_pad"] = make.random.choice((0, 1))
    make.node(op, [x], exact=exact, ceil_mode=make.random.choice((0, 1)), **attributes)


# --- views


def transpose(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 1)
    if x is not None:
        rank = len(make.types[x][1])
        make.node("Transpose", [x], exact=True, perm=make.random.sample(range(rank), rank))


def reshape(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is None:
        return
    shape = make.types[x][1]
    kind = make.random.choice(("flatten", "join", "split", "squeeze", "unsqueeze", "rest"))
    at = make.random.randrange(len(shape))
    if kind == "flatten":
        make.node("Flatten", [x], exact=True, axis=make.random.randint(-len(shape), len(shape)))
    elif kind == "unsqueeze":
        axis = make.random.choice((at, -1))
        make.node("Unsqueeze", [x, _ints(make, [axis])], exact=True)
    elif kind == "squeeze" and 1 in shape:
        make.node("Squeeze", [x, _ints(make, [shape.index(1)])], exact=True)
    elif kind == "join" and len(shape) > 1 and at + 1 < len(shape):
        target = [0] * at + [-1] + [size if isinstance(size, int) else None for size in shape[at + 2 :]]
        if None not in target and 0 not in target[at + 1 :]:
            make.node("Reshape", [x, _ints(make, target)], exact=True)
    elif kind == "split":
        size = shape[at]
        if isinstance(size, int) and size % 4 == 0 and size:
            after = [-1 if not isinstance(each, int) else each for each in shape[at + 1 :]]
            if after.count(-1) < 2 and 0 not in after:
                make.node("Reshape", [x, _ints(make, [0] * at + [size // 4, 4] + after)], exact=True)
    elif kind == "rest":
        make.node("Reshape", [x, _ints(make, [-1])], exact=True)


def _ints(make: Maker, numbers: Sequence[object]) -> Value:
    return make.weight(np.asarray(numbers, np.int64))


def slice_(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is None:
        return
    shape = make.types[x][1]
    axes = make.random.sample(range(len(shape)), make.random.randint(1, min(2, len(shape))))
    steps = [make.random.choice((1, 1, 2, 3, -1, -2)) for _ in axes]
    starts, ends = [], []
    for step in steps:
        first = make.random.choice((0, 0, 1, 2, -3, -1, 100))
        last = make.random.choice((1 << 62, 1 << 62, -1, 7, 16))
        if step < 0:
            first, last = make.random.choice((-1, -2, 1 << 62, 5)), make.random.choice((-(1 << 62), 0, 1, -20))
        starts.append(first)
        ends.append(last)
    make.node("Slice", [x, *(_ints(make, each) for each in (starts, ends, axes, steps))], exact=True)


def concat(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    axis = make.random.randrange(len(shape))
    parts = [x]
    for _ in range(make.random.choice((1, 1, 2))):
        size = make.random.choice((shape[axis], 1, 3, 16))
        parts.append(make.operand(dtype, (*shape[:axis], size, *shape[axis + 1 :])))
    make.random.shuffle(parts)
    make.node("Concat", parts, exact=True, axis=axis - make.random.choice((0, len(shape))))


def split(make: Maker) -> None:
    x = make.pick(lambda _, shape: any(isinstance(size, int) and size > 1 for size in shape))
    if x is None:
        return
    shape = make.types[x][1]
    axis = make.random.choice([axis for axis, size in enumerate(shape) if isinstance(size, int) and size > 1])
    whole = int(shape[axis])  # type: ignore[call-overload]
    first = make.random.randint(0, whole)
    if make.random.random() < 0.5:
        make.node("Split", [x, _ints(make, [first, whole - first])], outputs=2, exact=True, axis=axis)
    else:
        make.node("Split", [x], outputs=2, exact=True, axis=axis, num_outputs=2)


def expand(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) < 4)
    if x is None:
        return
    shape = make.types[x][1]
    target = [make.random.choice((1, 2, 5)), *(1 if size != 1 else make.random.choice((1, 3, 16)) for size in shape)]
    repeats = [make.random.choice((1, 1, 2, 3)) for _ in shape]
    if make.random.random() < 0.5:
        make.node("Expand", [x, _ints(make, target[make.random.choice((0, 1)) :])], exact=True)
    elif shape:
        make.node("Tile", [x, _ints(make, repeats)], exact=True)


def pad(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    amounts = [make.random.choice((0, 0, 1, 2, -1)) for _ in range(2 * len(shape))]
    if any(size in (0, 1) or not isinstance(size, int) for size in shape):
        amounts = [abs(each) for each in amounts]
    mode = make.random.choice(("constant", "constant", "constant", "edge", "reflect", "wrap"))
    if mode != "constant" and any(not isinstance(size, int) or size < 4 for size in shape):
        mode = "constant"
    inputs = [x, _ints(make, amounts)]
    if mode == "constant" and dtype is not DType.BOOL:
        inputs.append(make.weight(np.asarray(make.random.choice((0, 1, 3)), dtype.numpy)))
    make.node("Pad", inputs, exact=True, mode=mode)


def gather(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is None:
        return
    shape = make.types[x][1]
    axis = make.random.randrange(len(shape))
    places: Shape = make.random.choice(((), (1,), (3,), (17,), (2, 5), *((name,) for name in make.names)))
    make.node("Gather", [x, _places(make, shape[axis], places)], exact=True, axis=axis)


def gather_elements(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 0)
    if x is not None:
        shape = make.types[x][1]
        axis = make.random.randrange(len(shape))
        count: Dim = make.random.choice((1, 3, 17, shape[axis]))
        places = (*shape[:axis], count, *shape[axis + 1 :])
        make.node("GatherElements", [x, _places(make, shape[axis], places)], exact=True, axis=axis)


def scatter(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: len(shape) > 0 and dtype is not DType.BOOL)
    if x is None:
        return
    dtype, shape = make.types[x]
    count = make.random.choice((1, 3, 17))
    if make.random.random() < 0.6:
        places = _places(make, shape[0], (count, 1), (DType.INT64,))
        updates = make.operand(dtype, (count, *shape[1:]))
        kind = make.random.choice(("none", "none", "add", "max", "min"))
        make.node("ScatterND", [x, places, updates], exact=dtype in INTEGERS or kind != "add", reduction=kind)
    else:
        axis = make.random.randrange(len(shape))
        sizes = (*shape[:axis], count, *shape[axis + 1 :])
        places, updates = _places(make, shape[axis], sizes), make.operand(dtype, sizes)
        make.node("ScatterElements", [x, places, updates], exact=True, axis=axis)


def _places(make: Maker, size: Dim, shape: Shape, kinds: Sequence[DType] = INDICES) -> Value:
    """Indices, now and then one too many; where the size is not known, few that are mostly there."""
    most = size if isinstance(size, int) and size else 1
    low, high = (-most, most) if make.random.random() < 0.98 else (-most - 1, most + 2)
    kind = make.random.choice(kinds).numpy
    seed = make.random.randrange(1 << 30)

    def draw(sizes: tuple[int, ...]) -> Array:
        return np.random.default_rng(seed).integers(low, high, sizes).astype(kind)

    plain = [each for each in shape if isinstance(each, int)]
    if len(plain) == len(shape) and make.random.random() < 0.5:
        return make.weight(draw(tuple(plain)))
    return make.input(DType.of(kind), shape, draw)


STEPS: tuple[Callable[[Maker], None], ...] = (
    *(arithmetic,) * 4, *(unary,) * 3, integer_unary, rounding, clip, *(cast,) * 2, compare, logic, *(where,) * 2,
    *(reduce,) * 4, *(normalise,) * 2, place_of_extreme, running, *(matmul,) * 3, gemm, einsum, *(convolution,) * 2,
    pooling, *(transpose,) * 2, *(reshape,) * 3, *(slice_,) * 2, concat, split, expand, pad, *(gather,) * 2,
    gather_elements, scatter,
)  # fmt: skip
