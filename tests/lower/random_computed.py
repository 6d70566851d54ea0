"""Random nodes whose sizes a run decides: computed arguments, inputs of any rank, declarations that do not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ingot.dims import Dim, evaluate, symbol
from ingot.dtypes import Array, DType
from ingot.ir import TensorType, Value
from lower.random_graphs import FLOATS, WIDE_INTEGERS, Maker, Shape

_MOST_REPEATED = 2
"""How often Tile repeats an axis."""


def computed(make: Maker) -> None:
    """A node with an argument that is an input of the model, or computed from one."""
    x = make.pick(lambda dtype, shape: 0 < len(shape) < 4 and (dtype in FLOATS or dtype in WIDE_INTEGERS))
    if x is not None:
        make.random.choice(_COMPUTED)(make, x)


def any_rank(make: Maker) -> None:
    """An input without a declared shape, of another rank from run to run, and what is left when it is summed."""
    r = make.random
    dtype = r.choice((DType.FLOAT32, DType.FLOAT32, DType.INT64))
    x = make.input(dtype, (make.size(2, 5),), lambda shape: _of_any_rank(make, dtype, shape[0]))
    value = x
    value.type = TensorType(dtype, None)
    size = make.types.pop(x)[1]
    make.sized[x.name] = dtype, size
    for _ in range(r.choice((0, 1, 2))):
        op = r.choice(("Neg", "Abs", "Identity"))
        (value,) = make.node(op, [value], exact=True)
    if r.random() < 0.4:
        (value,) = make.node("Transpose", [value], exact=True)
    if r.random() < 0.4:
        axis = make.weight(np.array([r.choice((0, -1))], np.int64))
        (value,) = make.node("Unsqueeze", [value, axis], exact=True)
    _settle(make, value)


def declare_wrongly(make: Maker) -> None:
    """Have some declarations of a graph not hold: sizes and ranks of results, names of sizes of inputs."""
    r = make.random
    make.declared = False
    for node in make.graph:
        for value in node.outputs:
            dtype, shape = make.types.get(value, (None, ()))
            if dtype is not None and r.random() < 0.3:
                value.type = TensorType(dtype, _wrong(make, shape))
    if r.random() < 0.5:
        for value in make.graph.inputs:
            if isinstance(value.type, TensorType) and value.type.shape is not None and value in make.types:
                value.type = TensorType(value.type.dtype, tuple(_renamed(make, size) for size in make.types[value][1]))


def _wrong(make: Maker, shape: Shape) -> Shape:
    r = make.random
    wrong: list[Dim] = list(shape)
    if not wrong or r.random() < 0.3:
        return (*shape, r.choice((1, 3, symbol("n"))))
    if r.random() < 0.3:
        return shape[1:]
    wrong[r.randrange(len(wrong))] = r.choice((1, 2, 7, symbol("n"), symbol("k")))
    return tuple(wrong)


def _renamed(make: Maker, size: Dim) -> Dim:
    """A size under a name that another one has too, or with a name in place of a number."""
    if isinstance(size, int):
        return symbol("n") if make.random.random() < 0.2 else size
    return symbol("n")


def _of_any_rank(make: Maker, dtype: DType, size: int) -> Array:
    numbers = np.random.default_rng([make.seed, size])
    shapes = [(size,), (1, size), (size, 2), (2, size, 1), ()]
    return make.array(dtype, shapes[size % len(shapes)], numbers)


def _settle(make: Maker, value: Value) -> None:
    """Put out what has unknown sizes, or sum it up, so that other nodes can read it."""
    if make.random.random() < 0.5:
        make.loose.append(value)
    else:
        make.node("ReduceSum", [value], exact=False, keepdims=0)


def _argument(make: Maker, many: int, draw: Callable[[np.random.Generator, Mapping[str, int]], Sequence[int]]) -> Value:
    """An int64 argument of one axis: an input, a sum with zero, or part of a longer one."""
    r = make.random

    def drawn(numbers: np.random.Generator, sizes: Mapping[str, int]) -> Array:
        return np.asarray(draw(numbers, sizes), np.int64).reshape(many)

    value = make.argument(DType.INT64, (many,), drawn)
    if r.random() < 0.3:
        (value,) = make.node("Add", [value, make.weight(np.asarray(0, np.int64))], exact=True)
    elif r.random() < 0.3:
        (longer,) = make.node("Concat", [value, make.weight(np.array([5], np.int64))], exact=True, axis=0)
        limits = [make.weight(np.array([limit], np.int64)) for limit in (0, many)]
        (value,) = make.node("Slice", [longer, *limits], exact=True)
    return value


def _now(make: Maker, x: Value, sizes: Mapping[str, int]) -> list[int]:
    return [evaluate(size, sizes) for size in make.types[x][1]]


def _reshape(make: Maker, x: Value) -> None:
    many = make.random.choice((1, 2, 3))
    kind = make.random.randrange(3)

    def draw(numbers: np.random.Generator, sizes: Mapping[str, int]) -> list[int]:
        now = _now(make, x, sizes)
        if kind == 0:
            shape = [1] * (many - 1) + [-1]
            return [int(size) for size in numbers.permutation(shape)]
        if kind == 1 and len(now) >= many:
            return [0] * (many - 1) + [-1]
        total = int(np.prod(now))
        divisor = int(numbers.choice([each for each in range(1, 9) if total % each == 0]))
        return [divisor, *[1] * (many - 2), total // divisor] if many > 1 else [total]

    _settle(make, make.node("Reshape", [x, _argument(make, many, draw)], exact=True)[0])


def _slice(make: Maker, x: Value) -> None:
    r, rank = make.random, len(make.types[x][1])
    axes = r.sample(range(rank), r.randint(1, rank))
    limits = [
        _argument(make, len(axes), lambda numbers, _: [int(n) for n in numbers.integers(-8, 20, len(axes))])
        for _ in range(2)
    ]
    steps = r.choice(([], [[r.choice((1, 2, -1, -3)) for _ in axes]]))
    constants = [make.weight(np.asarray(each, np.int64)) for each in (axes, *steps)]
    _settle(make, make.node("Slice", [x, *limits, *constants], exact=True)[0])


def _tile(make: Maker, x: Value) -> None:
    rank = len(make.types[x][1])
    most = _MOST_REPEATED + 1
    repeats = _argument(make, rank, lambda numbers, _: [int(n) for n in numbers.integers(0, most, rank)])
    _settle(make, make.node("Tile", [x, repeats], exact=True)[0])


def _expand(make: Maker, x: Value) -> None:
    rank = len(make.types[x][1])

    def draw(numbers: np.random.Generator, sizes: Mapping[str, int]) -> list[int]:
        own = [size if size != 1 else int(numbers.integers(1, 4)) for size in _now(make, x, sizes)]
        return [int(numbers.integers(1, 3)), *(size if numbers.random() < 0.5 else 1 for size in own)]

    _settle(make, make.node("Expand", [x, _argument(make, rank + 1, draw)], exact=True)[0])


def _pad(make: Maker, x: Value) -> None:
    rank = len(make.types[x][1])
    pads = _argument(make, 2 * rank, lambda numbers, _: [int(n) for n in numbers.integers(0, 3, 2 * rank)])
    _settle(make, make.node("Pad", [x, pads], exact=True, mode=make.random.choice(("constant", "edge")))[0])


def _axes(make: Maker, x: Value) -> None:
    """A reduction over computed axes."""
    rank = len(make.types[x][1])
    many = make.random.randint(1, rank)

    def draw(numbers: np.random.Generator, _: Mapping[str, int]) -> list[int]:
        shifts = numbers.choice((0, rank), many)
        return [int(axis) for axis in numbers.permutation(rank)[:many] - shifts]

    axes, op = _argument(make, many, draw), make.random.choice(("ReduceSum", "ReduceMax", "ReduceMin"))
    keep = make.random.choice((0, 1))
    _settle(make, make.node(op, [x, axes], exact=op != "ReduceSum", keepdims=keep)[0])


def _unsqueeze(make: Maker, x: Value) -> None:
    rank = len(make.types[x][1])
    axis = _argument(make, 1, lambda numbers, _: [int(numbers.integers(-rank - 1, rank + 1))])
    (y,) = make.node("Unsqueeze", [x, axis], exact=True)
    if make.random.random() < 0.5:
        (y,) = make.node("Squeeze", [y, axis], exact=True)
    _settle(make, y)


def _filled(make: Maker, x: Value) -> None:
    """A constant of computed sizes, and what is added to it."""
    rank = len(make.types[x][1])
    shape = _argument(make, rank, lambda _, sizes: _now(make, x, sizes))
    (zeros,) = make.node("ConstantOfShape", [shape], exact=True)
    (same,) = make.node("CastLike", [zeros, x], exact=True)
    _settle(make, make.node("Add", [x, same], exact=True)[0])


def _largest(make: Maker, x: Value) -> None:
    if x not in make.exact:
        return
    make.smooth = make.smooth and make.types[x][0] not in FLOATS
    axis = make.random.randrange(len(make.types[x][1]))

    def draw(numbers: np.random.Generator, sizes: Mapping[str, int]) -> list[int]:
        return [int(numbers.integers(0, _now(make, x, sizes)[axis] + 1))]

    values, places = make.node("TopK", [x, _argument(make, 1, draw)], outputs=2, exact=True, axis=axis)
    for value in (values, places):
        _settle(make, value)


def _split(make: Maker, x: Value) -> None:
    axis = make.random.randrange(len(make.types[x][1]))

    def draw(numbers: np.random.Generator, sizes: Mapping[str, int]) -> list[int]:
        size = _now(make, x, sizes)[axis]
        first = int(numbers.integers(0, size + 1))
        return [first, size - first]

    for part in make.node("Split", [x, _argument(make, 2, draw)], outputs=2, exact=True, axis=axis):
        _settle(make, part)


def _chosen(make: Maker, x: Value) -> None:
    """The elements that a condition chooses."""
    if x not in make.exact or make.types[x][0] in FLOATS:
        return
    zero = make.weight(np.asarray(0, make.types[x][0].numpy))
    flat = make.weight(np.array([-1], np.int64))
    (condition,) = make.node("Greater", [x, zero], exact=True)
    if make.random.random() < 0.5:
        _settle(make, make.node("NonZero", [condition], exact=True)[0])
    else:
        (condition,) = make.node("Reshape", [condition, flat], exact=True)
        _settle(make, make.node("Compress", [x, condition], exact=True)[0])


_COMPUTED = (_reshape, _slice, _tile, _expand, _pad, _axes, _unsqueeze, _filled, _largest, _split, _chosen)
