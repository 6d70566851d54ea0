"""Products of matrices."""

from __future__ import annotations

from ingot.convert.to_torch.operand import Operand
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import number
from ingot.convert.to_torch.site import Site


@rule("MatMul", widens_all=True)
def matmul(site: Site, a: Operand, b: Operand) -> Expression:
    if b.transposed is None:
        return f"{a} @ {b}"
    bias = site.added_after()
    if bias is None:
        return f"F.linear({a}, {b.transposed})"
    add, vector = bias
    site.line(f"{site.say_too(add)} = F.linear({a}, {b.transposed}, {vector})")
    return None


@rule("Gemm", widens=True)
def gemm(
    _site: Site,
    a: Operand,
    b: Operand,
    c: Operand | None = None,
    *,
    alpha: float,
    beta: float,
    transA: int,
    transB: int,
) -> Expression:
    left = f"{a}.T" if transA else str(a)
    integer = a.is_integer
    matrix = b.transposed if not transB else str(b)
    vector = c is None or (c.rank == 1 and c.shape is not None and c.shape[0] != 1)
    if alpha == 1 and beta == 1 and vector and matrix is not None and not integer:
        return f"F.linear({left}, {matrix}{'' if c is None else f', {c}'})"
    right = (b.transposed or f"{b}.T") if transB else str(b)
    text = f"{left} @ {right}"
    if alpha != 1:
        text = f"{number(int(alpha) if integer else alpha)} * ({text})"
    if c is None or beta == 0:
        return text
    return f"{text} + {c}" if beta == 1 else f"{text} + {number(int(beta) if integer else beta)} * {c}"


@rule("Einsum")
def einsum(_site: Site, *inputs: Operand, equation: str) -> Expression:
    ascii_equation = "".join(
        letter for letter in equation if letter.isascii() and (letter.isalpha() or letter in ",.->")
    )
    return f'torch.einsum("{ascii_equation}", {", ".join(map(str, inputs))})'


@rule("Det")
def det(_site: Site, x: Operand) -> Expression:
    return f"torch.linalg.det({x})"
