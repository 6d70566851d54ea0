"""Bias recovery: a product of matrices and the sum after it are one Gemm."""

from __future__ import annotations

from ingot.builder import inserting, op
from ingot.dtypes import DType
from ingot.infer.driver import Facts
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.passes.replacing import replace
from ingot.queries.values import dtype, only_reader, produced_by, read, shape

FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16)


def recover_bias(model: Model, facts: Facts) -> int:
    """Replace MatMul and Add by Gemm where both matrices have two axes and what is added has a row's shape; how many.

    A Gemm without its third input takes it from the Add after it. Results change by rounding.
    """
    recovered = 0
    for graph in list(nested_graphs(model.graph)):
        for node in graph:
            for source, other in ((0, 1), (1, 0)) if node.applies("Add") else ():
                product = produced_by(node.inputs[source], "MatMul", "Gemm")
                bias = node.inputs[other]
                if product is None or bias is None or _refuses(product, bias, facts):
                    continue
                attributes = {name: product.get(name) for name in ("alpha", "transA", "transB") if name in product}
                with inserting(before=node):
                    biased = op.Gemm(product.inputs[0], product.inputs[1], bias, **attributes).value
                replace(node.output, biased, facts)
                recovered += 1
                break
    return recovered


def _refuses(product: Node, bias: Value, facts: Facts) -> str | None:
    """Why a product cannot take a bias."""
    if only_reader(product.output) is None:
        return "something else reads the product"
    if read(product, 2) is not None:
        return "it has one"
    if dtype(product.output, facts) not in FLOATS:
        return "onnxruntime has a Gemm of floats only"
    result = shape(product.output, facts)
    if result is None or any(len(shape(matrix, facts) or ()) != 2 for matrix in product.inputs[:2]):
        return "a side is no matrix"
    sizes = shape(bias, facts)
    if sizes is None or sizes not in ((), (1,), (1, 1), result[1:], (1, *result[1:])):
        return "what is added is no row"
    return None
