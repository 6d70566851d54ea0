"""Nodes of random graphs that move elements: views, joins, and places that are computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import Array, DType
from ingot.ir import Value
from lower.random_graphs import INTEGERS, Maker, Shape

INDICES = (DType.INT64, DType.INT32)


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
        if None not in target and 0 not in shape:
            make.node("Reshape", [x, _ints(make, target)], exact=True)
    elif kind == "split":
        size = shape[at]
        if isinstance(size, int) and size % 4 == 0 and size:
            after = [-1 if not isinstance(each, int) else each for each in shape[at + 1 :]]
            if after.count(-1) < 2 and 0 not in shape:
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
    whole = shape[axis]
    assert isinstance(whole, int)
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
        kind = make.random.choice(("none", "none", "add", "max", "min"))
        exact = dtype in INTEGERS or kind != "add"
        make.node("ScatterElements", [x, places, updates], exact=exact, axis=axis, reduction=kind)


def gather_nd(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 1)
    if x is not None:
        shape = make.types[x][1]
        batch = make.random.choice((0, 0, 1))
        places: Shape = (*shape[:batch], make.random.choice((1, 3, 17)), 1)
        indices = _places(make, shape[batch], places, (DType.INT64,))
        make.node("GatherND", [x, indices], exact=True, batch_dims=batch)


def computed_shape(make: Maker) -> None:
    """A reshape to sizes that the model computes from those of its input, as exporters write it."""
    x = make.pick(lambda _, shape: len(shape) > 1 and 0 not in shape)
    if x is None:
        return
    rank = len(make.types[x][1])
    (sizes,) = make.node("Shape", [x], exact=True)
    (first,) = make.node("Gather", [sizes, _ints(make, [0])], exact=True, axis=0)
    parts = [first, _ints(make, [-1])]
    if make.random.random() < 0.4:
        (rest,) = make.node("Slice", [sizes, _ints(make, [1]), _ints(make, [rank])], exact=True)
        (count,) = make.node("ReduceProd", [rest], exact=True, keepdims=1)
        parts = [first, count]
    (target,) = make.node("Concat", parts, exact=True, axis=0)
    make.node("Reshape", [x, target], exact=True)


def triangle(make: Maker) -> None:
    x = make.pick(lambda _, shape: len(shape) > 1)
    if x is not None:
        k = make.random.choice((0, 0, 1, -2, 100, -100))
        make.node("Trilu", [x, make.weight(np.asarray(k, np.int64))], exact=True, upper=make.random.choice((0, 1)))


def one_hot(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype in (*INDICES, DType.INT8, DType.UINT8) and len(shape) < 4)
    if x is None:
        return
    depth = make.random.choice((1, 5, 17))
    kind = make.random.choice((DType.FLOAT32, DType.INT32, DType.BFLOAT16)).numpy
    if make.fits((*make.types[x][1], depth)):
        inputs = [x, make.weight(np.asarray(depth, np.int64)), make.weight(np.asarray([2, 3], kind))]
        make.node("OneHot", inputs, exact=True, axis=make.random.choice((-1, 0)))


def blocks(make: Maker) -> None:
    """Channels to pixels and back, and images made larger by their nearest pixels."""
    x = make.pick(lambda dtype, shape: dtype is not DType.BOOL and len(shape) == 4)
    if x is None:
        return
    channels, rows, columns = make.types[x][1][1:]
    if isinstance(channels, int) and channels and channels % 4 == 0:
        mode = make.random.choice(("DCR", "CRD"))
        make.node("DepthToSpace", [x], exact=True, blocksize=2, mode=mode)
    elif all(isinstance(size, int) and size and size % 2 == 0 for size in (rows, columns)):
        make.node("SpaceToDepth", [x], exact=True, blocksize=2)
    elif all(isinstance(size, int) and size for size in (rows, columns)):
        scales = make.weight(np.asarray([1, 1, 2, make.random.choice((1, 2, 3))], np.float32))
        make.node(
            "Resize",
            [x, None, scales],
            exact=True,
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )


def largest(make: Maker) -> None:
    """The largest few, which no kernel finds: between what is compiled, a call of the reference."""
    x = make.pick(lambda dtype, shape: dtype is not DType.BOOL and len(shape) > 0)
    if x is None or x not in make.exact or make.special or make.random.random() < 0.5:
        return
    shape = make.types[x][1]
    axis = make.random.randrange(len(shape))
    size = shape[axis]
    if isinstance(size, int) and size:
        make.smooth = make.smooth and make.types[x][0] in INTEGERS
        make.node("TopK", [x, _ints(make, [make.random.randint(1, size)])], outputs=2, exact=True, axis=axis)


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
