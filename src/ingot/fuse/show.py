"""A decision as text: every tensor, stored or fused, with the reason, and the steps with what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from re import sub

from ingot.fuse.decision import Decision, Planned, Store, StoreBranch, StoreLoop, fused_into, stores_in
from ingot.prim.region import BodyArgument, RegionResult
from ingot.prim.show import names_of
from ingot.prim.tensor import (
    Call,
    CallResult,
    Constant,
    HostStep,
    Iota,
    Map,
    Parameter,
    RandomKey,
    Reduce,
    Size,
    SizeReading,
    Tensor,
    View,
)
from ingot.prim.walk import in_order

_Undecided = Parameter | Constant | Iota | Size | BodyArgument
"""Tensors that nothing is decided about."""


def show(decision: Decision, names: Mapping[Tensor, str] | None = None) -> str:
    """A line for every tensor that is computed, and one for every step; views that are read through are left out."""
    known = names_of(decision.results, names)
    return "\n".join([*_tensors(decision, known), *_steps(decision.steps, known, decision.size_calls)])


def _tensors(decision: Decision, names: Mapping[Tensor, str]) -> Iterator[str]:
    stores = {store.tensor: store for store in stores_in(decision.steps)}
    kernels: dict[Tensor, list[str]] = {}
    for store in stores.values():
        for tensor in fused_into(store):
            kernels.setdefault(tensor, []).append(store.name)
    for tensor in in_order(decision.results):
        if isinstance(tensor, _Undecided):
            continue
        about = f"{names[tensor]} = {_operation(tensor)}"
        if tensor in stores:
            axes = "".join(f" as {list(order)}" for order in [stores[tensor].order] if list(order) != sorted(order))
            yield f"{about}: stored by {stores[tensor].name}{axes}, {decision.why[tensor]}"
        elif tensor in decision.known:
            yield f"{about}: known when compiled"
        elif isinstance(tensor, RegionResult | CallResult) or tensor in decision.placed:
            yield f"{about}: in {decision.placed[tensor].buffer.name}"
        elif not isinstance(tensor, View):
            yield f"{about}: fused into {', '.join(kernels.get(tensor, ['packed weights']))}"


def _operation(tensor: Tensor) -> str:
    if isinstance(tensor, Map | Reduce):
        return f"reduce {tensor.function}" if isinstance(tensor, Reduce) else tensor.function
    return sub(r"(?<!^)([A-Z])", r" \1", type(tensor).__name__).lower()


def _steps(steps: Sequence[Planned], names: Mapping[Tensor, str], size_calls: Mapping[str, HostStep]) -> Iterator[str]:
    for step in steps:
        match step:
            case Store():
                reads = ", ".join(names.get(tensor, placed.buffer.name) for tensor, placed in step.reads.items())
                yield f"{step.name}: {reads or 'nothing'} -> {_stored(step, names)}"
            case StoreBranch():
                yield f"{step.name} {step.condition.name}:"
                yield from (f"  {line}" for line in _steps(step.then, names, size_calls))
                yield "else:"
                yield from (f"  {line}" for line in _steps(step.otherwise, names, size_calls))
            case StoreLoop():
                yield f"{step.name}:"
                yield from (f"  {line}" for line in _steps(step.steps, names, size_calls))
            case Call():
                sizes = [size for size, call in size_calls.items() if call is step]
                yield f"call {step.node.op_type}" + (f", which tells {', '.join(sizes)}" if sizes else "")
            case SizeReading():
                read = [size for size, source in size_calls.items() if source is step]
                yield f"read {', '.join(read) or 'nothing'}"
            case RandomKey():
                yield "draw a key"


def _stored(step: Store, names: Mapping[Tensor, str]) -> str:
    stored = names.get(step.tensor, step.target.buffer.name)
    if step.attention is not None:
        return f"{stored}, attention"
    if not step.chain:
        return stored
    epilogue = " and ".join(_operation(tensor) for tensor in step.chain[1:])
    return f"{stored}, contraction with epilogue {epilogue}" if epilogue else f"{stored}, contraction"
