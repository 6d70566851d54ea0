"""How large a model is, tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.ir.model import Model
from ingot.ir.tensor import External, SparseTensor, Tensor


@dataclass(frozen=True, slots=True)
class TensorSize:
    """One constant of a model: its name, or the node and attribute that hold it."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    elements: int
    nbytes: int
    external: External | None


def tensor_sizes(model: Model) -> list[TensorSize]:
    """Every constant, largest first; one object used in several places is listed once."""
    return sorted(_sizes(model), key=lambda size: (-size.nbytes, size.name))


def _sizes(model: Model) -> Iterator[TensorSize]:
    seen: set[int] = set()
    for graph in model.graphs():
        for value in graph.initializers.values():
            if value.constant is not None and id(value.constant) not in seen:
                seen.add(id(value.constant))
                yield _size(value.name, value.constant)
        for node in graph:
            for attribute in node.attributes.values():
                for tensor in attribute.tensors:
                    if id(tensor) not in seen:
                        seen.add(id(tensor))
                        yield _size(f"{node.label}.{attribute.name}", tensor)


def _size(name: str, tensor: Tensor | SparseTensor) -> TensorSize:
    dense = tensor.values if isinstance(tensor, SparseTensor) else tensor
    return TensorSize(name, tensor.dtype, tensor.shape, dense.size, tensor.nbytes, dense.external)
