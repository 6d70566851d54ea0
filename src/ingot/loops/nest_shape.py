"""The shape of nests: their outermost loops, and where loops in vectors stand."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.loops.ir import For, Kind, Statement, Var
from ingot.loops.rewrite import within


def parallel_chain(statements: Sequence[Statement]) -> tuple[list[Var], tuple[Statement, ...]]:
    """The variables of the outermost parallel loops, and the statements inside of them."""
    chain: list[Var] = []
    body = tuple(statements)
    while len(body) == 1 and isinstance(body[0], For) and body[0].kind is Kind.PARALLEL:
        chain.append(body[0].var)
        body = body[0].body
    return chain, body


def is_vector(body: Sequence[Statement]) -> bool:
    """Whether statements are one loop in vectors."""
    return len(body) == 1 and isinstance(body[0], For) and body[0].kind.has_lanes


def has_vectors(body: Sequence[Statement]) -> bool:
    """Whether there is a loop in vectors among statements."""
    return any(isinstance(inner, For) and inner.kind.has_lanes for inner in within(body))


def innermost_parallel(body: Sequence[Statement]) -> Var | None:
    """The parallel loop inside of loops whose order matters, if these have nothing else in them: no two meet in it."""
    while len(body) == 1 and isinstance(body[0], For):
        if body[0].kind is Kind.PARALLEL:
            return body[0].var
        body = body[0].body
    return None
