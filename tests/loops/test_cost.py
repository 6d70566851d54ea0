"""Operations and bytes of kernels, as expressions of sizes."""

from __future__ import annotations

import ingot
from ingot.dims import Dim, parse
from ingot.loops.cost import Cost, cost_of
from ingot.loops.ir import Kernel
from ingot.session import Session

HEADER = '<ir_version: 10, opset_import: ["" : 20]>'


def costs(graph: str) -> list[Cost]:
    session = Session(
        ingot.parse_model(f"{HEADER}\n{graph}"), providers=("cpu", "reference"), threads=1, fallback=False
    )
    assert session.compiled is not None
    return [cost_of(step) for step in session.compiled.scheduled.steps if isinstance(step, Kernel)]


def sized(text: str) -> Dim:
    return parse(text)


def test_a_product_takes_two_operations_a_term_and_those_of_what_follows() -> None:
    graph = "g (float[n, 4] x) => (float[n, 2] y) <float[4, 2] w = {1,2,3,4,5,6,7,8}, float[2] b = {1, 2}>"
    (cost,) = costs(f"{graph} {{ p = MatMul (x, w)  s = Add (p, b)  y = Relu (s) }}")
    assert cost.operations == sized("2*4*2*n + 2*2*n")
    assert cost.read == sized("16*n + 4*8 + 4*2")
    assert cost.written == sized("8*n")


def test_a_row_that_is_read_again_counts_once() -> None:
    (cost,) = costs("g (float[n, 6] x) => (float[n, 6] y) { y = Softmax (x) }")
    assert (cost.read, cost.written) == (sized("24*n"), sized("24*n"))
    assert cost.operations == sized("6*n*(1 + 11 + 4)")  # maximum; subtract, exp and add; multiply by an inverse


def test_of_a_table_only_what_is_looked_up_counts() -> None:
    graph = "g (float[1000, 8] table, int64[3] i) => (float[3, 8] y) { y = Gather (table, i) }"
    (cost,) = costs(graph)
    assert (cost.operations, cost.read, cost.written) == (0, 3 * 8 * 4 + 3 * 8, 3 * 8 * 4)


def test_of_a_slice_only_its_elements_count() -> None:
    graph = "g (float[100] x) => (float[10] y) <int64[1] a = {0}, int64[1] b = {10}>"
    (cost,) = costs(f"{graph} {{ s = Slice (x, a, b)  y = Neg (s) }}")
    assert (cost.operations, cost.read, cost.written) == (10, 40, 40)


def test_many_places_of_a_tensor_of_named_sizes_are_no_more_than_all_of_it() -> None:
    parts = " ".join(f"i{n} = Constant <value_ints = [{n}]> () s{n} = Gather (x, i{n})" for n in range(30))
    (cost,) = costs(f"g (float[n, m] x) => (y) {{ {parts} y = Max ({', '.join(f's{n}' for n in range(30))}) }}")
    assert cost.read == sized("4*min(30*m, m*n)")
