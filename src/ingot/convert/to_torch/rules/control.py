"""Branches and loops: Python's own, with the graphs inside written where they run."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.convert.to_torch.dtypes import torch_dtype
from ingot.convert.to_torch.operand import Operand, Size
from ingot.convert.to_torch.rule import Expression, rule
from ingot.convert.to_torch.say import integer, tupled
from ingot.convert.to_torch.site import Site
from ingot.dtypes import DType
from ingot.ir.graph import Graph
from ingot.ir.types import TensorType
from ingot.ir.value import Value


@rule("If")
def if_(site: Site, cond: Operand, *, then_branch: Graph, else_branch: Graph) -> Expression:
    names = [site.variable(index) if site.wanted(index) else "" for index in range(len(site.node.outputs))]
    for head, graph in (f"if {_truth(cond)}:", then_branch), ("else:", else_branch):
        with site.block(head):
            results = site.body(graph, [])
            for name, result in zip(names, results, strict=False):
                if name:
                    site.line(f"{name} = {result}")
    return None


@rule("Loop")
def loop(
    site: Site, m: Operand | None = None, cond: Operand | None = None, *states: Operand, body: Graph
) -> Expression:
    carried = _carried(site, states, body.inputs[2:])
    lists = _lists(site, range(len(states), len(site.node.outputs)))
    count = site.fresh("i")
    going = None if cond is None else site.fresh("going")
    if going is not None:
        site.line(f"{going} = {_truth(cond)}")
    if m is not None:
        head = f"for {count} in range({integer(m)}):"
    else:
        site.line(f"{count} = -1")
        head = f"while {going}:" if going is not None else "while True:"
    with site.block(head):
        if m is None:
            site.line(f"{count} += 1")
        elif going is not None:
            with site.block(f"if not {going}:"):
                site.line("break")
        counters = [_counter(count, body.inputs[0]), _condition(going, body.inputs[1])]
        results = site.body(body, [*counters, *carried])
        _collect(site, lists, results[1 + len(states) :])
        _carry(site, carried, results[1 : 1 + len(states)])
        if going is not None:
            site.line(f"{going} = {_truth(results[0])}")
    return [*carried, *_stacked(site, lists, body.outputs[1 + len(states) :])]


@rule("Scan")
def scan(
    site: Site,
    *inputs: Operand,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
) -> Expression:
    count = len(inputs) - num_scan_inputs
    states, scanned = inputs[:count], inputs[count:]
    carried = _carried(site, states, body.inputs[:count])
    lists = _lists(site, range(count, len(site.node.outputs)))
    axes = list(scan_input_axes or [0] * num_scan_inputs)
    backward = list(scan_input_directions or [0] * num_scan_inputs)
    parts = []
    for operand, axis, turned in zip(scanned, axes, backward, strict=True):
        parts.append(f"{operand}.flip({axis}).unbind({axis})" if turned else f"{operand}.unbind({axis})")
    names = [site.fresh() for _ in scanned]
    over = parts[0] if len(parts) == 1 else f"zip({', '.join(parts)})"
    head = f"for {', '.join(names)} in {over}:"
    with site.block(head):
        elements = [Operand(name, value.type) for name, value in zip(names, body.inputs[count:], strict=True)]
        results = site.body(body, [*carried, *elements])
        _collect(site, lists, results[count:])
        _carry(site, carried, results[:count])
    out_axes = list(scan_output_axes or [0] * len(lists))
    out_backward = list(scan_output_directions or [0] * len(lists))
    return [*carried, *_stacked(site, lists, body.outputs[count:], out_axes, out_backward)]


@rule("SequenceMap")
def sequence_map(site: Site, sequence: Operand, *others: Operand, body: Graph) -> Expression:
    names = [site.fresh(), *(site.fresh() if _is_list(other) else "" for other in others)]
    arguments = [
        Operand(name, value.type) if name else other
        for name, other, value in zip(names, (sequence, *others), body.inputs, strict=True)
    ]
    lists = [site.fresh("made") for _ in body.outputs]
    for name in lists:
        site.line(f"{name} = []")
    over = [str(one) for one, name in zip((sequence, *others), names, strict=True) if name]
    stepped = [name for name in names if name]
    source = over[0] if len(over) == 1 else f"zip({', '.join(over)})"
    with site.block(f"for {', '.join(stepped)} in {source}:"):
        _collect(site, lists, site.body(body, arguments))
    return [Operand(name, site.type(index)) for index, name in enumerate(lists[: len(site.node.outputs)])]


def _truth(condition: Operand | None) -> str:
    if condition is None:
        return "True"
    if condition.sizes is not None:
        return condition.sizes[0].text
    return str(condition)


def _carried(site: Site, states: Sequence[Operand], inputs: Sequence[Value]) -> list[Operand]:
    """A variable for each state, which holds what it begins with."""
    carried = []
    for state, value in zip(states, inputs, strict=True):
        name = site.fresh()
        site.line(f"{name} = {state}")
        carried.append(Operand(name, value.type or state.type))
    return carried


def _carry(site: Site, carried: Sequence[Operand], results: Sequence[Operand]) -> None:
    pairs = [(str(one), str(new)) for one, new in zip(carried, results, strict=True) if str(one) != str(new)]
    if pairs:
        site.line(f"{', '.join(one for one, _ in pairs)} = {', '.join(new for _, new in pairs)}")


def _lists(site: Site, outputs: range) -> list[str]:
    """A list for each output that is collected and read."""
    names = [site.fresh("made") if site.wanted(index) else "" for index in outputs]
    for name in names:
        if name:
            site.line(f"{name} = []")
    return names


def _collect(site: Site, lists: Sequence[str], results: Sequence[Operand]) -> None:
    for name, result in zip(lists, results, strict=False):
        if name:
            site.line(f"{name}.append({result})")


def _stacked(
    site: Site,
    lists: Sequence[str],
    values: Sequence[Value],
    axes: Sequence[int] = (),
    backward: Sequence[int] = (),
) -> list[str | Operand | None]:
    stacked: list[str | Operand | None] = []
    for place, (name, value) in enumerate(zip(lists, values, strict=False)):
        if not name:
            stacked.append(None)
            continue
        source = f"{name}[::-1]" if place < len(backward) and backward[place] else name
        axis = axes[place] if place < len(axes) else 0
        along = f", dim={axis}" if axis else ""
        if isinstance(value.type, TensorType) and value.type.shape is not None and not axis:
            sizes = tupled(size if isinstance(size, int) else 0 for size in (0, *value.type.shape))
            nothing = f"torch.empty({sizes}, dtype={torch_dtype(value.type.dtype)}, device={site.device})"
            stacked.append(f"torch.stack({source}) if {name} else {nothing}")
        else:
            stacked.append(f"torch.stack({source}{along})")
    return stacked


def _counter(name: str, value: Value) -> Operand:
    """The number of the run, which Python counts."""
    one_axis = isinstance(value.type, TensorType) and value.type.shape == (1,)
    text = f"torch.tensor([{name}])" if one_axis else f"torch.tensor({name})"
    return Operand(text, TensorType(DType.INT64, (1,) if one_axis else ()), sizes=[Size(name, True)])


def _condition(name: str | None, value: Value) -> Operand:
    one_axis = isinstance(value.type, TensorType) and value.type.shape == (1,)
    shape = (1,) if one_axis else ()
    text_of_name = name or "True"
    text = f"torch.as_tensor({text_of_name})" + (".reshape(1)" if one_axis else "")
    return Operand(text, TensorType(DType.BOOL, shape))


def _is_list(operand: Operand) -> bool:
    return not isinstance(operand.type, TensorType)
