"""Plan files: what is written comes back as it was, and what is no plan file is none."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.codegen.elf import LinkedCode
from ingot.dims import Expr, symbol
from ingot.dtypes import DType
from ingot.prim.guard import Guard
from ingot.prim.tensor import Parameter, Tensor
from ingot.runtime import plan_file
from ingot.runtime.plan import Allocation, Arm, Jump, KernelStep, Plan, Segment
from ingot.runtime.plan_file import PlanFile

N, M = symbol("n"), symbol("m")
CODE = LinkedCode(bytes(range(200)), {"kernel": 16})
POOL = LinkedCode(b"\xc3" * 100, {"walk": 0, "lead": 64})


def plan() -> Plan:
    """A plan with something of everything; no kernel of it is ever run."""
    x = Parameter(DType.FLOAT32, (N, 3), "x")
    result = Tensor(DType.FLOAT32, (N * 2 + M // 3, 3))
    steps = (
        KernelStep("k", 1000, (0, 1), (N, 7, N * M), (1,)),
        Jump("loop", 0, (2, -1, -1, 3, 4), 1, 3, N + 1, 1),
        KernelStep("last", 1000, (1,), ()),
    )
    allocations = (Allocation(1, DType.FLOAT32, result.shape, 0, 2, result), Allocation(2, DType.INT64, (), 1, 1))
    guards = (Guard(N, M), Guard(N, 1, "because"))
    segment = Segment(steps, allocations, ("m", "n"), guards, None, (Arm(1, 2, (Guard(M, 4),)),), 5)
    weights = np.arange(5, dtype=np.float16)
    template = np.zeros(6, np.int64)
    template[5] = weights.ctypes.data
    constant = Tensor(DType.BOOL, (2,))
    constants = {constant: np.array([True, False])}
    return Plan((segment,), {"x": x}, {x: 0}, template, constants, {}, (), 3, ((5, weights),), {1000: CODE}, 99)


def kept(tmp_path: Path, own: Plan) -> PlanFile:
    path = tmp_path / "one.plan"
    outputs = tuple(each.tensor for each in own.segments[0].allocations if each.tensor is not None)
    inputs = (("x", ingot.TensorType(DType.FLOAT32, (N, 3))),)
    results = (("y", ingot.TensorType(DType.FLOAT32, (None, 3))), ("z", ingot.TensorType(DType.INT8, None)))
    beside = (("weights.bin", "abc"),)
    file = PlanFile(own, outputs, inputs, results, ("x",), (b"",), POOL, beside, "model.onnx")
    assert plan_file.write(path, file)
    back = plan_file.read(path, 3, 99)
    assert back is not None
    assert back.inputs == inputs
    assert back.results == results
    assert back.defaults == ("x",)
    assert back.beside == beside
    assert back.source == "model.onnx"
    assert plan_file.source_of(path) == "model.onnx"
    return back


def same(one: Any, other: Any, skipped: tuple[str, ...] = ()) -> None:
    """Whether two things are the same by their fields, where they are equal only to themselves."""
    if isinstance(one, Expr) or not (is_dataclass(one) or isinstance(one, tuple | dict | np.ndarray)):
        assert one == other
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, tuple):
        for mine, theirs in zip(one, other, strict=True):
            same(mine, theirs, skipped)
    elif isinstance(one, dict):
        same(tuple(one), tuple(other), skipped)
        same(tuple(one.values()), tuple(other.values()), skipped)
    else:
        assert type(one) is type(other)
        for field in fields(one):
            if field.name not in skipped:
                same(getattr(one, field.name), getattr(other, field.name), skipped)


def test_every_part_of_a_plan_comes_back(tmp_path: Path) -> None:
    own = plan()
    back = kept(tmp_path, own)
    same(own, back.plan, skipped=("template", "keep", "codes", "address"))
    assert back.outputs == tuple(each.tensor for each in back.plan.segments[0].allocations if each.tensor is not None)


def test_slots_of_constants_hold_the_addresses_of_mapped_memory(tmp_path: Path) -> None:
    back = kept(tmp_path, plan()).plan
    ((slot, array),) = back.memory
    assert back.template[slot] == array.ctypes.data
    assert array.ctypes.data % 64 == 0
    assert not array.flags.writeable


def test_code_that_kernels_share_is_stored_once_and_aligned(tmp_path: Path) -> None:
    back = kept(tmp_path, plan())
    first, _, last = back.plan.segments[0].steps
    assert isinstance(first, KernelStep)
    assert isinstance(last, KernelStep)
    assert first.address == last.address
    assert (first.address - 16) % 64 == 0
    assert back.thread_pool.entries["lead"] - back.thread_pool.entries["walk"] == 64


def test_what_is_no_plan_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "one.plan"
    assert plan_file.read(path, 1) is None
    assert plan_file.source_of(path) is None
    kept(tmp_path, plan())
    whole = path.read_bytes()
    for damaged in (whole[:40], whole[:-1], b"ingot plan 8" + whole[12:], whole[:200] + b"?" + whole[201:]):
        path.write_bytes(damaged)
        assert plan_file.read(path, 1) is None


def test_constants_that_are_damaged_are_seen(tmp_path: Path) -> None:
    back = kept(tmp_path, plan())
    path = tmp_path / "one.plan"
    whole = path.read_bytes()
    ((_, array),) = back.plan.memory
    place = whole.rindex(array.tobytes())
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert plan_file.read(path, 1) is None
    path.write_bytes(whole)
    assert plan_file.read(path, 1) is not None, "a copy of the file, at another time"


def test_constants_of_a_file_that_nobody_modified_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path, plan())
    monkeypatch.setattr(plan_file, "_is_whole", lambda *_: pytest.fail("they are read"))
    for _ in range(2):
        assert plan_file.read(tmp_path / "one.plan", 1) is not None


@pytest.mark.parametrize("place", [48, 56, 64, 72])
@pytest.mark.parametrize("value", [0, 1 << 40, 1 << 62, (1 << 64) - 1])
def test_a_head_that_is_damaged_is_seen(tmp_path: Path, place: int, value: int) -> None:
    kept(tmp_path, plan())
    path = tmp_path / "one.plan"
    whole = path.read_bytes()
    path.write_bytes(whole[:place] + value.to_bytes(8, "little") + whole[place + 8 :])
    assert plan_file.read(path, 1) is None
    assert plan_file.source_of(path) in (None, "model.onnx")


def test_code_of_this_process_alone_cannot_be_stored(tmp_path: Path) -> None:
    own = plan()
    without = Plan(*[getattr(own, field.name) if field.name != "codes" else {} for field in fields(own)])
    with pytest.raises(plan_file.Unstorable, match="code that only this process has"):
        kept(tmp_path, without)
