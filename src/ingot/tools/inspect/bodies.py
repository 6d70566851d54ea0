"""Outlined bodies as part of the model they are in: one trace of all, and their names."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.compile import Artifacts
from ingot.ir.node import Node
from ingot.prim.tensor import Call
from ingot.tools.inspect.trace import Fate, Trace, trace


def bodies_in(compiled: Artifacts) -> Iterator[tuple[str, Artifacts]]:
    """The outlined bodies, those inside of others too, each with a title that names its node and role."""
    for call, bodies in compiled.bodies.items():
        for role, body in zip(_roles(call), bodies, strict=True):
            if body is not None:
                title = f"{role} of {call.node.op_type} '{call.node.label}'"
                yield title, body
                yield from bodies_in(body)
                if body.invariants is not None:
                    yield f"invariants of the {title}, computed once", body.invariants


def traced(compiled: Artifacts, stores: str = "an output of the model") -> Trace:
    """The fate of the nodes of a model and of its bodies, and the purpose of their kernels."""
    own = trace(compiled.optimised.model.graph, compiled.program, compiled.scheduled, compiled.outputs, stores)
    nodes: dict[Node, Fate] = {}
    kernels = dict(own.kernels)
    for node, fate in own.nodes.items():
        call = compiled.program.calls.get(node)
        for body in () if call is None else compiled.bodies.get(call, ()):
            parts = [] if body is None else [traced(body, "what the body gives")]
            parts += (
                []
                if body is None or body.invariants is None
                else [traced(body.invariants, "the body reads it in every run")]
            )
            for inside in parts:
                nodes.update(inside.nodes)
                kernels.update(inside.kernels)
        note = "" if call is None else bodies_text(call, compiled)
        nodes[node] = Fate(fate.how, fate.kernels, f"{fate.reason}; {note}") if note else fate
    return Trace(nodes, kernels)


def bodies_text(call: Call, compiled: Artifacts) -> str:
    """The bodies of a node that have kernels, as text; empty if none has."""
    bodies = compiled.bodies.get(call, ())
    with_kernels = [
        f"{role} {body.name}"
        for role, body in zip(_roles(call), bodies, strict=False)
        if body is not None and _has_kernels(body)
    ]
    return f"compiled: {', '.join(with_kernels)}" if with_kernels else ""


def _has_kernels(body: Artifacts) -> bool:
    """Whether there is a kernel in a body, or in one inside of it."""
    if any(not isinstance(step, Call) for step in body.scheduled.steps):
        return True
    return any(inner is not None and _has_kernels(inner) for own in body.bodies.values() for inner in own)


def _roles(call: Call) -> list[str]:
    return [attribute.name for attribute in call.node.attributes.values() for _ in attribute.graphs]
