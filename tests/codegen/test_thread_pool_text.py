"""The code of the thread pool for other processors and systems: it compiles, and needs nothing they do not have."""

from __future__ import annotations

import re
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

from ingot.codegen.elf import linkable
from ingot.codegen.job import JobEntry
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.thread_pool import thread_pool_text
from ingot.codegen.llvm.thread_pool.system import System

ENTRIES = {name for key, name in vars(JobEntry).items() if key.isupper()}


def text_for(triple: str) -> str:
    return thread_pool_text(replace(host(), triple=triple))


def needed(text: str) -> set[str]:
    """The functions from elsewhere, but for those that are instructions."""
    return set(re.findall(r'^declare .*@"([^"]+)"', text, re.MULTILINE)) - {"llvm.x86.sse2.pause"}


@pytest.mark.parametrize(
    ("triple", "assembly"),
    [
        ("x86_64-unknown-linux-gnu", "syscall"),
        ("aarch64-unknown-linux-gnu", "syscall"),
        ("riscv64-unknown-linux-gnu", "syscall"),
        ("arm64-apple-darwin", "sched_yield"),
        ("x86_64-unknown-freebsd", "sched_yield"),
        ("x86_64-pc-windows-msvc", "pause"),
        ("wasm32-unknown-unknown", ""),
    ],
)
def test_it_compiles_for_every_target(triple: str, assembly: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()
    text = text_for(triple)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()
        assert {function.name for function in module.functions} >= ENTRIES
        machine = llvm.Target.from_triple(triple).create_target_machine(opt=2)
        assert machine.emit_object(module)
        assert assembly in machine.emit_assembly(module)


@pytest.mark.parametrize(("machine", "names"), [("x86_64", set()), ("aarch64", {"syscall"}), ("riscv64", {"syscall"})])
def test_threads_on_linux_sleep_where_code_is_mapped_without_a_library(machine: str, names: set[str]) -> None:
    triple = f"{machine}-unknown-linux-gnu"
    assert System(triple).can_sleep
    assert needed(text_for(triple)) == names
    assert not (linkable(triple) and names)


@pytest.mark.parametrize(
    ("triple", "names"),
    [("arm64-apple-darwin", {"sched_yield"}), ("x86_64-pc-windows-msvc", set()), ("wasm32-unknown-unknown", set())],
)
def test_native_code_elsewhere_does_not_sleep(triple: str, names: set[str]) -> None:
    assert not System(triple).can_sleep
    assert needed(text_for(triple)) == names
    assert "asm sideeffect" not in text_for(triple)
