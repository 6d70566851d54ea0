"""Tensors joined along an axis, and split into parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast
from ingot.convert.torch.rule import Site, rule
from ingot.convert.torch.sizes import Extent, as_vector
from ingot.errors import UnsupportedError


@rule("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(site: Site, tensors: Sequence[Var], dim: int = 0) -> Var:
    """Joined along an axis; torch leaves out what is an empty vector among others of more axes."""
    fakes = [node.meta["val"] for node in site.node.args[0]]
    axes = len(site.result.shape)
    parts = [
        cast(tensor, site.dtype)
        for tensor, fake in zip(tensors, fakes, strict=True)
        if not (len(fake.shape) == 1 and axes > 1)
    ]
    if not parts:
        return cast(tensors[0], site.dtype)
    return op.Concat(*parts, axis=dim) if len(parts) > 1 else op.Identity(parts[0])


@rule("aten.stack.default")
def stack(site: Site, tensors: Sequence[Var], dim: int = 0) -> Var:
    parts = [op.Unsqueeze(cast(tensor, site.dtype), [dim]) for tensor in tensors]
    return op.Concat(*parts, axis=dim)


@rule("aten.split_with_sizes.default", "aten.split_with_sizes_copy.default", "aten.split.sizes")
def split_with_sizes(site: Site, x: Var, sizes: Sequence[Extent], dim: int = 0) -> Any:
    return _split(x, as_vector(sizes), dim, len(sizes))


@rule("aten.split.Tensor", "aten.split_copy.Tensor")
def split(site: Site, x: Var, size: Extent, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.chunk.default")
def chunk(site: Site, x: Var, count: int, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.tensor_split.sections")
def tensor_split(site: Site, x: Var, sections: int, dim: int = 0) -> Any:
    return _into(site, x, dim)


@rule("aten.unbind.int", "aten.unbind_copy.int")
def unbind(site: Site, x: Var, dim: int = 0) -> Any:
    return tuple(op.Gather(x, np.array(index, np.int64), axis=dim) for index in range(len(site.result)))


def _into(site: Site, x: Var, dim: int) -> Any:
    """As many parts as torch found, of the sizes it found."""
    sizes = [part.shape[dim] for part in site.result]
    if not all(isinstance(size, int) for size in sizes):
        if isinstance(sizes[0], int):
            whole = op.Shape(x, start=dim, end=dim + 1 or None)
            known = np.array(sizes[:-1], np.int64)
            rest = op.Sub(whole, np.array([known.sum()]))
            return _split(x, op.Concat(known, rest, axis=0), dim, len(sizes)) if len(sizes) > 1 else (x,)
        if len({str(size) for size in sizes}) == 1:
            many = len(sizes)
            parts: Any = op.Split(x, axis=dim, num_outputs=many, outputs=many)
            return parts
        raise UnsupportedError("parts whose sizes are not known")
    return _split(x, np.array(sizes, np.int64), dim, len(sizes))


def _split(x: Var, sizes: Any, dim: int, count: int) -> Any:
    if count == 1:
        return (op.Identity(x),)
    return op.Split(x, sizes, axis=dim, outputs=count)
