"""The kernels of a model as object files for a machine, which may be another than this one."""

from __future__ import annotations

from ingot.codegen.llvm.compile import objects_of
from ingot.codegen.llvm.kernel import emit
from ingot.compile import Artifacts
from ingot.loops.ir import kernels_in
from ingot.loops.parametrise import parametrise
from ingot.providers.cpu import tiled
from ingot.schedule.target import Target
from ingot.tools.inspect.bodies import bodies_in


def objects_for(compiled: Artifacts, target: Target) -> dict[str, bytes]:
    """An object file for each kernel template of a model and of the bodies in it, by the name of its first kernel.

    Each defines the function `kernel`, and needs nothing from elsewhere.
    """
    names: dict[str, str] = {}
    for part in (compiled, *(body for _, body in bodies_in(compiled))):
        for kernel in kernels_in(part.fused.steps):
            names.setdefault(emit(parametrise(tiled(kernel, target)).kernel, target).text, kernel.name)
    return dict(zip(names.values(), objects_of(names, target), strict=True))
