"""A product of matrices and the sum after it are one Gemm."""

from __future__ import annotations

import pytest

from ingot.passes.bias import recover_bias
from passes.written import applied


@pytest.mark.parametrize("bias", ["4", "1, 4", "1", ""])
def test_a_product_takes_the_row_that_is_added(bias: str) -> None:
    text = f"""g (float[n, 3] x, float[3, 4] w, float[{bias}] b) => (float[n, 4] y) {{
        a = MatMul (x, w)\n y = Add (b, a)
    }}"""
    assert applied(recover_bias, text.replace("float[]", "float")) == (1, ["y = Gemm(x, w, b)"])


def test_a_gemm_without_bias_takes_it_and_keeps_its_factor() -> None:
    text = """g (float[3, 2] x, float[4, 3] w, float[4] b) => (float[2, 4] y) {
        a = Gemm<alpha = 0.5, transA = 1, transB = 1> (x, w)\n y = Add (a, b)
    }"""
    assert applied(recover_bias, text) == (1, ["y = Gemm(x, w, b)"])


@pytest.mark.parametrize(
    "text",
    [
        "(float[2, n, 3] x, float[3, 4] w, float[4] b) => (float[2, n, 4] y) { a = MatMul (x, w)\n y = Add (a, b) }",
        "(float[n, 3] x, float[3, 4] w, float[n, 1] b) => (float[n, 4] y) { a = MatMul (x, w)\n y = Add (a, b) }",
        "(float[1, 3] x, float[3, 4] w, float[5, 4] b) => (float[5, 4] y) { a = MatMul (x, w)\n y = Add (a, b) }",
        "(int32[n, 3] x, int32[3, 4] w, int32[4] b) => (int32[n, 4] y) { a = MatMul (x, w)\n y = Add (a, b) }",
        "(float[n, 3] x, float[3, 4] w, float[4] b) => (float[n, 4] y, float[n, 4] a) "
        "{ a = MatMul (x, w)\n y = Add (a, b) }",
    ],
    ids=["three axes", "a column", "a wider sum", "integers", "another reader"],
)
def test_what_is_no_row_on_a_product_of_matrices_stays(text: str) -> None:
    assert applied(recover_bias, f"g {text}")[0] == 0
