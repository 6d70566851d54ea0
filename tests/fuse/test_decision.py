"""Decisions: why tensors are stored, what is wrong with a wrong one, and that kernels depend on nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuse.programs import LIMITS, N, decided, parameter, weights
from ingot.dims import symbol
from ingot.dtypes import DType
from ingot.errors import CompileError
from ingot.fuse.build import build
from ingot.fuse.decision import Decision, Store, StoreBranch, StoreLoop, fused_into, stores_in
from ingot.fuse.fuse import fuse
from ingot.fuse.show import show
from ingot.fuse.verify import faults, verify
from ingot.ir.node import Node
from ingot.loops.digest import digest
from ingot.loops.ir import kernels_in
from ingot.prim import apply, cast, concat, contract, expand, gather, iota, permute, reduce_, reshape, scan
from ingot.prim.make_region import branch, repeat
from ingot.prim.tensor import Call, CallResult, Tensor

X = parameter("x", N, 8)
CONDITION = parameter("condition", dtype=DType.BOOL)


def dense(x: Tensor, columns: int = 4) -> Tensor:
    size = x.shape[1]
    assert isinstance(size, int)
    return contract(x, weights(size, columns), "mk,kn->mn")


def repeated(body_reads: Tensor) -> list[Tensor]:
    """A loop whose body adds a tensor to its state."""
    (last,), (rows,) = repeat(
        3, [parameter("start", 6, 8)], lambda _, states: ([apply("add", states[0], body_reads)], [states[0]])
    )
    return [last, rows]


PROGRAMS = {
    "elementwise": [apply("exp", apply("negate", X))],
    "epilogue": [apply("maximum", dense(X), 0.0)],
    "reductions": [reduce_("add", apply("exp", X), (0,)), reduce_("add", apply("exp", X), (1,))],
    "reshape": [reduce_("add", reshape(apply("exp", permute(parameter("a", 2, 3, 4), (1, 0, 2))), (3, 8)), (1,))],
    "concat and scan": [concat([scan("add", X, 1), apply("negate", X)], 0)],
    "branch": branch(CONDITION, [apply("exp", X)], [apply("negate", X)]),
    "loop": repeated(apply("exp", parameter("y", 6, 8))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_depend_on_the_decision_alone(name: str) -> None:
    decision = decided(PROGRAMS[name])
    once, again = (build(each) for each in (decision, replace(decision, readings={})))
    assert [digest(kernel) for kernel in kernels_in(once.steps)] == [
        digest(kernel) for kernel in kernels_in(again.steps)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_decision_has_no_faults(name: str) -> None:
    assert not list(faults(decided(PROGRAMS[name])))


def why(*results: Tensor) -> dict[Tensor, str]:
    return dict(decided(results).why)


def test_a_result_is_stored_as_one() -> None:
    result = apply("exp", X)
    assert why(result) == {result: "it is a result"}


def test_codes_are_stored_instead_of_what_two_products_dequantise_and_add() -> None:
    codes = [cast(cast(dense(parameter(name, N, 8)), DType.INT32), DType.UINT8) for name in "ab"]
    one, other = (cast(each, DType.FLOAT32) * 0.5 for each in codes)
    stored = decided([one + other]).why
    assert sum(each in stored for each in codes) == 1
    assert one not in stored
    assert other not in stored


def test_an_epilogue_reads_a_reduction_that_is_stored_before_it() -> None:
    total = reduce_("add", X, (1,))
    decision = decided([apply("maximum", apply("subtract", dense(X), total), 0.0)])
    assert [type(store.chain[0] if store.chain else store.tensor).__name__ for store in stores_in(decision.steps)] == [
        "Reduce",
        "Contract",
    ]


def test_what_two_kernels_read_is_stored() -> None:
    shared = apply("exp", X)
    reasons = why(reduce_("add", shared, (0,)), reduce_("add", shared, (1,)))
    assert reasons[shared] == "several kernels read it"


def test_a_cast_of_an_input_is_computed_by_each_kernel_that_reads_it() -> None:
    shared = cast(parameter("i", 6, 8, dtype=DType.INT32), DType.FLOAT32)
    assert shared not in why(reduce_("add", shared, (0,)), reduce_("add", shared, (1,)))


def test_an_expression_that_grows_without_end_is_cut() -> None:
    total: Tensor = X
    for _ in range(150):
        total = apply("add", total, X)
    decision = decided([total])
    cut = [tensor for tensor, reason in decision.why.items() if reason.startswith("the expression would be too long")]
    assert len(cut) == 1
    assert all(len(fused_into(store)) <= 96 for store in stores_in(decision.steps))


def test_layers_of_a_deep_model_are_not_one_long_expression() -> None:
    total: Tensor = X
    for _ in range(60):
        total = apply("add", total, reshape(permute(dense(apply("exp", total), 8), (1, 0)), (N, 8)))
    decision = decided([total])
    assert not [reason for reason in decision.why.values() if reason.startswith("the expression would be too long")]


def test_a_reduction_of_few_long_rows_is_stored_by_itself() -> None:
    mean = reduce_("add", parameter("x", 2, 100_000), (1,))
    assert why(apply("exp", mean))[mean] == "threads share its long rows"
    short = reduce_("add", parameter("x", 2, 100), (1,))
    assert short not in why(apply("exp", short))


def test_what_is_invariant_in_a_loop_is_stored_before_it() -> None:
    invariant = apply("exp", parameter("y", 6, 8))
    decision = decided(repeated(invariant))
    assert decision.why[invariant] == "every run of a loop would compute it again"
    (loop,) = [step for step in decision.steps if isinstance(step, StoreLoop)]
    assert invariant not in [store.tensor for store in stores_in(loop.steps)]


def test_what_a_branch_alone_reads_is_computed_in_it() -> None:
    inside = scan("add", X, 1)
    decision = decided(branch(CONDITION, [apply("exp", inside)], [X]))
    (step,) = [step for step in decision.steps if isinstance(step, StoreBranch)]
    assert inside in [store.tensor for store in stores_in(step.then)]


def test_what_constants_make_is_known_when_compiled() -> None:
    known = apply("exp", apply("add", weights(3, 8), 1.0))
    once = decided([apply("add", parameter("x", 3, 8), known)])
    assert not once.known, "it is computed where it is read"
    twice = decided([apply("add", parameter("x", 3, 8), known), concat([known, known], 0)])
    assert twice.known == (known,)


def test_a_call_comes_before_what_is_computed_with_the_sizes_it_tells() -> None:
    call = Call(Node("Unique", [], ["y"]), (X,), "it has no rule")
    result = CallResult(DType.FLOAT32, (symbol("unique"),), call, 0)
    counted = cast(iota((symbol("unique"),), 0), DType.FLOAT32)
    decision = decided([apply("exp", counted), result])
    assert dict(decision.size_calls) == {"unique": call}
    assert show(decision).splitlines()[-2:] == ["call Unique, which tells unique", "k1: nothing -> %2"]
    verify(decision)
    nowhere = {tensor: placed for tensor, placed in decision.placed.items() if tensor is not X}
    assert list(faults(replace(decision, placed=nowhere))) == ["a call of Unique reads what is not stored"]


# --- what verify finds


def chained() -> Decision:
    """Three steps, each of which reads the one before."""
    return decided([reduce_("add", apply("maximum", dense(apply("exp", X)), 0.0), (0,))])


def test_a_step_before_what_it_reads_is_found() -> None:
    decision = chained()
    assert len(decision.steps) == 3
    wrong = replace(decision, steps=decision.steps[::-1])
    assert next(faults(wrong)) == "k3 reads k2_out before it is stored"
    with pytest.raises(CompileError, match="fusion decided what cannot be: k3 reads k2_out before it is stored"):
        verify(wrong)


def test_a_missing_step_is_found() -> None:
    decision = chained()
    assert list(faults(replace(decision, steps=decision.steps[1:]))) == ["k2 reads k1_out before it is stored"]


def test_a_step_that_is_there_twice_is_found() -> None:
    decision = chained()
    twice = replace(decision, steps=(*decision.steps, decision.steps[0]))
    assert set(faults(twice)) == {"there are two steps k1", "k1 and k1 store into k1_out"}


def test_a_result_that_is_not_stored_is_found() -> None:
    decision = chained()
    wrong = replace(decision, results=(*decision.results, apply("exp", X)))
    assert list(faults(wrong)) == ["a result, Map, is not stored"]


def test_an_epilogue_with_a_gap_is_found() -> None:
    decision = decided([apply("maximum", dense(X), 0.0)])
    (store,) = decision.steps
    assert isinstance(store, Store)
    wrong = replace(store, chain=(dense(X), store.tensor))
    assert list(faults(replace(decision, steps=(wrong,)))) == ["the epilogue of k1 has a gap"]


def test_what_is_neither_stored_nor_fused_is_found() -> None:
    decision = decided([apply("exp", scan("add", X, 1))])
    first, second = decision.steps
    assert isinstance(second, Store)
    wrong = replace(decision, steps=(first, replace(second, reads={})))
    assert next(faults(wrong)) == "k2 computes a Scan, which is neither stored nor fused"


def test_debugging_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(chained(), steps=())
    monkeypatch.setattr("ingot.fuse.fuse.decide", lambda *_: replace(wrong, results=(apply("exp", X),)))
    monkeypatch.delenv("INGOT_DEBUG")
    fuse([X], LIMITS)
    monkeypatch.setenv("INGOT_DEBUG", "1")
    with pytest.raises(CompileError, match="a result, Map, is not stored"):
        fuse([X], LIMITS)


def test_a_transposed_tensor_is_stored_where_much_of_its_rows_is_gathered() -> None:
    image, places = permute(parameter("x", 16, 20), (1, 0)), parameter("at", 40, 1, dtype=DType.INT64)
    rows = gather(image, [places, 1], (40, 16))
    assert image in {store.tensor for store in stores_in(decided([apply("exp", rows)]).steps)}
    few = gather(image, [parameter("at", 4, 1, dtype=DType.INT64), 1], (4, 16))
    assert image not in {store.tensor for store in stores_in(decided([apply("exp", few)]).steps)}
    narrow = permute(parameter("x", 3, 20), (1, 0))
    short = gather(narrow, [places, 1], (40, 3))
    assert narrow not in {store.tensor for store in stores_in(decided([apply("exp", short)]).steps)}


def test_what_is_computed_of_gathered_rows_is_stored_before_it_is_transposed() -> None:
    image, places = permute(parameter("x", 16, 20), (1, 0)), parameter("at", 40, 1, dtype=DType.INT64)
    rows = apply("exp", gather(image, [places, 1], (40, 16)))
    stored = {store.tensor for store in stores_in(decided([permute(rows, (1, 0))]).steps)}
    assert rows in stored


def test_rows_made_of_short_ones_are_stored_where_they_are_repeated() -> None:
    def stored(row: int, *, computed: bool = False) -> bool:
        inner = expand(reshape(parameter("x", 6, row), (6, 1, row)), (6, 50, row))
        rows = reshape(inner, (6, 1, 50 * row))
        whole = expand(rows, (6, 4, 50 * row))
        results = [apply("exp", whole) if computed else reshape(whole, (24, 50 * row))]
        return rows in {store.tensor for store in stores_in(decided(results).steps)}

    assert stored(5)
    assert not stored(500)
    assert not stored(5, computed=True)


def test_halves_that_several_kernels_widen_are_stored_as_halves() -> None:
    half = cast(dense(parameter("a", N, 8)), DType.FLOAT16)
    wide = cast(half, DType.FLOAT32)
    largest = reduce_("maximum", wide, [1])
    stored = decided([wide - largest, dense(wide)]).why
    assert half in stored
    assert wide not in stored
