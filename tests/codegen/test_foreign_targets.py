"""Kernels compiled for other machines than this one: all kinds of nests, all types, with nothing left to be found."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.every_nest import models
from ingot.codegen.llvm.compile import code_of
from ingot.codegen.llvm.host import _cache_sizes as cache_sizes
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.kernel import emit
from ingot.codegen.llvm.thread_pool import walk_text
from ingot.compile import Artifacts
from ingot.deploy.compiled import compiled_for, objects_for
from ingot.errors import CompileError, InputError
from ingot.loops.ir import BranchStep, LoopStep, Nest, RoundedRows, SlidingWindows, kernels_in
from ingot.loops.kinds import KINDS
from ingot.loops.parametrise import parametrise
from ingot.schedule.target import Dot, Target, named, names

MODELS = models()
MAGIC = {"x86-64-v3": b"\x7fELF", "aarch64": b"\x7fELF", "wasm32": b"\0asm"}
WITH_BYTES = ("x86-64-v4+vnni", "x86-64-v4+amx", "aarch64+dotprod", "aarch64+i8mm", "aarch64+sve")
"""Machines with instructions that add products of bytes."""


def compiled(name: str, target: Target) -> Artifacts:
    return compiled_for(MODELS[name], target)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", MAGIC)
def test_every_kind_of_nest_is_compiled_and_needs_nothing_from_elsewhere(name: str, target: str) -> None:
    codes = compiled(name, named(target)).plan.codes
    assert codes
    for code in codes.values():
        assert "kernel" in code.entries


@pytest.mark.parametrize("target", WITH_BYTES)
def test_rows_are_rounded_to_bytes_where_instructions_multiply_these(target: str) -> None:
    artifacts = compiled("rounded codes", named(target))
    nests = [nest for kernel in kernels_in(artifacts.scheduled.steps) for nest in kernel.nests]
    assert RoundedRows in map(type, nests)
    assert all("kernel" in code.entries for code in artifacts.plan.codes.values())


def test_the_models_have_every_kind_of_nest_and_of_step() -> None:
    every = [*((name, "wasm32") for name in MODELS), ("rounded codes", "aarch64+dotprod")]
    steps = [step for name, target in every for step in compiled(name, named(target)).scheduled.steps]
    kinds = {type(nest) for kernel in kernels_in(steps) for nest in kernel.nests}
    assert kinds == KINDS.keys() - {Nest, SlidingWindows}  # statements are made of the one, and GPUs have the other
    assert {LoopStep, BranchStep} <= set(map(type, steps))


@pytest.mark.parametrize("target", MAGIC)
def test_object_files_are_those_of_the_target(target: str) -> None:
    made = objects_for(MODELS["attention"], named(target))
    assert made
    assert all(code.startswith(MAGIC[target]) for code in made.values())


@pytest.mark.parametrize("target", MAGIC)
def test_code_that_needs_something_from_elsewhere_is_refused(target: str) -> None:
    machine = named(target)
    text = f"""target triple = "{machine.triple}"
        @table = external global [4 x i32]
        declare i32 @elsewhere(i32)
        define i32 @kernel() {{ %x = call i32 @elsewhere(i32 1) ret i32 %x }}"""
    with pytest.raises(CompileError, match=r"a kernel needs .*elsewhere"):
        code_of(text, machine)


def test_addresses_have_eight_bytes_in_tables_where_pointers_have_four() -> None:
    kernel = next(kernels_in(compiled("indices", named("wasm32")).scheduled.steps))
    narrow, wide = (emit(parametrise(kernel).kernel, named(target)).text for target in ("wasm32", "aarch64"))
    assert "getelementptr i64, ptr %a0, i64 %v" in narrow.split('@"kernel"')[1]
    assert "getelementptr ptr, ptr %a0, i64 %v" in wide.split('@"kernel"')[1]


def test_loops_find_eight_bytes_for_each_address_too() -> None:
    assert "getelementptr ptr" not in walk_text(named("wasm32"))
    assert code_of(walk_text(named("wasm32")), named("wasm32")).code.startswith(MAGIC["wasm32"])


def test_kernels_are_alike_for_all_machines_that_fuse_multiplication_and_addition() -> None:
    fused, apart = (
        [emit(parametrise(kernel).kernel, target).text for kernel in kernels]
        for target in (named("aarch64"), named("wasm32"))
        for kernels in [list(kernels_in(compiled("products", target).scheduled.steps))]
    )
    assert any("llvm.fma" in text for text in fused)
    assert not any("llvm.fma" in text for text in apart)


def test_a_name_that_no_target_has_lists_those_there_are() -> None:
    with pytest.raises(InputError, match="there is no target 'x86-64-v5'; there are x86-64-v2, x86-64-v3") as caught:
        named("x86-64-v5")
    assert caught.value.hint is not None
    assert "'x86-64-v4'" in caught.value.hint


def test_targets_say_what_a_machine_has() -> None:
    assert all(named(name).vector in (16, 32, 64) for name in names())
    assert Dot.AMX_INT8 in named("x86-64-v4+amx").dots
    assert Dot.AVX512_VNNI in named("x86-64-v4+vnni").dots
    assert named("aarch64+sve").scalable
    assert not named("x86-64-v2").fma
    assert (named("wasm32").pointer, named("wasm32").threads, named("wasm32").futex) == (32, False, False)
    assert host().pointer == 64


def test_caches_are_as_large_as_the_system_says(tmp_path: Path) -> None:
    described = [("1", "Data", "48K"), ("1", "Instruction", "64K"), ("2", "Unified", "2048K"), ("3", "Unified", "32M")]
    for number, (level, kind, size) in enumerate([*described, ("4", "Unified", "1G"), ("2", "Unified", "?")]):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    (tmp_path / "index9").mkdir()
    assert cache_sizes(tmp_path) == {1: 48 << 10, 2: 2 << 20, 3: 32 << 20}
    assert cache_sizes(tmp_path / "none") == {}
