"""Variants of the kernel of a product: each takes some products, and says what it costs for the sizes of a run.

A variant is a module of its own. It has functions, each of which is compiled when it is needed first, and plans: what
is launched for the sizes of a run, and how long that takes, about. The cheapest plan of all variants is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.nvptx.gpu import Gpu
from ingot.codegen.nvptx.step import Plan as Plan
from ingot.codegen.nvptx.step import Step as Step
from ingot.codegen.nvptx.step import TensorMap as TensorMap
from ingot.dataclass import dataclass
from ingot.dims import Dim
from ingot.loops.ir import Buffer, Contraction, extent
from ingot.schedule.target import Target


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a kernel. Beside what all take it has `scalars`, int64, and `maps`, tensor maps, by name.

    A block has at most `threads` threads, and so many `blocks` fit on a multiprocessor at once, which bounds the
    registers of a thread. With `exact`, a block has no fewer threads. `cluster` is how many blocks are one cluster.
    """

    emit: Callable[[Builder, Frame], None]
    threads: int
    blocks: int = 1
    scalars: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    exact: bool = False
    cluster: int = 1


@dataclass(frozen=True, slots=True)
class Sized:
    """A product with the sizes of a run, on a GPU. `buffers` are those of its kernel."""

    product: Contraction
    buffers: tuple[Buffer, ...]
    size: Callable[[Dim], int]
    gpu: Gpu
    batch: int = field(init=False)
    rows: int = field(init=False)
    columns: int = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        product = self.product
        roles = {"batch": product.batch, "rows": product.m, "columns": product.n, "depth": product.k}
        for name, axes in roles.items():
            object.__setattr__(self, name, self.size(extent(axes)))

    @property
    def bytes(self) -> int:
        """The bytes of operands and results, about: each is read or written once."""
        left, right = (operand.dtype.numpy.itemsize for operand in (self.product.lhs, self.product.rhs))
        elements = left * self.rows * self.depth + right * self.depth * self.columns
        return self.batch * (elements + left * self.rows * self.columns)


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to compute products. `refuses` has the reason why it does not take one, which no size decides."""

    name: str
    refuses: Callable[[Contraction, Target], str | None]
    functions: Callable[[Contraction, Target], Mapping[str, Function]]
    plans: Callable[[Sized], Iterable[Plan]]
    """The plans for the sizes of a run: none where these do not suit; there are always some of another variant."""
    is_streaming: bool = False
    """Whether it reads weights at the memory's speed, whose time others leave out: see `cheapest`."""
    reads_codes: bool = False
    """Whether it takes products with weights in codes of few bits; others are asked for no such product."""
