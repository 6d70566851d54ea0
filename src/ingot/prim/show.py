"""Primitives as text: one line a tensor, in the order of computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ingot.prim.coded import Coded
from ingot.prim.descent import Descent
from ingot.prim.order import Order
from ingot.prim.region import BodyArgument, RegionResult, Repeat
from ingot.prim.tensor import (
    Call,
    CallResult,
    Concat,
    Constant,
    Contract,
    Gather,
    Iota,
    Map,
    Pad,
    Parameter,
    Permute,
    RandomKey,
    Reduce,
    Scan,
    Scatter,
    Size,
    SizeReading,
    Slice,
    Tensor,
    Window,
)
from ingot.prim.walk import in_order


def show(results: Sequence[Tensor], names: Mapping[Tensor, str] | None = None) -> str:
    """The tensors that `results` are computed from, and what is returned; numbers without axes are written in place."""
    known = names_of(results, names)
    lines: list[str] = []
    for tensor in in_order(results):
        if not isinstance(tensor, Constant) or tensor.shape:
            reads = [known[operand] for operand in tensor.reads]
            lines.append(f"{known[tensor]}: {typed(tensor)} = {_expression(tensor, reads, known)}")
    return "\n".join([*lines, f"return {', '.join(known[result] for result in results)}"])


def names_of(results: Sequence[Tensor], names: Mapping[Tensor, str] | None = None) -> dict[Tensor, str]:
    """The names of tensors in text: those in `names`, those of parameters, or their position in the order."""
    known = dict(names or {})
    place = 0
    for tensor in in_order(results):
        if isinstance(tensor, Constant) and not tensor.shape:
            known[tensor] = str(tensor.array)
            continue
        known.setdefault(tensor, tensor.name if isinstance(tensor, Parameter) else f"%{place}")
        place += 1
    return known


def typed(tensor: Tensor) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _expression(tensor: Tensor, reads: list[str], known: Mapping[Tensor, str]) -> str:
    arguments = ", ".join(reads)
    match tensor:
        case Parameter():
            return "parameter"
        case Constant():
            return "constant"
        case Coded():
            return f"constant in {tensor.bits} bits by blocks of {tensor.block}"
        case Size():
            return f"size {tensor.size}"
        case Iota():
            return f"iota axis {tensor.axis}"
        case Map():
            return f"{tensor.function}({arguments})"
        case Reduce():
            return f"reduce {tensor.function}({arguments}) over {list(tensor.axes)}"
        case Contract():
            return f"contract({arguments}) {tensor.labels[0]},{tensor.labels[1]}->{tensor.labels[2]}"
        case Permute():
            return f"permute({arguments}) {list(tensor.order)}"
        case Slice():
            return f"slice({arguments}) from [{', '.join(map(str, tensor.starts))}] by {list(tensor.steps)}"
        case Pad():
            return f"pad({arguments}) before [{', '.join(map(str, tensor.before))}] with {tensor.fill}"
        case Window():
            steps = f"by {list(tensor.strides)} apart {list(tensor.dilations)}"
            return f"window({arguments}) axes {list(tensor.axes)} {steps}"
        case Gather() | Scatter():
            places = [f"axis {place}" if isinstance(place, int) else known[place] for place in tensor.places]
            if isinstance(tensor, Gather):
                return f"gather({reads[0]}) at ({', '.join(places)})"
            return f"scatter {tensor.function or 'set'}({reads[0]}, {reads[1]}) at ({', '.join(places)})"
        case Concat():
            return f"join({arguments}) along {tensor.axis}"
        case Scan():
            how = "".join([" exclusive" * tensor.exclusive, " reverse" * tensor.reverse])
            return f"scan {tensor.function}({arguments}) along {tensor.axis}{how}"
        case Descent():
            return f"descend {tensor.trees.trees} trees, {tensor.function}({arguments})"
        case Order():
            return f"order{' descending' * tensor.descending}({arguments})"
        case BodyArgument():
            return f"{tensor.name} of a loop"
        case RegionResult():
            return _region(tensor, known)
        case CallResult(call=SizeReading()):
            return f"sizes({arguments})"
        case CallResult(call=RandomKey()):
            return f"key({arguments})"
        case CallResult(call=Call() as call):
            return f"result {tensor.index} of call {call.node.op_type}({arguments})"
    return f"{type(tensor).__name__.lower()}({arguments})"


def _region(tensor: RegionResult, known: Mapping[Tensor, str]) -> str:
    region = tensor.region
    if not isinstance(region, Repeat):
        one, other = (body[tensor.index] for body in region.bodies)
        return f"if {known[region.condition]} then {known[one]} else {known[other]}"
    limit = known[region.trips] if isinstance(region.trips, Tensor) else region.trips
    times = [] if limit is None else [f"{limit} times"]
    times += [] if region.going is None else [f"while {known[region.going]}"]
    times += [f"by {known[region.number]}"] if region.number in known else []
    how = " ".join(times)
    if tensor.is_rows:
        return f"repeat {how}: rows of {known[region.rows[tensor.index - len(region.states)]]}"
    first, state, last = (tensors[tensor.index] for tensors in (region.initial, region.states, region.results))
    read = f"{known[state]} " if state in known else ""  # the body may not look at it
    return f"repeat {how}: {read}from {known[first]} to {known[last]}"
