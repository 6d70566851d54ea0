"""Kernels are told apart by their structure, field by field, and by nothing else."""

from __future__ import annotations

import struct
import time
from copy import deepcopy
from dataclasses import dataclass, fields

import pytest

from ingot.dtypes import DType
from ingot.loops.digest import digest
from ingot.loops.ir import LABEL, Apply, Buffer, Index, Let, Literal, Load, Scalar, Store, Var
from loops.samples import CLASSES, sample, variants

FLOAT = DType.FLOAT32
FIELDS = [(kind, field) for kind in CLASSES for field in fields(kind)]


@pytest.mark.parametrize(("kind", "field"), FIELDS, ids=lambda each: getattr(each, "__name__", None) or each.name)
def test_every_field_is_part_of_the_digest_unless_it_is_a_label(kind: type, field: object) -> None:
    name, is_label = field.name, field.metadata.get(LABEL, False)  # type: ignore[attr-defined]
    values = variants(kind, name)
    assert len(values) > 1
    assert len({digest(value) for value in values}) == (1 if is_label else len(values))


@pytest.mark.parametrize("kind", CLASSES)
def test_the_same_structure_has_the_same_digest(kind: type) -> None:
    assert digest(sample(kind)) == digest(deepcopy(sample(kind)))


def test_names_do_not_matter_but_which_variable_is_meant_does() -> None:
    i, j = Var("i", 4), Var("j", 4)
    assert digest(Index(((i, 1), (j, 2)))) == digest(Index(((j, 1), (i, 2))))
    assert digest(Index(((i, 1), (j, 2)))) != digest(Index(((i, 1), (i, 2))))


def test_buffers_of_the_same_size_are_not_one_buffer() -> None:
    a, b, out = (Buffer(name, FLOAT, 8) for name in ("a", "b", "out"))

    def added(one: Buffer, other: Buffer) -> Store:
        return Store(out, Index(), Apply(FLOAT, "add", (Load(FLOAT, one, Index()), Load(FLOAT, other, Index()))))

    assert digest(added(a, b)) == digest(added(b, a))
    assert digest(added(a, b)) != digest(added(a, a))


def test_a_shared_expression_is_the_same_as_its_copy() -> None:
    def one() -> Literal:
        return Literal(FLOAT, 1.0)

    shared = one()
    assert digest(Apply(FLOAT, "add", (shared, shared))) == digest(Apply(FLOAT, "add", (one(), one())))


def test_an_expression_of_sixty_doublings_takes_no_time() -> None:
    value: Scalar = Literal(FLOAT, 1.0)
    for _ in range(60):
        value = Apply(FLOAT, "add", (value, value))
    start = time.perf_counter()
    digest(Let("x", value))
    assert time.perf_counter() - start < 1


def test_numbers_are_told_apart_by_their_bits() -> None:
    quiet, other = (struct.unpack(">d", bytes.fromhex(bits))[0] for bits in ("7ff8000000000000", "7ff8000000000001"))
    numbers = [0.0, -0.0, 0, False, 1.0, 1, True, quiet, other, "0", None]
    assert len({digest(number) for number in numbers}) == len(numbers)


def test_a_type_that_is_not_known_is_refused() -> None:
    @dataclass(frozen=True)
    class Holder:
        value: object

    with pytest.raises(TypeError, match=r"a builtins\.list has no digest"):
        digest(Holder([1]))
