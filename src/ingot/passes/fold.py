"""Constant folding: what follows from constants alone is computed once, within bounds."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ingot.infer.driver import Facts
from ingot.infer.evaluated import computed
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import is_static
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog, standard
from ingot.ops.define import Operator
from ingot.passes.replacing import replace_by_constant
from ingot.prim.functions import NARROW_FLOATS
from ingot.queries.values import constant, dtype, fact

MOST_BYTES = 1 << 20
"""A constant larger than this is made only if the constants it is made of, and which then go, were as large."""

_MOST_READ = 1 << 28
"""Bytes of one constant that are read to make another of it; what is larger stays where it is, often in a file."""

_NEVER_FOLDED = {"": ("DequantizeLinear",), "com.microsoft": ("DequantizeLinear", "DequantizeBFP")}
"""Operators by domain whose constant input is smaller than what they make of it: that is why a model has them."""

_PRODUCTS = ("Conv", "Gemm", "GRU", "LSTM", "MatMul", "RNN")


def fold(
    model: Model,
    facts: Facts,
    *,
    catalog: Catalog | None = None,
    most_bytes: int = MOST_BYTES,
    constant_nodes: bool = True,
    shared: Collection[Value] = (),
) -> int:
    """Replace nodes that read only constants by what they compute, and `constant_nodes` by initialisers; how many.

    Random operators and those with subgraphs stay, and so does a node whose evaluation fails, or that reads one of
    `shared`: constants that stay for others, and are not to be stored in two forms.
    """
    catalog = catalog or standard()
    folded = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            if not constant_nodes and node.applies("Constant"):
                continue
            operator = catalog.operator_of(node, model.opset_imports)
            if any(value in shared for value in node.inputs if value is not None):
                continue
            if operator is None or _refuses(node, operator, facts, most_bytes):
                continue
            results = _evaluated(node, operator, facts)
            if results is None or not _affordable(node, results, facts, most_bytes):
                continue
            for value, tensor in zip(node.outputs, results, strict=False):
                if tensor is not None and (value.uses or value.is_output):
                    replace_by_constant(value, tensor, facts)
            folded += 1
    return folded


def _refuses(node: Node, operator: Operator, facts: Facts, most_bytes: int) -> str | None:
    """Why a node is not evaluated here."""
    if operator.runtime is not None or node.subgraphs:
        return "it is random, or runs graphs"
    if node.applies(*_NEVER_FOLDED.get(node.domain, ()), domain=node.domain) or _widens_weights(node, facts):
        return "its input is the smaller form"
    if node.applies("Constant", "Identity") and node.output.is_output:
        return "a node has to bear the name of the output"
    if any(value is not None and constant(value, facts) is None for value in node.inputs):
        return "an input is no constant"
    constants = [constant(value, facts) for value in node.inputs]
    if not node.applies("Constant") and any(tensor is not None and tensor.nbytes > _MOST_READ for tensor in constants):
        return "an input is too large"
    bound = max(most_bytes, _freed(node, facts))
    for value in node.outputs:
        output = fact(value, facts)
        if output.dtype is not None and output.shape is not None and is_static(output.shape):
            size = int(np.prod([float(dim) for dim in output.shape if isinstance(dim, int)]))
            if output.dtype.numpy.itemsize * size > bound:
                return "the result is too large"
    return None


def _widens_weights(node: Node, facts: Facts) -> bool:
    """Whether a node casts 16-bit floats that products alone read: these multiply what was cast as it is."""
    if not node.applies("Cast") or dtype(node.inputs[0], facts) not in NARROW_FLOATS:
        return False
    readers = set(node.output.users)
    return bool(readers) and not node.output.is_output and all(reader.applies(*_PRODUCTS) for reader in readers)


def _evaluated(node: Node, operator: Operator, facts: Facts) -> list[Tensor | None] | None:
    """What a node computes of its constants, None for an output that nobody wants; None if that fails."""
    if node.applies("Constant"):
        held = constant(node.output, facts)
        return None if held is None else [held]
    tensors = [None if value is None else constant(value, facts) for value in node.inputs]
    result = computed(node, operator, tensors)
    if result is None:
        return None
    results = list(result) if operator.returns_several and isinstance(result, tuple | list) else [result]
    constants: list[Tensor | None] = []
    for value, array in zip(node.outputs, results, strict=False):
        if not value.name or not (value.uses or value.is_output):
            constants.append(None)
        elif isinstance(array, np.ndarray | np.generic):
            constants.append(Tensor(np.ascontiguousarray(array).reshape(np.shape(array))))
        else:
            return None  # a sequence, a map, an optional
    return constants if len(constants) == len(node.outputs) else None


def _affordable(node: Node, results: list[Tensor | None], facts: Facts, most_bytes: int) -> bool:
    nbytes = sum(tensor.nbytes for tensor in results if tensor is not None)
    return node.applies("Constant") or nbytes <= max(most_bytes, _freed(node, facts))


def _freed(node: Node, facts: Facts) -> int:
    """The bytes of constants that nobody reads but this node."""
    freed: dict[Value, int] = {}
    for value in node.inputs:
        if value is not None and set(value.users) == {node} and not value.is_output:
            tensor = constant(value, facts)
            freed[value] = 0 if tensor is None else tensor.nbytes
    return sum(freed.values())
