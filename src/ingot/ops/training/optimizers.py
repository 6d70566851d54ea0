"""Optimisers: one step of Adagrad, Adam or momentum for any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingot import prim
from ingot.dtypes import Array, DType
from ingot.errors import CheckError
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.training.updates import Rate, Results, Steps, Updated, groups, infer, number, scalar, tensor_groups

DOMAIN = "ai.onnx.preview.training"


@operator("Adagrad", since=1, domain=DOMAIN)
def adagrad(
    r: Rate,
    t: Steps,
    /,
    *inputs: Updated,
    decay_factor: float = 0.0,
    epsilon: float = 1e-06,
    norm_coefficient: float = 0.0,
) -> Results:
    """Each tensor less its gradient times a rate that falls with the sum of squared gradients, which is the state.

    Inputs are all tensors, all gradients, all states; outputs the new tensors, then the new states.
    """
    rate = scalar(r, "the learning rate") / (1 + scalar(t, "the number of steps") * decay_factor)
    results = []
    for x, g, h in groups(inputs, 3):
        gradient = norm_coefficient * x + g
        squares = h + gradient * gradient
        results.append((x - rate * gradient / (np.sqrt(squares) + epsilon), squares))
    return _ordered(results, inputs)


@adagrad.infer
def infer_adagrad(r: Fact, t: Fact, /, *inputs: Fact, **_: object) -> tuple[Inferred, ...]:
    return infer(r, t, *inputs, kinds=3)


@operator("Adam", since=1, domain=DOMAIN)
def adam(
    r: Rate,
    t: Steps,
    /,
    *inputs: Updated,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-06,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> Results:
    """Each tensor less a running mean of gradients over the root of one of their squares, corrected for the start.

    Inputs are all tensors, gradients, means and means of squares; outputs the new tensors, means, means of squares.
    """
    rate, steps = scalar(r, "the learning rate"), scalar(t, "the number of steps")
    if steps > 0:
        rate *= np.sqrt(1 - np.float64(beta) ** steps) / (1 - np.float64(alpha) ** steps)
    results = []
    for x, g, v, h in groups(inputs, 4):
        gradient = norm_coefficient * x + g
        mean = alpha * v + (1 - alpha) * gradient
        squares = beta * h + (1 - beta) * gradient * gradient
        moved = x - rate * mean / (np.sqrt(squares) + epsilon)
        results.append(((1 - norm_coefficient_post) * moved, mean, squares))
    return _ordered(results, inputs)


@adam.infer
def infer_adam(r: Fact, t: Fact, /, *inputs: Fact, **_: object) -> tuple[Inferred, ...]:
    return infer(r, t, *inputs, kinds=4)


@operator("Momentum", since=1, domain=DOMAIN)
def momentum(
    r: Rate, t: Steps, /, *inputs: Updated, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> Results:
    """Each tensor less the rate times a running sum of gradients, or, with Nesterov's mode, of where that leads.

    Inputs are all tensors, all gradients, all sums; outputs the new tensors, then the new sums.
    """
    _check_mode(mode)
    rate, steps = scalar(r, "the learning rate"), scalar(t, "the number of steps")
    results = []
    for x, g, v in groups(inputs, 3):
        gradient = norm_coefficient * x + g
        velocity = alpha * v + (beta if steps > 0 else 1) * gradient
        step = velocity if mode == "standard" else gradient + alpha * velocity
        results.append((x - rate * step, velocity))
    return _ordered(results, inputs)


@momentum.infer
def infer_momentum(r: Fact, t: Fact, /, *inputs: Fact, mode: str, **_: object) -> tuple[Inferred, ...]:
    _check_mode(mode)
    return infer(r, t, *inputs, kinds=3)


@adagrad.lower
def lower_adagrad(
    r: prim.Tensor,
    t: prim.Tensor,
    /,
    *inputs: prim.Tensor,
    decay_factor: float,
    epsilon: float,
    norm_coefficient: float,
) -> tuple[prim.Tensor, ...]:
    rate = number(r) / (number(t) * decay_factor + 1.0)
    results = []
    for x, g, h in tensor_groups(inputs, 3):
        gradient = x * norm_coefficient + g
        squares = h + gradient * gradient
        results.append((x - rate * gradient / (prim.apply("sqrt", squares) + epsilon), squares))
    return _lowered(results, inputs)


@adam.lower
def lower_adam(
    r: prim.Tensor,
    t: prim.Tensor,
    /,
    *inputs: prim.Tensor,
    alpha: float,
    beta: float,
    epsilon: float,
    norm_coefficient: float,
    norm_coefficient_post: float,
) -> tuple[prim.Tensor, ...]:
    rate, steps = number(r), number(t)
    left = [1.0 - prim.apply("power", prim.scalar(each, DType.FLOAT64), steps) for each in (alpha, beta)]
    corrected = rate * (prim.apply("sqrt", left[1]) / left[0])
    rate = prim.where(prim.apply("less", 0.0, steps), corrected, rate)
    results = []
    for x, g, v, h in tensor_groups(inputs, 4):
        gradient = x * norm_coefficient + g
        mean = v * alpha + gradient * (1 - alpha)
        squares = h * beta + gradient * (1 - beta) * gradient
        moved = x - rate * mean / (prim.apply("sqrt", squares) + epsilon)
        results.append((moved * (1 - norm_coefficient_post), mean, squares))
    return _lowered(results, inputs)


@momentum.lower
def lower_momentum(
    r: prim.Tensor,
    t: prim.Tensor,
    /,
    *inputs: prim.Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[prim.Tensor, ...]:
    rate = number(r)
    factor = prim.where(prim.apply("less", 0.0, number(t)), prim.scalar(beta, DType.FLOAT64), 1.0)
    results = []
    for x, g, v in tensor_groups(inputs, 3):
        gradient = x * norm_coefficient + g
        velocity = v * alpha + factor * gradient
        step = velocity if mode == "standard" else gradient + velocity * alpha
        results.append((x - rate * step, velocity))
    return _lowered(results, inputs)


def _lowered(results: Sequence[tuple[prim.Tensor, ...]], inputs: tuple[prim.Tensor, ...]) -> tuple[prim.Tensor, ...]:
    """What `_ordered` makes of results."""
    count = len(results)
    flat = [group[kind] for kind in range(len(results[0])) for group in results]
    replaced = (*inputs[:count], *inputs[2 * count :])
    return tuple(prim.cast(new, old.dtype) for new, old in zip(flat, replaced, strict=True))


def _check_mode(mode: str) -> None:
    if mode not in ("standard", "nesterov"):
        raise CheckError(f"mode is '{mode}'", hint="one of standard, nesterov")


def _ordered(results: Sequence[tuple[Array, ...]], inputs: tuple[Array, ...]) -> tuple[Array, ...]:
    """Results group by group, put kind by kind, each in the type of what it replaces."""
    count = len(results)
    flat = [group[kind] for kind in range(len(results[0])) for group in results]
    replaced = (*inputs[:count], *inputs[2 * count :])
    return tuple(np.asarray(new, old.dtype) for new, old in zip(flat, replaced, strict=True))
