"""Pair: a complex tensor as two real ones, which is how rules pass it; a model computes with nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ingot.builder import Var, op


@dataclass(frozen=True, slots=True)
class Pair:
    """The real and the imaginary part; as one tensor, where there is one, they lie along a last axis."""

    real: Var
    imaginary: Var
    whole: Var | None = None


def split(whole: Var) -> Pair:
    """The pair of a tensor whose last axis holds both parts."""
    real, imaginary = (op.Gather(whole, np.array(at, np.int64), axis=-1) for at in range(2))
    return Pair(real, imaginary, whole)


def joined(pair: Pair) -> Var:
    """Both parts along a last axis."""
    if pair.whole is not None:
        return pair.whole
    return op.Concat(op.Unsqueeze(pair.real, [-1]), op.Unsqueeze(pair.imaginary, [-1]), axis=-1)


def holds_pair(argument: Any) -> bool:
    """Whether an argument of an operator is complex, or has a complex tensor or number in it."""
    if isinstance(argument, list | tuple):
        return any(holds_pair(each) for each in argument)
    return isinstance(argument, Pair | complex)
