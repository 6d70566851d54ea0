"""Reverse-mode gradients: one rule for each primitive, applied from a result back to what it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

from ingot.prim.coded import Dequantised
from ingot.prim.descent import Descent
from ingot.prim.functions import FLOATING, ROUNDINGS
from ingot.prim.make import (
    cast,
    contract,
    full,
    gather,
    iota,
    pad,
    permute,
    reduce_,
    reshape,
    scan,
    scatter,
    slice_,
    where,
)
from ingot.prim.order import Order
from ingot.prim.tensor import (
    AssumeShape,
    Concat,
    Contract,
    Expand,
    Gather,
    Map,
    Pad,
    Permute,
    Reduce,
    Refused,
    Reshape,
    Scan,
    Scatter,
    Slice,
    Tensor,
    Window,
    apply,
    assume_shape,
    expand,
)
from ingot.prim.walk import in_order


def gradients(y: Tensor, xs: Sequence[Tensor]) -> list[Tensor]:
    """The derivative of the sum of `y` by each element of each of `xs`; zeros for what it does not depend on.

    Refused, with the reason, if a primitive on the way has no derivative.
    """
    order = in_order([y])
    moving: set[Tensor] = set(xs)
    for tensor in order:
        if tensor.dtype in FLOATING and any(operand in moving for operand in tensor.reads):
            moving.add(tensor)
    cotangents: dict[Tensor, Tensor] = {y: full(1, y.shape, y.dtype)}
    for tensor in reversed(order):
        if tensor not in cotangents or tensor not in moving or tensor in xs:
            continue
        for read, part in _back(tensor, cotangents[tensor]):
            if read in moving and part is not None:
                cotangents[read] = cotangents[read] + part if read in cotangents else part
    return [cotangents.get(x) or full(0, x.shape, x.dtype) for x in xs]


def _back(tensor: Tensor, g: Tensor) -> Sequence[tuple[Tensor, Tensor | None]]:
    """The cotangents of the tensors that one reads, from its own; None for one that has no derivative to pass on."""
    match tensor:
        case Map():
            return list(zip(tensor.arguments, _through_map(tensor, g), strict=True))
        case Reduce():
            return [(tensor.x, _through_reduce(tensor, g))]
        case Contract():
            left, right, result = tensor.labels
            lhs, rhs = (cast(operand, g.dtype) for operand in tensor.reads)
            return [
                (tensor.lhs, cast(contract(g, rhs, f"{result},{right}->{left}"), tensor.lhs.dtype)),
                (tensor.rhs, cast(contract(lhs, g, f"{left},{result}->{right}"), tensor.rhs.dtype)),
            ]
        case Permute():
            return [(tensor.x, permute(g, [tensor.order.index(axis) for axis in range(tensor.rank)]))]
        case Expand():
            axes = [axis for axis, size in enumerate(tensor.x.shape) if size != tensor.shape[axis]]
            return [(tensor.x, reduce_("add", g, axes))]
        case Reshape():
            return [(tensor.x, reshape(g, tensor.x.shape))]
        case Dequantised():
            return [(tensor.x, g)]
        case AssumeShape():
            return [(tensor.x, assume_shape(g, tensor.x.shape))]
        case Slice():
            return [(tensor.x, _through_slice(tensor, g))]
        case Pad():
            return [(tensor.x, slice_(g, tensor.before, tensor.x.shape))]
        case Window():
            return [(tensor.x, _through_window(tensor, g))]
        case Gather():
            return [(tensor.x, scatter(full(0, tensor.x.shape, g.dtype), g, tensor.places, "add"))]
        case Scatter(function="add"):
            return [(tensor.x, g), (tensor.updates, gather(g, tensor.places, tensor.updates.shape))]
        case Concat():
            return _through_join(tensor, g)
        case Scan(function="add"):
            back = scan("add", g, tensor.axis, exclusive=tensor.exclusive, reverse=not tensor.reverse)
            return [(tensor.x, back)]
        case Descent() | Order():  # it has steps
            return [(tensor.x, None)]
    raise Refused(f"{type(tensor).__name__.lower()} has no derivative")


def _through_map(tensor: Map, g: Tensor) -> list[Tensor | None]:
    function, arguments = tensor.function, tensor.arguments
    if function == "cast":
        (x,) = arguments
        return [cast(g, x.dtype) if x.dtype in FLOATING else None]
    if function == "bitcast":
        return [None]
    if function == "where":
        condition = arguments[0]
        nothing = full(0, g.shape, g.dtype)
        return [None, where(condition, g, nothing), where(condition, nothing, g)]
    if function in _ONE:
        return [g * _ONE[function](arguments[0], tensor)]
    if function in _TWO:
        return list(_TWO[function](g, arguments[0], arguments[1], tensor))
    if function in _FLAT:
        return [None] * len(arguments)
    raise Refused(f"{function} has no derivative")


def _f(function: str, *operands: Tensor | float) -> Tensor:
    return apply(function, *operands)


_FLAT = {
    "floor", "ceil", "round", "truncate", "less", "less_equal", "equal", "not_equal", "is_nan", "not", "and", "or",
    *ROUNDINGS,
}  # fmt: skip
"""Functions whose derivative is zero wherever they have one."""

_ONE: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "negate": lambda x, _: full(-1, x.shape, x.dtype),
    "absolute": lambda x, _: _sign(x),
    "sqrt": lambda _, y: 0.5 / y,
    "exp": lambda _, y: y,
    "exp_nonpositive": lambda _, y: y,
    "expm1": lambda _, y: y + 1.0,
    "log": lambda x, _: 1.0 / x,
    "log1p": lambda x, _: 1.0 / (1.0 + x),
    "tanh": lambda _, y: 1.0 - y * y,
    "sigmoid": lambda _, y: y * (1.0 - y),
    "erf": lambda x, _: _f("exp", -(x * x)) * (2 / sqrt(pi)),
    "sin": lambda x, _: _f("cos", x),
    "cos": lambda x, _: -_f("sin", x),
    "tan": lambda _, y: 1.0 + y * y,
    "asin": lambda x, _: 1.0 / _f("sqrt", 1.0 - x * x),
    "acos": lambda x, _: -1.0 / _f("sqrt", 1.0 - x * x),
    "atan": lambda x, _: 1.0 / (1.0 + x * x),
    "sinh": lambda x, _: _f("cosh", x),
    "cosh": lambda x, _: _f("sinh", x),
    "asinh": lambda x, _: 1.0 / _f("sqrt", x * x + 1.0),
    "acosh": lambda x, _: 1.0 / _f("sqrt", x * x - 1.0),
    "atanh": lambda x, _: 1.0 / (1.0 - x * x),
}
"""The factor of a cotangent on its way back through y = f(x)."""

_Pair = tuple[Tensor | None, Tensor | None]

_TWO: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], _Pair]] = {
    "add": lambda g, _a, _b, _y: (g, g),
    "subtract": lambda g, _a, _b, _y: (g, -g),
    "multiply": lambda g, a, b, _y: (g * b, g * a),
    "divide": lambda g, _a, b, y: (g / b, -(g * y / b)),
    "divide_by_normal": lambda g, _a, b, y: (g / b, -(g * y / b)),
    "maximum": lambda g, a, b, _y: _of_larger(g, a, b),
    "minimum": lambda g, a, b, _y: _of_larger(g, b, a)[::-1],
    "power": lambda g, a, b, y: (g * b * _f("power", a, b - 1.0), _of_exponent(g, a, y)),
}


def _sign(x: Tensor) -> Tensor:
    above, below = _f("less", full(0, x.shape, x.dtype), x), _f("less", x, 0.0)
    return cast(above, x.dtype) - cast(below, x.dtype)


def _of_larger(g: Tensor, a: Tensor, b: Tensor) -> _Pair:
    """To the larger of the two; of equal ones, to the first."""
    nothing = full(0, g.shape, g.dtype)
    smaller = _f("less", a, b)
    return where(smaller, nothing, g), where(smaller, g, nothing)


def _of_exponent(g: Tensor, a: Tensor, y: Tensor) -> Tensor:
    """Zero where the base is not positive: there the power is defined at whole exponents alone."""
    positive = _f("less", full(0, a.shape, a.dtype), a)
    safe = where(positive, a, full(1, a.shape, a.dtype))
    return where(positive, g * y * _f("log", safe), full(0, g.shape, g.dtype))


def _through_reduce(tensor: Reduce, g: Tensor) -> Tensor:
    x = tensor.x
    spread = expand(g, x.shape)
    match tensor.function:
        case "add":
            return spread
        case "maximum" | "minimum":  # in equal parts to all that reach it
            chosen = cast(_f("equal", x, expand(tensor, x.shape)), x.dtype)
            return spread * chosen / expand(reduce_("add", chosen, tensor.axes), x.shape)
        case "multiply":
            return spread * expand(tensor, x.shape) / x
    raise Refused(f"a reduction by {tensor.function} has no derivative")


def _through_slice(tensor: Slice, g: Tensor) -> Tensor:
    x = tensor.x
    if all(step == 1 for step in tensor.steps):
        after = [whole - start - size for whole, start, size in zip(x.shape, tensor.starts, g.shape, strict=True)]
        return pad(g, tensor.starts, after)
    places: list[Tensor | int] = []
    for axis, (start, step) in enumerate(zip(tensor.starts, tensor.steps, strict=True)):
        if start == 0 and step == 1:
            places.append(axis)
        elif isinstance(start, int):
            places.append(iota(g.shape, axis) * step + start)
        else:
            raise Refused("a slice from a place that is not known, several apart, has no derivative")
    return scatter(full(0, x.shape, g.dtype), g, places, "add")


def _through_window(tensor: Window, g: Tensor) -> Tensor:
    x = tensor.x
    places: list[Tensor | int] = list(range(x.rank))
    for number, axis in enumerate(tensor.axes):
        start = iota(g.shape, axis) * tensor.strides[number]
        places[axis] = start + iota(g.shape, x.rank + number) * tensor.dilations[number]
    return scatter(full(0, x.shape, g.dtype), g, places, "add")


def _through_join(tensor: Concat, g: Tensor) -> list[tuple[Tensor, Tensor | None]]:
    parts: list[tuple[Tensor, Tensor | None]] = []
    start = tensor.parts[0].shape[tensor.axis] * 0
    for part in tensor.parts:
        starts = [start if axis == tensor.axis else 0 for axis in range(g.rank)]
        parts.append((part, slice_(g, starts, part.shape)))
        start = start + part.shape[tensor.axis]
    return parts
