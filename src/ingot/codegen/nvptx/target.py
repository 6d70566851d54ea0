"""The GPUs that code is compiled for, by their compute capability."""

from __future__ import annotations

from ingot.errors import ProviderError
from ingot.schedule.target import Target

_OLDEST = (8, 0)

_KNOWN = {
    (8, 0): ("sm_80", "+ptx70"),
    (8, 6): ("sm_86", "+ptx71"),
    (8, 9): ("sm_89", "+ptx78"),
    (9, 0): ("sm_90a", "+ptx80"),
    (10, 0): ("sm_100", "+ptx86"),
    (12, 0): ("sm_120", "+ptx87"),
}
"""LLVM's name of the processor of a compute capability, and the version of PTX that has it, the oldest that does: a
driver reads those that were there when it was released. Code for `sm_90a` runs on no other capability."""

_VECTOR = 16
"""Bytes of the widest access of a thread."""

_REGISTERS = 255


def gpu_target(major: int, minor: int) -> Target:
    """The target of a compute capability: that of the newest one known that its code runs on; ProviderError if none.

    A GPU runs PTX of every capability before its own.
    """
    exact = _KNOWN.get((major, minor))
    if exact is None:
        before = [known for known in _KNOWN if known <= (major, minor) and not _KNOWN[known][0].endswith("a")]
        if not before:
            oldest = ".".join(map(str, _OLDEST))
            raise ProviderError(
                f"compute capability {major}.{minor} is too old; {oldest} is the oldest that is supported"
            )
        exact = _KNOWN[max(before)]
    return Target("nvptx64-nvidia-cuda", *exact, _VECTOR, _REGISTERS)
