"""Titles of kernels: the operators it computes, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.dims import Dim, UnboundSymbolError, evaluate, symbols
from ingot.dtypes import Array
from ingot.loops.ir import Attention, Contraction, Descent, Kernel, Sort, Suppress, Winograd, extent, nests_in
from ingot.prim.tensor import Tensor
from ingot.tools.inspect.trace import Work

_MOST_OPERATORS = 4


def title(kernel: Kernel, work: Work, sizes: Mapping[str, int]) -> str:
    """`MatMul+Add+Gelu 128×3072×768`: rows, columns and terms of a product, or the sizes of what is stored."""
    return f"{operators(work)} {amount(kernel, work, sizes)}".rstrip()


def where(provider: str | None) -> str:
    """`on the reference`, or `on the processor one by one`: where a provider computes nodes by themselves."""
    return f"on the {_BY.get(provider or '', provider)}"


_BY = {"cpu": "processor one by one"}
"""What a provider is called that computes nodes by themselves, where that is not its name."""


def operators(work: Work) -> str:
    """`MatMul+Add+Gelu`: the operators that a kernel computes, each once; `copy for Transpose` if it computes none."""
    if not work.nodes:
        names = "+".join(dict.fromkeys(node.op_type for node in work.views)) or "an output"
        return f"copy for {names}"
    names_ = list(dict.fromkeys(node.op_type for node in work.nodes))
    if len(names_) <= _MOST_OPERATORS:
        return "+".join(names_)
    return f"{'+'.join(names_[: _MOST_OPERATORS - 1])}+{len(names_) - _MOST_OPERATORS + 1} more"


def amount(kernel: Kernel, work: Work, sizes: Mapping[str, int]) -> str:
    """`128×3072×768`, or `12 of 128×128×64` for a stack; else the sizes of what is stored that are not one."""
    for nest in kernel.nests:
        if isinstance(nest, Attention):
            stack = number(extent(nest.batch), sizes)
            return f"{stack} of {_times([extent(nest.m), nest.t.extent, nest.k.extent, nest.n.extent], sizes)}"
        if isinstance(nest, Descent):
            return f"{_times([nest.row.extent], sizes)} rows, {number(nest.trees, sizes)} trees"
        if isinstance(nest, Suppress):
            groups = _times([nest.batch.extent, nest.group.extent], sizes)
            return f"{groups} of {number(nest.box.extent, sizes)} boxes"
        if isinstance(nest, Sort):
            rows = _times([extent(nest.rows)], sizes)
            return f"{rows} rows, {number(nest.rank.extent, sizes)} of {number(nest.element.extent, sizes)}"
    products = [nest for nest in nests_in(kernel) if isinstance(nest, Contraction | Winograd)]
    if not products:
        return _times([size for size in work.tensor.shape if number(size, sizes) != 1] or [1], sizes)
    product = products[0]
    text = _times([extent(product.m), extent(product.n), extent(product.k)], sizes)
    if isinstance(product, Winograd):
        return f"{text} by Winograd"
    stack = number(extent(product.batch), sizes)
    return text if stack == 1 else f"{stack} of {text}"


def number(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """A size as a number, or as it is if a name in it is not known."""
    try:
        return dim if isinstance(dim, int) else evaluate(dim, sizes)
    except UnboundSymbolError:
        return dim


def known_sizes(inputs: Mapping[str, Tensor], feeds: Mapping[str, Array]) -> dict[str, int]:
    """The values of named sizes, from the shapes of inputs."""
    known: dict[str, int] = {}
    for name, tensor in inputs.items():
        shape = getattr(feeds.get(name), "shape", ())
        if len(shape) == len(tensor.shape):
            for size, real in zip(tensor.shape, shape, strict=True):
                if not isinstance(size, int) and symbols(size) == {str(size)}:
                    known[str(size)] = int(real)
    return known


def _times(shape: Sequence[Dim], sizes: Mapping[str, int]) -> str:
    return "×".join(str(number(dim, sizes)) for dim in shape)
