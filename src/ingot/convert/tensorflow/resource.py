"""What a graph of TensorFlow passes around that is no tensor: resources, and lists of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ingot.builder import Var
from ingot.dims import Dim
from ingot.dtypes import DType


@dataclass(frozen=True, slots=True)
class Resource:
    """A variable or a table; what it holds is read where the graph reads it, and is a constant of the model."""

    name: str
    handle: Any


@dataclass(frozen=True, slots=True)
class Items:
    """A list of tensors of one shape, as the tensor of them stacked.

    `stacked` holds elements from the first on, None that there are none yet; elements up to `least` that it lacks are
    zeros.
    """

    dtype: DType
    stacked: Var | None
    least: Any = None
    """The length the list was made with, a scalar of int64; None where it has as many as `stacked`."""
    shape: tuple[Dim | None, ...] | None = None
    """What is known of the shape of an element."""
    full: bool = False
    """Whether `stacked` is known to have all elements up to `least`."""


@dataclass(frozen=True, slots=True)
class Collecting:
    """A list to which a loop adds one element in each turn and does nothing else: what a Loop stacks by itself."""

    items: Items


@dataclass(frozen=True, slots=True)
class Collected:
    """The element that a turn of the loop added."""

    item: Var
