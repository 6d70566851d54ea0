"""Every class of the loop IR is walked and rebuilt by its fields, and shared parts stay shared."""

from __future__ import annotations

from typing import get_args, get_origin

import pytest

from ingot.codegen.llvm.kernel import EMITTERS
from ingot.dtypes import DType
from ingot.loops.digest import digest
from ingot.loops.ir import (
    Apply,
    Buffer,
    Index,
    KernelNest,
    Literal,
    Load,
    Local,
    Nest,
    Position,
    Scalar,
    SlidingWindows,
    Store,
    Var,
)
from ingot.loops.kinds import KINDS
from ingot.loops.rewrite import indices, operands, parts
from ingot.loops.walk import Node, children, rebuilt, transform, walk
from loops.samples import sample

FLOAT = DType.FLOAT32


@pytest.mark.parametrize("kind", get_args(Node))
def test_a_node_rebuilt_of_its_own_parts_is_the_same(kind: type) -> None:
    node = sample(kind)
    assert digest(rebuilt(node, children(node))) == digest(node)


@pytest.mark.parametrize("kind", get_args(Node))
def test_every_part_of_a_node_can_be_replaced(kind: type) -> None:
    node = sample(kind)
    for place, part in enumerate(children(node)):
        assert isinstance(part, get_args(Node))
        other = Literal(FLOAT, 77.0) if not isinstance(part, Index) else Index((), 77)
        others = [other if at == place else each for at, each in enumerate(children(node))]
        assert children(rebuilt(node, others)) == others
        assert digest(rebuilt(node, others)) != digest(node)


def test_other_numbers_of_parts_are_refused() -> None:
    node = Apply(FLOAT, "negate", (Literal(FLOAT, 1.0),))
    with pytest.raises(AssertionError, match="too many parts"):
        rebuilt(node, [*children(node), *children(node)])
    with pytest.raises((StopIteration, RuntimeError)):
        rebuilt(node, [])


def test_each_kind_of_nest_has_its_rules_and_its_emitter() -> None:
    kinds = {get_origin(kind) or kind for kind in get_args(KernelNest)}
    assert kinds == KINDS.keys()
    assert kinds - {Nest, SlidingWindows} == EMITTERS.keys()  # the ones are scheduled first, the others for GPUs alone


def test_what_was_shared_stays_shared() -> None:
    value: Scalar = Local(FLOAT, "x")
    for _ in range(60):
        value = Apply(FLOAT, "add", (value, value))
    changed = transform(value, lambda node: Local(FLOAT, "y") if isinstance(node, Local) else node)
    assert len(list(parts([changed]))) == len(list(walk(changed))) == 61
    assert [part.name for part in parts([changed]) if isinstance(part, Local)] == ["y"]


def test_the_terms_of_indices_are_part_of_an_expression() -> None:
    i, table, out = Var("i", 4), Buffer("table", FLOAT, 9), Buffer("out", FLOAT, 4)
    place = Position(Index(((i, 1),)))
    load = Load(FLOAT, table, Index(((place, 2), (i, 1))))
    store = Store(out, Index(((i, 1),)), load)
    assert operands(load) == [place]
    assert list(indices(store)) == [store.index, load.index, place.index]
    assert list(walk(store)) == [store, store.index, load, load.index, place, place.index]
