"""The verifier of the loop IR: all that is read is bound, types agree, and buffers are those that are listed."""

from __future__ import annotations

from ingot.loops.ir import Kernel
from ingot.loops.kinds import kind_of
from ingot.loops.scope import Scope


def verify_kernel(kernel: Kernel) -> None:
    """CompileError, which says where, if a kernel breaks a rule of the loop IR.

    Variables are bound by a loop around them, and locals are defined before they are used. Types of expressions agree,
    and indices are int64. A parallel loop stores at places that depend on it, and updates no local from outside of it.
    An index is not known to be outside of its buffer. What is read and written is listed, and nothing else is.
    """
    scope = Scope((f"kernel {kernel.name}",))
    for number, nest in enumerate(kernel.nests):
        with scope.inside(f"nest {number}"):
            kind_of(nest).verify(nest, scope)
    for buffer in scope.loaded:
        if buffer not in kernel.buffers:
            scope.refuse(f"buffer {buffer.name} is loaded from and not listed")
    for buffer in scope.stored:
        if buffer not in (*kernel.writes, *kernel.scratch):
            scope.refuse(f"buffer {buffer.name} is stored to and not listed as written")
    for buffer in kernel.reads:
        if buffer not in scope.loaded:
            scope.refuse(f"buffer {buffer.name} is listed as read and is not")
    for buffer in kernel.writes:
        if buffer not in scope.stored:
            scope.refuse(f"buffer {buffer.name} is listed as written and is not")
