"""One table says what functions take, and it is used wherever that matters."""

from __future__ import annotations

import pytest

from ingot.codegen.llvm.work import weight_of
from ingot.dtypes import DType
from ingot.loops.function_costs import COSTLY, COSTS, operations_in
from ingot.loops.ir import Apply, Buffer, For, Index, Let, Literal, Load, Position, Scalar, Store, Var
from ingot.loops.tally import Tally
from ingot.prim.functions import FUNCTIONS

FLOAT = DType.FLOAT32
X, Y, ROW = Buffer("x", FLOAT, 8), Buffer("y", FLOAT, 8), Var("i", 8)
LOAD = Load(FLOAT, X, Index(((ROW, 1),)))


def of(function: str, *arguments: Scalar) -> Apply:
    return Apply(FLOAT, function, arguments)


def test_only_functions_that_there_are_have_a_cost() -> None:
    assert COSTS.keys() <= FUNCTIONS.keys()
    assert all(cost > 1 for cost in COSTS.values())


def test_a_function_takes_what_the_table_says() -> None:
    assert operations_in([of("negate", LOAD)]) == 1
    assert operations_in([of("power", LOAD, Literal(FLOAT, 0.3))]) == COSTS["power"]


def test_what_is_shared_counts_once() -> None:
    value: Scalar = LOAD
    for _ in range(60):
        value = of("add", value, value)
    assert operations_in([value, value]) == 60


def test_what_only_computes_an_index_is_left_out() -> None:
    place = Apply(DType.INT64, "multiply", (Position(Index(((ROW, 1),))), Literal(DType.INT64, 2)))
    assert operations_in([of("negate", Load(FLOAT, X, Index(((place, 1),))))]) == 1


@pytest.mark.parametrize("function", ["sin", "exp", "power", "asinh"])
def test_the_cost_of_a_kernel_and_the_share_of_a_thread_agree_on_a_costly_function(function: str) -> None:
    assert function in COSTLY
    arguments = (LOAD, LOAD)[: FUNCTIONS[function].arity]
    costly, light = ((For(ROW, (Store(Y, LOAD.index, value),)),) for value in (of(function, *arguments), LOAD))
    assert weight_of(costly) - weight_of(light) == COSTS[function]
    tally = Tally()
    tally.statements(costly)
    assert tally.operations == 8 * COSTS[function]


def test_locals_count_where_they_are_computed() -> None:
    assert weight_of((Let("s", of("exp", LOAD)), Store(Y, LOAD.index, LOAD))) == 4 + COSTS["exp"]
