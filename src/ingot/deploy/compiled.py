"""A model compiled for a machine, which may be another than this one."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.codegen.llvm.compile import objects_of
from ingot.codegen.llvm.kernel import emit
from ingot.compile import Artifacts, Options, compile_model
from ingot.format.load import ModelSource, load
from ingot.ir.model import Model
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.ops.catalog import Catalog, standard
from ingot.prepare import repair_and_prepare
from ingot.providers.cpu import Cpu
from ingot.runtime.limits import RunLimits
from ingot.schedule.target import Target


def compiled_for(
    source: Model | ModelSource,
    target: Target,
    *,
    catalog: Catalog | None = None,
    threads: int = 1,
    optimise: int = 2,
) -> Artifacts:
    """The stages of a model for a target, to its plan; inputs that have defaults are these, as constants.

    `plan.codes` has the machine code of its kernels. Where the target is another kind of machine, the steps of the plan
    have numbers in place of addresses, and nobody can run it here.
    """
    catalog = catalog or standard()
    typed = repair_and_prepare(source if isinstance(source, Model) else load(source), catalog, RunLimits()).typed
    return compile_model(typed, Cpu(target), Options(catalog, threads, level=optimise)).artifacts


def objects_for(source: Model | ModelSource, target: Target) -> dict[str, bytes]:
    """An object file for a target of each kernel template of a model; see `kernel_objects`."""
    return kernel_objects(compiled_for(source, target), target)


def kernel_objects(compiled: Artifacts, target: Target) -> dict[str, bytes]:
    """An object file for each kernel template of a model compiled for a target, by the name of its first kernel.

    Each defines the function `kernel`, and needs nothing from elsewhere.
    """
    names: dict[str, str] = {}
    for part in parts_of(compiled):
        for kernel in kernels_in(part.scheduled.steps):
            names.setdefault(emit(parametrise(kernel).kernel, target).text, kernel.name)
    return dict(zip(names.values(), objects_of(names, target), strict=True))


def parts_of(compiled: Artifacts) -> Iterator[Artifacts]:
    """A compiled model, and the bodies in it that are compiled by themselves."""
    yield compiled
    for body in (each for bodies in compiled.bodies.values() for each in bodies if each is not None):
        yield from parts_of(body)
        if body.invariants is not None:
            yield body.invariants
