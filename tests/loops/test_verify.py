"""Kernels that must be refused, one for each rule; those of real models are verified where these are compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.loops.ir import (
    Apply,
    Attention,
    Buffer,
    CheckedIndex,
    Contraction,
    For,
    Index,
    Inside,
    Kernel,
    KernelNest,
    Kind,
    Let,
    Literal,
    Load,
    Local,
    PairDot,
    Position,
    Select,
    Staged,
    Statement,
    Store,
    Tile,
    Update,
    Var,
    Winograd,
    widened,
)
from ingot.loops.verify import verify_kernel

FLOAT, INT = DType.FLOAT32, DType.INT64
N = symbol("n")
ROW, J, K = Var("i", N), Var("j", 4), Var("k", 3)
X, Y, TABLE = Buffer("x", FLOAT, N * 4), Buffer("y", FLOAT, N * 4), Buffer("table", INT, N)
WHOLE = Index(((ROW, 4), (J, 1)))
LOAD = Load(FLOAT, X, WHOLE)


def kernel(*nests: KernelNest, reads: Sequence[Buffer] = (X,), writes: Sequence[Buffer] = (Y,)) -> Kernel:
    return Kernel("sample", nests, tuple(reads), tuple(writes))


def loops(*body: Statement, kind: Kind = Kind.PARALLEL) -> tuple[Statement, ...]:
    return (For(ROW, (For(J, body, Kind.VECTOR),), kind),)


def refuse(reason: str, wrong: Kernel) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        verify_kernel(wrong)
    assert "in kernel sample" in str(caught.value)


def test_a_plain_kernel_is_right() -> None:
    verify_kernel(kernel(loops(Store(Y, WHOLE, LOAD))))


def test_a_variable_is_bound_by_a_loop_around_it() -> None:
    stray = Store(Y, WHOLE, Load(FLOAT, X, Index(((K, 1),))))
    refuse("variable k in store to y is not bound", kernel(loops(stray)))
    refuse("variable j .* is not bound", kernel((For(ROW, (Store(Y, WHOLE, LOAD),)),)))


def test_a_variable_is_bound_once() -> None:
    refuse("variable i is bound twice", kernel((For(ROW, loops(Store(Y, WHOLE, LOAD))),)))


def test_a_local_is_defined_before_it_is_used() -> None:
    used = Store(Y, WHOLE, Local(FLOAT, "s"))
    verify_kernel(kernel(loops(Let("s", LOAD), used)))
    refuse("local s in store to y is not defined", kernel(loops(used, Let("s", LOAD))))
    refuse("local s .* is not defined", kernel((For(ROW, (For(J, (Let("s", LOAD),)), For(J, (used,)))),)))
    refuse("local s is updated before it is defined", kernel(loops(Update("s", "add", LOAD), used)))


def test_a_local_keeps_its_type() -> None:
    one = Literal(INT, 1)
    refuse(
        "element types of local s differ", kernel(loops(Let("s", one), Store(Y, WHOLE, Local(FLOAT, "s"))), reads=())
    )
    refuse("element types of local s differ", kernel(loops(Let("s", LOAD), Update("s", "add", one))))


def test_a_local_is_updated_by_a_function_of_two() -> None:
    refuse("updated by 'negate', no function of two", kernel(loops(Let("s", LOAD), Update("s", "negate", LOAD))))


@pytest.mark.parametrize(
    ("reason", "value"),
    [
        ("a load of x differ", Load(INT, X, WHOLE)),
        ("store to y differ", Load(INT, TABLE, Index(((ROW, 1),)))),
        ("the arguments of add differ", Apply(FLOAT, "add", (LOAD, Literal(INT, 1)))),
        ("less differ", Apply(FLOAT, "less", (LOAD, LOAD))),
        ("a condition differ", Apply(FLOAT, "where", (LOAD, LOAD, LOAD))),
        ("a selected value differ", Select(FLOAT, Literal(INT, 1), (Inside(WHOLE, 4),), 0.0)),
        ("a checked index differ", Apply(FLOAT, "cast", (CheckedIndex(LOAD, 4),))),
        ("a position differ", Position(WHOLE, FLOAT)),
        ("negate of 2 arguments, which takes 1", Apply(FLOAT, "negate", (LOAD, LOAD))),
        ("cast of 2 arguments", Apply(FLOAT, "cast", (LOAD, LOAD))),
        ("there is no function 'soften'", Apply(FLOAT, "soften", (LOAD,))),
    ],
)
def test_types_of_expressions_agree(reason: str, value: Load | Apply | Select | Position) -> None:
    refuse(reason, kernel(loops(Store(Y, WHOLE, value))))


def test_indices_are_int64() -> None:
    refuse("has a term of float32", kernel(loops(Store(Y, WHOLE, Load(FLOAT, X, Index(((LOAD, 1),)))))))


def test_a_parallel_loop_stores_at_places_that_depend_on_it() -> None:
    wrong = loops(Store(Y, Index(((J, 1),)), LOAD))
    refuse("at a place that is the same for all of parallel loop i", kernel(wrong))
    verify_kernel(kernel(loops(Store(Y, Index(((J, 1),)), LOAD), kind=Kind.SERIAL)))
    place = Let("p", Load(INT, TABLE, Index(((ROW, 1),))))
    indirect = Store(Y, Index(((Local(INT, "p"), 4), (J, 1))), LOAD)
    verify_kernel(kernel(loops(place, indirect), reads=(X, TABLE)))


def test_a_parallel_loop_updates_no_local_from_outside_of_it() -> None:
    inner = loops(Update("s", "add", LOAD))
    refuse("local s is updated by all of a parallel loop", kernel((Let("s", Literal(FLOAT, 0.0)), *inner)))


def test_an_index_is_not_known_to_be_outside() -> None:
    past = WHOLE.plus(1)
    refuse(r"load of x at 4\*n, of 4\*n elements", kernel(loops(Store(Y, WHOLE, Load(FLOAT, X, past)))))
    refuse(r"store to y at 4\*n", kernel(loops(Store(Y, past, LOAD))))
    refuse("load of x at -1", kernel(loops(Store(Y, WHOLE, Load(FLOAT, X, WHOLE.plus(-1))))))
    guarded = Load(FLOAT, X, past, (Inside(past, N * 4),))
    verify_kernel(kernel(loops(Store(Y, WHOLE, guarded))))
    checked = Index(((CheckedIndex(Load(INT, TABLE, Index(((ROW, 1),))), N + 1), 4),))
    refuse("load of x at", kernel(loops(Store(Y, WHOLE, Load(FLOAT, X, checked))), reads=(X, TABLE)))


def test_nothing_is_outside_where_nothing_runs() -> None:
    never = Var("never", 0)
    verify_kernel(kernel((For(never, (Store(Y, Index((), -1), Load(FLOAT, X, Index((), -1))),), Kind.PARALLEL),)))


def test_buffers_are_those_that_are_listed() -> None:
    nest = loops(Store(Y, WHOLE, LOAD))
    refuse("buffer x is loaded from and not listed", kernel(nest, reads=()))
    refuse("buffer y is stored to and not listed as written", kernel(nest, writes=()))
    refuse("buffer table is listed as read and is not", kernel(nest, reads=(X, TABLE)))
    refuse("buffer table is listed as written and is not", kernel(nest, writes=(Y, TABLE)))


# --- kinds of nests

M, C, T = Var("m", 4), Var("c", 5), Var("t", 6)
A, B, OUT = Buffer("a", FLOAT, 12), Buffer("b", FLOAT, 15), Buffer("out", FLOAT, 20)
PRODUCT = Contraction(
    FLOAT,
    (),
    (M,),
    (C,),
    (K,),
    Load(FLOAT, A, Index(((M, 3), (K, 1)))),
    Load(FLOAT, B, Index(((K, 5), (C, 1)))),
    (Store(OUT, Index(((M, 5), (C, 1))), Local(FLOAT, "sum")),),
    packed=True,
    tile=Tile(4, 2, 8),
)


@pytest.mark.parametrize(
    ("reason", "nest"),
    [
        ("variable c in expression is not bound", replace(PRODUCT, lhs=Load(FLOAT, A, Index(((C, 1), (K, 1)))))),
        ("variable m in expression is not bound", replace(PRODUCT, rhs=Load(FLOAT, B, Index(((M, 1), (K, 1)))))),
        ("load of a at 12", replace(PRODUCT, lhs=Load(FLOAT, A, Index(((M, 3), (K, 1)), 1)))),
        ("load of b at 15", replace(PRODUCT, rhs=Load(FLOAT, B, Index(((K, 5), (C, 1)), 1)), packed=False)),
        (
            "local total .* is not defined",
            replace(PRODUCT, body=(Store(OUT, Index(((M, 5),)), Local(FLOAT, "total")),)),
        ),
        ("no buffer for its panels", replace(PRODUCT, packed=False)),
        ("a product of float32 summed as float64", replace(PRODUCT, dtype=DType.FLOAT64)),
        (
            "no zeros to read",
            replace(PRODUCT, lhs=Load(FLOAT, A, Index(((M, 3), (K, 1))), (Inside(Index(((M, 1),)), 3),))),
        ),
    ],
)
def test_contractions_that_are_refused(reason: str, nest: Contraction) -> None:
    verify_kernel(kernel(PRODUCT, reads=(A, B), writes=(OUT,)))
    refuse(reason, kernel(nest, reads=(A, B), writes=(OUT,)))


def test_what_winograd_reads_is_listed_and_bound() -> None:
    zeros, channel = Buffer("zeros", FLOAT, 8), Var("ch", 8)
    lhs = Load(FLOAT, A, Index(((M, 3),)))
    rhs = Load(FLOAT, B, Index(((K, 5), (C, 1))))
    nest = Winograd(
        FLOAT, (M, J), (C,), (K, channel), lhs, rhs, rhs, PRODUCT.body, 4, 8, (1, 1), (), zeros
    )  # fmt: skip
    verify_kernel(kernel(nest, reads=(A, B, zeros), writes=(OUT,)))
    refuse("buffer zeros is loaded from and not listed", kernel(nest, reads=(A, B), writes=(OUT,)))
    refuse("variable m .* is not bound", kernel(replace(nest, plain=lhs), reads=(A, B, zeros), writes=(OUT,)))


def test_each_row_of_staged_windows_stores_at_places_of_its_own() -> None:
    copy, column = Buffer("copy", FLOAT, 12), Var("column", 3)
    copied = For(column, (Store(copy, Index(((column, 1),)), Load(FLOAT, X, Index(((ROW, 3), (column, 1))))),))
    read = Load(FLOAT, copy, Index(((J, 1),)))
    nest = Staged((ROW,), (), (copied,), (For(J, (Store(Y, WHOLE, read),)),), (copy,), 3)
    verify_kernel(replace(kernel(nest), scratch=(copy,)))
    refuse("buffer copy is loaded from and not listed", kernel(nest))
    unbound = replace(nest, filled=nest.copied)
    refuse("variable i .* is not bound", replace(kernel(unbound), scratch=(copy,)))
    same = replace(nest, body=(For(J, (Store(Y, Index(((J, 1),)), read),)),))
    refuse("the same for all of parallel loop i", replace(kernel(same), scratch=(copy,)))


def test_what_attention_computes_in_is_bound() -> None:
    queries = Load(FLOAT, A, Index(((M, 3), (K, 1))))
    keys = Load(FLOAT, B, Index(((K, 5),)))
    values = Load(FLOAT, B, Index(((C, 1),)))
    body = (Store(OUT, Index(((M, 5), (C, 1))), Apply(FLOAT, "divide", (Local(FLOAT, "read"), Local(FLOAT, "total")))),)
    score = Local(FLOAT, "sum")
    nest = Attention(FLOAT, (), (M,), C, K, T, queries, keys, values, score, body, None, 8, (1, 1, 1), ())
    listed = {"reads": (A, B), "writes": (OUT,)}
    verify_kernel(kernel(nest, **listed))
    refuse("local read .* is not defined", kernel(replace(nest, score=Local(FLOAT, "read")), **listed))
    refuse("variable m .* is not bound", kernel(replace(nest, keys=queries), **listed))
    refuse("local sum .* is not defined", kernel(replace(nest, body=PRODUCT.body), **listed))
    wider = replace(nest, dtype=DType.FLOAT64, score=Local(DType.FLOAT64, "sum"))
    refuse("attention of float32 computed in float64", kernel(wider, **listed))
    refuse("pairs of what is not loaded as bfloat16", kernel(replace(nest, dots=(PairDot(True), None)), **listed))
    narrow, half = Buffer("narrow", DType.BFLOAT16, 5), DType.BFLOAT16
    pairs = replace(nest, values=widened(Load(half, narrow, Index(((C, 1),))), FLOAT), dots=(None, PairDot(True)))
    listed["reads"] = (A, B, narrow)
    verify_kernel(kernel(replace(pairs, weights=half), **listed))
    refuse("pairs of weights that are not rounded to bfloat16", kernel(pairs, **listed))
