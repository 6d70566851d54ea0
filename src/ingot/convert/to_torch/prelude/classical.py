"""Classical machine learning, and steps of training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def probit(x: Tensor) -> Tensor:
    """About the argument at which the normal distribution reaches `x`."""
    centred = 2 * x - 1
    log = torch.log((1 - centred) * (1 + centred))
    half = 2 / (math.pi * 0.147) + log / 2
    return math.sqrt(2) * torch.copysign(torch.sqrt(torch.sqrt(half * half - log / 0.147) - half), centred)


def softmax_zero(x: Tensor) -> Tensor:
    """A softmax of the scores that are not zero; zeros stay."""
    peak = x.amax(dim=-1, keepdim=True)
    exponentials = torch.where(x.abs() > 1e-7, torch.exp(x - peak), x * torch.exp(-peak))
    total = exponentials.sum(dim=-1, keepdim=True)
    return torch.where(total == 0, torch.full_like(x, 0.5), exponentials / total)


def normalise_rows(x: Tensor, norm: str) -> Tensor:
    """Each row over its greatest element, its sum of magnitudes or its length; a row of zeros stays."""
    rows = x.to(torch.float64)
    if norm == "MAX":
        divisor = rows.amax(dim=-1, keepdim=True)
    else:
        divisor = torch.linalg.vector_norm(rows, 1 if norm == "L1" else 2, dim=-1, keepdim=True)
    return (rows / torch.where(divisor == 0, torch.ones_like(divisor), divisor)).to(torch.float32)


def features_of(xs: Sequence[Tensor], widths: Sequence[int] | None) -> Tensor:
    """Inputs joined along the features, each of its stated width."""
    tables = [x.reshape(1, -1) if x.ndim == 1 else x.flatten(1) for x in xs]
    if widths is not None:
        tables = [F.pad(table, (0, width - table.shape[1])) for table, width in zip(tables, widths, strict=True)]
    return torch.cat(tables, dim=1).to(torch.float32)


def one_hot_of(x: Tensor, categories: Tensor, strict: bool = False) -> Tensor:
    """A new last axis with a one at the category of each element."""
    hot = x.to(torch.int64).unsqueeze(-1) == categories
    if strict and not bool(hot.any(dim=-1).all()):
        raise ValueError("an element is of no category")
    return hot.to(torch.float32)


def translated(x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """The value at the place of each element among the keys, the last of equal ones; the last value for the rest."""
    same = x.unsqueeze(-1) == keys
    if x.is_floating_point():
        same = same | (x.isnan().unsqueeze(-1) & keys.isnan())
    places = torch.arange(1, keys.numel() + 1, device=x.device)
    place = (same * places).amax(dim=-1) if keys.numel() else torch.zeros_like(x, dtype=torch.int64)
    return values[torch.where(place == 0, keys.numel(), place - 1)]


def kernel(x: Tensor, vectors: Tensor, kind: str, gamma: float, coef: float, degree: float) -> Tensor:
    """How alike each row is to each support vector."""
    if kind == "RBF":
        return torch.exp(-gamma * (x.unsqueeze(1) - vectors).square().sum(dim=-1))
    product = F.linear(x, vectors)
    if kind == "POLY":
        return (gamma * product + coef) ** degree
    return torch.tanh(gamma * product + coef) if kind == "SIGMOID" else product


def compared(x: Tensor, split: Tensor, mode: int) -> Tensor:
    """Whether features compare with splits so that the true branch is taken."""
    if mode < 2:
        return x <= split if mode == 0 else x < split
    if mode < 4:
        return x >= split if mode == 2 else x > split
    return x == split if mode == 4 else x != split


def forest(
    x: Tensor,
    trees: tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor],
    mode: Tensor | int,
    depth: int,
    members: Tensor | None = None,
    aggregate: str = "SUM",
) -> Tensor:
    """The votes of the leaves that each row comes to, put together; a child of `-1 - k` is leaf k."""
    roots, features, splits, true, false, missing, votes = trees
    rows = (x.reshape(1, -1) if x.ndim == 1 else x).to(torch.float64)
    at = roots.expand(rows.shape[0], -1)
    for _ in range(depth):
        node = at.clamp(min=0)
        value = rows.gather(1, features[node])
        if isinstance(mode, int) and mode < 6:
            goes_true = compared(value, splits[node], mode)
        else:
            modes = mode[node] if isinstance(mode, Tensor) else torch.full_like(node, mode)
            goes_true = torch.zeros_like(node, dtype=torch.bool)
            for each in range(6):
                goes_true = torch.where(modes == each, compared(value, splits[node], each), goes_true)
            if members is not None:
                goes_true = torch.where(modes == 6, (value.unsqueeze(-1) == members[node]).any(dim=-1), goes_true)
        goes_true = goes_true | (value.isnan() & missing[node])
        at = torch.where(at < 0, at, torch.where(goes_true, true[node], false[node]))
    leaf_votes = votes[-1 - at]
    if aggregate in ("MIN", "MAX"):
        extreme = leaf_votes.amin(dim=1) if aggregate == "MIN" else leaf_votes.amax(dim=1)
        return torch.where(extreme.isinf(), torch.zeros_like(extreme), extreme)
    return leaf_votes.mean(dim=1) if aggregate == "AVERAGE" else leaf_votes.sum(dim=1)


def in_groups(tensors: Sequence[Tensor], kinds: int) -> list[tuple[Tensor, ...]]:
    """All tensors, then all gradients, then all states: those of one tensor together."""
    count = len(tensors) // kinds
    return [tuple(tensors[place::count]) for place in range(count)]


def adagrad_step(
    rate: Tensor, step: Tensor, tensors: Sequence[Tensor], decay: float, eps: float, norm: float
) -> tuple[Tensor, ...]:
    rate = rate / (1 + step * decay)
    moved, states = [], []
    for x, gradient, square in in_groups(tensors, 3):
        gradient = norm * x + gradient
        states.append(square + gradient * gradient)
        moved.append(x - rate * gradient / (states[-1].sqrt() + eps))
    return *moved, *states


def adam_step(
    rate: Tensor,
    step: Tensor,
    tensors: Sequence[Tensor],
    alpha: float,
    beta: float,
    eps: float,
    norm: float,
    norm_after: float,
) -> tuple[Tensor, ...]:
    if int(step) > 0:
        rate = rate * math.sqrt(1 - beta ** int(step)) / (1 - alpha ** int(step))
    moved, means, squares = [], [], []
    for x, gradient, mean, square in in_groups(tensors, 4):
        gradient = norm * x + gradient
        means.append(alpha * mean + (1 - alpha) * gradient)
        squares.append(beta * square + (1 - beta) * gradient * gradient)
        moved.append((1 - norm_after) * (x - rate * means[-1] / (squares[-1].sqrt() + eps)))
    return *moved, *means, *squares


def momentum_step(
    rate: Tensor, step: Tensor, tensors: Sequence[Tensor], alpha: float, beta: float, norm: float, nesterov: bool
) -> tuple[Tensor, ...]:
    moved, states = [], []
    for x, gradient, state in in_groups(tensors, 3):
        gradient = norm * x + gradient
        states.append(alpha * state + (beta if int(step) > 0 else 1) * gradient)
        moved.append(x - rate * (gradient + alpha * states[-1] if nesterov else states[-1]))
    return *moved, *states
