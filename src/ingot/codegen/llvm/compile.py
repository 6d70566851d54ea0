"""LLVM's language to machine code: optimised, made, and loaded."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from ingot.codegen.link import Plain, linkable, plain
from ingot.codegen.llvm.target import Target
from ingot.codegen.memory import Code, placed
from ingot.errors import CompileError


def code_of(text: str, target: Target) -> Plain:
    """A module of LLVM as machine code; CompileError if LLVM refuses it.

    It is plain code where that can be made; elsewhere an object file with the names of its functions, for LLVM to load.
    """
    try:
        with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
            machine = _machine(target)
            optimise(module, machine)
            made = bytes(machine.emit_object(module))
            if linkable(target.triple):
                return plain(made)
            names = [function.name for function in module.functions if not function.is_declaration]
            return Plain(made, dict.fromkeys(names, 0))
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel: {error}") from None


def assembly_of(text: str, target: Target) -> str:
    """A module of LLVM as the assembly that is made of it."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        machine = _machine(target)
        optimise(module, machine)
        return str(machine.emit_assembly(module))


def load(code: Plain, target: Target) -> Code:
    """Machine code made ready to be called."""
    if linkable(target.triple):
        return placed(code)
    empty = llvm.parse_assembly(f'target triple = "{target.triple}"')
    engine = llvm.create_mcjit_compiler(empty, _machine(target))  # the engine owns its machine: one for each
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    return Code({name: engine.get_function_address(name) for name in code.entries}, engine)


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
    model = {"reloc": "pic", "codemodel": "small"} if linkable(target.triple) else {}
    return found.create_target_machine(cpu=target.cpu, features=target.features, opt=2, **model)
