from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.ir import Graph, Model, Node, TensorType, Value
from ingot.ir.text import parse_model
from ingot.tools.bench.arithmetic import Arithmetic, arithmetic
from ingot.tools.bench.operations import Sizes, operations

MICROSOFT = "com.microsoft"


def counted(
    op_type: str, inputs: Sequence[Sizes], outputs: Sequence[Sizes], domain: str = "", **attributes: object
) -> int:
    node = Node(op_type, [Value(f"x{i}") for i in range(len(inputs))], len(outputs), attributes, domain=domain)
    return operations(node, inputs, outputs)


@pytest.mark.parametrize(
    ("found", "multiplications"),
    [
        (counted("MatMul", [(5, 2, 3), (3, 4)], [(5, 2, 4)]), 5 * 2 * 4 * 3),
        (counted("MatMul", [(3,), (3,)], [()]), 3),
        (counted("Gemm", [(2, 3), (3, 4)], [(2, 4)]), 2 * 4 * 3),
        (counted("Gemm", [(3, 2), (4, 3)], [(2, 4)], transA=1, transB=1), 2 * 4 * 3),
        (counted("Conv", [(1, 8, 10, 10), (16, 8, 3, 3)], [(1, 16, 8, 8)]), 16 * 64 * 8 * 9),
        (counted("Conv", [(1, 8, 10, 10), (8, 1, 3, 3)], [(1, 8, 8, 8)], group=8), 8 * 64 * 9),
        (counted("QLinearConv", [(1, 2, 4, 4), (), (), (3, 2, 1, 1), ()], [(1, 3, 4, 4)]), 3 * 16 * 2),
        (counted("ConvTranspose", [(1, 8, 4, 4), (8, 16, 2, 2)], [(1, 16, 8, 8)]), 8 * 16 * 16 * 4),
        (counted("LSTM", [(7, 2, 3), (1, 20, 3), (1, 20, 5)], [(7, 1, 2, 5)]), 7 * 2 * (20 * 3 + 20 * 5)),
        (counted("Einsum", [(2, 3), (3, 4)], [(2, 4)], equation="ij,jk->ik"), 2 * 3 * 4),
        (counted("Einsum", [(9, 2, 3), (3, 4)], [(9, 2, 4)], equation="...ij, jk"), 9 * 2 * 3 * 4),
        (counted("Einsum", [(2, 3)], [(3, 2)], equation="ij->ji"), 0),
        (counted("Attention", [(2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)], [(2, 4, 5, 6)]), 2 * 4 * 5 * 7 * (8 + 6)),
        (counted("Attention", [(2, 5, 32), (2, 7, 32), (2, 7, 32)], [(2, 5, 32)]), 2 * 5 * 7 * 64),
        (
            counted("Attention", [(1, 2, 1, 8), *[(1, 2, 1, 8)] * 2, None, *[(1, 2, 9, 8)] * 2], [(1, 2, 1, 8)]),
            2 * 10 * 16,
        ),
        (counted("Attention", [(2, 5, 8), (8, 24)], [(2, 5, 8)], MICROSOFT), 2 * 5 * 8 * 24 + 2 * 5 * 5 * 16),
        (counted("Relu", [(100,)], [(100,)]), 0),
    ],
)
def test_a_product_takes_two_operations_for_each_term(found: int, multiplications: int) -> None:
    assert found == 2 * multiplications


@pytest.mark.parametrize("op_type", ["MatMul", "Conv", "Attention", "FusedMatMul"])
def test_an_operator_of_another_domain_with_the_name_of_a_product_is_none(op_type: str) -> None:
    assert counted(op_type, [], [()], "my") == 0


def test_sizes_of_the_inputs_decide_what_a_model_takes() -> None:
    a = Value("a", TensorType(DType.FLOAT32, (symbol("rows"), 8)))
    b = Value("b", TensorType(DType.FLOAT32, (8, None)))
    product = Node("MatMul", [a, b], [Value("y", TensorType(DType.FLOAT32))])
    model = Model(Graph([a, b], [product.output], [product], name="g"), 18, ir_version=8)
    feeds: dict[str, Any] = {"a": np.zeros((3, 8), np.float32), "b": np.zeros((8, 5), np.float32)}
    assert arithmetic(model, feeds) == Arithmetic(2 * 3 * 5 * 8, True)
    assert str(a.type) == "float32[rows, 8]"


def test_what_a_branch_and_a_loop_take_is_counted_as_they_run() -> None:
    text = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (bool small, int64 trips, float[2, 2] x) => (float[2, 2] y) {
        yes = Constant <value = bool {1}> ()
        first = If (small) <
            then_branch = a () => (float[2, 2] once) { once = MatMul (x, x) },
            else_branch = b () => (float[2, 2] twice) { half = MatMul (x, x) twice = MatMul (half, x) }>
        y = Loop (trips, yes, first) <
            body = c (int64 i, bool go, float[2, 2] v) => (bool on, float[2, 2] w) { on = Identity (go)
                w = MatMul (v, x) }>
    }
    """
    x = np.eye(2, dtype=np.float32)
    for small, trips, products in ((True, 0, 1), (False, 3, 5)):
        feeds = {"small": np.array(small), "trips": np.array(trips), "x": x}
        assert arithmetic(parse_model(text), feeds) == Arithmetic(2 * 8 * products, True)


def test_a_model_that_neither_infers_nor_runs_takes_at_least_nothing() -> None:
    node = Node("Mystery", [x := Value("x", TensorType(DType.FLOAT32, (2,)))], 1, domain="nowhere")
    model = Model(Graph([x], [node.output], [node], name="g"), {"": 18, "nowhere": 1}, ir_version=8)
    assert arithmetic(model, {"x": np.zeros(2, np.float32)}) == Arithmetic(0, False)
