"""LLVM's language to machine code: made, linked, and loaded."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from ingot.codegen.elf import LinkedCode, linkable, linked
from ingot.codegen.executable_memory import Code, placed
from ingot.codegen.llvm.workers import workers
from ingot.schedule.target import Target

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Answer, Request

T = TypeVar("T")


def code_of(text: str, target: Target) -> LinkedCode:
    """A module of LLVM as machine code; CompileError if LLVM refuses it.

    It is plain code where that can be made; elsewhere an object file with the names of its functions, for LLVM to load.
    """
    return code_later(text, target, lambda code: code).result()


def code_later(text: str, target: Target, then: Callable[[LinkedCode], T]) -> Future[T]:
    """What `then` makes of that code, both beside other work."""
    request = _request(text, target)
    return workers().submit(lambda ask: then(_linked(ask(request), target)), len(text))


def assembly_of(text: str, target: Target) -> str:
    """A module of LLVM as the assembly that is made of it."""
    from ingot.codegen.llvm.make import assembly  # LLVM is not free to load

    return assembly(_request(text, target))


def load(code: LinkedCode, target: Target) -> Code:
    """Machine code made ready to be called."""
    if linkable(target.triple):
        return placed(code)
    import llvmlite.binding as llvm  # not free to load

    from ingot.codegen.llvm.make import facts, machine_for

    facts()
    empty = llvm.parse_assembly(f'target triple = "{target.triple}"')
    machine = machine_for(target.triple, target.cpu, target.features, anywhere=False)
    engine = llvm.create_mcjit_compiler(empty, machine)  # the engine owns its machine: one for each
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    return Code({name: engine.get_function_address(name) for name in code.entries}, engine)


def _request(text: str, target: Target) -> Request:
    return text, target.triple, target.cpu, target.features, linkable(target.triple)


def _linked(answer: Answer, target: Target) -> LinkedCode:
    made, names = answer
    return linked(made) if linkable(target.triple) else LinkedCode(made, dict.fromkeys(names, 0))
