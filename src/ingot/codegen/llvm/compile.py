"""LLVM IR to machine code: compiled, linked, and loaded where it can run."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from ingot.codegen.elf import LinkedCode, linkable, linked
from ingot.codegen.executable_memory import Code, placed
from ingot.codegen.llvm.host import host
from ingot.codegen.llvm.workers import workers
from ingot.codegen.wasm import refuse_missing
from ingot.schedule.target import Target

if TYPE_CHECKING:
    from ingot.codegen.llvm.make import Answer, Effort, Request

T = TypeVar("T")


def code_of(text: str, target: Target) -> LinkedCode:
    """A module as machine code; CompileError if LLVM refuses it.

    It is linked where that is possible; elsewhere an object file with the names of its functions, for LLVM's JIT or the
    linker of a machine to load.
    """
    return code_later(text, target, lambda code: code).result()


def code_later(text: str, target: Target, then: Callable[[LinkedCode], T], effort: Effort = "full") -> Future[T]:
    """The result of `then` on that code, compiled with some effort, both in the background."""
    request = _request(text, target, effort=effort)
    return workers().submit(lambda ask: then(_linked(ask(request), target)), len(text))


def assembly_of(text: str, target: Target) -> str:
    """The assembly of a module."""
    from ingot.codegen.llvm.make import assembly  # LLVM is not free to load

    return assembly(_request(text, target))


def objects_of(texts: Iterable[str], target: Target) -> list[bytes]:
    """The object files of modules; CompileError if LLVM refuses one."""
    pending = [_asked(_request(text, target, anywhere=True), len(text)) for text in texts]
    return [future.result() for future in pending]


def load(code: LinkedCode, target: Target) -> Code:
    """Machine code ready to be called; that for another kind of machine has numbers in place of addresses."""
    if target.machine != host().machine:
        number = int.from_bytes(hashlib.sha256(code.code).digest()[:7], "little")
        return Code(dict.fromkeys(code.entries, number), None, code)
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


def _asked(request: Request, weight: int) -> Future[bytes]:
    return workers().submit(lambda ask: ask(request)[0], weight)


def _request(text: str, target: Target, anywhere: bool | None = None, effort: Effort = "full") -> Request:
    anywhere = _becomes_plain(target) if anywhere is None else anywhere
    return text, target.triple, target.cpu, target.features, anywhere, effort


def _linked(answer: Answer, target: Target) -> LinkedCode:
    code, names = answer
    if _becomes_plain(target):
        return linked(code)
    if target.machine == "wasm32":
        refuse_missing(code)
    return LinkedCode(code, dict.fromkeys(names, 0))


def _becomes_plain(target: Target) -> bool:
    """Whether code is linked here: for this machine only if it can be mapped too, else all that is in ELF."""
    foreign = target.machine != host().machine
    return linkable(target.triple) or (foreign and "linux" in target.triple)
