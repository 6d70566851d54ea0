"""Kernels that begin before the one before them has ended (programmatic dependent launch), where a GPU has that.

Every kernel lets the next one begin at once. One that was emitted for that reads constants and nothing else until it
waits; the kernel before has then ended, and so has everything before that. What it reads afterwards must not go through
the cache for constants, and LLVM must not read it earlier: its addresses depend on the waiting.
"""

from __future__ import annotations

from dataclasses import replace

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.emitter import Frame
from ingot.codegen.llvm.types import I8, I32, I64
from ingot.codegen.nvptx.inline import ptx
from ingot.loops.ir import Buffer
from ingot.schedule.target import Target

WAIT = "griddepcontrol.wait;"


def can_overlap(target: Target) -> bool:
    """Whether a GPU can begin a kernel before the one before it has ended: those since Hopper can."""
    return int("".join(filter(str.isdigit, target.cpu))) >= 90


def release_next(b: Builder, target: Target) -> None:
    """Let the next kernel begin, once all blocks of this one have."""
    if can_overlap(target):
        ptx(b, "griddepcontrol.launch_dependents;")


def fetch(b: Builder, address: ir.Value, target: Target) -> None:
    """Begin to move what is at an address into the L2 cache."""
    if can_overlap(target):
        ptx(b, "prefetch.L2 [$0];", [address])


def after_previous(b: Builder, frame: Frame, constant: Buffer) -> Frame:
    """Wait for the kernel before; the frame whose buffers may be read then, as could the constant one before."""
    if not can_overlap(frame.target):
        return frame
    (zero,) = ptx(b, f"{WAIT} mov.u32 $0, 0;", outputs=[I32])
    offset = b.zext(zero, I64)
    buffers = {
        buffer: pointer if buffer is constant else b.gep(pointer, [offset], source_etype=I8)
        for buffer, pointer in frame.buffers.items()
    }
    return replace(frame, buffers=buffers)
