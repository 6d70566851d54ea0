"""What became of each node once the model is compiled, as sentences."""

from __future__ import annotations

from collections.abc import Mapping

from ingot.errors import IngotError
from ingot.ir.model import Model
from ingot.providers import compiling_providers
from ingot.session import Session
from ingot.tools.inspect.bodies import traced
from ingot.tools.inspect.explained import KernelEntry, NodeEntry, explained

_MOST_NAMED = 8


def fates_of(model: Model) -> Mapping[str, list[str]]:
    """For the label of each node, sentences on who runs it, in which kernels and with what; IngotError as a session."""
    session = Session(model, providers=compiling_providers(), fallback=False)
    compiled = session.compiled
    if compiled is None:
        raise IngotError("the model was not compiled")
    report = explained(compiled, traced(compiled), {}, None, session)
    kernels = {kernel.kernel: kernel for kernel in report.kernels}
    return {entry.node: _lines(entry, kernels, report.nodes) for entry in report.nodes}


def _lines(entry: NodeEntry, kernels: Mapping[str, KernelEntry], nodes: list[NodeEntry]) -> list[str]:
    lines = [entry.how + (f", by {entry.provider}" if entry.provider else "")]
    if entry.reason:
        lines.append(f"reason: {entry.reason}")
    for name in entry.kernels:
        kernel = kernels[name]
        others = [nodes[place].node for place in (*kernel.nodes, *kernel.views) if nodes[place].node != entry.node]
        lines.append(f"{name}: {kernel.operators}, {kernel.amount}")
        if others:
            more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
            lines.append(f"fused with {', '.join(others[:_MOST_NAMED])}{more}")
        lines.append(f"stores {kernel.stores or 'a value without a name'}: {kernel.type}, since {kernel.why}")
        lines.append(f"{kernel.operations} operations, reads {kernel.bytes_read} B, writes {kernel.bytes_written} B")
    return lines
