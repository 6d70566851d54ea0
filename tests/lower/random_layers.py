"""Nodes of random graphs that models are built of: normalisations, attention, quantised products, many channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.dims import Dim
from ingot.dtypes import DType
from ingot.ir import Value
from lower.random_graphs import FLOATS, INTEGERS, Maker, Shape

BYTES = (DType.INT8, DType.UINT8)


def normalise_channels(make: Maker) -> None:
    """A normalisation by channel: of a batch, an instance or a group."""
    x = make.pick(lambda dtype, shape: dtype in FLOATS and len(shape) > 2 and isinstance(shape[1], int))
    if x is None:
        return
    dtype, shape = make.types[x]
    channels = shape[1]
    assert isinstance(channels, int)
    if not channels or make.special:
        return
    kind = make.random.choice(("BatchNormalization", "InstanceNormalization", "GroupNormalization"))
    scale, bias = (_vector(make, dtype, channels) for _ in range(2))
    if kind == "BatchNormalization":
        mean, variance = _vector(make, dtype, channels), _vector(make, dtype, channels, least=0.5)
        make.node(kind, [x, scale, bias, mean, variance], exact=False)
        return
    if not all(isinstance(size, int) and size for size in shape[2:]):
        return
    attributes: dict[str, Any] = {}
    if kind == "GroupNormalization":
        groups = make.random.choice([each for each in range(1, channels + 1) if channels % each == 0])
        attributes = {"num_groups": groups}
    make.node(kind, [x, scale, bias], exact=False, **attributes)


def _vector(make: Maker, dtype: DType, size: int, least: float | None = None) -> Value:
    numbers = make.numbers.standard_normal(size)
    return make.weight((numbers if least is None else np.abs(numbers) + least).astype(dtype.numpy))


def root_mean_square(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype in FLOATS and len(shape) > 0)
    if x is None:
        return
    dtype, shape = make.types[x]
    axis = make.random.randrange(-len(shape), 0)
    if not make.special and all(isinstance(size, int) and size for size in shape[axis:]):
        make.node("RMSNormalization", [x, make.operand(dtype, shape[axis:])], exact=False, axis=axis)


def attention(make: Maker) -> None:
    """Scores, a scale, now and then a mask, a softmax, and what it reads, as exporters write it."""
    dtype = make.random.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT32, *FLOATS))
    heads: Shape = make.random.choice(((), (2,), (1, 3)))
    size = make.random.choice((4, 8, 16, 33))
    queries, keys = make.size(1, 5, 16, 17), make.size(1, 5, 16, 17)
    q, k = make.operand(dtype, (*heads, queries, size)), make.operand(dtype, (*heads, keys, size))
    if not make.fits((*heads, queries, keys)):
        return
    order = [*range(len(heads)), len(heads) + 1, len(heads)]
    (turned,) = make.node("Transpose", [k], exact=True, perm=order)
    (scores,) = make.node("MatMul", [q, turned], exact=False)
    factor = make.weight(np.asarray(make.random.choice((0.25, 0.35)), dtype.numpy))
    (scores,) = make.node(make.random.choice(("Mul", "Div")), [scores, factor], exact=True)
    if make.random.random() < 0.5:
        scores = _masked(make, scores, dtype, (queries, keys))
    (shares,) = make.node("Softmax", [scores], exact=False, axis=-1)
    make.node("MatMul", [shares, make.operand(dtype, (*heads, keys, make.random.choice((1, 8, 17))))], exact=False)


def _masked(make: Maker, scores: Value, dtype: DType, shape: tuple[Dim, Dim]) -> Value:
    if make.random.random() < 0.5:
        (found,) = make.node("Add", [scores, make.operand(dtype, shape)], exact=True)
        return found
    far = make.weight(np.asarray(-1e4, dtype.numpy))
    (found,) = make.node("Where", [make.operand(DType.BOOL, shape), scores, far], exact=True)
    return found


def quantise(make: Maker) -> None:
    """Floats to bytes and back, or bytes to floats: rounding decides, so what is rounded has to be exact."""
    x = make.pick(lambda dtype, _: dtype in (DType.FLOAT32, DType.FLOAT16, *BYTES, DType.INT32))
    if x is None or make.special:
        return
    dtype, _ = make.types[x]
    kind = dtype if dtype in (DType.FLOAT32, DType.FLOAT16) else make.random.choice((DType.FLOAT32, DType.FLOAT16))
    scale = make.weight(np.asarray(make.random.choice((0.125, 0.1, 0.3)), kind.numpy))
    if dtype in (*BYTES, DType.INT32):
        zero = [] if dtype is DType.INT32 else [make.weight(np.asarray(make.random.choice((0, 3, 100)), dtype.numpy))]
        make.node("DequantizeLinear", [x, scale, *zero], exact=True)
    elif x in make.exact:
        make.smooth = False
        target = make.random.choice(BYTES)
        zero = [make.weight(np.asarray(make.random.choice((0, 3, 100)), target.numpy))]
        make.node("QuantizeLinear", [x, scale, *zero], exact=True)


def integer_product(make: Maker) -> None:
    x = make.pick(lambda dtype, shape: dtype in BYTES and len(shape) > 1)
    if x is None:
        return
    dtype, shape = make.types[x]
    column = make.random.choice((1, 5, 16, 33))
    if make.fits((*shape[:-1], column)):
        other = make.random.choice(BYTES)
        inputs: list[Value | None] = [x, make.operand(other, (shape[-1], column))]
        if make.random.random() < 0.6:
            inputs.append(make.weight(np.asarray(3, dtype.numpy)) if make.random.random() < 0.8 else None)
            inputs.append(make.weight(np.asarray(2, other.numpy)))
        make.node("MatMulInteger", inputs, exact=True)


def many_channels(make: Maker) -> None:
    """A convolution by 3 x 3 filters from many channels to many, which takes a way of its own."""
    channels = make.random.choice((16, 24, 32))
    shape: Shape = (make.size(1, 1), channels, make.random.choice((4, 7, 9)), make.random.choice((4, 7, 9)))
    if not make.fits(shape) or make.random.random() < 0.7:  # it is slow on the reference
        return
    weight = make.weight(make.array(DType.FLOAT32, (make.random.choice((16, 32)), channels, 3, 3), make.numbers) / 8)
    x = make.operand(DType.FLOAT32, shape)
    (found,) = make.node("Conv", [x, weight], exact=False, pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    if make.random.random() < 0.5:
        make.node("Relu", [found], exact=False)


def bits(make: Maker) -> None:
    """Integers bit by bit, and what is left of a division."""
    x = make.pick(lambda dtype, _: dtype in INTEGERS)
    if x is None:
        return
    dtype, shape = make.types[x]
    kind = make.random.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod", "BitShift"))
    if kind == "Mod":
        least = 1 if dtype.name.startswith("U") else -1
        divisor = make.weight(np.asarray(make.random.choice((1, 2, 3, 7, least)), dtype.numpy))
        make.node("Mod", [x, divisor], exact=True, fmod=make.random.choice((0, 1)))
    elif kind != "BitShift":
        make.node(kind, [x, make.operand(dtype, make.broadcast(shape))], exact=True)
    elif dtype.name.startswith("U"):
        count = make.weight(np.asarray(make.random.choice((0, 1, 5, 7, 8, 40, 70)), dtype.numpy))
        make.node("BitShift", [x, count], exact=True, direction=make.random.choice(("LEFT", "RIGHT")))


def several(make: Maker) -> None:
    """A sum or a mean of some, a slope by channel, a power."""
    x = make.pick(lambda dtype, _: dtype in FLOATS)
    if x is None:
        return
    dtype, shape = make.types[x]
    kind = make.random.choice(("Sum", "Mean", "PRelu", "Pow"))
    if kind == "PRelu":
        make.node("PRelu", [x, make.operand(dtype, make.broadcast(shape))], exact=False)
    elif kind == "Pow":
        if x in make.exact:  # the second power of what is small and rounded is anything
            make.node("Pow", [x, make.weight(np.asarray(make.random.choice((2, 3)), dtype.numpy))], exact=False)
    else:
        others = [make.operand(dtype, make.broadcast(shape)) for _ in range(make.random.choice((1, 2)))]
        make.node(kind, [x, *others], exact=False)
