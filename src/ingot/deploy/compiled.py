"""A model compiled for a machine, which may be another than this one."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.codegen.llvm.compile import objects_of
from ingot.codegen.llvm.kernel import emit
from ingot.compile import Artifacts, compile_model
from ingot.format.load import ModelSource
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.ops.catalog import Catalog, standard
from ingot.prepare import prepared
from ingot.providers.cpu import tiled
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
    model = prepared(source, catalog, RunLimits()).ready
    inputs_to_initializers(model)
    return compile_model(model, catalog, target, threads, None, optimise)


def objects_for(compiled: Artifacts, target: Target) -> dict[str, bytes]:
    """An object file for each kernel template of a compiled model, by the name of the first kernel that has it.

    Each defines the function `kernel`, and needs nothing from elsewhere.
    """
    names: dict[str, str] = {}
    for part in parts_of(compiled):
        for kernel in kernels_in(part.fused.steps):
            names.setdefault(emit(parametrise(tiled(kernel, target)).kernel, target).text, kernel.name)
    return dict(zip(names.values(), objects_of(names, target), strict=True))


def parts_of(compiled: Artifacts) -> Iterator[Artifacts]:
    """A compiled model, and the bodies in it that are compiled by themselves."""
    yield compiled
    for body in (each for bodies in compiled.bodies.values() for each in bodies if each is not None):
        yield from parts_of(body)
        if body.first is not None:
            yield body.first
