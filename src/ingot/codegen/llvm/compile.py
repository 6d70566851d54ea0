"""LLVM's language to machine code: optimised, made an object, and loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from ingot.codegen.llvm.kernel import ENTRY
from ingot.codegen.llvm.target import Target
from ingot.errors import CompileError


@dataclass(frozen=True, eq=False, slots=True)
class Code:
    """Machine code in memory: `address` is its entry. What owns the memory is kept with it."""

    address: int
    owner: Any


def object_of(text: str, target: Target) -> bytes:
    """A module of LLVM as an object file; CompileError if LLVM refuses it."""
    try:
        with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
            machine = _machine(target)
            optimise(module, machine)
            return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel: {error}") from None


def assembly_of(text: str, target: Target) -> str:
    """A module of LLVM as the assembly that is made of it."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        machine = _machine(target)
        optimise(module, machine)
        return str(machine.emit_assembly(module))


def load(code: bytes, target: Target) -> Code:
    """An object file made ready to be called."""
    empty = llvm.parse_assembly(f'target triple = "{target.triple}"')
    engine = llvm.create_mcjit_compiler(empty, _machine(target))  # the engine owns its machine: one for each
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Code(engine.get_function_address(ENTRY), engine)


_PASSES = ("sroa", "loop_rotate", "new_gvn", "instruction_combine", "simplify_cfg")
"""What pays for code that is in vectors already: half the time of LLVM's own list, and the same speed."""


def optimise(module: Any, machine: Any) -> None:
    """Make registers of locals, and leave out what is computed twice."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    manager = llvm.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)


def _machine(target: Target) -> Any:
    found = llvm.Target.from_triple(target.triple)
    return found.create_target_machine(cpu=target.cpu, features=target.features, opt=2)
